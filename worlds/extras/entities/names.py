"""How names are compared, by their writing and words, and what makes it likely that one of them is meant."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from heapq import heappop, heappush
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from worlds.graph.records import Iri, Record
from worlds.graph.tabular import Tabular

_ALMOST = 0.99  # of names that are not equal
_WORD = 64  # characters of a name that fit into a machine word
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_LIKELY = 0.75  # chance of a match: below it, too many are wrong
_APART = 0.2  # by how much the best has to lead
_LONGEST = 300  # characters of a name that are compared
_ALIKE = 0.8  # similarity of spelling from which on a name is a misspelt one
_POSSIBLE = 0.3  # confidence below which nothing matches
_MEANT = 0.6  # confidence, at most, of what is found by its meaning alone
_ROLES = ("alias", "identifier", "label")  # of names, the surest last
_LEAD = 0.2  # of a spelling, beyond which it makes no difference
_WORDS_FIT = 0.98  # names of the same words in another order
words = re.compile(r"\w+").findall
_accents = re.compile("[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u00ad\u200b-\u200f\u2060\ufe00-\ufe0f\ufeff]+")
_ONE_LETTER = str.maketrans("łøđħı’‘‐‑–—", "lodhi''----")
_brackets = re.compile(r"\s*(.*\S)\s+\(([^\W_]{2,12})\)\s*").fullmatch
_explained = re.compile(r"\([^()]*\)")
_SMALL = frozenset({"a", "an", "and", "for", "in", "of", "on", "or", "the", "to", "with"})
_title = re.compile(
    r"^\s*(?:(?:dr|prof|professor|sir|dame|mr|mrs|ms|miss|mx|mme|mlle|rev|hon|herr|frau)\b\.?\s*)+(?=\w)", re.IGNORECASE
)
_degree = re.compile(r",?\s+(?:ph\.?\s?d|m\.?d|esq)\.?\s*$", re.IGNORECASE)
_article = re.compile(r"^\s*(?:the|an?)\s+(?=\w)", re.IGNORECASE)
Outcome: TypeAlias = Literal["match", "ambiguous", "no match"]
FEATURES = (
    "label", "exact", "reordered", "worst", "least", "part", "share", "parts", "more", "rivals", "lead", "numbers",
    "length", "edits", "known", "context",
)  # fmt: skip
"""The features that a confidence is made from; see `features`."""
_WORST = FEATURES.index("worst")
_SAME_WORD = 0.5  # how alike a word of the name and one of the candidate's are at least
_UNTOLD = 0.5  # confidence, at most, where a word of the name has none that is like it
# By `python -m benchmarks.resolving --fit`: a logistic regression on names of vocabularies.
WEIGHTS: tuple[float, ...] = (
    0.44, 1.937, 1.579, 3.569, 1.315, 2.343, -2.35, -0.721, 1.176, -0.211, 10.411, -0.272, 0.458, -0.124, -1.609, 1.992,
    -5.386,
)  # fmt: skip
MEANING: tuple[float, ...] = (6.377, 11.607, -9.767)
"""Of the cosine and its lead, for an entity that is found by its meaning alone."""


@lru_cache(maxsize=1 << 15)  # candidates are compared by each reading, then by the best one, as are names of a batch
def likeness(one: str, other: str) -> float:
    """The similarity of two normalised names, from 0 to 1; 1 only if they are equal.

    The share of characters in matching blocks (Ratcliff and Metzener 1988), as difflib's SequenceMatcher counts it.
    """
    if one == other:
        return 1.0
    return min(2.0 * _matching(one, other) / (len(one) + len(other)), _ALMOST)


def _matching(one: str, other: str) -> int:
    """The characters of the longest block that two texts share, of the longest before it and after it, and so on."""
    places, total = _places(other), 0
    waiting = [(0, len(one), 0, len(other))]
    while waiting:
        start, end, low, high = waiting.pop()
        at = to = size = 0
        before: dict[int, int] = {}  # how long the block is that ends at a place of the other
        for place in range(start, end):
            ends: dict[int, int] = {}
            for met in places.get(one[place], ()):
                if low <= met < high:
                    length = ends[met] = before.get(met - 1, 0) + 1
                    if length > size:
                        at, to, size = place - length + 1, met - length + 1, length
            before = ends
        if size:
            total += size
            if at > start and to > low:
                waiting.append((start, at, low, to))
            if at + size < end and to + size < high:
                waiting.append((at + size, end, to + size, high))
    return total


@lru_cache(maxsize=1 << 13)
def _places(text: str) -> dict[str, list[int]]:
    """Character → its positions in a text."""
    found: dict[str, list[int]] = {}
    for at, each in enumerate(text):
        found.setdefault(each, []).append(at)
    return found


def bounds(name: str, others: Sequence[str]) -> NDArray[np.float64]:
    """How alike a normal name and each of others, one at least, can be at most.

    Matching blocks are a common subsequence. The longest takes a step for each character of the others, of all at once
    (Hyyrö 2004, Bit-parallel LCS-length computation revisited); of a name beyond 64 characters only lengths count.
    """
    lengths = np.array([len(other) for other in others])
    short = len(name) <= _WORD
    common = _common(name, others, int(lengths.max())) if short else np.minimum(lengths, len(name))
    most = np.minimum(2.0 * common / np.maximum(lengths + len(name), 1), _ALMOST)
    return np.where([other == name for other in others], 1.0, most)


def _common(name: str, others: Sequence[str], width: int) -> NDArray[np.int64]:
    """The lengths of the longest common subsequences."""
    shown = np.array(others, dtype=f"U{max(width, 1)}").view(np.uint32).reshape(len(others), -1)
    own = np.array(sorted(set(name)) or [""], dtype="U1").view(np.uint32)
    bits = np.array(
        [sum(1 << at for at, each in enumerate(name) if ord(each) == code) for code in own], dtype=np.uint64
    )
    at = np.minimum(np.searchsorted(own, shown), len(own) - 1)
    steps = np.where((own[at] == shown) & (shown > 0), bits[at], np.uint64(0))
    state = np.full(len(others), _ALL)
    for step in steps.T:
        met = state & step
        state = (state + met) | (state - met)
    low = _ALL >> np.uint64(_WORD - len(name)) if name else np.uint64(0)
    common: NDArray[np.int64] = np.bitwise_count(~state & low).astype(np.int64)
    return common


def stands_out(chances: Sequence[float]) -> bool:
    """Whether the first of chances, the greatest, is that of a match: likely, and well before the next."""
    return bool(chances) and chances[0] >= _LIKELY and chances[0] - max(chances[1:], default=0.0) >= _APART


def weighed(chances: Sequence[float], ratios: Sequence[float]) -> list[float]:
    """Chances, of which one at most comes true, after evidence that is so much likelier where it does.

    The evidence is as likely as 1 where none does.
    """
    found = []
    for at, (chance, ratio) in enumerate(zip(chances, ratios, strict=True)):
        rivals = [(other, ratios[place]) for place, other in enumerate(chances) if place != at]
        none = max(0.0, 1.0 - chance - sum(other for other, _ in rivals))
        against = sum(other * each for other, each in rivals) + none
        mean = against / (sum(other for other, _ in rivals) + none or 1.0)
        found.append(chance * ratio / (chance * ratio + (1.0 - chance) * mean or 1.0))
    return found


def alike(value: str, other: str, *, times: bool = False) -> float:
    """How alike two values are, from 0 to 1: numbers are equal or not, `times` if one begins with the other."""
    if times and min(len(value), len(other)) >= len("2026"):
        return float(value.startswith(other) or other.startswith(value))
    try:
        return float(float(value) == float(other))
    except ValueError:
        return likeness(" ".join(value.casefold().split()), " ".join(other.casefold().split()))


@dataclass(frozen=True, slots=True)
class Candidate(Record):
    """An entity that a name may mean, and why.

    `confidence`, from 0 to 1, is the chance that it is meant. `kind` says how `matched`, one of its names, fits:
    "exact" (its label), "alias", "identifier", "part" (one has all words of the other, and more), "fuzzy" (written
    alike) or "semantic" (near in meaning only). `score` is the likeness of spelling, `similarity` the cosine or None,
    `context` the share of the context's words that are said of the entity; all from 0 to 1. `apart` is a fact that
    tells it from other candidates of its label ("country: France"), where there are such.
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
    apart: str | None = None


