"""Search filters: from what a caller asks for to the set of chunks that may be found."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property, partial
from typing import Any, TypeVar

import numpy as np
import pyoxigraph as ox
from numpy.typing import NDArray

from worlds.core.quads.dictionary import (
    DEFAULT_GRAPH,
    DEFAULT_GRAPH_ID,
    PROFILE,
    PROFILE_ID,
    Dictionary,
    Ids,
    batches,
    json_ids,
)
from worlds.core.quads.redirects import Redirects
from worlds.core.quads.rows import distinct as sorted_distinct
from worlds.core.search.annotated import Reifiers
from worlds.core.search.conditions import Conditions, Filter
from worlds.core.texts.chunks import ChunkStore
from worlds.core.texts.policy import TextPolicy
from worlds.core.texts.profiles import term_of
from worlds.graph.query.query_limits import Limits
from worlds.sql import statements
from worlds.sql.bound_values import reading
from worlds.sql.connection import Connection

_SQL = statements("filters.sql")
_ENTITIES = statements("entities.sql")
MANY_SUBJECTS = 50_000  # from here on, in worlds of up to a million chunks, reading every chunk's quads is cheaper
A_SUBJECT = 20  # chunks whose quads are read in the time of looking a subject up
FEW_SUBJECTS = 1000  # up to here looking them up is cheaper than finding them among all chunks' quads in memory
A_TEXT = 3  # texts whose subjects are read in the time of looking a subject's quads up
A_CHUNK = 10  # chunks that are read in the time of looking up those of a subject
_DENSE = 64  # ids for each value up to which a table of them all is faster than a search for each
_REMEMBERED = 32  # eligible sets
_RDF_TYPE = ox.NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
_SUBCLASS_OF = ox.NamedNode("http://www.w3.org/2000/01/rdf-schema#subClassOf")
_NO_IDS: Ids = np.empty(0, dtype=np.int64)


K = TypeVar("K")
V = TypeVar("V")
WhereSubjects = Callable[[str, "Sequence[Any] | None", "Limits | None"], "list[Any]"]


@dataclass(frozen=True)
class _Resolved:
    """Conditions as sorted ids; None is no condition."""

    subjects: Ids | None = None
    predicates: Ids | None = None
    graphs: Ids | None = None
    languages: tuple[str, ...] | None = None

    def met(self, subjects: Ids, predicates: Ids, graphs: Ids) -> Any:
        """Which of the quads, given by columns, meet all conditions but the language's."""
        met = np.ones(len(subjects), dtype=bool)
        for allowed, column in ((self.subjects, subjects), (self.predicates, predicates), (self.graphs, graphs)):
            if allowed is not None:
                met &= among(column, allowed)
        return met

    @property
    def on_quads(self) -> bool:
        return self.subjects is not None or self.predicates is not None or self.graphs is not None


@dataclass(frozen=True, eq=False)
class Eligible:
    """The chunks that a search may find. Ids are ascending and distinct."""

    chunks: Ids
    vectors: Ids  # of those chunks that have one
    _pending: Callable[[], int] = field(repr=False)  # counts the distinct texts of those that have none
    _include: _Resolved = field(repr=False)
    _excluded: tuple[_Resolved, ...] = field(repr=False)

    @property
    def passages(self) -> int:
        """Distinct texts of the chunks; those that have one vector, as in other cases, count once."""
        return len(self.vectors) + self._pending()

    @cached_property
    def mask(self) -> bytes:
        """One byte for each chunk id from 0 on: 1 where the chunk is eligible."""
        mask = np.zeros(int(self.chunks[-1]) + 1 if len(self.chunks) else 1, dtype=np.uint8)
        mask[self.chunks] = 1
        return mask.tobytes()

    def has(self, chunk: int) -> bool:
        """Whether a chunk is eligible."""
        return chunk < len(self.mask) and self.mask[chunk] == 1

    def admits(self, subjects: Ids, predicates: Ids, graphs: Ids) -> Any:
        """Which of these quads, given by columns, may be cited for a hit; boolean [n]."""
        met = self._include.met(subjects, predicates, graphs)
        for excluded in self._excluded:
            if excluded.on_quads:
                met &= ~excluded.met(subjects, predicates, graphs)
        return met


@dataclass(frozen=True)
class _Texts:
    """The chunks of all literals."""

    table: NDArray[np.int32]  # chunk, vector or 0; those of a literal side by side
    starts: NDArray[np.int32]  # [literal]: those of a literal begin here, and end where the next one's begin

    def of(self, literals: Ids) -> NDArray[np.int32]:
        """Columns (chunk, vector or 0) of terms, of which some are such literals."""
        literals = literals[literals < len(self.starts) - 1]
        first, counts = self.starts[literals], self.starts[literals + 1] - self.starts[literals]
        return self.table[:, np.repeat(first - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())]


