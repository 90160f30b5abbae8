"""Quads as arrays of term ids, int64 [n, 4]: subject, predicate, object, graph.

A named graph that was created, and exists also while it is empty, is a marker: the row (0, 0, 0, graph). Markers are
written, kept in history and undone as quads are; `read_quads` leaves them out unless asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyoxigraph as ox

from worlds.core.quads.dictionary import DEFAULT_GRAPH_ID, Dictionary, Ids
from worlds.errors import IntegrityError
from worlds.sql import statements
from worlds.sql.connection import Connection

_SQL = statements("queries.sql")
BLOCK = 50_000  # rows read at a time
_SOUGHT = 5000  # rows a statement

NO_QUADS: Ids = np.empty((0, 4), dtype=np.int64)


def distinct(ids: Ids) -> Ids:
    """The distinct ids, ascending; by sorting, which takes a tenth of the time of np.unique."""
    if len(ids) < 2:
        return ids
    ids = np.sort(ids)
    fresh = np.empty(len(ids), dtype=bool)
    fresh[0] = True
    np.not_equal(ids[1:], ids[:-1], out=fresh[1:])
    found: Ids = ids[fresh]
    return found


def unique_quads(quads: Ids) -> Ids:
    """The distinct rows of int64 [n, 4], sorted."""
    if len(quads) < 2:
        return quads
    quads = quads[np.lexsort((quads[:, 3], quads[:, 2], quads[:, 1], quads[:, 0]))]
    found: Ids = quads[np.append(True, np.any(quads[1:] != quads[:-1], axis=1))]
    return found


def in_storing_order(quads: Ids) -> Ids:
    """The distinct rows of int64 [n, 4] of ids below 2^32, by graph, predicate, object and subject: as rows are stored.

    Two of the indexes that are made of the rows afterwards then find them in order, which spares half of their time.
    """
    if len(quads) < 2:
        return quads
    groups, pairs = quads[:, 3] << 32 | quads[:, 1], quads[:, 2] << 32 | quads[:, 0]
    kinds = np.unique(groups)
    group = np.searchsorted(kinds, groups).astype(np.uint16 if len(kinds) < 1 << 16 else np.int64)
    order = np.argsort(pairs)  # quicker than np.lexsort of both, and so is sorting small numbers after it
    order = order[np.argsort(group[order], kind="stable")]
    group, pairs = group[order], pairs[order]
    found: Ids = quads[order[np.append(True, (group[1:] != group[:-1]) | (pairs[1:] != pairs[:-1]))]]
    return found


def difference(quads: Ids, others: Ids) -> Ids:
    """The rows of `quads` that are not rows of `others`; both int64 [n, 4] of distinct rows."""
    if not len(quads) or not len(others):
        return quads
    both = np.concatenate([quads, others])
    order = np.lexsort((both[:, 3], both[:, 2], both[:, 1], both[:, 0]))
    ordered = both[order]
    same = np.append(np.all(np.diff(ordered, axis=0) == 0, axis=1), False)
    # lexsort is stable: of two equal rows the one of `quads` comes first
    return np.delete(quads, order[same], axis=0)


def find_quads(connection: Connection, quads: Ids) -> Iterator[tuple[int, int, int]]:
    """(position in `quads`, quad id, revision that added it) of the stored quads among `quads`, int64 [n, 4]."""
    for start in range(0, len(quads), _SOUGHT):
        rows_json = str(quads[start : start + _SOUGHT].tolist())
        for position, number, revision in connection.rows(_SQL["find_quads"], (rows_json,)):
            yield start + int(position), number, revision


def marker(graph: int) -> Ids:
    """The row that marks a named graph as existing, int64 [1, 4]."""
    return np.array([[0, 0, 0, graph]], dtype=np.int64)


def read_quads(
    connection: Connection, name: str, *, after: int = 0, markers: bool = False, **parameters: int
) -> Iterator[Ids]:
    """Blocks int64 [n, 4] of the statement `name`, which pages by `after`."""
    statement = _SQL[name]
    while True:
        bound = statement.bind(after=after, limit=BLOCK, **parameters)
        last, block = connection.page(statement, bound, after=after)
        if last is None:
            return
        yield block if markers or block[:, 0].all() else block[block[:, 0] != 0]
        after = last


def decoded(ids: Ids, terms: Mapping[int, Any]) -> Iterator[ox.Quad]:
    """The quads of int64 [n, 4], markers left out; IntegrityError where `terms` lacks one."""
    quad = ox.Quad
    try:
        for s, p, o, g in ids.tolist():
            if s:
                yield quad(terms[s], terms[p], terms[o], terms[g])
    except (KeyError, TypeError) as error:
        raise IntegrityError(f"a quad refers to a term that is not stored, or cannot be there: {error}") from error


def quads_of(connection: Connection, dictionary: Dictionary, graph: int | None) -> Iterator[ox.Quad]:
    """The quads of a graph; none for None."""
    if graph is not None:
        for block in read_quads(connection, "quads_of_graph", graph=graph):
            yield from decoded(block, dictionary.terms(distinct(block.ravel()).tolist()))


def rows_of(dictionary: Dictionary, quads: list[ox.Quad]) -> Ids:
    """Quads as ids, int64 [n, 4]; -1 for a term that the world does not know."""
    terms = [term for quad in quads for term in (quad.subject, quad.predicate, quad.object, quad.graph_name)]
    named = [term for term in terms if not isinstance(term, ox.DefaultGraph)]
    ids: dict[Any, int] = {
        term: -1 if number is None else number for term, number in zip(named, dictionary.find(named), strict=True)
    }
    return np.array([ids.get(term, DEFAULT_GRAPH_ID) for term in terms], dtype=np.int64).reshape(-1, 4)


def stored(connection: Connection, dictionary: Dictionary, quads: list[ox.Quad]) -> list[int]:
    """Positions of the quads that the file has."""
    return [position for position, _, _ in find_quads(connection, rows_of(dictionary, quads))]
