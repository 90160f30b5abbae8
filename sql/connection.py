"""A connection to one database, by one of the drivers: statements, transactions, and what stays read between them."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, TypeVar
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from worlds.errors import ConflictError, OpenError, ReadOnlyError, WorldsError
from worlds.sql import Statement, texts, writes
from worlds.sql.bound_values import bound, integers, paged, reading, stacked
from worlds.sql.drivers import AUTO, LIBSQL, choose, native
from worlds.sql.drivers import Row as Row
from worlds.sql.failures import fail
from worlds.sql.identity import GONE, FileHeader, FileIdentity, new_stamp
from worlds.sql.locks import write_lock

T = TypeVar("T")

_log = logging.getLogger("worlds")

_LONGEST_TIMEOUT = 2_000_000.0  # seconds; SQLite counts milliseconds in 31 bits
_ROWS_PER_INSERT = 200
CACHE = 131072
"""KB of pages."""


class Connection:
    """One connection to one database, for use by many threads; every call holds `lock`."""

    rebuilding_pays = 1.0
    """How many rows, of those in a table, must be new for its indexes to be made anew rather than added to."""

    def __init__(
        self,
        path: str,
        *,
        read_only: bool = False,
        immutable: bool = False,
        create: bool = True,
        durability: str = "normal",
        timeout: float = 10.0,
        encryption_key: str | None = None,
        driver: str = AUTO,
        better: str = LIBSQL,
    ) -> None:
        driver = driver if encryption_key is None else native(driver, "encryption")
        self.path = path  # as the caller wrote it
        self.file = path if path == ":memory:" else os.path.realpath(path)  # also after a change of folder
        self.read_only = read_only
        self.replaced: list[Callable[[], None]] = []  # called when another file has taken this one's place
        self.timeout = min(timeout, _LONGEST_TIMEOUT)
        self.encryption_key = encryption_key
        self.lock = threading.RLock()
        self._watch: Callable[[str, Sequence[object]], object] | None = None
        self.identity: FileIdentity | None = None  # until `identify`
        self.closed = False
        self._chosen = driver == AUTO and self.file != ":memory:"  # so that another may take its place
        with _choosing:
            self.driver = choose(driver, used_driver(self.file), path, better=better)
            _connections.add(self)
        self._write_lock = write_lock(self.file)
        self._changes = 0  # rows written up to the last commit
        self._depth = 0  # of nested write transactions
        self._reading = False
        self._meta: dict[str, Any] | None = None  # as it was read since it was written last
        self._memory: dict[Hashable, Any] = {}  # what was read since anything was written last
        self._version: object = None  # SQLite's data_version then, which other connections' writes change
        self.rollbacks = 0  # at any level; what was read inside such a transaction may never have been
        self.renewed = 0  # how often another database took its place
        self._process = os.getpid()
        # In a folder that cannot be written to, SQLite opens a WAL database only if told that nobody writes it.
        self._options = "immutable=1" if immutable else "" if create or path == ":memory:" else "mode=rw"
        self.durability = durability
        self._connect()

    def _connect(self) -> None:
        try:
            self._handle = self.driver.connect(self.file, self._options, self.encryption_key)
        except BaseException as error:
            self.closed = True
            fail(error, self.path)
        try:
            self._configure(self.durability)
        except BaseException:
            self.close()
            raise

    def take(self, name: str) -> bool:
        """Go on with another driver, unless this one was asked for; OpenError where the file is open here twice."""
        with self.lock, _choosing:
            self._check_open()
            if not self._chosen or self._depth or self._reading:
                return self.driver.name == name
            driver = choose(name, used_driver(self.file, self), self.path, better=name)
            self._handle.close()
            self.driver = driver
            self._connect()
            self._forget()
            self.rollbacks += 1  # whatever was attached is gone
            return True

    def _configure(self, durability: str) -> None:
        # A recursive trigger keeps the full-text index right under REPLACE, which we don't use but others may.
        self._handle.wait(self.timeout)
        self.script(
            "PRAGMA recursive_triggers = ON;"
            "PRAGMA trusted_schema = OFF;"
            f"PRAGMA cache_size = -{CACHE};"
            "PRAGMA temp_store = MEMORY;"
            "PRAGMA mmap_size = 8589934592;"
            f"PRAGMA synchronous = {'FULL' if durability == 'full' else 'NORMAL'};"
            f"PRAGMA query_only = {'ON' if self.read_only else 'OFF'}"
        )

    def keep_log(self) -> None:
        """Make the database one that writes a log ahead (WAL), for good. Not before it is known to be a world."""
        deadline = time.monotonic() + self.timeout
        while not self.read_only:
            try:
                self.run("PRAGMA journal_mode = WAL")
            except ConflictError:  # SQLite does not wait here: two that have read the file would wait for each other
                if time.monotonic() >= deadline:
                    raise
                time.sleep(0.005)
            else:
                return

    def identify(self) -> None:
        """From here on, notice when another file takes this one's place: transactions and snapshots raise OpenError."""
        if self.path == ":memory:":
            return
        try:
            header = FileHeader(self.file)  # which stays open: its end would take SQLite's locks away
        except FileNotFoundError as error:
            raise OpenError(f"{self.path} is not there any longer: it was removed or renamed", kind=GONE) from error
        stamp = header.stamp() or self._stamp()
        if not stamp and not self.read_only:
            with self.transaction():
                stamp = self.stamp()
        self.identity = FileIdentity(self.file, stamp, header)

    def stamp(self) -> int:
        """The file's stamp, which it gets unless it has one. In a transaction."""
        if not self._stamp():
            self.run(f"PRAGMA user_version = {new_stamp()}")
        return self._stamp()

    def _stamp(self) -> int:
        return int(self.value("PRAGMA user_version"))

    # -- statements -----------------------------------------------------------------------------------------------

    def rows(self, statement: str | Statement, parameters: Sequence[object] = ()) -> list[Row]:
        """Run one statement and give all its rows."""
        sql = statement if isinstance(statement, str) else statement.sql
        with self.lock:
            self._check_open()
            if writes(sql):
                self._forget("meta" in sql)
            if self._watch is not None:
                self._watch(sql, parameters)
            try:
                return self._handle.rows(sql, bound(parameters))
            except BaseException as error:
                fail(error, self.path)

    def row(self, statement: str | Statement, parameters: Sequence[object] = ()) -> Row | None:
        """Run one statement and give its first row, None if there is none."""
        rows = self.rows(statement, parameters)
        return rows[0] if rows else None

    def value(self, statement: str | Statement, parameters: Sequence[object] = ()) -> Any:
        """Run one statement and give the first column of its first row, None if there is none."""
        row = self.row(statement, parameters)
        return None if row is None else row[0]

    def columns(self, statement: str | Statement, parameters: Sequence[object] = ()) -> list[NDArray[np.int64]]:
        """Run one statement and give the columns of its one row, each a group_concat of integers, as int64 [n].

        So read, a million rows cost a tenth of what they cost one by one. NULL is a column without rows.
        """
        return [integers(column) for column in self.rows(statement, parameters)[0]]

    def column(self, statement: str | Statement, parameters: Sequence[object] = ()) -> NDArray[np.int64]:
        """The first of `columns`."""
        return self.columns(statement, parameters)[0]

    def table(self, statement: str | Statement, parameters: Sequence[object] = ()) -> NDArray[np.int64]:
        """The `columns` side by side, int64 [n, columns]."""
        return stacked(self.columns(statement, parameters), 1)

    def stack(self, statement: str | Statement, parameters: Sequence[object] = ()) -> NDArray[np.int64]:
        """The `columns` one below the other, int64 [columns, n]."""
        return stacked(self.columns(statement, parameters), 0)

    def page(
        self, statement: str | Statement, parameters: Sequence[object] = (), *, after: int | None = None
    ) -> tuple[int | None, NDArray[np.int64]]:
        """The last id of a page, None behind the last page, and its `columns` side by side, int64 [n, columns].

        IntegrityError if the page does not lead beyond the id `after`: a damaged file would give it for ever.
        """
        return paged(self.rows(statement, parameters)[0], after)

    def meta(self, name: str) -> Any:
        """The value of a name in the table meta, None for nothing; the table is read once while it stays as it is."""
        with self.lock:
            self._agree()
            if self._meta is None:
                self._meta = dict(self.rows("SELECT name, value FROM meta"))
            return self._meta.get(name)

    def setting(self, name: str, read: Callable[[Any], T]) -> T | None:
        """The setting that `read` makes of a value in the table meta, None without it; IntegrityError if it cannot."""
        stored = self.meta(name)
        if stored is None:
            return None
        with reading(f"its setting {name}"):
            return read(stored)

    def remembered(self, name: Hashable, read: Callable[[], T]) -> T:
        """The value of `read`, which nobody may change; it is called once while the file stays as it is."""
        with self.lock:
            self._agree()
            while name not in self._memory:
                version, found = self._version, read()
                if version == self._version:  # else it may be a part of the state before
                    self._memory[name] = found
            remembered: T = self._memory[name]
            return remembered

    def state(self) -> object:
        """An object that stays the same as long as nobody changes the file."""
        return self.remembered("state", object)

    @property
    def version(self) -> object:
        """The version that other connections left, as it was looked at last: another one once they have written."""
        return self._version

    def _agree(self) -> None:
        """Forget what other connections have changed; in a transaction they cannot."""
        if not (self._depth or self._reading):
            self._look()

    def _look(self, *, writing: bool = False) -> None:
        if self.identity is not None:
            self.identity.check(writing=writing)
        version = self.value("PRAGMA data_version")
        if version != self._version:
            self._forget()
            self._version = version

    def _forget(self, meta: bool = True) -> None:
        self._memory.clear()
        if meta:
            self._meta = None

    def run(self, statement: str | Statement, parameters: Sequence[object] = ()) -> None:
        """Run one statement for its effect."""
        self.rows(statement, parameters)

    def insert(self, into: str, rows: Sequence[Row]) -> None:
        """Insert rows of one length, many by each statement `into … VALUES`: twice as fast as `executemany`."""
        for start in range(0, len(rows), _ROWS_PER_INSERT):
            batch = rows[start : start + _ROWS_PER_INSERT]
            marks = f"({', '.join('?' * len(batch[0]))})"
            self.run(f"{into} VALUES {', '.join([marks] * len(batch))}", [value for row in batch for value in row])

    def script(self, script: str) -> None:
        """Run several statements."""
        with self.lock:
            self._check_open()
            self._forget()
            try:
                self._handle.script(script)
            except BaseException as error:
                fail(error, self.path)

    def attach(self, statement: str | Statement) -> None:
        """Make a temporary table that only shows what others hold; a read-only connection may do so too."""
        sql = statement if isinstance(statement, str) else statement.sql
        with self.lock:
            self._check_open()
            try:
                for each in ("PRAGMA query_only = OFF", sql, "PRAGMA query_only = ON") if self.read_only else (sql,):
                    self._handle.rows(each, ())
            except BaseException as error:
                fail(error, self.path)

    def interrupt(self) -> None:
        """Stop the statement that another thread runs, where the driver can: QueryError there."""
        with contextlib.suppress(Exception):  # it is being closed
            self._handle.interrupt()

    def copy(self, path: str) -> bool:
        """Write all pages into the file at `path`, as this connection sees them; False where its driver cannot."""
        with self.lock:
            self._check_open()
            try:
                return self._handle.copy(path)
            except BaseException as error:
                fail(error, self.path)

    # -- transactions ---------------------------------------------------------------------------------------------

    @property
    def in_transaction(self) -> bool:
        """Whether a write transaction is open."""
        return self._depth > 0

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """A write transaction, or a savepoint inside one: kept if the block ends, undone if it raises.

        ConflictError if another thread or process keeps the write lock for longer than `timeout` seconds.
        """
        if self.read_only:
            raise ReadOnlyError(f"{self.path} was opened read-only")
        with self.lock:
            self._check_open()
            held = self._write_lock  # of the file as it is now: another may take its place meanwhile
            if self._depth == 0:
                held.acquire(self, self.timeout)
            try:
                with self._level():
                    yield
            finally:
                if self._depth == 0:
                    held.release()

    @contextlib.contextmanager
    def _level(self) -> Iterator[None]:
        level = self._depth
        begin, keep, undo = (
            (("BEGIN IMMEDIATE",), ("COMMIT",), ("ROLLBACK",))
            if level == 0
            else ((f"SAVEPOINT l{level}",), (f"RELEASE l{level}",), (f"ROLLBACK TO l{level}", f"RELEASE l{level}"))
        )
        for sql in begin:
            self.run(sql)
        self._depth += 1
        dropped = False
        try:
            if level == 0:
                self._look(writing=True)
                dropped = self._know_schema()
            yield
            if level == 0 and self.identity is not None and self._written():
                self.run(f"PRAGMA user_version = {self.identity.stamp}")  # so that the log has it
            for sql in keep:
                self.run(sql)
            if dropped:
                _log.warning(
                    "%s: the native vector index was dropped, as SQLite cannot keep it; libSQL builds it anew when it "
                    "opens the world for writing",
                    self.path,
                )
        except BaseException:
            self.rollbacks += 1
            # A full disk makes SQLite roll back by itself; then there is nothing left to undo.
            with contextlib.suppress(WorldsError):
                for sql in undo:
                    self.run(sql)
            self._forget()
            raise
        finally:
            self._depth -= 1

    def _know_schema(self) -> bool:
        """Read the schema anew if another connection has changed it; whether the native index was dropped.

        libSQL drops a vector index by the root pages that the connection knows, without looking whether they are still
        its own: after another one's VACUUM the file would be damaged. SQLite refuses to write while it is there.
        """
        there = self.rows("SELECT 1 FROM sqlite_master WHERE name = 'vectors_embedding'")
        if there and not self.driver.native:
            self.script(texts("vectors.sql")["drop_vector_index"])
            return True
        return False

    def _written(self) -> bool:
        """Whether rows were written since this was asked last; what changes tables writes the stamp's page anyway."""
        before, self._changes = self._changes, self.value("SELECT total_changes()")
        return self._changes != before

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let the block's statements read one state of the file, whatever other processes write meanwhile."""
        with self.lock:
            if self._depth or self._reading:
                yield
                return
            self.run("BEGIN")
            self._reading = True
            try:
                self._look()
                yield
            finally:
                self._reading = False
                try:
                    self.run("COMMIT")
                except WorldsError:  # a damaged file; there is nothing that could be lost
                    with contextlib.suppress(WorldsError):
                        self.run("ROLLBACK")

    @contextlib.contextmanager
    def watched(self, watch: Callable[[str, Sequence[object]], object]) -> Iterator[None]:
        """Tell every statement that the block runs, with its parameters."""
        with self.lock:
            before, self._watch = self._watch, watch
            try:
                yield
            finally:
                self._watch = before

    @property
    def location(self) -> str:
        """The path of the file; the address of a world on a server."""
        return self.path

    @property
    def replica(self) -> Any:
        """The state of the replica (`Replica`) of a world on a server; None for a file of its own."""
        return None

    def refresh(self) -> None:
        """Wait until all that the server has now is here; nothing for a file of its own."""

    def anew(self, write: Callable[[], T], *given: object) -> T:
        """Return the result of `write`, which a world on a server does again after a conflict.

        It is done once where one of its inputs, `given`, can be read once only.
        """
        return write()

    def vacuum(self) -> None:
        """Rebuild the file without its unused pages, and empty its log. WorldsError inside a transaction.

        A vector index must not be there, or must be built anew afterwards: it does not survive this whole.
        """
        if self.read_only:
            raise ReadOnlyError(f"{self.path} was opened read-only")
        with self.lock:
            self._check_open()
            if self._depth or self._reading:
                raise WorldsError("the file cannot be rebuilt inside a transaction")
            self._write_lock.acquire(self, self.timeout)
            try:
                if self.encryption_key is None:  # else the whole copy would be in memory
                    self.run("PRAGMA temp_store = FILE")
                self._know_schema()
                self.run("VACUUM")
                self.run("PRAGMA wal_checkpoint(TRUNCATE)")
            finally:
                self.run("PRAGMA temp_store = MEMORY")
                self._write_lock.release()

    # -- life -----------------------------------------------------------------------------------------------------

    def _check_open(self) -> None:
        if self.closed:
            raise OpenError(f"the world {self.path} is closed")
        if os.getpid() != self._process:  # SQLite's connections do not survive a fork; using one corrupts the file
            raise OpenError(f"the world {self.path} was opened by another process: open it again in this one")

    def close(self) -> None:
        """Close the connection; calling it again does nothing."""
        with self.lock:
            if not self.closed and os.getpid() == self._process:
                with contextlib.suppress(WorldsError, OSError):  # there may be no log
                    if os.stat(self.file + "-wal").st_size:  # noqa: PTH116  # a Path costs twice as much
                        self._end_log()
                self.closed = True
                self._handle.close()
                self.identity = None

    def _end_log(self) -> None:
        if self.identity is not None:
            with contextlib.suppress(OpenError):
                self.identity.check()
            if self.identity.replaced:  # else the log would be replayed into the other file
                os.truncate(self.file + "-wal", 0)
                return
        if not self.read_only:
            # The log goes into the file, so that a closed world is one file; unless others use it, who will.
            self._handle.wait(0)
            self.run("PRAGMA wal_checkpoint(TRUNCATE)")


_connections: WeakSet[Connection] = WeakSet()
_choosing = threading.Lock()


def used_driver(file: str, but: Connection | None = None) -> str | None:
    """The driver by which this process has the file at a real path open, by other connections than one of them."""
    found = (each.driver.name for each in list(_connections) if each.file == file and not each.closed and each != but)
    return None if file == ":memory:" else next(found, None)


def _unlock() -> None:
    """In a forked process: nobody is left who would release the locks that other threads had."""
    for connection in _connections:
        connection.lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlock)
