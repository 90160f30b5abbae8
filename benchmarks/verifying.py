"""What `World.curation.verify` makes of true and false claims: `python -m benchmarks.verifying [--claims 500]`.

True claims are triples of a graph, half of them with the label of the subject, or of the object, in the place of its
IRI. False ones have the object of another triple of the same predicate, which the graph does not state of the subject;
that a declaration speaks against them cannot be expected, so they may be unknown, but not supported.
"""

from __future__ import annotations

import argparse
import gzip
import random
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pyoxigraph as ox

import worlds
from benchmarks.common import environment, table
from benchmarks.quality_sets import shared_data
from worlds.core.texts.policy import DEFAULT_ROLES

GRAPHS = ("fibo", "d3fend", "metaqa-movies")
_IDLE = ("rdf-syntax-ns#first", "rdf-syntax-ns#rest")


def claims(file: Path, count: int) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """True claims, and false ones, as `verify` takes them."""
    chance = random.Random(file.name)
    triples = [quad.triple for quad in ox.parse(gzip.decompress(file.read_bytes()), ox.RdfFormat.N_TRIPLES)]
    stated = set(map(str, triples))
    labels: dict[str, str] = {}
    objects: dict[str, list[Any]] = {}
    plain = []
    for triple in triples:
        predicate = triple.predicate.value
        if DEFAULT_ROLES.get(predicate) == "label" and isinstance(triple.object, ox.Literal):
            labels.setdefault(str(triple.subject), triple.object.value)
        named = isinstance(triple.subject, ox.NamedNode) and not isinstance(triple.object, ox.BlankNode | ox.Triple)
        if named and not predicate.endswith(_IDLE):
            plain.append(triple)
            objects.setdefault(predicate, []).append(triple.object)
    names = Counter(labels.values())

    def said(term: Any) -> Any:
        label = labels.get(str(term), "")
        return label if names[label] == 1 and ":" not in label and chance.random() < 0.5 else term

    true = [(said(one.subject), one.predicate, said(one.object)) for one in chance.sample(plain, count)]
    false: list[tuple[Any, ...]] = []
    while len(false) < count:
        one = chance.choice(plain)
        other = chance.choice(objects[one.predicate.value])
        if str(ox.Triple(one.subject, one.predicate, other)) not in stated:
            false.append((said(one.subject), one.predicate, said(other)))
    return true, false


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--claims", type=int, default=500, help="of each kind, of each graph")
    options = parser.parse_args()
    environment()
    rows = []
    for name in GRAPHS:
        file = next((shared_data() / name).glob("*.nt.gz"))
        with worlds.open(embedder=None) as world:
            world.load(file)
            for kind, asked in zip(("true", "false"), claims(file, options.claims), strict=True):
                began = time.perf_counter()
                found = [world.curation.verify("a claim", extract=lambda _, one=one: [one]) for one in asked]  # type: ignore[misc]
                outcomes = Counter(one.outcome for one in found)
                took = 1000 * (time.perf_counter() - began) / len(asked)
                told = [f"{outcomes[outcome]:,}" for outcome in ("supported", "contradicted", "unknown")]
                rows.append((name, kind, *told, f"{took:.0f}"))
                for claim, one in zip(asked, found, strict=True):
                    if one.outcome == ("contradicted" if kind == "true" else "supported"):
                        print(kind, one.outcome, *map(str, claim))
    table("verify", ("graph", "claims", "supported", "contradicted", "unknown", "ms each"), rows)


if __name__ == "__main__":
    main()
