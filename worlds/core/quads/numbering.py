"""Gives the terms of a write numbers of its own, and describes new ones so that another process could store them."""

from __future__ import annotations

from typing import Any, NamedTuple

import pyoxigraph as ox

from worlds.core.quads.dictionary import BLANK_NODE, DEFAULT_GRAPH, IRI, LITERAL, TRIPLE, stated_datatype
from worlds.errors import ParseError
from worlds.graph.terms import DEEPEST_TERMS, Term

_OF_DOCUMENTS = {ox.BlankNode, ox.Triple}  # kinds of terms that may mean something in their document alone

Group = tuple[int, int | None, str | None, str | None, list[int], list[Any]]
"""Terms that differ in their values alone: kind, datatype, language, direction, local numbers, values.

The datatype is a local number, and so are the parts of a triple term, (subject, predicate, object), which is its value.
"""


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
