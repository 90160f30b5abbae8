"""The candidates of several worlds as one: a text that several have is one, with all that each says of it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyoxigraph as ox

from worlds.search.candidates import Candidates, Fused
from worlds.search.facts import Bools, Embedded, Read
from worlds.search.member import MemberSearch
from worlds.search.stages import Decay, Floats, Indexes
from worlds.sql.values import as_text

_WORLD = 32  # bits of a chunk's id, before the world's place

Place = tuple[int, int]
"""A world's place in the group, and the place of a candidate there."""


@dataclass(frozen=True)
class Together:
    """The candidates of all worlds as one, and where each comes from."""

    found: Candidates  # without quads: these are their worlds'
    homes: list[list[Place]]  # of each candidate; where it has the best score first
    by_world: list[Candidates]
    candidates_of: list[Indexes]  # for each candidate of a world, what it is here
    rows_of: list[Indexes]  # for each row of a world, what it is here


def together(searches: Sequence[MemberSearch], by_world: Sequence[Candidates], *, by_subject: bool) -> Together:
    """The candidates that the searches found, as one world would have them: best first."""
    rows: dict[object, int] = {}
    kept: list[Fused] = []
    rows_of = [np.zeros(len(found.rows), dtype=np.intp) for found in by_world]
    best = [(-row.score, at, place) for at, found in enumerate(by_world) for place, row in enumerate(found.rows)]
    for _, at, place in sorted(best):
        row = by_world[at].rows[place]
        number = rows.setdefault(row.text if row.term > 0 else (at, row.chunk), len(kept))
        if number == len(kept):
            kept.append(row._replace(chunk=at << _WORLD | row.chunk))
        rows_of[at][place] = number
    entries: list[tuple[int, int, int, str]] = []
    for at, (search, found) in enumerate(zip(searches, by_world, strict=True)):
        names = search.keys(found.subject.tolist()) if by_subject else {}
        for candidate, (own, subject) in enumerate(zip(found.row.tolist(), found.subject.tolist(), strict=True)):
            name = names.get(subject, "")
            about = f"{at} {name}" if name.startswith("_:") else name
            entries.append((int(rows_of[at][own]), at, candidate, about))
    places: dict[tuple[int, str], int] = {}
    homes: list[list[Place]] = []
    candidates_of = [np.zeros(len(found), dtype=np.intp) for found in by_world]
    for number, at, candidate, about in sorted(entries):
        place = places.setdefault((number, about), len(homes))
        if place == len(homes):
            homes.append([])
        homes[place].append((at, candidate))
        candidates_of[at][candidate] = place
    row_of = np.array([number for number, _ in places], dtype=np.intp)
    numbers = np.empty(0, dtype=np.int64)
    found = Candidates(
        kept,
        row_of,
        np.array([_number(about) if about else 0 for _, about in places], dtype=np.int64),
        np.array([one.score for one in kept], dtype=np.float64)[row_of],
        np.empty(0, dtype=np.intp),
        numbers,
        numbers,
    )
    return Together(found, homes, list(by_world), candidates_of, rows_of)


def _number(name: str) -> int:
    """A number for a subject that is the same in every world and every search: 62 bits of a digest."""
    return int.from_bytes(hashlib.blake2b(name.encode("utf-8", "replace"), digest_size=8).digest(), "big") >> 2


class GroupFacts:
    """`Facts` of several worlds: what any of them says of a candidate that it has."""

    def __init__(self, searches: Sequence[MemberSearch], found: Together) -> None:
        self._found = found
        self._members = [search.facts(one) for search, one in zip(searches, found.by_world, strict=True)]

    def matching(self, pattern: str) -> Bools:
        """Which candidates have a subject that matches a pattern over ?subject in its world, [n]."""
        return self._any([member.matching(pattern) for member in self._members])

    def greatest(self, predicate: ox.NamedNode, read: Read) -> tuple[Floats, list[str]]:
        """Each candidate's greatest value under a predicate, NaN without one, [n], and what could not be read."""
        values = np.full(len(self._found.found), np.nan)
        wrong: list[str] = []
        for member, places in zip(self._members, self._found.candidates_of, strict=True):
            if len(places):
                own, unread = member.greatest(predicate, read)
                np.fmax.at(values, places, own)
                wrong += unread
        return values, wrong

    def evergreen(self, decay: Decay) -> Bools:
        """Which candidates never age, [n]."""
        return self._any([member.evergreen(decay) for member in self._members])

    def names(self) -> Bools:
        """Which candidates are labels or aliases, [n]."""
        return self._any([member.names() for member in self._members])

    def embedded(self) -> Embedded:
        """The vectors of the rows."""
        tables = [member.embedded() for member in self._members]
        size = max(table.vectors.shape[1] for table in tables)
        vectors = np.zeros((len(self._found.found.rows), size), np.float32)
        known = np.zeros(len(vectors), dtype=bool)
        for table, rows in zip(tables, self._found.rows_of, strict=True):
            vectors[rows[table.known]] = table.vectors[table.known]
            known[rows[table.known]] = True
        return Embedded(vectors, known)

    def texts(self, rows: Sequence[Fused]) -> list[str]:
        """The texts of rows, which they have."""
        return [as_text(row.text or "") for row in rows]

    def _any(self, by_world: Sequence[Bools]) -> Bools:
        """Which candidates are true in any world."""
        found = np.zeros(len(self._found.found), dtype=bool)
        for own, places in zip(by_world, self._found.candidates_of, strict=True):
            found[places[own]] = True
        return found
