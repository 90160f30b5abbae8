"""What ends in the middle leaves nothing behind, or nothing that the next one does not remove."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

import worlds
from tests.support.forking import Forked
from tests.support.processes import end_within, family
from tests.support.serving import served

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's")


VERBS = [("export", "out.nq"), ("file backup", "copy.db")]


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("large") / "kb.db"
    with worlds.open(path, embedder=None) as world:
        world.load("".join(f"<urn:s{n}> <urn:p{n % 9}> <urn:o{n}> .\n" for n in range(40_000)).encode(), format="nt")
    return path


def started(command: list[str], draft: str, folder: Path) -> subprocess.Popen[bytes]:
    """The command, once it has made a draft of this name."""
    process = Forked([sys.executable, "-m", "worlds", *command], stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not list(folder.glob(draft)):
        assert time.monotonic() < deadline
        assert process.poll() is None, "it ended before it was to be stopped"
        time.sleep(0.002)
    return process


@pytest.mark.parametrize(
    ("verb", "target", "number"),
    [
        (*VERBS[0], signal.SIGTERM),
        pytest.param(*VERBS[0], signal.SIGHUP, marks=pytest.mark.long),
        pytest.param(*VERBS[1], signal.SIGTERM, marks=pytest.mark.long),
        (*VERBS[1], signal.SIGINT),
    ],
)
def test_a_signal_leaves_nothing(large: Path, tmp_path: Path, verb: str, target: str, number: signal.Signals) -> None:
    process = started([*verb.split(), str(large), str(tmp_path / target)], f".{target}.*", tmp_path)
    process.send_signal(number)
    assert process.wait(30) in (128 + number, 0)
    assert [file.name for file in tmp_path.iterdir()] in ([], [target])


def test_a_signal_in_the_background_leaves_nothing(large: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "worlds", "export", str(large), str(tmp_path / "out.nq")]
    script = f"import os, signal; signal.signal(signal.SIGINT, signal.SIG_IGN); os.execv({command[0]!r}, {command!r})"
    process = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.DEVNULL)  # as a shell's `… &` does
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob(".out.nq.*")) and time.monotonic() < deadline:
        time.sleep(0.002)
    process.terminate()
    assert process.wait(30) in (143, 0)
    assert [file.name for file in tmp_path.iterdir()] in ([], ["out.nq"])


@pytest.mark.parametrize(("verb", "target"), VERBS)
def test_what_a_killed_process_left_the_next_one_removes(large: Path, tmp_path: Path, verb: str, target: str) -> None:
    process = started([*verb.split(), str(large), str(tmp_path / target)], f".{target}.*", tmp_path)
    process.kill()
    process.wait()
    left = list(tmp_path.iterdir())
    with worlds.open(large, embedder=None, read_only=True) as world:
        if not (tmp_path / target).exists():
            name, *options = verb.split(" --")
            method: Any = world.export if name == "export" else world.file.backup
            method(tmp_path / target, **dict.fromkeys(options, True))
    assert left
    assert [file.name for file in tmp_path.iterdir()] == [target]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a body lies in a file with a name")
def test_a_server_that_is_killed_leaves_no_body_and_no_process(
    large: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with served(large, "--allow-writes", "--readers", "1") as server:
        place = urlsplit(server.url)
        with socket.create_connection((place.hostname or "", place.port or 80)) as client:
            head = "PUT /graphs?graph=urn:g HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/n-triples\r\n"
            client.sendall(f"{head}Content-Length: 50000000\r\n\r\n".encode())
            for _ in range(100):
                client.sendall(b"<urn:s> <urn:p> <urn:o> .\n" * 4000)
            time.sleep(0.5)
            processes = family(server.process.pid)
            assert processes
            os.kill(server.process.pid, signal.SIGKILL)
        assert end_within(10, processes)
        assert list(tmp_path.iterdir()) == []


def test_shards_on_a_full_disk(tmp_path: Path) -> None:
    (tmp_path / "in.nt").write_text("".join(f"<urn:s{n}> <urn:p> <urn:o{n}> .\n" for n in range(20_000)))
    script = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "from worlds.doors.cli import main; sys.argv = ['worlds', 'remote', 'shard', *sys.argv[1:]]; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "in.nt"), "--into", str(tmp_path / "shards")],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode not in (0, 1)
    assert "the shards cannot be written to" in done.stderr
    assert "[Errno" not in done.stderr
    assert [file.name for file in (tmp_path / "shards").iterdir()] == ["shards.json"]
