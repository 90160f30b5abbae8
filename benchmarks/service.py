"""Search inside SPARQL, with subjects pushed down: `python -m benchmarks.service [--rows 50000]`.

The world is that of `benchmarks.search`: `rows` entities with one text each, 384 dimensions, and classes of several
sizes. A query searches among the members of a class and reads a property of each hit:

    SELECT ?s ?year ?score { SERVICE w:search { ?hit w:query "…" ; w:subject ?s ; w:score ?score }
                             ?s a ex:Class… ; ex:year ?year }

`first` is a query whose subjects no search had before, so their texts and vectors are looked up. `again` is the median
of further searches among the same subjects, whose resolved surroundings and eligible texts are kept. `changing` is that
of searches among other subjects each time: those of the class from another year on. `search` is World.search with the
class as its `types`, so without SPARQL.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import worlds
from benchmarks.common import environment, median, milliseconds, table
from benchmarks.search import EX, Data, Prepared, build

YEARS = 2000  # so that some thirty of them leave nearly all members


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--queries", type=int, default=30)
    options = parser.parse_args()
    environment()
    embedder = Prepared()
    data = Data(options.rows, 0.0, seed=1)
    extra = {"random 20%": 0.2}
    order = np.random.default_rng(5).permutation(options.rows)
    for name, share in extra.items():
        data.classes[name] = np.sort(order[: round(options.rows * share)])
    with tempfile.TemporaryDirectory() as folder, build(Path(folder, "world.db"), data, embedder) as world:
        years = np.random.default_rng(6).integers(1971, 1971 + YEARS, options.rows).tolist()
        world.add([(f"{EX}r{row}", f"{EX}year", year) for row, year in enumerate(years)])
        measure(world, data, embedder, options.queries)


def timed(call: Callable[[], object], times: int = 1) -> tuple[float, float]:
    """The median time of calls, in milliseconds by the clock and of the processor."""
    clock: list[float] = []
    processor: list[float] = []
    for _ in range(times):
        began = time.process_time()
        clock.append(milliseconds(call))
        processor.append((time.process_time() - began) * 1e3)
    return median(clock), median(processor)


def measure(world: worlds.World, data: Data, embedder: Prepared, queries: int) -> None:
    asked = data.queries(queries, seed=7)
    embedder.known.update(asked)
    world.bind("ex", EX)
    world.query("ASK {}")
    world.search("warm up", vector=asked[0][1])
    rows = []
    for number, (name, members) in enumerate(data.classes.items()):
        texts = iter(asked * 4)
        years = itertools.count(1971)

        def ask(since: int = 0, of: int = number) -> int:
            text = next(texts)[0]  # noqa: B023  # this class's
            found = world.query(
                f"""SELECT ?s ?year ?score {{
                    SERVICE w:search {{ ?hit w:query "{text}" ; w:subject ?s ; w:score ?score }}
                    ?s a ex:Class{of} ; ex:year ?year FILTER(?year >= {since}) }}"""
            )
            assert isinstance(found, worlds.records.Solutions)
            return len(found)

        first, _ = timed(ask)
        again, again_cpu = timed(ask, queries)
        changing, changing_cpu = timed(lambda: ask(next(years)), queries)  # noqa: B023  # this class's
        plain, _ = timed(lambda: world.search(next(texts)[0], types=f"{EX}Class{number}"), queries)  # noqa: B023
        rows.append((name, len(members), first, again, again_cpu, changing, changing_cpu, plain))
    table(
        f"{len(data.texts):,} texts",
        ("class", "subjects", "first_ms", "again_ms", "again_cpu_ms", "changing_ms", "changing_cpu_ms", "search_ms"),
        rows,
    )


if __name__ == "__main__":
    main()
