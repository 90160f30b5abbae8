"""A world for an event loop: each verb is awaited, and a thread of the world's own does the work.

The verbs are those of `World`; nothing is written out here a second time. What a verb gives that
has verbs of its own, such as a memory or the world as it was, is awaited in the same way.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import inspect
import os
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from itertools import islice
from typing import Any, Self, TypeVar

from worlds import world as worlds_world
from worlds.errors import OpenError
from worlds.verbs.invocation import interruptible
from worlds.verbs.table import ROOMS

T = TypeVar("T")
C = TypeVar("C")

_CHUNK = 500  # items that the thread takes of an iterator at a time
_PATIENCE = 0.1  # seconds that a cancelled caller waits for work to end
_PARTS = ("World", "Room", "Memory", "Rules", "Retention")
"""Classes whose instances read and write the world themselves."""


class Call(Coroutine[Any, Any, T]):
    """The coming result of a verb: `await` all of it, or take it item by item, `async for`, without holding the loop.

    It is a coroutine: `asyncio.create_task` and `asyncio.gather` take it. A call that is cancelled before its turn does
    nothing. One that is being worked on is interrupted, as `World.interrupt` says, and its caller goes on at once,
    or after `_PATIENCE` seconds where the work cannot be stopped; a write that was not stopped is kept.
    """

    def __init__(self, run: Callable[[Callable[[], T]], Coroutine[Any, Any, T]], work: Callable[[], T]) -> None:
        self._run = run
        self._work = work

    @functools.cached_property
    def _coroutine(self) -> Coroutine[Any, Any, T]:
        return self._run(self._work)

    def __await__(self) -> Generator[Any, None, T]:
        return self._coroutine.__await__()

    def send(self, value: Any) -> Any:
        """Resume the coroutine, as a task does."""
        return self._coroutine.send(value)

    def throw(self, *error: Any) -> Any:
        """Raise an error in the coroutine, as a task does to cancel it."""
        return self._coroutine.throw(*error)

    def close(self) -> None:
        """End it; one that nobody awaited has nothing to end."""
        if "_coroutine" in vars(self):
            self._coroutine.close()

    async def __aiter__(self) -> AsyncIterator[Any]:
        run: Any = self._run
        items = await run(lambda: iter(self._work()))  # type: ignore[call-overload]
        while chunk := await run(lambda: list(islice(items, _CHUNK))):
            for item in chunk:
                yield item


class Cancelled(Exception):  # noqa: N818  # it is no error
    """Nobody waits for the work any more."""


class Work:
    """The work of a thread on a world, which another thread can stop, also before it begins.

    A group, or no world, is worked with, too, but not stopped.
    """

    def __init__(self, world: Any) -> None:
        stopped = isinstance(world, worlds_world.World)
        self._interruptible: Callable[[], Any] = interruptible if stopped else contextlib.nullcontext
        self._lock = threading.Lock()
        self._stopped = False
        self._running: Any = None

    def run(self, work: Callable[[], T]) -> T:
        """Do the work in this thread; Cancelled if it was stopped before."""
        with self._interruptible() as running:
            with self._lock:
                if self._stopped:
                    raise Cancelled
                self._running = running
            return work()

    def stop(self) -> None:
        """Stop the running part if possible, and cancel the rest."""
        with self._lock:
            self._stopped = True
            if self._running is not None:
                self._running.interrupt()


_THREADS = ThreadPoolExecutor(thread_name_prefix="worlds-adapters")


async def in_thread(world: Any, work: Callable[[], T], threads: ThreadPoolExecutor = _THREADS) -> T:
    """Run `work` with a world in a thread, without blocking the event loop.

    Where the caller is cancelled, work that has not begun will not, and other work is stopped, as far as it can be; the
    caller goes on when it has ended, and after `_PATIENCE` seconds at the latest.
    """
    asked = Work(world)
    future = threads.submit(contextvars.copy_context().run, asked.run, work)
    done = asyncio.wrap_future(future)
    try:
        return await asyncio.shield(done)
    except asyncio.CancelledError:
        asked.stop()
        if not future.cancel():
            with contextlib.suppress(BaseException):
                await asyncio.wait([done], timeout=_PATIENCE)
            done.add_done_callback(lambda one: one.cancelled() or one.exception())  # which nobody else asks for
        raise


def awaited(world: str) -> Callable[[type[C]], type[C]]:
    """Replace each inherited `aNAME` method of a class by one that runs its `NAME` with `in_thread`.

    `world` is the attribute that has the world.
    """

    def given(adapter: type[C]) -> type[C]:
        for name, inherited in inspect.getmembers(adapter, inspect.iscoroutinefunction):
            plain = inspect.getattr_static(adapter, name[1:], None) if name.startswith("a") else None
            if inspect.isfunction(plain) and inspect.isfunction(inherited) and name not in vars(adapter):
                setattr(adapter, name, _awaited(world, name, plain))
        return adapter

    return given


def _awaited(world: str, name: str, method: Callable[..., T]) -> Callable[..., Awaitable[T]]:
    @functools.wraps(method)
    async def asked(adapter: object, *given: Any, **options: Any) -> T:
        return await in_thread(getattr(adapter, world), lambda: getattr(adapter, name[1:])(*given, **options))

    asked.__name__ = name
    return asked


class WorldThread:
    """The thread of one world, and whose turn it is: a transaction of one task keeps the others waiting."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.world: Any = None
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="worlds")
        self.turn = asyncio.Lock()  # a transaction holds it
        self.shut = f"the world {path} is not open, or no longer: `async with worlds.aopen(…) as world:`"
        self._transaction: object = None  # the one that has the turn
        self._mine: contextvars.ContextVar[object] = contextvars.ContextVar("transaction", default=None)

    @property
    def inside(self) -> bool:
        """Whether this task is in the transaction that has the turn; one made in a transaction that ended is not."""
        return self._transaction is not None and self._mine.get() is self._transaction

    async def run(self, work: Callable[[], T]) -> T:
        """Run `work` in the thread, after earlier work; OpenError if the world is closed."""
        if not self.inside:
            async with self.turn:
                pass  # what follows is queued before any other task comes to its turn
        if self.world is None:
            raise OpenError(self.shut)
        return await in_thread(self.world, work, self.thread)

    @asynccontextmanager
    async def transaction(self, begin: Callable[[], Any]) -> AsyncIterator[None]:
        """Do the block's calls inside of a context manager that `begin` makes; calls of other tasks wait."""
        if self.inside:
            async with self._entered(begin):
                yield
            return
        async with self.turn:
            self._transaction = object()
            self._mine.set(self._transaction)
            try:
                async with self._entered(begin):
                    yield
            finally:
                self._transaction = None

    @asynccontextmanager
    async def _entered(self, begin: Callable[[], Any]) -> AsyncIterator[None]:
        block = await self.run(begin)
        entered: list[Any] = []  # by the thread, which knows it where a cancelled caller does not
        try:
            await self.run(lambda: entered.append(block.__enter__()))
            yield
        except BaseException as error:
            kind, raised, trace = type(error), error, error.__traceback__
            if not await asyncio.shield(self.run(lambda: entered and block.__exit__(kind, raised, trace))):
                raise
        else:
            await asyncio.shield(self.run(lambda: block.__exit__(None, None, None)))


