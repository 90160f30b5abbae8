"""A process that dies at any moment loses nothing that it had acknowledged, and leaves nothing half done."""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path

import pyoxigraph as ox
import pytest

import worlds
from tests.history.test_processes import ROOT, Worker, workers
from tests.support import tables
from tests.support.embedder import HashingEmbedder
from tests.support.forking import run
from tests.support.oracle import Oracle, problems
from tests.support.readback import chunks_held, expect_vectors, exported, queried
from tests.support.workers import State, after, iri, last_revision


class Expected:
    """What the world holds after each revision."""

    def __init__(self) -> None:
        self.states: list[State] = [frozenset()]

    def __getitem__(self, revision: int) -> State:
        while len(self.states) <= revision:
            self.states.append(after(self.states[-1], len(self.states)))
        return self.states[revision]


def expect_whole(path: Path, expected: Expected, acknowledged: int) -> int:
    """The world is as its last revision left it, and that is the one acknowledged, or one more; gives its number."""
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        revision = last_revision(world)
        assert revision in (acknowledged, acknowledged + 1)
        state = expected[revision]
        assert set(exported(world)) == state
        assert len(world) == len(state)
        assert set(queried(world)) == state
        assert set(chunks_held(world)) == set(Oracle(state).chunks)
        assert problems(world) == []
        pending = world.stats().pending
        assert world.embed() <= pending
        assert world.stats().pending == 0
        expect_vectors(world)
        assert problems(world) == []
        rows = tables.rows(world, "SELECT revision FROM revisions ORDER BY revision")
        assert rows == [(number,) for number in range(1, revision + 1)]
    return revision


def killed_while_writing(path: Path, chance: random.Random) -> int:
    """Let a process write, kill it, and give the last revision that it acknowledged."""
    worker = Worker("write_on", path)
    try:
        acknowledged = worker.hear()  # where it begins
        time.sleep(chance.uniform(0, 0.3))
        worker.kill()
        for line in worker.lines():
            if line.endswith("\n"):
                acknowledged = int(line)
        assert isinstance(acknowledged, int)
        return acknowledged
    finally:
        worker.kill()
        worker.end()


def crash(path: Path, rounds: int, seed: int) -> None:
    chance = random.Random(seed)
    expected = Expected()
    last = 0
    for _ in range(rounds):
        acknowledged = killed_while_writing(path, chance)
        assert acknowledged >= last, "what a process found was lost by the next"
        last = expect_whole(path, expected, acknowledged)
    assert last > rounds, "the processes did not come to write"


@pytest.mark.slow
def test_kill_while_writing(path: Path) -> None:
    crash(path, 3, 1)


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_kill_while_writing_a_hundred_times(path: Path) -> None:
    crash(path, 100, random.SystemRandom().randrange(2**32))


@pytest.mark.slow
def test_kill_while_compacting(path: Path) -> None:
    expected = Expected()
    chance = random.Random(2)
    acknowledged = killed_while_writing(path, chance)
    revision = expect_whole(path, expected, acknowledged)
    for _ in range(2):
        with workers(("compact_on", path)) as (worker,):
            assert worker.hear() == "ready"
            time.sleep(chance.uniform(0, 0.1))
            worker.kill()
            worker.process.wait(30)
        with worlds.open(path, embedder=HashingEmbedder()) as world:
            found = problems(world)  # the native index is built last, and nothing but it may be missing
            assert found == [] or (len(found) == 1 and "after a compact() that was interrupted" in found[0])
            assert len(world.search("kite", mode="vector")) == 10
            world.file.compact()
        assert expect_whole(path, expected, revision) == revision


@pytest.mark.slow
def test_kill_while_a_world_is_made(path: Path) -> None:
    chance = random.Random(3)
    for number in range(3):
        fresh = path.with_name(f"{number}.db")
        with workers(("make", fresh, "kite")) as (worker,):
            assert worker.hear() == "ready"
            worker.tell("now")
            time.sleep(chance.uniform(0, 0.05))
            worker.kill()
            worker.process.wait(30)
        with worlds.open(fresh, embedder=HashingEmbedder()) as world:
            assert len(world) == last_revision(world)
            assert world.add([(iri("other"), iri("p"), ox.Literal("heron"))]).added == 1
            assert problems(world) == []


FULL_DISK = """
import resource, signal, sys
import pyoxigraph as ox
import worlds
from tests.support.readback import exported, queried
from tests.support.oracle import problems
from tests.support.workers import batch, last_revision

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with worlds.open(sys.argv[1], embedder=None) as world:
    world.add(batch(1, 10))
    held = set(queried(world))
    for room in (30_000, 100_000, 600_000):
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
        try:
            world.add(batch(2, 3000))
        except worlds.WorldsError as error:
            print(room, type(error).__name__, error)
        else:
            raise SystemExit("the limit was not felt")
        assert last_revision(world) == 1
        assert set(queried(world)) == set(exported(world)) == held
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        assert len(world.search("revision2")) == 0
        assert problems(world) == []
    assert world.add(batch(2, 500)).revision == 2
    assert set(queried(world)) == set(exported(world)) == held | set(batch(2, 500))
    assert problems(world) == []
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit of the size of files that a process may write")
def test_a_full_disk_undoes_the_write_and_no_more(path: Path) -> None:
    done = run(
        [sys.executable, "-W", "error", "-c", FULL_DISK, str(path)],
        cwd=ROOT,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    with worlds.open(path, embedder=None) as world:
        assert last_revision(world) == 2
        assert problems(world) == []
