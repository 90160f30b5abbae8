"""Contradictions in a world: of its declarations, of its shapes, and of patterns in the data."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np

from worlds.core.core import Core
from worlds.core.quads.dataset import SHAPES_GRAPH
from worlds.errors import ArgumentError, ShapesError
from worlds.extras.conclusions.explaining import Clash, same
from worlds.extras.curation.columns.axioms import OWL
from worlds.extras.curation.columns.quad_columns import Mask, QuadTable, distinct
from worlds.extras.curation.findings.declared import Declared
from worlds.extras.curation.findings.findings import (
    CONTRADICTIONS,
    Finding,
    FindingPresenter,
    Findings,
    RawFinding,
    Severity,
    kept,
    told_causes,
)
from worlds.extras.curation.findings.suggested import Suggested
from worlds.extras.facts.spans import REIFIES, Spans, Validity
from worlds.extras.shapes.world_validation import ShapeChecker
from worlds.graph.terms import to_oxigraph
from worlds.sql import statements

_SQL = statements("queries.sql")
_predicate = re.compile("<([^<>]*)>")
_NOTHING = -1  # no term has this id
_KINDS = ", ".join(CONTRADICTIONS)
_SEVERITIES: Mapping[str, Severity] = {"Violation": "error", "Warning": "warning"}


def overlaps(declared: Declared, spans: Spans) -> Iterator[RawFinding]:
    """Contradictions in time; a value of which nothing says when it held contradicts none."""
    table = declared.table
    functional = declared.axioms.typed(OWL + "FunctionalProperty")
    reifies = table.id(REIFIES.value)
    chosen = spans.of(np.isin(spans.quads[:, 1], functional))
    columns = np.column_stack([chosen.quads[:, [0, 1, 3, 2]], chosen.since, chosen.until, chosen.reifiers])
    for (subject, predicate, _), rows in groupby(sorted(map(tuple, columns.tolist())), key=lambda row: row[:3]):
        held = sorted(rows, key=lambda row: row[4])
        for place, (*_, value, _, until, reifier) in enumerate(held):
            for *_, other, since, _, second in held[place + 1 :]:
                if since >= until:
                    break
                if other == value or all(len(table.quads_of(subject, predicate, one)) for one in (value, other)):
                    continue
                text = "{0} had two values of {1} at one time, which may have at most one: {2} and {3}"
                yield RawFinding(
                    "overlap",
                    (subject,),
                    tuple(sorted({*table.values_of(reifier, reifies), *table.values_of(second, reifies)})),
                    text,
                    (subject, predicate, value, other),
                    severity=declared.grave([value, other]),
                )


@dataclass(eq=False, repr=False)
class Contradictions:
    """Finds the contradictions of one world."""

    _core: Core
    _shapes: ShapeChecker
    _validity: Validity
    _clashes: Callable[[], Iterable[Clash]]  # the contradictions by what follows by rules

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
        """See `World.curation.contradictions`."""
        wanted = set(CONTRADICTIONS if kinds is None else kinds)
        if unknown := sorted(wanted.difference(CONTRADICTIONS)):
            raise ArgumentError(f"there is no kind {unknown[0]!r} of contradictions; the kinds are {_KINDS}")
        with self._core.connection.snapshot():
            table = QuadTable(self._core.connection, self._core.dictionary)
            declared = Declared(table)
            raw = [*self._with_clashes(declared), *overlaps(declared, self._validity.spans())]
            if suggested:
                raw += Suggested(table, declared.axioms).find()
            if "shape" in wanted:
                raw += self.by_shapes(table)
            number = None if entity is None else self._core.dictionary.find([entity])[0] or _NOTHING
            meant = self._rows_of(table, author, graphs, after)
            raw = [
                one
                for one in raw
                if one.kind in wanted
                and (number is None or number in one.subjects)
                and (meant is None or meant[list(one.rows)].any())
            ]
            first, counts = kept(raw, limit)
            rows = {row for one in first for row in (*one.rows, *one.remove, *sum(one.ends, ()))}
            parts = {number for one in first for number in (*one.parts, *one.subjects)}
            shown = FindingPresenter(table, self._core.history, prefixes, rows, parts)
            causes = told_causes(raw, table, declared.axioms, self._core.history, prefixes)
            return Findings(map(shown.finding, first), counts, causes)

    def _with_clashes(self, declared: Declared) -> list[RawFinding]:
        """The contradictions of declarations and conclusions; one of both has all quads that lead to it."""
        table, found = declared.table, list(declared.find())
        places = {same(one.kind, one.parts): place for place, one in enumerate(found)}

        def row(quad: tuple[int, ...]) -> int:
            rows = table.quads_of(*quad[:3])
            return next((one for one in rows if table.graphs[one] == quad[3]), -1)

        for kind, text, parts, quads, ends in self._clashes():
            rows = tuple(one for one in map(row, quads) if one >= 0)
            sets = tuple(tuple(map(row, one)) for one in ends)
            grave = declared.grave(list(parts[2:])) if kind.endswith("functional") else "error"
            subjects = parts[2:] if kind == "inverse functional" else parts[:1]
            place = places.get(same(kind, parts))
            raw = RawFinding(kind, subjects, (), text, parts, severity=grave) if place is None else found[place]
            ended = tuple(one for one in sets if min(one) >= 0)
            told = replace(raw, rows=tuple(sorted({*raw.rows, *rows, *sum(ended, ())})), ends=ended)
            if place is None:
                found.append(told)
            else:
                found[place] = told
        return found

    def _rows_of(
        self, table: QuadTable, author: str | None, graphs: Sequence[Any] | None, after: int | None
    ) -> Mask | None:
        """Which quads an author wrote, in some graphs, after a revision; None for all."""
        if author is None and graphs is None and after is None:
            return None
        entries = self._core.history.numbered(distinct(table.revisions).tolist())
        meant = [number for number, one in entries.items() if (author is None or one.author == author)
                 and (after is None or number > after)]  # fmt: skip
        found: Mask = np.isin(table.revisions, meant)
        return found if graphs is None else found & table.within(graphs)

    def by_shapes(self, table: QuadTable) -> list[RawFinding]:
        """Violations of the world's own shapes; none where it has no shapes."""
        held = self._core.dictionary.find([SHAPES_GRAPH])[0]
        if held is None or not self._core.connection.value(_SQL["graph_exists"], (held,)):
            return []
        try:
            report = self._shapes.validate(None, None)
        except ShapesError as error:
            told = f"the world's shapes cannot be checked: {error}"
            return [RawFinding("shape", (), (), _escaped(told), severity="warning")]
        terms = [to_oxigraph(term) for one in report.results for term in (one.focus, one.value) if term is not None]
        numbers = dict(zip(terms, self._core.dictionary.find(terms), strict=True))
        found = [RawFinding("shape", (), (), _escaped(str(one)), severity="warning") for one in report.left_out]
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
                RawFinding(
                    "shape",
                    (focus,) if focus else (),
                    tuple(rows),
                    f"{' '.join(shown)}: {_escaped(one.message)}",
                    (focus or 0, predicate) if predicate > 0 else (focus or 0,),
                    severity=_SEVERITIES.get(one.severity, "info"),
                    rule=component if direct or not one.path else f"{component} of {one.path}",
                )
            )
        return found


def _escaped(text: str) -> str:
    """A text without places for terms."""
    return text.replace("{", "{{").replace("}", "}}")
