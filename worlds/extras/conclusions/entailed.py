"""A world with its conclusions: a copy of the file in which what follows by the rules stands among the quads.

It is brought in step before each reading, as the slice of a scope is: by what was written since, and by what follows
since and no longer. A concluded quad is of no revision: 0 stands in the place of its number.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from worlds.core.core import Core
from worlds.core.quads.delta import Delta, Followers
from worlds.core.quads.dictionary import Ids
from worlds.core.quads.rows import NO_QUADS, difference, unique_quads
from worlds.core.views.copied import ReadOnlyWriter, take_copy
from worlds.core.views.slice import Slice, ViewConnection, insert_quads
from worlds.extras.conclusions.following import Conclusions
from worlds.graph.terms import GraphName
from worlds.sql import statements
from worlds.sql.connection import Connection
from worlds.sql.index_rebuild import without

_SQL = statements("scopes.sql")
_QUERIES = statements("queries.sql")
_BULK = 20_000  # conclusions from which on making the indexes anew pays
_FIRST = 1 << 29  # ids of concluded quads begin behind those of quads


class EntailedCopy(Slice):
    """Keeps the database of a world with its conclusions in step with the `world` that they follow from."""

    def __init__(
        self,
        world: Core,
        own: Core,
        connection: ViewConnection,
        proposal: Callable[[int], Any],
        conclusions: Conclusions,
    ) -> None:
        """`conclusions` belong to the `world`, `proposal` returns one of its proposals."""
        self._conclusions = conclusions
        super().__init__(world, own, connection, (), proposal)
        own.writer = ReadOnlyWriter("the world with its conclusions")
        own.followers = Followers(own.chunks, own.embeddings.retired)  # the index follows the world

    def _begin_anew(self) -> None:
        super()._begin_anew()
        self._change: Any = None  # the last change of a conclusion that was followed; None before the first
        self._next = _FIRST

    def has(self, name: GraphName) -> bool:
        """True: it has all graphs."""
        return True

    def forget(self, *, wait: bool = True) -> bool:
        """Give the copy and the index back, which are made again when they are read; False where they are in use."""
        if not self._connection.lock.acquire(blocking=wait):
            return False
        try:
            if not (wait or (self._own.sparql.idle and not self._connection.in_use)):
                return False
            self._own.sparql.close()
            self._connection.renew()
            self._begin_anew()
            return True
        finally:
            self._connection.lock.release()

    def _continues(self) -> bool:
        return self._change is not None and super()._continues()

    def _renew(self) -> None:
        """Begin with a copy of the file, as it is now."""
        base, own = self._world.connection, self._connection
        take_copy(self._world, self._own, own)
        self._begin_anew()
        with own.transaction():
            with without(own, "index", "quads") if self._conclusions.count() >= _BULK else contextlib.nullcontext():
                own.run(_SQL["conclude_quads"])
            for name in ("forget_rules", "forget_conclusions", "forget_changes"):
                own.run(_SQL[name])
            own.run(_QUERIES["set_meta"], ("entailed", 1))
        self._last = base.value(_SQL["last_quad"]), base.value(_SQL["last_removed"])
        self._revision = base.value(_QUERIES["last_revision"])
        self._recorded = base.row(_SQL["revision"], (self._revision,))
        self._adopted = base.meta("policy")
        self._proposals = base.row(_SQL["proposals_state"])

    def _read(self) -> tuple[Ids, Ids]:
        base = self._world.connection
        after = self._last
        self._last = base.value(_SQL["last_quad"]), base.value(_SQL["last_removed"])
        added, removed = (
            np.concatenate([np.empty((0, 6), dtype=np.int64), *self._pages(statement, last)])
            for statement, last in ((_SQL["quads_of_all"], after[0]), (_SQL["removed_of_all"], after[1]))
        )
        return added, removed

    def _agrees(self, base: Connection) -> bool:
        return True

    def _note_namespaces(self, iris: list[str]) -> None:
        self._prefixes = dict(self._world.namespaces.declared)

    def _copy_quads(self, added: Ids, gone: Ids) -> Delta:
        """Write the added and removed quads, and the conclusions that begin or cease to follow."""
        if self._change is None:  # the copy has them
            self._change, now = self._conclusions.change, self._conclusions.all()
            self._next += len(now)
            return Delta(now, NO_QUADS, np.arange(_FIRST, self._next, dtype=np.int64))
        touched, now = self._followed()
        now = unique_quads(np.concatenate([now, self._conclusions.of(gone[:, :4])]))  # written since, and removed
        self._copy_terms(now.ravel())
        held, ids = self._held(touched)
        self._delete(held)
        numbers = np.arange(self._next, self._next + len(now), dtype=np.int64)
        self._next += len(now)
        written = super()._copy_quads(added, gone)
        rows = np.column_stack([numbers, now, np.zeros(len(now), dtype=np.int64)])
        with without(self._connection, "index", "quads") if len(now) >= _BULK else contextlib.nullcontext():
            insert_quads(self._connection, rows)
        before = unique_quads(np.concatenate([written.removed, held]))
        after = unique_quads(np.concatenate([written.added, now]))
        ids = np.concatenate([written.touched, ids, numbers])
        return Delta(difference(after, before), difference(before, after), ids)

    def _followed(self) -> tuple[Ids, Ids]:
        """The quads that began or ceased to follow since, and the ones among them that follow now."""
        conclusions = self._conclusions
        touched = conclusions.changes(self._change)
        self._change = conclusions.change
        if touched is not None:
            return touched, conclusions.of(touched)
        now = conclusions.all()
        held = self._connection.table(_SQL["concluded_quads"])
        return np.concatenate([difference(now, held), difference(held, now)]), difference(now, held)

    def _copy_revisions(self, added: Ids, gone: Ids) -> None:
        base = self._world.connection
        rows = base.rows(_SQL["revisions_since"], (self._revision,))
        self._connection.insert("INSERT INTO revisions", rows)
        self._revision = base.value(_QUERIES["last_revision"])
        self._recorded = base.row(_SQL["revision"], (self._revision,))

    def _copy_tags(self) -> None:
        if (tags := self._world.connection.meta("tags")) != self._connection.meta("tags"):
            self._connection.run(_QUERIES["set_meta"], ("tags", tags))


class ConcludingSlice(Slice):
    """The slice of a scope, with the conclusions from its quads alone by the rules of its world."""

    def __init__(
        self,
        world: Core,
        own: Core,
        connection: ViewConnection,
        graphs: Sequence[GraphName],
        proposal: Callable[[int], Any],
        rules: Conclusions,
        conclusions: Conclusions,
    ) -> None:
        """`rules` are the conclusions of the `world`, `conclusions` the ones of the slice."""
        self._rules = rules
        self._stored: object = None  # the rules that it goes by
        conclusions.interning = False
        super().__init__(world, own, connection, graphs, proposal)

    def _continues(self) -> bool:
        return self._stored == self._world.connection.meta("rules") and super()._continues()

    def _set(self, base: Connection) -> None:
        super()._set(base)
        if self._stored != (stored := base.meta("rules")):
            self._stored = stored
            self._connection.run(_QUERIES["set_meta"], ("rules", stored))
            numbers = self._world.dictionary.find(self._rules.settings.terms)
            self._copy_terms(np.array([number or 0 for number in numbers], dtype=np.int64))

    def _begin_anew(self) -> None:
        super()._begin_anew()
        self._stored = None
