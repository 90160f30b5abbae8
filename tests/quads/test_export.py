"""What is exported comes back as it was, in every format, and a broken export leaves nothing behind."""

from __future__ import annotations

import bz2
import gzip
import io
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
import zstandard

import worlds
from worlds import OpenError, World
from worlds.graph.formats import FORMATS

EX = "http://example.org/"

DEFAULT = """
    @prefix ex: <http://example.org/> .
    @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
    ex:a a ex:Thing ;
        ex:number 01 , 1 , 1.50 , "0x1"^^ex:hex , "true"^^xsd:boolean , "1"^^xsd:boolean , "1"^^xsd:int ;
        ex:text "1" , "", " ", "tab\\tnewline\\nreturn\\rquote\\"backslash\\\\" , "红色的风筝" , "👩🏽‍🔬" ;
        ex:name "colour"@en-gb , "color"@en-us ;
        ex:knows [ ex:name "nobody" ; ex:knows [ ex:name "no one" ] ] .
    <http://example.org/é?x=1#y> ex:a ex:b .
"""
GRAPHS = """
    ex:g { ex:a ex:number 01 . ex:b ex:number 1 . }
    _:g { ex:a ex:in _:g . }
    ex:h { ex:a ex:number 01 . ex:c ex:text "only here" . ex:a ex:text "again" . }
"""
DIRECTIONS = ' ex:a ex:said "שלום"@he--rtl . '
TRIPLES = ' ex:a ex:said <<( ex:b ex:c <<( ex:d ex:e "f"@en )>> )>> . '
ZERO = ' ex:a ex:text "nul\\u0000byte\\u0001" . '
LEFT_OUT = {  # by each format, of the above
    "rdfxml": {"ZERO"},
    "n3": {"DIRECTIONS", "TRIPLES"},
    "jsonld": {"TRIPLES"},
}


def source(format: str, *, graphs: bool) -> bytes:
    """All that the format can hold."""
    parts = {"DIRECTIONS": DIRECTIONS, "TRIPLES": TRIPLES, "ZERO": ZERO}
    extra = "".join(text for name, text in parts.items() if name not in LEFT_OUT.get(format, set()))
    return (DEFAULT + extra + (GRAPHS if graphs else "")).encode()


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def canonical(quads: Any) -> set[str]:
    """The quads whatever their blank nodes are called."""
    dataset = ox.Dataset(quads)
    dataset.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return set(map(str, dataset))


def content(world: World) -> set[str]:
    out = io.BytesIO()
    world.export(out)
    return canonical(ox.parse(out.getvalue(), ox.RdfFormat.N_QUADS))


@pytest.fixture
def world() -> Iterator[World]:
    with worlds.open(embedder=None) as world:
        yield world


# --- round trips


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_brings_every_quad_back(world: World, tmp_path: Path, format: str) -> None:
    world.load(source(format, graphs=FORMATS[format].graphs), format="trig")
    target = tmp_path / f"out.{FORMATS[format].extensions[0]}"
    assert world.export(target) == len(world) > 20
    expected = canonical(ox.parse(source(format, graphs=FORMATS[format].graphs), ox.RdfFormat.TRIG))
    assert content(world) == expected
    with worlds.open(embedder=None) as other:
        other.load(target)
        assert content(other) == expected
    assert names(tmp_path) == [target.name]


@pytest.mark.parametrize("format", FORMATS)
def test_one_graph_is_exported_as_triples(world: World, tmp_path: Path, format: str) -> None:
    world.load(source("nq", graphs=True), format="trig")
    for graph in (EX + "h", "ex:h"):
        out = io.BytesIO()
        world.bind("ex", EX)
        assert world.export(out, format=format, graph=graph) == 3
        triples = set(ox.parse(out.getvalue(), FORMATS[format].rdf))
        assert {quad.graph_name for quad in triples} == {ox.DefaultGraph()}
        assert {str(quad.object) for quad in triples} >= {'"only here"', '"again"'}
    kept = tmp_path / "kept"
    kept.write_text("as it was")
    world.update(f"DROP GRAPH <{EX}h>")
    for graph in ("http://example.org/none", EX + "h"):
        with pytest.raises(ValueError, match="there is no graph"):
            world.export(kept, format=format, graph=graph)
    assert kept.read_text() == "as it was"


