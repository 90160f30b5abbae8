"""The text matches by FTS5 itself: its MATCH and its bm25()."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from worlds.core.quads.dictionary import json_ids
from worlds.core.search.filters import Eligible
from worlds.core.search.fusion import BEST
from worlds.core.search.request import SearchRequest
from worlds.errors import QueryError, WorldsError
from worlds.sql import statements
from worlds.sql.connection import Connection

_SQL = statements("queries.sql")
_SHOWN = 200  # characters of an expression that an error repeats
_NO_COLUMN = re.compile(r"no such column: ([^)]*)")


class FullText:
    """BM25 of every text that matches an FTS5 expression; lower is better. As `Relevance` of posting lists."""

    def __init__(self, connection: Connection, match: str) -> None:
        self._connection = connection
        self._match = match

    def best(self, depth: int, eligible: Eligible | None) -> list[tuple[int, float]]:
        """The best of the eligible chunks with their values, best first."""
        mask = None if eligible is None else eligible.mask
        return self._connection.rows(BEST, BEST.bind(match=self._match, eligible=mask, depth=depth))

    def of(self, chunks: Sequence[int]) -> list[tuple[int, float]]:
        """(chunk, BM25) of the chunks among the given that match."""
        statement = _SQL["relevance_of_texts"]
        return self._connection.rows(statement, statement.bind(match=self._match, ids_json=json_ids(chunks)))

    def held(self, term: str, chunk: int) -> bool:
        """Whether a chunk has a term."""
        return bool(FullText(self._connection, term).of([chunk]))


@contextmanager
def checked(request: SearchRequest) -> Iterator[None]:
    """QueryError for an FTS5 expression of the caller's that SQLite refuses inside."""
    try:
        yield
    except WorldsError as error:
        if request.syntax != "fts5" or request.mode == "vector":
            raise
        column = _NO_COLUMN.search(str(error))
        why = (
            f"there is no column {column[1]!r}; words with a hyphen or a colon go into double quotes"
            if column
            else error
        )
        raise QueryError(f"the FTS5 expression {short(request.text)} is not valid: {why}") from error


def short(text: str) -> str:
    """A text as an error repeats it."""
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")
