"""Property paths of SHACL (SHACL, section 2.3.1): read from a shapes graph, written as SPARQL, walked over ids."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from worlds.core.quads.dictionary import Ids
from worlds.core.quads.rows import distinct as once
from worlds.errors import QueryError

Pairs: TypeAlias = tuple[Ids, Ids]
"""Two columns, int64 [n] each: distinct pairs of a node and what it leads to, ascending."""

Mask: TypeAlias = NDArray[np.bool_]

NO_IDS: Ids = np.empty(0, dtype=np.int64)
NO_PAIRS: Pairs = (NO_IDS, NO_IDS)
_LOW = 0xFFFFFFFF
_HANDFUL = 1000
DEEP = 30  # steps of a path without end from which on its edges are read whole
DENSE = 7000  # nodes whose pairs are kept as bits
_MOST = 50_000_000  # pairs that a path may lead to, 8 bytes each, or several times that while they are joined


class Edges(Protocol):
    """The triples that paths walk along."""

    def pairs(self, predicate: Any, nodes: Ids | None, *, inverse: bool) -> Pairs:
        """(node, other) for the triples of a predicate: subject and object, the other way round if `inverse`."""


@dataclass(frozen=True)
class PropertyPath:
    """A property path: a predicate, or a kind of path over others."""

    kind: str  # "predicate", "inverse", "sequence", "alternative", "*", "+", "?"
    parts: tuple[PropertyPath, ...] = ()
    predicate: Any = None  # an IRI

    def __str__(self) -> str:
        return self.text

    @cached_property
    def text(self) -> str:
        """The path as SPARQL has it."""
        if self.kind == "predicate":
            return f"<{self.predicate.value}>"
        inner = [str(part) if part.kind == "predicate" else f"({part})" for part in self.parts]
        if self.kind == "inverse":
            return f"^{inner[0]}"
        if self.kind in "*+?":
            return inner[0] + self.kind
        return ("/" if self.kind == "sequence" else "|").join(inner)

    @cached_property
    def size(self) -> int:
        """The number of paths in it, written out."""
        return 1 + sum(part.size for part in self.parts)


class Walks:
    """Evaluates paths, and caches the results for each node: a path within a path is walked once from a node."""

    def __init__(self, edges: Edges, look: Callable[[], object] = lambda: None) -> None:
        """`look` is called before each step, and may raise."""
        self._edges = edges
        self._look = look
        self._known: dict[tuple[int, bool], tuple[PropertyPath, Ids, Pairs]] = {}  # by the path's identity

    def walk(self, path: PropertyPath, nodes: Ids, *, inverse: bool = False) -> Pairs:
        """(node, value) for the values that the path leads to from each of `nodes`, ascending and distinct.

        QueryError for more pairs than can be held; `nodes` are ascending and distinct, too.
        """
        if path.kind == "predicate":
            return self._edges.pairs(path.predicate, nodes, inverse=inverse)
        if path.kind == "inverse":
            return self.walk(path.parts[0], nodes, inverse=not inverse)
        _, known, pairs = self._known.get((id(path), inverse), (path, NO_IDS, NO_PAIRS))
        fresh = less(nodes, known)
        if len(fresh):
            self._look()
            found = self._found(path, fresh, inverse)
            if len(known):
                fresh = once(np.concatenate([known, fresh]))
                found = distinct(np.concatenate([pairs[0], found[0]]), np.concatenate([pairs[1], found[1]]))
            pairs = found
            self._known[id(path), inverse] = (path, fresh, pairs)
        return select(pairs, nodes)

    def _found(self, path: PropertyPath, nodes: Ids, inverse: bool) -> Pairs:
        if path.kind == "alternative":
            found = [self.walk(part, nodes, inverse=inverse) for part in path.parts]
            return distinct(np.concatenate([left for left, _ in found]), np.concatenate([right for _, right in found]))
        if path.kind == "sequence":
            pairs = (nodes, nodes)
            for part in reversed(path.parts) if inverse else path.parts:
                pairs = joined(pairs, self.walk(part, once(pairs[1]), inverse=inverse))
            return pairs
        step = self.walk(path.parts[0], nodes, inverse=inverse)
        if path.kind == "?":
            return distinct(np.concatenate([nodes, step[0]]), np.concatenate([nodes, step[1]]))
        known = packed(*step)
        if path.kind == "*":
            known = once(np.concatenate([packed(nodes, nodes), known]))
        front, levels = step, 0
        while len(front[0]):
            self._look()
            levels += 1
            if levels == DEEP:
                self._read_whole(path.parts[0], inverse)
                deep = None if len(nodes) < DEEP else self._closure(path.parts[0], nodes, inverse)
                if deep is not None:
                    return distinct(*unpacked(np.concatenate([known, packed(*deep)])))
            further = joined(front, self.walk(path.parts[0], once(front[1]), inverse=inverse))
            fresh = less(packed(*further), known)
            known = once(np.concatenate([known, fresh]))
            front = unpacked(fresh)
        return unpacked(known)

    def _read_whole(self, path: PropertyPath, inverse: bool) -> None:
        """Have the edges of a path read at once, not at each of many steps."""
        inverse ^= path.kind == "inverse"
        if path.kind == "predicate":
            self._edges.pairs(path.predicate, None, inverse=inverse)
        for part in path.parts:
            self._read_whole(part, inverse)

    def _closure(self, path: PropertyPath, nodes: Ids, inverse: bool) -> Pairs | None:
        """The pairs from nodes along a path, walked once or more, by Warshall's algorithm; None for too many nodes."""
        known = front = nodes
        while len(front):
            self._look()
            front = less(once(self.walk(path, front, inverse=inverse)[1]), known)
            known = once(np.concatenate([known, front]))
            if len(known) > DENSE:
                return None
        left, right = (np.searchsorted(known, column) for column in self.walk(path, known, inverse=inverse))
        reach = np.zeros((len(known), len(known) // 8 + 1), dtype=np.uint8)  # a row of bits for each node
        np.bitwise_or.at(reach, (left, right >> 3), (1 << (right & 7)).astype(np.uint8))
        for place in range(len(known)):
            self._look()
            rows = np.flatnonzero(reach[:, place >> 3] & (1 << (place & 7)))
            reach[rows] |= reach[place]
        row, column = np.nonzero(np.unpackbits(reach[np.searchsorted(known, nodes)], axis=1, bitorder="little"))
        return nodes[row], known[column]


def packed(left: Ids, right: Ids) -> Ids:
    """Pairs of ids below 2^32 as one number each."""
    return left << 32 | right


def unpacked(pairs: Ids) -> Pairs:
    """The pairs of numbers that `packed` made into one number each."""
    return (pairs >> 32) & _LOW, pairs & _LOW


def within(ids: Ids, some: Ids) -> Mask:
    """Which of the ids are among some; np.isin, which for a handful takes longer than a look at each."""
    if len(ids) > _HANDFUL or len(some) > _HANDFUL:
        return np.isin(ids, some)
    if not len(some):
        return np.zeros(len(ids), dtype=bool)
    some = np.sort(some)
    found: Mask = some[np.minimum(np.searchsorted(some, ids), len(some) - 1)] == ids
    return found


def less(ids: Ids, others: Ids) -> Ids:
    """The ids that are not among others, in their order."""
    return ids[~within(ids, others)]


def distinct(left: Ids, right: Ids) -> Pairs:
    """The distinct pairs, ascending."""
    return unpacked(once(packed(left, right)))


def select(table: Pairs, nodes: Ids) -> Pairs:
    """The pairs of an ascending table whose first is one of `nodes`, which are ascending and distinct."""
    rows, places = matched(nodes, table[0])
    return nodes[rows], table[1][places]


def joined(pairs: Pairs, others: Pairs) -> Pairs:
    """(a, c) for each (a, b) of `pairs` and (b, c) of `others`, which are ascending; distinct."""
    rows, places = matched(pairs[1], others[0])
    return distinct(pairs[0][rows], others[1][places])


def matched(sought: Ids, ascending: Ids) -> Pairs:
    """(its place, the other's) for each of `sought` and each that is equal to it; QueryError for too many."""
    first, last = np.searchsorted(ascending, sought, "left"), np.searchsorted(ascending, sought, "right")
    count = last - first
    if (total := int(count.sum())) > _MOST:
        raise QueryError(f"a property path leads to more than {_MOST:,} pairs of a node and a value", kind="memory")
    places = np.repeat(first - np.cumsum(count) + count, count) + np.arange(total)
    return np.repeat(np.arange(len(sought)), count), places
