"""Inserts quads by predicate and graph."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

from worlds.core.quads.dictionary import Ids
from worlds.core.quads.rows import in_storing_order
from worlds.sql import statements
from worlds.sql.connection import Connection

_SQL = statements("queries.sql")
_PAIRS = 20_000  # pairs a statement


def insert(connection: Connection, quads: Ids, revision: int, report: Callable[[int], None] | None = None) -> None:
    """Insert by predicate and graph, so that a pair of integers stands for a quad."""
    if not len(quads):
        return
    quads = in_storing_order(quads)
    pairs = quads[:, 0] << 32 | quads[:, 2]
    groups = quads[:, [1, 3]]
    starts = [0, *(np.flatnonzero((groups[1:] != groups[:-1]).any(axis=1)) + 1).tolist()]
    statement = _SQL["insert_quads"]
    for start, end in itertools.pairwise([*starts, len(quads)]):
        predicate, graph = int(quads[start, 1]), int(quads[start, 3])
        for at in range(start, end, _PAIRS):
            connection.run(
                statement,
                statement.bind(
                    pairs_json=str(pairs[at : min(end, at + _PAIRS)].tolist()),
                    predicate=predicate,
                    graph=graph,
                    revision=revision,
                ),
            )
            if report is not None:
                report(min(end, at + _PAIRS))
