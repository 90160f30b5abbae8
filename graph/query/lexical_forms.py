"""Literals that a query only passes on, in the form in which it has them.

pyoxigraph writes numbers, dates and booleans anew. Where the variable of a literal, or of a STRDT, stands nowhere else
in the query, the literal goes through with a datatype that pyoxigraph does not know, and has its own one again after.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pyoxigraph as ox

from worlds.graph.lexical import STABLE, may_change
from worlds.graph.query.query import Query
from worlds.graph.query.tokens import Edit, Token, by_text

_MARK = "urn:worlds:passed:"
_MAY = re.compile(r"\bSTRDT\b|\A(?>.*?\bVALUES\b).*\^\^|\^\^\s*[^\s^]+\s+AS\b", re.IGNORECASE | re.DOTALL)


@by_text(512)
def _may_pass(text: str) -> bool:
    return ("^^" in text or "strdt" in text.lower()) and _MAY.search(text) is not None


def marked(query: Query) -> Query:
    """The query whose literals that are only passed on have marked datatypes; the query itself if there are none."""
    if not _may_pass(query.text):
        return query
    uses = _uses(query.tokens)
    return query.spliced([*_computed(query, uses), *_listed(query, uses)])


def unmarked(term: Any) -> Any:
    """The term with its own datatype."""
    if not isinstance(term, ox.Literal) or not term.datatype.value.startswith(_MARK):
        return term
    return ox.Literal(term.value, datatype=ox.NamedNode(term.datatype.value.removeprefix(_MARK)))


def _uses(tokens: Sequence[Token]) -> Counter[str]:
    """How often each variable stands in the query, but for SELECT clauses that give it and templates."""
    uses = Counter(token.text[1:] for token in tokens if token.kind == "variable")
    clause, depth = "", 0
    for token in tokens:
        if token.is_word("SELECT", "CONSTRUCT"):
            clause, depth = token.text.upper(), 0
        elif token.is_word("WHERE", "FROM") or (clause == "SELECT" and token.text == "{") or token.text == "}":
            clause = ""
        elif clause == "SELECT":
            depth += (token.text == "(") - (token.text == ")")
        if clause and not depth and token.kind == "variable":
            uses[token.text[1:]] -= 1
    return uses


def _computed(query: Query, uses: Counter[str]) -> Iterator[Edit]:
    """Of `(literal AS ?v)` and `(STRDT(…, datatype) AS ?v)`."""
    tokens = query.tokens
    for at, token in enumerate(tokens[:-1]):
        if not token.is_word("AS") or uses[tokens[at + 1].text[1:]] != 1:
            continue
        if tokens[at - 2].text == "^^" and tokens[at - 4].text == "(":
            yield from _typed(query, at - 3)
        elif tokens[at - 1].text == ")":
            comma, opening = _arguments(tokens, at - 1)
            if tokens[opening - 1].is_word("STRDT") and tokens[opening - 2].text == "(" and comma:
                given = query.text[tokens[comma + 1].start : tokens[at - 2].end]
                marked = f'IF(isIRI({given}), IRI(CONCAT("{_MARK}", STR({given}))), 1/0)'
                yield tokens[comma + 1].start, tokens[at - 2].end, marked


def _arguments(tokens: Sequence[Token], at: int) -> tuple[int, int]:
    """The last comma between the arguments of a call, 0 for none, and its opening bracket, from its closing one."""
    depth = comma = 0
    while at:
        depth += (tokens[at].text == ")") - (tokens[at].text == "(")
        if not depth:
            break
        if depth == 1 and tokens[at].text == "," and not comma:
            comma = at
        at -= 1
    return comma, at


def _listed(query: Query, uses: Counter[str]) -> Iterator[Edit]:
    """Of VALUES."""
    tokens = query.tokens
    for first, token in enumerate(tokens):
        if not token.is_word("VALUES"):
            continue
        names: list[str] = []
        at = first + 1
        while at < len(tokens) and tokens[at].text != "{":
            names += [tokens[at].text[1:]] if tokens[at].kind == "variable" else []
            at += 1
        passed = [uses[name] == 1 for name in names]
        column = 0
        while (
            any(passed) and at < len(tokens) - 2 and tokens[at].text != "}"
        ):  # what does not end is told by the parser
            at += 1
            if tokens[at].text == "(":
                column = 0
            elif tokens[at].text in ("^^", "<<("):
                if tokens[at].text == "<<(":
                    break
                if passed[(column - 1) % len(names)]:
                    yield from _typed(query, at - 1)
                at += 1
            elif tokens[at].kind in ("string", "iri", "name", "number", "word"):
                column += 1


def _typed(query: Query, at: int) -> Iterator[Edit]:
    """Of the typed literal at a token."""
    text, datatype = query.tokens[at], query.tokens[at + 2]
    iri = query.iri(datatype)
    if text.kind != "string" or iri not in STABLE:
        return
    if may_change(ox.Literal(text.unquoted(), datatype=ox.NamedNode(iri))):
        yield datatype.start, datatype.end, f"<{_MARK}{iri}>"
