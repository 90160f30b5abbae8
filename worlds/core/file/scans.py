"""Reads all chunks and all vectors of a world, for `check`, and notes what is wrong with them."""

from __future__ import annotations

import json

import numpy as np
from numpy.typing import NDArray

from worlds.core.quads.dictionary import Ids, json_ids
from worlds.core.texts.chunks import ChunkStore
from worlds.core.vectors.codes import sign_codes
from worlds.core.vectors.embedding import text_digest, vector_keys
from worlds.sql import statements
from worlds.sql.bound_values import as_text
from worlds.sql.connection import Connection, Row

_QUERIES = statements("queries.sql")
_SQL = statements("check.sql")
_CHUNKS = 5_000  # rows read at a time
_VECTORS = 4_096
_SAMPLE = 20  # vectors that are searched for
_NEAREST = 10  # of each, that a plan should find
_UNIT = 1e-3  # what a length may differ from 1 by


class ChunkScan:
    """Compares every chunk with its literal, and with the text that its vector was made from."""

    def __init__(self, connection: Connection, store: ChunkStore, last_term: int) -> None:
        self._connection = connection
        self._reader = store.words.reader()
        self._outdated = store.words.outdated
        self.outdated = 0  # chunks that an older release read as words
        self.count = 0
        self.with_chunks: NDArray[np.bool_] = np.zeros(last_term + 1, dtype=np.bool_)  # by term id
        self.profiled: set[int] = set()  # entities whose profile has chunks
        self.homeless: list[int] = []  # chunks of a literal, or a profile, that is not stored
        self.wrong: list[int] = []  # chunks that differ from what their literal says there
        self.uncovered: list[int] = []  # literals with a passage that no chunk has
        self.foreign: list[int] = []  # chunks with a vector, whose text was never embedded
        self.doubtful: list[tuple[int, int, int]] = []  # (chunk, its vector, the vector its text should have)
        self._term = 0  # the literal that is being read: its id, text, words, and where its last chunk began and ended
        self._read = self._reader.reading(None)
        self._text: str | None = None
        self._start = self._end = 0

    def read(self) -> None:
        """Read all chunks, by literal and position."""
        statement = _SQL["chunks_by_term"]
        term, chunk = -(2**31), 0  # those of profiles have terms below 0
        while rows := self._connection.rows(statement, statement.bind(term=term, chunk=chunk, limit=_CHUNKS)):
            chunk, term = rows[-1][:2]
            self.count += len(rows)
            ids = json_ids(sorted({row[1] for row in rows} - {self._term}))
            found = self._connection.rows(_SQL["texts_of"], (ids,))
            texts = {number: (as_text(stored), tag) for number, stored, tag in found}
            embedded: list[tuple[bytes, int, int]] = []
            for row in rows:
                if row[1] != self._term:
                    self._end_of_literal()
                    self._begin_literal(row[1], *texts.get(row[1], (None, None)))
                piece = self._piece(row)
                if piece is not None and row[6] is not None:
                    embedded.append((text_digest(piece), row[0], row[6]))
            self._compare_vectors(embedded)
        self._end_of_literal()

    def _begin_literal(self, term: int, text: object, tag: str | None) -> None:
        self._term = term
        self._read = self._reader.reading(tag)
        self._text = text if isinstance(text, str) else None
        self._start, self._end = -1, 0
        if 0 < term < len(self.with_chunks):
            self.with_chunks[term] = True
        elif term < 0:
            self.profiled.add(-1 - term)

    def _end_of_literal(self) -> None:
        if self._text is not None and self._text[self._end :].strip() and self._term not in self.uncovered[-1:]:
            self.uncovered.append(self._term)
        self._text = None

    def _piece(self, row: Row) -> str | None:
        """The text of a chunk, None if the chunk is wrong."""
        number, _, start, end, stored, segmented, _ = row
        text = self._text
        if text is None:
            self.homeless.append(number)
            return None
        fits = isinstance(start, int) and isinstance(end, int) and 0 <= start < end <= len(text)
        if not fits or start <= self._start or end <= self._end:
            self.wrong.append(number)
            return None
        if text[self._end : start].strip() and self._term not in self.uncovered[-1:]:
            self.uncovered.append(self._term)
        self._start, self._end = start, end
        piece = text[start:end]
        said = None if stored is None else as_text(stored)
        whole = end - start == len(text)
        read = segmented == self._read(piece)
        if not read and self._outdated:
            read = True
            self.outdated += 1
        if (said is None and not whole) or (said is not None and said != piece) or not read:
            self.wrong.append(number)
            return None
        return piece

    def _compare_vectors(self, embedded: list[tuple[bytes, int, int]]) -> None:
        digests = json.dumps([digest.hex() for digest, _, _ in embedded])
        found = {
            int(position): vector for position, vector in self._connection.rows(_QUERIES["find_embedded"], (digests,))
        }
        for position, (_, chunk, vector) in enumerate(embedded):
            known = found.get(position)
            if known is None:
                self.foreign.append(chunk)
            elif known != vector:
                self.doubtful.append((chunk, vector, known))


