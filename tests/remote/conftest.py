"""A primary for the tests of worlds on servers, where there is libSQL's server."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.primaries import Served, ended, sqld_or_skip
from worlds.extras.remote.primary import Primary


@pytest.fixture(scope="module")
def primary(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Primary]:
    sqld_or_skip()
    with Primary(tmp_path_factory.mktemp("primary")) as running:
        yield running


@pytest.fixture
def served(primary: Primary, tmp_path: Path) -> Iterator[Served]:
    """A world of its own for each test, on the module's primary; followers end with it."""
    one = Served(primary, tmp_path)
    one.push()
    with contextlib.ExitStack() as stack:
        one.stack = stack
        yield one
    ended(tmp_path)
