"""What searches find first, measured: `python -m benchmarks.quality [SET ...]`.

A SET is a folder of texts with judgements, or RDF whose hidden labels or descriptions are asked for; without one, all
that the shared data have: cranfield, cisi, medline, cacm, eight sets like uat:synonyms and fibo:descriptions, and
metaqa-movies with its one-hop questions. docs/benchmarks.md describes their shapes.

    python -m benchmarks.quality cranfield cisi --modes text,vector,hybrid
    python -m benchmarks.quality uat:synonyms ~/my-graph.ttl:descriptions --fusion rrf,relative
    python -m benchmarks.quality cacm --option candidates=200 --against candidates=100

Each set is loaded as a world in memory, and each question asked as a search for 100 hits. The measures are those of
ir-measures, with 95 % intervals by bootstrap over the questions. With more than one fusion, or with --against, the
configurations are compared on the same questions: a difference whose interval holds 0 is noise. Vectors are kept in the
user's cache folder, or in that of --cache, so that only the first run embeds.

--option gives an option of `World.search`, or with the name policy.X one of the world's policy; values are JSON, or
else strings.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import rdflib

import worlds
from benchmarks.common import environment, table
from benchmarks.quality_cache import CachedEmbedder, default_folder
from benchmarks.quality_measures import MEASURES, Values, interval, measure
from benchmarks.quality_sets import (
    COLLECTIONS,
    ENTITY_SETS,
    FILMS,
    LAYOUTS,
    JudgedSet,
    find_set,
    shared_data,
)
from worlds.core.embedders import resolve_embedder
from worlds.core.search.options import gathered
from worlds.core.texts.policy import ChunkSize

DEPTH = 100  # hits that are asked for
PROFILE = "urn:worlds:profile"
MODES = ("text", "vector", "hybrid")


@dataclass(frozen=True)
class Configuration:
    """How a world is made and asked."""

    name: str
    search: dict[str, Any]
    policy: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """What one configuration reached on one set."""

    measures: dict[str, Values]
    milliseconds: float  # the median of a search
    notes: tuple[str, ...]


def parse_options(given: Sequence[str]) -> dict[str, Any]:
    """Name → value of `name=value` arguments; ValueError for another form."""
    options: dict[str, Any] = {}
    for argument in given:
        name, equals, value = argument.partition("=")
        if not equals or not name:
            raise ValueError(f"an option is name=value, not {argument!r}")
        try:
            options[name] = json.loads(value)
        except json.JSONDecodeError:
            options[name] = value
    return options


def configurations(
    modes: Sequence[str], fusions: Sequence[str], options: Mapping[str, Any], against: Mapping[str, Any]
) -> list[Configuration]:
    """One for each mode and, where the mode fuses, for each fusion; the same again with `against` over the options."""
    found: list[Configuration] = []
    for changes in [{}, against] if against else [{}]:
        chosen = {**options, **changes}
        policy = {name.removeprefix("policy."): value for name, value in chosen.items() if name.startswith("policy.")}
        search = {name: value for name, value in chosen.items() if not name.startswith("policy.")}
        said = "".join(f", {name}={json.dumps(value)}" for name, value in changes.items())
        for mode in modes:
            for fusion in fusions if mode == "hybrid" and fusions else [None]:
                how = {**search, "mode": mode} | ({} if fusion is None else {"fusion": fusion})
                name = mode + ("" if fusion is None else f" {fusion}") + said
                found.append(Configuration(name, how, policy))
    return found


def open_world(judged: JudgedSet, policy: Mapping[str, Any], embedder: worlds.Embedder | None) -> worlds.World:
    """The set as a world in memory, with every text embedded."""
    world = worlds.open(":memory:", embedder=embedder, vector_index=False)
    if policy:
        size = {"size": ChunkSize(**policy["size"])} if isinstance(policy.get("size"), dict) else {}
        world.policy = world.policy.with_(**{**policy, **size})
    world.add(judged.triples())
    return world


def ranking(hits: worlds.records.SearchResults, grouped: bool) -> list[str]:
    """The IRIs of the hits' subjects, in order; a text may stand under several, a profile has one."""
    found: dict[str, None] = {}
    for hit in hits:
        found[str(hit.subject)] = None
        if not grouped and str(hit.predicate) != PROFILE:
            found |= {str(subject): None for subject, *_ in hit.quads if isinstance(subject, rdflib.URIRef)}
    return list(found)


