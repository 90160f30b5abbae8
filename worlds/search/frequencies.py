"""How much the terms of a question tell: the fewer texts have one, the more."""

from __future__ import annotations

import math
from collections.abc import Sequence

from worlds.sql import statements
from worlds.sql.connection import Connection

_SQL = statements("queries.sql")
_MOST = 10_000  # terms that are remembered


class Frequencies:
    """In how many chunks the terms of queries stand; remembered while the world stays as it is."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._state: object = None
        self._chunks = 0
        self._counts: dict[str, int] = {}

    def weigh(self, terms: Sequence[str], state: object) -> list[tuple[str, float]]:
        """Each term, an FTS5 expression, with its inverse document frequency as FTS5's BM25 has it, from 0 on."""
        if state != self._state or len(self._counts) > _MOST:
            self._state, self._counts = state, {}
            self._chunks = self._connection.value(_SQL["count_chunks"])
        return [(term, self._weight(term)) for term in terms]

    def _weight(self, term: str) -> float:
        count = self._counts.get(term)
        if count is None:
            count = self._counts[term] = self._connection.value(_SQL["count_matches"], (term,))
        return math.log(max((self._chunks - count + 0.5) / (count + 0.5), 1.0))
