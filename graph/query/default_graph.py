"""The default graph of a query as the set that it is: a triple that stands in several of its graphs is one.

pyoxigraph matches such a triple once in each of them. Where triples repeat, the query is asked of another store, whose
default graph has each of them once.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any

import pyoxigraph as ox

from worlds.graph.query.joins import Counts, reordered
from worlds.graph.query.query import Query
from worlds.graph.query.tokens import by_text

_DEFAULT = ox.DefaultGraph()
_FROM = re.compile(r"\bFROM\b", re.IGNORECASE)
names_graphs = _FROM.search
_sees_graphs = re.compile(r"\bGRAPH\b", re.IGNORECASE).search
_KEPT = 4  # merged stores of lists of graphs

Graphs = Sequence[Any] | None  # None: all


@by_text(512)
def _names_several(text: str) -> bool:
    return len(_FROM.findall(text)) > 1


class MergedStores:
    """The merged stores of a store. They are kept until it changes; that of all its graphs follows its changes."""

    def __init__(self) -> None:
        self._of: ox.Store | None = None
        self._lists: dict[Hashable, ox.Store | None] = {}  # None where a list need not be merged; of all: the key None
        self._has_names = False  # the store of all graphs has the named graphs, too
        self._counts = Counts()

    def wanted(self, store: ox.Store, graphs: Graphs) -> bool:
        """Whether graphs are to be merged: at least where a triple stands in several of them."""
        seen: set[int] = set()
        for triple in _triples(store, graphs):
            if (key := hash(triple)) in seen:
                return True
            seen.add(key)
        return False

    def clear(self) -> None:
        """Forget the merged stores."""
        self._of = None
        self._lists.clear()
        self._counts.clear()

    def reordered(self, store: ox.Store, query: Query) -> Query:
        """The query with its joins in an order that is cheap in this store."""
        return reordered(query, self._counts.of(store, query))

    @staticmethod
    def concerns(query: Query) -> bool:
        """Whether a query may have several default graphs."""
        several = query.default_graphs is not None and len(query.default_graphs) > 1
        return bool(query.union) or several or _names_several(query.text)

    def seen(self, store: ox.Store, query: Query) -> tuple[ox.Store, Query]:
        """The store to ask, and the query for it; the query parses."""
        clauses = names_graphs(query.text) is not None
        merged, named = query.dataset() if clauses else (query.default_graphs, query.named_graphs)
        graphs = None if query.union else tuple(dict.fromkeys(merged or ()))
        if graphs is not None and len(graphs) < len(merged or ()):
            query = query.replaced(default_graphs=graphs)  # pyoxigraph counts a graph as often as it is listed
        if graphs is not None and len(graphs) < 2:
            return store, query
        if self._of is not store:
            self.clear()
            self._of = store
        found = self._merged(store, graphs, named, names=_sees_graphs(query.text) is not None)
        if found is None:
            return store, query
        first, last = query.shape.query.dataset if clauses else (0, 0)
        edits = [(query.tokens[first].start, query.tokens[last - 1].end, " ")] if last else []
        return found, query.spliced(edits).replaced(union=False, default_graphs=None, named_graphs=named)

    def _merged(self, store: ox.Store, graphs: Graphs, named: Graphs, *, names: bool) -> ox.Store | None:
        key = None if graphs is None else (graphs, names and (named is None or tuple(named)))
        if key not in self._lists:
            filled = len(list(itertools.islice(_filled(store, graphs), 2)))
            merged = ox.Store() if filled > 1 and self.wanted(store, graphs) else None
            if merged is not None:
                merged.bulk_extend(ox.Quad(*triple) for triple in _triples(store, graphs))
                if names and graphs is not None:
                    _add_names(merged, store, store.named_graphs() if named is None else named)
            for old in [old for old in self._lists if old is not None][: -_KEPT or None]:
                del self._lists[old]
            self._lists[key] = merged
            self._has_names = self._has_names and graphs is not None
        found = self._lists[key]
        if found is not None and graphs is None and names and not self._has_names:
            _add_names(found, store, store.named_graphs())
            self._has_names = True
        return found

    def follow(self, removed: Sequence[ox.Quad], added: Sequence[ox.Quad], graphs: Iterable[Any]) -> None:
        """Quads were removed from the store, and others added, in which named graphs may have come or gone."""
        self._counts.changed(len(removed) + len(added))
        merged = self._lists.get(None)
        self._lists.clear()
        if merged is None or self._of is None:
            return
        self._lists[None] = merged
        for quad in removed:
            subject, predicate, value = quad.triple
            if self._has_names and quad.graph_name != _DEFAULT:
                merged.remove(quad)
            if next(self._of.quads_for_pattern(subject, predicate, value, None), None) is None:
                merged.remove(ox.Quad(subject, predicate, value))
        merged.extend(ox.Quad(*quad.triple) for quad in added)
        if self._has_names:
            merged.extend(quad for quad in added if quad.graph_name != _DEFAULT)
        for graph in graphs if self._has_names else ():
            if self._of.contains_named_graph(graph):
                merged.add_graph(graph)
            else:
                merged.remove_graph(graph)


def _filled(store: ox.Store, graphs: Graphs) -> Iterator[Any]:
    """The graphs that have triples."""
    for graph in itertools.chain([_DEFAULT], store.named_graphs()) if graphs is None else graphs:
        if next(store.quads_for_pattern(None, None, None, graph), None) is not None:
            yield graph


def _triples(store: ox.Store, graphs: Graphs) -> Iterator[ox.Triple]:
    for graph in [None] if graphs is None else graphs:
        for quad in store.quads_for_pattern(None, None, None, graph):
            yield quad.triple


def _add_names(merged: ox.Store, store: ox.Store, graphs: Iterable[Any]) -> None:
    for graph in graphs:
        merged.add_graph(graph)
        merged.bulk_extend(store.quads_for_pattern(None, None, None, graph))
