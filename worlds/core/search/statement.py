"""The one SQL statement of a search: its legs, their fusion, and its parameters, put together and run."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any

import pyoxigraph as ox

from worlds.core.quads.dictionary import Dictionary, json_ids
from worlds.core.search.candidates import Fused, fused
from worlds.core.search.filters import Eligible, Filters
from worlds.core.search.frequencies import Corpus, Frequencies, length_power
from worlds.core.search.fusion import BEST, FUSED, NEAREST, ONE_STATEMENT, fusion_values, pending_factor
from worlds.core.search.hits import Clock
from worlds.core.search.language import WorldLanguages, read_in, spoken
from worlds.core.search.plans import Plans, VectorPlan
from worlds.core.search.postings import PostingLists, Relevance
from worlds.core.search.request import SearchRequest
from worlds.core.search.sequences import Turns
from worlds.core.search.words import expression, readings
from worlds.core.texts.policy import ROLES, TextPolicy
from worlds.core.texts.segmentation import segment
from worlds.errors import QueryError, WorldsError
from worlds.sql import Statement, statements
from worlds.sql.connection import Connection, Row

_marks = re.compile(r"[?!,;:\"“”„()\[\]\s]+|[.](?=\s|$)|['’]s?(?=\s|$)").sub
_LONGEST = 300  # characters of a query that may be a label
_SQL = statements("queries.sql")
LISTS = True  # whether words are found by posting lists in memory, where these can
_KINDS = 4  # of posting lists that are kept: by what a length counts, and by the average
_DEEPER = 4  # times as many nearest vectors, where turns lean on the turn before
_BEGINNINGS = re.compile(r'"\w+"\*(?: OR "\w+"\*)*')
_PHRASES = re.compile(r'"[^"]+"\*?(?: OR "[^"]+"\*?)*')  # which FTS5 finds sooner, but counts among all texts
_QUOTED = re.compile(r'"((?:[^"]|"")*)"|[\w\x1a\x80-\U0010ffff]+')  # or a word by itself
_SHOWN = 200  # characters of an expression that an error repeats
_NO_COLUMN = re.compile(r"no such column: ([^)]*)")


class Fields:
    """Knows the roles and weights of one world's predicates."""

    def __init__(self, connection: Connection, dictionary: Dictionary, filters: Filters) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self._filters = filters

    def values(self, request: SearchRequest) -> dict[str, object]:
        """The parameters of the search's statement that predicates give."""
        weights, weights_json, labels, named = self._connection.remembered("fields", self._settled)
        bonus = request.label_bonus and request.mode == "hybrid" and request.fusion == "relative"
        asked = spellings(request.text) if bonus and request.syntax == "words" and labels else []
        return {
            "weights_json": weights_json,
            "other_weight": weights["other"],
            "asked": asked_words(request.text) if named else None,
            "spellings_json": json.dumps(asked),
            "label_bytes": max((len(way.encode()) for way in asked), default=-1),
            "labels_json": json_ids(labels),
            # Twice what the lists can give, so that an entity's other texts cannot outweigh it in a group either.
            "label_score": 2 * sum(request.weights.values()) * max(weights.values()),
        }

    def _settled(self) -> tuple[dict[str, float], str | None, list[int], bool]:
        """The weights of the roles, those of the predicates as JSON if there are any, and the labels' predicates.

        And whether a name that stands in the question has all of its weight, though a profile holds it, too.
        """
        policy = self._filters.policy
        weights = {role: policy.weight(role) for role in ROLES}
        weighed = any(weight != 1 for weight in weights.values())
        labels = self._ids(policy.predicates("label"))
        return (
            weights,
            json.dumps(self._weights(policy, weights)) if weighed else None,
            labels,
            bool(policy.profiles) and not policy.weights,
        )

    def _ids(self, iris: list[str]) -> list[int]:
        found = self._dictionary.find([ox.NamedNode(iri) for iri in iris])
        return [number for number in found if number is not None]

    def _weights(self, policy: TextPolicy, weights: dict[str, float]) -> list[tuple[int, float]]:
        """(predicate, weight) for predicates with another role than "other"."""
        roles = [role for role in ROLES if role != "other"]
        return [(number, weights[role]) for role in roles for number in self._ids(policy.predicates(role))]


def asked_words(text: str) -> str:
    """A question that names are looked for in: in lower case, as it stands and without its marks, between spaces."""
    plain = _lower(text.replace("\0", " ").encode("utf-8", "replace").decode())
    return f" {' '.join(plain.split())} {_marks(' ', plain)} "


