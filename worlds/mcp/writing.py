"""The tools that write, which only a server with --allow-writes has: update, add, tell, undo, sync."""

from __future__ import annotations

from typing import Annotated, Any

from mcp.server import MCPServer
from mcp.types import CallToolResult
from pydantic import Field

from worlds.mcp.answers import FactsTold, Run, Runs, Written
from worlds.mcp.toolbox import Service, answer
from worlds.mcp.tools import tool
from worlds.revisions.gate import Change

_TIMEOUT = 60.0  # seconds, of each pattern


def register(server: MCPServer[Any], service: Service) -> None:
    """Add the tools."""

    @tool(server, service, "update", "SPARQL update", source="text")
    def update(**given: Any) -> Annotated[CallToolResult, Written]:
        """The world's prefixes are known."""
        return _written(service, service.world.update(timeout=_TIMEOUT, **given), "undo it by `undo`")

    @tool(server, service, "add", "Add quads", idempotent=True)
    def add(**given: Any) -> Annotated[CallToolResult, Written]:
        """`undo` can take it back."""
        return _written(service, service.world.add(**given), "undo it by `undo`")

    @tool(server, service, "tell", "State facts by name", idempotent=True)
    def tell(**given: Any) -> Annotated[CallToolResult, FactsTold]:
        """Names are resolved; what is sure is written, the rest is proposed with its candidates."""
        found = FactsTold.made_of(service.world.tell(**given), service.terms())
        head = f"Revision {found.revision} (undo it by `undo`)." if found.revision else "Nothing was written."
        return answer([head, *found.facts, *found.notes], found)

    @tool(server, service, "undo", "Undo a revision")
    def undo(
        *, revision: Annotated[int, Field(ge=1, strict=True, description="Its number, from `history`.")], **given: Any
    ) -> Annotated[CallToolResult, Written]:
        """Without `force` it is refused where later revisions changed the same quads."""
        return _written(service, service.world.undo(revision, **given), f"undoes {revision}")

    @tool(server, service, "sync", "Bring sources in step", idempotent=True)
    def sync(**given: Any) -> Annotated[CallToolResult, Runs]:
        """The resource world://sources lists them."""
        terms = service.terms()
        runs = [Run.made_of(one, terms) for one in service.world.sync(**given)]
        lines = [*runs, *(remark for one in runs for remark in (*one.errors, *one.notes))]
        return answer(lines or ["The world has no sources."], Runs(runs=runs))


def _written(service: Service, change: Change, remark: str) -> CallToolResult:
    text = "Nothing was changed: what was to be added is there, what was to be removed is not."
    if change.revision is not None:
        text = f"Revision {change.revision}: {change.added:,} quads added, {change.removed:,} removed ({remark})."
    return answer([text, *change.notes], Written.made_of(change, service.terms()))
