"""Rows as N-Triples, by a mapping, and the links of names that mean no entity for sure."""

from __future__ import annotations

import datetime
import hashlib
import json
import mmap
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

import numpy as np
import pyoxigraph as ox

from worlds.core.history.dry_runs import Trial
from worlds.core.quads.dictionary import Dictionary
from worlds.core.quads.patterns import Patterns
from worlds.extras.sources.tables.mapping import HASH, Among, Column, TableMapping, placed, read_mapping, required_names
from worlds.extras.sources.tables.rows import Cell, Table
from worlds.graph.datatypes import checker
from worlds.graph.rdf_sources import Input
from worlds.graph.terms import XSD, GraphName

_CHUNK = 200  # rows that are passed on together
_SHARED = 1 << 16  # bytes of what is told
_NAMES = 100  # that are not sure, which are told one by one
_SHOWN = 1000  # characters of a cell, of a row that is only shown
_TOLD = 20  # rows that do not fit, which are told one by one
UNIT = "https://schema.org/unitText"
_template = re.compile(r"\{([^{}]*)\}")
_escaped = re.compile(r'[\\"\n\r\ud800-\udfff]').search
_bad_iri = re.compile(r'[\x00-\x20<>"{}|^`\\]').search

Resolve = Callable[[str, Among], str | None]
"""The IRI of the entity of one of some classes that a name means, None where that is not sure."""
Row = tuple[Sequence[Cell], str | None, list[list[str]], str | None]
"""The cells of a row, its IRI, the values of each column as N-Triples, and what does not fit."""
_Lines = Callable[[str, Sequence[Cell], int], Iterator[str]]
_FIELDS = {"yyyy": "%Y", "yy": "%y", "MMMM": "%B", "MMM": "%b", "MM": "%m", "M": "%m", "dd": "%d", "d": "%d",
           "HH": "%H", "mm": "%M", "ss": "%S", "%": "%%"}  # fmt: skip
_fields = re.compile("|".join(_FIELDS)).sub  # of several at a place, the longest
_CANDIDATES = 3


