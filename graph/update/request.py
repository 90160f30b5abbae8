"""The text of an update request, as far as every operation reads it: prologue, statements, data, places of errors."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import pyoxigraph as ox

from worlds.errors import QueryError
from worlds.graph.longtexts import parse_all
from worlds.graph.query.evaluation import syntax_error, try_out
from worlds.graph.query.guard import DEEPEST, DEEPEST_NEGATION, check
from worlds.graph.query.query_limits import NO_LIMITS, Limits
from worlds.graph.query.running import run
from worlds.graph.query.tokens import CLOSING, OPENING, Token, error_at, scan
from worlds.graph.terms import Term
from worlds.graph.update.datablocks import as_trig
from worlds.graph.update.templates import read_quads

_PLACE = re.compile(r"error at (\d+):(\d+)(.*)", re.DOTALL)
_LONG = 20_000  # characters that take longer to search than a prefix to declare


class OperationTokens(NamedTuple):
    """The tokens of an operation without the `;` after it, and where its brackets close, by their index."""

    tokens: list[Token]
    closing: dict[int, int]
    end: int


class UpdateRequest:
    """A request while it is read, with the prologue so far."""

    def __init__(
        self, text: str, prefixes: Mapping[str, str], bindings: Mapping[str, Term], limits: Limits = NO_LIMITS
    ) -> None:
        self.text = text
        self.limits = limits  # of the reading
        self.bindings = {name.lstrip("?$"): term for name, term in bindings.items()}
        self._namespaces = {f"{name}:": iri for name, iri in prefixes.items()}
        self._known = frozenset(prefixes)
        self._base: str | None = None
        self.pattern_labels: set[str] = set()  # of blank nodes, which may not occur in a later operation
        self.labelled_data: list[tuple[int, int]] = []  # blocks of data that have such labels

    def prologue(self, at: int) -> Token | None:
        """Take in PREFIX, BASE and VERSION; the first token after them."""
        tokens = scan(self.text, at)
        first = token = next(tokens, None)
        names: dict[str, None] = {}
        rebased = False
        end = at
        while token is not None and token.is_word("PREFIX", "BASE", "VERSION"):
            parts = {"PREFIX": ("name", "iri"), "BASE": ("iri",), "VERSION": ("string",)}[token.text.upper()]
            for kind in parts:
                part = next(tokens, None)
                if part is None or part.kind != kind or (kind == "name" and not part.text.endswith(":")):
                    raise self.unexpected(part)
                if kind == "name":
                    names[part.text] = None
                end = part.end
            rebased = rebased or token.is_word("BASE")
            token = next(tokens, None)
        if first is not None and (names or rebased):
            self._declare(first.start, end, list(names), rebased)
        return token

    def _declare(self, start: int, end: int, names: list[str], rebased: bool) -> None:
        """The absolute IRIs of the declarations in a part of the text."""
        written = ["<>"] if rebased else []
        try:
            found = self._resolved([*written, *names], self.text[start:end])
        except SyntaxError as error:
            raise self.syntax_error(error, start) from error
        if rebased:
            self._base = found.pop(0)
        self._namespaces.update(zip(names, found, strict=True))

    def _resolved(self, iris: list[str], prologue: str = "") -> list[str]:
        """The absolute IRIs that IRIs and prefixed names stand for, after a further prologue."""
        wanted = " ".join(iris)  # as data, which nests nothing
        query = f"{self.header(prologue + wanted)}\n{prologue} SELECT ?iri {{ VALUES ?iri {{ {wanted} }} }}"
        return [solution[0].value for solution in ox.Store().query(query)]  # type: ignore[union-attr]  # solutions of IRIs

    def iris(self, tokens: Sequence[Token]) -> list[ox.NamedNode]:
        """The IRIs that tokens stand for."""
        found: list[ox.NamedNode] = []
        for token in tokens:
            try:
                found += [ox.NamedNode(iri) for iri in self._resolved([token.text])]
            except SyntaxError as error:
                reason = "its prefix is not declared" if token.kind == "name" else "it is not absolute, or not valid"
                raise error_at(f"{token.text} is not an IRI here: {reason}", self.text, token.start) from error
        return found

    def header(self, piece: str) -> str:
        """One line that declares the base and the prefixes that a piece of the request may use."""
        used: Collection[str] = self._namespaces
        if len(piece) <= _LONG:
            with contextlib.suppress(QueryError):  # which the parser tells better
                used = {f"{token.text.partition(':')[0]}:" for token in scan(piece) if token.kind == "name"}
        declared = [f"PREFIX {name} <{self._namespaces[name]}>" for name in used if name in self._namespaces]
        if self._base is not None:
            declared.insert(0, f"BASE <{self._base}>")
        return " ".join(declared)

    def statement(self, first: Token) -> OperationTokens:
        """The operation that begins with a token, up to its `;` or the end."""
        tokens: list[Token] = []
        closing: dict[int, int] = {}
        opened: list[tuple[str, int]] = []
        open_marks: Counter[str] = Counter()
        for token in scan(self.text, first.start):
            if token.kind == "mark":
                if token.text == ";" and not opened:
                    break
                if token.text in OPENING:
                    opened.append((token.text, len(tokens)))
                    open_marks[token.text] += 1
                    if len(opened) > DEEPEST:
                        raise error_at(f"nested deeper than {DEEPEST}", self.text, token.start)
                elif token.text in CLOSING and open_marks[CLOSING[token.text]]:
                    last = None
                    while last is None or last[0] != CLOSING[token.text]:
                        last = opened.pop()  # also what an expression such as ?a<<iri> seemed to open
                        open_marks[last[0]] -= 1
                    closing[last[1]] = len(tokens)
            tokens.append(token)
        if len(tokens) > DEEPEST or sum(token.text == "!" for token in tokens) > DEEPEST_NEGATION:
            check(self.text, tokens, allow_network=True)  # whether SERVICE may is the target's affair
        return OperationTokens(tokens, closing, tokens[-1].end)

    # --- errors

    def unexpected(self, token: Token | None) -> QueryError:
        """The error of a token that has no place, None for the end."""
        if token is None:
            return error_at("unexpected end of the update", self.text, len(self.text))
        return error_at(f"unexpected {token.text[:40]!r}", self.text, token.start)

    def syntax_error(self, error: SyntaxError, start: int, end: int | None = None) -> QueryError:
        """The error of a text whose second line began at an offset of the request, with its place in the request.

        The parser may have gone past the `end`, to which something was added.
        """
        place = _PLACE.match(str(error))
        if place is None or place[1] == "1":
            return error_at(str(error), self.text, start)
        line, column = int(place[1]), int(place[2])
        if line == 2:
            column += start - self.text.rfind("\n", 0, start) - 1
        line += self.text.count("\n", 0, start) - 1
        if end is not None:
            last = error_at("", self.text, end)
            if last.line is not None and last.column is not None:
                line, column = min((line, column), (last.line, last.column))
        told = SyntaxError(f"error at {line}:{column}{place[3]}")
        return syntax_error(told, self.text[:end], self._known, update=True)

    def moved(self, error: QueryError, start: int, *, exact: bool) -> QueryError:
        """An error of a query whose second line began at an offset of the request, with its place in the request."""
        if error.line is None or error.column is None:
            return error
        message = str(error).removeprefix(f"line {error.line}, column {error.column}: ")
        place = error_at("", self.text, start)
        assert place.line is not None
        assert place.column is not None
        if error.line == 1:
            return type(error)(message, line=place.line, column=place.column)
        column = error.column + place.column - 1 if error.line == 2 else error.column
        return type(error)(message, line=place.line + error.line - 2, column=column if exact else None)

    def scratch(self, header: str, piece: str, start: int, end: int) -> ox.Store:
        """An empty store after a piece of the request, or after its like, between two offsets of the request."""
        store = ox.Store()
        with self._parsing(start, end):
            run(piece, lambda _: store.update(f"{header}\n{piece}"))
        return store

    def try_out(self, header: str, piece: str, start: int, end: int) -> None:
        """Raise what the parser has to say of a piece of the request, as `scratch` does."""
        with self._parsing(start, end):
            try_out(piece, lambda: ox.Store().update(f"{header}\n{piece}"), self.limits)

    @contextlib.contextmanager
    def _parsing(self, start: int, end: int) -> Iterator[None]:
        try:
            yield
        except SyntaxError as error:
            raise self.syntax_error(error, start, end) from error
        except (OSError, RuntimeError, ValueError) as error:
            raise error_at(str(error), self.text, start) from error

    def quads(
        self, header: str, piece: str, place: tuple[int, int], block: str, graphs: list[tuple[int, int]]
    ) -> list[ox.Quad]:
        """The quads of a block of data, whose INSERT DATA is `piece`; blank nodes are new ones.

        pyoxigraph's SPARQL parser decides what is valid, its store canonicalises literals. So the block is read once
        more as TriG, which keeps their forms, and believed where both agree.
        """
        scratch = self.scratch(header, piece, *place)
        trig = as_trig(block, graphs)
        given: list[ox.Quad] = []
        if trig is not None:
            with contextlib.suppress(SyntaxError):  # as for a list alone: (1 2) .
                parsed = parse_all(f"{header}\n{trig}", ox.RdfFormat.TRIG, rename_blank_nodes=True)
                given = list(dict.fromkeys(parsed))
        if len(given) >= len(scratch) and all(quad in scratch or _has_blank_node(quad) for quad in given):
            return given
        return read_quads([f"{quad} .\n" for quad in scratch])

    def shared(self, label: str, offset: int) -> QueryError:
        """The error of a blank node label that stands in two operations."""
        return error_at(f"the blank node {label} stands in an earlier operation too", self.text, offset)


def _has_blank_node(quad: ox.Quad | ox.Triple) -> bool:
    if isinstance(quad, ox.Quad) and isinstance(quad.graph_name, ox.BlankNode):
        return True
    return isinstance(quad.subject, ox.BlankNode) or (
        _has_blank_node(quad.object) if isinstance(quad.object, ox.Triple) else isinstance(quad.object, ox.BlankNode)
    )
