"""A world seen through some of its graphs. It reads its slice or its world's own database, and writes to the world."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any, NoReturn

import pyoxigraph as ox

from worlds.core.core import Core
from worlds.core.history.history import Moment
from worlds.core.sparql.index import Progress
from worlds.core.sparql.patterns import SubjectPatterns
from worlds.core.views.dataset import Dataset, DatasetIndex, DatasetPatterns
from worlds.core.views.scope_writes import ScopedWriter
from worlds.core.views.seen import SeenCore
from worlds.core.views.slice import Slice, ViewConnection
from worlds.core.views.view import View
from worlds.errors import ArgumentError, ReadOnlyError
from worlds.graph.query.results import Solutions, Triples
from worlds.graph.terms import GraphName
from worlds.looks.look import F, Look, opened
from worlds.looks.scoped_verbs import WAYS
from worlds.sql.connection import Connection

_OF_THE_WHOLE = {
    *("bind", "shapes.set_guard", "sources", "sources.sync", "revisions.prune", "curation.link_texts"),
    *("file.compact", "file.build_vector_index", "file.drop_vector_index"),
}
"""Verbs of the whole world, which a scope refuses as it does all settings."""


class Scope(Look):
    """Shows some graphs of a world, as if it had no others."""

    entire = False

    def __init__(self, base: Any, graphs: tuple[GraphName, ...]) -> None:
        self.base = base
        self.graphs = graphs

    def open(self) -> Any:
        """The world that looks so."""
        connection = ViewConnection(self.base.path, self.base.driver)
        connection.lock = self.base._core.connection.lock  # else each waits for the other one
        return opened(self.base, self, connection)

    def begin(self, world: Any) -> None:
        """See `Look.begin`."""
        super().begin(world)
        own = self._own
        self.slice = self._cut(self.base._core, own, own.connection)
        own.gate.slice = True
        own.namespaces.home = self.slice.single
        own.writer = ScopedWriter(self.base._core, own, self.slice)

    def _cut(self, base: Core, own: Core, connection: Any) -> Slice:
        return Slice(base, own, connection, self.graphs, self._proposal, self._seen)

    def _proposal(self, id: int) -> Any:
        return self.base._proposals.get(id)

    @property
    def view(self) -> View:
        """See `Look.view`."""
        whole: View = self.base._look.view
        return replace(whole, graphs=self.graphs)

    @property
    def words(self) -> str:
        """See `Look.words`."""
        names = ("default" if isinstance(name, ox.DefaultGraph) else str(name) for name in self.graphs)
        return f"{self.base._look.words}, only {', '.join(names)}"

    @property
    def whole(self) -> Any:
        """The world that is written."""
        return self.base

    @property
    def written(self) -> Connection:
        """See `Look.written`."""
        connection: Connection = self.base._look.written
        return connection

    # -- what it allows, and does in its own way --------------------------------------------------------------------

    def require(self, what: str) -> None:
        """See `Look.require`."""
        if what in _OF_THE_WHOLE or what.startswith("setting "):
            self.require_whole(what)

    def require_whole(self, what: str) -> NoReturn:
        """See `Look.require_whole`."""
        raise ReadOnlyError(f"{what} is for who sees the whole world, not for a scope of some graphs", kind="scope")

    def way(self, what: str, method: F) -> F:
        """See `Look.way`."""
        return WAYS.get(what, method)  # type: ignore[return-value]  # the same signature

    def inside(self, verb: Callable[..., Any], *given: object, **options: Any) -> Any:
        """Call a verb of the world, which may change the scope's graphs alone."""
        with self._own.connection.lock, self.base._core.gate.within(self.slice.require):
            return verb(*given, **options)

    def listed(self, revision: Moment) -> int:
        """A revision that touched the scope alone; ReadOnlyError or ArgumentError for another."""
        with self._own.connection.snapshot():
            revision = self._own.history.check(revision)
            if revision in self.slice.partial:
                raise ReadOnlyError(f"revision {revision} touched graphs outside of the scope, too", kind="scope")
            if revision and not self._own.history.numbered([revision]):
                raise ArgumentError(f"there is no revision {revision} in this scope", kind="revision")
        return revision

    # -- other looks at the same world ------------------------------------------------------------------------------

    def only(self, names: tuple[GraphName, ...]) -> Any:
        """The part of this scope that has these graphs alone. ReadOnlyError for a graph outside of it."""
        if not all(map(self.slice.has, names)):
            raise ReadOnlyError("this would read a graph outside of the scope", kind="scope")
        return self.base._look.only(names)

    def at(self, revision: Moment) -> Any:
        """The scope as it was after a revision; see `World.at`."""
        with self._own.connection.snapshot():
            number = self._own.history.check(revision)
        return self.base.at(number)._look.only(self.graphs)

    def as_of(self, time: int) -> Any:
        """The quads that held at a time, in these graphs; see `World.as_of`."""
        return self.base._look.as_of(time)._look.only(self.graphs)

    def concluding(self) -> Any:
        """See `Look.concluding`."""
        return _Concluding(self.base, self.graphs).open()

    # -- in the world's own database --------------------------------------------------------------------------------

    @cached_property
    def _seen(self) -> SeenCore | None:
        """The scope in its world's own database; None for one of the world's own graphs."""
        possible = SeenCore.possible(self.graphs)
        return SeenCore(self.base._core, self.graphs, self._patterns) if possible else None

    def _patterns(self, seen: SeenCore) -> SubjectPatterns:
        own = self._own.subject_patterns
        if not Dataset.possible(self.graphs):
            return own
        return DatasetPatterns(DatasetIndex(self.base._core, self._own, seen), own, seen)

    @property
    def sight(self) -> Any:
        """See `Look.sight`."""
        if self._seen is None or self._own.connection.in_transaction or not self._seen.clear:
            return None
        return self._there

    @cached_property
    def _there(self) -> Any:
        assert self._seen is not None
        return type(self.world)(self._seen, _Seen(self))

    @cached_property
    def _dataset(self) -> Dataset | None:
        """The scope as a dataset of its world's index; None for one of many graphs."""
        if self._seen is None or not Dataset.possible(self.graphs):
            return None
        return Dataset(self.base._core, self._own, self._seen)

    def answer(self, text: str, progress: Progress | None, **how: Any) -> Solutions | Triples | bool:
        """See `Look.answer`."""
        if self._dataset is not None:
            found = self._dataset.answer(text, lambda known: self.world._query(text, known=known, **how), progress)
            if found is not None:
                return found
        return super().answer(text, progress, **how)


class _Seen(Look):
    """Shows a scope in its world's own database, of which verbs that read are asked."""

    entire = False

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    @property
    def view(self) -> View:
        """See `Look.view`."""
        return self._scope.view

    def require(self, what: str) -> None:
        """See `Look.require`."""
        self._scope.require(what)


class _Concluding(Scope):
    """A scope that keeps the conclusions from its quads."""

    _seen = None

    def _cut(self, base: Core, own: Core, connection: Any) -> Slice:
        from worlds.extras.conclusions.entailed import ConcludingSlice

        known = base, own, connection, self.graphs, self._proposal
        return ConcludingSlice(*known, self.base._conclusions, self.world._conclusions)
