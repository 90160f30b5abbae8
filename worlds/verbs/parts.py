"""What a world is made of: each part made once, and given to those that need it."""

from __future__ import annotations

import contextlib
from typing import Literal

from worlds.curation.changing.merging import Merging
from worlds.curation.changing.proposals import Proposals
from worlds.curation.changing.shapes import Shapes
from worlds.curation.claims.reading import ClaimReader
from worlds.curation.claims.verifying import Verifier
from worlds.curation.duplicates.finder import DuplicateFinder
from worlds.curation.findings.contradictions import Contradictions
from worlds.curation.findings.report import Reporter
from worlds.curation.linking.links import Linker
from worlds.curation.linking.suggesting import Suggesting
from worlds.embedders import Embedder
from worlds.entities.context import Contexts
from worlds.entities.describing import Describer
from worlds.entities.neighbours import Neighbours
from worlds.entities.resolving import Resolver
from worlds.entities.similar import SimilarEntities
from worlds.errors import ConflictError
from worlds.graph.query.limits import Running
from worlds.quads.delta import Followers
from worlds.quads.dictionary import Dictionary
from worlds.quads.namespaces import Namespaces
from worlds.quads.patterns import Patterns
from worlds.quads.redirects import Redirects
from worlds.quads.vocabulary import Vocabulary
from worlds.revisions.gate import Gate
from worlds.revisions.history import History
from worlds.revisions.loading import Loader
from worlds.revisions.provenance import Provenances
from worlds.revisions.retention import Forgetting
from worlds.revisions.writer import Writer
from worlds.rules.checking import ShapeChecker
from worlds.rules.guard import Guard
from worlds.search.engine import SearchEngine, Searches
from worlds.search.filters import Filters
from worlds.search.notes import SearchNotes
from worlds.search.request import Requests
from worlds.sparql.index import Place, SparqlIndex
from worlds.sparql.notes import Notes
from worlds.sparql.patterns import SubjectPatterns
from worlds.sparql.queries import Queries
from worlds.sql.connection import Connection
from worlds.texts.chunks import ChunkStore
from worlds.vectors.codes import Codes
from worlds.vectors.embedding import Embeddings
from worlds.vectors.world_embedder import WorldEmbedder


class Parts:
    """The parts of a world, which its verbs call."""

    def __init__(
        self,
        connection: Connection,
        embedder: Embedder | None,
        *,
        demanded: bool,
        vector_index: bool | Literal["auto"],
        sparql_index: Place,
    ) -> None:
        self._connection = connection
        self._dictionary = Dictionary(connection)
        self._namespaces = Namespaces(connection)
        self._patterns = Patterns(connection, self._dictionary)
        self._history = History(connection, self._dictionary)
        self._provenances = Provenances(connection, self._dictionary, self._patterns, self._history)
        self._forgetting = Forgetting(connection, self._history)
        self._chunks = ChunkStore(connection, self._dictionary)
        self._embeddings = Embeddings(connection, self._chunks)
        self._embedder = WorldEmbedder(connection, self._embeddings, embedder)
        self._sparql = SparqlIndex(connection, self._dictionary, sparql_index)
        followers = Followers(self._chunks, self._embeddings.retired, self._sparql)
        self._shape_checker = ShapeChecker(
            connection, self._dictionary, lambda: self._namespaces.prefixes, lambda query: self._queries.rows(query)
        )
        self._guard = Guard(
            connection,
            self._dictionary,
            self._shape_checker,
            before=self._sparql.before,
            rehearsed=self._history.rehearsed,
        )
        self._writer = Writer(
            connection,
            Gate(connection, self._dictionary, followers, self._guard.check),
            rehearsed=self._history.rehearsed,
            queue=lambda *queued: self._proposals.queue(*queued),
            retain=self._forgetting.retain,
            embed_new=self._embedder.embed_new,
        )
        self._loader = Loader(connection, self._dictionary, self._namespaces, self._writer)
        self._shapes = Shapes(
            connection, self._dictionary, self._namespaces, self._writer, self._loader, self._shape_checker
        )
        self._redirects = Redirects(connection, self._dictionary)
        self._merging = Merging(connection, self._dictionary, self._chunks, self._history, self._writer)
        self._proposals = Proposals(
            connection,
            self._dictionary,
            self._history,
            self._writer,
            self._merging,
            setting=lambda: self._guard.setting,
            check=self._guard.check,
        )
        self._codes = Codes(connection)
        self._running = Running()
        self._subject_patterns = SubjectPatterns(self._sparql, self._running, self._namespaces)
        filters = Filters(connection, self._dictionary, self._chunks, self._subject_patterns.subjects)
        engine = SearchEngine(connection, self._dictionary, filters, self._codes)
        requests = Requests(self._embeddings, self._namespaces.term, self._embedder.required)
        vocabulary = Vocabulary(connection, self._dictionary)
        self._notes = Notes(connection, self._dictionary, self._sparql, vocabulary)
        noting = SearchNotes(connection, self._dictionary, vocabulary, self._namespaces, self._notes.of_pattern)
        self._searches = Searches(engine, requests, noting)
        self._resolver = Resolver(connection, self._dictionary, self._chunks, self._searches)
        self._similar = SimilarEntities(connection, self._dictionary, self._searches)
        self._describer = Describer(connection, self._dictionary, self._chunks)
        self._contradictions = Contradictions(connection, self._dictionary, self._history, self._shape_checker)
        self._duplicates = DuplicateFinder(connection, self._dictionary, self._chunks, self._history)
        self._reporter = Reporter(connection, self._dictionary, self._chunks)
        self._neighbours = Neighbours(connection, self._dictionary, self._chunks)
        self._linker = Linker(connection, self._dictionary, self._chunks, self._neighbours, self._namespaces.term)
        self._suggesting = Suggesting(
            connection,
            self._dictionary,
            self._chunks,
            self._history,
            self._neighbours,
            self._linker,
            self._namespaces.term,
            self._namespaces.graph,
        )
        self._verifier = Verifier(
            connection,
            self._dictionary,
            self._history,
            self._searches,
            ClaimReader(connection, self._dictionary, self._chunks, self._resolver, self._namespaces.pattern),
        )
        self._contexts = Contexts(
            connection,
            self._dictionary,
            self._chunks,
            self._searches,
            self._neighbours,
            self._embeddings,
            self._embedder.required,
            self._namespaces.term,
        )
        self._queries = Queries(
            connection,
            self._dictionary,
            self._sparql,
            engine,
            self._embeddings,
            self._running,
            self._notes,
            request=requests.make,
            embedder=self._embedder.required,
        )
        if demanded and embedder is not None:
            self._embeddings.require(embedder)
        if vector_index != "auto":
            self._embeddings.index.want(bool(vector_index))
        elif not connection.read_only:
            with contextlib.suppress(ConflictError):  # somebody is writing, or compacting, and will build it
                self._embeddings.index.mend()
