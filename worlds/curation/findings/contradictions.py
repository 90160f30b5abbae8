"""What contradicts itself in a world: by what is declared, by its shapes, and by what the data suggest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from worlds.curation.columns.table import Table
from worlds.curation.findings.declared import Declared
from worlds.curation.findings.findings import CONTRADICTIONS, SEVERITIES, Finding, Findings, Severity, shown
from worlds.curation.findings.suggested import Suggested
from worlds.errors import ArgumentError, ShapesError
from worlds.graph.terms import to_rdflib
from worlds.quads.dataset import SHAPES_GRAPH
from worlds.quads.dictionary import Dictionary
from worlds.revisions.history import History
from worlds.revisions.provenance import Provenance
from worlds.rules.checking import ShapeChecker
from worlds.sql import statements
from worlds.sql.connection import Connection

_SQL = statements("queries.sql")
_NOTHING = -1  # no term has this id
_KINDS = ", ".join(CONTRADICTIONS)
_SEVERITIES: Mapping[str, Severity] = {"Violation": "error", "Warning": "warning"}


def _is_by(one: Finding, author: str) -> bool:
    return any(said.added is not None and said.added.author == author for said in one.quads)


def _first(found: Iterable[Finding], limit: int | None) -> Iterator[Finding]:
    """The first findings of each kind."""
    given: Counter[str] = Counter()
    for one in found:
        given[one.kind] += 1
        if limit is None or given[one.kind] <= limit:
            yield one


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
            raw = [one for one in raw if one.kind in wanted and (number is None or number in one.subjects)]
            found = shown(raw, table, self._history, prefixes, limit=limit if author is None else None)
            by_shapes = self._by_shapes() if "shape" in wanted else []
        about = None if entity is None else to_rdflib(entity)
        by_shapes = [one for one in by_shapes if about is None or about in one.subjects]
        counts = Counter(found.counts)
        if author is not None:
            by_shapes = [one for one in by_shapes if _is_by(one, author)]
            found = Findings(filter(lambda one: _is_by(one, author), found), {})
            counts = Counter(one.kind for one in found)
            found = Findings(_first(found, limit), counts)
        counts["shape"] += len(by_shapes)
        order = sorted([*found, *by_shapes[:limit]], key=lambda one: SEVERITIES.index(one.severity))
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
