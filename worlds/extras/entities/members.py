"""The members of a class, a concept scheme or a property, from A to Z, with facets that count them all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
import pyoxigraph as ox

from worlds.core.core import Core
from worlds.core.quads.dictionary import Ids, json_ids
from worlds.core.quads.rows import distinct
from worlds.extras.entities.label_order import Ordering
from worlds.extras.entities.limits import check_limit
from worlds.extras.entities.trees import SKOS, Trees
from worlds.graph.records import Count, Iri, Node, Record, Spare
from worlds.graph.terms import to_rdflib
from worlds.sql import statements

_SQL = statements("browse.sql")
_FEW = 5000  # members whose values are read one by one
_VALUES = 50  # of a facet that are given

Kind: TypeAlias = Literal["class", "scheme", "property"]


@dataclass(frozen=True, slots=True)
class Member(Record):
    """An entity in a list; `apart` is a fact that tells it from others of its label."""

    iri: Iri
    label: str | None
    types: tuple[Iri, ...]
    apart: Annotated[str | None, Spare] = None


@dataclass(frozen=True, slots=True)
class FacetValue(Record):
    """A value, the label of the entity that it is, and how many members have it."""

    term: Node
    label: str | None
    count: Count


@dataclass(frozen=True, slots=True)
class Facet(Record):
    """The commonest values of the members under a predicate, of `count` different ones."""

    predicate: Iri
    label: str | None
    values: tuple[FacetValue, ...]
    count: Count


@dataclass(frozen=True)
class Members(Record):
    """The instances of a class, the concepts of a scheme, or the subjects of a property: a page of `total`.

    They stand from A to Z, those without a label last. `letters` maps the initials to the offset of their first one.
    `properties` are those of the members of the page, which a facet may count. `subclasses` is the number of classes
    below a class.
    """

    of: Iri
    label: str | None
    kind: Kind | None
    members: tuple[Member, ...]
    total: Count
    offset: Count
    letters: Mapping[str, Count]
    facets: tuple[Facet, ...]
    properties: tuple[Iri, ...]
    subclasses: Count = 0

    def __bool__(self) -> bool:
        return bool(self.total)


class Listing:
    """Lists the members of one world's classes, schemes and properties."""

    def __init__(self, core: Core, ordering: Ordering, trees: Trees) -> None:
        self._core = core
        self._ordering = ordering
        self._trees = trees

    def members(
        self, of: Any, *, facet: Sequence[Any], where: Any, subclasses: bool, offset: int, limit: int,
        language: str | None,
    ) -> Members:  # fmt: skip
        """See `World.entities.members`."""
        check_limit(limit)
        check_limit(offset, "offset", 0)
        with self._core.connection.snapshot():
            number = self._core.dictionary.find([of])[0]
            if number is None:
                return Members(to_rdflib(of), None, None, (), 0, offset, {}, (), ())
            key = (number, subclasses, where)
            kind, ids, below = self._ordering.instep.kept(
                ("members", *key), lambda: self._ids(number, where, subclasses)
            )
            order = self._ordering.sorted(key, ids, language)
            page = order.ids[offset : offset + limit].tolist()
            facets = tuple(self._facet(one, ids, language) for one in facet)
            label = self._ordering.labels([number], language).get(number)
            shown = tuple(self._shown(page, language))
            properties = self._properties(page)
            return Members(
                to_rdflib(of), label, kind, shown, len(order.ids), offset, order.letters, facets, properties, below
            )  # fmt: skip

    def _ids(self, number: int, where: Any, subclasses: bool) -> tuple[Kind | None, Ids, int]:
        """The kind of an entity with members, and these, ascending; of a class, also the number of classes below it."""
        facts = self._core.facts
        kinds = facts.quads_by("quads_under", [number], predicates_json=json_ids([facts.rdf_type]))[:, 2].tolist()
        names = {getattr(one, "value", "") for one in self._core.dictionary.terms(kinds).values()}
        within = facts.numbers([SKOS + "inScheme", SKOS + "topConceptOf"])
        concepts = [*self._with(within, number), *self._trees.tops(number)[0]]
        instances = self._with([facts.rdf_type], number)
        below = self._classes(number)
        kind: Kind | None = None
        ids: Any = []
        if SKOS + "ConceptScheme" in names or concepts:
            kind, ids = "scheme", concepts
        elif len(instances) or len(below) > 1 or any(name.endswith("#Class") for name in names):
            kind, ids = "class", instances
            if subclasses and len(below) > 1:
                ids = np.concatenate([self._with([facts.rdf_type], one) for one in below])
        elif len(under := self._core.connection.column(_SQL["subjects_under"], (number,))):
            kind, ids = "property", under
        found = distinct(np.array(ids, dtype=np.int64))
        among = self._core.searches.among(where)
        return kind, found if among is None else np.intersect1d(found, among), len(below) - 1

    def _with(self, predicates: list[int], node: int) -> Ids:
        return self._core.connection.column(
            _SQL["subjects_with"], _SQL["subjects_with"].bind(predicates_json=json_ids(predicates), node=node)
        )

    def _classes(self, number: int) -> list[int]:
        """A class and all that are below it."""
        shape, found, frontier = self._trees.shape("rdfs:subClassOf"), {number: None}, [number]
        while frontier := [one for one in self._trees.below(shape, frontier)[1].tolist() if one not in found]:
            found |= dict.fromkeys(frontier)
        return list(found)

    def _shown(self, ids: list[int], language: str | None) -> Any:
        dictionary, facts = self._core.dictionary, self._core.facts
        labels, types = facts.labels_and_types(self._core.chunks.policy, ids, language=language)
        names = {number: text.label for number, text in labels.items()}
        apart = self._ordering.apart(names)
        terms = dictionary.terms({*ids, *(one for group in types.values() for one in group)})
        for one in ids:
            kinds = tuple(to_rdflib(terms[kind]) for kind in types.get(one, ()))
            yield Member(to_rdflib(terms[one]), names.get(one), kinds, apart.get(one))

    def _properties(self, ids: list[int]) -> tuple[Any, ...]:
        rows = self._core.facts.quads_by("quads_of_entities", ids)
        numbers, counts = np.unique(rows[:, 1], return_counts=True)
        order = numbers[np.argsort(-counts, kind="stable")].tolist()
        terms = self._core.dictionary.terms(order)
        return tuple(to_rdflib(terms[one]) for one in order)

    def _facet(self, predicate: ox.NamedNode, ids: Ids, language: str | None) -> Facet:
        """The values of all members under a predicate, by how many have them."""
        number = [*self._core.facts.numbers([predicate.value]), 0][0]
        if len(ids) <= _FEW:
            rows = self._core.facts.quads_by("quads_under", ids.tolist(), predicates_json=json_ids([number]))
            subjects, objects = rows[:, 0], rows[:, 2]
        else:
            subjects, objects = self._core.connection.columns(_SQL["values_under"], (number,))
            keep = np.isin(subjects, ids)
            subjects, objects = subjects[keep], objects[keep]
        values, counts = np.unique(distinct(objects << 32 | subjects) >> 32, return_counts=True)
        best = np.lexsort((values, -counts))[:_VALUES]
        terms = self._core.dictionary.terms([number, *values[best].tolist()])
        entities = [one for one in values[best].tolist() if not isinstance(terms[one], ox.Literal)]
        labels = self._ordering.labels([*entities, number], language)
        told = zip(values[best].tolist(), counts[best].tolist(), strict=True)
        found = tuple(FacetValue(to_rdflib(terms[one]), labels.get(one), count) for one, count in told)
        return Facet(to_rdflib(predicate), labels.get(number), found, len(values))
