"""Kept questions over HTTP and at agents: who may keep them, and who is told."""

from __future__ import annotations

from pathlib import Path

import pytest

import worlds
from tests.support.mcp_clients import Agent, ask, stdio
from tests.support.serving import served
from worlds.doors.server.keys import keys_of

ROVERS = {"question": "Which machines drive on another planet?", "query": "SELECT ?r { ?r a s:Rover }"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "space.db"
    with worlds.open(path, embedder=None) as world:
        world.load("examples/space.ttl")
    return path


def test_a_question_is_kept_by_who_may_write(path: Path) -> None:
    keys = keys_of(path)
    reader, writer = (keys.add(level, {"*": level})[1] for level in ("read", "write"))
    with served(path) as server, server.client(reader) as reads, server.client(writer) as writes:
        assert reads.post("/questions", json=ROVERS).status_code == 403
        assert writes.post("/questions", json=ROVERS).json()["added"] == 4
        (kept,) = reads.get("/questions").json()["questions"]
        assert kept["question"] == ROVERS["question"]
        near = reads.get("/questions", params={"near": "which machines drive on another planet", "limit": 1}).json()
        assert [one["score"] for one in near["questions"]] == [1.0]
        assert near["count"] == 1
        answer = reads.get("/context", params={"q": ROVERS["question"]}).json()["answer"]
        assert (answer["kept"], answer["count"]) == (kept["iri"], 11)
        assert (
            reads.get("/brief", params={"q": "Drive machines on which planet?"}).json()["near"][0]["iri"] == kept["iri"]
        )
        for wrong in ({**ROVERS, "query": "DROP ALL"}, {**ROVERS, "query": "SELECT"}, {**ROVERS, "question": " "}):
            assert writes.post("/questions", json=wrong).status_code == 400
        assert reads.get("/history").json()["revisions"][0]["author"] == "write"
        assert reads.delete("/questions", params={"question": kept["iri"]}).status_code == 403
        assert writes.delete("/questions", params={"question": kept["iri"]}).json()["removed"] == 4
        assert writes.delete("/questions", params={"question": kept["iri"]}).status_code == 400
        assert reads.get("/questions").json() == {"questions": [], "count": 0}


@pytest.mark.slow
def test_an_agent_is_told_what_is_kept(path: Path) -> None:
    with worlds.open(path, embedder=None) as world:
        world.questions.add(ROVERS["question"], ROVERS["query"])

    async def scenario(agent: Agent) -> None:
        told = await agent.text("context", question=ROVERS["question"])
        assert told.startswith("Answer by the query of a kept question, 11 in all: ")
        brief = await agent.text("brief", question="Machines on another planet, which drive there?")
        assert "Kept questions like it:" in brief
        assert ROVERS["query"] in brief

    ask(stdio(str(path), "--embedder", "none"), scenario)
