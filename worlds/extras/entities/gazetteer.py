"""All names of a world's entities as one dictionary, and where a text has them, in one pass over its words."""

from __future__ import annotations

import functools
import json
import re
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from worlds.core.quads.dictionary import Dictionary, json_ids
from worlds.core.texts.entity_facts import Facts
from worlds.core.texts.policy import TextPolicy
from worlds.core.texts.segmentation import UNSPACED
from worlds.extras.entities.mentions import says
from worlds.extras.entities.names import forms
from worlds.sql import statements
from worlds.sql.connection import Connection

_SQL = statements("entities.sql")
_STATE = statements("queries.sql")["state"]
_BATCH = 20_000  # literals read at a time
_LONGEST = 15  # words of a name
_MOST_CHARACTERS = 200  # of a name
_ABBREVIATION = 4  # letters of a word whose full stop ends no sentence

_sentence_end = re.compile(r"[!?;。！？；]|\n\s*\n").search


class Word(NamedTuple):
    """A word of a text, and how it is compared: without regard to case and accents."""

    start: int
    end: int
    folded: str


class Name(NamedTuple):
    """An entity that has a name, as it is written there."""

    entity: int
    text: str
    role: str  # "label" or "alias"


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a text that is written like a name: its characters, its words, and who has the name."""

    start: int
    end: int
    first: int  # word
    last: int  # word, exclusive
    named: tuple[Name, ...]


class Gazetteer:
    """The names of one world's entities: their labels and aliases, in any graph and language."""

    def __init__(self, connection: Connection, dictionary: Dictionary, policy: Callable[[], TextPolicy]) -> None:
        self._connection = connection
        self._facts = Facts(connection, dictionary)
        self._policy = policy
        self._present: object = None  # of the whole world, which is told sooner than that of its names
        self._state: object = None
        self._names: dict[str, tuple[Name, ...]] = {}
        self._longest: dict[str, int] = {}

    def called(self, text: str) -> tuple[Name, ...]:
        """The entities whose name a whole text is."""
        self._read()
        return self._names.get(" ".join(word.folded for word in words(text)), ())

    def spans(self, text: str, among: Sequence[Word], own: int | None = None) -> list[Span]:
        """Where the text names entities: of spans that overlap the longest, and of equally long ones the first.

        `among` are the words of the text, `own` is an entity whose names do not count. A name of stop-words alone
        counts where it is written as a name, and none reaches over the end of a sentence.
        """
        self._read()
        return _apart(self._all(text, among, own))

    def _all(self, text: str, among: Sequence[Word], own: int | None) -> Iterator[Span]:
        longest, names = self._longest, self._names
        for first, word in enumerate(among):
            most = longest.get(word.folded)
            if most is None:
                continue
            key = word.folded
            for last in range(first, min(first + most, len(among))):
                if last > first:
                    if ends_sentence(text, among[last - 1], among[last]):
                        break
                    key = f"{key} {among[last].folded}"
                named = names.get(key)
                if named is not None and own is not None:
                    named = tuple(name for name in named if name.entity != own)
                if named and says(text, word.start, among[last].end):
                    yield Span(word.start, among[last].end, first, last + 1, named)

    def _read(self) -> None:
        """Read the names, unless they are as they were."""
        policy = self._policy()
        present = (*self._connection.rows(_STATE)[0], self._connection.rollbacks, policy)
        if present == self._present:
            return
        predicates = json_ids(self._facts.numbers(policy.predicates("label", "alias")))
        told = self._connection.rows(_SQL["state_of_names"], (predicates,))[0]
        state = (*told, predicates, self._connection.meta("term_removals"), self._connection.rollbacks, policy)
        if state == self._state:
            self._present = present
            return
        names: dict[str, dict[Name, None]] = {}
        for role in ("label", "alias"):
            for predicate in self._facts.numbers(self._policy().predicates(role)):
                for name in self._under(predicate, role):
                    for form in dict.fromkeys((name.text, *forms(name.text)[1:])):
                        found = [word.folded for word in words(form)]
                        if 0 < len(found) <= _LONGEST:
                            names.setdefault(" ".join(found), {})[name] = None
        self._names = {key: tuple(sorted(found)) for key, found in names.items()}
        self._longest = {}
        for key in names:
            first, size = sys.intern(key.partition(" ")[0]), key.count(" ") + 1
            if size > self._longest.get(first, 0):
                self._longest[first] = size
        self._state, self._present = state, present

    def _under(self, predicate: int, role: str) -> Iterator[Name]:
        pairs = self._connection.table(_SQL["names_under"], (predicate,))
        by_literal: dict[int, list[int]] = {}
        for entity, literal in pairs.tolist():
            by_literal.setdefault(literal, []).append(entity)
        literals = list(by_literal)
        for start in range(0, len(literals), _BATCH):
            values = (json_ids(literals[start : start + _BATCH]), _MOST_CHARACTERS)
            ids, texts = self._connection.rows(_SQL["short_texts"], values)[0]
            for literal, text in zip(json.loads(ids), json.loads(texts), strict=True):
                yield from (Name(entity, text, role) for entity in by_literal[literal])


def words(text: str) -> list[Word]:
    """The words of a text; a letter of a script without spaces is one."""
    return [Word(*found.span(), _fold(found.group())) for found in _tokens().finditer(text)]


@functools.cache
def _tokens() -> re.Pattern[str]:
    """The pattern of a word: letters, digits and their marks; compiled at its first use."""
    marks = [code for code in range(0x300, 0x10000) if unicodedata.category(chr(code)).startswith("M")]
    runs: list[list[int]] = []
    for code in marks:
        if runs and runs[-1][1] == code - 1:
            runs[-1][1] = code
        else:
            runs.append([code, code])
    marked = "".join(f"{chr(first)}-{chr(last)}" for first, last in runs)
    alone = UNSPACED.pattern.removesuffix("+")
    return re.compile(f"{alone}[{marked}]*|(?:(?!{alone})\\w)(?:(?!{alone})[\\w{marked}])*")


@functools.lru_cache(maxsize=200_000)
def _fold(word: str) -> str:
    """A word without regard to case and accents."""
    if word.isascii():
        return sys.intern(word.lower())
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", word).casefold())
    return "".join(character for character in plain if not unicodedata.combining(character)) or word


def ends_sentence(text: str, before: Word, after: Word) -> bool:
    """Whether a sentence ends between two words that follow each other."""
    if after.start - before.end == 1 and text[before.end] in " -":
        return False
    gap = text[before.end : after.start]
    if gap.startswith(". ") and before.end - before.start > _ABBREVIATION:
        return True
    return _sentence_end(gap) is not None


def _apart(spans: Iterable[Span]) -> list[Span]:
    """The spans that stay where some overlap, in their order."""
    kept: list[Span] = []
    taken: set[int] = set()  # words
    for span in sorted(spans, key=lambda span: (span.start - span.end, span.start)):
        # What is taken was by longer ones, so that one that lies within this has a word at its edge.
        if span.first not in taken and span.last - 1 not in taken:
            kept.append(span)
            taken.update(range(span.first, span.last))
    return sorted(kept, key=lambda span: span.start)
