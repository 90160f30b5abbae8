"""A verification: whether a claim holds, with the evidence for and against it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

from worlds.extras.curation.claims.declarations import Rows
from worlds.extras.entities.neighbours import CitedQuad
from worlds.graph.records import Count, Node, Quad, Record, Score
from worlds.graph.tabular import Tabular

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


@dataclass(frozen=True)
class Verification(Record, Tabular):
    """Whether a claim holds in a world at a revision: `outcome` is "supported", "contradicted" or "unknown".

    A claim of several triples (`triples`, with their `outcomes`) is supported where each is, and contradicted where one
    is. `readings` says which names were read as which terms, `unread` what could not be. `paths` are the shortest ways
    between subject and object of what is not decided; `undecided` says what could not be told, and why. `visited` are
    the quads that were read and are not cited, `left_out` is how many more there were. `passages` belong to a claim in
    words; they are found by today's index, and so are no part of what is compared.
    """

    claim: str
    revision: Count
    outcome: Outcome
    triples: tuple[tuple[Node, Node, Node], ...]
    outcomes: tuple[Outcome, ...]
    readings: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    supporting: tuple[Evidence, ...] = ()
    contradicting: tuple[Evidence, ...] = ()
    paths: tuple[tuple[CitedQuad, ...], ...] = ()
    undecided: tuple[str, ...] = ()
    visited: tuple[CitedQuad, ...] = ()
    left_out: Count = 0
    passages: tuple[FoundPassage, ...] = field(default=(), compare=False)

    def __str__(self) -> str:
        lines = [f"{self.outcome} at revision {self.revision}: {self.claim}"]
        lines += [f"  for: {one.message}" for one in self.supporting]
        lines += [f"  against: {one.message}" for one in self.contradicting]
        lines += [f"  not decided: {told}" for told in (*self.unread, *self.undecided)]
        lines += [f"  passage: {one.text}" for one in self.passages]
        return "\n".join(lines)

    @property
    def cited(self) -> tuple[CitedQuad, ...]:
        """All quads that are cited, each once."""
        return tuple(dict.fromkeys(self._cited()))

    def _cited(self) -> Iterator[CitedQuad]:
        for one in (*self.supporting, *self.contradicting):
            yield from one.quads
        for path in self.paths:
            yield from path

    @property
    def _columns(self) -> tuple[str, ...]:
        return ("verdict", "triple", "rule", "score", "message", "quads")

    def to_dicts(self) -> list[dict[str, Any]]:
        """One dict a piece of evidence."""
        return [
            {"verdict": verdict, **one.to_dict()}
            for verdict, found in (("supports", self.supporting), ("contradicts", self.contradicting))
            for one in found
        ]
