"""Findings of certain or likely faults: each with the quads that bear it out, and their sources."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, TypeAlias, TypeVar, overload

from worlds.core.history.history import History
from worlds.core.history.provenance import Provenance
from worlds.core.quads.dictionary import DEFAULT_GRAPH_ID
from worlds.extras.curation.columns.quad_columns import QuadTable
from worlds.graph.records import As, Count, Iri, Node, Quad, Record, Score, told
from worlds.graph.tabular import Tabular
from worlds.graph.terms import format_term, to_rdflib

Severity: TypeAlias = Literal["error", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")
"""The gravest first."""


class SaidQuad(NamedTuple):
    """A quad with the revision that added it: author, time and message."""

    quad: Quad
    revision: int | None
    author: str | None
    time: datetime.datetime | None
    message: str | None

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON-ready values."""
        return told(self)


def _said(one: Provenance) -> dict[str, Any]:
    entry = one.added
    if entry is None:
        return SaidQuad(one.quad, None, None, None, None).to_dict()
    return SaidQuad(one.quad, entry.revision, entry.author, entry.time, entry.message).to_dict()


CONTRADICTIONS = (
    "functional", "overlap", "inverse functional", "disjoint classes", "disjoint properties", "asymmetric",
    "irreflexive", "identity", "negative assertion", "cardinality", "datatype", "ill-typed literal", "domain", "range",
    "labels", "cycle", "shape", "nearly functional", "outlier", "odd kind", "odd type", "odd form", "impossible dates",
)  # fmt: skip
"""The kinds of contradictions."""


