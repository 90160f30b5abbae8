"""Limits: how many requests at a time and a minute, how large and how slow a body may be."""

from __future__ import annotations

import asyncio
import contextlib
import time
import zlib
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Send
from starlette.types import Scope as ASGIScope

from worlds.doors.server.configuration import ServerSettings
from worlds.doors.server.http.access import Access
from worlds.doors.server.http.metrics import Metrics
from worlds.doors.server.listening import network
from worlds.doors.server.problem_documents import (
    Busy,
    HttpProblem,
    SlowBody,
    TooLarge,
    TooMany,
    Unauthorized,
    UnsupportedType,
)

_CLIENTS = 10_000  # whose rate is remembered
_FREE = ("/health", "/page/")  # what a client needs to see at all, and what costs nothing
_PIECE = 1 << 20  # bytes of a body that are unpacked at a time
_SLOWEST = 10_000  # bytes a second that a body comes at, or faster, after its first `timeout` seconds


class RequestLimits:
    """Limits on the number of waiting and running jobs, and on the rate of each client's requests."""

    def __init__(self, settings: ServerSettings, metrics: Metrics) -> None:
        self._most = settings.max_queries
        self._guests = 0  # of those that run
        self._rate = settings.rate / 60  # a second
        self._burst = max(1.0, settings.rate)
        self._running = 0
        self._of: Counter[str] = Counter()  # by clients
        self._metrics = metrics
        self.parsing = asyncio.Lock()  # for large documents, which are parsed while nothing else runs
        self._clients: OrderedDict[str, tuple[float, float]] = OrderedDict()  # tokens, as of when

    @contextlib.asynccontextmanager
    async def slot(self, guest: bool, client: str) -> AsyncIterator[None]:
        """One of the places for jobs that wait or run; Busy when all are taken.

        Guests, which have no key, leave one of eight to the others, and these one of eight to guests; each `client`
        leaves as many to the others of its kind.
        """
        own, left = self._guests if guest else self._running - self._guests, self._most // 8
        if self._running >= self._most or own >= self._most - left or self._of[client] >= self._most - 2 * left:
            self._metrics.turned_away.inc()
            raise Busy(f"{self._running} requests wait or run already, and the server takes no more")
        self._running += 1
        self._guests += guest
        self._of[client] += 1
        try:
            yield
        finally:
            self._running -= 1
            self._guests -= guest
            self._of[client] -= 1
            if not self._of[client]:
                del self._of[client]

    def check(self, access: Access, scope: ASGIScope) -> None:
        """Count a request of its client: of each key, else of each address."""
        if not scope["path"].startswith(_FREE):
            request, key = Request(scope), None
            with contextlib.suppress(Unauthorized):
                key = access.principal(request).key
            self.count(network(request.client.host if request.client else "") if key is None else f"key {key}")

    def count(self, client: str) -> None:
        """Count a request of a client; TooMany where it has had its share."""
        if not self._rate:
            return
        now = time.monotonic()
        tokens, then = self._clients.pop(client, (self._burst, now))
        tokens = min(self._burst, tokens + (now - then) * self._rate)
        self._clients[client] = (max(0.0, tokens - 1) if tokens >= 1 else tokens, now)
        if len(self._clients) > _CLIENTS:
            self._clients.popitem(last=False)
        if tokens < 1:
            self._metrics.rate_limited.inc()
            wait = (1 - tokens) / self._rate
            raise TooMany(f"more than {self._burst:g} requests a minute", retry_after=int(wait) + 1)


class BodyLimit:
    """Refuses bodies that are too large, also chunked ones; that come too slowly; and compressed ones."""

    def __init__(self, app: ASGIApp, *, settings: ServerSettings) -> None:
        self.app = app
        self._most = settings.max_body
        self._patience = settings.timeout

    async def __call__(self, scope: ASGIScope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        encoding = self._check_headers(scope)
        began = time.monotonic()
        taken, whole = 0, False

        async def limited() -> Message:
            nonlocal taken, whole
            if whole:
                return await receive()
            left = began + self._patience + taken / _SLOWEST - time.monotonic()
            try:
                async with asyncio.timeout(left):
                    message = await receive()
            except TimeoutError:
                raise SlowBody(
                    f"after {time.monotonic() - began:.0f} s the body is not complete", headers={"Connection": "close"}
                ) from None
            taken += len(message.get("body", b""))
            whole = message["type"] != "http.request" or not message.get("more_body", False)
            if taken > self._most:
                raise self._too_large()
            return message

        unpack = None if encoding == "identity" else _Unpacked(limited, self._most, self._too_large)

        await self.app(scope, unpack or limited, send)

    def _check_headers(self, scope: ASGIScope) -> str:
        """The encoding of the body; errors for a body that cannot be read."""
        headers = Request(scope).headers
        if "content-length" in headers and "transfer-encoding" in headers:  # of which a proxy may believe the other
            raise HttpProblem(
                "a request with a body needs a Content-Length or a Transfer-Encoding", headers={"Connection": "close"}
            )
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit()):
            raise HttpProblem("Content-Length is not a number", headers={"Connection": "close"})
        if len(length) > 18 or int(length) > self._most:
            raise self._too_large()
        encoding = headers.get("content-encoding", "identity").strip().lower()
        if encoding not in ("identity", "gzip"):
            raise UnsupportedType(
                "a body must be compressed by gzip, or not at all",
                headers={"Connection": "close", "Accept-Encoding": "gzip"},
            )
        return encoding

    def _too_large(self) -> TooLarge:
        return TooLarge(f"a body may have {self._most:,} bytes", headers={"Connection": "close"})


class _Unpacked:
    """Receives a gzip-compressed body unpacked, piece by piece, up to a number of bytes."""

    def __init__(self, receive: Receive, most: int, too_large: Callable[[], TooLarge]) -> None:
        self._receive = receive
        self._left = most
        self._too_large = too_large
        self._reader = zlib.decompressobj(wbits=31)
        self._packed = b""
        self._more = True

    async def __call__(self) -> Message:
        """The next piece."""
        if not self._packed:
            if not self._more:
                return await self._receive()
            message = await self._receive()
            if message["type"] != "http.request":
                return message
            self._packed, self._more = message.get("body", b""), message.get("more_body", False)
        try:
            piece = self._reader.decompress(self._packed, _PIECE)
        except zlib.error as error:
            raise HttpProblem(f"the body is not valid gzip data: {error}") from error
        self._packed = self._reader.unconsumed_tail
        if self._reader.unused_data:
            raise HttpProblem("the body has data after the end of its gzip stream")
        self._left -= len(piece)
        if self._left < 0:
            raise self._too_large()
        more = self._more or bool(self._packed)
        if not more and not self._reader.eof:
            raise HttpProblem("the gzip data of the body are cut off")
        return {"type": "http.request", "body": piece, "more_body": more}
