"""Who may reach the server over HTTP: keys, host names, origins."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence

from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from worlds.server.keys import ANY, SCOPES, Key, KeyStore

_LOCAL = ("127.0.0.1", "localhost", "[::1]")


def is_loopback(host: str) -> bool:
    """Whether an address, or a host name, is one that only this machine reaches."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def security(host: str, names: Sequence[str]) -> TransportSecuritySettings:
    """What Host and Origin may be, so that no page of another site reaches the server through a browser."""
    own = f"[{host}]" if ":" in host and not host.startswith("[") else host
    hosts = list(dict.fromkeys([*_LOCAL, own, *names]))
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=[form for name in hosts for form in (name, f"{name}:*")],
        allowed_origins=[
            f"{scheme}://{name}{port}" for scheme in ("http", "https") for name in hosts for port in ("", ":*")
        ],
    )


class KeyCheck:
    """Lets requests with a valid key for the world pass, and, unless a key is `needed`, those without one.

    The key stands in the scope as `worlds.key`, and whether it allows to write as `worlds.may_write`.
    """

    def __init__(self, app: ASGIApp, *, keys: KeyStore, world: str, needed: bool) -> None:
        self._app = app
        self._keys = keys
        self._world = world
        self._needed = needed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        if scope["type"] == "http":
            given = Headers(scope=scope).getlist("authorization")
            refusal = self._check(scope, given)
            if refusal is not None:
                status, detail = refusal
                response = JSONResponse(
                    {"error": detail}, status_code=status, headers={"WWW-Authenticate": 'Bearer realm="worlds"'}
                )
                await response(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _check(self, scope: Scope, given: Sequence[str]) -> tuple[int, str] | None:
        """Why the request is refused, with the status; None where it is not."""
        if not given:
            return (401, "a key is needed: Authorization: Bearer wk_…") if self._needed else None
        scheme, _, text = given[0].partition(" ")
        key = self._keys.find(text.strip()) if len(given) == 1 and scheme.lower() == "bearer" else None
        if key is None:
            return 401, "this key is not known here"
        if (state := key.state()) != "valid":
            return 401, f"the key {key.name!r} is {state}"
        level = self._level(key)
        if level is None:
            return 403, f"the key {key.name!r} does not allow to read this world"
        scope["worlds.key"] = key
        scope["worlds.may_write"] = level >= SCOPES.index("write")
        return None

    def _level(self, key: Key) -> int | None:
        """What the key allows on this world, as a place in SCOPES."""
        scopes = [key.scopes[world] for world in (self._world, ANY) if world in key.scopes]
        return max(map(SCOPES.index, scopes), default=None)
