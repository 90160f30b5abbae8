"""Stores the terms of a write: each that the world does not have gets an id, first a local number."""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import pyoxigraph as ox
from numpy.typing import NDArray

from worlds.core.quads.dictionary import (
    BLANK_NODE,
    DEFAULT_GRAPH,
    DEFAULT_GRAPH_ID,
    IRI,
    LITERAL,
    TRIPLE,
    Dictionary,
    Ids,
    hash_of,
    stated_datatype,
    triple_key,
)
from worlds.errors import IntegrityError, ParseError
from worlds.graph.terms import DEEPEST_TERMS, Term
from worlds.sql import statements
from worlds.sql.connection import Connection, Row
from worlds.sql.index_rebuild import without

_OF_DOCUMENTS = {ox.BlankNode, ox.Triple}  # kinds of terms that may mean something in their document alone

Group = tuple[int, int | None, str | None, str | None, list[int], list[Any]]
"""Terms that differ in their values alone: kind, datatype, language, direction, local numbers, values.

The datatype is a local number, and so are the parts of a triple term, (subject, predicate, object), which is its value.
"""
_SQL = statements("queries.sql")
_BATCH = 5000  # rows a statement
_FEW = 20  # terms that a statement of their own does not pay for
_LONG = 10_000  # characters of a value that is bound by itself
_LAST_ID = 2**31 - 1


class Terms(NamedTuple):
    """New terms, numbered from `first` on, `total` of them; each stage needs the terms of the stages before it.

    With `again` some may have had another number before, which is forgotten.
    """

    first: int
    total: int
    again: bool
    stages: list[list[Group]]


class Numbering:
    """Local numbers for the terms of one write, from `first` on; 0 is the default graph.

    With `again` other terms had numbers below, and these may be among them.
    """

    def __init__(self, first: int = 1, *, again: bool = False) -> None:
        self.numbers: dict[Any, int] = {DEFAULT_GRAPH: 0}
        self.pending: list[Term] = []
        self._first = first
        self._again = again
        self._blank_nodes: list[Term] = []  # and the triple terms that have one

    def local(self, term: Term) -> int:
        """The term's local number."""
        number = self.numbers.get(term)
        if number is None:
            number = self.numbers[term] = self._first + len(self.pending)
            self.pending.append(term)
            if type(term) in _OF_DOCUMENTS and _of_document(term):
                self._blank_nodes.append(term)
        return number

    def end_document(self) -> None:
        """Forget the blank nodes up to now, none of which is pending: labels of the next document are new nodes."""
        for node in self._blank_nodes:
            del self.numbers[node]
        self._blank_nodes.clear()

    def trim(self, most: int) -> None:
        """Forget terms, blank nodes aside, if more than `most` are remembered; none is pending."""
        if len(self.numbers) > most:
            kept = {term: self.numbers[term] for term in (DEFAULT_GRAPH, *self._blank_nodes)}
            self.numbers.clear()
            self.numbers.update(kept)
            self._again = True

    def take(self) -> Terms:
        """The pending terms, which are pending no longer."""
        atoms: dict[type, tuple[list[int], list[Any]]] = {ox.NamedNode: ([], []), ox.BlankNode: ([], [])}
        literals: dict[tuple[int | None, str | None, str | None], tuple[list[int], list[Any]]] = {}
        triples: list[tuple[int, ox.Triple]] = []
        number = self._first
        for term in self.pending:  # which grows: datatypes and parts are terms as well
            kind = type(term)
            if kind is ox.Literal:
                key = self._kind_of_literal(term)  # type: ignore[arg-type]  # is one
                found = literals.get(key)
                if found is None:
                    found = literals[key] = ([], [])
            elif kind is ox.Triple:
                triples.append((number, term))  # type: ignore[arg-type]  # is one
                for part in (term.subject, term.predicate, term.object):  # type: ignore[union-attr]
                    self.local(part)
                number += 1
                continue
            else:
                found = atoms[kind]
            found[0].append(number)
            found[1].append(term.value)  # type: ignore[union-attr]  # no triple
            number += 1
        (iris, blank_nodes) = atoms.values()
        stages: list[list[Group]] = [
            [(IRI, None, None, None, *iris), (BLANK_NODE, None, None, None, *blank_nodes)],
            [(LITERAL, *key, *found) for key, found in literals.items()],
            *self._levels(triples),
        ]
        taken = Terms(self._first, len(self.pending), self._again, stages)
        self._first = number
        self.pending = []
        return taken

    def _kind_of_literal(self, literal: ox.Literal) -> tuple[int | None, str | None, str | None]:
        language = literal.language
        if language is not None:
            direction = literal.direction
            return None, language, None if direction is None else str(direction)
        datatype = stated_datatype(literal)
        return None if datatype is None else self.local(datatype), None, None

    def _levels(self, triples: list[tuple[int, ox.Triple]]) -> list[list[Group]]:
        """Triple terms, parts before wholes."""
        levels: dict[int, tuple[list[int], list[Any]]] = {}
        known = self.numbers
        for number, triple in triples:
            numbers, parts = levels.setdefault(_depth(triple), ([], []))
            numbers.append(number)
            parts.append((known[triple.subject], known[triple.predicate], known[triple.object]))
        return [[(TRIPLE, None, None, None, *levels[depth])] for depth in sorted(levels)]


