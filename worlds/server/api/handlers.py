"""The JSON API: what each operation of the table does."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, TypeAlias

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from worlds.errors import ArgumentError, ConflictError, OpenError, WorldsError
from worlds.server import page
from worlds.server.api.jobs import encoded
from worlds.server.api.operation import JSON, Operation
from worlds.server.api.parameters import MOST_JSON, MOST_WITHOUT_KEY, read_json, read_query
from worlds.server.errors import Busy, NotFound, Problem
from worlds.server.hosting import Listed, is_name
from worlds.server.http.base import server_of
from worlds.server.protocols.sparql import LARGE
from worlds.verbs.verb import LEVELS, Level

Given: TypeAlias = Mapping[str, Any]
Handler: TypeAlias = Callable[[Request, Given], Awaitable[Response]]

_NAMED_BY = {"proposal": "id", "revision": "revision"}  # kinds of errors, and what of the path they are about
_VERSION = re.compile(r'(?:W/)?"([1-9][0-9]{0,8})"')
_READY = 5.0  # seconds in which a worker of a server that is ready answers


def answer(document: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A JSON response; bytes are a document already."""
    return Response(document if isinstance(document, bytes) else encoded(document), status, headers, JSON)


async def run(operation: Operation, handler: Handler, request: Request) -> Response:
    """Answer a request: who asks and whether they may comes before what they say."""
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
        given |= await read_json(request, operation.fields, optional=operation.body_optional, most=most)
    given = {operation.keys.get(name, name): value for name, value in given.items()}
    try:
        return await handler(request, given)
    except ArgumentError as error:
        if _NAMED_BY.get(error.kind) in request.path_params:
            raise NotFound(str(error)) from error
        raise


# --- a world ----------------------------------------------------------------------------------------------------------


async def _search(request: Request, given: Given) -> Response:
    await _check_search(request, given)
    server = server_of(request)
    options = {name: value for name, value in given.items() if name != "world"}
    beside = server.beside(request, given.get("world", ()))
    if not beside:
        return answer(await server.read(request, "search", **options))
    own = server.world(request).name
    return answer(await server.read(request, "search_together", own=own, beside=beside, **options))


async def _similar(request: Request, given: Given) -> Response:
    await _check_search(request, given)
    return _of_entity(given, await server_of(request).read(request, "similar", **given))


async def _check_search(request: Request, given: Given) -> None:
    server = server_of(request)
    if given.get("limit", 0) > server.settings.max_results:
        raise Problem(f"limit is at most {server.settings.max_results:,} on this server")
    if "where" in given or "where" in given.get("exclude", ()) or "boost" in given:  # the index for SPARQL is needed
        own = server.world(request)
        for name, path in {own.name: own.path, **server.beside(request, given.get("world", ()))}.items():
            await server.prepare(request, name, path)


async def _describe(request: Request, given: Given) -> Response:
    return _of_entity(given, await server_of(request).read(request, "describe", **given))


def _of_entity(given: Given, found: object) -> Response:
    if found is None:
        raise NotFound(f"the world says nothing of {given['iri']!r}")
    return answer(found)


async def _resolve(request: Request, given: Given) -> Response:
    options = {name: value for name, value in given.items() if name not in ("name", "context")}
    names = [(given["name"], given.get("context"))]
    found = await server_of(request).read(request, "resolve", names=names, **options)
    return answer(found[0])


async def _resolve_all(request: Request, given: Given) -> Response:
    names = [_name(item) for item in given["names"]] if isinstance(given["names"], list) else [None]
    if None in names:
        raise Problem('names is a list of texts, or of objects such as {"name": "Paris", "context": "…"}')
    return answer(await server_of(request).read(request, "resolve", **{**given, "names": names}))


def _name(item: object) -> tuple[str, str | None] | None:
    if isinstance(item, str):
        return item, None
    if isinstance(item, dict) and item.keys() <= {"name", "context"} and isinstance(item.get("name"), str):
        context = item.get("context")
        return (item["name"], context) if isinstance(context, str | None) else None
    return None


async def _verify(request: Request, given: Given) -> Response:
    claim = given["claim"]
    triple = isinstance(claim, list) and len(claim) == 3 and all(isinstance(part, str | int | float) for part in claim)
    if not triple and not isinstance(claim, str):
        raise Problem("claim is a list of subject, predicate and object, or words")
    return answer(await server_of(request).read(request, "verify", **given))


async def _provenance(request: Request, given: Given) -> Response:
    if not given:
        raise Problem("give the subject, the predicate, the object or the graph of the quads")
    return await _plain("provenance")(request, given)


async def _revision(request: Request, given: Given) -> Response:
    return answer(_known(given, await server_of(request).read(request, "revision", **given)))


async def _undo(request: Request, given: Given) -> Response:
    return _changed(request, _known(given, await server_of(request).write(request, "undo", **given)))


def _known(given: Given, found: Any) -> Any:
    if found is None:
        raise NotFound(f"there is no revision {given['revision']}, or it was forgotten")
    return found


async def _rehearsal(request: Request, given: Given) -> Response:
    options = await _rehearsed(request, given, ("add", "remove", "merge"))
    return answer(await server_of(request).write(request, "rehearsal", level="propose", **options))


async def _access(request: Request, given: Given) -> Response:
    server = server_of(request)
    world, principal = server.world(request).name, server.access.principal(request)
    level = next(one for one in reversed(LEVELS) if server.may(request, one, world))
    graphs = server.scope(request)
    return answer({"name": principal.name, "level": level, "graphs": None if graphs is None else list(graphs)})


