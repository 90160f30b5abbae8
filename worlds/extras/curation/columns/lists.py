"""Lists of numbers that belong to rows, as two arrays; and what relations between rows are made of."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from worlds.core.quads.dictionary import Ids

Mask = NDArray[np.bool_]


class Lists:
    """For each row its numbers: `values[starts[row] : starts[row] + counts[row]]`."""

    def __init__(self, starts: Ids, counts: Ids, values: Ids) -> None:
        self.starts = starts
        self.counts = counts
        self.values = values

    @classmethod
    def by(cls, rows: Ids, values: Ids, size: int) -> Lists:
        """Lists of `size` rows, of numbers in the order in which they stand beside their row."""
        order = np.argsort(rows, kind="stable")
        counts = np.bincount(rows, minlength=size)
        return cls(np.cumsum(counts) - counts, counts, values[order])

    @classmethod
    def of(cls, lists: Iterable[Sequence[int]]) -> Lists:
        """Lists as they are given."""
        lists = list(lists)
        counts = np.array([len(one) for one in lists], dtype=np.int64)
        values = np.array([number for one in lists for number in one], dtype=np.int64)
        return cls(np.cumsum(counts) - counts, counts, values)

    def each(self, rows: Ids, most: int | None = None) -> tuple[Ids, Ids]:
        """The numbers of rows one after another, at most so many of each, and the place in `rows` that each is of."""
        counts = self.counts[rows] if most is None else np.minimum(self.counts[rows], most)
        owners, places = spread(self.starts[rows], counts)
        return owners, self.values[places]

    def pairs(self, most: int) -> tuple[Ids, Ids, Ids]:
        """Each two of the numbers of a row, the earlier first, of rows that have at most so many: the row, and both."""
        rows = np.flatnonzero((self.counts > 1) & (self.counts <= most))
        owners, places = spread(self.starts[rows], self.counts[rows])
        own, others = spread(places + 1, (self.starts + self.counts)[rows][owners] - places - 1)
        return rows[owners[own]], self.values[places[own]], self.values[others]


def numbers(keys: Iterable[Hashable], numbered: dict[Hashable, int] | None = None) -> Ids:
    """Equal numbers for equal keys, from 0 on in their order; `numbered` has those given already."""
    numbered = {} if numbered is None else numbered
    return np.array([numbered.setdefault(key, len(numbered)) for key in keys], dtype=np.int64)


def spread(starts: Ids, counts: Ids) -> tuple[Ids, Ids]:
    """The run of each place, and the places, of runs that begin at `starts`."""
    owners = np.repeat(np.arange(len(counts)), counts)
    ends = np.cumsum(counts)
    return owners, np.arange(len(owners)) + np.repeat(starts - (ends - counts), counts)


def code(left: Ids, right: Ids) -> Ids:
    """Two numbers below 2³¹ as one."""
    found: Ids = left << 32 | right
    return found


def parts(codes: Ids) -> tuple[Ids, Ids]:
    """The numbers that codes are of."""
    return codes >> 32, codes & 0xFFFFFFFF


def place(codes: Ids, among: Ids) -> Ids:
    """The position of each code in ascending codes; -1 if it is missing."""
    if not len(among):
        return np.full(len(codes), -1, dtype=np.int64)
    found = np.minimum(np.searchsorted(among, codes), len(among) - 1)
    return np.where(among[found] == codes, found, -1)


def firsts(keys: Ids) -> Mask:
    """Which of some sorted keys are the first of their like."""
    return np.append(True, keys[1:] != keys[:-1])[: len(keys)]


def sums(rows: Ids, size: int, of: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """For each of `size` rows the sum of the numbers beside it; without numbers, the count of its occurrences."""
    found: NDArray[np.float64] = np.bincount(rows, of, minlength=size).astype(np.float64)
    return found
