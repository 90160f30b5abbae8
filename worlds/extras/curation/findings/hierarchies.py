"""Faults in hierarchies and thesauri: circles, and relations that SKOS excludes (SKOS reference, S14, S27)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from worlds.core.quads.dictionary import LITERAL, Ids
from worlds.extras.curation.columns.axioms import HIERARCHIES, OWL, PART_OF, RDFS, SKOS, Axioms, reached
from worlds.extras.curation.columns.quad_columns import NO_IDS, QuadTable, distinct, groups, several
from worlds.extras.curation.findings.findings import RawFinding, listed

_ROUNDS = 30  # of taking ends off all at once; what is longer goes one by one
REFLEXIVE = (RDFS + "subClassOf", RDFS + "subPropertyOf")  # everything is below itself


def cycles(left: Ids, right: Ids) -> Iterator[tuple[list[int], Ids]]:
    """The nodes of a shortest circle in each strongly connected part of the edges, and the places of its edges."""
    places = np.arange(len(left))
    for _ in range(_ROUNDS):  # an edge is on a circle only if it goes on, and comes from one
        on = np.isin(right[places], left[places]) & np.isin(left[places], right[places])
        if on.all():
            break
        places = places[on]
    edges: dict[int, dict[int, list[int]]] = {}
    for one, other, place in zip(left[places].tolist(), right[places].tolist(), places.tolist(), strict=True):
        edges.setdefault(one, {}).setdefault(other, []).append(place)
    for part in _components(edges):
        if len(part) == 1:
            (node,) = part
            if node in edges.get(node, {}):
                yield [node], np.array(edges[node][node], dtype=np.int64)
            continue
        circle = _shortest(part, edges)
        steps = zip(circle, [*circle[1:], circle[0]], strict=True)
        yield circle, np.array([place for one, other in steps for place in edges[one][other]], dtype=np.int64)


def _components(edges: dict[int, dict[int, list[int]]]) -> Iterator[set[int]]:
    """The strongly connected parts (Tarjan 1972), without recursion."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on: set[int] = set()
    for root in edges:
        if root in index:
            continue
        walk = [(root, iter(edges[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on.add(root)
        while walk:
            node, others = walk[-1]
            for other in others:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    on.add(other)
                    walk.append((other, iter(edges.get(other, ()))))
                    break
                if other in on:
                    low[node] = min(low[node], index[other])
            else:
                walk.pop()
                if walk:
                    low[walk[-1][0]] = min(low[walk[-1][0]], low[node])
                if low[node] == index[node]:
                    part: set[int] = set()
                    while node not in part:
                        part.add(stack.pop())
                    on -= part
                    yield part


def _shortest(part: set[int], edges: dict[int, dict[int, list[int]]]) -> list[int]:
    """A shortest circle through the least node of a strongly connected part."""
    start = min(part)
    before: dict[int, int] = {}
    front = [start]
    while start not in before:
        following: list[int] = []
        for node in front:
            for other in edges.get(node, ()):
                if other in part and other not in before:
                    before[other] = node
                    following.append(other)
        front = following
    circle = [before[start]]
    while circle[-1] != start:
        circle.append(before[circle[-1]])
    return circle[::-1]


def is_named_like_part(iri: str) -> bool:
    """Whether a predicate is called partOf."""
    return iri.rstrip("/#").lower().endswith(("partof", "part_of"))


class Hierarchies:
    """Contradictions in the hierarchies of a table."""

    def __init__(self, table: QuadTable, axioms: Axioms) -> None:
        self.table = table
        self.axioms = axioms

    def labels(self) -> Iterator[RawFinding]:
        """More than one skos:prefLabel in a language (SKOS, S14)."""
        of = self.table.rows(self.table.id(SKOS + "prefLabel"))
        subjects, objects = self.table.subjects[of], self.table.objects[of]
        names, places = self.table.languages
        keys = subjects * len(names) + places[objects]
        rows = np.arange(of.start, of.stop, dtype=np.int64)
        many = np.isin(keys, several(keys, objects))
        for key, (of_key, at) in groups(keys[many], objects[many], rows[many]):
            subject, language = divmod(key, len(names))
            values = distinct(of_key).tolist()
            where = f"in {names[language]!r}" if language else "without a language"
            text = f"{{0}} has {len(values)} preferred labels {where}: {listed(values, 1)}"
            yield RawFinding("labels", (subject,), tuple(at.tolist()), text, (subject, *values[:3]))

    def related(self) -> Iterator[RawFinding]:
        """skos:related between a concept and one above it (S27)."""
        axioms = self.axioms
        related, broader = self.table.id(SKOS + "related"), self.table.id(SKOS + "broader")
        left, right, rows = axioms.extension(related) if related >= 0 else (NO_IDS, NO_IDS, NO_IDS)
        if not len(left):
            return
        above: dict[int, set[int]] = {}
        for iri, downwards in (("broader", 0), ("broaderTransitive", 0), ("narrower", 1), ("narrowerTransitive", 1)):
            pair = self.table.pairs(SKOS + iri)
            for one, other in zip(pair[downwards].tolist(), pair[1 - downwards].tolist(), strict=True):
                above.setdefault(one, set()).add(other)
        for one, (others, at) in groups(left, right, rows):
            higher = reached(one, above) - {one} if one in above else set()
            for other, row in zip(others.tolist(), at.tolist(), strict=True):
                if other in higher:
                    text = "{0} is related to {1}, though {1} is above it by {2}"
                    yield RawFinding(
                        "disjoint properties",
                        (one, other),
                        (row,),
                        text,
                        (one, other, broader if broader >= 0 else related),
                    )

    # -- circles ----------------------------------------------------------------------------------------------------

    def cycles(self) -> Iterator[RawFinding]:
        """Circles of broader, subClassOf, partOf, and of properties that are transitive and never reflexive."""
        transitive = set(self.axioms.typed(OWL + "TransitiveProperty"))
        strict = {*self.axioms.typed(OWL + "IrreflexiveProperty"), *self.axioms.typed(OWL + "AsymmetricProperty")}
        done: set[int] = set()
        plans = [[(self.table.id(iri), PART_OF[iri]) for iri in group] for group in HIERARCHIES]
        plans += [[(number, False)] for number in sorted(transitive & strict)]
        plans += [[(number, False)] for number in self._named_like_parts() if number not in transitive & strict]
        for plan in plans:
            if any(number in done for number, _ in plan if number >= 0):
                continue
            left, right, rows = [NO_IDS], [NO_IDS], [NO_IDS]
            for number, downwards in plan:
                done.add(number)
                of = self.table.rows(number)
                pair = (self.table.subjects[of], self.table.objects[of])
                left.append(pair[downwards])
                right.append(pair[not downwards])
                rows.append(np.arange(of.start, of.stop, dtype=np.int64))
            yield from self._circles(plan[0][0], *map(np.concatenate, (left, right, rows)))

    def _named_like_parts(self) -> list[int]:
        """Predicates that are called partOf, whatever their vocabulary."""
        names = self.table.values(self.table.used)
        return [number for number, iri in names.items() if is_named_like_part(iri)]

    def _circles(self, predicate: int, left: Ids, right: Ids, rows: Ids) -> Iterator[RawFinding]:
        reflexive = predicate in self.table.ids(list(REFLEXIVE))
        of = (left != right) if reflexive else np.ones(len(left), dtype=np.bool_)
        of &= self.table.kinds[right] != LITERAL
        left, right, rows = left[of], right[of], rows[of]
        for nodes, at in cycles(left, right):
            text = f"{listed(nodes, 1, ' → ')} → {{1}} is a circle of {{0}}"
            text = text if len(nodes) <= 3 else f"{{1}} is on a circle of {{0}} of {len(nodes)} steps"
            subjects, found = tuple(sorted(nodes)), tuple(sorted(rows[at].tolist()))
            yield RawFinding("cycle", subjects, found, text, (predicate, *nodes[:3]), severity="warning")
