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
_SHOW = "Show a revision with its quads."
_POLICY = "what is text, and what queries see"
_SOURCES = "List the sources of the world, with the state of their last runs."
_QUESTION = Parameter("question", "text", "The question, or its IRI.", REQUIRED, most=10_000)
_QUESTIONS = "List the kept questions by their IRIs, or those that are nearest to one, the nearest first."
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
_LIMIT = Parameter("limit", "integer", "The most quads of each list.", default=1000, least=0, most=10_000)
_DIFFERENCE = "Load it for the difference; otherwise only the first rows are read."
_TRIED = (Parameter("difference", "boolean", _DIFFERENCE, default=True), _LIMIT)
_BEGIN = (
    Parameter("namespace", "text", "The start of new IRIs.", REQUIRED, most=1000, example="https://example.org/"),
    Parameter("prefix", "text", "A prefix for it.", most=100),
)
_JSON = "The same, with the options as a JSON object."
_NAMESPACE = "Say what new IRIs begin with, where the world does not say it yet."
_TRIAL = "Try to load a file: its mapping, its first rows, the difference and the violations; nothing is written."
_WORLDS = "List the worlds that the client may read."
_REHEARSAL = "Show the difference that a change would make; nothing is written."
_PROPOSED = ("why", "confidence", "kind", "relies_on", "again")  # options that a rehearsal has not
_REMEDIES = {
    "curation.contradictions": "quads to remove",
    "curation.duplicates": "merges",
    "curation.links": "links in the place of literals, or beside them",
}
_LOAD = "Load a file of RDF, or a table by its mapping, as one revision."
_FEW: dict[str, Any] = {"defaults": {"limit": 100}}
_DECIDE: dict[str, Any] = {"body_optional": True}
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
    post: dict[str, Any] = {"name": "validate_post", "job": "validate_post", "help": other}
    hits, seen = ("SearchResults", AS_OF, ENTAILED, _FACETS), (AS_OF, ENTAILED)
    many: dict[str, Any] = {"of_world": False, "several": True, "errors": (404,)}
    by_json = of("search", "POST /search", *hits, name="search_several_post", help=_JSON, **many)
    return (
        of("search", "GET /search", *hits, BESIDE),
        of("search", "POST /search", *hits, BESIDE, name="search_post", help=_JSON),
        of("search", "GET /search", *hits, SEVERAL, name="search_several", help=as_one, **many),
        replace(by_json, parameters=(SEVERAL,)),
        of("context", "GET /context", "Context", *seen),
        of("questions.brief", "GET /brief", "Brief", *seen),
        of("describe", "GET /entities/{iri}", "Description", *seen),
        of("sources.chunk", "GET /chunks/{id}", "Passage"),
        of("facts.timeline", "GET /timeline", "Timeline"),
        of("entities.mint", "GET /mint", "Minted"),
        of("entities.tree", "GET /tree", "Tree", *seen),
        of("entities.members", "GET /members", "Members", *seen),
        of("entities.moving", "GET /moving", "Move"),
        of("entities.similar", "GET /similar", "SearchResults"),
        of("resolve", "GET /resolve", "Resolution"),
        of("entities.resolve_all", "POST /resolve", "Resolutions", _NAMES, leave=("names",)),
        of("labels", "POST /labels", "Labels"),
        of("entities.form", "GET /form", "Form"),
        of("stats", "GET /stats", "Stats"),
        of("schema", "GET /schema", "Schema", ENTAILED),
        of("entities.mentions", "POST /mentions", "Mentions"),
        of("curation.links", "GET /links", "Links"),
        of("curation.contradictions", "GET /contradictions", "Findings", **_FEW),
        of("curation.decisions", "GET /decisions", "Decisions"),
        of("curation.duplicates", "GET /duplicates", "Duplicates", **_FEW),
        of("curation.report", "GET /report", "WorldReport"),
        of("curation.verify", "POST /verify", "Verification"),
        of("shapes.validate", "GET /validate", "ValidationReport", ENTAILED),
        of("shapes.validate", "POST /validate", "ValidationReport", _SHAPES, **post),
    )


def _kept() -> tuple[Operation, ...]:
    """The history, and the records of a world beside its quads."""
    (message,) = (one for one in options_of("edit") if one.name == "message")
    few = replace(_LIMIT, most=100_000)
    return (
        of("history", "GET /history", "Entries", defaults={"limit": 50}),
        of("revisions.provenance", "GET /provenance", "Provenances", some=_TERMS),
        operation("revision", "GET /history/{revision}", _SHOW, "RevisionDetails", _REVISION, few),
        of("undo", "POST /history/{revision}/undo", "Change", **_DECIDE),
        operation("tags", "GET /tags", "List the tags of revisions.", "Tags"),
        operation("tag", "POST /tags", "Name a revision, such as a release.", "Tag", *_TAG, level="write"),
        operation("untag", "DELETE /tags", "Remove the name of a revision.", "Tag", _TAG[0], level="write"),
        of("edit", "POST /quads", "Change", some=("add", "remove"), defaults={"embed": False}),
        operation("access", "GET /access", "Show the caller's name, level and graphs.", "Access", job=None),
        operation("prefixes", "GET /prefixes", "List the prefixes.", "Prefixes"),
        of("bind", "POST /prefixes", "Prefixes"),
        operation("begin", "POST /namespace", _NAMESPACE, "Prefixes", *_BEGIN, level="write"),
        operation("try_file", "POST /files/trial", _TRIAL, "Trial", *_FILE, *_TRIED, level="propose", most=MOST_FILE),
        operation("load_file", "POST /files", _LOAD, "Change", *_FILE, message, level="write", most=MOST_FILE),
        operation("policy", "GET /policy", f"Tell {_POLICY}.", "Policy"),
        operation("change_policy", "POST /policy", f"Change {_POLICY}.", "Policy", _CHANGES, level="admin"),
        operation("rules", "GET /rules", "List the rules of the world.", "RulesInUse"),
        operation("why", "GET /why", _WHY, "Why", *_QUAD),
        operation("sources", "GET /sources", _SOURCES, "Sources"),
        operation("questions", "GET /questions", _QUESTIONS, "Questions", _NEAR, _MOST_QUESTIONS),
        operation("broken_questions", "GET /questions/broken", _BROKEN, "BrokenQuestions"),
        operation("keep_question", "POST /questions", _KEEP, "Change", *_KEPT, level="write"),
        operation(
            "forget_question", "DELETE /questions", "Remove a kept question.", "Change", _QUESTION, level="write"
        ),
        of("sources.sync", "POST /sync", "Runs", **_DECIDE),
        Operation("page", "GET", "", "The web page of the world.", None, **_PAGE),
    )


