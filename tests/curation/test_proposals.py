"""Proposals: changes that wait, against how the world is when somebody decides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

import worlds
from tests.support.readback import EX, quads_of
from worlds.graph.terms import to_oxigraph

COUNT = "SELECT (COUNT(*) AS ?n) { GRAPH ?g { ?s ?p ?o } }"


@pytest.fixture
def world() -> Any:
    with worlds.open(embedder=None) as world:
        world.bind("ex", EX)
        world.add([("ex:a", "ex:born", 1930), ("ex:a", "rdfs:label", '"Anna"'), ("ex:b", "rdfs:label", '"Ann"@en')])
        yield world


def born(world: worlds.World) -> list[int]:
    return sorted(quad[2].toPython() for quad in world.quads("ex:a", "ex:born"))


def correction(world: worlds.World, **options: Any) -> Any:
    given = {"remove": [("ex:a", "ex:born", 1930)], "add": [("ex:a", "ex:born", 1931)], "author": "bot"}
    return world.proposals.add(**{**given, **options})


def test_nothing_of_a_proposal_is_in_the_world_before_it_is_accepted(world: worlds.World) -> None:
    before, stats = quads_of(world), world.stats()
    world.proposals.add(add=[("ex:a", "rdfs:comment", '"An astronaut."', "ex:g")], why="the xylophone says so")
    assert quads_of(world) == before
    assert not world.search("astronaut")
    assert not world.search("xylophone")
    assert world.query(COUNT)[0].n.toPython() == 0  # type: ignore[index]
    assert (world.stats().terms, world.stats().last_revision) == (stats.terms, 1)
    world.proposals.accept(1)
    assert world.search("astronaut")
    assert world.query(COUNT)[0].n.toPython() == 1  # type: ignore[index]


def test_accepting_is_one_revision_of_the_proposer_that_names_the_reviewer(world: worlds.World) -> None:
    proposal = correction(world, why="the register says so", confidence=0.9)
    assert (proposal.status, proposal.kind, proposal.base, proposal.confidence) == ("open", "edit", 1, 0.9)
    assert [quad[2].toPython() for quad in proposal.added] == [1931]
    diff = world.proposals.accept(proposal.id, reviewer="ann", dry_run=True)
    assert (len(diff.added), len(diff.removed), born(world)) == (1, 1, [1930])
    change = world.proposals.accept(proposal.id, reviewer="ann", why="checked")
    assert born(world) == [1931]
    entry = world.history(1)[0]
    assert (entry.revision, entry.author) == (change.revision, "bot")
    assert entry.message == "the register says so (proposal 1, accepted by ann)"
    decided = world.proposals.get(1)
    assert (decided.status, decided.reviewer, decided.decision) == ("accepted", "ann", "checked")
    assert decided.revision == change.revision
    with pytest.raises(worlds.ConflictError, match="accepted already by ann"):
        world.proposals.accept(1)
    with pytest.raises(worlds.ConflictError, match="accepted already"):
        world.proposals.reject(1, "too late")


def test_an_undo_of_an_undo_accepts_again(world: worlds.World) -> None:
    proposed = correction(world)
    change = world.proposals.accept(proposed.id, reviewer="ann")
    for status, author in (("open", "bob"), ("accepted", "eve"), ("open", None), ("accepted", "eve")):
        change = world.undo(change.revision or 0, author=author)
        found = world.proposals.get(proposed.id)
        assert (found.status, found.reviewer) == (status, author if status == "accepted" else None)
        assert found.revision == (change.revision if status == "accepted" else None)
    undone = world.undo(change.revision or 0)
    world.proposals.reject(proposed.id, "no", reviewer="ann")
    world.undo(undone.revision or 0)  # decided since
    assert (world.proposals.get(proposed.id).status, world.check().problems) == ("rejected", [])


def test_rejecting_changes_nothing(world: worlds.World) -> None:
    correction(world)
    before = quads_of(world)
    decided = world.proposals.reject(1, "the register is wrong", reviewer="ann")
    assert (decided.status, decided.decision, decided.revision) == ("rejected", "the register is wrong", None)
    assert quads_of(world) == before
    assert world.proposals.list() == []
    assert [one.id for one in world.proposals.list(status="rejected")] == [1]


@pytest.mark.parametrize(
    ("writes", "said"),
    [
        ([("remove", ("ex:a", "ex:born", 1930))], "1930 no longer holds"),
        ([("add", ("ex:a", "ex:born", 1932))], "1932 was added since"),
        ([("add", ("ex:a", "ex:born", 1931))], None),
        ([("add", ("ex:a", "ex:seen", 1932)), ("remove", ("ex:a", "rdfs:label", '"Anna"'))], None),
    ],
)
def test_a_proposal_says_when_its_ground_has_moved(world: worlds.World, writes: Any, said: str | None) -> None:
    correction(world)
    for verb, quad in writes:
        getattr(world, verb)([quad])
    (proposal,) = world.proposals.list()
    if said is None:
        assert proposal.moved == ()
        world.proposals.accept(1)
        return
    assert said in proposal.moved[0]
    with pytest.raises(worlds.ConflictError, match="relies on have changed"):
        world.proposals.accept(1)
    assert world.proposals.get(1).status == "open"
    world.proposals.accept(1, force=True)
    assert 1931 in born(world)


def test_a_new_value_of_a_functional_property_is_a_rival_and_of_others_is_none(world: worlds.World) -> None:
    world.add([("ex:died", "rdf:type", "owl:FunctionalProperty")])
    for predicate in ("ex:died", "ex:knows"):
        world.proposals.add(add=[("ex:a", predicate, 1), ("ex:b", predicate, 1)])
        world.add([("ex:a", predicate, 2)])
    functional, other = world.proposals.list()
    assert len(functional.moved) == 1
    assert not other.moved


def test_what_it_relies_on_can_be_named(world: worlds.World) -> None:
    world.proposals.add(add=[("ex:b", "ex:knows", "ex:a")], relies_on=[("ex:a", "rdfs:label", '"Anna"')])
    assert not world.proposals.list()[0].moved
    world.remove([("ex:a", "rdfs:label", '"Anna"')])
    assert world.proposals.list()[0].moved


def test_a_merge_can_be_proposed(world: worlds.World) -> None:
    world.proposals.add(merge=["ex:a", "ex:b"], why="one person", author="bot")
    world.add([("ex:b", "ex:flew", '"X-15"')])
    assert world.proposals.list(kind="merge")[0].moved == ()
    world.proposals.accept(1, reviewer="ann")
    assert world.count("ex:a", "ex:flew") == 1
    assert str(world.describe("ex:b").iri) == EX + "a"
    assert world.history(1)[0].author == "bot"
    world.curation.split(world.history(1)[0].revision)
    assert world.count("ex:b", "ex:flew") == 1


def test_a_merge_of_what_is_gone_has_lost_its_ground(world: worlds.World) -> None:
    world.proposals.add(merge=["ex:a", "ex:b"])
    world.proposals.add(merge=["ex:c", "ex:b"])
    world.proposals.accept(1)
    assert "was merged already" in world.proposals.get(2).moved[0]


def test_blank_nodes_of_a_proposal_are_new_ones(world: worlds.World) -> None:
    world.proposals.add(update="INSERT { ?s ex:event [ ex:year 1 ] } WHERE { ?s ex:born ?year }")
    world.update("INSERT { ?s ex:other [ ex:year 2 ] } WHERE { ?s ex:born ?year }")
    world.proposals.accept(1)
    years = world.query("SELECT ?year { ex:a ex:event/ex:year ?year }")
    assert [row[0].toPython() for row in years] == [1]  # type: ignore[union-attr]


def test_lists_are_narrowed(world: worlds.World) -> None:
    correction(world)
    world.proposals.add(add=[("ex:b", "ex:knows", "ex:c")], author="eve", kind="link")
    world.proposals.add(merge=["ex:a", "ex:b"], author="eve")

    def ids(**options: Any) -> list[int]:
        return [one.id for one in world.proposals.list(**options)]

    assert ids() == [1, 2, 3]
    assert ids(author="eve") == ids(entity="ex:b") == [2, 3]
    assert (ids(kind="link"), ids(entity="ex:c"), ids(limit=1), ids(entity="ex:nobody")) == ([2], [2], [1], [])
    world.proposals.reject_all([1, 2], "no", reviewer="ann")
    assert (ids(), ids(status="rejected"), ids(status="any")) == ([3], [1, 2], [1, 2, 3])
    with pytest.raises(worlds.ConflictError):
        world.proposals.reject_all([3, 1], "no")
    assert ids() == [3]


def test_several_are_accepted_in_their_order(world: worlds.World) -> None:
    for value in (1, 2, 3):
        world.proposals.add(add=[("ex:b", "ex:seen", value)], author=f"bot {value}")
    world.proposals.amend(2, add=[("ex:b", "ex:seen", 22)], author="bot 2")
    with pytest.raises(worlds.ConflictError, match="2"):
        world.proposals.accept_all({2: 1, 3: 1})
    assert [one.id for one in world.proposals.list()] == [1, 2, 3]
    changes = world.proposals.accept_all({1: 1, 2: 2, 3: None}, reviewer="ann")
    assert [change.revision for change in changes] == [2, 3, 4]
    assert [entry.author for entry in world.history(3)] == ["bot 3", "bot 2", "bot 1"]


def test_a_proposal_is_discussed_and_amended(world: worlds.World) -> None:
    correction(world, confidence=0.9)
    world.proposals.amend(1, why="are you sure?", author="ann")
    world.add([("ex:a", "ex:born", 1932)])
    assert world.proposals.get(1).moved
    before = world.proposals.get(1)
    amended = world.proposals.amend(
        1, add=[("ex:a", "ex:born", 1933)], remove=[("ex:a", "ex:born", 1932)], confidence=0.5, author="cid"
    )
    told = [(one.author, one.text, one.replaced) for one in amended.discussion]
    assert told == [("ann", "are you sure?", None), ("cid", "version 2, confidence 0.5 (before: 0.9)", before.patch)]
    assert (amended.base, amended.moved, amended.confidence) == (2, (), 0.5)
    assert (before.version, amended.version, amended.author, amended.content_author) == (1, 2, "bot", "cid")
    world.proposals.accept(1)
    assert born(world) == [1930, 1933]
    assert world.history(1)[0].author == "cid", "who gave the change is its author"


def test_the_version_that_was_reviewed_is_the_one_that_is_accepted(world: worlds.World) -> None:
    correction(world)
    reviewed = world.proposals.get(1).version
    world.proposals.amend(1, add=[("ex:a", "ex:born", 1933)], author="cid")
    with pytest.raises(worlds.ConflictError, match="at version 2 now, given by cid: look at it, and accept version=2"):
        world.proposals.accept(1, version=reviewed)
    world.proposals.amend(1, why="only a remark", author="ann")
    world.proposals.accept(1, version=2)
    with pytest.raises(ValueError, match="version must be a whole number"):
        world.proposals.accept(1, version=1.5)  # type: ignore[call-overload]  # wrong on purpose


def test_only_who_proposed_amends_with_own(world: worlds.World) -> None:
    correction(world)
    for options in ({"add": [("ex:a", "ex:born", 1)]}, {"update": "DELETE WHERE { ?s ex:born ?o }"}, {"confidence": 1}):
        for author in ("mallory", None):
            with pytest.raises(worlds.ReadOnlyError, match="proposal 1 is bot's: only its author, or a key that may"):
                world.proposals.amend(1, **options, why="better", author=author, own=True)
    assert world.proposals.get(1).discussion == ()
    world.proposals.amend(1, why="I doubt it", author="mallory", own=True)
    world.proposals.amend(1, add=[("ex:a", "ex:born", 1933)], author="bot", own=True)
    assert world.proposals.get(1).version == 2


def test_what_it_would_violate_is_kept_with_it(world: worlds.World) -> None:
    shapes = b"""@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix ex: <http://example.org/> .
    ex:Shape sh:targetSubjectsOf ex:born ; sh:property [ sh:path ex:born ; sh:maxCount 1 ] ."""
    world.load(shapes, format="turtle", graph="urn:worlds:shapes")
    good = correction(world)
    bad = world.proposals.add(add=[("ex:a", "ex:born", 1932)])
    assert good.validation == ()
    assert "violation" in bad.validation[0]
    world.shapes.guard = "reject"
    with pytest.raises(worlds.ValidationError):
        world.proposals.accept(bad.id)
    assert world.proposals.get(bad.id).status == "open"
    world.proposals.accept(good.id)


def test_what_cannot_be_proposed(world: worlds.World) -> None:
    with pytest.raises(ValueError, match="no effect"):
        world.proposals.add(add=[("ex:a", "ex:born", 1930)])
    with pytest.raises(ValueError, match="confidence"):
        correction(world, confidence=2)
    with pytest.raises(ValueError, match="there is no proposal 7"):
        world.proposals.accept(7)
    with pytest.raises(ValueError, match="status must be one of"):
        world.proposals.list(status="waiting")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="make two proposals"):
        world.proposals.add(merge=["ex:a", "ex:b"], add=[("ex:a", "ex:born", 1931)])
    assert world.proposals.list() == []


@pytest.mark.parametrize("number", [2**31, 2**63, 10**30])
def test_a_number_that_no_proposal_has(world: worlds.World, number: int) -> None:
    correction(world)
    assert world.proposals.list(after=number) == []
    for verb in (world.proposals.get, world.proposals.accept, world.proposals.reject):
        with pytest.raises(ValueError, match=f"there is no proposal {number}"):
            verb(number)


def test_odd_terms_come_back_as_they_were(world: worlds.World) -> None:
    odd = [ox.Literal("a\nb"), ox.Literal('tab\t"quote"'), ox.Literal("01", datatype=ox.NamedNode(EX + "n"))]
    odd += [ox.Triple(ox.NamedNode(EX + "a"), ox.NamedNode(EX + "b"), ox.Literal("x", language="en"))]  # type: ignore[list-item]
    quads = [ox.Quad(ox.NamedNode(EX + "s"), ox.NamedNode(EX + "p"), value, ox.DefaultGraph()) for value in odd]
    world.proposals.add(add=quads)
    world.proposals.accept(1)
    assert {to_oxigraph(quad[2]) for quad in world.quads("ex:s")} == set(odd)


def test_backup_compact_and_prune_keep_proposals(tmp_path: Path) -> None:
    with worlds.open(tmp_path / "kb.db", embedder=None) as world:
        world.bind("ex", EX)
        world.add([("ex:a", "ex:born", 1930)])
        correction(world)
        world.proposals.add(add=[("ex:new", "ex:p", '"text"@en')], relies_on=[("ex:a", "ex:born", 1930)])
        world.revisions.prune(2)
        world.file.compact()
        world.file.backup(tmp_path / "copy.db")
    with worlds.open(tmp_path / "copy.db", embedder=None) as copy:
        assert [one.moved for one in copy.proposals.list()] == [(), ()]
        assert copy.check().checked["proposals"] == 2
        copy.proposals.accept_all([2, 1])
        assert born(copy) == [1931]
        assert copy.check().ok
