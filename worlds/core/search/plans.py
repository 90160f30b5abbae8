"""How the vectors nearest to a question are found: the cheapest plan that loses none of them, and the near ones."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from worlds.core.quads.dictionary import Ids, json_ids
from worlds.core.search.filters import Eligible
from worlds.core.search.request import SearchRequest, Vector
from worlds.core.vectors.codes import Codes
from worlds.core.vectors.index import require_native
from worlds.errors import WorldsError
from worlds.sql import statements
from worlds.sql.bound_values import integers
from worlds.sql.connection import Connection

_STAGES = statements("stages.sql")
_SQL = statements("queries.sql")
EXACT = 1000  # vectors up to which comparing all of them is cheapest
EXACT_WITHOUT_CODES = 4000  # the same while the codes are not in memory
INDEX_FROM = 4_000_000  # vectors from which on the native index, where it is built, beats the scan of the codes
INDEX_CANDIDATES = 400  # the most that the index gives, its search_l


class FewVectors:
    """The vectors of some ids, and the chunks that have them and may be found."""

    def __init__(self, connection: Connection, ids: Ids, mask: bytes | None) -> None:
        """Of ascending ids; `mask` has a byte for each chunk, 1 where it may be found, and None lets all through."""
        listed = json_ids(ids)
        positions, embeddings = connection.rows(_STAGES["embeddings"], (listed,))[0]
        known = integers(positions)
        self._vectors = np.frombuffer(embeddings or b"", dtype="<f4").reshape(len(known) or 1, -1)[: len(known)]
        statement = _SQL["chunks_of_vectors"]
        chunks, at = connection.columns(statement, statement.bind(ids_json=listed, eligible=mask))
        row = np.full(len(ids) + 1, -1, dtype=np.int64)
        row[known] = np.arange(len(known))  # others have no direction
        order = np.argsort(chunks, kind="stable")
        order = order[row[at[order]] >= 0]
        self._chunks, self._rows = chunks[order], row[at[order]]
        exact = self._vectors.astype(np.float64)
        self._squares = np.einsum("ij,ij->i", exact, exact)

    def cosines(self, query: NDArray[np.float32]) -> Cosines:
        """The cosines to a vector, float32 [d]."""
        vectors, sought = self._vectors.astype(np.float64), query.astype(np.float64)
        if not len(vectors):
            return Cosines(self._chunks, self._rows, np.empty(0))
        # Not by a product of matrices, in which equal rows need not give equal sums.
        lengths = np.sqrt(self._squares * np.einsum("i,i->", sought, sought))
        return Cosines(self._chunks, self._rows, np.einsum("ij,j->i", vectors, sought) / lengths)


@dataclass(frozen=True)
class Cosines:
    """The cosines between chunks and a question; higher is better."""

    _chunks: Ids  # ascending
    _rows: Ids  # [chunk], its vector's
    _cosines: NDArray[np.float64]  # [vector]

    def nearest(self, depth: int, least: float | None) -> list[tuple[int, float]]:
        """The nearest chunks with a cosine of at least `least`, best first, from the `depth` nearest vectors."""
        near = np.zeros(len(self._cosines), dtype=bool)
        near[np.argsort(-self._cosines, kind="stable")[:depth]] = True
        held = near[self._rows]
        chunks, values = self._chunks[held], self._cosines[self._rows[held]]
        order = np.lexsort((chunks, -values))[:depth]
        found = zip(chunks[order].tolist(), values[order].tolist(), strict=True)
        return [(chunk, value) for chunk, value in found if least is None or value >= least]

    def of(self, chunks: Iterable[int]) -> list[tuple[int, float]]:
        """(chunk, cosine) for the chunks that have a vector."""
        sought = np.fromiter(chunks, dtype=np.int64)
        at = np.minimum(np.searchsorted(self._chunks, sought), max(len(self._chunks) - 1, 0))
        held = self._chunks[at] == sought if len(self._chunks) else np.zeros(len(sought), dtype=bool)
        return list(zip(sought[held].tolist(), self._cosines[self._rows[at[held]]].tolist(), strict=True))


@dataclass(frozen=True)
class VectorPlan:
    """A plan, the reason for it, and its parameters of the statement."""

    name: str  # exact, codes or index
    reason: str
    values: dict[str, object]
    compared: int | None  # vectors whose exact cosine is computed; None where the index chooses them
    cosines: Cosines | None = None  # where they were worked out in memory


class Plans:
    """Chooses the plans of one world's searches."""

    def __init__(self, connection: Connection, codes: Codes) -> None:
        self._connection = connection
        self._codes = codes
        self._few: WeakKeyDictionary[Eligible, FewVectors] = WeakKeyDictionary()

    def choose(
        self, request: SearchRequest, depth: int, eligible: Eligible | None, state: tuple[Any, ...]
    ) -> VectorPlan:
        """The plan that was asked for, or the cheapest for as many vectors as may be found."""
        assert request.vector is not None
        if request.plan == "index":
            return self._index(depth, "as asked")
        codes = self._codes
        if eligible is not None and request.plan != "codes":
            most = EXACT if len(codes) else EXACT_WITHOUT_CODES
            count = len(eligible.vectors)
            if count <= most or request.plan == "exact":
                reason = "as asked" if request.plan == "exact" else f"{count:,} vectors are few"
                return self._exact(request.vector, reason, eligible.vectors, eligible)
        codes.refresh(state[1], state[2])
        total = len(codes)
        if eligible is None:
            if request.plan == "exact" or (request.plan == "auto" and total <= EXACT):
                reason = "as asked" if request.plan == "exact" else f"{total:,} vectors are few"
                return self._exact(request.vector, reason, codes.ids, None)
            if request.plan == "auto" and total >= INDEX_FROM and self._indexed:
                return self._index(depth, f"no filter, and {total:,} vectors are at least {INDEX_FROM:,}")
        nearest = codes.nearest(request.vector, depth, None if eligible is None else eligible.vectors)
        of = total if eligible is None else len(eligible.vectors)
        reason = "as asked" if request.plan == "codes" else f"{of:,} vectors to choose from"
        return VectorPlan("codes", reason, {"candidates_json": json_ids(nearest)}, len(nearest))

    def _exact(self, query: Vector, reason: str, ids: Ids, eligible: Eligible | None) -> VectorPlan:
        """All of these vectors; few of them stay in memory, while the world or the filter's chunks stay as they are."""
        if len(ids) > EXACT:
            return VectorPlan("exact", reason, {"candidates_json": json_ids(ids)}, len(ids))
        if eligible is None:
            few = self._connection.remembered("few vectors", lambda: FewVectors(self._connection, ids, None))
        elif (kept := self._few.get(eligible)) is None:
            few = self._few[eligible] = FewVectors(self._connection, ids, eligible.mask)
        else:
            few = kept
        return VectorPlan("exact", reason, {}, len(ids), few.cosines(query))

    @property
    def _indexed(self) -> bool:
        there = self._connection.row(_SQL["find_vector_index"]) is not None
        return there and self._connection.driver.native

    def _index(self, depth: int, reason: str) -> VectorPlan:
        require_native(self._connection)
        if not self._indexed:
            raise WorldsError(
                "this world has no native vector index: build_vector_index(), or `worlds file vector-index WORLD "
                "--build`, builds one, and vector_index=True keeps one from the start; plan='auto' needs none"
            )
        return VectorPlan("index", reason, {"candidates": max(depth, INDEX_CANDIDATES)}, None)
