"""Quads in which one entity takes the place of others."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from worlds.core.quads.dictionary import Dictionary, Ids, batches
from worlds.core.quads.redirects import REDIRECTS
from worlds.core.quads.rows import NO_QUADS, unique_quads
from worlds.core.quads.substituting import substituted, triples_with
from worlds.sql import statements
from worlds.sql.connection import Connection

_QUERIES = statements("queries.sql")


class Rewriting:
    """Replaces other entities by one, given by id. Needs a transaction, as it may make triple terms."""

    def __init__(self, connection: Connection, dictionary: Dictionary, kept: int, others: Collection[int]) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self.kept = kept
        self.others: Ids = np.unique(np.array(list(others), dtype=np.int64))
        self.merged: Ids = np.union1d(self.others, [kept])
        self._graph = dictionary.find([REDIRECTS])[0] or -1

    def quads(self) -> Ids:
        """The quads that have one of the others anywhere, int64 [n, 4]; markers too."""
        statement = _QUERIES["quads_touching"]
        found = [NO_QUADS]
        for ids_json in batches(np.concatenate([self.others, triples_with(self._connection, self.others)])):
            found.append(self._connection.table(statement, statement.bind(ids_json=ids_json)))
        return unique_quads(np.concatenate(found))

    def rewritten(self, quads: Ids) -> Ids:
        """The quads as they are then, int64 [n, 4], row by row: all others replaced, but the subject of a redirect."""
        leads = dict.fromkeys(self.others.tolist(), self.kept)
        found = substituted(self._connection, self._dictionary, quads, leads)
        redirect = quads[:, 3] == self._graph
        found[redirect, 0] = quads[redirect, 0]
        return found
