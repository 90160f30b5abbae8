"""Which file a world lies in: every copy has a stamp of its own, so that one in the place of another is noticed.

The stamp is SQLite's user_version, bytes 60 to 63 of the file. Every transaction writes it again, so that the log has
it, too, and a log beside a file that it does not belong to is not replayed into that.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import struct
import sys
import threading
import time
from pathlib import Path
from weakref import WeakValueDictionary

from worlds.errors import OpenError

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


class FileHeader:
    """The header of a database file, which stays readable while connections of this process have it open.

    To close a file takes away the locks that this process has on it, SQLite's among them, so one descriptor serves
    all, and is closed when nobody needs it any longer.
    """

    def __init__(self, path: str) -> None:
        self._descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        self._lock = threading.Lock()
        found = os.fstat(self._descriptor)
        self.inode = (found.st_dev, found.st_ino)

    def __del__(self) -> None:
        with contextlib.suppress(AttributeError, OSError):
            os.close(self._descriptor)

    def stamp(self) -> int | None:
        """The stamp; None where the file is encrypted, empty, or no database."""
        if sys.platform == "win32":
            with self._lock:
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


_headers: WeakValueDictionary[tuple[int, int], FileHeader] = WeakValueDictionary()
_headers_guard = threading.Lock()


def header_of(path: str) -> FileHeader:
    """The header of the file that is at `path` now; OSError without one."""
    with _headers_guard:
        found = os.stat(path)  # noqa: PTH116  # at each opening, and a Path costs twice as much
        known = _headers.get((found.st_dev, found.st_ino))
        if known is None:
            known = FileHeader(path)
            _headers[known.inode] = known
        return known


class Identity:
    """The file that a connection has open; `check` notices when another is in its place."""

    def __init__(self, path: str, stamp: int, header: FileHeader | None = None) -> None:
        self._path = path
        self._header = header or header_of(path)
        self._stamps = {stamp, self._header.stamp()}  # two while the first is in the log only
        self.stamp = stamp
        self.replaced = False
        self._seen: object = None  # the file when it was found to be the one, unless it had just been written

    def check(self) -> None:
        """OpenError if another file is at the path, or in this one."""
        try:
            found = os.stat(self._path)  # noqa: PTH116  # in each transaction
        except OSError as error:
            told = f"{self._path} is not there any longer: it was removed or renamed while open"
            raise OpenError(told, kind=GONE) from error
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
            "(`worlds restore` replaces a world only when nobody has it open)",
            kind=GONE,
        )


def check_log(path: str) -> None:
    """OpenError if the log beside the file at `path` belongs to another one that was there before."""
    for attempt in range(_TRIES):
        try:
            logged = _logged_stamps(path + "-wal")
            stamp = header_of(path).stamp() if logged else None
        except OSError:
            return
        if not stamp or logged & {0, stamp}:  # 0 is from before the file had one
            return
        if attempt + 1 == _TRIES:
            raise OpenError(
                f"{path} was replaced by another file, and the log {path}-wal belongs to the one before, which a "
                f"process left that died: `worlds restore BACKUP {path}` puts a backup in its place; to open {path} "
                "as it is, remove the log"
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
