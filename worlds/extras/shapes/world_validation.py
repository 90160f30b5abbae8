"""Checks a world against shapes: reads these, validates their targets, and puts the results into words."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyoxigraph as ox

from worlds.core.core import Core
from worlds.core.quads.dataset import SHAPES_GRAPH
from worlds.core.quads.dictionary import DEFAULT_GRAPH_ID
from worlds.core.quads.rows import quads_of
from worlds.core.quads.used_names import TimeBudget
from worlds.errors import QueryTimeout, ShapesError
from worlds.extras.shapes.data import DataTriples, ShapeTerms
from worlds.extras.shapes.report import RawResult, ValidationReport, as_results, report_graph
from worlds.extras.shapes.shapes import LeftOut, ShapesGraph, told
from worlds.extras.shapes.sparql import Ask
from worlds.extras.shapes.touched import Touched
from worlds.extras.shapes.validation import Validator, Violation
from worlds.graph.formats import rdflib_quads
from worlds.graph.parsing import parsing
from worlds.graph.query.query import Query
from worlds.graph.query.query_limits import deadline_of
from worlds.graph.rdf_sources import sources
from worlds.graph.terms import format_term, listed, to_rdflib
from worlds.sql import statements

_SQL = statements("rules.sql")
_BATCH = 2000  # results whose quads are read together
_NEAR = 0.05  # seconds in which a class with a name like another is looked for
SECONDS = 60  # that a validation may take, where nobody says


class ShapeChecker:
    """Validates the data of one world."""

    def __init__(self, core: Core, ask: Ask) -> None:
        self._core = core
        self.ask = ask
        self._stamp: tuple[int, ...] | None = None
        self._own = ShapesGraph(())
        self.touched = Touched(self._own)

    def validate(
        self, subjects: Sequence[Any] | None, shapes: object, timeout: float | None = None
    ) -> ValidationReport:
        """The results of validating all targets, or the targets among `subjects`; see `World.shapes.validate`."""
        clock = ValidationClock(timeout)
        given = None if shapes is None else ShapesGraph(_triples(shapes))
        with self._core.connection.snapshot():
            graph = given or self.own()
            if given is None and not any(self._stamp or ()):
                raise ShapesError(
                    "this world has no shapes, and none are given: `worlds shapes load WORLD FILE`, or shapes.load(…), "
                    "keeps some in it",
                    kind="no shapes",
                )
            terms = ShapeTerms(self._core.connection, self._core.dictionary)
            triples = DataTriples(self._core.connection, terms)
            among = None if subjects is None else np.unique(np.array(terms.ids(subjects), dtype=np.int64))
            if graph.left_out and not graph.checked:
                raise ShapesError(told(graph.left_out))
            if given is not None and not graph.shapes:
                raise ShapesError("the given shapes have no target: nothing would be checked")
            validator = Validator(graph, terms, triples, clock.ask(self.ask), clock.look)
            report = self.report(validator.run(among), terms, graph.left_out)
            report.notes = tuple(self._without_instances(list(validator.empty)))
            return report

    def _without_instances(self, classes: Sequence[Any]) -> Iterator[str]:
        """The note on target classes that have no instances, each with the class that may have been meant."""

        def shown(term: Any) -> str:
            classes = self._core.vocabulary.nearest(term.value, TimeBudget(_NEAR), among="classes")
            near = next((one for one in classes if one != term.value), None)
            meant = (
                f" (did you mean {format_term(ox.NamedNode(near), self._core.namespaces.prefixes)}?)" if near else ""
            )
            return f"{format_term(term, self._core.namespaces.prefixes)}{meant}"

        if classes:
            yield f"no instances of the target class {listed(classes, 5, shown)}"

    def own(self) -> ShapesGraph:
        """The world's own shapes; `touched` is about them from then on."""
        held = self._core.dictionary.find([SHAPES_GRAPH])[0]
        stamp = () if held is None else self._core.connection.row(_SQL["shapes_stamp"], (held,)) or ()
        if any(stamp):
            stamp += (held, self._core.dictionary.rollbacks)  # what is rolled back leaves its ids to others
        if stamp != self._stamp:
            self._own = ShapesGraph(self.stored())
            self.touched = Touched(self._own)
            self._stamp = stamp
        return self._own

    def stored(self) -> Iterator[ox.Quad]:
        """The quads of the world's own shapes."""
        return quads_of(self._core.connection, self._core.dictionary, self._core.dictionary.find([SHAPES_GRAPH])[0])

    def report(
        self, violations: Sequence[Violation], terms: ShapeTerms, left_out: Sequence[LeftOut] = (), *, new: bool = False
    ) -> ValidationReport:
        """The violations as they are shown."""
        ids = {number for one in violations for number in (one.focus, one.value, one.predicate) if number >= 0}
        known = terms.terms(ids)
        shown = [(known[one.focus], known.get(one.value), known.get(one.predicate)) for one in violations]
        found = [
            RawResult(one.shape, one.constraint, *three, one.message)
            for one, three in zip(violations, shown, strict=True)
        ]
        prefixes = self._core.namespaces.prefixes
        messages = [one.message(prefixes) for one in found]
        quads = self._quads(violations, found, terms)
        results = as_results(found, messages, quads, new=new)
        return ValidationReport(results, report_graph(found, messages, left_out), prefixes, left_out)

    def _quads(
        self, violations: Sequence[Violation], found: Sequence[RawResult], terms: ShapeTerms
    ) -> list[tuple[tuple[Any, Any, Any, Any, int], ...]]:
        """The quads that hold the value of each result whose path is a predicate."""
        sought = [
            (one.focus, terms.id(shown.path.predicate), one.value)
            if shown.path is not None and shown.path.kind == "predicate" and one.value >= 0
            else None
            for one, shown in zip(violations, found, strict=True)
        ]
        rows: dict[tuple[int, int, int], list[tuple[int, int]]] = {}
        triples = sorted({triple for triple in sought if triple is not None})
        for start in range(0, len(triples), _BATCH):
            statement = _SQL["quads_of_triples"]
            values = statement.bind(triples_json=json.dumps(triples[start : start + _BATCH]))
            for *triple, graph, revision in self._core.connection.rows(statement, values):
                rows.setdefault((triple[0], triple[1], triple[2]), []).append((graph, revision))
        numbers = {n for triple in rows for n in triple} | {graph for held in rows.values() for graph, _ in held}
        shown_terms = {number: to_rdflib(term) for number, term in terms.terms(numbers - {DEFAULT_GRAPH_ID}).items()}
        shown_quads: dict[Any, Any] = {
            triple: tuple(
                (*(shown_terms[part] for part in triple), shown_terms.get(graph), since) for graph, since in held
            )
            for triple, held in rows.items()
        }
        return [shown_quads.get(triple, ()) if triple else () for triple in sought]


class ValidationClock:
    """Stops a validation that takes too long; `seconds` are a caller's limit, which stops the queries, too."""

    def __init__(self, seconds: float | None = None, most: float = SECONDS) -> None:
        self._strict, self._most = seconds is not None, most if seconds is None else seconds
        self._deadline = deadline_of(self._most)

    def look(self) -> float:
        """The seconds that are left; QueryTimeout if none are."""
        assert self._deadline is not None
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise QueryTimeout(f"validation was stopped after {self._most:,.0f} seconds: raise `timeout`")
        return left

    def ask(self, ask: Ask) -> Ask:
        """`ask`, in the time that is left."""

        def timely(query: Query) -> tuple[Sequence[str], Iterator[Sequence[Any]]]:
            left = self.look()
            return ask(query.replaced(timeout=left) if self._strict else query)

        return timely


def _triples(given: object) -> list[Any]:
    """The triples of shapes that a caller gave: an rdflib graph, or whatever `World.load` takes."""
    if hasattr(given, "triples") and hasattr(given, "namespaces"):
        return list(rdflib_quads(given))  # type: ignore[arg-type]  # an rdflib graph
    found: list[Any] = []
    for source in sources(given):
        with parsing(source) as quads:
            found += list(quads)
    return found
