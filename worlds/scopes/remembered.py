"""The slice of a scope with memories: their graphs and those beneath them, without what is outlived or has ended."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyoxigraph as ox

from worlds.embedders.base import Embedder
from worlds.errors import WorldsError
from worlds.graph.terms import GraphName
from worlds.memory.keeping import Keeping
from worlds.quads.dataset import is_memory
from worlds.quads.delta import Delta
from worlds.quads.dictionary import Ids, json_ids
from worlds.quads.rows import difference, find_quads, unique_quads
from worlds.scopes.borrowing import Borrowing
from worlds.scopes.slice import LostError, Slice, SliceConnection
from worlds.sql import statements
from worlds.texts.policy import TextPolicy
from worlds.validity.times import ALWAYS, microseconds, now
from worlds.verbs.parts import Parts

_SQL = statements("memory.sql")
_SCOPES = statements("scopes.sql")
_QUERIES = statements("queries.sql")
_BATCH = 1000  # texts a statement


class MemorySlice(Slice):
    """Keeps the database of a scope with memories in step with the world, and with time.

    What is outlived, and facts of memories that have ended, are not in it; `time` is that of the facts, or None for
    now. With a memory, the scope has those beneath it.
    """

    def __init__(
        self,
        world: Parts,
        own: Parts,
        connection: SliceConnection,
        graphs: Sequence[GraphName],
        time: int | None = None,
    ) -> None:
        self._memories = [name.value for name in graphs if isinstance(name, ox.NamedNode) and is_memory(name)]
        self._time = time
        self._keeping = Keeping(world._connection, world._dictionary)
        self._due = ALWAYS  # when something is outlived next, or a fact begins or ends
        self._hidden = False
        super().__init__(world, own, connection, graphs)

    def bring(self) -> None:
        """Bring the slice in step with the world, and with time."""
        if microseconds(now()) >= self._due:
            self._state = None
        super().bring()

    def _begin_anew(self) -> None:
        super()._begin_anew()
        self._due, self._hidden = ALWAYS, False
        self._settings = self._keeping.settings()

    def _continues(self) -> bool:
        # What was hidden may be gone by now, and what is due, or kept no longer, is not yet hidden: it is read anew.
        settled = not self._hidden and microseconds(now()) < self._due and self._settings == self._keeping.settings()
        return settled and super()._continues()

    def _numbers(self) -> list[int]:
        return sorted({*super()._numbers(), *self._beneath().values()})

    def _beneath(self) -> dict[str, int]:
        """The memories of the scope: IRI → id."""
        return {name: number for one in self._memories for name, number in self._keeping.beneath(one).items()}

    def has(self, name: GraphName) -> bool:
        """Whether a graph is in the scope, or would be."""
        return super().has(name) or any(str(name).strip("<>").startswith(f"{one}/") for one in self._memories)

    def _policy(self, policy: TextPolicy) -> TextPolicy:
        return policy.with_(profiles=False, statements=False)  # each text is that of one literal, and goes with it

    def _follow(self) -> bool:
        fresh = self._recorded is None
        if not super()._follow():
            return False
        if fresh:
            self._hide(microseconds(now()))
        return True

    def _read(self) -> tuple[Ids, Ids]:
        fresh = self._recorded is None
        added, gone = super()._read()
        predicates = added[:, 2]
        timed = self._keeping.timed(predicates, self._beneath())
        if not fresh and (timed or np.isin(predicates, self._own._validity.roles()).any()):
            raise LostError
        return added, gone

    def _hide(self, present: int) -> None:
        """Take out of the slice what is outlived, and what has ended, and add what has begun."""
        own = self._connection
        outlived, next_ = self._keeping.outlived(self._beneath(), present, self._time)
        validity, time = self._own._validity, present if self._time is None else self._time
        added, removed = validity.changes(time)
        statement = _QUERIES["quads_touching"]
        about = own.table(statement, statement.bind(ids_json=json_ids(outlived)))
        gone = unique_quads(np.concatenate([removed, validity.elsewhen(time), about]))
        gone = gone[[place for place, _, _ in find_quads(own, gone)]]
        gone, added = (part[np.isin(part[:, 3], list(self._beneath().values()))] for part in (gone, added))
        self._due = min(next_, validity.next(present)) if self._time is None else next_
        added = difference(added, gone)
        if not len(gone) and not len(added):
            return
        self._hidden = True
        last = own.value(_SCOPES["last_quad"])
        numbers = last + 1 + np.arange(len(added), dtype=np.int64)
        revisions = np.full(len(added), self._revision, dtype=np.int64)
        followers = self._own._followers
        with own.transaction():
            followers.begin()
            self._delete(gone)
            delta = self._copy_quads(np.column_stack([numbers, added, revisions]), np.empty((0, 6), dtype=np.int64))
            followers.apply(Delta(delta.added, gone, delta.touched))
        followers.committed(self._revision)
        followers.end()

    # -- vectors --------------------------------------------------------------------------------------------------

    def _embed(self) -> None:
        source, base = self._world._embeddings, self._world._connection
        embedder = self._world._embedder.embedder
        if source.stored is None and embedder is not None and self._own._embeddings.pending():
            if base.read_only:
                return
            with contextlib.suppress(WorldsError):  # somebody else is writing: the texts are found by words
                source.adopt(embedder)
        super()._embed()

    def _borrow(self, stored: Any, embedder: Embedder | None) -> Borrowing:
        return Borrowing(stored, embedder, self._known, self._keep)

    def _known(self, digests: list[bytes]) -> dict[bytes, bytes | None]:
        found: dict[bytes, bytes | None] = {}
        statement = _SQL["vectors_beneath"]
        for start in range(0, len(digests), _BATCH):
            part = digests[start : start + _BATCH]
            bound = statement.bind(
                scopes_json=json.dumps(sorted({*self._memories, *self._beneath()})),
                digests_json=json.dumps([digest.hex() for digest in part]),
            )
            for position, vector in self._world._connection.rows(statement, bound):
                found[part[int(position)]] = vector
        return super()._known([digest for digest in digests if digest not in found]) | found

    def _keep(self, digests: list[bytes], vectors: Any) -> None:
        """Keep the vectors of texts for the next time that they are read."""
        if not self._world._connection.read_only:
            with contextlib.suppress(WorldsError):  # somebody else is writing
                self._keeping.keep_vectors(self._memories[0], digests, vectors)
