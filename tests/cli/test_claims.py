"""worlds entities mentions, curate links, curate verify."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import worlds
from tests.support.command_line import ok, run
from worlds.doors.cli.exit_codes import NO

DATA = """
@prefix ex: <http://example.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
ex:landed a owl:FunctionalProperty .
ex:c a ex:Rover ; rdfs:label "Curiosity" ; ex:landed 2012 ; ex:agency ex:nasa .
ex:nasa a ex:Agency ; rdfs:label "NASA" .
ex:o ex:agency "NASA" .
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with worlds.open(tmp_path / "kb.db", embedder=None) as world:
        world.load(DATA.encode(), format="turtle")
    return tmp_path / "kb.db"


def test_mentions(path: Path) -> None:
    assert "ex:nasa" in ok("entities mentions", path, "built for NASA")
    found = json.loads(ok("entities mentions", path, "built for NASA", "--type", "ex:Agency", "--json"))
    assert [(one["start"], one["end"]) for one in found] == [(10, 14)]
    assert "names no entity" in run("entities mentions", path, "nothing").stderr
    assert "ex:c" in run("entities mentions", path, "-", input="the Curiosity rover").output


def test_suggested_links(path: Path) -> None:
    document = json.loads(ok("curate links", path, "--json"))
    (link,) = document["findings"]
    assert (link["subject"], link["object"]) == ("http://example.org/o", "http://example.org/nasa")
    assert "NASA" in ok("curate links", path)


def test_verify(path: Path) -> None:
    assert "supported" in ok("curate verify", path, "ex:c", "ex:agency", "ex:nasa")
    assert "supported" in ok("curate verify", path, "Curiosity", "agency", "NASA")
    found = run("curate verify", path, "ex:c", "ex:landed", '"2013"^^xsd:integer', "--json")
    assert (found.exit_code, json.loads(found.output)["outcome"]) == (NO, "contradicted")
    ok("update", path, "DELETE WHERE { ?s <http://example.org/agency> ?o }")
    assert run("curate verify", path, "ex:c", "ex:agency", "ex:nasa").exit_code == NO
    assert "supported" in ok("curate verify", path, "ex:c", "ex:agency", "ex:nasa", "--at", "1")
    assert run("curate verify", path, "ex:c", "ex:agency").exit_code == 2
    assert run("curate verify", path).exit_code == 2
