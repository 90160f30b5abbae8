"""How much the terms of a question tell: the fewer texts have one, the more."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worlds.core.quads.dictionary import Ids
from worlds.errors import IntegrityError
from worlds.sql import statements
from worlds.sql.bound_values import reading
from worlds.sql.connection import Connection

_SQL = statements("queries.sql")
_POSTINGS = statements("postings.sql")
_BYTES = bytes(range(256))
_MOST = 10_000  # terms that are remembered
_LEAST = 1e-6  # what BM25 gives a term that more than half of the texts have
# What a text's share of the average length is raised to in BM25: below 1, short texts gain less by their length. Labels
# stand beside descriptions, and by FTS5's own measure, 1, a label with one word of a question is before the
# description with five. Measured in docs/benchmarks.md.
LENGTH = 0.6


class TextState(NamedTuple):
    """The state of the indexed texts: equal states have equal counts."""

    record: bytes  # FTS5's own, of how many rows there are and how many tokens they have
    last: int  # the last id of a chunk; none is given twice
    tokenized: str  # the CREATE statement, which says how texts become tokens
    readings: int  # how often stored texts were read anew, by the words of another language
    rollbacks: int  # of this connection, after which ids are given again
    shown: object  # which of the texts count; None for all


@dataclass(frozen=True)
class Corpus:
    """The counts of BM25, which can be added: texts, their tokens, and how many texts have each term."""

    rows: int
    tokens: int
    counts: Counter[str]  # by FTS5 expression

    def __add__(self, other: Corpus) -> Corpus:
        return Corpus(self.rows + other.rows, self.tokens + other.tokens, self.counts + other.counts)

    @property
    def average(self) -> float:
        """Tokens a text."""
        return self.tokens / self.rows if self.tokens else 1.0

    def telling(self, term: str) -> float:
        """The inverse document frequency of a term, 0 for one that more than half of the texts have."""
        count = self.counts[term]
        return math.log(max((self.rows - count + 0.5) / (count + 0.5), 1.0))

    def weight(self, term: str) -> float:
        """The factor by which BM25 multiplies a term."""
        return max(self.telling(term), _LEAST)


class Frequencies:
    """In how many chunks the terms of queries stand; remembered while the texts stay as they are."""

    def __init__(self, connection: Connection, shown: Callable[[], Ids | None]) -> None:
        """`shown` returns the chunks that count, ascending; None for all."""
        self._connection = connection
        self._shown = shown
        self._state: TextState | None = None
        self._counts: dict[str, int] = {}
        self.rows = 0  # chunks
        self.tokens = 0  # of all of them
        self.lengths: NDArray[np.float64] = np.empty(0)  # [chunk id], tokens; once `read_lengths` was called
        self.mask: NDArray[np.bool_] | None = None  # [chunk id], which count; None for all
        self._lengths_of: TextState | None = None

    def agree(self) -> TextState:
        """Bring the counts in step with the present texts."""
        record, last, tokenized, readings = self._connection.remembered(
            "texts", lambda: self._connection.rows(_SQL["state_of_texts"])[0]
        )
        shown = self._shown()
        seen = None if shown is None else self._connection.state()
        state = TextState(record, last, tokenized, int(readings), self._connection.rollbacks, seen)
        if state != self._state or len(self._counts) > _MOST:
            self._state, self._counts = state, {}
            with reading("the record of the full-text index"):
                self.rows, self.tokens = read_numbers(state.record)
            if shown is not None:
                self.read_lengths(state)
                self.rows, self.tokens = len(shown), int(self.lengths[shown].sum())
                self.mask = np.zeros(len(self.lengths), dtype=bool)
                self.mask[shown] = True
        return state

    def read_lengths(self, state: TextState) -> None:
        """Bring the lengths in step with the texts."""
        before = self._lengths_of
        if before == state:
            return
        if before is None or before[2:5] != state[2:5]:
            self.lengths = np.empty(0)  # otherwise they stay right, as no id is given twice
        known = len(self.lengths)
        lengths = np.zeros(state.last + 1)
        lengths[:known] = self.lengths
        statement = _POSTINGS["lengths"]
        chunks, tokens = self._connection.columns(statement, statement.bind(bytes=_BYTES, after=known - 1))
        least = np.concatenate([chunks, tokens]).min(initial=0)
        if len(chunks) != len(tokens) or least < 0 or chunks.max(initial=0) > state.last:
            raise IntegrityError("the full-text index is damaged: compact() builds it anew")
        lengths[chunks] = tokens
        self.lengths, self._lengths_of = lengths, state

    def corpus(self, terms: Iterable[str]) -> Corpus:
        """The counts of BM25 for these terms."""
        self.agree()
        for term in terms:
            if term not in self._counts:
                self._counts[term] = self._count(term)
        return Corpus(self.rows, self.tokens, Counter({term: self._counts[term] for term in terms}))

    def _count(self, term: str) -> int:
        if self.mask is None:
            return int(self._connection.value(_SQL["count_matches"], (term,)))
        return int(self.mask[self._connection.column(_POSTINGS["matching"], (term,))].sum())

    def note(self, term: str, count: int) -> None:
        """So many chunks have a term, as the texts are now."""
        self._counts[term] = count


def length_power(fusion: str, syntax: str, tokenizer: str) -> float:
    """The power to which a search raises the length of a text: 1, as in FTS5's bm25(), where ranks are fused, FTS5's
    syntax is asked, or letters are tokens."""
    return 1.0 if fusion == "rrf" or syntax == "fts5" or tokenizer == "trigram" else LENGTH


def read_numbers(block: bytes) -> tuple[int, int]:
    """The first two of SQLite's numbers of variable length: seven bits a byte, of which the last is below 128."""
    found: list[int] = []
    number = 0
    for byte in block:
        number = number << 7 | byte & 127
        if byte < 128:
            found.append(number)
            number = 0
    rows, tokens, *_ = (*found, 0, 0)
    return rows, tokens
