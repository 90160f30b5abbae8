"""One worker process as the server sees it: starting it, sending it a request, reading what it answers."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pickle
import signal
import sys
import time
from typing import Any

from worlds.doors.server.workers.starting import environment, python
from worlds.doors.server.workers.template import Forked, WorkerTemplate
from worlds.doors.server.workers.worker import HEAD_OF_MESSAGE, OPENED, READY, TAKEN, Duties, Request, packed

_START = "from worlds.doors.server.workers.worker import main; main()"
_NICE = 10  # what a process adds to its priority's number that gives way
_AT_ONCE = 1 << 20  # bytes of answers that are read ahead


class WorkerGone(Exception):  # noqa: N818  # says what happened
    """The process has ended, and had not begun with the request."""


class WorkerDied(Exception):  # noqa: N818  # says what happened
    """The process ended, or was ended, while it did a job."""


class WorkerProcess:
    """A process that does one job at a time."""

    def __init__(self, process: asyncio.subprocess.Process | Forked) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self._input = process.stdin
        self._output = process.stdout
        self._head: tuple[bytes, int] | None = None  # of the message whose body has not come yet
        self.worlds: set[str] = set()  # that it may have open
        self.stale: set[str] = set()  # of those, what it is to close when it has time
        self.ending = False
        self.killed = asyncio.Event()
        self.unread: float | None = None  # since when a piece of its stream waits to be sent
        self.guest = ""  # the client without a key whose job it does
        self.names: tuple[str, ...] = ()  # to which the costs of its job are charged
        self.long = False  # it is for long jobs of guests
        self.answers = False  # a part of its job's answer was read
        self.set_back = False  # it was killed so that its job begins anew
        self.turns = 0  # how often its job had its time, before this
        self.opening = False  # its job waits for the world
        self._used: float | None = None  # processor time, before its job
        self._charged = 0.0  # seconds of its job that were charged to the client
        self.since = 0.0  # when it began its job, or became idle, by the loop's clock

    @classmethod
    async def start(cls, duties: Duties, template: WorkerTemplate | None) -> WorkerProcess:
        """Start one, of a template where forking is possible, and wait until it can do jobs; WorkerDied if it ends
        before, OSError.
        """
        pipe: Any = {"stdin": asyncio.subprocess.PIPE, "stdout": asyncio.subprocess.PIPE, "limit": _AT_ONCE}
        if template is None:
            worker = cls(await asyncio.create_subprocess_exec(*python(_START), env=environment(), **pipe))
        else:
            worker = cls(await template.fork(_AT_ONCE))
        try:
            await worker.write(packed(duties))
            kind, _ = await worker.read()
            assert kind == READY
        except OSError as error:
            await worker.end(0)
            raise WorkerDied("a worker process could not be started") from error
        except BaseException:
            await worker.end(0)
            raise
        return worker

    @property
    def pid(self) -> int:
        """The process's number."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it has not ended, as far as is known."""
        over = self._output.at_eof() or self._output.exception() is not None
        return not over and not self.killed.is_set() and self._process.returncode is None

    async def ask(self, request: Request, message: bytes) -> None:
        """Send a request, packed as `message`, and wait until it is taken; WorkerGone if it is not.

        If this is cancelled, the process is to be killed: it may have a part of the request.
        """
        if request.job is None:
            self.worlds.discard(request.world)
        else:
            self.worlds.add(request.world)
        try:
            await self.write(message)
            kind, _ = await self.read()
        except (OSError, WorkerDied) as error:
            raise WorkerGone from error
        assert kind == TAKEN
        self.answers = False

    async def read(self) -> tuple[bytes, bytes]:
        """The next message, its kind and its body. It may be cancelled and called again; WorkerDied."""
        while True:
            try:
                if self._head is None:
                    self._head = HEAD_OF_MESSAGE.unpack(await self._output.readexactly(HEAD_OF_MESSAGE.size))
                kind, length = self._head
                body = await self._output.readexactly(length)
            except (asyncio.IncompleteReadError, OSError) as error:
                raise WorkerDied("the process of this request ended before it was done") from error
            self._head = None
            if kind != OPENED:
                return kind, body
            self.begins(self.guest, asyncio.get_running_loop().time())

    def begins(self, guest: str, now: float, *, opening: bool = False) -> None:
        """Record the start of a job: the client, if it is a guest without a key, and whether it opens its world."""
        self.guest, self.since, self.opening = guest, now, opening
        self._used, self._charged = self._processor_time(), 0.0

    def used(self, now: float) -> float:
        """Seconds that its job took: of the processor, where the system tells."""
        if self.opening or not self.alive:
            return self._charged
        processor = self._processor_time()
        return now - self.since if processor is None or self._used is None else processor - self._used

    def charge(self, now: float) -> float:
        """The part of these seconds that was not charged before."""
        before, self._charged = self._charged, self.used(now)
        return self._charged - before

    def _processor_time(self) -> float | None:
        if sys.platform != "linux":
            return None
        try:
            return time.clock_gettime((~self.pid << 3) | 2)  # what clock_getcpuclockid gives
        except OSError:
            return None

    def give_way(self) -> None:
        """Be for long jobs of guests, with less of the processor than the others."""
        self.long = True
        with contextlib.suppress(OSError, AttributeError):  # AttributeError: Windows
            os.setpriority(os.PRIO_PROCESS, self.pid, _NICE)

    async def aborted(self) -> bool:
        """Whether a process that has died ended itself, as Rust and C++ do when they get no memory."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(1):
                await self._process.wait()
        return self._process.returncode == -signal.SIGABRT

    async def write(self, data: bytes) -> None:
        """Send bytes, and wait until the pipe has room for more."""
        self._input.write(data)
        await self._input.drain()

    def kill(self) -> None:
        """End it at once."""
        self.killed.set()
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()

    async def end(self, seconds: float) -> None:
        """Ask the process to close its worlds and exit, for `seconds` at most; it has ended on return."""
        with contextlib.suppress(OSError):
            self._input.write_eof()
        try:
            async with asyncio.timeout(seconds):
                await self._process.wait()
        except TimeoutError:
            self.kill()
            await self._process.wait()
        finally:
            with contextlib.suppress(OSError):
                while await self._output.read(_AT_ONCE):
                    pass
                self._input.close()
                await self._input.wait_closed()


def unpacked(body: bytes) -> object:
    """The object in a message's body."""
    return pickle.loads(body)
