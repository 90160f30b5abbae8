"""How well probabilities agree with what is known: precision and recall from each on, and how often they hold."""

from __future__ import annotations

import csv
import html
import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from worlds.errors import ArgumentError, ParseError
from worlds.graph.records import Count, Record, Score

Values = NDArray[np.float64]

THRESHOLDS = (0.1, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
BINS = 10
FEWEST, OF_EACH = 30, 5  # decisions that a scale is learnt from, and of either kind
_YES, _NO = {"1", "yes", "true", "same"}, {"0", "no", "false", "different"}
_HEADS = {"a", "one", "left", "subject", "name", "text", "iri"}  # of a column: the row is no truth
_STEADY = 1.0  # pairs as many as which a scale that changes nothing counts
_FLAT = 0.05  # slope at least: what is decided against the probabilities leaves their order


class Threshold(NamedTuple):
    """What is found from a probability on; recall is None where nothing is to be found."""

    minimum: Score
    found: Count
    right: Count
    precision: Score | None
    recall: Score | None

    def to_dict(self) -> dict[str, Any]:
        """The fields."""
        return self._asdict()


class Bin(NamedTuple):
    """The cases of some probabilities: what they promise on average, and how often it holds."""

    low: Score
    high: Score
    cases: Count
    promised: Score | None
    held: Score | None

    def to_dict(self) -> dict[str, Any]:
        """The fields."""
        return self._asdict()


@dataclass(frozen=True, slots=True)
class Evaluation(Record):
    """How well what is found agrees with what is known.

    `truths` is how many there are to be found, `judged` how many of those that were found somebody judged. `error` is
    the expected calibration error over `bins`: the mean difference between a probability and how often it holds, from 0
    (Guo et al. 2017, https://arxiv.org/abs/1706.04599); None where nothing is judged.
    """

    of: str
    truths: Count
    judged: Count
    error: Score | None
    thresholds: tuple[Threshold, ...]
    bins: tuple[Bin, ...]

    def __str__(self) -> str:
        rows = [
            f"{one.minimum:g}\t{one.found}\t{_share(one.precision)}\t{_share(one.recall)}" for one in self.thresholds
        ]
        return "\n".join(["from\tfound\tprecision\trecall", *rows, f"calibration error {_share(self.error)}"])

    def to_html(self, name: str = "") -> str:
        """One page, which needs nothing else: the tables, and two pictures as SVG; `name` is the world's."""
        rows = "".join(
            f"<tr><td>{one.minimum:g}</td><td>{one.found:,}</td><td>{_share(one.precision)}</td>"
            f"<td>{_share(one.recall)}</td></tr>"
            for one in self.thresholds
        )
        bins = "".join(
            f"<tr><td>{one.low:.1f} to {one.high:.1f}</td><td>{one.cases:,}</td><td>{_share(one.promised)}</td>"
            f"<td>{_share(one.held)}</td></tr>"
            for one in self.bins
        )
        curve = [(one.recall, one.precision) for one in self.thresholds]
        held = [(one.promised, one.held) for one in self.bins]
        return _PAGE.format(
            title=html.escape(f"Evaluation of {self.of}" + (f" of {name}" if name else "")),
            truths=f"{self.truths:,}",
            judged=f"{self.judged:,}",
            error=_share(self.error),
            rows=rows,
            bins=bins,
            curve=_picture(curve, "recall", "precision", diagonal=False),
            calibration=_picture(held, "probability", "how often it holds", diagonal=True),
        )


def evaluated(of: str, chances: Sequence[float], right: Sequence[bool], missed: int) -> Evaluation:
    """Of what was found with these probabilities, this was right; `missed` truths were not found."""
    p, y = np.array(chances, dtype=np.float64), np.array(right, dtype=bool)
    truths = int(y.sum()) + missed
    thresholds = []
    for minimum in THRESHOLDS:
        of_these = p >= minimum
        found, good = int(of_these.sum()), int((y & of_these).sum())
        thresholds.append(
            Threshold(minimum, found, good, good / found if found else None, good / truths if truths else None)
        )
    bins = []
    error = 0.0
    place = np.minimum((p * BINS).astype(int), BINS - 1)
    for at in range(BINS):
        here = place == at
        cases = int(here.sum())
        promised, held = (float(p[here].mean()), float(y[here].mean())) if cases else (None, None)
        bins.append(Bin(at / BINS, (at + 1) / BINS, cases, promised, held))
        if promised is not None and held is not None:
            error += cases / len(p) * abs(promised - held)
    return Evaluation(of, truths, len(p), error if len(p) else None, tuple(thresholds), tuple(bins))


# -- the truth --------------------------------------------------------------------------------------------------------


def truths(source: Any, columns: int, optional: int = 0) -> list[tuple[tuple[str, ...], bool | None]]:
    """(values, judgement) of each row of a table: a path (CSV, or TSV by its first line), or rows themselves.

    A row has so many `columns`, maybe `optional` more, and maybe a judgement: yes, no, 1, 0, true or false. A first row
    of headings is passed over.
    """
    if isinstance(source, str | Path):
        try:
            text = Path(source).read_text("utf-8-sig")
        except UnicodeDecodeError as error:
            raise ParseError(f"it is no text in UTF-8: {error}", source=str(source)) from error
        first = text.partition("\n")[0]
        rows: Iterable[Any] = csv.reader(io.StringIO(text), delimiter="\t" if "\t" in first else ",")
        name = str(source)
    else:
        rows, name = source, "the truth"
    found: list[tuple[tuple[str, ...], bool | None]] = []
    for number, row in enumerate(rows, 1):
        values = [str(value).strip() for value in row]
        if not any(values) or (number == 1 and values[0].lower() in _HEADS):
            continue
        judgement: bool | None = None
        if len(values) > columns and values[-1].lower() in _YES | _NO:
            judgement = values.pop().lower() in _YES
        if not columns <= len(values) <= columns + optional:
            wanted = f"{columns}" if not optional else f"{columns} or {columns + optional}"
            raise ParseError(
                f"a row has {wanted} values, and maybe a judgement, not {len(values)}", source=name, line=number
            )
        found.append((tuple(values), judgement))
    if not found:
        raise ArgumentError(f"{name} holds no row to evaluate by")
    return found


# -- a scale that is learnt -------------------------------------------------------------------------------------------


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


# -- pictures ---------------------------------------------------------------------------------------------------------


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _picture(points: Iterable[tuple[float | None, float | None]], x: str, y: str, *, diagonal: bool) -> str:
    """Points in a square of shares, joined by a line."""
    places = [
        (40 + 240 * a, 260 - 240 * b)
        for a, b in points
        if a is not None and b is not None and math.isfinite(a) and math.isfinite(b)
    ]
    line = " ".join(f"{a:.1f},{b:.1f}" for a, b in places)
    dots = "".join(f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3"/>' for a, b in places)
    right = '<line x1="40" y1="260" x2="280" y2="20" stroke="#bbb"/>' if diagonal else ""
    return (
        f'<svg viewBox="0 0 300 300" width="300" role="img" aria-label="{y} by {x}">'
        f'<rect x="40" y="20" width="240" height="240" fill="none" stroke="#ccc"/>{right}'
        f'<polyline points="{line}" fill="none" stroke="#2471a3"/><g fill="#2471a3">{dots}</g>'
        f'<text x="160" y="285" text-anchor="middle">{x}</text>'
        f'<text x="20" y="140" text-anchor="middle" transform="rotate(-90 20 140)">{y}</text></svg>'
    )


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; color: #222 }}
table {{ border-collapse: collapse; margin: 1rem 0 }} td, th {{ border-bottom: 1px solid #ddd; padding: .3rem .8rem;
text-align: right }} figure {{ display: inline-block; margin: 0 2rem 0 0 }} text {{ font-size: 12px; fill: #444 }}
</style></head><body>
<h1>{title}</h1><p>{truths} to be found, {judged} found and judged; calibration error {error}.</p>
<figure>{curve}</figure><figure>{calibration}</figure>
<table><thead><tr><th>from</th><th>found</th><th>precision</th><th>recall</th></tr></thead><tbody>{rows}</tbody></table>
<table><thead><tr><th>probability</th><th>cases</th><th>promised</th><th>held</th></tr></thead><tbody>{bins}</tbody></table>
</body></html>
"""
