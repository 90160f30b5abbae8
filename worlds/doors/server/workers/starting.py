"""Starts the process of a template, which may import what workers need while the server still imports its own."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

MODULES = (
    "worlds.doors.server.protocols.sparql_jobs",
    "worlds.doors.server.protocols.graph_jobs",
    "worlds.doors.server.protocols.reconciliation_jobs",
    "worlds.doors.server.api.jobs",
    "worlds.doors.server.api.files",
)
"""The modules that define the jobs of the server."""

_START = """
import signal
signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal reaches it, too, while it still imports
try:
    from worlds.doors.server.workers.template import main
except ModuleNotFoundError:  # the server imports the same, and says what to install
    raise SystemExit(1) from None
main()
"""

Started: TypeAlias = tuple["subprocess.Popen[bytes]", socket.socket]

_begun: list[Started] = []  # with the modules of the server, until it is asked for


@contextlib.contextmanager
def begun() -> Iterator[None]:
    """Start a template for the first server that asks for one; it is stopped at the end of the block."""
    if sys.platform != "linux":
        yield
        return
    _begun.append(start(MODULES))
    try:
        yield
    finally:
        while _begun:
            process, end = _begun.pop()
            with end:
                process.kill()
            process.wait()


def started(modules: Sequence[str]) -> Started:
    """The process of a template, and our end of the socket to it."""
    return _begun.pop() if _begun and tuple(modules) == MODULES else start(modules)


def start(modules: Sequence[str]) -> Started:
    """Start a template."""
    ours, theirs = socket.socketpair()
    try:
        with theirs:
            process = subprocess.Popen([*python(_START), *modules], stdin=theirs.fileno(), env=environment())
    except BaseException:
        ours.close()
        raise
    ours.setblocking(False)
    return process, ours


def python(code: str) -> list[str]:
    """The command that runs code in a Python like this one."""
    return [sys.executable, "-P", "-c", code]


def environment() -> dict[str, str]:
    """The environment in which it finds the same modules."""
    path = [str(Path(entry).resolve()) for entry in sys.path]  # "" is the current folder
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
