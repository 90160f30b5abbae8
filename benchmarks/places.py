"""Where SPARQL is evaluated: on disk, in memory, on disk until the move pays, and by pyoxigraph's own store in memory.

The same file is opened with each `sparql_index`, and each shape of query is asked of all, in turn, in one process. Rows
are counted, not converted. Times are CPU times.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyoxigraph as ox

import worlds
from benchmarks.common import environment, median, table
from benchmarks.sparql import EX, QUADS_AN_ENTITY, SHAPES, quads
from worlds.core.sparql.index import PLACES


def cpu(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quads", type=int, default=300_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    environment()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "world.db")
        with worlds.open(path, embedder=None) as world:
            world.add(quads(options.quads // QUADS_AN_ENTITY, seed=1))
            world.bind("ex", EX)
            prefixes = world.prefixes
            store = ox.Store()
            store.bulk_extend(quads(options.quads // QUADS_AN_ENTITY, seed=1))
        opened: dict[str, worlds.World] = {}
        ready = []
        for place in sorted(PLACES, reverse=True):  # memory, disk, auto: the last finds what the second has built
            began = time.process_time()
            opened[place] = worlds.open(path, embedder=None, sparql_index=place)
            opened[place].query("ASK {}")
            ready.append((place, time.process_time() - began))
        table("Ready for the first query", ("place", "cpu_s"), ready)
        rows = []
        for name, query in SHAPES.items():
            times: dict[str, list[float]] = {place: [] for place in ("raw", *opened)}
            for _ in range(options.rounds):
                times["raw"].append(cpu(lambda: len(list(store.query(query, prefixes=prefixes)))) * 1e3)  # type: ignore[arg-type]  # noqa: B023  # no ASK
                for place, world in opened.items():
                    times[place].append(cpu(lambda: len(world.query(query))) * 1e3)  # type: ignore[arg-type]  # noqa: B023
            limit = 1.2 * median(times["raw"]) + 1
            within = "yes" if median(times["memory"]) <= limit else "NO"
            place = opened["auto"].explain("ASK {}", counts=False).index
            rows.append(
                (name, *(median(times[one]) for one in ("raw", "memory", "disk", "auto")), place, limit, within)
            )
        table(
            f"{options.quads:,} quads",
            ("shape", "raw_cpu_ms", "memory_cpu_ms", "disk_cpu_ms", "auto_cpu_ms", "auto is now in",
             "limit_ms = 1.2 × raw + 1", "memory within"),
            rows,
        )  # fmt: skip
        for world in opened.values():
            world.close()


if __name__ == "__main__":
    main()
