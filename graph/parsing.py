"""Reading RDF: quads, one by one, from a source in any format."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO

import pyoxigraph as ox

from worlds.errors import OpenError, ParseError
from worlds.graph.bounds import bounds
from worlds.graph.formats import FORMATS
from worlds.graph.longtexts import LongTexts
from worlds.graph.rdf_sources import Input
from worlds.graph.rdfxml import RdfXml

_PIECE = 1 << 16


@contextmanager
def parsing(source: Input, *, on_bytes: Callable[[int], object] | None = None) -> Iterator[Parsed]:
    """The quads of a source, streamed: `with parsing(source) as quads: …`.

    Blank nodes keep the labels of the file. Language tags are
    lower-cased; lexical forms are not touched. `on_bytes` is called with each number of bytes taken from
    the source, before decompression.

    Raises `ParseError` from the loop, with the place where the parser stopped, for what is not RDF, not
    UTF-8, or breaks off; `OpenError` when the source can't be opened. JSON-LD has two rules of its own:
    remote contexts are not fetched (`ParseError`), and without a base relative IRIs are dropped, as its
    specification says; every other format refuses them.
    """
    format = FORMATS[source.format]
    with source.open(on_bytes) as stream:
        texts = LongTexts(format.rdf, source.name)
        reader = _ParserStream(stream, source, texts)
        parser = ox.parse(
            reader,  # type: ignore[arg-type]  # read() is all that it needs
            format.rdf,
            base_iri=source.base,
            without_named_graphs=format.name == "n3",  # formulas are quoted, not asserted
        )
        try:
            yield Parsed(parser, texts.restored(parser), reader)
        except SyntaxError as error:
            line, column = error.lineno, error.offset
            if line is None and format.name == "rdfxml":
                line, column = _xml_place(source, reader)
            raise ParseError(_explain(error), source=source.name, line=line, column=column) from error


class Parsed:
    """The quads of a document, once, and at any time the prefixes met so far (RDF/XML gives none)."""

    def __init__(self, parser: ox.QuadParser, quads: Iterator[ox.Quad], reader: _ParserStream) -> None:
        self._parser, self._quads, self._reader = parser, quads, reader

    def __iter__(self) -> Iterator[ox.Quad]:
        return self._quads

    @property
    def prefixes(self) -> dict[str, str]:
        """Prefix → IRI."""
        return self._parser.prefixes

    @property
    def bytes_read(self) -> int:
        """How many bytes of the document, decompressed, have been read so far."""
        return self._reader.read_bytes


class _ParserStream:
    """The stream that the parser reads from; whatever breaks it leaves it as a ParseError.

    Only what `read` raises is translated: an OSError of the caller's loop stays the caller's.
    """

    def __init__(self, stream: BinaryIO, source: Input, texts: LongTexts) -> None:
        self._stream, self._name, self._texts = stream, source.name, texts
        rdfxml = source.format == "rdfxml"
        self._guard = RdfXml(source.name, source.base) if rdfxml else bounds(source.format, source.name)
        self._piece, self._at, self._ended = b"", 0, False
        self.taken = self.last = self.read_bytes = 0

    def read(self, size: int = -1) -> bytes:
        while self._at >= len(self._piece) and not self._ended:  # the parser asks for 2 kB at a time
            try:
                piece = self._stream.read(_PIECE)
            except (OSError, EOFError, UnicodeError) as error:
                raise ParseError(f"the input cannot be read to its end: {error}", source=self._name) from error
            checked = self._guard.check(piece)
            self.read_bytes += len(piece)
            self._piece, self._at = self._texts.take(piece if checked is None else checked), 0
            self._ended = not (piece or checked)
        data = self._piece[self._at : self._at + size] if size >= 0 else self._piece[self._at :]
        self.last = len(data)
        self._at += self.last
        self.taken += self.last
        return data


def _explain(error: SyntaxError) -> str:
    message = re.sub(r"^Parser error [^:]*: ", "", error.msg or "not valid")
    if "LoadDocumentCallback" in message:
        return "it refers to a remote @context, and those are not fetched: write the context into the file"
    if message == "Named graphs are not allowed":
        return "N3 formulas ({…}) are not supported: only plain triples are"
    if message.endswith("No scheme found in an absolute IRI"):
        return f"{message}: the IRI is relative; give a base"
    return message


class _Stepper:
    """Hands out the first `start` bytes as asked, then one at a time; knows the place of the last one."""

    def __init__(self, stream: _ParserStream, start: int) -> None:
        self._stream, self._start = stream, start
        self.line, self.column = 1, 0

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(max(1, min(size, self._start)))
        self._start -= len(data)
        line_end = data.rfind(b"\n")
        if line_end >= 0:
            self.line += data.count(b"\n")
            self.column = 0
        # Characters, not bytes: all bytes but those that continue a character.
        self.column += len(data[line_end + 1 :].translate(None, bytes(range(0x80, 0xC0))))
        return data


def _xml_place(source: Input, failed: _ParserStream) -> tuple[int | None, int | None]:
    """Where RDF/XML broke: pyoxigraph doesn't say, so the part it read last is parsed again byte by byte."""
    try:
        with source.open() as stream:
            reader = _ParserStream(stream, source, LongTexts(ox.RdfFormat.RDF_XML))
            stepper = _Stepper(reader, failed.taken - failed.last)
            parser = ox.parse(stepper, ox.RdfFormat.RDF_XML, base_iri=source.base)  # type: ignore[arg-type]
            try:
                for _ in parser:
                    pass
            except SyntaxError:
                return stepper.line, max(stepper.column, 1)
    except (OpenError, OSError, ParseError):  # a stream that can be read only once, or is not well-formed
        pass
    return None, None
