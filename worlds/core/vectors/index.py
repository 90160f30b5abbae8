"""The native index over the vectors, libSQL's own, which `vector_top_k` reads here and in other clients of the file."""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Callable

from worlds.errors import IntegrityError, ReadOnlyError, WorldsError
from worlds.sql import statements, texts
from worlds.sql.connection import Connection
from worlds.sql.drivers import LIBSQL

_SQL = statements("queries.sql")
_VECTORS = texts("vectors.sql")
_SMALL = 64  # vectors up to which it is built anew with every removal, which takes some milliseconds
_RENEWED = 1000  # vectors up to which it is when a quarter of them was removed
MOST = 3000  # vectors of 384 dimensions whose index takes some 3 seconds in all; of more dimensions fewer
_DIMENSION = 384
_SLICE = 500

Progress = Callable[[int, int], None]  # (vectors done, vectors to do)

_log = logging.getLogger("worlds")


def embedder_of(connection: Connection) -> dict[str, object] | None:
    """The file's record of its embedder: name, dimension, fingerprint, metric; None before the first vector."""

    def read(stored: str) -> dict[str, object]:
        about: dict[str, object] = json.loads(stored)
        int(str(about["dimension"]))
        return {**about, "name": about["name"], "fingerprint": about["fingerprint"]}

    return connection.remembered("embedder", lambda: connection.setting("embedder", read))


def require_native(connection: Connection) -> None:
    """WorldsError where the driver has no native index."""
    if not connection.driver.native:
        raise WorldsError(
            f"the native vector index is libSQL's, and {connection.path} is open by {connection.driver.title}: open it "
            "with driver='libsql'; plan='auto' needs none, and finds the same"
        )


class NativeIndex:
    """The native index of one world: all vectors are in it, or it is not there.

    `meta` says under "vector_index" whether it is part of the world: 1 it is, 0 it is not, nothing: while it is cheap.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @property
    def built(self) -> bool:
        """Whether it is there."""
        return self._connection.row(_SQL["find_vector_index"]) is not None

    @property
    def wanted(self) -> bool:
        """Whether it is part of this world, as far as the driver has such an index."""
        return self._connection.driver.native and bool(self._connection.meta("vector_index") != 0)

    def want(self, wanted: bool) -> None:
        """Set whether the index is part of this world, and build or drop it accordingly."""
        if wanted:
            require_native(self._connection)
        if self._connection.read_only:
            return
        with self._connection.transaction():
            self._connection.run(_SQL["set_meta"], ("vector_index", int(wanted)))
            if wanted:
                self.mend()
            elif self.built:
                self.drop()

    def mend(self) -> None:
        """Build it if it is part of this world, there are vectors, and it is not there whole."""
        if self._missing or self._doubled:
            with self._connection.transaction():
                if self._doubled:
                    self.drop()
                if self._missing and self.outgrown(0, self._dimension) is None:
                    self.create()

    @property
    def _doubled(self) -> bool:
        """Whether a VACUUM with it has doubled its settings: one of a process that was killed before it dropped it."""
        with contextlib.suppress(IntegrityError):
            return self.built and int(self._connection.value(_SQL["count_vector_settings"])) > 1
        return False

    @property
    def _missing(self) -> bool:
        embedded = self._connection.meta("embedder") is not None
        return embedded and self.wanted and not self.built

    @property
    def _dimension(self) -> int:
        """The vectors' dimension, 0 where there are none yet."""
        about = embedder_of(self._connection)
        return 0 if about is None else int(str(about["dimension"]))

    def outgrown(self, coming: int, dimension: int) -> str | None:
        """Leave it out for good where, with so many `coming` vectors, it would cost too much and nobody asked for it.

        Gives what there is to say then, which is said once.
        """
        if self._connection.meta("vector_index") is not None:
            return None
        most = MOST * _DIMENSION // max(dimension, _DIMENSION)
        there = self._connection.value(_SQL["count_vectors_up_to"], (most + 1,)) if self._dimension else 0
        if there + coming <= most:
            return None
        with self._connection.transaction():
            if self.built:
                self.drop()
            self._connection.run(_SQL["set_meta"], ("vector_index", 0))
        told = (
            f"beyond {most:,} vectors the native vector index is not kept: no search of this library needs it, and "
            "each vector would cost milliseconds and kilobytes; build_vector_index() builds it for other programs"
        )
        _log.info("%s: %s", self._connection.path, told)
        return told

    def create(self) -> None:
        """Build it over all vectors."""
        # A CREATE INDEX that fails in autocommit leaves shadow tables behind that make the next one silently empty.
        with self._connection.transaction():
            self._connection.run(_VECTORS["create_vector_index"])

    def drop(self) -> None:
        """Drop it."""
        with self._connection.transaction():
            self._connection.script(_VECTORS["drop_vector_index"])

    def build(self, progress: Progress | None) -> int:
        """Build the index, as a part of the world; returns the number of vectors. See `World.file`."""
        connection = self._connection
        if connection.read_only:
            raise ReadOnlyError(f"{connection.path} was opened read-only")
        if connection.in_transaction:
            raise WorldsError("the vector index cannot be built inside a transaction")
        if not connection.driver.native and not connection.take(LIBSQL):
            require_native(connection)
        with connection.transaction():
            connection.run(_SQL["set_meta"], ("vector_index", 1))
            dimension = self._dimension
            if not dimension:
                return 0
            self.drop()
            total = int(connection.value("SELECT count(*) FROM vectors NOT INDEXED"))
            connection.run(_VECTORS["set_vectors_aside"])
            connection.run(_VECTORS["create_vectors"].format(dimension=dimension))
            self.create()
            last = done = 0
            while done < total:
                if progress:
                    progress(done, total)
                connection.run(_VECTORS["bring_vectors_back"], (last, _SLICE))
                last, done = connection.row("SELECT max(id), count(*) FROM vectors") or (0, total)
            connection.script(_VECTORS["forget_vectors_aside"])
        if progress:
            progress(total, total)
        return total

    def renew(self, removed: int) -> None:
        """Rebuild the index of a small world after vectors were removed: each removal takes edges from its graph.

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
