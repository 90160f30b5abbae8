"""Whether two literals are one value, by XML Schema; where that cannot be said, neither is concluded."""

from __future__ import annotations

import datetime
import re
from decimal import Decimal
from typing import Literal, TypeAlias

import pyoxigraph as ox

from worlds.curation.columns.values import DATES, NUMBERS, WELL_FORMED
from worlds.graph.lexical import canonical, is_by_value
from worlds.graph.terms import RDF, XSD, to_python

Likeness: TypeAlias = Literal["same", "different", "unsure"]

_LANGUAGE = RDF + "langString"
_BINARY = (XSD + "double", XSD + "float")
_INSTANTS = (XSD + "dateTime", XSD + "dateTimeStamp")
_EDGES = " \t\r\n"
_ZONES = datetime.timedelta(hours=14)  # how far a time without a zone may be from where it seems to be

_dated = re.compile(r"(-?[0-9]+)(?:-([0-9]{2})(?:-([0-9]{2}))?)?").match


def well_formed(literal: ox.Literal) -> bool:
    """Whether its lexical form is one of its datatype; of datatypes that are not known every form is."""
    check = WELL_FORMED.get(literal.datatype.value)
    return check is None or check(literal.value.strip(_EDGES))


def compare(one: ox.Literal, other: ox.Literal) -> Likeness:
    """Whether the literals are the same value.

    Numbers are compared as numbers, whatever their datatype. A form that is none of its datatype, an unknown datatype,
    a day beside a time of that day, and a time with a zone beside one without that is near, are not
    sure; neither are values of different datatypes that are written alike.
    """
    if one == other:
        return "same"
    if not well_formed(one) or not well_formed(other):
        return "unsure"
    a, b = one.datatype.value, other.datatype.value
    if a in NUMBERS and b in NUMBERS:
        return _compare_numbers(one, other)
    if a in DATES and b in DATES:
        return _compare_times(one, other)
    if a != b:
        return "unsure" if one.value.split() == other.value.split() or not (_known(a) and _known(b)) else "different"
    if not _known(a):
        return "unsure"
    return "same" if is_by_value(one) and len(set(canonical([one, other]))) == 1 else "different"


def _known(datatype: str) -> bool:
    return datatype in WELL_FORMED or datatype in (XSD + "string", _LANGUAGE)


def _compare_numbers(one: ox.Literal, other: ox.Literal) -> Likeness:
    a, b = (literal.value.strip(_EDGES).replace("INF", "Infinity") for literal in (one, other))
    if "NaN" in (a, b):
        return "same" if a == b else "different"
    binary = any(literal.datatype.value in _BINARY for literal in (one, other))
    return "same" if Decimal(a) == Decimal(b) or (binary and float(a) == float(b)) else "different"


def _compare_times(one: ox.Literal, other: ox.Literal) -> Likeness:
    a, b = one.datatype.value, other.datatype.value
    if a in _INSTANTS and b in _INSTANTS:
        first, second = to_python(one), to_python(other)
        if not isinstance(first, datetime.datetime) or not isinstance(second, datetime.datetime):
            return "unsure"
        if (first.tzinfo is None) == (second.tzinfo is None):
            return "same" if first == second else "different"
        return "unsure" if abs(first.replace(tzinfo=None) - second.replace(tzinfo=None)) <= 2 * _ZONES else "different"
    first_day, second_day = _day(one), _day(other)
    given = min(len(first_day), len(second_day))
    if first_day[:given] != second_day[:given]:
        return "different"
    return "same" if a == b and len(set(canonical([one, other]))) == 1 else "unsure"


def _day(literal: ox.Literal) -> list[str]:
    """Year, month and day, as far as they are given."""
    found = _dated(literal.value.strip(_EDGES))
    return [] if found is None else [part for part in found.groups() if part is not None]
