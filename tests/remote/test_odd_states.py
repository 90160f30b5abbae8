"""What befalls primaries, followers and writers loses nothing that was acknowledged, and is told as it is."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import worlds
from tests.support.primaries import EX, Served, Swallowing, ended, kite, sqld_or_skip, until
from worlds import ConflictError, IntegrityError, OpenError
from worlds.extras.remote.follower import follow
from worlds.extras.remote.primary import Primary
from worlds.sql.hrana import Hrana
from worlds.world import connection_of


def test_an_answer_that_is_lost_after_the_commit(served: Served) -> None:
    relay = Swallowing(served.primary.address)
    url = f"{relay.address}/{served.name}"
    with worlds.open(url, replica=served.replica(), token=served.token(), embedder=None) as w:
        relay.swallow = True
        change = w.add([kite(1)])
        relay.swallow = False
        assert relay.swallowed == 1
        assert change.added == 1
        assert w.count(EX + "s1") == 1
        assert w.history(1)[0].revision == change.revision == 2  # once
        w.add([kite(2)])
        assert not w.check().problems
    relay.close()


def test_a_primary_that_is_restored_from_a_copy(tmp_path: Path) -> None:
    """The copy has the same log's name and numbers, so that a sync alone would damage the replica in silence."""
    sqld_or_skip()
    folder, copy = tmp_path / "primary", tmp_path / "copy"
    with Primary(folder) as primary:
        port = int(primary.address.rpartition(":")[2])
        served = Served(primary, tmp_path)
        served.push()
        with served.open() as w:
            w.add([kite(1)])
    shutil.copytree(folder, copy)
    with Primary(folder, port=port) as primary:
        served.primary = primary
        with served.open("later") as w:
            for number in range(2, 9):
                w.add([kite(number)])
    with Primary(folder, port=port) as primary:
        served.primary = primary
        assert served.open("later").count() == 9
        served.stack.close()
    shutil.rmtree(folder)
    shutil.copytree(copy, folder)
    with Primary(folder, port=port) as primary:
        served.primary = primary
        other = served.open("other")
        other.add([(f"{EX}t{number}", f"{EX}p", '"another past"') for number in range(3)])
        w = served.open("later")
        until(lambda: w.count() == 5)
        assert {str(s) for s, _, _, _ in w.quads()} == {str(s) for s, _, _, _ in other.quads()}
        assert w.search("another")[0].text == "another past"
        assert not w.check().problems
        w.add([kite(20)])
        served.stack.close()
    ended(tmp_path)


def test_a_write_is_not_added_to_another_past_of_the_same_length(served: Served) -> None:
    w = served.open()
    w.add([kite(1)])
    status = served.status()
    os.kill(status.process, signal.SIGSTOP)
    other = Hrana(served.primary.address, served.name, served.token())
    other.write([("UPDATE writes SET mark = 'another'", ())])
    with pytest.raises(ConflictError, match="nothing was kept"), w.transaction():
        w.add([kite(2)])
    os.kill(status.process, signal.SIGCONT)
    assert w.add([kite(3)]).added == 1
    assert w.replica is not None
    assert w.replica.fetched == 2
    assert other.rows("SELECT count(*) FROM quads") == [(3,)]
    other.close()


def test_a_primary_that_is_empty(tmp_path: Path) -> None:
    """A sync alone would succeed, and the replica stay as it is in silence."""
    sqld_or_skip()
    folder = tmp_path / "primary"
    with Primary(folder) as primary:
        port = int(primary.address.rpartition(":")[2])
        served = Served(primary, tmp_path)
        served.push()
        w = served.open()
        token = served.token()
    shutil.rmtree(folder / "data")
    with Primary(folder, port=port) as primary:
        served.primary = primary
        until(lambda: "no such world" in str(w.replica and w.replica.error))
        assert len(w) == 1
        with pytest.raises(OpenError, match="no such world"):
            w.add([kite(1)])
        served.push(f'<{EX}b> <{EX}p> "green hill" .'.encode())
        until(lambda: [hit.text for hit in w.search("hill")] == ["green hill"])
        with worlds.open(served.url, replica=served.replica("x"), token=token, embedder=None) as other:
            assert len(other) == len(w) == 1
        served.stack.close()
    ended(tmp_path)


