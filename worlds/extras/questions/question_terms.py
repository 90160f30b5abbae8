"""The terms of one world for the words of questions, and the results of the queries of kept questions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import islice
from typing import Any

import pyoxigraph as ox

from worlds.core.core import Core
from worlds.errors import QueryTimeout, WorldsError
from worlds.extras.entities.context import Answer
from worlds.extras.entities.mentions import MentionFinder
from worlds.extras.entities.names import ways
from worlds.extras.entities.schema import Schema
from worlds.extras.questions.analysis import QuestionSpan, QuestionVocabulary, read, words_of_language
from worlds.extras.questions.examples import form_of
from worlds.graph.query.query import Query
from worlds.graph.terms import RDF, to_rdflib
from worlds.sql import statements

_SQL = statements("questions.sql")
_NAMED = 0.5  # weight of a name that is taken for one
_MOST = 200  # rows of an answer
KEPT_LIMITS = {"timeout": 3.0, "max_memory": 1 << 30}
"""Of the query of a kept question: seconds and bytes."""


class Answers:
    """Reads the questions to one world, and asks the queries that are kept with some."""

    def __init__(
        self, core: Core, mentions: MentionFinder, schema: Callable[[], Schema], query: Callable[..., Query]
    ) -> None:
        """`query` makes a query."""
        self._core, self._connection, self._dictionary = core, core.connection, core.dictionary
        self._mentions = mentions
        self._schema = schema
        self._query = query
        self._known: tuple[object, QuestionVocabulary] | None = None

    def vocabulary(self) -> QuestionVocabulary:
        """The names of classes and predicates, read anew when some come or go, or the world has grown by a tenth."""
        return self._connection.remembered("questions", self._vocabulary)

    def _vocabulary(self) -> QuestionVocabulary:
        (rdf_type,) = self._dictionary.find([ox.NamedNode(RDF + "type")])
        row = self._connection.row(_SQL["names"], _SQL["names"].bind(rdf_type=rdf_type or 0)) or ("", "", 0)
        names, quads = row[:2], int(row[2] or 0)
        if self._known is None or self._known[0] != (names, _size(quads)):
            labels = self._core.chunks.policy.predicates("label", "alias")
            found = QuestionVocabulary.of(self._schema(), words_of_language(), labels)
            self._known = (names, _size(quads)), found
        return self._known[1]

    def read(self, question: str) -> list[QuestionSpan]:
        """The words of a question that name entities, classes and predicates."""
        return read(question, self.vocabulary(), self.entities(question))

    def entities(self, question: str) -> list[tuple[int, int, list[str]]]:
        """The spans of a question that name entities, as characters, and the IRIs that each may name."""
        spans: dict[tuple[int, int], list[int]] = {}
        with self._connection.snapshot():
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

    def literal(self, text: str) -> str | None:
        """The one lexical form of the world's literals that is written as a text is, or as it is in other cases."""
        found = [form for form in ways(text) if self._dictionary.literals(form)]
        return text if text in found else found[0] if len(found) == 1 else None

    def kept(self, text: str, iri: Any) -> Answer | None:
        """The result of a kept question's query, within limits and without network; None where it fails.

        So it does for what gives triples, which are no answer in words.
        """
        try:
            query = self._query(text, union=None, **KEPT_LIMITS)
            form = form_of(query)
            if form in ("SELECT", "ASK"):
                return self._run(Answer(text, True, iri), query, ask=form == "ASK")
        except WorldsError:
            pass  # checking the kept questions tells it
        return None

    def _run(self, answer: Answer, query: Query, *, ask: bool) -> Answer:
        """The answer with the results of its query, if there are any."""
        try:
            if ask:
                return replace(answer, value=bool(self._core.queries.answer(query)))
            variables, solutions = self._core.queries.rows(query)
            rows = [_terms(row) for row in islice(solutions, _MOST)]
            count = len(rows) + sum(1 for _ in solutions)
        except QueryTimeout:
            return replace(answer, told=False)
        if rows == [(None,) * len(variables)]:  # the sum of nothing
            rows, count = [], 0
        return replace(answer, told=count > 0, variables=tuple(variables), rows=tuple(rows), count=count)


def _terms(row: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(None if term is None else to_rdflib(term) for term in row)


def _size(quads: int) -> int:
    """The same for worlds that differ by less than about a tenth."""
    return int(math.log(quads + 1, 1.1))
