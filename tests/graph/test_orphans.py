"""What is forked ends with the process that forked it, however that ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import worlds
from tests.support.processes import end_within, family, running

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing can be forked here")

ENDLESS = "SELECT (COUNT(*) AS ?n) { " + " ".join(f"?a{n} ?b{n} ?c{n} ." for n in range(9)) + " }"
ASK = """
import sys, threading, worlds
world = worlds.open(sys.argv[1], embedder=None, read_only=True)
def ask():
    world.query(sys.argv[2], {options})
{run}
"""
RUNS = {"the main thread": "ask()", "another": "it = threading.Thread(target=ask); it.start(); it.join()"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "w.db"
    with worlds.open(path, embedder=None) as world:
        world.add([(f"urn:s{n}", "urn:p", f"urn:o{n}") for n in range(300)])
    return path


def ends(command: list[str], number: signal.Signals) -> None:
    """The command's query runs in a child, which is gone soon after a signal ended the command."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # which nohup had it ignore
    try:
        parent = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    finally:
        signal.signal(signal.SIGHUP, before)
    with parent:
        deadline = time.monotonic() + 30
        while not (children := family(parent.pid)):
            assert time.monotonic() < deadline, "nothing was forked"
            assert parent.poll() is None
            time.sleep(0.05)
        time.sleep(0.1)  # so that the query is under way
        assert all(map(running, children))
        parent.send_signal(number)
        parent.wait(10)
    assert end_within(5, children), "the child goes on without its parent"


@pytest.mark.parametrize(
    "number", [signal.SIGKILL, signal.SIGTERM, pytest.param(signal.SIGHUP, marks=pytest.mark.long)]
)
def test_the_query_of_a_command_ends_with_it(path: Path, number: signal.Signals) -> None:
    ends([sys.executable, "-m", "worlds", "sparql", str(path), ENDLESS, "--timeout", "60"], number)


@pytest.mark.parametrize(("options", "run"), [("timeout=60", "the main thread"), ("max_memory=2**30", "another")])
def test_the_query_of_a_program_ends_with_it(path: Path, options: str, run: str) -> None:
    script = ASK.format(options=options, run=RUNS[run])
    ends([sys.executable, "-c", script, str(path), ENDLESS], signal.SIGKILL)


def test_a_query_outlives_the_thread_that_began_it(path: Path) -> None:
    """Threads with room on their stack begin queries of deep texts, and end before these do."""
    deep = "SELECT ?s { " + "{ " * 100 + "?s ?p ?o" + " }" * 100 + " } LIMIT 3"
    with worlds.open(path, embedder=None, read_only=True) as world:
        found = world.query(deep, timeout=30)
        assert isinstance(found, worlds.records.Solutions)
        assert len(found) == 3
