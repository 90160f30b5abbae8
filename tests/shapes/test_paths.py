"""What paths lead to, against sets of pairs."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tests.support.seams import walk_few_paths
from worlds.core.quads.dictionary import Ids
from worlds.extras.shapes.paths import Pairs, PropertyPath, Walks, distinct, select

Relation = set[tuple[int, int]]


class Table:
    """Edges by predicate."""

    def __init__(self, edges: dict[str, Relation]) -> None:
        self._edges = edges

    def pairs(self, predicate: str, nodes: Ids | None, *, inverse: bool) -> Pairs:
        rows = np.array(sorted(self._edges[predicate]), dtype=np.int64).reshape(-1, 2)
        table = distinct(rows[:, 1], rows[:, 0]) if inverse else distinct(rows[:, 0], rows[:, 1])
        return table if nodes is None else select(table, nodes)


def told(path: PropertyPath, edges: dict[str, Relation], count: int) -> Relation:
    """All pairs of a path, by its definition."""
    same = {(node, node) for node in range(count)}
    if path.kind == "predicate":
        return edges[path.predicate]
    inner = [told(part, edges, count) for part in path.parts]
    if path.kind == "inverse":
        return {(b, a) for a, b in inner[0]}
    if path.kind == "alternative":
        return set().union(*inner)
    if path.kind == "?":
        return inner[0] | same
    found = same if path.kind in "*sequence" else set(inner[0])
    if path.kind == "sequence":
        for part in inner:
            found = {(a, d) for a, b in found for c, d in part if b == c}
        return found
    while more := {(a, d) for a, b in found for c, d in inner[0] if b == c} - found:
        found |= more
    return found


def drawn_path(drawn: random.Random, depth: int) -> PropertyPath:
    kind = drawn.choice(["predicate", "inverse", "sequence", "alternative", "*", "+", "?"]) if depth else "predicate"
    if kind == "predicate":
        return PropertyPath(kind, predicate=drawn.choice("pq"))
    count = drawn.randint(1, 3) if kind in ("sequence", "alternative") else 1
    return PropertyPath(kind, tuple(drawn_path(drawn, depth - 1) for _ in range(count)))


@pytest.mark.parametrize(("deep", "dense"), [(1, 100), (2, 5), (30, 100)])
def test_a_path_leads_where_its_definition_says(deep: int, dense: int, monkeypatch: pytest.MonkeyPatch) -> None:
    walk_few_paths(monkeypatch, deep, dense)
    drawn = random.Random(deep)
    for _ in range(60):
        count = drawn.randint(2, 12)
        edges = {
            name: {(drawn.randrange(count), drawn.randrange(count)) for _ in range(drawn.randint(1, count))}
            for name in "pq"
        }
        path = drawn_path(drawn, 3)
        walks, expected = Walks(Table(edges)), told(path, edges, count)
        for _ in range(3):  # what was found is remembered
            some = sorted(drawn.sample(range(count), drawn.randint(1, count)))
            for inverse in (False, True):
                left, right = walks.walk(path, np.array(some, dtype=np.int64), inverse=inverse)
                found = list(zip(left.tolist(), right.tolist(), strict=True))
                turned = {(b, a) for a, b in expected} if inverse else expected
                assert found == sorted(pair for pair in turned if pair[0] in some), str(path.kind)


def test_a_long_way_is_walked_in_time() -> None:
    edges = {"p": {(node, node + 1) for node in range(800)}}
    path = PropertyPath("*", (PropertyPath("predicate", predicate="p"),))
    assert len(Walks(Table(edges)).walk(path, np.arange(800))[0]) == 801 * 802 // 2 - 1
