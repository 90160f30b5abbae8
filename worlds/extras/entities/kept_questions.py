"""The questions that are kept with their queries, and what these found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from worlds.graph.records import Count, Iri, Node, Record, Score, Spare


@dataclass(frozen=True)
class Answer(Record):
    """The query of a kept question, with its results.

    `told` is whether that is given as the answer: not where it is nothing, or took too long. `rows` are the solutions,
    `count` is how many there are, of which 200 are given; `value` is the answer of an ASK. `kept` is the question.
    """

    query: str
    told: bool
    kept: Iri
    variables: tuple[str, ...] = ()
    rows: tuple[tuple[Node | None, ...], ...] = ()
    count: Count = 0
    value: Annotated[bool | None, Spare] = None


@dataclass(frozen=True, slots=True)
class KeptQuestion(Record):
    """A question that is kept with the SPARQL query that answers it.

    `wordings` are other words for the question, and `keywords` what it is about.
    """

    iri: Iri
    question: str
    query: str
    description: Annotated[str | None, Spare] = None
    wordings: Annotated[tuple[str, ...], Spare] = ()
    keywords: Annotated[tuple[str, ...], Spare] = ()


@dataclass(frozen=True, slots=True)
class Difference(Record):
    """A part of a kept question that another one has something else for: its words, and the term in the query.

    `asked` are the words of the other question, `value` is the term that they mean; None where it has nothing for it.
    """

    words: str
    term: Node
    asked: str | None
    value: Node | None


@dataclass(frozen=True, slots=True)
class NearQuestion(Record):
    """A kept question near to one that is asked. `score`, from 0 to 1, is how near; `differs` are the parts that do.

    `adapted` is its query with what was asked in the place of those parts, where the question is the same but for
    these, and each is the exact name of one thing of the same sort.
    """

    iri: Iri
    question: str
    query: str
    score: Score
    differs: tuple[Difference, ...] = ()
    adapted: Annotated[str | None, Spare] = None
