"""What history costs: `python -m benchmarks.history [--quads 300000] [--undo 100000] [--rounds 5]`.

Each round loads the generated file of `benchmarks.load` twice, each time into a new world in a process of its own: as
it is, and without what history keeps. For that, the child process takes the column `revision` out of the table of
quads and out of the statement that fills it, and makes neither removed_quads nor a row of revisions; all else stays.
The two take turns in going first. Then `--undo` more quads are loaded into a world that has the others, and that load
is undone. Without embeddings; sizes are those of the file after closing.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.common import environment, median, table
from benchmarks.load import generate


def without_history() -> None:
    """Let this process make worlds that keep no history. They can be loaded once, and no more."""
    import worlds.core.file.opening
    import worlds.sql

    schema = worlds.sql.schema()
    quads = re.search(r"CREATE TABLE quads \(.*?\n\);", schema, re.DOTALL)
    removed = re.search(r"CREATE TABLE removed_quads \(.*?ON removed_quads \(removed\);", schema, re.DOTALL)
    assert quads
    assert removed
    bare, found = re.subn(r",(\s*--[^\n]*)\n\s*revision INTEGER NOT NULL[^\n]*", r"\1", quads[0])
    assert found == 1
    changed = schema.replace(quads[0], bare).replace(removed[0], "")
    worlds.files.schema = lambda: changed  # type: ignore[attr-defined]  # where it is imported
    statements = worlds.sql.statements("queries.sql")
    for name, text in (
        ("insert_quads", "INSERT INTO quads (subject, predicate, object, graph) SELECT value >> 32, :predicate, "
                         "value & 4294967295, :graph FROM json_each(:pairs_json)"),
        ("insert_revision", "SELECT :revision"),
    ):  # fmt: skip
        statements[name] = worlds.sql.compile_statement(text)  # type: ignore[index]  # a dict


def load(source: Path, target: Path, *, history: bool) -> None:
    """In a process of its own: load, and print the figures as JSON."""
    import worlds

    if not history:
        without_history()
    with worlds.open(target, embedder=None, sparql_index="memory") as world:
        began, cpu = time.perf_counter(), time.process_time()
        change = world.load(source)
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    print(json.dumps({"seconds": seconds, "cpu": cpu, "bytes": target.stat().st_size, "quads": change.added}))


def undo(target: Path, source: Path) -> dict[str, float]:
    """Load more into a world, and undo it: seconds of CPU."""
    import worlds

    with worlds.open(target, embedder=None, sparql_index="memory") as world:
        times = []
        for call in (
            lambda: world.load(source),
            lambda: len(world.diff(1).added),
            lambda: world.undo(2),
            lambda: world.undo(3),
        ):
            began = time.process_time()
            call()
            times.append(time.process_time() - began)
        assert len(world.history()) == 4
    return dict(zip(("load", "diff", "undo", "redo"), times, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quads", type=int, default=300_000)
    parser.add_argument("--undo", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        source, target, history = options.child
        load(Path(source), Path(target), history=history == "with")
        return
    environment()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        generate(folder / "first.nt", options.quads)
        generate(folder / "more.nt", options.undo, seed=2)
        found: dict[str, list[dict[str, float]]] = {"with": [], "without": []}
        undone = []
        for number in range(options.rounds):
            for flavour in sorted(found, reverse=number % 2 == 0):
                target = folder / f"{flavour}{number}.db"
                command = [sys.executable, "-m", "benchmarks.history", "--child", folder / "first.nt", target, flavour]
                done = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True)
                found[flavour].append(json.loads(done.stdout.splitlines()[-1]))
            undone.append(undo(folder / f"with{number}.db", folder / "more.nt"))
    quads = found["with"][0]["quads"]
    rows = [
        (
            f"{flavour} history",
            median([one["seconds"] for one in rounds]),
            median([one["cpu"] for one in rounds]),
            rounds[0]["bytes"] / 1e6,
            rounds[0]["bytes"] / quads,
        )
        for flavour, rounds in found.items()
    ]
    rows.append(("ratio", *(a / b for a, b in zip(rows[0][1:], rows[1][1:], strict=True))))  # type: ignore[operator]
    table(
        f"loading {quads:,} quads; medians of {options.rounds} rounds",
        ("world", "load_s", "load_cpu_s", "file_MB", "file_bytes_per_quad"),
        rows,
    )
    ratios = [a["cpu"] / b["cpu"] for a, b in zip(found["with"], found["without"], strict=True)]
    print("\nratios of CPU time by round: " + ", ".join(f"{ratio:.3f}" for ratio in ratios))
    table(
        f"{options.undo:,} quads loaded beside them, and undone",
        ("load_cpu_s", "diff_cpu_s", "undo_cpu_s", "undo of the undo_cpu_s"),
        [[median([one[step] for one in undone]) for step in ("load", "diff", "undo", "redo")]],
    )


if __name__ == "__main__":
    main()
