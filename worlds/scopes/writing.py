"""How a scope writes: each revision is tried on its slice, and what came of it is written in the world."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyoxigraph as ox

from worlds.graph.blanknodes import blank_nodes, renamed
from worlds.quads.dictionary import DEFAULT_GRAPH, DEFAULT_GRAPH_ID, Ids
from worlds.quads.interner import Interner
from worlds.quads.rows import NO_QUADS, distinct
from worlds.revisions.diff import Diff
from worlds.revisions.waiting import Waiting
from worlds.revisions.writer import Progress, Writer, Writing
from worlds.scopes.slice import Slice
from worlds.verbs.parts import Parts


class ScopedWriter(Writer):
    """Tries each revision on the slice, and has the world write what came of it, while nobody else may write."""

    def __init__(self, world: Parts, own: Parts, slice: Slice) -> None:
        self._world = world
        self._own = own
        self._slice = slice
        self._parts = own._writer
        self._gate = own._gate
        self._whole = own._writer.rehearsing(self._note)
        self._net: tuple[Ids, Ids] = (NO_QUADS, NO_QUADS)  # by the world's ids

    @property
    def waiting(self) -> Waiting:
        """What keeps the proposals of the world."""
        return self._world._writer.waiting

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
            self._own._connection.lock,
            self._world._gate.within(self._slice.require),
            self._world._writer.revision(
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
        """Note what the slice's open write comes to, by the world's ids."""
        numbers = distinct(np.concatenate([added.ravel(), removed.ravel()]))
        terms = self._own._dictionary.terms(numbers.tolist())
        names = self._strangers([terms[number] for number in numbers.tolist() if number > self._slice.last_term])
        interner = Interner(self._world._connection, self._world._dictionary, rename_blank_nodes=False)
        graph: Any = DEFAULT_GRAPH if self._slice.single is None else self._slice.single
        local = [interner.local(renamed(terms[number], names)) for number in numbers.tolist()]
        ids = interner.resolve(np.array([*local, interner.local(graph)], dtype=np.int64))
        came, went = (ids[np.searchsorted(numbers, quads)] for quads in (added, removed))
        for quads in (came, went):
            quads[quads[:, 3] == DEFAULT_GRAPH_ID, 3] = ids[-1]
        self._net = came, went
        return Diff(self._own._dictionary, 0, 0, NO_QUADS, NO_QUADS, {})

    def _strangers(self, new: list[Any]) -> dict[ox.BlankNode, ox.BlankNode]:
        """Other names for new blank nodes whose label a node outside of the scope has."""
        nodes = sorted({node for term in new for node in blank_nodes(term)}, key=str)
        found = self._world._dictionary.find(nodes)
        own = self._own._dictionary.find(nodes)
        return {
            node: ox.BlankNode()
            for node, there, here in zip(nodes, found, own, strict=True)
            if there is not None and (here is None or here > self._slice.last_term)
        }
