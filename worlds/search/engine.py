"""Answers searches: prepares the statement, runs it, ranks what it finds, and makes hits of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from worlds.quads.dictionary import Dictionary
from worlds.search.candidates import Candidates, Cited, Fused, candidates, enough
from worlds.search.facets import FacetCounter, Facets
from worlds.search.facts import FactReader
from worlds.search.fields import Fields
from worlds.search.filters import Filters
from worlds.search.hits import Clock, Explanation, SearchResults
from worlds.search.notes import SearchNotes
from worlds.search.options import MOST_CANDIDATES
from worlds.search.plans import Plans
from worlds.search.ranking import Ranked, prepare
from worlds.search.related import Relating
from worlds.search.request import Requests, SearchRequest
from worlds.search.showing import HitMaker
from worlds.search.stages import Cursor, Stages, rest
from worlds.search.statement import Prepared, SearchStatements
from worlds.sql import statements
from worlds.sql.connection import Connection
from worlds.texts.facts import Facts, QuadRow
from worlds.vectors.codes import Codes

if TYPE_CHECKING:
    from worlds.search.member import MemberLists

_SQL = statements("queries.sql")
_DEEPER = 4  # times as long lists, where they hold too few passages or subjects


class Passage(NamedTuple):
    """A passage that was found: its cosine, where the vector leg gave one, and its quads as term ids."""

    similarity: float | None
    quads: list[QuadRow]


class SearchEngine:
    """Answers searches over one world."""

    def __init__(self, connection: Connection, dictionary: Dictionary, filters: Filters, codes: Codes) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self._filters = filters
        self._codes = codes
        self._statements = SearchStatements(
            connection, filters, Plans(connection, codes), Fields(connection, dictionary, filters)
        )
        self._facts = FactReader(connection, dictionary, filters)
        self._hits = HitMaker(connection, dictionary, filters)
        self._relating = Relating(connection, dictionary, filters, self._statements, self._hits)
        self._facets = FacetCounter(connection, dictionary, filters)

    def state(self) -> tuple[Any, ...]:
        """What tells one state of the world from another."""
        counted = self._connection.remembered("counters", lambda: self._connection.rows(_SQL["state"])[0])
        return (*counted, self._connection.rollbacks)

    def _state_now(self) -> tuple[Any, ...]:
        with self._connection.snapshot():
            return self.state()

    def part(self) -> MemberLists:
        """What the world does in searches of several worlds."""
        from worlds.search.member import MemberLists  # others have no use for it

        return MemberLists(self._connection, self._dictionary, self._filters, self._codes)

    def run(self, request: SearchRequest, *, explain: bool, notes: SearchNotes | None = None) -> SearchResults:
        """Answer a search from one snapshot of the file; `notes` looks for what there is to say of it."""
        clock = Clock()
        stages, given = request.stages, request.cursor
        if patterns := request.patterns:
            with clock.step("filter"):
                self._filters.ahead(patterns, request.filter, self._state_now, request.limits)
        if stages.related:
            with clock.step("related"):
                request = self._relating.ahead(request, self.state, clock)
        with self._connection.snapshot(), self._connection.watched(clock.ran):
            state = self.state()
            prepared, found, cited, ended = self._found(request, state, clock)
            with clock.step("notes"):
                noted = () if notes is None else notes.of(request, found, prepared.eligible)
            facts = self._facts.of(found, request.filter.include.graphs, state, request.limits)
            wanted = request.limit + (0 if given is None else len(given.keys))
            ranking = prepare(request.text, stages, found, facts, wanted=wanted, given=given, clock=clock)
            if stages.rerank is None:
                ranked = ranking()
                chosen = rest(ranked.order, found.key, given, request.limit)
            with clock.step("hits"):
                shown = self._hits.shown(range(len(found)) if stages.rerank else chosen, found, cited)
        if stages.rerank is not None:  # which can take seconds, in which the world is not to wait
            ranked = ranking()
            chosen = rest(ranked.order, found.key, given, request.limit)
        with clock.step("hits"):
            hits = self._hits.hits(chosen, found, ranked, shown, request, prepared.match, explain=explain)
        clock.stop()
        told = _explained(request, prepared, found, ranked, clock, noted)

        def following(count: int) -> str:
            keys = [found.key(candidate) for candidate in chosen[:count]]
            return Cursor([*keys, *(() if given is None else given.keys)]).text(request.identity.digest)

        more = len(hits) == request.limit
        if ended and stages.diversity is None:  # which puts no more in order than are wanted
            more = len(rest(ranked.order, found.key, given, request.limit + 1)) > request.limit
        return SearchResults(hits, told, partial(self._count_facets, request), following, more=more)

    def passages(self, request: SearchRequest) -> list[Passage]:
        """The passages that a search without stages after fusion finds, best first: its hits before they are shown."""
        with self._connection.snapshot():
            _, found, cited, _ = self._found(request, self.state(), Clock())
        rows = found.rows[: request.limit]
        quads = cited.of_each([row.chunk for row in rows])
        return [Passage(_cosine(row), each) for row, each in zip(rows, quads, strict=True)]

    def labels(self, subjects: Iterable[int]) -> dict[int, str]:
        """What entities are called, by their ids; none for those without a label."""
        found = Facts(self._connection, self._dictionary).labels(self._filters.policy, subjects)
        return {number: text.label for number, text in found.items()}

    def _count_facets(self, request: SearchRequest) -> Facets:
        """The facets of all that a search matches."""
        depth = request.candidates
        whole = replace(request, limit=2 * depth, cursor=None, stages=Stages())
        with self._connection.snapshot():
            prepared = self._statements.prepare(whole, self.state(), depth, Clock())
            rows = self._statements.run(whole, prepared) if request.vector is not None else []
            nearest = [row.chunk for row in rows if row.vector_rank is not None]
            return self._facets.count(prepared.match, nearest, prepared.eligible, request)

    def _found(
        self, request: SearchRequest, state: tuple[Any, ...], clock: Clock
    ) -> tuple[Prepared, Candidates, Cited, bool]:
        """What the statement finds, and whether that is all there is.

        It is asked once more with longer lists, where these hold too few passages, or subjects.
        """
        depth, stages = depth_of(request), request.stages
        while True:
            prepared = self._statements.prepare(request, state, depth, clock)
            with clock.step("statement"):
                rows = self._statements.run(request, prepared)
            if stages.related:
                with clock.step("related"):
                    rows = self._relating.joined(request, state, prepared, rows, clock)
            with clock.step("quads"):
                cited = self._hits.cited(rows, prepared.eligible)
                citing = set(cited.owners.tolist())
                may = [row for row in rows if row.chunk in citing]
                found = candidates(may, cited, by_subject=stages.per_subject is not None)
                whole = all(int(rank) < depth for row in rows for rank in row.ranks.split(","))
                if whole or enough(found, stages.per_subject, request.cursor, request.limit):
                    return prepared, found, cited, whole
            if depth >= MOST_CANDIDATES:
                return prepared, found, cited, whole
            depth = min(depth * _DEEPER, MOST_CANDIDATES)


class Searches:
    """Searches of one world by the options of `World.search`."""

    def __init__(self, engine: SearchEngine, requests: Requests, notes: SearchNotes) -> None:
        self._engine = engine
        self.requests = requests
        self.notes = notes

    @cached_property
    def part(self) -> MemberLists:
        """What the world does in searches of several worlds."""
        return self._engine.part()

    @property
    def model(self) -> tuple[object, ...] | None:
        """What tells the model that embedded this world from others; None where nothing is embedded."""
        return self.requests.model

    def run(
        self, text: str, *, explain: bool = False, noted: bool = False, own: bool = False, **options: Any
    ) -> SearchResults:
        """The answer; `noted` with what there is to say of it, `own` by the world's own defaults."""
        notes = self.notes if noted else None
        make = self.requests.own if own else self.requests.make
        return self._engine.run(make(text, **options), explain=explain, notes=notes)

    def passages(self, text: str, **options: Any) -> list[Passage]:
        """What a search by these options finds, without what hits show of it."""
        return self._engine.passages(self.requests.make(text, **options))

    def unknown(self, **filters: Any) -> tuple[str, ...]:
        """What there is to say of the names in a filter that the world does not know."""
        given = {name: value for name, value in filters.items() if value is not None}
        return tuple(self.notes.unknown(self.requests.make("", mode="text", **given))[0].values()) if given else ()


