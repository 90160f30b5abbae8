"""Reads tables: CSV, TSV, JSON lines and Excel, as rows of texts under the names of their columns."""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from worlds.errors import OpenError, ParseError, WorldsError

ENDINGS = (".csv", ".tsv", ".jsonl", ".ndjson", ".xlsx")
_LONGEST = 1 << 24  # characters of a cell
_SNIFFED = 1 << 16  # bytes
_MOST_COLUMNS = 10_000

Cell = str | list[str] | None
"""A cell's text, its texts where the format has lists, None for nothing."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a CSV file is written (CSVW's dialect description)."""

    delimiter: str = ","
    quote: str = '"'
    encoding: str = "utf-8"
    header: bool = True
    skip: int = 0  # lines before the header


def is_table(path: str) -> bool:
    """Whether a file is a table by its name."""
    return path.lower().endswith(ENDINGS)


class Table:
    """A table: `names` of its columns, and its rows, each with its number in the file; they can be read once."""

    def __init__(self, path: Path, dialect: Dialect | None = None) -> None:
        self.path = path
        self._dialect = dialect
        self.other_sheets: list[str] = []  # of an Excel file, which are not read
        self._lines = self._open()
        first = next(self._lines, None)
        self.names: list[str] = [] if first is None else [str(name or "").strip() for name in first[1]]
        if len(self.names) > _MOST_COLUMNS:
            raise ParseError(f"the table has {len(self.names):,} columns", source=str(path))

    def __iter__(self) -> Iterator[tuple[int, Sequence[Cell]]]:
        return self._lines

    def _open(self) -> Iterator[tuple[int, Sequence[Cell]]]:
        """The names first, then the rows."""
        ending = self.path.suffix.lower()
        if ending in (".jsonl", ".ndjson"):
            return self._json_lines()
        if ending == ".xlsx":
            return self._excel()
        return self._csv("\t" if ending == ".tsv" else None)

    def _csv(self, delimiter: str | None) -> Iterator[tuple[int, Sequence[Cell]]]:
        try:
            head = _head(self.path)
            dialect = self._dialect or sniffed(head, delimiter)
            with self.path.open(encoding=f"{dialect.encoding}-sig" if dialect.encoding == "utf-8" else dialect.encoding,
                                newline="") as stream:  # fmt: skip
                for _ in range(dialect.skip):
                    stream.readline()
                csv.field_size_limit(_LONGEST)
                rows: Iterator[list[str]] = csv.reader(
                    stream, delimiter=dialect.delimiter, quotechar=dialect.quote or None, strict=True
                )
                first = next(rows, None)
                if first is None:
                    return
                if not dialect.header:
                    yield 0, [f"_col.{place}" for place in range(1, len(first) + 1)]
                    rows = itertools.chain([first], rows)
                else:
                    yield 0, first
                yield from enumerate(rows, 1)
        except OSError as error:
            raise OpenError(f"{self.path} cannot be read: {error.strerror or error}") from error
        except (csv.Error, UnicodeDecodeError, LookupError) as error:
            raise ParseError(f"the table cannot be read: {error}", source=str(self.path)) from error

    def _json_lines(self) -> Iterator[tuple[int, Sequence[Cell]]]:
        names: dict[str, None] = {}
        try:
            with self.path.open(encoding="utf-8-sig") as stream:
                for number, line in enumerate(stream, 1):
                    if line.strip():
                        names |= dict.fromkeys(_object(line, number, self.path))
                yield 0, list(names)
                stream.seek(0)
                for number, line in enumerate(stream, 1):
                    if line.strip():
                        found = _object(line.removeprefix("\ufeff"), number, self.path)
                        yield number, [_of_json(found.get(name)) for name in names]
        except OSError as error:
            raise OpenError(f"{self.path} cannot be read: {error.strerror or error}") from error
        except UnicodeDecodeError as error:
            raise ParseError(f"the table is not UTF-8: {error}", source=str(self.path)) from error

    def _excel(self) -> Iterator[tuple[int, Sequence[Cell]]]:
        try:
            import openpyxl  # type: ignore[import-untyped]
        except ImportError as error:
            raise WorldsError("Excel needs openpyxl: pip install 'worlds-kg[sources]'") from error
        try:
            book = openpyxl.load_workbook(self.path, read_only=True, data_only=True)
            self.other_sheets = [sheet.title for sheet in book.worksheets[1:] if (sheet.max_row or 0) > 1]
            for number, row in enumerate(book.worksheets[0].iter_rows(values_only=True)):
                yield number, [_of_excel(value) for value in row]
        except Exception as error:  # what it meets in a damaged file is many things
            raise ParseError(f"the table cannot be read: {error}", source=str(self.path)) from error


def sniffed(head: bytes, delimiter: str | None = None) -> Dialect:
    """The dialect of a CSV file by its beginning: the separator that most lines have equally often."""
    encoding = "utf-8"
    try:
        text = head.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if error.start < len(head) - 4:  # not only cut
            encoding = "utf-16" if head.startswith((b"\xff\xfe", b"\xfe\xff")) else "cp1252"
        text = head.decode(encoding, "replace")
    if delimiter is not None:
        return Dialect(delimiter, encoding=encoding)
    best = max(",;\t|", key=lambda mark: _regular(text, mark))
    return Dialect(best, encoding=encoding)


def _regular(text: str, mark: str) -> tuple[float, int]:
    """The share of rows with as many cells as the first, and that number; (0, 0) for one cell."""
    try:
        rows = list(csv.reader(io.StringIO(text), delimiter=mark))[:100]
    except csv.Error:
        return 0, 0
    rows = rows[:-1] if len(rows) > 1 else rows  # the last may be cut
    if not rows or len(rows[0]) < 2:
        return 0, 0
    return sum(len(row) == len(rows[0]) for row in rows) / len(rows), len(rows[0])


def _head(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.read(_SNIFFED)


def _object(line: str, number: int, path: Path) -> dict[str, Any]:
    try:
        found = json.loads(line.removeprefix("\ufeff"))
    except (json.JSONDecodeError, RecursionError) as error:
        raise ParseError(f"line {number} is not JSON: {error}", source=str(path), line=number) from error
    if not isinstance(found, dict):
        raise ParseError(f"line {number} is no JSON object", source=str(path), line=number)
    return found


def _of_json(value: Any) -> Cell:
    if isinstance(value, list):
        return [text for one in value if isinstance(text := _of_json(one), str)]
    if value is None or isinstance(value, dict):
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else json.dumps(value)


def _of_excel(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and math.isfinite(value) and value == int(value):
        return str(int(value))
    if hasattr(value, "isoformat"):
        told = str(value.isoformat())
        return told.removesuffix("T00:00:00")
    return str(value)
