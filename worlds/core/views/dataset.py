"""SPARQL within a scope of few graphs: the world's own index is asked, with the scope's graphs as the dataset.

Nothing is copied for it. A scope of more graphs, and what a dataset cannot answer, is asked of the slice.
"""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import pyoxigraph as ox

from worlds.core.core import Core
from worlds.core.quads.dataset import DefaultGraphSetting, default_graph
from worlds.core.quads.dictionary import DEFAULT_GRAPH, json_ids
from worlds.core.sparql.index import Progress
from worlds.core.sparql.notes import Notes
from worlds.core.sparql.patterns import SubjectPatterns
from worlds.core.sparql.queries import Queries
from worlds.core.views.seen import SeenCore, UnseenError
from worlds.errors import QueryError, WorldsError
from worlds.graph.lexical import LexicalForms
from worlds.graph.query.evaluation import Found
from worlds.graph.query.query import Query
from worlds.graph.query.query_limits import Limits, deadline_of
from worlds.graph.search.rewriting import mentions_search
from worlds.graph.terms import WELL_KNOWN_PREFIXES, GraphName
from worlds.sql import statements
from worlds.sql.connection import Connection

if TYPE_CHECKING:
    from worlds.graph.query.results import Solutions, Triples

_SQL = statements("queries.sql")
_FEW = 3  # graphs, of which a list costs a query little; ten cost a join twice what one costs
_makes_triples = re.compile(r"\b(?:CONSTRUCT|DESCRIBE)\b", re.IGNORECASE).search  # it tells all prefixes
Known: TypeAlias = tuple[Mapping[str, str], DefaultGraphSetting]
"""Prefixes, and what the default graph is."""


class Dataset:
    """The graphs of a scope within its world's index."""

    def __init__(self, world: Core, own: Core, seen: SeenCore) -> None:
        self._world = world
        self._own = own
        self._seen = seen
        self._index = DatasetIndex(world, own, seen)
        notes = IndexNotes(own, self._index.part, seen)
        self._queries: Queries = own.asking(DatasetQueries, world, self._index, notes)
        self._searching: Queries = seen.asking(DatasetQueries, seen, self._index, notes)

    @staticmethod
    def possible(graphs: Sequence[GraphName]) -> bool:
        """Whether a scope is asked so."""
        return len(graphs) <= _FEW

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
            return (self._searching if mentions_search(text) else self._queries).answer(asked, progress)
        except UnseenError:
            return None
        except QueryError as error:
            if error.line is None:  # else what is told may depend on other names of the scope
                raise
            return None

    def _known(self, text: str) -> Known | None:
        """The prefixes that a query names, and its default graph; None where the slice is asked.

        A scope has only prefixes that one of its terms begins with: those that the text names are looked for.
        """
        seen, connection = self._seen, self._world.connection
        if self._own.connection.in_transaction or (mentions_search(text) and not seen.clear):
            return None
        with connection.lock, connection.snapshot(), contextlib.suppress(UnseenError):
            names = seen.namespaces
            known = names.prefixes if _makes_triples(text) else {**WELL_KNOWN_PREFIXES, **names.among(text)}
            return known, default_graph(connection)
        return None

    def _holds(self, query: Query) -> bool:
        """Whether a query names no graph as its dataset that the world has outside of the scope."""
        try:
            default, named = query.dataset()
        except QueryError:  # which the slice tells
            return False
        others = {*(default or ()), *(named or ())} - set(self._seen.names)
        store = self._index.store()
        return not any(isinstance(one, ox.DefaultGraph) or store.contains_named_graph(one) for one in others)


