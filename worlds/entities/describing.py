"""What a world says of an entity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyoxigraph as ox

from worlds.entities.limits import check_limit
from worlds.graph.terms import RDF, to_oxigraph, to_rdflib
from worlds.quads.dictionary import Dictionary
from worlds.sql import statements
from worlds.sql.connection import Connection
from worlds.texts.chunks import ChunkStore
from worlds.texts.facts import Facts
from worlds.texts.profiles import words_of

_SQL = statements("entities.sql")


@dataclass(frozen=True, slots=True)
class Value:
    """A term, and the label of what it names; `label` is None for literals and what has no label."""

    term: Any
    label: str | None

    def to_dict(self) -> dict[str, Any]:
        """The term as in N-Triples, and the label."""
        return {"term": str(to_oxigraph(self.term)), "label": self.label}


@dataclass(frozen=True, slots=True)
class Property:
    """What an entity has under one predicate, or who has it there; `count` is how many there are in all."""

    predicate: Any
    label: str
    values: tuple[Value, ...]
    count: int

    def to_dict(self) -> dict[str, Any]:
        """The property as JSON-ready values."""
        values = [value.to_dict() for value in self.values]
        return {"predicate": str(self.predicate), "label": self.label, "count": self.count, "values": values}


@dataclass(frozen=True)
class Description:
    """What a world says of an entity. `properties` are its triples by predicate, `incoming` those that point to it."""

    iri: Any
    label: str | None
    types: tuple[Value, ...]
    description: str | None
    properties: tuple[Property, ...]
    incoming: tuple[Property, ...]

    def __bool__(self) -> bool:
        """Whether anything is said at all."""
        return bool(self.types or self.properties or self.incoming)

    def to_dict(self) -> dict[str, Any]:
        """The description as JSON-ready values."""
        return {
            "iri": str(self.iri),
            "label": self.label,
            "types": [value.to_dict() for value in self.types],
            "description": self.description,
            "properties": [part.to_dict() for part in self.properties],
            "incoming": [part.to_dict() for part in self.incoming],
        }


class Describer:
    """Describes the entities of one world."""

    def __init__(self, connection: Connection, dictionary: Dictionary, chunks: ChunkStore) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self._chunks = chunks
        self._facts = Facts(connection, dictionary)

    def describe(self, iri: Any, *, limit: int) -> Description:
        """See `World.describe`."""
        check_limit(limit)
        with self._connection.snapshot():
            return self._described(iri, limit)

    def _described(self, iri: Any, limit: int) -> Description:
        number = self._dictionary.find([iri])[0]
        if number is None:
            return Description(to_rdflib(iri), None, (), None, (), ())
        rdf_type = self._dictionary.find([ox.NamedNode(RDF + "type")])[0]
        own, incoming = self._groups("properties_of", number, limit), self._groups("properties_to", number, limit)
        needed = {other for _, others, _ in (*own, *incoming) for other in others}
        needed |= {predicate for predicate, _, _ in (*own, *incoming)} | {number}
        terms = self._dictionary.terms(needed)
        entities = [other for other in needed if not isinstance(terms[other], ox.Literal)]
        labels = self._facts.labels(self._chunks.policy, entities)
        description = self._facts.descriptions(self._chunks.policy, [number]).get(number)

        def value(other: int) -> Value:
            return Value(to_rdflib(terms[other]), labels[other].label if other in labels else None)

        def properties(groups: list[tuple[int, list[int], int]]) -> tuple[Property, ...]:
            return tuple(
                Property(
                    to_rdflib(terms[predicate]),
                    labels[predicate].label if predicate in labels else words_of(terms[predicate].value),
                    tuple(map(value, others)),
                    count,
                )
                for predicate, others, count in groups
            )

        types = tuple(value(other) for predicate, others, _ in own if predicate == rdf_type for other in others)
        return Description(
            to_rdflib(iri),
            labels[number].label if number in labels else None,
            types,
            None if description is None else description.whole,
            properties([group for group in own if group[0] != rdf_type]),
            properties(incoming),
        )

    def _groups(self, name: str, number: int, limit: int) -> list[tuple[int, list[int], int]]:
        """(predicate, the first of the others, how many there are), by predicate."""
        statement = _SQL[name]
        rows = self._connection.rows(statement, statement.bind(entity=number, limit=limit))
        groups: dict[int, tuple[list[int], int]] = {}
        for predicate, other, count in rows:
            groups.setdefault(predicate, ([], count))[0].append(other)
        return [(predicate, others, count) for predicate, (others, count) in groups.items()]
