"""What a world remembers of its file is what the file has: whoever wrote, and whether it was kept."""

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import worlds
from tests.support.forking import run
from worlds import World
from worlds.world import connection_of

ELSEWHERE = """
import sys, worlds
with worlds.open(sys.argv[1], embedder=None) as world:
    exec(sys.argv[2])
"""


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with worlds.open(tmp_path / "world.db", embedder=None) as world:
        world.add([("urn:a", "urn:p", "urn:b", "urn:g")])
        assert len(asked(world)) == 0
        yield world


def asked(world: World) -> worlds.records.Solutions:
    found = world.query("SELECT * { ?s <urn:p> ?o }")
    assert isinstance(found, worlds.records.Solutions)
    return found


def test_another_process_changes_it(world: World) -> None:
    assert "ex" not in world.prefixes
    for change, solutions in (
        ("world.file.default_graph = 'union'; world.bind('ex', 'urn:ex:')", 1),
        ("world.add([('urn:c', 'urn:p', 'urn:d', 'urn:h')])", 2),
        ("world.file.default_graph = 'strict'", 0),
    ):
        run([sys.executable, "-c", ELSEWHERE, world.path, change], check=True)
        assert len(asked(world)) == solutions
    assert world.prefixes["ex"] == "urn:ex:"
    assert world.query("ASK { GRAPH ?g { ex:x ?p ?o } }") is False


def test_another_world_of_this_process_changes_it(world: World) -> None:
    with worlds.open(world.path, embedder=None) as other:
        other.file.default_graph = "union"
        assert len(asked(world)) == 1
        world.file.default_graph = "strict"
        assert len(asked(other)) == len(asked(world)) == 0


def test_a_change_that_is_undone_was_never_there(world: World) -> None:
    class UndoneError(Exception):
        pass

    for change in ("default_graph", "quads"):
        with contextlib.suppress(UndoneError), world.transaction():
            if change == "quads":
                world.add([("urn:a", "urn:p", "urn:c")])
            else:
                world.file.default_graph = "union"
            assert len(asked(world)) == 1
            raise UndoneError
        assert len(asked(world)) == 0


def test_asking_again_reads_nothing_again(world: World) -> None:
    connection = connection_of(world)
    state = connection.state()
    asked(world)
    assert connection.state() is state
    world.add([("urn:a", "urn:p", "urn:b", "urn:g")])  # changes nothing
    asked(world)
    state = connection.state()
    world.add([("urn:e", "urn:p", "urn:f")])
    assert connection.state() is not state
