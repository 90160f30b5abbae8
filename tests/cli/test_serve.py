from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from typer.testing import CliRunner, Result

import worlds
from tests.support.command_line import fails
from tests.support.serving import ROOT, Served, served
from worlds.doors.cli import app

EX = "http://example.org/"
SLOW = "SELECT (COUNT(*) AS ?n) { ?a ?p ?b . ?c ?q ?d . ?e ?r ?f . ?g ?s ?h . ?i ?t ?j }"


@pytest.fixture
def kb(tmp_path: Path) -> Path:
    path = tmp_path / "kb.db"
    with worlds.open(path, embedder=None) as world:
        world.load(b"\n".join(b'<http://e/%d> <http://e/p> "%d" .' % (n, n) for n in range(300)), format="nt")
    return path


def run(*arguments: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    known = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CONFIG_HOME": str(folder), "NO_COLOR": "1", **environment}
    command = [sys.executable, "-m", "worlds", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=known, timeout=60)


def keys(*arguments: str) -> Result:
    """A command in this process."""
    return CliRunner().invoke(app, ["keys", *arguments], prog_name="worlds")


# --- starting ---------------------------------------------------------------------------------------------------------


def test_it_says_where_it_is_and_who_may_do_what(kb: Path) -> None:
    keys("add", str(kb), "ann")
    with served(kb, "--readers", "1") as server:
        assert httpx.get(f"{server.url}/health").json() == {"status": "ok"}
        text = server.log.read_text()
        assert "reads: anyone who reaches this address; writes: with a key (1 valid key)" in text
        assert server.url.startswith("http://127.0.0.1:")


def in_workers(folder: Path, code: str) -> str:
    """A PYTHONPATH with which the processes of a server's workers begin with some code."""
    (folder / "sitecustomize.py").write_text(
        f"import sys\nif any('worlds.doors.server.workers' in one for one in sys.orig_argv): {code}\n"
    )
    return os.pathsep.join([str(folder), str(ROOT)])


def test_it_answers_while_its_processes_start_and_says_when_they_are_there(kb: Path) -> None:
    paths = in_workers(kb.parent, "import time; time.sleep(1)")
    with (
        served(kb, "--readers", "1", "--allow-writes", wait=False, environment={"PYTHONPATH": paths}) as server,
        server.client() as client,
    ):
        assert client.get("/health/live").status_code == 200
        early = client.get("/health")
        assert early.status_code == 503
        assert "is starting" in early.json()["detail"]
        assert "starting 1 reader and a writer" in server.log.read_text()
        found = client.get("/sparql", params={"query": "ASK { ?s ?p '7' }"})  # it waits for them
        assert found.json()["boolean"] is True
        server.logged("note: ready")
        assert client.get("/health").json() == {"status": "ok"}
        assert 'worlds_workers{kind="writers"} 1.0' in client.get("/metrics").text  # before the first write


def test_a_server_whose_processes_cannot_start_ends(kb: Path) -> None:
    paths = in_workers(kb.parent, "sys.exit(3)")
    ended = run("serve", str(kb), "--port", "0", folder=kb.parent, PYTHONPATH=paths)
    assert ended.returncode == 9, ended.stderr
    assert "the server could not start" in ended.stderr


def test_off_loopback_it_needs_a_key(kb: Path) -> None:
    assert "worlds keys add" in fails(9, "serve", kb, "--host", "0.0.0.0", "--port", "0")
    keys("add", str(kb), "ann")
    assert "loopback" in fails(9, "serve", kb, "--host", "0.0.0.0", "--port", "0", "--allow-writes")
    with served(kb, "--host", "0.0.0.0", "--readers", "1") as server:
        url = server.url.replace("0.0.0.0", "127.0.0.1")
        assert httpx.get(f"{url}/stats").status_code == 401
        assert httpx.get(f"{url}/health").status_code == 200


def test_settings_come_from_the_environment_and_the_file(kb: Path) -> None:
    (kb.parent / "worlds.toml").write_text('[server]\nlog = "json"\nmax_results = 7\n[search]\nlimit = 2\n')
    with served(kb, "--readers", "1", environment={"WORLDS_SERVER_MAX_RESULTS": "9"}) as server:
        assert httpx.get(f"{server.url}/search?q=a&limit=10").json()["detail"].startswith("limit is at most 9")
        assert httpx.get(f"{server.url}/search?q=kite&explain=true").json()["explain"]["depth"] == 100
        assert httpx.get(f"{server.url}/search?q=kite").json()["explain"]["defaults"] == {"limit": "open"}
        assert json.loads(server.logged('"/search"'))["status"] == 400


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["missing.db"], 3, "worlds init"),
        (["junk.db"], 3, "not a world"),
        (["kb.db", "--port", "99999"], 2, "65535"),
        (["kb.db", "--port", "PORT"], 3, "--port 0"),
        (["kb.db", "--key-file", "junk.db"], 3, "not a file of API keys"),
        (["kb.db", "--timeout", "0"], 2, "timeout"),
        (["a b.db"], 3, "address"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_what_cannot_be_served_is_one_line(
    kb: Path, arguments: list[str], code: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(kb.parent)
    (kb.parent / "junk.db").write_text("junk" * 1000)
    worlds.open(kb.parent / "a b.db", embedder=None).close()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        options = ["--port", "0"] if "--port" not in arguments else []
        given = [port if part == "PORT" else part for part in arguments]
        assert said in fails(code, "serve", *given, *options, "--embedder", "none")


def test_without_the_extra_it_says_what_to_install(kb: Path) -> None:
    blocked = kb.parent / "blocked"
    blocked.mkdir()
    (blocked / "starlette.py").write_text('raise ModuleNotFoundError("No module named starlette", name="starlette")\n')
    refused = run("serve", str(kb), folder=kb.parent, PYTHONPATH=f"{blocked}{os.pathsep}{ROOT}")
    assert refused.returncode == 9
    assert "pip install 'worlds-kg[server]'" in refused.stderr
    assert "Traceback" not in refused.stderr
    added = run("keys", "add", str(kb), "ann", folder=kb.parent, PYTHONPATH=f"{blocked}{os.pathsep}{ROOT}")
    assert added.returncode == 0, added.stderr


# --- stopping ---------------------------------------------------------------------------------------------------------


def _children(process: int) -> list[int]:
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process)], capture_output=True, text=True, check=False)
    return [int(line) for line in listed.stdout.split()]