class RowNotes:
    """Notes on the rows that were read: rows that do not fit, and names without a sure entity.

    A process beside this one may read them: it tells this one by memory that both have. `mapping` is what they are read
    by, `given` whether somebody gave it; `name` tells the table from others that are read with it.
    """

    def __init__(self, mapping: TableMapping, name: str = "", *, given: bool = True) -> None:
        self.mapping = mapping
        self._name = name and f"{name}, "
        self._given = given
        self._shared = mmap.mmap(-1, _SHARED)
        self.begin()

    def begin(self) -> None:
        """A reading begins."""
        self.misfits: list[str] = []
        self.also: list[str] = []  # said of the table as a whole
        self.left_out = 0
        self.unsure: dict[str, dict[str, None]] = {}
        self.nothing: dict[str, Counter[str]] = {}  # texts that a column's mapping reads as no value
        self.keys, self.rows = array("q"), array("q")  # the hash of each key, and the number of its row
        self._write([], [])

    def end(self) -> None:
        """It is over."""
        names = [(name, value) for name, values in self.unsure.items() for value in list(values)[:_NAMES]][:_NAMES]
        self._write(self._notes(), names)

    def _write(self, notes: list[str], names: list[tuple[str, str]]) -> None:
        cut: list[str] = []
        while len(data := json.dumps([notes + cut, names]).encode()) > _SHARED - 4:
            cut = [] if names else ["more notes than there is room for are left out"]
            (names or notes).pop()
        self._shared[: 4 + len(data)] = len(data).to_bytes(4, "big") + data

    def _read(self) -> tuple[list[str], list[tuple[str, str]]]:
        size = int.from_bytes(self._shared[:4], "big")
        notes, names = json.loads(self._shared[4 : 4 + size])
        return notes, names

    def notes(self) -> list[str]:
        """All of it in sentences, once the rows were read."""
        return [self._name + note for note in self._read()[0]]

    def unsure_names(self) -> Iterator[tuple[str, Among, str]]:
        """The first names that mean no entity for sure: the predicate, which entities may be meant, the name."""
        columns = {column.name: column for column in self.mapping.columns}
        for name, value in self._read()[1]:
            yield columns[name].property or "", columns[name].among or Among(), value

    def misfit(self, number: int, why: str) -> None:
        """A row that is left out."""
        self.left_out += 1
        if len(self.misfits) < _TOLD:
            self.misfits.append(f"row {number}: {why}")

    def _notes(self) -> list[str]:
        found = [*self.also, *self.misfits]
        if self.left_out > len(self.misfits):
            found.append(f"and {self.left_out - len(self.misfits):,} more rows that do not fit")
        found += self._repeats()
        for name, texts in [] if self._given else [one for one in self.nothing.items() if one[1]]:
            some = ", ".join(repr(text) for text, _ in texts.most_common(3))
            found.append(f"{texts.total():,} cells of column {name!r} are read as no value: {some}")
        for name, values in self.unsure.items():
            some = ", ".join(repr(value) for value in list(values)[:3])
            found.append(f"{len(values):,} names of column {name!r} are ambiguous or unknown, and stay texts: {some}")
        if (names := sum(map(len, self.unsure.values()))) > _NAMES:
            told = f"of these {names:,} names, links of the first {_NAMES} are proposed"
            found.append(f"{told}; `resolve` tells the others")
        return found

    def _repeats(self) -> list[str]:
        """Rows whose key an earlier row has."""
        keys, rows = np.array(self.keys), np.array(self.rows)
        _, first, of = np.unique(keys, return_index=True, return_inverse=True)
        again = np.flatnonzero(first[of] != np.arange(len(keys)))
        found = [f"row {rows[at]} repeats the key of row {rows[first[of[at]]]}" for at in again[:_TOLD]]
        return [*found, f"and {len(again) - _TOLD:,} more rows that repeat a key"] if len(again) > _TOLD else found


class _MisfitError(Exception):
    pass


def source_of(path: Path, mapping: TableMapping, told: RowNotes, resolve: Resolve | None = None) -> Input:
    """A table as a source of N-Triples, which is read as often as it is opened; ParseError where it cannot be."""

    def chunks() -> tuple[Iterator[bytes], Callable[[], object]]:
        lines = triples(Table(path, mapping.dialect), mapping, told, resolve)
        batches = iter(lambda: list(islice(lines, _CHUNK)), [])
        return ("".join(batch).encode() for batch in batches), lambda: None

    return Input(str(path), "nt", None, path.stat().st_size if path.is_file() else None, chunks, apart=True)


def triples(table: Table, mapping: TableMapping, told: RowNotes, resolve: Resolve | None = None) -> Iterator[str]:
    """The lines of each row together, as N-Triples; a row that does not fit is left out, and noted in `told`."""
    told.begin()
    of = placed(mapping, table)
    width = len(table.names)
    templates = [mapping.about, *(one for column in mapping.columns for one in (column.about, column.value) if one)]
    used = {name for template in templates for name in required_names(template)}
    kept = [column for column in mapping.columns if not column.suppressed]
    read = {of[one.name] for one in mapping.columns if one.name in of and (one.suppressed or one.property)}
    ignored = {*range(width)} - read - {of[name] for name in used if name in of}
    left: list[int] = []  # of these, those that have values
    digest = _digest([of[column.name] for column in kept if column.name in of], kept) if HASH in used else None
    of[HASH] = width
    about = _filler(mapping.about, of)
    writers = [_writer(column, of, told, resolve) for column in kept]
    for column in kept:
        if column.unit and column.property:
            yield f"<{column.property}> <{UNIT}> {_quoted(column.unit)} .\n"
    told.also += [*table.notes, *(f"column {one.name!r}: {one.note}" for one in kept if one.note and _is_text(one))]
    keyed = _template.search(mapping.about) and not {"_row", HASH} & {*required_names(mapping.about)}
    key = told.keys.append if keyed and mapping.source.get("tableSchema", {}).get("primaryKey") != [] else None
    for number, row in table:
        if not any(row):
            continue
        if len(row) != width:
            if why := _unfit(row, width, mapping, of):
                told.misfit(number, why.format(line=table.line))
                continue
            row = [*row, *([None] * (width - len(row)))]
        if ignored and (seen := [place for place in ignored if row[place]]):
            ignored.difference_update(seen)
            left += seen
        if digest is not None:
            row = [*row, digest(row)]
        try:
            subject = about(row, number)
            lines = [line for writer in writers for line in writer(subject, row, number)]
        except _MisfitError as error:
            told.misfit(number, str(error))
            continue
        if key is not None:
            key(hash(subject))
            told.rows.append(number)
        yield "".join(lines)
    if left:
        names = ", ".join(f"{table.names[place]!r} ({place + 1})" for place in sorted(left))
        told.also.append(f"columns that the mapping gives no place to are left out: {names}")
    told.end()


