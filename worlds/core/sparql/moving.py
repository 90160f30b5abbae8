"""The way of the SPARQL index from disk to memory."""

from __future__ import annotations

import itertools
import time

import pyoxigraph as ox

SLICE = 0.1  # seconds of one query that go to the move, at most, and no more than queries took since the last slice
AT_ONCE = 5000  # quads that are moved between two looks at the clock


class IndexMove:
    """The way of a store from disk to memory, a slice at a time, while the store goes on changing."""

    def __init__(self, store: ox.Store) -> None:
        self.memory = ox.Store()
        self.done = 0
        self._quads = iter(store)  # as they are now, whatever becomes of the store
        self._since: list[tuple[list[ox.Quad], list[ox.Quad]]] = []

    def follow(self, removed: list[ox.Quad], added: list[ox.Quad]) -> None:
        """Record a change of the store."""
        self._since.append((removed, added))

    def go_on(self, asked: float) -> bool:
        """Copy the next slice, after queries of so many seconds; True if it was the last: both stores are equal."""
        end = time.perf_counter() + min(SLICE, asked)
        while quads := list(itertools.islice(self._quads, AT_ONCE)):
            self.memory.bulk_extend(quads)
            self.done += len(quads)
            if len(quads) == AT_ONCE and time.perf_counter() > end:
                return False
        for removed, added in self._since:
            for quad in removed:
                self.memory.remove(quad)
            self.memory.extend(added)
        return True
