"""A memory sees as much of its world as the policy lets it, in a graph that only the world changes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import worlds
from worlds import ReadOnlyError, World
from worlds.records import Memory

DATA = b"""
@prefix ex: <https://ex.example/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
ex:Person a owl:Class . ex:City a owl:Class .
ex:livesIn a owl:ObjectProperty, owl:FunctionalProperty ; rdfs:label "lives in" ;
    rdfs:domain ex:Person ; rdfs:range ex:City .
ex:lis a ex:City ; rdfs:label "Lisbon" ; rdfs:comment "Lisbon has seven hills." .
ex:set a ex:City ; rdfs:label "Setubal" . ex:oslo a ex:City ; rdfs:label "Oslo" .
"""
SEEN = "urn:worlds:seen"


@pytest.fixture
def world(path: Path) -> Iterator[World]:
    with worlds.open(path, embedder=None) as world:
        world.bind("ex", "https://ex.example/")
        world.load(DATA, format="turtle")
        yield world


@pytest.fixture
def priya(world: World) -> Memory:
    memory = world.memory(scope=("user", "priya"))
    memory.retain("I live in Lisbon", facts=[("Priya", "lives in", "Lisbon")], at="2026-01-01")
    return memory


def seen(memory: Memory) -> str:
    return str([quad for quad in memory.world.quads() if str(quad[3]) == SEEN])


def test_labels_stand_in_its_context(priya: Memory) -> None:
    assert "Priya — lives in: Lisbon" in priya.context("Where does Priya live?").text


def test_a_second_value_of_a_functional_property_is_a_contradiction(priya: Memory) -> None:
    assert list(priya.world.curation.contradictions()) == []
    told = priya.retain("We moved to Setubal", facts=[("Priya", "lives in", "Setubal")], at="2026-03-01")
    assert [one.became for one in told.facts.facts] == ["written"]
    assert [one.kind for one in priya.world.curation.contradictions()] == ["functional"]
    assert "contradictory" in priya.context("Where does Priya live?").text


def test_it_sees_the_vocabulary_and_what_it_names_and_no_more(priya: Memory) -> None:
    told = seen(priya)
    assert "livesIn" in told
    assert "Lisbon" in told
    assert "Oslo" not in told
    assert "seven hills" not in told
    assert priya.recall("Lisbon")[0].text == "I live in Lisbon"
    assert [one.text for one in priya.memories()] == ["I live in Lisbon"]
    assert all(str(quad[3]) == str(priya.graph) for quad in priya.quads())


def test_it_is_brought_in_step_with_the_world(world: World, priya: Memory) -> None:
    world.update("DELETE { ?s ?p 'Lisbon' } INSERT { ?s ?p 'Lisboa' } WHERE { ?s ?p 'Lisbon' }")
    assert "Priya — lives in: Lisboa" in priya.context("Where does Priya live?").text
    revisions = len(priya.world.history())
    assert "Lisboa" in seen(priya)
    assert len(priya.world.history()) == revisions
    world.add([("ex:oslo", "ex:population", 700_000), ("ex:population", "rdfs:label", '"inhabitants"')])
    assert "inhabitants" in seen(priya)


def test_only_the_world_changes_it(priya: Memory) -> None:
    with pytest.raises(ReadOnlyError, match="read-only from its memory"):
        priya.world.add([("ex:lis", "rdfs:label", '"Elsewhere"', SEEN)])
    with pytest.raises(ReadOnlyError, match="read-only from its memory"):
        priya.world.update(f"CLEAR GRAPH <{SEEN}>")


def test_the_policy_says_how_much_it_sees(world: World, priya: Memory) -> None:
    world.policy = world.policy.with_(memory_sees="all")
    assert "seven hills" in seen(priya)
    world.policy = world.policy.with_(memory_sees="nothing")
    assert seen(priya) == "[]"
    with pytest.raises(ValueError, match="memory_sees must be one of"):
        world.policy.with_(memory_sees="some")


def test_shapes_of_the_world_hold_in_it(world: World, priya: Memory) -> None:
    world.shapes.load(
        b"@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix ex: <https://ex.example/> ."
        b"[] a sh:NodeShape ; sh:targetSubjectsOf ex:livesIn ; sh:property [ sh:path ex:livesIn ; sh:maxCount 1 ] .",
        format="turtle",
    )
    told = world.facts.tell([("Priya", "lives in", "Oslo")], scope=("user", "priya"))
    assert [one.became for one in told.facts] == ["proposed"]
    assert "violates the shapes" in str(told.facts[0].why)


def test_a_narrower_scope_sees_it_too(world: World) -> None:
    narrow = world.memory(scope=("user", "priya", "trip"))
    narrow.retain("Off to Oslo", facts=[("Nils", "lives in", "Oslo")])
    assert "Nils — lives in: Oslo" in narrow.context("Where does Nils live?").text
