"""Literals by their values: which are well formed (XML Schema 1.1 part 2), and where they stand on a line."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from worlds.core.quads.dictionary import Ids
from worlds.extras.curation.columns.quad_columns import QuadTable, distinct
from worlds.graph.datatypes import BOUNDS, DAY, FORMS, MONTH, YEAR, checker, days_of
from worlds.graph.terms import RDF, XSD

INTEGERS = frozenset(XSD + name for name in BOUNDS)
NUMBERS = INTEGERS | {XSD + name for name in ("decimal", "double", "float")}
DATES = frozenset(XSD + name for name in ("date", "dateTime", "dateTimeStamp", "gYear", "gYearMonth"))
_STRINGS = ("normalizedString", "token", "language", "Name", "NCName", "NMTOKEN")
_LINES = (  # datatypes, each of which holds the next one
    *(("dateTime", "dateTimeStamp"), ("duration", "yearMonthDuration"), ("duration", "dayTimeDuration")),
    *(("decimal", "integer", "long", "int", "short", "byte"), ("nonNegativeInteger", "positiveInteger")),
    ("integer", "nonNegativeInteger", "unsignedLong", "unsignedInt", "unsignedShort", "unsignedByte"),
    *(("integer", "nonPositiveInteger", "negativeInteger"), *(("string", name) for name in _STRINGS)),
)
_ABOVE = {XSD + one: XSD + other for line in _LINES for other, one in pairwise(line)}
ALL = frozenset(("http://www.w3.org/2000/01/rdf-schema#Literal", XSD + "anySimpleType", XSD + "anyAtomicType"))
"""Datatypes that hold all others, and are those of no literal."""
LITERALS = ALL.union(
    [XSD + name for name in (*FORMS, *BOUNDS, *_STRINGS, "string", "anyURI")],
    [RDF + name for name in ("langString", "dirLangString", "HTML", "XMLLiteral", "JSON", "PlainLiteral")],
)
"""Datatypes that can be the range of a property."""


def is_of(datatype: str, wanted: str) -> bool:
    """Whether all values of a datatype are values of another one."""
    if wanted in ALL:
        return True
    if wanted == RDF + "PlainLiteral":
        return datatype in (XSD + "string", RDF + "langString")
    seen: str | None = datatype
    while seen is not None and seen != wanted:
        seen = _ABOVE.get(seen)
    return seen == wanted


WELL_FORMED = {XSD + name: checker(name) for name in (*FORMS, *BOUNDS)}
"""Whether a lexical form is one of a datatype, white space at its edges aside."""

_EDGES = " \t\r\n"


def ill_typed(table: QuadTable, ids: Ids) -> Ids:
    """The literals among terms whose lexical form is none of their datatype; ascending."""
    ids = distinct(ids)
    found: list[int] = []
    datatypes = table.datatypes[ids]
    for iri, well_formed in WELL_FORMED.items():
        of = ids[datatypes == table.id(iri)] if table.id(iri) > 0 else ids[:0]
        found += [number for number, text in table.values(of).items() if not well_formed(text.strip(_EDGES))]
    return np.array(sorted(found), dtype=np.int64)


def of_datatypes(table: QuadTable, ids: Ids, iris: Iterable[str]) -> Ids:
    """The terms that are literals of these datatypes, ascending."""
    wanted = [number for number in table.ids(list(iris)) if number > 0]
    ids = distinct(ids)
    return ids[np.isin(table.datatypes[ids], wanted)]


def numbers(table: QuadTable, ids: Ids) -> NDArray[np.float64]:
    """The value of each term that is a finite number, NaN for all others; in their order."""
    return _placed(table, ids, NUMBERS, _number)


def days(table: QuadTable, ids: Ids, *, last: bool = False) -> NDArray[np.float64]:
    """The day, counted from the year 1, of each term that is a date, a time, a month or a year; NaN for all others.

    Of days, months and years it is the beginning, or, with `last`, the end.
    """
    return _placed(table, ids, DATES, _last_day if last else _day)


def _placed(table: QuadTable, ids: Ids, datatypes: Iterable[str], read: Callable[[str], float]) -> NDArray[np.float64]:
    distinct, places = np.unique(ids, return_inverse=True)
    found = np.full(len(distinct), np.nan)
    wanted = of_datatypes(table, distinct, datatypes)
    texts = table.values(wanted)
    found[np.searchsorted(distinct, wanted)] = [read(texts[number]) for number in wanted.tolist()]
    return found[places]


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return math.nan
    return value if math.isfinite(value) else math.nan


_dated = re.compile(rf"({YEAR})(?:-{MONTH}(?:-{DAY}(?:T([0-9]{{2}}):([0-9]{{2}}))?)?)?").match


def _day(text: str) -> float:
    found = _dated(text.strip(_EDGES))
    if found is None:
        return math.nan
    time = (int(found[4] or 0) * 60 + int(found[5] or 0)) / 1440
    return _number_of_day(int(found[1]), int(found[2] or 1), int(found[3] or 1)) + time


def _last_day(text: str) -> float:
    found = _dated(text.strip(_EDGES))
    if found is None:
        return math.nan
    if found[4]:
        return _day(text)
    year, month = int(found[1]), int(found[2] or 12)
    return _number_of_day(year, month, int(found[3] or days_of(year, month))) + 0.9999


def _number_of_day(year: int, month: int, day: int) -> int:
    before = year - 1
    leap = before // 4 - before // 100 + before // 400
    return 365 * before + leap + sum(days_of(year, earlier) for earlier in range(1, month)) + day
