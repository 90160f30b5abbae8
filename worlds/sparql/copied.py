"""SPARQL indexes of other states of a world: taken from the world's own index, then changed by what differs.

Where the world has a cache on disk, taking it is making hard links; else the store is copied in memory. A copy
of a world is followed from there on, as are revisions of other processes; for an earlier revision, the later ones are
taken back.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import pyoxigraph as ox

from worlds.graph.lexical import LexicalForms
from worlds.graph.query.merging import Merging
from worlds.quads.dataset import own_graphs
from worlds.quads.dictionary import Dictionary, json_ids
from worlds.quads.rows import NO_QUADS, find_quads, rows_of
from worlds.revisions.history import History
from worlds.sparql.cache import reporting
from worlds.sparql.index import Place, Progress, SparqlIndex
from worlds.sql import statements
from worlds.sql.connection import Connection

_SQL = statements("queries.sql")
_KEPT = 3  # earlier revisions


def sparql_index_of(connection: Connection, dictionary: Dictionary, place: Place | SparqlIndex) -> SparqlIndex:
    """The index of a world in some place, or that of a copy, by the index of the world that was copied."""
    if isinstance(place, SparqlIndex):
        return CopiedIndex(connection, dictionary, place)
    return SparqlIndex(connection, dictionary, place)


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
    """The index of a revision: taken from the world's own, in which what came since is taken back."""

    def __init__(
        self, connection: Connection, dictionary: Dictionary, origin: SparqlIndex, history: History, revision: int
    ) -> None:
        super().__init__(connection, dictionary, "memory")
        self._origin = origin
        self._history = history
        self._at_revision = revision
        self._lost = NO_QUADS  # that held then, and were removed since
        self.merged = Merging()
        self.users = 0

    def asked_of(self) -> tuple[ox.Store, LexicalForms, Merging] | None:
        """What is asked; None where reading the revision's quads is quicker."""
        if self._store is None:
            with self._connection.snapshot(), reporting("it cannot be used"):
                self._take_back()
        return None if self._store is None else (self._store, self.forms, self.merged)

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
        statement = _SQL["markers_until"]
        rows = self._connection.rows(statement, statement.bind(revision=self._at_revision))
        own = own_graphs(self._dictionary)
        lost = self._lost[self._lost[:, 0] == 0, 3].tolist()
        return {number for number in (*(graph for (graph,) in rows), *lost) if number not in own}

    def _is_used(self, terms: Sequence[Any]) -> list[bool]:
        numbers = self._dictionary.find(terms)
        known = json_ids([number for number in numbers if number is not None])
        statement = _SQL["objects_until"]
        rows = self._connection.rows(statement, statement.bind(ids_json=known, revision=self._at_revision))
        used = {number for (number,) in rows} | set(self._lost[self._lost[:, 0] > 0, 2].tolist())
        return [number in used for number in numbers]

    def held(self, quads: list[ox.Quad]) -> list[int]:
        """Positions of the quads that held then."""
        lost = set(map(tuple, self._lost.tolist()))
        ids = rows_of(self._dictionary, quads)
        found = {at for at, _, revision in find_quads(self._connection, ids) if revision <= self._at_revision}
        return [at for at, row in enumerate(ids.tolist()) if at in found or tuple(row) in lost]


class Earlier:
    """The indexes of the revisions that were asked last: a few are kept, the others are deleted."""

    def __init__(self, connection: Connection, dictionary: Dictionary, origin: SparqlIndex, history: History) -> None:
        self._parts = connection, dictionary, origin, history
        self._connection = connection
        self._kept: dict[int, EarlierIndex] = {}
        self._since: object = None

    @contextlib.contextmanager
    def of(self, revision: int) -> Iterator[tuple[ox.Store, LexicalForms, Merging] | None]:
        """What a query of a revision is asked of, in the block; None where reading its quads is quicker."""
        with self._connection.lock:
            since = tuple(map(self._connection.meta, ("created", "history_from", "purges", "term_removals")))
            if since != self._since:
                self.close()
                self._since = since
            index = self._kept.pop(revision, None) or EarlierIndex(*self._parts, revision)
            self._kept[revision] = index  # the newest last
            index.users += 1
            found = index.asked_of()
        try:
            yield found
        finally:
            with self._connection.lock:
                index.users -= 1
                old = [one for one in list(self._kept)[:-_KEPT] if not self._kept[one].users]
                for number in old:
                    self._kept.pop(number).drop()

    def close(self) -> None:
        """Delete all that nobody asks."""
        for number in [number for number, index in self._kept.items() if not index.users]:
            self._kept.pop(number).drop()
