"""The shapes of a world: a graph of its own, which is written as any graph, and is no data."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from worlds.quads.dataset import SHAPES_GRAPH
from worlds.revisions.diff import Diff
from worlds.revisions.gate import Change
from worlds.revisions.owngraph import OwnGraph
from worlds.revisions.rehearsing import rehearsable
from worlds.rules.checking import ShapeChecker


class Shapes(OwnGraph):
    """The SHACL shapes of one world: the triples of its graph <urn:worlds:shapes>.

    They are no text, and in no union of graphs; a query that names their graph sees them. Each write is a revision, as
    any other is, and can be undone. What cannot be checked is refused: ShapesError, and nothing is written.
    """

    _graph = SHAPES_GRAPH

    def __init__(self, checker: ShapeChecker, *parts: Any) -> None:
        """`parts` are those of an `OwnGraph`."""
        super().__init__(*parts)
        self._checker = checker

    def _check(self) -> None:
        self._checker.own()

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
        return self._write(lambda: self._apply(given, ()), author, message, dry_run)

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
        return self._write(lambda: self._apply((), given), author, message, dry_run)

    def __len__(self) -> int:
        """The number of triples."""
        return len(self.triples)

    def __bool__(self) -> bool:
        return len(self) > 0

    def __repr__(self) -> str:
        return f"<Shapes: {len(self)} triples>"
