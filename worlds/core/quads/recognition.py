"""Recognises the blank nodes of quads that were read: those that are what a world holds already stay the same nodes."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping

import numpy as np

from worlds.core.quads.dictionary import BLANK_NODE, DEFAULT_GRAPH_ID, Dictionary, Ids, batches, hash_of, triple_key
from worlds.core.quads.matching import assigned, match
from worlds.core.quads.rows import distinct, in_storing_order
from worlds.sql import statements
from worlds.sql.connection import Connection, Row

_SQL = statements("queries.sql")
_SOUGHT = 5000  # rows a statement
_MOST = 10_000  # quads of candidates, and as many again for each quad that is sought
_TIMES = 8

_Triples = dict[int, tuple[int, int, int]]


class Recognition:
    """Recognises the blank nodes of one write, inside its transaction. `first` is the last term from before it."""

    def __init__(self, connection: Connection, dictionary: Dictionary, first: int) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self._first = first
        rows = connection.rows(_SQL["nodes_after"], (first,))
        self._fresh, self._triples = _nodes(rows)
        self._old: set[int] = set()
        self.past = 0

    def alike(self, quads: Ids, stands: Ids) -> Ids:
        """The quads, in which new blank nodes are replaced by wholly equal nodes of the world.

        `stands` is how the world would hold the quads.
        """
        pairs = self.equal(stands)
        return in_storing_order(self.settle(quads, pairs)) if pairs else quads

    def equal(self, quads: Ids) -> dict[int, int]:
        """New node → the node of the world that is wholly equal to it.

        Equal is what hangs together by blank nodes: its quads are all there, and there are no others.
        """
        rows = quads[np.isin(quads, self._open()).any(axis=1)]
        parts = self._components(rows)
        wholes = {name: part for name, part in parts.items() if self._can_be_held(rows[part])}
        held = self._around(self._candidates([rows[part] for part in wholes.values()]), rows)
        if not len(held):
            return {}
        pairs = self._match(held, rows)
        theirs = set(map(tuple, held.tolist()))
        component_of = self._components_of_old(held)
        there = Counter(component_of.values())
        images = assigned(rows, pairs | self._triples_under(pairs))
        kept: dict[int, int] = {}
        for part in wholes.values():
            image = [tuple(row) for row in images[part].tolist()]
            names = {component_of[row] for row in image if row in component_of}
            if all(row in theirs for row in image) and len(names) == 1 and there[names.pop()] == len(image):
                own = set(rows[part].ravel().tolist()) | self._inner(rows[part].ravel().tolist())
                kept |= {node: pairs[node] for node in own if node in pairs}
        return kept

    def among(self, quads: Ids, held: Ids) -> Ids:
        """The quads, with nodes of `held`, whose place they take, so that the fewest quads differ."""
        pairs = self._match(held, quads)
        return in_storing_order(self.settle(quads, pairs)) if pairs else quads

    def settle(self, quads: Ids, pairs: Mapping[int, int]) -> Ids:
        """The quads with new nodes replaced by nodes of the world; the new nodes are no longer stored then."""
        changed = self._triples_under(pairs, store=True)
        gone = {**pairs, **changed}
        for ids in batches(np.fromiter(sorted(gone), dtype=np.int64)):
            self._connection.run(_SQL["delete_terms"], (ids,))
        self._fresh -= pairs.keys()
        for one in changed:
            self._triples.pop(one, None)
        self._dictionary.forget()
        return assigned(quads, gone)

    # -- steps ----------------------------------------------------------------------------------------------------

    def _open(self) -> Ids:
        """The new blank nodes, and the new triple terms that have one."""
        inside = self._triples_with_nodes()
        return np.fromiter(sorted({*self._fresh, *inside}), dtype=np.int64)

    def _bearing(self) -> set[int]:
        """The blank nodes that were there, and the triple terms that have one."""
        return {*self._old, *(one for one in self._triples_with_nodes() if one <= self._first)}

    def _triples_with_nodes(self) -> _Triples:
        """The triple terms that have a blank node, at any depth."""
        nodes = {*self._fresh, *self._old}
        found: _Triples = {}
        for one in sorted(self._triples):  # a part has a smaller id than the triple term that it is in
            own = self._triples[one]
            if any(part in nodes or part in found for part in own):
                found[one] = own
        return found

    def _match(self, held: Ids, quads: Ids) -> dict[int, int]:
        known = np.setdiff1d(distinct(held.ravel()), np.fromiter(self._old, dtype=np.int64))
        self._learn(known)
        nodes = np.fromiter(sorted({*self._fresh, *self._old}), dtype=np.int64)
        matching = match(held, quads, nodes, self._triples_with_nodes())
        self.past += matching.past
        return {mine: theirs for mine, theirs in matching.pairs.items() if mine in self._fresh}

    def _learn(self, ids: Ids) -> set[int]:
        """Record which of the ids are blank nodes, or triple terms with blank nodes; return the nodes."""
        found: set[int] = set()
        while len(ids):
            rows = [row for some in batches(ids) for row in self._connection.rows(_SQL["nodes_among"], (some,))]
            nodes, triples = _nodes(rows)
            found |= nodes
            self._triples |= triples
            ids = np.array(
                sorted({part for own in triples.values() for part in own} - self._triples.keys()), dtype=np.int64
            )
        self._old |= found - self._fresh
        return found

    def _triples_under(self, pairs: Mapping[int, int], *, store: bool = False) -> dict[int, int]:
        """The triple terms with new nodes, and their forms after these are replaced, where such terms exist.

        With `store` a new one that is not there gets its parts.
        """
        found: dict[int, int] = {}
        for one in sorted(one for one in self._triples if one > self._first):
            own = self._triples[one]
            parts = tuple(found.get(part, pairs.get(part, part)) for part in own)
            if parts == own:
                continue
            key = triple_key(parts)
            known = self._dictionary.lookup([key]).get(0)
            if known is not None:
                found[one] = known
            elif store:
                statement = _SQL["change_triple"]
                self._connection.run(statement, statement.bind(value=key[1], hash=hash_of(key[1]), term=one))
                self._triples[one] = parts  # type: ignore[assignment]  # of three
        return found

    def _inner(self, terms: Iterable[int]) -> set[int]:
        """The terms within triple terms."""
        found: set[int] = set()
        left = [part for term in terms if term in self._triples for part in self._triples[term]]
        while left:
            part = left.pop()
            found.add(part)
            left += self._triples.get(part, ())
        return found

    # -- candidates -----------------------------------------------------------------------------------------------

    def _components(self, rows: Ids) -> dict[int, list[int]]:
        """The places of rows by component: rows connected by new blank nodes."""
        return components(rows, set(self._open().tolist()), self._inner)

    def _components_of_old(self, rows: Ids) -> dict[tuple[int, ...], int]:
        """Row → the connected component that it belongs to."""
        parts = components(rows, self._bearing(), self._inner)
        table = rows.tolist()
        return {tuple(table[place]): name for name, places in parts.items() for place in places}

    def _can_be_held(self, rows: Ids) -> bool:
        """Whether the world knew all that stands beside the nodes."""
        terms = set(rows.ravel().tolist())
        terms |= self._inner(terms)
        return all(term <= self._first or term in self._fresh or term in self._triples for term in terms)

    def _candidates(self, wholes: list[Ids]) -> set[int]:
        """Nodes of the world that a statement of each whole leads to."""
        new = set(self._open().tolist())
        shared = Counter(str(_anchor(row, new)) for rows in wholes for row in rows.tolist())
        sought: dict[int, dict[str, list[int | None]]] = defaultdict(dict)
        for rows in wholes:
            anchors = [_anchor(row, new) for row in rows.tolist()]
            chosen = [min(anchors, key=lambda anchor: (anchor[0], shared[str(anchor)], str(anchor)))]
            # No index leads from a node to the triple terms that have it.
            chosen += [anchor for row, anchor in zip(rows.tolist(), anchors, strict=True) if row[2] in self._triples]
            for kind, key in chosen:
                sought[kind][str(key)] = key
        limit = _MOST + _TIMES * sum(map(len, wholes))
        found: set[int] = set()
        for kind, keys in sought.items():
            given = list(keys.values())
            for start in range(0, len(given), _SOUGHT):
                some = json.dumps(given[start : start + _SOUGHT])
                found |= {number for (number,) in self._connection.rows(_BESIDE[kind], (some, limit))}
        return found

    def _around(self, nodes: set[int], sought: Ids) -> Ids:
        """The quads of nodes, and of the nodes connected with them by blank nodes in the graphs of others."""
        graphs = set(sought[:, 3].tolist())
        rows: set[tuple[int, ...]] = set()
        seen: set[int] = set()
        left = nodes
        while True:
            self._learn(np.fromiter(sorted(left - self._old), dtype=np.int64))
            left = ((left | self._inner(left)) & self._bearing()) - seen
            if not left or len(rows) >= _MOST + _TIMES * len(sought):
                break
            seen |= left
            more = {
                tuple(row)
                for some in batches(np.fromiter(sorted(left), dtype=np.int64))
                for row in self._connection.rows(_SQL["quads_beside"], (some,))
            } - rows
            left = {term for row in more for term in row}
            self._learn(np.fromiter(sorted(left - self._old), dtype=np.int64))
            rows |= {row for row in more if row[3] in graphs or row[3] in self._old}
        return np.array(sorted(rows), dtype=np.int64).reshape(-1, 4)


_BESIDE = tuple(_SQL[name] for name in ("objects_beside", "subjects_beside", "graphs_beside", "subjects_of"))


def _anchor(row: list[int], new: set[int]) -> tuple[int, list[int | None]]:
    """The statement that finds a node of a row, those that find fewer first, and what it is asked for."""
    s, p, o, g = row
    graph = None if g in new else g
    if s not in new:
        return (0, [s, p, graph]) if o in new else (2, [s, p, o])
    return (3, [p]) if o in new else (1, [p, o, graph])


def components(rows: Ids, nodes: set[int], inner: Callable[[Iterable[int]], Iterable[int]]) -> dict[int, list[int]]:
    """A node → the places, ascending, of the rows in its component; `inner` returns the nodes within terms."""
    above: dict[int, int] = {}

    def top(node: int) -> int:
        while (parent := above.setdefault(node, node)) != node:
            above[node] = above[parent]
            node = above[node]
        return node

    firsts: list[int] = []
    for row in rows.tolist():
        own = [term for term in row if term in nodes]
        own += [term for term in inner(own) if term in nodes]
        first = top(own[0]) if own else DEFAULT_GRAPH_ID
        for other in own[1:]:
            above[top(other)] = first
        firsts.append(first)
    found: dict[int, list[int]] = defaultdict(list)
    for place, first in enumerate(firsts):
        if first != DEFAULT_GRAPH_ID:
            found[top(first)].append(place)
    return found


def _nodes(rows: Iterable[Row]) -> tuple[set[int], _Triples]:
    nodes: set[int] = set()
    triples: _Triples = {}
    for number, kind, value in rows:
        if kind == BLANK_NODE:
            nodes.add(number)
        else:
            s, p, o = map(int, value.split())
            triples[number] = (s, p, o)
    return nodes, triples
