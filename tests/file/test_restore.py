"""A backup in the place of a world: done right by `restore`, noticed where it is done otherwise."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import worlds
from tests.support import forking
from tests.support.embedder import HashingEmbedder
from tests.support.forking import Forked
from worlds import OpenError, ReadOnlyError, World, WorldsError

CHILD = """
import sys
import worlds
with worlds.open(sys.argv[1], embedder=None) as world:
    for n in range(int(sys.argv[2])):
        world.add([(f"urn:child{n}", "rdfs:label", f'"by the child {n}"')])
    print("written", flush=True)
    sys.stdin.read()
"""


def child(path: Path, writes: int) -> subprocess.Popen[str]:
    """A process that has the world open, and written to it."""
    process = Forked(
        [sys.executable, "-c", CHILD, str(path), str(writes)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "written\n"
    return process


def killed(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


@pytest.fixture
def backup(path: Path, tmp_path: Path) -> Path:
    """A backup of the world at `path`, which then went on."""
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        world.add([("urn:a", "rdfs:label", '"red kite"')])
        world.file.backup(tmp_path / "backup.db")
        world.add([("urn:b", "rdfs:label", '"grey heron"')])
    return tmp_path / "backup.db"


def assert_restored(path: Path) -> None:
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        assert [str(quad[0]) for quad in world.quads()] == ["urn:a"]
        assert world.history()[0].revision == 1
        assert world.check().ok
        assert world.query("ASK { ?s ?p 'red kite' }") is True
        assert world.add([("urn:c", "rdfs:label", '"white swan"')]).revision == 2
        assert [hit.text for hit in world.search("swan", limit=1)] == ["white swan"]
    assert not Path(f"{path}-wal").exists()


def test_a_backup_takes_the_place_of_a_world(path: Path, backup: Path) -> None:
    Path(f"{path}-sparql").mkdir()
    worlds.restore(backup, path)
    assert not Path(f"{path}-sparql").exists()
    assert sorted(file.name for file in path.parent.iterdir()) == sorted({path.name, backup.name})
    assert_restored(path)
    worlds.restore(backup, path)  # it can be used again
    assert_restored(path)


def test_where_there_is_no_world_one_is_made(tmp_path: Path, backup: Path) -> None:
    worlds.restore(str(backup), tmp_path / "new.db")
    assert_restored(tmp_path / "new.db")


def test_the_log_of_a_killed_process_goes(path: Path, backup: Path) -> None:
    killed(child(path, 3))
    assert Path(f"{path}-wal").stat().st_size
    worlds.restore(backup, path)
    assert_restored(path)


def test_a_copy_over_the_log_of_a_killed_process_is_no_world(path: Path, backup: Path) -> None:
    killed(child(path, 3))
    shutil.copyfile(backup, path)
    for read_only in (False, True):
        with pytest.raises(OpenError, match="worlds file restore BACKUP"):
            worlds.open(path, embedder=None, read_only=read_only)
    worlds.restore(backup, path)
    assert_restored(path)


def test_the_log_of_a_killed_process_belongs_to_its_own_file(path: Path, backup: Path) -> None:
    killed(child(path, 3))
    assert backup.exists()
    with worlds.open(path, embedder=None) as world:
        assert len(world) == 5
        assert world.check().ok


USES: dict[str, Callable[[World], object]] = {
    "add": lambda world: world.add([("urn:x", "urn:p", "urn:y")]),
    "query": lambda world: world.query("ASK {}"),
    "quads": lambda world: list(world.quads()),
    "search": lambda world: world.search("kite", mode="text"),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("rename", [False, True], ids=["copied", "renamed"])
def test_an_open_world_notices(rename: bool, use: str, path: Path, backup: Path, tmp_path: Path) -> None:
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        world.add([("urn:lost", "rdfs:label", '"lost"')])
        USES[use](world)
        if rename:
            shutil.copyfile(backup, tmp_path / "copy.db")
            (tmp_path / "copy.db").rename(path)
        else:
            shutil.copyfile(backup, path)
        for again in USES.values():
            with pytest.raises(OpenError, match="was replaced by another file while it was open"):
                again(world)
    if rename:
        Path(f"{path}-wal").unlink(missing_ok=True)
    assert_restored(path)


def test_an_open_world_notices_that_its_file_is_gone(path: Path, backup: Path) -> None:
    with worlds.open(path, embedder=None) as world:
        path.unlink()
        with pytest.raises(OpenError, match="is not there any longer"):
            world.add([("urn:x", "urn:p", "urn:y")])
    worlds.restore(backup, path)
    assert_restored(path)


def test_a_world_that_is_open_is_not_replaced(path: Path, backup: Path) -> None:
    before = path.read_bytes()
    with worlds.open(path, embedder=None), pytest.raises(OpenError, match="is open"):
        worlds.restore(backup, path)
    process = child(path, 0)
    with pytest.raises(OpenError, match="is open"):
        worlds.restore(backup, path)
    process.communicate("")
    assert path.read_bytes() == before
    worlds.restore(backup, path)
    assert_restored(path)


def test_what_is_no_backup_is_refused(path: Path, backup: Path, tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("no database, but long enough to be looked at")
    before = path.read_bytes()
    for wrong in (tmp_path / "none.db", tmp_path / "text.db", tmp_path, path):
        with pytest.raises(WorldsError):
            worlds.restore(wrong, path)
    with pytest.raises(OpenError, match="not a regular file"):
        worlds.restore(backup, tmp_path)
    assert path.read_bytes() == before


def test_an_encrypted_backup_is_restored_by_its_key(tmp_path: Path) -> None:
    path, backup = tmp_path / "kb.db", tmp_path / "backup.db"
    with worlds.open(path, embedder=None, encryption_key="secret") as world:
        world.add([("urn:a", "rdfs:label", '"red kite"')])
        world.file.backup(backup)
        world.add([("urn:b", "rdfs:label", '"grey heron"')])
    with pytest.raises(OpenError):
        worlds.restore(backup, path)
    worlds.restore(backup, path, encryption_key="secret")
    with worlds.open(path, embedder=None, encryption_key="secret") as world:
        assert len(world) == 1
        assert world.check().ok


RESTORE = """
import os, pathlib, signal, sys
import worlds