def first_rows(
    path: Path, given: Mapping[str, Any], prefixes: Mapping[str, str], resolve: Resolve, most: int
) -> tuple[list[str], list[Row]]:
    """The names of a table's columns, and its first rows as they would be by a mapping."""
    mapping = read_mapping(given, prefixes)
    table = Table(path, mapping.dialect)
    return list(table.names), list(_first_rows(table, mapping, resolve, most))


def _first_rows(table: Table, mapping: TableMapping, resolve: Resolve, most: int) -> Iterator[Row]:
    told, of, width = RowNotes(mapping), placed(mapping, table), len(table.names)
    kept = [column for column in mapping.columns if not column.suppressed]
    digest = _digest([of[column.name] for column in kept if column.name in of], kept)
    of[HASH] = width
    about = _filler(mapping.about, of)
    writers = [None if column.suppressed else _writer(column, of, told, resolve) for column in mapping.columns]
    for number, row in islice(table, most):
        row = [cell[:_SHOWN] if isinstance(cell, str) else cell for cell in row]
        wrong = _unfit(row, width, mapping, of) if len(row) != width else None
        wrong = wrong and wrong.format(line=table.line)
        cells = [*row, *([None] * width)][:width]
        full, values, subject = [*cells, digest(cells)], [], None
        with suppress(_MisfitError):
            subject = about(full, number)
        for writer in writers:
            try:
                lines = [] if writer is None else list(writer(subject or "urn:x", full, number))
            except _MisfitError as error:
                lines, wrong = [], wrong or str(error)
            values.append([line.split(" ", 2)[2][:-3] for line in lines])
        if subject is None:
            wrong = wrong or "a cell is empty of which its IRI is made"
        yield cells, subject, values, wrong


def _unfit(row: Sequence[Cell], width: int, mapping: TableMapping, of: Mapping[str, int]) -> str | None:
    """Why a row of another number of cells is left out; one that ends before its last columns is none."""
    wrong = f"{len(row)} cells instead of {width}"
    if len(row) > width:
        return wrong
    if any("\n" in cell for cell in row if cell):
        return f"{wrong}, and one of several lines, from line {{line}} on: a quote may be missing"
    return wrong if any(of[name] >= len(row) for name in required_names(mapping.about) if name in of) else None


def _digest(places: Sequence[int], columns: Sequence[Column]) -> Callable[[Sequence[Cell]], str]:
    """A function that gives a digest of a row: of its cells, and of the number of equal rows above it."""
    start = hashlib.blake2b(json.dumps([column.property for column in columns]).encode(), digest_size=8)
    seen: dict[bytes, int] = {}

    def digest(row: Sequence[Cell]) -> str:
        found = start.copy()
        found.update(json.dumps([row[place] or "" for place in places]).encode())
        made = found.digest()
        times = seen[made] = seen.get(made, 0) + 1
        return made.hex() if times == 1 else f"{made.hex()}-{times}"

    return digest


