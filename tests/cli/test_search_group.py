"""`worlds search --world a --world b`, and `worlds sparql` with it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.command_line import fails, ok, run


@pytest.fixture
def members(tmp_path: Path) -> list[str | Path]:
    """Two worlds, as options."""
    names = ("birds", "lakes")
    for name, text in zip(names, ("a kite above the lake", "lake of Como"), strict=True):
        source = tmp_path / f"{name}.nt"
        source.write_text(f'<http://ex/{name}> <http://www.w3.org/2000/01/rdf-schema#label> "{text}" .\n')
        ok("load", tmp_path / f"{name}.db", source)
    return [argument for name in names for argument in ("--world", tmp_path / f"{name}.db")]


def test_several_worlds_are_searched_as_one(members: list[str | Path]) -> None:
    found = json.loads(ok("search", *members, "lake", "--mode", "text", "--json"))
    assert [hit["world"] for hit in found["hits"]] == ["lakes", "birds"]
    shown = ok("search", *members, "como", "lake", "--mode", "text", "--explain")
    assert "from lakes" in shown
    assert "-- statement\n" in ok("search", *members, "lake", "--sql", "--mode", "text")
    first = str(members[1])
    assert "QUERY" in fails(2, "search", first)


def test_several_worlds_are_asked_as_one(members: list[str | Path], tmp_path: Path) -> None:
    query = "SELECT ?s ?l { ?s rdfs:label ?l SERVICE <worlds:lakes> { ?s ?p ?o } }"
    assert ok("sparql", *members, query, "--format", "csv").split() == ["s,l", "http://ex/lakes,lake", "of", "Como"]
    file = tmp_path / "count.rq"
    file.write_text("SELECT (count(*) AS ?n) { ?s ?p ?o }")
    found = json.loads(ok("sparql", *members, "--file", file, "--json"))
    assert [row["n"]["value"] for row in found["results"]["bindings"]] == ["2"]
    bound = ok("sparql", *members, "SELECT ?l { ?s rdfs:label ?l }", "--bind", "s=<http://ex/birds>")
    assert "a kite above the lake" in bound
    assert "of Como" not in bound
    assert run("sparql", *members, "ASK { ?s ?p 1 }").exit_code == 1
    assert "line 1" in fails(5, "sparql", *members, "ASK { ?s ?p")
    assert "no world 'fish'" in fails(5, "sparql", *members, "ASK { SERVICE <worlds:fish> { ?s ?p ?o } }")
    assert "several worlds" in fails(2, "sparql", *members, query, "--explain")
    assert "WORLD" in fails(2, "sparql", "--file", file)
