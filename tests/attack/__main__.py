"""Attacks the engine and the server for some minutes, and says what it found.

    python3 dev.py attack --minutes 2 --seed 7
    python3 dev.py attack --minutes 10 --seed 7 --kind document --first 1234
    python3 dev.py attack --cases 1000000 --seed 7

The same seed makes the same cases, a case by its kind and number alone. Each kind has a process of its own with limits
of time and memory: an error that is none of worlds', a signal, a hang, or growth is a finding. A hang is ten seconds of
processor time, for which it is of no account what else the machine does, or minutes without a word.
Ends with 1 where there was one.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import os
import random
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.attack.cases import KINDS, PAST
from tests.attack.ends import end_command
from tests.attack.kills import kill_writers
from tests.attack.properties import PROPERTIES, hold_property
from tests.attack.proposers import propose_with_keys
from tests.attack.strangers import cancel_calls, plant_neighbours
from tests.sparql.test_fuzz import fresh
from tests.support.serving import served

_PATIENCE = 300  # times that a second passes without a word: of a machine that stands still, none passes
_MACHINE = 600  # seconds of processor time of a run of all verbs
_ENDLESS = 10**12
_SHARES = {"document": 0.25, "query": 0.45, "update": 0.2, "words": 0.085, "request": 0.005, "file": 0.01}


@dataclass
class Tally:
    """How many cases ran, and what was found."""

    cases: dict[str, int] = field(default_factory=dict)
    findings: list[str] = field(default_factory=list)
    peak: int = 0  # bytes that a process came to hold

    def found(self, kind: str, seed: int, number: int, what: str) -> None:
        self.findings.append(f"{kind}, seed {seed}, case {number}: {what}")
        print("FOUND", self.findings[-1], flush=True)


def attack(
    kind: str,
    seed: int,
    first: int,
    seconds: float,
    tally: Tally,
    *served: str,
    last: int = _ENDLESS,
    program: Sequence[str] = (),
) -> int:
    """Run cases of a kind for some time, in processes that may die; gives the number of the next one."""
    end = time.monotonic() + seconds
    last = min(last, len(PAST)) if kind == "past" else last
    number, limited = first, False
    while time.monotonic() < end and number < last:
        until = number + 1 if limited else last
        command = program or [
            *(sys.executable, "-m", "tests.attack.worker", kind, str(seed), str(number), str(until)),
            *(["limited"] if limited else served),
        ]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        ) as worker:
            number = _follow(worker, kind, seed, number, end, tally)
            over = time.monotonic() >= end
            if not over and worker.poll() is None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    worker.wait(1)
            code = worker.poll()
            with contextlib.suppress(ProcessLookupError):
                os.killpg(worker.pid, signal.SIGKILL)
            _, errors = worker.communicate()
        if over:
            return number + 1
        stopped = code == -signal.SIGPROF or (code == -signal.SIGABRT and b"memory allocation" in errors)
        if stopped and kind == "query" and not limited:  # as endless as whoever wrote it wants; its limits stop it
            limited = True
            tally.cases[kind] -= 1
            continue
        if code == -signal.SIGPROF:
            tally.found(kind, seed, number, "no end")
        elif code not in (None, 0):
            tally.found(kind, seed, number, f"the process ended with {code}: {errors[-2000:].decode(errors='replace')}")
        number, limited = number + 1, False
    return number


def _follow(worker: subprocess.Popen[bytes], kind: str, seed: int, number: int, end: float, tally: Tally) -> int:
    """Read what a process says, until it ends or says nothing any more; gives the number of its last case."""
    assert worker.stdout is not None
    buffer, silent = b"", 0
    while (left := end - time.monotonic()) > 0:
        ready, _, _ = select.select([worker.stdout], [], [], min(1, left))
        if not ready:
            silent += 1
            if silent < _PATIENCE:
                continue
            tally.found(kind, seed, number, "it waits without an end")
            break
        silent = 0
        if not (piece := os.read(worker.stdout.fileno(), 1 << 16)):
            break
        *lines, buffer = (buffer + piece).split(b"\n")
        for said in map(json.loads, lines):
            if not isinstance(said, dict):
                number = said
                tally.cases[kind] = tally.cases.get(kind, 0) + 1
            elif "wrong" in said:
                tally.found(kind, seed, number, said["wrong"])
            else:
                tally.peak = max(tally.peak, said["peak"])
    return number


@contextlib.contextmanager
def server() -> Iterator[tuple[str, str, Path, int]]:
    """A server of a world: its address, a key that may do all, its log and its process."""
    from worlds.doors.server.keys import keys_of

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kb.db"
        with fresh() as world:
            world.file.backup(path)
        options = ["--readers", "2", "--timeout", "5", "--max-body", "1000000"]
        with served(path, *options) as found:
            key = keys_of(path).add("attack", {"*": "admin"})[1]
            yield found.url, key, found.log, found.process.pid
            if found.process.poll() is not None:
                raise RuntimeError(f"the server ended with {found.process.returncode}: {found.log.read_text()[-3000:]}")


def state_machine(seed: int, number: int) -> tuple[int, str | None]:
    """One run of all writing verbs in any order against plain sets, with killed writers; 1, and what was wrong."""
    program = (
        "import resource\n"
        f"resource.setrlimit(resource.RLIMIT_CPU, ({_MACHINE}, {_MACHINE}))\n"
        "from hypothesis import HealthCheck, seed, settings\n"
        "from hypothesis.stateful import run_state_machine_as_test\n"
        "from tests.history.test_any_writes import GateMachine, teardown_module\n"
        "quick = settings(max_examples=5, stateful_step_count=40, deadline=None, database=None,\n"
        "                 suppress_health_check=list(HealthCheck))\n"
        f"run_state_machine_as_test(seed({seed * 1000 + number})(GateMachine), settings=quick)\n"
        "teardown_module()\n"
    )
    command = [sys.executable, "-c", program]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=3 * _MACHINE)
    except subprocess.TimeoutExpired as error:
        return 1, f"no end: {error}"
    return 1, None if done.returncode == 0 else done.stderr[-3000:]


def main() -> int:
    """Take turns among the kinds until the time is over, or all cases were tried."""
    parser = argparse.ArgumentParser(prog="attack", description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=None, help="2 by default, or as long as --cases take")
    parser.add_argument(
        "--cases", type=int, default=None, help="how many, of --kind, or of all mutated inputs together"
    )
    parser.add_argument("--seed", type=int, default=None, help="by default another one each time")
    parser.add_argument("--kind", choices=["past", *KINDS, *_RUNS], default=None, help="this kind alone")
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    given = parser.parse_args()
    seed = random.SystemRandom().randrange(10**6) if given.seed is None else given.seed
    minutes = given.minutes or (2.0 if given.cases is None else float("inf"))
    begin = time.monotonic()
    end = begin + 60 * minutes
    last = {"past": len(PAST), **dict.fromkeys([*KINDS, *_RUNS], _ENDLESS)}
    if given.kind:
        last = {given.kind: last[given.kind]}
    if given.cases is not None:
        shares = {given.kind: 1.0} if given.kind else _SHARES
        last = {kind: given.first + round(given.cases * share) for kind, share in shares.items()}
    next_one = dict.fromkeys(last, given.first)
    tally = Tally()
    print(f"attack: seed {seed}, {minutes:g} minutes of {', '.join(last)}", flush=True)
    with server() if "request" in last else contextlib.nullcontext(()) as where:
        while time.monotonic() < end:
            kinds = [kind for kind, number in next_one.items() if number < last[kind]]
            if not kinds:
                break
            random.Random(seed).shuffle(kinds)  # where the time is too short for all, it is not always the same ones
            for done, kind in enumerate(kinds):
                left = max(0, end - time.monotonic())
                turn = min(max(left / (len(kinds) - done), 5), 60, left)
                served = map(str, where) if kind == "request" else ()
                go = attack if kind not in _RUNS else run_apart
                next_one[kind] = go(kind, seed, next_one[kind], turn, tally, *served, last=last[kind])
            if given.cases is not None:
                tell(f"{time.monotonic() - begin:.0f} s", tally)
    tell(f"seed {seed}, {(time.monotonic() - begin) / 60:.1f} minutes", tally)
    return 1 if tally.findings else 0


def run_apart(kind: str, seed: int, first: int, seconds: float, tally: Tally, *, last: int) -> int:
    """Run cases that make processes of their own, for some time; gives the number of the next one."""
    number, until = first, time.monotonic() + seconds
    while time.monotonic() < until and number < last:
        count, wrong = _RUNS[kind](seed, number)
        if wrong is not None:
            tally.found(kind, seed, number, wrong)
        tally.cases[kind] = tally.cases.get(kind, 0) + count
        number += 1
    return number


_RUNS: dict[str, Callable[[int, int], tuple[int, str | None]]] = {
    "machine": state_machine,
    "kills": kill_writers,
    "ends": end_command,
    "neighbours": plant_neighbours,
    "keys": propose_with_keys,
    "cancelled": cancel_calls,
    **{kind: functools.partial(hold_property, kind) for kind in PROPERTIES},
}


def tell(when: str, tally: Tally) -> None:
    counts = ", ".join(f"{count:,} of {kind}" for kind, count in tally.cases.items())
    held = f", {tally.peak >> 20} MB held at most" if tally.peak else ""
    print(f"attack: {when}: {counts}{held}: {len(tally.findings)} findings", flush=True)


if __name__ == "__main__":
    sys.exit(main())
