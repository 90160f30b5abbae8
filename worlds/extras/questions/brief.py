"""The brief of a question for a model that writes its query, and the answers of kept queries in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any

import pyoxigraph as ox
from rdflib import Literal

from worlds.core.core import Core
from worlds.core.texts.entity_facts import clean
from worlds.extras.entities.context import NOTHING, UNNAMED, Answer, Context, Contexts, NearQuestion
from worlds.extras.entities.context_text import tokens
from worlds.extras.entities.limits import check_limit
from worlds.extras.entities.schema import ClassSummary, PredicateSummary
from worlds.extras.questions.nearest import Cosines, Known, Nearest
from worlds.extras.questions.question_terms import Answers, QuestionSpan, QuestionVocabulary
from worlds.graph.records import Iri, Record, Spare
from worlds.graph.terms import format_term, local_name, shorten, to_oxigraph

_NAMES = 400  # classes and predicates that are compared by their meaning
_EXAMPLES = 3
_LONGEST = 40  # characters of an example
_CLASSES = 2  # of a predicate, on either side
_NAMESAKES = 4

_OF_NAMED = 0.35  # what a predicate counts that an entity has which the question names
_OF_CLASS = 0.3  # the same of a class that it names
_MEANING = 0.8  # what meaning counts beside words
_LONGEST_VALUE = 120  # characters of a value


@dataclass(frozen=True, slots=True)
class NamedEntity(Record):
    """Words of a question and an entity that they may name; `types` tell it apart."""

    words: str
    iri: Iri
    types: tuple[Iri, ...]


@dataclass(frozen=True)
class Brief(Record):
    """The brief of a question; `text` is for a language model, the rest are its parts, the best first.

    `answer` is the query that is kept with the question, if one is, with what it found; `near` are kept questions near
    to it.
    """

    _also = ("tokens",)

    question: str
    text: str
    classes: tuple[ClassSummary, ...]
    predicates: tuple[PredicateSummary, ...]
    entities: tuple[NamedEntity, ...]
    prefixes: Mapping[str, str]
    answer: Answer | None
    near: Annotated[tuple[NearQuestion, ...], Spare] = ()

    @property
    def tokens(self) -> int:
        """About how many tokens the text has."""
        return tokens(self.text)

    def __str__(self) -> str:
        return self.text


class Briefs:
    """Writes the briefs of one world."""

    def __init__(self, core: Core, answers: Answers, nearest: Nearest, cosines: Cosines, known: Known) -> None:
        """`cosines` tells how near words are in meaning, `known` describes entities."""
        self._core = core
        self._answers = answers
        self._nearest = nearest
        self._cosines = cosines
        self._known = known

    def brief(self, question: str, budget: int) -> Brief:
        """See `World.questions.brief`."""
        if not isinstance(question, str):
            raise TypeError(f"a question must be a str, not {type(question).__name__}")
        check_limit(budget, "budget")
        answer, near = self._nearest.answer(question)
        spans = self._answers.read(question)
        entities = self._named(spans)
        classes, predicates = self._ranked(question, spans, self._answers.vocabulary(), entities)
        page = _Page(budget, self._core.namespaces.prefixes)
        page.entities(entities)
        page.query(answer)
        page.near(near)
        page.fill(classes, predicates)
        return Brief(
            question,
            page.text(),
            tuple(page.classes),
            tuple(page.predicates),
            tuple(page.named),
            page.used(),
            answer,
            near,
        )

    def called(self, terms: Iterable[Any], language: str | None = None) -> dict[Any, str]:
        """The labels of the entities among some terms."""
        entities = {to_oxigraph(term) for term in terms if not isinstance(term, Literal)}
        return {one.iri: one.label for one in self._known(entities, language).values()}

    def _named(self, spans: Sequence[QuestionSpan]) -> list[NamedEntity]:
        chosen = [(span.text, one) for span in spans for one in span.entities[:_NAMESAKES]]
        known = self._known([ox.NamedNode(one) for _, one in chosen])
        return [NamedEntity(words, known[one].iri, known[one].types) for words, one in chosen if one in known]

    def _ranked(
        self,
        question: str,
        spans: Sequence[QuestionSpan],
        vocabulary: QuestionVocabulary,
        entities: Sequence[NamedEntity],
    ) -> tuple[list[ClassSummary], list[PredicateSummary]]:
        """The classes and predicates, the likeliest first; of equals, the commoner."""
        classes = {str(one.iri): one for one, _ in vocabulary.classes}
        predicates = {str(one.iri): one for one, _ in vocabulary.predicates}
        scores = dict.fromkeys((*classes, *predicates), 0.0)
        for span in spans:
            meant: list[tuple[Any, float]] = [*span.classes, *span.predicates]
            for one, score in meant:
                scores[str(one.iri)] = max(scores[str(one.iri)], score)
        named: dict[str, Any] = {**classes, **predicates}
        names = {iri: _called(one) for iri, one in named.items()}
        near = self._cosines(question, list(dict.fromkeys(names.values()))[:_NAMES])
        for iri, name in names.items():
            scores[iri] = max(scores[iri], _MEANING * near.get(name, 0.0))
        kinds = {str(kind) for one in entities for kind in one.types}
        for kind in kinds & scores.keys():
            scores[kind] = max(scores[kind], 0.5)
        wanted = {iri for iri in classes if scores[iri] >= 0.5}
        for iri, one in predicates.items():
            joined = {str(kind) for kind in (*one.subject_classes, *one.object_classes)}
            scores[iri] += _OF_NAMED * bool(joined & kinds) + _OF_CLASS * bool(joined & wanted)
        for one in predicates.values():  # what a likely predicate joins
            for kind in (*one.subject_classes[:1], *one.object_classes[:1]):
                if str(kind) in scores:
                    scores[str(kind)] = max(scores[str(kind)], 0.7 * scores[str(one.iri)])
        ranked = sorted(classes.values(), key=lambda one: (-scores[str(one.iri)], -one.instances))
        return ranked, sorted(predicates.values(), key=lambda one: (-scores[str(one.iri)], -one.quads))


def alike(near: NearQuestion, budget: int) -> str:
    """A similar kept question with its query and its differences, in at most `budget` tokens; "" without the room."""
    differs = "; ".join(
        f"“{clean(one.words)}” there is {format_term(to_oxigraph(one.term))}"
        + (f", “{clean(one.asked)}” here is {format_term(to_oxigraph(one.value))}" if one.asked else "")
        for one in near.differs
    )
    text = f"“{clean(near.question)}”{f' ({differs})' if differs else ''}:\n{near.query}"
    return text if tokens(text) <= budget else ""


def _called(one: ClassSummary | PredicateSummary) -> str:
    return one.label or local_name(one.iri)


class _Page:
    """Fills a budget of tokens."""

    def __init__(self, budget: int, prefixes: Mapping[str, str]) -> None:
        self._left = budget
        self._prefixes = prefixes
        self._lines: dict[str, list[str]] = {}
        self._iris: list[str] = []
        self.classes: list[ClassSummary] = []
        self.predicates: list[PredicateSummary] = []
        self.named: list[NamedEntity] = []

    def _take(self, group: str, line: str, iris: Iterable[object]) -> bool:
        new = {prefix: iri for prefix, iri in self._needed(iris).items() if prefix not in self._needed(self._iris)}
        cost = tokens(line) + sum(tokens(f"PREFIX {prefix}: <{iri}>") for prefix, iri in new.items())
        cost += 0 if group in self._lines else tokens(group)
        if cost > self._left:
            return False
        self._left -= cost
        self._iris += map(str, iris)
        self._lines.setdefault(group, []).append(line)
        return True

    def _needed(self, iris: Iterable[object]) -> dict[str, str]:
        names = {shorten(str(iri), self._prefixes).partition(":")[0] for iri in iris}
        return {prefix: iri for prefix, iri in self._prefixes.items() if prefix in names}

    def _name(self, iri: object) -> str:
        return shorten(str(iri), self._prefixes)

    def entities(self, entities: Sequence[NamedEntity]) -> None:
        """Add the entities that the question names, with their classes."""
        for one in entities:
            of = f", a {', '.join(map(self._name, one.types[:_CLASSES]))}" if one.types else ""
            if self._take(
                "Entities:", f"“{clean(one.words)}”: {self._name(one.iri)}{of}", (one.iri, *one.types[:_CLASSES])
            ):
                self.named.append(one)

    def query(self, answer: Answer | None) -> None:
        """The query that is kept for the question."""
        if answer is not None:
            sure = "This query answers it:" if answer.told else "This query is kept for it, and finds nothing here:"
            self._take(sure, answer.query, ())

    def near(self, near: Sequence[NearQuestion]) -> None:
        """The kept questions that are near."""
        for one in near:
            self._take("Kept questions like it:", alike(one, self._left), ())

    def fill(self, classes: Sequence[ClassSummary], predicates: Sequence[PredicateSummary]) -> None:
        """Classes and predicates in turn, of these more, while there is room."""
        waiting = iter(classes)
        for at, predicate in enumerate(predicates):
            if at % 2 == 0 and (kind := next(waiting, None)) is not None and not self._class(kind):
                break
            if not self._predicate(predicate):
                break
        for kind in waiting:
            if not self._class(kind):
                break

    def _class(self, kind: ClassSummary) -> bool:
        label = f" “{clean(kind.label)}”" if kind.label else ""
        line = f"{self._name(kind.iri)}{label}: {kind.instances:,} instances"
        taken = self._take("Classes:", line, (kind.iri,))
        self.classes += [kind] if taken else []
        return taken

    def _predicate(self, one: PredicateSummary) -> bool:
        iris: list[object] = [one.iri, *one.subject_classes[:_CLASSES], *one.object_classes[:_CLASSES]]
        of = " or ".join(map(self._name, one.subject_classes[:_CLASSES])) or "anything"
        kinds = [self._name(kind) for kind in one.object_classes[:_CLASSES]]
        for kind in one.kinds[:_CLASSES]:
            if kind.kind == "literal":
                kinds.append(f"text@{kind.language}" if kind.language else self._name(kind.datatype))
                iris += [] if kind.datatype is None else [kind.datatype]
            elif not one.object_classes:
                kinds.append(kind.kind)
        examples = [format_term(to_oxigraph(value.term), self._prefixes) for value in one.examples[:_EXAMPLES]]
        such = ", ".join(clean(text) for text in examples if len(text) <= _LONGEST)
        counts = f"{one.quads:,} quads of {one.subjects:,} subjects"
        line = f"{self._name(one.iri)} “{clean(one.label)}”: {of} → {' or '.join(kinds)}; {counts}"
        taken = self._take("Predicates (from → to):", f"{line}; such as {such}" if such else line, iris)
        self.predicates += [one] if taken else []
        return taken

    def used(self) -> dict[str, str]:
        """The prefixes that the text needs."""
        return self._needed(self._iris)

    def text(self) -> str:
        """All lines, under their heads."""
        parts = [f"PREFIX {prefix}: <{iri}>" for prefix, iri in self.used().items()]
        for group, lines in self._lines.items():
            parts += [group, *lines]
        return "\n".join(parts)


def answered(
    question: str, nearest: Nearest, contexts: Contexts, briefs: Briefs, options: Mapping[str, Any]
) -> Context:
    """The context of a question, beginning with the kept answer to it or the nearest; see `World.context`."""
    check_limit(options["budget"], "budget")
    answer, near = nearest.answer(question)
    most = options["budget"] // 2
    head = "" if answer is None else told(answer, most, partial(briefs.called, language=options["language"]))
    sure = answer is not None and answer.told
    if near and not sure:
        head = "\n".join(filter(None, (head, kept(near[0], most // 2))))
    left = options["budget"] - (tokens(head) if head else 0)
    found = contexts.compose(question, **{**options, "budget": left})
    notes = tuple(note for note in found.notes if not (sure and note in (UNNAMED, NOTHING)))
    text = "\n".join(filter(None, (head, found.text)))
    return replace(found, text=text, answer=answer, near=near, notes=notes)


def kept(near: NearQuestion, budget: int) -> str:
    """A kept question with its query and its differences, in at most `budget` tokens; "" without the room."""
    head = "A kept question like this one: "
    told = alike(near, budget - tokens(head))
    return head + told if told else ""


def told(answer: Answer, budget: int, labels: Callable[[Iterable[Any]], Mapping[Any, str]]) -> str:
    """The results of a query, or else the query alone, in at most `budget` tokens; "" without the room.

    `labels` gives the names of entities.
    """
    if not answer.told:
        text = f"The query that is kept for this question finds nothing here, or not in time:\n{answer.query}"
        return text if tokens(text) <= budget else ""
    by = "Answer by the query of a kept question"
    if answer.value is not None:
        return _cut(f"{by}: {'yes' if answer.value else 'no, as far as this world says'}", answer, budget)
    head = f"{by}: " if answer.count == 1 else f"{by}, {answer.count:,} in all: "
    names = labels({term for row in answer.rows for term in row if term is not None})
    rows = [" ".join(_shown(term, names) for term in row if term is not None) for row in answer.rows]
    text = head
    for number, row in enumerate(rows):
        rest = f"; and {answer.count - number:,} more"
        if tokens(text + row + rest) > budget and number:
            text += rest
            break
        text += f"; {row}" if number else row
    return _cut(text, answer, budget)


def _shown(term: Any, names: Mapping[Any, str]) -> str:
    text = clean(names.get(term) or str(term))
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 1] + "…"


def _cut(text: str, answer: Answer, budget: int) -> str:
    """With the query, if there is room."""
    whole = f"{text}\nBy: {answer.query}"
    return whole if tokens(whole) <= budget else text if tokens(text) <= budget else ""
