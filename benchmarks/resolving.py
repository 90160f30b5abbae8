"""How often the entities that `World.resolve` finds are those that are meant: `python -m benchmarks.resolving`.

The names come from vocabularies. Every fifth alternative label is taken out and asked for; other names are labels as
they are, labels with a letter dropped, doubled or swapped, and labels of entities that were taken out. Half of the
names come with a context: words of the entity's definition among words of another's. `--fit` fits the weights of
worlds/entities/names.py to the first vocabularies; the table of how often a confidence holds is of the others.
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

import numpy as np
import pyoxigraph as ox

import worlds
from benchmarks.quality_cache import CachedEmbedder, default_folder
from benchmarks.quality_sets import shared_data
from worlds.embedders import Embedder, resolve_embedder
from worlds.entities.names import FEATURES, WEIGHTS
from worlds.graph.terms import to_rdflib
from worlds.texts.policy import DEFAULT_ROLES

FITTED = ("uat", "physh")
HELD_OUT = ("d3fend", "fibo")
MOST_NAMES = 150  # of each kind, of each vocabulary
STRENGTH = 1.0  # of the weights' penalty

Asked = tuple[str, str | None, str | None]  # name, context, the IRI that is meant (None: none is there)


def vocabulary(name: str) -> tuple[list[ox.Triple], list[Asked]]:
    """What a world is made of, and what it is asked."""
    file = next((shared_data() / name).glob("*.nt.gz"))
    triples = [quad.triple for quad in ox.parse(gzip.decompress(file.read_bytes()), ox.RdfFormat.N_TRIPLES)]
    chance = random.Random(name)
    texts: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for triple in triples:
        role, text = DEFAULT_ROLES.get(triple.predicate.value), triple.object
        english = isinstance(text, ox.Literal) and text.language in (None, "en")
        if role and english and isinstance(triple.subject, ox.NamedNode):
            texts[role][triple.subject.value].append(text.value)
    absent = {iri for iri in texts["label"] if _digest(iri) % 10 == 0}
    hidden = {(iri, text) for iri, names in texts["alias"].items() for text in names if _digest(text) % 5 == 0}
    kept = [
        triple
        for triple in triples
        if triple.subject.value not in absent
        and not (isinstance(triple.object, ox.Literal) and (triple.subject.value, triple.object.value) in hidden)
    ]
    left = {text.casefold() for role in ("label", "alias") for iri, names in texts[role].items() for text in names
            if iri not in absent and (iri, text) not in hidden}  # fmt: skip
    present = [(text, iri) for iri, names in sorted(texts["label"].items()) if iri not in absent for text in names[:1]]
    groups: list[list[Asked]] = [
        [(text, None, iri) for iri, text in sorted(hidden) if iri not in absent and text.casefold() not in left],
        [(text.lower(), None, iri) for text, iri in present],
        [(_misspelt(text, chance), None, iri) for text, iri in present if len(text) > 5],
        [(names[0], None, None) for iri, names in sorted(texts["label"].items())
         if iri in absent and names[0].casefold() not in left],
    ]  # fmt: skip
    asked: list[Asked] = []
    definitions = [text for names in texts["description"].values() for text in names]
    for group in groups:
        for text, _, iri in chance.sample(group, min(MOST_NAMES, len(group))):
            own = texts["description"].get(iri or "", [])
            context = None
            if definitions and chance.random() < 0.5:
                words = chance.choice(definitions).split() + (own[0].split() if own else [])
                context = " ".join(chance.sample(words, min(12, len(words))))
            asked.append((text, context, iri))
    return kept, asked


def _digest(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def _misspelt(text: str, chance: random.Random) -> str:
    for _ in range(1 + (len(text) > 12)):
        at = chance.randrange(1, len(text) - 1)
        text = chance.choice((text[:at] + text[at + 1 :], text[:at] + text[at] + text[at:],
                              text[:at] + text[at + 1] + text[at] + text[at + 2 :]))  # fmt: skip
    return text


def examples(name: str, embedder: Embedder | None) -> Iterator[tuple[list[tuple[float, ...]], list[bool], bool]]:
    """For each name: the features of its candidates, which of them are right, and whether a right one is there."""
    triples, asked = vocabulary(name)
    with worlds.open(embedder=embedder, vector_index=False) as world:
        world.policy = worlds.TextPolicy(
            exclude=frozenset(world.policy.predicates("description", "other"))
        )  # for speed
        world.add([(triple.subject, triple.predicate, triple.object) for triple in triples])
        for text, context, iri in asked:
            found = world._resolver.candidates(text, context=context)
            wanted = None if iri is None else to_rdflib(ox.NamedNode(iri))
            yield [values for values, _ in found], [one.iri == wanted for _, one in found], iri is not None


def fit(rows: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The weights of a logistic regression by Newton's method; the last stands alone and is not penalised."""
    table = np.concatenate([rows, np.ones((len(rows), 1))], axis=1)
    weights = np.zeros(table.shape[1])
    penalty = np.full(len(weights), STRENGTH)
    penalty[-1] = 1e-6
    for _ in range(50):
        chance = 1 / (1 + np.exp(-table @ weights))
        slope = table.T @ (chance - right) + penalty * weights
        bend = (table * (chance * (1 - chance))[:, None]).T @ table + np.diag(penalty)
        step = np.linalg.solve(bend, slope)
        weights -= step
        if np.abs(step).max() < 1e-8:
            break
    return weights


