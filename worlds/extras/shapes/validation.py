"""Validates sets of nodes against shapes: every step is over all nodes of a shape at once, never node by node."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from worlds.core.quads.dictionary import Ids
from worlds.core.quads.rows import distinct as once
from worlds.errors import ShapesError
from worlds.extras.shapes.components import ConstraintChecks, union
from worlds.extras.shapes.nodes import RDF_TYPE
from worlds.extras.shapes.paths import NO_IDS, DataTriples, Pairs, ShapeTerms, Walks, less, within
from worlds.extras.shapes.shapes import SUBCLASS_OF, Constraint, Shape, ShapesGraph
from worlds.extras.shapes.sparql import Ask, SparqlConstraint

Weights: TypeAlias = NDArray[np.float64]
_T = TypeVar("_T")
_REPEATED = 1_000_000  # results more than there are different ones


@dataclass(frozen=True)
class Violation:
    """One result as ids: `value` is -1 where there is none; `predicate` is that of a closed shape's result."""

    shape: Shape
    constraint: Constraint
    focus: int
    value: int
    predicate: int = -1
    message: str | None = None  # of a SPARQL constraint


@dataclass(frozen=True)
class _Finding:
    """The violations of a constraint: columns of focus, value and a closed shape's predicate; a query's messages."""

    constraint: Constraint
    focus: Ids
    value: Ids
    predicate: Ids | None = None
    said: Sequence[str | None] = ()


@dataclass
class _Answers:
    """The answers known of a shape: of which nodes, which of them do not conform, and why."""

    nodes: Ids = field(default_factory=lambda: NO_IDS)
    failing: Ids = field(default_factory=lambda: NO_IDS)
    findings: list[_Finding] = field(default_factory=list)


Asked: TypeAlias = tuple[Shape, Ids]
Answering: TypeAlias = Generator[Asked, Ids, _T]
"""Gives a value; on the way it asks which of some nodes do not conform to a shape."""


