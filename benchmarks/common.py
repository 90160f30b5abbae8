"""What the benchmarks share: synthetic words, tables, and a line about the machine."""

from __future__ import annotations

import os
import platform
import random
import re
import resource
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from itertools import accumulate
from pathlib import Path

STOP_WORDS = ("the", "of", "and", "to", "in", "is", "a", "for")


def vocabulary(size: int, seed: int = 0) -> list[str]:
    """Pronounceable words, distinct."""
    rng = random.Random(seed)
    words: dict[str, None] = {}
    while len(words) < size:
        words["".join(rng.choice("bcdfghjklmnprstvwz") + rng.choice("aeiou") for _ in range(rng.randint(2, 4)))] = None
    return list(words)


class Sentences:
    """Texts whose words follow Zipf's law, with the stop-words of English among them."""

    def __init__(self, words: Sequence[str], seed: int) -> None:
        self._rng = random.Random(seed)
        self._words = words
        self._weights = list(accumulate(1 / (rank + 3) for rank in range(len(words))))

    def __call__(self, length: int) -> str:
        content = self._rng.choices(self._words, cum_weights=self._weights, k=length)
        return " ".join(word if self._rng.random() > 0.35 else self._rng.choice(STOP_WORDS) for word in content)


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a Markdown table; a column's unit stands in its name."""
    cells = [[f"{value:.3g}" if isinstance(value, float) else str(value) for value in row] for row in rows]
    widths = [max(len(line[at]) for line in [list(columns), *cells]) for at in range(len(columns))]
    print(f"\n### {title}\n")
    for line in [list(columns), ["-" * width for width in widths], *cells]:
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |")
    sys.stdout.flush()


def environment() -> None:
    """Print what the figures depend on."""
    packages = ("libsql-experimental", "apsw", "pyoxigraph", "rdflib", "numpy")
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
          + ", ".join(f"{name} {version(name)}" for name in packages))  # fmt: skip
    print(f"load average {os.getloadavg()[0]:.1f}, {time.strftime('%Y-%m-%d')}")


def milliseconds(call: Callable[[], object]) -> float:
    """How long one call took."""
    began = time.perf_counter()
    call()
    return (time.perf_counter() - began) * 1e3


def peak_memory() -> float:
    """The most memory that this process has held, in MB; of this program alone, unlike what getrusage tells."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(re.findall(r"VmHWM:\s+(\d+) kB", status.read_text())[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def median(values: Sequence[float]) -> float:
    """The median."""
    return statistics.median(values)
