"""How alike texts are written: the index of names, and the longest common subsequence of many pairs at once.

Each text is a row of bits, and a character of the other text is one step of all pairs (Hyyrö 2004, Bit-parallel
LCS-length computation revisited).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TypeAlias
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from worlds.core.quads.dictionary import Ids
from worlds.core.search.words import STOP_WORDS
from worlds.extras.curation.columns.quad_columns import Lists, code, distinct
from worlds.extras.entities.names import forms

_LONGEST = 128  # characters that are compared: two machine words
_BLOCK = 1 << 16  # pairs at a time
_TABLE = 1 << 22  # bits of texts by character
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)

Shares = NDArray[np.float64]
_BANDS, _ROWS = 16, 2  # of hashes: two names with half of their trigrams in common share a band at 99 %
_SHARED = 40  # names that have a key in common, beyond which it tells nothing
_LONGEST_NAME = 120  # characters of a name that are compared
_INITIALS = range(3, 9)  # letters of an abbreviation
Words: TypeAlias = tuple[str, ...]


class Spellings:
    """Texts that are compared by their numbers."""

    def __init__(self, texts: Sequence[str]) -> None:
        cut = [text[:_LONGEST] for text in texts] or [""]
        self.lengths = np.array([len(text) for text in cut], dtype=np.int64)
        width = max(int(self.lengths.max()), 1)
        shown = np.array(cut, dtype=f"U{width}").view(np.uint32).reshape(len(cut), width)
        numbers = np.zeros(int(shown.max()) + 1, dtype=np.int32)  # of characters; 0 is where a text has ended
        numbers[shown] = 1
        numbers[0] = 0
        numbers = np.cumsum(numbers, dtype=np.int32) * (numbers > 0)
        self._codes = numbers[shown]
        self._characters = int(numbers.max()) + 1
        letters = np.uint64(1) << (self._codes % 64).astype(np.uint64)
        letters[self._codes == 0] = 0
        self._letters = np.bitwise_or.reduce(letters, axis=1)

    def ratios(self, left: Ids, right: Ids) -> Shares:
        """Twice the characters that two texts have in common, in their order, by all they have; 0 if far from it."""
        found = np.zeros(len(left))
        longer = np.where(self.lengths[left] >= self.lengths[right], left, right)
        shorter = left + right - longer
        found[left == right] = 1.0
        wanted = np.flatnonzero((left != right) & (2 * self.lengths[shorter] >= self.lengths[longer]))
        wanted = wanted[np.lexsort((longer[wanted], self.lengths[shorter[wanted]]))]
        block = max(min(_BLOCK, _TABLE // self._characters), 64)
        for start in range(0, len(wanted), block):
            of = wanted[start : start + block]
            total = self.lengths[left[of]] + self.lengths[right[of]]
            found[of] = 2 * self._common(longer[of], shorter[of]) / np.maximum(total, 1)
        return found

    def may(self, left: Ids, right: Ids, least: float) -> NDArray[np.bool_]:
        """Whether two texts may have a ratio of at least so much, or one begin the other, by their letters."""
        one, other = self._letters[left], self._letters[right]
        most = (1 - least) * (self.lengths[left] + self.lengths[right])
        near = np.bitwise_count(one ^ other) <= most
        near &= np.abs(self.lengths[left] - self.lengths[right]) <= most
        within = ((one & ~other) == 0) | ((other & ~one) == 0)
        found: NDArray[np.bool_] = near | (within & (self._codes[left, 0] == self._codes[right, 0]))
        return found

    def _common(self, longer: Ids, shorter: Ids) -> Ids:
        """The lengths of the longest common subsequences of a block."""
        texts, places = np.unique(longer, return_inverse=True)
        width = int(self.lengths[texts].max())
        steps = int(self.lengths[shorter].max())
        rows = np.arange(len(texts))
        common = np.zeros(len(longer), dtype=np.int64)
        states: list[NDArray[np.uint64]] = []
        tables: list[NDArray[np.uint64]] = []
        for limb in range(0, width, 64):
            table = np.zeros((len(texts), self._characters), dtype=np.uint64)
            for at in range(limb, min(limb + 64, width)):
                table[rows, self._codes[texts, at]] |= np.uint64(1) << np.uint64(at - limb)
            table[:, 0] = 0
            tables.append(table)
            states.append(np.full(len(longer), _ALL))
        for step in range(steps):
            character = self._codes[shorter, step]
            carry = None
            for limb, table in enumerate(tables):
                state = states[limb]
                met = state & table[places, character]
                added = state + met
                over = added < state
                if carry is not None:
                    added += carry
                    over |= (added == 0) & carry.astype(bool)
                states[limb] = added | (state - met)
                carry = over.astype(np.uint64)
        for limb, state in enumerate(states):
            bits = np.clip(self.lengths[longer] - 64 * limb, 0, 64)
            common += bits - np.bitwise_count(state & _low(bits))
        return common

    def begins(self, left: Ids, right: Ids) -> NDArray[np.bool_]:
        """Whether the shorter text is the beginning of the longer one."""
        first, second = self._codes[left], self._codes[right]
        least = np.minimum(self.lengths[left], self.lengths[right])
        found: NDArray[np.bool_] = np.all(
            (first == second) | (np.arange(first.shape[1])[None, :] >= least[:, None]), axis=1
        )
        return found


def _low(bits: Ids) -> NDArray[np.uint64]:
    """Numbers of which so many low bits are set."""
    shift = (64 - bits).astype(np.uint64)
    return np.where(bits == 0, np.uint64(0), _ALL >> np.minimum(shift, np.uint64(63)))


def plain(text: str) -> str:
    """The words of a normal name without accents."""
    if text.isascii():
        return text
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join(character for character in decomposed if not unicodedata.combining(character))


@lru_cache(maxsize=200_000)
def folded(name: str) -> tuple[str, ...]:
    """The words of a name as they are compared, in their order: "Armstrong, Neil" gives neil, armstrong."""
    return tuple(plain(forms(name[:_LONGEST_NAME])[-1]).split())


class NameIndex:
    """Distinct names, each under a number, in the order in which they are given."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = list(names)
        self.words = [folded(name) for name in names]
        numbered: dict[object, int] = {}
        exact = Lists.of([[numbered.setdefault(key, len(numbered)) for key in _exact(told)] for told in self.words])
        short = Lists.of([[numbered.setdefault(key, len(numbered)) for key in _short(told)] for told in self.words])
        bands = np.unique(_bands(self.words).ravel(), return_inverse=True)[1]
        self._keys = [
            (Lists.by(keys, np.repeat(np.arange(len(names)), counts), int(keys.max(initial=0)) + 1), most)
            for keys, counts, most in (
                (exact.values, exact.counts, _SHARED * 5),
                (short.values, short.counts, _SHARED),
                (bands, np.full(len(names), _BANDS), _SHARED),
            )
        ]

    def pairs(self) -> Ids:
        """Codes of each two of the names that may mean one thing, the lesser number first."""
        found = [code(*keys.pairs(most)[1:]) for keys, most in self._keys]
        return distinct(np.concatenate(found))


