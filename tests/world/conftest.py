"""Fixtures: a world that wrong input must leave as it was."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import worlds
from tests.support.bad_input import BIRDS
from tests.support.embedder import HashingEmbedder
from tests.support.misuse import files_of, state
from tests.support.oracle import problems
from worlds import (
    World,
)


@pytest.fixture(scope="module")
def birds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A world on a file that no test here may change."""
    path = tmp_path_factory.mktemp("birds") / "world.db"
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        world.load(BIRDS, format="trig")
        yield world
        assert problems(world) == []
    assert files_of(path) == {"world.db"}


@pytest.fixture(scope="module")
def before(birds: World) -> tuple[object, object]:
    """The state of the world and its files."""
    return state(birds), files_of(Path(birds.path))


@pytest.fixture
def kept(birds: World, before: tuple[object, object]) -> Iterator[Any]:
    """The same, looked at after each test; of no type, so that wrong ones can be given to it."""
    yield birds
    assert (state(birds), files_of(Path(birds.path))) == before
    assert len(birds.search("kite", mode="text")) == 1
    assert birds.query("ASK { ?s ex:p 'Rotmilan'@de }") is True
    assert birds.query("ASK { ?s ?p 'a new text' }") is False
