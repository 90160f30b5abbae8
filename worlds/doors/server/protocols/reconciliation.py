"""The Reconciliation Service API 0.2, by which OpenRefine and others match the names of a table with entities.

A service lies at `/reconcile` of a world. Its clients send no headers, so a key may stand in the address, as in
`/reconcile/wk_…/suggest/type`: it is one that may read only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from worlds.doors.server.api.parameters import document_of, fits
from worlds.doors.server.configuration import ServerSettings
from worlds.doors.server.hosting import WorldRef
from worlds.doors.server.http.base import address_of, body_of, pairs_of, server_of
from worlds.doors.server.http.negotiation import type_of
from worlds.doors.server.listening import is_loopback
from worlds.doors.server.problem_documents import Forbidden, HttpProblem, NotFound, TooLarge, UnsupportedType

BATCH = 50
"""The queries of one batch at most, and the size of the batches that clients are asked for."""
_MOST_EXTENDED = 1000  # entities of one data extension
_MOST_FORM = 1 << 20  # bytes
_LIMIT = 5  # candidates of a query that says no other number
_MOST = 100  # candidates of a query, and suggestions of one answer
_ADDRESS = re.compile(r"(?P<world>(?:/worlds/[^/]*)?)/reconcile(?:/(?P<key>wk_[^/]*))?(?P<rest>(?:/.*)?)")
_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}
_VALUE = {
    "oneOf": [
        {"type": ["string", "number", "boolean"]},
        {"type": "object", "required": ["id"], "properties": {"id": _TEXT}},
    ]
}
_PROPERTY = {"pid": _TEXT, "v": {"oneOf": [*_VALUE["oneOf"], {"type": "array", "items": _VALUE}]}}
_QUERY: Mapping[str, Mapping[str, Any]] = {
    "query": _TEXT,
    "type": {"oneOf": [_TEXT, _TEXTS]},
    "limit": {"type": "number", "minimum": 1},
    "properties": {"type": "array", "items": {"type": "object", "required": ["pid", "v"], "properties": _PROPERTY}},
    "type_strict": {"enum": ["should", "all", "any"]},
}
_EXTENDED = {"type": "object", "required": ["id"], "properties": {"id": _TEXT, "settings": {"type": "object"}}}
_EXTENSION = {
    "type": "object",
    "required": ["ids", "properties"],
    "properties": {"ids": _TEXTS, "properties": {"type": "array", "items": _EXTENDED}},
}
_IDENTIFIERS = "https://www.rfc-editor.org/rfc/rfc3987"  # an entity's is its IRI
_CLASSES = "http://www.w3.org/2000/01/rdf-schema#Class"
_LIMIT_OF_VALUES = {
    "name": "limit",
    "label": "Limit",
    "type": "number",
    "default": 0,
    "help_text": "The number of values of an entity at most; 0 is all.",
}
_SHOWN = {"Content-Security-Policy": "default-src 'none'; frame-ancestors *"}  # a preview stands in clients' pages


def routes() -> list[Route]:
    """The routes of this protocol, relative to the address of a world."""
    return [
        Route("/reconcile", service, methods=["GET"]),
        Route("/reconcile", service, methods=["POST"]),
        Route("/reconcile/suggest/{kind}", suggest, methods=["GET"]),
        Route("/reconcile/properties", properties, methods=["GET"]),
        Route("/reconcile/preview", preview, methods=["GET"]),
    ]


class Callers:
    """Moves the key of a client from the address to a header, and lets web pages of any origin read the responses.

    Pages of any origin may where a key stands in the address or the server says who may read. A server that answers
    whoever is on this machine lets pages of this machine read, as OpenRefine's, and those that `--cors` names.
    """

    def __init__(self, app: ASGIApp, *, settings: ServerSettings) -> None:
        self.app = app
        self._any = not settings.loopback or settings.public_reads is not None
        self._origins = settings.cors

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, its key in the header."""
        match = _ADDRESS.fullmatch(scope["path"]) if scope["type"] == "http" else None
        if match is None:
            await self.app(scope, receive, send)
            return
        if (key := match["key"]) is not None:
            path = f"{match['world']}/reconcile{match['rest']}"
            others = [(name, value) for name, value in scope["headers"] if name != b"authorization"]
            headers = [*others, (b"authorization", b"Bearer " + key.encode("latin-1", "replace"))]
            scope = {**scope, "path": path, "raw_path": quote(path).encode(), "headers": headers}
            scope["state"] = {**scope.get("state", {}), "key_in_address": key}
        allowed = self._allowed(Request(scope).headers.get("origin"), keyed=key is not None)

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                answered = MutableHeaders(scope=message)
                answered.add_vary_header("Origin")
                if allowed is not None:
                    answered["Access-Control-Allow-Origin"] = allowed
            await send(message)

        if scope["method"] == "OPTIONS":
            methods, taken = "GET, POST", "Authorization, Content-Type"
            told = {"Access-Control-Allow-Methods": methods, "Access-Control-Allow-Headers": taken}
            await Response(status_code=204, headers=told)(scope, receive, sending)
            return
        await self.app(scope, receive, sending)

    def _allowed(self, origin: str | None, *, keyed: bool) -> str | None:
        """The value of Access-Control-Allow-Origin, None where the page may not read."""
        if keyed or self._any or "*" in self._origins:
            return "*"
        if origin is None:
            return None
        return origin if origin in self._origins or is_loopback(_host(origin)) else None


