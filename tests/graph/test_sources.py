from __future__ import annotations

import bz2
import gzip
import http.server
import io
import os
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard

import worlds
from worlds.errors import OpenError, ParseError
from worlds.graph.formats import FORMATS
from worlds.graph.rdf_sources import Input, sniff, sources

TURTLE = b'@prefix ex: <http://example.org/> .\nex:a ex:b "c" .\n'
XML = b'<?xml version="1.0"?>\n<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"/>'
JSON = b'{"@id": "http://example.org/a", "http://example.org/b": "c"}'
QUADS = b'<http://example.org/a> <http://example.org/b> "c" <http://example.org/g> .\n'

COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "": lambda data: data,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".zst": lambda data: zstandard.ZstdCompressor().compress(data),
}


def only(source: object, **options: Any) -> Input:
    (found,) = sources(source, **options)
    return found


def read(source: Input) -> bytes:
    with source.open() as stream:
        return stream.read()


# --- what is an input


def test_a_file_has_its_path_its_size_and_its_iri(tmp_path: Path) -> None:
    path = tmp_path / "a file é.ttl"
    path.write_bytes(TURTLE)
    for given in (path, str(path)):
        source = only(given)
        assert (source.name, source.format, source.size) == (str(path), "turtle", len(TURTLE))
        assert source.base == path.as_uri()
        assert "%20" in source.base
        assert read(source) == read(source) == TURTLE


def test_a_relative_path_has_an_absolute_base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.ttl").write_bytes(TURTLE)
    assert only("x.ttl").base == (tmp_path / "x.ttl").as_uri()


def test_format_and_base_hold_for_every_input(tmp_path: Path) -> None:
    for name in ("a.ttl", "b.txt"):
        (tmp_path / name).write_bytes(TURTLE)
    found = list(sources([tmp_path / "a.ttl", [tmp_path / "b.txt"]], format="text/turtle", base="http://b/"))
    assert [(source.format, source.base) for source in found] == [("turtle", "http://b/")] * 2


