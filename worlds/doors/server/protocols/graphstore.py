"""The SPARQL 1.1 Graph Store HTTP Protocol: a graph is read, replaced, extended and deleted at an address.

`/graphs?graph=IRI` and `/graphs?default` name it indirectly; `/graphs/{path}` is itself the IRI of a graph. Its entity
tag changes with every revision of the world, so a client may be told that a graph has changed when it has not, but
never the other way round.
"""

from __future__ import annotations

import contextlib
import email.message
import email.parser
import os
import re
import tempfile
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from worlds.doors.server.hosting import WorldRef
from worlds.doors.server.http.base import address_of, begun, body_of, server_of, streamed
from worlds.doors.server.http.negotiation import GRAPHS, type_of
from worlds.doors.server.problem_documents import HttpProblem, UnsupportedType
from worlds.doors.server.protocols.graph_jobs import Document, Preconditions
from worlds.doors.server.protocols.sparql import LARGE, accepted, graph_iri

_IN_MEMORY = 1 << 20  # bytes of a body; a longer one goes to a temporary file
_MOST_MULTIPART = 1 << 24  # bytes of a form with files
_LONGER_MULTIPART = f"a form has {_MOST_MULTIPART:,} bytes at most; send the document as the body itself"
_MOST_PARTS = 100
_MOST_PART_HEAD = 1 << 13  # bytes of the headers of a part
_MULTIPART = "multipart/form-data"
_FORMATS = {**dict(GRAPHS), "application/x-turtle": "turtle", "text/rdf+n3": "n3"}
_COMPRESSED = re.compile(rb"\x1f\x8b|BZh[1-9]|\x28\xb5\x2f\xfd")
_PART_HEAD = re.compile(rb"\r?\n\r?\n")
_NAMELESS = Path(f"/proc/{os.getpid()}/fd").is_dir()
_TAG = re.compile(r'\s*(?:(W/)?"([\x21\x23-\x7e\x80-\xff]*)"|(\*))\s*(?:,|$)')


def routes() -> list[Route]:
    """The routes of this protocol, relative to the address of a world."""
    return [
        Route(path, endpoint, methods=methods)
        for path in ("/graphs", "/graphs/{path:path}")
        for methods, endpoint in ((["GET"], read), (["PUT"], put), (["POST"], post), (["DELETE"], delete))
    ]


async def read(request: Request) -> Response:
    """GET and HEAD."""
    server = server_of(request)
    world = server.allowed(request, "read")
    stream, leaving = await begun(
        server,
        request,
        "read_graph",
        graph=_named(request, world),
        accept=accepted(request),
        conditions=_conditions(request),
        body=request.method == "GET",
    )
    headers = {"Vary": "Accept"}
    if etag := stream.head.get("etag"):
        headers["ETag"] = etag
    if stream.head["length"] is not None:
        headers["Content-Length"] = str(stream.head["length"])
    return streamed(stream, leaving, status=stream.head["status"], headers=headers)


async def put(request: Request) -> Response:
    """Replace a graph."""
    world = server_of(request).allowed(request, "write")
    made = await _write(request, world, _named(request, world), replace=True)
    return Response(status_code=201 if made else 204)


async def post(request: Request) -> Response:
    """Add to a graph; to one of a new name if the request names none."""
    world = server_of(request).allowed(request, "write")
    new = "path" not in request.path_params and not _given(request)
    graph = f"{world.base}/graphs/{uuid.uuid4()}" if new else _named(request, world)
    made = await _write(request, world, graph, replace=False)
    if new and graph is not None:
        return Response(status_code=201, headers={"Location": graph})
    return Response(status_code=201 if made else 204)


async def _write(request: Request, world: WorldRef, graph: str | None, *, replace: bool) -> bool:
    """Write the body's documents to a graph, None for the default one; gives whether it was made by that."""
    server = server_of(request)
    async with _documents(request, multipart=not replace) as documents:
        made, changed = await server.write(
            request,
            "write_graph",
            graph=graph,
            documents=documents,
            base=_base(world, graph),
            replace=replace,
            conditions=_conditions(request),
        )
    if changed > LARGE:
        server.pool.unprepare(world.path)
    return bool(made)


async def delete(request: Request) -> Response:
    """Delete a graph."""
    world = server_of(request).allowed(request, "write")
    await server_of(request).write(
        request, "delete_graph", graph=_named(request, world), conditions=_conditions(request)
    )
    return Response(status_code=204)


# --- what the request says --------------------------------------------------------------------------------------------


def _given(request: Request) -> list[tuple[str, str]]:
    return [(name, value) for name, value in address_of(request) if name in ("graph", "default")]


