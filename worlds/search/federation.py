"""Searches of several worlds as one: each list's raw values are merged, and fused once.

BM25 needs to know how many texts there are, how long they are, and how many have each term: these are summed over the
worlds first. Cosines need nothing. So a text has the score that it would have in one world with all the texts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from worlds.errors import EmbedderError, WorldsError
from worlds.search.candidates import Candidates, enough
from worlds.search.engine import Searches, depth_of
from worlds.search.facets import NAMES, Facets, ordered
from worlds.search.federated_candidates import GroupFacts, Place, Together, together
from worlds.search.fusion import Found, Scores, fuse
from worlds.search.hits import Clock, Explanation, Hit, SearchResults
from worlds.search.language import spoken
from worlds.search.member import MemberSearch, Statistics
from worlds.search.notes import nearest_to_hits, no_word
from worlds.search.options import MOST_CANDIDATES
from worlds.search.ranking import Ranked, prepare
from worlds.search.request import Identity, SearchRequest
from worlds.search.showing import Shown
from worlds.search.stages import Cursor, rest, sent_cursor
from worlds.search.statement import pending_factor

_DEEPER = 4  # times as long lists, where they hold too few subjects

Chunk = tuple[int, int]
"""A world's place in the group, and the id of a chunk there."""


@dataclass(frozen=True)
class _Lists:
    """What the lists of all worlds give: scores by place."""

    scores: dict[Chunk, Scores]
    depth: int
    whole: bool  # whether no list was cut
    everywhere: Statistics


