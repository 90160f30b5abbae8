"""A scope without a copy: its world's own database, whose statements read nothing but the scope's graphs.

Each statement is rewritten before it runs. Where it reads the table of quads, it reads the quads of the scope's graphs,
`(SELECT * FROM quads WHERE graph IN (…))`, which SQLite flattens into it, so that its plan stays. Where it reads
chunks, it reads those that a quad of the scope has as its object. BM25 counts the texts that are seen. What no such
mask shows, such as the history, raises `UnseenError`: it is read from the scope's slice.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import Any, TypeVar

import numpy as np
import pyoxigraph as ox

from worlds.core.core import Core
from worlds.core.quads.dictionary import DEFAULT_GRAPH_ID, Ids, batches, json_ids
from worlds.core.quads.namespaces import Namespaces
from worlds.core.quads.rows import NO_QUADS, distinct
from worlds.core.search.conditions import Filter
from worlds.core.search.engine import SearchEngine
from worlds.core.search.filters import Eligible, Filters, among
from worlds.core.sparql.patterns import SubjectPatterns
from worlds.core.texts.languages import ENGLISH, VERSION, guess, primary
from worlds.graph.query.query_limits import Limits
from worlds.graph.search.vocabulary import NAMESPACE
from worlds.graph.terms import GraphName
from worlds.sql import OWN_GRAPHS, Statement, schema, statements, writes
from worlds.sql.bound_values import as_text
from worlds.sql.connection import Connection, Row

T = TypeVar("T")
_SQL = statements("scopes.sql")
_QUERIES = statements("queries.sql")
_FILTERS = statements("filters.sql")
_HITS = statements("hits.sql")
_POSTINGS = statements("postings.sql")
_SOURCES = statements("sources.sql")
_SHOWN = {
    *("quads", "removed_quads", "chunks", "terms", "meta", "chunks_fts", "retired_vectors", "embedded_texts"),
    *("profiles", "conclusions"),  # of which a scope that is seen clearly has none
}
"""Tables that a statement may read; of those that are not in the schema, all."""
_AS_IT_IS = {
    *(_QUERIES["state"].sql, _FILTERS["texts"].sql, _POSTINGS["matching"].sql),
    *(_HITS["matching_chunks"].sql, _HITS["highlights"].sql),
}
"""Statements that show nothing: counters of a state, and what is looked up among quads and chunks that are seen."""
_JOINED = {
    _SQL["texts_of_graphs"].sql,
    *(_FILTERS[f"chunks_{how}"].sql for how in ("by_subjects", "by_predicates", "by_graphs", "with_quads")),
}
"""Statements that join chunks with quads that are seen, of which there may be many."""
_TIMES = statements("validity.sql")["times"].sql
_INSTEAD = {_QUERIES["last_revision"].sql: _SQL["last_revision_of_quads"].sql}
"""Statements that take the place of others."""
_OF_ALL = {
    *("created", "policy", "default_graph", "history_from", "purges", "stems", "embedder"),
    *("embedding_changes", "vector_removals", "term_removals", "readings"),
}
"""Names of the table meta that hold of a scope, too."""
_LISTED = 20  # graphs that a statement names one by one
_SAMPLE = 200  # texts that tell a language
_MANY = 20_000  # texts from which on all are read anew
_NO_TEXTS: Ids = np.empty((3, 0), dtype=np.int64)
_tables = frozenset(re.findall(r"^CREATE (?:VIRTUAL )?(?:TABLE|VIEW) (\w+)", schema(), re.MULTILINE))
_comments = re.compile(r"--[^\n]*").sub
_read = re.compile(r"\b(?:FROM|JOIN)\s+(\w+)").findall
_reference = r"\b(FROM|JOIN)\s+{}\b(?:\s+AS\s+(\w+))?(\s+INDEXED\s+BY\s+\w+)?"
_quads = re.compile(_reference.format("((?:removed_)?quads)")).sub
_chunks = re.compile(_reference.format("(chunks)")).sub
_conclusions = re.compile(_reference.format("(conclusions)")).sub
_all_texts = re.compile(r"\bFROM\s+chunks_fts\b(?! CROSS JOIN chunks ON chunks.id = chunks_fts.rowid\b)").search
_looks_up = re.compile(r"\bjson_each\(|\bhash = ").search
_prefixes_of = re.compile(r"([\w.-]*):").findall


class UnseenError(Exception):
    """A scope cannot be read so: its slice is."""


@lru_cache(maxsize=2048)
def seen(sql: str, graphs: str) -> str:
    """A statement that reads some graphs alone, which are given as SQL has them behind IN; or UnseenError."""
    if sql in _AS_IT_IS:
        return sql
    joined = sql in _JOINED
    sql = _comments("", _INSTEAD.get(sql, sql))
    read = _tables.intersection(_read(sql))
    masked = read & {"quads", "removed_quads", "chunks"}
    enumerates = "terms" in read and not masked and not _looks_up(sql)
    unmasked = "bm25(" in sql or _all_texts(sql) or ("removed_quads" in read and "rowid" in sql)
    if writes(sql) or unmasked or not read <= _SHOWN or enumerates:
        raise UnseenError(sql)
    within = f"WHERE graph IN {graphs}"

    def only(where: str) -> Callable[[re.Match[str]], str]:
        return lambda found: f"{found[1]} (SELECT * FROM {found[2]}{found[4] or ''} {where}) AS {found[3] or found[2]}"

    sql = _conclusions(only("WHERE 0"), _quads(only(within), sql))
    held = f"WHERE EXISTS (SELECT 1 FROM quads INDEXED BY quads_o {within} AND object = term)"
    return sql if joined else _chunks(only(held), sql)


def sources_of(connection: Connection, graphs: Collection[GraphName]) -> Iterator[Row]:
    """The names and kinds, but not the places, of the sources of some graphs."""
    for name, kind, _, graph, options, _ in connection.rows(_SOURCES["sources"]):
        if ox.NamedNode(graph) in graphs:
            yield name, kind, "", graph, json.dumps({"base": json.loads(options)["base"]}), "{}"


class SeenConnection(Connection):
    """The connection of a world, by which some of its graphs are read."""

    def __init__(self, world: Core, graphs: Sequence[GraphName]) -> None:
        self.base = world.connection
        self._dictionary = world.dictionary
        self._graphs = graphs
        self._memory: dict[Hashable, Any] = {}
        self._remembered_in: object = None  # which state of the world

    def __getattr__(self, name: str) -> Any:
        return getattr(self.base, name)

    @property
    def graphs(self) -> list[int]:
        """The ids of the scope's graphs that the world has."""
        named = [name for name in self._graphs if not isinstance(name, ox.DefaultGraph)]
        found = [number for number in self._dictionary.find(named) if number is not None]
        return [DEFAULT_GRAPH_ID, *found] if len(named) < len(self._graphs) else found

    def rows(self, statement: str | Statement, parameters: Sequence[object] = ()) -> list[Row]:
        """Run one statement, and give its rows as the scope sees them; UnseenError where no mask shows them."""
        sql = statement if isinstance(statement, str) else statement.sql
        if sql == _SOURCES["sources"].sql:
            return list(sources_of(self.base, self._graphs))
        if sql == _SOURCES["places"].sql:
            return []
        if sql != _TIMES or self.base.meta("history_from"):  # of revisions, that the scope has all
            sql = seen(sql, self.remembered("graphs", self._listed))
        return self.base.rows(sql, parameters)

    def _listed(self) -> str:
        """The graphs as SQL has them behind IN: a list, or for many a temporary table, which is not built each time."""
        graphs = self.graphs
        if len(graphs) <= _LISTED:
            return f"({', '.join(map(str, graphs))})"
        name = f"temp.scope_{hashlib.blake2b(repr(graphs).encode(), digest_size=8).hexdigest()}"
        self.base.attach(f"CREATE TEMP TABLE IF NOT EXISTS {name.removeprefix('temp.')} (graph INTEGER PRIMARY KEY)")
        self.base.attach(f"INSERT OR IGNORE INTO {name} SELECT value FROM json_each('{json_ids(graphs)}')")
        return name

    def meta(self, name: str) -> Any:
        """The value of a name in the table meta; None where it is of the whole world, such as its rules."""
        if name == "languages" and self.base.meta(name):
            return self.remembered(name, self._languages)
        return self.base.meta(name) if name in _OF_ALL else None

    def _languages(self) -> str:
        untagged = primary(json.loads(self.base.meta("policy") or "{}").get("language")) or ENGLISH
        tags = {primary(tag) or untagged for (tag,) in self.rows(_FILTERS["languages"])}
        return json.dumps(sorted(tags.intersection(json.loads(self.base.meta("languages")))))

    def remembered(self, name: Hashable, read: Callable[[], T]) -> T:
        """The value of `read`, called once while the world stays as it is."""
        with self.base.lock:
            state = self.base.state()
            if state is not self._remembered_in:
                self._memory.clear()
                self._remembered_in = state
            while name not in self._memory:
                found = read()
                if self.base.state() is state:
                    self._memory[name] = found
                else:
                    return self.remembered(name, read)
            remembered: T = self._memory[name]
            return remembered

    def state(self) -> object:
        """The world's state."""
        return self.base.state()

    @property
    def version(self) -> object:
        """The world's version."""
        return self.base.version

    @property
    def in_transaction(self) -> bool:
        """Whether a write transaction of the world is open."""
        return self.base.in_transaction

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        """One state of the world."""
        with self.base.snapshot():
            yield

    @contextlib.contextmanager
    def watched(self, watch: Callable[[str, Sequence[object]], object]) -> Iterator[None]:
        """Tell a function of each statement as it runs."""
        with self.base.watched(watch):
            yield

    def attach(self, statement: str | Statement) -> None:
        """Make a temporary table of the world's connection, unless it is there."""
        self.base.attach(statement)