@dataclass(frozen=True)
class Resolution(Record, Tabular):
    """The entities that a name may mean: "match", "ambiguous" (several are as likely), or "no match"."""

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
    worded: bool = False  # whether it was found by the words of a name

    def near(self, similarity: float) -> None:
        """Record the greatest cosine."""
        self.similarity = similarity if self.similarity is None else max(similarity, self.similarity)

    @property
    def forms(self) -> list[str]:
        """The forms of all its names, as they are compared."""
        return [form for text, _ in self.names for form in forms(text[:_LONGEST])]

    def has_more(self, words: Iterable[str]) -> bool:
        """Whether the name that was chosen has all of these words in its core, and others."""
        return set(words) < set(self.form.split()) and core(self.matched) >= set(words)

    def compare(self, sought: str) -> float:
        """Choose the name that fits best; how alike it is written."""
        spellings = (
            (fitting(sought, form, core(text)), _ROLES.index(role), text, form)
            for text, role in self.names
            for form in forms(text[:_LONGEST])
        )
        self.spelling, role, self.matched, self.form = max(spellings)
        self.role = _ROLES[role]
        return self.spelling


def normal(text: str) -> str:
    """The form that spellings of a name share: the words in lower case, without punctuation."""
    readable = text.encode("utf-8", "replace").decode().replace("\0", " ")
    folded = unicodedata.normalize("NFKC", readable).casefold()
    return " ".join(words(folded)) or folded.strip()


