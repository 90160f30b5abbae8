"""The tools that write: update, add, tell, undo, sync; and for who may not: propose, propose_all, amend, proposals.

A server has the former by --allow-writes, the latter by --allow-proposals or --allow-writes.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Any, Literal

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.types import CallToolResult
from pydantic import BaseModel, Field

from worlds.core.history.gate import Change
from worlds.doors.mcp.structured_answers import FactsTold, Run, Runs, WriteOutcome
from worlds.doors.mcp.toolbox import Service, answer
from worlds.doors.mcp.tools import MOST_QUADS, tool
from worlds.world import World

_TIMEOUT = 60.0  # seconds, of each pattern
_LISTED = 20  # proposals


class ProposalAnswer(BaseModel):
    """A change that waits for a decision, or was decided."""

    id: int
    status: str
    kind: str
    author: str | None
    content_author: str | None = Field(description="Who gave the change that it has now.")
    version: int
    why: str | None
    confidence: float | None
    score: float | None = Field(
        description="Of a duplicate or a link; its confidence is the probability, if it is known."
    )
    added: list[str] = Field(description="N-Quads.")
    removed: list[str]
    merged: list[str] = Field(description="Entities to merge, the one to keep first.")
    moved: list[str] = Field(description="Changes since, in the quads that it relies on.")
    validation: list[str]
    decision: str | None
    revision: int | None


class Proposed(BaseModel):
    """Proposals."""

    proposals: list[ProposalAnswer]


def register(server: MCPServer[Any], service: Service) -> None:
    """Add the tools."""

    @tool(server, service, "proposals.add", "Propose a change")
    def propose(
        *,
        why: Annotated[str, Field(description="The reason, with its source, for the reviewer's decision.")],
        **given: Any,
    ) -> Annotated[CallToolResult, Proposed]:
        """Look at `proposals` before, so that nothing is proposed twice."""
        quads = {name: given[name] or () for name in ("add", "remove", "relies_on", "merge")}
        _few(quads["add"], quads["remove"])
        made = service.world.proposals.add(why=why, **{**given, **quads})
        return _answer(f"Proposal {made.id} waits for a decision.", [_waiting(service.world, made.id)])

    @tool(server, service, "proposals.add_all", "Propose what findings ask for")
    def propose_all(
        *,
        context: Context[Any, Any],
        of: Annotated[
            Literal["duplicates", "links", "contradictions"], Field(description="Merges, links, or quads to remove.")
        ],
        minimum: Annotated[float, Field(ge=0, le=1, description="The lowest score of a finding.")] = 0.9,
        limit: Annotated[int, Field(ge=1, le=100, description="The number of findings of each kind at most.")] = 20,
        **given: Any,
    ) -> Annotated[CallToolResult, Proposed]:
        """Findings that wait as proposals already are passed over."""
        world = service.world
        found: Any = (
            world.curation.duplicates(score=minimum, limit=limit)
            if of == "duplicates"
            else world.curation.links(score=minimum, limit=limit)
            if of == "links"
            else world.curation.contradictions(limit=limit)
        )
        follow = service.may(context, "write")
        made = world.proposals.add_all([one for one in found if one.score >= minimum], follow=follow, **given)
        text = (
            f"{sum(one.status == 'open' for one in made)} of {len(made)} proposals wait for a decision."
            if made
            else "No new proposals: all findings are open already, or need a manual repair."
        )
        return _answer(text, [_waiting(world, one.id) for one in made])

    @tool(server, service, "proposals.amend", "Amend a proposal")
    def amend(
        *,
        context: Context[Any, Any],
        why: Annotated[str, Field(description="An answer, or the reason for another change.")],
        **given: Any,
    ) -> Annotated[CallToolResult, Proposed]:
        """Only its author, or a key that may write, can revise its change or confidence."""
        _few(given["add"] or (), given["remove"] or ())
        own = not service.may(context, "write")
        made = service.world.proposals.amend(why=why, own=own, **given)
        return _answer(f"Proposal {made.id} is amended.", [_waiting(service.world, made.id)])

    @tool(server, service, "proposals.list", "List proposals", most={"limit": 100}, limit=_LISTED)
    def proposals(**given: Any) -> Annotated[CallToolResult, Proposed]:
        """Look before you propose the same again."""
        found = service.world.proposals.list(**given)
        shown = [ProposalAnswer.model_validate(one.to_dict()) for one in found]
        counted = f"{len(shown)} proposals." if shown else "There is no such proposal."
        return _answer(" ".join([counted, *(f"{note}." for note in found.notes)]), shown)


def _few(*sides: Collection[object]) -> None:
    if sum(map(len, sides)) > MOST_QUADS:
        raise ValueError(f"a proposal has {MOST_QUADS:,} quads at most")


def _waiting(world: World, number: int) -> ProposalAnswer:
    return ProposalAnswer.model_validate(world.proposals.get(number).to_dict())


def _answer(text: str, found: list[ProposalAnswer]) -> CallToolResult:
    lines = [text]
    for one in found:
        lines.append(f"{one.id}. {one.status}, {one.kind}, by {one.author or 'nobody named'}: {one.why or ''}")
        if one.version > 1:
            lines.append(f"  version {one.version}, given by {one.content_author or 'nobody named'}")
        lines += [f"  - {quad}" for quad in one.removed[:5]] + [f"  + {quad}" for quad in one.added[:5]]
        lines += [f"  since then: {remark}" for remark in one.moved]
        lines += [f"  violates: {remark}" for remark in one.validation]
    return answer(lines, Proposed(proposals=found))


def register_writes(server: MCPServer[Any], service: Service) -> None:
    """Add the tools that write."""

    @tool(server, service, "update", "SPARQL update", source="text")
    def update(**given: Any) -> Annotated[CallToolResult, WriteOutcome]:
        """The world's prefixes are known."""
        return _written(service, service.world.update(timeout=_TIMEOUT, **given), "undo it by `undo`")

    @tool(server, service, "add", "Add quads", idempotent=True)
    def add(**given: Any) -> Annotated[CallToolResult, WriteOutcome]:
        """`undo` can take it back."""
        return _written(service, service.world.add(**given), "undo it by `undo`")

    @tool(server, service, "facts.tell", "State facts by name", idempotent=True)
    def tell(**given: Any) -> Annotated[CallToolResult, FactsTold]:
        """Names are resolved; what is sure is written, the rest is proposed with its candidates."""
        found = FactsTold.made_of(service.world.facts.tell(**given), service.terms())
        head = f"Revision {found.revision} (undo it by `undo`)." if found.revision else "Nothing was written."
        return answer([head, *found.facts, *found.notes], found)

    @tool(server, service, "undo", "Undo a revision")
    def undo(
        *, revision: Annotated[int, Field(ge=1, strict=True, description="Its number, from `history`.")], **given: Any
    ) -> Annotated[CallToolResult, WriteOutcome]:
        """Without `force` it is refused where later revisions changed the same quads."""
        return _written(service, service.world.undo(revision, **given), f"undoes {revision}")

    @tool(server, service, "sources.sync", "Bring sources in step", idempotent=True)
    def sync(**given: Any) -> Annotated[CallToolResult, Runs]:
        """The resource world://sources lists them."""
        terms = service.terms()
        runs = [Run.made_of(one, terms) for one in service.world.sources.sync(**given)]
        lines = [*runs, *(remark for one in runs for remark in (*one.errors, *one.notes))]
        return answer(lines or ["The world has no sources."], Runs(runs=runs))


def _written(service: Service, change: Change, remark: str) -> CallToolResult:
    text = "Nothing was changed: what was to be added is there, what was to be removed is not."
    if change.revision is not None:
        text = f"Revision {change.revision}: {change.added:,} quads added, {change.removed:,} removed ({remark})."
    return answer([text, *change.notes], WriteOutcome.made_of(change, service.terms()))
