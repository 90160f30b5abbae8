"""The SPARQL index: a pyoxigraph store that is derived from the quads and kept in step with their revisions.

It is built at the first query. libSQL stays the truth: dropping the store loses nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyoxigraph as ox

from worlds.dictionary import DEFAULT_GRAPH, DEFAULT_GRAPH_ID, Dictionary, Ids, implied_datatype
from worlds.errors import IntegrityError
from worlds.quads import NO_QUADS, read_quads
from worlds.sql import statements
from worlds.sql.connection import Connection

_SQL = statements("queries.sql")
_TERMS = 20_000  # rows read at a time
_REBUILD = 100_000  # quads: a smaller delta is always applied, not read anew

Progress = Callable[[int, int], None]  # (quads done, quads to do)


class SparqlIndex:
    """The pyoxigraph store of one world; an observer of its gate."""

    def __init__(self, connection: Connection, dictionary: Dictionary) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self._store: ox.Store | None = None
        self._revision = 0
        self._writing = False
        self._count = 0  # quads that the store stands for; its own len() reads them all
        self._dead = 0  # removed quads whose memory the store never gives back
        # The store takes "1" and "01" for one integer: its quads that stand for several, and for how many more.
        self._shared: Counter[ox.Quad] = Counter()

    def store(self, progress: Progress | None = None) -> ox.Store:
        """The store, agreeing with the file as it is now, other processes' writes and an open transaction included."""
        with self._connection.snapshot():
            if not self._writing:
                self._catch_up()
            if self._store is None or self._dead > max(self._count, _REBUILD):
                self._build(progress)
            assert self._store is not None
            return self._store

    def drop(self) -> None:
        """Forget the store; the next query builds it again."""
        self._store = None

    # -- the gate's observer --------------------------------------------------------------------------------------

    def begin(self) -> None:
        """A write begins."""
        self._catch_up()
        self._writing = True

    def apply(self, added: Ids, removed: Ids) -> None:
        """Follow a delta of the open transaction."""
        if self._store is None:
            return
        if len(added) > max(self._count, _REBUILD):
            self.drop()  # building is faster
            return
        self._apply(added, removed)

    def committed(self, revision: int) -> None:
        """The open transaction became this revision."""
        self._revision = revision

    def end(self) -> None:
        """The write is over, kept or not."""
        self._writing = False

    # -- its own --------------------------------------------------------------------------------------------------

    def _catch_up(self) -> None:
        """Read what other processes wrote since."""
        if self._store is None:
            return
        revision = self._connection.value(_SQL["last_revision"])
        if revision == self._revision:
            return
        if revision < self._revision:
            self.drop()  # another file has taken this one's place
            return
        since = self._revision
        for removed in read_quads(self._connection, "quads_removed_since", revision=since):
            self._apply(NO_QUADS, removed)
        first = self._connection.value(_SQL["first_quad_since"], (since,))
        for added in read_quads(self._connection, "quads_added_since", after=first - 1, revision=since):
            self._apply(added, NO_QUADS)
        self._revision = revision

    def _apply(self, added: Ids, removed: Ids) -> None:
        assert self._store is not None
        terms = self._dictionary.terms(np.unique(np.concatenate([added, removed])).tolist())
        for quad in self._quads(removed, terms):
            self._remove(quad)
        for graph in np.unique(removed[:, 3]).tolist():  # the store would keep it, empty
            if graph and next(self._store.quads_for_pattern(None, None, None, terms[graph]), None) is None:
                self._store.remove_graph(terms[graph])
        alike = []
        for quad in self._quads(added, terms):
            if _is_rewritten(quad.object):
                self._add(quad)
            else:
                alike.append(quad)
        self._store.extend(alike)
        self._count += len(added) - len(removed)
        self._dead += len(removed)

    def _add(self, quad: ox.Quad) -> None:
        assert self._store is not None
        if quad in self._store:
            self._shared[self._as_stored(quad)] += 1
        else:
            self._store.add(quad)

    def _remove(self, quad: ox.Quad) -> None:
        assert self._store is not None
        stored = self._as_stored(quad) if self._shared else quad
        if self._shared[stored]:
            self._shared[stored] -= 1
        else:
            self._store.remove(quad)

    def _as_stored(self, quad: ox.Quad) -> ox.Quad:
        assert self._store is not None
        return next(self._store.quads_for_pattern(quad.subject, quad.predicate, quad.object, quad.graph_name), quad)

    def _build(self, progress: Progress | None) -> None:
        connection = self._connection
        total = connection.value(_SQL["count_quads"]) if progress else 0
        self._store = None
        terms: dict[int, Any] = {DEFAULT_GRAPH_ID: DEFAULT_GRAPH}
        after = 0
        while rows := connection.rows(_SQL["terms_in_range"], (after, _TERMS)):
            after = rows[-1][0]
            self._dictionary.decode(rows, terms)
        store = ox.Store()
        done = 0
        for block in read_quads(connection, "quads_in_range"):
            store.bulk_extend(self._quads(block, terms))
            done += len(block)
            if progress:
                progress(done, total)
        self._store = store
        self._count = done
        self._dead = 0
        self._shared.clear()
        if len(store) < done:
            self._find_shared(terms)
        self._revision = connection.value(_SQL["last_revision"])

    def _find_shared(self, terms: dict[int, Any]) -> None:
        seen = ox.Store()
        for block in read_quads(self._connection, "quads_in_range"):
            for quad in self._quads(block, terms):
                if _is_rewritten(quad.object):
                    if quad in seen:
                        self._shared[self._as_stored(quad)] += 1
                    else:
                        seen.add(quad)

    @staticmethod
    def _quads(ids: Ids, terms: dict[int, Any]) -> Iterator[ox.Quad]:
        quad = ox.Quad
        try:
            for s, p, o, g in ids.tolist():
                yield quad(terms[s], terms[p], terms[o], terms[g])
        except (KeyError, TypeError) as error:
            raise IntegrityError(f"a quad refers to a term that is not stored, or cannot be there: {error}") from error


def _is_rewritten(term: object) -> bool:
    """Whether the store may have another form of the term: canonical lexical forms of numbers, dates and booleans."""
    if isinstance(term, ox.Literal):
        return not implied_datatype(term)
    return isinstance(term, ox.Triple)
