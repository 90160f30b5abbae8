"""Limits that stop a query: it is evaluated in a forked child, which can be killed as pyoxigraph cannot be stopped.

The child reads the store as it was at the fork, in memory or on disk, and does nothing but evaluate and write: it
takes no lock, imports nothing, and leaves by `os._exit`. Custom functions are called in the parent, which the child
asks. Forking costs what copying the page tables of the process costs: about 1 ms for each 10 MB that it holds.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import os
import pickle
import select
import signal
import socket
import struct
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from worlds.errors import QueryError, QueryTimeout, WorldsError
from worlds.graph.orphans import Tie
from worlds.graph.query.running import Functions, Running, asking, groups_of

if sys.platform != "win32":
    import resource

CAN_FORK = hasattr(os, "fork")
_HEAD = struct.Struct("=cI")  # of a message: its kind, and how many bytes follow
_DATA, _CALL, _ANSWER, _FAILED, _DONE = b"D", b"C", b"A", b"F", b"E"
_LONGEST = 2_000_000  # seconds that a socket and a lock of every system can wait
_MOST = 2**62  # bytes that can be a limit of the system's
_LOOK_AFTER = 1.0  # seconds of silence before the parent looks whether the child still lives
_ERRORS: dict[str, type[Exception]] = {
    error.__name__: error for error in (SyntaxError, ValueError, OSError, MemoryError, RuntimeError)
}


@dataclass(frozen=True)
class Limits:
    """Until when something may be evaluated, by `time.monotonic`, and in how many bytes of memory."""

    deadline: float | None = None
    max_memory: int | None = None


NO_LIMITS = Limits()


def deadline_of(timeout: float | None) -> float | None:
    """When a time limit that begins now, 23 days at most, ends by `time.monotonic`; ValueError unless it is above 0."""
    if timeout is None:
        return None
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout > 0:
        raise ValueError(f"timeout must be a number of seconds above 0, not {timeout!r}")
    return time.monotonic() + min(timeout, _LONGEST)


def remaining(deadline: float | None) -> float | None:
    """The seconds until a deadline; QueryTimeout if it has passed."""
    if deadline is None:
        return None
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        raise _too_late()
    return seconds


def in_time(items: Iterable[Any], deadline: float | None) -> Iterable[Any]:
    """The items, QueryTimeout instead of one that comes too late: all that can be done where nothing can be forked."""
    if deadline is None:
        return items

    def timely(item: Any) -> Any:
        if time.monotonic() > deadline:
            raise _too_late()
        return item

    return map(timely, items)


class Child:
    """A forked process that runs `work`, which writes to a stream; its output is read here with `read`.

    A context manager: the process is gone when it ends, however it ends, and when this process does. `work` gets the
    functions to call instead of `functions`, and the stream. The limit of memory is in bytes above what the process
    holds now. `running` can interrupt it. `task` is what it does, for the errors, which are of the class `error`.
    """

    def __init__(
        self,
        work: Callable[[Functions | None, ChildOutput], None],
        *,
        functions: Functions | None = None,
        limits: Limits = NO_LIMITS,
        running: Running | None = None,
        task: str = "query",
        error: type[WorldsError] = QueryError,
    ) -> None:
        self._task, self._error = task, error
        self._functions = functions
        self._deadline = limits.deadline
        self._all = groups_of(running)
        self._interrupted = False
        self._waiting = threading.Lock()  # a number of a process that was waited for may be another's
        self._max_memory = limits.max_memory
        room = None if limits.max_memory is None else min(_held() + limits.max_memory, _MOST)
        seconds = remaining(self._deadline)
        self._socket, theirs = socket.socketpair()
        self._tie = Tie()
        masked = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())  # no handler runs in the child
        try:
            with warnings.catch_warnings():  # of other threads, whose locks the child does not need
                warnings.simplefilter("ignore", DeprecationWarning)
                self._pid = os.fork()
            if not self._pid:
                self._socket.close()  # so that writing fails once the parent is gone
                self._tie.hold()
                _run(work, functions, theirs, seconds, room)
        except OSError as failure:
            self._socket.close()
            self._tie.release()
            raise error(f"no process could be made to run the {task}: {failure}") from failure
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, masked)
            theirs.close()
        self._status: int | None = None
        self._left = 0  # bytes of the message that is being read
        self._ended = False
        for group in self._all:
            group.add(self)

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *exception: object) -> None:
        for group in self._all:
            group.discard(self)
        self._socket.close()
        self._kill()
        self._wait(0)
        self._tie.release()

    def interrupt(self) -> None:
        """Stop it, from any thread."""
        self._interrupted = True
        self._kill()

    def _kill(self) -> None:
        with self._waiting:
            if self._status is None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self._pid, signal.SIGKILL)

    def begins(self, seconds: float) -> bool:
        """Whether the child writes something within so many seconds."""
        return bool(select.select([self._socket], [], [], seconds)[0])

    def message(self) -> bytes | None:
        """The child's next message, None after its end; errors are those of `read`."""
        self._next_message()
        left, self._left = self._left, 0
        return None if self._ended else self._exactly(left)

    def read(self, size: int = -1) -> bytes:
        """Up to `size` bytes of the child's output, at least one unless it has ended.

        QueryTimeout, QueryError where the child used too much memory or crashed, or the error that `work` raised.
        """
        while not self._left and not self._ended:
            self._next_message()
        piece = b"" if self._ended else self._receive(self._left if size < 0 else min(size, self._left))
        self._left -= len(piece)
        return piece

    def _next_message(self) -> None:
        kind, length = _HEAD.unpack(self._exactly(_HEAD.size))
        if kind == _DATA:
            self._left = length
        elif kind == _CALL:
            assert self._functions is not None
            request = self._exactly(length)
            try:  # a term that is nested deeply can neither be packed nor unpacked
                name, arguments = pickle.loads(request)
                reply = pickle.dumps(self._functions[name](*arguments))
            except Exception as error:
                reply = pickle.dumps(RuntimeError(str(error)))
            self._reply(reply)
        elif kind == _FAILED:
            name, message = self._exactly(length).decode("utf-8", "replace").split("\n", 1)
            if name == "MemoryError":
                raise self._too_much()
            raise _ERRORS.get(name, RuntimeError)(message)
        else:
            self._ended = True

    def _reply(self, answer: bytes) -> None:
        self._socket.settimeout(remaining(self._deadline))
        try:
            self._socket.sendall(_HEAD.pack(_ANSWER, len(answer)) + answer)
        except TimeoutError:
            raise _too_late() from None
        except OSError:
            raise self._died() from None

    def _exactly(self, length: int) -> bytes:
        pieces = []
        while length:
            pieces.append(self._receive(length))
            length -= len(pieces[-1])
        return b"".join(pieces)

    def _receive(self, most: int) -> bytes:
        while True:
            self._socket.settimeout(min(remaining(self._deadline) or _LOOK_AFTER, _LOOK_AFTER))
            try:
                piece = self._socket.recv(min(most, 1 << 20))
            except TimeoutError:
                if self._wait(os.WNOHANG):  # another process that was forked meanwhile may keep the connection open
                    raise self._died() from None
            except OSError:
                raise self._died() from None
            else:
                if not piece:
                    raise self._died()
                return piece

    def _wait(self, options: int) -> bool:
        """Whether the child has ended; with options 0, once it has."""
        with self._waiting:
            if self._status is None:
                try:
                    pid, status = os.waitpid(self._pid, options)
                except ChildProcessError:  # somebody else has waited for it
                    pid, status = self._pid, 0
                if pid:
                    self._status = status
            return self._status is not None

    def _died(self) -> WorldsError:
        self._wait(0)
        if self._interrupted:
            return self._error(f"the {self._task} was interrupted", kind="interrupted")
        number = os.WTERMSIG(self._status) if self._status and os.WIFSIGNALED(self._status) else 0
        if number == signal.SIGXCPU:
            return _too_late()
        if self._max_memory is not None and number in (signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGKILL):
            return self._too_much()
        return self._error(f"the process of the {self._task} died{f' of signal {number}' if number else ''}")

    def _too_much(self) -> WorldsError:
        limit = "there is" if self._max_memory is None else f"{self._max_memory:,} bytes of memory, its limit"
        what = "more memory than" if self._max_memory is None else "more than"
        return self._error(f"the {self._task} needs {what} {limit}", kind="memory")


