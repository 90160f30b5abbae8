"""The instances of a class as a table, with its mapping; and the cells that somebody edited, as quads."""

from __future__ import annotations

import csv
import io
import json
import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyoxigraph as ox

from worlds.core.core import Core
from worlds.core.history.diff import Diff
from worlds.core.history.gate import Change
from worlds.core.history.writer import Writing
from worlds.core.quads.dictionary import DEFAULT_GRAPH, DEFAULT_GRAPH_ID, Dictionary, Ids, json_ids
from worlds.core.quads.export import refuse_own
from worlds.core.quads.interner import Interner
from worlds.core.quads.reader import read_documents
from worlds.core.quads.rows import NO_QUADS, difference, distinct, unique_quads
from worlds.errors import ArgumentError, ConflictError, ParseError
from worlds.extras.sources.tables.mapping import CONTEXT, DATATYPES, GRAPH, REVISION, STATE, TYPE, Column, TableMapping
from worlds.extras.sources.tables.quads import RowNotes, is_valid
from worlds.extras.sources.tables.tabular import TableSources
from worlds.graph.cells import MOST, escaped, fits
from worlds.graph.rdf_sources import Input
from worlds.graph.targets import replacing
from worlds.graph.terms import RDF, XSD, GraphName, listed, local_name, shorten
from worlds.sql import statements
from worlds.sql.connection import Connection

_SQL = statements("sources.sql")
_log = logging.getLogger("worlds")
_SUBJECTS = 2000  # that are read together
_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_SEPARATORS = ("|", ";", "¦", "\x1f")
_NULLS = ("", "\\N", "\x1a")
_DATATYPES = {XSD + kind: name for name, kind in reversed(DATATYPES.items()) if kind != "string"}

Kind: TypeAlias = tuple[str, str, str]
"""Of the values of a column: the predicate, "iri", "lang" or "type", and the language or the datatype."""
_SHOWN = 10  # rows that are gone, that do not fit, and cells in conflict, which are named
_Cell: TypeAlias = tuple[int, Kind]  # a subject, and the column
_Cells: TypeAlias = dict[_Cell, set[int]]  # and the objects


class _Column:
    """A column as its values make it."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.many = False
        self.checked = kind[1] == "type" and kind[2] in _DATATYPES
        self.separators = list(_SEPARATORS)
        self.nulls = list(_NULLS)

    def meets(self, value: str) -> None:
        """Read a value: it rules out candidates for "no value" and for the separator of lists."""
        self.nulls = [one for one in self.nulls if one != value]
        if self.checked and not (value == value.strip() and is_valid(value, self.kind[2].removeprefix(XSD))):
            self.checked = False
        stripped = value == value.strip() and value
        self.separators = [one for one in self.separators if stripped and one not in value]

    @property
    def separator(self) -> str | None:
        return self.separators[0] if self.many and self.separators else None

    def described(self, name: str) -> dict[str, Any]:
        """The column in CSVW's words; ArgumentError where its values leave nothing to stand for nothing."""
        predicate, what, of = self.kind
        told: dict[str, Any] = {"name": name, "titles": name, "propertyUrl": predicate}
        if what == "iri":
            told["valueUrl"] = f"{{{name}}}"
        elif what == "lang":
            told["lang"] = of
        elif self.checked:
            told["datatype"] = _DATATYPES[of]
        elif of != XSD + "string":
            told["datatype"] = {"@id": of}
        if self.separator:
            told["separator"] = self.separator
        if not self.nulls:
            raise ArgumentError(f"the values of {predicate} leave no text to mark a missing value in a table")
        if self.nulls[0]:
            told["null"] = self.nulls[0]
        return told


