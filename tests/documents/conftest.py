"""Documents are added to worlds without an embedder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import worlds


@pytest.fixture
def world() -> Iterator[worlds.World]:
    """A fresh world in memory, without an embedder."""
    with worlds.open(embedder=None) as world:
        yield world
