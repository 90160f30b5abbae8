"""Verbs that are done anew where another writer was faster."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any, TypeVar

from worlds.errors import ConflictError

F = TypeVar("F", bound=Callable[..., Any])

_TRIES = 12


def retried(verb: F) -> F:
    """The verb of a world on a server, done anew after a conflict: with the primary's lock then.

    While others are writing, it is locked at once: what is recorded in vain costs both sides more than to wait in line.
    Not inside a transaction, whose other parts cannot be done anew, and not with an input that is read once.
    """

    @functools.wraps(verb)
    def again(world: Any, *arguments: Any, **options: Any) -> Any:
        connection = world._written
        once = any(hasattr(value, "read") or hasattr(value, "__next__") for value in (*arguments, *options.values()))
        if connection.in_transaction or once:
            return verb(world, *arguments, **options)
        for attempt in range(_TRIES):
            connection.conflicted = False
            try:
                with connection.locking() if attempt or connection.contended else contextlib.nullcontext():
                    return verb(world, *arguments, **options)
            except ConflictError:
                if not connection.conflicted or attempt + 1 == _TRIES:
                    raise
                connection.retried()
        raise AssertionError

    return again  # type: ignore[return-value]  # the same signature
