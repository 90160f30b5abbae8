"""Which focus nodes a change of the data can touch: what shapes read, traced back from the triples that changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from worlds.quads.dictionary import Ids
from worlds.quads.rows import distinct as once
from worlds.rules.components import union
from worlds.rules.data import Terms, Triples
from worlds.rules.paths import NO_IDS, Path, within
from worlds.rules.shapes import RDF_TYPE, SUBCLASS_OF, Shape
from worlds.rules.sparql import SparqlConstraint

_TYPE = Path("predicate", predicate=RDF_TYPE)
_CLASSES = Path("sequence", (_TYPE, Path("*", (Path("predicate", predicate=SUBCLASS_OF),))))
_OF_PAIRS = ("Equals", "Disjoint", "LessThan", "LessThanOrEquals")

Steps = tuple[Path, ...]


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


def triggers(shape: Shape) -> list[Trigger]:
    """All triggers of a shape with targets."""
    return list(dict.fromkeys([*_of_targets(shape), *_of_shape(shape, ())]))


def _of_targets(shape: Shape) -> Iterator[Trigger]:
    for kind, term in shape.targets:
        if kind == "targetClass":
            yield from _of_class(term, ())
        elif kind != "targetNode":
            yield Trigger(term, kind == "targetObjectsOf", ())


def _of_class(term: Any, steps: Steps) -> Iterator[Trigger]:
    yield Trigger(RDF_TYPE, False, steps)
    yield Trigger(SUBCLASS_OF, False, (*steps, _CLASSES), term)


def _of_shape(shape: Shape, steps: Steps) -> Iterator[Trigger]:
    if not shape.constraints:
        return
    reach = steps
    if shape.path is not None:
        yield from _of_path(shape.path, steps, False)
        reach = (*steps, shape.path)
    for constraint in shape.constraints:
        component, value = constraint.component, constraint.value
        if component == "Class":
            yield from _of_class(value, reach)
        elif component in _OF_PAIRS:
            yield Trigger(value, False, steps)
        elif component == "Closed":
            yield Trigger(None, False, reach)
        elif component in ("SPARQL", "Declared"):
            yield from _of_query(value, steps, reach)
        for inner in constraint.shapes:
            yield from _of_shape(inner, reach)


def _of_query(query: SparqlConstraint, steps: Steps, reach: Steps) -> Iterator[Trigger]:
    if query.links is None:
        yield EVERYTHING
        return
    for link in query.links:
        way = (*(reach if link.of_value else steps), *link.steps)
        if link.path and query.path is not None:
            yield from _of_path(query.path, way, False)
        else:
            yield Trigger(link.predicate, link.inverse, way)


def _of_path(path: Path, steps: Steps, inverse: bool) -> Iterator[Trigger]:
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
            steps = (*steps, _turned(Path("*", path.parts), inverse))
        for part in path.parts:
            yield from _of_path(part, steps, inverse)


def _turned(path: Path, inverse: bool) -> Path:
    return Path("inverse", (path,)) if inverse else path


class Touched:
    """Finds the focus nodes of shapes that changed triples can touch."""

    def __init__(self, shapes: Sequence[Shape]) -> None:
        self._triggers = [(shape, trigger) for shape in shapes for trigger in triggers(shape)]
        steps = {path for _, trigger in self._triggers for path in trigger.steps if path.kind == "predicate"}
        self._walked = {path.predicate for path in steps} - {RDF_TYPE}  # all instances of a class are too many

    @property
    def terms(self) -> Iterable[Any]:
        """The terms that are looked up."""
        return {
            term
            for _, one in self._triggers
            for term in (one.predicate, one.above)
            if term is not None and one is not EVERYTHING
        }

    def foci(self, changed: Ids, terms: Terms, both: Triples) -> dict[Shape, Ids | None]:
        """Shape → focus nodes, ascending, of changed triples, int64 [n, 3]; `both` are those of the two states.

        None stands for all targets.
        """
        if not len(changed):
            return {}
        whole = {shape for shape, trigger in self._triggers if trigger is EVERYTHING}
        found: dict[Shape, list[Ids]] = {}
        walked: dict[tuple[Steps, bytes], Ids] = {}
        present = set(once(changed[:, 1]).tolist())
        both.expect(self._walked, inverse=True)
        for shape, trigger in self._triggers:
            if shape in whole:
                continue
            rows = changed
            if trigger.predicate is not None:
                number = terms.id(trigger.predicate)
                if number not in present:
                    continue
                rows = changed[changed[:, 1] == number]
            if trigger.above is not None:
                rows = rows[within(rows[:, 2], both.below([trigger.above], SUBCLASS_OF))]
            nodes = once(rows[:, 2 if trigger.inverse else 0])
            if not len(nodes):
                continue
            key = (trigger.steps, nodes.tobytes())
            if key not in walked:
                walked[key] = _back(trigger.steps, nodes, both)
            found.setdefault(shape, []).append(walked[key])
        return {shape: union(parts) for shape, parts in found.items()} | dict.fromkeys(whole)


def _back(steps: Steps, nodes: Ids, both: Triples) -> Ids:
    """The nodes from which steps lead to others."""
    for path in reversed(steps):
        if not len(nodes):
            return NO_IDS
        nodes = once(path.walk(both, nodes, inverse=True)[1])
    return nodes
