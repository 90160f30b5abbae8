"""Checks a world against shapes: reads these, validates their targets, and puts the results into words."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyoxigraph as ox

from worlds.core.core import Core
from worlds.core.quads.dataset import SHAPES_GRAPH
from worlds.core.quads.dictionary import DEFAULT_GRAPH_ID, Ids
from worlds.core.quads.rows import distinct as once
from worlds.core.quads.rows import quads_of
from worlds.core.quads.used_names import TimeBudget
from worlds.errors import QueryTimeout, ShapesError
from worlds.extras.shapes.components import union
from worlds.extras.shapes.nodes import RDF_TYPE
from worlds.extras.shapes.paths import NO_IDS, DataTriples, PropertyPath, ShapeTerms, Walks, within
from worlds.extras.shapes.report import RawResult, ValidationReport, as_results, report_graph
from worlds.extras.shapes.shapes import SUBCLASS_OF, LeftOut, Shape, ShapesGraph, told
from worlds.extras.shapes.sparql import Ask, SparqlConstraint
from worlds.extras.shapes.validation import Validator, Violation
from worlds.graph.formats import rdflib_quads
from worlds.graph.parsing import parsing
from worlds.graph.query.query import Query
from worlds.graph.query.query_limits import deadline_of
from worlds.graph.rdf_sources import sources
from worlds.graph.terms import format_term, listed, to_rdflib
from worlds.sql import statements

_TYPE = PropertyPath("predicate", predicate=RDF_TYPE)
_CLASSES = PropertyPath("sequence", (_TYPE, PropertyPath("*", (PropertyPath("predicate", predicate=SUBCLASS_OF),))))
_OF_PAIRS = ("Equals", "Disjoint", "LessThan", "LessThanOrEquals")

Steps = tuple[PropertyPath, ...]
_SQL = statements("rules.sql")
_BATCH = 2000  # results whose quads are read together
_NEAR = 0.05  # seconds in which a class with a name like another is looked for
SECONDS = 60  # that a validation may take, where nobody says


@dataclass(frozen=True)
class Trigger:
    """A changed triple of `predicate` (None: of any) touches the focus nodes that `steps` lead from to its subject.

    To its object if `inverse`. With `above`, only triples whose object is this class or below it.
    """

    predicate: Any
    inverse: bool
    steps: Steps
    above: Any = None


EVERYTHING = Trigger(None, False, (), above="everything")
"""Any changed triple touches all targets: of a query whose patterns are not all connected with the focus node."""


def _of_targets(shape: Shape) -> Iterator[Trigger]:
    for kind, term in shape.targets:
        if kind == "targetClass":
            yield from _of_class(term, ())
        elif kind != "targetNode":
            yield Trigger(term, kind == "targetObjectsOf", ())


def _of_class(term: Any, steps: Steps) -> Iterator[Trigger]:
    yield Trigger(RDF_TYPE, False, steps)
    yield Trigger(SUBCLASS_OF, False, (*steps, _CLASSES), term)


def _of_shape(shape: Shape) -> Iterator[Trigger]:
    """The triggers of a shape itself, not of the shapes that it refers to; `steps` lead from its focus nodes."""
    if not shape.constraints:
        return
    reach: Steps = ()
    if shape.path is not None:
        yield from _of_path(shape.path, (), False)
        reach = (shape.path,)
    for constraint in shape.constraints:
        component, value = constraint.component, constraint.value
        if component == "Class":
            yield from _of_class(value, reach)
        elif component in _OF_PAIRS:
            yield Trigger(value, False, ())
        elif component == "Closed":
            yield Trigger(None, False, reach)
        elif component in ("SPARQL", "Declared"):
            yield from _of_query(value, reach)


def _of_query(query: SparqlConstraint, reach: Steps) -> Iterator[Trigger]:
    if query.links is None:
        yield EVERYTHING
        return
    for link in query.links:
        way = (*(reach if link.of_value else ()), *link.steps)
        if link.path and query.path is not None:
            yield from _of_path(query.path, way, False)
        else:
            yield Trigger(link.predicate, link.inverse, way)


def _of_path(path: PropertyPath, steps: Steps, inverse: bool) -> Iterator[Trigger]:
    if path.kind == "predicate":
        yield Trigger(path.predicate, inverse, steps)
    elif path.kind == "inverse":
        yield from _of_path(path.parts[0], steps, not inverse)
    elif path.kind == "sequence":
        for part in reversed(path.parts) if inverse else path.parts:
            yield from _of_path(part, steps, inverse)
            steps = (*steps, _turned(part, inverse))
    else:
        if path.kind in "*+":
            steps = (*steps, _turned(PropertyPath("*", path.parts), inverse))
        for part in path.parts:
            yield from _of_path(part, steps, inverse)


def _turned(path: PropertyPath, inverse: bool) -> PropertyPath:
    return PropertyPath("inverse", (path,)) if inverse else path


class Touched:
    """Finds the focus nodes of shapes that changed triples can touch."""

    def __init__(self, graph: ShapesGraph) -> None:
        self._order = graph.order
        self._triggers = {shape: list(dict.fromkeys(_of_shape(shape))) for shape in graph.order}
        self._targets = {shape: list(dict.fromkeys(_of_targets(shape))) for shape in graph.shapes}
        every = [*self._triggers.values(), *self._targets.values()]
        self._all = [trigger for triggers in every for trigger in triggers]
        steps = {path for one in self._all for path in one.steps}
        steps |= {shape.path for shape in graph.order if shape.path is not None and any(shape.inner)}
        walked = {path.predicate for path in steps if path.kind == "predicate"}
        self._walked = walked - {RDF_TYPE}  # all instances of a class are too many

    @property
    def terms(self) -> Iterable[Any]:
        """The terms that are looked up."""
        return {
            term
            for one in self._all
            for term in (one.predicate, one.above)
            if term is not None and one is not EVERYTHING
        }

    def foci(
        self, changed: Ids, terms: ShapeTerms, both: DataTriples, look: Callable[[], object] = lambda: None
    ) -> dict[Shape, Ids | None]:
        """Shape → focus nodes, ascending, of changed triples, int64 [n, 3]; `both` are those of the two states.

        None stands for all targets. What touches a shape touches the nodes from which the shapes that refer to it lead
        there: each shape is looked at once.
        """
        if not len(changed):
            return {}
        both.expect(self._walked, inverse=True)
        walks = Walks(both, look)
        present = set(once(changed[:, 1]).tolist())

        def reached(trigger: Trigger) -> Ids | None:
            if trigger is EVERYTHING:
                return None
            rows = changed
            if trigger.predicate is not None:
                number = terms.id(trigger.predicate)
                if number not in present:
                    return NO_IDS
                rows = changed[changed[:, 1] == number]
            if trigger.above is not None:
                rows = rows[within(rows[:, 2], both.below([trigger.above], SUBCLASS_OF))]
            return _back(trigger.steps, once(rows[:, 2 if trigger.inverse else 0]), walks)

        found: dict[Shape, Ids | None] = {}
        for shape in self._order:
            steps = () if shape.path is None else (shape.path,)
            parts = [reached(one) for one in self._triggers[shape]]
            for nodes in (found[inner] for inner in shape.inner if inner in found):
                parts.append(None if nodes is None else _back(steps, nodes, walks))
            _keep(found, shape, parts)
        for shape, triggers in self._targets.items():
            _keep(found, shape, [reached(one) for one in triggers])
        return {shape: found[shape] for shape in self._targets if shape in found}


def _keep(found: dict[Shape, Ids | None], shape: Shape, parts: Sequence[Ids | None]) -> None:
    """Add nodes that a shape is touched at; None for all."""
    known = found.get(shape, NO_IDS)
    some = [one for one in (known, *parts) if one is not None]
    if len(some) <= len(parts):
        found[shape] = None
    elif any(map(len, some)):
        found[shape] = union(some)


def _back(steps: Steps, nodes: Ids, walks: Walks) -> Ids:
    """The nodes from which steps lead to others."""
    for path in reversed(steps):
        if not len(nodes):
            return NO_IDS
        nodes = once(walks.walk(path, nodes, inverse=True)[1])
    return nodes


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
