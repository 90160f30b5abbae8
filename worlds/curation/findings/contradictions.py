"""What contradicts itself in a world: by what is declared, by its shapes, and by what the data suggest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from worlds.curation.columns.table import Table
from worlds.curation.findings.declared import Declared
from worlds.curation.findings.findings import SEVERITIES, Finding, Findings, Severity, shown
from worlds.curation.findings.suggested import Suggested
from worlds.errors import ShapesError
from worlds.quads.dataset import SHAPES_GRAPH
from worlds.quads.dictionary import Dictionary
from worlds.revisions.history import History
from worlds.revisions.provenance import Provenance
from worlds.rules.checking import ShapeChecker
from worlds.sql import statements
from worlds.sql.connection import Connection

_SQL = statements("queries.sql")
_SEVERITIES: Mapping[str, Severity] = {"Violation": "error", "Warning": "warning"}


class Contradictions:
    """Finds the contradictions of one world."""

    def __init__(self, connection: Connection, dictionary: Dictionary, history: History, shapes: ShapeChecker) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self._history = history
        self._shapes = shapes

    def find(self, *, suggested: bool, limit: int | None, prefixes: Mapping[str, str]) -> Findings[Finding]:
        """See `World.contradictions`."""
        with self._connection.snapshot():
            table = Table(self._connection, self._dictionary)
            declared = Declared(table)
            raw = list(declared.find())
            if suggested:
                raw += Suggested(table, declared.axioms).find()
            found = shown(raw, table, self._history, prefixes, limit=limit)
            by_shapes = self._by_shapes()
        kept = by_shapes[:limit]
        counts = Counter(found.counts)
        counts["shape"] += len(by_shapes)
        order = sorted([*found, *kept], key=lambda one: SEVERITIES.index(one.severity))
        return Findings(order, +counts)

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
