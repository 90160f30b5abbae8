"""Versions of graphs and hostile blank nodes: `python -m benchmarks.differences FILE...`.

Of each file of RDF a version is made: 500 random edits, three of five at statements with blank nodes; its blank nodes
are renamed, and its quads shuffled. Told are the lines of the edits and of the difference, and the CPU time of loading
the file, of comparing both files, and of replacing the one by the other, with their ratios to the first; then the rows
of the patch of both files, which is applied to a world that has loaded the first under other labels. Then come sets of
blank nodes that are made to be hard: all of one kind, the same again, and with some statements left out.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyoxigraph as ox

import worlds
from benchmarks.common import environment
from benchmarks.common import table as print_table
from worlds.core.quads.matching import assigned, match
from worlds.graph.parsing import parsing
from worlds.graph.rdf_sources import sources

EDITS, ROUNDS = 500, 3
OLD, NEW = 1_000_000_000, 1_500_000_000  # ids


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    environment()
    if options.files:
        columns = ("file", "quads", "edits, lines", "difference, lines", "load, s", "compare", "replace", "equal after")
        columns += ("patch, rows", "equal after the patch")
        print_table(
            "Versions; compare and replace as ratios to load", columns, [version(name) for name in options.files]
        )
    rows = [hostile(name, rows, left) for name, rows in SHAPES.items() for left in (0, 10)]
    columns = ("blank nodes", "statements", "left out", "difference, lines", "not compared to the end", "s")
    print_table("Hostile blank nodes", columns, rows)


def version(name: str) -> list[object]:
    """The figures of one file."""
    quads = [quad for document in sources(name) for quad in _parsed(document)]
    chance = random.Random(name)
    edited, lines = edit(quads, chance)
    first, second = serialized(quads), serialized(renamed(edited, chance))
    times: dict[str, list[float]] = {"load": [], "compare": [], "replace": []}
    for _ in range(ROUNDS):
        with worlds.open(embedder=None) as world:
            timed(times["load"], lambda world=world: world.load(first, format="nq"))
            change = timed(times["replace"], lambda world=world: world.load(second, format="nq", mode="replace"))
            equal = canonical(world) == canonical_form(edited)
        found = timed(times["compare"], lambda: worlds.compare(first, second, format="nq"))
    assert len(found.added) + len(found.removed) == change.added + change.removed
    patch = found.patch()
    with worlds.open(embedder=None) as world:
        world.load(serialized(renamed(quads, chance)), format="nq")
        world.revisions.apply(patch)
        patched = canonical(world) == canonical_form(edited)
    load, compare, replace = (statistics.median(own) for own in times.values())
    differ = change.added + change.removed
    return [
        Path(name).name,
        f"{len(quads):,}",
        lines,
        differ,
        load,
        compare / load,
        replace / load,
        "yes" if equal else "NO",
        patch.count("\n"),
        "yes" if patched else "NO",
    ]


def _parsed(document: Any) -> list[ox.Quad]:
    with parsing(document) as quads:
        return list(quads)


def timed(times: list[float], work: Callable[[], Any]) -> Any:
    """What work gives; its CPU time is noted."""
    began = time.process_time()
    done = work()
    times.append(time.process_time() - began)
    return done


def edit(quads: list[ox.Quad], chance: random.Random) -> tuple[list[ox.Quad], int]:
    """Quads with random edits, and how many lines they are."""
    found: list[ox.Quad | None] = list(quads)
    nodes = [place for place, quad in enumerate(quads) if {type(quad.subject), type(quad.object)} & {ox.BlankNode}]
    lines = 0
    for place in chance.sample(range(len(quads)), EDITS * 2 // 5) + chance.sample(
        nodes or range(len(quads)), EDITS * 3 // 5
    ):
        quad, kind = found[place], chance.random()
        if quad is None:
            continue
        if kind < 0.3:
            found[place], lines = None, lines + 1
        elif kind < 0.7:
            found[place], lines = ox.Quad(quad.subject, quad.predicate, chance.choice(quads).object), lines + 2
        else:
            found.append(ox.Quad(quad.subject, quad.predicate, ox.Literal(f"new {place}")))
            lines += 1
    return list({quad for quad in found if quad is not None}), lines


def renamed(quads: list[ox.Quad], chance: random.Random) -> list[ox.Quad]:
    """The quads with other blank nodes, in another order."""
    names: dict[ox.BlankNode, ox.BlankNode] = {}

    def name(term: Any) -> Any:
        return names.setdefault(term, ox.BlankNode()) if isinstance(term, ox.BlankNode) else term

    found = [ox.Quad(name(quad.subject), quad.predicate, name(quad.object), quad.graph_name) for quad in quads]
    chance.shuffle(found)
    return found


def serialized(quads: list[ox.Quad]) -> bytes:
    """The quads as N-Quads."""
    text = ox.serialize(quads, format=ox.RdfFormat.N_QUADS)
    assert text is not None
    return text


def canonical_form(quads: list[ox.Quad]) -> set[str]:
    """The quads by RDFC-1.0."""
    found = ox.Dataset(quads)
    found.canonicalize(ox.CanonicalizationAlgorithm.RDFC_1_0)
    return {str(quad) for quad in found}


def canonical(world: worlds.World) -> set[str]:
    """What a world holds, by RDFC-1.0."""
    return canonical_form(list(world.diff(0).added.terms()))


# --- hostile ----------------------------------------------------------------------------------------------------------

Row = tuple[int, int, int, int]  # nodes are the numbers below 0


def _clique(size: int) -> list[Row]:
    return [(-i, 1, -j, 0) for i in range(1, size + 1) for j in range(1, size + 1) if i != j]


def _torus(size: int) -> list[Row]:
    def at(i: int, j: int) -> int:
        return -1 - (i % size) * size - j % size

    return [(at(i, j), way, at(i + way, j + 1 - way), 0) for i in range(size) for j in range(size) for way in (0, 1)]


def _random(nodes: int, number: int) -> list[Row]:
    chance = random.Random(3)
    return sorted({(-chance.randint(1, nodes), 1, -chance.randint(1, nodes), 0) for _ in range(number)})


SHAPES: dict[str, list[Row]] = {
    "a clique of 8": _clique(8),
    "a clique of 12": _clique(12),
    "a clique of 200": _clique(200),
    "a chain": [(-i, 1, -i - 1, 0) for i in range(1, 100_000)],
    "a ring": [(-1 - i, 1, -1 - (i + 1) % 50_000, 0) for i in range(50_000)],
    "all alike": [(5, 1, -i, 0) for i in range(1, 100_001)],
    "trees alike": [row for i in range(50_000) for row in ((5, 1, -2 * i - 1, 0), (-2 * i - 1, 2, -2 * i - 2, 0))],
    "a star": [(-1, 1, -i, 0) for i in range(2, 100_002)],
    "a torus": _torus(100),
    "at random, sparse": _random(2000, 6000),
    "at random, dense": _random(400, 60_000),
}


def hostile(name: str, rows: list[Row], left: int) -> list[object]:
    """The figures of one set."""
    nodes = sorted({-term for row in rows for term in row if term < 0})
    names = random.Random(7).sample(nodes, len(nodes))
    other = dict(zip(nodes, names, strict=True))
    old = np.array([[OLD - term if term < 0 else term for term in row] for row in rows])
    new = np.array([[NEW + other[-term] if term < 0 else term for term in row] for row in rows])
    new = np.random.default_rng(5).permutation(new)[left:]
    ids = np.array([OLD + node for node in nodes] + [NEW + node for node in nodes])
    began = time.process_time()
    found = match(old, new, ids, {})
    seconds = time.process_time() - began
    images = set(map(tuple, assigned(new, found.pairs).tolist()))
    differ = len(images ^ set(map(tuple, old.tolist())))
    return [f"{name} ({len(nodes):,})", f"{len(rows):,}", left, f"{differ:,}", f"{found.past:,}", seconds]


if __name__ == "__main__":
    main()
