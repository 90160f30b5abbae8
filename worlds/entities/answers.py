"""The queries that answer questions, what they found, and those that are kept."""

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
    `value` is the answer of an ASK. `kept` is the kept question that the query is of, which is asked as any query is.
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
    kept: Annotated[Iri | None, Spare] = None


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

    `adapted` is its query with what was asked in the place of those parts, where all of them have something.
    """

    iri: Iri
    question: str
    query: str
    score: Score
    differs: tuple[Difference, ...] = ()
    adapted: Annotated[str | None, Spare] = None
