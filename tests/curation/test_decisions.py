"""World.decisions and duplicates(learn=True): what was decided, and a scale that is learnt from it."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlds
from worlds import World
from worlds.curation.duplicates.finder import Duplicate
from worlds.curation.duplicates.scale import learned
from worlds.errors import ArgumentError

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
        proposals = world.propose_all(world.duplicates(limit=4))
        first, second, third, fourth = proposals
        done = world.accept(first.id, reviewer="ann")
        world.reject(second.id, "two sisters", reviewer="bob")
        apart = world.accept(third.id, reviewer="ann")
        assert apart.revision is not None
        world.split(apart.revision)
        merge = world.merge(":p0", ":p2", author="cid")
        world.distinct(":p4", ":p6", author="dan")
        found = {(one.how, one.same, one.author, one.proposal, one.confidence) for one in world.decisions()}
        assert found == {
            ("accepted", True, "ann", first.id, first.confidence),
            ("rejected", False, "bob", second.id, second.confidence),
            ("rejected", False, None, third.id, third.confidence),
            ("merged", True, "cid", None, None),
            ("distinct", False, "dan", None, None),
        }
        assert fourth.status == "open"
        told = {one.how: one for one in world.decisions()}
        assert told["accepted"].revision == done.revision
        assert [str(iri) for iri in told["merged"].entities] == [EX + "p0", EX + "p2"]
        assert merge.revision is not None
        world.undo(merge.revision)
        assert "merged" not in {one.how for one in world.decisions()}


def test_decided_proposals_teach() -> None:
    chance = random.Random(3)
    with family(2, 160) as world:
        with pytest.raises(ArgumentError, match="30 decided proposals"):
            world.duplicates(learn=True)
        once: list[Duplicate] = []  # each person in one pair, so that none was merged before its proposal is decided
        for pair in world.duplicates(probability=0.02, limit=None):
            if not {one for other in once for one in other.subjects} & set(pair.subjects):
                once.append(pair)
        proposals = world.propose_all(once)
        for one in proposals:
            # A curator who is less sure than the numbers are.
            likely = 0.1 + 0.7 * (one.confidence or 0.0)
            (world.accept if chance.random() < likely else world.reject)(one.id, reviewer="ann")
        for n in range(3):
            iri = f":z{n}"
            for name in (iri, iri + "b"):
                world.add([(name, "rdf:type", ":Person"), (name, "rdfs:label", f'"Zoe Zimmer{n * 111}"')])
        plain = {one.subjects: one for one in world.duplicates(probability=0.0, limit=None)}
        taught = world.duplicates(probability=0.0, limit=None, learn=True)
        assert taught.learned == len(proposals) >= 30
        assert {one.subjects: one.unlearned for one in taught} == {key: one.score for key, one in plain.items()}
        told = [one.unlearned for one in taught if one.unlearned and one.unlearned > 1e-5]
        assert told == sorted(told, reverse=True), "a scale leaves the order"
        new = next(one for one in taught if str(one.subjects[0]).startswith(EX + "z"))
        (again,) = world.propose_all([new])
        assert again.confidence == pytest.approx(new.unlearned), "on the scale that is learnt from"


@given(st.integers(0, 1000), st.floats(0.3, 2.0), st.floats(-2.0, 2.0))
def test_a_scale_is_learnt(seed: int, slope: float, intercept: float) -> None:
    chance = random.Random(seed)
    chances = [chance.uniform(0.02, 0.98) for _ in range(4000)]
    right = [chance.random() < 1 / (1 + math.exp(-slope * math.log(p / (1 - p)) - intercept)) for p in chances]
    scale = learned(chances, right)
    assert scale.slope == pytest.approx(slope, abs=0.3)
    assert scale.intercept == pytest.approx(intercept, abs=0.3)
