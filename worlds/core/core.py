"""The core of a world: quads, texts, vectors, search, SPARQL, history and views of one file, without any extra.

`open` gives a `Core`, whose attributes are its parts: `core.loader.load` and `core.loader.add` write,
`core.patterns.matching` reads, `core.searches.search` and `core.queries.answer` ask. `worlds.World` puts its verbs, and
what the extras do, on top.
"""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Any, Literal

from worlds.core.embedders import Embedder, resolve_embedder
from worlds.core.extension import Extension
from worlds.core.file.opening import open_file
from worlds.core.history.gate import Gate
from worlds.core.history.history import History
from worlds.core.history.leading import Leading
from worlds.core.history.loading import Loader
from worlds.core.history.pending_changes import ProposalStore
from worlds.core.history.provenance import Provenances
from worlds.core.history.retention import Forgetting
from worlds.core.history.writer import Writer
from worlds.core.quads.delta import Followers
from worlds.core.quads.dictionary import Dictionary
from worlds.core.quads.namespaces import Namespaces
from worlds.core.quads.patterns import Patterns
from worlds.core.quads.redirects import Redirects
from worlds.core.quads.used_names import Vocabulary
from worlds.core.search.engine import SearchEngine, Searches
from worlds.core.search.filters import Filters
from worlds.core.search.notes import SearchNotes
from worlds.core.search.options import kept
from worlds.core.search.origins import GraphSources
from worlds.core.search.request import Requests
from worlds.core.sparql.index import Place, SparqlIndex
from worlds.core.sparql.notes import Notes
from worlds.core.sparql.patterns import SubjectPatterns
from worlds.core.sparql.queries import Queries
from worlds.core.texts.chunks import ChunkStore
from worlds.core.texts.entity_facts import Annotations, Facts
from worlds.core.vectors.codes import Codes
from worlds.core.vectors.embedding import Embeddings
from worlds.core.vectors.world_embedder import WorldEmbedder
from worlds.errors import ConflictError
from worlds.graph.query.running import Running
from worlds.sql.connection import Connection


def now() -> datetime.datetime:
    """The time by the clock, with its zone."""
    return datetime.datetime.now(datetime.UTC)


def open(
    path: str = ":memory:",
    *,
    embedder: str | Embedder | None = None,
    read_only: bool = False,
    create: bool = True,
    driver: Literal["auto", "libsql", "sqlite"] = "auto",
    timeout: float = 10.0,
) -> Core:
    """Open the core of the world at `path`, or create it; options and errors are the ones of `worlds.open`."""
    connection = open_file(
        path, read_only=read_only, create=create, durability="normal", timeout=timeout, encryption_key=None,
        driver=driver,
    )  # fmt: skip
    try:
        return Core(connection, resolve_embedder(embedder))
    except BaseException:
        connection.close()
        raise


