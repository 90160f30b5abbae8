"""The clock of the machine set back while it is at work: nothing is lost, and nobody waits for it to come round."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import worlds
from tests.support.primaries import sqld_or_skip
from tests.support.serving import ROOT, served
from worlds.doors.server.keys import keys_of

DAY = 86_400


class Clock:
    """The clock that programs see which run in `environment`: so many seconds beside the machine's."""

    def __init__(self, library: Path, folder: Path) -> None:
        self._file = folder / "clock"
        self.environment = {
            "LD_PRELOAD": str(library),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",  # nobody sets that one
            "PYTHONPATH": str(ROOT),
        }
        self.set(0)

    def set(self, seconds: int) -> None:
        draft = self._file.with_suffix(".new")
        draft.write_text(f"{seconds:+d}")
        draft.replace(self._file)

    def run(self, program: str, *arguments: object) -> str:
        command = [sys.executable, "-c", program, str(self._file), *map(str, arguments)]
        environment = {**os.environ, **self.environment}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def clock(tmp_path: Path) -> Clock:
    found = importlib.util.find_spec("libfaketime")
    places = (found and found.submodule_search_locations) or []
    library = next((file for place in places for file in Path(place).rglob("libfaketime*.so.1")), None)
    if library is None:
        pytest.skip("libfaketime has no library for this system")
    made = Clock(library, tmp_path)
    told = made.run("import sys, time; open(sys.argv[1], 'w').write('-864000'); print(time.time())")
    if abs(time.time() - float(told) - 10 * DAY) > 60:
        pytest.skip("libfaketime sets no clock here")
    made.set(0)
    return made


WRITING = """
import datetime, sys, worlds
from worlds.records import Retention
clock, path = sys.argv[1:]

def set_clock(days):
    with open(clock, "w") as file:
        file.write(f"{days * 86400:+d}")

now = datetime.datetime.now(datetime.UTC)
with worlds.open(path, embedder=None) as world:
    world.add([("urn:a", "rdfs:label", '"first"')])
    set_clock(-2)
    world.add([("urn:b", "rdfs:label", '"second"')])
    set_clock(-1)
    world.proposals.add(update="INSERT DATA { <urn:c> <urn:p> 1 }", why="so")
    world.proposals.accept(1)
    assert [entry.revision for entry in world.history()] == [3, 2, 1]
    assert {str(row[0]) for row in world.at(1).query("SELECT ?s { ?s ?p ?o }")} == {"urn:a"}
    days = datetime.timedelta(days=1)
    assert [world.at(now + n * days / 2).file.view.revision for n in (-5, -3, -1, 1)] == [0, 2, 3, 3]
    world.undo(1)
    assert len(world) == 2
    world.revisions.retention = Retention(days=1.5)  # the first revision is younger, so all that came after it are kept
    world.add([("urn:d", "rdfs:label", '"fourth"')])
    assert [entry.revision for entry in world.history()] == [5, 4, 3, 2, 1]
    set_clock(30)
    world.add([("urn:e", "rdfs:label", '"fifth"')])
    assert [entry.revision for entry in world.history()] == [6]
    set_clock(-30)
    world.add([("urn:f", "rdfs:label", '"sixth"')])
    world.file.compact()
with worlds.open(path, embedder=None) as world:
    assert [hit.text for hit in world.search("sixth", mode="text")] == ["sixth"]
    assert world.check().ok
    print(len(world), world.history()[0].revision)
"""


def test_a_world_is_written_while_the_clock_goes_back_and_forth(clock: Clock, path: Path) -> None:
    assert clock.run(WRITING, path).split() == ["5", "7"]


def test_a_server_answers_while_the_clock_goes_back_and_forth(clock: Clock, path: Path) -> None:
    worlds.open(path, embedder=None).close()
    keys = keys_of(path)
    _, writes = keys.add("ann", {"*": "admin"})
    _, short = keys.add("short", {"*": "admin"}, expires=datetime.now(UTC) + timedelta(days=1))
    with served(path, environment=clock.environment) as server:
        for number, days in enumerate((0, -3, 4, -400, 0), 1):
            clock.set(days * DAY)
            began = time.monotonic()
            with server.client(writes) as client:
                line = f'<urn:{number}> <urn:p> "kite {number}" .'
                assert client.post("/quads", json={"add": line}).json()["revision"] == number
                assert len(client.get("/search?q=kite&mode=text&limit=9").json()["hits"]) == number
                assert client.get("/sparql?query=ASK{}").status_code == 200
                assert client.get("/history").json()["revisions"][0]["revision"] == number
            with server.client(short) as client:
                assert client.get("/stats").status_code == (401 if days == 4 else 200)
            assert time.monotonic() - began < 20
        assert "Traceback" not in server.log.read_text()


OLD = """
import sys, time, worlds
with worlds.open(sys.argv[1], replica=sys.argv[2], embedder=None, max_staleness=2) as world:
    print(len(world), flush=True)
    sys.stdin.readline()
    began = time.monotonic()
    while time.monotonic() - began < 30:
        try:
            assert world.query("ASK { ?s ?p ?o }")
        except worlds.OpenError as error:
            print(world.replica.age >= 2, "seconds behind" in str(error))
            break
        time.sleep(0.1)
    else:
        print(repr(world.replica).replace(" ", ""))
"""


@pytest.mark.timeout(180)
def test_a_replica_knows_its_age_when_the_clock_is_set_back(clock: Clock, tmp_path: Path) -> None:
    sqld_or_skip()
    from worlds.extras.remote.file_transfer import push
    from worlds.extras.remote.primary import Primary

    with worlds.open(tmp_path / "made.db", embedder=None) as made:
        made.add([("urn:a", "urn:p", "urn:b")])
    with Primary(tmp_path / "primary", keys=False) as primary:
        push(tmp_path / "made.db", f"{primary.address}/kb")
        child = subprocess.Popen(
            [sys.executable, "-c", OLD, f"{primary.address}/kb", str(tmp_path / "replica.db")],
            env={**os.environ, **clock.environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == "1\n"
            clock.set(-DAY)
            primary.close()
            assert child.communicate("\n", timeout=90)[0].split() == ["True", "True"]
        finally:
            child.kill()
            child.wait()
