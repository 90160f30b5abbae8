"""Cells and records of CSV: what goes out is safe to open in a spreadsheet, and what comes in tells its lines."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator

from worlds.errors import ParseError

MOST = 32_000
"""Characters of a cell that goes out, as UTF-16 counts them; Excel takes 32,767."""

_LONGEST = 1 << 24  # characters of a cell that comes in
# What a spreadsheet would run (https://owasp.org/www-community/attacks/CSV_Injection): an apostrophe keeps it a text.
_RISKY = frozenset("'=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
_formula = re.compile("'*[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]").match
_kept = re.compile("'+[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]").match
_number = re.compile(r"[+-](?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|[+-]INF").fullmatch


def is_formula(text: str) -> bool:
    """Whether a spreadsheet may run a cell: it begins as a formula does, and is no number."""
    return text[:1] in _RISKY and text[0] != "'" and not _number(text)


def is_escaped(text: str) -> bool:
    """Whether a cell looks like one that was `escaped`."""
    return _kept(text) is not None


def escaped(text: str, *, number: bool = False) -> str:
    """A text that no spreadsheet takes for a formula; with `number` one that reads as a number is left as it is."""
    return "'" + text if text[:1] in _RISKY and _formula(text) and not (number and _number(text)) else text


def unescaped(text: str) -> str:
    """The text that was escaped."""
    return text[1:] if text[:1] == "'" and _kept(text) else text


def fits(text: str) -> bool:
    """Whether a text, once it is escaped, is no longer than a cell may be."""
    return len(text) < MOST // 2 or len(text.encode("utf-16-le", "replace")) // 2 < MOST


def cell(text: str, whole: str, *, number: bool = False) -> str:
    """A text as a cell of CSV that goes out; one that is cut ends with its length and where the `whole` is."""
    if len(text) < MOST // 2 and text[:1] not in _RISKY:
        return text
    if fits(text):
        return escaped(text, number=number)
    more = f"… [cut: {len(text):,} characters, the whole is in {whole}]"
    room = MOST - 1 - len(more)
    return escaped(text.encode("utf-16-le", "replace")[: 2 * room].decode("utf-16-le", "ignore") + more)


def records(
    lines: Iterable[str], source: str, *, delimiter: str = ",", quote: str | None = '"', first: int = 1
) -> Iterator[tuple[int, list[str]]]:
    """The records of CSV (RFC 4180), each with the number of the line that it begins in; `first` is that of the first.

    ParseError, with that line, for a record whose quotes are wrong.
    """
    csv.field_size_limit(max(csv.field_size_limit(), _LONGEST))
    found = csv.reader(lines, delimiter=delimiter, quotechar=quote or None, strict=True)
    line = first
    try:
        for row in found:
            yield line, row
            line = first + found.line_num
    except csv.Error as error:
        last = first + found.line_num - 1
        where = "" if last <= line else f", which goes on to line {last}"
        why = "a quote in it is not closed" if "unexpected end" in str(error) else str(error)
        raise ParseError(f"the row that begins here{where} cannot be read: {why}", source=source, line=line) from error
