"""The SPARQL index of a copy of a world: taken from the world's own index, then brought in step with the copy.

Where the world has a cache on disk, taking it is making hard links; else the store is copied in memory. What the
revisions of the copy have done besides is followed, as are those of other processes.
"""

from __future__ import annotations

import pyoxigraph as ox

from worlds.quads.dictionary import Dictionary
from worlds.sparql.cache import reporting
from worlds.sparql.index import Place, Progress, SparqlIndex
from worlds.sql import statements
from worlds.sql.connection import Connection

_SQL = statements("queries.sql")


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
