"""What was found wrong, or may be: each finding with the quads that bear it out, and who said them."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias, TypeVar, overload

from worlds.curation.columns.table import Table
from worlds.graph.records import As, Iri, Node, Quad, Record, Score, told
from worlds.graph.tabular import Tabular
from worlds.graph.terms import format_term, to_rdflib
from worlds.quads.dictionary import DEFAULT_GRAPH_ID
from worlds.revisions.history import History
from worlds.revisions.provenance import Provenance

Severity: TypeAlias = Literal["error", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")
"""The gravest first."""


class SaidQuad(NamedTuple):
    """A quad, and who added it, in which revision, when and why."""

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
    "functional", "inverse functional", "disjoint classes", "disjoint properties", "asymmetric", "irreflexive",
    "identity", "negative assertion", "cardinality", "datatype", "ill-typed literal", "domain", "range", "labels",
    "cycle", "shape", "nearly functional", "outlier", "odd kind", "odd type", "odd form", "impossible dates",
)  # fmt: skip
"""The kinds of contradictions."""


@dataclass(frozen=True, slots=True)
class Finding(Record):
    """Something that is wrong, or may be.

    `severity` is "error" (the data contradict what is declared), "warning" or "info"; `score`, from 0 to 1, says how
    surely it is a fault. `subjects` are the entities concerned, `quads` what bears it out, oldest first, each with the
    revision that added it; `message` says it in a sentence. `add` and `remove` are quads that would put it right,
    where that is clear.
    """

    kind: str
    severity: Severity
    score: Score
    message: str
    subjects: tuple[Iri, ...] = ()
    quads: tuple[Annotated[Provenance, As(_said, SaidQuad)], ...] = ()
    add: tuple[tuple[Node | None, ...], ...] = ()
    remove: tuple[tuple[Node | None, ...], ...] = ()


F = TypeVar("F", bound=Finding)


class Findings(Record, Tabular, Sequence[F]):
    """Findings, the gravest first; `counts` has how many there are of each kind, those that are not shown included."""

    counts: dict[str, int]
    _also = ("counts", "findings")

    def __init__(self, findings: Iterable[F], counts: Mapping[str, int]) -> None:
        self._findings = tuple(findings)
        self.counts = dict(counts)

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
class Raw:
    """A finding as ids, before it is shown: `rows` of the table, and a `text` with places for the terms of `parts`."""

    kind: str
    severity: Severity
    score: float
    subjects: tuple[int, ...]
    rows: tuple[int, ...]
    text: str
    parts: tuple[int, ...] = ()
    remove: tuple[int, ...] = field(default=())  # rows


def graver(one: Raw) -> tuple[Any, ...]:
    """What findings are ordered by."""
    return (SEVERITIES.index(one.severity), one.kind, -one.score, one.subjects, one.rows)


def shown(
    found: Iterable[Raw], table: Table, history: History, prefixes: Mapping[str, str], *, limit: int | None
) -> Findings[Finding]:
    """The findings as their readers see them, at most `limit` of a kind; None for all."""
    counted: Counter[str] = Counter()
    kept: list[Raw] = []
    for one in sorted(found, key=graver):
        counted[one.kind] += 1
        if limit is None or counted[one.kind] <= limit:
            kept.append(one)
    rows = sorted({row for one in kept for row in (*one.rows, *one.remove)})
    columns = (table.subjects, table.predicates, table.objects, table.graphs)
    quads = {row: tuple(int(column[row]) for column in columns) for row in rows}
    ids = {number for quad in quads.values() for number in quad}
    ids |= {number for one in kept for number in (*one.parts, *one.subjects)}
    terms: dict[int, Any] = dict(table.terms(ids))
    as_rdflib = {number: None if number == DEFAULT_GRAPH_ID else to_rdflib(term) for number, term in terms.items()}
    entries = history.numbered({int(table.revisions[row]) for row in rows})

    def said(row: int) -> Provenance:
        s, p, o, g = (as_rdflib[number] for number in quads[row])
        return Provenance((s, p, o, g), entries.get(int(table.revisions[row])), None)

    return Findings(
        (
            Finding(
                one.kind,
                one.severity,
                one.score,
                one.text.format(*(format_term(terms[number], prefixes) for number in one.parts)),
                tuple(as_rdflib[number] for number in one.subjects),
                tuple(said(row) for row in sorted(one.rows, key=lambda row: (table.revisions[row], row))),
                remove=tuple(said(row).quad for row in one.remove),
            )
            for one in kept
        ),
        counted,
    )


def listed(values: list[int], first: int, between: str = ", ") -> str:
    """Places for at most three values, the first of which is `first` of the parts."""
    told = between.join(f"{{{first + place}}}" for place in range(min(len(values), 3)))
    return told + (", …" if len(values) > 3 else "")
