"""Validates sets of nodes against shapes: every step is over all nodes of a shape at once, never node by node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from worlds.quads.dictionary import Ids
from worlds.quads.rows import distinct as once
from worlds.rules.components import Checks, union
from worlds.rules.data import Terms, Triples
from worlds.rules.paths import Pairs, less, within
from worlds.rules.shapes import RDF_TYPE, SUBCLASS_OF, Constraint, Shape, ShapesGraph
from worlds.rules.sparql import Ask, SparqlConstraint


@dataclass(frozen=True)
class Violation:
    """One result as ids: `value` is -1 where there is none; `predicate` is that of a closed shape's result."""

    shape: Shape
    constraint: Constraint
    focus: int
    value: int
    predicate: int = -1
    message: str | None = None  # of a SPARQL constraint


@dataclass
class _Outcome:
    """What a shape found: which nodes do not conform, and the results that say why."""

    failing: list[Ids] = field(default_factory=list)
    results: list[Violation] = field(default_factory=list)

    def add(self, shape: Shape, constraint: Constraint, found: Pairs, predicates: Ids | None = None) -> None:
        if not len(found[0]):
            return
        self.failing.append(found[0])
        more = np.full_like(found[0], -1) if predicates is None else predicates
        for focus, value, predicate in zip(*(column.tolist() for column in (*found, more)), strict=True):
            self.results.append(Violation(shape, constraint, focus, value, predicate))


