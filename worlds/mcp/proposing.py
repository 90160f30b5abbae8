"""The tools for who may not write: propose, propose_all, amend, proposals.

A server has them by --allow-proposals or --allow-writes.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Any, Literal

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.types import CallToolResult
from pydantic import BaseModel, Field

from worlds.mcp.toolbox import Service, answer
from worlds.mcp.tools import MOST_QUADS, tool
from worlds.world import World

_LISTED = 20  # proposals


class Waiting(BaseModel):
    """A change that waits for a decision, or was decided."""

    id: int
    status: str
    kind: str
    author: str | None
    content_author: str | None = Field(description="Who gave the change that it has now.")
    version: int
    why: str | None
    confidence: float | None
    score: float | None = Field(description="Of a duplicate; its confidence is the probability, if it is known.")
    added: list[str] = Field(description="N-Quads.")
    removed: list[str]
    merged: list[str] = Field(description="Entities to merge, the one to keep first.")
    moved: list[str] = Field(description="What has changed since of what it relies on.")
    validation: list[str]
    decision: str | None
    revision: int | None


class Proposed(BaseModel):
    """Proposals."""

    proposals: list[Waiting]


def register(server: MCPServer[Any], service: Service) -> None:
    """Add the tools."""

    @tool(server, service, "propose", "Propose a change")
    def propose(
        *,
        why: Annotated[str, Field(description="The reason, with its source: what a reviewer needs to decide.")],
        **given: Any,
    ) -> Annotated[CallToolResult, Proposed]:
        """Look at `proposals` before, so that nothing is proposed twice."""
        quads = {name: given[name] or () for name in ("add", "remove", "relies_on", "merge")}
        _few(quads["add"], quads["remove"])
        made = service.world.propose(why=why, **{**given, **quads})
        return _answer(f"Proposal {made.id} waits for a decision.", [_waiting(service.world, made.id)])

    @tool(server, service, "propose_all", "Propose what findings ask for")
    def propose_all(
        *,
        of: Annotated[
            Literal["duplicates", "links", "contradictions"], Field(description="Merges, links, or quads to remove.")
        ],
        minimum: Annotated[float, Field(ge=0, le=1, description="The lowest score of a finding.")] = 0.9,
        limit: Annotated[int, Field(ge=1, le=100, description="The number of findings of each kind at most.")] = 20,
        **given: Any,
    ) -> Annotated[CallToolResult, Proposed]:
        """What waits already is passed over."""
        world = service.world
        found: Any = (
            world.duplicates(score=minimum, limit=limit)
            if of == "duplicates"
            else world.suggest_links(minimum=minimum, limit=limit)
            if of == "links"
            else world.contradictions(limit=limit)
        )
        made = world.propose_all([one for one in found if one.score >= minimum], **given)
        text = (
            f"{len(made)} proposals wait for a decision."
            if made
            else "Nothing is proposed: what was found waits already, or is for people to repair."
        )
        return _answer(text, [_waiting(world, one.id) for one in made])

    @tool(server, service, "amend", "Amend a proposal")
    def amend(
        *,
        context: Context[Any, Any],
        why: Annotated[str, Field(description="An answer, or the reason for another change.")],
        **given: Any,
    ) -> Annotated[CallToolResult, Proposed]:
        """Only its author, and who may write, can give it another change or confidence."""
        _few(given["add"] or (), given["remove"] or ())
        own = not service.may(context, "write")
        made = service.world.amend(why=why, own=own, **given)
        return _answer(f"Proposal {made.id} is amended.", [_waiting(service.world, made.id)])

    @tool(server, service, "proposals", "List proposals", most={"limit": 100}, limit=_LISTED)
    def proposals(**given: Any) -> Annotated[CallToolResult, Proposed]:
        """Look before you propose the same again."""
        found = service.world.proposals(**given)
        shown = [Waiting.model_validate(one.to_dict()) for one in found]
        counted = f"{len(shown)} proposals." if shown else "There is no such proposal."
        return _answer(" ".join([counted, *(f"{note}." for note in found.notes)]), shown)


def _few(*sides: Collection[object]) -> None:
    if sum(map(len, sides)) > MOST_QUADS:
        raise ValueError(f"a proposal has {MOST_QUADS:,} quads at most")


def _waiting(world: World, number: int) -> Waiting:
    return Waiting.model_validate(world.proposal(number).to_dict())


def _answer(text: str, found: list[Waiting]) -> CallToolResult:
    lines = [text]
    for one in found:
        lines.append(f"{one.id}. {one.status}, {one.kind}, by {one.author or 'nobody named'}: {one.why or ''}")
        if one.version > 1:
            lines.append(f"  version {one.version}, given by {one.content_author or 'nobody named'}")
        lines += [f"  - {quad}" for quad in one.removed[:5]] + [f"  + {quad}" for quad in one.added[:5]]
        lines += [f"  since then: {remark}" for remark in one.moved]
        lines += [f"  violates: {remark}" for remark in one.validation]
    return answer(lines, Proposed(proposals=found))
