"""Memories over HTTP: a scope that names one reads it, and who reads the whole world is told nothing of any."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import worlds
from tests.support.serving import EMBEDDER, served
from worlds.doors.server.api.operations import operations
from worlds.doors.server.keys import keys_of

ANN, NOBODY = "urn:worlds:memory:user/ann", "urn:worlds:memory:user/nobody"
SECRET = "zebra"
FILLED = {"iri": f"{ANN}#key/pet", "revision": "2", "number": "1", "id": "1", "name": "base.css"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "kb.db"
    with worlds.open(path, embedder=None) as world:
        world.bind("m", "urn:worlds:memory:")
        world.bind("ex", "https://ex.example/")
        world.load(
            b'<urn:acme> a <https://ex.example/Company> ; <http://www.w3.org/2000/01/rdf-schema#label> "Acme" .'
            b'<https://ex.example/worksAt> <http://www.w3.org/2000/01/rdf-schema#label> "works at" .'
            b"<urn:bob> <https://ex.example/worksAt> <urn:acme> .",
            format="turtle",
        )
        world.memory(scope=("user", "ann")).retain(f"Ann has a {SECRET}", key="pet", about="Acme")
        world.memory(scope=("user", "ann", "x")).retain(f"{SECRET} beneath")
        world.memory(scope=("ann",)).retain(f"{SECRET} of a short name")
        ann = world.memory(scope=("user", "ann")).world
        ann.proposals.add(add=[(f"{ANN}#key/pet", "ex:says", f'"a {SECRET} is proposed"', ANN)], why=f"a {SECRET}")
    return path


def asked(graph: str) -> dict[str, Any]:
    """What may name a graph, or the memory in it, in any operation."""
    return {
        "q": f"{SECRET} Ann", "name": "Ann", "names": ["Ann"], "iri": FILLED["iri"], "text": "Ann", "graph": graph,
        "graphs": [graph], "default-graph-uri": [graph], "named-graph-uri": [graph], "entity": FILLED["iri"],
        "subject": FILLED["iri"], "claim": [FILLED["iri"], "urn:worlds:memory#role", "x"],
        "query": f"SELECT * {{ GRAPH <{graph}> {{ ?s ?p ?o }} }}", "where": f"GRAPH <{graph}> {{ ?subject ?p ?o }}",
        "add": f'<urn:x> <urn:y> "z" <{graph}> .', "remove": f'<urn:x> <urn:y> "z" <{graph}> .', "why": "so", "id": 1,
        "update": f"INSERT DATA {{ GRAPH <{graph}> {{ <urn:x> <urn:y> 'z' }} }}",
        "facts": [["Ann", "works at", "Acme"]],
        "scope": graph.removeprefix("urn:worlds:memory:").split("/"), "kept": FILLED["iri"], "others": ["urn:acme"],
        "object": '"x"', "revision": 2, "message": "m",
        "predicates": ["https://schema.org/text"], "types": ["urn:worlds:memory#Episode"], "question": "Ann",
    }  # fmt: skip


@pytest.mark.parametrize(
    "level", [None, *(pytest.param(level, marks=pytest.mark.long) for level in ("read", "propose")), "write"]
)
def test_who_reads_the_whole_world_is_told_nothing(level: Any, path: Path, long: bool) -> None:
    key = None if level is None else keys_of(path).add("whole", {"*": level})[1]
    done: set[str] = set()
    with served(path, embedder=EMBEDDER) as server, server.client(*([] if key is None else [key])) as client:
        for operation in operations():
            if operation.level not in ("read", "propose", "write"):
                continue
            address = operation.path
            for name, value in FILLED.items():
                address = address.replace(f"{{{name}}}", value)
            names = {one.key or one.name for one in (*operation.parameters, *(operation.fields or ()))}
            statuses = []
            for graph in (ANN, NOBODY, "m:ann", f"<{ANN}>") if long or level == "write" else (ANN, NOBODY):
                given = {name: value for name, value in asked(graph).items() if name in names}
                for options in ({"params": given}, {"json": given}):
                    answer = client.request(operation.method, address.replace("{world}", "kb"), **options)  # type: ignore[arg-type]
                    told = answer.text.replace(f"{SECRET} Ann", "").replace(f"{SECRET}+Ann", "")
                    assert f"a {SECRET}" not in told, (operation.name, options, told[:2000])
                    assert f"{SECRET} " not in told, (operation.name, options, told[:2000])
                    assert answer.status_code < 500, (operation.name, answer.text)
                    statuses.append(answer.status_code)
            # Nor is it told whether there is such a memory.
            assert operation.level == "write" or statuses[:2] == statuses[2:4], operation.name
            done.add(operation.name)
    assert {"search", "context", "schema", "entity", "provenance", "resolve"} <= done
    with worlds.open(path, embedder=None) as world:  # nor was anything changed
        assert [one.text for one in world.memory(scope=("user", "ann")).memories()] == [
            f"{SECRET} beneath",
            f"Ann has a {SECRET}",
        ]


def test_a_scope_reads_its_memory_and_tells_it_facts(path: Path) -> None:
    key = keys_of(path).add("ann", {"*": "write"}, graphs=[ANN])[1]
    whole = keys_of(path).add("whole", {"*": "write"})[1]
    with served(path, embedder=EMBEDDER) as server, server.client(key) as ann, server.client(whole) as owner:
        texts = [hit["text"] for hit in ann.get("/search", params={"q": SECRET}).json()["hits"]]
        assert sorted(texts) == [f"Ann has a {SECRET}", f"{SECRET} beneath"]
        assert f"{SECRET} of a short name" not in ann.get("/search", params={"q": SECRET, "graphs": "m:ann"}).text
        stranger = keys_of(path).add("others", {"*": "read"}, graphs=["urn:worlds:memory:user/bob"])[1]
        with server.client(stranger) as bob:
            assert bob.get("/search", params={"q": SECRET}).json()["hits"] == []
        body = {"facts": [["Zoe", "works at", "Acme"]], "scope": ["user", "ann"]}
        assert owner.post("/facts/tell", json=body).status_code == 403
        assert ann.post("/facts/tell", json=body).json()["facts"][0]["became"] == "written"
        found = ann.get("/sparql", params={"query": "SELECT ?o { GRAPH ?g { ?s <https://ex.example/worksAt> ?o } }"})
        assert "urn:acme" in found.text
        (waiting,) = ann.get("/proposals").json()["proposals"]
        assert owner.get("/proposals").json()["proposals"] == []
        missing = owner.get("/proposals/99").status_code
        for answer in (
            owner.get(f"/proposals/{waiting['id']}"),
            owner.post(f"/proposals/{waiting['id']}/remarks", json={"why": "a remark"}),
            owner.post(f"/proposals/{waiting['id']}/accept"),
            owner.post(f"/proposals/{waiting['id']}/reject", json={"why": "no"}),
        ):
            assert (answer.status_code, SECRET in answer.text) == (missing, False)
        assert ann.post(f"/proposals/{waiting['id']}/accept").json()["added"] == 1
        assert owner.get("/search", params={"q": SECRET, "graphs": ANN}).json()["hits"] == []
        other = {**body, "scope": ["user", "bob"]}
        assert ann.post("/facts/tell", json=other).status_code == 403
    with worlds.open(path, embedder=None) as world:
        seen = world.memory(scope=("user", "ann")).world
        assert "Zoe" in str([quad[2] for quad in seen.quads(graph=ANN)])
        assert seen.check().ok
        assert world.check().ok
