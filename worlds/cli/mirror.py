"""The command that keeps another SPARQL engine in step: mirror."""

from __future__ import annotations

import signal
import threading
from typing import Annotated

import typer

from worlds.cli.options import Command, WorldPath, examples
from worlds.cli.terminal import counted, note, output
from worlds.errors import WorldsError


def mirror(
    path: WorldPath,
    endpoint: Annotated[
        str, typer.Argument(metavar="ENDPOINT", help="The engine's SPARQL endpoint.", show_default=False)
    ],
    update: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Where it takes updates.", show_default="the endpoint"),
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(
            metavar="TOKEN", help="What the engine asks for.", envvar="WORLDS_MIRROR_TOKEN", show_default=False
        ),
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Take one step, and end.")] = False,
    every: Annotated[float, typer.Option(metavar="SECONDS", help="How often to look.", min=0.01)] = 1.0,
    replace: Annotated[bool, typer.Option("--replace", help="Empty an engine that holds other data.")] = False,
    verify: Annotated[
        bool, typer.Option("--verify", help="Compare counts and a sample, and end; with 1 if something differs.")
    ] = False,
) -> None:
    """Keep another SPARQL engine in step with a world, by SPARQL Update: all revisions, and the ones to come.

    The engine is to hold nothing else. Blank nodes become IRIs there, urn:worlds:blank:…, and the graph
    urn:worlds:mirror says which revision it has. After any break it goes on from there.
    """
    from worlds.adapters.mirroring import Mirror
    from worlds.cli.errors import NO
    from worlds.world import open as open_world

    def tell(sent: int, error: WorldsError | None) -> None:
        if error is None:
            output().print(f"sent {counted(sent, 'quad')}", soft_wrap=True)
        else:
            note(f"{error}; trying again")

    with (
        open_world(path, embedder=None, read_only=True, create=False) as world,
        Mirror(world, endpoint, update=update, token=token) as kept,
    ):
        if verify:
            differences = kept.verify()
            for difference in differences:
                output().print(difference, markup=False, soft_wrap=True)
            if differences:
                raise typer.Exit(NO)
            output().print("no difference")
        elif once:
            tell(kept.step(replace=replace), None)
        else:
            over = threading.Event()
            signal.signal(signal.SIGTERM, lambda *_: over.set())
            kept.follow(every, over, tell, replace=replace)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        cls=Command,
        epilog=examples(
            "worlds mirror kb.db http://localhost:3030/kb/sparql --update http://localhost:3030/kb/update",
            "worlds mirror kb.db http://localhost:7878/query --update http://localhost:7878/update --once",
            "worlds mirror kb.db http://localhost:8000/sparql --verify",
        ),
    )(mirror)
