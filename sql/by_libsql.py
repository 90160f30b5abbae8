"""libSQL's driver: `libsql-experimental`, and `libsql` where the first has no wheel. Both have the same defects.

What is hidden here and in `worlds.sql.connection`, each a trap that was seen: cursors that run their statement again
when fetched past the end, `fetchall()` that is None, errors that are all `ValueError`, a panic after `close()`, a `str`
with U+0000 that is read back cut, integers beyond ±2^31 that are bound as REAL, and transactions that begin by
themselves. It holds Python's lock while a statement runs, so a statement stops all threads of the process.
"""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from typing import Any
from urllib.parse import quote

from worlds.sql.drivers import LIBSQL, Driver, Row, ending

_READING = ("SELECT", "WITH")

library: Any = importlib.import_module("libsql_experimental" if find_spec("libsql_experimental") else "libsql")


class _LibsqlHandle:
    def __init__(self, file: str, options: str, key: str | None) -> None:
        name = f"file:{quote(file)}?{options}" if options else file
        how = (
            {"uri": True} if options and library.__name__ == "libsql_experimental" else {}
        )  # the other knows by itself
        self._connection = library.connect(name, isolation_level=None, encryption_key=key, **how)

    def rows(self, sql: str, parameters: tuple[object, ...]) -> list[Row]:
        ask = ending.get()
        if ask is not None and sql.startswith(_READING):  # what undoes a transaction goes on
            ask()
        return self._connection.execute(sql, parameters).fetchall() or []

    def script(self, script: str) -> None:
        self._connection.cursor().executescript(script)  # the connection's own executescript swallows errors

    def wait(self, seconds: float) -> None:
        self.rows(f"PRAGMA busy_timeout = {int(seconds * 1000)}", ())

    def copy(self, path: str) -> bool:
        return False  # but its pages can be read as rows

    def interrupt(self) -> None:
        """It cannot: the thread that would ask waits for Python's lock. `ending` is asked before the next statement."""

    def close(self) -> None:
        self._connection.close()


def replicating(path: str, url: str, token: str) -> Any:
    """A connection of the library that has a `sync`, for the one process that follows a replica."""
    return library.connect(path, sync_url=url, auth_token=token, isolation_level=None)


DRIVER = Driver(LIBSQL, "libSQL", _LibsqlHandle, native=True)
