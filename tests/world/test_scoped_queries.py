"""SPARQL within a scope of few graphs: the world's own index answers it, as a world that holds nothing else would."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

import worlds
from tests.support import scoping, seams
from worlds import World
from worlds.records import Solutions
from worlds.world import connection_of

NUMBERS = ("1", "01", "+1", "2", "02")


def two(seed: int) -> tuple[World, World, list[str], list[str]]:
    """A world of four graphs, one that has the scope's quads alone, the scope's graphs and the others."""
    draw = random.Random(seed)
    graphs = ["default", "ex:g1", "ex:g2", "ex:g3"]
    inside = sorted(draw.sample(graphs, draw.randint(1, 3)))
    world, oracle = (worlds.open(":memory:", embedder=None) for _ in range(2))
    for one in (world, oracle):
        one.bind("ex", scoping.EX)
    quads = [
        (f"ex:{draw.choice('abc')}", f"ex:{draw.choice('pqr')}", value, draw.choice(graphs))
        for _ in range(40)
        for value in (
            f"ex:{draw.choice('abcdef')}",
            f'"{draw.choice(NUMBERS)}"^^xsd:integer',
            f'"{draw.choice(("amber", "basalt"))}"{draw.choice(("", "@en"))}',
        )
    ]
    quads += [("ex:a", "ex:p", "ex:b", graph) for graph in inside]  # a triple that stands in all
    for one in (world, oracle):
        mine = [quad for quad in quads if one is world or quad[3] in inside]
        one.add([quad[:3] if quad[3] == "default" else quad for quad in mine])
    for name in ("ex:g1", "ex:empty"):
        world.update(f"CREATE SILENT GRAPH {name}")
        if name in inside:
            oracle.update(f"CREATE SILENT GRAPH {name}")
    return world, oracle, inside, [graph for graph in graphs if graph not in inside]


QUERIES = [
    "SELECT ?s ?p ?o { ?s ?p ?o }",
    "SELECT ?g ?s ?p ?o { GRAPH ?g { ?s ?p ?o } }",
    "SELECT ?g { GRAPH ?g {} }",
    "SELECT (COUNT(*) AS ?n) { ?s ex:p ?x . ?x ?p ?y }",
    "SELECT (COUNT(*) AS ?n) { GRAPH ?g { ?s ex:p ?x } ?x ?p ?y }",
    "SELECT ?s (SUM(?o) AS ?n) { ?s ex:q ?o } GROUP BY ?s",
    "SELECT ?s ?n { ?s ex:p ?o OPTIONAL { ?o ex:q ?n } }",
    "SELECT ?s { ?s ex:p+ ex:d MINUS { ?s ex:r ex:a } }",
    "SELECT ?o { GRAPH ex:g1 { ex:a ?p ?o } }",
    "SELECT ?o FROM ex:g1 { ex:a ?p ?o }",
    "SELECT ?o FROM ex:g1 FROM ex:g2 { ex:a ?p ?o }",
    "SELECT ?o FROM NAMED ex:g1 FROM NAMED ex:none { GRAPH ?g { ex:a ?p ?o } }",
    "SELECT ?g FROM NAMED ex:g1 FROM NAMED ex:none { GRAPH ?g {} }",
    "ASK { ?s ex:p 1 }",
    "ASK { ?s ex:nothing ?o }",
    "SELECT * { ?s ex:pp ?o }",
    "SELECT * { ?s ex:p ?o FILTER(?o = 'ambr') }",
    "SELECT * { ?s other:p ?o }",
    "SELECT * { ?s ex:p ?o ",
    "CONSTRUCT { ?s ex:is ?o } WHERE { ?s ex:q ?o }",
    "DESCRIBE ex:a",
    "SELECT ?o { ?s ?p ?o FILTER(isNumeric(?o)) }",
    "SELECT ?s { ?s ?p ?o FILTER NOT EXISTS { GRAPH ?g { ?s ex:q ?x } } }",
]


@pytest.mark.parametrize("seed", [*range(2), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 8))])
def test_queries_of_a_scope_are_those_of_a_world_that_holds_nothing_else(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seams.wait_for_hints(monkeypatch, 60.0)
    world, oracle, inside, _ = two(seed)
    scope = world.only(graphs=inside)
    draw = random.Random(seed)
    for step in range(3):
        for text in QUERIES:
            for union in (False, True):
                found, expected = (told(one, text, union) for one in (scope, oracle))
                assert found == expected, (seed, step, inside, text, union)
        for one in (world, oracle):
            one.file.default_graph = "union" if step == 0 else "strict"
        gone = [quad for quad in map(str, oracle.quads()) if draw.random() < 0.3]
        for one in (world, oracle):
            one.remove([quad for quad in one.quads() if str(quad) in gone])
    for one in (world, oracle):
        one.close()


def told(world: World, text: str, union: bool) -> list[str]:
    """What a query gives, in one order, with its notes, or the error."""
    try:
        found = world.query(text, union=union)
    except worlds.QueryError as error:
        return [str(error)]
    if isinstance(found, bool):
        return [str(found)]
    if isinstance(found, Solutions):
        notes = (re.sub("such as .*", "", note) for note in found.notes)  # any of them
        return sorted(map(str, [*found.to_dicts(), *notes]))
    return sorted([*found.serialize("nt").splitlines(), *found.notes, *found.serialize("turtle").splitlines()[:1]])


def selected(world: World, text: str) -> Solutions:
    found = world.query(text)
    assert isinstance(found, Solutions)
    return found


def test_a_query_copies_nothing(tmp_path: Path) -> None:
    with worlds.open(tmp_path / "kb.db", embedder=None) as world:
        world.bind("ex", scoping.EX)
        world.add([("ex:a", "ex:p", f"ex:b{number}", f"ex:g{number % 2}") for number in range(10)])
        scope = world.only(graphs=["ex:g1"])
        found = selected(scope, "SELECT ?o { GRAPH ?g { ex:a ex:p ?o } }")
        assert len(found) == 5
        assert found.notes == ()
        assert scope.query("ASK { GRAPH ex:g1 { ex:a ex:p ex:b1 } }")
        assert connection_of(scope).rows("SELECT * FROM quads") == []
        assert len(scope) == 5


def test_a_scope_s_own_writes_are_seen_at_once() -> None:
    with scoping.opened() as world:
        world.add([("ex:a", "ex:p", "ex:b", "ex:g1"), ("ex:a", "ex:p", "ex:c", "ex:g2")])
        scope = world.only(graphs=["ex:g1"])
        count = "SELECT (COUNT(*) AS ?n) { GRAPH ?g { ?s ?p ?o } }"
        with scope.transaction():
            scope.add([("ex:a", "ex:p", "ex:d")])
            assert selected(scope, count)[0][0].value == 2
        with world.transaction():
            world.add([("ex:a", "ex:p", "ex:e", "ex:g1")])
            assert selected(scope, count)[0][0].value == 3
        assert selected(scope, count)[0][0].value == 3


def test_a_prefix_of_other_graphs_is_none_of_the_scope_s() -> None:
    with scoping.opened() as world:
        world.bind("other", "http://other.org/")
        world.add([("ex:a", "ex:p", "ex:b", "ex:g1"), ("other:a", "ex:p", "ex:b", "ex:g2")])
        scope = world.only(graphs=["ex:g1"])
        with pytest.raises(worlds.QueryError, match="other"):
            scope.query("SELECT * { other:a ?p ?o }")
        world.add([("ex:a", "other:p", "ex:b", "ex:g1")])
        assert len(selected(scope, "SELECT * { GRAPH ?g { ?s other:p ?o } }")) == 1
