"""A memory of a world on a server: written there, recalled here, and no writer loses anything."""

from __future__ import annotations

import threading

from tests.support.primaries import Served
from worlds import Keep, World

ANN = ("user", "ann")


def texts(world: World, scope: tuple[str, ...] = ANN) -> list[str]:
    return sorted(one.text for one in world.memory(scope=scope).memories())


def test_a_memory_on_a_server_is_recalled_and_forgotten_everywhere(served: Served) -> None:
    one, other = served.open(), served.open("other")
    ann = one.memory(scope=ANN)
    made = ann.retain(["red kites", "blue boats"], session="s")
    ann.keep = Keep(days=1000)
    assert ann.recall("kites")[0].text == "red kites"
    other.refresh()
    assert texts(other) == ["blue boats", "red kites"]
    assert other.memory(scope=ANN).keep == Keep(days=1000)
    assert "red kites" not in [hit.text for hit in other.search("kites")]
    gone = other.memory(scope=ANN).forget(made.memories[0], purge=True)
    assert any("server" in told for told in gone.elsewhere)
    one.refresh()
    assert texts(one) == ["blue boats"]
    assert one.check().ok
    undone = ann.forget(session="s")
    assert undone.revision is not None
    one.undo(undone.revision)
    assert texts(one) == ["blue boats"]


def test_two_who_remember_at_once_lose_nothing(served: Served) -> None:
    opened = [served.open("one"), served.open("two")]
    failures: list[Exception] = []

    def write(world: World, name: str) -> None:
        try:
            for number in range(6):
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
        world.refresh()
        assert len(texts(world)) == 18
        assert world.check().ok
