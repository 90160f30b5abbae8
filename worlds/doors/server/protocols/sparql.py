"""The SPARQL 1.1 Protocol: a request to `/sparql` is a query, an update, or a question for the service description."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import pyoxigraph as ox
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from worlds.doors.server.api.parameters import refuse_unknown
from worlds.doors.server.http.base import Server, address_of, begun, body_of, pairs_of, server_of, streamed
from worlds.doors.server.http.negotiation import GRAPHS, RESULTS, accepts_any, type_of
from worlds.doors.server.problem_documents import HttpProblem, UnsupportedType
from worlds.graph.query.query import UNION_GRAPH

_FORM = "application/x-www-form-urlencoded"
Kind: TypeAlias = Literal["query", "update"]
_DIRECT: dict[str, Kind] = {"application/sparql-query": "query", "application/sparql-update": "update"}
_DATASETS: dict[Kind, tuple[str, str]] = {
    "query": ("default-graph-uri", "named-graph-uri"),
    "update": ("using-graph-uri", "using-named-graph-uri"),
}
LARGE = 50_000
"""Quads that a write may change before the processes are to look at their index anew, outside of any time limit."""
_SWITCHES = ("union", "entailed")
_FLAGS = {"": True, "true": True, "1": True, "false": False, "0": False}
NOTES = "Worlds-Notes"
"""The header that says why an answer is empty: a JSON list of texts."""
_MOST_NOTES, _LONGEST_NOTE = 10, 500  # what a header can bear
_MOST_FORM = 1 << 20  # bytes of a form: it is decoded whole, while nothing else runs
_LONGER_FORM = "a form has 1 MiB at most; send a longer text as application/sparql-query or application/sparql-update"
_MOST_WITHOUT_KEY = 4 << 20  # bytes of a query

Parameters = list[tuple[str, str]]


def routes() -> list[Route]:
    """The routes of this protocol, relative to the address of a world."""
    return [Route("/sparql", sparql, methods=["GET", "POST"])]


@dataclass(frozen=True)
class ProtocolRequest:
    """The query or update of a request. The graphs are None where it leaves the dataset to the service."""

    kind: Kind
    text: str
    default_graphs: list[str] | None
    named_graphs: list[str] | None
    union: bool | None = None  # None is what the server's setting or the world's says
    entailed: bool | None = None  # whether it sees the world's conclusions; None as its policy has it


async def sparql(request: Request) -> Response:
    """Answer a request of the protocol."""
    server = server_of(request)
    world = server.allowed(request, "read")
    endpoint = f"{world.base}/sparql"
    accept = accepted(request)
    operation = await operation_of(request)
    beside = server.beside(request, [value for name, value in address_of(request) if name == "world"])
    if operation is not None and operation.kind == "update":
        server.require(request, "write", world.name)
    if beside and operation is not None:
        _check_together(operation)
    else:
        await server.prepare(request, world.name, world.path)
    if operation is None:
        media_type, document = await server.read(request, "service_description", endpoint=endpoint, accept=accept)
        return Response(document, headers={"Content-Type": media_type, "Vary": "Accept"})
    common: dict[str, Any] = {"base": endpoint, "union": _union(server, operation)}
    alone = {**common, "allow_network": server.settings.allow_network}
    if operation.kind == "update":
        using: dict[str, Any] = {"using_graphs": operation.default_graphs, "using_named_graphs": operation.named_graphs}
        change = await server.write(request, "update", update=operation.text, **using, **alone)
        if change["added"] + change["removed"] > LARGE:
            server.pool.unprepare(world.path)
        return Response(status_code=204)
    if beside:
        return await _answered(request, accept, query=operation.text, own=world.name, beside=beside, **common)
    seen = {"default_graphs": operation.default_graphs, "named_graphs": operation.named_graphs}
    return await _answered(request, accept, query=operation.text, entailed=operation.entailed, **seen, **alone)


def _check_together(operation: ProtocolRequest) -> None:
    """HttpProblem for an operation that several worlds cannot answer as one."""
    if operation.kind == "update":
        raise HttpProblem("an update must name one world, not several")
    if operation.entailed:
        raise HttpProblem("entailed works with a query of one world only")
    if operation.default_graphs is not None or operation.named_graphs is not None:
        raise HttpProblem("a query of several worlds reads all their graphs; FROM in the query chooses some")


async def _answered(request: Request, accept: str | None, **arguments: Any) -> Response:
    """The answer of a query."""
    server = server_of(request)
    accepts_any(accept, RESULTS, GRAPHS)
    most = server.settings.max_results
    stream, leaving = await begun(server, request, "query", accept=accept, max_results=most, **arguments)
    headers = {"Vary": "Accept"}
    notes = [note for note in stream.head["notes"] if len(note) < _LONGEST_NOTE]
    if notes:
        headers[NOTES] = json.dumps(notes[:_MOST_NOTES])
    return streamed(stream, leaving, headers=headers)


def _union(server: Server, operation: ProtocolRequest) -> bool | None:
    """Whether an operation sees all graphs together; None is what the world's setting says."""
    setting = server.settings.default_graph
    if operation.union is not None or operation.default_graphs is not None or setting is None:
        return operation.union
    return setting == "union"


