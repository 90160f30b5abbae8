"""The turns of a conversation lean on the turn before, their session, their day and their speaker when recalled."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import worlds
from tests.support.embedder import HashingEmbedder
from worlds import World
from worlds.records import Keep, Memory

TALK = [
    ("Ruth", "Which instrument does your lodger play?"),
    ("Tomas", "The cello, from six to eight."),
    ("Ruth", "Rain all week."),
    ("Tomas", "I bought a donkey."),
]


@pytest.fixture
def world(path: Path) -> Iterator[World]:
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        yield world
        assert world.check().ok


@pytest.fixture
def talk(world: World) -> Memory:
    memory = world.memory(scope=("user", "ann"))
    memory.retain(TALK, session="one", at="2026-05-02T10:00:00Z")
    return memory


def texts(memory: Memory, question: str, **options: Any) -> list[str]:
    return [one.text for one in memory.recall(question, **options)]


def test_a_reply_is_found_by_the_words_of_its_question(talk: Memory) -> None:
    assert texts(talk, "lodger instrument", mode="text")[:2] == [TALK[0][1], TALK[1][1]]
    assert texts(talk, "lodger instrument", mode="text", ranking=worlds.Ranking(fusion="rrf"))[:2] == [
        TALK[0][1],
        TALK[1][1],
    ]
    assert [hit.text for hit in talk.search("lodger instrument", mode="text")] == [TALK[0][1]]


def test_a_reply_is_nearer_for_the_turn_before_it_and_shows_its_own_cosine(talk: Memory) -> None:
    question = "Which instrument does your lodger play?"
    found = talk.recall(question, mode="vector")
    plain = [hit.text for hit in talk.search(question, mode="vector", predicates="https://schema.org/text")]
    ranked = [one.text for one in found]
    assert ranked.index(TALK[1][1]) <= plain.index(TALK[1][1])
    embedder = HashingEmbedder()
    (asked,) = embedder.embed_documents([question])
    for one in found:
        (own,) = embedder.embed_documents([one.text])
        assert one.similarity is not None
        assert math.isclose(one.similarity, float(np.dot(own, asked)), abs_tol=1e-3)


def test_of_two_equal_turns_that_in_the_session_with_the_words_is_first(talk: Memory) -> None:
    talk.retain([("Ruth", "The cats sleep."), ("Tomas", "Good, it is late.")], session="two", at="2026-06-01")
    talk.retain([("Ruth", "More soup?"), ("Tomas", "Fine, it is late.")], session="three", at="2026-07-01")
    found = texts(talk, "late cats", mode="text")
    assert found.index("Good, it is late.") < found.index("Fine, it is late.")


def test_a_day_in_the_question_finds_the_turns_of_that_day(talk: Memory) -> None:
    talk.retain([("Ruth", "Snow again."), ("Tomas", "I bought a sledge.")], session="two", at="2025-12-07")
    assert texts(talk, "bought in December 2025", mode="text")[0] == "I bought a sledge."
    assert texts(talk, "bought on Saturday, 2 May 2026", mode="text")[0] == "I bought a donkey."
    assert texts(talk, "bought 7 crates", mode="text") == texts(talk, "bought crates", mode="text")


def test_the_speaker_that_is_named_comes_first_and_names_are_not_sought(talk: Memory) -> None:
    talk.retain([("Ruth", "I like kites.")], session="two", at="2026-06-01")
    talk.retain([("Tomas", "Kites I like.")], session="three", at="2026-06-02")
    talk.retain([("Tomas", "Good night, Ruth!")], session="four", at="2026-06-02")
    assert talk.recall("Does Ruth like kites?")[0].role == "Ruth"
    assert talk.recall("Are kites to Tomas’s taste?")[0].role == "Tomas"
    assert texts(talk, "Ruth", mode="text") == ["Good night, Ruth!"]


def test_names_of_speakers_are_not_embedded(world: World, talk: Memory) -> None:
    talk.retain([("Ruth", "Tomas, blue boats sail.")], session="two", at="2026-06-01")
    for _ in range(2):
        found = talk.recall("blue boats sail.", mode="vector")
        alike = {one.text: one.similarity or 0 for one in found}
        assert alike["Tomas, blue boats sail."] == max(alike.values()) > 0.999
        talk.world.embed(rebuild=True)


def test_both_forms_of_a_conversation_find_the_same_and_each_is_shown_as_it_was_told(
    world: World, talk: Memory
) -> None:
    other = world.memory(scope=("user", "bob"))
    other.retain([f"{who}: {text}" for who, text in TALK], session="one", at="2026-05-02T10:00:00Z")
    for question in ("lodger instrument", "What did Tomas buy?", "weather"):
        ours, theirs = talk.recall(question), other.recall(question)
        assert [f"{one.role}: {one.text}" for one in ours] == [one.text for one in theirs]
        assert [one.score for one in ours] == pytest.approx([one.score for one in theirs])
        assert [one.role for one in ours] == [one.role for one in theirs]
    assert other.memories(limit=1)[0].text == "Tomas: I bought a donkey."
    assert "Tomas: I bought a donkey." in other.context("donkey").text
    assert "Tomas: Tomas" not in other.context("donkey").text


def test_what_begins_with_a_word_and_a_colon_is_no_turn_outside_of_a_conversation(world: World) -> None:
    memory = world.memory(scope=("user", "ann"))
    memory.retain("Recipe: two eggs")
    memory.retain(["Note: call Bob", "the kettle: it whistles"])
    memory.retain("see https://ex.example: it is down", session="one")
    memory.retain("Dear all: hello", session="one", role="user")
    assert {(one.text, one.role) for one in memory.memories()} == {
        ("Recipe: two eggs", None),
        ("Note: call Bob", None),
        ("the kettle: it whistles", None),
        ("see https://ex.example: it is down", None),
        ("Dear all: hello", "user"),
    }
    assert texts(memory, "recipe", mode="text") == ["Recipe: two eggs"]


def test_memories_without_a_speaker_or_a_session_are_ranked_as_in_a_search(world: World) -> None:
    memory = world.memory(scope=("user", "ann"))
    told = ["red kites fly in May", "the kite is red", "boats sail", "two boats, one kite", "2026 was wet"]
    memory.retain(told, session="one", at="2026-05-02")
    memory.retain([("Ruth", text) for text in ("a kite", "a boat")], at="2026-05-03")
    for question in ("red kite in May 2026", "boats"):
        hits = memory.search(question, predicates="https://schema.org/text", limit=20)
        assert [(one.text, one.score) for one in memory.recall(question, limit=20)] == [
            (hit.text, hit.score) for hit in hits
        ]


def test_a_turn_that_is_outlived_counts_for_no_other(talk: Memory) -> None:
    talk.keep = Keep(count=3)
    assert texts(talk, "lodger instrument", mode="text") == []


def test_turns_of_several_scopes_are_ranked_together(world: World, talk: Memory) -> None:
    bob = world.memory(scope=("user", "bob"))
    bob.retain([("Ann", "Any pets?"), ("Bob", "A grey parrot.")], session="one", at="2026-05-02")
    found = world.memory(scope="user").recall("pets or a lodger", mode="text")
    assert {"A grey parrot.", "The cello, from six to eight."} <= {one.text for one in found}
