"""The commands of curation."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import worlds
from tests.support.command_line import ok, run


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "kb.db"
    with worlds.open(path, embedder=None) as world:
        world.bind("ex", "http://example.org/")
        world.add([("ex:born", "rdf:type", "owl:FunctionalProperty")], author="ann")
        world.add([("ex:a", "ex:born", 1), ("ex:a", "ex:born", 2)], author="bob")
    return path


def test_contradictions_are_told_with_who_said_them(path: Path) -> None:
    found = run("contradictions", path)
    assert found.exit_code == 1
    assert "has 2 values of" in " ".join(found.output.split())
    assert "bob" in found.output
    document = json.loads(run("contradictions", path, "--json").output)
    assert document["counts"] == {"functional": 1}
    assert [said["author"] for said in document["findings"][0]["quads"]] == ["bob", "bob"]


def test_a_world_without_any_says_so(tmp_path: Path) -> None:
    worlds.open(tmp_path / "kb.db", embedder=None).close()
    assert "nothing was found" in ok("contradictions", tmp_path / "kb.db")
