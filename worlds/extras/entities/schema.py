"""The schema of a world's data: the classes, predicates, graphs and languages that the author of a query needs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pyoxigraph as ox

from worlds.core.core import Core
from worlds.core.quads.dictionary import BLANK_NODE, IRI, LITERAL, Ids, json_ids
from worlds.core.quads.used_names import nearest, spelled
from worlds.core.texts.entity_facts import Facts
from worlds.core.texts.profiles import words_of
from worlds.extras.entities.descriptions import Value
from worlds.extras.entities.limits import check_limit
from worlds.graph.records import Count, Iri, Record
from worlds.graph.terms import RDF, shorten, to_rdflib
from worlds.sql import statements
from worlds.sql.bound_values import integers, stacked
from worlds.sql.connection import Row

_SQL = statements("overview.sql")
_QUERIES = statements("queries.sql")
_EXAMPLES = 3
_RARE = 500  # quads of a predicate that are all looked at; of more, a sample
_SAMPLE = 200
_CLASSES = 10  # of a predicate's subjects, and of its objects, that are given
MATCHED = 3000  # classes and predicates that `matching` looks through
_NEAR = 5  # of them that are near in meaning alone
_ALIKE = 0.45  # their cosine at least
_EXACT = 1_000_000  # quads up to which all of them are looked at
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
    """A kind of object: "IRI", "blank node", "literal" (of a datatype, or in a language), or "triple term"."""

    kind: Literal["IRI", "blank node", "literal", "triple term"]
    datatype: Iri | None = None
    language: str | None = None


@dataclass(frozen=True, slots=True)
class PredicateSummary(Record):
    """A predicate, the numbers of its quads and distinct subjects, and the kinds of its objects.

    `kinds`, `subject_classes` and `object_classes` have the commonest first, of the classes ten at most;
    `subject_class_count` and `object_class_count` are how many there are. `untold` is how many of its distinct objects
    are entities of which nothing is said. `examples` are short ones.
    """

    iri: Iri
    label: str
    quads: Count
    subjects: Count
    kinds: tuple[ObjectKind, ...]
    subject_classes: tuple[Iri, ...]
    object_classes: tuple[Iri, ...]
    subject_class_count: Count
    object_class_count: Count
    untold: Count
    examples: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class GraphSummary(Record):
    """A graph and its number of quads; `name` is None for the default graph."""

    name: Iri | None
    quads: Count


@dataclass(frozen=True)
class Schema(Record):
    """The schema of a world's data; see `World.schema`. Lists have the commonest first.

    `class_count`, `predicate_count` and `graph_count` are how many there are in all; the default graph is no part of
    the last. `untyped` and `unlabelled` are how many subjects have no rdf:type, and no label. In a world of more than a
    million quads, kinds, classes and `untold` are those of a sample of each predicate's quads, and `sampled` is true.
    `languages` maps a tag, "" for none, to the number of literals that are text. `notes` say which of the graphs that
    were asked for there are not. `rules` are the world's rule sets and rules of its own, by which `conclusions` follow.
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
    untyped: Count = 0
    unlabelled: Count = 0
    sampled: bool = False
    notes: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    conclusions: Count = 0

    def matching(self, words: str, cosines: Callable[[str, list[str]], Mapping[str, float]], limit: int) -> Schema:
        """The part of the schema with words of a question in IRIs or labels, and with near meaning.

        `cosines` maps names to how near they are to the words, from -1 to 1; it is empty where there are no vectors.
        """
        sought = words.casefold()

        def chosen(named: Sequence[Any]) -> tuple[Any, ...]:
            literal = [one for one in named if sought in f"{one.iri} {one.label or ''}".casefold()]
            others = [one for one in named if one not in literal]
            names = [one.label or words_of(str(one.iri)) for one in others]
            near = cosines(words, names)
            ranked = sorted(range(len(others)), key=lambda at: -near.get(names[at], -1.0))[:_NEAR]
            return (*literal, *(others[at] for at in ranked if near.get(names[at], -1.0) >= _ALIKE))[:limit]

        classes, predicates = chosen(self.classes), chosen(self.predicates)
        return replace(
            self, classes=classes, predicates=predicates, class_count=len(classes), predicate_count=len(predicates)
        )

    def nearest(self, name: str, among: Literal["classes", "predicates"] | None = None) -> list[str]:
        """The IRIs of the predicates and classes here that are spelt most like a name, or whose labels are."""
        spellings: dict[str, str] = {}
        named = [] if among == "classes" else [(one.iri, one.label) for one in self.predicates]
        classes = [] if among == "predicates" else [(one.iri, one.label) for one in self.classes]
        for iri, label in (*named, *classes):
            spellings.setdefault(spelled(str(iri)), str(iri))
            if label:
                spellings.setdefault("".join(label.split()).casefold(), str(iri))
        return nearest(name, spellings)


