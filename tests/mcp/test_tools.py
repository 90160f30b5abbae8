"""What tools, prompts and resources there are; what agents write; an agent's whole task."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from mcp import MCPError
from mcp.types import TextContent

import worlds
from tests.support import seams
from tests.support.mcp_clients import Agent, Connect, ask, inside
from tests.support.mcp_tools import PROPOSING, READING, WRITING, answer_a_question, read
from worlds.core.search.options import OPTIONS


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine, what explains an empty answer may take longer than an agent would wait."""
    seams.wait_for_hints(monkeypatch, 60.0)


# --- what there is ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("writes", [False, True])
def test_the_tools_are_these(space: worlds.World, writes: bool) -> None:
    async def scenario(agent: Agent) -> None:
        tools = (await agent.client.list_tools()).tools
        found = {tool.name: list(tool.input_schema["properties"]) for tool in tools}
        assert found == {**READING, **(WRITING if writes else {})}
        for tool in tools:
            assert tool.title
            assert tool.description
            assert tool.output_schema is not None
            hints = tool.annotations
            assert hints is not None
            assert hints.open_world_hint is False
            reads = tool.name in (*READING, "proposals")
            assert hints.read_only_hint is reads
            assert hints.idempotent_hint is (reads or tool.name in ("add", "tell", "sync"))
            assert hints.destructive_hint is (tool.name in ("update", "undo", "sync"))
            described = [bool(one.get("description")) for one in tool.input_schema["properties"].values()]
            assert all(described), "an agent is told of each argument"

    ask(inside(space, allow_writes=writes), scenario)


def test_arguments_of_a_search_are_its_options(space: worlds.World) -> None:
    async def scenario(agent: Agent) -> None:
        (tool,) = [one for one in (await agent.client.list_tools()).tools if one.name == "search"]
        for name, told in tool.input_schema["properties"].items():
            if name != "rerank" and (option := OPTIONS.get(name)):
                assert told.get("default") in (option.default, None), name
                assert told.get("enum", [*option.choices]) == [*option.choices], name
                assert told["description"].startswith(option.help)

    ask(inside(space), scenario)


def test_resources_and_prompts(reading: Connect) -> None:
    async def scenario(agent: Agent) -> None:
        client = agent.client
        uris = [resource.uri for resource in (await client.list_resources()).resources]
        assert uris == ["world://schema", "world://prefixes", "world://sources", "world://guide"]
        (template,) = (await client.list_resource_templates()).resource_templates
        assert template.uri_template == "world://entity/{iri}"
        assert 's:Lander "Lander" (17' in await read(client, "world://schema")
        assert "@prefix ex: <https://worlds.example/space/> ." in await read(client, "world://prefixes")
        guide = await read(client, "world://guide")
        assert "SERVICE w:search" in guide
        assert "w:minSimilarity" in guide
        for name in ("ex:Curiosity", "https%3A%2F%2Fworlds.example%2Fspace%2FCuriosity"):
            assert (await read(client, f"world://entity/{name}")).startswith('ex:Curiosity "Mars Science Laboratory')
        with pytest.raises(MCPError, match="has no quads about ex:Curiosty.*Did you mean ex:Curiosity"):
            await read(client, "world://entity/ex:Curiosty")
        names = [prompt.name for prompt in (await client.list_prompts()).prompts]
        assert names == ["answer_with_citations", "write_query"]
        for name in names:
            (message,) = (await client.get_prompt(name, {"question": "Who landed on Mars?"})).messages
            assert isinstance(message.content, TextContent)
            assert "Question: Who landed on Mars?" in message.content.text

    ask(reading, scenario)


def test_every_query_in_the_guide_runs(reading: Connect) -> None:
    async def scenario(agent: Agent) -> None:
        guide = await read(agent.client, "world://guide")
        (query,) = re.findall(r"^    SELECT.*?^    } ORDER BY[^\n]*", guide, re.MULTILINE | re.DOTALL)
        assert (await agent.data("sparql", query=query))["form"] == "select"

    ask(reading, scenario)


# --- writes -----------------------------------------------------------------------------------------------------------


