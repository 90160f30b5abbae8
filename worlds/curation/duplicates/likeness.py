"""How alike two names are, as sets of words: their order, punctuation, initials, abbreviations and slips of the pen."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache

from worlds.search.words import STOP_WORDS

_ALIKE = 0.72  # of two words that may be one
_INITIAL, _SHORTENED = 0.75, 0.85


@dataclass(frozen=True, slots=True)
class Likeness:
    """`score`, from 0 to 1, and `how`: "same", "words" (in another order), "joined", "initials" or "alike"."""

    score: float
    how: str

    @property
    def exact(self) -> bool:
        """Whether nothing but order and punctuation tells them apart."""
        return self.how in ("same", "words", "joined")


@lru_cache(maxsize=500_000)
def ratio(one: str, other: str) -> float:
    """How alike two words or short texts are written, from 0 to 1."""
    if one == other:
        return 1.0
    longest = max(len(one), len(other))
    if min(len(one), len(other)) < 0.5 * longest:
        return 0.0
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    return matcher.ratio() if matcher.quick_ratio() >= 0.6 else 0.0


def _word(one: str, other: str) -> float:
    if one == other:
        return 1.0
    short, long = sorted((one, other), key=len)
    if long.startswith(short):
        if len(short) == 1:
            return _INITIAL
        if len(short) > 2:
            return _SHORTENED
    if short.isdigit() or long.isdigit():  # another number is another name
        return 0.0
    alike = ratio(short, long)
    return alike if alike >= _ALIKE else 0.0


class Names:
    """Compares names, given as tuples of folded words; rare words count more."""

    def __init__(self, often: Mapping[str, int], total: int) -> None:
        self._often = often
        self._total = max(total, 1)
        self._weights: dict[str, float] = {}

    def weight(self, word: str) -> float:
        """How much a word tells, in bits."""
        known = self._weights.get(word)
        if known is None:
            known = math.log2(1 + self._total / (1 + self._often.get(word, 0)))
            known = max(known, 1.0) * (0.3 if word in STOP_WORDS else 1.0)
            self._weights[word] = known
        return known

    def compare(self, one: tuple[str, ...], other: tuple[str, ...]) -> Likeness:
        """How alike two names are."""
        if not one or not other:
            return Likeness(0.0, "alike")
        if one == other:
            return Likeness(1.0, "same")
        if set(one) == set(other):
            return Likeness(1.0, "words")
        joined = "".join(one), "".join(other)
        if joined[0] == joined[1]:
            return Likeness(0.98, "joined")
        score = self._words(one, other)
        for short, long in ((one, other), (other, one)):
            if len(short) == 1 and len(long) > 2 and _initials(short[0], long):
                return Likeness(max(score, 0.8), "initials")
        whole = ratio(" ".join(sorted(one)), " ".join(sorted(other)))
        return Likeness(min(max(score, 0.6 * whole + 0.4 * score), 0.97), "alike")

    def _words(self, one: tuple[str, ...], other: tuple[str, ...]) -> float:
        """The share of what both names tell that they have in common."""
        left, right = set(one), set(other)
        shared = left & right
        met = 2 * sum(map(self.weight, shared))
        total = sum(map(self.weight, left)) + sum(map(self.weight, right))
        rest = sorted(right - shared)
        for word in sorted(left - shared):
            best = max(rest, key=lambda candidate: _word(word, candidate), default=None)
            if best is not None and (alike := _word(word, best)) > 0:
                rest.remove(best)
                met += alike * (self.weight(word) + self.weight(best))
        return met / total


def _initials(short: str, long: tuple[str, ...]) -> bool:
    return short in ("".join(word[0] for word in long), "".join(word[0] for word in long if word not in STOP_WORDS))