def spellings(text: str) -> list[str]:
    """The ways to write a query that may be a label, as SQLite's lower() leaves them: it knows ASCII only."""
    asked = text.strip()
    if not asked or len(asked) > _LONGEST or "\0" in asked:
        return []
    asked = asked.encode("utf-8", "replace").decode()
    ways = (asked, asked.lower(), asked.upper(), asked.title(), asked.capitalize(), asked.casefold())
    return sorted({_lower(way) for way in ways})


def _lower(text: str) -> str:
    return "".join(character.lower() if character.isascii() else character for character in text)


class FullText:
    """BM25 of every text that matches an FTS5 expression; lower is better. As `Relevance` of posting lists."""

    def __init__(self, connection: Connection, match: str) -> None:
        self._connection = connection
        self._match = match

    def best(self, depth: int, eligible: Eligible | None) -> list[tuple[int, float]]:
        """The best of the eligible chunks with their values, best first."""
        mask = None if eligible is None else eligible.mask
        return self._connection.rows(BEST, BEST.bind(match=self._match, eligible=mask, depth=depth))

    def of(self, chunks: Sequence[int]) -> list[tuple[int, float]]:
        """(chunk, BM25) of the chunks among the given that match."""
        statement = _SQL["relevance_of_texts"]
        return self._connection.rows(statement, statement.bind(match=self._match, ids_json=json_ids(chunks)))

    def held(self, term: str, chunk: int) -> bool:
        """Whether a chunk has a term."""
        return bool(FullText(self._connection, term).of([chunk]))


@contextmanager
def checked(request: SearchRequest) -> Iterator[None]:
    """QueryError for an FTS5 expression of the caller's that SQLite refuses inside."""
    try:
        yield
    except WorldsError as error:
        if request.syntax != "fts5" or request.mode == "vector":
            raise
        column = _NO_COLUMN.search(str(error))
        why = (
            f"there is no column {column[1]!r}; words with a hyphen or a colon go into double quotes"
            if column
            else error
        )
        raise QueryError(f"the FTS5 expression {short(request.text)} is not valid: {why}") from error


def short(text: str) -> str:
    """A text as an error repeats it."""
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")


@dataclass(frozen=True)
class Prepared:
    """A search's statement with its parameters, prepared before it runs."""

    statement: Statement
    parameters: tuple[object, ...]  # which ask for one passage more
    depth: int  # how long each list may be
    match: str | None  # the FTS5 expression
    words: str | None  # how the words' list is made: scan, lists or eligible; None without one
    languages: tuple[str, ...]  # in which the words are read; none where that is English alone
    plan: VectorPlan | None
    eligible: Eligible | None
    cosines: Mapping[int, float] = field(default_factory=dict)  # of chunks, where their sequence changed these


class _Best:
    """The best texts, and the share of the question that the best one has in its own words."""

    def __init__(
        self,
        relevance: Relevance | FullText,
        request: SearchRequest,
        depth: int,
        eligible: Eligible | None,
        turns: Turns | None,
    ) -> None:
        self.texts = relevance.best(depth, eligible)
        self._first = self.texts[0][0] if self.texts else None
        self._dated = frozenset() if turns is None else turns.dated(request.text)
        self.relevance = relevance
        if turns is not None and isinstance(relevance, Relevance):
            chunks = None if eligible is None else eligible.chunks
            self.relevance = relevance.changed(turns.words(relevance.scores, chunks, request.text))
            self.texts = self.relevance.best(depth, eligible)

    def coverage(self, terms: Iterable[str], corpus: Corpus) -> float:
        """The square root of the share that the best text, by its own words, has of the terms' weights.

        A word of the day of a turn need not stand in a text.
        """
        telling = [(corpus.telling(term), self._held(term)) for term in terms if term.strip('"') not in self._dated]
        every = sum(weight for weight, _ in telling)
        return math.sqrt(sum(weight for weight, held in telling if held) / every) if every else 1.0

    def _held(self, term: str) -> bool:
        """Whether the best text by its own words has a term."""
        first = self._first
        return first is not None and any(self.relevance.held(one, first) for one in readings([term]))


