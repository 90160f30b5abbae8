"""What Windows lacks is hidden: `fcntl`, `resource`, `os.fork`, symbolic links, owners of files. The engine works.

It is no Windows: paths, and files that cannot be replaced while they are open, are this system's.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

# Packages of others come first: they look at the platform, too, and have other files there.
_HIDDEN = """
import asyncio, concurrent.futures, http.client, importlib.abc, importlib.metadata, multiprocessing, os, platform
import selectors, shutil, signal, socket, ssl, subprocess, sys, tempfile, uuid, zoneinfo
import apsw, markdown_it, numpy, platformdirs, pyoxigraph, rdflib, rdflib.compare, rdflib.plugins.sparql, rich.console
import rich.progress, Stemmer, typer, yaml, zstandard

class Hidden(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name in ("fcntl", "resource"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

def refused(*arguments, **options):
    raise OSError("a required privilege is not held by the client")

for name in ("fcntl", "resource"):
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Hidden())
for name in ("fork", "register_at_fork", "geteuid", "getegid", "getgroups", "pread", "chown", "fchown", "killpg"):
    delattr(os, name)
os.symlink = refused
sys.platform = "win32"

import worlds, worlds.permissions
worlds.permissions.OWNERS = False  # it goes by os.name, which pathlib needs as it is
"""

_WORK = """
from pathlib import Path
from tests.support import seams
from tests.support.embedder import HashingEmbedder

folder = Path(sys.argv[1])
path = folder / "kb.db"
with worlds.open(path, embedder=HashingEmbedder()) as world, worlds.open(path, embedder=None) as other:
    world.add([("urn:a", "rdfs:label", '"red kite"'), ("urn:a", "urn:p", "urn:b")])
    assert world.search("kite")[0].text == "red kite"
    for limits in ({}, {"timeout": 5}):
        assert len(world.query("SELECT * { ?s ?p ?o }", **limits)) == 2
    assert world.update("INSERT DATA { <urn:c> <urn:p> 1 }", timeout=5).added == 1
    assert len(other) == 3
    (folder / "notes").mkdir()
    (folder / "notes" / "a.md").write_text("# A note\\n\\nOf an owl.")
    world.sources.add(str(folder / "notes"), "notes")
    assert world.sources.sync("notes")[0].new == ("a.md",)
    world.memory(scope=("user", "ann")).retain("Ann likes tea.")
    assert len(world.only(graphs="default")) == 3
    assert len(list(world.at(1).quads())) == 2
    world.export(folder / "all.nq")
    world.file.backup(folder / "backup.db")
    world.undo(1)
    world.file.compact()
    assert world.check().ok
worlds.restore(folder / "backup.db", path)
seams.keep_small_indexes_on_disk(seams.ForGood(), 1)
for _ in range(2):
    with worlds.open(path, embedder=None, sparql_index="disk") as world:
        assert world.query("ASK { <urn:a> <urn:p> <urn:b> }") is True
        assert world.search("owl")[0].text.endswith("Of an owl.")

import worlds.doors.server.app, worlds.extras.remote.status  # and what they import
from worlds.doors.cli import main
sys.argv = ["worlds", "search", str(path), "kite"]
try:
    main()
except SystemExit as end:
    assert not end.code
print("done")
"""


def test_the_engine_works_without_what_windows_lacks(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _HIDDEN + _WORK, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=250, env={**os.environ})
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("done\n")
    assert "red kite" in done.stdout
