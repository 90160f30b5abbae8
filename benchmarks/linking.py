"""How many links that were taken away `World.curation.links` finds again in texts: `python -m benchmarks.linking`.

Of each graph the five predicates that most often join a subject with what its texts name lose half of their links,
drawn at random; a suggestion is right if it is one of these, and judged where the graph has that predicate of its
subject: of others nobody knows. `--judge FILE` writes the links that are suggested for the whole graphs, for people to
judge, and counts those that close a circle of a hierarchy, follow along it, or are borne by no case.
"""

from __future__ import annotations

import argparse
import gzip
import random
import time
from collections import Counter
from pathlib import Path
from typing import Any, TextIO

import pyoxigraph as ox

import worlds
from benchmarks.common import table as print_table
from benchmarks.judgement import interval
from benchmarks.quality_sets import shared_data
from worlds.graph.terms import to_oxigraph, to_rdflib

GRAPHS = ("metaqa-movies", "d3fend", "fibo")
PREDICATES = 5
_UP = {
    ox.NamedNode(one)
    for one in (
        "http://www.w3.org/2000/01/rdf-schema#subClassOf",
        "http://www.w3.org/2000/01/rdf-schema#subPropertyOf",
        "http://www.w3.org/2004/02/skos/core#broader",
    )
}


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
            for mention in world.entities.mentions(to_rdflib(subject)):
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
    known = {(quad.subject, quad.predicate) for quad in links}
    rows = []
    print(f"{name}: {len(missing):,} links of {len(chosen)} predicates out, {len(sought):,} of them named by texts")
    with worlds.open(embedder=None) as world:
        world.add([quad for quad in quads if quad not in out])
        for least in (0.9, 0.7, 0.5, 0.3):
            start = time.process_time()
            found = world.curation.links(limit=10**7, score=least)
            seconds = time.process_time() - start
            shown = {tuple(map(to_oxigraph, link[:3])) for one in found for link in one.links}
            judged = {link for link in shown if link[:2] in known}
            right = judged & missing
            rows.append([name, f"{least}", f"{len(found):,}", f"{len(judged):,}", interval(len(right), len(judged)),
                         interval(len(shown & sought), len(sought)), f"{seconds:.1f}"])  # fmt: skip
    return rows


def suggested(name: str, file: TextIO) -> list[str]:
    """Write the suggestions from .5 on, a link a line, and count what none should be."""
    quads = quads_of(name)
    above: dict[Any, dict[Any, set[Any]]] = {}
    for quad in quads:
        if quad.predicate in _UP:
            above.setdefault(quad.predicate, {}).setdefault(quad.subject, set()).add(quad.object)
    with worlds.open(embedder=None) as world:
        world.add(quads)
        found = world.curation.links(limit=10**6)
    circles = implied = links = 0
    for one in found:
        for subject, predicate, other, _ in one.links:
            links += 1
            s, p, o = map(to_oxigraph, (subject, predicate, other))
            circles += s in _reached(o, above.get(p, {}))
            implied += o in _reached(s, above.get(p, {}))
            row = (name, f"{one.score:.3f}", subject, predicate, other, one.message, one.sentence)
            file.write("\t".join(" ".join(str(part).split()) for part in row) + "\n")
    unborne = sum(not one.support for one in found)
    return [name, *(f"{count:,}" for count in (len(found), links, circles, implied, unborne))]


def _reached(start: Any, edges: dict[Any, set[Any]]) -> set[Any]:
    """All that is above a term, and the term."""
    found, new = {start}, [start]
    while new:
        new = [other for one in new for other in edges.get(one, ()) if other not in found]
        found |= {*new}
    return found


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=GRAPHS, help="these graphs")
    parser.add_argument("--judge", type=Path, help="a file for the suggestions")
    options = parser.parse_args()
    if options.judge:
        with options.judge.open("w") as file:
            counted = [suggested(name, file) for name in options.only]
        print_table("Suggestions", ["graph", "findings", "links", "circles", "implied", "without a case"], counted)
        return
    rows = [row for name in options.only for row in measured(name)]
    print_table("Links", ["graph", "from", "findings", "judged", "precision", "recall of the named", "CPU s"], rows)


if __name__ == "__main__":
    main()
