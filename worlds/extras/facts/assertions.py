"""The quads that stating, ending and reinstating a fact add and remove: the assertion, and those of its reifier."""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyoxigraph as ox
from numpy.typing import NDArray

from worlds.core.core import Core
from worlds.core.quads.dictionary import DEFAULT_GRAPH_ID
from worlds.errors import ArgumentError
from worlds.extras.facts import times
from worlds.extras.facts.spans import REIFIES, ROLES, Spans, Validity
from worlds.extras.facts.times import ALWAYS, literal, now, period_before
from worlds.graph.terms import XSD

CITES = ox.NamedNode("http://purl.org/dc/terms/source")
CONFIDENCE = ox.NamedNode("http://www.w3.org/2005/11/its/rdf#taConfidence")
_TIME = ox.NamedNode(XSD + "dateTime")

Edit = tuple[list[ox.Quad], list[ox.Quad]]
"""Quads to add, and quads to remove."""


class Stating:
    """Works out the quads of a world's statements."""

    def __init__(self, core: Core, validity: Validity) -> None:
        self._core = core
        self._validity = validity

    def state(
        self,
        quad: ox.Quad,
        *,
        valid_from: object = None,
        valid_to: object = None,
        cites: Sequence[Any] = (),
        confidence: float | None = None,
    ) -> Edit:
        """A fact that holds, or held until `valid_to`, with the annotations of its reifier."""
        began, ended = self._time("valid_from", valid_from), self._time("valid_to", valid_to)
        self._require_order(began, ended)
        present = times.present()
        begins = -ALWAYS if began is None else self._period(began)[0]
        ahead = begins > present
        over = ended is not None and self._period(ended)[1] <= present
        if confidence is not None and not 0 <= confidence <= 1:
            raise ArgumentError(f"confidence must be a number from 0 to 1, not {confidence!r}")
        spans = self._spans(quad)
        said: list[tuple[ox.NamedNode, Any]] = [(CITES, one) for one in cites]
        if confidence is not None:
            said.append((CONFIDENCE, ox.Literal(repr(float(confidence)), datatype=ox.NamedNode(XSD + "double"))))
        kept = self._same(spans, began, ended) if ended is not None else None
        if kept is None and not over:
            kept = self._waiting(spans, present) if ahead else self._open(quad, spans, spans.at(present))
        if ended is not None:
            said.append((self._predicate("valid_to"), ended))
        if began is not None:
            said.append((self._predicate("valid_from"), began))
        if ahead and self._holds(quad) and not (self._going_on(spans, present) & (spans.until < ALWAYS)).any():
            raise ArgumentError("the fact holds already, without an end: `worlds facts end` it first", kind="time")
        added = [] if ahead or over else [quad]
        removed: list[ox.Quad] = []
        if said:
            reifier = _reifier(quad, began, ended) if kept is None else kept
            added.append(ox.Quad(reifier, REIFIES, _triple(quad), quad.graph_name))
            added += [ox.Quad(reifier, predicate, value, quad.graph_name) for predicate, value in said]
            for role, value in (("valid_from", began), ("valid_to", ended)) if kept is not None else ():
                if value is not None:  # it takes the place of the one that is said
                    removed += [one for one in self._said(kept, quad, role) if one not in added]
        return added, removed

    def end(self, quad: ox.Quad, at: object = None, *, before: bool = False) -> Edit:
        """A fact that holds ceases to, at a time, or `before` a period that has begun."""
        if not self._holds(quad):
            raise ArgumentError(f"the fact does not hold, so it cannot be ended: {quad}")
        moment, present = now(), times.present()
        ended = self._literal(moment) if at is None else self._time("at", at)
        assert ended is not None
        if before and at is not None:
            ended = period_before(ended)
        elif self._period(ended)[0] <= present < self._period(ended)[1]:
            ended = self._literal(moment)
        spans = self._spans(quad)
        going_on = self._going_on(spans, present) & (spans.since <= present)
        kept = self._open(quad, spans, going_on)
        for number in spans.began[going_on].tolist():
            self._require_order(self._term(number) if number else None, ended)
        reifier = _reifier(quad, None, ended) if kept is None else kept
        added = [
            ox.Quad(reifier, REIFIES, _triple(quad), quad.graph_name),
            ox.Quad(reifier, self._predicate("valid_to"), ended, quad.graph_name),
        ]
        removed = [] if kept is None else [one for one in self._said(kept, quad, "valid_to") if one not in added]
        return added, [*removed, quad] if self._period(ended)[1] <= present else removed

    def reinstate(self, quad: ox.Quad) -> Edit:
        """A fact that was ended holds again, or is to come, as if it had not been."""
        spans, present = self._spans(quad), times.present()
        rows = np.flatnonzero(spans.ended)
        if self._holds(quad):
            rows = rows[self._going_on(spans, present)[rows]]
            if not len(rows):
                raise ArgumentError(f"this holds: {quad}")
        if not len(rows):
            raise ArgumentError(f"the fact has no end to take back: {quad}")
        last = rows[np.argmax(spans.until[rows])]
        reifier = self._term(int(spans.reifiers[last]))
        return [quad] if spans.since[last] <= present else [], list(self._said(reifier, quad, "valid_to"))

    def superseded(self, quad: ox.Quad) -> list[ox.Quad]:
        """The other values that a functional predicate has; ArgumentError for one that is not declared so."""
        (predicate,) = self._core.dictionary.find([quad.predicate])
        if predicate is None or not self._core.annotations.functional([predicate]):
            raise ArgumentError(
                f"{quad.predicate} is not declared to have one value, by owl:FunctionalProperty or a shape's "
                "sh:maxCount 1: name the quads that end by supersede=[quads]",
                kind="functional",
            )
        rows = self._core.patterns.matching((quad.subject, quad.predicate, None), quad.graph_name)
        others = [self._term(number) for number in rows[:, 2].tolist()]
        return [
            ox.Quad(quad.subject, quad.predicate, one, quad.graph_name)
            for one in sorted(others, key=str)
            if one != quad.object
        ]

    def first_ahead(self, quads: Iterable[ox.Quad]) -> datetime.datetime | None:
        """The first beginning or end that some quads say and that lies ahead; None for none in this calendar."""
        roles = {predicate: role for role in ROLES for predicate in self._validity.predicates(role)}
        said = [(roles[one.predicate], one.object) for one in quads if one.predicate in roles]
        periods = [(role, self._validity.period(term)) for role, term in said if isinstance(term, ox.Literal)]
        edges = [period[ROLES.index(role)] for role, period in periods if period is not None]
        first = min((edge for edge in edges if edge > times.present()), default=times.ALWAYS)
        return times.in_calendar(first)

    # -- what there is --------------------------------------------------------------------------------------------

    def _term(self, number: int) -> Any:
        return self._core.dictionary.terms([number])[number]

    def _holds(self, quad: ox.Quad) -> bool:
        return len(self._core.patterns.matching((quad.subject, quad.predicate, quad.object), quad.graph_name)) > 0

    def _spans(self, quad: ox.Quad) -> Spans:
        """The intervals of a triple in its graph."""
        graph: Any = quad.graph_name
        (triple,) = self._core.dictionary.find([_triple(quad)])
        number = DEFAULT_GRAPH_ID if isinstance(graph, ox.DefaultGraph) else self._core.dictionary.find([graph])[0]
        spans = self._validity.spans([] if triple is None else [triple])
        return spans.of(spans.quads[:, 3] == (-1 if number is None else number))

    def _waiting(self, spans: Spans, present: int) -> Any:
        """The reifier of a fact that is to begin, and says no end; None where there is none."""
        dated = spans.reifiers[(spans.since > present) & (spans.ended == 0)]
        return self._term(int(dated[0])) if len(dated) else None

    def _going_on(self, spans: Spans, present: int) -> NDArray[np.bool_]:
        """Which intervals have no end that was carried out, [n]."""
        asserted = self._validity.asserted(spans.quads[:, :4])
        return (spans.until > present) | ((asserted > 0) & self._validity.ahead(spans, asserted)[:, 1])

    def _open(self, quad: ox.Quad, spans: Spans, among: NDArray[np.bool_]) -> Any:
        """The reifier of a fact that holds: of one of some intervals, or one that says no time; None without one."""
        dated = spans.reifiers[among]
        if len(dated):
            return self._term(int(dated[0]))
        if not self._holds(quad):
            return None  # it is only spoken of
        rows = self._core.patterns.matching((None, REIFIES, _triple(quad)), quad.graph_name)
        ended = set(spans.reifiers.tolist())  # or to begin
        return min((self._term(one) for one in rows[:, 0].tolist() if one not in ended), key=str, default=None)

    def _same(self, spans: Spans, began: Any, ended: Any) -> Any:
        """The reifier that says this interval already."""
        wanted = [0 if term is None else self._core.dictionary.find([term])[0] for term in (began, ended)]
        for row in range(len(spans.quads)):
            if [spans.began[row], spans.ended[row]] == wanted:  # a literal that is not known is None, which none is
                return self._term(int(spans.reifiers[row]))
        return None

    def _said(self, reifier: Any, quad: ox.Quad, role: str) -> list[ox.Quad]:
        """The quads of a reifier about its beginning or its end."""
        found = []
        for predicate in self._validity.predicates(role):
            rows = self._core.patterns.matching((reifier, predicate, None), quad.graph_name)
            values = map(self._term, rows[:, 2].tolist())
            found += [ox.Quad(reifier, predicate, value, quad.graph_name) for value in values]
        return found

    def _predicate(self, role: str) -> ox.NamedNode:
        return self._validity.predicates(role)[0]

    # -- times ----------------------------------------------------------------------------------------------------

    @staticmethod
    def _literal(time: datetime.datetime) -> ox.Literal:
        return ox.Literal(time.isoformat(timespec="milliseconds").replace("+00:00", "Z"), datatype=_TIME)

    @staticmethod
    def _time(name: str, value: object) -> ox.Literal | None:
        return None if value is None else literal(name, value)

    def _period(self, term: ox.Literal) -> tuple[int, int]:
        found = self._validity.period(term)
        assert found is not None
        return found

    def _require_order(self, began: Any, ended: Any) -> None:
        if began is None or ended is None:
            return
        first, last = self._validity.period(began), self._validity.period(ended)
        if first and last and first[0] >= last[1]:
            raise ArgumentError(f"it would end at {ended.value}, before it began at {began.value}", kind="time")


def _triple(quad: ox.Quad) -> ox.Triple:
    return ox.Triple(quad.subject, quad.predicate, quad.object)


def _reifier(quad: ox.Quad, began: Any, ended: Any) -> ox.BlankNode:
    """A new node; the same one wherever the same is stated, so that two who do it at once say it once."""
    said = f"{quad} {began} {ended}"
    return ox.BlankNode(f"fact{hashlib.sha256(said.encode()).hexdigest()[:24]}")
