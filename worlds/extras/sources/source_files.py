"""The files of a source, each read no further than it is allowed to be, and the quads of documents."""

from __future__ import annotations

import datetime
import fnmatch
import hashlib
import json
import os
import posixpath
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote, unquote, unquote_to_bytes, urlsplit

import pyoxigraph as ox

from worlds.core.texts.markdown import blocks
from worlds.core.texts.policy import DOCUMENT, TEXT
from worlds.errors import ArgumentError, OpenError
from worlds.extras.documents.conversion import FORMATS, PACKED, DocumentText, document_quads, read_named
from worlds.extras.sources.store import KINDS, Kind, WorldSource
from worlds.extras.sources.tables.rows import ENDINGS as TABLES
from worlds.graph.formats import EXTENSIONS
from worlds.graph.terms import RDF, XSD

ENDINGS: Mapping[Kind, tuple[str, ...]] = {
    "documents": (*(ending for endings in FORMATS.values() for ending in endings), *PACKED),
    "rdf": tuple(f".{ending}" for ending in EXTENSIONS if ending not in ("xml", "json")),
    "tables": TABLES,
}
"""The endings of the files that a source of each kind takes from its folder."""
_COMPRESSED = (".gz", ".bz2", ".zst")
MOST_BYTES = 1 << 28
"""Of one document."""
SCHEMA = "https://schema.org/"
URL, MODIFIED, DIGEST = SCHEMA + "url", SCHEMA + "dateModified", SCHEMA + "sha256"
LINKS = "http://purl.org/dc/terms/references"
CONTENTS = "http://purl.org/dc/terms/tableOfContents"
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_LAST = 253_402_300_799  # seconds: the end of the year 9999, for a file whose time is none
_heading = re.compile(r"(#{1,6})[ \t]++([^\n]*?)(?:[ \t]++#++)?[ \t]*+$").match
_link = re.compile(r"(?<!!)\[[^\]\n]*+\]\(\s*+<?([^()\s<>]++)[^()\n]*+\)")


@dataclass(frozen=True, slots=True)
class FileState:
    """A file as the folder shows it: `path` is from the place, percent-encoded, `modified` in nanoseconds."""

    path: str
    file: Path
    size: int
    modified: int
    outside: bool = False  # a link that leads out of the folder

    @property
    def stamp(self) -> str:
        """Size and time of the file, which change when it does."""
        return f"{self.size} {self.modified}"

    @property
    def shown(self) -> str:
        """The path for people."""
        return unquote(self.path)


def scan(place: str, kind: Kind, patterns: Sequence[str]) -> dict[str, FileState]:
    """Path → file, of the files that a folder has for a kind, hidden ones left out; a file alone is its own.

    `patterns` are globs of names or paths, with ! before one for what is left out. OpenError for a place that cannot be
    read: a folder that is away for a moment must not count as one without files.
    """
    root = Path(place)
    try:
        if not root.is_dir():
            info = root.stat()
            path = quote(os.fsencode(root.name))
            return {path: FileState(path, root, info.st_size, info.st_mtime_ns)}
        within = root.resolve()
    except OSError as error:
        raise OpenError(f"its place cannot be read: {error.strerror or error}") from error
    endings = None if any(not one.startswith("!") for one in patterns) else ENDINGS[kind]
    found: dict[str, FileState] = {}
    for entry in _entries(place):
        shown = os.fsencode(os.path.relpath(entry.path, place)).replace(os.fsencode(os.sep), b"/")
        if not _wanted(os.fsdecode(shown), endings, patterns):
            continue
        try:
            info = entry.stat()
        except OSError:  # gone meanwhile, or a link to nothing
            continue
        if stat.S_ISREG(info.st_mode):
            outside = entry.is_symlink() and not Path(entry.path).resolve().is_relative_to(within)
            path = quote(shown)
            found[path] = FileState(path, Path(entry.path), info.st_size, info.st_mtime_ns, outside)
    return found


def _entries(folder: str) -> Iterator[os.DirEntry[str]]:
    """The files below a folder; links to folders are not followed, which could lead anywhere, and in circles."""
    left = [folder]
    while left:
        try:
            with os.scandir(left.pop()) as entries:
                for entry in entries:
                    if entry.name.startswith("."):
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        left.append(entry.path)
                    else:
                        yield entry
        except OSError as error:
            raise OpenError(f"its folder {Path(error.filename).name} cannot be read: {error.strerror}") from error


def _wanted(path: str, endings: Sequence[str] | None, patterns: Sequence[str]) -> bool:
    name = path.rpartition("/")[2]
    matched = endings is None
    if endings is not None:
        ending = PurePosixPath(name.lower())
        ending = ending.with_suffix("") if ending.suffix in _COMPRESSED else ending
        matched = ending.suffix in endings
    else:
        matched = any(_fits(path, name, one) for one in patterns if not one.startswith("!"))
    return matched and not any(_fits(path, name, one[1:]) for one in patterns if one.startswith("!"))


def _fits(path: str, name: str, pattern: str) -> bool:
    return fnmatch.fnmatchcase(path if "/" in pattern else name, pattern)


def kind_of(place: str, patterns: Sequence[str]) -> Kind:
    """The kind of a folder or a file by its names; ArgumentError where it has files of several, or of none."""
    path = Path(place)
    if path.is_dir():
        less = [one for one in patterns if one.startswith("!")]
        kinds = [kind for kind in KINDS if scan(place, kind, [*(f"*{one}" for one in ENDINGS[kind]), *less])]
    else:
        kinds = [kind for kind in KINDS if _wanted(path.name, ENDINGS[kind], ())]
    if len(kinds) == 1:
        return kinds[0]
    if not kinds and path.is_dir():
        return "documents"  # an empty folder, to be filled
    told = f"has files of several kinds, {' and '.join(kinds)}" if kinds else "is none by its name"
    raise ArgumentError(f"{place} {told}: give the kind, one of {', '.join(KINDS)}")


def read(state: FileState) -> bytes:
    """The bytes of a file; OpenError where it cannot be read, is larger than a document may be, or lies elsewhere."""
    if state.outside:
        raise OpenError(f"{state.shown} is a link that leads out of the folder")
    try:
        with state.file.open("rb") as stream:
            data = stream.read(MOST_BYTES + 1)
    except OSError as error:
        raise OpenError(f"{state.shown} cannot be read: {error.strerror or error}") from error
    if len(data) > MOST_BYTES:
        raise OpenError(f"{state.shown} has more than {MOST_BYTES >> 20} MiB, too much for a document")
    return data


def digest_of(state: FileState) -> str:
    """The SHA-256 of a file, hexadecimal, read piece by piece; OpenError as `read`."""
    if state.outside:
        raise OpenError(f"{state.shown} is a link that leads out of the folder")
    try:
        with state.file.open("rb") as stream:
            return hashlib.file_digest(_Until(stream, state.size), "sha256").hexdigest()
    except OSError as error:
        raise OpenError(f"{state.shown} cannot be read: {error.strerror or error}") from error


class _Until:
    """A stream that ends where the file ended when it was found: one that grows all the time has an end."""

    def __init__(self, stream: Any, size: int) -> None:
        self._stream, self._left = stream, size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)[: self._left]
        count = int(self._stream.readinto(view)) if len(view) else 0
        self._left -= count
        return count


def name_of(path: str) -> str:
    """The name of a file by its percent-encoded path, as text."""
    return unquote_to_bytes(path).decode("utf-8", "replace").rpartition("/")[2]


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
