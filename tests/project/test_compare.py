"""benchmarks.compare: two trees do the same work in turn."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.compare import WORK, figures, quartiles

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", [name for name in WORK if name != "load"])  # which the other test compares
def test_each_benchmark_gives_seconds(name: str) -> None:
    found = figures(ROOT, name, 0.05, "auto")
    assert found
    assert all(0 < seconds < 60 for seconds in found.values())


def worktrees() -> set[str]:
    listed = subprocess.run(["git", "worktree", "list"], cwd=ROOT, capture_output=True, text=True, check=True)
    return {line.split()[0] for line in listed.stdout.splitlines()}


def test_a_commit_is_compared_with_this_tree(tmp_path: Path) -> None:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("this is no clone")
    before, rows = worktrees(), tmp_path / "rows.jsonl"
    command = [sys.executable, "-m", "benchmarks.compare", "HEAD", "load", "--rounds", "2", "--size", "0.05"]
    done = subprocess.run(
        [*command, "--rows", str(rows)], cwd=ROOT, capture_output=True, text=True, check=False, timeout=250
    )
    assert done.returncode == 0, done.stderr
    assert "### load: HEAD and this tree, 2 rounds" in done.stdout
    kept = [json.loads(line) for line in rows.read_text().splitlines()]
    assert [(one["benchmark"], one["round"]) for one in kept] == [("load", 0), ("load", 1)]
    assert all(one["base"].keys() == one["this"].keys() for one in kept)
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("| load ")]
    ratio = float(line.split("|")[4])
    low, middle, high = quartiles([one["this"]["load"] / one["base"]["load"] for one in kept])
    assert low <= high
    assert ratio == pytest.approx(middle, abs=1e-3)
    assert worktrees() <= before, "the other tree stays behind"
