"""The command that adds documents."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

import typer

from worlds.cli.differences import show_diff
from worlds.cli.errors import Interrupted
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
from worlds.cli.terminal import clean, counted, note, output, progress, write_json
from worlds.errors import EmbedderError, OpenError

if TYPE_CHECKING:
    from worlds.cli.terminal import Bar
    from worlds.revisions.diff import Diff
    from worlds.revisions.gate import Change
    from worlds.world import World


@of_verb("add_document", type=None, predicate=None)
def add_document(
    path: WorldPath,
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE...", help="Documents, or folders of documents.", show_default=False),
    ],
    *,
    base: Annotated[
        str | None, typer.Option(metavar="IRI", help="A document's IRI is this IRI and its name without the ending.")
    ] = None,
    iri: Annotated[str | None, typer.Option(metavar="IRI", help="The IRI of the one document.")] = None,
    embed: Embed = True,
    embedder: EmbedderName = "auto",
    author: Author = None,
    message: Message = None,
    dry_run: DryRun = False,
    json: Json = False,
    **given: Any,
) -> None:
    """Makes the world if there is none. What this command wrote of an earlier version is replaced, and nothing else.

    Of folders, the files ending in .md, .txt, .html and the like are taken. After an error, nothing is changed.
    """
    documents = _documents(files, base, iri)
    options = {name: value for name, value in given.items() if name not in ("type", "predicate") or value is not None}
    began = time.perf_counter()
    state = "nothing was changed; the same command can be run again"
    try:
        chosen = embedder if embed and not dry_run else "none"
        with opened(path, write=True, create=True, embedder=chosen, dry_run=dry_run) as world:
            if dry_run:
                show_diff(world, _rehearsed(world, documents, options), as_json=json)
                return
            changes = []
            with progress() as bar:
                with world.transaction(author=author, message=message):
                    for place, (name, file) in enumerate(documents):
                        bar("add documents", place, len(documents))
                        changes.append(world.add_document(name, file, **options, embed=False))
                state = f"all documents are added, some texts are not embedded yet; `worlds embed {path}` goes on"
                embedded = _embed(world, bar) if any(change.chunks for change in changes) else 0
            state = "all documents are added"
            _report(documents, changes, embedded, world.stats().pending, time.perf_counter() - began, as_json=json)
    except KeyboardInterrupt as interrupt:
        raise Interrupted(state) from interrupt


def _rehearsed(world: World, documents: list[tuple[str, Path]], options: dict[str, Any]) -> Diff:
    """What adding the documents would make different."""
    with contextlib.suppress(_Over), world.transaction():
        for name, file in documents:
            world.add_document(name, file, **options, embed=False)
        found = world.diff(world.stats().last_revision)
        raise _Over
    return found


class _Over(Exception):  # noqa: N818  # no error: it undoes a transaction
    pass


def _embed(world: World, bar: Bar) -> int:
    """Embed the new texts; gives their number."""
    if world.embedder is None:
        return 0
    try:
        return world.embed(progress=bar)
    except EmbedderError as error:
        note(f"new texts are not embedded yet, and are found by words only: {error}")
        return 0


def _report(
    documents: list[tuple[str, Path]],
    changes: list[Change],
    embedded: int,
    pending: int,
    seconds: float,
    *,
    as_json: bool,
) -> None:
    revision = max((change.revision or 0 for change in changes), default=0) or None
    added, removed, chunks = (
        sum(getattr(change, name) for change in changes) for name in ("added", "removed", "chunks")
    )
    if as_json:
        write_json(
            {
                "revision": revision,
                "added": added,
                "removed": removed,
                "chunks": chunks,
                "embedded": embedded,
                "pending": pending,
                "documents": [
                    {"iri": name, "file": str(file), "changed": change.revision is not None}
                    for (name, file), change in zip(documents, changes, strict=True)
                ],
                "seconds": round(seconds, 3),
            }
        )
        return
    for (name, _), change in zip(documents, changes, strict=True):
        what = "unchanged" if change.revision is None else counted(change.chunks, "text chunk")
        output().print(f"{clean(name)}: {what}")
    what = "nothing changed" if revision is None else f"revision {revision}: {counted(added, 'quad')} added"
    parts = [what, f"{removed:,} removed"] if removed else [what]
    if embedded:
        parts.append(f"{counted(embedded, 'text')} embedded")
    output().print(f"{', '.join(parts)} ({seconds:,.1f} s)")


def _documents(given: list[str], base: str | None, iri: str | None) -> list[tuple[str, Path]]:
    """The IRI and the file of each document."""
    if (base is None) == (iri is None):
        raise ValueError("give the documents' IRIs, by --base, or the IRI of the one document, by --iri")
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
    from worlds.documents.reading import FORMATS

    if not path.is_dir():
        if not path.exists():
            raise OpenError(f"{path} does not exist")
        return [(path.stem, path)]
    endings = {ending for some in FORMATS.values() for ending in some}
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


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "add-document",
        cls=Command,
        epilog=examples(
            "worlds add-document kb.db notes/ --base https://example.org/notes/",
            "worlds add-document kb.db report.html --iri https://example.org/report --date 2024-05-01",
        ),
    )(add_document)
