"""Merges two versions of a data set that come from one."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from worlds.core.history.diff import TermLookup
from worlds.core.history.dry_runs import Trial
from worlds.core.quads.dictionary import DEFAULT_GRAPH_ID, Ids
from worlds.core.quads.rows import NO_QUADS, difference, distinct
from worlds.graph.records import Node, Record
from worlds.graph.terms import to_rdflib

_Row: TypeAlias = tuple[int, ...]
_Slot: TypeAlias = tuple[int, int, int, str]  # subject, predicate, graph and language: what often has one value
_Rows: TypeAlias = set[_Row]
_Side: TypeAlias = tuple[_Rows, _Rows]  # what was added, and removed


@dataclass(frozen=True, slots=True)
class Conflict(Record):
    """Values of one subject, predicate, graph and language that both sides changed, each in its own way.

    `mine` and `theirs` are the values that the sides have in the place of `base`.
    """

    subject: Node
    predicate: Node
    graph: Node | None
    base: tuple[Node, ...]
    mine: tuple[Node, ...]
    theirs: tuple[Node, ...]


@dataclass(frozen=True, kw_only=True)
class Conflicting(Trial):
    """A conflict, with the change that makes theirs hold."""

    conflict: Conflict


@dataclass(frozen=True, slots=True)
class ThreeWay:
    """The parts of a three-way merge: changed quads without a conflict, int64 [n, 4], and the conflicts.

    `agreed` counts the quads that both added, or removed, alike.
    """

    added: Ids
    removed: Ids
    conflicts: tuple[Conflicting, ...]
    agreed: int


def three_way(mine: Ids, theirs: Ids, base: Ids, terms: TermLookup) -> ThreeWay:
    """Merge their changes with mine; int64 [n, 4] of distinct rows each, by the ids of `terms`.

    Two changes conflict where both took away one value of a subject, predicate, graph and language and put different
    ones in its place; where both gave a first value to a predicate that never has two in the base; and where one took
    away all of an entity to which the other gave something.
    """
    sides = [(difference(one, base), difference(base, one)) for one in (mine, theirs)]
    touched = distinct(np.concatenate([part[:, 0] for side in sides for part in side]))
    near, held = (_tuples(rows[np.isin(rows[:, 0], touched)]) for rows in (base, mine))
    own_side, their_side = ((_tuples(added), _tuples(removed)) for added, removed in sides)
    slots = _Slots(terms, [near, held, *own_side, *their_side])
    of_base, of_mine = slots.values(near), slots.values(held)
    own_changes, their_changes = slots.changes(own_side), slots.changes(their_side)
    gone = [_gone(side, near) for side in (own_side, their_side)]
    kept = {row[0] for row in own_side[0]}
    added: _Rows = set()
    removed: _Rows = set()
    conflicts: list[Conflicting] = []
    agreed = 0
    for slot, theirs_here in sorted(their_changes.items()):
        own = own_changes.get(slot, (set(), set()))
        new = theirs_here[0] - own[0], theirs_here[1] - own[1]
        replaced = bool(own[1] & theirs_here[1]) and own[0] != theirs_here[0]
        first = bool(own[0] and new[0]) and slot not in of_base and slots.single(slot[1], base)
        deleted = (slot[0] in gone[0] and bool(new[0])) or (slot[0] in gone[1] and slot[0] in kept)
        if not (replaced or first or deleted):
            agreed += len(own[0] & theirs_here[0]) + len(own[1] & theirs_here[1])
            added |= new[0]
            removed |= new[1]
            continue
        before, now = of_base.get(slot, set()), of_mine.get(slot, set())
        told = slots.told(slot, before, now, (before - theirs_here[1]) | theirs_here[0])
        instead = (now & own[0] if replaced or first else set()) | (now & new[1])
        conflicts.append(Conflicting(_rows(new[0]), _rows(instead), conflict=told))
    return ThreeWay(_rows(added), _rows(removed), tuple(conflicts), agreed)


class _Slots:
    """Rows by their subject, predicate, graph and language."""

    def __init__(self, terms: TermLookup, sets: Iterable[_Rows]) -> None:
        self._terms = terms
        self._known = dict(terms.terms({row[2] for rows in sets for row in rows}))
        self._single: dict[int, bool] = {}

    def _slot(self, row: _Row) -> _Slot:
        language = getattr(self._known[row[2]], "language", None)
        return row[0], row[1], row[3], (language or "").lower()

    def values(self, rows: _Rows) -> dict[_Slot, _Rows]:
        found: dict[_Slot, _Rows] = defaultdict(set)
        for row in rows:
            found[self._slot(row)].add(row)
        return dict(found)

    def changes(self, side: _Side) -> dict[_Slot, _Side]:
        added, removed = map(self.values, side)
        return {slot: (added.get(slot, set()), removed.get(slot, set())) for slot in {*added, *removed}}

    def single(self, predicate: int, base: Ids) -> bool:
        """Whether no subject has two values of the predicate in one language and graph."""
        if predicate not in self._single:
            rows = _tuples(base[base[:, 1] == predicate])
            self._known.update(self._terms.terms({row[2] for row in rows} - self._known.keys()))
            self._single[predicate] = max(Counter(map(self._slot, rows)).values(), default=1) == 1
        return self._single[predicate]

    def told(self, slot: _Slot, *values: _Rows) -> Conflict:
        subject, predicate, graph, _ = slot
        known = self._terms.terms({subject, predicate, graph})
        where = None if graph == DEFAULT_GRAPH_ID else to_rdflib(known[graph])
        told = [
            tuple(to_rdflib(one) for one in sorted({self._known[row[2]] for row in some}, key=str)) for some in values
        ]
        return Conflict(to_rdflib(known[subject]), to_rdflib(known[predicate]), where, *told)


def _gone(side: _Side, base: _Rows) -> set[int]:
    """The subjects whose quads one side removed completely."""
    left = {row[0] for row in base - side[1]} | {row[0] for row in side[0]}
    return {row[0] for row in side[1]} - left


def _tuples(rows: Ids) -> _Rows:
    return set(map(tuple, rows.tolist()))


def _rows(rows: _Rows) -> Ids:
    return np.array(sorted(rows), dtype=np.int64).reshape(-1, 4) if rows else NO_QUADS
