"""The one SQL statement of a search: its legs, their fusion, and its parameters, put together and run."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any

from worlds.core.quads.dictionary import Dictionary, json_ids
from worlds.core.search.candidates import Fused, fused
from worlds.core.search.fields import Fields
from worlds.core.search.filters import Eligible, Filters
from worlds.core.search.frequencies import Corpus, Frequencies, length_power
from worlds.core.search.hits import Clock
from worlds.core.search.language import WorldLanguages, read_in, spoken
from worlds.core.search.plans import Plans, VectorPlan
from worlds.core.search.postings import PostingLists, Relevance
from worlds.core.search.request import SearchRequest
from worlds.core.search.sequences import Turns
from worlds.core.search.words import expression, readings
from worlds.core.texts.segmentation import segment
from worlds.errors import QueryError, WorldsError
from worlds.sql import Statement, compile_statement, statements, texts
from worlds.sql.connection import Connection, Row

_SQL = statements("queries.sql")
_PIECES = texts("search.sql")
_FOUND = {"vector": _PIECES["vector_found"], "text": _PIECES["text_found"]}
SCORES = {"rrf": _PIECES["scores_rrf"], "relative": _PIECES["scores_relative"], "weighted": _PIECES["scores_relative"]}
_TEXT_LEGS = {
    "scan": _PIECES["text_leg_scan"],
    "terms": f"{_PIECES['texts_scored'].strip()},\n{_PIECES['text_leg_scored']}",
    "lookup": _PIECES["text_leg_lookup"],
    "eligible": _PIECES["text_leg_eligible"],
}
_TEXTS_COMPLETED = {
    "scan": _PIECES["text_completed_scan"],
    **dict.fromkeys(("terms", "lookup"), _PIECES["text_completed_whole"]),
}
_compiled = lru_cache(compile_statement)  # there are some twenty
_CANDIDATES = {False: _PIECES["candidates_given"], True: _PIECES["candidates_index"]}
NEAREST = {
    indexed: compile_statement(f"WITH {piece.strip()},\n{_PIECES['vector_leg'].strip()}\n{_PIECES['nearest'].strip()}")
    for indexed, piece in _CANDIDATES.items()
}

MOST_LOOKED_UP = 2000  # eligible chunks that are looked up in the full-text index one by one
LISTED = 1500  # postings that are read in the time of looking up one chunk, or kept for the next search
LISTS = True  # whether words are found by posting lists in memory, where these can
_KINDS = 4  # of posting lists that are kept: by what a length counts, and by the average
_COMPARED = 4  # times as many chunks as passages are wanted
_DEEPER = 4  # times as many nearest vectors, where turns lean on the turn before
_WORD = re.compile('"[0-9A-Za-z]+"')
_BEGINNINGS = re.compile(r'"\w+"\*(?: OR "\w+"\*)*')
_BYTES = bytes(range(256))
_SHOWN = 200  # characters of an expression that an error repeats
_QUOTED = re.compile(r'"((?:[^"]|"")*)"|[\w\x1a\x80-\U0010ffff]+')  # or a word by itself
_NO_COLUMN = re.compile(r"no such column: ([^)]*)")


@dataclass(frozen=True)
class Prepared:
    """A search's statement with its parameters, prepared before it runs."""

    statement: Statement
    parameters: tuple[object, ...]  # which ask for one passage more
    depth: int  # how long each list may be
    match: str | None  # the FTS5 expression
    words: str | None  # how the words' list is made: scan, lookup, lists or eligible; None without one
    languages: tuple[str, ...]  # in which the words are read; none where that is English alone
    plan: VectorPlan | None
    eligible: Eligible | None
    limit: int  # passages that are asked for
    few: tuple[object, ...] | None  # parameters that look for them among the best chunks alone, which mostly are enough
    cosines: Mapping[int, float] = field(default_factory=dict)  # of chunks, where their sequence changed these


