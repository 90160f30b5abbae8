"""How alike names are, as sets of words: their order, punctuation, initials, abbreviations and slips of the pen."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from worlds.core.quads.dictionary import Ids
from worlds.core.search.words import STOP_WORDS
from worlds.extras.curation.columns.quad_columns import (
    Lists,
    Mask,
    code,
    distinct,
    firsts,
    numbers,
    parts,
    place,
    spread,
    sums,
)
from worlds.extras.curation.duplicates.string_similarity import Shares, Spellings

_ALIKE = 0.72  # of two words that may be one
_SYSTEMATIC = 3  # words that two names differ in, at most, where more names may differ in the same way
_INITIAL, _SHORTENED = 0.75, 0.85
_BLOCK = 20_000  # pairs of names at a time

SAME, WORDS, JOINED, INITIALS, ALIKE = range(5)  # ways in which two names are alike; of the first three nothing but
# order and punctuation tells them apart

APART = ("numbers", "more", "other", "known", "onset", "code", "signs", "order")
"""How names tell things apart; see `NameSimilarity.apart`."""
NUMBERS, MORE, OTHER, KNOWN, ONSET, CODE, SIGNS, ORDER = range(len(APART))
_figures = re.compile(r"\d+(?:[.,]\d+)*").findall
_letters = re.compile(r"\b[A-Z]\b(?!\.)").findall
_unsigned = re.compile(r"[\w\s,'’\u2010-\u2015-]|(?<=\w)\.").sub  # what is no sign: a sign tells "C" from "C++"
_tokens = re.compile(r"\w+").findall
_SHOUTED = 0.3  # share of words in capitals, beyond which capitals mean no code


@dataclass(frozen=True, slots=True)
class NameSimilarity:
    """How alike pairs of names are: `score`, float64 [n] from 0 to 1, and `how`, int64 [n], one of the ways above.

    `apart`, float64 [n, 8], is how they tell things apart: their numbers differ ("1.12 mm", "11.2 mm"), or letters that
    stand alone ("class A"); the share of the words that one has and the other lacks ("Old town"), and the share that
    both lack of the other's ("methyl", "acetate"); of words that are spelt alike, how often the rarer stands in other
    names, so that it is no slip of the pen ("ethyl"), in powers of two; whether their first letters differ
    ("Incohesive"); whether they are codes ("PPTX"); whether other signs stand between the words ("C++"); and whether
    only the order tells, and none has the first words last.
    """

    score: Shares
    how: Ids
    apart: Shares

    @classmethod
    def none(cls, size: int) -> NameSimilarity:
        """The likeness of names that have nothing in common."""
        return cls(np.zeros(size), np.full(size, ALIKE), np.zeros((size, len(APART))))

    @classmethod
    def joined(cls, given: Sequence[NameSimilarity]) -> NameSimilarity:
        """The likenesses of several, one after another."""
        score, how, apart = zip(*(one.columns for one in given), strict=True)
        return cls(np.concatenate(score), np.concatenate(how), np.concatenate(apart))

    @property
    def columns(self) -> tuple[Shares, Ids, Shares]:
        """The three arrays."""
        return self.score, self.how, self.apart

    def put(self, rows: Ids, other: NameSimilarity) -> None:
        """Write another one's over some of the pairs."""
        self.score[rows], self.how[rows], self.apart[rows] = other.columns

    def of(self, rows: Ids) -> NameSimilarity:
        """The likeness of some of the pairs."""
        return NameSimilarity(self.score[rows], self.how[rows], self.apart[rows])


