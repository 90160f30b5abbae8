"""What is held while its quads are removed, their history forgotten and the world compacted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import worlds
from tests.support import tables
from tests.support.embedder import HashingEmbedder
from worlds import IntegrityError, World, WorldsError


def quads(names: range) -> list[tuple[str, str, str]]:
    return [(f"urn:{n}", "rdfs:label", f'"text number {n}"') for n in names]


HELD: dict[str, Callable[[World], Callable[[], Any]]] = {
    "the past": lambda world: list_of(world.at(1), "quads"),
    "the past that was read": lambda world: read_before(world.at(1)),
    "an export of the past": lambda world: exporting(world.at(1)),
    "a difference": lambda world: iterating(world.diff(0, 1).added),
    "a patch": lambda world: world.diff(0, 1).patch,
    "hits": lambda world: reading(world.search("text number 7")[0]),
    "quads that are being read": lambda world: iterating(begun(world.quads())),
}


def list_of(held: Any, name: str) -> Callable[[], Any]:
    return lambda: list(getattr(held, name)())


def read_before(past: World) -> Callable[[], Any]:
    next(past.quads())
    return lambda: list(past.quads())


def exporting(past: World) -> Callable[[], Any]:
    next(past.quads())
    return lambda: past.export(Path("/dev/null"))


def iterating(held: Any) -> Callable[[], Any]:
    return lambda: list(held)


def begun(held: Any) -> Any:
    next(held)
    return held


def reading(hit: worlds.records.Hit) -> Callable[[], Any]:
    return lambda: hit.quads


def error_of(read: Callable[[], Any]) -> WorldsError | None:
    try:
        read()
    except WorldsError as error:
        return error
    return None


@pytest.mark.parametrize("held", HELD)
@pytest.mark.parametrize("elsewhere", [False, True], ids=["here", "by another process"])
def test_what_was_forgotten_is_said_to_be_so(held: str, elsewhere: bool, path: Path) -> None:
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        world.add(quads(range(300)))
        read = HELD[held](world)
        with worlds.open(path, embedder=HashingEmbedder()) as other:
            writer = other if elsewhere else world
            writer.update("CLEAR ALL")
            writer.add([("urn:a", "urn:b", "urn:c")])
            writer.revisions.prune(len(writer.history()) + 1)
            writer.file.compact()
        error = error_of(read)
        if error is not None:  # else what is held was in memory
            assert not isinstance(error, IntegrityError), error
            assert "forgotten" in str(error)
            assert error.kind in ("forgotten", "revision")
        assert world.check().ok


def test_a_term_that_was_never_given_is_damage(path: Path) -> None:
    with worlds.open(path, embedder=None) as world:
        world.add(quads(range(3)))
        world.remove(quads(range(1)))
        world.revisions.prune(3)
        world.file.compact()
        world.add([("urn:a", "urn:b", "urn:c")])
        tables.run(world, "DELETE FROM terms WHERE id = (SELECT max(id) FROM terms)")
    with worlds.open(path, embedder=None) as world, pytest.raises(IntegrityError, match="is not stored"):
        list(world.quads())