def test_the_default_graph_alone(world: World) -> None:
    world.load((DEFAULT + GRAPHS).encode(), format="trig")
    out = io.BytesIO()
    count = world.export(out, format="ttl", graph="default")
    assert count == len(world) - 6
    assert canonical(ox.parse(out.getvalue(), ox.RdfFormat.TURTLE)) == canonical(ox.parse(DEFAULT, ox.RdfFormat.TURTLE))


def test_a_format_without_graphs_refuses_named_ones(world: World, tmp_path: Path) -> None:
    world.load((DEFAULT + GRAPHS).encode(), format="trig")
    for format in ("turtle", "nt", "rdfxml", "n3"):
        with pytest.raises(ValueError, match=r"named graphs.*option graph"):
            world.export(tmp_path / "out", format=format)
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    ("format", "text", "message"),
    [
        ("jsonld", TRIPLES, "triple terms"),
        ("n3", TRIPLES, "triple terms"),
        ("n3", DIRECTIONS, "direction"),
        ("rdfxml", ZERO, "U\\+0000"),
    ],
)
def test_what_a_format_cannot_hold_is_a_value_error(
    world: World, tmp_path: Path, format: str, text: str, message: str
) -> None:
    world.load((DEFAULT + text).encode(), format="trig")
    target = tmp_path / "out"
    target.write_text("what was there before")
    with pytest.raises(ValueError, match=message):
        world.export(target, format=format)
    assert target.read_text() == "what was there before"
    assert names(tmp_path) == ["out"]


def test_an_empty_world_is_an_empty_file(world: World, tmp_path: Path) -> None:
    for format in FORMATS:
        assert world.export(tmp_path / "out", format=format) == 0
        assert list(ox.parse((tmp_path / "out").read_bytes(), FORMATS[format].rdf)) == []


def test_blocks_of_quads_are_joined_without_a_seam(world: World) -> None:
    """More quads and graphs than are read at a time; Turtle and TriG name each subject and graph once."""
    quads = [ox.Quad(_iri(n % 5000), _iri("p"), ox.Literal(str(n)), _iri("g")) for n in range(22_000)]
    quads += [ox.Quad(_iri(n), _iri("p"), _iri("o"), _iri(f"small{n}")) for n in range(500)]
    quads += [ox.Quad(_iri(n % 5000), _iri("p"), ox.Literal(str(n))) for n in range(21_000)]
    world.load(ox.serialize(quads, format=ox.RdfFormat.N_QUADS), format="nq")
    expected = set(quads)
    for format in ("nq", "trig", "jsonld"):
        out = io.BytesIO()
        assert world.export(out, format=format) == len(quads)
        assert set(ox.parse(out.getvalue(), FORMATS[format].rdf)) == expected
        if format == "trig":
            text = out.getvalue().decode()
            assert text.count("{") == 501
            assert text.count("example:4999 ") == 2  # in the default graph, and in g; loading proposed the prefix
    out = io.BytesIO()
    assert world.export(out, format="turtle", graph=EX + "g") == 22_000
    assert out.getvalue().decode().count("example:4999 ") == 1


def _iri(name: object) -> ox.NamedNode:
    return ox.NamedNode(f"{EX}{name}")


def test_a_transaction_exports_what_it_has_written(world: World) -> None:
    with world.transaction():
        world.add([("urn:a", "urn:b", "urn:c")])
        assert world.export(io.BytesIO()) == 1


def test_prefixes_shorten_what_they_can(world: World) -> None:
    world.load(DEFAULT.encode(), format="trig")
    out = io.BytesIO()
    world.export(out, format="turtle")
    assert b"ex:a a ex:Thing" in out.getvalue() or b"ex:a rdf:type ex:Thing" in out.getvalue()


# --- the file


@pytest.mark.parametrize(
    ("name", "unpack"),
    [
        ("out.nq.gz", gzip.decompress),
        ("OUT.NQ.BZ2", bz2.decompress),
        ("out.nq.zst", lambda data: zstandard.ZstdDecompressor().decompressobj().decompress(data)),
        ("out.gz", gzip.decompress),
        ("out", bytes),
    ],
)
def test_the_name_says_the_format_and_the_compression(
    world: World, tmp_path: Path, name: str, unpack: Callable[[bytes], bytes]
) -> None:
    world.load((DEFAULT + GRAPHS).encode(), format="trig")
    target = tmp_path / name
    count = world.export(str(target))
    assert len(unpack(target.read_bytes()).splitlines()) == count == len(world)
    if target.suffix:
        with worlds.open(embedder=None) as other:
            assert other.load(target, format="nq").added == count


