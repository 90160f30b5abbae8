"""A worker process: does one job after the other, each with a world that it holds open.

The server has it forked of a `template`, or, where that is not Linux, starts it as `python -P -c "from
worlds.doors.server.workers.worker import main; main()"`, and talks to it over its standard input and output. Every
message is a head, one letter and a length, and a body. The server sends pickled requests; the worker answers each with
TAKEN, with OPENED as soon as it has the world, and then with RESULT, with FAILED or BROKEN, or with HEAD, any number of
DATA and END. A worker whose input ends closes its worlds and goes.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import pickle
import re
import select
import signal
import struct
import sys
import threading
import time
import traceback
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import worlds
from worlds.doors.server.problem_documents import Busy, HttpProblem
from worlds.doors.server.workers.jobs import Job, load_jobs
from worlds.errors import ArgumentError, EmbedderError, WorldsError
from worlds.extras.memory.memory_records import seen_through
from worlds.extras.remote.status import replica_at
from worlds.looks.look import answering

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

HEAD_OF_MESSAGE = struct.Struct("=cI")
READY, TAKEN, OPENED, RESULT, FAILED, BROKEN, HEAD, DATA, END = (bytes([letter]) for letter in b"YTORFBHDE")
_SMALL = 100_000  # quads: of a larger world the SPARQL index is built by one process, which `prepare` asks
PIECE = 1 << 16  # bytes of a stream that are worth a message

_LAST_SECONDS = 3.0

OUT_OF_MEMORY = "the request needs more memory than server.max_memory allows"

_ATTRIBUTE = re.compile(r"([A-Za-z_][\w.]*):([A-Za-z_]\w*)")

_log = logging.getLogger("worlds.doors.server")


@dataclass(frozen=True)
class Duties:
    """The settings that a worker gets once, when it starts."""

    write: bool
    embedder: str | None = "auto"  # a name or a path as `worlds.open` takes them, or "module:attribute"
    durability: Literal["normal", "full"] = "normal"
    sparql_index: Literal["auto", "memory", "disk"] = "auto"
    search: Mapping[str, Any] = field(default_factory=dict)  # defaults of searches
    max_memory: int = 0  # bytes that one job may take, 0 for any number
    open_worlds: int = 16  # that it holds at most
    modules: tuple[str, ...] = ()  # that define jobs
    first: str | None = None  # the world that is likely to be asked for
    ready: bool = False  # it takes no job before it is ready for what is asked first of that world


@dataclass(frozen=True)
class Request:
    """A job to do; without one, the world is to be closed."""

    job: str | None
    world: str
    arguments: dict[str, Any]
    seconds: float  # after which the worker ends itself, should the server not have ended it
    scope: tuple[str, ...] | None = None  # the graphs that the job sees; None for all


class _Worlds:
    """A cache of open worlds of a limited size; the least recently used is closed first."""

    def __init__(self, duties: Duties) -> None:
        self._duties = duties
        self._open: OrderedDict[str, tuple[worlds.World, tuple[int, int]]] = OrderedDict()

    def get(self, path: str) -> worlds.World:
        """The world at a path, as it is there now; errors as `worlds.open` has them.

        What is written to a replica goes to its primary.
        """
        found = self._open.get(path)
        if found is not None:
            if identity(path) == found[1]:
                self._open.move_to_end(path)
                return found[0]
            self.close(path)  # it was deleted, or another file has taken its place
        address, replica = (replica_at(path) if self._duties.write else None) or (None, None)
        world = worlds.open(
            address or path,
            replica=replica,
            embedder=find_embedder(self._duties.embedder),
            read_only=not self._duties.write,
            create=False,
            durability="normal" if address else self._duties.durability,
            sparql_index=self._duties.sparql_index,
            search=self._duties.search,
        )
        self._open[path] = world, identity(path)
        while len(self._open) > self._duties.open_worlds:
            self.close(next(iter(self._open)))
        return world

    def close(self, path: str) -> None:
        """Close the world at a path, if it is open."""
        found = self._open.pop(path, None)
        if found is not None:
            found[0].close()

    def close_all(self) -> None:
        """Close them all."""
        for path in list(self._open):
            self.close(path)


def _end_with_server(source: int) -> None:
    """Exit some seconds after the server was killed: nobody would read the results."""
    if sys.platform == "linux":
        poll = select.poll()
        poll.register(source, 0)  # what it only has no more to say is no end
        poll.poll()
        time.sleep(_LAST_SECONDS)
        os._exit(1)


def identity(path: str) -> tuple[int, int]:
    """The numbers that identify the file at a path, whatever its name; (0, 0) where there is none."""
    try:
        status = Path(path).stat()
    except OSError:
        return (0, 0)
    return status.st_dev, status.st_ino


def find_embedder(name: str | None) -> Any:
    """The `embedder` of `worlds.open` by name; "module:attribute" gives the attribute, called if it is a class.

    EmbedderError if there is no such module or attribute.
    """
    match = _ATTRIBUTE.fullmatch(name or "")
    if match is None or name is None or Path(name).exists():
        return name
    try:
        found = getattr(importlib.import_module(match[1]), match[2])
    except (ImportError, AttributeError) as error:
        raise EmbedderError(f"the embedder {name} cannot be imported: {error}") from error
    return found() if isinstance(found, type) else found


class _InterruptedError(Exception):
    """A request has come while texts were being embedded."""


class Worker:
    """The worker in its process."""

    def __init__(self, duties: Duties, source: int, sink: int) -> None:
        self._source, self._sink = source, sink
        self._duties = duties
        self._worlds = _Worlds(duties)
        self._write = duties.write
        self._jobs = load_jobs(duties.modules)
        self._unembedded: dict[str, None] = {}  # worlds that may have texts without vectors

    def run(self) -> None:
        """Do jobs until the input ends."""
        threading.Thread(target=_end_with_server, args=(self._source,), name="worlds-server", daemon=True).start()
        if self._duties.ready:
            self._warm_up()
        self._send(READY)
        if not self._duties.ready:
            self._warm_up()
        try:
            while True:
                self._embed()
                request = receive(self._source)
                if request is None:
                    return
                self._send(TAKEN)
                self._do(request)
        finally:
            self._worlds.close_all()

    def _warm_up(self) -> None:
        """Open the world, load the model and fill the caches that a first request needs, until one comes."""
        if self._duties.first is None or self._asked():
            return
        try:
            world = self._worlds.get(self._duties.first)
            world.search("first", limit=1)
            if not self._asked() and world.count() <= _SMALL:
                world.query("ASK {}")
        except Exception as error:
            _log.warning("%s: a first request failed: %s", self._duties.first, error)

    def _do(self, request: Request) -> None:
        _end_after(request.seconds)
        try:
            if request.job is None:
                self._worlds.close(request.world)
                self._send(RESULT, pickle.dumps(None))
                return
            job = self._jobs[request.job]
            if job.write and not self._write:
                raise ValueError(f"{job.name} writes, and this worker only reads")
            scope = request.scope
            if scope is not None:  # what is copied of the world stays, and is no memory of the request's
                seen_through(self._worlds.get(request.world), scope).count()
            _limit_memory(0 if job.unlimited else self._duties.max_memory)
            world = self._worlds.get(request.world)
            if scope is not None:
                world = seen_through(world, scope)
            if (time := request.arguments.pop("as_of", None)) is not None:
                world = world.as_of(time)
            if "entailed" in request.arguments:
                world = answering(world, request.arguments.pop("entailed"))
            self._send(OPENED)
            if self._write:
                self._unembedded[request.world] = None
            self._answer(job, world, request.arguments)
        except BaseException as error:  # also a panic of an extension module
            if isinstance(error, MemoryError) or isinstance(error.__cause__, MemoryError):
                _limit_memory(0)
                self._send(FAILED, _pickled(Busy(OUT_OF_MEMORY)))
                os._exit(1)  # what was interrupted is in no known state
            failure = HttpProblem("the request is nested too deeply") if isinstance(error, RecursionError) else error
            if isinstance(failure, WorldsError | ArgumentError) or type(failure) is ValueError:
                self._send(FAILED, _pickled(failure))
            else:
                self._send(BROKEN, traceback.format_exc().encode("utf-8", "replace"))
        finally:
            _end_after(0)

    def _answer(self, job: Job, world: worlds.World, arguments: dict[str, Any]) -> None:
        if not job.streams:
            self._send(RESULT, pickle.dumps(job.function(world, **arguments)))
            return
        head, pieces = job.function(world, **arguments)
        self._send(HEAD, pickle.dumps(head))
        for piece in gathered(pieces):
            self._send(DATA, piece)
        self._send(END)

    def _send(self, kind: bytes, body: bytes = b"") -> None:
        data = memoryview(HEAD_OF_MESSAGE.pack(kind, len(body)) + body)
        while data:
            data = data[os.write(self._sink, data) :]

    def _embed(self) -> None:
        """Embed the texts that writes left, until a request comes."""
        while self._unembedded and not self._asked():
            path = next(iter(self._unembedded))
            try:
                world = self._worlds.get(path)
                if world.embedder is not None:
                    world.embed(progress=self._interrupt)
            except _InterruptedError:
                return
            except WorldsError as error:
                if error.kind != "gone":  # a world that was deleted has no texts
                    _log.warning("%s: new texts are not embedded yet, and are found by words only: %s", path, error)
            except Exception:
                _log.exception("%s: new texts are not embedded", path)
            del self._unembedded[path]

    def _interrupt(self, step: str, done: int, total: int | None) -> None:
        if self._asked():
            raise _InterruptedError

    def _asked(self) -> bool:
        if sys.platform == "win32":
            return True  # it cannot be told of a pipe there
        return bool(select.select([self._source], [], [], 0)[0])


def gathered(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The bytes of a stream in larger pieces."""
    held: list[bytes] = []
    size = 0
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size >= PIECE:
            yield b"".join(held)
            held, size = [], 0
    if size:
        yield b"".join(held)


