"""The text of a context: facts and passages, ranked and within a budget."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyoxigraph as ox

from worlds.core.search.words import STOP_WORDS
from worlds.core.texts.entity_facts import Triple, clean, language_order, words
from worlds.extras.entities.names import normal
from worlds.extras.entities.neighbours import CitedQuad, Neighbours, Rows
from worlds.graph.records import Count, Iri, Number, Record, Score

BEYOND = 80  # entities a hop away that are looked at
_BYTES_A_TOKEN = 3.5  # of UTF-8, for a language model
_VOCABULARY = 0.3  # what a predicate counts, beside the things that have it
PASSAGE = 700  # characters of one that are given
VALUES = 12  # of a fact at first; what is left of the budget then goes to the rest
_LONGEST_VALUE = 300  # characters of a literal in a fact
_JOINS = 1.5  # what counts more that joins two entities which the question names
_AND_MORE = 24  # bytes that tell how many more values there are
_SECOND_HOP = 0.5  # what a fact a hop further counts
_CONTRADICTORY = "contradictory: one value is allowed"
_SHARED_BEGINNING = 4  # letters that words with one stem have in common
_NEAREST = 0.8  # what the predicate nearest in meaning counts beside one that is named


def tokens(text: str) -> int:
    """About how many tokens a language model makes of a text."""
    return int(len(text.encode("utf-8", "replace")) / _BYTES_A_TOKEN) + 1


@dataclass(frozen=True, slots=True)
class ContextFact(Record):
    """A numbered item of a context: a fact with its quads, or a passage with the quads that it is from.

    `hops` is how far its entity is from one that the question names or search found, `score` how much it bears on the
    question; both order facts within one context only.
    """

    number: Number
    text: str
    entity: Iri
    hops: Count
    score: Score
    quads: tuple[CitedQuad, ...]


@dataclass
class PredicateGroup:
    """The quads of an entity under one predicate, in one direction."""

    entity: int
    predicate: int
    incoming: bool
    rows: list[tuple[int, ...]]
    sampled: bool = False  # whether the entity may have more than these
    hops: int = 0
    score: float = 0.0
    values: list[int] | None = None  # what of it is told, at most
    shown: int = 0  # how many of these there is room for

    def others(self) -> list[int]:
        """The other ends of the quads, each once: values of the entity, or subjects that have it as value."""
        return list(dict.fromkeys(row[1] if self.incoming else row[3] for row in self.rows))


@dataclass
class Drawn:
    """The quads read for one question: the facts of its entities, and of entities one hop away."""

    rdf_type: int
    first: list[PredicateGroup] = field(default_factory=list)
    second: list[PredicateGroup] = field(default_factory=list)
    predicates: dict[int, str] = field(default_factory=dict)  # what they are called
    terms: dict[int, Any] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    annotations: dict[Triple, list[tuple[int, int]]] = field(default_factory=dict)
    functional: set[int] = field(default_factory=set)  # predicates that have one value at most

    @property
    def groups(self) -> list[PredicateGroup]:
        """All groups, the most relevant to the question first."""
        return sorted([*self.first, *self.second], key=lambda group: (-group.score, group.hops, group.rows[0][0]))

    def score(self, seeds: Mapping[int, float], relevance: PredicateRelevance, named: set[int]) -> None:
        """Score each fact by its entity, its predicate, and the way to it."""
        weight = dict(zip(self.predicates, relevance.of(list(self.predicates.values())), strict=True))
        for group in self.first:
            group.score = seeds[group.entity] * (1 + weight[group.predicate]) * self._crowd(group)
        ways = self.beyond(seeds)
        for group in self.second:
            way = ways.get(group.entity, 0.0)
            group.hops, group.score = 1, _SECOND_HOP * way * (0.5 + weight[group.predicate]) * self._crowd(group)
        for group in (*self.first, *self.second):
            if any(other in named and other != group.entity for other in group.others()):
                group.score *= _JOINS

    def beyond(self, seeds: Mapping[int, float]) -> dict[int, float]:
        """The entities a hop away, each with the score of the best way to it."""
        ways: dict[int, float] = {}
        for group in sorted(self.first, key=lambda group: -group.score):
            if group.predicate != self.rdf_type or group.incoming:  # else all that are of the same kind
                for other in group.others()[:BEYOND]:
                    if other not in seeds:
                        ways.setdefault(other, group.score)
        return ways

    def _crowd(self, group: PredicateGroup) -> float:
        """The factor that lowers a fact's score for having many values, or for giving only the class of its entity."""
        if group.predicate == self.rdf_type and not group.incoming:
            return 0.3
        return 1 / (1 + 0.15 * math.log(len(group.rows)))