def spelt(text: str) -> str:
    """A name without regard to case, accents, spacing and typography: names of which this is the same are one name."""
    folded = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(unicodedata.normalize("NFC", _accents.sub("", folded)).translate(_ONE_LETTER).split())


def ways(written: str) -> Iterable[str]:
    """How a name that was written so may be stored, in other cases of its letters."""
    found = (written, written.lower(), written.title(), written.upper(), written[:1].upper() + written[1:])
    return dict.fromkeys(unicodedata.normalize("NFC", way.encode("utf-8", "replace").decode()) for way in found)


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
    """The forms of a name, and the normal one without an English article, and without titles ("Dr.", "Sir", "PhD")."""
    untitled = _degree.sub("", _title.sub("", name, count=1), count=1)
    return list(dict.fromkeys((*forms(name), normal(_article.sub("", name, count=1)), normal(untitled))))


def overlap(one: Iterable[str], other: Iterable[str]) -> float:
    """The share of words that two names have in common, of all their words."""
    a, b = set(one), set(other)
    return len(a & b) / len(a | b) if a | b else 0.0


def nearest(sought: str, named: Sequence[Named], count: int) -> list[Named]:
    """The `count` entities with the most similar names, and any as similar as the last; with their similarity.

    Those that are too unlike even at most are not compared.
    """
    if not named:
        return []
    spelt = [one.forms for one in named]
    starts = np.cumsum([0, *map(len, spelt[:-1])])
    every = [form for told in spelt for form in told]
    own = set(sought.split())
    by_words = np.array([_WORDS_FIT if own <= set(form.split()) else 0.0 for form in every])
    most = np.maximum.reduceat(np.maximum(bounds(sought, every), by_words), starts)
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


@lru_cache(maxsize=1 << 15)
def core(name: str) -> frozenset[str]:
    """The words of a name that identify it: words in brackets, which only explain, are left out."""
    return frozenset(normal(_explained.sub(" ", name)).split() or normal(name).split())


def fitting(sought: str, form: str, core: frozenset[str]) -> float:
    """How well a name fits: by its letters, or by its words, in any order, or where it has more of them in its core."""
    like = likeness(sought, form)
    own, other = sought.split(), form.split()
    if like == 1.0:
        return like
    if sorted(own) == sorted(other):
        return max(like, _WORDS_FIT)
    if set(own) < set(other) and core >= set(own):
        return max(like, 0.5 + 0.4 * sum(map(len, own)) / sum(map(len, other)))
    return like


