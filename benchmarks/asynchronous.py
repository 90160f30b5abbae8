"""How long an event loop waits for a world: the longest gap of a heartbeat beside many searches at once.

python -m benchmarks.asynchronous [--texts 200000] [--searches 50]
"""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
import time
from pathlib import Path

import worlds
from benchmarks.common import Sentences, environment, median, table, vocabulary

BEAT = 0.01  # seconds between two beats


def build(path: Path, texts: int) -> None:
    """A world of texts, each with words that follow Zipf's law."""
    sentence = Sentences(vocabulary(20_000), 1)
    with worlds.open(path, embedder=None) as world:
        lines = (f'<urn:t{n}> <http://www.w3.org/2000/01/rdf-schema#comment> "{sentence(20)}" .' for n in range(texts))
        world.load("\n".join(lines).encode(), format="nt")


async def measure(path: Path, searches: int) -> tuple[list[float], list[float]]:
    """Milliseconds of each search, from when all were asked, and of the gaps of a heartbeat beyond its own pause."""
    words, chance = vocabulary(20_000), random.Random(2)
    async with worlds.aopen(path, embedder=None, read_only=True) as world:
        await world.search("warm")
        gaps: list[float] = []

        async def beat() -> None:
            last = time.perf_counter()
            while True:
                await asyncio.sleep(BEAT)
                now = time.perf_counter()
                gaps.append((now - last - BEAT) * 1e3)
                last = now

        async def one() -> float:
            await world.search(" ".join(chance.choices(words[:2000], k=3)), limit=10)
            return (time.perf_counter() - began) * 1e3

        heart = asyncio.create_task(beat())
        await asyncio.sleep(0.2)
        gaps.clear()
        began = time.perf_counter()
        taken = await asyncio.gather(*(one() for _ in range(searches)))
        heart.cancel()
        return list(taken), gaps


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--texts", type=int, default=200_000)
    parser.add_argument("--searches", type=int, default=50)
    options = parser.parse_args()
    environment()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kb.db"
        build(path, options.texts)
        taken, gaps = asyncio.run(measure(path, options.searches))
    told = [f"{options.texts:,}", options.searches, max(taken), median(gaps), max(gaps)]
    table(
        "An event loop beside searches, milliseconds",
        ["texts", "searches", "all done", "median gap", "longest gap"],
        [told],
    )


if __name__ == "__main__":
    main()
