"""Commands that are ended at a random moment, in each way in which a process can be: what is left is counted.

A private world lies in a folder of its own. After the end no process of the command is there, what the next process
finds is sound, and it removes what was left: files in the folder, and files for passing use. Nobody but the owner may
read any of them.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path
from typing import IO

import worlds

_QUADS = 40_000
_ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)
_PATIENCE = 30.0  # seconds until the processes are gone, on a machine that has other things to do
_ENDLESS = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }"
_COMMANDS: tuple[tuple[str, ...], ...] = (
    ("load", "kb.db", "more.nt"),
    ("export", "kb.db", "out.nq"),
    ("file", "backup", "kb.db", "copy.db"),
    ("file", "compact", "kb.db"),
    ("remote", "shard", "more.nt", "--into", "parts", "--shards", "2"),
    ("sparql", "kb.db", _ENDLESS, "--timeout", "60"),
    ("sparql", "kb.db", "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }"),
    ("update", "kb.db", "INSERT { ?s <urn:q> ?o } WHERE { ?s ?p ?o }"),
    ("serve", "kb.db", "--port", "0"),
    ("mcp", "kb.db"),
)


def end_command(seed: int, number: int) -> tuple[int, str | None]:
    """One command and one end; 1, and what was wrong."""
    chance = random.Random(f"{seed} ends {number}")
    command, way = chance.choice(_COMMANDS), chance.choice(_ENDS)
    moment = chance.uniform(0.1, 2.5)
    with tempfile.TemporaryDirectory() as name:
        folder, passing = Path(name) / "data", Path(name) / "tmp"
        folder.mkdir()
        passing.mkdir()
        _make(folder)
        environment = {**os.environ, "TMPDIR": str(passing), "WORLDS_SPARQL_INDEX": "disk"}
        with subprocess.Popen(
            [sys.executable, "-m", "worlds", *command],
            cwd=folder,
            env={**environment, "PYTHONPATH": str(Path.cwd())},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        ) as run:
            if command[0] == "serve":
                threading.Thread(target=_ask, args=(run.stdout,), daemon=True).start()
            time.sleep(moment)
            family = _session(run.pid)
            with contextlib.suppress(ProcessLookupError):
                run.send_signal(way)
            began = time.monotonic()
            while run.poll() is None and time.monotonic() - began < _PATIENCE:
                time.sleep(0.02)
            wrong = [] if run.poll() is not None else ["it goes on"]
            while (left := _session(run.pid) | {pid for pid in family if _runs(pid)}) and not wrong:
                if time.monotonic() - began > _PATIENCE:
                    wrong.append(f"processes that go on: {sorted(left)}")
                time.sleep(0.05)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(run.pid, signal.SIGKILL)
        wrong += _left(folder, passing)
    told = f"{' '.join(command)}, {way.name} after {moment:.2f} s: {'; '.join(wrong)}"
    return 1, told if wrong else None


def _make(folder: Path) -> None:
    lines = "".join(f"<urn:s{n}> <urn:p{n % 9}> <urn:o{n}> .\n" for n in range(_QUADS))
    (folder / "more.nt").write_text(lines.replace("<urn:s", "<urn:t"))
    with worlds.open(folder / "kb.db", embedder=None) as world:
        world.load(lines.encode(), format="nt")
    (folder / "kb.db").chmod(0o600)
    (folder / "more.nt").chmod(0o600)


def _ask(said: IO[bytes] | None) -> None:
    """A client, so that the server has something to do."""
    assert said is not None
    with contextlib.suppress(OSError, ValueError):
        url = said.readline().decode().rpartition(" ")[2].strip()
        while True:
            urllib.request.urlopen(f"{url}/sparql?query=SELECT*%7B?s%20?p%20?o%7DLIMIT%2010", timeout=10).read()


def _session(pid: int) -> set[int]:
    """The processes of a session that run."""
    found = set()
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError, IndexError):
                state, _, _, session = (folder / "stat").read_text().rpartition(")")[2].split()[:4]
                if int(session) == pid and state != "Z":
                    found.add(int(folder.name))
    return found


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _left(folder: Path, passing: Path) -> list[str]:
    """What is wrong with what there is, after another process has used the world and made the same things."""
    open_ = [
        path for path in folder.iterdir() if path.stat().st_mode & 0o077 and path.name not in ("parts", "parts.new")
    ]
    wrong = [f"others may read {path.name}" for path in open_]
    wrong += [f"others may read {path}" for path in folder.glob("parts*/*") if path.stat().st_mode & 0o077]
    with worlds.open(folder / "kb.db", embedder=None, sparql_index="disk") as world:
        if problems := world.check().problems:
            wrong.append(f"the world: {problems}")
        if len(world) not in (_QUADS, 2 * _QUADS):
            wrong.append(f"the world has {len(world)} quads")
        world.query("ASK {}")
        for target, verb in (("out.nq", world.export), ("copy.db", world.file.backup)):
            if not (folder / target).exists():
                verb(folder / target)
    if (folder / "copy.db").exists():
        with worlds.open(folder / "copy.db", embedder=None, read_only=True) as copy:
            wrong += [f"the backup: {problem}" for problem in copy.check().problems]
    expected = {"kb.db", "more.nt", "out.nq", "copy.db", "parts", "parts.new", "kb.db-sparql"}
    there = {path.name for path in folder.iterdir()}
    wrong += [f"{name} is left" for name in sorted(there - expected)]
    wrong += [f"{path.name} is left for passing use" for path in passing.iterdir()]
    index = folder / "kb.db-sparql"
    wrong += [f"{path.name} is left of the index" for path in index.glob("copy-*")] if index.exists() else []
    return wrong
