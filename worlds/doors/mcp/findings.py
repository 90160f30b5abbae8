"""The tools on texts, claims and what is wrong: mentions, verify, contradictions, duplicates, report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from mcp.server import MCPServer
from mcp.types import CallToolResult
from pydantic import BaseModel, Field

from worlds.doors.mcp.rendering import TermRenderer, TokenBudget, clip
from worlds.doors.mcp.shown import By, Shown, cut, rounded, terms_of
from worlds.doors.mcp.structured_answers import Mentioned, MentionShown, Verified
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


def _authors(quads: Any, _: TermRenderer) -> list[str]:
    return sorted({one.added.author for one in quads if one.added is not None and one.added.author})


_LIKELY = By(lambda one, _: getattr(one, "probability", None), whole=True)
_ACTION = By(lambda one, _: getattr(one, "action", None), whole=True)


class FindingShown(Shown):
    """Something that is wrong, or may be."""

    kind: str
    severity: str
    score: Annotated[float, rounded(3)]
    probability: Annotated[float | None, _LIKELY] = Field(
        description="Of a duplicate or a link, once enough were decided."
    )
    action: Annotated[str | None, _ACTION] = Field(description="The action for a pair of duplicates.")
    message: Annotated[str, cut(_CUT)]
    subjects: Annotated[list[str], terms_of()]
    authors: Annotated[list[str], By(_authors, "quads")] = Field(description="Who wrote the quads that bear it out.")

    def __str__(self) -> str:
        authors = f" (by {', '.join(self.authors)})" if self.authors else ""
        likely = f" probability {self.probability:.2f}" if self.probability is not None else ""
        action = f" {self.action}" if self.action else ""
        return f"{self.severity} {self.kind} score {self.score:.2f}{likely}{action}: {self.message}{authors}"


class FindingsAnswer(BaseModel):
    """Findings, with their counts and common causes."""

    counts: dict[str, int] = Field(description="How many there are of each kind.")
    causes: list[str] = Field(description="The common causes of several findings, the cause of most first.")
    findings: list[FindingShown]
    notes: list[str]


class CheckShown(Shown):
    """One thing that a world lacks, or that is untidy in it."""

    name: str
    level: str
    title: str
    count: int
    examples: list[str]
    query: str = Field(description="SPARQL that gives all, over the union of all graphs.")
    new: int | None

    def __str__(self) -> str:
        new = f" ({self.new:,} new)" if self.new else ""
        return f"{self.level}: {self.count:,}{new} {self.title}: {clip('; '.join(self.examples), _CUT)}"


class Reported(BaseModel):
    """The report on a world."""

    quads: int
    entities: int
    causes: list[str]
    checks: list[CheckShown]
    notes: list[str]


def register(server: MCPServer[Any], service: Service) -> None:
    """Add the tools."""

    @tool(server, service, "entities.mentions", "Entities that a text names")
    def mentions(
        *,
        text: Annotated[str, Field(description="The text, or the IRI of a document.")],
        token_budget: Tokens = None,
        **given: Any,
    ) -> Annotated[CallToolResult, Mentioned]:
        """Each mention has a confidence."""
        if len(text) > _LONGEST:
            raise ValueError(f"a text has up to {_LONGEST:,} characters, not {len(text):,}: give a part of it")
        found = service.world.entities.mentions(text, **given)
        terms, budget = service.terms(), service.budget(token_budget)
        budget.take("\n".join(found.notes), found.notes)
        shown, left = fitting([MentionShown.made_of(one, terms) for one in found], "mentions", budget)
        notes = [*found.notes, *left]
        return answer([*shown, *notes], Mentioned(mentions=shown, notes=notes))

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
    ) -> Annotated[CallToolResult, Verified]:
        """Only a rule that the world declares contradicts a claim, never that something is missing."""
        found = service.world.curation.verify((subject, predicate, object), **given)
        return _verified(found, service.terms(), service.budget(token_budget))

    @tool(server, service, "curation.contradictions", "Contradictions", most={"limit": 500}, limit=20)
    def contradictions(*, token_budget: Tokens = None, **given: Any) -> Annotated[CallToolResult, FindingsAnswer]:
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
    ) -> Annotated[CallToolResult, FindingsAnswer]:
        """`propose` takes a pair to merge."""
        found = service.world.curation.duplicates(between=between, **given)  # type: ignore[arg-type]
        return _found(service, found, token_budget)

    @tool(server, service, "curation.report", "Report")
    def report(*, token_budget: Tokens = None, **given: Any) -> Annotated[CallToolResult, Reported]:
        """It gives counts, examples, and queries that give all."""
        return _reported(service.world.curation.report(**given), service, token_budget)


def _found(service: Service, found: Findings[Any], tokens: int | None) -> CallToolResult:
    terms = service.terms()
    every = [FindingShown.made_of(one, terms) for one in found]
    shown = service.budget(tokens).fill(every)
    hidden = sum(found.counts.values()) - len(shown)
    notes = [f"{hidden:,} more are not shown: raise `limit` or `token_budget`."] if hidden else []
    if not every:
        notes.append("Nothing was found.")
    causes = _causes(found)
    lines = [*(f"cause: {one}" for one in causes), *shown, *notes]
    return answer(lines, FindingsAnswer(counts=found.counts, causes=causes, findings=shown, notes=notes))


def _causes(found: Findings[Any] | WorldReport) -> list[str]:
    return [clip(one.message, _CUT) for one in found.causes[:_CAUSES]]


def _reported(found: WorldReport, service: Service, tokens: int | None) -> CallToolResult:
    terms = service.terms()
    checks = [CheckShown.made_of(one, terms) for one in found if one.count]
    shown, notes = fitting(checks, "checks", service.budget(tokens))
    if not checks:
        notes.append("Nothing was found.")
    causes = _causes(found)
    head = f"{found.quads:,} quads, {found.entities:,} entities"
    lines = [head, *(f"cause: {one}" for one in causes), *shown, *notes]
    return answer(lines, Reported(quads=found.quads, entities=found.entities, causes=causes, checks=shown, notes=notes))


def _verified(found: Verification, terms: TermRenderer, budget: TokenBudget) -> CallToolResult:
    notes = [*found.readings, *found.unread]
    whole = Verified.made_of(found, terms, notes=notes)
    budget.take("\n".join([*whole.undecided, *notes]), [whole.undecided, notes])
    good, bad = budget.fill(whole.supporting), budget.fill(whole.contradicting)
    left = len(whole.supporting) + len(whole.contradicting) - len(good) - len(bad)
    if left:
        notes.append(f"{left} pieces of evidence were left out to stay within the token budget.")
    lines = [f"{whole.outcome} at revision {whole.revision}"]
    for verdict, said in (("for", good), ("against", bad), ("undecided", whole.undecided)):
        lines += [f"{verdict}: {one}" for one in said]
    shown = {"supporting": good, "contradicting": bad, "notes": notes}
    return answer([*lines, *notes], whole.model_copy(update=shown))