class Validator:
    """Validates nodes of one state of the world against a graph of shapes."""

    def __init__(self, shapes: ShapesGraph, terms: Terms, triples: Triples, ask: Ask) -> None:
        """`ask` answers the queries of SPARQL constraints, over the same state."""
        self._shapes = shapes
        self._ask = ask
        self._terms = terms
        self._triples = triples
        self._checks = Checks(terms, triples)
        for shape in shapes.shapes:
            _expect(shape, triples)

    def run(self, among: Ids | None = None) -> list[Violation]:
        """The results of all shapes on their targets, of those `among` some nodes if these are given."""
        found = ((shape, self.targets(shape, among)) for shape in self._shapes.shapes)
        return [one for shape, nodes in found for one in self._validate(shape, nodes).results]

    def touched(self, foci: Mapping[Shape, Ids | None]) -> list[Violation]:
        """The results of some shapes, each on those of some nodes that it targets, or on all (None)."""
        found = ((shape, self.targets(shape, nodes)) for shape, nodes in foci.items())
        return [one for shape, nodes in found for one in self._validate(shape, nodes).results]

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
                else:
                    of, kinds = self._triples.pairs(RDF_TYPE, among, inverse=False)
                    nodes = of[within(kinds, classes)]
            else:
                inverse = kind == "targetObjectsOf"
                nodes = self._triples.pairs(term, among, inverse=inverse)[0]
            found.append(nodes)
        every = union(found)
        return every if among is None else every[within(every, among)]

    def conforming(self, shape: Shape, nodes: Ids) -> Ids:
        """The nodes that conform to a shape."""
        return less(nodes, union(self._validate(shape, nodes).failing))

    def _validate(self, shape: Shape, nodes: Ids) -> _Outcome:
        outcome = _Outcome()
        if not len(nodes) or not shape.constraints:
            return outcome
        pairs = (nodes, nodes) if shape.path is None else shape.path.walk(self._triples, nodes)
        for constraint in shape.constraints:
            self._check(shape, constraint, nodes, pairs, outcome)
        return outcome

    def _check(self, shape: Shape, constraint: Constraint, nodes: Ids, pairs: Pairs, outcome: _Outcome) -> None:
        component, value = constraint.component, constraint.value
        if component == "Property":
            inner = self._validate(value, once(pairs[1]))
            reached = dict(zip(*(column.tolist() for column in np.unique(pairs[1], return_counts=True)), strict=True))
            for result in inner.results:  # once for each node that leads to its focus
                outcome.results += [result] * reached.get(result.focus, 1)
            outcome.failing.append(pairs[0][within(pairs[1], union(inner.failing))])
        elif component == "Closed":
            focus, predicates, objects = self._checks.closed(value, pairs)
            outcome.add(shape, constraint, (focus, objects), predicates)
        elif component == "Qualified":
            for name, found in self._qualified(value, nodes, pairs):
                outcome.add(shape, Constraint(name, value), found)
        elif component in ("Node", "Not", "And", "Or", "Xone"):
            values = once(pairs[1])
            met = ~within(pairs[1], self._logical(component, value, values))
            outcome.add(shape, constraint, (pairs[0][met], pairs[1][met]))
        elif component in ("SPARQL", "Declared"):
            self._sparql(shape, constraint, nodes, pairs, outcome)
        else:
            outcome.add(shape, constraint, self._checks.run(component, value, nodes, pairs))

    def _sparql(self, shape: Shape, constraint: Constraint, nodes: Ids, pairs: Pairs, outcome: _Outcome) -> None:
        query: SparqlConstraint = constraint.value
        asked = pairs if query.ask else (nodes, nodes)
        known = self._terms.terms({*asked[0].tolist(), *asked[1].tolist()})
        listed = list(zip(asked[0].tolist(), asked[1].tolist(), strict=True))
        solutions = list(query.solutions([(known[focus], known[value]) for focus, value in listed], self._ask))
        terms = [term for one in solutions for term in (one.value, one.path) if term is not None]
        ids = dict(zip(terms, self._terms.ids(terms), strict=True))
        for one in solutions:
            focus, value = listed[one.row]
            if one.value is not None:
                value = ids[one.value]
            elif shape.path is not None and not query.ask:
                value = -1
            predicate = -1 if one.path is None else ids[one.path]
            outcome.results.append(Violation(shape, constraint, focus, value, predicate, one.message))
        outcome.failing.append(np.array([listed[one.row][0] for one in solutions], dtype=np.int64))

    def _logical(self, component: str, value: Any, nodes: Ids) -> Ids:
        """The nodes that a logical constraint lets pass."""
        if component == "Node":
            return self.conforming(value, nodes)
        if component == "Not":
            return less(nodes, self.conforming(value, nodes))
        count = np.zeros(len(nodes), dtype=np.int64)
        for member in value:
            count += within(nodes, self.conforming(member, nodes))
        met = count == len(value) if component == "And" else count > 0 if component == "Or" else count == 1
        passing: Ids = nodes[met]
        return passing

    def _qualified(self, value: Any, nodes: Ids, pairs: Pairs) -> Iterator[tuple[str, Pairs]]:
        shape, least, most, siblings = value
        values = once(pairs[1])
        good = self.conforming(shape, values)
        for sibling in siblings:
            good = less(good, self.conforming(sibling, values))
        counted = pairs[0][within(pairs[1], good)]
        count = np.searchsorted(counted, nodes, "right") - np.searchsorted(counted, nodes, "left")
        for name, bad in (
            ("QualifiedMinCount", nodes[count < (least or 0)]),
            ("QualifiedMaxCount", nodes[count > (np.inf if most is None else most)]),
        ):
            yield name, (bad, np.full_like(bad, -1))


def _constraints(shape: Shape) -> Iterator[Constraint]:
    for constraint in shape.constraints:
        yield constraint
        for inner in constraint.shapes:
            yield from _constraints(inner)


def _expect(shape: Shape, triples: Triples) -> None:
    """Announce the predicates that the nodes of a shape will be asked for."""
    triples.expect([RDF_TYPE])
    for constraint in _constraints(shape):
        if constraint.component in ("Equals", "Disjoint", "LessThan", "LessThanOrEquals"):
            triples.expect([constraint.value])
    for inner in (shape, *(one for constraint in _constraints(shape) for one in constraint.shapes)):
        if inner.path is not None and inner.path.kind == "predicate":
            triples.expect([inner.path.predicate])
