"""Who said that: `provenance`, `history` with filters, and the past by time."""

from __future__ import annotations

import datetime
import random
import time
from collections.abc import Callable
from typing import Any

import pytest
import rdflib
from rdflib import Literal

import worlds
from worlds import World, WorldsError

A, B, C, P, Q, G = (rdflib.URIRef(f"urn:{name}") for name in "abcpqg")


@pytest.fixture
def told(world: World) -> World:
    world.add([(A, P, B), (A, Q, rdflib.Literal("one"))], author="ann", message="First import")
    world.add([(C, P, A, G)], author="bob")
    world.remove([(A, P, B)], author="bob", message="a correction of the import")
    world.add([(A, P, B)], author="ann")
    return world


def test_provenance_tells_every_time_during_which_a_quad_held(told: World) -> None:
    found = told.revisions.provenance(A, P)
    assert [one.quad for one in found] == [(A, P, B, None)] * 2
    first, second = found
    assert first.added is not None
    assert first.removed is not None
    assert (first.added.revision, first.added.author, first.added.message) == (1, "ann", "First import")
    assert (first.removed.revision, first.removed.author) == (3, "bob")
    assert second.added == told.history()[0]
    assert second.removed is None


def number(entry: worlds.records.Entry | None) -> int | None:
    return None if entry is None else entry.revision


def test_a_pattern_may_leave_terms_open(told: World) -> None:
    def revisions(*pattern: Any) -> list[tuple[int | None, int | None]]:
        return [(number(one.added), number(one.removed)) for one in told.revisions.provenance(*pattern)]

    assert revisions() == [(1, 3), (1, None), (2, None), (4, None)]
    assert revisions(None, None, "urn:a") == [(2, None)]
    assert revisions(None, None, None, "default") == [(1, 3), (1, None), (4, None)]
    assert revisions(None, None, None, G) == [(2, None)]
    assert revisions("urn:unknown") == revisions(None, None, None, "urn:unknown") == []
    told.revisions.prune(3)
    assert revisions() == [(None, 3), (None, None), (None, None), (4, None)]
    told.revisions.prune(5)
    assert revisions() == [(None, None)] * 3


def test_provenance_is_what_the_differences_say(world: World) -> None:
    chance = random.Random(5)
    some = [(s, p, o, g) for s in (A, B) for p in (P, Q) for o in (A, C) for g in (None, G)]
    for _ in range(25):
        world.add(chance.sample(some, 4))
        world.remove(chance.sample(some, 3))
    expected = set()
    for entry in world.history():
        diff = world.diff(entry.revision - 1, entry.revision)
        expected |= {(entry.revision, quad, "+") for quad in diff.added}
        expected |= {(entry.revision, quad, "-") for quad in diff.removed}
    found = set()
    for one in world.revisions.provenance():
        assert one.added is not None
        found.add((one.added.revision, one.quad, "+"))
        if one.removed is not None:
            found.add((one.removed.revision, one.quad, "-"))
    assert found == expected
    for entity, predicate, graph in [(A, None, None), (C, P, None), (None, Q, G), (B, Q, "default"), (None, None, G)]:
        touched = {
            number
            for number, quad, _ in expected
            if entity in (None, quad[0], quad[2]) and predicate in (None, quad[1])
            if graph is None or quad[3] == (None if graph == "default" else graph)
        }
        entries = world.history(entity=entity, predicate=predicate, graph=graph)
        assert {entry.revision for entry in entries} == touched


FILTERS: list[tuple[dict[str, Any], list[int]]] = [
    ({"author": "ann"}, [4, 1]),
    ({"author": "ann", "limit": 1}, [4]),
    ({"message": "IMPORT"}, [3, 1]),
    ({"entity": "urn:a"}, [4, 3, 2, 1]),
    ({"entity": "urn:c"}, [2]),
    ({"entity": "urn:c", "author": "ann"}, []),
    ({"predicate": "urn:q"}, [1]),
    ({"graph": "urn:g"}, [2]),
    ({"graph": "default", "predicate": "urn:p", "limit": 2}, [4, 3]),
    ({"entity": "urn:unknown"}, []),
    ({"limit": 0, "author": "bob"}, []),
]


@pytest.mark.parametrize(("given", "expected"), FILTERS, ids=str)
def test_history_tells_those_that_are_asked_for(told: World, given: dict[str, Any], expected: list[int]) -> None:
    assert [entry.revision for entry in told.history(**given)] == expected


