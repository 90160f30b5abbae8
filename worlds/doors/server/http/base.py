"""The common part of the server's handlers: settings, worlds, keys, limits, and the pool that runs the jobs.

A handler is `async def handler(request) -> Response`. It gets the `Server` by `server_of(request)`, names a job and its
arguments, and turns what comes back into a response:

    server = server_of(request)
    found = await server.read(request, "search", text="…")

Errors are raised, never returned: `worlds.doors.server.problem_documents` turns them into answers.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Iterable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar
from urllib.parse import parse_qsl
from weakref import WeakValueDictionary

from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.types import Receive, Send
from starlette.types import Scope as ASGIScope

from worlds.doors.server.configuration import ServerSettings
from worlds.doors.server.keys import Principal
from worlds.doors.server.listening import network
from worlds.doors.server.problem_documents import (
    Busy,
    ClientGone,
    Forbidden,
    HttpProblem,
    NotFound,
    TooLarge,
    Unauthorized,
)
from worlds.doors.server.workers.pool import Stream, held
from worlds.doors.server.workers.worker import identity
from worlds.errors import IntegrityError, OpenError
from worlds.verbs.verb import Level

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from worlds.doors.server.hosting import Hosting, WorldRef
    from worlds.doors.server.http.access import Access
    from worlds.doors.server.http.metrics import Metrics
    from worlds.doors.server.http.request_limits import RequestLimits
    from worlds.doors.server.keys import KeyStore
    from worlds.doors.server.workers.pool import Pool, Stream


_MOST_PARAMETERS = 10_000  # of an address or a form
_LAST_WORD = 0.5  # seconds in which an answer whose job was stopped says why

T = TypeVar("T")


@dataclass(eq=False, repr=False)
class Server:
    """The state that the handlers share; it lies at `request.app.state.server`."""

    settings: ServerSettings
    hosting: Hosting
    pool: Pool
    keys: KeyStore
    access: Access
    limits: RequestLimits
    metrics: Metrics
    _proposing: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary, init=False)

    # -- who and what ---------------------------------------------------------------------------------------------

    def world(self, request: Request) -> WorldRef:
        """The world that the request names, the first of several; NotFound where there is none, if the client may know
        that.
        """
        known: WorldRef | None = getattr(request.state, "world", None)
        if known is not None:
            return known
        try:
            ref = self.hosting.world(request)
        except NotFound:
            if (name := self.hosting.named(request)) is not None:
                self.require(request, "read", name)
            raise
        request.state.world = ref
        return ref

    def allowed(self, request: Request, level: Level) -> WorldRef:
        """The world that the request names, if the caller has a level there: errors as `world` and `require`."""
        world = self.world(request)
        self.require(request, level, world.name)
        return world

    def beside(self, request: Request, names: Iterable[str]) -> dict[str, Path]:
        """Other worlds than the request's, by their names. Errors as `world` and `require`."""
        own = self.world(request).name
        found: dict[str, Path] = {}
        for name in names:
            self.require(request, "read", name)
            if name != own:
                found[name] = self.hosting.find(name)
        return found

    def require(self, request: Request, level: Level, world: str | None) -> Principal:
        """The caller, if permitted: Unauthorized without a needed key or with a wrong one, else Forbidden.

        `world` None asks for the right on all worlds.
        """
        return self.access.require(request, level, world)

    def scope(self, request: Request) -> tuple[str, ...] | None:
        """The graphs of the caller: those of its key within the server's setting; None for all.

        Forbidden where there are none.
        """
        own, common = self.access.principal(request).graphs, self.settings.graphs or None
        if own is None or common is None:
            return common if own is None else own
        if not (seen := tuple(graph for graph in own if graph in common)):
            raise Forbidden("this server shows none of the graphs of this key")
        return seen

    def may(self, request: Request, level: Level, world: str | None) -> bool:
        """Whether the caller has a right; Unauthorized for a wrong key."""
        try:
            self.require(request, level, world)
        except (Forbidden, Unauthorized):
            self.access.principal(request)
            return False
        return True

    # -- jobs -----------------------------------------------------------------------------------------------------

    async def read(self, request: Request, job: str, **arguments: Any) -> Any:
        """Run a job that reads the request's world. Read the request's body first, if it has one.

        When the client goes away, the job is stopped. Errors of `world`, `require`, of the limits, and the job's own.
        """
        ref = self.world(request)
        how = self._how(request, ref.name)

        async def once() -> Any:
            async with _there(ref.name, ref.path):
                return await while_connected(request, self.pool.call(job, ref.path, arguments=arguments, **how))

        async with self.limits.slot(bool(how["guest"]), how["client"]):
            for _ in range(_AGAIN):
                with contextlib.suppress(_Replaced):
                    return await once()
            raise NotFound(f"there is no world {ref.name!r} here any more: it is being made and deleted repeatedly")

    async def write(self, request: Request, job: str, *, level: Level = "write", **arguments: Any) -> Any:
        """Run a job that writes to the request's world; the key's name is the author of the revision.

        `level` is what it needs, where it writes no quad. The job
        gets `author` besides its arguments. It is not stopped when the client goes away. Proposals of a world take
        turns, so that a write waits for one of them at most, and are short. Errors as `read`.
        """
        ref = self.world(request)
        principal = self.require(request, level, ref.name)
        proposes = level == "propose"
        if proposes and arguments.get("update"):  # the time of a proposal is not for building the index
            await self.prepare(request, ref.name, ref.path)
        async with (
            self.limits.slot(principal.key is None, self._client(request)),
            _there(ref.name, ref.path),
            self._turn(ref.path if proposes else None),
        ):
            return await self.pool.call(
                job,
                ref.path,
                write=True,
                scope=self.scope(request),
                timeout=min(self.settings.timeout, _PROPOSING) if proposes else self.settings.timeout,
                arguments={"author": principal.name, **arguments},
            )

    async def prepare(self, request: Request, world: str, path: Path) -> None:
        """Build the SPARQL index of a world if needed. NotFound if the world was deleted meanwhile.

        Nothing for a client with a scope, whose index is its own, in the process that answers.
        """
        if self.scope(request) is not None:
            return
        with contextlib.suppress(_Replaced):  # who asks next prepares the new file
            async with _there(world, path):
                await self.pool.prepare(path, timeout=self.settings.timeout)

    @contextlib.asynccontextmanager
    async def _turn(self, path: Path | None) -> AsyncIterator[None]:
        """The turn of a proposal; Busy if others have it for too long."""
        if path is None:
            yield
            return
        lock = self._proposing.setdefault(str(path), asyncio.Lock())
        async with held(lock, self.settings.timeout, "other proposals are being made"):
            yield

    @contextlib.asynccontextmanager
    async def stream(self, request: Request, job: str, **arguments: Any) -> AsyncIterator[Stream]:
        """The stream that a reading job gives: its `.head`, then its bytes. Errors as `read`.

        It holds a slot and a worker until it is left, so it is left when the last byte was sent, or the client is gone:

            leaving = server.stream(request, "query", text="…")
            stream = await leaving.__aenter__()  # errors are raised here, before the response begins
            return StreamedResponse(stream, leaving, media_type=stream.head["type"])  # leaves it at the end
        """
        ref = self.world(request)
        how = self._how(request, ref.name)
        async with (
            self.limits.slot(bool(how["guest"]), how["client"]),
            _there(ref.name, ref.path),
            self.pool.stream(job, ref.path, arguments=arguments, **how) as found,
        ):
            yield found

    def _how(self, request: Request, world: str) -> dict[str, Any]:
        """How the pool runs a reading job of a request: for whom, in which scope, how long.

        A guest, a client without a key, is named by its address and its connection: one address may be that of many.
        """
        key, (host, port) = self.require(request, "read", world).key, request.client or ("somebody", 0)
        guest = f"{network(host)} {port}" if key is None else ""
        how = {"scope": self.scope(request), "timeout": self.settings.timeout}
        return {"guest": guest, "client": self._client(request), **how}

    def _client(self, request: Request) -> str:
        """The client for rate limits: its key, if it has one, and its network address."""
        host, _ = request.client or ("somebody", 0)
        return f"{self.access.principal(request).key or ''} {network(host)}"


