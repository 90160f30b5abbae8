"""The CPU that a level of a tree takes, and a page of an A–Z list, in worlds of many concepts.

    python -m benchmarks.browse [--concepts 100000] [--rounds 9]

One scheme has a twentieth of its concepts at the top and the rest below them at random; another is flat. "first" is the
first call after the world was opened, "after a write" the first one after a label was added, "then" the median of the
following ones.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import worlds
from benchmarks.common import Sentences, environment, median, table, vocabulary

EX = "http://ex.org/"
SKOS = "http://www.w3.org/2004/02/skos/core#"
SCHEME, FLAT = EX + "S", EX + "F"


def build(path: Path, concepts: int) -> None:
    """A world of two schemes of concepts, with labels in two languages."""
    chance, words = random.Random(1), Sentences(vocabulary(20_000), 1)
    tops = max(1, concepts // 20)
    lines = [f"@prefix s: <{SKOS}> . @prefix e: <{EX}> . e:S a s:ConceptScheme . e:F a s:ConceptScheme ."]
    for n in range(concepts):
        place = "s:topConceptOf e:S" if n < tops else f"s:broader e:c{chance.randrange(n)}"
        names = f's:prefLabel "{words(2)} {n}"@en , "{words(2)} {n}"@de'
        lines.append(f"e:c{n} a s:Concept ; s:inScheme e:S ; {place} ; {names} .")
        lines.append(f'e:f{n} a s:Concept ; s:topConceptOf e:F ; s:prefLabel "{words(2)} {n}"@en .')
    with worlds.open(path, embedder=None) as world:
        world.bind("ex", EX)
        world.load("\n".join(lines).encode(), format="turtle")


def cpu(call: Callable[[], object]) -> float:
    """The milliseconds of CPU that a call takes."""
    began = time.process_time()
    call()
    return (time.process_time() - began) * 1e3


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--concepts", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    environment()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "browse.db"
        build(path, options.concepts)
        calls: dict[str, Callable[[worlds.World], object]] = {
            "trees": lambda world: world.entities.tree(),
            "top of the scheme": lambda world: world.entities.tree(SCHEME),
            "its last page": lambda world: world.entities.tree(SCHEME, offset=options.concepts // 20 - 100),
            "below a concept": lambda world: world.entities.tree(SCHEME, parent="ex:c7"),
            "words in the scheme": lambda world: world.entities.tree(SCHEME, matching="ba"),
            "top of the flat scheme": lambda world: world.entities.tree(FLAT),
            "concepts A–Z": lambda world: world.entities.members("ex:S"),
            "concepts A–Z, in German": lambda world: world.entities.members("ex:S", language="de"),
            "a facet": lambda world: world.entities.members("ex:S", facet=[SKOS + "broader"], limit=1),
            "a move": lambda world: world.entities.moving("ex:c99", "ex:c7", of=SCHEME),
        }
        rows = []
        for name, call in calls.items():
            with worlds.open(path, embedder=None) as world:
                world.count("ex:c0")
                first = cpu(lambda call=call, world=world: call(world))
                world.add([("ex:c0", SKOS + "altLabel", f'"{name}"')], embed=False)
                after = cpu(lambda call=call, world=world: call(world))
                then = median([cpu(lambda call=call, world=world: call(world)) for _ in range(options.rounds)])
            rows.append([name, f"{first:.1f}", f"{after:.1f}", f"{then:.1f}"])
        title = f"CPU of a call, milliseconds, at 2 × {options.concepts:,} concepts"
        table(title, ["call", "first", "after a write", "then"], rows)


if __name__ == "__main__":
    main()