class SeenTexts:
    """The chunks that a scope sees, ascending, kept in step with the world: what changed since is looked up again."""

    def __init__(self, connection: SeenConnection) -> None:
        self._connection = connection
        self._mark: object = None  # of what makes the world another one
        self._revision: Row | None = None
        self._last = 0, 0  # the last quad, and the last removed
        self._embedded: object = None
        self.columns: Ids = _NO_TEXTS  # int64 [3, n]: chunks, vectors or 0, literals

    def bring(self) -> None:
        """Read what changed since, or all."""
        base = self._connection.base
        names = ("created", "history_from", "purges", "policy", "recuts", "vector_removals")
        mark = (*map(base.meta, names), base.rollbacks, base.in_transaction, tuple(self._connection.graphs))
        known = self._revision is not None and self._revision == base.row(_SQL["revision"], self._revision[:1])
        changed = base.column(_SQL["objects_since"], self._last) if known and mark == self._mark else None
        if changed is None or len(changed) > _MANY or base.in_transaction:
            self.columns = _ordered(self._all())
        else:
            self.columns = _ordered(self._changed(changed, base.meta("embedding_changes")))
        self._mark, self._embedded = mark, base.meta("embedding_changes")
        self._last = base.value(_SQL["last_quad"]), base.value(_SQL["last_removed"])
        self._revision = base.row(_SQL["revision"], (base.value(_QUERIES["last_revision"]),))

    def _all(self) -> Ids:
        named = json_ids(number for number in self._connection.graphs if number != DEFAULT_GRAPH_ID)
        chunks = self._connection.base.value(_FILTERS["last_chunk"])
        few = self._connection.base.value(_SQL["counted_up_to"], (named, chunks)) < chunks
        if few and DEFAULT_GRAPH_ID not in self._connection.graphs:
            return self._connection.stack(_SQL["texts_of_graphs"], (named,))
        return self._connection.stack(_SQL["all_texts"])

    def _changed(self, literals: Ids, embedded: object) -> Ids:
        """The columns with those of some literals read anew, and of texts without a vector if others got some."""
        pending = self.columns[2, self.columns[1] == 0] if embedded != self._embedded else NO_QUADS[:, 0]
        literals = distinct(np.concatenate([literals, pending]))
        found = [self.columns[:, ~among(self.columns[2], literals)]]
        found += [self._connection.stack(_SQL["texts_of_literals"], (ids,)) for ids in batches(literals)]
        return np.concatenate(found, axis=1)


