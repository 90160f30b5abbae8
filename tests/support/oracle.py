"""What a world must answer, worked out slowly from nothing but the set of its quads.

No index, no incremental upkeep, no SQL but one FTS5 table of all chunks, from which BM25 is taken.
"""

from __future__ import annotations

import contextlib
import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

import numpy as np
import pyoxigraph as ox
from numpy.typing import NDArray

from tests.support import tables
from tests.support.embedder import HashingEmbedder
from tests.support.fts import CREATE_TEXTS
from worlds import World
from worlds.core.search.frequencies import LENGTH
from worlds.core.texts.chunking import chunk_spans
from worlds.core.texts.segmentation import segment
from worlds.graph.terms import to_rdflib
from worlds.records import SearchResults, TextPolicy
from worlds.sql.connection import Connection

DEFAULT = ox.DefaultGraph()
RDF_TYPE = ox.NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
SUBCLASS_OF = ox.NamedNode("http://www.w3.org/2000/01/rdf-schema#subClassOf")
XSD_STRING = "http://www.w3.org/2001/XMLSchema#string"

NEAR = 1e-5  # cosines that float32 cannot tell apart

Pattern: TypeAlias = Callable[[ox.Quad, frozenset[ox.Quad]], bool]  # (a text's quad, the quads that where reads)


@dataclass(frozen=True)
class Chunk:
    """A part of a literal."""

    literal: ox.Literal
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.literal.value[self.start : self.end]


@dataclass(frozen=True)
class Where:
    """A SPARQL pattern over ?subject, and the same thing said in Python."""

    sparql: str
    subjects: Callable[[frozenset[ox.Quad]], set[Any]] = field(hash=False)


@dataclass(frozen=True)
class Conditions:
    """Search filters as terms; None is no condition. A graph is an IRI or the default graph."""

    subjects: frozenset[Any] | None = None
    predicates: frozenset[Any] | None = None
    types: frozenset[Any] | None = None
    graphs: frozenset[Any] | None = None
    languages: frozenset[str] | None = None
    where: Where | None = None

    def arguments(self) -> dict[str, Any]:
        """The same as World.search takes it."""
        found: dict[str, Any] = {}
        for name in ("subjects", "predicates", "types", "graphs", "languages"):
            values = getattr(self, name)
            if values is not None:
                found[name] = sorted(values, key=str)
        if self.where is not None:
            found["where"] = self.where.sparql
        return found


@dataclass(frozen=True)
class Filter:
    """What a search may find."""

    include: Conditions = Conditions()
    exclude: Conditions = Conditions()
    subclasses: bool = False

    @property
    def empty(self) -> bool:
        """Whether it lets everything through."""
        return self.include == self.exclude == Conditions()

    def arguments(self) -> dict[str, Any]:
        """The same as World.search takes it."""
        found = self.include.arguments()
        if excluded := self.exclude.arguments():
            found["exclude"] = excluded
        if self.subclasses:
            found["subclasses"] = True
        return found


ANYTHING = Filter()


def is_text(literal: object, predicates: Collection[str], policy: TextPolicy) -> bool:
    """Whether a literal that stands under these predicates is text."""
    if not isinstance(literal, ox.Literal) or not literal.value.strip():
        return False
    admitting = set(predicates) - policy.exclude
    if not admitting:
        return False
    plain = literal.language is not None or literal.datatype.value == XSD_STRING
    return plain or literal.datatype.value in policy.datatypes or bool(admitting & policy.include)


