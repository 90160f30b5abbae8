"""Compares data sets that have nothing in common but their terms: files, worlds, states of a world."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import pyoxigraph as ox

from worlds.core.history.diff import Diff, decoded_quads
from worlds.core.history.edits import InQuads
from worlds.core.history.threeway import Conflict, three_way
from worlds.core.quads.dictionary import DEFAULT_GRAPH, DEFAULT_GRAPH_ID, Ids
from worlds.core.quads.matching import assigned, match
from worlds.core.quads.recognition import components
from worlds.core.quads.rows import NO_QUADS, decoded, difference, unique_quads
from worlds.graph.patches import write_patch


class Comparison(Diff):
    """The differences of one data set from another: a `Diff` without revisions.

    Blank nodes that are the same in both have the labels that they have in the first. `patch` tells all of what hangs
    together with a changed blank node: each quad that stays is deleted and added, so that a world that holds the first
    data set knows the node by it, under whatever label. With a base, `conflicts` tells
    what both sides changed since, each in its own way, and `agreed` how many quads both added, or removed, alike.
    """

    conflicts: tuple[Conflict, ...] = ()
    agreed: int = 0
    prefixes: Mapping[str, str] = {}
    _beside: Callable[[], Ids]  # the quads that stay, of what hangs together with a changed blank node

    def pieces(self) -> Iterator[str]:
        """The text of `patch`, some thousand rows at a time."""
        stay = list(decoded_quads(self._dictionary, self._beside()))
        return write_patch(chain(stay, self.removed.terms()), chain(stay, self.added.terms()), self._headers)

    def __repr__(self) -> str:
        told = f", {len(self.conflicts)} conflicts" if self.conflicts else ""
        return f"<Comparison: {len(self.added)} added, {len(self.removed)} removed{told}>"


class Space:
    """Numbers for the terms of several data sets, whose blank nodes are nodes of their own."""

    def __init__(self) -> None:
        self.past = 0
        self._terms: list[Any] = [DEFAULT_GRAPH]
        self._ground: dict[Any, int] = {DEFAULT_GRAPH: DEFAULT_GRAPH_ID}
        self._nodes: list[int] = []
        self._labels: set[str] = set()
        self._parts: dict[int, tuple[int, int, int]] = {}
        self._whole: dict[tuple[int, int, int], int] = {}

    def take(self, quads: Iterable[ox.Quad]) -> Ids:
        """The quads of one data set, int64 [n, 4] of numbers."""
        own: dict[Any, int] = {}
        known, number = self._ground.get, self._number
        numbers: list[int] = []
        for quad in quads:
            for term in (quad.subject, quad.predicate, quad.object, quad.graph_name):
                found = known(term)
                numbers.append(number(term, own) if found is None else found)
        return unique_quads(np.array(numbers, dtype=np.int64).reshape(-1, 4))

    def _number(self, term: Any, own: dict[Any, int]) -> int:
        """The number of a term that is new, or a document's own."""
        found = own.get(term, self._ground.get(term))
        if found is None:
            if isinstance(term, ox.Triple):
                s, p, o = (self._number(part, own) for part in (term.subject, term.predicate, term.object))
                found = own[term] = self._triple((s, p, o))
            elif isinstance(term, ox.BlankNode):
                found = own[term] = self._node(term)
            else:
                found = self._ground[term] = len(self._terms)
                self._terms.append(term)
        return found

    def _node(self, node: ox.BlankNode) -> int:
        if node.value in self._labels:
            node = ox.BlankNode()
        self._labels.add(node.value)
        self._nodes.append(len(self._terms))
        self._terms.append(node)
        return self._nodes[-1]

    def _triple(self, parts: tuple[int, int, int]) -> int:
        found = self._whole.get(parts)
        if found is None:
            found = self._whole[parts] = len(self._terms)
            self._parts[found] = parts
            self._terms.append(ox.Triple(*[self._terms[part] for part in parts]))
        return found

    def like(self, old: Ids, new: Ids) -> Ids:
        """`new` with the blank nodes of `old`, so that the fewest quads differ."""
        bearing = set(self._nodes)
        triples = {}
        for one, parts in self._parts.items():  # parts come before wholes
            if not bearing.isdisjoint(parts):
                bearing.add(one)
                triples[one] = parts
        found = match(old, new, np.array(self._nodes, dtype=np.int64), triples)
        self.past += found.past
        pairs = dict(found.pairs)
        for one, (s, p, o) in triples.items():
            parts = pairs.get(s, s), p, pairs.get(o, o)
            if parts != (s, p, o):
                pairs[one] = self._triple(parts)
        return unique_quads(assigned(new, pairs))

    def beside(self, changed: Ids, quads: Ids) -> Ids:
        """The quads among `quads` that are connected with `changed` by blank nodes; `changed` itself is left out."""
        inner: dict[int, set[int]] = {node: {node} for node in self._nodes}  # term → the blank nodes in it
        for one, parts in self._parts.items():  # parts come before wholes
            if nodes := {node for part in parts for node in inner.get(part, ())}:
                inner[one] = nodes
        both = np.concatenate([changed, quads])
        rows = both[np.isin(both, np.fromiter(inner, dtype=np.int64)).any(axis=1)]
        told = int(np.isin(changed, np.fromiter(inner, dtype=np.int64)).any(axis=1).sum())
        parts_of = components(rows, set(inner), lambda terms: {node for term in terms for node in inner.get(term, ())})
        near = [rows[places] for places in parts_of.values() if min(places) < told]
        reached = unique_quads(np.concatenate([NO_QUADS, *near]))
        return difference(reached, changed)

    def quads(self, ids: Ids) -> Iterator[ox.Quad]:
        """The quads of numbers."""
        return decoded(ids, dict(enumerate(self._terms)))

    def terms(self, ids: Iterable[int]) -> dict[int, Any]:
        """Number → term, as from a `Dictionary`."""
        return {number: self._terms[number] for number in ids}


def compared(a: Iterable[ox.Quad], b: Iterable[ox.Quad], base: Iterable[ox.Quad] | None = None) -> Comparison:
    """The difference of two data sets, and with a base how each of them differs from it."""
    space = Space()
    old = NO_QUADS if base is None else space.take(base)
    mine, theirs = space.take(a), space.take(b)
    if base is not None:
        mine, theirs = space.like(old, mine), space.like(old, theirs)
    theirs = space.like(mine, theirs)
    came, went = difference(theirs, mine), difference(mine, theirs)
    found = Comparison(space, 0, 0, came, went, {})
    found._beside = partial(space.beside, unique_quads(np.concatenate([came, went])), mine)
    found.around = InQuads(space.quads(np.concatenate([old, mine, theirs])))
    if space.past:
        found.notes = (
            f"{space.past:,} blank nodes count as different: the bound of comparing them was reached before",
        )
    if base is not None:
        outcome = three_way(mine, theirs, old, space)
        found.conflicts, found.agreed = tuple(one.conflict for one in outcome.conflicts), outcome.agreed
    return found
