"""Decisions of people on two entities: that they are the same, or differ."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from worlds.graph.records import Iri, Record
from worlds.graph.terms import entity_of, to_rdflib
from worlds.sql import statements
from worlds.sql.connection import Connection

if TYPE_CHECKING:
    from worlds.core.history.provenance import Provenance

_SQL = statements("curation.sql")

How: TypeAlias = Literal["accepted", "rejected", "merged", "split", "distinct"]


@dataclass(frozen=True, slots=True)
class Decision(Record):
    """A decision on two entities, the kept one first: that they are the same (`same`), or differ.

    `how` is "accepted" or "rejected" (a proposal to merge or link them, with the `score` that it had), "merged"
    (without a proposal), "split" (such a merge, taken apart) or "distinct" (an owl:differentFrom). `author` is who
    decided, as far as it is known.
    """

    entities: tuple[Iri, Iri]
    same: bool
    how: How
    score: float | None = None
    author: str | None = None
    time: datetime.datetime | None = None
    proposal: int | None = None
    revision: int | None = None


def decisions(
    connection: Connection, redirects: Sequence[Provenance], different: Sequence[Provenance]
) -> list[Decision]:
    """The decisions in force, oldest first: on duplicates, merges, and entities that are declared different.

    A merge that was taken back decides nothing.
    """
    found: list[Decision] = []
    led = {one.quad[0]: one for one in redirects if one.removed is None}
    told: set[Any] = set()
    for number, status, kind, merges, names, score, reviewer, time, revision in connection.rows(_SQL["decided_pairs"]):
        kept, *others = (to_rdflib(entity_of(one)) for one in json.loads(names))
        same = status == "accepted"
        how: How = "accepted" if same else "split" if kind == "split" else "rejected"
        decided = None if time is None else datetime.datetime.fromisoformat(time)
        for other in others:
            if same and merges and other not in led:
                continue
            if same:
                told.add(other)
            found.append(Decision((kept, other), same, how, score, reviewer, decided, number, revision))
    merged = ((one.quad[2], one.quad[0], True, one) for one in led.values() if one.quad[0] not in told)
    apart = ((one.quad[0], one.quad[2], False, one) for one in different if one.removed is None)
    found += list(_said(chain(merged, apart)))
    earliest = datetime.datetime.min.replace(tzinfo=datetime.UTC)
    return sorted(found, key=lambda one: (one.time or earliest, tuple(map(str, one.entities))))


def _said(pairs: Iterable[tuple[Any, Any, bool, Provenance]]) -> Iterator[Decision]:
    for one, other, same, said in pairs:
        entry = said.added
        how: How = "merged" if same else "distinct"
        if entry is None:
            yield Decision((one, other), same, how)
        else:
            yield Decision((one, other), same, how, None, entry.author, entry.time, None, entry.revision)
