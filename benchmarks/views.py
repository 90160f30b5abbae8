"""What it costs to look at a world through a view: `python -m benchmarks.views [--quads 1000000] [--rounds 5]`.

A fifth of the generated quads are texts. Scopes are of 1, 10 and 1,000 graphs, and hold nine tenths or a hundredth of
the quads, in a world for each number of graphs. The past is revision 1 of a world that 1,000 revisions have changed
since, a hundredth of its quads in all; the time is one at which as many facts held that have ended since. Each round
is a process of its own, without embeddings. First come the world's own search and query, then those of the view,
which the first search makes. All
figures are medians, of CPU time in milliseconds, and of the megabytes that the process holds more than before.
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import worlds
from benchmarks.common import environment, median, table
from benchmarks.scopes import resident

EX = "http://example.org/"
TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
GRAPHS = (1, 10, 1000)  # of a scope
SHARES = {"wide": 90, "narrow": 1}  # hundredths of the quads
REVISIONS = 1000
AGAIN = 20  # later searches, of which the median is told
QUESTION = "amber basalt"
QUERY = f"SELECT (COUNT(*) AS ?n) {{ GRAPH ?g {{ ?s <{EX}link3> ?o . ?o <{EX}link7> ?e }} }}"


class Figures(NamedTuple):
    """What a round tells of a search or query: CPU of the first one and of those after it, and the memory."""

    first: float
    later: float
    memory: float


def graph_of(entity: int, graphs: int) -> str:
    """The graph of an entity: one of the wide scope's, of the narrow scope's, or of the others."""
    hundredth, number = entity % 100, entity // 100 % graphs
    if hundredth < SHARES["wide"]:
        return f"{EX}wide{number}"
    return f"{EX}narrow{number}" if hundredth == SHARES["wide"] else f"{EX}other{number}"


def document(quads: int, graphs: int) -> Iterator[str]:
    """N-Quads: ten of each entity, of which two are texts."""
    entities = quads // 10
    for number in range(entities):
        values = (
            f'<{EX}label> "thing number {number} of the amber sort {number * 7 % 1000}"',
            f'<{EX}note> "a note about {number} and basalt with some more words in it {number % 77}"',
            f'<{EX}year> "{1900 + number % 120}"^^<http://www.w3.org/2001/XMLSchema#integer>',
            *(f"<{EX}link{way}> <{EX}e{number * way % entities}>" for way in (3, 7, 17, 31, 43)),
            f"<{EX}part> <{EX}e{number // 10}>",
            f"<{TYPE}> <{EX}C{number % 20}>",
        )
        graph = graph_of(number, graphs)
        yield "".join(f"<{EX}e{number}> {value} <{graph}> .\n" for value in values)


def ended(facts: int) -> str:
    """Turtle of so many facts that have ended."""
    head = "@prefix s: <https://schema.org/> . @prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .\n"
    return head + "\n".join(
        f"[] rdf:reifies <<( <{EX}e{number}> <{EX}met> <{EX}e{number + 1}> )>> ; "
        's:validFrom "1980" ; s:validThrough "1999" .'
        for number in range(facts)
    )


def change(world: worlds.World, quads: int) -> None:
    """Let the world go through 1,000 revisions that change a hundredth of its quads in all."""
    each = max(quads // 100 // REVISIONS // 2, 1)
    for revision in range(REVISIONS):
        mine = range(revision * each, (revision + 1) * each)
        graph = [graph_of(number, 1) for number in mine]
        part = [
            (f"{EX}e{number}", f"{EX}part", f"{EX}e{number // 10}", at) for number, at in zip(mine, graph, strict=True)
        ]
        text = [
            (f"{EX}e{number}", f"{EX}note", f'"amber was seen by {number}"', at)
            for number, at in zip(mine, graph, strict=True)
        ]
        with world.transaction():
            world.remove(part)
            world.add(text)


def make(path: Path, quads: int, graphs: int, kind: str) -> None:
    """A world to be looked at."""
    with worlds.open(path, embedder=None) as world:
        world.load("".join(document(quads, graphs)).encode(), format="nq", embed=False)
        if kind == "past":
            change(world, quads)
        if kind == "time":
            world.load(ended(quads // 100).encode(), format="turtle", embed=False)
        world.query("ASK { ?s ?p ?o }")  # leaves the index on disk to the rounds


def figures(call: Callable[[], object]) -> Figures:
    """Of one call and those after it."""

    def cpu() -> float:
        began = time.process_time()
        call()
        return (time.process_time() - began) * 1e3

    before = resident()
    first = cpu()
    return Figures(first, median([cpu() for _ in range(AGAIN)]), resident() - before)


def measured(path: Path, kind: str, graphs: int) -> list[Figures]:
    """The figures of a round: search and query of the world, then of the view."""
    with worlds.open(path, embedder=None) as world:
        found = [figures(lambda: world.search(QUESTION)), figures(lambda: world.query(QUERY))]
        names = [f"{EX}{kind}{number}" for number in range(graphs)]

        def view() -> worlds.World:
            if kind == "past":
                return world.at(1)
            return world.as_of("1990") if kind == "time" else world.only(graphs=names)

        return [*found, figures(lambda: view().search(QUESTION)), figures(lambda: view().query(QUERY))]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quads", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--views", nargs="*", choices=(*SHARES, "past", "time"), default=[*SHARES, "past", "time"])
    options = parser.parse_args()
    environment()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for graphs in GRAPHS:
            for kind in options.views:
                if kind not in SHARES and graphs > 1:
                    continue
                path = Path(folder, f"{'scopes' if kind in SHARES else kind}{graphs}.db")
                if not path.exists():
                    make(path, options.quads, graphs, kind)
                rounds = []
                for _ in range(options.rounds):
                    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as fresh:
                        rounds.append(fresh.submit(measured, path, kind, graphs).result())
                name = f"{kind}, {graphs:,} graphs" if kind in SHARES else kind
                for place, verb in enumerate(("world's search", "world's query", "search", "query")):
                    told = [f"{median([one[place][at] for one in rounds]):,.1f}" for at in range(3)]
                    rows.append((name, verb, *told))
    table(f"Views of {options.quads:,} quads", ("view", "verb", "first, ms", "later, ms", "MB"), rows)


if __name__ == "__main__":
    main()
