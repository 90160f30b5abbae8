"""What waits for an evaluation is free at once when it is interrupted; what is abandoned is counted, and bounded."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

import worlds
from tests.support.seams import call_short, tell_evaluations
from worlds import World
from worlds.errors import QueryError, QueryTimeout
from worlds.graph.query.query_limits import CAN_FORK
from worlds.graph.query.running import MOST_ABANDONED, Interruptible, Running, abandoned, run

LONG = "{ ?subject ?p ?o . ?a ?b ?c FILTER(?o + ?c < 0) }"  # over the fixture about a second, without a solution
ENDLESS = "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i FILTER(?c + ?f + ?i < 0) }"  # in a process, which is killed
SOON = 0.2  # seconds
N = 1000  # quads


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with worlds.open(embedder=None) as world:
        world.load("\n".join(f"<urn:s{n}> <urn:p> {n} ." for n in range(N)).encode(), format="turtle")
        yield world


BEGUN = threading.Event()  # an evaluation was handed over to a thread


@pytest.fixture(autouse=True)
def watched(monkeypatch: pytest.MonkeyPatch) -> None:
    """An evaluation that begins is told."""
    tell_evaluations(monkeypatch, BEGUN.set)


@contextmanager
def ends_soon(act: Callable[[], object]) -> Iterator[None]:
    """`act` is called when an evaluation has begun, and the block ends soon then."""
    acted: list[float] = []

    def later() -> None:
        BEGUN.wait(1)
        time.sleep(0.05)
        acted.append(time.monotonic())
        act()

    BEGUN.clear()
    thread = threading.Thread(target=later)
    thread.start()
    try:
        yield
    finally:
        ended = time.monotonic()
        thread.join()
    assert ended - acted[0] < SOON + 0.3  # which another process may take of the machine


def settle() -> None:
    """Wait until nothing that was abandoned lives on."""
    until = time.monotonic() + 60
    while abandoned() and time.monotonic() < until:
        time.sleep(0.02)
    assert abandoned() == 0


READ: dict[str, Callable[[World], object]] = {
    "query": lambda w: w.query(f"SELECT * {LONG}"),
    "a query of all graphs": lambda w: w.query(f"SELECT * {LONG}", union=True),
    "a query with a limit": lambda w: w.query(ENDLESS, timeout=60),
    "the past": lambda w: w.at(1).query(f"SELECT * {LONG}"),
    "a part": lambda w: w.only(graphs="default").query(f"SELECT * {LONG}"),
    "explain": lambda w: w.explain(f"SELECT * {LONG}", counts=False),
    "a filter of a search": lambda w: w.search("soil", where=LONG.strip("{ }")),
    "an update": lambda w: w.update(f"DELETE {{ ?a ?b ?c }} WHERE {LONG}"),
}


@pytest.mark.parametrize("what", READ)
def test_a_verb_that_reads_is_interrupted(world: World, what: str) -> None:
    world.at(1).query("ASK { }")  # makes its index
    with ends_soon(world.interrupt), pytest.raises(QueryError, match="interrupted"):
        READ[what](world)
    began = time.monotonic()
    assert world.query("ASK { <urn:s7> ?p 7 }") is True  # the next call does not wait
    assert time.monotonic() - began < 1
    settle()


@pytest.mark.parametrize("what", ["query", "the past", "a filter of a search"])
def test_ctrl_c_ends_it(world: World, what: str, request: pytest.FixtureRequest) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where a shell began the tests aside
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    with ends_soon(lambda: os.kill(os.getpid(), signal.SIGINT)), pytest.raises(KeyboardInterrupt):
        READ[what](world)
    settle()


def test_closing_does_not_wait_for_what_lives_on(tmp_path: Path) -> None:
    world = worlds.open(tmp_path / "kb.db", embedder=None, sparql_index="disk")
    world.load("\n".join(f"<urn:s{n}> <urn:p> {n} ." for n in range(N)).encode(), format="turtle")
    world.query("ASK { }")  # makes the index
    with ends_soon(world.interrupt), pytest.raises(QueryError, match="interrupted"):
        world.query(f"SELECT * {LONG}")
    assert world.stats().abandoned == abandoned() == 1
    began = time.monotonic()
    world.close()
    with worlds.open(tmp_path / "kb.db", embedder=None, sparql_index="disk") as again:
        assert len(again.query("SELECT * { ?s ?p ?o }")) == N  # type: ignore[arg-type]
    assert time.monotonic() - began < 2
    settle()


def test_solutions_that_nobody_waits_for_are_not_gathered(world: World) -> None:
    with ends_soon(world.interrupt), pytest.raises(QueryError, match="interrupted"):
        world.query("SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }")  # N³ solutions
    time.sleep(0.3)
    assert abandoned() == 0


def burn(seconds: float) -> None:
    """Take so many seconds of the processor."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def test_what_is_short_stays_in_its_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    call_short(monkeypatch, 0.05)
    group = Running()
    threads: list[int] = []

    def work(_: object) -> None:
        threads.append(threading.get_ident())

    for text in ("a", "a", "b", "a"):
        run(text, work, running=group)
    own = threading.get_ident()
    assert [thread == own for thread in threads] == [False, True, False, True]
    run("a", lambda _: burn(0.1), running=group)
    run("a", work, running=group)
    assert threads[-1] != own
    run("new", work)  # which nobody can interrupt
    assert threads[-1] == own
    run("ASK { <urn:a> ?p 'b' }", work, running=group)
    run("ASK { <urn:c> ?p 'd' }", work, running=group)  # is like it
    assert threads[-1] == own
    group.grown(1000)
    run("ASK { <urn:c> ?p 'd' }", work, running=group)
    assert threads[-1] != own


