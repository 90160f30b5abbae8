"""Keys of some graphs, and servers that show some: no operation tells of another graph, or changes one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import worlds
from tests.mcp.test_transports import keyed
from tests.support.command_line import fails, ok
from tests.support.mcp_clients import Agent, ask, http_server, stdio
from tests.support.scoping import EX, SECRET
from tests.support.serving import EMBEDDER, served
from worlds.doors.server.api.operations import operations
from worlds.doors.server.keys import KeyStore, keys_of
from worlds.errors import OpenError

MINE, THEIRS = f"{EX}mine", f"{EX}{SECRET}theirs"
FILLED = {"iri": f"{EX}ann", "revision": "1", "number": "1", "name": "base.css"}
ASKED: dict[str, Any] = {
    "q": "tea secret pin", "name": "Bob", "names": ["Ann", "Bob"], "iri": f"{EX}ann", "query": "SELECT * { ?s ?p ?o }",
    "text": "Ann met Bob", "claim": [f"{EX}ann", f"{EX}knows", f"{EX}bob"], "kept": f"{EX}ann", "others": [f"{EX}bob"],
    "graph": MINE, "subject": f"{EX}ann", "update": "INSERT DATA {}", "id": 1, "revision": 1, "entity": f"{EX}bob",
}  # fmt: skip


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A world of two graphs; all that stands in one alone has a mark."""
    path = tmp_path / "kb.db"
    with worlds.open(path, embedder=None) as world:
        world.bind("ex", EX)
        world.bind(SECRET, f"http://{SECRET}.org/")
        world.file.default_graph = "union"
        world.add(
            [
                ("ex:ann", "rdfs:label", '"Ann Smith"@en', MINE),
                ("ex:ann", "rdfs:comment", '"likes tea"', MINE),
                ("ex:ann", "ex:knows", "ex:bob", MINE),
                ("ex:bob", "rdfs:label", f'"Bob {SECRET}"', THEIRS),
                ("ex:bob", f"ex:{SECRET}pin", f'"secret pin {SECRET}"', THEIRS),
                ("ex:bob", "rdf:type", f"ex:{SECRET}Person", THEIRS),
            ],
            author=f"{SECRET}1",
            message=f"{SECRET} of both",
        )
        world.add([("ex:bob", "ex:age", 40, THEIRS)], author=SECRET, message=SECRET)
        world.proposals.add(add=[("ex:bob", "ex:age", 41, THEIRS)], why=SECRET)
        world.questions.add(
            f"What is the pin of Bob, {SECRET}?", f"SELECT ?pin {{ ex:bob ex:{SECRET}pin ?pin }}", author=SECRET
        )
    return path


def test_no_operation_tells_more_than_a_key_sees(path: Path) -> None:
    key = keys_of(path).add("scoped", {"*": "write"}, graphs=[MINE])[1]
    answered: set[str] = set()
    with served(path, embedder=EMBEDDER) as server, server.client(key) as client, server.client() as anyone:
        assert SECRET in anyone.get("/search", params={"q": "pin"}).text
        for operation in operations():
            address = operation.path
            for name, value in FILLED.items():
                address = address.replace(f"{{{name}}}", value)
            names = {one.key or one.name for one in (*operation.parameters, *(operation.fields or ()))}
            given = {name: value for name, value in ASKED.items() if name in names}
            for options in ({"params": given}, {"json": given}):
                if operation.level in (None, "admin"):
                    continue
                answer = client.request(operation.method, address.replace("{world}", "kb"), **options)  # type: ignore[arg-type]
                told = f"{dict(answer.headers)} {answer.text}".replace(f"{SECRET}1", "")  # the author of what it sees
                assert SECRET not in told, (operation.name, options, told[:2000])
                assert answer.status_code < 500, (operation.name, answer.text)
                if answer.status_code < 300:
                    answered.add(operation.name)
        assert len(answered) > 20, sorted(answered)
        log = server.log.read_text()
        assert SECRET not in log.replace(f"{SECRET}theirs", "")
    with worlds.open(path, embedder=None) as world:
        assert world.count(graph=THEIRS) == 4


