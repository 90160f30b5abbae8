"""A world as the store of rdflib graphs: `rdflib.Dataset(store="Worlds")`, or `Dataset(WorldsStore(world))`.

docs/rdflib.md tells which graph of the world a rdflib graph is, what is one revision, and where rdflib and RDF differ.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import logging
import os
import shutil
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar

import pyoxigraph as ox
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID, ConjunctiveGraph, Graph
from rdflib.plugins.stores.memory import Memory
from rdflib.query import Result
from rdflib.store import NO_STORE, VALID_STORE, Store, TripleAddedEvent, TripleRemovedEvent
from rdflib.term import BNode, IdentifiedNode, URIRef

import worlds
from worlds.adapters.rdflib_terms import (
    Context,
    Triple,
    declared,
    has_blank,
    place_of_from,
    query_text,
    rdflib_result,
    rdflib_term,
    refuse_network,
    shown_bindings,
    world_graph,
    world_pattern,
    world_quad,
    world_term,
)
from worlds.errors import OpenError, ReadOnlyError
from worlds.extras.remote.address import is_address
from worlds.graph.plain import expect_triple_terms, is_plain
from worlds.graph.query.tokens import error_at, tokenize
from worlds.graph.terms import WELL_KNOWN_PREFIXES

FILE = "world.db"
"""The world's file where a store is opened by the name of a folder, as other stores of rdflib are."""

# rdflib takes relative IRIs and any label of a blank node. RDF does not: the world holds them in these forms.

T = TypeVar("T")
_log = logging.getLogger("worlds")
_BUFFERED = 10_000  # triples added in a transaction before they are written
_FORMS = ("SELECT", "ASK", "CONSTRUCT", "DESCRIBE")


class _Undone(Exception):  # noqa: N818  # it reports no error
    """Ends a transaction without keeping it."""


