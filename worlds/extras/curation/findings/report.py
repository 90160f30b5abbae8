"""The report on a whole world: what it lacks and what is untidy in it, counted, with examples and queries."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from worlds.core.core import Core
from worlds.core.history.history import Entry
from worlds.extras.curation.columns.quad_columns import QuadTable
from worlds.extras.curation.findings.checks import Checks, of_entities
from worlds.extras.curation.findings.findings import SEVERITIES, Cause, RawFinding, Severity, told_causes
from worlds.extras.curation.findings.tidiness import CheckResult
from worlds.graph.records import Count, Record
from worlds.graph.tabular import Tabular
from worlds.graph.terms import format_term

_EXAMPLES = 5
_LONGEST = 120  # characters of an example
_CAUSES = 10  # that a document tells


@dataclass(frozen=True, slots=True)
class Check(Record):
    """One thing that was looked for: how many were found, some of them, and the SPARQL query that gives all.

    `level` is "error", "warning" or "info". The query is asked of all graphs: `query(check.query, union=True)`. `new`
    is how many of them were not there after the revision that was asked for, None where it cannot be told.
    """

    name: str
    level: Severity
    title: str
    count: Count
    examples: tuple[str, ...]
    query: str
    new: int | None = None


@dataclass(frozen=True, slots=True)
class ReportPoint(Record):
    """The counts of a report after an earlier revision: level → count, but for shapes and duplicates."""

    revision: Count
    time: datetime.datetime | None
    quads: Count
    counts: dict[str, int]


class WorldReport(Record, Tabular, Sequence[Check]):
    """The faults and untidiness of a world: its checks, the ones with cases first, the gravest first.

    `revision` and `time` are those of the last revision that it read; 0 and None of a world without one. `causes` are
    what several contradictions have in common, what explains most first. `points` are earlier counts, and, as the last
    of them, those of today that compare with them.
    """

    quads: Count
    entities: Count
    revision: Count
    time: datetime.datetime | None
    causes: tuple[Cause, ...]
    points: tuple[ReportPoint, ...]
    _also = ("quads", "entities", "revision", "time", "counts", "causes", "points", "checks")

    def __init__(
        self,
        checks: Sequence[Check],
        quads: int,
        entities: int,
        last: Entry | None = None,
        causes: Sequence[Cause] = (),
        points: Sequence[ReportPoint] = (),
    ) -> None:
        self.causes = tuple(causes)
        self.points = tuple(points)
        self._checks = tuple(sorted(checks, key=lambda one: (not one.count, SEVERITIES.index(one.level))))
        self.quads = quads
        self.entities = entities
        self.revision = 0 if last is None else last.revision
        self.time = None if last is None else last.time

    @property
    def checks(self) -> tuple[Check, ...]:
        """All checks."""
        return self._checks

    def __getitem__(self, place: Any) -> Any:
        return self._checks[place]

    def __len__(self) -> int:
        return len(self._checks)

    def __iter__(self) -> Iterator[Check]:
        return iter(self._checks)

    @property
    def counts(self) -> dict[str, int]:
        """Level → how much was found."""
        return {level: sum(one.count for one in self if one.level == level) for level in SEVERITIES}

    def fails(self, on: str = "error") -> bool:
        """Whether something was found of this level, or of a graver one; never for "never"."""
        if on == "never":
            return False
        return any(one.count for one in self if SEVERITIES.index(one.level) <= SEVERITIES.index(on))

    def __repr__(self) -> str:
        return f"<WorldReport: {', '.join(f'{count} {level}' for level, count in self.counts.items())}>"

    def __str__(self) -> str:
        found = (f"{one.level}: {one.count:,} {one.title}{_new(one)}" for one in self if one.count)
        return "\n".join(found) or "nothing was found"

    @property
    def _columns(self) -> Sequence[str]:
        return ("level", "name", "count", "new", "title", "examples")

    def to_dicts(self) -> list[dict[str, Any]]:
        """One dict a check, as JSON-ready values."""
        return [one.to_dict() for one in self]

    def _read(self) -> str:
        """The state of the world that the report describes."""
        when = "" if self.time is None else f", {self.time:%Y-%m-%d %H:%M} UTC"
        return f"after revision {self.revision:,}{when}"

    def to_markdown(self, name: str = "") -> str:
        """A table of the results, with the queries below it; `name` is the world's, for the title."""
        found = [one for one in self if one.count]
        lines = [
            f"# Report on {name}" if name else "# Report",
            "",
            f"{self.quads:,} quads, {self.entities:,} entities, {self._read()}: "
            + ", ".join(f"{count:,} of level {level}" for level, count in self.counts.items())
            + ".",
            "",
            "| level | count | what | examples |",
            "| --- | ---: | --- | --- |",
            *(f"| {one.level} | {one.count:,}{_new(one)} | {one.title} | {_cell(one.examples)} |" for one in found),
            "",
        ]
        if self.causes:
            lines += ["## Causes of contradictions", "", *(f"- {one.message}" for one in self.causes[:_CAUSES]), ""]
        for one in found:
            lines += [f"## {one.title.capitalize()}", "", "```sparql", one.query, "```", ""]
        return "\n".join(lines)


