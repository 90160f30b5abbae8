"""The tools about texts and claims: mentions, verify."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from mcp.server import MCPServer
from mcp.types import CallToolResult
from pydantic import Field

from worlds.mcp.answers import Mentioned, MentionShown, Verified
from worlds.mcp.rendering import Budget, Terms
from worlds.mcp.toolbox import Service, answer, fitting
from worlds.mcp.tools import Tokens, tool

if TYPE_CHECKING:
    from worlds.curation.claims.verification import Verification

_LONGEST = 100_000  # characters of a text


def register(server: MCPServer[Any], service: Service) -> None:
    """Add the tools."""

    @tool(server, service, "mentions", "Entities that a text names")
    def mentions(
        *,
        text: Annotated[str, Field(description="The text, or the IRI of a document.")],
        token_budget: Tokens = None,
        **given: Any,
    ) -> Annotated[CallToolResult, Mentioned]:
        """It tells how sure each mention is."""
        if len(text) > _LONGEST:
            raise ValueError(f"a text has up to {_LONGEST:,} characters, not {len(text):,}: give a part of it")
        found = service.world.mentions(text, **given)
        terms, budget = service.terms(), service.budget(token_budget)
        budget.take("\n".join(found.notes), found.notes)
        shown, left = fitting([MentionShown.made_of(one, terms) for one in found], "mentions", budget)
        notes = [*found.notes, *left]
        return answer([*shown, *notes], Mentioned(mentions=shown, notes=notes))

    @tool(server, service, "verify", "Verify a claim", "claim")
    def verify(
        *,
        subject: Annotated[str, Field(description="An entity: a prefixed name, an IRI, or a name.")],
        predicate: Annotated[str, Field(description="A predicate: a prefixed name, an IRI, or a name.")],
        object: Annotated[
            str | int | float | bool, Field(description="An entity, or a value: a number, or a text as '\"…\"'.")
        ],
        token_budget: Tokens = None,
        **given: Any,
    ) -> Annotated[CallToolResult, Verified]:
        """Only a rule that the world declares contradicts a claim, never that something is missing."""
        found = service.world.verify((subject, predicate, object), **given)
        return _verified(found, service.terms(), service.budget(token_budget))


def _verified(found: Verification, terms: Terms, budget: Budget) -> CallToolResult:
    notes = [*found.readings, *found.unread]
    whole = Verified.made_of(found, terms, notes=notes)
    budget.take("\n".join([*whole.undecided, *whole.odd, *notes]), [whole.undecided, whole.odd, notes])
    good, bad = budget.fill(whole.supporting), budget.fill(whole.contradicting)
    left = len(whole.supporting) + len(whole.contradicting) - len(good) - len(bad)
    if left:
        notes.append(f"{left} pieces of evidence were left out to stay within the token budget.")
    lines = [f"{whole.outcome} at revision {whole.revision}"]
    for verdict, said in (("for", good), ("against", bad), ("undecided", whole.undecided), ("odd", whole.odd)):
        lines += [f"{verdict}: {one}" for one in said]
    shown = {"supporting": good, "contradicting": bad, "notes": notes}
    return answer([*lines, *notes], whole.model_copy(update=shown))
