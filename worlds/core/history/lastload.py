"""Remembers what a graph was loaded with last, so that a world's own edits since can be told, and kept."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Collection, Iterable

import numpy as np
import pyoxigraph as ox

from worlds.core.history.history import NEVER, History
from worlds.core.quads.dictionary import Dictionary, Ids
from worlds.core.quads.reader import quad_ids
from worlds.core.quads.rows import NO_QUADS, decoded, difference, distinct
from worlds.graph.patches import read_patch, write_patch
from worlds.sql import statements
from worlds.sql.connection import Connection

_SQL = statements("queries.sql")
_NAME = "load of graph {}"  # in the table meta
_MOST = 100  # graphs of one load that are remembered


class LastLoads:
    """The documents that the graphs of one world were loaded with last."""

    def __init__(self, connection: Connection, dictionary: Dictionary, history: History) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self._history = history

    def base(self, graphs: Collection[int], held: Ids, given: Callable[[Ids], Ids]) -> Ids | None:
        """The quads of the documents that graphs were loaded with last; `held` are those of now, int64 [n, 4].

        `given` tells how quads came that stand under the names that merges kept, as `held` has them.

        It is `held` itself where nothing was edited since. None where it is not known of a graph that has quads: it was
        never loaded so, or that is forgotten.
        """
        found: list[Ids] = []
        edited = False
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
            since, gone = self._history.held(revision, NEVER)[:, :4], self._history.gone(revision, revision)[:, :4]
            since, gone = since[since[:, 3] == graph], gone[(gone[:, 3] == graph) & (gone[:, 0] != 0)]
            own, lost = self._edits(kept["edits"])
            edited = edited or any(map(len, (since, gone, own, lost)))
            kept_here = difference(here, given(since))
            then = np.concatenate([kept_here, difference(gone, kept_here)])
            found.append(np.concatenate([difference(then, own), difference(lost, then)]))
        return np.concatenate([NO_QUADS, *found]) if edited else held

    def _edits(self, patch: str) -> tuple[Ids, Ids]:
        rows = [row for row in read_patch(io.BytesIO(patch.encode()), "edits") if row.quad is not None]
        added, removed = (
            quad_ids(self._connection, self._dictionary, [row.quad for row in rows if row.quad and row.code == code])
            for code in ("A", "D")
        )
        return added, removed

    def note(self, graphs: Collection[int], quads: Ids, held: Ids, revision: int) -> None:
        """Remember that graphs were loaded with `quads`, after which, by a revision, they hold `held`.

        Not of a load that fills more than a hundred graphs.
        """
        if len(graphs) > _MOST:
            return
        own, lost = difference(held, quads), difference(quads, held)
        for graph in graphs:
            name = _NAME.format(graph)
            edits = "".join(self._patch(*(rows[rows[:, 3] == graph] for rows in (lost, own))))
            before = self._connection.setting(name, json.loads) or {}
            if before.get("edits") != edits or self._edited(graph, before.get("revision", 0), revision):
                stored = json.dumps({"revision": revision, "edits": edits}, ensure_ascii=False)
                self._connection.run(_SQL["set_meta"], (name, stored))

    def _edited(self, graph: int, after: int, last: int) -> bool:
        """Whether a graph is not as it was after a revision; a new setting makes others read the file anew."""
        if after == last:
            return False
        if not self._history.first - 1 <= after:
            return True
        rows = self._history.held(after, NEVER)[:, 3], self._history.gone(after, after)[:, 3]
        return any(bool((column == graph).any()) for column in rows)

    def _patch(self, removed: Ids, added: Ids) -> Iterable[str]:
        return write_patch(self._decoded(removed), self._decoded(added), {}) if len(removed) or len(added) else ()

    def _decoded(self, rows: Ids) -> Iterable[ox.Quad]:
        return decoded(rows, self._dictionary.terms(distinct(rows.ravel()).tolist()))
