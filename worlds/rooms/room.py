"""The base of all rooms of a world."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

if TYPE_CHECKING:
    from worlds.core.core import Core
    from worlds.looks.look import Look
    from worlds.sql.connection import Connection
    from worlds.verbs.parts import Parts


class Room:
    """A room of a world: the verbs of one capability. It holds nothing itself, and is made whenever it is asked for."""

    _name: ClassVar[str]
    """The attribute of `World` that gives it."""
    _core: Core

    def __init__(self, world: Parts) -> None:
        self._world = world
        self._core = world._core

    @property
    def _look(self) -> Look:
        return self._world._look

    @property
    def _written(self) -> Connection:
        return self._look.written

    def _sight(self) -> Self | None:
        """The room of the world in which most verbs that read are asked first; None where it is this one."""
        world = self._world._sight()
        return None if world is None else getattr(world, self._name)

    def _require(self, what: str) -> None:
        """Refuse, with a ReadOnlyError, a verb or a setting that the world's view does not allow."""
        self._look.require(what)

    def _through(self, graphs: object) -> Self:
        """The room of the world as seen through some of its graphs."""
        found: Self = getattr(self._world.only(graphs=graphs), self._name)
        return found

    def _entity(self, value: object) -> Any:
        """The entity that a caller named, or the one that it was merged into."""
        return self._world._entity(value)

    def __repr__(self) -> str:
        return f"<{self._name} of {self._world!r}>"