def _ordered(columns: Ids) -> Ids:
    """The columns by ascending chunks, each once."""
    order = np.argsort(columns[0], kind="stable")
    columns = columns[:, order]
    return columns[:, np.diff(columns[0], prepend=-1) != 0]


class SeenFilters(Filters):
    """The filters of a scope: no search finds other texts than those of its graphs."""

    masked = True

    def __init__(self, core: SeenCore) -> None:
        patterns = core.connection, core.dictionary, core.chunks, lambda *given: core.subject_patterns.subjects(*given)
        super().__init__(*patterns)
        self._seen = SeenTexts(core.connection)

    def eligible(self, filter_: Filter, state: object, limits: Limits | None) -> Eligible | None:
        """The chunks that a filter lets through, or all that are seen."""
        return super().eligible(filter_, state, limits) or self._connection.remembered("all that are seen", self._every)

    def _every(self) -> Eligible:
        with self._connection.snapshot():
            self._seen.bring()
        chunks, vectors, _ = self._seen.columns
        return replace(self.citable(), chunks=chunks, vectors=distinct(vectors[vectors > 0]))

    def shown(self) -> Ids:
        """The chunks that are seen, ascending."""
        return self._connection.remembered("all that are seen", self._every).chunks


class UsedPrefixes(Namespaces):
    """The prefixes of a scope, as far as they are sure: it has those that one of its terms begins with."""

    def __init__(self, world: Core, connection: SeenConnection, names: Sequence[GraphName]) -> None:
        super().__init__(connection)
        self._world = world
        self._names = [name.value for name in names if isinstance(name, ox.NamedNode)]
        self._used: set[str] = set()  # IRIs of prefixes
        self._unused: dict[str, int] = {}  # those that no term of the world begins with, up to an id
        self._since: object = None  # of what was purged, forgotten or rolled back when they were found

    @property
    def declared(self) -> dict[str, str]:
        """Those that the scope uses; UnseenError where one of them is not sure."""
        return self._connection.remembered("prefixes", lambda: self._among(self._world.namespaces.declared))

    def among(self, text: str) -> dict[str, str]:
        """The stored prefixes that a text names; UnseenError where the scope may not have one of them."""
        declared = self._world.namespaces.declared
        named = {prefix: declared[prefix] for prefix in _prefixes_of(text) if prefix in declared}
        if named.get("w", NAMESPACE) != NAMESPACE:
            del named["w"]
        if self._among(named) != named:
            raise UnseenError("prefixes")
        return named

    def _among(self, prefixes: Mapping[str, str]) -> dict[str, str]:
        names = ("history_from", "purges", "term_removals")
        since = (*map(self._connection.meta, names), self._connection.rollbacks)
        if since != self._since:
            self._since, self._used, self._unused = since, set(), {}
        with self._connection.snapshot():
            return {prefix: iri for prefix, iri in prefixes.items() if iri in self._used or self._uses(iri)}

    def _uses(self, iri: str) -> bool:
        """Whether a term of the scope begins with the IRI of a prefix; UnseenError where that is not sure."""
        if any(name.startswith(iri) for name in self._names):
            return True
        base = self._world.connection
        if base.value(_SQL["any_begins"], _SQL["any_begins"].bind(iri=iri, after=self._unused.get(iri, 0))) is None:
            self._unused[iri] = base.value(_QUERIES["last_term"])
            return False
        if not self._connection.value(_SQL["iri_begins"], (iri,)):
            raise UnseenError("prefixes")
        self._used.add(iri)
        return True

    def term(self, value: object) -> Any:
        """See `Namespaces.term`."""
        if isinstance(value, str):
            self.among(value)
        return self._world.namespaces.term(value)


