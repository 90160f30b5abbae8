"""Vector search over a million vectors: `python -m benchmarks.vectors [--rows 1000000]`.

2,000 centres with normal coordinates, a point is its centre plus normal noise of 0.8 a dimension, brought to unit
length; a query is near a stored point. The filters' eligible sets are known: each filter is used once before it is
measured, and that first time stands in a column of its own. Recall@10 is against exact float64 cosine.
With `--noise`, the centres are brought to unit length before the noise, which then drowns them: data without
neighbours, the worst there is.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import worlds
from benchmarks.common import environment, median, milliseconds, peak_memory, table
from benchmarks.search import DIMENSION, EX, unit

CENTRES = 2000
SELECTIVITIES = (0.0001, 0.001, 0.01, 0.1, 0.5)


class Rows:
    """An embedder for texts that are row numbers."""

    name = "rows"
    dimension = DIMENSION
    max_tokens = 1000

    def __init__(self, vectors: NDArray[np.float32]) -> None:
        self.vectors = vectors

    def count_tokens(self, text: str) -> int:
        return 3

    def embed_documents(self, texts: list[str]) -> NDArray[np.float32]:
        return self.vectors[[int(text) for text in texts]]

    def embed_query(self, text: str) -> NDArray[np.float32]:
        return self.vectors[int(text)]


def points(
    rows: int, rng: np.random.Generator, *, drowned: bool, centres: int = CENTRES
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    middle = rng.normal(size=(centres, DIMENSION)).astype(np.float32)
    if drowned:
        middle = unit(middle)
    member = rng.integers(0, centres, rows)
    vectors = np.empty((rows, DIMENSION), dtype=np.float32)
    for start in range(0, rows, 50_000):
        part = member[start : start + 50_000]
        noise = rng.normal(size=(len(part), DIMENSION)).astype(np.float32) * np.float32(0.8)
        vectors[start : start + 50_000] = unit(middle[part] + noise)
    return vectors, member


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=25)
    parser.add_argument("--noise", action="store_true")
    options = parser.parse_args()
    environment()
    rng = np.random.default_rng(5)
    vectors, member = points(options.rows, rng, drowned=options.noise)
    order = rng.permutation(options.rows)
    filters: list[tuple[str, NDArray[np.int64] | None]] = [("none", None)]
    filters += [(f"random {share:.2%}", order[: round(options.rows * share)]) for share in SELECTIVITIES]
    by_centre = np.argsort(member, kind="stable")
    filters += [(f"far clusters {share:.0%}", by_centre[: round(options.rows * share)]) for share in (0.01, 0.1)]
    with tempfile.TemporaryDirectory() as folder:
        lines = [f'<{EX}{row}> <{EX}n> "{row}" .' for row in range(options.rows)]
        for number, (_, members) in enumerate(filters):
            if members is not None:
                lines += [f"<{EX}{row}> a <{EX}Class{number}> ." for row in members]
        with worlds.open(Path(folder, "vectors.db"), embedder=Rows(vectors), vector_index=False) as world:
            began = time.perf_counter()
            world.load("\n".join(lines).encode(), format="turtle", embed=False)
            loaded = time.perf_counter()
            world.embed()
            embedded = time.perf_counter()
            print(f"loaded in {loaded - began:.0f} s, vectors stored in {embedded - loaded:.0f} s")
            chosen = rng.integers(0, options.rows, options.queries)
            noise = rng.normal(size=(options.queries, DIMENSION)) * 0.3 / np.sqrt(DIMENSION)
            queries = unit(vectors[chosen] + noise)
            print(f"codes read in {milliseconds(lambda: world.search('', vector=queries[0], mode='vector')):.0f} ms")
            rows = [measure(world, vectors, queries, number, *item) for number, item in enumerate(filters)]
    table(
        f"{options.rows:,} vectors × {DIMENSION}" + (", drowned in noise" if options.noise else ""),
        ("filter", "eligible", "plan", "compared", "first_ms", "median_ms", "worst_ms", "recall@10"),
        rows,
    )
    print(f"peak memory {peak_memory() / 1024:.1f} GiB, the vectors in it included")


def measure(
    world: worlds.World,
    vectors: NDArray[np.float32],
    queries: NDArray[np.float32],
    number: int,
    name: str,
    members: NDArray[np.int64] | None,
) -> tuple[Any, ...]:
    chosen: dict[str, Any] = {} if members is None else {"types": f"{EX}Class{number}"}
    eligible = np.arange(len(vectors)) if members is None else np.sort(members)

    def ask(query: NDArray[np.float32]) -> worlds.records.SearchResults:
        return world.search("", vector=query, mode="vector", **chosen)

    first = milliseconds(lambda: ask(queries[0]))
    times, recall, compared = [], [], []
    for query in queries:
        times.append(milliseconds(lambda: ask(query)))  # noqa: B023  # called at once
        hits = ask(query)
        compared.append(hits.explain.compared or 0)
        similarity = vectors[eligible] @ query
        best = eligible[np.argpartition(-similarity, min(20, len(eligible) - 1))[:20]]
        exact = best[np.argsort(-(vectors[best].astype(np.float64) @ query))[:10]]
        recall.append(len({int(hit.text) for hit in hits} & set(exact.tolist())) / len(exact))
    plan = hits.explain.plan
    return name, len(eligible), plan, int(median(compared)), first, median(times), max(times), float(np.mean(recall))


if __name__ == "__main__":
    main()
