"""The table of what the server can be asked: routes, parameters, bodies, answers. Routing and OpenAPI come from it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from worlds.core.search.options import REQUIRED
from worlds.doors.server.api.files import MOST_FILE
from worlds.doors.server.api.operation import BESIDE, SEVERAL, Operation, ResponseSchema, of, operation
from worlds.doors.server.api.parameters import AS_OF, ENTAILED, Parameter, options_of
from worlds.doors.server.api.protocol_operations import protocol_operations
from worlds.verbs.table import VERBS

_TERMS = ("subject", "predicate", "object", "graph")
_FACETS = Parameter("facets", "boolean", "Count the types, predicates, graphs and languages.", default=False)
_NAMED = {"name": {"type": "string"}, "context": {"type": ["string", "null"]}}
_OBJECT = {"type": "object", "properties": _NAMED, "required": ["name"], "additionalProperties": False}
_NAMES_SCHEMA = {"type": "array", "items": {"oneOf": [{"type": "string"}, _OBJECT]}}
_NAMES = Parameter(
    "names", "json", "The names, or objects with name and context.", REQUIRED, most=1000, schema=_NAMES_SCHEMA
)
_SHAPES = Parameter("shapes", "text", "The shapes, as Turtle.", REQUIRED, most=1_000_000)
_CHANGES = Parameter("changes", "json", "The fields to change, and their values.", REQUIRED, example={"profiles": True})
_REVISION = options_of("undo")[0]
_POLICY = "what is text, and what queries see"
_ACCESS = "Show the caller's name, level and graphs."
_SOURCES = "List the sources of the world, with the state of their last runs."
_QUESTION = Parameter("question", "text", "The question, or its IRI.", REQUIRED, most=10_000)
_QUESTIONS = "List the kept questions by their IRIs, or those that are nearest to one, the nearest first."
_RULES = "List the rules of the world."
_WHY = "Prove a quad: the rule and its premises, down to quads that are written."
_QUAD = (
    Parameter("subject", "text", "The subject of the quad.", REQUIRED, most=10_000, example="ex:Paris"),
    Parameter("predicate", "text", "The predicate of the quad.", REQUIRED, most=10_000, example="rdf:type"),
    Parameter("object", "text", "The object of the quad.", REQUIRED, most=100_000, example="ex:City"),
    Parameter(
        "graph", "text", 'The graph of the quad; "default" is the default graph. Any graph without it.', most=10_000
    ),
)
_NEAR = Parameter("near", "text", "Only the questions nearest to this one, and how near they are.", most=10_000)
_MOST_QUESTIONS = Parameter("limit", "integer", "The number of questions at most.", default=100, least=1, most=1000)
_BROKEN = "Run the queries of all kept questions, and list the broken ones by IRI."
_KEEP = "Keep a question with its query; it replaces the kept query of the same question."
_FORGET = "Remove a kept question."
_KEPT = (
    Parameter("question", "text", "The question.", REQUIRED, most=10_000),
    Parameter("query", "text", "A SPARQL query; it is asked once, within limits.", REQUIRED, most=1_000_000),
    Parameter("description", "text", "A description of the question.", most=10_000),
    Parameter("message", "text", "The reason for the change, for the history.", most=10_000),
)
_TAG = (
    Parameter("name", "text", "The name of the revision.", REQUIRED, most=200, example="2026-11"),
    Parameter("revision", "revision", "The revision: its number, a tag or a time; the last one if it is not given."),
    Parameter("message", "text", "The reason for the tag.", most=10_000),
)
_FILE = (
    Parameter(
        "name", "text", "The name of the file; its ending tells the format.", REQUIRED, most=1000, example="a.ttl"
    ),
    Parameter("content", "text", "The bytes of the file, as base64.", REQUIRED, most=MOST_FILE, example="PHU6YT4="),
    Parameter("mapping", "json", "The mapping of a table, as CSVW metadata; otherwise one is proposed."),
    Parameter("graph", "text", "The graph of all quads; otherwise each goes where the file says.", most=10_000),
    Parameter(
        "mode", "text", "Whether the file is added, or takes the place of the graph.", choices=("merge", "replace")
    ),
    Parameter("base", "text", "The start of new IRIs of a table, or the base IRI of RDF.", most=10_000),
)
_TRIED = (
    Parameter(
        "difference", "boolean", "Load it for the difference; otherwise only the first rows are read.", default=True
    ),
    Parameter("limit", "integer", "The most quads of each list.", default=1000, least=0, most=10_000),
)
_BEGIN = (
    Parameter("namespace", "text", "The start of new IRIs.", REQUIRED, most=1000, example="https://example.org/"),
    Parameter("prefix", "text", "A prefix for it.", most=100),
)
_JSON = "The same, with the options as a JSON object."
_NAMESPACE = "Say what new IRIs begin with, where the world does not say it yet."
_TRIAL = "Try to load a file: its mapping, its first rows, the difference and the violations; nothing is written."
_LOAD = "Load a file of RDF, or a table by its mapping, as one revision."
_FEW: dict[str, Any] = {"defaults": {"limit": 100}}
_DECIDE: dict[str, Any] = {"body_optional": True}
_TRYING: dict[str, Any] = {"level": "propose", "most": MOST_FILE}
_SERVER: dict[str, Any] = {"of_world": False, "tag": "Server", "job": None}
_OPEN: dict[str, Any] = {**_SERVER, "level": None}
_PAGE: dict[str, Any] = {
    "tag": "Page",
    "answers": {200: ResponseSchema("The page.", {"text/html": None}), 304: ResponseSchema("It has not changed.")},
}


def operations() -> tuple[Operation, ...]:
    """All operations."""
    return (
        *_asked(),
        *_kept(),
        *(replace(one, tag="Curation") for one in _curated()),
        *protocol_operations(),
        *_served(),
    )


def _asked() -> tuple[Operation, ...]:
    """The operations that read a world, or several as one."""
    as_one, other = "Search several worlds as one.", "Validate the data against other shapes than the world's."
    post: dict[str, Any] = {"name": "validate_post", "job": "validate_post"}
    hits, found = ("The hits.", "SearchResults", AS_OF, ENTAILED, _FACETS), ("The violations.", "ValidationReport")
    many: dict[str, Any] = {"of_world": False, "several": True, "errors": (404,)}
    by_json = of("search", "POST /search", *hits, name="search_several_post", help=_JSON, **many)
    return (
        of("search", "GET /search", *hits, BESIDE),
        of("search", "POST /search", *hits, BESIDE, name="search_post", help=_JSON),
        of("search", "GET /search", *hits, SEVERAL, name="search_several", help=as_one, **many),
        replace(by_json, parameters=(SEVERAL,)),
        of(
            "context",
            "GET /context",
            "The text, and the facts that it cites by their numbers.",
            "Context",
            AS_OF,
            ENTAILED,
        ),
        of("questions.brief", "GET /brief", "The text, and its parts.", "Brief", AS_OF, ENTAILED),
        of("describe", "GET /entities/{iri}", "The description.", "Description", AS_OF, ENTAILED),
        of("sources.chunk", "GET /chunks/{id}", "The passage.", "Passage"),
        of("facts.timeline", "GET /timeline", "The facts and their intervals.", "Timeline"),
        of("entities.mint", "GET /mint", "The IRI, and whether it is new.", "Minted"),
        of("entities.tree", "GET /tree", "The entities, from A to Z.", "Tree", AS_OF, ENTAILED),
        of("entities.members", "GET /members", "The members, and their number.", "Members", AS_OF, ENTAILED),
        of("entities.moving", "GET /moving", "The quads to add and remove.", "Move"),
        of("entities.similar", "GET /similar", "A hit for each entity.", "SearchResults"),
        of("resolve", "GET /resolve", "The candidates.", "Resolution"),
        of(
            "entities.resolve_all",
            "POST /resolve",
            "One for each name, in order.",
            "Resolutions",
            _NAMES,
            leave=("names",),
        ),
        of("labels", "POST /labels", "The labels, by IRI.", "Labels"),
        of("entities.form", "GET /form", "The fields, with their values.", "Form"),
        of("stats", "GET /stats", "The figures.", "Stats"),
        of("schema", "GET /schema", "Classes, predicates, graphs and languages.", "Schema", ENTAILED),
        of("entities.mentions", "POST /mentions", "The mentions, in the order of the text.", "Mentions"),
        of("curation.links", "GET /links", "The links, the surest first.", "Links"),
        of("curation.contradictions", "GET /contradictions", "The findings, the gravest first.", "Findings", **_FEW),
        of("curation.decisions", "GET /decisions", "The decisions, the oldest first.", "Decisions"),
        of("curation.duplicates", "GET /duplicates", "The pairs, the likeliest first.", "Duplicates", **_FEW),
        of("curation.report", "GET /report", "Checks with counts, examples and queries.", "WorldReport"),
        of("curation.verify", "POST /verify", "The outcome, and the evidence.", "Verification"),
        of("shapes.validate", "GET /validate", *found, ENTAILED),
        of("shapes.validate", "POST /validate", *found, _SHAPES, help=other, **post),
    )


def _kept() -> tuple[Operation, ...]:
    """The history, and the records of a world beside its quads."""
    limit = Parameter("limit", "integer", "The most quads of each list.", default=1000, least=0, most=100_000)
    message = options_of("edit")[3]
    changed, revision = ("The change.", "Change"), ("The revision.", "Change")
    tag = "The tag.", "Tag"
    details, policy = ("The revision and its quads.", "RevisionDetails"), ("All of it, as it is then.", "Policy")
    return (
        of("history", "GET /history", "The revisions.", "Entries", defaults={"limit": 50}),
        of("revisions.provenance", "GET /provenance", "Quads, each with its revisions.", "Provenances", some=_TERMS),
        operation("revision", "GET /history/{revision}", "Show a revision with its quads.", *details, _REVISION, limit),
        of("undo", "POST /history/{revision}/undo", *changed, **_DECIDE),
        operation("tags", "GET /tags", "List the tags of revisions.", "The tags, by their revisions.", "Tags"),
        operation("tag", "POST /tags", "Name a revision, such as a release.", *tag, *_TAG, level="write"),
        operation("untag", "DELETE /tags", "Remove the name of a revision.", *tag, _TAG[0], level="write"),
        of("edit", "POST /quads", *changed, some=("add", "remove"), defaults={"embed": False}),
        operation("access", "GET /access", _ACCESS, "The level, and the graphs that are seen.", "Access", job=None),
        operation("prefixes", "GET /prefixes", "List the prefixes.", "Prefix and IRI of each.", "Prefixes"),
        of("bind", "POST /prefixes", "All prefixes.", "Prefixes"),
        operation("begin", "POST /namespace", _NAMESPACE, "All prefixes.", "Prefixes", *_BEGIN, level="write"),
        operation("try_file", "POST /files/trial", _TRIAL, "The effect.", "Trial", *_FILE, *_TRIED, **_TRYING),
        operation("load_file", "POST /files", _LOAD, *changed, *_FILE, message, level="write", most=MOST_FILE),
        operation("policy", "GET /policy", f"Tell {_POLICY}.", "All of it.", "Policy"),
        operation("change_policy", "POST /policy", f"Change {_POLICY}.", *policy, _CHANGES, level="admin"),
        operation("rules", "GET /rules", _RULES, "The rules, and the number of conclusions.", "RulesInUse"),
        operation("why", "GET /why", _WHY, "The steps, the quad first.", "Why", *_QUAD),
        operation("sources", "GET /sources", _SOURCES, "The sources.", "Sources"),
        operation("questions", "GET /questions", _QUESTIONS, "The questions.", "Questions", _NEAR, _MOST_QUESTIONS),
        operation("broken_questions", "GET /questions/broken", _BROKEN, "The questions.", "BrokenQuestions"),
        operation("keep_question", "POST /questions", _KEEP, *revision, *_KEPT, level="write"),
        operation("forget_question", "DELETE /questions", _FORGET, *revision, _QUESTION, level="write"),
        of("sources.sync", "POST /sync", "The outcome of each run.", "Runs", **_DECIDE),
        Operation("page", "GET", "", "The web page of the world.", None, **_PAGE),
    )


def _curated() -> tuple[Operation, ...]:
    """Merging, facts in time, proposals and decisions."""
    changed, proposed = ("The change.", "Change"), ("The proposal.", "Proposal")
    match = Parameter("If-Match", "text", "The entity tag of the version that was reviewed.", where="header")
    limit = Parameter("limit", "integer", "The most quads of each list.", default=1000, least=0, most=10_000)
    undo = Parameter("undo", "integer", "A revision to take back.", least=1, most=2**31 - 1)
    form = Parameter("form", "text", "An entity, whose form is returned as it would be.", most=10_000)
    language = Parameter("language", "text", "The reader's language, for the form.", most=100)
    tried = (
        *options_of("proposals.add", "why", "confidence", "kind", "relies_on", "again"),
        undo,
        form,
        language,
        limit,
    )
    change, remark = ("add", "remove", "update"), {"name": "remark", "help": "Comment on a proposal.", **_DECIDE}
    trial = "Show the difference that a change would make; nothing is written."
    return (
        of("curation.merge", "POST /merge", *changed),
        of(
            "curation.split",
            "POST /history/{revision}/split",
            "The change, and the quads added since.",
            "Split",
            **_DECIDE,
        ),
        of("curation.distinct", "POST /distinct", *changed),
        of("curation.link_texts", "POST /links/texts", *changed, **_DECIDE),
        of("facts.state", "POST /facts", *changed),
        of("facts.tell", "POST /facts/tell", "The outcome of each fact.", "Receipt"),
        of("facts.end", "POST /facts/end", *changed),
        of("facts.reinstate", "POST /facts/reinstate", *changed),
        of("facts.due", "GET /facts/due", "The facts, the earliest first.", "DueFacts"),
        of("facts.carry_out", "POST /facts/carry-out", *changed, **_DECIDE),
        of("proposals.add", "POST /proposals", *proposed, status=201),
        operation("rehearsal", "POST /rehearsal", trial, "The difference.", "Rehearsal", *tried, level="propose"),
        of("proposals.list", "GET /proposals", "The proposals.", "Proposals", **_FEW),
        of("proposals.get", "GET /proposals/{id}", *proposed),
        of("proposals.accept", "POST /proposals/{id}/accept", *changed, match, **_DECIDE),
        of("proposals.reject", "POST /proposals/{id}/reject", *proposed, **_DECIDE),
        of("proposals.amend", "POST /proposals/{id}/amend", *proposed, **_DECIDE),
        of("proposals.amend", "POST /proposals/{id}/remarks", *proposed, leave=change, **remark),
        _proposing("curation.contradictions", "/contradictions", "quads to remove"),
        _proposing("curation.duplicates", "/duplicates", "merges"),
        _proposing("curation.links", "/links", "links in the place of literals, or beside them"),
    )


def _proposing(verb: str, path: str, what: str) -> Operation:
    """The operation that proposes a remedy for each finding of a verb."""
    help = f"Propose {what} for the findings, each by itself; open proposals are not repeated."
    return of(
        "proposals.add_all",
        f"POST {path}",
        "The new proposals.",
        "Proposals",
        *options_of(verb),
        leave=("findings",),
        name=f"propose_{VERBS[verb].called('http')}",
        help=help,
        status=201,
        defaults={"limit": 100, "of": verb},
        **_DECIDE,
    )


def _served() -> tuple[Operation, ...]:
    """The operations of the server, not of a world."""
    gone, counters = {204: ResponseSchema("It is gone.")}, {200: ResponseSchema("The counters.", {"text/plain": None})}
    file = {200: ResponseSchema("The file."), 304: ResponseSchema("It has not changed.")}
    of_page: dict[str, Any] = {"of_world": False, "tag": "Page", "errors": (404,)}
    name = Parameter("name", "text", "Its name.", REQUIRED, where="path")
    several = "The web page; of a server with several worlds, their list."
    return (
        operation(
            "worlds",
            "GET /worlds",
            "List the worlds that the client may read.",
            "The worlds, by name.",
            "Worlds",
            errors=(401,),
            **_OPEN,
        ),
        operation(
            "create_world",
            "PUT /worlds/{world}",
            "Make a world.",
            "It is made.",
            "WorldSummary",
            status=201,
            level="admin",
            **_SERVER,
        ),
        Operation(
            "delete_world", "DELETE", "/worlds/{world}", "Delete a world, with its history.", "admin", gone, **_SERVER
        ),
        operation("health", "GET /health", "Whether a worker is ready to answer.", "It is.", "Health", **_OPEN),
        operation("alive", "GET /health/live", "Whether the server runs at all.", "It does.", "Health", **_OPEN),
        Operation("metrics", "GET", "/metrics", "Counters for Prometheus.", "read", counters, **_SERVER),
        operation("openapi", "GET /openapi.json", "This document.", "The document.", "Object", **_OPEN),
        Operation("index", "GET", "/", several, None, of_world=False, **_PAGE),
        Operation("page_file", "GET", "/page/{name}", "A file.", None, file, parameters=(name,), **of_page),
    )
