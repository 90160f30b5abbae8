"""A world in which each stage after fusion has something to do."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyoxigraph as ox

import worlds
from tests.support import tables
from tests.support.embedder import HashingEmbedder
from worlds.core.search.options import gathered
from worlds.records import SearchResults

EX = "http://example.org/"
WORDS = ["kite", "heron", "lake", "pine", "river", "osprey", "marsh", "cliff", "storm", "nest", "wing", "dawn"]
DATES = {  # lexical form → days since 1970
    "2024-10-04": 20_000,
    "2023-10-05": 19_635,
    "2020-01-01T12:00:00Z": 18_262.5,
    "2020-01-01T14:00:00+02:00": 18_262.5,
    "1999": 10_592,
    "2010-06": 14_761,
    "2031-01-01": 22_280,
    "someday": None,
    "2023-02-29": None,
    "": None,
}
NUMBERS: dict[str, float | None] = {"0": 0, "7": 7, "-3": -3, "1e3": 1000, "many": None, "NaN": None, "2.5": 2.5}


class Known:
    """A world of some 60 chunks, and what its subjects are, told apart from it."""

    def __init__(self, seed: int) -> None:
        chance = random.Random(seed)
        self.embedder = HashingEmbedder()
        self.world = worlds.open(embedder=self.embedder)
        self.world.bind("ex", EX)
        self.dates: dict[str, list[str]] = {}
        self.numbers: dict[str, list[str]] = {}
        self.types: dict[str, set[str]] = {}
        self.flags: dict[str, str] = {}
        self.world.policy = worlds.records.TextPolicy(
            exclude=frozenset(EX + p for p in ("date", "size", "flag")), roles={EX + "label": "alias"}
        )
        early: list[Any] = []
        late: list[Any] = []
        shared = [" ".join(chance.sample(WORDS, 4)) for _ in range(8)]
        for number in range(30):
            name = EX + f"s{number}"
            texts = [" ".join(chance.sample(WORDS, chance.randint(1, 6))) for _ in range(chance.randint(1, 2))]
            texts += chance.sample(shared, chance.randint(0, 2))
            self.dates[name] = chance.sample(list(DATES), chance.choice([0, 1, 1, 2]))
            self.numbers[name] = chance.sample(list(NUMBERS), chance.choice([0, 1, 2]))
            self.types[name] = set(chance.sample("ABC", chance.randint(0, 2)))
            self.flags[name] = chance.choice(["true", "false", "1", "maybe"])
            quads: list[Any] = [(name, EX + chance.choice(["label", "note"]), ox.Literal(text)) for text in texts]
            quads += [(name, EX + "date", ox.Literal(date)) for date in self.dates[name]]
            quads += [(name, EX + "size", ox.Literal(size)) for size in self.numbers[name]]
            quads += [(name, "rdf:type", EX + kind) for kind in self.types[name]]
            quads.append((name, EX + "flag", ox.Literal(self.flags[name])))
            (early if number % 5 else late).extend(quads)
        self.world.add(early)
        self.world.add(late, embed=False)
        rows = tables.rows(
            self.world, "SELECT chunks.id, embedding FROM chunks JOIN vectors ON vectors.id = chunks.vector"
        )
        self.vectors = {chunk: np.frombuffer(blob, "<f4").astype(float) for chunk, blob in rows}
        assert 20 < len(self.vectors) < self.world.stats().chunks - 5

    def everything(self, question: str, **options: Any) -> SearchResults:
        return self.world.search(question, limit=1000, **gathered(options))


class Counting:
    """A reranker: the share of the question's letters in a text, and its length."""

    def __init__(self, scale: float = 1.0) -> None:
        self.scale = scale
        self.asked: list[int] = []

    def score(self, question: str, text: str) -> float:
        return self.scale * (len(set(question) & set(text)) - len(text) / 100)

    def predict(self, pairs: list[tuple[str, str]]) -> list[float]:
        self.asked.append(len(pairs))
        return [self.score(*pair) for pair in pairs]


class Answering:
    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def predict(self, pairs: list[tuple[str, str]]) -> Any:
        return self.answer
