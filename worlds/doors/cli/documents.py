"""The command that adds documents."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from worlds.doors.cli.changes import tried
from worlds.doors.cli.command import command
from worlds.doors.cli.exit_codes import Interrupted
from worlds.doors.cli.options import EMBEDDER, given
from worlds.doors.cli.terminal import note, progress
from worlds.errors import EmbedderError, OpenError

if TYPE_CHECKING:
    from worlds.core.history.diff import Diff
    from worlds.doors.cli.terminal import Bar
    from worlds.world import World


@command(
    "sources.add_document",
    given("FILE...", "Documents, or folders of documents.", name="files"),
    given("--base IRI", "A document's IRI is this IRI and its name without the ending."),
    given("--iri IRI", "The IRI of the one document."),
    EMBEDDER,
    create=True,
    defaults={"type": None, "predicate": None},
)
def add_document(
    world: World,
    path: str,
    files: list[str],
    *,
    base: str | None,
    iri: str | None,
    author: str | None,
    message: str | None,
    embed: bool,
    dry_run: bool,
    **given: Any,
) -> Any:
    """A missing world is made. Quads that this command wrote from an earlier version are replaced, and no others.

    Of folders, the files ending in .md, .txt, .html, .pdf, .docx, .epub and the like are taken. After an error, nothing
    is changed.

    $ worlds sources add-document kb.db notes/ --base https://example.org/notes/
    $ worlds sources add-document kb.db report.html --iri https://example.org/report --date 2024-05-01
    """
    documents = _documents(files, base, iri)
    options = {name: value for name, value in given.items() if name not in ("type", "predicate") or value is not None}
    if dry_run:
        return _rehearsed(world, documents, options)
    began = time.perf_counter()
    state = "nothing was changed; run the same command again"
    try:
        changes = []
        with progress() as bar:
            with world.transaction(author=author, message=message):
                for place, (name, file) in enumerate(documents):
                    bar("add documents", place, len(documents))
                    changes.append(world.sources.add_document(name, file, **options, embed=False))
            state = f"all documents are added; some texts are not embedded yet: run `worlds embed {path}`"
            embedded = _embed(world, bar) if any(change.chunks for change in changes) else 0
    except KeyboardInterrupt as interrupt:
        raise Interrupted(state) from interrupt
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
