"""The table of what the server can be asked: routes, parameters, bodies, answers. Routing and OpenAPI come from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from worlds.server.api.parameters import Parameter, search_options
from worlds.server.http.base import Scope

Method = Literal["GET", "HEAD", "POST", "PUT", "DELETE"]
JSON = "application/json"
_TURTLE = "text/turtle"
_NQUADS = "application/n-quads"
_RESULTS = "application/sparql-results+json"
_GRAPHS = (_TURTLE, "application/n-triples", _NQUADS, "application/trig", "application/rdf+xml", "application/ld+json")


@dataclass(frozen=True)
class Answer:
    """What an operation gives when all goes well: media type → the schema of its JSON, None for other content."""

    help: str
    content: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Operation:
    """One method of one path. `path` follows the world's address if `of_world`, else it is the server's.

    `body` maps media types to the name of a schema, None for other content; the fields of a JSON body are `fields`.
    Those of `several` worlds are there where a folder is served. `errors` are those beyond what every operation can
    answer.
    """

    name: str
    method: Method
    path: str
    help: str
    scope: Scope | None
    answers: Mapping[int, Answer]
    of_world: bool = True
    several: bool = False
    parameters: tuple[Parameter, ...] = ()
    fields: tuple[Parameter, ...] | None = None
    body: Mapping[str, str | None] | None = None
    body_optional: bool = False
    errors: tuple[int, ...] = ()
    tag: str = "World"


def _several(help: str, schema: str) -> dict[str, Any]:
    """What searches of several worlds have in common."""
    return {"scope": "read", "answers": _json(help, schema), "of_world": False, "several": True, "errors": (404,)}


def _json(help: str, schema: str) -> Mapping[int, Answer]:
    return {200: Answer(help, {JSON: schema})}


_ENTITY = "IRI or prefixed name; in a path it is percent-encoded."
_FACETS = Parameter("facets", "boolean", "Whether types, predicates, graphs and languages are counted.", default=False)
_BESIDE = Parameter("world", "texts", "Other worlds of this server that are taken with this one, as one.")
_SEVERAL = Parameter("world", "texts", "The worlds that are taken as one, by their names; may be repeated.", True)
_Q = Parameter("q", "text", "What is sought.", required=True, most=100_000, example="solar cells")
_LIMIT = Parameter("limit", "integer", "The most values of each predicate.", default=20, least=1, most=10_000)
_TYPES = Parameter("types", "texts", "Only entities of these types.")
_IN_GRAPHS = Parameter("graphs", "texts", 'Only what these graphs say; "default" is the default graph.')
_CANDIDATES = Parameter("limit", "integer", "The most candidates of a name.", default=5, least=1, most=100)
_MESSAGE = Parameter("message", "text", "What the history says of it.", most=10_000)
_REVISION = Parameter(
    "revision", "integer", "The number of a revision.", True, least=1, most=2**31 - 1, where="path", example=1
)
_FORCE = Parameter("force", "boolean", "Leave quads that changed since as they are.", default=False)
_QUADS = {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}

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
_CLAIM = {
    "oneOf": [
        {"type": "string"},
        {"type": "array", "items": {"type": ["string", "number", "boolean"]}, "minItems": 3, "maxItems": 3},
    ],
    "example": ["ex:a", "rdf:type", "ex:C"],
}
_NAMES = Parameter("names", "json", "Names, or objects with name and context.", True, most=1000, schema=_NAMES_SCHEMA)

_DATASET = (
    Parameter("default-graph-uri", "texts", "A graph of the default graph; may be repeated."),
    Parameter("named-graph-uri", "texts", "A named graph; may be repeated."),
)
_UNION = Parameter("union", "boolean", "Whether a query that names no graph sees all graphs together.")
_UPDATED = (
    Parameter("using-graph-uri", "texts", "A graph that patterns are matched in; may be repeated."),
    Parameter("using-named-graph-uri", "texts", "A named graph for patterns; may be repeated."),
)
_GRAPH = (
    Parameter("graph", "text", "The graph, by IRI."),
    Parameter("default", "text", "Names the default graph; it has no value."),
)
_IF_MATCH = Parameter("If-Match", "text", "Only if the graph is as it was.", where="header")
_IF_NONE_MATCH = Parameter("If-None-Match", "text", "Only if the graph has changed.", where="header")

_SPARQL_ANSWERS = {
    200: Answer(
        "The answer, in the type that Accept names; the service description where there is no query.",
        {
            _RESULTS: None,
            "application/sparql-results+xml": None,
            "text/csv": None,
            "text/tab-separated-values": None,
            **dict.fromkeys(_GRAPHS),
        },
    ),
    204: Answer("The update is done."),
}
_GRAPH_BODY = dict.fromkeys(_GRAPHS)
_GRAPH_ANSWER = Answer("The graph.", dict.fromkeys(_GRAPHS))
_WRITTEN = {200: Answer("It is done."), 201: Answer("The graph was made."), 204: Answer("It is done.")}


def _graph_operations(path: str, suffix: str, parameters: tuple[Parameter, ...]) -> tuple[Operation, ...]:
    """The Graph Store Protocol on one of its two kinds of addresses."""
    write = {"scope": "write", "tag": "Graph Store", "parameters": (*parameters, _IF_MATCH, _IF_NONE_MATCH)}
    read: dict[str, Any] = {**write, "scope": "read", "errors": (406, 412)}
    wrote: dict[str, Any] = {**write, "errors": (412,)}
    sent: dict[str, Any] = {**wrote, "body": _GRAPH_BODY, "answers": _WRITTEN}
    not_modified = Answer("It has not changed.")
    return (
        Operation(
            f"get_graph{suffix}",
            "GET",
            path,
            "Read a graph.",
            answers={200: _GRAPH_ANSWER, 304: not_modified},
            **read,
        ),
        Operation(
            f"head_graph{suffix}",
            "HEAD",
            path,
            "Ask about a graph.",
            answers={200: Answer("The graph is there."), 304: not_modified},
            **read,
        ),
        Operation(f"put_graph{suffix}", "PUT", path, "Replace a graph.", **sent),
        Operation(
            f"post_graph{suffix}",
            "POST",
            path,
            "Add to a graph; at the address of the store itself, make one.",
            **{**sent, "body": {**_GRAPH_BODY, "multipart/form-data": None}},
        ),
        Operation(f"delete_graph{suffix}", "DELETE", path, "Delete a graph.", answers=_WRITTEN, **wrote),
    )


_OF_LINKS = (
    _TYPES,
    _IN_GRAPHS,
    Parameter("predicates", "texts", "Only literals under these predicates."),
    Parameter("limit", "integer", "The most links.", default=100, least=1, most=10_000),
    Parameter("minimum", "number", "The least confidence.", default=0.5, least=0, most=1),
)
_OF_CONTRADICTIONS = (
    Parameter("suggested", "boolean", "Also what the data suggest, not only what is declared.", default=True),
    Parameter("limit", "integer", "The most of each kind.", default=100, least=1, most=10_000),
)
_OF_DUPLICATES = (
    _TYPES,
    _IN_GRAPHS,
    Parameter("between", "texts", "Given twice: the entities of one graph with those of another."),
    Parameter("probability", "number", "The least probability.", default=0.5, least=0, most=1),
    Parameter("limit", "integer", "The most pairs.", default=100, least=1, most=10_000),
)


def _curation() -> tuple[Operation, ...]:
    """Merging, and what is proposed and decided."""
    number = Parameter(
        "number", "integer", "The number of a proposal.", True, least=1, most=2**31 - 1, where="path", example=1
    )
    why = Parameter("why", "text", "The reason.", most=10_000)
    sure = Parameter("confidence", "number", "How sure it is, from 0 to 1.", least=0, most=1)
    change = (
        Parameter("add", "json", "What is to be added: N-Quads, a text or a list of them.", schema=_QUADS),
        Parameter("remove", "json", "What is to be removed, likewise.", schema=_QUADS),
        Parameter("update", "text", "A SPARQL Update that says it.", most=1_000_000),
    )
    changed, proposed = _json("What was done.", "Change"), _json("The proposal.", "Proposal")
    decide: dict[str, Any] = {"scope": "write", "body_optional": True, "errors": (409,), "tag": "Curation"}
    return (
        Operation(
            "merge",
            "POST",
            "/merge",
            "Let an entity take the place of others, in all graphs and positions.",
            answers=changed,
            fields=(
                Parameter("kept", "text", "The entity that stays: " + _ENTITY, True, most=10_000),
                Parameter("others", "texts", "Those that it replaces.", True),
                Parameter("redirect", "text", "owl:sameAs or dcterms:isReplacedBy: how the old names lead on."),
                Parameter("conflicts", "text", "report, kept, newest or refuse: of functional properties."),
                _MESSAGE,
            ),
            **{**decide, "body_optional": False},
        ),
        Operation(
            "split",
            "POST",
            "/history/{revision}/split",
            "Take a merge back, whatever has changed since.",
            answers=_json("What was done, and the quads that were added since.", "Split"),
            parameters=(_REVISION,),
            fields=(_MESSAGE,),
            **decide,
        ),
        Operation(
            "propose",
            "POST",
            "/proposals",
            "Propose a change; nothing of it is in the world before it is accepted.",
            "propose",
            {201: Answer("The proposal.", {JSON: "Proposal"})},
            fields=(
                *change,
                Parameter("merge", "texts", "Entities to merge, the one to keep first."),
                why,
                sure,
                Parameter("kind", "text", "A word to find it by.", most=100),
            ),
            tag="Curation",
        ),
        Operation(
            "proposals",
            "GET",
            "/proposals",
            "List what is proposed, the oldest first.",
            "read",
            _json("The proposals.", "Proposals"),
            parameters=(
                Parameter("status", "text", "open, accepted, rejected or any.", default="open"),
                Parameter("author", "text", "Only those of this author.", most=10_000),
                Parameter("entity", "text", "Only those on this entity.", most=10_000),
                Parameter("kind", "text", "Only those of this kind.", most=100),
                Parameter("limit", "integer", "The most proposals.", default=100, least=1, most=10_000),
            ),
            tag="Curation",
        ),
        Operation(
            "proposal",
            "GET",
            "/proposals/{number}",
            "Tell what is proposed, and whether what it relies on has changed.",
            "read",
            proposed,
            parameters=(number,),
            tag="Curation",
        ),
        Operation(
            "accept",
            "POST",
            "/proposals/{number}/accept",
            "Make the change of a proposal.",
            answers=changed,
            parameters=(number,),
            fields=(why, Parameter("force", "boolean", "Also if what it relies on has changed.", default=False)),
            **decide,
        ),
        Operation(
            "reject",
            "POST",
            "/proposals/{number}/reject",
            "Decide that the change of a proposal is not made.",
            answers=proposed,
            parameters=(number,),
            fields=(why,),
            **decide,
        ),
        Operation(
            "amend",
            "POST",
            "/proposals/{number}/amend",
            "Say something of a proposal, and put another change in its place, if one is given.",
            answers=proposed,
            parameters=(number,),
            fields=(*change, why, sure),
            **{**decide, "scope": "propose"},
        ),
        Operation(
            "remark",
            "POST",
            "/proposals/{number}/remarks",
            "Say something of a proposal.",
            answers=proposed,
            parameters=(number,),
            fields=(why, sure),
            **{**decide, "scope": "propose"},
        ),
        *(
            Operation(
                f"propose_{verb}",
                "POST",
                path,
                f"Propose what would put right what is found, each by itself, but for what waits already: {what}.",
                "propose",
                {201: Answer("The proposals that were made.", {JSON: "Proposals"})},
                fields=options,
                body_optional=True,
                tag="Curation",
            )
            for verb, path, what, options in (
                ("contradictions", "/contradictions", "quads to remove", _OF_CONTRADICTIONS),
                ("duplicates", "/duplicates", "merges", _OF_DUPLICATES),
                ("suggest_links", "/links", "links in the place of literals, or beside them", _OF_LINKS),
            )
        ),
    )


def operations() -> tuple[Operation, ...]:
    """All of them."""
    options = search_options()
    similar = tuple(option for option in options if option.name not in ("vector", "group_by", "per_subject"))
    return (
        Operation(
            "search",
            "GET",
            "/search",
            "Find the texts that best answer a question, best first.",
            "read",
            _json("The hits.", "SearchResults"),
            parameters=(_Q, *options, _FACETS, _BESIDE),
        ),
        Operation(
            "search_post",
            "POST",
            "/search",
            "The same, with the options as a JSON object.",
            "read",
            _json("The hits.", "SearchResults"),
            fields=(_Q, *options, _FACETS, _BESIDE),
        ),
        Operation(
            "search_several",
            "GET",
            "/search",
            "Search several worlds as one.",
            parameters=(_SEVERAL, _Q, *options, _FACETS),
            **_several("The hits.", "SearchResults"),
        ),
        Operation(
            "search_several_post",
            "POST",
            "/search",
            "The same, with the options as a JSON object; the worlds are in the address.",
            parameters=(_SEVERAL,),
            fields=(_Q, *options, _FACETS),
            **_several("The hits.", "SearchResults"),
        ),
        Operation(
            "context",
            "GET",
            "/context",
            "Tell the facts and passages that bear on a question, for a language model.",
            "read",
            _json("The text, and the facts that it cites by their numbers.", "Context"),
            parameters=(
                Parameter("q", "text", "The question.", required=True, most=10_000, example="solar cells"),
                Parameter("budget", "integer", "About how many tokens.", default=2000, least=50, most=100_000),
                Parameter("hops", "integer", "How far facts may be from an entity.", default=2, least=0, most=2),
                _TYPES,
                Parameter("language", "text", "Labels in this language come first.", most=100),
            ),
        ),
        Operation(
            "entity",
            "GET",
            "/entities/{iri}",
            "Tell what the world says of an entity.",
            "read",
            _json("The description.", "Description"),
            parameters=(
                Parameter("iri", "text", _ENTITY, True, where="path", example="ex:a"),
                _LIMIT,
                Parameter("language", "text", "The reader's; labels and the description in it come first.", most=100),
            ),
        ),
        Operation(
            "similar",
            "GET",
            "/similar",
            "Find the entities that are most like one.",
            "read",
            _json("A hit for each.", "SearchResults"),
            parameters=(Parameter("iri", "text", "The entity: " + _ENTITY, True, example="ex:a"), *similar),
        ),
        Operation(
            "resolve",
            "GET",
            "/resolve",
            "Find the entity that a name means.",
            "read",
            _json("The candidates.", "Resolution"),
            parameters=(
                Parameter("name", "text", "The name.", True, most=10_000, example="Paris"),
                Parameter("context", "text", "The text around it.", most=100_000),
                _TYPES,
                _IN_GRAPHS,
                _CANDIDATES,
            ),
        ),
        Operation(
            "resolve_post",
            "POST",
            "/resolve",
            "Find the entities that many names mean.",
            "read",
            _json("One resolution for each name, in their order.", "Resolutions"),
            fields=(_NAMES, _TYPES, _IN_GRAPHS, _CANDIDATES),
        ),
        Operation(
            "mentions",
            "POST",
            "/mentions",
            "Find the entities that a text names, and where.",
            "read",
            _json("The mentions, in the order of the text.", "Mentions"),
            fields=(
                Parameter("text", "text", "The text, or a document's IRI.", True, most=1_000_000, example="in Paris"),
                _TYPES,
            ),
        ),
        Operation(
            "suggest_links",
            "GET",
            "/links",
            "Find literals that should be entities, and texts that name what their subject is not joined with.",
            "read",
            _json("The links, the surest first.", "Findings"),
            parameters=_OF_LINKS,
        ),
        Operation(
            "contradictions",
            "GET",
            "/contradictions",
            "Find what contradicts itself, and who said it.",
            "read",
            _json("What was found, the gravest first.", "Findings"),
            parameters=_OF_CONTRADICTIONS,
        ),
        Operation(
            "duplicates",
            "GET",
            "/duplicates",
            "Find pairs of entities that may be one, with what is for and against it.",
            "read",
            _json("The pairs, the likeliest first.", "Findings"),
            parameters=_OF_DUPLICATES,
        ),
        Operation(
            "report",
            "GET",
            "/report",
            "Tell what the world lacks and what is untidy in it.",
            "read",
            _json("Checks with counts, examples and queries.", "WorldReport"),
        ),
        Operation(
            "verify",
            "POST",
            "/verify",
            "Tell whether a claim is supported, contradicted or unknown, and why.",
            "read",
            _json("The outcome, the evidence, and the trail as PROV-O in Turtle.", "Verification"),
            fields=(
                Parameter(
                    "claim",
                    "json",
                    "A list of subject, predicate and object, as prefixed names, terms or names; or words.",
                    True,
                    most=100_000,
                    schema=_CLAIM,
                ),
                Parameter("at", "integer", "As it was after this revision.", least=0, most=2**31 - 1),
            ),
        ),
        Operation(
            "history",
            "GET",
            "/history",
            "List the revisions, newest first.",
            "read",
            _json("The revisions.", "History"),
            parameters=(
                Parameter("limit", "integer", "The most revisions.", default=50, least=1, most=10_000),
                Parameter("before", "integer", "Only revisions before this one.", least=1, most=2**31 - 1),
                Parameter(
                    "iri",
                    "text",
                    "Only those that changed a triple of this entity; the newest two hundred revisions are looked at.",
                ),
            ),
        ),
        Operation(
            "revision",
            "GET",
            "/history/{revision}",
            "Tell what a revision did.",
            "read",
            _json("The revision and its quads.", "Revision"),
            parameters=(
                _REVISION,
                Parameter("limit", "integer", "The most quads of each list.", default=1000, least=0, most=100_000),
            ),
        ),
        Operation(
            "undo",
            "POST",
            "/history/{revision}/undo",
            "Take back what a revision did, as a new revision.",
            "write",
            _json("What was done.", "Change"),
            parameters=(_REVISION,),
            fields=(_FORCE, _MESSAGE),
            body_optional=True,
            errors=(409,),
        ),
        Operation(
            "quads",
            "POST",
            "/quads",
            "Remove and add quads, as one revision.",
            "write",
            _json("What was done.", "Change"),
            fields=(
                Parameter("add", "json", "What is added: N-Quads, a text or a list of them.", schema=_QUADS),
                Parameter("remove", "json", "What is removed before, likewise.", schema=_QUADS),
                _MESSAGE,
            ),
            errors=(409,),
        ),
        *_curation(),
        Operation("stats", "GET", "/stats", "Tell what the world holds.", "read", _json("The figures.", "Stats")),
        Operation(
            "schema",
            "GET",
            "/schema",
            "Tell what the data look like: what one needs to write a query.",
            "read",
            _json("Classes, predicates, graphs and languages.", "Schema"),
            parameters=(
                Parameter("limit", "integer", "The most of each list.", default=50, least=1, most=10_000),
                _IN_GRAPHS,
            ),
        ),
        Operation(
            "validate",
            "GET",
            "/validate",
            "Validate the data against the world's own SHACL shapes.",
            "read",
            _json("What violates them.", "Report"),
            parameters=(Parameter("subjects", "texts", "Only these focus nodes, of those that the shapes target."),),
        ),
        Operation(
            "prefixes", "GET", "/prefixes", "List the prefixes.", "read", _json("Prefix and IRI of each.", "Prefixes")
        ),
        Operation(
            "bind",
            "POST",
            "/prefixes",
            "Declare a prefix, for queries, filters and exports.",
            "write",
            _json("All prefixes.", "Prefixes"),
            fields=(
                Parameter("prefix", "text", "The prefix, without its colon.", True, most=1000),
                Parameter("iri", "text", "What it stands for.", True, most=10_000),
            ),
        ),
        Operation(
            "policy",
            "GET",
            "/policy",
            "Tell what is text, and what queries see.",
            "read",
            _json("All of it.", "Policy"),
        ),
        Operation(
            "change_policy",
            "POST",
            "/policy",
            "Change what is text, and what queries see.",
            "admin",
            _json("All of it, as it is then.", "Policy"),
            fields=(
                Parameter(
                    "changes", "json", "The fields to change, and their values.", True, example={"profiles": True}
                ),
            ),
        ),
        Operation(
            "page",
            "GET",
            "",
            "The web page of the world.",
            None,
            {200: Answer("The page.", {"text/html": None}), 304: Answer("It has not changed.")},
            tag="Page",
        ),
        Operation(
            "query",
            "GET",
            "/sparql",
            "Answer a SPARQL query (SPARQL 1.1 Protocol).",
            "read",
            {200: _SPARQL_ANSWERS[200]},
            parameters=(Parameter("query", "text", "The query.", example="ASK {}"), *_DATASET, _UNION, _BESIDE),
            errors=(406,),
            tag="SPARQL",
        ),
        Operation(
            "sparql_post",
            "POST",
            "/sparql",
            "Answer a query, or run an update, which needs the scope write.",
            "read",
            _SPARQL_ANSWERS,
            parameters=(*_DATASET, *_UPDATED, _UNION, _BESIDE),
            body={
                "application/x-www-form-urlencoded": "SparqlForm",
                "application/sparql-query": None,
                "application/sparql-update": None,
            },
            errors=(406, 409),
            tag="SPARQL",
        ),
        Operation(
            "query_several",
            "GET",
            "/sparql",
            "Ask several worlds as one, and each as SERVICE <worlds:NAME>.",
            "read",
            {200: _SPARQL_ANSWERS[200]},
            of_world=False,
            several=True,
            parameters=(_SEVERAL, Parameter("query", "text", "The query.", example="ASK {}"), _UNION),
            errors=(404, 406),
            tag="SPARQL",
        ),
        Operation(
            "query_several_post",
            "POST",
            "/sparql",
            "The same, with the query in the body; of one world, an update, too.",
            "read",
            _SPARQL_ANSWERS,
            of_world=False,
            several=True,
            parameters=(_SEVERAL, _UNION),
            body={
                "application/x-www-form-urlencoded": "SparqlForm",
                "application/sparql-query": None,
                "application/sparql-update": None,
            },
            errors=(404, 406, 409),
            tag="SPARQL",
        ),
        *_graph_operations("/graphs", "", _GRAPH),
        *_graph_operations(
            "/graphs/{path}", "_direct", (Parameter("path", "text", "The graph's own address.", True, where="path"),)
        ),
        Operation(
            "worlds",
            "GET",
            "/worlds",
            "List the worlds that one may read.",
            None,
            _json("The worlds, by name.", "Worlds"),
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
            _json("It is.", "Health"),
            of_world=False,
            tag="Server",
        ),
        Operation(
            "alive",
            "GET",
            "/health/live",
            "Whether the server runs at all.",
            None,
            _json("It does.", "Health"),
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
            _json("The document.", "Object"),
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
