"""Circles in directed graphs of ids."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from worlds.core.quads.dictionary import Ids

_ROUNDS = 30  # of taking ends off all at once; what is longer goes one by one


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
