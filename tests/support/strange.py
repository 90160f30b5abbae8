"""Files of worlds that somebody changed by other means, in ways that a seed draws."""

from __future__ import annotations

import contextlib
import random
import sqlite3
from collections.abc import Callable
from pathlib import Path


def change(path: Path, script: str) -> None:
    """What another program does with the file."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)


def bytes_changed(path: Path, random: random.Random) -> None:
    """Some bytes of the header, of the schema's page, or of any."""
    content = bytearray(path.read_bytes())
    end = random.choice((100, 4096, len(content)))
    for _ in range(random.randint(1, 20)):
        content[random.randrange(16, end)] = random.choice((0, 1, 0x7F, 0xFF, random.randrange(256)))
    path.write_bytes(content)


def values_changed(path: Path, random: random.Random) -> None:
    """A value of a table that is none of its kind, or very large."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        table = random.choice([name for name in tables if not name.startswith("vectors_embedding")])
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info('{table}')")]
        value = random.choice(
            ("zeroblob(3000000)", "-1", "9e999", "NULL", "'x'", "x'ff00'", "1 << 40", "hex(zeroblob(999999))")
        )
        with contextlib.suppress(sqlite3.Error):
            connection.execute(f'UPDATE "{table}" SET "{random.choice(columns)}" = {value}')
            connection.commit()


def pragmas_changed(path: Path, random: random.Random) -> None:
    """What a file carries for who opens it."""
    pragma = random.choice(
        ("default_cache_size = 2000000000", "user_version = -1", "application_id = 7", "auto_vacuum = 1; VACUUM",
         "journal_mode = DELETE", "page_size = 512; VACUUM", "schema_version = 99999", "journal_mode = WAL")
    )  # fmt: skip
    with contextlib.suppress(sqlite3.Error):
        change(path, f"PRAGMA {pragma}")


def objects_changed(path: Path, random: random.Random) -> None:
    """A definition that is rewritten in the table of definitions itself."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE sql IS NOT NULL")]
        old, new = random.choice(
            (("INTEGER", "TEXT"), ("(", "(x AS (abs(-1)), "), ("NOT NULL", "DEFAULT 7"), (")", ") STRICT"),
             ("AFTER", "BEFORE"), ("CREATE ", "CREATE TEMP "), ("id", "rowid"), ("TABLE", "VIEW"), (",", ",,"),
             ("chunks", "quads"))
        )  # fmt: skip
        with contextlib.suppress(sqlite3.Error):
            connection.execute(
                "UPDATE sqlite_master SET sql = replace(sql, ?, ?) WHERE name = ?", (old, new, random.choice(names))
            )
            connection.commit()


KINDS: list[Callable[[Path, random.Random], None]] = [bytes_changed, values_changed, pragmas_changed, objects_changed]
