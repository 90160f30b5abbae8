"""The fused results as NumPy columns: the candidates that the stages rank, and the quads that they may cite."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from worlds.core.quads.dictionary import DEFAULT_GRAPH_ID, PROFILE_ID, Ids, json_ids
from worlds.core.quads.rows import distinct
from worlds.core.search.filters import Eligible
from worlds.core.search.stages import Cursor, Floats, Indexes, Key
from worlds.core.texts.entity_facts import QuadRow
from worlds.core.texts.profiles import term_of
from worlds.sql import STATEMENT, statements
from worlds.sql.connection import Connection, Row

_SQL = statements("hits.sql")


class Related(NamedTuple):
    """The place of a text in a walk over the quads."""

    score: float
    rank: int | None  # among the texts that it reached, from 1; None for others
    weight: float  # of the text's entity, from 0 to 1
    path: tuple[QuadRow, ...]  # from one of the first hits' entities to its own; none where it is one of these


class Fused(NamedTuple):
    """A row of the search's statement: a chunk, with its values in both lists.

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
    term: int  # the literal; below 0, see `term_of`, a profile or a statement
    start: int
    end: int
    text: str | bytes | None  # None where more are found than are shown
    vector: int | None
    weight: float  # of the predicates that the text stands under
    coverage: float  # what words count beside vectors, where the best text does not hold all of them
    pending: float  # what makes up for a vector that is not there yet
    label_score: float | None  # of a label that is exactly what was asked
    alike: str  # ids of the chunks that were found and are the same passage, this one among them
    ranks: str  # the greatest that each of them has in a list
    related: Related | None = None  # where a walk was asked for


def fused(rows: Iterable[Row]) -> list[Fused]:
    """The rows by the names of their columns."""
    return list(itertools.starmap(Fused, rows))


@dataclass(frozen=True)
class Cited:
    """Quads as columns: the quads of `owners[i]`, at least one, are at `starts[i]` to `starts[i + 1]`."""

    owners: Ids  # ascending: literals, or chunks
    starts: Indexes
    subjects: Ids
    predicates: Ids
    objects: Ids  # a profile is its own object
    graphs: Ids

    def of(self, owner: int) -> list[tuple[int, int, int, int]]:
        """The quads (subject, predicate, object, graph) of one literal or chunk."""
        at = int(np.searchsorted(self.owners, owner))
        part = slice(self.starts[at], self.starts[at + 1])
        columns = (self.subjects[part], self.predicates[part], self.objects[part], self.graphs[part])
        return list(zip(*(column.tolist() for column in columns), strict=True))

    def of_each(self, owners: Sequence[int]) -> list[list[tuple[int, int, int, int]]]:
        """The quads of several owners, in their order: `of` for many at once."""
        columns = (self.subjects, self.predicates, self.objects, self.graphs)
        quads = list(zip(*(column.tolist() for column in columns), strict=True))
        at = np.searchsorted(self.owners, np.array(owners, dtype=np.int64))
        parts = zip(self.starts[at].tolist(), self.starts[at + 1].tolist(), strict=True)
        return [quads[start:end] for start, end in parts]


def read_cited(connection: Connection, literals: Ids, eligible: Eligible) -> Cited:
    """The quads of literals, ascending ids, that may be cited, oldest first.

    A profile stands as if its entity had it.
    """
    statements, profiles = literals[literals < -STATEMENT], literals[(literals < 0) & (literals >= -STATEMENT)]
    tables = [connection.stack(_SQL["quads_of_literals"], (json_ids(literals[literals >= 0]),))]
    if len(statements):
        tables.append(connection.stack(_SQL["quads_of_statements"], (json_ids(statements),)))
    table = np.concatenate(tables, axis=1)
    table = np.concatenate([_of_profiles(profiles), table[:, eligible.admits(*table[2:])]], axis=1)
    literals, _, *quads = table[:, np.lexsort(table[1::-1])]
    return _by_owner(literals, literals, *quads)


