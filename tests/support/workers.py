"""What other processes do to a world file, for the tests of crashes and of several processes.

`python -m tests.support.workers NAME PATH …` runs one of the functions at the end. What is written is a function of the
revision number, so that whoever knows the number knows what the world must hold.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyoxigraph as ox

import worlds
from tests.support import tables
from tests.support.embedder import HashingEmbedder
from tests.support.oracle import rolled_back
from worlds import World

EX = "http://example.org/"
WORDS = ["heron", "kite", "lake", "pine", "river", "stone", "willow"]
XSD_INTEGER = ox.NamedNode("http://www.w3.org/2001/XMLSchema#integer")

State = frozenset[ox.Quad]


def iri(name: str) -> ox.NamedNode:
    return ox.NamedNode(EX + name)


def batch(revision: int, count: int) -> list[ox.Quad]:
    """Quads that no other revision has, in one of three graphs; half of them texts."""
    graph = iri(f"g{revision % 3}")
    quads = []
    for number in range(count):
        subject = iri(f"s{revision}-{number}")
        text = f"{WORDS[number % 7]} and {WORDS[revision % 7]} in revision{revision} number{number}"
        quads.append(ox.Quad(subject, iri("note"), ox.Literal(text), graph))
        quads.append(ox.Quad(subject, iri("of"), ox.Literal(str(revision), datatype=XSD_INTEGER), graph))
    return quads


# -- revisions of all kinds -----------------------------------------------------------------------------------------


def write(world: World, revision: int) -> int | None:
    """Make this revision of a world that has the one before it; gives the number that the world says."""
    quads = batch(revision, 15)
    if revision % 4 == 0:
        data: Any = ox.serialize(quads, format=ox.RdfFormat.N_QUADS)
        return world.load(data, format="nq", mode="replace").revision
    if revision % 4 == 1:
        return world.add(quads).revision
    if revision % 4 == 2:
        return world.remove(batch(revision - 1, 15)[:20]).revision
    with world.transaction() as transaction:
        transaction.add(quads)
        with rolled_back(world):
            world.remove(quads)
        change = world.remove(quads[:10])
    return change.revision


def after(state: State, revision: int) -> State:
    """What the world holds after this revision, `state` having been what it held before."""
    quads = batch(revision, 15)
    if revision % 4 == 0:
        return frozenset(quad for quad in state if quad.graph_name != quads[0].graph_name) | frozenset(quads)
    if revision % 4 == 1:
        return state | frozenset(quads)
    if revision % 4 == 2:
        return state - frozenset(batch(revision - 1, 15)[:20])
    return state | frozenset(quads[10:])


def states() -> Iterator[State]:
    """What the world holds after revision 0, 1, 2, …"""
    state: State = frozenset()
    revision = 0
    while True:
        yield state
        revision += 1
        state = after(state, revision)


def last_revision(world: World) -> int:
    return int(tables.value(world, "SELECT coalesce(max(revision), 0) FROM revisions"))


# -- what is run ----------------------------------------------------------------------------------------------------


def say(value: object) -> None:
    print(json.dumps(value), flush=True)


def write_on(path: Path) -> None:
    """Write revision after revision, for ever; says each number when it is done."""
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        revision = last_revision(world)
        say(revision)
        while True:
            revision += 1
            number = write(world, revision)
            assert number == revision
            say(number)


def write_some(path: Path, name: str, count: str) -> None:
    """Add so many batches, one quad apart from all others'; says each revision's number."""
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        say("ready")
        for number in range(int(count)):
            quads = [
                ox.Quad(iri(f"{name}{number}-{part}"), iri("note"), ox.Literal(f"{name} {number} part {part}"))
                for part in range(5)
            ]
            say(world.add(quads, author=name).revision)


def read_on(path: Path) -> None:
    """For each line of the input, say what a query and two searches find."""
    with worlds.open(path, embedder=HashingEmbedder(), read_only=True) as world:
        say("ready")
        for line in sys.stdin:
            revision = int(line)
            first = last_revision(world)
            rows = world.query(
                f"SELECT ?of (COUNT(*) AS ?count) WHERE {{ GRAPH ?g {{ ?s <{EX}of> ?of }} }} GROUP BY ?of"
            )
            counts = {int(row[0]): int(row[1]) for row in rows}  # type: ignore[union-attr]  # a SELECT
            words = world.search(f"revision{revision}", mode="text", limit=100)
            where = world.search("kite", limit=100, where=f"?subject <{EX}of> {revision}")
            for hit in [*words, *where]:
                assert hit.quads
                assert hit.snippet
            say([first, counts, len(words), len(where), last_revision(world)])


def compact_on(path: Path) -> None:
    """Compact the world for ever."""
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        say("ready")
        while True:
            world.file.compact()
            say("compacted")


def make(path: Path) -> None:
    """Make a world that was not there, and add a quad."""
    say("ready")
    sys.stdin.readline()
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        say(world.add([(iri("s"), iri("p"), ox.Literal(sys.argv[3]))]).revision)


if __name__ == "__main__":
    {function.__name__: function for function in (write_on, write_some, read_on, compact_on, make)}[sys.argv[1]](
        Path(sys.argv[2]), *(sys.argv[3:] if sys.argv[1] != "make" else [])
    )
