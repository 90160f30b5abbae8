"""World.curation.decisions, and the probabilities that duplicates have by what was decided."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlds
from tests.support.tables import run
from worlds import World
from worlds.core.history.scale import learned
from worlds.extras.curation.duplicates.finder import Duplicate

EX = "http://ex/"
FIRST = "Ann Bea Cleo Dora Ella Fay Gina Hope Ida June Kay Lea Mia Nora Olga Pia Rita Sue Tess Vera".split()  # noqa: SIM905
LAST = "Archer Baker Carter Draper Farmer Gardner Hunter Mason Potter Sawyer Taylor Weaver".split()  # noqa: SIM905


def family(seed: int = 1, persons: int = 80) -> World:
    """Persons, half of them a second time under another IRI."""
    chance = random.Random(seed)
    world = worlds.open(embedder=None)
    world.bind("", EX)
    quads: list[Any] = []
    for n in range(persons):
        name = f"{chance.choice(FIRST)} {chance.choice(LAST)}"
        born = f'"{chance.randint(1950, 2000)}-0{chance.randint(1, 9)}-{chance.randint(10, 28)}"^^xsd:date'
        for iri in (f":p{n}", f":q{n}")[: 1 + n % 2]:
            quads += [(iri, "rdf:type", ":Person"), (iri, "rdfs:label", f'"{name}"'), (iri, ":born", born)]
    world.add(quads)
    return world


def test_decisions_are_those_that_hold() -> None:
    with family() as world:
        proposals = world.proposals.add_all(world.curation.duplicates(limit=4))
        first, second, third, fourth = proposals
        done = world.proposals.accept(first.id, reviewer="ann")
        world.proposals.reject(second.id, "two sisters", reviewer="bob")
        apart = world.proposals.accept(third.id, reviewer="ann")
        assert apart.revision is not None
        world.curation.split(apart.revision)
        merge = world.curation.merge(":p0", ":p2", author="cid")
        world.curation.distinct(":p4", ":p6", author="dan")
        found = {(one.how, one.same, one.author, one.proposal, one.score) for one in world.curation.decisions()}
        assert found == {
            ("accepted", True, "ann", first.id, first.score),
            ("rejected", False, "bob", second.id, second.score),
            ("rejected", False, None, third.id, third.score),
            ("merged", True, "cid", None, None),
            ("distinct", False, "dan", None, None),
        }
        assert fourth.status == "open"
        told = {one.how: one for one in world.curation.decisions()}
        assert told["accepted"].revision == done.revision
        assert [str(iri) for iri in told["merged"].entities] == [EX + "p0", EX + "p2"]
        assert merge.revision is not None
        world.undo(merge.revision)
        assert "merged" not in {one.how for one in world.curation.decisions()}


def test_decisions_are_read_without_the_quads_of_their_proposals() -> None:
    with family() as world:
        first, *_ = world.proposals.add_all(world.curation.duplicates(limit=1))
        world.proposals.accept(first.id)
        told = world.curation.decisions()
        assert len(told) == 1
        run(world, "UPDATE proposal_quads SET object = 'no term'")
        assert world.curation.decisions() == told


def once(world: World, score: float) -> list[Duplicate]:
    """Pairs of which each person is in one, so that none was merged before its proposal is decided."""
    found: list[Duplicate] = []
    for pair in world.curation.duplicates(score=score, limit=None):
        if not {one for other in found for one in other.subjects} & set(pair.subjects):
            found.append(pair)
    return found


def test_a_score_is_a_probability_once_enough_was_decided() -> None:
    chance = random.Random(3)
    with family(2, 160) as world:
        assert {one.probability for one in world.curation.duplicates()} == {None}
        proposals = world.proposals.add_all(once(world, 0.02))
        assert {one.confidence for one in proposals} == {None}
        decided, left = proposals[:-4], proposals[-4:]
        for one in decided:
            assert one.score is not None
            # A curator who is less sure than the numbers are.
            (world.proposals.accept if chance.random() < 0.1 + 0.7 * one.score else world.proposals.reject)(
                one.id, reviewer="ann"
            )
        found = world.curation.duplicates(score=0.0, limit=None)
        assert found.learned == len(decided) >= 30
        chances = [one.probability for one in found if one.probability is not None]
        assert len(chances) == len(found)
        assert chances == sorted(chances, reverse=True), "a scale leaves the order"
        scale = learned(
            *zip(*((one.score, world.proposals.get(one.id).status == "accepted") for one in decided), strict=True)
        )
        assert scale is not None
        for one in left:
            now = world.proposals.get(one.id)
            assert now.score == one.score is not None
            assert now.confidence == pytest.approx(float(scale(np.array(one.score))))
        middle = sorted(world.proposals.get(one.id).confidence or 0.0 for one in left)[1]
        at_least = {one.id for one in world.proposals.list(minimum=middle)}
        assert at_least == {one.id for one in left if (world.proposals.get(one.id).confidence or 0.0) >= middle}
        assert at_least


def test_proposals_with_a_score_alone_are_no_match_for_a_lowest_confidence() -> None:
    with family() as world:
        proposals = world.proposals.add_all(world.curation.duplicates(limit=3))
        world.proposals.add(add=[(":p0", ":note", '"x"')], confidence=0.9)
        listed = world.proposals.list(minimum=0.0)
        assert [one.confidence for one in listed] == [0.9]
        assert listed.uncalibrated == len(proposals) == 3
        assert "decide 30 of a kind" in listed.notes[-1]
        assert world.proposals.list(minimum=0.0, kind="edit").notes == ()
        assert len(world.proposals.list()) == 4


@given(st.integers(0, 1000), st.floats(0.3, 2.0), st.floats(-2.0, 2.0))
def test_a_scale_is_learnt(seed: int, slope: float, intercept: float) -> None:
    chance = random.Random(seed)
    chances = [chance.uniform(0.02, 0.98) for _ in range(4000)]
    right = [chance.random() < 1 / (1 + math.exp(-slope * math.log(p / (1 - p)) - intercept)) for p in chances]
    scale = learned(chances, right)
    assert scale is not None
    assert scale.slope == pytest.approx(slope, abs=0.3)
    assert scale.intercept == pytest.approx(intercept, abs=0.3)
    assert float(scale(np.array(scale.least(0.3)))) == pytest.approx(0.3)


@pytest.mark.parametrize(("right", "wrong"), [(24, 5), (4, 26), (26, 4)])
def test_few_decisions_are_no_scale(right: int, wrong: int) -> None:
    assert learned([0.5] * (right + wrong), [True] * right + [False] * wrong) is None
