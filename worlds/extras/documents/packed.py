"""Reads DOCX and EPUB: archives of XML, each part of which is read no further than it may unpack to."""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple
from urllib.parse import unquote
from xml.etree import ElementTree as ET

from worlds.errors import ParseError

_MOST = 1 << 26  # bytes that a part may unpack to
_WHOLE = 1 << 28  # bytes of all parts that are read
_MAIN = "http://schemas.openxmlformats.org/"
_STRICT = {  # ISO/IEC 29500-1, as Office writes it if asked
    "{http://purl.oclc.org/ooxml/wordprocessingml/": f"{{{_MAIN}wordprocessingml/2006/",
    "{http://purl.oclc.org/ooxml/officeDocument/": f"{{{_MAIN}officeDocument/2006/",
}
_WORD = f"{{{_MAIN}wordprocessingml/2006/main}}"
_MATH = f"{{{_MAIN}officeDocument/2006/math}}"
_CHOICES = f"{{{_MAIN}markup-compatibility/2006}}AlternateContent"
_GONE = {f"{_WORD}{name}" for name in ("moveFrom", "del", "pPr", "rPr", "instrText", "delText")}
_MARKS = {"tab": " ", "ptab": " ", "br": " ", "cr": " ", "noBreakHyphen": "\u2011", "softHyphen": "\u00ad"}
_MARKS = {f"{_WORD}{name}": mark for name, mark in _MARKS.items()}
# Of mathematics, what stands between the parts of an element: parts that may need brackets, and parts that need none.
_GROUPED = {"f": "/", "sSup": "^", "sSub": "_", "sSubSup": "_", "limLow": "_", "limUpp": "^"}
_GROUPED |= dict.fromkeys(("nary", "rad", "acc"), "")
_LISTED = {"d": "|", "m": "; ", "mr": ", ", "eqArr": "; ", "func": " "}
_BETWEEN = _GROUPED | _LISTED
_TEXTS = (f"{_WORD}t", f"{_MATH}t")
_NOTES = {f"{_WORD}{kind}Reference": kind for kind in ("footnote", "endnote")}
_NOT_READ = re.compile(r"word/((?:comments|header|footer|charts/chart|diagrams/data|embeddings/)[^/]*)$").match
_DC = "{http://purl.org/dc/elements/1.1/}"
_TERMS = "{http://purl.org/dc/terms/}"
_OPF = "{http://www.idpf.org/2007/opf}"
_heading = re.compile(r"(?:heading|berschrift|titre|t[ií]tulo)\s*([1-6])$", re.IGNORECASE).search


class Part(NamedTuple):
    """A piece of a document: a paragraph by its number, from 1, or an item of a book by its name."""

    place: int | str
    text: str


class Unpacked(NamedTuple):
    """The contents of an archive."""

    parts: list[Part]
    title: str | None
    author: str | None
    date: str | None
    language: str | None
    left_out: tuple[str, ...] = ()
    """The parts that could not be read, each with the reason."""


class _Archive:
    """The parts of an archive, with a bound for each and for all."""

    def __init__(self, data: bytes, name: str | None) -> None:
        self.name = name
        self._left = _WHOLE
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
            self.names = self._zip.namelist()
        except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            raise ParseError(f"the file is not an archive: {error}", source=name) from error

    def read(self, part: str) -> bytes:
        try:
            with self._zip.open(part) as stream:
                data = stream.read(min(_MOST, self._left) + 1)
        except Exception as error:  # what zlib, lzma and zipfile raise of a damaged part is many things
            raise ParseError(f"its part {part} cannot be read: {error}", source=self.name) from error
        if len(data) > min(_MOST, self._left):
            raise ParseError(f"its part {part} unpacks to more than it may, {_MOST >> 20} MiB", source=self.name)
        self._left -= len(data)
        return data

    def xml(self, part: str) -> ET.Element:
        data = self.read(part)
        if b"<!DOCTYPE" in data or b"<!ENTITY" in data:
            raise ParseError(f"its part {part} declares entities, which no such file has to", source=self.name)
        try:
            return ET.fromstring(data)
        except (ET.ParseError, ValueError, LookupError) as error:
            raise ParseError(f"its part {part} is not XML: {error}", source=self.name) from error

    def related(self, part: str, kind: str) -> str | None:
        """The part that is to another one, "" being the whole, what a kind says; None where there is none."""
        folder, name = posixpath.split(part)
        listed = posixpath.join(folder, "_rels", f"{name}.rels")
        for one in self.xml(listed) if listed in self.names else ():
            if one.get("Type", "").endswith(f"/{kind}"):
                return posixpath.normpath(posixpath.join("/", folder, unquote(one.get("Target", "")))).lstrip("/")
        return None