def write_table(core: Core, target: str, kind: ox.NamedNode, graph: GraphName | None) -> int:
    """Write all that is said of the instances of a class, and give the number of quads; see `World.export`.

    The mapping is written beside the table, as NAME-metadata.json. The quads are read twice: first for the columns.
    """
    path = Path(target)
    refuse_own(core.connection, target)
    history = core.history
    delimiter = _DELIMITERS.get(path.suffix.lower())
    if delimiter is None:
        raise ArgumentError(f"a table must be written to a .csv or .tsv file, not {target}")
    with core.connection.snapshot():
        reader = _Instances(core, kind, graph)
        columns: dict[Kind, _Column] = {}
        count = 0
        for _, values in reader.rows():
            for one, found in values.items():
                column = columns.setdefault(one, _Column(one))
                column.many |= len(found) > 1
                for value in found:
                    column.meets(value)
                count += len(found)
        if not count:
            raise ValueError(f"there is no instance of <{kind.value}> to export")
        columns.pop((TYPE, "iri", ""), None)
        chosen = sorted(columns.values(), key=lambda column: column.kind)
        names = _names([column.kind for column in chosen], core.namespaces.prefixes)
        numbers = [False, *(column.checked for column in chosen), False]  # and dates, and the like
        told = _mapping(path.name, delimiter, names, chosen, kind)
        state = history.name(history.last)
        if state is not None:  # by which its edits come back
            told |= {REVISION: history.last, STATE: state.value}
        if isinstance(graph, ox.NamedNode):
            told[GRAPH] = graph.value
        with replacing(target) as out:
            text = io.TextIOWrapper(out, encoding="utf-8", newline="")
            writer = csv.writer(text, delimiter=delimiter)
            writer.writerow([escaped(name) for name in ("iri", *names, "type")])
            for subject, values in reader.rows():
                types = [one for one in values[TYPE, "iri", ""] if one != kind.value]
                for line in _lines(subject, values, chosen, types):
                    writer.writerow([escaped(cell, number=plain) for cell, plain in zip(line, numbers, strict=True)])
            text.detach()  # which writes what it holds
        with replacing(f"{target}-metadata.json") as out:
            out.write(json.dumps(told, ensure_ascii=False, indent=2).encode() + b"\n")
        if reader.left_out:
            _log.warning(
                "%s quads are not in the table, which has no blank nodes, triple terms, texts with a direction, or of "
                "more than %s characters; an export of N-Quads holds them all",
                f"{reader.left_out:,}",
                f"{MOST:,}",
            )
        return count


def _mapping(name: str, delimiter: str, names: list[str], columns: list[_Column], kind: ox.NamedNode) -> dict[str, Any]:
    described = [column.described(name) for name, column in zip(names, columns, strict=True)]
    types = {"name": "type", "titles": "type", "propertyUrl": TYPE, "valueUrl": "{type}", "separator": "|"}
    schema = {
        "aboutUrl": "{iri}",
        "primaryKey": [],  # an entity may have several rows
        "columns": [
            {"name": "iri", "titles": "iri", "suppressOutput": True},
            *described,
            types,
            {"virtual": True, "name": "class", "propertyUrl": TYPE, "valueUrl": kind.value},
        ],
    }
    return {
        "@context": CONTEXT,
        "url": name,
        "dialect": {"delimiter": delimiter, "encoding": "utf-8", "worlds:escaped": True},
        "tableSchema": schema,
    }


def _lines(subject: str, values: Mapping[Kind, list[str]], columns: list[_Column], types: list[str]) -> list[list[str]]:
    """The rows of a subject: more than one where a cell cannot hold all values of a predicate."""
    cells: list[list[str]] = []
    for column in columns:
        found = sorted(values.get(column.kind, ()))
        joined = column.separator.join(found) if column.separator and found else None
        cells.append(found if joined is None or not fits(joined) else [joined])
    height = max(map(len, cells), default=1) or 1
    return [
        [
            subject,
            *(cell[row] if row < len(cell) else column.nulls[0] for cell, column in zip(cells, columns, strict=True)),
            "" if row else "|".join(sorted(types)),
        ]
        for row in range(height)
    ]


def _names(kinds: list[Kind], prefixes: Mapping[str, str]) -> list[str]:
    """A name for each column: the last part of the predicate, with a distinction where several are equal."""
    taken = {"iri", "type", "class"}
    found: list[str] = []
    for predicate, what, of in kinds:
        local = local_name(predicate).translate({ord("{"): None, ord("}"): None}).strip() or "column"
        name = f"{local}@{of}" if what == "lang" else local
        prefix = next((key for key, iri in prefixes.items() if key and predicate == iri + local), "")
        last = of.replace("#", "/").rpartition("/")[2] if what == "type" else what
        for longer in (name, f"{name} ({last})", f"{prefix}:{name} ({last})"):
            if longer not in taken and not longer.startswith(":"):
                break
        else:
            longer = f"{name} {len(found) + 1}"
        taken.add(longer)
        found.append(longer)
    return found