def test_a_folder_is_its_rdf_files_in_order(tmp_path: Path) -> None:
    for name in (
        "b.ttl",
        "a.nq.gz",
        ".hidden.ttl",
        "notes.md",
        "sub/c.TRIG",
        ".git/d.ttl",
        "sub/e.rdf",
        "f.csv",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(XML if name.endswith("rdf") else TURTLE)
    (tmp_path / "package.json").write_text('{"name": "not RDF"}')
    (tmp_path / "data.json").write_bytes(JSON)
    (tmp_path / "pom.xml").write_text('<project xmlns="http://maven.apache.org/POM/4.0.0"/>')
    (tmp_path / "data.xml").write_bytes(XML)
    found = [(str(Path(source.name).relative_to(tmp_path)), source.format) for source in sources(tmp_path)]
    assert found == [
        ("a.nq.gz", "nq"),
        ("b.ttl", "turtle"),
        ("data.json", "jsonld"),
        ("data.xml", "rdfxml"),
        (str(Path("sub/c.TRIG")), "trig"),
        (str(Path("sub/e.rdf")), "rdfxml"),
    ]


def test_a_glob_is_the_rdf_files_it_matches(tmp_path: Path) -> None:
    for name in ("b.ttl", "a.ttl", "c.txt", "sub/deep/d.ttl", "odd[1].ttl"):
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_bytes(TURTLE)

    def names(pattern: str, **options: Any) -> list[str]:
        return [Path(source.name).name for source in sources(str(tmp_path / pattern), **options)]

    assert names("*.ttl") == ["a.ttl", "b.ttl", "odd[1].ttl"]
    assert names("**/*.ttl") == ["a.ttl", "b.ttl", "odd[1].ttl", "d.ttl"]
    assert names("?.*") == ["a.ttl", "b.ttl"]
    assert names("?.*", format="turtle") == ["a.ttl", "b.ttl", "c.txt"]
    assert names("odd[1].ttl") == ["odd[1].ttl"]  # a file's own name comes first


@pytest.mark.parametrize("name", ["missing.ttl", "*.ttl", "empty", "x" * 5000, "a\0b", "<a> <b> <c> ."])
def test_what_is_not_there_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    given = name if name.startswith("<") else str(tmp_path / name)
    with pytest.raises(OpenError) as caught:
        list(sources(given))
    assert name[:20] in str(caught.value) or "\\x00" in str(caught.value)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps links for administrators")
def test_a_link_to_nowhere_is_an_open_error(tmp_path: Path) -> None:
    (tmp_path / "link.ttl").symlink_to(tmp_path / "nowhere")
    with pytest.raises(OpenError, match=r"link\.ttl cannot be opened: No such file"):
        list(sources(tmp_path / "link.ttl"))


def test_a_file_that_goes_away_is_an_open_error(tmp_path: Path) -> None:
    path = tmp_path / "x.ttl"
    path.write_bytes(TURTLE)
    source = only(path)
    path.unlink()
    with pytest.raises(OpenError, match=r"x\.ttl cannot be opened"):
        source.open()


def test_a_text_is_not_a_path_and_the_error_says_so() -> None:
    with pytest.raises(OpenError, match="a text is given as bytes"):
        list(sources("<urn:a> <urn:b> <urn:c> ."))


@pytest.mark.parametrize("bad", [None, 5, {"a": 1}, [3.5]])
def test_other_objects_are_not_inputs(bad: object) -> None:
    with pytest.raises(TypeError, match="not an input"):
        list(sources(bad))


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(ValueError, match="'docx' is not a format: use one of turtle, nt"):
        list(sources(b"", format="docx"))


def test_bytes_have_no_base() -> None:
    for data in (TURTLE, bytearray(TURTLE), memoryview(TURTLE)):
        source = only(data)
        assert (source.name, source.format, source.base, source.size) == (
            "<bytes>",
            "trig",
            None,
            len(TURTLE),
        )
        assert read(source) == read(source) == TURTLE


# --- file objects


def test_a_file_object_is_read_from_where_it_stands_and_stays_open(tmp_path: Path) -> None:
    path = tmp_path / "x.ttl"
    path.write_bytes(b"skipped" + TURTLE)
    with path.open("rb") as file:
        file.seek(7)
        source = only(file)
        assert (source.name, source.format, source.base) == (str(path), "turtle", None)
        assert read(source) == read(source) == TURTLE
        assert not file.closed


@pytest.mark.parametrize("text", ["<urn:a> <urn:b> 'é😀' .\n", ""])
def test_a_text_file_is_encoded(tmp_path: Path, text: str) -> None:
    source = only(io.StringIO(text))
    assert source.name == "<StringIO>"
    assert read(source) == read(source) == text.encode()
    path = tmp_path / "x.txt"
    path.write_text(text, encoding="utf-16")
    with path.open(encoding="utf-16") as file:
        assert read(only(file)) == text.encode()


def test_a_stream_is_opened_once(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb") as out:
        out.write(gzip.compress(JSON, mtime=0))
    with os.fdopen(reading, "rb") as file:
        source = only(file)
        assert (source.format, source.size) == ("jsonld", None)
        assert read(source) == JSON
        with pytest.raises(OpenError, match="only once"):
            source.open()


def test_an_object_with_no_more_than_read_is_a_stream() -> None:
    class Reader:
        def __init__(self) -> None:
            self.read = io.BytesIO(bz2.compress(QUADS)).read

    source = only(Reader())
    assert (source.name, source.format) == ("<Reader>", "nq")
    assert read(source) == QUADS


def test_a_stream_that_fails_is_an_open_error() -> None:
    class Broken:
        name = "tape"

        def read(self, size: int) -> bytes:
            raise OSError("the tape is torn")

    with pytest.raises(OpenError, match="tape cannot be read: the tape is torn"):
        list(sources(Broken()))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no named pipes in folders")
def test_a_named_pipe_is_a_stream(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(XML,))
    writer.start()
    source = only(path)
    assert source.format == "rdfxml"
    assert read(source) == XML
    writer.join()


@pytest.mark.parametrize("data", [TURTLE, gzip.compress(TURTLE, mtime=0)])
def test_a_dash_is_standard_input(data: bytes) -> None:
    code = (
        "from worlds.graph.rdf_sources import sources\n"
        "(source,) = sources('-')\n"
        "print(source.name, source.format, source.base, len(source.open().read()))"
    )
    done = subprocess.run([sys.executable, "-c", code], input=data, capture_output=True, check=True)
    assert done.stdout.decode().split() == ["<stdin>", "trig", "None", str(len(TURTLE))]


def test_standard_input_may_be_a_text_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("<urn:é> <urn:b> 1 ."))
    assert read(only("-", format="turtle")) == "<urn:é> <urn:b> 1 .".encode()


# --- compression


@pytest.mark.parametrize("ending", COMPRESS)
@pytest.mark.parametrize("extension", ["ttl", "nt", "nq", "trig", "n3", "jsonld", "txt"])
def test_compression_is_seen_in_the_bytes(tmp_path: Path, extension: str, ending: str) -> None:
    for name in (f"a.{extension}{ending}", f"b.{extension}"):
        (tmp_path / name).write_bytes(COMPRESS[ending](TURTLE))
        source = only(tmp_path / name)
        assert read(source) == TURTLE
        assert source.format == {"txt": "trig", "ttl": "turtle"}.get(extension, extension)


@pytest.mark.parametrize("ending", COMPRESS)
def test_progress_is_counted_in_stored_bytes(tmp_path: Path, ending: str) -> None:
    data = b"".join(b"<urn:%d> <urn:b> <urn:%d> .\n" % (i, i * i) for i in range(20_000))
    path = tmp_path / f"x.nt{ending}"
    path.write_bytes(COMPRESS[ending](data))
    counts: list[int] = []
    source = only(path)
    with source.open(counts.append) as stream:
        assert stream.read() == data
    assert sum(counts) == source.size == path.stat().st_size
    assert len(counts) > 1


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".zst"])
def test_members_one_after_the_other_are_one_file(ending: str) -> None:
    compress = COMPRESS[ending]
    data = compress(TURTLE) + compress(b"") + compress(TURTLE * 5000) + compress(QUADS)
    assert read(only(data)) == TURTLE + TURTLE * 5000 + QUADS
    assert read(only(compress(TURTLE) + b"\0" * 512)) == TURTLE


