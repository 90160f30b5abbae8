"""The profile "memory" does what MCP's memory server does, on a memory of the world that nothing else tells of."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.types import TextResourceContents

import worlds
from tests.support.embedder import HashingEmbedder
from tests.support.mcp_clients import Agent, ask, inside

TOOLS = [
    "create_entities", "create_relations", "add_observations", "delete_entities", "delete_observations",
    "delete_relations", "read_graph", "search_nodes", "open_nodes",
]  # fmt: skip
NAMES = ["Ann", "Bob", "Acme Inc", "ä/ö #1", "Default"]
TEXTS = ["likes red kites", "lives in Berlin", "has a boat", 'speaks "Dutch"', "likes red kites\ntwice", "42"]
KINDS = ["person", "company", "knows well"]


class Reference:
    """What the memory server does, as plain lists."""

    def __init__(self) -> None:
        self.entities: list[dict[str, Any]] = []
        self.relations: list[dict[str, Any]] = []

    def do(self, tool: str, given: dict[str, Any]) -> Any:
        """What a tool answers; LookupError for an entity that there is not."""
        held = {one["name"]: one for one in self.entities}
        if tool == "create_entities":
            new = []
            for one in given["entities"]:
                if one["name"] not in held:
                    held[one["name"]] = {**one, "observations": list(one["observations"])}
                    self.entities.append(held[one["name"]])
                    new.append(dict(one))
            return {"entities": new}
        if tool == "create_relations":
            new = [one for one in given["relations"] if one not in self.relations]
            self.relations += new
            return {"relations": new}
        if tool == "add_observations":
            if any(one["entityName"] not in held for one in given["observations"]):
                raise LookupError
            results = []
            for one in given["observations"]:
                said = held[one["entityName"]]["observations"]
                fresh = [text for text in one["contents"] if text not in said]
                said += fresh
                results.append({"entityName": one["entityName"], "addedObservations": fresh})
            return {"results": results}
        if tool == "delete_entities":
            gone = given["entityNames"]
            self.entities = [one for one in self.entities if one["name"] not in gone]
            self.relations = [one for one in self.relations if one["from"] not in gone and one["to"] not in gone]
            return True
        if tool == "delete_observations":
            for one in given["deletions"]:
                if (entity := held.get(one["entityName"])) is not None:
                    entity["observations"] = [
                        text for text in entity["observations"] if text not in one["observations"]
                    ]
            return True
        if tool == "delete_relations":
            self.relations = [one for one in self.relations if one not in given["relations"]]
            return True
        if tool == "open_nodes":
            return self.part(given["names"])
        if tool == "search_nodes":
            words = given["query"].lower()
            texts = {one["name"]: [one["name"], one["entityType"], *one["observations"]] for one in self.entities}
            return self.part([name for name, said in texts.items() if any(words in text.lower() for text in said)])
        return {"entities": self.entities, "relations": self.relations}

    def part(self, names: list[str]) -> Any:
        chosen = [one for one in self.entities if one["name"] in names]
        found = {one["name"] for one in chosen}
        return {
            "entities": chosen,
            "relations": [one for one in self.relations if one["from"] in found or one["to"] in found],
        }


def drawn(dice: random.Random) -> tuple[str, dict[str, Any]]:
    """A call, drawn by lot."""

    def name() -> str:
        return dice.choice(NAMES)

    relation = {"from": name(), "to": name(), "relationType": dice.choice(KINDS)}
    few = dice.sample(TEXTS, dice.randrange(3))
    tool = dice.choice(TOOLS)
    forms: dict[str, dict[str, Any]] = {
        "create_entities": {"entities": [{"name": name(), "entityType": dice.choice(KINDS), "observations": few}]},
        "create_relations": {"relations": [relation]},
        "add_observations": {"observations": [{"entityName": name(), "contents": few}]},
        "delete_entities": {"entityNames": [name()]},
        "delete_observations": {"deletions": [{"entityName": name(), "observations": few}]},
        "delete_relations": {"relations": [relation]},
        "read_graph": {},
        "search_nodes": {"query": dice.choice([*TEXTS, "red", "PERSON", "Ann"])},
        "open_nodes": {"names": dice.sample(NAMES, 2)},
    }
    return tool, forms[tool]


def settled(found: Any) -> Any:
    """An answer, whatever order its relations have."""
    if not isinstance(found, dict):
        return found
    return {
        name: sorted(map(json.dumps, value)) if name == "relations" else value
        for name, value in found.items()
        if name in ("entities", "relations", "results")
    }


async def compare(agent: Agent, seed: int, steps: int) -> None:
    dice, reference = random.Random(seed), Reference()
    for _ in range(steps):
        tool, given = drawn(dice)
        try:
            expected = reference.do(tool, json.loads(json.dumps(given)))
        except LookupError:
            assert "not found" in await agent.error(tool, **given)
            continue
        answer = await agent.data(tool, **given)
        if expected is True:
            assert answer["success"] is True
        elif tool == "search_nodes" and not expected["entities"]:
            continue  # here what is nearest is found
        else:
            shown = json.loads(json.dumps(expected))
            for one in (shown.get("relations", []), answer.get("relations", [])):
                one.sort(key=json.dumps)
            assert settled(answer) == settled(shown), (tool, given)


@pytest.mark.parametrize("seed", range(2))
def test_random_calls_are_answered_as_the_memory_server_does(seed: int) -> None:
    with worlds.open(embedder=HashingEmbedder()) as world:

        async def scenario(agent: Agent) -> None:
            await compare(agent, seed, 60)

        ask(inside(world, tools="memory"), scenario)
        report = world.check()
        assert report.ok, report


@pytest.mark.skipif("MCP_MEMORY_SERVER" not in os.environ, reason="MCP_MEMORY_SERVER is not the memory server's script")
def test_the_reference_is_what_the_memory_server_does(tmp_path: Path) -> None:
    async def main(seed: int) -> None:
        server = StdioServerParameters(
            command="node",
            args=[os.environ["MCP_MEMORY_SERVER"]],
            env={**os.environ, "MEMORY_FILE_PATH": str(tmp_path / f"{seed}.jsonl")},
        )
        async with Client(server) as client:
            await compare(Agent(client), seed, 60)

    for seed in range(3):
        anyio.run(main, seed)


def test_it_has_the_nine_tools_and_the_resource_and_the_world_sees_nothing() -> None:
    with worlds.open(embedder=HashingEmbedder()) as world:
        world.add([("urn:a", "urn:p", '"a kite"')])

        async def scenario(agent: Agent) -> None:
            tools = (await agent.client.list_tools()).tools
            assert sorted(one.name for one in tools) == sorted(TOOLS)
            assert all(one.description and one.output_schema and one.annotations for one in tools)
            ann = {"name": "Ann", "entityType": "person", "observations": ["flies red kites"]}
            await agent.data("create_entities", entities=[ann])
            assert (await agent.data("search_nodes", query="kites red"))["entities"] == [ann]
            (content,) = (await agent.client.read_resource("memory://knowledge-graph")).contents
            assert isinstance(content, TextResourceContents)
            assert json.loads(content.text) == {"entities": [ann], "relations": []}
            assert "was started with --tools memory" in await agent.error("sparql", query="ASK {}")

        ask(inside(world, tools="memory", memory=("user", "ann")), scenario)
        assert len(world) == 1
        assert [hit.text for hit in world.search("kites", limit=5)] == ["a kite"]
        assert world.memory(scope=("user", "ann")).recall("kites")[0].text == "flies red kites"
        assert world.memory(scope=("user", "ann")).world.history(1)[0].author is not None


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("create_entities", {"entities": [{"name": " ", "entityType": "x", "observations": []}]}),
        ("create_entities", {"entities": [{"name": "a\0", "entityType": "x", "observations": []}]}),
        ("create_entities", {"entities": [{"name": "x" * 501, "entityType": "x", "observations": []}]}),
        ("create_entities", {"entities": [{"name": "a"}]}),
        ("create_entities", {"entities": "a"}),
        ("add_observations", {"observations": [{"entityName": "nobody", "contents": ["a"]}]}),
        ("open_nodes", {}),
    ],
)
def test_wrong_calls_say_what_is_wrong_and_change_nothing(tool: str, given: dict[str, Any]) -> None:
    with worlds.open(embedder=None) as world:

        async def scenario(agent: Agent) -> None:
            told = await agent.error(tool, **given)
            assert len(told) < 1000
            assert "fault of the server" not in told
            assert await agent.data("read_graph") == {"entities": [], "relations": []}

        ask(inside(world, tools="memory"), scenario)
        assert world.history() == []
