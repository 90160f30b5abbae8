"""Functions that queries of other engines use and pyoxigraph lacks: casts to derived XSD types, `fn:` and `math:`."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Decimal
from typing import Any

import pyoxigraph as ox

from worlds.graph.terms import XSD

FN = "http://www.w3.org/2005/xpath-functions#"
MATH = "http://www.w3.org/2005/xpath-functions/math#"
_INTEGER = re.compile(r"[+-]?[0-9]+")
_NUMBERS = ("integer", "decimal", "double", "float")
_BOUNDS: Mapping[str, tuple[int | None, int | None]] = {
    "long": (-(2**63), 2**63 - 1),
    "int": (-(2**31), 2**31 - 1),
    "short": (-(2**15), 2**15 - 1),
    "byte": (-128, 127),
    "unsignedLong": (0, 2**64 - 1),
    "unsignedInt": (0, 2**32 - 1),
    "unsignedShort": (0, 2**16 - 1),
    "unsignedByte": (0, 255),
    "nonNegativeInteger": (0, None),
    "positiveInteger": (1, None),
    "nonPositiveInteger": (None, 0),
    "negativeInteger": (None, -1),
}


def _cast(name: str) -> Callable[..., ox.Literal]:
    least, most = _BOUNDS[name]

    def cast(term: Any) -> ox.Literal:
        kind, text = term.datatype.value.removeprefix(XSD), term.value.strip()
        if kind == "boolean":
            number = int(text in ("true", "1"))
        elif kind in ("decimal", "double", "float"):
            number = int(Decimal(text))
        elif _INTEGER.fullmatch(text):
            number = int(text)
        else:
            raise ValueError(text)
        if (least is not None and number < least) or (most is not None and number > most):
            raise ValueError(text)
        return ox.Literal(str(number), datatype=ox.NamedNode(XSD + name))

    return cast


def _any_uri(term: Any) -> ox.Literal:
    return ox.Literal(term.value, datatype=ox.NamedNode(XSD + "anyURI"))


def _text(change: Callable[[str], str]) -> Callable[..., ox.Literal]:
    """A function of a text that keeps its language."""

    def changed(term: Any) -> ox.Literal:
        if term.language is not None:
            return ox.Literal(change(term.value), language=term.language)
        return ox.Literal(change(term.value))

    return changed


def _compared(compare: Callable[[str, str], bool]) -> Callable[..., ox.Literal]:
    return lambda text, part: ox.Literal(compare(text.value, part.value))


def _substring(text: Any, start: Any, length: Any = None) -> ox.Literal:
    first = round(float(start.value))
    end = None if length is None else max(first + round(float(length.value)) - 1, 0)
    return _text(lambda value: value[max(first - 1, 0) : end])(text)


def _rounded(rounding: str) -> Callable[..., ox.Literal]:
    def rounded(term: Any) -> ox.Literal:
        kind = term.datatype.value.removeprefix(XSD)
        if kind not in _NUMBERS:
            raise ValueError(term.value)
        whole = Decimal(term.value).to_integral_value(rounding)
        return ox.Literal(str(whole), datatype=term.datatype)

    return rounded


def _absolute(term: Any) -> ox.Literal:
    if term.datatype.value.removeprefix(XSD) not in _NUMBERS:
        raise ValueError(term.value)
    return ox.Literal(term.value.lstrip("+-"), datatype=term.datatype)


def _math(function: Callable[..., float]) -> Callable[..., ox.Literal]:
    def computed(*terms: Any) -> ox.Literal:
        return ox.Literal(float(function(*(float(term.value) for term in terms))))

    return computed


_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **{XSD + name: _cast(name) for name in _BOUNDS},
    XSD + "anyURI": _any_uri,
    FN + "upper-case": _text(str.upper),
    FN + "lower-case": _text(str.lower),
    FN + "normalize-space": _text(lambda text: " ".join(text.split())),
    FN + "string-length": lambda text: ox.Literal(len(text.value)),
    FN + "concat": lambda *parts: ox.Literal("".join(part.value for part in parts)),
    FN + "substring": _substring,
    FN + "substring-before": lambda text, part: _text(
        lambda value: value.partition(part.value)[0] if part.value in value else ""
    )(text),
    FN + "substring-after": lambda text, part: _text(lambda value: value.partition(part.value)[2])(text),
    FN + "contains": _compared(lambda text, part: part in text),
    FN + "starts-with": _compared(str.startswith),
    FN + "ends-with": _compared(str.endswith),
    FN + "abs": _absolute,
    FN + "ceiling": _rounded(ROUND_CEILING),
    FN + "floor": _rounded(ROUND_FLOOR),
    FN + "round": _rounded(ROUND_HALF_UP),
    MATH + "pi": _math(lambda: math.pi),
    MATH + "exp10": _math(lambda power: 10.0**power),
    **{
        MATH + name: _math(getattr(math, name))
        for name in ("sqrt", "exp", "log", "log10", "pow", "sin", "cos", "tan", "asin", "acos", "atan", "atan2")
    },
}
FUNCTIONS: Mapping[ox.NamedNode, Callable[..., Any]] = {ox.NamedNode(iri): found for iri, found in _FUNCTIONS.items()}
"""By IRI. What they raise is an unbound value. They need nothing of the process, so that a child calls them itself."""

_LOCAL = "|".join(sorted({re.escape(iri.rpartition("#")[2]) for iri in _FUNCTIONS}, key=len, reverse=True))
_USED = re.compile(rf"[:#](?:{_LOCAL})>?\s*\(")


def uses_functions(text: str) -> bool:
    """Whether a query may use one of them; costs next to nothing."""
    return _USED.search(text) is not None
