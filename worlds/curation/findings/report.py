"""The report on a whole world: what it lacks and what is untidy in it, counted, with examples and queries."""

from __future__ import annotations

import datetime
import html
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from worlds.curation.columns.table import Table
from worlds.curation.findings.checks import Checks
from worlds.curation.findings.findings import SEVERITIES, Severity
from worlds.curation.findings.met import Met
from worlds.graph.records import Count, Record
from worlds.graph.tabular import Tabular
from worlds.graph.terms import format_term
from worlds.quads.dictionary import Dictionary
from worlds.revisions.history import Entry, History
from worlds.sql.connection import Connection
from worlds.texts.chunks import ChunkStore

_EXAMPLES = 5
_LONGEST = 120  # characters of an example
_COLOURS = {"error": "#c0392b", "warning": "#d68910", "info": "#2471a3"}


@dataclass(frozen=True, slots=True)
class Check(Record):
    """One thing that was looked for: how many were found, some of them, and the SPARQL query that gives all.

    `level` is "error", "warning" or "info". The query is asked of all graphs: `query(check.query, union=True)`.
    """

    name: str
    level: Severity
    title: str
    count: Count
    examples: tuple[str, ...]
    query: str


class WorldReport(Record, Tabular, Sequence[Check]):
    """What a world lacks and what is untidy in it: its checks, those that found something first, the gravest first.

    `revision` and `time` are those of the last revision that it read; 0 and None of a world without one.
    """

    quads: Count
    entities: Count
    revision: Count
    time: datetime.datetime | None
    _also = ("quads", "entities", "revision", "time", "counts", "checks")

    def __init__(self, checks: Sequence[Check], quads: int, entities: int, last: Entry | None = None) -> None:
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
        return "\n".join(f"{one.level}: {one.count:,} {one.title}" for one in self if one.count) or "nothing was found"

    @property
    def _columns(self) -> Sequence[str]:
        return ("level", "name", "count", "title", "examples")

    def to_dicts(self) -> list[dict[str, Any]]:
        """One dict a check, as JSON-ready values."""
        return [one.to_dict() for one in self]

    def _read(self) -> str:
        """Which state of the world it is of."""
        when = "" if self.time is None else f", {self.time:%Y-%m-%d %H:%M} UTC"
        return f"after revision {self.revision:,}{when}"

    def to_markdown(self, name: str = "") -> str:
        """A table of what was found, with the queries below it; `name` is the world's, for the title."""
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
            *(f"| {one.level} | {one.count:,} | {one.title} | {_cell(one.examples)} |" for one in found),
            "",
        ]
        for one in found:
            lines += [f"## {one.title.capitalize()}", "", "```sparql", one.query, "```", ""]
        return "\n".join(lines)

    def to_html(self, name: str = "") -> str:
        """One page, which needs nothing else: charts as SVG, the table, and the queries; `name` is the world's."""
        found = [one for one in self if one.count]
        rows = "".join(
            f'<tr><td class="{one.level}">{one.level}</td><td class="n">{one.count:,}</td>'
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
            rows=rows,
            clean=f"<p>Nothing was found of: {clean}.</p>" if clean else "",
        )


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; color: #222 }}
table {{ border-collapse: collapse; width: 100% }} summary {{ cursor: pointer; color: #666 }} .n {{ text-align: right }}
td, th {{ border-bottom: 1px solid #ddd; padding: .4rem; text-align: left; vertical-align: top }}
td {{ overflow-wrap: anywhere }} pre {{ white-space: pre-wrap; font-size: 12px }}
.error {{ color: #c0392b }} .warning {{ color: #b9770e }} .info {{ color: #2471a3 }}
</style></head><body>
<h1>{title}</h1><p>{quads} quads, {entities} entities, {read}.</p>
{levels}
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


def _cell(examples: Sequence[str]) -> str:
    return "; ".join(example.replace("|", "\\|").replace("\n", " ") for example in examples)


class Reporter:
    """Makes the report on one world."""

    def __init__(self, connection: Connection, dictionary: Dictionary, chunks: ChunkStore, history: History) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self._chunks = chunks
        self._history = history

    def report(self, prefixes: Mapping[str, str]) -> WorldReport:
        """See `World.report`."""
        with self._connection.snapshot():
            table = Table(self._connection, self._dictionary)
            policy = self._chunks.policy
            roles = {role: policy.predicates(role) for role in ("label", "alias", "description")}
            checks = Checks(table, roles)
            met = list(checks.run())
            shown = [_shown(one, table, prefixes) for one in met]
            last = self._history.last
            return WorldReport(shown, len(table), len(checks.entities), self._history.numbered([last]).get(last))


def _shown(one: Met, table: Table, prefixes: Mapping[str, str]) -> Check:
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
