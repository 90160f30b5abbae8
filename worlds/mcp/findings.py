"""The tools that find what is wrong: contradictions, duplicates, report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from mcp.server import MCPServer
from mcp.types import CallToolResult
from pydantic import BaseModel, Field

from worlds.mcp.answers import plain
from worlds.mcp.rendering import clip
from worlds.mcp.toolbox import Service, answer
from worlds.mcp.tools import Tokens, tool
from worlds.verbs.table import VERBS

if TYPE_CHECKING:
    from worlds.curation.findings.findings import Finding, Findings
    from worlds.curation.findings.report import WorldReport

_CAUSES = 5  # that are told
_CUT = 400  # characters of a sentence


class FindingShown(BaseModel):
    """Something that is wrong, or may be."""

    kind: str
    severity: str
    score: float
    message: str
    subjects: list[str]
    authors: list[str] = Field(description="Who wrote the quads that bear it out.")


class Found(BaseModel):
    """What was found."""

    counts: dict[str, int] = Field(description="How many there are of each kind.")
    causes: list[str] = Field(description="What several findings have in common, what explains most first.")
    findings: list[FindingShown]
    notes: list[str]


class CheckShown(BaseModel):
    """One thing that a world lacks, or that is untidy in it."""

    name: str
    level: str
    title: str
    count: int
    examples: list[str]
    query: str = Field(description="SPARQL that gives all, over the union of all graphs.")
    new: int | None


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
            list[str] | None,
            Field(min_length=2, max_length=2, description=VERBS["duplicates"].options["between"].help),
        ] = None,
        token_budget: Tokens = None,
        **given: Any,
    ) -> Annotated[CallToolResult, Found]:
        """`propose` takes a pair to merge."""
        pair = None if between is None else (between[0], between[1])
        return _found(service, service.world.duplicates(between=pair, **given), token_budget)

    @tool(server, service, "report", "Report")
    def report(*, token_budget: Tokens = None, **given: Any) -> Annotated[CallToolResult, Reported]:
        """It gives counts, examples, and queries that give all."""
        return _reported(service.world.report(**given), service, token_budget)


def _found(service: Service, found: Findings[Any], tokens: int | None) -> CallToolResult:
    terms = service.terms()

    def told(one: Finding) -> FindingShown:
        authors = {said.added.author for said in one.quads if said.added is not None and said.added.author}
        return FindingShown(
            kind=one.kind,
            severity=one.severity,
            score=round(one.score, 3),
            message=clip(one.message, _CUT),
            subjects=[terms.show(subject) for subject in one.subjects],
            authors=sorted(authors),
        )

    def line(one: FindingShown) -> str:
        return f"{one.severity} {one.kind} {one.score:.2f}: {one.message}" + (
            f" (by {', '.join(one.authors)})" if one.authors else ""
        )

    every = [told(one) for one in found]
    shown = service.budget(tokens).fill(every, lambda one: (line(one), plain(one)))
    hidden = sum(found.counts.values()) - len(shown)
    notes = [f"{hidden:,} more are not shown: raise `limit` or `token_budget`."] if hidden else []
    if not every:
        notes.append("Nothing was found.")
    causes = _causes(found)
    text = "\n".join([*(f"cause: {one}" for one in causes), *map(line, shown), *notes])
    return answer(text, Found(counts=found.counts, causes=causes, findings=shown, notes=notes))


def _causes(found: Findings[Any] | WorldReport) -> list[str]:
    return [clip(one.message, _CUT) for one in found.causes[:_CAUSES]]


def _reported(found: WorldReport, service: Service, tokens: int | None) -> CallToolResult:
    checks = [
        CheckShown.model_validate({name: told[name] for name in CheckShown.model_fields})
        for told in found.to_dicts()
        if told["count"]
    ]

    def line(one: CheckShown) -> str:
        new = f" ({one.new:,} new)" if one.new else ""
        return f"{one.level}: {one.count:,}{new} {one.title}: {clip('; '.join(one.examples), _CUT)}"

    shown = service.budget(tokens).fill(checks, lambda one: (line(one), plain(one)))
    notes = [] if checks else ["Nothing was found."]
    if len(shown) < len(checks):
        notes.append(f"{len(checks) - len(shown)} checks are not shown: raise `token_budget`.")
    causes = _causes(found)
    told = (f"cause: {one}" for one in causes)
    text = "\n".join([f"{found.quads:,} quads, {found.entities:,} entities", *told, *map(line, shown), *notes])
    return answer(text, Reported(quads=found.quads, entities=found.entities, causes=causes, checks=shown, notes=notes))
