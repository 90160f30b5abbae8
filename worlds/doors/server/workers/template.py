"""A process that has imported what workers need, has no world open, and is forked for each: in a tenth of the time.

The server starts it by `starting`, as `python -P -c "…; main()" MODULE…`, with one end of a socket as its standard
input, over which come single bytes with the end of another socket, for the standard input and output of a worker. It
answers with the worker's number, and later with that and how the worker ended. It ends with the server.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import traceback
from collections import deque
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import NoReturn

from worlds.doors.server.workers import worker
from worlds.doors.server.workers.jobs import load_jobs
from worlds.doors.server.workers.starting import started

_MESSAGE = struct.Struct("=qq")  # the number of a process, and its exit code
_STARTED = 1 << 32  # in place of the exit code


class Forked:
    """A worker's process, in the form that asyncio has for processes that it starts itself."""

    stdin: asyncio.StreamWriter
    stdout: asyncio.StreamReader

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._ended = asyncio.Event()

    async def wait(self) -> int | None:
        """Its exit code, as soon as it has ended; a negative one is that of a signal."""
        await self._ended.wait()
        return self.returncode

    def kill(self) -> None:
        """End it at once; ProcessLookupError where it has ended."""
        if self.returncode is not None:
            raise ProcessLookupError
        os.kill(self.pid, signal.SIGKILL)

    def was_ended(self, code: int) -> None:
        """Record the exit code."""
        self.returncode = code
        self._ended.set()


class WorkerTemplate:
    """The template of a server's workers. It starts when it is first asked for one, and again should it have ended."""

    def __init__(self, modules: Sequence[str]) -> None:
        self._modules = modules
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._reading: asyncio.Task[None] | None = None
        self._asked: deque[asyncio.Future[Forked]] = deque()
        self._forked: dict[int, Forked] = {}

    async def fork(self, read_ahead: int) -> Forked:
        """A new worker, with a buffer of `read_ahead` bytes for its output; OSError if it cannot be forked."""
        loop = asyncio.get_running_loop()
        if self._socket is None:
            await self.end()
            self._process, self._socket = started(self._modules)
            self._reading = loop.create_task(self._read(self._socket))
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                socket.send_fds(self._socket, [b"f"], [theirs.fileno()])
        except OSError:  # it has ended
            ours.close()
            assert self._reading is not None
            await self._reading
            raise
        asked: asyncio.Future[Forked] = loop.create_future()
        self._asked.append(asked)
        try:
            forked = await asked
        except BaseException:
            ours.close()  # at which it ends, if there is one
            raise
        ours.setblocking(False)
        forked.stdout, forked.stdin = await asyncio.open_connection(sock=ours, limit=read_ahead)
        return forked

    async def _read(self, connection: socket.socket) -> None:
        """Read the template's messages until it ends. The workers go on without it."""
        loop, held = asyncio.get_running_loop(), b""
        with connection, contextlib.suppress(OSError):
            while piece := await loop.sock_recv(connection, 1 << 16):
                held += piece
                whole = len(held) - len(held) % _MESSAGE.size
                for pid, code in _MESSAGE.iter_unpack(held[:whole]):
                    if code != _STARTED:
                        self._forked.pop(pid).was_ended(code)
                        continue
                    self._forked[pid] = Forked(pid)
                    asked = self._asked.popleft()
                    if not asked.done():
                        asked.set_result(self._forked[pid])
                held = held[whole:]
        self._socket = None
        while self._asked:
            asked = self._asked.popleft()
            if not asked.done():
                asked.set_exception(OSError("no process can be forked"))
        for forked in self._forked.values():
            _watch(forked)
        self._forked.clear()

    async def end(self) -> None:
        """Stop the template after all workers; it has ended on return."""
        if self._process is None or self._reading is None:
            return
        if self._socket is not None:
            self._socket.shutdown(socket.SHUT_WR)
        await self._reading
        await asyncio.to_thread(self._process.wait)
        self._process = None


def _watch(forked: Forked) -> None:
    """See that a worker ends whose template has ended: its exit code is known to nobody."""
    if sys.platform != "linux":
        return
    loop = asyncio.get_running_loop()
    try:
        descriptor = os.pidfd_open(forked.pid)
    except OSError:  # it has ended, or the system can't tell when it will
        with contextlib.suppress(ProcessLookupError):
            forked.kill()
        forked.was_ended(-signal.SIGKILL)
        return

    def ended() -> None:
        loop.remove_reader(descriptor)
        os.close(descriptor)
        forked.was_ended(-signal.SIGKILL)

    loop.add_reader(descriptor, ended)


def main() -> None:
    """Run the template."""
    for number in (signal.SIGINT, signal.SIGTERM):  # the server tells us to go
        signal.signal(number, signal.SIG_IGN)
    server = socket.socket(fileno=os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    load_jobs(sys.argv[1:])
    for module in ("rdflib", "numpy.ma"):  # as each search does; a model's libraries begin threads, which no fork has
        import_module(module)
    gc.collect()
    gc.freeze()  # what is looked at by nobody is shared
    woken, waking = socket.socketpair()
    woken.setblocking(False)
    waking.setblocking(False)
    signal.set_wakeup_fd(waking.fileno())
    signal.signal(signal.SIGCHLD, lambda *_: None)
    while True:
        ready, _, _ = select.select([server, woken], [], [])
        if woken in ready:
            woken.recv(1 << 12)
            for pid, status in _ended():
                server.sendall(_MESSAGE.pack(pid, status))
        if server in ready:
            asked, ends, _, _ = socket.recv_fds(server, 1, 1)
            if not asked:
                return
            if not (pid := os.fork()):
                server.close()
                _work(ends[0])
            os.close(ends[0])
            server.sendall(_MESSAGE.pack(pid, _STARTED))


def _ended() -> Iterator[tuple[int, int]]:
    with contextlib.suppress(ChildProcessError):
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            yield found[0], os.waitstatus_to_exitcode(found[1])


def _work(end: int) -> NoReturn:
    """Be a worker, whose standard input and output are one end of a socket."""
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.dup2(end, 0)
        os.dup2(end, 1)
        os.close(end)
        worker.main()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)
