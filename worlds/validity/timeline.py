"""What was said of an entity over time: values with their intervals, and where these leave gaps or overlap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from worlds.graph.records import Iri, Node, Record
from worlds.graph.terms import to_rdflib
from worlds.quads.dictionary import Dictionary
from worlds.quads.patterns import Patterns
from worlds.texts.annotations import Annotations
from worlds.validity.spans import Validity
from worlds.validity.times import ALWAYS, microseconds
from worlds.validity.times import now as current


@dataclass(frozen=True, slots=True)
class Held(Record):
    """A value and one interval in which it held; a bound that nobody says is None. `holds` is whether it holds now.

    `graph` is None for the default graph.
    """

    predicate: Iri
    value: Node
    graph: Iri | None
    valid_from: Node | None
    valid_to: Node | None
    holds: bool


@dataclass(frozen=True, slots=True)
class Between(Record):
    """Two intervals of a predicate: nothing held between them, or both held at once."""

    predicate: Iri
    earlier: Held
    later: Held


@dataclass(frozen=True, slots=True)
class Timeline(Record):
    """The facts of an entity, by predicate and then by time.

    `gaps` lie between the intervals of a predicate, `overlaps` are of two values of one that is declared to have one.
    """

    iri: Iri
    facts: tuple[Held, ...]
    gaps: tuple[Between, ...]
    overlaps: tuple[Between, ...]

    def __bool__(self) -> bool:
        return bool(self.facts)


def timeline(
    dictionary: Dictionary, patterns: Patterns, annotations: Annotations, validity: Validity, entity: Any
) -> Timeline:
    """See `World.timeline`."""
    (number,) = dictionary.find([entity])
    rows: list[tuple[int, int, int, int, int, int, int, bool]] = []
    held = patterns.matching((entity, None, None), None)
    spans = validity.spans(subject=-1 if number is None else number)
    now = {tuple(quad) for quad in held.tolist()}
    dated: set[tuple[int, ...]] = set()
    present = microseconds(current())
    for row in range(len(spans.quads)):
        s, p, o, g, _ = spans.quads[row].tolist()
        holds = (s, p, o, g) in now and bool(spans.since[row] <= present < spans.until[row])
        if not holds and not spans.ended[row] and spans.since[row] <= present:
            continue  # it is only spoken of
        if holds:
            dated.add((s, p, o, g))
        bounds = int(spans.since[row]), int(spans.until[row])
        rows.append((p, *bounds, o, g, int(spans.began[row]), int(spans.ended[row]), holds))
    rows += [(p, -ALWAYS, ALWAYS, o, g, 0, 0, True) for s, p, o, g in now - dated]
    numbers = {one for row in rows for one in (row[0], *row[3:7])}
    terms = {one: None if not one else to_rdflib(term) for one, term in dictionary.terms(numbers).items()}
    terms[0] = None
    rows = sorted(set(rows), key=lambda row: (str(terms[row[0]]), row[1], row[2], str(terms[row[3]]), row[4]))
    facts = [Held(terms[p], terms[o], terms[g], terms[a], terms[b], h) for p, _, _, o, g, a, b, h in rows]
    functional = annotations.functional({row[0] for row in rows})
    gaps, overlaps = [], []
    for predicate in dict.fromkeys(row[0] for row in rows):
        every = [place for place, row in enumerate(rows) if row[0] == predicate]
        last = -1
        for place in every:
            if rows[place][1:3] == (-ALWAYS, ALWAYS):
                continue  # nothing says when it held
            if last >= 0 and rows[last][2] < rows[place][1]:
                gaps.append(Between(terms[predicate], facts[last], facts[place]))
            if last < 0 or rows[place][2] > rows[last][2]:
                last = place
        for at, first in enumerate(every if predicate in functional else ()):
            for second in every[at + 1 :]:
                if rows[second][1] < rows[first][2] and rows[second][3] != rows[first][3]:
                    overlaps.append(Between(terms[predicate], facts[first], facts[second]))
    return Timeline(to_rdflib(entity), tuple(facts), tuple(gaps), tuple(overlaps))
