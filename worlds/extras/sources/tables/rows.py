"""Reads tables: CSV, TSV, JSON lines and Excel, as rows of texts under the names of their columns."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

from worlds.errors import OpenError, ParseError, WorldsError
from worlds.graph.cells import records, unescaped
from worlds.graph.terms import listed

ENDINGS = (".csv", ".tsv", ".jsonl", ".ndjson", ".xlsx")
_HEAD_ROWS = 64  # by which the header is told
_SNIFFED = 1 << 16  # bytes
_MOST_COLUMNS = 10_000
_SHOWN = 10  # formulas without a value
_numeric = re.compile(r"(?!(?:19|20)\d\d$)[+-]?[.,]?\d").match  # a year may be a title

Cell = str | list[str] | None
"""A cell's text, its texts where the format has lists, None for nothing."""


_Read = tuple[int, Sequence[Cell]]  # a row, and the line in which it begins


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a CSV file is written (CSVW's dialect description)."""

    delimiter: str = ","
    quote: str = '"'
    encoding: str = "utf-8"
    header: bool = True
    skip: int = 0  # lines before the header
    escaped: bool = False  # whether texts that begin as formulas do have an apostrophe before them


def is_table(path: str) -> bool:
    """Whether a file is a table by its name."""
    return path.lower().endswith(ENDINGS)


class Table:
    """A table: `names` of its columns, and its rows, each with its number below the header; they can be read once.

    This is the one reader of headers, for mappings, loads and sources. A column without a name is `_col.N`, N its place
    from 1, as in CSVW. Above the header stand blank lines, comments (#), and a title alone in its row; `notes` tell
    those, and what else is not read.
    """

    def __init__(self, path: Path, dialect: Dialect | None = None) -> None:
        self.path = path
        self.dialect = dialect
        self.notes: list[str] = []
        self.line = 0  # in which the row begins that was read last
        ending = path.suffix.lower()
        self.names: list[str] = []
        if ending in (".jsonl", ".ndjson"):
            self._rows = self._json_lines()
            titles: Sequence[Cell] = next(self._rows)[1]
        else:
            rows = self._excel() if ending == ".xlsx" else self._csv("\t" if ending == ".tsv" else None)
            titles, self._rows = self._headed(rows)
        self.names = [str(title or "").strip() or f"_col.{place}" for place, title in enumerate(titles, 1)]
        for title, count in Counter(self.names).items():
            if count > 1:
                told = " and ".join(str(place) for place, name in enumerate(self.names, 1) if name == title)
                self.notes.append(f"columns {told} are all called {title!r}, and are told apart by their order")
        if len(self.names) > _MOST_COLUMNS:
            raise ParseError(f"the table has {len(self.names):,} columns", source=str(path))

    def __iter__(self) -> Iterator[tuple[int, Sequence[Cell]]]:
        return self._rows

    def _counted(self, rows: Iterable[_Read]) -> Iterator[tuple[int, Sequence[Cell]]]:
        for number, (line, row) in enumerate(rows, 1):
            self.line = line
            yield number, row

    def _headed(self, rows: Iterator[_Read]) -> tuple[Sequence[Cell], Iterator[tuple[int, Sequence[Cell]]]]:
        """The titles, and the rows below them, counted from 1."""
        read = list(islice(rows, _HEAD_ROWS))
        head = [row for _, row in read]
        if self.dialect is not None and not self.dialect.header:
            return [None] * max(map(len, head), default=0), self._counted(chain(read, rows))
        begin = _above(head)
        above = [" ".join(str(cell) for cell in row if cell) for row in head[:begin] if any(row)]
        if above:
            told = f"{', '.join(map(repr, above[:3]))}{' …' * (len(above) > 3)}"
            self.notes.append(f"above the header is left out: {told}")
        titles: Sequence[Cell] = head[begin] if head[begin:] else ()
        below = [row for row in head[begin + 1 :] if any(row)]
        more = min(map(len, below), default=0) - len(titles)
        if more > 0 and not any(cell for row in below for cell in row[len(titles) :]):
            titles = [*titles, *[None] * more]  # what separators at the end of each row leave
        elif more == 1 and len(below) > 1:  # as R writes the names of rows
            titles = [None, *titles]
            told = "rows have a cell more than the header"
            self.notes.append(f"{told}: their first column is taken for one without a title")
        return titles, self._counted(chain(read[begin + 1 :], rows))

    def _csv(self, delimiter: str | None) -> Iterator[_Read]:
        try:
            with self.path.open("rb") as head:
                dialect = self.dialect = self.dialect or sniffed(head.read(_SNIFFED), delimiter)
            with self.path.open(encoding=f"{dialect.encoding}-sig" if dialect.encoding == "utf-8" else dialect.encoding,
                                newline="") as stream:  # fmt: skip
                for _ in range(dialect.skip):
                    if not stream.readline():
                        break
                first = stream.readline()
                told = _told_delimiter(first) is not None
                lines = stream if told or not first else chain([first], stream)
                marks = {"delimiter": dialect.delimiter, "quote": dialect.quote}
                found = records(lines, str(self.path), first=dialect.skip + 1 + told, **marks)
                yield from ((line, list(map(unescaped, row))) for line, row in found) if dialect.escaped else found
        except OSError as error:
            raise OpenError(f"{self.path} cannot be read: {error.strerror or error}") from error
        except (UnicodeError, LookupError) as error:
            raise ParseError(f"the table cannot be read: {error}; its mapping's dialect may give another encoding",
                             source=str(self.path), line=self._undecodable()) from error  # fmt: skip

    def _undecodable(self) -> int | None:
        """The first line that the encoding does not hold."""
        encoding = self.dialect.encoding if self.dialect else "utf-8"
        if "16" in encoding or "32" in encoding:  # bytes of line ends are no line ends
            return None
        with self.path.open("rb") as stream:
            for number, line in enumerate(stream, 1):
                try:
                    line.decode(encoding)
                except UnicodeError:
                    return number
        return None

    def _json_lines(self) -> Iterator[tuple[int, Sequence[Cell]]]:
        names: dict[str, None] = {}
        try:
            with self.path.open(encoding="utf-8-sig") as stream:
                for _, found in self._objects(stream):
                    names |= dict.fromkeys(found)
                yield 0, list(names)
                stream.seek(0)
                for number, found in self._objects(stream):
                    yield number, [_of_json(found.get(name)) for name in names]
        except OSError as error:
            raise OpenError(f"{self.path} cannot be read: {error.strerror or error}") from error
        except UnicodeDecodeError as error:
            raise ParseError(f"the table is not UTF-8: {error}", source=str(self.path)) from error

    def _objects(self, lines: Iterable[str]) -> Iterator[tuple[int, dict[str, Any]]]:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield number, _object(line.removeprefix("\ufeff"), number, self.path)

    def _excel(self) -> Iterator[_Read]:
        try:
            import openpyxl  # type: ignore[import-untyped]
        except ImportError as error:
            raise WorldsError("Excel needs openpyxl: pip install 'worlds-kg[sources]'") from error
        try:
            with contextlib.closing(openpyxl.load_workbook(self.path, read_only=True, data_only=True)) as book:
                others = [
                    sheet.title for sheet in book.worksheets[1:] if any(map(any, sheet.iter_rows(values_only=True)))
                ]
                if others:
                    self.notes.append(f"the sheets {', '.join(map(repr, others))} are not read, only the first is")
                self._note_formulas(openpyxl, book.worksheets[0])
                for number, row in enumerate(book.worksheets[0].iter_rows(values_only=True), 1):
                    yield number, [_of_excel(value) for value in row] if any(value is not None for value in row) else ()
        except Exception as error:  # what it meets in a damaged file is many things
            raise ParseError(f"the table cannot be read: {error}", source=str(self.path)) from error

    def _note_formulas(self, openpyxl: Any, values: Any) -> None:
        """Name the formulas of a sheet whose value no program has worked out: only such a program can."""
        with zipfile.ZipFile(self.path) as book:
            sheets = [name for name in book.namelist() if name.startswith("xl/worksheets/")]
            if not any(b"<f" in book.read(name) for name in sheets):
                return
        with contextlib.closing(openpyxl.load_workbook(self.path, read_only=True)) as formulas:
            written = formulas.worksheets[0].iter_rows(values_only=True)
            found = [
                f"{openpyxl.utils.get_column_letter(column)}{line}"
                for line, rows in enumerate(zip(values.iter_rows(values_only=True), written, strict=False), 1)
                for column, (value, formula) in enumerate(zip(*rows, strict=False), 1)
                if value is None and str(formula or "").startswith("=")
            ]
        if found:
            told = "formulas without a value that a program has worked out are left out"
            self.notes.append(f"{told}: {listed(found, _SHOWN)}")


def _above(rows: Sequence[Sequence[Cell]]) -> int:
    """How many of the first rows stand above the header: blank ones, comments, and a title alone in its row."""
    widths = Counter(len(row) for row in rows if any(row) and not str(row[0]).startswith("#"))
    width = widths.most_common(1)[0][0] if widths else 1
    for at, row in enumerate(rows[:-1]):
        below = [one for one in rows[at + 1 :] if any(one)]
        named = bool(below) and _are_titles(below[0])
        first = str(row[0] or "") if row else ""
        if first.startswith("#"):  # which may begin the first title, too
            prose = any(re.match(r" +\S", str(cell or "")) for cell in row[1:])
            counts = any(_numeric(str(cell)) for one in below[:1] for cell in one)
            above = len(row) != width or prose or first[1:2] == "#" or (first[1:2] == " " and not counts)
        elif row:  # a title of the table, or no cell at all, and not the only name of its columns
            cells, numbers = sum(map(bool, row)), any(_numeric(str(cell)) for one in below[1:] for cell in one)
            titled = width > 2 or (width == 2 and (numbers or not any(rows[at + 1])))
            above = named and cells <= titled and (len(row) < width or numbers)
        else:
            above = True
        if not above:
            return at
    return max(len(rows) - 1, 0)


def _are_titles(row: Sequence[Cell]) -> bool:
    """Whether a row looks like that of the titles, not like data: all are there, all differ, none is a number."""
    return bool(row) and all(row) and len(set(map(str, row))) == len(row) and not any(map(_numeric, map(str, row)))


def sniffed(head: bytes, delimiter: str | None = None) -> Dialect:
    """The dialect of a CSV file by its beginning: the separator that most lines have equally often."""
    encoding = "utf-8"
    try:
        text = head.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if error.start < len(head) - 4:  # not only cut
            encoding = "utf-16" if head.startswith((b"\xff\xfe", b"\xfe\xff")) else "cp1252"
        text = head.decode(encoding, "replace")
    if len(head) >= _SNIFFED:
        text = text.rpartition("\n")[0]  # the last line is cut
    delimiter = _told_delimiter(text.partition("\n")[0]) or delimiter
    return Dialect(delimiter or max(",;\t|", key=lambda mark: _regular(text, mark)), encoding=encoding)


def _told_delimiter(line: str) -> str | None:
    """The separator that the first line tells, as Excel has it: sep=;"""
    found = re.fullmatch(r'"?sep=(.)"?[\r\n]*', line)
    return found and found[1]


def _regular(text: str, mark: str) -> tuple[bool, float, float, int]:
    """Whether quotes are right; the shares of rows that are as wide as most, and that width.

    The first share is of rows that do not begin with #, the second of those, too, that may be titles.
    """
    rows: list[list[str]] = []
    right = True
    try:
        for row in islice(csv.reader(io.StringIO(text), delimiter=mark, strict=True), 100):
            rows += [row] if any(row) else []
    except csv.Error as error:
        read = sum(not row[0].startswith("#") for row in rows)
        right = "unexpected end" in str(error) or read > 2  # where the text is cut, or one quote is wrong
    widths = Counter(len(row) for row in rows if not row[0].startswith("#")) or Counter(map(len, rows))
    width, count = max(widths.items(), key=lambda one: (one[1], one[0]), default=(1, 0))
    if width < 2:
        return False, 0, 0, 0
    titles = [row for row in rows if not row[0].startswith(("# ", "##"))] or rows
    return right, count / widths.total(), sum(len(row) == width for row in titles) / len(titles), width


def _object(line: str, number: int, path: Path) -> dict[str, Any]:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            twice = [name for name, count in Counter(name for name, _ in pairs).items() if count > 1]
            raise ParseError(f"{twice[0]!r} occurs twice in an object", source=str(path), line=number)
        return found

    try:
        found = json.loads(line, object_pairs_hook=once, parse_float=_Number)
    except (json.JSONDecodeError, RecursionError) as error:
        raise ParseError(f"line {number} is not JSON: {error}", source=str(path), line=number) from error
    if not isinstance(found, dict):
        raise ParseError(f"line {number} is not a JSON object", source=str(path), line=number)
    try:
        if "\\ud" in line.lower():
            _json(found).encode()
    except UnicodeEncodeError as error:
        raise ParseError(
            f"line {number} has a lone surrogate, which is not a character", source=str(path), line=number
        ) from error
    return found


class _Number(str):
    """A number that is no integer, as it is written."""


def _json(value: Any) -> str:
    return json.dumps(_with_floats(value), ensure_ascii=False)


def _with_floats(value: Any) -> Any:
    """The value with its numbers as JSON writes them."""
    if isinstance(value, dict):
        return {name: _with_floats(one) for name, one in value.items()}
    if isinstance(value, list):
        return list(map(_with_floats, value))
    return float(value) if isinstance(value, _Number) else value


def _of_json(value: Any) -> Cell:
    if isinstance(value, list):
        return [one if isinstance(one, str) else _json(one) for one in value if one is not None]
    return value if value is None or isinstance(value, str) else _json(value)  # an object is a text


def _of_excel(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value.isoformat()).removesuffix("T00:00:00") if hasattr(value, "isoformat") else str(value)