class Names:
    """Compares names by their numbers; rare words count more."""

    def __init__(self, texts: Sequence[str], names: Sequence[tuple[str, ...]]) -> None:
        """`texts` are the names as they are written, `names` their folded words."""
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
        self._first = np.array([ord(word[0]) for word in words], dtype=np.int64)
        self._salt = np.random.default_rng(1).integers(1, 2**40, size=max(len(words), 1)).astype(np.float64)
        self._figures = numbers(tuple(sorted(one.replace(",", "") for one in _figures(text))) for text in texts)
        # Letters that stand alone, as in "class A"; 0 for none.
        self._letters = numbers([(), *(tuple(sorted(_letters(text))) for text in texts)])[1:]
        self._signs = numbers(_unsigned("", text) for text in texts)
        self._names = names
        told_places = {word for word in words if _told(word)}
        self._drawn = numbers(tuple(word for word in one if word in told_places) for one in names)
        self._rest = numbers(tuple(word for word in one if word not in told_places) for one in names)
        self._codes = self._capitals(texts, words)
        self._spellings = list(words)
        self._numbers = np.array([any(map(str.isdigit, word)) for word in words], dtype=bool)
        numbered: dict[Hashable, int] = {}
        self._as_said = numbers(names, numbered)
        self.as_words = numbers(((len(one), *sorted(one)) for one in names), numbered)
        self._joined = numbers(("".join(one) for one in names), numbered)
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

    @staticmethod
    def _capitals(texts: Sequence[str], words: Mapping[str, int]) -> Mask:
        """Which words are codes: written in capitals, most often, where most words are not."""
        counts = np.zeros((2, len(words) + 1), dtype=np.int64)
        for text in texts:
            for token in _tokens(text):
                counts[int(len(token) > 1 and token.isupper()), words.get(token.casefold(), -1)] += 1
        seldom = counts[1].sum() <= _SHOUTED * counts.sum()
        found: Mask = (counts[1] > counts[0])[:-1] & seldom
        return found

    def compare(self, left: Ids, right: Ids) -> NameSimilarity:
        """The similarity of names, pair by pair."""
        blocks = [slice(start, start + _BLOCK) for start in range(0, len(left), _BLOCK)] or [slice(0, 0)]
        found = [self._compare(left[of], right[of]) for of in blocks]
        return NameSimilarity.joined(found)

    def differences(self, left: Ids, right: Ids) -> Ids:
        """Equal numbers for pairs of names with the same difference: "X road", "X roads" as "Y ford", "Y fords"."""
        own: list[Shares] = []
        lone: list[tuple[Ids, Ids]] = []
        for one, other in ((left, right), (right, left)):
            owners, words = self._words.each(one)
            apart = place(code(other[owners], words), self._having) < 0
            lone.append((owners[apart], words[apart]))
            own.append(sums(owners[apart], len(left), self._salt[words[apart]]))
        few = (sums(lone[0][0], len(left)) <= _SYSTEMATIC) & (sums(lone[1][0], len(left)) <= _SYSTEMATIC)
        lone = [(owners[few[owners]], words[few[owners]]) for owners, words in lone]
        owners, first, second = _each_with_each(lone[0], lone[1], len(left))
        salts: dict[object, float] = {}
        chance = np.random.default_rng(2)
        for owner, one, other in zip(owners.tolist(), first.tolist(), second.tolist(), strict=True):
            short, long = sorted((self._spellings[one], self._spellings[other]), key=len)
            if len(short) > 1 and (long.startswith(short) or long.endswith(short)):
                affix = (
                    long.startswith(short),
                    long.removeprefix(short) if long.startswith(short) else long.removesuffix(short),
                )
                if affix not in salts:
                    salts[affix] = float(chance.integers(1, 2**40))
                own[0][owner] += salts[affix] / 2 - self._salt[one]
                own[1][owner] += salts[affix] / 2 - self._salt[other]
        less, more = np.minimum(*own), np.maximum(*own)
        return (
            less.astype(np.int64).view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
            ^ more.astype(np.int64).view(np.uint64)
        ).view(np.int64)

    def _compare(self, left: Ids, right: Ids) -> NameSimilarity:
        how = np.full(len(left), ALIKE)
        short = (left, right), (right, left)
        for one, many in short:
            initials = (self._joined[one][:, None] == self._initials[many]).any(axis=1) & self._alone[one]
            how[initials] = INITIALS
        figures = self._figures[left] == self._figures[right]
        figures &= (self._drawn[left] == self._drawn[right]) | (self._rest[left] != self._rest[right])
        how[(self._joined[left] == self._joined[right]) & figures] = JOINED
        how[(self.as_words[left] == self.as_words[right]) & figures] = WORDS
        how[self._as_said[left] == self._as_said[right]] = SAME
        turned = np.flatnonzero(how == WORDS)
        whose = zip(left[turned].tolist(), right[turned].tolist(), strict=True)
        turned = turned[np.array([not _rotated(self._names[one], self._names[other]) for one, other in whose], bool)]
        how[turned] = ALIKE
        score = np.choose(how, [1.0, 1.0, 0.98, 0.0, 0.0])
        rest = np.flatnonzero(how >= INITIALS)
        apart = np.zeros((len(left), len(APART)))
        met, apart[rest] = self._by_words(left[rest], right[rest])
        lettered = (self._letters[left] > 0) & (self._letters[right] > 0)
        apart[rest, NUMBERS] = (~figures | (lettered & (self._letters[left] != self._letters[right])))[rest]
        apart[turned, ORDER] = 1.0
        apart[:, SIGNS] = self._signs[left] != self._signs[right]
        whole = self._texts.ratios(left[rest], right[rest])
        alike = np.minimum(np.maximum(met, 0.6 * whole + 0.4 * met), 0.97)
        score[rest] = np.where(how[rest] == INITIALS, np.maximum(met, 0.8), alike)
        none = self._empty[left] | self._empty[right]
        score[none], how[none], apart[none] = 0.0, ALIKE, 0.0
        apart[how == INITIALS] = 0.0
        return NameSimilarity(score, how, apart)

    def _by_words(self, left: Ids, right: Ids) -> tuple[Shares, Shares]:
        """The share of distinctive words that two names have in common, and the ways in which they differ."""
        total = np.maximum(self._telling[left] + self._telling[right], 1e-9)
        met = np.zeros(len(left))
        apart = np.zeros((len(left), len(APART)))
        alone: list[tuple[Ids, Ids]] = []
        lacking: list[Shares] = []
        for one, other in ((left, right), (right, left)):
            owners, words = self._words.each(one)
            shared = place(code(other[owners], words), self._having) >= 0
            met += sums(owners[shared], len(left), self._weights[words[shared]])
            alone.append((owners[~shared], words[~shared]))
            lacking.append(sums(owners[~shared], len(left), self._weights[words[~shared]]))
        owners, first, second = _each_with_each(alone[0], alone[1], len(left))
        may = self._spelt.may(first, second, _ALIKE)
        owners, first, second = owners[may], first[may], second[may]
        alike = self._alike(first, second)
        some = np.flatnonzero(alike > 0)
        rows = some[np.lexsort((-alike[some], owners[some]))]
        while len(rows):  # of each pair of names the words that are most alike, then those of what is left
            best = rows[firsts(owners[rows])]
            at, one, other = owners[best], first[best], second[best]
            met[at] += alike[best] * (self._weights[one] + self._weights[other])
            lacking[0][at] -= self._weights[one]
            lacking[1][at] -= self._weights[other]
            spelt = ~self._spelt.begins(one, other)
            known = np.log2(np.minimum(self._often[one], self._often[other]))
            apart[at, KNOWN] = np.maximum(apart[at, KNOWN], known * spelt)
            apart[at, ONSET] += (self._first[one] != self._first[other]) & spelt
            lettered = np.minimum(self._spelt.lengths[one], self._spelt.lengths[other]) > 1
            apart[at, CODE] += lettered & (self._codes[one] | self._codes[other])
            taken = np.zeros((2, len(left)), dtype=np.int64)
            taken[0][owners[best]], taken[1][owners[best]] = first[best], second[best]
            has = np.zeros(len(left), dtype=bool)
            has[owners[best]] = True
            of = owners[rows]
            rows = rows[has[of] & (first[rows] != taken[0][of]) & (second[rows] != taken[1][of])]
        lone = np.maximum(lacking, 0.0) / np.maximum([self._telling[left], self._telling[right]], 1e-9)
        apart[:, MORE], apart[:, OTHER] = lone.max(axis=0), lone.min(axis=0)
        return met / total, apart

    def _alike(self, first: Ids, second: Ids) -> Shares:
        """The similarity of two words, from 0 to 1, for each pair `first[i]`, `second[i]`."""
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


def _told(word: str) -> bool:
    """Whether a word is a number or a letter, as in codes: "S:1 L:2" is not "S:2 L:1"."""
    return len(word) == 1 or any(map(str.isdigit, word))


def _rotated(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether the one's first words are the other's last ones."""
    return any(one[at:] + one[:at] == other for at in range(len(one)))


def _without_idle(words: tuple[str, ...]) -> str:
    return "".join(word[0] for word in words if word not in STOP_WORDS)