def _cosine(row: Fused) -> float | None:
    return None if row.similarity is None else min(row.similarity, 1.0)  # rounding brings it above 1


def _explained(
    request: SearchRequest,
    prepared: Prepared,
    found: Candidates,
    ranked: Ranked,
    clock: Clock,
    noted: tuple[str, ...],
) -> Explanation:
    plan = prepared.plan
    return Explanation(
        query=request.text,
        mode="text" if plan is None else "hybrid" if prepared.match is not None else "vector",
        plan=None if plan is None else plan.name,
        reason="no vector leg" if plan is None else plan.reason,
        eligible=None if prepared.eligible is None else prepared.eligible.passages,
        compared=None if plan is None else plan.compared,
        match=prepared.match,
        words=prepared.words,
        languages=prepared.languages,
        fusion="rrf" if request.fusion == "rrf" else f"{request.fusion}, {request.normalise}",
        depth=prepared.depth,
        candidates=len(found),
        stages=tuple(one.name for one in ranked.done),
        notes=(*noted, *request.notes, *ranked.notes),
        milliseconds=clock.milliseconds,
        defaults=request.defaults,
        statements=clock.statements,
    )


def depth_of(request: SearchRequest) -> int:
    """How long each list has to be, so that this page and those before it fit in."""
    return max(request.candidates, request.limit + (0 if request.cursor is None else len(request.cursor.keys)))
