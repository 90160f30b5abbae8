"""Ends a process with the one that forked it, however that ended: SIGKILL leaves nobody who could end it.

PR_SET_PDEATHSIG would not do: it ends a child with the thread that forked it, which may end long before the process.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import threading
from weakref import WeakSet

if sys.platform != "win32":
    import fcntl


class Tie:
    """A pipe between a process and one that it forks next, which is killed as soon as nobody holds this end."""

    def __init__(self) -> None:
        self._theirs, self._ours = os.pipe()
        _ties.add(self)

    def hold(self) -> None:
        """In the child: end as soon as the parent has, or has let go."""
        if sys.platform == "linux":  # the kernel does it, whatever this process is busy with
            fcntl.fcntl(self._theirs, fcntl.F_SETOWN, os.getpid())
            fcntl.fcntl(self._theirs, fcntl.F_SETSIG, signal.SIGKILL)
            fcntl.fcntl(self._theirs, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
            if select.select([self._theirs], [], [], 0)[0]:  # it ended before
                os._exit(1)
        else:
            threading.Thread(target=self._wait, daemon=True).start()

    def _wait(self) -> None:
        with contextlib.suppress(OSError):
            os.read(self._theirs, 1)
        os._exit(1)

    def release(self) -> None:
        """In the parent: let go of the child."""
        held = self._theirs, self._ours
        self._theirs = self._ours = -1  # before they are closed, for what another thread forks meanwhile
        _ties.discard(self)
        for descriptor in held:
            with contextlib.suppress(OSError):
                os.close(descriptor)

    def forked(self) -> None:
        """In any process that was forked meanwhile: hold nobody else's tie."""
        if self._ours >= 0:
            os.close(self._ours)
            self._ours = -1


_ties: WeakSet[Tie] = WeakSet()


def _let_go() -> None:
    for tie in list(_ties):
        tie.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go)
