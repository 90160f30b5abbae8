"""How alike names are, as sets of words: their order, punctuation, initials, abbreviations and slips of the pen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from worlds.curation.columns.lists import Lists, code, firsts, parts, place, spread, sums
from worlds.curation.columns.table import distinct
from worlds.curation.duplicates.spelling import Shares, Spellings
from worlds.quads.dictionary import Ids
from worlds.search.words import STOP_WORDS

_ALIKE = 0.72  # of two words that may be one
_INITIAL, _SHORTENED = 0.75, 0.85
_BLOCK = 200_000  # pairs of names at a time

SAME, WORDS, JOINED, INITIALS, ALIKE = range(5)  # ways in which two names are alike; of the first three nothing but
# order and punctuation tells them apart


@dataclass(frozen=True, slots=True)
class Likeness:
    """How alike pairs of names are: `score`, float64 [n] from 0 to 1, and `how`, int64 [n], one of the ways above."""

    score: Shares
    how: Ids

    def of(self, rows: Ids) -> Likeness:
        """The likeness of some of the pairs."""
        return Likeness(self.score[rows], self.how[rows])


class Names:
    """Compares names by their numbers, given as tuples of folded words; rare words count more."""

    def __init__(self, names: Sequence[tuple[str, ...]]) -> None:
        words: dict[str, int] = {}
        told = [[words.setdefault(word, len(words)) for word in dict.fromkeys(one)] for one in names]
        self._words = Lists.of(told)
        owners = np.repeat(np.arange(len(told)), self._words.counts)
        self._having = np.sort(code(owners, self._words.values))
        self._often = np.bincount(self._words.values, minlength=len(words))
        idle = np.array([word in STOP_WORDS for word in words], dtype=bool)
        telling = np.log2(1 + max(len(names), 1) / (1 + self._often))
        self._weights = np.maximum(telling, 1.0) * np.where(idle, 0.3, 1.0)
        self._telling = np.bincount(owners, self._weights[self._words.values], minlength=len(told))
        self._spelt = Spellings(list(words))
        self._numbers = np.array([any(map(str.isdigit, word)) for word in words], dtype=bool)
        numbered: dict[object, int] = {}
        self._as_said = np.array([numbered.setdefault(one, len(numbered)) for one in names], dtype=np.int64)
        self.as_words = np.array([numbered.setdefault(frozenset(one), len(numbered)) for one in names], dtype=np.int64)
        joined = ["".join(one) for one in names]
        self._joined = np.array([numbered.setdefault(one, len(numbered)) for one in joined], dtype=np.int64)
        self._initials = np.array(
            [
                [numbered.get(text, -1) for text in ("".join(w[0] for w in one), _without_idle(one))]
                if len(one) > 2
                else [-1, -1]
                for one in names
            ],
            dtype=np.int64,
        ).reshape(len(names), 2)
        self._alone = np.array([len(one) == 1 for one in names], dtype=bool)
        self._empty = np.array([not one for one in names], dtype=bool)
        self._texts = Spellings([" ".join(sorted(one)) for one in names])

    def compare(self, left: Ids, right: Ids) -> Likeness:
        """How alike names are, pair by pair."""
        blocks = [slice(start, start + _BLOCK) for start in range(0, len(left), _BLOCK)] or [slice(0, 0)]
        found = [self._compare(left[of], right[of]) for of in blocks]
        return Likeness(np.concatenate([one.score for one in found]), np.concatenate([one.how for one in found]))

    def _compare(self, left: Ids, right: Ids) -> Likeness:
        how = np.full(len(left), ALIKE)
        short = (left, right), (right, left)
        for one, many in short:
            initials = (self._joined[one][:, None] == self._initials[many]).any(axis=1) & self._alone[one]
            how[initials] = INITIALS
        how[self._joined[left] == self._joined[right]] = JOINED
        how[self.as_words[left] == self.as_words[right]] = WORDS
        how[self._as_said[left] == self._as_said[right]] = SAME
        score = np.choose(how, [1.0, 1.0, 0.98, 0.0, 0.0])
        rest = np.flatnonzero(how >= INITIALS)
        met = self._by_words(left[rest], right[rest])
        whole = self._texts.ratios(left[rest], right[rest])
        alike = np.minimum(np.maximum(met, 0.6 * whole + 0.4 * met), 0.97)
        score[rest] = np.where(how[rest] == INITIALS, np.maximum(met, 0.8), alike)
        none = self._empty[left] | self._empty[right]
        score[none], how[none] = 0.0, ALIKE
        return Likeness(score, how)

    def _by_words(self, left: Ids, right: Ids) -> Shares:
        """The share of what two names tell that they have in common."""
        total = np.maximum(self._telling[left] + self._telling[right], 1e-9)
        met = np.zeros(len(left))
        alone: list[tuple[Ids, Ids]] = []
        for one, other in ((left, right), (right, left)):
            owners, words = self._words.each(one)
            shared = place(code(other[owners], words), self._having) >= 0
            met += sums(owners[shared], len(left), self._weights[words[shared]])
            alone.append((owners[~shared], words[~shared]))
        owners, first, second = _each_with_each(alone[0], alone[1], len(left))
        alike = self._alike(first, second)
        some = np.flatnonzero(alike > 0)
        rows = some[np.lexsort((-alike[some], owners[some]))]
        while len(rows):  # of each pair of names the words that are most alike, then those of what is left
            best = rows[firsts(owners[rows])]
            met[owners[best]] += alike[best] * (self._weights[first[best]] + self._weights[second[best]])
            taken = np.zeros((2, len(left)), dtype=np.int64)
            taken[0][owners[best]], taken[1][owners[best]] = first[best], second[best]
            has = np.zeros(len(left), dtype=bool)
            has[owners[best]] = True
            at = owners[rows]
            rows = rows[has[at] & (first[rows] != taken[0][at]) & (second[rows] != taken[1][at])]
        found: Shares = met / total
        return found

    def _alike(self, first: Ids, second: Ids) -> Shares:
        """How alike words are."""
        codes = code(np.minimum(first, second), np.maximum(first, second))
        every = distinct(codes)
        found = np.zeros(len(every))
        for start in range(0, len(every), _BLOCK):
            one, other = parts(every[start : start + _BLOCK])
            alike = self._spelt.ratios(one, other)
            alike[alike < _ALIKE] = 0.0
            short = np.minimum(self._spelt.lengths[one], self._spelt.lengths[other])
            begins = self._spelt.begins(one, other)
            alike[begins & (short > 2)] = _SHORTENED
            alike[begins & (short == 1)] = _INITIAL
            alike[(self._numbers[one] | self._numbers[other]) & (one != other)] = 0.0  # another number, another name
            found[start : start + _BLOCK] = alike
        return found[np.searchsorted(every, codes)]


def _each_with_each(left: tuple[Ids, Ids], right: tuple[Ids, Ids], size: int) -> tuple[Ids, Ids, Ids]:
    """Each word of a pair's one side beside each of its other one: the pair, and both words."""
    owners, words = left
    counts = np.bincount(right[0], minlength=size)
    rows, places = spread((np.cumsum(counts) - counts)[owners], counts[owners])
    return owners[rows], words[rows], right[1][places]


def _without_idle(words: tuple[str, ...]) -> str:
    return "".join(word[0] for word in words if word not in STOP_WORDS)
