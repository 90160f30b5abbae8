"""Operations of standards: the SPARQL Protocol, the Graph Store Protocol, the Reconciliation API."""

from __future__ import annotations

from typing import Any

from worlds.core.search.options import REQUIRED
from worlds.doors.server.api.operation import BESIDE, SEVERAL, Operation, ResponseSchema
from worlds.doors.server.api.parameters import ENTAILED, Parameter

_TURTLE = "text/turtle"
_NQUADS = "application/n-quads"
_RESULTS = "application/sparql-results+json"
_GRAPHS = (_TURTLE, "application/n-triples", _NQUADS, "application/trig", "application/rdf+xml", "application/ld+json")

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
    200: ResponseSchema(
        "The answer, in the type that Accept names; the service description where there is no query.",
        {
            _RESULTS: None,
            "application/sparql-results+xml": None,
            "text/csv": None,
            "text/tab-separated-values": None,
            **dict.fromkeys(_GRAPHS),
        },
    ),
    204: ResponseSchema("The update is done."),
}
_SPARQL_BODY = {
    "application/x-www-form-urlencoded": "SparqlForm",
    "application/sparql-query": None,
    "application/sparql-update": None,
}
_GRAPH_BODY = dict.fromkeys(_GRAPHS)
_GRAPH_ANSWER, _THERE = ResponseSchema("The graph.", dict.fromkeys(_GRAPHS)), ResponseSchema("The graph is there.")
_WRITTEN = {
    200: ResponseSchema("It is done."),
    201: ResponseSchema("The graph was made."),
    204: ResponseSchema("It is done."),
}


def _graph_operations(path: str, suffix: str, parameters: tuple[Parameter, ...]) -> tuple[Operation, ...]:
    """The Graph Store Protocol on one of its two kinds of addresses."""
    write = {"level": "write", "tag": "Graph Store", "parameters": (*parameters, _IF_MATCH, _IF_NONE_MATCH)}
    read: dict[str, Any] = {**write, "level": "read", "errors": (406, 412)}
    wrote: dict[str, Any] = {**write, "errors": (412,)}
    sent: dict[str, Any] = {**wrote, "body": _GRAPH_BODY, "answers": _WRITTEN}
    found, there = ({200: one, 304: ResponseSchema("It has not changed.")} for one in (_GRAPH_ANSWER, _THERE))
    extended = "Add to a graph; at the address of the store itself, make one."
    several: dict[str, Any] = {**sent, "body": {**_GRAPH_BODY, "multipart/form-data": None}}
    return (
        Operation(f"get_graph{suffix}", "GET", path, "Read a graph.", answers=found, **read),
        Operation(f"head_graph{suffix}", "HEAD", path, "Ask about a graph.", answers=there, **read),
        Operation(f"put_graph{suffix}", "PUT", path, "Replace a graph.", **sent),
        Operation(f"post_graph{suffix}", "POST", path, extended, **several),
        Operation(f"delete_graph{suffix}", "DELETE", path, "Delete a graph.", answers=_WRITTEN, **wrote),
    )


def _asking(name: str, help: str, *parameters: Parameter, **more: Any) -> Operation:
    """An operation of the SPARQL Protocol, by its name a POST or a GET, which has no update."""
    posted = name.endswith("_post")
    return Operation(
        name,
        "POST" if posted else "GET",
        "/sparql",
        help,
        "read",
        _SPARQL_ANSWERS if posted else {200: _SPARQL_ANSWERS[200]},
        parameters=parameters,
        body=_SPARQL_BODY if posted else None,
        errors=(404, 406, 409) if posted else (404, 406),
        tag="SPARQL",
        **more,
    )


def protocol_operations() -> tuple[Operation, ...]:
    """All operations of the protocols."""
    query, at = Parameter("query", "text", "The query.", example="ASK {}"), "/graphs/{path}"
    path = Parameter("path", "text", "The graph's own address.", REQUIRED, where="path")
    several = {"of_world": False, "several": True}
    either = "Answer a query, or run an update, which needs the level write."
    together = "Ask several worlds as one, and each as SERVICE <worlds:NAME>."
    posted = "The same, with the query in the body; of one world, an update, too."
    return (
        _asking("query", "Answer a SPARQL query (SPARQL 1.1 Protocol).", query, *_DATASET, _UNION, ENTAILED, BESIDE),
        _asking("sparql_post", either, *_DATASET, *_UPDATED, _UNION, ENTAILED, BESIDE),
        _asking("query_several", together, SEVERAL, query, _UNION, **several),
        _asking("query_several_post", posted, SEVERAL, _UNION, **several),
        *_graph_operations("/graphs", "", _GRAPH),
        *_graph_operations(at, "_direct", (path,)),
        *_reconciliation(),
    )


def _reconciliation() -> tuple[Operation, ...]:
    """The Reconciliation API; below `/reconcile` of each path may stand a key."""
    answers = {200: ResponseSchema("As the Reconciliation API 0.2 has it.", {"application/json": "Object"})}
    form: dict[str, Any] = {"body": {"application/x-www-form-urlencoded": "ReconciliationForm"}, "method": "POST"}
    page = {200: ResponseSchema("A small page.", {"text/html": None})}
    kinds = ("entity", "type", "property")

    def one(name: str, path: str, help: str, *parameters: Parameter, **more: Any) -> Operation:
        told = {"method": "GET", "level": "read", "answers": answers, "tag": "Reconciliation", "errors": (404, 413)}
        return Operation(name=name, path=f"/reconcile{path}", help=help, parameters=parameters, **{**told, **more})

    return (
        one(
            "reconcile",
            "",
            "Match names with entities; without a batch, describe the service.",
            Parameter("queries", "text", "A batch of queries, as JSON."),
            Parameter("extend", "text", "Entities and properties whose values are wanted, as JSON."),
        ),
        one("reconcile_post", "", "The same, with the batch in the body.", **form),
        one(
            "suggest",
            "/suggest/{kind}",
            "Suggest entities, types or properties.",
            Parameter("kind", "text", "What is suggested.", REQUIRED, choices=kinds, where="path"),
            Parameter("prefix", "text", "The beginning of a name, or an identifier."),
            Parameter("cursor", "integer", "How many suggestions are skipped.", least=0),
        ),
        one(
            "extension_properties",
            "/properties",
            "List the properties of a type.",
            Parameter("type", "text", "The type."),
            Parameter("limit", "integer", "The most properties.", least=0),
        ),
        one("preview", "/preview", "Show an entity.", Parameter("id", "text", "It.", REQUIRED), answers=page),
    )
