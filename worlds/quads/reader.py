"""Reads quads in bulk into arrays of term ids, for the gate to write."""

from __future__ import annotations

import gc
from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

import numpy as np
import pyoxigraph as ox

from worlds.graph.terms import GraphName
from worlds.quads.dictionary import Dictionary, Ids, Interner
from worlds.quads.rows import unique_quads
from worlds.sql.connection import Connection

_SLICE = 20_000  # quads between two reports of progress
_FLUSH = 100_000  # terms that wait for their ids
_REMEMBERED = 3_000_000  # terms kept in memory; beyond it the file is asked

QuadsRead = Callable[[int], None]


class Reader:
    """Collects the quads of one write."""

    def __init__(self, interner: Interner, *, graph: GraphName | None = None) -> None:
        self._interner = interner
        self._graph = graph
        self._numbers = array("q")
        self.count = 0

    def read(self, quads: Iterable[ox.Quad], report: QuadsRead | None = None) -> None:
        """Take in one document's quads; `report` is told how many have been read in all, now and then."""
        stream = iter(quads)
        interner = self._interner
        with _no_collection():
            while self._take(islice(stream, _SLICE)):
                if len(interner.pending) > _FLUSH:
                    interner.flush()
                    interner.trim(_REMEMBERED)
                if report:
                    report(self.count)

    def _take(self, quads: Iterator[ox.Quad]) -> int:
        # The hot loop of loading: no call but what the two libraries do themselves.
        known, local = self._interner.numbers.get, self._interner.local
        target = None if self._graph is None else local(self._graph)  # type: ignore[arg-type]  # known, if the default graph
        numbers: list[int] = []
        term: Any
        for quad in quads:
            term = quad.subject
            s = known(term)
            if s is None:
                s = local(term)
            term = quad.predicate
            p = known(term)
            if p is None:
                p = local(term)
            term = quad.object
            o = known(term)
            if o is None:
                o = local(term)
            if target is None:
                term = quad.graph_name
                g = known(term)
                if g is None:
                    g = local(term)
            else:
                g = target
            numbers += (s, p, o, g)
        self._numbers.extend(numbers)
        self.count += len(numbers) // 4
        return len(numbers)

    def quads(self) -> Ids:
        """The distinct quads read so far, int64 [n, 4] of term ids."""
        local = (
            np.frombuffer(self._numbers, dtype=np.int64).reshape(-1, 4) if self._numbers else np.empty((0, 4), np.int64)
        )
        return unique_quads(self._interner.resolve(local))


def quad_ids(connection: Connection, dictionary: Dictionary, quads: Iterable[ox.Quad]) -> Ids:
    """The distinct quads, int64 [n, 4] of term ids; new terms are stored, blank nodes keep their labels."""
    reader = Reader(Interner(connection, dictionary, rename_blank_nodes=False))
    reader.read(quads)
    return reader.quads()


@contextmanager
def _no_collection() -> Iterator[None]:
    """Pause the cyclic garbage collector: millions of terms, none in a cycle, make it a sixth of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