def _new(one: Check) -> str:
    return f" ({one.new:,} new)" if one.new else ""


def _cell(examples: Sequence[str]) -> str:
    return "; ".join(example.replace("|", "\\|").replace("\n", " ") for example in examples)


@dataclass(eq=False, repr=False)
class Reporter:
    """Makes the report on one world."""

    _core: Core
    _violations: Callable[[QuadTable], list[RawFinding]]  # that the world's shapes find
    _duplicates: Callable[[QuadTable], list[tuple[int, int]]]  # pairs that are likely one entity

    def report(self, prefixes: Mapping[str, str], *, after: int | None, points: int) -> WorldReport:
        """See `World.curation.report`."""
        with self._core.connection.snapshot():
            table = QuadTable(self._core.connection, self._core.dictionary)
            checks = self._checks(table)
            met = list(checks.run())
            shown = [_shown(one, table, prefixes) for one in met]
            last = self._core.history.last
            numbers = self._before(last, points)
            entries = self._core.history.numbered([*numbers, last])
            earlier = [self._counted(number, entries.get(number)) for number in numbers]
            if after is not None:
                was = self._at(self._core.history.check(after))
                before = {one.name: one.cases(was.table) for one in was.run()}
                shown = [
                    replace(told, new=len(one.cases(table) - before.get(one.name, set())))
                    for told, one in zip(shown, met, strict=True)
                ]
            if earlier:
                earlier.append(_point(entries.get(last), last, len(table), met))
            shown += [_shown(one, table, prefixes) for one in self._judged(table)]
            causes = told_causes(checks.contradicting, table, checks.axioms, self._core.history, prefixes)
            return WorldReport(shown, len(table), len(checks.entities), entries.get(last), causes, earlier)

    def _checks(self, table: QuadTable) -> Checks:
        policy = self._core.chunks.policy
        return Checks(table, {role: policy.predicates(role) for role in ("label", "alias", "description")})

    def _at(self, revision: int) -> Checks:
        """The checks of the world as it was after a revision."""
        return self._checks(QuadTable(self._core.connection, self._core.dictionary, self._core.history.state(revision)))

    def _before(self, last: int, points: int) -> list[int]:
        """So many revisions before the last, evenly apart; fewer where there are fewer."""
        begin = self._core.history.first
        if begin >= last:
            return []
        return sorted({begin + (last - begin) * place // points for place in range(points)} - {last})

    def _counted(self, revision: int, entry: Entry | None) -> ReportPoint:
        checks = self._at(revision)
        return _point(entry, revision, len(checks.table), list(checks.run()))

    def _judged(self, table: QuadTable) -> Iterator[CheckResult]:
        """Violations of the world's shapes, and the pairs that are likely one entity."""
        violations = self._violations(table)
        kinds: tuple[tuple[Severity, str], ...] = (("error", "violations"), ("warning", "warnings"))
        for level, kind in kinds:
            title = f"{kind} of the shapes"
            found = [one.subjects for one in violations if (one.severity == "error") == (level == "error")]
            yield of_entities(table, title, level, f"{title}, which `validate` lists", found)
        pairs = self._duplicates(table)
        yield of_entities(table, "duplicate", "warning", "pairs of likely duplicates, which `duplicates` lists", pairs)


def _point(entry: Entry | None, revision: int, quads: int, met: Sequence[CheckResult]) -> ReportPoint:
    counts: dict[str, int] = {level: sum(one.total for one in met if one.level == level) for level in SEVERITIES}
    return ReportPoint(revision, None if entry is None else entry.time, quads, counts)


def _shown(one: CheckResult, table: QuadTable, prefixes: Mapping[str, str]) -> Check:
    parts: list[tuple[Any, ...]]
    if one.rows:
        parts = [(table.subjects[row], table.predicates[row], table.objects[row]) for row in one.rows[:_EXAMPLES]]
    else:
        parts = [tuple(group[:3]) for group in one.groups[:_EXAMPLES]] or [(n,) for n in one.ids[:_EXAMPLES].tolist()]
    terms: dict[int, Any] = dict(table.terms({int(number) for part in parts for number in part}))
    between = " " if one.rows else ", "
    examples = tuple(_cut(between.join(format_term(terms[int(number)], prefixes) for number in part)) for part in parts)
    return Check(one.name, one.level, one.title, one.total, examples, one.query)


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
