"""What an editor asks a server beside reading and writing: who it is, what a change would do, what others changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

import worlds
from tests.support.page import EX
from tests.support.serving import ROOT, Served

S = f"{EX}schema#"
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
SHAPE = f"""@prefix sh: <http://www.w3.org/ns/shacl#> .
[] a sh:NodeShape ; sh:targetClass <{S}Rover> ; sh:property [ sh:path <{LABEL}> ; sh:uniqueLang true ] ."""
TWICE = f'<{EX}Sojourner> <{LABEL}> "Another"@en .'


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("rehearsal") / "kb.db"
    with worlds.open(made, embedder=None) as world:
        world.load(ROOT / "examples" / "space.ttl", author="ann")
        world.shapes.load(SHAPE.encode(), format="turtle")
        world.questions.add("Which rovers are there?", "SELECT ?r { ?r a s:Rover }")
        world.questions.add("Which whales?", "SELECT ?r { ?r a <urn:whale> }")
    return made


def state(client: httpx.Client) -> Any:
    return client.get("/stats").json()["quads"], client.get("/history").json()["revisions"][0]["revision"]


def test_a_key_is_told_what_it_may(server: Served, keys: dict[str, str]) -> None:
    told = {}
    for name, key in keys.items():
        with server.client(key) as client:
            told[name] = client.get("/access").json()
    assert {name: one["level"] for name, one in told.items()} == {
        "read": "read", "propose": "propose", "write": "write", "admin": "admin", "scoped": "propose",
    }  # fmt: skip
    assert all(one["name"] == name for name, one in told.items())
    assert [one["graphs"] for one in told.values()] == [None, None, None, None, ["urn:g"]]
    with server.client() as nobody:
        assert nobody.get("/access").json() == {"name": None, "level": "read", "graphs": None}


def test_a_rehearsal_of_anything_writes_nothing(client: httpx.Client) -> None:
    before = state(client)
    quad = f'<{EX}Sojourner> <{S}nickname> "Rocky" .'
    added = client.post("/rehearsal", json={"add": quad}).json()
    assert (added["quads_added"], added["quads_removed"]) == ([[*quad[:-2].split(" ", 2), None]], [])
    assert added["edits"]["entities"][0]["label"] == "Sojourner"
    update = client.post("/rehearsal", json={"update": "DELETE WHERE { ex:Sojourner s:agency ?a }"}).json()
    assert (len(update["quads_added"]), len(update["quads_removed"])) == (0, 1)
    merge = client.post("/rehearsal", json={"merge": ["ex:Sojourner", "ex:Spirit"]}).json()
    assert merge["edits"]["removed"] > 5
    undo = client.post("/rehearsal", json={"undo": 1, "limit": 3}).json()
    assert (len(undo["quads_removed"]), undo["truncated"]) == (3, True)
    assert state(client) == before
    for wrong in ({}, {"add": quad, "undo": 1}, {"merge": ["ex:Sojourner", "ex:Spirit"], "add": quad}, {"undo": 10**6}):
        assert client.post("/rehearsal", json=wrong).status_code in (400, 404), wrong
    assert client.post("/rehearsal", json={"add": "no quad"}).status_code == 400


def test_a_form_is_told_as_it_would_be(client: httpx.Client) -> None:
    def problems(form: dict[str, Any]) -> list[str]:
        return [text for one in form["fields"] for text in one.get("problems", ())]

    assert problems(client.get("/form", params={"iri": "ex:Sojourner"}).json()) == []
    told = client.post("/rehearsal", json={"add": TWICE, "form": "ex:Sojourner"}).json()["form"]
    assert problems(told)
    assert {value["term"] for one in told["fields"] for value in one["values"]} >= {'"Another"@en'}
    assert problems(client.get("/form", params={"iri": "ex:Sojourner"}).json()) == []


def test_a_reader_rehearses_nothing_and_a_scope_nothing_of_others(server: Served, keys: dict[str, str]) -> None:
    with server.client(keys["read"]) as client:
        assert client.post("/rehearsal", json={"add": TWICE}).status_code == 403
    with server.client(keys["scoped"]) as client:
        told = client.post("/rehearsal", json={"add": TWICE, "form": f"{EX}Sojourner"}).json()
        assert [value["term"] for one in told["form"]["fields"] for value in one["values"]] == ['"Another"@en']
        assert client.post("/labels", json={"iris": [f"{EX}Sojourner"]}).json() == {"labels": {}}
        graph = f'<{EX}Sojourner> <{LABEL}> "x" <urn:other> .'
        assert client.post("/rehearsal", json={"add": graph}).status_code == 403


def test_what_changed_since_is_not_overwritten(client: httpx.Client) -> None:
    base = client.get("/form", params={"iri": "ex:Spirit"}).json()["revision"]
    first = {"add": f'<{EX}Spirit> <{S}nickname> "one" .', "base": base}
    assert client.post("/quads", json=first).json()["added"] == 1
    refused = client.post("/quads", json={"add": f'<{EX}Spirit> <{S}nickname> "two" .', "base": base})
    assert (refused.status_code, refused.json()["kind"]) == (409, "changed since")
    other = {"add": f'<{EX}Opportunity> <{S}nickname> "three" .', "base": base}
    assert client.post("/quads", json=other).json()["added"] == 1


def test_labels_shapes_and_broken_questions(client: httpx.Client) -> None:
    asked = {"iris": ["ex:Sojourner", f"{S}Rover", "urn:none"], "language": "de"}
    assert client.post("/labels", json=asked).json() == {
        "labels": {f"{EX}Sojourner": "Sojourner", f"{S}Rover": "Rover"}
    }
    shapes = SHAPE.replace("sh:uniqueLang true", "sh:minCount 9")
    assert len(client.post("/validate", json={"shapes": shapes}).json()["results"]) == 11
    assert client.get("/validate").json()["conforms"]
    assert client.post("/validate", json={"shapes": "no turtle"}).status_code == 400
    broken = client.get("/questions/broken").json()["questions"]
    assert [(one["question"], one["trouble"]) for one in broken] == [("Which whales?", "empty")]


def test_an_address_of_no_world_says_what_to_do(client: httpx.Client, server: Served) -> None:
    path = "/worlds/none"
    assert client.get(path).status_code == 404
    page = client.get(path, headers={"accept": "text/html"})
    assert (page.status_code, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert 'data-world="none"' in page.text