def _named(request: Request, world: WorldRef) -> str | None:
    """The IRI of the graph that a request names, None for the default graph."""
    given = _given(request)
    if "path" in request.path_params:
        if given:
            raise HttpProblem("the address names a graph already, so it takes neither ?graph nor ?default")
        path = request.scope["raw_path"].decode("latin-1")  # as the client wrote it
        before = 4 if "world" in request.path_params else 2  # /worlds/{world}/graphs/ or /graphs/
        return graph_iri(f"{world.base}/graphs/{path.split('/', before)[before]}")
    if len(given) != 1:
        raise HttpProblem("an address must name one graph: /graphs?graph=IRI, /graphs?default, or /graphs/ and a path")
    name, value = given[0]
    return None if name == "default" else graph_iri(value)


def _base(world: WorldRef, graph: str | None) -> str:
    """The base IRI of a document."""
    return f"{world.base}/graphs" if graph is None else graph


def _conditions(request: Request) -> Preconditions:
    return Preconditions(_tags(request, "if-match", strong=True), _tags(request, "if-none-match", strong=False))


def _tags(request: Request, header: str, *, strong: bool) -> list[str] | None:
    """The entity tags of a header, without quotes; weak ones match nothing where a strong comparison is needed."""
    given = request.headers.getlist(header)
    if not given:
        return None
    text = ", ".join(given)
    found, at = [], 0
    while at < len(text):
        match = _TAG.match(text, at)
        if match is None:
            raise HttpProblem(f"{header} is a list of entity tags, in double quotes, or *")
        if match[3]:
            found.append("*")
        elif not (match[1] and strong):
            found.append(match[2])
        at = match.end()
    return found


# --- bodies -----------------------------------------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def _documents(request: Request, *, multipart: bool) -> AsyncIterator[list[Document]]:
    """The documents in a body. A long one lies in a temporary file, which goes when the block ends."""
    content_type = request.headers.get("content-type", "")
    if multipart and type_of(content_type) == _MULTIPART:
        body = await body_of(request, _MOST_MULTIPART, _LONGER_MULTIPART)
        yield await run_in_threadpool(_parts, content_type, body)
        return
    name = _format(content_type)
    stream = request.stream()
    held = bytearray()
    async for piece in stream:
        held += piece
        if len(held) > _IN_MEMORY:
            break
    _check_plain(held)
    if len(held) <= _IN_MEMORY:
        yield [Document(bytes(held), name)]
        return
    # A file without a name is gone with the server, however that ends; the worker opens it by the server's descriptor.
    with tempfile.TemporaryFile() if _NAMELESS else tempfile.NamedTemporaryFile(prefix="worlds-") as file:
        file.write(held)
        del held
        async for piece in stream:
            file.write(piece)
        file.flush()
        path = f"/proc/{os.getpid()}/fd/{file.fileno()}" if _NAMELESS else file.name
        yield [Document(Path(path), name)]


def _check_plain(body: bytes | bytearray) -> None:
    """Refuse compressed messages, which the library would unpack: a small body could become a very large one."""
    if _COMPRESSED.match(body):
        raise UnsupportedType("compressed documents are not read here: send it uncompressed")


def _format(content_type: str) -> str:
    """The format that a Content-Type names; UnsupportedType."""
    media_type = type_of(content_type)
    found = _FORMATS.get(media_type)
    if found is None:
        what = f"{media_type[:100]!r} is not a Content-Type of RDF" if media_type else "there is no Content-Type"
        raise UnsupportedType(f"{what}: use one of {', '.join(_FORMATS)}")
    return found


def _parts(content_type: str, body: bytes) -> list[Document]:
    """The files of a form, RFC 7578. Parts are never looked into for parts of their own."""
    form = email.message.Message()
    form["Content-Type"] = content_type
    boundary = form.get_boundary()
    if not boundary:
        raise HttpProblem("the Content-Type of the form names no boundary")
    line = rb"(?:\A|\r?\n)--" + re.escape(boundary.encode("latin-1", "replace")) + rb"[ \t]*(?=\r?\n|--)"
    _, *parts = re.split(line, body, maxsplit=_MOST_PARTS + 1)
    if len(parts) > _MOST_PARTS and not parts[-1].startswith(b"--"):
        raise HttpProblem(f"a form has {_MOST_PARTS} parts at most")
    if not parts or not parts.pop().startswith(b"--"):
        raise HttpProblem("the form is not complete")
    if not parts:
        raise HttpProblem("the form has no parts")
    return [_part(part) for part in parts]


def _part(part: bytes) -> Document:
    end = _PART_HEAD.search(part, 0, _MOST_PART_HEAD)
    if end is None:
        raise HttpProblem(f"a part of the form does not begin with headers, of {_MOST_PART_HEAD:,} bytes at most")
    head = email.parser.BytesHeaderParser().parsebytes(part[: end.end()].lstrip())
    if head.get("content-transfer-encoding", "binary").strip().lower() not in ("7bit", "8bit", "binary"):
        raise UnsupportedType("a part of the form has a Content-Transfer-Encoding: send it without one")
    content = part[end.end() :]
    _check_plain(content)
    return Document(content, _format(head.get("content-type", "")))
