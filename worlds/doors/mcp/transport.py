"""Serves a world over stdio or streamable HTTP until the client, or Ctrl-C, ends it."""

from __future__ import annotations

import contextlib
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

from worlds.doors.mcp.server import WorldServer
from worlds.doors.mcp.toolbox import Service
from worlds.doors.server.listening import stopping_signals
from worlds.extras.remote.address import replica_of

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from worlds.world import World

PATH = "/mcp"
_GRACE = 1.5  # seconds that a call which is running at the end gets


def serve_stdio(service: Service) -> None:
    """Serve over standard input and output, which hold nothing but the protocol, until the input ends."""
    _log_to_stderr()

    def leave(*_: object) -> None:
        _end(service.world)

    # The thread that waits for input cannot be woken, so a signal ends the process itself.
    for number in stopping_signals():
        signal.signal(number, leave)
    try:
        _mend_input()
        anyio.run(WorldServer(service).run_stdio_async)
    except* (BrokenPipeError, ConnectionError):
        pass  # the client went away
    _end(service.world)


def _mend_input() -> None:
    """Let standard input be the lines that it has, with U+FFFD for half a surrogate pair, which no text has.

    The SDK would never answer such a message.
    """
    given = os.fdopen(os.dup(0), "rb")
    ours, theirs = os.pipe()
    os.dup2(ours, 0)
    os.close(ours)

    def pass_on() -> None:
        with contextlib.suppress(OSError), given, os.fdopen(theirs, "wb") as out:
            for line in given:
                out.write(_ESCAPE.sub(_mended, line) if b"\\ud" in line.lower() else line)
                out.flush()

    threading.Thread(target=pass_on, name="worlds-input", daemon=True).start()


_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[dD][89a-fA-F][0-9a-fA-F]{2}|.)", re.DOTALL
)


def _mended(escape: re.Match[bytes]) -> bytes:
    return b"\\ufffd" if len(escape[0]) == 6 else escape[0]


def _end(world: World) -> NoReturn:
    """Stop all running work, close the world, and exit.

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
    """Serve over streamable HTTP at /mcp until a signal ends it. `names` are further Host names that are accepted.

    WorldsError off loopback where there is no valid key; OpenError for an address that cannot be had.
    """
    import uvicorn  # not needed over stdio, as what reads keys is not

    from worlds.doors.mcp.access import KeyCheck, Scopes, security
    from worlds.doors.server.http.access import require_keys
    from worlds.doors.server.keys import keys_of
    from worlds.doors.server.listening import is_loopback, listen, url

    world = replica_of(service.world.path)
    store = keys_of(world, keys)
    require_keys(host, store)
    _log_to_stderr()
    listening = listen(host, port)
    with listening:

        def made(graphs: tuple[str, ...] | None) -> Starlette:
            return WorldServer(service if graphs is None else service.only(graphs)).streamable_http_app(
                streamable_http_path=PATH,
                transport_security=security(host, names),
                host=host,
                session_idle_timeout=IDLE,
                max_sessions=MOST_SESSIONS,
            )

        checked = KeyCheck(Scopes(made), keys=store, world=world.stem, needed=not is_loopback(host))
        config = uvicorn.Config(
            checked, log_level="warning", access_log=False, timeout_graceful_shutdown=1, server_header=False
        )
        print(f"worlds mcp: {url(host, listening)}{PATH}", file=sys.stderr, flush=True)
        # uvicorn raises the signal that ended it once more; by then all is done.
        server = uvicorn.Server(config)
        for number in stopping_signals():
            signal.signal(number, server.handle_exit)
        server.run([listening])
    _end(service.world)


def _log_to_stderr() -> None:
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
