"""The verbs that read quads, and the file they are in."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, BinaryIO

from worlds.core.quads.export import export
from worlds.core.quads.patterns import to_dataset
from worlds.errors import ArgumentError
from worlds.graph.plain import TripleTerms
from worlds.graph.targets import file_name
from worlds.verbs.invocation import verb
from worlds.verbs.parts import Parts

if TYPE_CHECKING:
    import rdflib

    from worlds.core.file.problems import CheckReport
    from worlds.core.file.stats import Stats
    from worlds.extras.entities.trees import Trees


class ReadingVerbs(Parts):
    """The verbs that read quads, and the file they are in."""

    _trees: Trees

    @verb
    def quads(
        self, subject: object = None, predicate: object = None, object: Any = None, graph: Any = None
    ) -> Iterator[tuple[Any, Any, Any, Any]]:
        """The quads that match, as tuples of four rdflib terms, in no promised order; None matches everything.

        Terms are given as `add` takes them; `graph` may be "default", and the fourth of a quad of the default graph is
        None. Lexical forms are as they were given. The quads are those of now, whatever is written while they are
        read. Triple terms and texts with a base direction, which rdflib lacks, are pyoxigraph terms.
        """
        pattern = self._core.namespaces.pattern(subject, predicate, object)
        return self._core.patterns.quads(pattern, None if graph is None else self._core.namespaces.graph(graph))

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
        pattern = self._core.namespaces.pattern(subject, predicate, object)
        return self._core.patterns.count(
            pattern, None if graph is None else self._core.namespaces.graph(graph), triples=triples
        )

    @verb
    def graphs(self) -> list[Any]:
        """The named graphs that exist, empty ones that were created included: their names as rdflib terms, sorted."""
        return self._core.patterns.graphs()

    @verb
    def to_rdflib(self, *, triple_terms: TripleTerms = "skip") -> rdflib.Dataset:
        """A copy in memory: an rdflib Dataset with the world's quads, graphs and prefixes, blank nodes kept.

        rdflib has no triple terms and no texts with a base direction. "skip" leaves out the quads that have one, and
        the log "worlds" counts them. "reify" makes statements of triple terms, as RDF 1.1 reifies (the reifier is the
        statement), and datatypes of directions (i18n:ar_rtl). "error" raises ValueError.
        """
        with self._core.connection.snapshot():
            return to_dataset(self.quads(), self.graphs(), self._core.namespaces.prefixes, triple_terms)

    @verb
    def export(
        self,
        target: str | os.PathLike[str] | BinaryIO,
        *,
        format: str | None = None,
        graph: object = None,
        table: object = None,
    ) -> int:
        """Write the quads to a file or a binary stream, and give their number; lexical forms are as they were given.

        `format` is taken from the target's name if None (.gz, .bz2 and .zst compress), else it is N-Quads. `graph`
        exports one graph alone ("default" is the default graph), as triples; a format without graphs refuses a world
        with named graphs otherwise. A file is put in place only when it is complete. ValueError if the format cannot
        hold the quads, or there is no such graph.

        `table`, a class, writes what is said of its instances in `graph`, else in the default graph, as a table: a file
        called .csv or .tsv, and beside it NAME-metadata.json, by which `load(…, mapping=True)` reads the same quads,
        and `load(…, mode="edit")` the cells that were edited.
        """
        name = None if graph is None else self._core.namespaces.graph(graph)
        if table is not None:
            from worlds.extras.sources.tables.export import write_table

            kind = self._core.namespaces.iri("table", table)
            if format is not None:
                raise ArgumentError("a table's format follows from its name, .csv or .tsv: leave out format")
            if hasattr(target, "write"):
                raise ArgumentError("a table must be written to a file: its mapping is written beside it")
            return write_table(self._core, file_name(target), kind, name)
        return export(
            self._core.connection, self._core.dictionary, target, format, name, self._core.namespaces.declared
        )

    @verb
    def stats(self) -> Stats:
        """Count the contents of the world: quads, texts, sizes, the embedder, pending vectors."""
        from worlds.core.file.stats import stats

        return replace(stats(self._core.connection, self._core.embeddings), **self._rules.list().told)

    @verb
    def check(self) -> CheckReport:
        """Verify that quads, chunks, full-text and vectors agree; the report lists the differences. Changes nothing."""
        from worlds.core.file.check import check

        return check(self._core)
