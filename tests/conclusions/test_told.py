"""A world says its rules; a policy has doors answer with conclusions; memories conclude by the rules of their world."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import worlds
from tests.support.command_line import run
from tests.support.serving import served

T = "urn:t:"
TEXTS = [
    (f"{T}Owl", "rdf:type", "owl:Class"),
    (f"{T}Owl", "rdfs:subClassOf", f"{T}Bird"),
    (f"{T}tawny", "rdf:type", f"{T}Owl"),
    (f"{T}tawny", "rdfs:label", '"Tawny owl"'),
]
ASK = f"ASK {{ <{T}tawny> a <{T}Bird> }}"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    target = tmp_path / "kb.db"
    with worlds.open(target, embedder=None) as world:
        world.add(TEXTS)
        world.rules.use("rdfs")
        world.rules.add("kin", f"CONSTRUCT {{ ?y <{T}kin> ?x }} WHERE {{ ?x <{T}kin> ?y }}")
    return target


def test_schema_and_stats_have_rules_and_conclusions(path: Path) -> None:
    with worlds.open(path, embedder=None) as world:
        for seen in (world, world.entailed, world.at(1)):
            for told in (seen.stats(), seen.schema()):
                assert told.rules == ("rdfs", "kin")
                assert told.conclusions == 1
        assert world.only(graphs="default").schema().rules == ()
    with worlds.open(":memory:", embedder=None) as plain:
        assert (plain.stats().rules, plain.schema().conclusions) == ((), 0)
    assert json.loads(run("schema", str(path), "--json").stdout)["conclusions"] == 1
    assert json.loads(run("stats", str(path), "--json").stdout)["rules"] == ["rdfs", "kin"]


def test_a_policy_has_the_doors_answer_with_conclusions(path: Path) -> None:
    assert run("sparql", str(path), ASK).exit_code == 1
    assert run("policy", str(path), "entailed=true").exit_code == 0
    assert run("sparql", str(path), ASK).exit_code == 0
    assert run("sparql", str(path), ASK, "--no-entailed").exit_code == 1
    found = run("search", str(path), "owl", "--type", f"{T}Bird", "--mode", "text", "--json")
    assert [one["subject"] for one in json.loads(found.stdout)["hits"]] == [f"{T}tawny"]
    assert (
        f"<{T}tawny> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <{T}Bird>" not in run("export", str(path)).stdout
    )
    with served(path) as server, server.client() as client:
        for switch, told in (({}, True), ({"entailed": "false"}, False), ({"entailed": "true"}, True)):
            assert client.get("/sparql", params={"query": ASK, **switch}).json()["boolean"] is told
            assert client.post("/sparql", data={"query": ASK, **switch}).json()["boolean"] is told
            asked: dict[str, Any] = {"q": "owl", "types": f"{T}Bird", "mode": "text", **switch}
            assert bool(client.get("/search", params=asked).json()["hits"]) is told
            asked = {**asked, **{name: value == "true" for name, value in switch.items()}}
            assert bool(client.post("/search", json=asked).json()["hits"]) is told
    with worlds.open(path, embedder=None) as world:
        assert world.query(ASK) is False
        with pytest.raises(TypeError, match="entailed must be True or False"):
            world.policy.with_(entailed="yes")


def test_a_memory_concludes_by_the_rules_of_its_world(path: Path) -> None:
    with worlds.open(path, embedder=None) as world:
        memory = world.memory(scope=("user", "ann"))
        memory.world.add([(f"{T}barn", "rdf:type", f"{T}Owl")])

        def follows() -> object:
            return memory.world.entailed.query(f"ASK {{ <{T}barn> a <{T}Bird> }}", union=True)

        assert follows() is True
        world.rules.use()
        assert follows() is False
        world.rules.use("rdfs")
        assert follows() is True
        world.policy = world.policy.with_(memory_sees="nothing")
        assert follows() is False
