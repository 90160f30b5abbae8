"""Puts a backup in the place of a world."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from worlds.errors import IntegrityError, OpenError, WorldsError
from worlds.file.archive import MEMORIES as ARCHIVED
from worlds.file.backup import copy_world, draft_beside, sync_folder
from worlds.file.check import check
from worlds.file.opening import MEMORIES, connect, has_log, open_file, version_of
from worlds.file.unpacking import Archive, is_archive
from worlds.graph.targets import file_name
from worlds.permissions import remove
from worlds.quads.dictionary import Dictionary
from worlds.sparql.cache import Cache
from worlds.sparql.index import SparqlIndex
from worlds.sql.connection import used_driver
from worlds.texts.chunks import ChunkStore
from worlds.vectors.embedding import Embeddings

if sys.platform != "win32":
    import fcntl

_FIRST_LOCK, _LOCKS = 0x40000002, 510  # the bytes that SQLite locks while a database is open


def restore(backup: str | os.PathLike[str], path: str | os.PathLike[str], *, encryption_key: str | None = None) -> None:
    """Put a copy of the world `backup` in the place of the one at `path`, or where there is none.

    `backup` is a world's file, or a folder that `World.export(…, everything=True)` wrote; what is made of a folder is
    checked. What belonged to the world before goes: its log, which would be replayed into the new one, and what is
    derived from it. Its memories become those of the backup. The file is replaced at once, when the copy is complete,
    and what its log had is in it by then: a process that is killed leaves the one world or the other. Where the world
    before cannot be opened, with this key, its log goes first. OpenError if somebody has the world at `path` open, or
    `backup` is no world.
    """
    source, target = file_name(backup), Path(os.path.realpath(file_name(path)))
    if target.exists() and not target.is_file():
        raise OpenError(f"{path} is not a regular file; a world is one")
    if target.exists() and Path(source).exists() and target.samefile(source):
        raise OpenError(f"{source} is the world itself, not a backup of it")
    try:
        with _opened(source, encryption_key) as copy:
            like = target if target.exists() else source
            settled = _settle(target, encryption_key)
            with _alone(target), draft_beside(target, like=like) as draft:
                if settled and has_log(str(target)):
                    raise OpenError(f"{path} was written meanwhile: restore it again")
                copy(draft)
                for end in ("-wal", "-shm"):  # with nothing in it, or of what cannot be opened
                    Path(f"{target}{end}").unlink(missing_ok=True)
                draft.replace(target)
                Cache(str(target)).remove()
                sync_folder(target.parent)
        memories = Path(source) / ARCHIVED if is_archive(Path(source)) else Path(source + MEMORIES)
        _restore_memories(memories, Path(f"{target}{MEMORIES}"), encryption_key)
    except OSError as error:
        raise OpenError(f"{path} cannot be restored: {error.strerror or error}") from error


def _restore_memories(source: Path, target: Path, key: str | None) -> None:
    """Put the memories of a backup, files or folders of plain files, in the place of those that a world has."""
    files = [*source.glob("m.*.db"), *(one for one in source.glob("m.*") if is_archive(one))]
    found = {f"{one.name.removesuffix('.db')}.db": one for one in files}
    for file in target.iterdir() if target.is_dir() else ():
        if file.name not in found:
            remove(file)
    for name, one in found.items():
        target.mkdir(mode=0o700, exist_ok=True)
        restore(one, target / name, encryption_key=key)


def _settle(target: Path, key: str | None) -> bool:
    """Bring what the log of a world has into its file, if it can be opened; whether no log is left."""
    if not target.exists() or used_driver(str(target)) is not None:
        return False
    for one in dict.fromkeys((key, None)):
        if not has_log(str(target)):
            return True
        with contextlib.suppress(WorldsError):
            connect(str(target), read_only=False, create=False, encryption_key=one).close()
    return not has_log(str(target))


@contextlib.contextmanager
def _opened(source: str, key: str | None) -> Iterator[Callable[[Path], None]]:
    """What writes a world into an empty file."""
    if is_archive(Path(source)):
        yield partial(_fill, Archive(Path(source)), key=key)
        return
    connection = connect(source, read_only=True, create=False, encryption_key=key)
    try:
        if not version_of(connection, source):
            raise OpenError(f"{source} is empty: not a world")
        yield partial(copy_world, connection)
    finally:
        connection.close()


def _fill(archive: Archive, draft: Path, *, key: str | None) -> None:
    connection = open_file(
        str(draft), read_only=False, create=True, durability="normal", timeout=10.0, encryption_key=key
    )
    try:
        archive.fill(connection)
        dictionary = Dictionary(connection)
        chunks = ChunkStore(connection, dictionary)
        sparql = SparqlIndex(connection, dictionary, "memory")
        report = check(connection, dictionary, chunks, Embeddings(connection, chunks), sparql)
        # How good a native index is depends on the order in which it is built.
        if problems := [problem for problem in report.problems if problem.kind != "index-recall"]:
            raise IntegrityError(f"the files are of no world that is sound: {problems[0]}")
    finally:
        connection.close()


@contextlib.contextmanager
def _alone(target: Path) -> Iterator[None]:
    """OpenError if anybody has the file open; nobody opens it during the block."""
    told = f"{target} is open: close what uses it, a server or another process, and restore it then"
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
