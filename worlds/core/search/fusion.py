"""The fusion of lists: the statement of a search, put together from the pieces of search.sql, and its values.

What several worlds found is fused by the same pieces.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TypeAlias

from worlds.core.search.candidates import Fused
from worlds.core.search.request import SearchRequest
from worlds.sql import Statement, compile_statement, texts
from worlds.sql.connection import Connection

_PIECES = texts("search.sql")
_RANKED = (
    "score", "vector_rank", "similarity", "vector_score", "text_rank", "bm25", "text_score", "coverage", "pending",
)  # fmt: skip
_PLACES = 12  # after the point, in which two worlds agree on a BM25: each may work it out in its own way


def _composed(*pieces: str) -> Statement:
    """The statement of these steps, the last of which is the SELECT of them."""
    *steps, select = [piece.strip() for piece in pieces]
    return compile_statement("WITH\n" + ",\n".join(steps) + "\n" + select)


_VECTORS = (_PIECES["neighbours_indexed"], _PIECES["vector_matches"])
_TEXTS = _PIECES["text_matches"]
_END = (_PIECES["weighed"], _PIECES["summed"], _PIECES["passages"], _PIECES["hits"])
_OF_WORLDS = (_PIECES["weighed_of_worlds"], _PIECES["summed"], _PIECES["hits_of_worlds"])
_RRF, _RELATIVE = _PIECES["scores_rrf"], _PIECES["scores_relative"]
_SCORES = {"rrf": _RRF, "relative": _RELATIVE, "weighted": _RELATIVE}

BEST = _composed(_TEXTS, _PIECES["best_texts"])
NEAREST = {
    True: _composed(*_VECTORS, _PIECES["nearest"]),  # by the native index
    False: _composed(_PIECES["neighbours_given"], _PIECES["vector_matches"], _PIECES["nearest"]),
}
ONE_STATEMENT = _composed(*_VECTORS, _TEXTS, _PIECES["found_here"], _RRF, *_END)
FUSED = {fusion: _composed(_PIECES["found_given"], scores, *_END) for fusion, scores in _SCORES.items()}
FUSED_OF_WORLDS = {
    fusion: _composed(_PIECES["found_of_worlds"], scores, *_OF_WORLDS) for fusion, scores in _SCORES.items()
}

Found: TypeAlias = tuple[int, Fused]
"""The place of a world, and a row that it found."""


def fusion_values(request: SearchRequest) -> dict[str, object]:
    """The parameters of the pieces that give scores."""
    theoretical = request.normalise == "theoretical"
    return {
        "k": float(request.k),
        "vector_weight": float(request.weights["vector"]),
        "text_weight": float(request.weights["text"]),
        "least_similarity": -1.0 if theoretical else None,
        "least_relevance": 0.0 if theoretical else None,
    }


def pending_factor(request: SearchRequest) -> float:
    """The sum of the weights divided by that of words, the only list of a chunk without a vector."""
    weights = request.weights
    return (weights["vector"] + weights["text"]) / weights["text"] if weights["text"] else 1.0


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
    statement = FUSED_OF_WORLDS[request.fusion]
    values = statement.bind(
        rows_json=json.dumps(given),
        coverage=1.0 if best is None else found[best][1].coverage,
        **fusion_values(request),
    )
    fused: list[Found] = []
    for place, *own in connection.rows(statement, values):
        world, row = found[listed[place]]
        fused.append((world, row._replace(**dict(zip(_RANKED, own, strict=True)))))
    return fused


def _ranks(
    found: Sequence[Found], depth: int, rank: Callable[[Fused], int | None], value: Callable[[Fused], float]
) -> dict[int, int]:
    """The places of the first rows of a list over all worlds with their ranks, best first."""
    listed = [at for at, (_, row) in enumerate(found) if rank(row) is not None]
    listed.sort(key=lambda at: value(found[at][1]))
    return {at: rank for rank, at in enumerate(listed[:depth], 1)}
