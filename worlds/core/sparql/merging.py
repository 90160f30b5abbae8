"""The graphs of a world merged into one default graph in memory, where there is memory for it."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pyoxigraph as ox

from worlds.core.quads.dictionary import DEFAULT_GRAPH_ID, Dictionary, json_ids
from worlds.errors import QueryError
from worlds.graph.lexical import LexicalForms
from worlds.graph.query.default_graph import Graphs, MergedStores
from worlds.graph.query.query import Query
from worlds.sql import statements
from worlds.sql.connection import Connection

if sys.platform != "win32":
    import resource
_SQL = statements("queries.sql")
_SMALL = 100_000  # quads: the graphs of a smaller world are merged at once, since a union of many graphs is slow
_QUAD = 1000  # bytes in memory, in the default graph and in its own


def room() -> int:
    """Bytes that the machine has free for programs, and this process may take; 0 where nobody says."""
    return min(_free(), _allowed())


def _free() -> int:
    try:
        for line in Path("/proc/meminfo").read_text("ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return 0


def _allowed() -> int:
    """Bytes left below RLIMIT_DATA, which the server sets while a request is answered."""
    if sys.platform == "win32":
        return 0
    limit = resource.getrlimit(resource.RLIMIT_DATA)[0]
    if limit == resource.RLIM_INFINITY:
        return 2**62
    try:
        held = next(
            int(line.split()[1]) * 1024
            for line in Path("/proc/self/status").read_text("ascii").splitlines()
            if line.startswith("VmData:")
        )
    except (OSError, StopIteration):
        return 0
    return max(limit - held, 0)


class Index(Protocol):
    """The index that is merged: how many quads it has, and the forms of its literals."""

    forms: LexicalForms

    @property
    def count(self) -> int:
        """Quads in it."""


class WorldMerging(MergedStores):
    """The merged stores of a world's index."""

    def __init__(self, connection: Connection, dictionary: Dictionary, index: Index) -> None:
        super().__init__()
        self._connection = connection
        self._dictionary = dictionary
        self._index = index
        self._astray = 0

    @contextlib.contextmanager
    def astray(self) -> Iterator[None]:
        """Mark the index, in the block, as different from the file."""
        self._astray += 1
        try:
            yield
        finally:
            self._astray -= 1
            self.clear()

    def seen(self, store: ox.Store, query: Query) -> tuple[ox.Store, Query]:
        """The store to ask, and the query for it."""
        if self._astray:
            self.clear()
        return super().seen(store, query)

    def wanted(self, store: ox.Store, graphs: Graphs) -> bool:
        """Whether a triple stands in several graphs, or the world is small; QueryError where there is no room then."""
        small = self._index.count <= _SMALL
        if small and graphs is None:
            return True
        if not self._repeats(store, graphs):
            return False
        if not small and 0 < (free := room()) < self._index.count * _QUAD:
            told = (
                "a triple stands in several of the graphs that are to be one, and to merge them needs more memory than"
            )
            raise QueryError(f"{told} the {free:,} bytes that are free", kind="memory")
        return True

    def _repeats(self, store: ox.Store, graphs: Graphs) -> bool:
        if self._astray or self._index.forms:  # of one value, two forms make one triple
            return super().wanted(store, graphs)
        ids = None
        if graphs is not None:
            named = [graph for graph in graphs if not isinstance(graph, ox.DefaultGraph)]
            found = [number for number in self._dictionary.find(named) if number is not None]
            ids = json_ids([*found, *([DEFAULT_GRAPH_ID] if len(named) < len(graphs) else [])])
        return bool(self._connection.value(_SQL["triple_repeats"], (ids,)))
