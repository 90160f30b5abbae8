"""Reads DOCX and EPUB: archives of XML, each part of which is read no further than it may unpack to."""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import unquote
from xml.etree import ElementTree as ET

from worlds.errors import ParseError

_MOST = 1 << 26  # bytes that a part may unpack to
_WHOLE = 1 << 28  # bytes of all parts that are read
_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_DC = "{http://purl.org/dc/elements/1.1/}"
_TERMS = "{http://purl.org/dc/terms/}"
_OPF = "{http://www.idpf.org/2007/opf}"
_heading = re.compile(r"(?:heading|berschrift|titre|t[ií]tulo)\s*([1-6])$", re.IGNORECASE).search


class Part(NamedTuple):
    """A piece of a document: a paragraph by its number, from 1, or an item of a book by its name."""

    place: int | str
    text: str


class Unpacked(NamedTuple):
    """What an archive says."""

    parts: list[Part]
    title: str | None
    author: str | None
    date: str | None
    language: str | None


class _Archive:
    """The parts of an archive, with a bound for each and for all."""

    def __init__(self, data: bytes, name: str | None) -> None:
        self._name = name
        self._left = _WHOLE
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            raise ParseError(f"the file is no archive: {error}", source=name) from error

    def read(self, part: str) -> bytes:
        try:
            with self._zip.open(part) as stream:
                data = stream.read(min(_MOST, self._left) + 1)
        except Exception as error:  # what zlib, lzma and zipfile raise of a damaged part is many things
            raise ParseError(f"its part {part} cannot be read: {error}", source=self._name) from error
        if len(data) > min(_MOST, self._left):
            raise ParseError(f"its part {part} unpacks to more than it may, {_MOST >> 20} MiB", source=self._name)
        self._left -= len(data)
        return data

    def xml(self, part: str) -> ET.Element:
        data = self.read(part)
        if b"<!DOCTYPE" in data or b"<!ENTITY" in data:
            raise ParseError(f"its part {part} declares entities, which no such file has to", source=self._name)
        try:
            return ET.fromstring(data)
        except (ET.ParseError, ValueError, LookupError) as error:
            raise ParseError(f"its part {part} is not XML: {error}", source=self._name) from error

    def has(self, part: str) -> bool:
        return part in self._zip.namelist()


def read_docx(data: bytes, name: str | None) -> Unpacked:
    """The paragraphs of a Word document (ECMA-376), as Markdown; ParseError for what is none."""
    archive = _Archive(data, name)
    body = archive.xml("word/document.xml").find(f"{_WORD}body")
    parts: list[Part] = []
    if body is not None:
        for number, paragraph in enumerate(body.iter(f"{_WORD}p"), 1):
            text = "".join(_runs(paragraph)).strip()
            if text:
                parts.append(Part(number, f"{_level(paragraph)}{text}"))
    core = archive.xml("docProps/core.xml") if archive.has("docProps/core.xml") else ET.Element("none")
    return Unpacked(
        parts,
        core.findtext(f"{_DC}title") or None,
        core.findtext(f"{_DC}creator") or None,
        (core.findtext(f"{_TERMS}modified") or core.findtext(f"{_TERMS}created") or "")[:10] or None,
        core.findtext(f"{_DC}language") or None,
    )


def _runs(paragraph: ET.Element) -> Iterator[str]:
    for node in paragraph.iter():
        if node.tag == f"{_WORD}t":
            yield node.text or ""
        elif node.tag in (f"{_WORD}tab", f"{_WORD}br", f"{_WORD}cr"):
            yield " "


def _level(paragraph: ET.Element) -> str:
    """The marks of a heading, "" for a paragraph."""
    style = paragraph.find(f"{_WORD}pPr/{_WORD}pStyle")
    value = "" if style is None else style.get(f"{_WORD}val", "")
    if value.lower() == "title":
        return "# "
    found = _heading(value)
    return f"{'#' * int(found[1])} " if found else ""


def read_epub(data: bytes, name: str | None) -> Unpacked:
    """The items of a book in their order (EPUB 3), as Markdown; ParseError for what is none."""
    from worlds.documents.html import Page, decode_html

    archive = _Archive(data, name)
    container = archive.xml("META-INF/container.xml")
    root = next((one for one in container.iter() if one.tag.endswith("}rootfile")), None)
    path = unquote(root.get("full-path", "")) if root is not None else ""
    package = archive.xml(path)
    items = {one.get("id"): one for one in package.iter(f"{_OPF}item")}
    parts: list[Part] = []
    for reference in package.iter(f"{_OPF}itemref"):
        item = items.get(reference.get("idref"))
        if item is None or "html" not in item.get("media-type", ""):
            continue
        part = posixpath.normpath(posixpath.join(posixpath.dirname(path), unquote(item.get("href", ""))))
        text = Page(decode_html(archive.read(part))).markdown().strip()
        if text:
            parts.append(Part(part, text))

    def told(tag: str) -> str | None:
        found = next(package.iter(f"{_DC}{tag}"), None)
        return None if found is None or not (found.text or "").strip() else str(found.text).strip()

    return Unpacked(parts, told("title"), told("creator"), (told("date") or "")[:10] or None, told("language"))
