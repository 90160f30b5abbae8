"""worlds.aopen: every verb of a world awaited, in turn, cancelled, and in transactions that nobody comes into."""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import worlds
from tests.support.serving import ROOT
from worlds.errors import ConflictError, OpenError, QueryError
from worlds.verbs.table import VERBS

DATA = ROOT / "examples" / "space.ttl"
OWN = {"transaction", "close", "interrupt"}  # which an event loop does by its own means


def test_every_verb_of_the_table_is_there_with_its_signature() -> None:
    async def check() -> None:
        async with worlds.aopen(embedder=None) as w:
            assert {name.partition(".")[0] for name in VERBS} <= set(dir(w))
            with worlds.open(embedder=None) as world:
                for name in VERBS.keys() - OWN:
                    assert inspect.signature(VERBS[name].of(w)) == inspect.signature(VERBS[name].of(world)), name
            with pytest.raises(AttributeError, match="no verb 'nothing'"):
                w.nothing()

    asyncio.run(check())


def test_what_is_awaited_is_what_the_world_gives(tmp_path: Path) -> None:
    path = tmp_path / "kb.db"
    with worlds.open(path, embedder=None) as world:
        world.load(DATA)
        found = {
            "search": world.search("moon", limit=3).to_dict()["hits"],
            "stats": world.stats().types,
            "prefixes": world.prefixes,
            "described": world.describe("ex:Mars").to_dict(),
            "count": world.count(),
            "part": world.only(graphs="default").count("ex:Mars"),
            "diff": list(world.diff(0, 1).added)[:700],
        }

    async def ask() -> dict[str, Any]:
        async with worlds.aopen(path, embedder=None, read_only=True) as w:
            part = await w.only(graphs="default")
            diff = await w.diff(0, 1)
            return {
                "search": (await w.search("moon", limit=3)).to_dict()["hits"],
                "stats": (await w.stats()).types,
                "prefixes": await w.prefixes,
                "described": (await w.describe("ex:Mars")).to_dict(),
                "count": await w.count(),
                "part": await part.count("ex:Mars"),
                "diff": [quad async for quad in w.each(diff.added)][:700],
            }

    assert asyncio.run(ask()) == found


def test_it_is_iterated_and_awaited_without_a_block() -> None:
    async def ask() -> None:
        w = await worlds.aopen(embedder=None)
        await w.load(DATA)
        assert len([quad async for quad in w.quads()]) == await w.count()
        rows = [row async for row in w.query("SELECT ?r { ?r a s:Rover }")]
        assert len(rows) == 11
        assert len([hit async for hit in w.search("moon", limit=7)]) == 7
        assert await w.run(lambda world: type(world).__name__) == "World"
        memory = await w.memory(scope=("user", "ann"))
        await memory.retain("Ann likes tea.")
        assert [one.text for one in await memory.recall("tea")] == ["Ann likes tea."]
        await w.close()

    asyncio.run(ask())


def test_before_it_is_open_and_after_it_is_closed_every_way_in_is_an_open_error() -> None:
    async def begin(w: Any) -> None:
        async with w.transaction():
            pass

    async def ask() -> None:
        w = worlds.aopen(embedder=None)
        ways: list[Callable[[], Any]] = [
            lambda: w.count(),
            lambda: begin(w),
            lambda: w.run(len),
            lambda: w.each([1]),
        ]
        for way in ways:
            with pytest.raises(OpenError, match="not open"):
                await way()
        await asyncio.gather(w.__aenter__(), w.__aenter__())
        verb, call, memory = w.count, w.count(), await w.memory(scope="ann")
        async with w.transaction():
            with pytest.raises(OpenError, match="inside of its own transaction"):
                await w.close()
            await w.add([("urn:a", "urn:p", 1)])
        assert await w.count() == 1
        await asyncio.gather(w.close(), w.close())
        for way in (*ways, verb, lambda: call, lambda: memory.recall("tea"), w.__aenter__):
            with pytest.raises(OpenError, match="not open"):
                await way()
        await w.close()

    asyncio.run(ask())


def test_a_closing_that_is_cancelled_closes_all_the_same() -> None:
    async def ask() -> None:
        for steps in range(5):
            before = set(threading.enumerate())
            w = await worlds.aopen(embedder=None)
            (thread,) = set(threading.enumerate()) - before
            closing = asyncio.create_task(w.close())
            for _ in range(1 + steps):
                await asyncio.sleep(0)
            closing.cancel()
            for name in ("count", "__aenter__"):
                with pytest.raises(OpenError, match="not open"):
                    await getattr(w, name)()
            await asyncio.gather(closing, return_exceptions=True)
            thread.join(30)
            assert not thread.is_alive()

    asyncio.run(ask())


def test_a_world_that_is_not_open_has_no_attribute_of_a_verb() -> None:
    w = worlds.aopen(embedder=None)
    assert not hasattr(w, "count")
    assert getattr(w, "nothing", 5) == 5
    with pytest.raises(AttributeError, match="'nothing'") as caught:
        w.nothing()
    assert not isinstance(caught.value, OpenError)


