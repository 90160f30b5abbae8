"""Counts over the texts that a search finds, by type, predicate, graph and language."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyoxigraph as ox

from worlds.core.quads.dictionary import DEFAULT_GRAPH_ID, Dictionary, Ids, json_ids
from worlds.core.search.candidates import read_cited, spread
from worlds.core.search.filters import Eligible, Filters
from worlds.core.search.origins import GraphSources
from worlds.core.texts.entity_facts import Facts
from worlds.graph.terms import RDF, shorten, to_rdflib
from worlds.sql import statements
from worlds.sql.bound_values import integers
from worlds.sql.connection import Connection

_SQL = statements("hits.sql")
Counts: TypeAlias = list[tuple[str, int]]
NAMES = ("types", "predicates", "graphs", "languages", "sources")

if TYPE_CHECKING:
    from worlds.core.search.request import SearchRequest


@dataclass(frozen=True)
class Facets:
    """Values and the number of texts that have each, the commonest first; among equals, in their order.

    The texts are all that match, however few hits were asked for: those that have one of the words, and those nearest
    by vectors, as many as each list has `candidates`; to a blank question, all that the filters let through. Each value
    is what the filter of the same name takes: an IRI, "default" for the default graph, "" for no language, the name of
    a source. A text has all types of all its subjects. `values` has the same of further predicates, by their IRIs: an
    IRI, or a literal as in N-Triples.
    """

    types: Counts
    predicates: Counts
    graphs: Counts
    languages: Counts
    sources: Counts = field(default_factory=list)
    values: Mapping[str, Counts] = field(default_factory=dict)

    def to_dict(self, prefixes: Mapping[str, str] | None = None) -> dict[str, list[dict[str, Any]]]:
        """The counts as JSON-ready values; `label` is the value for people, a prefixed name where there is one."""
        counted: dict[str, Counts] = {name: getattr(self, name) for name in NAMES} | dict(self.values)
        known = prefixes or {}
        return {
            name: [{"value": value, "label": _label(name, value, known), "count": count} for value, count in counts]
            for name, counts in counted.items()
        }


class FacetCounter:
    """Counts the facets of one world's searches."""

    def __init__(self, connection: Connection, dictionary: Dictionary, filters: Filters) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self._filters = filters
        self._facts = Facts(connection, dictionary)
        self._origins = GraphSources(connection)

    def count(
        self, match: str | None, nearest: Iterable[int], eligible: Eligible | None, request: SearchRequest
    ) -> Facets:
        """The facets of the chunks that match an FTS5 expression and of the nearest by vectors; or of a listing."""
        chunks = np.array(sorted(nearest), dtype=np.int64)
        if request.listing and eligible is not None:
            chunks = eligible.chunks
        if match is not None:
            statement = _SQL["matching_chunks"]
            chunks = np.union1d(chunks, self._connection.column(statement, statement.bind(match=match)))
        if eligible is not None:
            chunks = np.intersect1d(chunks, eligible.chunks)
        _, terms = self._connection.columns(_SQL["terms_of_chunks"], (json_ids(chunks),))
        cited = read_cited(self._connection, np.unique(terms), eligible or self._filters.citable())
        terms = terms[np.isin(terms, cited.owners)]
        literal = np.searchsorted(cited.owners, terms)
        owner, quad = spread(cited.starts[literal], cited.starts[literal + 1])
        subjects = cited.subjects[quad]
        graphs = self._named(owner, cited.graphs[quad])
        origins = self._origins.by_graph()
        return Facets(
            self._named(*self._values(owner, subjects, ox.NamedNode(RDF + "type"))),
            self._named(owner, cited.predicates[quad]),
            graphs,
            self._languages(terms),
            [(origins[graph].name, count) for graph, count in graphs if graph in origins],
            {one.value: self._named(*self._values(owner, subjects, one)) for one in request.facet},
        )

    def _values(self, owner: Ids, subjects: Ids, predicate: ox.NamedNode) -> tuple[Ids, Ids]:
        """Pairs of a chunk and a value of one of its subjects."""
        under = self._facts.numbers([predicate.value])
        listed = np.unique(subjects).tolist()
        table = self._facts.quads_by("quads_under", listed, predicates_json=json_ids(under))[:, [0, 2]]
        table = table[np.lexsort(table.T[::-1])]
        first, last = (np.searchsorted(table[:, 0], subjects, side=side) for side in ("left", "right"))
        which, row = spread(first, last)
        return owner[which], table[row, 1]

    def _named(self, owner: Ids, values: Ids) -> Counts:
        """Each value with the number of chunks that have it."""
        pairs = np.unique(np.stack([owner, values], axis=1), axis=0)
        numbers, counts = np.unique(pairs[:, 1], return_counts=True)
        terms = self._dictionary.terms(numbers.tolist())
        names = ["default" if number == DEFAULT_GRAPH_ID else _name(terms[number]) for number in numbers.tolist()]
        return ordered(dict(zip(names, counts.tolist(), strict=True)))

    def _languages(self, terms: Ids) -> Counts:
        literals, counts = np.unique(terms, return_counts=True)
        rows = self._connection.rows(_SQL["languages_of_terms"], (json_ids(literals),))
        found = {tag: int(counts[np.searchsorted(literals, integers(ids))].sum()) for tag, ids in rows}
        without = len(terms) - sum(found.values())
        return ordered({**found, **({"": without} if without else {})})


def _name(term: Any) -> str:
    return str(to_rdflib(term)) if isinstance(term, ox.NamedNode) else str(term)


def ordered(counts: Mapping[str, int]) -> Counts:
    """Values and their counts, the commonest first; among equals, in their order."""
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def _label(facet: str, value: str, prefixes: Mapping[str, str]) -> str:
    if facet == "languages":
        return value or "no language"
    if facet == "graphs" and value == "default":
        return "default graph"
    return value[1 : value.rindex('"')] if value.startswith('"') else shorten(value, prefixes)