def read_docx(data: bytes, name: str | None) -> Unpacked:
    """The paragraphs of a Word document (ECMA-376), as Markdown; ParseError for other files.

    Read is what Word shows: of alternatives one, moved text where it was moved to; notes below their paragraph.
    """
    archive = _Archive(data, name)
    main = archive.related("", "officeDocument") or "word/document.xml"
    root = _transitional(archive.xml(main))
    numbers = {id(one): number for number, one in enumerate(root.iter(f"{_WORD}p"), 1)}
    notes = _Notes(archive, main)
    parts: list[Part] = []
    for paragraph in _paragraphs(root):
        asked: list[tuple[str, str]] = []
        text = "".join(_runs(paragraph, asked)).strip()
        if text:
            parts.append(Part(numbers[id(paragraph)], f"{_level(paragraph)}{text}"))
        told = [(_label(*one), notes.text(*one)) for one in asked]
        parts += [Part(numbers[id(paragraph)], f"[^{label}]: {note}") for label, note in told if note]
    core = archive.xml("docProps/core.xml") if "docProps/core.xml" in archive.names else ET.Element("none")
    unread = sorted(found[1] for one in archive.names if (found := _NOT_READ(one)))
    left_out = [f"its parts {', '.join(unread)} are not read"] if unread else []
    if next(root.iter(f"{_WORD}altChunk"), None) is not None:
        left_out.append("what it imports is not read")
    if fonts := sorted({one.get(f"{_WORD}font", "") for one in root.iter(f"{_WORD}sym")}):
        left_out.append(f"its symbols of the font {', '.join(fonts)} are not read")
    return Unpacked(
        parts,
        core.findtext(f"{_DC}title") or None,
        core.findtext(f"{_DC}creator") or None,
        (core.findtext(f"{_TERMS}modified") or core.findtext(f"{_TERMS}created") or "")[:10] or None,
        core.findtext(f"{_DC}language") or None,
        (*notes.left_out, *left_out),
    )


class _Notes:
    """The footnotes and endnotes of a document, read when the first is asked for."""

    def __init__(self, archive: _Archive, main: str) -> None:
        self._archive, self._main = archive, main
        self._read = cache(self._of)
        self.left_out: list[str] = []

    def text(self, kind: str, number: str) -> str | None:
        """The text of a note, None where it is not there, which is told."""
        found = self._read(kind)
        if number not in found and found.get("") is None:
            self.left_out.append(f"its {kind} {number} is not there")
        return found.get(number)

    def _of(self, kind: str) -> dict[str, str]:
        try:
            part = self._archive.related(self._main, f"{kind}s") or f"word/{kind}s.xml"
            root = _transitional(self._archive.xml(part))
        except ParseError as error:
            self.left_out.append(str(error).removeprefix(f"{self._archive.name}: "))
            return {"": ""}
        return {
            one.get(f"{_WORD}id", ""): " ".join("".join(_runs(each, [])).strip() for each in _paragraphs(one))
            for one in root
        }


def _transitional(root: ET.Element) -> ET.Element:
    """A tree with the names that most documents have."""
    for node in root.iter():
        node.tag = _name(node.tag)
        if any(key.startswith("{http://purl") for key in node.attrib):
            node.attrib = {_name(key): value for key, value in node.attrib.items()}
    return root


def _name(name: str) -> str:
    for strict, known in _STRICT.items():
        if name.startswith(strict):
            return known + name[len(strict) :]
    return name


def _shown(node: ET.Element) -> list[ET.Element]:
    """The elements below one that are shown: of alternatives the first that has a text (ECMA-376 part 3, 10.2.1)."""
    found: list[ET.Element] = []
    for child in node:
        if child.tag == _CHOICES:
            found += [one for one in child if any(part.tag in _TEXTS for part in one.iter())][:1]
        elif child.tag not in _GONE:
            found.append(child)
    return found


def _paragraphs(root: ET.Element) -> Iterator[ET.Element]:
    """The visible paragraphs; the paragraphs of a text box come after the paragraph that holds it."""
    todo = [root]
    while todo:
        node = todo.pop()
        if node.tag == f"{_WORD}p":
            yield node
        todo += reversed(_shown(node))


