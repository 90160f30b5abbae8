"""One world in a search of several: the raw values of its lists, and what its hits are made of."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from worlds.quads.dictionary import Dictionary
from worlds.search.candidates import Candidates, Cited, Fused, candidates, fused
from worlds.search.facets import FacetCounter, Facets
from worlds.search.facts import FactReader, WorldFacts
from worlds.search.fields import Fields
from worlds.search.filters import Filters
from worlds.search.frequencies import length_power, read_numbers
from worlds.search.fusion import Scores
from worlds.search.hits import Hit
from worlds.search.language import WorldLanguages, read_in
from worlds.search.plans import Plans, VectorPlan
from worlds.search.ranking import Ranked
from worlds.search.request import SearchRequest
from worlds.search.showing import HitMaker, Shown
from worlds.search.statement import nearest_by
from worlds.search.words import expression, readings
from worlds.sql import compile_statement, statements, texts
from worlds.sql.connection import Connection
from worlds.vectors.codes import Codes

_SQL = statements("group.sql")
_QUERIES = statements("queries.sql")
_PIECES = texts("search.sql")
RELEVANT = compile_statement(f"WITH {_PIECES['texts_scored'].strip()}\n{_PIECES['relevant'].strip()}")
FUSED = compile_statement("WITH\n" + ",\n".join(_PIECES[name].strip() for name in ("scores_given", "weighed", "fused")))
_BYTES = bytes(range(256))
_LEAST_IDF = 1e-6  # FTS5's, of a term that more than half of the texts have


@dataclass(frozen=True)
class Statistics:
    """What BM25 knows of a corpus: texts, their tokens, and how many texts have each term. They can be added."""

    rows: int
    tokens: int
    counts: Counter[str]

    def __add__(self, other: Statistics) -> Statistics:
        counts = self.counts.copy()
        counts.update(other.counts)
        return Statistics(self.rows + other.rows, self.tokens + other.tokens, counts)

    @property
    def average(self) -> float:
        """Tokens a text."""
        return self.tokens / self.rows if self.rows else 1.0

    def idf(self, term: str) -> float:
        """The inverse document frequency of a term, an FTS5 expression, as FTS5's bm25() has it."""
        return self.telling(term) or _LEAST_IDF

    def telling(self, term: str) -> float:
        """The inverse document frequency, but 0 for a term that more than half of the texts have."""
        count = self.counts[term]
        return math.log(max((self.rows - count + 0.5) / (count + 0.5), 1.0))


class MemberLists:
    """What one world does in a search of several, read from one snapshot of its file."""

    def __init__(self, connection: Connection, dictionary: Dictionary, filters: Filters, codes: Codes) -> None:
        self.connection = connection
        self.filters = filters
        self._dictionary = dictionary
        self._plans = Plans(connection, codes)
        self._fields = Fields(connection, dictionary, filters)
        self._facts = FactReader(connection, dictionary, filters)
        self._hits = HitMaker(connection, dictionary, filters)
        self._facets = FacetCounter(connection, dictionary, filters)
        self.languages = WorldLanguages(connection, filters)

    def begin(self, request: SearchRequest, languages: frozenset[str]) -> MemberSearch:
        """A search's part, of a question in some languages, in a snapshot that the caller holds."""
        return MemberSearch(self, request, languages)


