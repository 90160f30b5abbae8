"""Resources (the schema, the prefixes, the guide, entities) and prompts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError
from mcp.server.mcpserver.resources import ResourceSecurity
from mcp.types import CallToolResult, TextContent
from pydantic import Field

from worlds.doors.mcp import guide
from worlds.doors.mcp.describing import described, overview
from worlds.doors.mcp.toolbox import EXPECTED, Service
from worlds.world import World

_TURTLE = "text/turtle"
_PLAIN = "text/plain"
Question = Annotated[str, Field(description="The question.")]


def _sources(world: World) -> str:
    """A line for each source; a scope has none."""
    if world.file.view.graphs is not None:
        return "A scope has no sources."
    told = [
        f"{one.name} ({one.kind}) in {one.graph}: {one.files:,} files, {len(one.errors):,} errors, "
        + ("" if one.trusted else "not trusted on this machine, so not read; ")
        + ("never read" if one.run is None else f"read at {one.run:%Y-%m-%d %H:%M} UTC")
        for one in world.sources
    ]
    return "\n".join(told) or "The world has no sources."


def register(server: MCPServer[Any], service: Service) -> None:
    """Add resources and prompts."""

    @server.resource("world://schema", name="schema", title="Schema", mime_type=_PLAIN)
    async def schema() -> str:
        """Classes, predicates, counts, examples, graphs, languages and prefixes."""
        return await _read(service, lambda: overview(service, limit=100, tokens=None))

    @server.resource("world://prefixes", name="prefixes", title="Prefixes", mime_type=_TURTLE)
    async def prefixes() -> str:
        """All prefixes that need no declaration."""
        known = await service.run(lambda: service.world.prefixes)
        return "".join(f"@prefix {prefix}: <{iri}> .\n" for prefix, iri in known.items())

    @server.resource("world://sources", name="sources", title="Sources", mime_type=_PLAIN)
    async def sources() -> str:
        """The sources that the world follows, for `sync`: name, kind, graph, files, errors, last run."""
        return await service.run(lambda: _sources(service.world))

    @server.resource("world://guide", name="guide", title="How to ask", mime_type="text/markdown")
    async def how_to_ask() -> str:
        """How to ask this world, and how to search inside SPARQL."""
        return guide.guide()

    @server.resource(
        "world://entity/{iri}",
        name="entity",
        title="Entity",
        mime_type=_PLAIN,
        security=ResourceSecurity(exempt_params={"iri"}),  # it is a name in a graph, never a path
    )
    async def entity(iri: str) -> str:
        """The description of an entity, by prefixed name or percent-encoded IRI."""
        return await _read(service, lambda: described(service, iri=iri, limit=20, tokens=None), missing=True)

    @server.prompt(name="answer_with_citations", title="Answer with citations")
    def answer_with_citations(question: Question) -> str:
        """Answer a question from this world alone, each statement with its source."""
        return guide.CITE.format(question=question)

    @server.prompt(name="write_query", title="Write a query")
    def write_query(question: Question) -> str:
        """Write a SPARQL query for a question, run it, and correct it until it answers."""
        return guide.WRITE.format(question=question)


async def _read(service: Service, tell: Callable[[], CallToolResult], *, missing: bool = False) -> str:
    """The text of an answer; an expected error becomes one of the protocol, with the same hints."""
    try:
        found = await service.run(tell)
    except EXPECTED as error:
        kind = ResourceNotFoundError if missing else ResourceError
        raise kind(service.hints.error(error)) from error
    (content,) = found.content
    assert isinstance(content, TextContent)
    return content.text
