"""Repairs of queries: where pyoxigraph departs from the specification, the same question in words it answers right.

Most queries have none of the words concerned and stay as they are. Places in the text are kept up to the first repair.
"""

from __future__ import annotations

import itertools
import re
import uuid
from collections.abc import Iterator, Sequence

from worlds.errors import QueryError
from worlds.graph.query.query import Query
from worlds.graph.query.shape import QueryShape
from worlds.graph.query.tokens import Edit, Token, by_text, closing, error_at, spliced

_BOOLEAN = re.compile(r"\b(?!(?-i:true|false)\b)(?:true|false)\b", re.IGNORECASE)
_CHECKED = re.compile(r"<<\(|\b(?:COUNT|SUM|MIN|MAX|AVG|SAMPLE|GROUP_CONCAT)\s*\(", re.IGNORECASE)
_CONCERNED = re.compile(
    r"\bGROUP_CONCAT\b|\bBNODE\s*\(\s*[^\s)]|\bGRAPH\s*[?$]|(?<=[\w>)])(?:\*|\?(?!\w))", re.IGNORECASE
)
_GRAPH = re.compile(r"\bGRAPH\b", re.IGNORECASE)
_BESIDE = re.compile(  # what stands in a group that triple patterns do not begin, or that is evaluated otherwise
    r"\b(?:MINUS|EXISTS|VALUES|BIND|LATERAL)\b|\A(?>.*?\bGRAPH\b).*\bGRAPH\b|\A(?>.*?\bSELECT\b).*\bSELECT\b"
    r"|\{(?:\s|#[^\r\n]*)*(?:FILTER\b|OPTIONAL\b|[{}])",
    re.IGNORECASE | re.DOTALL,
)
_TESTED = re.compile(r"\A(?>.*?\bEXISTS\b).*\bMINUS\b", re.IGNORECASE | re.DOTALL)
_AGGREGATES = ("COUNT", "SUM", "MIN", "MAX", "AVG", "SAMPLE", "GROUP_CONCAT")
_LONGEST = 200_000  # characters of a repaired query


def checked(query: Query) -> Query:
    """The query as pyoxigraph's parser takes it; QueryError for syntax that only the parser accepts.

    Keeps the places of everything, but in a SELECT whose expressions use what another one has made of aggregates.
    """
    if not _is_checked(query.text):
        return query
    tokens = query.tokens
    _check(query.text, tokens)
    words = [(token.start, token.end, token.text.lower()) for token in tokens if token.is_word("TRUE", "FALSE")]
    return query.spliced([*words, *_reused(query.text, tokens)])


@by_text(512)
def _is_checked(text: str) -> bool:
    return bool(_BOOLEAN.search(text) or _CHECKED.search(text))


def _reused(query: str, tokens: Sequence[Token]) -> Iterator[Edit]:
    """`(COUNT(?x) AS ?n) (?n + 1 AS ?m)`: pyoxigraph does not know ?n there; its expression replaces it."""
    for at, token in enumerate(tokens):
        if not token.is_word("SELECT"):
            continue
        made: dict[str, str] = {}
        at += 1
        while at < len(tokens) and (
            tokens[at].text == "(" or tokens[at].kind == "variable" or tokens[at].is_word("DISTINCT", "REDUCED")
        ):
            if tokens[at].text != "(":
                at += 1
                continue
            end = closing(tokens, at)
            expression = tokens[at + 1 : max(at + 1, end - 2)]
            edits = [
                (used.start, used.end, made[used.text[1:]])
                for used in expression
                if used.kind == "variable" and used.text[1:] in made
            ]
            yield from edits
            if expression and (edits or any(word.is_word(*_AGGREGATES) for word in expression)):
                text = spliced(query, edits, expression[0].start, expression[-1].end)
                if len(text) > _LONGEST:
                    raise error_at("too long with what it uses of other expressions written in", query, token.start)
                made[tokens[end - 1].text[1:]] = f"({text})"
            at = end + 1


def _check(query: str, tokens: Sequence[Token]) -> None:
    """Refuse an aggregate where there are no groups, and a triple term whose subject no triple can have."""
    inside: list[tuple[bool, str]] = []  # for each open bracket, whether it is of an expression, and what has no groups
    for before, token in itertools.pairwise(tokens):
        expression, ungrouped = inside[-1] if inside else (True, "")
        if token.text == "(":
            is_call = before.kind == "word" and before.text != "a"
            is_aggregate = before.is_word(*_AGGREGATES)
            if is_aggregate and ungrouped:
                told = f"an aggregate stands in SELECT, HAVING or ORDER BY, and not in {ungrouped}"
                raise error_at(told, query, before.start)
            name = "another aggregate" if is_aggregate else before.text.upper()
            inside.append((expression or is_call, name if is_aggregate or name in ("FILTER", "BIND") else ungrouped))
        elif token.text == "{":
            inside.append((False, ""))
        elif token.text in (")", "}") and inside:
            inside.pop()
        elif before.text == "<<(" and expression and (token.text == "<<(" or token.kind in ("string", "number")):
            raise error_at("the subject of a triple term is an IRI or a blank node", query, token.start)


def concerned(query: Query) -> bool:
    """Whether `repaired`, or `graphs.Operators`, may have something to do."""
    return _is_concerned(query.text)


@by_text(512)
def _is_concerned(text: str) -> bool:
    found = _CONCERNED.search(text) or (_GRAPH.search(text) and _BESIDE.search(text)) or _TESTED.search(text)
    return found is not None


def repaired(query: Query) -> Query:
    """The query, which parses, in words that pyoxigraph answers as the specification has it, GRAPH and paths apart."""
    return query.spliced([*_texts(query.shape), *_blank_nodes(query.shape)])


# --- GROUP_CONCAT: a language that all texts share is not the result's


def _texts(shape: QueryShape) -> Iterator[Edit]:
    for at, token in enumerate(shape.tokens):
        if token.is_word("GROUP_CONCAT"):
            last = shape.tokens[closing(shape.tokens, at + 1)]
            yield token.start, token.start, "STR("
            yield last.end, last.end, ")"


# --- BNODE("x"): another blank node in each solution, and never a stored one


def _blank_nodes(shape: QueryShape) -> Iterator[Edit]:
    """Rewrite BNODE(…) in the SELECT clause: a text made at the end of WHERE identifies each solution."""
    body = shape.query.body
    tokens = shape.tokens
    calls = [
        at
        for at, token in enumerate(tokens)
        if token.is_word("BNODE") and tokens[at + 1].text == "(" and tokens[at + 2].text != ")"
    ]
    if not calls:
        return
    if (
        body is None
        or body.body is not None
        or shape.query.projected is None
        or calls[-1] > body.first
        or any(token.is_word(*_AGGREGATES, "GROUP") for token in tokens)
    ):
        raise QueryError(
            "BNODE with an argument is allowed in the SELECT clause only, without aggregates: write BNODE()"
        )
    row = f"?row_{uuid.uuid4().hex}"
    for at in calls:
        yield tokens[at + 1].end, tokens[at + 1].end, f'CONCAT("b", MD5(CONCAT({row}, '
        yield (end := tokens[closing(tokens, at + 1)].start), end, ")))"
    yield (end := tokens[body.last - 1].start), end, f" BIND(STRUUID() AS {row}) "
