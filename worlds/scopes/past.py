"""A world as it was: the state after a revision, as a slice of its history."""

from __future__ import annotations

from typing import Any

import numpy as np

from worlds.errors import ReadOnlyError
from worlds.quads.dictionary import Ids
from worlds.revisions.writer import Writer
from worlds.scopes.slice import Slice, SliceConnection
from worlds.sql import statements
from worlds.sql.connection import Connection
from worlds.verbs.parts import Parts

_SQL = statements("scopes.sql")
_QUERIES = statements("queries.sql")


class PastSlice(Slice):
    """Fills a database with the quads of a revision and with what its history was then, once: the past stays."""

    def __init__(self, world: Parts, own: Parts, connection: SliceConnection, revision: int) -> None:
        self._until = revision
        self._made = False
        super().__init__(world, own, connection, ())

    def bring(self) -> None:
        """Copy the revision before the first reading."""
        if self._made:
            return
        base = self._world._connection
        with base.snapshot():
            self._world._history.check(self._until)  # it may have been forgotten since
            self._follow()
        self._embed()
        self._made = True

    def _read(self) -> tuple[Ids, Ids]:
        """The quads that held, int64 [n, 6] from their id to their revision, and those that were gone, [n, 6]."""
        pages = self._pages(_SQL["quads_until"], 0, revision=self._until)
        held = np.concatenate([np.empty((0, 6), dtype=np.int64), *pages])
        gone = self._world._history.gone(0, self._until)
        before = gone[:, 5] <= self._until
        back = gone[~before][:, :5]  # was removed since: its id is not known any more, so it gets one behind all
        ids = self._world._connection.rows(_QUERIES["bounds"])[0][1] + np.arange(len(back), dtype=np.int64)
        added = np.concatenate([held, np.column_stack([ids, back])])
        self._quads = len(added)
        return added, gone[before]

    def _count(self, base: Connection) -> int:
        return self._quads

    def _copy_revisions(self, added: Ids, gone: Ids) -> None:
        rows = [row for row in self._world._connection.rows(_SQL["revisions"], (0,)) if row[0] <= self._until]
        self._connection.insert(
            "INSERT INTO revisions (revision, time, author, message, added, removed, first_quad, created, dropped,"
            " undoes)",
            rows,
        )

    def _note_namespaces(self, iris: list[str]) -> None:
        self._prefixes = dict(self._world._namespaces.declared)

    def _copy_sources(self) -> None:
        """Nothing: which sources there were is not remembered."""

    def _copy_proposals(self) -> None:
        """Nothing: a proposal is of the present."""


class PastWriter(Writer):
    """Refuses to write, also what is not a verb, such as shapes."""

    def __init__(self, what: str) -> None:
        self._what = what

    @property
    def writing(self) -> bool:
        """False."""
        return False

    def revision(self, **options: Any) -> Any:
        """ReadOnlyError."""
        raise ReadOnlyError(f"this is {self._what}, which cannot be changed")
