"""Takes the candidates of a search through the stages after fusion: reads what these need, then runs them in order."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import pyoxigraph as ox
from numpy.typing import NDArray

from worlds.graph.query.limits import Limits
from worlds.quads.dictionary import Dictionary, Ids, json_ids
from worlds.search.candidates import Candidates, Fused
from worlds.search.filters import Filters, among
from worlds.search.hits import Clock, Step
from worlds.search.rerank import RerankError, answers
from worlds.search.stages import (
    Boost,
    Cursor,
    Decay,
    Floats,
    Indexes,
    Likeness,
    Rerank,
    Stages,
    at_most,
    by_rank,
    decay_factors,
    diversified,
    greatest,
    grouped,
    number_factors,
    ordered,
    read_date,
    read_number,
    reranked,
)
from worlds.sql import statements
from worlds.sql.connection import Connection, Row, as_text, integers

_SQL = statements("stages.sql")
_RDF_TYPE = ox.NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
_TRUE = ("true", "1")
_MOST_DIVERSE = 1000  # candidates that diversity orders, unless more are wanted

Detail: TypeAlias = Callable[[int], Mapping[str, object]]
Read: TypeAlias = Callable[[str], float | None]


@dataclass(frozen=True)
class _Done:
    """A stage that was done."""

    name: str
    before: Indexes
    scores_before: Floats
    order: Indexes
    scores: Floats
    detail: Detail


Change: TypeAlias = "tuple[Indexes, Floats, Detail]"
Stage: TypeAlias = "tuple[str, Callable[[Indexes, Floats], Change]]"


@dataclass
class Ranked:
    """The candidates in their last order, and how they came there."""

    order: Indexes
    scores: Floats
    done: list[_Done] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def steps(self, chosen: Sequence[int]) -> list[tuple[Step, ...]]:
        """What each stage did to each of these candidates."""
        found: list[list[Step]] = [[] for _ in chosen]
        for one in self.done:
            before, after = _places(one.before), _places(one.order)
            for steps, candidate in zip(found, chosen, strict=True):
                scores = float(one.scores_before[candidate]), float(one.scores[candidate])
                steps.append(Step(one.name, before[candidate], after[candidate], *scores, detail=one.detail(candidate)))
        return [tuple(steps) for steps in found]


def _places(order: Indexes) -> dict[int, int]:
    return {candidate: place for place, candidate in enumerate(order.tolist(), 1)}


class Ranking:
    """Ranks the candidates of one world's searches."""

    def __init__(self, connection: Connection, dictionary: Dictionary, filters: Filters) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self._filters = filters
        self._naming: tuple[object, Ids] | None = None  # of which state and policy, and the predicates

    def prepare(
        self,
        question: str,
        stages: Stages,
        found: Candidates,
        *,
        wanted: int,
        given: Cursor | None,
        graphs: tuple[Any, ...] | None,
        state: object,
        limits: Limits | None,
        clock: Clock,
    ) -> Callable[[], Ranked]:
        """Read from the world what the stages need; gives what then runs them, without it.

        `wanted` is how many hits are to come of it, those `given` before included. Facts are read from `graphs`, or
        from all; `limits` are those of patterns. What cannot be done is left out, and noted.
        """
        notes: list[str] = []
        steps: list[Stage] = []
        if stages.rerank is not None:
            asked = texts_of(self._connection, found.rows[: stages.rerank.top])
            steps.append(("rerank", _reranking(stages.rerank, question, found, asked)))
        if len(found):
            facts = _Facts(self._connection, self._dictionary, self._filters, found, graphs)
            if stages.boosts:
                with clock.step("boost"):
                    steps.append(("boost", self._boosting(stages.boosts, found, facts, state, limits, notes)))
            if stages.decay is not None:
                with clock.step("decay"):
                    first = not stages.boosts
                    steps.append(("decay", self._decaying(stages.decay, found, facts, notes, first=first)))
            if stages.diversity is not None:
                with clock.step("diversity"):
                    count = wanted if stages.per_subject is None else max(wanted, _MOST_DIVERSE)
                    steps.append(("diversity", self._diversifying(stages.diversity, found, count)))
            if stages.per_subject is not None:
                steps.append(("group", grouping(stages.per_subject, found, self.names(found, state), given)))
        return lambda: run(steps, found, notes, clock)

    def names(self, found: Candidates, state: object) -> NDArray[np.bool_]:
        """Which candidates are labels or aliases, [n], as of `state`."""
        names = np.zeros(len(found), dtype=bool)
        names[found.owner[among(found.predicates, self._name_predicates(state))]] = True
        return names

    def _name_predicates(self, state: object) -> Ids:
        """The predicates of labels and aliases."""
        policy = self._filters.policy
        if self._naming is None or self._naming[0] != (state, policy):
            iris = [ox.NamedNode(iri) for iri in policy.predicates("label", "alias")]
            self._naming = (state, policy), self._filters.known(iris)
        return self._naming[1]

    # -- boost and decay ------------------------------------------------------------------------------------------

    def _boosting(
        self,
        boosts: Sequence[Boost],
        found: Candidates,
        facts: _Facts,
        state: object,
        limits: Limits | None,
        notes: list[str],
    ) -> Callable[[Indexes, Floats], Change]:
        factors: list[tuple[str, Floats]] = []
        for boost in boosts:
            if boost.where is not None:
                matching = self._filters.matching(boost.where, facts.graphs, state, limits)
                matched = np.zeros(len(found), dtype=bool)
                matched[found.owner[among(found.subjects, matching)]] = True
                factors.append((boost.where, np.where(matched, boost.number, 1.0)))
            elif boost.predicate is not None:
                values, wrong = facts.greatest(boost.predicate, read_number)
                if wrong:
                    notes.append(f"boost: {_some(wrong, 'value')} of {boost.predicate.value} not read as a number")
                factors.append((boost.predicate.value, number_factors(values, boost.number)))
        product = np.prod([factor for _, factor in factors], axis=0)

        def detail(candidate: int) -> dict[str, object]:
            return {
                "factor": float(product[candidate]),
                "by": {by: float(factor[candidate]) for by, factor in factors},
            }

        return _multiplying(product, detail, first=True)

    def _decaying(
        self, decay: Decay, found: Candidates, facts: _Facts, notes: list[str], *, first: bool
    ) -> Callable[[Indexes, Floats], Change]:
        dates, wrong = facts.greatest(decay.predicate, read_date)
        if wrong:
            notes.append(f"decay: {_some(wrong, 'value')} of {decay.predicate.value} not read as a date")
        now = time.time() / 86_400 if decay.now is None else decay.now
        factors = decay_factors(dates, now, decay.half_life)
        evergreen = self._evergreen(decay, found, facts)
        factors[evergreen] = 1.0

        def detail(candidate: int) -> dict[str, object]:
            date = float(dates[candidate])
            age = None if np.isnan(date) else max(now - date, 0.0)
            return {
                "factor": float(factors[candidate]),
                "age_days": age,
                "evergreen": bool(evergreen[candidate]),
            }

        return _multiplying(factors, detail, first=first)

    def _evergreen(self, decay: Decay, found: Candidates, facts: _Facts) -> Any:
        """Which candidates never age, boolean [n]."""
        subjects = set(facts.with_object(_RDF_TYPE, decay.evergreen_types))
        for flag in decay.evergreen_flags:
            subjects |= {subject for subject, value in zip(*facts.values(flag), strict=True) if value in _TRUE}
        quads = among(found.subjects, np.array(sorted(subjects), dtype=np.int64))
        quads |= among(found.predicates, self._filters.known(decay.evergreen_predicates))
        evergreen = np.zeros(len(found), dtype=bool)
        evergreen[found.owner[quads]] = True
        return evergreen

    # -- diversity ------------------------------------------------------------------------------------------------

    def _diversifying(self, trade: float, found: Candidates, count: int) -> Callable[[Indexes, Floats], Change]:
        numbers = [row.vector or 0 for row in found.rows]
        positions = embeddings = None
        if any(numbers):  # else the world may have no table of vectors
            positions, embeddings = self._connection.rows(_SQL["embeddings"], (json_ids(numbers),))[0]
        at = integers(positions)
        table = np.frombuffer(embeddings or b"", dtype="<f4").reshape(len(at) or 1, -1)
        vectors = np.zeros((len(found.rows), table.shape[1]), np.float32)
        known = np.zeros(len(vectors), dtype=bool)
        vectors[at], known[at] = table[: len(at)], True
        texts = [] if known.all() else texts_of(self._connection, found.rows)
        likeness = Likeness(vectors, known, texts, often=4 * count > len(found))

        def stage(order: Indexes, scores: Floats) -> Change:
            if scores is found.scores:  # the extra of an exact label would make all others look equally irrelevant
                extra = np.array([found.rows[row].label_score or 0.0 for row in found.row.tolist()])
                scores = np.minimum(scores, (scores - extra).max())
            order, changed, nearest = diversified(order, scores, found.row, likeness.to, trade, count)
            return order, changed, lambda candidate: {"likeness": float(nearest[candidate])}

        return stage


