"""The example world, and a server of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import worlds
from tests.support.mcp_clients import Connect, inside


@pytest.fixture(scope="module")
def space() -> Iterator[worlds.World]:
    """The example, which no test changes."""
    with worlds.open(embedder=None) as world:
        world.load("examples/space.ttl")
        yield world


@pytest.fixture(scope="module")
def reading(space: worlds.World) -> Connect:
    """Connects to a server of the example."""
    return inside(space)
