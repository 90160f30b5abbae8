"""Declarations of a world's vocabularies: hierarchies of classes and properties, and disjoint terms."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cached_property

import numpy as np

from worlds.core.quads.dictionary import Ids
from worlds.extras.curation.columns.quad_columns import NO_IDS, QuadTable, distinct
from worlds.graph.terms import RDF

RDFS = "http://www.w3.org/2000/01/rdf-schema#"
OWL = "http://www.w3.org/2002/07/owl#"
SKOS = "http://www.w3.org/2004/02/skos/core#"
TYPE = RDF + "type"

DISJOINT_CLASSES = (  # S9, S37
    (SKOS + "Concept", SKOS + "ConceptScheme"),
    (SKOS + "Concept", SKOS + "Collection"),
    (SKOS + "ConceptScheme", SKOS + "Collection"),
)
SUB_CLASSES = ((SKOS + "OrderedCollection", SKOS + "Collection"),)
DISJOINT_PROPERTIES = (  # S13, S46
    (SKOS + "prefLabel", SKOS + "altLabel"),
    (SKOS + "prefLabel", SKOS + "hiddenLabel"),
    (SKOS + "altLabel", SKOS + "hiddenLabel"),
    (SKOS + "exactMatch", SKOS + "broadMatch"),
    (SKOS + "exactMatch", SKOS + "relatedMatch"),
)
SUB_PROPERTIES = (
    (SKOS + "broader", SKOS + "broaderTransitive"),
    (SKOS + "narrower", SKOS + "narrowerTransitive"),
    (SKOS + "broadMatch", SKOS + "broader"),
    (SKOS + "narrowMatch", SKOS + "narrower"),
    (SKOS + "topConceptOf", SKOS + "inScheme"),
)
INVERSES = (
    (SKOS + "broader", SKOS + "narrower"),
    (SKOS + "broaderTransitive", SKOS + "narrowerTransitive"),
    (SKOS + "broadMatch", SKOS + "narrowMatch"),
    (SKOS + "hasTopConcept", SKOS + "topConceptOf"),
)
SYMMETRIC = (
    *(OWL + name for name in ("sameAs", "differentFrom", "disjointWith")),
    *(SKOS + name for name in ("related", "exactMatch", "closeMatch", "relatedMatch")),
)
TRANSITIVE = (RDFS + "subClassOf", RDFS + "subPropertyOf", SKOS + "broaderTransitive", SKOS + "narrowerTransitive")

PART_OF = {  # predicate of a hierarchy → whether it points downwards
    SKOS + "broader": False,
    SKOS + "broaderTransitive": False,
    SKOS + "narrower": True,
    SKOS + "narrowerTransitive": True,
    RDFS + "subClassOf": False,
    RDFS + "subPropertyOf": False,
    "http://purl.org/dc/terms/isPartOf": False,
    "http://purl.org/dc/terms/hasPart": True,
    "https://schema.org/isPartOf": False,
    "https://schema.org/hasPart": True,
    "http://schema.org/isPartOf": False,
    "http://schema.org/hasPart": True,
    "http://purl.obolibrary.org/obo/BFO_0000050": False,
    "http://purl.obolibrary.org/obo/BFO_0000051": True,
}

HIERARCHIES = (
    (SKOS + "broader", SKOS + "broaderTransitive", SKOS + "narrower", SKOS + "narrowerTransitive"),
    (RDFS + "subClassOf",),
    (RDFS + "subPropertyOf",),
    ("http://purl.org/dc/terms/isPartOf", "http://purl.org/dc/terms/hasPart"),
    ("https://schema.org/isPartOf", "https://schema.org/hasPart"),
    ("http://schema.org/isPartOf", "http://schema.org/hasPart"),
    ("http://purl.obolibrary.org/obo/BFO_0000050", "http://purl.obolibrary.org/obo/BFO_0000051"),
)
"""Predicates of hierarchies: those that lead up, and as many that lead down the same way, if there are any."""


class Axioms:
    """The declarations in a table, by the ids of their terms."""

    def __init__(self, table: QuadTable) -> None:
        self._table = table
        self._lists: dict[int, list[int]] | None = None
        self._typed: dict[str, list[int]] = {}

    # -- hierarchies ----------------------------------------------------------------------------------------------

    @cached_property
    def classes_above(self) -> Mapping[int, set[int]]:
        """Class → the classes directly above it."""
        above = self._edges(RDFS + "subClassOf", OWL + "equivalentClass")
        for one, other in SUB_CLASSES:
            a, b = self._table.ids([one, other])
            if a >= 0 and b >= 0:
                above[a].add(b)
        return above

    @cached_property
    def properties_above(self) -> Mapping[int, set[int]]:
        """Property → the properties directly above it."""
        return self._edges(RDFS + "subPropertyOf", OWL + "equivalentProperty")

    def _edges(self, below: str, equal: str) -> dict[int, set[int]]:
        found: dict[int, set[int]] = defaultdict(set)
        for one, other in self._table.couples(below):
            found[one].add(other)
        for one, other in self._table.couples(equal):
            found[one].add(other)
            found[other].add(one)
        return found

    @cached_property
    def _classes_below(self) -> Mapping[int, set[int]]:
        return _turned(self.classes_above)

    @cached_property
    def _properties_below(self) -> Mapping[int, set[int]]:
        return _turned(self.properties_above)

    def above(self, kind: int) -> set[int]:
        """A class, and all above it."""
        return reached(kind, self.classes_above)

    def below(self, kinds: Iterable[int]) -> Ids:
        """Classes, and all below them; ascending."""
        found: set[int] = set()
        for kind in kinds:
            found |= reached(kind, self._classes_below)
        return np.array(sorted(found), dtype=np.int64)

    def properties_below(self, predicate: int) -> set[int]:
        """A property, and all below it."""
        return reached(predicate, self._properties_below)

    @cached_property
    def inverses(self) -> Mapping[int, set[int]]:
        """Property → its declared inverses."""
        found: dict[int, set[int]] = defaultdict(set)
        for one, other in self._table.couples(OWL + "inverseOf"):
            found[one].add(other)
            found[other].add(one)
        return found

    def extension(self, predicate: int) -> tuple[Ids, Ids, Ids]:
        """(subject, object, row) of a property's extension: its quads, its subproperties' and its inverses'."""
        left, right, rows = [NO_IDS], [NO_IDS], [NO_IDS]
        symmetric = set(self.typed(OWL + "SymmetricProperty"))
        for one in sorted(self.properties_below(predicate)):
            for other, turned in ((one, False), *((inverse, True) for inverse in self.inverses.get(one, ()))):
                of = self._table.rows(other)
                pair = (self._table.subjects[of], self._table.objects[of])
                for flip in (turned, not turned) if one in symmetric else (turned,):
                    left.append(pair[flip])
                    right.append(pair[not flip])
                    rows.append(np.arange(of.start, of.stop, dtype=np.int64))
        return np.concatenate(left), np.concatenate(right), np.concatenate(rows)

    # -- instances ------------------------------------------------------------------------------------------------

    @cached_property
    def types(self) -> tuple[Ids, Ids]:
        """Instances and their classes, as they are said; of no class of OWL, RDFS and RDF that says nothing."""
        subjects, kinds = self._table.pairs(TYPE)
        idle = self._table.ids([OWL + "NamedIndividual", OWL + "Thing", RDFS + "Resource"])
        telling = ~np.isin(kinds, idle)
        return subjects[telling], kinds[telling]

    def instances(self, kinds: Ids) -> Ids:
        """The instances of classes, without the instances of subclasses; ascending."""
        subjects, of = self.types
        return distinct(subjects[np.isin(of, kinds)])

    def instances_below(self, kind: int) -> Ids:
        """The instances of a class and of its subclasses; ascending."""
        return self.instances(self.below([kind]))

    @cached_property
    def known_classes(self) -> set[int]:
        """The terms that are declared a class, are in the hierarchy, or have instances."""
        said = {number for iri in (OWL + "Class", RDFS + "Class") for number in self.typed(iri)}
        idle = self._table.ids([OWL + "Thing", RDFS + "Resource", RDFS + "Literal"])
        return (said | set(self.types[1].tolist()) | set(self._classes_below) | set(self.classes_above)) - set(idle)

    def typed(self, iri: str) -> list[int]:
        """The ids of the instances of this type."""
        if iri not in self._typed:
            subjects, kinds = self._table.pairs(TYPE)
            self._typed[iri] = distinct(subjects[kinds == self._table.id(iri)]).tolist()
        return self._typed[iri]

    def type_rows(self, subject: int, kinds: Ids) -> tuple[int, ...]:
        """The rows that give a subject one of the types."""
        of = self._table.values_of(subject, self._table.id(TYPE))
        return tuple((of.start + np.flatnonzero(np.isin(self._table.objects[of.start : of.stop], kinds))).tolist())

    # -- what excludes what ---------------------------------------------------------------------------------------

    @cached_property
    def disjoint_classes(self) -> list[tuple[int, int]]:
        """Pairs of classes that are declared to have no instance in common (OWL 2, section 9.1)."""
        found = self._declared(DISJOINT_CLASSES)
        for iri in ("disjointWith", "complementOf"):
            found |= self._pairs(OWL + iri)
        for node in self.typed(OWL + "AllDisjointClasses"):
            found |= _each_with_each(self.members(node))
        for node, head in self._table.couples(OWL + "disjointUnionOf"):
            del node
            found |= _each_with_each(self.items(head))
        return _distinct(found)

    @cached_property
    def disjoint_properties(self) -> list[tuple[int, int]]:
        """Pairs of properties that are declared to share no pair (OWL 2, section 9.2.3)."""
        found = self._declared(DISJOINT_PROPERTIES) | self._pairs(OWL + "propertyDisjointWith")
        for node in self.typed(OWL + "AllDisjointProperties"):
            found |= _each_with_each(self.members(node))
        return _distinct(found)

    @cached_property
    def different(self) -> set[tuple[int, int]]:
        """Pairs of entities that are said to be two; both ways."""
        found = self._pairs(OWL + "differentFrom")
        for node in self.typed(OWL + "AllDifferent"):
            found |= _each_with_each(self.members(node))
        return found | {(other, one) for one, other in found}

    def excluded(self, kinds: Iterable[int]) -> set[int]:
        """The declared classes that an instance of all of these cannot have; without their subclasses."""
        above = {kind for one in kinds for kind in self.above(one)}
        pairs = self.disjoint_classes
        return {b for a, b in pairs if a in above} | {a for a, b in pairs if b in above}

    def _pairs(self, iri: str) -> set[tuple[int, int]]:
        return set(self._table.couples(iri))

    def _declared(self, pairs: Iterable[tuple[str, str]]) -> set[tuple[int, int]]:
        known = ((self._table.id(one), self._table.id(other)) for one, other in pairs)
        return {pair for pair in known if min(pair) >= 0}

    # -- class expressions ----------------------------------------------------------------------------------------

    def members(self, node: int) -> list[int]:
        """The members that a node lists, by owl:members or owl:distinctMembers."""
        found: list[int] = []
        for iri in (OWL + "members", OWL + "distinctMembers"):
            for head in self.objects(node, iri):
                found += self.items(head)
        return found

    def any_of(self, kind: int) -> list[int] | None:
        """The named classes of which an instance of this class has one; None where that cannot be said so."""
        unions = self.objects(kind, OWL + "unionOf")
        if len(unions) == 1:
            found: list[int] = []
            for one in self.items(unions[0]):
                named = self.any_of(one)
                if named is None:
                    return None
                found += named
            return found
        return [kind] if self._table.kinds[kind] == 1 else None

    def objects(self, node: int, iri: str) -> list[int]:
        """The objects of a node under a predicate."""
        subjects, objects = self._table.pairs(iri)
        first, last = np.searchsorted(subjects, node), np.searchsorted(subjects, node, side="right")
        found: list[int] = objects[first:last].tolist()
        return found

    def items(self, head: int) -> list[int]:
        """The items of an RDF list; of one that runs in a circle, each once."""
        if self._lists is None:
            first = dict(self._table.couples(RDF + "first"))
            rest = dict(self._table.couples(RDF + "rest"))
            self._lists = {node: [item, rest.get(node, -1)] for node, item in first.items()}
        found: list[int] = []
        seen: set[int] = set()
        while head in self._lists and head not in seen:
            seen.add(head)
            item, head = self._lists[head]
            found.append(item)
        return found


def reached(start: int, edges: Mapping[int, set[int]]) -> set[int]:
    """A node, and all nodes reachable along its edges."""
    found, front = {start}, [start]
    while front:
        for other in edges.get(front.pop(), ()):
            if other not in found:
                found.add(other)
                front.append(other)
    return found


def _turned(edges: Mapping[int, set[int]]) -> dict[int, set[int]]:
    found: dict[int, set[int]] = defaultdict(set)
    for one, others in edges.items():
        for other in others:
            found[other].add(one)
    return found


def _each_with_each(members: list[int]) -> set[tuple[int, int]]:
    return {(one, other) for place, one in enumerate(members) for other in members[place + 1 :]}


def _distinct(pairs: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    return sorted({(min(pair), max(pair)) for pair in pairs})


def union(parts: Iterable[Ids]) -> Ids:
    """The distinct ids of all parts, ascending."""
    return distinct(np.concatenate([NO_IDS, *parts]))
