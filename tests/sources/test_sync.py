"""Keeping in step with a folder of documents: the world is always as if the folder had been read for the first time."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rdflib import RDF, Literal, URIRef

import worlds
from tests.support.command_line import ENVIRONMENT
from tests.support.forking import Forked
from worlds import World
from worlds.errors import ArgumentError, OpenError, ReadOnlyError

URL = URIRef("https://schema.org/url")
TEXT = URIRef("https://schema.org/text")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    (folder / "birds").mkdir(parents=True)
    (folder / "index.md").write_text(
        "---\ntitle: Notes\ntags: [birds]\n---\n# Notes\n\nSee [the kite](birds/kite.md).\n"
    )
    (folder / "birds" / "kite.md").write_text("# Red kite\n\nA bird with a forked tail. [Back](../index.md#top)\n")
    (folder / "plain.txt").write_text("A box is a box.")
    (folder / ".hidden.md").write_text("# Not for anybody")
    return folder


def opened() -> World:
    return worlds.open(":memory:", embedder=None)


def said(world: World, *, moment: bool = True) -> set[tuple[Any, ...]]:
    """The quads, without the times that files have."""
    return {quad for quad in world.quads() if moment or "dateModified" not in quad[1]}


def fresh(folder: Path, **options: Any) -> set[tuple[Any, ...]]:
    """The oracle: what a new world reads in the folder."""
    with opened() as world:
        world.sources.add(str(folder), "notes", **options)
        world.sources.sync()
        return said(world, moment=False)


def test_a_run_is_one_revision_of_what_changed(folder: Path) -> None:
    with opened() as world:
        source = world.sources.add(str(folder))
        assert (source.name, source.kind, str(source.graph)) == ("notes", "documents", "urn:worlds:source:notes")
        tried = world.sources.sync(dry_run=True)[0]
        assert (tried.revision, len(world)) == (None, 0)
        assert tried.diff is not None
        (first,) = world.sources.sync(author="ann")
        assert first.new == ("birds/kite.md", "index.md", "plain.txt")
        assert (first.revision, first.added) == (1, len(tried.diff.added)) == (1, len(world))
        assert world.history()[0].message == "sync notes"
        assert world.history()[0].author == "ann"
        (second,) = world.sources.sync()
        assert (second.revision, second.unchanged, len(world.history())) == (None, 3, 1)
        (folder / "index.md").write_text("# Notes, again\n")
        (folder / "plain.txt").rename(folder / "box.txt")
        (folder / "birds" / "kite.md").unlink()
        (folder / "new.md").write_text("# Robin")
        (third,) = world.sources.sync("notes")
        assert (third.revision, third.new, third.changed) == (2, ("new.md",), ("index.md",))
        assert (third.moved, third.deleted) == ((("plain.txt", "box.txt"),), ("birds/kite.md",))
        assert said(world, moment=False) == fresh(folder)
        assert {hit.subject for hit in world.search("robin")} == {URIRef("urn:worlds:source:notes/new.md")}
        assert not world.search("forked")
        told = world.sources["notes"]
        assert (told.files, told.errors, told.revision) == (3, (), 2)


def test_what_a_document_says_is_quads(folder: Path) -> None:
    with opened() as world:
        world.sources.add(str(folder), base="https://example.org/n/", graph="https://example.org/notes")
        world.sources.sync()
        kite = URIRef("https://example.org/n/birds/kite.md")
        found = {(str(p), o) for s, p, o, g in world.quads() if s == kite and g == URIRef("https://example.org/notes")}
        assert ("http://purl.org/dc/terms/references", URIRef("https://example.org/n/index.md")) in found
        assert ("http://purl.org/dc/terms/title", Literal("Red kite")) in found
        contents = Literal('[[1, "Red kite"]]', datatype=RDF.JSON)
        assert ("http://purl.org/dc/terms/tableOfContents", contents) in found
        urls = {str(o) for _, p, o, _ in world.quads() if p == URL}
        assert urls == {"birds/kite.md", "index.md", "plain.txt"}
        (folder / "birds" / "kite.md").touch()
        assert world.sources.sync()[0].revision is None, "a new time alone is no change"


def test_random_changes_end_as_a_first_reading_does(folder: Path, pytestconfig: pytest.Config) -> None:
    rounds = 200 if pytestconfig.getoption("--long") else 12
    draw = random.Random(4)
    names = [f"{place}{name}.{ending}" for place in ("", "a/", "a/b/") for name in "xyzäß" for ending in ("md", "txt")]
    with opened() as world:
        world.sources.add(str(folder))
        for _ in range(rounds):
            for _ in range(draw.randint(0, 6)):
                file = folder / draw.choice(names)
                file.parent.mkdir(parents=True, exist_ok=True)
                there = sorted(path for path in folder.rglob("*") if path.is_file())
                match draw.randint(0, 3):
                    case 0:
                        file.write_text(f"# {draw.choice('ABC')}\n\nA text of {draw.randint(0, 5)}.\n")
                    case 1 if there:
                        draw.choice(there).unlink()
                    case 2 if there and not file.exists():
                        draw.choice(there).rename(file)
                    case 3:
                        file.write_bytes(b"\xff\xfe\xff")  # no text
            before = len(world.history())
            (run,) = world.sources.sync()
            if draw.random() < 0.2 and world.history():
                world.undo(world.history(1)[0].revision)
                assert world.sources.sync(again=True)[0].errors == run.errors
            bad = {error.path for error in run.errors}
            assert bad == {str(p.relative_to(folder)) for p in folder.rglob("*") if _unreadable(p)}
            expected = fresh(folder)
            unread = set(map(_iri, bad))
            kept = {quad for quad in said(world, moment=False) if str(quad[0]) not in unread}
            assert kept == expected
            assert len(world.history()) - before <= 3
            assert world.sources.sync()[0].revision is None
        assert world.check().ok


def _iri(path: str) -> str:
    from urllib.parse import quote

    return "urn:worlds:source:notes/" + quote(path)


def _unreadable(path: Path) -> bool:
    return path.is_file() and not path.name.startswith(".") and path.read_bytes() == b"\xff\xfe\xff"


def test_an_error_is_told_until_it_is_mended(folder: Path) -> None:
    with opened() as world:
        world.sources.add(str(folder))
        world.sources.sync()
        (folder / "plain.txt").write_bytes(b"\x80\x81")
        (folder / "index.md").write_text("# Other")
        for _ in range(2):
            (run,) = world.sources.sync()
            assert [error.path for error in run.errors] == ["plain.txt"]
            assert "UTF-8" in run.errors[0].message
            assert (Literal("A box is a box.") in {quad[2] for quad in world.quads()}) is True
        assert (world.sources["notes"].files, len(world.sources["notes"].errors)) == (2, 1)
        (folder / "plain.txt").write_text("A box is a box.")
        (run,) = world.sources.sync()
        assert (run.errors, run.revision) == ((), None)
        (folder / "away").symlink_to(folder)
        (folder / "out.md").symlink_to("/etc/hostname")
        (run,) = world.sources.sync()
        assert [error.message for error in run.errors] == ["out.md is a link that leads out of the folder"]


def test_a_file_may_have_any_time(folder: Path) -> None:
    for name, time_ in (("plain.txt", 0), ("index.md", 10**12)):
        os.utime(folder / name, (time_, time_))
    with opened() as world:
        world.sources.add(str(folder))
        assert world.sources.sync()[0].errors == ()
        assert world.sources.sync()[0].revision is None


def test_a_folder_that_is_away_deletes_nothing(folder: Path) -> None:
    with opened() as world:
        world.sources.add(str(folder))
        world.sources.sync()
        before = said(world)
        folder.rename(folder.with_name("moved"))
        other = folder.with_name("other.md")
        other.write_text("# Other")
        world.sources.add(str(other))
        with pytest.raises(OpenError, match="cannot be read"):
            world.sources.sync("notes")
        for _ in range(2):
            away, run = world.sources.sync()
            assert "cannot be read" in away.errors[0].message
            assert "cannot be read" in (world.sources["notes"].error or "")
        assert said(world) > before
        assert run.unchanged == 1
        folder.with_name("moved").rename(folder)
        assert world.sources.sync("notes")[0].errors == ()
        assert world.sources["notes"].error is None


def test_a_source_owns_its_graph(folder: Path) -> None:
    with opened() as world:
        source = world.sources.add(str(folder))
        world.sources.sync()
        kite = "urn:worlds:source:notes/birds/kite.md"
        mine = [(kite, "https://example.org/p", Literal("mine"), str(source.graph))]
        writes: list[Callable[[], object]] = [
            lambda: world.add(mine),
            lambda: world.remove([quad for quad in world.quads() if quad[1] == TEXT]),
            lambda: world.update(f"CLEAR GRAPH <{source.graph}>"),
            lambda: world.load(b"<urn:a> <urn:b> 1 .", format="turtle", graph=source.graph),
            lambda: world.proposals.accept(world.proposals.add(add=mine).id),
        ]
        for write in writes:
            with pytest.raises(ReadOnlyError, match="source 'notes'"):
                write()
        assert len(world.history()) == 1
        world.add([("https://example.org/a", "https://example.org/p", 1)])
        world.undo(1)
        assert len(world) == 1
        world.sources.sync(again=True)
        assert said(world, moment=False) >= fresh(folder)


def test_edits_that_are_kept_stay_beside_what_the_file_says(folder: Path) -> None:
    with opened() as world:
        graph = str(world.sources.add(str(folder), edits="keep").graph)
        world.sources.sync()
        kite = "urn:worlds:source:notes/birds/kite.md"
        title = (kite, "http://purl.org/dc/terms/title", Literal("Red kite"), graph)
        world.add([(kite, "https://example.org/p", Literal("mine"), graph)])
        world.remove([title])
        (folder / "birds" / "kite.md").write_text("# Red kite\n\nAnother text.\n")
        (run,) = world.sources.sync()
        found = {(str(p), str(o)) for s, p, o, _ in world.quads() if str(s) == kite}
        assert ("https://example.org/p", "mine") in found
        assert ("http://purl.org/dc/terms/title", "Red kite") not in found
        assert ("https://schema.org/text", "# Red kite\n\nAnother text.\n") in found
        assert not [text for predicate, text in found if "forked" in text]
        assert run.notes == ()
        world.remove([q for q in world.quads() if str(q[0]) == kite and q[1] == TEXT])
        world.add([(kite, str(TEXT), Literal("my own text"), graph)])
        (folder / "birds" / "kite.md").write_text("# Red kite\n\nA third text.\n")
        (run,) = world.sources.sync()
        texts = {str(o) for s, p, o, _ in world.quads() if str(s) == kite and p == TEXT}
        assert texts == {"my own text"}
        assert "conflict with edits: proposals" in run.notes[0]
        assert len(world.proposals.list()) == 1
        assert world.sources.sync()[0].revision is None


SHAPE = b"""@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix dct: <http://purl.org/dc/terms/> .
[] sh:targetSubjectsOf dct:title ; sh:property [ sh:path dct:title ; sh:maxLength 20 ] ."""


def test_a_document_that_a_guard_rejects_is_left_out_and_named(folder: Path) -> None:
    with opened() as world:
        world.shapes.load(SHAPE, format="turtle")
        world.shapes.guard = "reject"
        world.sources.add(str(folder))
        (folder / "long.md").write_text("# A title that is much too long for anybody\n")
        (run,) = world.sources.sync()
        assert [error.path for error in run.errors] == ["long.md"]
        assert "the guard rejects it" in run.errors[0].message
        assert run.new == ("birds/kite.md", "index.md", "plain.txt")
        (run,) = world.sources.sync()
        assert ([error.path for error in run.errors], run.revision) == (["long.md"], None)
        (folder / "long.md").write_text("# Short\n")
        (run,) = world.sources.sync()
        assert (run.errors, run.new) == ((), ("long.md",))


def test_a_run_that_a_guard_queues_is_one_proposal_which_the_next_replaces(folder: Path) -> None:
    with opened() as world:
        world.shapes.load(SHAPE, format="turtle")
        before = len(world.history())
        world.shapes.guard = "queue"
        world.sources.add(str(folder))
        (folder / "long.md").write_text("# A title that is much too long for anybody\n")
        (run,) = world.sources.sync()
        assert (run.revision, run.proposal, len(world)) == (None, 1, 4)
        (again,) = world.sources.sync()
        assert (again.proposal, len(world.proposals.list())) == (1, 1)
        assert "waits" in again.notes[0]
        (folder / "more.md").write_text("# More\n")
        (run,) = world.sources.sync()
        assert run.proposal == 2
        assert [(one.id, one.status) for one in world.proposals.list(status="any")] == [(1, "rejected"), (2, "open")]
        world.proposals.accept(2)
        assert len(world.history()) == before + 1
        (run,) = world.sources.sync()
        assert (run.revision, run.proposal) == (None, None)
        assert world.sources.sync()[0].unchanged == 5
        (folder / "more.md").unlink()
        (run,) = world.sources.sync()
        assert run.deleted == ("more.md",)


def test_removing_a_source_removes_its_graph_and_can_be_undone(folder: Path) -> None:
    with opened() as world:
        world.add([("https://example.org/a", "https://example.org/p", 1)])
        world.sources.add(str(folder))
        world.sources.sync()
        before = said(world)
        assert world.sources.remove("notes", dry_run=True).removed
        assert [one.name for one in world.sources] == ["notes"]
        change = world.sources.remove("notes")
        assert (len(world), list(world.sources)) == (1, [])
        world.undo(change.revision or 0)
        assert said(world) == before
        with pytest.raises(ArgumentError, match="has quads already"):
            world.sources.add(str(folder))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "no name"}, "a source's name"),
        ({"kind": "pictures"}, "kind"),
        ({"edits": "maybe"}, "edits"),
        ({"base": "no iri"}, "base"),
        ({"hosts": ["a"]}, "for URLs only"),
        ({"language": "not a tag"}, "not a language tag"),
        ({"place": "/nowhere/at/all"}, "is not there"),
        ({"place": "https://example.org/x"}, "host is allowed"),
        ({"place": "https://example.org/x", "hosts": ["example.org"]}, "give the kind"),
        ({"place": "https://u:p@example.org/x", "hosts": ["example.org"]}, "a password in a URL"),
        ({"password_variable": "my secret"}, "environment variable"),
        ({"place": "a\0b"}, "is not there"),
    ],
)
def test_a_source_that_is_wrong_is_refused(folder: Path, options: dict[str, Any], message: str) -> None:
    with opened() as world:
        with pytest.raises(ValueError, match=message):
            world.sources.add(options.pop("place", str(folder)), **options)
        assert len(world.sources) == 0
        with pytest.raises(ArgumentError, match="no source 'x'"):
            world.sources.sync("x")
        with pytest.raises(ArgumentError, match="name must be a str, not 5"):
            world.sources.sync(5)  # type: ignore[arg-type]


_RUN = """
import sys, worlds
with worlds.open(sys.argv[1], embedder=None) as world:
    print("go", flush=True)
    world.sources.sync()
