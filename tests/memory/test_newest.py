"""Of memories that say nearly the same of the same thing, the newest comes first, and it is told which it replaced."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

import worlds
from tests.memory.conversations import CHANGED, OTHERS, Pair, conversation
from tests.support.embedder import HashingEmbedder
from worlds import World
from worlds.records import Memory

BEGAN = dt.datetime(2026, 1, 1, 9, tzinfo=dt.UTC)


def told(world: World, number: int) -> Memory:
    """A memory of a conversation, a turn an hour."""
    memory = world.memory(scope=("conversation", str(number)))
    with memory.transaction():
        for hour, turn in enumerate(conversation(number)):
            memory.retain(turn, at=BEGAN + dt.timedelta(hours=hour), role="user")
    return memory


def place(texts: list[str], text: str) -> int:
    return texts.index(text) if text in texts else len(texts)


def first(memory: Memory, pair: Pair) -> str:
    """Which of a pair is recalled before the other."""
    texts = [one.text for one in memory.recall(pair[2], limit=10)]
    return min(pair[:2], key=lambda text: place(texts, text))


@pytest.fixture(scope="module")
def model() -> worlds.Embedder:
    found = worlds.open(embedder="auto").embedder
    if found is None:
        pytest.skip("the default model is not installed")
    return found


def test_the_newest_of_changed_facts_is_first_and_others_stay(path: Path, model: worlds.Embedder, long: bool) -> None:
    right, moved, many = 0, [], 3 if long else 1
    with worlds.open(path, embedder=model) as world:
        for number in range(many):
            assert len(conversation(number)) == 60
            memory = told(world, number)
            for pair in CHANGED[number]:
                found = memory.recall(pair[2], limit=5)
                right += found[0].text == pair[1]
            for pair in OTHERS[number]:
                plain = [hit.text for hit in memory.search(pair[2], predicates="https://schema.org/text", limit=20)]
                usual = min(pair[:2], key=lambda text: place(plain, text))
                moved += [pair] if first(memory, pair) != usual else []
    assert right >= 6 * many
    assert moved == []


def test_the_older_tells_which_took_its_place(path: Path) -> None:
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        memory = world.memory(scope=("user", "ann"))
        code = memory.retain("The code of the gym locker is 7731.", at="2026-01-01")
        newer = memory.retain("I changed the code of the gym locker to 9042.", at="2026-02-01")
        memory.retain("Kites are red.", at="2026-03-01")
        found = memory.recall("the code of the gym locker is", limit=3)
        assert [one.iri for one in found[:2]] == [newer.memories[0], code.memories[0]]
        assert [one.superseded_by for one in found] == [None, newer.memories[0], None]
        assert memory.context("the code of the gym locker").text.startswith("[1] 2026-02-01: I changed")
        assert len(memory.recall("the code of the gym locker is", limit=1)) == 1


def test_what_cites_a_memory_takes_its_place_whatever_it_says(path: Path) -> None:
    with worlds.open(path, embedder=None) as world:
        memory = world.memory(scope=("user", "ann"))
        older = memory.retain("The kite is red", at="2026-01-01").memories[0]
        newer = memory.retain("It was blue paint under the red kite", cites=older, at="2026-02-01").memories[0]
        assert [one.iri for one in memory.recall("the kite is red")] == [newer, older]
        assert memory.recall("the kite is red")[1].superseded_by == newer


def test_the_cosine_tells_that_nothing_fits(path: Path) -> None:
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        memory = world.memory(scope=("user", "ann"))
        memory.retain(["red kites fly", "blue boats sail"])
        fits, strange = memory.recall("red kites fly")[0], memory.recall("copper lantern meadow")[0]
        assert fits.similarity is not None
        assert strange.similarity is not None
        assert fits.similarity > 0.99 > 0.5 > strange.similarity
