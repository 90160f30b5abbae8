"""Every door takes the address of a world on a server where it takes a path."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

import worlds
from tests.support.command_line import ok
from tests.support.forking import SERVE, Forked
from tests.support.mcp_clients import Agent, ask, stdio
from tests.support.primaries import EX, Served, kite, until
from tests.support.serving import served as http
from worlds import OpenError
from worlds.extras.remote.address import TOKEN


@pytest.fixture
def cached(served: Served, monkeypatch: pytest.MonkeyPatch) -> Served:
    """A world on a server, whose replica lies in the cache, and whose token is in the environment."""
    monkeypatch.setenv("WORLDS_CACHE", str(served.folder / "cache"))
    monkeypatch.setenv(TOKEN, served.token())
    return served


def test_a_server_that_follows_another_one_and_forwards_writes(cached: Served) -> None:
    with (
        http(cached.folder / "replica.db", "--follow", cached.url, "--allow-writes") as server,
        server.client() as client,
    ):
        assert client.get("/search", params={"q": "kite"}).json()["hits"][0]["text"] == "red kite"
        for number in range(3):
            update = f"INSERT DATA {{ <{EX}s{number}> <{EX}p> 'blue lake {number}' }}"
            assert _updated(client, update)
            found = client.get("/search", params={"q": f"lake {number}", "limit": 1}).json()["hits"][0]
            assert found["text"] == f"blue lake {number}"
        other = cached.open("other")
        assert len(other) == 4
        other.add([kite(1)])
        until(lambda: client.get("/search", params={"q": "number"}).json()["hits"])
        told = client.get("/metrics").text
        assert "worlds_replica_failing 0.0" in told
        assert "worlds_replica_revision 5.0" in told
        assert float(told.partition("\nworlds_replica_age_seconds ")[2].partition("\n")[0]) < 5
        # Another file takes the replica's place, and the server goes on with that: no reader is told that it is gone.
        for number in range(4):
            cached.push(f'<{EX}b> <{EX}p> "green hill{number}" .'.encode(), replace=True)
            until(partial(_hits, client, f"hill{number}"))
        assert _updated(client, f"INSERT DATA {{ <{EX}c> <{EX}p> 1 }}")


def _hits(client: httpx.Client, query: str) -> list[dict[str, Any]]:
    answer = client.get("/search", params={"q": query})
    assert answer.is_success, answer.text
    hits: list[dict[str, Any]] = answer.json()["hits"]
    return hits


def _updated(client: httpx.Client, update: str) -> bool:
    answer = client.post("/sparql", content=update, headers={"content-type": "application/sparql-update"})
    assert answer.is_success, answer.text
    return True


def test_a_server_by_the_address_alone(cached: Served) -> None:
    command = [sys.executable, "-c", SERVE, "serve", cached.url, "--port", "0", "--embedder", "none"]
    with Forked(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert f"Serving {cached.name} at" in process.stdout.readline()
        process.terminate()


def test_agents(cached: Served) -> None:
    async def scenario(agent: Agent) -> None:
        assert "red kite" in await agent.text("search", query="kite")

    known = {name: os.environ[name] for name in (TOKEN, "WORLDS_CACHE", "PYTHONPATH") if name in os.environ}
    ask(stdio(cached.url, "--embedder", "none", environment=known), scenario)


def test_an_rdflib_store(cached: Served) -> None:
    from rdflib import Graph, Literal, URIRef

    from worlds.adapters.rdflib_store import WorldsStore

    graph = Graph(WorldsStore(cached.url, embed=False))
    graph.add((URIRef(EX + "x"), URIRef(EX + "p"), Literal("green hill")))
    assert len(graph) == 1  # a graph of its own
    graph.close()
    assert cached.open("other").count(EX + "x") == 1


def test_a_vector_store(cached: Served) -> None:
    from worlds.adapters.langchain import WorldsVectorStore

    with WorldsVectorStore(cached.url, mode="text") as store:
        store.add_texts(["a green hill"])
        assert store.similarity_search("hill", k=1)[0].page_content == "a green hill"


def test_a_group_of_a_file_and_a_world_on_a_server(cached: Served) -> None:
    beside = cached.folder / "beside.db"
    with worlds.open(beside, embedder=None) as own:
        own.add([(EX + "b", EX + "p", '"a kite above the lake"')])
    with worlds.group([cached.url, beside], embedder=None) as group:
        assert [(hit.world, hit.text) for hit in group.search("kite")] == [
            (cached.name, "red kite"),
            ("beside", "a kite above the lake"),
        ]
        asked = f"SELECT ?s {{ SERVICE <worlds:{cached.name}> {{ ?s <{EX}p> ?o }} }}"
        assert [str(row[0]) for row in group.query(asked)] == [EX + "a"]  # type: ignore[union-attr]
    found = ok("search", "--world", cached.url, "--world", beside, "kite", "--mode", "text", "--json")
    assert len(json.loads(found)["hits"]) == 2


def test_retrievers_and_a_property_graph(cached: Served) -> None:
    from llama_index.core.graph_stores.types import EntityNode

    from worlds.adapters import langchain, llamaindex

    graph = llamaindex.WorldsPropertyGraphStore(cached.url)
    graph.upsert_nodes([EntityNode(name="Ada", label="PERSON")])
    assert [node.id for node in graph.get(ids=["Ada"])] == ["Ada"]
    graph.close()
    one = langchain.WorldsRetriever(world=cached.url, mode="text")
    assert [found.page_content for found in one.invoke("kite")] == ["red kite"]
    one.close()
    other = llamaindex.WorldsRetriever(cached.url, mode="text")
    assert [found.text for found in other.retrieve("ada")] == ["Ada"]
    other.close()
    with pytest.raises(OpenError, match="closed"):
        other.retrieve("ada")


def test_a_follower_tells_that_it_cannot_follow_and_goes_on(served: Served, tmp_path: Path) -> None:
    replica = tmp_path / "down.db"
    environment = {**os.environ, TOKEN: served.token()}
    command = [sys.executable, "-m", "worlds", "remote", "follow", "http://127.0.0.1:9/kb", str(replica)]
    with Forked(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stderr is not None
        assert "cannot be reached" in process.stderr.readline()
        assert process.poll() is None
        process.terminate()
    command[-2:] = [served.url, str(tmp_path / "up.db")]
    with Forked(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        assert "follows" in process.stdout.readline()
        process.terminate()
