"""Values in the place of variables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from worlds.errors import ArgumentError, QueryError
from worlds.graph.blanknodes import blank_nodes
from worlds.graph.query.tokens import Edit, Token, by_text, error_at, tokenize
from worlds.graph.terms import Term, format_term, listed, to_object

HIDDEN = "worlds_given_"
"""The names begin so of what sub-SELECTs give instead of bound variables; no `*` shows them."""


def terms_of(
    bindings: Mapping[str, object] | None, prefixes: Mapping[str, str], text: str | None = None
) -> dict[str, Term]:
    """The terms that variables are bound to, given as `to_object` takes them.

    TypeError for what is no mapping, ArgumentError for a variable that the `text`, if it is given, does not have.
    """
    if bindings is None:
        return {}
    if not isinstance(bindings, Mapping) or not all(isinstance(name, str) for name in bindings):
        raise TypeError(f"bindings map the names of variables to terms, they are not {bindings!r}")
    if bindings and text is not None and (has := variables_of(str(text))) is not None:
        for name in bindings:
            if name.lstrip("?$") not in has:
                told = listed([f"?{one}" for one in sorted(has)], 10) or "none"
                raise ArgumentError(f"the query has no variable ?{name.lstrip('?$')}; its variables: {told}")
    return {name: to_object(value, prefixes=prefixes) for name, value in bindings.items()}


@by_text(512)
def variables_of(text: str) -> frozenset[str] | None:
    """The variables that a query or an update names, without ?; None for what has no tokens, which others tell."""
    try:
        return frozenset(token.text[1:] for token in tokenize(text) if token.kind == "variable")
    except QueryError:
        return None


def written_in(text: str, tokens: Sequence[Token], bindings: Mapping[str, Any], *, blank: str) -> Iterator[Edit]:
    """The edits that write values in the place of bound variables among the tokens of a text.

    QueryError, with its place, where the text gives one a value of its own, and for a blank node, which no text can
    name: `blank` says so of a variable.
    """
    clause, depth = "", 0  # a clause that lists variables, and the brackets open in it
    around: list[tuple[str, int]] = []
    for index, token in enumerate(tokens):
        if token.text == "{":
            around.append((clause if depth else "", depth))
            clause, depth = "", 0
        elif token.text == "}" and around:
            clause, depth = around.pop()
        elif token.text in ("(", ")"):
            depth += 1 if token.text == "(" else -1
        elif token.is_word("SELECT", "VALUES", "BY"):
            clause, depth = token.text.upper(), 0
        elif token.is_word("WHERE", "HAVING", "ORDER", "LIMIT", "OFFSET", "FROM"):
            clause = ""
        elif token.kind == "variable" and token.text[1:] in bindings:
            if clause == "VALUES" or tokens[index - 1].is_word("AS"):
                message = f"{token.text} has a binding, so the pattern cannot give it another value"
                raise error_at(message, text, token.start)
            if tokens[index - 1].text == "(" and tokens[index - 2].is_word("BOUND"):
                yield tokens[index - 2].start, token.end, "(true"
                continue
            term = bindings[token.text[1:]]
            if blank_nodes(term):
                raise error_at(f"{token.text} {blank}", text, token.start)
            value = format_term(term)
            if clause and not depth:  # what a sub-SELECT gives has its value outside of it, too
                name = f"?{HIDDEN}{index}" if around else token.text
                value = f"({value} AS {name})" if clause == "SELECT" else f"({value})"
            yield token.start, token.end, f" {value} "
