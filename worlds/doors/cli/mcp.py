"""The command that serves a world to agents: mcp."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from worlds.doors.cli.command import command
from worlds.doors.cli.memory import parts
from worlds.doors.cli.options import PATH, embedder_of, given, of_settings, settings_of
from worlds.errors import WorldsError

_OPTIONS = {
    "host": "mcp.host",
    "port": "mcp.port",
    "host_name": "server.hosts",
    "allow_writes": "mcp.allow_writes",
    "allow_proposals": "mcp.allow_proposals",
    "graph": "mcp.graphs",
    "author": "author",
    "embedder": "embedder",
    "token_budget": "mcp.token_budget",
    "tools": "mcp.tools",
    "memory": "mcp.memory",
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
    writes, proposes = settings["mcp.allow_writes"], settings["mcp.allow_proposals"]
    written = writes or proposes or settings["mcp.tools"] == "memory"
    model = embedder_of(settings["embedder"])
    with open_world(path, embedder=model, read_only=not written, create=False) as world:
        if settings["mcp.tools"] == "memory":
            world.memory(scope=parts(settings["mcp.memory"]))  # an error for what is no scope
        service = Service(
            seen_through(world, graphs) if (graphs := settings["mcp.graphs"]) else world,
            token_budget=settings["mcp.token_budget"],
            author=settings["author"],
            allow_writes=writes,
            allow_proposals=proposes,
            tools=settings["mcp.tools"],
            memory=parts(settings["mcp.memory"]),
        )
        if http:
            keys = settings["server.keys"]
            serve_http(
                service,
                host=settings["mcp.host"],
                port=settings["mcp.port"],
                names=settings["server.hosts"],
                keys=None if keys is None else Path(keys),
            )
        else:
            serve_stdio(service)