def test_writes(world: worlds.World) -> None:
    world.bind("ex", "http://e/")

    async def scenario(agent: Agent) -> None:
        quads = [
            ["ex:a", "rdfs:label", '"A"@en'],
            ["ex:a", "ex:size", 3],
            ["ex:a", "ex:weight", 1.5],
            ["ex:a", "ex:good", True, "ex:g"],
        ]
        done = await agent.data("add", quads=quads, message="new")
        assert (done["revision"], done["added"], done["removed"]) == (1, 4, 0)
        again = await agent.data("add", quads=quads)
        assert (again["revision"], again["added"]) == (None, 0)
        (row,) = (await agent.data("sparql", query="SELECT * { ex:a ex:size ?s ; ex:weight ?w }"))["rows"]
        assert row == ["3", '"1.5"^^xsd:double']
        assert '[1] ex:a "A"' in await agent.text("search", query="A", mode="text", languages="en")
        done = await agent.data("update", update="DELETE { ?s ex:sise ?o } WHERE { ?s ex:sise ?o }")
        told = ["ex:sise does not occur in this world: did you mean ex:size?"]
        assert (done["revision"], done["notes"]) == (None, told)
        done = await agent.data("update", update="DELETE { ?s ex:size ?o } WHERE { ?s ex:size ?o }", message="gone")
        assert (done["revision"], done["removed"]) == (2, 1)
        assert "revision" in await agent.error("undo", revision=True)  # which is 1 to Python
        done = await agent.data("undo", revision=2)
        assert (done["revision"], done["added"]) == (3, 1)
        entries = [(one.author, one.message) for one in world.history()]
        assert entries == [("mcp", "undo of revision 2"), ("mcp", "gone"), ("mcp", "new")]

    ask(inside(world, allow_writes=True), scenario)


