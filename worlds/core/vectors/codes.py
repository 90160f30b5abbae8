"""Sign bits of a world's vectors, in memory: a scan that finds the few thousand vectors worth an exact cosine.

The bit of a dimension says whether the vector is positive there; the share of bits in which two vectors differ
estimates the angle between them (Charikar, 2002, "Similarity estimation techniques from rounding algorithms").
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from worlds.core.quads.dictionary import Ids, json_ids
from worlds.sql import statements
from worlds.sql.bound_values import integers
from worlds.sql.connection import Connection

_SQL = statements("queries.sql")
_BLOCK = 65_536
_MARGIN = 3.5  # standard deviations of the estimate
MOST = 12_000  # candidates, or a fiftieth of the eligible, unless ten times the depth is more
_FIRST = 50_000  # candidates of the first cut, or a tenth, which the query's own numbers then narrow
_SURE = 10  # the nearest that the margin is for
MANY = 3000  # candidates from which on it pays to narrow them
_TRIED = 250  # of the best, and of all, whose cosines say how far
_NARROWER = 2.4  # standard deviations of the better estimate


def sign_codes(vectors: NDArray[np.float32]) -> NDArray[np.uint8]:
    """The codes, uint8 [n, ceil(d / 8)], of float32 [n, d]; most significant bit first."""
    return np.packbits(vectors > 0, axis=1)


class Codes:
    """The codes of one world, kept in step with the file by two counters."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._state: tuple[object, object] | None = None
        self._uncommitted: int | None = None  # rollbacks before the open transaction in which they were last read
        self._ids: Ids = np.empty(0, dtype=np.int64)  # ascending
        self._words: NDArray[np.uint64] = np.empty((0, 0), dtype=np.uint64)  # [words, capacity], column by column
        self._count = 0
        self._places: NDArray[np.int32] = np.empty(0, dtype=np.int32)  # id → column of `_words`, -1 for none

    def __len__(self) -> int:
        return self._count

    @property
    def ids(self) -> Ids:
        """The vector ids, ascending, int64 [n]."""
        return self._ids[: self._count]

    def forget(self) -> None:
        """Read all anew when next asked."""
        self._state = None

    def refresh(self, changes: object, removals: object) -> None:
        """Bring the codes in step with the file, by its counters: read added vectors; all, if any were removed."""
        if self._uncommitted not in (None, self._connection.rollbacks):
            self._state = None
        self._uncommitted = self._connection.rollbacks if self._connection.in_transaction else None
        if self._state == (changes, removals):
            return
        grown = self._state is not None and self._state[1] == removals and _less(self._state[0], changes)
        if not grown:
            self._count = 0
            self._places = np.empty(0, dtype=np.int32)
        self._read(int(self._ids[self._count - 1]) if self._count else 0)
        self._state = (changes, removals)

    def _read(self, after: int) -> None:
        while True:
            last, ids, codes = self._connection.rows(_SQL["codes_in_range"], (after, _BLOCK))[0]
            if last is None:
                return
            numbers = integers(ids)
            raw = np.frombuffer(bytes.fromhex(codes), dtype=np.uint8).reshape(len(numbers), -1)
            padded = np.zeros((len(numbers), -(-raw.shape[1] // 8) * 8), dtype=np.uint8)
            padded[:, : raw.shape[1]] = raw
            self._append(numbers, padded.view(np.uint64).T)
            after = last

    def _append(self, ids: Ids, words: NDArray[np.uint64]) -> None:
        end = self._count + len(ids)
        if self._words.shape[0] != words.shape[0] or end > self._words.shape[1]:
            capacity = max(end + end // 4, 1024)
            grown = np.zeros((words.shape[0], capacity), dtype=np.uint64)
            numbers = np.zeros(capacity, dtype=np.int64)
            if self._count:
                grown[:, : self._count] = self._words[:, : self._count]
                numbers[: self._count] = self._ids[: self._count]
            self._words, self._ids = grown, numbers
        self._words[:, self._count : end] = words
        self._ids[self._count : end] = ids
        if ids[-1] >= len(self._places):
            room = np.full(int(ids[-1]) * 5 // 4 + 1, -1, dtype=np.int32)
            room[: len(self._places)] = self._places
            self._places = room
        self._places[ids] = np.arange(self._count, end, dtype=np.int32)
        self._count = end

    def nearest(self, query: NDArray[np.float32], depth: int, eligible: Ids | None = None) -> Ids:
        """Ids of the vectors among which the nearest to `query`, float32 [d], almost surely are.

        `eligible`, ascending ids, narrows the search. There are at least ten candidates for each of the `depth`
        vectors wanted. The cut lies `_MARGIN` standard deviations of the estimate beyond the tenth smallest distance,
        so that data without clear neighbours give more candidates than data with them, up to MOST, or a fiftieth of the
        eligible.
        """
        if not self._count:
            return self.ids
        code = sign_codes(query[None, :])[0]
        padded = np.zeros(self._words.shape[0] * 8, dtype=np.uint8)
        padded[: len(code)] = code
        words = padded.view(np.uint64)
        places: NDArray[np.intp] | None = None
        if eligible is not None:
            places = self._places[eligible[: np.searchsorted(eligible, len(self._places))]].astype(np.intp)
            places = places[places >= 0]  # what has no direction has no code
        if places is None:
            distances = _distances(self._words[:, : self._count], words)
        elif len(places) * 8 < self._count:
            distances = _distances(np.take(self._words, places, axis=1), words)
        else:
            distances = _distances(self._words[:, : self._count], words)[places]
        chosen = np.flatnonzero(distances <= self._cut(distances, depth, len(query)))
        if places is not None:
            chosen = places[chosen]
        if len(chosen) > max(MANY, 10 * depth):
            chosen = self._narrowed(chosen, query, depth, max(MOST, len(distances) // 50, 10 * depth))
        return self.ids[chosen]

    def _cut(self, distances: NDArray[np.uint16], depth: int, dimension: int) -> int:
        if not len(distances):
            return 0
        counts = np.cumsum(np.bincount(distances))

        def reaching(count: int) -> int:
            return int(np.searchsorted(counts, min(count, counts[-1])))

        nearest = reaching(min(depth, _SURE))
        share = max(nearest / dimension, 1 / dimension)
        cut = nearest + math.ceil(_MARGIN * math.sqrt(dimension * share * (1 - min(share, 0.5))))
        return max(min(cut, reaching(max(_FIRST, len(distances) // 10))), reaching(10 * depth))

    def _narrowed(
        self, places: NDArray[np.intp], query: NDArray[np.float32], depth: int, most: int
    ) -> NDArray[np.intp]:
        """The places, `most` at most, that may be among the nearest ten by the query's own numbers.

        They can reach the tenth best cosine of those that look best, as far as some of all tell how much cosines and
        estimates differ.
        """
        scores = _projections(np.take(self._words, places, axis=1), query)
        best = np.argpartition(-scores, _TRIED - 1)[:_TRIED]
        some = np.linspace(0, len(places) - 1, _TRIED).astype(np.intp)
        tried = self.ids[places[np.concatenate([best, some])]]
        values = _SQL["cosines"].bind(ids_json=json_ids(tried), query=query.astype("<f4").tobytes())
        cosines = np.array([cosine for (cosine,) in self._connection.rows(_SQL["cosines"], values)])
        count = len(places)
        if len(cosines) == len(tried):  # the file is whole
            mean = cosines[_TRIED:].mean()
            beyond = cosines[_TRIED:] - mean
            slope = beyond @ scores[some] / max(beyond @ beyond, 1e-9)  # by least squares
            spread = np.std(scores[some] - slope * beyond)
            tenth = np.partition(cosines[:_TRIED], -_SURE)[-_SURE]
            least = scores[some].mean() + slope * (tenth - mean) - _NARROWER * spread
            count = int(np.count_nonzero(scores >= least))
        count = min(max(count, 10 * depth), most, len(places))
        return np.sort(places[np.argpartition(-scores, count - 1)[:count]])


def _less(before: object, now: object) -> bool:
    return isinstance(now, int) and (before is None or (isinstance(before, int) and before < now))


def _projections(columns: NDArray[np.uint64], query: NDArray[np.float32]) -> NDArray[np.float32]:
    """The query's dot product with the signs of each vector, float32 [n]; codes are uint64 [w, n].

    It orders data without clear neighbours better than the distance of the codes, at several times its cost.
    """
    padded = np.zeros(len(columns) * 64, dtype=np.float32)
    padded[: len(query)] = query
    signs = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.float32) * 2 - 1
    tables = padded.reshape(-1, 2, 8) @ signs.T  # [pairs of bytes, 2, 256]: what each value of each byte adds
    scores = np.zeros(columns.shape[1], dtype=np.float32)
    for pair, (first, second) in enumerate(tables):
        values = columns[pair // 4].view("<u2")[pair % 4 :: 4]
        scores += np.take((second[:, None] + first).ravel(), values, mode="clip")
    return scores


def _distances(columns: NDArray[np.uint64], words: NDArray[np.uint64]) -> NDArray[np.uint16]:
    """Hamming distances, uint16 [n], of codes uint64 [w, n] to one code uint64 [w]; by blocks that fit the cache."""
    count = columns.shape[1]
    distances = np.zeros(count, dtype=np.uint16)
    for start in range(0, count, _BLOCK):
        block = distances[start : start + _BLOCK]
        for column, word in zip(columns, words, strict=True):
            block += np.bitwise_count(column[start : start + _BLOCK] ^ word)
    return distances
