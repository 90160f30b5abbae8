"""The stages after fusion, as functions over NumPy columns: reranking, boosts, decay, diversity, groups, pages.

Scores are float64 [n], higher is better, never below 0; an order is the candidates' indexes, best first. Where two
candidates are equal, the order before decides. Statements about candidates are read in
`worlds.core.search.answering`.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import pyoxigraph as ox
from numpy.typing import NDArray

from worlds.core.texts.segmentation import segment
from worlds.errors import ArgumentError

RANK_CONSTANT = 60
"""C: the greater, the less a candidate's rank counts beside the factors of boost and decay."""

Floats: TypeAlias = NDArray[np.float64]
Indexes: TypeAlias = NDArray[np.intp]
Ids: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True)
class Rerank:
    """Ask a cross-encoder about the first `top` candidates; after `timeout` seconds, their order stands."""

    model: object = field(repr=False)  # True, a name or path, or what has a method predict
    top: int
    timeout: float | None
    name: str = ""

    def __post_init__(self) -> None:
        if not self.name:
            named = self.model is True or isinstance(self.model, str)
            object.__setattr__(self, "name", str(self.model) if named else type(self.model).__name__)


@dataclass(frozen=True)
class Boost:
    """Multiply the scores of subjects that match `where` by `number`, or all by a `predicate`'s number."""

    number: float
    where: str | None = None
    predicate: ox.NamedNode | None = None


@dataclass(frozen=True)
class Decay:
    """Halve a score for every `half_life` days that have passed since the date under `predicate`."""

    predicate: ox.NamedNode
    half_life: float  # days
    now: float | None = None  # days since 1970 began, UTC; None is the moment of the search
    evergreen_types: tuple[ox.NamedNode, ...] = ()
    evergreen_predicates: tuple[ox.NamedNode, ...] = ()
    evergreen_flags: tuple[ox.NamedNode, ...] = ()


@dataclass(frozen=True)
class Stages:
    """The stages after fusion, in this order."""

    related: bool = False  # texts that a walk over the quads reaches from the first ones join them
    rerank: Rerank | None = None
    boosts: tuple[Boost, ...] = ()
    decay: Decay | None = None
    diversity: float | None = None  # the lambda of maximal marginal relevance
    per_subject: int | None = None  # None: hits are not grouped

    @property
    def any(self) -> bool:
        """Whether anything is done at all."""
        return self != Stages()


# -- scores -----------------------------------------------------------------------------------------------------------


def ordered(order: Indexes, scores: Floats) -> Indexes:
    """The order by the scores, the order before deciding between equal ones."""
    return order[np.argsort(-scores[order], kind="stable")]


def reranked(scores: Floats, row: Indexes, answers: Floats) -> Floats:
    """Scores after a cross-encoder has answered for the first len(answers) rows; `row` is each candidate's.

    Answers that are not all in [0, 1] are brought there by the logistic function. The scores of the rest are scaled
    to lie below, in proportion to the last that was asked about, so that they keep their order.
    """
    values = answers if answers.min() >= 0 and answers.max() <= 1 else logistic(answers)
    asked = row < len(values)
    found = np.empty(len(scores))
    found[asked] = values[row[asked]]
    last = scores[asked].min()
    found[~asked] = values.min() * (scores[~asked] / last if last > 0 else scores[~asked])
    return found


def logistic(values: Floats) -> Floats:
    """1 / (1 + e^-x), without overflow."""
    small = np.exp(-np.abs(values))
    return np.where(values >= 0, 1 / (1 + small), small / (1 + small))


def by_rank(order: Indexes, scores: Floats) -> Floats:
    """(C + 1) / (C + rank) for each candidate, the base that factors multiply; equal scores share a rank.

    Scores themselves say too much where two candidates are nearly equal and the lists are short: relative fusion gives
    the worse one 0, which no factor could lift.
    """
    falling = -scores[order]
    found = np.zeros(len(scores))
    found[order] = (RANK_CONSTANT + 1) / (RANK_CONSTANT + 1 + np.searchsorted(falling, falling))
    return found


def number_factors(numbers: Floats, weight: float) -> Floats:
    """1 + weight · ln(1 + x), where a number below 0 counts as 0; NaN, no number, gives 1."""
    return 1 + weight * np.log1p(np.maximum(np.nan_to_num(numbers, nan=0.0), 0))


def decay_factors(dates: Floats, now: float, half_life: float) -> Floats:
    """0.5 ^ (age / half-life) of dates in days; 1 for future dates and for NaN, which is no date."""
    ages = np.maximum(now - np.nan_to_num(dates, nan=np.inf), 0)
    return np.exp2(-ages / half_life)


def greatest(values: Floats, owner: Indexes, count: int) -> Floats:
    """The greatest value of each of `count` owners, NaN where all are; each owns at least one."""
    found = np.full(count, np.nan)
    np.fmax.at(found, owner, values)
    return found


