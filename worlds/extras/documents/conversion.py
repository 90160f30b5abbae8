"""Makes quads of a document: its text, its title, source and date, from Markdown, HTML or plain text."""

from __future__ import annotations

import codecs
import contextlib
import datetime
import itertools
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

import pyoxigraph as ox

from worlds.core.texts.markdown import MARKDOWN, blocks
from worlds.errors import OpenError, ParseError
from worlds.graph.terms import RDF, XSD, to_object
from worlds.sql import statements

Format: TypeAlias = Literal["markdown", "text", "html"]

FORMATS: Mapping[Format, tuple[str, ...]] = {
    "markdown": (".md", ".markdown", ".mdown", ".mkd"),
    "text": (".txt", ".text"),
    "html": (".html", ".htm", ".xhtml"),
}
"""Format → the endings of its files' names."""
PACKED = (".pdf", ".docx", ".epub")
"""The endings of documents that are no text files."""


def is_document(path: str) -> bool:
    """Whether a file is a document by its name, and can be nothing else, as a text and a page of the web can."""
    return path.lower().endswith((*FORMATS["markdown"], *PACKED))


_TERMS = "http://purl.org/dc/terms/"
_KEYWORDS = "https://schema.org/keywords"
_SQL = statements("queries.sql")
_TITLE_CHARS = 1000  # no heading is a title beyond it

_is_html = re.compile(
    r"\s*+(?:<!--(?>.*?-->)\s*+|<\?xml\b[^>]*+>\s*+)*+<(?:!doctype\s+html|html|head|body)\b", re.I | re.S
).match
_front_matter = re.compile(r"---[ \t]*\n(.{0,100000}?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE).match
_begins_entry = re.compile(r"(?:[^\S\n]*+(?:#.*+)?\n)*+[A-Za-z_][\w .-]*:(?:\s|\Z)").match
_date = re.compile(
    r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[T ](\d\d:\d\d)(:\d\d(?:\.\d+)?)?[ ]?(Z|[+-]\d\d:\d\d)?)?)?)?"
).fullmatch
_link = re.compile(r"!?\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])").sub
_marks = re.compile(r"\\([!-/:-@\[-`{-~])|[*`]+|(?<!\w)_+|_+(?!\w)").sub


@dataclass(frozen=True)
class DocumentText:
    """The text of a document and its own metadata; None or empty where it has none."""

    text: str
    markdown: bool
    title: str | None = None
    source: str | None = None
    date: str | None = None
    language: str | None = None
    author: tuple[str, ...] = ()
    description: str | None = None
    keywords: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    places: Mapping[str, Any] = field(default_factory=dict)
    """Where its parts stand: "offset", the characters of the file before the text; or "starts", those in the text at
    which the "parts" begin, which are "page" or "paragraph" numbers or names of an "item"."""


def read_document(content: object, format: str | None) -> DocumentText:
    """Read a document: a str is its text, a path its file; bytes and file objects are read."""
    given, name = _content(content)
    return read_named(given, name, format)


def read_named(given: str | bytes, name: str | None, format: str | None = None) -> DocumentText:
    """Read a document that a file of this name has."""
    if format is not None and format not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}, not {format!r}")
    if format is None and isinstance(given, bytes) and Path(name or "").suffix.lower() in PACKED:
        return _read_packed(given, name or "")
    chosen = format or _format_of(name) or ("html" if _looks_like_html(given) else None)
    text = _decoded(given, name, html=chosen == "html").removeprefix("\ufeff")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if chosen == "html":
        found = _read_html(text)
    elif chosen == "text":
        found = DocumentText(text, markdown=False, places={"offset": 0})
    else:
        found = _read_markdown(text, name, told=chosen is not None)
    if found.title is None and name is not None:
        return replace(found, title=Path(name).stem)
    return found


# --- what is given ----------------------------------------------------------------------------------------------------


