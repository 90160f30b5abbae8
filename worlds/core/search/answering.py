"""How a search is answered, of one world or of several: found deep enough, ranked by its stages, and made into hits."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Protocol

from worlds.core.search.candidate_facts import CandidateFacts
from worlds.core.search.candidates import Candidates, enough
from worlds.core.search.facets import Facets
from worlds.core.search.hits import Clock, Explanation, Hit, SearchResults
from worlds.core.search.options import MOST_CANDIDATES
from worlds.core.search.ranking import prepare
from worlds.core.search.request import SearchRequest
from worlds.core.search.stages import Cursor, rest

_DEEPER = 4  # times as long lists, where they hold too few passages or subjects


class Asked(Protocol):
    """One search of one world or of several; readings keep to the state of the last `found`."""

    @property
    def request(self) -> SearchRequest:
        """The options of the search, checked."""

    def ahead(self, clock: Clock) -> None:
        """Run the slow steps before the worlds are locked."""

    def snapshot(self, clock: Clock) -> AbstractContextManager[None]:
        """One state of each world, whose statements the clock notes."""

    def found(self, depth: int, clock: Clock) -> tuple[Candidates, bool]:
        """The candidates in lists of this depth, best first, and whether deeper lists would add none."""

    def notes(self, found: Candidates) -> tuple[str, ...]:
        """Notes for the caller on the search and its results."""

    def facts(self, found: Candidates) -> CandidateFacts:
        """Facts about the candidates that the stages ask for."""

    def shown(self, chosen: Sequence[int]) -> Any:
        """The quads, texts and terms that hits of these candidates show."""

    def hits(self, chosen: Sequence[int], scores: Sequence[float], shown: Any, *, explain: bool) -> list[Hit]:
        """The hits of these candidates, in their order."""

    def explanation(self) -> Explanation:
        """The explanation of the search: its lists, stages and plan."""

    def facets(self) -> Facets:
        """The facets of all that the search matches."""


def answer(asked: Asked, *, explain: bool) -> SearchResults:
    """Answer a search from one snapshot of each file."""
    clock = Clock()
    asked.ahead(clock)
    request = asked.request
    stages, given = request.stages, request.cursor
    with asked.snapshot(clock):
        found, ended = deep_enough(asked, clock)
        with clock.step("notes"):
            noted = asked.notes(found)
        wanted = request.limit + (0 if given is None else len(given.keys))
        ranking = prepare(request.text, stages, found, asked.facts(found), wanted=wanted, given=given, clock=clock)
        if stages.rerank is None:
            ranked = ranking()
            chosen = rest(ranked.order, found.key, given, request.limit)
        with clock.step("hits"):
            shown = asked.shown(range(len(found)) if stages.rerank else chosen)
    if stages.rerank is not None:  # which can take seconds, in which the worlds are not to wait
        ranked = ranking()
        chosen = rest(ranked.order, found.key, given, request.limit)
    with clock.step("hits"):
        hits = asked.hits(chosen, ranked.scores[chosen].tolist(), shown, explain=explain)
        if explain:
            hits = [replace(hit, steps=steps) for hit, steps in zip(hits, ranked.steps(chosen), strict=True)]
    clock.stop()
    told = asked.explanation()
    told = replace(
        told,
        candidates=len(found),
        stages=tuple(one.name for one in ranked.done),
        notes=(*noted, *told.notes, *ranked.notes),
        milliseconds=clock.milliseconds,
        statements=clock.statements,
    )

    def following(count: int) -> str:
        keys = [found.key(candidate) for candidate in chosen[:count]]
        return Cursor([*keys, *(() if given is None else given.keys)]).text(request.identity.digest)

    more = len(hits) == request.limit
    if ended and stages.diversity is None:  # which puts no more in order than are wanted
        more = len(rest(ranked.order, found.key, given, request.limit + 1)) > request.limit
    return SearchResults(hits, told, asked.facets, following, more=more)


def deep_enough(asked: Asked, clock: Clock) -> tuple[Candidates, bool]:
    """Search with ever longer lists until these hold enough passages or subjects for the page."""
    request = asked.request
    given = 0 if request.cursor is None else len(request.cursor.keys)
    depth = max(request.candidates, request.limit + given)  # so that this page and those before it fit in
    while True:
        found, whole = asked.found(depth, clock)
        enough_ = whole or enough(found, request.stages.per_subject, request.cursor, request.limit)
        if enough_ or depth >= MOST_CANDIDATES:
            return found, whole
        depth = min(depth * _DEEPER, MOST_CANDIDATES)
