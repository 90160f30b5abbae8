"""benchmarks.large: a small world is filled, goes on where it stopped, and is searched without a miss."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import worlds
from benchmarks.large import main


def run(monkeypatch: pytest.MonkeyPatch, path: Path, *options: str) -> None:
    monkeypatch.setattr(sys, "argv", ["large", "--path", str(path), "--rows", "10300", "--dimensions", "16", *options])
    main()


def test_a_world_is_filled_in_steps_and_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "large.db"
    run(monkeypatch, path, "--commit", "10000", "--only", "fill")
    with worlds.open(path, embedder=None, read_only=True) as world:
        stats = world.stats()
    assert (stats.quads, stats.chunks, stats.vectors, stats.pending) == (30_900, 10_300, 10_300, 0)
    run(monkeypatch, path, "--queries", "1", "--peer", "1")
    table = capsys.readouterr().out.partition("### 10,300 texts")[2]
    assert re.findall(r"\| (none|far|random)[^|]*\|.*\| 1 +\|\n", table) == ["none", *["far"] * 2, *["random"] * 5]
    assert "a new process: opens and answers in" not in table  # it prints to the real standard output
