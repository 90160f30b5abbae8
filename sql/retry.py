"""Writes that are done anew where another writer was faster."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def is_read_once(value: object) -> bool:
    """Whether a value is a stream or an iterator, or a list that has one: a second reading would find nothing."""
    parts = value if isinstance(value, list | tuple) else (value,)
    return any(hasattr(part, "read") or hasattr(part, "__next__") for part in parts)


def retried(verb: F) -> F:
    """The verb, done anew after a conflict as `Connection.anew` does; once if an input can be read once only."""

    @functools.wraps(verb)
    def again(world: Any, *arguments: Any, **options: Any) -> Any:
        return world._written.anew(lambda: verb(world, *arguments, **options), *arguments, *options.values())

    return again  # type: ignore[return-value]  # the same signature
