"""Values bound to a statement and read by it: numbers and texts, or the error of a damaged file."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worlds.errors import IntegrityError

INT_LIMIT = 2**31


@contextlib.contextmanager
def reading(what: str) -> Iterator[None]:
    """IntegrityError if something that was stored cannot be made into what it should be."""
    try:
        yield
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, SyntaxError, RecursionError) as error:
        raise IntegrityError(f"the file is damaged, {what} cannot be read: restore a backup ({error})") from error


def integers(column: str | None) -> NDArray[np.int64]:
    """The integers of a group_concat, as int64 [n]; NULL is none. IntegrityError for a part that is no integer."""
    try:
        return np.fromstring(column, dtype=np.int64, sep=",") if column else np.empty(0, dtype=np.int64)
    except (TypeError, ValueError) as error:
        raise IntegrityError(
            f"the file is damaged, a stored number cannot be read: restore a backup ({error})"
        ) from error


def stacked(columns: Sequence[NDArray[np.int64]], axis: int) -> NDArray[np.int64]:
    """Columns as one array; IntegrityError where their lengths or their numbers are of no world."""
    if len({len(column) for column in columns}) > 1:
        raise IntegrityError("the file is damaged, a number is missing in it: restore a backup")
    found: NDArray[np.int64] = np.stack(columns, axis=axis)
    if found.size and (found.max() >= INT_LIMIT or found.min() < -INT_LIMIT):
        raise IntegrityError("the file is damaged, a stored number is out of range: restore a backup")
    return found


def paged(row: Sequence[Any], after: int | None) -> tuple[int | None, NDArray[np.int64]]:
    """The last id of a page and its columns; see `Connection.page`."""
    last, *columns = row
    if last is not None and not (type(last) is int and -INT_LIMIT <= last < INT_LIMIT):
        raise IntegrityError(f"the file is damaged, {str(last)[:30]} is not a number of a row: restore a backup")
    if last is not None and after is not None and last <= after:
        raise IntegrityError("the file is damaged, its rows are not in order: restore a backup")
    return last, stacked([integers(column) for column in columns], 1)


def as_text(stored: str | bytes) -> str:
    """A text as it was stored: one with U+0000 is a BLOB of its UTF-8."""
    return stored.decode() if type(stored) is bytes else stored  # type: ignore[return-value]  # no other type


_BINDABLE = {int, str, bytes, float, type(None)}


def bound(parameters: Sequence[object]) -> tuple[object, ...]:
    """The parameters as a tuple that the driver binds faithfully; TypeError or IntegrityError for others."""
    if not parameters:
        return ()
    values = tuple(parameters)
    strange = set(map(type, values)) - _BINDABLE
    if strange:
        raise TypeError(f"a {strange.pop().__name__} cannot be bound")
    numbers = [value for value in values if type(value) is int]
    if numbers and not (min(numbers) >= -INT_LIMIT and max(numbers) < INT_LIMIT):
        beyond = max(numbers, key=abs)  # the driver would bind it as REAL
        raise IntegrityError(
            f"{beyond} is out of the range of a world's numbers: it comes from another file, or from a damaged one"
        )
    if "\0" in "\n".join([value for value in values if type(value) is str]):
        raise TypeError("a str with U+0000 would be read back cut: bind its UTF-8 as bytes")
    return values
