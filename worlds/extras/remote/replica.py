"""Opens a world on a server, and the world of its memories, by their replicas here."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import IO

from worlds.core.file.opening import version_of
from worlds.errors import OpenError, SchemaError, WorldsError
from worlds.extras.remote.address import TOKEN, Address, cached_replica, read_address
from worlds.extras.remote.follower import start
from worlds.extras.remote.status import Folder, Nudge, Replica, alive
from worlds.sql import SCHEMA_VERSION
from worlds.sql.hrana import Hrana
from worlds.sql.replica_writes import LastWrite, RecordingConnection

_WATCHED = 1.0  # seconds between two looks whether there is a follower
_FIRST = 600.0  # seconds for the first fetch, while the follower has no error
MEMORY_TOKEN = "WORLDS_MEMORY_TOKEN"
"""The environment's variable that has the token of the world with the memories, where another one opens it."""
SUFFIX = "-memory"
"""The end of the name of the world that has another world's memories."""


class ReplicaConnection(RecordingConnection):
    """A connection to a replica that is followed, by a process that is started where there is none."""

    def __init__(
        self,
        address: Address,
        replica: Path,
        token: str | None,
        *,
        max_staleness: float | None,
        timeout: float,
        read_only: bool,
    ) -> None:
        self.address = address
        self.token = token
        self.folder = Folder(replica)
        self.folder.make()
        self._max_staleness = max_staleness
        self._users: IO[str] = self.folder.users.open("a")
        fcntl.flock(self._users, fcntl.LOCK_SH)
        self._looked = 0.0
        self._nudge_follower = Nudge(self.folder)
        try:
            self.see_to_follower()
            self._await_file(timeout)
        except BaseException:
            self._nudge_follower.close()
            self._users.close()
            raise
        super().__init__(
            str(replica),
            Hrana(address.base, address.name, token, timeout=max(timeout, 1.0)),
            nudge=self._nudged,
            lagging=self._check_age,
            timeout=timeout,
            read_only=read_only,
        )

    def close(self) -> None:
        """Close the connection; the follower goes on for a while."""
        super().close()
        self._primary.close()
        self._nudge_follower.close()
        self._users.close()

    def dismiss(self) -> None:
        """End the follower, whoever else uses the replica."""
        status = self.folder.read()
        if status is not None and status.supervisor:
            with contextlib.suppress(ProcessLookupError):
                os.kill(status.supervisor, signal.SIGTERM)

    @property
    def location(self) -> str:
        """The world's address."""
        return str(self.address)

    @property
    def replica(self) -> Replica | None:
        """How the replica stands to its primary."""
        return self.folder.told()

    def count_conflict(self) -> None:
        """Count it, for all who look at the replica."""
        self.folder.count("conflicts")

    def retried(self) -> None:
        """Count a verb that is done anew."""
        self.folder.count("retries")

    def hindrance(self) -> str | None:
        """Why nothing comes; None while there is a follower that can follow."""
        status = self.folder.read()
        if status is None or not alive(status.process):
            told = None if status is None else self.folder.hindrance(status)
            return told or f"no follower runs; {self.folder.log} may say why"
        return self.folder.hindrance(status)

    def _nudged(self, agreed: LastWrite | None = None) -> None:
        self._nudge_follower(agreed)
        if time.monotonic() - self._looked > 1.0:
            self.see_to_follower()

    def see_to_follower(self) -> None:
        """Start a follower where there is none."""
        self._looked = time.monotonic()
        if not self.folder.followed():
            start(str(self.address), self.folder.replica, self.token)

    def _await_file(self, timeout: float) -> None:
        """Wait for the first fetch, and until the follower has seen that the file is whole, or cannot tell.

        OpenError with the follower's own error where there is no file.
        """
        began = time.monotonic()
        while True:
            status, waited = self.folder.read(), time.monotonic() - began
            there = self.folder.replica.exists()
            following = status is not None and alive(status.process)
            error = status.error if status is not None and following else None
            seen = status is not None and following and self.folder.seen_since(status.started)
            if there and (seen or error is not None or waited > max(timeout, 20.0)):
                return
            if error is not None and status is not None and not there and (status.refused or waited > timeout):
                raise OpenError(f"{self.address} cannot be opened: {error}")
            if waited > _FIRST or (status is None and waited > max(timeout, 20.0)):
                raise OpenError(f"{self.address} cannot be opened: its follower does not start; see {self.folder.log}")
            if time.monotonic() - self._looked > 3.0:
                self.see_to_follower()
            time.sleep(0.01)

    def _check_age(self) -> None:
        """OpenError if the replica is older than it may be."""
        if time.monotonic() - self._looked > 5.0:
            self.see_to_follower()
        if self._max_staleness is None:
            return
        until = time.monotonic() + self.timeout
        while (age := self.folder.age()) > self._max_staleness:
            if time.monotonic() > until:
                told = self.replica
                why = "" if told is None or told.error is None else f": {told.error}"
                raise OpenError(
                    f"{self.path} is {age:.1f} seconds behind {self.address}, more than {self._max_staleness:g}{why}"
                )
            self._nudged()


