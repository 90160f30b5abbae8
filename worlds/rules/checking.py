"""Checks a world against shapes: reads these, validates their targets, and puts the results into words."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyoxigraph as ox

from worlds.errors import ShapesError
from worlds.graph.formats import parsing, rdflib_quads
from worlds.graph.sources import sources
from worlds.graph.terms import to_rdflib
from worlds.quads.dictionary import DEFAULT_GRAPH_ID, Dictionary
from worlds.quads.rows import decoded, read_quads
from worlds.rules.data import Terms, Triples
from worlds.rules.report import Found, Report, Result, as_results, report_graph
from worlds.rules.shapes import ShapesGraph
from worlds.rules.validation import Validator, Violation
from worlds.sql import statements
from worlds.sql.connection import Connection

SHAPES_GRAPH = ox.NamedNode("urn:worlds:shapes")
"""The named graph of a world's own shapes; it is not validated itself."""

_SQL = statements("rules.sql")
_BATCH = 2000  # results whose quads are read together


class ShapeChecker:
    """Validates the data of one world."""

    def __init__(self, connection: Connection, dictionary: Dictionary) -> None:
        self._connection = connection
        self._dictionary = dictionary

    def validate(self, subjects: Sequence[Any] | None, shapes: object, prefixes: Mapping[str, str]) -> Report:
        """The results of validating all targets, or those among `subjects`; see `World.validate`."""
        given = None if shapes is None else ShapesGraph(_triples(shapes))
        with self._connection.snapshot():
            held = self._dictionary.find([SHAPES_GRAPH])[0]
            graph = ShapesGraph(self._stored(held)) if given is None else given
            terms = Terms(self._connection, self._dictionary)
            excluded = -1 if held is None else held
            triples = Triples(self._connection, terms, shapes=excluded)
            among = None if subjects is None else np.unique(np.array(terms.ids(subjects), dtype=np.int64))
            violations = Validator(graph, terms, triples).run(among)
            return self._report(violations, terms, excluded, prefixes)

    def _stored(self, graph: int | None) -> Iterable[ox.Quad]:
        """The quads of the world's own shapes."""
        blocks = () if graph is None else tuple(read_quads(self._connection, "quads_of_graph", graph=graph))
        if not blocks:
            raise ShapesError(
                f"this world has no shapes: load them with graph={SHAPES_GRAPH.value!r}, or give them as shapes=…"
            )
        for block in blocks:
            yield from decoded(block, self._dictionary.terms(np.unique(block).tolist()))

    def _report(
        self, violations: Sequence[Violation], terms: Terms, excluded: int, prefixes: Mapping[str, str]
    ) -> Report:
        ids = {number for one in violations for number in (one.focus, one.value, one.predicate) if number >= 0}
        known = terms.terms(ids)
        found = [
            Found(one.shape, one.constraint, known[one.focus], known.get(one.value), known.get(one.predicate))
            for one in violations
        ]
        messages = [one.message(prefixes) for one in found]
        quads = self._quads(violations, found, terms, excluded)
        results: list[Result] = as_results(found, messages, quads)
        return Report(results, report_graph(found, messages), prefixes)

    def _quads(
        self, violations: Sequence[Violation], found: Sequence[Found], terms: Terms, excluded: int
    ) -> list[tuple[tuple[Any, Any, Any, Any, int], ...]]:
        """Of each result the quads that hold its value: of those whose path is a predicate."""
        sought: list[tuple[int, int, int] | None] = []
        for one, shown in zip(violations, found, strict=True):
            path = shown.path
            direct = path is not None and path.kind == "predicate" and one.value >= 0
            sought.append((one.focus, terms.id(path.predicate), one.value) if direct and path else None)
        rows: dict[tuple[int, int, int], list[tuple[int, int]]] = {}
        triples = sorted({triple for triple in sought if triple is not None})
        for start in range(0, len(triples), _BATCH):
            statement = _SQL["quads_of_triples"]
            values = statement.bind(triples_json=json.dumps(triples[start : start + _BATCH]), shapes=excluded)
            for *triple, graph, revision in self._connection.rows(statement, values):
                rows.setdefault((triple[0], triple[1], triple[2]), []).append((graph, revision))
        numbers = {n for triple in rows for n in triple} | {graph for held in rows.values() for graph, _ in held}
        shown_terms = {number: to_rdflib(term) for number, term in terms.terms(numbers - {DEFAULT_GRAPH_ID}).items()}
        return [
            ()
            if triple is None
            else tuple(
                (*(shown_terms[number] for number in triple), shown_terms.get(graph), revision)
                for graph, revision in rows.get(triple, ())
            )
            for triple in sought
        ]


def _triples(given: object) -> list[Any]:
    """The triples of shapes that a caller gave: an rdflib graph, or whatever `World.load` takes."""
    if hasattr(given, "triples") and hasattr(given, "namespaces"):
        return list(rdflib_quads(given))  # type: ignore[arg-type]  # an rdflib graph
    found: list[Any] = []
    for source in sources(given):
        with parsing(source) as quads:
            found += list(quads)
    return found