def _content(content: object) -> tuple[str | bytes, str | None]:
    """The text or its bytes, and the file's name."""
    if isinstance(content, str):
        return str(content), None
    if isinstance(content, bytes | bytearray | memoryview):
        return bytes(content), None
    if isinstance(content, os.PathLike):
        path = Path(os.fsdecode(content))
        try:
            return path.read_bytes(), path.name
        except OSError as error:
            raise OpenError(f"{path} cannot be read: {error.strerror or error}") from error
    if hasattr(content, "read"):
        name = getattr(content, "name", None)
        given = content.read()
        if isinstance(given, str | bytes):
            return given, Path(name).name if isinstance(name, str) else None
    raise TypeError(f"a document must be a str (its text), a path, bytes or a file object, not {content!r:.80}")


def _format_of(name: str | None) -> Format | None:
    ending = Path(name or "").suffix.lower()
    return next((format for format, endings in FORMATS.items() if ending in endings), None)


def _looks_like_html(given: str | bytes) -> bool:
    return _is_html(given[:4096].decode("latin-1") if isinstance(given, bytes) else given[:4096]) is not None


def _decoded(given: str | bytes, name: str | None, *, html: bool) -> str:
    if isinstance(given, str):
        return given
    if html:
        from worlds.extras.documents.html import decode_html

        return decode_html(given)
    try:
        if given.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return given.decode("utf-16")
        return given.decode()
    except UnicodeDecodeError as error:
        line = given.count(b"\n", 0, error.start) + 1
        raise ParseError("the text is not in UTF-8", source=name, line=line) from error


# --- what is packed ---------------------------------------------------------------------------------------------------


def _read_packed(data: bytes, name: str) -> DocumentText:
    """Read a PDF, a DOCX or an EPUB; ParseError."""
    ending = Path(name).suffix.lower()
    if ending == ".pdf":
        from worlds.extras.documents.pdf import read_pdf

        told = read_pdf(data, name)
        pages = [(number, text.strip()) for number, text in enumerate(told["pages"], 1) if text.strip()]
        text, starts = _joined([text for _, text in pages])
        places = {"part": "page", "parts": [number for number, _ in pages], "starts": starts}
        return DocumentText(
            text,
            markdown=False,
            title=told["title"] or Path(name).stem,
            date=told["date"],
            author=(told["author"],) if told["author"] else (),
            left_out=tuple(f"pages {_ranges(numbers)} {why}" for why, numbers in told["unread"].items()),
            places=places,
        )
    from worlds.extras.documents.packed import read_docx, read_epub

    unpacked = (read_docx if ending == ".docx" else read_epub)(data, name)
    text, starts = _joined([part.text for part in unpacked.parts])
    kind = "paragraph" if ending == ".docx" else "item"
    return DocumentText(
        text,
        markdown=True,
        title=unpacked.title or _first_heading(text) or Path(name).stem,
        date=unpacked.date,
        language=unpacked.language,
        author=(unpacked.author,) if unpacked.author else (),
        left_out=unpacked.left_out,
        places={"part": kind, "parts": [part.place for part in unpacked.parts], "starts": starts},
    )


def _ranges(numbers: Sequence[int]) -> str:
    """Ascending numbers for people: "2, 4-7"."""
    told: list[list[int]] = []
    for number in numbers:
        if told and told[-1][-1] == number - 1:
            told[-1][1:] = [number]
        else:
            told.append([number])
    return ", ".join("-".join(map(str, one)) for one in told)


def _joined(texts: Sequence[str]) -> tuple[str, list[int]]:
    """Texts with an empty line between them, and where each begins."""
    lengths = [len(text) + 2 for text in texts]
    return "\n\n".join(texts), list(itertools.accumulate(lengths[:-1], initial=0)) if lengths else []


# --- HTML -------------------------------------------------------------------------------------------------------------