def _exact(told: Words) -> Iterable[object]:
    """Yield the key of a name that names of the same words share."""
    if told:
        yield ("words", *sorted(set(told)))
        yield "".join(told)


def _short(told: Words) -> Iterable[object]:
    """Yield the key that a name and its initials share."""
    joined = "".join(told)
    if len(told) == 1 and len(joined) in _INITIALS:
        yield joined
    elif len(told) > 2:
        yield from {"".join(word[0] for word in told), "".join(word[0] for word in told if word not in STOP_WORDS)}


def _bands(told: Sequence[tuple[str, ...]]) -> NDArray[np.int64]:
    """The bands of least hashes of names (MinHash), int64 [n, 16]; bands of different places never agree."""
    grams: list[int] = []
    starts: list[int] = []
    for one in told:
        starts.append(len(grams))
        text = f"  {' '.join(sorted(one))} "
        grams += [crc32(text[at : at + 3].encode()) for at in range(len(text) - 2)]
    if not starts:
        return np.empty((0, _BANDS), dtype=np.int64)
    values = np.array(grams, dtype=np.uint64)
    chance = np.random.default_rng(1)
    found = np.empty((len(starts), _BANDS), dtype=np.uint64)
    for band in range(_BANDS):
        code = np.full(len(starts), band + 1, dtype=np.uint64)
        for _ in range(_ROWS):
            factor, add = (np.uint64(one) for one in chance.integers(1, 2**61, size=2))
            hashed = values * (factor | np.uint64(1)) + add
            least = np.minimum.reduceat(hashed ^ (hashed >> np.uint64(29)), starts)
            code = (code ^ least) * np.uint64(0x9E3779B97F4A7C15)
        found[:, band] = code
    return found.view(np.int64)