class Oracle:
    """The answers for one set of quads."""

    def __init__(
        self, quads: Iterable[ox.Quad], embedder: HashingEmbedder | None = None, policy: TextPolicy | None = None
    ) -> None:
        self.quads = frozenset(quads)
        self.embedder = embedder
        self.policy = policy or TextPolicy()

    @cached_property
    def texts(self) -> dict[ox.Literal, list[ox.Quad]]:
        """Literals that are text, each with its quads."""
        holding: dict[ox.Literal, list[ox.Quad]] = {}
        for quad in self.quads:
            if isinstance(quad.object, ox.Literal):
                holding.setdefault(quad.object, []).append(quad)
        return {
            literal: quads
            for literal, quads in holding.items()
            if is_text(literal, {quad.predicate.value for quad in quads}, self.policy)
        }

    @cached_property
    def chunks(self) -> list[Chunk]:
        """All chunks of the world, in no order that means anything."""
        chunks = []
        for literal, quads in self.texts.items():
            sizes = [
                self.policy.sizes.get(quad.predicate.value, self.policy.size)
                for quad in quads
                if quad.predicate.value not in self.policy.exclude
            ]
            size = min(sizes, key=lambda size: size.max_chars)
            text, most, overlap = literal.value, size.max_chars, size.overlap
            for start, end in chunk_spans(text, max_chars=most, overlap=overlap, max_tokens=370):
                chunks.append(Chunk(literal, start, end))
        return sorted(chunks, key=lambda chunk: (str(chunk.literal), chunk.start))

    # -- filters --------------------------------------------------------------------------------------------------

    def eligible_quads(self, filter_: Filter) -> list[ox.Quad]:
        """The quads that hold a text and pass the filter."""
        held = [
            quad for quads in self.texts.values() for quad in quads if quad.predicate.value not in self.policy.exclude
        ]
        graphs = filter_.include.graphs
        dataset = frozenset(quad for quad in self.quads if graphs is None or quad.graph_name in graphs)
        include, exclude = filter_.include, filter_.exclude
        wanted = self._tests(include, dataset, filter_.subclasses)
        unwanted = self._tests(exclude, dataset, filter_.subclasses)
        return [
            quad for quad in held if all(test(quad) for test in wanted) and not any(test(quad) for test in unwanted)
        ]

    def _tests(
        self, conditions: Conditions, dataset: frozenset[ox.Quad], subclasses: bool
    ) -> list[Callable[[ox.Quad], bool]]:
        tests: list[Callable[[ox.Quad], bool]] = []
        subjects, predicates, graphs = conditions.subjects, conditions.predicates, conditions.graphs
        if subjects is not None:
            tests.append(lambda quad: quad.subject in subjects)
        if predicates is not None:
            tests.append(lambda quad: quad.predicate in predicates)
        if graphs is not None:
            tests.append(lambda quad: quad.graph_name in graphs)
        if conditions.types is not None:
            classes = set(conditions.types)
            while subclasses:
                below = {q.subject for q in dataset if q.predicate == SUBCLASS_OF and q.object in classes}
                if below <= classes:
                    break
                classes |= below
            typed = {quad.subject for quad in dataset if quad.predicate == RDF_TYPE and quad.object in classes}
            tests.append(lambda quad: quad.subject in typed)
        if conditions.languages is not None:
            ranges = conditions.languages
            tests.append(lambda quad: any(_in_language(quad.object.language, range_) for range_ in ranges))  # type: ignore[union-attr]  # a text's object is a literal
        if conditions.where is not None:
            found = conditions.where.subjects(dataset)
            tests.append(lambda quad: quad.subject in found)
        return tests

    def eligible(self, filter_: Filter) -> dict[Chunk, list[ox.Quad]]:
        """The chunks that may be found, each with the quads that a hit cites."""
        by_literal: dict[Any, list[ox.Quad]] = {}
        for quad in self.eligible_quads(filter_):
            by_literal.setdefault(quad.object, []).append(quad)
        return {chunk: by_literal[chunk.literal] for chunk in self.chunks if chunk.literal in by_literal}

    # -- the two lists --------------------------------------------------------------------------------------------

    @cached_property
    def _embedded(self) -> tuple[list[Chunk], NDArray[np.float64]]:
        """The chunks that have a vector, and their vectors, [n, d], of unit length."""
        assert self.embedder is not None
        rows = [_vector(chunk.text, self.embedder.dimension, self.embedder.zero_at) for chunk in self.chunks]
        found = [(chunk, row) for chunk, row in zip(self.chunks, rows, strict=True) if row is not None]
        vectors = np.array([row for _, row in found]).reshape(len(found), self.embedder.dimension)
        return [chunk for chunk, _ in found], vectors

    def similarities(self, query: str) -> dict[Chunk, float]:
        """The cosine of every chunk that has a vector."""
        assert self.embedder is not None
        vector = _vector(query, self.embedder.dimension, None)
        assert vector is not None
        chunks, vectors = self._embedded
        return dict(zip(chunks, (vectors @ vector).tolist(), strict=True))

    @cached_property
    def _full_text(self) -> Connection:
        connection = Connection(":memory:")
        connection.run(CREATE_TEXTS)
        rows = [(number, segment(chunk.text) or chunk.text) for number, chunk in enumerate(self.chunks)]
        connection.insert("INSERT INTO texts (rowid, text)", rows)
        connection.run("CREATE VIRTUAL TABLE tokens USING fts5vocab (texts, instance)")
        return connection

    def bm25(self, match: str) -> dict[Chunk, float]:
        """SQLite's BM25, lower is better, of every chunk that matches the FTS5 expression."""
        rows = self._full_text.rows("SELECT rowid, bm25(texts) FROM texts WHERE texts MATCH ?1", (match,))
        return {self.chunks[number]: score for number, score in rows}

    def scored(self, match: str, length: float) -> dict[Chunk, float]:
        """BM25 of every chunk that matches, as the definition says; its length counts to this power."""
        terms = re.findall(r'"[^"]*"\*?', match.partition(" NOT ")[0])
        if length == 1 or not terms or not self.chunks:
            return self.bm25(match)
        tokens: dict[int, int] = dict(self._full_text.rows("SELECT doc, count(*) FROM tokens GROUP BY doc"))
        average = sum(tokens.values()) / len(self.chunks)
        found: dict[Chunk, float] = dict.fromkeys(self.bm25(match), 0.0)
        for term in terms:
            marked = self._full_text.rows(
                "SELECT rowid, highlight(texts, 0, '\x01', '') FROM texts WHERE texts MATCH ?1", (term,)
            )
            weight = max(math.log((len(self.chunks) - len(marked) + 0.5) / (len(marked) + 0.5)), 1e-6)
            for number, text in marked:
                count = text.count("\x01") - self.chunks[number].text.count("\x01")
                norm = 1.2 * (0.25 + 0.75 * (tokens[number] / average) ** length)
                if self.chunks[number] in found:
                    found[self.chunks[number]] -= weight * count * 2.2 / (count + norm)
        return found

    def coverage(self, match: str, chunk: Chunk) -> float:
        """The square root of what a chunk holds of the terms of a match, by their inverse document frequencies."""
        held = asked = 0.0
        for term in re.findall(r'"[^"]*"\*?', match):
            holding = self.bm25(term)
            weight = max(math.log((len(self.chunks) - len(holding) + 0.5) / (len(holding) + 0.5)), 0)
            asked += weight
            held += weight if chunk in holding else 0.0
        return math.sqrt(held / asked) if asked else 1.0