def features(sought: str, named: Named, others: Sequence[Named], known: Collection[str] = ()) -> tuple[float, ...]:
    """The features of a candidate, in the order of `FEATURES`; `known` are words of the world."""
    own, found = sought.split(), named.form.split()
    exact = named.spelling == 1.0
    best = [_nearest_word(word, found, likeness) for word in own]
    back = [_nearest_word(word, own, lambda word, other: likeness(other, word)) for word in found]
    part = not exact and named.has_more(own)
    rivals = [other for other in others if other is not named]
    fits = [other.spelling for other in rivals]
    parts = [len(sought) / len(other.form) for other in others if other.has_more(own)] if part else []
    strange = [word for word in own if word not in found]
    return (
        float(exact and named.role == "label"),
        float(exact),
        float(not exact and sorted(own) == sorted(found)),
        min(best, default=0.0),
        min(back, default=0.0),
        float(part),
        part * max(parts, default=0.0),  # of the best: what is nearly whole may be another thing's whole name
        part * math.log(max(len(parts), 1)),
        float(not exact and set(found) < set(own)),
        math.log1p(sum(fit >= named.spelling for fit in fits)),
        min(named.spelling - max(fits, default=0.0), _LEAD),  # where few have names at all, it says little
        float(bool(_numbers(own)) and _numbers(own) != _numbers(found)),
        (not exact) * math.log(max(len(sought), 1)),
        math.log1p((1 - likeness(sought, named.form)) * (len(sought) + len(named.form))),
        sum(word in known for word in strange) / max(len(strange), 1),
        named.context - max((other.context for other in rivals), default=0.0),
    )


def _nearest_word(word: str, others: Sequence[str], likeness: Callable[[str, str], float]) -> float:
    """How alike the likest of other words is."""
    if word in others:
        return 1.0
    best, size = 0.0, len(word)
    for other in others:
        if 2 * min(size, len(other)) > best * (size + len(other)):  # else it cannot be more alike
            best = max(best, likeness(word, other))
    return best


def _numbers(found: Iterable[str]) -> set[str]:
    return {word for word in found if any(map(str.isdigit, word))}


def confidence(values: Sequence[float], weights: Sequence[float]) -> float:
    """The logistic function of the weighted features; the last weight stands alone."""
    total = sum(value * weight for value, weight in zip(values, weights, strict=False)) + weights[-1]
    return 1 / (1 + math.exp(-total))


def ranked(
    sought: str, close: Sequence[Named], known: Collection[str] = ()
) -> list[tuple[tuple[float, ...], Candidate]]:
    """The candidates, the likeliest first, each with its features.

    One of them is meant at most: what several that bear one name have together is no more than certain. What is found
    by its meaning alone shares what names leave, so vectors never take a match away.
    """
    worded = [one for one in close if one.worded]
    told = [(one, features(sought, one, worded, known)) for one in worded]
    chances = [min(confidence(values, WEIGHTS), 1.0 if values[_WORST] >= _SAME_WORD else _UNTOLD) for _, values in told]
    together: dict[str, float] = {}
    for one, chance in zip(worded, chances, strict=True):
        together[one.form] = together.get(one.form, 0.0) + chance
    found = [
        (values, _candidate(sought, one, chance / max(together[one.form], 1.0)))
        for (one, values), chance in zip(told, chances, strict=True)
    ]
    left = 1.0 - max((candidate.confidence for _, candidate in found), default=0.0)
    cosines = sorted((one.similarity or 0.0 for one in close), reverse=True)
    for one in close:
        if not one.worded:
            cosine = one.similarity or 0.0
            lead = cosine - next((other for other in cosines if other < cosine), 0.0) if cosine == cosines[0] else 0.0
            chance = left * min(confidence((cosine, lead), MEANING), _MEANT)
            found.append(((cosine, lead), _candidate(sought, one, chance)))
    return sorted(found, key=lambda item: (-item[1].confidence, -item[1].score, str(item[1].iri)))


def outcome(sought: str, close: Sequence[Named], found: Sequence[Candidate], known: Collection[str] = ()) -> Outcome:
    """The outcome for candidates, the likeliest first.

    Several that bear one name share its confidence. So whether the name is there at all is asked of the best one as if
    it bore the name alone. A name that others only begin with may mean any of them, where there are several.
    """
    if not found:
        return "no match"
    best = found[0]
    form = {one.subject: one.form for one in close}
    others = [one for one in close if one.subject == best.iri or one.form != form[best.iri]]
    alone = best
    if len(others) < len(close):
        alone = next(one for _, one in ranked(sought, others, known) if one.iri == best.iri)
    if alone.confidence < _POSSIBLE:
        own = set(sought.split())
        return "ambiguous" if sum(one.has_more(own) for one in close) > 1 else "no match"
    return "match" if stands_out([one.confidence for one in found]) else "ambiguous"


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
    own, found = set(sought.split()), set(one.form.split())
    if one.spelling == 1.0:
        return {"label": "exact"}.get(one.role, one.role)
    if own < found or found < own:
        return "part"
    return "semantic" if not one.worded else "fuzzy"
