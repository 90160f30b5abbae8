"""Facets: counts of all that a search matches, whatever number of hits was asked for."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

import worlds
from tests.support.embedder import HashingEmbedder
from worlds.core.search.options import gathered

EX = "http://example.org/"


@pytest.fixture(params=[None, HashingEmbedder()], ids=["words", "vectors"])
def world(request: pytest.FixtureRequest) -> Iterator[worlds.World]:
    with worlds.open(embedder=request.param) as world:
        quads: list[Any] = [(EX + "other", EX + "says", '"nothing of the sort"')]
        for number in range(30):
            tag = ("en", "de", "")[number % 3]
            text = f'"kite number {number}"' + (f"@{tag}" if tag else "")
            graph = [EX + "g"] if number % 2 else []
            quads.append((f"{EX}{number}", EX + "says", text, *graph))
            quads.append((f"{EX}{number}", "rdf:type", EX + f"T{number % 5}"))
        world.add(quads)
        yield world


@pytest.mark.parametrize(
    "options", [{}, {"mode": "text"}, {"group_by": "subject"}, {"types": EX + "T1"}, {"boost": f"2 {EX}x"}]
)
def test_they_do_not_depend_on_the_limit(world: worlds.World, options: dict[str, Any]) -> None:
    one, ten, hundred = (world.search("kite", limit=limit, **gathered(options)).facets for limit in (1, 10, 100))
    assert one == ten == hundred
    assert one.types


def test_each_value_counts_what_its_filter_would_leave(world: worlds.World) -> None:
    facets = world.search("kite", mode="text", limit=1).facets
    assert dict(facets.languages) == {"en": 10, "de": 10, "": 10}
    assert dict(facets.graphs) == {"default": 15, EX + "g": 15}
    assert facets.predicates == [(EX + "says", 30)]
    for name in ("types", "predicates", "graphs", "languages"):
        for value, count in getattr(facets, name):
            assert len(world.search("kite", mode="text", limit=100, **{name: value})) == count


def test_a_text_of_several_subjects_has_all_their_types_once(world: worlds.World) -> None:
    world.add([(EX + one, EX + "says", '"heron"') for one in "ab"])
    world.add([(EX + "a", "rdf:type", EX + "X"), (EX + "b", "rdf:type", EX + "X"), (EX + "b", "rdf:type", EX + "Y")])
    assert world.search("heron", mode="text").facets.types == [(EX + "X", 1), (EX + "Y", 1)]


def test_what_finds_nothing_counts_nothing(world: worlds.World) -> None:
    facets = world.search("heron", mode="text").facets
    assert (facets.types, facets.predicates, facets.graphs, facets.languages) == ([], [], [], [])


def test_a_copy_has_them_after_the_world_was_closed() -> None:
    with worlds.open(embedder=None) as world:
        world.add([(EX + "a", EX + "says", '"kite"')])
        found = copy.copy(world.search("kite"))
    assert found.facets.predicates == [(EX + "says", 1)]


@pytest.mark.parametrize("name", ["types", "predicates", "subjects", "graphs", "languages"])
@pytest.mark.parametrize("empty", [[], (), set()], ids=["list", "tuple", "set"])
def test_an_empty_filter_lets_nothing_pass(world: worlds.World, name: str, empty: Any) -> None:
    options: dict[str, Any] = {name: empty}
    assert len(world.search("kite", **options)) == 0
    assert len(world.search("kite", exclude=options)) == 10, "nothing is excluded"
    if name in ("types", "graphs"):
        assert world.resolve("kite", **options).candidates == ()
    if name == "types":
        assert world.context("kite number 1", types=empty).facts == ()
