"""The data that shapes look at, in sets of ids, and property paths over them (SHACL, section 2.3.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeAlias

import numpy as np
import pyoxigraph as ox
from numpy.typing import NDArray

from worlds.core.quads.dictionary import BLANK_NODE, IRI, LITERAL, TRIPLE, Dictionary, Ids, json_ids
from worlds.core.quads.rows import distinct as once
from worlds.errors import QueryError
from worlds.sql import statements
from worlds.sql.connection import Connection

Pairs: TypeAlias = tuple[Ids, Ids]
"""Two columns, int64 [n] each: distinct pairs of a node and what it leads to, ascending."""

Mask: TypeAlias = NDArray[np.bool_]

NO_IDS: Ids = np.empty(0, dtype=np.int64)
NO_PAIRS: Pairs = (NO_IDS, NO_IDS)
_LOW = 0xFFFFFFFF
_HANDFUL = 1000
DEEP = 30  # steps of a path without end from which on its edges are read whole
DENSE = 7000  # nodes whose pairs are kept as bits
_MOST = 50_000_000  # pairs that a path may lead to, 8 bytes each, or several times that while they are joined
_SQL = statements("rules.sql")
_MANY = 3000  # nodes from which on a predicate's triples are read whole
_BATCH = 5000  # ids a statement
_UNKNOWN = 2**31  # ids from here on are of terms that the world does not have
_ALL = 0  # instead of an id that quads stand before
NO_TRIPLES: Ids = np.empty((0, 3), dtype=np.int64)


class Edges(Protocol):
    """The triples that paths walk along."""

    def pairs(self, predicate: Any, nodes: Ids | None, *, inverse: bool) -> Pairs:
        """(node, other) for the triples of a predicate: subject and object, the other way round if `inverse`."""


@dataclass(frozen=True)
class PropertyPath:
    """A property path: a predicate, or a kind of path over others."""

    kind: str  # "predicate", "inverse", "sequence", "alternative", "*", "+", "?"
    parts: tuple[PropertyPath, ...] = ()
    predicate: Any = None  # an IRI

    def __str__(self) -> str:
        return self.text

    @cached_property
    def text(self) -> str:
        """The path as SPARQL has it."""
        if self.kind == "predicate":
            return f"<{self.predicate.value}>"
        inner = [str(part) if part.kind == "predicate" else f"({part})" for part in self.parts]
        if self.kind == "inverse":
            return f"^{inner[0]}"
        if self.kind in "*+?":
            return inner[0] + self.kind
        return ("/" if self.kind == "sequence" else "|").join(inner)

    @cached_property
    def size(self) -> int:
        """The number of paths in it, written out."""
        return 1 + sum(part.size for part in self.parts)


class Walks:
    """Evaluates paths, and caches the results for each node: a path within a path is walked once from a node."""

    def __init__(self, edges: Edges, look: Callable[[], object] = lambda: None) -> None:
        """`look` is called before each step, and may raise."""
        self._edges = edges
        self._look = look
        self._known: dict[tuple[int, bool], tuple[PropertyPath, Ids, Pairs]] = {}  # by the path's identity

    def walk(self, path: PropertyPath, nodes: Ids, *, inverse: bool = False) -> Pairs:
        """(node, value) for the values that the path leads to from each of `nodes`, ascending and distinct.

        QueryError for more pairs than can be held; `nodes` are ascending and distinct, too.
        """
        if path.kind == "predicate":
            return self._edges.pairs(path.predicate, nodes, inverse=inverse)
        if path.kind == "inverse":
            return self.walk(path.parts[0], nodes, inverse=not inverse)
        _, known, pairs = self._known.get((id(path), inverse), (path, NO_IDS, NO_PAIRS))
        fresh = less(nodes, known)
        if len(fresh):
            self._look()
            found = self._found(path, fresh, inverse)
            if len(known):
                fresh = once(np.concatenate([known, fresh]))
                found = distinct(np.concatenate([pairs[0], found[0]]), np.concatenate([pairs[1], found[1]]))
            pairs = found
            self._known[id(path), inverse] = (path, fresh, pairs)
        return select(pairs, nodes)

    def _found(self, path: PropertyPath, nodes: Ids, inverse: bool) -> Pairs:
        if path.kind == "alternative":
            found = [self.walk(part, nodes, inverse=inverse) for part in path.parts]
            return distinct(np.concatenate([left for left, _ in found]), np.concatenate([right for _, right in found]))
        if path.kind == "sequence":
            pairs = (nodes, nodes)
            for part in reversed(path.parts) if inverse else path.parts:
                pairs = joined(pairs, self.walk(part, once(pairs[1]), inverse=inverse))
            return pairs
        step = self.walk(path.parts[0], nodes, inverse=inverse)
        if path.kind == "?":
            return distinct(np.concatenate([nodes, step[0]]), np.concatenate([nodes, step[1]]))
        known = packed(*step)
        if path.kind == "*":
            known = once(np.concatenate([packed(nodes, nodes), known]))
        front, levels = step, 0
        while len(front[0]):
            self._look()
            levels += 1
            if levels == DEEP:
                self._read_whole(path.parts[0], inverse)
                deep = None if len(nodes) < DEEP else self._closure(path.parts[0], nodes, inverse)
                if deep is not None:
                    return distinct(*unpacked(np.concatenate([known, packed(*deep)])))
            further = joined(front, self.walk(path.parts[0], once(front[1]), inverse=inverse))
            fresh = less(packed(*further), known)
            known = once(np.concatenate([known, fresh]))
            front = unpacked(fresh)
        return unpacked(known)

    def _read_whole(self, path: PropertyPath, inverse: bool) -> None:
        """Have the edges of a path read at once, not at each of many steps."""
        inverse ^= path.kind == "inverse"
        if path.kind == "predicate":
            self._edges.pairs(path.predicate, None, inverse=inverse)
        for part in path.parts:
            self._read_whole(part, inverse)

    def _closure(self, path: PropertyPath, nodes: Ids, inverse: bool) -> Pairs | None:
        """The pairs from nodes along a path, walked once or more, by Warshall's algorithm; None for too many nodes."""
        known = front = nodes
        while len(front):
            self._look()
            front = less(once(self.walk(path, front, inverse=inverse)[1]), known)
            known = once(np.concatenate([known, front]))
            if len(known) > DENSE:
                return None
        left, right = (np.searchsorted(known, column) for column in self.walk(path, known, inverse=inverse))
        reach = np.zeros((len(known), len(known) // 8 + 1), dtype=np.uint8)  # a row of bits for each node
        np.bitwise_or.at(reach, (left, right >> 3), (1 << (right & 7)).astype(np.uint8))
        for place in range(len(known)):
            self._look()
            rows = np.flatnonzero(reach[:, place >> 3] & (1 << (place & 7)))
            reach[rows] |= reach[place]
        row, column = np.nonzero(np.unpackbits(reach[np.searchsorted(known, nodes)], axis=1, bitorder="little"))
        return nodes[row], known[column]


def packed(left: Ids, right: Ids) -> Ids:
    """Pairs of ids below 2^32 as one number each."""
    return left << 32 | right


def unpacked(pairs: Ids) -> Pairs:
    """The pairs of numbers that `packed` made into one number each."""
    return (pairs >> 32) & _LOW, pairs & _LOW


def within(ids: Ids, some: Ids) -> Mask:
    """Which of the ids are among some; np.isin, which for a handful takes longer than a look at each."""
    if len(ids) > _HANDFUL or len(some) > _HANDFUL:
        return np.isin(ids, some)
    if not len(some):
        return np.zeros(len(ids), dtype=bool)
    some = np.sort(some)
    found: Mask = some[np.minimum(np.searchsorted(some, ids), len(some) - 1)] == ids
    return found


def less(ids: Ids, others: Ids) -> Ids:
    """The ids that are not among others, in their order."""
    return ids[~within(ids, others)]


def distinct(left: Ids, right: Ids) -> Pairs:
    """The distinct pairs, ascending."""
    return unpacked(once(packed(left, right)))


def select(table: Pairs, nodes: Ids) -> Pairs:
    """The pairs of an ascending table whose first is one of `nodes`, which are ascending and distinct."""
    rows, places = matched(nodes, table[0])
    return nodes[rows], table[1][places]


def joined(pairs: Pairs, others: Pairs) -> Pairs:
    """(a, c) for each (a, b) of `pairs` and (b, c) of `others`, which are ascending; distinct."""
    rows, places = matched(pairs[1], others[0])
    return distinct(pairs[0][rows], others[1][places])


def matched(sought: Ids, ascending: Ids) -> Pairs:
    """(its place, the other's) for each of `sought` and each that is equal to it; QueryError for too many."""
    first, last = np.searchsorted(ascending, sought, "left"), np.searchsorted(ascending, sought, "right")
    count = last - first
    if (total := int(count.sum())) > _MOST:
        raise QueryError(f"a property path leads to more than {_MOST:,} pairs of a node and a value", kind="memory")
    places = np.repeat(first - np.cumsum(count) + count, count) + np.arange(total)
    return np.repeat(np.arange(len(sought)), count), places


class ShapeTerms:
    """Terms by id and ids by term; terms that the world does not have get ids of their own, from 2^31 on."""

    def __init__(self, connection: Connection, dictionary: Dictionary) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self._unknown: list[Any] = []
        self._ids: dict[Any, int] = {}
        self._facts: tuple[bytes, Ids] | None = None  # the ids that were asked for last, and what was found

    def id(self, term: Any) -> int:
        """The id of a term."""
        return self.ids([term])[0]

    def ids(self, terms: Sequence[Any]) -> list[int]:
        """The ids of terms, in their order."""
        missing = list(dict.fromkeys(term for term in terms if term not in self._ids))
        for term, number in zip(missing, self._dictionary.find(missing), strict=True):
            if number is None:
                number = _UNKNOWN + len(self._unknown)
                self._unknown.append(term)
            self._ids[term] = number
        return [self._ids[term] for term in terms]

    def terms(self, ids: Iterable[int]) -> dict[int, Any]:
        """Id → term."""
        listed = set(ids)
        found = self._dictionary.terms(number for number in listed if number < _UNKNOWN)
        return {number: self._unknown[number - _UNKNOWN] if number >= _UNKNOWN else found[number] for number in listed}

    def facts(self, ids: Ids) -> tuple[Ids, Ids, Ids]:
        """Kind, datatype's id (of plain strings and language-tagged ones too) and length in characters, of each id."""
        if self._facts is None or self._facts[0] != ids.tobytes():
            self._facts = (ids.tobytes(), self._read_facts(ids))
        kinds, datatypes, lengths = self._facts[1]
        return kinds, datatypes, lengths

    def _read_facts(self, ids: Ids) -> Ids:
        """The columns of `facts` as rows, int64 [3, n]."""
        ids, places = np.unique(ids, return_inverse=True)
        found = []
        known = ids[ids < _UNKNOWN]
        for start in range(0, len(known), _BATCH):
            values = (json_ids(known[start : start + _BATCH]),)
            found.append(self._connection.stack(_SQL["term_facts"], values))
        table = np.concatenate([np.empty((4, 0), dtype=np.int64), *found], axis=1)
        table = table[:, np.argsort(table[0])]
        rdf, xsd = "http://www.w3.org/1999/02/22-rdf-syntax-ns#", "http://www.w3.org/2001/XMLSchema#"
        implied = self.ids([ox.NamedNode(iri) for iri in (xsd + "string", rdf + "langString", rdf + "dirLangString")])
        for mark, number in zip((-1, -2, -3), implied, strict=True):
            table[2][table[2] == mark] = number
        odd = table[0][table[3] < 0]
        for number, term in self.terms(odd.tolist()).items():
            table[3][np.searchsorted(table[0], number)] = len(str(getattr(term, "value", "")))
        others = [self._fact(number) for number in ids[ids >= _UNKNOWN].tolist()]
        table = np.concatenate([table[1:], np.array(others, dtype=np.int64).reshape(-1, 3).T], axis=1)
        rows: Ids = table[:, places]
        return rows

    def _fact(self, number: int) -> tuple[int, int, int]:
        term = self._unknown[number - _UNKNOWN]
        if isinstance(term, ox.Literal):
            return LITERAL, self.id(term.datatype), len(term.value)
        kind = IRI if isinstance(term, ox.NamedNode) else BLANK_NODE if isinstance(term, ox.BlankNode) else TRIPLE
        return kind, -1, len(str(getattr(term, "value", "")))


class DataTriples:
    """The distinct triples of all data graphs; patterns for many nodes are read whole, and cached."""

    def __init__(
        self, connection: Connection, terms: ShapeTerms, *, before: int = _ALL, more: Ids = NO_TRIPLES
    ) -> None:
        """Another state than the present one: only quads with ids below `before`, and `more` triples, int64 [n, 3]."""
        self._connection = connection
        self._terms = terms
        self._before = before
        self._more = more
        self._whole: dict[tuple[int, bool], Pairs] = {}
        self._some: dict[bool, tuple[Ids, dict[int, Pairs]]] = {False: (NO_IDS, {}), True: (NO_IDS, {})}
        self._expected: dict[bool, set[int]] = {False: set(), True: set()}

    def expect(self, predicates: Iterable[Any], *, inverse: bool = False) -> None:
        """Predicates that will be asked for: reading some nodes' triples, all of them are read at once."""
        self._expected[inverse] |= set(self._terms.ids(list(predicates)))

    def pairs(self, predicate: Any, nodes: Ids | None, *, inverse: bool) -> Pairs:
        """(node, other) of the triples of a predicate, ascending and distinct: see `shapes.paths.Edges`."""
        number = self._terms.id(predicate)
        if number >= _UNKNOWN:
            return NO_PAIRS
        table = self._whole.get((number, inverse))
        if table is None and (nodes is None or len(nodes) > _MANY):
            table = self._read_whole(number, inverse)
        if table is not None:
            return table if nodes is None else select(table, nodes)
        assert nodes is not None
        self._expected[inverse].add(number)
        loaded, tables = self._some[inverse]
        fresh = nodes if number not in tables else less(nodes, loaded)
        if len(fresh):
            self._read_some(fresh, inverse)
            tables = self._some[inverse][1]
        return select(tables.get(number, NO_PAIRS), nodes)

    def _read_whole(self, predicate: int, inverse: bool) -> Pairs:
        statement = _SQL["pairs"]
        subjects, objects = self._connection.columns(
            statement, statement.bind(predicate=predicate, before=self._before)
        )
        more = self._more[self._more[:, 1] == predicate]
        subjects, objects = np.concatenate([subjects, more[:, 0]]), np.concatenate([objects, more[:, 2]])
        table = distinct(objects, subjects) if inverse else distinct(subjects, objects)
        self._whole[predicate, inverse] = table
        return table

    def _read_some(self, nodes: Ids, inverse: bool) -> None:
        """Read the triples of nodes that are not read yet, of all the predicates that are expected."""
        expected = sorted(number for number in self._expected[inverse] if number < _UNKNOWN)
        loaded, tables = self._some[inverse]
        if set(expected) != tables.keys():  # a predicate that nobody had expected: read all nodes again
            nodes, tables = once(np.concatenate([nodes, loaded])), {}
        statement = _SQL["incoming"] if inverse else _SQL["outgoing"]
        values = {"nodes_json": json_ids(nodes), "predicates_json": json_ids(expected)}
        columns = self._connection.columns(statement, statement.bind(**values, before=self._before))
        if len(self._more):
            node, other = (2, 0) if inverse else (0, 2)
            more = self._more[within(self._more[:, node], nodes)]
            columns = [
                np.concatenate([columns[0], more[:, 1]]),
                np.concatenate([columns[1], more[:, node]]),
                np.concatenate([columns[2], more[:, other]]),
            ]
        predicates = columns[0]
        for number in expected:
            of = predicates == number
            left, right = tables.get(number, NO_PAIRS)
            tables[number] = distinct(np.concatenate([left, columns[1][of]]), np.concatenate([right, columns[2][of]]))
        self._some[inverse] = (once(np.concatenate([loaded, nodes])), tables)

    def outgoing(self, nodes: Ids) -> tuple[Ids, Ids, Ids]:
        """Subject, predicate and object of all triples of nodes."""
        found = [NO_IDS, NO_IDS, NO_IDS]
        for start in range(0, len(nodes), _BATCH):
            statement = _SQL["all_outgoing"]
            values = statement.bind(nodes_json=json_ids(nodes[start : start + _BATCH]), before=self._before)
            columns = self._connection.columns(statement, values)
            found = [np.concatenate(pair) for pair in zip(found, columns, strict=True)]
        more = self._more[within(self._more[:, 0], nodes)]
        table = np.unique(np.concatenate([np.stack(found, axis=1), more]), axis=0)
        return table[:, 0], table[:, 1], table[:, 2]

    def below(self, classes: Sequence[Any], subclass_of: Any) -> Ids:
        """Classes, and all below them."""
        known = front = once(np.array(self._terms.ids(classes), dtype=np.int64))
        while len(front):
            found = once(self.pairs(subclass_of, front, inverse=True)[1])
            front = less(found, known)
            known = once(np.concatenate([known, front]))
        return known


def without(pairs: Pairs, others: Pairs) -> Pairs:
    """The pairs that are not among others; both ascending and distinct."""
    return unpacked(less(packed(*pairs), packed(*others)))
