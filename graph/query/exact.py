"""The functions that repaired expressions call, where pyoxigraph's own fail; see `expressions`."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any

import pyoxigraph as ox

from worlds.errors import QueryError
from worlds.graph.datatypes import BOUNDS
from worlds.graph.query.regular_expressions import UnsupportedPatternError, translated
from worlds.graph.query.values import CASTS, ROUNDINGS, Number, cast, computed, less, ordered, value_of
from worlds.graph.terms import XSD

OURS = "urn:worlds:exact:"
_NUMERIC = frozenset([*CASTS, *BOUNDS])
_WIDTH = 19  # characters of a number for which pyoxigraph may have no room, at least
_HELD = "\ufdd0"  # begins a text that stands for a number
_TRUTHS = frozenset(XSD + name for name in (*_NUMERIC, "boolean"))


def is_wide(term: Any) -> bool:
    """Whether a term is a number that pyoxigraph has no room for, and so no operator."""
    if not isinstance(term, ox.Literal) or len(term.value) < _WIDTH:
        return False
    value = _or_none(term) if term.datatype.value.removeprefix(XSD) in _NUMERIC else None
    return bool(value is not None and value.wide)


class Exactly:
    """The exact functions for one evaluation; records a number that is too wide, and a refused call.

    `wide`: a number for which pyoxigraph has no room; `refused`: what is not answered, to be raised.
    """

    def __init__(self, refused: QueryError | None = None) -> None:
        self.wide = False
        self.refused = refused
        named: dict[str, Callable[..., Any]] = {
            "calculated": self._calculated,
            "compared": _compared,
            "truth": _truth,
            "pattern": lambda pattern, flags=None: ox.Literal(self._translated(pattern, flags).text),
            "replacement": self._replacement,
            "wider": self._wider,
            "order": _order,
            "held": _held,
            "given": _given,
            "cast": self._cast,
            "rounded": self._rounded,
            "numeric": lambda term: ox.Literal(isinstance(_or_none(term), Number)),
        }
        self.functions = {ox.NamedNode(OURS + name): function for name, function in named.items()}
        self.aggregates: dict[ox.NamedNode, Callable[[], Any]] = {
            ox.NamedNode(f"{OURS}{name}{distinct}"): partial(_Sum, average=name == "avg", once=bool(distinct))
            for name in ("sum", "avg")
            for distinct in ("", "-distinct")
        }

    def finish(self) -> None:
        """Raise the error of a refused call."""
        if self.refused is not None:
            raise self.refused

    def _found(self, value: Any) -> ox.Literal:
        self.wide = self.wide or (isinstance(value, Number) and value.wide)
        literal: ox.Literal = value.literal()
        return literal

    def _wider(self, *_: Any) -> ox.Literal:
        self.wide = True
        raise ValueError("a sum that pyoxigraph has no room for, or none")

    def _calculated(self, steps: Any, *terms: Any) -> ox.Literal:
        values: list[Any] = []
        for step in steps.value.split():
            if step.isdigit():
                values.append(value_of(terms[int(step)]))
            else:
                right, left = values.pop(), values.pop()
                values.append(computed(step, left, right))
        return self._found(values[0])

    def _translated(self, pattern: Any, flags: Any) -> Any:
        if pattern.datatype.value != XSD + "string":
            raise ValueError("a pattern is a plain text")
        try:
            return translated(pattern.value, "" if flags is None else flags.value)
        except UnsupportedPatternError as error:
            self.refused = error
            raise

    def _replacement(self, pattern: Any, replacement: Any, flags: Any = None) -> ox.Literal:
        return ox.Literal(self._translated(pattern, flags).replacement(replacement.value))

    def _cast(self, name: Any, term: Any) -> ox.Literal:
        value = cast(name.value, term)
        return ox.Literal(value) if isinstance(value, bool) else self._found(value)

    def _rounded(self, name: Any, term: Any) -> ox.Literal:
        value = value_of(term)
        if not isinstance(value, Number) or not isinstance(value.value, Decimal):
            raise ValueError(f"{term} is not an exact number")
        return self._found(Number(value.rank, ROUNDINGS[name.value](value.value)))


def _or_none(term: Any) -> Any:
    try:
        return value_of(term)
    except (ValueError, ArithmeticError):
        return None


def _compared(operator: Any, left: Any, right: Any) -> ox.Literal:
    sign = less(value_of(left), value_of(right))
    if sign is None:
        return ox.Literal(operator.value == "!=")
    met = {"=": sign == 0, "!=": sign != 0, "<": sign < 0, ">": sign > 0, "<=": sign <= 0, ">=": sign >= 0}
    return ox.Literal(met[operator.value])


def _truth(term: Any) -> ox.Literal:
    """SPARQL 1.1, 17.2.2: an ill-typed value is false."""
    if not isinstance(term, ox.Literal):
        raise ValueError("an IRI or a blank node has no truth")
    if term.language is not None or term.datatype.value == XSD + "string":
        return ox.Literal(term.value != "")
    if term.datatype.value not in _TRUTHS:
        raise ValueError(f"{term.datatype} has no truth")
    value = _or_none(term)
    number = value.value if isinstance(value, Number) else value
    return ox.Literal(bool(number) and number == number)


def _order(term: Any) -> Any:
    value = _or_none(term)
    return ox.Literal(ordered(value)) if isinstance(value, Number) else term


def _held(term: Any) -> Any:
    """A text in the place of a number, in the order of the numbers, from which `_given` has the number again."""
    value = _or_none(term)
    if not isinstance(value, Number):
        return term
    return ox.Literal(f"{_HELD}{ordered(value)} {term.value} {term.datatype.value}")


def _given(term: Any) -> Any:
    if not (isinstance(term, ox.Literal) and term.value.startswith(_HELD)):
        return term
    _, lexical, datatype = term.value.split(" ")
    return ox.Literal(lexical, datatype=ox.NamedNode(datatype))


class _Sum:
    """SUM and AVG, as pyoxigraph wants an aggregate: an error, which is None, where something is no number."""

    def __init__(self, *, average: bool, once: bool) -> None:
        self._average = average
        self._seen: set[Any] | None = set() if once else None
        self._count = 0
        self._sum: Any = Number(0, Decimal(0))

    def accumulate(self, term: Any) -> None:
        """Take in one value."""
        if self._seen is not None:
            if term in self._seen:
                return
            self._seen.add(term)
        self._count += 1
        try:
            self._sum = computed("+", self._sum, value_of(term)) if self._sum is not None else None
        except (ValueError, ArithmeticError):
            self._sum = None

    def finish(self) -> Any:
        """The sum or the average."""
        if self._average and self._count and self._sum is not None:
            self._sum = computed("/", self._sum, Number(0, Decimal(self._count)))
        return None if self._sum is None else self._sum.literal()
