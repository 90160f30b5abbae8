"""Evidence for and against a claim, and the parts of the world that were read for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from worlds.extras.curation.claims.state import Rows
from worlds.extras.entities.neighbours import CitedQuad
from worlds.graph.records import Count, Quad, Record, Score

Outcome: TypeAlias = Literal["supported", "contradicted", "unknown"]


class Ground(NamedTuple):
    """A piece of evidence as ids: the rule, a sentence, the quads that it rests on, and how sure they make it."""

    rule: str
    message: str
    rows: Rows
    score: float


@dataclass(frozen=True, slots=True)
class Evidence(Record):
    """Evidence for a claim, or against it, with its rule.

    `quads` are all that it rests on, in the order in which one leads to the next, the declarations included, each with
    the revision that added it. `score`, from 0 to 1, is 1 for what is said outright, and 1 / n for what follows only if
    n quads are right. `triple` is the place of the triple in the claim that it is about.
    """

    triple: Count
    rule: str
    score: Score
    message: str
    quads: tuple[CitedQuad, ...]


@dataclass(frozen=True, slots=True)
class FoundPassage(Record):
    """A passage that search finds for a claim in words, and the quads that have it; it decides nothing."""

    text: str
    score: Score
    quads: tuple[Quad, ...]
