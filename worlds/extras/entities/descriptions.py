"""Descriptions of entities from the quads of a world."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import pyoxigraph as ox

from worlds.core.core import Core
from worlds.core.texts.entity_facts import Annotation
from worlds.core.texts.profiles import words_of
from worlds.extras.entities.limits import check_limit
from worlds.extras.facts.timeline import Held
from worlds.graph.records import Count, Iri, Node, Number, Record, Spare, told
from worlds.graph.terms import RDF, to_rdflib
from worlds.sql import statements

_SQL = statements("entities.sql")


class Source(NamedTuple):
    """Where a triple stands: its graph, None for the default graph, and the revision that added it there.

    One that is `concluded` follows by the world's rules; no revision added it.
    """

    graph: Node | None
    revision: Number | None
    concluded: Annotated[bool, Spare] = False

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON-ready values."""
        return told(self)


@dataclass(frozen=True, slots=True)
class Value(Record):
    """A term, the label of its entity, and its source; `label` is None for literals and entities without one.

    `annotations` are what reifiers say of the triple.
    """

    term: Node
    label: str | None
    sources: Annotated[tuple[Source, ...], Spare] = ()
    annotations: Annotated[tuple[Annotation, ...], Spare] = ()


@dataclass(frozen=True, slots=True)
class Property(Record):
    """The values of an entity under one predicate, or the subjects that have it as value; `count` is how many in all.

    `conflict` says what a declaration allows, where the values contradict it.
    """

    predicate: Iri
    label: str
    values: tuple[Value, ...]
    count: Count
    conflict: Annotated[str | None, Spare] = None


@dataclass(frozen=True)
class Description(Record):
    """A description of an entity: its triples by predicate, and `incoming`, the triples that point to it.

    `former` are its facts that have ended.
    """

    iri: Iri
    label: str | None
    types: tuple[Value, ...]
    description: str | None
    properties: tuple[Property, ...]
    incoming: tuple[Property, ...]
    former: Annotated[tuple[Held, ...], Spare] = ()

    def __bool__(self) -> bool:
        """Whether anything is said at all."""
        return bool(self.types or self.properties or self.incoming or self.former)


class Describer:
    """Describes the entities of one world."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def describe(self, iri: Any, *, limit: int, language: str | None) -> Description:
        """See `World.describe`."""
        check_limit(limit)
        with self._core.connection.snapshot():
            return self._described(iri, limit, language)

    def _described(self, iri: Any, limit: int, language: str | None) -> Description:
        number = self._core.dictionary.find([iri])[0]
        if number is None:
            return Description(to_rdflib(iri), None, (), None, (), ())
        rdf_type = self._core.dictionary.find([ox.NamedNode(RDF + "type")])[0]
        own, incoming = self._groups("properties_of", number, limit), self._groups("properties_to", number, limit)
        needed = {other for _, others, _ in (*own, *incoming) for other in others}
        needed |= {predicate for predicate, _, _ in (*own, *incoming)} | {number}
        triples = [(number, predicate, other) for predicate, others, _ in own for other in others]
        triples += [(other, predicate, number) for predicate, others, _ in incoming for other in others]
        annotated = self._core.annotations.of(triples)
        needed |= {term for said in annotated.values() for pair in said for term in pair}
        several = self._core.annotations.functional({predicate for predicate, _, count in own if count > 1})
        terms = self._core.dictionary.terms(needed)
        entities = [other for other in needed if not isinstance(terms[other], ox.Literal)]
        labels = self._core.facts.labels(self._core.chunks.policy, entities, language=language)
        description = self._core.facts.descriptions(self._core.chunks.policy, [number], language=language).get(number)

        sources = self._sources(triples)

        def called(predicate: int) -> str:
            return labels[predicate].label if predicate in labels else words_of(terms[predicate].value)

        def value(other: int, triple: tuple[int, int, int]) -> Value:
            said = tuple(
                Annotation(to_rdflib(terms[predicate]), called(predicate), to_rdflib(terms[object]))
                for predicate, object in annotated.get(triple, ())
            )
            label = labels[other].label if other in labels else None
            return Value(to_rdflib(terms[other]), label, sources[triple], said)

        def properties(groups: list[tuple[int, list[int], int]], *, backwards: bool) -> tuple[Property, ...]:
            return tuple(
                Property(
                    to_rdflib(terms[predicate]),
                    called(predicate),
                    tuple(
                        value(other, (other, predicate, number) if backwards else (number, predicate, other))
                        for other in others
                    ),
                    count,
                    f"{count} values where one is allowed" if predicate in several and not backwards else None,
                )
                for predicate, others, count in groups
            )

        typed = [group for group in own if group[0] == rdf_type]
        types = tuple(value for part in properties(typed, backwards=False) for value in part.values)
        return Description(
            to_rdflib(iri),
            labels[number].label if number in labels else None,
            types,
            None if description is None else description.whole,
            properties([group for group in own if group[0] != rdf_type], backwards=False),
            properties(incoming, backwards=True),
        )

    def _sources(self, triples: list[tuple[int, int, int]]) -> dict[tuple[int, int, int], tuple[Source, ...]]:
        """Triple → where it stands."""
        rows = self._core.connection.rows(_SQL["sources_of_triples"], (json.dumps(triples),))
        terms = self._core.dictionary.terms({graph for _, graph, _ in rows})
        found: dict[tuple[int, int, int], tuple[Source, ...]] = dict.fromkeys(triples, ())
        for place, graph, revision in rows:
            found[triples[int(place)]] += (
                Source(to_rdflib(terms[graph]) if graph else None, revision or None, not revision),
            )
        return found

    def _groups(self, name: str, number: int, limit: int) -> list[tuple[int, list[int], int]]:
        """(predicate, the first of the others, how many there are), by predicate."""
        statement = _SQL[name]
        rows = self._core.connection.rows(statement, statement.bind(entity=number, limit=limit))
        groups: dict[int, tuple[list[int], int]] = {}
        for predicate, other, count in rows:
            groups.setdefault(predicate, ([], count))[0].append(other)
        return [(predicate, others, count) for predicate, (others, count) in groups.items()]
