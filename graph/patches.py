"""RDF Patch: the changes of a dataset as text (https://afs.github.io/rdf-delta/rdf-patch.html), read and written.

A row is a code, its terms in N-Quads syntax (RDF 1.2 included) and a dot: `A` and `D` add and delete a triple or a
quad, `PA` and `PD` a prefix, `TX`, `TC` and `TA` begin, commit and abort a transaction, `H` says something of the
patch. The label of a blank node is its name in the data, not in the document.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, BinaryIO, Literal, NamedTuple, TypeAlias

import pyoxigraph as ox

from worlds.errors import ParseError
from worlds.graph.bounds import TripleTerms
from worlds.graph.longtexts import parse_all
from worlds.graph.terms import Term, is_prefix

Code: TypeAlias = Literal["H", "TX", "TC", "TA", "PA", "PD", "A", "D"]

_BLOCK = 5000  # rows that are parsed, or written, together
_CODE = re.compile(rb"[ \t]*([A-Z]{1,2})(?=[ \t.]|$)")
_CHANGES = frozenset({b"A", b"D"})
_PLAIN = re.compile(r"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false")  # what a header may say as Turtle does
# Jena writes a label that N-Quads cannot hold in angle brackets; what stands in a string is no label.
_BRACKETED = re.compile(rb'"(?:[^"\\]|\\.)*"|<_:([^<>\s]*)>')
_WORD = r'(?P<word>"(?:[^"\\]|\\.)*"|[^\s"<>.][^\s"<>]*?)'
_TERM = r'(?P<term>(?>"(?:[^"\\]|\\.)*"|<[^<>"]*>|[^\s"#.])(?>"(?:[^"\\]|\\.)*"|<[^<>"]*>|[^"#])*?)'
_END = r"[ \t]*\.[ \t]*(?:\#.*)?"
_ROWS = {
    # rdflib leaves the dot out of some of its headers.
    "H": re.compile(rf"[ \t]*H[ \t]+{_WORD}[ \t]+{_TERM}(?:{_END})?"),
    "PA": re.compile(rf"[ \t]*PA[ \t]+{_WORD}[ \t]+{_TERM}{_END}"),
    "PD": re.compile(rf"[ \t]*PD[ \t]+{_WORD}{_END}"),
    **{code: re.compile(rf"[ \t]*{code}{_END}") for code in ("TX", "TC", "TA")},
}
_SHAPES = {"H": "H, a word, a term and a dot", "PA": "PA, a prefix, an IRI and a dot", "PD": "PD, a prefix and a dot"}


class PatchRow(NamedTuple):
    """One row: `quad` of A and D, `name` of PA, PD and H, `value` of PA (an IRI) and of H (any term)."""

    code: Code
    quad: ox.Quad | None = None
    name: str = ""
    value: Term | None = None


# --- reading ------------------------------------------------------------------------------------------------


def read_patch(stream: BinaryIO, source: str) -> Iterator[PatchRow]:
    """The rows of a patch, streamed and checked; `source` is its name for the errors.

    ParseError, with line and column, for a row that is none, for transactions inside one another or not begun, for a
    header behind the first of them, and for a patch that ends inside one. Rows outside of a transaction are allowed.
    """
    return _Patch(source).rows(stream)


class _Patch:
    def __init__(self, source: str) -> None:
        self._source = source
        self._inside = False  # a transaction
        self._begun = False  # the header is over
        self._line = 0  # the number of the last line read

    def _error(self, message: str, line: int, column: int = 1) -> ParseError:
        return ParseError(message, source=self._source, line=line, column=column)

    def rows(self, stream: BinaryIO) -> Iterator[PatchRow]:
        lines = self._lines(stream)
        while block := list(islice(lines, _BLOCK)):
            first = self._line - len(block) + 1
            changes: list[bytes] = []  # code and terms of changes that follow each other, and lines without a row
            codes: list[Code] = []
            for number, line in enumerate(block, first):
                if line == b"\n":
                    changes.append(line)
                    continue
                code = self._code_of(line, number)
                if code in _CHANGES:
                    codes.append("A" if code == b"A" else "D")
                    changes.append(line.replace(code, b" ", 1))
                elif code is None:
                    changes.append(b"\n")
                else:
                    yield from self._changes(codes, changes, number - len(changes))
                    codes, changes = [], []
                    yield self._other(code.decode(), line, number)
            yield from self._changes(codes, changes, first + len(block) - len(changes))
        if self._inside:
            raise self._error("the patch ends inside a transaction: TC or TA is missing", self._line)

    def _lines(self, stream: BinaryIO) -> Iterator[bytes]:
        try:
            for line in stream:
                self._line += 1
                yield line
        except (OSError, EOFError, UnicodeError) as error:
            raise ParseError(f"the input cannot be read to its end: {error}", source=self._source) from error

    def _code_of(self, line: bytes, number: int) -> bytes | None:
        """The code of a row; None for a line without one."""
        if b"\r" in line and line.rstrip(b"\r\n").find(b"\r") >= 0:
            raise self._error("a carriage return in the middle of a line", number, line.index(b"\r") + 1)
        found = _CODE.match(line)
        if found is not None and (found[1] in _CHANGES or found[1].decode() in _ROWS):
            return found[1]
        text = line.strip()
        if not text or text.startswith(b"#"):
            return None
        word = text.split()[0].decode(errors="replace")
        column = len(line) - len(line.lstrip()) + 1
        raise self._error(f"{word[:20]!r} begins no row: use {', '.join(['A', 'D', *_ROWS])}", number, column)

    def _changes(self, codes: list[Code], lines: list[bytes], first: int) -> Iterator[PatchRow]:
        """Rows of A and D; `first` is the number of the first line."""
        if not codes:
            return
        self._begun = True
        text = b"".join(lines)
        if b"<_:" in text:
            text = _BRACKETED.sub(lambda found: found[0] if found[1] is None else b" _:%s " % found[1], text)
        quads = self._parsed(text, first)
        if len(quads) != len(codes):  # a code with nothing behind it but a comment
            for number, line in enumerate(lines, first):
                if line != b"\n" and not self._parsed(line, number):
                    raise self._error("a row that adds or deletes needs a triple or a quad", number)
        for code, quad in zip(codes, quads, strict=True):
            yield PatchRow(code, quad)

    def _parsed(self, text: bytes, first: int) -> list[ox.Quad]:
        try:
            TripleTerms().check(text)
            return parse_all(text, ox.RdfFormat.N_QUADS)
        except SyntaxError as error:
            line, column = error.lineno or 1, error.offset or 1
            if line > 1 and column == 1:  # no row begins there: what came too early is the end of the line before
                line -= 1
                column = len(text.split(b"\n")[line - 1].decode(errors="replace")) + 1
            raise self._error(_explain(error), first + line - 1, column) from error
        except ParseError as error:  # which knows no line
            for number, line_ in enumerate(lines if len(lines := text.splitlines(keepends=True)) > 1 else (), first):
                self._parsed(line_, number)
            raise self._error(str(error), first) from error

    def _other(self, code: str, line: bytes, number: int) -> PatchRow:
        """A row that is no change of a triple or quad."""
        try:
            text = line.decode().rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise self._error(f"no UTF-8: {error.reason}", number, error.start + 1) from error
        found = _ROWS[code].fullmatch(text)
        if found is None:
            raise self._error(f"the row should be {_SHAPES.get(code, f'{code} and a dot')}", number)
        if code in ("TX", "TC", "TA"):
            self._turn(code, number)
            return PatchRow(code)  # type: ignore[arg-type]  # one of them
        name = self._word(found, number)
        if code == "H":
            if self._begun:
                raise self._error("a header must come before the first transaction and the first change", number)
            return PatchRow("H", None, name, self._term(found, number))
        self._begun = True
        if not is_prefix(name):
            raise self._error(f"{name!r} is not a prefix", number, found.start("word") + 1)
        if code == "PD":
            return PatchRow("PD", None, name)
        value = self._term(found, number)
        if isinstance(value, ox.Literal):  # an IRI in quotes, as the specification has it
            try:
                value = ox.NamedNode(value.value)
            except ValueError as error:
                raise self._error(f"{value.value!r} is not an IRI: {error}", number, found.start("term") + 1) from error
        if not isinstance(value, ox.NamedNode):
            raise self._error("a prefix must stand for an IRI", number, found.start("term") + 1)
        return PatchRow("PA", None, name, value)

    def _turn(self, code: str, number: int) -> None:
        self._begun = True
        if (code == "TX") == self._inside:
            message = "a transaction inside another one" if self._inside else f"{code} without TX"
            raise self._error(message, number)
        self._inside = code == "TX"

    def _word(self, found: re.Match[str], number: int) -> str:
        word = found["word"]
        if not word.startswith('"'):
            return word
        literal = self._parsed_term(word, number, found.start("word"))
        assert isinstance(literal, ox.Literal)
        return literal.value

    def _term(self, found: re.Match[str], number: int) -> Term:
        return self._parsed_term(found["term"], number, found.start("term"))

    def _parsed_term(self, text: str, number: int, offset: int) -> Term:
        """The one term that a text is; `offset` is where it begins in its line."""
        before = "<a:> <a:> "
        try:
            plain = _PLAIN.fullmatch(text)
            (quad,) = parse_all(f"{before}{text} .", ox.RdfFormat.TURTLE if plain else ox.RdfFormat.N_TRIPLES)
        except (SyntaxError, ValueError) as error:
            place = getattr(error, "offset", None) or len(before) + 1
            message = _explain(error) if isinstance(error, SyntaxError) else f"{text!r} is not one term"
            raise self._error(message, number, offset + max(place - len(before), 1)) from error
        value: Term = quad.object
        return value


def _explain(error: SyntaxError) -> str:
    return re.sub(r"^Parser error [^:]*: ", "", error.msg or "not valid")


# --- writing ------------------------------------------------------------------------------------------------


def write_patch(
    removed: Iterable[ox.Quad], added: Iterable[ox.Quad], headers: Mapping[str, ox.NamedNode | ox.Literal] | None = None
) -> Iterator[str]:
    """The text of a patch of one transaction, in pieces of some rows each: headers, deletions, additions."""
    yield "".join(f"H {name} {term} .\n" for name, term in (headers or {}).items()) + "TX .\n"
    yield from _written("D", removed)
    yield from _written("A", added)
    yield "TC .\n"


def _written(code: str, quads: Iterable[ox.Quad]) -> Iterator[str]:
    stream = iter(quads)
    while block := list(islice(stream, _BLOCK)):
        text: Any = ox.serialize(block, format=ox.RdfFormat.N_QUADS)
        yield "".join(f"{code} {line}\n" for line in text.decode().split("\n")[:-1])
