"""`World.sources.sync` on ten thousand Markdown files, and `World.load` of a table.

The files: a first run, one with twelve changes, one without, and a file that is saved under `worlds sources sync
--watch`. The table: rows of ten columns by a mapping, beside the same quads as N-Quads.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import worlds
from benchmarks.common import environment, table

_ROUNDS = 5


def _median(work: Callable[[int], object], rounds: int = _ROUNDS) -> float:
    """Seconds."""
    taken = []
    for number in range(rounds):
        began = time.perf_counter()
        work(number)
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


def _change(folder: Path, number: int) -> None:
    """Change ten files, move one and delete one."""
    for place in range(10):
        file = folder / str(place) / f"{place}.md"
        file.write_text(f"# Changed {number} {place}\n\nA text that was changed {number} times.\n")
    moving = folder / "50" / f"{50 + 100 * number}.md"
    moving.rename(folder / f"moved{number}.md")
    (folder / "60" / f"{60 + 100 * number}.md").unlink()


def _watched(path: Path, folder: Path) -> float:
    """Seconds from saving a file until its words are found, with `worlds sources sync --watch` beside."""
    command = [sys.executable, "-m", "worlds", "sources", "sync", str(path), "--watch", "--embedder", "none"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as child:
        assert child.stderr is not None
        while "watching" not in child.stderr.readline():
            pass
        time.sleep(0.5)

        def saved(number: int) -> None:
            (folder / f"watched{number}.md").write_text(f"# Ptarmigan{number}\n")
            while True:
                with worlds.open(path, read_only=True, embedder=None) as world:
                    if world.search(f"ptarmigan{number}", mode="text"):
                        return

        try:
            return _median(saved)
        finally:
            child.terminate()


def _tabular(rows: int) -> None:
    """A table by a mapping, beside the same quads as N-Quads."""
    with tempfile.TemporaryDirectory() as base:
        file, same = Path(base, "rows.csv"), Path(base, "rows.nq")
        with file.open("w") as stream:
            stream.write("id,name,born,size,price,active,city,note,code,year\n")
            for n in range(rows):
                stream.write(
                    f"{n},Person number {n},19{50 + n % 50}-0{1 + n % 9}-1{n % 9},{n * 7 % 1000},{n % 977}.50,"
                    f"{'yes' if n % 2 else 'no'},city{n % 400},a note of {n % 5000},C-{n % 1000},{1950 + n % 60}\n"
                )
        with worlds.open(embedder=None) as world:
            (mapping,) = world.sources.mappings(file)
        taken = {}
        for source in (file, same):
            with worlds.open(Path(base, f"{source.suffix[1:]}.db"), embedder=None) as world:
                began = time.perf_counter()
                change = world.load(source, mapping=mapping if source is file else None, embed=False)
                taken[source] = time.perf_counter() - began
                if source is file:
                    world.export(same, format="nq")
        table(
            f"{rows:,} rows of ten columns, {change.added:,} quads, seconds",
            ("CSV by a mapping", "N-Quads", "ratio"),
            [(f"{taken[file]:.1f}", f"{taken[same]:.1f}", f"{taken[same] / taken[file]:.2f}")],
        )


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--rows", type=int, default=1_000_000)
    options = parser.parse_args()
    environment()
    _tabular(options.rows)
    with tempfile.TemporaryDirectory() as base:
        folder, path = Path(base, "notes"), Path(base, "kb.db")
        for number in range(options.files):
            file = folder / str(number % 100) / f"{number}.md"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"# Note {number}\n\nA text about the number {number}, which is no other.\n")
        with worlds.open(path, embedder=None) as world:
            world.sources.add(str(folder))
            first = _median(lambda _: world.sources.sync(), 1)
            changed = []
            for number in range(_ROUNDS):
                _change(folder, number)
                changed.append(_median(lambda _: world.sources.sync(), 1))
            same = _median(lambda _: world.sources.sync())
        table(
            f"{options.files:,} Markdown files, seconds",
            ("run", "seconds"),
            [
                ("the first", f"{first:.2f}"),
                ("ten changed, one moved, one deleted", f"{statistics.median(changed):.2f}"),
                ("nothing changed", f"{same:.2f}"),
                ("a saved file is found, with --watch", f"{_watched(path, folder):.2f}"),
            ],
        )


if __name__ == "__main__":
    main()
