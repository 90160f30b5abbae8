"""The commands that write: load, update, embed."""

from __future__ import annotations

import contextlib
import sys
import time
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

import typer

from worlds.cli.ask import Bindings, given_bindings, given_query
from worlds.cli.differences import show_diff
from worlds.cli.errors import Interrupted
from worlds.cli.options import (
    INTERRUPTIBLE,
    Command,
    DryRun,
    Embed,
    EmbedderName,
    Json,
    Ray,
    WorldPath,
    embedder_of,
    examples,
    of_verb,
    opened,
)
from worlds.cli.terminal import counted, note, output, progress, write_json
from worlds.errors import OpenError

if TYPE_CHECKING:
    from worlds.revisions.diff import Diff
    from worlds.revisions.gate import Change
    from worlds.world import World


Hosts = Annotated[
    list[str] | None, typer.Option(metavar="HOST", help="Read from this host. May be repeated; others are refused.")
]

_MANY = 10_000  # quads from which on it is worth saying how many a second took


@of_verb("load")
def load(
    path: WorldPath,
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE...", help="Files, folders, globs, URLs, or - for standard input.", show_default=False
        ),
    ],
    *,
    replace: Annotated[bool, typer.Option("--replace", help="The same as --mode replace.")] = False,
    allow_network: Hosts = None,
    embed: Embed = True,
    embedder: EmbedderName = "auto",
    mapping: Annotated[
        str | None,
        typer.Option("--map", metavar="FILE", help="Read tables by this CSVW metadata; - proposes it for each."),
    ] = None,
    propose_map: Annotated[
        bool, typer.Option("--propose-map", help="Load nothing, and print the mapping of tables to edit.")
    ] = False,
    dry_run: DryRun = False,
    json: Json = False,
    **given: Any,
) -> None:
    """Makes the world if there is none. All of it is loaded or, after an error or Ctrl-C, nothing."""
    _refuse_network(sources, allow_network or [])
    if propose_map:
        _propose_map(path, sources, given["base"])
        return
    if mapping is not None:
        given["mapping"] = True if mapping == "-" else mapping
    began = time.perf_counter()
    state = "nothing was changed; the same command can be run again"
    try:
        embed = embed and not dry_run
        chosen = embedder if embed else "none"
        if replace:
            given["mode"] = "replace"
        with opened(path, write=True, create=True, embedder=chosen, dry_run=dry_run) as world:
            before = world.stats().last_revision
            if "-" in sources and sys.stdin is not None and sys.stdin.isatty():
                note("reading RDF from the terminal; Ctrl-D ends it")
            try:
                with progress() as bar:
                    change = world.load(
                        list(sources),
                        embed=embed,
                        allow_network=allow_network or False,
                        progress=bar,
                        dry_run=dry_run,
                        **given,
                    )
            except KeyboardInterrupt:
                if world.stats().last_revision != before:
                    state = f"all quads are loaded, some texts are not embedded yet; `worlds embed {path}` goes on"
                raise
            state = "all of it is loaded"
            report(world, change, time.perf_counter() - began, as_json=json)
            if embedder != "none" and embed:
                note_pending(world, change)
    except KeyboardInterrupt as interrupt:
        raise Interrupted(state) from interrupt


def _propose_map(path: str, tables: list[str], base: str | None) -> None:
    """Print the mapping of a table, or write those of several beside them."""
    with opened(path, write=not Path(path).exists(), create=True, dry_run=True) as world:
        found = world.propose_mapping(*tables, base=base)
    if len(found) == 1:
        write_json(found[0])
        return
    for table, one in zip(tables, found, strict=True):
        beside = Path(f"{table}-metadata.json")
        with beside.open("x", encoding="utf-8") as stream:
            stream.write(dumps(one, ensure_ascii=False, indent=2) + "\n")
        output().print(f"{beside} is written", soft_wrap=True)


def _refuse_network(sources: list[str], hosts: list[str]) -> None:
    for source in sources:
        parts = urlsplit(source) if source.lower().startswith(("http://", "https://")) else None
        if parts is not None and (parts.hostname or "") not in hosts:
            raise OpenError(f"{source} was not fetched: allow it with --allow-network {parts.hostname}")


def report(
    world: World,
    change: Change | Diff,
    seconds: float,
    *,
    as_json: bool,
    nothing: str = "nothing changed: all of it is there already",
) -> None:
    """Print what a write did, or would do; `nothing` for people, if it changed nothing."""
    from worlds.revisions.diff import Diff

    if isinstance(change, Diff) and not change and not as_json:
        output().print(nothing.replace("nothing changed", "nothing would change"), soft_wrap=True)
    elif isinstance(change, Diff):
        show_diff(world, change, as_json=as_json)
    elif as_json:
        write_json(outcome(change, world.stats().pending, seconds))
    elif change.proposal is not None:
        output().print(f"proposal {change.proposal} waits for a decision; nothing is changed yet", soft_wrap=True)
    else:
        output().print(nothing if change.revision is None else sentence(change, seconds), soft_wrap=True)
    for remark in change.notes:
        note(remark)


def finish(
    world: World, change: Change | Diff, began: float, *, as_json: bool, nothing: str = "nothing changed"
) -> None:
    """Print what a write did, or would do, that `began` at a reading of the clock, and what is not embedded of it."""
    report(world, change, time.perf_counter() - began, as_json=as_json, nothing=nothing)
    if getattr(change, "chunks", 0):
        note_pending(world, change)


