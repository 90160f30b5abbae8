"""What a world's data look like: the classes, predicates, graphs and languages that somebody needs to write a query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyoxigraph as ox

from worlds.entities.describing import Value
from worlds.entities.limits import check_limit
from worlds.graph.records import Count, Iri, Record
from worlds.graph.terms import RDF, shorten, to_rdflib
from worlds.quads.dictionary import BLANK_NODE, IRI, LITERAL, Dictionary, json_ids
from worlds.quads.vocabulary import nearest, spelled
from worlds.sql import statements
from worlds.sql.connection import Connection, Row
from worlds.sql.values import integers
from worlds.texts.chunks import ChunkStore
from worlds.texts.facts import Facts
from worlds.texts.profiles import words_of

_SQL = statements("overview.sql")
_QUERIES = statements("queries.sql")
_EXAMPLES = 3
_RARE = 500  # quads of a predicate that are all looked at; of more, a sample
_SAMPLE = 200
_LIKELY_CLASSES = 3
_STRING = ox.NamedNode("http://www.w3.org/2001/XMLSchema#string")
_KINDS: Mapping[int, Literal["IRI", "blank node", "literal", "triple term"]] = {
    IRI: "IRI",
    BLANK_NODE: "blank node",
    LITERAL: "literal",
}


@dataclass(frozen=True, slots=True)
class ClassSummary(Record):
    """A class, how many subjects have it as their type, and a few of them."""

    iri: Iri
    label: str | None
    instances: Count
    examples: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class ObjectKind(Record):
    """What objects can be: "IRI", "blank node", "literal" (of a datatype, or in a language), or "triple term"."""

    kind: Literal["IRI", "blank node", "literal", "triple term"]
    datatype: Iri | None = None
    language: str | None = None


@dataclass(frozen=True, slots=True)
class PredicateSummary(Record):
    """A predicate, how many quads and distinct subjects have it, and what its objects are.

    `kinds`, `subject_classes` and `object_classes` have the commonest first. They are of all quads where there are at
    most 500, else of a sample of some 200, which can miss what is rare. `examples` are short ones.
    """

    iri: Iri
    label: str
    quads: Count
    subjects: Count
    kinds: tuple[ObjectKind, ...]
    subject_classes: tuple[Iri, ...]
    object_classes: tuple[Iri, ...]
    examples: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class GraphSummary(Record):
    """A graph and its number of quads; `name` is None for the default graph."""

    name: Iri | None
    quads: Count


@dataclass(frozen=True)
class Schema(Record):
    """What a world's data look like; see `World.schema`. Lists have the commonest first.

    `class_count`, `predicate_count` and `graph_count` are how many there are in all; the default graph is no part of
    the last. `languages` maps a tag, "" for none, to the number of literals that are text. `notes` say which of the
    graphs that were asked for there are not.
    """

    revision: Count
    quads: Count
    classes: tuple[ClassSummary, ...]
    class_count: Count
    predicates: tuple[PredicateSummary, ...]
    predicate_count: Count
    graphs: tuple[GraphSummary, ...]
    graph_count: Count
    languages: Mapping[str, Count]
    prefixes: Mapping[str, str]
    notes: tuple[str, ...] = ()

    def nearest(self, name: str) -> list[str]:
        """The IRIs of the predicates and classes here that are spelt most like a name, or whose labels are."""
        spellings: dict[str, str] = {}
        named = [(one.iri, one.label) for one in self.predicates]
        for iri, label in (*named, *((one.iri, one.label) for one in self.classes)):
            spellings.setdefault(spelled(str(iri)), str(iri))
            if label:
                spellings.setdefault("".join(label.split()).casefold(), str(iri))
        return nearest(name, spellings)


def overview(
    connection: Connection,
    dictionary: Dictionary,
    chunks: ChunkStore,
    prefixes: Mapping[str, str],
    *,
    limit: int,
    graphs: Sequence[Any] | None,
) -> Schema:
    """The schema of one snapshot; see `World.schema`. `graphs` are names, or the default graph."""
    check_limit(limit)
    with connection.snapshot():
        return _Overview(connection, dictionary, chunks, limit, graphs).schema(prefixes)


class _Overview:
    """Reads one schema."""

    def __init__(
        self,
        connection: Connection,
        dictionary: Dictionary,
        chunks: ChunkStore,
        limit: int,
        graphs: Sequence[Any] | None,
    ) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self._chunks = chunks
        self._values = {
            "limit": limit,
            "graphs_json": None if graphs is None else json_ids(self._graph_ids(graphs)),
            "rdf_type": dictionary.find([ox.NamedNode(RDF + "type")])[0],
        }

    def _graph_ids(self, graphs: Sequence[Any]) -> list[int]:
        named = [graph for graph in graphs if not isinstance(graph, ox.DefaultGraph)]
        found = [number for number in self._dictionary.find(named) if number is not None]
        return found if len(named) == len(graphs) else [0, *found]

    def _rows(self, name: str, **values: object) -> list[Row]:
        statement = _SQL[name]
        given = {**self._values, **values}
        return self._connection.rows(statement, statement.bind(**{each: given[each] for each in statement.parameters}))

    def schema(self, prefixes: Mapping[str, str]) -> Schema:
        """The overview of all classes, predicates, graphs and languages."""
        classes = self._rows("classes")
        predicates = self._rows("predicates")
        subjects = self._subjects()
        instances = self._instances([number for number, _, _ in classes])
        sample = self._sample(predicates)
        types = self._types({number for rows in sample.values() for row in rows for number in row[1:3]})
        shown = {number: _shortest(rows) for number, rows in sample.items()}
        graphs = self._rows("named_graphs")
        default = self._rows("default_graph")
        kinds = {number: Counter(row[3:6] for row in rows) for number, rows in sample.items()}

        named = {number for number, _, _ in (*classes, *predicates, *graphs)}
        named |= {number for examples in (*instances.values(), *shown.values()) for number in examples}
        named |= {datatype for counted in kinds.values() for _, datatype, _ in counted if datatype is not None}
        likely = {
            number: (_commonest(types, (row[1] for row in rows)), _commonest(types, (row[2] for row in rows)))
            for number, rows in sample.items()
        }
        named |= {number for pair in likely.values() for side in pair for number in side}
        terms = self._dictionary.terms(named)
        entities = [number for number in named if not isinstance(terms[number], ox.Literal)]
        labels = Facts(self._connection, self._dictionary).labels(self._chunks.policy, entities)

        def label(number: int) -> str | None:
            return labels[number].label if number in labels else None

        def values(numbers: Iterable[int]) -> tuple[Value, ...]:
            return tuple(Value(to_rdflib(terms[number]), label(number)) for number in numbers)

        def iris(numbers: Iterable[int]) -> tuple[Any, ...]:
            return tuple(to_rdflib(terms[number]) for number in numbers)

        def kind(number: int, datatype: int | None, language: str | None) -> ObjectKind:
            if number != LITERAL:
                return ObjectKind(_KINDS.get(number, "triple term"))
            of_type = None if language is not None else _STRING if datatype is None else terms[datatype]
            return ObjectKind("literal", None if of_type is None else to_rdflib(of_type), language)

        summaries = tuple(
            PredicateSummary(
                to_rdflib(terms[number]),
                label(number) or words_of(terms[number].value),
                quads,
                subjects.get(number, 0),
                tuple(kind(*one) for one, _ in kinds[number].most_common()),
                iris(likely[number][0]),
                iris(likely[number][1]),
                values(shown[number]),
            )
            for number, quads, _ in predicates
        )
        return Schema(
            revision=int(self._connection.value(_QUERIES["last_revision"])),
            quads=sum(count for (count,) in default) + sum(count for _, count, _ in self._all_graphs(graphs)),
            classes=tuple(
                ClassSummary(to_rdflib(terms[number]), label(number), count, values(instances.get(number, ())))
                for number, count, _ in classes
            ),
            class_count=classes[0][2] if classes else 0,
            predicates=summaries,
            predicate_count=predicates[0][2] if predicates else 0,
            graphs=(
                *(GraphSummary(None, count) for (count,) in default),
                *(GraphSummary(to_rdflib(terms[number]), count) for number, count, _ in graphs),
            ),
            graph_count=graphs[0][2] if graphs else 0,
            languages={language or "": count for language, count in self._rows("languages")},
            prefixes=_used(prefixes, [term.value for term in terms.values() if isinstance(term, ox.NamedNode)]),
        )

    def _all_graphs(self, graphs: list[Row]) -> list[Row]:
        """The named graphs, those beyond the limit included."""
        return graphs if not graphs or len(graphs) == graphs[0][2] else self._rows("named_graphs", limit=-1)

    def _subjects(self) -> dict[int, int]:
        """Predicate → how many subjects have it."""
        ((column,),) = self._rows("predicates_of_subjects")
        numbers, counts = np.unique(integers(column), return_counts=True)
        return dict(zip(numbers.tolist(), counts.tolist(), strict=True))

    def _instances(self, classes: list[int]) -> dict[int, list[int]]:
        """Class → a few of its instances."""
        rows = self._rows("instances", ids_json=json_ids(classes), limit=2 * _EXAMPLES)
        # Several graphs may say the same.
        distinct = {number: list(dict.fromkeys(map(int, column.split(",")))) for number, column in rows if column}
        return {number: found[:_EXAMPLES] for number, found in distinct.items()}

    def _sample(self, predicates: list[Row]) -> dict[int, list[Row]]:
        """Predicate → some of its quads: (predicate, subject, object, kind, datatype, language, length)."""
        found: dict[int, list[Row]] = {number: [] for number, _, _ in predicates}
        rare = [number for number, quads, _ in predicates if quads <= _RARE]
        common = [number for number, quads, _ in predicates if quads > _RARE]
        rows = self._rows("quads_of_rare_predicates", ids_json=json_ids(rare))
        rows += self._rows("quads_of_common_predicates", ids_json=json_ids(common), steps=_SAMPLE)
        for row in rows:
            found[row[0]].append(row)
        return found

    def _types(self, entities: set[int]) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for number, kind in self._rows("types_of", ids_json=json_ids(sorted(entities))):
            found.setdefault(number, []).append(kind)
        return found


def _shortest(rows: Iterable[Row]) -> list[int]:
    """Objects to show as examples."""
    lengths = {row[2]: row[6] for row in rows}
    return sorted(lengths, key=lambda number: (lengths[number], number))[:_EXAMPLES]


def _commonest(types: Mapping[int, list[int]], entities: Iterable[int]) -> list[int]:
    """The classes that most of these entities have."""
    counted = Counter(kind for entity in entities for kind in types.get(entity, ()))
    return sorted(counted, key=lambda kind: (-counted[kind], kind))[:_LIKELY_CLASSES]


def _used(prefixes: Mapping[str, str], iris: Iterable[str]) -> dict[str, str]:
    """The prefixes that shorten one of the IRIs."""
    names = {shorten(iri, prefixes).partition(":")[0] for iri in iris}
    return {prefix: iri for prefix, iri in prefixes.items() if prefix in names}
