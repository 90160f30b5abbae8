"""The report on a whole world: what it lacks and what is untidy in it, counted, with examples and queries."""

from __future__ import annotations

import datetime
import html
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
_COLOURS = {"error": "#c0392b", "warning": "#d68910", "info": "#2471a3"}


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

    def to_html(self, name: str = "") -> str:
        """One page, which needs nothing else: charts as SVG, the table, and the queries; `name` is the world's."""
        found = [one for one in self if one.count]
        rows = "".join(
            f'<tr><td class="{one.level}">{one.level}</td><td class="n">{one.count:,}{_new(one)}</td>'
            f"<td>{html.escape(one.title)}<details><summary>query</summary><pre>{html.escape(one.query)}</pre></details>"
            f"</td><td>{'<br>'.join(html.escape(example) for example in one.examples)}</td></tr>"
            for one in found
        )
        clean = ", ".join(html.escape(one.title) for one in self if not one.count)
        return _PAGE.format(
            title=html.escape(f"Report on {name}" if name else "Report"),
            read=self._read(),
            quads=f"{self.quads:,}",
            entities=f"{self.entities:,}",
            levels=_bars([(level, level, count) for level, count in self.counts.items()]),
            chart=_bars([(one.title, one.level, one.count) for one in found]),
            over=_over(self.points),
            causes=_causes(self.causes[:_CAUSES]),
            rows=rows,
            clean=f"<p>Nothing was found of: {clean}.</p>" if clean else "",
        )


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; color: #222 }}
table {{ border-collapse: collapse; width: 100% }} summary {{ cursor: pointer; color: #666 }} .n {{ text-align: right }}
td, th {{ border-bottom: 1px solid #ddd; padding: .4rem; text-align: left; vertical-align: top }}
td {{ overflow-wrap: anywhere }} td:first-child {{ white-space: nowrap }}
pre {{ white-space: pre-wrap; font-size: 12px }}
.error {{ color: #c0392b }} .warning {{ color: #b9770e }} .info {{ color: #2471a3 }}
</style></head><body>
<h1>{title}</h1><p>{quads} quads, {entities} entities, {read}.</p>
{levels}
{over}
{causes}
<h2>What was found</h2>
{chart}
<table><thead><tr><th>level</th><th>count</th><th>what</th><th>examples</th></tr></thead><tbody>{rows}</tbody></table>
{clean}
</body></html>
"""


def _bars(bars: Sequence[tuple[str, str, int]]) -> str:
    """A bar chart as SVG: (name, level, count) a bar."""
    most = max((count for *_, count in bars), default=0) or 1
    height = 24 * len(bars) + 4
    drawn = "".join(
        f'<g transform="translate(0 {24 * place})"><text x="440" y="16" text-anchor="end">{html.escape(name)}</text>'
        f'<rect x="450" y="3" height="17" width="{max(400 * count / most, 1 if count else 0):.1f}"'
        f' fill="{_COLOURS[level]}"/><text x="{456 + 400 * count / most:.1f}" y="16">{count:,}</text></g>'
        for place, (name, level, count) in enumerate(bars)
    )
    label = "; ".join(f"{name}: {count}" for name, _, count in bars)
    return (
        f'<svg role="img" aria-label="{html.escape(label)}" viewBox="0 0 960 {height}" width="960" height="{height}"'
        f' font-size="13" style="max-width: 100%">{drawn}</svg>'
    )


def _over(points: Sequence[ReportPoint]) -> str:
    """The counts over the revisions as lines of an SVG, each level scaled to its own most, and the quads."""
    if len(points) < 2:
        return ""
    series = [("quads", "#7f8c8d", [point.quads for point in points])]
    series += [(level, _COLOURS[level], [point.counts[level] for point in points]) for level in SEVERITIES]
    first, last = points[0].revision, points[-1].revision
    drawn = ""
    for place, (name, colour, counts) in enumerate(series):
        top, most = 60 * place + 6, max(*counts, 1)
        at = [
            (100 + 700 * (point.revision - first) / (last - first), top + 40 - 36 * count / most)
            for point, count in zip(points, counts, strict=True)
        ]
        drawn += (
            f'<text x="90" y="{top + 26}" text-anchor="end">{name}</text>'
            f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="'
            + " ".join(f"{x:.1f},{y:.1f}" for x, y in at)
            + '"/>'
            + "".join(
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"><title>revision {point.revision:,}'
                f"{'' if point.time is None else f', {point.time:%Y-%m-%d %H:%M}'}: {count:,} {name}</title></circle>"
                for (x, y), point, count in zip(at, points, counts, strict=True)
            )
            + f'<text x="812" y="{top + 26}">{counts[0]:,} → {counts[-1]:,}</text>'
        )
    height = 60 * len(series)
    return (
        f"<h2>Since revision {first:,}</h2><p>Counts of all checks but shapes and duplicates.</p>"
        f'<svg role="img" aria-label="counts after revisions {first} to {last}" viewBox="0 0 960 {height}" width="960"'
        f' height="{height}" font-size="13" style="max-width: 100%">{drawn}</svg>'
    )


def _causes(causes: Sequence[Cause]) -> str:
    """The common causes of contradictions, each with some of them below it."""
    if not causes:
        return ""
    items = "".join(
        f"<li>{html.escape(one.message)}<details><summary>findings</summary>"
        + "<br>".join(map(html.escape, one.findings))
        + "</details></li>"
        for one in causes
    )
    return f"<h2>Causes of contradictions</h2><ol>{items}</ol>"


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
