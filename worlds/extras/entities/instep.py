"""Links between entities in memory, kept in step with the file, and the subjects that changed meanwhile."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import numpy as np

from worlds.core.core import Core
from worlds.core.quads.dictionary import Ids, json_ids
from worlds.core.quads.rows import distinct, read_quads
from worlds.sql import statements

_SQL = statements("browse.sql")
_QUERIES = statements("queries.sql")
_MOST = 20_000  # quads that were written since; beyond, all is read anew
_KEPT = 24  # values of one state that are remembered, and sets of links

T = TypeVar("T")


class InStep:
    """A cache of the data that trees and lists are made from: some for one state of the world, links across states."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._state: object = None
        self._at: tuple[Any, ...] = ()  # the revision that was read last, and how it is recorded
        self._values: OrderedDict[Hashable, Any] = OrderedDict()
        self._links: OrderedDict[int, Ids] = OrderedDict()
        self.dirty: list[set[int] | None] = []
        """For each that watches, the subjects that changed since it looked; None for any."""

    def watch(self) -> int:
        """Record changed subjects in `dirty` from now on; returns its place."""
        self.dirty.append(None)
        return len(self.dirty) - 1

    def kept(self, key: Hashable, read: Callable[[], T]) -> T:
        """The value of `read`, or the one that it gave for the key in this state of the world."""
        self.follow()
        found: T = self._values.pop(key) if key in self._values else read()
        self._values[key] = found
        while len(self._values) > _KEPT:
            self._values.popitem(last=False)
        return found

    def links(self, predicate: int) -> tuple[Ids, Ids]:
        """The distinct pairs of a subject and an entity that it has under a predicate, as two columns."""
        self.follow()
        codes = self._links.pop(predicate, None)
        if codes is None:
            subjects, objects = self._core.connection.columns(_SQL["links"], (predicate,))
            codes = distinct(subjects << 32 | objects)
        self._links[predicate] = codes
        while len(self._links) > _KEPT:
            self._links.popitem(last=False)
        return codes >> 32, codes & 0xFFFFFFFF

    def follow(self) -> None:
        """Agree with the file, by the quads that were written since."""
        state = self._core.connection.state()
        if state is self._state:
            return
        self._values.clear()
        written = self._written()
        self._state, self._at = state, self._recorded(int(self._core.connection.value(_QUERIES["last_revision"])))
        if written is None:
            self._links.clear()
            self.dirty = [None] * len(self.dirty)
            return
        subjects = set(written[:, 0].tolist())
        self.dirty = [None if one is None or len(one) > _MOST else one | subjects for one in self.dirty]
        for predicate in set(written[:, 1].tolist()) & self._links.keys():
            mine = written[written[:, 1] == predicate]
            codes = distinct(mine[:, 0] << 32 | mine[:, 2])
            values = _SQL["links_now"].bind(predicate=predicate, pairs_json=json_ids(codes))
            now = self._core.connection.column(_SQL["links_now"], values)
            kept = self._links[predicate]
            self._links[predicate] = distinct(np.concatenate([kept[~np.isin(kept, codes)], now]))

    def _recorded(self, revision: int) -> tuple[Any, ...]:
        connection = self._core.connection
        told = connection.rows(_QUERIES["recorded_revision"], (revision,))
        return revision, told, connection.rollbacks, connection.meta("purges"), connection.in_transaction

    def _written(self) -> Ids | None:
        """The quads that were added or removed since, int64 [n, 4]; None where that cannot be told."""
        if not self._at or self._at[-1] or self._at != self._recorded(self._at[0]):
            return None
        since, found = self._at[0], [np.empty((0, 4), dtype=np.int64)]
        if since + 1 < int(self._core.connection.meta("history_from") or 0):
            return None
        first = self._core.connection.value(_QUERIES["first_quad_since"], (since,))
        for name, after in (("quads_removed_since", 0), ("quads_added_since", first - 1)):
            for block in read_quads(self._core.connection, name, after=after, revision=since):
                found.append(block)
                if sum(map(len, found)) > _MOST:
                    return None
        return np.concatenate(found)
