"""How much memory this process may still take."""

from __future__ import annotations

import os
import sys
from pathlib import Path

if sys.platform != "win32":
    import resource


def room() -> int:
    """Bytes that the machine has free for programs, and this process may take; 0 where nobody says."""
    return min(_free(), _allowed())


def _free() -> int:
    try:
        for line in Path("/proc/meminfo").read_text("ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return 0


def _allowed() -> int:
    """Bytes left below RLIMIT_DATA, which the server sets while a request is answered."""
    if sys.platform == "win32":
        return 0
    limit = resource.getrlimit(resource.RLIMIT_DATA)[0]
    if limit == resource.RLIM_INFINITY:
        return 2**62
    try:
        held = next(
            int(line.split()[1]) * 1024
            for line in Path("/proc/self/status").read_text("ascii").splitlines()
            if line.startswith("VmData:")
        )
    except (OSError, StopIteration):
        return 0
    return max(limit - held, 0)
