"""Keys that propose, change, discuss and decide at random: the server does what a plain model of the rules does."""

from __future__ import annotations

import contextlib
import random
import tempfile
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import worlds
from tests.support.serving import served
from worlds.doors.server.keys import keys_of

LEVELS = {"ann": "propose", "bob": "propose", "eve": "propose", "carl": "write", "root": "admin", "rob": "read"}
MOST = 3


@dataclass
class Proposed:
    """What the rules make of one proposal."""

    author: str
    lines: frozenset[str]
    content_author: str
    version: int = 1
    status: str = "open"
    replaced: list[tuple[str, frozenset[str]]] = field(default_factory=list)  # who did it, and what was there


class Model:
    """The rules, without a server."""

    def __init__(self) -> None:
        self.proposals: dict[int, Proposed] = {}
        self.quads: set[str] = set()

    def propose(self, who: str, lines: frozenset[str]) -> int:
        if LEVELS[who] == "read":
            return 403
        waiting = [one for one in self.proposals.values() if one.author == who and one.status == "open"]
        if len(waiting) >= MOST:
            return 409
        self.proposals[len(self.proposals) + 1] = Proposed(who, lines, who)
        return 201

    def amend(self, who: str, number: int, lines: frozenset[str]) -> int:
        one = self.proposals[number]
        if LEVELS[who] == "read":
            return 403
        if one.status != "open":
            return 409
        if LEVELS[who] == "propose" and who != one.author:
            return 403
        one.replaced.append((who, one.lines))
        one.lines, one.content_author, one.version = lines, who, one.version + 1
        return 200

    def decide(self, who: str, number: int, verb: str, version: int) -> int:
        one = self.proposals[number]
        if LEVELS[who] in ("read", "propose"):
            return 403
        if one.status != "open" or (verb == "accept" and version != one.version):
            return 409
        one.status = f"{verb}ed"
        if verb == "accept":
            self.quads |= one.lines
        return 200


def propose_with_keys(seed: int, number: int, *, steps: int = 250) -> tuple[int, str | None]:
    """So many requests of keys of every level, to a server of its own; how many, and what was wrong."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            _propose(Path(folder) / "kb.db", random.Random(f"{seed} keys {number}"), steps)
        except AssertionError as error:
            return steps, str(error) or traceback.format_exc()
    return steps, None


def _propose(path: Path, chance: random.Random, steps: int) -> None:
    worlds.open(path, embedder=None).close()
    keys = {name: keys_of(path).add(name, {"*": level})[1] for name, level in LEVELS.items()}
    model = Model()
    environment = {"WORLDS_SERVER_MAX_PROPOSALS": str(MOST)}
    with served(path, environment=environment) as server, contextlib.ExitStack() as stack:
        clients = {name: stack.enter_context(server.client(key)) for name, key in keys.items()}
        for step in range(steps):
            who, lines = chance.choice(list(LEVELS)), some(chance, step)
            number = chance.randrange(len(model.proposals)) + 1 if model.proposals else 0
            verb = chance.choice(["propose", "amend", "amend", "accept", "reject"]) if number else "propose"
            client, body = clients[who], {"add": sorted(lines), "why": f"step {step}"}
            if verb == "propose":
                response, wanted = client.post("/proposals", json=body), model.propose(who, lines)
            elif verb == "amend":
                response = client.post(f"/proposals/{number}/amend", json=body)
                wanted = model.amend(who, number, lines)
            else:
                version = chance.choice([1, model.proposals[number].version])
                headers = {"If-Match": f'"{version}"'} if verb == "accept" else {}
                response = client.post(f"/proposals/{number}/{verb}", json={"why": "so"}, headers=headers)
                wanted = model.decide(who, number, verb, version)
            assert response.status_code == wanted, f"step {step}: {who} {verb} {number}: {response.text}"
        for number, one in model.proposals.items():
            told = clients["rob"].get(f"/proposals/{number}").json()
            assert_same(told, one)
            if one.status == "accepted":
                entry = clients["rob"].get(f"/history/{told['revision']}").json()
                assert entry["author"] == one.content_author
        assert {"accepted", "rejected", "open"} == {one.status for one in model.proposals.values()}
    with worlds.open(path, embedder=None) as world:
        assert {quad[0].n3() for quad in world.quads()} == {line.split()[0] for line in model.quads}
        assert world.check().ok


def some(chance: random.Random, step: int) -> frozenset[str]:
    return frozenset(f"<urn:s{step}-{number}> <urn:p> <urn:o> ." for number in range(chance.randrange(1, 4)))


def assert_same(told: dict[str, Any], one: Proposed) -> None:
    seen = (told["author"], told["content_author"], told["version"], told["status"])
    assert seen == (one.author, one.content_author, one.version, one.status)
    assert {f"{line} ." for line in told["added"]} == one.lines
    replaced = [remark for remark in told["discussion"] if remark.get("replaced")]
    assert [remark["author"] for remark in replaced] == [who for who, _ in one.replaced]
    for remark, (_, lines) in zip(replaced, one.replaced, strict=True):
        assert all(line.split()[0] in remark["replaced"] for line in lines)
