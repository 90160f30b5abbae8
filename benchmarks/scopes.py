"""What a scope costs: `python -m benchmarks.scopes [--quads 1000000] [--rounds 3]`.

A world of generated quads in ten named graphs is read through one of them, and through all ten: the first reading, the
first search and SPARQL query, the first search after a write, and a write by the scope beside one by the world. Each
round is a process of its own. Without embeddings; medians, and the process's memory beyond that with the world open.
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import worlds
from benchmarks.common import environment, median, milliseconds, table

EX = "http://example.org/"
GRAPHS = 10


def document(quads: int) -> Iterator[str]:
    """N-Quads: ten of each thing, a fifth of them texts."""
    for number in range(quads // 10):
        values = (
            f'<{EX}label> "thing number {number} of the amber sort {number * 7 % 1000}"',
            f'<{EX}note> "a note about {number % 5000} and basalt with some more words in it {number % 77}"',
            f'<{EX}code> "c{number}"',
            f'<{EX}year> "{1900 + number % 120}"',
            *(f"<{EX}link{way}> <{EX}e{number * way % (quads // 10)}>" for way in (3, 7, 17, 31)),
            f"<{EX}part> <{EX}e{number // 10}>",
            f"<http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <{EX}C{number % 20}>",
        )
        yield "".join(f"<{EX}e{number}> {value} <{EX}g{number % GRAPHS}> .\n" for value in values)


def resident() -> float:
    """Megabytes of memory that the process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6


def measured(path: Path, graphs: int, number: int) -> tuple[float, ...]:
    """The figures of one round, in a world that is opened anew."""
    with worlds.open(path, embedder=None) as world:
        world.search("amber")
        before = resident()
        names = [f"{EX}g{one}" for one in range(graphs)]
        scope = world.only(graphs=names)
        first = milliseconds(lambda: len(scope))
        search = milliseconds(lambda: scope.search("amber sort"))
        slice_memory = resident() - before
        sparql = milliseconds(lambda: scope.query("SELECT (COUNT(*) AS ?n) { GRAPH ?g { ?s ?p ?o } }"))
        memory = resident() - before
        one, two = ([(f"{EX}e1", f"{EX}note", f'"{who} {number}"', names[0])] for who in ("world", "scope"))
        world_add = milliseconds(lambda: world.add(one))
        after = milliseconds(lambda: scope.search("amber sort"))
        scope_add = milliseconds(lambda: scope.add(two))
        return first, search, sparql, world_add, scope_add, after, slice_memory, memory


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quads", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "kb.db")
        with worlds.open(path, embedder=None) as world:
            load = milliseconds(lambda: world.load("".join(document(options.quads)).encode(), format="nq", embed=False))
        environment()
        print(f"loading all {options.quads:,} quads took {load:,.0f} ms")
        rows = []
        for graphs in (1, GRAPHS):
            rounds = []
            for number in range(options.rounds):
                with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as fresh:
                    rounds.append(fresh.submit(measured, path, graphs, number).result())
            figures = [median([one[place] for one in rounds]) for place in range(8)]
            rows.append((f"{options.quads * graphs // GRAPHS:,}", *(f"{figure:,.1f}" for figure in figures)))
    head = ("quads", "first reading", "search", "SPARQL", "add by the world", "by the scope", "search after a write")
    table("A scope (milliseconds)", (*head, "MB, slice", "MB, with SPARQL"), rows)


if __name__ == "__main__":
    main()
