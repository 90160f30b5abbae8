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

from worlds.curation.columns.lists import firsts, sums
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
"""What a probability is made from; see `features`."""
LEADS = ("lead", "any lead")
"""What is known beside them when all pairs have been judged; see `lead`."""

_MOST = 2.0  # tens of bits that values, or links, tell
_CLEAR = 4.0  # of the logarithm of the odds: a lead, or its lack, tells no more from there on
_SHIFT = (-2.5, 1.0)  # of the logarithm of the odds, for the share of pairs that are one
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
                (-2.237, 3.077, -1.286, 7.673, -0.941, 1.754, 2.221, -2.588, -0.799, -4.241, -2.751, 1.025, -1.368,
         -1.608, -3.908, -1.748, -2.832, -3.902, -6.101, -0.747, -4.486, -4.811, -1.52, -1.609, 0.894, 1.3, -0.297,
         -1.321, 1.157, 2.777, -1.0, -2.847),
                (-2.136, 1.501, -0.076, 3.118, 0.835, 1.313, 3.396, -0.813, -0.956, -2.503, -2.087, 1.618, -1.652,
         -1.432, -3.774, -1.163, -2.847, -2.467, -4.335, -0.933, -2.759, -2.29, -1.369, -0.613, 0.088, -0.874,
         -0.01, 0.311, 0.499, 1.852, -0.08, 1.816, -0.235, -2.218),
        -1.817,
    ),
    "within": Fitted(
                (-0.866, 3.472, -1.636, 7.142, 0.411, 0.648, 1.463, -1.82, -0.279, -6.649, -2.668, 2.133, -1.237,
         -2.636, -3.125, -2.02, -3.218, -3.46, -7.757, -0.255, -4.167, -6.209, -3.081, -4.626, 1.282, 2.076, -1.027,
         -2.51, 1.205, 3.511, -3.988, -3.482),
                (-1.014, 3.141, -1.6, 5.943, 1.53, 0.286, 1.864, -1.307, -0.115, -6.036, -2.269, 2.382, -1.219,
         -2.41, -3.017, -1.703, -3.299, -2.881, -7.542, -0.274, -3.881, -5.203, -3.054, -3.835, 0.68, 0.982, -1.003,
         -2.085, 1.11, 3.248, -3.817, 0.883, -0.192, -3.193),
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


def probabilities(found: Candidates, values: Values, where: Where, fitted: Fitted | None = None) -> Shares:
    """How likely each pair is one, from 0 to 1.

    Between graphs an entity has one twin at most, and its candidates share what is likely. Within one each pair is
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
