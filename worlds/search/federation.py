"""Searches of several worlds as one: each list's raw values are merged, and fused once.

BM25 needs to know how many texts there are, how long they are, and how many have each term: these are summed over the
worlds first. Cosines need nothing. So a text has the score that it would have in one world with all the texts.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from worlds.errors import EmbedderError, WorldsError
from worlds.search.candidates import Candidates, Fused, enough
from worlds.search.engine import Searches, depth_of
from worlds.search.facets import Facets, ordered
from worlds.search.fusion import Found, Scores, fuse
from worlds.search.hits import Clock, Explanation, Hit, SearchResults
from worlds.search.member import MemberSearch, Statistics
from worlds.search.notes import nearest_to_hits, no_word
from worlds.search.options import DEFAULTS, MOST_CANDIDATES
from worlds.search.ranking import Ranked, Stage, grouping, run
from worlds.search.request import Identity, SearchRequest
from worlds.search.stages import Cursor, rest, sent_cursor
from worlds.search.statement import pending_factor

_ALONE = ("rerank", "boost", "decay", "diversity")  # stages that one world's search has, and a group's has not
_DEEPER = 4  # times as long lists, where they hold too few subjects
_WORLD = 32  # bits of a chunk's id, before the world's place

Place = tuple[int, int]
"""A world's place in the group, and the id of a chunk there."""


@dataclass(frozen=True)
class _Lists:
    """What the lists of all worlds give: scores by place."""

    scores: dict[Place, Scores]
    depth: int
    whole: bool  # whether no list was cut
    everywhere: Statistics


