"""The tools on texts, claims and what is wrong: mentions, verify, contradictions, duplicates, report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from mcp.server import MCPServer
from mcp.types import CallToolResult
from pydantic import Field

from worlds.doors.mcp.rendering import Part, TermRenderer, TokenBudget, clip
from worlds.doors.mcp.toolbox import Service, answer, fitting
from worlds.doors.mcp.tools import Tokens, tool
from worlds.verbs.table import VERBS

if TYPE_CHECKING:
    from worlds.extras.curation.claims.verification import Verification
    from worlds.extras.curation.findings.findings import Findings
    from worlds.extras.curation.findings.report import WorldReport


_LONGEST = 100_000  # characters of a text
_CAUSES = 5  # that are told
_CUT = 400  # characters of a sentence


def register(server: MCPServer[Any], service: Service) -> None:
    """Add the tools."""

    @tool(server, service, "entities.mentions", "Entities that a text names")
    def mentions(
        *,
        text: Annotated[str, Field(description="The text, or the IRI of a document.")],
        token_budget: Tokens = None,
        **given: Any,
    ) -> CallToolResult:
        """Each mention has a confidence."""
        if len(text) > _LONGEST:
            raise ValueError(f"a text has up to {_LONGEST:,} characters, not {len(text):,}: give a part of it")
        found = service.world.entities.mentions(text, **given)
        terms, budget = service.terms(), service.budget(token_budget)
        budget.take("\n".join(found.notes), found.notes)
        shown, left = fitting([_mention(one, terms) for one in found], "mentions", budget)
        notes = [*found.notes, *left]
        return answer([*shown, *notes], mentions=shown, notes=notes)

    @tool(server, service, "curation.verify", "Verify a claim", "claim")
    def verify(
        *,
        subject: Annotated[str, Field(description="An entity: a prefixed name, an IRI, or a name.")],
        predicate: Annotated[str, Field(description="A predicate: a prefixed name, an IRI, or a name.")],
        object: Annotated[
            str | int | float | bool, Field(description="An entity, or a value: a number, or a text as '\"…\"'.")
        ],
        token_budget: Tokens = None,
        **given: Any,
    ) -> CallToolResult:
        """Only a rule that the world declares contradicts a claim, never that something is missing."""
        found = service.world.curation.verify((subject, predicate, object), **given)
        return _verified(found, service.terms(), service.budget(token_budget))

    @tool(server, service, "curation.contradictions", "Contradictions", most={"limit": 500}, limit=20)
    def contradictions(*, token_budget: Tokens = None, **given: Any) -> CallToolResult:
        """Contradictions are declared by OWL, SKOS and the world's shapes; unusual values are suggested by the data."""
        return _found(service, service.world.curation.contradictions(**given), token_budget)

    @tool(server, service, "curation.duplicates", "Duplicates", most={"limit": 500}, limit=20)
    def duplicates(
        *,
        between: Annotated[
            list[str] | None,
            Field(min_length=2, max_length=2, description=VERBS["curation.duplicates"].options["between"].help),
        ] = None,
        token_budget: Tokens = None,
        **given: Any,
    ) -> CallToolResult:
        """`propose` takes a pair to merge."""
        found = service.world.curation.duplicates(between=between, **given)  # type: ignore[arg-type]
        return _found(service, found, token_budget)

    @tool(server, service, "curation.report", "Report")
    def report(*, token_budget: Tokens = None, **given: Any) -> CallToolResult:
        """It gives counts, examples, and queries that give all."""
        return _reported(service.world.curation.report(**given), service, token_budget)


def _mention(one: Any, terms: TermRenderer) -> Part:
    """A part of a text that names an entity; others that bear the name are its namesakes."""
    seen = terms.fields(one, "text start end iri label confidence")
    seen["namesakes"] = [terms.show(each.iri) for each in one.candidates[1:]]
    others = f", else {', '.join(seen['namesakes'])}" if seen["namesakes"] else ""
    return Part(f"{one.start}–{one.end} “{seen['text']}” {one.confidence:.2f} {seen['iri']}{others}", seen)