def _wait_for_end(processes: list[int], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    for process in processes:
        while Path(f"/proc/{process}").exists() and "\nState:\tZ" not in _status(process):
            assert time.monotonic() < deadline, f"the worker {process} lives on"
            time.sleep(0.05)


def _status(process: int) -> str:
    try:
        return Path(f"/proc/{process}/status").read_text()
    except OSError:
        return "\nState:\tZ"


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="it looks at processes in /proc")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_it_ends_when_running_requests_are_done(kb: Path, number: int) -> None:
    with served(kb, "--readers", "1", "--grace", "20") as server:
        place = urlsplit(server.url)
        assert place.hostname is not None
        assert place.port is not None
        workers = _children(server.process.pid)
        assert workers
        body = b'{"q": "7", "mode": "text"}'
        head = f"POST /search HTTP/1.1\r\nHost: {place.netloc}\r\nContent-Type: application/json\r\n"
        with socket.create_connection((place.hostname, place.port), timeout=20) as connection:
            connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body[:5])
            time.sleep(0.3)
            server.process.send_signal(number)
            time.sleep(0.5)
            assert server.process.poll() is None
            with pytest.raises(httpx.TransportError):
                httpx.get(f"{server.url}/health")
            connection.sendall(body[5:])
            answer = b""
            while piece := connection.recv(65_536):
                answer += piece
        assert b" 200 OK" in answer.partition(b"\r\n")[0]
        assert b'"text":"7"' in answer
        assert server.process.wait(20) == 0
        assert "Traceback" not in server.log.read_text()
        _wait_for_end(workers)


