"""Probabilities of duplicates and links: scores on a scale that is learnt from what a world decided of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from worlds.sql import statements
from worlds.sql.connection import Connection

Values = NDArray[np.float64]
Scored: TypeAlias = Literal["duplicate", "link"]
"""Kinds of proposals with a score, of which decisions make a probability."""

_SQL = statements("curation.sql")

FEWEST, OF_EACH = 30, 5  # decisions that a scale is learnt from, and of either kind
_STEADY = 1.0  # pairs as many as which a scale that changes nothing counts
_FLAT = 0.05  # slope at least: what is decided against the scores leaves their order


class Learned(NamedTuple):
    """A scale for scores, from decisions: slope and intercept of the logarithm of the odds (Platt 1999)."""

    slope: float
    intercept: float
    decisions: int

    def __call__(self, scores: Values) -> Values:
        """The probabilities of scores."""
        return _share(self.slope * _odds(scores) + self.intercept)

    def least(self, probability: float) -> float:
        """The score of a probability, a hair below, so that rounding leaves no pair out."""
        return float(_share((_odds(np.array(probability)) - self.intercept) / self.slope)) - 1e-9


def decided(connection: Connection, kind: Scored) -> tuple[list[float], list[bool]]:
    """The scores of the proposals of a kind that a world decided on, and whether each was accepted."""
    rows = connection.rows(_SQL["decided_scores"], (kind,))
    return [score for score, _ in rows], [bool(accepted) for _, accepted in rows]


def learned(scores: Sequence[float], right: Sequence[bool]) -> Learned | None:
    """The scale of scores that agrees best with the decisions; a few decisions change little.

    None for fewer than 30, or fewer than five of either kind.
    """
    y = np.array(right, dtype=np.float64)
    if len(y) < FEWEST or min(y.sum(), len(y) - y.sum()) < OF_EACH:
        return None
    x = np.column_stack([_odds(np.array(scores, dtype=np.float64)), np.ones(len(y))])
    weights = prior = np.array([1.0, 0.0])

    def loss(at: Values) -> float:
        told = x @ at
        return float(np.logaddexp(0, told).sum() - y @ told + _STEADY / 2 * ((at - prior) ** 2).sum())

    for _ in range(100):  # Newton's method, a step as long as it gains
        p = 1 / (1 + np.exp(-np.clip(x @ weights, -40.0, 40.0)))
        gradient = x.T @ (p - y) + _STEADY * (weights - prior)
        step = np.linalg.solve((x * (p * (1 - p))[:, None]).T @ x + _STEADY * np.eye(2), gradient)
        while loss(weights - step) > loss(weights) and np.abs(step).max() > 1e-9:
            step = step / 2
        weights = weights - step
        if np.abs(step).max() < 1e-9:
            break
    return Learned(max(float(weights[0]), _FLAT), float(weights[1]), len(y))


def _share(odds: Values) -> Values:
    found: Values = 1 / (1 + np.exp(-np.clip(odds, -40.0, 40.0)))
    return found


def _odds(shares: Values) -> Values:
    p = np.clip(shares, 1e-6, 1 - 1e-6)
    found: Values = np.log(p / (1 - p))
    return found