class PredicateRelevance:
    """The relevance of predicates for a question: by the words that they share with it, and by meaning."""

    def __init__(self, asked: str) -> None:
        self.asked = asked
        self._words = [word for word in normal(asked).split() if word not in STOP_WORDS and len(word) > 1]
        self._near: dict[str, float] = {}

    def add(self, cosines: Mapping[str, float]) -> None:
        """Add relevance by meaning: the nearest predicate gets the most, predicates below the average nothing."""
        if cosines:
            mean, top = sum(cosines.values()) / len(cosines), max(cosines.values())
            spread = max(top - mean, 0.05)
            self._near = {words: _NEAREST * max(one - mean, 0.0) / spread for words, one in cosines.items()}

    def of(self, predicates: Sequence[str]) -> list[float]:
        """A number from 0 to 1 for the words of each."""
        return [max(self._shared(words), self._near.get(words, 0.0)) for words in predicates]

    def _shared(self, words: str) -> float:
        parts = [word for word in normal(words).split() if word not in STOP_WORDS] or normal(words).split()
        best = [max((_alike(word, other) for other in self._words), default=0.0) for word in parts]
        return max(best, default=0.0) * (0.7 + 0.3 * sum(best) / max(len(best), 1))


def _alike(one: str, other: str) -> float:
    """Whether two words have one stem, by their beginnings."""
    if one == other:
        return 1.0
    shared = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        shared += 1
    least = min(len(one), len(other))
    return 0.9 if shared >= max(_SHARED_BEGINNING, math.ceil(0.6 * least)) else 0.0


def grouped(around: tuple[Rows, Rows], entities: Iterable[int], said: set[int], most: int) -> list[PredicateGroup]:
    """The quads of entities by predicate and direction, except their names; at most `most` were read of each."""
    wanted = set(entities)
    found: dict[tuple[int, int, bool], PredicateGroup] = {}
    for rows, incoming in zip(around, (False, True), strict=True):
        at = 3 if incoming else 1
        ids, counts = np.unique(rows[:, at], return_counts=True)
        cut = set(ids[counts >= most].tolist())
        for row in map(tuple, rows.tolist()):
            if row[at] in wanted and row[1] != row[3] and (incoming or row[2] not in said):
                key = (row[at], row[2], incoming)
                if key not in found:
                    found[key] = PredicateGroup(*key, [], sampled=row[at] in cut)
                found[key].rows.append(row)
    return list(found.values())


def within(groups: Sequence[PredicateGroup], budget: int) -> list[PredicateGroup]:
    """The groups for which there can be room; the others are not put into words."""
    kept, room = [], budget
    for group in groups:
        kept.append(group)
        room -= 2 + 2 * min(len(group.rows), VALUES)
        if room < 0:
            break
    return kept


@dataclass
class _Passage:
    chunk: int
    text: str
    subject: Any
    head: str
    rows: list[tuple[int, ...]]
    score: float


