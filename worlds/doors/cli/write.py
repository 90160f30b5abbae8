"""The commands that write: load, update, embed, shard."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from worlds.core.search.options import REQUIRED
from worlds.doors.cli.ask import given_query
from worlds.doors.cli.command import command
from worlds.doors.cli.exit_codes import stopping
from worlds.doors.cli.options import (
    BINDINGS,
    EMBEDDER,
    FILE,
    HOSTS,
    INTERRUPTIBLE,
    RAY,
    announced,
    embedder_of,
    given,
)  # fmt: skip
from worlds.doors.cli.terminal import counted, json_text, note, print_text, progress, waiting, write_json
from worlds.errors import OpenError

if TYPE_CHECKING:
    from worlds.world import World


@command(
    "load",
    given("SOURCE...", "Files, folders, globs, URLs, or - for standard input.", name="sources", callback=announced),
    given("--replace", "The same as --mode replace."),
    HOSTS,
    given("--map FILE", "Read tables by this CSVW metadata; - proposes it for each.", name="mapping"),
    given("--propose-map", "Load nothing, and print the mapping of tables to edit."),
    EMBEDDER,
    writes=lambda given: not given["propose_map"] or not Path(given["path"]).exists(),
    create=True,
    dry="dry_run propose_map",
)
def load(
    world: World,
    path: str,
    sources: list[str],
    *,
    replace: bool,
    allow_network: list[str] | None,
    mapping: str | None,
    propose_map: bool,
    embed: bool,
    **given: Any,
) -> Any:
    """Makes the world if there is none. All of it is loaded or, after an error or Ctrl-C, nothing.

    $ worlds load kb.db papers.ttl people.nq.gz
    $ worlds load kb.db data/ --graph https://example.org/import --replace
    $ worlds load kb.db people.csv --mode edit --dry-run
    $ curl -s https://example.org/x.ttl | worlds load kb.db - --format turtle
    """
    _refuse_network(sources, allow_network or [])
    if propose_map:
        return _propose_map(world, sources, given.get("base"))
    if mapping is not None:
        given["mapping"] = True if mapping == "-" else mapping
    if replace:
        given["mode"] = "replace"
    before = world.stats().last_revision
    given |= {"allow_network": allow_network or False, "embed": embed and not given["dry_run"]}

    def state() -> str:
        if world.stats().last_revision == before:
            return "nothing was changed; run the same command again"
        return f"all quads are loaded; some texts are not embedded yet: run `worlds embed {path}`"

    with stopping(state), progress() as bar:
        return world.load(list(sources), progress=bar, **given)


def _propose_map(world: World, tables: list[str], base: str | None) -> None:
    """Print the mapping of a table, or write the mappings of several tables beside them."""
    found = world.sources.mappings(*tables, base=base)
    if len(found) == 1:
        write_json(found[0])
        return
    for table, one in zip(tables, found, strict=True):
        beside = Path(f"{table}-metadata.json")
        with beside.open("x", encoding="utf-8") as stream:
            stream.write(json_text(one))
        print_text(f"{beside} is written")


def _refuse_network(sources: list[str], hosts: list[str]) -> None:
    for source in sources:
        parts = urlsplit(source) if source.lower().startswith(("http://", "https://")) else None
        if parts is not None and (parts.hostname or "") not in hosts:
            raise OpenError(f"{source} was not fetched: allow it with --allow-network {parts.hostname}")


@command(
    "update",
    given("[UPDATE]", "The update, or - for standard input.", name="request"),
    *(FILE, BINDINGS, HOSTS, EMBEDDER),
    nothing="nothing changed",
)
def update(
    world: World, request: str | None, *, file: str | None, bindings: Any, timeout: float | None, **given: Any
) -> Any:
    """Several operations are one revision: all of it or, after an error, nothing.

    $ worlds update kb.db 'INSERT DATA { ex:apollo11 rdfs:label "Apollo 11"@en }'
    $ worlds update kb.db --file fix.ru --author ann --message 'one label each'
    """
    given |= {"bindings": dict(bindings or ()), "timeout": INTERRUPTIBLE if timeout is None else timeout}
    return world.update(given_query(request, file), **given)


@command(
    None,
    given("--rebuild", "Make all vectors anew; meanwhile the old ones answer."),
    given("--workers N", "How many processes embed.", int, 1, min=1),
    *(RAY, EMBEDDER),
    writes=True,
    embedder=lambda given: "none" if given["rebuild"] or _several(given) else given["embedder"],
)
def embed(world: World, path: str, *, rebuild: bool, embedder: str, **given: Any) -> dict[str, Any]:
    """Give every text that has no vector yet its vector.

    Each batch is kept as soon as it is done: after Ctrl-C, run the same command to continue where it stopped.

    $ worlds embed kb.db
    $ worlds embed kb.db --workers 8
    $ worlds embed kb.db --rebuild --embedder BAAI/bge-small-en-v1.5
    """
    from worlds.core.embedders import resolve_embedder
    from worlds.groups.parallel_embedding import parallel_embedder

    began = time.perf_counter()
    name = embedder_of(embedder)
    with contextlib.ExitStack() as stack:
        if _several(given):
            world.embedder = stack.enter_context(parallel_embedder(name, **given))
        elif rebuild:
            world.embedder = resolve_embedder(name)
        again = "the same command" if rebuild else f"`worlds embed {path}`"
        with stopping(f"embedded texts are kept; {again} continues"), progress() as bar:
            count = world.embed(rebuild=rebuild, progress=bar)
    pending = world.stats().pending
    if pending:
        note(f"{counted(pending, 'chunk')} could not be embedded")
    return {"embedded": count, "pending": pending, "seconds": round(time.perf_counter() - began, 3)}


def _several(given: Mapping[str, Any]) -> bool:
    """Whether several processes embed."""
    return given["workers"] > 1 or given.get("ray") is not None


@command(
    "remote.shard",
    given("SOURCE...", "Files or folders of RDF."),
    given("--into FOLDER", "The folder of the shards.", Path, REQUIRED, show_default=False),
    given("--by", "The unit that stays in one shard: a subject, or a graph.", Literal["subject", "graph"], "subject"),
    given("--shards N", "How many worlds.", int, 4, min=1, max=999),
    given("--workers N", "How many processes load and embed them.", int, 2, min=1),
    *(RAY, EMBEDDER),
    json=False,
)
def shard(source: list[str], *, into: Path, shards: int, embedder: str, **given: Any) -> str:
    """Cut RDF into several worlds, loaded and embedded by several processes, to be searched as one by `--world`.

    A run that was interrupted is finished by the next one with the same arguments.

    $ worlds remote shard dump.nq.zst --into shards --shards 8 --workers 8
    $ worlds remote shard dump.nq.zst --into shards --shards 32 --ray auto
    $ worlds search --world shards/shard-000.db --world shards/shard-001.db water
    """
    from worlds.groups.shards import shard as run

    def state() -> str:
        if not (into / "parts").exists():
            return f"no shard is in {into} yet: run the same command again"
        done = f"{len(list(into.glob('shard-*.db')))} of {shards} shards are in {into}"
        return f"{done}, with the parts of the others; run the same command to continue"

    with stopping(state), waiting("cutting, loading and embedding"):
        return "\n".join(map(str, run(source, into, shards=shards, embedder=embedder_of(embedder), **given)))
