"""The notes of one misspelt question are the same at every door: Python, CLI, HTTP, MCP, LangChain and LlamaIndex."""

from __future__ import annotations

import json
from collections.abc import Iterator
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


@pytest.mark.parametrize("query", ["SELECT * { ?x s:launchd ?day }", "ASK { ?x a s:Landr }"])
def test_a_query(path: Path, server: Served, query: str) -> None:
    with worlds.open(path, embedder=None) as world:
        found = world.query(query)
        notes = list(world.explain(query).notes if isinstance(found, bool) else found.notes)
        assert "did you mean" in notes[0]

        async def scenario(agent: Agent) -> None:
            assert (await agent.data("sparql", query=query))["notes"] == notes

        ask(inside(world), scenario)
    shown = " ".join(run("sparql", path, query).stderr.split())
    assert " ".join(notes[0].split()) in shown
    with server.client() as client:
        answer = client.get("/sparql", params={"query": query}).raise_for_status()
        assert json.loads(answer.headers["worlds-notes"]) == notes
