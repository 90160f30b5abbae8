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


@pytest.fixture
def world() -> Iterator[World]:
    with worlds.open(embedder=None) as world:
        yield world
