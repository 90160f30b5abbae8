"""Searches of several worlds as one: each finds its best, whose values are merged into two lists and fused once.

BM25 needs to know how many texts there are, how long they are, and how many have each term: these are summed first.
Cosines need nothing. So a text has the score that it would have in one world with all the texts.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pyoxigraph as ox

from worlds.core.search.answering import answer
from worlds.core.search.candidate_facts import Bools, Embedded, Read, texts_of
from worlds.core.search.candidates import Candidates, Fused, ended
from worlds.core.search.engine import Searches, WorldSearch
from worlds.core.search.facets import NAMES, Facets, ordered
from worlds.core.search.fusion import Found, fuse, pending_factor
from worlds.core.search.hits import Clock, Explanation, Hit, SearchResults
from worlds.core.search.language import spoken
from worlds.core.search.notes import noted
from worlds.core.search.request import SearchIdentity, SearchRequest
from worlds.core.search.showing import HitContents
from worlds.core.search.stages import Decay, Floats, Indexes, sent_cursor
from worlds.errors import EmbedderError, WorldsError
from worlds.sql.bound_values import as_text

_WORLD = 32  # bits of a chunk's id, before the world's place

Place = tuple[int, int]
"""A world's place in the group, and the place of a row or a candidate there."""


class GroupSearches:
    """Searches of several worlds, by their names, as one."""

    def __init__(self, members: Mapping[str, Searches]) -> None:
        self._members = members

    def run(self, text: str, *, explain: bool = False, **options: Any) -> SearchResults:
        """The answer, by the options of `World.search`."""
        requests = self._requests(text, options)
        identity = SearchIdentity(list(requests), [request.identity.digest for request in requests.values()])
        cursor = options.get("cursor")
        given = None if cursor is None else sent_cursor(cursor, identity.digest)
        first = replace(next(iter(requests.values())), cursor=given, identity=identity)
        stages = replace(first.stages, related=False)
        searches = {
            name: WorldSearch(member.engine, replace(requests[name], stages=stages), member.notes)
            for name, member in self._members.items()
        }
        return answer(GroupSearch(first, searches), explain=explain)

    def _requests(self, text: str, options: Mapping[str, Any]) -> dict[str, SearchRequest]:
        """Each world's request, all with the vector that the question has in the first that embeds it."""
        members = self._members.values()
        if len({member.engine.filters.policy.tokenizer for member in members}) > 1:
            raise WorldsError("these worlds read words by different tokenizers, so that BM25 cannot be compared")
        if options.get("mode") != "text" and len({member.requests.model for member in members} - {None}) > 1:
            raise EmbedderError(
                "these worlds were embedded by different models, whose vectors cannot be compared: mode='text' "
                "searches their words"
            )
        made: dict[str, SearchRequest] = {}
        vector, embedded = options.get("vector"), None
        plain = {name: value for name, value in options.items() if name not in ("cursor", "vector")}
        for name, member in sorted(self._members.items(), key=lambda one: one[1].requests.model is None):
            given = member.requests.of_its_own(plain, [one.requests for one in members])
            request = member.requests.own(text, vector=vector if embedded is None else embedded, **given)
            if embedded is None:
                embedded = request.vector
            made[name] = request if request.vector is None else replace(request, vector=embedded)
        return {name: made[name] for name in self._members}


