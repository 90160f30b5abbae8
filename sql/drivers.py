"""The drivers: libSQL and SQLite, which read and write the same file. Which one a connection takes is decided here.

libSQL has the native vector index, encryption, and replicas of servers. SQLite, by apsw, has wheels for every platform,
lets other threads run while a statement does, and stops a statement at once.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol

from worlds.errors import OpenError

Row = tuple[Any, ...]

LIBSQL, SQLITE, AUTO = "libsql", "sqlite", "auto"
NAMES = (AUTO, LIBSQL, SQLITE)
VARIABLE = "WORLDS_DRIVER"
"""The environment variable that says which driver "auto" prefers, in a process and in those that it starts."""


class Handle(Protocol):
    """A database that a driver has open. Its errors are the driver's own; `worlds.sql.failures` makes ours of them."""

    def rows(self, sql: str, parameters: tuple[object, ...]) -> list[Row]:
        """Run one statement and give all its rows."""

    def script(self, script: str) -> None:
        """Run several statements."""

    def wait(self, seconds: float) -> None:
        """Wait for another connection's lock for so long, from now on."""

    def copy(self, path: str) -> bool:
        """Write all pages, as the transaction sees them, into the file at `path`; False where the driver cannot."""

    def interrupt(self) -> None:
        """Stop the statement that another thread runs, where the driver can."""

    def close(self) -> None:
        """Close the database."""


@dataclass(frozen=True)
class Driver:
    """A driver, and what it can do."""

    name: str
    title: str
    connect: Callable[[str, str, str | None], Handle]
    """Opens a file by its path, options of SQLite's URIs, and the key that it is encrypted with."""
    native: bool
    """Whether it has the native vector index, encryption, and replicas."""


ending: ContextVar[Callable[[], object] | None] = ContextVar("ending", default=None)
"""The check that ends this thread's work by an error: SQLite calls it in a statement, libSQL before one that reads."""


class ended_by:  # noqa: N801  # a block, entered by each verb: a generator takes three times as long
    """End the block's statements once `ask` raises, or the check of a block around it does."""

    def __init__(self, ask: Callable[[], object]) -> None:
        self._ask = ask

    def __enter__(self) -> None:
        outer, ask = ending.get(), self._ask

        def either() -> None:
            if outer is not None:
                outer()
            ask()

        self._token = ending.set(ask if outer is None else either)

    def __exit__(self, *error: object) -> None:
        ending.reset(self._token)


_MODULES = {LIBSQL: ("libsql_experimental", "libsql"), SQLITE: ("apsw",)}


@cache
def installed(name: str) -> bool:
    """Whether a driver can be taken here."""
    return any(find_spec(module) is not None for module in _MODULES[name])


def driver_of(name: str) -> Driver:
    """The driver of a name; OpenError where it is not installed."""
    if not installed(name):
        raise OpenError(f"the driver {name!r} is not installed: pip install 'worlds-kg[{name}]' brings it")
    driver: Driver = import_module(f"worlds.sql.by_{name}").DRIVER
    return driver


def check_name(name: str) -> str:
    """The name of a driver, or "auto"; ValueError for another."""
    if name not in NAMES:
        raise ValueError(f"driver must be one of {', '.join(map(repr, NAMES))}, not {name!r}")
    return str(name)


def native(asked: str, what: str) -> str:
    """libSQL's driver, for `what` it alone has; OpenError where SQLite's was asked for."""
    if check_name(asked) == SQLITE:
        raise OpenError(
            f"SQLite has no {what}: open the world with driver='libsql' (pip install 'worlds-kg[libsql]', where there "
            "is a wheel of it)"
        )
    return LIBSQL


def choose(asked: str, used: str | None, file: str, *, better: str) -> Driver:
    """The driver for one more connection to a file, which this process has open by the driver `used`, if any.

    "auto" is that, else what WORLDS_DRIVER names, else the `better` one, as far as it is installed. OpenError where
    another driver has the file: the locks of two SQLites in one process do not see each other.
    """
    name = check_name(asked)
    if name == AUTO:
        name = used or check_name(os.environ.get(VARIABLE) or AUTO)
    if name == AUTO:
        name = better if installed(better) else next(filter(installed, NAMES[1:]), better)
    if used not in (None, name):
        raise OpenError(
            f"{file} is open in this process by the driver {used!r}, and the locks of two drivers in one process do "
            f"not see each other: open it with driver={used!r}, or close it first"
        )
    return driver_of(name)
