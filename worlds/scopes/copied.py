"""A world of its own that shows another one at one moment: a copy of the file that time, or a reader, has changed.

While something is due that nobody has written yet, readers see a copy in which it is carried out; what held at a time
is a copy with the facts of then. A copy is a file without a name, which is gone with the process, and has all indexes
of its world. Nothing is copied while nothing is due.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from worlds.errors import OpenError
from worlds.file.backup import copy_world
from worlds.quads.rows import difference, unique_quads
from worlds.scopes.past import PastWriter
from worlds.sql.connection import Connection
from worlds.validity.times import moment
from worlds.verbs.parts import Parts

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


class Views:
    """The copies of a world that its readers see."""

    def __init__(self, world: Parts, make: Callable[[int | None], Any]) -> None:
        """`make` gives the copy as of a time, in microseconds since 1970, or one that time goes on changing."""
        self._world = world
        self._make = make
        self._state: object = None
        self._kept: dict[int | None, Any] = {}

    def seen(self, as_of: object = None) -> Any:
        """The world as it is read now, or as of a time."""
        connection, clock = self._world._connection, self._world._clock
        if as_of is None and (clock.stands or connection.in_transaction or not clock.due):
            return self._world
        time = None if as_of is None else moment("as_of", as_of, self._world._validity.zone)
        with connection.lock:
            state = connection.state()
            if state is not self._state:
                self._kept.clear()
                self._state = state
            found = self._kept.pop(time, None)
            if found is None or found._connection.closed:
                found = self._make(time)
            self._kept[time] = found  # the newest last
            while len(self._kept) > _KEPT:
                del self._kept[next(iter(self._kept))]
            if time is None:
                found._go_on()
        return found

    def close(self) -> None:
        """Let the copies go; those in use live on."""
        self._kept.clear()


class Showing(Parts):
    """The parts of a copy; it is written here alone."""

    def _show(self, time: int | None) -> None:
        """Hold what held at a time, or, with None, what holds now; nobody is asked whether it may."""
        self._writer.unasked()
        self._timed, self._writer = self._writer, PastWriter("a copy of the world as of a time")
        if time is None:
            return
        self._clock.stands = True
        added, removed = self._validity.changes(time, self._clock.last)
        removed = unique_quads(np.concatenate([removed, self._validity.elsewhen(time)]))
        added = difference(added, removed)
        with self._timed.revision(message="as of a time", embed=True) as writing:
            writing.apply(added, removed)

    def _go_on(self) -> None:
        """Carry out what has become due."""
        if self._clock.due:
            self._timed.catch_up()