def _curated() -> tuple[Operation, ...]:
    """Merging, facts in time, proposals and decisions."""
    match = Parameter("If-Match", "text", "The entity tag of the version that was reviewed.", where="header")
    undo = Parameter("undo", "integer", "A revision to take back.", least=1, most=2**31 - 1)
    form = Parameter("form", "text", "An entity, whose form is returned as it would be.", most=10_000)
    language = Parameter("language", "text", "The reader's language, for the form.", most=100)
    tried = (*options_of("proposals.add", *_PROPOSED), undo, form, language, _LIMIT)
    change, remark = ("add", "remove", "update"), {"name": "remark", "help": "Comment on a proposal.", **_DECIDE}
    return (
        of("curation.merge", "POST /merge", "Change"),
        of("curation.split", "POST /history/{revision}/split", "Split", **_DECIDE),
        of("curation.distinct", "POST /distinct", "Change"),
        of("curation.link_texts", "POST /links/texts", "Change", **_DECIDE),
        of("facts.state", "POST /facts", "Change"),
        of("facts.tell", "POST /facts/tell", "Receipt"),
        of("facts.end", "POST /facts/end", "Change"),
        of("facts.reinstate", "POST /facts/reinstate", "Change"),
        of("facts.due", "GET /facts/due", "DueFacts"),
        of("facts.carry_out", "POST /facts/carry-out", "Change", **_DECIDE),
        of("proposals.add", "POST /proposals", "Proposal", status=201),
        operation("rehearsal", "POST /rehearsal", _REHEARSAL, "Rehearsal", *tried, level="propose"),
        of("proposals.list", "GET /proposals", "Proposals", **_FEW),
        of("proposals.get", "GET /proposals/{id}", "Proposal"),
        of("proposals.accept", "POST /proposals/{id}/accept", "Change", match, **_DECIDE),
        of("proposals.reject", "POST /proposals/{id}/reject", "Proposal", **_DECIDE),
        of("proposals.amend", "POST /proposals/{id}/amend", "Proposal", **_DECIDE),
        of("proposals.amend", "POST /proposals/{id}/remarks", "Proposal", leave=change, **remark),
        *(_proposing(*one) for one in _REMEDIES.items()),
    )


def _proposing(verb: str, what: str) -> Operation:
    """The operation that proposes a remedy for each finding of a verb."""
    row = VERBS[verb]
    name, path = f"propose_{row.called('http')}", f"POST /{row.method}"
    how: dict[str, Any] = {"status": 201, "defaults": {"limit": 100, "of": verb}, "name": name, **_DECIDE}
    help = f"Propose {what} for the findings, each by itself; open proposals are not repeated."
    return of("proposals.add_all", path, "Proposals", *options_of(verb), leave=("findings",), help=help, **how)


def _served() -> tuple[Operation, ...]:
    """The operations of the server, not of a world."""
    gone, counters = {204: ResponseSchema("It is gone.")}, {200: ResponseSchema("The counters.", {"text/plain": None})}
    file = {200: ResponseSchema("The file."), 304: ResponseSchema("It has not changed.")}
    of_page: dict[str, Any] = {"of_world": False, "tag": "Page", "errors": (404,)}
    name = Parameter("name", "text", "Its name.", REQUIRED, where="path")
    several = "The web page; of a server with several worlds, their list."
    made: dict[str, Any] = {**_SERVER, "status": 201, "level": "admin"}
    delete = "Delete a world, with its history."
    return (
        operation("worlds", "GET /worlds", _WORLDS, "Worlds", errors=(401,), **_OPEN),
        operation("create_world", "PUT /worlds/{world}", "Make a world.", "WorldSummary", **made),
        Operation("delete_world", "DELETE", "/worlds/{world}", delete, "admin", gone, **_SERVER),
        operation("health", "GET /health", "Whether a worker is ready to answer.", "Health", **_OPEN),
        operation("alive", "GET /health/live", "Whether the server runs at all.", "Health", **_OPEN),
        Operation("metrics", "GET", "/metrics", "Counters for Prometheus.", "read", counters, **_SERVER),
        operation("openapi", "GET /openapi.json", "This document.", "Object", **_OPEN),
        Operation("index", "GET", "/", several, None, of_world=False, **_PAGE),
        Operation("page_file", "GET", "/page/{name}", "A file.", None, file, parameters=(name,), **of_page),
    )
