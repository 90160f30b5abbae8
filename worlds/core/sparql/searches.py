"""Performs the searches that a SPARQL query holds, and computes `w:similarity`, over one world."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
import pyoxigraph as ox
from numpy.typing import NDArray

from worlds.core.embedders import Embedder, checked_documents, checked_query
from worlds.core.quads.dictionary import Dictionary
from worlds.core.search.engine import SearchEngine
from worlds.core.search.hits import Hit, SearchResults
from worlds.core.search.options import gathered
from worlds.core.search.request import SearchRequest
from worlds.core.search.words import MAX_CHARS
from worlds.core.vectors.embedding import Embeddings
from worlds.graph.query.query import Query
from worlds.graph.query.query_limits import Limits
from worlds.graph.search.rewriting import Function
from worlds.graph.terms import Term
from worlds.sql import statements
from worlds.sql.connection import Connection

_SQL = statements("functions.sql")
_REMEMBERED = 16  # queries whose surroundings are kept
_MOST_ROWS = 200_000  # solutions of one that are kept
_MOST_TEXTS = 10_000  # whose vectors one query keeps

Rows: TypeAlias = "list[tuple[Term | None, ...]]"


class _Subjects(tuple["Term", ...]):
    """The subjects of a filter: thousands, maybe, so that their hash is worth keeping."""

    _hash: int | None = None

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = super().__hash__()
        return self._hash


class RecentSolutions:
    """A cache of the solutions around the searches of recent queries, valid until the world changes."""

    def __init__(self) -> None:
        self._recent: OrderedDict[Hashable, Rows] = OrderedDict()
        self._state: object = None

    def rows(self, key: Hashable, state: object, find: Callable[[], Rows]) -> Rows:
        """The cached rows of a key and state, or those that `find` returns."""
        if state != self._state:
            self._recent.clear()
            self._state = state
        rows = self._recent.get(key)
        if rows is None:
            rows = find()
            if len(rows) <= _MOST_ROWS:
                self._recent[key] = rows
                while len(self._recent) > _REMEMBERED:
                    self._recent.popitem(last=False)
        else:
            self._recent.move_to_end(key)
        return rows


@dataclass(frozen=True)
class WorldSearcher:
    """The `worlds.graph.search.rewriting.Searcher` of a world and a query.

    `evaluate` evaluates a SELECT, `limits` are the query's, for the patterns of its searches. `request` makes a
    SearchRequest of the options of World.search, and `embedder` gives the world's, or raises EmbedderError.
    """

    connection: Connection
    dictionary: Dictionary
    engine: SearchEngine
    embeddings: Embeddings
    recent: RecentSolutions
    evaluate: Callable[[Query], Rows]
    limits: Limits
    request: Callable[..., SearchRequest]
    embedder: Callable[[], Embedder]
    notes: dict[str, None] = field(default_factory=dict)  # what the searches could not do, each once

    def select(self, query: Query) -> Rows:
        """The solutions of a SELECT, by position."""

        def rows() -> Rows:
            return [tuple(solution) for solution in self.evaluate(query)]

        if query.functions:  # what they give is not the world's alone
            return rows()
        graphs = [None if given is None else tuple(given) for given in (query.default_graphs, query.named_graphs)]
        key = (query.text, query.union, *graphs, tuple(query.prefixes.items()), tuple(query.bindings.items()))
        return self.recent.rows(key, self.engine.state(), rows)

    def search(
        self, options: Mapping[str, Any], subjects: Collection[Term] | None, wanted: Collection[str]
    ) -> Iterable[Mapping[str, Any]]:
        """The `wanted` values of each hit and each of its quads, best first."""
        request = self.request(**gathered(options), limits=self.limits)
        if subjects is not None:
            conditions = request.filter.include
            allowed = [term for term in subjects if isinstance(term, ox.NamedNode | ox.BlankNode)]
            if conditions.subjects is not None:
                asked = set(conditions.subjects)
                allowed = [term for term in allowed if term in asked]
            if not allowed:
                return []
            narrowed = replace(conditions, subjects=_Subjects(allowed))
            request = replace(request, filter=replace(request.filter, include=narrowed))
        with self.connection.snapshot():
            found = self.engine.run(request, explain=True)
            self.notes.update(dict.fromkeys(found.notes))
            return list(self._rows(found, wanted))

    def _rows(self, results: SearchResults, wanted: Collection[str]) -> Iterator[dict[str, Any]]:
        cited = [hit._quads for hit in results]  # as ids: as rdflib's terms they would take most of the time
        terms = self.dictionary.terms({number for quads in cited for quad in quads for number in quad})
        several = {quad[0] for quads in cited if len(quads) > 1 for quad in quads} if "label" in wanted else set()
        labels = self.engine.labels(several) if several else {}
        cursor = results.cursor if "cursor" in wanted else None
        for rank, (hit, quads) in enumerate(zip(results, cited, strict=True), 1):
            row = {**_of_hit(hit, rank, wanted), "cursor": cursor}
            for subject, predicate, number, graph in quads:
                literal = terms[number]
                if len(quads) > 1:
                    row["label"] = labels.get(subject)
                yield {
                    **row,
                    "subject": terms[subject],
                    "predicate": terms[predicate],
                    "object": literal,
                    "language": literal.language or "",
                    "graph": terms[graph] if graph else None,
                }

    def similarity(self) -> Function:
        """The cosine similarity of two texts, as a function of terms; EmbedderError without an embedder that fits."""
        embedder = self.embedder()
        self.embeddings.require(embedder)
        return _Similarity(self.connection, self.dictionary, embedder, stored=self.embeddings.stored is not None)


def _of_hit(hit: Hit, rank: int, wanted: Collection[str]) -> dict[str, Any]:
    legs = hit.explain or {}
    vector, text = legs.get("vector"), legs.get("text")
    row: dict[str, Any] = {
        "hit": hit.chunk,
        "text": hit.text,
        "label": hit.label,
        "start": hit.start,
        "end": hit.end,
        "score": hit.score,
        "rank": rank,
        "vectorRank": vector and vector.rank,
        "vectorScore": vector and vector.value,
        "textRank": text and text.rank,
        "textScore": text and text.value,
    }
    if "snippet" in wanted:
        row["snippet"] = hit.snippet
    if "marked" in wanted:
        row["marked"] = hit._snippets().get(hit.chunk, hit.text)
    return row


class _Similarity:
    """Compares texts during one query: stored vectors where there are any, else the embedder's, each once."""

    def __init__(self, connection: Connection, dictionary: Dictionary, embedder: Embedder, *, stored: bool) -> None:
        self._any_stored = stored
        self._connection = connection
        self._dictionary = dictionary
        self._embedder = embedder
        self._known: dict[tuple[ox.Literal, bool], NDArray[np.float32] | None] = {}

    def __call__(self, text: Term, query: Term) -> ox.Literal | None:
        """The cosine, of the most similar passages where texts have several; None for what is no text."""
        ours, theirs = self._vectors(text, asks=False), self._vectors(query, asks=True)
        if ours is None or theirs is None:
            return None
        return ox.Literal(float(np.clip((ours @ theirs.T).max(), -1, 1)))

    def _vectors(self, term: Term, *, asks: bool) -> NDArray[np.float32] | None:
        """float32 [passages, d] of unit length."""
        if not isinstance(term, ox.Literal) or not term.value.strip():
            return None
        if (term, asks) not in self._known:
            if len(self._known) >= _MOST_TEXTS:
                self._known.clear()
            self._known[term, asks] = self._stored(term)
            if self._known[term, asks] is None:
                self._known[term, asks] = self._embedded(term.value, asks=asks)
        return self._known[term, asks]

    def _stored(self, literal: ox.Literal) -> NDArray[np.float32] | None:
        number = self._dictionary.find([literal])[0] if self._any_stored else None
        rows = [] if number is None else self._connection.rows(_SQL["vectors_of_term"], (number,))
        if not rows:
            return None
        return np.frombuffer(b"".join(blob for (blob,) in rows), dtype="<f4").reshape(len(rows), -1)

    def _embedded(self, text: str, *, asks: bool) -> NDArray[np.float32] | None:
        readable = text[:MAX_CHARS].encode("utf-8", "replace").decode()
        if asks:
            return checked_query(self._embedder, readable)[np.newaxis]
        rows, usable = checked_documents(self._embedder, [readable])
        return rows if usable[0] else None
