"""What time brings: facts whose beginning comes or whose end passes while nobody writes.

The clock of a state is the time of its last revision. What has an edge of its interval between that and now is due: it
begins or ends for every reader, and the next write carries it out, as a revision of its own that comes first. The file
keeps the next edge, or an earlier time, so that a reader looks at one number.
"""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Callable, Iterator
from typing import Protocol

import numpy as np

from worlds.quads.delta import Delta, Follower
from worlds.quads.dictionary import Dictionary, Ids
from worlds.quads.rows import difference, find_quads
from worlds.sql import statements
from worlds.sql.connection import Connection
from worlds.validity.spans import Validity
from worlds.validity.times import ALWAYS, microseconds, now, period, reached

_SQL = statements("queries.sql")
_NEXT = "next_edge"


class Writing(Protocol):
    """`worlds.revisions.writer.Writing`."""

    def apply(self, added: Ids, removed: Ids) -> None:
        """Remove quads and add quads, int64 [n, 4]."""


class Clock(Follower):
    """Knows what is due in a world; as a follower of its gate it keeps the next edge."""

    def __init__(self, connection: Connection, dictionary: Dictionary, validity: Callable[[], Validity]) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self._validity = validity
        self.began = now()  # the open transaction, whose statements are of that time
        self.stands = False  # for a world that shows one moment

    @property
    def next(self) -> int:
        """A time before which nothing is due, in microseconds since 1970."""
        return self._connection.remembered(_NEXT, self._read)

    @property
    def due(self) -> bool:
        """Whether something may be due."""
        return not self.stands and reached(self.next)

    @property
    def last(self) -> int:
        """The time of the last revision, in microseconds since 1970."""
        read = period(str(self._connection.value(_SQL["last_time"])))
        return -ALWAYS if read is None else read[0]

    def changes(self) -> tuple[Ids, Ids, datetime.datetime]:
        """The quads that begin to hold and those that end, int64 [n, 4], until a time, now; the next edge is behind it.

        In a transaction, whose next revision is of that time and makes these changes.
        """
        time = now()
        added, removed = self._validity().changes(microseconds(time), self.last, edges=True)
        self._set(self._validity().next(microseconds(time)))
        return added, removed, time

    @contextlib.contextmanager
    def settling(self, writing: Writing, quads: Ids, since: int) -> Iterator[None]:
        """Have the block change what reifiers say, int64 [n, 4], as if that had been so since a time.

        What began or ended since then, as it was said before or is now, holds if it is said to.
        """
        said = np.unique(quads[np.isin(quads[:, 1], self._validity().roles()), 0])
        if not len(said):
            yield
            return
        before = self._validity().spans().of_reifiers(said)
        yield
        after, present = self._validity().spans().of_reifiers(said), microseconds(now())
        passed = [one.quads[one.passed(since, present).any(axis=0), :4] for one in (before, after)]
        touched = np.unique(np.concatenate(passed), axis=0)
        holding = np.unique(after.quads[after.at(present), :4], axis=0)
        gone, begun = difference(touched, holding), difference(touched, difference(touched, holding))
        there = [position for position, _, _ in find_quads(self._connection, begun)]
        writing.apply(np.delete(begun, there, axis=0), gone)

    def time(self) -> datetime.datetime:
        """The time of a revision that ends: now, or before the first edge that it did not see."""
        time = now()
        if self.stands or microseconds(time) < self.next:
            return time
        return datetime.datetime.fromtimestamp((self.next // 1000 - 1) / 1000, datetime.UTC)

    def begin(self) -> None:
        """Look at the time: what passes while a write lasts is due after it."""
        self.began = now()

    def apply(self, delta: Delta) -> None:
        """Keep the first edge of what is added that lies behind the write's beginning."""
        told = delta.added[np.isin(delta.added[:, 1], self._validity().roles())]
        if not len(told):
            return
        first = self.next
        periods = self._validity().periods(np.unique(told[:, 2]))
        edges = [edge for one in periods for edge in one if edge > microseconds(self.began)]
        self._set(min([first, *edges]))

    def _read(self) -> int:
        stored = self._connection.setting(_NEXT, int)
        return self._validity().next(self.last) if stored is None else stored

    def _set(self, time: int) -> None:
        if str(time) != self._connection.meta(_NEXT):
            self._connection.run(_SQL["set_meta"], (_NEXT, str(time)))