def test_writes_of_a_scoped_key(path: Path) -> None:
    store = keys_of(path)
    key = store.add("scoped", {"*": "write"}, graphs=[MINE])[1]
    with served(path) as server, server.client(key) as client:
        made = client.post("/quads", json={"add": [f'<{EX}cid> <{EX}says> "Cid" .']})
        assert made.status_code == 200, made.text
        refused = client.post("/quads", json={"add": [f'<{EX}cid> <{EX}says> "Cid" <{THEIRS}> .']})
        assert (refused.status_code, SECRET in refused.text) == (403, False)
        text = "SELECT (COUNT(*) AS ?n) { GRAPH ?g { ?s ?p ?o } }"
        found = client.get("/sparql", params={"query": text}, headers={"Accept": "text/csv"})
        assert found.text.split() == ["n", "4"]
        assert client.get("/search", params={"q": "Cid"}).json()["hits"][0]["text"] == "Cid"
        undone = client.post("/history/1/undo", json={})
        assert undone.status_code == 403, undone.text
        cleared = client.post("/sparql", data={"update": "CLEAR ALL"})
        assert cleared.status_code < 300, cleared.text
        assert client.get("/stats").json()["quads"] == 0
        assert client.put("/worlds/other").status_code == 403
    with worlds.open(path, embedder=None) as world:
        assert (world.count(), world.count(graph=THEIRS), len(world.questions.triples)) == (8, 4, 4)
        assert [one.author for one in world.history(2)] == ["scoped", "scoped"]


def test_the_server_s_setting_holds_for_all(path: Path) -> None:
    store = keys_of(path)
    other = store.add("other", {"*": "write"}, graphs=[THEIRS])[1]
    with served(path, "--graph", MINE) as server, server.client() as client, server.client(other) as stranger:
        assert client.get("/stats").json()["quads"] == 3
        assert SECRET not in client.get("/search", params={"q": "pin tea"}).text
        assert stranger.get("/stats").status_code == 403


def test_several_worlds_in_one_scope(path: Path) -> None:
    key = keys_of(path.parent).add("scoped", {"*": "read"}, graphs=[MINE])[1]
    with worlds.open(path.parent / "more.db", embedder=None) as world:
        world.bind("ex", EX)
        world.add([("ex:tea", "rdfs:label", '"tea"', MINE), ("ex:x", "rdfs:label", f'"tea {SECRET}"', THEIRS)])
    with served(path.parent) as server, server.client(key) as client:
        found = client.get("/search", params={"q": "tea", "world": ["kb", "more"]})
        assert found.status_code == 200, found.text
        assert len(found.json()["hits"]) == 2
        assert SECRET not in found.text
        query = {"query": "SELECT ?l { GRAPH ?g { ?s rdfs:label ?l } }", "world": ["kb", "more"]}
        asked = client.get("/sparql", params=query)
        assert asked.status_code == 200
        assert SECRET not in asked.text
        assert "tea" in asked.text


def test_verbs_of_some_graphs_at_the_doors(path: Path) -> None:
    bob = f"{EX}bob".replace("/", "%2F")
    claim = [f"{EX}bob", f"{EX}age", "40"]
    with served(path) as server, server.client() as client:
        for graphs, known in (([MINE], False), ([MINE, THEIRS], True)):
            told = client.get(f"/entities/{bob}", params={"graphs": graphs})
            assert (SECRET in told.text, told.status_code) == (known, 200), told.text
            found = client.get("/context", params={"q": f"What is the pin of Bob {SECRET}?", "graphs": graphs})
            assert ("secret pin" in found.text, found.status_code) == (known, 200), found.text
            named = client.post("/mentions", json={"text": f"Bob {SECRET} and Ann Smith", "graphs": graphs})
            assert (named.json()["mentions"][0]["iri"] == f"{EX}bob") == known, named.text
            verified = client.post("/verify", json={"claim": claim, "graphs": graphs})
            assert verified.status_code == 200, verified.text
    flags = ("--graph", MINE)
    assert SECRET not in ok("describe", path, f"{EX}bob", *flags)
    assert SECRET in ok("describe", path, f"{EX}bob", *flags, "--graph", THEIRS)


