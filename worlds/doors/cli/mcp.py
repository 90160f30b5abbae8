"""The command that serves a world to agents: mcp."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from worlds.doors.cli.command import command
from worlds.doors.cli.memory import parts
from worlds.doors.cli.options import PATH, embedder_of, given, of_settings, settings_of
from worlds.errors import WorldsError

_OPTIONS = {
    **{"host_name": "server.hosts", "graph": "mcp.graphs", "author": "author", "embedder": "embedder"},
    **{name: f"mcp.{name}" for name in ("host", "port", "allow_writes", "allow_proposals")},
    **{name: f"mcp.{name}" for name in ("token_budget", "tools", "memory")},
}


@command(
    None, PATH, given("--http", "Serve over streamable HTTP instead of stdio."), *of_settings(_OPTIONS), json=False
)
def mcp(path: str, *, http: bool, **given: Any) -> None:
    """Serve a world to agents over the Model Context Protocol: search, sparql, describe, schema and more.

    Standard output holds the protocol alone; messages go to standard error. It ends with its input, or by Ctrl-C.

    $ worlds mcp kb.db
    $ worlds mcp kb.db --allow-writes --author ann
    $ worlds mcp kb.db --tools ask --http
    """
    from worlds.extras.memory.memory_records import seen_through
    from worlds.world import open as open_world

    try:
        from worlds.doors.mcp.toolbox import Service
        from worlds.doors.mcp.transport import serve_http, serve_stdio
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "worlds":
            raise
        raise WorldsError(f"{error.name} is not installed: pip install 'worlds-kg[mcp]'") from error

    settings = settings_of(_OPTIONS, given)
    memory = settings["mcp.tools"] == "memory"
    written = memory or settings["mcp.allow_writes"] or settings["mcp.allow_proposals"]
    model = embedder_of(settings["embedder"])
    with open_world(path, embedder=model, read_only=not written, create=False) as world:
        if memory:
            world.memory(scope=parts(settings["mcp.memory"]))  # an error for what is no scope
        service = Service(
            seen_through(world, graphs) if (graphs := settings["mcp.graphs"]) else world,
            author=settings["author"],
            memory=parts(settings["mcp.memory"]),
            **{name: settings[f"mcp.{name}"] for name in ("token_budget", "allow_writes", "allow_proposals", "tools")},
        )
        if not http:
            serve_stdio(service)
            return
        keys = settings["server.keys"]
        place = {"host": settings["mcp.host"], "port": settings["mcp.port"], "names": settings["server.hosts"]}
        serve_http(service, **place, keys=None if keys is None else Path(keys))
