"""Answers questions by the queries that are derived from them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice, product
from typing import Any

import pyoxigraph as ox

from worlds.entities.answers import Answer, Kind, Part
from worlds.entities.mentions import Mentions
from worlds.entities.schema import Schema
from worlds.errors import QueryTimeout, WorldsError
from worlds.graph.query.query import Query
from worlds.graph.terms import RDF, to_rdflib
from worlds.quads.dictionary import Dictionary
from worlds.questions.deriving import Deriver, shortened
from worlds.questions.edges import Edges
from worlds.questions.examples import form_of
from worlds.questions.reading import Reading, Vocabulary, may_ask, read
from worlds.questions.words import words_of_language
from worlds.sparql.queries import Queries
from worlds.sql import statements
from worlds.sql.connection import Connection

SURE = 0.6
"""How sure a derived query is, from 0 to 1, from which on its result is told as the answer."""
_SQL = statements("questions.sql")
_NAMED = 0.5  # weight of a name that is taken for one
_MOST = 200  # rows of an answer
_NAMESAKES = 8  # literals that some words may be
_SMALL = 50  # instances of a class that are all told
_OFFERED = 0.25  # how sure a query is at least that may be the one
_SECONDS = 1.0  # in which a query has to be derived
_LARGE = 300_000  # quads from which on a query runs with a limit of time, in a process of its own
_TIMEOUT = 5.0  # seconds
KEPT_LIMITS = {"timeout": 3.0, "max_memory": 1 << 30}
"""Of the query of a kept question: seconds and bytes."""


class _SpentError(Exception):
    """The time for deriving a query is over."""


class Answers:
    """Answers the questions to one world."""

    def __init__(
        self,
        connection: Connection,
        dictionary: Dictionary,
        mentions: Mentions,
        queries: Queries,
        schema: Callable[[], Schema],
        query: Callable[..., Query],
        labels: Callable[[], Sequence[str]],
        prefixes: Callable[[], Mapping[str, str]],
    ) -> None:
        """`query` makes a query, over all graphs unless told otherwise; `labels` are the predicates that give names."""
        self._connection = connection
        self._dictionary = dictionary
        self._mentions = mentions
        self._queries = queries
        self._schema = schema
        self._query = query
        self._labels = labels
        self._prefixes = prefixes
        self._known: tuple[object, Vocabulary] | None = None
        self._edges = Edges(connection, dictionary)
        self._end = 0.0

    def vocabulary(self) -> Vocabulary:
        """The names of classes and predicates, read anew when some come or go, or the world has grown by a tenth."""
        return self._connection.remembered("questions", self._vocabulary)

    def _vocabulary(self) -> Vocabulary:
        (rdf_type,) = self._dictionary.find([ox.NamedNode(RDF + "type")])
        row = self._connection.row(_SQL["names"], _SQL["names"].bind(rdf_type=rdf_type or 0)) or ("", "", 0)
        names, quads = row[:2], int(row[2] or 0)
        if self._known is None or self._known[0] != (names, _size(quads)):
            found = Vocabulary.of(self._schema(), words_of_language(), self._labels())
            self._known = (names, _size(quads)), found
        return self._known[1]

    def read(self, question: str) -> Reading:
        """What the words of a question are."""
        with self._connection.snapshot():
            return read(question, self.vocabulary(), self._entities(question), self._literals)

    def _literals(self, text: str) -> list[ox.Literal]:
        """The literals that are written as a text, or as it is in other letters."""
        forms = dict.fromkeys((text, text.lower(), text.title(), text.capitalize(), text.upper()))
        found = [one for form in forms for one in self._dictionary.literals(form)]
        return found[:_NAMESAKES]

    def answer(self, question: str) -> tuple[Reading, Answer | None]:
        """A question as it is read, and its query with what that found.

        None for a lookup, which facts answer, and where no query is derived.
        """
        if not may_ask(question, words_of_language()):
            return Reading(question, "lookup", []), None
        reading = self.read(question)
        self._end = time.monotonic() + _SECONDS
        try:
            derived = Deriver(self.vocabulary(), self._rows, self._edges).derive(reading)
        except _SpentError:
            return reading, None
        if derived is None or (
            derived.score < SURE and (derived.score < _OFFERED or sum(part.score > 0 for part in derived.parts) < 2)
        ):
            return reading, None
        shown = shortened(derived.query, self._prefixes())
        answer = Answer(derived.kind, shown, derived.score, derived.score >= SURE, tuple(derived.parts))
        return reading, self._run(answer, self._asked(derived.query), ask=derived.query.startswith("ASK"))

    def _run(self, answer: Answer, query: Query, *, ask: bool) -> Answer:
        """The answer with what its query finds, told only if that is something."""
        try:
            if ask:
                return replace(answer, value=bool(self._queries.answer(query)))
            variables, rows, count = self._solutions(query)
        except QueryTimeout:
            return replace(answer, told=False)
        if rows == [(None,) * len(variables)]:  # the sum of nothing
            rows, count = [], 0
        told = answer.told and count > 0
        return replace(answer, told=told, variables=tuple(variables), rows=tuple(rows), count=count)

    def kept(self, kind: Kind, text: str, score: float, iri: Any) -> Answer | None:
        """What the query of a kept question finds, within limits and without network; None where it fails.

        So it does for what gives triples, which are no answer in words.
        """
        try:
            query = self._query(text, union=None, **KEPT_LIMITS)
            form = form_of(query)
            if form in ("SELECT", "ASK"):
                return self._run(Answer(kind, text, score, True, (), kept=iri), query, ask=form == "ASK")
        except WorldsError:
            pass  # checking the kept questions tells it
        return None

    def table(self, reading: Reading) -> Answer | None:
        """All instances of a small class that a question names, with what they have under a predicate that it names."""
        for span, other in product(reading.spans, reading.spans):
            for (kind, sure), (predicate, score) in product(span.classes[:1], other.predicates[:1]):
                if kind.instances > _SMALL or min(sure, score) < SURE or kind.iri not in predicate.subject_classes:
                    continue
                query = f"SELECT DISTINCT ?x ?v {{ ?x a <{kind.iri}> ; <{predicate.iri}> ?v }}"
                variables, rows, count = self._solutions(self._asked(query))
                parts = (Part(span.text, kind.iri, sure), Part(other.text, predicate.iri, score))
                given = (reading.kind, shortened(query, self._prefixes()), 0.0, False, parts, tuple(variables))
                return Answer(*given, tuple(rows), count)
        return None

    def _asked(self, text: str) -> Query:
        """A query over all graphs, with a limit of time where there is much to look at."""
        return self._query(text, timeout=_TIMEOUT if self.vocabulary().schema.quads > _LARGE else None)

    def _solutions(self, query: Query) -> tuple[list[str], list[tuple[Any, ...]], int]:
        """The variables of a query, its first solutions, and how many there are."""
        variables, solutions = self._queries.rows(query)
        rows = [_terms(row) for row in islice(solutions, _MOST)]
        return variables, rows, len(rows) + sum(1 for _ in solutions)

    def _rows(self, select: str) -> list[tuple[Any, ...]]:
        if time.monotonic() > self._end:
            raise _SpentError
        return [_terms(row) for row in self._queries.rows(self._query(select))[1]]

    def _entities(self, question: str) -> list[tuple[int, int, list[Any]]]:
        """The spans that name entities, and which."""
        spans: dict[tuple[int, int], list[int]] = {}
        vocabulary = set(self._dictionary.find([ox.NamedNode(iri) for iri in self.vocabulary().iris]))
        for one in self._mentions.find(question):
            if one.weight >= _NAMED and one.called and one.entity not in vocabulary:
                spans.setdefault((one.start, one.end), []).append(one.entity)
        terms = self._dictionary.terms({one for group in spans.values() for one in group})
        named = (
            (start, end, [terms[one].value for one in group if isinstance(terms[one], ox.NamedNode)])
            for (start, end), group in sorted(spans.items())
        )
        return [one for one in named if one[2]]


def _terms(row: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(None if term is None else to_rdflib(term) for term in row)


def _size(quads: int) -> int:
    """The same for worlds that differ by less than about a tenth."""
    return int(math.log(quads + 1, 1.1))
