"""World.explain: what can be told of a query's answer."""

from __future__ import annotations

import json

import pytest

import worlds
from worlds import QueryError

EX = "http://example.org/"


@pytest.fixture
def world() -> worlds.World:
    world = worlds.open(embedder=None)
    world.bind("ex", EX)
    lines = [f'<{EX}{n}> <{EX}n> {n} ; <{EX}note> "kite number {n}" .' for n in range(20)]
    world.load("\n".join(lines).encode(), format="turtle")
    world.load(f"<{EX}1> <{EX}m> 1 .".encode(), format="turtle", graph=f"{EX}g")
    return world


def test_each_pattern_is_counted_where_it_stands(world: worlds.World) -> None:
    query = "SELECT * {\n  ?s ex:n ?n ; ex:note ?t\n  OPTIONAL { GRAPH ?g { ?s ex:m ?m } }\n  FILTER(?n < 5) }"
    told = world.explain(query)
    assert told.results == 5
    assert told.index == "memory"
    assert told.quads == len(world)
    assert [(one.line, one.pattern, one.solutions) for one in told.patterns] == [
        (2, "?s ex:n ?n .", 20),
        (2, "?s ex:note ?t .", 20),
        (3, "?s ex:m ?m .", 1),
    ]
    assert told.milliseconds.keys() == {"index", "search", "evaluation"}
    assert "?s ex:note ?t .  20" in str(told)
    assert json.loads(json.dumps(told.to_dict()))["results"] == 5


def test_searches_are_shown_as_what_they_became(world: worlds.World) -> None:
    query = 'SELECT ?s { SERVICE w:search { ?hit w:query "kite" ; w:limit 3 ; w:subject ?s } ?s ex:n ?n }'
    told = world.explain(query)
    assert told.results == 3
    assert "VALUES" in told.evaluated
    assert "w:search" not in told.evaluated
    assert [one.pattern for one in told.patterns] == ["?s ex:n ?n ."]


def test_other_forms_and_errors(world: worlds.World) -> None:
    assert world.explain("ASK { ?s ex:n 3 }").results == 1
    assert world.explain("CONSTRUCT WHERE { ?s ex:n ?n }").results == 20
    assert world.explain("SELECT ?s { ?s ex:n ?n }", bindings={"n": 3}).results == 1
    with pytest.raises(QueryError):
        world.explain("SELECT * { ?s ex:n }")
