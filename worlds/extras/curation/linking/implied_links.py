"""Links that follow from those of a world, and the links that go along with the names in its texts."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise, permutations
from typing import Any, TypeAlias

import pyoxigraph as ox

from worlds.core.quads.dictionary import Dictionary
from worlds.extras.curation.columns.axioms import HIERARCHIES, OWL, RDFS, SKOS, reached
from worlds.graph.terms import RDF
from worlds.sql import statements
from worlds.sql.connection import Connection

_USUAL = 0.1  # share of the named entities that a predicate leads to, of which nothing is known
_TRUST = 3  # cases that what is more general counts as many as
_SINGLE = 1.02  # values of a subject, on average, up to which a predicate has one

Way: TypeAlias = tuple[int, bool]
"""A predicate, and whether it leads from the entity to the subject of the text."""
Context: TypeAlias = tuple[Any, ...]
_SQL = statements("linking.sql")
_ALL = -1
_SYMMETRIC = (*(SKOS + name for name in ("related", "exactMatch", "closeMatch", "relatedMatch")), OWL + "disjointWith")


@dataclass(frozen=True, slots=True)
class Naming:
    """A text of a subject that names an entity: the predicate of the text, both ends' classes, the telling word before
    it, and the words beside."""

    subject: int
    entity: int
    predicate: int
    kinds: tuple[tuple[int, ...], tuple[int, ...]]
    cue: str
    beside: tuple[str, str]

    def contexts(self, way: Way) -> tuple[Context, ...]:
        """Its contexts, shared with others, the most general first; the entity, in texts about such subjects, last."""
        of_classes = (way, self.predicate, *self.kinds)
        about = (way, self.kinds[0], self.entity)
        return of_classes, (*of_classes, self.cue), (*of_classes, self.cue, *self.beside), about


@dataclass(frozen=True, slots=True)
class Chance:
    """How likely a link is: of the `cases` of the `context` that bears it most, `linked` have it."""

    way: Way
    share: float
    linked: int
    cases: int
    context: Context


class Learnt:
    """Counts of a world's namings and their links, by context."""

    def __init__(
        self, namings: Sequence[Naming], joined: Sequence[set[Way]], having: Mapping[int, Mapping[Way, int]]
    ) -> None:
        """`joined` has the predicates that join each naming's subject and entity, `having` how many values each of them
        has by each."""
        self._having = having
        self._cases: Counter[Context] = Counter()
        self._linked: Counter[Context] = Counter()
        self._ways: dict[Context, set[Way]] = defaultdict(set)
        self._seen: list[tuple[int, Naming, set[Way], set[Way]]] = []
        seen: set[tuple[int, int, int]] = set()
        for naming, ways in zip(namings, joined, strict=True):
            for way in ways:
                self._ways[naming.kinds].add(way)
        for place, (naming, ways) in enumerate(zip(namings, joined, strict=True)):
            key = (naming.subject, naming.entity, naming.predicate)
            if key in seen:
                continue
            seen.add(key)
            known = self._ways[naming.kinds] & having.get(naming.subject, {}).keys()
            self._seen.append((place, naming, known, ways))
            for way in known:
                for context in naming.contexts(way):
                    self._cases[context] += 1
                    self._linked[context] += way in ways
        values: dict[Way, list[int]] = defaultdict(list)
        for counts in having.values():
            for way, count in counts.items():
                values[way].append(count)
        self._single = {way for way, counts in values.items() if sum(counts) <= _SINGLE * len(counts)}
        pairs = {(naming.subject, naming.entity): ways for naming, ways in zip(namings, joined, strict=True)}
        self._joining = Counter(way for ways in pairs.values() for way in ways)
        self._together = Counter(both for ways in pairs.values() for both in permutations(ways, 2))

    def chances(self, naming: Naming, joined: set[Way]) -> Iterator[Chance]:
        """The probability that each predicate links a named entity with the text's subject; others may be `joined`."""
        for way in self._ways.get(naming.kinds, ()):
            ends = (way, naming.subject), ((way[0], not way[1]), naming.entity)
            if any(led in self._single and led in self._having.get(end, {}) for led, end in ends):
                continue  # one of them has the one that it may have
            *contexts, entity = naming.contexts(way)
            counts = [(self._linked[context], self._cases[context]) for context in contexts]
            usual = (counts[0][0] + _TRUST * _USUAL) / (counts[0][1] + _TRUST)
            share = _USUAL
            for (linked, cases), (within, seen) in pairwise([*counts, (0, 0)]):  # each case counts once
                share = (linked - within + _TRUST * share) / (cases - seen + _TRUST)
            own = (self._linked[entity] + _TRUST * usual) / (self._cases[entity] + _TRUST)
            odds = _odds(share) * _odds(own) / _odds(usual)
            bearing = [(self._linked[context], self._cases[context], context) for context in (*contexts, entity)]
            linked, cases, context = max(bearing, key=lambda one: _succession(*one[:2]))
            beside = (_succession(self._together[way, other], self._joining[other]) for other in joined)
            yield Chance(way, min(odds / (1 + odds), _succession(linked, cases), *beside), linked, cases, context)

    def exceptions(self, contexts: Collection[Context], most: int) -> dict[Context, list[int]]:
        """The places of the first namings of each context where the link is not there."""
        found: dict[Context, list[int]] = {context: [] for context in contexts}
        for place, naming, known, ways in self._seen:
            for way in known - ways:
                for context in naming.contexts(way):
                    if len(found.get(context, range(most))) < most:
                        found[context].append(place)
        return found


def _succession(linked: int, cases: int) -> float:
    """The share that further cases can be trusted to have (Laplace)."""
    return (linked + 1) / (cases + 2)


def _odds(share: float) -> float:
    return share / (1 - share)


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
