"""The one statement of `plan="index"` with `fusion="rrf"` against `plan="exact"`: `python -m benchmarks.statement`.

Points as in `benchmarks.vectors`, by default a hundred around each centre, as many as a list is long; a text is its
number and seven words, a question three words of a text and a vector near its own. Each question is asked by both
plans, without a filter, and with filters for types that random shares of the entities have. "the same" are questions
of which both give the same ids with the same scores, to 1e-9; "of the nearest" is the share of the exact plan's hits
by vectors that the other has.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import worlds
from benchmarks.common import Sentences, environment, milliseconds, table, vocabulary
from benchmarks.search import DIMENSION, EX, unit
from benchmarks.vectors import Rows, points

SHARES = (0.001, 0.01, 0.1, 0.5)


class Numbered(Rows):
    """An embedder for texts that begin with their row number."""

    def embed_documents(self, texts: list[str]) -> Any:
        return super().embed_documents([text.split()[0] for text in texts])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[1000, 20_000, 200_000])
    parser.add_argument("--queries", type=int, default=50)
    parser.add_argument("--points", type=int, default=100, help="around each centre")
    options = parser.parse_args()
    environment()
    found = [line for rows in options.rows for line in measure(rows, options.queries, options.points)]
    columns = ("vectors", "filter", "statements", "the same", "of the nearest", "index_ms", "exact_ms")
    table("One statement, compared with the exact plan", columns, found)


def measure(rows: int, queries: int, around: int) -> list[tuple[Any, ...]]:
    rng = np.random.default_rng(7)
    vectors, _ = points(rows, rng, drowned=False, centres=max(1, rows // around))
    say = Sentences(vocabulary(20_000), 3)
    texts = [f"{row} {say(7)}" for row in range(rows)]
    order = rng.permutation(rows)
    lines = [f'<{EX}{row}> <{EX}n> "{text}" .' for row, text in enumerate(texts)]
    for number, share in enumerate(SHARES):
        lines += [f"<{EX}{row}> a <{EX}Class{number}> ." for row in order[: round(rows * share)]]
    chosen = rng.integers(0, rows, queries)
    near = unit(vectors[chosen] + rng.normal(size=(queries, DIMENSION)) * 0.3 / np.sqrt(DIMENSION))
    with (
        tempfile.TemporaryDirectory() as folder,
        worlds.open(Path(folder, "kb.db"), embedder=Numbered(vectors), vector_index=False) as world,
    ):
        world.load("\n".join(lines).encode(), format="turtle")
        began = time.perf_counter()
        world.file.build_vector_index()
        print(f"{rows:,} vectors: the native index was built in {time.perf_counter() - began:.0f} s", flush=True)
        asked = [(" ".join(texts[row].split()[1:4]), vector) for row, vector in zip(chosen, near, strict=True)]
        return [
            (f"{rows:,}", name, *compare(world, asked, filters))
            for name, filters in [
                ("none", {}),
                *((f"{share:.1%}", {"types": f"{EX}Class{at}"}) for at, share in enumerate(SHARES)),
            ]
        ]


def compare(world: worlds.World, asked: list[tuple[str, Any]], filters: dict[str, Any]) -> tuple[Any, ...]:
    same, nearest, expected, ran = 0, 0, 0, set()
    times: dict[str, list[float]] = {"index": [], "exact": []}
    for text, vector in asked:
        hits = {}
        for plan, taken in times.items():

            def ask(plan: Any = plan, text: str = text, vector: Any = vector) -> worlds.records.SearchResults:
                ranking = worlds.Ranking(plan=plan, fusion="rrf")
                return world.search(text, vector=vector, ranking=ranking, limit=50, explain=True, **filters)

            hits[plan] = ask()
            taken.append(milliseconds(ask))
        ran.add(sum(one.step == "statement" for one in hits["index"].explain.statements))
        one, other = ([(hit.chunk, hit.score) for hit in hits[plan]] for plan in ("index", "exact"))
        same += [chunk for chunk, _ in one] == [chunk for chunk, _ in other] and np.allclose(
            [score for _, score in one], [score for _, score in other], rtol=0, atol=1e-9
        )
        by_vectors = {hit.chunk for hit in hits["exact"] if "vector" in hit.explain}
        nearest += len(by_vectors & {hit.chunk for hit in hits["index"] if "vector" in hit.explain})
        expected += len(by_vectors)
    counts = "–".join(map(str, sorted(ran)))
    return counts, f"{same} of {len(asked)}", nearest / expected, median(times["index"]), median(times["exact"])


if __name__ == "__main__":
    main()