def _runs(paragraph: ET.Element, notes: list[tuple[str, str]]) -> Iterator[str]:
    """The text of a paragraph alone; the (kind, number) of its notes is noted."""
    todo: list[ET.Element | str] = list(reversed(_shown(paragraph)))
    while todo:
        node = todo.pop()
        if isinstance(node, str):
            yield node
        elif node.tag in _TEXTS:
            yield node.text or ""
        elif node.tag in _MARKS:
            yield _MARKS[node.tag]
        elif node.tag in _NOTES:
            notes.append((_NOTES[node.tag], node.get(f"{_WORD}id", "")))
            yield f"[^{_label(*notes[-1])}]"
        elif node.tag != f"{_WORD}p":
            todo += reversed(_set_out(node) if node.tag.removeprefix(_MATH) in _BETWEEN else _shown(node))


def _label(kind: str, number: str) -> str:
    return number if kind == "footnote" else f"e{number}"


def _set_out(node: ET.Element) -> list[ET.Element | str]:
    """Mathematics in two dimensions as a line has it (ECMA-376 part 1, 22.1): (a+b)/2, √(x+1), ∑_(i=1)^n x."""
    kind = node.tag.removeprefix(_MATH)
    said = {one.tag.removeprefix(_MATH): one.get(f"{_MATH}val", "") for one in node.iterfind(f"{_MATH}{kind}Pr/*")}
    mark = said.get("sepChr", " choose " if said.get("type") == "noBar" else _BETWEEN[kind])
    found: list[ET.Element | str] = [said.get("chr", "∫")] if kind == "nary" else []
    for child in _shown(node):
        told = "".join(one.text or "" for one in child.iter(f"{_MATH}t"))
        if child.tag.endswith("Pr") or (kind in ("rad", "nary") and not told):
            continue
        name = child.tag.removeprefix(_MATH)
        marks = ("", "") if told.isalnum() or kind in _LISTED else ("(", ")")
        begin = {"sub": "_", "sup": "^", "e": " "}[name] if kind == "nary" else mark if found else ""
        found += ["√" if (kind, name) == ("rad", "e") else begin, marks[0], child, marks[1]]
    if kind == "acc":
        found.append(said.get("chr", "\u0302"))
    around = {"d": (said.get("begChr", "("), said.get("endChr", ")")), "m": ("[", "]")}.get(kind, ("", ""))
    return [around[0], *found, around[1]]


def _level(paragraph: ET.Element) -> str:
    """The marks of a heading, "" for a paragraph."""
    style = paragraph.find(f"{_WORD}pPr/{_WORD}pStyle")
    value = "" if style is None else style.get(f"{_WORD}val", "")
    if value.lower() == "title":
        return "# "
    found = _heading(value)
    return f"{'#' * int(found[1])} " if found else ""


def read_epub(data: bytes, name: str | None) -> Unpacked:
    """The items of a book in their order (EPUB 3), as Markdown; ParseError for other files."""
    from worlds.extras.documents.html import HtmlPage, decode_html

    archive = _Archive(data, name)
    container = archive.xml("META-INF/container.xml")
    root = next((one for one in container.iter() if one.tag.endswith("}rootfile")), None)
    path = unquote(root.get("full-path", "")) if root is not None else ""
    package = archive.xml(path)
    items = {one.get("id"): one for one in package.iter(f"{_OPF}item")}
    parts: list[Part] = []
    left_out: list[str] = []
    for reference in package.iter(f"{_OPF}itemref"):
        item = items.get(reference.get("idref"))
        if item is None:
            left_out.append(f"its item {reference.get('idref')!r} is not in the manifest")
            continue
        part = posixpath.normpath(posixpath.join(posixpath.dirname(path), unquote(item.get("href", ""))))
        if "html" not in item.get("media-type", ""):
            left_out.append(f"its part {part} is not a text, but {item.get('media-type')}")
            continue
        try:
            text = HtmlPage(decode_html(archive.read(part))).markdown().strip()
        except ParseError as error:  # reading systems leave it out, too (EPUB 3.3 RS, 3.4)
            left_out.append(str(error).removeprefix(f"{name}: "))
            continue
        if text:
            parts.append(Part(part, text))
    if left_out and not parts:
        raise ParseError("; ".join(left_out), source=name)

    def told(tag: str) -> str | None:
        found = next(package.iter(f"{_DC}{tag}"), None)
        return None if found is None or not (found.text or "").strip() else str(found.text).strip()

    return Unpacked(
        parts, told("title"), told("creator"), (told("date") or "")[:10] or None, told("language"), tuple(left_out)
    )
