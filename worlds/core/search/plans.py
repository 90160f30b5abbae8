"""How the vectors nearest to a question are found: which plan is the cheapest that loses none of them, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from worlds.core.quads.dictionary import Ids, json_ids
from worlds.core.search.filters import Eligible
from worlds.core.search.request import SearchRequest, Vector
from worlds.core.vectors.codes import Codes
from worlds.core.vectors.index import require_native
from worlds.core.vectors.near import Cosines, FewVectors
from worlds.errors import WorldsError
from worlds.sql import statements
from worlds.sql.connection import Connection

_SQL = statements("queries.sql")

EXACT = 1000  # vectors up to which comparing all of them is cheapest
EXACT_WITHOUT_CODES = 4000  # the same while the codes are not in memory
INDEX_FROM = 4_000_000  # vectors from which on the native index, where it is built, beats the scan of the codes
INDEX_CANDIDATES = 400  # the most that the index gives, its search_l


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
