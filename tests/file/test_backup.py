"""A backup is a whole world of its own, whatever others do meanwhile."""

from __future__ import annotations

import fcntl
import random
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import worlds
from tests.support.drivers import PLANS, RECALL, native
from tests.support.embedder import HashingEmbedder
from tests.support.forking import Forked
from worlds import OpenError, World, WorldsError
from worlds.records import Solutions

TEXTS = [
    f"the {size} {color} {bird}"
    for size in ("small", "large", "old")
    for color in ("red", "grey", "white", "black")
    for bird in ("kite", "heron", "gull", "crane", "crow", "swan")
]


def fill(world: World) -> None:
    world.add([(f"http://example.org/{n}", "rdfs:label", f'"{text}"') for n, text in enumerate(TEXTS)])
    world.add([("http://example.org/0", "rdfs:seeAlso", "_:b", "http://example.org/g")])
    world.remove([("http://example.org/1", "rdfs:label", f'"{TEXTS[1]}"')])


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def answers(world: World) -> list[object]:
    solutions = world.query("SELECT * WHERE { ?s ?p ?o }")
    assert isinstance(solutions, Solutions)
    found: list[object] = [len(world), sorted(map(str, solutions.to_dicts()))]
    for plan in PLANS:
        for text in TEXTS[::9]:
            found.append(
                [(hit.text, str(hit.subject)) for hit in world.search(text, ranking=worlds.Ranking(plan=plan))]
            )
    return found


def assert_same(backup: Path, world: World, **options: str) -> None:
    with worlds.open(backup, embedder=HashingEmbedder(), create=False, encryption_key=options.get("key")) as copy:
        report = copy.check()
        assert report.ok, str(report)
        assert report.recall == RECALL
        assert answers(copy) == answers(world)
        # It can be written to, and takes its own way from here.
        change = copy.add([("http://example.org/new", "rdfs:label", '"a brown owl"')])
        assert change.embedded == 1
        assert copy.search("owl", ranking=worlds.Ranking(plan=PLANS[-1]), mode="vector")[0].text == "a brown owl"
        assert copy.check().ok


def test_a_backup_is_a_whole_world(path: Path, tmp_path: Path) -> None:
    backup = tmp_path / "backup.db"
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        fill(world)
        assert Path(f"{path}-wal").stat().st_size  # what is only in the log is in the backup too
        world.file.backup(backup)
        assert names(tmp_path) == ["backup.db", "world.db", "world.db-shm", "world.db-wal"]
        before = backup.read_bytes()
        world.add([("http://example.org/later", "rdfs:label", '"later"')])
        assert backup.read_bytes() == before
        world.remove([("http://example.org/later", "rdfs:label", '"later"')])
        assert_same(backup, world)
        assert world.check().ok


def test_a_world_in_memory_can_be_kept(world: World, tmp_path: Path) -> None:
    fill(world)
    world.file.backup(str(tmp_path / "kept.db"))
    assert_same(tmp_path / "kept.db", world)
    assert world.check().ok


def test_an_empty_world_can_be_backed_up(tmp_path: Path) -> None:
    with worlds.open(embedder=None) as world:
        world.file.backup(tmp_path / "empty.db")
    with worlds.open(tmp_path / "empty.db", embedder=None, create=False) as copy:
        assert len(copy) == 0
        assert copy.check().ok


def test_a_read_only_world_can_be_backed_up(path: Path, tmp_path: Path) -> None:
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        fill(world)
    content = path.read_bytes()
    with worlds.open(path, embedder=HashingEmbedder(), read_only=True) as world:
        world.file.backup(tmp_path / "backup.db")
        assert_same(tmp_path / "backup.db", world)
    assert path.read_bytes() == content


@native
def test_the_backup_of_an_encrypted_world_is_encrypted(path: Path, tmp_path: Path) -> None:
    backup = tmp_path / "backup.db"
    with worlds.open(path, embedder=HashingEmbedder(), encryption_key="a secret") as world:
        fill(world)
        world.file.backup(backup)
        assert_same(backup, world, key="a secret")
        assert names(tmp_path) == ["backup.db", "world.db", "world.db-shm", "world.db-wal"]
    assert b"heron" not in backup.read_bytes()
    with pytest.raises(OpenError, match="key is wrong"):
        worlds.open(backup, embedder=None)
    with pytest.raises(OpenError, match="key is wrong"):
        worlds.open(backup, embedder=None, encryption_key="another")


def test_a_backup_can_be_put_in_the_place_of_a_lost_world(path: Path, tmp_path: Path) -> None:
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        fill(world)
        world.file.backup(tmp_path / "backup.db")
        expected = answers(world)
    path.write_bytes((tmp_path / "backup.db").read_bytes())
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        assert answers(world) == expected
        assert world.check().ok


def test_nothing_that_exists_is_overwritten(path: Path, tmp_path: Path) -> None:
    with worlds.open(path, embedder=None) as world:
        world.add([("urn:a", "urn:b", "urn:c")])
        (tmp_path / "there").write_text("there before")
        (tmp_path / "nowhere").symlink_to(tmp_path / "no such file")
        for target in (path, tmp_path / "there", tmp_path / "nowhere", tmp_path):
            with pytest.raises(OpenError, match="exists already"):
                world.file.backup(target)
        assert (tmp_path / "there").read_text() == "there before"
        assert names(tmp_path) == ["nowhere", "there", "world.db", "world.db-shm", "world.db-wal"]


