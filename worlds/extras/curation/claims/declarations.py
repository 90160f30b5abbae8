"""Declarations of a claim's few terms by the vocabularies in one state of a world, and the quads of that state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyoxigraph as ox

from worlds.core.history.history import History
from worlds.core.quads.dataset import SHAPES_GRAPH, of_data
from worlds.core.quads.dictionary import DEFAULT_GRAPH_ID, Dictionary
from worlds.extras.curation.columns.axioms import (
    DISJOINT_CLASSES,
    DISJOINT_PROPERTIES,
    INVERSES,
    OWL,
    RDFS,
    SUB_CLASSES,
    SUB_PROPERTIES,
    SYMMETRIC,
    TRANSITIVE,
    TYPE,
)
from worlds.extras.entities.neighbours import CitedQuad
from worlds.graph.terms import RDF, to_rdflib
from worlds.sql import statements
from worlds.sql.connection import Connection

Row: TypeAlias = tuple[int, int, int, int, int]
"""A quad as ids: subject, predicate, object, graph, and the revision that added it."""
Rows: TypeAlias = tuple[Row, ...]

UNKNOWN = -1
"""The id of a term that the world does not know; no term has it."""

_SQL = statements("verifying.sql")
_MOST_QUADS = 2000  # quads of one pattern
_ORDERS = {  # by what the quads of a pattern are ordered, as the indexes have them
    "of_subject": (1, 2, 3),
    "of_subject_predicate": (2, 3),
    "of_predicate": (2, 0, 3),
    "of_predicate_object": (0, 3),
    "of_object": (1, 0, 3),
}
_MOST = 2000  # classes or properties in a hierarchy that are looked at


class State:
    """One world after one revision, over all graphs of data; with `shapes`, that of the shapes alone."""

    def __init__(
        self, connection: Connection, dictionary: Dictionary, history: History, revision: int, *, shapes: bool = False
    ) -> None:
        self.revision = revision
        self.read: dict[Row, None] = {}
        self.cut: set[str] = set()  # what was not read to its end
        self._connection = connection
        self._dictionary = dictionary
        self._shapes = (dictionary.find([SHAPES_GRAPH])[0] or UNKNOWN) if shapes else None
        gone = history.gone(revision, revision)
        self._gone = gone[gone[:, 3] == self._shapes] if shapes else of_data(dictionary, gone)
        self._ids: dict[Any, int] = {}
        self._terms: dict[int, Any] = {}
        self._known: dict[tuple[str, int, int, int, int], Rows] = {}

    # -- terms --------------------------------------------------------------------------------------------------------

    def id(self, term: Any) -> int:
        """The id of a term, or of an IRI given as a str; -1 for one that the world does not know."""
        found = self._ids.get(term)
        if found is None:
            number = self._dictionary.find([ox.NamedNode(term) if isinstance(term, str) else term])[0]
            found = self._ids[term] = UNKNOWN if number is None else number
        return found

    def claimed(self, term: Any) -> int:
        """The id of a term of a claim; one that the world does not know gets one of its own, below -1.

        So what is looked at does not depend on what became known later.
        """
        found = self.id(term)
        if found == UNKNOWN:
            found = self._ids[term] = -2 - len(self._ids)
            self._terms[found] = term
        return found

    def known(self, node: int) -> bool:
        """Whether anything is said of a node, or with it."""
        return bool(self.quads(node, most=1) or self.quads(None, None, node, most=1) or self.quads(None, node, most=1))

    def term(self, number: int) -> Any:
        """The term of an id."""
        if number not in self._terms:
            self._terms |= self._dictionary.terms([number])
        return self._terms[number]

    def terms(self, numbers: Iterable[int]) -> dict[int, Any]:
        """The terms of ids, read at once."""
        wanted = set(numbers)
        missing = wanted - self._terms.keys()
        if missing:
            self._terms |= self._dictionary.terms(missing)
        return {number: self._terms[number] for number in wanted}

    # -- quads --------------------------------------------------------------------------------------------------------

    def quads(
        self,
        subject: int | None = None,
        predicate: int | None = None,
        object: int | None = None,
        *,
        most: int = _MOST_QUADS,
    ) -> Rows:
        """The quads of a pattern, of which one term is given at least, in a settled order; the first `most`."""
        if any(number is not None and number < 0 for number in (subject, predicate, object)):
            return ()
        if subject is not None:
            name = "of_subject" if predicate is None else "of_subject_predicate"
        elif predicate is not None:
            name = "of_predicate" if object is None else "of_predicate_object"
        else:
            name = "of_object"
        s, p, o = (UNKNOWN if number is None else number for number in (subject, predicate, object))
        given = (s, p, o)
        key = (name, *given, most)
        if key not in self._known:
            found = self._now(name, given, most + 1) + self._then(given)
            order = _ORDERS[name]
            found.sort(key=lambda row: [row[place] for place in order])
            if len(found) > most == _MOST_QUADS:
                self.cut.add(name)
            self._known[key] = tuple(found[:most])
            self.read |= dict.fromkeys(self._known[key])
        rows = self._known[key]
        # Of a subject's quads with an object there is no statement of its own.
        return tuple(row for row in rows if row[2] == object) if name == "of_subject" and object is not None else rows

    def _now(self, name: str, given: tuple[int, ...], most: int) -> list[Row]:
        values: dict[str, int | None] = dict(zip(("subject", "predicate", "object"), given, strict=True))
        values |= {"at": self.revision, "shapes": self._shapes, "most": most}
        statement = _SQL[name]
        bound = statement.bind(**{parameter: values[parameter] for parameter in statement.parameters})
        return [tuple(row) for row in self._connection.table(statement, bound).tolist()]

    def _then(self, given: tuple[int, ...]) -> list[Row]:
        """The quads that held then and do not hold now."""
        gone = self._gone
        if not len(gone):
            return []
        chosen = gone[:, 0] != 0
        for column, number in enumerate(given):
            if number != UNKNOWN:
                chosen &= gone[:, column] == number
        return [tuple(row) for row in np.unique(gone[chosen][:, :5], axis=0).tolist()]

    def objects(self, subject: int, predicate: int | str) -> dict[int, Row]:
        """The objects of a subject under a predicate, each with a quad that has it."""
        number = self.id(predicate) if isinstance(predicate, str) else predicate
        found: dict[int, Row] = {}
        for row in self.quads(subject, number):
            found.setdefault(row[2], row)
        return found

    def subjects(self, predicate: int | str, object: int) -> dict[int, Row]:
        """The subjects of an object under a predicate, each with a quad that has it."""
        number = self.id(predicate) if isinstance(predicate, str) else predicate
        found: dict[int, Row] = {}
        for row in self.quads(None, number, object):
            found.setdefault(row[0], row)
        return found

    def cited(self, rows: Iterable[Row]) -> tuple[CitedQuad, ...]:
        """Rows as quads, each once, in their order."""
        given = list(dict.fromkeys(rows))
        terms = self.terms({number for row in given for number in row[:4] if number})
        shown = {number: to_rdflib(term) for number, term in terms.items()}
        shown[DEFAULT_GRAPH_ID] = None
        return tuple(CitedQuad(shown[s], shown[p], shown[o], shown[g], revision) for s, p, o, g, revision in given)


class Way(NamedTuple):
    """A property that one leads to, turned around or not, and the declarations on the way."""

    predicate: int
    turned: bool
    premises: Rows


class Declarations:
    """Reads the declarations of one state."""

    def __init__(self, state: State) -> None:
        self.state = state

    def typed(self, node: int, iri: str) -> Row | None:
        """The quad that gives a node this type; None without one."""
        rows = self.state.quads(node, self.state.id(TYPE), self.state.id(iri))
        return rows[0] if rows else None

    # -- properties -----------------------------------------------------------------------------------------------

    def below(self, predicate: int) -> list[Way]:
        """The properties that imply a property: itself, its subproperties and inverses; the nearest first."""
        return self._ways(predicate, up=False)

    def above(self, predicate: int) -> list[Way]:
        """The properties that a property implies: itself, its superproperties and inverses; the nearest first."""
        return self._ways(predicate, up=True)

    def _ways(self, predicate: int, *, up: bool) -> list[Way]:
        found = {(predicate, False): Way(predicate, False, ())}
        front = [Way(predicate, False, ())]
        while front and len(found) < _MOST:
            at = front.pop(0)
            for other, turns, premises in self._next(at.predicate, up=up):
                key = (other, at.turned != turns)
                if key not in found:
                    found[key] = Way(*key, (*at.premises, *premises))
                    front.append(found[key])
        return list(found.values())

    def _next(self, predicate: int, *, up: bool) -> Iterator[tuple[int, bool, Rows]]:
        state = self.state
        lead = state.objects(predicate, RDFS + "subPropertyOf") if up else {}
        lead = lead if up else state.subjects(RDFS + "subPropertyOf", predicate)
        for other, row in (*lead.items(), *self._either(predicate, OWL + "equivalentProperty")):
            yield other, False, (row,)
        for other, row in self._either(predicate, OWL + "inverseOf"):
            yield other, True, (row,)
        symmetric = self.typed(predicate, OWL + "SymmetricProperty")
        if symmetric is not None:
            yield predicate, True, (symmetric,)
        iri = self._iri(predicate)
        if iri in SYMMETRIC:
            yield predicate, True, ()
        for pairs, turns in ((SUB_PROPERTIES, False), (INVERSES, True)):
            for one, other_iri in pairs:
                for here, there, upward in ((one, other_iri, True), (other_iri, one, False)):
                    if iri == here and (turns or upward == up) and state.id(there) != UNKNOWN:
                        yield state.id(there), turns, ()

    def transitive(self, predicate: int) -> Rows | None:
        """The quads that make a property transitive; None if nothing does."""
        row = self.typed(predicate, OWL + "TransitiveProperty")
        if row is not None:
            return (row,)
        return () if self._iri(predicate) in TRANSITIVE else None

    def declared(self, predicate: int, kind: str) -> Iterator[tuple[Way, Row]]:
        """The ways up to properties of a kind, such as owl:FunctionalProperty, with the quad that says so."""
        opposite = {"FunctionalProperty": "InverseFunctionalProperty"}
        opposite |= {other: one for one, other in opposite.items()}
        for way in self.above(predicate):
            row = self.typed(way.predicate, OWL + kind)
            if (row is not None and not (way.turned and kind in opposite)) or (
                way.turned and kind in opposite and (row := self.typed(way.predicate, OWL + opposite[kind]))
            ):
                yield way, row

    def _either(self, node: int, iri: str) -> Iterable[tuple[int, Row]]:
        """The nodes that a property joins to a node, in either direction."""
        return {**self.state.subjects(iri, node), **self.state.objects(node, iri)}.items()

    def _iri(self, node: int) -> str:
        term = self.state.term(node)
        return term.value if isinstance(term, ox.NamedNode) else ""

    # -- classes ----------------------------------------------------------------------------------------------------

    def classes_above(self, kind: int) -> dict[int, Rows]:
        """A class and its superclasses, the nearest first, with the declarations on the way."""
        state = self.state
        found: dict[int, Rows] = {kind: ()}
        front = [kind]
        while front and len(found) < _MOST:
            at = front.pop(0)
            above: list[tuple[int, Rows]] = [
                (other, (row,)) for other, row in state.objects(at, RDFS + "subClassOf").items()
            ]
            above += [(other, (row,)) for other, row in self._either(at, OWL + "equivalentClass")]
            above += [(state.id(b), ()) for a, b in SUB_CLASSES if a == self._iri(at) and state.id(b) != UNKNOWN]
            for head, row in state.objects(at, OWL + "intersectionOf").items():
                above += [(item, (row, *rows)) for item, rows in self.items(head)]
            for owner, rows in self._owners(at, OWL + "unionOf"):
                above.append((owner, rows))
            for owner, rows in self._owners(at, OWL + "disjointUnionOf"):
                above.append((owner, rows))
            for other, rows in above:
                if other not in found:
                    found[other] = (*found[at], *rows)
                    front.append(other)
        return found

    def types(self, node: int, without: tuple[int, int, int] | None = None) -> dict[int, Rows]:
        """The classes that a node is an instance of, with what says so: as said, or by domains and ranges.

        `without` is a triple from which nothing is concluded.
        """
        state = self.state
        type_ = state.id(TYPE)
        found: dict[int, Rows] = {}

        def learn(kind: int, premises: Rows) -> None:
            for above, rows in self.classes_above(kind).items():
                held = (*premises, *rows)
                if above not in found or len(held) < len(found[above]):
                    found[above] = held

        own = [row for row in state.quads(node) if row[:3] != without]
        for row in own:
            if row[1] == type_:
                learn(row[2], (row,))
        by_predicate: dict[int, Row] = {}
        for row in own:
            by_predicate.setdefault(row[1], row)
        for predicate, row in by_predicate.items():
            for kind, premises in self.signature(predicate, RDFS + "domain"):
                learn(kind, (row, *premises))
        pointing: dict[int, Row] = {}
        for row in state.quads(None, None, node):
            if row[:3] != without and row[1] != type_:
                pointing.setdefault(row[1], row)
        for predicate, row in pointing.items():
            for kind, premises in self.signature(predicate, RDFS + "range"):
                learn(kind, (row, *premises))
        return found

    def signature(self, predicate: int, iri: str) -> Iterator[tuple[int, Rows]]:
        """The domains, or the ranges, of a property and its superproperties."""
        opposite = RDFS + "range" if iri == RDFS + "domain" else RDFS + "domain"
        for way in self.above(predicate):
            for kind, row in self.state.objects(way.predicate, opposite if way.turned else iri).items():
                yield kind, (*way.premises, row)

    def exclusions(self, kind: int) -> dict[int, Rows]:
        """The classes that are declared to have no instance in common with a class."""
        found: dict[int, Rows] = {}
        for iri in ("disjointWith", "complementOf"):
            for other, row in self._either(kind, OWL + iri):
                found.setdefault(other, (row,))
        for iri in ("members", "disjointUnionOf"):
            for owner, rows in self._owners(kind, OWL + iri):
                said = self.typed(owner, OWL + "AllDisjointClasses")
                if iri == "members" and said is None:
                    continue
                for other, cells in self._siblings(owner, OWL + iri):
                    if other != kind:
                        found.setdefault(other, (*rows, *cells) if said is None else (*rows, *cells, said))
        for other in self._said(kind, DISJOINT_CLASSES):
            found.setdefault(other, ())
        return found

    def excluded_properties(self, predicate: int) -> dict[int, Rows]:
        """The properties that are declared to share no pair with a property."""
        found: dict[int, Rows] = {other: (row,) for other, row in self._either(predicate, OWL + "propertyDisjointWith")}
        for owner, rows in self._owners(predicate, OWL + "members"):
            row = self.typed(owner, OWL + "AllDisjointProperties")
            for other, cells in self._siblings(owner, OWL + "members") if row is not None else ():
                if other != predicate and row is not None:
                    found.setdefault(other, (*rows, *cells, row))
        for other in self._said(predicate, DISJOINT_PROPERTIES):
            found.setdefault(other, ())
        return found

    def _said(self, node: int, pairs: Iterable[tuple[str, str]]) -> Iterator[int]:
        """The terms that a vocabulary itself puts beside one of its terms, in either order of the pairs."""
        here = self._iri(node)
        for one, other in (*pairs, *((b, a) for a, b in pairs)):
            if one == here and self.state.id(other) != UNKNOWN:
                yield self.state.id(other)

    def clash(self, one: dict[int, Rows], other: dict[int, Rows]) -> tuple[int, int, Rows] | None:
        """Two classes, one of each side, that exclude each other, with all premises: the pair that needs fewest."""
        best: tuple[int, int, Rows] | None = None
        for kind, premises in one.items():
            for excluded, rows in self.exclusions(kind).items():
                if excluded in other:
                    held = (*premises, *rows, *other[excluded])
                    if best is None or len(held) < len(best[2]):
                        best = (kind, excluded, held)
        return best

    # -- individuals --------------------------------------------------------------------------------------------------

    def different(self, one: int, other: int) -> Rows | None:
        """The quads by which two nodes differ; None if there are none."""
        for held, row in self._either(one, OWL + "differentFrom"):
            if held == other:
                return (row,)
        for iri in ("distinctMembers", "members"):
            for owner, rows in self._owners(one, OWL + iri):
                row_of = self.typed(owner, OWL + "AllDifferent")
                if row_of is not None:
                    for member, cells in self._siblings(owner, OWL + iri):
                        if member == other != one:
                            return (*rows, *cells, row_of)
        return None

    def same(self, one: int, other: int) -> Rows | None:
        """The quads by which two nodes are the same, through owl:sameAs either way; None if there are none."""
        found: dict[int, Rows] = {one: ()}
        front = [one]
        while front and len(found) < _MOST:
            at = front.pop(0)
            if at == other:
                return found[at]
            for node, row in self._either(at, OWL + "sameAs"):
                if node not in found:
                    found[node] = (*found[at], row)
                    front.append(node)
        return None

    # -- lists --------------------------------------------------------------------------------------------------------

    def items(self, head: int) -> list[tuple[int, Rows]]:
        """The items of an RDF list, each with the cells up to it."""
        state = self.state
        found: list[tuple[int, Rows]] = []
        seen: set[int] = set()
        held: Rows = ()
        while head not in seen and len(seen) < _MOST:
            seen.add(head)
            for item, row in state.objects(head, RDF + "first").items():
                found.append((item, (*held, row)))
            rest = state.objects(head, RDF + "rest")
            if not rest:
                break
            head, row = next(iter(rest.items()))
            held = (*held, row)
        return found

    def _siblings(self, owner: int, iri: str) -> Iterator[tuple[int, Rows]]:
        for head, row in self.state.objects(owner, iri).items():
            for item, rows in self.items(head):
                yield item, (row, *rows)

    def _owners(self, item: int, iri: str) -> Iterator[tuple[int, Rows]]:
        """The owners of a list with this item under a property."""
        state = self.state
        for cell, row in state.subjects(RDF + "first", item).items():
            held: Rows = (row,)
            seen: set[int] = set()
            at = cell
            while at not in seen:
                seen.add(at)
                for owner, said in state.subjects(iri, at).items():
                    yield owner, (*held, said)
                before = state.subjects(RDF + "rest", at)
                if not before:
                    break
                at, row = next(iter(before.items()))
                held = (*held, row)
