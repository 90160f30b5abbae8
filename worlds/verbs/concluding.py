"""The verbs of a world with its conclusions that its world does first."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from worlds.core.history.diff import Diff
from worlds.core.quads.dictionary import Ids
from worlds.core.quads.rows import difference, unique_quads
from worlds.core.sparql.entailed import EntailedIndex
from worlds.core.sparql.notes import Notes
from worlds.core.sparql.queries import Queries
from worlds.verbs.parts import Parts

if TYPE_CHECKING:
    from worlds.core.views.slice import Slice, ViewConnection
    from worlds.graph.terms import GraphName


class Concluding(Parts):
    """The verbs of a world with its conclusions that its world does first."""

    _base: Any

    def _index(self, world: Any, *_: object) -> EntailedIndex:
        core = world._core
        return EntailedIndex(core.connection, core.dictionary, core.sparql, world._conclusions)

    @cached_property
    def _aside(self) -> Queries:
        core, index = self._base._core, self._core.sparql
        return self._core.asking(Queries, core, index, Notes(core.connection, core.dictionary, index, core.vocabulary))

    def _copied(self, connection: ViewConnection) -> Any:
        from worlds.extras.conclusions.entailed import Entailed

        base = self._base
        return Entailed(base._core, self._core, connection, lambda id: base._proposals.get(id), base._conclusions)

    def at(self, revision: Any) -> Any:
        """World after a revision, with its conclusions; see `World.at`."""
        return self._base.at(revision).entailed

    def as_of(self, time: object) -> Any:
        """World as of a time, with its conclusions; see `World.as_of`."""
        return self._base.as_of(time).entailed

    def only(self, *, graphs: object) -> Any:
        """Scope of some graphs, with the conclusions from these alone; see `World.only`."""
        return self._base.only(graphs=graphs).entailed

    def diff(self, a: Any, b: Any = None) -> Diff:
        """The changes between two states, including conclusions; see `World.diff`."""
        base = self._base
        with base._core.connection.snapshot():
            told = base.diff(a, b)
            views = base.at(told.a), base if b is None else base.at(told.b)
            before, after = (view.entailed._concluded for view in views)
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
    def _concluded(self) -> Ids:
        with self._base._core.connection.snapshot():
            found: Ids = self._base._conclusions.all()
            return found

    @property
    def entailed(self) -> Any:
        """The same world."""
        return self

    @property
    def _rules(self) -> Any:
        return self._base.rules

    def __repr__(self) -> str:
        return f"{repr(self._base)[:-1]}, entailed>"


def answering(world: Any, entailed: bool | None) -> Any:
    """The world that a door answers from: with conclusions or without, as its policy has it where nothing is said."""
    return world.entailed if (world.policy.entailed if entailed is None else entailed) else world


def concluding_slice(world: Any, own: Parts, connection: ViewConnection, graphs: Sequence[GraphName]) -> Slice:
    """The slice of a scope of a world, with its conclusions."""
    from worlds.extras.conclusions.entailed import ConcludingSlice

    known = world._core, own._core, connection, graphs, lambda id: world._proposals.get(id)
    return ConcludingSlice(*known, world._conclusions, own._conclusions)
