"""Builds the SPARQL index of a large world in a process beside the one that wrote it, for which nobody waits.

It reads one state of the file, as any other reader, and publishes a generation of the cache, as any process that
builds one: killed, it leaves a copy that the next process sweeps. It outlives the process that started it. A thread
would not do: making the quads holds Python's lock.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from threading import Thread

_START = "from worlds.core.sparql.index import build; build()"


class IndexBuilder:
    """Starts the processes that bring the cache of one world up to date, one after another."""

    def __init__(self, file: str, driver: str) -> None:
        self._given = file, driver
        self._thread: Thread | None = None
        self._wanted = False

    def start(self) -> None:
        """Have a process build the index of what the file has now; a running one is waited for, by a thread."""
        self._wanted = True
        if self._thread is None or not self._thread.is_alive():
            self._thread = Thread(target=self._run, name="SPARQL index", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while self._wanted:
            self._wanted = False
            os.waitpid(self._spawned(), 0)

    def _spawned(self) -> int:
        path = os.pathsep.join(str(Path(entry).resolve()) for entry in sys.path)  # "" is the current folder
        quiet = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_RDWR, 0) for stream in range(3)]
        command = (sys.executable, "-P", "-c", _START, *self._given)
        # A group of its own: an interrupt at the terminal is not meant for it.
        return os.posix_spawn(
            sys.executable, command, {**os.environ, "PYTHONPATH": path}, file_actions=quiet, setpgroup=0
        )
