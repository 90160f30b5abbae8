"""The world as it was after a revision, to query and to export."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, BinaryIO, TypeAlias

import numpy as np
import pyoxigraph as ox

from worlds.graph.lexical import LexicalForms
from worlds.graph.query.bindings import terms_of
from worlds.graph.query.evaluation import evaluate
from worlds.graph.query.merging import Merging
from worlds.graph.query.query import Query
from worlds.graph.query.results import Solutions, Triples
from worlds.graph.query.running import Running
from worlds.graph.search.rewriting import mentions_search
from worlds.quads.dataset import default_graph, of_data, own_named
from worlds.quads.dictionary import DEFAULT_GRAPH_ID, Dictionary, Ids
from worlds.quads.export import export
from worlds.quads.namespaces import Namespaces
from worlds.revisions.diff import Quad, Quads, decoded_quads, ordered, sorted_terms
from worlds.revisions.history import History, Moment
from worlds.sql.connection import Connection

_BLOCK = 20_000  # terms that are decoded together
Index: TypeAlias = tuple[ox.Store, LexicalForms, Merging]
Earlier: TypeAlias = Callable[[int], AbstractContextManager[Index | None]]
"""Gives the index of a revision, which is kept while it is asked; None where reading the quads of then is quicker."""


class Past:
    """The world as it was after a revision. It has no verbs that write, and later writes do not change it.

    `query`, `quads` and `export` read the history. `search`, `describe`, `context` and `neighbourhood` are those of
    `world`, a copy in memory with texts and vectors of its own, which is made at the first of them.
    """

    def __init__(
        self,
        connection: Connection,
        dictionary: Dictionary,
        namespaces: Namespaces,
        history: History,
        revision: Moment,
        world: Callable[[int], Any],
        running: Running,
        earlier: Earlier,
    ) -> None:
        """`earlier` gives the SPARQL index of a revision."""
        self.revision = history.check(revision)
        self._connection = connection
        self._dictionary = dictionary
        self._namespaces = namespaces
        self._history = history
        self._prefixes = namespaces.prefixes
        self._known: Ids | None = None
        self._indexes: dict[tuple[ox.NamedNode, ...], Index] = {}  # by the own graphs in it
        self._make_world = world
        self._running = running
        self._earlier = earlier
        self._world: Any = None

    def __enter__(self) -> Past:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Past {self._connection.path} at revision {self.revision}>"

    def __bool__(self) -> bool:
        return True  # an empty world is a world

    def __len__(self) -> int:
        """The number of quads that there were."""
        if self._known is not None:
            return int((self._known[:, 0] != 0).sum())
        return self._history.count(self.revision)

    def close(self) -> None:
        """Give the memory back; the next call reads the past again."""
        self._known = None
        self._indexes.clear()
        if self._world is not None:
            self._world.close()
            self._world = None

    def _ids(self) -> Ids:
        """All quads of that time as ids, markers included, int64 [n, 4]."""
        with self._connection.lock:
            if self._known is None:
                self._known = self._history.state(self.revision)[:, :4]
            return self._known

    def quads(
        self, subject: object = None, predicate: object = None, object: object = None, graph: object = None
    ) -> Iterator[Quad]:
        """The quads with these terms, as rdflib terms; None stands for any term, graph "default" for the default one.

        The fourth of each is None for the default graph. Lexical forms are as they were given.
        """
        ids = self._ids()
        ids = ids[ids[:, 0] != 0]
        for column, value in enumerate((subject, predicate, object, graph)):
            if value is not None:
                found = self._number(value, graph=column == 3)
                ids = ids[:0] if found is None else ids[ids[:, column] == found]
        return iter(Quads(self._dictionary, ordered(ids)))

    def _number(self, value: object, *, graph: bool) -> int | None:
        if not graph:
            return self._dictionary.find(self._namespaces.pattern(value))[0]  # type: ignore[arg-type]  # not None
        name = self._namespaces.graph(value)
        return DEFAULT_GRAPH_ID if isinstance(name, ox.DefaultGraph) else self._dictionary.find([name])[0]

    def query(
        self,
        query: str,
        *,
        bindings: Mapping[str, object] | None = None,
        union: bool | None = None,
        timeout: float | None = None,
        max_results: int | None = None,
        max_memory: int | None = None,
    ) -> Solutions | Triples | bool:
        """Answer a SPARQL query, as `World.query` does. The first one takes the world's index, and takes back in it
        what came since; where that is most of it, it reads the past into an index in memory.

        One that searches is answered by `world`.
        """
        if mentions_search(query):
            return self.world.query(  # type: ignore[no-any-return]
                query, bindings=bindings, union=union, timeout=timeout, max_results=max_results, max_memory=max_memory
            )
        asked = Query(
            query,
            self._prefixes,
            terms_of(bindings, self._prefixes, query),
            union=union,
            timeout=timeout,
            max_results=max_results,
            max_memory=max_memory,
        ).settled(union=default_graph(self._connection) == "union")
        own = own_named(asked)
        with contextlib.nullcontext() if own else self._earlier(self.revision) as found:
            if found is None:
                with self._connection.lock:
                    if own not in self._indexes:
                        self._indexes[own] = self._indexed(own)
                    found = self._indexes[own]
            store, forms, merging = found
            return evaluate(store, asked.replaced(wide=forms.wide).started(), forms, self._running, merging)

    def _indexed(self, own: Sequence[ox.NamedNode]) -> Index:
        dictionary = self._dictionary
        ids = of_data(dictionary, self._ids(), dictionary.find(own))
        store = ox.Store()
        store.bulk_extend(decoded_quads(dictionary, ids))
        for graph in sorted_terms(dictionary, ids[ids[:, 0] == 0, 3]):
            store.add_graph(graph)
        objects = np.unique(ids[ids[:, 0] != 0, 2])
        held = set(objects.tolist())
        forms = LexicalForms(lambda terms: [number in held for number in dictionary.find(terms)])
        for start in range(0, len(objects), _BLOCK):
            forms.learn(sorted_terms(dictionary, objects[start : start + _BLOCK]))
        return store, forms, Merging()

    @property
    def world(self) -> Any:
        """The revision as a `World` that can only be read, with the history until then and all verbs that read.

        It is a copy in memory, some 500 bytes a quad, made when it is first read, at some 100,000 quads a second.
        Vectors are those that the world has, or has retired; a text without one is embedded, if there is an embedder.
        Policy and prefixes are those of now; there are no sources and no proposals. `close` closes it.
        """
        with self._connection.lock:
            if self._world is None:
                self._world = self._make_world(self.revision)
            return self._world

    def search(self, text: str | None = None, **options: Any) -> Any:
        """Search the texts that there were; see `World.search`."""
        return self.world.search(text, **options)

    def describe(self, iri: object, **options: Any) -> Any:
        """What was said of an entity; see `World.describe`."""
        return self.world.describe(iri, **options)

    def context(self, question: str, **options: Any) -> Any:
        """Facts and passages for a question, as of then; see `World.context`."""
        return self.world.context(question, **options)

    def neighbourhood(self, iri: object, **options: Any) -> Any:
        """The quads that were around an entity; see `World.neighbourhood`."""
        return self.world.neighbourhood(iri, **options)

    def export(
        self, target: str | os.PathLike[str] | BinaryIO, *, format: str | None = None, graph: object = None
    ) -> int:
        """Write the quads as they were to a file or a stream, and give their number, as `World.export` does."""
        name = None if graph is None else self._namespaces.graph(graph)
        ids = self._ids()
        past = ids[ids[:, 0] != 0]
        return export(self._connection, self._dictionary, target, format, name, self._namespaces.declared, past=past)
