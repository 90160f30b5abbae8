"""The tools about texts and claims: mentions, verify."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from mcp.server import MCPServer
from mcp.types import CallToolResult
from pydantic import Field

from worlds.mcp.answers import EvidenceShown, Mentioned, MentionShown, Verified, plain
from worlds.mcp.rendering import Budget, Terms, clip
from worlds.mcp.toolbox import Service, answer
from worlds.mcp.tools import Tokens, tool

if TYPE_CHECKING:
    from worlds.curation.claims.evidence import Evidence
    from worlds.curation.claims.verification import Verification
    from worlds.curation.linking.links import EntityMention

_LONGEST = 100_000  # characters of a text
_CUT = 300  # characters of a quad or a sentence


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
        terms = service.terms()
        return _mentioned([_mention(one, terms) for one in found], service.budget(token_budget), list(found.notes))

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


def _mention(one: EntityMention, terms: Terms) -> MentionShown:
    return MentionShown(
        text=clip(one.text, 120),
        start=one.start,
        end=one.end,
        iri=terms.show(one.iri),
        label=None if one.label is None else clip(one.label, 120),
        confidence=round(one.confidence, 2),
        namesakes=[terms.show(other.iri) for other in one.candidates[1:]],
    )


def _mentioned(shown: Sequence[MentionShown], budget: Budget, notes: list[str]) -> CallToolResult:
    def line(one: MentionShown) -> str:
        others = f", else {', '.join(one.namesakes)}" if one.namesakes else ""
        return f"{one.start}–{one.end} “{one.text}” {one.confidence:.2f} {one.iri}{others}"

    budget.take("\n".join(notes), notes)
    kept = budget.fill(shown, lambda one: (line(one), plain(one)))
    if len(kept) < len(shown):
        notes.append(f"{len(shown) - len(kept)} mentions were left out to stay within the token budget.")
    return answer("\n".join([*map(line, kept), *notes]), Mentioned(mentions=kept, notes=notes))


def _verified(found: Verification, terms: Terms, budget: Budget) -> CallToolResult:
    odd = [clip(f"{one.kind}: {one.message}", _CUT) for one in found.odd]
    notes = [*found.readings, *found.unread]
    undecided = list(found.undecided)
    budget.take("\n".join([*undecided, *odd, *notes]), [undecided, odd, notes])
    good = _shown(found.supporting, terms, budget)
    bad = _shown(found.contradicting, terms, budget)
    left = len(found.supporting) + len(found.contradicting) - len(good) - len(bad)
    if left:
        notes.append(f"{left} pieces of evidence were left out to stay within the token budget.")
    lines = [f"{found.outcome} at revision {found.revision}"]
    for verdict, shown in (("for", good), ("against", bad)):
        for one in shown:
            lines.append(f"{verdict}: {one.message} ({one.rule}, {one.score})")
            lines += [f"  {quad} (revision {n})" for quad, n in zip(one.quads, one.revisions, strict=True)]
    lines += [f"undecided: {told}" for told in undecided]
    lines += [f"odd: {told}" for told in odd]
    structured = Verified(
        outcome=found.outcome,
        revision=found.revision,
        supporting=good,
        contradicting=bad,
        undecided=undecided,
        odd=odd,
        notes=notes,
    )
    return answer("\n".join([*lines, *notes]), structured)


def _shown(evidence: Iterable[Evidence], terms: Terms, budget: Budget) -> list[EvidenceShown]:
    shown = [
        EvidenceShown(
            rule=one.rule,
            score=round(one.score, 2),
            message=clip(one.message, _CUT),
            quads=[
                clip(" ".join(terms.show(term) for term in quad[:4] if term is not None), _CUT) for quad in one.quads
            ],
            revisions=[quad.revision for quad in one.quads],
        )
        for one in evidence
    ]
    return budget.fill(shown, lambda one: (" ".join([one.message, *one.quads]), plain(one)))
