"""The tools that write, which only a server with --allow-writes has: update, add, undo."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.types import CallToolResult
from pydantic import Field

from worlds.mcp.answers import Written
from worlds.mcp.toolbox import Service, answer
from worlds.mcp.tools import Part, as_quads, tool
from worlds.revisions.gate import Change

_TIMEOUT = 60.0  # seconds, of each pattern
MOST_QUADS = 5000


def register(server: MCPServer[Any], service: Service) -> None:
    """Add the tools."""

    @tool(server, service, "update", "SPARQL update", source="text")
    def update(*, context: Context[Any, Any], **given: Any) -> Annotated[CallToolResult, Written]:
        """The world's prefixes are known."""
        service.require_write(context)
        change = service.world.update(given.pop("text"), author=service.author(context), timeout=_TIMEOUT, **given)
        return _written(change, "undo it by `undo`")

    @tool(server, service, "add", "Add quads", idempotent=True)
    def add(
        *,
        quads: Annotated[
            list[list[Part]],
            Field(
                description="Lists of subject, predicate, object and perhaps a graph: prefixed names, <IRI>s, numbers, "
                'true, false; a text is in quotes of its own: \'"a text"@en\'. E.g. [["ex:a", "rdfs:label", '
                '"\\"A\\"@en"]].'
            ),
        ],
        context: Context[Any, Any],
        **given: Any,
    ) -> Annotated[CallToolResult, Written]:
        """`undo` can take it back."""
        service.require_write(context)
        if not quads or len(quads) > MOST_QUADS:
            raise ValueError(f"quads are 1 to {MOST_QUADS:,} at a time, not {len(quads):,}")
        change = service.world.add(as_quads(quads), author=service.author(context), **given)
        return _written(change, "undo it by `undo`")

    @tool(server, service, "undo", "Undo a revision")
    def undo(
        *,
        revision: Annotated[int, Field(ge=1, strict=True, description="Its number, from `history`.")],
        context: Context[Any, Any],
        **given: Any,
    ) -> Annotated[CallToolResult, Written]:
        """Without `force` it is refused where later revisions changed the same quads."""
        service.require_write(context)
        return _written(service.world.undo(revision, author=service.author(context), **given), f"undoes {revision}")


def _written(change: Change, remark: str, told: Sequence[str] = ()) -> CallToolResult:
    notes = [*change.notes, *told]
    if change.revision is None:
        text = "Nothing was changed: what was to be added is there, what was to be removed is not."
    else:
        text = f"Revision {change.revision}: {change.added:,} quads added, {change.removed:,} removed ({remark})."
    structured = Written(revision=change.revision, added=change.added, removed=change.removed, notes=notes)
    return answer("\n".join([text, *notes]), structured)
