"""The ledger of `sources.add_document`: the quads that it wrote of each document, and replaces when it comes again."""

from __future__ import annotations

import numpy as np

from worlds.core.quads.dictionary import Ids, json_ids
from worlds.core.quads.rows import NO_QUADS, difference, find_quads
from worlds.sql import statements
from worlds.sql.connection import Connection

_SQL = statements("documents.sql")
_KEPT = 1000  # quads of one document's versions; with more, the oldest are no longer known as its own


class Ledger:
    """The ledger of one world.

    It knows every version's quads, not only the last one's: an undo brings earlier ones back.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def replaced(self, quads: Ids) -> Ids:
        """The quads, int64 [n, 4], that a new version's quads replace."""
        return difference(self._earlier(quads), quads)

    def note(self, quads: Ids) -> None:
        """Record the quads of a version before they are written, except quads that others wrote already."""
        if not len(quads):
            return
        new = difference(quads, self._earlier(quads))
        others = new[[position for position, _, _ in find_quads(self._connection, new)]]
        own = difference(quads, others)
        document = {"subject": int(quads[0, 0]), "graph": int(quads[0, 3])}
        pairs_json = json_ids(own[:, 1] << 32 | own[:, 2])
        self._connection.run(_SQL["note"], _SQL["note"].bind(pairs_json=pairs_json, **document))
        kept = max(_KEPT, len(quads))
        self._connection.run(_SQL["forget_oldest"], _SQL["forget_oldest"].bind(kept=kept, **document))

    def _earlier(self, quads: Ids) -> Ids:
        """The quads of all versions of the document that `quads` are of."""
        if not len(quads):
            return NO_QUADS
        subject, graph = int(quads[0, 0]), int(quads[0, 3])
        written = self._connection.table(_SQL["written"], (subject, graph))
        return np.column_stack([np.full(len(written), subject), written, np.full(len(written), graph)])
