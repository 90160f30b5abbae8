"""How many links that were taken away `World.suggest_links` finds again in texts: `python -m benchmarks.linking`.

Of each graph the five predicates that most often join a subject with what its texts name lose half of their links,
drawn at random; a suggestion is right if it is one of these, and judged where the graph has that predicate of its
subject: of others nobody knows.
"""

from __future__ import annotations

import argparse
import gzip
import random
import time
from collections import Counter
from typing import Any

import numpy as np
import pyoxigraph as ox

import worlds
from benchmarks.common import table as print_table
from benchmarks.judgement import calibration_error, interval
from benchmarks.quality_sets import shared_data
from worlds.graph.terms import to_oxigraph, to_rdflib

GRAPHS = ("metaqa-movies", "d3fend", "fibo")
PREDICATES = 5


def quads_of(name: str) -> list[ox.Quad]:
    file = next((shared_data() / name).glob("*.nt.gz"))
    return list(ox.parse(gzip.decompress(file.read_bytes()), ox.RdfFormat.N_TRIPLES))


def named(quads: list[ox.Quad]) -> Counter[tuple[Any, Any, Any]]:
    """The links whose one end is named by a text of the other: (subject, predicate, object)."""
    joined: dict[tuple[Any, Any], list[ox.Quad]] = {}
    for quad in quads:
        if isinstance(quad.object, ox.NamedNode):
            joined.setdefault((quad.subject, quad.object), []).append(quad)
    found: Counter[tuple[Any, Any, Any]] = Counter()
    with worlds.open(embedder=None) as world:
        world.add(quads)
        for subject in {quad.subject for quad in quads if isinstance(quad.object, ox.Literal)}:
            for mention in world.mentions(to_rdflib(subject)):
                one, other = subject, to_oxigraph(mention.iri)
                for quad in [*joined.get((one, other), ()), *joined.get((other, one), ())]:
                    found[quad.subject, quad.predicate, quad.object] += 1
    return found


def measured(name: str) -> list[list[str]]:
    chance = random.Random(name)
    quads = quads_of(name)
    told = named(quads)
    usual = Counter(predicate for _, predicate, _ in told)
    chosen = [predicate for predicate, _ in usual.most_common(PREDICATES)]
    links = [quad for quad in quads if quad.predicate in chosen and isinstance(quad.object, ox.NamedNode)]
    out = {quad for quad in links if chance.random() < 0.5}
    missing = {(quad.subject, quad.predicate, quad.object) for quad in out}
    sought = missing & told.keys()
    with worlds.open(embedder=None) as world:
        world.add([quad for quad in quads if quad not in out])
        start = time.process_time()
        found = world.suggest_links(limit=10**7, minimum=0.0)
        seconds = time.process_time() - start
    keys = [(to_oxigraph(one.subject), to_oxigraph(one.predicate), to_oxigraph(one.object)) for one in found]
    scores = np.array([one.score for one in found])
    right = np.array([key in missing for key in keys], dtype=float)
    known = {(quad.subject, quad.predicate) for quad in links}
    told_of = np.array([(s, p) in known for s, p, _ in keys], dtype=bool)
    rows = []
    for least in (0.9, 0.7, 0.5, 0.3):
        shown = (scores >= least) & told_of
        again = {key for key, score in zip(keys, scores, strict=True) if score >= least} & sought
        rows.append([name, f"{least}", f"{int(shown.sum()):,}", interval(right[shown].sum(), shown.sum()),
                     interval(len(again), len(sought)), f"{seconds:.1f}"])  # fmt: skip
    shown = (scores >= 0.1) & told_of
    print(f"{name}: {len(missing):,} links of {len(chosen)} predicates out, {len(sought):,} of them named by texts;"
          f" calibration error from .1: {calibration_error(scores[shown], right[shown]):.3f}", flush=True)  # fmt: skip
    for predicate in chosen:
        of = [key for key in sought if key[1] == predicate]
        again = {key for key, score in zip(keys, scores, strict=True) if score >= 0.5} & set(of)
        print(f"    {predicate.value}: {len(of):,} named, {len(again):,} found from .5 on", flush=True)
    return rows


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=GRAPHS, help="these graphs")
    options = parser.parse_args()
    rows = [row for name in options.only for row in measured(name)]
    print_table("Links", ["graph", "from", "judged", "precision", "recall of the named", "CPU s"], rows)


if __name__ == "__main__":
    main()