class AsyncRoom:
    """A part of a world whose verbs are awaited; its properties too: `await world.prefixes`. Rooms are at hand."""

    def __init__(self, worker: WorldThread, part: Any) -> None:
        self._worker = worker
        self._part = part

    def __repr__(self) -> str:
        return f"<asynchronous {self._part!r}>"

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *(name for name in dir(self._part) if not name.startswith("_"))})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        given = inspect.getattr_static(type(self._part), name, None)
        if given is None:
            raise AttributeError(f"{type(self._part).__name__!r} has no verb {name!r}")
        if name in ROOMS:
            return AsyncRoom(self._worker, getattr(self._part, name))
        if isinstance(given, property | functools.cached_property):
            return self._call(lambda: getattr(self._part, name))
        verb = getattr(self._part, name)

        @functools.wraps(verb)
        def asked(*arguments: Any, **options: Any) -> Call[Any]:
            return self._call(lambda: verb(*arguments, **options))

        return asked

    def _call(self, work: Callable[[], Any]) -> Call[Any]:
        def told() -> Any:
            found = work()
            return AsyncRoom(self._worker, found) if _is_part(found) else found

        return Call(self._worker.run, told)

    def each(self, items: Iterable[T]) -> Call[Iterable[T]]:
        """Items of an answer that are read during iteration, such as the quads of a difference: `async for`."""
        return Call(self._worker.run, lambda: items)

    def run(self, work: Callable[[Any], T]) -> Call[T]:
        """Whatever else is to be done with the part, in its thread: `work` gets it, as it is."""
        return Call(self._worker.run, lambda: work(self._part))


