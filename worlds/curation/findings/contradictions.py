"""What contradicts itself in a world: by what is declared, by its shapes, and by what the data suggest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyoxigraph as ox

from worlds.curation.columns.axioms import Axioms
from worlds.curation.columns.table import Mask, Table, distinct
from worlds.curation.columns.vocabularies import RDFS
from worlds.curation.findings.causes import RawCause, causes, counted
from worlds.curation.findings.declared import Declared
from worlds.curation.findings.findings import (
    CONTRADICTIONS,
    SEVERITIES,
    Cause,
    Finding,
    Findings,
    Raw,
    Severity,
    Shown,
    kept,
)
from worlds.curation.findings.suggested import Suggested
from worlds.errors import ArgumentError, ShapesError
from worlds.graph.terms import format_term, to_oxigraph, to_rdflib
from worlds.quads.dataset import SHAPES_GRAPH
from worlds.quads.dictionary import Dictionary
from worlds.revisions.history import History
from worlds.revisions.provenance import Provenance
from worlds.rules.checking import ShapeChecker
from worlds.sql import statements
from worlds.sql.connection import Connection

_SQL = statements("queries.sql")
_EXAMPLES = 5  # findings of a cause that are told with it
_NOTHING = -1  # no term has this id
_KINDS = ", ".join(CONTRADICTIONS)
_SEVERITIES: Mapping[str, Severity] = {"Violation": "error", "Warning": "warning"}


def _is_meant(said: Provenance, author: str | None, after: int | None) -> bool:
    """Whether an author said a quad, after a revision."""
    entry = said.added
    return (
        entry is not None and (author is None or entry.author == author) and (after is None or entry.revision > after)
    )


def _cause(cause: RawCause, counts: Mapping[str, int], examples: Sequence[Raw], shown: Shown) -> Cause:
    """A cause as its readers see it."""
    count = len(cause.places)
    subjects = tuple(dict.fromkeys(shown.term(number) for one in examples for number in one.subjects))[:_EXAMPLES]
    messages = tuple(sorted(map(shown.message, examples)))
    if cause.row is not None:
        said = shown.said(cause.row)
        s, p, o = (format_term(to_oxigraph(term), shown.prefixes) for term in said.quad[:3])
        by = "" if said.added is None else f", revision {said.added.revision} by {said.added.author or 'nobody named'}"
        return Cause(f"{count:,} findings with {s} {p} {o}{by}", count, dict(counts), messages, subjects,
                     remove=(said.quad,))  # fmt: skip
    told = f"{count:,} findings of the kind {cause.kind}, with {', '.join(map(shown.text, cause.parts))}"
    if cause.below is None:
        return Cause(told, count, dict(counts), messages, subjects)
    below, above = cause.below
    told += f": nearly all are of {shown.text(below)}, which is not said to be below {shown.text(above)}"
    sub_class = to_rdflib(ox.NamedNode(RDFS + "subClassOf"))
    add = ((shown.term(below), sub_class, shown.term(above), None),)
    return Cause(told, count, dict(counts), messages, subjects, add=add)


class Contradictions:
    """Finds the contradictions of one world."""

    def __init__(self, connection: Connection, dictionary: Dictionary, history: History, shapes: ShapeChecker) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self._history = history
        self._shapes = shapes

    def find(
        self,
        *,
        suggested: bool,
        kinds: Iterable[str] | None,
        author: str | None,
        entity: Any,
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
            raw = list(declared.find())
            if suggested:
                raw += Suggested(table, declared.axioms).find()
            number = None if entity is None else self._dictionary.find([entity])[0] or _NOTHING
            theirs = self._rows_of(table, author, after)
            raw = [
                one
                for one in raw
                if one.kind in wanted
                and (number is None or number in one.subjects)
                and (theirs is None or theirs[list(one.rows)].any())
            ]
            found, counts = self._shown(raw, table, declared.axioms, prefixes, limit)
            by_shapes = self._by_shapes() if "shape" in wanted else []
        about = None if entity is None else to_rdflib(entity)
        by_shapes = [
            one
            for one in by_shapes
            if (about is None or about in one.subjects)
            and ((author is None and after is None) or any(_is_meant(said, author, after) for said in one.quads))
        ]
        counts["shape"] += len(by_shapes)
        order = sorted([*found, *by_shapes[:limit]], key=lambda one: SEVERITIES.index(one.severity))
        return Findings(order, +counts, found.causes)

    def _rows_of(self, table: Table, author: str | None, after: int | None) -> Mask | None:
        """Which quads an author wrote after a revision; None for all."""
        if author is None and after is None:
            return None
        entries = self._history.numbered(distinct(table.revisions).tolist())
        meant = [number for number, one in entries.items() if (author is None or one.author == author)
                 and (after is None or number > after)]  # fmt: skip
        found: Mask = np.isin(table.revisions, meant)
        return found

    def _shown(
        self, raw: Sequence[Raw], table: Table, axioms: Axioms, prefixes: Mapping[str, str], limit: int | None
    ) -> tuple[Findings[Finding], Counter[str]]:
        first, counts = kept(raw, limit)
        why = causes(raw, table, axioms)
        examples = [[raw[place] for place in cause.places[:_EXAMPLES]] for cause in why]
        every = [*first, *(one for some in examples for one in some)]
        rows = {row for one in every for row in (*one.rows, *one.remove)}
        rows |= {cause.row for cause in why if cause.row is not None}
        parts = {number for one in every for number in (*one.parts, *one.subjects)}
        parts |= {number for cause in why for number in (*cause.parts, *(cause.below or ()))}
        as_shown = Shown(table, self._history, prefixes, rows, parts)
        told = [_cause(cause, counted(raw, cause), some, as_shown) for cause, some in zip(why, examples, strict=True)]
        return Findings(map(as_shown.finding, first), counts, told), Counter(counts)

    def _by_shapes(self) -> list[Finding]:
        """What the world's own shapes find; nothing where it has none."""
        held = self._dictionary.find([SHAPES_GRAPH])[0]
        if held is None or not self._connection.value(_SQL["graph_exists"], (held,)):
            return []
        try:
            report = self._shapes.validate(None, None)
        except ShapesError as error:
            return [Finding("shape", "warning", 1.0, f"the world's shapes cannot be checked: {error}")]
        entries = self._history.numbered({quad[4] for one in report.results for quad in one.quads})
        return [
            Finding(
                "shape",
                _SEVERITIES.get(one.severity, "info"),
                1.0,
                f"{one.focus} {one.path or ''}: {one.message}".replace(" :", ":"),
                (one.focus,),
                tuple(Provenance((s, p, o, g), entries.get(revision), None) for s, p, o, g, revision in one.quads),
            )
            for one in report.results
        ]