def accepted(request: Request) -> str | None:
    """All Accept headers of a request, as one."""
    given = request.headers.getlist("accept")
    return ", ".join(given) if given else None


async def operation_of(request: Request) -> ProtocolRequest | None:
    """The operation of a request, None where it names none; Problem where the protocol forbids it."""
    parameters = address_of(request)
    named = {name for name, _ in parameters}
    if request.method != "POST":
        if "update" in named:
            raise HttpProblem("an update must be sent with POST")
        if "query" in named:
            return _operation(parameters)
        refuse_unknown(named, ("query", "union", "entailed", "world", *_DATASETS["query"]))
        return None
    kind = type_of(request.headers.get("content-type", ""))
    if kind not in (_FORM, *_DIRECT):
        raise UnsupportedType(f"the Content-Type of a body must be one of {', '.join((_FORM, *_DIRECT))}")
    if _DIRECT.get(kind) == "update":
        server_of(request).allowed(request, "write")
    if not named.isdisjoint(_DATASETS):
        raise HttpProblem("the query or the update is in the body, so the address has none")
    if kind == _FORM:
        return _operation(parameters + pairs_of(await body_of(request, _MOST_FORM, _LONGER_FORM), "the body"))
    guest = server_of(request).access.principal(request).key is None and _DIRECT[kind] == "query"
    longer = "a query without a key has 4 MiB at most"
    body = await (body_of(request, _MOST_WITHOUT_KEY, longer) if guest else request.body())
    try:
        return _operation([*parameters, (_DIRECT[kind], body.decode("utf-8-sig"))])
    except UnicodeDecodeError as error:
        raise HttpProblem("the body is not in UTF-8") from error


def _operation(parameters: Parameters) -> ProtocolRequest:
    """The one operation that parameters name; parameters outside the protocol are ignored."""
    found = [(kind, value) for name, value in parameters for kind in _DATASETS if kind == name]
    if len(found) != 1:
        raise HttpProblem(f"a request must have one query or update, not {len(found)}")
    kind, text = found[0]
    for name, _ in parameters:
        if name in _DATASETS["update" if kind == "query" else "query"]:
            raise HttpProblem(f"{name} is not for {'queries' if kind == 'query' else 'updates'}")
    default, named = ([graph_iri(value) for name, value in parameters if name == wanted] for wanted in _DATASETS[kind])
    union, entailed = (_flag(flag, [value for name, value in parameters if name == flag]) for flag in _SWITCHES)
    if entailed and kind == "update":
        raise HttpProblem("entailed is for queries: an update changes written quads alone")
    if UNION_GRAPH.value in default:
        union, default = True, [iri for iri in default if iri != UNION_GRAPH.value]
    if union and (default or named):
        raise HttpProblem("the union of all graphs cannot be combined with named or default graphs")
    if not default and not named:
        return ProtocolRequest(kind, text, None, None, union, entailed)
    return ProtocolRequest(kind, text, default, named, entailed=entailed)


def _flag(flag: str, given: list[str]) -> bool | None:
    if len(given) > 1 or (given and given[0].lower() not in _FLAGS):
        raise HttpProblem(f"{flag} is true or false")
    return _FLAGS[given[0].lower()] if given else None


def graph_iri(iri: str) -> str:
    """The IRI, if it is an absolute one that can name a graph; Problem."""
    try:
        return ox.NamedNode(iri).value
    except ValueError as error:
        raise HttpProblem(f"{iri[:200]!r} names no graph: it is not an absolute IRI") from error
