"""How often facts by the names of things are written as they were: python -m benchmarks.telling [--facts 1000]

Facts between two entities are taken out of a vocabulary, and told again: a name of one end or both is misspelt, or an
alternative label that was taken out; the other is the label. A tenth of the entities is taken out, too: these have to
become new ones. The predicate is told by its label, or else its IRI's words.
"""

from __future__ import annotations

import argparse
import gzip
import random
import time
from collections import Counter, defaultdict
from typing import NamedTuple

import pyoxigraph as ox

import worlds
from benchmarks.quality_sets import shared_data
from benchmarks.resolving import misspelt
from worlds.core.texts.policy import DEFAULT_ROLES
from worlds.core.texts.profiles import words_of

VOCABULARIES = ("d3fend", "fibo")
_IDLE = (
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "http://www.w3.org/2000/01/rdf-schema#",
    "http://www.w3.org/2002/07/owl#",
)


class Told(NamedTuple):
    """A fact in words, the one that is meant, and how its ends were named."""

    words: tuple[str, str, str]
    triple: tuple[str, str, str]
    kind: str


def facts(name: str, most: int) -> tuple[list[ox.Triple], list[Told]]:
    """What a world is made of, and what it is told."""
    file = next((shared_data() / name).glob("*.nt.gz"))
    triples = [quad.triple for quad in ox.parse(gzip.decompress(file.read_bytes()), ox.RdfFormat.N_TRIPLES)]
    chance = random.Random(name)
    texts: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for triple in triples:
        role, text = DEFAULT_ROLES.get(triple.predicate.value), triple.object
        if (
            role
            and isinstance(text, ox.Literal)
            and text.language in (None, "en")
            and isinstance(triple.subject, ox.NamedNode)
        ):
            texts[role][triple.subject.value].append(text.value)
    labels, aliases = texts["label"], texts["alias"]

    def linked(triple: ox.Triple) -> bool:
        ends = (triple.subject, triple.object)
        named = all(isinstance(one, ox.NamedNode) and one.value in labels for one in ends)
        return named and not triple.predicate.value.startswith(_IDLE)

    chosen = chance.sample(some := [one for one in triples if linked(one)], min(most, len(some)))
    hidden: dict[str, str] = {}
    told = []
    for triple in chosen:
        kinds, words = [], []
        worse = chance.choice(((True, False), (False, True), (True, True)))
        for end, other in zip((triple.subject.value, triple.object.value), worse, strict=True):
            label = labels[end][0]
            if other and aliases.get(end) and chance.random() < 0.5:
                kinds.append("alias")
                words.append(hidden.setdefault(end, chance.choice(aliases[end])))
            elif other and len(label) > 5:
                kinds.append("misspelt")
                words.append(misspelt(label, chance))
            else:
                kinds.append("label")
                words.append(label)
        predicate = labels.get(triple.predicate.value, [words_of(triple.predicate.value)])[0]
        meant = (triple.subject.value, triple.predicate.value, triple.object.value)
        told.append(Told((words[0], predicate, words[1]), meant, "+".join(sorted(kinds))))
    gone = {one.triple for one in told}
    ends = sorted({end for one in told for end in (one.triple[0], one.triple[2])})
    absent = set(chance.sample(ends, len(ends) // 10))
    told = [one if absent.isdisjoint(one.triple) else one._replace(kind="unknown") for one in told]
    kept = [
        one
        for one in triples
        if (getattr(one.subject, "value", ""), one.predicate.value, getattr(one.object, "value", "")) not in gone
        and absent.isdisjoint((getattr(one.subject, "value", ""), getattr(one.object, "value", "")))
        and not (
            isinstance(one.object, ox.Literal) and hidden.get(getattr(one.subject, "value", "")) == one.object.value
        )
    ]
    return kept, told


def measured(name: str, most: int) -> tuple[Counter[tuple[str, str]], float, list[str]]:
    """Tell the facts of one vocabulary: counts by (kind, outcome), seconds a fact, and what was written wrongly."""
    kept, told = facts(name, most)
    counts: Counter[tuple[str, str]] = Counter()
    wrong = []
    with worlds.open(embedder=None) as world:
        world.load(bytes(ox.serialize(kept, format=ox.RdfFormat.N_TRIPLES)), format="nt")  # type: ignore[arg-type]
        world.policy = world.policy.with_(iris={"namespace": "https://told.example/"})
        before = set(world.quads())
        there = {str(term) for quad in before for term in quad[:3]}
        world.facts.tell([told[0].words], dry_run=True)  # which reads the schema
        began = time.perf_counter()
        receipt = world.facts.tell([one.words for one in told])
        seconds = (time.perf_counter() - began) / len(told)
        for one, fact in zip(told, receipt.facts, strict=True):
            new = set(map(str, fact.new))
            right = fact.quad is not None and all(
                str(part) == meant or (meant not in there and str(part) in new)
                for part, meant in zip(fact.quad[:3], one.triple, strict=True)
            )
            became = fact.became if fact.became in ("proposed", "refused") else "written"
            counts[one.kind, f"{became} {'right' if right else 'wrong'}"] += 1
            if became == "written" and not right:
                wrong.append(f"{one.words} became {fact.quad}, not {one.triple}")
        if receipt.revision is not None:
            world.undo(receipt.revision)
        assert set(world.quads()) == before, "one undo takes all back"
    return counts, seconds, wrong


def main() -> None:
    """Print what became of the facts of each vocabulary, by how their ends were named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--facts", type=int, default=1000)
    parser.add_argument("--wrong", action="store_true", help="also what was written wrongly")
    given = parser.parse_args()
    for name in VOCABULARIES:
        counts, seconds, wrong = measured(name, given.facts)
        total = sum(counts.values())
        written = sum(count for (_, became), count in counts.items() if became.startswith("written"))
        right = sum(count for (_, became), count in counts.items() if became == "written right")
        print(f"{name}: {total} facts, {written / total:.3f} written, {right / written:.3f} of these right, "
              f"{seconds * 1000:.1f} ms a fact")  # fmt: skip
        for kind in sorted({kind for kind, _ in counts}):
            became = (f"{name} {count}" for (of, name), count in sorted(counts.items()) if of == kind)
            print(f"  {kind}: {', '.join(became)}")
        for line in wrong if given.wrong else ():
            print(" ", line)


if __name__ == "__main__":
    main()
