"""SPARQL over one world: its index, the searches that a query holds, and the forms that its data was given in."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, TypeVar

import pyoxigraph as ox

from worlds.embedders import Embedder
from worlds.errors import FilterError, QueryError, QueryTimeout
from worlds.graph.query.evaluation import Selected, run
from worlds.graph.query.given import as_given, restorable
from worlds.graph.query.limits import Running, deadline_of, remaining
from worlds.graph.query.results import Solutions, Triples, projected_variables
from worlds.graph.query.shape import Shape
from worlds.graph.query.tokens import tokenize
from worlds.graph.search.rewriting import NAMESPACE, Function, Rewritten, mentions_search, rewrite
from worlds.graph.terms import Term
from worlds.quads.dictionary import Dictionary
from worlds.search.engine import Search
from worlds.search.request import Request
from worlds.sparql.explaining import PatternCount, QueryExplanation, pattern_queries
from worlds.sparql.index import Progress, SparqlIndex
from worlds.sparql.searches import Surroundings, WorldSearcher
from worlds.sql.connection import Connection
from worlds.vectors.embedding import Embeddings

T = TypeVar("T")
_COUNTING = 1.0  # seconds, at most, to count the solutions of one pattern
_DAMAGED = ("Corruption", "IO error", "No such file")  # what RocksDB says of a store that it cannot read

_log = logging.getLogger("worlds")


@dataclass(frozen=True)
class Asked:
    """A query, or the pattern of an update, and how it is to be evaluated; see `worlds.graph.evaluation.run`."""

    query: str
    prefixes: Mapping[str, str]
    bindings: Mapping[str, Any] = field(default_factory=dict)
    union: bool = False
    default_graphs: Sequence[Any] | None = None
    named_graphs: Sequence[Any] | None = None
    timeout: float | None = None
    max_results: int | None = None
    max_memory: int | None = None
    allow_network: bool | Collection[str] = False

    @property
    def dataset(self) -> dict[str, Any]:
        """What it is evaluated over."""
        return {
            "union": self.union,
            "default_graphs": self.default_graphs,
            "named_graphs": self.named_graphs,
            "bindings": self.bindings,
            "max_memory": self.max_memory,
            "allow_network": self.allow_network,
        }


class Queries:
    """Answers the queries of one world."""

    def __init__(
        self,
        connection: Connection,
        dictionary: Dictionary,
        index: SparqlIndex,
        search: Search,
        embeddings: Embeddings,
        *,
        request: Callable[..., Request],
        embedder: Callable[[], Embedder],
    ) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self._index = index
        self._embeddings = embeddings
        self._search = search
        self._request = request
        self._embedder = embedder
        self._surroundings = Surroundings()
        self._running = Running()
        self._limits: dict[str, Any] = {}  # of the query that is being answered
        self.pattern_timeout: float | None = None

    def interrupt(self) -> None:
        """Stop the query that runs in a process of its own."""
        self._running.interrupt()

    def answer(self, asked: Asked, progress: Progress | None = None) -> Solutions | Triples | bool:
        """`Solutions` for SELECT, a bool for ASK, `Triples` for CONSTRUCT and DESCRIBE."""
        with self._connection.lock:
            found, text = self._with_index(lambda store: self._found(store, asked), progress)
            if isinstance(found, bool):
                return found
            answer: Solutions | Triples
            if isinstance(found, Selected):
                answer = Solutions(found, projected_variables(text, [one.value for one in found.variables]))
            else:
                answer = Triples(found, asked.prefixes)
            forms = self._index.forms
            return as_given(answer, text, forms.restored, asked.bindings) if forms else answer

    def explain(self, asked: Asked, progress: Progress | None = None) -> QueryExplanation:
        """Answer a query, and tell how."""
        with self._connection.lock, self._connection.snapshot():
            times = [time.perf_counter()]
            store = self._index.store(progress)
            times.append(time.perf_counter())
            deadline = deadline_of(asked.timeout)
            plain = self._plain(store, asked, deadline)
            times.append(time.perf_counter())
            found = self._run(store, plain.query, plain.prefixes, plain.functions, deadline, asked)
            times.append(time.perf_counter())
            milliseconds = [round((end - start) * 1000, 3) for start, end in pairwise(times)]
            return QueryExplanation(
                results=1 if isinstance(found, bool) else len(found),
                index="disk" if self._index.on_disk else "memory",
                quads=self._index.count,
                milliseconds=dict(zip(("index", "search", "evaluation"), milliseconds, strict=True)),
                evaluated=plain.query,
                patterns=tuple(self._counted(store, asked)),
            )

    def _counted(self, store: ox.Store, asked: Asked) -> Iterator[PatternCount]:
        for line, column, pattern, query in pattern_queries(asked.query):
            if mentions_search(query):
                continue
            began = time.perf_counter()
            count = None
            with contextlib.suppress(QueryTimeout):
                (row,) = self._run(store, query, asked.prefixes, None, time.monotonic() + _COUNTING, asked)
                count = int(row[0].value)
            yield PatternCount(line, column, pattern, count, round((time.perf_counter() - began) * 1000, 3))

    def rows(self, asked: Asked) -> tuple[list[str], Iterator[Sequence[Term | None]]]:
        """The variables and the solutions of a SELECT."""
        with self._connection.lock:
            found, text = self._with_index(lambda store: self._found(store, asked))
        assert isinstance(found, Selected)
        names = [variable.value for variable in found.variables]
        forms = self._index.forms
        if not forms:
            return names, iter(found)  # type: ignore[arg-type]  # a solution iterates as its terms
        plain = restorable(names, text) - asked.bindings.keys()
        kept = [name in plain for name in names]
        return names, (
            [forms.restored(term) if given else term for term, given in zip(solution, kept, strict=True)]
            for solution in found
        )

    def subjects(self, pattern: str, prefixes: Mapping[str, str], graphs: list[Any] | None) -> list[Any]:
        """The ?subject of a group pattern, over the union of all graphs or of those given; FilterError."""
        query = f"SELECT DISTINCT ?subject WHERE {{\n{pattern}\n}}"
        asked = Asked(query, prefixes, union=graphs is None, default_graphs=graphs)
        limits = self._limits or {"deadline": deadline_of(self.pattern_timeout)}
        dataset = {**asked.dataset, "max_memory": limits.get("max_memory"), "running": self._running}
        try:
            found = self._with_index(
                lambda store: run(store, query, prefixes=prefixes, timeout=remaining(limits["deadline"]), **dataset)
            )
        except QueryTimeout:
            raise
        except QueryError as error:
            what = str(error)
            if error.line is not None:  # where the pattern's own first line is the second
                what = f"line {error.line - 1}, column {error.column}: {what.partition(': ')[2]}"
                if error.line > pattern.count("\n") + 2:
                    what = "it ends too early, or closes a group that it has not opened"
            raise FilterError(f"where takes a SPARQL group pattern over ?subject: {what}") from error
        assert isinstance(found, Selected)
        terms = [one[0] for one in found]
        subjects = [term for term in terms if isinstance(term, (ox.NamedNode, ox.BlankNode))]
        if not subjects and _only_filters(query):
            raise FilterError(f"where has to bind ?subject before a FILTER, as ?subject ?p ?o does: {pattern!r}")
        return subjects

    def _with_index(self, work: Callable[[ox.Store], T], progress: Progress | None = None) -> T:
        """Do something with the index, once more with another one if this one's files turn out to be damaged."""
        try:
            return work(self._index.store(progress))
        except QueryError as error:
            if not self._index.on_disk or not any(sign in str(error) for sign in _DAMAGED):
                raise
            _log.warning("%s: the SPARQL cache is damaged, and is built anew: %s", self._connection.path, error)
            self._index.discard()
            return work(self._index.store(progress))

    def _found(self, store: ox.Store, asked: Asked) -> tuple[Any, str]:
        """What pyoxigraph answers, and to which text."""
        deadline = deadline_of(asked.timeout)
        if not isinstance(asked.query, str) or not mentions_search(asked.query):
            return self._run(store, asked.query, asked.prefixes, None, deadline, asked), asked.query
        with self._connection.snapshot():  # searches and w:similarity read the same state as the index
            store = self._index.store()
            plain = self._plain(store, asked, deadline)
            return self._run(store, plain.query, plain.prefixes, plain.functions, deadline, asked), plain.query

    def _plain(self, store: ox.Store, asked: Asked, deadline: float | None) -> Rewritten:
        """The query without searches."""
        if not mentions_search(asked.query):
            return Rewritten(asked.query, asked.prefixes)
        searcher = self._searcher(store, asked, deadline)
        self._limits = {"deadline": deadline, "max_memory": asked.max_memory}  # the patterns of searches have them, too
        try:
            return rewrite(
                asked.query, prefixes=asked.prefixes, searcher=searcher, bindings=asked.bindings, deadline=deadline
            )
        finally:
            self._limits = {}

    def _run(
        self,
        store: ox.Store,
        query: str,
        prefixes: Mapping[str, str],
        functions: Mapping[ox.NamedNode, Function] | None,
        deadline: float | None,
        asked: Asked,
    ) -> Any:
        return run(
            store,
            query,
            prefixes=prefixes,
            functions=functions,
            timeout=remaining(deadline),
            max_results=asked.max_results,
            running=self._running,
            **asked.dataset,
        )

    def _searcher(self, store: ox.Store, asked: Asked, deadline: float | None) -> WorldSearcher:
        names = {"w": NAMESPACE, **asked.prefixes}

        def solutions(pattern: str, functions: Mapping[ox.NamedNode, Function]) -> Any:
            return self._run(store, pattern, names, functions, deadline, replace(asked, max_results=None))

        graphs = [None if given is None else tuple(given) for given in (asked.default_graphs, asked.named_graphs)]
        return WorldSearcher(
            self._connection,
            self._dictionary,
            self._search,
            self._embeddings,
            self._surroundings,
            evaluate=solutions,
            dataset=(asked.union, *graphs, tuple(asked.prefixes.items()), tuple(asked.bindings.items())),
            request=self._request,
            embedder=self._embedder,
        )


def _only_filters(query: str) -> bool:
    """Whether nothing in a query's pattern can bind a variable."""
    body = Shape(query, tokenize(query)).query.body
    return body is not None and all(element.kind in ("filter", "minus") for element in body.elements)
