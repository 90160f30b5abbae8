"""The driver's errors as our own: they are all ValueErrors or panics, which their words alone tell apart."""

from __future__ import annotations

from typing import NoReturn

from worlds.errors import ConflictError, IntegrityError, OpenError, QueryError, ReadOnlyError, WorldsError

_MESSAGES: tuple[tuple[str, type[WorldsError], str], ...] = (
    ("readonly database", ReadOnlyError, "the world is read-only"),
    ("read-only", ReadOnlyError, "the world is read-only"),
    ("database is locked", ConflictError, "another process holds the world's write lock"),
    ("database table is locked", ConflictError, "another statement holds the table"),
    ("disk is full", IntegrityError, "the disk is full, and nothing was changed: make room, and do it again"),
    ("disk I/O error", IntegrityError, "the file could not be read or written"),
    ("no such savepoint", WorldsError, "the transaction around this one is over already, so this one was not kept"),
    ("libsql_vector_idx", IntegrityError, "the file has libSQL's vector index, which SQLite cannot keep in step"),
    ("no such table", IntegrityError, "the file is damaged: a table is missing"),
    ("no such view", IntegrityError, "the file is damaged: a view is missing"),
    ("file is not a database", OpenError, "not a world: the file is not a database, or the key is wrong"),
    ("malformed", IntegrityError, "the file is damaged: restore a backup"),
    ("SQL logic error", IntegrityError, "the file is damaged: restore a backup"),
    ("constraint failed", IntegrityError, "the file is damaged: restore a backup"),
    ("no such column", IntegrityError, "the file is damaged: restore a backup"),
    ("has no column named", IntegrityError, "the file is damaged: restore a backup"),
    ("interrupted", QueryError, "the statement was interrupted"),
    ("'utf-8' codec", IntegrityError, "the file is damaged, a text in it is not UTF-8: restore a backup"),
    ("Utf8Error", IntegrityError, "the file is damaged, a text in it is not UTF-8: restore a backup"),
    ("vtable constructor failed", IntegrityError, "the full-text index is damaged: restore a backup"),
    ("vector index(", IntegrityError, "the vector index is damaged: compact() builds it anew"),
    ("fts5: checksum mismatch", IntegrityError, "the full-text index is damaged: compact() builds it anew"),
    ("fts5:", QueryError, "the full-text query is not valid"),
    ("unterminated string", QueryError, "the full-text query is not valid"),
)


def fail(error: BaseException, path: str) -> NoReturn:
    """Raise what the driver raised as one of our errors; what is not its own as it is."""
    panic = type(error).__name__ == "PanicException"  # a BaseException, as a KeyboardInterrupt is
    if isinstance(error, (TypeError, MemoryError, OSError, WorldsError)) or not (panic or isinstance(error, Exception)):
        raise error
    raise _mapped(error, path) from error


def _mapped(error: BaseException, path: str) -> WorldsError:
    text = str(error)
    for fragment, kind, message in _MESSAGES:
        if fragment in text:
            return kind(f"{path}: {message} ({text})")
    if "unable to open" in text.lower():
        return OpenError(f"{path}: the file cannot be opened or created ({text})")
    return WorldsError(f"{path}: {text}")
