"""What fails in the middle: embedders, closed and locked worlds, transactions."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import worlds
from tests.support.embedder import HashingEmbedder
from tests.support.misuse import A_QUAD, EX, LINE, P, Stream, Thing, fail, files_of, made, reads, state, writes
from tests.support.oracle import problems
from worlds import ConflictError, EmbedderError, OpenError, ParseError, World, WorldsError
from worlds.records import Change

ROOT = Path(__file__).resolve().parents[2]


# --- embedders --------------------------------------------------------------------------------------------------------


def test_another_embedder_than_the_worlds(path: Path) -> None:
    made(path, 3)
    before = path.read_bytes()
    for other in (HashingEmbedder(16), HashingEmbedder(name="other")):
        for read_only in (True, False):
            with pytest.raises(EmbedderError, match=f"embedded with hashing .*not with {other.name}.*embed --rebuild"):
                worlds.open(path, embedder=other, read_only=read_only)
    assert path.read_bytes() == before
    for embedder in ("auto", None):
        with worlds.open(path, embedder=embedder) as world:
            assert len(world.search("kite", mode="text")) == 3
            results = world.search("kite")
            assert len(results) == 3
            assert results.notes
            with pytest.raises(EmbedderError):
                world.search("kite", mode="vector")
            with pytest.raises(EmbedderError):
                world.embed()


@pytest.mark.parametrize("embedder", [3, Thing(), HashingEmbedder, "no such model", "", b"x"], ids=str)
def test_what_is_no_embedder(path: Path, embedder: Any) -> None:
    with pytest.raises(EmbedderError):
        worlds.open(path, embedder=embedder)
    assert not path.exists()


def test_a_write_is_kept_when_embedding_fails_after_it(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    embedder = HashingEmbedder(fail_after=2)
    with worlds.open(path, embedder=embedder) as world:
        assert world.add([(EX + "1", P, '"red kite"')]) == Change(1, 1, 0, 1, 1)
        with caplog.at_level(logging.WARNING, "worlds"):
            change = world.load(LINE + b'<http://a/b> <http://a/c> "blue kite" .', format="nt")
        assert (change.revision, change.added, change.chunks, change.embedded) == (2, 2, 2, 0)
        (note,) = change.notes
        assert "embedder 'hashing' failed: RuntimeError: told to fail" in note
        assert "found by words only" in note
        assert note in caplog.text
        assert world.stats().pending == 2
        assert [hit.text for hit in world.search("blue", mode="text")] == ["blue kite"]
        caplog.clear()
        embedder.fail_after = 0
        with world.transaction():
            world.add([(EX + "2", P, '"green kite"')])
        assert "told to fail" in caplog.text
        assert world.stats().last_revision == 3
        assert problems(world) == []
        embedder.fail_after = None
        assert world.embed() == 3
        assert world.stats().pending == 0
        assert world.add([(EX + "3", P, '"grey kite"')]).notes == ()


def test_an_embedder_that_never_worked_leaves_no_trace(path: Path) -> None:
    with worlds.open(path, embedder=HashingEmbedder(fail_after=0)) as world:
        assert world.load(LINE, format="nt").notes
        assert world.stats().embedder is None
    with worlds.open(path, embedder=HashingEmbedder(16, name="another")) as world:
        assert world.embed() == 1
        assert world.stats().embedder == "another"


class Misshapen(HashingEmbedder):
    """Says one dimension and gives another."""

    def embed_documents(self, texts: list[str]) -> Any:
        return super().embed_documents(texts)[:, :5]


def test_an_embedder_that_answers_in_another_shape(path: Path) -> None:
    with worlds.open(path, embedder=Misshapen()) as world:
        change = world.load(LINE, format="nt")
        assert change.added == 1
        assert "an array of shape (1, 5), not (1, 32)" in change.notes[0]
        with pytest.raises(EmbedderError, match="shape"):
            world.embed()
        assert problems(world) == []


def test_a_world_of_another_embedder_takes_writes_and_says_what_is_pending(path: Path) -> None:
    made(path, 3)
    with worlds.open(path, embedder=None) as world:
        world.embedder = HashingEmbedder(16)
        change = world.add([A_QUAD])
        assert change.added == 1
        assert "worlds embed --rebuild" in change.notes[0]
        assert world.stats().pending == 1


# --- closed worlds, locked worlds, forked worlds ----------------------------------------------------------------------


def test_a_closed_world(path: Path, tmp_path: Path) -> None:
    world = worlds.open(made(path, 3), embedder=HashingEmbedder())
    hits = world.search("kite number 1", limit=2)
    solutions = world.query("SELECT ?s { ?s ?p ?o }")
    triples = world.query("CONSTRUCT WHERE { ?s ?p ?o }")
    assert hits[0].quads
    world.close()
    world.close()
    uses: list[Callable[[], object]] = [
        *writes(world),
        lambda: len(world),
        lambda: world.search("kite"),
        lambda: world.search("kite", mode="text"),
        lambda: world.search_sql("kite"),
        lambda: world.query("ASK {}"),
        lambda: world.export(io.BytesIO()),
        lambda: world.export(tmp_path / "out.nq"),
        lambda: world.file.backup(tmp_path / "backup.db"),
        lambda: world.prefixes,
        lambda: world.policy,
        world.embed,
        world.stats,
        world.check,
        lambda: hits[1].quads,
        lambda: hits[1].snippet,
    ]
    for one in uses:
        with pytest.raises(OpenError, match=r"the world .*world\.db is closed"):
            one()
    assert repr(world) == f"<World {path}>"
    assert hits[0].text == "the red kite number 1 flies over the hills"
    assert len(hits[0].quads) == 1
    assert len(solutions) == len(triples) == 3  # type: ignore[arg-type]  # not a bool
    assert files_of(path) == {"world.db"}


LOCKER = """
import sys, worlds
with worlds.open(sys.argv[1], embedder=None) as world, world.transaction():
    world.add([("http://a/b", "http://a/c", '"by another process"')])
    print("locked", flush=True)
    sys.stdin.read()
