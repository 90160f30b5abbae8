"""A blank question with a filter: all that the filter lets through, page by page, with its facets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import worlds
from tests.support.drivers import PLANS
from tests.support.embedder import HashingEmbedder
from worlds import Ranking, World


@pytest.fixture(params=["embedded", "words"])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    with worlds.open(embedder=HashingEmbedder() if request.param == "embedded" else None) as made:
        made.add([(f"urn:{number}", "rdfs:label", f'"bird {number}"') for number in range(250)])
        made.add([(f"urn:{number}", "rdf:type", "urn:Kite" if number % 2 else "urn:Owl") for number in range(250)])
        yield made


@pytest.mark.parametrize("mode", ["hybrid", "vector", "text"])
def test_all_that_is_eligible_is_listed_page_by_page(world: World, mode: Any) -> None:
    if mode == "vector" and world.embedder is None:
        pytest.skip("this mode asks for an embedder")
    asked: dict[str, Any] = {"types": "urn:Kite", "limit": 40, "mode": mode}
    found = world.search(" ", **asked)
    assert "the query is blank: all that the filters let through is listed" in found.notes[0]
    pages, seen = 1, [hit.text for hit in found]
    while found.cursor is not None:
        found = world.search(" ", **asked, cursor=found.cursor)
        seen += [hit.text for hit in found]
        pages += 1
    assert seen == [f"bird {number}" for number in range(1, 250, 2)]
    assert pages == 4
    assert {hit.score for hit in found} == {0.0}, "nothing was compared"


def test_facets_count_all_that_is_listed(world: World) -> None:
    found = world.search("", exclude={"types": "urn:Kite"}, limit=1)
    assert found.facets.types == [("urn:Owl", 125)]
    assert found.facets.languages == [("", 125)]


def test_facets_count_the_values_of_any_predicate(world: World) -> None:
    world.add([(f"urn:{number}", "urn:year", 2000 + number % 3) for number in range(0, 250, 2)])
    world.add([("urn:0", "urn:near", "urn:1"), ("urn:2", "urn:near", "urn:1")])
    found = world.search("", types="urn:Owl", limit=1, facet=["urn:year", "urn:near", "urn:none"])
    years = [sum(number % 3 == left for number in range(0, 250, 2)) for left in range(3)]
    assert {name: len(one) for name, one in found.facets.values.items()} == {
        "urn:year": 3,
        "urn:near": 1,
        "urn:none": 0,
    }
    assert sorted(count for _, count in found.facets.values["urn:year"]) == sorted(years)
    assert found.facets.values["urn:year"][0][0].startswith('"200')
    assert found.facets.values["urn:near"] == [("urn:1", 2)]
    counted = world.search("bird", mode="text", types="urn:Owl", facet="urn:year", limit=1).facets
    assert counted.values == {"urn:year": found.facets.values["urn:year"]}
    assert world.search("bird", mode="text", limit=1).facets.values == {}


def test_stages_and_fusions_are_done_on_what_is_listed(world: World) -> None:
    asked: dict[str, Any] = {"types": "urn:Kite", "limit": 3, "ranking": Ranking(fusion="rrf", plan=PLANS[-1])}
    assert [hit.text for hit in world.search("", **asked)] == ["bird 1", "bird 3", "bird 5"]
    assert [hit.text for hit in world.search("", **asked, group_by="subject")] == ["bird 1", "bird 3", "bird 5"]
    with_rest = world.only(graphs="default").search("", **asked)
    assert [hit.text for hit in with_rest] == ["bird 1", "bird 3", "bird 5"]


def test_several_worlds_are_listed_one_after_another(world: World) -> None:
    with worlds.open(embedder=None) as other:
        other.add([("urn:x", "rdf:type", "urn:Kite"), ("urn:x", "rdfs:label", '"another bird"')])
        with worlds.group({"a": world, "b": other}) as both:
            found = both.search("", types="urn:Kite", limit=200, mode="text")
            assert len(found) == 126
            assert [hit.world for hit in found] == ["a"] * 125 + ["b"]
            assert dict(found.facets.types) == {"urn:Kite": 126}
            other.add([("urn:x", "urn:near", "urn:y")])
            world.add([("urn:1", "urn:near", "urn:y")])
            again = both.search("", types="urn:Kite", mode="text", facet="urn:near")
            assert again.facets.values == {"urn:near": [("urn:y", 2)]}


def test_without_a_filter_nothing_is_listed(world: World) -> None:
    assert not world.search("")
    assert not world.search("", mode="text")
    assert "bird" not in world.context("", types="urn:Kite").text
