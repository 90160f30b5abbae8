"""The context of a question, in words and within a budget: the entities that it names, and the facts around them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import pyoxigraph as ox

from worlds.core.core import Core
from worlds.core.embedders import checked_documents
from worlds.core.quads.namespaces import listed
from worlds.core.search.hits import SearchResults
from worlds.core.texts.entity_facts import STATEMENT
from worlds.errors import EmbedderError
from worlds.extras.entities.context_text import (
    _VOCABULARY,
    BEYOND,
    ContextFact,
    ContextPage,
    Drawn,
    PredicateGroup,
    PredicateRelevance,
    grouped,
    tokens,
    within,
)
from worlds.extras.entities.limits import check_limit
from worlds.extras.entities.mentions import Mention, MentionFinder
from worlds.extras.entities.neighbours import CitedQuad, Neighbour, Neighbours
from worlds.graph.records import Count, Iri, Node, Record, Score, Spare
from worlds.graph.terms import to_oxigraph, to_rdflib

UNNAMED = "The question names no entity of this world: the answer was found by words, and may be about others."
NOTHING = "Nothing in this world bears on the question."
_SURE = 0.5  # weight from which on an entity is taken to be named
_FOR_PASSAGES = 0.3  # of the budget
_SEEDS = 12  # entities that facts are sought around
_FOUND = 8  # entities that search adds
_PASSAGES = 5
_CITED = 5  # quads of a passage
_OWN = 400  # quads in either direction of an entity that is named
_FURTHER = 60  # the same of one that is a hop away
_REMEMBERED = 10_000  # predicates whose vectors are kept


@dataclass(frozen=True)
class Answer(Record):
    """The query of a kept question, with its results.

    `told` is whether that is given as the answer: not where it is nothing, or took too long. `rows` are the solutions,
    `count` is how many there are, of which 200 are given; `value` is the answer of an ASK. `kept` is the question.
    """

    query: str
    told: bool
    kept: Iri
    variables: tuple[str, ...] = ()
    rows: tuple[tuple[Node | None, ...], ...] = ()
    count: Count = 0
    value: Annotated[bool | None, Spare] = None


@dataclass(frozen=True, slots=True)
class KeptQuestion(Record):
    """A question that is kept with the SPARQL query that answers it.

    `wordings` are other words for the question, and `keywords` what it is about.
    """

    iri: Iri
    question: str
    query: str
    description: Annotated[str | None, Spare] = None
    wordings: Annotated[tuple[str, ...], Spare] = ()
    keywords: Annotated[tuple[str, ...], Spare] = ()


@dataclass(frozen=True, slots=True)
class Difference(Record):
    """A part of a kept question that another one has something else for: its words, and the term in the query.

    `asked` are the words of the other question, `value` is the term that they mean; None where it has nothing for it.
    """

    words: str
    term: Node
    asked: str | None
    value: Node | None


@dataclass(frozen=True, slots=True)
class NearQuestion(Record):
    """A kept question near to one that is asked. `score`, from 0 to 1, is how near; `differs` are the parts that do.

    `adapted` is its query with what was asked in the place of those parts, where the question is the same but for
    these, and each is the exact name of one thing of the same sort.
    """

    iri: Iri
    question: str
    query: str
    score: Score
    differs: tuple[Difference, ...] = ()
    adapted: Annotated[str | None, Spare] = None


@dataclass(frozen=True)
class Context(Record):
    """The context of a question: `text` is for a language model, its numbers in brackets refer to `facts`.

    A line of names begins with an entity, and "←" says that what follows has this entity under the predicate.

    `entities` are those that the question names, the surest first, `named` in number, then those that search found for
    its words, which may be about something else. `left_out` is how many quads were looked at and are not told.

    `answer` is what the query found that is kept for this question, if one is; the text begins with it. `near` are
    kept questions near to this one.
    """

    _also = ("tokens",)

    question: str
    text: str
    facts: tuple[ContextFact, ...]
    entities: tuple[Neighbour, ...]
    left_out: Count
    notes: tuple[str, ...] = ()
    named: Count = 0
    answer: Annotated[Answer | None, Spare] = None
    near: Annotated[tuple[NearQuestion, ...], Spare] = ()

    @property
    def quads(self) -> tuple[CitedQuad, ...]:
        """All quads that the facts cite, each once."""
        return tuple(dict.fromkeys(quad for fact in self.facts for quad in fact.quads))

    @property
    def tokens(self) -> int:
        """About how many tokens the text has."""
        return tokens(self.text)

    def __str__(self) -> str:
        return self.text


class Contexts:
    """Composes the contexts of questions to one world."""

    def __init__(self, core: Core, neighbours: Neighbours) -> None:
        """`subjects` gives those that a pattern over ?subject has."""
        self._core = core
        self._neighbours = neighbours
        self._to_term = core.namespaces.term
        self._subjects = core.subject_patterns.subjects
        self._embedder = core.embedder.required  # raises EmbedderError where there is none
        self.mentions = MentionFinder(core.connection, core.dictionary, core.chunks, core.searches)
        self._vectors: dict[str, Any] = {}  # of predicates' words, by the embedder that is at work
        self._vectors_of: object = None

    def compose(
        self,
        question: str,
        *,
        budget: int,
        hops: int,
        types: object,
        language: str | None,
        where: str | None = None,
        **search: Any,
    ) -> Context:
        """See `World.context`; `search` are further options of the search for passages and entities."""
        if not isinstance(question, str):
            raise TypeError(f"a question must be a str, not {type(question).__name__}")
        check_limit(budget, "budget")
        if isinstance(hops, bool) or not isinstance(hops, int | np.integer) or hops not in (0, 1, 2):
            raise ValueError(f"hops must be 0, 1 or 2, not {hops!r}")
        narrowed = any((types, where, *(value for name, value in search.items() if name != "ranking")))
        hits = self._core.searches.run(
            question,
            types=types,
            where=where,
            limit=_FOUND + _PASSAGES,
            noted=narrowed,
            own=bool(question.strip()),
            **search,
        )
        among = None if where is None else set(self._core.dictionary.find(self._subjects(where, None)))
        with self._core.connection.snapshot():
            mentions = self._named(question, types, among, (search.get("exclude") or {}).get("subjects"))
            seeds = self._seeds(mentions, hits)
            relevance = PredicateRelevance(_remainder(question, mentions))
            drawn = self._drawn(seeds, relevance, hops, language)
        relevance.add(self.cosines(relevance.asked, list(drawn.predicates.values())))  # an embedder can take its time
        drawn.score(seeds, relevance, {one.entity for one in mentions})
        with self._core.connection.snapshot():
            named = sum(one.entity in seeds and one.weight >= _SURE for one in mentions)
            return self._written(question, budget, seeds, hits, drawn, language, named)

    # -- which entities -----------------------------------------------------------------------------------------------

    def _named(self, question: str, types: object, among: set[int | None] | None, without: object) -> list[Mention]:
        """The entities that the question names: of `types`, within `among`, without `without`."""
        excluded = (
            set(self._core.dictionary.find([self._to_term(one) for one in listed(without)])) if without else set()
        )
        mentions = [
            one
            for one in self.mentions.find(question)
            if one.entity not in excluded and (among is None or one.entity in among)
        ]
        if types is None or not mentions:
            return mentions
        wanted = set(self._core.dictionary.find([self._to_term(kind) for kind in listed(types)]))
        _, kinds = self._neighbours.facts.labels_and_types(self._core.chunks.policy, {one.entity for one in mentions})
        return [one for one in mentions if wanted.intersection(kinds.get(one.entity, ()))]

    def _seeds(self, mentions: Sequence[Mention], hits: SearchResults) -> dict[int, float]:
        """Entity → the weight of its statements: named entities first, then found ones."""
        shared: dict[tuple[int, int], int] = {}
        for one in mentions:
            shared[one.start, one.end] = shared.get((one.start, one.end), 0) + 1
        seeds = {one.entity: one.weight / shared[one.start, one.end] ** 0.25 for one in mentions[:_SEEDS]}
        surest = max(seeds.values(), default=0.0)
        numbers = self._core.dictionary.find([to_oxigraph(hit.subject) for hit in hits[:_FOUND]])
        # Where the question names an entity, what search finds beside it is a second thought.
        share = 0.25 if surest >= _SURE else 0.9 * _SURE
        best = max((hit.score for hit in hits), default=0.0) or 1.0
        for hit, number in zip(hits, numbers, strict=False):
            if number is not None and number not in seeds and len(seeds) < _SEEDS:
                seeds[number] = share * hit.score / best
        _, types = self._neighbours.facts.labels_and_types(self._core.chunks.policy, seeds)
        kinds = self._core.dictionary.terms({kind for group in types.values() for kind in group})
        for number, group in types.items():
            if any(str(kinds[kind]).strip("<>").endswith("Property") for kind in group):
                seeds[number] *= _VOCABULARY
        return seeds

    def cosines(self, asked: str, words: Sequence[str]) -> dict[str, float]:
        """The cosines of the question and words, from -1 to 1; empty without an embedder."""
        if self._core.embeddings.stored is None or not asked or not words:
            return {}
        try:
            embedder = self._embedder()
            if self._vectors_of is not embedder or len(self._vectors) > _REMEMBERED:
                self._vectors_of, self._vectors = embedder, {}
            known = self._vectors
            unknown = [word for word in dict.fromkeys(words) if word not in known]
            rows, _ = checked_documents(embedder, [asked, *unknown])
        except EmbedderError:
            return {}
        known.update(zip(unknown, rows[1:], strict=True))
        return {word: float(rows[0] @ known[word]) for word in words}

    # -- which facts --------------------------------------------------------------------------------------------------

    def _drawn(
        self, seeds: Mapping[int, float], relevance: PredicateRelevance, hops: int, language: str | None
    ) -> Drawn:
        """The facts around the seeds, none of them scored yet."""
        drawn = Drawn(self._neighbours.rdf_type)
        if not seeds or not hops:
            return drawn
        said = set(self._neighbours.facts.numbers(self._core.chunks.policy.predicates("label")))
        parts = set(self._neighbours.facts.numbers(STATEMENT))  # annotations are told with what they annotate
        own = grouped(self._neighbours.around(list(seeds), _OWN), seeds, said, _OWN)
        drawn.first = [group for group in own if not group.incoming or group.predicate not in parts]
        self._name_predicates(drawn, drawn.first, language)
        if hops == 2:
            # Which entities are looked at, words alone decide.
            drawn.score(seeds, relevance, set())
            beyond = drawn.beyond(seeds)
            terms = self._core.dictionary.terms(beyond)
            entities = [one for one in beyond if isinstance(terms[one], ox.NamedNode | ox.BlankNode)][:BEYOND]
            around = self._neighbours.around(entities, _FURTHER) if entities else None
            found = [] if around is None else grouped(around, entities, said, _FURTHER)
            drawn.second = [group for group in found if seeds.keys().isdisjoint(group.others()) or len(group.rows) > 1]
            self._name_predicates(drawn, drawn.second, language)
        return drawn

    def _name_predicates(self, drawn: Drawn, groups: Sequence[PredicateGroup], language: str | None) -> None:
        fresh = {group.predicate for group in groups} - drawn.predicates.keys()
        drawn.terms |= self._core.dictionary.terms(fresh)
        drawn.predicates |= self._neighbours.names(fresh, drawn.terms, language)
        drawn.names |= drawn.predicates

    # -- in words -----------------------------------------------------------------------------------------------------

    def _written(
        self,
        question: str,
        budget: int,
        seeds: Mapping[int, float],
        hits: SearchResults,
        drawn: Drawn,
        language: str | None,
        named: int,
    ) -> Context:
        groups = within(drawn.groups, budget)
        needed = {number for group in groups for row in group.rows for number in row[1:5]} | set(seeds)
        annotations = self._core.annotations
        drawn.annotations = annotations.of(row[1:4] for group in groups for row in group.rows)  # type: ignore[misc]
        needed |= {term for said in drawn.annotations.values() for pair in said for term in pair}
        drawn.functional = annotations.functional({group.predicate for group in groups if len(group.rows) > 1})
        missing = needed - drawn.terms.keys()
        drawn.terms |= self._core.dictionary.terms(missing)
        drawn.names |= self._neighbours.names(needed - drawn.names.keys(), drawn.terms, language)
        page = ContextPage(budget, drawn, language, self._neighbours)
        # Labels, profiles and statements say nothing that facts do not.
        texts = [hit for hit in hits if len(hit.text) > 2 * len(hit.label or "") and not hit.composed]
        passages = texts[:_PASSAGES]
        if not any(weight >= _SURE for weight in seeds.values()):
            self._passages(page, passages[:2], drawn)
        page.facts(groups, spare=_FOR_PASSAGES if passages else 0.0)
        self._passages(page, passages, drawn)
        page.facts(groups)
        page.facts(groups, more=True)
        shown = {number: to_rdflib(term) if number else None for number, term in drawn.terms.items()}
        entities = self._neighbours.shown(dict.fromkeys(seeds, 0), drawn.terms, drawn.names)
        text, facts = page.composed(lambda rows: self._neighbours.cited(np.array(rows, np.int64), shown), shown)
        left = {row[0] for group in drawn.groups for row in group.rows} - page.told
        notes = hits.notes if named else (*hits.notes, UNNAMED if facts else NOTHING)
        return Context(question, text, facts, tuple(entities), len(left), notes, named)

    def _passages(self, page: ContextPage, hits: Sequence[Any], drawn: Drawn) -> None:
        for hit in hits:
            if any(item.chunk == hit.chunk for item in page.passages):
                continue
            rows = self._neighbours.stored(hit.quads[:_CITED])
            drawn.terms |= self._core.dictionary.terms(
                {number for row in rows for number in row[1:5]} - drawn.terms.keys()
            )
            page.passage(hit, rows)


def _remainder(question: str, mentions: Iterable[Mention]) -> str:
    """The question without the names in it: the relation that it asks about."""
    for one in mentions:
        if one.weight >= _SURE:
            question = question[: one.start] + " " * (one.end - one.start) + question[one.end :]
    return " ".join(question.split())