class SearchStatements:
    """Puts together the statements of one world's searches."""

    def __init__(
        self, connection: Connection, dictionary: Dictionary, filters: Filters, plans: Plans, fields: Fields
    ) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self._filters = filters
        self._plans = plans
        self._fields = fields
        self._frequencies = Frequencies(connection, filters.shown)
        self._lists = lru_cache(_KINDS)(partial(PostingLists, connection, self._frequencies))
        self.languages = WorldLanguages(connection, filters)

    def corpus(self, request: SearchRequest) -> Corpus:
        """The counts of BM25 in this world for the words of a search."""
        _, terms, _, _ = self._words(request)
        return self._frequencies.corpus({*terms, *readings(terms)})

    def best_texts(self, requests: Sequence[SearchRequest], state: tuple[Any, ...]) -> list[list[int]]:
        """Of searches that differ by their texts alone, the chunks that have the words best, `limit` of them.

        These are what passages and hits are made of. Posting lists that the searches need are read together.
        """
        if not requests:
            return []
        first = requests[0]
        eligible = self._filters.eligible(first.filter, state, first.limits)
        read = [self._words(request) for request in requests]
        lists = self._lists(self._power(first), None)
        listed = [terms for _, terms, _, _ in read if self._words_plan(terms) == "lists"]
        if listed:
            lists.read(one for terms in listed for one in readings(terms))
        found = []
        for request, (match, terms, excluded, _) in zip(requests, read, strict=True):
            relevance = self._relevance(request, match, terms, excluded) if match else None
            found.append([] if relevance is None else [chunk for chunk, _ in relevance.best(request.limit, eligible)])
        return found

    def prepare(
        self,
        request: SearchRequest,
        state: tuple[Any, ...],
        depth: int,
        clock: Clock,
        eligible: Eligible | None = None,
        everywhere: Corpus | None = None,
    ) -> Prepared:
        """The statement of a search in the database's `state`, over the texts that pass its filter, or given ones.

        What words tell is counted in this world, or `everywhere`.
        """
        if eligible is None:
            with clock.step("filter"):
                eligible = self._filters.eligible(request.filter, state, request.limits)
        with clock.step("plan"):
            given = 0 if request.cursor is None else len(request.cursor.keys)
            limit = 2 * depth if request.stages.any else request.limit + given
            values: dict[str, object] = {
                "depth": depth,
                "limit": limit + 1,  # which tells whether more follow
                "with_text": int(limit <= depth),  # of longer lists most are not shown
                "eligible": None if eligible is None else eligible.mask,
                "min_similarity": request.min_similarity,
                **self._fields.values(request),
                **fusion_values(request),
            }
            match, terms, excluded, languages = self._words(request)
            both = request.vector is not None and match is not None
            completed = request.fusion != "rrf" and both
            here = request.plan == "index" and request.fusion == "rrf" and request.vector is not None
            values["pending_factor"] = pending_factor(request) if both else 1.0
            values["match"] = '""' if match is None else match  # what matches nothing: a search for no words
            values["coverage"] = 1.0
            turns = self._turns(request)
            words, best = None, None
            texts: Sequence[tuple[int, float | None]] = ()
            if request.listing and eligible is not None:
                words, texts = "eligible", [(chunk, None) for chunk in eligible.chunks[:depth].tolist()]
            elif match is not None:
                words = "scan" if here else self._words_plan(terms)
                if not here:
                    relevance = self._relevance(request, match, terms, excluded, everywhere)
                    with checked(request):
                        every = self._filters.masked and not request.filter.any  # of the texts that the lists have
                        best = _Best(relevance, request, depth, None if every else eligible, turns)
                        texts = best.texts
                        if completed and request.fusion == "relative" and terms:
                            corpus = everywhere or self._frequencies.corpus(terms)
                            values["coverage"] = best.coverage(terms, corpus)
            plan = None
            nearest: list[Row] = []
            cosines: dict[int, float] = {}
            if request.vector is not None:
                plan = self._plans.choose(request, depth, eligible, state)
                values |= {"query": request.vector.astype("<f4").tobytes(), **plan.values}
                if not here:
                    nearest = self._nearest(plan, {**values, "depth": depth if turns is None else _DEEPER * depth})
                    if turns is not None and request.sequence is not None:
                        cosines = dict(nearest)
                        nearest = turns.near(nearest, request.sequence.named, depth, texts)
            if not here:
                found = self._lists_as_one(nearest, texts)
                if completed and best is not None and plan is not None:
                    self._complete(found, best, plan, values)
                values["found_json"] = json.dumps(list(found.values()))
            statement = ONE_STATEMENT if here else FUSED[request.fusion]
            return Prepared(
                statement,
                statement.bind(**values),
                depth,
                match,
                words,
                tuple(sorted(languages)),
                plan,
                eligible,
                cosines,
            )

    def _nearest(self, plan: VectorPlan, values: dict[str, Any]) -> list[Row]:
        """The vector leg by itself: (chunk, cosine), best first."""
        if plan.cosines is not None:
            return list(plan.cosines.nearest(values["depth"], values["min_similarity"]))
        alone = NEAREST[plan.compared is None]
        return self._connection.rows(alone, alone.bind(**values))

    def _relevance(
        self,
        request: SearchRequest,
        match: str,
        terms: list[str],
        excluded: list[str],
        everywhere: Corpus | None = None,
    ) -> Relevance | FullText:
        """BM25 of the texts that match a search's expression, by its plan for words."""
        if self._words_plan(terms) == "scan":
            return FullText(self._connection, match)
        lists = self._lists(self._power(request), None if everywhere is None else everywhere.average)
        return lists.relevance(readings(terms), " OR ".join(excluded) or None, everywhere)

    @staticmethod
    def _lists_as_one(nearest: Sequence[Row], texts: Sequence[tuple[int, float | None]]) -> dict[int, list[Any]]:
        """Both lists by chunk as [chunk, vector rank, similarity, text rank, bm25]."""
        found: dict[int, list[Any]] = {
            chunk: [chunk, rank, cosine, None, None] for rank, (chunk, cosine) in enumerate(nearest, 1)
        }
        for rank, (chunk, value) in enumerate(texts, 1):
            found.setdefault(chunk, [chunk, None, None, None, None])[3:] = rank, value
        return found

    def _complete(self, found: dict[int, list[Any]], best: _Best, plan: VectorPlan, values: dict[str, Any]) -> None:
        """Add the value that each chunk of one list alone has by the other."""
        for chunk, value in best.relevance.of([chunk for chunk, row in found.items() if row[3] is None]):
            found[chunk][4] = value
        lacking = [chunk for chunk, row in found.items() if row[1] is None]
        if plan.cosines is not None:
            known: Sequence[Row] = plan.cosines.of(lacking)
        else:
            given = _SQL["similarities"].bind(query=values["query"], ids_json=json_ids(lacking))
            known = self._connection.rows(_SQL["similarities"], given)
        least = values["min_similarity"]
        for chunk, cosine in known:
            found[chunk][2] = cosine if least is None or cosine >= least else None

    def _turns(self, request: SearchRequest) -> Turns | None:
        """The passages that come in the sequence which a search names, if it names one."""
        sequence = request.sequence
        if sequence is None:
            return None
        plain = replace(sequence, named=frozenset())
        turns = self._connection.remembered(plain, lambda: Turns(self._connection, self._dictionary, plain))
        return turns if len(turns) else None

    def _power(self, request: SearchRequest) -> float:
        return length_power(request.fusion, request.syntax, self._filters.policy.tokenizer)

    def _words_plan(self, terms: list[str]) -> str:
        """The plan for the text matches; both plans give the same results, but for what a text's length counts.

        "lists" has posting lists in memory, which cost less than a scan at any size, also where each search follows a
        write, and less than looking few eligible texts up. "scan" asks FTS5 for the whole expression.
        """
        self._frequencies.agree()
        return "lists" if LISTS and terms and self._filters.policy.tokenizer != "trigram" else "scan"

    def _words(self, request: SearchRequest) -> tuple[str | None, list[str], list[str], frozenset[str]]:
        """The FTS5 expression of a search, None where it has none, what a person's words seek and exclude, and the
        languages that they are read in.
        """
        if request.mode == "vector":
            return None, [], [], frozenset()
        if request.syntax != "words":
            asked = _fts5(request.text, apart=self._filters.policy.tokenizer != "trigram")
            listed = _PHRASES if self._filters.masked else _BEGINNINGS
            terms = asked.split(" OR ") if request.mode == "text" and listed.fullmatch(asked) else []
            return asked, terms, [], frozenset()
        languages = spoken(request, [self.languages]) if request.languages is None else request.languages
        terms, excluded = read_in(request.text, self._filters.policy.tokenizer, languages)
        return expression(terms, excluded), terms, excluded, languages

    def run(self, request: SearchRequest, prepared: Prepared) -> list[Fused]:
        """The statement's rows, best first; QueryError for a wrong FTS5 expression."""
        with checked(request):
            return fused(self._connection.rows(prepared.statement, prepared.parameters))


def _fts5(expression: str, *, apart: bool) -> str:
    """The expression, if SQL can hold it, its words and phrases as the index has them."""
    if "\0" in expression or any("\ud800" <= character <= "\udfff" for character in expression):
        raise QueryError(f"the FTS5 expression {short(expression)} holds U+0000 or a lone surrogate")
    return expression if expression.isascii() else _QUOTED.sub(partial(_as_indexed, apart=apart), expression)


def _as_indexed(found: re.Match[str], *, apart: bool) -> str:
    """A word or phrase in an FTS5 expression; non-ASCII text is segmented and quoted."""
    if found[0].isascii():
        return found[0]
    text = found[1] if found[1] is not None else found[0]
    return '"' + (segment(text, apart=apart) or text).replace('"', " ") + '"'
