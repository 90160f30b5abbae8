"""What a part of a world, or the world of another time, refuses to do."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NoReturn

from worlds.errors import ReadOnlyError


def refuse(what: str) -> NoReturn:
    """ReadOnlyError for what only who sees the whole world may do."""
    raise ReadOnlyError(f"{what} is for who sees the whole world, not for a scope of some graphs", kind="scope")


def outside(world: type, name: str) -> Callable[..., NoReturn]:
    """In the place of a verb of the class `World`: that of a scope, which refuses."""

    def refused(self: object, *given: object, **options: object) -> NoReturn:
        refuse(name)

    return functools.wraps(getattr(world, name, None) or refused)(refused)


def past(world: type, name: str) -> Callable[..., NoReturn]:
    """In the place of a verb of the class `World`: that of another time, which refuses."""

    def refused(self: object, *given: object, **options: object) -> NoReturn:
        raise ReadOnlyError(f"{name} would change the world as it was, which cannot be changed")

    return functools.wraps(getattr(world, name, None) or refused)(refused)