class _Replaced(NotFound):
    """Another file took the place of the world's: a replica's, or one that was restored."""


@contextlib.asynccontextmanager
async def _there(world: str, path: Path) -> AsyncIterator[None]:
    """For errors of a world whose file was taken away meanwhile: NotFound, or _Replaced if there is another file."""
    try:
        held = os.open(path, os.O_PATH) if hasattr(os, "O_PATH") else -1  # else its inode may be given again
    except OSError:
        held = -1
    before = identity(str(path))
    try:
        yield
    except (IntegrityError, OpenError) as error:
        now = identity(str(path))
        if now == (0, 0):
            raise NotFound(f"there is no world {world!r} here any more") from error
        if now != before:
            raise _Replaced(f"the file of {world!r} was replaced meanwhile") from error
        if error.kind != "gone":
            raise
        raise NotFound("one of the named worlds is not here any more") from error
    finally:
        if held >= 0:
            os.close(held)


_AGAIN = 4  # times that a read is done once more, on the file that has come
_PROPOSING = 10.0  # seconds of the writer's turn that a proposal may take


class StreamedResponse(StreamingResponse):
    """A response whose body comes from a job; `leaving` is called when all is sent, or sending has failed."""

    def __init__(self, content: Stream, leaving: AbstractAsyncContextManager[Any], **options: Any) -> None:
        super().__init__(content, **options)
        self._killed = content.killed
        self._leaving = leaving

    async def __call__(self, scope: ASGIScope, receive: Receive, send: Send) -> None:
        """Send it; a client that does not read it is left when the job is stopped."""
        try:
            await self._send(super().__call__(scope, receive, send))
        except BaseException as error:
            if not await self._leaving.__aexit__(type(error), error, error.__traceback__):
                raise
        else:
            await self._leaving.__aexit__(None, None, None)

    async def _send(self, work: Awaitable[None]) -> None:
        sending, killed = asyncio.ensure_future(work), asyncio.ensure_future(self._killed.wait())
        try:
            await asyncio.wait((sending, killed), return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait((sending,), timeout=_LAST_WORD)
            if not sending.done():
                raise Busy("the response was stopped: its client read too slowly while others waited")
            sending.result()
        finally:
            sending.cancel()
            killed.cancel()
            await asyncio.gather(sending, killed, return_exceptions=True)


async def body_of(request: Request, most: int, longer: str) -> bytes:
    """The body of a request; TooLarge, with the message `longer`, above `most` bytes."""
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > most:
            raise TooLarge(longer, headers={"Connection": "close"})
    return bytes(body)


def address_of(request: Request) -> list[tuple[str, str]]:
    """The parameters in the address of a request; Problem where they are not UTF-8, or too many."""
    return pairs_of(request.scope["query_string"], "the address")


def pairs_of(data: bytes, what: str) -> list[tuple[str, str]]:
    """The parameters of an address or a form; Problem where they are not UTF-8, or too many."""
    try:
        return parse_qsl(
            data.decode(), keep_blank_values=True, encoding="utf-8", errors="strict", max_num_fields=_MOST_PARAMETERS
        )
    except UnicodeDecodeError as error:
        raise HttpProblem(f"{what} is not in UTF-8") from error
    except ValueError as error:
        raise HttpProblem(f"{what} has more than {_MOST_PARAMETERS:,} parameters") from error


async def while_connected(request: Request, call: Awaitable[T]) -> T:
    """The result of a call, which is cancelled when the client goes away: ClientGone."""
    work = asyncio.ensure_future(call)
    gone = asyncio.ensure_future(_client_gone(request))
    try:
        await asyncio.wait((work, gone), return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            gone.result()
        return work.result()
    finally:
        for task in (work, gone):
            if not task.done():
                task.cancel()
        await asyncio.gather(work, gone, return_exceptions=True)


async def _client_gone(request: Request) -> NoReturn:
    """ClientGone once the client is; before that, the error of a body that nobody read, as of one that is too large."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
    raise ClientGone


def server_of(request: Request) -> Server:
    """The server that a request came to."""
    found: Server = request.app.state.server
    return found


async def begun(
    server: Server, request: Request, job: str, **arguments: Any
) -> tuple[Stream, AbstractAsyncContextManager[Stream]]:
    """A stream whose head is there, and the context that is to be left when it has been sent.

    Raises what the job raised before its head; ClientGone if the client went away, and then the job is stopped.
    """
    leaving = server.stream(request, job, **arguments)
    return await while_connected(request, leaving.__aenter__()), leaving


def streamed(
    stream: Stream,
    leaving: AbstractAsyncContextManager[Stream],
    *,
    status: int = 200,
    headers: dict[str, str] | None = None,
) -> StreamedResponse:
    """The response of such a stream; the head says its "type"."""
    response = StreamedResponse(stream, leaving, status_code=status, headers=headers)
    response.headers["Content-Type"] = stream.head["type"]
    return response
