"""A stranger plants files beside a world of a folder that all may write to; agents cancel their calls at any moment.

Whatever lies there, what root's processes answer is what the world holds, or an error that names a file; no key of the
stranger's opens a door, and nothing outside of the folder is changed. After any number of cancelled calls the next is
answered, and no process is left.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import anyio

import worlds
from tests.support.mcp_clients import Agent, ask, inside
from tests.support.processes import end_within, family
from worlds.doors.server.keys import KeyStore

_STRANGER = 65_534  # "nobody"
_QUADS = 20
_PATIENCE = 120.0
_NAMES = (
    *("kb.db-sparql", "kb.db-wal", "kb.db-shm", "kb.db-journal", "kb.db.keys.json", "worlds.toml", "kb.db.replica"),
    *("copy.db", "copy.db-wal", ".copy.db.backup.part", "copy.db.part", "out.nq", ".out.nq.part", "out.nq.part"),
    *("kb.db-sparql/1", "kb.db-sparql/copy-1-00000000", "kb.db-sparql/lock", "kb.db-client_wal_index", "kb.db-info"),
)
_USE = """
import sys, worlds
from pathlib import Path
from worlds.doors.server.keys import keys_of

def use(verb):
    try:
        print(verb, use_of[verb](), flush=True)
    except (worlds.WorldsError, ValueError) as error:
        print(verb, "refused", error, flush=True)

def held():
    with worlds.open("kb.db", embedder=None, sparql_index="disk") as world:
        hits = world.search("kite", mode="text", limit=99)
        return len(world), len(world.query("SELECT ?s { ?s ?p ?o }")), len([*hits])

def sound():
    with worlds.open("kb.db", embedder=None, sparql_index="disk") as world:
        problems = world.check().problems
        return [problem for problem in problems if problem.kind != "sparql-index"]

def exported():
    with worlds.open("kb.db", embedder=None) as world:
        world.export("out.nq")
    return len(Path("out.nq").read_text().splitlines())

def copied():
    with worlds.open("kb.db", embedder=None) as world:
        world.file.backup("copy.db")
    with worlds.open("copy.db", embedder=None, read_only=True) as world:
        return len(world)

use_of = {
    "held": held,
    "sound": sound,
    "exported": exported,
    "copied": copied,
    "opens": lambda: keys_of(Path("kb.db")).find(sys.argv[1]) is not None,
}
for verb in sys.argv[2:]:
    use(verb)
