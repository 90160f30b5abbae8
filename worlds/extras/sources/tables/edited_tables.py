"""Loads a table that was exported and edited: the cells that were edited change, and nothing else."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyoxigraph as ox

from worlds.core.core import Core
from worlds.core.history.diff import Diff
from worlds.core.history.gate import Change
from worlds.core.history.writer import Writing
from worlds.core.quads.dictionary import DEFAULT_GRAPH, Ids
from worlds.core.quads.interner import Interner
from worlds.core.quads.reader import read_documents
from worlds.core.quads.rows import NO_QUADS, difference, distinct, unique_quads
from worlds.errors import ArgumentError, ConflictError, ParseError
from worlds.extras.sources.tables.export import Kind, cell_of, graph_number, held
from worlds.extras.sources.tables.mapping import GRAPH, REVISION, STATE, TYPE, Column, TableMapping
from worlds.extras.sources.tables.quads import RowNotes
from worlds.extras.sources.tables.tabular import TableSources
from worlds.graph.cells import fits
from worlds.graph.rdf_sources import Input
from worlds.graph.terms import listed, shorten

_SHOWN = 10  # rows that are gone, that do not fit, and cells in conflict, which are named

_Cell: TypeAlias = tuple[int, Kind]  # a subject, and the column
_Cells: TypeAlias = dict[_Cell, set[int]]  # and the objects


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
