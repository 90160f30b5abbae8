"""Follows quads from the nearest statements and passages, so that a question over two of them finds both.

The walk begins at the entities that the first hits are about and goes two quads far, in either direction. It weighs
each entity that it meets by personalised PageRank (Haveliwala 2002): the share of time that a walker spends there who
goes back to the beginning again and again; HippoRAG (Gutiérrez et al. 2024) ranks passages so. The search's own
statement then ranks the texts of these entities among themselves.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from worlds.core.quads.dictionary import Dictionary, Ids, json_ids
from worlds.core.search.candidate_facts import texts_of
from worlds.core.search.candidates import Cited, Fused, Related
from worlds.core.search.filters import Filters
from worlds.core.search.hits import Clock
from worlds.core.search.request import SearchRequest
from worlds.core.search.showing import HitMaker
from worlds.core.search.stages import RANK_CONSTANT, Floats
from worlds.core.search.statement import Prepared, SearchStatements
from worlds.core.texts.entity_facts import Annotations, Facts, QuadRow
from worlds.core.texts.profiles import term_of
from worlds.sql import STATEMENT, statements
from worlds.sql.bound_values import integers
from worlds.sql.connection import Connection

_SQL = statements("entities.sql")

KEPT = 2  # first hits that stay where they are
_WEIGHT = 10.0  # of the list of related texts, beside the best fused score
_KNOWN = 0.5  # what a text counts that is about the first hits' entities alone
_SEEDS = 5  # first hits from whose entities the walk begins
_QUADS = (200, 40)  # quads of one entity that each round follows, at most, in either direction
_WIDTH = 300  # entities that each round reaches, at most
_RETURN = 0.5  # the probability of going back to the beginning
_STEPS = 15  # of the walker
_WORDS = re.compile(r"\w+")


@dataclass(frozen=True)
class _Reached:
    """The entities that a walk met, and their weights, the greatest 1."""

    weights: Mapping[int, float]
    came: Mapping[int, tuple[int, QuadRow]]  # for each but the first ones: the entity before it, and the quad

    def path(self, entity: int) -> tuple[QuadRow, ...]:
        """The quads from one of the first entities to this one, in their order."""
        found: list[QuadRow] = []
        while entity in self.came:
            entity, quad = self.came[entity]
            found.append(quad)
        return tuple(reversed(found))


class Relating:
    """Related texts: a walk over the quads from the first rows of one world's search."""

    def __init__(
        self,
        connection: Connection,
        dictionary: Dictionary,
        filters: Filters,
        searches: SearchStatements,
        hits: HitMaker,
    ) -> None:
        self._connection = connection
        self._filters = filters
        self._searches = searches
        self._hits = hits
        self._facts = Facts(connection, dictionary)
        self._annotations = Annotations(connection, dictionary)

    def ahead(self, request: SearchRequest, state: Callable[[], tuple[object, ...]], clock: Clock) -> SearchRequest:
        """The request with the rest of its question: the words that the first hits do not hold.

        It is embedded before the search holds the world, so that others go on meanwhile.
        """
        assert request.asking is not None
        with self._connection.snapshot():
            prepared = self._searches.prepare(replace(request, cursor=None), state(), request.candidates, clock)
            texts = texts_of(self._connection, self._searches.run(request, prepared)[:KEPT])
        held = {word for text in texts for word in _WORDS.findall(text.casefold())}
        rest = [word for word in _WORDS.findall(request.text) if word.casefold() not in held]
        return replace(request, rest=request.asking(" ".join(rest)) if rest else request)

    def joined(
        self, request: SearchRequest, state: tuple[object, ...], first: Prepared, rows: Sequence[Fused], clock: Clock
    ) -> list[Fused]:
        """The rows with the rows of related texts, best first; `first` are the hits that they are related to."""
        seeds: dict[int, float] = {}
        about = self._about(rows[:_SEEDS], self._hits.cited(rows[:_SEEDS], first.eligible))
        for row, entities in zip(rows, about, strict=False):
            for entity in entities:
                seeds[entity] = seeds.get(entity, 0.0) + row.score / len(entities)
        if request.listing or request.rest is None or not any(seeds.values()):
            return list(rows)
        reached = self._walk(seeds, request)
        if not reached.came:
            return list(rows)
        among = np.array(sorted(reached.weights), dtype=np.int64)
        eligible = self._filters.resolve(request.filter, request.limits, among=among)
        asked = replace(request.rest, cursor=None)
        others = self._searches.run(asked, self._searches.prepare(asked, state, first.depth, clock, eligible))
        matched = len(others)
        if asked.vector is None:  # texts without any of the words are found by the walk alone
            every = replace(asked, listing=True, fusion="relative")
            known = {row.chunk for row in others}
            more = self._searches.run(every, self._searches.prepare(every, state, first.depth, clock, eligible))
            others += [row for row in more if row.chunk not in known]
        return _joined(rows, others, matched, self._about(others, self._hits.cited(others, eligible)), reached)

    def _about(self, rows: Sequence[Fused], cited: Cited) -> list[list[int]]:
        """The entities that each row is about: the subjects of its quads, or both ends of a statement."""
        numbers = [term_of(row.term) - STATEMENT for row in rows if row.term < -STATEMENT]
        ends = {quad[0]: [quad[1], quad[3]] for quad in self._between(numbers).tolist()} if numbers else {}
        cites = set(cited.owners.tolist())
        return [
            list(dict.fromkeys(ends.get(term_of(row.term) - STATEMENT) or [quad[0] for quad in cited.of(row.chunk)]))
            if row.chunk in cites
            else []
            for row in rows
        ]

    # -- the walk -------------------------------------------------------------------------------------------------

    def _walk(self, seeds: Mapping[int, float], request: SearchRequest) -> _Reached:
        """Walk from weighted entities."""
        came: dict[int, tuple[int, QuadRow]] = {}
        known = dict.fromkeys(sorted(seeds, key=lambda entity: -seeds[entity]))
        frontier = list(known)
        edges: dict[tuple[int, int], None] = {}
        for most in _QUADS:
            rows = self._between(self._around(frontier, most, everything=most == _QUADS[0]))
            before = len(known)
            here = set(known)
            for ends, quad in self._edges(rows[self._filters.within(request.filter, rows[:, 4])]):
                for one, other in (ends, ends[::-1]):
                    edges[one, other] = None
                    if one in here and other not in known and len(known) - before < _WIDTH:
                        known[other] = None
                        came[other] = one, quad
            frontier = list(known)[before:]
        entities = np.array(sorted(known), dtype=np.int64)
        pairs = np.array([pair for pair in edges if pair[0] in known and pair[1] in known], dtype=np.int64)
        sources, targets = np.searchsorted(entities, pairs.reshape(-1, 2)).T
        start = np.array([seeds.get(entity, 0.0) for entity in entities.tolist()])
        weights = page_rank(sources, targets, start / start.sum())
        return _Reached(dict(zip(entities.tolist(), (weights / weights.max()).tolist(), strict=True)), came)

    def _edges(self, rows: Ids) -> list[tuple[tuple[int, int], QuadRow]]:
        """The edges of the quads [n, 5]: subject to object, and both to their graph and to the values of a reifier."""
        quads: list[QuadRow] = [tuple(row) for row in rows[:, 1:].tolist()]
        found = [((quad[0], quad[2]), quad) for quad in quads]
        graphs, counts = np.unique(rows[:, 4], return_counts=True)
        passages = set(graphs[(graphs > 0) & (counts <= _QUADS[1])].tolist())
        found += [((end, quad[3]), quad) for quad in quads if quad[3] in passages for end in (quad[0], quad[2])]
        said = self._annotations.of(quad[:3] for quad in quads)
        for quad in quads:
            found += [((end, value), quad) for _, value in said.get(quad[:3], ()) for end in (quad[0], quad[2])]
        return found

    def _around(self, entities: Sequence[int], most: int, *, everything: bool) -> Ids:
        """The ids of quads around entities, and in the graphs that they name; `most` of each, in each direction.

        Where more point to an entity, or are in a graph, none of these are followed unless `everything`.
        """
        found: list[Ids] = [np.empty(0, dtype=np.int64)]
        statement = _SQL["quads_around"]
        for own, *others in self._connection.rows(statement, statement.bind(ids_json=json_ids(entities), most=most)):
            found.append(integers(own))
            found += [ids for ids in map(integers, others) if everything or len(ids) < most]
        statement = _SQL["quads_in_graphs"]
        for (held,) in self._connection.rows(statement, statement.bind(ids_json=json_ids(entities), most=most)):
            found += [ids for ids in [integers(held)] if len(ids) < most]
        return np.unique(np.concatenate(found))

    def _between(self, quads: Sequence[int] | Ids) -> Ids:
        """The quads, among the given ids, that connect two entities, rdf:type aside; int64 [n, 5], the id first."""
        statement = _SQL["quads_between_entities"]
        return self._connection.table(
            statement, statement.bind(ids_json=json_ids(quads), rdf_type=self._facts.rdf_type)
        )


