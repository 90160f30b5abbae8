"""The neighbours of entities: the quads that they are subjects and objects of, hop by hop, and paths between two."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, TypeAlias

import numpy as np
import pyoxigraph as ox

from worlds.core.core import Core
from worlds.core.quads.dictionary import json_ids
from worlds.core.quads.rows import distinct
from worlds.core.texts.profiles import words_of
from worlds.extras.entities.limits import check_limit
from worlds.graph.records import As, Count, Iri, Node, Record, told
from worlds.graph.terms import to_oxigraph, to_rdflib
from worlds.sql import statements
from worlds.sql.bound_values import integers

_SQL = statements("entities.sql")
_QUERIES = statements("queries.sql")
_MOST_QUADS = 2000  # of an entity in either direction: of a hub, these are some of many
_MOST_VISITED = 20_000  # entities that the search for paths looks at
_LONGEST_PATH = 6

Rows: TypeAlias = "np.ndarray[Any, np.dtype[np.int64]]"
"""int64 [n, 6]: quad id, subject, predicate, object, graph, the revision that added it."""


class CitedQuad(NamedTuple):
    """A quad, and the revision that added it; `graph` is None for the default graph."""

    subject: Node
    predicate: Node
    object: Node
    graph: Node | None
    revision: Annotated[int, As(schema={"description": "The revision that added it."})]

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON-ready values."""
        return told(self)


@dataclass(frozen=True, slots=True)
class Neighbour(Record):
    """An entity with its distance in hops and its label, by default the words of its IRI."""

    iri: Iri
    label: str
    types: tuple[Iri, ...]
    hops: Count


@dataclass(frozen=True)
class Neighbourhood(Record):
    """The neighbourhood of an entity: `entities`, the nearest first and the entity itself before them, and the quads.

    `labels` has a label for every term of the quads but literals. `whole` says whether nothing was left out.
    """

    entities: tuple[Neighbour, ...]
    quads: tuple[CitedQuad, ...]
    labels: Mapping[Node, str]
    whole: bool

    def __bool__(self) -> bool:
        return bool(self.quads)


@dataclass(frozen=True)
class Path(Record):
    """A way from one entity to another: the entities on it, and the quad of each step, whichever way that points."""

    _also = ("text",)

    entities: tuple[Neighbour, ...]
    quads: tuple[CitedQuad, ...]
    predicates: tuple[str, ...]  # their labels, "← " before one that is walked against its direction

    def __len__(self) -> int:
        """The number of steps."""
        return len(self.quads)

    @property
    def text(self) -> str:
        """The way in words."""
        return str(self)

    def __str__(self) -> str:
        shown = self.entities[0].label
        for name, entity in zip(self.predicates, self.entities[1:], strict=True):
            shown += f" — {name} — {entity.label}"
        return shown