class ContextPage:
    """Fills a budget with facts and passages, then puts them in order: by entity, the best first."""

    def __init__(self, budget: int, drawn: Drawn, language: str | None, neighbours: Neighbours) -> None:
        self._left = self._whole = budget * _BYTES_A_TOKEN - 1
        self._neighbours = neighbours
        self._drawn = drawn
        self._language = language
        self._chosen: dict[int, list[PredicateGroup]] = {}  # by entity
        self.passages: list[_Passage] = []
        self.told: set[int] = set()  # the ids of quads

    def _take(self, cost: float) -> bool:
        if cost > self._left:
            return False
        self._left -= cost
        return True

    def _value(self, number: int) -> str:
        name = self._drawn.names.get(number)
        if name is not None:
            return name
        term = self._drawn.terms[number]
        text = clean(term.value) if isinstance(term, ox.Literal) else str(term)
        return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 1].rstrip() + "…"

    def _told(self, group: PredicateGroup, other: int) -> str:
        """A value with its annotations by reifiers."""
        triple = (other, group.predicate, group.entity) if group.incoming else (group.entity, group.predicate, other)
        said = self._drawn.annotations.get(triple)
        return f"{self._value(other)} ({words(said, self._value)})" if said else self._value(other)

    def _conflict(self, group: PredicateGroup) -> str:
        if group.incoming or group.predicate not in self._drawn.functional or len(self._values(group)) < 2:
            return ""
        return f" ({_CONTRADICTORY})"

    def facts(self, groups: Sequence[PredicateGroup], *, spare: float = 0.0, more: bool = False) -> None:
        """Add facts up to the budget, less a share of it; `more` adds the parts that were left out of long facts."""
        kept = spare * self._whole
        self._left -= kept
        for group in groups:
            others = self._values(group)
            most = len(others) if more else min(VALUES, len(others))
            if group.shown >= most or (more and not group.shown):
                continue
            if not group.shown:
                if all(row[0] in self.told for row in group.rows):
                    continue  # from the other side
                head = len(f"[{99}] {self._predicate(group)}: ; {self._conflict(group)}".encode())
                if group.entity not in self._chosen:
                    head += len(f"{self._drawn.names[group.entity]}\n\n".encode())
                first = len(self._told(group, others[0]).encode())
                if not self._take(head + first + (_AND_MORE if group.sampled else 14)):
                    continue
                self._chosen.setdefault(group.entity, []).append(group)
                group.shown = 1
            while group.shown < most and self._take(len(self._told(group, others[group.shown]).encode()) + 2):
                group.shown += 1
            self.told.update(row[0] for row in self._rows(group))
        self._left += kept

    def _rows(self, group: PredicateGroup) -> list[tuple[int, ...]]:
        """The quads that a fact states."""
        kept = set(self._values(group)[: group.shown])
        return [row for row in group.rows if (row[1] if group.incoming else row[3]) in kept]

    def _values(self, group: PredicateGroup) -> list[int]:
        """The objects that a fact shows: of texts in several languages only the best language, each text once."""
        if group.values is None:
            others = group.others()
            literals = {one: term for one in others if isinstance(term := self._drawn.terms[one], ox.Literal)}
            best = min((language_order(term.language, self._language) for term in literals.values()), default=0)
            texts: dict[str, int] = {}
            for one in others:
                if one not in literals or language_order(literals[one].language, self._language) == best:
                    texts.setdefault(self._value(one), one)
            group.values = list(texts.values())
        return group.values

    def passage(self, hit: Any, rows: list[tuple[int, ...]]) -> None:
        """Take a passage, cut where it is long."""
        text = clean(hit.text)
        if len(text) > PASSAGE:
            text = text[:PASSAGE].rsplit(" ", 1)[0] + "…"
        head = hit.label or self._drawn.names.get(-1, "") or str(hit.subject)
        if self._take(len(f'[99] {head}: "{text}"\n'.encode())):
            self.passages.append(_Passage(hit.chunk, text, hit.subject, head, rows, hit.score))

    def _predicate(self, group: PredicateGroup) -> str:
        name = self._drawn.names[group.predicate]
        return f"← {name}" if group.incoming else name

    def _rest(self, group: PredicateGroup) -> str:
        """How many more values there are; of values that were only sampled, the number that the world has."""
        if not group.sampled:
            told = len(self._values(group)) - group.shown
            return f" … and {told} more" if told else ""
        if any(isinstance(self._drawn.terms[one], ox.Literal) for one in group.others()):
            return " … and more"  # texts of other languages, and those that say the same, would have to be read
        rest = self._neighbours.count(group.entity, group.predicate, incoming=group.incoming) - group.shown
        return f" … and {rest} more" if rest else ""

    def composed(
        self, cited: Callable[[Sequence[tuple[int, ...]]], tuple[CitedQuad, ...]], shown: Mapping[int, Any]
    ) -> tuple[str, tuple[ContextFact, ...]]:
        """The text of the context, and its cited passages and facts by number."""
        lines: list[str] = []
        facts: list[ContextFact] = []
        for entity, groups in self._chosen.items():
            said = []
            for group in groups:
                others = self._values(group)[: group.shown]
                values = ", ".join(self._told(group, other) for other in others) + self._rest(group)
                text = f"{self._predicate(group)}: {values}{self._conflict(group)}"
                rows = self._rows(group)
                number = len(facts) + 1
                facts.append(
                    ContextFact(
                        number,
                        f"{self._drawn.names[entity]} — {text}",
                        shown[entity],
                        group.hops,
                        group.score,
                        cited(rows),
                    )
                )
                said.append(f"[{number}] {text}")
            lines.append(f"{self._drawn.names[entity]}\n" + "; ".join(said))
        for item in self.passages:
            number = len(facts) + 1
            quads = cited(item.rows) if item.rows else ()
            facts.append(ContextFact(number, item.text, item.subject, 0, item.score, quads))
            lines.append(f'[{number}] {item.head}: "{item.text}"')
        return "\n".join(lines), tuple(facts)
