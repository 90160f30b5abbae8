"""What follows the quads takes part in the write: when one of them fails, nothing of it stays."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyoxigraph as ox
import pytest

from worlds.core.file.opening import open_file
from worlds.core.history.gate import Gate
from worlds.core.quads.delta import Delta, Follower, Followers
from worlds.core.quads.dictionary import Dictionary
from worlds.core.quads.reader import quad_ids
from worlds.extras.facts.times import now
from worlds.sql.connection import Connection

QUAD = ox.Quad(ox.NamedNode("urn:a"), ox.NamedNode("urn:p"), ox.Literal("text"))


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[Connection]:
    found = open_file(
        str(tmp_path / "w.db"), read_only=False, create=True, durability="normal", timeout=1, encryption_key=None
    )
    yield found
    found.close()


class Told(Follower):
    """Notes what it is told."""

    def __init__(self, name: str, notes: list[str], *, fails: bool = False) -> None:
        self._name = name
        self._notes = notes
        self.fails = fails

    def apply(self, delta: Delta) -> None:
        self._notes.append(f"{self._name} applies {len(delta.added)} {len(delta.removed)}")
        if self.fails:
            raise ZeroDivisionError

    def revert(self) -> None:
        self._notes.append(f"{self._name} reverts")

    def committed(self, revision: int) -> None:
        self._notes.append(f"{self._name} keeps {revision}")


def gated(connection: Connection, *followers: Follower) -> Gate:
    """A gate with some followers."""
    return Gate(connection, Dictionary(connection), Followers(*followers), now)


def write(connection: Connection, gate: Gate, quad: ox.Quad = QUAD) -> None:
    with gate.write():
        gate.apply(quad_ids(connection, Dictionary(connection), [quad]))


def test_followers_are_told_in_order_and_take_back_in_the_opposite_one(connection: Connection) -> None:
    notes: list[str] = []
    gate = gated(connection, Told("first", notes), Told("second", notes))
    write(connection, gate)
    assert notes == ["first applies 1 0", "second applies 1 0", "first keeps 1", "second keeps 1"]
    notes.clear()
    with pytest.raises(ZeroDivisionError), gate.write():
        gate.apply(
            quad_ids(
                connection,
                Dictionary(connection),
                [ox.Quad(QUAD.subject, QUAD.predicate, QUAD.object, ox.NamedNode("urn:g"))],
            )
        )
        raise ZeroDivisionError
    assert notes == ["first applies 1 0", "second applies 1 0", "second reverts", "first reverts"]


def test_a_follower_that_raises_leaves_nothing(connection: Connection) -> None:
    notes: list[str] = []
    failing = Told("second", notes, fails=True)
    gate = gated(connection, Told("first", notes), failing, Told("third", notes))
    with pytest.raises(ZeroDivisionError):
        write(connection, gate)
    assert notes == ["first applies 1 0", "second applies 1 0", "second reverts", "first reverts"]
    for table in ("quads", "terms", "revisions", "removed_quads", "chunks"):
        assert connection.value(f"SELECT count(*) FROM {table}") == 0
    failing.fails = False
    notes.clear()
    write(connection, gate)
    assert notes[-1] == "third keeps 1"


def test_a_follower_that_raises_undoes_its_part_of_a_transaction_only(connection: Connection) -> None:
    notes: list[str] = []
    failing = Told("second", notes)
    gate = gated(connection, Told("first", notes), failing)
    with gate.write():
        write(connection, gate)
        failing.fails = True
        with pytest.raises(ZeroDivisionError):
            write(connection, gate, ox.Quad(QUAD.subject, QUAD.predicate, QUAD.object, ox.NamedNode("urn:g")))
        failing.fails = False
    assert connection.rows("SELECT graph FROM quads") == [(0,)]
    assert notes[-4:] == ["second reverts", "first reverts", "first keeps 1", "second keeps 1"]