backup, path, key, stage = sys.argv[1:]

def dying(name, real):
    def die(*given, **options):
        if stage == f"before {name}":
            os.kill(os.getpid(), signal.SIGKILL)
        found = real(*given, **options)
        if stage == f"after {name}":
            os.kill(os.getpid(), signal.SIGKILL)
        return found
    return die

for name in ("replace", "unlink"):
    setattr(pathlib.Path, name, dying(name, getattr(pathlib.Path, name)))
worlds.restore(backup, path, encryption_key=key or None)
print("done")
"""


@pytest.mark.parametrize(
    ("stage", "key"),
    [
        ("after unlink", "k"),
        ("after replace", ""),
        pytest.param("after unlink", "", marks=pytest.mark.long),
        pytest.param("after replace", "k", marks=pytest.mark.long),
        *(
            pytest.param(f"before {one}", key, marks=pytest.mark.long)
            for one in ("unlink", "replace")
            for key in ("", "k")
        ),
    ],
)
def test_a_restore_that_is_killed_leaves_the_one_world_or_the_other(tmp_path: Path, key: str, stage: str) -> None:
    how: dict[str, Any] = {"embedder": None, "encryption_key": key or None}
    path, backup = tmp_path / "kb.db", tmp_path / "backup.db"
    with worlds.open(tmp_path / "source.db", **how) as world:
        world.add([("urn:new", "urn:p", f'"{"new " * 900}"')])
        world.file.backup(backup)
    with worlds.open(path, **how) as world:
        world.add([(f"urn:old{n}", "urn:p", f'"{"old " * 900}"') for n in range(20)])
    left = f"import os, worlds; w = worlds.open({str(path)!r}, embedder=None, encryption_key={key or None!r}); "
    forking.run([sys.executable, "-c", left + "w.add([('urn:old', 'urn:p', '\"acknowledged\"')]); os._exit(9)"])
    assert Path(f"{path}-wal").stat().st_size
    dead = forking.run([sys.executable, "-c", RESTORE, backup, path, key, stage], text=True)
    assert (dead.returncode, dead.stdout) == (-signal.SIGKILL, ""), dead.stderr
    with worlds.open(path, **how) as world:
        assert world.check().ok
        assert len(world) == (1 if stage == "after replace" else 21)
    worlds.restore(backup, path, encryption_key=key or None)
    with worlds.open(path, **how) as world:
        assert [str(quad[0]) for quad in world.quads()] == ["urn:new"]


def test_a_world_that_cannot_be_opened_is_replaced_with_its_log(path: Path, backup: Path) -> None:
    killed(child(path, 3))
    path.write_bytes(path.read_bytes()[:5000])
    worlds.restore(backup, path)
    assert_restored(path)


@pytest.mark.parametrize("driver", ["libsql", "sqlite"])
def test_a_file_with_two_names_is_not_written(path: Path, tmp_path: Path, driver: Any) -> None:
    with worlds.open(path, embedder=None, driver=driver) as world:
        world.add([("urn:a", "urn:p", '"1"')])
        os.link(path, tmp_path / "other.db")
        with pytest.raises(ReadOnlyError, match=r"2 names \(hard links\).*worlds file backup"):
            world.add([("urn:a", "urn:p", '"2"')])
        assert len(world) == 1
    for name in (path, tmp_path / "other.db"):
        with pytest.raises(ReadOnlyError, match="remove the others"):
            worlds.open(name, embedder=None, driver=driver)
        with worlds.open(name, embedder=None, driver=driver, read_only=True) as world:
            assert len(world) == 1
            world.file.backup(tmp_path / f"of-{name.name}")
    (tmp_path / "other.db").unlink()
    for name in (path, tmp_path / "of-other.db"):
        with worlds.open(name, embedder=None, driver=driver) as world:
            assert world.add([("urn:a", "urn:p", '"2"')]).added == 1
