"""Finds the kept questions that are near to one that is asked, and what differs."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import pyoxigraph as ox

from worlds.core.core import Core
from worlds.core.search.words import STOP_WORDS
from worlds.errors import QueryError
from worlds.extras.entities.context import Answer, Difference, KeptQuestion, NearQuestion
from worlds.extras.entities.limits import check_limit
from worlds.extras.entities.neighbours import Neighbour
from worlds.extras.questions.examples import plain, same
from worlds.extras.questions.question_terms import VOCABULARY, Answers, Lexicon, QuestionSpan, tokens, words_of_language
from worlds.graph.query.query import Query
from worlds.graph.query.tokens import Token
from worlds.graph.terms import XSD, to_rdflib

SHOWN = 3
"""Kept questions that a brief shows at most."""
NEAR = 0.45
"""How near a kept question is at least that is shown with another one, from 0 to 1."""
_WORDS = 0.15  # what words count beside the meaning
_NAMES = 0.2  # what the names in two questions count beside the rest
_EXAMINED = 2000  # questions whose meaning is compared, the nearest in words
_ALMOST = 0.99  # how near a question is at most in other words
_VOCABULARIES = (*VOCABULARY, XSD)
_number = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_piece = re.compile(r"[^\s'’]+|['’]\S*")
_EDGES = "?!.,;:\"()[]{}…¿¡«»“”„‘’'"


@dataclass(frozen=True)
class _Term:
    """A term that a question and its query both name: its words, and the token of the query."""

    words: str
    term: Any
    token: Token


@dataclass(frozen=True)
class _Worded:
    """A kept question in one wording: the terms of its query that it names, in order, and the text without them.

    `whole` is whether the question has all that its query has, so that others can stand in the places of these.
    """

    kept: KeptQuestion
    text: str
    query: Query
    terms: tuple[_Term, ...]
    rest: str
    whole: bool

    @cached_property
    def names(self) -> frozenset[str]:
        """The IRIs that it names."""
        return frozenset(one.term.value for one in self.terms if isinstance(one.term, ox.NamedNode))

    @cached_property
    def patterns(self) -> tuple[re.Pattern[str], ...]:
        """Patterns of the same question about other terms, plainly: with as few, and as many words in each place.

        None for one that has no such places.
        """
        said = [plain(one.words) for one in self.terms]
        if not self.whole or not said or len(set(said)) < len(said):
            return ()
        several = "|".join(map(re.escape, sorted(said, key=len, reverse=True)))
        parts = re.split(rf"(?<!\S)({several})(?!\S)", plain(self.text))
        if set(parts[1::2]) != set(said):
            return ()
        found = []
        for many in ("+?", "+"):
            known: set[str] = set()
            text = ""
            for other, name in zip(parts[::2], [*parts[1::2], ""], strict=True):
                place = f"t{said.index(name)}" if name else ""
                text += re.escape(other) + (
                    f"(?P={place})" if name in known else f"(?P<{place}>.{many})" if name else ""
                )
                known.add(name)
            found.append(re.compile(text))
        return tuple(found)

    def others(self, question: str) -> dict[_Term, str]:
        """The words of a plain question in the places of the terms; none where it is another question.

        Neither is it where the places could be filled in two ways.
        """
        found = [match.groupdict() for one in self.patterns if (match := one.fullmatch(question))]
        if not found or found[0] != found[1]:
            return {}
        return {term: found[0][f"t{at}"] for at, term in enumerate(self.terms)}


class _Wordings:
    """All wordings of the kept questions, by how alike they are in words."""

    def __init__(self, all_: Sequence[_Worded], words: Lexicon) -> None:
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


Cosines: TypeAlias = Callable[[str, Sequence[str]], Mapping[str, float]]
Known: TypeAlias = Callable[..., Mapping[str, Neighbour]]


@dataclass(eq=False, repr=False)
class Nearest:
    """The kept questions of one world, by how near they are to others."""

    _core: Core
    _kept: Callable[[], Sequence[KeptQuestion]]
    _answers: Answers
    _cosines: Cosines  # how near words are in meaning
    _known: Known  # describes entities
    _called: Callable[[str], Sequence[Any]]  # the entities of a name
    _read: tuple[Sequence[KeptQuestion], list[tuple[KeptQuestion, Query]]] | None = None

    def find(self, question: str, limit: int = SHOWN, least: float = 0.0) -> tuple[NearQuestion, ...]:
        """The nearest kept questions, the nearest first, with their scores and differences."""
        if not isinstance(question, str):
            raise TypeError(f"a question must be a str, not {type(question).__name__}")
        check_limit(limit)
        wordings: _Wordings = self._core.connection.remembered("kept questions", self._wordings)
        if not wordings.all:
            return ()
        return self._ranked(question, wordings, limit, least)

    def _ranked(self, question: str, wordings: _Wordings, limit: int, least: float) -> tuple[NearQuestion, ...]:
        spans = [QuestionSpan(question[start:end], iris) for start, end, iris in self._answers.entities(question)]
        named = {iri for span in spans for iri in span.entities}
        rest = _without(question, [span.text for span in spans])
        spans += [QuestionSpan(found) for found in _number.findall(rest)]
        rest = _without(rest, [span.text for span in spans if not span.entities])
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
        """The wordings of all kept questions, and the terms named in them."""
        stored = self._kept()
        if self._read is None or self._read[0] is not stored:
            self._read = stored, [(one, Query(one.query)) for one in stored]  # which keep their tokens
        kept = self._read[1]
        iris = (
            {iri for _, query in kept for iri in _iris(query).values()} - self._answers.vocabulary().iris
            if kept
            else ()
        )
        called = {iri: one.label for iri, one in self._known(list(map(ox.NamedNode, iris))).items()} if iris else {}
        found = []
        for one, query in kept:
            for text in (one.question, *one.wordings):
                terms = _terms(query, text, called)
                rest = _without(text, [term.words for term in terms])
                found.append(_Worded(one, text, query, terms, rest, self._whole(query, terms)))
        return _Wordings(found, words_of_language())

    def _whole(self, query: Query, terms: Sequence[_Term]) -> bool:
        """Whether a query has no entity, number or text but some."""
        named = {one.term for one in terms if isinstance(one.term, ox.NamedNode)}
        written = {one.token.text for one in terms}
        iris = {token: iri for token, iri in _iris(query).items() if not iri.startswith(_VOCABULARIES)}
        vocabulary = self._answers.vocabulary().iris
        declaring = False
        for token, before in zip(_tokens(query), [None, *_tokens(query)], strict=False):
            declaring = token.is_word("PREFIX", "BASE") or (declaring and before is not None and before.kind != "iri")
            if token in iris and not declaring and iris[token] not in vocabulary:
                if ox.NamedNode(iris[token]) not in named:
                    return False
            elif token.kind in ("string", "number") and token.text not in written:
                return False
        return True

    def answer(self, question: str) -> tuple[Answer | None, tuple[NearQuestion, ...]]:
        """The answer by the query that is kept for a question, and the kept questions near to it.

        It is that of the same question, or of one that is the same but for the exact names in it; where several are
        kept for it that differ, it is none.
        """
        wordings: _Wordings = self._core.connection.remembered("kept questions", self._wordings)
        if not wordings.all:
            return None, ()
        near = self._ranked(question, wordings, SHOWN, NEAR)
        same_as = [one for one in wordings.all if same(one.text, question)]
        same_as = [one for one in same_as if one.text == question] or same_as
        fits = {one.kept.query: one.kept.iri for one in same_as}
        if not fits:
            adapted = ((self._adapted(one, question), one.kept.iri) for one in wordings.all)
            fits = {text: iri for text, iri in adapted if text is not None}
        found = self._answers.kept(*next(iter(fits.items()))) if len(fits) == 1 else None
        return found, tuple(one for one in near if found is None or one.iri != found.kept)

    # -- what differs -------------------------------------------------------------------------------------------------

    def _near(self, question: str, spans: Sequence[QuestionSpan], score: float, one: _Worded) -> NearQuestion:
        asked = [span for span in spans if not any(_is(span, term) for term in one.terms)]
        differs = []
        for term in one.terms:
            if any(_is(span, term) for span in spans) or term.words.casefold() in question.casefold():
                continue
            span = next((span for span in asked if _meant(span, term) is not None), None)
            here = (None, None) if span is None else (span.text, to_rdflib(_meant(span, term)))
            differs.append(Difference(term.words, to_rdflib(term.term), *here))
            asked = [other for other in asked if other is not span]
        adapted = None if score == 1.0 else self._adapted(one, question)
        return NearQuestion(one.kept.iri, one.kept.question, one.kept.query, score, tuple(differs), adapted)

    def _adapted(self, one: _Worded, question: str) -> str | None:
        """The query of a kept question with the things in it that another question names in the places of its own."""
        edits = []
        for term, words in one.others(plain(question)).items():
            written = self._meant_by(term, _as_asked(question, words))
            places = _written(one.query, term)
            if written is None or (term.token.kind == "number" and len(places) > 1):  # which may say several things
                return None
            edits += [(token.start, token.end, written) for token in places]
        return one.query.spliced(sorted(edits)).text if edits else None

    def _meant_by(self, term: _Term, asked: Sequence[str]) -> str | None:
        """The text that replaces a term in a query: the one thing that words name exactly, and of its sort."""
        if term.token.kind == "number":
            return next(filter(_number.fullmatch, asked), None)
        if term.token.kind == "string":
            forms = {form for words in asked if (form := self._answers.literal(words)) is not None}
            return str(ox.Literal(forms.pop())) if len(forms) == 1 else None
        called = next(filter(None, map(self._called, asked)), ())
        if len(called) != 1 or not isinstance(called[0], ox.NamedNode):
            return None
        types = [set(one.types) for one in self._known([term.term, called[0]]).values()]
        alike = called[0] == term.term or (len(types) == 2 and types[0] & types[1])
        return str(called[0]) if alike else None


def _as_asked(question: str, words: str) -> list[str]:
    """How some words of a plain question are written in it: as they stand, and without the marks at their edges."""
    pieces = [found.span() for found in _piece.finditer(question)]
    runs = (question[start:end] for at, (start, _) in enumerate(pieces) for _, end in pieces[at:])
    found = [run for run in runs if plain(run) == words]
    return list(dict.fromkeys((*found, *(run.strip(_EDGES) for run in found))))


def _tokens(query: Query) -> list[Token]:
    """The tokens of a query; none if it has an error, which is reported when it runs."""
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
    """The entities, by the names they are `called`, and values of a query that its question names, in its order."""
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


def _is(span: QuestionSpan, term: _Term) -> bool:
    same_words = span.text.casefold() == term.words.casefold()
    return same_words or (isinstance(term.term, ox.NamedNode) and term.term.value in span.entities)


def _meant(span: QuestionSpan, term: _Term) -> Any:
    """The meaning of words of a question, if it can replace a term; else None."""
    if isinstance(term.term, ox.NamedNode):
        return ox.NamedNode(span.entities[0]) if span.entities else None
    return ox.Literal(span.text) if term.token.kind == "number" and not span.entities else None
