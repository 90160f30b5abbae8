"""The intervals in which triples hold, as their reifiers tell them.

An asserted quad holds now. A reifier in the same graph (RDF 1.2) tells when it began to hold and when it ended, by
predicates of the policy's roles "valid_from" and "valid_to". An interval has its beginning and not its end; a year, a
month or a day as the end is included. A triple that is not asserted and has an end has ended. What is no reifier and
has such a predicate, as a membership has, is a thing with an interval: it stays asserted, and is not there as of
another time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyoxigraph as ox
from numpy.typing import NDArray

from worlds.graph.terms import RDF
from worlds.quads.dictionary import Dictionary, Ids, batches, json_ids
from worlds.quads.rows import NO_QUADS, find_quads, unique_quads
from worlds.sql import statements
from worlds.sql.connection import Connection
from worlds.texts.policy import TextPolicy
from worlds.validity.times import ALWAYS, period

_SQL = statements("validity.sql")
_QUADS = statements("queries.sql")
REIFIES = ox.NamedNode(RDF + "reifies")
ROLES = ("valid_from", "valid_to")
"""Of predicates, in the policy."""


@dataclass(frozen=True)
class Spans:
    """n intervals. `quads`, int64 [n, 5], are triples with the graph and the revision of what reifies them.

    `reifiers` [n] are ids; `since` and `until` [n] are microseconds since 1970, and `began` and `ended` [n] the ids of
    the literals that say them, 0 where nothing does.
    """

    quads: Ids
    reifiers: Ids
    began: Ids
    ended: Ids
    since: NDArray[np.int64]
    until: NDArray[np.int64]

    def of(self, rows: NDArray[np.bool_]) -> Spans:
        """Some of them."""
        return Spans(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))

    def of_reifiers(self, ids: Ids) -> Spans:
        """Those that some reifiers tell, int64 [n]."""
        return self.of(np.isin(self.reifiers, ids))

    def passed(self, since: int, until: int) -> NDArray[np.bool_]:
        """Whether the beginning and the end of each lie after a time and not after another, [2, n]."""
        edges = np.stack([self.since, self.until])
        return (since < edges) & (edges <= until)

    def at(self, time: int) -> NDArray[np.bool_]:
        """Which hold at a time, [n]."""
        return (self.since <= time) & (time < self.until)


class Interval(NamedTuple):
    """When a thing is there: microseconds since 1970, and the ids of the literals that say so, 0 where nothing does."""

    since: int = -ALWAYS
    until: int = ALWAYS
    began: int = 0
    ended: int = 0

    def at(self, time: int) -> bool:
        """Whether it is there at a time."""
        return self.since <= time < self.until


class Validity:
    """Reads the intervals of one world."""

    def __init__(self, connection: Connection, dictionary: Dictionary, policy: Callable[[], TextPolicy]) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self._policy = policy
        self._periods: dict[int, tuple[int, int] | None] = {}
        self._zone = ""  # in which they were read

    @property
    def zone(self) -> str:
        """The time zone of texts that name none."""
        return self._policy().time_zone

    def period(self, term: ox.Literal) -> tuple[int, int] | None:
        """Where the period of a literal begins and ends, in microseconds since 1970; None for what is no time."""
        return period(term.value, self.zone)

    def predicates(self, role: str) -> list[ox.NamedNode]:
        """The predicates that tell when a triple began to hold, or when it ended."""
        return [ox.NamedNode(iri) for iri in self._policy().predicates(role)]

    def spans(self, triples: Iterable[int] | None = None, subject: int | None = None) -> Spans:
        """The intervals of all triples; or of triple terms, given by their ids; or of those with a subject."""
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
            {(reifier, graph): value for reifier, graph, value in self._connection.rows(_SQL["said"], (reifiers, ids))}
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

    def elsewhen(self, time: int) -> Ids:
        """The quads about things that are not there at a time, int64 [n, 4]."""
        gone = [thing for thing, interval in self.things().items() if not interval.at(time)]
        statement = _QUADS["quads_touching"]
        found = [
            self._connection.table(statement, statement.bind(ids_json=ids))
            for ids in batches(np.array(gone, dtype=np.int64))
        ]
        return unique_quads(np.concatenate([NO_QUADS, *found]))

    def _agree(self) -> None:
        """Forget what was read in another zone."""
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

    def periods(self, numbers: Ids) -> list[tuple[int, int]]:
        """The periods of literals, int64 [n], of those that are times."""
        self._agree()
        return [read for number in numbers.tolist() if (read := self._read(number)) is not None]

    def next(self, time: int) -> int:
        """The first beginning or end of an interval after a time; ALWAYS where there is none."""
        spans = self.spans()
        edges = np.concatenate([spans.since, spans.until])
        return int(edges[edges > time].min(initial=ALWAYS))

    def asserted(self, quads: Ids) -> NDArray[np.bool_]:
        """Which of some quads, int64 [n, 4], the world has, [n]."""
        found = np.zeros(len(quads), dtype=bool)
        found[[position for position, _, _ in find_quads(self._connection, quads)]] = True
        return found

    def changes(self, time: int, clock: int, *, edges: bool = False) -> tuple[Ids, Ids]:
        """The quads that hold at a time beside those that are asserted, and the asserted that don't, int64 [n, 4].

        `clock` is the time of the last revision. With `edges`, only what has begun or ended since then.
        """
        spans = self.spans()
        if not len(spans.quads):
            return NO_QUADS, NO_QUADS
        quads, numbers = np.unique(spans.quads[:, :4], axis=0, return_inverse=True)
        numbers = numbers.reshape(-1)

        def any_of(rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
            return np.bincount(numbers[rows], minlength=len(quads)) > 0

        asserted = self.asserted(quads)
        then = spans.at(time)
        # What ended and is asserted holds again, since nobody knows when: from its last end on.
        last = np.full(len(quads), -ALWAYS)
        np.maximum.at(last, numbers, spans.until)
        # What nobody asserts, has no end and does not lie ahead is only spoken of.
        dated = then & ((spans.ended != 0) | (spans.since > clock))
        holds = np.where(asserted, any_of(then) | (last <= min(time, clock)), any_of(dated))
        if edges:
            began, ended = map(any_of, spans.passed(clock, time))
            holds = np.where(np.where(asserted, ended, began), holds, asserted)
        return quads[holds & ~asserted], quads[asserted & ~holds]


def _spans(
    rows: list[tuple[int, object, int, int]],
    began: dict[tuple[int, int], int],
    ended: dict[tuple[int, int], int],
    read: Callable[[int], tuple[int, int] | None],
) -> Spans:
    found: list[tuple[int, ...]] = []
    for reifier, parts, graph, revision in rows:
        first, last = began.get((reifier, graph), 0), ended.get((reifier, graph), 0)
        since, until = read(first) if first else None, read(last) if last else None
        if since is None and until is None:
            continue
        s, p, o = (int(part) for part in str(parts).split(" "))
        found.append(
            (s, p, o, graph, revision, reifier, first if since else 0, last if until else 0,
             since[0] if since else -ALWAYS, until[1] if until else ALWAYS)
        )  # fmt: skip
    table = np.array(found, dtype=np.int64).reshape(-1, 10)
    return Spans(table[:, :5], *table.T[5:])
