"""The command that cuts a source into worlds: shard."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from worlds.cli.command import command
from worlds.cli.errors import Interrupted
from worlds.cli.options import EMBEDDER, RAY, embedder_of, given
from worlds.cli.terminal import output, waiting
from worlds.search.options import REQUIRED


@command(
    None,
    given("SOURCE...", "Files or folders of RDF."),
    given("--into FOLDER", "Where the worlds are to lie.", Path, REQUIRED, show_default=False),
    given("--by", "What is kept together: all of a subject, or of a graph.", Literal["subject", "graph"], "subject"),
    given("--shards N", "How many worlds.", int, 4, min=1, max=999),
    given("--workers N", "How many processes load and embed them.", int, 2, min=1),
    *(RAY, EMBEDDER),
    json=False,
    examples=(
        "worlds shard dump.nq.zst --into shards --shards 8 --workers 8",
        "worlds shard dump.nq.zst --into shards --shards 32 --ray auto",
        "worlds search --world shards/shard-000.db --world shards/shard-001.db water",
    ),
)
def shard(source: list[str], *, into: Path, shards: int, embedder: str, **given: Any) -> None:
    """Cut RDF into several worlds, loaded and embedded by several processes, to be searched as one by `--world`.

    A run that was interrupted is finished by the next one with the same arguments.
    """
    from worlds.groups.sharding import shard as run

    try:
        with waiting("cutting, loading and embedding"):
            worlds = run(source, into, shards=shards, embedder=embedder_of(embedder), **given)
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
