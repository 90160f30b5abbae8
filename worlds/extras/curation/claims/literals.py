"""Whether two literals are one value, by XML Schema; where that cannot be said, neither is concluded."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from typing import Literal, TypeAlias

import pyoxigraph as ox

from worlds.extras.curation.columns.values import ALL, DATES, NUMBERS, WELL_FORMED, is_of
from worlds.extras.questions.words import date_at, tokens, words_of_language
from worlds.graph.lexical import canonical, is_by_value
from worlds.graph.terms import RDF, XSD, to_python

Likeness: TypeAlias = Literal["same", "different", "unsure"]

_LANGUAGE = RDF + "langString"
_BINARY = (XSD + "double", XSD + "float")
_INSTANTS = (XSD + "dateTime", XSD + "dateTimeStamp")
_EDGES = " \t\r\n"
_DIGITS = 300  # of a number that is written without an exponent
_ZONES = datetime.timedelta(hours=14)  # how far a time without a zone may be from where it seems to be

_UNMADE = ALL.union(RDF + name for name in ("PlainLiteral", "langString", "dirLangString"))  # of a text alone
_TRUTHS = {"true": "true", "yes": "true", "false": "false", "no": "false"}

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


def as_of(given: ox.Literal, kinds: Iterable[tuple[str, str | None]]) -> ox.Literal | None:
    """A text or a number as the well-formed literal that it is of some kinds, (datatype, language); None where of none.

    Texts come last, as all is one. A number, or a text that is a decimal, is of another datatype of numbers if it has
    that value there: 5.0 is the integer 5. Texts may have months by name, yes and no, and in numbers no commas. A
    literal of any other datatype stays as it is, or is of none of the kinds.
    """
    own, text = given.datatype.value, given.value.strip(_EDGES)
    if not well_formed(given):
        return None
    if (own, given.language) in kinds:
        return given
    if own in NUMBERS or own == XSD + "string":
        for datatype, language in sorted(kinds, key=lambda kind: kind[0] in (XSD + "string", _LANGUAGE)):
            if language:
                return ox.Literal(_plain(text) if own in NUMBERS else text, language=language)
            for form in _forms(text, datatype, number=own in NUMBERS):
                made = ox.Literal(form, datatype=ox.NamedNode(datatype))
                if well_formed(made):
                    return made
    return given if any(is_of(own, datatype) for datatype, _ in kinds) else None


def _forms(text: str, datatype: str, *, number: bool) -> Iterable[str]:
    """How a text, or a number that is written so, may be written as a value of a datatype."""
    if datatype in _UNMADE:
        return ()
    if datatype == XSD + "boolean":
        return () if number else filter(None, [_TRUTHS.get(text.casefold())])
    if datatype in NUMBERS:
        plain = _plain(text) if number or WELL_FORMED[XSD + "decimal"](text) else text
        return (plain, text) if number and datatype not in _BINARY else (text, plain)
    if number:
        return (_plain(text),)
    told = tokens(text) if datatype in DATES else ()
    if told and (told[0].start, told[-1].end) == (0, len(text)):
        read = date_at(words_of_language(), told, text, 0)
        return (text, read[0]) if read is not None and read[1] == len(told) else (text,)
    return (text,)


def _plain(number: str) -> str:
    """A number without an exponent or idle zeros, where it has few digits so."""
    try:
        value = Decimal(number)
    except InvalidOperation:  # an infinity, as XML Schema writes it, is none
        return number
    if not value.is_finite() or abs(value.adjusted()) > _DIGITS:
        return number
    return f"{int(value)}" if value == value.to_integral_value() else f"{value.normalize():f}"


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
