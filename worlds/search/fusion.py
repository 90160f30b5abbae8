"""The fusion of two lists, in Python, for lists that several worlds gave; in one world sql/search.sql does the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from worlds.search.request import SearchRequest

K = TypeVar("K")


class Scores(NamedTuple):
    """What the lists give a text, as the columns of `scores` in sql/search.sql."""

    vector_rank: int | None
    similarity: float | None
    vector_score: float | None
    text_rank: int | None
    bm25: float | None
    text_score: float | None
    coverage: float


@dataclass
class Found:
    """What the lists know of a text."""

    vector_rank: int | None = None
    similarity: float | None = None
    text_rank: int | None = None
    bm25: float | None = None


def fuse(found: Mapping[K, Found], request: SearchRequest, coverage: float) -> dict[K, Scores]:
    """The scores of all that was found, by the fusion that the request asks for; higher is better."""
    vector_weight, text_weight = float(request.weights["vector"]), float(request.weights["text"])
    if request.fusion == "rrf":
        return {
            key: Scores(
                one.vector_rank,
                one.similarity,
                None if one.vector_rank is None else vector_weight / (request.k + one.vector_rank),
                one.text_rank,
                one.bm25,
                None if one.text_rank is None else text_weight / (request.k + one.text_rank),
                1.0,
            )
            for key, one in found.items()
        }
    similarities = [one.similarity for one in found.values() if one.similarity is not None]
    relevances = [one.bm25 for one in found.values() if one.bm25 is not None]
    theoretical = request.normalise == "theoretical"
    high, low = max(similarities, default=0.0), -1.0 if theoretical else min(similarities, default=0.0)
    best = min(relevances, default=0.0)
    worst = 0.0 if theoretical else max((one.bm25 or 0.0 for one in found.values()), default=0.0)
    return {
        key: Scores(
            one.vector_rank,
            one.similarity,
            None
            if one.similarity is None
            else vector_weight * _share(one.similarity - low, high - low, max(min(one.similarity, 1.0), 0.0)),
            one.text_rank,
            one.bm25,
            None if one.bm25 is None else text_weight * coverage * _share(worst - one.bm25, worst - best, 1.0),
            coverage,
        )
        for key, one in found.items()
    }


def _share(part: float, whole: float, without_spread: float) -> float:
    """`part` of `whole`, from 0 to 1; `without_spread` where all values are equal, so that `whole` is 0."""
    return part / whole if whole else without_spread
