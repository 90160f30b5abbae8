"""A scale for probabilities, learnt from what was decided of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worlds.errors import ArgumentError

Values = NDArray[np.float64]

FEWEST, OF_EACH = 30, 5  # decisions that a scale is learnt from, and of either kind
_STEADY = 1.0  # pairs as many as which a scale that changes nothing counts
_FLAT = 0.05  # slope at least: what is decided against the probabilities leaves their order


class Learned(NamedTuple):
    """A scale for probabilities, from decisions: slope and intercept of the logarithm of the odds (Platt 1999)."""

    slope: float
    intercept: float
    decisions: int

    def __call__(self, chances: Values) -> Values:
        """What probabilities are on this scale."""
        told: Values = 1 / (1 + np.exp(-np.clip(self.slope * _odds(chances) + self.intercept, -40.0, 40.0)))
        return told


def learned(chances: Sequence[float], right: Sequence[bool]) -> Learned:
    """The scale by which probabilities agree best with what was decided; a few decisions change little.

    ArgumentError for fewer than 30, or fewer than five of either kind.
    """
    y = np.array(right, dtype=np.float64)
    least = int(min(y.sum(), len(y) - y.sum()))
    if len(y) < FEWEST or least < OF_EACH:
        raise ArgumentError(
            f"learning takes {FEWEST} decided proposals with a probability, {OF_EACH} accepted and {OF_EACH} rejected; "
            f"there are {len(y)}, {int(y.sum())} of them accepted"
        )
    x = np.column_stack([_odds(np.array(chances, dtype=np.float64)), np.ones(len(y))])
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


def _odds(chances: Values) -> Values:
    p = np.clip(chances, 1e-6, 1 - 1e-6)
    found: Values = np.log(p / (1 - p))
    return found
