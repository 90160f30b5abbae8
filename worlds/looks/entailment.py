"""A world with its conclusions, which can only be read."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from worlds.core.core import Core
from worlds.core.history.diff import Diff
from worlds.core.history.history import Moment
from worlds.core.quads.dictionary import Dictionary
from worlds.core.quads.rows import difference, unique_quads
from worlds.core.sparql.entailed import EntailedIndex
from worlds.core.sparql.notes import Notes
from worlds.core.sparql.queries import Queries
from worlds.core.views.view import View
from worlds.extras.conclusions.entailed import EntailedCopy
from worlds.graph.terms import GraphName
from worlds.looks.past import Past
from worlds.sql.connection import Connection


class Entailed(Past):
    """Shows a world as if all that follows by its rules was written."""

    def __init__(self, base: Any) -> None:
        super().__init__(base, View(entailed=True))

    def begin(self, world: Any) -> None:
        """See `Look.begin`."""
        super().begin(world)
        world._rules = self.base._rules

    def _copied(self, base: Core, own: Core, connection: Any) -> EntailedCopy:
        return EntailedCopy(base, own, connection, lambda id: self.base._proposals.get(id), self.base._conclusions)

    def _index(self, connection: Connection, dictionary: Dictionary) -> EntailedIndex:
        base = self.base._core
        return EntailedIndex(base.connection, base.dictionary, base.sparql, self.base._conclusions)

    @property
    def words(self) -> str:
        """See `Look.words`."""
        return f"{self.base._look.words}, entailed"

    @cached_property
    def _aside(self) -> Queries:
        base, index = self.base._core, self._own.sparql
        return self._own.asking(Queries, base, index, Notes(base.connection, base.dictionary, index, base.vocabulary))

    def at(self, revision: Moment) -> Any:
        """World after a revision, with its conclusions; see `World.at`."""
        return self.base.at(revision).entailed

    def as_of(self, time: int) -> Any:
        """World as of a time, with its conclusions; see `World.as_of`."""
        return self.base._look.as_of(time).entailed

    def only(self, names: tuple[GraphName, ...]) -> Any:
        """Scope of some graphs, with the conclusions from these alone; see `World.only`."""
        return self.base._look.only(names).entailed

    def diff(self, a: Moment, b: Moment | None) -> Diff:
        """The changes between two states, including conclusions; see `World.diff`."""
        base = self.base
        with base._core.connection.snapshot():
            told = base.diff(a, b)
            before, after = map(_concluded, (base.at(told.a), base if b is None else base.at(told.b)))
            came, went = base._core.history.changed(told.a, told.b)
        added, removed = (unique_quads(np.concatenate(two)) for two in ((came, after), (went, before)))
        added, removed = (
            difference(difference(added, before), went),
            difference(difference(removed, after), came),
        )
        found = Diff(base._core.dictionary, told.a, told.b, added, removed, {})
        found.around, found.notes = told.around, told.notes
        return found

    @property
    def entailed(self) -> Any:
        """The same world."""
        return self.world


def _concluded(world: Any) -> Any:
    """The conclusions of a world, int64 [n, 4]."""
    of = world.entailed._look.base
    with of._core.connection.snapshot():
        return of._conclusions.all()
