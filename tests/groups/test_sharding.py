"""A source that is cut into shards is found as a whole by their group, also after a run that was interrupted."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import random
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import worlds
from tests.support.command_line import ok
from tests.support.primaries import until
from worlds import ConflictError, OpenError, ParseError, WorldsError
from worlds.groups.shards import BLANK, shard

RAY = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray, of the extra cluster, is not installed")
EX = "http://example.org/"
WORDS = ["kite", "heron", "finch", "lake", "river", "hill", "oak", "reed", "mouse", "vole"]


def source(path: Path, subjects: int = 300) -> Path:
    """Some subjects with texts, types and a blank node each, in three graphs and the default one."""
    rng = random.Random(5)
    lines = ["@prefix ex: <http://example.org/> ."]
    for number in range(subjects):
        text = " ".join(rng.choices(WORDS, k=rng.randint(3, 9)))
        body = f"ex:s{number} ex:text '{text}' ; a ex:C{number % 3} ; ex:near _:b{number} . _:b{number} ex:n {number} ."
        lines.append(f"ex:g{number % 4} {{ {body} }}" if number % 4 else body)
    path.write_text("\n".join(lines))
    return path


def test_the_group_of_them_answers_as_one_world(tmp_path: Path) -> None:
    given = source(tmp_path / "all.trig")
    paths = shard(str(given), tmp_path / "shards", shards=3)
    assert sorted(path.name for path in (tmp_path / "shards").iterdir()) == [
        *(f"shard-00{number}.db" for number in range(3)),
        "shards.json",
    ]
    with worlds.open(embedder=None) as whole, worlds.group(paths, embedder=None) as group:
        whole.load(given)
        assert len(group) == len(whole) == 1200
        assert all(len(one) > 200 for one in group.worlds.values())
        assert all(one.prefixes["ex"] == EX for one in group.worlds.values())
        for words in ("kite", "lake oak", "heron river vole"):
            for options in ({}, {"types": [f"{EX}C1"]}):
                wanted = whole.search(words, limit=300, **options)  # type: ignore[arg-type]
                found = group.search(words, limit=300, **options)  # type: ignore[arg-type]
                assert sorted((hit.text, round(hit.score, 9)) for hit in found) == sorted(
                    (hit.text, round(hit.score, 9)) for hit in wanted
                )
        # What spoke of a blank node finds it in whichever shard it is.
        query = "SELECT (count(*) AS ?n) { GRAPH ?g { ?s ex:near ?b . ?b ex:n ?n FILTER(isIRI(?b)) } }"
        assert int(group.query(query)[0][0]) == 225  # type: ignore[index]
        assert any(str(quad[0]).startswith(BLANK) for one in group.worlds.values() for quad in one.quads())


def test_by_graph(tmp_path: Path) -> None:
    paths = shard(str(source(tmp_path / "all.trig")), tmp_path / "shards", by="graph", shards=5, workers=1)
    with worlds.group(paths, embedder=None) as group:
        names = [str(name) for one in group.worlds.values() for name in one.graphs()]
        assert sorted(names) == [f"{EX}g{number}" for number in (1, 2, 3)]
        assert len(group) == 1200


def begun(given: Path, into: Path, *options: str) -> subprocess.Popen[str]:
    """A run by the command line in its own process group, which has made a shard of six."""
    command = [sys.executable, "-m", "worlds", "remote", "shard", str(given), "--into", str(into), "--embedder", "none"]
    process = subprocess.Popen(
        [*command, "--shards", "6", *options], start_new_session=True, stderr=subprocess.PIPE, text=True
    )
    until(lambda: list(into.glob("shard-*.db")) or process.poll() is not None, 60)
    return process


@pytest.mark.parametrize(
    "options",
    [
        ["--workers", "1"],
        pytest.param(["--workers", "2", "--ray", "local"], marks=[RAY, pytest.mark.slow]),
    ],
    ids=["processes", "Ray"],
)
def test_a_run_that_is_killed_is_finished_by_the_next(tmp_path: Path, options: list[str]) -> None:
    given, into = source(tmp_path / "all.trig", 4000), tmp_path / "shards"
    process = begun(given, into, *options)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    before = {path: path.stat().st_mtime_ns for path in into.glob("*.db")}
    with pytest.raises(ConflictError, match="of another size"):
        shard(str(given), into, shards=5)
    done = ok("remote shard", given, "--into", into, "--shards", "6", "--embedder", "none", *options).split()
    assert len(done) == 6
    assert {path: path.stat().st_mtime_ns for path in before} == before
    with worlds.group(done, embedder=None) as group:
        assert len(group) == 16_000
        assert not any(one.check().problems for one in group.worlds.values())


def test_an_interrupted_run_says_what_is_there(tmp_path: Path) -> None:
    given, into = source(tmp_path / "all.trig", 4000), tmp_path / "shards"
    process = begun(given, into, "--workers", "1")
    process.send_signal(signal.SIGINT)
    _, told = process.communicate()
    assert process.returncode == 130
    done = len(list(into.glob("shard-*.db")))
    again = "run the same command to continue"
    assert told == f"interrupted: {done} of 6 shards are in {into}, with the parts of the others; {again}\n"
    until(lambda: not _processes_of(into))
    assert len(ok("remote shard", given, "--into", into, "--shards", "6", "--embedder", "none").split()) == 6


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="needs Linux's /proc")
def test_workers_end_with_the_process_that_started_them(tmp_path: Path) -> None:
    given, into = source(tmp_path / "all.trig", 4000), tmp_path / "shards"
    process = begun(given, into, "--workers", "2")
    process.kill()
    process.communicate()
    until(lambda: not _processes_of(into))


def _processes_of(folder: Path) -> list[Path]:
    """The processes that have a file of the folder open."""
    found = []
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        with contextlib.suppress(OSError):
            if str(link.readlink()).startswith(str(folder)):
                found.append(link)
    return found


def test_a_cluster_that_is_not_there(tmp_path: Path) -> None:
    given = source(tmp_path / "all.trig", 10)
    with pytest.raises(WorldsError, match="cannot be reached" if RAY.args[0] is False else "pip install"):
        shard(str(given), tmp_path / "shards", ray="127.0.0.1:9")


def test_what_is_missing_or_in_the_way_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(OpenError, match="does not exist"):
        shard(str(tmp_path / "missing.nt"), tmp_path / "shards")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").touch()
    with pytest.raises(ConflictError, match="is a file, and no folder"):
        shard(str(source(tmp_path / "all.trig", 10)), tmp_path / "file")


def test_what_is_no_rdf(tmp_path: Path) -> None:
    (tmp_path / "bad.nt").write_text("this is not RDF")
    for _ in range(2):
        with pytest.raises(ParseError):
            shard(str(tmp_path / "bad.nt"), tmp_path / "shards")
    assert json.loads((tmp_path / "shards" / "shards.json").read_text())["shards"] == 4


@pytest.mark.skipif(os.name != "posix", reason="files have no permissions here")
def test_shards_are_as_private_as_the_most_private_source(tmp_path: Path) -> None:
    before = os.umask(0o022)
    for name, permissions in (("open.nt", 0o644), ("private.nt", 0o600)):
        (tmp_path / name).write_text(f"<urn:{name}> <urn:p> <urn:o> .\n")
        (tmp_path / name).chmod(permissions)
    made = shard([str(tmp_path / "open.nt"), str(tmp_path / "private.nt")], tmp_path / "shards", shards=2, workers=1)
    made.append(tmp_path / "shards" / "shards.json")
    assert {stat.S_IMODE(path.stat().st_mode) for path in made} == {0o600}
    made = shard(str(tmp_path / "open.nt"), tmp_path / "others", shards=1, workers=1)
    assert {stat.S_IMODE(path.stat().st_mode) for path in made} == {0o644}
    os.umask(before)


def test_shards_of_a_source_that_has_changed_are_refused(tmp_path: Path) -> None:
    given, into = source(tmp_path / "all.trig", 20), tmp_path / "shards"
    paths = shard(str(given), into, shards=2, workers=1)
    assert shard(str(given), into, shards=2, workers=1) == paths
    text = given.read_text("utf-8")
    given.write_text(text + "<urn:new> <urn:p> 1 .\n", "utf-8")
    with pytest.raises(ConflictError, match="earlier state of .*all.trig: remove the folder"):
        shard(str(given), into, shards=2, workers=1)
    told = json.loads((into / "shards.json").read_text())
    (into / "shards.json").write_text(json.dumps({name: told[name] for name in told if name != "files"}))
    assert shard(str(given), into, shards=2, workers=1) == paths  # of a version that noted no files
    given.unlink()
    (into / "shards.json").write_text(json.dumps(told))
    assert shard(str(given), into, shards=2, workers=1) == paths
