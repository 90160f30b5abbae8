"""The SPARQL index of a world with its conclusions: the world's quads and what follows from them, each once.

It reads the world itself, so that a query needs no copy of the file. It is made of the world's own index, to which the
conclusions are added; where that is on disk, taking it is making hard links, and what was made is kept in generations
of its own, from which the next process goes on.
"""

from __future__ import annotations

import contextlib
from typing import Protocol

import numpy as np
import pyoxigraph as ox

from worlds.core.quads.dictionary import Dictionary, Ids
from worlds.core.quads.rows import NO_QUADS, decoded, difference, distinct, rows_of
from worlds.core.sparql.cache import Cache, reporting
from worlds.core.sparql.copied import StoreMerging
from worlds.core.sparql.index import Progress, SparqlIndex
from worlds.errors import WorldsError
from worlds.graph.lexical import is_by_value
from worlds.sql import statements
from worlds.sql.connection import Connection

_SQL = statements("queries.sql")
_FORGOTTEN = 10_000  # changes of conclusions, of which twice as many are kept


class Concluded(Protocol):
    """The conclusions of a world."""

    @property
    def change(self) -> str:
        """The state of the conclusions."""

    def changes(self, since: str) -> Ids | None:
        """The quads that came to follow or no longer did since a state, int64 [n, 4]; None where it is not known."""

    def all(self) -> Ids:
        """The conclusions, int64 [n, 4]."""

    def fresh(self, quads: Ids) -> Ids:
        """The quads that are neither written nor concluded."""


class EntailedIndex(SparqlIndex):
    """The index of a world with its conclusions. It follows no writes, but catches up when it is asked."""

    def __init__(
        self, connection: Connection, dictionary: Dictionary, origin: SparqlIndex, conclusions: Concluded
    ) -> None:
        """All are the world's: `origin` is its own index."""
        super().__init__(connection, dictionary, origin.place)
        self._origin = origin
        self._conclusions = conclusions
        self._uncertain = False  # whether an open transaction was followed, which may be undone
        self.merging = StoreMerging(connection, dictionary, self)

    @property
    def _cache(self) -> Cache:
        return Cache(self._connection.file, "entailed")

    @property
    def _worn(self) -> bool:
        return super()._worn or self._published > _FORGOTTEN

    def drop(self) -> None:
        """Forget the store; the next query makes it again."""
        with self._connection.lock:  # a view that is given back has its own
            super().drop()
            self._uncertain = False

    def close(self) -> None:
        """Leave a store on disk to the next process, if much changed in it."""
        with contextlib.suppress(WorldsError), self._connection.snapshot():
            self._catch_up()
            super().close()
        self.drop()

    def _catch_up(self) -> None:
        if self._uncertain:
            self.drop()
        super()._catch_up()
        if self._store is None:
            return
        if self._connection.in_transaction:
            self._uncertain = True
            self._read_since(self._revision)
        touched = self._conclusions.changes(self._mark)
        if touched is None:
            self.drop()
            return
        gone = self._conclusions.fresh(touched)
        if len(touched):
            self._apply(difference(touched, gone), gone)
        self._mark = self._conclusions.change

    def _open(self, progress: Progress | None) -> None:
        with reporting("it cannot be used"):
            if self.place != "memory" and self._take_from_cache():
                self._catch_up()
            if self._store is None and self._take_origin():
                self._conclude()
                if self.on_disk and not self._uncertain:
                    self._publish()
                    self._take_from_cache()
        if self._store is None:
            self._build(ox.Store(), self._connection.value(_SQL["count_quads"]), progress)
            self._mark, self._uncertain = self._conclusions.change, self._connection.in_transaction
            self._conclude()

    def _take_origin(self) -> bool:
        """Take the world's own index; whether there is one that leads to the world as it is."""
        if taken := self._origin.taken(self._is_used):
            self._take(taken)
            self._mark = self._conclusions.change
            self._catch_up()
        return self._store is not None

    def _conclude(self) -> None:
        """Add all conclusions, streamed except numbers and similar literals, of which a store has one form."""
        assert self._store is not None
        quads = self._seen(self._conclusions.all())
        terms = self._dictionary.terms(distinct(quads.ravel()).tolist())
        odd = np.isin(quads[:, 2], [number for number in distinct(quads[:, 2]).tolist() if is_by_value(terms[number])])
        self._store.bulk_extend(decoded(quads[~odd], terms))
        self._count += int((~odd).sum())
        self._apply(quads[odd], NO_QUADS)

    def _stored(self, quads: list[ox.Quad]) -> list[int]:
        rows = rows_of(self._dictionary, quads)
        unknown = set(map(tuple, self._conclusions.fresh(rows).tolist()))
        return [at for at, row in enumerate(rows.tolist()) if tuple(row) not in unknown]

    def compare(self) -> None:
        """Nothing: the world's own index is compared."""
