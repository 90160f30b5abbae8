"""SPARQL within a scope of few graphs: the world's own index is asked, with the scope's graphs as the dataset.

Nothing is copied for it. A scope of more graphs, and what a dataset cannot answer, is asked of the slice.
"""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import pyoxigraph as ox

from worlds.errors import QueryError, WorldsError
from worlds.graph.lexical import LexicalForms
from worlds.graph.query.evaluation import Found
from worlds.graph.query.query import Query
from worlds.graph.search.rewriting import mentions_search
from worlds.graph.search.vocabulary import NAMESPACE
from worlds.graph.terms import WELL_KNOWN_PREFIXES, GraphName
from worlds.quads.dataset import DefaultGraphSetting, default_graph
from worlds.quads.dictionary import DEFAULT_GRAPH, DEFAULT_GRAPH_ID, json_ids
from worlds.sparql.index import Progress, SparqlIndex
from worlds.sparql.notes import Notes
from worlds.sparql.queries import Queries
from worlds.sql import OWN_GRAPHS, statements
from worlds.sql.connection import Connection

if TYPE_CHECKING:
    from worlds.graph.query.results import Solutions, Triples
    from worlds.verbs.parts import Parts

_SQL = statements("scopes.sql")
_FEW = 3  # graphs, of which a list costs a query little; ten cost a join twice what one costs
_makes_triples = re.compile(r"\b(?:CONSTRUCT|DESCRIBE)\b", re.IGNORECASE).search  # it tells all prefixes
Known: TypeAlias = tuple[Mapping[str, str], DefaultGraphSetting]
"""Prefixes, and what the default graph is."""
_prefixes_of = re.compile(r"([\w.-]*):").findall


class Dataset:
    """The graphs of a scope within its world's index."""

    def __init__(self, world: Parts, own: Parts, graphs: Sequence[GraphName]) -> None:
        self._world = world
        self._own = own
        self._graphs = tuple(graphs)
        self._index = DatasetIndex(world, own, self._graphs)
        self._queries = DatasetQueries(world, own, self._index)
        self._used: set[tuple[str, str]] = set()  # prefixes and their IRIs that stand in the scope for sure
        self._since: object = None  # of what was purged or forgotten when they were found

    @staticmethod
    def possible(graphs: Sequence[GraphName]) -> bool:
        """Whether a scope is asked so."""
        return len(graphs) <= _FEW and not any(getattr(graph, "value", None) in OWN_GRAPHS for graph in graphs)

    def answer(
        self, text: str, query: Callable[[Known], Query], progress: Progress | None
    ) -> Solutions | Triples | bool | None:
        """The answer to a text, of which `query` makes a query; None where the slice is to be asked."""
        known = self._known(text)
        if known is None:
            return None
        asked = query(known)
        if not self._holds(asked):
            return None
        try:
            return self._queries.answer(asked, progress)
        except QueryError as error:
            if error.line is None:  # else what is told may depend on other names of the scope
                raise
            return None

    def _known(self, text: str) -> Known | None:
        """What a query has to know: the prefixes that it names, and the default graph; None where the slice is asked.

        A scope has only prefixes that one of its terms begins with: those that the text names are looked for.
        """
        if self._own._connection.in_transaction or mentions_search(text) or _makes_triples(text):
            return None
        world = self._world
        with world._connection.lock, world._connection.snapshot():
            since = tuple(map(world._connection.meta, ("history_from", "purges")))
            if since != self._since:
                self._since, self._used = since, set()
            declared = world._namespaces.declared
            named = {prefix: declared[prefix] for prefix in _prefixes_of(text) if prefix in declared}
            if named.get("w", NAMESPACE) != NAMESPACE:
                del named["w"]
            if not all(self._uses(prefix, iri) for prefix, iri in named.items()):
                return None
            return {**WELL_KNOWN_PREFIXES, **named}, default_graph(world._connection)

    def _uses(self, prefix: str, iri: str) -> bool:
        """Whether a term of the scope surely begins with a prefix's IRI."""
        if (prefix, iri) not in self._used:
            named = any(isinstance(name, ox.NamedNode) and name.value.startswith(iri) for name in self._graphs)
            statement = _SQL["iri_begins"]
            given = statement.bind(iri=iri, graphs_json=self._index.numbers)
            if not (named or self._world._connection.value(statement, given)):
                return False
            self._used.add((prefix, iri))
        return True

    def _holds(self, query: Query) -> bool:
        """Whether a query names no graph as its dataset that the world has outside of the scope."""
        try:
            default, named = query.dataset()
        except QueryError:  # which the slice tells
            return False
        others = {*(default or ()), *(named or ())} - set(self._graphs)
        store = self._index.store()
        return not any(isinstance(one, ox.DefaultGraph) or store.contains_named_graph(one) for one in others)


