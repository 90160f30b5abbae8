"""The native index over the vectors, libSQL's own, which `vector_top_k` reads here and in other clients of the file."""

from __future__ import annotations

from worlds.sql import statements, texts
from worlds.sql.connection import Connection

_SQL = statements("queries.sql")
_VECTORS = texts("vectors.sql")
_SMALL = 64  # vectors up to which it is built anew with every removal, which takes some milliseconds
_RENEWED = 1000  # vectors up to which it is when a quarter of them was removed


class NativeIndex:
    """The native index of one world."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @property
    def built(self) -> bool:
        """Whether it is there."""
        return self._connection.row(_SQL["find_vector_index"]) is not None

    @property
    def wanted(self) -> bool:
        """Whether it is part of this world."""
        return bool(self._connection.meta("vector_index") != 0)

    def want(self, wanted: bool) -> None:
        """Say whether it is part of this world, and build or drop it accordingly."""
        if self._connection.read_only:
            return
        with self._connection.transaction():
            self._connection.run(_SQL["set_meta"], ("vector_index", int(wanted)))
            if wanted:
                self.mend()
            elif self.built:
                self.drop()

    def mend(self) -> None:
        """Build it if it is part of this world, there are vectors, and it is not there."""
        if self._missing:
            with self._connection.transaction():
                if self._missing:
                    self.create()

    @property
    def _missing(self) -> bool:
        return bool(self._connection.value(_SQL["vector_index_missing"]))

    def create(self) -> None:
        """Build it over all vectors."""
        # A CREATE INDEX that fails in autocommit leaves shadow tables behind that make the next one silently empty.
        with self._connection.transaction():
            self._connection.run(_VECTORS["create_vector_index"])

    def drop(self) -> None:
        """Drop it."""
        with self._connection.transaction():
            self._connection.script(_VECTORS["drop_vector_index"])

    def renew(self, removed: int) -> None:
        """Build that of a small world anew after vectors were removed: with every one that goes, its graph loses edges.

        In a transaction.
        """
        count = self._connection.value(_SQL["count_vectors_up_to"], (_RENEWED + 1,))
        if count > _RENEWED or not self.built:
            return
        removals = self._connection.meta("vector_removals")
        share = count // 4 + 1
        if count <= _SMALL or removals // share > (removals - removed) // share:
            self.drop()
            self.create()
