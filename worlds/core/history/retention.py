"""How much history is kept, and what is forgotten."""

from __future__ import annotations

import datetime
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from numbers import Integral

from worlds.core.extension import Extension
from worlds.core.history.history import History, instant, is_number, is_whole
from worlds.sql import statements
from worlds.sql.connection import Connection

_QUERIES = statements("queries.sql")
_MERGED = statements("merged.sql")
_SQL = statements("history.sql")
_MOST_DAYS = 1_000_000


@dataclass(frozen=True, slots=True)
class Retention:
    """The history to keep: the newest `revisions`, and all revisions of the last `days`; None sets no bound.

    A revision is forgotten when none of the bounds that are set keeps it. Without any, all history is kept.
    """

    revisions: int | None = None
    days: float | None = None

    def __post_init__(self) -> None:
        if self.revisions is not None and not is_whole(self.revisions):
            raise ValueError(f"revisions must be a whole number from 0 on, or None, not {self.revisions!r}")
        if self.days is not None and not (is_number(self.days) and 0 <= self.days < _MOST_DAYS):
            raise ValueError(f"days must be a number from 0 to a million, or None, not {self.days!r}")


class Forgetting:
    """Forgets the revisions of one world that need not be kept.

    From the last revision before a fact came due they are kept: what came later would be taken for a decision.
    """

    def __init__(self, connection: Connection, history: History, extensions: Sequence[Extension]) -> None:
        self._connection = connection
        self._history = history
        self._extensions = extensions

    @property
    def retention(self) -> Retention:
        """The retention setting of the file: the history to keep."""
        return self._connection.setting("retention", lambda stored: Retention(**json.loads(stored))) or Retention()

    def set_retention(self, retention: Retention) -> None:
        """Store another one. In a transaction."""
        if not isinstance(retention, Retention):
            raise TypeError(f"a retention must be a Retention, not {retention!r}")
        self._connection.run(_QUERIES["set_meta"], ("retention", json.dumps(asdict(retention))))

    @property
    def limited(self) -> bool:
        """Whether there is something that is not kept for ever."""
        return self._connection.meta("retention") is not None

    def retain(self) -> None:
        """Prune the revisions beyond the retention."""
        retention = self.retention
        if retention == Retention():
            return
        with self._connection.snapshot():
            first = self._kept_from(retention)
            due = first > self._history.first
        if due:
            with self._connection.transaction():
                self.prune(self._kept_from(retention))

    def _kept_from(self, retention: Retention) -> int:
        bounds = []
        if retention.revisions is not None:
            bounds.append(self._history.last + 1 - retention.revisions)
        if retention.days is not None:
            now = datetime.datetime.now(datetime.UTC)
            bounds.append(self._first_since(now - datetime.timedelta(days=retention.days)))
        return max(min(bounds), 1)

    def _first_since(self, time: datetime.datetime) -> int:
        statement = _SQL["first_since"]
        found = self._connection.value(statement, statement.bind(first=self._history.first, time=instant(time)))
        return self._history.last + 1 if found is None else int(found)

    def _first_due(self) -> int | None:
        return min((due for one in self._extensions if (due := one.first_due()) is not None), default=None)

    def prune(self, before: object) -> int:
        """Delete the history before a revision or a time; returns the number of revisions. Needs a transaction."""
        first, last = self._history.first, self._history.last
        if isinstance(before, datetime.datetime):
            target = self._first_since(before)
        elif is_number(before) and isinstance(before, Integral):
            target = int(before)
        else:
            raise TypeError(f"revisions are forgotten before a number or a datetime, not before {before!r}")
        if target > last + 1:
            raise ValueError(f"there is no revision {target}: the last one is {last}; {last + 1} forgets all")
        if target > first and (due := self._first_due()) is not None:
            time = datetime.datetime.fromtimestamp(due / 1_000_000, datetime.UTC)
            statement = _SQL["before"]
            target = min(target, self._connection.value(statement, statement.bind(time=instant(time))) or first)
        if target <= first:
            return 0
        self._connection.run(_SQL["forget_removed"], (target,))
        self._connection.run(_SQL["forget_revisions"], (target,))
        self._connection.run(_MERGED["forget_before"], (target,))
        self._connection.run(_QUERIES["set_meta"], ("history_from", target))
        return target - first
