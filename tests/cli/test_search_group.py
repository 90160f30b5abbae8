"""`worlds search --world a --world b`."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.command_line import fails, ok


def test_several_worlds_are_searched_as_one(tmp_path: Path) -> None:
    names = ("birds", "lakes")
    for name, text in zip(names, ("a kite above the lake", "lake of Como"), strict=True):
        source = tmp_path / f"{name}.nt"
        source.write_text(f'<http://ex/{name}> <http://www.w3.org/2000/01/rdf-schema#label> "{text}" .\n')
        ok("load", tmp_path / f"{name}.db", source)
    worlds = [argument for name in names for argument in ("--world", tmp_path / f"{name}.db")]
    found = json.loads(ok("search", *worlds, "lake", "--mode", "text", "--json"))
    assert [hit["world"] for hit in found["hits"]] == ["lakes", "birds"]
    shown = ok("search", *worlds, "como", "lake", "--mode", "text", "--explain")
    assert "from lakes" in shown
    assert "several worlds" in fails(2, "search", *worlds, "lake", "--sql")
    assert "QUERY" in fails(2, "search", tmp_path / "birds.db")
