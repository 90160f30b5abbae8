"""Writes that are done anew where another writer was faster."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def retried(verb: F) -> F:
    """The verb, done anew after a conflict as `Connection.anew` does; once if an input can be read once only."""

    @functools.wraps(verb)
    def again(world: Any, *arguments: Any, **options: Any) -> Any:
        once = any(hasattr(value, "read") or hasattr(value, "__next__") for value in (*arguments, *options.values()))
        return world._written.anew(lambda: verb(world, *arguments, **options), once=once)

    return again  # type: ignore[return-value]  # the same signature
