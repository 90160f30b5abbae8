"""The data that shapes look at: the world's triples and terms, read in sets as ids."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyoxigraph as ox

from worlds.core.quads.dictionary import BLANK_NODE, IRI, LITERAL, TRIPLE, Dictionary, Ids, json_ids
from worlds.core.quads.rows import distinct as once
from worlds.extras.shapes.paths import NO_IDS, NO_PAIRS, Pairs, distinct, less, packed, select, unpacked, within
from worlds.sql import statements
from worlds.sql.connection import Connection

_SQL = statements("rules.sql")
_MANY = 3000  # nodes from which on a predicate's triples are read whole
_BATCH = 5000  # ids a statement
_UNKNOWN = 2**31  # ids from here on are of terms that the world does not have
_ALL = 0  # instead of an id that quads stand before

NO_TRIPLES: Ids = np.empty((0, 3), dtype=np.int64)


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
