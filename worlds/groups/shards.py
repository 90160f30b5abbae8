"""A source that one world is too small, or too slow, for is cut into shards: worlds that a group has as one.

The cut is by the subject, so that all of a subject is in one shard, or by the graph. What is done is seen by the files
that are there, so that a run that was interrupted is finished by another one.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import zlib
from collections.abc import Callable
from concurrent.futures import as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import pyoxigraph as ox

from worlds.errors import ConflictError, OpenError, WorldsError
from worlds.graph.parsing import parsing
from worlds.graph.rdf_sources import sources
from worlds.graph.terms import skolemised
from worlds.groups.parallel_embedding import working
from worlds.permissions import create_like, most_private
from worlds.world import open as open_world

By = Literal["subject", "graph"]
Progress = Callable[[str, int, int | None], object]

BLANK = "urn:worlds:blank:"
"""The start of the IRI of a blank node, which several shards may have quads about."""

_PARTS = "parts.new"
_PREFIXES = "prefixes.json"
_TOLD = 100_000  # quads between two words of progress


@dataclass(frozen=True)
class _Plan:
    sources: list[str]
    by: By
    shards: int
    embedder: str | None
    files: list[list[str | int]]  # of the sources: path, bytes, and when it was written, in nanoseconds


def shard(
    source: str | list[str],
    into: str | Path,
    *,
    by: By = "subject",
    shards: int = 4,
    workers: int = 2,
    ray: str | None = None,
    embedder: str | None = None,
    progress: Progress | None = None,
) -> list[Path]:
    """Cut files of RDF into `shards` worlds in the folder `into`, which `workers` processes load and embed.

    With `ray`, the address of a cluster of Ray or "local", its tasks do, of which each may be on another machine that
    has this package and sees the folder at the same path.

    Gives the worlds' paths, for `worlds.group`. `source` is as `World.load` takes paths. A run that was interrupted is
    finished by the next one; the worlds have the permissions of the most private source. ConflictError if the folder
    is of other arguments, a source has changed since, or `into` is a file. `embedder` is a model's name, None for none.
    Blank nodes become IRIs, `urn:worlds:blank:…`. Errors as of `World.load`.
    """
    folder = Path(into)
    given = [source] if isinstance(source, str) else list(source)
    named = [str(Path(one).absolute()) for one in given]
    plan = _Plan(named, by, shards, embedder, _states(named))
    if folder.exists() and not folder.is_dir():
        raise ConflictError(f"{folder} is a file, and no folder for shards")
    if not folder.exists():
        for _ in sources(plan.sources):  # what is missing is told before anything is made
            pass
    folder.mkdir(parents=True, exist_ok=True)
    _keep(plan, folder / "shards.json")
    targets = [folder / f"shard-{number:03}.db" for number in range(shards)]
    parts = folder / "parts"
    missing = [target for target in targets if not target.exists()]
    if missing and not parts.exists():
        try:
            _cut(plan, parts, progress)
        except OSError as error:
            raise OpenError(f"the shards cannot be written to {folder}: {error.strerror or error}") from error
        finally:
            shutil.rmtree(parts.with_name(_PARTS), ignore_errors=True)
    if missing:
        with working(min(workers, len(missing)), ray) as pool:
            running = [
                pool.submit(_build, str(parts.absolute() / f"{target.stem}.nq"), str(target.absolute()), embedder)
                for target in missing
            ]
            for done, future in enumerate(as_completed(running), len(targets) - len(missing) + 1):
                future.result()
                if progress is not None:
                    progress("shard", done, shards)
    shutil.rmtree(parts, ignore_errors=True)
    return targets


def _keep(plan: _Plan, path: Path) -> None:
    """Record the plan of the shards in the folder; ConflictError if the folder has another plan."""
    told = json.dumps(asdict(plan), indent=1)
    if not path.exists():
        draft = path.with_suffix(".new")
        draft.unlink(missing_ok=True)
        with os.fdopen(create_like(draft, None, most=0o600), "w", encoding="utf-8") as file:  # it names the sources
            file.write(told)
        draft.replace(path)
        return
    known = json.loads(path.read_text("utf-8"))
    files = known.pop("files", plan.files)  # which the first versions did not note
    if known != {name: value for name, value in asdict(plan).items() if name != "files"}:
        raise ConflictError(f"{path.parent} holds shards of another source, or of another size: see {path}")
    if plan.files and files != plan.files:  # what is finished stands also where the source is gone
        changed = sorted({str(one[0]) for one in [*files, *plan.files] if one not in files or one not in plan.files})
        raise ConflictError(
            f"{path.parent} holds shards of an earlier state of {changed[0]}"
            + (f" and {len(changed) - 1:,} more files" if len(changed) > 1 else "")
            + ": remove the folder, or cut into another one"
        )


def _states(named: list[str]) -> list[list[str | int]]:
    """The files that sources are of, with what tells that one has changed."""
    paths: set[Path] = set()
    for name in named:
        path = Path(name)
        paths |= (
            {path}
            if path.is_file()
            else set(path.rglob("*"))
            if path.is_dir()
            else set(Path(path.anchor).glob(name[len(path.anchor) :]))
        )
    found = [(path, path.stat()) for path in sorted(paths) if path.is_file()]
    return [[str(path), told.st_size, told.st_mtime_ns] for path, told in found]


def _cut(plan: _Plan, parts: Path, progress: Progress | None) -> None:
    """Write the quads of each shard to a file; the folder of these is there when it is whole."""
    draft = parts.with_name(_PARTS)
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(mode=0o700)
    like = most_private([found.name for found in sources(plan.sources)])
    read = 0
    prefixes: dict[str, str] = {}
    with contextlib.ExitStack() as stack:
        files = [
            stack.enter_context(os.fdopen(create_like(draft / f"shard-{number:03}.nq", like), "wb", buffering=1 << 20))
            for number in range(plan.shards)
        ]
        for document, found in enumerate(sources(plan.sources)):
            with parsing(found) as quads:
                for quad in quads:
                    named = skolemised(quad, f"{BLANK}{document}-")
                    key = named.subject if plan.by == "subject" else named.graph_name
                    line = f"{named.subject} {named.predicate} {named.object}"
                    if not isinstance(named.graph_name, ox.DefaultGraph):
                        line += f" {named.graph_name}"
                    files[zlib.crc32(str(key).encode()) % plan.shards].write(f"{line} .\n".encode())
                    read += 1
                    if progress is not None and not read % _TOLD:
                        progress("read", read, None)
                prefixes |= quads.prefixes
    (draft / _PREFIXES).write_text(json.dumps(prefixes), "utf-8")
    draft.rename(parts)


def _build(part: str, target: str, embedder: str | None) -> None:
    """Make one world, in a process of its own."""
    draft = Path(target).with_suffix(".part")
    with contextlib.suppress(FileExistsError):
        os.close(create_like(draft, part))
    with open_world(str(draft), embedder=embedder) as world:
        if not world.history(1):  # else it is loaded, and perhaps embedded in part
            world.load(part, format="nq", embed=False)
            for prefix, iri in json.loads(Path(part).with_name(_PREFIXES).read_text("utf-8")).items():
                world.bind(prefix, iri)
        if embedder is not None:
            world.embed()
    log = Path(f"{draft}-wal")
    if log.exists() and log.stat().st_size:
        raise WorldsError(f"{draft} is used by another process: end that, and begin again")
    draft.rename(target)