class GroupSearches:
    """Searches of several worlds, by their names, as one."""

    def __init__(self, members: Mapping[str, Searches]) -> None:
        self._names = list(members)
        self._members = list(members.values())
        self._parts = [member.part for member in self._members]

    def run(self, text: str, *, explain: bool = False, **options: Any) -> SearchResults:
        """The answer, by the options of `World.search`."""
        clock = Clock()
        requests, identity = self._requests(text, options)
        cursor = options.get("cursor")
        given = None if cursor is None else sent_cursor(cursor, identity.digest)
        first = replace(requests[0], cursor=given)
        with self._snapshots(clock):
            searches, all_, lists = self._found(first, requests, clock)
            found, stages = all_.found, first.stages
            with clock.step("notes"):
                notes = self._notes(requests, searches, found)
            wanted = first.limit + (0 if given is None else len(given.keys))
            facts = GroupFacts(searches, all_)
            ranking = prepare(first.text, stages, found, facts, wanted=wanted, given=given, clock=clock)
            if stages.rerank is None:
                ranked = ranking()
                chosen = rest(ranked.order, found.key, given, first.limit)
            with clock.step("hits"):
                shown = self._shown(searches, all_, range(len(found)) if stages.rerank else chosen)
        if stages.rerank is not None:  # which can take seconds, in which the worlds are not to wait
            ranked = ranking()
            chosen = rest(ranked.order, found.key, given, first.limit)
        with clock.step("hits"):
            hits = self._hits(searches, all_, shown, ranked, chosen, explain=explain)
        clock.stop()
        told = self._explained(first, requests, searches, lists, ranked, len(found), clock, notes)

        def following(count: int) -> str:
            keys = [found.key(candidate) for candidate in chosen[:count]]
            return Cursor([*keys, *(() if given is None else given.keys)]).text(identity.digest)

        def facets() -> Facets:
            return self._facets(requests)

        more = len(hits) == first.limit
        if lists.whole and stages.diversity is None:  # which puts no more in order than are wanted
            more = len(rest(ranked.order, found.key, given, first.limit + 1)) > first.limit
        return SearchResults(hits, told, facets, following, more=more)

    def _notes(
        self, requests: Sequence[SearchRequest], searches: Sequence[MemberSearch], found: Candidates
    ) -> tuple[str, ...]:
        """What holds of every world, and of the hits of all."""
        members = [member.notes for member in self._members]
        asked: list[dict[str, str]] = []
        beside: list[dict[str, str]] = []
        for notes, request in zip(members, requests, strict=True):
            for all_, told in zip((asked, beside), notes.unknown(request), strict=True):
                all_.append(told)
        unknown, others = _shared(asked), _shared(beside)
        if len(found):
            return (*unknown, *others, *no_word(requests[0], found))
        why = [notes.why_nothing(one.request, one.eligible) for notes, one in zip(members, searches, strict=True)]
        return (*(unknown or nearest_to_hits(why)), *others)

    # -- what is asked --------------------------------------------------------------------------------------------

    def _requests(self, text: str, options: Mapping[str, Any]) -> tuple[list[SearchRequest], Identity]:
        """Each world's request, all with the vector that the question has in the first that embeds it."""
        if options.get("syntax", "words") != "words":
            raise ValueError(
                "a search of several worlds takes words; an FTS5 expression is for one of them: its value is one number"
            )
        if len({part.filters.policy.tokenizer for part in self._parts}) > 1:
            raise WorldsError("these worlds read words by different tokenizers, so that BM25 cannot be compared")
        if options.get("mode") != "text" and len({member.model for member in self._members} - {None}) > 1:
            raise EmbedderError(
                "these worlds were embedded by different models, whose vectors cannot be compared: mode='text' "
                "searches their words"
            )
        made: dict[int, SearchRequest] = {}
        vector = options.get("vector")
        embedded: Any = None
        plain = {name: value for name, value in options.items() if name not in ("cursor", "vector")}
        for place in sorted(range(len(self._members)), key=lambda place: self._members[place].model is None):
            its = self._members[place].requests
            given = its.of_its_own(plain, [member.requests for member in self._members])
            request = its.own(text, vector=vector if embedded is None else embedded, **given)
            if embedded is None:
                embedded = request.vector
            made[place] = request if request.vector is None else replace(request, vector=embedded)
        requests = [made[place] for place in range(len(made))]
        return requests, Identity(self._names, [request.identity.digest for request in requests])

    @contextmanager
    def _snapshots(self, clock: Clock) -> Iterator[None]:
        """One state of each world, whose statements the clock notes; all groups take locks in the same order."""
        with ExitStack() as stack:
            for part in sorted(self._parts, key=id):
                stack.enter_context(part.connection.snapshot())
                stack.enter_context(part.connection.watched(clock.ran))
            yield

    # -- lists and candidates -------------------------------------------------------------------------------------

    def _found(
        self, first: SearchRequest, requests: Sequence[SearchRequest], clock: Clock
    ) -> tuple[list[MemberSearch], Together, _Lists]:
        with clock.step("filter"):
            languages = spoken(first, [part.languages for part in self._parts])
            searches = [part.begin(request, languages) for part, request in zip(self._parts, requests, strict=True)]
        depth, most = depth_of(first), first.stages.per_subject
        while True:
            with clock.step("lists"):
                lists = self._lists(searches, depth)
            with clock.step("candidates"):
                all_ = self._together(searches, lists, first)
            enough_ = lists.whole or enough(all_.found, most, first.cursor, first.limit)
            if enough_ or depth >= MOST_CANDIDATES:
                return searches, all_, lists
            depth = min(depth * _DEEPER, MOST_CANDIDATES)

    def _lists(self, searches: Sequence[MemberSearch], depth: int) -> _Lists:
        request = searches[0].request
        everywhere = reduce(add, [search.statistics for search in searches])
        nearest = [search.nearest(depth) for search in searches]
        similarity = {(at, chunk): value for at, rows in enumerate(nearest) for chunk, value in rows}
        vectors = sorted(similarity, key=lambda place: (-similarity[place], place))[:depth]
        both = any(search.request.vector is not None for search in searches) and searches[0].match is not None
        completed = both and request.fusion != "rrf"
        bm25: dict[Chunk, float | None] = {}
        ranks: dict[Chunk, int] = {}
        for at, search in enumerate(searches):
            also = [chunk for world, chunk in vectors if world == at] if completed else []
            for chunk, value, rank in search.relevant(everywhere, depth, also):
                bm25[at, chunk], ranks[at, chunk] = value, rank
        texts = sorted(
            (place for place, rank in ranks.items() if rank <= depth), key=lambda place: (bm25[place] or 0.0, place)
        )[:depth]
        found: dict[Chunk, Found] = {}
        for rank, place in enumerate(vectors, 1):
            found[place] = Found(rank, similarity[place])
        for rank, place in enumerate(texts, 1):
            one = found.setdefault(place, Found())
            one.text_rank, one.bm25 = rank, bm25[place]
        coverage = 1.0
        if completed:
            for place in vectors:
                found[place].bm25 = bm25.get(place)
            for at, search in enumerate(searches):
                missing = [chunk for world, chunk in texts if world == at and found[world, chunk].similarity is None]
                for chunk, value in search.similarities(missing).items():
                    found[at, chunk].similarity = value
            if request.fusion == "relative" and texts:
                coverage = _coverage(searches[texts[0][0]], texts[0][1], everywhere)
        return _Lists(fuse(found, request, coverage), depth, max(len(vectors), len(texts)) < depth, everywhere)

    def _together(self, searches: Sequence[MemberSearch], lists: _Lists, request: SearchRequest) -> Together:
        by_subject = request.stages.per_subject is not None
        both = any(search.request.vector is not None for search in searches) and searches[0].match is not None
        factor = pending_factor(request) if both else 1.0
        by_world: list[Candidates] = []
        for at, search in enumerate(searches):
            scores = [(chunk, score) for (world, chunk), score in lists.scores.items() if world == at]
            by_world.append(search.candidates(search.fused(scores, factor, 2 * lists.depth), by_subject=by_subject))
        return together(searches, by_world, by_subject=by_subject)

    # -- hits -----------------------------------------------------------------------------------------------------

    @staticmethod
    def _shown(searches: Sequence[MemberSearch], all_: Together, chosen: Sequence[int]) -> list[Shown]:
        """What hits of these candidates read from each world."""
        homes = [home for one in chosen for home in all_.homes[one]]
        return [
            search.shown([candidate for world, candidate in homes if world == at], all_.by_world[at])
            for at, search in enumerate(searches)
        ]

    def _hits(
        self,
        searches: Sequence[MemberSearch],
        all_: Together,
        shown: Sequence[Shown],
        ranked: Ranked,
        chosen: Sequence[int],
        *,
        explain: bool,
    ) -> list[Hit]:
        scores = {place: float(ranked.scores[one]) for one in chosen for place in all_.homes[one]}
        made: dict[Place, Hit] = {}
        for at, search in enumerate(searches):
            found = all_.by_world[at]
            wanted = [candidate for world, candidate in scores if world == at]
            if wanted:
                here = np.zeros(len(found))
                here[wanted] = [scores[at, candidate] for candidate in wanted]
                order = Ranked(np.arange(len(found)), here)
                hits = search.hits(wanted, found, order, shown[at], explain=explain)
                made |= {
                    (at, candidate): replace(hit, world=self._names[at])
                    for candidate, hit in zip(wanted, hits, strict=True)
                }
        steps = ranked.steps(chosen) if explain else [None] * len(chosen)
        return [
            replace(made[homes[0]], others=tuple(made[home] for home in homes[1:]), steps=step)
            for homes, step in zip([all_.homes[one] for one in chosen], steps, strict=True)
        ]

    def _facets(self, requests: Sequence[SearchRequest]) -> Facets:
        with self._snapshots(Clock()):
            languages = spoken(requests[0], [part.languages for part in self._parts])
            searches = [part.begin(request, languages) for part, request in zip(self._parts, requests, strict=True)]
            lists = self._lists(searches, requests[0].candidates)
            counted = [
                search.facets(
                    [chunk for (world, chunk), score in lists.scores.items() if world == at and score.vector_rank]
                )
                for at, search in enumerate(searches)
            ]
        sums: dict[str, Counter[str]] = defaultdict(Counter)
        for one in counted:
            for name, counts in (*((name, getattr(one, name)) for name in NAMES), *one.values.items()):
                sums[name].update(dict(counts))
        own = {name: ordered(sums.pop(name)) for name in NAMES}
        return Facets(**own, values={name: ordered(counts) for name, counts in sums.items()})

    def _explained(
        self,
        first: SearchRequest,
        requests: Sequence[SearchRequest],
        searches: Sequence[MemberSearch],
        lists: _Lists,
        ranked: Ranked,
        count: int,
        clock: Clock,
        told: tuple[str, ...],
    ) -> Explanation:
        plans = {name: search.plan for name, search in zip(self._names, searches, strict=True) if search.plan}
        eligible = [search.eligible.passages for search in searches if search.eligible is not None]
        compared = [plan.compared for plan in plans.values()]
        match = searches[0].match
        if first.stages.related:
            told += ("a search of several worlds does not walk over their quads, so no related texts were added",)
        common = [note for note in first.notes if all(note in request.notes for request in requests)]
        notes = common + [
            f"{name}: {note}"
            for name, request in zip(self._names, requests, strict=True)
            for note in request.notes
            if note not in common
        ]
        return Explanation(
            query=first.text,
            mode="text" if not plans else "hybrid" if match is not None else "vector",
            plan=", ".join(sorted({plan.name for plan in plans.values()})) or None,
            reason="; ".join(f"{name}: {plan.reason}" for name, plan in plans.items()) or "no vector leg",
            eligible=sum(eligible) if eligible else None,
            compared=None if None in compared or not plans else sum(filter(None, compared)),
            match=match,
            words=None if match is None else "scan",
            languages=searches[0].languages,
            fusion="rrf" if first.fusion == "rrf" else f"{first.fusion}, {first.normalise}",
            depth=lists.depth,
            candidates=count,
            stages=tuple(one.name for one in ranked.done),
            notes=(*told, *notes, *ranked.notes),
            milliseconds=clock.milliseconds,
            defaults=first.defaults,
            statements=clock.statements,
        )


def _shared(told: Sequence[Mapping[str, str]]) -> tuple[str, ...]:
    """What all worlds tell, in the words of that one which hints at most."""
    return tuple(max((one[note] for one in told), key=len) for note in told[0] if all(note in one for one in told))


def _coverage(search: MemberSearch, chunk: int, everywhere: Statistics) -> float:
    """The square root of the share that the best text has of the question's inverse document frequencies."""
    weights = [everywhere.telling(term) for term in search.terms]
    total = sum(weights)
    held = sum(everywhere.telling(term) for term in search.held(chunk))
    return float(np.sqrt(held / total)) if total else 1.0
