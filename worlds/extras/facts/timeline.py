"""The facts of an entity over time: values with their intervals, and where these leave gaps or overlap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Annotated, Any, NamedTuple

from worlds.core.core import Core
from worlds.core.quads.dictionary import Dictionary
from worlds.extras.facts import times
from worlds.extras.facts.spans import Due, Interval, Validity
from worlds.extras.facts.times import ALWAYS
from worlds.graph.records import Iri, Node, Record, Spare
from worlds.graph.terms import Term, to_rdflib


@dataclass(frozen=True, slots=True)
class Held(Record):
    """A value and one interval in which it held; a bound that nobody says is None. `holds` is whether it holds now.

    A fact whose end has come holds until that is carried out, and one whose beginning has come does not.

    `graph` is None for the default graph. The interval is that of the fact, by a reifier, or that of a thing with one:
    of the value, as a membership, or of the entity itself. With `incoming`, the value is such a thing that points to
    the entity. `label` is that of the value.
    """

    predicate: Iri
    value: Node
    graph: Iri | None
    valid_from: Node | None
    valid_to: Node | None
    holds: bool
    label: Annotated[str | None, Spare] = None
    predicate_label: Annotated[str | None, Spare] = None
    incoming: Annotated[bool, Spare] = False

    @property
    def interval(self) -> str:
        """The bounds as people write them, "2015 – 2021-04"; empty where neither is said."""
        said = ["" if term is None else str(term) for term in (self.valid_from, self.valid_to)]
        return " – ".join(said).strip(" ") if any(said) else ""


@dataclass(frozen=True, slots=True)
class DueFact(Record):
    """A fact whose beginning, or else whose end, has come and is not carried out; `time` is stated by its reifier."""

    subject: Node
    predicate: Iri
    object: Node
    graph: Iri | None
    begins: bool
    time: Node


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


def due_facts(dictionary: Dictionary, due: Sequence[Due]) -> list[DueFact]:
    """The due facts, in terms."""
    terms = dictionary.terms({number for one in due for number in (*one.quad, one.said)})
    shown: dict[int, Any] = {number: to_rdflib(term) for number, term in terms.items() if number}
    return [
        DueFact(shown[s], shown[p], shown[o], shown.get(g), one.begins, shown[one.said])
        for one in due
        for s, p, o, g in [one.quad]
    ]


class _Row(NamedTuple):
    predicate: int
    since: int
    until: int
    value: int
    graph: int
    began: int = 0
    ended: int = 0
    holds: bool = True
    incoming: bool = False


class Timelines:
    """Reads the timelines of one world's entities."""

    def __init__(self, core: Core, validity: Validity) -> None:
        self._core = core
        self._validity = validity

    def of(self, entity: Term) -> Timeline:
        """See `World.facts.timeline`."""
        rows = self._rows(entity)
        facts = self._facts(rows)
        order = sorted(range(len(rows)), key=lambda at: _order(rows[at], facts[at]))
        rows, facts = [rows[at] for at in order], [facts[at] for at in order]
        functional = self._core.annotations.functional({row.predicate for row in rows})
        gaps: list[Between] = []
        overlaps: list[Between] = []
        for (incoming, predicate), places in groupby(
            range(len(rows)), lambda at: (rows[at].incoming, rows[at].predicate)
        ):
            every = list(places)
            last = None
            for place in every:
                if rows[place][1:3] == (-ALWAYS, ALWAYS):
                    continue  # nothing says when it held
                if last is not None and rows[last].until < rows[place].since:
                    gaps.append(Between(facts[place].predicate, facts[last], facts[place]))
                if last is None or rows[place].until > rows[last].until:
                    last = place
            for at, first in enumerate(every if predicate in functional and not incoming else ()):
                for second in every[at + 1 :]:
                    if rows[second].since < rows[first].until and rows[second].value != rows[first].value:
                        overlaps.append(Between(facts[first].predicate, facts[first], facts[second]))
        return Timeline(to_rdflib(entity), tuple(facts), tuple(gaps), tuple(overlaps))

    def former(self, entity: Term) -> tuple[Held, ...]:
        """The facts of an entity that have ended, by predicate and then by time; things with intervals are not read."""
        (number,) = self._core.dictionary.find([entity])
        present = times.present()
        rows = [] if number is None else [one for one in self._dated(number) if not one.holds and one.until <= present]
        facts = self._facts(rows)
        return tuple(facts[at] for at in sorted(range(len(rows)), key=lambda at: _order(rows[at], facts[at])))

    def _dated(self, number: int) -> list[_Row]:
        """The facts of an entity whose intervals reifiers tell."""
        spans = self._validity.spans(subject=number)
        asserted = self._validity.asserted(spans.quads[:, :4])
        waits = self._validity.ahead(spans, asserted)[:, 1]
        present = times.present()
        rows: list[_Row] = []
        for at, (_, p, o, g, _) in enumerate(spans.quads.tolist()):
            since, until, ended = int(spans.since[at]), int(spans.until[at]), int(spans.ended[at])
            holds = bool(asserted[at] and since <= present and (present < until or waits[at]))
            if holds or ended or since > present:  # else it is only spoken of
                rows.append(_Row(p, since, until, o, g, int(spans.began[at]), ended, holds))
        return rows

    def _rows(self, entity: Term) -> list[_Row]:
        """All facts of an entity, once each."""
        (number,) = self._core.dictionary.find([entity])
        if number is None:
            return []
        rows = self._dated(number)
        dated = {(row.predicate, row.value, row.graph) for row in rows if row.holds}
        held = [tuple(quad[1:]) for quad in self._core.patterns.matching((entity, None, None), None).tolist()]
        present = times.present()
        pointing = self._pointing(entity)
        things = self._validity.things({number, *(value for _, value, _ in held), *(quad[0] for quad in pointing)})
        roles = set(self._validity.roles())
        for p, o, g in set(held) - dated:
            when = Interval() if p in roles else things.get(o, things.get(number, Interval()))
            rows.append(_Row(p, when.since, when.until, o, g, when.began, when.ended, when.at(present)))
        for s, p, _, g in pointing:
            if (there := things.get(s)) is not None:
                rows.append(
                    _Row(p, there.since, there.until, s, g, there.began, there.ended, there.at(present), incoming=True)
                )
        return list(dict.fromkeys(rows))

    def _pointing(self, entity: Term) -> list[list[int]]:
        """The quads that point to an entity; none where no thing has an interval."""
        return self._core.patterns.matching((None, None, entity), None).tolist() if self._validity.roles() else []

    def _facts(self, rows: list[_Row]) -> list[Held]:
        numbers = {one for row in rows for one in (row.predicate, row.value, row.graph, row.began, row.ended)}
        terms: dict[int, Any] = {
            one: to_rdflib(term) for one, term in self._core.dictionary.terms(numbers).items() if one
        }
        named = {one for row in rows for one in (row.predicate, row.value)}
        labels = self._core.facts.labels(self._core.chunks.policy, named)

        def label(number: int) -> str | None:
            return labels[number].label if number in labels else None

        return [
            Held(
                terms[row.predicate],
                terms[row.value],
                terms.get(row.graph),
                terms.get(row.began),
                terms.get(row.ended),
                row.holds,
                label(row.value),
                label(row.predicate),
                row.incoming,
            )
            for row in rows
        ]


def _order(row: _Row, fact: Held) -> tuple[Any, ...]:
    return row.incoming, str(fact.predicate), row.since, row.until, str(fact.value), row.graph
