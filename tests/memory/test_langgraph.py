"""LangGraph's store on a world does what its own in-memory one does, and lasts."""

from __future__ import annotations

import datetime
import random
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import worlds
from tests.support.embedder import HashingEmbedder
from worlds import World

base = pytest.importorskip("langgraph.store.base", reason="langgraph-checkpoint is not installed")
memory = pytest.importorskip("langgraph.store.memory")

from worlds.adapters.langgraph import WorldsStore  # noqa: E402  # after what it needs

NAMESPACES = [("a",), ("a", "b"), ("a", "b", "c"), ("b",), ("a b",), ("ä/ö",), ("a", "x", "c")]
KEYS = ["k", "", "k/1", "ключ", "a b", "\0", "\ud800"]
VALUES: list[dict[str, Any]] = [
    {"n": 1, "color": "red", "deep": {"x": [1, 2], "y": None}},
    {"n": 2, "color": "blue", "tags": ["a", "b"], "on": True},
    {"n": 2.5, "color": None, "deep": {"x": [1], "y": "z"}},
    {"n": "3", "text": 'He said "no"\n\\ and left', "color": "red"},
    {},
]
FILTERS: list[dict[str, Any] | None] = [
    None, {}, {"color": "red"}, {"n": 2}, {"n": {"$gt": 1}}, {"n": {"$gte": 2, "$lt": 3}}, {"color": {"$ne": "red"}},
    {"deep": {"x": [1, 2]}}, {"deep": {"y": None}}, {"tags": ["a", "b"]}, {"on": True}, {"missing": None},
    {"color": {"$eq": None}}, {"deep": {"x": {"$eq": [1]}}},
]  # fmt: skip


@pytest.fixture
def world(path: Path) -> Iterator[World]:
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        yield world
        report = world.check()
        assert report.ok, report


def shown(found: Any) -> Any:
    return None if found is None else (found.namespace, found.key, found.value)


def compare(seed: int, world: World, steps: int) -> None:
    """One random sequence on both stores."""
    dice = random.Random(seed)
    mine, theirs = WorldsStore(world, scope=("run", uuid.UUID(int=seed).hex)), memory.InMemoryStore()
    for _ in range(steps):
        namespace, key = dice.choice(NAMESPACES), dice.choice(KEYS)
        does = dice.randrange(6)
        if does < 2:
            value = {**dice.choice(VALUES), "i": dice.randrange(3)}
            for store in (mine, theirs):
                store.put(namespace, key, value, index=dice.choice([None, False]))
        elif does == 2:
            for store in (mine, theirs):
                store.delete(namespace, key)
        elif does == 3:
            assert shown(mine.get(namespace, key)) == shown(theirs.get(namespace, key))
        elif does == 4:
            prefix, wanted = dice.choice([(), *NAMESPACES]), dice.choice(FILTERS)
            try:
                expected = list(map(shown, theirs.search(prefix, filter=wanted, limit=1000)))
            except (TypeError, ValueError):  # it cannot compare; here such a value does not match
                mine.search(prefix, filter=wanted)
                continue
            found = list(map(shown, mine.search(prefix, filter=wanted, limit=1000)))
            assert sorted(map(str, found)) == sorted(map(str, expected)), (prefix, wanted)
            alone = len({one[0] for one in found}) < 2
            assert not alone or found == expected
            start, count = dice.randrange(4), dice.randrange(1, 4)
            page = mine.search(prefix, filter=wanted, limit=count, offset=start)
            assert list(map(shown, page)) == found[start : start + count]
        else:
            conditions: dict[str, Any] = {
                "prefix": dice.choice([None, ("a",), ("*", "b")]),
                "suffix": dice.choice([None, ("c",)]),
                "max_depth": dice.choice([None, 1, 2]),
            }
            held = {item.namespace for item in theirs.search((), limit=1000)}  # it lists emptied ones, too
            full = {**conditions, "max_depth": None}
            expected_names = {one for one in theirs.list_namespaces(**full) if one in held}
            depth = conditions["max_depth"]
            names = sorted({one[:depth] for one in expected_names})
            assert mine.list_namespaces(**conditions) == names


@pytest.mark.parametrize("seed", range(3))
def test_random_sequences_are_those_of_the_store_in_memory(seed: int, world: World) -> None:
    compare(seed, world, 40)


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_ten_thousand_random_sequences(tmp_path: Path) -> None:
    for start in range(0, 10_000, 500):
        with worlds.open(tmp_path / f"{start}.db", embedder=None) as world:
            for seed in range(start, start + 500):
                compare(1000 + seed, world, 12)


