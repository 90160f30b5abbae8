"""Indexes and triggers that are dropped while a table is filled, and made again."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from worlds.errors import WorldsError
from worlds.sql.connection import CACHE, Connection


@contextlib.contextmanager
def without(
    connection: Connection, kind: str, table: str, made: Callable[[int, int], None] | None = None
) -> Iterator[Callable[[], None]]:
    """Drop the table's indexes or triggers (`kind` is "index" or "trigger"), and make them again after the block.

    Inside a transaction, which brings them back should the block raise. For indexes it is one sort instead of
    many insertions. Gives a function that makes them again at once, for a block that finds it needs them. `made` is
    told how many of how many have been made again.
    """
    found = connection.rows(
        "SELECT name, sql FROM sqlite_master WHERE type = ?1 AND tbl_name = ?2 AND sql IS NOT NULL", (kind, table)
    )
    for name, _ in found:
        connection.run(f"DROP {kind} {name}")
    of = len(found)

    def make_again() -> None:
        with _sorting_in_files(connection) if kind == "index" and found else contextlib.nullcontext():
            while found:
                connection.run(found.pop()[1])
                if made is not None:
                    made(of - len(found), of)

    yield make_again
    make_again()


@contextlib.contextmanager
def _sorting_in_files(connection: Connection) -> Iterator[None]:
    """Let the indexes that the block makes be sorted in runs of 2 MB, which are merged from a temporary file.

    Not where the world is encrypted: temporary files are not.

    They have ids and hashes alone. All in memory would take half as long again, for the processor's caches, and
    30 bytes a row.
    """
    if connection.encryption_key is not None:
        yield
        return
    try:
        connection.run("PRAGMA temp_store = FILE")
    except WorldsError:  # a temporary table is there, or it is a server's
        yield
        return
    connection.run("PRAGMA cache_size = -2048")  # the length of a run
    try:
        yield
    finally:
        connection.run(f"PRAGMA cache_size = -{CACHE}")
        connection.run("PRAGMA temp_store = MEMORY")