class Validator:
    """Validates nodes of one state of the world against a graph of shapes.

    The answer of a shape on a node, and where a path leads from it, are found once. So the time is a polynomial in
    shapes and data, and nothing recurses from shape to shape.
    """

    def __init__(
        self,
        shapes: ShapesGraph,
        terms: ShapeTerms,
        triples: DataTriples,
        ask: Ask,
        look: Callable[[], object] = lambda: None,
    ) -> None:
        """`ask` answers the queries of SPARQL constraints, over the same state; `look`, called often, may raise."""
        self._shapes = shapes
        self._ask = ask
        self._look = look
        self._terms = terms
        self._triples = triples
        self._walks = Walks(triples, look)
        self._checks = ConstraintChecks(terms, triples)
        self._answers: dict[Shape, _Answers] = {}
        self.empty: dict[Any, None] = {}  # target classes that were found to have no instances
        self._places = {shape: place for place, shape in enumerate(reversed(shapes.order))}
        for shape in shapes.order:
            _expect(shape, triples)

    def run(self, among: Ids | None = None) -> list[Violation]:
        """The results of all shapes on their targets, or on the targets `among` the given nodes."""
        return self.touched(dict.fromkeys(self._shapes.shapes, among))

    def touched(self, foci: Mapping[Shape, Ids | None]) -> list[Violation]:
        """The results of some shapes, each on those of some nodes that it targets, or on all (None)."""
        found: list[Violation] = []
        for shape, among in foci.items():
            nodes = self.targets(shape, among)
            self._failing(shape, nodes)
            found += self._results(shape, nodes)
        return found

    def targets(self, shape: Shape, among: Ids | None) -> Ids:
        """The focus nodes of a shape (section 2.1.3), ascending."""
        found: list[Ids] = []
        for kind, term in shape.targets:
            if kind == "targetNode":
                nodes = np.array([self._terms.id(term)], dtype=np.int64)
            elif kind == "targetClass":
                classes = self._triples.below([term], SUBCLASS_OF)
                if among is None:
                    nodes = self._triples.pairs(RDF_TYPE, classes, inverse=True)[1]
                    self.empty.update({} if len(nodes) else {term: None})
                else:
                    of, kinds = self._triples.pairs(RDF_TYPE, among, inverse=False)
                    nodes = of[within(kinds, classes)]
            else:
                inverse = kind == "targetObjectsOf"
                nodes = self._triples.pairs(term, among, inverse=inverse)[0]
            found.append(nodes)
        every = union(found)
        return every if among is None else every[within(every, among)]

    # -- which nodes conform --------------------------------------------------------------------------------------

    def _failing(self, shape: Shape, nodes: Ids) -> Ids:
        """The nodes that do not conform to a shape; nested checks wait in a list, not on the stack."""
        waiting = [self._answer(shape, nodes)]
        given: Ids | None = None
        while waiting:
            try:
                asked = waiting[-1].send(given)  # type: ignore[arg-type]  # nothing, at first
            except StopIteration as done:
                waiting.pop()
                given = done.value
            else:
                waiting.append(self._answer(*asked))
                given = None
        assert given is not None
        return given

    def _answer(self, shape: Shape, nodes: Ids) -> Answering[Ids]:
        if not len(nodes) or not shape.constraints:
            return NO_IDS
        known = self._answers.setdefault(shape, _Answers())
        fresh = less(nodes, known.nodes)
        if len(fresh):
            pairs = self._values(shape, fresh)
            failing = [known.failing]
            for constraint in shape.constraints:
                self._look()
                failing.append((yield from self._check(shape, constraint, fresh, pairs)))
            known.nodes, known.failing = once(np.concatenate([known.nodes, fresh])), union(failing)
        found: Ids = nodes[within(nodes, known.failing)]
        return found

    def _values(self, shape: Shape, nodes: Ids) -> Pairs:
        return (nodes, nodes) if shape.path is None else self._walks.walk(shape.path, nodes)

    def _check(self, shape: Shape, constraint: Constraint, nodes: Ids, pairs: Pairs) -> Answering[Ids]:
        """The nodes that violate a constraint; keeps why."""
        component, value = constraint.component, constraint.value
        found: list[_Finding] = []
        if component == "Property":
            inner = yield value, once(pairs[1])  # its findings are the shape's inside
            violating: Ids = pairs[0][within(pairs[1], inner)]
            return violating
        if component == "Closed":
            focus, predicates, objects = self._checks.closed(value, pairs)
            found = [_Finding(constraint, focus, objects, predicates)]
        elif component == "Qualified":
            for name, bad in (yield from self._qualified(value, nodes, pairs)):
                found.append(_Finding(Constraint(name, value), *bad))
        elif component in ("Node", "Not", "And", "Or", "Xone"):
            passing = yield from self._logical(component, value, once(pairs[1]))
            met = ~within(pairs[1], passing)
            found = [_Finding(constraint, pairs[0][met], pairs[1][met])]
        elif component in ("SPARQL", "Declared"):
            found = [self._sparql(shape, constraint, nodes, pairs)]
        else:
            found = [_Finding(constraint, *self._checks.run(component, value, nodes, pairs))]
        self._answers[shape].findings += [one for one in found if len(one.focus)]
        return union(one.focus for one in found)

    def _sparql(self, shape: Shape, constraint: Constraint, nodes: Ids, pairs: Pairs) -> _Finding:
        query: SparqlConstraint = constraint.value
        asked = pairs if query.ask else (nodes, nodes)
        known = self._terms.terms({*asked[0].tolist(), *asked[1].tolist()})
        listed = list(zip(asked[0].tolist(), asked[1].tolist(), strict=True))
        solutions = list(query.solutions([(known[focus], known[value]) for focus, value in listed], self._ask))
        terms = [term for one in solutions for term in (one.value, one.path) if term is not None]
        ids = dict(zip(terms, self._terms.ids(terms), strict=True))
        rows = []
        for one in solutions:
            focus, value = listed[one.row]
            if one.value is not None:
                value = ids[one.value]
            elif shape.path is not None and not query.ask:
                value = -1
            rows.append((focus, value, -1 if one.path is None else ids[one.path]))
        columns = np.array(rows, dtype=np.int64).reshape(-1, 3).T
        return _Finding(constraint, columns[0], columns[1], columns[2], [one.message for one in solutions])

    def _logical(self, component: str, value: Any, nodes: Ids) -> Answering[Ids]:
        """The nodes that a logical constraint lets pass."""
        if component == "Node":
            return less(nodes, (yield value, nodes))
        if component == "Not":
            return (yield value, nodes)
        count = np.zeros(len(nodes), dtype=np.int64)
        for member in value:
            count += ~within(nodes, (yield member, nodes))
        met = count == len(value) if component == "And" else count > 0 if component == "Or" else count == 1
        passing: Ids = nodes[met]
        return passing

    def _qualified(self, value: Any, nodes: Ids, pairs: Pairs) -> Answering[list[tuple[str, Pairs]]]:
        shape, least, most, siblings = value
        values = once(pairs[1])
        good = less(values, (yield shape, values))
        for sibling in siblings:
            good = good[within(good, (yield sibling, values))]
        met = within(pairs[1], good)
        counted = pairs[0][met], pairs[1][met]
        return [
            ("QualifiedMinCount", self._checks.counted(nodes, counted, least or 0, np.inf)),
            ("QualifiedMaxCount", self._checks.counted(nodes, counted, 0, np.inf if most is None else most)),
        ]

    # -- why the others do not ------------------------------------------------------------------------------------

    def _results(self, root: Shape, nodes: Ids) -> list[Violation]:
        """The violations of nodes: by the shape, then by the property shapes inside, once for each way to a value."""
        found: list[Violation] = []
        weights: dict[Shape, tuple[Ids, Weights]] = {root: (nodes, np.ones(len(nodes)))}
        repeated = 0.0
        places = [(self._places[root], root)]  # a shape comes after all that refer to it
        while places:
            _, shape = heappop(places)
            some, count = weights.pop(shape)
            for finding in self._answers[shape].findings if shape in self._answers else ():
                rows = np.flatnonzero(within(finding.focus, some))
                times = count[np.searchsorted(some, finding.focus[rows])]
                if (repeated := repeated + float((times - 1).sum())) > _REPEATED:
                    raise ShapesError(f"nested property shapes repeat one result over {_REPEATED:,} times")
                for row, more in zip(rows.tolist(), times.tolist(), strict=True):
                    predicate = -1 if finding.predicate is None else int(finding.predicate[row])
                    said = finding.said[row] if finding.said else None
                    pair = int(finding.focus[row]), int(finding.value[row])
                    found += [Violation(shape, finding.constraint, *pair, predicate, said)] * int(more)
            for inner in (one.value for one in shape.constraints if one.component == "Property"):
                focus, values = self._values(shape, some)
                met = within(values, self._answers[inner].failing) if inner in self._answers else values < 0
                if not met.any():
                    continue
                if inner not in weights:
                    heappush(places, (self._places[inner], inner))
                known, times = weights.get(inner, (NO_IDS, np.empty(0)))
                more = np.concatenate([count[np.searchsorted(some, focus[met])], times])
                reached, back = np.unique(np.concatenate([values[met], known]), return_inverse=True)
                weights[inner] = reached, np.minimum(np.bincount(back, more), 1e12)
        return found


def _expect(shape: Shape, triples: DataTriples) -> None:
    """Announce the predicates that the nodes of a shape will be asked for."""
    triples.expect([RDF_TYPE])
    for constraint in shape.constraints:
        if constraint.component in ("Equals", "Disjoint", "LessThan", "LessThanOrEquals"):
            triples.expect([constraint.value])
    if shape.path is not None and shape.path.kind == "predicate" and shape.constraints:
        triples.expect([shape.path.predicate])
