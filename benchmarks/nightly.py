"""A nightly job with the hardest partner: `python -m benchmarks.nightly`.

The made-up catalogue is ours, and a partner has copies of half of it, and siblings of the rest: misspelt names, values
left out. Each night the partner's file is loaded, duplicates are found between the graphs, proposed from a score
on, and accepted. Told are the merges, and those that the truth denies.
"""

from __future__ import annotations

import argparse
import random

import pyoxigraph as ox

import worlds
from benchmarks.catalogue import LABEL, catalogue
from benchmarks.common import table as print_table
from benchmarks.judgement_sets import misspelt
from worlds.graph.terms import RDF

OWN, PARTNER = ox.NamedNode("http://own.example/graph"), ox.NamedNode("http://partner.example/graph")


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nights", type=int, default=4)
    parser.add_argument("--families", type=int, default=120)
    parser.add_argument("--score", type=float, default=0.9)
    options = parser.parse_args()
    chance = random.Random(5)
    by: dict[str, list[ox.Triple]] = {}
    for triple in catalogue(options.families):
        by.setdefault(triple.subject.value, []).append(triple)  # type: ignore[union-attr]  # there are IRIs only
    named = sorted(by)
    twin = {iri: ox.NamedNode(f"http://partner.example/{number}") for number, iri in enumerate(named)}
    both = set(chance.sample(named, len(named) // 2))
    own = [iri for iri in named if iri in both or chance.random() < 0.5]
    file = []
    for iri in named:
        for triple in by[iri] if iri in both or iri not in own else ():
            value = triple.object
            if triple.predicate == LABEL and chance.random() < 0.4:
                value = ox.Literal(misspelt(value.value, chance))  # type: ignore[union-attr]  # a literal
            elif triple.predicate.value != RDF + "type" and getattr(value, "value", "") in twin:
                value = twin[value.value]  # type: ignore[union-attr]
            elif triple.predicate != LABEL and chance.random() < 0.15:
                continue
            file.append(ox.Quad(twin[iri], triple.predicate, value, PARTNER))
    truth = {frozenset((iri, twin[iri].value)) for iri in both}
    rows = []
    with worlds.open(embedder=None) as world:
        world.add([ox.Quad(t.subject, t.predicate, t.object, OWN) for iri in own for t in by[iri]])
        seen: set[frozenset[str]] = set()
        for night in range(1, options.nights + 1):
            world.add(file, author="partner")
            found = world.curation.duplicates(between=(OWN.value, PARTNER.value), score=options.score)
            proposals = world.proposals.add_all(found, author="finder")
            world.proposals.accept_all([one.id for one in proposals])
            pairs = {frozenset(map(str, one.merged)) for one in proposals}
            rows.append([str(night), str(len(pairs)), str(len(pairs - truth)), str(len(pairs & seen))])
            seen |= pairs
    print_table(f"Nights, of {len(truth)} that are one", ["night", "merged", "wrong", "twice"], rows)


if __name__ == "__main__":
    main()
