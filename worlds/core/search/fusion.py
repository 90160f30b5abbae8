"""The fusion of what several worlds found, by the pieces of SQL that fuse the lists of one."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TypeAlias

from worlds.core.search.candidates import Fused
from worlds.core.search.request import SearchRequest
from worlds.core.search.statement import SCORES, fusion_values
from worlds.sql import compile_statement, texts
from worlds.sql.connection import Connection

_PIECES = texts("search.sql")
_FUSED = [
    "score",
    "vector_rank",
    "similarity",
    "vector_score",
    "text_rank",
    "bm25",
    "text_score",
    "coverage",
    "pending",
]
_PLACES = 12  # after the point, in which two worlds agree on a BM25: each may work it out in its own way
FUSED = {
    fusion: compile_statement(
        f"WITH {_PIECES['given_of_worlds'].strip()},\n{_PIECES['found'].strip()},\n{scores.strip()},\n"
        f"{_PIECES['weighed_of_worlds'].strip()},\n{_PIECES['summed'].strip()}\n{_PIECES['fused_of_worlds'].strip()}"
    )
    for fusion, scores in SCORES.items()
}

Found: TypeAlias = tuple[int, Fused]
"""The place of a world, and a row that it found."""


def fuse(
    connection: Connection, found: Sequence[Found], request: SearchRequest, depth: int, pending_factor: float
) -> list[Found]:
    """The rows in the first `depth` of all by cosine, or of all by BM25, best first."""
    found = sorted(found, key=lambda one: (one[0], one[1].chunk))  # of equals the first is best
    near = _ranks(found, depth, lambda row: row.vector_rank, lambda row: -(row.similarity or 0.0))
    worded = _ranks(found, depth, lambda row: row.text_rank, lambda row: round(row.bm25 or 0.0, _PLACES))
    listed = sorted({*near, *worded})
    completed = request.fusion != "rrf"  # else what is in a list of its world alone has no value
    given = [
        (
            near.get(at),
            row.similarity if completed or at in near else None,
            worded.get(at),
            row.bm25 if completed or at in worded else None,
            row.weight,
            pending_factor if row.vector is None else 1.0,
            row.label_score,
        )
        for at, row in ((at, found[at][1]) for at in listed)
    ]
    best = next(iter(worded), None)
    statement = FUSED[request.fusion]
    values = statement.bind(
        rows_json=json.dumps(given),
        coverage=1.0 if best is None else found[best][1].coverage,
        compared=-1,
        **fusion_values(request),
    )
    fused: list[Found] = []
    for place, *own in connection.rows(statement, values):
        world, row = found[listed[place]]
        fused.append((world, row._replace(**dict(zip(_FUSED, own, strict=True)))))
    return fused


def _ranks(
    found: Sequence[Found], depth: int, rank: Callable[[Fused], int | None], value: Callable[[Fused], float]
) -> dict[int, int]:
    """The places of the first rows of a list over all worlds with their ranks, best first."""
    listed = [at for at, (_, row) in enumerate(found) if rank(row) is not None]
    listed.sort(key=lambda at: value(found[at][1]))
    return {at: rank for rank, at in enumerate(listed[:depth], 1)}
