"""Finds which blank nodes of two sets of quads are the same nodes.

A blank node has no name that lasts: a file that is read again, or another version of it, has new ones. Two sets are
compared by the assignment of the one's nodes to the other's that leaves the most quads equal. Finding it is NP-hard (it
is the maximum common subgraph), so it is sought in three steps, each bounded:

1. Nodes whose surroundings are equal are the same, by colour refinement of both sets at once (Weisfeiler and Leman
   1968, the first step of RDFC-1.0, too): from the farthest surroundings to the nearest, where a colour tells one node
   of each set. Nodes that are alike, and touch no node that is not matched, are paired in any order.
2. The others are matched one by one, those with the most statements in common first; each match tells more of the
   nodes beside it.
3. What differs still is searched exactly where few nodes are left, and else mended by exchanges that gain.

No assignment is wrong, whatever it is: what has no counterpart is a difference.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from worlds.core.quads.colours import Refinement
from worlds.core.quads.dictionary import Ids
from worlds.core.quads.rows import distinct

Statement: TypeAlias = tuple[int, ...]
"""A quad as its term ids, a triple term as `_TRIPLE` and its parts."""

_TRIPLE, _SELF, _ANY = -1, -2, -3  # in the place of ids: a triple term begins, the node itself, a node not matched yet
_CANDIDATES = 12  # nodes that one is compared with
_FOLLOWED = 1000  # steps after a match, to offer the nodes beside it anew
_STEPS = 24  # looks at a statement, for each statement, that the second and the third step may take
_FEWEST_STEPS = 400_000
_FEW = 8  # nodes of a set that are searched exactly


@dataclass
class Matching:
    """The matched nodes: new id → old id. `past` counts the new nodes left unmatched at the bound."""

    pairs: dict[int, int] = field(default_factory=dict)
    past: int = 0


def match(old: Ids, new: Ids, nodes: Ids, triples: Mapping[int, tuple[int, int, int]]) -> Matching:
    """The blank nodes of `new` that are nodes of `old`; both int64 [n, 4] of term ids.

    Terms that are equal have one id in both. `nodes` are the ids of all blank nodes, `triples` the parts of the triple
    terms that have a blank node. A node that both have is the same already, and is in no pair.
    """
    found = Matching()
    bearing = np.union1d(nodes, np.fromiter(triples, dtype=np.int64))  # their ids, and those of the triples they are in
    old, new = (quads[np.isin(quads, bearing).any(axis=1)] for quads in (old, new))
    own = [_nodes_of(quads, nodes, triples) for quads in (old, new)]
    free = [np.setdiff1d(own[0], own[1]), np.setdiff1d(own[1], own[0])]
    if not all(map(len, free)):
        return found
    levels = Refinement(old, new, free, triples).match(found.pairs)
    theirs, mine = (_Side(quads, set(part.tolist()), triples) for quads, part in zip((old, new), free, strict=True))
    levels.append({node: colour for side in (theirs, mine) for node, colour in _wholes(side, levels[-1])})
    steps = _Steps(max(_FEWEST_STEPS, _STEPS * (len(old) + len(new))))
    try:
        _Greedy(theirs, mine, found.pairs, levels, steps).run()
        _Mending(theirs, mine, found.pairs, steps).run()
    except _Bound:
        found.past = len(mine.nodes) - len(found.pairs)
    return found


def assigned(quads: Ids, pairs: Mapping[int, int]) -> Ids:
    """Quads with some ids replaced: int64 [n, 4]."""
    if not pairs:
        return quads
    before = np.fromiter(sorted(pairs), dtype=np.int64, count=len(pairs))
    after = np.array([pairs[number] for number in before.tolist()], dtype=np.int64)
    places = np.minimum(np.searchsorted(before, quads), len(before) - 1)
    found: Ids = np.where(before[places] == quads, after[places], quads)
    return found


def _nodes_of(quads: Ids, nodes: Ids, triples: Mapping[int, tuple[int, int, int]]) -> Ids:
    """The blank nodes in quads, including blank nodes within triple terms."""
    terms = distinct(quads.ravel())
    seen = set(terms[np.isin(terms, np.fromiter(triples, dtype=np.int64))].tolist()) if triples else set()
    parts: set[int] = set()
    while seen:
        inner = {part for one in seen for part in triples[one]}
        parts |= inner
        seen = {one for one in inner if one in triples}
    return np.intersect1d(np.union1d(terms, np.fromiter(parts, dtype=np.int64)), nodes)


def _wholes(side: _Side, colours: Mapping[int, int]) -> Iterator[tuple[int, int]]:
    """Each node with a colour that includes the colours of all nodes connected with it."""
    done: set[int] = set()
    for node in sorted(side.nodes & colours.keys()):
        if node not in done:
            whole = _hanging([node], side, colours)
            done |= whole
            told = hash(tuple(sorted(colours[one] for one in whole)))
            yield from ((one, hash((colours[one], told))) for one in whole)


# --- 2. statements in common ------------------------------------------------------------------------------------------


class _Bound(Exception):  # noqa: N818  # no error: the search ends with what it has
    pass


class _Steps:
    """A counter of steps, up to a bound."""

    def __init__(self, most: int) -> None:
        self.left = most

    def take(self, number: int) -> None:
        self.left -= number
        if self.left < 0:
            raise _Bound


class _Side:
    """The statements of one set that have nodes to be matched."""

    def __init__(self, quads: Ids, nodes: set[int], triples: Mapping[int, tuple[int, int, int]]) -> None:
        self.nodes = nodes
        self.of: dict[int, list[Statement]] = defaultdict(list)
        self.statements: set[Statement] = set()
        for row in quads.tolist():
            statement = tuple(_flat(row, triples)) if triples else tuple(row)
            for node in nodes.intersection(statement):
                self.of[node].append(statement)
                self.statements.add(statement)


def _flat(terms: Iterable[int], triples: Mapping[int, tuple[int, int, int]]) -> Iterator[int]:
    for term in terms:
        if term in triples:
            yield _TRIPLE
            yield from _flat(triples[term], triples)
        else:
            yield term


class _Greedy:
    """Matches nodes by the statements that they have in common, the surest first."""

    def __init__(
        self, old: _Side, new: _Side, pairs: dict[int, int], levels: list[dict[int, int]], steps: _Steps
    ) -> None:
        self._sides = (old, new)
        self._pairs = pairs
        self._back = {mine: theirs for theirs, mine in pairs.items()}
        self._levels = levels
        self._wholes = {levels[-1].get(node) for node in old.nodes} - {None}
        self._steps = steps
        self._keys: dict[int, Counter[Statement]] = {}
        self._bearers: dict[Statement, dict[int, None]] = defaultdict(dict)  # old nodes that are not matched
        self._heap: list[tuple[float, int, int]] = []

    def run(self) -> None:
        for new, known in enumerate((self._back, self._pairs)):
            for node in sorted(self._sides[new].nodes - known.keys()):
                self._describe(node, known, new=bool(new))
        left = sorted(self._sides[1].nodes - self._pairs.keys())
        for node in left:
            self._offer(node)
        while self._heap:
            score, node, other = heapq.heappop(self._heap)
            if node in self._pairs:
                continue
            if other in self._back or self._score(node, other) != -score:
                best = self._best(node)
                if best is None:
                    continue
                if best[0] < -score:
                    heapq.heappush(self._heap, (-best[0], node, best[1]))
                    continue
                other = best[1]
            self._match(node, other)

    def _describe(self, node: int, known: Mapping[int, int], *, new: bool) -> None:
        """Record the statements of a node, as far as the other nodes in them are matched."""
        side = self._sides[new]
        self._steps.take(len(side.of[node]))
        self._keys[node] = keys = Counter(_key(statement, node, side.nodes, known, new) for statement in side.of[node])
        if not new:
            for key in keys:
                self._bearers[key][node] = None

    def _score(self, node: int, other: int) -> float:
        """The similarity of two nodes: common statements, ones with unmatched nodes at half, and likeness."""
        mine, theirs = self._keys[node], self._keys[other]
        self._steps.take(len(mine))
        score = 0.0
        for key, count in mine.items():
            if (there := theirs.get(key)) is not None:
                score += min(count, there) * (0.5 if _ANY in key else 1.0)
        if not score:
            return 0.0
        far = 0
        for colours in self._levels:
            colour = colours.get(node)
            if colour is None or colour != colours.get(other):
                break
            far += 1
        most = max(mine.total(), theirs.total())
        return score + 2.0 * far / len(self._levels) + score / (2.0 * most)

    def _best(self, node: int) -> tuple[float, int] | None:
        keys = self._keys[node]
        self._steps.take(len(keys))
        certain = not any(_ANY in key for key in keys)
        seen: set[int] = set()
        best = None
        for _, key in sorted((len(bearers), key) for key in keys if (bearers := self._bearers.get(key))):
            for other in self._bearers[key]:
                if other in seen:
                    continue
                if len(seen) >= _CANDIDATES:
                    return best
                seen.add(other)
                score = self._score(node, other)
                if score and (best is None or score > best[0]):
                    best = score, other
                    if self._keys[other] == keys and (certain or self._alike(node, other)):
                        return best  # none can have more
        return best

    def _alike(self, node: int, other: int) -> bool:
        """Whether the nodes look the same, with all that hangs together with them where any looks so."""
        *_, near, whole = self._levels
        colours = whole if whole.get(node) in self._wholes else near
        colour = colours.get(node)
        return colour is not None and colour == colours.get(other)

    def _offer(self, node: int) -> None:
        if (best := self._best(node)) is not None:
            heapq.heappush(self._heap, (-best[0], node, best[1]))

    def _match(self, node: int, other: int) -> None:
        for key in self._keys[other]:
            self._bearers[key].pop(other, None)
        self._tell(other, self._back, node, new=False)
        beside = self._tell(node, self._pairs, other, new=True)
        end = self._steps.left - _FOLLOWED  # those that are not offered anew are when their turn comes
        for mine in beside:
            if self._steps.left < end:
                break
            self._offer(mine)

    def _tell(self, node: int, known: dict[int, int], same: int, *, new: bool) -> list[int]:
        """Mark a node as matched in the keys of its neighbours; return the changed neighbours."""
        side = self._sides[new]
        changes: list[tuple[int, Statement, Statement]] = []
        for statement in side.of[node]:
            for term in statement:
                if term != node and term in side.nodes and term not in known:
                    changes.append((term, statement, _key(statement, term, side.nodes, known, new)))
        self._steps.take(1 + len(changes))
        known[node] = same
        for beside, statement, before in changes:
            after = _key(statement, beside, side.nodes, known, new)
            keys = self._keys[beside]
            keys[after] += 1
            keys[before] -= 1
            if not new:
                self._bearers[after][beside] = None
            if not keys[before]:
                del keys[before]
                if not new:
                    self._bearers[before].pop(beside, None)
        return list(dict.fromkeys(beside for beside, _, _ in changes))


def _key(statement: Statement, node: int, free: Collection[int], known: Mapping[int, int], new: bool) -> Statement:
    """A statement as one of its nodes has it: the others as the nodes that they are matched with, as far as known."""
    return tuple(
        [
            _SELF
            if term == node
            else term
            if term not in free
            else _ANY
            if term not in known
            else known[term]
            if new
            else term
            for term in statement
        ]
    )


def _beside(node: int, side: _Side) -> list[int]:
    """The nodes that share a statement with a node."""
    return sorted({term for statement in side.of[node] for term in statement if term in side.nodes and term != node})


# --- 3. what differs still --------------------------------------------------------------------------------------------


class _Mending:
    """Seeks a better assignment of the nodes that differ still."""

    def __init__(self, old: _Side, new: _Side, pairs: dict[int, int], steps: _Steps) -> None:
        self._old, self._new = old, new
        self._pairs = pairs
        self._back = {mine: theirs for theirs, mine in pairs.items()}
        self._steps = steps

    def run(self) -> None:
        mine, theirs = self._unequal()
        if not mine or not theirs:
            return
        if max(len(mine), len(theirs)) <= _FEW:
            self._search(mine, theirs)
        else:
            self._exchange(mine, theirs)

    def _unequal(self) -> tuple[list[int], list[int]]:
        """The nodes of both sets in components that are not wholly equal."""
        images = {self._image(statement) for statement in self._new.statements}
        mine = {
            term
            for statement in self._new.statements
            if self._image(statement) not in self._old.statements
            for term in statement
            if term in self._new.nodes
        }
        theirs = {term for statement in self._old.statements - images for term in statement if term in self._old.nodes}
        while True:
            mine |= _hanging(mine, self._new) | {self._back[one] for one in theirs if one in self._back}
            more = _hanging(theirs, self._old) | {self._pairs[one] for one in mine if one in self._pairs}
            if more <= theirs and len(mine) == len(mine | {self._back[o] for o in theirs if o in self._back}):
                return sorted(mine), sorted(theirs)
            theirs |= more

    def _image(self, statement: Statement) -> Statement:
        pairs, free = self._pairs, self._new.nodes
        return tuple([pairs.get(term, _ANY) if term in free else term for term in statement])

    def _equal(self, statements: Iterable[Statement]) -> int:
        """The number of statements that are equal to one of the other set."""
        found = 0
        for statement in statements:
            self._steps.take(1)
            found += self._image(statement) in self._old.statements
        return found

    def _put(self, node: int, other: int | None) -> int | None:
        """Match a node with another one, or with none; returns its previous match."""
        before = self._pairs.pop(node, None)
        if before is not None:
            del self._back[before]
        if other is not None:
            self._pairs[node], self._back[other] = other, node
        return before

    def _exchange(self, mine: list[int], theirs: list[int]) -> None:
        """Exchange matches between nodes while this makes more statements equal."""
        bearers: dict[Statement, list[int]] = defaultdict(list)
        for other in theirs:
            for key in self._keys(other, self._old):
                bearers[key].append(other)
        gained = True
        while gained:
            gained = False
            for node in mine:
                own = self._new.of[node]
                if node in self._pairs and self._equal(own) == len(own):
                    continue
                near = Counter(
                    other for key in self._keys(node, self._new) for other in bearers.get(key, ())[: 8 * _CANDIDATES]
                )
                for other, _ in near.most_common(_CANDIDATES):
                    gained |= self._try(node, other)

    def _keys(self, node: int, side: _Side) -> set[Statement]:
        self._steps.take(len(side.of[node]))
        return {
            tuple([_SELF if term == node else _ANY if term in side.nodes else term for term in statement])
            for statement in side.of[node]
        }

    def _try(self, node: int, other: int) -> bool:
        """Match a node with another one, and give its old partner away; False, and undone, without a gain."""
        if self._pairs.get(node) == other:
            return False
        rival = self._back.get(other)
        touched = {*self._new.of[node], *(self._new.of[rival] if rival is not None else ())}
        before = self._equal(touched)
        was = self._put(node, None)
        if rival is not None:
            self._put(rival, None)
            self._put(rival, was)
        self._put(node, other)
        if self._equal(touched) > before:
            return True
        self._put(node, None)
        if rival is not None:
            self._put(rival, None)
            self._put(rival, other)
        self._put(node, was)
        return False

    def _search(self, mine: list[int], theirs: list[int]) -> None:
        """Try all assignments of a few nodes that can be better than the one there is."""
        statements = {statement for node in mine for statement in self._new.of[node]}
        best, kept = self._equal(statements), {node: self._pairs.get(node) for node in mine}
        for node in mine:
            self._put(node, None)
        # The nodes with the most statements first; a statement counts when the last of its nodes has its place.
        order = sorted(mine, key=lambda node: -len(self._new.of[node]))
        place = {node: number for number, node in enumerate(order)}
        closing: list[list[Statement]] = [[] for _ in order]
        for statement in statements:
            closing[max(place[term] for term in statement if term in place)].append(statement)
        rest = [sum(map(len, closing[number:])) for number in range(len(order) + 1)]
        closes = [[*part] for part in closing]

        def descend(number: int, equal: int) -> None:
            nonlocal best, kept
            if equal + rest[number] <= best:
                return
            if number == len(order):
                best, kept = equal, {node: self._pairs.get(node) for node in mine}
                return
            node = order[number]
            choices: list[tuple[int, int | None]] = []
            for other in (*(one for one in theirs if one not in self._back), None):
                self._put(node, other)
                choices.append((-self._equal(closes[number]), other))
                self._put(node, None)
            for lost, other in sorted(choices, key=lambda choice: choice[0]):
                self._put(node, other)
                descend(number + 1, equal - lost)
                self._put(node, None)

        try:
            descend(0, 0)
        finally:
            for node in mine:
                self._put(node, None)
            for node, other in kept.items():
                self._put(node, other)


def _hanging(nodes: Collection[int], side: _Side, among: Collection[int] | None = None) -> set[int]:
    """The nodes connected with these by statements that both are in."""
    found = set(nodes)
    left = list(nodes)
    while left:
        more = {
            term
            for statement in side.of[left.pop()]
            for term in statement
            if term in side.nodes and term not in found and (among is None or term in among)
        }
        found |= more
        left += more
    return found