def test_what_cannot_be_written_is_an_open_error(world: World, tmp_path: Path) -> None:
    with pytest.raises(OpenError, match="cannot be written"):
        world.file.backup(tmp_path / "no" / "backup.db")
    assert names(tmp_path) == []


def test_a_transaction_cannot_be_backed_up_by_half(world: World, tmp_path: Path) -> None:
    with world.transaction():
        world.add([("urn:a", "urn:b", "urn:c")])
        with pytest.raises(WorldsError, match="inside a transaction"):
            world.file.backup(tmp_path / "backup.db")
    assert names(tmp_path) == []


def test_another_threads_transaction_is_waited_for(path: Path, tmp_path: Path) -> None:
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        fill(world)
        begun, ended = threading.Event(), threading.Event()

        def write() -> None:
            with world.transaction():
                world.add([("urn:a", "urn:b", "urn:c")])
                begun.set()
                ended.wait(60)

        with ThreadPoolExecutor() as threads:
            writing = threads.submit(write)
            assert begun.wait(60)
            waiting = [threads.submit(world.file.backup, tmp_path / "backup.db"), threads.submit(world.file.compact)]
            time.sleep(0.2)
            assert not any(future.done() for future in waiting)
            ended.set()
            for future in [writing, *waiting]:
                future.result()
        with worlds.open(tmp_path / "backup.db", embedder=None) as copy:
            assert copy.count("urn:a") == 1


def test_what_killed_backups_left_is_cleared(path: Path, tmp_path: Path) -> None:
    folder = tmp_path / "backups"
    folder.mkdir()
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        fill(world)
        world.load("".join(f"<urn:{n}> <urn:p> <urn:o{n}> .\n" for n in range(20_000)).encode(), format="nt")
    while not [name for name in names(folder) if name.endswith(".part")]:
        for name in names(folder):
            (folder / name).unlink()
        child = Forked([sys.executable, "-c", BACKUPS, str(path), str(folder)], stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        assert child.stdout.readline() == "begin\n"
        time.sleep(random.random() / 10)
        child.kill()
        child.wait()
        child.stdout.close()
    draft = next(name for name in names(folder) if name.endswith(".part"))
    (folder / draft).rename(tmp_path / draft)
    (folder / ".0.db.01234567.backup.part").touch()
    with (folder / ".1.db.01234567.backup.part").open("wb") as alive:
        fcntl.flock(alive, fcntl.LOCK_EX)
        with worlds.open(path, embedder=None) as world:
            assert not (tmp_path / draft).exists()
            world.file.backup(folder / "new.db")
        assert [name for name in names(folder) if name.endswith(".part")] == [".1.db.01234567.backup.part"]


WRITER = """
import sys
import worlds
from tests.support.embedder import HashingEmbedder
with worlds.open(sys.argv[1], embedder=HashingEmbedder()) as world:
    print("begin", flush=True)
    for n in range(100_000):
        # Two quads each time, so that a backup of half a revision would have an odd number.
        world.add([(f"urn:{n}", "rdfs:label", f'"text number {n}"'), (f"urn:{n}", "rdfs:comment", f'"comment {n}"')])
        if n % 5 == 4:
            world.remove([(f"urn:{n - 2}", "rdfs:label", f'"text number {n - 2}"'), (f"urn:{n - 2}", "rdfs:comment", f'"comment {n - 2}"')])
"""  # noqa: E501  # the lines of a program


def test_others_may_write_all_the_time(path: Path, tmp_path: Path) -> None:
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        fill(world)
        first = len(world)
        writer = Forked([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True)
        assert writer.stdout is not None
        assert writer.stdout.readline() == "begin\n"
        counts: list[int] = []
        try:
            for number in range(2):
                while len(world) <= max(counts, default=first):
                    time.sleep(0.01)
                seen = len(world)
                world.file.backup(tmp_path / f"{number}.db")
                with worlds.open(tmp_path / f"{number}.db", embedder=None) as copy:
                    assert (len(copy) - first) % 2 == 0
                    assert len(copy) >= seen - 2  # a later write may have removed two
                    counts.append(len(copy))
                    report = copy.check()
                    assert report.ok, str(report)
            assert writer.poll() is None  # no write of its own has failed
        finally:
            writer.kill()
            writer.wait()
            writer.stdout.close()
        assert counts[-1] > counts[0]
        assert world.check().ok


BACKUPS = """
import sys
import worlds
with worlds.open(sys.argv[1], embedder=None) as world:
    print("begin", flush=True)
    try:
        for n in range(100_000):
            world.file.backup(f"{sys.argv[2]}/{n}.db")
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


def test_ctrl_c_leaves_complete_backups_only(path: Path, tmp_path: Path) -> None:
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        fill(world)
    folder = tmp_path / "backups"
    folder.mkdir()
    child = Forked(
        [sys.executable, "-c", BACKUPS, str(path), str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "begin\n"
    deadline = time.monotonic() + 60
    while not (folder / "1.db").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert out == "interrupted\n", err
    with worlds.open(path, embedder=None) as world:
        world.file.backup(folder / "last.db")  # clears the draft that an interrupt in the clearing itself may leave
    made = [name for name in names(folder) if name != "last.db"]
    assert sorted(made) == sorted(f"{n}.db" for n in range(len(made)))
    assert {file.stat().st_size for file in folder.iterdir()} == {path.stat().st_size}
