"""A few vectors in memory, whose exact cosines NumPy works out: a statement takes ten times as long for each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worlds.core.quads.dictionary import Ids, json_ids
from worlds.sql import statements
from worlds.sql.bound_values import integers
from worlds.sql.connection import Connection

_SQL = statements("queries.sql")
_STAGES = statements("stages.sql")


class FewVectors:
    """The vectors of some ids, and the chunks that have them and may be found."""

    def __init__(self, connection: Connection, ids: Ids, mask: bytes | None) -> None:
        """Of ascending ids; `mask` has a byte for each chunk, 1 where it may be found, and None lets all through."""
        listed = json_ids(ids)
        positions, embeddings = connection.rows(_STAGES["embeddings"], (listed,))[0]
        known = integers(positions)
        self._vectors = np.frombuffer(embeddings or b"", dtype="<f4").reshape(len(known) or 1, -1)[: len(known)]
        statement = _SQL["chunks_of_vectors"]
        chunks, at = connection.columns(statement, statement.bind(ids_json=listed, eligible=mask))
        row = np.full(len(ids) + 1, -1, dtype=np.int64)
        row[known] = np.arange(len(known))  # others have no direction
        order = np.argsort(chunks, kind="stable")
        order = order[row[at[order]] >= 0]
        self._chunks, self._rows = chunks[order], row[at[order]]
        exact = self._vectors.astype(np.float64)
        self._squares = np.einsum("ij,ij->i", exact, exact)

    def cosines(self, query: NDArray[np.float32]) -> Cosines:
        """The cosines to a vector, float32 [d]."""
        vectors, sought = self._vectors.astype(np.float64), query.astype(np.float64)
        if not len(vectors):
            return Cosines(self._chunks, self._rows, np.empty(0))
        # Not by a product of matrices, in which equal rows need not give equal sums.
        lengths = np.sqrt(self._squares * np.einsum("i,i->", sought, sought))
        return Cosines(self._chunks, self._rows, np.einsum("ij,j->i", vectors, sought) / lengths)


@dataclass(frozen=True)
class Cosines:
    """The cosines between chunks and a question; higher is better."""

    _chunks: Ids  # ascending
    _rows: Ids  # [chunk], its vector's
    _cosines: NDArray[np.float64]  # [vector]

    def nearest(self, depth: int, least: float | None) -> list[tuple[int, float]]:
        """The nearest chunks with a cosine of at least `least`, best first, from the `depth` nearest vectors."""
        near = np.zeros(len(self._cosines), dtype=bool)
        near[np.argsort(-self._cosines, kind="stable")[:depth]] = True
        held = near[self._rows]
        chunks, values = self._chunks[held], self._cosines[self._rows[held]]
        order = np.lexsort((chunks, -values))[:depth]
        found = zip(chunks[order].tolist(), values[order].tolist(), strict=True)
        return [(chunk, value) for chunk, value in found if least is None or value >= least]

    def of(self, chunks: Iterable[int]) -> list[tuple[int, float]]:
        """(chunk, cosine) for the chunks that have a vector."""
        sought = np.fromiter(chunks, dtype=np.int64)
        at = np.minimum(np.searchsorted(self._chunks, sought), max(len(self._chunks) - 1, 0))
        held = self._chunks[at] == sought if len(self._chunks) else np.zeros(len(sought), dtype=bool)
        return list(zip(sought[held].tolist(), self._cosines[self._rows[at[held]]].tolist(), strict=True))