def _is_text(column: Column) -> bool:
    return column.datatype == XSD + "string" and column.value is None and column.among is None


def _text(cell: Cell) -> str:
    return cell if isinstance(cell, str) else "" if cell is None else "; ".join(cell)


def parts(cell: Cell, separator: str | None) -> list[str]:
    """The values of a cell."""
    if isinstance(cell, list):
        return [one.strip() for one in cell]
    return [cell or ""] if separator is None else [one.strip() for one in (cell or "").split(separator)]


def _filler(template: str, of: Mapping[str, int]) -> Callable[[Sequence[Cell], int], str]:
    """A function that gives the IRI of a row."""
    parts = _template.split(template)
    fixed, names = parts[::2], parts[1::2]
    whole = template == f"{{{names[0]}}}" if names else False  # the cell is an IRI itself

    def fill(row: Sequence[Cell], number: int) -> str:
        made = fixed[0]
        for name, rest in zip(names, fixed[1:], strict=True):
            value = str(number) if name == "_row" else _text(row[of[name]]).strip()
            if not value:
                raise _MisfitError(f"{name!r} is empty, but the row's IRI is made from it")
            made += (value if whole else quote(value, safe="")) + rest
        if whole and (_bad_iri(made) or ":" not in made):
            raise _MisfitError(f"{made[:80]!r} is not an IRI")
        return made

    return fill


def _writer(column: Column, of: Mapping[str, int], told: RowNotes, resolve: Resolve | None) -> _Lines:
    """A function that gives the triples of a column's cells."""
    predicate = column.property
    if predicate is None:
        return lambda subject, row, number: iter(())
    about = None if column.about is None else _filler(column.about, of)
    place = of.get(column.name, -1)
    if column.value is not None and (column.virtual or column.name not in required_names(column.value)):
        fill = _filler(column.value, of)

        def linked(subject: str, row: Sequence[Cell], number: int) -> Iterator[str]:
            if place < 0 or _text(row[place]).strip() not in column.null:
                yield f"<{subject if about is None else about(row, number)}> <{predicate}> <{fill(row, number)}> .\n"

        return linked
    write = _object(column, of, told, resolve)
    null, separator = frozenset(column.null), column.separator
    nothing = told.nothing.setdefault(column.name, Counter()) if any(null) else None

    def written(subject: str, row: Sequence[Cell], number: int) -> Iterator[str]:
        cell = row[place] if place >= 0 else ""
        start = f"<{subject if about is None else about(row, number)}> <{predicate}> "
        for value in parts(cell, separator):
            told = value
            if value in null:
                told = column.default
                if value and nothing is not None:
                    nothing[value] += 1
            if told or (value == "" and cell is not None and "" not in null):
                yield f"{start}{write(told, row, number)} .\n"
            elif column.required:
                raise _MisfitError(f"{column.name!r} is empty")

    return written


def _object(column: Column, of: Mapping[str, int], told: RowNotes, resolve: Resolve | None) -> Callable[..., str]:
    """A function that gives the object of a cell's text, as in N-Triples."""
    if column.value is not None:
        parts = _template.split(column.value)
        alone = len(parts) == 3
        whole = alone and parts[0] == parts[2] == ""

        def link(value: str, row: Sequence[Cell], number: int) -> str:
            if alone:
                made = parts[0] + (value if whole else quote(value.strip(), safe="")) + parts[2]
            else:
                made = _filler(column.value or "", of)(row, number)
            if _bad_iri(made) or ":" not in made:
                raise _MisfitError(f"{value[:80]!r} of {column.name!r} is not an IRI")
            return f"<{made}>"

        return link
    among = column.among
    if among is not None and resolve is not None:
        known: dict[str, str | None] = {}
        unsure = told.unsure  # of this reading

        def named(value: str, row: Sequence[Cell], number: int) -> str:
            if value not in known:
                known[value] = resolve(value, among)
            found = known[value]
            if found is None:
                unsure.setdefault(column.name, {})[value] = None
                return _quoted(value)
            return f"<{found}>"

        return named
    if column.datatype == XSD + "string":
        end = "" if column.language is None else f"@{column.language}"
        return lambda value, row, number: f"{_quoted(value)}{end}"
    end = f"^^<{column.datatype}>"
    if not column.checked:
        return lambda value, row, number: f"{_quoted(value)}{end}"
    lexical = _lexical(column)
    kind = column.datatype.removeprefix(XSD)
    checked: dict[str, str] = {}

    def typed(value: str, row: Sequence[Cell], number: int) -> str:
        found = checked.get(value)
        if found is None:
            text = lexical(value.strip())
            if text is None or not is_valid(text, kind):
                raise _MisfitError(f"{value[:80]!r} of {column.name!r} is no {column.datatype.removeprefix(XSD)}")
            found = _quoted(text) + end
            if len(checked) < 100_000:
                checked[value] = found
        return found

    return typed


