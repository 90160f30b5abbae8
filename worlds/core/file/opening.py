"""Opens world files: makes new ones, migrates old ones, and refuses what is not a world."""

from __future__ import annotations

import contextlib
import datetime
import os
import stat
from pathlib import Path
from typing import Any

from worlds.core.file.backup import clear_drafts
from worlds.core.file.objects import check_objects, checked, definitions_of, objects_of
from worlds.errors import OpenError, ReadOnlyError, SchemaError
from worlds.permissions import believe_logs
from worlds.sql import FIRST_VERSION, SCHEMA_VERSION, migrations, schema, statements
from worlds.sql.connection import Connection
from worlds.sql.drivers import AUTO, LIBSQL, SQLITE, check_name, native
from worlds.sql.identity import GONE, check_log, require_one_name

_SQL = statements("queries.sql")
FORMAT = "worlds"
LAST_OF_OLD = "3fa7bb1"  # the last commit that reads schemas below FIRST_VERSION
DURABILITIES = ("normal", "full")
LARGE = 8 << 20  # bytes of a file from which on it pays to look which driver is better
MEMORIES = "-memory"
"""The end of the name of the folder with the files of a world's memories."""
REPLICAS = "-follow"
"""The end of the name of the folder with the file of a replica."""


def open_file(
    path: str,
    *,
    read_only: bool,
    create: bool,
    durability: str,
    timeout: float,
    encryption_key: str | None,
    driver: str = AUTO,
    vector_index: bool | str = AUTO,
) -> Connection:
    """A connection to the world at `path`, whose schema is today's; see `worlds.open` for the errors."""
    if vector_index is True:
        driver = native(driver, "native vector index")
    how: dict[str, Any] = {"read_only": read_only, "create": create, "durability": durability, "timeout": timeout}
    how |= {"encryption_key": encryption_key, "driver": driver}
    connection = connect(path, **how)
    try:
        _agree(connection, path, create=create)
        if driver == AUTO and connection.driver.native and _large_without_index(connection):
            connection.close()
            connection = connect(path, **how, better=SQLITE)
        connection.identify()
    except BaseException:
        connection.close()
        raise
    return connection


def _large_without_index(connection: Connection) -> bool:
    """Whether the file is a large world's that has no native index and will have none."""
    try:
        size = os.stat(connection.file).st_size  # noqa: PTH116  # at each opening
    except OSError:  # it was removed just now
        return False
    return (
        size >= LARGE
        and connection.file != ":memory:"
        and not connection.rows(_SQL["find_vector_index"])
        and (connection.meta("vector_index") == 0 or connection.meta("embedder") is None)
        and not Path(connection.file).parent.name.endswith(REPLICAS)
    )


def connect(
    path: str,
    *,
    read_only: bool,
    create: bool,
    durability: str = "normal",
    timeout: float = 10.0,
    encryption_key: str | None = None,
    driver: str = AUTO,
    better: str = LIBSQL,
) -> Connection:
    """A connection to the file at `path`, whatever it holds."""
    check_name(driver)
    if durability not in DURABILITIES:
        raise ValueError(f"durability must be one of {', '.join(DURABILITIES)}, not {durability!r}")
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not timeout >= 0:
        raise ValueError(f"timeout must be a number of seconds from 0 on, not {timeout!r}")
    if encryption_key is not None and not (isinstance(encryption_key, str) and encryption_key):
        raise ValueError("encryption_key must be a non-empty str, or None")
    fixed = immutable = exists = False
    if path != ":memory:":
        real = os.path.realpath(path)
        folder = Path(real).parent
        try:
            exists = _examine(path, real, folder, make=create and not read_only)
        except OSError as error:
            raise OpenError(f"{path!r} cannot be opened: {error.strerror or error}") from error
        if folder.name.endswith(REPLICAS) and not read_only:
            raise ReadOnlyError(
                f"{path} is a replica of a world on a server, which a write would damage: open the server's address "
                f"with replica={path!r}, or this read-only"
            )
        fixed = exists and not os.access(folder, os.W_OK)
        if fixed and not read_only:
            raise ReadOnlyError(f"{path} lies in a read-only folder, {folder}; open it with read_only=True")
        if not read_only:
            clear_drafts(folder)
        if exists:
            believe_logs(real)
            check_log(real)
        if exists and not read_only:
            require_one_name(real, os.stat(real))  # noqa: PTH116  # a draft's other name is gone by now
        # What a log holds, only SQLite's ordinary way of reading sees.
        immutable = fixed and not has_log(real)
    try:
        return Connection(
            path,
            read_only=read_only,
            immutable=immutable,
            create=not exists,  # it may be deleted just now
            durability=durability,
            timeout=timeout,
            encryption_key=encryption_key,
            driver=driver,
            better=better,
        )
    except OpenError as error:
        if fixed and not immutable:
            raise OpenError(
                f"{path} has a log, {path}-wal, that cannot be read in a read-only folder: copy both to another one"
            ) from error
        raise


