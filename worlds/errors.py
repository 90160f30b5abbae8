"""The errors a caller can meet.

    WorldsError
    ├── OpenError        the file is missing, locked, not a world, unreadable, or the key is wrong
    ├── SchemaError      the world was written by a newer or an unknown schema
    ├── ParseError       RDF input that does not parse (source, line, column)
    ├── QueryError       SPARQL or full-text input that does not parse or cannot be evaluated (line, column)
    │   └── QueryTimeout     the time limit passed
    ├── FilterError      a search filter names something that cannot be a filter
    ├── EmbedderError    no embedder, the wrong embedder, or one that failed
    ├── ReadOnlyError    a write to a world that was opened, or lies, read-only
    ├── ConflictError    another writer holds the world, or a later change stands in the way
    └── IntegrityError   the file, or what it holds, is damaged; also a full disk

A call that raises leaves the world as it was before the call.
"""

from __future__ import annotations


class WorldsError(Exception):
    """Base of every error that this package raises on purpose."""


class OpenError(WorldsError):
    """The world cannot be opened: missing, locked, not a world, or the wrong key."""


class SchemaError(WorldsError):
    """The world's schema is newer than this library, or unknown to it."""


class _LocatedError(WorldsError):
    """An error with a place in some input; `line` and `column` count from 1, None where unknown."""

    def __init__(
        self,
        message: str,
        *,
        source: str | None = None,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        self.source = source
        self.line = line
        self.column = column
        place = ", ".join(
            part
            for part in (
                source,
                f"line {line}" if line is not None else None,
                f"column {column}" if column is not None else None,
            )
            if part
        )
        super().__init__(f"{place}: {message}" if place else message)


class ParseError(_LocatedError):
    """RDF input that does not parse; `.source`, `.line` and `.column` say where."""


class QueryError(_LocatedError):
    """A query that does not parse or cannot be evaluated; `.line` and `.column` say where."""


class QueryTimeout(QueryError):  # noqa: N818  # the name is a contract
    """A query was stopped at its time limit."""


class FilterError(WorldsError):
    """A search filter that cannot be one; the message names the filter and the value."""


class EmbedderError(WorldsError):
    """No embedder, one that does not fit the world, or one that failed; the message names the remedy.

    `.kind` tells failures apart: "auth" (the key is wrong or lacks a right), "rate limit", "timeout", "network" (it
    cannot be reached), "server" (it failed on its side), "protocol" (its answer makes no sense), "input" (it does
    not take these texts), else "other".
    """

    def __init__(self, message: str, *, kind: str = "other") -> None:
        self.kind = kind
        super().__init__(message)


class ReadOnlyError(WorldsError):
    """A write to a world that is read-only."""


class ConflictError(WorldsError):
    """Another writer holds the world, or a later change stands in the way."""


class IntegrityError(WorldsError):
    """The file or its content is damaged, or could not be written (a full disk)."""
