"""Values of XPath, exactly: what pyoxigraph has no room for, or no operator (F&O 3.1, sections 4, 8 and 9)."""

from __future__ import annotations

import decimal
import math
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, Context, Decimal
from typing import Any

import pyoxigraph as ox

from worlds.graph.datatypes import BOUNDS, FORMS, INTEGER
from worlds.graph.terms import XSD

_INTEGER, _DECIMAL, FLOAT, _DOUBLE = range(4)  # each is promoted to those after it
_TYPES = ("integer", "decimal", "float", "double")
CASTS = {name: rank for rank, name in enumerate(_TYPES)}
_DIGITS = 4_000  # that a number may have
_TRAPS = [decimal.DivisionByZero, decimal.InvalidOperation, decimal.Overflow]
_INEXACT = Context(prec=2 * _DIGITS + 20, Emax=99_999, Emin=-99_999, traps=_TRAPS)
_EXACT = Context(prec=2 * _DIGITS + 20, Emax=99_999, Emin=-99_999, traps=[*_TRAPS, decimal.Inexact])
_SECOND = 10**18  # attoseconds
_DAYS = 86400 * _SECOND
_ERA = 146097  # days in 400 years, after which the calendar repeats
_EPOCH = date(1970, 1, 1).toordinal()
_NINES = str.maketrans("0123456789", "9876543210")
_RANKS = {**dict.fromkeys(BOUNDS, _INTEGER), "decimal": _DECIMAL, "float": FLOAT, "double": _DOUBLE}
_NUMERALS = [re.compile(form).fullmatch for form in (INTEGER, *(FORMS[kind] for kind in _TYPES[1:]))]
_DURATION = re.compile(
    r"(-)?P(?=.)(?:([0-9]+)Y)?(?:([0-9]+)M)?(?:([0-9]+)D)?"
    r"(?:T(?=.)(?:([0-9]+)H)?(?:([0-9]+)M)?(?:([0-9]+(?:\.[0-9]+)?)S)?)?"
)
_DAY = r"(-?(?:[1-9][0-9]{3,}|0[0-9]{3}))-([0-9]{2})-([0-9]{2})"
_TIME = r"([0-9]{2}):([0-9]{2}):([0-9]{2}(?:\.[0-9]+)?)"
_ZONE = r"(Z|[+-][0-9]{2}:[0-9]{2})?"
_MOMENTS = {
    "date": re.compile(f"{_DAY}()()(){_ZONE}"),
    "dateTime": re.compile(f"{_DAY}T{_TIME}{_ZONE}"),
    "dateTimeStamp": re.compile(f"{_DAY}T{_TIME}{_ZONE}"),
    "time": re.compile(f"()()(){_TIME}{_ZONE}"),
}


@dataclass(frozen=True)
class Number:
    """A number and which of the four types it has; `value` is a Decimal, or a float."""

    rank: int
    value: Any

    def literal(self) -> ox.Literal:
        """The number as a literal."""
        if self.rank >= FLOAT:
            text = repr(self.value).replace("inf", "INF").replace("nan", "NaN")
        else:
            text = f"{self.value:f}"
            text = text.rstrip("0").rstrip(".") if "." in text else text
            if len(text) > _DIGITS:
                raise ValueError(f"a number of more than {_DIGITS} digits")
        return ox.Literal("0" if text == "-0" else text, datatype=ox.NamedNode(XSD + _TYPES[self.rank]))

    @property
    def exact(self) -> Decimal:
        """The value as a Decimal, of a float the shortest that is read as it."""
        return self.value if isinstance(self.value, Decimal) else Decimal(repr(self.value))

    @property
    def wide(self) -> bool:
        """Whether the number, its negation or its rounded value is out of pyoxigraph's range."""
        if self.rank >= FLOAT:
            return False
        scaled = self.value if self.rank == _INTEGER else self.value.scaleb(18, _EXACT)
        edge = 2**63 if self.rank == _INTEGER else 2**127 - 10**18
        return not -edge < scaled < edge or scaled != scaled.to_integral_value(context=_EXACT)


