"""The data behind a SPARQL Update: the world, inside one write of the gate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import numpy as np
import pyoxigraph as ox

from worlds.core.history.gate import Change
from worlds.core.history.writer import Writing
from worlds.core.quads.dictionary import DEFAULT_GRAPH_ID, Ids
from worlds.core.quads.interner import Interner
from worlds.core.quads.reader import quad_ids
from worlds.core.quads.rows import NO_QUADS, difference, marker, read_quads, unique_quads
from worlds.errors import QueryError
from worlds.graph.lexical import canonical_quads, is_by_value
from worlds.graph.query.query import Query
from worlds.graph.terms import GraphName, NamedGraph
from worlds.graph.update.target import Rows
from worlds.sql import statements

if TYPE_CHECKING:
    from worlds.core.core import Core

_SQL = statements("queries.sql")


@dataclass(eq=False, repr=False)
class WorldTarget:
    """`worlds.graph.update.target.Target` over a world, where patterns are asked as `_pattern` is.

    QueryError beyond `_most` changes.
    """

    _core: Core
    _writing: Writing
    _pattern: Query
    _allow_files: bool
    _most: int | None

    def __post_init__(self) -> None:
        self._pattern = self._pattern.replaced(prefixes={}, bindings={})

    def select(
        self, query: str, *, default_graphs: Sequence[GraphName] | None, named_graphs: Sequence[NamedGraph] | None
    ) -> tuple[list[str], Rows]:
        """The variables and the solutions of a SELECT."""
        pattern = self._pattern.replaced(text=query, default_graphs=default_graphs, named_graphs=named_graphs)
        return self._core.queries.rows(pattern.settled(union=bool(self._pattern.union)))

    def load(self, iri: str, graph: NamedGraph | None) -> None:
        """Load the document at an IRI into a graph, or the default graph."""
        source = iri
        if iri.lower().startswith("file:"):
            if not self._allow_files:
                raise QueryError(f"LOAD <{iri}>: reading files is not allowed")
            source = unquote(urlsplit(iri).path)
        elif not iri.lower().startswith(("http:", "https:")):  # it is never the name of a file
            raise QueryError(f"LOAD <{iri}>: only http, https and file can be loaded")
        allowed = self._pattern.allow_network
        change = self._core.loader.load(source, graph=graph, embed=False, allow_network=allowed)
        assert isinstance(change, Change), "it is no dry run"
        self._writing.count(change.added, change.removed, change.chunks)

    def apply(self, added: Sequence[ox.Quad], removed: Sequence[ox.Quad]) -> None:
        """Remove quads, then add quads: one that is in both stays.

        What is the same to SPARQL is the same here: `1` is not added beside `01`, and removing `1` removes both.
        """
        if removed or any(is_by_value(quad.object) for quad in added):
            added = self._missing(added, removed)
        gone = self._stored(removed)
        come = quad_ids(self._core.connection, self._core.dictionary, added)
        self._change(come, difference(gone, come))

    def _change(self, come: Ids, gone: Ids) -> None:
        self._writing.apply(come, gone)
        if self._most is not None and self._writing.added + self._writing.removed > self._most:
            raise QueryError(f"the update changes more than {self._most:,} quads, its limit", kind="results")

    def _missing(self, added: Sequence[ox.Quad], removed: Sequence[ox.Quad]) -> list[ox.Quad]:
        """The added quads that SPARQL would not see once `removed` are gone, each in one form."""
        store, forms = self._core.sparql.store(), self._core.sparql.forms  # which the store makes known
        several = [quad for quad in added if forms.several(quad.object)]
        if not several:
            return list(added)
        going = set(canonical_quads(removed))
        found = {quad: quad for quad in added if not forms.several(quad.object)}
        for quad, stored in zip(several, canonical_quads(several), strict=True):
            if stored in going or quad not in store:
                found.setdefault(stored, quad)
        return list(found.values())

    def _stored(self, quads: Sequence[ox.Quad]) -> Ids:
        """The ids of quads, int64 [n, 4], in every form that is the same to SPARQL; unknown ones are left out."""
        if not quads:
            return NO_QUADS
        forms = self._core.sparql.forms
        rows: list[tuple[Any, Any, Any, Any]] = []
        for quad in quads:
            subject, predicate, value, graph = quad.subject, quad.predicate, quad.object, quad.graph_name
            rows.append((subject, predicate, value, graph))
            rows += [(subject, predicate, other, graph) for other in forms.others(value)]
        terms = dict.fromkeys(term for row in rows for term in row if not isinstance(term, ox.DefaultGraph))
        ids: dict[Any, int | None] = dict(zip(terms, self._core.dictionary.find(list(terms)), strict=True))
        numbers = [[ids.get(term, DEFAULT_GRAPH_ID) for term in row] for row in rows]
        known = [row for row in numbers if None not in row]
        return unique_quads(np.array(known, dtype=np.int64).reshape(-1, 4))

    def _graph_id(self, graph: GraphName) -> int | None:
        return DEFAULT_GRAPH_ID if isinstance(graph, ox.DefaultGraph) else self._core.dictionary.find([graph])[0]

    def _made_graph_id(self, graph: GraphName) -> int:
        found = self._graph_id(graph)
        if found is None:
            interner = Interner(self._core.connection, self._core.dictionary, rename_blank_nodes=False)
            found = int(interner.resolve(np.array([interner.local(graph)]))[0])  # type: ignore[arg-type]  # has a name
        return found

    def graphs(self) -> list[NamedGraph]:
        """The named graphs that exist, empty ones that were created included."""
        ids = [number for (number,) in self._core.connection.rows(_SQL["named_graphs"])]
        terms = self._core.dictionary.terms(ids)
        return [terms[number] for number in ids]

    def exists(self, graph: NamedGraph) -> bool:
        """Whether a named graph is among `graphs()`."""
        number = self._graph_id(graph)
        return number is not None and self._core.connection.row(_SQL["graph_exists"], (number,)) is not None

    def create(self, graph: NamedGraph) -> None:
        """Make an empty graph."""
        self._change(marker(self._made_graph_id(graph)), NO_QUADS)

    def clear(self, graph: GraphName, *, drop: bool) -> None:
        """Remove all quads of a graph; with `drop`, the named graph too."""
        for block in self._quads_of(graph, markers=drop):
            self._change(NO_QUADS, block)

    def copy(self, source: GraphName, destination: GraphName) -> None:
        """Add the quads of a graph to another one."""
        number = self._made_graph_id(destination)
        for block in self._quads_of(source, markers=False):
            block[:, 3] = number
            self._change(unique_quads(block), NO_QUADS)

    def _quads_of(self, graph: GraphName, *, markers: bool) -> list[Ids]:
        number = self._graph_id(graph)
        if number is None:
            return []
        return list(read_quads(self._core.connection, "quads_of_graph", markers=markers, graph=number))
