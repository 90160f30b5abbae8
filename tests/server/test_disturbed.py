"""A server whose processes are stopped, and whose world is restored, under it: every wait ends, nothing is lost."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import threading
import time
from pathlib import Path

import httpx
import pytest

import worlds
from tests.support.embedder import HashingEmbedder
from tests.support.serving import EMBEDDER, Served, served
from worlds import OpenError
from worlds.doors.server.keys import keys_of

pytestmark = pytest.mark.skipif(not Path("/proc").is_dir(), reason="reads /proc")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    target = tmp_path / "kb.db"
    worlds.open(target, embedder=HashingEmbedder()).close()
    return target


def users(path: Path, server: Served) -> list[int]:
    """The processes of a server that have the world open, but the first, which only knows where it is."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) not in (os.getpid(), server.process.pid):
            with contextlib.suppress(OSError):
                if str(path) in {str(file.readlink()) for file in (folder / "fd").iterdir()}:
                    found.append(int(folder.name))
    return found


def send(number: int, processes: list[int]) -> None:
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, number)


def add(client: httpx.Client, number: int) -> int:
    return client.post("/quads", json={"add": f'<urn:{number}> <urn:p> "kite {number}" .'}).status_code


def test_processes_that_are_stopped_are_waited_for_no_longer_than_the_limit(path: Path, long: bool) -> None:
    _, key = keys_of(path).add("ann", {"*": "admin"})
    with served(path, "--timeout", "3", "--readers", "2") as server, server.client(key) as client:
        assert add(client, 0) == 200
        stopped = users(path, server)
        assert stopped
        send(signal.SIGSTOP, stopped)
        began = time.monotonic()
        answers = [add(client, number) for number in range(1, 4)]
        assert time.monotonic() - began < 30
        assert set(answers) <= {200, 503, 504}
        assert answers[-1] == 200
        time.sleep(60 if long else 1)
        send(signal.SIGCONT, stopped)
        assert client.get("/search?q=kite&mode=text&limit=9").status_code == 200
        assert add(client, 4) == 200
        count = client.get("/sparql?query=SELECT(COUNT(*)AS%20?n){?s%20?p%20?o}", headers={"Accept": "text/csv"}).text
    with worlds.open(path, embedder=None) as world:
        assert int(count.split()[1]) == len(world) >= 1 + answers.count(200) + 1
        assert world.check().ok


def test_a_world_is_restored_while_it_is_served(path: Path, tmp_path: Path) -> None:
    backups = []
    for number in range(2):
        with worlds.open(tmp_path / f"{number}.db", embedder=HashingEmbedder()) as made:
            made.add([(f"urn:of:{number}", "urn:p", f'"the kite of {number}"')])
            backups.append(tmp_path / f"backup-{number}.db")
            made.file.backup(backups[-1])
    _, key = keys_of(path).add("ann", {"*": "admin"})
    chance, over, wrong = random.Random(5), threading.Event(), []
    worlds.restore(backups[0], path)

    def ask(server: Served) -> None:
        with server.client(key) as client:
            while not over.is_set():
                for request in ("/search?q=kite", "/sparql?query=SELECT*{?s%20?p%20?o}"):
                    try:
                        response = client.get(request)
                    except httpx.RemoteProtocolError:  # its process was killed in the middle of the answer
                        continue
                    told = {number for number in range(2) if f"urn:of:{number}" in response.text}
                    if not ((response.status_code == 200 and len(told) == 1) or response.status_code in (404, 503)):
                        wrong.append(f"{request}: {response.status_code} {response.text}")

    with served(path, "--readers", "2", embedder=EMBEDDER) as server:
        threads = [threading.Thread(target=ask, args=(server,)) for _ in range(3)]
        for thread in threads:
            thread.start()
        refused: list[str] = []
        for turn in range(6):
            time.sleep(chance.uniform(0, 0.3))
            if turn % 3 == 2:  # else it is open, and stays as it is
                send(signal.SIGKILL, users(path, server))
            try:
                worlds.restore(backups[turn % 2], path)
            except OpenError as error:
                refused.append(str(error))
        over.set()
        for thread in threads:
            thread.join()
        assert refused
        assert all("is open" in told for told in refused)
        assert wrong == []
        with server.client(key) as client:
            assert add(client, 7) == 200
            assert client.get("/search?q=kite").status_code == 200
        assert "Traceback" not in server.log.read_text()
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        assert world.check().ok
        assert len(world) == 2
