"""Reads a question: which of its words name entities, classes and predicates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from worlds.core.search.words import STOP_WORDS
from worlds.core.texts.profiles import words_of
from worlds.extras.entities.schema import ClassSummary, PredicateSummary, Schema
from worlds.extras.questions.words import Lexicon, tokens
from worlds.graph.terms import RDF

_PARTICLES = frozenset(
    ["has", "have", "is", "of", "by", "in", "at", "to", "the", "a", "an", "for", "from", "on", "with", "was", "does",
     "are", "were", "did", "do"]
)  # fmt: skip
_LONGEST = 4  # words of a name
_LEAST = 0.7  # how well a word of a question fits a name at least
_RDFS = "http://www.w3.org/2000/01/rdf-schema#"
VOCABULARY = (RDF, _RDFS, "http://www.w3.org/2002/07/owl#", "http://www.w3.org/ns/shacl#")
"""Namespaces of what no question asks for."""


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
