"""The memories of a world on a server: they are all in one world beside it, called NAME-memory."""

from __future__ import annotations

import os
from dataclasses import replace

from worlds.errors import OpenError
from worlds.extras.remote.replica import ReplicaConnection, open_replica

MEMORY_TOKEN = "WORLDS_MEMORY_TOKEN"
"""The environment's variable that has the token of the world with the memories, where another one opens it."""
SUFFIX = "-memory"
"""The end of the name of the world that has another world's memories."""


def open_memories(world: ReplicaConnection) -> ReplicaConnection:
    """A connection to the world with the memories of another one, by a replica beside that one's.

    OpenError where the server has none, or the token does not open it, with the remedy.
    """
    address = replace(world.address, name=f"{world.address.name or ''}{SUFFIX}")
    replica = world.folder.replica
    try:
        return open_replica(
            str(address), replica=replica.with_name(f"{replica.stem}{SUFFIX}{replica.suffix}"),
            token=os.environ.get(MEMORY_TOKEN) or world.token, max_staleness=None, timeout=world.timeout,
            read_only=world.read_only,
        )  # fmt: skip
    except OpenError as error:
        raise OpenError(
            f"the memories of {world.address} are the world {address}, which cannot be opened: {error}. Who has the "
            f"server's key makes it once, `worlds remote push empty.db {address}`; a token of its own stands in "
            f"{MEMORY_TOKEN}"
        ) from error
