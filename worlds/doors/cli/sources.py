"""The commands of sources: sources sync, list, trust, set, remove."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from worlds.core.search.options import REQUIRED
from worlds.doors.cli.changes import show_diff, tried
from worlds.doors.cli.command import command
from worlds.doors.cli.exit_codes import NO, Interrupted
from worlds.doors.cli.options import AUTHOR, DRY_RUN, EMBEDDER, MESSAGE, given
from worlds.doors.cli.terminal import note, output, progress, write_json
from worlds.errors import ArgumentError, WorldsError

if TYPE_CHECKING:
    from worlds.extras.sources.source_sync import Synced
    from worlds.extras.sources.store import WorldSource
    from worlds.world import World

_NAMED = 10  # files of a kind of change, that people are shown
_OF_SOURCE = ("kind", "graph", "base", "patterns", "language", "mapping", "edits", "hosts", "user", "password_variable")
_WAIT = 50  # milliseconds without a change before a watched folder is read

_EDITS = given("--edits HOW", "The treatment of others' edits in its graph: refuse or keep.")


@command(
    "sources.sync",
    given("[PLACE|NAME]", "A folder, a file or a URL, or the name of a source; else all.", name="place"),
    given("--name NAME", "The name of a new source."),
    given("--kind KIND", "documents, rdf or tables; else by the files' names."),
    given("--graph -g IRI", "The graph of a new source."),
    given("--base IRI", "A document's IRI is this one and its path."),
    given("--pattern GLOB...", "The files of a new source; ! leaves out; may be repeated.", name="patterns"),
    given("--language --lang -l TAG", "The language of its documents."),
    given("--map FILE", "The CSVW metadata of tables, which is kept.", name="mapping"),
    _EDITS,
    given("--host HOST...", "Let a new source ask this host.", name="hosts"),
    given("--user NAME", "The user name for the host."),
    given("--password-variable NAME", "The environment variable with the password."),
    given("--watch", "Read again whenever a file changes, until Ctrl-C."),
    EMBEDDER,
    create=True,
)
def sync(
    world: World, place: str | None, *, name: str | None, watch: bool, dry_run: bool, json: bool, **given: Any
) -> None:
    """A place that is no source yet becomes one, and the world is made if there is none.

    The exit code is 1 if a file could not be read.

    $ worlds sources sync kb.db notes/
    $ worlds sources sync kb.db --watch
    """
    options = {key: value for key in _OF_SOURCE if (value := given.pop(key))}
    with tried(world) if dry_run else contextlib.nullcontext():
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
            raise typer.BadParameter("options of a new source need its place: a folder, a file or a URL")
        if not len(world.sources):
            raise ArgumentError("the world has no sources: `worlds sources sync WORLD FOLDER` adds one", kind="source")
        return None
    known = {one.name: one for one in world.sources}
    here = place if "://" in place else str(Path(place).expanduser().absolute())
    found = known.get(place) or next((one for one in known.values() if one.place == here), None)
    if found is not None and not (name or options):
        return found.name
    if found is not None and place in known:
        raise typer.BadParameter(f"{place} is a source already; `worlds sources set` changes it")
    return world.sources.add(place, name, **options).name


def _run(world: World, name: str | None, given: dict[str, Any], *, dry_run: bool, json: bool) -> bool:
    """Run a source, or all, and print the outcome; returns whether a file could not be read."""
    began = time.perf_counter()
    try:
        with progress() as bar:
            runs = world.sources.sync(name, dry_run=dry_run, progress=bar, **given)
    except KeyboardInterrupt as interrupt:
        raise Interrupted("finished sources are kept; run the same command again") from interrupt
    if json:
        write_json({"runs": [one.to_dict() for one in runs]})
    else:
        for one in runs:
            _print(one, world, time.perf_counter() - began)
    return any(one.errors for one in runs)


def _print(one: Synced, world: World, seconds: float) -> None:
    moved = tuple(f"{before} → {now}" for before, now in one.moved)
    parts = (("new", one.new), ("changed", one.changed), ("moved", moved), ("deleted", one.deleted))
    told = ", ".join(f"{len(paths):,} {what}" for what, paths in parts if paths)
    told = told or ("not read" if any(not failed.path for failed in one.errors) else "nothing changed")
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
    watched: list[WorldSource] = [
        one for one in world.sources if name in (None, one.name) and one.trusted and not one.is_address
    ]
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


_NAME = given("NAME", "The name of a source.", name="name")


@command(
    "sources.list",
    given("[NAME]", "Show this source in full."),
    empty="no sources: `worlds sources sync` with a folder adds one",
)
def listed(world: World, name: str | None) -> Any:
    """List the sources of the world with the state of their last run.

    A source that came with the file, or with a copy of it, is not read before it is trusted.

    $ worlds sources list kb.db
    $ worlds sources list kb.db notes
    """
    return {"sources": [world.sources[name]] if name is not None else list(world.sources)}


@command("sources.trust", _NAME)
def trust() -> None:
    """Trust a source on this machine: `sources sync` reads it from then on.

    $ worlds sources trust kb.db notes
    """


@command("sources.set", *(_NAME, given("--edits HOW", "The treatment: refuse or keep.", default=REQUIRED)), writes=True)
def changed() -> None:
    """Change the treatment of others' edits in the graph of a source.

    $ worlds sources set kb.db notes --edits keep
    """


@command("sources.remove", *(_NAME, AUTHOR, MESSAGE, DRY_RUN), writes=True, nothing="its graph was empty")
def remove() -> None:
    """Remove a source and its graph.

    $ worlds sources remove kb.db notes --dry-run
    """
