"""The JSON API: what each operation of the table does."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from typing import Any, TypeAlias

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from worlds.doors.server import page
from worlds.doors.server.api.jobs import MOST_PROPOSED, encoded
from worlds.doors.server.api.operation import JSON, Operation
from worlds.doors.server.api.parameters import MOST_JSON, MOST_WITHOUT_KEY, read_json, read_query
from worlds.doors.server.hosting import ListedWorld, is_name
from worlds.doors.server.http.base import server_of
from worlds.doors.server.problem_documents import Busy, HttpProblem, NotFound
from worlds.doors.server.protocols.sparql import LARGE
from worlds.errors import ArgumentError, ConflictError, OpenError, WorldsError
from worlds.verbs.verb import LEVELS

Given: TypeAlias = Mapping[str, Any]
Handler: TypeAlias = Callable[[Request, Given], Awaitable[Response]]

_NAMED_BY = {"proposal": "id", "revision": "revision"}  # kinds of errors, and what of the path they are about
_VERSION = re.compile(r'(?:W/)?"([1-9][0-9]{0,8})"')
_READY = 5.0  # seconds in which a worker of a server that is ready answers


def answer(document: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A JSON response; bytes are a document already."""
    return Response(document if isinstance(document, bytes) else encoded(document), status, headers, JSON)


async def run(operation: Operation, request: Request) -> Response:
    """Answer a request: the caller and its permissions are checked before its parameters."""
    server = server_of(request)
    name = request.path_params.get("world")
    if (operation.of_world or operation.several) and operation.level is not None:
        name = server.world(request).name
    most = MOST_JSON
    if operation.level is not None and server.require(request, operation.level, name).key is None:
        most = MOST_WITHOUT_KEY
    given = {**operation.defaults, **read_query(request, operation.parameters)}
    for parameter in operation.parameters:
        if parameter.where == "path":
            given[parameter.name] = parameter.parse([request.path_params[parameter.name]])
    if operation.fields is not None:
        given |= await read_json(
            request, operation.fields, optional=operation.body_optional, most=operation.most or most
        )
    if operation.some and given.keys().isdisjoint(operation.some):
        raise HttpProblem(f"give one of {', '.join(operation.some)} at least")
    given = {operation.keys.get(name, name): value for name, value in given.items()}
    try:
        if operation.name in HANDLERS:
            return await HANDLERS[operation.name](request, given)
        return await _ask(operation, request, given)
    except ArgumentError as error:
        if _NAMED_BY.get(error.kind) in request.path_params:
            raise NotFound(str(error)) from error
        raise


# --- a world ----------------------------------------------------------------------------------------------------------


async def _ask(operation: Operation, request: Request, given: Given) -> Response:
    """Answer with the result of the operation's job; its parameters may be transformed by `_PREPARED`."""
    server, job = server_of(request), operation.job or ""
    if job in _PREPARED:
        given = await _PREPARED[job](request, given)
    if operation.level == "read":
        found = await server.read(request, job, **given)
    else:
        found = await server.write(request, job, level=operation.level or "write", **given)
    if operation.gives in ("Change", "Split") and found["added"] + found["removed"] > LARGE:
        server.pool.unprepare(server.world(request).path)
    headers = {"ETag": _tag(found["version"])} if operation.gives == "Proposal" else None
    return answer(found, operation.success, headers)


async def _search(request: Request, given: Given) -> Given:
    given = await _similar(request, given)
    server = server_of(request)
    options = {name: value for name, value in given.items() if name != "world"}
    if beside := server.beside(request, given.get("world", ())):
        options |= {"own": server.world(request).name, "beside": beside}
    return options


async def _similar(request: Request, given: Given) -> Given:
    server = server_of(request)
    if given.get("limit", 0) > server.settings.max_results:
        raise HttpProblem(f"limit is at most {server.settings.max_results:,} on this server")
    if "where" in given or "where" in given.get("exclude", ()) or "boost" in given:  # the index for SPARQL is needed
        own = server.world(request)
        for name, path in {own.name: own.path, **server.beside(request, given.get("world", ()))}.items():
            await server.prepare(request, name, path)
    return given


async def _resolve_all(request: Request, given: Given) -> Given:
    names = [one if isinstance(one, str) else (one["name"], one.get("context")) for one in given["names"]]
    return {**given, "names": names}


async def _propose(request: Request, given: Given) -> Given:
    return {**given, "max_open": server_of(request).settings.max_proposals, "max_quads": MOST_PROPOSED}


async def _amend(request: Request, given: Given) -> Given:
    server = server_of(request)
    own = not server.may(request, "write", server.world(request).name)
    return {**given, "own": own, "max_quads": MOST_PROPOSED}


async def _accept(request: Request, given: Given) -> Given:
    match = request.headers.get("if-match", "*").strip()
    if match == "*":
        return given
    tag = _VERSION.fullmatch(match)
    if tag is None:
        raise ConflictError(f"If-Match names a version of the proposal, such as {_tag(1)}, not {match[:50]!r}")
    return {**given, "version": int(tag[1])}


