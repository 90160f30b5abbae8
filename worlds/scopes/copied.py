"""A world of its own that shows another one as of a time: a copy of the file, with the facts of then.

A copy is a file without a name, which is gone with the process, and has all indexes of its world.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np

from worlds.errors import OpenError
from worlds.file.backup import copy_world
from worlds.quads.rows import difference, unique_quads
from worlds.scopes.past import PastWriter
from worlds.sql.connection import Connection
from worlds.verbs.parts import Parts

W = TypeVar("W", bound=Parts)
_KEPT = 3  # copies of a world, the newest


def copied(connection: Connection) -> Connection:
    """A connection to a copy of a world's file, as it is now."""
    handle, name = tempfile.mkstemp(prefix="worlds-", suffix=".db")
    os.close(handle)
    try:
        copy_world(connection, Path(name))
        copy = Connection(name, create=False, encryption_key=connection.encryption_key, driver=connection.driver.name)
        copy.run("PRAGMA journal_mode = MEMORY")
        copy.run("PRAGMA locking_mode = EXCLUSIVE")
        copy.run("PRAGMA synchronous = OFF")
    except OSError as error:
        raise OpenError(f"{name}, a copy for readers, cannot be written: {error.strerror or error}") from error
    finally:
        with contextlib.suppress(OSError):  # the open file lives on
            Path(name).unlink()
    copy.path = connection.path
    return copy


class Copies(Generic[W]):
    """The copies of a world, the newest ones of its state."""

    def __init__(self, connection: Connection, make: Callable[[int], W]) -> None:
        """`make` gives the copy as of a time, in microseconds since 1970."""
        self._connection = connection
        self._make = make
        self._state: object = None
        self._kept: dict[int, W] = {}

    def of(self, time: int) -> W:
        """The world as of a time."""
        with self._connection.lock:
            state = self._connection.state()
            if state is not self._state:
                self._kept.clear()
                self._state = state
            found = self._kept.pop(time, None)
            if found is None or found._connection.closed:
                found = self._make(time)
            self._kept[time] = found  # the newest last
            while len(self._kept) > _KEPT:
                del self._kept[next(iter(self._kept))]
        return found

    def close(self) -> None:
        """Let the copies go, with their SPARQL indexes; those in use live on."""
        with self._connection.lock:
            kept = list(self._kept.values())
            self._kept.clear()
        for copy in kept:  # not within the lock: who asks a copy may wait for it
            with copy._connection.lock:
                copy._sparql.drop()


class Showing(Parts):
    """The parts of a copy; it is written here alone."""

    def _show(self, time: int) -> None:
        """Hold what held at a time; nobody is asked whether it may."""
        self._writer.unasked()
        writer, self._writer = self._writer, PastWriter("a copy of the world as of a time")
        added, removed = self._validity.changes(time)
        removed = unique_quads(np.concatenate([removed, self._validity.elsewhen(time)]))
        added = difference(added, removed)
        with writer.revision(message="as of a time", embed=True) as writing:
            writing.apply(added, removed)
