"""The words of questions, the terms of a world that they name, and the results of the queries of kept questions."""

from __future__ import annotations

import datetime
import math
import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from importlib import resources
from itertools import islice
from typing import Any

import pyoxigraph as ox

from worlds.core.core import Core
from worlds.core.search.words import STOP_WORDS
from worlds.core.texts.profiles import words_of
from worlds.errors import QueryTimeout, WorldsError
from worlds.extras.entities.context import Answer
from worlds.extras.entities.mentions import MentionFinder
from worlds.extras.entities.names import ways
from worlds.extras.entities.schema import ClassSummary, PredicateSummary, Schema
from worlds.extras.questions.examples import form_of
from worlds.graph.query.query import Query
from worlds.graph.terms import RDF, to_rdflib
from worlds.sql import statements

_TOKEN = re.compile(r"\d+(?:[.,]\d+)*[^\W\d_]*|[^\W\d_]+(?:['’][^\W\d_]+)?")
_ENDINGS = ("ing", "ed", "er", "or", "es", "s", "e")
_LEAST_STEM = 3  # letters of a stem
_MOST_WORDS = 100  # of a question that are read
_ISO = re.compile(r"\d{4}-\d\d(?:-\d\d)?(?![\d-])")
_DAY = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?")
_YEAR = re.compile(r"\d{4}")
_DAYS = len("1990-05-03")
_KIN = 5  # letters that two words with one root share at least
_PARTICLES = frozenset(
    ["has", "have", "is", "of", "by", "in", "at", "to", "the", "a", "an", "for", "from", "on", "with", "was", "does",
     "are", "were", "did", "do"]
)  # fmt: skip
_LONGEST = 4  # words of a name
_LEAST = 0.7  # how well a word of a question fits a name at least
_RDFS = "http://www.w3.org/2000/01/rdf-schema#"
VOCABULARY = (RDF, _RDFS, "http://www.w3.org/2002/07/owl#", "http://www.w3.org/ns/shacl#")
"""Namespaces of what no question asks for."""
_SQL = statements("questions.sql")
_NAMED = 0.5  # weight of a name that is taken for one
_MOST = 200  # rows of an answer
KEPT_LIMITS = {"timeout": 3.0, "max_memory": 1 << 30}
"""Of the query of a kept question: seconds and bytes."""


@dataclass(frozen=True, slots=True)
class QuestionWord:
    """A word or a number of a question, in small letters, and where it stands."""

    word: str
    start: int
    end: int


@dataclass(frozen=True)
class Lexicon:
    """The words of one language."""

    forms: Mapping[str, str]
    says_nothing: frozenset[str]
    months: Mapping[str, int]
    alike: Mapping[str, frozenset[int]]

    def stem(self, word: str) -> str:
        """The stem that the forms of a word share."""
        word = unicodedata.normalize("NFKC", word).casefold()
        word = self.forms.get(word, word)
        if word.endswith("ies") and len(word) > _LEAST_STEM + 2:
            return word[:-3] + "y"
        if word.endswith(("sses", "xes", "ches", "shes", "zes")):
            return word[:-2]
        if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > _LEAST_STEM:
            word = word[:-1]
        return self.forms.get(word, word)

    def root(self, word: str) -> str:
        """The stem without the ending of a verb or of who does it: "directed", "director" and "directs" have one."""
        stem = self.stem(word)
        for ending in _ENDINGS:
            if stem.endswith(ending) and len(stem) - len(ending) >= _LEAST_STEM:
                return stem[: -len(ending)]
        return stem

    def keys(self, word: str) -> set[object]:
        """The keys that a word shares with every word that is kindred to it, and with some others."""
        root = self.root(word)
        start = {("begins", root[:_KIN])} if len(root) >= _KIN else set()
        return {self.stem(word), ("root", root), *self.alike.get(root, ()), *start}

    def kinship(self, one: str, other: str) -> float:
        """How surely two words mean the same by their letters: 1 for one stem, less for one root, 0 for others."""
        if self.stem(one) == self.stem(other):
            return 1.0
        first, second = self.root(one), self.root(other)
        if first == second:
            return 0.95
        if self.alike.get(first, frozenset()) & self.alike.get(second, frozenset()):
            return 0.9
        shared = 0
        for a, b in zip(first, second, strict=False):
            if a != b:
                break
            shared += 1
        return 0.8 if shared >= _KIN and shared == min(len(first), len(second)) else 0.0