_DATE = re.compile(
    r"\s*(-?\d{4})(?:-(\d\d)(?:-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d(?:\.\d+)?))?)?)?)?(Z|[+-]\d\d:?\d\d)?\s*", re.ASCII
)
_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


@lru_cache(maxsize=20_000)
def read_date(text: str) -> float | None:
    """Days from the beginning of 1970 (UTC) to a date as XSD or ISO 8601 write it, from the year alone on; or None.

    A year begins with its first day, and so on; without a time zone it is UTC.
    """
    match = _DATE.fullmatch(text)
    if match is None:
        return None
    year, month, day = int(match[1]), int(match[2] or 1), int(match[3] or 1)
    hour, minute, second = int(match[4] or 0), int(match[5] or 0), float(match[6] or 0)
    if not (1 <= month <= 12 and 1 <= day <= _DAYS[month - 1] and hour <= 24 and minute <= 59 and second <= 60):
        return None
    if month == 2 and day == 29 and (year % 4 or (year % 100 == 0 and year % 400)):
        return None
    days = _days_before(year, month) + day - 1
    zone = match[7]
    offset = 0 if zone in (None, "Z") else int(zone[0] + "1") * (int(zone[1:3]) * 60 + int(zone[-2:]))
    return days + (hour * 60 + minute - offset) / 1440 + second / 86_400


def _days_before(year: int, month: int) -> int:
    """Days from 1970 to the first of a month, in the Gregorian calendar for all time."""
    months = year * 12 + month - 3  # a year that begins in March ends with the leap day
    years, rest = divmod(months, 12)
    return years * 365 + years // 4 - years // 100 + years // 400 + (rest * 306 + 5) // 10 - 719_468


