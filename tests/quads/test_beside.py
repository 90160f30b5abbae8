"""Documents that are parsed in a process of their own come to the same as those that are parsed here."""

from __future__ import annotations

import bz2
import gzip
import io
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import worlds
from tests.support.seams import parse_beside_from, read_in_small_blocks
from worlds import ParseError, World, WorldsError
from worlds.graph.formats import FORMATS
from worlds.records import ChunkSize, TextPolicy

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or len(os.sched_getaffinity(0)) < 2, reason="needs Linux and two cores"
)
ROOT = Path(__file__).resolve().parents[2]

GRAPHS = """
@prefix ex: <http://example.org/> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
ex:a ex:label "a red kite", "01"^^xsd:integer, "1"^^xsd:integer, "été"@fr, "a red kite"@en ;
    ex:knows _:b, [ ex:p _:b ] .
_:b ex:label "some words of a blank node" ; ex:about <<( ex:a ex:label "a triple term" )>>, ex:a .
ex:g { ex:a ex:label "in a graph" . _:b ex:in ex:g . }
_:g { ex:a ex:label "in a graph of a blank node" }
"""
TRIPLES = GRAPHS[: GRAPHS.index("ex:g {")].replace('<<( ex:a ex:label "a triple term" )>>, ', "")


def tables(path: Path) -> dict[str, list[Any]]:
    database = sqlite3.connect(path)
    try:
        return {
            "terms": database.execute("SELECT * FROM terms").fetchall(),
            "quads": database.execute("SELECT * FROM quads").fetchall(),
            "chunks": database.execute("SELECT term, start, end, text, segmented FROM chunks ORDER BY 1, 2").fetchall(),
            "prefixes": database.execute("SELECT * FROM prefixes").fetchall(),
        }
    finally:
        database.close()


Load = Callable[[World], object]


@pytest.fixture
def both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Load], dict[str, list[Any]]]:
    """Does the same in two worlds, in the second with a process beside; gives their tables, which are the same."""

    def load(work: Load) -> dict[str, list[Any]]:
        found = []
        read_in_small_blocks(monkeypatch, 2)
        for number, size in enumerate((1 << 60, 1)):
            parse_beside_from(monkeypatch, size)
            path = tmp_path / f"{number}-{time.monotonic_ns()}.db"
            with worlds.open(path, embedder=None) as world:
                work(world)
                assert world.check().ok
            found.append(tables(path))
        assert found[0] == found[1]
        return found[0]

    return load


@pytest.mark.parametrize("format", FORMATS)
def test_every_format(format: str, both: Callable[[Load], dict[str, list[Any]]], tmp_path: Path) -> None:
    file = tmp_path / f"data.{FORMATS[format].extensions[0]}"
    with worlds.open(":memory:", embedder=None) as made:
        made.load(
            (GRAPHS if format in ("nq", "trig") else TRIPLES).encode(),
            format="trig",
        )
        made.export(file, format=format)
    found = both(lambda world: world.load(file))
    assert len(found["quads"]) >= 9
    assert any("red kite" in str(row) for row in found["terms"])


def test_several_files_with_their_own_blank_nodes(both: Callable[[Load], dict[str, list[Any]]], tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "a.trig").write_text(GRAPHS)
    (folder / "b.trig.gz").write_bytes(gzip.compress(GRAPHS.encode()))
    (folder / "c.trig.bz2").write_bytes(bz2.compress(GRAPHS.replace("kite", "hawk").encode()))
    text = TRIPLES.encode()
    sources: list[Any] = [folder, folder / "a.trig", text]

    def work(world: World) -> None:
        world.load(sources, graph="http://example.org/all")
        world.load([*sources, b"<a> <b> <http://example.org/a> ."], base="http://example.org/")
        world.load(folder / "c.trig.bz2", mode="replace")
        world.load(text, graph="http://example.org/all", mode="replace", format="turtle")

    assert {row[0] for row in both(work)["prefixes"]} >= {"ex", "xsd"}


def test_terms_of_what_came_before_and_after(both: Callable[[Load], dict[str, list[Any]]]) -> None:
    known = b'<http://e/a> <http://e/p> "the same"@en, "the same" . <http://e/a> <http://e/p> _:x .'

    def work(world: World) -> None:
        world.load([io.BytesIO(known), known, io.BytesIO(known + b"<http://e/new> <http://e/p> <http://e/a> .")])
        world.load([known, io.BytesIO(known)])

    found = both(work)
    values = [row[1:5] for row in found["terms"] if row[1] != 2]
    assert len(values) == len(set(values)) == 5


SHAPES = """
@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix ex: <http://example.org/> .
<urn:worlds:shapes> { ex:shape a sh:NodeShape ; sh:description "a text of the shapes alone", "a red kite" }
ex:code { ex:a ex:code "an excluded text, long enough to be cut in two, if the size is small",
    "a red kite" ; ex:note "one"^^ex:odd, "two" . }
"""