class Filters:
    """Resolves filters, and keeps the eligible sets of recent ones while the world stays as it is."""

    def __init__(
        self, connection: Connection, dictionary: Dictionary, chunks: ChunkStore, where_subjects: WhereSubjects
    ) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self._chunks = chunks
        self._redirects = Redirects(connection, dictionary)
        self._where_subjects = where_subjects
        self._recent: OrderedDict[Filter, Eligible] = OrderedDict()
        self._matching: OrderedDict[tuple[str, tuple[Any, ...] | None], Ids] = OrderedDict()
        self._reifiers = Reifiers(connection, dictionary)
        self._state: object = None
        self._searches = 0

    def eligible(self, filter_: Filter, state: object, limits: Limits | None) -> Eligible | None:
        """The chunks that `filter_` lets through, as of `state`, whatever tells one state of the world from another.

        None where it lets all through. `limits` are those of its pattern; None for those of any search.
        """
        self._searches += 1
        if self._searches == 2:  # a process that searches once does not wait for it
            self._texts(read=True)
        if not filter_.any:
            return None
        self._notice(state)
        return _kept(self._recent, filter_, lambda: self.resolve(filter_, limits))

    masked = False
    """Whether there are texts that no search may find."""

    def shown(self) -> Ids | None:
        """The chunks that any search may find, ascending; None for all."""
        return None

    def matching(self, pattern: str, graphs: tuple[Any, ...] | None, state: object, limits: Limits | None) -> Ids:
        """The subjects that match a pattern over ?subject in these graphs, None for all, as of `state`."""
        self._notice(state)
        return self._matched(pattern, graphs, limits)

    def _matched(self, pattern: str, graphs: tuple[Any, ...] | None, limits: Limits | None) -> Ids:
        return _kept(
            self._matching, (pattern, graphs), lambda: self.known(self._where_subjects(pattern, graphs, limits))
        )

    def ahead(
        self, patterns: Iterable[str], filter_: Filter, state: Callable[[], object], limits: Limits | None
    ) -> None:
        """Evaluate patterns before a search locks the world, so that others go on meanwhile.

        What a write overtakes is found again by the search itself.
        """
        graphs = filter_.include.graphs
        for pattern in dict.fromkeys(patterns):
            before = state()
            with self._connection.lock:
                self._notice(before)
                if (pattern, graphs) in self._matching:
                    continue
            subjects = self._where_subjects(pattern, graphs, limits)
            with self._connection.lock:
                if state() == before:
                    self._notice(before)
                    _kept(self._matching, (pattern, graphs), partial(self.known, subjects))

    def _notice(self, state: object) -> None:
        if state != self._state:
            self._recent.clear()
            self._matching.clear()
            self._reifiers.forget()
            self._state = state

    def citable(self) -> Eligible:
        """The quads that a hit may cite without a filter: all quads except literals of predicates that are not text."""
        return Eligible(_NO_IDS, _NO_IDS, int, _Resolved(), self._not_text())

    @property
    def policy(self) -> TextPolicy:
        """The world's policy."""
        return self._chunks.policy

    def cited(self, terms: Iterable[int], start: int) -> list[tuple[int, int, int, int]]:
        """The quads that the passage at character `start` of a profile, or equal statements, were made from."""
        cited = [self._chunks.profiles.cited(self._chunks.policy, term_of(term), start) for term in terms]
        return list(dict.fromkeys(quad for quads in cited for quad in quads))

    # -- conditions to ids ----------------------------------------------------------------------------------------

    def resolve(self, filter_: Filter, limits: Limits | None, *, among: Ids | None = None) -> Eligible:
        """The chunks that `filter_` lets through; only texts of the subjects `among`, ascending ids, where given."""
        include = self._ids(filter_.include, filter_.subclasses, filter_.include.graphs, limits)
        if among is not None:
            include = replace(include, subjects=_intersection(include.subjects, among))
        excluded = []
        for item in fields(Conditions):  # each condition excludes on its own
            value = getattr(filter_.exclude, item.name)
            if value is not None:
                alone = Conditions(**{item.name: value})
                excluded.append(self._ids(alone, filter_.subclasses, filter_.include.graphs, limits))
        return self._chunks_of(include, (*excluded, *self._not_text()))

    def within(self, filter_: Filter, graphs: Ids) -> Any:
        """Mask of the quads, given by their graphs, [n], that are in graphs that `filter_` admits."""
        met = np.ones(len(graphs), dtype=bool)
        if filter_.include.graphs is not None:
            met &= among(graphs, self.known(filter_.include.graphs))
        if filter_.exclude.graphs is not None:
            met &= ~among(graphs, self.known(filter_.exclude.graphs))
        return met

    def _not_text(self) -> tuple[_Resolved, ...]:
        if not (exclude := self._chunks.policy.exclude):
            return ()
        predicates = self.known([ox.NamedNode(iri) for iri in sorted(exclude)])
        return (_Resolved(predicates=predicates),) if len(predicates) else ()

    def _ids(
        self, conditions: Conditions, subclasses: bool, graphs: tuple[Any, ...] | None, limits: Limits | None
    ) -> _Resolved:
        subjects = None if conditions.subjects is None else self._redirects.widened(self.known(conditions.subjects))
        if conditions.types is not None:
            subjects = _intersection(subjects, self._typed(conditions.types, subclasses, graphs))
        if conditions.where is not None:
            subjects = _intersection(subjects, self._matched(conditions.where, graphs, limits))
        return _Resolved(
            subjects if subjects is None else self._reifiers.beside(subjects),
            None if conditions.predicates is None else self.known(conditions.predicates),
            None if conditions.graphs is None else self.known(conditions.graphs),
            conditions.languages,
        )

    def known(self, terms: Iterable[Any]) -> Ids:
        """The ids of the terms that the world has, ascending and distinct."""
        ordered = list(terms)
        named = [term for term in ordered if term != DEFAULT_GRAPH]
        ids = [number for number in self._dictionary.find(named) if number is not None]
        if len(named) < len(ordered):
            ids.append(DEFAULT_GRAPH_ID)
        if PROFILE in named:
            ids.append(PROFILE_ID)
        return sorted_distinct(np.array(ids, dtype=np.int64))

    def _typed(self, types: tuple[Any, ...], subclasses: bool, graphs: tuple[Any, ...] | None) -> Ids:
        rdf_type, subclass_of = self._dictionary.find([_RDF_TYPE, _SUBCLASS_OF])
        graphs_json = None if graphs is None else json_ids(self.known(graphs))
        classes = self._redirects.widened(self.known(types))
        if rdf_type is None:
            return _NO_IDS
        if subclasses and subclass_of is not None:
            statement = _SQL["subclasses"]
            rows = self._connection.rows(
                statement,
                statement.bind(classes_json=json_ids(classes), subclass_of=subclass_of, graphs_json=graphs_json),
            )
            classes = np.array([number for (number,) in rows], dtype=np.int64)
        statement = _SQL["instances"]
        values = statement.bind(classes_json=json_ids(classes), rdf_type=rdf_type, graphs_json=graphs_json)
        return distinct(self._connection.column(statement, values))

    # -- ids to chunks --------------------------------------------------------------------------------------------

    def _chunks_of(self, include: _Resolved, excluded: tuple[_Resolved, ...]) -> Eligible:
        on_quads = include.on_quads or any(item.on_quads for item in excluded)
        by_subjects = include.predicates is include.graphs is None and not any(item.on_quads for item in excluded)
        tables = self._tables(include, quads=on_quads, by_subjects=by_subjects)
        chunks, vectors = [_NO_IDS], [_NO_IDS]
        whole = Eligible(_NO_IDS, _NO_IDS, int, include, excluded)
        for table in tables:
            if len(table) == 5:
                table = table[:, whole.admits(table[2], table[3], table[4])]
            chunks.append(table[0])
            vectors.append(table[1])
        if on_quads:
            for found in self._composed(whole):
                chunks.append(found[0])
                vectors.append(found[1])
        chunk, vector = np.concatenate(chunks), np.concatenate(vectors)
        if not (chunk[1:] >= chunk[:-1]).all():
            order = np.argsort(chunk, kind="stable")
            chunk, vector = chunk[order], vector[order]
        first = np.diff(chunk, prepend=-1) != 0
        chunk, vector = chunk[first], vector[first]
        keep = self._in_languages(chunk, include.languages, excluded)
        chunk, vector = chunk[keep], vector[keep]
        embedded, pending = distinct(vector[vector > 0]), chunk[vector == 0]
        return Eligible(chunk, embedded, cache(partial(self._distinct_texts, pending)), include, excluded)

    def _distinct_texts(self, chunks: Ids) -> int:
        return int(self._connection.value(_SQL["distinct_texts"], (json_ids(chunks),))) if len(chunks) else 0

    def _tables(self, include: _Resolved, *, quads: bool, by_subjects: bool) -> Iterable[Any]:
        """Columns (chunk, vector or 0, subject, predicate, graph) of quads that may qualify, or only the first two.

        The first two are enough `by_subjects` alone, and of no quads.
        """
        many = include.subjects is not None and self._many(len(include.subjects))
        wide = include.subjects is not None and len(include.subjects) * A_CHUNK >= self._last_chunk()
        texts = self._texts(read=many or wide) if by_subjects else None
        if not quads:
            yield self._table("all_chunks")
        elif include.subjects is not None and texts is not None:
            yield texts.of(self._objects(include.subjects))
        elif include.subjects is not None and not many:
            for ids in batches(include.subjects):
                yield self._table("chunks_by_subjects", ids)
        elif include.predicates is not None:
            for ids in batches(include.predicates):
                yield self._table("chunks_by_predicates", ids)
        elif include.graphs is not None and DEFAULT_GRAPH_ID not in include.graphs:
            for ids in batches(include.graphs):
                yield self._table("chunks_by_graphs", ids)
        else:
            yield self._connection.remembered("chunks with quads", self._whole)

    def _objects(self, subjects: Ids) -> Ids:
        """The objects of the quads of subjects, or only those that are texts."""
        held: list[NDArray[np.int32]] = self._connection.remembered("subjects of texts", list)
        if not held and len(subjects) * A_TEXT >= (texts := self._last_chunk()):
            few = self._connection.value(_SQL["last_quad"]) < 2 * texts  # quads, so that reading all costs less
            held.append(self._table("subjects_and_objects" if few else "subjects_of_texts").astype(np.int32))
        if held:
            of, objects = held[0]
            found: Ids = objects[among(of, subjects)]
            return found
        parts = [self._connection.column(_SQL["objects_of_subjects"], (ids,)) for ids in batches(subjects)]
        return np.concatenate([_NO_IDS, *parts])

    def _texts(self, *, read: bool) -> _Texts | None:
        """The chunks of all literals, if they are in memory or to be read; they stay while the world is as it is."""
        held: list[_Texts] = self._connection.remembered("texts in memory", list)
        if read and not held:
            chunks, terms, vectors = self._connection.columns(_SQL["texts"])
            literal = terms > 0
            order = np.argsort(terms[literal], kind="stable")
            table = np.stack([chunks[literal][order], vectors[literal][order]], dtype=np.int32)
            held.append(_Texts(table, np.cumsum(np.bincount(terms[literal] + 1), dtype=np.int32)))
        return held[0] if held else None

    def _many(self, subjects: int) -> bool:
        """Whether filters have asked for many subjects, so that reading all is cheaper than looking them up.

        It is kept while the world stays as it is, so that another wide filter reads its subjects only.
        """
        asked = self._connection.remembered("subjects asked", lambda: [0])
        if subjects > FEW_SUBJECTS:
            asked[0] += subjects
        return subjects > FEW_SUBJECTS and asked[0] >= max(MANY_SUBJECTS, self._last_chunk() // A_SUBJECT)

    def _last_chunk(self) -> int:
        last: int = self._connection.remembered("last chunk", lambda: self._connection.value(_SQL["last_chunk"]))
        return last

    def _whole(self) -> Any:
        table = self._table("chunks_with_quads").astype(np.int32)
        return table[:, np.argsort(table[0], kind="stable")]

    def _composed(self, whole: Eligible) -> Iterator[Any]:
        """Columns (chunk, vector or 0) of the profiles and statements that qualify: all graphs that a text is made from
        have to.

        A filter by predicates knows profiles under a predicate of their own, and under those whose objects are entities
        and which they have facts of, and a statement under that of its quad; a filter by languages finds none.
        """
        include, excluded = whole._include, whole._excluded
        graphs_json = None
        if include.graphs is not None or any(item.graphs is not None for item in excluded):
            with reading("the graphs of a profile"):
                rows = self._connection.rows(_ENTITIES["graphs_of_profiles"])
                sets = {text: set(json.loads(text)) for (text,) in rows}
            allowed = None if include.graphs is None else set(include.graphs.tolist())
            refused = {graph for item in excluded if item.graphs is not None for graph in item.graphs.tolist()}
            graphs_json = json.dumps(
                [text for text, held in sets.items() if not held & refused and (allowed is None or held <= allowed)]
            )
        linked = None
        if include.predicates is not None and PROFILE_ID not in include.predicates:
            linked = self._linked(include.predicates)
        if linked is None or len(linked):
            chunk, vector, subject = self._connection.columns(_ENTITIES["chunks_of_profiles"], (graphs_json,))
            predicate = np.full(len(chunk), PROFILE_ID, dtype=np.int64)
            keep = np.ones(len(chunk), dtype=bool) if include.subjects is None else among(subject, include.subjects)
            if linked is not None:
                keep &= among(subject, linked)
            for item in excluded:
                if item.graphs is None and item.on_quads:
                    keep &= ~item.met(subject, predicate, predicate)
            yield np.stack([chunk[keep], vector[keep]])
        if self._chunks.policy.statements:
            for table in self._statements(include.subjects, graphs_json):
                yield table[:2, whole.admits(*table[2:])]

    def _statements(self, subjects: Ids | None, graphs_json: str | None) -> Iterator[Any]:
        """Columns (chunk, vector or 0, subject, predicate, graph) of statements made from these sets of graphs."""
        if subjects is None or self._many(len(subjects)):
            yield self._connection.stack(_ENTITIES["chunks_of_statements"], (graphs_json,))
            return
        statement = _ENTITIES["chunks_of_statements_about"]
        for ids in batches(subjects):
            yield self._connection.stack(statement, statement.bind(ids_json=ids, graphs_json=graphs_json))

    def _linked(self, predicates: Ids) -> Ids:
        """The subjects whose profiles have facts under these predicates whose objects are entities, ascending."""
        policy = self._chunks.policy
        if not policy.profiles:
            return _NO_IDS
        texts = self.known([ox.NamedNode(iri) for iri in policy.predicates("label", "alias", "description")])
        predicates = np.setdiff1d(predicates, texts)
        if policy.profile_predicates is not None:
            told = self.known([ox.NamedNode(iri) for iri in sorted(policy.profile_predicates)])
            predicates = np.intersect1d(predicates, told)
        statement = _ENTITIES["subjects_of_links"]
        return np.sort(self._connection.column(statement, statement.bind(predicates_json=json_ids(predicates))))

    def _table(self, name: str, *parameters: object) -> Any:
        return self._connection.stack(_SQL[name], parameters)

    def _in_languages(self, chunks: Ids, wanted: tuple[str, ...] | None, excluded: tuple[_Resolved, ...]) -> Any:
        keep = np.ones(len(chunks), dtype=bool)
        conditions = [(wanted, True)] + [(item.languages, False) for item in excluded]
        for tags, sought in conditions:
            if tags is None:
                continue
            languages = [tag for (tag,) in self._connection.rows(_SQL["languages"])]
            matching = [tag for tag in languages if any(_matches(tag, range_) for range_ in tags)]
            ids = np.concatenate(
                [_NO_IDS, *[self._connection.column(_SQL["chunks_in_language"], (tag,)) for tag in matching]]
            )
            keep &= np.isin(chunks, ids) == sought
        return keep


def _kept(cache: OrderedDict[K, V], key: K, find: Callable[[], V]) -> V:
    """Return the cached value of a key, or call `find` and keep its value."""
    found = cache.get(key)
    if found is None:
        found = cache[key] = find()
        while len(cache) > _REMEMBERED:
            cache.popitem(last=False)
    cache.move_to_end(key)
    return found


def _matches(tag: str | None, range_: str) -> bool:
    """Basic filtering of RFC 4647: `en` matches en and en-gb; the empty range, literals without a language."""
    if tag is None or not range_:
        return tag is None and not range_
    return tag == range_ or tag.startswith(range_ + "-")


def among(values: Ids, ascending: Ids) -> Any:
    """Which of `values` are in `ascending`, distinct ids; without the sort that np.isin makes of both each time."""
    if not len(ascending):
        return np.zeros(len(values), dtype=bool)
    if ascending[0] >= 0 and ascending[-1] < _DENSE * len(values):
        held = np.zeros(int(ascending[-1]) + 2, dtype=bool)  # whose last says no to all ids beyond
        held[ascending] = True
        found: NDArray[np.bool_] = held[np.minimum(values, len(held) - 1)] & (values >= 0)
        return found
    positions = np.searchsorted(ascending, values)
    positions[positions == len(ascending)] = 0
    return ascending[positions] == values


def distinct(ids: Ids) -> Ids:
    """The distinct ones of ids above 0, ascending; for many that are dense, without a sort."""
    if not len(ids) or ids.max() >= _DENSE * len(ids):
        return sorted_distinct(ids)
    held = np.zeros(int(ids.max()) + 1, dtype=bool)
    held[ids] = True
    return np.flatnonzero(held)


def _intersection(ids: Ids | None, others: Ids) -> Ids:
    return others if ids is None else ids[among(ids, others)]