class DatasetIndex:
    """The world's index, as the queries of a scope ask it."""

    def __init__(self, world: Core, own: Core, seen: SeenCore) -> None:
        self._world = world
        self._own = own
        self._seen = seen
        self._default = [DEFAULT_GRAPH] if DEFAULT_GRAPH in seen.names else []
        self._names = [name for name in seen.names if not isinstance(name, ox.DefaultGraph)]
        self._forms: LexicalForms | None = None
        self._state: object = None  # of the world, when the forms were read
        self.merging = world.sparql.merging
        self.use = world.sparql.use
        self.apart = world.sparql.apart
        self.store = world.sparql.store
        self.asked = world.sparql.asked

    @property
    def view_lock(self) -> contextlib.AbstractContextManager[Any]:
        """The scope's lock."""
        return self._own.connection.lock

    @property
    def count(self) -> int:
        """Quads in the scope, or more."""
        return self._world.sparql.count

    @property
    def forms(self) -> LexicalForms:
        """The lexical forms in the scope."""
        whole = self._world.sparql.forms
        if not whole:
            return whole
        state = self._world.connection.state()
        if self._forms is None or self._state is not state:
            self._forms, self._state = whole.among(self._is_used), state
        return self._forms

    def _is_used(self, terms: Sequence[Any]) -> list[bool]:
        numbers = self._world.dictionary.find(terms)
        known = json_ids([number for number in numbers if number is not None])
        used = {number for (number,) in self._seen.connection.rows(_SQL["objects"], (known,))}
        return [number in used for number in numbers]

    @contextlib.contextmanager
    def with_own(self, store: ox.Store, query: Query) -> Iterator[None]:
        """Add nothing to the store: the scope has none of the world's own graphs."""
        yield

    def seen(self, query: Query) -> Query:
        """The query with the scope's graphs as its dataset, or the graphs that it names among these."""
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


class DatasetPatterns(SubjectPatterns):
    """Evaluates the patterns of a scope over its world's index, within the time that `own`, of its slice, may take."""

    _index: Any

    def __init__(self, index: Any, own: SubjectPatterns, seen: SeenCore) -> None:
        super().__init__(index, seen.running, seen.namespaces)
        self._own = own

    def subjects(self, pattern: str, graphs: Sequence[Any] | None, limits: Limits | None = None) -> list[Any]:
        """See `SubjectPatterns.subjects`."""
        return super().subjects(pattern, graphs, limits or Limits(deadline_of(self._own.timeout)))

    def _seen(self, query: Query) -> Query:
        return self._index.seen(query)  # type: ignore[no-any-return]


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
    """Notes on the queries of a view that has no database yet: where the index does not tell, the database is made.

    A scope that is `seen` in its world's database is asked there first.
    """

    def __init__(self, own: Core, part: Callable[[], Any], seen: SeenCore | None = None) -> None:
        """`part` returns the part of the index that the view can see."""
        unread: Any = _Unread(own.connection, part)
        super().__init__(unread, unread, unread, unread)
        self._own = own
        self._there = None
        if seen is not None:
            index: Any = _SeenPart(seen.connection, part)
            self._there = Notes(seen.connection, seen.dictionary, index, seen.vocabulary), seen

    def of(self, query: Query, found: Found, count: Callable[[Query], Found] | None = None) -> tuple[str, ...]:
        """Notes on a query and its results; none where nothing is odd."""
        with contextlib.suppress(_UnsureError):
            if not super().of(query, found, count):
                return ()
        if self._there is not None:
            notes, seen = self._there
            with contextlib.suppress(UnseenError, _UnsureError):
                return notes.of(query.replaced(prefixes=seen.namespaces.prefixes), found, count)
        with contextlib.suppress(WorldsError):
            return self._own.notes.of(query.replaced(prefixes=self._own.namespaces.prefixes), found, count)
        return ()


class _UnsureError(Exception):
    """The index alone does not tell."""


class _Unread:
    """The reader for notes on a view without a database for them: its quads in the index, and nothing else."""

    def __init__(self, connection: Connection, part: Callable[[], Any]) -> None:
        self.lock = connection.lock
        self.store = part

    def __getattr__(self, name: str) -> Any:
        raise _UnsureError(name)


class _SeenPart(_Unread):
    """The reader for notes on a scope that is seen in its world's database."""

    def __init__(self, connection: Connection, part: Callable[[], Any]) -> None:
        super().__init__(connection, part)
        self._connection = connection

    @property
    def count(self) -> int:
        """Quads in the scope."""
        return int(self._connection.value(_SQL["count_quads"]))


class DatasetQueries(Queries):
    """Answers the queries of a scope from its world's index."""

    _index: Any

    def _widened(self, query: Query) -> Query:
        return super()._widened(self._index.seen(query))
