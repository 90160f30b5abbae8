"""Calls that can be cancelled: a query that nobody waits for any more is stopped."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
_current: ContextVar[Call | None] = ContextVar("call", default=None)


class Cancelled(Exception):  # noqa: N818  # it is no error
    """Nobody waits for the call any more."""


class Call:
    """Work that a thread does.

    A query with limits runs in a process that the thread forks; Linux tells which processes a thread has forked.
    Elsewhere, a cancelled query ends at its time limit.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: int | None = None
        self._cancelled = False

    def run(self, work: Callable[[], T]) -> T:
        """Do the work in this thread."""
        with self._lock:
            if self._cancelled:
                raise Cancelled
            self._thread = threading.get_native_id()
        token = _current.set(self)
        try:
            return work()
        finally:
            _current.reset(token)
            with self._lock:
                self._thread = None

    def cancel(self) -> None:
        """Stop the work, if it is a query; work that has not begun will not."""
        with self._lock:
            self._cancelled = True
            if self._thread is None:
                return
            _kill_children(Path(f"/proc/self/task/{self._thread}"))

    def check(self) -> None:
        """Raise Cancelled if nobody waits for the call any more."""
        with self._lock:
            if self._cancelled:
                raise Cancelled


def stop_all() -> None:
    """Stop all queries, whoever waits for them: the process is about to end, and they would go on without it."""
    for thread in Path("/proc/self/task").glob("*"):
        _kill_children(thread)


def _kill_children(thread: Path) -> None:
    with contextlib.suppress(OSError, ValueError):
        for child in (thread / "children").read_text().split():
            os.kill(int(child), signal.SIGKILL)


class Turn:
    """Lets one call after another ask the world, which answers one query at a time; cancelled ones lose their turn."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        self._lock.acquire()
        call = _current.get()
        if call is not None:
            try:
                call.check()
            except BaseException:
                self._lock.release()
                raise

    def __exit__(self, *error: object) -> None:
        self._lock.release()
