"""How likely two entities are one, by all that is for and against it.

A logistic regression judges each pair by itself; a second one knows by how much a pair stands above its rivals, the
other pairs of its two entities. The share of pairs that are one is estimated from the world itself
(Saerens, Latinne, Decaestecker 2002, Adjusting the outputs of a classifier to new a priori probabilities).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from worlds.extras.curation.columns.quad_columns import Mask, firsts, sums
from worlds.extras.curation.duplicates.likeness import APART, INITIALS, JOINED, MORE, OTHER
from worlds.extras.curation.duplicates.pairs import CandidatePairs, Weights
from worlds.extras.curation.duplicates.string_similarity import Shares

Values: TypeAlias = NDArray[np.float64]
Where: TypeAlias = Literal["between", "within"]

FEATURES = (
    "same name", "initials", "alike", "very alike", "namesakes", "links", "values", "against", "other type", "linked",
    "no name", "share that agrees", "none agrees", "siblings", "identifiers", "systematic", *APART, "rarest link",
    "rarest value", "same name, other type", "namesakes of the same name", "apart", "values apart", "links apart",
    "parents apart", "brackets", *(f"{of} {how}" for of in ("names", "texts") for how in ("cosine", "contained",
    "rarest word", "rarest code", "codes apart")),
)  # fmt: skip
"""The features of a pair. A score is made from them, from the features `usual` here, and from the two of `lead`."""
TELLING = (
    "numbers", "more", "other", "known", "onset", "code", "signs", "systematic", "names codes apart", "apart",
    "against", "none agrees", "identifiers",
)  # fmt: skip
"""Differences, which count by how usual they are: whether one tells two apart is a property of the sources."""
LEVELS = (
    "alike", "names cosine", "texts cosine", "names contained", "texts contained", "names rarest word",
    "texts rarest word",
)  # fmt: skip
"""Likenesses, which count between two graphs by how far they are from the usual one."""

_WORDS = np.tile([1.0, 1.0, 0.1, 0.1, 1.0], 2)  # bits are counted in tens
_MOST = 2.0  # tens of bits that values, or links, tell
_CLEAR = 4.0  # of the logarithm of the odds: a lead, or its lack, tells no more from there on
_SHIFT = {"between": (-4.0, 1.0), "within": (-0.5, 1.0)}  # of the logarithm of the odds, for the share that is one
_TWIN = 6.0  # the logarithm of the odds of the twin that an entity has already
_FEW = 20  # pairs as many as which it counts that nothing is known to be usual
_TRUSTED = 200  # pairs as many as which the share that is usual counts


class Fitted(NamedTuple):
    """The weights of one regression after the other; the last of each stands alone. `share` is that of the pairs which
    were one, in the logarithm of its odds."""

    first: Sequence[float]
    second: Sequence[float]
    share: float


# By `python -m benchmarks.judgement --fit`.
WEIGHTS: Mapping[Where, Fitted] = {
    where: Fitted(*fitted)
    for where, fitted in json.loads(files(__package__).joinpath("weights.json").read_text("utf-8")).items()
}


def features(found: CandidatePairs, weights: Weights, where: Where) -> Values:
    """The features of pairs of entities, float64 [pairs, features]: `FEATURES`, `TELLING`, `LEVELS`."""
    alike = found.likeness
    same = alike.how <= JOINED
    compared = weights.agreeing + weights.differing
    other_type, namesakes = weights.types < 0, np.log1p(weights.namesakes)
    links, shared = (np.minimum(bits / 10, _MOST) for bits in (weights.bits_by_links, weights.bits_by_values))
    apart = alike.apart[:, MORE] + alike.apart[:, OTHER]
    values = np.stack(
        [
            same,
            alike.how == INITIALS,
            alike.score,
            np.maximum(alike.score - 0.8, 0.0) * 5,
            namesakes,
            links,
            shared,
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
            shared * np.minimum(apart, 1.0),
            links * np.minimum(apart, 1.0),
            weights.apart & ~same,
            weights.bare & ~same,
            *(weights.words * _WORDS).T,
        ],
        axis=1,
    ).astype(np.float64)
    return np.column_stack([values, _usual(found, values, where)])


def _usual(found: CandidatePairs, values: Values, where: Where) -> Values:
    """The differences of each pair by how usual they are; between two graphs also the likenesses by how far they are
    from the usual one. Usual is the mean of the pairs of which each is the other's nearest by words; few say little."""
    near = values[:, FEATURES.index("names cosine")] + values[:, FEATURES.index("texts cosine")]
    best = np.zeros(int(found.b.max(initial=-1)) + 1)
    np.maximum.at(best, np.concatenate([found.a, found.b]), np.tile(near, 2))
    mutual = (near > 0) & (near >= best[found.a]) & (near >= best[found.b])
    usual = values[mutual].mean(axis=0) if mutual.any() else np.zeros(values.shape[1])
    telling, levels = ([FEATURES.index(name) for name in names] for names in (TELLING, LEVELS))
    told = values[:, telling] * usual[telling]
    told = told if where == "within" else np.column_stack([told, values[:, levels] - usual[levels]])
    known: Values = told * (mutual.sum() / (mutual.sum() + _FEW))
    return known


def odds(values: Values, weights: Sequence[float]) -> Shares:
    """The weighted features, as the logarithm of the odds."""
    found: Shares = np.clip(values @ np.array(weights[:-1]) + weights[-1], -40.0, 40.0)
    return found


def lead(found: CandidatePairs, standing: Shares) -> Values:
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


def scores_of(
    found: CandidatePairs, values: Values, where: Where, fitted: Fitted | None = None, taken: Mask | None = None
) -> Shares:
    """How likely each pair is one by the weights, from 0 to 1: a score, since data of a new kind contradict them.

    Between graphs an entity has one twin at most, and its candidates share what is likely; `taken`, bool [entities],
    are those that have one already, being in both graphs, as after a merge. Within one each pair is
    judged by itself. The less likely is each, the fewer pairs seem to be one here.
    """
    first, second, share = fitted or WEIGHTS[where]
    told = odds(np.column_stack([values, lead(found, odds(values, first))]), second)
    size = int(found.b.max(initial=-1)) + 1
    twins = np.exp(_TWIN) * (np.zeros(size) if taken is None else taken[:size])

    def shares(shift: float) -> Shares:
        rivals = chances = np.exp(np.clip(told + shift, -40.0, 40.0))
        if where == "between":
            every = sums(found.a, size, chances) + sums(found.b, size, chances) + twins
            rivals = np.maximum(every[found.a], every[found.b])
        likely: Shares = chances / (1 + rivals)
        return likely

    usual = _TRUSTED / (1 + np.exp(-share))
    shift = 0.0
    for _ in range(100):
        expected = float(shares(shift).sum())
        here = np.log((expected + usual) / (len(told) + _TRUSTED - expected - usual))
        before, shift = shift, float(np.clip(here - share, *_SHIFT[where]))
        if abs(shift - before) < 1e-4:
            break
    return shares(shift)
