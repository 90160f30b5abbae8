"""The table of what the server can be asked: routes, parameters, bodies, answers. Routing and OpenAPI come from it."""

from __future__ import annotations

from dataclasses import replace

from worlds.server.api.curation_operations import curation_operations, finding_operations
from worlds.server.api.operation import BESIDE, JSON, SEVERAL, Answer, Operation, answered, of, of_several
from worlds.server.api.parameters import Parameter, options_of
from worlds.server.api.protocol_operations import protocol_operations

_FACETS = Parameter("facets", "boolean", "Count the types, predicates, graphs and languages.", default=False)
_NAMES_SCHEMA = {
    "type": "array",
    "items": {
        "oneOf": [
            {"type": "string"},
            {
                "type": "object",
                "properties": {"name": {"type": "string"}, "context": {"type": ["string", "null"]}},
                "required": ["name"],
            },
        ]
    },
}
_NAMES = Parameter(
    "names", "json", "The names, or objects with name and context.", True, most=1000, schema=_NAMES_SCHEMA
)
_JSON = "The same, with the options as a JSON object"


def operations() -> tuple[Operation, ...]:
    """All operations."""
    hits, options = answered("The hits.", "SearchResults"), options_of("search")
    return (
        of("search", "GET", "/search", hits, _FACETS, BESIDE),
        of("search", "POST", "/search", hits, _FACETS, BESIDE, name="search_post", help=f"{_JSON}."),
        Operation(
            "search_several",
            "GET",
            "/search",
            "Search several worlds as one.",
            parameters=(SEVERAL, *options, _FACETS),
            **of_several("The hits.", "SearchResults"),
        ),
        Operation(
            "search_several_post",
            "POST",
            "/search",
            f"{_JSON}; the worlds are in the address.",
            parameters=(SEVERAL,),
            fields=(*options, _FACETS),
            **of_several("The hits.", "SearchResults"),
        ),
        of(
            "context", "GET", "/context", answered("The text, and the facts that it cites by their numbers.", "Context")
        ),
        of("brief", "GET", "/brief", answered("The text, and its parts.", "Brief")),
        of("describe", "GET", "/entities/{iri}", answered("The description.", "Description")),
        of("chunk", "GET", "/chunks/{id}", answered("The passage.", "Passage")),
        of("timeline", "GET", "/timeline", answered("The facts and their intervals.", "Timeline")),
        of("mint", "GET", "/mint", answered("The IRI, and whether it is new.", "Minted")),
        of("similar", "GET", "/similar", answered("A hit for each entity.", "SearchResults")),
        of("resolve", "GET", "/resolve", answered("The candidates.", "Resolution")),
        of(
            "resolve_all",
            "POST",
            "/resolve",
            answered("One resolution for each name, in their order.", "Resolutions"),
            _NAMES,
            leave=("names",),
        ),
        *finding_operations(),
        of("history", "GET", "/history", answered("The revisions.", "Entries"), defaults={"limit": 50}),
        of("provenance", "GET", "/provenance", answered("The quads, each with its revisions.", "Provenances")),
        Operation(
            "revision",
            "GET",
            "/history/{revision}",
            "Tell what a revision did.",
            "read",
            answered("The revision and its quads.", "RevisionDetails"),
            parameters=(
                replace(options_of("undo")[0], where="path"),
                Parameter("limit", "integer", "The most quads of each list.", default=1000, least=0, most=100_000),
            ),
        ),
        of(
            "undo",
            "POST",
            "/history/{revision}/undo",
            answered("The change.", "Change"),
            body_optional=True,
            errors=(409,),
        ),
        of("edit", "POST", "/quads", answered("The change.", "Change"), errors=(409,)),
        of("labels", "POST", "/labels", answered("The labels, by IRI.", "Labels")),
        of("form", "GET", "/form", answered("The fields, with their values.", "Form")),
        Operation(
            "access",
            "GET",
            "/access",
            "Tell who asks, and what they may do in this world.",
            "read",
            answered("The level, and the graphs that are seen.", "Access"),
        ),
        *curation_operations(),
        of("stats", "GET", "/stats", answered("The figures.", "Stats")),
        of("schema", "GET", "/schema", answered("Classes, predicates, graphs and languages.", "Schema")),
        of("validate", "GET", "/validate", answered("The violations.", "ValidationReport")),
        of(
            "validate",
            "POST",
            "/validate",
            answered("The violations.", "ValidationReport"),
            Parameter("shapes", "text", "The shapes, as Turtle.", True, most=1_000_000),
            name="validate_post",
            help="Validate the data against other shapes than the world's.",
        ),
        Operation(
            "prefixes",
            "GET",
            "/prefixes",
            "List the prefixes.",
            "read",
            answered("Prefix and IRI of each.", "Prefixes"),
        ),
        of("bind", "POST", "/prefixes", answered("All prefixes.", "Prefixes")),
        Operation(
            "policy",
            "GET",
            "/policy",
            "Tell what is text, and what queries see.",
            "read",
            answered("All of it.", "Policy"),
        ),
        Operation(
            "change_policy",
            "POST",
            "/policy",
            "Change what is text, and what queries see.",
            "admin",
            answered("All of it, as it is then.", "Policy"),
            fields=(
                Parameter(
                    "changes", "json", "The fields to change, and their values.", True, example={"profiles": True}
                ),
            ),
        ),
        Operation(
            "sources",
            "GET",
            "/sources",
            "List what the world follows, with the state of the last runs.",
            "read",
            answered("The sources.", "Sources"),
        ),
        Operation(
            "questions",
            "GET",
            "/questions",
            "List the kept questions, or those that are nearest to one.",
            "read",
            answered("The questions, by their IRIs; or the nearest ones first.", "Questions"),
            parameters=(
                Parameter(
                    "near", "text", "Only the questions nearest to this one, and how near they are.", most=10_000
                ),
                Parameter("limit", "integer", "The number of questions at most.", default=100, least=1, most=1000),
            ),
        ),
        Operation(
            "broken_questions",
            "GET",
            "/questions/broken",
            "Ask the queries of all kept questions anew, and tell which are broken.",
            "read",
            answered("The questions, by their IRIs.", "BrokenQuestions"),
        ),
        Operation(
            "keep_question",
            "POST",
            "/questions",
            "Keep a question with its query, in the place of the query that is kept for it.",
            "write",
            answered("The revision.", "Change"),
            fields=(
                Parameter("question", "text", "The question.", True, most=10_000),
                Parameter("query", "text", "A SPARQL query; it is asked once, within limits.", True, most=1_000_000),
                Parameter("description", "text", "What there is to say of it.", most=10_000),
                Parameter("message", "text", "The reason for the change, for the history.", most=10_000),
            ),
        ),
        Operation(
            "forget_question",
            "DELETE",
            "/questions",
            "Keep a question no longer.",
            "write",
            answered("The revision.", "Change"),
            parameters=(Parameter("question", "text", "The question, or its IRI.", True, most=10_000),),
        ),
        of("sync", "POST", "/sync", answered("What each run came to.", "Runs"), body_optional=True, errors=(409,)),
        Operation(
            "page",
            "GET",
            "",
            "The web page of the world.",
            None,
            {200: Answer("The page.", {"text/html": None}), 304: Answer("It has not changed.")},
            tag="Page",
        ),
        *protocol_operations(),
        Operation(
            "worlds",
            "GET",
            "/worlds",
            "List the worlds that one may read.",
            None,
            answered("The worlds, by name.", "Worlds"),
            of_world=False,
            errors=(401,),
            tag="Server",
        ),
        Operation(
            "create_world",
            "PUT",
            "/worlds/{world}",
            "Make a world.",
            "admin",
            {201: Answer("It is made.", {JSON: "WorldSummary"})},
            of_world=False,
            errors=(409,),
            tag="Server",
        ),
        Operation(
            "delete_world",
            "DELETE",
            "/worlds/{world}",
            "Delete a world, with its history.",
            "admin",
            {204: Answer("It is gone.")},
            of_world=False,
            tag="Server",
        ),
        Operation(
            "health",
            "GET",
            "/health",
            "Whether the server is ready: whether a worker answers.",
            None,
            answered("It is.", "Health"),
            of_world=False,
            tag="Server",
        ),
        Operation(
            "alive",
            "GET",
            "/health/live",
            "Whether the server runs at all.",
            None,
            answered("It does.", "Health"),
            of_world=False,
            tag="Server",
        ),
        Operation(
            "metrics",
            "GET",
            "/metrics",
            "Counters for Prometheus.",
            "read",
            {200: Answer("The counters.", {"text/plain": None})},
            of_world=False,
            tag="Server",
        ),
        Operation(
            "openapi",
            "GET",
            "/openapi.json",
            "This document.",
            None,
            answered("The document.", "Object"),
            of_world=False,
            tag="Server",
        ),
        Operation(
            "index",
            "GET",
            "/",
            "The web page; of a server with several worlds, their list.",
            None,
            {200: Answer("The page.", {"text/html": None}), 304: Answer("It has not changed.")},
            of_world=False,
            tag="Page",
        ),
        Operation(
            "page_file",
            "GET",
            "/page/{name}",
            "A file of the web page.",
            None,
            {200: Answer("The file."), 304: Answer("It has not changed.")},
            of_world=False,
            parameters=(Parameter("name", "text", "Its name.", True, where="path"),),
            errors=(404,),
            tag="Page",
        ),
    )
