"""What a SPARQL Update would do, found without a write: its operations are done to the store of this process alone.

So it waits for no writer and keeps none waiting, and a read-only world can be asked. Each operation sees what those
before it did; in the end the store is as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyoxigraph as ox

from worlds.errors import QueryError
from worlds.graph.lexical import canonical_quads, is_by_value
from worlds.graph.query.query import Query
from worlds.graph.terms import GraphName, NamedGraph, quad_to_rdflib
from worlds.graph.update.target import Rows
from worlds.sparql.index import SparqlIndex
from worlds.sparql.updates import Selecting, missing


@dataclass(frozen=True)
class Rehearsed:
    """What an update would add and remove, as pyoxigraph's quads; `added` and `removed` are tuples of rdflib terms."""

    quads: tuple[tuple[ox.Quad, ...], tuple[ox.Quad, ...]]

    @property
    def added(self) -> tuple[Any, ...]:
        """The quads to add, as tuples of rdflib terms: subject, predicate, object, and graph or None."""
        return tuple(map(quad_to_rdflib, self.quads[0]))

    @property
    def removed(self) -> tuple[Any, ...]:
        """The quads to remove, likewise."""
        return tuple(map(quad_to_rdflib, self.quads[1]))


class RehearsalTarget(Selecting):
    """`worlds.graph.update.target.Target` over the store alone."""

    def __init__(
        self,
        index: SparqlIndex,
        store: ox.Store,
        *,
        pattern: Query,
        rows: Callable[[Query], tuple[list[str], Rows]],
        max_quads: int | None,
    ) -> None:
        """`pattern` tells how patterns are asked, `rows` evaluates one; QueryError beyond `max_quads` changes."""
        self._index = index
        self._store = store
        super().__init__(pattern, rows)
        self._most = max_quads
        self._added: dict[ox.Quad, ox.Quad] = {}  # in the forms that were given → as the store has them
        self._removed: dict[ox.Quad, None] = {}
        self._learned: list[tuple[str, str, bool]] = []  # forms of literals
        self._created: dict[NamedGraph, bool] = {}  # whether it exists without quads, where that was changed here

    @property
    def rehearsed(self) -> Rehearsed:
        """What was done so far, in all."""
        return Rehearsed((tuple(self._added), tuple(self._removed)))

    @contextmanager
    def undone(self) -> Iterator[None]:
        """Leave the store as it was before the block."""
        graphs = set(self._store.named_graphs())
        try:
            with self._index.merging.astray():
                yield
        finally:
            for quad in self._added.values():
                self._store.remove(quad)
            self._store.extend(self._removed)
            now = set(self._store.named_graphs())
            for graph in now - graphs:
                self._store.remove_graph(graph)
            for graph in graphs - now:
                self._store.add_graph(graph)
            self._index.forms.unlearn(self._learned)
            self._index.leave_dead(len(self._added))

    def apply(self, added: Sequence[ox.Quad], removed: Sequence[ox.Quad]) -> None:
        """Remove quads, then add quads: one that is in both stays. As the gate has it, so are forms of a value one."""
        if removed or any(is_by_value(quad.object) for quad in added):
            added = missing(self._index, self._store, added, removed)
        kept = set(added)
        gone = [quad for quad in self._in_file(self._forms(removed)) if quad not in kept]
        self._removed |= dict.fromkeys(gone)
        if removed:
            going = set(canonical_quads(removed))
            for quad in [quad for quad, stored in self._added.items() if stored in going and quad not in kept]:
                del self._added[quad]
            for stored in going:
                self._store.remove(stored)
        self._add(added)

    def _add(self, quads: Sequence[ox.Quad]) -> None:
        """Add quads in these forms, whatever other forms of their values there are."""
        there = set(self._in_file(quads))
        if any(is_by_value(quad.object) for quad in quads):
            values = {quad.object for quad in (*self._added, *quads) if is_by_value(quad.object)}
            for _ in range(2):  # the second time, forms that are the store's own are known to have others
                self._learned += self._index.forms.learn(values)
        for quad, stored in zip(quads, canonical_quads(quads), strict=True):
            if quad in self._removed:
                del self._removed[quad]
            elif quad not in there:
                self._added.setdefault(quad, stored)
            self._store.add(stored)
        if self._most is not None and len(self._added) + len(self._removed) > self._most:
            raise QueryError(f"the update changes more than {self._most:,} quads, its limit", kind="results")

    def _forms(self, quads: Iterable[ox.Quad]) -> list[ox.Quad]:
        """The quads, each in every form that is the same to SPARQL."""
        others = self._index.forms.others
        return list(
            dict.fromkeys(
                ox.Quad(quad.subject, quad.predicate, value, quad.graph_name)
                for quad in quads
                for value in (quad.object, *others(quad.object))
            )
        )

    def _in_file(self, quads: Sequence[ox.Quad]) -> list[ox.Quad]:
        """The quads that the file has, and that this update has not removed."""
        return [quads[place] for place in self._index.held(list(quads)) if quads[place] not in self._removed]

    def load(self, iri: str, graph: NamedGraph | None) -> None:
        """QueryError: what is read from elsewhere cannot be rehearsed."""
        raise QueryError(f"LOAD <{iri}>: an update that is rehearsed reads no documents", kind="network")

    def graphs(self) -> list[NamedGraph]:
        """The named graphs that exist, empty ones that were created included."""
        return list(filter(self.exists, self._store.named_graphs()))

    def exists(self, graph: NamedGraph) -> bool:
        """Whether a named graph is among `graphs()`."""
        if graph in self._created or not self._index.was_created(graph):
            filled = next(self._store.quads_for_pattern(None, None, None, graph), None) is not None
            return filled or self._created.get(graph, False)
        return True

    def create(self, graph: NamedGraph) -> None:
        """Make an empty graph."""
        self._created[graph] = True
        self._store.add_graph(graph)

    def clear(self, graph: GraphName, *, drop: bool) -> None:
        """Remove all quads of a graph; with `drop`, the named graph too."""
        self.apply([], list(self._store.quads_for_pattern(None, None, None, graph)))
        if drop and not isinstance(graph, ox.DefaultGraph):
            self._created[graph] = False
            self._store.remove_graph(graph)

    def copy(self, source: GraphName, destination: GraphName) -> None:
        """Add the quads of a graph to another one."""
        known = self._forms(self._store.quads_for_pattern(None, None, None, source))
        there = [*self._in_file(known), *(quad for quad in self._added if quad.graph_name == source)]
        self._add([ox.Quad(quad.subject, quad.predicate, quad.object, destination) for quad in there])