class ChildOutput:
    """The output of the child: a binary stream whose pieces become messages."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def write(self, data: Any) -> int:
        """Send bytes."""
        self.send(_DATA, bytes(data))
        return len(data)

    def flush(self) -> None:
        """Nothing waits here."""

    def send(self, kind: bytes, data: bytes = b"") -> None:
        """Send one message."""
        self._connection.sendall(_HEAD.pack(kind, len(data)) + data)

    def ask(self, name: Any, arguments: tuple[Any, ...]) -> Any:
        """The answer of a function of the parent's."""
        self.send(_CALL, pickle.dumps((name, arguments)))
        head = self._connection.recv(_HEAD.size, socket.MSG_WAITALL)
        answer = pickle.loads(self._connection.recv(_HEAD.unpack(head)[1], socket.MSG_WAITALL))
        if isinstance(answer, Exception):
            raise answer
        return answer


def _run(
    work: Callable[[Functions | None, ChildOutput], None],
    functions: Functions | None,
    connection: socket.socket,
    seconds: float | None,
    room: int | None,
) -> None:
    """Do the work of the child; it never returns."""
    try:
        gc.disable()  # what the parent left to collect, such as its connections, is none of ours
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGXCPU):  # Ctrl-C is the parent's affair
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGTERM, signal.SIGHUP, signal.SIGXCPU))
        _set_limits(seconds, room)
        faulthandler.disable()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # where Rust would say why it aborts
        writer = ChildOutput(connection)
        try:
            work(asking(functions, writer.ask), writer)
        except BaseException as error:
            writer.send(_FAILED, f"{type(error).__name__}\n{error}".encode("utf-8", "replace"))
        else:
            writer.send(_DONE)
    finally:
        os._exit(0)


def _set_limits(seconds: float | None, room: int | None) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if seconds is not None:  # should the parent be killed first
        limit = int(seconds) + 2
        hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
        resource.setrlimit(resource.RLIMIT_CPU, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))
    if room is not None:
        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        resource.setrlimit(resource.RLIMIT_DATA, (room if hard == resource.RLIM_INFINITY else min(room, hard), hard))


def _held() -> int:
    """The bytes of memory that count towards RLIMIT_DATA: the process's own that it may write to."""
    if sys.platform != "linux":
        raise QueryError("max_memory needs Linux: elsewhere the system doesn't keep such a limit")
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmData:"))


def _too_late() -> QueryTimeout:
    return QueryTimeout("the query was stopped at its time limit")
