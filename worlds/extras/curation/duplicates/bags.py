"""The words of entities, which count the more, the fewer entities have them: the nearest, and the words of two."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from worlds.core.quads.dictionary import Ids
from worlds.extras.curation.columns.quad_columns import Lists, Mask, code, distinct, firsts, place, spread, sums
from worlds.extras.curation.duplicates.string_similarity import Shares, plain

_READ = 1_500  # characters of a text whose words are read
_CODE = 4  # characters of a word with figures that is a code
_COMPARED = 300  # entities with a word in common that one is compared with, those with its rarest words first
_BLOCK = 1_000  # entities at a time
_PACKED, _SCALE = 20, 2048  # bits that the weight of a word takes, and the steps of its unit
_RARE = 3  # entities on average that a rare code belongs to

_words = re.compile(r"\w+").findall
_chunks = re.compile(r"[^\s/,;()\[\]|]+").findall
_signs = re.compile(r"[\W_]+").sub
_figure = re.compile(r"\d").search


def words(text: str) -> Iterable[str]:
    """Yield the words of a text, and its codes without punctuation: "PS-LX350H" is also "pslx350h"."""
    told = plain(text[:_READ].casefold())
    yield from _words(told)
    for chunk in _chunks(told):
        if not chunk.isalnum() and _figure(chunk) and len(glued := _signs("", chunk)) >= _CODE:
            yield glued


class WordNumbers:
    """Numbers of words, and which of them are codes."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def of(self, texts: Iterable[str]) -> Lists:
        """The words of each text, each word once."""
        numbers = self._numbers
        return Lists.of([[numbers.setdefault(word, len(numbers)) for word in set(words(text))] for text in texts])

    @property
    def codes(self) -> Mask:
        """The words that have figures and are long enough to be codes."""
        return np.array([len(word) >= _CODE and bool(_figure(word)) for word in self._numbers], dtype=bool)


class Bags:
    """The words of each entity."""

    def __init__(self, entities: Ids, told: Ids, size: int) -> None:
        """`told` are the numbers of words, each beside its entity's place among `size`."""
        self._codes = distinct(code(entities, told))
        owners, held = self._codes >> 32, self._codes & 0xFFFFFFFF
        self.words = Lists.by(owners, held, size)
        self.often = np.bincount(held, minlength=int(held.max(initial=0)) + 1)
        self.bits = np.log2(1 + size / np.maximum(self.often, 1))
        self._bits = sums(owners, size, self.bits[held])
        self._lengths = np.sqrt(np.maximum(sums(owners, size, self.bits[held] ** 2), 1e-9))

    def shared(self, a: Ids, b: Ids) -> tuple[Ids, Ids]:
        """The words that pairs of entities have in common, and the pair that each is of."""
        owners, held = self.words.each(a)
        both = place(code(b[owners], held), self._codes) >= 0
        return owners[both], held[both]

    def compare(self, a: Ids, b: Ids, codes: Mask) -> tuple[Shares, ...]:
        """How the words of pairs agree, float64 [n] each: their cosine by bits, the share of the bits of the one with
        fewer that the other has, the bits of the rarest common word and of the rarest common code, and whether each
        has a rare code and they share none."""
        owners, held = self.shared(a, b)
        bits = self.bits[held]
        cosine = sums(owners, len(a), bits**2) / (self._lengths[a] * self._lengths[b])
        contained = sums(owners, len(a), bits) / np.maximum(np.minimum(self._bits[a], self._bits[b]), 1e-9)
        rarest = np.zeros((2, len(a)))
        np.maximum.at(rarest[0], owners, bits)
        np.maximum.at(rarest[1], owners, bits * codes[held])
        apart = self._coded(a, codes) & self._coded(b, codes) & (rarest[1] == 0)
        return cosine, contained, *rarest, apart.astype(float)

    def _coded(self, entities: Ids, codes: Mask) -> Mask:
        """Which entities have a rare code."""
        owners, held = self.words.each(entities)
        return sums(owners, len(entities), (codes[held] & (self.often[held] <= _RARE)).astype(float)) > 0

    def nearest(self, left: Ids, right: Ids, most: int) -> Ids:
        """Codes of each of the `left` with the nearest of the `right` by their cosine, at most so many."""
        size = len(self.words.counts)
        of = np.zeros(size, dtype=bool)
        of[right] = True
        owners, held = self.words.each(np.flatnonzero(of))
        bearers = Lists.by(held, np.flatnonzero(of)[owners], len(self.often))
        found = [np.empty(0, dtype=np.int64)]
        for start in range(0, len(left), _BLOCK):
            block = left[start : start + _BLOCK]
            owners, held = self.words.each(block)
            counts = bearers.counts[held]
            order = np.lexsort((counts, owners))
            owners, held, counts = owners[order], held[order], counts[order]
            first = np.flatnonzero(firsts(owners))
            before = np.cumsum(counts) - counts
            before -= np.repeat(before[first], np.diff(np.append(first, len(owners))))
            few = before + counts <= _COMPARED
            owners, held = owners[few], held[few]
            rows, places = spread(bearers.starts[held], bearers.counts[held])
            # A pair of places and the bits of one word are one number, since numbers alone are sorted soonest.
            packed = (owners[rows] * size + bearers.values[places]) << _PACKED
            packed += (self.bits[held[rows]] ** 2 * _SCALE).astype(np.int64)
            packed.sort()
            begins = np.flatnonzero(firsts(packed >> _PACKED))
            own, other = np.divmod(packed[begins] >> _PACKED, size)
            met = np.add.reduceat(packed & ((1 << _PACKED) - 1), begins) / _SCALE if len(begins) else begins
            alike = met / (self._lengths[block[own]] * self._lengths[other])
            alike[block[own] == other] = 0.0
            begins = np.flatnonzero(firsts(own))
            for _ in range(most if len(begins) else 0):
                best = np.maximum.reduceat(alike, begins)
                first = np.flatnonzero((alike == np.repeat(best, np.diff(np.append(begins, len(own))))) & (alike > 0))
                first = first[firsts(own[first])]
                found.append(code(block[own[first]], other[first]))
                alike[first] = 0.0
        return np.concatenate(found)
