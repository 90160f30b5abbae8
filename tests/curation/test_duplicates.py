"""duplicates and distinct: what is one and what is not, why, and decisions that are kept."""

from __future__ import annotations

import random

import pytest

import worlds
from worlds import World
from worlds.errors import ArgumentError
from worlds.extras.curation.duplicates.finder import Duplicate

PREFIXES = """
@prefix ex: <http://ex/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""
FIRST = ["Ann", "Bob", "Carla", "David", "Eva", "Frank", "Greta", "Hans", "Ines", "Jonas"]
LAST = ["Abel", "Brandt", "Curie", "Dirac", "Euler", "Fermi", "Gauss", "Hertz", "Ising", "Joule", "Kepler"]


def made(data: str) -> World:
    world = worlds.open(":memory:", embedder=None)
    world.load((PREFIXES + data).encode(), format="trig", author="ann")
    return world


def people(size: int = 100) -> list[str]:
    draw = random.Random(3)
    return [
        f'ex:p{n} a ex:Person ; rdfs:label "{FIRST[n % 10]} {LAST[n // 10]}" ;'
        f' ex:born "{1900 + n}-0{draw.randint(1, 9)}-1{draw.randint(0, 9)}"^^xsd:date ; ex:city ex:c{n % 7} .'
        for n in range(size)
    ]


def iris(pair: Duplicate) -> set[str]:
    return {str(one).removeprefix("http://ex/") for one in pair.subjects}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Neil Armstrong", "Armstrong, Neil"),
        ("IBM", "I.B.M."),
        ("Crème Brûlée Society", "creme brulee society"),
        ("Massachusetts Institute of Technology", "Massachusets Institute of Technology"),
        ("Hydrodynamics Laboratory", "Hydro Dynamics Laboratory"),
        ("International Business Machines", "IBM"),
    ],
)
def test_one_thing_by_two_names(one: str, other: str) -> None:
    data = [
        *people(),
        f'ex:a a ex:Person ; rdfs:label "{one}" ; ex:born "1871-02-03"^^xsd:date ; ex:city ex:c1 .',
        f'ex:b a ex:Person ; rdfs:label "{other}" ; ex:born "1871-02-03"^^xsd:date ; ex:city ex:c1 .',
    ]
    with made("\n".join(data)) as world:
        found = [pair for pair in world.curation.duplicates() if iris(pair) == {"a", "b"}]
        assert len(found) == 1
        assert 0.5 < found[0].score <= 1
        assert any("ex:born" in reason for reason in found[0].evidence)
        assert all(said.added is not None and said.added.author == "ann" for said in found[0].quads)
        assert all(list(world.quads(*said.quad[:3])) for said in found[0].quads)
        assert one in found[0].message
        assert other in found[0].message
        assert "a" not in {
            name for pair in world.curation.duplicates() if pair is not found[0] for name in iris(pair)
        } - {"a"}


def test_different_values_are_against_namesakes() -> None:
    data = [
        *people(),
        'ex:a a ex:Person ; rdfs:label "John Smith" ; ex:born "1871-02-03"^^xsd:date ; ex:city ex:c1 .',
        'ex:b a ex:Person ; rdfs:label "John Smith" ; ex:born "1950-09-28"^^xsd:date ; ex:city ex:c2 .',
    ]
    with made("\n".join(data)) as world:
        (pair,) = (pair for pair in world.curation.duplicates(score=0.0) if iris(pair) == {"a", "b"})
        assert pair.score < 0.5
        assert any("ex:born differs" in reason for reason in pair.against)
        assert pair.to_dict()["against"] == list(pair.against)


def copies(size: int = 100) -> str:
    data = [*people(size), "GRAPH ex:partner {"]
    for line in people(size)[:20]:
        data.append(line.replace("ex:p", "ex:q", 1))
    return "\n".join([*data, "}"])


BETWEEN = ("default", "ex:partner")


@pytest.mark.parametrize(
    ("one", "other", "reason"),
    [
        ("Washer 1.12 mm", "Washer 11.2 mm", "their numbers differ"),
        ("Cohesive soil", "Incohesive soil", "the words that differ begin with other letters"),
        ("Fenthion methyl", "Fenthion ethyl", "the words that differ stand in other names, too"),
        ("PPT", "PPTX", "a code differs"),
        ("Old harbour crane", "Harbour crane", "a word that the other lacks"),
        ("Harbour roads", "Harbour road", "more pairs of names differ in the same way"),
        ("C compiler", "C++ compiler", "the signs between the words differ"),
        ("Signed to unsigned", "Unsigned to signed", "the words stand in another order"),
    ],
)
def test_siblings_are_no_twins(one: str, other: str, reason: str) -> None:
    families = ["Parathion", "Bromophos", "Chlorthion", "Azinphos", "Malathion", "Fenchlorphos"]
    siblings = [f"{base} {radical}" for base in families for radical in ("methyl", "ethyl")]
    siblings += [f"{base.lower()} {noun}" for base in ("hill", "lake", "mill", "church") for noun in ("road", "roads")]
    data = [
        *people(),
        *(f'ex:s{n} a ex:Thing ; rdfs:label "{name}" ; ex:code "S{n:03}" .' for n, name in enumerate(siblings)),
        f'ex:a a ex:Thing ; rdfs:label "{one}" ; skos:broader ex:top ; ex:code "T001" ; ex:made ex:here .',
        f'ex:b a ex:Thing ; rdfs:label "{other}" ; skos:broader ex:top ; ex:code "T002" ; ex:made ex:here .',
    ]
    with made("@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n" + "\n".join(data)) as world:
        (pair,) = (pair for pair in world.curation.duplicates(score=0.0) if iris(pair) == {"a", "b"})
        assert pair.score < 0.1
        assert any(reason in told for told in pair.against), pair.against
        assert "their identifiers differ" in pair.against


def test_a_copy_is_found_between_two_graphs() -> None:
    with made(copies()) as world:
        found = world.curation.duplicates(between=("default", "ex:partner"))
        assert {tuple(sorted(iris(pair))) for pair in found} == {(f"p{n}", f"q{n}") for n in range(20)}
        assert found.counts == {"duplicate": 20}
        assert [pair.score for pair in found] == sorted((pair.score for pair in found), reverse=True)
        assert len(world.curation.duplicates(graphs="ex:partner")) == 0
        assert len(world.curation.duplicates(types="ex:Person")) == 20
        assert len(world.curation.duplicates(types=["ex:Ship"])) == 0
        assert len(world.curation.duplicates(limit=3)) == 3
        assert len(found.clusters()) == 20
        assert len(found.clusters()[0]) == 2


def test_what_was_merged_is_not_compared_with_itself() -> None:
    """After an import is finished the survivors stand in both graphs, and so do their namesakes."""
    with made(copies()) as world:
        for number in range(20):
            world.curation.merge(f"ex:p{number}", f"ex:q{number}")
        survivors = {f"p{number}" for number in range(20)}
        pairs = {tuple(sorted(iris(pair))) for pair in world.curation.duplicates(between=BETWEEN, score=0.0)}
        assert pairs
        assert not [pair for pair in pairs if survivors.issuperset(pair)]
        assert len(world.curation.duplicates(between=BETWEEN)) == 0
        late = [("ex:late", "rdfs:label", '"Ann Abel"'), ("ex:late", "rdf:type", "ex:Person")]
        world.add([(*triple, "ex:partner") for triple in late])
        found = world.curation.duplicates(between=BETWEEN, score=0.0)
        assert ("late", "p0") in {tuple(sorted(iris(pair))) for pair in found}


def test_rivals_share_what_is_likely_between_two_graphs() -> None:
    rival = 'ex:r a ex:Person ; rdfs:label "Ann Abel" .'
    with made(copies().replace("}", rival + " }")) as world:
        pairs = world.curation.duplicates(between=("default", "ex:partner"), score=0.0)
        chances = {tuple(sorted(iris(pair))): pair.score for pair in pairs}
        assert chances["p0", "q0"] > 0.5 > chances["p0", "r"]
        assert chances["p0", "q0"] + chances["p0", "r"] <= 1


def test_a_decision_is_kept() -> None:
    with made(copies()) as world:
        rehearsed = world.curation.distinct("ex:p1", "ex:q1", dry_run=True)
        assert len(rehearsed.added) == 1
        assert world.curation.distinct("ex:p1", "ex:q1", author="bob", message="two persons").added == 1
        world.add([("ex:q2", "owl:sameAs", "ex:p2")])
        assert {next(iter(iris(pair)))[1:] for pair in world.curation.duplicates()} == {
            str(n) for n in range(20) if n not in (1, 2)
        }
        world.undo(2)
        assert len(world.curation.duplicates()) == 19
        with pytest.raises(ArgumentError, match="distinct from itself"):
            world.curation.distinct("ex:p1", "ex:p1")


def test_what_is_asked_wrongly_is_said() -> None:
    with made("") as world:
        assert len(world.curation.duplicates()) == 0
        with pytest.raises(ArgumentError, match="pair of graphs"):
            world.curation.duplicates(between=["ex:partner"])  # type: ignore[arg-type]
        with pytest.raises(ArgumentError, match="from 0 to 1"):
            world.curation.duplicates(score=3)


def test_three_that_are_one_are_a_cluster() -> None:
    lines = [*people(), *(line.replace("ex:p5", f"ex:{name}") for name in "xy" for line in people()[5:6])]
    with made("\n".join(lines)) as world:
        (cluster,) = world.curation.duplicates().clusters()
        assert {str(one).removeprefix("http://ex/") for one in cluster} == {"p5", "x", "y"}


def test_resolve_leaves_out_what_is_excluded() -> None:
    with made(copies()) as world:
        twin = world.resolve("Bob Abel", exclude="ex:p1")
        assert twin.outcome == "match"
        assert str(twin.candidates[0].iri) == "http://ex/q1"
        assert world.resolve("Bob Abel").outcome == "ambiguous"
        assert world.resolve("Bob Abel", exclude=["ex:p1", "ex:q1"]).best is None
