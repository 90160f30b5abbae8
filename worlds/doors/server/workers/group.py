"""The worker processes of one kind, readers or writers: who is idle, who is busy, who waits for one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, TypeVar

from worlds.doors.server.problem_documents import Busy, HttpProblem
from worlds.doors.server.workers.process import WorkerDied, WorkerGone, WorkerProcess
from worlds.doors.server.workers.template import WorkerTemplate
from worlds.doors.server.workers.worker import Duties, Request, packed

SLICE = 0.3  # seconds that a guest's job may take before it gives way to others
LONGER = 4  # times as long a job may take whenever it was set back, or might have been
STARVED = 2.0  # seconds after which it does so where it used less of the processor
STUCK = 1.0  # seconds after which a job no longer counts as one that will soon be done
SPARE = 30.0  # seconds after which a process that is not needed ends
KEPT_FREE = 30.0  # seconds after a job for a key, or a long one, in which guests leave one process to others
HALVED = 10.0  # seconds in which half of what a guest's jobs took is forgotten
UNREAD = 2.0  # seconds that the client of a stream may take for a piece while others wait for a process
_REMEMBERED = 10_000  # clients
_ATTEMPTS = 3  # to start a process
_CLOSING = 2.0  # seconds that a spare process has to close its worlds

T = TypeVar("T")
_log = logging.getLogger("worlds.doors.server")


class JobError(Exception):
    """A job failed as it should not have; the log says how."""


class WorkerGroup:
    """The workers of one kind.

    Who has no key is a guest. Jobs of others come first, find a process that guests left free once there was one of
    them, and where there is none, the guests' job that has run for longest is stopped. But guests have a least `share`:
    of the turns while both wait, and of the processes, of which one at least is not taken from them.

    Guests do not wait for each other's long jobs either. While somebody waits, half of the processes at most are for
    jobs of guests that have run for a `SLICE`, with less of the processor than the others; what else runs for as long
    is set back: it begins anew when one of these is free, with a `LONGER` turn each time, or is stopped, if a part of
    its answer was sent. Whose jobs have lately taken least of the processor comes first (those of its address, then
    each of its connection on average, or where that is new, each job that is given the same arguments), and for half a
    minute after a long job one process is left to those whose jobs take less than a `SLICE` each.
    """

    def __init__(
        self, duties: Duties, size: int, most: int, template: WorkerTemplate | None, share: float = 0.0
    ) -> None:
        self._duties = duties
        self._template = template
        self._size = size
        self._most = most
        self._share = share
        self._owed = 0.0  # turns that guests have let others have
        self._idle: list[WorkerProcess] = []  # the one that was used last is the last
        self._busy: set[WorkerProcess] = set()
        self._starting: set[asyncio.Task[None]] = set()
        self._ending: set[asyncio.Task[None]] = set()
        self._waiting: dict[asyncio.Future[WorkerProcess], str] = {}  # the client that each is of
        self._turns: dict[str, float] = {}  # when a job of a client was last begun, the latest last
        self._guests: dict[
            asyncio.Future[WorkerProcess], tuple[int, tuple[str, ...]]
        ] = {}  # how often set back, its names
        self._parted = float("-inf")  # when a guest's job was found to be long
        self._taken: dict[str, tuple[float, float, float]] = {}  # by guests: seconds of the processor, jobs, as of when
        self._world: str | None = None  # that was asked for last
        self._asked = dict.fromkeys((False, True), float("-inf"))  # when the last job came that was (not) a guest's
        self._stopped = False
        self.killed = 0

    @property
    def pids(self) -> list[int]:
        """The numbers of the processes that live."""
        return sorted(worker.pid for worker in {*self._idle, *self._busy} if worker.alive)

    @property
    def busy(self) -> int:
        """The number of workers with a job."""
        return len(self._busy)

    @property
    def waiting(self) -> int:
        """The number of jobs that wait for a worker."""
        return len(_open((*self._waiting, *self._guests)))

    @property
    def _for_long(self) -> int:
        """The number of processes still available to long jobs of guests."""
        return max(1, self._most // 2) - sum(worker.long for worker in (*self._idle, *self._busy))

    @property
    def _kept_free(self) -> int:
        """The number of processes that guests must leave to others."""
        both = asyncio.get_running_loop().time() - min(self._asked.values()) < KEPT_FREE
        return int(both and self._most > self._size)

    @property
    def _contended(self) -> bool:
        """Whether guests had long jobs, lately, while somebody waited."""
        return asyncio.get_running_loop().time() - self._parted < KEPT_FREE

    async def fill(self) -> None:
        """Start as many workers as there always are, and wait for them; JobError if none of them starts."""
        while not self._stopped and len(self._idle) + len(self._busy) + len(self._starting) < self._size:
            self._start()
        await asyncio.gather(*self._starting)
        if not self.pids and not self._stopped:
            raise JobError("a worker process could not be started")

    async def begin(
        self, request: Request, deadline: float, *, guest: str = "", client: str = "", set_back: int = 0
    ) -> WorkerProcess:
        """A worker that has begun with the request; Busy if there is none until the deadline.

        `guest` names the client, if it has no key: its address, a space, its connection; `client` names one that has.
        `set_back` says how often the job was set back.

        Problem, before any worker is touched, for arguments that are nested too deeply to be handed over.
        """
        try:
            message = packed(request)
        except RecursionError as error:
            raise HttpProblem("the request is nested too deeply") from error
        while True:
            worker = await self._acquire(request, deadline, guest, client, set_back)
            try:
                async with asyncio.timeout_at(deadline):
                    await worker.ask(request, message)
                return worker
            except BaseException as error:
                worker.kill()
                await self.release(worker)
                if isinstance(error, TimeoutError):  # a writer that embeds takes nothing until a batch is done
                    raise Busy("the server is overloaded: try again later") from None
                if not isinstance(error, WorkerGone):  # killed while it was idle: the job goes to another one
                    raise

    async def _acquire(
        self, request: Request, deadline: float, guest: str, client: str, set_back: int
    ) -> WorkerProcess:
        if self._stopped:
            raise Busy("the server is stopping")
        loop = asyncio.get_running_loop()
        self._drop_dead()
        self._asked[bool(guest)] = loop.time()
        self._world = request.world
        names = _names(guest, request)
        free = self._free(long=set_back > 0)
        if free and (not guest or set_back or len(free) > self._left(self._cost(names, loop.time())[1] >= SLICE)):
            worker = next((one for one in reversed(free) if request.world in one.worlds), free[-1])
            self._idle.remove(worker)
            self._has_turn(client)
        else:
            if not set_back and len(self._busy) + len(self._starting) < self._size:
                self._start()
            future: asyncio.Future[WorkerProcess] = loop.create_future()
            if guest:
                self._guests[future] = set_back, names
            else:
                self._waiting[future] = client
            try:
                async with asyncio.timeout_at(deadline):
                    worker = await future
            except BaseException as error:
                if future.done() and not future.cancelled() and future.exception() is None:
                    self._hand_on(future.result())  # it was given one just then
                future.cancel()
                self._guests.pop(future, None)
                self._waiting.pop(future, None)
                if isinstance(error, TimeoutError):
                    raise Busy("the server is overloaded: try again later") from None
                raise
        worker.begins(guest, loop.time(), opening=True)
        if guest:
            worker.names = names
            self._take(worker, 0, 1, loop.time())
        worker.turns = set_back
        self._busy.add(worker)
        return worker

    async def release(self, worker: WorkerProcess) -> None:
        """The worker has done its job, or is dead."""
        if worker not in self._busy:  # `tend` has let go of it
            return
        if worker.alive and not self._stopped:
            for world in list(worker.stale):
                await self._close(worker, world)
        self._busy.discard(worker)
        self._charge(worker)
        if worker.alive and not self._stopped:
            self._hand_on(worker)
        else:
            self.killed += not self._stopped
            self._end(worker, _CLOSING if self._stopped else 0)
            if self.waiting and not self._starting and not self._stopped:
                self._start()

    def _hand_on(self, worker: WorkerProcess, *, idle: bool = False) -> None:
        """Assign a free worker to the caller that has waited longest, or let it be idle, as it may have been."""
        self._busy.discard(worker)
        if not worker.alive:
            self._end(worker, 0)
            return
        future = self._next_waiting(worker)
        if future is not None or not idle:
            worker.since = asyncio.get_running_loop().time()
        if future is None:
            self._idle.append(worker)
        else:
            self._busy.add(worker)  # at once, or `tend` would count one less
            future.set_result(worker)

    def _cost(self, names: tuple[str, ...], now: float) -> tuple[float, float]:
        """Seconds of the processor that an address took lately, and each job of the connection or like this one."""
        address, connection, alike = names
        seconds, jobs = self._lately(connection if connection in self._taken else alike, now)
        return self._lately(address, now)[0], seconds / max(jobs, 1)

    def _lately(self, name: str, now: float) -> tuple[float, float]:
        seconds, jobs, then = self._taken.get(name, (0.0, 0.0, now))
        kept = 0.5 ** ((now - then) / HALVED)
        return seconds * kept, jobs * kept

    def _charge(self, worker: WorkerProcess) -> None:
        if not worker.guest:
            return
        now = asyncio.get_running_loop().time()
        seconds = worker.charge(now)
        self._take(worker, seconds, 0, now)

    def _take(self, worker: WorkerProcess, seconds: float, jobs: int, now: float) -> None:
        for name in worker.names:
            before = self._lately(name, now)
            _remember(self._taken, name, (before[0] + seconds, before[1] + jobs, now))

    def _free(self, long: bool = False) -> list[WorkerProcess]:
        """The idle ones that are for long jobs of guests, or that are not."""
        return [worker for worker in self._idle if worker.long == long]

    def _left(self, long: bool) -> int:
        """The number of processes that guests must leave free; one more for long jobs where jobs contend."""
        return self._kept_free + (long and self._contended and self._most > 2)

    def _next_waiting(self, worker: WorkerProcess) -> asyncio.Future[WorkerProcess] | None:
        if worker.long or not self._guests_turn():
            waiting = [] if worker.long else _open(self._waiting)
            if waiting:  # of equals the first
                future = min(waiting, key=lambda future: self._turns.get(self._waiting[future], float("-inf")))
                self._has_turn(self._waiting.pop(future))
                return future
            return self._next_guest(worker)
        return self._next_guest(worker) or self._next_waiting(worker)

    def _has_turn(self, client: str) -> None:
        _remember(self._turns, client, asyncio.get_running_loop().time())

    def _guests_turn(self) -> bool:
        """Whether it is a guest's turn although others wait."""
        both = bool(_open(self._waiting) and _open(self._guests))
        self._owed += self._share if both else 0.0
        if not both or self._owed < 1:
            return False
        self._owed -= 1
        return True

    def _next_guest(self, worker: WorkerProcess) -> asyncio.Future[WorkerProcess] | None:
        now = asyncio.get_running_loop().time()
        order = {future: (turns, *self._cost(names, now)) for future, (turns, names) in self._guests.items()}
        for future in sorted(order, key=order.__getitem__):
            turns, _, cost = order[future]
            if future.done() or (worker.long and not turns):
                continue
            if (
                not _open(self._waiting)
                and not worker.long
                and len(self._free()) < self._left(bool(turns) or cost >= SLICE)
            ):
                return None
            if turns and not worker.long:
                if self._for_long <= 0:
                    return None
                worker.give_way()
            del self._guests[future]
            return future
        return None

    def tend(self) -> None:
        """Add processes while jobs wait behind long ones, and end processes that are no longer needed.

        Where they can't grow, the stream ends whose client has read nothing for the longest time.
        """
        now = asyncio.get_running_loop().time()
        self._drop_dead()
        for worker in self._busy:
            self._charge(worker)
        for worker in [worker for worker in self._busy if worker.unread is not None and not worker.alive]:
            self._busy.discard(worker)
            self.killed += 1
            self._end(worker, 0)
        for worker in self._idle.copy():
            self._idle.remove(worker)
            self._hand_on(worker, idle=True)
        there = len(self._idle) + len(self._busy) + len(self._starting)
        if self.waiting:
            self._part(now)
            stuck = sum(worker.long or now - worker.since > STUCK for worker in self._busy)
            if there < self._most and there - stuck < self._size + self._kept_free:
                self._start()
            elif _open(self._waiting) and not self._starting:
                guests = [worker for worker in self._busy if worker.guest and now - worker.since > STUCK]
                if len(guests) > self._share * self._most:
                    min(guests, key=lambda worker: worker.since).kill()
            slow = [worker for worker in self._busy if worker.unread is not None and now - worker.unread > UNREAD]
            if slow and there >= self._most and not self._starting:
                min(slow, key=lambda worker: worker.unread or now).kill()
        spare = max(0, there - self._size - self._kept_free)
        for worker in [worker for worker in self._idle if worker.long or now - worker.since > SPARE][:spare]:
            self._idle.remove(worker)
            self._end(worker, _CLOSING)

    def _part(self, now: float) -> None:
        """Interrupt long jobs of guests in favour of others."""
        waiting = [self._guests[future][0] for future in _open(self._guests)]
        guests = [worker for worker in self._busy if worker.guest and worker.alive and not worker.opening]
        for worker in sorted(guests, key=lambda worker: worker.since):
            took, used, time = now - worker.since, worker.used(now), SLICE * LONGER**worker.turns
            if not worker.turns and waiting.count(0) > self._most:
                time /= 3  # or it takes seconds until each has had a turn
            if used < time and took < max(time, STARVED):
                continue
            self._parted = now
            if not worker.long and self._for_long > 0:
                worker.give_way()
            elif worker.long and (worker.answers or not any(0 < turns <= worker.turns for turns in waiting)):
                worker.turns += 1
            elif (worker.long or self._waiting or 0 in waiting) and not (worker.answers and took < STUCK):
                worker.set_back = not worker.answers
                worker.kill()

    def _drop_dead(self) -> None:
        for worker in [worker for worker in self._idle if not worker.alive]:
            self._idle.remove(worker)
            self._end(worker, 0)

    def _start(self) -> None:
        duties = replace(self._duties, first=self._world, ready=True) if self._contended else self._duties

        async def start() -> None:
            for attempt in range(_ATTEMPTS):
                try:
                    worker = await WorkerProcess.start(duties, self._template)
                    break
                except (OSError, WorkerDied) as error:  # if it was killed, the next one is not
                    _log.error("a worker process could not be started: %s", error)
                    if attempt == _ATTEMPTS - 1 or self._stopped:
                        self._refuse("a worker process could not be started", 5)
                        return
            if self._stopped:
                await worker.end(0)
            else:
                self._hand_on(worker)

        self._keep(self._starting, start())

    def _refuse(self, why: str, retry_after: int) -> None:
        """Raise Busy for whoever waits."""
        for future in _open((*self._waiting, *self._guests)):
            future.set_exception(Busy(why, retry_after=retry_after))

    def _end(self, worker: WorkerProcess, seconds: float) -> None:
        if not worker.ending:
            worker.ending = True
            self._keep(self._ending, worker.end(seconds))

    @staticmethod
    def _keep(tasks: set[asyncio.Task[None]], work: Any) -> None:
        task: asyncio.Task[None] = asyncio.create_task(work)
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    async def forget(self, world: str) -> None:
        """Close a world in the idle workers now, and in the others after their job."""
        for worker in self._busy:
            if world in worker.worlds:
                worker.stale.add(world)
        for worker in [worker for worker in self._idle if world in worker.worlds]:
            if worker in self._idle:  # not taken meanwhile
                self._idle.remove(worker)
                worker.stale.add(world)
                self._busy.add(worker)
                await self.release(worker)

    @staticmethod
    async def _close(worker: WorkerProcess, world: str) -> None:
        worker.stale.discard(world)
        try:
            async with asyncio.timeout(_CLOSING):
                closing = Request(None, world, {}, 4 * _CLOSING)
                await worker.ask(closing, packed(closing))
                await worker.read()
        except (TimeoutError, WorkerGone, WorkerDied):
            worker.kill()
        except BaseException:
            worker.kill()
            raise

    async def stop(self, grace: float) -> None:
        """Stop all workers; a worker with a job is stopped after `grace` seconds at the latest."""
        self._stopped = True
        self._refuse("the server is stopping", 1)
        for worker in self._idle:
            self._end(worker, max(grace, _CLOSING))
        self._idle.clear()
        deadline = asyncio.get_running_loop().time() + grace
        while self._busy and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(0.02)
        for worker in self._busy:
            worker.kill()
        while self._starting:
            await asyncio.gather(*self._starting, return_exceptions=True)
        for worker in self._busy:
            self._end(worker, 0)
        while self._ending:
            await asyncio.gather(*self._ending, return_exceptions=True)


def _open(futures: Iterable[asyncio.Future[T]]) -> list[asyncio.Future[T]]:
    """Futures that wait for a worker still."""
    return [future for future in futures if not future.done()]


def _remember(cache: dict[str, T], name: str, value: T) -> None:
    """Put a value last into a cache of a limited size, which forgets the first one."""
    cache.pop(name, None)
    cache[name] = value
    if len(cache) > _REMEMBERED:
        del cache[next(iter(cache))]


def _names(guest: str, request: Request) -> tuple[str, ...]:
    """Under which names costs are kept: of the client's address, of its connection, of jobs with the same arguments."""
    given = sorted(name for name, value in request.arguments.items() if value is not None)
    return guest.partition(" ")[0], guest, " ".join(["any", request.job or "", *given])