def _read_html(text: str) -> DocumentText:
    from worlds.extras.documents.html import HtmlPage

    page = HtmlPage(text)

    def meta(*names: str) -> str | None:
        found = (page.attribute(f'meta[{key}="{name}" i]', "content") for name in names for key in ("name", "property"))
        return next(filter(None, found), None)

    body = page.markdown()
    author = meta("author")
    source = page.attribute('link[rel~="canonical" i]', "href")
    return DocumentText(
        body,
        markdown=True,
        title=page.title() or _first_heading(body),
        source=source if source and source.lower().startswith(("http://", "https://")) else None,
        date=meta("article:published_time", "dcterms.date", "dcterms.issued", "dc.date", "date"),
        language=page.attribute("html", "lang"),
        author=(author,) if author else (),
        description=meta("description", "dcterms.description", "dc.description"),
        keywords=tuple(filter(None, (word.strip() for word in (meta("keywords") or "").split(",")))),
    )


# --- Markdown ---------------------------------------------------------------------------------------------------------


def _read_markdown(text: str, name: str | None, *, told: bool) -> DocumentText:
    """Read a text as Markdown if it is `told` to be, or has front matter or a heading."""
    entries, body = _split(text, name)
    title = _first_heading(body)
    if not told and entries is None and title is None:
        return DocumentText(text, markdown=False, places={"offset": 0})
    values = entries or {}

    def one(*names: str) -> str | None:
        return next((values[name][0] for name in names if values.get(name)), None)

    return DocumentText(
        body,
        markdown=True,
        title=one("title") or title,
        source=one("source", "url", "canonical_url"),
        date=one("date", "published", "created"),
        language=one("lang", "language"),
        author=tuple(values.get("author") or values.get("authors") or ()),
        description=one("description", "summary", "abstract"),
        keywords=tuple(values.get("tags") or values.get("keywords") or ()),
        places={"offset": len(text) - len(body)},
    )


def _split(text: str, name: str | None) -> tuple[dict[str, list[str]] | None, str]:
    """The entries of the front matter, None where there is none, and the text after it.

    ParseError, with line and column, for entries that are not YAML.
    """
    matter = _front_matter(text)
    if matter is None:
        return None, text
    import yaml  # slow to import, and seldom needed

    try:
        # Nodes hold the texts as they are written: no date loses its zone, no word turns into true or false, no alias
        # is multiplied, and no tag makes an object.
        root = yaml.compose(matter[1], yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError) as error:
        if not _begins_entry(matter[1]):  # a rule, and some text between it and another
            return None, text
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "nested too deep"
        place = {} if mark is None else {"line": mark.line + 2, "column": mark.column + 1}
        raise ParseError(f"the front matter is not YAML: {problem}", source=name, **place) from error
    if root is not None and not isinstance(root, yaml.MappingNode):
        return None, text
    entries: dict[str, list[str]] = {}
    for key, value in root.value if root is not None else ():
        if isinstance(key, yaml.ScalarNode):
            nodes = value.value if isinstance(value, yaml.SequenceNode) else [value]
            entries.setdefault(key.value.lower(), []).extend(
                node.value.strip()
                for node in nodes
                if isinstance(node, yaml.ScalarNode) and node.value.strip() and node.tag != "tag:yaml.org,2002:null"
            )
    return entries, text[matter.end() :].lstrip("\n")


def _first_heading(text: str) -> str | None:
    for block in blocks(text)[0]:
        if block.kind == "heading":
            line = " ".join(text[block.start : block.end][:_TITLE_CHARS].split())
            line = re.sub(r"^#{1,6}(?: |$)|(?:^| )#+$| (?:=+|-+)$", "", line)
            return _marks(r"\1", _link(r"\1", line)).strip() or None
    return None


# --- quads ------------------------------------------------------------------------------------------------------------


