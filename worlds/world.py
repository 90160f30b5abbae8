"""The World: one file of quads, texts and vectors, and the verbs on it."""

from __future__ import annotations

import contextlib
import datetime
import logging
import os
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, NoReturn, Protocol, TypeAlias
from urllib.parse import unquote, urlsplit

import numpy as np
import pyoxigraph as ox

from worlds import check, files, maintenance
from worlds.chunkstore import ChunkStore
from worlds.codes import Codes
from worlds.dictionary import DEFAULT_GRAPH, DEFAULT_GRAPH_ID, Dictionary, Ids, Interner
from worlds.embedders import Embedder, checked_query, reason_without, resolve_embedder
from worlds.embedding import Embeddings
from worlds.errors import EmbedderError, QueryError, WorldsError
from worlds.explaining import QueryExplanation
from worlds.filters import Filters, make_filter
from worlds.gate import Change, Gate, Revision
from worlds.graph.formats import FORMATS, parsing, rdflib_quads
from worlds.graph.results import Solutions, Triples
from worlds.graph.service import NAMESPACE
from worlds.graph.sources import sources
from worlds.graph.terms import WELL_KNOWN_PREFIXES, is_prefix, to_object, to_oxigraph
from worlds.graph.updates import GraphName, NamedGraph, Rows, run_update
from worlds.history import Diff, Entry, History, Past, Retention
from worlds.hits import SearchResults
from worlds.ingest import Reader
from worlds.patterns import Patterns, to_dataset
from worlds.policy import TextPolicy
from worlds.quads import NO_QUADS, difference, read_quads
from worlds.querying import Asked, Queries
from worlds.search import MODES, PLANS, Request, Search
from worlds.sparql import SparqlIndex
from worlds.sql import statements
from worlds.sql.connection import Connection
from worlds.textquery import MAX_CHARS
from worlds.updating import WorldTarget

if TYPE_CHECKING:
    import rdflib

_SQL = statements("queries.sql")
DEFAULT_CANDIDATES = 100
MOST_CANDIDATES = 10_000
_CHARS_A_TOKEN = 16  # more than an embedder reads of a query on average

_log = logging.getLogger("worlds")


QuadLike: TypeAlias = Sequence[object] | ox.Quad | ox.Triple


