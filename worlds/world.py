"""The World: one file of quads, texts and vectors, and the verbs on it."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import logging
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, NoReturn, TextIO, TypeAlias

import numpy as np
import pyoxigraph as ox

from worlds.documents.ledger import Ledger
from worlds.documents.reading import DOCUMENT, TEXT, document_quads, read_document
from worlds.embedders import Embedder, resolve_embedder
from worlds.entities.context import Context, Contexts
from worlds.entities.describing import Describer, Description
from worlds.entities.names import Resolution
from worlds.entities.neighbours import Neighbourhood, Neighbours, Path
from worlds.entities.resolving import Resolver
from worlds.entities.schema import Schema, overview
from worlds.entities.similar import SimilarEntities
from worlds.errors import ConflictError, WorldsError
from worlds.file import check, opening
from worlds.file.backup import backup
from worlds.file.compaction import compact
from worlds.file.stats import Stats, stats
from worlds.graph.query.limits import Running, deadline_of
from worlds.graph.query.query import UNION_GRAPH, Query
from worlds.graph.query.results import Solutions, Triples
from worlds.graph.search.vocabulary import NAMESPACE
from worlds.graph.targets import file_name
from worlds.graph.update.driver import run_update
from worlds.quads.dataset import DefaultGraphSetting, default_graph, set_default_graph
from worlds.quads.dictionary import DEFAULT_GRAPH, Dictionary
from worlds.quads.export import export
from worlds.quads.following import Followers
from worlds.quads.namespaces import Namespaces
from worlds.quads.patterns import Patterns, to_dataset
from worlds.quads.reader import quad_ids
from worlds.quads.rows import NO_QUADS
from worlds.quads.vocabulary import Vocabulary
from worlds.revisions.diff import Diff
from worlds.revisions.gate import Change, Gate
from worlds.revisions.history import Entry, History, Moment
from worlds.revisions.loading import Loader
from worlds.revisions.past import Past
from worlds.revisions.patches import Patches
from worlds.revisions.provenance import Provenance, Provenances
from worlds.revisions.retention import Forgetting, Retention
from worlds.revisions.undoing import inverse
from worlds.revisions.writer import Progress as Progress
from worlds.revisions.writer import Writer
from worlds.rules.checking import ShapeChecker
from worlds.rules.report import Report
from worlds.search.engine import SearchEngine, Searches
from worlds.search.filters import Filters
from worlds.search.hits import SearchResults
from worlds.search.request import Requests
from worlds.search.rerank import Reranker
from worlds.sparql.explaining import QueryExplanation
from worlds.sparql.index import SparqlIndex
from worlds.sparql.notes import Notes
from worlds.sparql.patterns import SubjectPatterns
from worlds.sparql.queries import Queries
from worlds.sparql.updates import WorldTarget
from worlds.sql import statements
from worlds.sql.connection import Connection
from worlds.texts.chunks import ChunkStore
from worlds.texts.policy import TextPolicy
from worlds.vectors.codes import Codes
from worlds.vectors.embedding import Embeddings
from worlds.vectors.world_embedder import WorldEmbedder

if TYPE_CHECKING:
    import rdflib

_SQL = statements("queries.sql")

_log = logging.getLogger("worlds")


QuadLike: TypeAlias = Sequence[object] | ox.Quad | ox.Triple


def open(
    path: str | os.PathLike[str] = ":memory:",
    *,
    embedder: str | Embedder | None = "auto",
    read_only: bool = False,
    create: bool = True,
    vector_index: bool | Literal["auto"] = "auto",
    durability: Literal["normal", "full"] = "normal",
    timeout: float = 10.0,
    encryption_key: str | None = None,
) -> World:
    """Open the world at `path`, or make it; `":memory:"` is a world that is gone when it is closed.

    `embedder` is "auto" (the default model where it is installed, else none), None, the name or path of a
    sentence-transformers model, or an `Embedder`. `vector_index` says whether the native index is part of the world;
    "auto" keeps what the file has, and builds it in a new one. `durability="full"` keeps an acknowledged write
    through a power loss too, not only through the death of the process. `timeout` is how many seconds a write waits
    for another process's.

    OpenError if there is no file and `create` is False, or it is not a world; SchemaError if it is a newer world;
    EmbedderError if `embedder` was named and does not fit what the world was embedded with; ReadOnlyError if the
    folder cannot be written to and `read_only` is False.
    """
    name = file_name(path)
    if vector_index != "auto" and not isinstance(vector_index, bool):
        raise ValueError(f"vector_index is True, False or 'auto', not {vector_index!r}")
    chosen = resolve_embedder(embedder)
    connection = opening.open_file(
        name,
        read_only=read_only,
        create=create,
        durability=durability,
        timeout=timeout,
        encryption_key=encryption_key,
    )
    try:
        return World(connection, chosen, demanded=embedder not in ("auto", None), vector_index=vector_index)
    except BaseException:
        connection.close()
        raise


class World:
    """A knowledge graph with search, in one file. Made by `worlds.open`; safe to share between threads."""

    def __init__(
        self,
        connection: Connection,
        embedder: Embedder | None,
        *,
        demanded: bool,
        vector_index: bool | Literal["auto"],
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
        self._sparql = SparqlIndex(connection, self._dictionary)
        followers = Followers(self._chunks, self._embeddings.retired, self._sparql)
        self._writer = Writer(
            connection,
            Gate(connection, self._dictionary, followers),
            retain=self._forgetting.retain,
            embed_new=self._embedder.embed_new,
        )
        self._loader = Loader(connection, self._dictionary, self._namespaces, self._writer)
        self._codes = Codes(connection)
        self._running = Running()
        self._subject_patterns = SubjectPatterns(self._sparql, self._running, self._namespaces)
        filters = Filters(connection, self._dictionary, self._chunks, self._subject_patterns.subjects)
        engine = SearchEngine(connection, self._dictionary, filters, self._codes)
        requests = Requests(self._embeddings, self._namespaces.term, self._embedder.required)
        self._searches = Searches(engine, requests)
        self._resolver = Resolver(connection, self._dictionary, self._chunks, self._searches)
        self._similar = SimilarEntities(connection, self._dictionary, self._searches)
        self._describer = Describer(connection, self._dictionary, self._chunks)
        self._shape_checker = ShapeChecker(connection, self._dictionary)
        self._neighbours = Neighbours(connection, self._dictionary, self._chunks)
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
        self._notes = Notes(connection, self._dictionary, self._sparql, Vocabulary(connection, self._dictionary))
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

    # -- life -----------------------------------------------------------------------------------------------------

    @property
    def path(self) -> str:
        """The path of the world's file; ":memory:" for a world without one."""
        return self._connection.path

    def close(self) -> None:
        """Close the file. What was written is kept; a second call does nothing."""
        with self._connection.lock, contextlib.suppress(WorldsError):
            self._sparql.close()
        self._connection.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{self!r} cannot be copied or sent to another process: open it there by its path")

    def __enter__(self) -> World:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<World {self.path}>"

    def __len__(self) -> int:
        """The number of quads."""
        return int(self._connection.value(_SQL["count_quads"]))

    def __bool__(self) -> bool:
        return True  # an empty world is a world

    # -- prefixes and policy --------------------------------------------------------------------------------------

    @property
    def prefixes(self) -> dict[str, str]:
        """Prefix → IRI: the well-known ones, and over them those that loaded files declared or `bind` set."""
        return self._namespaces.prefixes

    def bind(self, prefix: str, iri: str) -> None:
        """Set a prefix, for queries, filters and exports; it is stored in the file.

        ValueError for a prefix that SPARQL does not allow, and for an IRI that is not absolute.
        """
        self._namespaces.bind(prefix, iri)

    @property
    def default_graph(self) -> DefaultGraphSetting:
        """What queries see that name no graph: with "strict" the default graph alone, with "union" all graphs together.

        A new world has "strict"; the setting is stored in the file. The `union` of `query`, `explain` and `update`
        comes before it.
        """
        return default_graph(self._connection)

    @default_graph.setter
    def default_graph(self, setting: DefaultGraphSetting) -> None:
        set_default_graph(self._connection, setting)

    @property
    def policy(self) -> TextPolicy:
        """Which literals are text. Setting it cuts the literals that it concerns anew, in one transaction."""
        return self._chunks.policy

    @policy.setter
    def policy(self, policy: TextPolicy) -> None:
        if not isinstance(policy, TextPolicy):
            raise TypeError(f"a policy is a TextPolicy, not {policy!r}")
        with self._connection.transaction():
            self._embeddings.retired.retire(self._chunks.adopt(policy).orphans)

    # -- writes ---------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def transaction(self, *, author: str | None = None, message: str | None = None) -> Iterator[World]:
        """Make the block's writes one revision: all of them or, if the block raises, none.

        Transactions nest; an inner one that raises undoes its own writes only. The block's queries and searches see
        its writes. New texts are embedded after the outermost block ends; a failure of that is logged, not raised.
        """
        with self._writer.revision(author=author, message=message):
            yield self

    def add(
        self,
        quads: Iterable[QuadLike],
        *,
        author: str | None = None,
        message: str | None = None,
        embed: bool = True,
    ) -> Change:
        """Add triples or quads of terms, given as tuples of three or four (the fourth the graph), or an rdflib graph.

        A str is an IRI or a prefixed name (or `_:label`, `"literal"@en` as in N-Triples); rdflib and pyoxigraph terms,
        numbers, booleans and dates are taken as they are. ValueError or TypeError if a value cannot be a term. When
        embedding fails afterwards, the change is kept all the same: see `load`.
        """
        given = self._namespaces.quads(quads)
        with self._writer.revision(author=author, message=message, embed=embed) as revision:
            revision.apply(added=quad_ids(self._connection, self._dictionary, given))
        return revision.change

    def remove(self, quads: Iterable[QuadLike], *, author: str | None = None, message: str | None = None) -> Change:
        """Remove triples (of the default graph) or quads, given as `add` takes them. Others are ignored."""
        given = self._namespaces.quads(quads)
        with self._writer.revision(author=author, message=message) as revision:
            revision.apply(removed=quad_ids(self._connection, self._dictionary, given))
        return revision.change

    def quads(
        self, subject: object = None, predicate: object = None, object: Any = None, graph: Any = None
    ) -> Iterator[tuple[Any, Any, Any, Any]]:
        """The quads that match, as tuples of four rdflib terms, in no promised order; None matches everything.

        Terms are given as `add` takes them; `graph` may be "default", and the fourth of a quad of the default graph is
        None. Lexical forms are as they were given. The quads are those of now, whatever is written while they are
        read. Triple terms and texts with a base direction, which rdflib lacks, are pyoxigraph terms.
        """
        pattern = self._namespaces.pattern(subject, predicate, object)
        return self._patterns.quads(pattern, None if graph is None else self._namespaces.graph(graph))

    def count(
        self,
        subject: object = None,
        predicate: object = None,
        object: Any = None,
        graph: Any = None,
        *,
        triples: bool = False,
    ) -> int:
        """The number of quads that match, given as for `quads`; `count()` is `len(world)`.

        With `triples=True`, a triple counts once, however many graphs hold it.
        """
        pattern = self._namespaces.pattern(subject, predicate, object)
        return self._patterns.count(pattern, None if graph is None else self._namespaces.graph(graph), triples=triples)

    def graphs(self) -> list[Any]:
        """The named graphs that exist, empty ones that were created included: their names as rdflib terms, sorted."""
        return self._patterns.graphs()

    def to_rdflib(self) -> rdflib.Dataset:
        """A copy in memory: an rdflib Dataset with the world's quads, graphs and prefixes, blank nodes kept.

        ValueError if the world has triple terms or texts with a base direction, which rdflib cannot hold.
        """
        with self._connection.snapshot():
            return to_dataset(self.quads(), self.graphs(), self.prefixes)

    def load(
        self,
        source: object,
        *,
        format: str | None = None,
        graph: object = None,
        mode: Literal["merge", "replace"] = "merge",
        base: str | None = None,
        author: str | None = None,
        message: str | None = None,
        embed: bool = True,
        allow_network: bool | Collection[str] = False,
        max_unpacked: int | None = None,
        progress: Progress | None = None,
    ) -> Change:
        """Load RDF as one revision: files, folders, globs, URLs, `-`, bytes, file objects, rdflib graphs, or a list.

        `format` is guessed from the name and the content if None. `graph` takes all of the input's quads, else each
        goes where the input says. `mode="replace"` puts the input in the place of what the graph held: of `graph`, else
        of every graph that the input names, and of the default graph for a format without graphs. Each document's
        blank nodes become new ones. `embed=False` leaves the new texts pending. URLs are refused unless
        `allow_network` is True or names their host. `max_unpacked` is how many bytes a compressed input may unpack to.

        ParseError (with source, line and column) for input that is not RDF, OpenError for input that is not there;
        the world is then as it was, as it is after an interruption. But the load is kept before its texts are
        embedded: if that fails, the change says why in its `.notes`, the log "worlds" warns, and the texts are pending
        (found by words, not by vectors) until `embed()` or the next write.
        """
        return self._loader.load(
            source, format=format, graph=graph, mode=mode, base=base, author=author, message=message, embed=embed,
            allow_network=allow_network, max_unpacked=max_unpacked, progress=progress,
        )  # fmt: skip

    def add_document(
        self,
        iri: object,
        content: str | bytes | os.PathLike[str] | BinaryIO | TextIO,
        *,
        format: Literal["markdown", "text", "html"] | None = None,
        title: str | None = None,
        source: object = None,
        date: object = None,
        language: str | None = None,
        predicate: object = TEXT,
        type: object = DOCUMENT,
        graph: object = None,
        metadata: Mapping[Any, object] | None = None,
        replace: bool = True,
        author: str | None = None,
        message: str | None = None,
        embed: bool = True,
    ) -> Change:
        """Write a document as quads of `iri`: its text, title, source and date. A str is its text, a path its file.

        `format` is guessed from the file's name and the content if None. The text stands under `predicate`
        (schema:text), HTML turned into Markdown. It is a literal of the datatype text/markdown or an xsd:string, or is
        tagged with the `language` if that is known. Title, source, date, language, author, description and keywords are
        taken from front matter, <head> or the first heading where they are not given. `source` is an IRI or words,
        `date` a date or its ISO 8601 form. `metadata` maps further predicates to a value or a list; its terms are
        given as `add` takes them. `type` None writes no rdf:type.

        What an earlier call wrote of this `iri` in this `graph` is replaced, and nothing else, unless `replace` is
        False. OpenError for a file that is not there, ParseError for text that is not UTF-8, WorldsError for HTML where
        selectolax is not installed. When embedding fails, the change is kept all the same: see `load`.
        """
        subject, name = self._namespaces.iri("iri", iri), self._namespaces.iri("predicate", predicate)
        kind = None if type is None else self._namespaces.iri("type", type)
        if not isinstance(metadata, Mapping | None):
            raise TypeError(f"metadata maps predicates to values, it is not {metadata!r}")
        target = DEFAULT_GRAPH if graph is None else self._namespaces.graph(graph)
        given = document_quads(
            subject, target, read_document(content, format), title=title, source=source, date=date, language=language,
            predicate=name, type=kind, metadata=metadata or {}, prefixes=self.prefixes,
        )  # fmt: skip
        with self._writer.revision(author=author, message=message, embed=embed) as revision:
            quads = quad_ids(self._connection, self._dictionary, given)
            ledger = Ledger(self._connection)
            earlier = ledger.replaced(quads) if replace else NO_QUADS
            ledger.note(quads)
            revision.apply(quads, earlier)
        return revision.change

    # -- embeddings -----------------------------------------------------------------------------------------------

    @property
    def embedder(self) -> Embedder | None:
        """What embeds new texts and questions; None for a world that has only words."""
        return self._embedder.embedder

    @embedder.setter
    def embedder(self, embedder: Embedder | None) -> None:
        self._embedder.embedder = embedder

    def embed(
        self,
        *,
        rebuild: bool = False,
        embedder: str | os.PathLike[str] | Embedder | None = None,
        progress: Progress | None = None,
    ) -> int:
        """Give every pending chunk its vector; gives the number of texts that the embedder read.

        Each batch is kept as soon as it is done, so an interrupted call goes on where it stopped. `rebuild=True` makes
        all vectors anew, by the world's embedder or by `embedder`, which then becomes the world's. The old vectors
        answer until the new ones take their place, all at once; texts that are new since, or that the embedder does
        not read whole, are embedded after that. EmbedderError without an embedder, or with one that does not fit, or
        that fails; ConflictError if another process embeds the world anew by yet another one.
        """
        if self._writer.writing:
            raise WorldsError("embed() cannot run inside a transaction: new texts are embedded when it ends")
        return self._embedder.embed(rebuild=rebuild, embedder=embedder, progress=progress)

    # -- history --------------------------------------------------------------------------------------------------

    def history(
        self,
        limit: int | None = None,
        *,
        entity: object = None,
        predicate: object = None,
        graph: object = None,
        author: str | None = None,
        message: str | None = None,
        since: datetime.datetime | None = None,
        until: datetime.datetime | None = None,
    ) -> list[Entry]:
        """The revisions, newest first, at most `limit`: each with its number, time, author, message, and counts.

        With `entity`, `predicate` and `graph`, those that added or removed a quad that has them all, the entity as its
        subject or object; with `author`, `message` (a part of it), `since` and `until`, those that this holds for.
        """
        about, of = self._namespaces.pattern(entity, predicate)
        name = None if graph is None else self._namespaces.graph(graph)
        among = None if about is of is name is None else self._provenances.touching(about, of, name)
        return self._history.entries(limit, author=author, message=message, since=since, until=until, among=among)

    def provenance(
        self, subject: object = None, predicate: object = None, object: Any = None, graph: Any = None
    ) -> list[Provenance]:
        """Who said what: for each quad that matches, now or once, the revisions that added and removed it.

        Terms are given as for `quads`. One that was removed and added again has several; they are in the order in which
        they were added. What `prune` forgot is not there.
        """
        pattern = self._namespaces.pattern(subject, predicate, object)
        return self._provenances.of(pattern, None if graph is None else self._namespaces.graph(graph))

    def diff(self, a: Moment, b: Moment | None = None) -> Diff:
        """What is different after revision `b` from how it was after revision `a`: the quads added and removed.

        `a` may be 0, the empty world; `b` None is now; a time, with its zone, is the last revision up to it. With `a`
        after `b`, it is what leads back. ValueError for an unknown revision, WorldsError for one before those that
        `prune` left.
        """
        return self._history.diff(a, b)

    def at(self, revision: Moment) -> Past:
        """The world as it was after a revision, or at a time, to query and export. It raises what `diff` does."""
        with self._connection.snapshot():
            return Past(self._connection, self._dictionary, self._namespaces, self._history, revision)

    def undo(
        self, revision: int, *, force: bool = False, author: str | None = None, message: str | None = None
    ) -> Change:
        """Take back what a revision did, as a new revision; undoing that one does it again.

        ConflictError if a later revision removed a quad that it had added, or added one that it had removed, naming
        them; `force=True` leaves such quads as they are and takes back the rest. Other errors are those of `diff`.
        """
        message = f"undo of revision {revision}" if message is None else message
        with self._writer.revision(author=author, message=message, embed=True, undoes=revision) as written:
            written.apply(*inverse(self._connection, self._dictionary, self._history, revision, force=force))
        return written.change

    def patch(self, a: Moment, b: Moment | None = None) -> str:
        """The difference between two revisions (see `diff`) as an RDF Patch; `patch(n - 1, n)` is what n did."""
        return self.diff(a, b).patch()

    def apply_patch(
        self,
        source: object,
        *,
        strict: bool = True,
        max_unpacked: int | None = None,
        author: str | None = None,
        message: str | None = None,
        embed: bool = True,
    ) -> Change:
        """Apply an RDF Patch as one revision: its path, its bytes or its text, or a file object.

        The labels of its blank nodes name nodes of this world. ConflictError if it adds a quad that is there, or
        deletes one that is not; `strict=False` ignores these. ParseError (with line and column) if it is not an RDF
        Patch, or a compressed one that unpacks to more than `max_unpacked` bytes.
        """
        with self._writer.revision(author=author, message=message, embed=embed) as revision:
            patches = Patches(self._connection, self._dictionary, self._namespaces)
            revision.apply(*patches.read(source, strict=strict, max_unpacked=max_unpacked))
        return revision.change

    @property
    def retention(self) -> Retention:
        """How much history is kept, all of it unless set. It is applied when it is set, and after every write."""
        return self._forgetting.retention

    @retention.setter
    def retention(self, retention: Retention) -> None:
        with self._connection.transaction():
            self._forgetting.set_retention(retention)
            self._forgetting.retain()

    def prune(self, before: int | datetime.datetime) -> int:
        """Forget the revisions before a number or a time, with the quads that they removed; gives how many.

        Today's quads stay. `at` and `diff` reach back to the revision before `before` and no further. `compact()` gives
        the space back. ValueError for a number greater than the next revision will have.
        """
        with self._connection.transaction():
            return self._forgetting.prune(before)

    # -- SPARQL ---------------------------------------------------------------------------------------------------

    def query(
        self,
        query: str,
        *,
        bindings: Mapping[str, object] | None = None,
        union: bool | None = None,
        default_graphs: Iterable[object] | None = None,
        named_graphs: Iterable[object] | None = None,
        timeout: float | None = None,
        max_results: int | None = None,
        max_memory: int | None = None,
        allow_network: bool | Collection[str] = False,
        progress: Progress | None = None,
    ) -> Solutions | Triples | bool:
        """Answer a SPARQL query: SELECT gives `Solutions`, ASK a bool, CONSTRUCT and DESCRIBE `Triples`.

        A query without FROM sees the default graph alone, or with `union=True` all graphs together; with None it is as
        `default_graph` says. The world's prefixes need no declaration. `bindings` gives variables their values. The
        first query opens or builds the index.
        `default_graphs`, merged to be the default graph, and `named_graphs`, those that GRAPH sees, are another
        dataset; if only one of the two is given, the other has none. They take the place of what FROM says.

        A query from somebody who is not trusted wants limits: `timeout`, in seconds (QueryTimeout), and `max_memory`,
        in bytes, stop it wherever it is, in a process of its own that reads the index as it is now; `max_results` is
        how many solutions or triples it may have. SERVICE reaches the network only if `allow_network` is True or
        names the hosts. QueryError (with line and column) if the query does not parse, is too deep or too long, or
        exceeds a limit.
        """
        if union and not default_graphs is named_graphs is None:
            raise ValueError("union=True and a dataset of its own cannot both be what a query is asked of")
        asked = self._query(
            query,
            bindings=bindings,
            union=union,
            graphs=(default_graphs, named_graphs),
            timeout=timeout,
            max_results=max_results,
            max_memory=max_memory,
            allow_network=allow_network,
        )
        return self._queries.answer(asked, None if progress is None else partial(progress, "index"))

    @property
    def pattern_timeout(self) -> float | None:
        """Seconds that a pattern of `where`, `exclude` or `boost` may take in a search; None, at first, is no limit.

        A pattern that takes longer is stopped, wherever it is, and the search is a QueryTimeout. With a limit, patterns
        run in processes of their own, as queries with a `timeout` do. It is this object's, and not kept in the file.
        """
        return self._subject_patterns.timeout

    @pattern_timeout.setter
    def pattern_timeout(self, seconds: float | None) -> None:
        deadline_of(seconds)  # complains
        self._subject_patterns.timeout = seconds

    def interrupt(self) -> None:
        """Stop the query that another thread has running, which raises QueryError there, as sqlite3's interrupt does.

        Queries with `timeout` or `max_memory`, the patterns of updates with `timeout` and those of searches with
        `pattern_timeout` run in processes of their own, which can be stopped; an update is undone by that. Anything
        else goes on, and so do queries of the past (`at`).
        """
        self._running.interrupt()

    def explain(
        self,
        query: str,
        *,
        bindings: Mapping[str, object] | None = None,
        union: bool | None = None,
        timeout: float | None = None,
        allow_network: bool | Collection[str] = False,
        counts: bool = True,
        progress: Progress | None = None,
    ) -> QueryExplanation:
        """Answer a SPARQL query and tell how: what each step took, what its searches became, what each pattern matches.

        pyoxigraph shows no plan, so this is as far as can be seen from outside. `counts=False` leaves out what each
        pattern matches, which can take a second for each. Its `notes` say why nothing was found, for an ASK that is
        false, too. Options and errors as for `query`.
        """
        asked = self._query(query, bindings=bindings, union=union, timeout=timeout, allow_network=allow_network)
        report = None if progress is None else partial(progress, "index")
        return self._queries.explain(asked, report, counts=counts)

    def update(
        self,
        text: str,
        *,
        bindings: Mapping[str, object] | None = None,
        union: bool | None = None,
        using_graphs: Iterable[object] | None = None,
        using_named_graphs: Iterable[object] | None = None,
        author: str | None = None,
        message: str | None = None,
        embed: bool = True,
        timeout: float | None = None,
        allow_network: bool | Collection[str] = False,
        allow_files: bool = False,
    ) -> Change:
        """Run a SPARQL 1.1 Update request, several operations perhaps, as one revision: all of it or nothing.

        The world's prefixes need no declaration. `bindings` gives variables their terms. `union` is as for `query`,
        for patterns; `using_graphs` and `using_named_graphs` are what USING and USING NAMED
        would say for each pattern, in a request that says neither, nor WITH (else QueryError). `timeout` is in seconds,
        for reading the request, and for each pattern. LOAD and SERVICE reach the network only if `allow_network` is
        True or names their hosts, LOAD reads `file:` IRIs only with `allow_files`.

        Literals that have the same value are one to SPARQL: inserting `1` where `01` is changes nothing, deleting `1`
        deletes `01`. A named graph exists while it has quads, or from CREATE to DROP; the creation of an empty graph
        counts as one quad added. Where nothing changes, the `notes` of the change name what the world does not know.
        QueryError (with line and column) if the request does not parse or cannot be carried out.
        """
        asked = self._query(
            "",
            bindings=bindings,
            union=union,
            graphs=(using_graphs, using_named_graphs),
            timeout=timeout,
            allow_network=allow_network,
        )
        using = None if asked.default_graphs is None else (asked.default_graphs, asked.named_graphs or ())
        with self._writer.revision(author=author, message=message, embed=embed) as revision:
            target = WorldTarget(
                self._connection,
                self._dictionary,
                revision,
                self._sparql,
                pattern=asked,
                rows=self._queries.rows,
                load=lambda source, graph: self.load(source, graph=graph, embed=False, allow_network=allow_network),
                allow_files=allow_files,
            )
            names = {"w": NAMESPACE, **asked.prefixes}
            run_update(
                text, target, prefixes=names, bindings=asked.bindings, using=using, limits=asked.started().limits
            )
        change = revision.change
        changed = change.added or change.removed or "where" not in text.lower()
        strange = () if changed else self._notes.strangers(asked.replaced(text=text))
        return dataclasses.replace(change, notes=strange) if strange else change

    def _query(
        self,
        text: str,
        *,
        bindings: Mapping[str, object] | None,
        graphs: tuple[Iterable[object] | None, Iterable[object] | None] = (None, None),
        **how: Any,
    ) -> Query:
        """A query as this world asks it; `graphs` are those of a dataset that is not the world's own."""
        for given in graphs:
            if isinstance(given, str):
                raise TypeError(f"graphs are given as a list, not as {given!r}")
        if graphs != (None, None):
            default, named = ([self._namespaces.graph(graph) for graph in given or ()] for given in graphs)
            if any(isinstance(graph, ox.DefaultGraph) for graph in named):
                raise ValueError("the default graph is no named graph")
            every = UNION_GRAPH in default and graphs[1] is None
            how |= {"default_graphs": default, "named_graphs": None if every else named}
        query = Query(text, self.prefixes, self._namespaces.bindings(bindings), **how)
        return query.settled(union=self.default_graph == "union")

    # -- search ---------------------------------------------------------------------------------------------------

    def search(
        self,
        text: str,
        *,
        limit: int = 10,
        mode: Literal["hybrid", "vector", "text"] = "hybrid",
        subjects: object = None,
        predicates: object = None,
        types: object = None,
        subclasses: bool = False,
        graphs: object = None,
        languages: object = None,
        where: str | None = None,
        exclude: Mapping[str, object] | None = None,
        fusion: Literal["relative", "rrf", "weighted"] = "relative",
        normalise: Literal["minmax", "theoretical"] = "minmax",
        label_bonus: bool = True,
        k: float = 60,
        weights: Mapping[str, float] | None = None,
        candidates: int | None = None,
        syntax: Literal["words", "fts5"] = "words",
        vector: Sequence[float] | np.ndarray[Any, Any] | None = None,
        plan: Literal["auto", "exact", "codes", "index"] = "auto",
        min_similarity: float | None = None,
        rerank: bool | str | Reranker | None = None,
        rerank_top: int = 50,
        rerank_timeout: float | None = None,
        boost: object = None,
        decay: Mapping[str, object] | None = None,
        diversity: float | None = None,
        group_by: Literal["subject"] | None = None,
        per_subject: int = 1,
        cursor: str | None = None,
        explain: bool = False,
    ) -> SearchResults:
        """The chunks that best answer `text`, best first: by vectors, by words, or by both, fused.

        **Filters** narrow what can be found before anything is ranked, so the answer has min(`limit`, eligible) hits
        however few they are (in mode "text", as many as have one of the words). Each takes one value or a list, any of
        which will do; all that are given must hold for one quad: `subjects`, `predicates`, `types` (with `subclasses`,
        those below them too), `graphs` ("default" is the default graph), `languages` ("en" includes en-GB, "" is
        none), `where`, a SPARQL group pattern over ?subject. `exclude` maps the same names to what must not hold.
        `types`, `subclasses` and `where` read the union of all graphs, or those that `graphs` names.

        **Words**: all scripts; `"a phrase"`, `-without`, `prefix*`. `syntax="fts5"` hands the text to SQLite's FTS5.
        **Fusion**: a chunk's score is the sum over both lists of weight · value, brought to [0, 1], with "weighted"
        (`normalise`: the value that gives 0 is the least found, or the least in theory), or of weight / (`k` + rank)
        with "rrf". "relative" is "weighted", but words count beside vectors as much as the best text holds of them, and
        in mode "hybrid" a label that is exactly what was asked comes first (`label_bonus`). `weights` maps "vector" and
        "text" to numbers, 1.0 by default; each list is `candidates` long (100, or `limit` if that is more). A text
        whose vector is pending loses nothing by that: its sum is scaled by all weights over that of the words.
        `vector`, float32 [d], takes the place of the text's own; `min_similarity` is the least cosine of a match by
        vector. `plan` forces a way to find the nearest vectors: "exact", "codes" or "index".

        **After fusion**, in this order: `rerank` asks a cross-encoder (True, a name, a path, or what has `predict`)
        about the first `rerank_top`, for `rerank_timeout` seconds at most; `boost` multiplies scores, by
        {"where": pattern, "factor": f} or {"predicate": p, "weight": w}, which gives 1 + w · ln(1 + number), or a list
        of such; `decay` halves them every "half_life" days since the date under "predicate", but for
        "evergreen_types", "evergreen_predicates" (of the text) and "evergreen_flags" (true of the subject); `diversity`
        is the lambda of maximal marginal relevance, 1 for relevance alone; `group_by="subject"` gives at most
        `per_subject` hits a subject. `cursor`, of an earlier answer, gives the hits that follow.
        `explain=True` tells for each hit what each list and stage did.

        Without an embedder that fits, "hybrid" degrades to "text" and says so in `.notes`, as does a cross-encoder that
        fails; "vector" is an EmbedderError, and so is a `vector` of another dimension than the world's. FilterError
        if a filter cannot be one, QueryError for a wrong FTS5 expression, ValueError for any other wrong option.
        """
        options = {name: value for name, value in locals().items() if name not in ("self", "text")}
        return self._searches.run(text, **options)

    def search_sql(self, text: str, **options: Any) -> tuple[str, tuple[object, ...]]:
        """The SQL statement of a search and its parameters `?1 … ?N`; the options are those of `search`.

        The stages after fusion are not in the statement; where some are asked for, it gives all their candidates.
        """
        return self._searches.statement(text, **options)

    # -- entities -------------------------------------------------------------------------------------------------

    def resolve(
        self, name: str, *, context: str | None = None, types: object = None, graphs: object = None, limit: int = 5
    ) -> Resolution:
        """Find the entity that a name means: a "match", "ambiguous", or "no match", with the likeliest candidates.

        `context` is the text around the name, `types` and `graphs` narrow the candidates as they do in `search`. A
        candidate's confidence is the chance that it is meant, as measured on names whose meaning is known; the
        outcome is a match if the best has at least 0.5 and leads by 0.2, and none if it would have less than 0.3 even
        if it alone bore its name. A leading "the", "a" or "an" matters only where a name is nearer with it.
        """
        return self._resolver.resolve(name, context=context, types=types, graphs=graphs, limit=limit)

    def resolve_all(
        self,
        names: Iterable[str | tuple[str, str | None]],
        *,
        types: object = None,
        graphs: object = None,
        limit: int = 5,
    ) -> list[Resolution]:
        """Resolve many names, each given alone or as (name, context); one `Resolution` for each, in their order."""
        if isinstance(names, str):
            raise TypeError(f"resolve_all takes many names, such as [{names!r}], not a str; resolve takes one")
        asked = [(item, None) if isinstance(item, str) else item for item in names]
        for item in asked:
            if not isinstance(item, (tuple, list)) or len(item) != 2:
                raise TypeError(f"a name is a str, or a pair of a name and its context, not {item!r}")
        return [self.resolve(name, context=context, types=types, graphs=graphs, limit=limit) for name, context in asked]

    def similar(self, iri: object, *, limit: int = 10, **options: Any) -> SearchResults:
        """Find entities like this one: one hit for each, the likest first, without the entity itself.

        They are compared by the means of the vectors of their texts: a score is their cosine. First come the 100 that
        have the nearest texts, ordered by it, then the next 100, and so on. Where the entity has no vectors, or with
        mode="text", they are compared by the words that they share. `options` are those of `search`, all filters and
        `cursor` among them; with stages after fusion or `min_similarity`, entities are ranked by their nearest text, as
        these ask.
        """
        return self._similar.find(self._namespaces.entity(iri), limit=limit, **options)

    def describe(self, iri: object, *, limit: int = 20, language: str | None = None) -> Description:
        """What the world says of an entity: label, types, description, its triples and those that point to it.

        Of each predicate `limit` values are given, and their number; each value says in which graphs it is said, and
        which revision added it. Labels and the description in `language` come first. The description of an
        entity that the world does not know is empty, and false.
        """
        return self._describer.describe(self._namespaces.entity(iri), limit=limit, language=language)

    def context(
        self,
        question: str,
        *,
        budget: int = 2000,
        hops: int = 2,
        types: object = None,
        language: str | None = None,
    ) -> Context:
        """What bears on a question, for a language model: facts and passages in words, with numbers that cite quads.

        The entities are those that the question names, by a label, an alias or another short literal, and those that
        search finds; `types` narrows both. Of the facts up to `hops` (0, 1 or 2) from them, those are told that bear
        on the question most, by the words and the meaning of their predicates; the rest of the budget goes to
        passages. `.text` has at most `budget` tokens, at 3.5 bytes each. Labels in `language` come first. Of an entity
        with many quads some hundreds are looked at.
        """
        return self._contexts.compose(question, budget=budget, hops=hops, types=types, language=language)

    def neighbourhood(self, iri: object, *, hops: int = 2, limit: int = 100) -> Neighbourhood:
        """The quads around an entity, those that point to it too, and the entities in them with their labels.

        The nearest come first; where there are more than `limit` quads, each predicate has its turn. A hop never goes
        through a class to all its instances. The neighbourhood of an unknown entity is empty, and false.
        """
        return self._neighbours.neighbourhood(self._namespaces.entity(iri), hops=hops, limit=limit)

    def paths(self, start: object, end: object, *, hops: int = 4, limit: int = 10) -> list[Path]:
        """The shortest ways between two entities, of `hops` steps at most, over quads in either direction.

        All have the same length; at most `limit` are given. A way never goes through rdf:type.
        """
        namespaces = self._namespaces
        return self._neighbours.paths(namespaces.entity(start), namespaces.entity(end), hops=hops, limit=limit)

    def schema(self, *, limit: int = 50, graphs: object = None) -> Schema:
        """What the data look like: classes, predicates, named graphs, languages, and the prefixes of these.

        Of classes, predicates and graphs the `limit` commonest are given, and their number. `graphs` looks at those
        alone ("default" is the default graph). Half a second for a million quads.
        """
        given = None if graphs is None else graphs if isinstance(graphs, (list, tuple, set, frozenset)) else [graphs]
        names = None if given is None else [self._namespaces.graph(graph) for graph in given]
        return overview(self._connection, self._dictionary, self._chunks, self.prefixes, limit=limit, graphs=names)

    # -- rules ----------------------------------------------------------------------------------------------------

    def validate(self, *, subjects: Iterable[object] | None = None, shapes: object = None) -> Report:
        """Validate the data against SHACL shapes: a `Report` of every violation, by shape and focus node.

        `shapes` is an rdflib graph or what `load` takes (a file, bytes, …); None takes the world's own, in its graph
        <urn:worlds:shapes>. What is validated is the union of all graphs but that one. `subjects` are the only focus
        nodes then, of those that the shapes target. SHACL Core is checked, https://www.w3.org/TR/shacl/, over sets of
        nodes; ShapesError for shapes that are not well formed, or with what is not checked: SPARQL constraints, shapes
        that refer to themselves, and unknown names of SHACL's vocabulary.
        """
        given = None if subjects is None else [self._namespaces.term(subject) for subject in subjects]
        return self._shape_checker.validate(given, shapes, self.prefixes)

    # -- the file -------------------------------------------------------------------------------------------------

    def export(
        self, target: str | os.PathLike[str] | BinaryIO, *, format: str | None = None, graph: object = None
    ) -> int:
        """Write the quads to a file or a binary stream, and give their number; lexical forms are as they were given.

        `format` is taken from the target's name if None (.gz, .bz2 and .zst compress), else it is N-Quads. `graph`
        exports one graph alone ("default" is the default graph), as triples; a format without graphs refuses a world
        with named graphs otherwise. A file is put in place only when it is complete. ValueError if the format cannot
        hold the quads, or there is no such graph.
        """
        name = None if graph is None else self._namespaces.graph(graph)
        return export(self._connection, self._dictionary, target, format, name, self._namespaces.declared)

    def stats(self) -> Stats:
        """What the world holds: counts, sizes, the embedder, what is pending."""
        return stats(self._connection, self._embeddings)

    def check(self) -> check.Report:
        """Verify that quads, chunks, full-text and vectors agree; the report says what doesn't. Changes nothing."""
        return check.check(self._connection, self._dictionary, self._chunks, self._embeddings)

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Write a complete copy of the world to a new file, as of now; other processes may go on.

        OpenError if there is something at `path` already, or it cannot be written.
        """
        backup(self._connection, file_name(path))

    def compact(self) -> None:
        """Give unused space back: drop cached embeddings of texts that are gone and unused terms, and rebuild the file.

        The native vector index is built anew, which takes about a millisecond a vector.
        """
        compact(self._connection, self._embeddings)
        self._dictionary.forget()
        self._sparql.drop()


def connection_of(world: World) -> Connection:
    """The world's connection, for tests and benchmarks that read its tables: the one way to its inside.

    What is written through it goes past the writer, so the full-text index, the vectors and SPARQL may miss it.
    """
    return world._connection
