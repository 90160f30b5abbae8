"""The process that brings a replica what its primary has. There is one for a replica, held by a lock.

The driver's `sync` holds Python's lock and has no time limit, so it has a process of its own, which a watchdog ends. It
believes the server whatever that says; so before each sync the primary is asked whether its past is the replica's: the
epoch, and the mark of the replica's own last write. Where they differ, the primary was restored or made anew, and a
whole new file is fetched beside the old one, which is then the replica.
"""

from __future__ import annotations

import contextlib
import faulthandler
import fcntl
import json
import os
import select
import shutil
import socket
import sys
import time
from pathlib import Path
from typing import Any

os.environ["RUST_LOG"] = "off"  # the driver prints otherwise; before it is imported

from worlds.errors import OpenError, WorldsError
from worlds.extras.remote.address import read_address
from worlds.extras.remote.status import LONGEST_NUDGE, Folder, Status, uptime
from worlds.sql import statements
from worlds.sql.by_libsql import replicating
from worlds.sql.hrana import Hrana

_SQL = statements("remote.sql")
POLL = 0.1  # seconds between two questions
_SYNC = 600  # seconds that a sync of what is new may take; a primary that is frozen is noticed before
_FETCH = 3600  # seconds that a fetch of the whole may take
_UNUSED = 60.0  # seconds without a user after which a follower that was started for one ends
_COMPACTION = 300.0  # seconds for which a sync is tried again: while the server compacts its log, it fails
_BELIEVED = 1.0  # seconds for which writers may say that the primary has the replica's past, and it is not asked
_IDLE = 10.0  # seconds without a write after which the primary is asked half as often
_LEAST_PAUSE = 0.8  # of a pause, what is left of it after a question: who writes would have to wait for that
_LONGEST_PAUSE = 2.0  # seconds between two attempts to reach the primary


