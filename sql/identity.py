"""Which file a world lies in: every copy has a stamp of its own, so that one in the place of another is noticed.

The stamp is SQLite's user_version, bytes 60 to 63 of the file. Every transaction writes it again, so that the log has
it, too, and a log beside a file that it does not belong to is not replayed into that.
"""

from __future__ import annotations

import os
import secrets
import struct
import sys
import threading
import time
import weakref
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

from worlds.errors import OpenError, ReadOnlyError

GONE = "gone"
"""The kind of an OpenError for a file that is not there, or not there any more."""
PLACE = 60  # of the stamp in the file's first page
_MAGIC = b"SQLite format 3\0"
_LOG_HEADER, _FRAME_HEADER = 32, 24
_SETTLED = 1_000_000_000  # nanoseconds after which another write has another time
_TRIES = 3  # a log that is being written may change between two looks


def new_stamp() -> int:
    """A stamp for a new file; 0 is a file without one."""
    return secrets.randbelow(2**31 - 1) + 1


@dataclass
class _Held:
    """The descriptors of a file, of which the first is read, and how many headers read it."""

    descriptors: list[int] = field(default_factory=list)
    headers: int = 0


_held: dict[tuple[int, int], _Held] = {}
_unused: deque[tuple[int, int]] = deque()  # files that one header fewer reads
_guard = threading.Lock()


def _let_go(inode: tuple[int, int]) -> None:
    """Note that a header is gone. The collector may call this in the midst of anything, so it waits for no lock."""
    _unused.append(inode)
    if _guard.acquire(blocking=False):
        try:
            _close_unused()
        finally:
            _guard.release()


def _close_unused() -> None:
    while _unused:
        inode = _unused.popleft()
        _held[inode].headers -= 1
        if not _held[inode].headers:
            for descriptor in _held.pop(inode).descriptors:
                os.close(descriptor)


class FileHeader:
    """The header of the database file that is at a path now, which stays readable while this process has it open.

    To close a file takes away the locks that this process has on it, SQLite's among them. So all headers of a file read
    one descriptor, which is closed when the last of them is gone, and no other is made meanwhile. OSError without one.
    """

    def __init__(self, path: str) -> None:
        with _guard:
            _close_unused()
            found = os.stat(path)  # noqa: PTH116  # at each opening, and a Path costs twice as much
            self.inode = (found.st_dev, found.st_ino)
            if self.inode not in _held:
                descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
                found = os.fstat(descriptor)  # another file may have come to the path
                self.inode = (found.st_dev, found.st_ino)
                _held.setdefault(self.inode, _Held()).descriptors.append(descriptor)
            held = _held[self.inode]
            held.headers += 1
            self._descriptor = held.descriptors[0]
        weakref.finalize(self, _let_go, self.inode).atexit = False

    def stamp(self) -> int | None:
        """The stamp; None where the file is encrypted, empty, or no database."""
        if sys.platform == "win32":
            with _guard:
                os.lseek(self._descriptor, 0, os.SEEK_SET)
                header = os.read(self._descriptor, 100)
        else:
            header = os.pread(self._descriptor, 100, 0)
        return stamp_of(header) if len(header) == 100 and header.startswith(_MAGIC) else None


def stamp_of(page: bytes) -> int:
    """The stamp in the first page of a file."""
    return int.from_bytes(page[PLACE : PLACE + 4], "big")


def stamped(page: bytes, stamp: int) -> bytes:
    """The first page of a file, with another stamp."""
    return page[:PLACE] + stamp.to_bytes(4, "big") + page[PLACE + 4 :]


def set_stamp(path: Path, stamp: int) -> None:
    """Give a file that nobody has open another stamp."""
    with path.open("rb+") as file:
        file.seek(PLACE)
        file.write(stamp.to_bytes(4, "big"))


class FileIdentity:
    """The file that a connection has open; `check` notices when another is in its place."""

    def __init__(self, path: str, stamp: int, header: FileHeader | None = None) -> None:
        self._path = path
        self._header = header or FileHeader(path)
        self._stamps = {stamp, self._header.stamp()}  # two while the first is in the log only
        self.stamp = stamp
        self.replaced = False
        self._seen: object = None  # the file when it was found to be the one, unless it had just been written

    def check(self, *, writing: bool = False) -> None:
        """OpenError if another file is at the path, or in this one; `writing`, ReadOnlyError where it has two names."""
        try:
            found = os.stat(self._path)  # noqa: PTH116  # in each transaction
        except OSError as error:
            told = f"{self._path} is not there any longer: it was removed or renamed while open"
            raise OpenError(told, kind=GONE) from error
        if writing:
            require_one_name(self._path, found)
        now = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
        if now == self._seen:
            return
        moved = (found.st_dev, found.st_ino) != self._header.inode
        if not moved:
            stamp = self._header.stamp()
            if stamp in self._stamps:
                settled = time.time_ns() - found.st_mtime_ns > _SETTLED
                self._seen = now if settled else None
                return
            if None in self._stamps or 0 in self._stamps:  # the first stamp of a file came from the log
                self._stamps = {stamp}
                return
            self.replaced = True  # its log must not be replayed into the new one
        raise OpenError(
            f"{self._path} was replaced by another file while it was open: close it and open it again "
            "(`worlds file restore` replaces a world only when nobody has it open)",
            kind=GONE,
        )


def require_one_name(path: str, found: os.stat_result) -> None:
    """ReadOnlyError for a file with several names (hard links), as the log is named after the one that it is opened by.

    Who writes by one would not see what is in the log of another, and would write over it.
    """
    if found.st_nlink > 1:
        raise ReadOnlyError(
            f"{path} has {found.st_nlink} names (hard links), and writes by one name would be lost to writers "
            f"by another: remove the others (`find -samefile {path}`), or write a copy (`worlds file backup {path} "
            "COPY`); it can be read (read_only=True)",
            kind="hard links",
        )


def check_log(path: str) -> None:
    """OpenError if the log beside the file at `path` belongs to another one that was there before."""
    for attempt in range(_TRIES):
        try:
            logged = _logged_stamps(path + "-wal")
            stamp = FileHeader(path).stamp() if logged else None
        except OSError:
            return
        if not stamp or logged & {0, stamp}:  # 0 is from before the file had one
            return
        if attempt + 1 == _TRIES:
            raise OpenError(
                f"{path} was replaced by another file, and the log {path}-wal belongs to the one before, which a "
                f"process left that died: `worlds file restore BACKUP {path}` puts a backup in its place; to open "
                f"{path} as it is, remove the log"
            )


def _logged_stamps(log: str) -> set[int]:
    """The stamps that a log has; none where it is of an earlier version, or has nothing to replay."""
    with open(log, "rb") as file:  # noqa: PTH123  # at each opening
        header = file.read(_LOG_HEADER)
        if len(header) < _LOG_HEADER:
            return set()
        size, salts = struct.unpack(">I", header[8:12])[0] or 65536, header[16:24]
        while len(frame := file.read(_FRAME_HEADER)) == _FRAME_HEADER and frame[8:16] == salts:
            if frame[:4] == b"\0\0\0\1":
                page = file.read(size)
                return {stamp_of(page)} if len(page) == size and page.startswith(_MAGIC) else set()
            file.seek(size, os.SEEK_CUR)
    return set()
