"""What fusion found, as NumPy columns: the candidates that the stages rank, and the quads that they may cite."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from worlds.quads.dictionary import DEFAULT_GRAPH_ID, PROFILE_ID, Ids, json_ids
from worlds.search.filters import Eligible
from worlds.search.stages import Cursor, Floats, Indexes, Key
from worlds.sql import statements
from worlds.sql.connection import Connection, Row
from worlds.texts.profiles import term_of

_SQL = statements("hits.sql")


class Fused(NamedTuple):
    """A row of the search's statement: a chunk, and what the lists make of it.

    Ranks count from 1; a leg that did not find the chunk has None, or a value without a rank where it was worked out.
    """

    chunk: int
    score: float
    vector_rank: int | None
    similarity: float | None  # cosine, higher is better
    vector_score: float | None
    text_rank: int | None
    bm25: float | None  # lower is better
    text_score: float | None
    term: int  # the literal; -1 - subject for a profile
    start: int
    end: int
    text: str | bytes | None  # None where stages follow, most of whose candidates are not shown
    vector: int | None
    weight: float  # of the predicates that the text stands under
    coverage: float  # what words count beside vectors, where the best text does not hold all of them
    pending: float  # what makes up for a vector that is not there yet
    label_score: float | None  # of a label that is exactly what was asked


def fused(rows: Iterable[Row]) -> list[Fused]:
    """The rows by the names of their columns."""
    return list(map(Fused._make, rows))


@dataclass(frozen=True)
class Cited:
    """Quads of literals as columns: those of `literals[i]`, at least one, are at `starts[i]` to `starts[i + 1]`."""

    literals: Ids  # ascending
    starts: Indexes
    subjects: Ids
    predicates: Ids
    graphs: Ids

    def of(self, literal: int) -> list[tuple[int, int, int]]:
        """The quads (subject, predicate, graph) of one literal, oldest first."""
        at = int(np.searchsorted(self.literals, literal))
        part = slice(self.starts[at], self.starts[at + 1])
        columns = (self.subjects[part], self.predicates[part], self.graphs[part])
        return list(zip(*(column.tolist() for column in columns), strict=True))


def read_cited(connection: Connection, literals: Ids, eligible: Eligible) -> Cited:
    """The quads of literals, ascending ids, that may be cited, oldest first.

    A profile stands as if its entity had it.
    """
    profiles, literals = literals[literals < 0], literals[literals >= 0]
    table = np.stack(connection.columns(_SQL["quads_of_literals"], (json_ids(literals),)))
    table = np.delete(table[:, np.lexsort(table[1::-1])], 1, axis=0)  # literals, subjects, predicates, graphs
    table = table[:, eligible.admits(*table[1:])]
    subjects = term_of(profiles)
    about = [profiles, subjects, np.full_like(subjects, PROFILE_ID), np.full_like(subjects, DEFAULT_GRAPH_ID)]
    table = np.concatenate([np.stack(about), table], axis=1)
    owners, starts = np.unique(table[0], return_index=True)
    return Cited(owners, np.append(starts, table.shape[1]), *table[1:])


def spread(first: Ids, last: Ids) -> tuple[Indexes, Indexes]:
    """The ranges from `first` to before `last`, one after another, and which of them each number is from."""
    counts = last - first
    owner = np.repeat(np.arange(len(counts)), counts)
    return owner, np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(first, counts)


@dataclass(frozen=True)
class Candidates:
    """What fusion found: chunks, or pairs of a chunk and a subject where hits are grouped. Quads are by candidate."""

    rows: Sequence[Fused]  # of the statement, best first
    row: Indexes  # each candidate's
    subject: Ids  # 0 where hits are not grouped
    scores: Floats
    owner: Indexes  # each quad's candidate, ascending
    subjects: Ids
    predicates: Ids

    @cached_property
    def distinct(self) -> Ids:
        """The subjects of all quads, ascending."""
        return np.unique(self.subjects)

    def __len__(self) -> int:
        return len(self.row)

    def key(self, candidate: int) -> Key:
        """What a cursor remembers of a candidate."""
        return int(self.subject[candidate]), self.rows[self.row[candidate]].chunk


def candidates(rows: Sequence[Fused], cited: Cited, *, by_subject: bool) -> Candidates:
    """The candidates that rows of the statement are; each row's literal has a quad in `cited`."""
    literal = np.searchsorted(cited.literals, np.array([row.term for row in rows], dtype=np.int64))
    owner, quad = spread(cited.starts[literal], cited.starts[literal + 1])
    subjects, predicates = cited.subjects[quad], cited.predicates[quad]
    row = np.arange(len(rows))
    scores = np.array([row.score for row in rows], dtype=np.float64)
    if not by_subject:
        return Candidates(rows, row, np.zeros(len(rows), dtype=np.int64), scores, owner, subjects, predicates)
    _, first, pair = np.unique(owner << 31 | subjects, return_index=True, return_inverse=True)  # ids are below 2^31
    order = np.argsort(first, kind="stable")  # a row's subjects stand in the order of their quads
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    pair = place[pair]
    row = owner[first[order]]
    by_pair = np.argsort(pair, kind="stable")
    return Candidates(
        rows, row, subjects[first[order]], scores[row], pair[by_pair], subjects[by_pair], predicates[by_pair]
    )


def enough(found: Candidates, most: int, given: Cursor | None, limit: int) -> bool:
    """Whether there are `limit` hits that were not given before, at most `most` of a subject."""
    subjects, counts = np.unique(found.subject, return_counts=True)
    if given is None:
        return int(np.minimum(counts, most).sum()) >= limit
    fresh: dict[int, int] = dict(zip(subjects.tolist(), counts.tolist(), strict=True))
    for candidate in range(len(found)):
        if found.key(candidate) in given.keys:
            fresh[int(found.subject[candidate])] -= 1
    return sum(min(count, max(most - given.of(subject), 0)) for subject, count in fresh.items()) >= limit
