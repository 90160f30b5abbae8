"""The tokens of SPARQL 1.1 and 1.2 (SPARQL 1.2 Query Language, section 19.8), with their places in the text.

No grammar: what reads tokens here finds its way by keywords and brackets, and leaves the rest to pyoxigraph's parser.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Generic, Literal, NamedTuple, TypeAlias, TypeVar

from worlds.errors import QueryError

T = TypeVar("T")
Kind: TypeAlias = Literal["iri", "name", "blank", "variable", "string", "language", "number", "word", "mark"]
Edit: TypeAlias = tuple[int, int, str]  # a place in a text, by offsets, and what stands there instead

OPENING = frozenset({"{", "(", "[", "{|", "<<", "<<("})  # brackets
CLOSING = {"}": "{", ")": "(", "]": "[", "|}": "{|", ">>": "<<", ")>>": "<<("}  # → what each closes

START = "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c-\u200d\u2070-\u218f"
START += "\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
CHAR = rf"{START}_0-9\u00b7\u0300-\u036f\u203f-\u2040"
_ESCAPED = r"%[0-9A-Fa-f]{2}|\\[_~.\-!$&'()*+,;=/?\#@%]"
_CODE_POINT = r"\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8}"


_KEPT = 10_000  # characters of a text that is kept: what a longer one takes to read is little beside its evaluation


class _ByText(dict[str, T], Generic[T]):
    def __init__(self, function: Callable[[str], T], size: int) -> None:
        self._function, self._size = function, size

    def __missing__(self, text: str) -> T:
        found = self._function(text)
        if len(text) <= _KEPT:
            if len(self) >= self._size:
                self.clear()  # which no other thread's reading minds
            self[text] = found
        return found


def by_text(size: int) -> Callable[[Callable[[str], T]], Callable[[str], T]]:
    """Cache a function's results for texts of usual lengths, `size` at most; cheaper than `functools.lru_cache`."""
    return lambda function: _ByText(function, size).__getitem__


@functools.cache
def _pattern() -> re.Pattern[str]:
    """The pattern of one token; compiled at its first use, which takes 20 ms."""
    return re.compile(
        rf"""
          (?P<skip>[\x20\t\r\n]+|\#[^\r\n]*)
        | (?P<iri><(?:[^<>"{{}}|^`\\\x00-\x20]|{_CODE_POINT})*>)
        | (?P<variable>[?$][{START}_0-9][{CHAR}]*)
        | (?P<blank>_:[{START}_0-9](?:[{CHAR}.\-]*[{CHAR}\-])?)
        | (?P<name>(?:[{START}](?:[{CHAR}.\-]*[{CHAR}\-])?)?:
            (?:(?:[{START}_0-9:]|{_ESCAPED}|{_CODE_POINT})
               (?:\.*(?:[{CHAR}\-:]|{_ESCAPED}|{_CODE_POINT}))*)?)
        | (?P<string>'''(?:'{{0,2}}(?:[^'\\]|\\.))*'''|\"""(?:"{{0,2}}(?:[^"\\]|\\.))*\"""
            |'(?:[^'\\\r\n]|\\.)*'|"(?:[^"\\\r\n]|\\.)*")
        | (?P<language>@[A-Za-z]+(?:-[A-Za-z0-9]+)*(?:--[A-Za-z]+)?)
        | (?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)[eE][+-]?[0-9]+|[0-9]*\.[0-9]+|[0-9]+)
        | (?P<word>[A-Za-z][A-Za-z0-9_]*)
        | (?P<mark><<\(?|\)?>>|\{{\||\|\}}|\^\^|&&|\|\||[<>!]=|[^\s\w"'\\])
        """,
        re.VERBOSE | re.DOTALL,
    )


class Token(NamedTuple):
    """One token: `text` is as written; `start` and `end` are offsets of characters.

    A "name" is a prefixed name, a "word" a keyword, `a`, `true` or `false`, a "mark" everything else.
    """

    kind: Kind
    text: str
    start: int
    end: int

    def unquoted(self) -> str:
        """The value of a string, without quotes and escapes."""
        quotes = 3 if self.text[:3] in ("'''", '"""') else 1
        from worlds.graph.terms import unescaped  # brings pyoxigraph, which help does without

        return unescaped(self.text[quotes:-quotes])

    def is_word(self, *words: str) -> bool:
        """Whether it is one of these keywords, given in upper case."""
        return self.kind == "word" and self.text.upper() in words


def tokenize(text: str) -> list[Token]:
    """The tokens, without white space and comments; QueryError, with its place, where there is none."""
    return list(_tokenized(text))


@by_text(64)
def _tokenized(text: str) -> tuple[Token, ...]:
    return tuple(scan(text))


def scan(text: str, at: int = 0) -> Iterator[Token]:
    """The tokens from an offset on, each read when it is asked for; QueryError as for `tokenize`."""
    match_at = _pattern().match
    length = len(text)
    while at < length:
        match = match_at(text, at)
        if match is None:
            raise error_at("this is not SPARQL: an unfinished string, or a character that has no place", text, at)
        kind = match.lastgroup
        end = match.end()
        if kind != "skip":
            yield Token(kind, match[0], at, end)  # type: ignore[arg-type]  # the groups are the kinds
        at = end


def error_at(message: str, text: str, offset: int, *, kind: str | None = None) -> QueryError:
    """A QueryError with the line and column of an offset into the text."""
    before = text[:offset]
    return QueryError(message, line=before.count("\n") + 1, column=offset - before.rfind("\n"), kind=kind)


def closing(tokens: Sequence[Token], at: int, opening: str = "(", end: str = ")") -> int:
    """Where the bracket at a place is closed."""
    depth = 0
    for place in range(at, len(tokens)):
        depth += (tokens[place].text == opening) - (tokens[place].text == end)
        if depth == 0:
            return place
    return len(tokens) - 1  # it will not parse


def spliced(text: str, edits: Iterable[Edit], start: int = 0, end: int | None = None) -> str:
    """A part of a text with some of its places, which do not overlap, written anew."""
    pieces: list[str] = []
    for first, last, new in sorted(edits, key=lambda edit: edit[:2]):
        pieces += [text[start:first], new]
        start = last
    return "".join([*pieces, text[start:end]])


_declared = re.compile(r"\bPREFIX\s+([^\s:<>]*):\s*<([^<>\s]*)>", re.IGNORECASE).findall


def declared_prefixes(text: str) -> dict[str, str]:
    """The prefixes that a query or an update declares; also declarations inside of texts and comments."""
    return dict(_declared(text))