@lru_cache(maxsize=20_000)
def _vector(text: str, dimension: int, zero_at: str | None) -> NDArray[np.float64] | None:
    """By an embedder of its own, so that nothing is counted twice; None where there is no direction."""
    vector = HashingEmbedder(dimension, zero_at=zero_at).embed_documents([text])[0].astype(np.float64)
    length = np.linalg.norm(vector)
    return vector / length if length > 0 else None


def _in_language(language: str | None, range_: str) -> bool:
    if not range_:
        return language is None
    return language is not None and (language + "-").startswith(range_.lower() + "-")


def any_word(words: Iterable[str]) -> str:
    """An FTS5 expression for texts that have one of the words."""
    return " OR ".join(f'"{word}"' for word in words)


class UndoneError(Exception):
    """What makes a transaction fail."""


@contextlib.contextmanager
def rolled_back(world: World) -> Iterator[World]:
    """A transaction that fails at its end."""
    try:
        with world.transaction():
            yield world
            raise UndoneError
    except UndoneError:
        return
    raise AssertionError("the transaction swallowed an error")


# -- comparing ------------------------------------------------------------------------------------------------------


def chunk_ids(world: World) -> dict[Chunk, int]:
    """The ids that the world's file has for the chunks; the one thing here that is read from it."""
    rows = tables.rows(world, "SELECT id, term, start, end FROM chunks")
    terms = tables.terms(world, {term for _, term, _, _ in rows})
    found = {Chunk(terms[term], start, end): number for number, term, start, end in rows}
    assert len(found) == len(rows), "a literal is chunked twice"
    return found


