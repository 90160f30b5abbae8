"""Hybrid search: plans the vector leg, puts the one statement together, and reads hits from its rows."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyoxigraph as ox
from numpy.typing import NDArray

from worlds.codes import Codes
from worlds.dictionary import Dictionary, json_ids
from worlds.errors import QueryError, WorldsError
from worlds.filters import Eligible, Filter, Filters
from worlds.graph.terms import to_rdflib
from worlds.hits import Explanation, Hit, Leg, SearchResults
from worlds.sql import Statement, compile_statement, statements, texts
from worlds.sql.connection import Connection, Row
from worlds.textquery import to_match

_SQL = statements("queries.sql")
_HITS = statements("hits.sql")
_PIECES = texts("search.sql")

MODES = ("hybrid", "vector", "text")
PLANS = ("auto", "exact", "codes", "index")
EXACT = 1000  # vectors up to which comparing all of them is cheapest
EXACT_WITHOUT_CODES = 4000  # the same while the codes are not in memory
INDEX_FROM = 4_000_000  # vectors from which on the native index beats the scan of the codes
INDEX_CANDIDATES = 400  # the most that the index gives, its search_l

LABELS = (
    "http://www.w3.org/2004/02/skos/core#prefLabel",
    "http://www.w3.org/2000/01/rdf-schema#label",
    "https://schema.org/name",
    "http://schema.org/name",
    "http://xmlns.com/foaf/0.1/name",
    "http://purl.org/dc/terms/title",
    "http://purl.org/dc/elements/1.1/title",
)
_SHOWN = 200  # characters of an expression that an error repeats
_RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"


@dataclass(frozen=True)
class Request:
    """One search, checked."""

    text: str
    mode: str
    limit: int
    k: float
    weights: Mapping[str, float]  # "vector", "text"
    candidates: int  # the depth of each leg's list
    plan: str
    syntax: str
    filter: Filter
    vector: NDArray[np.float32] | None  # float32 [d], unit length; None leaves the vector leg out
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Plan:
    name: str
    reason: str
    values: dict[str, object]
    compared: int | None


class Search:
    """Answers searches over one world."""

    def __init__(self, connection: Connection, dictionary: Dictionary, filters: Filters, codes: Codes) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self._filters = filters
        self._codes = codes

    def state(self) -> tuple[Any, ...]:
        """What tells one state of the world from another."""
        return (*self._connection.rows(_SQL["state"])[0], self._connection.rollbacks)

    # -- the statement --------------------------------------------------------------------------------------------

    def prepare(
        self, request: Request, state: tuple[Any, ...]
    ) -> tuple[Statement, tuple[object, ...], Explanation, Eligible | None]:
        """The statement of a search, its parameters, and what is known of it before it runs."""
        began = time.perf_counter()
        eligible = self._filters.eligible(request.filter, state) if request.filter.any else None
        filtered = time.perf_counter()
        depth = max(request.candidates, request.limit)
        values: dict[str, object] = {
            "k": float(request.k),
            "depth": depth,
            "limit": request.limit,
            "eligible": None if eligible is None else eligible.mask,
            "vector_weight": float(request.weights["vector"]),
            "text_weight": float(request.weights["text"]),
        }
        ctes: list[str] = []
        legs: list[str] = []
        plan = None
        if request.vector is not None:
            plan = self._plan(request, depth, eligible, state)
            values |= plan.values
            values["query"] = request.vector.astype("<f4").tobytes()
            ctes += [
                _PIECES["candidates_index" if plan.name == "index" else "candidates_given"],
                _PIECES["vector_leg"],
            ]
            legs.append(_PIECES["vector_contributions"])
        match = None
        if request.mode != "vector":
            match = to_match(request.text) if request.syntax == "words" else _fts5(request.text)
            if match is not None:
                values["match"] = match
                ctes.append(_PIECES["text_leg"])
                legs.append(_PIECES["text_contributions"])
        if not legs:
            values["match"] = '""'  # matches nothing: a text search for no words
            ctes.append(_PIECES["text_leg"])
            legs.append(_PIECES["text_contributions"])
        union = "\nUNION ALL\n".join(leg.strip() for leg in legs)
        ctes.append(f"contributions AS (\n{union}\n)")
        ctes.append(_PIECES["fused"])
        statement = compile_statement("WITH\n" + ",\n".join(piece.strip() for piece in ctes))
        parameters = statement.bind(**values)
        planned = time.perf_counter()
        explanation = Explanation(
            mode="text" if request.vector is None else "hybrid" if match is not None else "vector",
            plan=None if plan is None else plan.name,
            reason="no vector leg" if plan is None else plan.reason,
            eligible=None if eligible is None else len(eligible.chunks),
            compared=None if plan is None else plan.compared,
            match=match,
            notes=request.notes,
            milliseconds={"filter": (filtered - began) * 1e3, "plan": (planned - filtered) * 1e3},
            sql=statement.sql,
            parameters=parameters,
        )
        return statement, parameters, explanation, eligible

    def _plan(self, request: Request, depth: int, eligible: Eligible | None, state: tuple[Any, ...]) -> _Plan:
        assert request.vector is not None
        if request.plan == "index":
            return self._index_plan(depth, eligible, "as asked")
        codes = self._codes
        if eligible is not None and request.plan != "codes":
            most = EXACT if len(codes) else EXACT_WITHOUT_CODES
            count = len(eligible.vectors)
            if count <= most or request.plan == "exact":
                reason = "as asked" if request.plan == "exact" else f"{count:,} eligible vectors are at most {most:,}"
                return _Plan("exact", reason, {"candidates_json": eligible.vectors_json}, count)
        codes.refresh(state[1], state[2])
        total = len(codes)
        if eligible is None:
            if request.plan == "exact" or (request.plan == "auto" and total <= EXACT):
                reason = "as asked" if request.plan == "exact" else f"{total:,} vectors are at most {EXACT:,}"
                return _Plan("exact", reason, {"candidates_json": json_ids(codes.ids)}, total)
            if request.plan == "auto" and total >= INDEX_FROM:
                return self._index_plan(
                    depth, eligible, f"no filter, and {total:,} vectors are at least {INDEX_FROM:,}"
                )
        nearest = codes.nearest(request.vector, depth, None if eligible is None else eligible.vectors)
        of = total if eligible is None else len(eligible.vectors)
        reason = "as asked" if request.plan == "codes" else f"{of:,} vectors to choose from"
        return _Plan("codes", reason, {"candidates_json": json_ids(nearest)}, len(nearest))

    def _index_plan(self, depth: int, eligible: Eligible | None, reason: str) -> _Plan:
        if eligible is not None:
            raise WorldsError("the plan 'index' cannot be filtered without losing recall; use 'auto'")
        if self._connection.row(_SQL["find_vector_index"]) is None:
            raise WorldsError("this world has no native vector index; open it with vector_index=True to build one")
        return _Plan("index", reason, {"candidates": max(depth, INDEX_CANDIDATES)}, None)

    # -- the answer -----------------------------------------------------------------------------------------------

    def run(self, request: Request, *, explain: bool) -> SearchResults:
        """Answer a search from one snapshot of the file."""
        with self._connection.snapshot():
            began = time.perf_counter()
            state = self.state()
            statement, parameters, explanation, eligible = self.prepare(request, state)
            ready = time.perf_counter()
            try:
                rows = self._connection.rows(statement, parameters)
            except WorldsError as error:
                if request.syntax == "fts5" and explanation.match is not None:
                    raise QueryError(f"the FTS5 expression {_short(request.text)} is not valid: {error}") from error
                raise
            ran = time.perf_counter()
            hits = self._hits(rows, request, explanation.match, eligible, explain=explain)
            done = time.perf_counter()
        explanation.milliseconds.update(
            statement=(ran - ready) * 1e3, hits=(done - ran) * 1e3, all=(done - began) * 1e3
        )
        return SearchResults(hits, explanation)

    def _hits(
        self,
        rows: list[Row],
        request: Request,
        match: str | None,
        eligible: Eligible | None,
        *,
        explain: bool,
    ) -> list[Hit]:
        if not rows:
            return []
        quads = self._quads(sorted({row[6] for row in rows}), eligible)
        first = {literal: found[0] for literal, found in quads.items() if found}
        rows = [row for row in rows if row[6] in first]
        labels, types = self._facts(sorted({subject for subject, _, _ in first.values()}))
        needed = {number for quad in first.values() for number in quad} | set(first)
        needed |= {number for group in types.values() for number in group}
        shown = {number: to_rdflib(term) if number else None for number, term in self._dictionary.terms(needed).items()}
        snippets = self._snippets(match, [row[0] for row in rows])
        hits: list[Hit] = []
        for chunk, score, vector_rank, similarity, text_rank, bm25, literal, start, end, text in rows:
            subject, predicate, graph = first[literal]
            legs = {}
            if vector_rank is not None:
                weight = request.weights["vector"]
                legs["vector"] = Leg(vector_rank, similarity, weight, weight / (request.k + vector_rank))
            if text_rank is not None:
                weight = request.weights["text"]
                legs["text"] = Leg(text_rank, bm25, weight, weight / (request.k + text_rank))
            hits.append(
                Hit(
                    score=score,
                    text=text.decode() if isinstance(text, bytes) else text,
                    subject=shown[subject],
                    predicate=shown[predicate],
                    graph=shown[graph],
                    literal=shown[literal],
                    start=start,
                    end=end,
                    label=labels.get(subject),
                    types=tuple(shown[number] for number in types.get(subject, ())),
                    explain=legs if explain else None,
                    chunk=chunk,
                    _quads=(quads[literal], literal),
                    _dictionary=self._dictionary,
                    _snippets=snippets,
                )
            )
        return hits

    def _quads(self, literals: list[int], eligible: Eligible | None) -> dict[int, list[tuple[int, int, int]]]:
        """Literal → its quads (subject, predicate, graph) that may be cited, oldest first."""
        eligible = eligible or self._filters.citable()
        found: dict[int, list[tuple[int, int, int]]] = {}
        for literal, *columns in self._connection.rows(_HITS["quads_of_literals"], (json_ids(literals),)):
            if "," not in columns[0]:  # one quad, as nearly always
                table = np.array([[int(column)] for column in columns])
            else:
                table = np.stack([np.fromstring(column, dtype=np.int64, sep=",") for column in columns])
                table = table[:, np.argsort(table[0])]
            table = table[1:, eligible.admits(*table[1:])]
            found[literal] = list(zip(*table.tolist(), strict=True))
        return found

    def _facts(self, subjects: list[int]) -> tuple[dict[int, str], dict[int, list[int]]]:
        """Subject → label, and subject → types."""
        *label_ids, rdf_type = self._dictionary.find([ox.NamedNode(iri) for iri in (*LABELS, _RDF_TYPE)])
        order = {number: position for position, number in enumerate(label_ids) if number is not None}
        predicates = [*order, *([] if rdf_type is None else [rdf_type])]
        if not predicates:
            return {}, {}
        rows = self._connection.rows(_HITS["facts"], (json_ids(subjects), json_ids(predicates)))
        types: dict[int, list[int]] = {}
        named: dict[int, list[tuple[int, int]]] = {}
        for subject, predicate, object_ in rows:
            if predicate == rdf_type:
                types.setdefault(subject, []).append(object_)
            else:
                named.setdefault(subject, []).append((order[predicate], object_))
        terms = self._dictionary.terms({number for group in named.values() for _, number in group})
        labels: dict[int, str] = {}
        for subject, group in named.items():
            best = min(group, key=lambda item: (item[0], _language_order(terms[item[1]]), item[1]))
            labels[subject] = terms[best[1]].value
        return labels, types

    def _snippets(self, match: str | None, chunks: list[int]) -> Any:
        """A function that gives, once asked, the highlighted texts of all hits by chunk id."""
        cache: dict[int, str] | None = None

        def highlighted() -> dict[int, str]:
            nonlocal cache
            if cache is None:
                cache = {}
                if match is not None:
                    statement = _HITS["highlights"]
                    rows = self._connection.rows(statement, statement.bind(match=match, ids_json=json.dumps(chunks)))
                    cache = {chunk: text.decode() if isinstance(text, bytes) else text for chunk, text in rows}
            return cache

        return highlighted


def _fts5(expression: str) -> str:
    """The expression, if SQL can hold it."""
    if "\0" in expression or any("\ud800" <= character <= "\udfff" for character in expression):
        raise QueryError(f"the FTS5 expression {_short(expression)} holds U+0000 or a lone surrogate")
    return expression


def _short(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")


def _language_order(term: object) -> int:
    """English and literals without a language first, so that a label reads the same in every list."""
    language = getattr(term, "language", None)
    return 0 if language == "en" or (language or "").startswith("en-") else 1 if language is None else 2
