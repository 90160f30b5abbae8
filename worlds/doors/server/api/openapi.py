"""The OpenAPI document: made from the table of the operations, so that it says what the server does."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from http import HTTPStatus
from typing import Any

from worlds.doors import version
from worlds.doors.server.api.operation import JSON, Operation
from worlds.doors.server.api.operations import operations
from worlds.doors.server.api.parameters import TEXTS, Parameter
from worlds.doors.server.api.schemas import SCHEMAS
from worlds.doors.server.problem_documents import PROBLEM

_ALWAYS = (400, 421, 429, 500)
_OF_BODY = (408, 413, 415)
_TAGS = {
    "World": "Search, entities, history and what a world holds.",
    "Curation": "Merging, proposing and deciding.",
    "SPARQL": "The SPARQL 1.1 Protocol.",
    "Graph Store": "The SPARQL 1.1 Graph Store HTTP Protocol.",
    "Reconciliation": "The Reconciliation API 0.2.",
    "Server": "Worlds, health and figures.",
    "Page": "The web page.",
}


@cache
def document(single: str | None) -> dict[str, Any]:
    """The document of a server with one world, by its name, or of one with several.

    The routes of a single world are at `/` and at its address: path items say so by their servers.
    """
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations():
        if operation.several and single is not None:
            continue
        if operation.of_world and single is None:
            path = "/worlds/{world}" + operation.path
        else:
            path = operation.path or f"/worlds/{single}"
        item = paths.setdefault(path, {})
        if operation.of_world and single is not None and operation.path:
            item["servers"] = [{"url": "/"}, {"url": f"/worlds/{single}"}]
        item[operation.method.lower()] = _operation(operation, path)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Worlds",
            "version": version() or "0",
            "summary": "Knowledge graphs with hybrid search.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "/"}],
        "tags": [{"name": name, "description": text} for name, text in _TAGS.items()],
        "paths": paths,
        "components": {
            "schemas": SCHEMAS,
            "securitySchemes": {
                "key": {
                    "type": "http",
                    "scheme": "bearer",
                    "bearerFormat": "wk_<id>_<secret>",
                    "description": "An API key, as `worlds keys add` makes it.",
                }
            },
            "responses": {str(status): _problem(status) for status in sorted(set().union(*map(_errors, operations())))},
        },
    }


def _operation(operation: Operation, path: str) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.help,
        "tags": [operation.tag],
        "parameters": [_parameter(parameter) for parameter in operation.parameters],
        "responses": {
            **{str(status): _answer(answer.help, answer.content) for status, answer in operation.answers.items()},
            **{str(status): {"$ref": f"#/components/responses/{status}"} for status in _errors(operation)},
        },
    }
    if "{world}" in path:
        shown["parameters"].insert(0, _WORLD)
    if operation.level is not None:
        # Reads without a key may be allowed; that is a setting.
        shown["security"] = [{"key": []}] if operation.level == "admin" else [{"key": []}, {}]
        shown["description"] = f"Needs the level `{operation.level}`."
    if operation.fields is not None:
        schema = _fields(operation.fields)
        shown["requestBody"] = {"required": not operation.body_optional, "content": {JSON: {"schema": schema}}}
    elif operation.body is not None:
        shown["requestBody"] = {"required": True, "content": _content(operation.body)}
    return shown


_WORLD = {
    "name": "world",
    "in": "path",
    "required": True,
    "description": "The name of the world.",
    "schema": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"},
}


def _errors(operation: Operation) -> list[int]:
    found = {*_ALWAYS, *operation.errors}
    if operation.level is not None:
        found |= {401, 403, 503}
    if operation.of_world or "{world}" in operation.path:
        found.add(404)
    if operation.fields is not None or operation.body is not None:
        found.update(_OF_BODY)
    if operation.level not in (None, "read"):
        found.add(409)
    if operation.name == "health":
        found.add(503)
    # A body that nobody asked for is limited, too.
    return sorted(found | set(_OF_BODY))


def _problem(status: int) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "description": HTTPStatus(status).phrase,
        "content": {PROBLEM: {"schema": _ref("Problem")}},
    }
    if status in (429, 503):
        shown["headers"] = {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer"}}}
    if status == 401:
        shown["headers"] = {"WWW-Authenticate": {"description": "Bearer", "schema": {"type": "string"}}}
    return shown


def _answer(help: str, content: Mapping[str, str | None]) -> dict[str, Any]:
    described = (SCHEMAS.get(name or "", {}).get("description") for name in content.values())
    shown = {"description": help or next(filter(None, described), "The answer.")}
    return {**shown, "content": _content(content)} if content else shown


def _content(media: Mapping[str, str | None]) -> dict[str, Any]:
    """The content of a request or an answer, by media type: a schema by its name, or a document."""
    return {kind: {"schema": _document(kind) if name is None else _ref(name)} for kind, name in media.items()}


def _document(media_type: str) -> dict[str, Any]:
    if media_type == "multipart/form-data":
        return {"type": "object", "properties": {"graph": {"type": "string", "format": "binary"}}}
    return {"type": "string", "format": "binary"}


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def _parameter(parameter: Parameter) -> dict[str, Any]:
    shown: dict[str, Any] = {"name": parameter.name, "in": parameter.where, "description": parameter.help}
    if parameter.required or parameter.where == "path":
        shown["required"] = True
    schema = parameter.json_schema
    if parameter.kind in ("json", "numbers"):
        shown["content"] = {JSON: {"schema": schema}}
    elif parameter.kind == "texts":
        shown |= {"schema": TEXTS, "style": "form", "explode": True}
    else:
        shown["schema"] = schema
    if parameter.example is not None:
        shown["example"] = parameter.example
    return shown


def _fields(parameters: tuple[Parameter, ...]) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    for parameter in parameters:
        schema = parameter.json_schema
        if not parameter.required:
            schema = {"anyOf": [schema, {"type": "null"}]}
        properties[parameter.name] = {**schema, "description": parameter.help}
    shown = {"type": "object", "properties": properties, "additionalProperties": False}
    required = [parameter.name for parameter in parameters if parameter.required]
    return {**shown, "required": required} if required else shown