class MemberSearch:
    """One search of one world, which is asked for its lists, then for candidates, then for hits."""

    def __init__(self, part: MemberLists, request: SearchRequest, languages: frozenset[str]) -> None:
        self._part = part
        self._connection = part.connection
        self.request = request
        self.languages = tuple(sorted(languages))
        self.state = (*self._connection.rows(_QUERIES["state"])[0], self._connection.rollbacks)
        filters = part.filters
        self.eligible = filters.eligible(request.filter, self.state, request.limits)
        wanted: list[str] = []
        excluded: list[str] = []
        if request.mode != "vector":
            wanted, excluded = read_in(request.text, filters.policy.tokenizer, languages)
        self.terms: list[str] = wanted
        self.match = expression(wanted, excluded)
        self._excluded = " OR ".join(excluded) or None
        self._here = self._statistics()
        self.plan: VectorPlan | None = None
        self.cited: Cited | None = None

    # -- lists ----------------------------------------------------------------------------------------------------

    @property
    def statistics(self) -> Statistics:
        """This world's."""
        return self._here

    def _statistics(self) -> Statistics:
        rows, tokens = read_numbers(self._connection.value(_QUERIES["text_averages"]) or b"\0\0")
        counts = {
            term: self._connection.value(_QUERIES["count_matches"], (term,))
            for term in {*self.terms, *readings(self.terms)}
        }
        return Statistics(rows, tokens, Counter(counts))

    def nearest(self, depth: int) -> list[tuple[int, float]]:
        """The nearest chunks and their cosines, best first."""
        request = self.request
        if request.vector is None:
            return []
        self.plan = self._part._plans.choose(request, depth, self.eligible, self.state)
        statement = nearest_by(self.plan)
        return self._connection.rows(
            statement,
            statement.bind(
                query=request.vector.astype("<f4").tobytes(),
                depth=depth,
                eligible=None if self.eligible is None else self.eligible.mask,
                min_similarity=request.min_similarity,
                **self.plan.values,
            ),
        )

    def relevant(self, everywhere: Statistics, depth: int, also: Sequence[int]) -> list[tuple[int, float | None, int]]:
        """(chunk, bm25, rank here) of the best texts by the statistics of all worlds, and of those of `also`."""
        if self.request.listing and self.eligible is not None:
            return [(chunk, None, rank) for rank, chunk in enumerate(self.eligible.chunks[:depth].tolist(), 1)]
        asked = Counter(readings(self.terms))
        weights = [
            (term, self._here.idf(term), everywhere.idf(term) * times)
            for term, times in asked.items()
            if self._here.counts[term]
        ]
        if not weights:
            return []
        request, tokenizer = self.request, self._part.filters.policy.tokenizer
        return self._connection.rows(
            RELEVANT,
            RELEVANT.bind(
                words_json=json.dumps(weights),
                length=length_power(request.fusion, request.syntax, tokenizer),
                eligible=None if self.eligible is None else self.eligible.mask,
                excluded=self._excluded,
                bytes=_BYTES,
                average_here=self._here.average,
                average=everywhere.average,
                depth=depth,
                only_json=json.dumps(list(also)),
            ),
        )

    def similarities(self, chunks: Sequence[int]) -> dict[int, float]:
        """The cosines of these chunks, as far as they have a vector that is near enough."""
        if not chunks or self.request.vector is None:
            return {}
        statement = _SQL["similarities"]
        values = statement.bind(
            chunks_json=json.dumps(list(chunks)),
            query=self.request.vector.astype("<f4").tobytes(),
            min_similarity=self.request.min_similarity,
        )
        return dict(self._connection.rows(statement, values))

    def held(self, chunk: int) -> list[str]:
        """Which of the question's terms a text has, repeated ones as often as they stand."""
        statement = _SQL["held"]
        values = statement.bind(terms_json=json.dumps(self.terms), chunk=chunk)
        return [self.terms[place] for (place,) in self._connection.rows(statement, values)]

    # -- candidates -----------------------------------------------------------------------------------------------

    def fused(self, scores: Sequence[tuple[int, Scores]], pending_factor: float, most: int) -> list[Fused]:
        """The rows of these chunks, best first, weighed by this world's predicates, as far as they may be cited."""
        given = [(chunk, *score) for chunk, score in scores]
        values = self._part._fields.values(self.request)
        found = fused(
            self._connection.rows(
                FUSED,
                FUSED.bind(
                    scores_json=json.dumps(given),
                    pending_factor=pending_factor,
                    compared=-1,
                    limit=most,
                    with_text=1,
                    **values,
                ),
            )
        )
        self.cited = self._part._hits.cited(found, self.eligible)
        citing = set(self.cited.owners.tolist())
        return [row for row in found if row.chunk in citing]

    def candidates(self, rows: Sequence[Fused], *, by_subject: bool) -> Candidates:
        """The candidates that rows are."""
        assert self.cited is not None
        return candidates(rows, self.cited, by_subject=by_subject)

    def facts(self, found: Candidates) -> WorldFacts:
        """What this world says of candidates."""
        return self._part._facts.of(found, self.request.filter.include.graphs, self.state, self.request.limits)

    def keys(self, terms: Sequence[int]) -> dict[int, str]:
        """What terms are in any world: N-Triples for all but blank nodes, which are this world's own."""
        known = self._part._dictionary.terms({term for term in terms if term > 0})
        return {number: str(term) for number, term in known.items()}

    # -- hits -----------------------------------------------------------------------------------------------------

    def shown(self, chosen: Sequence[int], found: Candidates) -> Shown:
        """What hits of these candidates read from the world."""
        assert self.cited is not None
        return self._part._hits.shown(chosen, found, self.cited)

    def hits(
        self, chosen: Sequence[int], found: Candidates, ranked: Ranked, shown: Shown, *, explain: bool
    ) -> list[Hit]:
        """The hits of these candidates, without the world."""
        maker = self._part._hits
        return maker.hits(chosen, found, ranked, shown, self.request, self.match, explain=explain)

    def facets(self, nearest: Sequence[int]) -> Facets:
        """The facets of all that match here, and of these chunks."""
        return self._part._facets.count(self.match, nearest, self.eligible, self.request)
