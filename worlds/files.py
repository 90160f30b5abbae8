"""Opens world files: makes new ones, migrates old ones, and refuses what is not a world."""

from __future__ import annotations

import datetime
import os
from pathlib import Path

from worlds.errors import OpenError, ReadOnlyError, SchemaError, WorldsError
from worlds.sql import SCHEMA_VERSION, migrations, schema
from worlds.sql.connection import Connection

FORMAT = "worlds"


def open_file(
    path: str, *, read_only: bool, create: bool, durability: str, timeout: float, encryption_key: str | None
) -> Connection:
    """A connection to the world at `path`, whose schema is today's; see `worlds.open` for the errors."""
    memory = path == ":memory:"
    if not memory:
        if "\0" in path or "://" in path:
            raise OpenError(f"{path!r} is not the path of a file")
        if Path(path).is_dir():
            raise OpenError(f"{path} is a folder; a world is one file, such as {Path(path) / 'world.db'}")
        if not Path(path).exists():
            if read_only or not create:
                raise OpenError(f"{path} does not exist; `worlds load {path} FILE` makes a world")
            if not Path(path).absolute().parent.is_dir():
                raise OpenError(f"{path} cannot be made: the folder {Path(path).parent} does not exist")
            if not os.access(Path(path).absolute().parent, os.W_OK):
                raise OpenError(f"{path} cannot be made: the folder {Path(path).parent} is read-only")
    immutable = not memory and Path(path).exists() and not os.access(Path(path).absolute().parent, os.W_OK)
    if immutable and not read_only:
        raise ReadOnlyError(f"{path} lies in a read-only folder; open it with read_only=True")
    connection = Connection(
        path,
        read_only=read_only,
        immutable=immutable,
        durability=durability,
        timeout=timeout,
        encryption_key=encryption_key,
    )
    try:
        _agree(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _agree(connection: Connection, path: str) -> None:
    version = _version(connection, path)
    if version == SCHEMA_VERSION:
        return
    if version > SCHEMA_VERSION:
        raise SchemaError(
            f"{path} has schema {version}, this library knows {SCHEMA_VERSION}: upgrade with `pip install -U worlds-kg`"
        )
    if connection.read_only:
        what = (
            "is empty: not a world"
            if version == 0
            else f"has the older schema {version} and must be opened once for writing"
        )
        raise OpenError(f"{path} {what}")
    with connection.transaction():
        version = _version(connection, path)  # another process may have been first
        if version == 0:
            connection.script(schema())
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


def _version(connection: Connection, path: str) -> int:
    """The schema version of the file, 0 for an empty one; OpenError for one that is not a world."""
    tables = {name for (name,) in connection.rows("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not tables:
        return 0
    about: dict[str, object] = {}
    if "meta" in tables:
        try:
            about = dict(connection.rows("SELECT name, value FROM meta WHERE name IN ('format', 'schema_version')"))
        except WorldsError:  # a table of that name with other columns
            about = {}
    version = about.get("schema_version")
    if about.get("format") != FORMAT or not isinstance(version, int):
        raise OpenError(f"{path} is a database, but not a world")
    return version