class Progress(Protocol):
    """Is told how far long work has come."""

    def __call__(self, step: str, done: int, total: int | None) -> None:
        """`step` is what is being done ("read", "embed", …), `total` None where it is not known."""


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
    name = files.file_name(path)
    if vector_index != "auto" and not isinstance(vector_index, bool):
        raise ValueError(f"vector_index is True, False or 'auto', not {vector_index!r}")
    chosen = resolve_embedder(embedder)
    connection = files.open_file(
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
        self._chunks = ChunkStore(connection, self._dictionary)
        self._gate = Gate(connection, self._dictionary, self._chunks)
        self._sparql = SparqlIndex(connection, self._dictionary)
        self._gate.observers.append(self._sparql)
        self._patterns = Patterns(connection, self._dictionary)
        self._history = History(connection, self._dictionary)
        self._embeddings = Embeddings(connection, self._chunks)
        self._codes = Codes(connection)
        filters = Filters(connection, self._dictionary, self._chunks, self._where_subjects)
        self._search = Search(connection, self._dictionary, filters, self._codes)
        self._queries = Queries(
            connection,
            self._dictionary,
            self._sparql,
            self._search,
            self._embeddings,
            request=self._request_of,
            embedder=self._require_embedder,
        )
        self.embedder = embedder
        self._one_embeds = threading.RLock()  # of two threads the second would embed the same texts again
        if demanded and embedder is not None:
            self._embeddings.require(embedder)
        if vector_index != "auto":
            self._embeddings.want_index(bool(vector_index))

    # -- life -----------------------------------------------------------------------------------------------------

    @property
    def path(self) -> str:
        """Where the world lies; ":memory:" for one that lies nowhere."""
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
        return {**WELL_KNOWN_PREFIXES, **dict(self._connection.rows(_SQL["all_prefixes"]))}

    def bind(self, prefix: str, iri: str) -> None:
        """Set a prefix, for queries, filters and exports; it is stored in the file.

        ValueError for a prefix that SPARQL does not allow, and for what is no absolute IRI.
        """
        row = _namespace(prefix, iri)
        with self._connection.transaction():
            self._connection.run(_SQL["set_prefix"], row)

    @property
    def policy(self) -> TextPolicy:
        """Which literals are text. Setting it cuts the literals that it concerns anew, in one transaction."""
        return self._chunks.policy

    @policy.setter
    def policy(self, policy: TextPolicy) -> None:
        if not isinstance(policy, TextPolicy):
            raise TypeError(f"a policy is a TextPolicy, not {policy!r}")
        with self._connection.transaction():
            self._chunks.adopt(policy)

    def _term(self, value: object) -> Any:
        return to_oxigraph(value, prefixes=self.prefixes if isinstance(value, str) else None)

    # -- writes ---------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def transaction(self, *, author: str | None = None, message: str | None = None) -> Iterator[World]:
        """Make the block's writes one revision: all of them or, if the block raises, none.

        Transactions nest; an inner one that raises undoes its own writes only. The block's queries and searches see
        its writes. New texts are embedded after the outermost block ends; a failure of that is logged, not raised.
        """
        outermost = not self._gate.writing
        with self._gate.write(author=author, message=message) as revision:
            yield self
        if outermost and (revision.added or revision.removed):
            self._retain()
        if outermost and revision.chunks and revision.embed:
            self._embed_new(revision, None)  # what it has to say is logged

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
        numbers, booleans and dates are taken as they are. ValueError or TypeError for what is no term. When embedding
        fails afterwards, the change is kept all the same: see `load`.
        """
        return self._write_quads(quads, adding=True, author=author, message=message, embed=embed)

    def remove(self, quads: Iterable[QuadLike], *, author: str | None = None, message: str | None = None) -> Change:
        """Remove triples (of the default graph) or quads, given as `add` takes them. What is not there is ignored."""
        return self._write_quads(quads, adding=False, author=author, message=message, embed=False)

    def quads(
        self, subject: object = None, predicate: object = None, object: Any = None, graph: Any = None
    ) -> Iterator[tuple[Any, Any, Any, Any]]:
        """The quads that match, as tuples of four rdflib terms, in no promised order; None matches everything.

        Terms are given as `add` takes them; `graph` may be "default", and the fourth of a quad of the default graph is
        None. Lexical forms are as they were given. The quads are those of now, whatever is written while they are
        read. Triple terms and texts with a base direction, which rdflib lacks, are pyoxigraph terms.
        """
        prefixes = self.prefixes if any(type(term) is str for term in (subject, predicate, object)) else None
        terms = [None if term is None else to_object(term, prefixes=prefixes) for term in (subject, predicate, object)]
        return self._patterns.quads(terms, None if graph is None else self._graph_name(graph))

    def to_rdflib(self) -> rdflib.Dataset:
        """A copy in memory: an rdflib Dataset with the world's quads, graphs and prefixes, blank nodes kept.

        ValueError for what rdflib cannot hold: triple terms and texts with a base direction.
        """
        with self._connection.snapshot():
            return to_dataset(self.quads(), self._patterns.graphs(), self.prefixes)

    def _write_quads(
        self,
        quads: Iterable[QuadLike],
        *,
        adding: bool,
        author: str | None,
        message: str | None,
        embed: bool,
    ) -> Change:
        if hasattr(quads, "triples") and hasattr(quads, "namespaces"):
            given = list(rdflib_quads(quads))  # type: ignore[arg-type]  # an rdflib graph
        else:
            prefixes = self.prefixes
            given = [_quad(item, prefixes) for item in quads]
        with self._gate.write(author=author, message=message) as revision:
            reader = Reader(Interner(self._connection, self._dictionary, rename_blank_nodes=False))
            reader.read(given)
            found = reader.quads()
            added, removed, chunks = self._gate.apply(found if adding else NO_QUADS, NO_QUADS if adding else found)
        return self._finish(revision, added, removed, chunks, embed=embed, progress=None)

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
        progress: Progress | None = None,
    ) -> Change:
        """Load RDF as one revision: files, folders, globs, URLs, `-`, bytes, file objects, rdflib graphs, or a list.

        `format` is guessed from the name and the content if None. `graph` takes all of the input's quads, else each
        goes where the input says. `mode="replace"` puts the input in the place of what the graph held: of `graph`, else
        of every graph that the input names, and of the default graph for a format without graphs. Each document's
        blank nodes become new ones. `embed=False` leaves the new texts pending. URLs are refused unless
        `allow_network` is True or names their host.

        ParseError (with source, line and column) for input that is not RDF, OpenError for input that is not there;
        the world is then as it was, and it is after an interruption too. But the load is kept before its texts are
        embedded: if that fails, the change says why in its `.notes`, the log "worlds" warns, and the texts are pending
        (found by words, not by vectors) until `embed()` or the next write.
        """
        if mode not in ("merge", "replace"):
            raise ValueError(f"mode is 'merge' or 'replace', not {mode!r}")
        target = None if graph is None else self._graph_name(graph)
        with self._gate.write(author=author, message=message) as revision:
            interner = Interner(self._connection, self._dictionary, rename_blank_nodes=True)
            reader = Reader(interner, graph=target)
            with interner.bulk():
                plain = self._read(source, reader, interner, format, base, allow_network, progress)
                quads = reader.quads()
            removed = NO_QUADS
            if mode == "replace":
                held = self._held(quads, interner, target, plain)
                quads, removed = difference(quads, held), difference(held, quads)
            if progress:
                progress("write", 0, len(quads) + len(removed))
            added, gone, chunks = self._gate.apply(quads, removed)
        return self._finish(revision, added, gone, chunks, embed=embed, progress=progress)

    def _read(
        self,
        source: object,
        reader: Reader,
        interner: Interner,
        format: str | None,
        base: str | None,
        allow_network: bool | Collection[str],
        progress: Progress | None,
    ) -> bool:
        """Read every document of `source`; gives whether one was in a format without named graphs."""
        plain = False
        prefixes: dict[str, str] = {}
        items: Iterable[Any] = source if isinstance(source, (list, tuple)) else [source]
        for item in items:
            if hasattr(item, "triples") and hasattr(item, "namespaces"):
                reader.read(rdflib_quads(item))
                prefixes |= {str(prefix): str(iri) for prefix, iri in item.namespaces()}
                plain = plain or not hasattr(item, "quads")
                interner.end_document()
                continue
            for document in sources(item, format=format, base=base, allow_network=allow_network):
                taken = 0

                def count(size: int) -> None:
                    nonlocal taken
                    taken += size

                def report(_: int, size: int | None = document.size, name: str = document.name) -> None:
                    if progress:
                        progress(f"read {Path(name).name}", taken, size)  # noqa: B023  # this document's

                with parsing(document, on_bytes=count) as quads:
                    reader.read(quads, report)
                    prefixes |= quads.prefixes
                plain = plain or not FORMATS[document.format].graphs
                interner.end_document()
        for prefix, iri in prefixes.items():
            with contextlib.suppress(ValueError):  # rdflib and JSON-LD take more for a prefix than SPARQL does
                self._connection.run(_SQL["add_prefix"], _namespace(prefix, iri))
        return plain

    def _held(self, quads: Ids, interner: Interner, target: GraphName | None, plain: bool) -> Ids:
        """The quads that a replacing load puts its own in the place of."""
        graphs = {int(graph) for graph in np.unique(quads[:, 3])} if len(quads) else set()
        if target is not None:
            graphs = {int(interner.resolve(np.array([interner.local(target)]))[0])}  # type: ignore[arg-type]  # an IRI
        elif plain:
            graphs.add(DEFAULT_GRAPH_ID)
        blocks = [block for graph in graphs for block in read_quads(self._connection, "quads_of_graph", graph=graph)]
        return np.concatenate([NO_QUADS, *blocks])

    def _graph_name(self, graph: object) -> GraphName:
        if isinstance(graph, ox.DefaultGraph) or graph == "default":
            return DEFAULT_GRAPH
        term = self._term(graph)
        if not isinstance(term, (ox.NamedNode, ox.BlankNode)):
            raise ValueError(f"a graph is named by an IRI, not by {graph!r}")
        return term

    def _finish(
        self, revision: Revision, added: int, removed: int, chunks: int, *, embed: bool, progress: Progress | None
    ) -> Change:
        if not added and not removed:
            return Change(None, 0, 0)
        if self._gate.writing:
            revision.embed |= embed
            return Change(revision.number, added, removed, chunks)
        self._retain()
        embedded, notes = self._embed_new(revision, progress) if embed and chunks else (0, ())
        return Change(revision.number, added, removed, chunks, embedded, notes)

    def _embed_new(self, revision: Revision, progress: Progress | None) -> tuple[int, tuple[str, ...]]:
        """Embed the texts of a revision; gives their number, and what there is to say if some stay pending.

        The write that made them is kept already, so it must not look as if it had failed.
        """
        if self.embedder is None:
            return 0, ()
        try:
            with self._one_embeds:
                return self._embeddings.embed(self.embedder, _embedding(progress), after=revision.last_chunk), ()
        except WorldsError as error:
            note = f"new texts are not embedded yet, and are found by words only: {error}"
            _log.warning("%s: %s", self.path, note)
            return self._embeddings.asked, (note,)

    # -- embeddings -----------------------------------------------------------------------------------------------

    def embed(self, *, rebuild: bool = False, progress: Progress | None = None) -> int:
        """Give every pending chunk its vector; gives the number of texts that the embedder read.

        Each batch is kept as soon as it is done, so an interrupted call goes on where it stopped. `rebuild=True`
        drops all vectors first, which changing the embedder needs. EmbedderError without an embedder, or with one that
        does not fit, or that fails.
        """
        embedder = self._require_embedder()
        if self._gate.writing:
            raise WorldsError("embed() cannot run inside a transaction: new texts are embedded when it ends")
        with self._one_embeds:
            if rebuild:
                self._embeddings.forget()
            return self._embeddings.embed(embedder, _embedding(progress))

    def _require_embedder(self) -> Embedder:
        if self.embedder is None:
            raise EmbedderError(f"this world was opened without an embedder. {reason_without()}".strip())
        return self.embedder

    # -- history --------------------------------------------------------------------------------------------------

    def history(self, limit: int | None = None) -> list[Entry]:
        """The revisions, newest first, at most `limit`: each with its number, time, author, message, and counts."""
        return self._history.entries(limit)

    def diff(self, a: int, b: int | None = None) -> Diff:
        """What is different after revision `b` from how it was after revision `a`: the quads added and removed.

        `a` may be 0, the empty world; `b` None is now. With `a` after `b`, it is what leads back. ValueError for a
        revision that there is not, WorldsError for one before those that `prune` left.
        """
        return self._history.diff(a, b)

    def at(self, revision: int) -> Past:
        """The world as it was after a revision, to query and export, not to write. Errors as `diff` has them."""
        return self._history.past(revision, self.prefixes, self._term)

    def undo(
        self, revision: int, *, force: bool = False, author: str | None = None, message: str | None = None
    ) -> Change:
        """Take back what a revision did, as a new revision; undoing that one does it again.

        ConflictError if a later revision removed a quad that it had added, or added one that it had removed, naming
        them; `force=True` leaves such quads as they are and takes back the rest. Other errors as `diff` has them.
        """
        message = f"undo of revision {revision}" if message is None else message
        with self._gate.write(author=author, message=message) as written:
            quads, gone = self._history.inverse(revision, force=force)
            added, removed, chunks = self._gate.apply(quads, gone)
        return self._finish(written, added, removed, chunks, embed=True, progress=None)

    def patch(self, a: int, b: int | None = None) -> str:
        """The difference between two revisions (see `diff`) as an RDF Patch; `patch(n - 1, n)` is what n did."""
        return self.diff(a, b).patch()

    def apply_patch(
        self,
        source: object,
        *,
        strict: bool = True,
        author: str | None = None,
        message: str | None = None,
        embed: bool = True,
    ) -> Change:
        """Apply an RDF Patch as one revision: its path, its bytes or its text, or a file object.

        The labels of its blank nodes name nodes of this world. ConflictError if it adds a quad that is there, or
        deletes one that is not; `strict=False` ignores these. ParseError (with line and column) for what is no patch.
        """
        with self._gate.write(author=author, message=message) as revision:
            quads, gone = self._history.read_patch(source, strict=strict)
            added, removed, chunks = self._gate.apply(quads, gone)
        return self._finish(revision, added, removed, chunks, embed=embed, progress=None)

    @property
    def retention(self) -> Retention:
        """How much history is kept, all of it unless set. It is applied when it is set, and after every write."""
        return self._history.retention

    @retention.setter
    def retention(self, retention: Retention) -> None:
        with self._connection.transaction():
            self._history.set_retention(retention)
            self._history.retain()

    def prune(self, before: int | datetime.datetime) -> int:
        """Forget the revisions before a number or a time, with the quads that they removed; gives how many.

        The quads of now stay. How the world was can still be told from the revision before `before` on.
        `compact()` gives the space back. ValueError for a number beyond the last revision's next.
        """
        with self._connection.transaction():
            return self._history.prune(before)

    def _retain(self) -> None:
        """Forget what the retention does not keep; the write before is kept already, so it must not seem to fail."""
        try:
            self._history.retain()
        except WorldsError as error:
            _log.warning("%s: older revisions are not forgotten yet: %s", self.path, error)

    # -- SPARQL ---------------------------------------------------------------------------------------------------

    def query(
        self,
        query: str,
        *,
        bindings: Mapping[str, object] | None = None,
        union: bool = False,
        timeout: float | None = None,
        max_results: int | None = None,
        max_memory: int | None = None,
        allow_network: bool | Collection[str] = False,
        progress: Progress | None = None,
    ) -> Solutions | Triples | bool:
        """Answer a SPARQL query: SELECT gives `Solutions`, ASK a bool, CONSTRUCT and DESCRIBE `Triples`.

        The default graph is the default graph alone, or with `union=True` all graphs together. The world's prefixes
        need no declaration. `bindings` gives variables their values. The first query builds the index in memory.

        A query from somebody who is not trusted wants limits: `timeout`, in seconds (QueryTimeout), and `max_memory`,
        in bytes, stop it wherever it is, in a process of its own that reads the index as it is now; `max_results` is
        how many solutions or triples it may have. SERVICE reaches the network only if `allow_network` is True or
        names the hosts. QueryError (with line and column) for what does not parse, is too deep or too long, or
        exceeds a limit.
        """
        asked = Asked(
            query,
            self.prefixes,
            self._bindings(bindings),
            union=union,
            timeout=timeout,
            max_results=max_results,
            max_memory=max_memory,
            allow_network=allow_network,
        )
        return self._queries.answer(asked, None if progress is None else partial(progress, "index"))

    def explain(
        self,
        query: str,
        *,
        bindings: Mapping[str, object] | None = None,
        union: bool = False,
        timeout: float | None = None,
        allow_network: bool | Collection[str] = False,
        progress: Progress | None = None,
    ) -> QueryExplanation:
        """Answer a SPARQL query and tell how: what each step took, what its searches became, what each pattern matches.

        pyoxigraph shows no plan, so this is as far as can be seen from outside. Options and errors as for `query`.
        """
        asked = Asked(
            query,
            self.prefixes,
            self._bindings(bindings),
            union=union,
            timeout=timeout,
            allow_network=allow_network,
        )
        return self._queries.explain(asked, None if progress is None else partial(progress, "index"))

    def update(
        self,
        text: str,
        *,
        bindings: Mapping[str, object] | None = None,
        union: bool = False,
        author: str | None = None,
        message: str | None = None,
        embed: bool = True,
        timeout: float | None = None,
        allow_network: bool | Collection[str] = False,
        allow_files: bool = False,
    ) -> Change:
        """Run a SPARQL 1.1 Update request, several operations perhaps, as one revision: all of it or nothing.

        The world's prefixes need no declaration. `bindings` gives variables their terms. `union=True` lets patterns
        see all graphs as the default graph. `timeout` is in seconds, for each pattern. LOAD and SERVICE reach the
        network only if `allow_network` is True or names their hosts, LOAD reads `file:` IRIs only with `allow_files`.

        Literals that have the same value are one to SPARQL: inserting `1` where `01` is changes nothing, deleting `1`
        deletes `01`. A named graph exists while it has quads, or from CREATE to DROP; the creation of an empty graph
        counts as one quad added. QueryError (with line and column) for what is no update, or cannot be done.
        """
        values = self._bindings(bindings)
        with self._gate.write(author=author, message=message) as revision:

            def select(
                query: str,
                *,
                default_graphs: Sequence[GraphName] | None,
                named_graphs: Sequence[NamedGraph] | None,
            ) -> tuple[list[str], Rows]:
                asked = Asked(
                    query,
                    {},
                    union=union and default_graphs is None,
                    default_graphs=default_graphs,
                    named_graphs=named_graphs,
                    timeout=timeout,
                    allow_network=allow_network,
                )
                return self._queries.rows(asked)

            def load(iri: str, graph: NamedGraph | None) -> None:
                source = iri
                if iri.lower().startswith("file:"):
                    if not allow_files:
                        raise QueryError(f"LOAD <{iri}>: reading files is not allowed")
                    source = unquote(urlsplit(iri).path)
                change = self.load(source, graph=graph, embed=False, allow_network=allow_network)
                target.count(change.added, change.removed, change.chunks)

            target = WorldTarget(self._connection, self._dictionary, self._gate, self._sparql, select=select, load=load)
            run_update(text, target, prefixes={"w": NAMESPACE, **self.prefixes}, bindings=values)
        counts = (target.added, target.removed)
        if not self._gate.writing:  # what was added and removed again is no change
            counts = (revision.added, revision.removed)
        return self._finish(revision, *counts, target.chunks, embed=embed, progress=None)

    def _bindings(self, bindings: Mapping[str, object] | None) -> dict[str, Any]:
        if not isinstance(bindings, Mapping | None) or not all(isinstance(name, str) for name in bindings or ()):
            raise TypeError(f"bindings map the names of variables to terms, they are not {bindings!r}")
        prefixes = self.prefixes
        return {name: to_object(value, prefixes=prefixes) for name, value in (bindings or {}).items()}

    def _where_subjects(self, pattern: str, graphs: list[Any] | None) -> list[Any]:
        return self._queries.subjects(pattern, self.prefixes, graphs)

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
        k: float = 60,
        weights: Mapping[str, float] | None = None,
        candidates: int | None = None,
        syntax: Literal["words", "fts5"] = "words",
        vector: Sequence[float] | np.ndarray[Any, Any] | None = None,
        plan: Literal["auto", "exact", "codes", "index"] = "auto",
        explain: bool = False,
    ) -> SearchResults:
        """The chunks that best answer `text`, best first: by vectors, by words, or by both, fused by their ranks.

        **Filters** narrow what can be found before anything is ranked, so the answer has min(`limit`, eligible) hits
        however few they are (in mode "text", as many as have one of the words). Each takes one value or a list, any of
        which will do; all that are given must hold for one quad: `subjects`, `predicates`, `types` (with `subclasses`,
        those below them too), `graphs` ("default" is the default graph), `languages` ("en" includes en-GB, "" is
        none), `where`, a SPARQL group pattern over ?subject. `exclude` maps the same names to what must not hold.
        `types`, `subclasses` and `where` read the union of all graphs, or those that `graphs` names.

        **Words**: all scripts; `"a phrase"`, `-without`, `prefix*`. `syntax="fts5"` hands the text to SQLite's FTS5.
        **Ranking**: a chunk's score is the sum over both lists of weight / (`k` + rank); `weights` maps "vector" and
        "text" to numbers, 1.0 by default; each list is `candidates` long (100, or `limit` if that is more).
        `vector`, float32 [d], takes the place of the text's own. `plan` forces a way to find the nearest vectors:
        "exact", "codes" or "index". `explain=True` tells for each hit what each list gave.

        Without an embedder that fits, "hybrid" degrades to "text" and says so in `.notes`; "vector" is an
        EmbedderError, and so is a `vector` of another dimension than the world's. FilterError for what cannot be a
        filter, QueryError for a wrong FTS5 expression, ValueError for any other option.
        """
        request = self._request(
            text, limit, mode, k, weights, candidates, syntax, vector, plan,
            subjects=subjects, predicates=predicates, types=types, subclasses=subclasses, graphs=graphs,
            languages=languages, where=where, exclude=exclude,
        )  # fmt: skip
        return self._search.run(request, explain=explain)

    def search_sql(self, text: str, **options: Any) -> tuple[str, tuple[object, ...]]:
        """The SQL statement of a search and its parameters `?1 … ?N`; the options are those of `search`."""
        options.pop("explain", None)
        request = self._request_of(text, **options)
        with self._connection.snapshot():
            statement, parameters, _, _ = self._search.prepare(request, self._search.state())
        return statement.sql, parameters

    def _request_of(self, text: str, **options: Any) -> Request:
        """The request that options of `search` ask for."""
        names = ("limit", "mode", "k", "weights", "candidates", "syntax", "vector", "plan")
        defaults: dict[str, Any] = {"limit": 10, "mode": "hybrid", "k": 60, "syntax": "words", "plan": "auto"}
        chosen = [options.pop(name, defaults.get(name)) for name in names]
        return self._request(text, *chosen, **options)

    def _request(
        self,
        text: str,
        limit: int,
        mode: str,
        k: float,
        weights: Mapping[str, float] | None,
        candidates: int | None,
        syntax: str,
        vector: Sequence[float] | np.ndarray[Any, Any] | None,
        plan: str,
        **filters: Any,
    ) -> Request:
        if not isinstance(text, str):
            raise TypeError(f"a search takes a str, not {type(text).__name__}")
        for name, value, choices in (
            ("mode", mode, MODES),
            ("plan", plan, PLANS),
            ("syntax", syntax, ("words", "fts5")),
        ):
            if value not in choices:
                raise ValueError(f"{name} is one of {', '.join(choices)}, not {value!r}")
        candidates = DEFAULT_CANDIDATES if candidates is None else candidates
        for name, number in (("limit", limit), ("candidates", candidates)):
            if not _whole(number, MOST_CANDIDATES):
                raise ValueError(f"{name} is a whole number from 1 to {MOST_CANDIDATES:,}, not {number!r}")
        given = weights if isinstance(weights, Mapping) else {} if weights is None else {"": weights}
        if not given.keys() <= {"vector", "text"} or not all(map(_at_least_zero, given.values())):
            raise ValueError(f"weights map 'vector' and 'text' to numbers from 0 on, they are not {weights!r}")
        if not _at_least_zero(k):
            raise ValueError(f"k is a number from 0 on, not {k!r}")
        text = str(text)  # an rdflib.Literal's lexical form
        found, notes = self._query_vector(text, mode, vector)
        return Request(
            text=text,
            mode=mode,
            limit=int(limit),
            k=float(k),
            weights={"vector": 1.0, "text": 1.0, **given},
            candidates=int(candidates),
            plan=plan,
            syntax=syntax,
            filter=make_filter(self._term, **filters),
            vector=found,
            notes=notes,
        )

    def _query_vector(
        self, text: str, mode: str, given: Sequence[float] | np.ndarray[Any, Any] | None
    ) -> tuple[np.ndarray[Any, np.dtype[np.float32]] | None, tuple[str, ...]]:
        """The vector to search with, None to leave the vector leg out, and what there is to say about it."""
        if mode == "text":
            return None, ()
        stored = self._embeddings.stored
        if given is not None and stored is not None:
            return _unit(given, stored), ()
        try:
            embedder = self._require_embedder() if given is None else None
            if embedder is not None:
                self._embeddings.require(embedder)
            if embedder is None or stored is None:
                return None, ("no text is embedded yet; only words were searched",)
            if not text.strip():
                return None, ("the query is blank",)
            readable = text[: max(MAX_CHARS, _CHARS_A_TOKEN * embedder.max_tokens)]
            return checked_query(embedder, readable.encode("utf-8", "replace").decode()), ()  # no lone surrogates
        except EmbedderError as error:
            if mode == "vector":
                raise
            return None, (f"only words were searched: {error}",)

    # -- the file -------------------------------------------------------------------------------------------------

    def export(
        self, target: str | os.PathLike[str] | BinaryIO, *, format: str | None = None, graph: object = None
    ) -> int:
        """Write the quads to a file or a binary stream, and give their number; lexical forms are as they were given.

        `format` is taken from the target's name if None (.gz, .bz2 and .zst compress), else it is N-Quads. `graph`
        exports one graph alone ("default" is the default graph), as triples; a format without graphs refuses a world
        with named graphs otherwise. A file is put in place only when it is complete. ValueError for what the format
        cannot hold.
        """
        name = None if graph is None else self._graph_name(graph)
        declared: dict[str, str] = dict(self._connection.rows(_SQL["all_prefixes"]))
        return maintenance.export(self._connection, self._dictionary, target, format, name, declared)

    def stats(self) -> maintenance.Stats:
        """What the world holds: counts, sizes, the embedder, what is pending."""
        return maintenance.stats(self._connection, self._embeddings)

    def check(self) -> check.Report:
        """Verify that quads, chunks, full-text and vectors agree; the report says what doesn't. Changes nothing."""
        return check.check(self._connection, self._dictionary, self._chunks, self._embeddings)

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Write a complete copy of the world to a new file, as of now; other processes may go on.

        OpenError if there is something at `path` already, or it cannot be written.
        """
        maintenance.backup(self._connection, files.file_name(path))

    def compact(self) -> None:
        """Give unused space back: drop cached embeddings of texts that are gone and unused terms, and rebuild the file.

        The native vector index is built anew, which takes about a millisecond a vector.
        """
        maintenance.compact(self._connection, self._embeddings)
        self._dictionary.forget()
        self._sparql.drop()


def _embedding(progress: Progress | None) -> Callable[[int, int], None] | None:
    return None if progress is None else lambda done, total: progress("embed", done, total)


def _unit(vector: Sequence[float] | np.ndarray[Any, Any], stored: Mapping[str, object]) -> Any:
    """A caller's vector, float32 [d] of unit length; EmbedderError if it does not fit the world's."""
    try:
        given = np.asarray(vector, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise ValueError(f"vector takes numbers, not {vector!r:.80}: {error}") from error
    if given.shape != (stored["dimension"],):
        raise EmbedderError(
            f"the world's vectors have {stored['dimension']} dimensions; this one has shape {given.shape}"
        )
    length = float(np.linalg.norm(given))
    if not 0 < length < float("inf"):
        raise ValueError("the vector is zero or not finite")
    return given / np.float32(length)


def _namespace(prefix: object, iri: object) -> tuple[str, str]:
    """A prefix and its IRI as SPARQL takes them; ValueError for what it doesn't."""
    if not isinstance(prefix, str) or not is_prefix(prefix):
        raise ValueError(f"{prefix!r} is not a prefix: a letter, then letters, digits, '_', '-' and inner dots, or ''")
    try:
        return str(prefix), ox.NamedNode(iri).value  # type: ignore[arg-type]  # what is no str is a TypeError
    except (TypeError, ValueError) as error:
        raise ValueError(f"the prefix {prefix!r} stands for an absolute IRI, not {iri!r}: {error}") from error


def _whole(value: object, most: int) -> bool:
    """Whether it is a whole number, Python's or NumPy's, from 1 to `most`."""
    return not isinstance(value, bool) and isinstance(value, Integral) and 1 <= int(value) <= most


def _at_least_zero(value: object) -> bool:
    return not isinstance(value, bool) and isinstance(value, Real) and 0 <= float(value) < float("inf")


def _quad(item: Any, prefixes: Mapping[str, str]) -> ox.Quad:
    if isinstance(item, ox.Quad):
        return item
    if isinstance(item, ox.Triple):
        return ox.Quad(item.subject, item.predicate, item.object)
    if isinstance(item, (str, bytes)) or not isinstance(item, Sequence) or len(item) not in (3, 4):
        hint = "; one quad alone is given as a list of one" if isinstance(item, (str, ox.NamedNode)) else ""
        raise TypeError(f"a quad is a tuple of three or four terms, not {item!r}{hint}")
    subject, predicate = (to_oxigraph(part, prefixes=prefixes) for part in item[:2])
    if not isinstance(subject, (ox.NamedNode, ox.BlankNode)) or not isinstance(predicate, ox.NamedNode):
        raise ValueError(f"a subject is an IRI or a blank node, a predicate an IRI: {item!r}")
    value = to_object(item[2], prefixes=prefixes)
    graph: Any = DEFAULT_GRAPH
    if len(item) == 4 and item[3] is not None and not isinstance(item[3], ox.DefaultGraph):
        graph = to_oxigraph(item[3], prefixes=prefixes)
        if not isinstance(graph, (ox.NamedNode, ox.BlankNode)):
            raise ValueError(f"a graph is named by an IRI: {item!r}")
    return ox.Quad(subject, predicate, value, graph)
