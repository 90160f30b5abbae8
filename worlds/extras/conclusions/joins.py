"""Joins of triple patterns with quads of ids: the matches of a rule's body, as columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

import numpy as np

from worlds.core.quads.dictionary import Ids
from worlds.core.quads.rows import NO_QUADS
from worlds.extras.conclusions.rules import Atom, Item, Rule

Path: TypeAlias = tuple[int, ...]
"""The places of a quad that are looked up: 0 is the subject, 1 the predicate, 2 the object."""

PATHS: tuple[Path, ...] = ((0, 1), (1, 2), (0,), (1,), (2,), ())
"""The ways to look quads up, the narrowest first."""
ANY_GRAPH = -1  # of a match of no quad
_BITS = 31  # of an id
_MOST = 4_000_000  # matches that are held at once
_SEVERAL = 1000  # from which on it pays to see which are the same


Hot: TypeAlias = tuple[Item, int | None]
"""The predicate of a pattern, and its object where that is no variable."""


class TooManyError(Exception):
    """There are more matches than is worthwhile to follow one by one."""


class QuadSource(Protocol):
    """Quads that are looked up."""

    def fetch(self, path: Path, keys: Ids) -> Ids:
        """The quads, int64 [m, 4], with one of some distinct keys in the places of a path; see `keys_of`."""


def keys_of(path: Path, columns: Sequence[Ids]) -> Ids:
    """One number for the values in the places of a path, [n]."""
    if not path:
        return np.zeros(len(columns[0]), dtype=np.int64)
    return columns[0] if len(path) == 1 else columns[0] << _BITS | columns[1]


def parts_of(path: Path, keys: Ids) -> list[Ids]:
    """The values that keys stand for, [n] for each place."""
    return [keys] if len(path) == 1 else [keys >> _BITS, keys & (1 << _BITS) - 1][: len(path)]


class Extent:
    """Quads in memory, int64 [n, 4], sorted for each path when it is first taken."""

    def __init__(self, quads: Ids) -> None:
        self.quads = quads
        """The quads to join."""
        self._sorted: dict[Path, tuple[Ids, Ids]] = {}

    def fetch(self, path: Path, keys: Ids) -> Ids:
        """See `QuadSource.fetch`."""
        if not path or not len(self.quads):
            return self.quads
        if path not in self._sorted:
            own = keys_of(path, [self.quads[:, place] for place in path])
            order = np.argsort(own, kind="stable")
            self._sorted[path] = own[order], order
        own, order = self._sorted[path]
        found: Ids = self.quads[order[_spread(*_range(own, keys))[1]]]
        return found


def _range(own: Ids, keys: Ids) -> tuple[Ids, Ids]:
    """Where each key begins in sorted numbers, and how often it is there."""
    left = np.searchsorted(own, keys)
    return left, np.searchsorted(own, keys, side="right") - left


def _spread(left: Ids, counts: Ids) -> tuple[Ids, Ids]:
    """(the number of each range, the place) of all places of ranges."""
    of = np.repeat(np.arange(len(counts)), counts)
    ends = np.cumsum(counts)
    return of, np.arange(len(of)) - np.repeat(ends - counts, counts) + left[of]


@dataclass
class Matches:
    """n matches of patterns: the ids of each variable, and the graph that all their quads are in, [n] each.

    `used` are the quads that each pattern matched, int64 [n, 4], where they are traced.
    """

    columns: dict[str, Ids]
    graph: Ids
    used: dict[int, Ids] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.graph)

    def column(self, item: Item) -> Ids:
        """The ids of an item of a pattern, [n]."""
        return self.columns[item] if isinstance(item, str) else np.full(len(self.graph), item, dtype=np.int64)

    def take(self, rows: Ids | slice) -> Matches:
        """Some of them."""
        used = {at: quads[rows] for at, quads in self.used.items()}
        return Matches({name: ids[rows] for name, ids in self.columns.items()}, self.graph[rows], used)


def matching(atom: Sequence[Item], quads: Ids) -> Matches:
    """The matches of one pattern; for the pattern of a rule's head, with its variables bound to the conclusion."""
    keep: Ids | None = None
    columns: dict[str, Ids] = {}
    for place, item in enumerate(atom):
        own = quads[:, place]
        if isinstance(item, str) and item not in columns:
            columns[item] = own
            continue
        same = own == (columns[item] if isinstance(item, str) else item)
        keep = same if keep is None else keep & same
    found = Matches(columns, quads[:, 3])
    return found if keep is None or keep.all() else found.take(np.flatnonzero(keep))


