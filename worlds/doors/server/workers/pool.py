"""The pool of worker processes, in which every job runs that touches a world.

libSQL's driver holds the GIL during a statement, so one process could do one thing at a time, and pyoxigraph cannot be
stopped but by ending its process. Readers and writers are separate processes. A job that has run for a second no longer
counts: if others wait, the pool grows, up to `most` processes of a kind, and shrinks again later. A job that passes its
time limit, or whose client has gone, is stopped by killing its process; a long one of a client without a key gives way
to others, and may begin anew.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from worlds.doors.server.problem_documents import Busy
from worlds.doors.server.workers.group import JobError, WorkerGroup
from worlds.doors.server.workers.jobs import MODULES
from worlds.doors.server.workers.process import WorkerDied, WorkerProcess, unpacked
from worlds.doors.server.workers.template import WorkerTemplate
from worlds.doors.server.workers.worker import (
    BROKEN,
    DATA,
    FAILED,
    HEAD,
    OUT_OF_MEMORY,
    RESULT,
    Duties,
    Request,
    identity,
)
from worlds.errors import QueryTimeout

LINGER = 1.0  # seconds that a reading job may go on for after its client has gone: starting a process costs as much
SLOW_CLIENT = 10  # times its time limit that a stream may take in all, if its client is slow to read
_PREPARING = 3600.0  # seconds that the index of a world may take
_TICK = 0.1  # seconds between looks at the workers

__all__ = ["JobError", "Pool", "Stream"]

_log = logging.getLogger("worlds.doors.server")


class Pool:
    """Worker processes for one server. `start` it, and `stop` it in the end."""

    def __init__(
        self,
        *,
        readers: int = 2,
        writers: int = 1,
        most: int = 8,
        guest_share: float = 0.0,
        modules: Sequence[str] = MODULES,
        first: Path | None = None,
        **duties: Any,
    ) -> None:
        """`readers` and `writers` are started at once; there are at most `most` of each.

        `duties` are the other settings of workers: see `Duties`. `modules` define the jobs. Guests have `guest_share`
        of the turns, from 0 to 1, while others wait, too. Each makes itself ready for what is asked first of the world
        `first`.
        """
        likely = None if first is None else str(first)
        duties |= {"modules": tuple(modules), "first": likely}
        # Elsewhere libraries break in forks.
        self._template = WorkerTemplate(modules) if sys.platform == "linux" else None
        self._readers = WorkerGroup(Duties(False, **duties), readers, max(readers, most), self._template, guest_share)
        self._writers = WorkerGroup(Duties(True, **duties), writers, max(writers, most), self._template)
        self._write_locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._finishing: set[asyncio.Task[None]] = set()
        self._prepared: dict[str, asyncio.Task[Any]] = {}
        self._seen: dict[str, tuple[int, int]] = {}  # which file was at a path
        self._tending: asyncio.Task[None] | None = None
        self.ready = False  # whether there have been readers

    async def start(self) -> None:
        """Start the readers, then the writers, and wait for all of them; JobError if they do not start.

        Jobs may come meanwhile: they wait for a process.
        """
        self._tending = asyncio.create_task(self._tend())
        await self._readers.fill()
        self.ready = True
        await self._writers.fill()

    async def stop(self, grace: float = 10.0) -> None:
        """Stop all processes; a process with a job is stopped after `grace` seconds at the latest."""
        if self._tending is not None:
            self._tending.cancel()
            await asyncio.gather(self._tending, return_exceptions=True)
        for task in self._prepared.values():
            task.cancel()
        await asyncio.gather(self._readers.stop(grace), self._writers.stop(grace))
        await asyncio.gather(*self._finishing, *self._prepared.values(), return_exceptions=True)
        if self._template is not None:
            await self._template.end()

    async def call(self, job: str, world: Path, **how: Any) -> Any:
        """Run a job and return its result. A write that has returned is kept, and every job that begins later sees it.

        `how` are the `timeout` in seconds, the `arguments` of the job, and maybe whether it is to `write`, and these:
        `scope` are the graphs that it sees, by their IRIs or "default"; None for all.

        A `guest` is a client without a key, by any name: what it asks for keeps nobody waiting, begins anew where it
        would, and may be stopped (Busy). Other clients, by any name, take turns.

        Whatever `WorldsError` or `ValueError` the job raised; QueryTimeout when `timeout` seconds have passed; Busy if
        no process was free all that time, or the process was killed; a write may have been kept all the same. JobError.
        If the call is cancelled, a reading job is stopped a second later, and a write goes on.
        """
        async with self._run(job, world, **how) as run:
            kind, body = await run.next()
            assert kind == RESULT, f"{job} streams"
            return unpacked(body)

    @contextlib.asynccontextmanager
    async def stream(self, job: str, world: Path, **how: Any) -> AsyncIterator[Stream]:
        """The stream that a job gives, as a context manager; a stream that is left before its end is stopped.

        `timeout` counts the seconds that the job works, not those in which its reader is slow; but a reader that takes
        nothing for as long, or needs ten times as long in all, is not waited for. Errors as `call`, also while it is
        read.
        """
        async with self._run(job, world, **how) as run:
            kind, body = await run.next()
            assert kind == HEAD, f"{job} does not stream"
            run.head = unpacked(body)
            yield run

    @contextlib.asynccontextmanager
    async def alone(self, world: Path, *, timeout: float) -> AsyncIterator[None]:
        """Nobody writes to a world meanwhile, and no idle process has it open when the block begins; Busy."""
        async with self._locked(world, timeout):
            await self.forget(world)
            yield

    async def prepare(self, world: Path, *, timeout: float) -> None:
        """Wait until one process has built the indexes for queries of a world; minutes for a large world.

        Busy after `timeout` seconds, in which case it goes on; errors of opening the world. It is done once, until
        `unprepare` says that much has changed.
        """
        key = _key(world)
        task = self._prepared.get(key)
        if task is None:
            task = asyncio.create_task(self.call("prepare", world, timeout=_PREPARING, arguments={}))
            task.add_done_callback(partial(self._was_prepared, key))
            self._prepared[key] = task
        try:
            async with asyncio.timeout(timeout):
                await asyncio.shield(task)
        except TimeoutError:
            raise Busy("the SPARQL index of this world is being built: try again later", retry_after=10) from None

    def unprepare(self, world: Path) -> None:
        """The next `prepare` of a world has something to do."""
        task = self._prepared.get(_key(world))
        if task is not None and task.done():
            del self._prepared[_key(world)]

    def _was_prepared(self, key: str, task: asyncio.Task[Any]) -> None:
        if (task.cancelled() or task.exception() is not None) and self._prepared.get(key) is task:
            del self._prepared[key]

    async def forget(self, world: Path) -> None:
        """Close a world in all processes, before or after its deletion; a busy process closes it after its job."""
        self.unprepare(world)
        await asyncio.gather(*(group.forget(_key(world)) for group in (self._readers, self._writers)))

    @property
    def pids(self) -> dict[str, list[int]]:
        """The numbers of the processes: "readers" and "writers"."""
        return {"readers": self._readers.pids, "writers": self._writers.pids}

    @property
    def state(self) -> dict[str, int]:
        """The numbers of processes, busy processes, waiting jobs, and processes killed up to now."""
        groups = (self._readers, self._writers)
        return {
            "readers": len(self._readers.pids),
            "writers": len(self._writers.pids),
            "busy": sum(group.busy for group in groups),
            "waiting": sum(group.waiting for group in groups),
            "killed": sum(group.killed for group in groups),
        }

    @contextlib.asynccontextmanager
    async def _run(
        self,
        job: str,
        world: Path,
        *,
        write: bool = False,
        scope: tuple[str, ...] | None = None,
        guest: str = "",
        client: str = "",
        timeout: float,
        arguments: Mapping[str, Any],
    ) -> AsyncIterator[Stream]:
        group = self._writers if write else self._readers
        key = _key(world)
        request = Request(job, key, dict(arguments), (SLOW_CLIENT + 2) * timeout, scope)
        there = identity(key)
        if self._seen.setdefault(key, there) != there:  # another file took its place
            self._seen[key] = there
            await self.forget(world)
        async with AsyncExitStack() as stack:
            began = asyncio.get_running_loop().time()
            if write:
                await stack.enter_async_context(self._locked(world, timeout))
            begin = partial(group.begin, request, began + timeout, guest=guest, client=client)
            run = Stream(job, begin, group.release, await begin(), timeout, began)
            stack.push_async_callback(run.release)
            try:
                yield run
            finally:
                run.leave()
                if not run.ended:  # the reader has gone, or was cancelled
                    finish = self._finish(run, timeout if write else LINGER, stack.pop_all())
                    task = asyncio.create_task(finish)
                    self._finishing.add(task)
                    task.add_done_callback(self._finishing.discard)

    @staticmethod
    async def _finish(run: Stream, seconds: float, stack: AsyncExitStack) -> None:
        """Wait for the end of a job whose caller has left, or kill it."""
        async with stack:
            await run.finish(seconds)

    @contextlib.asynccontextmanager
    async def _locked(self, world: Path, timeout: float) -> AsyncIterator[None]:
        why = f"another write to this world has been going on for {timeout:g} seconds"
        async with held(self._write_locks.setdefault(_key(world), asyncio.Lock()), timeout, why):
            yield

    async def _tend(self) -> None:
        while True:
            await asyncio.sleep(_TICK)
            for group in (self._readers, self._writers):
                group.tend()


class Stream:
    """A job that a worker does, and the time that it has left.

    Of a job that streams it has the `head`, and gives the bytes, piece by piece, when it is iterated over.
    """

    def __init__(
        self,
        job: str,
        begin: Callable[..., Awaitable[WorkerProcess]],
        release: Callable[[WorkerProcess], Awaitable[None]],
        worker: WorkerProcess,
        timeout: float,
        began: float,
    ) -> None:
        self._job = job
        self._begin = begin
        self._release = release
        self.worker = worker
        self._timeout = timeout
        self._loop = asyncio.get_running_loop()
        self._left = timeout - (self._loop.time() - began)
        self._last = began + SLOW_CLIENT * timeout
        self._patience: asyncio.TimerHandle | None = None
        self.ended = False  # the worker is free again, or dead
        self.head: Any = None

    @property
    def killed(self) -> asyncio.Event:
        """Is set when the job was stopped, whether or not anybody reads on."""
        return self.worker.killed

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while (kind_body := await self.next())[0] == DATA:
            yield kind_body[1]

    async def next(self) -> tuple[bytes, bytes]:
        """The next message of the answer, or the error that it is."""
        self.leave()
        if self.worker.ending:  # the group has let go of it
            self.ended = True
            raise Busy("this was stopped: its client read too slowly")
        began = self._loop.time()
        try:
            async with asyncio.timeout(max(0.0, min(self._left, self._last - began))):
                kind, body = await self.worker.read()
        except TimeoutError:
            self._kill()
            raise QueryTimeout(f"this was stopped at the time limit of {self._timeout:g} seconds") from None
        except WorkerDied as error:
            if self.worker.set_back:
                await self.release()
                self.ended = True  # until it is taken again
                self.worker = await self._begin(set_back=self.worker.turns + 1)
                self.ended = False
                self._left -= self._loop.time() - began
                return await self.next()
            _log.warning("a worker process died while it did %s", self._job)
            aborted = await self.worker.aborted()
            self._kill()
            if aborted:
                raise Busy(OUT_OF_MEMORY) from error
            raise Busy("the process of this request was ended before it was done") from error
        self._left -= self._loop.time() - began
        self.worker.answers = True
        if kind not in (DATA, HEAD):
            self.ended = True
        if kind == FAILED:
            failure = unpacked(body)
            assert isinstance(failure, Exception)
            raise failure
        if kind == BROKEN:
            _log.error("the job %s failed:\n%s", self._job, body.decode())
            raise JobError(f"{self._job} failed")
        if not self.ended:
            self._patience = self._loop.call_later(self._timeout, self.worker.kill)
            self.worker.unread = self._loop.time()
        return kind, body

    async def release(self) -> None:
        """Return the worker to its group."""
        await self._release(self.worker)

    def leave(self) -> None:
        """Stop counting how long the reader of the stream takes."""
        self.worker.unread = None
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    async def finish(self, seconds: float) -> None:
        """Read and discard the rest of the answer, for `seconds` at most."""
        if self.worker.ending:
            self.ended = True
        try:
            async with asyncio.timeout(seconds):
                while not self.ended:
                    kind, _ = await self.worker.read()
                    self.ended = kind not in (DATA, HEAD)
        except (TimeoutError, WorkerDied):
            self._kill()
        except BaseException:
            self._kill()
            raise

    def _kill(self) -> None:
        self.ended = True
        self.worker.kill()


@contextlib.asynccontextmanager
async def held(lock: asyncio.Lock, timeout: float, why: str) -> AsyncIterator[None]:
    """Hold a lock in the block; Busy, which says why, if others have it for so many seconds."""
    try:
        async with asyncio.timeout(timeout):
            await lock.acquire()
    except TimeoutError:
        raise Busy(why) from None
    try:
        yield
    finally:
        lock.release()


def _key(world: Path) -> str:
    """The path that identifies the file of a world."""
    return os.path.realpath(world)
