"""Running the application: a socket, uvicorn around it, and a way to stop that lets running requests finish."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h11
import uvicorn
from prometheus_client import disable_created_metrics
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol

from worlds.doors.server.app import create_app
from worlds.doors.server.configuration import ServerSettings
from worlds.doors.server.http.access import check_settings
from worlds.doors.server.http.base import Server
from worlds.doors.server.http.logs import configure_logs
from worlds.doors.server.listening import listen, stopping_signals, url
from worlds.doors.server.workers.pool import JobError, Pool
from worlds.errors import WorldsError

_KEPT = 15  # seconds that an idle connection is kept
_HEAD = 20.0  # seconds in which the head of a request must come, or sooner where the time limit is shorter


def serve(
    target: Path, settings: ServerSettings, announce: Callable[[str, Server], None], ready: Callable[[float], None]
) -> None:
    """Serve until SIGINT or SIGTERM; `announce` gets the address and the server, `ready` the seconds of the start.

    WorldsError for settings that are not safe, OpenError for what cannot be served, or an address that cannot be had.
    """
    configure_logs(settings.log)
    disable_created_metrics()  # type: ignore[no-untyped-call]
    app = create_app(target, settings)
    server: Server = app.state.server
    check_settings(settings, server.keys)
    with listen(settings.host, settings.port) as listening:
        asyncio.run(_serve(app, settings, listening, lambda: announce(url(settings.host, listening), server), ready))


async def _serve(
    app: Starlette,
    settings: ServerSettings,
    listening: socket.socket,
    listens: Callable[[], None],
    ready: Callable[[float], None],
) -> None:
    class Protocol(_Protocol):
        patience = min(_HEAD, settings.timeout)

    config = uvicorn.Config(
        app,
        http=Protocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # what anybody can write into X-Forwarded-For is no address
        timeout_keep_alive=_KEPT,
        timeout_graceful_shutdown=max(1, round(settings.grace)),
    )
    running = _Running(config, app.state.server.pool, listens, ready)
    await running.serve([listening])
    if running.failed:
        raise WorldsError("the server could not start; the log says why")


class _Running(uvicorn.Server):
    """Starts its processes when it listens, says both, and ends at a signal without passing it on."""

    def __init__(
        self, config: uvicorn.Config, pool: Pool, listens: Callable[[], None], ready: Callable[[float], None]
    ) -> None:
        super().__init__(config)
        self._pool = pool
        self._listens = listens
        self._ready = ready
        self._starting: asyncio.Task[None] | None = None
        self.failed = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen, and to start processes; requests that come before these are there wait for them."""
        await super().startup(sockets)
        if not self.should_exit:
            self.failed = False
            self._listens()
            self._starting = asyncio.create_task(self._start())

    async def _start(self) -> None:
        began = time.monotonic()
        try:
            await self._pool.start()
        except JobError:
            self.failed = self.should_exit = True
        else:
            self._ready(time.monotonic() - began)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop the server on SIGINT, SIGTERM and SIGHUP; the second SIGINT does not wait for requests."""
        loop = asyncio.get_running_loop()
        stopping = stopping_signals()
        for number in stopping:
            loop.add_signal_handler(number, self.handle_exit, number, None)
        try:
            yield
        finally:
            for number in stopping:
                loop.remove_signal_handler(number)


class _Protocol(H11Protocol):
    """Closes connections that are slow to send a request's head, or that violate the protocol."""

    patience = _HEAD  # seconds
    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Start the timeout for a request."""
        super().connection_made(transport)
        self._late = self.loop.call_later(self.patience, self._close_late)

    def handle_events(self) -> None:
        """Handle the received events."""
        super().handle_events()
        if self._late is not None and self.cycle is not None and not self.cycle.response_complete:
            self._late.cancel()
            self._late = None

    def send_400_response(self, msg: str) -> None:
        """Answer a message that is no HTTP, unless a response has begun; close, and notify the running request."""
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        try:
            super().send_400_response(msg)
        except h11.LocalProtocolError:
            self.transport.close()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        if not self.transport.is_closing() and self._late is None:
            self._late = self.loop.call_later(_KEPT + self.patience, self._close_late)

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        if self._late is not None:
            self._late.cancel()
        super().connection_lost(exc)

    def _close_late(self) -> None:
        self._late = None
        if not self.transport.is_closing() and (self.cycle is None or self.cycle.response_complete):
            self.transport.close()
