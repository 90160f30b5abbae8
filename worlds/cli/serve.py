"""The command `serve`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from worlds.cli.options import Command, examples
from worlds.cli.terminal import note, output
from worlds.errors import OpenError, WorldsError

if TYPE_CHECKING:
    from worlds.server.http.base import Server, ServerSettings


def serve(
    target: Annotated[
        Path, typer.Argument(metavar="WORLD|FOLDER", help="A world's file, or a folder of them.", show_default=False)
    ],
    host: Annotated[
        str | None, typer.Option(help="The address to listen on.", show_default="127.0.0.1: this machine only")
    ] = None,
    port: Annotated[int | None, typer.Option(help="The port; 0 takes a free one.", show_default="8080")] = None,
    allow_writes: Annotated[
        bool | None,
        typer.Option("--allow-writes", help="Take writes without a key; on a loopback address only."),
    ] = None,
    public_reads: Annotated[
        bool | None,
        typer.Option(
            "--public-reads/--no-public-reads", help="Answer reads without a key.", show_default="on a loopback address"
        ),
    ] = None,
    key_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The file of the API keys.", show_default="beside the world"),
    ] = None,
    host_name: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A further host name that requests may name; may be repeated."),
    ] = None,
    cors: Annotated[
        list[str] | None,
        typer.Option(metavar="ORIGIN", help="An origin whose pages may ask, * for any; may be repeated."),
    ] = None,
    embedder: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="A model by name or folder, auto, or none.", show_default="auto"),
    ] = None,
    readers: Annotated[
        int | None, typer.Option(metavar="N", help="Processes that answer reads.", show_default="the processors")
    ] = None,
    most_workers: Annotated[
        int | None, typer.Option(metavar="N", help="The most processes, when long queries hold some.", show_default="8")
    ] = None,
    timeout: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="How long one request may work.", show_default="30")
    ] = None,
    max_body: Annotated[
        int | None, typer.Option(metavar="BYTES", help="The largest body of a request.", show_default="100 MiB")
    ] = None,
    max_results: Annotated[
        int | None, typer.Option(metavar="N", help="The most rows of one answer.", show_default="1,000,000")
    ] = None,
    max_queries: Annotated[
        int | None, typer.Option(metavar="N", help="Requests that wait or run at a time.", show_default="64")
    ] = None,
    max_memory: Annotated[
        int | None,
        typer.Option(metavar="BYTES", help="Memory of one query or search; 0 for no limit.", show_default="2 GiB"),
    ] = None,
    rate: Annotated[
        int | None, typer.Option(metavar="N", help="Requests a minute of one client.", show_default="no limit")
    ] = None,
    grace: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="How long the end waits for requests.", show_default="10")
    ] = None,
    log: Annotated[
        Literal["text", "json"] | None, typer.Option(help="The form of the log.", show_default="text")
    ] = None,
) -> None:
    """Serve a world, or a folder of worlds, over HTTP: SPARQL, search, the web page.

    Without options it listens on this machine only, answers reads, and takes writes with a key alone (`worlds keys
    add`). It stops at Ctrl-C, or SIGTERM, when running requests are done.

    Each option is also a setting; see `worlds config`.
    """
    from worlds.settings import load_settings

    settings = load_settings(
        {
            "server.host": host,
            "server.port": port,
            "server.allow_writes": allow_writes,
            "server.public_reads": public_reads,
            "server.keys": key_file,
            "server.hosts": host_name,
            "server.cors": cors,
            "embedder": embedder,
            "server.readers": readers,
            "server.most_workers": most_workers,
            "server.timeout": timeout,
            "server.max_body": max_body,
            "server.max_results": max_results,
            "server.max_queries": max_queries,
            "server.max_memory": max_memory,
            "server.rate": rate,
            "server.grace": grace,
            "server.log": log,
        }
    )
    _check_target(target)
    try:
        from worlds.server.http.base import ServerSettings
        from worlds.server.running import serve as run
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("worlds"):
            raise
        raise WorldsError(f"{error.name} is not installed; pip install 'worlds-kg[server]' brings it") from error
    run(target.absolute(), ServerSettings.from_settings(settings), _announce)


def _check_target(target: Path) -> None:
    """OpenError, SchemaError for what is no world and no folder."""
    if target.is_dir():
        return
    if not target.exists():
        raise OpenError(f"there is no {target}; `worlds init {target}` makes a world")
    from worlds.world import open as open_world

    open_world(str(target), embedder=None, read_only=True, create=False).close()


def _announce(address: str, server: Server) -> None:
    single = server.hosting.single
    what = single.stem if single is not None else f"{len(server.hosting.list())} worlds"
    output().print(f"Serving {what} at {address}", soft_wrap=True)
    for line in _allowed(server.settings, sum(key.state() == "valid" for key in server.keys.all())):
        note(line)


def _allowed(settings: ServerSettings, keys: int) -> list[str]:
    """Who may do what, in words."""
    reads = settings.loopback if settings.public_reads is None else settings.public_reads
    writes = settings.allow_writes and settings.loopback
    counted = f"{keys} valid key" + ("" if keys == 1 else "s")
    return [
        f"reads: {'anyone who reaches this address' if reads else 'with a key'}; "
        f"writes: {'anyone who reaches this address' if writes else 'with a key'} ({counted})"
    ]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        cls=Command,
        epilog=examples(
            "worlds serve kb.db",
            "worlds serve kb.db --port 0 --allow-writes",
            "worlds keys add kb.db ann --scope write --expires 90d",
            "worlds serve folder/ --host 0.0.0.0 --host-name kb.example.org --log json",
        ),
    )(serve)