class _Facts:
    """What the world says of the candidates' subjects, in some graphs or in all."""

    def __init__(
        self,
        connection: Connection,
        dictionary: Dictionary,
        filters: Filters,
        found: Candidates,
        graphs: tuple[Any, ...] | None,
    ) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self._filters = filters
        self._found = found
        self.graphs = graphs

    def values(self, predicate: ox.NamedNode) -> tuple[list[int], list[str | None]]:
        """Subjects, and the lexical forms that they have under a predicate; None for what is no literal."""
        subjects, texts = self._row("values", predicate)
        return integers(subjects).tolist(), json.loads(texts)

    def with_object(self, predicate: ox.NamedNode, objects: Sequence[ox.NamedNode]) -> list[int]:
        """The subjects that have one of the objects under a predicate."""
        known = self._filters.known(objects)
        return (
            integers(self._row("with_object", predicate, objects_json=json_ids(known))[0]).tolist()
            if len(known)
            else []
        )

    def greatest(self, predicate: ox.NamedNode, read: Read) -> tuple[Floats, list[str]]:
        """Each candidate's greatest value under a predicate, NaN without one, and what could not be read."""
        distinct = self._found.distinct
        subjects, texts = self.values(predicate)
        values = [None if text is None else read(text) for text in texts]
        wrong = ["an IRI" if text is None else text for text, value in zip(texts, values, strict=True) if value is None]
        by_subject = greatest(np.array(values, np.float64), np.searchsorted(distinct, subjects), len(distinct))
        values_of_quads = by_subject[np.searchsorted(distinct, self._found.subjects)]
        return greatest(values_of_quads, self._found.owner, len(self._found)), wrong

    def _row(self, statement: str, predicate: ox.NamedNode, **values: object) -> Row:
        graphs = None if self.graphs is None else json_ids(self._filters.known(self.graphs))
        values |= {
            "subjects_json": json_ids(self._found.distinct),
            "predicate": self._dictionary.find([predicate])[0],
            "graphs_json": graphs,
        }
        return self._connection.rows(_SQL[statement], _SQL[statement].bind(**values))[0]


