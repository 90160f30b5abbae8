"""Checks a world against shapes: reads these, validates their targets, and puts the results into words."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyoxigraph as ox

from worlds.errors import ShapesError
from worlds.graph.formats import rdflib_quads
from worlds.graph.parsing import parsing
from worlds.graph.sources import sources
from worlds.graph.terms import to_rdflib
from worlds.quads.dataset import SHAPES_GRAPH
from worlds.quads.dictionary import DEFAULT_GRAPH_ID, Dictionary
from worlds.quads.rows import quads_of
from worlds.rules.data import Terms, Triples
from worlds.rules.report import Found, ValidationReport, as_results, report_graph
from worlds.rules.shapes import ShapesGraph
from worlds.rules.sparql import Ask
from worlds.rules.touched import Touched
from worlds.rules.validation import Validator, Violation
from worlds.sql import statements
from worlds.sql.connection import Connection

_SQL = statements("rules.sql")
_BATCH = 2000  # results whose quads are read together


class ShapeChecker:
    """Validates the data of one world."""

    def __init__(
        self, connection: Connection, dictionary: Dictionary, prefixes: Callable[[], Mapping[str, str]], ask: Ask
    ) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self.prefixes = prefixes
        self.ask = ask
        self._stamp: tuple[int, ...] | None = None
        self._own = ShapesGraph(())
        self.touched = Touched(())

    def validate(self, subjects: Sequence[Any] | None, shapes: object) -> ValidationReport:
        """The results of validating all targets, or those among `subjects`; see `World.validate`."""
        given = None if shapes is None else ShapesGraph(_triples(shapes))
        with self._connection.snapshot():
            graph = self.own()
            if given is None and not self._stamp:
                raise ShapesError(
                    "this world has no shapes, and none are given: `worlds shapes WORLD FILE`, or shapes.load(…), "
                    "keeps some in it",
                    kind="no shapes",
                )
            terms = Terms(self._connection, self._dictionary)
            triples = Triples(self._connection, terms)
            among = None if subjects is None else np.unique(np.array(terms.ids(subjects), dtype=np.int64))
            violations = Validator(given or graph, terms, triples, self.ask).run(among)
            return self.report(violations, terms)

    def own(self) -> ShapesGraph:
        """The world's own shapes. ShapesError for ill-formed ones.

        `touched` is about them from then on.
        """
        held = self._dictionary.find([SHAPES_GRAPH])[0]
        stamp = (held, *(self._connection.row(_SQL["shapes_stamp"], (held,)) or ())) if held is not None else ()
        if held is None or not stamp[1]:
            stamp = ()
        if stamp != self._stamp:
            self._stamp = None
            self._own = ShapesGraph(self.stored())
            self.touched = Touched(self._own.shapes)
            self._stamp = stamp
        return self._own

    def stored(self) -> Iterator[ox.Quad]:
        """The quads of the world's own shapes."""
        return quads_of(self._connection, self._dictionary, self._dictionary.find([SHAPES_GRAPH])[0])

    def report(self, violations: Sequence[Violation], terms: Terms, *, new: bool = False) -> ValidationReport:
        """The violations as they are shown."""
        ids = {number for one in violations for number in (one.focus, one.value, one.predicate) if number >= 0}
        known = terms.terms(ids)
        found = [
            Found(
                one.shape, one.constraint, known[one.focus], known.get(one.value), known.get(one.predicate), one.message
            )
            for one in violations
        ]
        prefixes = self.prefixes()
        messages = [one.message(prefixes) for one in found]
        quads = self._quads(violations, found, terms)
        return ValidationReport(as_results(found, messages, quads, new=new), report_graph(found, messages), prefixes)

    def _quads(
        self, violations: Sequence[Violation], found: Sequence[Found], terms: Terms
    ) -> list[tuple[tuple[Any, Any, Any, Any, int], ...]]:
        """The quads that hold the value of each result whose path is a predicate."""
        sought: list[tuple[int, int, int] | None] = []
        for one, shown in zip(violations, found, strict=True):
            path = shown.path
            direct = path is not None and path.kind == "predicate" and one.value >= 0
            sought.append((one.focus, terms.id(path.predicate), one.value) if direct and path else None)
        rows: dict[tuple[int, int, int], list[tuple[int, int]]] = {}
        triples = sorted({triple for triple in sought if triple is not None})
        for start in range(0, len(triples), _BATCH):
            statement = _SQL["quads_of_triples"]
            values = statement.bind(triples_json=json.dumps(triples[start : start + _BATCH]))
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