class DatasetIndex:
    """The world's index, as the queries of a scope ask it."""

    def __init__(self, world: Parts, own: Parts, graphs: Sequence[GraphName]) -> None:
        self._world = world
        self._own = own
        self._default = [DEFAULT_GRAPH] if DEFAULT_GRAPH in graphs else []
        self._names = [name for name in graphs if not isinstance(name, ox.DefaultGraph)]
        self._forms: LexicalForms | None = None
        self._state: object = None  # of the world, when the forms were read
        self.merging = world._sparql.merging
        self.use = world._sparql.use
        self.apart = world._sparql.apart
        self.store = world._sparql.store
        self.asked = world._sparql.asked

    @property
    def numbers(self) -> str:
        """The ids of the scope's graphs, of those that the world has, as JSON."""
        found = [number for number in self._world._dictionary.find(self._names) if number is not None]
        return json_ids([*found, *([DEFAULT_GRAPH_ID] if self._default else [])])

    @property
    def count(self) -> int:
        """Quads in the scope, or more."""
        return self._world._sparql.count

    @property
    def forms(self) -> LexicalForms:
        """The forms that stand in the scope."""
        whole = self._world._sparql.forms
        if not whole:
            return whole
        state = self._world._connection.state()
        if self._forms is None or self._state is not state:
            self._forms, self._state = whole.among(self._is_used), state
        return self._forms

    def _is_used(self, terms: Sequence[Any]) -> list[bool]:
        numbers = self._world._dictionary.find(terms)
        known = json_ids([number for number in numbers if number is not None])
        statement = _SQL["objects_among"]
        rows = self._world._connection.rows(statement, statement.bind(ids_json=known, graphs_json=self.numbers))
        used = {number for (number,) in rows}
        return [number in used for number in numbers]

    @contextlib.contextmanager
    def with_own(self, store: ox.Store, query: Query) -> Iterator[None]:
        """Nothing more is in the store: the scope has none of the world's own graphs."""
        yield

    def seen(self, query: Query) -> Query:
        """The query, which parses, with the scope's graphs as its dataset, or what it names of them."""
        store = self.store()
        there = [name for name in self._names if store.contains_named_graph(name)]
        default, named = query.dataset()
        if query.union:
            default = [*self._default, *there]
        elif default is None:
            default = self._default
        return query.replaced(union=False, default_graphs=default, named_graphs=there if named is None else named)

    def part(self) -> StorePart:
        """The scope's quads of the store."""
        return StorePart(self.store(), [*self._default, *self._names])


class StorePart:
    """Some graphs of a store, to be read quad by quad."""

    def __init__(self, store: ox.Store, graphs: Sequence[GraphName]) -> None:
        self._store = store
        self._graphs = graphs

    def quads_for_pattern(self, subject: Any, predicate: Any, object: Any, graph: Any = None) -> Iterator[ox.Quad]:
        """The quads that match; None for any term, and for any of the graphs."""
        graphs = self._graphs if graph is None else [name for name in self._graphs if name == graph]
        return itertools.chain.from_iterable(
            self._store.quads_for_pattern(subject, predicate, object, name) for name in graphs
        )

    def named_graphs(self) -> Iterator[GraphName]:
        """The graphs that there are."""
        return (
            name
            for name in self._graphs
            if not isinstance(name, ox.DefaultGraph) and self._store.contains_named_graph(name)
        )


class IndexNotes(Notes):
    """Notes on the queries of a view that has no database yet: where the index does not tell, the database is made."""

    def __init__(self, own: Parts, part: Callable[[], Any]) -> None:
        """`part` gives what the view sees of the index."""
        unread: Any = _Unread(own._connection, part)
        super().__init__(unread, unread, unread, unread)
        self._own = own

    def of(self, query: Query, found: Found, count: Callable[[Query], Found] | None = None) -> tuple[str, ...]:
        """What there is to say of a query and what it found; nothing, where nothing is odd."""
        with contextlib.suppress(_UnsureError):
            if not super().of(query, found, count):
                return ()
        with contextlib.suppress(WorldsError):
            return self._own._notes.of(query.replaced(prefixes=self._own._namespaces.prefixes), found, count)
        return ()


class _UnsureError(Exception):
    """The index alone does not tell."""


class _Unread:
    """What notes read of a view whose database is not made for them: its quads in the index, and nothing else."""

    def __init__(self, connection: Connection, part: Callable[[], Any]) -> None:
        self.lock = connection.lock
        self.store = part

    def __getattr__(self, name: str) -> Any:
        raise _UnsureError(name)


class DatasetQueries(Queries):
    """Answers the queries of a scope from its world's index."""

    def __init__(self, world: Parts, own: Parts, index: DatasetIndex) -> None:
        super().__init__(
            world._connection,
            world._dictionary,
            cast(SparqlIndex, index),
            own._engine,
            own._embeddings,
            own._running,
            IndexNotes(own, index.part),
            request=own._requests.own,
            embedder=own._embedder.required,
        )
        self._dataset = index

    def _widened(self, query: Query) -> Query:
        return super()._widened(self._dataset.seen(query))
