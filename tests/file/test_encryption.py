"""A world with a key leaves nothing of itself on disk in plain text."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import worlds
from tests.support import seams
from tests.support.drivers import native
from tests.support.embedder import HashingEmbedder

WORD = "unmistakable"
KEY = "a secret"
# Watches the files that a process has open, those without a name included, for a word in plain text or in its files of
# SQLite. Another process may read them at any time; so does this one, all the while.
WATCH = """
import glob, os, sys, time
pid, word, seen = sys.argv[1], sys.argv[2].encode(), set()
print("ready", flush=True)
while os.path.exists(f"/proc/{pid}/fd"):
    for entry in glob.glob(f"/proc/{pid}/fd/*"):
        try:
            name = os.readlink(entry)
            if not name.startswith(sys.argv[3]):
                continue
            with open(entry, "rb") as file:
                content = file.read()
        except OSError:
            continue
        if word in content or ("etilqs" in name and content):
            seen.add(name.removeprefix(sys.argv[3]).split(" ")[0])
    if os.path.exists(sys.argv[4]):
        break
    time.sleep(0.005)
print(" ".join(sorted(seen)) or "nothing", flush=True)
"""
WORK = """
import os, sys, worlds
from tests.support import seams
from tests.support.embedder import HashingEmbedder
seams.keep_small_indexes_on_disk(seams.ForGood(), 1)
folder, word, key, many = sys.argv[1], sys.argv[2], sys.argv[3] or None, int(sys.argv[4])
lines = "".join(f'<urn:s{n}> <urn:p{n % 7}> "{word} number {n}" .\\n' for n in range(many))
sys.stdin.readline()
with worlds.open(f"{folder}/w.db", embedder=None, encryption_key=key) as world:
    world.load(lines.encode(), format="nt")
    world.query("SELECT ?s { ?s ?p ?o } ORDER BY ?o LIMIT 5", timeout=60)
    world.search(word)
    world.update("DELETE { ?s ?p ?o } WHERE { ?s ?p ?o FILTER(STRENDS(?o, '77')) }")
    world.undo(2)
    world.file.compact()
    world.file.backup(f"{folder}/backup.db")
    assert world.check().ok
    world.close()
open(f"{folder}/over", "w").close()
"""


def watched(folder: Path, key: str, many: int) -> tuple[str, set[str]]:
    """What a watcher saw, and the files left in the folder that have the word in plain text."""
    temporary = folder / "temporary"
    temporary.mkdir(parents=True)
    environment = {**os.environ, "TMPDIR": str(temporary), "SQLITE_TMPDIR": str(temporary)}
    with subprocess.Popen(
        [sys.executable, "-c", WORK, str(folder), WORD, key, str(many)],
        stdin=subprocess.PIPE,
        text=True,
        env=environment,
    ) as work:
        command = [sys.executable, "-c", WATCH, str(work.pid), WORD, str(folder), str(folder / "over")]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as watcher:
            assert watcher.stdout is not None
            assert watcher.stdout.readline() == "ready\n"
            work.communicate("go\n", timeout=200)
            seen = watcher.stdout.read().strip()
    assert work.returncode == 0
    left = {
        str(file.relative_to(folder))
        for file in folder.rglob("*")
        if file.is_file() and WORD.encode() in file.read_bytes()
    }
    return seen, left


@native
@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="open files are read by /proc")
def test_nothing_of_an_encrypted_world_is_on_disk_in_plain_text(tmp_path: Path, long: bool) -> None:
    many = 40_000 if long else 6_000  # which are sorted in memory
    assert watched(tmp_path / "secret", KEY, many) == ("nothing", set())
    seen, left = watched(tmp_path / "open", "", many)
    temporary = any(name.startswith("/temporary/etilqs") for name in seen.split())
    assert temporary or not long, "the watcher sees temporary files"
    assert "w.db" in left
    assert any("w.db-sparql/" in name for name in left)


def test_an_index_from_before_is_removed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seams.keep_small_indexes_on_disk(monkeypatch, 1)
    with worlds.open(path, embedder=HashingEmbedder(), encryption_key=KEY) as world:
        world.add([("urn:a", "rdfs:label", f'"{WORD}"')])
    left = Path(f"{path}-sparql")
    left.mkdir()
    (left / "000012.sst").write_text(WORD)
    with worlds.open(path, embedder=None, encryption_key=KEY, read_only=True) as world:
        assert not left.exists()
        assert world.query("ASK { ?s ?p ?o }") is True
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_an_index_on_disk_cannot_be_asked_for(path: Path) -> None:
    with pytest.raises(ValueError, match="in plain text: choose 'memory'"):
        worlds.open(path, embedder=None, encryption_key=KEY, sparql_index="disk")
    assert not path.exists()
