"""What the tests of the MCP server's tools share."""

from __future__ import annotations

from mcp import Client
from mcp.types import TextResourceContents

from tests.support.mcp_clients import Agent

READING = {
    "schema": ["limit", "graphs", "matching", "token_budget"],
    "describe": ["iri", "limit", "language", "graphs", "token_budget"],
    "form": ["iri", "types", "language", "token_budget"],
    "history": [
        "limit", "entity", "predicate", "graph", "author", "message", "since", "until", "before",
        "revision", "token_budget",
    ],
    "provenance": ["subject", "predicate", "object", "graph", "why", "token_budget"],
    "validate": ["subjects", "timeout", "token_budget"],
    "search": [
        "query", "limit", "mode", "subjects", "predicates", "types", "subclasses", "graphs", "sources", "languages",
        "where", "exclude", "min_similarity", "related", "rerank", "boost", "decay", "diversity",
        "group_by", "per_subject", "cursor", "full_text", "facets", "sql", "entailed", "token_budget",
    ],
    "context": ["question", "hops", "types", "language", "graphs", "as_of", "entailed", "token_budget"],
    "brief": ["question", "graphs", "as_of", "token_budget"],
    "similar": [
        "iri", "limit", "subjects", "predicates", "types", "subclasses", "graphs", "sources", "languages", "where",
        "exclude", "cursor", "mode", "token_budget",
    ],
    "resolve": ["names", "types", "graphs", "exclude", "limit", "context"],
    "mentions": ["text", "types", "graphs", "token_budget"],
    "verify": ["subject", "predicate", "object", "at", "graphs", "token_budget"],
    "contradictions": ["suggested", "kinds", "author", "entity", "graphs", "after", "limit", "token_budget"],
    "duplicates": ["types", "graphs", "score", "limit", "keep", "again", "between", "token_budget"],
    "report": ["after", "token_budget"],
    "sparql": ["query", "union", "limit", "format", "timeout", "entailed", "token_budget"],
}  # fmt: skip
PROPOSING = {
    "propose": ["why", "add", "remove", "merge", "confidence", "kind", "relies_on", "again"],
    "propose_all": ["of", "minimum", "limit"],
    "amend": ["id", "why", "add", "remove", "confidence"],
    "proposals": ["status", "author", "entity", "kind", "minimum", "limit", "after"],
}
WRITING = {
    "update": ["update", "union", "message"],
    "add": ["quads", "message"],
    "tell": ["facts", "graph", "vocabulary", "message", "dry_run", "scope"],
    "undo": ["revision", "force", "message"],
    "sync": ["name", "again", "message"],
    **PROPOSING,
}


async def read(client: Client, uri: str) -> str:
    (content,) = (await client.read_resource(uri)).contents
    assert isinstance(content, TextResourceContents)
    return content.text


async def answer_a_question(agent: Agent) -> None:
    """Which rovers on Mars landed since 2000, and what does the world tell of water there?"""
    schema = await agent.data("schema", matching="land")
    landed = next(one["iri"] for one in schema["predicates"] if one["iri"] == "s:landed")
    resolved = await agent.data("resolve", names="Mars", context="the red planet")
    mars = resolved["names"][0]["candidates"][0]["iri"]
    query = f"SELECT ?r ?d {{ ?r a s:Rover ; s:target {mars} ; {landed} ?d FILTER(?d > '2000-01-01'^^xsd:date) }}"
    rows = (await agent.data("sparql", query=query + " ORDER BY ?d"))["rows"]
    assert [row[0] for row in rows] == ["ex:Spirit", "ex:Opportunity", "ex:Curiosity", "ex:Perseverance", "ex:Zhurong"]
    found = await agent.data(
        "search", query="water", languages="en", where=f"?subject a s:Rover ; s:target {mars} ; {landed} ?d", limit=3
    )
    cited = {one["subject"]: one["quad"] for one in found["citations"]}
    assert cited.keys() <= {row[0] for row in rows} | {"ex:Sojourner"}
    assert "ex:Curiosity" in cited
    about = await agent.data("describe", iri="ex:Curiosity")
    quoted = cited["ex:Curiosity"].partition('"')[2].partition("…")[0]
    assert any(quoted in value for one in about["properties"] for value in one["values"])