@dataclass(eq=False, repr=False)
class Join:
    """Joins the patterns of a rule's body in sequence, each with the bindings of the patterns before."""

    sources: Sequence[QuadSource]
    entailed: int  # the graph of what follows from several graphs
    hot: Mapping[Hot, QuadSource] = field(default_factory=dict)  # quads of patterns, not sought in the first source
    most: int | None = None  # more matches are TooManyError
    tracing: bool = False

    def all(self, matches: Matches, rule: Rule, left: Sequence[int]) -> Iterator[Matches]:
        """The matches of the patterns of a rule in the places `left` too, in blocks.

        Of those that two terms are known of, a pattern of a vocabulary comes first, since few quads match it.
        """
        if not len(matches):
            return
        if not left:
            yield matches
            return
        paths = {one: PATHS.index(_path(rule.body[one], matches)) for one in left}
        at = min(left, key=lambda one: (paths[one] > 1, not rule.hot[one], paths[one]))
        others = [one for one in left if one != at]
        for block in self._with(matches, rule.body[at], at):
            yield from self.all(self._fewer(block, rule, others), rule, others)

    def _fewer(self, matches: Matches, rule: Rule, left: Sequence[int]) -> Matches:
        """Many matches without variables that are of no use any more, each once: ways through a list multiply."""
        used = {"", *rule.tested, *(item for atom in (*rule.head, *(rule.body[at] for at in left)) for item in atom)}
        columns = {name: ids for name, ids in matches.columns.items() if name in used}
        if self.tracing or len(matches) < _SEVERAL or len(columns) == len(matches.columns):
            return matches
        rows = np.column_stack([*columns.values(), matches.graph])
        _, first = np.unique(rows, axis=0, return_index=True)
        return Matches(columns, matches.graph).take(first)

    def _with(self, matches: Matches, atom: Atom, at: int) -> Iterator[Matches]:
        path = _path(atom, matches)
        keys = keys_of(path, [matches.column(atom[place]) for place in path] or [matches.graph])
        wanted, which = np.unique(keys, return_inverse=True)
        first = self.hot.get(hot_of(atom), self.sources[0])
        sources = (first, *self.sources[1:])
        quads = np.concatenate([NO_QUADS, *(source.fetch(path, wanted) for source in sources)])
        if not len(quads):
            return
        own = keys_of(path, [quads[:, place] for place in path] or [quads[:, 0]])
        order = np.argsort(own, kind="stable")
        left, counts = _range(own[order], wanted)
        left, counts = left[which], counts[which]
        total = int(counts.sum())
        if self.most is not None and total > self.most:
            raise TooManyError
        if not total:
            return
        if total <= _MOST:
            of, places = _spread(left, counts)
            yield self._joined(matches.take(of), atom, quads[order[places]], at)
            return
        parts = 1 + total // _MOST
        for rows in np.array_split(np.arange(len(matches)), min(parts, len(matches))):
            of, places = _spread(left[rows], counts[rows])
            yield self._joined(matches.take(rows[of]), atom, quads[order[places]], at)

    def _joined(self, matches: Matches, atom: Atom, quads: Ids, at: int) -> Matches:
        keep = np.ones(len(quads), dtype=bool)
        for place, item in enumerate(atom):
            if isinstance(item, str) and item not in matches.columns:
                matches.columns[item] = quads[:, place]
            else:
                keep &= matches.column(item) == quads[:, place]
        graph = quads[:, 3]
        same = (matches.graph == ANY_GRAPH) | (matches.graph == graph)
        matches.graph = np.where(same, graph, self.entailed)
        if self.tracing:
            matches.used[at] = quads
        return matches if keep.all() else matches.take(np.flatnonzero(keep))


def _path(atom: Atom, matches: Matches) -> Path:
    bound = [place for place, item in enumerate(atom) if not isinstance(item, str) or item in matches.columns]
    return next(path for path in PATHS if set(path) <= set(bound))


def hot_of(atom: Atom) -> Hot:
    """The key of a pattern among the patterns whose quads are kept in memory."""
    return atom.predicate, None if isinstance(atom.object, str) else atom.object


def concluded(head: Sequence[Atom], matches: Matches) -> list[Ids]:
    """The quads that matches of a body conclude, int64 [n, 4] for each pattern of the head."""
    return [np.column_stack([*(matches.column(item) for item in atom), matches.graph]) for atom in head]
