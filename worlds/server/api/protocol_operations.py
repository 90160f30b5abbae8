"""What the standards of SPARQL let a server be asked: the protocol, and the Graph Store Protocol."""

from __future__ import annotations

from typing import Any

from worlds.server.api.operation import BESIDE, SEVERAL, Answer, Operation
from worlds.server.api.parameters import Parameter

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
    write = {"level": "write", "tag": "Graph Store", "parameters": (*parameters, _IF_MATCH, _IF_NONE_MATCH)}
    read: dict[str, Any] = {**write, "level": "read", "errors": (406, 412)}
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


def protocol_operations() -> tuple[Operation, ...]:
    """All operations of the protocols."""
    return (
        Operation(
            "query",
            "GET",
            "/sparql",
            "Answer a SPARQL query (SPARQL 1.1 Protocol).",
            "read",
            {200: _SPARQL_ANSWERS[200]},
            parameters=(Parameter("query", "text", "The query.", example="ASK {}"), *_DATASET, _UNION, BESIDE),
            errors=(406,),
            tag="SPARQL",
        ),
        Operation(
            "sparql_post",
            "POST",
            "/sparql",
            "Answer a query, or run an update, which needs the level write.",
            "read",
            _SPARQL_ANSWERS,
            parameters=(*_DATASET, *_UPDATED, _UNION, BESIDE),
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
            parameters=(SEVERAL, Parameter("query", "text", "The query.", example="ASK {}"), _UNION),
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
            parameters=(SEVERAL, _UNION),
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
    )
