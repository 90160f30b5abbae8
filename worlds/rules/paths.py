"""Property paths of SHACL (SHACL, section 2.3.1): read from a shapes graph, written as SPARQL, walked over ids."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from worlds.quads.dictionary import Ids
from worlds.quads.rows import distinct as once

Pairs: TypeAlias = tuple[Ids, Ids]
"""Two columns, int64 [n] each: distinct pairs of a node and what it leads to, ascending."""

Mask: TypeAlias = NDArray[np.bool_]

NO_IDS: Ids = np.empty(0, dtype=np.int64)
_LOW = 0xFFFFFFFF
_HANDFUL = 1000


class Edges(Protocol):
    """The triples that paths walk along."""

    def pairs(self, predicate: Any, nodes: Ids | None, *, inverse: bool) -> Pairs:
        """(node, other) for the triples of a predicate: subject and object, the other way round if `inverse`."""


@dataclass(frozen=True)
class Path:
    """A property path: a predicate, or a kind of path over others; `term` is its node in the shapes graph."""

    kind: str  # "predicate", "inverse", "sequence", "alternative", "*", "+", "?"
    parts: tuple[Path, ...] = ()
    predicate: Any = None  # an IRI
    term: Any = field(default=None, compare=False)

    def __str__(self) -> str:
        """The path as SPARQL has it."""
        if self.kind == "predicate":
            return f"<{self.predicate.value}>"
        inner = [str(part) if part.kind == "predicate" else f"({part})" for part in self.parts]
        if self.kind == "inverse":
            return f"^{inner[0]}"
        if self.kind in "*+?":
            return inner[0] + self.kind
        return ("/" if self.kind == "sequence" else "|").join(inner)

    def walk(self, edges: Edges, nodes: Ids | None, *, inverse: bool = False) -> Pairs:
        """(node, value) for the values that the path leads to from each of `nodes`, ascending and distinct.

        None, for a path that is one predicate, stands for all nodes that have a value.
        """
        if self.kind == "predicate":
            return edges.pairs(self.predicate, nodes, inverse=inverse)
        if self.kind == "inverse":
            return self.parts[0].walk(edges, nodes, inverse=not inverse)
        assert nodes is not None, "only a predicate has its nodes without being told"
        if self.kind == "alternative":
            found = [part.walk(edges, nodes, inverse=inverse) for part in self.parts]
            return distinct(np.concatenate([left for left, _ in found]), np.concatenate([right for _, right in found]))
        if self.kind == "sequence":
            pairs = (nodes, nodes)
            for part in reversed(self.parts) if inverse else self.parts:
                pairs = joined(pairs, part.walk(edges, once(pairs[1]), inverse=inverse))
            return pairs
        step = self.parts[0].walk(edges, nodes, inverse=inverse)
        if self.kind == "?":
            return distinct(np.concatenate([nodes, step[0]]), np.concatenate([nodes, step[1]]))
        known = packed(nodes, nodes) if self.kind == "*" else packed(*step)
        if self.kind == "*":
            known = once(np.concatenate([known, packed(*step)]))
        front = step
        while len(front[0]):
            further = joined(front, self.parts[0].walk(edges, once(front[1]), inverse=inverse))
            fresh = less(packed(*further), known)
            known = once(np.concatenate([known, fresh]))
            front = unpacked(fresh)
        return unpacked(known)


def packed(left: Ids, right: Ids) -> Ids:
    """Pairs of ids below 2^32 as one number each."""
    return left << 32 | right


def unpacked(pairs: Ids) -> Pairs:
    """The pairs of what `packed` gave."""
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
    left, right = table
    first, last = np.searchsorted(left, nodes, "left"), np.searchsorted(left, nodes, "right")
    count = last - first
    places = np.repeat(first - np.cumsum(count) + count, count) + np.arange(count.sum())
    return np.repeat(nodes, count), right[places]


def joined(pairs: Pairs, others: Pairs) -> Pairs:
    """(a, c) for each (a, b) of `pairs` and (b, c) of `others`, which are ascending; distinct."""
    left, right = others
    first, last = np.searchsorted(left, pairs[1], "left"), np.searchsorted(left, pairs[1], "right")
    count = last - first
    places = np.repeat(first - np.cumsum(count) + count, count) + np.arange(count.sum())
    return distinct(np.repeat(pairs[0], count), right[places])
