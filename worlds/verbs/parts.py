"""What a world is made of: each part made once, and given to those that need it.

What opening, writing and searching use is made when the world is opened; the rest, with its modules, when a verb asks.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal

import pyoxigraph as ox

from worlds.embedders import Embedder
from worlds.errors import ConflictError, ReadOnlyError
from worlds.graph.query.running import Running
from worlds.quads.delta import Followers
from worlds.quads.dictionary import DEFAULT_GRAPH, Dictionary
from worlds.quads.namespaces import Namespaces
from worlds.quads.patterns import Patterns
from worlds.quads.redirects import Redirects
from worlds.quads.vocabulary import Vocabulary
from worlds.revisions.gate import Gate
from worlds.revisions.history import History
from worlds.revisions.leading import Leading
from worlds.revisions.loading import Loader
from worlds.revisions.provenance import Provenances
from worlds.revisions.retention import Forgetting
from worlds.revisions.waiting import Waiting
from worlds.revisions.writer import Writer
from worlds.rules.guard import Guard
from worlds.search.engine import SearchEngine, Searches
from worlds.search.filters import Filters
from worlds.search.notes import SearchNotes
from worlds.search.options import kept
from worlds.search.origins import Origins
from worlds.search.request import Requests
from worlds.sources.store import Ownership, SourceStore
from worlds.sparql.index import Place, SparqlIndex
from worlds.sparql.notes import Notes
from worlds.sparql.patterns import SubjectPatterns
from worlds.sparql.queries import Queries
from worlds.sql.connection import Connection
from worlds.texts.chunks import ChunkStore
from worlds.validity.spans import Validity
from worlds.validity.times import now
from worlds.vectors.codes import Codes
from worlds.vectors.embedding import Embeddings
from worlds.vectors.world_embedder import WorldEmbedder

if TYPE_CHECKING:
    from worlds.curation.changing.merging import Merging
    from worlds.curation.changing.proposals import Proposals
    from worlds.curation.changing.shapes import Shapes
    from worlds.curation.claims.joining import Joining
    from worlds.curation.claims.verifying import Verifier
    from worlds.curation.duplicates.finder import DuplicateFinder
    from worlds.curation.findings.contradictions import Contradictions
    from worlds.curation.findings.report import Reporter
    from worlds.curation.forms.compiling import Forms
    from worlds.curation.linking.links import Linker
    from worlds.curation.linking.suggesting import Suggesting
    from worlds.entities.context import Contexts
    from worlds.entities.describing import Describer
    from worlds.entities.minting import Minting
    from worlds.entities.neighbours import Neighbours
    from worlds.entities.resolving import Resolver
    from worlds.entities.schema import Schema
    from worlds.entities.similar import SimilarEntities
    from worlds.graph.query.query import Query
    from worlds.memory.files import Memories
    from worlds.memory.memory import Memory
    from worlds.rules.checking import ShapeChecker
    from worlds.sources.registry import Sources
    from worlds.sources.syncing import Syncing
    from worlds.sources.tables.editing import Editing
    from worlds.sources.tables.tabular import Tables
    from worlds.texts.annotations import Annotations
    from worlds.validity.stating import Stating
    from worlds.validity.timeline import Timelines


_PREDICATES = 10_000  # that a table's columns are compared with


class Parts:
    """The parts of a world, which its verbs call."""

    def __init__(
        self,
        connection: Connection,
        embedder: Embedder | None,
        *,
        demanded: bool,
        vector_index: bool | Literal["auto"],
        sparql_index: Place | Callable[[Connection, Dictionary], SparqlIndex],
        search: Mapping[str, Any] | None = None,
    ) -> None:
        self._connection = connection
        self._search_defaults = kept(search or {})
        self._dictionary = Dictionary(connection)
        self._namespaces = Namespaces(connection)
        self._chunks = ChunkStore(connection, self._dictionary)
        self._history = History(connection, self._dictionary, self._chunks)
        self._validity = Validity(connection, self._dictionary, self._chunks)
        self._forgetting = Forgetting(connection, self._history, self._validity)
        self._embeddings = Embeddings(connection, self._chunks)
        self._embedder = WorldEmbedder(connection, self._embeddings, embedder)
        make = partial(SparqlIndex, place=sparql_index) if isinstance(sparql_index, str) else sparql_index
        self._sparql = make(connection, self._dictionary)
        self._followers = Followers(self._chunks, self._embeddings.retired, self._sparql)
        self._guard = Guard(connection, self._dictionary, lambda: self._shape_checker, before=self._sparql.before)
        self._ownership = Ownership(connection)
        self._leading = Leading(connection, self._dictionary, self._chunks)
        followed = self._followers, now, self._ownership.require, self._leading
        self._gate = Gate(connection, self._dictionary, *followed)
        self._writer = Writer(
            connection,
            self._gate,
            check=self._guard.check,
            rehearsed=self._history.rehearsed,
            waiting=Waiting(connection, self._dictionary, self._history),
            forgetting=self._forgetting,
            embed_new=self._embedder.embed_new,
        )
        self._codes = Codes(connection)
        connection.replaced.append(self._forget)
        self._running = Running()
        self._subject_patterns = SubjectPatterns(self._sparql, self._running, self._namespaces)
        if demanded and embedder is not None:
            self._embeddings.require(embedder)
        if vector_index != "auto":
            self._embeddings.index.want(bool(vector_index))
        elif not connection.read_only:
            with contextlib.suppress(ConflictError):  # somebody is writing, or compacting, and will build it
                self._embeddings.index.mend()

    if TYPE_CHECKING:

        def only(self, *, graphs: object) -> Any:
            """`World.only`."""

    def _forget(self) -> None:
        """Forget the parts' memory of a file that another has replaced."""
        self._dictionary.forget()
        self._codes.forget()
        self._sparql.drop()

    @property
    def _whole(self) -> Parts:
        """The parts of the world that is written."""
        return self

    # -- quads ----------------------------------------------------------------------------------------------------

    @cached_property
    def _patterns(self) -> Patterns:
        return Patterns(self._connection, self._dictionary)

    @cached_property
    def _redirects(self) -> Redirects:
        return Redirects(self._connection, self._dictionary)

    @cached_property
    def _provenances(self) -> Provenances:
        return Provenances(self._connection, self._dictionary, self._patterns, self._history)

    @cached_property
    def _loader(self) -> Loader:
        return Loader(
            self._connection, self._dictionary, self._namespaces, self._writer, self._chunks, self._history,
        )  # fmt: skip

    # -- sources --------------------------------------------------------------------------------------------------

    @cached_property
    def _source_store(self) -> SourceStore:
        return SourceStore(self._connection)

    @cached_property
    def _sources(self) -> Sources:
        from worlds.sources.registry import Sources

        return Sources(
            self._connection,
            self._dictionary,
            self._namespaces,
            self._writer,
            self._source_store,
            self._ownership,
            self._chunks,
        )

    @cached_property
    def _syncing(self) -> Syncing:
        from worlds.sources.syncing import Syncing

        return Syncing(
            self._connection,
            self._dictionary,
            self._namespaces,
            self._writer,
            self._loader,
            self._history,
            self._source_store,
            self._ownership,
            lambda *given: self._tables.sources(*given),
        )

    @cached_property
    def _tables(self) -> Tables:
        from worlds.sources.tables.tabular import Tables

        def best(name: str, types: tuple[str, ...] | None) -> tuple[str, tuple[str, ...]] | None:
            one = self._resolver.resolve(name, context=None, types=types, graphs=None, exclude=None, limit=2).best
            return None if one is None else (str(one.iri), tuple(map(str, one.types)))

        def exists(iris: Sequence[str]) -> set[str]:
            terms = [ox.NamedNode(iri) for iri in iris if not set(iri) & set(' <>"{}|^`\\')]
            numbers = self._dictionary.find(terms)
            return {term.value for term, number in zip(terms, numbers, strict=True) if number is not None}

        return Tables(self._namespaces, self._patterns, self._whole_schema, best, exists)

    @cached_property
    def _editing(self) -> Editing:
        from worlds.sources.tables.editing import Editing

        known = self._connection, self._dictionary, self._namespaces, self._history, self._writer
        return Editing(*known, self._tables)

    _entire = True
    """Whether it is a world as it is now, and not a view of one."""
    _memory: Memory | None = None
    """The memory whose world it is."""

    @cached_property
    def _memories(self) -> Memories:
        from worlds.memory.files import Memories

        return Memories(self)

    def _memory_of(self, scope: object) -> Memory:
        """The memory of a scope, for whoever sees this world; see `World.memory`."""
        if self._memory is not None:
            return self._memory.within(scope, self)
        if not self._entire:
            raise ReadOnlyError("the memories of a world are for who sees it whole, as it is now", kind="scope")
        return self._memories.of(scope)

    def _beside(self, path: str, *, make: bool) -> Any:
        """Another world, of the file at `path`, opened as this one was."""
        raise NotImplementedError

    def _require(self, what: str) -> None:
        """Refuse, with a ReadOnlyError, a verb or a setting that this view does not allow."""
        raise NotImplementedError

    def _query(self, text: str, *, bindings: Mapping[str, object] | None, **how: Any) -> Query:
        """A query as this world asks it."""
        raise NotImplementedError

    @cached_property
    def _annotations(self) -> Annotations:
        from worlds.texts.annotations import Annotations

        return Annotations(self._connection, self._dictionary)

    @cached_property
    def _stating(self) -> Stating:
        from worlds.validity.stating import Stating

        return Stating(self._dictionary, self._patterns, self._annotations, self._validity)

    @cached_property
    def _timelines(self) -> Timelines:
        from worlds.texts.facts import Facts
        from worlds.validity.timeline import Timelines

        facts, chunks = Facts(self._connection, self._dictionary), self._chunks
        return Timelines(
            self._dictionary,
            self._patterns,
            self._annotations,
            self._validity,
            lambda ids: facts.labels(chunks.policy, ids),
        )

    def _whole_schema(self) -> Schema:
        """The overview of all graphs, of the commonest classes and predicates."""
        from worlds.entities.schema import overview

        known = self._connection, self._dictionary, self._chunks, self._namespaces.prefixes
        return overview(*known, limit=_PREDICATES, graphs=None)

    def _propose_links(self, told: Iterable[Any], graph: object, author: str | None) -> str:
        """Propose the links of the names in tables that mean no entity for sure; gives the proposals' numbers."""
        from worlds.sources.tables.unsure import unsure_links

        name = DEFAULT_GRAPH if graph is None else self._namespaces.graph(graph)
        trials = unsure_links(told, name, self._dictionary, self._patterns, self._resolver.resolve)
        return self._writer.propose(trials, author)

    # -- searches and queries -------------------------------------------------------------------------------------

    @cached_property
    def _engine(self) -> SearchEngine:
        filters = Filters(self._connection, self._dictionary, self._chunks, self._subject_patterns.subjects)
        return SearchEngine(self._connection, self._dictionary, filters, self._codes)

    @cached_property
    def _requests(self) -> Requests:
        return Requests(
            self._embeddings,
            self._namespaces.term,
            self._embedder.required,
            lambda: (("open", self._search_defaults), ("policy", self._chunks.policy.search)),
            Origins(self._connection).graphs,
        )

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        return Vocabulary(self._connection, self._dictionary)

    @cached_property
    def _searches(self) -> Searches:
        noting = SearchNotes(
            self._connection,
            self._dictionary,
            self._vocabulary,
            self._namespaces,
            lambda pattern, prefixes: self._notes.of_pattern(pattern, prefixes),
        )
        return Searches(self._engine, self._requests, noting)

    @cached_property
    def _notes(self) -> Notes:
        return Notes(self._connection, self._dictionary, self._sparql, self._vocabulary)

    @cached_property
    def _queries(self) -> Queries:
        return Queries(
            self._connection,
            self._dictionary,
            self._sparql,
            self._engine,
            self._embeddings,
            self._running,
            self._notes,
            request=self._requests.own,
            embedder=self._embedder.required,
        )

    # -- entities -------------------------------------------------------------------------------------------------

    @cached_property
    def _resolver(self) -> Resolver:
        from worlds.entities.resolving import Resolver

        return Resolver(self._connection, self._dictionary, self._chunks, self._searches)

    @cached_property
    def _minting(self) -> Minting:
        from worlds.entities.minting import Minting

        def resolve(label: str, types: object) -> Any:
            return self._resolver.resolve(label, context=None, types=types, graphs=None, exclude=None, limit=5)

        return Minting(self._dictionary, resolve)

    @cached_property
    def _similar(self) -> SimilarEntities:
        from worlds.entities.similar import SimilarEntities

        return SimilarEntities(self._connection, self._dictionary, self._searches)

    @cached_property
    def _describer(self) -> Describer:
        from worlds.entities.describing import Describer

        return Describer(self._connection, self._dictionary, self._chunks)

    @cached_property
    def _neighbours(self) -> Neighbours:
        from worlds.entities.neighbours import Neighbours

        return Neighbours(self._connection, self._dictionary, self._chunks)

    @cached_property
    def _contexts(self) -> Contexts:
        from worlds.entities.context import Contexts

        return Contexts(
            self._connection, self._dictionary, self._chunks, self._searches, self._neighbours, self._embeddings,
            self._embedder.required, self._namespaces.term, self._subject_patterns.subjects,
        )  # fmt: skip

    # -- curation -------------------------------------------------------------------------------------------------

    @cached_property
    def _shape_checker(self) -> ShapeChecker:
        from worlds.rules.checking import ShapeChecker

        return ShapeChecker(
            self._connection,
            self._dictionary,
            self._namespaces,
            lambda query: self._queries.rows(query),
            self._vocabulary,
        )

    @cached_property
    def _shapes(self) -> Shapes:
        from worlds.curation.changing.shapes import Shapes

        return Shapes(self._shape_checker, *self._of_own_graph)

    @cached_property
    def _of_own_graph(self) -> tuple[Any, ...]:
        """What writes and reads a graph of the world's own."""
        return self._connection, self._dictionary, self._namespaces, self._writer, self._loader

    @cached_property
    def _merging(self) -> Merging:
        from worlds.curation.changing.merging import Merging

        known = self._connection, self._dictionary, self._leading.names, self._history, self._writer
        return Merging(*known, self._joining.merged)

    @cached_property
    def _joining(self) -> Joining:
        from worlds.curation.claims.joining import Joining

        return Joining(self._connection, self._dictionary, self._history)

    @cached_property
    def _proposals(self) -> Proposals:
        from worlds.curation.changing.proposals import Proposals

        return Proposals(
            self._connection,
            self._dictionary,
            self._history,
            self._writer,
            self._merging,
            self._guard,
            against=self._joining.added,
        )

    @cached_property
    def _contradictions(self) -> Contradictions:
        from worlds.curation.findings.contradictions import Contradictions

        return Contradictions(self._connection, self._dictionary, self._history, self._shape_checker, self._validity)

    @cached_property
    def _duplicates(self) -> DuplicateFinder:
        from worlds.curation.duplicates.finder import DuplicateFinder

        return DuplicateFinder(self._connection, self._dictionary, self._chunks, self._history)

    @cached_property
    def _reporter(self) -> Reporter:
        from worlds.curation.findings.report import Reporter

        found = self._contradictions.by_shapes, self._duplicates.likely
        return Reporter(self._connection, self._dictionary, self._chunks, self._history, *found)

    @cached_property
    def _forms(self) -> Forms:
        from worlds.curation.forms.compiling import Forms

        known = self._connection, self._dictionary, self._chunks, self._describer, self._shape_checker
        return Forms(*known, self._history)

    @cached_property
    def _linker(self) -> Linker:
        from worlds.curation.linking.links import Linker

        return Linker(self._connection, self._dictionary, self._chunks, self._neighbours, self._namespaces.term)

    @cached_property
    def _suggesting(self) -> Suggesting:
        from worlds.curation.linking.suggesting import Suggesting

        return Suggesting(
            self._connection, self._dictionary, self._chunks, self._history, self._neighbours, self._linker,
            self._namespaces.term, self._namespaces.graph,
        )  # fmt: skip

    @cached_property
    def _verifier(self) -> Verifier:
        from worlds.curation.claims.reading import ClaimReader
        from worlds.curation.claims.verifying import Verifier

        claims = ClaimReader(self._connection, self._dictionary, self._chunks, self._resolver, self._namespaces.pattern)
        return Verifier(self._connection, self._dictionary, self._history, self._searches, claims)
