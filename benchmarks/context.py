"""Whether a context holds an answer, and what it costs: `python -m benchmarks.context [--embedder auto]`.

The world: the film graph of the shared data. Each of its questions is put to `World.context`; counted are those whose
text has the label of at least one answer, as whole words. Time is told without what embedding the question takes.
With an embedder, making the world takes minutes; `--world` keeps it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import time
from pathlib import Path
from typing import Any

import worlds
from benchmarks.common import environment, median, table
from worlds.core.embedders import resolve_embedder


class Timed:
    """An embedder that counts the seconds that questions take."""

    def __init__(self, embedder: Any) -> None:
        self._embedder = embedder
        self.seconds = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._embedder, name)

    def embed_query(self, text: str) -> Any:
        began = time.perf_counter()
        try:
            return self._embedder.embed_query(text)
        finally:
            self.seconds += time.perf_counter() - began


def answered(text: str, answers: list[str]) -> bool:
    folded = text.casefold()
    return any(re.search(rf"(?<!\w){re.escape(answer.casefold())}(?!\w)", folded) for answer in answers)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("WORLDS_SHARED_DATA", "../shared/data")))
    parser.add_argument("--world", default=":memory:")
    parser.add_argument("--embedder", default="none")
    parser.add_argument("--budget", type=int, default=1500)
    parser.add_argument("--hops", type=int, default=2)
    parser.add_argument("--each", type=int, default=1, help="ask every n-th question")
    options = parser.parse_args()
    environment()
    found = None if options.embedder == "none" else resolve_embedder(options.embedder)
    embedder = None if found is None else Timed(found)
    folder = options.data / "metaqa-movies"
    questions = [json.loads(line) for line in (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()]
    with worlds.open(options.world, embedder=embedder, vector_index=False) as world:
        if not len(world):
            world.load(folder / "movies.nt.gz")
        world.context("who made what", budget=options.budget)
        rows = []
        for hops in (1, 2, 3):
            held, took, size = 0, [], []
            asked = [question for question in questions if question["hops"] == hops][:: options.each]
            for question in asked:
                before = 0.0 if embedder is None else embedder.seconds
                began = time.perf_counter()
                context = world.context(question["question"], budget=options.budget, hops=options.hops)
                elapsed = time.perf_counter() - began
                took.append((elapsed - (0.0 if embedder is None else embedder.seconds - before)) * 1e3)
                size.append(context.tokens)
                held += answered(context.text, question["answers"])
            rows.append((hops, len(asked), f"{held / len(asked):.3f}", f"{median(took):.1f}", f"{median(size):.0f}"))
    title = f"Contexts of {options.budget} tokens, {options.hops} hops, embedder {options.embedder}"
    table(title, ("hops of the question", "questions", "hold an answer", "median ms", "median tokens"), rows)


if __name__ == "__main__":
    main()