class GroupSearch:
    """`Asked` of several worlds."""

    _by_world: list[Candidates]
    _homes: list[list[Place]]  # of each candidate; where it has the best score first
    _rows: list[Place]  # where each row comes from
    _depth: int

    def __init__(self, request: SearchRequest, members: Mapping[str, WorldSearch]) -> None:
        """`request` is the first world's."""
        self.request = request
        self._names = list(members)
        self._members = list(members.values())

    def ahead(self, clock: Clock) -> None:
        """Do the work of each world that needs no snapshot, before its snapshot is taken."""
        for member in self._members:
            member.ahead(clock)

    @contextmanager
    def snapshot(self, clock: Clock) -> Iterator[None]:
        """One state of each world, whose statements the clock notes; all groups take locks in the same order."""
        with ExitStack() as stack:
            for member in sorted(self._members, key=lambda member: id(member.engine.connection)):
                stack.enter_context(member.snapshot(clock))
            yield

    def found(self, depth: int, clock: Clock) -> tuple[Candidates, bool]:
        """The candidates in lists of this depth, best first, and whether deeper lists would add none."""
        rows, whole = self._fused(depth, clock)
        with clock.step("quads"):
            by_world = [
                member.candidates([row for world, row in rows if world == at])
                for at, member in enumerate(self._members)
            ]
            return self._together(by_world), whole

    def _fused(self, depth: int, clock: Clock) -> tuple[list[Found], bool]:
        """The fused results of all worlds, and whether deeper lists would add none."""
        self._depth = depth
        languages = spoken(self.request, [one.engine.statements.languages for one in self._members])
        for one in self._members:
            if languages or one.engine.statements.languages.known:  # else it reads English by itself
                one.request = replace(one.request, languages=languages)
        everywhere = reduce(add, [one.corpus() for one in self._members])
        found = [member.rows(depth, clock, whole=True, everywhere=everywhere) for member in self._members]
        worded = self._members[0].prepared.match is not None
        both = worded and any(one.request.vector is not None for one in self._members)
        factor = pending_factor(self.request) if both else 1.0
        with clock.step("statement"):
            rows = [(at, row) for at, own in enumerate(found) for row in own]
            fused = fuse(self._members[0].engine.connection, rows, self.request, depth, factor)
        longest = max((max(row.vector_rank or 0, row.text_rank or 0) for _, row in fused), default=0)
        return fused, longest < depth and all(ended(own, depth) for own in found)

    def _together(self, by_world: list[Candidates]) -> Candidates:
        """The candidates as one world would have them: a text that several have is one."""
        texts = [
            texts_of(one.engine.connection, found.rows) for one, found in zip(self._members, by_world, strict=True)
        ]
        about = [one.subjects(found) for one, found in zip(self._members, by_world, strict=True)]
        of_row: dict[Place, list[int]] = defaultdict(list)
        for at, found in enumerate(by_world):
            for candidate, place in enumerate(found.row.tolist()):
                of_row[at, place].append(candidate)
        rows: list[Fused] = []
        self._rows = []
        numbers: dict[object, int] = {}
        homes: dict[tuple[int, str], list[Place]] = defaultdict(list)
        best = [(-row.score, at, place) for at, found in enumerate(by_world) for place, row in enumerate(found.rows)]
        for _, at, place in sorted(best):
            row = by_world[at].rows[place]
            number = numbers.setdefault(texts[at][place] if row.term > 0 else (at, row.chunk), len(rows))
            if number == len(rows):
                rows.append(row._replace(chunk=at << _WORLD | row.chunk, text=texts[at][place]))
                self._rows.append((at, place))
            for candidate in of_row[at, place]:
                name = about[at][candidate]
                homes[number, f"{at} {name}" if name.startswith("_:") else name].append((at, candidate))
        self._by_world, self._homes = by_world, list(homes.values())
        row_of = np.array([number for number, _ in homes], dtype=np.intp)
        none = np.empty(0, dtype=np.int64)  # quads are their worlds'
        return Candidates(
            rows,
            row_of,
            np.array([_number(name) if name else 0 for _, name in homes], dtype=np.int64),
            np.array([row.score for row in rows], dtype=np.float64)[row_of],
            np.empty(0, dtype=np.intp),
            none,
            none,
        )

    def notes(self, found: Candidates) -> tuple[str, ...]:
        """Notes that hold of every world, and notes on the hits of all."""
        return noted([(one.noting, one.request, one.prepared.eligible) for one in self._members if one.noting], found)

    def facts(self, found: Candidates) -> GroupFacts:
        """Facts about a candidate from any of the worlds that hold it."""
        return GroupFacts(self._members, self._by_world, self._homes, self._rows)

    def shown(self, chosen: Sequence[int]) -> list[HitContents]:
        """The quads, texts and terms that hits of these candidates show, read from each world."""
        homes = [home for one in chosen for home in self._homes[one]]
        return [
            member.shown([candidate for world, candidate in homes if world == at])
            for at, member in enumerate(self._members)
        ]

    def hits(
        self, chosen: Sequence[int], scores: Sequence[float], shown: list[HitContents], *, explain: bool
    ) -> list[Hit]:
        """The hits of these candidates, in their order, each with the hits of the same text in other worlds."""
        score = {home: one for candidate, one in zip(chosen, scores, strict=True) for home in self._homes[candidate]}
        made: dict[Place, Hit] = {}
        for at, member in enumerate(self._members):
            own = {home: one for home, one in score.items() if home[0] == at}
            hits = member.hits([candidate for _, candidate in own], list(own.values()), shown[at], explain=explain)
            made |= {home: hit.replaced(world=self._names[at]) for home, hit in zip(own, hits, strict=True)}
        return [
            made[first].replaced(others=tuple(made[home] for home in others))
            for first, *others in (self._homes[candidate] for candidate in chosen)
        ]

    def explanation(self) -> Explanation:
        """The explanation of the search in all worlds together."""
        told = {name: member.explanation() for name, member in zip(self._names, self._members, strict=True)}
        each = list(told.values())
        vectors = {name: one for name, one in told.items() if one.plan is not None}
        compared = [one.compared for one in vectors.values()]
        eligible = [one.eligible for one in each if one.eligible is not None]
        notes = [note for note in each[0].notes if all(note in one.notes for one in each)]
        notes += [f"{name}: {note}" for name, one in told.items() for note in one.notes if note not in notes]
        if self.request.stages.related:
            notes.insert(0, "`related` is not available in a search of several worlds, so no related texts were added")
        return replace(
            each[0],
            mode="text" if not vectors else next(iter(vectors.values())).mode,
            plan=", ".join(sorted({one.plan for one in vectors.values() if one.plan})) or None,
            reason="; ".join(f"{name}: {one.reason}" for name, one in vectors.items()) or each[0].reason,
            eligible=sum(eligible) if eligible else None,
            compared=None if None in compared or not vectors else sum(filter(None, compared)),
            words=", ".join(sorted({one.words for one in each if one.words})) or None,
            depth=self._depth,
            notes=tuple(notes),
        )

    def facets(self) -> Facets:
        """The sums of the worlds' facets."""
        clock = Clock()
        with self.snapshot(clock):
            rows, _ = self._fused(self.request.candidates, clock)
            counted = [
                member.counted([row for world, row in rows if world == at]) for at, member in enumerate(self._members)
            ]
        sums: dict[str, Counter[str]] = defaultdict(Counter)
        for one in counted:
            for name, counts in (*((name, getattr(one, name)) for name in NAMES), *one.values.items()):
                sums[name].update(dict(counts))
        own = {name: ordered(sums.pop(name)) for name in NAMES}
        return Facets(**own, values={name: ordered(counts) for name, counts in sums.items()})


