"""The queries that answer questions, and what they found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

from worlds.graph.records import Count, Iri, Node, Record, Score, Spare

Kind: TypeAlias = Literal["lookup", "list", "count", "superlative", "filter", "comparison", "yes or no"]
"""Of a question. An average or a sum is a count."""


@dataclass(frozen=True, slots=True)
class Part(Record):
    """Words of a question and what a query takes them for, with how sure that is, from 0 to 1; None is for nothing.

    Without words it is a predicate that joins two things, which no word of the question names.
    """

    words: str
    iri: Iri | None
    score: Score


@dataclass(frozen=True)
class Answer(Record):
    """The query that answers a question, over all graphs, and what it found.

    `score`, from 0 to 1, is how sure the query is to be the one that was meant; `told` is whether that is enough to
    give its result as the answer. `rows` are the solutions, `count` is how many there are, of which 200 are given;
    `value` is the answer of an ASK.
    """

    kind: Kind
    query: str
    score: Score
    told: bool
    parts: tuple[Part, ...]
    variables: tuple[str, ...] = ()
    rows: tuple[tuple[Node | None, ...], ...] = ()
    count: Count = 0
    value: Annotated[bool | None, Spare] = None
