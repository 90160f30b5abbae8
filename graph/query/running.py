"""Runs what pyoxigraph evaluates: where it has stack enough, and where whoever waits for it can stop waiting.

pyoxigraph's evaluation cannot be stopped within its process. A query that is not known to be short is evaluated in a
thread, with Python's lock free, while its caller waits. A caller that is interrupted leaves: the evaluation is
abandoned, and lives on until its next solution, its next call of a function, or its end. While `MOST_ABANDONED` live
on in the process, further queries run in processes of their own, which can be killed (see `limits`).
"""

from __future__ import annotations

import contextlib
import os
import queue
import re
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar, copy_context
from typing import Any, Generic, Protocol, TypeVar

from worlds.errors import QueryError, QueryTimeout
from worlds.graph.query.tokens import by_text

T = TypeVar("T")
Functions = Mapping[Any, Callable[..., Any]]

MOST_ABANDONED = 4  # evaluations in the process that nobody waits for
SHORT = 0.02  # seconds: a query that took less (see `took`) the last time is evaluated in its caller's thread
_CONSTANT = re.compile(r"<[^<>\s]*>|\"[^\"]*\"|'[^']*'|\d+")
_KNOWN = 1000  # texts of short queries that are remembered

# Measured: a character takes up to 3.6 KB of stack (the items of a collection, as "1 1 1"). This is the double.
A_CHARACTER = 8 << 10  # bytes
_LEAST_STACK, MOST_STACK = 16 << 20, 512 << 20  # bytes of addresses; memory is taken where a thread goes

_starting = threading.Lock()  # the stack size of new threads is one setting for the process


# --- what can be interrupted --------------------------------------------------------------------------------------


class Stoppable(Protocol):
    """An evaluation, in a thread or a process."""

    def interrupt(self) -> None:
        """End it for whoever waits, from any thread: QueryError there."""