class VectorScan:
    """Compares every vector, float32 [d], with its key and its code; finds the nearest of a few by comparing all."""

    def __init__(self, connection: Connection, dimension: int) -> None:
        self._connection = connection
        self._dimension = dimension
        self.count = 0
        self.usable = 0  # vectors that are no NULL
        self.broken: list[int] = []  # not finite, not of unit length, or of another dimension
        self.unlike: list[int] = []  # not what their key says
        self.miscoded: list[int] = []  # without a code, or with another one's
        self.sample: Ids = np.empty(0, dtype=np.int64)
        self.queries: NDArray[np.float32] = np.empty((0, dimension), dtype=np.float32)  # the sample's vectors
        self._best: NDArray[np.float32] = np.empty((0, 0), dtype=np.float32)  # cosines [sample, at most _NEAREST]
        self._nearest: Ids = np.empty((0, 0), dtype=np.int64)  # whose

    def read(self) -> None:
        """Read all vectors."""
        self._choose()
        after = 0
        while rows := self._connection.rows(_SQL["vectors_in_range"], (after, _VECTORS)):
            begun, after = after, rows[-1][0]
            codes: dict[int, bytes] = dict(self._connection.rows(_SQL["codes_in_range"], (begun, after)))
            self.count += len(rows)
            rows = [row for row in rows if row[2] is not None or self._without_code(row[0], codes)]
            self.usable += len(rows)
            self.broken += [row[0] for row in rows if len(row[2]) != self._dimension * 4]
            rows = [row for row in rows if len(row[2]) == self._dimension * 4]
            if rows:
                self._compare(rows, codes)

    def _without_code(self, number: int, codes: dict[int, bytes]) -> bool:
        """Record a code of a text that should have none, as its vector is zero; returns False."""
        if number in codes:
            self.miscoded.append(number)
        return False

    def _choose(self) -> None:
        numbers = self._connection.column(_SQL["vector_ids"])
        spread = np.unique(np.linspace(0, max(len(numbers) - 1, 0), _SAMPLE).astype(np.int64))
        chosen = numbers[spread] if len(numbers) else numbers
        rows = self._connection.rows(_SQL["vectors_by_id"], (json_ids(chosen),))
        rows = [row for row in rows if len(row[1]) == self._dimension * 4]
        self.sample = np.array([number for number, _ in rows], dtype=np.int64)
        self.queries = self._matrix([blob for _, blob in rows])
        sound = np.isfinite(self.queries).all(axis=1)
        self.sample, self.queries = self.sample[sound], self.queries[sound]
        self._best = np.empty((len(self.sample), 0), dtype=np.float32)
        self._nearest = np.empty((len(self.sample), 0), dtype=np.int64)

    def _matrix(self, blobs: list[bytes]) -> NDArray[np.float32]:
        return np.frombuffer(b"".join(blobs), dtype="<f4").reshape(len(blobs), self._dimension)

    def _compare(self, rows: list[Row], codes: dict[int, bytes]) -> None:
        ids = np.array([row[0] for row in rows], dtype=np.int64)
        vectors = self._matrix([row[2] for row in rows])
        lengths = np.linalg.norm(np.nan_to_num(vectors, posinf=0, neginf=0), axis=1)
        sound = np.isfinite(vectors).all(axis=1) & (np.abs(lengths - 1) <= _UNIT)
        self.broken += ids[~sound].tolist()
        keys = vector_keys(vectors)
        self.unlike += [row[0] for row, key, whole in zip(rows, keys, sound, strict=True) if whole and row[1] != key]
        expected = sign_codes(vectors)
        self.miscoded += [
            row[0] for row, code in zip(rows, expected, strict=True) if codes.get(row[0]) != code.tobytes()
        ]
        if len(self.sample):
            best = np.concatenate([self._best, self.queries @ np.nan_to_num(vectors).T], axis=1)
            whose = np.concatenate([self._nearest, np.broadcast_to(ids, (len(self.sample), len(ids)))], axis=1)
            order = np.argsort(-best, axis=1, kind="stable")[:, :_NEAREST]
            self._best = np.take_along_axis(best, order, axis=1)
            self._nearest = np.take_along_axis(whose, order, axis=1)

    def recall(self, found: list[Ids]) -> float:
        """The recall of a plan: the share of the exact nearest vectors that it found, for each of the sample."""
        hits = sum(int(np.isin(true, ids).sum()) for true, ids in zip(self._nearest, found, strict=True))
        return hits / self._nearest.size
