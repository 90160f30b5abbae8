"""What a write and a proposal say of themselves: names that are nearly known, changes that wait already."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import worlds
from worlds.errors import ArgumentError, ConflictError


@pytest.fixture
def world() -> Iterator[worlds.World]:
    with worlds.open(embedder=None) as world:
        world.bind("ex", "http://example.org/")
        world.add([("ex:a", "ex:hasPart", "ex:b"), ("ex:a", "ex:price", 5)])
        yield world


def test_a_new_predicate_that_is_nearly_a_known_one_is_noted(world: worlds.World) -> None:
    change = world.add([("ex:c", "ex:hasPrt", "ex:b")])
    assert change.notes == ("ex:hasPrt is a new predicate, and is near ex:hasPart",)
    assert change.added == 1, "it is written all the same"
    assert world.add([("ex:d", "ex:hasPrt", "ex:b")]).notes == (), "it is known now"
    assert world.add([("ex:c", "ex:colour", '"red"')]).notes == ()
    assert not hasattr(world.add([("ex:c", "ex:hasPartt", "ex:b")], dry_run=True), "embedded"), "a Diff"


def test_a_triple_term_can_be_written_as_a_text(world: worlds.World) -> None:
    world.add([("ex:r", "rdf:reifies", "<<( ex:a ex:hasPart ex:b )>>"), ("ex:r", "ex:source", '"catalogue"')])
    found = world.query("SELECT ?s { ?r rdf:reifies <<( ex:a ex:hasPart ex:b )>> ; ex:source ?s }")
    assert [str(row[0]) for row in found] == ["catalogue"]  # type: ignore[union-attr]


def test_a_change_that_waits_is_not_proposed_again(world: worlds.World) -> None:
    add = [("ex:z", "ex:hasPart", "ex:b")]
    first = world.proposals.add(add=add, why="the parts list")
    with pytest.raises(ConflictError, match=f"proposal {first.id} has the same change"):
        world.proposals.add(add=add, author="somebody else")
    assert world.proposals.add(add=[*add, ("ex:z", "ex:price", 7)]).id == first.id + 1, "another change"
    both = [("ex:y", "ex:price", 1), ("ex:x", "ex:price", 2)]
    second = world.proposals.add(add=both)
    with pytest.raises(ConflictError, match=f"proposal {second.id} has the same change"):
        world.proposals.add(add=both[::-1])
    world.proposals.reject(first.id, "no")
    assert world.proposals.add(add=add, why="once more").status == "open", "one that was decided waits no more"


def test_a_proposal_without_a_change_says_what_it_needs(world: worlds.World) -> None:
    with pytest.raises(ArgumentError, match="quads to add or remove, an update, or entities to merge"):
        world.proposals.add(why="because")
    with pytest.raises(ValueError, match="the world has it already"):
        world.proposals.add(add=[("ex:a", "ex:price", 5)])


def test_a_context_says_what_the_question_names(world: worlds.World) -> None:
    world.add([("ex:apollo", "rdfs:label", '"Apollo 11"'), ("ex:newton", "rdfs:label", '"Isaac Newton"')])
    world.add([("ex:newton", "ex:note", '"He saw an apple fall from a tree, they say, and thought of the Moon"')])
    found = world.context("What is Apollo 11?")
    assert (found.named, str(found.entities[0].iri)) == (1, "http://example.org/apollo")
    assert not [note for note in found.notes if "names no entity" in note]
    found = world.context("Who is the boss of apple?")
    assert (found.named, [entity.label for entity in found.entities]) == (0, ["Isaac Newton"])
    assert [note for note in found.notes if "names no entity of this world" in note]
    found = world.context("blorbl frobnicate")
    assert "Nothing in this world bears on the question." in found.notes
