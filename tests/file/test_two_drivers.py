"""One file, two drivers: whatever writes it, it is the same world."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.any_verbs import STEPS
from worlds.verbs.table import VERBS

DRIVERS = ("libsql", "sqlite")
# Each step is done by a process of its own, forked from one that has imported all but a driver.
_TEMPLATE = """
import json, os, sys, traceback
from pathlib import Path
import tests.support.any_verbs as verbs, tests.support.embedder, worlds.world, worlds.core.search.engine

assert "apsw" not in sys.modules and "libsql_experimental" not in sys.modules
for line in sys.stdin:
    name, path, arguments = json.loads(line)
    here, there = os.pipe()
    if os.fork() == 0:
        try:
            driver = arguments.pop("driver")
            os.environ["WORLDS_DRIVER"] = driver
            found = verbs.told(Path(path)) if name == "told" else verbs.do(Path(path), name, driver=driver, **arguments)
        except BaseException:
            found = traceback.format_exc()
        with os.fdopen(there, "w") as out:
            json.dump(found, out)
        os._exit(0)
    os.close(there)
    with os.fdopen(here) as answer:
        print(answer.read(), flush=True)
    os.wait()
"""


class Processes:
    """Gives each step a process."""

    def __init__(self) -> None:
        self._template = subprocess.Popen(
            [sys.executable, "-c", _TEMPLATE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __call__(self, name: str, path: Path, driver: str, **arguments: Any) -> Any:
        assert self._template.stdin is not None
        assert self._template.stdout is not None
        print(json.dumps([name, str(path), {"driver": driver, **arguments}]), file=self._template.stdin, flush=True)
        return json.loads(self._template.stdout.readline())

    def close(self) -> None:
        self._template.kill()
        self._template.communicate()


@pytest.fixture(scope="module")
def processes() -> Iterator[Processes]:
    made = Processes()
    yield made
    made.close()


def test_every_verb_that_writes_is_among_the_steps() -> None:
    assert {verb.name for verb in VERBS.values() if verb.effect != "reads"} <= STEPS.keys()


def _ranked(told: dict[str, Any]) -> dict[str, Any]:
    return {**told, "hits": {name: [hit[:2] for hit in hits] for name, hits in told["hits"].items()}}


@pytest.mark.timeout(7200)  # with --long
def test_any_sequence_of_writes_leaves_the_same_world_whichever_driver_does_each(
    processes: Processes, tmp_path: Path, long: bool
) -> None:
    done = 0
    for number in range(1000 if long else 3):
        chance = random.Random(number)
        steps = [("add", chance.random()), *((name, chance.random()) for name in chance.choices(list(STEPS), k=7))]
        one, mixed = ((tmp_path / f"{number}" / name / "world.db") for name in ("one", "mixed"))
        chosen = [chance.choice(DRIVERS) for _ in steps]
        for path in (one, mixed):
            path.parent.mkdir(parents=True)
        for (name, seed), driver in zip(steps, chosen, strict=True):
            expected = processes(name, one, "libsql", seed=seed)
            assert processes(name, mixed, driver, seed=seed) == expected, (number, name, driver)
            assert len(expected) < 40, expected
            done += expected == "done"
        same = processes("told", one, "libsql")
        assert isinstance(same, dict), same
        for driver in DRIVERS:
            other = processes("told", mixed, driver)
            for name, hits in other["hits"].items():  # the drivers' distances differ in the last bits
                assert [hit[2] for hit in hits] == pytest.approx([hit[2] for hit in same["hits"][name]], abs=2e-5)
            assert _ranked(other) == _ranked(same), (number, steps, chosen)
    assert done > 4 * (number + 1), "most steps are refused"
