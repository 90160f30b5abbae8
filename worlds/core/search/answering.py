"""How a search is answered, of one world or of several: found deep enough, ranked by its stages, and made into hits."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from worlds.core.search.candidate_facts import CandidateFacts
from worlds.core.search.candidates import Candidates, Fused, enough
from worlds.core.search.facets import Facets
from worlds.core.search.hits import Clock, Explanation, Hit, SearchResults, Step
from worlds.core.search.options import MOST_CANDIDATES
from worlds.core.search.request import SearchRequest
from worlds.core.search.rerank import RerankError, answers
from worlds.core.search.stages import (
    Boost,
    Cursor,
    Decay,
    Floats,
    Indexes,
    Rerank,
    Stages,
    TextSimilarity,
    at_most,
    by_rank,
    decay_factors,
    diversified,
    grouped,
    number_factors,
    ordered,
    read_date,
    read_number,
    reranked,
    rest,
)

_DEEPER = 4  # times as long lists, where they hold too few passages or subjects
_MOST_DIVERSE = 1000  # candidates that diversity orders, unless more are wanted

Detail: TypeAlias = Callable[[int], Mapping[str, object]]


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
        """The steps of each of these candidates: one for each stage."""
        found: list[list[Step]] = [[] for _ in chosen]
        for one in self.done:
            before, after = _places(one.before), _places(one.order)
            for steps, candidate in zip(found, chosen, strict=True):
                scores = float(one.scores_before[candidate]), float(one.scores[candidate])
                steps.append(Step(one.name, before[candidate], after[candidate], *scores, detail=one.detail(candidate)))
        return [tuple(steps) for steps in found]


def _places(order: Indexes) -> dict[int, int]:
    return {candidate: place for place, candidate in enumerate(order.tolist(), 1)}


def prepare(
    question: str,
    stages: Stages,
    found: Candidates,
    facts: CandidateFacts,
    *,
    wanted: int,
    given: Cursor | None,
    clock: Clock,
) -> Callable[[], Ranked]:
    """Read the facts that the stages need; returns a function that runs the stages without reading.

    `wanted` is how many hits are to come of it, those `given` before included. What cannot be done is left out, and
    noted.
    """
    notes: list[str] = []
    steps: list[Stage] = []
    if any(row.related is not None for row in found.rows):
        steps.append(("related", _relating(found)))
    if stages.rerank is not None:
        asked = facts.texts(found.rows[: stages.rerank.top])
        steps.append(("rerank", _reranking(stages.rerank, question, found, asked)))
    if len(found):
        if stages.boosts:
            with clock.step("boost"):
                steps.append(("boost", _boosting(stages.boosts, facts, notes)))
        if stages.decay is not None:
            with clock.step("decay"):
                steps.append(("decay", _decaying(stages.decay, facts, notes)))
        if stages.diversity is not None:
            with clock.step("diversity"):
                count = wanted if stages.per_subject is None else max(wanted, _MOST_DIVERSE)
                steps.append(("diversity", _diversifying(stages.diversity, found, facts, count)))
        if stages.per_subject is not None:
            steps.append(("group", _grouping(stages.per_subject, found, facts.names(), given)))
    return lambda: _run(steps, found, notes, clock)


def _run(steps: Sequence[Stage], found: Candidates, notes: Sequence[str], clock: Clock) -> Ranked:
    """The candidates, taken through the steps in their order."""
    ranked = Ranked(ordered(np.arange(len(found)), found.scores), found.scores, notes=list(notes))
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


# -- the stages, with what they need ----------------------------------------------------------------------------------


def _relating(found: Candidates) -> Callable[[Indexes, Floats], Change]:
    """The rows stand in the order that the walk gave them."""
    said = [found.rows[row].related for row in found.row.tolist()]
    changed = np.array([score if one is None else one.score for one, score in zip(said, found.scores, strict=True)])

    def detail(candidate: int) -> dict[str, object]:
        one = said[candidate]
        return {} if one is None else {"rank": one.rank, "weight": one.weight}

    return lambda order, scores: (np.arange(len(found)), changed, detail)


def _boosting(boosts: Sequence[Boost], facts: CandidateFacts, notes: list[str]) -> Callable[[Indexes, Floats], Change]:
    factors: list[tuple[str, Floats]] = []
    for boost in boosts:
        if boost.where is not None:
            factors.append((boost.where, np.where(facts.matching(boost.where), boost.number, 1.0)))
        elif boost.predicate is not None:
            values, wrong = facts.greatest(boost.predicate, read_number)
            if wrong:
                notes.append(f"boost: {_some(wrong, 'value')} of {boost.predicate.value} not read as a number")
            factors.append((boost.predicate.value, number_factors(values, boost.number)))
    product = np.prod([factor for _, factor in factors], axis=0)

    def detail(candidate: int) -> dict[str, object]:
        return {"factor": float(product[candidate]), "by": {by: float(factor[candidate]) for by, factor in factors}}

    return _multiplying(product, detail, first=True)


def _decaying(decay: Decay, facts: CandidateFacts, notes: list[str]) -> Callable[[Indexes, Floats], Change]:
    dates, wrong = facts.greatest(decay.predicate, read_date)
    if wrong:
        notes.append(f"decay: {_some(wrong, 'value')} of {decay.predicate.value} not read as a date")
    now = time.time() / 86_400 if decay.now is None else decay.now
    factors = decay_factors(dates, now, decay.half_life)
    evergreen = facts.evergreen(decay)
    factors[evergreen] = 1.0

    def detail(candidate: int) -> dict[str, object]:
        date = float(dates[candidate])
        age = None if np.isnan(date) else max(now - date, 0.0)
        return {"factor": float(factors[candidate]), "age_days": age, "evergreen": bool(evergreen[candidate])}

    return _multiplying(factors, detail, first=False)


def _diversifying(
    trade: float, found: Candidates, facts: CandidateFacts, count: int
) -> Callable[[Indexes, Floats], Change]:
    vectors, known = facts.embedded()
    texts = [] if known.all() else facts.texts(found.rows)
    likeness = TextSimilarity(vectors, known, texts, often=4 * count > len(found))

    def stage(order: Indexes, scores: Floats) -> Change:
        if scores is found.scores:  # the extra of an exact label would make all others look equally irrelevant
            extra = np.array([found.rows[row].label_score or 0.0 for row in found.row.tolist()])
            scores = np.minimum(scores, (scores - extra).max())
        order, changed, nearest = diversified(order, scores, found.row, likeness.to, trade, count)
        return order, changed, lambda candidate: {"likeness": float(nearest[candidate])}

    return stage


def _some(wrong: Sequence[str], what: str) -> str:
    shown = ", ".join(repr(value[:40]) for value in wrong[:2])
    return f"{len(wrong):,} {what}{'' if len(wrong) == 1 else 's'} ({shown}{', …' if len(wrong) > 2 else ''})"


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
    """The share of a fused score that comes from the full-text list, in [0, 1]."""
    return row.text_score * row.weight * row.pending / row.score if row.text_score and row.score else 0.0


def _grouping(
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


class Asked(Protocol):
    """One search of one world or of several; readings keep to the state of the last `found`."""

    @property
    def request(self) -> SearchRequest:
        """The options of the search, checked."""

    def ahead(self, clock: Clock) -> None:
        """Run the slow steps before the worlds are locked."""

    def snapshot(self, clock: Clock) -> AbstractContextManager[None]:
        """One state of each world, whose statements the clock notes."""

    def found(self, depth: int, clock: Clock) -> tuple[Candidates, bool]:
        """The candidates in lists of this depth, best first, and whether deeper lists would add none."""

    def notes(self, found: Candidates) -> tuple[str, ...]:
        """Notes for the caller on the search and its results."""

    def facts(self, found: Candidates) -> CandidateFacts:
        """Facts about the candidates that the stages ask for."""

    def shown(self, chosen: Sequence[int]) -> Any:
        """The quads, texts and terms that hits of these candidates show."""

    def hits(self, chosen: Sequence[int], scores: Sequence[float], shown: Any, *, explain: bool) -> list[Hit]:
        """The hits of these candidates, in their order."""

    def explanation(self) -> Explanation:
        """The explanation of the search: its lists, stages and plan."""

    def facets(self) -> Facets:
        """The facets of all that the search matches."""


def answer(asked: Asked, *, explain: bool) -> SearchResults:
    """Answer a search from one snapshot of each file."""
    clock = Clock()
    asked.ahead(clock)
    request = asked.request
    stages, given = request.stages, request.cursor
    with asked.snapshot(clock):
        found, ended = deep_enough(asked, clock)
        with clock.step("notes"):
            noted = asked.notes(found)
        wanted = request.limit + (0 if given is None else len(given.keys))
        ranking = prepare(request.text, stages, found, asked.facts(found), wanted=wanted, given=given, clock=clock)
        if stages.rerank is None:
            ranked = ranking()
            chosen = rest(ranked.order, found.key, given, request.limit)
        with clock.step("hits"):
            shown = asked.shown(range(len(found)) if stages.rerank else chosen)
    if stages.rerank is not None:  # which can take seconds, in which the worlds are not to wait
        ranked = ranking()
        chosen = rest(ranked.order, found.key, given, request.limit)
    with clock.step("hits"):
        hits = asked.hits(chosen, ranked.scores[chosen].tolist(), shown, explain=explain)
        if explain:
            hits = [hit.replaced(steps=steps) for hit, steps in zip(hits, ranked.steps(chosen), strict=True)]
    clock.stop()
    told = asked.explanation()
    told = replace(
        told,
        candidates=len(found),
        stages=tuple(one.name for one in ranked.done),
        notes=(*noted, *told.notes, *ranked.notes),
        milliseconds=clock.milliseconds,
        statements=clock.statements,
    )

    def following(count: int) -> str:
        keys = [found.key(candidate) for candidate in chosen[:count]]
        return Cursor([*keys, *(() if given is None else given.keys)]).text(request.identity.digest)

    more = len(hits) == request.limit
    if ended and stages.diversity is None:  # which puts no more in order than are wanted
        more = len(rest(ranked.order, found.key, given, request.limit + 1)) > request.limit
    return SearchResults(hits, told, asked.facets, following, more=more)


def deep_enough(asked: Asked, clock: Clock) -> tuple[Candidates, bool]:
    """Search with ever longer lists until these hold enough passages or subjects for the page."""
    request = asked.request
    given = 0 if request.cursor is None else len(request.cursor.keys)
    depth = max(request.candidates, request.limit + given)  # so that this page and those before it fit in
    while True:
        found, whole = asked.found(depth, clock)
        enough_ = whole or enough(found, request.stages.per_subject, request.cursor, request.limit)
        if enough_ or depth >= MOST_CANDIDATES:
            return found, whole
        depth = min(depth * _DEEPER, MOST_CANDIDATES)
