"""SQLite's driver: apsw, with the distance of vectors from sqlite-vec, or from NumPy where that has no wheel.

Python's lock is free while a statement runs. Every some milliseconds SQLite asks whether it shall go on: then Python
handles signals, such as Ctrl-C, and `ending` may raise, which ends the statement. Sorting for an index is one step.
"""

from __future__ import annotations

import errno
import os
import time
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote

import apsw
import numpy as np

from worlds.sql.drivers import SQLITE, Driver, Row, ending

_STEPS = 100_000  # of SQLite's machine between two questions whether to go on: some milliseconds
_STATEMENTS = 256  # that stay prepared
_LONGEST_PAUSE = 0.02  # seconds between two attempts to get a lock
_VEC = find_spec("sqlite_vec") is not None
_FLAGS = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_URI


class _SqliteHandle:
    def __init__(self, file: str, options: str, key: str | None) -> None:
        name = f"file:{quote(file)}?{options}" if options else file
        self._connection = apsw.Connection(name, flags=_FLAGS, statementcachesize=_STATEMENTS)
        self._connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)  # else a LIMIT that is bound is planned each time
        self._patience = 0.0
        self._since = 0.0  # when waiting began
        self._connection.set_busy_handler(self._busy)
        self._connection.set_progress_handler(_asked, _STEPS)
        _bring_distance(self._connection)

    def rows(self, sql: str, parameters: tuple[object, ...]) -> list[Row]:
        return self._connection.execute(_adapted(sql), parameters).fetchall()

    def script(self, script: str) -> None:
        self._connection.execute(script).fetchall()  # it would wait before the next statement while one has rows

    def wait(self, seconds: float) -> None:
        self._patience = seconds

    def _busy(self, before: int) -> bool:
        now = time.monotonic()
        if not before:
            self._since = now
        left = self._patience - (now - self._since)
        if left > 0:
            time.sleep(min(left, _LONGEST_PAUSE, 0.001 * (before + 1)))
            _asked()
        return left > 0

    def copy(self, path: str) -> bool:
        if self._connection.txn_state("main") == apsw.SQLITE_TXN_WRITE:  # SQLite copies no file that it is writing
            Path(path).write_bytes(self._connection.serialize("main"))
            return True
        copy = apsw.Connection(path)
        try:
            with copy.backup("main", self._connection, "main") as pages:
                while not pages.done:
                    pages.step(1000)
        except apsw.FullError as error:  # which says "not an error", as the connection has none
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path) from error
        finally:
            copy.close()
        return True

    def interrupt(self) -> None:
        self._connection.interrupt()

    def close(self) -> None:
        self._connection.close()


def _asked() -> bool:
    """Whether a statement shall end; that Python is asked lets it handle signals."""
    ask = ending.get()
    if ask is not None:
        ask()
    return False


@lru_cache(maxsize=1024)
def _adapted(sql: str) -> str:
    return sql.replace("vector_distance_cos(", "vec_distance_cosine(") if _VEC else sql


def _bring_distance(connection: apsw.Connection) -> None:
    if _VEC:
        import sqlite_vec

        connection.enable_load_extension(True)
        connection.load_extension(sqlite_vec.loadable_path())
        connection.enable_load_extension(False)
    else:
        connection.create_scalar_function("vector_distance_cos", cosine_distance, 2, deterministic=True)  # type: ignore[arg-type]  # of BLOBs alone


def cosine_distance(one: Any, other: Any) -> float:
    """One less the cosine of two vectors of float32, as libSQL and sqlite-vec compute it."""
    a, b = np.frombuffer(one, np.float32), np.frombuffer(other, np.float32)
    return float(1 - (a @ b) / np.sqrt((a @ a) * (b @ b)))


DRIVER = Driver(SQLITE, "SQLite", _SqliteHandle, native=False)
