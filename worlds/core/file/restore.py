"""Puts a backup in the place of a world."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from worlds.core.file.backup import copy_world, draft_beside, sync_folder
from worlds.core.file.opening import MEMORIES, connect, has_log, version_of
from worlds.core.sparql.cache import Cache
from worlds.errors import OpenError, WorldsError
from worlds.graph.targets import file_name
from worlds.permissions import remove
from worlds.sql.connection import Connection, used_driver

if sys.platform != "win32":
    import fcntl

_FIRST_LOCK, _LOCKS = 0x40000002, 510  # the bytes that SQLite locks while a database is open


def restore(backup: str | os.PathLike[str], path: str | os.PathLike[str], *, encryption_key: str | None = None) -> None:
    """Copy the backup of a world to `path`, replacing the world that is there, if any.

    What belonged to the world before goes: its log, which would be replayed into the new one, and what is
    derived from it. Its memories become those of the backup. The file is replaced at once, when the copy is complete,
    and what its log had is in it by then: a process that is killed leaves the one world or the other. Where the world
    before cannot be opened, with this key, its log goes first. OpenError if somebody has the world at `path` open, or
    `backup` is no world.
    """
    source, target = file_name(backup), Path(os.path.realpath(file_name(path)))
    if target.exists() and not target.is_file():
        raise OpenError(f"{path} is not a regular file, which a world must be")
    if target.exists() and Path(source).exists() and target.samefile(source):
        raise OpenError(f"{source} is the world itself, not a backup of it")
    try:
        with _opened(source, encryption_key) as connection:
            like = target if target.exists() else source
            Cache(str(target)).settle()  # its reader of the world ends with it
            settled = _settle(target, encryption_key)
            with _alone(target), draft_beside(target, like=like) as draft:
                if settled and has_log(str(target)):
                    raise OpenError(f"{path} was written meanwhile: restore it again")
                copy_world(connection, draft)
                for end in ("-wal", "-shm"):  # with nothing in it, or of what cannot be opened
                    Path(f"{target}{end}").unlink(missing_ok=True)
                draft.replace(target)
                Cache(str(target)).remove()
                sync_folder(target.parent)
        _restore_memories(Path(source + MEMORIES), Path(f"{target}{MEMORIES}"), encryption_key)
    except OSError as error:
        raise OpenError(f"{path} cannot be restored: {error.strerror or error}") from error


def _restore_memories(source: Path, target: Path, key: str | None) -> None:
    """Replace the memories of a world by the memories of a backup."""
    found = {one.name: one for one in source.glob("m.*.db")}
    for file in target.iterdir() if target.is_dir() else ():
        if file.name not in found:
            remove(file)
    for name, one in found.items():
        target.mkdir(mode=0o700, exist_ok=True)
        restore(one, target / name, encryption_key=key)


def _settle(target: Path, key: str | None) -> bool:
    """Checkpoint the log of a world into its file, if it can be opened; returns whether no log is left."""
    if not target.exists() or used_driver(str(target)) is not None:
        return False
    for one in dict.fromkeys((key, None)):
        if not has_log(str(target)):
            return True
        with contextlib.suppress(WorldsError):
            connect(str(target), read_only=False, create=False, encryption_key=one).close()
    return not has_log(str(target))


@contextlib.contextmanager
def _opened(source: str, key: str | None) -> Iterator[Connection]:
    """A connection to a world's file."""
    connection = connect(source, read_only=True, create=False, encryption_key=key)
    try:
        if not version_of(connection, source):
            raise OpenError(f"{source} is empty: not a world")
        yield connection
    finally:
        connection.close()


@contextlib.contextmanager
def _alone(target: Path) -> Iterator[None]:
    """OpenError if anybody has the file open; nobody opens it during the block."""
    told = f"{target} is open: stop the server or process that uses it, and restore it again"
    if used_driver(str(target)) is not None:
        raise OpenError(told)
    if sys.platform == "win32" or not target.exists():  # Windows does not replace a file that is open
        yield
        return
    with target.open("rb+") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, _LOCKS, _FIRST_LOCK)
        except OSError as error:
            raise OpenError(told) from error
        yield
