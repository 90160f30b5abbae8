"""Findings by cause: each kind of planted fault comes first, with what it hangs on and who brought it."""

from __future__ import annotations

import pytest

import worlds
from benchmarks.findings import DECLARED, PLANTED, PREFIXES, person
from tests.curation.test_report import PLANTED as UNTIDY
from worlds import World

SHAPES = PREFIXES + DECLARED.splitlines()[-1]


def clean() -> World:
    """A world without a fault of any kind."""
    world = worlds.open(":memory:", embedder=None)
    lines = [PREFIXES, DECLARED, *(f"ex:c{number} a ex:City ." for number in range(150)), *map(person, range(150))]
    world.load("\n".join(lines).encode(), format="turtle", author="owner")
    world.shapes.load(SHAPES.encode(), format="turtle")
    assert world.curation.contradictions().counts == {}
    return world


@pytest.mark.parametrize("kind", PLANTED)
def test_a_planted_fault_is_the_first_cause(kind: str) -> None:
    name = kind.replace(" ", "-").replace(",", "")
    data = "\n".join(PLANTED[kind].format(f"{name}-{number}", number) for number in range(3))
    with clean() as world:
        number = world.load((PREFIXES + data).encode(), format="turtle", author="planter").revision
        found = world.curation.contradictions()
        cause = found.causes[0]
        assert next(iter(cause.counts)) == kind.split(",")[0]
        assert cause.count >= 3
        assert f"revision {number} by planter" in cause.message
        assert all(name in str(one.subjects) or name in str(one.quads) for one in found)
        assert world.curation.contradictions(author="owner", after=number).counts == {}


TIDY = """
ex:Thing a owl:Class ; rdfs:label "Thing" ; rdfs:comment "a class" ; rdfs:seeAlso ex:one .
ex:one a ex:Thing ; rdfs:label "one" ; rdfs:comment "first" ; ex:next ex:two .
ex:two a ex:Thing ; rdfs:label "two" ; rdfs:comment "second" ; ex:next ex:one .
"""
ALSO = 'ex:{0} a ex:Thing ; rdfs:label "{0}" ; rdfs:comment "said" ; ex:next ex:one .\n'
SEEN = {
    "ill-typed literal": 'ex:one ex:n "x"^^xsd:integer .',
    "unknown datatype": 'ex:one ex:n "2026-11-23T10:00:00"^^xsd:datetime .',
    "control character": 'ex:one rdfs:label "a\\u0007b" .',
    "cycle": "ex:one skos:broader ex:two . ex:two skos:broader ex:one .",
    "near-duplicate predicates": "ex:one ex:birthDate 1 . ex:two ex:birth_date 2 .",
    "repeated notation": 'ex:s skos:notation "1" ; skos:inScheme ex:s . ex:one skos:notation "1" ; skos:inScheme ex:s .'
    + ALSO.format("s"),
    "redundant link": "ex:one skos:broader ex:two, ex:three . ex:two skos:broader ex:three . " + ALSO.format("three"),
    "missing label": 'ex:three a ex:Thing ; rdfs:comment "said" ; ex:next ex:one .',
    "missing type": 'ex:three rdfs:label "three" ; rdfs:comment "said" ; ex:next ex:one .',
    "missing description": 'ex:three a ex:Thing ; rdfs:label "three" ; ex:next ex:one .',
    "broken reference": "ex:one ex:next ex:nothing .",
    "untidy label": 'ex:one rdfs:label " one" .',
}


@pytest.mark.parametrize("name", SEEN)
def test_what_is_untidy_is_the_first_check(name: str) -> None:
    with worlds.open(":memory:", embedder=None) as world:
        world.load((PREFIXES + TIDY).encode(), format="turtle", author="owner")
        assert not any(one.count for one in world.curation.report())
        world.load((PREFIXES + SEEN[name]).encode(), format="turtle", author="planter")
        first, second, *_ = world.curation.report(after=1)
        assert (first.name, first.count, first.new) == (name, 1, 1)
        assert not second.count


def test_thirty_kinds_are_planted() -> None:
    assert len({*PLANTED, *SEEN, *UNTIDY}) >= 30
