"""The application: its routes, what surrounds each request, and what lives as long as it does."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Match, Route
from starlette.types import Receive, Scope, Send

from worlds.doors.server import page
from worlds.doors.server.api import handlers as api
from worlds.doors.server.api.operations import operations
from worlds.doors.server.configuration import ServerSettings
from worlds.doors.server.hosting import Hosting
from worlds.doors.server.http.access import Access, Checks, host_check
from worlds.doors.server.http.base import Server
from worlds.doors.server.http.logs import REQUEST_ID, RequestLog
from worlds.doors.server.http.metrics import Metrics
from worlds.doors.server.http.request_limits import BodyLimit, RequestLimits
from worlds.doors.server.keys import keys_of
from worlds.doors.server.problem_documents import ErrorAnswers, MethodNotAllowed, NotFound
from worlds.doors.server.protocols import graphstore, reconciliation
from worlds.doors.server.protocols import sparql as protocol
from worlds.doors.server.workers.pool import Pool

_NAMED_BY_PATH = re.compile(rb"(?:/worlds/[^/]*)?/(?:entities|graphs)/")
_METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE")
_REQUEST_HEADERS = ("Authorization", "Content-Type", "If-Match", "If-None-Match", REQUEST_ID)
_RESPONSE_HEADERS = ("ETag", "Location", "Retry-After", "Worlds-Notes", REQUEST_ID)


def create_app(target: Path, settings: ServerSettings) -> Starlette:
    """The application that serves a world's file, or a folder of them.

    Its pool is to be started once it listens; the end of its lifespan ends it. OpenError for what cannot be served, and
    for a file of keys that cannot be read.
    """
    hosting = Hosting(target)
    keys = keys_of(target, settings.keys)
    access = Access(settings, keys)
    metrics = Metrics()
    limits = RequestLimits(settings, metrics)
    given = ("readers", "embedder", "durability", "sparql_index", "search", "max_memory", "guest_share")
    duties = {name: getattr(settings, name) for name in given}
    pool = Pool(most=settings.most_workers, first=hosting.single, **duties)
    metrics.watch(lambda: pool.state)
    if hosting.single is not None:
        metrics.watch_replica(hosting.single)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await pool.stop(settings.grace)

    app = Starlette(
        routes=routes(single=hosting.single is not None),
        middleware=[
            Middleware(reconciliation.Callers, settings=settings),  # before anything logs a key
            Middleware(RequestLog, metrics=metrics),
            *_cors(settings.cors),
            Middleware(ErrorAnswers),
            Middleware(Checks, checks=[host_check(settings), _check_path, partial(limits.check, access)]),
            Middleware(BodyLimit, settings=settings),
        ],
        exception_handlers=_RAISED,
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    app.state.server = Server(
        settings, hosting=hosting, pool=pool, keys=keys, access=access, limits=limits, metrics=metrics
    )
    return app


async def _not_found(request: Request, error: Exception) -> Response:
    if request.method in ("GET", "HEAD") and _SLASHED.fullmatch(request.url.path):  # what a person types
        return RedirectResponse(request.url.path.removesuffix("/"), 308)
    raise NotFound(f"there is nothing at {request.url.path}; /openapi.json lists the addresses")


async def _not_allowed(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    allowed = {name: ", ".join(sorted(value.split(", "))) for name, value in (error.headers or {}).items()}
    raise MethodNotAllowed(f"this address does not take {request.method}", headers=allowed)


_SLASHED = re.compile(r"/worlds/[A-Za-z0-9][A-Za-z0-9._-]*/")
_RAISED: Mapping[Any, Any] = {404: _not_found, 405: _not_allowed}  # `ErrorAnswers` answers all errors alike


def _cors(origins: Sequence[str]) -> list[Middleware]:
    if not origins:
        return []
    return [
        Middleware(
            CORSMiddleware,
            allow_origins=list(origins),
            allow_methods=list(_METHODS),
            allow_headers=list(_REQUEST_HEADERS),
            expose_headers=list(_RESPONSE_HEADERS),
        )
    ]


def _check_path(scope: Scope) -> None:
    """Refuse addresses in which a slash is encoded, but for where names of entities and graphs have them: once it is
    decoded, it would be one that parts the names of worlds and of what they have.
    """
    path = scope["raw_path"].lower()
    named = _NAMED_BY_PATH.match(path)
    if b"%2f" in path[: named.end() if named else None]:
        raise NotFound("there is nothing at this address: %2F is allowed in the IRI of an entity or a graph only")


# --- routes -----------------------------------------------------------------------------------------------------------


class _ByMethod:
    """Answers by the route for the request's method."""

    def __init__(self, routes: Sequence[Route]) -> None:
        self._routes = {method: route for route in routes for method in route.methods or ()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._routes[scope["method"]].app(scope, receive, send)

    @property
    def methods(self) -> list[str]:
        return list(self._routes)


class _CountedRoute(Route):
    """A route whose path the metrics count by."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Whether it is this one."""
        match, child = super().matches(scope)
        if match is not Match.NONE:
            scope.setdefault("state", {})["route"] = self.path
        return match, child


def routes(*, single: bool) -> list[Route]:
    """All routes; the routes of a world are at its address, and for a single world also at `/`."""
    of_world = [*_answered(of_world=True), *protocol.routes(), *graphstore.routes(), *reconciliation.routes()]
    paths: dict[str, list[Route]] = {}
    several = [] if single else [*_answered(of_world=False, several=True), *protocol.routes()]
    for route in (*_answered(of_world=False), *page.routes(), *several):
        paths.setdefault(route.path, []).append(route)
    for prefix in ("/worlds/{world}", "") if single else ("/worlds/{world}",):
        for route in of_world:
            path = (prefix + route.path).removesuffix("/")
            if path:  # else it is `/`, which the server has
                paths.setdefault(path, []).append(route)
    found: list[Route] = []
    for path, same in paths.items():
        answers = _ByMethod(same)
        found.append(_CountedRoute(path, answers, methods=answers.methods))
    return found


def _answered(*, of_world: bool, several: bool = False) -> list[Route]:
    """The routes that `api` answers."""
    return [
        Route(
            operation.path.replace("{iri}", "{iri:path}") or "/",
            partial(api.run, operation),
            methods=[operation.method],
        )
        for operation in operations()
        if (operation.of_world, operation.several) == (of_world, several)
        and (operation.job is not None or operation.name in api.HANDLERS)
    ]
