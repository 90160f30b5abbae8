"""The memory of a world on a server, whose writes are done anew where another writer was faster."""

from __future__ import annotations

from typing import Any

from worlds.memory.memory import Memory
from worlds.remote.retrying import retried


class RemoteMemory(Memory):
    """A memory on a server."""

    @property
    def _written(self) -> Any:
        return self._parts._written


for _name in ("retain", "put", "forget", "sweep"):
    setattr(RemoteMemory, _name, retried(getattr(Memory, _name)))
