"""What things are compared by: values of predicates, or how many things are joined to each."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from worlds.entities.answers import Part
from worlds.entities.schema import ClassSummary, PredicateSummary
from worlds.graph.terms import RDF
from worlds.questions.edges import Edges
from worlds.questions.reading import DATES, NUMBERS, Reading, Span, Vocabulary
from worlds.questions.words import tokens

RDFS = "http://www.w3.org/2000/01/rdf-schema#"
_VARIABLE = re.compile(r'"(?:[^"\\]|\\.)*"|<[^<>]*>|\?(\w+)')
ONLY = 0.8
"""How sure the only edge between a class and an entity is that no word names."""
GUESSED = 0.4
"""How sure a part is that was chosen among several."""

Ask = Callable[[str], list[tuple[Any, ...]]]
"""Gives the solutions of a SELECT over the whole world."""


@dataclass
class Pattern:
    """A graph pattern under construction."""

    lines: list[str] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    score: float = 1.0

    def say(self, line: str, score: float, words: str = "", iri: object = None) -> None:
        """Add a line, which is so sure."""
        if line and line not in self.lines:
            self.lines.append(line)
        self.score = min(self.score, score)
        if words or iri is not None:
            self.parts.append(Part(words, None if iri is None else str(iri), round(score, 3)))

    @property
    def text(self) -> str:
        """The lines in one."""
        return " ".join(self.lines)


@dataclass(frozen=True)
class Measure:
    """What things are compared by: the value of a predicate, or how many things are joined to each."""

    line: str
    score: float
    words: str
    iri: Any
    counted: bool = False
    falls: bool = False
    date: bool = False


class Measuring:
    """Finds measures of one world, and what its schema says of classes and predicates."""

    def __init__(self, vocabulary: Vocabulary, ask: Ask, edges: Edges) -> None:
        self._vocabulary = vocabulary
        self._edges = edges
        self._schema = vocabulary.schema
        self._ask = ask
        self._broader = any(str(one.iri) == f"{RDFS}subClassOf" for one in self._schema.predicates)

    def _kinds(self, kind: ClassSummary | None) -> list[str] | None:
        """A class and those below it; None for any."""
        if kind is None:
            return None
        below = f"SELECT ?c {{ ?c <{RDFS}subClassOf>+ <{kind.iri}> }} LIMIT 1000"
        return [str(kind.iri), *(str(one) for (one,) in (self._ask(below) if self._broader else ()))]

    def _typed(self, kind: ClassSummary) -> str:
        """The pattern of what is of a class, or of one below it."""
        if self._broader and self._ask(f"SELECT ?c {{ ?c <{RDFS}subClassOf> <{kind.iri}> . ?i a ?c }} LIMIT 1"):
            return f"?x <{RDF}type>/<{RDFS}subClassOf>* <{kind.iri}> ."
        return f"?x a <{kind.iri}> ."

    @staticmethod
    def _role(reading: Reading) -> Span | None:
        """The predicate whose values are asked for, as in "which author" or "the youngest author"."""
        for one, other in pairwise(reading.spans):
            if one.kind in ("ask", "superlative") and other.kind == "predicate" and not other.used:
                if one.kind == "ask" and one.value == "confirm":
                    continue
                best = other.predicates[0][1]
                if any(ranges(predicate) is None for predicate, score in other.predicates if score >= best):
                    return other
        return None

    def _of_role(self, role: Span | None) -> ClassSummary | None:
        """The class of the values of a predicate, if it is one."""
        classes = next((one.object_classes for one, _ in role.predicates if ranges(one) is None), ()) if role else ()
        return (
            next((one for one in self._schema.classes if classes[:1] == (one.iri,)), None)
            if len(classes) == 1
            else None
        )

    # -- measures -----------------------------------------------------------------------------------------------------

    def _measured(
        self, reading: Reading, target: Span | None, asked: Span | None = None, of: Sequence[Any] = ()
    ) -> Measure | None:
        """What a superlative, an average or a sum is of."""
        kind = target.classes[0][0] if target is not None else self._of_role(self._role(reading))
        about = asked.value.of | asked.value.falls if asked is not None else frozenset()
        spans = [one for one in reading.of("predicate", "class") if one is not target]
        if asked is not None:  # what stands behind the word, first
            spans.sort(key=lambda one: (one.first < asked.first, one.first))
        for span in spans:
            fitting = [(one, score) for one, score in span.predicates if ranges(one) and self._has(one, kind, *of[:1])]
            behind = asked is not None and (span is self._behind(reading, asked) or reading.before(span) == "by")
            if fitting and (not about or behind or self._about(fitting[0][0], about)):
                (predicate, score), rivals = fitting[0], [one for one, other in fitting[1:] if other >= fitting[0][1]]
                span.used = True
                return self._by(predicate, GUESSED if rivals else score, span.text, asked)
        if about:
            fitting = [
                (one, 0.9) for one, _ in self._vocabulary.predicates
                if ranges(one) and self._has(one, kind, *of[:1]) and self._about(one, about)
            ]  # fmt: skip
            if not fitting:
                return None
            assert asked is not None
            return self._by(fitting[0][0], 0.9 if len(fitting) == 1 else GUESSED, asked.text, asked)
        if target is None and (joined := self._joined(reading)) is not None:
            return joined
        for span in spans:
            if (counted := self._counted(span, kind, "?y")) is not None:
                span.used = True
                return counted
        return None

    def _joined(self, reading: Reading) -> Measure | None:
        """How many things of a class that is named are joined by a predicate that is named: "who wrote most books"."""
        for span in reading.of("class"):
            kind, sure = span.classes[0]
            for other in reading.of("predicate"):
                for predicate, score in other.predicates:
                    if ranges(predicate) is not None:
                        continue
                    for line, ends in (
                        (f"?y <{predicate.iri}> ?x .", predicate.subject_classes),
                        (f"?x <{predicate.iri}> ?y .", predicate.object_classes),
                    ):
                        if kind.iri in ends:
                            span.used = True
                            typed = renamed(self._typed(kind), x="?y")
                            return Measure(f"{line} {typed}", min(sure, score), other.text, predicate.iri, counted=True)
        return None

    @staticmethod
    def _behind(reading: Reading, asked: Span) -> Span | None:
        """What stands behind a word, as "revenue" in "the largest revenue"."""
        place = reading.spans.index(asked) + 1
        return reading.spans[place] if place < len(reading.spans) else None

    def _by(self, predicate: PredicateSummary, score: float, words: str, asked: Span | None) -> Measure:
        date = ranges(predicate) == "date"
        falls = asked is not None and self._about(predicate, asked.value.falls)
        if asked is not None and not date and not falls and asked.value.falls:
            score = min(score, ONLY) if is_year(predicate) else GUESSED  # the oldest by a number that is no age
        datatypes = {str(one.datatype) for one in predicate.kinds if one.kind == "literal"}
        if not (datatypes <= NUMBERS or len(datatypes) == 1):
            score *= 0.7  # values of several datatypes do not compare
        return Measure(f"?x <{predicate.iri}> ?v .", score, words, predicate.iri, falls=falls, date=date)

    def _says(self, predicate: PredicateSummary, text: str) -> bool:
        """Whether a name of a predicate has one of some words, and not only another one for it."""
        words = self._vocabulary.words
        said = {words.stem(one.word) for one in tokens(text)}
        names = next((names for one, names in self._vocabulary.predicates if one.iri == predicate.iri), [])
        return any(words.stem(word) in said for name in names for word in name)

    def _counted(self, span: Span, kind: ClassSummary | None, variable: str) -> Measure | None:
        """How many things are joined to each: of a class, or under a predicate, by the edge that the schema has."""
        choices: list[tuple[float, str, Any]] = []
        for predicate, score in span.predicates:
            if ranges(predicate) is None:
                if self._has(predicate, kind):
                    choices.append((score, f"?x <{predicate.iri}> {variable} .", predicate.iri))
                elif kind is None or kind.iri in predicate.object_classes:
                    choices.append((score * 0.9, f"{variable} <{predicate.iri}> ?x .", predicate.iri))
        for other, score in span.classes if kind is not None and not choices else ():
            for predicate, _ in self._vocabulary.predicates:
                typed = f"{variable} a <{other.iri}> ."
                if kind is None:
                    continue
                if kind.iri in predicate.subject_classes and other.iri in predicate.object_classes:
                    choices.append((score * 0.9, f"?x <{predicate.iri}> {variable} . {typed}", predicate.iri))
                if other.iri in predicate.subject_classes and kind.iri in predicate.object_classes:
                    choices.append((score * 0.9, f"{variable} <{predicate.iri}> ?x . {typed}", predicate.iri))
        if not choices:
            return None
        choices.sort(key=lambda one: -one[0])
        best = choices[0]
        sure = best[0] if sum(one[0] >= best[0] for one in choices) == 1 else GUESSED
        return Measure(best[1], sure, span.text, best[2], counted=True)

    def _about(self, predicate: PredicateSummary, roots: Iterable[str]) -> bool:
        """Whether a word of a predicate's names is one of some."""
        names = next((names for one, names in self._vocabulary.predicates if one.iri == predicate.iri), [])
        return any(self._vocabulary.words.root(word) in roots for name in names for word in name)

    def _turns(self, iri: str) -> bool:
        """Whether a predicate joins things of one class: which way round it is meant, words do not say."""
        found = next((one for one, _ in self._vocabulary.predicates if str(one.iri) == iri), None)
        return (
            found is not None and bool(found.subject_classes) and found.subject_classes[:1] == found.object_classes[:1]
        )

    def _leads(self, span: Span, kind: ClassSummary | None) -> bool:
        """Whether words name a predicate that joins things of a class to others."""
        relations = [one for one, score in span.predicates if ranges(one) is None and score >= ONLY]
        ends = {str(end) for one in relations for end in (*one.subject_classes, *one.object_classes)}
        kinds = self._kinds(kind)
        return bool(relations) and (kinds is None or not ends.isdisjoint(kinds))

    def _of(self, measured: Measure) -> ClassSummary | None:
        """The class of what has a measure, if it is one."""
        classes = next((one.subject_classes for one, _ in self._vocabulary.predicates if one.iri == measured.iri), ())
        if measured.counted or len(classes) != 1:
            return None
        return next((one for one in self._schema.classes if one.iri == classes[0]), None)

    def _has(self, predicate: PredicateSummary, kind: ClassSummary | None, subject: object = None) -> bool:
        """Whether things of a class, or an entity, have a predicate."""
        if subject is not None:
            return bool(self._ask(f"SELECT ?v {{ <{subject}> <{predicate.iri}> ?v }} LIMIT 1"))
        kinds = self._kinds(kind)
        return kinds is None or not set(kinds).isdisjoint(map(str, predicate.subject_classes))


def renamed(pattern: str, **terms: str) -> str:
    """A pattern with terms in place of variables, given by their names."""
    return _VARIABLE.sub(lambda found: terms.get(found[1], found[0]) if found[1] else found[0], pattern)


def ranges(predicate: PredicateSummary) -> str | None:
    """Whether a predicate's values are numbers or dates."""
    datatypes = [str(one.datatype) for one in predicate.kinds if one.kind == "literal" and one.datatype is not None]
    if not datatypes:
        return None
    return "number" if datatypes[0] in NUMBERS else "date" if datatypes[0] in DATES else None


def is_year(predicate: PredicateSummary) -> bool:
    """Whether a predicate with numbers tells years, as far as its examples show."""
    values = [str(one.term) for one in predicate.examples]
    return bool(values) and all(len(value) == 4 and value.isdigit() for value in values)
