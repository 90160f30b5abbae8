"""The command that cuts a source into worlds: shard."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from worlds.cli.errors import Interrupted
from worlds.cli.options import Command, EmbedderName, Ray, examples
from worlds.cli.terminal import output, waiting


def shard(
    source: Annotated[
        list[str], typer.Argument(metavar="SOURCE...", help="Files or folders of RDF.", show_default=False)
    ],
    into: Annotated[Path, typer.Option(metavar="FOLDER", help="Where the worlds are to lie.", show_default=False)],
    by: Annotated[
        Literal["subject", "graph"], typer.Option(help="What is kept together: all of a subject, or of a graph.")
    ] = "subject",
    shards: Annotated[int, typer.Option(metavar="N", help="How many worlds.", min=1, max=999)] = 4,
    workers: Annotated[int, typer.Option(metavar="N", help="How many processes load and embed them.", min=1)] = 2,
    ray: Ray = None,
    embedder: EmbedderName = "auto",
) -> None:
    """Cut RDF into several worlds, loaded and embedded by several processes, to be searched as one by `--world`.

    A run that was interrupted is finished by the next one with the same arguments.
    """
    from worlds.groups.sharding import shard as run

    name = None if embedder == "none" else embedder
    try:
        with waiting("cutting, loading and embedding"):
            worlds = run(source, into, by=by, shards=shards, workers=workers, ray=ray, embedder=name)
    except KeyboardInterrupt as interrupt:
        raise Interrupted(_told(into, shards)) from interrupt
    for path in worlds:
        output().print(str(path), soft_wrap=True)


def _told(into: Path, shards: int) -> str:
    """What an interrupted run leaves."""
    again = "the same command goes on"
    if not (into / "parts").exists():
        return f"no shard is in {into} yet; the same command begins anew"
    done = len(list(into.glob("shard-*.db")))
    return f"{done} of {shards} shards are in {into}, with the parts of the others; {again}"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        cls=Command,
        epilog=examples(
            "worlds shard dump.nq.zst --into shards --shards 8 --workers 8",
            "worlds shard dump.nq.zst --into shards --shards 32 --ray auto",
            "worlds search --world shards/shard-000.db --world shards/shard-001.db water",
        ),
    )(shard)
