"""The shapes of a world: a graph of its own, which is written as any graph, and is no data."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from worlds.core.core import Core
from worlds.core.history.diff import Diff
from worlds.core.history.dry_runs import rehearsable
from worlds.core.history.gate import Change
from worlds.core.history.owngraph import OwnGraph
from worlds.core.quads.dataset import SHAPES_GRAPH
from worlds.errors import ShapesError
from worlds.extras.shapes.shapes import LeftOut, ShapesGraph, told
from worlds.extras.shapes.world_validation import ShapeChecker


class Shapes(OwnGraph):
    """The SHACL shapes of one world: the triples of its graph <urn:worlds:shapes>.

    They are no text, and in no union of graphs; a query that names their graph sees them. Each write is a revision, as
    any other is, and can be undone. Shapes that cannot be checked are left out, as the change's `notes` say. A write
    that brings no others is refused, as any that brings some is where there is a guard: ShapesError, and nothing is
    written.
    """

    _graph = SHAPES_GRAPH

    def __init__(self, core: Core, checker: ShapeChecker) -> None:
        super().__init__(core)
        self._checker = checker

    def _checking(self, anew: bool) -> Callable[[], Iterable[str]]:
        before = ShapesGraph(()) if anew else self._checker.own()

        def check() -> Iterable[str]:
            graph = self._checker.own()
            fresh = [one for one in graph.left_out if one not in before.left_out]
            if fresh and graph.checked <= before.checked:
                raise ShapesError(told(fresh))
            return map(str, graph.left_out)

        return check

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        """The shapes that are not checked, and why: ill-formed ones, those that refer to themselves, or to others."""
        with self._core.connection.snapshot():
            return self._checker.own().left_out

    @rehearsable(Change)
    def add(
        self, triples: Iterable[Any], *, author: str | None = None, message: str | None = None, dry_run: bool = False
    ) -> Change | Diff:
        """Add triples of shapes, given as `World.add` takes them."""
        given = self._quads(triples)
        return self._write(lambda: self._apply(given, ()), author, message, dry_run)

    @rehearsable(Change)
    def remove(
        self, triples: Iterable[Any], *, author: str | None = None, message: str | None = None, dry_run: bool = False
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