class Neighbours:
    """The quads around the entities of one world."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self.facts = core.facts

    # -- as ids -----------------------------------------------------------------------------------------------------

    @property
    def rdf_type(self) -> int:
        """The id of rdf:type; 0 where the world has none."""
        return self.facts.rdf_type

    def around(self, ids: Sequence[int], most: int = _MOST_QUADS) -> tuple[Rows, Rows]:
        """The quads of entities as subjects and as objects; at most so many of each entity."""
        statement = _SQL["quads_around"]
        rows = self._core.connection.rows(statement, statement.bind(ids_json=json_ids(ids), most=most))
        own, incoming = (
            np.concatenate([np.empty(0, np.int64), *map(integers, column)]) for column in zip(*rows, strict=True)
        )
        statement = _SQL["quads_by_id"]
        table = self._core.connection.table(statement, (json_ids(distinct(np.concatenate([own, incoming]))),))
        return table[np.isin(table[:, 0], own)], table[np.isin(table[:, 0], incoming)]

    def count(self, entity: int, predicate: int, *, incoming: bool) -> int:
        """How many objects an entity has under a predicate, or how many subjects have it there."""
        statement = _SQL["count_subjects" if incoming else "count_objects"]
        return int(self._core.connection.value(statement, statement.bind(entity=entity, predicate=predicate)))

    def cited(self, rows: Rows, terms: Mapping[int, Any]) -> tuple[CitedQuad, ...]:
        """Rows as quads; `terms` are rdflib's."""
        return tuple(
            CitedQuad(terms[s], terms[p], terms[o], terms[g] if g else None, r) for _, s, p, o, g, r in rows.tolist()
        )

    def stored(self, quads: Iterable[Sequence[Any]]) -> list[tuple[int, ...]]:
        """The rows of quads of rdflib terms that the world still has."""
        given = list(quads)
        terms = [None if term is None else to_oxigraph(term) for quad in given for term in quad]
        found = iter(self._core.dictionary.find([term for term in terms if term is not None]))
        numbers = [0 if term is None else next(found) for term in terms]
        rows = [numbers[at : at + 4] for at in range(0, len(numbers), 4)]
        known = [[number for number in row if number is not None] for row in rows if None not in row]
        stored = self._core.connection.rows(_QUERIES["find_quads"], (json.dumps(known),))
        return [(number, *known[int(place)], revision) for place, number, revision in stored]

    def names(self, ids: Iterable[int], terms: Mapping[int, Any], language: str | None = None) -> dict[int, str]:
        """The names of entities: their labels, else the words of their IRIs. Literals are left out."""
        entities = [number for number in ids if number and not isinstance(terms[number], ox.Literal)]
        labels = self.facts.labels(self._core.chunks.policy, entities, language=language)
        return {
            number: labels[number].label
            if number in labels
            else words_of(terms[number].value)
            if isinstance(terms[number], ox.NamedNode)
            else str(terms[number])
            for number in entities
        }

    def shown(self, hops: Mapping[int, int], terms: Mapping[int, Any], names: Mapping[int, str]) -> list[Neighbour]:
        """Entities with how many hops away they are."""
        _, types = self.facts.labels_and_types(self._core.chunks.policy, hops)
        kinds = self._core.dictionary.terms({kind for group in types.values() for kind in group})
        return [
            Neighbour(
                to_rdflib(terms[number]),
                names[number],
                tuple(to_rdflib(kinds[kind]) for kind in types.get(number, ())),
                distance,
            )
            for number, distance in hops.items()
        ]

    # -- verbs ------------------------------------------------------------------------------------------------------

    def known(self, entities: Iterable[Any], language: str | None = None) -> dict[str, Neighbour]:
        """IRI or blank node → the entity, of terms of pyoxigraph, those that the world has."""
        numbers = [one for one in self._core.dictionary.find(list(entities)) if one is not None]
        terms = self._core.dictionary.terms(numbers)
        found = self.shown(dict.fromkeys(numbers, 0), terms, self.names(numbers, terms, language))
        return {str(one.iri): one for one in found}

    def neighbourhood(self, iri: Any, *, hops: int, limit: int) -> Neighbourhood:
        """See `World.entities.neighbourhood`."""
        check_limit(limit)
        check_hops(hops)
        with self._core.connection.snapshot():
            start = self._core.dictionary.find([iri])[0]
            if start is None or not len(np.concatenate(self.around([start], 1))):
                return Neighbourhood((), (), {}, True)
            rdf_type = self.rdf_type
            distance, frontier = {start: 0}, [start]
            found: list[Rows] = []
            seen: set[int] = set()
            whole = True
            for hop in range(1, hops + 1):
                fresh = self._fresh(np.concatenate(self.around(frontier)), seen)
                if len(fresh) > limit - len(seen):
                    fresh, whole = _in_turn(fresh, limit - len(seen)), False
                seen.update(fresh[:, 0].tolist())
                found.append(fresh)
                beyond = [*fresh[:, 1].tolist(), *fresh[fresh[:, 2] != rdf_type, 3].tolist()]
                frontier = [number for number in dict.fromkeys(beyond) if number not in distance]
                terms = self._core.dictionary.terms(frontier)
                frontier = [number for number in frontier if isinstance(terms[number], ox.NamedNode | ox.BlankNode)]
                distance |= dict.fromkeys(frontier, hop)
                if not frontier or not whole:
                    break
            rows = np.concatenate(found)
            terms = self._core.dictionary.terms({*rows[:, 1:5].ravel().tolist(), *distance})
            names = self.names(terms, terms)
            shown = {number: to_rdflib(term) if number else None for number, term in terms.items()}
            labels = {shown[number]: name for number, name in names.items()}
            return Neighbourhood(tuple(self.shown(distance, terms, names)), self.cited(rows, shown), labels, whole)

    @staticmethod
    def _fresh(rows: Rows, seen: set[int]) -> Rows:
        _, first = np.unique(rows[:, 0], return_index=True)
        rows = rows[np.sort(first)]
        return rows[~np.isin(rows[:, 0], np.array(sorted(seen), dtype=np.int64))] if seen else rows

    def paths(self, start: Any, end: Any, *, hops: int, limit: int) -> list[Path]:
        """See `World.entities.paths`."""
        check_limit(limit)
        check_hops(hops)
        with self._core.connection.snapshot():
            first, last = self._core.dictionary.find([start, end])
            if first is None or last is None or first == last:
                return []
            ways = self._ways(first, last, hops, limit)
            needed = {number for way in ways for row in way for number in row[1:5]}
            terms = self._core.dictionary.terms(needed)
            names = self.names(needed, terms)
            shown = {number: to_rdflib(term) if number else None for number, term in terms.items()}
            return [self._path(first, way, terms, names, shown) for way in ways]

    def _path(
        self,
        first: int,
        way: Sequence[tuple[int, ...]],
        terms: Mapping[int, Any],
        names: Mapping[int, str],
        shown: Mapping[int, Any],
    ) -> Path:
        at, stops, predicates = first, [first], []
        for row in way:
            predicates.append(names[row[2]] if row[1] == at else f"← {names[row[2]]}")
            at = row[3] if row[1] == at else row[1]
            stops.append(at)
        known = dict(zip(stops, self.shown(dict.fromkeys(stops, 0), terms, names), strict=True))
        entities = tuple(
            Neighbour(known[stop].iri, known[stop].label, known[stop].types, place) for place, stop in enumerate(stops)
        )
        return Path(entities, self.cited(np.array(way, dtype=np.int64), shown), tuple(predicates))

    def _ways(self, first: int, last: int, hops: int, limit: int) -> list[list[tuple[int, ...]]]:
        """The shortest ways, as rows of quads; from both ends at once, the smaller frontier first."""
        rdf_type = self.rdf_type
        reached: tuple[dict[int, list[tuple[int, ...]]], ...] = (
            {first: []},
            {last: []},
        )  # entity → quads towards an end
        depth: tuple[dict[int, int], ...] = ({first: 0}, {last: 0})
        frontiers = [[first], [last]]
        meeting: set[int] = set()
        for _ in range(hops):
            side = 0 if len(frontiers[0]) <= len(frontiers[1]) else 1
            here, level = reached[side], depth[side]
            ahead = level[frontiers[side][0]] + 1
            rows = np.concatenate(self.around(frontiers[side]))
            rows = rows[rows[:, 2] != rdf_type]
            standing = set(frontiers[side])
            terms = self._core.dictionary.terms({*rows[:, 1].tolist(), *rows[:, 3].tolist()})
            for row in dict.fromkeys(map(tuple, rows.tolist())):
                for at, other in ((row[1], row[3]), (row[3], row[1])):
                    if at not in standing or at == other or isinstance(terms[other], ox.Literal):
                        continue
                    if level.setdefault(other, ahead) == ahead:
                        here.setdefault(other, []).append(row)
            frontiers[side] = [number for number, distance in level.items() if distance == ahead]
            meeting = depth[0].keys() & depth[1].keys()
            if meeting or not frontiers[side] or len(depth[0]) + len(depth[1]) > _MOST_VISITED:
                break
        if not meeting:
            return []
        ways: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
        for middle in sorted(meeting):
            heads = _walks(middle, reached[0], depth[0], limit)
            tails = _walks(middle, reached[1], depth[1], limit)
            for head in heads:
                for tail in tails:
                    way = [*reversed(head), *tail]
                    ways.setdefault(tuple(row[0] for row in way), way)
        shortest = min(map(len, ways), default=0)
        return sorted(way for way in ways.values() if len(way) == shortest)[:limit]


