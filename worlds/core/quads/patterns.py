"""Reads the stored quads that match a pattern, by the indexes of the quads' table; no SPARQL index is built."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyoxigraph as ox

from worlds.core.quads.dictionary import DEFAULT_GRAPH_ID, Dictionary, Ids
from worlds.core.quads.rows import NO_QUADS, read_quads, unique_quads
from worlds.graph.plain import TripleTerms, plain
from worlds.graph.terms import GraphName, Term, to_rdflib
from worlds.sql import statements
from worlds.sql.connection import Connection

if TYPE_CHECKING:
    import rdflib

Quad: TypeAlias = tuple[Any, Any, Any, Any]

_SQL = statements("queries.sql")
_ANY = -1  # no term has this id
_FIRST_BLOCK = 100  # quads decoded at once: few at first, so that the first one is there soon
_BLOCK = 20_000
_REMEMBERED = 100_000  # rdflib terms kept while a pattern is read
_SMALL_GRAPH = 1000  # quads up to which a named graph is read as a whole rather than a predicate or object of all

_BY_TERMS = {  # whether subject, predicate and object are given
    (True, False, False): _SQL["quads_of_subject"],
    (True, True, False): _SQL["quads_of_subject_predicate"],
    (True, False, True): _SQL["quads_of_subject_object"],
    (True, True, True): _SQL["quads_of_subject_predicate_object"],
    (False, True, False): _SQL["quads_of_predicate"],
    (False, True, True): _SQL["quads_of_predicate_object"],
    (False, False, True): _SQL["quads_of_object"],
}


class Patterns:
    """Finds, counts and decodes quads."""

    def __init__(self, connection: Connection, dictionary: Dictionary) -> None:
        self._connection = connection
        self._dictionary = dictionary

    def quads(self, triple: Sequence[Term | None], graph: GraphName | None) -> Iterator[Quad]:
        """The quads that match, as rdflib terms, the fourth None in the default graph; None matches everything.

        They are found at once and decoded while they are read: what is written meanwhile changes nothing.
        """
        found = self._decode(unique_quads(self.matching(triple, graph)))  # a triple's graphs stand together
        # A transaction that is undone frees its ids, which may then come to mean other terms.
        return iter(list(found)) if self._connection.in_transaction else found

    def matching(self, triple: Sequence[Term | None], graph: GraphName | None) -> Ids:
        """The ids of the quads that match, int64 [n, 4]."""
        named = None if isinstance(graph, ox.DefaultGraph) else graph
        terms = [*triple, named]
        given = [term for term in terms if term is not None]
        with self._connection.snapshot():
            known = dict(zip(given, self._dictionary.find(given), strict=True))
            s, p, o, g = (_ANY if term is None else known[term] for term in terms)
            if s is None or p is None or o is None or g is None:
                return NO_QUADS
            return self._read(s, p, o, DEFAULT_GRAPH_ID if named is not graph else g)

    def _read(self, s: int, p: int, o: int, g: int) -> Ids:
        if s != _ANY or p != _ANY or o != _ANY:
            statement = _BY_TERMS[s != _ANY, p != _ANY, o != _ANY]
            if s == _ANY and g > DEFAULT_GRAPH_ID and self._is_small(g):
                statement = _SQL["quads_of_named_graph"]
        elif g > DEFAULT_GRAPH_ID:
            statement = _SQL["quads_of_named_graph"]
        else:
            blocks = (
                read_quads(self._connection, "quads_in_range")
                if g == _ANY
                else read_quads(self._connection, "quads_of_graph", graph=g)
            )
            return np.concatenate([NO_QUADS, *blocks])
        values = {"subject": s, "predicate": p, "object": o, "graph": g}
        return self._connection.table(statement, statement.bind(**{n: values[n] for n in statement.parameters}))

    def _is_small(self, graph: int) -> bool:
        """Whether reading a named graph through costs less than the other index."""
        return bool(self._connection.value(_SQL["count_up_to"], (graph, _SMALL_GRAPH)) < _SMALL_GRAPH)

    def _decode(self, ids: Ids) -> Iterator[Quad]:
        terms: dict[int, Any] = {}
        start, size = 0, _FIRST_BLOCK
        while start < len(ids):
            block = ids[start : start + size].tolist()
            start, size = start + size, _BLOCK
            if len(terms) > _REMEMBERED:
                terms.clear()
            missing = {number for row in block for number in row} - terms.keys()
            terms |= {number: to_rdflib(term) for number, term in self._dictionary.terms(missing).items()}
            terms[DEFAULT_GRAPH_ID] = None
            for s, p, o, g in block:
                yield terms[s], terms[p], terms[o], terms[g]

    def count(self, triple: Sequence[Term | None], graph: GraphName | None, *, triples: bool) -> int:
        """The number of quads that match; with `triples`, a triple counts once however many graphs have it."""
        with self._connection.snapshot():
            if any(term is not None for term in triple):
                found = self.matching(triple, graph)
                return len(np.unique(found[:, :3], axis=0) if triples else found)
            if graph is None:
                return int(self._connection.value(_SQL["count_triples" if triples else "count_quads"]))
            if isinstance(graph, ox.DefaultGraph):
                return int(self._connection.value(_SQL["count_default_graph"]))
            number = self._dictionary.find([graph])[0]
            return 0 if number is None else int(self._connection.value(_SQL["count_named_graph"], (number,)))

    def graphs(self) -> list[Any]:
        """The names, as rdflib terms in their order, of the named graphs that exist, empty ones included."""
        with self._connection.snapshot():
            ids = [number for (number,) in self._connection.rows(_SQL["named_graphs"])]
            terms = self._dictionary.terms(ids)
            return sorted(to_rdflib(terms[number]) for number in ids)


def to_dataset(
    quads: Iterable[Quad], graphs: Iterable[Any], prefixes: Mapping[str, str], triple_terms: TripleTerms
) -> rdflib.Dataset:
    """An rdflib Dataset in memory; `triple_terms` sets the treatment of terms that rdflib lacks."""
    import rdflib

    dataset = rdflib.Dataset()
    for prefix, iri in prefixes.items():
        dataset.bind(prefix, iri, replace=True)
    contexts: dict[Any, rdflib.Graph] = {None: dataset.default_graph}
    contexts |= {name: dataset.graph(name) for name in graphs}
    add = dataset.store.add
    for s, p, o, g in plain(quads, triple_terms):
        add((s, p, o), contexts[g])
    return dataset
