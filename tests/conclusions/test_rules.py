"""The rules of a world: sets, rules of one's own, what is refused; what follows, and what costs nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pyoxigraph as ox
import pytest

import worlds
from tests.support import tables
from tests.support.concluding import concluded
from worlds.errors import ArgumentError, QueryError, ReadOnlyError
from worlds.world import connection_of

T = "urn:t:"
DATA = [
    (f"{T}A", "rdfs:subClassOf", f"{T}B", f"{T}schema"),
    (f"{T}x", "rdf:type", f"{T}A"),
    (f"{T}y", "rdf:type", f"{T}A", f"{T}schema"),
    (f"{T}x", f"{T}knows", f"{T}y"),
    (f"{T}y", f"{T}knows", f"{T}z"),
    (f"{T}z", f"{T}age", 5),
]


@pytest.fixture
def world() -> worlds.World:
    made = worlds.open(":memory:", embedder=None)
    made.add(DATA)
    return made


def quad(s: str, p: str, o: str, g: str | None = None) -> ox.Quad:
    graph = ox.DefaultGraph() if g is None else ox.NamedNode(g if ":" in g else T + g)
    return ox.Quad(ox.NamedNode(T + s), ox.NamedNode(p if ":" in p else T + p), ox.NamedNode(T + o), graph)


TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"


def test_a_conclusion_stands_in_the_graph_of_its_premises(world: worlds.World) -> None:
    told = world.rules.use("rdfs")
    assert (told.sets, told.graphs, told.conclusions) == (("rdfs",), None, 2)
    assert concluded(world) == {quad("y", TYPE, "B", "schema"), quad("x", TYPE, "B", "urn:worlds:entailed")}


def test_rules_read_the_graphs_that_are_named(world: worlds.World) -> None:
    assert world.rules.use("rdfs", graphs=[f"{T}schema"]).graphs == (f"{T}schema",)
    assert concluded(world) == {quad("y", TYPE, "B", "schema")}
    assert world.rules.use("rdfs", graphs="default").graphs == ("default",)
    assert concluded(world) == set()
    world.add([(f"{T}A", "rdfs:subClassOf", f"{T}B")])
    assert concluded(world) == {quad("x", TYPE, "B")}
    assert world.check().ok


def test_the_worlds_own_graphs_are_no_premises(world: worlds.World) -> None:
    world.rules.use("rdfs")
    before = concluded(world)
    world.shapes.add([(f"{T}B", "rdfs:subClassOf", f"{T}C")])
    assert concluded(world) == before


def test_rules_of_ones_own(world: worlds.World) -> None:
    world.bind("t", T)
    told = world.rules.add("friends", "CONSTRUCT { ?x t:reaches ?z } WHERE { ?x t:knows ?y . ?y t:knows ?z }")
    assert list(told.own) == ["friends"]
    assert concluded(world) == {quad("x", "reaches", "z")}
    world.rules.add("friends", f"CONSTRUCT {{ ?x <{T}met> ?y . ?y <{T}met> ?x }} WHERE {{ ?x <{T}knows> ?y }}")
    assert len(concluded(world)) == 4
    world.rules.add("older", f"CONSTRUCT {{ ?x a <{T}Old> }} WHERE {{ ?x <{T}age> ?n FILTER(?n > 4) }}")
    assert quad("z", TYPE, "Old") in concluded(world)
    world.add([(f"{T}w", f"{T}age", 4), (f"{T}v", f"{T}age", 40)])
    assert quad("v", TYPE, "Old") in concluded(world)
    assert quad("w", TYPE, "Old") not in concluded(world)
    assert world.check().ok
    assert list(world.rules.remove("friends").own) == ["older"]
    with pytest.raises(ArgumentError, match="no rule 'friends'"):
        world.rules.remove("friends")


def test_rules_of_ones_own_go_round_and_end(world: worlds.World) -> None:
    """Recursion ends, as no rule makes a new term."""
    world.rules.add("next", f"CONSTRUCT {{ ?x <{T}near> ?z }} WHERE {{ ?x <{T}near> ?y . ?y <{T}knows> ?z }}")
    world.rules.add("first", f"CONSTRUCT {{ ?x <{T}near> ?y }} WHERE {{ ?x <{T}knows> ?y }}")
    world.add([(f"{T}z", f"{T}knows", f"{T}x")])
    assert len(concluded(world)) == 9
    world.remove([(f"{T}z", f"{T}knows", f"{T}x")])
    assert len(concluded(world)) == 3
    assert world.check().ok


@pytest.mark.parametrize(
    ("construct", "why"),
    [
        ("CONSTRUCT { ?x <urn:p> ?y } WHERE { ?x <urn:q> ?z BIND(IRI(?z) AS ?y) }", "BIND"),
        ("CONSTRUCT { ?x <urn:p> ?y } WHERE { { ?x <urn:q> ?y } }", "group"),
        ("CONSTRUCT { ?x <urn:p> ?y } WHERE { ?x <urn:q>/<urn:r> ?y }", "path"),
        ("CONSTRUCT { ?x <urn:p> [] } WHERE { ?x <urn:q> ?y }", "blank node"),
        ("CONSTRUCT { ?x <urn:p> ?z } WHERE { ?x <urn:q> ?y }", r"\?z"),
        ("CONSTRUCT { ?x <urn:p> ?y } WHERE { ?x <urn:q> ?y FILTER(?w > 1) }", r"\?w"),
        ("SELECT ?x WHERE { ?x ?y ?z }", "CONSTRUCT"),
        ("CONSTRUCT { ?x <urn:p> }", "no SPARQL"),
    ],
)
def test_what_is_no_rule_is_refused(world: worlds.World, construct: str, why: str) -> None:
    with pytest.raises(QueryError, match=why):
        world.rules.add("bad", construct)
    assert world.rules.list().own == {}


def test_an_unknown_set_is_named(world: worlds.World) -> None:
    with pytest.raises(ArgumentError, match="rdfs, rdfs\\+, owl-rl, skos"):
        world.rules.use("owl-full")


def test_no_rules_ask_nothing(world: worlds.World) -> None:
    said: list[str] = []
    with connection_of(world).watched(lambda sql, parameters: said.append(sql)):
        world.add([(f"{T}n", "rdf:type", f"{T}A")])
        world.remove([(f"{T}n", "rdf:type", f"{T}A")])
    assert not [sql for sql in said if "conclusions" in sql]


def test_rules_end(world: worlds.World) -> None:
    world.rules.use("rdfs")
    assert world.rules.use().conclusions == 0
    world.add([(f"{T}n", "rdf:type", f"{T}A")])
    assert concluded(world) == set()


def test_conclusions_outlive_the_process(tmp_path: Path) -> None:
    path = tmp_path / "world.db"
    with worlds.open(path, embedder=None) as world:
        world.rules.use("rdfs")
        world.add(DATA)
        kept = concluded(world)
    with worlds.open(path, embedder=None) as world:
        assert concluded(world) == kept
        world.file.compact()
        assert concluded(world) == kept
        world.add([(f"{T}B", "rdfs:subClassOf", f"{T}C", f"{T}schema")])
        assert quad("y", TYPE, "C", "schema") in concluded(world)
        assert world.check().ok
        world.file.backup(tmp_path / "copy.db")
        now = concluded(world)
    with worlds.open(tmp_path / "copy.db", embedder=None) as world:
        assert concluded(world) == now


def test_two_processes_agree(tmp_path: Path) -> None:
    """What another connection writes is noticed."""
    path = tmp_path / "world.db"
    with worlds.open(path, embedder=None) as one, worlds.open(path, embedder=None) as other:
        one.add(DATA)
        one.rules.use("rdfs")
        other.add([(f"{T}B", "rdfs:subClassOf", f"{T}C", f"{T}schema")])
        one.add([(f"{T}n", "rdf:type", f"{T}B", f"{T}schema")])
        assert quad("n", TYPE, "C", "schema") in concluded(one)
        other.rules.use("rdfs+")
        one.add([(f"{T}m", "rdf:type", f"{T}B", f"{T}schema")])
        assert concluded(one) == concluded(other)
        assert one.check().ok


def test_check_notices_what_does_not_follow(world: worlds.World) -> None:
    world.rules.use("rdfs")
    tables.run(
        world, "DELETE FROM conclusions WHERE graph = (SELECT id FROM terms WHERE value = 'urn:worlds:entailed')"
    )
    tables.run(world, "INSERT INTO conclusions (subject, predicate, object, graph) VALUES (1, 2, 1, 0)")
    kinds = [(one.kind, one.count) for one in world.check().problems]
    assert kinds == [("conclusions", 1), ("conclusions", 1)]
    world.rules.use("rdfs")
    assert world.check().ok


def test_rules_are_the_whole_worlds(world: worlds.World) -> None:
    scope = world.only(graphs=f"{T}schema")
    for view in (scope, world.at(1)):
        with pytest.raises(ReadOnlyError):
            view.rules.use("rdfs")


@pytest.mark.parametrize(
    ("pattern", "told"),
    [
        ("?x a ?y FILTER(" + "(" * 60_000 + "?x = ?y" + ")" * 60_000 + ")", "characters"),
        ("?x a ?y FILTER(" + "(" * 2_000 + "?x = ?y" + ")" * 2_000 + ")", "deep"),
        ("?x <urn:q> ?y . " * 30_000, "characters"),
        (" . ".join(f"?x <urn:q{n}> ?y" for n in range(40)), "40 triples"),
        ("?x nope:q ?y", "prefix 'nope:'"),
        ("?x", "line 1"),
    ],
)
def test_a_rule_that_is_too_long_too_deep_or_broken_is_refused_in_words(pattern: str, told: str) -> None:
    with worlds.open(embedder=None) as world:
        with pytest.raises(worlds.QueryError, match=re.escape(told)) as refused:
            world.rules.add("r", f"CONSTRUCT {{ ?x <urn:p> ?y }} WHERE {{ {pattern} }}")
        assert len(str(refused.value)) < 300
        assert world.rules.list().own == {}
