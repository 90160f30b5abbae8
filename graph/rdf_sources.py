"""Inputs: what a caller hands to `load`, as streams of bytes with a name, a format and a base."""

from __future__ import annotations

import bz2
import glob
import io
import itertools
import os
import re
import stat
import sys
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath, PurePosixPath
from typing import Any, BinaryIO, Protocol, cast
from urllib.parse import urlsplit

import pyoxigraph as ox

from worlds.errors import OpenError, ParseError
from worlds.graph.addresses import response_of
from worlds.graph.formats import EXTENSIONS, FORMATS, find_format
from worlds.graph.rdfxml import in_utf8, undeclared

_CHUNK = 1 << 14
_SLICE = 1 << 12  # a hostile slice of this size decompresses to no more than some hundred MB
_HEAD = 1 << 16  # what sniffing looks at
_HEAD_OF_STREAM = 1 << 20  # a bzip2 block gives nothing before its end, which may be 900 kB away

# Many an .owl or .rdf is Turtle, and .xml and .json are everybody's: here the content decides.
_AMBIGUOUS = frozenset({"rdf", "owl", "xml", "json"})

_URL = re.compile(r"https?://", re.IGNORECASE).match
_Chunks = tuple[Iterator[bytes], Callable[[], object]]  # the bytes, and how to close them


