"""Brings RDF/XML to what pyoxigraph's parser reads, before it does: UTF-8, qualified attributes, absolute bases.

In the stream nothing moves to another line, so that the places of errors are those of the document.
"""

from __future__ import annotations

import codecs
import re
from urllib.parse import urljoin

from worlds.errors import ParseError
from worlds.graph.bounds import Xml
from worlds.graph.formats import escape_xml
from worlds.graph.terms import RDF

_BOMS = ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_STARTS = (*_BOMS, (b"<\0?\0", "utf-16-le"), (b"\0<\0?", "utf-16-be"))
_declared = re.compile(rb"""\s*<\?xml\b[^>]*?(\s+encoding\s*=\s*["']([\w:.+-]+)["'])""").match
_attributes = re.compile(rb"""\s+([^\s=/>]+)\s*=\s*("[^"]*"|'[^']*')""")
_UNQUALIFIED = ("about", "ID", "resource", "parseType", "type")  # RDF/XML 6.1.4
_CONCERNED = frozenset((*_UNQUALIFIED, "xml:base"))
_is_parse_type = re.compile(".+:parseType").fullmatch
_PREFIX = "worlds-rdf"  # where the document has none for it
_TRIPLES = ("Resource", "Collection", "Triple")  # what is in an element of another parseType is a literal
_LONGEST_TAG = 1 << 20


def in_utf8(head: bytes) -> bytes:
    """The beginning of a document in UTF-8, if it is XML in UTF-16."""
    name = next((name for start, name in _STARTS if head.startswith(start)), None)
    return head if name is None else head.decode(name, "ignore").removeprefix("\ufeff").encode()


def undeclared(head: bytes) -> bytes:
    """The beginning of a document that is in UTF-8, without another encoding that its XML declaration names."""
    found = _declared(head)
    return head if found is None else head[: found.start(1)] + head[found.end(1) :]


class RdfXml(Xml):
    """One document, piece by piece; `Xml` lists the refused parts."""

    def __init__(self, name: str | None, base: str | None) -> None:
        super().__init__(name)
        self._decoder: codecs.IncrementalDecoder | None = None
        self._encoding: str | None = None
        self._begun_reading = False
        self._bases: list[tuple[int, str | None]] = [(-1, base)]  # and the depth of what they hold for
        self._literal: int | None = None  # the depth of an element whose content is a literal
        self._held = b""  # from the last tag on, which may not be at its end
        self._at = 0  # where that is, in bytes of the document in UTF-8
        self._prefixes: list[tuple[int, str]] = []  # of RDF's namespace
        self._edits: list[tuple[int, str, str | None]] = []  # where tags begin, the prefix, and their base

    def check(self, data: bytes) -> bytes:
        """The next piece of the document as its parser is to see it, if it may; an empty one is its end.

        The end is asked for until nothing is given any more.
        """
        text = self._decoded(data)
        if not data and self._held:
            text, self._held = self._held, b""
            self._at += len(text)
        elif text or not data:  # not half a character
            super().check(text)
            text = self._edited(text)
        return text

    def _decoded(self, data: bytes) -> bytes:
        if not self._begun_reading:
            self._begun_reading = True
            name = next((name for start, name in _STARTS if data.startswith(start)), None)
            declared = _declared(data)
            if declared and name is None:
                name = declared[2].decode().lower()
            if name is not None:
                self._choose(name, ascii=declared is not None)
        if self._decoder is None:
            return data
        try:
            text = self._decoder.decode(data, not data).removeprefix("\ufeff").encode()
        except UnicodeError as error:
            before = getattr(error, "object", b"")[: getattr(error, "start", 0)].decode(self._encoding or "", "ignore")
            line = self._expat.CurrentLineNumber + before.count("\n")
            raise ParseError(f"the XML is not in {self._encoding}, as it says", source=self._name, line=line) from error
        return undeclared(text)

    def _choose(self, name: str, *, ascii: bool) -> None:
        try:
            self._encoding = codecs.lookup(name).name
            "".encode(name)
        except LookupError as error:  # none, or none of texts
            raise ParseError(f"the XML declares an unknown encoding, {name}", source=self._name) from error
        if ascii and self._encoding.startswith(("utf-16", "utf-32")):
            raise ParseError(f"the XML is not in {self._encoding}, as it says", source=self._name, line=1, column=1)
        if self._encoding != "utf-8":
            self._decoder = codecs.getincrementaldecoder(name)()

    def _begin(self, tag: str, attributes: list[str]) -> None:
        super()._begin(tag, attributes)
        depth = self._begun - len(self._ended)
        while self._bases[-1][0] >= depth:
            self._bases.pop()
        while self._prefixes and self._prefixes[-1][0] >= depth:
            self._prefixes.pop()
        if self._literal is not None and depth <= self._literal:
            self._literal = None
        if not attributes or self._literal is not None:
            return
        names = attributes[::2]
        if RDF in attributes:
            declared = zip(names, attributes[1::2], strict=True)
            self._prefixes += [(depth, name[6:]) for name, iri in declared if iri == RDF and name.startswith("xmlns:")]
        how = next(filter(_is_parse_type, names), "parseType")
        if how == "parseType" and _CONCERNED.isdisjoint(names):
            return
        values = dict(zip(names, attributes[1::2], strict=True))
        if values.get(how, "Resource") not in _TRIPLES:
            self._literal = depth
        base = None
        if (given := values.get("xml:base")) is not None:
            outer = self._bases[-1][1]
            try:
                base = given if outer is None else urljoin(outer, given)
            except ValueError as error:
                self._refuse(f"xml:base is not an IRI: {error}")
            self._bases.append((depth, base))
        if base != given or not values.keys().isdisjoint(_UNQUALIFIED):
            prefix = self._prefixes[-1][1] if self._prefixes else _PREFIX
            self._edits.append((self._expat.CurrentByteIndex, prefix, base))

    def _edited(self, data: bytes) -> bytes:
        data = self._held + data
        done, parts = 0, []
        for begin, prefix, base in self._edits:
            at = begin - self._at
            if at >= done and data[at : at + 1] == b"<":  # else it stands in an entity
                tag = re.compile(rb"<[^\s/>]+").match(data, at)
                assert tag is not None
                parts.append(data[done : tag.end()])
                if prefix == _PREFIX:
                    parts.append(f' xmlns:{prefix}="{RDF}"'.encode())
                done = tag.end()
                while found := _attributes.match(data, done):
                    parts.append(_attribute(found, prefix, base))
                    done = found.end()
        self._edits.clear()
        end = data.rfind(b"<", done)
        if end < 0 or len(data) - end > _LONGEST_TAG:
            end = len(data)
        parts.append(data[done:end])
        self._held = data[end:]
        self._at += end
        return b"".join(parts)


def _attribute(found: re.Match[bytes], prefix: str, base: str | None) -> bytes:
    """An attribute of a tag, qualified and absolute, on as many lines."""
    whole, name = found[0], found[1].decode()
    if name == "xml:base" and base is not None:
        return b'%b xml:base="%b"' % (b"\n" * whole.count(b"\n"), escape_xml(base).encode())
    if name in _UNQUALIFIED:
        at = found.start(1) - found.start()
        return b"%b%b:%b" % (whole[:at], prefix.encode(), whole[at:])
    return whole
