"""Objections to merging entities or adding quads: circles, and terms that are declared distinct or disjoint."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import combinations

from worlds.core.core import Core
from worlds.core.quads.dictionary import Ids
from worlds.extras.curation.claims.declarations import UNKNOWN, Declarations, Rows, State
from worlds.extras.curation.columns.axioms import HIERARCHIES, OWL, PART_OF, SYMMETRIC, TYPE
from worlds.extras.curation.findings.hierarchies import REFLEXIVE, is_named_like_part
from worlds.graph.terms import format_term

_MOST = 2000  # nodes of a hierarchy, and quads of a change, that are looked at
_SHOWN = 4  # nodes of a circle that are named


class Joining:
    """Looks at one world as it stands, an open write included."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def _begin(self) -> None:
        self._state = State(
            self._core.connection, self._core.dictionary, self._core.history, self._core.history.last + 1
        )
        self._declarations = Declarations(self._state)

    def merged(self, ids: Sequence[int]) -> list[str]:
        """Why entities cannot be one, in sentences."""
        self._begin()
        state = self._state
        found = [why for pair in combinations(ids, 2) for why in self._apart(*pair)]
        used = {row[1] for one in ids for row in (*state.quads(one), *state.quads(None, None, one))}
        for group in self._groups(used):
            for one in ids:
                path = self._path(group, [one], set(ids) - {one}, set(ids))
                if path:
                    found.append(f"it closes a circle of {self._name(group[0][0])}: {self._told(path)}")
                    break
        return found

    def added(self, quads: Ids) -> list[str]:
        """Contradictions that added quads, int64 [n, 4], would bring, in sentences."""
        self._begin()
        state, found = self._state, list[str]()
        same, different, type_ = (state.id(iri) for iri in (OWL + "sameAs", OWL + "differentFrom", TYPE))
        groups = {number: group for group in self._groups(set(quads[:, 1].tolist())) for number, _ in group}
        for s, p, o, _ in quads[:_MOST].tolist():
            if p == same and s != o:
                found += self._apart(s, o)
            elif p == different and self._declarations.same(s, o) is not None:
                found.append(f"{self._name(s)} and {self._name(o)} are declared to be the same")
            elif p == type_:
                found += self._clash(f"{self._name(s)} is an instance", self._declarations.classes_above(o), s)
            elif p in groups:
                low, high = (o, s) if dict(groups[p])[p] else (s, o)
                reflexive = state.term(p).value in REFLEXIVE
                path = [low, high] if low == high else self._path(groups[p], [high], {low}, set())
                if path and not (low == high and reflexive):
                    circle = self._told(path if low == high else [low, *path])
                    found.append(f"{self._name(s)} {self._name(p)} {self._name(o)} closes a circle: {circle}")
        return list(dict.fromkeys(found))

    def _apart(self, one: int, other: int) -> Iterator[str]:
        declarations = self._declarations
        names = f"{self._name(one)} and {self._name(other)}"
        if declarations.different(one, other) is not None:
            yield f"{names} are declared to be different"
        yield from self._clash(f"{names} are instances", declarations.types(one), other)

    def _clash(self, told: str, classes: dict[int, Rows], node: int) -> Iterator[str]:
        clash = self._declarations.clash(classes, self._declarations.types(node))
        if clash is not None:
            kinds = f"{self._name(clash[0])} and {self._name(clash[1])}"
            yield f"{told} of {kinds}, which are declared to be disjoint"

    # -- circles --------------------------------------------------------------------------------------------------

    def _groups(self, predicates: Collection[int]) -> Iterator[list[tuple[int, bool]]]:
        """The hierarchies that predicates are of, each as its predicates, and whether these point downwards.

        What is declared to imply a predicate, or to be its inverse, is of the same hierarchy.
        """
        state, declarations = self._state, self._declarations
        above = {way.predicate for number in predicates if number > 0 for way in declarations.above(number)}
        iris = {number: getattr(state.term(number), "value", "") for number in sorted(above)}
        for group in HIERARCHIES:
            if any(iri in group for iri in iris.values()):
                yield self._widened([(state.id(iri), PART_OF[iri]) for iri in group if state.id(iri) != UNKNOWN])
        for number, iri in iris.items():
            if iri in PART_OF or iri in SYMMETRIC:
                continue
            transitive = declarations.transitive(number) is not None
            symmetric = declarations.typed(number, OWL + "SymmetricProperty") is not None
            if (transitive and not symmetric) or is_named_like_part(iri):
                yield self._widened([(number, False)])

    def _widened(self, group: list[tuple[int, bool]]) -> list[tuple[int, bool]]:
        """A hierarchy with the predicates that imply its own, except ones that point both ways."""
        ways = {
            (way.predicate, way.turned != downwards)
            for number, downwards in group
            for way in self._declarations.below(number)
        }
        return group + sorted(way for way in ways - {*group} if (way[0], not way[1]) not in ways)

    def _above(self, node: int, group: list[tuple[int, bool]]) -> Iterator[int]:
        for predicate, downwards in group:
            yield from self._state.subjects(predicate, node) if downwards else self._state.objects(node, predicate)

    def _path(
        self, group: list[tuple[int, bool]], starts: list[int], goals: Collection[int], without: Collection[int]
    ) -> list[int]:
        """The nodes of a way up from one of the starts to one of the goals; no first step leads to one `without`."""
        before: dict[int, int] = {}
        front = starts
        while front and len(before) < _MOST:
            following: list[int] = []
            for node in front:
                for other in self._above(node, group):
                    if other in before or other in starts or (node in starts and other in without):
                        continue
                    before[other] = node
                    if other in goals:
                        path = [other]
                        while path[-1] not in starts:
                            path.append(before[path[-1]])
                        return path[::-1]
                    following.append(other)
            front = following
        return []

    # -- words ----------------------------------------------------------------------------------------------------

    def _name(self, number: int) -> str:
        return format_term(self._state.term(number))

    def _told(self, path: list[int]) -> str:
        names = [self._name(number) for number in path]
        if len(names) > _SHOWN:
            names[_SHOWN - 1 : -1] = ["…"]
        return " → ".join(names)
