"""Gives the terms of results the lexical forms that the data has.

pyoxigraph canonicalises what it stores, so that `01` comes back as `1`. A term that a pattern matched in the data can
have its given form back; one that the query computed or wrote itself cannot be told from it by its looks, and stays.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from worlds.graph.query.results import Solutions, Triples
from worlds.graph.query.tokens import Token, tokenize

Restore = Callable[[Any], Any]


def as_given(
    found: Solutions | Triples, query: str, restore: Restore, bindings: Mapping[str, object]
) -> Solutions | Triples:
    """The results of a query with those terms restored that patterns matched."""
    if isinstance(found, Solutions):
        return found.restored(restorable(found.variables, query) - bindings.keys(), restore)
    tokens = tokenize(query)
    if bindings or _written(tokens) or _constructs_literals(tokens):
        return found
    return found.restored(restore)


def restorable(names: Iterable[str], query: str) -> set[str]:
    """Those of a query's variables whose values come from the data alone."""
    return set(names) - _written(tokenize(query))


def _written(tokens: Collection[Token]) -> set[str]:
    """The variables that an expression or VALUES gives values."""
    names: set[str] = set()
    before = ""
    in_values = in_list = False
    for token in tokens:
        if token.kind == "variable" and (before == "AS" or in_values):
            names.add(token.text[1:])
            in_values = in_list
        elif in_values and token.text == "(":
            in_list = True
        elif in_values:
            in_values = in_list = False
        if token.is_word("VALUES"):
            in_values = True
        before = token.text.upper() if token.kind == "word" else ""
    return names


def _constructs_literals(tokens: Collection[Token]) -> bool:
    """Whether a CONSTRUCT may have literals of its own that look like canonical ones of the data."""
    words = (token for token in tokens if token.kind == "word")
    if not any(token.is_word("CONSTRUCT") for token in words):
        return False
    return any(token.kind == "number" or token.text == "^^" or token.is_word("TRUE", "FALSE") for token in tokens)
