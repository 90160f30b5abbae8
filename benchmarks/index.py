"""The SPARQL index of a large world: how long building it takes, and the first query of a fresh process with it.

The first query of the first process builds the index in the folder beside the file; the processes after it find it
there. Then quads are added by a process that asks nothing, and a fresh one reads them into its copy. Seconds are those
of a whole process's work from opening the world to the answer, imports aside.
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

ASK = """
import sys, time
import worlds
began = time.perf_counter()
with worlds.open(sys.argv[1], embedder=None) as world:
    world.query("SELECT ?o { <http://example.org/resource/5> ?p ?o }").to_dicts()
    print(time.perf_counter() - began, world._sparql.on_disk)
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
            world.load(source)
            quads = len(world)
        built = first_query(path)
        fresh = [first_query(path) for _ in range(options.processes)]
        size = sum(file.stat().st_size for file in Path(f"{path}-sparql").rglob("*") if file.is_file())
        with worlds.open(path, embedder=None) as world:
            lines = (f'<http://example.org/new/{n}> <http://example.org/n> "{n}" .' for n in range(options.added))
            world.load("\n".join(lines).encode(), format="nt")
        began = time.perf_counter()
        behind = first_query(path)
        print(f"measured in {time.perf_counter() - began:.1f} s")
    table(
        f"the index of {quads:,} quads",
        (
            "build_s",
            "fresh process_s",
            "slowest of them_s",
            f"with {options.added:,} quads to read_s",
            "bytes_per_quad",
        ),
        [(built, median(fresh), max(fresh), behind, size / quads)],
    )


def first_query(path: Path) -> float:
    done = subprocess.run([sys.executable, "-c", ASK, str(path)], capture_output=True, text=True, check=True)
    seconds, on_disk = done.stdout.split()
    assert on_disk == "True"
    return float(seconds)


if __name__ == "__main__":
    main()
