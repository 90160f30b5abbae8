"""Common causes of findings: a quad without which they would not exist, or a rule that they all break.

Few causes make many findings: one wrong type puts its entity outside of every domain. So the causes are chosen as a
cover is, the one that explains most first (the greedy set cover of Johnson 1974).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import TypeAlias

import numpy as np
import pyoxigraph as ox

from worlds.core.history.history import History
from worlds.extras.curation.columns.axioms import Axioms
from worlds.extras.curation.columns.quad_columns import QuadTable
from worlds.extras.curation.columns.vocabularies import OWL, RDFS, SKOS
from worlds.extras.curation.findings.findings import Cause, FindingPresenter, RawFinding
from worlds.graph.terms import format_term, to_oxigraph, to_rdflib

_FEWEST = 2  # findings that a cause has
_MOST = 100  # causes that are told
_EXAMPLES = 5  # findings of a cause that are told with it
_SHARE = 0.8  # of the nodes outside of a domain or range, that one class has to have to be the way out
_QUAD, _RULE = 0, 1

Key: TypeAlias = tuple[int, str, tuple[int, ...]]


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