def timed(path: Path, each: int) -> None:
    """Print the time that `World.resolve_all` takes for labels of a graph, every third of them misspelt."""
    with worlds.open(embedder=None) as world:
        world.load(path)
        rows = world.query("SELECT DISTINCT ?l { ?s <http://www.w3.org/2000/01/rdf-schema#label> ?l } ORDER BY ?l")
        names = [str(row[0]) for row in rows]
        asked = [
            name if at % 3 else name[: at % len(name)] + name[at % len(name) + 1 :] for at, name in enumerate(names)
        ]
        asked = asked[::each]
        began = time.process_time()
        found = world.resolve_all(asked)
        taken = time.process_time() - began
    outcomes = Counter(one.outcome for one in found)
    print(f"{len(asked):,} of {len(names):,} labels: {1000 * taken / len(asked):.1f} ms of CPU each; {dict(outcomes)}")


def main() -> None:
    """Measure, and with --fit give the weights."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fit", action="store_true", help="fit the weights anew, and print them")
    parser.add_argument("--embedder", help="as worlds.open takes it; without one, words alone are compared")
    parser.add_argument("--cache", type=Path, default=default_folder(), help="where vectors are kept")
    parser.add_argument("--time", type=Path, metavar="FILE", help="only time resolve_all with the labels of a graph")
    parser.add_argument("--each", type=int, default=1, help="of these take each so manieth")
    options = parser.parse_args()
    if options.time:
        timed(options.time, options.each)
        return
    embedder = resolve_embedder(options.embedder)
    if embedder is not None:
        embedder = CachedEmbedder(embedder, options.cache)
    kind = "text" if embedder is None else "hybrid"
    weights = np.array(WEIGHTS[kind])
    if options.fit:
        found = [item for name in FITTED for item in examples(name, embedder)]
        rows = np.array([values for features, _, _ in found for values in features])
        weights = fit(rows, np.array([right for _, marks, _ in found for right in marks], dtype=float))
        print(f'    "{kind}": ({", ".join(f"{weight:.3f}" for weight in weights)}),')
        print("    " + ", ".join(f"{n} {w:.2f}" for n, w in zip((*FEATURES, "constant"), weights, strict=True)))
    report([item for name in HELD_OUT for item in examples(name, embedder)], weights)


def report(found: list[tuple[list[tuple[float, ...]], list[bool], bool]], weights: np.ndarray) -> None:
    """How often the best candidate of a confidence is the right one; and how the outcomes fare."""
    best: list[tuple[float, bool]] = []
    outcomes: dict[tuple[str, str], int] = defaultdict(int)
    for features, marks, there in found:
        chances = [float(1 / (1 + np.exp(-(np.dot(values, weights[:-1]) + weights[-1])))) for values in features]
        order = np.argsort([-chance for chance in chances])
        first = chances[order[0]] if chances else 0.0
        second = chances[order[1]] if len(chances) > 1 else 0.0
        right = bool(chances) and marks[order[0]]
        best.append((first, right))
        outcome = "no match" if first < 0.3 else "ambiguous" if first - second < 0.2 or first < 0.5 else "match"
        outcomes[outcome, ("right" if right else "wrong") if there else "absent"] += 1
    table = np.array(best)
    print("| confidence of the best | names | mean confidence | right |")
    print("| --- | --- | --- | --- |")
    error = 0.0
    for low in np.arange(0, 1, 0.1):
        part = table[(table[:, 0] >= low) & (table[:, 0] < low + 0.1 + (low > 0.85))]
        if len(part):
            confidence, share = part.mean(axis=0)
            error += abs(confidence - share) * len(part) / len(table)
            print(f"| {low:.1f} to {low + 0.1:.1f} | {len(part)} | {confidence:.2f} | {share:.2f} |")
    print(f"\nexpected calibration error {error:.3f}; Brier score {np.mean((table[:, 0] - table[:, 1]) ** 2):.3f}\n")
    for (outcome, what), count in sorted(outcomes.items()):
        print(f"{outcome}: {count} {what}")


if __name__ == "__main__":
    main()
