"""What contradicts itself in a world: by what is declared, by its shapes, and by what the data suggest."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from worlds.curation.columns.table import Mask, Table, distinct
from worlds.curation.findings.causes import told_causes
from worlds.curation.findings.declared import Declared
from worlds.curation.findings.findings import CONTRADICTIONS, Finding, Findings, Raw, Severity, Shown, kept
from worlds.curation.findings.overlapping import overlaps
from worlds.curation.findings.suggested import Suggested
from worlds.errors import ArgumentError, ShapesError
from worlds.graph.terms import to_oxigraph
from worlds.quads.dataset import SHAPES_GRAPH
from worlds.quads.dictionary import Dictionary
from worlds.revisions.history import History
from worlds.rules.checking import ShapeChecker
from worlds.sql import statements
from worlds.sql.connection import Connection
from worlds.validity.spans import Validity

_SQL = statements("queries.sql")
_predicate = re.compile("<([^<>]*)>")
_NOTHING = -1  # no term has this id
_KINDS = ", ".join(CONTRADICTIONS)
_SEVERITIES: Mapping[str, Severity] = {"Violation": "error", "Warning": "warning"}


class Contradictions:
    """Finds the contradictions of one world."""

    def __init__(
        self, connection: Connection, dictionary: Dictionary, history: History, shapes: ShapeChecker, validity: Validity
    ) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self._history = history
        self._shapes = shapes
        self._validity = validity

    def find(
        self,
        *,
        suggested: bool,
        kinds: Iterable[str] | None,
        author: str | None,
        entity: Any,
        graphs: Sequence[Any] | None,
        after: int | None,
        limit: int | None,
        prefixes: Mapping[str, str],
    ) -> Findings[Finding]:
        """See `World.contradictions`."""
        wanted = set(CONTRADICTIONS if kinds is None else kinds)
        if unknown := sorted(wanted.difference(CONTRADICTIONS)):
            raise ArgumentError(f"there is no kind {unknown[0]!r} of contradictions; the kinds are {_KINDS}")
        with self._connection.snapshot():
            table = Table(self._connection, self._dictionary)
            declared = Declared(table)
            raw = [*declared.find(), *overlaps(declared, self._validity.spans())]
            if suggested:
                raw += Suggested(table, declared.axioms).find()
            if "shape" in wanted:
                raw += self.by_shapes(table)
            number = None if entity is None else self._dictionary.find([entity])[0] or _NOTHING
            meant = self._rows_of(table, author, graphs, after)
            raw = [
                one
                for one in raw
                if one.kind in wanted
                and (number is None or number in one.subjects)
                and (meant is None or meant[list(one.rows)].any())
            ]
            first, counts = kept(raw, limit)
            rows = {row for one in first for row in (*one.rows, *one.remove)}
            parts = {number for one in first for number in (*one.parts, *one.subjects)}
            shown = Shown(table, self._history, prefixes, rows, parts)
            causes = told_causes(raw, table, declared.axioms, self._history, prefixes)
            return Findings(map(shown.finding, first), counts, causes)

    def _rows_of(
        self, table: Table, author: str | None, graphs: Sequence[Any] | None, after: int | None
    ) -> Mask | None:
        """Which quads an author wrote, in some graphs, after a revision; None for all."""
        if author is None and graphs is None and after is None:
            return None
        entries = self._history.numbered(distinct(table.revisions).tolist())
        meant = [number for number, one in entries.items() if (author is None or one.author == author)
                 and (after is None or number > after)]  # fmt: skip
        found: Mask = np.isin(table.revisions, meant)
        return found if graphs is None else found & table.within(graphs)

    def by_shapes(self, table: Table) -> list[Raw]:
        """What the world's own shapes find; nothing where it has none."""
        held = self._dictionary.find([SHAPES_GRAPH])[0]
        if held is None or not self._connection.value(_SQL["graph_exists"], (held,)):
            return []
        try:
            report = self._shapes.validate(None, None)
        except ShapesError as error:
            told = f"the world's shapes cannot be checked: {error}"
            return [Raw("shape", "warning", 1.0, (), (), _escaped(told))]
        terms = [to_oxigraph(term) for one in report.results for term in (one.focus, one.value) if term is not None]
        numbers = dict(zip(terms, self._dictionary.find(terms), strict=True))
        found = [Raw("shape", "warning", 1.0, (), (), _escaped(str(one))) for one in report.left_out]
        for one in report.results:
            focus = numbers[to_oxigraph(one.focus)]
            value = None if one.value is None else numbers[to_oxigraph(one.value)]
            direct = _predicate.fullmatch(one.path or "")
            predicate = table.id(direct[1]) if direct else -1
            rows: Sequence[int] = ()
            if focus and predicate > 0 and value is None:
                rows = table.values_of(focus, predicate)
            elif focus and predicate > 0 and value:
                rows = table.quads_of(focus, predicate, value)
            shown = ["{0}" if focus else _escaped(str(one.focus))]
            shown += [_escaped(one.path)] if one.path and predicate < 0 else ["{1}"] if one.path else []
            component = one.component.rpartition("#")[2].removesuffix("ConstraintComponent")
            found.append(
                Raw(
                    "shape",
                    _SEVERITIES.get(one.severity, "info"),
                    1.0,
                    (focus,) if focus else (),
                    tuple(rows),
                    f"{' '.join(shown)}: {_escaped(one.message)}",
                    (focus or 0, predicate) if predicate > 0 else (focus or 0,),
                    rule=component if direct or not one.path else f"{component} of {one.path}",
                )
            )
        return found


def _escaped(text: str) -> str:
    """A text without places for terms."""
    return text.replace("{", "{{").replace("}", "}}")
