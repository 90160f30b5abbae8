"""Finds the kept questions that are near to one that is asked, and what differs."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyoxigraph as ox
from rdflib import URIRef

from worlds.entities.answers import Answer, Difference, KeptQuestion, NearQuestion
from worlds.entities.limits import check_limit
from worlds.entities.neighbours import Neighbour
from worlds.errors import QueryError
from worlds.graph.query.query import Query
from worlds.graph.query.tokens import Token
from worlds.graph.terms import to_rdflib
from worlds.questions.answering import Answers
from worlds.questions.examples import same
from worlds.questions.reading import Reading, Span, may_ask
from worlds.questions.words import Words, tokens, words_of_language
from worlds.search.words import STOP_WORDS

SHOWN = 3
"""Kept questions that a brief shows at most."""
NEAR = 0.45
"""How near a kept question is at least that is shown with another one, from 0 to 1."""
_WORDS = 0.15  # what words count beside the meaning
_NAMES = 0.2  # what the names in two questions count beside the rest
_EXAMINED = 2000  # questions whose meaning is compared, the nearest in words
_ALMOST = 0.99  # how near a question is at most in other words
_SURE = 0.9  # how sure a query is with another entity in it


@dataclass(frozen=True)
class _Term:
    """What a question and its query both name: in which words, and the token of the query."""

    words: str
    term: Any
    token: Token


@dataclass(frozen=True)
class _Worded:
    """A kept question in one of its wordings: what its query names, too, in order, and the text without these names."""

    kept: KeptQuestion
    text: str
    query: Query
    terms: tuple[_Term, ...]
    rest: str

    @cached_property
    def names(self) -> frozenset[str]:
        """The IRIs that it names."""
        return frozenset(one.term.value for one in self.terms if isinstance(one.term, ox.NamedNode))


class _Wordings:
    """All wordings of the kept questions, by how alike they are in words."""

    def __init__(self, all_: Sequence[_Worded], words: Words) -> None:
        self.all = all_
        self._words = words
        self._bags = [self._bag(f"{one.rest} {' '.join(one.kept.keywords)}") for one in all_]
        held = Counter(word for bag in self._bags for word in bag)
        self._weights = {word: math.log(1 + len(self._bags) / count) for word, count in held.items()}
        self._unknown = math.log(1 + len(self._bags))
        self._lengths = [self._length(bag) for bag in self._bags]

    def _bag(self, text: str) -> frozenset[str]:
        plain = [one.word for one in tokens(text)]
        said = [word for word in plain if word not in STOP_WORDS and word not in self._words.says_nothing] or plain
        return frozenset(map(self._words.root, said))

    def _length(self, bag: frozenset[str]) -> float:
        return math.sqrt(sum(self._weights.get(word, self._unknown) ** 2 for word in bag))

    def likeness(self, question: str) -> list[float]:
        """How alike the words of each are, from 0 to 1: the cosine by inverse document frequencies."""
        bag = self._bag(question)
        own = self._length(bag)
        shared = [sum(self._weights[word] ** 2 for word in bag & other) for other in self._bags]
        return [both / (own * other) if both else 0.0 for both, other in zip(shared, self._lengths, strict=True)]


class Nearest:
    """The kept questions of one world, by how near they are to others."""

    def __init__(
        self,
        kept: Callable[[], Sequence[KeptQuestion]],
        remembered: Callable[[str, Callable[[], Any]], Any],
        answers: Answers,
        cosines: Callable[[str, Sequence[str]], Mapping[str, float]],
        known: Callable[..., Mapping[str, Neighbour]],
    ) -> None:
        """`remembered` keeps a value while the world stays as it is, `cosines` tells how near words are in meaning.

        `known` describes entities.
        """
        self._kept = kept
        self._remembered = remembered
        self.answers = answers
        self._cosines = cosines
        self._known = known
        self._read: tuple[Sequence[KeptQuestion], list[tuple[KeptQuestion, Query]]] | None = None

    def find(self, question: str, limit: int = SHOWN, least: float = 0.0) -> tuple[NearQuestion, ...]:
        """The nearest kept questions, the nearest first, with how near and what differs."""
        if not isinstance(question, str):
            raise TypeError(f"a question is a str, not {type(question).__name__}")
        check_limit(limit)
        wordings: _Wordings = self._remembered("kept questions", self._wordings)
        if not wordings.all:
            return ()
        return self._ranked(question, self.answers.read(question), wordings, limit, least)

    def _ranked(
        self, question: str, reading: Reading, wordings: _Wordings, limit: int, least: float
    ) -> tuple[NearQuestion, ...]:
        spans = [span for span in reading.spans if span.kind in ("entity", "number", "value")]
        named = {str(iri) for span in spans if span.kind == "entity" for iri in span.entities}
        rest = _without(question, [span.text for span in spans])
        alike = wordings.likeness(rest)
        places = sorted(range(len(alike)), key=lambda at: -alike[at])[:_EXAMINED]
        near = self._cosines(rest, [wordings.all[at].rest for at in places])
        best: dict[Any, tuple[float, _Worded]] = {}
        for at in places:
            one = wordings.all[at]
            score = _WORDS * alike[at] + (1 - _WORDS) * max(near[one.rest], 0.0) if near else alike[at]
            shared = len(one.names & named) / len(one.names) if one.names else float(not named)
            score = (1 - _NAMES) * score + _NAMES * shared
            score = 1.0 if same(one.text, question) else min(score, _ALMOST)
            if score >= least and score > best.get(one.kept.iri, (-1.0,))[0]:
                best[one.kept.iri] = score, one
        chosen = sorted(best.values(), key=lambda row: (-row[0], row[1].kept.iri))[:limit]
        return tuple(self._near(question, spans, *row) for row in chosen)

    def _wordings(self) -> _Wordings:
        """The wordings of all kept questions, and what they name."""
        stored = self._kept()
        if self._read is None or self._read[0] is not stored:
            self._read = stored, [(one, Query(one.query)) for one in stored]  # which keep their tokens
        kept = self._read[1]
        iris = (
            {iri for _, query in kept for iri in _iris(query).values()} - self.answers.vocabulary().iris if kept else ()
        )
        called = {iri: one.label for iri, one in self._known(list(map(ox.NamedNode, iris))).items()} if iris else {}
        found = []
        for one, query in kept:
            for text in (one.question, *one.wordings):
                terms = _terms(query, text, called)
                found.append(_Worded(one, text, query, terms, _without(text, [term.words for term in terms])))
        return _Wordings(found, words_of_language())

    def answer(self, question: str) -> tuple[Reading, Answer | None, tuple[NearQuestion, ...]]:
        """A question as it is read, its query with what that found, and the kept questions near to it.

        The query is that of the same question, if it is kept, or with another entity in it; else it is derived.
        """
        wordings: _Wordings = self._remembered("kept questions", self._wordings)
        reading = self.answers.read(question) if wordings.all else None
        near = () if reading is None else self._ranked(question, reading, wordings, SHOWN, NEAR)
        if reading is None or not near:
            return *self.answers.answer(question), ()
        best = near[0]
        query = best.query if best.score == 1.0 else best.adapted
        if query is not None:
            kind = reading.kind if may_ask(question, words_of_language()) else "lookup"
            found = self.answers.kept(kind, query, 1.0 if best.score == 1.0 else _SURE, best.iri)
            if found is not None:
                return reading, found, near[1:]
        return *self.answers.answer(question), near

    # -- what differs -------------------------------------------------------------------------------------------------

    def _near(self, question: str, spans: Sequence[Span], score: float, one: _Worded) -> NearQuestion:
        asked = [span for span in spans if not any(_is(span, term) for term in one.terms)]
        terms = [term for term in one.terms if not any(_is(span, term) for span in spans)]
        terms = [term for term in terms if term.words.casefold() not in question.casefold()]
        whole = len(asked) == len(terms) > 0
        differs, edits = [], []
        for term in terms:
            span = next((span for span in asked if _meant(span, term) is not None), None)
            value = None if span is None else _meant(span, term)
            here = (None, None) if span is None or value is None else (span.text, to_rdflib(value))
            differs.append(Difference(term.words, to_rdflib(term.term), *here))
            if span is None or value is None or len(span.entities) > 1:
                whole = False
            else:
                asked.remove(span)
                places = _written(one.query, term)
                written = value.value if term.token.kind == "number" else str(value)
                edits += [(token.start, token.end, written) for token in places]
                whole = whole and (len(places) == 1 or term.token.kind != "number")  # which may say several things
        adapted = None
        if whole and self._only(one.text, question, differs) and self._alike(differs):
            adapted = one.query.spliced(sorted(edits)).text
        return NearQuestion(one.kept.iri, one.kept.question, one.kept.query, score, tuple(differs), adapted)

    def _alike(self, differs: Sequence[Difference]) -> bool:
        """Whether each entity has one in its place that has a class of its own."""
        pairs = [(str(one.term), str(one.value)) for one in differs if isinstance(one.term, URIRef)]
        known = self._known([ox.NamedNode(iri) for pair in pairs for iri in pair])
        types = [[set(known[iri].types) if iri in known else set() for iri in pair] for pair in pairs]
        return all(one & other for one, other in types)

    @staticmethod
    def _only(text: str, question: str, differs: Sequence[Difference]) -> bool:
        """Whether two questions are the same but for what differs."""
        for at, one in enumerate(differs):
            text = text.replace(one.words, f"thing{at}", 1)
            question = question.replace(one.asked or " ", f"thing{at}", 1)
        return same(text, question)


def _tokens(query: Query) -> list[Token]:
    """The tokens of a query; none where it has an error, which is told when it is asked."""
    try:
        return query.tokens
    except QueryError:
        return []


def _iris(query: Query) -> dict[Token, str]:
    """The tokens of a query that name IRIs, and which."""
    found: dict[Token, str] = {}
    for token in _tokens(query):
        if token.kind in ("iri", "name") and (iri := query.iri(token)) is not None:
            with suppress(ValueError):  # it is none, which is told when it is asked
                found[token] = ox.NamedNode(iri).value
    return found


def _written(query: Query, term: _Term) -> list[Token]:
    """Where a query has a term."""
    if isinstance(term.term, ox.NamedNode):
        return [token for token, iri in _iris(query).items() if iri == term.term.value]
    return [token for token in query.tokens if token.kind == term.token.kind and token.text == term.token.text]


def _terms(query: Query, text: str, called: Mapping[str, str]) -> tuple[_Term, ...]:
    """The entities, by what they are `called`, and the values of a query that its question names, in its order."""
    iris = _iris(query)
    plain = text.casefold()
    found: dict[Any, tuple[int, _Term]] = {}
    for token in _tokens(query):
        term: Any
        iri = iris.get(token)
        if iri is not None and iri in called:
            words, term = called[iri], ox.NamedNode(iri)
        elif token.kind in ("string", "number"):
            words = token.text.strip(token.text[0]) if token.kind == "string" else token.text
            term = ox.Literal(words)
        else:
            continue
        written = re.search(rf"(?<!\w){re.escape(words.casefold())}(?!\w)", plain) if words else None
        if written is not None:
            found.setdefault(term, (written.start(), _Term(text[slice(*written.span())], term, token)))
    return tuple(term for _, term in sorted(found.values(), key=lambda row: row[0]))


def _without(text: str, names: Iterable[str]) -> str:
    """A text without some names."""
    for name in names:
        text = text.replace(name, " ")
    return " ".join(text.split())


def _is(span: Span, term: _Term) -> bool:
    same_words = span.text.casefold() == term.words.casefold()
    return same_words or (isinstance(term.term, ox.NamedNode) and term.term.value in span.entities)


def _meant(span: Span, term: _Term) -> Any:
    """What words of a question mean that can stand in the place of a term; None for nothing."""
    if span.kind == "entity" and isinstance(term.term, ox.NamedNode):
        return ox.NamedNode(span.entities[0])
    if span.kind == "number" and term.token.kind == "number":
        return ox.Literal(str(span.value))
    return ox.Literal(span.entities[0].value) if span.kind == "value" and term.token.kind == "string" else None
