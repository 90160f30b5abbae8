"""What the stages after fusion cost, the cross-encoder left out: `python -m benchmarks.stages`.

The world: entities with one text, a date, a number and a type each; 384 dimensions. Words and vectors of a question
have nothing to do with each other, so two lists of 100 give some 200 candidates. Each question is asked without a stage
and with it, in turn, some times over. What is told is the least CPU time with it minus the least without, the median
over the questions: the least, since other work on the machine makes all times longer.
"""

from __future__ import annotations

import argparse
import random
import time
from typing import Any

import numpy as np

import worlds
from benchmarks.common import Sentences, environment, median, table, vocabulary
from benchmarks.search import DIMENSION, EX, Prepared, unit, worlds_literal
from worlds.core.search.options import gathered

STAGES: dict[str, dict[str, Any]] = {
    "boost by a pattern": {"boost": f"2 ?subject a <{EX}A>"},
    "boost by a number": {"boost": {"predicate": f"{EX}size", "weight": 0.1}},
    "decay": {"decay": {"predicate": f"{EX}date", "half_life": 365, "evergreen_types": f"{EX}A"}},
    "diversity": {"diversity": 0.7},
    "group_by": {"group_by": "subject"},
}


def cpu(call: Any) -> float:
    began = time.process_time()
    call()
    return (time.process_time() - began) * 1e3


def extra(world: worlds.World, text: str, vector: Any, stage: dict[str, Any], repeats: int) -> float:
    plain, staged = [], []
    for _ in range(repeats):
        plain.append(cpu(lambda: world.search(text, vector=vector)))
        staged.append(cpu(lambda: world.search(text, vector=vector, **gathered(stage))))
    return min(staged) - min(plain)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--queries", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=15)
    options = parser.parse_args()
    environment()
    chance, rng = random.Random(1), np.random.default_rng(1)
    sentence = Sentences(vocabulary(5000), 1)
    texts = [f"{sentence(40)} {row}" for row in range(options.rows)]
    embedder = Prepared()
    embedder.known = dict(zip(texts, unit(rng.normal(size=(options.rows, DIMENSION))), strict=True))
    every = {name: value for stage in STAGES.values() for name, value in stage.items()}
    every["boost"] = [STAGES["boost by a pattern"]["boost"], STAGES["boost by a number"]["boost"]]
    with worlds.open(embedder=embedder, vector_index=False) as world:
        world.policy = worlds.records.TextPolicy(exclude=frozenset([f"{EX}date", f"{EX}size"]))
        quads: list[Any] = []
        for row, text in enumerate(texts):
            subject = f"{EX}e{row}"
            date = f"{chance.randint(1990, 2025)}-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}"
            quads += [
                (subject, f"{EX}text", worlds_literal(text)),
                (subject, f"{EX}date", worlds_literal(date)),
                (subject, f"{EX}size", worlds_literal(str(chance.randint(0, 1000)))),
                (subject, "rdf:type", EX + chance.choice("ABCD")),
            ]
        world.add(quads)
        questions = [(sentence(5), unit(rng.normal(size=DIMENSION))) for _ in range(options.queries)]
        rows = []
        for name, stage in [*STAGES.items(), ("all of them", every)]:
            world.search(questions[0][0], vector=questions[0][1], **gathered(stage))
            costs = [extra(world, text, vector, stage, options.repeats) for text, vector in questions]
            found = [
                world.search(text, vector=vector, **gathered(stage)).explain.candidates for text, vector in questions
            ]
            rows.append((name, round(median(found)), median(costs), float(np.percentile(costs, 90))))
        table("The stages after fusion", ("stage", "candidates", "extra_cpu_ms", "90th percentile"), rows)


if __name__ == "__main__":
    main()