@dataclass(frozen=True)
class Input:
    """One input: `size` is in bytes as stored (compressed), None where unknown.

    One that is `apart` can be read by any process, and as often as need be.
    """

    name: str
    format: str
    base: str | None
    size: int | None
    chunks: Callable[[], _Chunks] = field(repr=False)
    max_unpacked: int | None = None
    apart: bool = False

    def open(self, on_bytes: Callable[[int], object] | None = None) -> BinaryIO:
        """The decompressed bytes, without a byte order mark; the caller closes the stream.

        `on_bytes` is called with the size of each piece taken from the input, before decompression: the
        sum reaches `size`. Reading raises EOFError for a compressed input that breaks off, OSError for
        one that is damaged, ParseError for one that unpacks to more than `max_unpacked` bytes. Raises
        `OpenError` when the input can't be opened: standard input and the like can be opened once.
        """
        try:
            chunks, close = self.chunks()
        except OSError as error:
            raise OpenError(f"{self.name} cannot be opened: {error.strerror or error}") from error
        if on_bytes is not None:
            chunks = _counted(chunks, on_bytes)
        stream = _Stream(_without_bom(self._decompressed(chunks)), close)
        return cast(BinaryIO, io.BufferedReader(stream, 1 << 18))

    def _decompressed(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        head, chunks = _starting(chunks, 4)
        new = next((new for magic, new in _COMPRESSIONS.items() if head.startswith(magic)), None)
        if new is None:
            yield from chunks
            return
        left = self.max_unpacked
        for piece in _members(chunks, new):
            if left is not None and (left := left - len(piece)) < 0:
                message = f"the compressed input unpacks to more than {self.max_unpacked:,} bytes"
                raise ParseError(f"{message}, the limit that is set (max_unpacked)", source=self.name)
            yield piece


def sources(
    source: object,
    *,
    format: str | None = None,
    base: str | None = None,
    allow_network: bool | Collection[str] = False,
    max_unpacked: int | None = None,
) -> Iterator[Input]:
    """The inputs that `source` means, in order; they are opened one by one, as they are asked for.

    `source` is the path of a file, of a folder (every RDF file below it, sorted, hidden ones left out) or a
    glob; `-` for standard input; an http(s) URL; bytes; a file object, binary or text; or a list of these.
    `format` and `base` hold for all of them. Without `format` the extension decides, before .gz, .bz2 or
    .zst, and the content where the extension is missing or ambiguous. Without `base` a file's own IRI, or
    the URL it came from, is its base; bytes and standard input have none. `max_unpacked` bounds the bytes of one that
    is compressed.

    Raises `OpenError` for what is missing, holds no RDF file, or is a URL whose host `allow_network` does not
    name; `ValueError` for a format that is not one; `TypeError` for what can't be an input.
    """
    name = None if format is None else find_format(format).name
    if base is not None:
        _check_base(base)
    for found in _found(source, name, allow_network):
        yield replace(found, base=found.base if base is None else base, max_unpacked=max_unpacked)


def is_local(source: object) -> bool:
    """Whether a source is bytes or no more than a path: to find what it means waits for nobody, and takes nothing."""
    if isinstance(source, str | os.PathLike):
        path = os.fsdecode(source)
        if path == "-" or _URL(path):
            return False
        try:
            mode = Path(path).stat().st_mode
        except (OSError, ValueError):  # none, or a pattern of several
            return True
        return stat.S_ISREG(mode) or stat.S_ISDIR(mode)
    return isinstance(source, bytes | bytearray | memoryview)


def _check_base(base: object) -> None:
    if not isinstance(base, str):
        raise TypeError(f"a base must be a str, not {base!r}")
    try:
        ox.NamedNode(base)
    except ValueError as error:
        raise ValueError(f"the base {base!r} is not an absolute IRI: {error}") from error


def _found(item: object, format: str | None, allow_network: bool | Collection[str]) -> Iterator[Input]:
    if isinstance(item, Input):
        yield item
    elif isinstance(item, list | tuple):
        for part in item:
            yield from _found(part, format, allow_network)
    elif isinstance(item, bytes | bytearray | memoryview):
        yield _of_bytes(bytes(item), format)
    elif isinstance(item, str) and item == "-":
        stdin = sys.stdin
        if stdin is None:
            raise OpenError("there is no standard input")
        yield _of_stream(getattr(stdin, "buffer", stdin), "<stdin>", format)
    elif isinstance(item, str) and _URL(item):
        yield _of_url(item, format, allow_network)
    elif isinstance(item, str | os.PathLike):
        yield from _of_path(os.fsdecode(item), format)
    elif hasattr(item, "read"):
        name = getattr(item, "name", None)
        yield _of_stream(item, name if isinstance(name, str) else f"<{type(item).__name__}>", format)
    else:
        raise TypeError(f"{item!r} is not an input: give a path, a URL, bytes, a file object, or a list of these")


# --- files ----------------------------------------------------------------------------------------------


def _of_path(path: str, format: str | None) -> Iterator[Input]:
    files: list[Path]
    try:
        if not path:
            raise OpenError("'' is not a path")
        if Path(path).is_dir():
            files = [file for file in _files_below(path) if is_rdf(file)]
            if not files:
                raise OpenError(f"{path} holds no RDF file (known: {', '.join('.' + e for e in EXTENSIONS)})")
        elif Path(path).exists() or Path(path).is_symlink():
            files = [Path(path)]
        elif glob.has_magic(path):
            matches = map(Path, sorted(glob.glob(path, recursive=True)))  # noqa: PTH207  # Path's shows hidden files
            files = [file for file in matches if not file.is_dir() and (format or _extension(file))]
            if not files:
                raise OpenError(f"no RDF file matches {path}")
        else:
            hint = "; a text is given as bytes" if re.search(r"[\n<]", path) else ""
            raise OpenError(f"{_shown(path)} does not exist{hint}")
    except (OSError, ValueError) as error:  # too long, or U+0000: no path at all
        raise OpenError(f"{path[:200]!r} is not a path: {error}") from error
    for file in files:
        yield _of_file(file, format)


def _shown(path: str) -> str:
    """The path for a message: as it is, unless one could not see what it is."""
    short = path[:200]
    return short if short.isprintable() and short == short.strip() else repr(short)


def _files_below(folder: str) -> Iterator[Path]:
    def fail(error: OSError) -> None:
        raise OpenError(f"{error.filename} cannot be read: {error.strerror}") from error

    for root, folders, files in os.walk(folder, onerror=fail):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(root, name) for name in sorted(files) if not name.startswith("."))


def is_rdf(path: Path) -> bool:
    """Whether a file found in a folder is meant: .xml and .json only when their content says RDF."""
    extension = _extension(path)
    if extension not in ("xml", "json"):
        return extension is not None
    head = _head(_of_file(path, EXTENSIONS[extension]))
    return b"http://www.w3.org/1999/02/22-rdf-syntax-ns#" in head or re.search(rb'"@[a-z]+"', head) is not None


def _of_file(path: Path, format: str | None) -> Input:
    def chunks() -> _Chunks:
        file = path.open("rb", buffering=0)
        return _pieces(file), file.close

    try:
        if not path.is_file() and path.exists():  # a pipe: `load <(…)`
            return _of_stream(path.open("rb", buffering=0), str(path), format, owned=True)
        size = path.stat().st_size
    except OSError as error:
        raise OpenError(f"{path} cannot be opened: {error.strerror}") from error
    source = Input(str(path), format or "", path.absolute().as_uri(), size, chunks, apart=True)
    return source if format else replace(source, format=_guess(path, lambda: _head(source)))


