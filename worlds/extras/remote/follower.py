"""The follower of a replica: it holds the lock, forwards to the server, and keeps the process that syncs running."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from worlds.errors import ConflictError
from worlds.extras.remote.address import TOKEN, read_address
from worlds.extras.remote.primary import Forwarder, naming
from worlds.extras.remote.status import Folder

POLL = 0.1  # seconds
_started: list[int] = []  # by this process; those that ended are waited for when another is started
_LOOK = 0.1  # seconds between two looks at how it stands
_PAUSE = 0.5  # seconds before a process that died is started again


def follow(
    address: str,
    replica: Path,
    token: str | None,
    *,
    poll: float = POLL,
    while_used: bool = False,
    tell: Callable[[str | None], None] | None = None,
) -> None:
    """Keep a replica in step with its primary, until the process is ended.

    `tell` is called with why it cannot follow, and with None when it can: at first, and whenever that changes.
    ConflictError if another process does it already: two would damage the replica. With `while_used` it ends a minute
    after nobody has the replica open any longer.
    """
    import fcntl

    of = read_address(address)
    folder = Folder(replica)
    folder.make()
    with folder.lock.open("a") as held:
        until = time.monotonic() + 1.0  # others look for a moment whether it is held
        while True:
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError as error:
                if time.monotonic() > until:
                    status = folder.read()
                    who = "" if status is None else f", process {status.process}"
                    raise ConflictError(f"{replica} is followed already{who}; two followers would damage it") from error
            time.sleep(0.02)
        forwarder = Forwarder(of, naming(of))
        told = {
            "replica": str(replica),
            "address": address,
            "token": token,
            "port": forwarder.port,
            "poll": poll,
            "while_used": while_used,
        }
        while True:
            child = subprocess.Popen(
                [sys.executable, "-m", "worlds.extras.remote.replica_process"],
                stdin=subprocess.PIPE,
                text=True,
                pass_fds=(held.fileno(),),  # the lock is held as long as anything syncs, whatever ends this process
            )
            with _ending(child):
                assert child.stdin is not None
                with contextlib.suppress(OSError):
                    child.stdin.write(json.dumps(told) + "\n")
                    child.stdin.flush()
                if tell is not None:
                    _tell(child, folder, tell)
                if child.wait() == 0:
                    return
            time.sleep(_PAUSE)


def _tell(child: subprocess.Popen[str], folder: Folder, tell: Callable[[str | None], None]) -> None:
    """Tell how a process that syncs stands, until it ends."""
    told: object = tell
    while child.poll() is None:
        status = folder.read()
        known = status is not None and status.process == child.pid
        if status is not None and known and (status.error is not None or folder.seen_since(status.started)):
            if status.error != told:
                tell(status.error)
            told = status.error
        time.sleep(_LOOK)


@contextlib.contextmanager
def _ending(child: subprocess.Popen[str]) -> Iterator[None]:
    """End the child with this process, where that ends in an orderly way; else it notices by itself."""

    def stop(*_: object) -> None:
        raise SystemExit(0)

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
        if child.poll() is None:
            child.kill()
            child.wait()


def start(address: str, replica: Path, token: str | None) -> None:
    """Start a follower of its own, unless there is one; it ends when nobody uses the replica any longer."""
    folder = Folder(replica)
    folder.make()
    environment = {**os.environ, TOKEN: token or ""}
    _started[:] = [process for process in _started if not _ended(process)]
    command = [sys.executable, "-m", "worlds.extras.remote.follower", address, str(replica)]
    with folder.log.open("ab") as log:
        files = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, log.fileno(), 1),
            (os.POSIX_SPAWN_DUP2, log.fileno(), 2),
        ]
        _started.append(os.posix_spawn(sys.executable, command, environment, file_actions=files, setsid=True))


def _ended(process: int) -> bool:
    """Whether a process that was started here has ended; it is waited for then."""
    try:
        return os.waitpid(process, os.WNOHANG)[0] == process
    except ChildProcessError:  # it is another process's
        return True


if __name__ == "__main__":
    with contextlib.suppress(ConflictError):  # another one was first
        follow(sys.argv[1], Path(sys.argv[2]), os.environ.get(TOKEN) or None, while_used=True)
