"""How alike texts are written: the longest common subsequence of many pairs at once.

Each text is a row of bits, and a character of the other text is one step of all pairs (Hyyrö 2004, Bit-parallel
LCS-length computation revisited).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from worlds.core.quads.dictionary import Ids

_LONGEST = 128  # characters that are compared: two machine words
_BLOCK = 1 << 16  # pairs at a time
_TABLE = 1 << 22  # bits of texts by character
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)

Shares = NDArray[np.float64]


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
