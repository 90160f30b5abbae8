"""A world at another time, which can only be read."""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import cached_property
from typing import Any

from worlds.core.core import Core
from worlds.core.history.history import Moment
from worlds.core.quads.dataset import default_graph, own_named
from worlds.core.quads.dictionary import Dictionary
from worlds.core.sparql.copied import CopiedIndex, EarlierIndex
from worlds.core.sparql.index import Progress, SparqlIndex
from worlds.core.sparql.queries import Queries
from worlds.core.views.copied import ViewCopy
from worlds.core.views.dataset import IndexNotes
from worlds.core.views.slice import ViewConnection
from worlds.core.views.view import View
from worlds.errors import ReadOnlyError
from worlds.extras.facts.times import in_calendar
from worlds.graph.query.results import Solutions, Triples
from worlds.graph.search.rewriting import mentions_search
from worlds.looks.look import Look, opened
from worlds.sql.connection import Connection


class Past(Look):
    """Shows a world as it was after a revision, or what held at a time."""

    entire = False

    def __init__(self, base: Any, own: View) -> None:
        """`own` is the view of the world `base` alone: that may have one, too."""
        self.base = base
        self.own = own

    def open(self) -> Any:
        """The world that looks so."""
        return opened(self.base, self, ViewConnection(self.base.path, self.base.driver), self._index)

    def begin(self, world: Any) -> None:
        """See `Look.begin`."""
        super().begin(world)
        self.copy = self._copied(self.base._core, self._own, self._own.connection)

    def _copied(self, base: Core, own: Core, connection: Any) -> Any:
        return ViewCopy(base, own, connection, self.own, self._taking)

    def _index(self, connection: Connection, dictionary: Dictionary) -> SparqlIndex:
        base = self.base._core
        if self.own.revision is None:
            return CopiedIndex(connection, dictionary, base.sparql)
        known = base.dictionary, base.sparql, base.history
        return EarlierIndex(connection, dictionary, *known, self.own.revision, self._taking)

    def _taking(self) -> None:
        self.base._copies.fill(self.world)

    @property
    def view(self) -> View:
        """See `Look.view`."""
        given = {name: value for name, value in asdict(self.own).items() if value is not None and value is not False}
        whole: View = self.base._look.view
        return replace(whole, **given)

    @property
    def words(self) -> str:
        """See `Look.words`."""
        time, revision = self.own.time, self.own.revision
        own = f" at revision {revision}" if time is None else f" as of {in_calendar(time)}"
        return f"{self.base._look.words}{own}"

    def require(self, what: str) -> None:
        """ReadOnlyError: nothing of it can be changed."""
        raise ReadOnlyError(f"{what} would change the world as it was, which cannot be changed")

    def at(self, revision: Moment) -> Any:
        """The world as it was after an earlier revision; see `World.at`."""
        if self.own.time is None:
            return super().at(revision)
        return self.base.at(revision)._copies.of(View(time=self.own.time))

    def as_of(self, time: int) -> Any:
        """The quads that held at another time; see `World.as_of`."""
        return super().as_of(time) if self.own.time is None else self.base._look.as_of(time)

    @cached_property
    def _aside(self) -> Queries:
        """Answers queries without the copy."""
        own = self._own
        return own.asking(Queries, self.base._core, own.sparql, IndexNotes(own, own.sparql.store))

    def answer(self, text: str, progress: Progress | None, **how: Any) -> Solutions | Triples | bool:
        """See `Look.answer`."""
        if self.own.time is not None or mentions_search(text):
            return super().answer(text, progress, **how)
        base = self.base._core
        query = self.world._query(text, known=(base.namespaces.prefixes, default_graph(base.connection)), **how)
        return super().answer(text, progress, **how) if own_named(query) else self._aside.answer(query, progress)

    def close(self) -> bool:
        """Give the copy back; the next call makes it again."""
        self.copy.forget()
        return False