class _Best:
    """The best texts by posting lists, and the share of the question that the best one has in its own words."""

    def __init__(
        self, relevance: Relevance, request: SearchRequest, depth: int, eligible: Eligible | None, turns: Turns | None
    ) -> None:
        chunks = None if eligible is None else eligible.chunks
        self.texts = relevance.best(depth, eligible)
        self._first = self.texts[0][0] if self.texts else None
        self._dated = frozenset() if turns is None else turns.dated(request.text)
        self.relevance = relevance
        if turns is not None:
            self.relevance = relevance.changed(turns.words(relevance.scores, chunks, request.text))
            self.texts = self.relevance.best(depth, eligible)

    def held(self, term: str) -> bool:
        """Whether the best text by its own words has a term."""
        first = self._first
        return first is not None and any(self.relevance.held(one, first) for one in readings([term]))

    def dated(self, term: str) -> bool:
        """Whether a term is a word of the day of a turn, which need not stand in a text."""
        return term.strip('"') in self._dated


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
        self._frequencies = Frequencies(connection)
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
        mask = None if eligible is None else eligible.mask
        read = [self._words(request) for request in requests]
        power = length_power(first.fusion, first.syntax, self._filters.policy.tokenizer)
        listed = [
            terms if terms and self._words_plan(eligible, terms, excluded, power, None, None) == "lists" else []
            for _, terms, excluded, _ in read
        ]
        lists = self._lists(power, None)
        if any(listed):
            lists.read(one for terms in listed for one in readings(terms))
        statement, found = _SQL["best_texts"], []
        for request, terms, (match, _, excluded, _) in zip(requests, listed, read, strict=True):
            if terms:
                best = lists.relevance(readings(terms), " OR ".join(excluded) or None).best(request.limit, eligible)
                found.append([chunk for chunk, _ in best])
            elif not match:
                found.append([])
            else:
                values = statement.bind(match=match, eligible=mask, depth=request.limit)
                found.append([chunk for (chunk,) in self._connection.rows(statement, values)])
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
                "limit": limit,
                "compared": -1,
                "with_text": int(limit <= depth),  # of longer lists most are not shown
                "eligible": None if eligible is None else eligible.mask,
                "min_similarity": request.min_similarity,
                **self._fields.values(request),
                **fusion_values(request),
            }
            match, terms, excluded, languages = self._words(request)
            legs = [leg for leg in ("vector", "text") if leg == "text" or request.vector is not None]
            if match is None and len(legs) == 2:
                legs.remove("text")
            power = length_power(request.fusion, request.syntax, self._filters.policy.tokenizer)
            values["length"] = power
            values["match"] = '""' if match is None else match  # what matches nothing: a search for no words
            completed = request.fusion != "rrf" and len(legs) == 2
            in_sql = (
                request.plan == "index" and request.fusion == "rrf" and everywhere is None
            )  # one statement, and nothing in memory
            covered = request.fusion == "relative" and completed and bool(terms)
            values["pending_factor"] = pending_factor(request) if len(legs) == 2 else 1.0
            turns = self._turns(request)
            words = None
            if request.listing and eligible is not None:
                words = "eligible"
            elif "text" in legs:
                words = "scan" if in_sql else self._words_plan(eligible, terms, excluded, power, everywhere, turns)
            best = None
            if words == "lists":
                lists = self._lists(power, None if everywhere is None else everywhere.average)
                relevance = lists.relevance(readings(terms), " OR ".join(excluded) or None, everywhere)
                best = _Best(relevance, request, depth, eligible, turns)
            ctes: list[str] = []
            plan = None
            nearest: list[Row] = []
            cosines: dict[int, float] = {}
            given = words == "lists"  # rather than found by the statement itself
            if request.vector is not None:
                plan = self._plans.choose(request, depth, eligible, state)
                values |= {"query": request.vector.astype("<f4").tobytes(), **plan.values}
                if given or turns is not None or plan.cosines is not None:
                    nearest = self._nearest(plan, {**values, "depth": depth if turns is None else _DEEPER * depth})
                    if turns is not None and request.sequence is not None:
                        cosines, others = dict(nearest), () if best is None else best.texts
                        nearest = turns.near(nearest, request.sequence.named, depth, others)
                    given = given or words is None
                    if not given:
                        values["nearest_json"] = json.dumps(nearest)
                        ctes.append(_PIECES["vector_leg_given"])
                else:
                    ctes += [_CANDIDATES[plan.compared is None], _PIECES["vector_leg"]]
            if words is not None:
                values |= self._text_values(
                    words, terms, excluded, eligible, depth, everywhere, covered=covered, best=best
                )
            if given:
                values["found_json"] = json.dumps(
                    self._lists_as_one(plan if completed else None, nearest, best, values)
                )
            else:
                listed = [_FOUND[leg] for leg in legs]
                if words is not None:
                    ctes.append(_TEXT_LEGS[words])
                    if completed:
                        listed += [_PIECES["vector_completed"], _TEXTS_COMPLETED[words]]
                union = "\nUNION ALL\n".join(piece.strip() for piece in listed)
                ctes.append(f"listed AS (\n{union}\n)")
            if request.fusion != "rrf":
                how = "coverage_alone" if not covered else "coverage_lists" if words == "lists" else "coverage"
                ctes.append(_PIECES[how])
            ctes += [
                _PIECES["found_given" if given else "found"],
                SCORES[request.fusion],
                _PIECES[
                    "weighed_alike" if values["weights_json"] is None and values["label_bytes"] == -1 else "weighed"
                ],
                _PIECES["summed"],
                _PIECES["fused"],
            ]
            statement = _compiled("WITH\n" + ",\n".join(piece.strip() for piece in ctes))
            wanted = {**values, "limit": limit + 1}  # which tells whether more follow
            few = {**wanted, "compared": _COMPARED * (limit + 1)}
            return Prepared(
                statement,
                statement.bind(**wanted),
                depth,
                match,
                "scan" if words == "terms" else words,
                tuple(sorted(languages)),
                plan,
                eligible,
                limit + 1,
                None if request.stages.any or in_sql or self._pending() else statement.bind(**few),
                cosines,
            )

    def _nearest(self, plan: VectorPlan, values: dict[str, Any]) -> list[Row]:
        """The vector leg by itself: (chunk, cosine), best first."""
        if plan.cosines is not None:
            return list(plan.cosines.nearest(values["depth"], values["min_similarity"]))
        alone = NEAREST[plan.compared is None]
        return self._connection.rows(alone, alone.bind(**values))

    def _lists_as_one(
        self, plan: VectorPlan | None, nearest: list[Row], best: _Best | None, values: dict[str, Any]
    ) -> list[list[object]]:
        """The lists as (chunk, vector rank, similarity, text rank, bm25); with a plan, each value that either lacks."""
        found: dict[int, list[object]] = {
            chunk: [chunk, rank, cosine, None, None] for rank, (chunk, cosine) in enumerate(nearest, 1)
        }
        if best is not None:
            for rank, (chunk, value) in enumerate(best.texts, 1):
                found.setdefault(chunk, [chunk, None, None, None, None])[3:] = rank, value
        if best is not None and plan is not None:
            for chunk, value in best.relevance.of([chunk for chunk, _ in nearest]):
                found[chunk][4] = found[chunk][4] if found[chunk][3] else value
            lacking = [chunk for chunk, row in found.items() if row[1] is None]
            if plan.cosines is not None:
                known: Sequence[Row] = plan.cosines.of(lacking)
            else:
                given = _SQL["similarities"].bind(query=values["query"], ids_json=json_ids(lacking))
                known = self._connection.rows(_SQL["similarities"], given)
            least = values["min_similarity"]
            for chunk, cosine in known:
                found[chunk][2] = cosine if least is None or cosine >= least else None
        return list(found.values())

    def _turns(self, request: SearchRequest) -> Turns | None:
        """The passages that come in the sequence which a search names, if it names one."""
        sequence = request.sequence
        if sequence is None:
            return None
        plain = replace(sequence, named=frozenset())
        turns = self._connection.remembered(plain, lambda: Turns(self._connection, self._dictionary, plain))
        return turns if len(turns) else None

    def _pending(self) -> bool:
        """Whether a chunk has no vector yet: then chunks of the same text need not have the same vector."""
        return bool(self._connection.remembered("pending", lambda: self._connection.value(_SQL["any_pending"])))

    def _text_values(
        self,
        words: str,
        terms: list[str],
        excluded: list[str],
        eligible: Eligible | None,
        depth: int,
        everywhere: Corpus | None,
        *,
        covered: bool,
        best: _Best | None,
    ) -> dict[str, object]:
        """The parameters of the statement by its plan for words, without the expression; `best` is for "lists"."""
        if words == "eligible" and eligible is not None:
            return {"chunks_json": json_ids(eligible.chunks[:depth])}
        if words in ("lookup", "terms"):
            asked = Counter(readings(terms))
            here = self._frequencies.corpus(asked)
            corpus = everywhere or here
            weights = [
                (term, here.weight(term), corpus.weight(term) * times)
                for term, times in asked.items()
                if here.counts[term]
            ]
            return {
                "chunks_json": None if eligible is None else json_ids(eligible.chunks),
                "words_json": json.dumps(weights),
                "average_here": here.average,
                "average": corpus.average,
                "bytes": _BYTES,
                "excluded": " OR ".join(excluded) or None,
                "terms_json": self._telling(terms, everywhere),
            }
        if best is not None:
            if not covered:
                return {}
            corpus = everywhere or self._frequencies.corpus(terms)
            held = [(corpus.telling(term), best.held(term)) for term in terms if not best.dated(term)]
            return {"held_json": json.dumps(held)}
        return {"terms_json": self._telling(terms, everywhere)} if covered else {}

    def _telling(self, terms: list[str], everywhere: Corpus | None) -> str:
        """Each term with its inverse document frequency, as JSON."""
        corpus = everywhere or self._frequencies.corpus(terms)
        return json.dumps([(term, corpus.telling(term)) for term in terms])

    def _words_plan(
        self,
        eligible: Eligible | None,
        terms: list[str],
        excluded: list[str],
        power: float,
        everywhere: Corpus | None,
        turns: Turns | None,
    ) -> str:
        """The plan for the full-text list; all plans give the same results.

        "lookup" looks each eligible chunk up, where that costs less than to read all that the full-text index has of
        the terms and memory lacks: these are single words, which highlight() marks as often as they stand. "lists" has
        posting lists in memory, which cost less than a scan at any size, also where each search follows a write. The
        others scan the index: "terms" term by term, "scan" by the whole expression.
        """
        plain = bool(terms) and self._filters.policy.tokenizer != "trigram"
        self._frequencies.agree()
        if plain and turns is not None:
            return "lists"
        if (
            plain
            and eligible is not None
            and len(eligible.chunks) <= MOST_LOOKED_UP
            and not excluded
            and all(map(_WORD.fullmatch, sought := readings(terms)))
            and (cost := len(eligible.chunks) * LISTED) < len(sought) * self._frequencies.rows  # the most to be read
            and cost < self._lists(power, None).unread(sought)
        ):
            return "lookup"
        if plain and LISTS:
            return "lists"
        return "terms" if terms and (everywhere is not None or (plain and power != 1)) else "scan"

    def _words(self, request: SearchRequest) -> tuple[str | None, list[str], list[str], frozenset[str]]:
        """The FTS5 expression of a search, None where it has none, what a person's words seek and exclude, and the
        languages that they are read in.
        """
        if request.mode == "vector":
            return None, [], [], frozenset()
        if request.syntax != "words":
            asked = _fts5(request.text, apart=self._filters.policy.tokenizer != "trigram")
            beginnings = request.mode == "text" and _BEGINNINGS.fullmatch(asked)
            return asked, asked.split(" OR ") if beginnings else [], [], frozenset()
        languages = spoken(request, [self.languages]) if request.languages is None else request.languages
        terms, excluded = read_in(request.text, self._filters.policy.tokenizer, languages)
        return expression(terms, excluded), terms, excluded, languages

    def run(self, request: SearchRequest, prepared: Prepared) -> list[Fused]:
        """The statement's rows, best first; QueryError for a wrong FTS5 expression."""
        try:
            if prepared.few is not None:
                found = fused(self._connection.rows(prepared.statement, prepared.few))
                looked_at = sum(row.alike.count(",") + 1 for row in found)
                # Of a passage that is here, chunks that were not looked at have the vector, by which they are cited.
                if len(found) == prepared.limit or looked_at < _COMPARED * prepared.limit:
                    return found
            return fused(self._connection.rows(prepared.statement, prepared.parameters))
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


