"""Loads RDF from files, folders, URLs, streams and rdflib graphs as one revision."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyoxigraph as ox

from worlds.graph.formats import FORMATS, parsing, rdflib_quads
from worlds.graph.sources import Source, sources
from worlds.graph.terms import GraphName
from worlds.quads.dictionary import DEFAULT_GRAPH_ID, Dictionary, Ids, Interner
from worlds.quads.namespaces import Namespaces
from worlds.quads.reader import Reader
from worlds.quads.rows import NO_QUADS, difference, read_quads
from worlds.revisions.diff import Diff
from worlds.revisions.gate import Change
from worlds.revisions.rehearsing import rehearsable
from worlds.revisions.writer import Progress, Writer
from worlds.sql.connection import Connection

_PREFIX = ox.NamedNode("http://purl.org/vocab/vann/preferredNamespacePrefix")
_NAMESPACE = ox.NamedNode("http://purl.org/vocab/vann/preferredNamespaceUri")


class Loader:
    """Loads documents into one world."""

    def __init__(self, connection: Connection, dictionary: Dictionary, namespaces: Namespaces, writer: Writer) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self._namespaces = namespaces
        self._writer = writer

    @rehearsable(Change)
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
        dry_run: bool = False,
    ) -> Change | Diff:
        """See `World.load`."""
        if mode not in ("merge", "replace"):
            raise ValueError(f"mode is 'merge' or 'replace', not {mode!r}")
        target = None if graph is None else self._namespaces.graph(graph)
        with self._writer.revision(
            author=author, message=message, embed=embed, progress=progress, dry_run=dry_run
        ) as revision:
            interner = Interner(self._connection, self._dictionary, rename_blank_nodes=True)
            documents = _Documents(interner, target, progress)
            with interner.bulk():
                for item in source if isinstance(source, (list, tuple)) else [source]:
                    if hasattr(item, "triples") and hasattr(item, "namespaces"):
                        documents.read_graph(item)
                        continue
                    found = sources(
                        item, format=format, base=base, allow_network=allow_network, max_unpacked=max_unpacked
                    )
                    for document in found:
                        documents.read(document)
                quads = documents.quads()
            self._namespaces.adopt(documents.prefixes)
            self._namespaces.adopt(self._preferred(quads))
            removed = NO_QUADS
            if mode == "replace":
                held = self._held(documents.targets(quads))
                quads, removed = difference(quads, held), difference(held, quads)
            if progress:
                progress("write", 0, len(quads) + len(removed))
            revision.apply(quads, removed)
        return revision.change

    def _preferred(self, quads: Ids) -> dict[str, str]:
        """The prefixes that vocabularies among the quads prefer (VANN)."""
        prefix, namespace = self._dictionary.find([_PREFIX, _NAMESPACE])
        if prefix is None or namespace is None:
            return {}
        said = quads[np.isin(quads[:, 1], (prefix, namespace))]
        terms = self._dictionary.terms(said[:, 2].tolist())
        texts = {(subject, of): getattr(terms[value], "value", "") for subject, of, value, _ in said.tolist()}
        return {
            text: texts[subject, namespace]
            for (subject, of), text in texts.items()
            if of == prefix and (subject, namespace) in texts
        }

    def _held(self, graphs: Iterable[int]) -> Ids:
        blocks = [block for graph in graphs for block in read_quads(self._connection, "quads_of_graph", graph=graph)]
        return np.concatenate([NO_QUADS, *blocks])


class _Documents:
    """What is read, document by document."""

    def __init__(self, interner: Interner, target: GraphName | None, progress: Progress | None) -> None:
        self._interner = interner
        self._target = target
        self._reader = Reader(interner, graph=target)
        self._progress = progress
        self._triples = False  # whether a document was in a format without named graphs
        self.prefixes: dict[str, str] = {}

    def quads(self) -> Ids:
        """The distinct quads of all documents, int64 [n, 4]."""
        return self._reader.quads()

    def read_graph(self, graph: Any) -> None:
        """Read an rdflib graph."""
        self._reader.read(rdflib_quads(graph))
        self.prefixes |= {str(prefix): str(iri) for prefix, iri in graph.namespaces()}
        self._triples = self._triples or not hasattr(graph, "quads")
        self._interner.end_document()

    def read(self, document: Source) -> None:
        """Read what a source has."""
        taken = 0

        def count(size: int) -> None:
            nonlocal taken
            taken += size

        def report(_: int) -> None:
            if self._progress:
                self._progress(f"read {Path(document.name).name}", taken, document.size)

        with parsing(document, on_bytes=count) as quads:
            self._reader.read(quads, report)
            self.prefixes |= quads.prefixes
        self._triples = self._triples or not FORMATS[document.format].graphs
        self._interner.end_document()

    def targets(self, quads: Ids) -> set[int]:
        """The graphs that `quads`, in the place of what they held, are put into."""
        if self._target is not None:
            return {int(self._interner.resolve(np.array([self._interner.local(self._target)]))[0])}  # type: ignore[arg-type]  # an IRI
        graphs = set(np.unique(quads[:, 3]).tolist())
        return graphs | {DEFAULT_GRAPH_ID} if self._triples else graphs
