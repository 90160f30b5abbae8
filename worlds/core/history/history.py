"""The history of a world: its revisions, what they did, how the world was.

Nothing is recorded here. The gate keeps each quad's revision, and the quads that were removed; all else follows from
these. A revision that was forgotten (`revisions.prune`) takes the quads along that it had removed.
"""

from __future__ import annotations

import datetime
import json
import uuid
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass, fields, replace
from numbers import Integral, Real
from typing import Annotated, Any, TypeAlias

import numpy as np
import pyoxigraph as ox

from worlds.core.history.diff import Diff
from worlds.core.history.edits import InWorld
from worlds.core.quads.dictionary import Dictionary, Ids
from worlds.core.quads.rows import difference
from worlds.core.texts.chunks import ChunkStore
from worlds.errors import ArgumentError, WorldsError
from worlds.graph.records import Count, Number, Record, Spare
from worlds.graph.tabular import Tabular
from worlds.sql import Statement, statements
from worlds.sql.bound_values import reading
from worlds.sql.connection import Connection, Row

_QUERIES = statements("queries.sql")
_SQL = statements("history.sql")
_PAGE = 50_000  # rows read at a time
NEVER = 2**31 - 1
"""Later than any revision."""
_PATCHES = uuid.UUID("5d0e6f3c-1c52-4d2c-9a57-6a5f1c3f2b10")  # what the names of patches are made in


@dataclass(frozen=True, slots=True)
class Entry(Record):
    """One revision: its time (UTC), author and message, and the numbers of quads added and removed.

    `created` and `dropped` are the numbers of named graphs that came to exist, or ceased to, apart from their quads.
    `undoes` is the revision that it took back, `undone_by` the one that took it back and was not taken back itself.
    `tags` are the names that were given to it.
    Of an accepted proposal, `author` gave the change as it was accepted, `proposer` proposed it first, and `reviewer`
    accepted it; `proposal` is its number. `purged` is the number of its quads, added or removed, of which nothing is
    left: it cannot be undone as a whole, and `at` and `diff` do not show them.
    """

    revision: Number
    time: datetime.datetime
    author: str | None
    message: str | None
    added: Count
    removed: Count
    created: Count = 0
    dropped: Count = 0
    undoes: int | None = None
    undone_by: int | None = None
    tags: tuple[str, ...] = ()
    proposal: int | None = None
    proposer: str | None = None
    reviewer: str | None = None
    purged: Annotated[Count, Spare] = 0


_DECIDED = ("proposal", "proposer", "reviewer")


class Entries(list[Entry], Record, Tabular):
    """Revisions, newest first: a list, and a table."""

    _also = ("revisions",)

    @property
    def revisions(self) -> tuple[Entry, ...]:
        """All revisions that are listed."""
        return tuple(self)

    @property
    def _columns(self) -> list[str]:
        return [field.name for field in fields(Entry)]

    def to_dicts(self) -> list[dict[str, Any]]:
        """One dict for each revision, with the fields of `Entry`."""
        return [asdict(entry) for entry in self]


Moment: TypeAlias = int | datetime.datetime | str
"""A revision: its number, or a time, with its zone, for the last one up to it; as a text also a tag's name."""


