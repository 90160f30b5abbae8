"""The tools that write: update, add, tell, undo, sync; and for who may not: propose, propose_all, amend, proposals.

A server has the former by --allow-writes, the latter by --allow-proposals or --allow-writes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Annotated, Any, Literal

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.types import CallToolResult
from pydantic import Field

from worlds.core.history.gate import Change
from worlds.doors.mcp.rendering import Part, TermRenderer, clip
from worlds.doors.mcp.toolbox import Service, answer
from worlds.doors.mcp.tools import MOST_QUADS, tool
from worlds.records import Proposal

_TIMEOUT = 60.0  # seconds, of each pattern
_LISTED = 20  # proposals
_CUT = 300  # characters of an error
_FILES = 20  # of a run, that are named


def register(server: MCPServer[Any], service: Service) -> None:
    """Add the tools."""

    @tool(server, service, "proposals.add", "Propose a change")
    def propose(
        *,
        why: Annotated[str, Field(description="The reason, with its source, for the reviewer's decision.")],
        **given: Any,
    ) -> CallToolResult:
        """Look at `proposals` before, so that nothing is proposed twice."""
        quads = {name: given[name] or () for name in ("add", "remove", "relies_on", "merge")}
        _few(quads["add"], quads["remove"])
        made = service.world.proposals.add(why=why, **{**given, **quads})
        return _answer(f"Proposal {made.id} waits for a decision.", [service.world.proposals.get(made.id)])

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
    ) -> CallToolResult:
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
        return _answer(text, [world.proposals.get(one.id) for one in made])

    @tool(server, service, "proposals.amend", "Amend a proposal")
    def amend(
        *,
        context: Context[Any, Any],
        why: Annotated[str, Field(description="An answer, or the reason for another change.")],
        **given: Any,
    ) -> CallToolResult:
        """Only its author, or a key that may write, can revise its change or confidence."""
        _few(given["add"] or (), given["remove"] or ())
        own = not service.may(context, "write")
        made = service.world.proposals.amend(why=why, own=own, **given)
        return _answer(f"Proposal {made.id} is amended.", [service.world.proposals.get(made.id)])

    @tool(server, service, "proposals.list", "List proposals", most={"limit": 100}, limit=_LISTED)
    def proposals(**given: Any) -> CallToolResult:
        """Look before you propose the same again."""
        found = service.world.proposals.list(**given)
        counted = f"{len(found)} proposals." if len(found) else "There is no such proposal."
        return _answer(" ".join([counted, *(f"{note}." for note in found.notes)]), found)


def _few(*sides: Collection[object]) -> None:
    if sum(map(len, sides)) > MOST_QUADS:
        raise ValueError(f"a proposal has {MOST_QUADS:,} quads at most")


_TOLD = (
    *("id", "status", "kind", "author", "content_author", "version", "why", "confidence", "score"),
    *("added", "removed", "merged", "moved", "validation", "decision", "revision"),
)
"""The fields of a proposal that agents see."""


def _answer(text: str, found: Iterable[Proposal]) -> CallToolResult:
    lines, proposals = [text], [one.to_dict() for one in found]
    for one in proposals:
        lines.append(
            f"{one['id']}. {one['status']}, {one['kind']}, by {one['author'] or 'nobody named'}: {one['why'] or ''}"
        )
        if one["version"] > 1:
            lines.append(f"  version {one['version']}, given by {one['content_author'] or 'nobody named'}")
        lines += [f"  - {quad}" for quad in one["removed"][:5]] + [f"  + {quad}" for quad in one["added"][:5]]
        lines += [f"  since then: {remark}" for remark in one["moved"]]
        lines += [f"  violates: {remark}" for remark in one["validation"]]
    return answer(lines, proposals=[{name: one[name] for name in _TOLD} for one in proposals])


def register_writes(server: MCPServer[Any], service: Service) -> None:
    """Add the tools that write."""

    @tool(server, service, "update", "SPARQL update", source="text")
    def update(**given: Any) -> CallToolResult:
        """The world's prefixes are known."""
        return _written(service, service.world.update(timeout=_TIMEOUT, **given), "undo it by `undo`")

    @tool(server, service, "add", "Add quads", idempotent=True)
    def add(**given: Any) -> CallToolResult:
        """`undo` can take it back."""
        return _written(service, service.world.add(**given), "undo it by `undo`")

    @tool(server, service, "facts.tell", "State facts by name", idempotent=True)
    def tell(**given: Any) -> CallToolResult:
        """Names are resolved; what is sure is written, the rest is proposed with its candidates."""
        found = service.world.facts.tell(**given)
        head = f"Revision {found.revision} (undo it by `undo`)." if found.revision else "Nothing was written."
        facts, notes = [_became(one) for one in found.facts], list(found.notes)
        return answer([head, *facts, *notes], revision=found.revision, facts=facts, notes=notes)

    @tool(server, service, "undo", "Undo a revision")
    def undo(
        *, revision: Annotated[int, Field(ge=1, strict=True, description="Its number, from `history`.")], **given: Any
    ) -> CallToolResult:
        """Without `force` it is refused where later revisions changed the same quads."""
        return _written(service, service.world.undo(revision, **given), f"undoes {revision}")

    @tool(server, service, "sources.sync", "Bring sources in step", idempotent=True)
    def sync(**given: Any) -> CallToolResult:
        """The resource world://sources lists them."""
        terms = service.terms()
        runs = [_run(one, terms) for one in service.world.sources.sync(**given)]
        lines = [*runs, *(remark for one in runs for remark in (*one["errors"], *one["notes"]))]
        return answer(lines or ["The world has no sources."], runs=runs)


def _written(service: Service, change: Change, remark: str) -> CallToolResult:
    text = "Nothing was changed: what was to be added is there, what was to be removed is not."
    if change.revision is not None:
        text = f"Revision {change.revision}: {change.added:,} quads added, {change.removed:,} removed ({remark})."
    told = {"revision": change.revision, "added": change.added, "removed": change.removed}
    return answer([text, *change.notes], **told, notes=list(change.notes))


def _became(one: Any) -> Part:
    """The outcome of one fact: written, known, proposed or refused; `new` are entities that were made for it."""
    new = [*map(str, one.new)]
    told = {"fact": [*one.fact], "became": one.became, "why": one.why, "proposal": one.proposal, "new": new}
    made, proposal = f" (new: {', '.join(new)})" if new else "", f"; proposal {one.proposal}" if one.proposal else ""
    return Part(f"{one.became}: {' | '.join(one.fact)}{made}{f'; {one.why}' if one.why else ''}{proposal}", told)


def _run(one: Any, terms: TermRenderer) -> Part:
    """The outcome of a run of a source: how many files are new, changed, moved and deleted."""
    counts = {name: len(getattr(one, name)) for name in ("new", "changed", "moved", "deleted")}
    errors = [clip(f"{each.path}: {each.message}", _CUT) for each in one.errors[:_FILES]]
    line = f"{one.source}: {', '.join(f'{count} {name}' for name, count in counts.items())}"
    told = {"source": one.source, "revision": one.revision, **counts, "errors": errors}
    return Part(
        line + ("" if one.revision is None else f"; revision {one.revision}"), {**told, "notes": [*one.notes[:_FILES]]}
    )
