"""Functions that queries of other engines use and pyoxigraph lacks: casts to derived XSD types, `fn:` and `math:`."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import pyoxigraph as ox

from worlds.graph.datatypes import BOUNDS
from worlds.graph.query.tokens import by_text
from worlds.graph.query.values import FLOAT, ROUNDINGS, Number, cast, half_up, value_of
from worlds.graph.terms import XSD

FN = "http://www.w3.org/2005/xpath-functions#"
MATH = "http://www.w3.org/2005/xpath-functions/math#"


def _cast(name: str) -> Callable[..., ox.Literal]:
    least, most = BOUNDS[name]

    def changed(term: Any) -> ox.Literal:
        number = cast("integer", term).value  # type: ignore[union-attr]  # no boolean
        if not least <= number <= most:
            raise ValueError(f"{number} is no {name}")
        return ox.Literal(f"{number:f}", datatype=ox.NamedNode(XSD + name))

    return changed


def _string(term: Any) -> str:
    """The text of a string, with a language or without; ValueError for another term."""
    if term.language is None and term.datatype.value != XSD + "string":
        raise ValueError(f"{term} is not a text")
    text: str = term.value
    return text


def _text(change: Callable[..., str]) -> Callable[..., ox.Literal]:
    """A function of texts that keeps the language of the first."""
    return lambda text, *rest: ox.Literal(change(_string(text), *map(_string, rest)), language=text.language)


def _asked(ask: Callable[..., int | bool]) -> Callable[..., ox.Literal]:
    """A function of texts that gives no text."""
    return lambda *texts: ox.Literal(ask(*map(_string, texts)))


def _number(term: Any) -> Number:
    value = value_of(term)
    if not isinstance(value, Number):
        raise ValueError(f"{term} is not a number")
    return value


def _rounded(name: str) -> Callable[..., ox.Literal]:
    """A function of a number that keeps its type."""

    def rounded(term: Any) -> ox.Literal:
        number = _number(term)
        found = ROUNDINGS[name](number.exact)
        return Number(number.rank, found if number.rank < FLOAT else float(found)).literal()

    return rounded


def _place(term: Any) -> float:
    """A number rounded to a place in a text; NaN is before and after none."""
    return float(half_up(_number(term).exact))


def _substring(text: Any, start: Any, length: Any = None) -> ox.Literal:
    first = _place(start)
    end = math.inf if length is None else first + _place(length)
    return _text(lambda value: "".join(one for at, one in enumerate(value, 1) if first <= at < end))(text)


def _math(function: Callable[..., float]) -> Callable[..., ox.Literal]:
    """A function of doubles, NaN where it has no value, and infinite where it is too large for one."""

    def calculated(*terms: Any) -> ox.Literal:
        numbers = [float(_number(term).value) for term in terms]
        try:
            return ox.Literal(float(function(*numbers)))
        except OverflowError:
            return ox.Literal(math.inf)
        except ValueError:
            return ox.Literal(math.nan)

    return calculated


def _logarithm(function: Callable[[float], float]) -> Callable[[float], float]:
    return lambda number: function(number) if number else -math.inf


def _pow(base: float, power: float) -> float:
    try:
        return math.pow(base, power)
    except (OverflowError, ValueError):
        if base < 0 and not power.is_integer():
            return math.nan
        return math.copysign(math.inf, base if power % 2 == 1 else 1)


_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **{XSD + name: _cast(name) for name in BOUNDS if name != "integer"},
    XSD + "anyURI": lambda term: ox.Literal(term.value, datatype=ox.NamedNode(XSD + "anyURI")),
    FN + "upper-case": _text(str.upper),
    FN + "lower-case": _text(str.lower),
    FN + "normalize-space": _text(lambda text: " ".join(re.findall(r"[^ \t\r\n]+", text))),
    FN + "string-length": _asked(len),
    FN + "concat": lambda *parts: ox.Literal("".join(part.value for part in parts)),
    FN + "substring": _substring,
    FN + "substring-before": _text(lambda text, part: text[: max(text.find(part), 0)]),
    FN + "substring-after": _text(lambda text, part: text[text.find(part) + len(part) :] if part in text else ""),
    FN + "contains": _asked(lambda text, part: part in text),
    FN + "starts-with": _asked(str.startswith),
    FN + "ends-with": _asked(str.endswith),
    FN + "abs": _rounded("ABS"),
    FN + "ceiling": _rounded("CEIL"),
    FN + "floor": _rounded("FLOOR"),
    FN + "round": _rounded("ROUND"),
    MATH + "pi": _math(lambda: math.pi),
    MATH + "exp10": _math(lambda power: _pow(10.0, power)),
    MATH + "pow": _math(_pow),
    MATH + "log": _math(_logarithm(math.log)),
    MATH + "log10": _math(_logarithm(math.log10)),
    **{
        MATH + name: _math(getattr(math, name))
        for name in ("sqrt", "exp", "sin", "cos", "tan", "asin", "acos", "atan", "atan2")
    },
}
FUNCTIONS: Mapping[ox.NamedNode, Callable[..., Any]] = {ox.NamedNode(iri): found for iri, found in _FUNCTIONS.items()}
"""By IRI. What they raise is an unbound value. They need nothing of the process, so that a child calls them itself."""

_LOCAL = "|".join(sorted({re.escape(iri.rpartition("#")[2]) for iri in _FUNCTIONS}, key=len, reverse=True))
_USED = re.compile(rf"[:#](?:{_LOCAL})>?\s*\(")


@by_text(512)
def uses_functions(text: str) -> bool:
    """Whether a query may use one of them; costs next to nothing."""
    return _USED.search(text) is not None
