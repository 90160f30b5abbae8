"""Statements about triples: the annotations of their reifiers, and which predicates have one value at most."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyoxigraph as ox

from worlds.core.quads.dataset import SHAPES_GRAPH
from worlds.core.quads.dictionary import Dictionary, json_ids, triple_key
from worlds.graph.records import Iri, Node, Record
from worlds.graph.terms import RDF
from worlds.sql import statements
from worlds.sql.connection import Connection

Triple: TypeAlias = tuple[int, int, int]

_SQL = statements("entities.sql")
_MOST = 1000  # quads about triples that are read at once
STATEMENT = tuple(RDF + name for name in ("subject", "predicate", "object"))
"""The three properties of a statement in RDF 1.1."""
_REIFIES = ox.NamedNode(RDF + "reifies")
_PARTS = tuple(map(ox.NamedNode, STATEMENT))
_OWN = (_REIFIES, *_PARTS, ox.NamedNode(RDF + "type"))
_TYPE = ox.NamedNode(RDF + "type")
_FUNCTIONAL = ox.NamedNode("http://www.w3.org/2002/07/owl#FunctionalProperty")
_PATH, _MAX_COUNT = (ox.NamedNode(f"http://www.w3.org/ns/shacl#{name}") for name in ("path", "maxCount"))
_ONE = ox.Literal("1", datatype=ox.NamedNode("http://www.w3.org/2001/XMLSchema#integer"))


@dataclass(frozen=True, slots=True)
class Annotation(Record):
    """An annotation of a triple: a predicate with its label, and a value."""

    predicate: Iri
    label: str
    value: Node


class Annotations:
    """Statements about triples (reifiers) in one world."""

    def __init__(self, connection: Connection, dictionary: Dictionary) -> None:
        self._connection = connection
        self._dictionary = dictionary

    def of(self, triples: Iterable[Triple]) -> dict[Triple, list[tuple[int, int]]]:
        """Triple → (predicate, value) of its annotations by reifiers or RDF 1.1 statements, for annotated triples."""
        reifies, *statement = self._dictionary.find([_REIFIES, *_PARTS])
        asked = list(dict.fromkeys(triples))
        about: dict[int, list[Triple]] = {}  # by the reifier
        if reifies is not None:
            terms = self._dictionary.lookup([triple_key(triple) for triple in asked])
            of_term = {number: asked[place] for place, number in terms.items()}
            ids = json_ids(of_term)
            for term, reifier in self._connection.rows(_SQL["reifiers"], (ids, reifies)):
                about.setdefault(reifier, []).append(of_term[term])
        if None not in statement:
            for place, reifier in self._connection.rows(_SQL["statements"], (json.dumps(asked), *statement)):
                about.setdefault(reifier, []).append(asked[int(place)])
        found: dict[Triple, list[tuple[int, int]]] = {}
        if about:
            own = {number for number in self._dictionary.find(_OWN) if number is not None}
            rows = self._connection.rows(_SQL["said_of"], (json_ids(sorted(about)), _MOST))
            for reifier, predicate, value in rows:
                for triple in about[reifier] if predicate not in own else ():
                    if (predicate, value) not in found.setdefault(triple, []):
                        found[triple].append((predicate, value))
        return found

    def functional(self, predicates: Collection[int]) -> set[int]:
        """The predicates with at most one value, by owl:FunctionalProperty or a shape's sh:maxCount 1."""
        kind, functional, path, most, one, shapes = self._dictionary.find(
            [_TYPE, _FUNCTIONAL, _PATH, _MAX_COUNT, _ONE, SHAPES_GRAPH]
        )
        ids = json_ids(sorted(predicates))
        found: set[int] = set()
        for known, statement, given in (
            ((kind, functional), "declared_as", (ids, kind, functional)),
            ((path, most, one, shapes), "limited_by_shapes", (ids, path, shapes, most, one)),
        ):
            if None not in known:
                found.update(number for (number,) in self._connection.rows(_SQL[statement], given))
        return found


def words(annotations: Sequence[tuple[int, int]], name: Any) -> str:
    """The annotations of a triple, in words for a person; `name` gives a term's words by its id."""
    said: dict[int, list[str]] = {}
    for predicate, value in annotations:
        said.setdefault(predicate, []).append(name(value))
    return "; ".join(f"{name(predicate)}: {', '.join(values)}" for predicate, values in said.items())
