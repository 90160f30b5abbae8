"""The intervals in which triples hold, as their reifiers tell them.

The present is what is asserted. A reifier in the same graph (RDF 1.2) tells when a triple began to hold and when it
ended, by predicates of the policy's roles "valid_from" and "valid_to". An interval has its beginning and not its end; a
year, a month or a day as the end is included. A triple that is not asserted and has an end has ended, or is to begin. A
beginning or an end that was written before its time comes due: see `Validity.ahead`. What is no reifier and has such a
predicate, as a membership has, is a thing with an interval: it stays asserted, and is not there as of another time.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyoxigraph as ox
from numpy.typing import NDArray

from worlds.core.core import Core
from worlds.core.extension import Extension
from worlds.core.quads.dictionary import Ids, batches, json_ids
from worlds.core.quads.rows import NO_QUADS, find_quads, unique_quads
from worlds.extras.facts.times import ALWAYS, microseconds, period, present
from worlds.graph.terms import RDF
from worlds.sql import statements

_SQL = statements("validity.sql")
_QUADS = statements("queries.sql")
_HISTORY = statements("history.sql")
REIFIES = ox.NamedNode(RDF + "reifies")
ROLES = ("valid_from", "valid_to")
"""Of predicates, in the policy."""


@dataclass(frozen=True)
class Spans:
    """n intervals. `quads`, int64 [n, 5], are triples with the graph and the revision of their reifiers.

    `reifiers` [n] are ids; `since` and `until` [n] are microseconds since 1970, `began` and `ended` [n] the ids of the
    literals that say them, and `told` [n, 2] the revisions that wrote these, 0 where nothing does.
    """

    quads: Ids
    reifiers: Ids
    began: Ids
    ended: Ids
    since: NDArray[np.int64]
    until: NDArray[np.int64]
    told: Ids

    def of(self, rows: NDArray[np.bool_]) -> Spans:
        """Some of them."""
        return Spans(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))

    @property
    def edges(self) -> NDArray[np.int64]:
        """The beginning and the end of each, [n, 2]."""
        return np.column_stack([self.since, self.until])

    def at(self, time: int) -> NDArray[np.bool_]:
        """Mask of the intervals that include a time, [n]."""
        return (self.since <= time) & (time < self.until)


class Due(NamedTuple):
    """A quad that began, or ended, at a time in microseconds since 1970, as the literal of an id says."""

    quad: tuple[int, int, int, int]
    begins: bool
    time: int
    said: int


class Interval(NamedTuple):
    """When a thing is there: microseconds since 1970, and the ids of the literals that say so, 0 where nothing does."""

    since: int = -ALWAYS
    until: int = ALWAYS
    began: int = 0
    ended: int = 0

    def at(self, time: int) -> bool:
        """Whether it is there at a time."""
        return self.since <= time < self.until


class Validity(Extension):
    """Reads the intervals of one world."""

    def __init__(self, core: Core) -> None:
        self._connection = core.connection
        self._dictionary = core.dictionary
        self._chunks = core.chunks
        self._periods: dict[int, tuple[int, int] | None] = {}
        self._zone = ""  # in which they were read

    @property
    def zone(self) -> str:
        """The time zone of texts that name none."""
        return self._chunks.policy.time_zone

    def period(self, term: ox.Literal) -> tuple[int, int] | None:
        """Where the period of a literal begins and ends, in microseconds since 1970; None for what is no time."""
        return period(term.value, self.zone)

    def predicates(self, role: str) -> list[ox.NamedNode]:
        """The predicates that tell when a triple began to hold, or when it ended."""
        return [ox.NamedNode(iri) for iri in self._chunks.policy.predicates(role)]

    def spans(self, triples: Iterable[int] | None = None, subject: int | None = None) -> Spans:
        """The intervals of all triples; or of triple terms, given by their ids; or of triples with a subject."""
        self._agree()
        (reifies,) = self._dictionary.find([REIFIES])
        given = {role: self.roles(role) for role in ROLES}
        if reifies is None or not any(given.values()):
            return _spans([], {}, {}, self._read)
        if triples is None:
            rows = self._connection.rows(_SQL["reified"], _SQL["reified"].bind(reifies=reifies, subject=subject))
        else:
            rows = self._connection.rows(_SQL["reifiers_of"], (json_ids(triples), reifies))
        reifiers = json_ids(sorted({row[0] for row in rows}))
        began, ended = (
            {(reifier, graph): said for reifier, graph, *said in self._connection.rows(_SQL["said"], (reifiers, ids))}
            for ids in map(json_ids, given.values())
        )
        return _spans(rows, began, ended, self._read)

    def roles(self, *roles: str) -> list[int]:
        """The ids of the predicates of some roles, of both without any."""
        named = [one for role in roles or ROLES for one in self.predicates(role)]
        return [number for number in self._dictionary.find(named) if number is not None]

    def things(self, among: Iterable[int] | None = None) -> dict[int, Interval]:
        """The intervals of all things that have one, or of some of them; the earliest beginning and the latest end."""
        self._agree()
        if not (roles := self.roles()):
            return {}
        first = set(self.roles("valid_from"))
        found: dict[int, Interval] = {}
        values = _SQL["dated"].bind(
            things_json=None if among is None else json_ids(among),
            predicates_json=json_ids(roles),
            reifies=self._dictionary.find([REIFIES])[0] or -1,
        )
        for thing, predicate, number in self._connection.rows(_SQL["dated"], values):
            if (read := self._read(number)) is None:
                continue
            known = found.get(thing, Interval())
            if predicate in first and (not known.began or read[0] < known.since):
                known = known._replace(since=read[0], began=number)
            elif predicate not in first and (not known.ended or read[1] > known.until):
                known = known._replace(until=read[1], ended=number)
            found[thing] = known
        return found

    def _elsewhen(self, time: int) -> Ids:
        """The quads about things that are not there at a time, int64 [n, 4]."""
        gone = [thing for thing, interval in self.things().items() if not interval.at(time)]
        statement = _QUADS["quads_touching"]
        found = [
            self._connection.table(statement, statement.bind(ids_json=ids))
            for ids in batches(np.array(gone, dtype=np.int64))
        ]
        return unique_quads(np.concatenate([NO_QUADS, *found]))

    def _agree(self) -> None:
        """Forget data that was read for another time zone."""
        if self._zone != (zone := self.zone):
            self._zone = zone
            self._periods.clear()

    def _read(self, number: int) -> tuple[int, int] | None:
        """The period of a literal; None for what is no time."""
        if number not in self._periods:
            if len(self._periods) > 1_000_000:
                self._periods.clear()
            term = self._dictionary.terms([number])[number]
            self._periods[number] = period(term.value, self._zone) if isinstance(term, ox.Literal) else None
        return self._periods[number]

    def asserted(self, quads: Ids) -> Ids:
        """The revisions that asserted quads, int64 [n, 4]; 0 for quads that the world lacks, [n]."""
        found = np.zeros(len(quads), dtype=np.int64)
        for position, _, revision in find_quads(self._connection, quads):
            found[position] = revision
        return found

    def ahead(self, spans: Spans, asserted: Ids) -> NDArray[np.bool_]:
        """Whether the beginning and the end of each wait to be carried out, or did as long as they lay ahead, [n, 2].

        They were written before their time, and since that came nobody asserted or retracted the triple, which would
        have decided it; `asserted` [n] are the revisions that asserted the triples. A revision that moved a triple
        together with its reifier, as a merge does, decides nothing.
        """
        moved = asserted == spans.quads[:, 4]
        last = np.maximum(self._times(spans.told), self._times(np.where(moved, 0, asserted))[:, None])
        found = (spans.told > 0) & (last < spans.edges)
        begin = np.flatnonzero(found[:, 0] & (asserted == 0))
        if len(begin):
            removed = np.zeros(len(begin), dtype=np.int64)
            given = str(spans.quads[begin, :4].tolist()), int(spans.told[begin, 0].min())
            for position, revision in self._connection.rows(_SQL["last_removed"], given):
                removed[int(position)] = revision
            found[begin, 0] = self._times(removed) < spans.since[begin]
        late = self._times(spans.quads[:, 4])[:, None] >= spans.edges
        for row in np.flatnonzero((found & late).any(axis=1) & (moved | (asserted == 0))).tolist():
            decided = self._decided(int(spans.reifiers[row]), *spans.quads[row, 3:].tolist())
            found[row] &= self._times(np.array([decided])) < spans.edges[row]
        return found

    def _decided(self, reifier: int, graph: int, revision: int) -> int:
        """The last revision that asserted or retracted the statement of a reifier before its move; 0 for none."""
        (reifies,) = self._dictionary.find([REIFIES])
        statement = _SQL["moved_from"]
        while row := self._connection.row(statement, (revision, reifier, reifies, graph)):
            *quad, before = *map(int, str(row[0]).split(" ")), graph, row[1]
            asserted = self._connection.value(_HISTORY["added_before"], (*quad, revision))
            if asserted is None:
                removed = self._connection.rows(_SQL["last_removed"], (str([quad]), before))
                if removed:
                    return int(removed[0][1])
            elif asserted != before:
                return int(asserted)
            revision = before
        return 0

    def _times(self, revisions: Ids) -> NDArray[np.int64]:
        """The times of revisions; before all times for 0, now for the one that is being written.

        Of those that are forgotten, the time of the first that is not.
        """
        numbers, places = np.unique(revisions, return_inverse=True)
        rows = self._connection.rows(_SQL["times"], (json_ids(numbers),))
        known = {revision: microseconds(datetime.datetime.fromisoformat(time)) for revision, time in rows}
        first = min(known, default=0)
        times = {one: known.get(one, known[first] if one < first else None) for one in numbers.tolist()}
        found = [-ALWAYS if one == 0 else present() if time is None else time for one, time in times.items()]
        return np.array(found, dtype=np.int64)[places].reshape(revisions.shape)

    def differs(self, time: int) -> tuple[Ids, Ids]:
        """Quads that held at a time and are not asserted, and asserted quads that did not hold, int64 [n, 4] each."""
        state = self._state(self.spans(), time)
        removed = np.concatenate([state.quads[state.asserted & ~state.holds], self._elsewhen(time)])
        return state.quads[state.holds & ~state.asserted], unique_quads(removed)

    def due(self, time: int) -> list[Due]:
        """The facts whose beginning or end has come by a time and is not carried out, the earliest first."""
        spans = self._coming(time)
        state = self._state(spans, time)
        found: dict[int, Due] = {}
        for row in np.flatnonzero((state.came & (state.holds != state.asserted))[state.numbers]).tolist():
            place = int(state.numbers[row])
            begins = bool(state.holds[place])
            at, number = (spans.since, spans.began) if begins else (spans.until, spans.ended)
            if number[row] and at[row] <= time:
                one = Due(tuple(state.quads[place].tolist()), begins, int(at[row]), int(number[row]))
                found[place] = max(found.get(place, one), one, key=lambda due: due.time)
        return sorted(found.values(), key=lambda one: (one.time, one.quad))

    def first_due(self) -> int | None:
        """The time of the first fact that is due; None where nothing is."""
        return next((one.time for one in self.due(present())), None)

    def _coming(self, time: int) -> Spans:
        """All intervals of the triples of which one begins or ends after the first revision, and not after a time."""
        self._agree()
        begun = self._connection.value(_SQL["first_time"])
        (reifies,) = self._dictionary.find([REIFIES])
        if begun is None or reifies is None:
            return self.spans([])
        earliest = microseconds(datetime.datetime.fromisoformat(begun))
        wanted: list[str] = []
        for edge, role in enumerate(ROLES):
            predicates = json_ids(self.roles(role))
            values = [number for (number,) in self._connection.rows(_SQL["times_said"], (predicates,))]
            read = [(number, period) for number in values if (period := self._read(number)) is not None]
            wanted += [predicates, json_ids(number for number, period in read if earliest < period[edge] <= time)]
        return self.spans([triple for (triple,) in self._connection.rows(_SQL["told_of"], (*wanted, reifies))])

    def _state(self, spans: Spans, time: int) -> _State:
        """The triples with intervals, and which of them hold at a time."""
        quads, numbers = np.unique(spans.quads[:, :4], axis=0, return_inverse=True)
        numbers = numbers.reshape(-1)

        def any_of(rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
            return np.bincount(numbers[rows], minlength=len(quads)) > 0

        revisions = self.asserted(quads)
        asserted = revisions > 0
        ahead = self.ahead(spans, revisions[numbers])
        then, came = spans.at(time), ahead & (spans.edges <= time)
        # What ended and is asserted holds again, since nobody knows when: from its last end on.
        last = np.full(len(quads), -ALWAYS)
        np.maximum.at(last, numbers, spans.until)
        again = (last <= time) & ~any_of(came[:, 1])
        # What nobody asserts, has no end and does not wait for its beginning is only spoken of.
        dated = any_of(then & ((spans.ended != 0) | ahead[:, 0]))
        holds = np.where(asserted, any_of(then) | again, dated)
        return _State(quads, numbers, asserted, holds, np.where(asserted, any_of(came[:, 1]), any_of(came[:, 0])))


class _State(NamedTuple):
    """Triples with intervals, at a time. `quads`, int64 [n, 4], `numbers` the one of each interval.

    `asserted`, `holds` and `came` [n] say whether each is asserted, whether it holds at that time, and whether it was
    to begin, or to end, by then.
    """

    quads: Ids
    numbers: Ids
    asserted: NDArray[np.bool_]
    holds: NDArray[np.bool_]
    came: NDArray[np.bool_]


def _spans(
    rows: list[tuple[int, object, int, int]],
    began: Mapping[tuple[int, int], Sequence[int]],
    ended: Mapping[tuple[int, int], Sequence[int]],
    read: Callable[[int], tuple[int, int] | None],
) -> Spans:
    found: list[tuple[int, ...]] = []
    for reifier, parts, graph, revision in rows:
        (first, begun), (last, over) = (one.get((reifier, graph), (0, 0)) for one in (began, ended))
        since, until = read(first) if first else None, read(last) if last else None
        if since is None and until is None:
            continue
        begins = (first, begun, since[0]) if since else (0, 0, -ALWAYS)
        ends = (last, over, until[1]) if until else (0, 0, ALWAYS)
        found.append((*map(int, str(parts).split(" ")), graph, revision, reifier, *begins, *ends))
    table = np.array(found, dtype=np.int64).reshape(-1, 12)
    reifiers, began_by, ended_by, starts, stops = (table[:, column] for column in (5, 6, 9, 8, 11))
    return Spans(table[:, :5], reifiers, began_by, ended_by, starts, stops, told=table[:, [7, 10]])