def test_a_batch_reads_first_and_is_one_revision(world: World) -> None:
    store = WorldsStore(world)
    store.put(("a",), "k", {"n": 1})
    history = world.memory(scope=("store", "a")).world.history
    before = len(history())
    put, get = base.PutOp(("a",), "k", {"n": 2}), base.GetOp(("a",), "k")
    results = store.batch([put, get, base.PutOp(("a",), "k", {"n": 3}), base.PutOp(("a", "b"), "x", {"n": 4})])
    assert [shown(one) for one in results] == [None, (("a",), "k", {"n": 1}), None, None]
    assert shown(store.get(("a",), "k"))[2] == {"n": 3}
    assert len(history()) == before + 1
    world.memory(scope=("store", "a")).world.undo(history(1)[0].revision)
    assert shown(store.get(("a",), "k"))[2] == {"n": 1}
    assert store.get(("a", "b"), "x") is None


async def test_it_is_asynchronous(world: World) -> None:
    store = WorldsStore(world)
    await store.aput(("a",), "k", {"text": "red kites"})
    assert shown(await store.aget(("a",), "k"))[2] == {"text": "red kites"}
    assert [one.key for one in await store.asearch(("a",), query="kites")] == ["k"]
    await store.adelete(("a",), "k")
    assert await store.aget(("a",), "k") is None


def test_queries_rank_by_the_fields_that_are_indexed(world: World) -> None:
    store = WorldsStore(world, fields=["text", "parts[*].say"])
    store.put(("u", "ann"), "one", {"text": "red kites over the lake", "note": "boats"})
    store.put(("u", "ann"), "two", {"text": "a wooden boat", "parts": [{"say": "kites"}, {"say": "harbour"}]})
    store.put(("u", "ann"), "three", {"text": "boats"}, index=False)
    store.put(("u", "bob"), "four", {"text": "harbour harbour"})
    found = store.search(("u", "ann"), query="harbour")
    assert (found[0].key, found[-1].key, found[-1].score) == ("two", "three", None)
    assert (found[0].score or 0) > 0
    assert {one.key for one in store.search(("u",), query="harbour")} == {"one", "two", "three", "four"}
    assert [one.key for one in store.search(("u",), query="harbour", filter={"note": "boats"})] == ["one"]
    store.put(("u", "ann"), "one", {"text": "harbour"}, index=["text"])  # as a part of "two"
    assert {one.key for one in store.search(("u", "ann"), query="harbour", limit=2)} == {"one", "two"}


def test_items_expire_and_reading_lets_them_live_on(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    store = WorldsStore(world, ttl={"default_ttl": 0.01, "refresh_on_read": True})
    store.put(("a",), "short", {"n": 1})
    store.put(("a",), "long", {"n": 2}, ttl=60)
    until = datetime.datetime.now() + datetime.timedelta(seconds=0.4)
    while datetime.datetime.now() < until:
        assert store.get(("a",), "short") is not None
    until = datetime.datetime.now() + datetime.timedelta(seconds=0.7)
    while datetime.datetime.now() < until:
        pass
    assert store.get(("a",), "short") is None
    assert store.sweep_ttl() == 1
    assert [one.key for one in store.search(("a",))] == ["long"]
    assert store.sweep_ttl() == 0
    assert store.list_namespaces() == [("a",)]


def test_it_lasts_and_is_seen_in_its_scope_alone(path: Path) -> None:
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        WorldsStore(world).put(("u", "ann"), "k", {"text": "a secret zebra"})
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        assert shown(WorldsStore(world).get(("u", "ann"), "k"))[2] == {"text": "a secret zebra"}
        assert WorldsStore(world, scope=("other",)).search(()) == []
        assert list(world.search("zebra")) == []
        assert world.memory(scope=("store", "u", "ann")).recall("zebra")[0].kind == "fact"


@pytest.mark.parametrize(
    ("namespace", "key", "value"),
    [((), "k", {}), (("a.b",), "k", {}), (("",), "k", {}), (("a",), "k", {"x": {1, 2}}), (("a\0",), "k", {})],
)  # fmt: skip
def test_what_cannot_be_kept_is_refused(namespace: Any, key: str, value: Any, world: World) -> None:
    store = WorldsStore(world)
    with pytest.raises((ValueError, TypeError)):
        store.batch([base.PutOp(namespace, key, value)]) if namespace else store.put(namespace, key, value)
    assert store.search(()) == []
