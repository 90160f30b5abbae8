"""How much the terms of a question tell: the fewer texts have one, the more."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from worlds.sql import statements
from worlds.sql.connection import Connection

_SQL = statements("queries.sql")
_MOST = 10_000  # terms that are remembered
_LEAST = 1e-6  # what BM25 gives a term that more than half of the texts have


class Frequencies:
    """In how many chunks the terms of queries stand; remembered while the world stays as it is."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._state: object = None
        self._chunks = 0
        self._counts: dict[str, int] = {}

    def weigh(self, terms: Sequence[str], state: object) -> list[tuple[str, float]]:
        """Each term, an FTS5 expression, with its inverse document frequency as FTS5's BM25 has it, from 0 on."""
        return [(term, self._weight(count)) for term, count in self._counted(terms, state)]

    def matches(self, terms: Sequence[str], state: object) -> int:
        """In how many chunks the terms stand, one that has several of them counted as often."""
        return sum(count for _, count in self._counted(terms, state))

    def weights(self, terms: Sequence[str], state: object) -> list[tuple[str, float]]:
        """Each distinct term that stands anywhere, with what BM25 multiplies it by, as often as it was asked."""
        asked = Counter(terms)
        counted = self._counted(list(asked), state)
        return [(term, max(self._weight(count), _LEAST) * asked[term]) for term, count in counted if count]

    @property
    def average(self) -> float:
        """Tokens a chunk."""
        rows, tokens = read_numbers(self._connection.value(_SQL["text_averages"]) or b"\0\0")
        return tokens / max(rows, 1)

    def _counted(self, terms: Sequence[str], state: object) -> list[tuple[str, int]]:
        if state != self._state or len(self._counts) > _MOST:
            self._state, self._counts = state, {}
            self._chunks = self._connection.value(_SQL["count_chunks"])
        for term in terms:
            if term not in self._counts:
                self._counts[term] = self._connection.value(_SQL["count_matches"], (term,))
        return [(term, self._counts[term]) for term in terms]

    def _weight(self, count: int) -> float:
        return math.log(max((self._chunks - count + 0.5) / (count + 0.5), 1.0))


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
