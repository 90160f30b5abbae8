"""The tools that write, which only a server with --allow-writes has: update, add, undo."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.types import CallToolResult, ToolAnnotations
from pydantic import Field

from worlds.mcp.answers import Written
from worlds.mcp.arguments import Message
from worlds.mcp.toolbox import Service, answer
from worlds.revisions.gate import Change

_TIMEOUT = 60.0  # seconds, of each pattern
MOST_QUADS = 5000
Part = str | int | float | bool


def register(server: MCPServer[Any], service: Service) -> None:
    """Add the tools."""

    async def update(
        update: Annotated[str, Field(description="INSERT DATA, DELETE DATA, DELETE/INSERT … WHERE, and the like.")],
        context: Context[Any, Any],
        message: Message = None,
    ) -> Annotated[CallToolResult, Written]:
        """Run a SPARQL 1.1 Update as one revision, which `undo` can take back. The world's prefixes are known."""
        author = service.author(context)

        def work() -> CallToolResult:
            with service.explained(update):
                service.require_write(context)
                change = service.world.update(update, author=author, message=message, timeout=_TIMEOUT)
                return _written(change, "undo it by `undo`")

        return await service.run(work, writes=True)

    async def add(
        quads: Annotated[
            list[list[Part]],
            Field(
                description="Lists of subject, predicate, object and perhaps a graph: prefixed names, <IRI>s, numbers, "
                'true, false; a text is in quotes of its own: \'"a text"@en\'. E.g. [["ex:a", "rdfs:label", '
                '"\\"A\\"@en"]].'
            ),
        ],
        context: Context[Any, Any],
        message: Message = None,
    ) -> Annotated[CallToolResult, Written]:
        """Add triples or quads as one revision; those that are there already change nothing."""
        author = service.author(context)

        def work() -> CallToolResult:
            with service.explained():
                service.require_write(context)
                if not quads or len(quads) > MOST_QUADS:
                    raise ValueError(f"quads are 1 to {MOST_QUADS:,} at a time, not {len(quads):,}")
                return _written(service.world.add(as_quads(quads), author=author, message=message), "undo it by `undo`")

        return await service.run(work, writes=True)

    async def undo(
        revision: Annotated[int, Field(ge=1, strict=True, description="Its number, from `history`.")],
        context: Context[Any, Any],
        force: Annotated[
            bool, Field(description="Leave alone what later revisions changed, instead of refusing.")
        ] = False,
        message: Message = None,
    ) -> Annotated[CallToolResult, Written]:
        """Take back what a revision did, as a new revision; undoing that one does it again."""
        author = service.author(context)

        def work() -> CallToolResult:
            with service.explained():
                service.require_write(context)
                return _written(
                    service.world.undo(revision, force=force, author=author, message=message), f"undoes {revision}"
                )

        return await service.run(work, writes=True)

    for tool, title, destructive, idempotent in (
        (update, "SPARQL update", True, False),
        (add, "Add quads", False, True),
        (undo, "Undo a revision", True, False),
    ):
        annotations = ToolAnnotations(
            read_only_hint=False, destructive_hint=destructive, idempotent_hint=idempotent, open_world_hint=False
        )
        server.add_tool(tool, title=title, annotations=annotations)


def as_quads(quads: Sequence[Sequence[Part]]) -> list[tuple[Part, ...]]:
    """Quads as `World.add` takes them; ValueError for one that has not three or four terms."""
    for number, quad in enumerate(quads, 1):
        if len(quad) not in (3, 4):
            raise ValueError(f"quad {number} has {len(quad)} terms, not 3 or 4: {quad!r}")
    return [tuple(quad) for quad in quads]


def _written(change: Change, remark: str, told: Sequence[str] = ()) -> CallToolResult:
    notes = [*change.notes, *told]
    if change.revision is None:
        text = "Nothing was changed: what was to be added is there, what was to be removed is not."
    else:
        text = f"Revision {change.revision}: {change.added:,} quads added, {change.removed:,} removed ({remark})."
    structured = Written(revision=change.revision, added=change.added, removed=change.removed, notes=notes)
    return answer("\n".join([text, *notes]), structured)
