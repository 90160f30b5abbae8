"""Colours of the blank nodes of two sets of quads, by what is around them: the first step of matching them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from worlds.core.quads.dictionary import Ids
from worlds.core.quads.rows import distinct

Colours: TypeAlias = NDArray[np.uint64]

_ROUNDS = 16  # of refinement; farther surroundings are told from each other by the second step
_PASSES = 4  # of refinement, as each one's matches tell more


def _mixed(values: Colours, seed: int) -> Colours:
    """Other numbers, that look random (splitmix64)."""
    found = values + np.uint64(0x9E3779B97F4A7C15 * (seed + 1) & 0xFFFFFFFFFFFFFFFF)
    found = (found ^ (found >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    found = (found ^ (found >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return found ^ (found >> np.uint64(31))


class Refinement:
    """Colour refinement of the nodes of both sets, by their neighbours."""

    def __init__(self, old: Ids, new: Ids, free: list[Ids], triples: Mapping[int, tuple[int, int, int]]) -> None:
        rows = np.concatenate([old, new])
        terms = set(distinct(rows.ravel()).tolist())
        layers: list[dict[int, tuple[int, int, int]]] = []  # of triple terms, wholes before parts
        layer = {one: triples[one] for one in terms if one in triples}
        while layer:
            layers.append(layer)
            inner = {part for own in layer.values() for part in own}
            terms |= inner
            layer = {one: triples[one] for one in inner if one in triples}
        self._ids = np.fromiter(sorted(terms), dtype=np.int64, count=len(terms))
        self._rows = np.searchsorted(self._ids, rows)
        self._layers = [
            (np.searchsorted(self._ids, list(layer)), np.searchsorted(self._ids, np.array(list(layer.values()))))
            for layer in layers
        ]
        self._nodes = np.searchsorted(self._ids, np.concatenate(free))
        self._new = np.repeat([False, True], [len(part) for part in free])
        self._open = np.zeros(len(self._ids), dtype=bool)  # nodes that are not matched, and triple terms
        self._open[self._nodes] = True
        self._told = _mixed(self._ids.view(np.uint64), 1)

    def match(self, pairs: dict[int, int]) -> list[dict[int, int]]:
        """Add the pairs that colours tell; gives the colours that the others have at last, by how far they see."""
        for _ in range(_PASSES):
            levels = self._levels()
            before = len(pairs)
            for colours in reversed(levels):
                self._pair(colours[self._nodes], pairs, alike=colours is levels[-1])
            if len(pairs) == before or not self._open[self._nodes].any():
                break
        left = self._nodes[self._open[self._nodes]]
        names = self._ids[left].tolist()
        return [dict(zip(names, colours[left].tolist(), strict=True)) for colours in levels]

    def _levels(self) -> list[Colours]:
        colours = self._told.copy()
        colours[self._open] = np.uint64(0)
        levels: list[Colours] = []
        kinds = 1
        for _ in range(_ROUNDS):
            colours = self._seen_from(colours)
            levels.append(colours)
            found = len(distinct(colours[self._nodes].view(np.int64)))
            if found == kinds:
                break
            kinds = found
        return levels

    def _seen_from(self, colours: Colours) -> Colours:
        """The next colours: the colour of each node combined with the colours of its neighbours."""
        for wholes, parts in reversed(self._layers):
            colours[wholes] = sum(_mixed(colours[parts[:, place]], 11 + place) for place in range(3))
        mixed = [_mixed(colours[self._rows[:, place]], 21 + place) for place in range(4)]
        whole = mixed[0] + mixed[1] + mixed[2] + mixed[3]
        seen = np.zeros(len(colours), dtype=np.uint64)
        for place in (0, 2, 3):
            at = self._rows[:, place]
            bears = self._open[at] if not self._layers else np.ones(len(at), dtype=bool)
            np.add.at(seen, at[bears], _mixed(whole[bears] - mixed[place][bears], 31 + place))
        for wholes, parts in self._layers:
            for place in (0, 2):
                one, two = (_mixed(colours[parts[:, other]], 11 + other) for other in range(3) if other != place)
                np.add.at(seen, parts[:, place], _mixed(seen[wholes] + one + two, 41 + place))
        found = colours.copy()
        found[self._open] = _mixed(colours[self._open] + _mixed(seen[self._open], 51), 52)
        return found

    def _pair(self, colours: Colours, pairs: dict[int, int], *, alike: bool) -> None:
        """Pair nodes whose colour is unique in both sets; with `alike`, also nodes of one colour that may be equal."""
        left = np.flatnonzero(self._open[self._nodes])
        order = left[np.lexsort((self._new[left], colours[left]))]  # by colour, old ones first
        starts = np.flatnonzero(np.append(True, np.diff(colours[order]) != 0)) if len(order) else order
        ends = np.append(starts[1:], len(order))
        news = np.add.reduceat(self._new[order].astype(np.int64), starts) if len(order) else starts
        olds = ends - starts - news
        one = (olds == 1) & (news == 1)
        first, second = [order[starts[one]]], [order[starts[one] + 1]]
        if alike:
            lone = self._lone()
            for start, olds_, news_ in zip(
                *(part[~one & (olds > 0) & (news > 0)].tolist() for part in (starts, olds, news)), strict=True
            ):
                same = order[start : start + olds_ + news_]
                if lone[self._nodes[same]].all():
                    few = min(olds_, news_)
                    first.append(same[:few])
                    second.append(same[olds_ : olds_ + few])
        old, new = self._nodes[np.concatenate(first)], self._nodes[np.concatenate(second)]
        pairs.update(zip(self._ids[new].tolist(), self._ids[old].tolist(), strict=True))
        self._told[new] = self._told[old]
        self._open[old] = self._open[new] = False

    def _lone(self) -> NDArray[np.bool_]:
        """A mask of the nodes in no statement with another unmatched node, and in no triple term."""
        lone = np.ones(len(self._ids), dtype=bool)
        shared = self._open[self._rows].sum(axis=1) > 1
        lone[self._rows[shared].ravel()] = False
        for _, parts in self._layers:
            lone[parts.ravel()] = False
        return lone
