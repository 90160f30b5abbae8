"""The intervals in which triples hold, as their reifiers tell them.

An asserted quad holds now. A reifier in the same graph (RDF 1.2) tells when it began to hold and when it ended, by
predicates of the policy's roles "valid_from" and "valid_to". An interval has its beginning and not its end; a year, a
month or a day as the end is included. A triple that is not asserted and has an end has ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import pyoxigraph as ox
from numpy.typing import NDArray

from worlds.graph.terms import RDF
from worlds.quads.dictionary import Dictionary, Ids, json_ids
from worlds.sql import statements
from worlds.sql.connection import Connection
from worlds.texts.policy import TextPolicy
from worlds.validity.times import ALWAYS, period

_SQL = statements("validity.sql")
REIFIES = ox.NamedNode(RDF + "reifies")


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

    def at(self, time: int) -> NDArray[np.bool_]:
        """Which hold at a time, [n]."""
        return (self.since <= time) & (time < self.until)


class Validity:
    """Reads the intervals of one world."""

    def __init__(self, connection: Connection, dictionary: Dictionary, policy: Callable[[], TextPolicy]) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self._policy = policy
        self._periods: dict[int, tuple[int, int] | None] = {}

    def predicates(self, role: str) -> list[ox.NamedNode]:
        """The predicates that tell when a triple began to hold, or when it ended."""
        return [ox.NamedNode(iri) for iri in self._policy().predicates(role)]

    def spans(self, triples: Iterable[int] | None = None, subject: int | None = None) -> Spans:
        """The intervals of all triples; or of triple terms, given by their ids; or of those with a subject."""
        (reifies,) = self._dictionary.find([REIFIES])
        given = {role: self._known(role) for role in ("valid_from", "valid_to")}
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

    def _known(self, role: str) -> list[int]:
        return [number for number in self._dictionary.find(self.predicates(role)) if number is not None]

    def _read(self, number: int) -> tuple[int, int] | None:
        """The period of a literal; None for what is no time."""
        if number not in self._periods:
            if len(self._periods) > 1_000_000:
                self._periods.clear()
            term = self._dictionary.terms([number])[number]
            self._periods[number] = period(term.value) if isinstance(term, ox.Literal) else None
        return self._periods[number]

    def as_of(self, held: Ids, time: int) -> tuple[NDArray[np.bool_], Ids]:
        """Of the quads that hold now, int64 [n, 4], which held at a time, [n]; and those that did besides, [m, 5]."""
        spans = self.spans()
        if not len(spans.quads):
            return np.ones(len(held), dtype=bool), spans.quads
        keys, numbers = _keys(held, spans.quads[:, :4])
        then = spans.at(time)
        dated, dated_then = np.unique(numbers), np.unique(numbers[then])
        # What ended and is asserted holds again, since nobody knows when: from its last end on.
        last = np.full(max(numbers.max(), keys.max(initial=0)) + 1, -ALWAYS)
        np.maximum.at(last, numbers, spans.until)
        kept = ~np.isin(keys, dated) | np.isin(keys, dated_then) | (last[keys] <= time)
        # What nobody asserts, and has no end, is only spoken of.
        ended = then & ~np.isin(numbers, keys) & (spans.ended != 0)
        places = np.flatnonzero(ended)
        _, first = np.unique(numbers[places], return_index=True)
        return kept, spans.quads[places[first]]


def _keys(one: Ids, other: Ids) -> tuple[Ids, Ids]:
    """A number for each row of two tables, the same for equal rows."""
    _, numbers = np.unique(np.concatenate([one, other]), axis=0, return_inverse=True)
    numbers = numbers.reshape(-1)
    return numbers[: len(one)], numbers[len(one) :]


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
