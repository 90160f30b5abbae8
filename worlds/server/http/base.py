"""What every handler of the server has at hand: settings, worlds, keys, limits, and the pool that runs the jobs.

A handler is `async def handler(request) -> Response`. It gets the `Server` by `server_of(request)`, names a job and its
arguments, and turns what comes back into a response:

    server = server_of(request)
    found = await server.read(request, "search", text="…")

Errors are raised, never returned: `worlds.server.errors` turns them into answers.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Iterable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar
from urllib.parse import parse_qsl
from weakref import WeakValueDictionary

from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.types import Receive, Send
from starlette.types import Scope as ASGIScope

from worlds.errors import IntegrityError, OpenError
from worlds.server.configuration import ServerSettings
from worlds.server.errors import Busy, ClientGone, Forbidden, NotFound, Problem, TooLarge, Unauthorized
from worlds.server.listening import network
from worlds.server.principal import Principal
from worlds.server.workers.worker import identity
from worlds.verbs.verb import Level

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from worlds.server.hosting import Hosting, WorldRef
    from worlds.server.http.access import Access
    from worlds.server.http.limits import Limits
    from worlds.server.http.metrics import Metrics
    from worlds.server.keys import KeyStore
    from worlds.server.workers.pool import Pool, Stream

_MOST_PARAMETERS = 10_000  # of an address or a form
_LAST_WORD = 0.5  # seconds in which an answer whose job was stopped says why

T = TypeVar("T")


class Server:
    """What the handlers share; it lies at `request.app.state.server`."""

    def __init__(
        self,
        settings: ServerSettings,
        *,
        hosting: Hosting,
        pool: Pool,
        keys: KeyStore,
        access: Access,
        limits: Limits,
        metrics: Metrics,
    ) -> None:
        self.settings = settings
        self.hosting = hosting
        self.pool = pool
        self.keys = keys
        self.access = access
        self.limits = limits
        self.metrics = metrics
        self._proposing: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

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
        """Who asks, if they may: Unauthorized without a key that is needed or with a wrong one, else Forbidden.

        `world` None asks for the right on all worlds.
        """
        return self.access.require(request, level, world)

    def scope(self, request: Request) -> tuple[str, ...] | None:
        """The graphs that who asks sees: those of its key that the server's setting has, too; None for all.

        Forbidden where there are none.
        """
        own, common = self.access.principal(request).graphs, self.settings.graphs or None
        if own is None or common is None:
            return common if own is None else own
        if not (seen := tuple(graph for graph in own if graph in common)):
            raise Forbidden("the graphs of this key are not among those that this server shows")
        return seen

    def may(self, request: Request, level: Level, world: str | None) -> bool:
        """Whether who asks has a right; Unauthorized for a key that is wrong."""
        try:
            self.require(request, level, world)
        except (Forbidden, Unauthorized):
            self.access.principal(request)
            return False
        return True

    # -- jobs -----------------------------------------------------------------------------------------------------

    async def read(self, request: Request, job: str, **arguments: Any) -> Any:
        """What a job gives that reads the request's world. Read the request's body first, if it has one.

        When the client goes away, the job is stopped. Errors of `world`, `require`, of the limits, and the job's own.
        """
        ref = self.world(request)
        guest = self._guest(request, ref.name)
        client, timeout = self._client(request), self.settings.timeout

        scope = self.scope(request)

        async def once() -> Any:
            async with _there(ref.name, ref.path):
                call = self.pool.call(
                    job, ref.path, scope=scope, guest=guest, client=client, timeout=timeout, arguments=arguments
                )
                return await self._while_connected(request, call)

        async with self.limits.slot(bool(guest), client):
            for _ in range(_AGAIN):
                with contextlib.suppress(_Replaced):
                    return await once()
            raise NotFound(f"there is no world {ref.name!r} here any more: it is made and deleted again and again")

    async def write(self, request: Request, job: str, *, level: Level = "write", **arguments: Any) -> Any:
        """What a job gives that writes to the request's world; the key's name is the author of the revision.

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
        """Have the index for SPARQL of a world ready. NotFound for one that was deleted meanwhile.

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
        try:
            async with asyncio.timeout(self.settings.timeout):
                await lock.acquire()
        except TimeoutError:
            raise Busy("other proposals are being made") from None
        try:
            yield
        finally:
            lock.release()

    @contextlib.asynccontextmanager
    async def stream(self, request: Request, job: str, **arguments: Any) -> AsyncIterator[Stream]:
        """The stream that a reading job gives: its `.head`, then its bytes. Errors as `read`.

        It holds a slot and a worker until it is left, so it is left when the last byte was sent, or the client is gone:

            leaving = server.stream(request, "query", text="…")
            stream = await leaving.__aenter__()  # errors are raised here, before the response begins
            return StreamedResponse(stream, leaving, media_type=stream.head["type"])  # leaves it at the end
        """
        ref = self.world(request)
        guest = self._guest(request, ref.name)
        client, timeout = self._client(request), self.settings.timeout
        async with (
            self.limits.slot(bool(guest), client),
            _there(ref.name, ref.path),
            self.pool.stream(
                job,
                ref.path,
                scope=self.scope(request),
                guest=guest,
                client=client,
                timeout=timeout,
                arguments=arguments,
            ) as found,
        ):
            yield found

    def _guest(self, request: Request, world: str) -> str:
        """The address and the connection of a client without a key: one address may be that of many."""
        if self.require(request, "read", world).key is not None:
            return ""
        host, port = request.client or ("somebody", 0)
        return f"{network(host)} {port}"

    def _client(self, request: Request) -> str:
        """Whose turn it is, and whose place: a key's, at one address; or of those without a key, an address's."""
        host = request.client.host if request.client is not None else "somebody"
        return f"{self.access.principal(request).key or ''} {network(host)}"

    async def _while_connected(self, request: Request, call: Awaitable[T]) -> T:
        work = asyncio.ensure_future(call)
        gone = asyncio.ensure_future(client_gone(request))
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
        raise NotFound("one of the worlds that were named is not here any more") from error
    finally:
        if held >= 0:
            os.close(held)


_AGAIN = 4  # times that a read is done once more, on the file that has come
_PROPOSING = 10.0  # seconds of the writer's turn that a proposal may take


class StreamedResponse(StreamingResponse):
    """A response whose body comes from a job; `leaving` is what it leaves when all is sent, or cannot be."""

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
                raise Busy("the client read too slowly, and others waited")
            sending.result()
        finally:
            sending.cancel()
            killed.cancel()
            await asyncio.gather(sending, killed, return_exceptions=True)


async def body_of(request: Request, most: int, longer: str) -> bytes:
    """The body of a request; TooLarge, which says what may be `longer`, for one of more bytes than `most`."""
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
        raise Problem(f"{what} is not in UTF-8") from error
    except ValueError as error:
        raise Problem(f"{what} has more than {_MOST_PARAMETERS:,} parameters") from error


async def client_gone(request: Request) -> NoReturn:
    """ClientGone once the client is; before that, the error of a body that nobody read, as of one that is too large."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
    raise ClientGone


def server_of(request: Request) -> Server:
    """The server that a request came to."""
    found: Server = request.app.state.server
    return found
