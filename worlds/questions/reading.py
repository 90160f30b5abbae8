"""Reads a question: its words as entities, classes, predicates, numbers, and the words that tell its kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal

from worlds.entities.answers import Kind
from worlds.entities.schema import ClassSummary, PredicateSummary, Schema
from worlds.graph.terms import RDF, XSD
from worlds.questions.words import MOST_WORDS, Token, Words, date_at, longest, tokens
from worlds.search.words import STOP_WORDS
from worlds.texts.profiles import words_of

NUMBERS = frozenset(
    XSD + name
    for name in ("integer", "decimal", "double", "float", "int", "long", "short", "byte", "nonNegativeInteger",
                 "positiveInteger", "unsignedInt", "unsignedLong", "unsignedShort")
)  # fmt: skip
DATES = frozenset(XSD + name for name in ("date", "dateTime", "gYear", "gYearMonth", "dateTimeStamp"))
_PARTICLES = frozenset(
    ["has", "have", "is", "of", "by", "in", "at", "to", "the", "a", "an", "for", "from", "on", "with", "was", "does",
     "are", "were", "did", "do"]
)  # fmt: skip
_LONGEST = 4  # words of a name
MOST_BEST = 1000
"""Things at most that "the five largest" may be."""
_DIGITS = 20  # of a number that is one
_LEAST = 0.7  # how well a word of a question fits a name at least
_RDFS = "http://www.w3.org/2000/01/rdf-schema#"
_VOCABULARY = (RDF, _RDFS, "http://www.w3.org/2002/07/owl#", "http://www.w3.org/ns/shacl#")


@dataclass(frozen=True)
class Vocabulary:
    """The names of a world's classes and predicates, by which the words of questions are read."""

    schema: Schema
    words: Words
    classes: Sequence[tuple[ClassSummary, Sequence[tuple[str, ...]]]]
    predicates: Sequence[tuple[PredicateSummary, Sequence[tuple[str, ...]]]]

    @classmethod
    def of(cls, schema: Schema, words: Words, labels: Iterable[str]) -> Vocabulary:
        """`labels` are the IRIs of predicates that give names, of which no question asks."""
        left_out = frozenset(labels)

        def named(one: Any) -> list[tuple[str, ...]]:
            names = [words_of(str(one.iri)), *([one.label] if one.label else [])]
            found = (tuple(w for t in tokens(name) if (w := t.word) not in _PARTICLES) for name in names)
            return [name for name in dict.fromkeys(found) if name]

        def own(iri: object) -> bool:
            return not str(iri).startswith(_VOCABULARY) and str(iri) not in left_out

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
        """What kindred words share → the places of classes and of predicates that have such a word."""
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
class Span:
    """Some words of a question and what they are; `used` once a query has their meaning."""

    kind: Literal["entity", "value", "class", "predicate", "ask", "compare", "superlative", "number", "or", "unknown"]
    first: int
    text: str
    classes: list[tuple[ClassSummary, float]] = field(default_factory=list)
    predicates: list[tuple[PredicateSummary, float]] = field(default_factory=list)
    entities: list[Any] = field(default_factory=list)
    value: Any = None
    used: bool = False
    role: bool = False

    def fits(self, iri: str) -> float:
        """How surely the words name a predicate."""
        return max((score for one, score in self.predicates if str(one.iri) == iri), default=0.0)


@dataclass
class Reading:
    """The spans of a question, in its order; `best` is how many of the largest, oldest, … are meant."""

    question: str
    kind: Kind
    spans: list[Span]
    comparative: bool = False
    best: int = 1

    def take_best(self) -> None:
        """Take the number of "the five largest", "top 5" or "which five earn the most": how many are meant.

        It stands before the word, behind it, or between what asks and a class.
        """
        for at, (number, behind) in enumerate(pairwise(self.spans)):
            before = self.spans[at - 1].kind if at else "ask"
            meant = "superlative" in (behind.kind, before) or (before == "ask" and behind.kind == "class")
            if meant and number.kind == "number" and isinstance(number.value, int) and 0 < number.value <= MOST_BEST:
                self.best = number.value
                self.spans.remove(number)
                return

    def before(self, span: Span) -> str:
        """The word before a span; "" for the first."""
        return tokens(self.question)[span.first - 1].word if span.first else ""

    def of(self, *kinds: str) -> list[Span]:
        """The spans of some kinds that no query has used."""
        return [one for one in self.spans if one.kind in kinds and not one.used]

    def asks(self, *asked: str) -> list[Span]:
        """The words that ask, of these sorts."""
        return [one for one in self.spans if one.kind == "ask" and one.value in asked]