class Replicator:
    """Keeps one replica."""

    def __init__(self, folder: Folder, address: str, token: str | None, port: int, poll: float) -> None:
        self._folder = folder
        self._token = token
        self._url = f"http://127.0.0.1:{port}"  # the forwarder's
        self._poll = poll
        of = read_address(address)
        self._server = Hrana(of.base, of.name, token, timeout=5.0)
        known = folder.read()
        self._status = known if known is not None and known.address == str(of) else Status(str(of))
        self._status.error, self._status.started = None, uptime()
        self._status.process, self._status.supervisor = os.getpid(), os.getppid()
        self._wake = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._wake.bind(("127.0.0.1", 0))
        self._wake.setblocking(False)
        self._status.port = self._wake.getsockname()[1]
        self._driver: Any = None
        self._written: dict[str, Any] = {}
        self._mark: str | None = None  # of the replica's last write
        self._nudged: dict[Any, object] = {}  # who waits for a look, and the number of what was asked
        self._agreed = False  # whether a writer has found that the primary has the replica's last write
        self._asked_at = 0.0
        self._moved = time.monotonic()  # when the replica last changed, or somebody wanted it to

    def run(self, parent: int, *, while_used: bool) -> None:
        """Follow until the parent is gone, or nobody uses the replica any longer."""
        self._open()
        pause, looked, used = self._poll, 0.0, time.monotonic()
        while os.getppid() == parent:
            began = time.monotonic()
            try:
                self._follow()
                self._status.error, self._status.refused = None, False
                pause = self._poll * (1 if time.monotonic() - self._moved < _IDLE else 2)
            except (WorldsError, ValueError, OSError) as error:
                self._status.error = str(error)
                self._status.refused = "refuses the token" in str(error) or "no such world" in str(error)
                pause = min(pause * 2, _LONGEST_PAUSE)
            self._tell()
            if while_used and time.monotonic() - looked > _UNUSED / 12:
                looked = time.monotonic()
                used = looked if _in_use(self._folder) else used
                if looked - used > _UNUSED:
                    return
            self._answer()
            self._await_nudge(max(pause - (time.monotonic() - began), pause * _LEAST_PAUSE))

    def _await_nudge(self, pause: float) -> None:
        """Wait for the next look: `pause` seconds, or until somebody asks for it."""
        self._agreed = False
        if not select.select([self._wake], [], [], pause)[0]:
            return
        self._moved = time.monotonic()
        last = [self._status.writes, self._mark, self._status.epoch]
        with contextlib.suppress(BlockingIOError):
            while True:
                told, sender = self._wake.recvfrom(LONGEST_NUDGE)
                with contextlib.suppress(ValueError, TypeError):
                    number, agreed = json.loads(told)
                    self._nudged[sender] = number
                    self._agreed |= agreed == last

    def _answer(self) -> None:
        """Notify the processes that asked for an update that the primary was read."""
        for sender, number in self._nudged.items():
            with contextlib.suppress(OSError):
                self._wake.sendto(json.dumps(number).encode(), sender)
        self._nudged.clear()

    def _tell(self) -> None:
        told = vars(self._status).copy()
        if told != self._written:
            self._folder.write(self._status)
            self._written = told

    # -- the file -------------------------------------------------------------------------------------------------

    def _path(self) -> Path:
        return self._folder.generation(self._status.generation)

    def _open(self) -> None:
        """Open the replica of an earlier follower if it is whole; and remove files that nothing links to."""
        target = self._folder.replica.resolve() if self._folder.replica.is_symlink() else None
        if target is not None and target.stem.isdigit():
            self._status.generation = int(target.stem)
        for file in self._folder.path.glob("[0-9]*.db*"):
            if target is None or not file.name.startswith(target.name):
                _remove(file)
        index = Path(f"{target}-client_wal_index")
        if target is None or not target.exists() or not index.exists() or not index.stat().st_size:
            return
        try:
            self._connect(target)
            self._look()
        except (WorldsError, ValueError):
            self._driver = None

    def _connect(self, path: Path) -> None:
        self._driver = replicating(str(path), self._url, self._token or "")

    def _look(self) -> None:
        """Read from the replica where it is, after it changed."""
        self._moved = time.monotonic()
        found = self._driver.execute(_SQL["last_write"].sql).fetchall()
        ((self._status.writes, self._mark, self._status.epoch),) = found or []
        found = self._driver.execute("SELECT coalesce(max(revision), 0) FROM revisions").fetchall()
        self._status.revision = found[0][0]

    def _follow(self) -> None:
        """Ask, and sync or fetch as need be."""
        status = self._status
        if self._agreed and self._driver is not None and time.monotonic() - self._asked_at < _BELIEVED:
            self._sync(self._driver, _SYNC)
            self._look()
            return
        number, epoch, mark = self._asked(status.writes)
        self._asked_at = time.monotonic()
        if (
            self._driver is None
            or epoch != status.epoch
            or number < status.writes
            or (status.writes and mark != self._mark)
        ):
            self._fetch()
        elif number > status.writes:
            self._sync(self._driver, _SYNC)
            self._look()
            if status.writes < number:
                return  # it is not through yet
        self._folder.agree()

    def _asked(self, number: int) -> tuple[int, str | None, str | None]:
        """The primary's last write, its epoch, and the mark that it has for a number."""
        try:
            ((last, epoch, mark),) = self._server.rows(_SQL["agree"].sql, (number,))
        except WorldsError as error:
            if "no such table" in str(error):
                raise OpenError(
                    f"{self._server.named} exists, but is not a world: make it one by `worlds remote push FILE`"
                ) from error
            raise
        return int(last), epoch, mark

    def _fetch(self) -> None:
        """Fetch the whole into a new file, and make it the replica."""
        status = self._status
        number = status.generation + 1
        path = self._folder.generation(number)
        for file in self._folder.path.glob(f"{path.name}*"):
            _remove(file)
        before, self._driver = self._driver, None
        self._connect(path)
        try:
            self._sync(self._driver, _FETCH)
            self._look()
        except BaseException:
            self._driver = before
            raise
        link = self._folder.path / "link"
        link.unlink(missing_ok=True)
        link.symlink_to(os.path.relpath(path, self._folder.replica.parent))
        link.replace(self._folder.replica)
        for file in self._folder.path.glob(f"{status.generation}.db*"):
            _remove(file)
        status.generation = number
        status.fetched += 1

    @staticmethod
    def _sync(connection: Any, limit: int) -> None:
        until = time.monotonic() + _COMPACTION
        while True:
            faulthandler.dump_traceback_later(limit, exit=True)  # the whole process, by a thread that needs no lock
            try:
                connection.sync()
                return
            except ValueError as error:
                if "snapshot" not in str(error).lower() or time.monotonic() > until:
                    raise OpenError(f"the primary cannot be followed: {error}") from error
                time.sleep(0.1)
            finally:
                faulthandler.cancel_dump_traceback_later()


def _remove(path: Path) -> None:
    """Remove a file of a generation, or the folder of its SPARQL index; other processes may be removing its content."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _in_use(folder: Folder) -> bool:
    """Whether somebody has the replica open."""
    try:
        with folder.users.open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return False
    except OSError:
        return True


def main() -> None:
    """Run `python -m worlds.extras.remote.replica_process`, with its arguments as JSON on standard input."""
    told = json.loads(sys.stdin.readline())
    folder = Folder(Path(told["replica"]))
    replicator = Replicator(folder, told["address"], told["token"], told["port"], told["poll"])
    replicator.run(os.getppid(), while_used=told["while_used"])


if __name__ == "__main__":
    main()
