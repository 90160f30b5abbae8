"""A connection to a replica whose writes go to the primary.

A transaction runs on the replica, where its statements are recorded; instead of a COMMIT it is rolled back, and the
statements are sent to the primary as one guarded transaction. When the replica's follower has brought them back, it is
over. So a write is made from exactly the state that it replaces, and is visible here when it returns.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from worlds.errors import ConflictError, OpenError, ReadOnlyError, UncertainError, WorldsError
from worlds.sql import Statement, statements
from worlds.sql.connection import Connection, Row
from worlds.sql.drivers import LIBSQL
from worlds.sql.hrana import Hrana, StaleError, Step, Transaction
from worlds.sql.identity import FileIdentity
from worlds.sql.locks import write_lock
from worlds.sql.retry import is_read_once

T = TypeVar("T")

_SQL = statements("remote.sql")
_TRIES = 12
_COMMENT = re.compile(r"\A(?:\s+|--[^\n]*\n)*")
_WRITES = re.compile(r"(?:INSERT|UPDATE|DELETE|REPLACE|CREATE|DROP|ALTER)\b", re.IGNORECASE)
_WITH_WRITES = re.compile(r"\bWITH\b.*?\b(?:INSERT|UPDATE|DELETE|REPLACE)\s+(?:INTO|OR|FROM|\w+\s+SET)\b", re.I | re.S)
_MANY_TERMS = 20_000
_CONTENDED = 1.0  # seconds for which other writers are expected to write again
_LONGEST_SYNC = 600.0  # seconds that bringing a large write may take
_ASKED = 30.0  # seconds to find out whether a write whose answer was lost is there


class LastWrite(NamedTuple):
    """Which state a world is in."""

    number: int
    mark: str | None
    epoch: str | None  # drawn anew when a world is pushed


class RecordingConnection(Connection):
    """A connection to a replica's file.

    `nudge` has the follower bring what is new, and waits for it a moment; it is told the replica's last write where the
    primary is known to have it in its past, so that the follower need not ask.
    `lagging` says how old the replica may be: it raises where it is older.
    """

    rebuilding_pays = 0.01  # the primary sends a page to each replica whenever it leaves its cache of 2 MB

    def __init__(
        self,
        path: str,
        primary: Hrana,
        *,
        nudge: Callable[[LastWrite | None], None],
        lagging: Callable[[], None],
        timeout: float,
        read_only: bool = False,
    ) -> None:
        self._steps: list[Step] | None = None  # while a transaction is recorded
        self._marks: list[int] = []  # how many steps there were at each savepoint
        self._primary = primary
        self._nudge = nudge
        self._lagging = lagging
        self._locked: Transaction | None = None
        self._reopening = False
        self.conflicted = False  # whether the last write that failed did for this reason
        self._contended = -_CONTENDED  # when another writer was last seen to be faster
        super().__init__(path, timeout=timeout, read_only=read_only, driver=LIBSQL)

    def keep_log(self) -> None:
        """The replica has one."""

    def identify(self) -> None:
        """Notice when another file takes this one's place, to open that."""
        self.identity = FileIdentity(self.path, self._stamp())

    # -- statements -----------------------------------------------------------------------------------------------

    def rows(self, statement: str | Statement, parameters: Sequence[object] = ()) -> list[Row]:
        """Run one statement and give all its rows, of the file that is there now; one that writes is recorded."""
        with self.lock:
            self.reopen()
            found = super().rows(statement, parameters)
        if self._steps is not None:
            sql = statement if isinstance(statement, str) else statement.sql
            if _is_write(sql):
                self._steps.append((sql, tuple(parameters)))
        return found

    def script(self, script: str) -> None:
        """Run several statements; none in a transaction, as they cannot be recorded."""
        if self._steps is not None:
            raise WorldsError("the tables of a world on a server are not changed through a replica")
        super().script(script)

    def vacuum(self) -> None:
        """A server has no VACUUM."""
        raise ReadOnlyError(
            f"{self.path} is a replica: a world on a server cannot be compacted, but the file of "
            "`worlds remote pull` can"
        )

    # -- transactions ---------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """A write transaction, or a savepoint inside one: kept on the primary if the block ends, undone if it raises.

        ConflictError if the primary was changed meanwhile, and nothing was kept; UncertainError if it cannot be told
        whether it was kept.
        """
        with self.lock:
            if self._depth == 0:
                self.reopen()
            with super().transaction():
                yield

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let the block's statements read one state of the replica."""
        with self.lock:
            if not (self._depth or self._reading):
                self._lagging()
                self.reopen()
            with super().snapshot():
                yield

    def _agree(self) -> None:
        if not (self._depth or self._reading):
            self._lagging()
            self.reopen()
            self._look()

    def _look(self, *, writing: bool = False) -> None:
        """Forget what was read if the replica has changed; another file in its place is opened between transactions."""
        version = self.value("PRAGMA data_version")
        if version != self._version:
            self._forget()
            self._version = version

    @contextlib.contextmanager
    def _level(self) -> Iterator[None]:
        if self._depth:
            assert self._steps is not None
            mark = len(self._steps)
            try:
                with super()._level():
                    yield
            except BaseException:
                del self._steps[mark:]
                raise
            return
        self.run("BEGIN IMMEDIATE")
        self._depth += 1
        try:
            self._look()
            self._steps = []
            before = self.last_write()
            yield
            steps, self._steps = self._steps, None
            self.run("ROLLBACK")
            self._forget()
            if steps:
                self._send(steps, before)
        except BaseException:
            self.rollbacks += 1
            self._steps = None
            with contextlib.suppress(WorldsError):
                self.run("ROLLBACK")
            self._forget()
            raise
        finally:
            self._steps = None
            self._depth -= 1

    def last_write(self) -> LastWrite:
        """Which state the replica is in."""
        return LastWrite(*self.rows(_SQL["last_write"])[0])

    @property
    def contended(self) -> bool:
        """Whether other writers are writing, so that it pays to hold the lock around a write."""
        return time.monotonic() - self._contended < _CONTENDED

    def anew(self, write: Callable[[], T], *given: object) -> T:
        """Return the result of `write`, done again after a conflict: with the primary's lock then.

        While others are writing, it is locked at once: what is recorded in vain costs both sides more than to wait in
        line. Not inside a transaction, whose other parts cannot be done again, nor where an input is read once only.
        """
        if self.in_transaction or any(map(is_read_once, given)):
            return write()
        for attempt in range(_TRIES):
            self.conflicted = False
            try:
                with self.locking() if attempt or self.contended else contextlib.nullcontext():
                    return write()
            except ConflictError:
                if not self.conflicted or attempt + 1 == _TRIES:
                    raise
                self.retried()
        raise AssertionError

    def _send(self, steps: list[Step], before: LastWrite) -> None:
        """Have the primary do the steps, if it is where the replica is, and wait until they are here."""
        mark = secrets.token_hex(8)
        steps = self._with_index_anew(steps)
        guarded: list[Step] = [
            (_SQL["guard"].sql, before),
            *steps,
            (_SQL["insert_write"].sql, (before.number + 1, mark)),
            (_SQL["forget_writes"].sql, (before.number + 1,)),
        ]
        try:
            try:
                if self._locked is not None:
                    locked, self._locked = self._locked, None
                    locked.finish(guarded)
                else:
                    self._primary.write(guarded)
            except UncertainError as error:
                if not self._kept(mark, error):
                    self.conflicted = True
                    raise ConflictError(f"{error}; it was not kept") from error
        except StaleError as error:
            self.conflicted = True
            self.count_conflict()
            self._contended = time.monotonic()
            raise ConflictError(
                f"{self._primary.named} was changed by another writer while this write was made, and nothing was kept"
            ) from error
        self._bring_back(LastWrite(before.number + 1, mark, before.epoch), before)

    def _with_index_anew(self, steps: list[Step]) -> list[Step]:
        """The steps, with the index of terms by their hash made anew where many are inserted: they come in no order."""
        inserts = [place for place, (sql, _) in enumerate(steps) if sql.startswith("INSERT INTO terms ")]
        rows = sum(sql.count("), (") + 1 for sql, _ in (steps[place] for place in inserts))
        if rows < _MANY_TERMS or rows < self.value(_SQL["last_term"]) * self.rebuilding_pays:
            return steps
        last = inserts[-1] + 1
        return [(_SQL["drop_terms_hash"].sql, ()), *steps[:last], (_SQL["create_terms_hash"].sql, ()), *steps[last:]]

    def _kept(self, mark: str, error: UncertainError) -> bool:
        """Whether a write is on the primary, asked while nobody can be writing; UncertainError if nobody answers."""
        until = time.monotonic() + max(self.timeout, _ASKED)
        while True:
            try:
                with self._primary.lock((_SQL["kept"].sql, (mark,))) as transaction:
                    return bool(transaction.answer)
            except WorldsError as failure:
                if time.monotonic() > until:
                    raise UncertainError(
                        f"{self._primary.named} did not answer, and cannot be asked whether it kept the write: look "
                        f"for {mark!r} in its table writes before the write is done again ({error}; then: {failure})"
                    ) from error
                time.sleep(0.2)

    def _bring(self, there: Callable[[], bool], agreed: LastWrite | None, what: str) -> None:
        """Wait until the follower has brought what is to be there: `timeout` seconds, and longer while it is at work.

        `agreed` is the replica's last write if the primary is known to have it. OpenError if it does not come.
        """
        until = time.monotonic() + max(self.timeout, 1.0)
        while not there():
            late = time.monotonic() - until
            why = self.hindrance() if late > 0 else None
            if late > _LONGEST_SYNC or why is not None:
                raise OpenError(f"{what}: {why or f'the follower of {self.path} is still at work'}")
            self._nudge(agreed)
            agreed = None
            self._follow()  # the transaction is over here

    def _bring_back(self, written: LastWrite, before: LastWrite) -> None:
        """Wait for a write that the primary kept; ConflictError if it was lost again by a primary that was restored."""

        def there() -> bool:
            own = self.last_write()
            mark = self.value(_SQL["mark"], (written.number,)) if own.number >= written.number else written.mark
            if own.epoch != written.epoch or own.number < before.number or mark not in (written.mark, None):
                raise ConflictError(f"{self._primary.named} was restored to an older state, and lost this write")
            return own.number >= written.number

        self._bring(there, before, f"the write is on {self._primary.named}, but has not reached this replica")

    def _catch_up(self, before: LastWrite, asked: Row) -> None:
        """Wait for what the primary had when it was asked whether it has the replica's last write."""
        number, epoch, mark = asked
        agreed = epoch == before.epoch and mark == before.mark and number >= before.number

        def there() -> bool:
            own = self.last_write()
            return own.epoch == epoch and own.number >= number and (agreed or own != before)

        self._bring(there, before if agreed else None, f"the newest state of {self._primary.named} does not arrive")

    def count_conflict(self) -> None:
        """Is called when another writer was faster."""

    def retried(self) -> None:
        """Count a write that is done anew."""

    def hindrance(self) -> str | None:
        """Why nothing comes from the primary; None while something is known to bring it."""
        return "nothing follows it"

    def refresh(self) -> None:
        """Wait until the replica has all that the primary has now."""
        with self.lock:
            before = self.last_write()
            (asked,) = self._primary.rows(_SQL["agree"].sql, (before.number,))
            if not self._depth:
                self._catch_up(before, asked)

    @contextlib.contextmanager
    def locking(self) -> Iterator[None]:
        """Hold the primary's write lock around writes of the block, so that no other writer is first."""
        with self.lock:
            before = self.last_write()
            with self._primary.lock((_SQL["agree"].sql, (before.number,))) as transaction:
                (asked,) = transaction.answer
                if asked[0] != before.number:
                    self._contended = time.monotonic()
                self._catch_up(before, asked)
                self._locked = transaction
                try:
                    yield
                finally:
                    self._locked = None

    # -- the file -------------------------------------------------------------------------------------------------

    def reopen(self) -> None:
        """Open the file that is at the path now, if it is another one than before."""
        if not (self._depth or self._reading or self._reopening):
            self._follow()

    def _follow(self) -> None:
        if self.identity is None:
            return
        try:
            self.identity.check()
            return
        except OpenError:
            pass
        self._reopening = True
        try:
            self._open_anew()
        finally:
            self._reopening = False
        self._write_lock = write_lock(self.file)
        self._version = None
        self._forget()
        self.rollbacks += 1  # whatever was read before may not be there
        for listener in self.replaced:
            listener()

    def _open_anew(self) -> None:
        until = time.monotonic() + max(self.timeout, 1.0)
        while True:
            try:
                self.file = os.path.realpath(self.path)
                self._handle.close()
                self._connect()
                self.identity = FileIdentity(self.path, self._stamp())
                break
            except (WorldsError, OSError) as error:
                if time.monotonic() > until:
                    raise OpenError(f"{self.path}, which was replaced, cannot be opened: {error}") from error
                time.sleep(0.02)


def _is_write(sql: str) -> bool:
    start = _COMMENT.match(sql)
    body = sql[start.end() :] if start else sql
    return bool(_WRITES.match(body)) or (body[:4].upper() == "WITH" and bool(_WITH_WRITES.match(body)))
