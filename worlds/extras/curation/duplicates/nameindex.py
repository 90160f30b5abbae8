"""The names of many entities in memory, by what near spellings have in common: made once, compared with one another.

Nothing is compared with everything. Two names are candidates for each other where they are made of the same words, are
each other's initials, or share most of their trigrams: of these, the least hashes are compared
(MinHash, Broder 1997; bands, Leskovec, Rajaraman, Ullman, Mining of Massive Datasets, section 3.4).
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
from worlds.extras.curation.columns.lists import Lists, code
from worlds.extras.curation.columns.quad_columns import distinct
from worlds.extras.entities.names import forms

_BANDS, _ROWS = 16, 2  # of hashes: two names with half of their trigrams in common share a band at 99 %
_SHARED = 40  # names that have a key in common, beyond which it tells nothing
_LONGEST = 120  # characters of a name that are compared
_INITIALS = range(3, 9)  # letters of an abbreviation

Words: TypeAlias = tuple[str, ...]


def plain(text: str) -> str:
    """The words of a normal name without accents."""
    if text.isascii():
        return text
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join(character for character in decomposed if not unicodedata.combining(character))


@lru_cache(maxsize=200_000)
def folded(name: str) -> tuple[str, ...]:
    """The words of a name as they are compared, in their order: "Armstrong, Neil" gives neil, armstrong."""
    return tuple(plain(forms(name[:_LONGEST])[-1]).split())


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