def outcome(change: Change, pending: int, seconds: float) -> dict[str, object]:
    """What a write did, for programs."""
    return {
        "revision": change.revision,
        "added": change.added,
        "removed": change.removed,
        "chunks": change.chunks,
        "embedded": change.embedded,
        "pending": pending,
        "notes": list(change.notes),
        "proposal": change.proposal,
        "seconds": round(seconds, 3),
    }


def sentence(change: Change, seconds: float) -> str:
    """What a write did, for people."""
    parts = [f"{counted(change.added, 'quad')} added"]
    if change.removed:
        parts.append(f"{change.removed:,} removed")
    parts.append(counted(change.chunks, "text chunk"))
    if change.embedded:
        parts.append(f"{counted(change.embedded, 'text')} embedded")
    rate = f", {change.added / seconds:,.0f} quads/s" if change.added >= _MANY and not change.embedded else ""
    return f"revision {change.revision}: {', '.join(parts)} ({seconds:,.1f} s{rate})"


def note_pending(world: World, change: Change | Diff) -> None:
    """Say what is not embedded, and why."""
    from worlds.embedders import reason_without

    pending = world.stats().pending
    if pending and not change.notes:
        why = (world.embedder is None and reason_without()) or "`worlds embed` does it"
        note(f"{counted(pending, 'chunk')} will be found by words only until embedded: {why}")


@of_verb("update")
def update(
    path: WorldPath,
    request: Annotated[
        str | None,
        typer.Argument(metavar="[UPDATE]", help="The update, or - for standard input.", show_default=False),
    ] = None,
    *,
    file: Annotated[
        str | None, typer.Option("--file", "-f", metavar="FILE", help="Read the update from a file.")
    ] = None,
    bindings: Bindings = None,
    allow_network: Hosts = None,
    embed: Embed = True,
    embedder: EmbedderName = "auto",
    json: Json = False,
    **given: Any,
) -> None:
    """Several operations are one revision: all of it or, after an error, nothing."""
    text, bound = given_query(request, file), given_bindings(bindings)
    timeout = given.pop("timeout")
    began = time.perf_counter()
    with opened(path, write=True, embedder=embedder if embed else "none") as world:
        change = world.update(
            text,
            bindings=bound,
            embed=embed,
            timeout=INTERRUPTIBLE if timeout is None else timeout,
            allow_network=allow_network or False,
            **given,
        )
        report(world, change, time.perf_counter() - began, as_json=json, nothing="nothing changed")
        if embed and embedder != "none" and getattr(change, "chunks", 0):
            note_pending(world, change)


def embed(
    path: WorldPath,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Make all vectors anew; until then the old ones answer.")
    ] = False,
    workers: Annotated[int, typer.Option(metavar="N", help="How many processes embed.", min=1)] = 1,
    ray: Ray = None,
    embedder: EmbedderName = "auto",
    json: Json = False,
) -> None:
    """Give every text that has no vector yet its vector.

    Each batch is kept as soon as it is done: after Ctrl-C, the same command goes on where it stopped.
    """
    from worlds.embedders import resolve_embedder
    from worlds.groups.embedding import parallel_embedder

    began = time.perf_counter()
    several = workers > 1 or ray is not None
    with contextlib.ExitStack() as stack:
        # The embedder that is to take another's place does not fit the world yet.
        world = stack.enter_context(opened(path, write=True, embedder="none" if rebuild or several else embedder))
        name = embedder_of(embedder)
        if several:
            world.embedder = stack.enter_context(parallel_embedder(name, workers=workers, ray=ray))
        elif rebuild:
            world.embedder = resolve_embedder(name)
        try:
            with progress() as bar:
                count = world.embed(rebuild=rebuild, progress=bar)
        except KeyboardInterrupt as interrupt:
            again = "the same command" if rebuild else f"`worlds embed {path}`"
            raise Interrupted(f"what is embedded is kept; {again} goes on") from interrupt
        seconds = time.perf_counter() - began
        pending = world.stats().pending
        if json:
            write_json({"embedded": count, "pending": pending, "seconds": round(seconds, 3)})
        elif count:
            output().print(f"{counted(count, 'text')} embedded ({seconds:,.1f} s)")
        else:
            output().print("nothing to embed")
        if pending:
            note(f"{counted(pending, 'chunk')} could not be embedded")


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(
        cls=Command,
        epilog=examples(
            "worlds load kb.db papers.ttl people.nq.gz",
            "worlds load kb.db data/ --graph https://example.org/import --replace",
            "curl -s https://example.org/x.ttl | worlds load kb.db - --format turtle",
        ),
    )(load)
    app.command(
        cls=Command,
        epilog=examples(
            "worlds update kb.db 'INSERT DATA { ex:apollo11 rdfs:label \"Apollo 11\"@en }'",
            "worlds update kb.db --file fix.ru --author ann --message 'one label each'",
        ),
    )(update)
    app.command(
        cls=Command,
        epilog=examples(
            "worlds embed kb.db",
            "worlds embed kb.db --workers 8",
            "worlds embed kb.db --rebuild --embedder BAAI/bge-small-en-v1.5",
        ),
    )(embed)