@dataclass(frozen=True)
class _Ranks:
    """Between which ranks a chunk may stand: more than one only where float32 cannot tell values apart."""

    first: int
    last: int


def _ranks(
    values: Mapping[Chunk, float], ids: Mapping[Chunk, int], near: float, *, descending: bool
) -> dict[Chunk, _Ranks]:
    keys = {chunk: -value if descending else value for chunk, value in values.items()}  # smaller is better
    ordered = sorted(keys, key=lambda chunk: (keys[chunk], ids[chunk]))
    column = [keys[chunk] for chunk in ordered]
    found = {}
    for chunk, key in keys.items():
        start, end = bisect_left(column, key - near), bisect_right(column, key + near)
        before, unclear = start, 0
        for other in ordered[start:end]:
            if keys[other] == key or other.text == chunk.text:  # a real tie: the smaller id first
                before += ids[other] < ids[chunk]
            else:
                unclear += 1
        found[chunk] = _Ranks(before + 1, before + 1 + unclear)
    return found


Gifts: TypeAlias = dict[Chunk, tuple[float, float]]  # the least and the greatest that a list may give to a chunk


def _by_rank(ranks: Mapping[Chunk, _Ranks], *, k: float, weight: float, depth: int) -> Gifts:
    """Reciprocal Rank Fusion."""
    inside = {chunk: rank for chunk, rank in ranks.items() if rank.first <= depth}
    return {chunk: (weight / (k + rank.last), weight / (k + rank.first)) for chunk, rank in inside.items()}


def _by_value(
    values: Mapping[Chunk, float],
    certain: Collection[Chunk],
    possible: Collection[Chunk],
    near: float,
    *,
    weight: float,
    missing: float | None,
    least: float | None,
) -> Gifts:
    """Values, of which the higher are better, brought to [0, 1] over what was found by either list.

    `missing` is what a chunk without a value counts as, None for nothing; `least` gives 0, None for the least found.
    """
    slack = max(near, 1e-12)

    def extremes(chunks: Collection[Chunk]) -> tuple[float, float] | None:
        there = [values[chunk] for chunk in chunks if chunk in values]
        lows = there if missing is None or len(there) == len(chunks) else [*there, missing]
        return (min(lows) if least is None else least, max(there)) if there else None

    wide, narrow = extremes(possible), extremes(certain)
    found = {}
    for chunk in possible:
        if chunk not in values:
            continue
        found[chunk] = (0.0, weight)
        if wide and narrow and min(wide[1] - wide[0], narrow[1] - narrow[0]) > 100 * slack:  # else they may be equal
            bounds = []
            for low, high in ((max(wide[0], narrow[0]), wide[1]), (wide[0], narrow[1])):
                bounds.append(((values[chunk] - low) / (high - low), 4 * slack / (high - low)))
            least_, most = bounds[0][0] - bounds[0][1], bounds[1][0] + bounds[1][1]
            found[chunk] = (weight * least_, weight * most)
    return found