def _host(origin: str) -> str:
    try:
        return urlsplit(origin).hostname or ""
    except ValueError:
        return ""


def _world(request: Request) -> WorldRef:
    """The request's world, if the client may read it; Forbidden for a key in the address that may do more."""
    server = server_of(request)
    world = server.world(request)
    principal = server.require(request, "read", world.name)
    if hasattr(request.state, "key_in_address") and set(principal.levels.values()) != {"read"}:
        raise Forbidden(
            f"the key {principal.name!r} may do more than read, and clients keep and show addresses with keys: make "
            "a key with the level read for reconciliation, by `worlds keys add`"
        )
    return world


async def service(request: Request) -> Response:
    """Answer a batch of queries or a data extension; without one, describe the service."""
    world = _world(request)
    given = address_of(request)
    if request.method == "POST":
        if type_of(request.headers.get("content-type", "")) != "application/x-www-form-urlencoded":
            raise UnsupportedType("queries are sent as a form: application/x-www-form-urlencoded")
        given += pairs_of(
            await body_of(request, _MOST_FORM, "a form has 1 MiB at most: send smaller batches"), "the body"
        )
    elif not given:
        return _answer(_manifest(request, world))
    said = [(name, value) for name, value in given if name in ("queries", "extend")]
    if len(said) != 1:
        raise HttpProblem(f"a request must have one `queries` or `extend`, not {len(said)}")
    name, text = said[0]
    document = document_of(text, name)
    if name == "extend":
        return _answer(await server_of(request).read(request, "extend", **_extension(document)))
    return _answer(await server_of(request).read(request, "reconcile", queries=_queries(document)))


async def suggest(request: Request) -> Response:
    """Suggest entities, types or properties that begin with the typed text."""
    _world(request)
    kind, given = request.path_params["kind"], dict(address_of(request))
    if kind not in ("entity", "type", "property"):
        raise NotFound("entities, types and properties are suggested: /reconcile/suggest/entity, …/type, …/property")
    told = {"kind": kind, "prefix": given.get("prefix", "")[:_MOST_PREFIX], "skip": _whole(given, "cursor", 0, 10_000)}
    return _answer(await server_of(request).read(request, "suggest", limit=_LIMIT_SUGGESTED, **told))


async def properties(request: Request) -> Response:
    """Propose the properties of a type, for data extension."""
    _world(request)
    given = dict(address_of(request))
    limit, of_type = _whole(given, "limit", _MOST, _MOST), given.get("type", "")
    found = await server_of(request).read(request, "extension_properties", of_type=of_type, limit=limit)
    return _answer({"type": of_type, "limit": limit, "properties": found})


