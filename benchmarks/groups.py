"""A collection cut into several worlds against one world of it: `python -m benchmarks.groups [SET…] [--worlds 8]`.

A SET is as in benchmarks.quality: a folder of texts with judgements, or RDF whose labels or descriptions are asked for.
Its subjects are dealt out to the worlds in turn. Each question is asked of the one world and of the group, by words, by
vectors and by both, one after the other. Printed are nDCG@10 of each, with the interval of the difference over the
questions, and the median time of a search.
"""

from __future__ import annotations

import argparse
import contextlib
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import worlds
from benchmarks.common import environment, median, table
from benchmarks.quality import MODES, ranking, shown
from benchmarks.quality_cache import CachedEmbedder, default_folder
from benchmarks.quality_measures import measure
from benchmarks.quality_sets import COLLECTIONS, JudgedSet, Triple, find_set, shared_data
from worlds.core.embedders import resolve_embedder


def main(arguments: Sequence[str] | None = None) -> None:
    """Run it, and print a table."""
    parser = argparse.ArgumentParser(prog="groups", description=__doc__.partition("\n")[0])
    parser.add_argument("sets", nargs="*", metavar="SET", default=list(COLLECTIONS))
    parser.add_argument("--worlds", type=int, default=8)
    parser.add_argument("--fusion", default=None)
    parser.add_argument("--embedder", default="auto", help="as worlds.open takes it; 'none' for text mode alone")
    parser.add_argument("--data", type=Path, default=shared_data(), help="where a set's name is looked for")
    parser.add_argument("--cache", type=Path, default=default_folder(), help="where vectors are kept")
    given = parser.parse_args(arguments)
    found = resolve_embedder(None if given.embedder == "none" else given.embedder)
    embedder = None if found is None else CachedEmbedder(found, given.cache)
    environment()
    sets = [find_set(name, given.data, "joined") for name in given.sets]
    rows = [row for judged in sets for row in compared(judged, given.worlds, embedder, given.fusion)]
    columns = ["set", "mode", "nDCG@10 of one", "of the group", "difference", "one_ms", "group_ms"]
    table(f"A group of {given.worlds} against one world", columns, rows)


def compared(
    judged: JudgedSet, count: int, embedder: CachedEmbedder | None, fusion: str | None = None
) -> list[list[object]]:
    """A row for each mode."""
    if embedder is not None:
        embedder.embed_queries(list(judged.questions.values()))
    parts: dict[int, list[Triple]] = defaultdict(list)
    turns: dict[Any, int] = {}
    for triple in judged.triples():
        parts[turns.setdefault(triple[0], len(turns) % count)].append(triple)
    with contextlib.ExitStack() as stack:
        one, *several = (
            stack.enter_context(worlds.open(embedder=embedder, vector_index=False)) for _ in range(count + 1)
        )
        one.add(judged.triples())
        for place, world in enumerate(several):
            world.add(parts[place])
        group = worlds.group({f"part{place}": world for place, world in enumerate(several)})
        rows: list[list[object]] = []
        for mode in MODES if embedder is not None else MODES[:1]:
            values, times = zip(*(asked(judged, world, mode, fusion) for world in (one, group)), strict=True)
            means = [float(each.mean()) for each in values]
            rows.append([judged.name, mode, *means, shown(values[1] - values[0], sign="+"), *times])
    return rows


def asked(judged: JudgedSet, world: Any, mode: str, fusion: str | None) -> tuple[Any, float]:
    """nDCG@10 of each question, and the median milliseconds of a search for ten hits."""
    found, times = {}, []
    for key, question in judged.questions.items():
        began = time.perf_counter()
        hits = world.search(question, mode=mode, ranking=worlds.Ranking(fusion=fusion), limit=10)
        times.append((time.perf_counter() - began) * 1e3)
        found[key] = ranking(hits, grouped=False)
    return measure(found, judged.judgements)["nDCG@10"], median(times)


if __name__ == "__main__":
    main()