def test_keys_of_some_graphs(path: Path) -> None:
    text = ok("keys", "add", path, "ann", "--level", "write", "--graph", MINE, "--graph", "default").split()[0]
    store = keys_of(path)
    key = store.find(text)
    assert key is not None
    assert key.graphs == (MINE, "default")
    assert f"{MINE}, default" in ok("keys", "list", path)
    assert "cannot have the level admin" in fails(2, "keys", "add", path, "bob", "--level", "admin", "--graph", MINE)
    assert "whole IRI" in fails(2, "keys", "add", path, "bob", "--graph", "ex:mine>")
    assert "whole IRI" in fails(2, "serve", path, "--graph", "no iri", "--port", "0")
    with pytest.raises(ValueError, match="at least one graph"):
        store.add("bob", {"*": "read"}, graphs=[])
    assert store.revoke("ann")[0].graphs == (MINE, "default")
    store.path.write_text(store.path.read_text().replace('"write"', '"admin"'))
    with pytest.raises(OpenError, match="not a file of API keys"):
        KeyStore(store.path).all()


def test_agents_in_a_scope(path: Path) -> None:
    async def scenario(agent: Agent) -> None:
        tools = (await agent.client.list_tools()).tools
        given: dict[str, dict[str, Any]] = {
            "search": {"query": "pin tea"}, "context": {"question": "What is the pin of Bob?"}, "schema": {},
            "resolve": {"names": ["Bob"]}, "describe": {"iri": "ex:ann"}, "sparql": {"query": "SELECT * { ?s ?p ?o }"},
            "mentions": {"text": "Ann and Bob"}, "history": {}, "provenance": {"subject": "ex:bob"}, "report": {},
            "verify": {"subject": "ex:bob", "predicate": "ex:age", "object": "40"}, "similar": {"iri": "ex:ann"},
            "contradictions": {}, "duplicates": {}, "validate": {}, "proposals": {}, "form": {"iri": f"{EX}bob"},
            "brief": {"question": "What is the pin of Bob?"},
        }  # fmt: skip
        assert {tool.name for tool in tools} - given.keys() <= {
            "propose",
            "propose_all",
            "amend",
            "update",
            "add",
            "tell",
            "undo",
            "sync",
        }
        for name, arguments in given.items():
            if name in {tool.name for tool in tools}:
                told = str(await agent.client.call_tool(name, arguments))
                assert SECRET not in told.replace(f"{SECRET}1", ""), (name, told)
        assert "Ann Smith" in await agent.text("search", query="Ann")
        for uri in ("world://schema", "world://prefixes", "world://sources", "world://guide"):
            assert SECRET not in str(await agent.client.read_resource(uri))

    ask(stdio(str(path), "--embedder", "none", "--graph", MINE), scenario)
    key = keys_of(path).add("scoped", {"*": "write"}, graphs=[MINE])[1]
    whole = keys_of(path).add("whole", {"*": "read"})[1]
    outside = keys_of(path).add("outside", {"*": "read"}, graphs=[THEIRS])[1]
    with http_server(path, "--allow-writes") as url:
        ask(keyed(url, key), scenario)

        async def writes(agent: Agent) -> None:
            await agent.text("add", quads=[["ex:cid", "rdfs:label", '"Cid"']])
            assert "outside of the scope" in await agent.error("update", update=f"CREATE GRAPH <{THEIRS}2>")

        async def sees_all(agent: Agent) -> None:
            assert SECRET in await agent.text("search", query="pin")
            assert "Cid" in await agent.text("search", query="Cid")

        ask(keyed(url, key), writes)
        ask(keyed(url, whole), sees_all)
    with http_server(path, "--graph", MINE) as url, pytest.raises(BaseException):  # noqa: B017, PT011
        ask(keyed(url, outside), scenario)