def texts_of(connection: Connection, rows: Sequence[Fused]) -> list[str]:
    """The texts of rows of the statement, which it has given for none of them or for all."""
    texts = {row.chunk: row.text for row in rows}
    if None in texts.values():
        texts = dict(connection.rows(_SQL["texts"], (json_ids(texts),)))
    return [as_text(texts[row.chunk] or "") for row in rows]


def _some(wrong: Sequence[str], what: str) -> str:
    shown = ", ".join(repr(value[:40]) for value in wrong[:2])
    return f"{len(wrong):,} {what}{'' if len(wrong) == 1 else 's'} ({shown}{', …' if len(wrong) > 2 else ''})"


# -- the stages, with what they need ----------------------------------------------------------------------------------


def run(steps: Sequence[Stage], found: Candidates, notes: Sequence[str], clock: Clock) -> Ranked:
    """The candidates, taken through the steps in their order."""
    ranked = Ranked(np.arange(len(found)), found.scores, notes=list(notes))
    for name, change in steps:
        try:
            with clock.step(name):
                order, scores, detail = change(ranked.order, ranked.scores)
        except RerankError as error:
            ranked.notes.append(f"not reranked: {error}")
            continue
        ranked.done.append(_Done(name, ranked.order, ranked.scores, order, scores, detail))
        ranked.order, ranked.scores = order, scores
    return ranked


def _multiplying(factors: Floats, detail: Detail, *, first: bool) -> Callable[[Indexes, Floats], Change]:
    def stage(order: Indexes, scores: Floats) -> Change:
        changed = (by_rank(order, scores) if first else scores) * factors
        return ordered(order, changed), changed, detail

    return stage


def _reranking(
    rerank: Rerank, question: str, found: Candidates, asked: list[str]
) -> Callable[[Indexes, Floats], Change]:
    def stage(order: Indexes, scores: Floats) -> Change:
        if not question.strip():
            raise RerankError("the query is blank")
        if not asked:
            return order, scores, lambda candidate: {}
        values = answers(rerank.model, question, asked, rerank.timeout)
        changed = reranked(scores, found.row, values)

        def detail(candidate: int) -> dict[str, object]:
            row = int(found.row[candidate])
            return {"model": rerank.name, "value": float(values[row]) if row < len(values) else None}

        return ordered(order, changed), changed, detail

    return stage


def _share_by_words(row: Fused) -> float:
    """Which share of a fused score the words gave, in [0, 1]."""
    return row.text_score * row.weight * row.pending / row.score if row.text_score and row.score else 0.0


def grouping(
    most: int, found: Candidates, names: NDArray[np.bool_], given: Cursor | None
) -> Callable[[Indexes, Floats], Change]:
    """`names` tells which candidates are labels or aliases: of several spellings of one name, the best alone counts."""
    by_words = np.array([_share_by_words(row) for row in found.rows])[found.row]

    def stage(order: Indexes, scores: Floats) -> Change:
        counts = dict(zip(*(column.tolist() for column in np.unique(found.subject, return_counts=True)), strict=True))
        spelt = ordered(order[names[order]], scores)
        again = np.delete(spelt, np.unique(found.subject[spelt], return_index=True)[1])
        share = by_words.copy()
        share[again] = 0
        together, changed = grouped(order, scores, found.subject, share)
        if given is None:
            kept = at_most(together, found.subject, lambda subject: most)
        else:
            fresh = [candidate for candidate in together.tolist() if found.key(candidate) not in given.keys]
            kept = at_most(np.array(fresh, dtype=np.intp), found.subject, lambda subject: most - given.of(subject))
        return kept, changed, lambda candidate: {"hits": counts[int(found.subject[candidate])]}

    return stage