"""


def test_a_run_that_is_killed_at_any_moment_is_made_good_by_the_next(
    tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    folder, path = tmp_path / "many", tmp_path / "kb.db"
    folder.mkdir()
    draw = random.Random(1)
    with worlds.open(path, embedder=None) as world:
        world.sources.add(str(folder), "notes", kind="documents")
    kills = 0
    for round in range(100 if pytestconfig.getoption("--long") else 4):
        for _ in range(30):
            file = folder / f"{draw.randint(0, 100)}.md"
            file.write_text(f"# {draw.randint(0, 9)}\n" + "words of a text " * draw.randint(1, 400))
        if round % 3 == 2:
            next(folder.iterdir()).unlink()
        child = Forked([sys.executable, "-c", _RUN, str(path)], env=ENVIRONMENT, stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        assert child.stdout.readline() == "go\n"
        time.sleep(draw.random() * 0.2)
        child.send_signal(signal.SIGKILL)
        kills += child.wait() == -signal.SIGKILL
        child.stdout.close()
        with worlds.open(path, embedder=None) as world:
            world.sources.sync()
            assert said(world, moment=False) == fresh(folder)
            assert world.sources.sync()[0].revision is None
            assert world.sources["notes"].files == len(list(folder.iterdir()))
            assert world.check().ok
    assert kills


def test_ten_of_ten_thousand(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    count = 10_000 if pytestconfig.getoption("--long") else 1000
    for number in range(count):
        file = tmp_path / "many" / str(number % 100) / f"{number}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"# Note {number}\n\nA text about the number {number}.\n")
    with opened() as world:
        world.sources.add(str(tmp_path / "many"))
        assert len(world.sources.sync()[0].new) == count
        for number in range(10):
            (tmp_path / "many" / str(number) / f"{number}.md").write_text(f"# Changed {number}\n")
        (tmp_path / "many" / "50" / "50.md").rename(tmp_path / "many" / "moved.md")
        (tmp_path / "many" / "60" / "60.md").unlink()
        (run,) = world.sources.sync()
        assert (len(run.changed), len(run.moved), len(run.deleted), run.unchanged) == (10, 1, 1, count - 12)
        assert run.added < 100
        began = time.perf_counter()
        assert world.sources.sync()[0].revision is None
        assert time.perf_counter() - began < 2
