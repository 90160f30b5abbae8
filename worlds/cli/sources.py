"""The commands of sources: sync, sources."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from worlds.cli import show
from worlds.cli.differences import show_diff
from worlds.cli.errors import NO, Interrupted
from worlds.cli.options import (
    Author,
    Command,
    DryRun,
    Embed,
    EmbedderName,
    Json,
    Message,
    WorldPath,
    examples,
    of_verb,
    opened,
)
from worlds.cli.terminal import note, output, progress, write_json
from worlds.cli.write import report
from worlds.errors import ArgumentError, WorldsError

if TYPE_CHECKING:
    from worlds.sources.store import WorldSource
    from worlds.sources.syncing import Synced
    from worlds.world import World

_NAMED = 10  # files of a kind of change, that people are shown
_WAIT = 50  # milliseconds without a change before a watched folder is read

Edits = Annotated[
    str | None,
    typer.Option("--edits", metavar="HOW", help="What becomes of others' edits in its graph: refuse or keep."),
]


@of_verb("sync")
def sync(
    path: WorldPath,
    place: Annotated[
        str | None,
        typer.Argument(metavar="[PLACE|NAME]", help="A folder, a file or a URL, or the name of a source; else all."),
    ] = None,
    *,
    name: Annotated[str | None, typer.Option("--name", metavar="NAME", help="The name of a new source.")] = None,
    kind: Annotated[
        str | None, typer.Option("--kind", metavar="KIND", help="documents, rdf or tables; else by the files' names.")
    ] = None,
    graph: Annotated[
        str | None, typer.Option("--graph", "-g", metavar="IRI", help="The graph of a new source.")
    ] = None,
    base: Annotated[
        str | None, typer.Option("--base", metavar="IRI", help="A document's IRI is this one and its path.")
    ] = None,
    pattern: Annotated[
        list[str] | None,
        typer.Option("--pattern", metavar="GLOB", help="The files of a new source; ! leaves out; may be repeated."),
    ] = None,
    language: Annotated[
        str | None, typer.Option("--language", "--lang", "-l", metavar="TAG", help="The language of its documents.")
    ] = None,
    mapping: Annotated[
        str | None, typer.Option("--map", metavar="FILE", help="The CSVW metadata of tables, which is kept.")
    ] = None,
    edits: Edits = None,
    host: Annotated[
        list[str] | None, typer.Option("--host", metavar="HOST", help="Let a new source ask this host.")
    ] = None,
    user: Annotated[str | None, typer.Option("--user", metavar="NAME", help="Who asks the host.")] = None,
    password_variable: Annotated[
        str | None,
        typer.Option("--password-variable", metavar="NAME", help="The environment variable with the password."),
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Read again whenever a file changes, until Ctrl-C.")] = False,
    embed: Embed = True,
    embedder: EmbedderName = "auto",
    author: Author = None,
    message: Message = None,
    dry_run: DryRun = False,
    json: Json = False,
    **given: Any,
) -> None:
    """A place that is no source yet becomes one, and the world is made if there is none.

    The exit code is 1 if a file could not be read.
    """
    options = {
        "kind": kind, "graph": graph, "base": base, "patterns": pattern, "language": language, "mapping": mapping,
        "edits": edits, "hosts": host, "user": user, "password_variable": password_variable,
    }  # fmt: skip
    options = {key: value for key, value in options.items() if value}
    chosen = embedder if embed and not dry_run else "none"
    given |= {"author": author, "message": message, "embed": embed}
    with opened(path, write=True, create=place is not None, embedder=chosen, dry_run=dry_run) as world:
        with _tried(world) if dry_run else contextlib.nullcontext():
            source = _source(world, place, name, options)
            failed = _run(world, source, given, dry_run=dry_run, json=json)
        if watch and not dry_run:
            _watch(world, source, given, json=json)
    if failed:
        raise typer.Exit(NO)


def _source(world: World, place: str | None, name: str | None, options: dict[str, Any]) -> str | None:
    """The name of the source that is meant, which is added if it is new; None for all."""
    if place is None:
        if name or options:
            raise typer.BadParameter("options of a new source need its place")
        if not len(world.sources):
            raise ArgumentError("the world has no sources: `worlds sync WORLD FOLDER` adds one", kind="source")
        return None
    known = {one.name: one for one in world.sources}
    here = place if "://" in place else str(Path(place).expanduser().absolute())
    found = known.get(place) or next((one for one in known.values() if one.place == here), None)
    if found is not None and not (name or options):
        return found.name
    if found is not None and place in known:
        raise typer.BadParameter(f"{place} is a source already; `worlds sources` changes it")
    return world.sources.add(place, name, **options).name


@contextlib.contextmanager
def _tried(world: World) -> Iterator[None]:
    """Have nothing of the block stay, a new source neither."""
    with contextlib.suppress(_Over), world.transaction():
        yield
        raise _Over


class _Over(Exception):  # noqa: N818  # no error: it undoes a transaction
    pass


def _run(world: World, name: str | None, given: dict[str, Any], *, dry_run: bool, json: bool) -> bool:
    """Run a source, or all, and tell what it came to; whether a file could not be read."""
    began = time.perf_counter()
    try:
        with progress() as bar:
            runs = world.sync(name, dry_run=dry_run, progress=bar, **given)
    except KeyboardInterrupt as interrupt:
        raise Interrupted("what was finished before stays; the same command can be run again") from interrupt
    if json:
        write_json({"runs": [one.to_dict() for one in runs]})
    else:
        for one in runs:
            _print(one, world, time.perf_counter() - began)
    return any(one.errors for one in runs)


def _print(one: Synced, world: World, seconds: float) -> None:
    moved = tuple(f"{before} → {now}" for before, now in one.moved)
    parts = (("new", one.new), ("changed", one.changed), ("moved", moved), ("deleted", one.deleted))
    told = ", ".join(f"{len(paths):,} {what}" for what, paths in parts if paths) or "nothing changed"
    wrote = "" if one.revision is None else f"; revision {one.revision}"
    output().print(f"{one.source}: {told}, {one.unchanged:,} as before{wrote} ({seconds:.1f} s)", soft_wrap=True)
    for what, paths in parts:
        for path in paths[:_NAMED] if what != "new" or len(paths) <= _NAMED else ():
            output().print(f"  {what}: {path}", soft_wrap=True, markup=False, highlight=False)
    for failed in one.errors:
        note(f"{one.source}: {failed.message if failed.path in failed.message else f'{failed.path}: {failed.message}'}")
    for remark in one.notes:
        note(remark)
    if one.diff is not None and one.diff:
        show_diff(world, one.diff, as_json=False)


def _watch(world: World, name: str | None, given: dict[str, Any], *, json: bool) -> None:
    """Run sources again whenever one of their files changes, until an interrupt."""
    try:
        import watchfiles
    except ImportError as error:
        raise WorldsError("--watch needs watchfiles: pip install 'worlds-kg[sources]'") from error
    watched: list[WorldSource] = [one for one in world.sources if name in (None, one.name) and not one.is_address]
    note(f"watching {', '.join(one.place for one in watched)}; Ctrl-C ends it")
    places = {one.place: one.name for one in watched}
    with contextlib.suppress(KeyboardInterrupt):
        for changes in watchfiles.watch(*places, debounce=1000, step=_WAIT, raise_interrupt=True):
            touched = {own for place, own in places.items() if any(path.startswith(place) for _, path in changes)}
            for own in sorted(touched):
                try:
                    _run(world, own, given, dry_run=False, json=json)
                except WorldsError as error:  # such as a folder that is away for a moment
                    note(f"{own}: {error}")


def sources(
    path: WorldPath,
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Tell all of this source.", show_default=False)
    ] = None,
    *,
    edits: Edits = None,
    remove: Annotated[bool, typer.Option("--remove", help="Follow it no longer, and remove its graph.")] = False,
    author: Author = None,
    message: Message = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """List what the world follows, with the state of the last run, or change or remove a source."""
    if (edits is not None or remove) and name is None:
        raise typer.BadParameter("--edits and --remove need the name of a source")
    began = time.perf_counter()
    with opened(path, write=edits is not None or remove) as world:
        if remove and name is not None:
            change = world.sources.remove(name, author=author, message=message, dry_run=dry_run)
            report(world, change, time.perf_counter() - began, as_json=json, nothing="its graph was empty")
            return
        if edits is not None and name is not None:
            world.sources.set(name, edits=edits)  # type: ignore[arg-type]  # checked there
        found = [world.sources[name]] if name is not None else list(world.sources)
    if json:
        write_json({"sources": [one.to_dict() for one in found]})
    elif name is not None:
        for key, value in found[0].to_dict().items():
            if value not in (None, []) and key != "errors":
                output().print(f"{key}: {', '.join(value) if isinstance(value, list) else value}", soft_wrap=True)
        for failed in found[0].errors:
            note(f"{failed.path}: {failed.message}")
    elif not found:
        output().print("no sources: `worlds sync` with a folder adds one", markup=False)
    else:
        head = ("source", "kind", "files", "errors", "last run", "place")
        show.print_table(output(), head, [_row(one) for one in found])


def _row(one: WorldSource) -> tuple[str, ...]:
    run = "never" if one.run is None else f"{one.run:%Y-%m-%d %H:%M}"
    if one.error is not None:
        run += ", is away"
    if one.proposal is not None:
        run += f", proposal {one.proposal} waits"
    return one.name, one.kind, f"{one.files:,}", str(len(one.errors) or ""), run, one.place


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command, lines in (
        (sync, ("worlds sync kb.db notes/", "worlds sync kb.db --watch")),
        (sources, ("worlds sources kb.db", "worlds sources kb.db notes --edits keep")),
    ):
        app.command(cls=Command, epilog=examples(*lines))(command)
