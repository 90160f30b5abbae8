"""Dates and times of any precision, as the periods that they name, in a zone where they say none."""

from __future__ import annotations

import datetime
import re
import zoneinfo

import numpy as np
import pyoxigraph as ox

from worlds.errors import ArgumentError
from worlds.graph.terms import XSD

ALWAYS = 1 << 62
"""Behind all times, in microseconds since 1970; before all of them, its negative."""

_form = re.compile(
    r"(?P<time>[+-]?\d{4,6}(?:-\d\d(?:-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)?)?)?)(?P<zone>Z|[+-]\d\d:\d\d)?"
).fullmatch
_KINDS = {0: "gYear", 1: "gYearMonth", 2: "date", 3: "dateTime"}


def clock() -> datetime.datetime:
    """The time, with its zone."""
    return datetime.datetime.now(datetime.UTC)


def period(text: str, zone: str = "UTC") -> tuple[int, int] | None:
    """Where the period of a date or a time begins and ends, in microseconds since 1970; None for another text.

    `zone` is that of a text that names none.

    >>> period("1970"), period("1970-01-01T00:00:01Z")
    ((0, 31536000000000), (1000000, 1000000))
    """
    match = _form(text.strip())
    if match is None:
        return None
    try:
        start = np.datetime64(match["time"].replace(" ", "T").removeprefix("+"))
        end = start if "T" in match["time"] or " " in match["time"] else start + 1
        said = match["zone"] or ("Z" if zone == "UTC" else "")
        minutes = 0 if said in ("", "Z") else int(said[1:3]) * 60 + int(said[4:])
        shift = (-1 if said[:1] == "-" else 1) * minutes * 60_000_000
        first, last = (int(one.astype("datetime64[us]").astype(np.int64)) - shift for one in (start, end))
        if not said:
            first, last = _in_zone(first, zone), _in_zone(last, zone)
    except (ValueError, OverflowError):
        return None
    return (first, last) if -ALWAYS < first <= last < ALWAYS else None


def _in_zone(local: int, zone: str) -> int:
    """A time by the clocks of a zone, in microseconds since 1970 there, as that of UTC."""
    try:
        wall = datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=local)  # it gets its zone
        offset = wall.replace(tzinfo=zoneinfo.ZoneInfo(zone)).utcoffset()
    except OverflowError:  # in a year that has no calendar here
        return local
    return local - (offset or datetime.timedelta(0)) // datetime.timedelta(microseconds=1)


def literal(name: str, value: object) -> ox.Literal:
    """The literal of a date, a datetime, or a text in ISO 8601, in the precision that it has; ArgumentError."""
    if isinstance(value, ox.Literal):
        text = value.value
    elif isinstance(value, (datetime.datetime, datetime.date)):
        text = value.isoformat()
    elif isinstance(value, str):
        text = str(value).strip().replace(" ", "T")
    else:
        raise ArgumentError(f"{name} must be a date, a time or its ISO 8601 text, not {value!r}")
    if period(text) is None:
        raise ArgumentError(f"{name} must be a time such as 2019, 2019-05-01 or 2019-05-01T12:00Z, not {text!r}")
    date, _, time = text.partition("T")
    if time and re.fullmatch(r"\d\d:\d\d(?:Z|[+-]\d\d:\d\d)?", time):
        text = f"{date}T{time[:5]}:00{time[5:]}"  # xsd:dateTime has seconds
    parts = re.sub(r"(?:Z|[+-]\d\d:\d\d)$", "", date).lstrip("+-").count("-")
    return ox.Literal(text, datatype=ox.NamedNode(XSD + _KINDS[3 if time else parts]))


def period_before(term: ox.Literal) -> ox.Literal:
    """The day before a day, the month before a month, the year before a year; a moment is its own end.

    >>> period_before(literal("at", "2021-05")).value
    '2021-04'
    """
    match = _form(term.value)
    assert match is not None
    if "T" in term.value:
        return term
    before = str(np.datetime64(match["time"].removeprefix("+")) - 1)
    year, rest = re.fullmatch(r"(-?\d+)(.*)", before).groups()  # type: ignore[union-attr]  # it is one
    year = f"-{year[1:]:0>4}" if year[0] == "-" else f"{year:0>4}"
    return ox.Literal(f"{year}{rest}{match['zone'] or ''}", datatype=term.datatype)


def moment(name: str, value: object, zone: str = "UTC") -> int:
    """The time at which a period begins, in microseconds since 1970, or "now"; ArgumentError for other text."""
    if value == "now":
        return present()
    found = period(literal(name, value).value, zone)
    assert found is not None
    return found[0]


def microseconds(time: datetime.datetime) -> int:
    """A time in microseconds since 1970."""
    return round(time.timestamp() * 1000) * 1000


def in_calendar(time: int) -> datetime.datetime | None:
    """A time in microseconds since 1970 as that of UTC; None where Python's calendar has none."""
    try:
        return datetime.datetime.fromtimestamp(time / 1_000_000, datetime.UTC)
    except (OverflowError, ValueError, OSError):
        return None


def now() -> datetime.datetime:
    """The time by the clock, in whole milliseconds."""
    time = clock()
    return time.replace(microsecond=time.microsecond // 1000 * 1000)


def present() -> int:
    """The time by the clock, in microseconds since 1970."""
    return round(clock().timestamp() * 1_000_000)
