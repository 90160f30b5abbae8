"""How often the entities that `World.resolve` finds are those that are meant: `python -m benchmarks.resolving`.

A thousand names come from each of four vocabularies: labels as they are, with their words in another order, misspelt (a
letter dropped, doubled or swapped, two in long ones), or a part of them; identifiers and abbreviations that the data
have; alternative labels that were taken out; labels of entities that were taken out. A quarter comes with a context:
words of the entity's definition among words of another's. Each vocabulary is measured with weights fitted on the other
three; `--fit` also prints those of worlds/extras/entities/names.py, which are fitted on all.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import random
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
import pyoxigraph as ox

import worlds
from benchmarks.quality_cache import CachedEmbedder, default_folder
from benchmarks.quality_sets import shared_data
from worlds.core.embedders import Embedder, resolve_embedder
from worlds.core.texts.policy import DEFAULT_ROLES
from worlds.extras.entities import names
from worlds.extras.entities.names import FEATURES
from worlds.graph.terms import to_rdflib

VOCABULARIES = ("uat", "fibo", "d3fend", "physh")
MOST_NAMES = 1000  # of each vocabulary, in equal parts of the kinds that it has
STRENGTH = 0.1  # of the weights' penalty
IDENTIFIERS = (  # predicates whose values tell things apart, and abbreviations
    "http://d3fend.mitre.org/ontologies/d3fend.owl#attack-id",
    "http://d3fend.mitre.org/ontologies/d3fend.owl#cwe-id",
    "http://d3fend.mitre.org/ontologies/d3fend.owl#d3fend-id",
    "https://www.omg.org/spec/Commons/Designators/hasTag",
)
ABBREVIATION = "https://www.omg.org/spec/Commons/AnnotationVocabulary/abbreviation"

Kind: TypeAlias = str
Asked = tuple[Kind, str, str | None, str | None]  # kind, name, context, the IRI that is meant (None: none is there)


class Example(NamedTuple):
    """What a name came to: its candidates' features, which of them are right, and whether a right one is there."""

    kind: Kind
    features: list[tuple[float, ...]]
    marks: list[bool]
    there: bool
    outcome: str
    confidences: list[float]


def vocabulary(name: str) -> tuple[list[ox.Triple], list[Asked]]:
    """What a world is made of, and what it is asked."""
    kept, asked, _ = _vocabulary(name)
    return kept, asked