def _is_part(found: object) -> bool:
    return any(one.__name__ in _PARTS and one.__module__.startswith("worlds.") for one in type(found).__mro__)


class NotOpenError(OpenError, AttributeError):
    """A verb of a world that is not open: an OpenError for callers, a missing attribute for `hasattr`."""


class AsyncWorld(AsyncRoom):
    """A world with awaitable verbs; `worlds.aopen` opens it."""

    def __init__(self, path: str | os.PathLike[str], options: dict[str, Any]) -> None:
        super().__init__(WorldThread(path), None)
        self._open = functools.partial(worlds_world.open, path, **options)
        self._closed = False

    async def __aenter__(self) -> Self:
        def opened() -> None:
            if self._part is None:
                self._part = self._worker.world = self._open()

        if self._closed:
            raise OpenError(self._worker.shut)
        if self._part is None:
            try:
                await in_thread(None, opened, self._worker.thread)
            except BaseException:
                await self.close()
                raise
        return self

    def __await__(self) -> Generator[Any, None, Self]:
        return self.__aenter__().__await__()

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    def __getattr__(self, name: str) -> Any:
        if self.__dict__.get("_part") is None and not name.startswith("_") and hasattr(worlds_world.World, name):
            raise NotOpenError(f"{name}: {self._worker.shut}")
        return super().__getattr__(name)

    async def close(self) -> None:
        """Close the file after the running work; OpenError inside a transaction."""

        def shut() -> None:
            if self._part is not None:
                self._part.close()
                self._part = self._worker.world = None

        if self._worker.inside:
            raise OpenError("a world is not closed inside of its own transaction: close it after the block")
        async with self._worker.turn:
            if not self._closed:
                self._closed, self._worker.world = True, None  # nothing is asked of the thread any more
                done = self._worker.thread.submit(shut)
                self._worker.thread.shutdown(wait=False)
                await asyncio.shield(asyncio.wrap_future(done))

    @asynccontextmanager
    async def transaction(self, **options: Any) -> AsyncIterator[Self]:
        """Make the writes of the block one revision; see `World.transaction`. Calls of other tasks wait for its end."""
        async with self._worker.transaction(lambda: self._part.transaction(**options)):
            yield self


def aopen(path: str | os.PathLike[str] = ":memory:", **options: Any) -> AsyncWorld:
    """Open a world for an event loop: `async with worlds.aopen(path) as w: await w.search("…")`. Options are `open`'s.

    Each world has a thread, which does what is asked in its turn. While a statement runs, libSQL's driver holds
    Python's lock, so the loop waits for as long as the longest statement; SQLite's does not: see docs/aio.md.
    """
    return AsyncWorld(path, options)
