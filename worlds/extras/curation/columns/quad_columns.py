"""The quads of a world as columns of ids, read once for all that is found in them; lists of numbers in arrays."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import pyoxigraph as ox
from numpy.typing import NDArray

from worlds.core.quads.dataset import of_data
from worlds.core.quads.dictionary import DEFAULT_GRAPH_ID, Dictionary, Ids, batches
from worlds.core.quads.redirects import REDIRECTS
from worlds.core.quads.rows import distinct as distinct
from worlds.sql import statements
from worlds.sql.bound_values import as_text
from worlds.sql.connection import Connection

Mask: TypeAlias = NDArray[np.bool_]

_SQL = statements("findings.sql")
_BLOCK = 100_000  # rows read at a time
NO_IDS: Ids = np.empty(0, dtype=np.int64)


class QuadTable:
    """Quads as five columns of int64 [n]: the ids of their terms, and the revisions that added them.

    Rows are ordered by predicate, subject, object, graph. The world's own graphs and that
    of merges' redirects are left out.
    """

    def __init__(self, connection: Connection, dictionary: Dictionary, rows: Ids | None = None) -> None:
        """`rows`, int64 [n, 5], are the quads, including the quads of these graphs; None for the whole world."""
        self._connection = connection
        self._dictionary = dictionary
        found = self._whole() if rows is None else of_data(dictionary, rows[rows[:, 0] > 0])
        redirects = dictionary.find([REDIRECTS])[0]
        led = found[found[:, 3] == (-1 if redirects is None else redirects), 0]
        self.led: Ids = np.unique(led[led > 0])  # names that lead elsewhere
        found = found if redirects is None else found[found[:, 3] != redirects]
        found = found[np.lexsort((found[:, 3], found[:, 2], found[:, 0], found[:, 1]))]
        self.subjects, self.predicates, self.objects, self.graphs, self.revisions = (
            np.ascontiguousarray(column) for column in found.T
        )
        self.used, self._starts = np.unique(self.predicates, return_index=True)
        self._ids: dict[str, int] = {}

    def _whole(self) -> Ids:
        blocks, after = [np.empty((0, 5), dtype=np.int64)], 0
        while True:
            statement = _SQL["all_quads"]
            last, block = self._connection.page(statement, statement.bind(after=after, limit=_BLOCK), after=after)
            if last is None:
                return np.concatenate(blocks)
            blocks.append(block)
            after = last

    def __len__(self) -> int:
        return len(self.subjects)

    # -- quads ----------------------------------------------------------------------------------------------------

    def id(self, iri: str) -> int:
        """The id of an IRI, -1 where the world does not know it."""
        return self.ids([iri])[0]

    def ids(self, iris: Sequence[str]) -> list[int]:
        """The ids of IRIs, -1 for each that the world does not know."""
        missing = [iri for iri in iris if iri not in self._ids]
        found = self._dictionary.find([ox.NamedNode(iri) for iri in missing])
        self._ids |= {iri: -1 if number is None else number for iri, number in zip(missing, found, strict=True)}
        return [self._ids[iri] for iri in iris]

    def rows(self, predicate: int) -> slice:
        """The rows of a predicate."""
        place = int(np.searchsorted(self.used, predicate))
        if place == len(self.used) or self.used[place] != predicate:
            return slice(0, 0)
        end = len(self) if place + 1 == len(self.used) else int(self._starts[place + 1])
        return slice(int(self._starts[place]), end)

    def pairs(self, iri: str | int) -> tuple[Ids, Ids]:
        """Subjects and objects of the triples of a predicate, each triple once, by subject, then object."""
        of = self.rows(self.id(iri) if isinstance(iri, str) else iri)
        subjects, objects = self.subjects[of], self.objects[of]
        fresh = np.append(True, (np.diff(subjects) != 0) | (np.diff(objects) != 0))[: len(subjects)]
        return subjects[fresh], objects[fresh]

    def couples(self, iri: str) -> list[tuple[int, int]]:
        """The triples of a predicate as pairs of subject and object, each once."""
        return list(zip(*(column.tolist() for column in self.pairs(iri)), strict=True))

    def quads_of(self, subject: int, predicate: int, value: int) -> range:
        """The rows of a triple."""
        of = self.values_of(subject, predicate)
        objects = self.objects[of.start : of.stop]
        first, last = (of.start + int(np.searchsorted(objects, value, side=side)) for side in ("left", "right"))
        return range(first, last)

    def values_of(self, subject: int, predicate: int) -> range:
        """The rows of a subject and a predicate."""
        of = self.rows(predicate)
        first, last = (
            of.start + int(np.searchsorted(self.subjects[of], subject, side=side)) for side in ("left", "right")
        )
        return range(first, last)

    def within(self, graphs: Sequence[Any]) -> Mask:
        """Mask of the rows in one of the graphs."""
        named = [graph for graph in graphs if not isinstance(graph, ox.DefaultGraph)]
        wanted = [number for number in self._dictionary.find(named) if number is not None]
        wanted += [DEFAULT_GRAPH_ID] * (len(named) < len(graphs))
        found: Mask = np.isin(self.graphs, wanted)
        return found

    # -- terms ----------------------------------------------------------------------------------------------------

    @cached_property
    def _terms(self) -> tuple[Ids, Ids]:
        """Kind and datatype of every term, by its id."""
        size = (self._connection.setting("last_term", int) or 0) + 1
        parts = [np.empty((0, 3), dtype=np.int64)]
        after = 0
        while True:
            bound = _SQL["all_terms"].bind(after=after, limit=_BLOCK)
            last, block = self._connection.page(_SQL["all_terms"], bound, after=after)
            if last is None:
                break
            parts.append(block)
            after = last
            size = max(size, last + 1)
        table = np.concatenate(parts)
        kinds, datatypes = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
        kinds[table[:, 0]], datatypes[table[:, 0]] = table[:, 1], table[:, 2]
        return kinds, datatypes

    @cached_property
    def kinds(self) -> Ids:
        """The kind of each term, by its id: IRI, BLANK_NODE, LITERAL or TRIPLE of `worlds.core.quads.dictionary`."""
        return self._terms[0]

    @cached_property
    def datatypes(self) -> Ids:
        """The datatype of each term, by its id; -1 for xsd:string, -2 with a language, 0 for other terms."""
        return self._terms[1]

    @cached_property
    def languages(self) -> tuple[list[str], Ids]:
        """The languages that terms have, and of each term, by its id, the place of its language there; 0 for none."""
        names, places = [""], np.zeros(len(self.kinds), dtype=np.int64)
        for ids, language in self._connection.rows(_SQL["languages"]):
            places[np.fromstring(ids, dtype=np.int64, sep=",")] = len(names)
            names.append(language)
        return names, places

    def values(self, ids: Ids) -> dict[int, str]:
        """Id → IRI, label or lexical form."""
        found: dict[int, str] = {}
        for ids_json in batches(distinct(ids)):
            found.update(
                (number, as_text(value)) for number, value in self._connection.rows(_SQL["values_of"], (ids_json,))
            )
        return found

    def terms(self, ids: Iterable[int]) -> dict[int, object]:
        """Id → pyoxigraph term, the default graph for 0."""
        return self._dictionary.terms(ids)


def several(left: Ids, right: Ids) -> Ids:
    """The ids on the left that stand beside two distinct ids on the right, or more; ascending."""
    order = np.lexsort((right, left))
    left, right = left[order], right[order]
    fresh = np.append(True, (np.diff(left) != 0) | (np.diff(right) != 0))[: len(left)]
    numbers, often = np.unique(left[fresh], return_counts=True)
    found: Ids = numbers[often > 1]
    return found


def groups(keys: Ids, *columns: Ids) -> Iterable[tuple[int, tuple[Ids, ...]]]:
    """Each distinct key, with its values in the columns."""
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    starts = np.flatnonzero(np.append(True, np.diff(keys) != 0)[: len(keys)])
    for start, end in pairwise([*starts.tolist(), len(keys)]):
        yield int(keys[start]), tuple(column[order[start:end]] for column in columns)


class Lists:
    """For each row its numbers: `values[starts[row] : starts[row] + counts[row]]`."""

    def __init__(self, starts: Ids, counts: Ids, values: Ids) -> None:
        self.starts = starts
        self.counts = counts
        self.values = values

    @classmethod
    def by(cls, rows: Ids, values: Ids, size: int) -> Lists:
        """Lists of `size` rows, of numbers in the order in which they stand beside their row."""
        order = np.argsort(rows, kind="stable")
        counts = np.bincount(rows, minlength=size)
        return cls(np.cumsum(counts) - counts, counts, values[order])

    @classmethod
    def of(cls, lists: Iterable[Sequence[int]]) -> Lists:
        """Lists as they are given."""
        lists = list(lists)
        counts = np.array([len(one) for one in lists], dtype=np.int64)
        values = np.array([number for one in lists for number in one], dtype=np.int64)
        return cls(np.cumsum(counts) - counts, counts, values)

    def each(self, rows: Ids, most: int | None = None) -> tuple[Ids, Ids]:
        """The numbers of rows one after another, at most so many of each, and the place in `rows` that each is of."""
        counts = self.counts[rows] if most is None else np.minimum(self.counts[rows], most)
        owners, places = spread(self.starts[rows], counts)
        return owners, self.values[places]

    def pairs(self, most: int) -> tuple[Ids, Ids, Ids]:
        """Each two of the numbers of a row, the earlier first, of rows that have at most so many: the row, and both."""
        rows = np.flatnonzero((self.counts > 1) & (self.counts <= most))
        owners, places = spread(self.starts[rows], self.counts[rows])
        own, others = spread(places + 1, (self.starts + self.counts)[rows][owners] - places - 1)
        return rows[owners[own]], self.values[places[own]], self.values[others]


def numbers(keys: Iterable[Hashable], numbered: dict[Hashable, int] | None = None) -> Ids:
    """Equal numbers for equal keys, from 0 on in their order; `numbered` has those given already."""
    numbered = {} if numbered is None else numbered
    return np.array([numbered.setdefault(key, len(numbered)) for key in keys], dtype=np.int64)


def spread(starts: Ids, counts: Ids) -> tuple[Ids, Ids]:
    """The run of each place, and the places, of runs that begin at `starts`."""
    owners = np.repeat(np.arange(len(counts)), counts)
    ends = np.cumsum(counts)
    return owners, np.arange(len(owners)) + np.repeat(starts - (ends - counts), counts)


def code(left: Ids, right: Ids) -> Ids:
    """Two numbers below 2³¹ as one."""
    found: Ids = left << 32 | right
    return found


def parts(codes: Ids) -> tuple[Ids, Ids]:
    """The numbers that codes are of."""
    return codes >> 32, codes & 0xFFFFFFFF


def place(codes: Ids, among: Ids) -> Ids:
    """The position of each code in ascending codes; -1 if it is missing."""
    if not len(among):
        return np.full(len(codes), -1, dtype=np.int64)
    found = np.minimum(np.searchsorted(among, codes), len(among) - 1)
    return np.where(among[found] == codes, found, -1)


def firsts(keys: Ids) -> Mask:
    """Which of some sorted keys are the first of their like."""
    return np.append(True, keys[1:] != keys[:-1])[: len(keys)]


def sums(rows: Ids, size: int, of: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """For each of `size` rows the sum of the numbers beside it; without numbers, the count of its occurrences."""
    found: NDArray[np.float64] = np.bincount(rows, of, minlength=size).astype(np.float64)
    return found
