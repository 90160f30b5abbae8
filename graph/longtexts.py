"""Reads texts that are longer than the parser's buffer: the rest of a long one goes around the parser.

A parser of pyoxigraph gives up where a token is longer than 16 MiB. In the stream, the rest of a long text is replaced
by a mark; in the quads, the mark by the rest.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyoxigraph as ox

from worlds.errors import ParseError
from worlds.graph.bounds import TripleTerms

LONGEST = 1 << 24
"""Bytes of the longest token that a parser takes."""

LONG = 1 << 22  # bytes of a line that may hold such a text: no new line is in a text but in triple quotes
_PIECE = 1 << 16
_PART = 1 << 20

# What a string consists of, as far as it is there: no half character, no half escape, no half pair of surrogates.
_CHARACTERS = rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
_ESCAPES = (
    rb"\\(?:[^uU\n\r]|u(?![dD][89abAB])[0-9A-Fa-f]{4}|u[dD][89abAB][0-9A-Fa-f]{2}\\u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8})"
)
_INSIDE: dict[bytes, Callable[..., Any]] = {
    quote: re.compile(rb"(?:[^\\\n\r\x80-\xff%b]++|%b|%b)*+" % (quote, _CHARACTERS, _ESCAPES)).match
    for quote in (b'"', b"'")
}
# Up to the string as which a line ends, or something else that is not at its end.
_BEFORE = re.compile(
    rb"""(?:[^"'<#\\]++|\\.|<[^\x00-\x20<>"{}|^`\\]*+>|<<|<=|"(?:[^"\\]++|\\.)*+"|'(?:[^'\\]++|\\.)*+')*+"""
).match
_QUOTE = re.compile(rb'(?:\A|[^\\])"').search  # certainly one that begins or ends a string
_TEXT = re.compile(rb"[^\x00-\x20\[\]{},:\-+.0-9eEtrufalsn]").search  # what JSON has in strings only
_SURE = re.compile(rb'.*(?:[^"\\/bfnrtuU0-9a-fA-F\x80-\xff]|%b)' % _CHARACTERS, re.DOTALL).match  # no escape is open


class LongTexts:
    """Takes the rests of long texts out of one document, and puts them back into its quads."""

    def __init__(self, format: ox.RdfFormat, name: str | None = None) -> None:
        self._json = format == ox.RdfFormat.JSON_LD
        self._lines = format in (ox.RdfFormat.N_TRIPLES, ox.RdfFormat.N_QUADS)
        self._active = format != ox.RdfFormat.RDF_XML  # whose parser has no such buffer
        self._name = name
        self._line: list[bytes] = []  # the line up to here, from where it is outside of a string
        self._length = 0
        self._end = b""  # of the piece before
        self._quote = b""  # of the text whose rest is taken out
        self._rest: list[bytes] = []
        self._half = b""  # an escape, up to the end of a piece
        self._rests: dict[str, str] = {}

    def take(self, piece: bytes) -> bytes:
        """The next piece as the parser is to see it, which may be nothing."""
        if not self._active:
            return piece
        if self._quote:
            return self._take_out(piece)
        if not self._json and not self._lines:
            if b'"""' in self._end + piece or b"'''" in self._end + piece:
                self._active = False  # a new line may stand in a text
                return piece
            self._end = piece[-2:]
        return self._cut_json(piece) if self._json else self._cut(piece)

    def _cut(self, piece: bytes) -> bytes:
        line_end = piece.rfind(b"\n")
        if line_end >= 0:
            self._line, self._length = [piece[line_end + 1 :]], len(piece) - line_end - 1
        else:
            self._line.append(piece)
            self._length += len(piece)
        if self._length < LONG:
            return piece
        line = b"".join(self._line)
        begin = _BEFORE(line).end()  # type: ignore[union-attr]  # it matches always
        if line[begin : begin + 1] not in _INSIDE or len(line) - begin < LONG:
            self._line, self._length = [line[begin:]], 0  # look again when as much has come
            return piece
        return self._cut_at(line[begin : begin + 1], line, begin + 1, len(line) - len(piece))

    def _cut_json(self, piece: bytes) -> bytes:
        before, self._line = b"".join(self._line), [piece]
        self._length = 0 if _QUOTE(piece) else self._length + len(piece)
        if self._length < LONG or not _TEXT(piece) or not (sure := _SURE(before)):
            return piece
        return self._cut_at(b'"', before + piece, sure.end(), len(before))

    def _cut_at(self, quote: bytes, text: bytes, begin: int, new: int) -> bytes:
        """Cut a string, of which the parser has the part before `new`; no escape is open at `begin`."""
        cut = _INSIDE[quote](text, begin, max(new, begin)).end()
        if cut < new:  # in an escape, of at most 12 characters
            cut = _INSIDE[quote](text, cut, cut + 12).end()
        if cut < new:
            return text[new:]  # which is not valid
        self._quote = quote
        self._line, self._length = [], 0
        return text[new:cut] + self._take_out(text[cut:])

    def _take_out(self, piece: bytes) -> bytes:
        text = self._half + piece
        end = _INSIDE[self._quote](text).end()
        self._rest.append(text[:end])
        self._half = text[end:]
        if piece and len(self._half) < 12 and self._half[:1] not in (b"\n", b"\r", self._quote):
            return b""
        after, self._half = self._half, b""
        mark = f"worlds-{secrets.token_hex(16)}-rest"
        self._rests[mark] = self._unescaped(self._quote)
        self._quote = b""
        return mark.encode() + after[:1] + self.take(after[1:])  # the quotation mark, and what follows

    def _unescaped(self, quote: bytes) -> str:
        text = b"".join(self._rest)
        self._rest = []
        try:
            if self._json:
                value: str = json.loads(b'"' + text + b'"')
                value.encode()
                return value
            parts, at = [], 0
            while at < len(text):
                end = _INSIDE[quote](text, at, at + _PART).end()
                (quad,) = ox.parse(b"<a:> <a:> %b%b%b ." % (quote, text[at:end], quote), ox.RdfFormat.TURTLE)
                parts.append(quad.object.value)
                at = end
            return "".join(parts)
        except (SyntaxError, ValueError) as error:
            raise ParseError(f"a long text is not valid: {error}", source=self._name) from error

    def restored(self, quads: Iterable[ox.Quad]) -> Iterator[ox.Quad]:
        """The quads with whole texts. ParseError for a token that is too long, and is no text of a literal."""
        rests = self._rests
        try:
            for quad in quads:
                yield self._whole(quad) if rests else quad
        except MemoryError as error:
            if "buffer" not in str(error):
                raise
            raise self._too_long() from error
        if self._rests or self._quote:
            raise self._too_long()

    def _too_long(self) -> ParseError:
        message = f"a text, an IRI or a comment is longer than {LONGEST:,} bytes, which its parser does not take"
        return ParseError(message, source=self._name)

    def _whole(self, quad: ox.Quad) -> ox.Quad:
        whole = self._term(quad.object)
        return quad if whole is quad.object else ox.Quad(quad.subject, quad.predicate, whole, quad.graph_name)

    def _term(self, term: Any) -> Any:
        if isinstance(term, ox.Triple):
            whole = self._term(term.object)
            return term if whole is term.object else ox.Triple(term.subject, term.predicate, whole)
        if not isinstance(term, ox.Literal):
            return term
        value = term.value
        mark = next((mark for mark in self._rests if value.endswith(mark)), None)
        if mark is None:
            return term
        value = value.removesuffix(mark) + self._rests.pop(mark)
        if term.language is not None:
            return ox.Literal(value, language=term.language, direction=term.direction)
        return ox.Literal(value, datatype=term.datatype)


def parse_all(data: bytes | str, format: ox.RdfFormat, **options: Any) -> list[ox.Quad]:
    """The quads of a document in memory, of texts of any length. SyntaxError as pyoxigraph has it, and ParseError."""
    try:
        return list(ox.parse(data, format, **options))
    except MemoryError:
        given = data.encode() if isinstance(data, str) else data
        texts = LongTexts(format)
        pieces = b"".join(texts.take(given[at : at + _PIECE]) for at in range(0, len(given), _PIECE))
        return list(texts.restored(ox.parse(pieces, format, **options)))


def parse_quads(texts: Iterable[str]) -> list[ox.Quad]:
    """The quads of texts in N-Quads, with blank nodes as they are labelled. ParseError for anything else."""
    found: list[ox.Quad] = []
    for text in texts:
        try:
            data = text.encode("utf-8", "surrogatepass")
            TripleTerms().check(data)
            found += parse_all(data, ox.RdfFormat.N_QUADS)
        except (SyntaxError, ValueError) as error:
            line, column = getattr(error, "lineno", None), getattr(error, "offset", None)
            said = str(getattr(error, "msg", error)).rpartition(": ")[2]
            raise ParseError(said, source="N-Quads", line=line, column=column) from error
    return found
