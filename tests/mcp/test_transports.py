"""The MCP server in a process of its own, over stdio and streamable HTTP; test_tools.py has what the tools answer."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

import worlds
from tests.support import command_line, forking
from tests.support.forking import Forked
from tests.support.mcp_clients import ENVIRONMENT, Agent, Connect, ask, command, http_server, over_http, stdio, text_of
from tests.support.mcp_tools import READING, WRITING, answer_a_question, read
from worlds.doors.server.keys import keys_of

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("mcp") / "space.db"
    with worlds.open(path, embedder=None, vector_index=False) as world:
        world.load("examples/space.ttl", author="ann", message="the example")
    return path


@pytest.fixture
def copy(original: Path, path: Path) -> Path:
    """A world that a test may change."""
    with worlds.open(original, embedder=None, read_only=True) as world:
        world.file.backup(path)
    return path


@pytest.fixture(scope="module")
def url(original: Path) -> Iterator[str]:
    with http_server(original) as url:
        yield url


@pytest.fixture(params=["stdio", "http", "http-legacy"])
def connect(request: pytest.FixtureRequest, original: Path, url: str) -> Connect:
    """Connects to a server that only reads, in a process of its own."""
    if request.param == "stdio":
        return stdio(str(original), "--embedder", "none")
    return over_http(url, mode="auto" if request.param == "http" else "legacy")


CALLS: dict[str, tuple[dict[str, Any], str]] = {
    "schema": ({"matching": "lander"}, 's:Lander "Lander" (17; '),
    "describe": ({"iri": "ex:Curiosity"}, 'ex:Curiosity "Mars Science Laboratory"\na s:Rover "Rover"\n'),
    "form": ({"types": ["s:Rover"]}, 's:launched "launched" (0 to 1 of xsd:date; usual)'),
    "history": ({}, "+4,546 -0  by ann the example"),
    "search": ({"query": "aerogel", "languages": "en"}, '[1] ex:Stardust "Stardust" (s:SampleReturn) score'),
    "context": ({"question": "What did Stardust bring?"}, "Stardust"),
    "resolve": ({"names": ["Curiosity"]}, '0.97 ex:Curiosity "Mars Science Laboratory" (s:Rover) alias “Curiosity”'),
    "similar": ({"iri": "ex:Curiosity", "types": "s:Rover"}, " (s:Rover) score "),
    "mentions": ({"text": "Was Curiosity on Mars?"}, "4–13 “Curiosity” 0.97 ex:Curiosity"),
    "brief": ({"question": "How many rovers are on Mars?"}, "Entities:\n“Mars”: ex:Mars, a "),
    "verify": ({"subject": "ex:Curiosity", "predicate": "rdf:type", "object": "s:Rover"}, "supported"),
    "contradictions": ({"suggested": False}, "Nothing was found."),
    "duplicates": ({"types": "s:Rover"}, ""),
    "report": ({}, "4,546 quads"),
    "provenance": ({"subject": "ex:Curiosity", "predicate": "rdf:type"}, "ex:Curiosity rdf:type s:Rover  added: "),
    "sparql": ({"query": "SELECT (COUNT(*) AS ?n) { ?r a s:Rover }"}, "?n\n11"),
}


async def call_every_reading_tool(agent: Agent) -> None:
    assert {*CALLS, "validate"} == READING.keys()
    unchecked = await agent.error("validate")
    assert "this world has no shapes, so nothing was checked\n`contradictions` needs none" in unchecked
    assert "shapes.load" not in unchecked
    tools = (await agent.client.list_tools()).tools
    assert [tool.name for tool in tools] == list(READING)
    for tool, (arguments, expected) in CALLS.items():
        answer = await agent.call(tool, **arguments)
        assert not answer.is_error, text_of(answer)
        assert expected in text_of(answer)
        assert answer.structured_content is not None
    assert "SERVICE w:search" in await read(agent.client, "world://guide")
    assert (await read(agent.client, "world://entity/ex:Mars")).startswith('ex:Mars "Mars"')
    assert len((await agent.client.list_prompts()).prompts) == 2
    assert agent.client.server_info is not None
    assert agent.client.server_info.name == "worlds"
    assert "`schema`" in (agent.client.instructions or "")


async def be_wrong_and_hostile(agent: Agent) -> None:
    for tool, arguments in (
        ("sparql", {"query": "SELECT * { ?s foo:bar ?o }"}),
        ("sparql", {"query": "{" * 50_000}),
        ("sparql", {"query": "SELECT * { SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }"}),
        ("sparql", {"query": "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }", "timeout": 0.5}),
        ("search", {"query": "x", "limit": "many"}),
        ("search", {"nothing": 1}),
        ("describe", {"iri": "\0"}),
        ("add", {"quads": [["ex:a", "ex:b", "ex:c"]]}),
        ("nothing", {}),
    ):
        await agent.error(tool, **arguments)
    with pytest.raises(MCPError):
        await agent.client.read_resource("world://nothing")
    with pytest.raises(MCPError, match="Prompts: answer_with_citations, write_query"):
        await agent.client.get_prompt("nothing", {})
    with pytest.raises(MCPError, match="question"):
        await agent.client.get_prompt("write_query", {})
    assert "true" in await agent.text("sparql", query="ASK {}")


async def cancel_a_query(agent: Agent) -> None:
    with anyio.move_on_after(0.5) as scope:
        await agent.call("sparql", query="SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }", timeout=100)
    assert scope.cancelled_caught
    with anyio.fail_after(20):
        assert "true" in await agent.text("sparql", query="ASK {}")


async def read_while_a_query_runs(agent: Agent) -> None:
    told: list[str] = []

    async def count() -> None:
        query = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }"
        told.append(await agent.error("sparql", query=query, timeout=1.5))

    async with anyio.create_task_group() as group:
        group.start_soon(count)
        await anyio.sleep(0.3)
        await agent.client.read_resource("world://guide")
        assert told == []
    assert "time limit" in told[0]


def test_a_session(connect: Connect, request: pytest.FixtureRequest) -> None:
    async def scenario(agent: Agent) -> None:
        if "legacy" in request.node.name:
            await cancel_a_query(agent)
            return
        await call_every_reading_tool(agent)
        await cancel_a_query(agent)
        await answer_a_question(agent)
        await be_wrong_and_hostile(agent)
        await read_while_a_query_runs(agent)

    ask(connect, scenario)


# --- writes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_every_writing_tool(transport: str, copy: Path) -> None:
    async def scenario(agent: Agent) -> None:
        tools = (await agent.client.list_tools()).tools
        assert [tool.name for tool in tools] == [*READING, *WRITING]
        added = await agent.data("add", quads=[["ex:new", "rdfs:label", '"A red kite"@en']], message="a bird")
        assert (added["revision"], added["added"]) == (2, 1)
        assert 'ex:new "A red kite"' in await agent.text("search", query="kite")
        updated = await agent.data("update", update="DELETE WHERE { ex:new ?p ?o }")
        assert (updated["revision"], updated["removed"]) == (3, 1)
        undone = await agent.data("undo", revision=3)
        assert (undone["revision"], undone["added"]) == (4, 1)

    if transport == "stdio":
        ask(stdio(str(copy), "--embedder", "none", "--allow-writes", name="my agent"), scenario)
    else:
        with http_server(copy, "--allow-writes") as url:
            ask(over_http(url, name="my agent"), scenario)
    with worlds.open(copy, embedder=None, read_only=True) as world:
        entries = [(one.author, one.message) for one in world.history(3)]
        assert entries == [("my agent", "undo of revision 3"), ("my agent", None), ("my agent", "a bird")]


def test_what_other_processes_write_is_seen(copy: Path) -> None:
    async def scenario(agent: Agent) -> None:
        query = "ASK { ex:new ?p ?o }"
        assert await agent.text("sparql", query="ASK { ex:Mars ?p ?o }") == "true"
        assert (await agent.data("sparql", query=query))["truth"] is False
        with worlds.open(copy, embedder=None) as world:
            world.add([("ex:new", "rdfs:label", '"A red kite"@en')])
        assert (await agent.data("sparql", query=query))["truth"] is True
        assert "ex:new" in await agent.text("search", query="kite")
        assert (await agent.data("schema", limit=1))["revision"] == 2

    with http_server(copy) as url:
        ask(over_http(url), scenario)


# --- stdio ------------------------------------------------------------------------------------------------------------


def start(path: Path, **environment: str) -> subprocess.Popen[str]:
    return Forked(
        command(str(path), "--embedder", "none"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**ENVIRONMENT, **environment},
    )


def request(number: int, method: str, **params: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n"


BEGIN = (
    request(1, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "raw", "version": "1"})
    + '{"jsonrpc": "2.0", "method": "notifications/initialized"}\n'
)


def test_standard_output_holds_the_protocol_alone_and_the_end_is_quiet(original: Path) -> None:
    with start(original) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(BEGIN + "this is no JSON\n" + '{"jsonrpc": "2.0"}\n')
        process.stdin.write(request(2, "tools/call", name="sparql", arguments={"query": "SELECT * { ?s foo:x ?o }"}))
        process.stdin.write(request(3, "tools/call", name="search", arguments={"query": "water"}))
        process.stdin.flush()
        answered: dict[int, Any] = {}
        while len(answered) < 3:
            message = json.loads(process.stdout.readline())
            assert message["jsonrpc"] == "2.0"
            if message.get("id") is not None:
                answered[message["id"]] = message
        assert answered[1]["result"]["protocolVersion"] == "2025-06-18"
        assert answered[2]["result"]["isError"] is True
        assert answered[3]["result"]["isError"] is False
        process.stdin.close()
        assert process.wait(10) == 0
        assert process.stdout.read() == ""
        assert "Traceback" not in process.stderr.read()


@pytest.mark.parametrize(
    ("number", "busy"),
    [(signal.SIGINT, False), (signal.SIGTERM, True), (signal.SIGHUP, False)],
    ids=["Ctrl-C", "SIGTERM while busy", "SIGHUP"],
)
def test_a_signal_ends_it_quietly(original: Path, number: signal.Signals, busy: bool) -> None:
    with start(original) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(BEGIN)
        process.stdin.flush()
        process.stdout.readline()
        if busy:
            query = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }"
            process.stdin.write(request(2, "tools/call", name="sparql", arguments={"query": query, "timeout": 100}))
            process.stdin.flush()
            time.sleep(0.5)
        began = time.monotonic()
        process.send_signal(number)
        assert process.wait(20) == 0
        assert time.monotonic() - began < 10
        assert process.stderr.read() == ""
        process.stdin.close()


def run(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return forking.run(command(*arguments), text=True, env=ENVIRONMENT, **options)


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["nothing.db"], 3, "nothing.db"),
        (["{world}", "--token-budget", "5"], 2, "mcp.token_budget: 5 is not a whole number from 100 to 2147483647"),
        (["{world}", "--http", "--host", "0.0.0.0"], 9, "keys are needed"),
    ],
    ids=["missing", "setting", "without keys"],
)
def test_what_cannot_be_served(original: Path, arguments: list[str], code: int, told: str) -> None:
    given = [argument.replace("{world}", str(original)) for argument in arguments]
    done = command_line.run("mcp", *given, "--embedder", "none")
    assert (done.exit_code, done.stdout) == (code, "")
    assert told in " ".join(done.stderr.split())


def test_a_port_that_is_taken(original: Path, url: str) -> None:
    port = re.findall(r":(\d+)/", url)[0]
    done = run(str(original), "--embedder", "none", "--http", "--port", port)
    assert (done.returncode, done.stdout) == (3, "")
    assert f"127.0.0.1:{port} cannot be listened on" in done.stderr


def test_settings_come_from_the_environment(copy: Path) -> None:
    calls = BEGIN + request(2, "tools/call", name="add", arguments={"quads": [["ex:n", "rdfs:label", '"N"']]})
    with start(copy, WORLDS_MCP_ALLOW_WRITES="true", WORLDS_AUTHOR="env") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(calls)
        process.stdin.flush()
        answers = [json.loads(process.stdout.readline()) for _ in range(2)]
        process.stdin.close()
        assert process.wait(10) == 0
    assert answers[1]["result"]["isError"] is False
    with worlds.open(copy, embedder=None, read_only=True) as world:
        assert world.history(1)[0].author == "env"


def test_without_the_sdk_the_remedy_is_named(original: Path) -> None:
    program = "import sys; sys.modules['mcp'] = None; from worlds.doors.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, "mcp", str(original)], capture_output=True, text=True, env=ENVIRONMENT
    )
    assert done.returncode == 9
    assert "pip install 'worlds-kg[mcp]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_command_line_loads_no_sdk() -> None:
    program = "import sys, worlds.doors.cli.commands, worlds.doors.cli.mcp; print([m for m in sys.modules if "
    program += "m.startswith(('mcp', 'starlette', 'uvicorn', 'pydantic', 'anyio', 'torch'))])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


# --- HTTP -------------------------------------------------------------------------------------------------------------

JSON = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"host": "localhost:80"}, 200),
        ({"host": "evil.example"}, 421),
        ({"host": "127.0.0.1.evil.example"}, 421),
        ({"origin": "http://localhost:3000"}, 200),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"content-type": "text/plain"}, 400),
        ({"authorization": "Bearer wk_00000000_" + "a" * 43}, 401),
        ({"authorization": "Basic dTpw"}, 401),
    ],
    ids=lambda value: (
        "-".join(f"{name} {text[:24]}" for name, text in value.items()) if isinstance(value, dict) else ""
    ),
)
def test_host_origin_and_key_are_looked_at(url: str, headers: dict[str, str], status: int) -> None:
    body = BEGIN.splitlines()[0]
    answer = httpx.post(url, content=body, headers={**JSON, **headers})
    assert answer.status_code == status
    assert "Traceback" not in answer.text


@pytest.mark.parametrize(
    ("body", "statuses"),
    [(b"x" * 5_000_000, {413}), (b"{", {400}), (b"\xff\xfe", {400}), (b"[" * 100_000, {400}), (b"{}", {400})],
    ids=["large", "cut", "bytes", "deep", "empty"],
)
def test_bodies_that_are_no_messages(url: str, body: bytes, statuses: set[int]) -> None:
    answer = httpx.post(url, content=body, headers=JSON)
    assert answer.status_code in statuses
    assert "Traceback" not in answer.text


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/"), ("GET", "/mcp/../etc"), ("POST", "/%2e%2e/mcp"), ("PUT", "/mcp")]
)
def test_other_paths_and_methods(url: str, method: str, path: str) -> None:
    answer = httpx.request(method, url.removesuffix("/mcp") + path, headers=JSON)
    assert 400 <= answer.status_code < 500


def keyed(url: str, key: str | None, mode: str = "auto") -> Connect:
    """Connects with a key."""
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}

    @contextlib.asynccontextmanager
    async def connect() -> AsyncIterator[Client]:
        async with (
            create_mcp_http_client(headers=headers) as http_client,
            Client(streamable_http_client(url, http_client=http_client), mode=mode) as client,
        ):
            yield client

    return connect


def test_off_loopback_keys_say_who_may(copy: Path) -> None:
    store = keys_of(copy)
    _, reader = store.add("reader", {"world": "read"})
    _, writer = store.add("writer", {"*": "write"})
    _, stranger = store.add("stranger", {"other": "admin"})
    _, revoked = store.add("revoked", {"*": "write"})
    store.revoke("revoked")
    _, late = store.add("late", {"*": "read"}, expires=datetime.now(UTC) + timedelta(seconds=1))
    time.sleep(1.1)

    def status(url: str, key: str | None) -> int:
        headers = JSON if key is None else {**JSON, "authorization": f"Bearer {key}"}
        return httpx.post(url, content=BEGIN.splitlines()[0], headers=headers).status_code

    async def writes(agent: Agent) -> None:
        await agent.data("add", quads=[["ex:new", "rdfs:label", '"A"']], message="by key")

    async def is_refused(agent: Agent) -> None:
        assert "true" in await agent.text("sparql", query="ASK {}")
        told = await agent.error("add", quads=[["ex:new", "rdfs:label", '"B"']])
        assert "the key 'reader' does not allow to write\nTell the user, who may give a key" in told

    with http_server(copy, "--host", "0.0.0.0", "--host-name", "kb.example", "--allow-writes") as served:
        url = served.replace("0.0.0.0", "127.0.0.1")
        found = {name: status(url, key) for name, key in {
            "none": None, "reader": reader, "writer": writer, "stranger": stranger, "revoked": revoked, "late": late,
        }.items()}  # fmt: skip
        assert found == {"none": 401, "reader": 200, "writer": 200, "stranger": 403, "revoked": 401, "late": 401}
        for host, expected in (("kb.example", 200), ("kb.example:8090", 200), ("other.example", 421)):
            headers = {**JSON, "authorization": f"Bearer {reader}", "host": host}
            assert httpx.post(url, content=BEGIN.splitlines()[0], headers=headers).status_code == expected
        for mode in ("auto", "legacy"):
            ask(keyed(url, reader, mode), is_refused)
        ask(keyed(url, writer), writes)
    with worlds.open(copy, embedder=None, read_only=True) as world:
        assert [(one.author, one.message) for one in world.history(1)] == [("writer", "by key")]


def test_clients_at_once(url: str) -> None:
    async def main() -> None:
        async def one(number: int) -> None:
            async with over_http(url)() as client:
                agent = Agent(client)
                assert await agent.text("sparql", query=f"SELECT ({number} AS ?n) {{}}") == f"?n\n{number}"
                assert "[1]" in await agent.text("search", query="water", limit=1)

        with anyio.fail_after(60):
            async with anyio.create_task_group() as group:
                for number in range(4):
                    group.start_soon(one, number)

    anyio.run(main)


def test_a_session_is_that_of_its_key_and_no_key_allows_no_more(copy: Path) -> None:
    store = keys_of(copy)
    keys = {name: store.add(name, {"*": level})[1] for name, level in (("reader", "read"), ("writer", "write"))}

    async def may_not(agent: Agent) -> None:
        told = await agent.error("add", quads=[["ex:new", "rdfs:label", '"B"']])
        assert "no key was sent, which does not allow to write" in told
        assert "no key was sent" in await agent.error("propose", why="x", add=[["ex:new", "rdfs:label", '"B"']])

    def begin(url: str, key: str | None) -> httpx.Response:
        headers = JSON if key is None else {**JSON, "authorization": f"Bearer {key}"}
        return httpx.post(url, content=BEGIN.splitlines()[0], headers=headers)

    with http_server(copy, "--allow-writes") as url:
        ask(keyed(url, None), may_not)
        session = begin(url, keys["writer"]).headers["mcp-session-id"]
        for name, expected in (("reader", 404), (None, 404), ("writer", 200)):
            headers = {**JSON, "mcp-session-id": session}
            if name is not None:
                headers["authorization"] = f"Bearer {keys[name]}"
            assert httpx.delete(url, headers=headers).status_code == expected, name


def test_sessions_are_bounded(copy: Path) -> None:
    with http_server(copy) as url, httpx.Client() as client:
        found = [client.post(url, content=BEGIN.splitlines()[0], headers=JSON).status_code for _ in range(260)]
    assert found[:200] == [200] * 200
    assert found[-1] == 503


def test_a_text_that_is_no_unicode_is_answered(url: str) -> None:
    call = (
        '{"jsonrpc": "2.0", "id": 7, "method": "tools/call", '
        '"params": {"name": "search", "arguments": {"query": "a \\ud800 b"}}}'
    )
    with httpx.Client(timeout=10) as client:
        session = client.post(url, content=BEGIN.splitlines()[0], headers=JSON).headers["mcp-session-id"]
        headers = {**JSON, "mcp-session-id": session}
        answer = client.post(url, content=call, headers=headers)
    assert '"id":7' in answer.text.replace(" ", "") or answer.status_code == 400


def test_half_a_surrogate_pair_is_answered_over_stdio(copy: Path) -> None:
    def search(number: int, text: str) -> str:
        call = {"name": "search", "arguments": {"query": "@"}}
        told = json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": call})
        return told.replace("@", text)

    texts = [r"a \ud800 b", r"\uDFFF", r"\ud83d\ude00 whole", r"\\\\ud800 is no escape", r"\ud800\ud800"]
    lines = [*BEGIN.splitlines(), *(search(number, text) for number, text in enumerate(texts, 100))]
    with start(copy) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("\n".join(lines) + "\n")
        process.stdin.flush()
        answered: set[int] = set()
        while len(answered) < len(texts):
            answer = json.loads(process.stdout.readline())
            if answer.get("id", 0) >= 100:
                answered.add(answer["id"])
        process.stdin.close()
    assert answered == set(range(100, 100 + len(texts)))
