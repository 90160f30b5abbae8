"""Searches of one world: prepares the statement, runs it, and makes hits of what it finds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

from worlds.quads.dictionary import Dictionary
from worlds.search.answering import answer, deep_enough
from worlds.search.candidates import Candidates, Cited, Fused, candidates, ended
from worlds.search.facets import FacetCounter, Facets
from worlds.search.facts import FactReader, WorldFacts
from worlds.search.fields import Fields
from worlds.search.filters import Filters
from worlds.search.frequencies import Corpus
from worlds.search.hits import Clock, Explanation, Hit, SearchResults
from worlds.search.notes import SearchNotes, noted
from worlds.search.plans import Plans
from worlds.search.related import Relating
from worlds.search.request import Requests, SearchRequest
from worlds.search.showing import HitMaker, Shown
from worlds.search.stages import Stages
from worlds.search.statement import Prepared, SearchStatements
from worlds.sql import statements
from worlds.sql.connection import Connection
from worlds.texts.facts import Facts, QuadRow
from worlds.vectors.codes import Codes

_SQL = statements("queries.sql")


class Passage(NamedTuple):
    """A passage that was found: its cosine, where the vector leg gave one, and its quads as term ids."""

    similarity: float | None
    quads: list[QuadRow]


class SearchEngine:
    """What searches of one world are made with."""

    def __init__(self, connection: Connection, dictionary: Dictionary, filters: Filters, codes: Codes) -> None:
        self.connection = connection
        self.dictionary = dictionary
        self.filters = filters
        self.statements = SearchStatements(
            connection, filters, Plans(connection, codes), Fields(connection, dictionary, filters)
        )
        self.facts = FactReader(connection, dictionary, filters)
        self.hits = HitMaker(connection, dictionary, filters)
        self.relating = Relating(connection, dictionary, filters, self.statements, self.hits)
        self.facets = FacetCounter(connection, dictionary, filters)

    def state(self) -> tuple[Any, ...]:
        """What tells one state of the world from another."""
        counted = self.connection.remembered("counters", lambda: self.connection.rows(_SQL["state"])[0])
        return (*counted, self.connection.rollbacks)

    def state_now(self) -> tuple[Any, ...]:
        """The same of the file as it is now."""
        with self.connection.snapshot():
            return self.state()

    def run(self, request: SearchRequest, *, explain: bool, notes: SearchNotes | None = None) -> SearchResults:
        """Answer a search from one snapshot of the file; `notes` looks for what there is to say of it."""
        return answer(WorldSearch(self, request, notes), explain=explain)

    def labels(self, subjects: Iterable[int]) -> dict[int, str]:
        """What entities are called, by their ids; none for those without a label."""
        found = Facts(self.connection, self.dictionary).labels(self.filters.policy, subjects)
        return {number: text.label for number, text in found.items()}


class WorldSearch:
    """`Asked` of one world."""

    prepared: Prepared
    _found: Candidates
    _cited: Cited

    def __init__(self, engine: SearchEngine, request: SearchRequest, notes: SearchNotes | None = None) -> None:
        self.engine = engine
        self.request = request
        self.noting = notes

    def ahead(self, clock: Clock) -> None:
        """Read what patterns match, and embed the rest of a question that is walked on from."""
        request, engine = self.request, self.engine
        if patterns := request.patterns:
            with clock.step("filter"):
                engine.filters.ahead(patterns, request.filter, engine.state_now, request.limits)
        if request.stages.related:
            with clock.step("related"):
                self.request = engine.relating.ahead(request, engine.state, clock)

    @contextmanager
    def snapshot(self, clock: Clock) -> Iterator[None]:
        """One state of the file, whose statements the clock notes."""
        with self.engine.connection.snapshot(), self.engine.connection.watched(clock.ran):
            yield

    def corpus(self) -> Corpus:
        """What BM25 counts in this world, of the words that are sought."""
        return self.engine.statements.corpus(self.request)

    def rows(self, depth: int, clock: Clock, *, whole: bool = False, everywhere: Corpus | None = None) -> list[Fused]:
        """What the statement finds in lists of this depth, best first: as much as is asked for, or the whole lists.

        What words tell is counted in this world, or `everywhere`.
        """
        request, engine = self.request, self.engine
        if whole:
            request = replace(request, limit=2 * depth, cursor=None)
        self.prepared = engine.statements.prepare(request, engine.state(), depth, clock, everywhere=everywhere)
        with clock.step("statement"):
            rows = engine.statements.run(request, self.prepared)
        if request.stages.related:
            with clock.step("related"):
                rows = engine.relating.joined(request, engine.state(), self.prepared, rows, clock)
        return rows

    def candidates(self, rows: Sequence[Fused]) -> Candidates:
        """The candidates that rows are, as far as these may be cited."""
        self._cited = self.engine.hits.cited(rows, self.prepared.eligible)
        citing = set(self._cited.owners.tolist())
        may = [row for row in rows if row.chunk in citing]
        self._found = candidates(may, self._cited, by_subject=self.request.stages.per_subject is not None)
        return self._found

    def found(self, depth: int, clock: Clock) -> tuple[Candidates, bool]:
        """What lists of this depth hold, best first, and whether that is all there is."""
        rows = self.rows(depth, clock)
        with clock.step("quads"):
            return self.candidates(rows), ended(rows, depth)

    def notes(self, found: Candidates) -> tuple[str, ...]:
        """What there is to say of the search and what it found, if that is looked for."""
        return () if self.noting is None else noted([(self.noting, self.request, self.prepared.eligible)], found)

    def facts(self, found: Candidates) -> WorldFacts:
        """What the world says of candidates."""
        request = self.request
        return self.engine.facts.of(found, request.filter.include.graphs, self.engine.state(), request.limits)

    def subjects(self, found: Candidates) -> list[str]:
        """The subject of each candidate as in N-Triples, "" where hits are not grouped."""
        numbers = found.subject.tolist()
        terms = self.engine.dictionary.terms(set(numbers) - {0})
        return [str(terms[number]) if number else "" for number in numbers]

    def shown(self, chosen: Sequence[int]) -> Shown:
        """What hits of these candidates read from the world."""
        return self.engine.hits.shown(chosen, self._found, self._cited)

    def hits(self, chosen: Sequence[int], scores: Sequence[float], shown: Shown, *, explain: bool) -> list[Hit]:
        """The hits of these candidates, in their order."""
        maker, match = self.engine.hits, self.prepared.match
        return maker.hits(chosen, scores, self._found, shown, self.request, match, explain=explain)

    def passages(self) -> list[Passage]:
        """The passages that are found, best first: hits before they are shown, without stages after fusion."""
        with self.engine.connection.snapshot():  # whose statements nobody asks for
            found, _ = deep_enough(self, Clock())
        rows = found.rows[: self.request.limit]
        quads = self._cited.of_each([row.chunk for row in rows])
        return [Passage(_cosine(row), each) for row, each in zip(rows, quads, strict=True)]

    def explanation(self) -> Explanation:
        """How the candidates were found."""
        request, prepared, plan = self.request, self.prepared, self.prepared.plan
        return Explanation(
            query=request.text,
            mode="text" if plan is None else "hybrid" if prepared.match is not None else "vector",
            plan=None if plan is None else plan.name,
            reason="no vector leg" if plan is None else plan.reason,
            eligible=None if prepared.eligible is None else prepared.eligible.passages,
            compared=None if plan is None else plan.compared,
            match=prepared.match,
            words=prepared.words,
            languages=prepared.languages,
            fusion="rrf" if request.fusion == "rrf" else f"{request.fusion}, {request.normalise}",
            depth=prepared.depth,
            notes=request.notes,
            defaults=request.defaults,
        )

    def facets(self) -> Facets:
        """The facets of all that the search matches."""
        every = WorldSearch(self.engine, replace(self.request, stages=Stages()))
        with self.engine.connection.snapshot():
            return every.counted(every.rows(self.request.candidates, Clock(), whole=True))

    def counted(self, rows: Sequence[Fused]) -> Facets:
        """The facets of all that has the words, and of those of these rows that vectors found."""
        nearest = [row.chunk for row in rows if row.vector_rank is not None]
        return self.engine.facets.count(self.prepared.match, nearest, self.prepared.eligible, self.request)


class Searches:
    """Searches of one world by the options of `World.search`."""

    def __init__(self, engine: SearchEngine, requests: Requests, notes: SearchNotes) -> None:
        self.engine = engine
        self.requests = requests
        self.notes = notes

    def run(
        self, text: str, *, explain: bool = False, noted: bool = False, own: bool = False, **options: Any
    ) -> SearchResults:
        """The answer; `noted` with what there is to say of it, `own` by the world's own defaults."""
        notes = self.notes if noted else None
        make = self.requests.own if own else self.requests.make
        return self.engine.run(make(text, **options), explain=explain, notes=notes)

    def passages(self, text: str, **options: Any) -> list[Passage]:
        """What a search by these options finds, without what hits show of it."""
        return WorldSearch(self.engine, self.requests.make(text, **options)).passages()

    def unknown(self, **filters: Any) -> tuple[str, ...]:
        """What there is to say of the names in a filter that the world does not know."""
        given = {name: value for name, value in filters.items() if value is not None}
        return tuple(self.notes.unknown(self.requests.make("", mode="text", **given))[0].values()) if given else ()


def _cosine(row: Fused) -> float | None:
    return None if row.similarity is None else min(row.similarity, 1.0)  # rounding brings it above 1
