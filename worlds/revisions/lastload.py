"""Remembers what a graph was loaded with last, so that a world's own edits since can be told, and kept."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable

import numpy as np
import pyoxigraph as ox

from worlds.graph.patches import read_patch, write_patch
from worlds.quads.dictionary import Dictionary, Ids
from worlds.quads.reader import quad_ids
from worlds.quads.rows import NO_QUADS, decoded, difference, distinct
from worlds.revisions.history import NEVER, History
from worlds.sql import statements
from worlds.sql.connection import Connection

_SQL = statements("queries.sql")
_NAME = "load of graph {}"  # in the table meta


class LastLoads:
    """What the graphs of one world were loaded with last."""

    def __init__(self, connection: Connection, dictionary: Dictionary, history: History) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self._history = history

    def base(self, graphs: Iterable[int], held: Ids) -> Ids | None:
        """The quads of the documents that graphs were loaded with last; `held` are those of now, int64 [n, 4].

        None where it is not known of one that has quads: it was never loaded so, or that is forgotten.
        """
        found = [NO_QUADS]
        for graph in graphs:
            here = held[held[:, 3] == graph]
            kept = self._connection.setting(_NAME.format(graph), json.loads)
            if kept is None:
                if len(here):
                    return None
                continue
            revision = kept["revision"]
            if revision < self._history.first - 1:
                return None
            since = self._history.held(revision, NEVER)[:, :4]
            gone = self._history.gone(revision, revision)[:, :4]
            then = np.concatenate([difference(here, since[since[:, 3] == graph]), gone[gone[:, 3] == graph]])
            own, lost = self._edits(kept["edits"])
            found.append(np.concatenate([difference(then[then[:, 0] != 0], own), difference(lost, then)]))
        return np.concatenate(found)

    def _edits(self, patch: str) -> tuple[Ids, Ids]:
        rows = [row for row in read_patch(io.BytesIO(patch.encode()), "edits") if row.quad is not None]
        added, removed = (
            quad_ids(self._connection, self._dictionary, [row.quad for row in rows if row.quad and row.code == code])
            for code in ("A", "D")
        )
        return added, removed

    def note(self, graphs: Iterable[int], quads: Ids, held: Ids, revision: int) -> None:
        """Remember that graphs were loaded with `quads`, after which, by a revision, they hold `held`."""
        for graph in graphs:
            document, now = (rows[rows[:, 3] == graph] for rows in (quads, held))
            edited = difference(now, document), difference(document, now)
            added, removed = (list(self._decoded(rows)) for rows in edited)
            edits = "".join(write_patch(removed, added, {})) if added or removed else ""
            stored = json.dumps({"revision": revision, "edits": edits}, ensure_ascii=False)
            name = _NAME.format(graph)
            if self._connection.meta(name) != stored:
                with self._connection.transaction():
                    self._connection.run(_SQL["set_meta"], (name, stored))

    def _decoded(self, rows: Ids) -> Iterable[ox.Quad]:
        return decoded(rows, self._dictionary.terms(distinct(rows.ravel()).tolist()))
