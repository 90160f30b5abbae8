"""A real server for the tests: a process of its own on a free port."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import httpx

from tests.support.forking import SERVE, Forked

ROOT = Path(__file__).resolve().parents[2]
EMBEDDER = "tests.support.embedder:HashingEmbedder"
_PATIENCE = 180.0  # seconds that a busy machine may take to start it, or to end it


@dataclass
class Served:
    """A server that runs: its address, its process, and what it has said."""

    url: str
    process: subprocess.Popen[str]
    log: Path

    def client(self, key: str | None = None, **options: object) -> httpx.Client:
        """A client of it, with a key or without."""
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=60, **options)  # type: ignore[arg-type]

    def logged(self, mark: str) -> str:
        """The line of the log that holds a mark; it is written after the answer."""
        deadline = time.monotonic() + _PATIENCE
        while True:
            for line in self.log.read_text().splitlines():
                if mark in line:
                    return line
            assert time.monotonic() < deadline, f"{mark} is not in the log"
            time.sleep(0.02)

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send a signal, and wait for the end; gives the exit code."""
        self.process.send_signal(number)
        return self.process.wait(30)


@contextmanager
def served(
    target: Path,
    *options: str,
    embedder: str = "none",
    environment: dict[str, str] | None = None,
    wait: bool = True,
) -> Iterator[Served]:
    """`worlds serve` with these options; it is stopped at the end, if it still runs.

    Without `wait` its processes may still be starting. It is forked from a process that has imported what it needs,
    except where a test is about how it starts.
    """
    log = target.parent / f"{target.name}.server.log"
    forked = sys.platform == "linux" and wait and not {"PYTHONPATH", "LD_PRELOAD"} & {*(environment or ())}
    program = ["-c", SERVE] if forked else ["-m", "worlds"]
    command = [sys.executable, *program, "serve", str(target), "--port", "0", "--embedder", embedder, *options]
    known = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CONFIG_HOME": str(target.parent), **(environment or {})}
    with (
        log.open("w") as errors,
        (Forked if forked else subprocess.Popen)(
            command, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=target.parent, env=known
        ) as process,
    ):
        try:
            assert process.stdout is not None
            line = _first_line(process.stdout)
            assert " at http" in line, f"the server said {line!r} and {log.read_text()!r}"
            one = Served(line.rpartition(" ")[2].strip(), process, log)
            if wait:
                one.logged("note: ready")
            yield one
        finally:
            if process.poll() is None:
                process.terminate()
                try:
                    process.wait(_PATIENCE)
                except subprocess.TimeoutExpired:
                    process.kill()
                    raise


def _first_line(stream: IO[str]) -> str:
    deadline = time.monotonic() + _PATIENCE
    ready, _, _ = select.select([stream], [], [], max(0.0, deadline - time.monotonic()))
    return stream.readline() if ready else ""
