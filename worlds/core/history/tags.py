"""Tags: names of revisions, such as releases, which may be given wherever a revision may."""

from __future__ import annotations

import datetime
import json
from dataclasses import dataclass
from typing import Any

from worlds.core.history.gate import Gate, Now, remark
from worlds.core.history.history import History, Moment, instant
from worlds.errors import ArgumentError
from worlds.graph.records import Record
from worlds.sql import statements
from worlds.sql.connection import Connection

_QUERIES = statements("queries.sql")
_LONGEST = 200  # characters


@dataclass(frozen=True, slots=True)
class Tag(Record):
    """A name of a revision: when (in UTC), by whom and why it was given.

    `forgotten` is whether history no longer reaches back to the revision (see `World.revisions.prune`).
    """

    name: str
    revision: int
    time: datetime.datetime
    author: str | None = None
    message: str | None = None
    forgotten: bool = False


class Tags:
    """The tags of one world's revisions. They are kept in its file, and name revisions at every door."""

    def __init__(self, connection: Connection, history: History, gate: Gate, now: Now) -> None:
        self._connection = connection
        self._history = history
        self._gate = gate
        self._now = now

    def _require(self, what: str) -> None:
        """Refuse settings, with a ReadOnlyError, where a view does not allow them."""
        raise NotImplementedError

    def tag(
        self, name: str, revision: Moment | None = None, *, author: str | None = None, message: str | None = None
    ) -> Tag:
        """Name a revision, the last one if none is given; in a transaction that has changed something, its own.

        ArgumentError where another revision has the name, and for a name that is empty or a number. Other errors are
        those of `World.diff`.
        """
        self._require("setting tags")
        if not isinstance(name, str) or not name.strip() or name.strip().isdecimal() or len(name) > _LONGEST:
            told = f"a tag must be a text of 1 to {_LONGEST} characters other than a number, not {repr(name)[:99]}"
            raise ArgumentError(told, kind="tag")
        remark("tag", name)
        name, author, message = name.strip(), remark("author", author), remark("message", message)
        with self._connection.transaction():
            number = self._gate.present if revision is None else self._history.check(revision)
            kept = self._kept()
            if name in kept and kept[name]["revision"] != number:
                raise ArgumentError(
                    f"the tag {name!r} is of revision {kept[name]['revision']}; remove it first", kind="tag"
                )
            kept[name] = {"revision": number, "time": instant(self._now()), "author": author, "message": message}
            self._put(kept)
        return self._tag(name, kept[name])

    def list(self) -> tuple[Tag, ...]:
        """The tags in the order of their revisions, then of their times."""
        with self._connection.snapshot():
            found = [self._tag(*item) for item in self._kept().items()]
        return tuple(sorted(found, key=lambda one: (one.revision, one.time)))

    def remove(self, name: str) -> Tag:
        """Remove a tag, and leave its revision; ArgumentError where there is none of this name."""
        self._require("setting tags")
        with self._connection.transaction():
            kept = self._kept()
            if name not in kept:
                raise ArgumentError(f"there is no tag {name!r}", kind="tag")
            gone = self._tag(name, kept.pop(name))
            self._put(kept)
        return gone

    def number(self, revision: Moment) -> int:
        """The number of a revision, given as a number, a tag or a time. Errors are the ones of `World.diff`."""
        return self._history.check(revision)

    def _kept(self) -> dict[str, dict[str, Any]]:
        return dict(self._history.tags)

    def _put(self, kept: dict[str, dict[str, Any]]) -> None:
        self._connection.run(_QUERIES["set_meta"], ("tags", json.dumps(kept, ensure_ascii=False)))

    def _tag(self, name: str, told: dict[str, Any]) -> Tag:
        time = datetime.datetime.fromisoformat(told["time"])
        forgotten = told["revision"] < self._history.first - 1
        return Tag(name, told["revision"], time, told["author"], told["message"], forgotten)

    def __repr__(self) -> str:
        return f"<Revisions: tags {', '.join(one.name for one in self.list()) or 'none'}>"