def _pickled(error: WorldsError | ValueError) -> bytes:
    try:
        pickle.loads(data := pickle.dumps(error))
    except Exception:  # it has a constructor, or holds something, that pickle cannot do
        return pickle.dumps(WorldsError(str(error)))
    return data


def _end_after(seconds: float) -> None:
    """Limit this process's life to some seconds, 0 for ever; no code in the process can prevent it."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)


def _limit_memory(size: int) -> None:
    """Limit this process's memory to `size` bytes more than it has now, 0 for no limit. Linux only.

    Counted is what it can write to and has for itself (RLIMIT_DATA): address space, which RocksDB and onnxruntime
    reserve much of, says nothing of memory.
    """
    if resource is None or sys.platform != "linux":
        return
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if not size:
        limit = hard
    else:
        held = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
        limit = held + size if hard == resource.RLIM_INFINITY else min(held + size, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))


def _offer_to_be_killed() -> None:
    """Mark this process as the first to be ended by Linux when memory runs out, before the server and writers."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("500")


def receive(source: int) -> Any:
    """The next message of the server, None if there is none any more."""
    head = _read(source, 8)
    if head is None:
        return None
    body = _read(source, int.from_bytes(head, "little"))
    return None if body is None else pickle.loads(body)


def packed(message: object) -> bytes:
    """A message for `receive`."""
    body = pickle.dumps(message)
    return len(body).to_bytes(8, "little") + body


def _read(source: int, length: int) -> bytes | None:
    pieces = []
    while length:
        piece = os.read(source, min(length, 1 << 20))
        if not piece:
            return None
        pieces.append(piece)
        length -= len(piece)
    return b"".join(pieces)


def main() -> None:
    """Run a worker."""
    for number in (signal.SIGINT, signal.SIGTERM):  # Ctrl-C and systemd reach us too, but the server tells us to go
        signal.signal(number, signal.SIG_IGN)
    source, sink = os.dup(0), os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # what a library prints must not get between the messages
    logging.basicConfig(stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s", level=logging.WARNING)
    duties = receive(source)
    if duties is not None:
        if not duties.write:
            _offer_to_be_killed()
        try:
            Worker(duties, source, sink).run()
        except BrokenPipeError:  # the server is gone
            os._exit(0)
