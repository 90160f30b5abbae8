"""The command that serves a world to agents: mcp."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from worlds.cli.options import Command, WorldPath, embedder_of, examples
from worlds.errors import WorldsError


def mcp(
    path: WorldPath,
    http: Annotated[bool, typer.Option("--http", help="Serve over streamable HTTP instead of stdio.")] = False,
    host: Annotated[
        str | None, typer.Option("--host", help="With --http: the address to listen on.", show_default="127.0.0.1")
    ] = None,
    port: Annotated[
        int | None, typer.Option("--port", help="With --http: the port; 0 takes a free one.", show_default="8090")
    ] = None,
    host_name: Annotated[
        list[str] | None,
        typer.Option("--host-name", metavar="NAME", help="With --http: another Host name to accept; may be repeated."),
    ] = None,
    allow_writes: Annotated[
        bool | None,
        typer.Option("--allow-writes", help="Also give the tools update, add and undo.", show_default=False),
    ] = None,
    author: Annotated[
        str | None,
        typer.Option("--author", help="Whom the history names for writes.", show_default="the client's name"),
    ] = None,
    embedder: Annotated[
        str | None,
        typer.Option(
            "--embedder", metavar="MODEL", help="A model by name or folder, auto or none.", show_default="auto"
        ),
    ] = None,
    token_budget: Annotated[
        int | None,
        typer.Option("--token-budget", help="About how many tokens an answer may have.", show_default="4000"),
    ] = None,
) -> None:
    """Serve a world to agents over the Model Context Protocol: search, sparql, describe, schema and more.

    Standard output holds the protocol alone; messages go to standard error. It ends with its input, or by Ctrl-C.
    """
    from worlds.settings import load_settings
    from worlds.world import open as open_world

    try:
        from worlds.mcp.toolbox import Service
        from worlds.mcp.transport import serve_http, serve_stdio
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "worlds":
            raise
        raise WorldsError(f"{error.name} is not installed: pip install 'worlds-kg[mcp]'") from error

    settings = load_settings(
        {
            "mcp.host": host,
            "mcp.port": port,
            "mcp.allow_writes": allow_writes,
            "mcp.token_budget": token_budget,
            "author": author,
            "embedder": embedder,
            "server.hosts": host_name or None,
        }
    )
    writes = settings["mcp.allow_writes"]
    model = embedder_of(settings["embedder"])
    with open_world(path, embedder=model, read_only=not writes, create=False) as world:
        service = Service(
            world, token_budget=settings["mcp.token_budget"], author=settings["author"], allow_writes=writes
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


def register(app: typer.Typer) -> None:
    """Add the command."""
    shown = examples("worlds mcp kb.db", "worlds mcp kb.db --allow-writes --author ann", "worlds mcp kb.db --http")
    app.command(cls=Command, epilog=shown)(mcp)
