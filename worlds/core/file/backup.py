"""Copies of a world that is in use."""

from __future__ import annotations

import contextlib
import itertools
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from worlds.errors import OpenError, WorldsError
from worlds.permissions import create_like, lock, remove, remove_dead
from worlds.sql import statements
from worlds.sql.connection import Connection
from worlds.sql.identity import new_stamp, set_stamp, stamped

_SQL = statements("maintenance.sql")
_DRAFT = ".backup.part"
_BESIDE = ("-wal", "-shm", "-journal")
_PAGES = 1000  # pages of the file read at a time
_MOST_BYTES = 2**29  # of one value; SQLite allows 10^9
_UNUSED_OFFSET = 2**30  # SQLite never uses the page that begins here


def backup(connection: Connection, path: str) -> None:
    """Write a complete copy of the world to a new file, as of now; see `World.file.backup`.

    The pages are copied as one read transaction sees them, so nobody waits, and all indexes are in the copy as they
    are here. Reading the file itself would not do: closing a file takes away the locks that this process has on it.
    """
    target = Path(path)
    with connection.lock:  # waits for another thread's transaction
        if connection.in_transaction:
            raise WorldsError("backup() cannot run inside a transaction")
        if os.path.lexists(target):
            raise OpenError(f"{path} exists already; a backup is always a new file")
        try:
            clear_drafts(target.parent)
            with draft_beside(target, like=connection.file) as draft:
                copy_world(connection, draft)
                _put_in_place(draft, target)
        except FileExistsError as error:
            raise OpenError(f"{path} exists already; a backup is always a new file") from error
        except OSError as error:
            raise OpenError(f"{path} cannot be written: {error.strerror or error}") from error


def copy_world(connection: Connection, draft: Path) -> None:
    """Copy a snapshot of the world into an empty file, which gets a stamp of its own."""
    with connection.snapshot():
        if connection.encryption_key is not None:
            _copy_encrypted(connection, draft, connection.encryption_key)
        elif connection.copy(str(draft)):
            set_stamp(draft, new_stamp())
        else:
            _copy(connection, draft)
    with draft.open("rb+") as file:
        os.fsync(file.fileno())


@contextlib.contextmanager
def draft_beside(target: Path, *, like: str | Path) -> Iterator[Path]:
    """An empty file beside `target` that is gone after the block; it is locked meanwhile, so a dead one is known.

    It has the permissions and, where possible, the owner of the file `like`.
    """
    while True:
        draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}{_DRAFT}")
        try:
            with os.fdopen(create_like(draft, like), "wb") as file:
                if not lock(file) or not draft.exists():  # somebody took it for a dead one
                    continue
                yield draft
                return
        finally:
            for end in ("", *_BESIDE):
                remove(Path(f"{draft}{end}"))


def clear_drafts(folder: Path) -> None:
    """Remove the drafts of killed backups in a folder."""
    remove_dead(folder, ".", _DRAFT, _BESIDE)


def _pages(connection: Connection) -> Iterator[tuple[int, bytes]]:
    """The pages of the file, from 1 on."""
    count, size = connection.rows(_SQL["file_shape"])[0]
    statement = _SQL["pages"]
    done = 0
    while done < count:
        last = min(done + _PAGES, count)
        for number, content in connection.rows(statement, statement.bind(first=done + 1, last=last)):
            if number != done + 1 or len(content) != size:
                raise WorldsError(f"{connection.path}: page {done + 1} of {count} could not be read")
            yield number, content
            done = number
        if done < last:
            raise WorldsError(f"{connection.path}: page {done + 1} of {count} could not be read")


def _copy(connection: Connection, draft: Path) -> None:
    with draft.open("wb") as file:
        for number, content in _pages(connection):
            file.write(stamped(content, new_stamp()) if number == 1 else content)


def _copy_encrypted(connection: Connection, draft: Path, key: str) -> None:
    count, size = connection.rows(_SQL["file_shape"])[0]
    copy = Connection(str(draft), encryption_key=key)
    try:
        copy.run("PRAGMA journal_mode = OFF")
        with copy.transaction():
            copy.run(_SQL["make_room"])
            for start in range(0, count * size, _MOST_BYTES):
                copy.run(_SQL["fill_room"], (min(_MOST_BYTES, count * size - start),))
            pages = _pages(connection)
            number, content = next(pages)
            first = number, stamped(content, new_stamp())
            # The first comes last: it has the schema, whose tables must be there by then.
            for number, content in itertools.chain(pages, [first]):
                if (number - 1) * size != _UNUSED_OFFSET:
                    copy.run(_SQL["put_page"], _SQL["put_page"].bind(content=content, page=number))
    finally:
        copy.close()
    os.truncate(draft, count * size)


def _put_in_place(draft: Path, target: Path) -> None:
    """Move the finished file to its name; FileExistsError if the name has been taken meanwhile."""
    try:
        os.link(draft, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        if target.exists():
            raise FileExistsError(target) from None
        draft.rename(target)
    sync_folder(target.parent)


def sync_folder(folder: Path) -> None:
    """Flush a folder's entries to disk (fsync) after a file was created or renamed."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