async def _quads(request: Request, given: Given) -> Response:
    if "add" not in given and "remove" not in given:
        raise Problem("give what to add, what to remove, or both")
    texts = {name: _listed(name, given[name]) for name in ("add", "remove") if name in given}
    return _changed(request, await server_of(request).write(request, "quads", **{**given, **texts}))


async def _merge(request: Request, given: Given) -> Response:
    options = {**given, "others": _listed("others", given["others"])}
    return _changed(request, await server_of(request).write(request, "merge", **options))


async def _propose(request: Request, given: Given) -> Response:
    server = server_of(request)
    options = await _rehearsed(request, given, ("add", "remove", "merge", "relies_on"))
    options["max_open"] = server.settings.max_proposals
    return answer(await server.write(request, "propose", level="propose", **options), 201)


async def _rehearsed(request: Request, given: Given, lists: Sequence[str]) -> dict[str, Any]:
    """The options of a proposal, with quads in the place of an update."""
    options = {**given, **{name: _listed(name, given[name]) for name in lists if name in given}}
    if "update" in options:
        found = await server_of(request).rehearse(request, options.pop("update"))
        options |= {name: [*options.get(name, ()), *quads] for name, quads in found.items()}
    return options


async def _proposal(request: Request, given: Given) -> Response:
    return _versioned(await server_of(request).read(request, "proposal", **given))


async def _accept(request: Request, given: Given) -> Response:
    match = request.headers.get("if-match", "*").strip()
    if match != "*":
        tag = _VERSION.fullmatch(match)
        if tag is None:
            raise ConflictError(f"If-Match names a version of the proposal, such as {_tag(1)}, not {match[:50]!r}")
        given = {**given, "version": int(tag[1])}
    return _changed(request, await server_of(request).write(request, "accept", **given))


async def _amend(request: Request, given: Given) -> Response:
    server = server_of(request)
    options = await _rehearsed(request, given, ("add", "remove"))
    own = not server.may(request, "write", server.world(request).name)
    return _versioned(await server.write(request, "amend", level="propose", **options, own=own))


def _versioned(proposal: Mapping[str, Any]) -> Response:
    return answer(proposal, headers={"ETag": _tag(proposal["version"])})


def _tag(version: int) -> str:
    """The entity tag of a version of a proposal."""
    return f'"{version}"'


def _propose_all(verb: str) -> Handler:
    """What proposes what would put the findings of a verb right: a reader finds them, so that no write waits for it."""

    async def handle(request: Request, given: Given) -> Response:
        server = server_of(request)
        found = await server.read(request, "found", of=verb, **given)
        return answer(await server.write(request, "propose_all", level="propose", findings=found), 201)

    return handle


def _changed(request: Request, change: Mapping[str, Any]) -> Response:
    server = server_of(request)
    if change["added"] + change["removed"] > LARGE:
        server.pool.unprepare(server.world(request).path)
    return answer(change)


def _listed(name: str, value: object) -> list[str]:
    texts = value if isinstance(value, list) else [value]
    found = [text for text in texts if isinstance(text, str)]
    if len(found) < len(texts):
        raise Problem(f"{name} is a text or a list of texts")
    return found


def _changing(job: str) -> Handler:
    """What has a job change quads, and answers with the change."""

    async def handle(request: Request, given: Given) -> Response:
        return _changed(request, await server_of(request).write(request, job, **given))

    return handle


def _writing(job: str, level: Level = "write") -> Handler:
    """What has a job write, and answers with what it gives."""

    async def handle(request: Request, given: Given) -> Response:
        return answer(await server_of(request).write(request, job, level=level, **given))

    return handle


def _plain(job: str) -> Handler:
    """What asks a job, and answers with what it gives."""

    async def handle(request: Request, given: Given) -> Response:
        return answer(await server_of(request).read(request, job, **given))

    return handle


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


def _summary(request: Request, item: Listed) -> dict[str, Any]:
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
        if isinstance(error, WorldsError) and not isinstance(error, Problem):
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
    from worlds.server.api.openapi import document  # it reads the types of all answers

    single = server_of(request).hosting.single
    return answer(document(None if single is None else single.stem))


_READ = """
    brief chunk context contradictions decisions duplicates form history mentions mint policy prefixes proposals
    questions report schema sources stats suggest_links suggest_shapes timeline validate
""".split()  # noqa: SIM905

HANDLERS: Mapping[str, Handler] = {
    **{name: _plain(name) for name in _READ},
    **{name: _changing(name) for name in ("distinct", "end", "reinstate", "split", "state")},
    **{f"propose_{verb}": _propose_all(verb) for verb in ("contradictions", "duplicates", "suggest_links")},
    "search": _search,
    "search_post": _search,
    "search_several": _search,
    "search_several_post": _search,
    "entity": _describe,
    "similar": _similar,
    "resolve": _resolve,
    "resolve_post": _resolve_all,
    "verify": _verify,
    "provenance": _provenance,
    "revision": _revision,
    "undo": _undo,
    "quads": _quads,
    "access": _access,
    **{name: _plain(name) for name in ("broken_questions", "labels", "validate_post")},
    "rehearsal": _rehearsal,
    "merge": _merge,
    "propose": _propose,
    "proposal": _proposal,
    "accept": _accept,
    "reject": _writing("reject"),
    "amend": _amend,
    "remark": _amend,
    "bind": _writing("bind"),
    "tell": _writing("tell"),
    "keep_question": _writing("keep_question"),
    "forget_question": _writing("forget_question"),
    "sync": _writing("sync"),
    "change_policy": _writing("change_policy", "admin"),
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
"""The operations that are answered here, by name; the others are in `protocol`, `graphstore` and `page`."""
