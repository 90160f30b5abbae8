"""benchmarks.rivals: engines do the same work in processes of their own, and stand in one table."""

from __future__ import annotations

import re
import sys

import pytest

from benchmarks.rivals import check, main


def test_engines_stand_side_by_side(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["Worlds", "pyoxigraph, memory", "NumPy + FTS5", "Grafeo"]
    monkeypatch.setattr(sys, "argv", ["rivals", "--small", "--only", *asked])
    main()
    printed = capsys.readouterr().out
    rows = dict(re.findall(r"(?m)^\| ([^|]+) \| (.*) \|$", printed))
    cells = {title: cells.split(" | ") for title, cells in rows.items()}
    assert cells["recall@10, all filters"] == ["1", "–", "–", "1"]
    assert cells["full text, share of first 10 with its text"] == ["1", "–", "–", "1"]
    assert [each == "–" for each in cells["join over classes, ms"]] == [False, False, True, True]
    assert [each == "–" for each in cells["hybrid, 1/10,000, ms"]] == [False, True, True, False]
    assert float(cells["load, s"][0]) > 0
    assert "Grafeo: n" in printed


def test_another_number_of_rows_is_an_error() -> None:
    with pytest.raises(AssertionError, match="point"):
        check({"one": {"rows: point": 3}, "other": {"rows: point": 4}})