def read_number(text: str) -> float | None:
    """A finite number, or None."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if np.isfinite(number) else None


_LARGEST_TABLE = 1000  # texts that are compared all at once

# -- diversity --------------------------------------------------------------------------------------------------------


class TextSimilarity:
    """How alike the candidates' texts are: the cosine of their vectors, or Jaccard's index of words without.

    `vectors` is float32 [texts, d], of which the rows not in `known`, boolean [texts], mean nothing. Cosines are
    rounded to six decimals, so that equal vectors are equally like another one. `often` says that it will be asked
    about most of the texts. Where all vectors are known, no texts are needed.
    """

    def __init__(
        self, vectors: NDArray[np.float32], known: NDArray[np.bool_], texts: Sequence[str], *, often: bool
    ) -> None:
        self._vectors = vectors
        self._known = known
        self._unknown = np.flatnonzero(~known).tolist()
        self._texts = texts
        self._words: dict[int, frozenset[str]] = {}
        self._table: Floats | None = None
        if often and len(texts) <= _LARGEST_TABLE:
            self._table = _rounded(vectors @ vectors.T)

    def to(self, text: int) -> Floats:
        """The similarity of each text to one of them, [texts]."""
        if not self._known[text]:
            return np.array([jaccard(self._of(other), self._of(text)) for other in range(len(self._texts))])
        cosines = _rounded(self._vectors @ self._vectors[text]) if self._table is None else self._table[text]
        for other in self._unknown:
            cosines[other] = jaccard(self._of(other), self._of(text))
        return cosines

    def _of(self, text: int) -> frozenset[str]:
        if text not in self._words:
            self._words[text] = words(self._texts[text])
        return self._words[text]


def _rounded(cosines: NDArray[np.float32]) -> Floats:
    rounded = cosines.astype(np.float64)
    return np.round(rounded, 6, out=rounded)


def words(text: str) -> frozenset[str]:
    """The words of a text, without regard to case; of unspaced scripts, the letters."""
    return frozenset(re.findall(r"\w+", (segment(text) or text).casefold()))


def jaccard(one: Collection[str], other: Collection[str]) -> float:
    """The share of the words of both that either has; 0 where there are none."""
    common = len(frozenset(one) & frozenset(other))
    total = len(one) + len(other) - common
    return common / total if total else 0.0


def diversified(
    order: Indexes, scores: Floats, row: Indexes, alike: Callable[[int], Floats], trade: float, count: int
) -> tuple[Indexes, Floats, Floats]:
    """The first `count` by maximal marginal relevance (Carbonell and Goldstein, 1998), all scores, and likenesses.

    One after another that candidate is taken whose trade · relevance + (1 - trade) · (1 - its greatest likeness to
    one taken before, 0 at least) is greatest; that is its score then, so scores fall, and its likeness. Relevance is
    its score, brought to [0, 1] over all candidates. `row` is each candidate's text, `alike` how alike all texts are
    to one.
    """
    low, high = scores[order].min(), scores[order].max()
    relevance = (scores[order] - low) / (high - low) if high > low else np.ones(len(order))
    texts = row[order]
    worth = trade * relevance + (1 - trade)
    value = worth.copy()
    nearest, scaled = np.zeros(len(order)), np.empty(len(order))
    taken: list[int] = []
    likeness: list[float] = []
    gained: list[float] = []
    for _ in range(min(count, len(order))):
        best = int(value.argmax())
        taken.append(best)
        gained.append(value[best])
        likeness.append(nearest[best])
        worth[best] = -np.inf
        np.maximum(nearest, alike(int(texts[best]))[texts], out=nearest)
        np.multiply(nearest, 1 - trade, out=scaled)
        np.subtract(worth, scaled, out=value)
    chosen = order[np.array(taken, dtype=np.intp)]
    found, greatest_likeness = scores.copy(), np.zeros(len(scores))
    found[chosen] = gained
    greatest_likeness[chosen] = likeness
    return chosen, found, greatest_likeness


# -- groups -----------------------------------------------------------------------------------------------------------


def grouped(order: Indexes, scores: Floats, subjects: Ids, by_words: Floats) -> tuple[Indexes, Floats]:
    """The candidates grouped by subject, each with the score of its subject.

    A subject's score is s1 + t2/2 + t3/4 + …: its best candidate's score, and of the others, from the best on, the
    share that they have by words. Words in several texts of a subject are more of what was asked; a second text that
    is near tells nothing new, nor does another spelling of a name, whose share is given as 0. No number of candidates
    outweighs one that is twice as good.
    """
    best = order[np.lexsort((np.arange(len(order)), -scores[order]))]
    _, group = np.unique(subjects[best], return_inverse=True)
    by_group = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[by_group], np.arange(group.max(initial=-1) + 1))
    position = np.arange(len(best)) - starts[group[by_group]]
    parts = scores[best[by_group]] * np.where(position > 0, by_words[best[by_group]], 1.0)
    totals = np.bincount(group[by_group], weights=parts * np.exp2(-np.minimum(position, 60.0)))
    found = scores.copy()
    found[best] = totals[group]
    first = by_group[starts]  # where each group's best stands
    return best[np.lexsort((np.arange(len(best)), first[group], -totals[group]))], found


def at_most(order: Indexes, subjects: Ids, room: Callable[[int], int]) -> Indexes:
    """The order without the candidates for which their subject has no room."""
    left: dict[int, int] = {}
    kept = []
    for candidate, subject in zip(order.tolist(), subjects[order].tolist(), strict=True):
        left[subject] = (left[subject] if subject in left else room(subject)) - 1
        if left[subject] >= 0:
            kept.append(candidate)
    return np.array(kept, dtype=np.intp)


# -- pages ------------------------------------------------------------------------------------------------------------

Key: TypeAlias = tuple[int, int]  # (subject, or 0 for a hit that is not of a group; chunk)

_LONGEST_CURSOR = 4_000_000  # characters of what it says, uncompressed


class Cursor:
    """The position after the hits of the earlier pages."""

    def __init__(self, keys: Iterable[Key] = ()) -> None:
        self.keys = frozenset(keys)
        self._by_subject: dict[int, int] = {}
        for subject, _ in self.keys:
            self._by_subject[subject] = self._by_subject.get(subject, 0) + 1

    def of(self, subject: int) -> int:
        """How many hits of a subject were given."""
        return self._by_subject.get(subject, 0)

    def text(self, digest: str) -> str:
        """The cursor as it is given to a caller; `digest` is its search's."""
        columns: list[list[int]] = [[], []]
        before = (0, 0)
        for key in sorted(self.keys):
            columns[0].append(key[0] - before[0])
            columns[1].append(key[1] - before[1])
            before = key
        written = json.dumps([digest, *columns], separators=(",", ":")).encode()
        return base64.urlsafe_b64encode(zlib.compress(written, 9)).decode().rstrip("=")


def sent_cursor(text: object, digest: str) -> Cursor:
    """The cursor that `text` is; ArgumentError for any other text, and for a cursor of another search."""
    wrong = "cursor is not the cursor of a search"
    if not isinstance(text, str):
        raise ArgumentError(f"{wrong}: {text!r}", kind="cursor")
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars="-_", validate=True)
        reader = zlib.decompressobj()
        written = reader.decompress(raw, _LONGEST_CURSOR)
        if not reader.eof or reader.unused_data:
            raise ValueError("it is cut off, or has text after its end")
        found, subjects, chunks = json.loads(written)
        numbers = np.cumsum(np.array([subjects, chunks], dtype=np.int64).reshape(2, -1), axis=1)
    except (ValueError, TypeError, OverflowError, RecursionError, zlib.error) as error:
        raise ArgumentError(f"{wrong}: {text[:40]!r}", kind="cursor") from error
    if found != digest:
        raise ArgumentError("cursor belongs to another search: only limit may differ from page to page", kind="cursor")
    return Cursor(zip(*numbers.tolist(), strict=True))


def rest(order: Indexes, key: Callable[[int], Key], given: Cursor | None, limit: int) -> list[int]:
    """The first `limit` of the order that were not given before."""
    if given is None:
        first: list[int] = order[:limit].tolist()
        return first
    found: list[int] = []
    for candidate in order.tolist():
        if len(found) == limit:
            break
        if key(candidate) not in given.keys:
            found.append(candidate)
    return found
