"""What befalls primaries, followers and writers loses nothing that was acknowledged, and is told as it is."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import worlds
from tests.support.primaries import EX, Served, Swallowing, ended, kite, sqld_or_skip, until
from worlds import ConflictError, OpenError
from worlds.remote.follower import follow
from worlds.remote.primary import Primary
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
    from worlds.remote.status import Folder

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