"""


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Another process is in a transaction."""
    command = [sys.executable, "-W", "error", "-c", LOCKER, str(path)]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "locked\n"
        yield


def test_a_world_that_another_process_holds(path: Path) -> None:
    made(path, 3)
    with locked(path):
        for timeout in (0, 0.2):
            with worlds.open(path, embedder=HashingEmbedder(), timeout=timeout) as world:
                before = state(world)
                for write in writes(world):
                    began = time.monotonic()
                    with pytest.raises(ConflictError, match="another process holds the world's write lock"):
                        write()
                    assert time.monotonic() - began < timeout + 1
                    assert state(world) == before
                reads(world)
        with pytest.raises(ConflictError):
            worlds.open(path, embedder=None, timeout=0.1, vector_index=False)
    with worlds.open(path, embedder=None) as world:
        assert len(world) == 4
        assert world.add([A_QUAD]).revision == 3


def test_a_world_that_another_thread_holds(path: Path) -> None:
    begun, end = threading.Event(), threading.Event()

    def hold() -> None:
        with one.transaction():
            begun.set()
            end.wait(30)

    with worlds.open(path, embedder=None) as one, worlds.open(path, embedder=None, timeout=0.2) as other:
        thread = threading.Thread(target=hold)
        thread.start()
        begun.wait(30)
        try:
            with pytest.raises(ConflictError, match="another thread has been writing to this world for 0.2 seconds"):
                other.add([A_QUAD])
            assert len(other) == 0
        finally:
            end.set()
            thread.join()
        with (
            one.transaction(),
            pytest.raises(ConflictError, match="already writing to the same file through another World"),
        ):
            other.add([A_QUAD])
        assert other.add([A_QUAD]).revision == 1


FORK = """
import os, sys, worlds
world = worlds.open(sys.argv[1], embedder=None)
child = os.fork()
if child == 0:
    for use in (lambda: len(world), lambda: world.search("kite"), lambda: world.add([])):
        try:
            use()
        except worlds.OpenError as error:
            assert "was opened by another process: open it again in this one" in str(error)
        else:
            os._exit(1)
    world.close()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
assert world.add([("http://a/b", "http://a/c", '"x"')]).revision == 2
assert world.check().ok
world.close()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_world_does_not_survive_a_fork(path: Path) -> None:
    made(path, 3)
    subprocess.run([sys.executable, "-c", FORK, str(path)], cwd=ROOT, check=True, timeout=60)
    assert files_of(path) == {"world.db"}


FORK_MEANWHILE = """
import os, sys, threading
import worlds
world = worlds.open(sys.argv[1], embedder=None)
inside, leave = threading.Event(), threading.Event()
def work():
    with world.transaction():
        inside.set()
        leave.wait()