@pytest.mark.parametrize(
    "policy",
    [
        {},
        {"exclude": ["http://example.org/code"]},
        {"include": ["http://example.org/note"], "exclude": ["http://example.org/label"]},
        {"size": ChunkSize(60, 10), "sizes": {"http://example.org/code": ChunkSize(50, 0)}},
        {"profiles": True},
    ],
    ids=str,
)
def test_texts_are_cut_by_the_policy(policy: dict[str, Any], both: Callable[[Load], dict[str, list[Any]]]) -> None:
    def work(world: World) -> None:
        world.policy = TextPolicy(**policy)
        world.load(SHAPES.encode(), format="trig", dry_run=True)
        with world.transaction():
            made = world.load(SHAPES.encode(), format="trig")
            assert made.chunks > 0
            with pytest.raises(ParseError):
                world.load(GRAPHS.encode() + b"oops", format="trig")
            world.update("DELETE { ?s ?p 'a red kite' } WHERE { ?s ?p 'a red kite' }")
            world.load([SHAPES.encode(), GRAPHS.encode()], format="trig")
            world.load(SHAPES.encode(), format="trig")
        world.load(GRAPHS.replace("kite", "hawk").encode(), format="trig", mode="replace")
        assert [hit.text for hit in world.search("hawk", mode="text")] or "exclude" in policy

    both(work)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"<http://e/a> <http://e/b> 1 .\n<http://e/a> oops .\n", "line 2, column"),
        (b"<http://e/a> <http://e/b> " + b"<<( <http://e/a> <http://e/b> " * 1200 + b"1", "nested deeper"),
        (b"\x1f\x8b" + gzip.compress(b"x")[2:-4], "breaks off"),
        (gzip.compress(b"<http://e/a> <http://e/b> 1 .\n" * 9999), "max_unpacked"),
    ],
    ids=["no Turtle", "nested", "cut off", "too much"],
)
def test_errors_are_the_same(text: bytes, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = []
    for size in (1 << 60, 1):
        parse_beside_from(monkeypatch, size)
        with worlds.open(tmp_path / f"{size}.db", embedder=None) as world:
            with pytest.raises(ParseError) as caught:
                world.load(text, format="turtle", max_unpacked=10_000)
            error = caught.value
            told.append((str(error), error.source, error.line, error.column, error.kind))
            assert world.stats().quads == 0
            assert not children()
    assert told[0] == told[1]
    assert message in told[0][0]


def children() -> list[int]:
    """The processes that were forked of this one; other tests may have left some that were started."""
    found = [int(number) for file in Path("/proc/self/task").glob("*/children") for number in file.read_text().split()]
    return [number for number in found if command(number) == command(os.getpid())]


def command(number: int) -> bytes | None:
    try:
        return Path(f"/proc/{number}/cmdline").read_bytes()
    except FileNotFoundError:
        return None


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("large") / "large.nt"
    with file.open("w") as out:
        out.writelines(f'<http://e/{n}> <http://e/p> "the text of number {n}" .\n' for n in range(30_000))
    return file


@pytest.fixture
def beside(monkeypatch: pytest.MonkeyPatch) -> None:
    parse_beside_from(monkeypatch, 1)


@pytest.mark.usefixtures("beside")
@pytest.mark.parametrize("how", ["killed", "interrupted", "stopped"])
def test_a_load_that_ends_early_leaves_nothing(how: str, large: Path, tmp_path: Path) -> None:
    seen: list[int] = []

    def progress(step: str, done: int, total: int | None) -> None:
        if seen:
            return
        seen.extend(children())
        if how == "killed":
            os.kill(seen[0], signal.SIGKILL)
        elif how == "interrupted":
            signal.raise_signal(signal.SIGINT)
        else:
            raise ZeroDivisionError

    expected = {"killed": WorldsError, "interrupted": KeyboardInterrupt, "stopped": ZeroDivisionError}[how]
    before = threading.active_count()
    with worlds.open(tmp_path / "w.db", embedder=None) as world:
        with pytest.raises(expected) as caught:
            world.load(large, progress=progress)
        assert len(seen) == 1
        assert not children()
        assert threading.active_count() == before
        assert (world.stats().quads, len(world.history())) == (0, 0)
        if how == "killed":
            assert "died of signal 9" in str(caught.value)
        assert world.load(large).added == 30_000
        assert not children()


def test_the_parser_ends_with_the_process_that_loads(large: Path, tmp_path: Path) -> None:
    code = f"""
import os, signal, worlds
from tests.support.seams import ForGood, parse_beside_from
from tests.quads.test_beside import children
def progress(*_):
    print(*children(), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
parse_beside_from(ForGood(), 1)
worlds.open({str(tmp_path / "w.db")!r}, embedder=None).load({str(large)!r}, progress=progress)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    (number,) = done.stdout.split()
    deadline = time.monotonic() + 20
    while Path("/proc", number).exists() and " Z " not in Path("/proc", number, "stat").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    with worlds.open(tmp_path / "w.db", embedder=None) as world:
        assert world.stats().quads == 0


@pytest.mark.usefixtures("beside")
def test_the_parser_waits_for_the_writer(large: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read_in_small_blocks(monkeypatch, 500)
    read: list[int] = []

    def progress(step: str, done: int, total: int | None) -> None:
        if not read:
            time.sleep(0.3)
            for link in Path(f"/proc/{children()[0]}/fd").iterdir():
                if os.path.realpath(link) == str(large):
                    position = Path(f"/proc/{children()[0]}/fdinfo/{link.name}").read_text().split()[1]
                    read.append(int(position))

    with worlds.open(tmp_path / "w.db", embedder=None) as world:
        world.load(large, progress=progress)
    assert 0 < read[0] < large.stat().st_size / 2
