"""Quads written to files and streams, in any format, as of one snapshot or of the past."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping
from typing import BinaryIO, cast

import numpy as np
import pyoxigraph as ox

from worlds.core.quads.dictionary import DEFAULT_GRAPH_ID, Dictionary, Ids
from worlds.core.quads.rows import NO_QUADS
from worlds.errors import IntegrityError
from worlds.graph.formats import FORMATS, find_format, serialize
from worlds.graph.targets import compressing, file_name, format_of, replacing
from worlds.graph.terms import GraphName
from worlds.sql import statements
from worlds.sql.connection import Connection

_QUERIES = statements("queries.sql")
_SQL = statements("maintenance.sql")
_BLOCK = 20_000  # quads whose terms are decoded together
_LAST_ID = 2**31 - 1
_COMPRESSIONS = (".gz", ".bz2", ".zst")


def export(
    connection: Connection,
    dictionary: Dictionary,
    target: str | os.PathLike[str] | BinaryIO,
    format: str | None,
    graph: GraphName | None,
    prefixes: Mapping[str, str],
    *,
    past: Ids | None = None,
) -> int:
    """Write the quads of one snapshot, all or one graph's, and give their number; see `World.export`.

    `past`, int64 [n, 4], are quads to write in the place of those that hold now. Terms are decoded block by block.
    Formats that group quads by graph need 32 bytes of memory for each quad of the largest named graph.
    """
    stream = target if hasattr(target, "write") else None
    name = "" if stream is not None else file_name(target)
    own = None if connection.file == ":memory:" else connection.file
    refuse_own(connection, name)
    found = FORMATS[format_of(name)] if format is None else find_format(format)
    with connection.snapshot():
        if graph is None and not found.graphs and _has_named_graphs(connection, past):
            raise ValueError(
                f"{found.name} cannot hold the named graphs of this world: name one by the option graph ('default' is "
                "the default graph), or use trig, nq or jsonld"
            )
        if graph is not None:
            number = _graph_id(connection, dictionary, graph, past)
            blocks = _blocks_of_graph(connection, number) if past is None else _sorted([past[past[:, 3] == number]])
        elif past is not None:
            blocks = _sorted([past])
        elif found.name == "nq":
            blocks = _blocks(connection, "quads_by_subject")
        else:
            blocks = _blocks_by_graph(connection)
        quads = _Quads(dictionary, blocks, graphs=graph is None)
        if stream is not None:
            serialize(quads, cast(BinaryIO, stream), found.name, prefixes)
        else:
            with replacing(name, like=own) as out, compressing(out, name) as packed:
                serialize(quads, packed, found.name, prefixes)
        return quads.count


def refuse_own(connection: Connection, name: str) -> None:
    """ValueError for the name of the world's own file, or of a file beside it."""
    own = "" if connection.file == ":memory:" else connection.file
    if name and own and os.path.realpath(name) in {os.path.realpath(own + end) for end in ("", "-wal", "-shm")}:
        raise ValueError(f"{name} is the world itself; choose another name for the export")


def _graph_id(connection: Connection, dictionary: Dictionary, graph: GraphName, past: Ids | None) -> int:
    """The id of a graph that exists now, or in the past; ValueError."""
    if isinstance(graph, ox.DefaultGraph):
        return DEFAULT_GRAPH_ID
    number = dictionary.find([graph])[0]
    if number is not None and past is not None and (past[:, 3] == number).any():
        return number
    if number is None or past is not None or connection.row(_QUERIES["graph_exists"], (number,)) is None:
        raise ValueError(f"there is no graph {graph} to export")
    return number


def _has_named_graphs(connection: Connection, past: Ids | None) -> bool:
    return connection.row(_SQL["any_named_graph"]) is not None if past is None else bool(past[:, 3].any())


class _Quads:
    """The quads of blocks of term ids, decoded, and counted as they are taken."""

    def __init__(self, dictionary: Dictionary, blocks: Iterator[Ids], *, graphs: bool) -> None:
        self._dictionary = dictionary
        self._blocks = blocks
        self._graphs = graphs
        self.count = 0

    def __iter__(self) -> Iterator[ox.Quad]:
        return itertools.chain.from_iterable(map(self._decoded, self._blocks))

    def _decoded(self, block: Ids) -> Iterator[ox.Quad]:
        self.count += len(block)
        if not self._graphs:
            block[:, 3] = DEFAULT_GRAPH_ID
        terms = self._dictionary.terms(np.unique(block).tolist())
        subjects, predicates, objects, graphs = (map(terms.__getitem__, column.tolist()) for column in block.T)
        return map(ox.Quad, subjects, predicates, objects, graphs)


def _blocks(connection: Connection, name: str) -> Iterator[Ids]:
    """Blocks int64 [n, 4] by subject, of a statement that pages by the last quad."""
    statement = _SQL[name]
    last = (-1, -1, -1, -1)
    while True:
        values = dict(zip(("subject", "predicate", "object", "graph"), last, strict=True))
        block = connection.table(statement, statement.bind(**values, limit=_BLOCK))
        if not len(block):
            return
        before, last = last, tuple(block[-1].tolist())
        _require_order(before, last)
        yield block


def _require_order(before: tuple[int, ...], last: tuple[int, ...]) -> None:
    """IntegrityError unless a page ends beyond the one before: paging in a damaged file would never end."""
    if last <= before:
        raise IntegrityError("the file is damaged, its rows are not in order: restore a backup")


def _blocks_by_graph(connection: Connection) -> Iterator[Ids]:
    """Blocks by graph and subject: the default graph, then the named ones."""
    yield from _blocks(connection, "default_quads_by_subject")
    yield from _named(connection, 0, _LAST_ID)


def _blocks_of_graph(connection: Connection, graph: int) -> Iterator[Ids]:
    """Blocks by subject, of one graph."""
    if graph == DEFAULT_GRAPH_ID:
        return _blocks(connection, "default_quads_by_subject")
    return _named(connection, graph, graph)


def _named(connection: Connection, first: int, last: int) -> Iterator[Ids]:
    """Blocks by graph and subject, of the named graphs from id `first` to id `last`.

    The index has a graph's quads as they were added; they are collected and sorted by subject, for a short file.
    """
    statement = _SQL["quads_by_graph"]
    held: list[Ids] = []
    graph, after = first, 0
    while True:
        values = {"graph": graph, "after": after, "last": last, "limit": _BLOCK}
        last_id, block = connection.page(statement, statement.bind(**values))
        if last_id is None:
            break
        _require_order((graph, after), (int(block[-1, 3]), last_id))
        graph, after = int(block[-1, 3]), last_id
        begun = int(np.searchsorted(block[:, 3], graph))
        if begun:
            yield from _sorted([*held, block[:begun]])
            held.clear()
        held.append(block[begun:])
    yield from _sorted(held)


def _sorted(blocks: list[Ids]) -> Iterator[Ids]:
    quads = np.concatenate([NO_QUADS, *blocks])
    order = np.lexsort((quads[:, 2], quads[:, 1], quads[:, 0], quads[:, 3]))
    for start in range(0, len(quads), _BLOCK):
        yield quads[order[start : start + _BLOCK]]
