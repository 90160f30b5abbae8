"""A curator who never tires: decisions of every kind, one after another, which a seed determines."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path

import worlds
from tests.support.readback import EX, quads_of

SHAPES = b"""@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix ex: <http://example.org/> .
ex:Shape sh:targetSubjectsOf ex:born ; sh:property [ sh:path ex:born ; sh:maxCount 1 ] ."""
State = tuple[frozenset[str], tuple[tuple[int, str, str, int], ...], str]


def decisions(world: worlds.World, seed: int) -> Iterator[None]:
    """Makes a decision in a world, which shapes are loaded into first, each time that it is asked for the next."""
    choose = random.Random(seed)
    world.shapes.load(SHAPES, format="turtle")
    yield
    while True:
        names = [f"{EX}{letter}" for letter in "abcdef"]
        rows = [
            (choose.choice(names), f"{EX}{choose.choice(['born', 'p'])}", choose.choice([*names, '"kite"']))
            for _ in range(3)
        ]
        waiting = [one.id for one in world.proposals.list()]
        kind = choose.choice(
            ["add", "remove", "guard", "propose", "accept", "reject", "amend", "merge", "split", "undo"]
        )
        try:
            if kind == "add":
                world.add(rows)
            elif kind == "remove":
                world.remove(sorted(world.quads(), key=str)[:1])
            elif kind == "guard":
                world.shapes.guard = choose.choice(["off", "warn", "queue", "reject"])
            elif kind == "propose":
                world.proposals.add(add=rows, author="bot")
            elif kind == "merge":
                world.curation.merge(*choose.sample(names, 2))
            elif kind in ("split", "undo"):
                (world.curation.split if kind == "split" else world.undo)(choose.choice(world.history()).revision)
            elif waiting and kind == "accept":
                world.proposals.accept(choose.choice(waiting), reviewer="ann", force=True)
            elif waiting and kind == "reject":
                world.proposals.reject(choose.choice(waiting), "no", reviewer="ann")
            elif waiting:
                world.proposals.amend(choose.choice(waiting), add=rows, why="better")
        except (worlds.WorldsError, ValueError):
            pass  # nothing is changed
        yield


def state(world: worlds.World) -> State:
    """What is decided: the quads; the proposals with their patches, and how often they were talked of; the guard."""
    made = [(one.id, one.status, one.patch, len(one.discussion)) for one in world.proposals.list(status="any")]
    return frozenset(map(str, quads_of(world))), tuple(made), world.shapes.guard


if __name__ == "__main__":
    with worlds.open(Path(sys.argv[1]), embedder=None) as opened:
        for _ in decisions(opened, int(sys.argv[2])):
            print("done", flush=True)
