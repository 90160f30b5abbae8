"""Stems and kindred forms of a language's words, and the days that words name."""

from __future__ import annotations

import datetime
import re
import tomllib
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import islice

_TOKEN = re.compile(r"\d+(?:[.,]\d+)*[^\W\d_]*|[^\W\d_]+(?:['’][^\W\d_]+)?")
_ENDINGS = ("ing", "ed", "er", "or", "es", "s", "e")
_LEAST = 3  # letters of a stem
_MOST_WORDS = 100  # of a question that are read
_ISO = re.compile(r"\d{4}-\d\d(?:-\d\d)?(?![\d-])")
_DAY = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?")
_YEAR = re.compile(r"\d{4}")
_DAYS = len("1990-05-03")
_KIN = 5  # letters that two words with one root share at least


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
        if word.endswith("ies") and len(word) > _LEAST + 2:
            return word[:-3] + "y"
        if word.endswith(("sses", "xes", "ches", "shes", "zes")):
            return word[:-2]
        if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > _LEAST:
            word = word[:-1]
        return self.forms.get(word, word)

    def root(self, word: str) -> str:
        """The stem without the ending of a verb or of who does it: "directed", "director" and "directs" have one."""
        stem = self.stem(word)
        for ending in _ENDINGS:
            if stem.endswith(ending) and len(stem) - len(ending) >= _LEAST:
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
