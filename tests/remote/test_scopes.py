"""A scope of a world on a server: it is read from its slice of the replica, and written on the server."""

from __future__ import annotations

import threading

import pytest

import worlds
from tests.support.primaries import EX, Served
from worlds import ReadOnlyError

MINE, THEIRS = f"{EX}mine", f"{EX}theirs"


def test_a_scope_of_a_world_on_a_server(served: Served) -> None:
    world = served.open()
    world.bind("ex", EX)
    world.add([("ex:a", "rdfs:label", '"a red kite"', MINE), ("ex:b", "rdfs:label", '"a blue kite"', THEIRS)])
    scope = world.only(graphs=MINE)
    assert [hit.text for hit in scope.search("kite")] == ["a red kite"]
    assert scope.add([("ex:c", "rdfs:label", '"a green kite"')]).revision == 3
    with pytest.raises(ReadOnlyError, match="outside of the scope"):
        scope.update(f"DELETE DATA {{ GRAPH <{THEIRS}> {{ ex:b rdfs:label 'a blue kite' }} }} ; CREATE GRAPH ex:new")
    other = served.open("other")
    other.refresh()
    assert other.count(graph=MINE) == 2
    other.add([("ex:d", "rdfs:label", '"a grey kite"', MINE)])
    scope.refresh()
    assert {hit.text for hit in scope.search("kite")} == {"a red kite", "a green kite", "a grey kite"}
    assert scope.undo(3).removed == 1
    assert len(scope) == 2


def test_scopes_that_write_at_once_lose_nothing(served: Served) -> None:
    scopes = [served.open(name).only(graphs=graph) for name, graph in (("one", MINE), ("two", THEIRS))]
    failures: list[Exception] = []

    def write(scope: worlds.World, name: str) -> None:
        try:
            for number in range(4):
                scope.add([(f"{EX}{name}{number}", f"{EX}p", f'"{name} {number}"')])
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=pair) for pair in zip(scopes, ("mine", "theirs"), strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    for scope in scopes:
        scope.refresh()
        assert len(scope) == 4