def expect(
    world: World,
    oracle: Oracle,
    results: SearchResults,
    *,
    filter_: Filter = ANYTHING,
    query: str | None,
    match: str | None,
    limit: int = 10,
    candidates: int | None = None,
    k: float = 60,
    weights: Mapping[str, float] | None = None,
    fusion: str = "relative",
    normalise: str = "minmax",
    min_similarity: float = -2,
) -> None:
    """Assert that the results, of a search with explain=True, are the oracle's.

    `query` is what the vector leg searched, None without that leg; `match` an FTS5 expression that says what the
    text leg searched, None without that leg.
    """
    depth = results.explain.depth
    assert depth >= max(candidates or 100, limit)
    both = query is not None and match is not None and fusion == "relative"
    weights = {"vector": 1.0, "text": 1.0, **(weights or {})}
    ids = chunk_ids(world)
    assert set(ids) == set(oracle.chunks)
    eligible = oracle.eligible(filter_)
    similarities = {} if query is None else oracle.similarities(query)
    embedded = set(similarities)
    pending = sum(weights.values()) / weights["text"] if weights["text"] else 1.0
    scores = {} if match is None else oracle.scored(match, 1 if fusion == "rrf" else LENGTH)
    legs = {
        "vector": (
            {chunk: value for chunk, value in similarities.items() if chunk in eligible and value >= min_similarity},
            NEAR,
            True,
        ),
        "text": ({chunk: value for chunk, value in scores.items() if chunk in eligible}, 0.0, False),
    }
    ranks = {name: _ranks(values, ids, near, descending=down) for name, (values, near, down) in legs.items()}

    possible = {chunk for found in ranks.values() for chunk, rank in found.items() if rank.first <= depth}
    certain = {chunk for found in ranks.values() for chunk, rank in found.items() if rank.last <= depth}
    gifts: dict[str, Gifts] = {}
    for name, (values, near, down) in legs.items():
        if fusion == "rrf":
            gifts[name] = _by_rank(ranks[name], k=k, weight=weights[name], depth=depth)
            continue
        factor = 1.0
        if name == "text" and both and ranks[name]:  # words count as much as the best text holds of them
            best = min(ranks[name], key=lambda chunk: (ranks["text"][chunk].first, ids[chunk]))
            factor = oracle.coverage(match or "", best)
        gifts[name] = _by_value(
            values if down else {chunk: -value for chunk, value in values.items()},
            certain,
            possible,
            near,
            weight=weights[name] * factor,
            missing=0.0 if name == "text" else None,
            least=None if normalise == "minmax" else -1.0 if name == "vector" else 0.0,
        )

    least = dict.fromkeys(eligible, 0.0)  # the least and the greatest score that a chunk may have
    most = dict(least)
    for chunk in possible:
        for gift in gifts.values():
            low, high = gift.get(chunk, (0.0, 0.0))
            most[chunk] += high
            least[chunk] += low if chunk in certain else 0.0
    if fusion == "rrf":  # what is not surely in a list may get nothing of it
        for chunk in certain:
            least[chunk] = sum(
                gifts[name][chunk][0] for name, found in ranks.items() if chunk in found and found[chunk].last <= depth
            )

    if query is not None and match is not None:  # what has no vector yet does not pay for that
        for chunk in set(eligible) - embedded:
            most[chunk] *= pending
            least[chunk] *= pending

    numbers = {number: chunk for chunk, number in ids.items()}
    found_chunks = [numbers[hit.chunk] for hit in results]
    found_texts = {chunk.text for chunk in found_chunks}
    alike: dict[str, list[Chunk]] = {}  # chunks of one text are one hit
    for chunk in eligible:
        alike.setdefault(chunk.text, []).append(chunk)
    assert len(found_texts) == len(results), "a text was found twice"
    assert min(limit, len({chunk.text for chunk in certain})) <= len(results)
    assert len(results) <= min(limit, len({chunk.text for chunk in possible}))
    if query is not None and len(similarities) == len(oracle.chunks) and min_similarity < -1:
        assert len(results) == min(limit, len(alike)), "a filter shortened the list"

    scores_found = [hit.score for hit in results]
    assert scores_found == sorted(scores_found, reverse=True)
    for one, next_ in zip(results, list(results)[1:], strict=False):
        assert one.score > next_.score or one.chunk < next_.chunk, "equal scores stand in the order of the chunks"

    seen: dict[str, dict[int, float]] = {"vector": {}, "text": {}}
    for hit, chunk in zip(results, found_chunks, strict=True):
        assert chunk in possible, f"{chunk} is not eligible, or in no list"
        assert least[chunk] - 1e-12 <= hit.score <= most[chunk] + 1e-12, (chunk, least[chunk], hit.score, most[chunk])
        assert (hit.text, hit.start, hit.end) == (chunk.text, chunk.start, chunk.end)
        assert hit.literal == to_rdflib(chunk.literal)
        assert len(hit.quads) == len(set(hit.quads))
        assert set(hit.quads) == {shown(quad) for other in alike[chunk.text] for quad in eligible[other]}
        assert hit.score >= max(least[other] for other in alike[chunk.text]) - 1e-12, "another of its chunks is better"
        assert (hit.subject, hit.predicate, hit.literal, hit.graph) == hit.quads[0]
        assert hit.explain is not None
        total = 0.0
        for name, (values, near, _) in legs.items():
            leg, rank = hit.explain.get(name), ranks[name].get(chunk)
            if leg is None:
                assert rank is None or (rank.last > depth and not both), f"{chunk} is missing in the {name} list"
                continue
            assert rank is not None, f"{chunk} should not be in the {name} list"
            if leg.rank is None:
                assert both
                assert rank.last > depth, f"{chunk} has no rank in the {name} list"
            else:
                assert rank.first <= leg.rank <= rank.last
                assert leg.rank <= depth
                assert leg.rank not in seen[name], "two chunks have one rank"
                seen[name][leg.rank] = leg.value
            assert math.isclose(leg.value, values[chunk], rel_tol=1e-9, abs_tol=max(near, 1e-12))
            assert leg.factors["weight"] == weights[name]
            if fusion == "rrf":
                assert leg.rank is not None
                assert math.isclose(leg.contribution, leg.weight / (k + leg.rank), rel_tol=1e-12)
            assert math.isclose(leg.weight, math.prod(leg.factors.values()))
            low, high = gifts[name][chunk]
            scale = leg.factors.get("pending", 1.0)
            assert scale == (pending if chunk not in embedded and query is not None and match is not None else 1.0)
            assert (low - 1e-12) * scale <= leg.contribution <= (high + 1e-12) * scale
            total += leg.contribution
        assert math.isclose(hit.score, total, rel_tol=1e-9, abs_tol=1e-15)
    ordered = [seen["vector"][rank] for rank in sorted(seen["vector"])]
    assert ordered == sorted(ordered, reverse=True)

    if results:
        worst = results[-1].score
        for chunk in eligible:
            if chunk.text in found_texts:
                continue
            if len(results) == limit:
                assert least[chunk] <= worst + 1e-12, f"{chunk} is better than the last hit, and was not found"
            else:
                assert chunk not in certain, f"{chunk} was not found, though there was room"


def problems(world: World) -> list[str]:
    """What check() finds, but for one thing that is known: deletions make the native vector index lose recall.

    libSQL's graph loses edges with every deletion, until compact() builds it anew.
    """
    found = world.check().problems
    return [str(problem) for problem in found if "do not find themselves" not in problem.message]


def shown(quad: ox.Quad) -> tuple[Any, Any, Any, Any]:
    """The quad as a hit shows it: rdflib terms, None for the default graph."""
    graph = None if quad.graph_name == DEFAULT else to_rdflib(quad.graph_name)  # type: ignore[arg-type]  # no default graph
    return (to_rdflib(quad.subject), to_rdflib(quad.predicate), to_rdflib(quad.object), graph)