def test_errors_are_those_of_the_verbs(tmp_path: Path) -> None:
    async def ask() -> None:
        with pytest.raises(OpenError):
            async with worlds.aopen(tmp_path / "none.db", create=False):
                pass
        opening = asyncio.ensure_future(worlds.aopen(tmp_path / "left.db", embedder=None).__aenter__())
        await asyncio.sleep(0)
        opening.cancel()  # nobody keeps the file open then
        with pytest.raises(asyncio.CancelledError):
            await opening
        worlds.open(tmp_path / "left.db", embedder=None).close()
        for one in threading.enumerate():
            if one.name.startswith("worlds_"):
                one.join(5)
                assert not one.is_alive()
        async with worlds.aopen(embedder=None) as w:
            with pytest.raises(QueryError):
                await w.query("SELECT nonsense")
            with pytest.raises(TypeError):
                await w.search(1, 2, 3)

    asyncio.run(ask())


def test_a_transaction_is_one_revision_which_no_other_task_comes_into() -> None:
    async def ask() -> None:
        async with worlds.aopen(embedder=None) as w:
            inside = asyncio.Event()

            async def writer() -> None:
                async with w.transaction(author="ann", message="both"):
                    await w.add([("urn:a", "urn:p", 1)])
                    inside.set()
                    await asyncio.sleep(0.1)
                    async with w.transaction():
                        await asyncio.gather(w.add([("urn:a", "urn:p", 2)]), w.add([("urn:a", "urn:p", 3)]))
                    assert await w.count() == 3

            async def other() -> int:
                await inside.wait()
                await w.add([("urn:b", "urn:p", 4)], author="bob")
                return int(await w.count())

            _, seen = await asyncio.gather(writer(), other())
            assert seen == 4
            assert [(one.author, one.added) for one in await w.history()] == [("bob", 1), ("ann", 3)]
            with pytest.raises(ZeroDivisionError):
                async with w.transaction():
                    await w.add([("urn:c", "urn:p", 5)])
                    raise ZeroDivisionError
            assert await w.count() == 4
            with pytest.raises(ConflictError):
                async with w.transaction(base=1):
                    await w.add([("urn:b", "urn:p", 6)])
            assert await w.count() == 4

    asyncio.run(ask())


def test_a_task_that_outlives_its_transaction_is_outside_of_the_next_one() -> None:
    async def ask() -> None:
        async with worlds.aopen(embedder=None) as w:
            inside = asyncio.Event()

            async def late() -> Any:
                await inside.wait()
                return await w.add([("urn:late", "urn:p", 1)])

            async with w.transaction():
                task = asyncio.create_task(late())
            with pytest.raises(ZeroDivisionError):
                async with w.transaction():
                    inside.set()
                    await asyncio.wait([task], timeout=0.1)
                    raise ZeroDivisionError
            assert (await task).added == await w.count("urn:late") == 1

    asyncio.run(ask())


def test_a_transaction_whose_task_is_cancelled_while_it_begins_is_ended(tmp_path: Path) -> None:
    path = tmp_path / "kb.db"

    async def ask() -> None:
        async with worlds.aopen(path, embedder=None) as w:

            async def write() -> None:
                async with w.transaction():
                    await w.add([("urn:never", "urn:p", 1)])

            for steps in range(1, 8):
                writing = asyncio.create_task(write())
                for _ in range(steps):
                    await asyncio.sleep(0)
                time.sleep(0.05)  # the thread goes on, and the loop hears of it too late
                writing.cancel()
                (error,) = await asyncio.gather(writing, return_exceptions=True)
                assert isinstance(error, asyncio.CancelledError)
                await w.add([("urn:later", "urn:p", steps)])
                with worlds.open(path, embedder=None) as other:
                    assert (other.count("urn:never"), other.count("urn:later")) == (0, steps)

    asyncio.run(ask())


def test_what_is_cancelled_ends_and_what_waits_never_begins() -> None:
    endless = "SELECT (COUNT(*) AS ?n) { ?a ?p ?b . ?c ?q ?d . ?e ?r ?f }"

    async def ask() -> None:
        async with worlds.aopen(embedder=None) as w:
            await w.load(DATA)
            query = asyncio.ensure_future(_await(w.query(endless, timeout=120)))
            waiting = asyncio.ensure_future(_await(w.add([("urn:a", "urn:p", 1)])))
            await asyncio.sleep(0.2)
            began = time.monotonic()
            waiting.cancel()
            query.cancel()
            results = await asyncio.gather(query, waiting, return_exceptions=True)
            assert all(isinstance(one, asyncio.CancelledError) for one in results)
            assert time.monotonic() - began < 3
            assert await w.count("urn:a") == 0
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.2):
                    await w.query(endless, timeout=120)
            assert await w.count() > 4000
            long = "SELECT * { ?a ?p ?b . ?c ?q ?d FILTER(STRLEN(STR(?b)) + STRLEN(STR(?d)) < 0) }"
            for _ in range(2):  # without a limit, too
                asked = asyncio.create_task(w.query(long))
                await asyncio.sleep(0.2)
                began = time.monotonic()
                asked.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await asked
                assert await w.count() > 4000
                assert time.monotonic() - began < 1

    asyncio.run(ask())


async def _await(call: Any) -> Any:
    return await call


def test_the_loop_goes_on_while_the_world_works() -> None:
    async def ask() -> None:
        async with worlds.aopen(embedder=None) as w:
            ticks = 0

            async def beat() -> None:
                nonlocal ticks
                while True:
                    await asyncio.sleep(0.005)
                    ticks += 1

            heart = asyncio.ensure_future(beat())
            await w.run(lambda world: time.sleep(0.3))
            assert ticks > 10
            threads = {await w.run(lambda world: threading.get_ident()) for _ in range(5)}
            assert len(threads) == 1
            assert threads != {threading.get_ident()}
            heart.cancel()

    asyncio.run(ask())
