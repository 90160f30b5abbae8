"""Questions that are allowed, but odd."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyoxigraph as ox
import pytest
import rdflib

import worlds
from tests.support.embedder import HashingEmbedder
from tests.support.odd_input import EX, P
from worlds import World

SAYINGS = {
    "en": "The red kite flies: it is what it is",
    "zh": "中文分词测试很有用",
    "ja": "東京タワーは高いです",
    "ar": "مرحبا بالعالم الجميل",
    "th": "ภาษาไทยเป็นภาษาที่สวยงาม",
    "ko": "한국어를 공부합니다",
    "he": "שלום עולם",
    "hi": "नमस्ते दुनिया",
    "ru": "Привет, мир",
    "el": "Καλημέρα κόσμε",
    "mixed": "Tokyo 東京 café naïve Straße ＷＩＤＥ",
    "emoji": "😀 party 🎉",
}


@pytest.fixture(scope="module")
def sayings() -> Iterator[World]:
    with worlds.open(embedder=HashingEmbedder()) as world:
        world.add([(EX + name, P, ox.Literal(text)) for name, text in SAYINGS.items()])
        yield world


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("中文", "zh"),
        ("分词", "zh"),
        ("测试很", "zh"),
        ("用", "zh"),
        ("東京", "ja mixed"),
        ("タワー", "ja"),
        ("مرحبا", "ar"),
        ("الجميل", "ar"),
        ("ภาษา", "th"),
        ("สวยงาม", "th"),
        ("한국", "ko"),
        ("공부", "ko"),
        ("שלום", "he"),
        ("नमस्ते", "hi"),
        ("привет", "ru"),
        ("МИР", "ru"),
        ("ΚΑΛΗΜΈΡΑ", "el"),
        ("cafe NAIVE", "mixed"),
        ("party", "emoji"),
        ("\u202ekite\u202c", "en"),
        ("\ufeffkite\u200b", "en"),
        ("KITE\n\tflies", "en"),
        ("what", "en"),  # a stop-word, but nothing else
        ("it is", "en"),
        ("kite \udfff", "en"),
        ("-kite", "en"),
        ("kite -red", ""),
        ("text:kite", "en"),
        ("kite AND (", "en"),
        ("\ud800", ""),
        ("\0", ""),
        ("!?.,;:-'\"", ""),
        ("😀", "emoji"),
        ("", ""),
        (" \n\t", ""),
        ('"', ""),
        ("*", ""),
        ("\x01\x02\x1f", ""),
    ],
    ids=ascii,
)
def test_queries_of_all_scripts(sayings: World, query: str, found: str) -> None:
    hits = sayings.search(query, mode="text")
    assert {str(hit.subject).removeprefix(EX) for hit in hits} == set(found.split())
    for hit in hits:
        assert "**" in hit.snippet
    everything = sayings.search(query, limit=100)  # the embedder's list has all
    assert len(everything) == (len(SAYINGS) if query.strip() else 0)
    assert everything.notes == (() if query.strip() else ("the query is blank",))


@pytest.mark.parametrize(
    "query",
    [
        "kite " * 200_000,
        "kite" * 250_000,
        '"' * 1_000_000,
        "-" * 1_000_000,
        "(" * 1_000_000,
        "中" * 1_000_000,
        "*" * 10**6,
    ],
    ids=lambda query: query[:4],
)
def test_queries_of_a_million_characters(sayings: World, query: str) -> None:
    began = time.monotonic()
    hits = sayings.search(query)
    assert time.monotonic() - began < 5
    assert len(hits) == 10
    if query.startswith("kite "):
        assert hits[0].subject == rdflib.URIRef(EX + "en")


def test_queries_that_are_strings_of_another_kind(sayings: World) -> None:
    for query in (rdflib.Literal("kite"), np.str_("kite")):
        for syntax in ("words", "fts5"):
            assert len(sayings.search(query, mode="text", syntax=syntax)) == 1
    assert len(sayings.query(rdflib.Literal("SELECT * { ?s ?p ?o }"))) == len(SAYINGS)  # type: ignore[arg-type]  # solutions


def test_numbers_that_are_numpys(sayings: World) -> None:
    hits = sayings.search(
        "kite",
        limit=np.int64(3),  # type: ignore[arg-type]  # as an array gives it
        ranking=worlds.Ranking(
            candidates=np.int32(50),  # type: ignore[arg-type]
            k=np.float32(20),  # type: ignore[arg-type]
            weights={"text": np.float64(2), "vector": 0},
        ),
        vector=np.ones(32, dtype=np.float64),
    )
    assert len(hits) == 3


def test_more_hits_wanted_than_there_are(sayings: World) -> None:
    hits = sayings.search("kite", limit=10_000)
    assert len(hits) == len(SAYINGS)
    with pytest.raises(IndexError):
        hits[len(SAYINGS)]
    assert [hit.text for hit in hits[5:10_000]] == [hit.text for hit in list(hits)[5:]]
    assert len(sayings.search("kite", limit=10_000, mode="text")) == 1


def test_filters_that_let_nothing_through(sayings: World) -> None:
    nothing: list[dict[str, Any]] = [
        {"subjects": []},
        {"types": ()},
        {"graphs": EX + "nowhere"},
        {"languages": set()},
        {"predicates": "urn:nowhere"},
        {"subjects": "_:nobody"},
        {"where": "?subject <urn:nowhere> ?o"},
        {"where": "BIND (1 AS ?subject)"},
        {"where": "?subject ?p ?o FILTER (1/0 > 2)"},
        {"where": "VALUES ?subject {}"},
    ]
    for filters in nothing:
        for mode in ("hybrid", "vector", "text"):
            assert len(sayings.search("kite", mode=mode, **filters)) == 0


def test_patterns_that_are_odd(sayings: World) -> None:
    for pattern in (
        "?subject ?p ?o # and a comment",
        "\n\n$subject ?p ?o\n",
        "{ SELECT ?subject { ?subject ?p ?o } }",
        "SELECT ?subject { ?subject ?p ?o }",
        "?subject ?p ?o FILTER (STR(?o) != '}')",
        "OPTIONAL { ?subject ?p ?o }",
    ):
        assert len(sayings.search("kite", mode="text", where=pattern)) == 1


@pytest.mark.parametrize("profiles", [False, True])
def test_a_text_of_a_million_letters_is_not_read_once_a_chunk(profiles: bool) -> None:
    with worlds.open(embedder=None) as world:
        world.policy = world.policy.with_(profiles=profiles)
        world.add([("urn:a", "urn:p", f'"{"a" * 1_000_000}"')])
        found = world.search("aaaaaaa*", explain=True)
        assert found
        assert found.explain.milliseconds["statement"] < 1000, "some 30; some 3,000 where each chunk reads all of it"
