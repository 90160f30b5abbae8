"""Searches in two threads, each with a connection of its own, beside one; and how soon Ctrl-C ends a long statement.

python -m benchmarks.threads [--texts 50000] [--rounds 9]
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import worlds
from benchmarks.asynchronous import build
from benchmarks.common import environment, median, table
from worlds.world import connection_of

SCAN = "SELECT count(*), sum(length(value)) FROM terms WHERE value LIKE '%a%b%c%'"
LONG = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 100000000) SELECT sum(i * i) FROM n"


def rate(opened: list[worlds.World], work: Any, times: int) -> float:
    """How often a second the work is done, by as many threads as there are worlds."""
    threads = [threading.Thread(target=lambda one=one: [work(one) for _ in range(times)]) for one in opened]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(opened) * times / (time.perf_counter() - began)


def interrupted(world: worlds.World) -> float:
    """Milliseconds from a signal of another process to the end of a statement that takes some ten seconds."""
    command = f"sleep 0.5; kill -INT {os.getpid()}; date +%s.%N"
    with subprocess.Popen(["sh", "-c", command], stdout=subprocess.PIPE) as sender:
        with contextlib.suppress(KeyboardInterrupt):
            connection_of(world).value(LONG)
            time.sleep(1)
        ended = time.time()
        assert sender.stdout is not None
        return (ended - float(sender.stdout.read())) * 1e3


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--texts", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    environment()
    works: dict[str, tuple[Any, int]] = {
        "one statement that scans": (lambda world: connection_of(world).rows(SCAN), 10),
        "search by words": (lambda world: world.search("the of and red", mode="text", limit=10), 100),
    }
    rows: list[tuple[object, ...]] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "kb.db")
        build(path, options.texts)
        for driver in ("libsql", "sqlite"):
            opened = [worlds.open(path, embedder=None, read_only=True, driver=driver) for _ in range(2)]  # type: ignore[arg-type]  # one of them
            for name, (work, times) in works.items():
                ratios = []
                for _ in range(options.rounds):
                    one, two = rate(opened[:1], work, times), rate(opened, work, times)
                    ratios.append(two / one)
                rows.append((driver, name, f"{one:.0f}", f"{two:.0f}", f"{median(ratios):.2f}"))
            rows.append((driver, "Ctrl-C in a long statement, ms", "", "", f"{interrupted(opened[0]):.0f}"))
            for world in opened:
                world.close()
    table("Two threads beside one", ("driver", "work", "one_per_s", "two_per_s", "ratio"), rows)


if __name__ == "__main__":
    main()
