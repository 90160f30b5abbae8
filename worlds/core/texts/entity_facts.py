"""Labels, descriptions, types and annotations of entities, by their ids.

This is the one place that chooses. The policy's roles say which predicates name and describe, the best first; then
counts the language: the one that is asked for, English, none, any other.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyoxigraph as ox

from worlds.core.quads.dataset import SHAPES_GRAPH
from worlds.core.quads.dictionary import Dictionary, Ids, json_ids, triple_key
from worlds.core.quads.rows import NO_QUADS
from worlds.core.texts.policy import TextPolicy
from worlds.graph.records import Iri, Node, Record
from worlds.graph.terms import RDF
from worlds.sql import statements
from worlds.sql.connection import Connection

QuadRow: TypeAlias = tuple[int, int, int, int]  # a quad as term ids: subject, predicate, object, graph

_SQL = statements("entities.sql")
_BATCH = 5000
_LONGEST_LABEL = 200  # characters
_RDF_TYPE = ox.NamedNode(RDF + "type")
Triple: TypeAlias = tuple[int, int, int]
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


class Text(NamedTuple):
    """A text that stands for an entity, and the quads that have it."""

    whole: str
    quads: list[QuadRow]

    @property
    def label(self) -> str:
        """The text for display: at most 200 characters, an ellipsis last if it was cut."""
        return self.whole if len(self.whole) <= _LONGEST_LABEL else self.whole[: _LONGEST_LABEL - 1].rstrip() + "…"


class Facts:
    """Reads facts of one world's entities, over all graphs."""

    def __init__(self, connection: Connection, dictionary: Dictionary) -> None:
        self._connection = connection
        self._dictionary = dictionary

    def labels(self, policy: TextPolicy, ids: Iterable[int], *, language: str | None = None) -> dict[int, Text]:
        """Entity → its label in one line, if it has one."""
        return self.labels_and_types(policy, ids, language=language, types=False)[0]

    def labels_and_types(
        self, policy: TextPolicy, ids: Iterable[int], *, language: str | None = None, types: bool = True
    ) -> tuple[dict[int, Text], dict[int, list[int]]]:
        """Both at once, which costs as much as one of them."""
        iris = (*policy.predicates("label"), _RDF_TYPE.value)
        found = self._connection.remembered(iris, lambda: self._dictionary.find([ox.NamedNode(iri) for iri in iris]))
        rdf_type = found[-1] if types else None
        order = {number: place for place, number in enumerate(found[:-1]) if number is not None}
        predicates = [*order, *([] if rdf_type is None else [rdf_type])]
        if not predicates:
            return {}, {}
        rows = self.quads_by("quads_under", sorted(ids), predicates_json=json_ids(predicates))
        of_type = rows[:, 1] == (rdf_type or 0)
        return self._best(rows[~of_type], order, language, one_line=True), _types(rows[of_type])

    def descriptions(self, policy: TextPolicy, ids: Iterable[int], *, language: str | None = None) -> dict[int, Text]:
        """Entity → its description in its own text; predicates from the data rank below the policy's."""
        known = self.numbers(policy.predicates("description"))
        given = self.numbers([*policy.roles, *policy.predicates("label", "alias", "description")])
        order = {number: place for place, number in enumerate(known)}
        sub_property = self.numbers(["http://www.w3.org/2000/01/rdf-schema#subPropertyOf"])
        if sub_property and known:
            statement = _SQL["sub_properties"]
            values = statement.bind(predicates_json=json_ids(known), sub_property=sub_property[0])
            for (number,) in self._connection.rows(statement, values):
                if number not in given:
                    order[number] = len(order)
        if not order:
            return {}
        rows = self.quads_by("quads_under", sorted(ids), predicates_json=json_ids(order))
        return self._best(rows, order, language, one_line=False)

    def _best(self, rows: Ids, order: Mapping[int, int], language: str | None, *, one_line: bool) -> dict[int, Text]:
        terms = self._dictionary.terms(set(rows[:, 2].tolist()))
        best: dict[int, tuple[tuple[Any, ...], Text]] = {}
        for row in map(tuple, rows.tolist()):
            term = terms[row[2]]
            if not isinstance(term, ox.Literal):
                continue
            text = clean(term.value) if one_line else term.value
            if not text.strip():
                continue
            rank = (order[row[1]], language_order(term.language, language), text, term.language or "", str(term))
            known = best.get(row[0])
            if known is None or rank < known[0]:
                best[row[0]] = (rank, Text(text, [row]))
            elif rank == known[0]:
                known[1].quads.append(row)
        return {number: text for number, (_, text) in best.items()}

    def numbers(self, iris: Iterable[str]) -> list[int]:
        """The ids of the predicates that the world has, in their order."""
        found = self._dictionary.find([ox.NamedNode(iri) for iri in iris])
        return [number for number in found if number is not None]

    @property
    def rdf_type(self) -> int:
        """The id of rdf:type; 0 where the world has none."""
        return (self.numbers([RDF + "type"]) or [0])[0]

    def quads_by(self, name: str, ids: list[int], **values: object) -> Ids:
        """The quads, int64 [n, 4], of a statement about entities."""
        statement = _SQL[name]
        found = [NO_QUADS]
        for start in range(0, len(ids), _BATCH):
            given = {"ids_json": json_ids(ids[start : start + _BATCH]), **values}
            found.append(self._connection.table(statement, statement.bind(**given)))
        return np.concatenate(found)


def clean(text: str) -> str:
    """The text in one line."""
    return " ".join(text.replace("\0", " ").split())


def language_order(language: str | None, preferred: str | None = None) -> int:
    """The preferred language first, then English and texts without one, so that a label reads the same everywhere."""
    if preferred is not None and _is_of(language, preferred.lower()):
        return -1
    return 0 if _is_of(language, "en") else 1 if language is None else 2


def _is_of(language: str | None, range_: str) -> bool:
    return language is not None and (language == range_ or language.startswith(range_ + "-"))


def _types(rows: Ids) -> dict[int, list[int]]:
    found: dict[int, dict[int, None]] = {}
    for subject, _, kind, _ in rows.tolist():
        found.setdefault(subject, {})[kind] = None
    return {subject: list(kinds) for subject, kinds in found.items()}


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