def _vocabulary(
    name: str, fifth: int = 0
) -> tuple[list[ox.Triple], list[Asked], dict[Kind, list[tuple[str, str | None]]]]:
    file = next((shared_data() / name).glob("*.nt.gz"))
    triples = [quad.triple for quad in ox.parse(gzip.decompress(file.read_bytes()), ox.RdfFormat.N_TRIPLES)]
    chance = random.Random(name)
    texts: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for triple in triples:
        predicate, text = triple.predicate.value, triple.object
        role = DEFAULT_ROLES.get(predicate)
        role = "identifier" if predicate in IDENTIFIERS else "abbreviation" if predicate == ABBREVIATION else role
        english = isinstance(text, ox.Literal) and text.language in (None, "en")
        if role and english and isinstance(triple.subject, ox.NamedNode):
            texts[role][triple.subject.value].append(text.value)
    absent = {iri for iri in texts["label"] if _digest(iri) % 10 == 0}
    hidden = {(iri, text) for iri, names in texts["alias"].items() for text in names if _digest(text) % 5 == fifth}
    kept = [
        triple
        for triple in triples
        if triple.subject.value not in absent
        and not (isinstance(triple.object, ox.Literal) and (triple.subject.value, triple.object.value) in hidden)
    ]
    left = {text.casefold() for role in ("label", "alias") for iri, names in texts[role].items() for text in names
            if iri not in absent and (iri, text) not in hidden}  # fmt: skip
    present = [(text, iri) for iri, names in sorted(texts["label"].items()) if iri not in absent for text in names[:1]]
    several = [(text, iri) for text, iri in present if len(text.split()) > 1]
    kinds: dict[Kind, list[tuple[str, str | None]]] = {
        "exact": [(text.lower(), iri) for text, iri in present],
        "reordered": [(_reordered(text, chance), iri) for text, iri in several],
        "misspelt": [(misspelt(text, chance), iri) for text, iri in present if len(text) > 5],
        "part": [(part, iri) for text, iri in several if (part := _part(text, chance)).casefold() not in left],
        "alias": [(text, iri) for iri, names in sorted(texts["alias"].items()) if iri not in absent
                  for text in names if (iri, text) not in hidden],
        "hidden": [(text, iri) for iri, text in sorted(hidden) if iri not in absent and text.casefold() not in left],
        "unknown": [(names[0], None) for iri, names in sorted(texts["label"].items())
                    if iri in absent and names[0].casefold() not in left],
        **{role: [(text, iri) for iri, names in sorted(texts[role].items()) if iri not in absent for text in names]
           for role in ("identifier", "abbreviation")},
    }  # fmt: skip
    asked: list[Asked] = []
    definitions = [text for names in texts["description"].values() for text in names]
    groups = {kind: group for kind, group in kinds.items() if len(group) >= 20}
    for kind, group in groups.items():
        for text, iri in chance.sample(group, min(MOST_NAMES // len(groups), len(group))):
            own = texts["description"].get(iri or "", [])
            context = None
            if definitions and chance.random() < 0.25:
                words = chance.choice(definitions).split() + (own[0].split() if own else [])
                context = " ".join(chance.sample(words, min(12, len(words))))
            asked.append((kind, text, context, iri))
    return kept, asked, kinds


def hidden_aliases(name: str, fifth: int) -> tuple[list[ox.Triple], list[tuple[str, str]]]:
    """What a world is made of without a fifth of the aliases, and all of these that no other entity has."""
    kept, _, kinds = _vocabulary(name, fifth)
    return kept, [(text, iri) for text, iri in kinds["hidden"] if iri is not None]


def _digest(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def _reordered(text: str, chance: random.Random) -> str:
    words = text.split()
    while (mixed := chance.sample(words, len(words))) == words and len(set(words)) > 1:
        pass
    return " ".join(mixed)


def _part(text: str, chance: random.Random) -> str:
    """The last word, as a surname is, or some words in a row."""
    words = text.split()
    if chance.random() < 0.5:
        return words[-1]
    count = chance.randint(1, len(words) - 1)
    start = chance.randint(0, len(words) - count)
    return " ".join(words[start : start + count])


def misspelt(text: str, chance: random.Random) -> str:
    for _ in range(1 + (len(text) > 12)):
        at = chance.randrange(1, len(text) - 1)
        text = chance.choice((text[:at] + text[at + 1 :], text[:at] + text[at] + text[at:],
                              text[:at] + text[at + 1] + text[at] + text[at + 2 :]))  # fmt: skip
    return text


def examples(name: str, embedder: Embedder | None) -> Iterator[Example]:
    """What each name of a vocabulary comes to, by the weights that hold now."""
    triples, asked = vocabulary(name)
    with worlds.open(embedder=embedder, vector_index=False) as world:
        world.policy = worlds.records.TextPolicy(
            exclude=frozenset(world.policy.predicates("description", "other"))
        )  # for speed
        world.add([(triple.subject, triple.predicate, triple.object) for triple in triples])
        for kind, text, context, iri in asked:
            ((sought, close, known),) = world._resolver.compared([(text, context)])
            found = names.ranked(sought, close, known)
            wanted = None if iri is None else to_rdflib(ox.NamedNode(iri))
            outcome = names.outcome(sought, close, [one for _, one in found], known)
            yield Example(
                kind,
                [values for values, _ in found],
                [one.iri == wanted for _, one in found],
                iri is not None,
                outcome,
                [one.confidence for _, one in found],
            )


def fit(
    rows: np.ndarray, right: np.ndarray, counts: np.ndarray | None = None, strength: float = STRENGTH
) -> np.ndarray:
    """The weights of a logistic regression by Newton's method; the last stands alone and is not penalised.

    `counts` is how much each row counts, 1 without; `strength` that of the penalty.
    """
    counts = np.ones(len(rows)) if counts is None else counts
    table = np.concatenate([rows, np.ones((len(rows), 1))], axis=1)
    weights = np.zeros(table.shape[1])
    penalty = np.full(len(weights), strength)
    penalty[-1] = 1e-6
    for _ in range(50):
        chance = 1 / (1 + np.exp(-np.clip(table @ weights, -40.0, 40.0)))
        slope = table.T @ (counts * (chance - right)) + penalty * weights
        bend = (table * (counts * chance * (1 - chance))[:, None]).T @ table + np.diag(penalty)
        step = np.linalg.solve(bend, slope)
        weights -= step
        if np.abs(step).max() < 1e-8:
            break
    return weights


def timed(path: Path, each: int) -> None:
    """Print the time that `World.entities.resolve_all` takes for labels of a graph, every third of them misspelt."""
    with worlds.open(embedder=None) as world:
        world.load(path)
        rows = world.query("SELECT DISTINCT ?l { ?s <http://www.w3.org/2000/01/rdf-schema#label> ?l } ORDER BY ?l")
        names = [str(row[0]) for row in rows]  # type: ignore[union-attr]
        asked = [
            name if at % 3 else name[: at % len(name)] + name[at % len(name) + 1 :] for at, name in enumerate(names)
        ]
        asked = asked[::each]
        began = time.process_time()
        found = world.entities.resolve_all(asked)
        taken = time.process_time() - began
    outcomes = Counter(one.outcome for one in found)
    print(f"{len(asked):,} of {len(names):,} labels: {1000 * taken / len(asked):.1f} ms of CPU each; {dict(outcomes)}")


def fitted(found: list[Example]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The weights of names, and those of meaning alone."""
    given = []
    for length in (len(FEATURES), 2):
        rows = [(values, mark) for one in found for values, mark in zip(one.features, one.marks, strict=True)
                if len(values) == length]  # fmt: skip
        table = np.array([values for values, _ in rows] or np.zeros((0, length)))
        right = np.array([mark for _, mark in rows], dtype=float)
        given.append(tuple(fit(table, right).round(3).tolist()) if right.any() else (0.0,) * length + (-9.0,))
    return given[0], given[1]


def main() -> None:
    """Measure each vocabulary with weights that were fitted on the others; with --fit give those of all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fit", action="store_true", help="print the weights that are fitted on all vocabularies, too")
    parser.add_argument("--embedder", default="auto", help="as worlds.open takes it")
    parser.add_argument("--cache", type=Path, default=default_folder(), help="where vectors are kept")
    parser.add_argument("--time", type=Path, metavar="FILE", help="only time resolve_all with the labels of a graph")
    parser.add_argument("--each", type=int, default=1, help="of these take each so manieth")
    options = parser.parse_args()
    if options.time:
        timed(options.time, options.each)
        return
    chosen = None if options.embedder == "none" else resolve_embedder(options.embedder)
    embedder = None if chosen is None else CachedEmbedder(chosen, options.cache)
    learned = {name: list(examples(name, embedder)) for name in VOCABULARIES}
    if options.fit:
        text, meaning = fitted([one for found in learned.values() for one in found])
        print("    " + ", ".join(f"{n} {w:.2f}" for n, w in zip((*FEATURES, "constant"), text, strict=True)))
        print(f"WEIGHTS = {text}\nMEANING = {meaning}", flush=True)
    for name in VOCABULARIES:
        names.WEIGHTS, names.MEANING = fitted(
            [one for other in VOCABULARIES if other != name for one in learned[other]]
        )
        both = [list(examples(name, one)) for one in ((None, embedder) if embedder else (None,))]
        for how, found in zip(("words alone", "with vectors"), both, strict=False):
            report(f"{name}, {how}", found)
        if len(both) == 2:
            lost = sum(_right(one) and not _right(other) for one, other in zip(*both, strict=True))
            print(f"right matches that vectors took away: {lost}")


def _right(one: Example) -> bool:
    return one.outcome == "match" and one.marks[0]


def report(title: str, found: list[Example]) -> None:
    """Print how the outcomes of each kind of name fare, and how far confidences are from what comes true."""
    print(f"\n{title}\n\n| kind | names | match, right | match, wrong | ambiguous | no match | best is right |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for kind in (*dict.fromkeys(one.kind for one in found), None):
        part = [one for one in found if kind in (one.kind, None)]
        tally = Counter(one.outcome for one in part)
        right = sum(map(_right, part))
        best = sum(bool(one.marks) and one.marks[0] for one in part)
        cells = (kind or "all", len(part), right, tally["match"] - right, tally["ambiguous"], tally["no match"], best)
        print("| " + " | ".join(map(str, cells)) + " |")
    table = np.array([(one.confidences[0], one.marks[0]) if one.marks else (0.0, 0.0) for one in found])
    bins = np.minimum((table[:, 0] * 10).astype(int), 9)
    error = sum(abs((table[bins == at, 0] - table[bins == at, 1]).sum()) for at in range(10)) / len(table)
    wrong = sum(one.outcome == "match" and not one.marks[0] for one in found) / len(found)
    print(f"\nwrong matches {wrong:.3f} of all names; expected calibration error {error:.3f}")


if __name__ == "__main__":
    main()