# --- streams --------------------------------------------------------------------------------------------


def _of_bytes(data: bytes, format: str | None) -> Input:
    source = Input("<bytes>", "", None, len(data), lambda: (_pieces(io.BytesIO(data)), _nothing), apart=True)
    return replace(source, format=format or sniff(_head(source)))


def _of_stream(stream: Any, name: str, format: str | None, *, owned: bool = False) -> Input:
    """A file object from where it stands. One that can't be rewound can be opened once."""
    chunks: Callable[[], _Chunks]
    close = stream.close if owned else _nothing
    try:
        start = stream.tell() if stream.seekable() else None
    except (AttributeError, OSError):
        start = None
    if start is not None:

        def chunks() -> _Chunks:
            stream.seek(start)
            return _pieces(stream), close

    else:
        chunks = _once(_pieces(stream), close)
    source = Input(name, format or "", None, None, chunks)
    return source if format else _sniffed(source, PurePath(name), rewinds=start is not None)


def _of_url(url: str, format: str | None, allow_network: bool | Collection[str]) -> Input:
    from http.client import HTTPException

    accept = ", ".join(media for known in FORMATS.values() for media in known.media_types)
    response = response_of(url, allow_network, f"{accept}, */*;q=0.1")
    size = int(response.headers["Content-Length"] or -1)

    def pieces() -> Iterator[bytes]:
        taken = 0
        try:
            for chunk in _pieces(response):
                taken += len(chunk)
                yield chunk
        except HTTPException as error:
            raise OSError(f"the connection broke after {taken} bytes: {error}") from error
        if taken < size:  # http.client ends such a body without a word
            raise EOFError(f"the connection broke after {taken} of {size} bytes")

    base = response.geturl()
    chunks = _once(pieces(), response.close)
    source = Input(url, format or "", base, None if size < 0 else size, chunks)
    if format:
        return source
    try:
        return replace(source, format=find_format(response.headers.get_content_type()).name)
    except ValueError:  # text/plain, application/xml: says nothing
        return _sniffed(source, PurePosixPath(urlsplit(base).path), rewinds=False)


def _once(chunks: Iterator[bytes], close: Callable[[], object]) -> Callable[[], _Chunks]:
    left = [(chunks, close)]

    def take() -> _Chunks:
        if not left:
            raise OSError("it can be read only once")
        return left.pop()

    return take


def _sniffed(source: Input, path: PurePath, *, rewinds: bool) -> Input:
    """The source with its format; where it can't be rewound, its head is kept and given again."""
    if rewinds:
        return replace(source, format=_guess(path, lambda: _head(source)))
    start: list[bytes] = []

    def head() -> bytes:
        size = 0
        for chunk in chunks:
            start.append(chunk)
            size += len(chunk)
            if size >= _HEAD_OF_STREAM:
                break
        return _head(replace(source, chunks=lambda: (iter(start), _nothing)))

    chunks, close = source.chunks()
    try:
        format = _guess(path, head)
    except (OSError, EOFError, UnicodeError) as error:
        close()
        raise OpenError(f"{source.name} cannot be read: {error}") from error
    return replace(source, format=format, chunks=_once(itertools.chain(start, chunks), close))


def _nothing() -> None:
    """Closes what belongs to the caller: not at all."""


class _Stream(io.RawIOBase):
    """A raw stream of chunks."""

    def __init__(self, chunks: Iterator[bytes], close: Callable[[], object]) -> None:
        self._chunks, self._close, self._rest = chunks, close, memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            rest = next(self._chunks, None)
            if rest is None:
                return 0
            self._rest = memoryview(rest)
        piece = self._rest[: len(buffer)]
        self._rest = self._rest[len(piece) :]
        buffer[: len(piece)] = piece
        return len(piece)

    def close(self) -> None:
        if not self.closed:
            self._close()
        super().close()


def _pieces(stream: Any) -> Iterator[bytes]:
    first = True
    while piece := stream.read(_CHUNK):
        yield (undeclared(piece.encode()) if first else piece.encode()) if isinstance(piece, str) else piece
        first = False


def _counted(chunks: Iterable[bytes], on_bytes: Callable[[int], object]) -> Iterator[bytes]:
    for chunk in chunks:
        on_bytes(len(chunk))
        yield chunk


