"""What of the engine tests may change from outside: the limits that are too large, or too short, for a test.

A test that patches anything else of ours would break when code moves, and says nothing of what a user sees.
"""

from __future__ import annotations

from pathlib import Path

import pytest


def keep_small_indexes_on_disk(monkeypatch: pytest.MonkeyPatch, quads: int) -> None:
    """Let a world of so many quads have its SPARQL index on disk; otherwise it takes 100,000."""
    monkeypatch.setattr("worlds.sparql.index.DISK_FROM", quads)


def wait_for_hints(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Let what explains an empty answer take as long as it does on a busy machine."""
    monkeypatch.setattr("worlds.mcp.querying.QUICK", seconds)
    monkeypatch.setattr("worlds.sparql.notes.SECONDS", seconds)


def page_folder(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Let the page's query editor be looked for here, not where the clone has it, or has it not."""
    monkeypatch.setattr("worlds.server.bundle.FOLDER", folder)
