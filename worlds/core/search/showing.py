"""From candidates to hits: the quads that they may cite, and what they show of the world besides their texts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyoxigraph as ox

from worlds.core.quads.dictionary import Dictionary, json_ids
from worlds.core.quads.rows import find_quads
from worlds.core.search.annotated import Reifiers
from worlds.core.search.candidate_facts import texts_of
from worlds.core.search.candidates import Candidates, Cited, Fused, read_passages
from worlds.core.search.filters import Eligible, Filters
from worlds.core.search.hits import Hit, Leg, ResultType
from worlds.core.search.origins import GraphSources, Origin, place_of
from worlds.core.search.request import SearchRequest
from worlds.core.texts.entity_facts import Facts
from worlds.core.texts.languages import as_written
from worlds.core.texts.policy import DOCUMENT, TEXT
from worlds.sql import STATEMENT, statements
from worlds.sql.bound_values import as_text
from worlds.sql.connection import Connection

_SQL = statements("hits.sql")
_DOCUMENT = ox.NamedNode(DOCUMENT)
_NAMED = 10_000  # subjects whose labels and types are remembered


@dataclass(frozen=True)
class HitContents:
    """The contents of hits: quads by candidate, texts by chunk, terms by id, labels and types by subject."""

    quads: dict[int, list[tuple[int, int, int, int]]]
    texts: dict[int, str]
    terms: dict[int, Any]  # the engine's own; None for the default graph
    labels: dict[int, str | None]
    types: dict[int, list[int]]
    annotated: dict[int, list[tuple[int, int, int]]]  # the triples that a subject reifies
    origins: Mapping[str, Origin]  # by the IRI of a graph
    entailed: bool  # whether the world holds conclusions


class HitMaker:
    """Makes the hits of one world's searches."""

    def __init__(self, connection: Connection, dictionary: Dictionary, filters: Filters) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self._filters = filters
        self._facts = Facts(connection, dictionary)
        self._origins = GraphSources(connection)
        self._reifiers = Reifiers(connection, dictionary)

    def cited(self, rows: Sequence[Fused], eligible: Eligible | None) -> Cited:
        """The quads that rows of the statement may cite."""
        return read_passages(self._connection, rows, eligible, self._filters.citable())

    def shown(self, chosen: Sequence[int], found: Candidates, cited: Cited) -> HitContents:
        """Read the contents of the hits of these candidates from the world, all at once."""
        rows = [found.rows[found.row[candidate]] for candidate in chosen]
        quads = dict(zip(chosen, cited.of_each([row.chunk for row in rows]), strict=True))
        for candidate in chosen:
            if subject := int(found.subject[candidate]):  # that of hits by subject
                quads[candidate] = [quad for quad in quads[candidate] if quad[0] == subject]
        first = [some[0] for some in quads.values()]
        subjects = {quad[0] for quad in first}
        named = self._named(subjects)
        types = {one: named[one][1] for one in subjects}
        paths = [quad for row in rows if row.related is not None for quad in row.related.path]
        needed = {number for quad in (*first, *paths) for number in quad}
        needed |= {number for group in types.values() for number in group}
        annotated = self._reifiers.triples(subjects)
        needed |= {number for triples in annotated.values() for triple in triples for number in triple}
        texts = texts_of(self._connection, rows)
        return HitContents(
            quads,
            {row.chunk: text for row, text in zip(rows, texts, strict=True)},
            self._dictionary.terms(needed) | {0: None},
            {one: named[one][0] for one in subjects},
            types,
            annotated,
            self._origins.by_graph(),
            bool(self._connection.meta("entailed")),
        )

    def _named(self, subjects: set[int]) -> dict[int, tuple[str | None, list[int]]]:
        """The labels and types of subjects, and of others that hits had since the world changed last."""
        named: dict[int, tuple[str | None, list[int]]] = self._connection.remembered("subjects of hits", dict)
        if len(named) > _NAMED:
            named.clear()
        if new := subjects - named.keys():
            labels, types = self._facts.labels_and_types(self._filters.policy, new)
            named |= {one: (labels[one].label if one in labels else None, types.get(one, [])) for one in new}
        return named

    def hits(
        self,
        chosen: Sequence[int],
        scores: Sequence[float],
        found: Candidates,
        shown: HitContents,
        request: SearchRequest,
        match: str | None,
        *,
        explain: bool,
    ) -> list[Hit]:
        """The hits of these candidates, which have these scores, in their order."""
        rows = [found.rows[found.row[candidate]] for candidate in chosen]
        snippets = self._snippets(match, {row.chunk: shown.texts[row.chunk] for row in rows})
        follow = self._follow if shown.entailed else None
        hits: list[Hit] = []
        for candidate, score, row in zip(chosen, scores, rows, strict=True):
            quads = shown.quads[candidate]
            subject, predicate, literal, graph = quads[0]
            origin = shown.origins.get(shown.terms[graph].value) if graph else None
            path = None if origin is None else origin.path(shown.terms[subject].value)
            hits.append(
                Hit(
                    score=score,
                    text=shown.texts[row.chunk],
                    subject=shown.terms[subject],
                    predicate=shown.terms[predicate],
                    graph=shown.terms[graph],
                    literal=shown.terms[literal],
                    start=row.start,
                    end=row.end,
                    label=shown.labels.get(subject),
                    types=tuple(shown.terms[number] for number in shown.types.get(subject, ())),
                    explain=_legs(row, request) if explain else None,
                    steps=None,
                    chunk=row.chunk,
                    path=tuple(
                        (shown.terms[s], shown.terms[p], shown.terms[o], shown.terms[g])
                        for s, p, o, g in (() if row.related is None else row.related.path)
                    ),
                    annotates=tuple(
                        (shown.terms[s], shown.terms[p], shown.terms[o]) for s, p, o in shown.annotated.get(subject, ())
                    ),
                    source=None if origin is None else origin.name,
                    source_kind=None if origin is None else origin.kind,
                    uri=path,
                    _place=None
                    if origin is None or path is None or shown.terms[predicate].value != TEXT
                    else partial(self._placed, origin.name, path, shown.terms[literal].value, row.start, row.end),
                    result_type=_result_type(row.term, shown.terms, shown.types.get(subject, ()), path),
                    _follow=follow,
                    _quads=quads,
                    _dictionary=self._dictionary,
                    _snippets=snippets,
                    _made_from=partial(self._filters.cited, [quad[2] for quad in quads], row.start)
                    if row.term < 0
                    else None,
                )
            )
        return hits

    def _follow(self, quads: list[tuple[int, int, int, int]]) -> list[bool]:
        """Mask of the quads that are conclusions, in a world with its conclusions."""
        rows = find_quads(self._connection, np.array(quads, dtype=np.int64).reshape(-1, 4))
        written = {place for place, _, revision in rows if revision}
        return [place not in written for place in range(len(quads))]

    def _placed(self, source: str, path: str, text: str, start: int, end: int) -> dict[str, Any] | None:
        return place_of(self._origins.places(source, path), text, start, end)

    def _snippets(self, match: str | None, texts: dict[int, str]) -> Callable[[], dict[int, str]]:
        """A function that returns the highlighted texts of all hits by chunk id, computed on first call."""
        cache: dict[int, str] | None = None

        def highlighted() -> dict[int, str]:
            nonlocal cache
            if cache is None:
                cache = {}
                if match is not None:
                    statement = _SQL["highlights"]
                    rows = self._connection.rows(statement, statement.bind(match=match, ids_json=json_ids(texts)))
                    cache = {chunk: as_written(as_text(text), texts[chunk]) for chunk, text in rows}
            return cache

        return highlighted


