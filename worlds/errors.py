"""The errors a caller can meet.

    WorldsError
    ├── OpenError        the file is missing, locked, not a world, unreadable, or the key is wrong
    ├── SchemaError      the world was written by a newer version, or before the first release
    ├── ParseError       RDF input that does not parse (source, line, column)
    ├── QueryError       SPARQL or full-text input that does not parse or cannot be evaluated (line, column)
    │   └── QueryTimeout     the time limit passed
    ├── FilterError      a search filter names something that cannot be a filter
    ├── ShapesError      SHACL shapes that are not well formed, or that ask for what cannot be checked
    ├── ValidationError  a write that violates the shapes, where the guard rejects it (its report)
    ├── EmbedderError    no embedder, the wrong embedder, or one that failed
    ├── ReadOnlyError    a write to a world that was opened, or lies, read-only
    ├── ConflictError    another writer holds the world, or a later change stands in the way
    ├── UncertainError   a server did not say whether it kept a write
    └── IntegrityError   the file, or what it holds, is damaged; also a full disk

A call that raises leaves the world as it was before the call. A value that an option cannot have is a ValueError.

Each carries its kind, the HTTP status that a server answers with, and the exit code that a command ends with.
"""

from __future__ import annotations

from typing import Any


class WorldsError(Exception):
    """Base of every error that this package raises on purpose.

    `.kind` is a word for programs, `.status` the HTTP status and `.exit_code` that of a command.
    """

    kind = "other"
    status = 400
    exit_code = 9

    def __init__(self, message: str = "", *, kind: str | None = None) -> None:
        if kind is not None:
            self.kind = kind
        super().__init__(message)


class OpenError(WorldsError):
    """The world cannot be opened: missing, locked, not a world, or the wrong key.

    `.kind` is "gone" where there is no file, or no longer the one that was opened.
    """

    kind = "open"
    status = 503  # the world is there, or the server would have answered 404
    exit_code = 3


class SchemaError(WorldsError):
    """The world's schema is newer than this library, or older than the first release."""

    kind = "schema"
    status = 503
    exit_code = 3


class _LocatedError(WorldsError):
    """An error with a place in some input; `line` and `column` count from 1, None where unknown."""

    def __init__(
        self,
        message: str,
        *,
        source: str | None = None,
        line: int | None = None,
        column: int | None = None,
        kind: str | None = None,
    ) -> None:
        self.source = source
        self.line = line
        self.column = column
        numbers = [f"{name} {number}" for name, number in (("line", line), ("column", column)) if number is not None]
        place = ", ".join([*([source] if source else []), *numbers])
        super().__init__(f"{place}: {message}" if place else message, kind=kind)


class ParseError(_LocatedError):
    """RDF input that does not parse; `.source`, `.line` and `.column` say where."""

    kind = "parse"
    exit_code = 4


class QueryError(_LocatedError):
    """A query that does not parse or cannot be evaluated; `.line` and `.column` say where.

    `.kind` is "prefix" where `.prefix` is not known, "results" and "memory" where it passed that limit, "network" where
    it may not reach the network, "interrupted" where somebody stopped it, else "query". `.repair` is the query that may
    have been meant, of one that was asked with `repair=True`, if there is one (`worlds.graph.query.results.Repair`).
    """

    kind = "query"
    exit_code = 5

    def __init__(self, message: str, *, prefix: str | None = None, **where: Any) -> None:
        self.prefix = prefix
        self.repair: Any = None
        super().__init__(message, **where)


class QueryTimeout(QueryError):  # noqa: N818  # the name is a contract
    """A query was stopped at its time limit."""

    kind = "timeout"
    status = 503  # not 408, which blames the client for a request that came too slowly


class FilterError(WorldsError):
    """A search filter that cannot be one; the message names the filter and the value."""

    kind = "filter"
    exit_code = 5


class ShapesError(WorldsError):
    """SHACL shapes that are ill-formed, or cannot be checked; nothing was validated."""

    kind = "shapes"
    exit_code = 4


class ValidationError(WorldsError):
    """A write that violates the world's shapes, which its guard rejects; `.report` has the new violations."""

    kind = "validation"
    status = 422
    exit_code = 4

    def __init__(self, message: str, report: Any = None) -> None:
        self.report = report
        super().__init__(message)


class EmbedderError(WorldsError):
    """No embedder, one that does not fit the world, or one that failed; the message names the remedy.

    `.kind` tells failures apart: "auth" (the key is wrong or lacks a right), "rate limit", "timeout", "network" (it
    cannot be reached), "server" (it failed on its side), "protocol" (its answer makes no sense), "input" (it does
    not take these texts), else "other".
    """

    status = 503
    exit_code = 6

    def __init__(self, message: str, *, kind: str = "other") -> None:
        super().__init__(message, kind=kind)
        if kind in ("input", "other"):  # the request wants what this world's embedder is not for
            self.status = 400


class ReadOnlyError(WorldsError):
    """A write to a world that is read-only."""

    kind = "read-only"
    status = 403
    exit_code = 7


class ConflictError(WorldsError):
    """Another writer holds the world, or a later change stands in the way."""

    kind = "conflict"
    status = 409
    exit_code = 7


class UncertainError(WorldsError):
    """A world's server did not say whether it kept a write, and could not be asked again: look before writing anew."""

    kind = "uncertain"
    status = 503
    exit_code = 7


class IntegrityError(WorldsError):
    """The file or its content is damaged, or could not be written (a full disk)."""

    kind = "integrity"
    status = 500
    exit_code = 8


class ArgumentError(ValueError):
    """A ValueError with a `kind` for programs.

    `.kind` is "name" (`.name` is neither an IRI nor a name with a known prefix; `.prefix` is one that is not known),
    "cursor", "revision", "entity" or "proposal".
    """

    def __init__(self, message: str, *, kind: str = "name", name: str | None = None, prefix: str | None = None) -> None:
        self.kind = kind
        self.name = name
        self.prefix = prefix
        super().__init__(message)
