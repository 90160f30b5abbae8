"""The tools for who may not write: propose, propose_all, amend, proposals.

A server has them by --allow-proposals or --allow-writes.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.types import CallToolResult, ToolAnnotations
from pydantic import BaseModel, Field

from worlds.mcp.toolbox import Service, answer, given
from worlds.mcp.writing import MOST_QUADS, Part, as_quads
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


def _sides(add: list[list[Part]] | None, remove: list[list[Part]] | None) -> dict[str, Any]:
    """What a proposal adds and removes, as `World.propose` takes it."""
    if len(add or ()) + len(remove or ()) > MOST_QUADS:
        raise ValueError(f"a proposal has {MOST_QUADS:,} quads at most")
    return {name: None if quads is None else as_quads(quads) for name, quads in (("add", add), ("remove", remove))}


def register(server: MCPServer[Any], service: Service) -> None:
    """Add the tools."""

    async def propose(
        context: Context[Any, Any],
        why: Annotated[str, Field(description="The reason, with its source: what a reviewer needs to decide.")],
        add: Annotated[
            list[list[Part]] | None,
            Field(description='Triples or quads, as lists of terms: [["ex:a", "rdfs:label", "\\"A\\"@en"]].'),
        ] = None,
        remove: Annotated[list[list[Part]] | None, Field(description="Likewise.")] = None,
        merge: Annotated[
            list[str] | None, Field(description="Entities that are one, the one to keep first, instead of quads.")
        ] = None,
        confidence: Annotated[float | None, Field(ge=0, le=1, description="How sure you are.")] = None,
    ) -> Annotated[CallToolResult, Proposed]:
        """Propose a change of the world for a person to accept or reject. Nothing of it holds before."""
        author = service.author(context)

        def work() -> CallToolResult:
            with service.explained():
                service.require_write(context, "propose")
                sides = _sides(add or [], remove or [])
                made = service.world.propose(**sides, merge=merge or (), why=why, confidence=confidence, author=author)
                return _answer(f"Proposal {made.id} waits for a decision.", [_waiting(service.world, made.id)])

        return await service.run(work, writes=True)

    async def propose_all(
        context: Context[Any, Any],
        of: Annotated[
            Literal["duplicates", "links", "contradictions"], Field(description="Merges, links, or quads to remove.")
        ],
        least: Annotated[float, Field(ge=0, le=1, description="The least probability of what is proposed.")] = 0.9,
        limit: Annotated[int, Field(ge=1, le=100, description="The most of a kind.")] = 20,
    ) -> Annotated[CallToolResult, Proposed]:
        """Propose at once what would put right what the world finds wrong by itself, but for what waits already."""
        author = service.author(context)

        def work() -> CallToolResult:
            with service.explained():
                service.require_write(context, "propose")
                world = service.world
                found: Any = (
                    world.duplicates(probability=least, limit=limit)
                    if of == "duplicates"
                    else world.suggest_links(minimum=least, limit=limit)
                    if of == "links"
                    else world.contradictions(limit=limit)
                )
                made = world.propose_all([one for one in found if one.score >= least], author=author)
                text = (
                    f"{len(made)} proposals wait for a decision."
                    if made
                    else "Nothing is proposed: what was found waits already, or is for people to repair."
                )
                return _answer(text, [_waiting(world, one.id) for one in made])

        return await service.run(work, writes=True)

    async def amend(
        context: Context[Any, Any],
        number: Annotated[int, Field(ge=1, description="The proposal's.")],
        why: Annotated[str, Field(description="What to say of it: an answer, or why it is another change now.")],
        add: Annotated[list[list[Part]] | None, Field(description="Quads of another change in its place.")] = None,
        remove: Annotated[list[list[Part]] | None, Field(description="Likewise.")] = None,
        confidence: Annotated[float | None, Field(ge=0, le=1, description="How sure you are now.")] = None,
    ) -> Annotated[CallToolResult, Proposed]:
        """Say something of an open proposal, or give your own another change or confidence."""
        author = service.author(context)

        def work() -> CallToolResult:
            with service.explained():
                service.require_write(context, "propose")
                sides = _sides(add, remove)
                own = not service.may(context, "write")
                made = service.world.amend(number, **sides, why=why, confidence=confidence, author=author, own=own)
                return _answer(f"Proposal {made.id} is amended.", [_waiting(service.world, made.id)])

        return await service.run(work, writes=True)

    async def proposals(
        status: Annotated[str, Field(description="open, accepted, rejected, or any.")] = "open",
        entity: Annotated[str | None, Field(description="Only those on this entity.")] = None,
        author: Annotated[str | None, Field(description="Only those of this author.")] = None,
    ) -> Annotated[CallToolResult, Proposed]:
        """What is proposed, the oldest first: look before you propose the same again."""

        def work() -> CallToolResult:
            with service.explained():
                options = given({"entity": entity, "author": author})
                asked: Any = None if status == "any" else status
                found = service.world.proposals(status=asked, limit=_LISTED, **options)
                shown = [Waiting.model_validate(one.to_dict()) for one in found]
                return _answer(f"{len(shown)} proposals." if shown else "There is no such proposal.", shown)

        return await service.run(work)

    for tool, title, reads in (
        (propose, "Propose a change", False),
        (propose_all, "Propose what findings ask for", False),
        (amend, "Amend a proposal", False),
        (proposals, "List proposals", True),
    ):
        annotations = ToolAnnotations(
            read_only_hint=reads, destructive_hint=False, idempotent_hint=reads, open_world_hint=False
        )
        server.add_tool(tool, title=title, annotations=annotations)


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
    return answer("\n".join(lines), Proposed(proposals=found))
