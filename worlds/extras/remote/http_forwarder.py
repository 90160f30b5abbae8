"""A small forwarder of HTTP/1.1, which changes the heads of requests on their way.

The driver of a replica names a world by the first label of the host that it connects to, and by nothing else. So it
connects to a forwarder on this machine, which puts the name in its place, and speaks TLS where the server does.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable
from typing import BinaryIO, TypeAlias

from worlds.extras.remote.address import Address
from worlds.sql.hrana import namespace

Head: TypeAlias = list[bytes]
"""The lines of a request's head, each with its end."""

_BLOCK = 65_536
_CONNECT = 5.0  # seconds
_LONGEST_HEAD = 65_536  # bytes


def naming(address: Address) -> Callable[[Head], Head]:
    """A function that addresses the head of a request to this world."""
    host = address.host if address.port in (80, 443) else f"{address.host}:{address.port}"
    name = address.name or address.host.partition(".")[0]
    own = [f"host: {host}\r\n".encode(), f"x-namespace-bin: {namespace(name)}\r\n".encode()]
    gone = (b"host:", b"x-namespace-bin:")

    def named(head: Head) -> Head:
        return [head[0], *own, *(line for line in head[1:] if not line.lower().startswith(gone))]

    return named


class Forwarder:
    """Listens on this machine, and forwards requests, as rewritten by `change`, to a server, until closed."""

    def __init__(
        self,
        address: Address,
        change: Callable[[Head], Head],
        *,
        answer: Callable[[Head, BinaryIO], bytes | None] | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
    ) -> None:
        self._address = address
        self._change = change
        self._answer = answer  # what is answered here, by the head and the body
        self._server = socket.create_server((host, port))
        self.port: int = self._server.getsockname()[1]
        threading.Thread(target=self._accept, name="worlds-forwarder", daemon=True).start()

    def close(self) -> None:
        """Listen no longer."""
        _end(self._server)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), name="worlds-forward", daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with contextlib.ExitStack() as stack:
            stack.enter_context(contextlib.suppress(OSError, ValueError))
            stack.callback(_end, client)
            try:
                server = socket.create_connection((self._address.host, self._address.port), _CONNECT)
            except OSError:
                _head(client.makefile("rb"))
                client.sendall(
                    b"HTTP/1.1 503 -\r\ncontent-length: 23\r\nconnection: close\r\n\r\nthe server is not there"
                )
                raise
            stack.callback(_end, server)
            server.settimeout(None)
            for one in (client, server):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._address.scheme == "https":
                server = ssl.create_default_context().wrap_socket(server, server_hostname=self._address.host)
                stack.callback(_end, server)
            threading.Thread(target=_copy, args=(server, client), name="worlds-answers", daemon=True).start()
            with client.makefile("rb") as requests:
                while head := _head(requests):
                    told = None if self._answer is None else self._answer(head, requests)
                    if told is not None:
                        client.sendall(told)  # and closed: what follows would be read as the body
                        return
                    server.sendall(b"".join([*self._change(head), b"\r\n"]))
                    _body(requests, server, head)


def _head(requests: BinaryIO) -> Head:
    lines: Head = []
    length = 0
    while (line := requests.readline(_LONGEST_HEAD)) not in (b"\r\n", b""):
        lines.append(line)
        length += len(line)
        if length > _LONGEST_HEAD:
            raise ValueError("the head of a request is too long")
    return lines


def fields_of(head: Head) -> dict[bytes, bytes]:
    """The fields of a head, their names in lower case."""
    return {name.strip().lower(): value.strip() for name, _, value in (line.partition(b":") for line in head[1:])}


def _body(requests: BinaryIO, server: socket.socket, head: Head) -> None:
    fields = fields_of(head)
    if b"chunked" in fields.get(b"transfer-encoding", b"").lower():
        while True:
            size = requests.readline(_LONGEST_HEAD)
            length = int(size.split(b";")[0], 16)
            server.sendall(size)
            _copy_bytes(requests, server, length + 2)
            if not length:
                return
    _copy_bytes(requests, server, int(fields.get(b"content-length", b"0")))


def _copy_bytes(source: BinaryIO, target: socket.socket, count: int) -> None:
    while count:
        block = source.read(min(count, _BLOCK))
        if not block:
            raise ValueError("a request was cut")
        target.sendall(block)
        count -= len(block)


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while block := source.recv(_BLOCK):
            target.sendall(block)
    _end(source)
    _end(target)


def _end(one: socket.socket) -> None:
    with contextlib.suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()