class GroupFacts:
    """`Facts` of several worlds, joined over the worlds that have a candidate."""

    def __init__(
        self,
        members: Sequence[WorldSearch],
        by_world: Sequence[Candidates],
        homes: Sequence[Sequence[Place]],
        rows: Sequence[Place],
    ) -> None:
        self._members = [member.facts(found) for member, found in zip(members, by_world, strict=True)]
        self._count = len(homes)
        self._rows = rows
        self._places: list[Indexes] = [np.zeros(len(found), dtype=np.intp) for found in by_world]  # of candidates, here
        for number, places in enumerate(homes):
            for at, candidate in places:
                self._places[at][candidate] = number

    def matching(self, pattern: str) -> Bools:
        """Which candidates have a subject that matches a pattern over ?subject in its world, [n]."""
        return self._any(lambda member: member.matching(pattern))

    def greatest(self, predicate: ox.NamedNode, read: Read) -> tuple[Floats, list[str]]:
        """Each candidate's greatest value under a predicate, NaN without one, [n], and the unreadable values."""
        values = np.full(self._count, np.nan)
        wrong: list[str] = []
        for member, places in zip(self._members, self._places, strict=True):
            if len(places):
                own, unread = member.greatest(predicate, read)
                np.fmax.at(values, places, own)
                wrong += unread
        return values, wrong

    def evergreen(self, decay: Decay) -> Bools:
        """Which candidates never age, [n]."""
        return self._any(lambda member: member.evergreen(decay))

    def names(self) -> Bools:
        """Which candidates are labels or aliases, [n]."""
        return self._any(lambda member: member.names())

    def embedded(self) -> Embedded:
        """The vectors of the rows, each of the world that it comes from."""
        tables = [member.embedded() for member in self._members]
        vectors = np.zeros((len(self._rows), max(table.vectors.shape[1] for table in tables)), np.float32)
        known = np.zeros(len(vectors), dtype=bool)
        for number, (at, place) in enumerate(self._rows):
            if tables[at].known[place]:
                vectors[number], known[number] = tables[at].vectors[place], True
        return Embedded(vectors, known)

    def texts(self, rows: Sequence[Fused]) -> list[str]:
        """The texts of rows, which they have."""
        return [as_text(row.text or "") for row in rows]

    def _any(self, read: Callable[[Any], Bools]) -> Bools:
        """Which candidates are true in any world."""
        found = np.zeros(self._count, dtype=bool)
        for member, places in zip(self._members, self._places, strict=True):
            found[places[read(member)]] = True
        return found


def _number(name: str) -> int:
    """A number for a subject that is the same in every world and every search: 62 bits of a digest."""
    return int.from_bytes(hashlib.blake2b(name.encode("utf-8", "replace"), digest_size=8).digest(), "big") >> 2