def test_times_stand_for_revisions(world: World) -> None:
    begun = datetime.datetime.now(datetime.UTC) - datetime.timedelta(seconds=1)
    for number in range(3):
        world.add([(A, P, rdflib.Literal(number))])
        time.sleep(0.005)
    first, second, third = reversed(world.history())
    assert [len(world.at(entry.time)) for entry in (first, second, third)] == [1, 2, 3]
    assert len(world.at(begun)) == 0
    between = second.time + (third.time - second.time) / 2
    assert len(world.at(between.astimezone(datetime.timezone(datetime.timedelta(hours=5))))) == 2
    assert len(world.diff(begun, between).added) == 2
    assert len(world.diff(between).added) == 1
    assert world.history(since=second.time) == [third, second]
    assert world.history(until=between) == [second, first]
    assert world.history(since=between, until=between) == []
    world.revisions.prune(3)
    with pytest.raises(WorldsError, match="is gone: the history was pruned"):
        world.at(begun)
    naive = datetime.datetime(2025, 1, 1)
    calls: list[Callable[[], object]] = [
        lambda: world.at(naive),
        lambda: world.diff(naive),
        lambda: world.history(since=naive),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="time zone"):
            call()


def said(world: World, subject: str, value: object) -> tuple[str | None, str | None]:
    """Who said a value that holds now, and who first said it."""
    (one,) = (one for one in world.revisions.provenance(subject, None, value) if one.removed is None)
    assert one.added is not None
    assert one.said is not None
    return one.added.author, one.said.author


def test_who_first_said_it_is_found_through_merges_splits_and_undo() -> None:
    with worlds.open(embedder=None) as world:
        world.bind("ex", "http://example.org/")
        label = "http://www.w3.org/2000/01/rdf-schema#label"
        world.add([("ex:a", label, Literal("Kept")), ("ex:a", "ex:size", Literal("1"))], author="ann")
        world.add(
            [
                ("ex:b", label, Literal("Other")),
                ("ex:b", "ex:note", Literal("theirs")),
                ("ex:x", "ex:knows", "ex:b"),
            ],
            author="partner",
            message="load of partner.ttl",
        )
        world.curation.merge("ex:a", "ex:b", author="finder")
        assert said(world, "ex:a", Literal("1")) == ("ann", "ann")
        assert said(world, "ex:a", Literal("theirs")) == ("finder", "partner")
        assert said(world, "ex:a", Literal("Other")) == ("finder", "partner")  # an alias now
        assert said(world, "ex:x", "ex:a") == ("finder", "partner")
        number = world.add([("ex:c", "ex:note", Literal("third"))], author="carl").revision or 0
        second = world.curation.merge("ex:c", "ex:a", author="finder").revision or 0  # and of what was merged before
        assert said(world, "ex:c", Literal("theirs")) == ("finder", "partner")
        assert said(world, "ex:c", Literal("third")) == ("carl", "carl")
        undone = world.undo(world.history()[0].revision, author="undoer").revision or 0
        assert said(world, "ex:a", Literal("theirs")) == ("undoer", "partner")
        world.undo(undone, author="again")
        assert said(world, "ex:c", Literal("theirs")) == ("again", "partner")
        assert not world.curation.split(second, author="splitter").unassigned
        assert said(world, "ex:a", Literal("theirs")) == ("splitter", "partner")
        world.remove([("ex:c", "ex:note", Literal("third"))], author="dora")
        world.undo(world.history()[0].revision, author="eve")
        assert said(world, "ex:c", Literal("third")) == ("eve", "carl")
        world.revisions.prune(world.history()[0].revision)
        (one,) = (one for one in world.revisions.provenance("ex:c", None, Literal("third")) if one.removed is None)
        assert one.said is None or one.said.revision >= number  # what is forgotten is nobody's


def test_a_revision_tells_who_proposed_and_who_accepted() -> None:
    with worlds.open(embedder=None) as world:
        world.bind("ex", "http://example.org/")
        quad = ("ex:a", "ex:p", Literal("bob's"))
        proposal = world.proposals.add(add=[quad], author="bob")
        world.proposals.amend(proposal.id, add=[("ex:a", "ex:p", Literal("ann's"))], author="ann")
        world.proposals.accept(proposal.id, reviewer="cid")
        (entry,) = world.history()
        assert (entry.author, entry.proposer, entry.reviewer, entry.proposal) == ("ann", "bob", "cid", proposal.id)
        assert entry.to_dict()["proposer"] == "bob"
        world.add([("ex:b", "ex:p", Literal("1"))], author="dora")
        assert (world.history()[0].proposer, world.history()[0].proposal) == (None, None)
