"""Measures of rankings, by ir-measures, with intervals by bootstrap over the questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import ir_measures
import numpy as np
from ir_measures import RR, R, nDCG
from numpy.typing import NDArray

Values = NDArray[np.float64]  # one for each question, in the order of the set

MEASURES = {"nDCG@10": nDCG @ 10, "recall@100": R @ 100, "MRR": RR}
RESAMPLES = 10_000


def measure(
    rankings: Mapping[str, Sequence[str]], judgements: Mapping[str, Mapping[str, int]]
) -> dict[str, Values]:  # fmt: skip
    """Measure → its value for each question of the judgements; a question without an answer has 0."""
    # By falling scores, so that no measure has ties to break in a way of its own.
    run = {key: {iri: 1 / place for place, iri in enumerate(found, 1)} for key, found in rankings.items()}
    order = {key: place for place, key in enumerate(judgements)}
    values = {name: np.zeros(len(order)) for name in MEASURES}
    names = {str(measure): name for name, measure in MEASURES.items()}
    for metric in ir_measures.iter_calc(list(MEASURES.values()), judgements, run):
        values[names[str(metric.measure)]][order[metric.query_id]] = metric.value
    return values


def interval(*sets: Values, level: float = 0.95) -> tuple[float, float]:
    """The interval of the mean over the sets of their means, when the questions of each are drawn anew."""
    rng = np.random.default_rng(0)
    means = np.zeros(RESAMPLES)
    for values in sets:
        # How often each question is drawn: the counts of all resamples at once.
        drawn = rng.multinomial(len(values), np.full(len(values), 1 / len(values)), size=RESAMPLES)
        means += drawn @ values / len(values)
    low, high = np.quantile(means / len(sets), [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
