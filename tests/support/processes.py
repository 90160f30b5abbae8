"""Processes, as the system lists them."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterable
from pathlib import Path


def family(pid: int) -> list[int]:
    """The processes that one has started, and those that they have."""
    listed = subprocess.run(["ps", "-eo", "pid=,ppid=,comm="], capture_output=True, text=True, check=True).stdout
    rows = [
        (int(number), int(parent))
        for number, parent, name in (line.split(None, 2) for line in listed.splitlines())
        if name != "ps"
    ]
    found = [pid]
    for one in found:
        found += [child for child, parent in rows if parent == one]
    return found[1:]


def running(pid: int) -> bool:
    """Whether a process is there, and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def end_within(seconds: float, processes: Iterable[int]) -> bool:
    """Whether all of them are gone by then."""
    left = list(processes)
    deadline = time.monotonic() + seconds
    while left := list(filter(running, left)):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