class _Instances:
    """The triples of the instances of a class in a graph, some of them at a time."""

    def __init__(self, core: Core, kind: ox.NamedNode, graph: GraphName | None) -> None:
        self._core = core
        self._graph = graph_number(core.dictionary, graph)
        typed = core.patterns.matching((None, ox.NamedNode(TYPE), kind), graph or DEFAULT_GRAPH)
        self._subjects = distinct(typed[:, 0])
        self.left_out = 0

    def rows(self) -> Iterator[tuple[str, dict[Kind, list[str]]]]:
        """(IRI, kind of a column → its values); `left_out` counts the quads that no table can hold."""
        self.left_out = 0
        for start in range(0, len(self._subjects), _SUBJECTS):
            part = self._subjects[start : start + _SUBJECTS]
            quads = held(self._core.connection, part, self._graph)
            terms = self._core.dictionary.terms(np.unique(quads[:, :3]).tolist())
            split = {number: cell_of(term) for number, term in terms.items()}
            rows: dict[str, dict[Kind, list[str]]] = {}
            for s, p, o in quads[:, :3].tolist():
                subject, value = terms[s], split[o]
                if not isinstance(subject, ox.NamedNode) or value is None or not fits(value[2]):
                    self.left_out += 1
                    continue
                what, of, text = value
                predicate: Any = terms[p]
                rows.setdefault(subject.value, {}).setdefault((predicate.value, what, of), []).append(text)
            yield from rows.items()


def graph_number(dictionary: Dictionary, graph: GraphName | None) -> int:
    """The id of the graph of a table; ValueError where there is none."""
    default = graph is None or isinstance(graph, ox.DefaultGraph)
    found = DEFAULT_GRAPH_ID if default else dictionary.find([graph])[0]  # type: ignore[list-item]
    if found is None:
        raise ValueError(f"there is no graph {graph} to export")
    return found


def held(connection: Connection, subjects: Ids, graph: int) -> Ids:
    """The quads of some subjects in a graph, with the revisions that added them, int64 [n, 5]."""
    return connection.table(_SQL["held"], _SQL["held"].bind(ids_json=json_ids(subjects), graph=graph)).reshape(-1, 5)


def cell_of(term: object) -> tuple[str, str, str] | None:
    """The kind of a term, its language or datatype, and its text; None for a term that a cell cannot hold."""
    if isinstance(term, ox.NamedNode):
        return "iri", "", term.value
    if not isinstance(term, ox.Literal) or term.direction is not None or term.language == "und":
        return None
    if term.language is not None:
        return "lang", term.language, term.value
    return "type", term.datatype.value if term.datatype.value != RDF + "langString" else XSD + "string", term.value