@dataclass(frozen=True)
class Duration:
    """A duration of months and attoseconds; `kind` is the local name of its type."""

    kind: str
    months: int
    seconds: int

    def literal(self) -> ox.Literal:
        """The duration as a literal."""
        months, (whole, rest) = abs(self.months), divmod(abs(self.seconds), _SECOND)
        parts = ((months // 12, "Y"), (months % 12, "M"), (whole // 86400, "D"))
        day = "".join(f"{number}{unit}" for number, unit in parts if number)
        clock = ((whole // 3600 % 24, "H"), (whole // 60 % 60, "M"))
        time = "".join(f"{number}{unit}" for number, unit in clock if number)
        time += f"{_seconds(whole % 60, rest)}S" if whole % 60 or rest else ""
        text = f"P{day}T{time}".rstrip("T") if day or time else "P0M" if self.kind.startswith("year") else "PT0S"
        sign = "-" if self.months < 0 or self.seconds < 0 else ""
        return ox.Literal(sign + text, datatype=ox.NamedNode(XSD + self.kind))

    def times(self, factor: Decimal, by: Callable[[Decimal, Decimal], Decimal]) -> Duration:
        """The duration multiplied or divided by a factor; months are rounded to whole ones."""
        if self.kind == "duration":
            raise ValueError("a duration of months and seconds")
        months, seconds = (by(Decimal(part), factor) for part in (self.months, self.seconds))
        return Duration(self.kind, int(half_up(months)), int(seconds))

    def __add__(self, other: Duration) -> Duration:
        months, seconds = self.months + other.months, self.seconds + other.seconds
        if months * seconds < 0:
            raise ValueError("months and seconds of different signs")
        return Duration(self.kind if self.kind == other.kind else "duration", months, seconds)


@dataclass(frozen=True)
class Moment:
    """A date, dateTime or time: attoseconds of local time since 1970-01-01T00:00:00, and its zone in minutes."""

    kind: str
    seconds: int
    zone: int | None

    def literal(self) -> ox.Literal:
        """The moment as a literal."""
        whole, rest = divmod(self.seconds, _SECOND)
        days, second = divmod(whole, 86400)
        year, month, day = _civil(days)
        text = f"{'-' if year < 0 else ''}{abs(year):04}-{month:02}-{day:02}"
        time = f"{second // 3600:02}:{second // 60 % 60:02}:{_seconds(second % 60, rest, width=2)}"
        text = {"date": text, "time": time}.get(self.kind, f"{text}T{time}")
        if self.zone is not None:
            zone = abs(self.zone)
            text += f"{'-' if self.zone < 0 else '+'}{zone // 60:02}:{zone % 60:02}" if zone else "Z"
        return ox.Literal(text, datatype=ox.NamedNode(XSD + self.kind))

    def __add__(self, duration: Duration) -> Moment:
        if self.kind == "time":
            if duration.months:
                raise ValueError("a time has no months")
            return replace(self, seconds=(self.seconds + duration.seconds) % _DAYS)
        days, second = divmod(self.seconds, _DAYS)
        year, month, day = _civil(days)
        months = year * 12 + month - 1 + duration.months
        first, after = (_days(number // 12, number % 12 + 1) for number in (months, months + 1))
        seconds = (first + min(day, after - first) - 1) * _DAYS + second + duration.seconds
        return replace(self, seconds=seconds // _DAYS * _DAYS if self.kind == "date" else seconds)

    def __sub__(self, other: Moment) -> Duration:
        """The time between, with times without a zone in UTC."""
        if self.kind != other.kind:
            raise ValueError("a date, a dateTime and a time have no difference")
        apart = self.seconds - other.seconds - ((self.zone or 0) - (other.zone or 0)) * 60 * _SECOND
        return Duration("dayTimeDuration", 0, apart)


def _days(year: int, month: int) -> int:
    """The days from 1970-01-01 to the first of a month, in the proleptic calendar of Gregory."""
    era, of_era = divmod(year - 1, 400)
    return era * _ERA + date(of_era + 1, month, 1).toordinal() - _EPOCH


def _civil(days: int) -> tuple[int, int, int]:
    """The year, month and day so many days after 1970-01-01."""
    era, of_era = divmod(days + _EPOCH - 1, _ERA)
    found = date.fromordinal(of_era + 1)
    return era * 400 + found.year, found.month, found.day


def _seconds(whole: int, rest: int, width: int = 1) -> str:
    return f"{whole:0{width}}" + (f".{rest:018}".rstrip("0") if rest else "")


def half_up(value: Decimal) -> Decimal:
    """The nearest whole number, the greater of two."""
    return _EXACT.add(value, Decimal("0.5")).to_integral_value(ROUND_FLOOR)


ROUNDINGS: dict[str, Callable[[Decimal], Decimal]] = {
    "ABS": Decimal.copy_abs,
    "CEIL": lambda value: value.to_integral_value(ROUND_CEILING),
    "FLOOR": lambda value: value.to_integral_value(ROUND_FLOOR),
    "ROUND": half_up,
}


# --- reading ------------------------------------------------------------------------------------------------


def value_of(term: Any) -> Any:
    """A Number, Duration, Moment or bool, by the term's type; ValueError for other types, and ill-typed terms."""
    if not isinstance(term, ox.Literal) or term.language is not None:
        raise ValueError("no value of a supported type")
    kind, text = term.datatype.value.removeprefix(XSD), term.value.strip(" \t\r\n")
    if kind in _MOMENTS:
        return _moment(kind, text)
    if kind in ("duration", "dayTimeDuration", "yearMonthDuration"):
        return _duration(kind, text)
    if kind == "boolean" and text in ("true", "false", "1", "0"):
        return text in ("true", "1")
    number = number_of(kind, text)
    if number is None:
        raise ValueError(f"{text!r} is no {kind}")
    return number


def number_of(kind: str, text: str) -> Number | None:
    """The number that a text is for a type, by its local name; None for what is ill-typed, and for another type."""
    if len(text) > _DIGITS:
        raise ValueError(f"a number of more than {_DIGITS} digits")
    rank = _RANKS.get(kind)
    if rank is None or not _NUMERALS[rank](text):
        return None
    if rank >= FLOAT:
        return Number(rank, float(text) if rank == _DOUBLE else _single(float(text)))
    least, most = BOUNDS.get(kind, (-math.inf, math.inf))
    return Number(rank, value) if least <= (value := Decimal(text)) <= most else None


def cast(kind: str, term: Any) -> Number | bool:
    """Cast a term by XPath to one of `CASTS` or to a boolean; ValueError where that is an error."""
    is_text = isinstance(term, ox.Literal) and term.datatype.value == XSD + "string"
    value = number_of(kind, term.value.strip(" \t\r\n")) if is_text else value_of(term)
    if isinstance(value, bool):
        value = Number(_INTEGER, Decimal(value))
    if not isinstance(value, Number):
        raise ValueError(f"{term} is no {kind}")
    if kind == "boolean":
        return bool(value.value == value.value and value.value)
    if CASTS[kind] >= FLOAT:
        return Number(CASTS[kind], float(value.value))
    if not value.exact.is_finite():
        raise ValueError(f"{term} is no {kind}")
    return Number(CASTS[kind], value.exact.to_integral_value(ROUND_DOWN) if kind == "integer" else value.exact)


def _single(value: float) -> float:
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def _atto(text: str) -> int:
    found = _EXACT.scaleb(Decimal(text or 0), 18)
    if found != int(found):
        raise ValueError(f"{text}: seconds have 18 decimals at most")
    return int(found)


def _duration(kind: str, text: str) -> Duration:
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no {kind}")
    years, months, days, hours, minutes = (int(part or 0) for part in match.groups()[1:6])
    sign = -1 if match[1] else 1
    seconds = ((days * 24 + hours) * 60 + minutes) * 60 * _SECOND + _atto(match[7])
    found = Duration(kind, sign * (years * 12 + months), sign * seconds)
    if (found.months and kind == "dayTimeDuration") or (seconds and kind == "yearMonthDuration"):
        raise ValueError(f"{text!r} is no {kind}")
    return found


def _moment(kind: str, text: str) -> Moment:
    match = _MOMENTS[kind].fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no {kind}")
    year, month, day = (int(part or least) for part, least in zip(match.groups(), (1970, 1, 1), strict=False))
    hour, minute, second = int(match[4] or 0), int(match[5] or 0), _atto(match[6])
    days = _days(year, month) + day - 1
    zone: int | None = None
    if match[7]:
        zone = 0 if match[7] == "Z" else int(match[7][:3]) * 60 + int(match[7][0] + match[7][4:])
    whole = hour * 3600 * _SECOND + minute * 60 * _SECOND + second
    is_time = minute < 60 and second < 60 * _SECOND and whole <= _DAYS and abs(zone or 0) <= 14 * 60
    if not is_time or (year, month, day) != _civil(days):
        raise ValueError(f"{text!r} is no {kind}")
    return Moment(kind, days * _DAYS + whole if kind != "time" else whole % _DAYS, zone)


# --- operators ----------------------------------------------------------------------------------------------


def computed(operator: str, left: Any, right: Any) -> Any:
    """The result of +, -, * or / for two values; ValueError or ArithmeticError where there is none."""
    if isinstance(left, bool) or isinstance(right, bool):
        raise ValueError("a boolean is not a number")
    if isinstance(left, Number) and isinstance(right, Number):
        return _of_numbers(operator, left, right)
    if operator == "+" and isinstance(left, Duration) and isinstance(right, Moment):
        return right + left
    if operator == "+" and isinstance(right, Duration):
        return left + right
    if operator == "-" and isinstance(right, Duration):
        return left + replace(right, months=-right.months, seconds=-right.seconds)
    if operator == "-" and isinstance(left, Moment) and isinstance(right, Moment):
        return left - right
    if operator == "*" and isinstance(left, Number) and isinstance(right, Duration):
        return right.times(left.exact, _INEXACT.multiply)
    if isinstance(left, Duration) and isinstance(right, Number) and operator in "*/":
        return left.times(right.exact, _INEXACT.multiply if operator == "*" else _INEXACT.divide)
    if isinstance(left, Duration) and isinstance(right, Duration) and operator == "/" and left.kind == right.kind:
        parts = (left.seconds, right.seconds) if left.kind.startswith("day") else (left.months, right.months)
        return _of_numbers("/", *(Number(_INTEGER, Decimal(part)) for part in parts))
    raise ValueError(f"{operator} does not apply to these values")


def _of_numbers(operator: str, left: Number, right: Number) -> Number:
    rank = max(left.rank, right.rank)
    if rank >= FLOAT:
        found = _of_floats(operator, float(left.value), float(right.value))
        return Number(rank, _single(found) if rank == FLOAT else found)
    first, second = left.value, right.value
    if operator == "/":
        whole = _INEXACT.divide(first, second)
        return Number(_DECIMAL, whole.quantize(Decimal("1e-18"), ROUND_DOWN, _INEXACT))
    method = {"+": _EXACT.add, "-": _EXACT.subtract, "*": _EXACT.multiply}[operator]
    return Number(rank, method(first, second))


def _of_floats(operator: str, left: float, right: float) -> float:
    if operator == "/" and right == 0:
        sign = math.copysign(1, left) * math.copysign(1, right)
        return math.nan if left == 0 or math.isnan(left) else math.copysign(math.inf, sign)
    return {"+": float.__add__, "-": float.__sub__, "*": float.__mul__, "/": float.__truediv__}[operator](left, right)


def less(left: Any, right: Any) -> int | None:
    """Below, at or above 0, as a number or boolean is less than another, equal or greater; None where one is NaN."""
    if type(left) is bool and type(right) is bool:
        return left - right
    if not (isinstance(left, Number) and isinstance(right, Number)):
        raise ValueError("only numbers are compared here")
    first, second = left.value, right.value
    if max(left.rank, right.rank) >= FLOAT:
        first, second = float(first), float(second)
    return None if first != first or second != second else (first > second) - (first < second)


def ordered(number: Number) -> str:
    """A text for a number: texts are in the order of the numbers, and equal where these are."""
    value = number.value if isinstance(number.value, Decimal) else Decimal(number.value)
    if not value.is_finite():
        return "0" if value.is_nan() else "5" if value > 0 else "1"
    if not value:
        return "3"
    sign, digits, _ = value.normalize(_EXACT).as_tuple()
    text = f"{value.adjusted() + 100_000:06}" + "".join(map(str, digits))
    return "2" + text.translate(_NINES) + ":" if sign else "4" + text