def test_the_grace_has_an_end(kb: Path) -> None:
    with served(kb, "--readers", "1", "--grace", "1") as server:
        threading.Thread(target=_ask_slowly, args=(server,)).start()
        time.sleep(0.8)
        began = time.monotonic()
        assert server.stop() == 0
        assert time.monotonic() - began < 10
        assert "Traceback" not in server.log.read_text()


def _ask_slowly(server: Served) -> None:
    with contextlib.suppress(httpx.TransportError):
        httpx.get(f"{server.url}/sparql", params={"query": SLOW}, timeout=30)


@pytest.mark.slow
def test_kill_9_loses_no_acknowledged_write(kb: Path) -> None:
    acknowledged: list[int] = []
    with served(kb, "--readers", "1", "--allow-writes") as server:
        workers = _children(server.process.pid)

        def write(first: int) -> None:
            with server.client() as client:
                for number in range(first, 100_000, 3):
                    quad = f'<{EX}{number}> <{EX}p> "number {number}" .'
                    try:
                        client.post("/quads", json={"add": quad}).raise_for_status()
                    except httpx.TransportError:
                        return
                    acknowledged.append(number)

        threads = [threading.Thread(target=write, args=(first,)) for first in range(3)]
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + 30
        while len(acknowledged) < 40:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        workers += _children(server.process.pid)
        server.process.kill()
        for thread in threads:
            thread.join()
        server.process.wait(10)
    assert len(acknowledged) >= 40
    _wait_for_end(workers)
    with served(kb, "--readers", "1") as server, server.client() as client:
        rows = client.get("/sparql", params={"query": f"SELECT ?s {{ ?s <{EX}p> ?o }}"}).json()["results"]["bindings"]
        kept = {int(row["s"]["value"].removeprefix(EX)) for row in rows}
    assert set(acknowledged) <= kept
    assert len(kept) <= len(acknowledged) + 3  # one that was not acknowledged for each client
    with worlds.open(kb, embedder=None) as world:
        assert world.check().ok


# --- keys -------------------------------------------------------------------------------------------------------------


def test_keys_are_shown_once_listed_and_revoked(kb: Path) -> None:
    added = keys("add", str(kb), "ann", "--level", "write", "--world", "kb", "--expires", "90d")
    assert added.exit_code == 0, added.stderr
    text = added.stdout.strip()
    assert text.startswith("wk_")
    assert "only time" in added.stderr
    listed = keys("list", str(kb))
    assert text not in listed.stdout
    assert "kb: write" in listed.stdout
    told = json.loads(keys("list", str(kb), "--json").stdout)
    assert [(key["name"], key["levels"], key["state"]) for key in told] == [("ann", {"kb": "write"}, "valid")]
    with served(kb, "--readers", "1") as server, server.client(text) as client:
        assert client.post("/quads", json={"add": f"<{EX}a> <{EX}p> <{EX}b> ."}).status_code == 200
        revoked = keys("revoke", str(kb), "ann")
        assert revoked.exit_code == 0
        assert client.post("/quads", json={"add": ""}).status_code == 401
    again = keys("revoke", str(kb), "bob")
    assert again.exit_code == 2
    assert "known: ann" in again.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["add", "kb.db", "ann", "--expires", "soon"], 2, "90d"),
        (["add", "kb.db", "ann", "--level", "root"], 2, "level"),
        (["add", "kb.db", "ann", "--world", "../x"], 2, "world"),
        (["add", "kb.db", "a\nb"], 2, "name"),
        (["add", "missing.db", "ann"], 3, "missing.db"),
        (["list", "kb.db", "--key-file", "kb.db"], 3, "not a file of API keys"),
    ],
    ids=lambda value: " ".join(value).replace("\n", " ") if isinstance(value, list) else None,
)
def test_keys_that_cannot_be(
    kb: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int, said: str
) -> None:
    monkeypatch.chdir(kb.parent)
    refused = keys(*arguments)
    assert refused.exit_code == code, refused.stderr
    assert said in refused.stderr
    assert "Traceback" not in refused.stderr
    assert not (kb.parent / "kb.db.keys.json").exists()
