"""The dataset that an update changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol, TypeAlias

import pyoxigraph as ox

from worlds.graph.terms import GraphName, NamedGraph, Term

Rows: TypeAlias = Iterable[Sequence[Term | None]]


class Target(Protocol):
    """The dataset that an update changes, inside one transaction. Each call sees the changes of the calls before.

    A call that raises changes nothing.
    """

    def select(
        self, query: str, *, default_graphs: Sequence[GraphName] | None, named_graphs: Sequence[NamedGraph] | None
    ) -> tuple[list[str], Rows]:
        """The variables and the solutions of a SELECT, which declares every prefix that it uses.

        `default_graphs` are merged to be the default graph; None stands for the dataset's own default graph, and for
        all named graphs.
        """

    def apply(self, added: Sequence[ox.Quad], removed: Sequence[ox.Quad]) -> None:
        """Remove quads, then add quads: one that is in both stays. Literals have the forms that were written."""

    def graphs(self) -> Sequence[NamedGraph]:
        """The named graphs that exist, empty ones that were created included."""

    def exists(self, graph: NamedGraph) -> bool:
        """Whether a named graph is among `graphs()`."""

    def create(self, graph: NamedGraph) -> None:
        """Make an empty graph, which does not exist yet."""

    def clear(self, graph: GraphName, *, drop: bool) -> None:
        """Remove all quads of a graph, which may not exist; with `drop`, the named graph too."""

    def copy(self, source: GraphName, destination: GraphName) -> None:
        """Add the quads of a graph to another one."""

    def load(self, iri: str, graph: NamedGraph | None) -> None:
        """Add what is found at an IRI to a graph, or to the default graph; WorldsError where that fails."""


class UpdateOperation(NamedTuple):
    """One operation of an update, read and checked."""

    run: Callable[[Target], None]
    silent: bool = False
