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

from worlds.errors import ConflictError, OpenError, ReadOnlyError, UncertainError, WorldsError
from worlds.sql import Statement, statements
from worlds.sql.connection import Connection, Row, write_lock
from worlds.sql.hrana import Hrana, StaleError, Step, Transaction
from worlds.sql.identity import Identity

_SQL = statements("remote.sql")
_COMMENT = re.compile(r"\A(?:\s+|--[^\n]*\n)*")
_WRITES = re.compile(r"(?:INSERT|UPDATE|DELETE|REPLACE|CREATE|DROP|ALTER)\b", re.IGNORECASE)
_WITH_WRITES = re.compile(r"\bWITH\b.*?\b(?:INSERT|UPDATE|DELETE|REPLACE)\s+(?:INTO|OR|FROM|\w+\s+SET)\b", re.I | re.S)
_LONGEST_WAIT = 0.05  # seconds between two looks whether the follower has brought a write
_LONGEST_SYNC = 600.0  # seconds that bringing a large write may take
_ASKED = 30.0  # seconds to find out whether a write whose answer was lost is there


class RecordingConnection(Connection):
    """A connection to a replica's file. `nudge` has the follower look for something new at once.

    `lagging` says how old the replica may be: it raises where it is older. `changed` is called when another file has
    taken the replica's place.
    """

    def __init__(
        self,
        path: str,
        primary: Hrana,
        *,
        nudge: Callable[[], None],
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
        self.changed: list[Callable[[], None]] = []
        self.conflicts = 0  # writes that another writer was faster than
        self.conflicted = False  # whether the last write that failed did for this reason
        super().__init__(path, timeout=timeout, read_only=read_only)

    def keep_log(self) -> None:
        """The replica has one."""

    def identify(self) -> None:
        """Notice when another file takes this one's place, to open that."""
        self.identity = Identity(self.path, self._stamp())

    # -- statements -----------------------------------------------------------------------------------------------

    def rows(self, statement: str | Statement, parameters: Sequence[object] = ()) -> list[Row]:
        """Run one statement and give all its rows; one that writes is recorded."""
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
        raise ReadOnlyError(f"{self.path} is a replica: a server's world cannot be compacted; `worlds pull` copies it")

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
            self.reopen()
            self._look()

    def _look(self) -> None:
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
            before = self.writes()
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

    def writes(self) -> int:
        """How many writes the world has had, as this replica has it."""
        return int(self.value(_SQL["writes"]))

    def _send(self, steps: list[Step], before: int) -> None:
        """Have the primary do the steps, if it is where the replica is, and wait until they are here."""
        mark = secrets.token_hex(8)
        guarded: list[Step] = [
            (_SQL["guard"].sql, (before,)),
            *steps,
            (_SQL["insert_write"].sql, (before + 1, mark)),
            (_SQL["forget_writes"].sql, (before + 1,)),
        ]
        try:
            try:
                if self._locked is not None:
                    locked, self._locked = self._locked, None
                    locked.send(guarded)
                    locked.commit()
                else:
                    self._primary.write(guarded)
            except UncertainError as error:
                if not self._kept(mark, error):
                    self.conflicted = True
                    raise ConflictError(f"{error}; it was not kept") from error
        except StaleError as error:
            self.conflicts += 1
            self.conflicted = True
            self._nudge()
            raise ConflictError(
                f"{self._primary.named} was changed by another writer while this write was made, and nothing was kept"
            ) from error
        self.await_write(before + 1, mark)

    def _kept(self, mark: str, error: UncertainError) -> bool:
        """Whether a write is on the primary, asked while nobody can be writing; UncertainError if nobody answers."""
        until = time.monotonic() + max(self.timeout, _ASKED)
        while True:
            try:
                with self._primary.lock() as transaction:
                    return bool(transaction.rows(f"SELECT 1 FROM writes WHERE mark = '{mark}'"))
            except WorldsError as failure:
                if time.monotonic() > until:
                    raise UncertainError(
                        f"{self._primary.named} did not answer, and cannot be asked whether it kept the write: look "
                        f"for {mark!r} in its table writes before the write is done again ({error}; then: {failure})"
                    ) from error
                time.sleep(0.2)

    def await_write(self, number: int, mark: str | None = None) -> None:
        """Wait until the follower has brought a write: `timeout` seconds, and longer while it is at work.

        OpenError if it does not.

        A write that was kept, and then undone by a restored primary, is a ConflictError.
        """
        until = time.monotonic() + max(self.timeout, 1.0)
        wait = 0.0005
        while True:
            self._nudge()
            self._follow()  # the transaction is over here
            if self.writes() >= number:
                found = self.value(_SQL["mark"], (number,))
                if mark is None or found == mark or found is None:
                    return
                raise ConflictError(f"{self._primary.named} was restored to an older state, and lost this write")
            late = time.monotonic() - until
            if late > _LONGEST_SYNC or (late > 0 and self.stalled()):
                raise OpenError(
                    f"the write is on {self._primary.named}, but has not come back to {self.path}: "
                    f"`worlds replica` says what its follower does"
                )
            time.sleep(wait)
            wait = min(wait * 2, _LONGEST_WAIT)

    def stalled(self) -> bool:
        """Whether nothing is known to bring the replica what the primary has."""
        return True

    def refresh(self) -> None:
        """Wait until the replica has all that the primary has now."""
        ((number,),) = self._primary.rows(_SQL["writes"].sql)
        with self.lock:
            if not self._depth:
                self.await_write(int(number or 0))

    @contextlib.contextmanager
    def locking(self) -> Iterator[None]:
        """Hold the primary's write lock around writes of the block, so that no other writer is first."""
        with self.lock, self._primary.lock() as transaction:
            ((number,),) = transaction.rows(_SQL["writes"].sql)
            self.await_write(int(number))
            self._locked = transaction
            try:
                yield
            finally:
                self._locked = None

    # -- the file -------------------------------------------------------------------------------------------------

    def reopen(self) -> None:
        """Open the file that is at the path now, if it is another one than before."""
        if not (self._depth or self._reading):
            self._follow()

    def _follow(self) -> None:
        if self.identity is None:
            return
        try:
            self.identity.check()
            return
        except OpenError:
            pass
        until = time.monotonic() + max(self.timeout, 1.0)
        while True:
            try:
                self.file = os.path.realpath(self.path)
                self._driver.close()
                self._connect()
                self.identity = Identity(self.path, self._stamp())
                break
            except (WorldsError, OSError) as error:
                if time.monotonic() > until:
                    raise OpenError(f"{self.path}, which was replaced, cannot be opened: {error}") from error
                time.sleep(0.02)
        self._write_lock = write_lock(self.file)
        self._version = None
        self._forget()
        self.rollbacks += 1  # whatever was read before may not be there
        for listener in self.changed:
            listener()


def _is_write(sql: str) -> bool:
    start = _COMMENT.match(sql)
    body = sql[start.end() :] if start else sql
    return bool(_WRITES.match(body)) or (body[:4].upper() == "WITH" and bool(_WITH_WRITES.match(body)))