class Running:
    """The evaluations that are waited for now, so that another thread can stop them; and which queries were short."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._evaluations: set[Stoppable] = set()
        self._short: dict[str, None] = {}  # the texts without constants, the newest last
        self._size = 0  # of the data, when they were short

    def interrupt(self) -> None:
        """Stop the running evaluations; callers that wait for one get a QueryError."""
        with self._lock:
            evaluations = list(self._evaluations)
        for evaluation in evaluations:
            evaluation.interrupt()

    def add(self, evaluation: Stoppable) -> None:
        """Take in an evaluation that has begun."""
        with self._lock:
            self._evaluations.add(evaluation)

    def discard(self, evaluation: Stoppable) -> None:
        """Forget an evaluation that has ended."""
        with self._lock:
            self._evaluations.discard(evaluation)

    def grown(self, quads: int) -> None:
        """Forget which queries were short where the data is twice as large, or half."""
        if quads.bit_length() != self._size:
            self._size = quads.bit_length()
            self._short.clear()

    def is_short(self, text: str) -> bool:
        """Whether a query that is like this text but for constants was short the last time."""
        return _without_constants(text) in self._short

    def took(self, text: str, seconds: float) -> None:
        """Remember how long a query took: in seconds of the processor, or of the clock if it is known to be short."""
        like = _without_constants(text)
        if seconds <= SHORT and like in self._short:
            return
        with self._lock:
            if seconds > SHORT:
                self._short.pop(like, None)
            else:
                self._short[like] = None
                if len(self._short) > _KNOWN:
                    del self._short[next(iter(self._short))]


@by_text(512)
def _without_constants(text: str) -> str:
    return _CONSTANT.sub("", text)


class Interruptible(Running):
    """The evaluations that one piece of work began; later ones, after `interrupt`, are stopped at once."""

    interrupted = False

    def interrupt(self) -> None:
        """Stop running and later evaluations: they raise QueryError."""
        with self._lock:
            self.interrupted = True
        super().interrupt()

    def go_on(self) -> None:
        """QueryError once the work was interrupted."""
        if self.interrupted:
            raise QueryError("the work was interrupted", kind="interrupted")

    def add(self, evaluation: Stoppable) -> None:
        """Take in an evaluation that has begun."""
        super().add(evaluation)
        if self.interrupted:
            evaluation.interrupt()

    def __enter__(self) -> Interruptible:
        """The block is the work, in this thread."""
        self._outer = _work.get()
        _work.set(self)
        return self

    def __exit__(self, *error: object) -> None:
        _work.set(self._outer)


_work: ContextVar[Interruptible | None] = ContextVar("work", default=None)


def works() -> bool:
    """Whether this thread is in a block of an `Interruptible`."""
    return _work.get() is not None


def groups_of(running: Running | None) -> list[Running]:
    """Who can interrupt an evaluation that begins now: `running`, and the work that this thread does."""
    return [group for group in (running, _work.get()) if group is not None]


# --- threads ------------------------------------------------------------------------------------------------------


def run(
    text: str,
    work: Callable[[Functions | None], T],
    functions: Functions | None = None,
    *,
    running: Running | None = None,
    deadline: float | None = None,
) -> T:
    """Run `work(functions)`, which has pyoxigraph read `text`, on a stack with room for all that `check` passes.

    A short text runs here without `running`, or if its query is known to be short, others in a thread, which costs
    about 0.02 ms, and 0.1 ms for a long text. `work` must not need a lock that its caller holds; the `functions`, which
    it is handed, may: they are always called here. QueryError once `running`, or the work of this thread, is
    interrupted, QueryTimeout after the `deadline`, by `time.monotonic`; the evaluation is abandoned then, as after any
    exception here, such as a KeyboardInterrupt.
    """
    groups = [] if running is None else groups_of(running)
    small = len(text) * A_CHARACTER <= _own_stack()
    if small and not groups:
        return work(functions)

    def timed(functions: Functions | None, clock: Callable[[], float] = time.thread_time) -> T:
        began = clock()
        try:
            return work(functions)
        finally:
            groups[0].took(text, clock() - began)

    if small and groups[0].is_short(text):
        return timed(functions, time.perf_counter)  # cheaper, and where it says too much, the next time tells
    stack = 0 if small else min(max(len(text) * A_CHARACTER, _LEAST_STACK), MOST_STACK)
    return _Evaluation(timed if groups else work, functions).result(stack, groups, deadline)


def abandoned() -> int:
    """How many evaluations live on in the process that nobody waits for."""
    return len(_abandoned)


def go_on() -> None:
    """QueryError in a thread whose evaluation was abandoned."""
    here = _here.get()
    if here is not None and here.abandoned:
        raise QueryError("the query was interrupted", kind="interrupted")


class _Evaluation(Generic[T]):
    """Work in a thread, and its calls to the thread that waits for it."""

    def __init__(self, work: Callable[[Functions | None], T], functions: Functions | None) -> None:
        self._work = work
        self._functions = functions
        self._events: queue.SimpleQueue[tuple[Any, Any, Any]] = queue.SimpleQueue()
        self._ended = False
        self.abandoned = False

    def interrupt(self) -> None:
        """End it for whoever waits: QueryError there."""
        self._events.put((None, None, QueryError("the query was interrupted", kind="interrupted")))

    def result(self, stack: int, groups: list[Running], deadline: float | None) -> T:
        """The result of the work, or the error that it, or an interruption, raises; `stack` in bytes, 0 for any."""
        for group in groups:
            group.add(self)
        context = copy_context()
        try:
            if stack:
                _start(lambda: context.run(self._go), stack)
            else:
                hand_over(lambda: context.run(self._go))
            return self._served(deadline)
        finally:
            for group in groups:
                group.discard(self)
            with _ending:
                if not self._ended:
                    self.abandoned = True
                    _abandoned.add(self)

    def _served(self, deadline: float | None) -> T:
        while True:
            try:
                left = None if deadline is None else max(deadline - time.monotonic(), 0)
                name, value, other = self._events.get(timeout=left)
            except queue.Empty:
                raise QueryTimeout("the query was stopped at its time limit") from None
            if name is None:
                if other is None:
                    return value  # type: ignore[no-any-return]  # the result of the work
                try:
                    raise other
                finally:
                    del other  # its traceback has this frame
            assert self._functions is not None
            try:
                other.put((self._functions[name](*value), None))
            except BaseException as error:
                other.put((None, error))
                if not isinstance(error, Exception):
                    raise

    def _go(self) -> None:
        """The work, in its thread."""
        _here.set(self)
        event: tuple[Any, Any, Any] = (None, None, None)
        try:
            event = (None, self._work(asking(self._functions, self._ask)), None)
        except BaseException as error:
            event = (None, None, error)
        with _ending:
            self._ended = True
            _abandoned.discard(self)
        self._events.put(event)
        del event

    def _ask(self, name: Any, arguments: tuple[Any, ...]) -> Any:
        go_on()
        answers: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()
        self._events.put((name, arguments, answers))
        while True:
            with contextlib.suppress(queue.Empty):
                value, error = answers.get(timeout=1)
                break
            go_on()  # who was asked may have left
        if error is None:
            return value
        try:
            raise error
        finally:
            del error  # its traceback has this frame


_here: ContextVar[_Evaluation[Any] | None] = ContextVar("here", default=None)  # what the thread evaluates
_ending = threading.Lock()  # whether an evaluation ends before it is abandoned
_abandoned: set[_Evaluation[Any]] = set()
_idle: list[queue.SimpleQueue[Callable[[], None]]] = []  # threads that wait for work


def hand_over(work: Callable[[], None]) -> None:
    """Let a thread that waits do some work, or a new one."""
    try:
        _idle.pop().put(work)
    except IndexError:
        mine: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        mine.put(work)
        _start(lambda: _wait(mine), 0)


def _wait(mine: queue.SimpleQueue[Callable[[], None]]) -> None:
    mine.get()()
    while len(_idle) < MOST_ABANDONED:
        _idle.append(mine)
        mine.get()()


def _forked() -> None:
    """Reset the state in a forked process: it has none of the threads, so nobody would release their locks."""
    global _starting, _ending
    _starting, _ending = threading.Lock(), threading.Lock()
    _idle.clear()
    _abandoned.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


def asking(functions: Functions | None, ask: Callable[[Any, tuple[Any, ...]], Any]) -> Functions | None:
    """Functions that hand their name and arguments to `ask`, in the place of those given."""
    if not functions:
        return functions

    def stand_in(name: Any) -> Callable[..., Any]:
        return lambda *arguments: ask(name, arguments)

    return {name: stand_in(name) for name in functions}


def _start(target: Callable[[], None], stack: int) -> threading.Thread:
    thread = threading.Thread(target=target, name="worlds-query", daemon=True)
    with _starting:
        before = threading.stack_size()
        try:
            threading.stack_size(stack or before)
            thread.start()
        except (RuntimeError, MemoryError) as error:
            raise QueryError(
                f"there is no room for the {stack >> 20} MB of stack that a query so long needs"
            ) from error
        finally:
            threading.stack_size(before)
    return thread


def _system_stack() -> int:
    """The bytes of stack that any thread has, by the system's default."""
    if sys.platform != "linux" or "CS_GNU_LIBC_VERSION" not in os.confstr_names:
        return 512 << 10
    import resource  # is not there on Windows

    limit = resource.getrlimit(resource.RLIMIT_STACK)[0]
    return 2 << 20 if limit == resource.RLIM_INFINITY else min(limit, 8 << 20)


_SYSTEM_STACK = _system_stack()


def _own_stack() -> int:
    with _starting:
        chosen = threading.stack_size()  # which sets it, too
        threading.stack_size(chosen)
    return min(chosen or _SYSTEM_STACK, _SYSTEM_STACK)