class History:
    """The history of one world."""

    def __init__(self, connection: Connection, dictionary: Dictionary, chunks: ChunkStore) -> None:
        self.connection = self._connection = connection
        self._dictionary = dictionary
        self._chunks = chunks

    # -- revisions ------------------------------------------------------------------------------------------------

    @property
    def last(self) -> int:
        """The number of the last revision, 0 for a world without one."""
        return int(self._connection.value(_QUERIES["last_revision"]))

    @property
    def first(self) -> int:
        """The first revision that was not pruned; states are known from the one before it on."""
        return self._connection.setting("history_from", int) or 1

    def entries(
        self,
        limit: int | None,
        *,
        author: str | None = None,
        message: str | None = None,
        since: datetime.datetime | str | None = None,
        until: datetime.datetime | str | None = None,
        before: int | None = None,
        among: set[int] | None = None,
    ) -> Entries:
        """The revisions, newest first; see `World.history`. `among` are numbers."""
        if limit is not None and not is_whole(limit):
            raise ValueError(f"limit must be a whole number from 0 on, or None, not {limit!r}")
        if before is not None and not is_whole(before):
            raise ValueError(f"before is the number of a revision, or None, not {before!r}")
        begin, end = (
            None if time is None else instant(_read_time(name, time) if isinstance(time, str) else time)
            for name, time in (("since", since), ("until", until))
        )
        filtered = any(given is not None for given in (author, message, begin, end, among))
        most = -1 if limit is None or filtered else min(int(limit), NEVER)
        with self._connection.snapshot():
            below = NEVER if before is None else min(int(before), NEVER)
            statement = _SQL["entries"]
            rows = self._connection.rows(statement, statement.bind(first=self.first, before=below, limit=most))
            if filtered:
                rows = [
                    row
                    for row in rows
                    if (among is None or row[0] in among)
                    and (begin is None or row[1] >= begin)
                    and (end is None or row[1] <= end)
                    and (author is None or row[2] == author)
                    and (message is None or message.casefold() in (row[3] or "").casefold())
                ]
            return Entries(self._entries(rows if limit is None else rows[: int(limit)]))

    def numbered(self, revisions: Collection[int]) -> dict[int, Entry]:
        """Number → revision, for the given revisions that are not forgotten."""
        rows = self._connection.rows(_SQL["numbered"], (json.dumps(sorted(revisions)),))
        return {entry.revision: entry for entry in self._entries(rows) if entry.revision >= self.first}

    def _entries(self, rows: Iterable[Row]) -> list[Entry]:
        undone = self._undone()
        with reading("the time of a revision"):
            found = [Entry(row[0], datetime.datetime.fromisoformat(row[1]), *row[2:9]) for row in rows]
        purged = {row[0]: row[9] for row in rows}
        tags: dict[int, tuple[str, ...]] = {}
        for name, told in self.tags.items():
            tags[told["revision"]] = (*tags.get(told["revision"], ()), name)
        numbers = (json.dumps([entry.revision for entry in found]),)
        accepted = {row[0]: row[1:] for row in self._connection.rows(_SQL["accepted_as"], numbers)}
        nobody = (None, None, None)
        return [
            replace(
                entry,
                undone_by=undone.get(entry.revision),
                tags=tags.get(entry.revision, ()),
                purged=purged[entry.revision],
                **dict(zip(_DECIDED, decided, strict=True)),
            )
            for entry in found
            for decided in [accepted.get(entry.revision, nobody)]
        ]

    def _undone(self) -> dict[int, int]:
        """Revision → the revision that undid it, where that undo was not undone itself."""
        undone: dict[int, int] = {}
        for number, undoes in self._connection.rows(_SQL["undoing"]):  # the newest first: it is settled who stands
            if number not in undone:
                undone.setdefault(undoes, number)
        return undone

    @property
    def tags(self) -> dict[str, dict[str, Any]]:
        """The tags by their names: the revision, and when, by whom and why it was named."""
        return self._connection.setting("tags", json.loads) or {}

    def _named(self, text: str) -> int | datetime.datetime:
        """The revision that a text names: a tag, a number, or a time by ISO 8601, of UTC where it names no zone."""
        if (found := self.tags.get(text)) is not None:
            number: int = found["revision"]
            if number < self.first - 1:
                told = f"the tag {text!r} is of revision {number}, which is forgotten: history begins with revision"
                raise WorldsError(f"{told} {self.first}", kind="revision")
            return number
        if text.isdecimal() and len(text) < 20:
            return int(text)
        try:
            return _read_time("a revision", text)
        except ArgumentError:
            known = f"its tags are {', '.join(map(repr, self.tags))}" if self.tags else "it has no tags"
            told = f"{text[:99]!r} is not a tag of this world ({known}), a revision number or a time such as 2025-01-31"
            raise ArgumentError(told, kind="revision") from None

    def _now(self) -> int:
        """The last revision, or the one that is being written."""
        return self.last + (1 if self._connection.in_transaction else 0)

    def check(self, revision: object) -> int:
        """The number of a revision whose state is known; 0 is the world before the first.

        A time stands for the last revision up to it; a text is a tag, a number or a time.
        """
        if isinstance(revision, str):
            revision = self._named(revision)
        if isinstance(revision, datetime.datetime):
            statement = _SQL["before_time"]
            found = self._connection.value(statement, statement.bind(first=self.first, time=instant(revision)))
            if found is None and self.first > 1:
                raise WorldsError(f"the state at {revision} is gone: the history was pruned", kind="revision")
            return found or 0
        if not is_number(revision) or not isinstance(revision, Integral):
            raise TypeError(f"a revision must be a whole number, not {revision!r}")
        number, last = int(revision), self.last
        if number < 0 or number > last:
            raise ArgumentError(f"there is no revision {number}: the last one is {last}", kind="revision")
        self.require(number, self.first - 1)
        return number

    def require(self, revision: int, first: int) -> None:
        """WorldsError for a revision before `first`, which is forgotten."""
        if revision < first:
            told = f"revision {revision} is forgotten: history begins with revision {self.first}"
            raise WorldsError(told, kind="revision")

    # -- states ---------------------------------------------------------------------------------------------------

    def _rows(self, statement: Statement, **parameters: int) -> Ids:
        """All rows of a statement, which pages by `page`, int64 [n, columns]."""
        pages: list[Ids] = []
        while True:
            bound = statement.bind(limit=_PAGE, **parameters)
            last, page = self._connection.page(statement, bound, after=parameters["page"])
            pages.append(page)
            if last is None:
                return np.concatenate(pages)
            parameters["page"] = last

    def held(self, after: int, last: int) -> Ids:
        """Quads that hold now, with the revision that added them, after one and up to another: int64 [n, 5]."""
        first = self._connection.value(_SQL["first_quad"], _SQL["first_quad"].bind(after=after, last=last))
        return self._rows(_SQL["held_rows"], page=first - 1 if after >= self.first - 1 else 0, after=after, last=last)

    def gone(self, removed_after: int, last: int) -> Ids:
        """Quads removed after one revision and added up to another, with both revisions: int64 [n, 6]."""
        first = self._connection.value(_SQL["first_removed"], (removed_after,))
        if first is None:
            return np.empty((0, 6), dtype=np.int64)
        return self._rows(_SQL["removed_rows"], page=first - 1, removed_after=removed_after, last=last)

    def count(self, revision: int) -> int:
        """The number of quads after a revision."""
        with self._connection.snapshot():
            revision = self.check(revision)
            return int(self._connection.value(_SQL["count_at"], (revision,)))

    def state(self, revision: int) -> Ids:
        """The quads after a revision, markers included, with the revisions that had added them: int64 [n, 5]."""
        with self._connection.snapshot():
            revision = self.check(revision)
            return np.concatenate([self.held(0, revision), self.gone(revision, revision)[:, :5]])

    def changed(self, a: int, b: int) -> tuple[Ids, Ids]:
        """The quads added and the quads removed between two states, int64 [n, 4] each."""
        first, last = sorted((a, b))
        held, gone = self.held(first, last), self.gone(first, last)
        came = (gone[:, 4] > first) & (gone[:, 5] > last)
        went = (gone[:, 4] <= first) & (gone[:, 5] <= last)
        later = np.concatenate([held[:, :4], gone[came, :4]])
        earlier = gone[went, :4]
        # What was removed and added again in between stands in both.
        added, removed = difference(later, earlier), difference(earlier, later)
        if a > b:
            added, removed = removed, added
        return added, removed

    def diff(self, a: Moment, b: Moment | None) -> Diff:
        """The difference between two states; `b` None is the world as it is now, an open transaction included."""
        with self._connection.snapshot():
            a = self.check(a)
            b = self._now() if b is None else self.check(b)
            first, last = sorted((a, b))
            added, removed = self.changed(a, b)
            found = self._between(a, b, added, removed)
            if purged := self._connection.rows(_SQL["purged"], _SQL["purged"].bind(after=first, last=last)):
                shown = ", ".join(str(number) for (number,) in purged)
                found.notes += (f"some quads were purged, and are not listed, of revisions {shown}",)
        return found

    @property
    def around(self) -> InWorld:
        """A look-up of labels, classes and the holders of blank nodes for quads."""
        return InWorld(self._connection, self._dictionary, self._chunks.policy)

    def rehearsed(self, added: Ids, removed: Ids) -> Diff:
        """Decode the changes of an open write that is about to be undone."""
        last = self.last
        return self._between(last, last + 1, added, removed)

    def _between(self, a: int, b: int, added: Ids, removed: Ids) -> Diff:
        headers = {"id": self.name(b), "prev": self.name(a)}
        found = Diff(self._dictionary, a, b, added, removed, {key: value for key, value in headers.items() if value})
        if self._connection.in_transaction:  # one that is undone frees its ids, which may come to mean other terms
            found.added.read()
            found.removed.read()
        found.around = self.around
        return found

    def name(self, revision: int) -> ox.NamedNode | None:
        """The name of the state after a revision in patches: the same in every copy of the world."""
        row = self._connection.row(_SQL["entry"], (revision,))
        if row is None:
            return None
        return ox.NamedNode(uuid.uuid5(_PATCHES, json.dumps([self._connection.meta("created"), *row])).urn)


def is_number(value: object) -> bool:
    """Whether it is a real number, Python's or NumPy's."""
    return isinstance(value, Real) and not isinstance(value, bool)


def is_whole(value: object) -> bool:
    """Whether it is a whole number, Python's or NumPy's, from 0 on."""
    return is_number(value) and isinstance(value, Integral) and int(value) >= 0


def instant(time: datetime.datetime) -> str:
    """A time as revisions have it; ValueError for one without a zone."""
    if not isinstance(time, datetime.datetime):
        raise TypeError(f"a time must be a datetime, not {time!r}")
    if time.tzinfo is None:
        raise ValueError(f"{time!r} has no time zone: use a time such as datetime.now(UTC)")
    return time.astimezone(datetime.UTC).isoformat(timespec="milliseconds")


def _read_time(name: str, text: str) -> datetime.datetime:
    """A time by ISO 8601, of UTC where it names no zone; ArgumentError."""
    try:
        time = datetime.datetime.fromisoformat(text)
    except ValueError:
        told = f"{name} must be a time such as 2026-05-01 or 2026-05-01T12:00:00Z, not {text[:40]!r}"
        raise ArgumentError(told, kind="time") from None
    return time if time.tzinfo else time.replace(tzinfo=datetime.UTC)
