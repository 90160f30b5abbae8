"""The memories of a world on a server, whose writes are done anew where another writer was faster."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from worlds.remote.retrying import retried

if TYPE_CHECKING:
    from worlds.memory.memory import Memory


class RemoteMemories:
    """What a world on a server, and a scope of it, have of their own besides verbs."""

    @property
    def _memory_class(self) -> type[Memory]:
        return _remote_memory()


@cache
def _remote_memory() -> type[Memory]:
    from worlds.memory.memory import Memory  # a world whose memories nobody asks pays nothing for it

    made: Any = type("RemoteMemory", (Memory,), {"_written": property(lambda self: self._parts._written)})
    for name in ("retain", "put", "forget", "sweep"):
        setattr(made, name, retried(getattr(Memory, name)))
    return made  # type: ignore[no-any-return]
