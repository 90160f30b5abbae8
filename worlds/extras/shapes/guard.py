"""The guard of a world: a write is validated before it is kept, on the focus nodes that it can touch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np

from worlds.core.core import Core
from worlds.core.extension import TELL, Extension, Queued
from worlds.core.quads.dictionary import Ids
from worlds.errors import ShapesError, ValidationError
from worlds.graph.terms import listed
from worlds.sql import statements

if TYPE_CHECKING:
    from worlds.extras.shapes.report import Result, ValidationReport
    from worlds.extras.shapes.validation import Violation
    from worlds.extras.shapes.world_validation import ShapeChecker

GuardSetting: TypeAlias = Literal["off", "warn", "queue", "reject"]

Before: TypeAlias = Callable[[Ids, Ids], AbstractContextManager[None]]
"""In its block, queries see the state before quads were added and removed, int64 [n, 4] each."""

_SQL = statements("rules.sql")
_QUERIES = statements("queries.sql")
_TOLD = 3  # violations that a message names
_PARTLY = " partly"  # what is kept of a guard that goes by the shapes that can be checked
_A_SECOND = 10_000  # changed quads for which a validation may take a second more


def expect_guard(setting: object) -> None:
    """ValueError for a text that is no setting of the guard."""
    if setting not in get_args(GuardSetting):
        raise ValueError(f"guard must be one of {', '.join(map(repr, get_args(GuardSetting)))}, not {setting!r}")


class Guard(Extension):
    """Validates the revision that is being written."""

    def __init__(self, core: Core, checker: Callable[[], ShapeChecker]) -> None:
        self._connection = core.connection
        self._dictionary = core.dictionary
        self._checker = checker
        self._core = core

    @property
    def setting(self) -> GuardSetting:
        """The guard's setting: how it treats a write that violates the shapes."""
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
            from worlds.extras.shapes.shapes import told

            remedy = (
                "`worlds shapes guard WORLD SETTING --partly`, w.shapes.set_guard(…, partly=True), goes by the others"
            )
            raise ShapesError(f"a guard needs shapes that can be checked: {told(left_out)}; {remedy}")

    def check(self, revision: int, first_quad: int, guard: str | None) -> tuple[str, ...]:
        """The notes of `look`; ShapesError where shapes are left out that a write should be validated against."""
        if guard == TELL:
            try:
                return self.look(revision, first_quad, guard)
            except ShapesError as error:
                return (f"it could not be validated: {error}",)
        if (guard or self.setting) != "off":
            self._expect_whole()
        return self.look(revision, first_quad, guard)

    def look(self, revision: int, first_quad: int, setting: str | None) -> tuple[str, ...]:
        """Notes on the revision that is being written, whose quads have ids from `first_quad` on.

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
            raise Queued(sentence(report), tuple(map(report.line, report)))
        return (sentence(report),)

    def _written(self, revision: int, first_quad: int) -> tuple[Ids, Ids]:
        """The quads that a revision wrote, int64 [n, 5], the last 0 for restored ones, and the removed quads."""
        bounds = {"first_quad": first_quad, "revision": revision}
        statements = (_SQL[name] for name in ("added_by", "removed_by"))
        written, removed = (
            self._connection.table(one, one.bind(**{name: bounds[name] for name in one.parameters}))
            for one in statements
        )
        return written, removed

    def _new(self, revision: int, first_quad: int) -> ValidationReport:
        """The violations that the revision brings: they were none before it."""
        from worlds.extras.shapes.paths import DataTriples, ShapeTerms  # a world without a guard pays nothing for them
        from worlds.extras.shapes.report import ValidationReport
        from worlds.extras.shapes.validation import Validator
        from worlds.extras.shapes.world_validation import SECONDS, ValidationClock

        checker = self._checker()
        graph = checker.own()
        if not graph.shapes:
            return ValidationReport((), (), {})
        written, removed = self._written(revision, first_quad)
        fresh = written[:, 4] == 1
        changed = np.concatenate([written[fresh, :3], removed[:, :3]])
        clock = ValidationClock(most=SECONDS + len(changed) / _A_SECOND)
        terms = ShapeTerms(self._connection, self._dictionary)
        terms.ids(list(checker.touched.terms))  # all at once
        both = DataTriples(self._connection, terms, more=removed[:, :3])
        foci = checker.touched.foci(changed, terms, both, clock.look)
        now = DataTriples(self._connection, terms) if len(removed) else both
        ask = clock.ask(checker.ask)
        found = Validator(graph, terms, now, ask, clock.look).touched(foci)
        if found:
            kept = np.concatenate([removed[:, :3], written[~fresh, :3]])
            then = DataTriples(self._connection, terms, before=first_quad, more=kept)
            with self._core.sparql.before(written[fresh, :4], removed) if graph.asks else nullcontext():
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
    """The violations of a write, in words."""
    results = report.results if some is None else some
    count = "a new violation" if len(results) == 1 else f"{len(results):,} new violations"
    return f"{count} of the shapes: {listed(results, _TOLD, report.line, '; ')}"
