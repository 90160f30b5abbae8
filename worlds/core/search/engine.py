"""Searches of one world: prepares the statement, runs it, and makes hits of what it finds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

from worlds.core.quads.dictionary import Dictionary, Ids, json_ids
from worlds.core.search.answering import answer, deep_enough
from worlds.core.search.candidate_facts import FactReader, WorldFacts
from worlds.core.search.candidates import Candidates, Cited, Fused, candidates, ended
from worlds.core.search.conditions import check_pattern
from worlds.core.search.facets import FacetCounter, Facets
from worlds.core.search.filters import Filters
from worlds.core.search.frequencies import Corpus
from worlds.core.search.hits import Clock, Explanation, Hit, SearchResults
from worlds.core.search.notes import SearchNotes, noted
from worlds.core.search.plans import Plans
from worlds.core.search.related import Relating
from worlds.core.search.request import Requests, SearchRequest
from worlds.core.search.showing import HitContents, HitMaker
from worlds.core.search.stages import Stages
from worlds.core.search.statement import Fields, Prepared, SearchStatements
from worlds.core.texts.entity_facts import Facts, QuadRow
from worlds.core.vectors.codes import Codes
from worlds.sql import statements
from worlds.sql.connection import Connection

_SQL = statements("queries.sql")


class RetrievedPassage(NamedTuple):
    """A passage that was found: its cosine, where the vector leg gave one, and its quads as term ids."""

    similarity: float | None
    quads: list[QuadRow]


class SearchEngine:
    """The parts that a search of one world needs."""

    def __init__(self, connection: Connection, dictionary: Dictionary, filters: Filters, codes: Codes) -> None:
        self.connection = connection
        self.dictionary = dictionary
        self.filters = filters
        self.statements = SearchStatements(
            connection, dictionary, filters, Plans(connection, codes), Fields(connection, dictionary, filters)
        )
        self.facts = FactReader(connection, dictionary, filters)
        self.hits = HitMaker(connection, dictionary, filters)
        self.relating = Relating(connection, dictionary, filters, self.statements, self.hits)
        self.facets = FacetCounter(connection, dictionary, filters)

    def state(self) -> tuple[Any, ...]:
        """Counters that differ between two states of the world."""
        counted = self.connection.remembered("counters", lambda: self.connection.rows(_SQL["state"])[0])
        return (*counted, self.connection.rollbacks)

    def state_now(self) -> tuple[Any, ...]:
        """The state of the file now."""
        with self.connection.snapshot():
            return self.state()

    def run(self, request: SearchRequest, *, explain: bool, notes: SearchNotes | None = None) -> SearchResults:
        """Answer a search from one snapshot of the file; `notes` collects its notes."""
        return answer(WorldSearch(self, request, notes), explain=explain)

    def labels(self, subjects: Iterable[int]) -> dict[int, str]:
        """Labels of entities by their ids; entities without a label are left out."""
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
        """Before the snapshot, evaluate the filter's patterns, and embed the rest of the question for related texts."""
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
        """The counts of BM25 in this world for the words of the question."""
        return self.engine.statements.corpus(self.request)

    def rows(self, depth: int, clock: Clock, *, whole: bool = False, everywhere: Corpus | None = None) -> list[Fused]:
        """Rows of the statement for lists of this depth, best first: one page of them, or the whole lists.

        The weights of words are counted in this world, or taken from `everywhere`.
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
        citing, own = set(self._cited.owners.tolist()), self.prepared.cosines
        may = [
            row._replace(similarity=own[row.chunk]) if row.chunk in own else row for row in rows if row.chunk in citing
        ]
        self._found = candidates(may, self._cited, by_subject=self.request.stages.per_subject is not None)
        return self._found

    def found(self, depth: int, clock: Clock) -> tuple[Candidates, bool]:
        """The candidates in lists of this depth, best first, and whether deeper lists would add none."""
        rows = self.rows(depth, clock)
        with clock.step("quads"):
            return self.candidates(rows), ended(rows, depth)

    def notes(self, found: Candidates) -> tuple[str, ...]:
        """Notes on the search and its results; none where the search looks for none."""
        return () if self.noting is None else noted([(self.noting, self.request, self.prepared.eligible)], found)

    def facts(self, found: Candidates) -> WorldFacts:
        """Facts of this world about the candidates."""
        request = self.request
        return self.engine.facts.of(found, request.filter.include.graphs, self.engine.state(), request.limits)

    def subjects(self, found: Candidates) -> list[str]:
        """The subject of each candidate as in N-Triples, "" where hits are not grouped."""
        numbers = found.subject.tolist()
        terms = self.engine.dictionary.terms(set(numbers) - {0})
        return [str(terms[number]) if number else "" for number in numbers]

    def shown(self, chosen: Sequence[int]) -> HitContents:
        """The quads, texts and terms that hits of these candidates show, read from the world."""
        return self.engine.hits.shown(chosen, self._found, self._cited)

    def hits(self, chosen: Sequence[int], scores: Sequence[float], shown: HitContents, *, explain: bool) -> list[Hit]:
        """The hits of these candidates, in their order."""
        maker, match = self.engine.hits, self.prepared.match
        return maker.hits(chosen, scores, self._found, shown, self.request, match, explain=explain)

    def passages(self) -> list[RetrievedPassage]:
        """The passages that are found, best first: hits before they are shown, without stages after fusion."""
        with self.engine.connection.snapshot():  # whose statements nobody asks for
            found, _ = deep_enough(self, Clock())
        rows = found.rows[: self.request.limit]
        quads = self._cited.of_each([row.chunk for row in rows])
        return [RetrievedPassage(_cosine(row), each) for row, each in zip(rows, quads, strict=True)]

    def explanation(self) -> Explanation:
        """The explanation of the search: its lists, stages and plan."""
        request, prepared, plan = self.request, self.prepared, self.prepared.plan
        return Explanation(
            query=request.text,
            mode="text" if plan is None else "hybrid" if prepared.match is not None else "vector",
            plan=None if plan is None else plan.name,
            reason="no vector leg" if plan is None else plan.reason,
            eligible=prepared.eligible.passages if prepared.eligible is not None and request.filter.any else None,
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
        """The facets of all texts with the words, and of the rows found by vectors."""
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
        """The answer; `noted` with notes, `own` by the world's own defaults."""
        notes = self.notes if noted else None
        make = self.requests.own if own else self.requests.make
        return self.engine.run(make(text, **options), explain=explain, notes=notes)

    def passages(self, text: str, **options: Any) -> list[RetrievedPassage]:
        """Search by these options, and return passages alone, without the quads and labels of hits."""
        return WorldSearch(self.engine, self.requests.make(text, **options)).passages()

    def best_texts(self, texts: Sequence[str], **options: Any) -> list[list[int]]:
        """Of each text, the chunks that have its words best, `limit` of them; see `quads_of_texts`."""
        made = self.requests.make("", mode="text", **options)
        state = self.engine.state()
        return self.engine.statements.best_texts([replace(made, text=text) for text in texts], state)

    def quads_of_texts(self, chunks: Iterable[int], **filters: Any) -> Ids:
        """The quads of chunks that filters let through, int64 [n, 5]: chunk, subject, predicate, object, graph."""
        engine, request = self.engine, self.requests.make("", mode="text", **filters)
        eligible = engine.filters.eligible(request.filter, engine.state(), request.limits) or engine.filters.citable()
        table = engine.connection.table(_SQL["quads_of_texts"], (json_ids(chunks),))
        kept: Ids = table[eligible.admits(table[:, 1], table[:, 2], table[:, 4])]
        return kept

    def among(self, where: object) -> Ids | None:
        """The entities that match a group pattern over ?subject, as ascending ids; None for all, without one."""
        if where is None:
            return None
        with self.engine.connection.snapshot():
            return self.engine.filters.matching(check_pattern(where), None, self.engine.state(), None)

    def unknown(self, **filters: Any) -> tuple[str, ...]:
        """Notes on the names in a filter that the world does not know."""
        given = {name: value for name, value in filters.items() if value is not None}
        return tuple(self.notes.unknown(self.requests.make("", mode="text", **given))[0].values()) if given else ()


def _cosine(row: Fused) -> float | None:
    return None if row.similarity is None else min(row.similarity, 1.0)  # rounding brings it above 1