def test_functions_are_called_by_the_one_who_waits_and_by_nobody_then() -> None:
    group, own, go, ended = Running(), threading.get_ident(), threading.Event(), threading.Event()
    called: list[int] = []

    def function(value: int) -> int:
        called.append(value)
        return threading.get_ident()

    functions = {"f": function}

    def work(handed: Any) -> None:
        assert handed["f"](1) == own
        go.wait(10)
        try:
            handed["f"](2)
        except QueryError:
            ended.set()

    with ends_soon(group.interrupt), pytest.raises(QueryError, match="interrupted"):
        run("text", work, functions, running=group)
    go.set()
    assert ended.wait(5)
    assert called == [1]
    settle()


def test_an_error_and_a_deadline_pass() -> None:
    def fail(_: object) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run("text", fail, running=Running())
    go = threading.Event()
    with pytest.raises(QueryTimeout):
        run("text", lambda _: go.wait(10), running=Running(), deadline=time.monotonic() + 0.05)
    assert abandoned() == 1
    go.set()
    settle()


def test_work_that_was_interrupted_begins_nothing() -> None:
    go = threading.Event()
    with Interruptible() as work:
        work.interrupt()
        with pytest.raises(QueryError, match="interrupted"):
            run("text", lambda _: go.wait(10), running=Running())
    go.set()
    settle()


@pytest.mark.skipif(not CAN_FORK, reason="needs processes that fork")
def test_no_more_live_on_than_may(world: World) -> None:
    group, go = Running(), threading.Event()
    waiting = [threading.Thread(target=_waits, args=(group, go)) for _ in range(MOST_ABANDONED)]
    for thread in waiting:
        thread.start()
    time.sleep(0.2)
    group.interrupt()
    for thread in waiting:
        thread.join()
    assert abandoned() == MOST_ABANDONED
    try:
        assert world.query("SELECT ?o { <urn:s9> ?p ?o }").to_dicts() == [{"o": 9}]  # type: ignore[union-attr]
        with ends_soon(world.interrupt), pytest.raises(QueryError, match="interrupted"):
            world.query(ENDLESS)
        assert abandoned() == MOST_ABANDONED  # the last ran in a process of its own, and is gone
    finally:
        go.set()
    settle()


def _waits(group: Running, go: threading.Event) -> None:
    with pytest.raises(QueryError):
        run("text", lambda _: go.wait(30), running=group)


def test_threads_that_ask_at_once(world: World) -> None:
    wrong: list[object] = []

    def ask(first: int) -> None:
        for n in range(first, 250, 4):
            found = world.query(f"SELECT ?o {{ <urn:s{n}> ?p ?o }}").to_dicts()  # type: ignore[union-attr]
            wrong.extend([] if found == [{"o": n}] else [found])

    threads = [threading.Thread(target=ask, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert sum(thread.name == "worlds-query" for thread in threading.enumerate()) <= 2 * MOST_ABANDONED


def test_a_fork_begins_with_no_threads() -> None:
    run("text", lambda _: None, running=Running())
    if pid := os.fork():
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
        return
    os._exit(run("text", lambda _: 7, running=Running()))


def test_a_store_may_change_below_what_lives_on(world: World) -> None:
    with ends_soon(world.interrupt), pytest.raises(QueryError, match="interrupted"):
        world.query(f"SELECT * {LONG}")
    world.add([("urn:new", "urn:p", ox.Literal("new"))])
    assert world.query("ASK { <urn:new> ?p 'new' }") is True
    world.remove([("urn:new", "urn:p", ox.Literal("new"))])
    assert world.query("ASK { <urn:new> ?p 'new' }") is False
    settle()
