"""Writes the instances of a class as a table, with the mapping by which it comes in again as the same triples."""

from __future__ import annotations

import csv
import io
import json
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyoxigraph as ox

from worlds.core.core import Core
from worlds.core.quads.dictionary import DEFAULT_GRAPH, DEFAULT_GRAPH_ID, Dictionary, Ids, json_ids
from worlds.core.quads.export import refuse_own
from worlds.core.quads.rows import distinct
from worlds.errors import ArgumentError
from worlds.extras.sources.tables.mapping import CONTEXT, DATATYPES, GRAPH, REVISION, STATE, TYPE
from worlds.extras.sources.tables.quads import is_valid
from worlds.graph.cells import MOST, escaped, fits
from worlds.graph.targets import replacing
from worlds.graph.terms import RDF, XSD, GraphName, local_name
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
