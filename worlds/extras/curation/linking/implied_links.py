"""Which links follow from those that a world has: by narrower and inverse properties, along hierarchies and classes."""

from __future__ import annotations

from collections import defaultdict
from functools import cache, cached_property
from typing import Any

import pyoxigraph as ox

from worlds.core.quads.dictionary import Dictionary
from worlds.extras.curation.columns.axioms import reached
from worlds.extras.curation.columns.vocabularies import HIERARCHIES, OWL, RDFS, SKOS
from worlds.extras.curation.linking.learning import Way
from worlds.graph.terms import RDF
from worlds.sql import statements
from worlds.sql.connection import Connection

_SQL = statements("linking.sql")
_ALL = -1
_SYMMETRIC = (*(SKOS + name for name in ("related", "exactMatch", "closeMatch", "relatedMatch")), OWL + "disjointWith")


class LinkConclusions:
    """The conclusions from the links of one world, as they are when it is made."""

    def __init__(self, connection: Connection, dictionary: Dictionary) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self.ways = cache(self._ways)
        self._edges = cache(self._edges_of)

    @cached_property
    def _type(self) -> int:
        return self._id(RDF + "type")

    @cached_property
    def _types(self) -> dict[int, set[int]]:
        found: dict[int, set[int]] = defaultdict(set)
        for subject, kind in self._pairs(self._type):
            found[subject].add(kind)
        return found

    def _id(self, iri: str) -> int:
        found = self._dictionary.find([ox.NamedNode(iri)])[0]
        return -1 if found is None else found

    def _pairs(self, predicate: int) -> list[tuple[int, int]]:
        """The subjects and objects of a predicate's quads."""
        subjects, objects = self._connection.columns(_SQL["with_entities"], (predicate, _ALL))
        return list(zip(subjects.tolist(), objects.tolist(), strict=True))

    def _typed(self, iri: str) -> set[int]:
        kind = self._id(iri)
        return {subject for subject, kinds in self._types.items() if kind in kinds}

    @cached_property
    def _narrower(self) -> dict[int, set[Way]]:
        """Ways that each predicate follows from: narrower properties as they lead, inverse ones turned."""
        found: dict[int, set[Way]] = defaultdict(set)
        for below, above in self._pairs(self._id(RDFS + "subPropertyOf")):
            found[above].add((below, False))
        found[self._id(SKOS + "broaderTransitive")].add((self._id(SKOS + "broader"), False))
        found[self._id(SKOS + "narrowerTransitive")].add((self._id(SKOS + "narrower"), False))
        inverse = self._pairs(self._id(OWL + "inverseOf"))
        for hierarchy in HIERARCHIES:
            half = (len(hierarchy) + 1) // 2  # those that lead up
            inverse += [
                (self._id(one), self._id(other)) for one, other in zip(hierarchy, hierarchy[half:], strict=False)
            ]
        symmetric = self._typed(OWL + "SymmetricProperty") | {self._id(iri) for iri in _SYMMETRIC}
        for one, other in (*inverse, *((one, one) for one in symmetric)):
            found[one].add((other, True))
            found[other].add((one, True))
        return found

    @cached_property
    def _transitive(self) -> set[int]:
        known = {self._id(iri) for hierarchy in HIERARCHIES for iri in hierarchy}
        known |= self._typed(OWL + "TransitiveProperty")
        turned = {other for one in known for other, inverse in self._narrower.get(one, ()) if inverse}
        return (known | turned) - {-1}

    def _ways(self, way: Way) -> frozenset[Way]:
        """The ways from which one follows, itself among them."""
        found, new = {way}, [way]
        while new:
            predicate, inverse = new.pop()
            for other, turned in self._narrower.get(predicate, ()):
                further = other, inverse != turned
                if other >= 0 and further not in found:
                    found.add(further)
                    new.append(further)
        return frozenset(found)

    def _edges_of(self, predicate: int) -> dict[int, set[int]]:
        edges: dict[int, set[int]] = defaultdict(set)
        for other, inverse in self.ways((predicate, False)):
            for one, two in self._pairs(other):
                edges[two if inverse else one].add(one if inverse else two)
        return edges

    def _is_inherited(self, subject: int, predicate: int, object: int) -> bool:
        """Whether a type, domain, range or disjointness follows from superclasses and superproperties."""
        classes = self._edges(self._id(RDFS + "subClassOf"))
        if predicate == self._type:
            return any(object in reached(kind, classes) for kind in self._types.get(subject, ()))
        if predicate in (self._id(RDFS + "domain"), self._id(RDFS + "range")):
            wider = reached(subject, self._edges(self._id(RDFS + "subPropertyOf")))
            return any(
                object in reached(kind, classes) for one in wider for kind in self._edges(predicate).get(one, ())
            )
        if predicate == self._id(OWL + "disjointWith"):
            others, said = reached(object, classes), self._edges(predicate)
            return any(not others.isdisjoint(said.get(one, ())) for one in reached(subject, classes))
        return False

    def is_new(self, subject: int, predicate: int, object: int) -> bool:
        """Whether a link neither follows along a hierarchy or its classes nor closes a circle; if so, it counts from
        now on."""
        if subject == object:
            return False
        if self._is_inherited(subject, predicate, object):
            return False
        if predicate not in self._transitive:
            return True
        edges: Any = self._edges(predicate)
        if object in reached(subject, edges) or subject in reached(object, edges):
            return False
        edges[subject].add(object)
        return True
