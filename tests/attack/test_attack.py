"""The attack finds nothing in what was found before, and in some cases of each kind; `dev.py attack` goes on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.attack.__main__ import Tally, attack
from tests.attack.cases import KINDS, PAST, case
from tests.attack.ends import end_command
from tests.attack.properties import PROPERTIES, chosen, hold, hold_property
from tests.attack.strangers import cancel_calls, plant_neighbours
from tests.graph.test_bounds import DEEP

ROOT = Path(__file__).resolve().parents[2]


def test_a_case_is_made_by_its_kind_seed_and_number() -> None:
    for kind in KINDS:
        assert case(kind, 7, 3) == case(kind, 7, 3) != case(kind, 7, 4)


@pytest.mark.slow
def test_what_was_found_before_is_found_no_more(long: bool) -> None:
    tally = Tally()  # tests/graph/test_bounds.py has the first cases
    assert attack("past", 0, 0 if long else len(DEEP), 200, tally) >= len(PAST)
    assert tally.findings == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "request"])
def test_some_cases_of_each_kind(kind: str, long: bool) -> None:
    tally, last = Tally(), 5 if long else 2
    assert attack(kind, 1, 0, 120, tally, last=last) == last
    assert tally.findings == []
    assert tally.cases[kind] == last


@pytest.mark.skipif(sys.platform != "linux", reason="processes are listed by /proc")
@pytest.mark.parametrize("number", [2, pytest.param(5, marks=pytest.mark.long)])
def test_a_command_that_is_ended_leaves_nothing(number: int) -> None:
    assert end_command(8, number) == (1, None)


def test_what_a_stranger_plants_is_not_believed() -> None:
    assert [plant_neighbours(6, number) for number in range(2)] == [(1, None)] * 2


def test_the_next_call_after_any_that_were_cancelled_is_answered() -> None:
    assert cancel_calls(6, 0) == (50, None)


@pytest.mark.parametrize("where", [where for kind in PROPERTIES.values() for where in kind])
def test_a_property_is_held_over_other_values(where: str) -> None:
    assert hold(where, 1, 1) >= 1


def test_a_property_that_does_not_hold_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    assert chosen("shapes", 7, 1) == chosen("shapes", 7, 1) != chosen("shapes", 7, 5)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setattr("tests.attack.properties._MODULE", "tests.attack.none")
    count, wrong = hold_property("cells", 7, 0)
    assert count == 1
    assert wrong is not None
    assert wrong.startswith("graph.test_cells.test_no_cell_is_a_formula_and_every_text_comes_back: ")


def test_an_error_of_another_kind_a_signal_and_a_hang_are_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    for program, said in (
        ("import signal; print(0); signal.setitimer(signal.ITIMER_PROF, 0.1)\nwhile True: pass", "no end"),
        ("import json; print(0); print(json.dumps({'wrong': 'x'}), flush=True)", "x"),
        ("import os; print(0, flush=True); os.abort()", "ended with -6"),
        ("import time; print(0, flush=True); time.sleep(60)", "waits without an end"),
    ):
        monkeypatch.setattr("tests.attack.__main__._PATIENCE", 1)
        tally = Tally()
        attack("update", 0, 0, 5, tally, last=1, program=[sys.executable, "-c", program])
        assert said in tally.findings[0]


@pytest.mark.slow
def test_the_command() -> None:
    command = [
        sys.executable,
        "-m",
        "tests.attack",
        "--minutes",
        "5",
        "--cases",
        "2",
        "--seed",
        "3",
        "--kind",
        "words",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 findings" in done.stdout
