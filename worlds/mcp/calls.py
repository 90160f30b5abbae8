"""Calls that can be cancelled: a query that nobody waits for any more is stopped."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")
_current: ContextVar[Call | None] = ContextVar("call", default=None)


class Cancelled(Exception):  # noqa: N818  # it is no error
    """Nobody waits for the call any more."""


class Call:
    """Work that a thread does; `interrupt` stops the world's query, which is its own while it has the turn."""

    def __init__(self, interrupt: Callable[[], None]) -> None:
        self._interrupt = interrupt
        self._lock = threading.Lock()
        self._cancelled = False
        self._has_turn = False

    def run(self, work: Callable[[], T]) -> T:
        """Do the work in this thread."""
        self._check()
        token = _current.set(self)
        try:
            return work()
        finally:
            _current.reset(token)

    def cancel(self) -> None:
        """Stop the work, if it is a query; work that has not begun will not."""
        with self._lock:
            self._cancelled = True
            if self._has_turn:
                self._interrupt()

    def begin_turn(self) -> None:
        """From here on, the world answers this call; Cancelled if nobody waits for it any more."""
        with self._lock:
            if self._cancelled:
                raise Cancelled
            self._has_turn = True

    def end_turn(self) -> None:
        """From here on, the world answers others."""
        with self._lock:
            self._has_turn = False

    def _check(self) -> None:
        with self._lock:
            if self._cancelled:
                raise Cancelled


class Turn:
    """Lets one call after another ask the world, which answers one query at a time; cancelled ones lose their turn."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        self._lock.acquire()
        call = _current.get()
        if call is not None:
            try:
                call.begin_turn()
            except BaseException:
                self._lock.release()
                raise

    def __exit__(self, *error: object) -> None:
        call = _current.get()
        if call is not None:
            call.end_turn()
        self._lock.release()
