"""Lucene's query syntax, which Jena's `text:query` takes, in the words of FTS5."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_TOKEN = re.compile(
    r"""\s*(?:(?P<phrase>"(?:[^"\\]|\\.)*")(?:~(?P<near>[0-9]+))?
        | (?P<mark>&&|\|\||[()!+]|-(?=\S))
        | (?P<word>(?:[^\s"()\\]|\\.)+))""",
    re.VERBOSE | re.DOTALL,
)
_OPERATORS = re.compile(r'(?<!\S)(?:AND|OR|NOT)(?!\S)|&&|\|\||[()!~?^/\\:\[\]{}+]|\*\S|(?<!\S)\*|"~')
_SPECIAL = re.compile(r"(?<!\\)[?~^\[\]{}]|(?<!\\)\*(?!$)|^\*|^/.*/$")
_FIELD = re.compile(r"([A-Za-z_][\w.-]*):\S")
_DEEPEST = 50

_MUST, _MAY, _MUST_NOT = "must", "may", "must not"


class _Clause(NamedTuple):
    occurs: str
    text: str


def as_fts5(words: str) -> str | None:
    """The words as an expression of FTS5; None for plain words, which any search takes as they are.

    AND, OR, NOT, &&, ||, !, + and -, brackets, phrases with or without a distance, and `prefix*` mean what they mean
    to Lucene. ValueError for what FTS5 has not: fuzzy words, wildcards, fields, ranges, weights, regular expressions.
    """
    if not _OPERATORS.search(words):
        return None
    tokens = list(_tokens(words))
    text, at = _group(tokens, 0, 0)
    if at < len(tokens):
        raise ValueError("text:query: a closing bracket has no opening one")
    return text


def _tokens(words: str) -> Iterator[re.Match[str]]:
    at = 0
    words = words.rstrip()
    while at < len(words):
        match = _TOKEN.match(words, at)
        if match is None:
            raise ValueError("text:query: a quotation mark is not closed, or a backslash has nothing to escape")
        yield match
        at = match.end()


def _group(tokens: list[re.Match[str]], at: int, depth: int) -> tuple[str, int]:
    """The clauses from a token on, up to a closing bracket or the end."""
    if depth > _DEEPEST:
        raise ValueError(f"text:query: nested deeper than {_DEEPEST}")
    clauses: list[_Clause] = []
    joined, occurs = "", ""
    while at < len(tokens) and tokens[at]["mark"] != ")":
        token = tokens[at]
        written = token["mark"] or token["word"] or ""
        at += 1
        if written in ("AND", "&&", "OR", "||"):
            joined = "AND" if written in ("AND", "&&") else "OR"
            continue
        if written in ("NOT", "!", "-", "+"):
            occurs = _MUST if written == "+" else _MUST_NOT
            continue
        if written == "(":
            text, at = _group(tokens, at, depth + 1)
            if at == len(tokens):
                raise ValueError("text:query: a bracket is not closed")
            at += 1
        else:
            text = _operand(token)
        if joined == "AND" and clauses and clauses[-1].occurs == _MAY:
            clauses[-1] = clauses[-1]._replace(occurs=_MUST)
        clauses.append(_Clause(occurs or (_MUST if joined == "AND" else _MAY), text))
        joined, occurs = "", ""
    return _joined(clauses), at


def _joined(clauses: list[_Clause]) -> str:
    must = [clause.text for clause in clauses if clause.occurs == _MUST]
    may = [clause.text for clause in clauses if clause.occurs == _MAY]
    never = [clause.text for clause in clauses if clause.occurs == _MUST_NOT]
    if not must and not may:
        raise ValueError("text:query: all words are excluded: add a word to find")
    found = " OR ".join(may)
    if must:
        found = " AND ".join(must)
        if may:  # which count for the score
            found = f"({found}) OR ({found} AND ({' OR '.join(may)}))"
    return f"(({found}) NOT ({' OR '.join(never)}))" if never else f"({found})"


def _operand(token: re.Match[str]) -> str:
    if token["phrase"]:
        text = _quoted(token["phrase"][1:-1])
        if token["near"] is None:
            return text
        return f"NEAR({' '.join(map(_quoted, token['phrase'][1:-1].split()))}, {token['near']})"
    word = token["word"]
    if field := _FIELD.match(word):
        told = '; a language follows the words, as in ("words" "lang:en")' if field[1] == "lang" else ""
        raise ValueError(f"text:query: {word!r} asks for a field, and there are none{told}")
    if special := _SPECIAL.search(word):
        raise ValueError(
            f"text:query: {special[0]!r} in {word!r} has no counterpart here: fuzzy words, wildcards inside of words, "
            f"weights, ranges and patterns are not supported; \\{special[0][0]} is the character itself"
        )
    return _quoted(word[:-1]) + " *" if word.endswith("*") and not word.endswith("\\*") else _quoted(word)


def _quoted(text: str) -> str:
    plain = re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL).replace('"', '""')
    return f'"{plain}"'