def kind_of(spans: Sequence[Span], comparative: bool) -> Kind:
    """The kind of a question by the words that tell it."""
    asks = [one.value for one in spans if one.kind == "ask"]
    spans = [one for one in spans if not one.used]
    entities = sum(one.kind == "entity" for one in spans)
    if any(one.kind == "superlative" for one in spans):
        either = comparative or any(one.kind == "or" for one in spans)
        return "comparison" if either and entities > 1 else "superlative"
    if "count" in asks or "average" in asks or "sum" in asks:
        return "count"
    said = {one.kind for one in spans}
    if asks[:1] == ["confirm"] and entities and (entities > 1 or said & {"class", "predicate", "compare"}):
        return "yes or no"
    dated = any(one.kind == "number" and isinstance(one.value, str) for one in spans)  # "born on 3 May 1990"
    if any(one.kind == "compare" for one in spans) or (dated and asks):
        return "filter"
    if "list" in asks and any(one.kind == "value" for one in spans):
        return "list"
    role = any(one.kind == "ask" and other.kind == "predicate" for one, other in pairwise(spans))
    if "list" in asks and (role or any(one.kind == "class" for one in spans)):
        return "list"
    return "lookup"


def may_ask(question: str, words: Words) -> bool:
    """Whether a question may be more than a lookup, by its words alone."""
    plain = [one.word for one in tokens(question)]
    if len(plain) == MOST_WORDS:
        return False
    numbers = any(word[:1].isdigit() or word in words.numbers for word in plain)
    tables = (words.superlatives, words.comparatives, *([words.compares] if numbers else []))
    for at in range(len(plain)):
        asked = longest(words.asks, plain, at)
        if asked and (not at or asked[1] in ("count", "average", "sum")):
            return True
        if any(longest(table, plain, at) for table in tables):
            return True
    return False


def read(
    question: str,
    vocabulary: Vocabulary,
    entities: Sequence[tuple[int, int, list[Any]]],
    values: Callable[[str], list[Any]] = lambda _: [],
) -> Reading:
    """Read a question; `entities` are the spans that name some, as characters, and what they may name.

    `values` gives the literals that words are written as.
    """
    words = vocabulary.words
    told = tokens(question)
    plain = [one.word for one in told]
    naming = [
        next((at for at, (start, end, _) in enumerate(entities) if one.start < end and start < one.end), None)
        for one in told
    ]
    spans: list[Span] = []
    comparative = False
    at = 0

    def add(kind: Any, length: int, **given: Any) -> None:
        nonlocal at
        text = question[told[at].start : told[at + length - 1].end]
        spans.append(Span(kind, at, text, **given))
        at += length

    while at < len(told):
        if (named := naming[at]) is not None:
            add("entity", _run(naming, at), entities=entities[named][2])
            continue
        free = _free(naming, at)
        window = plain[: at + free]
        if found := _named(vocabulary, window, at, several=True):
            add(found[0], found[1], classes=found[2], predicates=found[3])
            continue
        phrase = longest(words.comparatives, window, at)
        if at and phrase and (phrase[1].of or phrase[1].falls) and _than_a_number(told, at + phrase[0], words):
            add("compare", phrase[0] + 1, value=phrase[1])  # "older than 60"
            continue
        phrase = longest(words.compares, window, at)
        if phrase and (_number_after(told, at + phrase[0], words) is not None or plain[at] == "or"):
            add("compare", phrase[0], value=phrase[1])
            continue
        if at and (phrase := longest(words.comparatives, window, at)) and _compares(plain, at + phrase[0]):
            comparative = True
            add("superlative", phrase[0], value=phrase[1])
            continue
        if phrase := longest(words.superlatives, window, at):
            timed = plain[at + phrase[0] : at + phrase[0] + 1]
            add("unknown" if words.times.intersection(timed) else "superlative", phrase[0], value=phrase[1])
            continue
        phrase = longest(words.asks, window, at)
        if phrase and at and phrase[1] == "confirm":
            at += phrase[0]  # "the companies that were founded first"
            continue
        if phrase:
            asked = {one.value for one in spans if one.kind == "ask"}
            if not asked or (phrase[1] in ("count", "average", "sum") and asked <= {"list", "who"}):
                add("ask", phrase[0], value=phrase[1])
                continue
            if phrase[1] == "sum":
                at += phrase[0]  # "how many are there in total"
                continue
        if (date := date_at(words, told, question, at)) is not None:
            add("number", date[1], value=date[0])
        elif (number := _number(told, at, words)) is not None:
            add("number", number[1], value=number[0])
        elif (written := _written(question, told, at, free, words, values)) is not None and (
            written[0] > 1 or not _named(vocabulary, window, at, several=False)
        ):
            add("value", written[0], entities=written[1])
        elif found := _named(vocabulary, window, at, several=False):
            add(found[0], found[1], classes=found[2], predicates=found[3])
        elif plain[at] == "or":
            add("or", 1)
        elif plain[at] in words.turns:
            add("unknown", 1)
        elif plain[at] in STOP_WORDS or plain[at] in words.says_nothing or len(plain[at]) < 2:
            at += 1
        else:
            add("unknown", 1)
    return Reading(question, kind_of(spans, comparative), spans, comparative)


