"""World.curation.duplicates on sources that write one thing differently, and on names full of siblings."""

from __future__ import annotations

import pytest

import worlds
from worlds import World
from worlds.extras.curation.duplicates.finder import Duplicate

SKOS = "@prefix skos: <http://www.w3.org/2004/02/skos/core#> . @prefix ex: <http://ex/> .\n"
RDFS = "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix ex: <http://ex/> .\n"


def made(data: str) -> World:
    world = worlds.open(":memory:", embedder=None)
    world.load(data.encode(), format="trig")
    return world


def of(world: World, *names: str) -> list[Duplicate]:
    """The pairs of these two entities, whatever their score."""
    return [
        pair
        for pair in world.curation.duplicates(score=0.0)
        if {str(one).removeprefix("http://ex/") for one in pair.subjects} == set(names)
    ]


def concepts(labels: list[str]) -> str:
    lines = [
        f'ex:c{at} a skos:Concept ; skos:prefLabel "{label}"@en ; skos:broader ex:top .'
        for at, label in enumerate(labels)
    ]
    return SKOS + "\n".join(lines)


RISKS = [f"Risk (S:{bad} L:{often})" for bad in range(1, 6) for often in range(1, 6)]
LEVELS = ("low", "moderate", "high")
WORDS = [f"{bad} severity, {often} likelihood: fire" for bad in LEVELS for often in LEVELS]
GRADES = [f"Grade {mark} steel" for mark in "ABCDEF"]
STAGES = [f"Stage {mark} melanoma" for mark in ("I", "IA", "IB", "II", "IIA", "III", "IV")]
LANDS = ["Finland", "Finnish", "Finnish language", "Sweden", "Swedish", "Swedish language", "Norway", "Norwegian"]
VERSIONS = [f"Ferry {major}.{minor}" for major in (1, 2, 3) for minor in range(5)]


@pytest.mark.parametrize("labels", [RISKS, WORDS, GRADES, STAGES, LANDS, VERSIONS])
def test_siblings_of_one_scheme_are_no_twins(labels: list[str]) -> None:
    with made(concepts(labels)) as world:
        assert [pair.message for pair in world.curation.duplicates(score=0.5)] == []


def test_a_twin_among_siblings_is_found() -> None:
    labels = [*RISKS, "RISK (S:3 - L:4)", *STAGES, "Stage IIA melanoma"]
    with made(concepts(labels)) as world:
        found = {frozenset(map(str, pair.subjects)) for pair in world.curation.duplicates(score=0.5)}
        twins = {("c13", "c25"), ("c30", "c33")}
        assert found == {frozenset(f"http://ex/{name}" for name in twin) for twin in twins}


def test_codes_that_are_nearly_the_same_are_against_within_one_source() -> None:
    named = [f'ex:t{at} rdfs:label "Technique {at}" ; ex:code "T15{at:02}.001" .' for at in range(30)]
    both = 'ex:a rdfs:label "Botnets" ; ex:code "T1583.006" . ex:b rdfs:label "Botnets" ; ex:code "T1584.006" .'
    with made(RDFS + "\n".join([*named, both])) as world:
        (pair,) = of(world, "a", "b")
        assert "ex:code differs" in pair.against
        assert not any("ex:code" in reason for reason in pair.evidence)


def shops() -> str:
    """Two catalogues: the one names a thing by maker and code, the other at length, with the code written otherwise."""
    makers, kinds = ("Sony", "Bose", "Canon", "Philips"), ("turntable", "speaker", "printer", "headset", "camera")
    own, theirs = [], []
    for at in range(60):
        maker, kind = makers[at % 4], kinds[at % 5]
        code = f"{maker[:2].upper()}{chr(65 + at % 26)}X{137 + 7 * at}"
        own.append(f'ex:a{at} rdfs:label "{maker} {kind} - {code}" .')
        split = f"{code[:2]}-{code[2:]}"
        theirs.append(f'ex:b{at} rdfs:label "{maker} black {kind} with stand" ; ex:text "The {split}, as new" .')
    return RDFS + "\n".join([*own, "GRAPH ex:shop {", *theirs, "}"])


def test_codes_are_found_in_all_texts_without_their_punctuation() -> None:
    with made(shops()) as world:
        found = world.curation.duplicates(between=("default", "ex:shop"), score=0.5)
        pairs = {tuple(sorted(str(one)[10:] for one in pair.subjects)) for pair in found}
        right = {(f"a{at}", f"b{at}") for at in range(60)}
        assert len(pairs & right) >= 54
        assert len(pairs - right) <= 3


def test_one_common_value_is_no_duplicate() -> None:
    people = [f'ex:{name} rdfs:label "{name}" ; ex:city "Calw" .' for name in ("Anna", "Bert", "Carl", "Dora")]
    pair = ['ex:x rdfs:label "Mill" ; ex:seal "unique-77" .', 'ex:y rdfs:label "Orchard" ; ex:seal "unique-77" .']
    with made(RDFS + "\n".join([*people, *pair])) as world:
        (found,) = of(world, "x", "y")
        assert found.score < 0.5
