"""The commands of sources and documents."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import typer

from worlds.core.search.options import REQUIRED
from worlds.doors.cli.changes import SHOWN, print_diff, tried
from worlds.doors.cli.command import command
from worlds.doors.cli.exit_codes import NO, stopping
from worlds.doors.cli.options import AUTHOR, DRY_RUN, EMBEDDER, MESSAGE, given
from worlds.doors.cli.show import print_answer
from worlds.doors.cli.terminal import note, progress, write_json
from worlds.errors import ArgumentError, EmbedderError, OpenError, WorldsError

if TYPE_CHECKING:
    from worlds.core.history.diff import Diff
    from worlds.doors.cli.terminal import Bar
    from worlds.extras.sources.source_sync import Synced
    from worlds.extras.sources.store import WorldSource
    from worlds.world import World

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
    options = {key: value for key in _OF_SOURCE if (value := given.pop(key, None))}
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
    with stopping("finished sources are kept; run the same command again"), progress() as bar:
        runs = world.sources.sync(name, dry_run=dry_run, progress=bar, **given)
    if json:
        write_json({"runs": [one.to_dict() for one in runs]})
    else:
        for one in runs:
            _print(one, world)
    return any(one.errors for one in runs)


def _print(one: Synced, world: World) -> None:
    for remark in one.notes:
        note(remark)
    moved = [f"{before} → {now}" for before, now in one.moved]
    print_answer({**one.to_dict(), "moved": moved}, world.prefixes)
    if one.diff:
        print_diff(one.diff, f"from revision {one.diff.a} to {one.diff.b}", SHOWN, world.prefixes)


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


# -- documents ---------


@command(
    "sources.add_document",
    given("FILE...", "Documents, or folders of documents.", name="files"),
    given("--base IRI", "A document's IRI is this IRI and its name without the ending."),
    given("--iri IRI", "The IRI of the one document."),
    EMBEDDER,
    create=True,
)
def add_document(
    world: World, path: str, files: list[str], *, base: str | None, iri: str | None, author: str | None,
    message: str | None, embed: bool, dry_run: bool, **given: Any,
) -> Any:  # fmt: skip
    """A missing world is made. Quads that this command wrote from an earlier version are replaced, and no others.

    Of folders, the files ending in .md, .txt, .html, .pdf, .docx, .epub and the like are taken. After an error, nothing
    is changed.

    $ worlds sources add-document kb.db notes/ --base https://example.org/notes/
    $ worlds sources add-document kb.db report.html --iri https://example.org/report --date 2024-05-01
    """
    documents = _documents(files, base, iri)
    if dry_run:
        return _rehearsed(world, documents, given)
    began = time.perf_counter()
    state = "nothing was changed; run the same command again"
    changes = []
    with stopping(lambda: state), progress() as bar:
        with world.transaction(author=author, message=message):
            for place, (name, file) in enumerate(documents):
                bar("add documents", place, len(documents))
                changes.append(world.sources.add_document(name, file, **given, embed=False))
        state = f"all documents are added; some texts are not embedded yet: run `worlds embed {path}`"
        embedded = _embed(world, bar) if embed and any(change.chunks for change in changes) else 0
    told: dict[str, Any] = {"revision": max((change.revision or 0 for change in changes), default=0) or None}
    told |= {name: sum(getattr(change, name) for change in changes) for name in ("added", "removed", "chunks")}
    told |= {"embedded": embedded, "pending": world.stats().pending}
    told["documents"] = [
        {"iri": name, "file": str(file), "changed": change.revision is not None}
        for (name, file), change in zip(documents, changes, strict=True)
    ]
    return told | {"seconds": round(time.perf_counter() - began, 3)}


def _rehearsed(world: World, documents: list[tuple[str, Path]], options: dict[str, Any]) -> Diff:
    """The changes that adding the documents would make."""
    with tried(world):
        for name, file in documents:
            world.sources.add_document(name, file, **options, embed=False)
        return world.diff(world.stats().last_revision)


def _embed(world: World, bar: Bar) -> int:
    """Embed the new texts; returns their number."""
    if world.embedder is None:
        return 0
    try:
        return world.embed(progress=bar)
    except EmbedderError as error:
        note(f"new texts are not embedded yet, and are found by words only: {error}")
        return 0


def _documents(given: list[str], base: str | None, iri: str | None) -> list[tuple[str, Path]]:
    """The IRI and the file of each document."""
    if (base is None) == (iri is None):
        raise ValueError("give --base IRI for several documents, or --iri IRI for one")
    found = [pair for name in given for pair in _files(Path(name))]
    if iri is not None:
        if len(found) != 1:
            raise ValueError(f"--iri names one document, and there are {len(found)}; give --base")
        return [(iri, found[0][1])]
    documents: dict[str, Path] = {}
    for name, file in found:
        address = f"{base}{quote(os.fsencode(name))}"
        if documents.setdefault(address, file) != file:
            raise ValueError(f"{documents[address]} and {file} would both be <{address}>; rename one of them")
    return list(documents.items())


def _files(path: Path) -> list[tuple[str, Path]]:
    """The name without ending, relative to the folder, and the file, of each document at or below a path."""
    from worlds.extras.documents.conversion import FORMATS, PACKED

    if not path.is_dir():
        if not path.exists():
            raise OpenError(f"{path} does not exist")
        return [(path.stem, path)]
    endings = {ending for some in (*FORMATS.values(), PACKED) for ending in some}
    files = []
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        files += [Path(folder, name) for name in names if not name.startswith(".")]
    found = [
        (file.relative_to(path).with_suffix("").as_posix(), file)
        for file in sorted(files)
        if file.suffix.lower() in endings
    ]
    if not found:
        raise OpenError(f"{path} has no documents: no file in it ends in {', '.join(sorted(endings))}")
    return found
