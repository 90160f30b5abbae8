"""The tools that find what is wrong: contradictions, duplicates, report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from mcp.server import MCPServer
from mcp.types import CallToolResult
from pydantic import BaseModel, Field

from worlds.mcp.rendering import Terms, clip
from worlds.mcp.shown import By, Shown, cut, rounded, terms_of
from worlds.mcp.toolbox import Service, answer, fitting
from worlds.mcp.tools import Tokens, tool
from worlds.verbs.table import VERBS

if TYPE_CHECKING:
    from worlds.curation.findings.findings import Findings
    from worlds.curation.findings.report import WorldReport

_CAUSES = 5  # that are told
_CUT = 400  # characters of a sentence


def _authors(quads: Any, _: Terms) -> list[str]:
    return sorted({one.added.author for one in quads if one.added is not None and one.added.author})


class FindingShown(Shown):
    """Something that is wrong, or may be."""

    kind: str
    severity: str
    score: Annotated[float, rounded(3)]
    message: Annotated[str, cut(_CUT)]
    subjects: Annotated[list[str], terms_of()]
    authors: Annotated[list[str], By(_authors, "quads")] = Field(description="Who wrote the quads that bear it out.")

    def __str__(self) -> str:
        authors = f" (by {', '.join(self.authors)})" if self.authors else ""
        return f"{self.severity} {self.kind} score {self.score:.2f}: {self.message}{authors}"


class Found(BaseModel):
    """What was found."""

    counts: dict[str, int] = Field(description="How many there are of each kind.")
    causes: list[str] = Field(description="What several findings have in common, what explains most first.")
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

    @tool(server, service, "contradictions", "Contradictions", most={"limit": 500}, limit=20)
    def contradictions(*, token_budget: Tokens = None, **given: Any) -> Annotated[CallToolResult, Found]:
        """OWL, SKOS and the world's shapes declare what contradicts; the data suggest odd values."""
        return _found(service, service.world.contradictions(**given), token_budget)

    @tool(server, service, "duplicates", "Duplicates", most={"limit": 500}, limit=20)
    def duplicates(
        *,
        between: Annotated[
            list[str] | None, Field(min_length=2, max_length=2, description=VERBS["duplicates"].options["between"].help)
        ] = None,
        token_budget: Tokens = None,
        **given: Any,
    ) -> Annotated[CallToolResult, Found]:
        """`propose` takes a pair to merge."""
        found = service.world.duplicates(between=between, **given)  # type: ignore[arg-type]
        return _found(service, found, token_budget)

    @tool(server, service, "report", "Report")
    def report(*, token_budget: Tokens = None, **given: Any) -> Annotated[CallToolResult, Reported]:
        """It gives counts, examples, and queries that give all."""
        return _reported(service.world.report(**given), service, token_budget)


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
    return answer(lines, Found(counts=found.counts, causes=causes, findings=shown, notes=notes))


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
