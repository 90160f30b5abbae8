"""The guard of a world: a write is validated before it is kept, on the focus nodes that it can touch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np

from worlds.errors import ShapesError, ValidationError
from worlds.graph.terms import listed
from worlds.quads.dictionary import Dictionary, Ids
from worlds.sql import statements
from worlds.sql.connection import Connection

if TYPE_CHECKING:
    from worlds.rules.checking import ShapeChecker
    from worlds.rules.report import Result, ValidationReport
    from worlds.rules.validation import Violation

GuardSetting: TypeAlias = Literal["off", "warn", "queue", "reject"]

Before: TypeAlias = Callable[[Ids, Ids], AbstractContextManager[None]]
"""In its block, queries see the state before quads were added and removed, int64 [n, 4] each."""

_SQL = statements("rules.sql")
_QUERIES = statements("queries.sql")
_TOLD = 3  # violations that a message names
_PARTLY = " partly"  # what is kept of a guard that goes by the shapes that can be checked
_A_SECOND = 10_000  # changed quads for which a validation may take a second more


TELL = "tell"
"""What a guard is where a write is only tried: it tells what the write violates, whatever the world's guard is."""


class Queued(Exception):  # noqa: N818  # no error: the write becomes a proposal
    """A write that violates the shapes and shall wait."""

    def __init__(self, report: ValidationReport) -> None:
        self.report = report


def expect_guard(setting: object) -> None:
    """ValueError for what is no setting of the guard."""
    if setting not in get_args(GuardSetting):
        raise ValueError(f"guard is one of {', '.join(map(repr, get_args(GuardSetting)))}, not {setting!r}")


class Guard:
    """Validates the revision that is being written."""

    def __init__(
        self,
        connection: Connection,
        dictionary: Dictionary,
        checker: Callable[[], ShapeChecker],
        *,
        before: Before,
    ) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self._checker = checker
        self._before = before

    @property
    def setting(self) -> GuardSetting:
        """What is done with a write that violates the shapes."""
        kept: str = self._connection.meta("guard") or "off"
        return kept.removesuffix(_PARTLY)  # type: ignore[return-value]  # see `put`

    def put(self, setting: GuardSetting, *, partly: bool = False) -> None:
        """Change the setting; `partly` goes by the shapes that can be checked, ShapesError without it for others."""
        expect_guard(setting)
        with self._connection.transaction():
            self._connection.run(_QUERIES["set_meta"], ("guard", setting + _PARTLY if partly else setting))
            if setting != "off":
                self._expect_whole()

    def _expect_whole(self) -> None:
        left_out = self._checker().own().left_out
        if left_out and not (self._connection.meta("guard") or "").endswith(_PARTLY):
            from worlds.rules.shapes import told

            remedy = "`worlds guard WORLD SETTING --partly`, set_guard(…, partly=True), goes by the others"
            raise ShapesError(f"a guard needs shapes that can be checked: {told(left_out)}; {remedy}")

    def check(self, revision: int, first_quad: int, setting: str | None) -> tuple[str, ...]:
        """What `look` says; ShapesError where shapes are left out that a write should be validated against."""
        if setting == TELL:
            try:
                return self.look(revision, first_quad, setting)
            except ShapesError as error:
                return (f"it could not be validated: {error}",)
        if (setting or self.setting) != "off":
            self._expect_whole()
        return self.look(revision, first_quad, setting)

    def look(self, revision: int, first_quad: int, setting: str | None) -> tuple[str, ...]:
        """What there is to say of the revision that is being written, whose quads have ids from `first_quad` on.

        ValidationError where it brings violations, and the setting rejects them; Queued where it queues them.
        """
        setting = setting or self.setting
        if setting == "off":
            return ()
        report = self._new(revision, first_quad)
        if report.conforms:
            return ()
        violations = [one for one in report if one.severity == "Violation"]
        if violations and setting == "reject":
            raise ValidationError(sentence(report, violations), report)
        if violations and setting == "queue":
            raise Queued(report)
        return (sentence(report),)

    def _written(self, revision: int, first_quad: int) -> tuple[Ids, Ids]:
        """What a revision wrote, int64 [n, 5], the last 0 for what it only put back, and what it removed."""
        bounds = {"first_quad": first_quad, "revision": revision}
        statements = (_SQL[name] for name in ("added_by", "removed_by"))
        written, removed = (
            self._connection.table(one, one.bind(**{name: bounds[name] for name in one.parameters}))
            for one in statements
        )
        return written, removed

    def _new(self, revision: int, first_quad: int) -> ValidationReport:
        """What is violated now, and was not before the revision."""
        from worlds.rules.checking import SECONDS, Clock
        from worlds.rules.data import Terms, Triples  # a world without a guard pays nothing for them
        from worlds.rules.report import ValidationReport
        from worlds.rules.validation import Validator

        checker = self._checker()
        graph = checker.own()
        if not graph.shapes:
            return ValidationReport((), (), {})
        written, removed = self._written(revision, first_quad)
        fresh = written[:, 4] == 1
        changed = np.concatenate([written[fresh, :3], removed[:, :3]])
        clock = Clock(most=SECONDS + len(changed) / _A_SECOND)
        terms = Terms(self._connection, self._dictionary)
        terms.ids(list(checker.touched.terms))  # all at once
        both = Triples(self._connection, terms, more=removed[:, :3])
        foci = checker.touched.foci(changed, terms, both, clock.look)
        now = Triples(self._connection, terms) if len(removed) else both
        ask = clock.ask(checker.ask)
        found = Validator(graph, terms, now, ask, clock.look).touched(foci)
        if found:
            kept = np.concatenate([removed[:, :3], written[~fresh, :3]])
            then = Triples(self._connection, terms, before=first_quad, more=kept)
            with self._before(written[fresh, :4], removed) if graph.asks else nullcontext():
                known = Counter(Validator(graph, terms, then, ask, clock.look).touched(foci))
            found = list(_without(found, known))
        return checker.report(found, terms, new=True) if found else ValidationReport((), (), {})


def _without(found: Sequence[Violation], known: Counter[Violation]) -> list[Violation]:
    """The results that are found more often than before the write."""
    fresh = []
    for one in found:
        if known[one] > 0:
            known[one] -= 1
        else:
            fresh.append(one)
    return fresh


def sentence(report: ValidationReport, some: Sequence[Result] | None = None) -> str:
    """What a write violates, in words."""
    results = report.results if some is None else some
    count = "a new violation" if len(results) == 1 else f"{len(results):,} new violations"
    return f"{count} of the shapes: {listed(results, _TOLD, report.line, '; ')}"
