"""The memories of a world on a server are in one world beside it: written there, recalled here, and nothing is lost."""

from __future__ import annotations

import threading

import pytest

import worlds
from tests.support.primaries import Served
from worlds import World
from worlds.errors import OpenError
from worlds.extras.remote.file_transfer import push
from worlds.records import Keep

ANN = ("user", "ann")


@pytest.fixture
def with_memories(served: Served, monkeypatch: pytest.MonkeyPatch) -> Served:
    """A world on a server beside which its memories are."""
    with worlds.open(served.folder / "empty.db", embedder=None) as empty:
        empty.bind("ex", "https://ex.example/")
    assert served.primary.keys is not None
    push(served.folder / "empty.db", f"{served.url}-memory", key=served.primary.keys.admin)
    monkeypatch.setenv("WORLDS_MEMORY_TOKEN", served.primary.keys.token(f"{served.name}-memory"))
    return served


def texts(world: World, scope: tuple[str, ...] = ANN) -> list[str]:
    return sorted(one.text for one in world.memory(scope=scope).memories())


def test_a_memory_on_a_server_is_recalled_and_forgotten_everywhere(with_memories: Served) -> None:
    one, other = with_memories.open(), with_memories.open("other")
    ann = one.memory(scope=ANN)
    made = ann.retain(["red kites", "blue boats"], session="s")
    one.memory(scope=("user", "bob")).retain("green kites")
    ann.keep = Keep(days=1000)
    assert ann.recall("kites")[0].text == "red kites"
    other.memory(scope=ANN).world.refresh()
    assert texts(other) == ["blue boats", "red kites"]
    assert texts(other, ("user",)) == ["blue boats", "green kites", "red kites"]
    assert other.memory(scope=ANN).keep == Keep(days=1000)
    assert "red kites" not in [hit.text for hit in other.search("kites")]
    gone = other.memory(scope=ANN).forget(made.memories[0], purge=True)
    assert any("server" in told for told in gone.elsewhere)
    ann.world.refresh()
    assert texts(one) == ["blue boats"]
    undone = ann.forget(session="s")
    assert undone.revision is not None
    ann.world.undo(undone.revision)
    assert texts(one) == ["blue boats"]
    assert one.check().ok


def test_without_a_world_for_them_the_remedy_is_told(served: Served) -> None:
    with pytest.raises(OpenError, match="worlds remote push empty.db .*-memory.*WORLDS_MEMORY_TOKEN"):
        served.open().memory(scope=ANN).retain("red kites")


def test_two_who_remember_at_once_lose_nothing(with_memories: Served) -> None:
    opened = [with_memories.open("one"), with_memories.open("two")]
    failures: list[Exception] = []

    def write(world: World, name: str) -> None:
        try:
            for number in range(3):
                world.memory(scope=ANN).retain(f"{name} {number}")
                world.memory(scope=ANN).retain(f"both {number}", key=str(number))
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=pair) for pair in zip(opened, ("ann", "bob"), strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    for world in opened:
        world.memory(scope=ANN).world.refresh()
        assert len(texts(world)) == 9
