"""The tools that find what is wrong: contradictions, duplicates, report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from mcp.server import MCPServer
from mcp.types import CallToolResult
from pydantic import BaseModel, Field

from worlds.mcp.answers import plain
from worlds.mcp.arguments import Graphs, Tokens, Types
from worlds.mcp.rendering import clip
from worlds.mcp.searching import READS
from worlds.mcp.toolbox import Service, answer, listed

if TYPE_CHECKING:
    from worlds.curation.findings.findings import Finding, Findings

_CUT = 400  # characters of a sentence

Most = Annotated[int, Field(ge=1, le=500, description="The most findings, of contradictions of each kind.")]


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


class Reported(BaseModel):
    """The report on a world."""

    quads: int
    entities: int
    checks: list[CheckShown]
    notes: list[str]


def register(server: MCPServer[Any], service: Service) -> None:
    """Add the tools."""

    async def contradictions(
        suggested: Annotated[
            bool, Field(description="Also what the data suggest, such as odd values; else what is declared alone.")
        ] = True,
        limit: Most = 20,
        token_budget: Tokens = None,
    ) -> Annotated[CallToolResult, Found]:
        """Find what contradicts itself: by OWL, SKOS and the world's shapes, and by what the data suggest."""

        def work() -> CallToolResult:
            with service.explained():
                found = service.world.contradictions(suggested=suggested, limit=limit)
                return _found(service, found, token_budget)

        return await service.run(work)

    async def duplicates(
        types: Types = None,
        graphs: Graphs = None,
        probability: Annotated[float, Field(ge=0, le=1, description="The least probability.")] = 0.5,
        limit: Most = 20,
        token_budget: Tokens = None,
    ) -> Annotated[CallToolResult, Found]:
        """Find pairs of entities that may be one, with what is for and against it; `propose` takes them to merge."""

        def work() -> CallToolResult:
            with service.explained():
                found = service.world.duplicates(
                    types=listed(types), graphs=listed(graphs), probability=probability, limit=limit
                )
                return _found(service, found, token_budget)

        return await service.run(work)

    async def report(token_budget: Tokens = None) -> Annotated[CallToolResult, Reported]:
        """Tell what the world lacks and what is untidy in it: counts, examples, and queries that give all."""

        def work() -> CallToolResult:
            with service.explained():
                return _reported(service, token_budget)

        return await service.run(work)

    for tool, title in (
        (contradictions, "Contradictions"),
        (duplicates, "Duplicates"),
        (report, "Report"),
    ):
        server.add_tool(tool, title=title, annotations=READS)


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
    text = "\n".join([*map(line, shown), *notes])
    return answer(text, Found(counts=found.counts, findings=shown, notes=notes))


def _reported(service: Service, tokens: int | None) -> CallToolResult:
    found = service.world.report()
    checks = [
        CheckShown.model_validate({name: told[name] for name in CheckShown.model_fields})
        for told in found.to_dicts()
        if told["count"]
    ]

    def line(one: CheckShown) -> str:
        return f"{one.level}: {one.count:,} {one.title}: {clip('; '.join(one.examples), _CUT)}"

    shown = service.budget(tokens).fill(checks, lambda one: (line(one), plain(one)))
    notes = [] if checks else ["Nothing was found."]
    if len(shown) < len(checks):
        notes.append(f"{len(checks) - len(shown)} checks are not shown: raise `token_budget`.")
    text = "\n".join([f"{found.quads:,} quads, {found.entities:,} entities", *map(line, shown), *notes])
    return answer(text, Reported(quads=found.quads, entities=found.entities, checks=shown, notes=notes))
