"""Fixtures: the world of a module behind a server, with a key of each level."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.serving import Served, served
from worlds.doors.server.keys import keys_of


@pytest.fixture(scope="module")
def keys(path: Path) -> dict[str, str]:
    """Level → key, and a key of one graph, for the world at the module's `path`."""
    store = keys_of(path)
    made = {level: store.add(level, {"*": level})[1] for level in ("read", "propose", "write", "admin")}
    made["scoped"] = store.add("scoped", {"*": "propose"}, graphs=["urn:g"])[1]
    return made


@pytest.fixture(scope="module")
def server(path: Path, keys: dict[str, str]) -> Iterator[Served]:
    with served(path, "--readers", "1") as found:
        yield found


@pytest.fixture
def client(server: Served, keys: dict[str, str]) -> Iterator[httpx.Client]:
    with server.client(keys["write"]) as found:
        yield found
