"""How names are compared, and what makes it likely that one of them is meant."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from heapq import heappop, heappush
from typing import Any, Literal, TypeAlias

import numpy as np

from worlds.entities.likeness import bounds, likeness
from worlds.graph.records import Iri, Record
from worlds.graph.tabular import Tabular

_LONGEST = 300  # characters of a name that are compared
_ALIKE = 0.8  # similarity of spelling from which on a name is a misspelt one
_LIKELY = 0.5  # confidence of a match
_POSSIBLE = 0.3  # confidence below which nothing matches
_APART = 0.2  # by how much the best has to lead

words = re.compile(r"\w+").findall
_brackets = re.compile(r"\s*(.*\S)\s+\(([^\W_]{2,12})\)\s*").fullmatch
_SMALL = frozenset({"a", "an", "and", "for", "in", "of", "on", "or", "the", "to", "with"})
_article = re.compile(r"\s*(?:the|an?)\s+(?=\w)", re.IGNORECASE)

Outcome: TypeAlias = Literal["match", "ambiguous", "no match"]

FEATURES = ("label", "alias", "spelling", "words", "prefix", "rivals", "lead", "cosine", "context")
"""What a confidence is made from; see `features`."""

# By `python -m benchmarks.resolving`: a logistic regression on hidden, misspelt and absent names of vocabularies.
WEIGHTS: Mapping[str, tuple[float, ...]] = {
    "text": (2.744, 0.502, 6.250, -0.132, 0.063, -0.820, 6.957, 0.000, 1.348, -6.462),
    "hybrid": (2.969, 0.630, 3.696, -1.273, 0.015, -0.554, 8.779, 2.297, 1.532, -5.581),
}


@dataclass(frozen=True, slots=True)
class Candidate(Record):
    """An entity that a name may mean, and why.

    `confidence`, from 0 to 1, is the chance that it is meant. `kind` says how `matched`, one of its names, fits:
    "exact" (its label), "alias", "prefix" (one begins with the other), "fuzzy" (written alike) or "semantic" (near in
    meaning only). `score` is the likeness of spelling, `similarity` the cosine or None, `context` the share of the
    context's words that are said of the entity; all from 0 to 1.
    """

    iri: Iri
    label: str | None
    confidence: float
    kind: str
    matched: str
    score: float
    similarity: float | None
    context: float
    types: tuple[Iri, ...]


@dataclass(frozen=True)
class Resolution(Record, Tabular):
    """Whom a name means: "match", "ambiguous" (several are as likely), or "no match"."""

    name: str
    outcome: Outcome
    candidates: tuple[Candidate, ...]  # the likeliest first
    notes: tuple[str, ...] = ()  # what is odd: names that the world does not know, why nothing matches

    @property
    def best(self) -> Candidate | None:
        """The one that is meant; None unless the outcome is "match"."""
        return self.candidates[0] if self.outcome == "match" else None

    @property
    def _columns(self) -> Sequence[str]:
        return ("iri", "label", "confidence", "kind", "matched")

    def to_dicts(self) -> list[dict[str, Any]]:
        """One dict a candidate."""
        return [{name: told[name] for name in self._columns} for told in self.to_dict()["candidates"]]


@dataclass
class Named:
    """An entity that has a name like the one sought."""

    subject: Any
    label: str | None
    types: tuple[Any, ...]
    names: set[tuple[str, str]] = field(default_factory=set)  # (text, role)
    matched: str = ""
    form: str = ""  # of what matched, as it is compared
    role: str = "alias"
    spelling: float = -1.0
    similarity: float | None = None
    context: float = 0.0

    def near(self, similarity: float) -> None:
        """Keep the greatest cosine."""
        self.similarity = similarity if self.similarity is None else max(similarity, self.similarity)

    @property
    def forms(self) -> list[str]:
        """The forms of all its names, as they are compared."""
        return [form for text, _ in self.names for form in forms(text[:_LONGEST])]

    def compare(self, sought: str) -> float:
        """Choose the name that fits best; how alike it is written."""
        spellings = (
            (likeness(sought, form), role == "label", text, form)
            for text, role in self.names
            for form in forms(text[:_LONGEST])
        )
        self.spelling, label, self.matched, self.form = max(spellings)
        self.role = "label" if label else "alias"
        return self.spelling


def normal(text: str) -> str:
    """What two spellings of a name have in common: the words in lower case, without punctuation."""
    readable = text.encode("utf-8", "replace").decode().replace("\0", " ")
    folded = unicodedata.normalize("NFKC", readable).casefold()
    return " ".join(words(folded)) or folded.strip()


@lru_cache(maxsize=1 << 15)  # of many names that are resolved, most have candidates in common
def forms(name: str) -> tuple[str, ...]:
    """The normal name; of "Armstrong, Neil" also "neil armstrong", of "I.B.M." also "ibm".

    Of "Impact Assessment (IA)", where the letters are those of the words, also "impact assessment" and "ia".
    """
    found = [normal(name)]
    last, comma, first = name.partition(",")
    if comma and "," not in first and last.strip() and first.strip():
        found.append(normal(f"{first} {last}"))
    letters = found[0].split()
    if "." in name and len(letters) > 1 and all(len(letter) == 1 for letter in letters):
        found.append("".join(letters))
    if name.endswith(")") and (match := _brackets(name)):
        long, short = match.groups()
        initials = "".join(word[0] for word in normal(long).split() if word not in _SMALL)
        if short.casefold() in (initials, "".join(word[0] for word in normal(long).split())):
            found += [normal(long), normal(short)]
    return tuple(found)


def readings(name: str) -> list[str]:
    """The forms of a name, and where it begins with an English article, the normal one without."""
    return list(dict.fromkeys((*forms(name), normal(_article.sub("", name, count=1)))))


def overlap(one: Iterable[str], other: Iterable[str]) -> float:
    """The share of words that two names have in common, of all their words."""
    a, b = set(one), set(other)
    return len(a & b) / len(a | b) if a | b else 0.0


def nearest(sought: str, named: Sequence[Named], count: int) -> list[Named]:
    """The `count` of them that are written most like a name, and those as alike as the last; compared with it.

    Those that are too unlike even at most are not compared.
    """
    if not named:
        return []
    spelt = [one.forms for one in named]
    starts = np.cumsum([0, *map(len, spelt[:-1])])
    most = np.maximum.reduceat(bounds(sought, [form for told in spelt for form in told]), starts)
    compared: list[Named] = []
    best: list[float] = []  # a heap
    for at in np.argsort(-most, kind="stable").tolist():
        if len(best) == count and most[at] < best[0]:
            break
        compared.append(named[at])
        heappush(best, named[at].compare(sought))
        if len(best) > count:
            heappop(best)
    return [one for one in compared if one.spelling >= best[0]]


def features(sought: str, named: Named, others: Sequence[Named]) -> tuple[float, ...]:
    """What tells a right candidate from a wrong one, in the order of `FEATURES`."""
    found = named.form
    exact = named.spelling == 1.0
    rivals = [other.spelling for other in others if other is not named]
    return (
        float(exact and named.role == "label"),
        float(exact and named.role != "label"),
        named.spelling,
        overlap(sought.split(), found.split()),
        float(not exact and (found.startswith(sought) or sought.startswith(found))),
        math.log1p(sum(spelling >= named.spelling for spelling in rivals)),
        named.spelling - max(rivals, default=0.0),
        0.0 if named.similarity is None else max(named.similarity, 0.0),
        named.context - max((other.context for other in others if other is not named), default=0.0),
    )


def confidence(values: Sequence[float], weights: Sequence[float]) -> float:
    """The logistic function of the weighted features; the last weight stands alone."""
    total = sum(value * weight for value, weight in zip(values, weights, strict=False)) + weights[-1]
    return 1 / (1 + math.exp(-total))


def ranked(sought: str, close: Sequence[Named]) -> list[tuple[tuple[float, ...], Candidate]]:
    """The candidates, the likeliest first, each with its features.

    One of them is meant at most: what several that bear one name have together is no more than certain.
    """
    weights = WEIGHTS["hybrid" if any(one.similarity is not None for one in close) else "text"]
    told = [(one, features(sought, one, close)) for one in close]
    chances = [confidence(values, weights) for _, values in told]
    together: dict[str, float] = {}
    for one, chance in zip(close, chances, strict=True):
        together[one.form] = together.get(one.form, 0.0) + chance
    found = [
        (values, _candidate(sought, one, chance / max(together[one.form], 1.0)))
        for (one, values), chance in zip(told, chances, strict=True)
    ]
    return sorted(found, key=lambda item: (-item[1].confidence, -item[1].score, str(item[1].iri)))


def outcome(sought: str, close: Sequence[Named], found: Sequence[Candidate]) -> Outcome:
    """What candidates, the likeliest first, come to.

    Several that bear one name share its confidence. So whether the name is there at all is asked of the best one as if
    it bore the name alone. A name that others only begin with may mean any of them, where there are several.
    """
    if not found:
        return "no match"
    best = found[0]
    form = {one.subject: one.form for one in close}
    others = [one for one in close if one.subject == best.iri or one.form != form[best.iri]]
    alone = next(one for _, one in ranked(sought, others) if one.iri == best.iri)
    if alone.confidence < _POSSIBLE:
        return "ambiguous" if sum(one.form.startswith(f"{sought} ") for one in close) > 1 else "no match"
    lead = best.confidence - (found[1].confidence if len(found) > 1 else 0.0)
    return "match" if best.confidence >= _LIKELY and lead >= _APART else "ambiguous"


def _candidate(sought: str, one: Named, chance: float) -> Candidate:
    return Candidate(
        iri=one.subject,
        label=one.label,
        confidence=chance,
        kind=_kind(sought, one),
        matched=one.matched,
        score=one.spelling,
        similarity=one.similarity,
        context=one.context,
        types=one.types,
    )


def _kind(sought: str, one: Named) -> str:
    found = one.form
    if one.spelling == 1.0:
        return "exact" if one.role == "label" else "alias"
    if f"{found} ".startswith(f"{sought} ") or f"{sought} ".startswith(f"{found} "):
        return "prefix"
    return "fuzzy" if one.spelling >= _ALIKE or one.similarity is None else "semantic"