thread = threading.Thread(target=work)
thread.start()
inside.wait()
child = os.fork()
if child == 0:
    for verb in (world.stats, lambda: world.query("ASK {}"), lambda: world.search("x"), lambda: len(world)):
        try:
            verb()
        except worlds.OpenError as error:
            assert "another process" in str(error)
        else:
            os._exit(1)
    world.close()
    os._exit(0)
status = os.waitpid(child, 0)[1]
leave.set()
thread.join()
assert status == 0
world.close()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_fork_while_another_thread_writes_hangs_nobody(path: Path) -> None:
    made(path, 3)
    environment = {**os.environ, "PYTHONWARNINGS": "ignore::DeprecationWarning"}
    subprocess.run([sys.executable, "-c", FORK_MEANWHILE, str(path)], cwd=ROOT, env=environment, check=True, timeout=60)
    assert files_of(path) == {"world.db"}


# --- transactions -----------------------------------------------------------------------------------------------------


def test_a_wrong_call_inside_a_transaction_undoes_itself_alone(path: Path) -> None:
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        with world.transaction():
            world.add([(EX + "1", P, '"red kite"')])
            with pytest.raises(ParseError):
                world.load(LINE + b"<", format="nt")
            with pytest.raises(ZeroDivisionError), world.transaction():
                world.add([(EX + "2", P, '"blue kite"')])
                fail()
            with pytest.raises(ValueError, match="neither an IRI"):
                world.add([A_QUAD, ("no iri", P, '"x"')])
            for verb in (world.embed, world.file.compact, lambda: world.file.backup(path.with_name("backup.db"))):
                with pytest.raises(WorldsError, match="cannot run inside a transaction"):
                    verb()
            assert len(world) == 1
        assert world.stats().last_revision == 1
        assert [hit.text for hit in world.search("kite text")] == ["red kite"]
        assert problems(world) == []
    assert files_of(path) == {"world.db"}


def test_a_transaction_that_a_generator_holds(path: Path) -> None:
    def held(world: World) -> Iterator[None]:
        with world.transaction():
            world.add([A_QUAD])
            yield

    with worlds.open(path, embedder=None) as world:
        generator = held(world)
        next(generator)
        world.add([(EX + "2", P, '"within"')])
        assert len(world) == 2
        del generator  # which ends it by an exception
        assert len(world) == 0
        assert world.stats().last_revision == 0
        assert world.add([A_QUAD]).revision == 1
        assert problems(world) == []


def test_transactions_that_end_in_the_wrong_order(path: Path) -> None:
    with worlds.open(path, embedder=None) as world:
        outer, inner = world.transaction(), world.transaction()
        outer.__enter__()
        world.add([A_QUAD])
        inner.__enter__()
        world.add([(EX + "2", P, '"inner"')])
        with pytest.raises(ZeroDivisionError), contextlib.ExitStack() as stack:
            stack.push(outer)
            fail()
        with pytest.raises(WorldsError, match="the transaction around this one is over already"):
            inner.__exit__(None, None, None)
        assert len(world) == 0
        assert world.add([A_QUAD]).revision == 1
        assert problems(world) == []


def test_a_world_closed_inside_a_transaction(path: Path) -> None:
    def close_in_transaction(world: World) -> None:
        with world.transaction():
            world.add([A_QUAD])
            world.close()

    def close_in_iterable(world: World) -> None:
        def quads() -> Iterator[Sequence[object]]:
            yield A_QUAD
            world.close()

        world.add(quads())

    def close_in_stream(world: World) -> None:
        def close() -> bytes:
            world.close()
            return b""

        world.load(Stream(close), format="nt")

    for misuse in (close_in_transaction, close_in_iterable, close_in_stream):
        world = worlds.open(path, embedder=HashingEmbedder())
        with pytest.raises(OpenError, match="is closed"):
            misuse(world)
        with worlds.open(path, embedder=None) as world:
            assert len(world) == 0
            assert world.stats().last_revision == 0
            assert problems(world) == []
        assert files_of(path) == {"world.db"}
