"""Worlds of another time: a copy of the file, changed by what differs, which is made when it is first read.

A copy is a file without a name, which is gone with the process, and has all indexes of its world. For a revision, what
came later is taken back, in the history too; as of a time, what did not hold is removed, and what did is added.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import weakref
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from worlds.core.core import Core
from worlds.core.file.backup import copy_world
from worlds.core.history.writer import Writer
from worlds.core.quads.delta import Delta, Followers
from worlds.core.quads.rows import difference
from worlds.core.views.borrowed_vectors import Borrowing, known_vectors
from worlds.core.views.slice import ViewConnection, insert_quads
from worlds.core.views.view import View
from worlds.errors import EmbedderError, OpenError, ReadOnlyError
from worlds.sql import statements
from worlds.sql.connection import Connection


class Copied(Protocol):
    """A world of another time, whose look has its copy."""

    _core: Core
    _look: Any


W = TypeVar("W", bound=Copied)
_SQL = statements("scopes.sql")
_QUERIES = statements("queries.sql")
_KEPT = 3  # copies of a world, those that were asked for last
_PRESENT = (
    *(_SQL["forget_proposals"], _SQL["forget_proposal_quads"], _SQL["forget_merged"]),
    *(_SQL["forget_sources"], _SQL["forget_source_runs"]),
)
"""Statements that forget tables of the present alone, and tables that have no revisions."""


class Copies(Generic[W]):
    """A cache of worlds of other times that were asked for recently, while their content is still current."""

    def __init__(self, connection: Connection, make: Callable[[View], W], settings: Callable[[], object]) -> None:
        """`settings` returns the settings that the world of a revision depends on besides the revision."""
        self._connection = connection
        self._make = make
        self._settings = settings
        self._kept: dict[View, tuple[object, W]] = {}
        self._filled: list[weakref.ref[W]] = []  # revisions' worlds that may have a copy or an index, the newest last

    def of(self, view: View) -> W:
        """The world that a view shows."""
        with self._connection.lock:
            state = self._settings() if view.time is None else self._connection.state()
            if view.time is not None:
                self._kept = {one: kept for one, kept in self._kept.items() if one.time is None or kept[0] is state}
            before, found = self._kept.pop(view, (None, None))
            if found is None or before != state:
                found = self._make(view)
            self._kept[view] = state, found  # the newest last
            while len(self._kept) > _KEPT:
                del self._kept[next(iter(self._kept))]
        return found

    def fill(self, world: W) -> None:
        """A revision's world is about to take room: others give theirs back, and take it again when they are read."""
        with self._connection.lock:
            others = [one for one in self._filled if one() not in (None, world)]
            old, self._filled = others[: 1 - _KEPT], [*others[1 - _KEPT :], weakref.ref(world)]
        for one in old:
            if (there := one()) is not None and not there._look.copy.forget(wait=False):
                self._filled.insert(0, one)  # it is being read

    def close(self) -> None:
        """Release the copies and their SPARQL indexes; copies in use stay open."""
        with self._connection.lock:
            kept = [world for _, world in self._kept.values()]
            kept += [world for one in self._filled if (world := one()) is not None]
            self._kept.clear()
            self._filled.clear()
        for copy in kept:  # not within the lock: who asks a copy may wait for it
            with copy._core.connection.lock:
                copy._core.sparql.drop()


