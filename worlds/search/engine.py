"""Hybrid search: plans the vector leg, puts the one statement together, and reads hits from its rows."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
import pyoxigraph as ox

from worlds.errors import QueryError, WorldsError
from worlds.graph.terms import to_rdflib
from worlds.quads.dictionary import DEFAULT_GRAPH_ID, PROFILE_ID, Dictionary, json_ids
from worlds.search.fields import Fields
from worlds.search.filters import Eligible, Filters
from worlds.search.frequencies import Frequencies
from worlds.search.hits import Clock, Explanation, Hit, Leg, SearchResults
from worlds.search.options import MOST_CANDIDATES
from worlds.search.ranking import Candidates, Cited, Ranked, Ranking, candidates, enough, texts_of
from worlds.search.request import Request
from worlds.search.stages import Cursor, rest
from worlds.search.words import expression, read_query
from worlds.sql import Statement, compile_statement, statements, texts
from worlds.sql.connection import Connection, Row, as_text
from worlds.texts.profiles import term_of
from worlds.vectors.codes import Codes

_SQL = statements("queries.sql")
_HITS = statements("hits.sql")
_PIECES = texts("search.sql")
_FOUND = {"vector": _PIECES["vector_found"], "text": _PIECES["text_found"]}
_SCORES = {"rrf": _PIECES["scores_rrf"], "relative": _PIECES["scores_relative"]}
_compiled = lru_cache(compile_statement)  # there are some twenty

EXACT = 1000  # vectors up to which comparing all of them is cheapest
EXACT_WITHOUT_CODES = 4000  # the same while the codes are not in memory
INDEX_FROM = 4_000_000  # vectors from which on the native index beats the scan of the codes
NARROW = 10_000  # eligible chunks up to which keeping all that match is cheaper than matching twice
INDEX_CANDIDATES = 400  # the most that the index gives, its search_l
_THEORETICAL = {"least_similarity": -1.0, "least_relevance": 0.0}
_DEEPER = 4  # times as long lists, where they hold too few subjects

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
_NO_COLUMN = re.compile(r"no such column: ([^)]*)")
_RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"


@dataclass(frozen=True)
class _Plan:
    name: str
    reason: str
    values: dict[str, object]
    compared: int | None


@dataclass(frozen=True)
class _Prepared:
    """A search's statement, and what is known before it runs."""

    statement: Statement
    parameters: tuple[object, ...]
    depth: int
    match: str | None
    plan: _Plan | None
    eligible: Eligible | None


@dataclass(frozen=True)
class _Shown:
    """What hits are made of: texts by chunk, terms by id, labels and types by subject."""

    texts: dict[int, str]
    terms: dict[int, Any]
    labels: dict[int, str]
    types: dict[int, list[int]]