class SeenCore(Core):
    """The core of a scope that reads its world's own database. It has what a search needs."""

    connection: SeenConnection
    namespaces: UsedPrefixes

    def __init__(
        self, world: Core, graphs: Sequence[GraphName], patterns: Callable[[SeenCore], SubjectPatterns]
    ) -> None:
        """`patterns` makes what evaluates patterns over ?subject in the scope."""
        self._world = world
        self._patterns = patterns
        self.names = tuple(graphs)
        self.connection = SeenConnection(world, graphs)
        self.namespaces = UsedPrefixes(world, self.connection, graphs)
        self.dictionary, self.chunks, self.codes = world.dictionary, world.chunks, world.codes
        self.embeddings, self.embedder, self.running = world.embeddings, world.embedder, world.running
        self.search_defaults = world.search_defaults

    def __getattr__(self, name: str) -> Any:
        raise UnseenError(name)

    def register(self, extension: object) -> None:
        """Nothing: what is written in a scope goes through its slice."""

    @staticmethod
    def possible(graphs: Sequence[GraphName]) -> bool:
        """Whether a scope may be read so."""
        return not any(getattr(graph, "value", None) in OWN_GRAPHS for graph in graphs)

    @cached_property
    def subject_patterns(self) -> SubjectPatterns:  # type: ignore[override]  # an attribute of a world's core
        """The evaluation of patterns over ?subject."""
        return self._patterns(self)

    @cached_property
    def engine(self) -> SearchEngine:
        """Searches by requests."""
        return SearchEngine(self.connection, self.dictionary, SeenFilters(self), self.codes)

    @property
    def alike(self) -> bool:
        """Whether the chunks that are seen are those that a world of these graphs alone would have.

        Profiles, statements and some sizes draw on several quads, and what is text may hang on a predicate. The
        language of texts without a tag is told by the first of them.
        """
        return self.connection.remembered("alike", self._alike)

    def _alike(self) -> bool:
        policy = self.chunks.policy
        if policy.profiles or policy.statements or policy.sizes or policy.include or policy.exclude:
            return False
        if policy.language is not None or policy.tokenizer != "porter":
            return True
        with self.connection.snapshot():
            shown = self.engine.filters.shown()
            first = "[]" if shown is None else json_ids(shown[:_SAMPLE])
            untagged = [as_text(text) for (text,) in self.connection.rows(_SQL["untagged_texts"], (first,))]
        return guess(untagged) in (None, ENGLISH)

    @property
    def clear(self) -> bool:
        """Whether searches see all that the slice has, which embeds what the world has not."""
        return self.connection.remembered("clear", self._clear)

    def _clear(self) -> bool:
        world = self._world
        base = world.connection
        with base.snapshot():
            return (
                base.meta("stems") in (VERSION, None)
                and (world.embeddings.stored is None or not world.embeddings.pending())
                and self.alike
            )