def _walks(
    middle: int, reached: Mapping[int, Sequence[tuple[int, ...]]], depth: Mapping[int, int], limit: int
) -> list[list[tuple[int, ...]]]:
    """The ways from the middle to an end, as quads."""
    found: list[tuple[int, list[tuple[int, ...]]]] = [(middle, [])]
    for _ in range(depth[middle]):
        further: list[tuple[int, list[tuple[int, ...]]]] = []
        for at, way in found:
            for row in reached[at]:
                other = row[1] if row[3] == at else row[3]
                if depth.get(other) == depth[at] - 1:
                    further.append((other, [*way, row]))
        found = further[: 10 * limit]
    return [way for _, way in found]


def _in_turn(rows: Rows, most: int) -> Rows:
    """The first of the rows, each predicate having its turn, so that none crowds out the others."""
    _, group = np.unique(rows[:, 2], return_inverse=True)
    order = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[order], np.arange(group.max(initial=-1) + 1))
    turn = np.empty(len(rows), dtype=np.int64)
    turn[order] = np.arange(len(rows)) - starts[group[order]]
    return rows[np.sort(np.argsort(turn, kind="stable")[: max(most, 0)])]


def check_hops(hops: object) -> None:
    """ValueError unless it is a whole number from 1 to 6."""
    if isinstance(hops, bool) or not isinstance(hops, int) or not 1 <= hops <= _LONGEST_PATH:
        raise ValueError(f"hops must be a whole number from 1 to {_LONGEST_PATH}, not {hops!r}")