class Core:
    """The parts of one world's core, each made once: opening, writing and searching first, the others on first use."""

    def __init__(
        self,
        connection: Connection,
        embedder: Embedder | None,
        *,
        demanded: bool = False,
        vector_index: bool | Literal["auto"] = "auto",
        sparql_index: Place | Callable[[Connection, Dictionary], SparqlIndex] = "auto",
        search: Mapping[str, Any] | None = None,
        now: Callable[[], datetime.datetime] = now,
    ) -> None:
        """`demanded` refuses an embedder that does not fit the vectors; `now` returns the time of a revision."""
        self.connection = connection
        self.search_defaults = kept(search or {})
        self.dictionary = Dictionary(connection)
        self.namespaces = Namespaces(connection)
        self.chunks = ChunkStore(connection, self.dictionary)
        self.history = History(connection, self.dictionary, self.chunks)
        self.extensions: list[Extension] = []
        self.forgetting = Forgetting(connection, self.history, self.extensions)
        self.embeddings = Embeddings(connection, self.chunks)
        self.embedder = WorldEmbedder(connection, self.embeddings, embedder)
        make = partial(SparqlIndex, place=sparql_index) if isinstance(sparql_index, str) else sparql_index
        self.sparql = make(connection, self.dictionary)
        self.followers = Followers(self.chunks, self.embeddings.retired, self.sparql)
        self.leading = Leading(connection, self.dictionary, self.chunks)
        self.gate = Gate(connection, self.dictionary, self.followers, now, self.extensions, self.leading)
        waiting = ProposalStore(connection, self.dictionary, self.history)
        self.writer = Writer(
            connection, self.gate, self.extensions, self.history.rehearsed, self.forgetting, self.embedder.embed_new,
            waiting,
        )  # fmt: skip
        self.codes = Codes(connection)
        connection.replaced.append(self.forget)
        self.running = Running()
        self.subject_patterns = SubjectPatterns(self.sparql, self.running, self.namespaces)
        if demanded and embedder is not None:
            self.embeddings.require(embedder)
        if vector_index != "auto":
            self.embeddings.index.want(bool(vector_index))
        elif not connection.read_only:
            with contextlib.suppress(ConflictError):  # somebody is writing, or compacting, and will build it
                self.embeddings.index.mend()

    def register(self, extension: Extension) -> None:
        """Register an extension, which takes part in writes and views from then on."""
        self.extensions.append(extension)
        self.followers.register(extension)

    def forget(self) -> None:
        """Forget the parts' memory of a file that another has replaced."""
        self.dictionary.forget()
        self.codes.forget()
        self.sparql.drop()

    def close(self) -> None:
        """Close the file. All writes are kept; a second call does nothing."""
        with self.connection.lock:
            self.sparql.close()
        self.connection.close()

    @cached_property
    def patterns(self) -> Patterns:
        """Quads by pattern."""
        return Patterns(self.connection, self.dictionary)

    @cached_property
    def redirects(self) -> Redirects:
        """Entities that were merged."""
        return Redirects(self.connection, self.dictionary)

    @cached_property
    def annotations(self) -> Annotations:
        """Reifiers of quads."""
        return Annotations(self.connection, self.dictionary)

    @cached_property
    def facts(self) -> Facts:
        """Facts of entities."""
        return Facts(self.connection, self.dictionary)

    @cached_property
    def provenances(self) -> Provenances:
        """Author and time of quads."""
        return Provenances(self.connection, self.dictionary, self.patterns, self.history)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """Names of the world that are like a given one."""
        return Vocabulary(self.connection, self.dictionary)

    @cached_property
    def loader(self) -> Loader:
        """Files and quads into the world."""
        return Loader(self.connection, self.dictionary, self.namespaces, self.writer, self.chunks, self.history)

    @cached_property
    def engine(self) -> SearchEngine:
        """Searches by requests."""
        filters = Filters(self.connection, self.dictionary, self.chunks, self.subject_patterns.subjects)
        return SearchEngine(self.connection, self.dictionary, filters, self.codes)

    @cached_property
    def requests(self) -> Requests:
        """Requests from the options of a search."""
        return Requests(
            self.embeddings,
            self.namespaces.term,
            self.embedder.required,
            lambda: (("open", self.search_defaults), ("policy", self.chunks.policy.search)),
            GraphSources(self.connection).graphs,
        )

    @cached_property
    def searches(self) -> Searches:
        """Searches by questions and options."""
        noting = SearchNotes(
            self.connection,
            self.dictionary,
            self.vocabulary,
            self.namespaces,
            lambda pattern, prefixes: self.notes.of_pattern(pattern, prefixes),
        )
        return Searches(self.engine, self.requests, noting)

    @cached_property
    def notes(self) -> Notes:
        """Notes on queries."""
        return Notes(self.connection, self.dictionary, self.sparql, self.vocabulary)

    @cached_property
    def queries(self) -> Queries:
        """SPARQL queries."""
        return self.asking(Queries, self, self.sparql, self.notes)

    def asking(self, kind: type[Queries], known: Core, index: Any, notes: Notes) -> Queries:
        """Queries, of a kind, over an index that has the terms of the core `known`, with this core's searches."""
        return kind(
            known.connection, known.dictionary, index, self.engine, self.embeddings, self.running, notes,
            self.requests.own, self.embedder.required,
        )  # fmt: skip