@contextlib.contextmanager
def followed(url: str, replica: str | os.PathLike[str] | None, token: str | None = None) -> Iterator[Path]:
    """Have a world on a server followed while the block runs; gives where the replica lies.

    OpenError where there is not a replica yet, and none can be fetched.
    """
    connection = open_replica(url, replica=replica, token=token, max_staleness=None, timeout=10.0, read_only=True)
    over = threading.Event()

    def watch() -> None:
        while not over.wait(_WATCHED):
            with contextlib.suppress(WorldsError, OSError):
                connection.see_to_follower()
                connection.reopen()  # else a file that was replaced would stay on the disk

    watching = threading.Thread(target=watch, name="worlds-following", daemon=True)
    watching.start()
    try:
        yield connection.folder.replica
    finally:
        over.set()
        watching.join()
        connection.close()


def open_replica(
    url: str,
    *,
    replica: str | os.PathLike[str] | None,
    token: str | None,
    max_staleness: float | None,
    timeout: float,
    read_only: bool,
) -> ReplicaConnection:
    """A connection to the world at `url`; see `worlds.open` for the errors."""
    address = read_address(url)
    if max_staleness is not None and (isinstance(max_staleness, bool) or not max_staleness > 0):
        raise ValueError(f"max_staleness must be a number of seconds above 0, not {max_staleness!r}")
    path = Path(cached_replica(address) if replica is None else replica).absolute()
    if path.exists() and not path.is_symlink():
        raise OpenError(f"{path} is a file of its own, not a replica: give another path, or `worlds remote push` it")
    path.parent.mkdir(parents=True, exist_ok=True)
    told = Folder(path).read()
    if told is not None and told.address != str(address):
        raise OpenError(f"{path} is a replica of {told.address}, not of {address}")
    connection = ReplicaConnection(
        address,
        path,
        token or os.environ.get(TOKEN) or None,
        max_staleness=max_staleness,
        timeout=timeout,
        read_only=read_only,
    )
    try:
        version = version_of(connection, str(address))
        if version != SCHEMA_VERSION:
            raise SchemaError(
                f"{address} has schema {version}, this library has {SCHEMA_VERSION}: `worlds remote pull` it, open the "
                "copy once with the newer library, and `worlds remote push` that"
            )
        connection.identify()
    except BaseException:
        connection.close()
        raise
    return connection


def open_memories(world: ReplicaConnection) -> ReplicaConnection:
    """A connection to the world with the memories of another one, by a replica beside that one's.

    OpenError where the server has none, or the token does not open it, with the remedy.
    """
    address = replace(world.address, name=f"{world.address.name or ''}{SUFFIX}")
    replica = world.folder.replica
    try:
        return open_replica(
            str(address), replica=replica.with_name(f"{replica.stem}{SUFFIX}{replica.suffix}"),
            token=os.environ.get(MEMORY_TOKEN) or world.token, max_staleness=None, timeout=world.timeout,
            read_only=world.read_only,
        )  # fmt: skip
    except OpenError as error:
        raise OpenError(
            f"the memories of {world.address} are the world {address}, which cannot be opened: {error}. Who has the "
            f"server's key makes it once, `worlds remote push empty.db {address}`; a token of its own stands in "
            f"{MEMORY_TOKEN}"
        ) from error
