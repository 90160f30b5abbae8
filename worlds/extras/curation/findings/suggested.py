"""Irregularities of the data: values unlike all others, a second value where there is one, impossible dates.

Nothing is declared here, so nothing is surely wrong: each finding's score says how regular the others are.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from worlds.core.quads.dictionary import LITERAL, Ids
from worlds.extras.curation.columns.axioms import OWL, RDFS, SKOS, Axioms
from worlds.extras.curation.columns.quad_columns import QuadTable, distinct, groups
from worlds.extras.curation.columns.values import DATES, NUMBERS, days, numbers, of_datatypes
from worlds.extras.curation.findings.findings import RawFinding, Severity, listed
from worlds.graph.terms import RDF, local_name

_FEWEST = 20  # of what something is told to be unlike
_RARE = 0.02  # share of all that is at most unlike the others
_FENCE = 3.0  # interquartile ranges beyond the quartiles
_MOST_DATES = 60  # predicates of dates that are compared with each other
_SHAPES = 200_000  # texts of a predicate whose forms are compared
IDLE = (RDF, RDFS, OWL, SKOS, "http://www.w3.org/ns/shacl#")

_ORDERED = (  # what is called so comes before what is called so
    (r"birth|born", r"death|died"),
    (r"start|begin|began|from\b", r"end|ended|finish|until|through|to\b"),
    (r"found(?:ed|ing|ation)|inception|established|opened", r"dissol\w+|abolished|closed|defunct"),
    (r"created?|creation", r"modified|modification|updated?"),
    (r"departure|departed", r"arrival|arrived"),
    (r"issued|published", r"withdrawn|retracted|expir\w+"),
)


class Suggested:
    """Values that differ from the rest of a table."""

    def __init__(self, table: QuadTable, axioms: Axioms) -> None:
        self.table = table
        self.axioms = axioms
        names = table.values(table.used)
        self._names = {number: names[number] for number in table.used.tolist()}
        self._telling = [number for number, iri in self._names.items() if not iri.startswith(IDLE)]

    @property
    def checks(self) -> dict[str, Callable[[], Iterator[RawFinding]]]:
        """Name → the function that finds it."""
        return {
            "nearly functional": self.nearly_functional,
            "outlier": self.outliers,
            "odd kind": self.odd_kinds,
            "odd type": self.odd_types,
            "odd form": self.odd_forms,
            "impossible dates": self.impossible_dates,
        }

    def find(self) -> Iterator[RawFinding]:
        """All findings that the data suggest."""
        for check in self.checks.values():
            yield from check()

    def _rows(self, predicate: int) -> tuple[Ids, Ids, Ids]:
        of = self.table.rows(predicate)
        return self.table.subjects[of], self.table.objects[of], np.arange(of.start, of.stop, dtype=np.int64)

    # -- how many -----------------------------------------------------------------------------------------------------

    def nearly_functional(self) -> Iterator[RawFinding]:
        """Subjects with several values of a predicate that nearly all have one of; texts count in each language."""
        names, places = self.table.languages
        declared = set(self.axioms.typed(OWL + "FunctionalProperty"))
        for predicate in self._telling:
            if predicate in declared:
                continue
            subjects, objects = self.table.pairs(predicate)
            keys, often = np.unique(subjects * len(names) + places[objects], return_counts=True)
            many = keys[often > 1]
            if len(keys) < _FEWEST or not 0 < len(many) <= max(1.0, _RARE * len(keys)):
                continue
            score = at_least(len(keys) - len(many), len(keys))
            left, right, rows = self._rows(predicate)
            of = np.isin(left * len(names) + places[right], many)
            for key, (others, at) in groups((left * len(names) + places[right])[of], right[of], rows[of]):
                values = distinct(others).tolist()
                text = (
                    f"{{0}} has {len(values)} values of {{1}}, of which {len(keys) - len(many):,} of {len(keys):,} "
                    f"have one: {listed(values, 2)}"
                )
                yield RawFinding(
                    "nearly functional",
                    (key // len(names),),
                    tuple(at.tolist()),
                    text,
                    (key // len(names), predicate, *values[:3]),
                    severity="warning",
                    score=score,
                )

    # -- values -------------------------------------------------------------------------------------------------------

    def _classes_of(self, subjects: Ids) -> Iterator[tuple[int, NDArray[np.bool_]]]:
        """The classes with enough of these subjects, and the classes of each; -1 for subjects of no such class."""
        instances, kinds = self.axioms.types
        of = np.isin(instances, subjects)
        found, often = np.unique(kinds[of], return_counts=True)
        rest = np.ones(len(subjects), dtype=np.bool_)
        for kind in found[often >= _FEWEST].tolist():
            theirs = np.isin(subjects, instances[kinds == kind])
            rest &= ~theirs
            yield kind, theirs
        yield -1, rest

    def outliers(self) -> Iterator[RawFinding]:
        """Numbers and dates far from all others of their predicate and type."""
        measured = of_datatypes(self.table, self.table.objects, NUMBERS | DATES)
        for predicate in self._telling:
            subjects, objects, rows = self._rows(predicate)
            of = np.isin(objects, measured)
            if np.count_nonzero(of) < _FEWEST:
                continue
            subjects, objects, rows = subjects[of], objects[of], rows[of]
            values = numbers(self.table, objects)
            values = np.where(np.isnan(values), days(self.table, objects), values)
            told: set[int] = set()
            for kind, theirs in self._classes_of(subjects):
                others = ~np.isnan(values) if kind < 0 else theirs & ~np.isnan(values)
                if np.count_nonzero(others) < _FEWEST:
                    continue
                of_kind, score = _far(values[others])
                for place in np.flatnonzero(of_kind & theirs[others]).tolist():
                    row = int(rows[others][place])
                    subject, value = int(self.table.subjects[row]), int(self.table.objects[row])
                    if row in told:
                        continue
                    told.add(row)
                    among = " of the instances of {3}" if kind > 0 else ""
                    text = f"{{0}} has {{2}} as its {{1}}, far from the {np.count_nonzero(others) - 1:,} others{among}"
                    yield RawFinding(
                        "outlier",
                        (subject,),
                        (row,),
                        text,
                        (subject, predicate, value, *((kind,) if kind > 0 else ())),
                        severity="warning",
                        score=float(score[place]),
                    )

    def odd_kinds(self) -> Iterator[RawFinding]:
        """Literals where nearly all values are entities, and of another datatype than nearly all; and the reverse."""
        likeness = self._likeness()
        for predicate in self._telling:
            _, objects, rows = self._rows(predicate)
            kinds = self.table.kinds[objects]
            keys = np.where(kinds == LITERAL, 10 + likeness[self.table.datatypes[objects]], 1)
            yield from self._odd_values("odd kind", "warning", predicate, keys, rows, "another kind of value than")

    def _odd_values(
        self, kind: str, level: Severity, predicate: int, keys: Ids, rows: Ids, how: str
    ) -> Iterator[RawFinding]:
        """The values of a predicate with another key than nearly all others."""
        for row, score, total in _odd(keys, rows):
            subject, value = int(self.table.subjects[row]), int(self.table.objects[row])
            told = f"{{0}} has {{2}} as its {{1}}, {how} nearly all {total:,} others"
            yield RawFinding(kind, (subject,), (row,), told, (subject, predicate, value), severity=level, score=score)

    def _likeness(self) -> Ids:
        """Datatype id → the group of datatypes that it belongs to: numbers, dates, texts (-1 and -2)."""
        like = np.arange(len(self.table.kinds), dtype=np.int64)
        for alike in (NUMBERS, DATES):
            known = [number for number in self.table.ids(sorted(alike)) if number > 0]
            like[known] = min(known, default=0)
        return np.concatenate([like, [-1, -1]])  # datatypes[-1] and [-2] are the last two places

    def odd_types(self) -> Iterator[RawFinding]:
        """Objects, and subjects, of another class than nearly all others of the predicate."""
        instances, kinds = self.axioms.types
        typed = distinct(instances)
        for predicate in self._telling:
            left, right, rows = self._rows(predicate)
            for nodes, place in ((right, "value"), (left, "subject")):
                of = np.isin(nodes, typed)
                total = int(np.count_nonzero(of))
                if total < _FEWEST:
                    continue
                theirs = kinds[np.isin(instances, nodes[of])]
                common = int(np.bincount(theirs).argmax())
                for kind in sorted(
                    self.axioms.above(common), key=lambda one: len(self.axioms.above(one)), reverse=True
                ):
                    odd = of & ~np.isin(nodes, self.axioms.instances_below(kind))
                    if np.count_nonzero(odd) <= max(1.0, _RARE * total):
                        break
                else:
                    continue
                fitting = total - int(np.count_nonzero(odd))
                declared = self.axioms.objects(predicate, RDFS + ("range" if place == "value" else "domain"))
                allowed = [name for one in declared for name in self.axioms.any_of(one) or ()]
                odd &= ~np.isin(nodes, self.axioms.instances(self.axioms.below(allowed)))
                score = at_least(fitting, total)
                for node, (at,) in groups(nodes[odd], rows[odd]):
                    text = f"{{0}} is a {place} of {{1}}, and no instance of {{2}}, as {fitting:,} of {total:,} are"
                    yield RawFinding(
                        "odd type",
                        (node,),
                        (*at.tolist(), *self.axioms.type_rows(node, distinct(kinds))),
                        text,
                        (node, predicate, kind),
                        severity="info",
                        score=score,
                    )

    def odd_forms(self) -> Iterator[RawFinding]:
        """Short texts of another form than nearly all, where these have a form: letters, digits, signs in one order."""
        for predicate in self._telling:
            _, objects, rows = self._rows(predicate)
            of = self.table.datatypes[objects] == -1
            if not _FEWEST <= np.count_nonzero(of) <= _SHAPES:
                continue
            objects, rows = objects[of], rows[of]
            sample = self.table.values(objects[:: max(1, len(objects) // 200)])
            shapes = [form(text) for text in sample.values()]
            if max(map(shapes.count, set(shapes))) < 0.9 * len(shapes) or not re.search(r"9|[^Aa ]", shapes[0]):
                continue
            texts = self.table.values(objects)
            numbered: dict[str, int] = {}
            keys = [numbered.setdefault(form(texts[number]), len(numbered)) for number in objects.tolist()]
            of_forms = np.array(keys, dtype=np.int64)
            yield from self._odd_values("odd form", "info", predicate, of_forms, rows, "written in another form than")

    # -- dates --------------------------------------------------------------------------------------------------------

    def impossible_dates(self) -> Iterator[RawFinding]:
        """Dates before their predecessors, in the order of the predicates' names, or of nearly all other subjects."""
        dates = of_datatypes(self.table, self.table.objects, DATES)
        spans: dict[int, tuple[Ids, NDArray[np.float64], NDArray[np.float64]]] = {}
        for predicate in self._telling:
            subjects, objects, _ = self._rows(predicate)
            of = np.isin(objects, dates)
            if len(spans) < _MOST_DATES and of.any():
                first, last = days(self.table, objects[of]), days(self.table, objects[of], last=True)
                found, starts = np.unique(subjects[of], return_index=True)
                spans[predicate] = (found, np.fmin.reduceat(first, starts), np.fmax.reduceat(last, starts))
        named = {p: " ".join(re.findall(r"[A-Z]?[a-z]+|[A-Z]+", local_name(self._names[p]))).lower() for p in spans}
        for one, (subjects, earliest, _) in spans.items():
            for other, (others, _, latest) in spans.items():
                if one == other:
                    continue
                both, a, b = np.intersect1d(subjects, others, assume_unique=True, return_indices=True)
                wrong = earliest[a] > latest[b]
                by_name = _come_before(named[one], named[other])
                rare = 0 < np.count_nonzero(wrong) <= _RARE * len(both) and len(both) >= _FEWEST
                if not by_name and (not rare or np.count_nonzero(earliest[a] < latest[b]) < 0.5 * len(both)):
                    continue
                score = 1.0 if by_name else at_least(len(both) - int(np.count_nonzero(wrong)), len(both))
                for subject in both[wrong].tolist():
                    at = [row for predicate in (one, other) for row in self.table.values_of(subject, predicate)]
                    values = [int(self.table.objects[row]) for row in (at[0], at[-1])]
                    why = "" if by_name else f", which comes first for nearly all {len(both):,} others"
                    text = f"{{0}} has {{3}} as its {{1}}, after its {{2}}, {{4}}{why}"
                    yield RawFinding(
                        "impossible dates",
                        (subject,),
                        tuple(at),
                        text,
                        (subject, one, other, *values),
                        severity="error" if by_name else "warning",
                        score=score,
                    )


