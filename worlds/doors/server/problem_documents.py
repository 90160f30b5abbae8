"""Errors over HTTP: a problem document (RFC 9457) with the status that the error carries.

Problem                  an answer that is an error, raised by a handler or by a job
├── Unauthorized         401, with WWW-Authenticate
├── Forbidden            403
├── NotFound             404
├── MethodNotAllowed     405, with Allow
├── NotAcceptable        406
├── SlowBody             408
├── PreconditionFailed   412
├── TooLarge             413
├── UnsupportedType      415
├── WrongHost            421
├── TooMany              429, with Retry-After
└── Busy                 503, with Retry-After
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, ClassVar

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from worlds.errors import ArgumentError, WorldsError

PROBLEM = "application/problem+json"
CLIENT_GONE = 499
"""The status in the log of a request whose client did not wait for the answer; nobody gets this status."""
BROKEN_OFF = 599
"""The status in the log of an answer that could not be finished."""

_log = logging.getLogger("worlds.doors.server")


class ClientGone(Exception):  # noqa: N818  # nothing is wrong
    """The client went away before its answer was there."""


class HttpProblem(WorldsError):  # noqa: N818  # the field's term, RFC 9457
    """An answer that is an error. Its message goes to the client, and must hold nothing that is not for it."""

    status = 400
    always: ClassVar[Mapping[str, str]] = {}
    """Headers of each such answer, which may be others in one."""

    def __init__(self, detail: str, *, headers: Mapping[str, str] | None = None, retry_after: int = 0) -> None:
        wait = {"Retry-After": str(retry_after)} if retry_after > 0 else {}
        self.headers = {**self.always, **wait, **(headers or {})}
        super().__init__(detail)


class Unauthorized(HttpProblem):
    """There is no key, or it is not valid."""

    status = 401
    always: ClassVar = {"WWW-Authenticate": 'Bearer realm="worlds"'}


class Forbidden(HttpProblem):
    """The client is known, and may not."""

    status = 403


class NotFound(HttpProblem):
    """There is no such world, entity, revision or graph."""

    status = 404


class MethodNotAllowed(HttpProblem):
    """The resource of the path has no such method."""

    status = 405


class NotAcceptable(HttpProblem):
    """None of the types that the client accepts can be given."""

    status = 406


class SlowBody(HttpProblem):
    """The request's body did not come in time."""

    status = 408


class PreconditionFailed(HttpProblem):
    """If-Match or If-None-Match does not hold."""

    status = 412


class TooLarge(HttpProblem):
    """The request's body is larger than the server takes."""

    status = 413


class UnsupportedType(HttpProblem):
    """The request's body is of a type that is not read here."""

    status = 415


class WrongHost(HttpProblem):
    """The Host header names a host that this server is not."""

    status = 421


class TooMany(HttpProblem):
    """The client asks too often."""

    status = 429
    always: ClassVar = {"Retry-After": "1"}


class Busy(HttpProblem):
    """The server has as much to do as it takes on at once."""

    status = 503
    always: ClassVar = {"Retry-After": "1"}


def status_of(error: BaseException) -> int:
    """The HTTP status of an error; 500 for errors that are neither from this package nor about a value."""
    if isinstance(error, WorldsError):
        return error.status
    if isinstance(error, HTTPException):
        return error.status_code
    return 400 if isinstance(error, ValueError) else 500


def problem(error: BaseException, *, detail: str | None = None, request_id: str | None = None) -> Response:
    """The response for an error. `detail` replaces its message where that may disclose too much."""
    status = status_of(error)
    document: dict[str, Any] = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": str(error) if detail is None else detail,
    }
    for name in ("line", "column"):
        if isinstance(value := getattr(error, name, None), int):
            document[name] = value
    if isinstance(error, WorldsError | ArgumentError) and not isinstance(error, HttpProblem):
        document["kind"] = error.kind
    if request_id is not None:
        document["request"] = request_id
    headers = dict(getattr(error, "headers", None) or {})
    return Response(json.dumps(document).encode(), status, headers, PROBLEM)


class ErrorAnswers:
    """Turn exceptions into answers. An unexpected one is logged, and its answer has no details."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun = False

        async def watched(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self.app(scope, receive, watched)
        except (ClientGone, ClientDisconnect):
            scope["state"]["status"] = CLIENT_GONE
        except asyncio.CancelledError:  # the server stops, and waits for nothing any more
            await self._answer(scope, receive, send, Busy("the server is stopping"), begun)
        except ExceptionGroup as group:  # of the tasks of a streamed answer
            await self._answer(scope, receive, send, _only(group), begun)
        except Exception as error:
            await self._answer(scope, receive, send, error, begun)

    async def _answer(self, scope: Scope, receive: Receive, send: Send, error: Exception, begun: bool) -> None:
        number = scope["state"].get("request_id")
        status = status_of(error)
        if status == 500:
            _log.error("request %s failed", number, exc_info=error)
        elif status == 503 and not isinstance(error, HttpProblem):
            _log.warning("request %s: %s: %s", number, type(error).__name__, error)
        if begun:  # the answer breaks off, and the client sees that it is not whole
            scope["state"]["status"] = BROKEN_OFF
            if status != 500:
                _log.warning("the answer to request %s broke off: %s", number, error)
            return
        detail = None
        world = scope["state"].get("world")
        if status == 500:
            detail = f"an error of the server: see its log under {number}"
        elif world is not None:
            detail = str(error).replace(str(world.path), world.name)  # where files lie is the server's business
        await problem(error, detail=detail, request_id=number)(scope, receive, send)


def _only(group: ExceptionGroup[Exception]) -> Exception:
    first: Exception = group
    while isinstance(first, ExceptionGroup):
        first = first.exceptions[0]
    return first