def ask(world: worlds.World, judged: JudgedSet, search: Mapping[str, Any]) -> Outcome:
    """Ask all questions of the set, and measure what was found."""
    options = {"limit": DEPTH, **search}
    grouped = options.get("group_by") == "subject"
    rankings: dict[str, list[str]] = {}
    times: list[float] = []
    notes: dict[str, None] = {}
    for key, question in judged.questions.items():
        began = time.perf_counter()
        hits = world.search(question, **gathered(options))
        times.append((time.perf_counter() - began) * 1e3)
        notes |= dict.fromkeys(note.split(":")[0] for note in hits.notes)
        rankings[key] = ranking(hits, grouped)
    return Outcome(measure(rankings, judged.judgements), sorted(times)[len(times) // 2], tuple(notes))


def evaluate(
    judged: JudgedSet, asked: Sequence[Configuration], embedder: worlds.Embedder | None
) -> Iterator[tuple[Configuration, Outcome]]:
    """Each configuration's outcome on the set; those with one policy share a world."""
    if isinstance(embedder, CachedEmbedder) and any(each.search["mode"] != "text" for each in asked):
        embedder.embed_queries(list(judged.questions.values()))
    policies = list({json.dumps(each.policy, sort_keys=True): each.policy for each in asked}.values())
    for policy in policies:
        with open_world(judged, policy, embedder) as world:
            for each in asked:
                if each.policy == policy:
                    yield each, ask(world, judged, each.search)


def report(outcomes: Mapping[str, Mapping[str, Outcome]]) -> None:
    """Print set → configuration → outcome, the means over the sets, and each configuration beside the first."""
    for name, by_configuration in outcomes.items():
        count = len(next(iter(by_configuration.values())).measures["nDCG@10"])
        rows = [
            (each, *(shown(outcome.measures[of]) for of in MEASURES), outcome.milliseconds)
            for each, outcome in by_configuration.items()
        ]
        table(f"{name}: {count} questions", ("search", *MEASURES, "median_ms"), rows)
        for note in dict.fromkeys(note for outcome in by_configuration.values() for note in outcome.notes):
            print(f"\nNote: {note}")
    names = list(next(iter(outcomes.values())))
    if len(outcomes) > 1:
        rows = [
            (each, *(shown(*(done[each].measures[of] for done in outcomes.values())) for of in MEASURES))
            for each in names
        ]
        table(f"Mean of {len(outcomes)} sets", ("search", *MEASURES), rows)


def compare(outcomes: Mapping[str, Mapping[str, Outcome]], pairs: Sequence[tuple[str, str]]) -> None:
    """Print for each pair of configurations, and set, how much the first is above the second in nDCG@10."""
    rows = []
    for better, worse in pairs:
        differences = {
            name: done[better].measures["nDCG@10"] - done[worse].measures["nDCG@10"] for name, done in outcomes.items()
        }
        named: dict[str, tuple[Values, ...]] = {name: (values,) for name, values in differences.items()}
        if len(differences) > 1:
            named["mean"] = tuple(differences.values())
        for name, values in named.items():
            low, high = interval(*values)
            verdict = "better" if low > 0 else "worse" if high < 0 else "noise"
            rows.append((better, worse, name, shown(*values, sign="+"), verdict))
    table("nDCG@10, by pairs", ("search", "beside", "set", "difference", "verdict"), rows)


def shown(*sets: Values, sign: str = "") -> str:
    """The mean of the sets' means, with its interval."""
    low, high = interval(*sets)
    mean = sum(float(values.mean()) for values in sets) / len(sets)
    return f"{mean:{sign}.3f} [{low:{sign}.3f}, {high:{sign}.3f}]"


def pairs_of(
    asked: Sequence[Configuration], fusions: Sequence[str], against: Mapping[str, Any]
) -> list[tuple[str, str]]:
    """What is compared: each configuration with its like under `against`, and each fusion with the first."""
    if against:
        half = len(asked) // 2
        return [(first.name, second.name) for first, second in zip(asked[:half], asked[half:], strict=True)]
    fused = [each.name for each in asked if each.search["mode"] == "hybrid"]
    legs = [each.name for each in asked if each.search["mode"] != "hybrid"]
    pairs = [(each, fused[0]) for each in fused[1:]]
    return pairs + [(fused[0], leg) for leg in legs] if fused else pairs


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", metavar="SET")
    parser.add_argument("--modes", default=",".join(MODES))
    parser.add_argument("--fusion", default="", help="fusions to compare in hybrid mode, such as rrf,relative")
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--against", action="append", default=[], metavar="NAME=VALUE",
                        help="what differs in a second configuration, which the first is compared with")  # fmt: skip
    parser.add_argument("--layout", choices=LAYOUTS, default=LAYOUTS[0],
                        help="a document of a collection as one literal, or title and text as two")  # fmt: skip
    parser.add_argument("--embedder", default="auto", help="as worlds.open takes it; 'none' for text mode alone")
    parser.add_argument("--data", type=Path, default=shared_data(), help="where a set's name is looked for")
    parser.add_argument("--cache", type=Path, default=default_folder(), help="where vectors are kept")
    options = parser.parse_args(arguments)
    modes = [mode for mode in options.modes.split(",") if mode]
    if not set(modes) <= set(MODES):
        parser.error(f"modes are {', '.join(MODES)}, not {options.modes}")
    fusions = [fusion for fusion in options.fusion.split(",") if fusion]
    try:
        against = parse_options(options.against)
        asked = configurations(modes, fusions, parse_options(options.option), against)
        names = options.sets or [*COLLECTIONS, *ENTITY_SETS, FILMS]
        sets = [find_set(name, options.data, options.layout) for name in names]
    except (ValueError, FileNotFoundError) as error:
        parser.error(str(error))

    found = resolve_embedder(None if options.embedder == "none" else options.embedder)
    embedder = None if found is None else CachedEmbedder(found, options.cache)
    environment()
    outcomes: dict[str, dict[str, Outcome]] = {}
    for judged in sets:
        done = {each.name: outcome for each, outcome in evaluate(judged, asked, embedder)}
        outcomes[judged.name] = {each.name: done[each.name] for each in asked}
    report(outcomes)
    if pairs := pairs_of(asked, fusions, against):
        compare(outcomes, pairs)


if __name__ == "__main__":
    main()
