"""A follower's report on its replica, in a file beside it; and the request to look at once."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import select
import socket
import struct
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from worlds.core.file.opening import REPLICAS
from worlds.permissions import believe, private_folder

try:
    import fcntl
except ImportError:  # Windows has no such lock, and no replicas: the server and the commands look here all the same
    fcntl = None  # type: ignore[assignment]

Event: TypeAlias = Literal["conflicts", "retries"]

LONGEST_NUDGE = 1024  # bytes
_AGREED = struct.Struct("<36sdd")  # the boot, the seconds by `uptime`, and those by the clock of the wall
_SILENT = 1.0  # seconds after which a follower may be one that cannot write
_LITTLE = 65_536  # bytes with which it cannot
_LONGEST_WAIT = 0.5  # seconds for a follower's answer; it may have died, or be at work


@dataclass(frozen=True)
class Replica:
    """How a replica stands to its primary."""

    address: str
    revision: int
    writes: int  # of any kind, embeddings and settings too, that the replica has
    age: float  # seconds since it had, for certain, all that the primary had
    error: str | None  # why its follower cannot follow, None while it can
    fetched: int  # how often the whole was fetched
    process: int  # the follower's
    frames: int = 0  # pages that came since the whole was fetched, that included
    conflicts: int = 0  # writes by way of this replica that another writer was faster than
    retries: int = 0  # verbs that were done anew for that


@dataclass
class Status:
    """The report that the follower writes."""

    address: str
    process: int = 0
    supervisor: int = 0  # the process that keeps that one running
    port: int = 0  # UDP, where it can be told to look at once
    started: float = 0.0  # when that process was, by `uptime`
    generation: int = 0
    fetched: int = 0
    writes: int = 0
    revision: int = 0
    epoch: str | None = None
    error: str | None = None
    refused: bool = False  # whether the error will not go away by itself


class Folder:
    """The folder beside a replica."""

    def __init__(self, replica: Path) -> None:
        self.replica = replica
        self.path = replica.with_name(replica.name + REPLICAS)
        self.lock = self.path / "lock"
        self.users = self.path / "users"
        self.log = self.path / "log"
        self._status = self.path / "status.json"
        self._agreed = self.path / "agreed"

    def make(self) -> None:
        """Make it, for this user alone, unless it is there; OpenError if a stranger may have put it there."""
        private_folder(self.path, self.path.parent)

    def generation(self, number: int) -> Path:
        """The file of a generation of the replica; the replica is a link to the newest."""
        return self.path / f"{number}.db"

    def write(self, status: Status) -> None:
        """Keep the status."""
        draft = self._status.with_suffix(".new")
        draft.write_text(json.dumps(asdict(status)), encoding="utf-8")
        draft.replace(self._status)

    def read(self) -> Status | None:
        """The status; None where there is none. OpenError if a stranger may have written it."""
        believe(self.path, self.path.parent)
        try:
            return Status(**json.loads(self._status.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    def agree(self) -> None:
        """Note that the replica has all that the primary has, now."""
        file = os.open(self._agreed, os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            os.write(file, _AGREED.pack(_boot(), uptime(), time.time()))
        finally:
            os.close(file)

    def seen_since(self, moment: float) -> bool:
        """Whether the replica has had all that the primary had since then, by `uptime`."""
        boot, agreed, _ = self._when()
        return boot == _boot() and agreed >= moment

    def age(self) -> float:
        """Seconds since the replica last had all that the primary had; infinite where it never did."""
        boot, agreed, wall = self._when()
        return max(uptime() - agreed if boot == _boot() else time.time() - wall, 0.0)

    def _when(self) -> tuple[bytes, float, float]:
        try:
            boot, agreed, wall = _AGREED.unpack(self._agreed.read_bytes())
        except (OSError, struct.error):
            return _boot(), float("-inf"), float("-inf")
        return boot, agreed, wall

    def followed(self) -> bool:
        """Whether a follower holds the lock."""
        with self.lock.open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except OSError:
                return True
            return False

    def count(self, event: Event) -> None:
        """Count an event, for all processes: a file of each kind has a byte for every one."""
        with contextlib.suppress(OSError), (self.path / event).open("ab") as file:  # no write fails for this
            file.write(b".")

    def counted(self, event: Event) -> int:
        """How many there were."""
        try:
            return (self.path / event).stat().st_size
        except OSError:
            return 0

    def frames(self) -> int:
        """The number of the last page that came, by the driver's own index; 0 where there is none."""
        try:
            with open(f"{os.path.realpath(self.replica)}-client_wal_index", "rb") as file:  # noqa: PTH123  # no suffix
                index = file.read(24)
        except OSError:
            return 0
        return int.from_bytes(index[16:24], "little") if len(index) == 24 else 0

    def hindrance(self, status: Status) -> str | None:
        """Why the replica cannot follow; None while it can. On a full disk a follower cannot write why."""
        if status.error is None and self.age() > _SILENT:
            disk = os.statvfs(self.path)
            if disk.f_bavail * disk.f_frsize < _LITTLE:
                return f"the disk that {self.replica} is on is full: make room, and it goes on"
        return status.error

    def told(self) -> Replica | None:
        """How the replica stands to its primary."""
        status = self.read()
        if status is None:
            return None
        return Replica(
            status.address,
            status.revision,
            status.writes,
            self.age(),
            self.hindrance(status),
            status.fetched,
            status.process,
            self.frames(),
            self.counted("conflicts"),
            self.counted("retries"),
        )


def uptime() -> float:
    """Seconds by a clock that all processes of the machine share, and that nobody sets."""
    boot = getattr(time, "CLOCK_BOOTTIME", None)  # Linux: it goes on while the machine sleeps
    return time.monotonic() if boot is None else time.clock_gettime(boot)


@functools.cache
def _boot() -> bytes:
    """An id of this start of the machine, where the system has one."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_bytes()[:36]
    except OSError:
        return bytes(36)


def replica_at(path: str) -> tuple[str, Path] | None:
    """The address and the replica that a path is of, the replica's own or that of its file; None where it is none."""
    replica = Path(path)
    if replica.parent.name.endswith(REPLICAS):
        replica = replica.parent.with_name(replica.parent.name.removesuffix(REPLICAS))
    status = Folder(replica).read()
    return None if status is None else (status.address, replica)


def alive(process: int) -> bool:
    """Whether a process of this number is there."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return process > 0


class Nudge:
    """Tells a follower to look at once, and waits until it has, a moment at most.

    With the replica's last write, if the primary is known to have it, the follower brings what is new without asking.
    """

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._port = 0
        self._looked = 0.0
        self._told = 0

    def __call__(self, agreed: tuple[object, ...] | None = None) -> None:
        """Tell it."""
        now = time.monotonic()
        if now - self._looked > 0.5:  # it may be another one by now
            self._looked = now
            status = self._folder.read()
            self._port = 0 if status is None else status.port
        self._told += 1
        until = now + _LONGEST_WAIT
        with contextlib.suppress(OSError):
            if self._port:
                self._socket.sendto(json.dumps([self._told, agreed]).encode(), ("127.0.0.1", self._port))
            while select.select([self._socket], [], [], max(until - time.monotonic(), 0.0))[0]:
                if json.loads(self._socket.recv(LONGEST_NUDGE)) == self._told:
                    return

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()
