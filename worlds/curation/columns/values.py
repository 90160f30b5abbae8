"""Literals by their values: which are well formed (XML Schema 1.1 part 2), and where they stand on a line."""

from __future__ import annotations

import calendar
import math
import re
from collections.abc import Callable, Iterable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from worlds.curation.columns.table import Table, distinct
from worlds.graph.terms import RDF, XSD
from worlds.quads.dictionary import Ids

_ZONE = r"(?:Z|[+-](?:(?:0[0-9]|1[0-3]):[0-5][0-9]|14:00))?"
_YEAR = r"-?(?:[1-9][0-9]{3,}|0[0-9]{3})"
_DAY = r"(0[1-9]|[12][0-9]|3[01])"
_MONTH = r"(0[1-9]|1[0-2])"
_TIME = r"(?:(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]+)?|24:00:00(?:\.0+)?)"
_WHOLE = r"[+-]?[0-9]+"
_DOUBLE = r"(?:[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[Ee][+-]?[0-9]+)?|[+-]?INF|NaN)"
_TIMED = r"T(?:[0-9]+H(?:[0-9]+M)?(?:[0-9]+(?:\.[0-9]+)?S)?|[0-9]+M(?:[0-9]+(?:\.[0-9]+)?S)?|[0-9]+(?:\.[0-9]+)?S)"
_FORMS = {
    "boolean": "true|false|1|0",
    "decimal": r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)",
    "double": _DOUBLE,
    "float": _DOUBLE,
    "date": f"({_YEAR})-{_MONTH}-{_DAY}{_ZONE}",
    "dateTime": f"({_YEAR})-{_MONTH}-{_DAY}T{_TIME}{_ZONE}",
    "dateTimeStamp": f"({_YEAR})-{_MONTH}-{_DAY}T{_TIME}{_ZONE[:-1]}",
    "time": f"{_TIME}{_ZONE}",
    "gYear": f"({_YEAR}){_ZONE}",
    "gYearMonth": f"({_YEAR})-{_MONTH}{_ZONE}",
    "gMonth": f"--{_MONTH}{_ZONE}",
    "gDay": f"---{_DAY}{_ZONE}",
    "gMonthDay": f"--{_MONTH}-{_DAY}{_ZONE}",
    "duration": rf"-?P(?=.)(?:[0-9]+Y)?(?:[0-9]+M)?(?:[0-9]+D)?(?:{_TIMED})?",
    "yearMonthDuration": r"-?P(?:[0-9]+Y(?:[0-9]+M)?|[0-9]+M)",
    "dayTimeDuration": rf"-?P(?:[0-9]+D(?:{_TIMED})?|{_TIMED})",
    "hexBinary": "(?:[0-9A-Fa-f]{2})*",
    "base64Binary": r"(?:(?:[\w+/] ?){4})*(?:(?:[\w+/] ?){2}= ?=|(?:[\w+/] ?){3}=)?",
    "language": "[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*",
}
_BOUNDS: dict[str, tuple[float, float]] = {
    "integer": (-math.inf, math.inf),
    "long": (-(2**63), 2**63 - 1),
    "int": (-(2**31), 2**31 - 1),
    "short": (-(2**15), 2**15 - 1),
    "byte": (-(2**7), 2**7 - 1),
    "unsignedLong": (0, 2**64 - 1),
    "unsignedInt": (0, 2**32 - 1),
    "unsignedShort": (0, 2**16 - 1),
    "unsignedByte": (0, 2**8 - 1),
    "nonNegativeInteger": (0, math.inf),
    "positiveInteger": (1, math.inf),
    "nonPositiveInteger": (-math.inf, 0),
    "negativeInteger": (-math.inf, -1),
}
INTEGERS = frozenset(XSD + name for name in _BOUNDS)
NUMBERS = INTEGERS | {XSD + name for name in ("decimal", "double", "float")}
DATES = frozenset(XSD + name for name in ("date", "dateTime", "dateTimeStamp", "gYear", "gYearMonth"))
_ABOVE = {  # datatypes that hold others, beyond the integers and decimals
    XSD + "dateTimeStamp": XSD + "dateTime",
    XSD + "yearMonthDuration": XSD + "duration",
    XSD + "dayTimeDuration": XSD + "duration",
}
_INTEGERS_ABOVE = {
    "nonPositiveInteger": "integer",
    "negativeInteger": "nonPositiveInteger",
    "long": "integer",
    "int": "long",
    "short": "int",
    "byte": "short",
    "nonNegativeInteger": "integer",
    "unsignedLong": "nonNegativeInteger",
    "unsignedInt": "unsignedLong",
    "unsignedShort": "unsignedInt",
    "unsignedByte": "unsignedShort",
    "positiveInteger": "nonNegativeInteger",
    "integer": "decimal",
}
_ABOVE |= {XSD + one: XSD + other for one, other in _INTEGERS_ABOVE.items()}
_STRINGS = ("normalizedString", "token", "language", "Name", "NCName", "NMTOKEN")
_ABOVE |= {XSD + name: XSD + "string" for name in _STRINGS}
LITERALS = frozenset(
    [XSD + name for name in (*_FORMS, *_BOUNDS, *_STRINGS, "string", "anyURI", "anySimpleType", "anyAtomicType")]
    + [RDF + name for name in ("langString", "dirLangString", "HTML", "XMLLiteral", "JSON", "PlainLiteral")]
    + ["http://www.w3.org/2000/01/rdf-schema#Literal"]
)
"""Datatypes that can be the range of a property."""