class WorldsStore(Store):
    """A store of rdflib over one world.

    `configuration` is an open `World`, which stays the caller's to close, or the path of a world to open or make;
    without it, `open` comes first. With `autocommit` each call that writes is a revision; without, all that is
    written until `commit()` is one, and `rollback()` or `close()` drops it. Such a transaction belongs to the thread
    that began it, and others wait for its end. `embed=False` leaves new texts pending until `world.embed()`.
    Triples and solutions with triple terms or base directions, which rdflib has not, are left out, and the log "worlds"
    says so once; with `triple_terms="error"` they are a ValueError.
    """

    context_aware = True
    formula_aware = False
    graph_aware = True
    transaction_aware = True

    def __init__(
        self,
        configuration: worlds.World | str | os.PathLike[str] | None = None,
        identifier: IdentifiedNode | None = None,
        *,
        autocommit: bool = True,
        embed: bool = True,
        triple_terms: Literal["skip", "error"] = "skip",
    ) -> None:
        expect_triple_terms(triple_terms, ("skip", "error"))
        super().__init__(None, identifier)
        self._world: worlds.World | None = None
        self._owned = False
        self._autocommit = autocommit
        self._embed = embed
        self._skips = triple_terms == "skip"
        self._warned = False
        self._transaction: contextlib.ExitStack | None = None
        self._added: list[ox.Quad] = []  # in the transaction, and not yet written
        self._created: set[IdentifiedNode] = set()  # named graphs that may be empty
        self._prefixes: dict[str, str] = {}  # those that are not the world's
        self._hidden: set[tuple[str, str]] = set()  # the world's, for which another prefix was bound here
        if isinstance(configuration, worlds.World):
            self._world = configuration
        elif configuration is not None:
            self.open(configuration, create=True)

    # -- life -----------------------------------------------------------------------------------------------------

    @property
    def world(self) -> worlds.World:
        """The world; OpenError where none is open."""
        if self._world is None:
            raise OpenError("the store has no world: call open(path, create=True) first")
        return self._world

    def open(self, configuration: Any, create: bool = False) -> int:
        """Open the world in the file `configuration`, in `world.db` in the folder of that name, or at that address.

        NO_STORE if there is none and `create` is False. Errors as of `worlds.open`.
        """
        self.close()
        path = _file(configuration)
        if isinstance(path, Path) and not create and not path.exists():
            return NO_STORE
        self._world = worlds.open(path, create=create)
        self._owned = True
        return VALID_STORE

    def close(self, commit_pending_transaction: bool = False) -> None:
        """End the transaction, kept or not, and close the world if this store opened it."""
        if self._world is None:
            return
        if commit_pending_transaction:
            self.commit()
        else:
            self.rollback()
        if self._owned:
            self._world.close()
        self._world, self._owned = None, False
        self._created.clear()
        self._prefixes.clear()
        self._hidden.clear()

    def destroy(self, configuration: Any) -> None:
        """Delete the world's file and the files beside it; closes the world if it is the open one.

        OpenError for a world on a server.
        """
        path = _file(configuration)
        if not isinstance(path, Path):
            raise OpenError(f"{path} is a world on a server, which is not deleted from here")
        if self._world is not None and self._owned and self._world.path == str(path):
            self.close()
        for suffix in ("", "-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        shutil.rmtree(path.with_name(path.name + "-sparql"), ignore_errors=True)

    # -- transactions ---------------------------------------------------------------------------------------------

    def commit(self) -> None:
        """Commit all writes since the last commit, as one revision."""
        if self._transaction is not None:
            self._flush()
            transaction, self._transaction = self._transaction, None
            transaction.close()

    def rollback(self) -> None:
        """Undo all writes since the last commit; with `autocommit` there are none."""
        self._added.clear()
        transaction, self._transaction = self._transaction, None
        if transaction is not None:
            with contextlib.suppress(_Undone), transaction:
                raise _Undone

    def _begin(self) -> worlds.World:
        """The world, in a transaction if there is no autocommit."""
        world = self.world
        if not self._autocommit and self._transaction is None:
            transaction = contextlib.ExitStack()
            transaction.enter_context(world.transaction())
            self._transaction = transaction
        return world

    def _flush(self) -> worlds.World:
        """The world, in which all that was added is now."""
        world = self.world
        if self._added:
            quads, self._added = self._added, []
            world.add(quads, embed=self._embed)
        return world

    # -- triples --------------------------------------------------------------------------------------------------

    def add(self, triple: Triple, context: Context, quoted: bool = False) -> None:
        """Add a triple to a graph; ValueError or TypeError for a term in a place where RDF allows none of its kind."""
        if quoted:
            raise ValueError("a world holds no quoted statements of N3")
        self._write([world_quad(triple, context)])
        self._tell(TripleAddedEvent, triple, context)

    def addN(self, quads: Iterable[tuple[Any, Any, Any, Any]]) -> None:  # noqa: N802  # rdflib's name
        """Add many triples to their graphs, as one revision."""
        given = list(quads)
        self._write([world_quad((s, p, o), context) for s, p, o, context in given])
        for s, p, o, context in given:
            self._tell(TripleAddedEvent, (s, p, o), context)

    def _write(self, quads: list[ox.Quad]) -> None:
        world = self._begin()
        if self._autocommit:
            world.add(quads, embed=self._embed)
            return
        self._added += quads
        if len(self._added) >= _BUFFERED:
            self._flush()

    def remove(self, triple: Triple, context: Context = None) -> None:
        """Remove the triples that match from a graph, or from all; None matches everything."""
        self._begin()
        world = self._flush()
        pattern = world_pattern(triple)
        if pattern is not None:
            with world.transaction():
                world.remove(list(world.quads(*pattern, world_graph(context))))
        self._tell(TripleRemovedEvent, triple, context)

    def _tell(self, event: Any, triple: Triple, context: Context) -> None:
        dispatch: Any = self.dispatcher.dispatch
        dispatch(event(triple=triple, context=context))

    def triples(
        self, triple_pattern: Triple, context: Context = None
    ) -> Generator[tuple[Triple, Iterator[Any]], None, None]:
        """The triples that match, of a graph or of all, each once, with the graphs that it was found in."""
        world = self._flush()
        pattern = world_pattern(triple_pattern)
        if pattern is None:
            return
        graph = world_graph(context)
        quads = self._shown(world.quads(*pattern, graph), lambda quad: quad[2:3])
        if graph is not None:
            own = self._context(context)
            for s, p, o, _ in quads:
                yield (rdflib_term(s), rdflib_term(p), rdflib_term(o)), iter((own,))
            return
        contexts: dict[Any, Graph] = {}
        for (s, p, o), found in itertools.groupby(quads, key=lambda quad: quad[:3]):
            names = [quad[3] for quad in found]
            for name in names:
                if name not in contexts:
                    contexts[name] = self._context(None if name is None else rdflib_term(name))
            yield (rdflib_term(s), rdflib_term(p), rdflib_term(o)), iter([contexts[name] for name in names])

    def _shown(self, rows: Iterable[T], terms: Callable[[T], Iterable[Any]]) -> Iterator[T]:
        """The rows whose terms rdflib has; all rows where other terms are errors."""
        for row in rows:
            if not self._skips or all(map(is_plain, terms(row))):
                yield row
            elif not self._warned:
                self._warned = True
                _log.warning("the store leaves out what has triple terms or base directions, which rdflib has not")

    def __len__(self, context: Context = None) -> int:
        """The number of triples in a graph, or of distinct triples in all."""
        return self._flush().count(graph=world_graph(context), triples=True)

    # -- graphs ---------------------------------------------------------------------------------------------------

    def contexts(self, triple: Triple | None = None) -> Generator[Any, None, None]:
        """The graphs of a triple, or all graphs: graphs with triples, and empty graphs that were created."""
        world = self._flush()
        if triple is not None and triple != (None, None, None):
            for _, found in self.triples(triple):
                yield from found
            return
        if self.__len__(DATASET_DEFAULT_GRAPH_ID):
            yield self._context(None)
        names = {rdflib_term(name) for name in world.graphs()}
        yield from map(self._context, names | self._created)

    def _context(self, context: Context) -> Graph:
        """The rdflib graph of a context; None is the default graph."""
        if isinstance(context, Graph) and not isinstance(context, ConjunctiveGraph):
            return context
        unnamed = context is None or isinstance(context, Graph)
        return Graph(store=self, identifier=DATASET_DEFAULT_GRAPH_ID if unnamed else context)

    def add_graph(self, graph: Any) -> None:
        """Create a named graph, which then exists while it is empty; a graph with triples exists already."""
        name = world_graph(graph, writing=True)
        if isinstance(name, ox.DefaultGraph) or self.__len__(graph):
            return
        if isinstance(name, ox.NamedNode):
            self._begin()
            with contextlib.suppress(ReadOnlyError):
                self._flush().update(f"CREATE SILENT GRAPH {name}")
                return
        self._created.add(graph.identifier)  # SPARQL cannot name it

    def remove_graph(self, graph: Any) -> None:
        """Remove a graph with its triples; the default graph is emptied."""
        self.remove((None, None, None), graph)
        name = world_graph(graph, writing=True)
        if isinstance(name, ox.NamedNode):
            self._flush().update(f"DROP SILENT GRAPH {name}")
        self._created.discard(graph.identifier)

    # -- SPARQL ---------------------------------------------------------------------------------------------------

    def query(
        self,
        query: Any,
        initNs: Mapping[str, Any],  # noqa: N803  # rdflib's names
        initBindings: Mapping[str, Any],  # noqa: N803
        queryGraph: Any,  # noqa: N803
        **options: Any,
    ) -> Result:
        """Answer a query with the world's engine; `options` are those of `World.query`. Errors are QueryErrors.

        rdflib's own engine answers where a graph is named, or a variable bound, by a blank node.
        """
        world = self._flush()
        text, prefixes, base = query_text(query, initNs, options)
        bindings = shown_bindings(initBindings, text)
        if isinstance(queryGraph, BNode) or has_blank(bindings):
            refuse_network(text)
            raise NotImplementedError
        tokens = tokenize(text)
        form = next((token for token in tokens if token.is_word(*_FORMS)), None)
        if form is None:
            raise error_at("a query has one of " + ", ".join(_FORMS), text, 0)
        asked, place = text, place_of_from(tokens, form)
        if place is not None and isinstance(queryGraph, URIRef) and queryGraph != DATASET_DEFAULT_GRAPH_ID:
            asked = f"{text[:place]} FROM {world_term(queryGraph)} {text[place:]}"
        options.setdefault("union", queryGraph == "__UNION__" and place is not None)
        with declared(tokens, world.prefixes, prefixes, base) as prologue:
            answer = world.query(prologue + asked, bindings=bindings, **options)
        return rdflib_result(form.text.upper(), answer, self._shown)

    def update(
        self,
        update: Any,
        initNs: Mapping[str, Any],  # noqa: N803
        initBindings: Mapping[str, Any],  # noqa: N803
        queryGraph: Any,  # noqa: N803
        **options: Any,
    ) -> None:
        """Run an update as one revision with the world's engine; `options` as in `World.update`. Errors are
        QueryErrors.

        rdflib's own engine does it for a single named graph, or where a variable is bound to a blank node.
        """
        self._begin()
        world = self._flush()
        text, prefixes, base = query_text(update, initNs, options)
        bindings = shown_bindings(initBindings, text)
        if queryGraph not in ("__UNION__", DATASET_DEFAULT_GRAPH_ID) or has_blank(bindings):
            refuse_network(text)
            raise NotImplementedError
        options = {"union": str(queryGraph) == "__UNION__", "embed": self._embed, **options}
        with declared(tokenize(text), world.prefixes, prefixes, base) as prologue:
            world.update(prologue + text, bindings=bindings, **options)

    # -- prefixes -------------------------------------------------------------------------------------------------

    def bind(self, prefix: str, namespace: URIRef, override: bool = True) -> None:
        """Set a prefix, in the world's file too unless rdflib binds it in every graph, or SPARQL doesn't allow it."""
        iri, bound = str(namespace), self._bound()
        known = next((known for known, other in bound.items() if other == iri), None)
        if not override and (known is not None or prefix in bound):
            return
        if known is not None and known != prefix:
            self._prefixes.pop(known, None)
            self._hidden.add((known, iri))
        self._hidden.discard((prefix, iri))
        self._prefixes.pop(prefix, None)
        if prefix not in self._stored() and _is_default(prefix, iri):
            self._prefixes[prefix] = iri
            return
        if WELL_KNOWN_PREFIXES.get(prefix) == iri:  # which is not told from what every world has
            self._prefixes[prefix] = iri
        try:
            self.world.bind(prefix, iri)
        except (ReadOnlyError, ValueError):
            self._prefixes[prefix] = iri

    def _stored(self) -> dict[str, str]:
        stored = {} if self._world is None else self._world.prefixes
        return {p: iri for p, iri in stored.items() if WELL_KNOWN_PREFIXES.get(p) != iri}

    def _bound(self) -> dict[str, str]:
        stored = {p: iri for p, iri in self._stored().items() if (p, iri) not in self._hidden}
        own = {p: iri for p, iri in self._prefixes.items() if p not in stored or not _is_default(p, iri)}
        return dict(sorted({**stored, **own}.items()))

    def namespace(self, prefix: str) -> URIRef | None:
        """The IRI that a prefix stands for."""
        iri = self._bound().get(prefix)
        return None if iri is None else URIRef(iri)

    def prefix(self, namespace: URIRef) -> str | None:
        """The prefix of an IRI."""
        return next((prefix for prefix, iri in self._bound().items() if iri == str(namespace)), None)

    def namespaces(self) -> Iterator[tuple[str, URIRef]]:
        """Prefixes and IRIs: prefixes of loaded documents, and prefixes set by `bind`, in rdflib or in the world."""
        for prefix, iri in self._bound().items():
            yield prefix, URIRef(iri)


def _file(configuration: Any) -> Path | str:
    if isinstance(configuration, str) and is_address(configuration):
        return configuration
    if not isinstance(configuration, str | os.PathLike):
        raise TypeError(f"a store of worlds opens the path of a file, not {configuration!r}")
    path = Path(configuration)
    return path / FILE if path.is_dir() else path


@functools.cache
def _defaults() -> Mapping[str, str]:
    """The prefixes that rdflib binds in every graph by itself."""
    return {prefix: str(iri) for prefix, iri in Graph(Memory()).namespaces()}


def _is_default(prefix: str, iri: str) -> bool:
    return _defaults().get(prefix.rstrip("0123456789")) == iri  # it appends a number to a prefix that is taken


# --- terms ------------------------------------------------------------------------------------------------------------


# --- SPARQL -----------------------------------------------------------------------------------------------------------