def _joined(
    rows: Sequence[Fused], others: Sequence[Fused], matched: int, about: Sequence[Sequence[int]], reached: _Reached
) -> list[Fused]:
    """The rows and the related ones by their scores together, after the first `KEPT` rows.

    Of the related ones, the first `matched` have a rank by the question, the others are all behind these.
    """
    place = {int(chunk): at for at, row in enumerate(rows) for chunk in row.alike.split(",")}
    found = list(rows)
    best, limit = rows[0].score, rows[min(KEPT, len(rows)) - 1].score
    said: dict[int, Related] = {}
    for rank, (row, entities) in enumerate(zip(others, about, strict=True), 1):
        entity = max(entities, key=lambda one: reached.weights.get(one, 0.0), default=0)
        weight = reached.weights.get(entity, 0.0)
        at = place.setdefault(row.chunk, len(found))
        if at == len(found):
            row = row._replace(score=0.0, label_score=None, ranks="0")
            found.append(row._replace(vector_rank=None, vector_score=None, text_rank=None, text_score=None))
        if at not in said:
            worth = weight**0.5 * (RANK_CONSTANT + 1) / (RANK_CONSTANT + min(rank, matched + 1))
            worth *= _KNOWN if all(one not in reached.came for one in entities) else 1.0
            said[at] = Related(worth, rank if rank <= matched else None, weight, reached.path(entity))
    plain = Related(0.0, None, 0.0, ())
    told = [said.get(at, plain) for at in range(len(found))]
    sums = [row.score / best + _WEIGHT * one.score for row, one in zip(found, told, strict=True)]
    most = max(sums[KEPT:], default=1.0) or 1.0
    scores = [row.score if at < KEPT else limit * sums[at] / most for at, row in enumerate(found)]
    order = sorted(range(KEPT, len(found)), key=lambda at: (-sums[at], at))
    first = range(min(KEPT, len(found)))
    return [found[at]._replace(related=told[at]._replace(score=scores[at])) for at in (*first, *order)]


def page_rank(sources: Ids, targets: Ids, start: Floats) -> Floats:
    """The share of time at each node, [n], of a walker along edges who returns to the beginning by `start`, [n]."""
    edges = np.bincount(sources, minlength=len(start))
    degree, stuck = np.maximum(edges, 1), edges == 0
    found = start
    for _ in range(_STEPS):
        moved = np.bincount(targets, (found / degree)[sources], minlength=len(start))
        found = _RETURN * start + (1 - _RETURN) * (moved + start * found[stuck].sum())
    return found
