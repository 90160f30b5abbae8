"""Which focus nodes a change of the data can touch: what shapes read, traced back from the triples that changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from worlds.core.quads.dictionary import Ids
from worlds.core.quads.rows import distinct as once
from worlds.extras.shapes.components import union
from worlds.extras.shapes.data import DataTriples, ShapeTerms
from worlds.extras.shapes.nodes import RDF_TYPE
from worlds.extras.shapes.paths import NO_IDS, PropertyPath, Walks, within
from worlds.extras.shapes.shapes import SUBCLASS_OF, Shape, ShapesGraph
from worlds.extras.shapes.sparql import SparqlConstraint

_TYPE = PropertyPath("predicate", predicate=RDF_TYPE)
_CLASSES = PropertyPath("sequence", (_TYPE, PropertyPath("*", (PropertyPath("predicate", predicate=SUBCLASS_OF),))))
_OF_PAIRS = ("Equals", "Disjoint", "LessThan", "LessThanOrEquals")

Steps = tuple[PropertyPath, ...]


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
