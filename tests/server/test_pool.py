"""The pool of worker processes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the server is an extra")

import worlds
from tests.support import seams
from tests.support.embedder import HashingEmbedder
from tests.support.forking import Forked
from tests.support.server_jobs import nested
from worlds import EmbedderError, OpenError, QueryError, QueryTimeout
from worlds.doors.server.problem_documents import Busy, HttpProblem
from worlds.doors.server.workers.pool import JobError, Pool
from worlds.doors.server.workers.starting import MODULES as JOBS
from worlds.doors.server.workers.starting import begun, started

EMBEDDER = "tests.support.embedder:HashingEmbedder"
MODULES = ("tests.support.server_jobs", "tests.support.preparing_job")


TEMPLATE = "from worlds.doors.server.workers.template import main; main()"


def forked(modules: Sequence[str]) -> tuple[Forked, socket.socket]:
    """A template of workers that has not to import what they need."""
    ours, theirs = socket.socketpair()
    with theirs:
        process = Forked([sys.executable, "-c", TEMPLATE, *modules], stdin=theirs.fileno())
    ours.setblocking(False)
    return process, ours


@pytest.fixture
def starting() -> None:
    """The test is about how a template starts."""


@pytest.fixture(autouse=True)
def templates(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if sys.platform == "linux" and "starting" not in request.fixturenames:
        seams.start_templates(monkeypatch, forked)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "world.db"
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        world.add([("https://example.org/a", "rdfs:label", '"the first"')])
    return path


@contextlib.asynccontextmanager
async def pool_of(**options: Any) -> AsyncIterator[Pool]:
    pool = Pool(
        **{
            "readers": 1,
            "most": 3,
            "embedder": EMBEDDER,
            "modules": MODULES,
            **options,
        }
    )
    try:
        await pool.start()
        yield pool
    finally:
        await pool.stop(0.2)
    assert pool.pids == {"readers": [], "writers": []}


def run(work: Callable[[Pool], Awaitable[None]], **options: Any) -> None:
    async def main() -> None:
        async with pool_of(**options) as pool:
            await work(pool)

    asyncio.run(main())


async def ask(pool: Pool, file: Path, job: str, *, write: bool = False, timeout: float = 20, **arguments: Any) -> Any:
    return await pool.call(job, file, write=write, timeout=timeout, arguments=arguments)


def parents(pids: list[int]) -> set[int]:
    """The processes that started these."""
    return {int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]) for pid in pids}


async def until(holds: Callable[[], bool], seconds: float = 15) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        await asyncio.sleep(0.02)


def test_a_job_runs_in_a_process_of_the_pool(file: Path) -> None:
    async def work(pool: Pool) -> None:
        pid = await ask(pool, file, "process")
        assert pid != os.getpid()
        assert pool.pids["readers"] == [pid]
        assert await ask(pool, file, "count") == 1

    run(work)


def test_errors_come_back_as_they_were_raised(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def work(pool: Pool) -> None:
        with pytest.raises(QueryError, match="^line 3, column 7: no such thing$") as query:
            await ask(pool, file, "fail", how="query")
        assert (query.value.line, query.value.column) == (3, 7)
        with pytest.raises(EmbedderError) as embedder:
            await ask(pool, file, "fail", how="embedder")
        assert embedder.value.kind == "auth"
        with pytest.raises(ValueError, match="limit must be a whole number"):
            await ask(pool, file, "fail", how="value")
        with pytest.raises(OpenError):
            await ask(pool, file.with_name("none.db"), "count")
        with pytest.raises(JobError) as bug:
            await ask(pool, file, "fail", how="bug")
        assert "secret" not in str(bug.value)
        assert await ask(pool, file, "count") == 1

    run(work)
    assert "KeyError: 'secret'" in caplog.text
    assert not file.with_name("none.db").exists()


def test_arguments_and_answers_that_cannot_be_pickled_end_no_process(file: Path) -> None:
    async def work(pool: Pool) -> None:
        before = pool.pids
        with pytest.raises(HttpProblem, match="nested too deeply"):
            await ask(pool, file, "nest", value=nested(10_000))
        with pytest.raises(HttpProblem, match="nested too deeply"):
            await ask(pool, file, "nest", depth=10_000)
        with pytest.raises(JobError):
            await ask(pool, file, "fail", how="panic")
        assert pool.pids == before

    run(work)


def test_a_job_past_its_time_limit_is_stopped(file: Path) -> None:
    async def work(pool: Pool) -> None:
        pid = await ask(pool, file, "process")
        began = time.monotonic()
        with pytest.raises(QueryTimeout, match="time limit of 0.3 seconds"):
            await ask(pool, file, "sleep", seconds=60, timeout=0.3)
        assert time.monotonic() - began < 3
        assert await ask(pool, file, "process") != pid
        assert pool.state["killed"] == 1

    run(work)


def test_the_pool_grows_past_long_jobs_and_no_further_than_it_may(file: Path) -> None:
    async def work(pool: Pool) -> None:
        long = [asyncio.create_task(ask(pool, file, "sleep", seconds=60, timeout=61)) for _ in range(2)]
        await until(lambda: pool.state["busy"] == 2)
        assert await ask(pool, file, "count", timeout=20) == 1  # the third
        assert len(pool.pids["readers"]) == 3
        long.append(asyncio.create_task(ask(pool, file, "sleep", seconds=60, timeout=61)))
        await until(lambda: pool.state["busy"] == 3)
        with pytest.raises(Busy):
            await ask(pool, file, "count", timeout=0.5)
        assert len(pool.pids["readers"]) == 3
        for task in long:
            task.cancel()
        await asyncio.gather(*long, return_exceptions=True)

    run(work)


def test_guests_with_long_jobs_keep_no_other_guest_waiting_and_get_their_answers(file: Path) -> None:
    async def work(pool: Pool) -> None:
        def compute(guest: str, seconds: float, timeout: float = 60) -> asyncio.Task[Any]:
            arguments = {"seconds": seconds}
            return asyncio.create_task(pool.call("compute", file, guest=guest, timeout=timeout, arguments=arguments))

        await compute("host quick", 0)
        long = [compute(f"host {number}", 0.5) for number in range(2)]
        endless = compute("host endless", 60, timeout=2)
        took = []
        for number in range(10):
            began = time.monotonic()
            await compute("host quick" if number % 2 else f"host new{number}", 0.01)
            took.append(time.monotonic() - began)
        assert sorted(took)[-2] < 2, took  # one of two processes does what is long, again and again
        assert await asyncio.gather(*long) == ["computed"] * 2  # they come before what takes longer
        with pytest.raises((QueryTimeout, Busy)):
            await endless
        assert pool.state["killed"] >= 2  # what was set back

    run(work, most=2)


def test_new_connections_without_end_keep_nobody_waiting_who_is_known_or_asks_for_something_else(file: Path) -> None:
    async def work(pool: Pool) -> None:
        def compute(connection: str, seconds: float, timeout: float = 60) -> Any:
            arguments = {"seconds": seconds}
            return pool.call("compute", file, guest=f"host {connection}", timeout=timeout, arguments=arguments)

        async def hostile(number: int) -> None:
            for turn in range(100):
                with contextlib.suppress(Busy, QueryTimeout):
                    await compute(f"{number}.{turn}", 60, timeout=2)

        await compute("known", 0)
        attack = [asyncio.create_task(hostile(number)) for number in range(16)]
        took = []
        for number in range(12):
            await asyncio.sleep(0.05)
            began = time.monotonic()
            if number % 2:
                await compute("known", 0.01)
            else:
                await pool.call("count", file, guest=f"host quick{number}", timeout=60, arguments={})
            took.append(time.monotonic() - began)
        for task in attack:
            task.cancel()
        await asyncio.gather(*attack, return_exceptions=True)
        assert sorted(took)[-2] < 1, took

    run(work, most=4)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of which process one is")
@pytest.mark.usefixtures("starting")
def test_workers_are_forked_of_a_template_that_starts_again(file: Path) -> None:
    async def work(pool: Pool) -> None:
        (template,) = parents(pool.pids["readers"])
        assert await ask(pool, file, "insert", write=True, text="a") == 2
        assert parents(pool.pids["writers"]) == {template}
        before = pool.pids
        long = asyncio.create_task(ask(pool, file, "sleep", seconds=1))
        await until(lambda: pool.state["busy"] == 1)
        os.kill(template, signal.SIGKILL)
        assert await ask(pool, file, "count") == 2
        assert await long == "slept"  # what it had forked goes on
        assert pool.pids == before
        for pid in before["readers"]:
            os.kill(pid, signal.SIGKILL)
        await until(lambda: not set(pool.pids["readers"]) & set(before["readers"]))
        assert await ask(pool, file, "count") == 2
        (another,) = parents(pool.pids["readers"])
        assert another != template

    run(work)


def test_what_nobody_waits_for_is_stopped_soon_but_not_what_is_nearly_done(file: Path, tmp_path: Path) -> None:
    async def work(pool: Pool) -> None:
        pid = await ask(pool, file, "process")
        soon = asyncio.create_task(ask(pool, file, "sleep", seconds=0.3, mark=str(tmp_path / "soon")))
        await asyncio.sleep(0.1)
        soon.cancel()
        await until(lambda: pool.state["busy"] == 0)
        assert (tmp_path / "soon").exists()
        assert await ask(pool, file, "process") == pid
        late = asyncio.create_task(ask(pool, file, "sleep", seconds=60, mark=str(tmp_path / "late"), timeout=61))
        await asyncio.sleep(0.1)
        late.cancel()
        await until(lambda: pool.state["busy"] == 0, 5)
        assert await ask(pool, file, "process") != pid
        assert not (tmp_path / "late").exists()

    run(work)


def test_processes_leave_it_to_the_server_when_to_go(file: Path) -> None:
    async def work(pool: Pool) -> None:
        pid = await ask(pool, file, "process")
        job = asyncio.create_task(ask(pool, file, "sleep", seconds=0.5))
        await asyncio.sleep(0.1)
        for number in (signal.SIGINT, signal.SIGTERM):
            os.kill(pid, number)
        assert await job == "slept"
        assert await ask(pool, file, "process") == pid

    run(work)


def test_a_killed_process_is_replaced(file: Path) -> None:
    async def work(pool: Pool) -> None:
        pid = await ask(pool, file, "process")
        os.kill(pid, signal.SIGKILL)
        assert await ask(pool, file, "process") != pid  # no error, however soon
        with pytest.raises(Busy, match="ended before it was done"):
            await ask(pool, file, "fail", how="kill")
        assert await ask(pool, file, "count") == 1

    run(work)


def test_what_was_acknowledged_is_read_from_then_on_and_survives_kill(file: Path) -> None:
    async def work(pool: Pool) -> None:
        assert await ask(pool, file, "count") == 1
        for number in range(2, 6):
            assert await ask(pool, file, "insert", write=True, text=f"text {number}") is not None
            assert await ask(pool, file, "count") == number
        for pid in pool.pids["writers"]:
            os.kill(pid, signal.SIGKILL)
        assert await ask(pool, file, "count") == 5
        await ask(pool, file, "insert", write=True, text="after it")
        assert await ask(pool, file, "count") == 6

    run(work, readers=2)
    with worlds.open(file, embedder=HashingEmbedder()) as world:
        assert world.check().ok


def test_writes_to_a_world_wait_for_each_other_and_those_of_another_do_not(file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    worlds.open(other, embedder=None).close()

    async def work(pool: Pool) -> None:
        long = asyncio.create_task(ask(pool, file, "insert", write=True, text="long", seconds=60, timeout=61))
        await until(lambda: pool.state["busy"] == 1)
        with pytest.raises(Busy, match="another write"):
            await ask(pool, file, "insert", write=True, text="waits", timeout=0.3)
        assert await ask(pool, other, "insert", write=True, text="does not") == 1
        long.cancel()
        await asyncio.gather(long, return_exceptions=True)
        assert pool.state["busy"] == 1  # a write goes on

    run(work, embedder=None)


def test_a_stream_comes_in_pieces_and_its_errors_where_they_are(file: Path) -> None:
    async def work(pool: Pool) -> None:
        async with pool.stream("lines", file, timeout=20, arguments={"number": 100_000}) as stream:
            assert stream.head == {"type": "text/plain"}
            pieces = [piece async for piece in stream]
        assert b"".join(pieces) == b"".join(b"%d\n" % line for line in range(100_000))
        assert len(pieces) > 3
        with pytest.raises(QueryError, match="in the middle"):
            async with pool.stream("lines", file, timeout=20, arguments={"number": 9, "fail_at": 5}) as stream:
                async for _ in stream:
                    pass
        assert await ask(pool, file, "count") == 1

    run(work)


def test_a_stream_that_is_left_is_stopped(file: Path) -> None:
    async def work(pool: Pool) -> None:
        arguments = {"number": 10**9}
        async with pool.stream("lines", file, timeout=60, arguments=arguments) as stream:
            async for _ in stream:
                break
        await until(lambda: pool.state["busy"] == 0, 5)
        assert await ask(pool, file, "count") == 1

    run(work)


def test_a_stream_has_its_time_limit_and_does_not_wait_for_its_reader_forever(file: Path) -> None:
    async def work(pool: Pool) -> None:
        with pytest.raises(QueryTimeout):
            async with pool.stream("lines", file, timeout=0.5, arguments={"number": 90, "pause": 0.1}) as stream:
                async for _ in stream:
                    pass
        with pytest.raises(Busy):
            async with pool.stream("lines", file, timeout=0.5, arguments={"number": 10**9}) as stream:
                async for _ in stream:
                    await asyncio.sleep(1)

    run(work)


def test_a_forgotten_world_is_closed_and_another_at_its_path_is_seen(file: Path, tmp_path: Path) -> None:
    def opened(pid: int) -> int:
        links = (entry for entry in Path(f"/proc/{pid}/fd").iterdir())
        return sum(str(link.readlink()).startswith(str(tmp_path)) for link in links if link.is_symlink())

    async def work(pool: Pool) -> None:
        pid = await ask(pool, file, "process")
        if Path("/proc/self/fd").exists():
            assert opened(pid)
        await pool.forget(file)
        if Path("/proc/self/fd").exists():
            assert not opened(pid)
        assert await ask(pool, file, "count") == 1
        for part in tmp_path.glob("world.db*"):
            part.unlink()
        with pytest.raises(OpenError):
            await ask(pool, file, "count")
        worlds.open(file, embedder=None).close()
        assert await ask(pool, file, "count") == 0

    run(work)


def test_texts_that_a_write_left_are_embedded_when_the_writer_has_time(file: Path) -> None:
    async def work(pool: Pool) -> None:
        await ask(pool, file, "insert", write=True, text="left for later", embed=False)
        end = time.monotonic() + 15
        while await ask(pool, file, "pending"):
            assert time.monotonic() < end
            await asyncio.sleep(0.05)

    run(work)


def test_an_embedder_that_is_not_there_is_an_error_of_the_job(file: Path) -> None:
    async def work(pool: Pool) -> None:
        with pytest.raises(EmbedderError, match="cannot be imported"):
            await ask(pool, file, "count")

    run(work, embedder="tests.support.embedder:NoSuchEmbedder")


@pytest.mark.usefixtures("starting")
def test_a_pool_that_cannot_start_says_so(file: Path) -> None:
    with pytest.raises(JobError, match="could not be started"):
        run(lambda pool: asyncio.sleep(0), modules=("tests.no_such_jobs",))


def test_a_world_is_prepared_once_and_nobody_waits_too_long(file: Path) -> None:
    def prepared() -> int:
        return len(file.with_name(file.name + ".prepared").read_text())

    async def work(pool: Pool) -> None:
        with pytest.raises(Busy, match="is being built"):
            await pool.prepare(file, timeout=0.2)
        await asyncio.gather(*(pool.prepare(file, timeout=20) for _ in range(5)))
        assert prepared() == 1
        pool.unprepare(file)
        await pool.prepare(file, timeout=20)
        assert prepared() == 2
        for _ in range(2):  # a failure is not kept
            with pytest.raises(OpenError):
                await pool.prepare(file.with_name("none.db"), timeout=20)

    run(work)


def test_nobody_writes_to_a_world_that_is_held_alone(file: Path) -> None:
    async def work(pool: Pool) -> None:
        async with pool.alone(file, timeout=5):
            assert await ask(pool, file, "count") == 1
            with pytest.raises(Busy):
                await ask(pool, file, "insert", write=True, text="meanwhile", timeout=0.3)
        assert await ask(pool, file, "insert", write=True, text="afterwards") is not None

    run(work)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts what a process may write to")
def test_a_job_that_takes_too_much_memory_is_an_error_and_its_process_is_replaced(file: Path) -> None:
    async def work(pool: Pool) -> None:
        first = await ask(pool, file, "process")
        assert await ask(pool, file, "take", size=10 << 20) == 10 << 20
        for wrapped in (False, True):
            with pytest.raises(Busy, match=r"server\.max_memory"):
                await ask(pool, file, "take", size=300 << 20, wrapped=wrapped)
        assert await ask(pool, file, "process") != first

    run(work, max_memory=200 << 20)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of which process one is")
@pytest.mark.usefixtures("starting")
def test_workers_that_cannot_be_started_later_make_the_server_busy(
    file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async def work(pool: Pool) -> None:
        monkeypatch.setattr(sys, "executable", str(tmp_path / "nothing"))
        for pid in parents(pool.pids["readers"]):  # of which they are forked
            os.kill(pid, signal.SIGKILL)
        os.kill(pool.pids["writers"][0], signal.SIGKILL)
        await until(lambda: not pool.pids["writers"])
        with pytest.raises(Busy, match="could not be started"):
            await ask(pool, file, "insert", write=True, text="a")

    run(work)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells which files are open")
def test_all_processes_close_a_file_that_another_one_takes_the_place_of(file: Path, tmp_path: Path) -> None:
    def held(pid: int) -> list[str]:
        links = [str(link.readlink()) for link in Path(f"/proc/{pid}/fd").iterdir()]
        return [link for link in links if link.startswith(str(file))]

    async def work(pool: Pool) -> None:
        await asyncio.gather(*(ask(pool, file, "sleep", seconds=0.5) for _ in range(2)))
        pids = pool.pids["readers"]
        assert all(map(held, pids))
        other = tmp_path / "other.db"
        with worlds.open(other, embedder=None) as world:
            world.add([(f"https://example.org/{n}", "rdfs:label", f'"{n}"') for n in range(7)])
        other.replace(file)
        assert await ask(pool, file, "count") == 7
        assert [link for pid in pids for link in held(pid) if link.endswith("(deleted)")] == []

    run(work, readers=2)


def children() -> set[int]:
    return set(map(int, Path(f"/proc/self/task/{threading.get_native_id()}/children").read_text().split()))


@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux alone")
@pytest.mark.usefixtures("starting")
def test_a_template_that_was_begun_is_that_of_the_first_pool_and_else_gone_after_the_block() -> None:
    before = children()
    with begun():
        (number,) = children() - before
    assert children() == before
    with begun():
        (number,) = children() - before
        process, end = started(JOBS)
        assert process.pid == number
        other, its_end = started(JOBS)
        with other, its_end:
            assert other.pid != number
            other.kill()
    assert process.poll() is None  # it is the pool's, which ends it
    end.close()
    assert process.wait(30) == 0
