"""How a world is looked at: the whole of it as it is now. What a view does differently stands in the modules beside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import pyoxigraph as ox

from worlds.core.core import Core
from worlds.core.history.diff import Diff
from worlds.core.history.history import Moment
from worlds.core.quads.dictionary import Dictionary
from worlds.core.quads.namespaces import listed
from worlds.core.sparql.index import Place, Progress, SparqlIndex
from worlds.core.views.slice import ViewConnection
from worlds.core.views.view import View
from worlds.extras.facts.times import now
from worlds.graph.query.results import Solutions, Triples
from worlds.graph.terms import GraphName
from worlds.sql.connection import Connection

F = TypeVar("F", bound=Callable[..., Any])


class Look:
    """The whole world, as it is now; the other looks show a part of it, or another time.

    A world has one, and asks it wherever its answer depends on the view. `world` is the one that looks so.
    """

    entire = True
    """Whether it shows all of the world, as it is now."""
    world: Any

    def begin(self, world: Any) -> None:
        """Look at a world, whose parts have just been made."""
        self.world = world

    @property
    def _own(self) -> Core:
        core: Core = self.world._core
        return core

    @property
    def words(self) -> str:
        """The end of the representation of its world."""
        return ""

    @property
    def view(self) -> View:
        """The view that it shows."""
        memory = self.world._memory
        return View() if memory is None else View(graphs=(ox.NamedNode(str(memory.graph)),))

    @property
    def whole(self) -> Any:
        """The world that is written."""
        return self.world

    @property
    def written(self) -> Connection:
        """The connection by which it is written."""
        return self._own.connection

    @property
    def sight(self) -> Any:
        """The world in which most verbs that read are asked first; None where it is this one."""
        return None

    # -- what it allows, and does in its own way --------------------------------------------------------------------

    def require(self, what: str) -> None:
        """Refuse, with a ReadOnlyError, a verb that writes, or a setting, that this look does not allow."""

    def require_whole(self, what: str) -> None:
        """Refuse, with a ReadOnlyError, a verb that reads more than is seen."""

    def way(self, what: str, method: F) -> F:
        """The method by which a verb that writes is done: its own, or another."""
        return method

    def answer(self, text: str, progress: Progress | None, **how: Any) -> Solutions | Triples | bool:
        """The answer to a SPARQL query, which is asked as the world has it."""
        return self._own.queries.answer(self.world._query(text, **how), progress)

    def diff(self, a: Moment, b: Moment | None) -> Diff:
        """See `World.diff`."""
        return self._own.history.diff(a, b)

    # -- other looks at the same world ------------------------------------------------------------------------------

    def names(self, graphs: object) -> tuple[GraphName, ...]:
        """The graphs of a scope, each once, in one order."""
        names = sorted({self._own.namespaces.graph(graph) for graph in listed(graphs)}, key=str)
        if not names:
            raise ValueError("a scope needs at least one graph")
        return tuple(names)

    def only(self, names: tuple[GraphName, ...]) -> Any:
        """See `World.only`."""
        return self.world._scope(names)

    def at(self, revision: Moment) -> Any:
        """See `World.at`."""
        with self._own.connection.snapshot():
            return self.world._copies.of(View(revision=self._own.history.check(revision)))

    def as_of(self, time: int) -> Any:
        """See `World.as_of`; `time` is in microseconds since 1970."""
        found = self.world._copies.of(View(time=time))
        with found._core.connection.snapshot():  # what the world knows now
            return found

    @property
    def entailed(self) -> Any:
        """See `World.entailed`."""
        return self.world._concluded

    def concluding(self) -> Any:
        """The world from whose quads the conclusions are drawn."""
        return self.world

    def close(self) -> bool:
        """Give back what it has made; whether the file is to be closed, too."""
        return True


def opened(
    base: Any,
    look: Look,
    connection: ViewConnection,
    index: Place | Callable[[Connection, Dictionary], SparqlIndex] = "memory",
) -> Any:
    """The world that looks otherwise at a world, with a database of its own; `index` is of its queries."""
    search = base._core.search_defaults
    core = Core(connection, base.embedder, vector_index="auto", sparql_index=index, search=search, now=now)
    core.running = base._core.running
    return type(base)(core, look)


def answering(world: Any, entailed: bool | None) -> Any:
    """The world that a door answers from: with conclusions or without, as its policy has it where nothing is said."""
    return world.entailed if (world.policy.entailed if entailed is None else entailed) else world
