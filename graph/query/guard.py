"""Keeps the text of a query or an update from crashing the process, and from reaching the network.

pyoxigraph's parser, optimizer and evaluator recurse over what they read, and a stack that overflows kills the process.
How deep they go is bounded by the number of tokens, and more tightly by that of brackets. So a text may have so many
of both, and `running.run` runs what is not plainly small on a stack that has room for them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable
from urllib.parse import urlsplit

from worlds.graph.query.running import A_CHARACTER, MOST_STACK
from worlds.graph.query.tokens import CLOSING, OPENING, Token, error_at, scan

DEEPEST = 256  # nested groups and brackets
DEEPEST_NEGATION = 10  # brackets behind a `!`: each doubles the time in which what does not parse is refused
MOST_TOKENS = 20_000  # of one operation, not counting data, and of several arguments only the longest

_SHORT = MOST_STACK // A_CHARACTER  # characters that have room whatever the tokens are


# --- the text -----------------------------------------------------------------------------------------------------

_BEFORE_DATA = ("DATA", "INSERT", "DELETE", "CONSTRUCT", "VALUES")
_ESCAPE = re.compile(
    r"""\\(?:[tbnrf"'\\]|(?:u|U0000)(?![Dd][89A-Fa-f])[0-9A-Fa-f]{4}|U00(?:0[1-9A-Fa-f]|10)[0-9A-Fa-f]{4})"""
)
_OURS = "urn:worlds:"
_WITH_AUTHORITY = re.compile(r"<[A-Za-z][A-Za-z0-9+.-]*://")
_MAY_HIDE = re.compile(r"['()\[\]#]")


def check(text: str, tokens: Iterable[Token] | None = None, *, allow_network: bool | Collection[str] = False) -> None:
    """QueryError, with its place, for a query or an update that could crash the process or reach the network.

    That is what is nested deeper than DEEPEST, or than DEEPEST_NEGATION in negations, has more than MOST_TOKENS, or
    asks an endpoint (SERVICE) whose host `allow_network` does not name; where the data tells the endpoint, only
    `allow_network=True` allows it. FROM reaches no network, LOAD is the update's own affair. `tokens` are those of the
    text, if they are there already.
    """
    if not isinstance(text, str):
        raise TypeError(f"a query must be a str, not {type(text).__name__}")
    check_characters(text)
    if (
        len(text) <= _SHORT
        and text.count("{") + text.count("(") + text.count("[") + text.count("<<") <= DEEPEST
        and text.count("!") <= DEEPEST_NEGATION
        and (allow_network is True or "service" not in text.lower())
    ):
        return
    walk = _Walk(text, allow_network)
    for token in scan(text) if tokens is None else tokens:
        walk.step(token)


def check_characters(text: str) -> None:
    """QueryError, with its place, for a lone surrogate, which no UTF-8 can hold."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise error_at("a lone surrogate, which is not a character", text, error.start) from error


class _Walk:
    """Goes through the tokens, and counts.

    Where pyoxigraph reads a text otherwise than the tokens have it (it has no lexer, and takes the `<` of
    `?a<'x'||?b>?c` for an operator where the specification has an IRI), the text is refused: something may hide there.
    """

    def __init__(self, text: str, allow_network: bool | Collection[str]) -> None:
        self._text = text
        hosts = [allow_network] if isinstance(allow_network, str) else allow_network
        self._everywhere = hosts is True
        self._hosts = frozenset() if isinstance(hosts, bool) else {host.lower() for host in hosts}
        self._open: list[_Bracket] = []
        self._open_marks: Counter[str] = Counter()
        self._negations = 0  # brackets around this place that are behind a `!`
        self._negates = False  # a bracket that comes next
        self._spent = 0  # tokens that may stand for levels of recursion
        self._data = 0  # brackets around this place that hold data
        self._data_follows = False
        self._service: Token | None = None  # whose endpoint comes next
        self._after_operand = False

    def step(self, token: Token) -> None:
        """Take in the next token."""
        if self._service is not None and not token.is_word("SILENT"):
            self._ask(self._service, token)
            self._service = None
        if token.kind == "mark":
            self._mark(token)
            self._negates = token.text == "!"
        elif token.kind == "word":
            self._word(token)
        elif token.kind == "string":
            if "\\" in token.text and "\\" in _ESCAPE.sub("", token.text):
                raise error_at("an unknown escape in a string", self._text, token.start)
        elif token.kind == "iri" and self._could_compare(token):
            raise error_at(
                "an IRI is not allowed here: write a space after a '<' that compares", self._text, token.start
            )
        if not self._data:
            self._spent += 1
            if self._spent > MOST_TOKENS:
                message = f"longer than {MOST_TOKENS} tokens, data and lists of arguments apart"
                raise error_at(message, self._text, token.start)
        self._after_operand = token.kind not in ("mark", "word") or token.text == ")" or token.is_word("TRUE", "FALSE")

    def _mark(self, token: Token) -> None:
        mark = token.text
        if mark in OPENING:
            data = mark == "{" and self._data_follows
            self._data_follows = self._data_follows and mark != "{"
            self._data += data
            self._open.append(_Bracket(mark, self._spent, data, self._negates))
            self._open_marks[mark] += 1
            self._negations += self._negates
            if len(self._open) > DEEPEST:
                raise error_at(f"nested deeper than {DEEPEST}", self._text, token.start)
            if self._negations > DEEPEST_NEGATION:
                raise error_at(f"more than {DEEPEST_NEGATION} nested negations", self._text, token.start)
        elif mark in CLOSING:
            for opening in (CLOSING[mark],) if mark != ")>>" or self._open_marks["<<("] else ("(", "<<"):
                self._close(opening)
        elif mark == "," and self._open and self._open[-1].mark == "(":
            self._open[-1].longest = max(self._open[-1].longest, self._spent)
            self._spent = self._open[-1].before
        elif mark == ";" and not self._open:
            self._spent = 0  # the next operation of an update

    def _close(self, opening: str) -> None:
        if self._open_marks[opening]:
            closed = None
            while closed is None or closed.mark != opening:  # what an expression such as ?a<<iri> seemed to open
                closed = self._open.pop()
                self._open_marks[closed.mark] -= 1
                self._data -= closed.data
                self._negations -= closed.negated
                self._spent = max(closed.longest, self._spent)

    def _word(self, token: Token) -> None:
        self._data_follows = token.is_word(*_BEFORE_DATA)
        if token.is_word("SERVICE") and not self._everywhere:
            self._service = token
        if not self._open and token.is_word("PREFIX", "BASE"):
            self._spent = 0

    def _could_compare(self, token: Token) -> bool:
        return (
            self._after_operand
            and not self._data
            and bool(self._open)
            and self._open[-1].mark == "("
            and _MAY_HIDE.search(token.text) is not None
            and _WITH_AUTHORITY.match(token.text) is None
        )

    def _ask(self, service: Token, endpoint: Token) -> None:
        name = endpoint.text.strip("<>").removeprefix(_OURS if endpoint.kind == "iri" else "w:")
        if endpoint.text in (f"w:{name}", f"<{_OURS}{name}>"):
            told = f"a world has no service {endpoint.text}: the one that it has is w:search"
            if name == "search":
                told = "a search cannot stand in a pattern of a search: it stands in a query, beside other patterns"
            raise error_at(told, self._text, endpoint.start)
        host = _host(endpoint.text[1:-1]) if endpoint.kind == "iri" else None
        if host is None or host not in self._hosts:
            hint = f"; allow_network=[{host!r}] allows this host" if host else ""
            if endpoint.kind == "name" and self._hosts:
                hint = "; an endpoint that is allowed has to be written as an IRI in <>"
            told = f"SERVICE is not allowed to reach the network{hint}"
            raise error_at(told, self._text, service.start, kind="network")


class _Bracket:
    """A bracket that is open: how much was spent before it, and the longest of its arguments so far."""

    __slots__ = ("before", "data", "longest", "mark", "negated")

    def __init__(self, mark: str, before: int, data: bool, negated: bool) -> None:
        self.mark = mark
        self.negated = negated
        self.before = before
        self.longest = 0
        self.data = data


def _host(iri: str) -> str | None:
    """The host of an endpoint's IRI, None if it has none, or not plainly."""
    try:
        parts = urlsplit(iri)
        return parts.hostname if parts.scheme.lower() in ("http", "https") and "\\" not in iri else None
    except ValueError:
        return None