def read_passages(connection: Connection, rows: Sequence[Fused], eligible: Eligible | None, citable: Eligible) -> Cited:
    """The quads that rows may cite, by their chunks: first those of a row's own literal, then those of the others that
    have the same passage of text and are `eligible`; of each, oldest first. Without a filter, `citable` says which.
    """
    alike = [
        (row.chunk, chunk)
        for row in rows
        if "," in row.alike
        for chunk in map(int, row.alike.split(","))
        if chunk != row.chunk
    ]
    values = {"ids_json": json_ids(row.chunk for row in rows), "alike_json": json.dumps(alike)}
    table = connection.stack(_SQL["quads_of_passages"], _SQL["quads_of_passages"].bind(**values))
    if any(row.term < -STATEMENT for row in rows):
        statement = _SQL["statements_of_passages"]
        table = np.concatenate([table, connection.stack(statement, statement.bind(**values))], axis=1)
    table = table[:, (eligible or citable).admits(*table[4:])]
    if profiles := [(row.chunk, row.term) for row in rows if -STATEMENT <= row.term < 0]:
        own, terms = np.array(profiles, dtype=np.int64).T
        table = np.concatenate([table, np.concatenate([[own, own], _of_profiles(terms)])], axis=1)
    foreign = table[0] != table[1]
    if not foreign.any():
        table = table[:, np.lexsort((table[3], table[0]))]
    else:
        if eligible is not None:
            may = [not other or eligible.has(chunk) for other, chunk in zip(foreign, table[1].tolist(), strict=True)]
            table, foreign = table[:, may], foreign[may]
        table = table[:, np.lexsort((table[3], table[1], foreign, table[0]))]
        first = np.unique(table[[0, 3]], axis=1, return_index=True)[1]  # one literal may be that of several chunks
        table = table[:, np.sort(first)]
    chunks, _, literals, _, *quads = table
    return _by_owner(chunks, literals, *quads)


def _of_profiles(profiles: Ids) -> Ids:
    """Rows that stand for the quads of profiles, int64 [5, n]: themselves, ids, subjects, predicates, graphs."""
    rows = [profiles, np.zeros_like(profiles), term_of(profiles)]
    return np.stack([*rows, np.full_like(profiles, PROFILE_ID), np.full_like(profiles, DEFAULT_GRAPH_ID)])


def _by_owner(owners: Ids, literals: Ids, subjects: Ids, predicates: Ids, graphs: Ids) -> Cited:
    """The quads of owners in ascending order."""
    distinct, starts = np.unique(owners, return_index=True)
    return Cited(distinct, np.append(starts, len(owners)), subjects, predicates, literals, graphs)


def spread(first: Ids, last: Ids) -> tuple[Indexes, Indexes]:
    """The ranges from `first` to before `last`, one after another, and which of them each number is from."""
    counts = last - first
    owner = np.repeat(np.arange(len(counts)), counts)
    return owner, np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(first, counts)


@dataclass(frozen=True)
class Candidates:
    """The fused results: chunks, or pairs of a chunk and a subject where hits are grouped. Quads are by candidate."""

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
        return distinct(self.subjects)

    def __len__(self) -> int:
        return len(self.row)

    def key(self, candidate: int) -> Key:
        """The subject and the chunk by which a cursor remembers a candidate."""
        return int(self.subject[candidate]), self.rows[self.row[candidate]].chunk


def candidates(rows: Sequence[Fused], cited: Cited, *, by_subject: bool) -> Candidates:
    """The candidates that rows of the statement are; each row's chunk has a quad in `cited`."""
    chunk = np.searchsorted(cited.owners, np.array([row.chunk for row in rows], dtype=np.int64))
    owner, quad = spread(cited.starts[chunk], cited.starts[chunk + 1])
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


def ended(rows: Iterable[Fused], depth: int) -> bool:
    """Whether no list of this depth was cut."""
    return all(int(rank) < depth for row in rows for rank in row.ranks.split(","))


def enough(found: Candidates, most: int | None, given: Cursor | None, limit: int) -> bool:
    """Whether there are `limit` hits that were not given before, at most `most` of a subject."""
    if most is None:
        keys = frozenset() if given is None else frozenset(given.keys)
        return sum(found.key(candidate) not in keys for candidate in range(len(found))) >= limit
    subjects, counts = np.unique(found.subject, return_counts=True)
    if given is None:
        return int(np.minimum(counts, most).sum()) >= limit
    fresh: dict[int, int] = dict(zip(subjects.tolist(), counts.tolist(), strict=True))
    for candidate in range(len(found)):
        if found.key(candidate) in given.keys:
            fresh[int(found.subject[candidate])] -= 1
    return sum(min(count, max(most - given.of(subject), 0)) for subject, count in fresh.items()) >= limit
