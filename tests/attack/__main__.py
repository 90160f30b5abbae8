"""Attacks the engine and the server for some minutes, and says what it found.

    python3 dev.py attack --minutes 2 --seed 7
    python3 dev.py attack --minutes 10 --seed 7 --kind document --first 1234

The same seed makes the same cases, a case by its kind and number alone. Each kind has a process of its own with limits
of time and memory: an error that is none of worlds', a signal, ten seconds without an end, or growth is a finding.
Ends with 1 where there was one.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.attack.cases import KINDS, PAST
from tests.attack.kills import kill_writers
from tests.attack.worker import SLOW
from tests.sparql.test_fuzz import fresh
from tests.support.serving import served

# uvicorn's, where a request breaks the protocol in its body and is answered all the same.
_BROKEN_REQUEST = "h11._util."
_PATIENCE = 3 * SLOW  # seconds without a word, which include those of a busy machine


@dataclass
class Tally:
    """How many cases ran, and what was found."""

    cases: dict[str, int] = field(default_factory=dict)
    findings: list[str] = field(default_factory=list)

    def found(self, kind: str, seed: int, number: int, what: str) -> None:
        self.findings.append(f"{kind}, seed {seed}, case {number}: {what}")
        print("FOUND", self.findings[-1], flush=True)


def attack(
    kind: str, seed: int, first: int, seconds: float, tally: Tally, *served: str, program: Sequence[str] = ()
) -> int:
    """Run cases of a kind for some time, in processes that may die; gives the number of the next one."""
    end = time.monotonic() + seconds
    number = first
    while time.monotonic() < end and (kind != "past" or number < len(PAST)):
        command = program or [sys.executable, "-m", "tests.attack.worker", kind, str(seed), str(number), *served]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        ) as worker:
            assert worker.stdout is not None
            buffer = b""
            while True:
                ready, _, _ = select.select([worker.stdout], [], [], min(_PATIENCE, max(0.05, end - time.monotonic())))
                piece = os.read(worker.stdout.fileno(), 1 << 16) if ready else b""
                if not ready and time.monotonic() < end:
                    tally.found(kind, seed, number, f"no end within {_PATIENCE:.0f} seconds")
                if not piece:
                    break
                *lines, buffer = (buffer + piece).split(b"\n")
                for said in map(json.loads, lines):
                    if isinstance(said, dict):
                        tally.found(kind, seed, number, said["wrong"])
                    else:
                        number = said
                        tally.cases[kind] = tally.cases.get(kind, 0) + 1
                if time.monotonic() >= end:
                    break
            over = time.monotonic() >= end
            if not over and worker.poll() is None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    worker.wait(1)
            code = worker.poll()
            with contextlib.suppress(ProcessLookupError):
                os.killpg(worker.pid, signal.SIGKILL)
            _, errors = worker.communicate()
            if not over and code not in (None, 0):
                tally.found(
                    kind, seed, number, f"the process ended with {code}: {errors[-2000:].decode(errors='replace')}"
                )
        number += 1
    return number


@contextlib.contextmanager
def server() -> Iterator[tuple[str, str, Path]]:
    """A server of a world: its address, a key that may do all, and its log."""
    from worlds.server.keys import KeyStore, key_file

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kb.db"
        with fresh() as world:
            world.backup(path)
        options = ["--readers", "2", "--timeout", "5", "--max-body", "1000000"]
        with served(path, *options) as found:
            key = KeyStore(key_file(path)).add("attack", {"*": "admin"})[1]
            yield found.url, key, found.log
            if found.process.poll() is not None:
                raise RuntimeError(f"the server ended with {found.process.returncode}: {found.log.read_text()[-3000:]}")


def state_machine(seed: int, number: int) -> str | None:
    """One run of all writing verbs in any order against plain sets, with killed writers; gives what was wrong."""
    program = (
        "from hypothesis import HealthCheck, seed, settings\n"
        "from hypothesis.stateful import run_state_machine_as_test\n"
        "from tests.revisions.test_any_writes import GateMachine, teardown_module\n"
        "quick = settings(max_examples=5, stateful_step_count=40, deadline=None, database=None,\n"
        "                 suppress_health_check=list(HealthCheck))\n"
        f"run_state_machine_as_test(seed({seed * 1000 + number})(GateMachine), settings=quick)\n"
        "teardown_module()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=600)
    return None if done.returncode == 0 else done.stderr[-3000:]


def main() -> int:
    """Take turns among the kinds until the time is over."""
    parser = argparse.ArgumentParser(prog="attack", description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--seed", type=int, default=None, help="by default another one each time")
    parser.add_argument("--kind", choices=["past", *KINDS, "machine", "kills"], default=None, help="this kind alone")
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    given = parser.parse_args()
    seed = random.SystemRandom().randrange(10**6) if given.seed is None else given.seed
    end = time.monotonic() + 60 * given.minutes
    kinds = [given.kind] if given.kind else ["past", *KINDS, "machine", "kills"]
    numbers = dict.fromkeys(kinds, given.first)
    tally = Tally()
    print(f"attack: seed {seed}, {given.minutes:g} minutes of {', '.join(kinds)}", flush=True)
    with server() if "request" in kinds else contextlib.nullcontext(None) as serving:
        while (left := end - time.monotonic()) > 0:
            for kind in kinds:
                turn = min(max(left / len(kinds), 5), 60, max(0, end - time.monotonic()))
                if not turn:
                    break
                if kind == "past" and numbers[kind] >= len(PAST):
                    if given.kind:
                        end = 0
                    continue
                if kind in ("machine", "kills"):
                    until = time.monotonic() + turn
                    while time.monotonic() < until:
                        run: Any = state_machine if kind == "machine" else kill_writers
                        if wrong := run(seed, numbers[kind]):
                            tally.found(kind, seed, numbers[kind], wrong)
                        tally.cases[kind] = tally.cases.get(kind, 0) + 1
                        numbers[kind] += 1
                    continue
                where = serving[:2] if serving is not None and kind == "request" else ()
                numbers[kind] = attack(kind, seed, numbers[kind], turn, tally, *where)
        if serving is not None:
            for told in serving[2].read_text(errors="replace").split("Traceback")[1:]:
                if _BROKEN_REQUEST not in told:
                    tally.found("request", seed, numbers["request"], f"Traceback{told[:3000]}")
    counts = ", ".join(f"{count:,} of {kind}" for kind, count in tally.cases.items())
    print(f"attack: seed {seed}: {counts}: {len(tally.findings)} findings", flush=True)
    return 1 if tally.findings else 0


if __name__ == "__main__":
    sys.exit(main())