def test_zstandard_frames_to_skip_are_skipped() -> None:
    skip = b"\x50\x2a\x4d\x18" + (5).to_bytes(4, "little") + b"12345"
    assert read(only(skip + COMPRESS[".zst"](TURTLE))) == TURTLE


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".zst"])
@pytest.mark.parametrize("cut", [1, 5, 1000])
def test_a_file_that_breaks_off_is_not_taken_for_a_whole_one(ending: str, cut: int) -> None:
    whole = COMPRESS[ending](os.urandom(100_000))
    for data in (whole[:-cut], whole + whole[:-cut]):
        source = only(data, format="nt")
        with source.open() as stream, pytest.raises(EOFError, match="breaks off"):
            stream.read()


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".zst"])
def test_damage_is_an_error(ending: str) -> None:
    whole = bytearray(COMPRESS[ending](os.urandom(100_000)))
    whole[len(whole) // 2] ^= 0xFF
    if ending == ".zst":  # no checksum by default
        whole[4:12] = b"\xff" * 8
    with only(bytes(whole), format="nt").open() as stream, pytest.raises((OSError, EOFError)):
        stream.read()
    garbage = only(COMPRESS[ending](TURTLE) + b"garbage after the end", format="nt")
    with garbage.open() as stream, pytest.raises(OSError, match="damaged"):
        stream.read()


@pytest.mark.parametrize("ending", COMPRESS)
def test_a_byte_order_mark_is_dropped(ending: str) -> None:
    assert read(only(COMPRESS[ending](b"\xef\xbb\xbf" + TURTLE))) == TURTLE
    assert read(only(COMPRESS[ending](b"\xef\xbb\xbf"))) == b""
    assert read(only(COMPRESS[ending](b"\xef\xbb"))) == b"\xef\xbb"


# --- formats


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_goes_by_many_names(name: str) -> None:
    known = FORMATS[name]
    for given in (name, name.upper(), *known.extensions, *known.media_types, *known.aliases):
        assert only(b"", format=given).format == name
        assert only(b"", format=f"{given}; charset=utf-8").format == name
    for extension in known.extensions:
        assert only(b"", format=f".{extension}").format == name


@pytest.mark.parametrize(
    ("content", "format"),
    [
        (JSON, "jsonld"),
        (b"  \n[ {} ]", "jsonld"),
        (b"[]", "jsonld"),
        (b"{}", "jsonld"),
        (b"[] a <urn:C> .", "trig"),
        (b"[ <urn:p> 1 ] a <urn:C> .", "trig"),
        (b"{ <urn:a> <urn:b> <urn:c> }", "trig"),
        (XML, "rdfxml"),
        (b'\n<rdf:RDF\n  xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">', "rdfxml"),
        (b"<!-- a comment --><rdf:RDF>", "rdfxml"),
        (b'<!DOCTYPE rdf:RDF [ <!ENTITY owl "x"> ]>', "rdfxml"),
        (TURTLE, "trig"),
        (b"PREFIX ex: <http://example.org/>\n", "trig"),
        (b"<a> <b> <c> .", "trig"),
        (QUADS, "nq"),
        (b"# a comment\n\n" + QUADS, "nq"),
        (b'_:a <urn:b> "x\\"y"@en-GB . # c\n<urn:a> <urn:b> "1"^^<urn:t>.\n', "nq"),
        (b"<urn:a> <urn:b> <urn:c> .\n<urn:a> <urn:b> 5 .\n", "trig"),
        (b"<urn:a> <urn:b> <urn:c> ;\n <urn:d> <urn:e> .\n", "trig"),
        (b"", "trig"),
        (b"\xff\xfe\x00", "trig"),
    ],
)
def test_a_format_is_seen_in_the_content(content: bytes, format: str) -> None:
    assert sniff(content) == format
    assert only(content).format == format
    assert only(io.BytesIO(COMPRESS[".zst"](content))).format == format


def test_a_long_start_in_ntriples_is_recognised() -> None:
    assert only(b"<urn:a> <urn:b> <urn:c> .\n" * 10_000).format == "nq"


@pytest.mark.parametrize("extension", ["owl", "rdf", "xml", "json"])
@pytest.mark.parametrize(("content", "format"), [(XML, "rdfxml"), (JSON, "jsonld"), (TURTLE, "trig")])
def test_the_content_decides_where_the_extension_is_ambiguous(
    tmp_path: Path, extension: str, content: bytes, format: str
) -> None:
    path = tmp_path / f"x.{extension}.bz2"
    path.write_bytes(bz2.compress(content))
    assert only(path).format == format
    path.write_bytes(b"")
    assert only(path).format == ("jsonld" if extension == "json" else "rdfxml")


# --- the network


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/away":
            self.send_response(302)
            self.send_header("Location", f"http://localhost:{self.headers['Host'].partition(':')[2]}/x.ttl")
            self.end_headers()
        elif self.path == "/missing":
            self.send_error(404)
        else:
            cut = self.path == "/cut.ttl"
            self.send_response(200)
            if self.path == "/typed":
                self.send_header("Content-Type", "text/turtle; charset=utf-8")
                assert "text/turtle" in self.headers["Accept"]
            self.send_header("Content-Length", str(len(TURTLE) + 10 * cut))
            self.end_headers()
            self.wfile.write(TURTLE)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as listening:
        thread = threading.Thread(target=listening.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{listening.server_address[1]}"
        listening.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")


@pytest.mark.parametrize("allow", [False, (), ["example.org"], "example.org", {"127.0.0.1.example.org"}])
def test_a_url_needs_leave(server: str, allow: Any) -> None:
    with pytest.raises(OpenError, match=r"127\.0\.0\.1.*not fetched.*allow_network"):
        list(sources(f"{server}/x.ttl", allow_network=allow))


@pytest.mark.parametrize("allow", [True, ["127.0.0.1"], "127.0.0.1"])
def test_a_url_is_fetched_with_leave(server: str, allow: Any) -> None:
    for path, format in (("x.ttl", "turtle"), ("typed", "turtle"), ("x", "trig")):
        source = only(f"{server}/{path}", allow_network=allow)
        assert (source.format, source.base, source.size) == (format, f"{server}/{path}", len(TURTLE))
        assert read(source) == TURTLE


def test_a_redirect_needs_leave_for_its_target(server: str) -> None:
    with pytest.raises(OpenError, match="localhost"):
        list(sources(f"{server}/away", allow_network=["127.0.0.1"]))
    source = only(f"{server}/away", allow_network=["127.0.0.1", "localhost"], format="turtle")
    assert source.base == f"{server}/x.ttl".replace("127.0.0.1", "localhost")
    assert read(source) == TURTLE


def test_a_url_that_cannot_be_fetched_is_named(server: str) -> None:
    with pytest.raises(OpenError, match=r"/missing cannot be fetched.*404"):
        list(sources(f"{server}/missing", allow_network=True))


def test_a_connection_that_breaks_is_not_taken_for_the_end(server: str) -> None:
    with (
        only(f"{server}/cut.ttl", allow_network=True).open() as stream,
        pytest.raises((OSError, EOFError), match="broke"),
    ):
        stream.read()


@pytest.mark.parametrize(
    "pack",
    [
        lambda: gzip.compress(b"\n" * 300_000_000, 9),
        lambda: bz2.compress(b"\n" * 45_000_000) * 100,
        lambda: zstandard.ZstdCompressor(19).compress(b"\n" * 300_000_000) * 20,
    ],
    ids=["gzip", "bzip2", "zstd"],
)
def test_what_unpacks_without_end_is_refused(pack: Callable[[], bytes]) -> None:
    bomb = pack()
    with worlds.open(embedder=None) as world:
        tracemalloc.start()
        try:
            begin = time.process_time()
            with pytest.raises(ParseError, match="unpacks to more than 1,000,000 bytes"):
                world.load(bomb, format="nq", max_unpacked=1_000_000)
            with pytest.raises(ParseError, match="unpacks to more than 1,000,000 bytes"):
                world.revisions.apply(bomb, max_unpacked=1_000_000)
            assert time.process_time() - begin < 5
            assert tracemalloc.get_traced_memory()[1] < 300_000_000
        finally:
            tracemalloc.stop()
        plain = b"<urn:s> <urn:p> <urn:o> .\n" * 10
        assert world.load(plain, format="nq", max_unpacked=10).added == 1
        assert world.load(gzip.compress(plain), format="nq", max_unpacked=len(plain)).revision is None