async def preview(request: Request) -> Response:
    """Show an entity in a small HTML page."""
    _world(request)
    found = await server_of(request).read(request, "preview", id=dict(address_of(request)).get("id", ""))
    return Response(found, headers=_SHOWN, media_type="text/html")


_MOST_PREFIX = 300  # characters
_LIMIT_SUGGESTED = 20


def _answer(document: object) -> Response:
    body = document if isinstance(document, bytes) else json.dumps(document, ensure_ascii=False).encode()
    return Response(body, media_type="application/json")


def _manifest(request: Request, world: WorldRef) -> dict[str, Any]:
    """The manifest of the service."""
    key = getattr(request.state, "key_in_address", None)
    base = f"{world.base}/reconcile" + ("" if key is None else f"/{key}")
    return {
        "versions": ["0.1", "0.2"],
        "name": f"{world.name} (Worlds)",
        "identifierSpace": _IDENTIFIERS,
        "schemaSpace": _CLASSES,
        "view": {"url": f"{world.base}#entity={{{{id}}}}"},
        "preview": {"url": f"{base}/preview?id={{{{id}}}}", "width": 430, "height": 300},
        "suggest": {
            kind: {"service_url": base, "service_path": f"/suggest/{kind}"} for kind in ("entity", "type", "property")
        },
        "extend": {
            "propose_properties": {"service_url": base, "service_path": "/properties"},
            "property_settings": [_LIMIT_OF_VALUES],
        },
        "batchSize": BATCH,
    }


# --- what requests say ------------------------------------------------------------------------------------------------


def _whole(given: Mapping[str, str], name: str, default: int, most: int) -> int:
    text = given.get(name, str(default))
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise HttpProblem(f"{name} must be a whole number, not {text[:80]!r}")
    return min(int(text), most)


def _checked(value: Any, schema: Mapping[str, Any], what: str) -> Any:
    """A value that fits its schema; HttpProblem, which shows it."""
    if not fits(value, schema):
        raise HttpProblem(f"{what} is not as the Reconciliation API has it: {json.dumps(schema)}")
    return value


def _queries(document: Any) -> dict[str, dict[str, Any]]:
    """The queries of a batch by their names; HttpProblem for queries that violate the specification's schema."""
    if len(_checked(document, {"type": "object"}, "the batch")) > BATCH:
        raise TooLarge(f"a batch must have at most {BATCH} queries, not {len(document):,}")
    return {name: _query(name, query) for name, query in document.items()}


def _query(name: str, query: Any) -> dict[str, Any]:
    _checked(query, {"type": "object"}, f"the query {name!r}")
    for key, value in query.items():
        _checked(key, {"enum": [*_QUERY]}, f"the field {key!r} of the query {name!r}")
        _checked(value, _QUERY[key], f"the {key} of the query {name!r}")
    if "query" not in query and not query.get("properties"):
        raise HttpProblem(f"the query {name!r} has neither a query nor properties")
    types, said = query.get("type", []), query.get("properties", [])
    return {
        "name": query.get("query", ""),
        "types": [types] if isinstance(types, str) else types,
        "limit": int(min(query.get("limit", _LIMIT), _MOST)),
        "strict": query.get("type_strict", "should"),
        "properties": [(one["pid"], one["v"] if isinstance(one["v"], list) else [one["v"]]) for one in said],
    }


def _extension(document: Any) -> dict[str, Any]:
    """The entities and properties of a data extension, each with the number of its values at most, 0 for all."""
    ids = _checked(document, _EXTENSION, "extend")["ids"]
    if len(ids) > _MOST_EXTENDED:
        raise TooLarge(f"data of {_MOST_EXTENDED:,} entities at most are given at once")
    limits = ((one["id"], one.get("settings", {}).get("limit") or 0) for one in document["properties"])
    wanted = [(id, _whole({"limit": str(limit).removesuffix(".0")}, "limit", 0, 1 << 20)) for id, limit in limits]
    return {"ids": ids, "properties": wanted}