def at_least(good: int, total: int) -> float:
    """The lower bound of a share, at 95 % (Wilson 1927)."""
    z, share = 1.96, good / total
    middle = share + z * z / (2 * total)
    return (middle - z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))) / (1 + z * z / total)


def _odd(keys: Ids, rows: Ids) -> Iterator[tuple[int, float, int]]:
    """(row, score, number of others) of the rows whose key is rare beside a key that nearly all have."""
    if len(keys) < _FEWEST:
        return
    found, often = np.unique(keys, return_counts=True)
    common = int(often.max())
    if common == len(keys) or len(keys) - common > max(1.0, _RARE * len(keys)):
        return
    score = at_least(common, len(keys))
    for row in rows[keys != found[often.argmax()]].tolist():
        yield row, score, common


def _far(values: NDArray[np.float64]) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Which values are far from all others, as they are and, where all others are positive, by their logarithms too."""
    far, distance = _beyond(values)
    positive = values > 0
    if far.any() and positive[~far].all():
        scaled = np.log(np.where(positive, values, 1.0))
        again, _ = _beyond(scaled)
        far &= again | ~positive
    if np.count_nonzero(far) > max(1.0, _RARE * len(values)):
        far[:] = False
    return far, 1 - 1 / (1 + distance)


def _beyond(values: NDArray[np.float64]) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    low, high = np.quantile(values, [0.25, 0.75])
    width = high - low
    if width <= 0:
        return np.zeros(len(values), dtype=np.bool_), np.zeros(len(values))
    distance = np.maximum(low - values, values - high) / width
    far = distance > _FENCE
    if far.any():  # a tail that thins out slowly is no outlier: there has to be a gap
        for side in (values > high, values < low):
            inner = distance[side & ~far].max(initial=0.0)
            far &= ~side | (distance > inner + 1)
    return far, np.maximum(distance, 0.0)


def form(text: str) -> str:
    """The form of a text: runs of letters and of digits, and the signs between them."""
    return re.sub(r"[^\W\d_]+", "A", re.sub(r"\d+", "9", text[:60]))


def _come_before(one: str, other: str) -> bool:
    """Whether the words of two names say which comes first, and the rest is the same: start date, end date."""
    for first, second in _ORDERED:
        a, b = re.search(rf"\b(?:{first})", one), re.search(rf"\b(?:{second})", other)
        if a and b:
            rest = [re.sub(r"\W+", " ", name[: at.start()] + name[at.end() :]) for name, at in ((one, a), (other, b))]
            return rest[0].strip() == rest[1].strip()
    return False