class Search:
    """Answers searches over one world."""

    def __init__(self, connection: Connection, dictionary: Dictionary, filters: Filters, codes: Codes) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self._filters = filters
        self._codes = codes
        self._ranking = Ranking(connection, dictionary, filters)
        self._fields = Fields(dictionary, filters)
        self._frequencies = Frequencies(connection)

    def state(self) -> tuple[Any, ...]:
        """What tells one state of the world from another."""
        return (*self._connection.rows(_SQL["state"])[0], self._connection.rollbacks)

    # -- the statement --------------------------------------------------------------------------------------------

    def statement(self, request: Request) -> tuple[str, tuple[object, ...]]:
        """The statement of a search and its parameters."""
        with self._connection.snapshot():
            prepared = self._prepare(request, self.state(), _depth(request), Clock())
        return prepared.statement.sql, prepared.parameters

    def _prepare(self, request: Request, state: tuple[Any, ...], depth: int, clock: Clock) -> _Prepared:
        with clock.step("filter"):
            eligible = self._filters.eligible(request.filter, state, request.limits) if request.filter.any else None
        with clock.step("plan"):
            given = 0 if request.cursor is None else len(request.cursor.keys)
            values: dict[str, object] = {
                "k": float(request.k),
                "depth": depth,
                "limit": 2 * depth if request.stages.any else request.limit + given,
                "with_text": int(not request.stages.any),
                "eligible": None if eligible is None else eligible.mask,
                "vector_weight": float(request.weights["vector"]),
                "text_weight": float(request.weights["text"]),
                "min_similarity": request.min_similarity,
                **self._fields.values(request),
                **(_THEORETICAL if request.normalise == "theoretical" else dict.fromkeys(_THEORETICAL)),
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
                legs.append("vector")
            match, terms = None, list[str]()
            if request.mode != "vector" and request.syntax == "words":
                terms, excluded = read_query(request.text, self._filters.policy.tokenizer)
                match = expression(terms, excluded)
            elif request.mode != "vector":
                match = _fts5(request.text)
            if match is not None or not legs:
                values["match"] = '""' if match is None else match  # what matches nothing: a search for no words
                legs.append("text")
            completed = request.fusion == "relative" and len(legs) == 2
            narrow = completed and eligible is not None and len(eligible.chunks) <= NARROW
            if "text" in legs:
                ctes.append(_PIECES["text_leg_narrow" if narrow else "text_leg"])
            listed = [_FOUND[leg] for leg in legs]
            if completed:
                listed += [
                    _PIECES["vector_completed"],
                    _PIECES["text_completed_narrow" if narrow else "text_completed"],
                ]
            if request.fusion == "relative":
                ctes.append(_PIECES["coverage" if completed and terms else "coverage_alone"])
            if completed and terms:
                values["terms_json"] = json.dumps(self._frequencies.weigh(terms, state))
            union = "\nUNION ALL\n".join(piece.strip() for piece in listed)
            ctes += [
                f"listed AS (\n{union}\n)",
                _PIECES["found"],
                _SCORES[request.fusion],
                _PIECES["fused"],
            ]
            statement = _compiled("WITH\n" + ",\n".join(piece.strip() for piece in ctes))
            return _Prepared(statement, statement.bind(**values), depth, match, plan, eligible)

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
        clock = Clock()
        stages, given = request.stages, request.cursor
        with self._connection.snapshot():
            state = self.state()
            prepared, found, cited = self._fused(request, state, clock)
            ranking = self._ranking.prepare(
                request.text,
                stages,
                found,
                wanted=request.limit + (0 if given is None else len(given.keys)),
                given=given,
                graphs=request.filter.include.graphs,
                state=state,
                limits=request.limits,
                clock=clock,
            )
            if stages.rerank is None:
                ranked = ranking()
                chosen = rest(ranked.order, found.key, given, request.limit)
                shown = self._show(chosen, found, cited, clock)
            else:
                shown = self._show(range(len(found)), found, cited, clock)
        if stages.rerank is not None:  # which can take seconds, in which the world is not to wait
            ranked = ranking()
            chosen = rest(ranked.order, found.key, given, request.limit)
        with clock.step("hits"):
            hits = self._hits(chosen, found, ranked, cited, shown, request, prepared.match, explain=explain)
        clock.stop()
        told = self._explained(request, prepared, found, ranked, clock)

        def following() -> str:
            keys = [found.key(candidate) for candidate in chosen]
            return Cursor([*keys, *(() if given is None else given.keys)]).text(request.identity.digest)

        return SearchResults(hits, told, following if len(hits) == request.limit else None)

    def _fused(self, request: Request, state: tuple[Any, ...], clock: Clock) -> tuple[_Prepared, Candidates, Cited]:
        """What the statement finds; once more with longer lists, where these hold too few subjects for groups."""
        depth = _depth(request)
        most = request.stages.per_subject
        while True:
            prepared = self._prepare(request, state, depth, clock)
            with clock.step("statement"):
                rows = self._rows(request, prepared)
            with clock.step("quads"):
                cited = self._cited(sorted({row[8] for row in rows}), prepared.eligible)
                literals = set(cited.literals.tolist())
                found = candidates([row for row in rows if row[8] in literals], cited, by_subject=most is not None)
                whole = all((row[2] or 0) < depth and (row[5] or 0) < depth for row in rows)
                if most is None or whole or enough(found, most, request.cursor, request.limit):
                    return prepared, found, cited
            if depth >= MOST_CANDIDATES:
                return prepared, found, cited
            depth = min(depth * _DEEPER, MOST_CANDIDATES)

    def _rows(self, request: Request, prepared: _Prepared) -> list[Row]:
        try:
            return self._connection.rows(prepared.statement, prepared.parameters)
        except WorldsError as error:
            if request.syntax == "fts5" and prepared.match is not None:
                column = _NO_COLUMN.search(str(error))
                why = (
                    f"there is no column {column[1]!r}; words with a hyphen or a colon go into double quotes"
                    if column
                    else error
                )
                raise QueryError(f"the FTS5 expression {_short(request.text)} is not valid: {why}") from error
            raise

    def _explained(
        self, request: Request, prepared: _Prepared, found: Candidates, ranked: Ranked, clock: Clock
    ) -> Explanation:
        plan = prepared.plan
        return Explanation(
            query=request.text,
            mode="text" if plan is None else "hybrid" if prepared.match is not None else "vector",
            plan=None if plan is None else plan.name,
            reason="no vector leg" if plan is None else plan.reason,
            eligible=None if prepared.eligible is None else len(prepared.eligible.chunks),
            compared=None if plan is None else plan.compared,
            match=prepared.match,
            fusion="rrf" if request.fusion == "rrf" else f"relative, {request.normalise}",
            depth=prepared.depth,
            candidates=len(found),
            stages=tuple(one.name for one in ranked.done),
            notes=(*request.notes, *ranked.notes),
            milliseconds=clock.milliseconds,
            sql=prepared.statement.sql,
            parameters=prepared.parameters,
        )

    def _show(self, chosen: Sequence[int], found: Candidates, cited: Cited, clock: Clock) -> _Shown:
        """What the hits show of the world besides their texts."""
        with clock.step("hits"):
            quads = {candidate: self._first(candidate, found, cited) for candidate in chosen}
            labels, types = self._facts(sorted({subject for subject, _, _ in quads.values()}))
            needed = {number for quad in quads.values() for number in quad}
            needed |= {found.rows[found.row[candidate]][8] for candidate in chosen}
            needed |= {number for group in types.values() for number in group}
            terms = self._dictionary.terms(needed)
            shown = {number: to_rdflib(term) if number else None for number, term in terms.items()}
            rows = [found.rows[found.row[candidate]] for candidate in chosen]
            texts = texts_of(self._connection, rows)
            return _Shown({row[0]: text for row, text in zip(rows, texts, strict=True)}, shown, labels, types)

    @staticmethod
    def _first(candidate: int, found: Candidates, cited: Cited) -> tuple[int, int, int]:
        """The quad (subject, predicate, graph) that a hit shows."""
        quads = cited.of(found.rows[found.row[candidate]][8])
        subject = found.subject[candidate]
        return next(quad for quad in quads if not subject or quad[0] == subject)

    def _hits(
        self,
        chosen: Sequence[int],
        found: Candidates,
        ranked: Ranked,
        cited: Cited,
        shown: _Shown,
        request: Request,
        match: str | None,
        *,
        explain: bool,
    ) -> list[Hit]:
        rows = [found.rows[found.row[candidate]] for candidate in chosen]
        snippets = self._snippets(match, [row[0] for row in rows])
        steps = ranked.steps(chosen) if explain else [()] * len(chosen)
        hits: list[Hit] = []
        for candidate, row, step in zip(chosen, rows, steps, strict=True):
            literal, start, end = row[8:11]
            subject = int(found.subject[candidate])
            quads = [quad for quad in cited.of(literal) if not subject or quad[0] == subject]
            subject, predicate, graph = quads[0]
            legs = {}
            cosine = None if row[3] is None else min(row[3], 1.0)  # rounding brings it above
            for name, (rank, value, score) in (("vector", (row[2], cosine, row[4])), ("text", row[5:8])):
                if value is not None:
                    legs[name] = Leg(rank, value, request.weights[name] * row[13], score * row[13])
            if row[14] is not None:
                legs["label"] = Leg(1, 1.0, 1.0, row[14])
            hits.append(
                Hit(
                    score=float(ranked.scores[candidate]),
                    text=shown.texts[row[0]],
                    subject=shown.terms[subject],
                    predicate=shown.terms[predicate],
                    graph=shown.terms[graph],
                    literal=shown.terms[literal],
                    start=start,
                    end=end,
                    label=shown.labels.get(subject),
                    types=tuple(shown.terms[number] for number in shown.types.get(subject, ())),
                    explain=legs if explain else None,
                    steps=step if explain else None,
                    chunk=row[0],
                    _quads=(quads, literal),
                    _dictionary=self._dictionary,
                    _snippets=snippets,
                    _made_from=partial(self._filters.cited, subject, start) if literal < 0 else None,
                )
            )
        return hits

    def _cited(self, literals: list[int], eligible: Eligible | None) -> Cited:
        """The quads of literals that may be cited, oldest first; a profile stands as if its entity had it."""
        profiles = np.array([number for number in literals if number < 0], dtype=np.int64)
        literals = literals[len(profiles) :]
        eligible = eligible or self._filters.citable()
        table = np.stack(self._connection.columns(_HITS["quads_of_literals"], (json_ids(literals),)))
        table = np.delete(table[:, np.lexsort(table[1::-1])], 1, axis=0)  # literals, subjects, predicates, graphs
        table = table[:, eligible.admits(*table[1:])]
        subjects = term_of(profiles)
        about = [profiles, subjects, np.full_like(subjects, PROFILE_ID), np.full_like(subjects, DEFAULT_GRAPH_ID)]
        table = np.concatenate([np.stack(about), table], axis=1)
        owners, starts = np.unique(table[0], return_index=True)
        return Cited(owners, np.append(starts, table.shape[1]), *table[1:])

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
                    cache = {chunk: as_text(text) for chunk, text in rows}
            return cache

        return highlighted


def _depth(request: Request) -> int:
    """How long each list has to be, so that this page and those before it fit in."""
    return max(request.candidates, request.limit + (0 if request.cursor is None else len(request.cursor.keys)))


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