def tokens(text: str) -> list[QuestionWord]:
    """The words and numbers of a text, the first 100; the rest is not read."""
    return [
        QuestionWord(unicodedata.normalize("NFC", found[0]).casefold(), *found.span())
        for found in islice(_TOKEN.finditer(text), _MOST_WORDS)
    ]


@cache
def words_of_language(name: str = "english") -> Lexicon:
    """Read the table of a language."""
    told = tomllib.loads(resources.files(__package__).joinpath(f"{name}.toml").read_text("utf-8"))
    plain = Lexicon(told["forms"], frozenset(), {}, {})
    alike: dict[str, frozenset[int]] = {}
    for number, group in enumerate(told["alike"]["groups"]):
        for word in group:
            root = plain.root(word)
            alike[root] = alike.get(root, frozenset()) | {number}
    months = {name: place for place, name in enumerate(told["months"]["names"], 1)}
    return Lexicon(told["forms"], frozenset(told["says_nothing"]["words"]), months, alike)


def date_at(words: Lexicon, told: Sequence[QuestionWord], text: str, at: int) -> tuple[str, int] | None:
    """A day or a month that begins at a token, as ISO 8601 writes it, and its length in tokens.

    As in 1990-05-03, 1990-05, 3 May 1990, the 3rd of May 1990, May 3, 1990 and May 1990.
    """
    if found := _ISO.match(text, told[at].start):
        iso, end = found[0], found.end()
        return (iso, sum(found.start() <= one.start < end for one in told)) if _is_date(iso) else None
    plain = [one.word for one in told[at : at + 4]]
    day = _DAY.fullmatch(plain[0])
    rest = plain[1:] if day else plain
    rest = rest[1:] if day and rest[:1] == ["of"] else rest
    if not rest or rest[0] not in words.months:
        return None
    month, rest = words.months[rest[0]], rest[1:]
    if not day and len(rest) > 1 and (day := _DAY.fullmatch(rest[0])):
        rest = rest[1:]
    if not rest or not _YEAR.fullmatch(rest[0]):
        return None
    iso = f"{rest[0]}-{month:02}" + (f"-{int(day[1]):02}" if day else "")
    return (iso, len(plain) - len(rest) + 1) if _is_date(iso) else None


def _is_date(iso: str) -> bool:
    try:
        datetime.date.fromisoformat(iso if len(iso) == _DAYS else f"{iso}-01")
    except ValueError:
        return False
    return True