"""
_WANTED = {
    "held": str((_QUADS, _QUADS, _QUADS)),
    "sound": "[]",
    "exported": str(_QUADS),
    "copied": str(_QUADS),
    "opens": "False",
}


def plant_neighbours(seed: int, number: int) -> tuple[int, str | None]:
    """Some planted files and some verbs after them; 1, and what was wrong."""
    chance = random.Random(f"{seed} neighbours {number}")
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        folder, victim = top / "shared", top / "victim"
        folder.mkdir()
        folder.chmod(0o1777)
        (victim / "1").mkdir(parents=True)
        (victim / "1" / "letters").write_text("dear")
        (victim / "kb.db.keys.json").write_text("{}")
        os.utime(victim / "1", (0, 0))
        store = KeyStore(top / "mallory.json")
        _, key = store.add("mallory", {"*": "admin"})
        _world(folder / "kb.db", _QUADS, "mine")
        (folder / "kb.db").chmod(0o600)
        _world(top / "other" / "kb.db", 2 * _QUADS, "another")
        before = _tree(victim)
        planted = [_plant(chance, folder, top, name) for name in chance.sample(_NAMES, chance.randrange(1, 4))]
        verbs = chance.sample(sorted(_WANTED), chance.randrange(1, 4))
        told = f"planted {'; '.join(planted)}, then {' '.join(verbs)}: "
        environment = {**os.environ, "PYTHONPATH": str(Path.cwd()), "XDG_CONFIG_HOME": name}
        command = [sys.executable, "-c", _USE, key, *verbs]
        try:
            done = subprocess.run(
                command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=_PATIENCE
            )
        except subprocess.TimeoutExpired as error:
            return 1, f"{told}no end: {error.stdout!r}"
        lines = done.stdout.splitlines()
        if done.returncode or len(lines) != len(verbs):
            return 1, f"{told}{done.returncode}: {done.stdout}{done.stderr[-3000:]}"
        for verb, line in zip(verbs, lines, strict=True):
            if line != f"{verb} {_WANTED[verb]}" and not line.startswith(f"{verb} refused "):
                return 1, f"{told}{line}"
        for path in folder.rglob("*"):
            if path.is_file() and b"of mine" in path.read_bytes():
                closed = any(_closed(above) for above in path.parents if above.is_relative_to(folder))
                if not closed and not _closed(path):
                    return 1, f"{told}the stranger may read {path.name}"
        if _tree(victim) != before:
            return 1, f"{told}what lies elsewhere was changed: {_tree(victim)}"
    return 1, None


def _closed(path: Path) -> bool:
    """Whether a stranger may neither read a file nor enter a folder."""
    found = path.stat()
    return found.st_uid != _STRANGER and not found.st_mode & 0o005


def _world(path: Path, quads: int, owner: str) -> None:
    path.parent.mkdir(exist_ok=True)
    with worlds.open(path, embedder=None, sparql_index="disk") as world:
        world.add([(f"urn:s{n}", "urn:p", f'"a kite {n} of {owner}"') for n in range(quads)])
        world.query("ASK {}")


def _plant(chance: random.Random, folder: Path, top: Path, name: str) -> str:
    """Let the stranger have put something there; gives what and where."""
    path = folder / name
    kind = chance.choice(["bytes", "of another world", "link", "dangling link", "folder", "pipe", "link to the world"])
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    if not os.path.lexists(path.parent):
        path.parent.mkdir()
        os.chown(path.parent, _STRANGER, _STRANGER)
    if not path.parent.is_dir() or path.parent.is_symlink():
        return f"nothing at {name}"
    if kind == "bytes":
        path.write_bytes(chance.randbytes(chance.choice([0, 1, 100, 4096, 20_000])))
    elif kind == "of another world":
        source = {"kb.db.keys.json": top / "mallory.json"}.get(name, top / "other" / name)
        if not source.exists():
            source = top / "other" / "kb.db"
        shutil.copytree(source, path) if source.is_dir() else shutil.copy(source, path)
    elif kind == "link":
        path.symlink_to(top / "victim" / chance.choice(["", "1", "1/letters", "kb.db.keys.json"]))
    elif kind == "dangling link":
        path.symlink_to(top / "victim" / "nothing")
    elif kind == "folder":
        path.mkdir()
        (path / "x").write_text("x")
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(folder / "kb.db")
    for entry in (path, *path.rglob("*")) if path.is_dir() and not path.is_symlink() else (path,):
        os.chown(entry, _STRANGER, _STRANGER, follow_symlinks=False)
    return f"{kind} at {name}"


def _tree(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() if path.is_file() else "" for path in folder.rglob("*")}


_ENDLESS = "?subject ?p ?o . ?a ?b ?c . ?d ?e ?f . ?g ?h ?i FILTER(CONCAT(STR(?a), STR(?d), STR(?g)) = 'zzz')"
_CALLS = (
    ("sparql", {"query": f"SELECT (COUNT(*) AS ?n) {{ {_ENDLESS} }}", "timeout": 60}),
    ("search", {"query": "kite", "where": _ENDLESS}),
    ("search", {"query": "kite"}),
    ("add", {"quads": [["urn:new", "urn:p", '"a lake"']]}),
    ("describe", {"iri": "urn:s1"}),
)


def cancel_calls(seed: int, number: int, *, calls: int = 50) -> tuple[int, str | None]:
    """So many calls of an agent's that are cancelled at any moment; how many, and what was wrong."""
    chance = random.Random(f"{seed} cancelled {number}")
    before = set(family(os.getpid()))

    async def scenario(agent: Agent) -> None:
        for _ in range(calls):
            tool, arguments = chance.choice(_CALLS)
            with anyio.move_on_after(chance.choice([0.003, 0.03, 0.3]) * chance.random()):
                await agent.call(tool, **arguments)
        with anyio.fail_after(_PATIENCE):
            assert "true" in await agent.text("sparql", query="ASK {}")
            assert "kite" in await agent.text("search", query="kite", limit=1)
        assert end_within(_PATIENCE, set(family(os.getpid())) - before), "a query that was cancelled goes on"

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kb.db"
        _world(path, _QUADS, "mine")
        with worlds.open(path, embedder=None) as world:
            try:
                ask(inside(world, allow_writes=True), scenario, seconds=5 * _PATIENCE)
            except (AssertionError, TimeoutError) as error:
                return calls, f"{type(error).__name__}: {error}"
            if problems := world.check().problems:
                return calls, f"the world: {problems}"
            if len(world) not in (_QUADS, _QUADS + 1):
                return calls, f"the world has {len(world)} quads"
    return calls, None
