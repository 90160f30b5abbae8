"""A document of a source as quads: what it says, where it is, and which documents it links to."""

from __future__ import annotations

import datetime
import json
import posixpath
import re
from collections.abc import Iterator, Mapping
from urllib.parse import quote, unquote, urlsplit

import pyoxigraph as ox

from worlds.core.texts.markdown import blocks
from worlds.core.texts.policy import DOCUMENT, TEXT
from worlds.extras.documents.conversion import DocumentText, document_quads, read_named
from worlds.extras.sources.source_files import ENDINGS, FileState, name_of
from worlds.extras.sources.store import WorldSource
from worlds.graph.terms import RDF, XSD

SCHEMA = "https://schema.org/"
URL, MODIFIED, DIGEST = SCHEMA + "url", SCHEMA + "dateModified", SCHEMA + "sha256"
LINKS = "http://purl.org/dc/terms/references"
CONTENTS = "http://purl.org/dc/terms/tableOfContents"
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_LAST = 253_402_300_799  # seconds: the end of the year 9999, for a file whose time is none
_heading = re.compile(r"(#{1,6})[ \t]++([^\n]*?)(?:[ \t]++#++)?[ \t]*+$").match
_link = re.compile(r"(?<!!)\[[^\]\n]*+\]\(\s*+<?([^()\s<>]++)[^()\n]*+\)")


def quads_of(
    source: WorldSource, state: FileState, data: bytes, digest: str, prefixes: Mapping[str, str]
) -> tuple[list[ox.Quad], DocumentText]:
    """The quads of a source's document, and notes on its reading; ParseError for data that is no text."""
    subject, graph = ox.NamedNode(source.base + state.path), ox.NamedNode(str(source.graph))
    found = read_named(data, name_of(state.path))
    quads = document_quads(
        subject, graph, found, title=None, source=None, date=None, language=source.language,
        predicate=ox.NamedNode(TEXT), type=ox.NamedNode(DOCUMENT), metadata={}, prefixes=prefixes,
    )  # fmt: skip
    modified = _EPOCH + datetime.timedelta(seconds=min(max(state.modified // 1_000_000_000, 0), _LAST))
    values: list[tuple[str, ox.NamedNode | ox.Literal]] = [
        (URL, ox.Literal(state.path, datatype=ox.NamedNode(XSD + "anyURI"))),
        (MODIFIED, ox.Literal(modified.strftime("%Y-%m-%dT%H:%M:%SZ"), datatype=ox.NamedNode(XSD + "dateTime"))),
        (DIGEST, ox.Literal(digest, datatype=ox.NamedNode(XSD + "hexBinary"))),
        *((LINKS, ox.NamedNode(source.base + path)) for path in dict.fromkeys(links(found.text, state.path))),
    ]
    if found.markdown and (told := headings(found.text)):
        text = json.dumps(told, ensure_ascii=False)
        values.append((CONTENTS, ox.Literal(text, datatype=ox.NamedNode(RDF + "JSON"))))
    quads += [ox.Quad(subject, ox.NamedNode(about), value, graph) for about, value in values]
    return quads, found


def headings(text: str) -> list[tuple[int, str]]:
    """The headings of Markdown with `#`, in their order: each with its level, from 1 to 6."""
    if "#" not in text:
        return []
    found = (_heading(text, one.start, one.end) for one in blocks(text)[0] if one.kind == "heading")
    return [(len(match[1]), match[2]) for match in found if match]


def links(text: str, path: str) -> Iterator[str]:
    """The documents that one links to within its folder, by their paths, percent-encoded; there or not."""
    folder = posixpath.dirname(unquote(path))
    for match in _link.finditer(text):
        try:
            parts = urlsplit(match[1])
        except ValueError:
            continue
        target = posixpath.normpath(posixpath.join(folder, unquote(parts.path)))
        if parts.scheme or parts.netloc or not parts.path or target.startswith(("..", "/")):
            continue
        if target.lower().endswith(ENDINGS["documents"]) and quote(target) != path:
            yield quote(target)
