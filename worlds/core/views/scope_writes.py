"""How a scope writes: each revision is tried on its slice, and what came of it is written in the world."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyoxigraph as ox

from worlds.core.core import Core
from worlds.core.history.diff import Diff
from worlds.core.history.pending_changes import ProposalStore
from worlds.core.history.writer import Progress, Writer, Writing
from worlds.core.quads.dictionary import DEFAULT_GRAPH, DEFAULT_GRAPH_ID, Ids
from worlds.core.quads.interner import Interner
from worlds.core.quads.rows import NO_QUADS, distinct
from worlds.core.views.slice import Slice
from worlds.graph.blanknodes import blank_nodes, renamed


class ScopedWriter(Writer):
    """A writer that tries each revision on the slice, then writes its outcome to the world, under the write lock."""

    def __init__(self, world: Core, own: Core, slice: Slice) -> None:
        self._world = world
        self._own = own
        self._slice = slice
        self._parts = own.writer
        self._gate = own.gate
        self._whole = own.writer.rehearsing(self._note)
        self._net: tuple[Ids, Ids] = (NO_QUADS, NO_QUADS)  # by the world's ids

    @property
    def waiting(self) -> ProposalStore:
        """The store of the world's proposals."""
        return self._world.writer.waiting

    @contextlib.contextmanager
    def revision(
        self,
        *,
        author: str | None = None,
        message: str | None = None,
        embed: bool = False,
        progress: Progress | None = None,
        undoes: int | None = None,
        dry_run: bool = False,
        base: int | None = None,
        guard: Any = None,
    ) -> Iterator[Writing]:
        """A revision of the world that touches the scope's graphs alone; see `Writer.revision`."""
        if self.writing:
            with self._parts.revision(dry_run=dry_run, guard=guard) as writing:
                yield writing
            return
        with (
            self._own.connection.lock,
            self._world.gate.within(self._slice.require),
            self._world.writer.revision(
                author=author, message=message, embed=embed, progress=progress, undoes=undoes, dry_run=dry_run,
                guard=guard,
            ) as outer,
        ):  # fmt: skip
            with self._whole.revision(author=author, message=message, dry_run=True, base=base) as writing:
                yield writing
            outer.sign(*writing.signed)
            outer.looks_ahead(writing.ahead)
            outer.apply(*self._net)
        writing.change = outer.change

    def _note(self, added: Ids, removed: Ids) -> Diff:
        """Record the difference of the slice's open write, in the world's ids."""
        numbers = distinct(np.concatenate([added.ravel(), removed.ravel()]))
        terms = self._own.dictionary.terms(numbers.tolist())
        names = self._strangers([terms[number] for number in numbers.tolist() if number > self._slice.last_term])
        interner = Interner(self._world.connection, self._world.dictionary, rename_blank_nodes=False)
        graph: Any = DEFAULT_GRAPH if self._slice.single is None else self._slice.single
        local = [interner.local(renamed(terms[number], names)) for number in numbers.tolist()]
        ids = interner.resolve(np.array([*local, interner.local(graph)], dtype=np.int64))
        came, went = (ids[np.searchsorted(numbers, quads)] for quads in (added, removed))
        for quads in (came, went):
            quads[quads[:, 3] == DEFAULT_GRAPH_ID, 3] = ids[-1]
        self._net = came, went
        return Diff(self._own.dictionary, 0, 0, NO_QUADS, NO_QUADS, {})

    def _strangers(self, new: list[Any]) -> dict[ox.BlankNode, ox.BlankNode]:
        """Other names for new blank nodes whose label a node outside of the scope has."""
        nodes = sorted({node for term in new for node in blank_nodes(term)}, key=str)
        found = self._world.dictionary.find(nodes)
        own = self._own.dictionary.find(nodes)
        return {
            node: ox.BlankNode()
            for node, there, here in zip(nodes, found, own, strict=True)
            if there is not None and (here is None or here > self._slice.last_term)
        }
