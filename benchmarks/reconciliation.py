"""How often a match of the Reconciliation API is right, and what a batch costs: `python -m benchmarks.reconciliation`.

Of D3FEND and FIBO, each alternative label is taken out, a fifth of them at a time, and then asked for, in batches of
50, as OpenRefine asks: alone, with its type, and with up to three other columns, whose values several entities have.
A name can be known where the entity is among its twenty candidates. `--time N` gives the cost of batches of 50 names,
every third misspelt, of FIBO and of N generated entities.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pyoxigraph as ox

import worlds
from benchmarks.quality_sets import shared_data
from benchmarks.resolving import hidden_aliases
from worlds import World
from worlds.core.texts.policy import DEFAULT_ROLES
from worlds.doors.server.protocols.reconciliation import BATCH
from worlds.doors.server.protocols.reconciliation_jobs import reconcile

TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
CANDIDATES = 20


def asked(
    world: World, names: Sequence[str], limit: int = 5, rows: Sequence[Mapping[str, Any]] = ()
) -> list[list[dict[str, Any]]]:
    """The candidates of each name of a batch, with what the other columns of its row say."""
    plain = {"types": [], "limit": limit, "strict": "should", "properties": []}
    queries = {
        f"q{at}": {**plain, "name": name, **row}
        for at, (name, row) in enumerate(zip_longest(names, rows, fillvalue={}))
    }
    found = json.loads(reconcile(world, queries=queries))
    return [found[key]["result"] for key in queries]


def matches(vocabulary: str) -> Iterator[str]:
    """Rows of the table: by the name alone, with the type, and with up to three other columns."""
    known, tallies = 0, {how: Counter[str]() for how in ("name", "name, type", "name, type, properties")}
    total = 0
    for fifth in range(5):
        triples, hidden = hidden_aliases(vocabulary, fifth)
        total += len(hidden)
        columns = Columns(triples)
        with worlds.open(embedder=None) as world:
            world.add([(triple.subject, triple.predicate, triple.object) for triple in triples])
            prefixes = world.prefixes
            for start in range(0, len(hidden), BATCH):
                some = hidden[start : start + BATCH]
                names = [name for name, _ in some]
                types = [{"types": columns.types[iri][:1]} for _, iri in some]
                whole = [{**one, "properties": columns.of(iri)} for one, (_, iri) in zip(types, some, strict=True)]
                for how, rows in zip(tallies, ((), types, whole), strict=True):
                    for (_name, iri), found in zip(some, asked(world, names, CANDIDATES, rows), strict=True):
                        fits = [_expanded(one["id"], prefixes) == iri for one in found]
                        known += any(fits) and how == "name"
                        if found and found[0]["match"]:
                            tallies[how]["right" if fits[0] else "wrong"] += 1
    for how, tally in tallies.items():
        right, wrong = tally["right"], tally["wrong"]
        cells = (
            vocabulary,
            how,
            total,
            known,
            right,
            wrong,
            f"{right / max(right + wrong, 1):.3f}",
            f"{right / known:.2f}",
        )
        yield "| " + " | ".join(map(str, cells)) + " |"


class Columns:
    """What other columns of a table may say of entities: values that several have, entities by their labels."""

    def __init__(self, triples: Sequence[ox.Triple]) -> None:
        self.types: dict[str, list[str]] = defaultdict(list)
        self._said: dict[str, list[tuple[str, str]]] = defaultdict(list)
        labels = {one.subject.value: one.object.value for one in triples if one.predicate.value == LABEL}
        common = Counter((one.predicate, one.object) for one in triples)
        for one in triples:
            if one.predicate.value == TYPE:
                self.types[one.subject.value].append(one.object.value)
            elif one.predicate.value not in DEFAULT_ROLES and common[one.predicate, one.object] > 1:
                text = one.object.value if isinstance(one.object, ox.Literal) else labels.get(one.object.value)
                if text is not None and len(text) < 100:
                    self._said[one.subject.value].append((one.predicate.value, text))

    def of(self, iri: str) -> list[tuple[str, list[str]]]:
        """The first three properties of an entity."""
        found: dict[str, list[str]] = {}
        for predicate, text in sorted(self._said[iri]):
            found.setdefault(predicate, []).append(text)
        return list(found.items())[:3]


def _expanded(identifier: str, prefixes: dict[str, str]) -> str:
    prefix, _, local = identifier.partition(":")
    return prefixes[prefix] + local if prefix in prefixes else identifier


def generated(count: int) -> Iterator[tuple[str, str, str]]:
    """Entities with names of one to four words, of which some are common and most are rare."""
    chance = random.Random(7)
    syllables = [first + second for first in "bcdfghjklmnprstvwz" for second in "aeiou"]
    words = ["".join(chance.choices(syllables, k=chance.randrange(2, 5))).title() for _ in range(40_000)]
    for number in range(count):
        length = chance.choice((1, 2, 2, 2, 3, 3, 4))
        picked = [words[min(int(chance.paretovariate(0.6)), 39_999)] if chance.random() < 0.4 else chance.choice(words)
                  for _ in range(length)]  # fmt: skip
        yield f"http://example.org/{number}", LABEL, f'"{" ".join(picked)}"'


def timed(world: World, labels: Sequence[str], batches: int) -> tuple[list[float], list[float]]:
    """The CPU and the wall-clock milliseconds of each batch, after one that reads what searches keep in memory."""
    chance = random.Random(1)
    cpu, wall = [], []
    for _ in range(batches + 1):
        names = [name if at % 3 else _dropped(name, chance) for at, name in enumerate(chance.sample(labels, BATCH))]
        began, started = time.process_time(), time.perf_counter()
        asked(world, names)
        cpu.append(1000 * (time.process_time() - began))
        wall.append(1000 * (time.perf_counter() - started))
    return cpu[1:], wall[1:]


def _dropped(name: str, chance: random.Random) -> str:
    at = chance.randrange(len(name))
    return name[:at] + name[at + 1 :] or name


def main() -> None:
    """Print a table of matches; with --time one of milliseconds instead."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--time", type=int, metavar="N", help="time batches, of FIBO and of N generated entities")
    parser.add_argument("--batches", type=int, default=40, help="of each")
    options = parser.parse_args()
    if options.time is None:
        heads = (
            "vocabulary",
            "asked by",
            "hidden aliases",
            "can be known",
            "right",
            "wrong",
            "right of matches",
            "of known",
        )
        print(f"| {' | '.join(heads)} |\n|{' --- |' * len(heads)}")
        for vocabulary in ("d3fend", "fibo"):
            print("\n".join(matches(vocabulary)), flush=True)
        return
    print("| entities | median_cpu_ms | p95_cpu_ms | median_ms | p95_ms |\n| --- | --- | --- | --- | --- |")
    fibo = gzip.decompress(next((shared_data() / "fibo").glob("*.nt.gz")).read_bytes())
    for count in (0, options.time):
        with tempfile.TemporaryDirectory() as folder, worlds.open(Path(folder) / "kb.db", embedder=None) as world:
            if count:
                world.add(generated(count))
            else:
                world.load(fibo, format="nt")
            labels = sorted({str(quad[2]) for quad in world.quads(None, LABEL)})
            cpu, wall = timed(world, labels, options.batches)
        told = [np.percentile(each, rank) for each in (cpu, wall) for rank in (50, 95)]
        print(f"| {count or 'FIBO'} | " + " | ".join(f"{one:.0f}" for one in told) + " |", flush=True)


if __name__ == "__main__":
    main()