def _tag(version: int) -> str:
    """The entity tag of a version of a proposal."""
    return f'"{version}"'


async def _propose_all(request: Request, given: Given) -> Given:
    """The findings of a verb: a reader finds them, so that no write waits for it. Who may write follows rules."""
    server = server_of(request)
    follow = server.may(request, "write", server.world(request).name)
    return {"findings": await server.read(request, "found", **given), "follow": follow}


_PREPARED: Mapping[str, Callable[[Request, Given], Awaitable[Given]]] = {
    "search": _search,
    "entities.similar": _similar,
    "entities.resolve_all": _resolve_all,
    "proposals.add": _propose,
    "proposals.add_all": _propose_all,
    "proposals.amend": _amend,
    "proposals.accept": _accept,
}
"""Functions that check the values of a request, and turn them into the arguments of a job."""


async def _access(request: Request, given: Given) -> Response:
    server = server_of(request)
    world, principal = server.world(request).name, server.access.principal(request)
    level = next(one for one in reversed(LEVELS) if server.may(request, one, world))
    graphs = server.scope(request)
    return answer({"name": principal.name, "level": level, "graphs": None if graphs is None else list(graphs)})


async def _page(request: Request, given: Given) -> Response:
    server = server_of(request)
    name = request.path_params.get("world", "")
    if not name:
        name = server.world(request).name
    elif not is_name(name):
        raise NotFound(f"{name!r} cannot be the name of a world")
    elif server.access.sees(request, name):  # to others the page looks the same, whether there is such a world or not
        try:
            name = server.world(request).name
        except NotFound:
            if "text/html" not in request.headers.get("accept", ""):
                raise
            return page.shell(request, base=f"/worlds/{name}", world=name, status=404)  # it says what to do
    return page.shell(request, base=f"/worlds/{name}", world=name)


# --- the server -------------------------------------------------------------------------------------------------------


async def _index(request: Request, given: Given) -> Response:
    single = server_of(request).hosting.single
    return page.shell(request, base="", world=None if single is None else single.stem)


async def _worlds(request: Request, given: Given) -> Response:
    server = server_of(request)
    principal = server.access.principal(request)
    if principal.key is None:
        server.require(request, "read", None)
    listed = await run_in_threadpool(server.hosting.list)
    shown = [_summary(request, item) for item in listed if server.access.sees(request, item.name)]
    return answer({"worlds": shown})


def _summary(request: Request, item: ListedWorld) -> dict[str, Any]:
    return {**asdict(item), "address": f"{str(request.base_url).rstrip('/')}/worlds/{item.name}"}


async def _create(request: Request, given: Given) -> Response:
    server = server_of(request)
    name = request.path_params["world"]
    async with server.pool.alone(server.hosting.new(name), timeout=server.settings.timeout):
        made = await run_in_threadpool(server.hosting.create, name)
    shown = _summary(request, made)
    return answer(shown, 201, {"Location": shown["address"]})


async def _delete(request: Request, given: Given) -> Response:
    server = server_of(request)
    server.hosting.require_folder()
    name = request.path_params["world"]
    path = server.hosting.find(name)
    async with server.pool.alone(path, timeout=server.settings.timeout):
        await run_in_threadpool(server.hosting.delete, name)
    await server.pool.forget(path)
    return Response(status_code=204)


async def _health(request: Request, given: Given) -> Response:
    server = server_of(request)
    if not server.pool.ready:
        raise Busy("the server is starting: its processes are not there yet")
    # What there is not cannot be opened: a worker that says so has answered.
    path = server.hosting.single or server.hosting.path("")
    try:
        async with asyncio.timeout(_READY):
            await server.pool.call("ping", path, timeout=_READY, arguments={})
    except OpenError as error:
        if server.hosting.single is not None:
            raise Busy("the world cannot be opened") from error
    except Exception as error:
        if isinstance(error, WorldsError) and not isinstance(error, HttpProblem):
            raise Busy(f"a worker answers with an error: {type(error).__name__}") from error
        raise Busy("no worker answers") from error
    return answer({"status": "ok"})


async def _alive(request: Request, given: Given) -> Response:
    return answer({"status": "ok"})


async def _metrics(request: Request, given: Given) -> Response:
    server = server_of(request)
    server.metrics.worlds.set(len(await run_in_threadpool(server.hosting.list)))
    return Response(server.metrics.text(), media_type=server.metrics.content_type)


async def _openapi(request: Request, given: Given) -> Response:
    from worlds.doors.server.api.openapi import document  # it reads the types of all answers

    single = server_of(request).hosting.single
    return answer(document(None if single is None else single.stem))


HANDLERS: Mapping[str, Handler] = {
    "access": _access,
    "page": _page,
    "worlds": _worlds,
    "create_world": _create,
    "delete_world": _delete,
    "health": _health,
    "alive": _alive,
    "metrics": _metrics,
    "openapi": _openapi,
    "index": _index,
}
"""The operations that no job answers, by name; further ones are in `protocol`, `graphstore` and `page`."""
