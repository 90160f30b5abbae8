"""SPARQL indexes of other states of a world: taken from the world's own index, then changed by what differs.

Where the world has a cache on disk, taking it is making hard links; else the store is copied in memory. A copy
of a world is followed from there on, as are revisions of other processes; for an earlier revision, the later ones are
taken back.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import pyoxigraph as ox

from worlds.core.history.history import History
from worlds.core.quads.dataset import own_graphs
from worlds.core.quads.dictionary import Dictionary, json_ids
from worlds.core.quads.rows import NO_QUADS, find_quads, rows_of
from worlds.core.sparql.cache import reporting
from worlds.core.sparql.index import Progress, SparqlIndex
from worlds.core.sparql.merging import WorldMerging
from worlds.errors import WorldsError
from worlds.graph.query.default_graph import Graphs, MergedStores
from worlds.sql import statements
from worlds.sql.connection import Connection

_SQL = statements("queries.sql")
_FORGETTING = ("created", "history_from", "purges", "term_removals")  # of the table meta


class CopiedIndex(SparqlIndex):
    """The index of a copy, which nobody writes to; it leaves nothing behind in the cache of its world."""

    def __init__(self, connection: Connection, dictionary: Dictionary, origin: SparqlIndex) -> None:
        super().__init__(connection, dictionary, "memory")
        self._origin = origin

    def _open(self, progress: Progress | None) -> None:
        """Take the store from the world's index; build it where that has other revisions than the copy."""
        with reporting("it cannot be used"):
            if taken := self._origin.taken(self._is_used):
                self._take(taken)
                self._catch_up()
        if self._store is None:
            self._build(ox.Store(), self._connection.value(_SQL["count_quads"]), progress)

    def close(self) -> None:
        """The copy is being closed."""
        self.drop()


class EarlierIndex(SparqlIndex):
    """The index of a revision: a copy of the world's, with later changes reversed.

    It is built of the view's quads where most quads came later, or where the world has forgotten the revision. Its
    lock is the view's.
    """

    def __init__(
        self,
        connection: Connection,
        dictionary: Dictionary,
        of_world: Dictionary,
        origin: SparqlIndex,
        history: History,
        revision: int,
        taking: Callable[[], None],
    ) -> None:
        """`connection` and `dictionary` belong to the view; `of_world` and `history` to the indexed world.

        `taking` is called before the index takes room.
        """
        super().__init__(connection, dictionary, "memory")
        self._origin = origin
        self._history = history
        self._base = history.connection
        self._of_view, self._of_world = dictionary, of_world
        self._taken = False  # whether the store is that of the world, and not made of the view's quads
        self._at_revision = revision
        self._taking = taking
        self._lost = NO_QUADS  # that held then, and were removed since
        self._since: object = None  # of what the world has forgotten, when it was taken
        self.merging = StoreMerging(connection, dictionary, self)

    @property
    def view_lock(self) -> contextlib.AbstractContextManager[Any]:
        """The view's lock."""
        return self._connection.lock

    def store(self, progress: Progress | None = None) -> ox.Store:
        """The store. WorldsError where the world has forgotten the revision, and the view was not read before."""
        with self._connection.lock:
            since = None if self._base.closed else tuple(map(self._base.meta, _FORGETTING))
            if since != self._since:
                self.drop()
                self._since = since
            if self._store is None:
                self._taking()
                self._taken, self._dictionary = True, self._of_world
                try:
                    with self._base.snapshot():
                        self._history.check(self._at_revision)
                        self._take_back()
                except WorldsError:  # the view may have been read before; else it says so
                    self.drop()
            if self._store is None:
                self._taken, self._dictionary = False, self._of_view
                with self._connection.snapshot():
                    self._build(ox.Store(), self._connection.value(_SQL["count_quads"]), progress)
            assert self._store is not None
            return self._store

    def _take_back(self) -> None:
        self._lost = self._history.gone(self._at_revision, self._at_revision)[:, :4]
        taken = self._origin.taken(self._is_used)
        if taken is None:
            return
        added, removed = self._history.changed(taken.revision, self._at_revision)
        if len(added) + len(removed) > max(taken.count, 1) // 2:
            if taken.copy is not None:
                taken.copy.remove()
            return
        self._take(taken)
        self._apply(added, removed)

    def _created(self) -> set[int]:
        if not self._taken:
            return super()._created()
        statement = _SQL["markers_until"]
        rows = self._base.rows(statement, statement.bind(revision=self._at_revision))
        own = own_graphs(self._dictionary)
        lost = self._lost[self._lost[:, 0] == 0, 3].tolist()
        return {number for number in (*(graph for (graph,) in rows), *lost) if number not in own}

    def _is_used(self, terms: Sequence[Any]) -> list[bool]:
        if not self._taken:
            return super()._is_used(terms)
        numbers = self._dictionary.find(terms)
        known = json_ids([number for number in numbers if number is not None])
        statement = _SQL["objects_until"]
        rows = self._base.rows(statement, statement.bind(ids_json=known, revision=self._at_revision))
        used = {number for (number,) in rows} | set(self._lost[self._lost[:, 0] > 0, 2].tolist())
        return [number in used for number in numbers]

    def _stored(self, quads: list[ox.Quad]) -> list[int]:
        if not self._taken:
            return super()._stored(quads)
        lost = set(map(tuple, self._lost.tolist()))
        ids = rows_of(self._dictionary, quads)
        found = {at for at, _, revision in find_quads(self._base, ids) if revision <= self._at_revision}
        return [at for at, row in enumerate(ids.tolist()) if at in found or tuple(row) in lost]

    def close(self) -> None:
        """The view is being closed."""
        self.drop()


class StoreMerging(WorldMerging):
    """Merged stores that are made by looking at the index alone: the view's database may not be there."""

    def _repeats(self, store: ox.Store, graphs: Graphs) -> bool:
        return MergedStores.wanted(self, store, graphs)
