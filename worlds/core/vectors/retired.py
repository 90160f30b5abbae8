"""Retires the vectors that no chunk has any longer: out of index and codes, into a cache that compact() empties."""

from __future__ import annotations

import json
from collections.abc import Collection

import numpy as np

from worlds.core.quads.delta import Delta, Follower
from worlds.core.quads.dictionary import batches, json_ids
from worlds.core.vectors.codes import sign_codes
from worlds.core.vectors.index import NativeIndex
from worlds.sql import statements
from worlds.sql.connection import Connection

_SQL = statements("queries.sql")


class RetiredVectors(Follower):
    """Vectors of removed texts, kept for their return. All runs inside the caller's transaction."""

    def __init__(self, connection: Connection, index: NativeIndex) -> None:
        self._connection = connection
        self._index = index

    def apply(self, delta: Delta) -> None:
        """Follow a write: retire the vectors that its texts no longer use."""
        self.retire(delta.orphans)

    def retire(self, orphans: Collection[int]) -> None:
        """Retire the vectors without a chunk."""
        gone: list[int] = []
        for ids in batches(np.array(sorted(orphans), dtype=np.int64)):
            gone += [number for (number,) in self._connection.rows(_SQL["vectors_without_chunks"], (ids,))]
        for ids in batches(np.array(gone, dtype=np.int64)):
            for name in ("retire_vectors", "delete_codes", "delete_vectors"):
                self._connection.run(_SQL[name], (ids,))
        if gone:
            self._connection.run(_SQL["add_to_meta"], ("vector_removals", len(gone)))
            self._index.renew(len(gone))

    def revive(self, vectors: Collection[int]) -> None:
        """Bring back the retired vectors that a chunk is about to use."""
        ids = json_ids(sorted(vectors))
        rows = self._connection.rows(_SQL["retired_among"], (ids,))
        if not rows:
            return
        self._connection.run(_SQL["revive_vectors"], (ids,))
        stored = [(number, np.frombuffer(blob, dtype="<f4")) for number, blob in rows if blob is not None]
        codes = [[number, sign_codes(vector[None, :])[0].tobytes().hex()] for number, vector in stored]
        self._connection.run(_SQL["revive_codes"], (json.dumps(codes),))
        self._connection.run(_SQL["forget_retired"], (ids,))
        # Their ids lie among the old ones, so whoever keeps the codes in memory must read all of them again.
        self._connection.run(_SQL["add_to_meta"], ("vector_removals", 1))
