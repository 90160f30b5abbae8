"""SPARQL over one world: its index, the searches that a query holds, and the forms that its data was given in."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import pyoxigraph as ox

from worlds.core.embedders import Embedder
from worlds.core.quads.dictionary import Dictionary
from worlds.core.search.engine import SearchEngine
from worlds.core.search.request import SearchRequest
from worlds.core.sparql.explaining import PatternCount, QueryExplanation, pattern_queries
from worlds.core.sparql.index import Progress, SparqlIndex
from worlds.core.sparql.notes import Notes
from worlds.core.sparql.searches import RecentSolutions, WorldSearcher
from worlds.core.vectors.embedding import Embeddings
from worlds.errors import QueryTimeout
from worlds.graph.query.evaluation import Found, Selected, answer, begin, run
from worlds.graph.query.query import Query
from worlds.graph.query.query_limits import remaining
from worlds.graph.query.results import Solutions, Triples
from worlds.graph.query.running import Running
from worlds.graph.search.rewriting import mentions_search, rewrite
from worlds.graph.terms import Term
from worlds.sql.connection import Connection
from worlds.sql.drivers import ended_by

COUNTING = 1.0  # seconds, at most, to count the solutions of one pattern
_QUICK = 0.5  # seconds of a query that is answered again, to count what it leaves out


@dataclass(eq=False, repr=False)
class Queries:
    """Answers the queries of one world."""

    _connection: Connection
    _dictionary: Dictionary
    _index: SparqlIndex
    _search: SearchEngine
    _embeddings: Embeddings
    _running: Running
    _notes: Notes
    _request: Callable[..., SearchRequest]
    _embedder: Callable[[], Embedder]
    _recent: RecentSolutions = field(default_factory=RecentSolutions, init=False)

    def answer(self, query: Query, progress: Progress | None = None) -> Solutions | Triples | bool:
        """`Solutions` for SELECT, a bool for ASK, `Triples` for CONSTRUCT and DESCRIBE.

        While a query with limits, which runs in a child, is evaluated, other threads may use the world; unless it
        searches, since searches read the state that the index has.
        """
        apart = query.limited and not mentions_search(query.text)
        said: Iterable[str] = ()
        began = time.perf_counter()
        if apart:
            found, plain = self._index.apart(lambda store: self._begun(store, query.started()), progress)
        with self._index.view_lock, self._connection.lock:
            if not apart:
                began = time.perf_counter()  # not while others hold the lock
                found, plain, said = self._index.use(lambda store: self._found(store, query.started()), progress)
            count = self._counting if time.perf_counter() - began < _QUICK and not mentions_search(query.text) else None
            return answer(plain, found, self._index.forms, lambda: (*said, *self._notes.of(query, found, count)))

    def _counting(self, query: Query) -> Found:
        """Run a query that counts, which takes about as long as the quick query before it."""
        return self._run(self._index.store(), query.replaced(timeout=None, deadline=None, max_memory=None))

    def _begun(self, store: ox.Store, query: Query) -> Callable[[], tuple[Found, Query]]:
        began = time.perf_counter()
        with self._index.with_own(store, query):
            finish = begin(store, self._widened(query), self._running, self._index.merging)

        def finished() -> tuple[Found, Query]:
            try:
                return finish(), query
            finally:
                self._index.asked(time.perf_counter() - began)

        return finished

    def explain(
        self, query: Query, progress: Progress | None = None, *, counts: bool = True, answer: bool | None = None
    ) -> QueryExplanation:
        """Answer a query with its times; with `counts`, also the solutions of each pattern.

        The `answer` of an ASK that was asked before is not worked out again.
        """
        with self._index.view_lock, self._connection.lock, self._connection.snapshot():
            times = [time.perf_counter()]
            store = self._index.store(progress)
            times.append(time.perf_counter())
            query = query.started()
            plain, said = (query, ()) if answer is not None else self._plain(store, query)
            times.append(time.perf_counter())
            found = self._run(store, plain) if answer is None else answer
            times.append(time.perf_counter())
            milliseconds = [round((end - start) * 1000, 3) for start, end in pairwise(times)]
            return QueryExplanation(
                results=1 if isinstance(found, bool) else len(found),
                index="disk" if self._index.on_disk else "memory",
                quads=self._index.count,
                milliseconds=dict(zip(("index", "search", "evaluation"), milliseconds, strict=True)),
                evaluated=self._index.merging.reordered(store, plain).text,
                patterns=tuple(self._counted(store, query)) if counts else (),
                notes=(*said, *self._notes.of(query, found, self._counting if times[3] - times[2] < _QUICK else None)),
            )

    def _counted(self, store: ox.Store, query: Query) -> Iterator[PatternCount]:
        for line, column, pattern, counting in pattern_queries(query):
            if mentions_search(counting.text):
                continue
            began = time.perf_counter()
            count = None
            with contextlib.suppress(QueryTimeout):
                (row,) = self._run(store, counting.replaced(timeout=COUNTING).started())  # type: ignore[misc]  # a SELECT
                count = int(row[0].value)
            yield PatternCount(line, column, pattern, count, round((time.perf_counter() - began) * 1000, 3))

    def rows(self, query: Query) -> tuple[list[str], Iterator[Sequence[Term | None]]]:
        """The variables and the solutions of a SELECT."""
        with self._index.view_lock, self._connection.lock:
            found, plain, _ = self._index.use(lambda store: self._found(store, query.started()))
        assert isinstance(found, Selected)
        names = [variable.value for variable in found.variables]
        forms = self._index.forms
        if not forms:
            return names, iter(found)  # type: ignore[arg-type]  # a solution iterates as its terms
        matched = [name not in plain.computed for name in names]
        return names, (
            [forms.restored(term) if given else term for term, given in zip(solution, matched, strict=True)]
            for solution in found
        )

    def _found(self, store: ox.Store, query: Query) -> tuple[Found, Query, Iterable[str]]:
        """The answer of pyoxigraph, the query that it answered, and notes on the searches in it."""
        if not mentions_search(query.text):
            return self._run(store, query), query, ()
        with self._connection.snapshot():  # searches and w:similarity read the same state as the index
            store = self._index.store()
            plain, said = self._plain(store, query)
            return self._run(store, plain), plain, said

    def _plain(self, store: ox.Store, query: Query) -> tuple[Query, Iterable[str]]:
        """The query without its searches, and their notes."""
        if not mentions_search(query.text):
            return query, ()
        searcher = self._searcher(store, query)
        with ended_by(lambda: remaining(query.deadline)):
            return rewrite(query, searcher), searcher.notes

    def _run(self, store: ox.Store, query: Query) -> Found:
        began = time.perf_counter()
        self._running.grown(self._index.count)
        try:
            with self._index.with_own(store, query):
                return run(store, self._widened(query), self._running, self._index.merging)
        finally:
            self._index.asked(time.perf_counter() - began)

    def _widened(self, query: Query) -> Query:
        """The query, which knows whether the data have numbers that pyoxigraph has no room for."""
        wide = self._index.forms.wide
        return query if query.wide == wide else query.replaced(wide=wide)

    def _searcher(self, store: ox.Store, query: Query) -> WorldSearcher:
        return WorldSearcher(
            self._connection,
            self._dictionary,
            self._search,
            self._embeddings,
            self._recent,
            evaluate=lambda pattern: self._run(store, pattern),  # type: ignore[arg-type,return-value]  # a SELECT
            limits=query.limits,
            request=self._request,
            embedder=self._embedder,
        )