def document_quads(
    subject: ox.NamedNode,
    graph: Any,
    found: DocumentText,
    *,
    title: str | None,
    source: object,
    date: object,
    language: str | None,
    predicate: ox.NamedNode,
    type: ox.NamedNode | None,
    metadata: Mapping[object, object],
    prefixes: Mapping[str, str],
) -> list[ox.Quad]:
    """The quads of a document; given values take precedence over its own metadata."""
    tag = _language(language, found.language)
    values: list[tuple[ox.NamedNode, Any]] = []
    if type is not None:
        values.append((ox.NamedNode(RDF + "type"), type))
    if found.markdown and tag is None:
        values.append((predicate, ox.Literal(_storable(found.text), datatype=ox.NamedNode(MARKDOWN))))
    else:
        values.append((predicate, _text(found.text, tag)))
    words = {
        "title": [title if title is not None else found.title],
        "creator": found.author,
        "description": [found.description],
    }
    for name, texts in words.items():
        values += [
            (ox.NamedNode(_TERMS + name), _text(text, None if name == "creator" else tag)) for text in texts if text
        ]
    values += [(ox.NamedNode(_KEYWORDS), _text(word, tag)) for word in found.keywords if word]
    if (source := source if source is not None else found.source) is not None:
        values.append((ox.NamedNode(_TERMS + "source"), _source(source, prefixes)))
    if date is not None:
        values.append((ox.NamedNode(_TERMS + "date"), _date_term(date)))
    elif found.date is not None:
        term = ox.Literal(_storable(found.date))
        with contextlib.suppress(ValueError):  # what is no date is kept as it is
            term = _date_term(found.date)
        values.append((ox.NamedNode(_TERMS + "date"), term))
    if tag is not None:
        values.append((ox.NamedNode(_TERMS + "language"), ox.Literal(tag, datatype=ox.NamedNode(XSD + "language"))))
    for key, given in metadata.items():
        about = to_object(key, prefixes=prefixes)
        if not isinstance(about, ox.NamedNode):
            raise ValueError(f"metadata maps predicates to values; a predicate must be an IRI, not {key!r}")
        several = given if isinstance(given, list | tuple | set | frozenset) else [given]
        values += [(about, to_object(value, prefixes=prefixes)) for value in several]
    return [ox.Quad(subject, about, value, graph) for about, value in dict.fromkeys(values)]


def _storable(text: str) -> str:
    """The text without lone surrogates, which no RDF literal can hold."""
    return text.encode("utf-8", "replace").decode()


def _text(text: str, tag: str | None) -> ox.Literal:
    return ox.Literal(_storable(text)) if tag is None else ox.Literal(_storable(text), language=tag)


def check_language(tag: str) -> str | None:
    """A language tag in the form of literals; ValueError for a malformed one."""
    try:
        return ox.Literal("", language=tag).language
    except ValueError as error:
        raise ValueError(f"{tag!r} is not a language tag: {error}") from error


def _language(given: str | None, found: str | None) -> str | None:
    if given is not None:
        return check_language(given)
    with contextlib.suppress(ValueError):
        return ox.Literal("", language=found.strip().replace("_", "-")).language if found else None
    return None


def _source(source: object, prefixes: Mapping[str, str]) -> Any:
    """A source is an IRI, or else words."""
    if isinstance(source, os.PathLike):
        return ox.Literal(os.fsdecode(source))
    try:
        return to_object(source, prefixes=prefixes)
    except ValueError:
        return ox.Literal(_storable(str(source)))


def _date_term(date: object) -> ox.Literal:
    """A year, a month, a day or a time as xsd:gYear, gYearMonth, date or dateTime."""
    if type(date) is not str:
        term = to_object(date)
        if isinstance(term, ox.Literal):
            return term
        raise ValueError(f"a date must be a str, a date, a datetime or a literal, not {date!r}")
    found = _date(date.strip())
    if found is None:
        raise ValueError(
            f"a date must be YYYY, YYYY-MM, YYYY-MM-DD or YYYY-MM-DDThh:mm:ss with or without a zone, not {date!r}"
        )
    year, month, day, time, seconds, zone = found.groups()
    datetime.date(int(year), int(month or 1), int(day or 1))
    if time is not None:
        datetime.time.fromisoformat(time + (seconds or ""))
        text, kind = f"{year}-{month}-{day}T{time}{seconds or ':00'}{zone or ''}", "dateTime"
    else:
        text = "-".join(filter(None, (year, month, day)))
        kind = "date" if day else "gYearMonth" if month else "gYear"
    return ox.Literal(text, datatype=ox.NamedNode(XSD + kind))