def _examine(path: str, real: str, folder: Path, *, make: bool) -> bool:
    """Whether there is a file at `path`, in `folder`; OpenError if it cannot be a world, or be made."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        found = os.stat(real)  # noqa: PTH116  # at each opening
        if stat.S_ISDIR(found.st_mode):
            raise OpenError(f"{path} is a folder; a world is one file, such as {Path(path, 'world.db')}")
        if not stat.S_ISREG(found.st_mode):
            raise OpenError(f"{path} is not a regular file, which a world must be")
        if found.st_size == 1:  # SQLite takes it for an empty file, and would overwrite it
            raise OpenError(f"{path}: not a world: the file is not a database")
        return True
    if not make:
        raise OpenError(f"{path} does not exist; `worlds load {path} FILE` makes a world", kind=GONE)
    if not folder.is_dir():
        raise OpenError(f"{path} cannot be made: the folder {folder} does not exist")
    if not os.access(folder, os.W_OK):
        raise OpenError(f"{path} cannot be made: the folder {folder} is read-only")
    return False


def has_log(path: str) -> bool:
    """Whether a log with something in it lies beside a file."""
    log = Path(path + "-wal")
    return log.exists() and log.stat().st_size > 0


def _agree(connection: Connection, path: str, *, create: bool) -> None:
    version = version_of(connection, path)
    if version == SCHEMA_VERSION:
        connection.keep_log()
        return
    if version > SCHEMA_VERSION:
        raise SchemaError(
            f"{path} has schema {version}, this library knows {SCHEMA_VERSION}: upgrade with `pip install -U worlds-kg`"
        )
    if version == 0 and not create:
        raise OpenError(f"{path} is empty: not a world")
    if connection.read_only:
        what = (
            "is empty: not a world"
            if version == 0
            else f"has the older schema {version} and must be opened once for writing"
        )
        raise OpenError(f"{path} {what}")
    connection.keep_log()
    with connection.transaction():
        version = version_of(connection, path)  # another process may have been first
        if version == 0:
            connection.script(schema())
            connection.stamp()
            now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
            connection.insert("INSERT INTO meta (name, value)", [("format", FORMAT), ("created", now)])
        else:
            for target, script in migrations():
                if target > version:
                    connection.script(script)
        if version != SCHEMA_VERSION:
            connection.run(
                "INSERT INTO meta (name, value) VALUES ('schema_version', ?1) "
                "ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                (SCHEMA_VERSION,),
            )


def version_of(connection: Connection, path: str) -> int:
    """The schema version of the file, 0 for an empty one.

    OpenError for a file that is not a world, or has SQL of its own; SchemaError for one of before the first release.
    """
    definitions = definitions_of(connection)
    objects = () if definitions in checked else objects_of(connection, path)
    if definitions not in checked and not objects:
        return 0
    about: dict[str, object] = dict(
        connection.rows("SELECT name, value FROM meta WHERE name IN ('format', 'schema_version')")
    )
    version = about.get("schema_version")
    if about.get("format") != FORMAT or not isinstance(version, int) or version < 1:
        raise OpenError(f"{path} is a database, but not a world")
    if version < FIRST_VERSION:
        raise SchemaError(
            f"{path} has schema {version}, of before the first release, which this library cannot read: with commit "
            f"{LAST_OF_OLD} of this project, run `worlds export {path} all.nq`, and load all.nq here. N-Quads holds "
            "the quads, but no history, proposals, sources or memories"
        )
    if version <= SCHEMA_VERSION:
        check_objects(objects, path)
        checked.add(definitions)
    return version
