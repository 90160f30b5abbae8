"""Who may: keys, anonymous reads and writes, host names, origins."""

from __future__ import annotations

import base64
import binascii
import ipaddress
import logging
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Send
from starlette.types import Scope as ASGIScope

from worlds.doors.server.configuration import ServerSettings
from worlds.doors.server.keys import KeyStore, Principal, check_graphs
from worlds.doors.server.listening import is_loopback
from worlds.doors.server.problem_documents import Busy, Forbidden, HttpProblem, Unauthorized, WrongHost
from worlds.errors import OpenError, WorldsError
from worlds.verbs.verb import LEVELS, Level

ANONYMOUS = Principal(None)

_log = logging.getLogger("worlds.doors.server")


def check_settings(settings: ServerSettings, keys: KeyStore) -> None:
    """WorldsError, naming the remedy, for settings under which strangers could do harm; OpenError for a file of keys
    that cannot be read.
    """
    if settings.allow_writes and not settings.loopback:
        raise WorldsError(
            f"anonymous writes are for loopback addresses only, not for {settings.host}: drop --allow-writes, and make "
            "a key with the level write by `worlds keys add`"
        )
    check_graphs(settings.graphs)
    require_keys(settings.host, keys)


def require_keys(host: str, keys: KeyStore) -> None:
    """WorldsError where other machines reach the host and there is no valid key; OpenError if keys cannot be read."""
    valid = any(key.state() == "valid" for key in keys.all())
    if not valid and not is_loopback(host):
        raise WorldsError(
            f"{host} can be reached from other machines, so keys are needed, and there is no valid one in "
            f"{keys.path}: make one by `worlds keys add`, or serve on 127.0.0.1"
        )


def identify(given: Sequence[str], keys: KeyStore) -> Principal:
    """The principal of Authorization headers; Unauthorized for an unknown, expired or revoked key.

    A key is sent as a bearer token, or as the password of Basic authentication, whose user name says nothing.
    OpenError if keys cannot be read.
    """
    if not given:
        return ANONYMOUS
    scheme, _, text = given[0].partition(" ")
    basic = scheme.lower() == "basic"
    if len(given) > 1 or not (basic or scheme.lower() == "bearer"):
        raise Unauthorized("send the key as `Authorization: Bearer wk_…`, or as the password of Basic authentication")
    key = keys.find(_password(text) if basic else text.strip())
    if key is None:
        raise Unauthorized("the key is unknown")
    if (state := key.state()) != "valid":
        raise Unauthorized(f"the key {key.name!r} is {state}")
    levels = {world: _level(level) for world, level in key.levels.items()}
    return Principal(key.name, key.id, levels, key.graphs, basic)


def _password(text: str) -> str:
    try:
        return base64.b64decode(text.strip(), validate=True).decode().partition(":")[2]
    except (binascii.Error, ValueError) as error:
        raise Unauthorized("the credentials of Basic authentication must be user:key in Base64") from error


class Access:
    """The rights of each client, by its key or without one."""

    def __init__(self, settings: ServerSettings, keys: KeyStore) -> None:
        self._keys = keys
        self._loopback = settings.loopback
        self._writes = settings.allow_writes and self._loopback
        self._reads = self._loopback if settings.public_reads is None else settings.public_reads

    def principal(self, request: Request) -> Principal:
        """The caller; Unauthorized for a key that is unknown, expired or revoked; Busy if keys cannot be read."""
        known: Principal | Unauthorized | None = getattr(request.state, "principal", None)
        if known is None:
            try:
                known = self._identify(request)
            except Unauthorized as error:
                known = error
            request.state.principal = known
        if isinstance(known, Unauthorized):
            raise known
        return known

    def _identify(self, request: Request) -> Principal:
        try:
            return identify(request.headers.getlist("authorization"), self._keys)
        except OpenError as error:
            _log.error("%s", error)
            raise Busy("the keys cannot be read") from error  # where they lie is not for clients

    def require(self, request: Request, level: Level, world: str | None) -> Principal:
        """The caller, if permitted; else Unauthorized or Forbidden. A world of None stands for all of them."""
        principal = self.principal(request)
        where = "all worlds" if world is None else f"the world {world!r}"
        if principal.key is not None:
            if not principal.may(level, world):
                raise Forbidden(f"the key {principal.name!r} lacks the level {level} on {where}")
            if principal.remembered and level != "read":
                _refuse_other_origins(request)
            return principal
        allowed = self._reads if level == "read" else self._writes if level in ("propose", "write") else False
        if not allowed:
            raise Unauthorized(f"this needs a key with the level {level} on {where}")
        if level != "read":
            _refuse_other_origins(request)
        return principal

    def sees(self, request: Request, world: str) -> bool:
        """Whether the client may read a world."""
        principal = self.principal(request)
        return self._reads if principal.key is None else principal.may("read", world)


def _level(text: str) -> Level:
    return next((level for level in LEVELS if level == text), "read")


def _refuse_other_origins(request: Request) -> None:
    """Forbidden for a write that another web site's page sends through the user's browser."""
    site = request.headers.get("sec-fetch-site", "none")
    origin = request.headers.get("origin")
    own = f"{request.url.scheme}://{request.headers.get('host', '')}"
    if site not in ("same-origin", "none") or (origin is not None and origin.lower() != own.lower()):
        raise Forbidden("a page of another origin must send a bearer token to write")


class Checks:
    """Refuses requests by functions that raise a Problem."""

    def __init__(self, app: ASGIApp, *, checks: Sequence[Callable[[ASGIScope], None]]) -> None:
        self.app = app
        self._checks = checks

    async def __call__(self, scope: ASGIScope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        if scope["type"] == "http":
            for check in self._checks:
                check(scope)
        await self.app(scope, receive, send)


def host_check(settings: ServerSettings) -> Callable[[ASGIScope], None]:
    """The check that refuses other host names, against DNS rebinding (a foreign name bound to this address).

    Addresses can't be bound anew, so any is taken.
    """
    names = {"localhost", settings.host.lower(), *(name.lower() for name in settings.hosts)}

    def check(scope: ASGIScope) -> None:
        given = [value for name, value in scope["headers"] if name == b"host"]
        if len(given) != 1:
            raise HttpProblem("a request needs exactly one Host header")
        try:
            parts = urlsplit(f"//{given[0].decode('ascii')}")
            host, _ = (parts.hostname or "").rstrip("."), parts.port  # anything but a number for a port raises
            strange = parts.netloc != given[0].decode() or "@" in parts.netloc or not host
        except ValueError:
            strange, host = True, ""
        if strange:
            raise HttpProblem("the Host header is not a host and a port")
        if host not in names and not host.endswith(".localhost") and not _is_address(host):
            raise WrongHost(f"{host!r} is not a name of this server: add it by --host-name or server.hosts")

    return check


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True
