"""A link that is missing, or several that one rule explains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from worlds.core.quads.dataset import LINKS_GRAPH
from worlds.extras.curation.findings.findings import Finding
from worlds.graph.records import Count, Iri, Plain, Record, Score


@dataclass(frozen=True, slots=True)
class Example(Record):
    """A link that a rule explains, or that is not there though the rule would have it, and the words that name it."""

    subject: Iri
    predicate: Iri
    object: Plain
    sentence: str


@dataclass(frozen=True, slots=True)
class Link(Finding):
    """A missing link, or all missing links that one rule explains, as a finding of the kind "link".

    `add` has the quads, `remove` the literals in their place. `score` orders the links, and is no probability: how
    surely the entity is meant, times how often a text that names such an entity so goes along with such a link. Of
    several links it is the mean. `text` is what names the entity of the surest, from character `start` up to `end` of
    the literal of `quads[0]`, and `sentence` the words around it.

    `probability` is how likely it is by what the world decided of other links; None where it decided too few.

    `rule` is the rule that explains the `count` links: of its `cases` the link exists in `support`. `examples` are the
    first of the links, `exceptions` the first cases without one. With several links `add` has the rule as well:
    accepting them lets the world follow it. `follows` says that it does already.
    """

    subject: Iri = None
    predicate: Iri = None
    object: Iri = None
    text: str = ""
    start: Count = 0
    end: Count = 0
    sentence: str = ""
    rule: Iri | None = None
    support: Count = 0
    cases: Count = 0
    count: Count = 1
    examples: tuple[Example, ...] = ()
    exceptions: tuple[Example, ...] = ()
    follows: bool = False
    probability: Score | None = None

    @property
    def links(self) -> tuple[tuple[Any, ...], ...]:
        """The quads of the links, without that of the rule."""
        return tuple(quad for quad in self.add if str(quad[3]) != LINKS_GRAPH.value)
