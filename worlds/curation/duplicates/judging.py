"""How likely two entities are one, by all that is for and against it.

A logistic regression judges each pair by itself; a second one knows by how much a pair stands above its rivals, the
other pairs of its two entities. Within one graph the share of pairs that are one is estimated from the graph itself
(Saerens, Latinne, Decaestecker 2002, Adjusting the outputs of a classifier to new a priori probabilities).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from worlds.curation.columns.lists import Mask, firsts, sums
from worlds.curation.duplicates.likeness import APART, INITIALS, JOINED, MORE, OTHER
from worlds.curation.duplicates.pairs import Candidates, Weights
from worlds.curation.duplicates.spelling import Shares

Values: TypeAlias = NDArray[np.float64]
Where: TypeAlias = Literal["between", "within"]

FEATURES = (
    "same name", "initials", "alike", "very alike", "namesakes", "links", "values", "against", "other type", "linked",
    "no name", "share that agrees", "none agrees", "siblings", "identifiers", "systematic", *APART, "rarest link",
    "rarest value", "same name, other type", "namesakes of the same name", "apart", "values apart", "links apart",
)  # fmt: skip
"""What a probability is made from; the second regression has the two numbers of `lead`, too."""

_MOST = 2.0  # tens of bits that values, or links, tell
_CLEAR = 4.0  # of the logarithm of the odds: a lead, or its lack, tells no more from there on
_SHIFT = (-2.5, 1.0)  # of the logarithm of the odds, for the share of pairs that are one
_TWIN = 6.0  # the logarithm of the odds of the twin that an entity has already
_TRUSTED = 200  # pairs as many as which the share that is usual counts


class Fitted(NamedTuple):
    """The weights of one regression after the other; the last of each stands alone. `share` is that of the pairs which
    were one, in the logarithm of its odds."""

    first: Sequence[float]
    second: Sequence[float]
    share: float


# By `python -m benchmarks.duplicates WHEEL --fit`.
WEIGHTS: Mapping[Where, Fitted] = {
    "between": Fitted(
                (-2.223, 3.07, -1.103, 7.636, -0.965, 1.773, 2.244, -2.62, -0.823, -4.244, -2.614, 1.008, -1.362,
         -1.588, -3.896, -1.699, -3.027, -3.79, -5.992, -0.778, -4.464, -4.651, -1.392, -1.61, 0.863, 1.302, -0.312,
         -1.308, 1.129, 2.75, -0.964, -2.998),
                (-2.216, 1.416, 0.188, 3.147, 0.82, 1.206, 3.42, -0.871, -0.977, -2.592, -1.925, 1.629, -1.632,
         -1.448, -3.536, -1.136, -2.973, -2.295, -4.043, -0.982, -2.775, -2.151, -1.155, -0.613, 0.196, -0.843,
         -0.02, 0.339, 0.426, 1.806, -0.017, 1.793, -0.172, -2.44),
        -1.817,
    ),
    "within": Fitted(
                (-0.867, 3.478, -1.408, 7.109, 0.407, 0.647, 1.47, -1.837, -0.296, -6.644, -2.5, 2.143, -1.222,
         -2.648, -3.126, -2.009, -3.251, -3.315, -7.485, -0.281, -4.156, -6.277, -3.011, -4.64, 1.285, 2.076,
         -1.049, -2.514, 1.149, 3.445, -3.843, -3.665),
                (-1.032, 3.115, -1.438, 5.934, 1.537, 0.284, 1.858, -1.3, -0.128, -6.043, -2.174, 2.412, -1.211,
         -2.421, -3.009, -1.699, -3.365, -2.751, -7.371, -0.296, -3.88, -5.273, -2.928, -3.834, 0.658, 0.996,
         -1.023, -2.09, 1.064, 3.211, -3.732, 0.878, -0.176, -3.321),
        -3.122,
    ),
}  # fmt: skip


def features(found: Candidates, weights: Weights) -> Values:
    """What tells two that are one from two that are not, float64 [pairs, features], in the order of `FEATURES`."""
    alike = found.likeness
    same = alike.how <= JOINED
    compared = weights.agreeing + weights.differing
    other_type, namesakes = weights.types < 0, np.log1p(weights.namesakes)
    links, values = (np.minimum(bits / 10, _MOST) for bits in (weights.bits_by_links, weights.bits_by_values))
    apart = alike.apart[:, MORE] + alike.apart[:, OTHER]
    return np.stack(
        [
            same,
            alike.how == INITIALS,
            alike.score,
            np.maximum(alike.score - 0.8, 0.0) * 5,
            namesakes,
            links,
            values,
            np.minimum(weights.bits_against, 40.0) / 10,
            other_type,
            weights.linked,
            found.names[0] < 0,
            np.where(compared > 0, weights.agreeing / np.maximum(compared, 1) - 0.5, 0.0),
            (compared > 1) & (weights.agreeing == 0),
            weights.siblings & ~same,
            weights.identifiers,
            np.log1p(weights.systematic) * ~same,
            *alike.apart.T,
            weights.rarest_link / 10,
            weights.rarest_value / 10,
            same & other_type,
            namesakes * same,
            apart * apart,
            values * np.minimum(apart, 1.0),
            links * np.minimum(apart, 1.0),
        ],
        axis=1,
    ).astype(np.float64)


def odds(values: Values, weights: Sequence[float]) -> Shares:
    """The weighted features, as the logarithm of the odds."""
    found: Shares = np.clip(values @ np.array(weights[:-1]) + weights[-1], -40.0, 40.0)
    return found


def lead(found: Candidates, standing: Shares) -> Values:
    """By how much each pair stands above the others of its two entities, float64 [pairs, 2]: as it is, and whether."""
    rows = np.tile(np.arange(len(found)), 2)
    whose = np.concatenate([found.a, found.b])
    order = np.lexsort((-standing[rows], whose))
    begins = firsts(whose[order])
    first = np.flatnonzero(begins)
    owners = np.cumsum(begins) - 1
    best = order[first]
    after = rows[order[np.minimum(first + 1, len(order) - 1)]]
    second = np.where(np.diff(np.append(first, len(order))) > 1, standing[after], -_CLEAR * 2)
    rival = np.empty(len(rows))
    rival[order] = np.where(order == best[owners], second[owners], standing[rows[best]][owners])
    most = np.maximum(rival[: len(found)], rival[len(found) :])
    leads = np.clip(standing - most, -_CLEAR, _CLEAR)
    return np.stack([leads / 2, np.clip(leads * 2, -1.0, 1.0)], axis=1)


def probabilities(
    found: Candidates, values: Values, where: Where, fitted: Fitted | None = None, taken: Mask | None = None
) -> Shares:
    """How likely each pair is one, from 0 to 1.

    Between graphs an entity has one twin at most, and its candidates share what is likely; `taken`, bool [entities],
    are those that have one already, being in both graphs, as after a merge. Within one each pair is
    judged by itself, and the less likely, the fewer pairs of this graph seem to be one.
    """
    first, second, share = fitted or WEIGHTS[where]
    told = odds(np.column_stack([values, lead(found, odds(values, first))]), second)
    if where == "within":
        return 1 / (1 + np.exp(-np.clip(told + _shift(told, share), -40.0, 40.0)))
    chances = np.exp(told)
    rivals = chances
    if len(told):
        size = int(found.b.max()) + 1
        every = sums(found.a, size, chances) + sums(found.b, size, chances)
        if taken is not None:
            every += np.exp(_TWIN) * taken[:size]
        rivals = np.maximum(every[found.a], every[found.b])
    shares: Shares = chances / (1 + rivals)
    return shares


def _shift(told: Shares, share: float) -> float:
    """What the odds of all pairs are raised by, since more of them are one than usually."""
    usual = _TRUSTED / (1 + np.exp(-share))
    shift = 0.0
    for _ in range(100):
        expected = float((1 / (1 + np.exp(-(told + shift)))).sum())
        here = np.log((expected + usual) / (len(told) + _TRUSTED - expected - usual))
        before, shift = shift, float(np.clip(here - share, *_SHIFT))
        if abs(shift - before) < 1e-4:
            break
    return shift