@dataclass(frozen=True)
class QuestionVocabulary:
    """The names of a world's classes and predicates, by which the words of questions are read."""

    schema: Schema
    words: Lexicon
    classes: Sequence[tuple[ClassSummary, Sequence[tuple[str, ...]]]]
    predicates: Sequence[tuple[PredicateSummary, Sequence[tuple[str, ...]]]]

    @classmethod
    def of(cls, schema: Schema, words: Lexicon, labels: Iterable[str]) -> QuestionVocabulary:
        """`labels` are the IRIs of predicates that give names, of which no question asks."""
        left_out = frozenset(labels)

        def named(one: Any) -> list[tuple[str, ...]]:
            names = [words_of(str(one.iri)), *([one.label] if one.label else [])]
            found = (tuple(w for t in tokens(name) if (w := t.word) not in _PARTICLES) for name in names)
            return [name for name in dict.fromkeys(found) if name]

        def own(iri: object) -> bool:
            return not str(iri).startswith(VOCABULARY) and str(iri) not in left_out

        return cls(
            schema,
            words,
            [(one, named(one)) for one in schema.classes if own(one.iri)],
            [(one, named(one)) for one in schema.predicates if own(one.iri)],
        )

    @cached_property
    def iris(self) -> frozenset[str]:
        """The IRIs of all classes and predicates."""
        return frozenset(str(one.iri) for group in (self.schema.classes, self.schema.predicates) for one in group)

    @cached_property
    def _index(self) -> dict[object, tuple[set[int], set[int]]]:
        """Key of kindred words → the places of classes and of predicates that have such a word."""
        index: dict[object, tuple[set[int], set[int]]] = {}
        for side, group in enumerate((self.classes, self.predicates)):
            for at, (_, names) in enumerate(group):
                for key in {key for name in names for word in name for key in self.words.keys(word)}:
                    index.setdefault(key, (set(), set()))[side].add(at)
        return index

    def _near(self, word: str, side: int) -> list[int]:
        found = (self._index.get(key, (set(), set()))[side] for key in self.words.keys(word))
        return sorted(set().union(*found))

    def class_of(self, asked: Sequence[str]) -> list[tuple[ClassSummary, float]]:
        """The classes that words name, each with how surely, from 0 to 1; the best first."""
        some = (self.classes[at] for at in self._near(asked[0], 0))
        return _best((one, max(self._whole(asked, name) for name in names)) for one, names in some)

    def predicate_of(self, asked: Sequence[str]) -> list[tuple[PredicateSummary, float]]:
        """The predicates that words name, or name in part."""
        some = (self.predicates[at] for at in self._near(asked[0], 1))
        return _best((one, max(self._part(asked, name) for name in names)) for one, names in some)

    def _whole(self, asked: Sequence[str], name: Sequence[str]) -> float:
        if len(asked) != len(name):
            return 0.0
        return min(self.words.kinship(one, other) for one, other in zip(asked, name, strict=True))

    def _part(self, asked: Sequence[str], name: Sequence[str]) -> float:
        if len(asked) > len(name):
            return 0.0
        left, fits = list(name), 1.0
        for one in asked:  # each word of a name once
            best = max(left, key=lambda other: self.words.kinship(one, other))
            fits = min(fits, self.words.kinship(one, best))
            left.remove(best)
        return fits if len(asked) == len(name) else fits * (0.7 + 0.2 * len(asked) / len(name))


def _best(found: Iterable[tuple[Any, float]]) -> list[tuple[Any, float]]:
    return sorted((one for one in found if one[1] >= _LEAST), key=lambda one: -one[1])


@dataclass
class QuestionSpan:
    """Some words of a question, and the entities, or the classes and predicates, that they may name."""

    text: str
    entities: list[str] = field(default_factory=list)
    classes: list[tuple[ClassSummary, float]] = field(default_factory=list)
    predicates: list[tuple[PredicateSummary, float]] = field(default_factory=list)


def read(
    question: str, vocabulary: QuestionVocabulary, entities: Sequence[tuple[int, int, list[str]]]
) -> list[QuestionSpan]:
    """The spans of a question that name something; `entities` are the spans that name entities, with these."""
    spans = [QuestionSpan(question[start:end], named) for start, end, named in entities]
    told = [
        one for one in tokens(question) if not any(one.start < end and start < one.end for start, end, _ in entities)
    ]
    at = 0
    while at < len(told):
        length, classes, predicates = _named(vocabulary, [one.word for one in told[at : at + _LONGEST]])
        if classes or predicates:
            text = question[told[at].start : told[at + length - 1].end]
            spans.append(QuestionSpan(text, classes=classes, predicates=predicates))
        at += length
    return spans


def _named(vocabulary: QuestionVocabulary, plain: Sequence[str]) -> tuple[int, list[Any], list[Any]]:
    """The longest name of a class or a predicate that some words begin with: its words, classes and predicates."""
    for length in range(len(plain), 0, -1):
        asked = plain[:length]
        content = [word for word in asked if word not in _PARTICLES]
        if asked[0] in _PARTICLES or asked[-1] in _PARTICLES:
            continue
        if length == 1 and (asked[0] in STOP_WORDS or asked[0] in vocabulary.words.says_nothing):
            continue
        classes, predicates = vocabulary.class_of(content), vocabulary.predicate_of(content)
        if classes or predicates:
            return length, classes, predicates
    return 1, [], []


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