def overview(core: Core, *, limit: int, graphs: Sequence[Any] | None) -> Schema:
    """The schema of one snapshot; see `World.schema`. `graphs` are names, or the default graph."""
    check_limit(limit)
    with core.connection.snapshot():
        return _Overview(core, limit, graphs).schema(core.namespaces.prefixes)


@dataclass(frozen=True)
class _Objects:
    """Of predicates: the kinds of their objects, and the classes of both ends, the commonest first."""

    kinds: Mapping[int, Counter[Row]]
    subject_classes: Mapping[int, list[int]]
    object_classes: Mapping[int, list[int]]
    untold: Mapping[int, int]


class _DistinctPairs:
    """`said`, the distinct pairs of a subject and a predicate, and `typed`, of a subject and a class; [n, 2]."""

    def __init__(self, said: Ids, typed: Ids) -> None:
        self.said = said
        self.typed = typed[np.argsort(typed[:, 0], kind="stable")]
        self.entities = np.unique(said[:, 0])
        self.subjects = _counted(said[:, 1])

    def labelled(self, predicates: list[int]) -> Ids:
        """The subjects that one of these predicates is said of."""
        return np.unique(self.said[np.isin(self.said[:, 1], predicates), 0])

    def classes(self, pairs: Ids) -> dict[int, list[int]]:
        """Of pairs of a predicate and an entity, predicate → the classes of its entities, the commonest first."""
        first = np.searchsorted(self.typed[:, 0], pairs[:, 1], "left")
        counts = np.searchsorted(self.typed[:, 0], pairs[:, 1], "right") - first
        places = np.repeat(first - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts) + np.arange(counts.sum())
        codes = np.repeat(pairs[:, 0], counts) << 32 | self.typed[places, 1]
        found: dict[int, list[int]] = {}
        for code in sorted((-count, code) for code, count in _counted(codes).items()):
            found.setdefault(code[1] >> 32, []).append(code[1] & 0xFFFFFFFF)
        return found


def _counted(numbers: Ids) -> dict[int, int]:
    values, counts = np.unique(numbers, return_counts=True)
    return dict(zip(values.tolist(), counts.tolist(), strict=True))