def fusion_values(request: SearchRequest) -> dict[str, object]:
    """The parameters of the pieces that give scores."""
    theoretical = request.normalise == "theoretical"
    return {
        "k": float(request.k),
        "vector_weight": float(request.weights["vector"]),
        "text_weight": float(request.weights["text"]),
        "least_similarity": -1.0 if theoretical else None,
        "least_relevance": 0.0 if theoretical else None,
    }


def pending_factor(request: SearchRequest) -> float:
    """The sum of the weights divided by that of words, the only list of a chunk without a vector."""
    weights = request.weights
    return (weights["vector"] + weights["text"]) / weights["text"] if weights["text"] else 1.0


def _fts5(expression: str, *, apart: bool) -> str:
    """The expression, if SQL can hold it, its words and phrases as the index has them."""
    if "\0" in expression or any("\ud800" <= character <= "\udfff" for character in expression):
        raise QueryError(f"the FTS5 expression {_short(expression)} holds U+0000 or a lone surrogate")
    return expression if expression.isascii() else _QUOTED.sub(partial(_as_indexed, apart=apart), expression)


def _as_indexed(found: re.Match[str], *, apart: bool) -> str:
    """A word or phrase in an FTS5 expression; non-ASCII text is segmented and quoted."""
    if found[0].isascii():
        return found[0]
    text = found[1] if found[1] is not None else found[0]
    return '"' + (segment(text, apart=apart) or text).replace('"', " ") + '"'


def _short(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")
