"""The default graph: strict, or the union of all graphs, by the world, by the call, or by the query."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

import worlds
from worlds import World

UNION = "urn:x-arq:UnionGraph"
SH = "http://www.w3.org/ns/shacl#"
ALL = ["d", "g", "h"]


@pytest.fixture
def world() -> World:
    world = worlds.open(embedder=None)
    world.bind("", "urn:")
    world.update("INSERT DATA { :s :in 'd' GRAPH :g { :s :in 'g' } GRAPH :h { :s :in 'h' } }")
    return world


def graphs(world: Any, clause: str = "", **options: Any) -> list[str]:
    return sorted(str(row[0]) for row in world.query(f"SELECT ?where {clause} {{ :s :in ?where }}", **options))


def test_the_setting_is_kept_in_the_file(tmp_path: Path) -> None:
    with worlds.open(tmp_path / "kb.db", embedder=None) as world:
        assert world.file.default_graph == "strict"
        world.file.default_graph = "union"
    with worlds.open(tmp_path / "kb.db", embedder=None) as world:
        assert world.file.default_graph == "union"
        with pytest.raises(ValueError, match="default_graph must be 'strict' or 'union', not 'all'"):
            world.file.default_graph = "all"  # type: ignore[assignment]  # that is the point
        world.file.default_graph = "strict"
        assert world.file.default_graph == "strict"


def test_queries_see_what_the_world_says_unless_they_say_otherwise(world: World) -> None:
    assert graphs(world) == ["d"]
    assert graphs(world, union=True) == ALL
    world.file.default_graph = "union"
    assert graphs(world) == graphs(world.at(1)) == ALL
    assert graphs(world, union=False) == graphs(world.at(1), union=False) == ["d"]
    assert graphs(world, "FROM :g") == ["g"]
    assert graphs(world, "FROM NAMED :g") == ALL
    assert graphs(world, default_graphs=["urn:h"]) == ["h"]
    assert graphs(world, named_graphs=["urn:h"]) == []
    assert world.explain("SELECT * { :s :in ?where }").results == 3
    assert world.explain("SELECT * { :s :in ?where }", union=False).results == 1


def test_graph_takes_the_name_of_the_union(world: World) -> None:
    world.update("INSERT DATA { GRAPH :g { :t :next :s } }")
    rows = world.query(f"SELECT ?where {{ GRAPH <{UNION}> {{ :t :next ?s . ?s :in ?where }} }}")
    assert isinstance(rows, worlds.records.Solutions)
    assert sorted(str(row[0]) for row in rows) == ALL, "patterns join across graphs"
    assert world.query("PREFIX arq: <urn:x-arq:> ASK { GRAPH arq:UnionGraph { :s :in 'h' } GRAPH :g { :s :in 'g' } }")
    mixed = f"SELECT ?where {{ :s :in 'd' GRAPH <{UNION}> {{ :s :in ?where }} }}"
    assert not list(world.query(mixed)), "the default graph alone, and all graphs, cannot be asked together"  # type: ignore[arg-type]  # a SELECT
    assert len(list(world.query(mixed, union=True))) == 3  # type: ignore[arg-type]  # a SELECT
    change = world.update(f"INSERT {{ :t :at ?where }} WHERE {{ GRAPH <{UNION}> {{ :t :next ?s . ?s :in ?where }} }}")
    assert change.added == 3


@pytest.mark.parametrize("setting", ["strict", "union"])
def test_the_name_of_the_union_stands_for_all_graphs(world: World, setting: Any) -> None:
    world.file.default_graph = setting
    assert graphs(world, f"FROM <{UNION}>") == ALL
    assert graphs(world, default_graphs=[UNION]) == ALL
    named = "SELECT ?g { :s :in 'g' GRAPH ?g { :s :in ?where } }"
    assert len(world.query(named, default_graphs=[UNION])) == 2  # type: ignore[arg-type]  # a SELECT
    assert len(world.query(named, default_graphs=[UNION], named_graphs=["urn:h"])) == 1  # type: ignore[arg-type]


def test_patterns_of_updates_see_it_too(world: World) -> None:
    copy = "INSERT { :s :found ?where } WHERE { :s :in ?where }"
    world.file.default_graph = "union"
    assert world.update(copy, union=False).added == 1
    assert world.update(copy).added == 2
    assert world.update("INSERT { :t :found ?where } USING :g WHERE { :s :in ?where }").added == 1
    world.file.default_graph = "strict"
    assert world.update(f"INSERT {{ :u :found ?where }} USING <{UNION}> WHERE {{ :s :in ?where }}").added == 3
    assert world.update("INSERT { :v :found ?where } WHERE { :s :in ?where }", using_graphs=[UNION]).added == 3
    assert world.update("WITH :g INSERT { :s :found ?where } WHERE { :s :in ?where }").added == 1


def test_graph_is_an_operator_at_every_door() -> None:
    world = worlds.open(embedder=None)
    world.bind("", "urn:")
    world.update(
        "INSERT DATA { " + " ".join(f"GRAPH :g{n} {{ :a :p {n} ; :text 'some words' }}" for n in range(120)) + " }"
    )
    assert len(world.query("SELECT ?g { GRAPH ?g { VALUES ?x { 1 } } }")) == 120  # type: ignore[arg-type]  # a SELECT
    assert len(world.query("SELECT ?g { GRAPH ?g { GRAPH :g1 { ?s :p ?o } } }")) == 120  # type: ignore[arg-type]
    assert world.query("ASK { GRAPH :nope { VALUES ?x { 1 } } }") is False
    counts = "SELECT ?g ?n { GRAPH ?g { SELECT (COUNT(*) AS ?n) { ?s ?p ?o } } }"
    assert {row.n.toPython() for row in world.query(counts, timeout=20)} == {2}  # type: ignore[union-attr]
    around = "SERVICE w:search { ?hit w:query 'words' ; w:subject :a ; w:limit 1 }"
    found = world.query(f"SELECT ?g {{ {around} GRAPH ?g {{ VALUES ?o {{ 7 }} FILTER EXISTS {{ ?s :p ?o }} }} }}")
    assert [str(row[0]) for row in found] == ["urn:g7"]  # type: ignore[union-attr]
    pattern = "GRAPH ?g { ?subject :p ?o MINUS { ?subject :p 3 } } FILTER(?g = :g3)"
    assert not world.search("words", where=pattern)
    assert len(world.search("words", where=pattern.replace("p 3", "p 4"))) == 1
    fill = "INSERT { GRAPH ?g { :m :n 1 } }"
    assert world.update(f"{fill} USING NAMED :g1 USING NAMED :g2 WHERE {{ GRAPH ?g {{ BIND(1 AS ?x) }} }}").added == 2
    assert world.update(f"WITH :g1 {fill} WHERE {{ :a :p 1 GRAPH ?g {{ VALUES ?x {{ 1 }} }} }}").added == 118
    query = "SELECT $this ?value { GRAPH ?value { BIND(1 AS ?one) FILTER EXISTS { $this <urn:p> ?o } } }"
    shapes = (
        f"@prefix sh: <{SH}> . <urn:S> a sh:NodeShape ; sh:targetNode <urn:a> ; sh:sparql [ sh:select '{query}' ] ."
    )
    assert len(world.shapes.validate(shapes=shapes.encode())) == 120


def test_the_default_graph_is_a_set_at_every_door(world: World) -> None:
    change = world.update("INSERT DATA { :a :p 1 GRAPH :g { :a :p 1, 2 } GRAPH :h { :a :p 1, 3 } }")
    count = "SELECT (COUNT(*) AS ?n) %s { :a :p ?v }"

    def number(clause: str = "", on: Any = world, **options: Any) -> int:
        return int(next(iter(on.query(count % clause, **options)))[0])

    assert number("FROM :g FROM :h") == number(default_graphs=["urn:g", "urn:h"]) == number(union=True) == 3
    assert number("FROM :g FROM :h", timeout=20) == number(union=True, timeout=20) == 3
    assert (
        number(on=world.at(change.revision or 0), union=True)
        == number(on=world.only(graphs=["urn:g", "urn:h"]), union=True)
        == 3
    )
    assert number(on=world.only(graphs=["urn:g"]), union=True) == 2
    with worlds.group({"one": world}) as group:
        assert number(on=group, union=True) == 3
    fill = "INSERT { :new :has [] } USING :g USING :h WHERE { :a :p ?v }"
    assert len(world.update(fill, dry_run=True).added) == 3
    assert world.update(fill).added == 3
    many = "{ SELECT ?subject (COUNT(*) AS ?n) { ?subject :p ?v } GROUP BY ?subject } FILTER(?n = 3)"
    assert world.explain(f"SELECT ?subject {{ {many} }}", union=True).results == 1
    query = "SELECT $this ?value { $this <urn:p> ?value }"
    shapes = (
        f"@prefix sh: <{SH}> . <urn:S> a sh:NodeShape ; sh:targetNode <urn:a> ; sh:sparql [ sh:select '{query}' ] ."
    )
    assert len(world.shapes.validate(shapes=shapes.encode())) == 3


def test_a_rehearsal_sees_what_it_did_in_the_union(world: World) -> None:
    world.query("ASK { ?s ?p ?o }", union=True)
    changes = "INSERT DATA { GRAPH :h { :s :in 'd' } } ; DELETE DATA { GRAPH :g { :s :in 'g' } } ; "
    told = world.update(changes + "INSERT { :t :found [] } WHERE { :s :in ?x }", union=True, dry_run=True)
    assert len(told.added) == 3
    assert graphs(world, union=True) == ALL


def test_the_merged_graph_follows_the_file(world: World) -> None:
    count = "SELECT (COUNT(*) AS ?n) { ?s ?p ?o OPTIONAL { GRAPH ?g { ?s ?p ?o } } }"

    def check(on: Any) -> None:
        triples = {(quad[0], quad[1], quad[2]) for quad in on.quads()}
        rows = list(on.query("SELECT * { ?s ?p ?o }", union=True))
        assert len(rows) == len(triples)
        within = sum(
            max(1, sum(quad[:3] == triple and quad[3] is not None for quad in on.quads())) for triple in triples
        )
        assert int(next(iter(on.query(count, union=True)))[0]) == within

    check(world)
    for update in (
        "INSERT DATA { :s :in 'g' GRAPH :h { :s :in 'g', 'd' } }",
        "DELETE DATA { GRAPH :h { :s :in 'g' } }",
        "DROP GRAPH :g",
        "DELETE DATA { :s :in 'g' } ; INSERT DATA { GRAPH :k { :s :in 'k' } }",
        "CREATE GRAPH :empty ; CLEAR GRAPH :h",
    ):
        change = world.update(update)
        check(world)
    with pytest.raises(worlds.QueryError):
        world.update("INSERT DATA { GRAPH :m { :s :in 'd' } } ; CREATE GRAPH :empty")
    check(world)
    world.undo(change.revision or 0)
    check(world)
    world.file.compact()
    check(world)
    world.update("INSERT DATA { GRAPH :m { :s :in 1 } GRAPH :n { :s :in 01 } }")
    assert len(world.query("SELECT * { :s :in ?x FILTER(ISNUMERIC(?x)) }", union=True)) == 1  # type: ignore[arg-type]


def test_a_union_of_many_graphs_is_as_fast_as_one() -> None:
    world = worlds.open(embedder=None)
    quads = " ".join(f"GRAPH <urn:g{n}> {{ <urn:s{n}> <urn:p> <urn:s{n + 1}> }}" for n in range(1000))
    world.update(f"INSERT DATA {{ {quads} }}")
    join = "SELECT (COUNT(*) AS ?n) { ?a <urn:p> ?b . ?b <urn:p> ?c . ?c <urn:p> ?d }"
    began = time.process_time()
    left: Any = world.query(join, union=True)
    assert int(next(iter(left))[0]) == 998
    assert time.process_time() - began < 1
