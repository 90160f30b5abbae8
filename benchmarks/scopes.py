"""What a scope costs: `python -m benchmarks.scopes [--quads 1000000] [--rounds 5]`.

A world of generated quads, a fifth of them texts, is read through scopes of 1, 10 and 1,000 graphs, which hold nine
tenths and a hundredth of it. CPU time: the first search of the scope; later ones, beside as many of the world's own by
turns; a context; the first query, and the same again; the first search after a write by the world, and that of the
world; a write by the scope. Each round is a process of its own, which has searched its world once. Without embeddings;
medians, and the memory that the first search takes.
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import worlds
from benchmarks.common import environment, median, table

EX = "http://example.org/"
HOLDS = {"big": "9/10", "small": "1/100"}
GRAPHS = (1, 10, 1000)
LATER = 15


def document(quads: int, graphs: int) -> Iterator[str]:
    """N-Quads: ten of each thing, a fifth of them texts; nine tenths in some graphs, a hundredth in others."""
    for number in range(quads // 10):
        values = (
            f'<{EX}label> "thing number {number} of the amber sort {number * 7 % 1000}"',
            f'<{EX}note> "a note about {number % 5000} and basalt with some more words in it {number % 77}"',
            f'<{EX}code> "{number}"^^<http://www.w3.org/2001/XMLSchema#integer>',
            f'<{EX}year> "{1900 + number % 120}"^^<http://www.w3.org/2001/XMLSchema#gYear>',
            *(f"<{EX}link{way}> <{EX}e{number * way % (quads // 10)}>" for way in (3, 7, 17, 31)),
            f"<{EX}part> <{EX}e{number // 10}>",
            f"<http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <{EX}C{number % 20}>",
        )
        place = number % 100
        graph = f"{EX}{'small' if place == 0 else 'other' if place < 10 else 'big'}{number // 100 % graphs}"
        yield "".join(f"<{EX}e{number}> {value} <{graph}> .\n" for value in values)


def resident() -> float:
    """Megabytes of memory that the process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6


def milliseconds(work: Callable[[], object]) -> float:
    """The CPU time of this process."""
    began = time.process_time()
    work()
    return (time.process_time() - began) * 1000


def searching(world: worlds.World, text: str) -> float:
    """The CPU time of a search."""
    return milliseconds(lambda: world.search(text))


def measured(path: Path, which: str, graphs: int, number: int) -> tuple[float, ...]:
    """The figures of one round, in a world that is opened anew."""
    with worlds.open(path, embedder=None) as world:
        world.search("amber 7")
        names = [f"{EX}{which}{one}" for one in range(graphs)]
        scope = world.only(graphs=names)
        before = resident()
        first = searching(scope, "amber 7")
        memory = resident() - before
        turns = [[searching(one, f"amber note {turn}") for one in (scope, world)] for turn in range(LATER)]
        later, own = (median(list(times)) for times in zip(*turns, strict=True))
        context = milliseconds(lambda: scope.context("thing number 100 of the amber sort"))
        query = "SELECT ?s ?c { GRAPH ?g { ?s a ?c ; <http://example.org/part> <http://example.org/e40> } }"
        world.query(query)
        asked = milliseconds(lambda: scope.query(query))
        again = milliseconds(lambda: scope.query(query))
        adds = [[(f"{EX}e1", f"{EX}note", f'"{who} {number}"', names[0])] for who in ("world", "scope")]
        world.add(adds[0])
        after, after_own = searching(scope, "amber sort"), searching(world, "amber sort")
        written = milliseconds(lambda: scope.add(adds[1]))
        return first, later, later / own, context, asked, again, after, after_own, written, memory


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quads", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    environment()
    rows = []
    for graphs in GRAPHS:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "kb.db")
            with worlds.open(path, embedder=None) as world:
                world.load("".join(document(options.quads, graphs)).encode(), format="nq", embed=False)
            for which, share in HOLDS.items():
                rounds = []
                for number in range(options.rounds):
                    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as fresh:
                        rounds.append(fresh.submit(measured, path, which, graphs, number).result())
                figures = [median(list(each)) for each in zip(*rounds, strict=True)]
                rows.append((f"{graphs:,}", share, *(f"{figure:,.1f}" for figure in figures)))
    head = (
        *("graphs", "of the quads", "first search", "later", "of the world's own", "context", "first query", "later"),
        *("after a write", "the world's own", "write", "MB"),
    )
    table(f"A scope of {options.quads:,} quads (CPU milliseconds)", head, rows)


if __name__ == "__main__":
    main()
