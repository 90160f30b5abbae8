"""What each W3C suite is run with."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import worlds
from tests.support.w3c import Tally
from worlds import World


@pytest.fixture(scope="module")
def tally(request: pytest.FixtureRequest) -> Tally:
    tally = Tally()
    request.config.pluginmanager.register(tally)
    return tally


@pytest.fixture(scope="module")
def empty() -> Iterator[World]:
    """A world for what only is read, or refused: it stays empty."""
    with worlds.open(embedder=None) as world:
        yield world
        assert len(world) == 0


@pytest.fixture
def world() -> Iterator[World]:
    with worlds.open(embedder=None) as world:
        yield world