class _Overview:
    """Reads one schema."""

    def __init__(self, core: Core, limit: int, graphs: Sequence[Any] | None) -> None:
        self._connection, self._dictionary, self._chunks = core.connection, core.dictionary, core.chunks
        self._values = {
            "limit": limit,
            "graphs_json": None if graphs is None else json_ids(self._graph_ids(graphs)),
            "rdf_type": core.dictionary.find([ox.NamedNode(RDF + "type")])[0],
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
        told = self._told()
        subjects = told.subjects
        instances = self._instances([number for number, _, _ in classes])
        sample = self._sample(predicates)
        shown = {number: _shortest(rows) for number, rows in sample.items()}
        graphs = self._rows("named_graphs")
        default = self._rows("default_graph")
        sampled = int(self._connection.value(_SQL["count"])) > _EXACT
        objects = self._of_sample(sample, told) if sampled else self._of_all(predicates, told)
        kinds = objects.kinds

        named = {number for number, _, _ in (*classes, *predicates, *graphs)}
        named |= {number for examples in (*instances.values(), *shown.values()) for number in examples}
        named |= {datatype for counted in kinds.values() for _, datatype, _ in counted if datatype is not None}
        likely = (objects.subject_classes, objects.object_classes)
        named |= {number for side in likely for found in side.values() for number in found[:_CLASSES]}
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
                iris(likely[0].get(number, [])[:_CLASSES]),
                iris(likely[1].get(number, [])[:_CLASSES]),
                len(likely[0].get(number, [])),
                len(likely[1].get(number, [])),
                objects.untold.get(number, 0),
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
            untyped=len(told.entities) - len(np.intersect1d(told.entities, told.typed[:, 0])),
            unlabelled=len(told.entities) - len(told.labelled(self._label_predicates())),
            sampled=sampled,
            prefixes=_used(prefixes, [term.value for term in terms.values() if isinstance(term, ox.NamedNode)]),
        )

    def _all_graphs(self, graphs: list[Row]) -> list[Row]:
        """The named graphs, including the ones beyond the limit."""
        return graphs if not graphs or len(graphs) == graphs[0][2] else self._rows("named_graphs", limit=-1)

    def _told(self) -> _DistinctPairs:
        """Which predicates are said of each subject, and its classes."""
        pairs = [stacked([integers(column) for column in self._rows(name)[0]], 1) for name in ("said", "typed")]
        return _DistinctPairs(*pairs)

    def _label_predicates(self) -> list[int]:
        found = self._dictionary.find([ox.NamedNode(iri) for iri in self._chunks.policy.predicates("label")])
        return [number for number in found if number is not None]

    def _of_all(self, predicates: list[Row], told: _DistinctPairs) -> _Objects:
        """The kinds and classes of all subjects and objects of these predicates."""
        chosen = [number for number, _, _ in predicates]
        ids = json_ids(chosen)
        kinds: dict[int, Counter[Row]] = {number: Counter() for number in chosen}
        for number, kind, datatype, language, count in self._rows("kinds_of_objects", ids_json=ids):
            kinds[number][kind, datatype, language] = count
        objects = stacked([integers(column) for column in self._rows("entities_under", ids_json=ids)[0]], 1)
        said = told.said[np.isin(told.said[:, 1], chosen)][:, ::-1]
        lost = objects[~np.isin(objects[:, 1], told.entities), 0]
        return _Objects(kinds, told.classes(said), told.classes(objects), _counted(lost))

    def _of_sample(self, sample: Mapping[int, list[Row]], told: _DistinctPairs) -> _Objects:
        """The same of a sample of quads."""
        kinds = {number: Counter(row[3:6] for row in rows) for number, rows in sample.items()}
        pairs = [(number, *row[1:4]) for number, rows in sample.items() for row in rows]
        table = np.array(pairs, dtype=np.int64).reshape(-1, 4)
        subjects, objects = (np.unique(table[:, [0, place]], axis=0) for place in (1, 2))
        entities = np.unique(table[np.isin(table[:, 3], (IRI, BLANK_NODE))][:, [0, 2]], axis=0)
        lost = entities[~np.isin(entities[:, 1], told.entities), 0]
        return _Objects(kinds, told.classes(subjects), told.classes(objects), _counted(lost))

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


def _shortest(rows: Iterable[Row]) -> list[int]:
    """Objects to show as examples."""
    lengths = {row[2]: row[6] for row in rows}
    return sorted(lengths, key=lambda number: (lengths[number], number))[:_EXAMPLES]


def _used(prefixes: Mapping[str, str], iris: Iterable[str]) -> dict[str, str]:
    """The prefixes that shorten one of the IRIs."""
    names = {shorten(iri, prefixes).partition(":")[0] for iri in iris}
    return {prefix: iri for prefix, iri in prefixes.items() if prefix in names}