class Editing:
    """Compares tables with the revision that they were exported from, and writes the difference."""

    def __init__(self, core: Core, tables: TableSources) -> None:
        self._core = core
        self._tables = tables

    def load(self, paths: Sequence[str], mapping: object, *, remove_rows: bool, **given: Any) -> Change | Diff:
        """Write the edits of tables as one revision; see `World.load`."""
        sources, told = self._tables.sources(paths, mapping)
        with self._core.writer.revision(**given) as revision:
            for source, one in zip(sources, told, strict=True):
                self._edit(revision, source, one, remove_rows=remove_rows)
        return revision.change

    def _edit(self, revision: Writing, source: Input, told: RowNotes, *, remove_rows: bool) -> None:
        mapping = told.mapping
        exported = self._exported(source.name, mapping)
        table = self._read(source, told)
        revision.note(*told.notes())
        there = distinct(table[:, 0])
        now, then, shown = self._states(mapping, exported, there)
        left = shown[~np.isin(shown, there)]
        if len(left):
            terms = self._core.dictionary.terms(left[:_SHOWN].tolist())
            names = listed(left.tolist(), _SHOWN, lambda number: self._shown(terms[number]))
            what = "removed" if remove_rows else "left, and remove_rows (--remove-rows) removes them"
            revision.note(f"rows that are gone are {what}: {names}")
        edited = np.concatenate([there, left]) if remove_rows else there
        then = then[np.isin(then[:, 0], edited)]
        columns = {_kind(column) for column in mapping.columns if column.property and not column.suppressed}
        added = difference(table, then)
        removed = difference(then[np.isin(then[:, 0], shown)], table)
        removed = removed[[kind in columns for kind in self._kinds(removed)]]
        self._refuse_conflicts(exported, added, removed, now, then)
        revision.apply(NO_QUADS, removed)
        revision.apply(added)

    def _exported(self, name: str, mapping: TableMapping) -> int:
        """The revision that a table was exported from; an error where that is not of this world, or is forgotten."""
        number = mapping.source.get(REVISION)
        if number is None or _class(mapping) is None:
            told = f"{name} was not exported from a world: its mapping has no {REVISION}, or no class"
            raise ArgumentError(f"{told}; export(table=…) (`worlds export --table`) writes both")
        state = self._core.history.name(number)
        if number > self._core.history.last or (state is not None and state.value != mapping.source.get(STATE)):
            raise ConflictError(f"{name} was exported from another world, or from a revision that is no longer there")
        return self._core.history.check(number)

    def _read(self, source: Input, told: RowNotes) -> Ids:
        """The quads of a table, int64 [n, 4]; ParseError where a row does not fit."""
        name = told.mapping.source.get(GRAPH)
        interner = Interner(self._core.connection, self._core.dictionary, rename_blank_nodes=False)
        blocks = [NO_QUADS]
        graph = DEFAULT_GRAPH if name is None else self._core.namespaces.graph(name)
        for block in read_documents([source], interner.numbering, graph):
            interner.add(block.terms)
            blocks.append(interner.quads(block.numbers))
        if told.left_out:
            raise ParseError(f"nothing is loaded: {listed(told.misfits, _SHOWN, between='; ')}", source=source.name)
        return unique_quads(np.concatenate(blocks))

    def _states(self, mapping: TableMapping, exported: int, subjects: Ids) -> tuple[Ids, Ids, Ids]:
        """The quads of the subjects of a table and its export, of now and of then; and the subjects of the export."""
        name = mapping.source.get(GRAPH)
        graph = graph_number(self._core.dictionary, None if name is None else self._core.namespaces.graph(name))
        wanted = [ox.NamedNode(TYPE), ox.NamedNode(_class(mapping) or "")]
        type_, kind = self._core.dictionary.find(wanted)

        def instances(quads: Ids) -> Ids:
            return distinct(quads[(quads[:, 1] == type_) & (quads[:, 2] == kind), 0])

        gone = self._core.history.gone(exported, exported)[:, :4]
        gone = gone[gone[:, 3] == graph]
        typed = self._core.patterns.matching((None, *wanted), None)
        every = distinct(np.concatenate([subjects, instances(gone), instances(typed)]))
        rows = held(self._core.connection, every, graph)
        then = np.concatenate([rows[rows[:, 4] <= exported, :4], gone])
        return rows[:, :4], then, instances(then)

    def _kinds(self, quads: Ids) -> Iterable[Kind | None]:
        """The column that shows each quad; None for a quad that no table can hold."""
        terms: Any = self._core.dictionary.terms(distinct(quads[:, :3].ravel()).tolist())
        for subject, predicate, value, _ in quads.tolist():
            cell = cell_of(terms[value])
            holds = cell is not None and fits(cell[2]) and isinstance(terms[subject], ox.NamedNode)
            yield (terms[predicate].value, cell[0], cell[1]) if cell is not None and holds else None

    def _cells(self, quads: Ids) -> _Cells:
        found: _Cells = defaultdict(set)
        for (subject, _, value, _), kind in zip(quads.tolist(), self._kinds(quads), strict=True):
            if kind is not None:
                found[subject, kind].add(value)
        return found

    def _refuse_conflicts(self, exported: int, added: Ids, removed: Ids, now: Ids, then: Ids) -> None:
        """ConflictError where the world changed a cell since the export that the table changes to something else."""
        came, went = self._cells(added), self._cells(removed)
        near = np.concatenate([added[:, 0], removed[:, 0]])
        was, is_ = (self._cells(quads[np.isin(quads[:, 0], near)]) for quads in (then, now))
        none: set[int] = set()
        conflicts = []
        for cell in sorted({*came, *went}):
            before, here = was.get(cell, none), is_.get(cell, none)
            wanted = (before - went.get(cell, none)) | came.get(cell, none)
            if here not in (before, wanted):
                conflicts.append((cell, before, here, wanted))
        if conflicts:
            told = f"{len(conflicts):,} cells have changed since the export of revision {exported}, and in the table"
            cells = listed(conflicts, _SHOWN, lambda one: self._told(*one), "; ")
            raise ConflictError(f"{told}, so nothing is loaded: export the table again. {cells}")

    def _told(self, cell: _Cell, *values: set[int]) -> str:
        subject, (predicate, _, _) = cell
        terms: Any = self._core.dictionary.terms({subject, *(one for some in values for one in some)})
        then, now, table = (", ".join(sorted(repr(terms[one].value) for one in some)) or "nothing" for some in values)
        names = f"{self._shown(terms[subject])} {self._shown(ox.NamedNode(predicate))}"
        return f"{names} was {then}, is now {now}, in the table {table}"

    def _shown(self, term: Any) -> str:
        return shorten(term.value, self._core.namespaces.prefixes)


def _class(mapping: TableMapping) -> str | None:
    """The class whose instances a table has."""
    return next((one.value for one in mapping.columns if one.virtual and one.property == TYPE), None)


def _kind(column: Column) -> Kind:
    """The kind of the values of a column."""
    if column.value is not None:
        return column.property or "", "iri", ""
    if column.language is not None:
        return column.property or "", "lang", ox.Literal("", language=column.language).language or ""
    return column.property or "", "type", column.datatype