@dataclass(frozen=True)
class _Together:
    """The candidates of all worlds as one, and where each comes from."""

    found: Candidates
    homes: list[list[Place]]  # of each candidate: (world, candidate there), the same text of others after the first
    by_world: list[Candidates]


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
        with self._snapshots():
            searches, together, lists = self._found(first, requests, clock)
            found = together.found
            steps: list[Stage] = []
            most = first.stages.per_subject
            if most is not None and len(found):
                steps.append(("group", grouping(most, found, self._named(searches, together), given)))
            ranked = run(steps, found, (), clock)
            chosen = rest(ranked.order, found.key, given, first.limit)
            with clock.step("hits"):
                hits = self._hits(searches, together, ranked, chosen, explain=explain)
            with clock.step("notes"):
                notes = self._notes(requests, searches, found)
        clock.stop()
        told = self._explained(first, requests, searches, lists, ranked, len(found), clock, notes)

        def following() -> str:
            keys = [found.key(candidate) for candidate in chosen]
            return Cursor([*keys, *(() if given is None else given.keys)]).text(identity.digest)

        def facets() -> Facets:
            return self._facets(requests)

        return SearchResults(hits, told, facets, following if len(hits) == first.limit else None)

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
        for name in _ALONE:
            if options.get(name, DEFAULTS[name]) not in (DEFAULTS[name], False):
                raise ValueError(f"a search of several worlds has no {name}: search one of them with it")
        if options.get("syntax", "words") != "words":
            raise ValueError("a search of several worlds takes words; an FTS5 expression is for one of them")
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
            request = self._members[place].requests.make(text, vector=vector if embedded is None else embedded, **plain)
            if embedded is None:
                embedded = request.vector
            made[place] = request if request.vector is None else replace(request, vector=embedded)
        requests = [made[place] for place in range(len(made))]
        return requests, Identity(self._names, [request.identity.digest for request in requests])

    @contextmanager
    def _snapshots(self) -> Iterator[None]:
        """One state of each world; locks are taken in the same order by all groups."""
        with ExitStack() as stack:
            for part in sorted(self._parts, key=id):
                stack.enter_context(part.connection.snapshot())
            yield

    # -- lists and candidates -------------------------------------------------------------------------------------

    def _found(
        self, first: SearchRequest, requests: Sequence[SearchRequest], clock: Clock
    ) -> tuple[list[MemberSearch], _Together, _Lists]:
        with clock.step("filter"):
            searches = [part.begin(request) for part, request in zip(self._parts, requests, strict=True)]
        depth, most = depth_of(first), first.stages.per_subject
        while True:
            with clock.step("lists"):
                lists = self._lists(searches, depth)
            with clock.step("candidates"):
                together = self._together(searches, lists, first)
            enough_ = lists.whole or enough(together.found, most, first.cursor, first.limit)
            if enough_ or depth >= MOST_CANDIDATES:
                return searches, together, lists
            depth = min(depth * _DEEPER, MOST_CANDIDATES)

    def _lists(self, searches: Sequence[MemberSearch], depth: int) -> _Lists:
        request = searches[0].request
        everywhere = reduce(add, [search.statistics for search in searches])
        nearest = [search.nearest(depth) for search in searches]
        similarity = {(at, chunk): value for at, rows in enumerate(nearest) for chunk, value in rows}
        vectors = sorted(similarity, key=lambda place: (-similarity[place], place))[:depth]
        both = any(search.request.vector is not None for search in searches) and searches[0].match is not None
        completed = both and request.fusion != "rrf"
        bm25: dict[Place, float] = {}
        ranks: dict[Place, int] = {}
        for at, search in enumerate(searches):
            also = [chunk for world, chunk in vectors if world == at] if completed else []
            for chunk, value, rank in search.relevant(everywhere, depth, also):
                bm25[at, chunk], ranks[at, chunk] = value, rank
        texts = sorted(
            (place for place, rank in ranks.items() if rank <= depth), key=lambda place: (bm25[place], place)
        )[:depth]
        found: dict[Place, Found] = {}
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

    def _together(self, searches: Sequence[MemberSearch], lists: _Lists, request: SearchRequest) -> _Together:
        by_subject = request.stages.per_subject is not None
        both = any(search.request.vector is not None for search in searches) and searches[0].match is not None
        factor = pending_factor(request) if both else 1.0
        by_world: list[Candidates] = []
        entries: list[tuple[float, int, int, Fused, int, object]] = []
        for at, search in enumerate(searches):
            scores = [(chunk, score) for (world, chunk), score in lists.scores.items() if world == at]
            found = search.candidates(search.fused(scores, factor, 2 * lists.depth), by_subject=by_subject)
            by_world.append(found)
            names = search.keys(found.subject.tolist())
            for candidate in range(len(found)):
                row, subject = found.rows[found.row[candidate]], int(found.subject[candidate])
                name = names.get(subject, "")
                about = f"{at} {name}" if name.startswith("_:") else name
                text = row.text if row.term > 0 else (at, row.chunk)
                own = row._replace(chunk=at << _WORLD | row.chunk)
                number = _number(about) if subject else 0
                entries.append((row.score, at, candidate, own, number, (text, about)))
        entries.sort(key=lambda entry: (-entry[0], entry[1], entry[2]))
        homes: list[list[Place]] = []
        places: dict[object, int] = {}
        rows: list[Fused] = []
        subjects: list[int] = []
        for _, at, candidate, row, subject, key in entries:
            if key in places:  # the same text in another world
                homes[places[key]].append((at, candidate))
                continue
            places[key] = len(homes)
            homes.append([(at, candidate)])
            rows.append(row)
            subjects.append(subject)
        numbers = np.empty(0, dtype=np.int64)
        one = Candidates(
            rows,
            np.arange(len(rows)),
            np.array(subjects, dtype=np.int64),
            np.array([row.score for row in rows], dtype=np.float64),
            np.empty(0, dtype=np.intp),
            numbers,
            numbers,
        )
        return _Together(one, homes, by_world)

    def _named(self, searches: Sequence[MemberSearch], together: _Together) -> Any:
        names = [search.names(found) for search, found in zip(searches, together.by_world, strict=True)]
        return np.array([any(names[at][candidate] for at, candidate in homes) for homes in together.homes], dtype=bool)

    # -- hits -----------------------------------------------------------------------------------------------------

    def _hits(
        self,
        searches: Sequence[MemberSearch],
        together: _Together,
        ranked: Ranked,
        chosen: Sequence[int],
        *,
        explain: bool,
    ) -> list[Hit]:
        scores = {place: float(ranked.scores[one]) for one in chosen for place in together.homes[one]}
        made: dict[Place, Hit] = {}
        for at, search in enumerate(searches):
            found = together.by_world[at]
            wanted = [candidate for world, candidate in scores if world == at]
            if wanted:
                here = np.zeros(len(found))
                here[wanted] = [scores[at, candidate] for candidate in wanted]
                order = Ranked(np.arange(len(found)), here)
                hits = search.hits(wanted, found, order, explain=explain)
                made |= {
                    (at, candidate): replace(hit, world=self._names[at])
                    for candidate, hit in zip(wanted, hits, strict=True)
                }
        steps = ranked.steps(chosen) if explain else [None] * len(chosen)
        return [
            replace(made[homes[0]], others=tuple(made[home] for home in homes[1:]), steps=step)
            for homes, step in zip([together.homes[one] for one in chosen], steps, strict=True)
        ]

    def _facets(self, requests: Sequence[SearchRequest]) -> Facets:
        with self._snapshots():
            searches = [part.begin(request) for part, request in zip(self._parts, requests, strict=True)]
            lists = self._lists(searches, requests[0].candidates)
            counted = [
                search.facets(
                    [chunk for (world, chunk), score in lists.scores.items() if world == at and score.vector_rank]
                )
                for at, search in enumerate(searches)
            ]
        sums: dict[str, Counter[str]] = {item.name: Counter() for item in fields(Facets)}
        for one in counted:
            for name, counts in sums.items():
                counts.update(dict(getattr(one, name)))
        return Facets(**{name: ordered(counts) for name, counts in sums.items()})

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
            fusion="rrf" if first.fusion == "rrf" else f"{first.fusion}, {first.normalise}",
            depth=lists.depth,
            candidates=count,
            stages=tuple(one.name for one in ranked.done),
            notes=(*told, *notes, *ranked.notes),
            milliseconds=clock.milliseconds,
            sql="",
            parameters=(),
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


def _number(name: str) -> int:
    """A number for a subject that is the same in every world and every search: 62 bits of a digest."""
    return int.from_bytes(hashlib.blake2b(name.encode("utf-8", "replace"), digest_size=8).digest(), "big") >> 2
