"""Names of files that are allowed, but odd."""

from __future__ import annotations

import gzip
import os
import sys
from pathlib import Path

import pytest

import worlds
from tests.support.embedder import HashingEmbedder
from tests.support.odd_input import EX, P, select
from tests.support.oracle import problems
from worlds import ConflictError


def names(folder: Path) -> list[str]:
    return sorted(item.name for item in folder.iterdir())


NAMES = [
    "a b",
    "it's",
    'a"b',
    "100%",
    "a%20b",
    "a?b",
    "a#b",
    "a;b",
    "a&b=c",
    "[a]",
    "a*",
    "-a",
    ".a",
    "~a",
    "file:a",
    "file::memory:",
    "libsql:a",
    ":memory:a",
    "a?mode=memory",
    "中文 😀",
    "e\u0301",
    "a\nb",
]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows forbids such names")
@pytest.mark.parametrize("name", NAMES)
def test_odd_names_of_worlds(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = f"{name}.db"
    for path in (file, Path(file), tmp_path / file):
        with worlds.open(path, embedder=HashingEmbedder()) as world:
            world.add([(f"{EX}{len(world)}", P, f'"kite {len(world)}"')])
            assert world.path == str(path)
    with worlds.open(file, embedder=HashingEmbedder(), read_only=True) as world:
        assert len(world.search("kite")) == len(world) == 3
        assert world.stats().bytes == (tmp_path / file).stat().st_size
    with worlds.open(file, embedder=None) as world:
        world.file.backup(f"{name}.backup")
        assert world.export(f"{name}.nq") == 3
    with worlds.open(f"{name}.backup", embedder=None) as world:
        assert len(world) == 3
    assert names(tmp_path) == sorted([file, f"{name}.backup", f"{name}.nq"])


@pytest.mark.skipif(sys.platform == "win32", reason="Windows forbids such names")
@pytest.mark.parametrize("name", NAMES)
def test_odd_names_of_sources(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    document = b'<#me> <http://example.org/p> "kite" , <> .'
    (tmp_path / f"{name}.ttl").write_bytes(document)
    (tmp_path / f"{name}.TTL.Gz").write_bytes(gzip.compress(document))
    with worlds.open(embedder=None) as world:
        assert world.load(f"{name}.ttl").added == 2
        assert world.load(Path(f"{name}.ttl")).added == 0
        subject = select(world, "SELECT ?s { ?s ?p 'kite' }")[0].s
        assert str(subject) == (tmp_path / f"{name}.ttl").as_uri() + "#me"
        assert world.load(f"{name}.TTL.Gz").added == 2
        assert world.load([f"{name}.ttl", f"{name}.TTL.Gz"]).added == 0


@pytest.mark.skipif(sys.platform != "linux", reason="other systems forbid such names")
def test_a_source_whose_name_is_not_unicode(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"\xff.ttl")
    path.write_bytes(b'<#me> <http://example.org/p> "kite" .')
    with worlds.open(embedder=None) as world:
        assert world.load(str(path)).added == 1
        assert world.load(tmp_path).added == 0
        assert "%FF.ttl#me" in str(world.search("kite")[0].subject)


def test_a_relative_path_after_the_folder_was_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with worlds.open("sub/world.db", embedder=HashingEmbedder()) as world:
        world.add([(EX, P, '"red kite"')])
        monkeypatch.chdir(tmp_path / "elsewhere")
        world.add([(EX, P, '"blue kite"')])
        assert len(world.search("kite")) == 2
        assert world.stats().bytes > 4096
        with pytest.raises(ValueError, match="is the world itself"):
            world.export("../sub/world.db", format="nq")
        world.file.compact()
        world.file.backup("backup.db")
        with worlds.open("../sub/world.db", embedder=None, timeout=0.1) as other:
            assert len(other) == 2
            with world.transaction(), pytest.raises(ConflictError, match="through another World"):
                other.add([(EX, P, '"x"')])
        assert problems(world) == []
    assert names(tmp_path / "sub") == ["world.db"]
    assert names(tmp_path / "elsewhere") == ["backup.db"]


def test_links_to_worlds(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link.db").symlink_to("real/world.db")
    (tmp_path / "folder").symlink_to("real")
    with worlds.open(tmp_path / "link.db", embedder=HashingEmbedder()) as one:  # the link's target is made
        one.add([(EX, P, '"red kite"')])
        with worlds.open(tmp_path / "folder" / "world.db", embedder=HashingEmbedder(), timeout=0.1) as other:
            assert len(other.search("kite")) == 1
            other.add([(EX, P, '"blue kite"')])
            with one.transaction(), pytest.raises(ConflictError):
                other.add([(EX, P, '"x"')])
            assert len(one.search("kite")) == 2
            assert one.stats().bytes == other.stats().bytes > 4096
        one.add([(EX, P, '"green kite"')])
    assert (tmp_path / "link.db").is_symlink()
    assert names(tmp_path / "real") == ["world.db"]
    with worlds.open(tmp_path / "link.db", embedder=None, read_only=True) as world:
        assert len(world) == 3
