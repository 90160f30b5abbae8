"""Calls that can be cancelled: a query that nobody waits for any more is stopped, or does not begin."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

T = TypeVar("T")


class Cancelled(Exception):  # noqa: N818  # it is no error
    """Nobody waits for the call any more."""


class Interruptible(Protocol):
    """What a thread does, which another one can stop."""

    def interrupt(self) -> None:
        """Stop it."""


class Call:
    """Work that a thread does, whose queries, and no others, are stopped when it is cancelled."""

    def __init__(self, interruptible: Callable[[], AbstractContextManager[Interruptible]]) -> None:
        self._interruptible = interruptible
        self._lock = threading.Lock()
        self._cancelled = False
        self._work: Interruptible | None = None

    def run(self, work: Callable[[], T]) -> T:
        """Do the work in this thread; Cancelled if nobody waits for it any more."""
        with self._interruptible() as interruptible:
            with self._lock:
                if self._cancelled:
                    raise Cancelled
                self._work = interruptible
            return work()

    def cancel(self) -> None:
        """Stop the work's queries; work that has not begun will not."""
        with self._lock:
            self._cancelled = True
            if self._work is not None:
                self._work.interrupt()
