"""The units and the compose file of examples/server: their commands are run as plain processes."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

import worlds
from tests.support.command_line import words
from tests.support.forking import SERVE, Forked
from tests.support.forking import run as run_forked
from tests.support.primaries import EX, ended, sqld_or_skip, until
from worlds.extras.remote.address import TOKEN

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "server"
WORLDS = [sys.executable, "-c", SERVE]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze")
@pytest.mark.parametrize("name", ["worlds-primary", "worlds-replica"])
def test_a_unit_is_one_of_systemd(name: str, tmp_path: Path) -> None:
    unit = tmp_path / f"{name}.service"
    unit.write_text((EXAMPLES / unit.name).read_text().replace("/opt/worlds/bin/worlds", sys.executable))
    told = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True)
    assert (told.returncode, told.stderr) == (0, "")


def commands() -> dict[str, list[str]]:
    """What the services of the compose file run, by their names."""
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    told = yaml.safe_load((EXAMPLES / "compose.yaml").read_text())
    assert told["services"]["primary"]["volumes"] == ["primary:/srv/worlds"]
    return {name: shlex.split(service["command"]) for name, service in told["services"].items()}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as one:
        port: int = one.getsockname()[1]
        return port


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[contextlib.ExitStack]:
    with contextlib.ExitStack() as stack:
        yield stack
    ended(tmp_path)


def test_a_primary_and_three_replicas(tmp_path: Path, processes: contextlib.ExitStack) -> None:
    sqld_or_skip()
    run = commands()
    assert list(run) == ["primary", "replica1", "replica2", "replica3"]
    ports = {name: free_port() for name in run}

    def begin(name: str, **environment: str) -> None:
        """A service, in a folder of its own, on this machine's ports."""
        replaced = {
            "0.0.0.0": "127.0.0.1",
            "8080": str(ports["primary"]),
            "8000": str(ports[name]),
            "http://primary:8080/kb": f"http://127.0.0.1:{ports['primary']}/kb",
            "/etc/worlds/keys.json": str(tmp_path / "keys.json"),
        }
        folder = tmp_path / name
        folder.mkdir()
        with (folder / "log").open("wb") as log:
            process = Forked(
                [*WORLDS, *(replaced.get(part, part) for part in run[name])],
                cwd=folder,
                env={**os.environ, "WORLDS_EMBEDDER": "none", **environment},
                stdout=log,
                stderr=log,
            )
        processes.callback(process.wait)
        processes.callback(process.terminate)

    def told(*arguments: str | Path, cwd: Path = tmp_path) -> str:
        """What a command of the comment prints."""
        return str(run_forked([*WORLDS, *words(*arguments)], cwd=cwd, text=True, check=True).stdout)

    with worlds.open(tmp_path / "kb.db", embedder=None) as made:
        made.add([(f"{EX}a", f"{EX}p", '"a red kite"')])
    begin("primary")
    home, url = tmp_path / "primary", f"http://127.0.0.1:{ports['primary']}/kb"
    until(lambda: (home / "data" / "keys" / "admin").exists() and _listens(ports["primary"]))
    told("remote push", tmp_path / "kb.db", url, "--key", (home / "data" / "keys" / "admin").read_text().strip())
    token = told("remote token", "data", "kb", cwd=home).strip()
    key = told("keys", "add", ".", "ann", "--level", "write", "--key-file", "keys.json").strip().split()[-1]
    replicas = [name for name in run if name != "primary"]
    for name in replicas:
        begin(name, **{TOKEN: token})
    clients = {
        name: processes.enter_context(
            httpx.Client(base_url=f"http://127.0.0.1:{ports[name]}", headers={"Authorization": f"Bearer {key}"})
        )
        for name in replicas
    }
    for name in replicas:
        until(lambda name=name: _listens(ports[name]) and clients[name].get("/health").is_success, 60)  # type: ignore[misc]
    for number, client in enumerate(clients.values()):
        update = f"INSERT DATA {{ <{EX}s{number}> <{EX}p> 'blue lake {number}' }}"
        assert client.post("/sparql", data={"update": update}).status_code == 204
    for client in clients.values():
        until(lambda client=client: len(client.get("/search", params={"q": "lake"}).json()["hits"]) == 3)  # type: ignore[misc]
        assert client.get("/search", params={"q": "kite"}).json()["hits"][0]["text"] == "a red kite"


def _listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.2):
        return True
    return False
