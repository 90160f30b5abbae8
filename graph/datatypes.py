"""The lexical forms of XML Schema's datatypes, by the local names of these (XML Schema 1.1 part 2)."""

from __future__ import annotations

import calendar
import math
import re
from collections.abc import Callable
from functools import cache

_ZONE = r"(?:Z|[+-](?:(?:0[0-9]|1[0-3]):[0-5][0-9]|14:00))?"
YEAR = r"-?(?:[1-9][0-9]{3,}|0[0-9]{3})"
DAY = r"(0[1-9]|[12][0-9]|3[01])"
MONTH = r"(0[1-9]|1[0-2])"
_TIME = r"(?:(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]+)?|24:00:00(?:\.0+)?)"
INTEGER = r"[+-]?[0-9]+"
_DOUBLE = r"(?:[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[Ee][+-]?[0-9]+)?|[+-]?INF|NaN)"
_TIMED = r"T(?:[0-9]+H(?:[0-9]+M)?(?:[0-9]+(?:\.[0-9]+)?S)?|[0-9]+M(?:[0-9]+(?:\.[0-9]+)?S)?|[0-9]+(?:\.[0-9]+)?S)"
FORMS = {
    "boolean": "true|false|1|0",
    "decimal": r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)",
    "double": _DOUBLE,
    "float": _DOUBLE,
    "date": f"({YEAR})-{MONTH}-{DAY}{_ZONE}",
    "dateTime": f"({YEAR})-{MONTH}-{DAY}T{_TIME}{_ZONE}",
    "dateTimeStamp": f"({YEAR})-{MONTH}-{DAY}T{_TIME}{_ZONE[:-1]}",
    "time": f"{_TIME}{_ZONE}",
    "gYear": f"({YEAR}){_ZONE}",
    "gYearMonth": f"({YEAR})-{MONTH}{_ZONE}",
    "gMonth": f"--{MONTH}{_ZONE}",
    "gDay": f"---{DAY}{_ZONE}",
    "gMonthDay": f"--{MONTH}-{DAY}(?<!02-3[01])(?<!0[469]-31)(?<!11-31){_ZONE}",
    "duration": rf"-?P(?=.)(?:[0-9]+Y)?(?:[0-9]+M)?(?:[0-9]+D)?(?:{_TIMED})?",
    "yearMonthDuration": r"-?P(?:[0-9]+Y(?:[0-9]+M)?|[0-9]+M)",
    "dayTimeDuration": rf"-?P(?:[0-9]+D(?:{_TIMED})?|{_TIMED})",
    "hexBinary": "(?:[0-9A-Fa-f]{2})*",
    "base64Binary": r"(?:(?:[0-9A-Za-z+/] ?){4})*(?:(?:[0-9A-Za-z+/] ?){2}= ?=|(?:[0-9A-Za-z+/] ?){3}=)?",
    "language": "[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*",
}
BOUNDS: dict[str, tuple[float, float]] = {
    "integer": (-math.inf, math.inf),
    **{name: (-(2**bits), 2**bits - 1) for name, bits in (("long", 63), ("int", 31), ("short", 15), ("byte", 7))},
    **{f"unsigned{name}": (0, 2**bits - 1) for name, bits in (("Long", 64), ("Int", 32), ("Short", 16), ("Byte", 8))},
    "nonNegativeInteger": (0, math.inf),
    "positiveInteger": (1, math.inf),
    "nonPositiveInteger": (-math.inf, 0),
    "negativeInteger": (-math.inf, -1),
}


@cache
def checker(name: str) -> Callable[[str], bool]:
    """Tells whether a text is a lexical form of a datatype."""
    if name in BOUNDS:
        low, high = BOUNDS[name]
        whole = re.compile(INTEGER).fullmatch
        return lambda text: whole(text) is not None and low <= _whole(text) <= high
    matching = re.compile(FORMS[name]).fullmatch
    if name in ("date", "dateTime", "dateTimeStamp"):

        def dated(text: str) -> bool:
            found = matching(text)
            return found is not None and (int(found[3]) < 29 or int(found[3]) <= days_of(int(found[1]), int(found[2])))

        return dated
    return lambda text: matching(text) is not None


def _whole(text: str) -> float:
    return int(text) if len(text) < 40 else math.inf if text[0] != "-" else -math.inf


@cache
def days_of(year: int, month: int) -> int:
    """The days of a month."""
    return 29 if month == 2 and calendar.isleap(year) else calendar.monthrange(2001, month)[1]
