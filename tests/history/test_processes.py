"""Several processes, and several threads, on one world."""

from __future__ import annotations

import itertools
import json
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

import worlds
from tests.support import tables
from tests.support.embedder import HashingEmbedder
from tests.support.forking import Forked
from tests.support.oracle import problems, rolled_back
from tests.support.workers import EX, State, after, iri, last_revision, write
from worlds import ConflictError, World

ROOT = Path(__file__).resolve().parents[2]


class Worker:
    """A process that runs a function of tests/support/workers.py, and talks JSON by lines."""

    def __init__(self, name: str, path: Path, *arguments: str) -> None:
        self.process = Forked(
            [sys.executable, "-W", "error", "-m", "tests.support.workers", name, str(path), *arguments],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def hear(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the process ended"
        return json.loads(line)

    def lines(self) -> Iterator[str]:
        assert self.process.stdout is not None
        yield from self.process.stdout

    def tell(self, line: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def kill(self) -> None:
        self.process.kill()

    def end(self) -> None:
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            stream.close()
        self.process.wait(30)


@contextmanager
def workers(*given: tuple[Any, ...]) -> Iterator[list[Worker]]:
    running = [Worker(*arguments) for arguments in given]
    try:
        yield running
    finally:
        for worker in running:
            worker.kill()
            worker.end()


def counted(state: State) -> dict[str, int]:
    """How many quads of each revision's own the state has, by their ex:of."""
    return dict(Counter(quad.object.value for quad in state if quad.predicate == iri("of")))  # type: ignore[union-attr]  # a literal


def texts_of(state: State, revision: int) -> list[str]:
    """The texts of the revision's own subjects."""
    own = f"{EX}s{revision}-"
    found = [quad for quad in state if quad.predicate == iri("note")]
    return [quad.object.value for quad in found if str(quad.subject)[1:].startswith(own)]  # type: ignore[union-attr]  # a literal


# -- processes ------------------------------------------------------------------------------------------------------


def test_readers_are_never_stale_while_another_process_writes(path: Path) -> None:
    worlds.open(path, embedder=None).close()
    with workers(("write_on", path), ("read_on", path), ("read_on", path)) as (writer, *readers):
        held: list[State] = [frozenset()]  # by revision
        assert [reader.hear() for reader in readers] == ["ready", "ready"]
        assert writer.hear() == 0
        acknowledged = [0]
        listening = threading.Thread(target=lambda: acknowledged.extend(map(json.loads, writer.lines())))
        listening.start()
        until = time.monotonic() + 1
        rounds = 0
        while time.monotonic() < until or rounds < 20:
            rounds += 1
            known = acknowledged[-1]
            for reader in readers:
                reader.tell(known)
            for reader in readers:
                first, counts, words, where, last = reader.hear()
                assert first >= known, "what was read is stale"
                while len(held) <= last:
                    held.append(after(held[-1], len(held)))
                possible = held[first : last + 1]
                assert counts in map(counted, possible)
                of_it = [texts_of(state, known) for state in possible]
                assert words in map(len, of_it)
                # The writer embeds after it commits, so that some are found by their words alone.
                assert any(sum("kite" in text for text in found) <= where <= len(found) for found in of_it)
        writer.kill()
        listening.join()
        assert acknowledged == list(range(len(acknowledged)))
        assert acknowledged[-1] > 20, "nothing was written meanwhile"


def test_two_processes_write_and_each_revision_is_one_s_own(path: Path) -> None:
    count = 20
    with workers(("write_some", path, "ann", str(count)), ("write_some", path, "bob", str(count))) as writers:
        assert [writer.hear() for writer in writers] == ["ready", "ready"]
        numbers = {
            name: [writer.hear() for _ in range(count)] for name, writer in zip(("ann", "bob"), writers, strict=True)
        }
    assert sorted(numbers["ann"] + numbers["bob"]) == list(range(1, 2 * count + 1))
    assert all(own == sorted(own) for own in numbers.values())
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        rows = tables.rows(world, "SELECT revision, author, added FROM revisions")
        assert {number for number, author, _ in rows if author == "ann"} == set(numbers["ann"])
        assert {added for _, _, added in rows} == {5}
        assert len(world) == 2 * count * 5
        assert world.stats().pending == 0
        assert len(world.search("ann part", limit=1000, mode="text")) == 2 * count * 5
        assert problems(world) == []


def test_processes_that_make_the_same_world_at_once(path: Path) -> None:
    with workers(*[("make", path, f"text {number}") for number in range(4)]) as makers:
        assert [maker.hear() for maker in makers] == ["ready"] * 4
        for maker in makers:
            maker.tell("now")
        assert sorted(maker.hear() for maker in makers) == [1, 2, 3, 4]
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        assert len(world) == 4
        assert world.stats().pending == 0
        assert problems(world) == []


def test_another_process_reads_while_this_one_is_in_a_transaction(path: Path) -> None:
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        write(world, 1)
        with workers(("read_on", path)) as (reader,):
            assert reader.hear() == "ready"
            for _ in range(3):
                with world.transaction():
                    world.add([(iri(f"new{n}"), iri("of"), 7, iri("g")) for n in range(5)])
                    assert len(world.search("kite", where="?subject ?p ?o", limit=100)) == 15
                    reader.tell(1)
                    assert reader.hear() == [1, {"1": 15}, 15, 15, 1]
                    world.remove([(iri(f"new{n}"), iri("of"), 7, iri("g")) for n in range(5)])
        assert last_revision(world) == 1


def test_a_writer_that_is_stopped_holds_nobody_for_longer_than_the_timeout(path: Path, long: bool) -> None:
    with worlds.open(path, embedder=None, timeout=0.5) as world, workers(("write_on", path)) as (writer,):
        assert [writer.hear(), writer.hear()] == [0, 1]
        waited: list[float] = []
        for number in itertools.count(1):  # at any moment, now within a transaction and now between two
            if number > 8 and (waited or number > 500):
                break
            writer.process.send_signal(signal.SIGSTOP)
            try:
                began = time.monotonic()
                count, last = len(world), last_revision(world)
                assert last == world.history()[0].revision
                assert world.check().ok
                read = time.monotonic() - began
                try:
                    with world.transaction():
                        raise ZeroDivisionError
                except ZeroDivisionError:
                    pass
                except ConflictError:
                    waited.append(time.monotonic() - began - read)
                time.sleep(60 if long and len(waited) == 1 else 0)
                assert (count, last) == (len(world), last_revision(world))
            finally:
                writer.process.send_signal(signal.SIGCONT)
            writer.hear()
            time.sleep(number % 10 / 1000)  # what it said may be older than the stop: let it go on
        assert waited
        assert max(waited) < 5
    with worlds.open(path, embedder=None) as world:
        assert world.check().ok


# -- threads --------------------------------------------------------------------------------------------------------


def run_all(*functions: Callable[[], object]) -> None:
    """Each in a thread of its own; raises what one of them raises."""
    start = threading.Barrier(len(functions))

    def begin(function: Callable[[], object]) -> None:
        start.wait()
        function()

    with ThreadPoolExecutor(len(functions)) as pool:
        for future in [pool.submit(begin, function) for function in functions]:
            future.result(timeout=60)


def add_some(world: World, name: str, count: int) -> None:
    for number in range(count):
        quad = ox.Quad(iri(f"{name}{number}"), iri("note"), ox.Literal(f"{name} kite {number}"))
        change = world.add([quad], author=name)
        assert (change.added, change.chunks) == (1, 1)
        assert world.query(f"ASK {{ <{EX}{name}{number}> ?p ?o }}") is True
        (row,) = tables.rows(
            world,
            "SELECT quads.revision, revisions.author FROM quads JOIN terms ON terms.id = quads.subject "
            "JOIN revisions USING (revision) WHERE terms.value = ?1",
            (f"{EX}{name}{number}",),
        )
        assert row == (change.revision, name), "a change names another's revision"
        hits = world.search(f"{name} {number}", subjects=iri(f"{name}{number}"))
        assert [hit.text for hit in hits] == [f"{name} kite {number}"]


def add_in_transactions(world: World, name: str, count: int) -> None:
    for number in range(count):
        with world.transaction(author=name):
            world.add([(iri(f"{name}{number}"), iri("note"), ox.Literal(f"{name} kite {number}"))])
            assert len(world.search(f"{name} {number}", subjects=iri(f"{name}{number}"), mode="text")) == 1
            time.sleep(0.001)


def undo_some(world: World, name: str, count: int) -> None:
    for number in range(count):
        with rolled_back(world):
            world.add([(iri(f"{name}{number}"), iri("note"), ox.Literal(f"{name} kite {number}"))])
            assert world.query(f"ASK {{ <{EX}{name}{number}> ?p ?o }}") is True
        assert world.query(f"ASK {{ <{EX}{name}{number}> ?p ?o }}") is False


def read_some(world: World, count: int) -> None:
    for number in range(count):
        hits = world.search("kite", limit=20, predicates=iri("note") if number % 2 else None, explain=True)
        for hit in hits:
            assert hit.quads[0][2] == hit.literal
            assert "kite" in hit.snippet
            assert not hit.text.startswith("undone"), "a thread saw what was never committed"
        rows = world.query(f"SELECT ?s ?text WHERE {{ ?s <{EX}note> ?text }}")
        assert not any(str(row.text).startswith("undone") for row in rows)  # type: ignore[union-attr]  # a SELECT


def test_threads_share_a_world(path: Path) -> None:
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        run_all(
            lambda: add_some(world, "ann", 12),
            lambda: add_some(world, "bob", 12),
            lambda: add_in_transactions(world, "cid", 12),
            lambda: add_in_transactions(world, "dan", 12),
            lambda: undo_some(world, "undone", 20),
            lambda: undo_some(world, "undonetoo", 20),
            lambda: read_some(world, 25),
            lambda: read_some(world, 25),
        )
        assert len(world) == 48
        assert last_revision(world) == 48
        assert world.stats().pending == 0, "a write came back before its texts were embedded"
        assert isinstance(world.embedder, HashingEmbedder)
        assert world.embedder.documents == 48, "a text was embedded twice"
        assert problems(world) == []


def test_two_worlds_of_one_file_in_one_process(path: Path) -> None:
    embedder = HashingEmbedder()
    with worlds.open(path, embedder=embedder) as one, worlds.open(path, embedder=embedder) as two:
        run_all(
            lambda: add_some(one, "ann", 12),
            lambda: add_some(two, "bob", 12),
            lambda: add_in_transactions(one, "cid", 12),
            lambda: undo_some(two, "undone", 12),
            lambda: read_some(one, 20),
            lambda: read_some(two, 20),
        )
        for world in (one, two):
            assert len(world) == 36
            assert world.query("SELECT (COUNT(*) AS ?n) WHERE { ?s ?p ?o }")[0].n.value == 36  # type: ignore[index]  # a SELECT
            assert len(world.search("kite", mode="vector", ranking=worlds.Ranking(plan="codes"), limit=1000)) == 36
            assert world.stats().pending == 0
            assert problems(world) == []
        with one.transaction(), pytest.raises(worlds.ConflictError):
            two.add([(iri("s"), iri("p"), iri("o"))])
        assert len(two) == 36


def test_a_world_is_closed_while_another_of_the_same_file_is_read(path: Path) -> None:
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        write(world, 1)
        done = threading.Event()

        def read() -> None:
            while not done.is_set():
                world.search("kite", where="?subject ?p ?o")

        def open_and_close() -> None:
            try:
                for _ in range(8):
                    began = time.monotonic()
                    worlds.open(path, embedder=None).close()
                    assert time.monotonic() - began < 3
            finally:
                done.set()

        run_all(read, open_and_close)
