"""World.shapes: a graph that is written as any other, and is no data."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import rdflib

import worlds
from worlds import World

GRAPH = "urn:worlds:shapes"
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
DATA = b"""
@prefix ex: <http://ex/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
ex:ann a ex:Pilot ; rdfs:label "Ann" ; ex:name "the shape of a person" ; ex:born 1990, 1991 .
"""
SHAPES = b"""
@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix ex: <http://ex/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
ex:PersonShape a sh:NodeShape ; sh:targetClass ex:Person ; sh:targetNode ex:ann ;
  rdfs:label "Ann", "the shape of a person", "only a shape" ;
  sh:property [ sh:path ex:born ; sh:maxCount 1 ; sh:message "one birth" ] .
ex:Pilot rdfs:subClassOf ex:Person .
"""
WRONG = b"@prefix sh: <http://www.w3.org/ns/shacl#> . <http://ex/S> a sh:NodeShape ; sh:minCount 'x' ."


@pytest.fixture
def shaped(world: World) -> Iterator[World]:
    world.load(DATA, format="turtle")
    world.bind("ex", "http://ex/")
    world.shapes.load(SHAPES, format="turtle", author="ann")
    yield world
    assert world.check().ok, world.check()


def test_they_are_written_as_any_graph(shaped: World) -> None:
    assert len(shaped.shapes) == 11
    assert shaped.history()[0].author == "ann"
    assert GRAPH in [str(graph) for graph in shaped.graphs()]
    assert shaped.count(graph=GRAPH) == 11
    assert len(shaped.shapes.validate()) == 1
    triple = ("ex:PersonShape", "sh:targetNode", "ex:ann")
    assert shaped.shapes.remove([triple]).removed == 1
    assert shaped.shapes.validate().conforms
    assert shaped.shapes.add([triple], message="again").added == 1
    assert shaped.history()[0].message == "again"
    graph = shaped.shapes.to_rdflib()
    assert len(graph) == len(list(shaped.shapes)) == 11
    assert rdflib.Graph().parse(data=shaped.shapes.serialize()).isomorphic(graph)
    revision = shaped.shapes.remove(shaped.shapes).revision
    assert not shaped.shapes
    assert revision is not None
    shaped.undo(revision)
    assert len(shaped.shapes) == 11
    shaped.shapes.load(SHAPES.replace(b'"Ann", ', b""), mode="replace")
    assert len(shaped.shapes) == 10
    assert shaped.shapes.load(SHAPES, format="turtle", mode="replace", dry_run=True).added
    assert len(shaped.shapes) == 10


def test_shapes_that_cannot_be_checked_are_refused(shaped: World) -> None:
    before = len(shaped.history())
    with pytest.raises(worlds.ShapesError):
        shaped.shapes.load(WRONG, format="turtle")
    with pytest.raises(worlds.ShapesError):
        shaped.shapes.add([("ex:S", "rdf:type", "sh:NodeShape"), ("ex:S", "sh:minCount", 1)])
    assert (len(shaped.shapes), len(shaped.history())) == (11, before)


def test_they_are_no_text(shaped: World) -> None:
    assert not shaped.search("birth", mode="text")
    assert not shaped.search("only", mode="text")
    subjects, predicates = ["ex:ann", "ex:PersonShape"], ["rdfs:label", "ex:name"]
    for given in ((None, None), (subjects, None), (None, predicates)):
        (hit,) = shaped.search("shape", mode="text", subjects=given[0], predicates=given[1])
        assert [str(quad[0]) for quad in hit.quads] == ["http://ex/ann"]
    assert not shaped.search("shape", mode="text", subjects=["ex:PersonShape"])
    assert not shaped.search("shape", mode="text", graphs=[GRAPH])
    assert not shaped.search("Ann", types=["ex:Person"], subclasses=True)
    shaped.remove([("ex:ann", "ex:name", '"the shape of a person"')])
    assert not shaped.search("shape", mode="text")
    shaped.policy = worlds.records.TextPolicy(profiles=True)
    assert not shaped.search("birth", mode="text")
    assert not shaped.search("PersonShape", mode="text")


def test_they_are_in_no_union(shaped: World) -> None:
    everything = "SELECT ?s { ?s ?p ?o }"
    for asked in (everything, "SELECT ?s { GRAPH ?g { ?s ?p ?o } }"):
        assert not [row for row in shaped.query(asked, union=True) if "Shape" in str(row[0])]  # type: ignore[union-attr]
        assert not [row for row in shaped.at(2).query(asked, union=True) if "Shape" in str(row[0])]  # type: ignore[union-attr]
    assert not shaped.search("Ann", where="?subject a <http://www.w3.org/ns/shacl#NodeShape>")
    assert not shaped.query("ASK { GRAPH ?g { ?s <http://www.w3.org/ns/shacl#property> ?o } }")


def test_a_query_that_names_their_graph_sees_them(shaped: World) -> None:
    for asked in (
        f"SELECT ?s {{ GRAPH <{GRAPH}> {{ ?s a <http://www.w3.org/ns/shacl#NodeShape> }} }}",
        "PREFIX w: <urn:worlds:> SELECT ?s FROM w:shapes { ?s a <http://www.w3.org/ns/shacl#NodeShape> }",
    ):
        for found in (shaped.query(asked), shaped.at(2).query(asked)):
            assert [str(row[0]) for row in found] == ["http://ex/PersonShape"]  # type: ignore[union-attr]
    assert len(shaped.query(everything := "SELECT * { ?s ?p ?o }", default_graphs=[GRAPH])) == 11  # type: ignore[arg-type]
    assert len(shaped.query(everything, union=True)) == 5  # type: ignore[arg-type]
    shaped.update(f"DELETE WHERE {{ GRAPH <{GRAPH}> {{ ?s ?p ?o }} }}")
    assert len(shaped.shapes) == 0


def test_nothing_that_is_told_of_an_entity_is_from_them(shaped: World) -> None:
    assert not shaped.describe("ex:ann").incoming
    assert not shaped.describe("ex:PersonShape")
    assert shaped.resolve("only a shape").outcome == "no match"
    assert [str(one.iri) for one in shaped.resolve("Ann").candidates] == ["http://ex/ann"]
    assert not [quad for quad in shaped.entities.neighbourhood("ex:ann").quads if "Shape" in str(quad.subject)]
    assert "shacl" not in str((shaped.schema().classes, shaped.schema().predicates))
    assert "Shape" not in shaped.context("Ann Person birth").text


def test_they_are_kept_in_the_file_and_exported(path: Path, tmp_path: Path) -> None:
    with worlds.open(path, embedder=None) as world:
        world.load(DATA, format="turtle")
        world.shapes.load(SHAPES, format="turtle")
        world.export(tmp_path / "all.nq")
    with worlds.open(path, embedder=None) as world:
        assert len(world.shapes) == 11
    with worlds.open(embedder=None) as world:
        world.load(tmp_path / "all.nq")
        assert (len(world.shapes), len(world.shapes.validate())) == (11, 1)
