"""The notes of one misspelt question are the same at every door: Python, CLI, HTTP, MCP, LangChain and LlamaIndex."""

from __future__ import annotations

import json
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain_core", reason="langchain-core, of the extra langchain, is not installed")
pytest.importorskip("llama_index.core", reason="llama-index-core, of the extra llamaindex, is not installed")

import worlds
from tests.support.command_line import ok, run
from tests.support.mcp_clients import Agent, ask, inside
from tests.support.serving import Served, served
from worlds.adapters import langchain, llamaindex

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("notes") / "kb.db"
    with worlds.open(path, embedder=None) as world:
        world.load(ROOT / "examples" / "space.ttl")
    return path


@pytest.fixture(scope="module")
def server(path: Path) -> Iterator[Served]:
    with served(path) as one:
        yield one


@pytest.mark.parametrize(
    ("options", "flags", "told"),
    [
        ({"types": "s:Landr"}, ["--type", "s:Landr"], "Did you mean s:Lander?"),
        ({"types": "s:Mission"}, ["--type", "s:Mission"], "its subclasses have"),
        ({"predicates": "s:descripton"}, ["--predicate", "s:descripton"], "Did you mean s:description?"),
        ({"where": "?subject s:launchd ?day"}, ["--where", "?subject s:launchd ?day"], "did you mean s:launched"),
        ({"languages": "xx"}, ["--lang", "xx"], "No text passes the filters"),
        ({}, [], "Nothing matches these words"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_a_search(path: Path, server: Served, options: dict[str, Any], flags: list[str], told: str) -> None:
    question = "water" if options else "qqqq"
    with worlds.open(path, embedder=None) as world:
        found = world.search(question, **options)
        assert len(found) == 0
        notes = list(found.notes)
        assert told in notes[0]
        assert found.to_dict()["notes"] == found.explain.to_dict()["notes"] == notes
        retriever = langchain.WorldsRetriever(world=world, **options)
        retriever.invoke(question)
        nodes = llamaindex.WorldsRetriever(world, **options)
        nodes.retrieve(question)
        assert list(retriever.notes) == list(nodes.notes) == notes

        async def scenario(agent: Agent) -> None:
            assert (await agent.data("search", query=question, **options))["notes"] == notes
            assert notes[0] in await agent.text("search", query=question, **options)

        ask(inside(world), scenario)
    arguments: list[str | Path] = ["search", path, question, *flags, "--embedder", "none"]
    assert json.loads(ok(*arguments, "--json"))["notes"] == notes
    shown = " ".join(run(*arguments).stderr.replace("│", " ").split())
    assert " ".join(notes[0].split()) in shown
    with server.client() as client:
        answer = client.post("/search", json={"q": question, **options}).raise_for_status()
        assert answer.json()["notes"] == notes


@pytest.mark.parametrize(
    ("verb", "arguments", "options", "command", "told"),
    [
        ("resolve", {"names": "Curiosity"}, {"types": "s:Landr"}, ["resolve", "Curiosity", "--type", "s:Landr"],
         "Did you mean s:Lander?"),
        ("resolve", {"names": "qqqq"}, {}, ["resolve", "qqqq"], "No entity has such a name"),
        ("similar", {"iri": "s:mission/mer-a"}, {"types": "s:Landr"},
         ["entities similar", "s:mission/mer-a", "--type", "s:Landr"], "Did you mean s:Lander?"),
        ("similar", {"iri": "s:nobody"}, {}, ["entities similar", "s:nobody"],
         "s:nobody is not an entity of this world"),
        ("schema", {}, {"graphs": "s:nowhere"}, ["schema", "--graph", "s:nowhere"], "s:nowhere is no graph"),
        ("mentions", {"text": "the Viking landers"}, {"types": "s:Landr"},
         ["entities mentions", "the Viking landers", "--type", "s:Landr"], "Did you mean s:Lander?"),
    ],
    ids=lambda value: value if isinstance(value, str) and " " not in value else "",
)  # fmt: skip
def test_what_knows_entities(
    path: Path, server: Served, verb: str, arguments: dict[str, Any], options: dict[str, Any], command: list[str],
    told: str,
) -> None:  # fmt: skip
    with worlds.open(path, embedder=None) as world:
        (first, *_), *_ = [list(arguments.values()) or [None]]
        method = attrgetter(verb if verb in ("resolve", "schema") else f"entities.{verb}")(world)
        found = method(*([] if first is None else [first]), **options)
        notes = list(found.notes)
        assert told in notes[0]

        async def scenario(agent: Agent) -> None:
            assert (await agent.data(verb, **arguments, **options))["notes"] == notes

        ask(inside(world), scenario)
    name, *rest = command
    shown = " ".join(run(name, path, *rest).stderr.replace("│", " ").split())
    assert " ".join(notes[0].split()) in shown
    with server.client() as client:
        if verb == "similar":
            answer = client.get("/similar", params={**arguments, **options})
        elif verb == "schema":
            answer = client.get("/schema", params=options)
        else:
            listed = {**arguments, "names": [first]} if verb == "resolve" else arguments
            answer = client.post(f"/{verb}", json={**listed, **options})
        if answer.status_code != 404:  # as for an unknown entity
            told_there = answer.raise_for_status().json()
            assert (told_there[0] if isinstance(told_there, list) else told_there)["notes"] == notes


def test_a_group_tells_what_holds_of_all_its_worlds(path: Path) -> None:
    with (
        worlds.open(path, embedder=None) as one,
        worlds.open(embedder=None) as other,
        worlds.open(embedder=None) as none,
    ):
        for world in (other, none):
            for prefix, iri in one.prefixes.items():
                world.bind(prefix, iri)
        other.add([("s:a", "rdf:type", "s:Landr"), ("s:a", "rdfs:label", '"qqqq"'), ("s:b", "rdf:type", "s:Orbital")])
        group = worlds.group({"one": one, "other": other, "none": none})
        alone = [world.search("water", types="s:Rovr").notes for world in (one, none)]
        assert alone[0][0] == group.search("water", types="s:Rovr").notes[0]  # of all hints the best
        assert "Did you mean s:Rover" in alone[0][0]
        assert "Did you mean" not in alone[1][0]
        assert not any("s:Landr" in note for note in group.search("qqqq", types="s:Landr").notes)
        assert one.search("zzzz").notes[0] == group.search("zzzz").notes[0]
        assert one.search("water", languages="xx").notes[0] == group.search("water", languages="xx").notes[0]
        assert "its subclasses have" in group.search("water", types="s:Mission").notes[0]
        assert sum("keyword search only" in note for note in group.search("water").notes) == 1


@pytest.mark.parametrize("query", ["SELECT * { ?x s:launchd ?day }", "ASK { ?x a s:Landr }"])
def test_a_query(path: Path, server: Served, query: str) -> None:
    with worlds.open(path, embedder=None) as world:
        found = world.query(query)
        notes = list(world.explain(query).notes if isinstance(found, bool) else found.notes)
        assert "did you mean" in notes[0]

        async def scenario(agent: Agent) -> None:
            told = (await agent.data("sparql", query=query))["notes"]
            assert told[: len(notes)] == notes
            assert all("this query finds" in note for note in told[len(notes) :])

        ask(inside(world), scenario)
    shown = " ".join(run("sparql", path, query).stderr.split())
    assert " ".join(notes[0].split()) in shown
    with server.client() as client:
        answer = client.get("/sparql", params={"query": query}).raise_for_status()
        assert json.loads(answer.headers["worlds-notes"]) == notes