class _Decompressor(Protocol):
    """The common interface of zlib, bz2 and zstandard."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


def _zstd() -> _Decompressor:
    import zstandard

    return zstandard.ZstdDecompressor().decompressobj()


_COMPRESSIONS: dict[bytes, Callable[[], _Decompressor]] = {
    b"\x1f\x8b": lambda: zlib.decompressobj(wbits=31),
    b"BZh": bz2.BZ2Decompressor,
    b"\x28\xb5\x2f\xfd": _zstd,
    **{bytes([0x50 + i]) + b"\x2a\x4d\x18": _zstd for i in range(16)},  # frames to skip
}


def _starting(chunks: Iterator[bytes], size: int) -> tuple[bytes, Iterator[bytes]]:
    """The first bytes, `size` or more where there are as many, and all of them again."""
    head = b""
    for chunk in chunks:
        head += chunk
        if len(head) >= size:
            break
    return head, itertools.chain([head], chunks)


def _members(chunks: Iterable[bytes], new: Callable[[], _Decompressor]) -> Iterator[bytes]:
    """Decompress members one after the other.

    The libraries' own file objects would do, but zstandard's takes a file that breaks off for a whole one.
    """
    decoder: _Decompressor | None = new()
    for data in (chunk[at : at + _SLICE] for chunk in chunks for at in range(0, len(chunk), _SLICE)):
        while data:
            decoder = decoder or new()
            try:
                plain = decoder.decompress(data)
            except Exception as error:  # each library has its own
                raise OSError(f"the compressed data is damaged: {error}") from error
            yield plain
            if not decoder.eof:
                break
            data, decoder = decoder.unused_data.lstrip(b"\0"), None  # gzip may be padded
    if decoder is not None:
        raise EOFError("the compressed data breaks off")


def _without_bom(chunks: Iterator[bytes]) -> Iterator[bytes]:
    head, chunks = _starting(chunks, 3)
    if head.startswith(b"\xef\xbb\xbf"):
        yield undeclared(next(chunks)[3:])
    yield from chunks


# --- formats --------------------------------------------------------------------------------------------


def _extension(path: PurePath) -> str | None:
    """The extension that says the format, below that of a compression; None if unknown."""
    if path.suffix.lower() in (".gz", ".bz2", ".zst"):
        path = path.with_suffix("")
    extension = path.suffix.lower()[1:]
    return extension if extension in EXTENSIONS else None


def _guess(path: PurePath, head: Callable[[], bytes]) -> str:
    extension = _extension(path)
    if extension is not None and extension not in _AMBIGUOUS:
        return EXTENSIONS[extension]
    start = head()
    if extension is not None and not start.strip():
        return EXTENSIONS[extension]
    return sniff(start)


def _head(source: Input) -> bytes:
    """The first bytes, decompressed; what breaks off or is damaged is reported when it is parsed."""
    head = b""
    with source.open() as stream:
        try:
            while len(head) < _HEAD and (piece := cast(io.BufferedReader, stream).read1(_HEAD)):
                head += piece
        except (OSError, EOFError, UnicodeError):
            pass
    return in_utf8(head)


_JSON = re.compile(rb'\s*(?:\{\s*["}]|\[\s*(?:[{"\[]|\]\s*\Z))')
_XML = re.compile(rb"\s*(?:<\?xml|<!|<[^\s<>]+\s[^<>]*\bxmlns)")
_NODE = rb"(?:<[A-Za-z][A-Za-z0-9+.-]*:[^\s<>]*>|_:\S+)"
_LITERAL = rb'"(?:[^"\\]|\\.)*"(?:@[A-Za-z0-9-]+|\^\^<[^\s<>]+>)?'
_STATEMENT = re.compile(rb"\s*%b\s*<[^\s<>]+>\s*(?:%b|%b)\s*%b?\s*\.\s*(?:#.*)?" % (_NODE, _NODE, _LITERAL, _NODE))


def sniff(head: bytes) -> str:
    """The format that the first bytes of a document look like; "trig", of which Turtle is a part, if none.

    N-Triples is called "nq", of which it is a part: named graphs may come later.
    """
    if _JSON.match(head):
        return "jsonld"
    if _XML.match(head):
        return "rdfxml"
    lines = head.splitlines()
    if len(head) >= _HEAD:
        del lines[-1]  # cut off
    lines = [line for line in lines if line.strip() and not line.lstrip().startswith(b"#")]
    return "nq" if lines and all(map(_STATEMENT.fullmatch, lines)) else "trig"
