"""The edges of an entity to things of a class, and the ways over one thing: which predicates, in which direction."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import pyoxigraph as ox

from worlds.graph.terms import RDF
from worlds.quads.dictionary import Dictionary, json_ids
from worlds.sql import statements
from worlds.sql.connection import Connection

_SQL = statements("questions.sql")
_MOST_WAYS = 10_000
_RDF_TYPE = ox.NamedNode(RDF + "type")


class Edge(NamedTuple):
    """A predicate between two things, whether the second is its subject, and how often it is."""

    predicate: str
    back: bool
    often: int = 1

    def line(self, first: str, second: str) -> str:
        """The pattern between two terms."""
        s, o = (second, first) if self.back else (first, second)
        return f"{s} <{self.predicate}> {o} ."


def written(entity: Any) -> str:
    """An entity, given by its IRI, or a literal of pyoxigraph, as SPARQL has it."""
    return f"<{entity}>" if isinstance(entity, str) else str(entity)


class Edges:
    """Reads the edges of one world's entities, over all graphs but that of the shapes."""

    def __init__(self, connection: Connection, dictionary: Dictionary) -> None:
        self._connection = connection
        self._dictionary = dictionary

    def to(self, entity: Any, kinds: Iterable[str] | None, among: Iterable[str]) -> list[Edge]:
        """The edges under some predicates from things of some classes, or from any, to an entity; each once."""
        rows = self._rows("edges", entity, kinds_json=self._ids(kinds), predicates_json=self._ids(among))
        names = self._names({row[0] for row in rows})
        return [Edge(names[p], bool(outgoing)) for p, outgoing in rows]

    def ways(
        self, entity: Any, kinds: Iterable[str] | None, between: Iterable[str] | None
    ) -> tuple[list[tuple[Edge, Edge]], bool]:
        """The edges from things of some classes to one between, and from it to an entity; and whether these are all.

        Of an entity with more than 10,000 ways in one direction some are looked at.
        """
        given = {"kinds_json": self._ids(kinds), "between_json": self._ids(between), "most": _MOST_WAYS}
        rows = self._rows("edges_beyond", entity, **given)
        names = self._names({number for row in rows for number in (row[0], row[2])})
        whole = all(sum(row[5] for row in rows if row[1] == away) < _MOST_WAYS for away in (0, 1))
        return [
            (Edge(names[p], bool(away), int(count)), Edge(names[q], bool(outgoing), int(count)))
            for p, away, q, outgoing, count, _ in rows
            if count
        ], whole

    def _rows(self, name: str, entity: Any, **values: object) -> list[tuple[Any, ...]]:
        number, rdf_type = self._dictionary.find(
            [ox.NamedNode(entity) if isinstance(entity, str) else entity, _RDF_TYPE]
        )
        if number is None:
            return []
        return self._connection.rows(_SQL[name], _SQL[name].bind(entity=number, rdf_type=rdf_type or 0, **values))

    def _names(self, numbers: Iterable[int]) -> dict[int, str]:
        return {number: term.value for number, term in self._dictionary.terms(numbers).items() if number}

    def _ids(self, iris: Iterable[str] | None) -> str | None:
        if iris is None:
            return None
        found = self._dictionary.find([ox.NamedNode(str(iri)) for iri in iris])
        return json_ids(one for one in found if one is not None)