def test_the_data_of_a_primary_alone_are_restored(tmp_path: Path) -> None:
    sqld_or_skip()
    folder = tmp_path / "primary"
    with Primary(folder) as primary:
        port = int(primary.address.rpartition(":")[2])
        served = Served(primary, tmp_path)
        served.push()
        w = served.open()
        w.add([kite(1)])
    data = next(folder.rglob(f"dbs/{served.name}/data"))
    with contextlib.closing(sqlite3.connect(data)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    shutil.copyfile(data, tmp_path / "data")
    with Primary(folder, port=port) as primary:
        served.primary = primary
        w.add([kite(2), kite(3)])
    for file in data.parent.iterdir():
        shutil.rmtree(file) if file.is_dir() else file.unlink()
    shutil.copyfile(tmp_path / "data", data)
    with Primary(folder, port=port) as primary:
        served.primary = primary
        until(lambda: len(w) == 2)  # which reads by one statement, in no transaction
        w.add([kite(4)])
        other = served.open("other")
        assert {str(quad[0]) for quad in other.quads()} == {f"{EX}a", f"{EX}s1", f"{EX}s4"}
        assert set(w.quads()) == set(other.quads())
        assert not w.check().problems
        served.stack.close()
    ended(tmp_path)


def test_a_token_that_expires(served: Served) -> None:
    w = served.open(token=served.token(days=-55 / 86_400))  # a server's clock may be a minute slow
    w.add([kite(1)])
    until(lambda: "refuses the token" in str(w.replica and w.replica.error))
    assert len(w.search("kite")) == 2
    with pytest.raises(OpenError, match="refuses the token"):
        w.add([kite(2)])
    with pytest.raises(OpenError, match="refuses the token"):
        served.open("later", token=served.token(days=-1))


def test_another_library_reads_the_replica(served: Served) -> None:
    """A sync in a process that has the file open by another SQLite damages it; the follower's is one of its own."""
    w = served.open()
    with contextlib.closing(sqlite3.connect(f"file:{served.replica()}?mode=ro", uri=True)) as beside:
        for number in range(5):
            w.add([kite(number)])
            assert beside.execute("SELECT count(*) FROM quads").fetchall() == [(number + 2,)]
    assert not w.check().problems


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A disk of six megabytes; its function makes it larger."""
    place = tmp_path / "small"
    place.mkdir()
    if _mount("-t", "tmpfs", "-o", "size=6m", "tmpfs", place):
        pytest.skip("a small disk can be mounted by root on Linux only")
    yield place
    ended(tmp_path)
    subprocess.run(["umount", "-l", place], check=True)


def _mount(*arguments: object) -> int:
    command = shutil.which("mount")
    return 1 if command is None else subprocess.run([command, *map(str, arguments)], capture_output=True).returncode


def _kites(name: int) -> bytes:
    return "\n".join(f'<{EX}k{name}-{n}> <{EX}p> "kite {name} {n} over the lake" .' for n in range(3000)).encode()


def test_a_full_disk_of_the_primary(small: Path, tmp_path: Path) -> None:
    sqld_or_skip()
    with Primary(small / "primary") as primary:
        served = Served(primary, tmp_path)
        served.push()
        w = served.open()
        kept = 0
        with pytest.raises(IntegrityError, match="the primary's disk is full, and nothing was changed"):
            for number in range(9):
                w.load(_kites(number), format="nt")
                kept += 1
        assert len(w) == 3000 * kept + 1
        assert w.search("lake", limit=1)
        assert not _mount("-o", "remount,size=200m", small)
        w.load(_kites(9), format="nt")
        other = served.open("other")
        assert len(other) == len(w) == 3000 * (kept + 1) + 1
        assert not w.check().problems
        assert not other.check().problems
        served.stack.close()


def test_a_full_disk_of_the_replica(small: Path, served: Served) -> None:
    w = served.stack.enter_context(
        worlds.open(served.url, replica=small / "replica.db", token=served.token(), embedder=None, timeout=2)
    )
    other = served.open("other")
    for number in range(6):
        other.load(_kites(number), format="nt")
    until(lambda: "is full" in str(w.replica and w.replica.error))
    before = len(w)
    assert before < 18_001
    assert (before - 1) % 3000 == 0
    assert w.search("kite", limit=1)
    with pytest.raises(OpenError, match="is full: make room"):
        w.add([kite(1)])
    assert not _mount("-o", "remount,size=200m", small)
    until(lambda: len(w) == 18_001)
    w.add([kite(2)])
    assert not w.check().problems
    other.refresh()
    assert set(other.quads()) == set(w.quads())


def test_a_second_follower_is_refused(served: Served) -> None:
    served.open()
    with pytest.raises(ConflictError, match="followed already"):
        follow(served.url, served.replica(), served.token())


@pytest.mark.parametrize("lost", ["file", "index", "both", "torn"])
def test_a_replica_whose_files_are_lost(served: Served, lost: str) -> None:
    with served.open() as w:
        w.add([kite(1)])
        connection_of(w).dismiss()  # type: ignore[attr-defined]  # of a replica
    until(lambda: not _followed(served))
    file = served.replica().resolve()
    if lost in ("file", "both"):
        file.unlink()
    if lost in ("index", "both"):
        Path(f"{file}-client_wal_index").unlink()
    if lost == "torn":
        file.write_bytes(b"nothing")
    w = served.open()
    until(lambda: w.replica is not None and w.replica.age < 5)
    assert len(w) == 2
    assert not w.check().problems
    w.add([kite(2)])


def _followed(served: Served) -> bool:
    from worlds.extras.remote.status import Folder

    return Folder(served.replica()).followed()


def test_a_writer_that_is_killed_while_it_records(served: Served) -> None:
    w = served.open()
    code = f"""
import os, sys, worlds
w = worlds.open({served.url!r}, replica={str(served.replica())!r}, token={served.token()!r}, embedder=None)
with w.transaction():
    w.load("\\n".join(f'<{EX}k{{n}}> <{EX}p> "kite {{n}}" .' for n in range(20000)).encode(), format="nt")
    os.kill(os.getpid(), 9)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -9
    assert len(w) == 1
    w.add([kite(1)])
    assert len(w) == 2
    assert not w.check().problems


def test_what_is_on_the_server_but_no_world(served: Served, tmp_path: Path) -> None:
    import httpx

    file = tmp_path / "other.db"
    file.write_bytes(b"not a database")
    assert served.primary.keys is not None
    answer = httpx.put(
        f"{served.primary.address}/worlds/x",
        content=file.read_bytes(),
        headers={"authorization": f"Bearer {served.primary.keys.admin}"},
    )
    assert answer.status_code == 503
    assert "not a world" in answer.text
    with pytest.raises(OpenError, match="no such world"):
        worlds.open(f"{served.primary.address}/x", replica=tmp_path / "x.db", token=served.token(), embedder=None)