def _legs(row: Fused, request: SearchRequest) -> dict[str, Leg]:
    """The share of each list in a score, and of the bonus for the label that was asked."""
    legs: dict[str, Leg] = {}
    if row.similarity is not None:  # rounding brings it above 1
        legs["vector"] = _leg(row, request, "vector", row.vector_rank, min(row.similarity, 1.0), row.vector_score)
    if row.bm25 is not None:
        legs["text"] = _leg(row, request, "text", row.text_rank, row.bm25, row.text_score)
    if row.label_score is not None:
        legs["label"] = Leg(1, 1.0, 1.0, row.label_score)
    return legs


def _leg(row: Fused, request: SearchRequest, name: str, rank: int | None, value: float, score: float | None) -> Leg:
    factors = {"weight": request.weights[name], "role": row.weight, "pending": row.pending}
    if name == "text":
        factors["coverage"] = row.coverage
    factors = {factor: number for factor, number in factors.items() if factor == "weight" or number != 1}
    part = (score or 0.0) * row.weight * row.pending
    return Leg(rank, value, math.prod(factors.values()), part, factors)


def _result_type(term: int, terms: Mapping[int, Any], types: Sequence[int], path: str | None) -> ResultType:
    if term < 0:
        return "statement" if term < -STATEMENT else "entity"
    return "document" if path is not None or any(terms[one] == _DOCUMENT for one in types) else "literal"