def test_a_format_that_is_named_counts_and_the_compression_stays(world: World, tmp_path: Path) -> None:
    world.load(DEFAULT.encode(), format="turtle")
    world.export(tmp_path / "out.txt.gz", format="text/turtle")
    assert b"@prefix" in gzip.decompress((tmp_path / "out.txt.gz").read_bytes())


def test_unknown_formats_are_refused(world: World, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"out\.dat cannot be told from '\.dat'"):
        world.export(tmp_path / "out.dat")
    with pytest.raises(ValueError, match="'excel' is not a format"):
        world.export(tmp_path / "out.nq", format="excel")
    assert names(tmp_path) == []


def test_a_file_that_was_there_is_replaced_with_its_mode(world: World, tmp_path: Path) -> None:
    target = tmp_path / "out.nt"
    link = tmp_path / "link.nt"
    target.write_text("before")
    target.chmod(0o640)
    link.symlink_to(target)
    world.add([("urn:a", "urn:b", "urn:c")])
    world.export(link)
    assert target.read_text() == "<urn:a> <urn:b> <urn:c> .\n"
    assert target.stat().st_mode & 0o777 == 0o640
    assert link.is_symlink()


def test_the_world_itself_is_never_the_target(path: Path, tmp_path: Path) -> None:
    with worlds.open(path, embedder=None) as world:
        world.add([("urn:a", "urn:b", "urn:c")])
        (tmp_path / "alias").symlink_to(path)
        for target in (path, str(path) + "-wal", str(path) + "-shm", tmp_path / "alias"):
            with pytest.raises(ValueError, match="the world itself"):
                world.export(target, format="nq")
        assert world.check().ok
        assert len(world) == 1


def test_what_cannot_be_written_is_an_open_error(world: World, tmp_path: Path) -> None:
    for target in (tmp_path / "no" / "out.nq", tmp_path):
        with pytest.raises(OpenError, match="cannot be written"):
            world.export(target, format="nq")
    assert names(tmp_path) == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names on this system")
def test_a_pipe_is_written_to_not_replaced(world: World, tmp_path: Path) -> None:
    world.add([("urn:a", "urn:b", "urn:c")])
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    world.export(pipe)
    reader.join()
    assert read == [b"<urn:a> <urn:b> <urn:c> .\n"]
    assert pipe.is_fifo()


class Breaking(io.BytesIO):
    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error

    def write(self, data: Any, /) -> int:
        raise self.error


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_a_stream_that_breaks_raises_its_own_error(world: World, error: BaseException) -> None:
    world.add([("urn:a", "urn:b", "urn:c")])
    with pytest.raises(type(error)):
        world.export(Breaking(error))
    assert world.export(io.BytesIO()) == 1  # the world is as usable as before


CHILD = """
import sys
import worlds
path, target = sys.argv[1:]
with worlds.open(path, embedder=None) as world:
    print("begin", flush=True)
    try:
        while True:
            world.export(target)
    except KeyboardInterrupt:
        print(len(world), flush=True)
"""


def test_ctrl_c_leaves_the_old_file_and_no_other(path: Path, tmp_path: Path) -> None:
    with worlds.open(path, embedder=None) as world:
        world.add([(_iri(n), _iri("p"), ox.Literal(str(n))) for n in range(8_000)])
    folder = tmp_path / "exports"
    folder.mkdir()
    target = folder / "out.ttl.gz"
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(path), str(target)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "begin\n"
    deadline = time.monotonic() + 60
    while not target.exists() and time.monotonic() < deadline:  # the first export is complete
        time.sleep(0.01)
    time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert out == "8000\n", err
    assert names(folder) == [target.name]
    assert len(list(ox.parse(gzip.decompress(target.read_bytes()), ox.RdfFormat.TURTLE))) == 8_000


def test_an_export_is_one_state_whatever_others_write(path: Path) -> None:
    with worlds.open(path, embedder=None) as world:
        world.add([(_iri(n), _iri("p"), ox.Literal(str(n))) for n in range(30_000)])
        script = "import sys, worlds; worlds.open(sys.argv[1], embedder=None).add([('urn:new', 'urn:new', 'urn:new')])"

        class Slow(io.BytesIO):
            written = False

            def write(self, data: Any, /) -> int:
                if not self.written:
                    self.written = True
                    subprocess.run([sys.executable, "-c", script, str(path)], check=True)
                return super().write(data)

        out = Slow()
        assert world.export(out) == 30_000
        assert b"urn:new" not in out.getvalue()
        assert len(world) == 30_001
