"""Serves a world over stdio or streamable HTTP until the client, or Ctrl-C, ends it."""

from __future__ import annotations

import io
import logging
import os
import re
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import anyio
from mcp.server.stdio import stdio_server

from worlds.mcp.server import WorldServer
from worlds.mcp.toolbox import Service
from worlds.remote.address import replica_of

if TYPE_CHECKING:
    from worlds.world import World

PATH = "/mcp"
_GRACE = 1.5  # seconds that a call which is running at the end gets


def serve_stdio(service: Service) -> None:
    """Serve over standard input and output, which hold nothing but the protocol, until the input ends."""
    _log_to_stderr()

    def leave(*_: object) -> None:
        _end(service.world)

    # The thread that waits for input cannot be woken, so a signal ends the process itself.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, leave)
    try:
        anyio.run(_serve, WorldServer(service))
    except* (BrokenPipeError, ConnectionError):
        pass  # the client went away
    _end(service.world)


async def _serve(server: WorldServer) -> None:
    # As the SDK does it: nothing but the protocol comes from the input, whatever a tool or a child reads.
    own = os.dup(0)
    with open(os.devnull, "rb") as nothing:  # noqa: PTH123  # it is a device
        os.dup2(nothing.fileno(), 0)
    given = anyio.wrap_file(_Input(os.fdopen(own, "rb"), encoding="utf-8", errors="replace"))
    async with stdio_server(stdin=given) as (reading, writing):
        low = server._lowlevel_server  # as its own run_stdio_async, which takes no stream
        await low.run(reading, writing, low.create_initialization_options())


class _Input(io.TextIOWrapper):
    """Lines of JSON; half a surrogate pair, which no text has, becomes U+FFFD: the SDK would never answer."""

    def readline(self, size: int = -1, /) -> str:  # type: ignore[override]  # as TextIOWrapper itself has it
        """The next line."""
        line = super().readline(size)
        return _ESCAPE.sub(_mended, line) if "\\ud" in line.lower() else line


_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[dD][89a-fA-F][0-9a-fA-F]{2}|.)", re.DOTALL
)


def _mended(escape: re.Match[str]) -> str:
    return "\\ufffd" if len(escape[0]) == 6 else escape[0]


def _end(world: World) -> NoReturn:
    """Stop what is still running, close the world, and leave.

    What was acknowledged is kept, and a write that was not is as if it had never been.
    """
    world.interrupt()
    closing = threading.Thread(target=world.close, daemon=True)
    closing.start()
    closing.join(_GRACE)
    sys.stderr.flush()
    os._exit(0)


IDLE = 600.0  # seconds after which a session that nothing was asked of ends
MOST_SESSIONS = 256


def serve_http(service: Service, *, host: str, port: int, names: Sequence[str] = (), keys: Path | None = None) -> None:
    """Serve over streamable HTTP at /mcp until SIGINT or SIGTERM. `names` are further Host names that are accepted.

    WorldsError off loopback where there is no valid key; OpenError for an address that cannot be had.
    """
    import uvicorn  # not needed over stdio, as what reads keys is not

    from worlds.mcp.access import KeyCheck, security
    from worlds.server.http.access import require_keys
    from worlds.server.keys import keys_of
    from worlds.server.listening import is_loopback, listen, url

    world = replica_of(service.world.path)
    store = keys_of(world, keys)
    require_keys(host, store)
    _log_to_stderr()
    listening = listen(host, port)
    with listening:
        app = WorldServer(service).streamable_http_app(
            streamable_http_path=PATH,
            transport_security=security(host, names),
            host=host,
            session_idle_timeout=IDLE,
            max_sessions=MOST_SESSIONS,
        )
        checked = KeyCheck(app, keys=store, world=world.stem, needed=not is_loopback(host))
        config = uvicorn.Config(
            checked, log_level="warning", access_log=False, timeout_graceful_shutdown=1, server_header=False
        )
        print(f"worlds mcp: {url(host, listening)}{PATH}", file=sys.stderr, flush=True)
        # uvicorn raises the signal that ended it once more; by then all is done.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: None)
        uvicorn.Server(config).run([listening])
    _end(service.world)


def _log_to_stderr() -> None:
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
