"""Evidence for a triple in one state of a world: it is asserted, or follows from quads and declarations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyoxigraph as ox

from worlds.extras.curation.claims.declarations import Declarations, Way
from worlds.extras.curation.claims.evidence import Ground
from worlds.extras.curation.claims.literals import compare
from worlds.extras.curation.claims.state import Row, Rows, State
from worlds.extras.curation.columns.vocabularies import OWL, TYPE
from worlds.graph.terms import format_term

_MOST = 2000  # entities that a transitive property is followed to


@dataclass(frozen=True)
class Claim:
    """A triple that is claimed: its terms, and their ids, below 0 where the world does not know them."""

    terms: tuple[Any, Any, Any]
    subject: int
    predicate: int
    object: int

    @property
    def ids(self) -> tuple[int, int, int]:
        """The three ids."""
        return self.subject, self.predicate, self.object


def score(rows: Sequence[Row]) -> float:
    """1 for evidence of one quad, 1 / n for evidence of n quads."""
    return 1 / max(1, len(set(rows)))


class Supporting:
    """Evidence for claims."""

    def __init__(self, state: State, declarations: Declarations) -> None:
        self.state = state
        self.declarations = declarations

    def find(self, claim: Claim) -> Iterator[Ground]:
        """The evidence for a claim, the plainest first."""
        ways = self.declarations.below(claim.predicate)
        for way in ways:
            yield from self._said(claim, way)
        if claim.terms[1] == ox.NamedNode(TYPE):
            yield from self._typed(claim)
        yield from self._followed(claim, ways)
        yield from self._equal(claim)

    def _said(self, claim: Claim, way: Way) -> Iterator[Ground]:
        """The triple itself, or one that implies it."""
        held = list(self.held(claim, way))
        if not held:
            return
        told = format_term(self.state.term(way.predicate))
        if not way.premises and not way.turned and way.predicate == claim.predicate:
            for row, rule in held:
                what = "is said" if rule == "asserted" else f"is said as {format_term(self.state.term(row[2]))}"
                yield Ground(rule, what, (row,), 1.0)
            return
        for row, _ in held:
            rows = (row, *way.premises)
            turned = "turned around, " if way.turned else ""
            yield Ground("implied", f"follows {turned}from {told}", rows, score(rows))

    def held(self, claim: Claim, way: Way) -> Iterator[tuple[Row, str]]:
        """The quads that hold a claim by a way; a literal of another form counts if it is the same value."""
        state = self.state
        if way.turned:
            yield from ((row, "asserted") for row in state.quads(claim.object, way.predicate, claim.subject))
            return
        exact = state.quads(claim.subject, way.predicate, claim.object)
        yield from ((row, "asserted") for row in exact)
        literal = claim.terms[2]
        if isinstance(literal, ox.Literal):
            for row in state.quads(claim.subject, way.predicate):
                other = state.term(row[2])
                if row not in exact and isinstance(other, ox.Literal) and compare(literal, other) == "same":
                    yield row, "equal value"

    def _typed(self, claim: Claim) -> Iterator[Ground]:
        rows = self.declarations.types(claim.subject, without=claim.ids).get(claim.object)
        if rows is not None:
            yield Ground("type", "is an instance of it by what is said and declared", rows, score(rows))

    def _followed(self, claim: Claim, ways: Sequence[Way]) -> Iterator[Ground]:
        """A transitive property, the claimed one or one that implies it, followed over several steps."""
        seen: set[int] = set()
        for way in ways:
            transitive = self.declarations.transitive(way.predicate)
            if transitive is None or way.predicate in seen:
                continue
            seen.add(way.predicate)
            start, end = (claim.object, claim.subject) if way.turned else (claim.subject, claim.object)
            path = self.follow(start, end, way.predicate)
            if path is not None and len(path) > 1:
                rows = (*path, *transitive, *way.premises)
                told = format_term(self.state.term(way.predicate))
                yield Ground("transitive", f"follows over {len(path)} steps of {told}", rows, score(rows))

    def follow(self, start: int, end: int, predicate: int) -> Rows | None:
        """The shortest path of a property from one node to another; None if there is none."""
        state = self.state
        ways = self.declarations.below(predicate)
        found: dict[int, Rows] = {start: ()}
        front = [start]
        while front and len(found) < _MOST:
            at = front.pop(0)
            for way in ways:
                steps = state.subjects(way.predicate, at) if way.turned else state.objects(at, way.predicate)
                for other, row in steps.items():
                    path = (*found[at], row, *way.premises)
                    if other == end:
                        return path
                    if other not in found:
                        found[other] = path
                        front.append(other)
        return None

    def _equal(self, claim: Claim) -> Iterator[Ground]:
        """Identity through others."""
        if claim.terms[1] == ox.NamedNode(OWL + "sameAs") and claim.subject != claim.object:
            rows = self.declarations.same(claim.subject, claim.object)
            if rows is not None and len(rows) > 1:
                yield Ground("identity", f"follows over {len(rows)} steps of owl:sameAs", rows, score(rows))
