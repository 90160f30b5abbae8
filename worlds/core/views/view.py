"""How a world is looked at."""

from __future__ import annotations

from dataclasses import dataclass

import pyoxigraph as ox

from worlds.graph.terms import GraphName


@dataclass(frozen=True, slots=True)
class View:
    """The visible part of a world: the whole world as it is now, unless it says otherwise.

    `graphs` are the only graphs that are seen; `revision` is the last revision that is seen, what was written later
    is not; `time`, in microseconds since 1970, shows what held then, as far as the world knows; `entailed`, what
    follows by the rules too.
    """

    graphs: tuple[GraphName, ...] | None = None
    revision: int | None = None
    time: int | None = None
    entailed: bool = False

    @property
    def names(self) -> tuple[str, ...] | None:
        """The graphs as texts, as `World.only` takes them; None for all."""
        if self.graphs is None:
            return None
        return tuple("default" if isinstance(graph, ox.DefaultGraph) else graph.value for graph in self.graphs)