def test_a_given_author_is_named(world: worlds.World) -> None:
    async def scenario(agent: Agent) -> None:
        await agent.call("add", quads=[["http://e/a", "rdfs:label", '"A"']])
        assert world.history()[0].author == "ann"

    ask(inside(world, allow_writes=True, author="ann"), scenario)


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("add", {"quads": []}, "quads must be 1 to 5,000 at a time, not 0"),
        ("add", {"quads": [["ex:a", "rdfs:label"]]}, "quad 1 has 2 terms, not 3 or 4"),
        ("add", {"quads": [["rdfs:a", "rdfs:label", "bare words"]]}, "'bare words' is neither an IRI nor"),
        ("add", {"quads": [["rdfs:a", "nope:label", 1]]}, "Prefixes that this world uses: "),
        ("add", {"quads": [['"text"', "rdfs:label", 1]]}, "a subject must be an IRI or a blank node"),
        ("update", {"update": "INSERT DATA { rdfs:a rdfs:b }"}, "1 | INSERT DATA { rdfs:a rdfs:b }"),
        ("update", {"update": "LOAD <http://127.0.0.1:9/>"}, "not allowed"),
        ("update", {"update": "LOAD <file:///etc/passwd>"}, "reading files is not allowed"),
        ("undo", {"revision": 7}, "there is no revision 7"),
        ("undo", {"revision": 1}, "Call `history` to see what was written meanwhile"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_wrong_writes_change_nothing(world: worlds.World, tool: str, arguments: dict[str, Any], told: str) -> None:
    world.add([("http://e/a", "rdfs:label", '"A"')])
    world.remove([("http://e/a", "rdfs:label", '"A"')])
    before = list(world.quads())

    async def scenario(agent: Agent) -> None:
        assert told in await agent.error(tool, **arguments)
        assert list(world.quads()) == before
        assert world.history()[0].revision == 2

    ask(inside(world, allow_writes=True), scenario)


def test_writes_are_refused_by_default(world: worlds.World) -> None:
    async def scenario(agent: Agent) -> None:
        for tool, arguments in (("update", {"update": "CLEAR ALL"}), ("add", {"quads": []}), ("undo", {"revision": 1})):
            assert "started without --allow-writes" in await agent.error(tool, **arguments)

    ask(inside(world), scenario)


async def profile(agent: Agent) -> tuple[list[str], int]:
    """The names of the tools, and how many bytes of compact JSON they take."""
    tools = (await agent.client.list_tools()).tools
    told = [{"name": one.name, "description": one.description, "inputSchema": one.input_schema} for one in tools]
    sizes = [len(json.dumps(one, separators=(",", ":"), ensure_ascii=False).encode()) for one in told]
    return [one.name for one in tools], sum(sizes)


def test_the_profile_that_asks_is_small_and_says_what_others_have(world: worlds.World) -> None:
    async def scenario(agent: Agent) -> None:
        names, size = await profile(agent)
        assert sorted(names) == ["brief", "context", "describe", "resolve", "schema", "search", "sparql"]
        assert size <= 8750
        assert "was started with --tools ask" in await agent.error("report")
        assert "there is no tool" in await agent.error("nothing")

    ask(inside(world, tools="ask", allow_writes=True), scenario)


def test_the_profile_that_curates_does_not_write(world: worlds.World) -> None:
    async def scenario(agent: Agent) -> None:
        names, _ = await profile(agent)
        assert {*names} == {*READING, *PROPOSING} - {"similar", "mentions"}
        assert "--tools curate" in await agent.error("update", update="CLEAR ALL")

    ask(inside(world, tools="curate", allow_writes=True), scenario)


def test_who_may_not_propose_is_told_what_turns_it_on(world: worlds.World) -> None:
    async def scenario(agent: Agent) -> None:
        assert "without --allow-proposals" in await agent.error("propose", why="x")

    ask(inside(world), scenario)


def test_an_agent_that_may_not_write_proposes(world: worlds.World) -> None:
    async def scenario(agent: Agent) -> None:
        tools = {tool.name for tool in (await agent.client.list_tools()).tools}
        assert tools == {*READING, *PROPOSING}
        before = len(world)
        made = await agent.data("propose", add=[["urn:owl", "urn:says", '"hoo"']], why="heard", confidence=0.5)
        assert (made["proposals"][0]["id"], made["proposals"][0]["status"]) == (1, "open")
        assert len(world) == before
        assert "needs a change" in await agent.error("propose", why="x")
        listed = await agent.data("proposals", entity="urn:owl")
        assert [one["why"] for one in listed["proposals"]] == ["heard"]
        assert world.proposals.get(1).author == "bot"
        world.proposals.accept(1, reviewer="ann")
        assert (await agent.data("proposals"))["proposals"] == []
        assert (await agent.data("proposals", status="any"))["proposals"][0]["revision"] is not None

    ask(inside(world, allow_proposals=True, author="bot"), scenario)


def test_an_agent_proposes_what_findings_ask_for(world: worlds.World) -> None:
    for name in ("urn:one", "urn:other"):
        world.add([(name, "rdfs:label", '"Grace Hopper"'), (name, "urn:mail", '"grace@navy"')])

    async def scenario(agent: Agent) -> None:
        made = await agent.data("propose_all", of="duplicates", minimum=0.5)
        (proposal,) = made["proposals"]
        assert sorted(proposal["merged"]) == ["<urn:one>", "<urn:other>"]
        assert (await agent.data("propose_all", of="duplicates", minimum=0.5))["proposals"] == []
        assert (await agent.data("propose_all", of="links"))["proposals"] == []

    ask(inside(world, allow_proposals=True, author="bot"), scenario)


# --- an agent ---------------------------------------------------------------------------------------------------------


def test_an_agent_answers_a_question(reading: Connect) -> None:
    ask(reading, answer_a_question)


DOCUMENT = Path("docs/mcp.md")


# --- the document -----------------------------------------------------------------------------------------------------


def test_the_document_names_every_tool() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert [tool for tool in {**READING, **WRITING} if f"`{tool}`" not in text] == []


def test_the_answers_in_the_document_are_given(reading: Connect) -> None:
    calls = re.findall(r"^```json\n(\{\"tool\".*?)\n```\n+```text\n(.*?)\n```", DOCUMENT.read_text(encoding="utf-8"),
                       re.MULTILINE | re.DOTALL)  # fmt: skip
    assert len(calls) >= 8

    async def scenario(agent: Agent) -> None:
        for call, shown in calls:
            asked = json.loads(call)
            answer = await agent.call(asked["tool"], **asked["arguments"])
            (content,) = answer.content
            assert isinstance(content, TextContent)
            pattern = ".*?".join(map(re.escape, shown.split("[…]")))
            assert re.fullmatch(pattern, content.text, re.DOTALL), f"{call}\n{content.text}"

    ask(reading, scenario)