@dataclass(frozen=True, slots=True)
class Finding(Record):
    """Something that is wrong, or may be.

    `severity` is "error" (the data contradict what is declared), "warning" or "info"; `score`, from 0 to 1, says how
    surely it is a fault. `subjects` are the entities concerned, `quads` what bears it out, oldest first, each with the
    revision that added it; `message` says it in a sentence. `add` and `remove` are quads that would put it right,
    where that is clear. Of a contradiction by conclusions, `quads` are all that lead to it, and `ends` the least sets
    of quads without which it does not follow.
    """

    kind: str
    severity: Severity
    score: Score
    message: str
    subjects: tuple[Iri, ...] = ()
    quads: tuple[Annotated[Provenance, As(_said, SaidQuad)], ...] = ()
    add: tuple[tuple[Node | None, ...], ...] = ()
    remove: tuple[tuple[Node | None, ...], ...] = ()
    ends: tuple[tuple[tuple[Node | None, ...], ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Cause(Record):
    """A common cause of several findings: a quad without which they would not exist, or a rule that they break.

    `count` is how many there are, `counts` of which kinds, `findings` the messages of the first of them, `subjects`
    their first entities. The quad is told in `remove`; `add` has the quad that would end most of them, where there is
    one: a class that is not said to be below what the rule asks for.
    """

    message: str
    count: Count
    counts: dict[str, int]
    findings: tuple[str, ...] = ()
    subjects: tuple[Iri, ...] = ()
    add: tuple[tuple[Node | None, ...], ...] = ()
    remove: tuple[tuple[Node | None, ...], ...] = ()


F = TypeVar("F", bound=Finding)


class Findings(Record, Tabular, Sequence[F]):
    """Findings, the gravest first; `counts` has the number of each kind, including findings that are not shown.

    `causes` are what several contradictions have in common, what explains most first.
    """

    counts: dict[str, int]
    causes: tuple[Cause, ...]
    _also: ClassVar[tuple[str, ...]] = ("counts", "causes", "findings")

    def __init__(self, findings: Iterable[F], counts: Mapping[str, int], causes: Iterable[Cause] = ()) -> None:
        self._findings = tuple(findings)
        self.counts = dict(counts)
        self.causes = tuple(causes)

    @overload
    def __getitem__(self, place: int) -> F: ...
    @overload
    def __getitem__(self, place: slice) -> Findings[F]: ...
    def __getitem__(self, place: int | slice) -> F | Findings[F]:
        if isinstance(place, slice):
            return Findings(self._findings[place], Counter(one.kind for one in self._findings[place]))
        return self._findings[place]

    @property
    def findings(self) -> tuple[F, ...]:
        """All findings that are shown."""
        return self._findings

    def __len__(self) -> int:
        return len(self._findings)

    def __iter__(self) -> Iterator[F]:
        return iter(self._findings)

    def __repr__(self) -> str:
        told = ", ".join(f"{count} {kind}" for kind, count in self.counts.items())
        return f"<Findings: {told or 'none'}>"

    def __str__(self) -> str:
        return "\n".join(f"{one.severity}: {one.kind}: {one.message}" for one in self)

    @property
    def _columns(self) -> Sequence[str]:
        return ("severity", "kind", "score", "message", "quads")

    def to_dicts(self) -> list[dict[str, Any]]:
        """One dict a finding, as JSON-ready values."""
        return [one.to_dict() for one in self]


@dataclass(frozen=True, slots=True)
class RawFinding:
    """A finding as ids, before it is shown: `rows` of the table, and a `text` with places for the terms of `parts`.

    `rule` tells the rules of one kind apart.
    """

    kind: str
    severity: Severity
    score: float
    subjects: tuple[int, ...]
    rows: tuple[int, ...]
    text: str
    parts: tuple[int, ...] = ()
    remove: tuple[int, ...] = field(default=())  # rows
    rule: str = ""
    ends: tuple[tuple[int, ...], ...] = ()  # sets of rows

    @classmethod
    def wrong(
        cls, kind: str, subjects: tuple[int, ...], rows: tuple[int, ...], text: str, parts: tuple[int, ...]
    ) -> RawFinding:
        """A finding that is surely an error."""
        return cls(kind, "error", 1.0, subjects, rows, text, parts)


def graver(one: RawFinding) -> tuple[Any, ...]:
    """The key by which findings are ordered."""
    return (SEVERITIES.index(one.severity), one.kind, -one.score, one.subjects, one.rows)


class FindingPresenter:
    """Findings in terms, with the origin of their quads."""

    def __init__(
        self, table: QuadTable, history: History, prefixes: Mapping[str, str], rows: Iterable[int], parts: Iterable[int]
    ) -> None:
        """`rows` and `parts` belong to all shown findings."""
        columns = (table.subjects, table.predicates, table.objects, table.graphs)
        self._quads = {row: tuple(int(column[row]) for column in columns) for row in rows}
        ids = {number for quad in self._quads.values() for number in quad} | set(parts)
        self._terms: dict[int, Any] = dict(table.terms(ids))
        self.prefixes = prefixes
        self._revisions = {row: int(table.revisions[row]) for row in self._quads}
        self._entries = history.numbered(set(self._revisions.values()))

    def term(self, number: int) -> Any:
        """A term of rdflib; None for the default graph."""
        return None if number == DEFAULT_GRAPH_ID else to_rdflib(self._terms[number])

    def text(self, number: int) -> str:
        """A term as people write it."""
        return format_term(self._terms[number], self.prefixes)

    def said(self, row: int) -> Provenance:
        """A quad, and who said it."""
        s, p, o, g = (self.term(number) for number in self._quads[row])
        return Provenance((s, p, o, g), self._entries.get(self._revisions[row]), None)

    def finding(self, one: RawFinding) -> Finding:
        """One finding."""
        return Finding(
            one.kind,
            one.severity,
            one.score,
            self.message(one),
            tuple(map(self.term, one.subjects)),
            tuple(map(self.said, sorted(one.rows, key=lambda row: (self._revisions[row], row)))),
            remove=tuple(self.said(row).quad for row in one.remove),
            ends=tuple(tuple(self.said(row).quad for row in rows) for rows in one.ends),
        )

    def message(self, one: RawFinding) -> str:
        """The message of a finding."""
        return one.text.format(*map(self.text, one.parts))


def kept(found: Iterable[RawFinding], limit: int | None) -> tuple[list[RawFinding], dict[str, int]]:
    """The gravest first, at most `limit` of a kind (None for all), and how many of each kind there are."""
    counted: Counter[str] = Counter()
    first: list[RawFinding] = []
    for one in sorted(found, key=graver):
        counted[one.kind] += 1
        if limit is None or counted[one.kind] <= limit:
            first.append(one)
    return first, counted


def listed(values: list[int], first: int, between: str = ", ") -> str:
    """Places for at most three values, the first of which is `first` of the parts."""
    told = between.join(f"{{{first + place}}}" for place in range(min(len(values), 3)))
    return told + (", …" if len(values) > 3 else "")
