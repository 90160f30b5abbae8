"""The group patterns over ?subject that filters and boosts of searches have, evaluated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyoxigraph as ox

from worlds.core.quads.namespaces import Namespaces
from worlds.core.sparql.index import SparqlIndex
from worlds.errors import FilterError, QueryError, QueryTimeout
from worlds.graph.query.evaluation import Selected, begin
from worlds.graph.query.query import Query
from worlds.graph.query.query_limits import Limits, deadline_of
from worlds.graph.query.running import Running


class SubjectPatterns:
    """Evaluates patterns over the SPARQL index of one world; `timeout`, in seconds, limits each."""

    def __init__(self, index: SparqlIndex, running: Running, namespaces: Namespaces) -> None:
        self._index = index
        self._running = running
        self._namespaces = namespaces
        self.timeout: float | None = None

    def subjects(self, pattern: str, graphs: Sequence[Any] | None, limits: Limits | None = None) -> list[Any]:
        """The ?subject values of a group pattern, over the union of all graphs or the given ones; FilterError.

        `limits` are those of the query that the search stands in.
        """
        limits = limits or Limits(deadline_of(self.timeout))
        query = Query(
            f"SELECT DISTINCT ?subject WHERE {{\n{pattern}\n}}",
            self._namespaces.prefixes,
            union=graphs is None,
            default_graphs=graphs,
            deadline=limits.deadline,
            max_memory=limits.max_memory,
            wide=self._index.forms.wide,
        )
        try:
            asked = self._seen(query)
            found = self._index.apart(lambda store: begin(store, asked, self._running, self._index.merging))
        except QueryTimeout:
            raise
        except QueryError as error:
            if error.kind == "interrupted":
                raise
            what = str(error)
            if error.line is not None:  # where the pattern's own first line is the second
                what = f"line {error.line - 1}, column {error.column}: {what.partition(': ')[2]}"
                if not 2 <= error.line <= pattern.count("\n") + 2:
                    what = "it ends too early, or closes a group that it has not opened"
            raise FilterError(f"where takes a SPARQL group pattern over ?subject: {what}") from error
        assert isinstance(found, Selected)
        terms = [one[0] for one in found]
        subjects = [term for term in terms if isinstance(term, (ox.NamedNode, ox.BlankNode))]
        if not subjects and _only_filters(query):
            raise FilterError(f"where has to bind ?subject before a FILTER, as ?subject ?p ?o does: {pattern!r}")
        return subjects

    def _seen(self, query: Query) -> Query:
        """The query as the index answers it."""
        return query


def _only_filters(query: Query) -> bool:
    """Whether nothing in a query's pattern can bind a variable."""
    body = query.shape.query.body
    return body is not None and all(element.kind in ("filter", "minus") for element in body.elements)
