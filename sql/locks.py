"""The locks by which the writers of one file in one process wait for each other."""

from __future__ import annotations

import threading
from weakref import WeakValueDictionary

from worlds.errors import ConflictError


class WriteLock:
    """Serialises the writers of one file in one process.

    SQLite's own lock would be waited for with the GIL held, so that its owner could never give it back.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self.owner: object = None

    def acquire(self, owner: object, timeout: float) -> None:
        """Wait for the lock, `timeout` seconds at most; ConflictError if it stays taken."""
        if not self._lock.acquire(timeout=timeout):
            raise ConflictError(f"another thread has been writing to this world for {timeout:g} seconds")
        if self.owner is not None and self.owner is not owner:
            self._lock.release()
            raise ConflictError("this thread is already writing to the same file through another World")
        self.owner = owner

    def release(self) -> None:
        """Give the lock back."""
        self.owner = None
        self._lock.release()


_write_locks: WeakValueDictionary[str, WriteLock] = WeakValueDictionary()
_write_locks_guard = threading.Lock()


def write_lock(path: str) -> WriteLock:
    """The lock of all connections of this process to the file at a real path."""
    if path == ":memory:":
        return WriteLock()
    with _write_locks_guard:
        return _write_locks.setdefault(path, WriteLock())
