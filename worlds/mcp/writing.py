"""The tools that write, which only a server with --allow-writes has: update, add, tell, undo, sync."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.types import CallToolResult
from pydantic import Field

from worlds.mcp.answers import Became, FactsTold, Run, Runs, Written
from worlds.mcp.rendering import clip
from worlds.mcp.toolbox import Service, answer
from worlds.mcp.tools import Part, as_quads, tool
from worlds.revisions.gate import Change

_TIMEOUT = 60.0  # seconds, of each pattern
MOST_QUADS = 5000
_FILES = 20  # of a run, that are named
_CUT = 300  # characters of an error


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

    @tool(server, service, "tell", "State facts by name", idempotent=True)
    def tell(
        *,
        facts: Annotated[
            list[list[str | int | float | bool | dict[str, str | float]]],
            Field(
                description="Lists of subject, predicate and object in words, as people say them, and maybe an object "
                'with from, to, cites, confidence. E.g. [["Ann", "works at", "Acme", {"from": "2026-05"}]].'
            ),
        ],
        context: Context[Any, Any],
        **given: Any,
    ) -> Annotated[CallToolResult, FactsTold]:
        """Names are resolved; what is sure is written, the rest is proposed with its candidates."""
        service.require_write(context)
        if not facts or len(facts) > MOST_QUADS:
            raise ValueError(f"facts are 1 to {MOST_QUADS:,} at a time, not {len(facts):,}")
        found = service.world.tell(facts, author=service.author(context), **given)
        shown = [
            Became(
                fact=list(one.fact), became=one.became, why=one.why, proposal=one.proposal, new=list(map(str, one.new))
            )
            for one in found.facts
        ]
        lines = [
            f"{one.became}: {' | '.join(one.fact)}"
            + (f" (new: {', '.join(one.new)})" if one.new else "")
            + (f"; {one.why}" if one.why else "")
            + (f"; proposal {one.proposal}" if one.proposal else "")
            for one in shown
        ]
        head = f"Revision {found.revision} (undo it by `undo`)." if found.revision else "Nothing was written."
        return answer(
            "\n".join([head, *lines, *found.notes]),
            FactsTold(revision=found.revision, facts=shown, notes=list(found.notes)),
        )

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

    @tool(server, service, "sync", "Bring sources in step", idempotent=True)
    def sync(*, context: Context[Any, Any], **given: Any) -> Annotated[CallToolResult, Runs]:
        """The resource world://sources lists them."""
        service.require_write(context)
        runs = []
        for one in service.world.sync(author=service.author(context), **given):
            counts = {"new": one.new, "changed": one.changed, "moved": one.moved, "deleted": one.deleted}
            errors = [clip(f"{failed.path}: {failed.message}", _CUT) for failed in one.errors[:_FILES]]
            told = {name: len(paths) for name, paths in counts.items()}
            runs.append(
                Run(source=one.source, revision=one.revision, **told, errors=errors, notes=list(one.notes[:_FILES]))
            )
        lines = [
            f"{one.source}: {one.new} new, {one.changed} changed, {one.moved} moved, {one.deleted} deleted"
            + ("" if one.revision is None else f"; revision {one.revision}")
            for one in runs
        ]
        lines += [told for one in runs for told in (*one.errors, *one.notes)]
        return answer("\n".join(lines) or "The world has no sources.", Runs(runs=runs))


def _written(change: Change, remark: str, told: Sequence[str] = ()) -> CallToolResult:
    notes = [*change.notes, *told]
    if change.revision is None:
        text = "Nothing was changed: what was to be added is there, what was to be removed is not."
    else:
        text = f"Revision {change.revision}: {change.added:,} quads added, {change.removed:,} removed ({remark})."
    structured = Written(revision=change.revision, added=change.added, removed=change.removed, notes=notes)
    return answer("\n".join([text, *notes]), structured)