def is_of(datatype: str, wanted: str) -> bool:
    """Whether all values of a datatype are values of another one."""
    if wanted in ("http://www.w3.org/2000/01/rdf-schema#Literal", XSD + "anySimpleType", XSD + "anyAtomicType"):
        return True
    if wanted == RDF + "PlainLiteral":
        return datatype in (XSD + "string", RDF + "langString")
    seen: str | None = datatype
    while seen is not None and seen != wanted:
        seen = _ABOVE.get(seen)
    return seen == wanted


def _checker(name: str) -> Callable[[str], bool]:
    if name in _BOUNDS:
        low, high = _BOUNDS[name]
        whole = re.compile(_WHOLE).fullmatch
        return lambda text: whole(text) is not None and low <= _whole(text) <= high
    matching = re.compile(_FORMS[name]).fullmatch
    if name in ("date", "dateTime", "dateTimeStamp"):

        def dated(text: str) -> bool:
            found = matching(text)
            return found is not None and (int(found[3]) < 29 or int(found[3]) <= _days(int(found[1]), int(found[2])))

        return dated
    return lambda text: matching(text) is not None


def _whole(text: str) -> float:
    return int(text) if len(text) < 40 else math.inf if text[0] != "-" else -math.inf


@cache
def _length(month: int) -> int:
    return calendar.monthrange(2001, month)[1]


def _days(year: int, month: int) -> int:
    return 29 if month == 2 and calendar.isleap(year) else _length(month)


WELL_FORMED: dict[str, Callable[[str], bool]] = {XSD + name: _checker(name) for name in (*_FORMS, *_BOUNDS)}
"""Whether a lexical form is one of a datatype, white space at its edges aside."""

_EDGES = " \t\r\n"


def ill_typed(table: Table, ids: Ids) -> Ids:
    """The literals among terms whose lexical form is none of their datatype; ascending."""
    ids = distinct(ids)
    found: list[int] = []
    datatypes = table.datatypes[ids]
    for iri, well_formed in WELL_FORMED.items():
        of = ids[datatypes == table.id(iri)] if table.id(iri) > 0 else ids[:0]
        found += [number for number, text in table.values(of).items() if not well_formed(text.strip(_EDGES))]
    return np.array(sorted(found), dtype=np.int64)


def of_datatypes(table: Table, ids: Ids, iris: Iterable[str]) -> Ids:
    """The terms that are literals of these datatypes, ascending."""
    wanted = [number for number in table.ids(list(iris)) if number > 0]
    ids = distinct(ids)
    return ids[np.isin(table.datatypes[ids], wanted)]


def numbers(table: Table, ids: Ids) -> NDArray[np.float64]:
    """The value of each term that is a finite number, NaN for all others; in their order."""
    return _placed(table, ids, NUMBERS, _number)


def days(table: Table, ids: Ids, *, last: bool = False) -> NDArray[np.float64]:
    """The day, counted from the year 1, of each term that is a date, a time, a month or a year; NaN for all others.

    Of days, months and years it is the beginning, or, with `last`, the end.
    """
    return _placed(table, ids, DATES, _last_day if last else _day)


def _placed(table: Table, ids: Ids, datatypes: Iterable[str], read: Callable[[str], float]) -> NDArray[np.float64]:
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


_dated = re.compile(rf"({_YEAR})(?:-{_MONTH}(?:-{_DAY}(?:T([0-9]{{2}}):([0-9]{{2}}))?)?)?").match


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
    return _number_of_day(year, month, int(found[3] or _days(year, month))) + 0.9999


def _number_of_day(year: int, month: int, day: int) -> int:
    before = year - 1
    leap = before // 4 - before // 100 + before // 400
    return 365 * before + leap + sum(_days(year, earlier) for earlier in range(1, month)) + day
