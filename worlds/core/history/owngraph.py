"""A graph of a world's own, which is no data: written as any graph is, and read as triples."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal

import pyoxigraph as ox

from worlds.core.history.diff import Diff
from worlds.core.history.dry_runs import rehearsable
from worlds.core.history.gate import Change
from worlds.core.quads.reader import quad_ids
from worlds.core.quads.rows import quads_of
from worlds.graph.query.results import Triples

if TYPE_CHECKING:
    import rdflib

    from worlds.core.core import Core
    from worlds.sql.connection import Connection


class OwnGraph:
    """One of a world's own graphs.

    Its triples are no text, and in no union of graphs; a query that names the graph sees them. Each write is a
    revision, as any other is, and can be undone.
    """

    _graph: ox.NamedNode

    def __init__(self, core: Core) -> None:
        self._core = core

    @property
    def _written(self) -> Connection:
        """The connection by which it is written."""
        return self._core.connection

    def _checking(self, anew: bool) -> Callable[[], Iterable[str]]:
        """Check the graph when a write begins (all of it if `anew`); the result yields notes at the end, or raises."""
        return tuple

    @rehearsable(Change)
    def load(
        self,
        source: object,
        *,
        format: str | None = None,
        mode: Literal["merge", "replace"] = "merge",
        base: str | None = None,
        author: str | None = None,
        message: str | None = None,
        allow_network: bool | Collection[str] = False,
        max_unpacked: int | None = None,
        dry_run: bool = False,
    ) -> Change | Diff:
        """Load triples, in the forms of `World.load`; `mode="replace"` replaces all that are there."""
        return self._write(
            lambda: self._core.loader.load(
                source, format=format, graph=self._graph, mode=mode, base=base, embed=False,
                allow_network=allow_network, max_unpacked=max_unpacked,
            ),
            author, message, dry_run, anew=mode == "replace", given=source,
        )  # fmt: skip

    def _write(
        self,
        write: Callable[[], object],
        author: str | None,
        message: str | None,
        dry_run: bool,
        *,
        anew: bool = False,
        given: object = None,
    ) -> Change | Diff:
        """Write as one revision, which a world on a server makes anew after a conflict; `given` is its input."""

        def written() -> Change | Diff:
            with self._core.writer.revision(author=author, message=message, dry_run=dry_run) as revision:
                check = self._checking(anew)
                write()
                revision.note(*check())
            return revision.change

        return self._written.anew(written, given)

    def _apply(self, added: Iterable[ox.Quad], removed: Iterable[ox.Quad]) -> None:
        """Replace the removed quads of the graph by the added ones; quads in both stay."""
        put, taken = dict.fromkeys(added), dict.fromkeys(removed)
        with self._core.writer.revision() as revision:
            come, gone = (
                quad_ids(self._core.connection, self._core.dictionary, quads)
                for quads in (put.keys() - taken, taken.keys() - put)
            )
            revision.apply(come, gone)

    def _quads(self, triples: Iterable[Any]) -> list[ox.Quad]:
        """Triples as quads of this graph; of quads that are given, too."""
        given = self._core.namespaces.quads(list(triples) if isinstance(triples, OwnGraph) else triples)
        return [ox.Quad(quad.subject, quad.predicate, quad.object, self._graph) for quad in given]

    # -- what is in it ----------------------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Any]:
        """The triples, as rdflib terms."""
        return iter(self.triples)

    def _stored(self) -> Iterator[ox.Quad]:
        return quads_of(self._core.connection, self._core.dictionary, self._core.dictionary.find([self._graph])[0])

    @property
    def triples(self) -> Triples:
        """The triples, which can be serialised and copied to rdflib."""
        with self._core.connection.snapshot():
            found = [ox.Triple(quad.subject, quad.predicate, quad.object) for quad in self._stored()]
        return Triples(found, self._core.namespaces.prefixes)

    def to_rdflib(self) -> rdflib.Graph:
        """The triples as an rdflib graph."""
        return self.triples.to_rdflib()

    def serialize(self, format: str = "turtle") -> str:
        """The triples as text, in any of the formats that triples have."""
        return self.triples.serialize(format)
