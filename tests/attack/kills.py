"""Writers of two processes are killed at any moment; what they acknowledged is there, whole, and the world is sound."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import worlds
from tests.support.embedder import HashingEmbedder
from tests.support.oracle import problems
from tests.support.workers import EX

_ROUNDS = 3


def kill_writers(seed: int, number: int) -> tuple[int, str | None]:
    """One world, some rounds of two writers, at least one of them killed; gives what was wrong."""
    chance = random.Random(f"{seed} kills {number}")
    said: dict[str, list[int]] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kb.db"
        for turn in range(_ROUNDS):
            writers = {}
            for one in range(2):
                name = f"w{turn}{one}-"
                command = [sys.executable, "-m", "tests.support.workers", "write_some", str(path), name, "100000"]
                writers[name] = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            for process in writers.values():
                assert process.stdout is not None
                process.stdout.readline()
            for process in writers.values():
                time.sleep(chance.random() * 0.5)
                process.kill()
            for name, process in writers.items():
                rest, _ = process.communicate()
                said[name] = [json.loads(line) for line in rest.splitlines() if line.endswith("]") or line.isdigit()]
        with worlds.open(path, embedder=HashingEmbedder()) as world:
            held: dict[str, set[str]] = {}
            for subject, _, _, _ in world.quads():
                batch, _, part = str(subject).removeprefix(EX).rpartition("-")
                held.setdefault(batch, set()).add(part)
            for batch, parts in held.items():
                if len(parts) != 5:
                    return 2 * _ROUNDS, f"of {batch} there are {len(parts)} quads of 5"
            for name, revisions in said.items():
                for count in range(len(revisions)):
                    if f"{name}{count}" not in held:
                        return (
                            2 * _ROUNDS,
                            f"{name}{count} was acknowledged as revision {revisions[count]}, and is lost",
                        )
            numbers = [entry.revision for entry in world.history()]
            if numbers != list(range(len(numbers), 0, -1)) or len(numbers) != len(held):
                return 2 * _ROUNDS, f"{len(held)} batches, and revisions {numbers}"
            if wrong := problems(world):
                return 2 * _ROUNDS, f"problems: {wrong}"
    return 2 * _ROUNDS, None
