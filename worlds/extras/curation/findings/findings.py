"""Findings of certain or likely faults: each with the quads that bear it out and their sources, and their causes."""

from __future__ import annotations

import datetime
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, TypeAlias, TypeVar, overload

import numpy as np
import pyoxigraph as ox

from worlds.core.history.history import History
from worlds.core.history.provenance import Provenance
from worlds.core.quads.dictionary import DEFAULT_GRAPH_ID
from worlds.extras.curation.columns.axioms import OWL, RDFS, SKOS, Axioms
from worlds.extras.curation.columns.quad_columns import QuadTable
from worlds.graph.records import As, Count, Iri, Node, Quad, Record, Score, told
from worlds.graph.tabular import Tabular
from worlds.graph.terms import format_term, to_oxigraph, to_rdflib

Severity: TypeAlias = Literal["error", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")
"""The gravest first."""
CONTRADICTIONS = (
    "functional", "overlap", "inverse functional", "disjoint classes", "disjoint properties", "asymmetric",
    "irreflexive", "identity", "negative assertion", "cardinality", "datatype", "ill-typed literal", "domain", "range",
    "labels", "cycle", "shape", "nearly functional", "outlier", "odd kind", "odd type", "odd form", "impossible dates",
)  # fmt: skip
"""The kinds of contradictions."""
_FEWEST = 2  # findings that a cause has
_MOST = 100  # causes that are told
_EXAMPLES = 5  # findings of a cause that are told with it
_SHARE = 0.8  # of the nodes outside of a domain or range, that one class has to have to be the way out
_QUAD, _RULE = 0, 1
Key: TypeAlias = tuple[int, str, tuple[int, ...]]


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
    subjects: tuple[int, ...]
    rows: tuple[int, ...]
    text: str
    parts: tuple[int, ...] = ()
    severity: Severity = "error"
    score: float = 1.0
    remove: tuple[int, ...] = field(default=())  # rows
    rule: str = ""
    ends: tuple[tuple[int, ...], ...] = ()  # sets of rows


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


@dataclass(frozen=True, slots=True)
class RawCause:
    """A cause, in ids: the findings that it explains, and the row to remove, or the (class, superclass) to add."""

    places: tuple[int, ...]
    kind: str
    row: int | None = None
    parts: tuple[int, ...] = ()
    below: tuple[int, int] | None = None
    revision: int | None = None  # that brought the newest quad of each of them


def causes(found: Sequence[RawFinding], table: QuadTable, axioms: Axioms) -> list[RawCause]:
    """The causes of findings, those of the most findings first; each finding has one cause, a single one none."""
    explained: dict[Key, list[int]] = defaultdict(list)
    classes = axioms.known_classes
    for place, one in enumerate(found):
        for key in _keys(one, table, classes):
            explained[key].append(place)
    # Of two that explain the same, the quad; of two quads, the one that came last.
    heap: list[tuple[int, int, int, Key]] = [
        (-len(places), key[0], -int(table.revisions[key[2][0]]) if key[0] == _QUAD else 0, key)
        for key, places in explained.items()
        if len(places) >= _FEWEST
    ]
    heapify(heap)
    left = set(range(len(found)))
    chosen: list[RawCause] = []
    while heap and len(chosen) < _MOST:
        count, what, age, key = heappop(heap)
        places = tuple(place for place in explained[key] if place in left)
        if len(places) == -count:
            left.difference_update(places)
            chosen.append(_cause(key, places, found, table, axioms))
        elif len(places) >= _FEWEST:
            heappush(heap, (-len(places), what, age, key))
    return chosen


def _keys(one: RawFinding, table: QuadTable, classes: set[int]) -> Iterator[Key]:
    """The possible causes of a finding: each of its quads, and the rule that it breaks, or at least its kind."""
    yield from ((_QUAD, "", (row,)) for row in set(one.rows))
    yield _RULE, f"{one.kind} {one.rule}".rstrip(), _rule(one, table, classes)


def _rule(one: RawFinding, table: QuadTable, classes: set[int]) -> tuple[int, ...]:
    """The predicates and classes that a finding speaks of: neither its entities nor their values."""
    values = set(table.objects[list(one.rows)].tolist()) - classes
    return tuple(part for part in one.parts if part and part not in values and part not in one.subjects)


def _cause(
    key: Key, places: tuple[int, ...], found: Sequence[RawFinding], table: QuadTable, axioms: Axioms
) -> RawCause:
    what, kind, numbers = key
    first = found[places[0]]
    if what == _QUAD:
        return RawCause(places, first.kind, row=numbers[0])
    below = None
    if kind in ("domain", "range") and all(found[place].severity == "warning" for place in places):
        below = _way_out(first.parts[2], [found[place].parts[0] for place in places], table, axioms)
    brought = {max((int(table.revisions[row]) for row in found[place].rows), default=0) for place in places}
    revision = min(brought) if len(brought) == 1 and not below else 0
    return RawCause(places, kind, parts=numbers, below=below, revision=revision or None)


def _way_out(wanted: int, nodes: Sequence[int], table: QuadTable, axioms: Axioms) -> tuple[int, int] | None:
    """The class that nearly all nodes have, which would have to be below the wanted one."""
    instances, kinds = axioms.types
    idle = table.ids([OWL + "Class", OWL + "NamedIndividual", RDFS + "Class", SKOS + "Concept"])
    often = Counter(kinds[np.isin(instances, nodes) & ~np.isin(kinds, idle)].tolist())
    best = max(often, key=lambda kind: (often[kind], -kind), default=None)
    return (best, wanted) if best is not None and often[best] >= _SHARE * len(set(nodes)) else None


def told_causes(
    found: Sequence[RawFinding], table: QuadTable, axioms: Axioms, history: History, prefixes: Mapping[str, str]
) -> list[Cause]:
    """The causes of findings as their readers see them."""
    why = causes(found, table, axioms)
    examples = [[found[place] for place in cause.places[:_EXAMPLES]] for cause in why]
    rows = {cause.row for cause in why if cause.row is not None}
    parts = {number for some in examples for one in some for number in (*one.parts, *one.subjects)}
    parts |= {number for cause in why for number in (*cause.parts, *(cause.below or ()))}
    shown = FindingPresenter(table, history, prefixes, rows, parts)
    entries = history.numbered({cause.revision for cause in why if cause.revision is not None})
    told: list[Cause] = []
    for cause, some in zip(why, examples, strict=True):
        kinds = dict(Counter(found[place].kind for place in cause.places).most_common())
        entry = entries.get(cause.revision or 0)
        by = (
            ""
            if entry is None or history.last == 1
            else f", all with revision {entry.revision} by {_who(entry.author)}"
        )
        told.append(_told(cause, kinds, some, shown, by))
    return told


def _told(
    cause: RawCause, kinds: dict[str, int], examples: Sequence[RawFinding], shown: FindingPresenter, by: str
) -> Cause:
    count = len(cause.places)
    subjects = tuple(dict.fromkeys(shown.term(number) for one in examples for number in one.subjects))[:_EXAMPLES]
    messages = tuple(sorted(map(shown.message, examples)))
    if cause.row is not None:
        said = shown.said(cause.row)
        s, p, o = (format_term(to_oxigraph(term), shown.prefixes) for term in said.quad[:3])
        by = "" if said.added is None else f", revision {said.added.revision} by {_who(said.added.author)}"
        return Cause(f"{count:,} findings with {s} {p} {o}{by}", count, kinds, messages, subjects, remove=(said.quad,))
    told = f"{count:,} findings of the kind {cause.kind}"
    if cause.parts:
        told += f", with {', '.join(map(shown.text, cause.parts))}"
    if cause.below is None:
        return Cause(told + by, count, kinds, messages, subjects)
    below, above = cause.below
    told += f": nearly all are of {shown.text(below)}, which is not said to be below {shown.text(above)}"
    sub_class = to_rdflib(ox.NamedNode(RDFS + "subClassOf"))
    add = ((shown.term(below), sub_class, shown.term(above), None),)
    return Cause(told, count, kinds, messages, subjects, add=add)


def _who(author: str | None) -> str:
    return author or "nobody named"
