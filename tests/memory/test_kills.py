"""Whoever is killed while it remembers or purges leaves a whole world, and loses nothing that it was told of."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import worlds
from tests.support.forking import Forked
from worlds import World
from worlds.records import prove

SCRIPT = """
import sys, worlds
from worlds.records import Keep
with worlds.open(sys.argv[1], embedder=None) as world:
    memory = world.memory(scope="a")
    if sys.argv[3] == "without":
        memory.keep = Keep(history=False)
    for number in range(int(sys.argv[2]), 10**9):
        key, text = f"k{number % 4}", f"told {number} own{number}z here own{number}z"
        memory.retain(text, key=key)
        print("told", number, flush=True)
        if number % 3 == 0:
            memory.forget(key=key, purge=True)
            print("purged", number, flush=True)
"""


def held(world: World) -> dict[str | None, str]:
    return {one.key: one.text for one in world.memory(scope="a").memories()}


def run(path: Path, kills: int, history: str) -> None:
    dice, number = random.Random(3), 0
    for _ in range(kills):
        command = [sys.executable, "-c", SCRIPT, str(path), str(number), history]
        with Forked(command, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            first = child.stdout.readline()
            time.sleep(dice.random() * 0.1)
            child.send_signal(signal.SIGKILL)
            lines = [line.split() for line in (first + child.stdout.read()).splitlines()]
        told = [int(line[1]) for line in lines if len(line) == 2 and line[0] == "told"]
        purged = [int(line[1]) for line in lines if len(line) == 2 and line[0] == "purged"]
        with worlds.open(path, embedder=None) as world:
            report = world.memory(scope="a").world.check()
            assert report.ok, report
            kept = held(world)
            last = max(told, default=number)
            for key, text in kept.items():
                own = int(text.split()[1])
                assert key == f"k{own % 4}"
                assert own <= last + 1  # it may have been told, but not said so
            for one in told[-3:-1]:  # of those that nothing has replaced
                assert one % 3 == 0 or f"k{one % 4}" in kept
            assert not [one for one in purged if f"told {one} " in str(kept)]
            world.memory(scope="a").world.file.compact()
        for one in purged[-5:]:
            assert prove(f"own{one}z here", path), one
        number = last + 2


@pytest.mark.parametrize("history", ["with", "without"])
def test_a_memory_survives_whoever_is_killed(history: str, path: Path) -> None:
    run(path, 3, history)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_a_memory_survives_two_hundred_kills(path: Path) -> None:
    for history in ("with", "without"):
        run(path, 100, history)
