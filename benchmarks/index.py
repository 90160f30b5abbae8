"""The SPARQL index of a large world: how long building it takes, and the first query of a fresh process with it.

After a load, a process beside builds the index in the folder beside the file, while the one that loaded writes once
more and closes the world; the processes after it find it there. Then quads are added by a process that asks nothing,
and a fresh one reads them into its copy. At last the folder is deleted, and a first query builds the index itself.
Seconds of a query are those of the process's CPU; the rest is by the clock.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import worlds
from benchmarks.common import environment, table
from benchmarks.load import generate
from worlds.core.sparql.cache import Cache

ASK = """
import sys, time
import worlds
with worlds.open(sys.argv[1], embedder=None) as world:
    began = time.process_time()
    world.query("SELECT ?o { <http://example.org/resource/5> ?p ?o }").to_dicts()
    print(time.process_time() - began, world._core.sparql.on_disk)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quads", type=int, default=1_000_000)
    parser.add_argument("--processes", type=int, default=7)
    parser.add_argument("--added", type=int, default=10_000)
    options = parser.parse_args()
    environment()
    with tempfile.TemporaryDirectory() as folder:
        source, path = Path(folder, "data.nt"), Path(folder, "kb.db")
        generate(source, options.quads)
        with worlds.open(path, embedder=None) as world:
            began, worked = time.perf_counter(), time.process_time()
            world.load(source)
            loaded, cpu = time.perf_counter() - began, time.process_time() - worked
            began = time.perf_counter()
            world.add([("http://example.org/new", "http://example.org/n", "http://example.org/1")])
            written = time.perf_counter() - began
            quads = len(world)
            began = time.perf_counter()
        closed = time.perf_counter() - began
        while not Cache(str(path)).generations():
            time.sleep(0.01)
        there = time.perf_counter() - began
        fresh = [first_query(path) for _ in range(options.processes)]
        size = sum(file.stat().st_size for file in Path(f"{path}-sparql").rglob("*") if file.is_file())
        with worlds.open(path, embedder=None) as world:
            lines = (f'<http://example.org/new/{n}> <http://example.org/n> "{n}" .' for n in range(options.added))
            world.load("\n".join(lines).encode(), format="nt")
        behind = first_query(path)
        Cache(str(path)).remove()
        built = first_query(path)
    table(
        f"the index of {quads:,} quads",
        (
            "load_s",
            "load_cpu_s",
            "next write_s",
            "close_s",
            "built beside_s",
            "fresh process_cpu_s",
            "slowest of them_cpu_s",
            f"with {options.added:,} quads to read_cpu_s",
            "bytes_per_quad",
            "built by a query_cpu_s",
        ),
        [(loaded, cpu, written, closed, there, median(fresh), max(fresh), behind, size / quads, built)],
    )


def first_query(path: Path) -> float:
    done = subprocess.run([sys.executable, "-c", ASK, str(path)], capture_output=True, text=True, check=True)
    seconds, on_disk = done.stdout.split()
    assert on_disk == "True"
    return float(seconds)


if __name__ == "__main__":
    main()