class ViewCopy:
    """Fills the database of a view, on its first read, with a copy of the world's file and its own differences."""

    def __init__(
        self, world: Core, own: Core, connection: ViewConnection, view: View, taking: Callable[[], None]
    ) -> None:
        """`taking` is called before a revision's copy takes room."""
        self._world = world
        self._taking = taking
        self._own = own
        self._connection = connection
        self._view = view
        self._made = False
        self._purges: object = None
        self._writer = own.writer
        own.writer = ReadOnlyWriter("the world of another time")
        connection.follow = self.bring

    def bring(self) -> None:
        """Make the copy if it is missing, or has content that was purged since."""
        base = self._world.connection
        if self._made and (base.closed or base.meta("purges") == self._purges):
            return
        if self._view.time is None:
            self._taking()
        with base.snapshot():
            if self._view.revision is not None:
                self._world.history.check(self._view.revision)  # it may have been forgotten since
            take_copy(self._world, self._own, self._connection)
        try:
            if self._view.time is not None:
                self._show(self._view.time)
            else:
                self._go_back(self._view.revision or 0)
        except BaseException:
            self._connection.renew()
            raise
        self._made, self._purges = True, self._connection.meta("purges")

    def forget(self, *, wait: bool = True) -> bool:
        """Release the copy and the index, which are made again on the next read; False if they are in use."""
        if not self._connection.lock.acquire(blocking=wait):
            return False
        try:
            if wait or (self._own.sparql.idle and not self._connection.in_use):
                self._own.sparql.drop()
                self._connection.renew()
                self._made = False
            return not self._made
        finally:
            self._connection.lock.release()

    def _show(self, time: int) -> None:
        """Show the facts that held at a time; no permission is checked."""
        own = self._own
        differing = [found for one in own.extensions if (found := one.differs(time)) is not None]
        self._writer.unasked()
        with self._writer.revision(message="as of a time", embed=True) as writing:
            for added, removed in differing:
                writing.apply(difference(added, removed), removed)

    def _go_back(self, revision: int) -> None:
        """Go back to the state after a revision, with the history up to it."""
        own, connection = self._own, self._connection
        gone = own.history.gone(revision, revision)
        later = connection.table(_SQL["quads_since"], (revision,))
        back = gone[:, :4]
        # The id of a quad that was removed is not remembered: it gets one behind all others.
        ids = connection.value(_SQL["last_quad"]) + 1 + np.arange(len(back), dtype=np.int64)
        followers = Followers(own.chunks, own.embeddings.retired, *own.extensions)
        with connection.transaction():
            followers.begin()
            for statement in (
                _SQL["forget_quads_since"],
                _SQL["forget_removed_since"],
                _SQL["forget_revisions_since"],
            ):
                connection.run(statement, (revision,))
            for statement in _PRESENT:
                connection.run(statement)
            insert_quads(connection, np.column_stack([ids, gone[:, :5]]))
            came, went = difference(back, later[:, 1:]), difference(later[:, 1:], back)
            followers.apply(Delta(came, went, np.concatenate([ids, later[:, 0]])))
        followers.committed(revision)
        followers.end()
        self._embed()

    def _embed(self) -> None:
        """Assign the world's retired vectors to restored texts; other texts are left to the embedder."""
        own, embedder = self._own.embeddings, self._own.embedder.embedder
        if own.stored is None or not own.pending():
            return
        fitting = embedder if embedder and own.fits(embedder) else None
        with contextlib.suppress(EmbedderError):  # the texts stay pending, and are found by words
            own.embed(Borrowing(own.stored, fitting, partial(known_vectors, self._connection)))


def take_copy(world: Core, own: Core, connection: ViewConnection) -> None:
    """Replace the database of a view by a copy of its world's file."""
    base = world.connection
    handle, name = tempfile.mkstemp(prefix="worlds-", suffix=".db")
    os.close(handle)
    try:
        copy_world(base, Path(name))
        connection.renew(name, base.encryption_key)
    except OSError as error:
        raise OpenError(f"{name}, a copy for readers, cannot be written: {error.strerror or error}") from error
    finally:
        with contextlib.suppress(OSError):  # the open file lives on
            Path(name).unlink()
    own.dictionary.forget()
    own.codes.forget()
    own.embedder.embedder = world.embedder.embedder


class ReadOnlyWriter(Writer):
    """A writer that refuses all writes, including writes of shapes."""

    def __init__(self, what: str) -> None:
        self._what = what

    @property
    def writing(self) -> bool:
        """False."""
        return False

    def revision(self, **options: Any) -> Any:
        """ReadOnlyError."""
        raise ReadOnlyError(f"this is {self._what}, which cannot be changed")
