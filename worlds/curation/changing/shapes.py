"""The shapes of a world: a graph of its own, which is written as any graph, and is no data."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal

import pyoxigraph as ox

from worlds.graph.query.results import Triples
from worlds.quads.dataset import SHAPES_GRAPH
from worlds.quads.dictionary import Dictionary
from worlds.quads.namespaces import Namespaces
from worlds.quads.reader import quad_ids
from worlds.quads.rows import NO_QUADS
from worlds.revisions.diff import Diff
from worlds.revisions.gate import Change
from worlds.revisions.loading import Loader
from worlds.revisions.rehearsing import rehearsable
from worlds.revisions.writer import Writer
from worlds.rules.checking import ShapeChecker
from worlds.sql.connection import Connection

if TYPE_CHECKING:
    import rdflib


class Shapes:
    """The SHACL shapes of one world: the triples of its graph <urn:worlds:shapes>.

    They are no text, and in no union of graphs; a query that names their graph sees them. Each write is a revision, as
    any other is, and can be undone. What cannot be checked is refused: ShapesError, and nothing is written.
    """

    def __init__(
        self,
        connection: Connection,
        dictionary: Dictionary,
        namespaces: Namespaces,
        writer: Writer,
        loader: Loader,
        checker: ShapeChecker,
    ) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self._namespaces = namespaces
        self._writer = writer
        self._loader = loader
        self._checker = checker

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
        """Load shapes, given as `World.load` takes them; with `mode="replace"` in the place of those that are there."""
        return self._write(
            lambda: self._loader.load(
                source, format=format, graph=SHAPES_GRAPH, mode=mode, base=base, embed=False,
                allow_network=allow_network, max_unpacked=max_unpacked,
            ),
            author, message, dry_run,
        )  # fmt: skip

    @rehearsable(Change)
    def add(
        self,
        triples: Iterable[Any],
        *,
        author: str | None = None,
        message: str | None = None,
        dry_run: bool = False,
    ) -> Change | Diff:
        """Add triples of shapes, given as `World.add` takes them."""
        given = self._quads(triples)
        return self._write(lambda: self._apply(given, removed=False), author, message, dry_run)

    @rehearsable(Change)
    def remove(
        self,
        triples: Iterable[Any],
        *,
        author: str | None = None,
        message: str | None = None,
        dry_run: bool = False,
    ) -> Change | Diff:
        """Remove triples of shapes; `remove(w.shapes)` removes all."""
        given = self._quads(triples)
        return self._write(lambda: self._apply(given, removed=True), author, message, dry_run)

    def _write(
        self, write: Callable[[], object], author: str | None, message: str | None, dry_run: bool
    ) -> Change | Diff:
        with self._writer.revision(author=author, message=message, dry_run=dry_run) as revision:
            write()
            self._checker.own()
        return revision.change

    def _quads(self, triples: Iterable[Any]) -> list[ox.Quad]:
        given = self._namespaces.quads(list(triples) if isinstance(triples, Shapes) else triples)
        return [ox.Quad(quad.subject, quad.predicate, quad.object, SHAPES_GRAPH) for quad in given]

    def _apply(self, quads: list[ox.Quad], *, removed: bool) -> None:
        with self._writer.revision() as revision:
            ids = quad_ids(self._connection, self._dictionary, quads)
            revision.apply(*((NO_QUADS, ids) if removed else (ids, NO_QUADS)))

    # -- what they are ----------------------------------------------------------------------------------------------

    @property
    def triples(self) -> Triples:
        """The triples, which can be serialised and copied to rdflib."""
        with self._connection.snapshot():
            found = [ox.Triple(quad.subject, quad.predicate, quad.object) for quad in self._checker.stored()]
        return Triples(found, self._namespaces.prefixes)

    def to_rdflib(self) -> rdflib.Graph:
        """The shapes as an rdflib graph."""
        return self.triples.to_rdflib()

    def serialize(self, format: str = "turtle") -> str:
        """The shapes as text, in any of the formats that triples have."""
        return self.triples.serialize(format)

    def __iter__(self) -> Iterator[Any]:
        """The triples, as rdflib terms."""
        return iter(self.triples)

    def __len__(self) -> int:
        """The number of triples."""
        return len(self.triples)

    def __bool__(self) -> bool:
        return len(self) > 0

    def __repr__(self) -> str:
        return f"<Shapes: {len(self)} triples>"
