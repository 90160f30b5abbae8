"""`worlds revisions provenance`: which revision said what of an entity."""

from __future__ import annotations

import json
import re
from pathlib import Path

import worlds
from tests.support.command_line import ok


def test_each_triple_is_shown_with_who_said_it(tmp_path: Path) -> None:
    path = tmp_path / "kb.db"
    with worlds.open(path, embedder=None) as world:
        world.bind("ex", "http://example.org/")
        world.add([("ex:a", "ex:p", '"one"')], author="ann", message="first")
        world.add([("ex:a", "ex:q", '"two"', "ex:g")], author="bob")
        world.remove([("ex:a", "ex:p", '"one"')], author="bob", message="wrong")
        world.update("CREATE GRAPH ex:empty", author="ann")
        world.undo(4)
    held = ok("revisions provenance", path, "ex:a")
    assert "bob" in held
    assert "ex:q" in held
    assert "one" not in held
    all_of_it = ok("revisions provenance", path, "ex:a", "--removed")
    assert "first" in all_of_it
    assert re.search(r"3  bob$", all_of_it, re.MULTILINE)
    (found,) = json.loads(ok("revisions provenance", path, "ex:a", "-p", "ex:p", "--removed", "--json"))["quads"]
    assert found["quad"] == ["<http://example.org/a>", "<http://example.org/p>", '"one"', None]
    assert (found["added"]["revision"], found["removed"]["message"]) == (1, "wrong")
    log = ok("log", path)
    assert {"created", "dropped", "undone"} <= {*log.split()}
    assert re.search(r"^ +4 .* 5$", log, re.MULTILINE)
