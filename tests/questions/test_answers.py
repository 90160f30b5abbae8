"""Questions in words: what a context tells of them, and what a brief gives for their queries."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlds
from tests.support.embedder import HashingEmbedder
from worlds import World
from worlds.extras.questions.question_terms import tokens, words_of_language

EX = "https://company.example/"
DATA = f"""
PREFIX ex: <{EX}> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
ex:Company rdfs:label "Company" . ex:seat rdfs:label "seat" . ex:employees rdfs:label "employees" .
ex:oslo a ex:City ; rdfs:label "Oslo" . ex:bergen a ex:City ; rdfs:label "Bergen" .
ex:nord a ex:Company ; rdfs:label "Nord" ; ex:seat ex:oslo ; ex:employees 120 .
ex:fjord a ex:Company ; rdfs:label "Fjord" ; ex:seat ex:bergen ; ex:employees 4000 .
"""


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with worlds.open(embedder=HashingEmbedder()) as world:
        world.bind("ex", EX)
        world.load(DATA.encode(), format="turtle")
        yield world


@pytest.mark.parametrize(
    "question",
    [
        "How many companies are there?",
        "Is Nord in Oslo?",
        "Is Oslo in Nord?",
        "Are all companies in Oslo?",
        "Which company has the most employees?",
        "Which companies have more than 500 employees?",
        "Which is larger, Oslo or Bergen?",
        "Which companies are not in Oslo?",
    ],
)
def test_no_query_is_made_of_words(world: World, question: str) -> None:
    found = world.context(question, budget=800)
    assert (found.answer, found.near) == (None, ())
    assert "SELECT" not in found.text
    assert "Answer by" not in found.text
    assert found.facts
    brief = world.questions.brief(question)
    assert brief.answer is None
    assert "SELECT" not in brief.text


def test_a_brief_names_what_a_query_takes(world: World) -> None:
    brief = world.questions.brief("Which companies have their seat in Oslo?", budget=500)
    assert [(one.words, str(one.iri)) for one in brief.entities] == [("Oslo", EX + "oslo")]
    assert str(brief.classes[0].iri) == EX + "Company"
    assert str(brief.predicates[0].iri) == EX + "seat"
    assert brief.prefixes["ex"] == EX


def test_a_long_question_costs_no_more(world: World) -> None:
    long = "How many companies are in Oslo and not more than 5 million people " * 3000
    began = time.process_time()
    world.context(long, budget=100)
    world.questions.brief(long, budget=100)
    assert time.process_time() - began < 10


WORDS = (
    "how many which companies in Oslo are the oldest most than 5 million between and 1990 or not people revenue is",
    "Norway average total of by with employees , ? “ ' 1.2.3 99999999999999999999 } { <x> 😀 \0",
)


@given(st.lists(st.sampled_from(" ".join(WORDS).split(" ")), max_size=12))
def test_any_words_are_a_question(world: World, words: list[str]) -> None:
    for budget in (30, 300):
        found = world.context(" ".join(words), budget=budget)
        assert found.tokens <= budget
        assert len(world.questions.brief(" ".join(words), budget=budget).text.encode()) <= 3.5 * budget + 4


@given(st.text("abcdeginrst", min_size=1, max_size=9), st.text("abcdeginrst", min_size=1, max_size=9))
def test_kindred_words_share_a_key(one: str, other: str) -> None:
    words = words_of_language()
    for a, b in ((one, other), (one, one + "ing"), (one, one + "ers")):
        assert words.kinship(a, b) == 0 or words.keys(a) & words.keys(b)


def test_words_have_stems_roots_and_kin() -> None:
    words = words_of_language()
    assert [words.stem(one) for one in ("companies", "Cities", "boxes", "people", "class", "status")] == [
        "company", "city", "box", "person", "class", "status",
    ]  # fmt: skip
    assert words.kinship("directed", "director") > 0.9
    assert words.kinship("salary", "wage") == 0.9
    assert words.kinship("product", "price") == 0.0
    assert [token.word for token in tokens("What's Acme’s “5,000.5”?")] == ["what's", "acme’s", "5,000.5"]
