"""The verbs that read quads, and the file they are in."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

from worlds.errors import ArgumentError
from worlds.file.backup import backup
from worlds.graph.plain import TripleTerms
from worlds.graph.targets import file_name
from worlds.quads.export import export
from worlds.quads.patterns import to_dataset
from worlds.verbs.calling import verb
from worlds.verbs.parts import Parts

if TYPE_CHECKING:
    import rdflib

    from worlds.file.problems import CheckReport
    from worlds.file.stats import Stats


class Reading(Parts):
    """The verbs that read quads, and the file they are in."""

    @verb
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

    @verb
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

    @verb
    def graphs(self) -> list[Any]:
        """The named graphs that exist, empty ones that were created included: their names as rdflib terms, sorted."""
        return self._patterns.graphs()

    @verb
    def to_rdflib(self, *, triple_terms: TripleTerms = "skip") -> rdflib.Dataset:
        """A copy in memory: an rdflib Dataset with the world's quads, graphs and prefixes, blank nodes kept.

        rdflib has no triple terms and no texts with a base direction. "skip" leaves out the quads that have one, and
        the log "worlds" counts them. "reify" makes statements of triple terms, as RDF 1.1 reifies (the reifier is the
        statement), and datatypes of directions (i18n:ar_rtl). "error" raises ValueError.
        """
        with self._connection.snapshot():
            return to_dataset(self.quads(), self.graphs(), self._namespaces.prefixes, triple_terms)

    @verb
    def export(
        self,
        target: str | os.PathLike[str] | BinaryIO,
        *,
        format: str | None = None,
        graph: object = None,
        table: object = None,
        everything: bool = False,
    ) -> int:
        """Write the quads to a file or a binary stream, and give their number; lexical forms are as they were given.

        `format` is taken from the target's name if None (.gz, .bz2 and .zst compress), else it is N-Quads. `graph`
        exports one graph alone ("default" is the default graph), as triples; a format without graphs refuses a world
        with named graphs otherwise. A file is put in place only when it is complete. ValueError if the format cannot
        hold the quads, or there is no such graph.

        `table`, a class, writes what is said of its instances in `graph`, else in the default graph, as a table: a file
        called .csv or .tsv, and beside it NAME-metadata.json, by which `load(…, mapping=True)` reads the same quads,
        and `load(…, mode="edit")` the cells that were edited.

        `everything` writes a new folder of plain files in the place of a file: the quads by revision, and all else that
        is no index: policies, proposals, sources, vectors, and its memories in folders of their own. `worlds.restore`
        makes a world of it again. The files are not encrypted, also where the world is. OpenError if there is something
        at `target` already.
        """
        if everything:
            if hasattr(target, "write") or not (format is None and graph is None and table is None):
                raise ArgumentError("everything is written to a folder: give its name, without format, graph and table")
            from worlds.file.archive import write_archive

            folder = file_name(target)
            count = write_archive(self._connection, self._dictionary, self._embeddings.stored, folder)
            return count + self._memories.export(folder)
        name = None if graph is None else self._namespaces.graph(graph)
        if table is not None:
            from worlds.sources.tables.writing import write_table

            kind = self._namespaces.iri("table", table)
            if format is not None:
                raise ArgumentError("a table's format is told by its name, .csv or .tsv: leave out format")
            if hasattr(target, "write"):
                raise ArgumentError("a table is written to a file, beside which its mapping stands")
            return write_table(
                self._connection, self._dictionary, file_name(target), kind, name, self._namespaces.prefixes,
                self._history,
            )  # fmt: skip
        return export(self._connection, self._dictionary, target, format, name, self._namespaces.declared)

    @verb
    def stats(self) -> Stats:
        """What the world holds: counts, sizes, the embedder, what is pending."""
        from worlds.file.stats import stats

        return stats(self._connection, self._embeddings)

    @verb
    def check(self) -> CheckReport:
        """Verify that quads, chunks, full-text and vectors agree; the report says what doesn't. Changes nothing."""
        from worlds.file.check import check

        return check(self._connection, self._dictionary, self._chunks, self._embeddings, self._sparql)

    @verb
    def backup(self, path: str | os.PathLike[str]) -> None:
        """Write a complete copy of the world to a new file, as of now; other processes may go on.

        The files of its memories are copied into a folder beside it, each as of now.

        OpenError if there is something at `path` already, or it cannot be written.
        """
        backup(self._connection, file_name(path))
        self._memories.backup(file_name(path))

    @verb
    def compact(self) -> None:
        """Give unused space back: drop cached embeddings of texts that are gone and unused terms, and rebuild the file.

        The native vector index is built anew, which takes about a millisecond a vector.
        """
        from worlds.file.compaction import compact

        compact(self._connection, self._embeddings, self._chunks)
        self._dictionary.forget()
        self._sparql.drop()