def _of_document(term: object) -> bool:
    """Whether the term is, or contains, a blank node, and so means something in its document alone."""
    depth, found = 0, False
    while isinstance(term, ox.Triple):
        depth += 1
        if depth > DEEPEST_TERMS:
            raise ParseError(f"triple terms are nested deeper than {DEEPEST_TERMS}")
        found = found or isinstance(term.subject, ox.BlankNode)
        term = term.object
    return found or isinstance(term, ox.BlankNode)


def _depth(term: object) -> int:
    depth = 0
    while isinstance(term, ox.Triple):
        depth, term = depth + 1, term.object
    return depth


class Interner:
    """The ids of the terms of one write, inside its transaction; missing terms are added.

    Terms get a local number at once (`local`), and their ids in batches (`flush`), so that no term costs a round
    trip of its own; `resolve` turns local numbers into ids. Terms may have been numbered elsewhere (`add`).
    """

    def __init__(self, connection: Connection, dictionary: Dictionary, *, rename_blank_nodes: bool) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self._rename = rename_blank_nodes
        self._last = connection.value(_SQL["last_term"])
        self.before: int = self._last  # the last term that was there already
        self.blank_nodes = False  # whether any were added
        self._all_new = self._last == 0  # nothing to look up in an empty world
        self._before_lookup: Callable[[], None] = lambda: None
        self._ids = array("q", [DEFAULT_GRAPH_ID])
        self.numbering = Numbering()

    @contextmanager
    def bulk(self) -> Iterator[None]:
        """Many terms are to come: the index of an empty world, which has nothing to look up, can wait."""
        if not self._all_new:
            yield
            return
        with without(self._connection, "index", "terms") as make_again:
            self._before_lookup = make_again
            yield

    def local(self, term: Term) -> int:
        """The term's local number."""
        return self.numbering.local(term)

    def flush(self) -> None:
        """Assign ids to all terms that have a local number."""
        if self.numbering.pending:
            self.add(self.numbering.take())

    def renumber(self) -> None:
        """Another numbering gave out the numbers so far: begin a new one behind them."""
        self.numbering = Numbering(len(self._ids), again=True)

    def resolve(self, local: NDArray[np.int64]) -> Ids:
        """Local numbers to term ids, in an array of the same shape."""
        self.flush()
        return np.frombuffer(self._ids, dtype=np.int64)[local]

    def quads(self, numbers: bytes) -> Ids:
        """Quads of ids, int64 [n, 4], for such of local numbers, as bytes."""
        return self.resolve(np.frombuffer(numbers, dtype=np.int64).reshape(-1, 4))

    def add(self, terms: Terms) -> None:
        """Assign ids to the next terms."""
        if terms.again and self._all_new:
            self._before_lookup()
            self._all_new = False
        self._ids.frombytes(bytes(8 * terms.total))
        for stage in terms.stages:
            self._store([self._resolved(group) for group in stage if group[4]])

    def _resolved(self, group: Group) -> Group:
        """The group with ids instead of the local numbers in its datatype and its values."""
        kind, datatype, language, direction, numbers, values = group
        if kind == IRI:
            self._dictionary.learn(values)
        elif kind == TRIPLE:
            values = [triple_key([self._ids[part] for part in parts])[1] for parts in values]
        return kind, None if datatype is None else self._ids[datatype], language, direction, numbers, values

    def _store(self, stage: list[Group]) -> None:
        rows: list[Row] = []
        ids = np.frombuffer(self._ids, dtype=np.int64)
        for group, known in zip(stage, self._known(stage), strict=True):
            kind, *common, numbers, values = group
            if known:
                ids[[numbers[place] for place in known]] = list(known.values())
                left = [place for place in range(len(numbers)) if place not in known]
                numbers, values = [numbers[place] for place in left], [values[place] for place in left]
            first = self._last + 1
            self._last += len(numbers)
            if self._last > _LAST_ID:
                raise IntegrityError(f"a world holds at most {_LAST_ID:,} terms")
            if kind == BLANK_NODE and numbers:
                self.blank_nodes = True
                values = self._labels(first, len(numbers)) if self._rename else values
            odd = {place for place, value in enumerate(values) if len(value) > _LONG or "\0" in value}
            plain = values
            if odd:
                order = sorted(range(len(values)), key=odd.__contains__)
                numbers, values = [numbers[place] for place in order], [values[place] for place in order]
                plain = values[: -len(odd)]
            ids[numbers] = np.arange(first, first + len(numbers))
            if len(plain) < _FEW:
                plain = []
            self._insert_alike(first, kind, common, plain)
            for number, value in enumerate(values[len(plain) :], first + len(plain)):
                rows.append((number, kind, value.encode() if "\0" in value else value, *common, hash_of(value)))
        self._connection.insert("INSERT INTO terms (id, kind, value, datatype, language, direction, hash)", rows)

    def _insert_alike(self, first: int, kind: int, common: Sequence[int | str | None], values: list[str]) -> None:
        datatype, language, direction = common
        statement = _SQL["insert_terms"]
        for start in range(0, len(values), _BATCH):
            texts = [f"{hash_of(value):010d}{value}" for value in values[start : start + _BATCH]]
            self._connection.run(
                statement,
                statement.bind(
                    texts_json=json.dumps(texts, ensure_ascii=False),
                    first=first + start,
                    kind=kind,
                    datatype=datatype,
                    language=language,
                    direction=direction,
                ),
            )

    def _known(self, stage: list[Group]) -> list[dict[int, int]]:
        """For each group the ids of the terms that are there, by their place in it."""
        found: list[dict[int, int]] = [{} for _ in stage]
        if self._all_new:
            return found
        places = [
            (number, place)
            for number, (kind, *_, values) in enumerate(stage)
            if kind != BLANK_NODE or not self._rename
            for place in range(len(values))
        ]
        keys = [(stage[number][0], stage[number][5][place], *stage[number][1:4]) for number, place in places]
        for position, number in self._dictionary.lookup(keys).items():
            group, place = places[position]
            found[group][place] = number
        return found

    def _labels(self, first: int, count: int) -> list[str]:
        """Labels for new blank nodes, unlike any that a caller brought along."""
        labels = [f"w{number}" for number in range(first, first + count)]
        taken = list(range(0 if self._all_new else count))
        while taken:
            keys: list[Row] = [(BLANK_NODE, labels[place], None, None, None) for place in taken]
            taken = [taken[position] for position in self._dictionary.lookup(keys)]
            for place in taken:
                labels[place] += "x"
        return labels
