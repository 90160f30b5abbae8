"""The outcome of each fact that is given by name, and the receipt of all."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, TypeAlias

import pyoxigraph as ox

from worlds.extras.entities.names import Candidate
from worlds.graph.records import Iri, Number, Quad, Record, Spare
from worlds.graph.terms import to_rdflib

Became: TypeAlias = Literal["written", "known", "proposed", "refused"]


@dataclass(frozen=True, slots=True)
class Unsure(Record):
    """An ambiguous name in a fact: its part, and the candidates, the likeliest first.

    `near` are predicates and classes that it may be, and entities that are written alike, of which no chance is known.
    """

    part: Literal["subject", "predicate", "object"]
    name: str
    candidates: tuple[Candidate, ...] = ()
    near: Annotated[tuple[Iri, ...], Spare] = ()


@dataclass(frozen=True, slots=True)
class ToldFact(Record):
    """The outcome of a fact: "written", "known" (it stood there), "proposed" (`proposal` waits) or "refused".

    `quad` is how it was read, None where it could not be; `new` are the entities that were made for it, `unsure` the
    names that were not sure, and `why` is the reason for all but what was written.
    """

    fact: tuple[str, str, str]
    became: Became
    quad: Quad | None
    new: tuple[Iri, ...] = ()
    unsure: tuple[Unsure, ...] = ()
    why: str | None = None
    proposal: Annotated[Number | None, Spare] = None


@dataclass(frozen=True)
class Receipt(Record):
    """The outcomes of the given facts, in their order; `revision` wrote the certain new ones."""

    revision: Number | None
    facts: tuple[ToldFact, ...]
    notes: tuple[str, ...] = ()

    def of(self, *became: Became) -> list[ToldFact]:
        """The facts that became one of these."""
        return [one for one in self.facts if one.became in became]

    def __str__(self) -> str:
        counts = {name: len(self.of(name)) for name in ("written", "known", "proposed", "refused")}
        return ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "nothing was told"


@dataclass
class Fact:
    """A fact as it is read; `times` are the times of `World.facts.state`."""

    given: tuple[str, str, str]
    times: dict[str, Any] = field(default_factory=dict)
    parts: list[Any] = field(default_factory=lambda: [None, None, None])
    about: list[tuple[Any, Any, Any]] = field(default_factory=list)  # triples of entities that are new
    new: list[Any] = field(default_factory=list)
    unsure: list[Unsure] = field(default_factory=list)
    why: list[str] = field(default_factory=list)

    @property
    def triple(self) -> tuple[Any, Any, Any] | None:
        """Its terms; None where one is missing."""
        return None if None in self.parts else tuple(self.parts)

    def told(self, became: Became, graph: Any, **more: Any) -> ToldFact:
        """The outcome of this fact."""
        named = None if isinstance(graph, ox.DefaultGraph) else to_rdflib(graph)
        quad = None if self.triple is None else (*map(to_rdflib, self.triple), named)
        why = "; ".join(self.why) or None
        return replace(
            ToldFact(self.given, became, quad, tuple(map(to_rdflib, self.new)), tuple(self.unsure), why), **more
        )
