"""Passages that come one after another, each by a speaker: the turns of conversations, which lean on the turn before.

A reply repeats few words of its question, and a question about a conversation names its speakers and its day. So a turn
counts with a part of the cosine and of the BM25 of the turn before it, with a part of the BM25 of all turns of its
group, with the words of its day, and with a bonus where the question names its speaker. Nothing is embedded for it, and
what is shown stays the turn.
"""

from __future__ import annotations

import datetime
import json
import math
import re
from collections.abc import Sequence as Several
from dataclasses import dataclass

import numpy as np
import pyoxigraph as ox

from worlds.core.quads.dictionary import Dictionary, Ids
from worlds.core.search.stages import Floats, Indexes
from worlds.sql import statements
from worlds.sql.bound_values import integers
from worlds.sql.connection import Connection, Row

# Between what suits two of the conversations of benchmarks/conversations and others; docs/memory.md has the figures.
_VECTOR, _WORDS, _GROUP, _SPEAKER = 0.25, 0.5, 0.2, 0.3

_SQL = statements("stages.sql")
_words = re.compile(r"\w+").findall


@dataclass(frozen=True)
class Sequence:
    """The predicates of texts that come in a sequence, and of their group, time and speaker.

    `named` are the speakers that a question names.
    """

    text: ox.NamedNode
    group: ox.NamedNode
    time: ox.NamedNode
    speaker: ox.NamedNode
    named: frozenset[str] = frozenset()


class Turns:
    """The passages of one world that come in a sequence. A text that was said several times has several rows."""

    def __init__(self, connection: Connection, dictionary: Dictionary, sequence: Sequence) -> None:
        names = ("text", "group", "time", "speaker")
        ids = dictionary.find([getattr(sequence, name) for name in names])
        chunks, groups, times, speakers = connection.rows(
            _SQL["turns"], _SQL["turns"].bind(**dict(zip(names, ids, strict=True)))
        )[0]
        self._chunks: Ids = integers(chunks)
        _, self._group = np.unique(integers(groups), return_inverse=True)
        self._follows: Indexes = np.flatnonzero(self._group[1:] == self._group[:-1]) + 1
        days: dict[str, int] = {}
        self._day = np.array([days.setdefault(time[:10], len(days)) for time in json.loads(times)], dtype=np.intp)
        self._days = [frozenset(_day_words(day)) for day in days]
        self._speakers = np.array(json.loads(speakers), dtype=object)
        sizes = np.bincount(self._group)
        # As BM25 counts lengths. Of a group of one there is nothing to tell.
        self._sizes: Floats = np.where(sizes > 1, 0.25 + 0.75 * sizes / (sizes.mean() if len(sizes) else 1), np.inf)

    def __len__(self) -> int:
        return len(self._chunks)

    def dated(self, question: str) -> frozenset[str]:
        """The words of a question that name the day of a turn: weekdays, months, years, and days beside such a word."""
        asked = frozenset(_words(question))
        found = asked & frozenset().union(*self._days)
        return found if any(word.isalpha() for word in found) else frozenset(one for one in found if len(one) == 4)

    def words(self, scores: Floats, eligible: Ids | None, question: str) -> Floats:
        """BM25 of each chunk, [chunk id], lower is better, with the contribution of its sequence."""
        own = _only(scores, eligible)
        turns = np.append(own, np.zeros(max(int(self._chunks.max(initial=0)) + 1 - len(own), 0)))
        each = turns[self._chunks]
        gained = np.zeros(len(each))
        gained[self._follows] = _WORDS * each[self._follows - 1]
        groups = np.bincount(self._group, each) / self._sizes
        if groups.min(initial=0) < 0:
            gained += _GROUP * (own.min() / groups.min() * groups)[self._group]
        gained -= self._day_gains(question)[self._day]
        most = np.zeros(len(turns))
        np.minimum.at(most, self._chunks, gained)
        return _only(own + most[: len(own)], eligible)

    def _day_gains(self, question: str) -> Floats:
        """The gain of each day for the question's words, by BM25 of a single word in a text of average length."""
        gains = np.zeros(len(self._days))
        count = len(self._chunks)
        for word in self.dated(question):
            held = np.array([word in words for words in self._days])
            having = held[self._day].sum()
            gains += held * math.log1p((count - having + 0.5) / (having + 0.5))
        return gains

    def near(
        self, nearest: Several[Row], named: frozenset[str], depth: int, others: Several[Row]
    ) -> list[tuple[int, float]]:
        """The best `depth` chunks by cosine, with the contribution of their neighbours in a sequence, best first.

        `nearest` are chunks with their cosines, best first. Those of `others`, (chunk, value), stay, too. `named` are
        the speakers that the question names.
        """
        if not nearest:
            return []
        chunks = np.array([chunk for chunk, _ in nearest], dtype=np.int64)
        cosines = np.array([cosine for _, cosine in nearest])
        size = int(max(chunks.max(), self._chunks.max(initial=0))) + 1
        own = np.full(size, cosines.min())
        own[chunks] = cosines
        before = np.full(size, -np.inf)
        np.maximum.at(before, self._chunks[self._follows], own[self._chunks[self._follows - 1]])
        before[np.isneginf(before)] = cosines.mean()
        found = (own + _VECTOR * before) / (1 + _VECTOR)
        span = cosines[0] - cosines[min(depth, len(cosines)) - 1]
        found[np.unique(self._chunks[np.isin(self._speakers, list(named))])] += _SPEAKER * span
        order = np.argsort(-found[chunks], kind="stable")
        kept = (np.arange(len(order)) < depth) | np.isin(chunks[order], [chunk for chunk, _ in others])
        chosen = chunks[order[kept]]
        return list(zip(chosen.tolist(), found[chosen].tolist(), strict=True))


def _only(scores: Floats, eligible: Ids | None) -> Floats:
    """The scores, [chunk id], 0 where a chunk is not eligible."""
    if eligible is None:
        return scores
    found = np.zeros(len(scores))
    kept = eligible[: np.searchsorted(eligible, len(scores))]
    found[kept] = scores[kept]
    return found


def _day_words(day: str) -> list[str]:
    """The words of a day, 2026-05-02: its weekday, day, month and year in English; none for a text that is no day."""
    try:
        read = datetime.date.fromisoformat(day)
    except ValueError:
        return []
    return f"{read:%A} {read.day} {read:%B %Y}".split()