def _run(naming: Sequence[int | None], at: int) -> int:
    length = 1
    while at + length < len(naming) and naming[at + length] == naming[at]:
        length += 1
    return length


def _free(naming: Sequence[int | None], at: int) -> int:
    length = 0
    while at + length < len(naming) and naming[at + length] is None:
        length += 1
    return length


def _named(vocabulary: Vocabulary, plain: Sequence[str], at: int, *, several: bool) -> tuple[Any, ...] | None:
    """The longest name of a class or a predicate that begins here: its kind, words, classes and predicates."""
    for length in range(min(_LONGEST, len(plain) - at), 1 if several else 0, -1):
        asked = plain[at : at + length]
        content = [word for word in asked if word not in _PARTICLES]
        if not content or asked[0] in _PARTICLES or asked[-1] in _PARTICLES:
            continue
        if several and (len(content) < 2):
            continue
        if length == 1 and (asked[0] in STOP_WORDS or asked[0] in vocabulary.words.says_nothing):
            continue
        classes, predicates = vocabulary.class_of(content), vocabulary.predicate_of(content)
        if classes or predicates:
            best = max(score for _, score in (*classes[:1], *predicates[:1]))
            if several and best < 0.9:
                continue
            kind = "class" if classes and classes[0][1] >= (predicates[0][1] if predicates else 0) else "predicate"
            return kind, length, classes, predicates
    return None


def _written(
    question: str, told: Sequence[Token], at: int, free: int, words: Words, values: Callable[[str], list[Any]]
) -> tuple[int, list[Any]] | None:
    """How many words from here on are written as literals are, and these; also in the singular."""
    for length in range(min(_LONGEST, free), 0, -1):
        plain = [one.word for one in told[at : at + length]]
        if all(word in STOP_WORDS or word in words.says_nothing or word in words.turns for word in plain):
            continue
        text = question[told[at].start : told[at + length - 1].end]
        single = " ".join([*text.split()[:-1], words.stem(text.split()[-1])])
        for form in dict.fromkeys((text, single)):
            if found := values(form):
                return length, found
    return None


def _compares(plain: Sequence[str], at: int) -> bool:
    """Whether a comparison of two follows: "than", or an "or" somewhere."""
    return "or" in plain[at:] or "than" in plain[at:]


def _number(told: Sequence[Token], at: int, words: Words) -> tuple[float | int, int] | None:
    """A number that begins at a token, and its length in tokens: "5 million" has two."""
    text = told[at].word
    if text[:1].isdigit():
        digits = text.rstrip("abcdefghijklmnopqrstuvwxyz")
        unit = text[len(digits) :]
        if (unit and unit not in words.numbers) or len(digits) > _DIGITS:
            return None
        plain = digits.replace(",", "")
        if plain.count(".") > 1:
            return None
        value: float | int = (float(plain) if "." in plain else int(plain)) * words.numbers.get(unit, 1)
    elif text in words.numbers and len(text) > 2:
        value = words.numbers[text]
    else:
        return None
    length = 1
    while at + length < len(told) and words.numbers.get(told[at + length].word, 0) >= 12:  # dozen, hundred, …
        value *= words.numbers[told[at + length].word]
        length += 1
    return (int(value) if value == int(value) else value), length


def _than_a_number(told: Sequence[Token], at: int, words: Words) -> bool:
    return at + 1 < len(told) and told[at].word == "than" and _number(told, at + 1, words) is not None


def _number_after(told: Sequence[Token], at: int, words: Words) -> int | None:
    """Where a number stands, with no more than one word before it."""
    for place in range(at, min(at + 2, len(told))):
        if _number(told, place, words) is not None:
            return place
    return None