def _found(service: Service, found: Findings[Any], tokens: int | None) -> CallToolResult:
    terms = service.terms()
    shown = service.budget(tokens).fill([_finding(one, terms) for one in found])
    hidden = sum(found.counts.values()) - len(shown)
    notes = [f"{hidden:,} more are not shown: raise `limit` or `token_budget`."] if hidden else []
    if not len(found):
        notes.append("Nothing was found.")
    causes = _causes(found)
    lines = [*(f"cause: {one}" for one in causes), *shown, *notes]
    return answer(lines, counts=found.counts, causes=causes, findings=shown, notes=notes)


def _finding(one: Any, terms: TermRenderer) -> Part:
    """A finding; a duplicate and a link have a probability once enough were decided, a duplicate an action."""
    seen = terms.fields(one, "kind severity score message subjects", _CUT)
    authors = sorted({each.added.author for each in one.quads if each.added is not None and each.added.author})
    likely, action = getattr(one, "probability", None), getattr(one, "action", None)
    chance = "" if likely is None else f" probability {likely:.2f}"
    by, act = f" (by {', '.join(authors)})" if authors else "", f" {action}" if action else ""
    line = f"{one.severity} {one.kind} score {one.score:.2f}{chance}{act}: {seen['message']}{by}"
    return Part(line, {**seen, "probability": likely, "action": action, "authors": authors})


def _causes(found: Findings[Any] | WorldReport) -> list[str]:
    return [clip(one.message, _CUT) for one in found.causes[:_CAUSES]]


def _reported(found: WorldReport, service: Service, tokens: int | None) -> CallToolResult:
    checks = [_check(one) for one in found if one.count]
    shown, notes = fitting(checks, "checks", service.budget(tokens))
    if not checks:
        notes.append("Nothing was found.")
    causes = _causes(found)
    lines = [f"{found.quads:,} quads, {found.entities:,} entities", *(f"cause: {one}" for one in causes)]
    told = {"quads": found.quads, "entities": found.entities, "causes": causes, "checks": shown, "notes": notes}
    return answer([*lines, *shown, *notes], **told)


def _check(one: Any) -> Part:
    """A fault of a world, with a query over the union of all graphs that gives all."""
    new = f" ({one.new:,} new)" if one.new else ""
    return Part(f"{one.level}: {one.count:,}{new} {one.title}: {clip('; '.join(one.examples), _CUT)}", one.to_dict())


def _verified(found: Verification, terms: TermRenderer, budget: TokenBudget) -> CallToolResult:
    notes, undecided = [*found.readings, *found.unread], list(found.undecided)
    budget.take("\n".join([*undecided, *notes]), [undecided, notes])
    good, bad = (
        budget.fill([_evidence(one, terms) for one in several]) for several in (found.supporting, found.contradicting)
    )
    left = len(found.supporting) + len(found.contradicting) - len(good) - len(bad)
    if left:
        notes.append(f"{left} pieces of evidence were left out to stay within the token budget.")
    lines = [f"{found.outcome} at revision {found.revision}"]
    for verdict, said in (("for", good), ("against", bad), ("undecided", undecided)):
        lines += [f"{verdict}: {one}" for one in said]
    told = {"outcome": found.outcome, "revision": found.revision, "supporting": good, "contradicting": bad}
    return answer([*lines, *notes], **told, undecided=undecided, notes=notes)


def _evidence(one: Any, terms: TermRenderer) -> Part:
    """Evidence with the quads that it rests on, and the revisions that added these."""
    seen = terms.fields(one, "rule score message", _CUT)
    quads = seen["quads"] = [clip(terms.quad(quad[:4], 200), _CUT) for quad in one.quads]
    seen["revisions"] = [quad.revision for quad in one.quads]
    lines = [f"  {quad} (revision {number})" for quad, number in zip(quads, seen["revisions"], strict=True)]
    return Part("\n".join([f"{seen['message']} ({one.rule}, {round(one.score, 2)})", *lines]), seen)
