"""Who may reach the server over HTTP: keys, host names, origins."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from worlds.doors.server.http.access import identify
from worlds.doors.server.keys import KeyStore
from worlds.doors.server.problem_documents import Forbidden, HttpProblem, Unauthorized, problem

_LOCAL = ("127.0.0.1", "localhost", "[::1]")


def security(host: str, names: Sequence[str]) -> TransportSecuritySettings:
    """The accepted values of Host and Origin, so that no page of another site reaches the server through a browser."""
    own = f"[{host}]" if ":" in host and not host.startswith("[") else host
    hosts = list(dict.fromkeys([*_LOCAL, own, *names]))
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=[form for name in hosts for form in (name, f"{name}:*")],
        allowed_origins=[
            f"{scheme}://{name}{port}" for scheme in ("http", "https") for name in hosts for port in ("", ":*")
        ],
    )


class Scopes:
    """An application for each scope of keys, made by `make` and started on its first request.

    So a session belongs to one scope, and none of its state is another's.
    """

    def __init__(self, make: Callable[[tuple[str, ...] | None], Starlette]) -> None:
        self._make = make
        self._whole = make(None)
        self._started: dict[tuple[str, ...], asyncio.Task[Starlette]] = {}
        self._living: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on to the application of its scope."""
        app: ASGIApp = self._whole
        if (graphs := scope.get("worlds.graphs")) is not None:
            try:
                if graphs not in self._started or (self._started[graphs].done() and self._started[graphs].exception()):
                    self._started[graphs] = asyncio.create_task(self._start(graphs))
                app = await asyncio.shield(self._started[graphs])
            except HttpProblem as error:
                app = problem(error)
        await app(scope, receive, send)

    async def _start(self, graphs: tuple[str, ...]) -> Starlette:
        app, started = await asyncio.to_thread(self._make, graphs), asyncio.Event()

        async def live() -> None:
            async with app.router.lifespan_context(app):
                started.set()
                await asyncio.Event().wait()  # until the program ends

        self._living.add(asyncio.create_task(live()))
        await started.wait()
        return app


class KeyCheck:
    """Lets requests with a valid key for the world pass, and requests without a key unless one is `needed`.

    Whoever has a key stands in the scope as `worlds.principal`, and owns the sessions that it opens; whether a client
    may write and propose is there as `worlds.may_write` and `worlds.may_propose`. Where there are valid keys, none of
    that is allowed without one.
    """

    def __init__(self, app: ASGIApp, *, keys: KeyStore, world: str, needed: bool) -> None:
        self._app = app
        self._keys = keys
        self._world = world
        self._needed = needed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        if scope["type"] == "http":
            try:
                self._check(scope)
            except HttpProblem as error:
                await problem(error)(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _check(self, scope: Scope) -> None:
        principal = identify(Headers(scope=scope).getlist("authorization"), self._keys)
        if principal.key is None:
            if self._needed:
                raise Unauthorized("a key is needed: Authorization: Bearer wk_…")
            # Where there are keys, who sends none may do no more than the least of them allows.
            least = any(key.state() == "valid" for key in self._keys.all())
            scope["worlds.may_write"] = scope["worlds.may_propose"] = not least
        elif not principal.may("read", self._world):
            raise Forbidden(f"the key {principal.name!r} does not allow to read this world")
        else:
            scope["worlds.principal"] = principal
            scope["worlds.graphs"] = principal.graphs
            # The SDK answers a session's requests only for whoever opened it.
            scope["user"] = AuthenticatedUser(AccessToken(token=principal.key, client_id=principal.key, scopes=[]))
            scope["worlds.may_write"] = principal.may("write", self._world)
            scope["worlds.may_propose"] = principal.may("propose", self._world)