def is_valid(text: str, kind: str) -> bool:
    """Whether a text is of the lexical space of a datatype of XML Schema, by its local name."""
    return len(text.split()) == 1 if kind == "anyURI" else checker(kind)(text)


def _quoted(text: str) -> str:
    if _escaped(text) is None:
        return f'"{text}"'
    text = text.encode("utf-8", "replace").decode()
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r") + '"'


def _lexical(column: Column) -> Callable[[str], str | None]:
    """A function that gives XML Schema's lexical form of a text in the column's format; None for other texts."""
    kind = column.datatype.removeprefix(XSD)
    form = column.format
    if kind == "boolean":
        yes, _, no = (form or "true|false").partition("|")
        known = {yes: "true", no: "false"} if form else {"true": "true", "false": "false", "1": "true", "0": "false"}
        return known.get
    if kind in ("date", "dateTime", "time") and form:
        pattern = strptime_of(form)

        def dated(text: str) -> str | None:
            try:
                whole = datetime.datetime.strptime(text, pattern).isoformat()
            except ValueError:
                return None
            return whole[:10] if kind == "date" else whole[11:] if kind == "time" else whole

        return dated
    if kind in ("decimal", "double", "float", "integer") and form:
        # "#.##0,00" is German, "#,##0.00" English: the last of the two marks is the decimal one.
        decimal = "," if "0," in form or "#." in form else "."
        group = "." if decimal == "," else ","
        return lambda text: text.replace(group, "").replace(" ", "").replace("\u00a0", "").replace(decimal, ".")
    return lambda text: text


def strptime_of(form: str) -> str:
    """A date format of CSVW (Unicode TR35's letters) as strptime's."""
    return _fields(lambda found: _FIELDS[found[0]], form)


class Resolving(Protocol):
    """Gives a `Resolution`; see `Resolver.resolve`."""

    def __call__(self, name: str, *, context: None, graphs: None, limit: int, types: object, where: object) -> Any: ...  # noqa: D102


def unsure_links(
    told: Iterable[RowNotes], graph: GraphName, dictionary: Dictionary, patterns: Patterns, resolve: Resolving
) -> Iterator[Trial]:
    """For each name that stayed a text and may mean an entity: the likeliest in its place, in every row that has it."""
    for predicate, among, name in (one for table in told for one in table.unsure_names()):
        found = resolve(name, context=None, graphs=None, limit=_CANDIDATES, **among._asdict()).candidates
        if not found:
            continue
        held = patterns.matching((None, ox.NamedNode(predicate), ox.Literal(name)), graph)
        (entity,) = dictionary.find([ox.NamedNode(str(found[0].iri))])
        if not len(held) or entity is None:
            continue
        linked = held.copy()
        linked[:, 2] = np.int64(entity)
        likely = ", ".join(f"{one.label or one.iri} <{one.iri}> {one.confidence:.2f}" for one in found)
        yield Trial(linked, held, f"{name!r} in a table may mean {likely}", "name", found[0].confidence)
