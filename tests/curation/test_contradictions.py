"""World.curation.contradictions: each kind is planted and found, with its quads; clean data have none."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlds
from worlds import World
from worlds.errors import ArgumentError
from worlds.extras.curation.findings.findings import CONTRADICTIONS

DOCS = Path(__file__).resolve().parents[2] / "docs"

PREFIXES = """
@prefix ex: <http://ex/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> . @prefix sh: <http://www.w3.org/ns/shacl#> .
"""

# (kind, severity, the data, the number of findings, what their quads have to name)
PLANTED = [
    ("functional", "error", "ex:p a owl:FunctionalProperty . ex:a ex:p 1, 2 . ex:b ex:p 1 .", 1, "ex:a"),
    ("functional", "warning", "ex:p a owl:FunctionalProperty . ex:a ex:p ex:x, ex:y .", 1, "ex:a"),
    (
        "functional",
        "error",
        "ex:p a owl:FunctionalProperty . ex:a ex:p ex:x, ex:y . ex:x owl:differentFrom ex:y .",
        1,
        "ex:a",
    ),
    (
        "functional",
        "error",
        "ex:q a owl:FunctionalProperty . ex:p rdfs:subPropertyOf ex:q . ex:a ex:p 1 ; ex:q 2 .",
        1,
        "ex:a",
    ),
    (
        "functional",
        "warning",
        "ex:p a owl:FunctionalProperty . ex:q owl:inverseOf ex:p . ex:a ex:p ex:x . ex:y ex:q ex:a .",
        1,
        "ex:y",
    ),
    (
        "inverse functional",
        "warning",
        'ex:p a owl:InverseFunctionalProperty . ex:a ex:p "1" . ex:b ex:p "1" .',
        1,
        "ex:b",
    ),
    (
        "inverse functional",
        "warning",
        "ex:C owl:hasKey ( ex:p ex:q ) . ex:a a ex:C ; ex:p 1 ; ex:q 2 . ex:b a ex:C ; ex:p 1 ; ex:q 2 ."
        " ex:c a ex:C ; ex:p 1 ; ex:q 3 .",
        1,
        "ex:b",
    ),
    (
        "disjoint classes",
        "error",
        "ex:C owl:disjointWith ex:D . ex:E rdfs:subClassOf ex:D . ex:a a ex:C, ex:E .",
        1,
        "ex:a",
    ),
    (
        "disjoint classes",
        "error",
        "[] a owl:AllDisjointClasses ; owl:members ( ex:C ex:D ex:E ) . ex:a a ex:C, ex:E .",
        1,
        "ex:a",
    ),
    ("disjoint classes", "error", "ex:A owl:disjointUnionOf ( ex:C ex:D ) . ex:a a ex:C, ex:D .", 1, "ex:a"),
    ("disjoint classes", "error", "ex:C owl:disjointWith ex:D . ex:E rdfs:subClassOf ex:C, ex:D .", 1, "ex:E"),
    ("disjoint classes", "error", "ex:a a owl:Nothing .", 1, "ex:a"),
    ("disjoint classes", "error", "ex:a a skos:Concept, skos:ConceptScheme .", 1, "ex:a"),
    (
        "disjoint properties",
        "error",
        "ex:p owl:propertyDisjointWith ex:q . ex:a ex:p ex:b ; ex:q ex:b, ex:c .",
        1,
        "ex:b",
    ),
    ("disjoint properties", "error", 'ex:a skos:prefLabel "x"@en ; skos:altLabel "x"@en, "y"@en .', 1, "ex:a"),
    (
        "disjoint properties",
        "error",
        "ex:a skos:broader ex:b . ex:b skos:broader ex:c . ex:a skos:related ex:c .",
        1,
        "ex:c",
    ),
    ("asymmetric", "error", "ex:p a owl:AsymmetricProperty . ex:a ex:p ex:b . ex:b ex:p ex:a, ex:c .", 1, "ex:a"),
    ("irreflexive", "error", "ex:p a owl:IrreflexiveProperty . ex:a ex:p ex:a .", 1, "ex:a"),
    ("identity", "error", "ex:a owl:sameAs ex:b . ex:c owl:sameAs ex:b . ex:c owl:differentFrom ex:a .", 1, "ex:b"),
    (
        "negative assertion",
        "error",
        "[] a owl:NegativePropertyAssertion ; owl:sourceIndividual ex:a ; owl:assertionProperty ex:p ;"
        " owl:targetIndividual ex:b . ex:a ex:p ex:b .",
        1,
        "ex:b",
    ),
    (
        "cardinality",
        "error",
        "ex:C rdfs:subClassOf [ owl:onProperty ex:p ; owl:maxCardinality 2 ] . ex:D rdfs:subClassOf ex:C ."
        " ex:a a ex:D ; ex:p 1, 2, 3 . ex:b a ex:D ; ex:p 1, 2 .",
        1,
        "ex:a",
    ),
    (
        "cardinality",
        "warning",
        "ex:C rdfs:subClassOf [ owl:onProperty ex:p ; owl:maxQualifiedCardinality 1 ; owl:onClass ex:K ] ."
        " ex:a a ex:C ; ex:p ex:x, ex:y . ex:b a ex:C ; ex:p ex:x, ex:z . ex:x a ex:K . ex:y a ex:K .",
        1,
        "ex:a",
    ),
    ("ill-typed literal", "error", 'ex:a ex:p "x"^^xsd:integer, "2021-02-29"^^xsd:date, "1"^^xsd:integer .', 2, "ex:a"),
    ("datatype", "error", 'ex:p rdfs:range xsd:integer . ex:a ex:p 1, "x", 2.5, "3"^^xsd:int .', 2, "ex:a"),
    ("datatype", "error", 'ex:p rdfs:range ex:C . ex:C a owl:Class . ex:a ex:p "x" .', 1, "ex:a"),
    ("datatype", "error", "ex:p a owl:DatatypeProperty . ex:a ex:p ex:b .", 1, "ex:a"),
    ("datatype", "error", "ex:p a owl:ObjectProperty . ex:a ex:p 3 .", 1, "ex:a"),
    (
        "domain",
        "error",
        "ex:p rdfs:domain ex:C . ex:C owl:disjointWith ex:D . ex:a ex:p 1 ; a ex:D . ex:b ex:p 1 .",
        1,
        "ex:a",
    ),
    ("domain", "warning", "ex:p rdfs:domain ex:C . ex:a ex:p 1 ; a ex:D . ex:D a owl:Class .", 1, "ex:a"),
    (
        "domain",
        "warning",
        "ex:p rdfs:domain [ owl:unionOf ( ex:C ex:D ) ] . ex:a ex:p 1 ; a ex:D . ex:b ex:p 1 ; a ex:E .",
        1,
        "ex:b",
    ),
    (
        "range",
        "error",
        "ex:p rdfs:range ex:C . ex:C owl:disjointWith ex:D . ex:a ex:p ex:b . ex:b a ex:D .",
        1,
        "ex:b",
    ),
    ("range", "warning", "ex:p rdfs:range ex:C . ex:a ex:p ex:b . ex:b a ex:D .", 1, "ex:b"),
    ("labels", "error", 'ex:a skos:prefLabel "x"@en, "y"@en, "z"@de . ex:b skos:prefLabel "x"@en .', 1, "ex:a"),
    ("cycle", "warning", "ex:a skos:broader ex:b . ex:b skos:broader ex:c . ex:c skos:broader ex:a .", 1, "ex:c"),
    ("cycle", "warning", "ex:a skos:broader ex:b . ex:a skos:narrower ex:b .", 1, "ex:b"),
    ("cycle", "warning", "ex:A rdfs:subClassOf ex:B, ex:A . ex:B rdfs:subClassOf ex:A .", 1, "ex:A"),
    ("cycle", "warning", "ex:a ex:partOf ex:b . ex:b ex:partOf ex:a . ex:c ex:partOf ex:a .", 1, "ex:a"),
    (
        "shape",
        "error",
        "ex:a a ex:C ; ex:p 1, 2 . GRAPH <urn:worlds:shapes> {"
        " ex:S sh:targetClass ex:C ; sh:property [ sh:path ex:p ; sh:maxCount 1 ] . }",
        1,
        None,
    ),
]


def made(data: str) -> World:
    world = worlds.open(":memory:", embedder=None)
    world.load((PREFIXES + data).encode(), format="trig", author="ann")
    return world


@pytest.mark.parametrize(("kind", "severity", "data", "count", "named"), PLANTED)
def test_a_planted_contradiction_is_found(kind: str, severity: str, data: str, count: int, named: str | None) -> None:
    with made(data) as world:
        found = world.curation.contradictions(suggested=False)
        assert found.counts == {kind: count}
        assert {one.severity for one in found} == {severity}
        for one in found:
            assert one.message
            for said in one.quads:
                assert said.added is not None
                assert (said.added.revision, said.added.author) == (1, "ann")
                assert list(world.quads(*said.quad[:3])), "every finding's quads exist"
        if named:
            told = {str(part) for one in found for said in one.quads for part in said.quad}
            assert named.replace("ex:", "http://ex/") in told


@pytest.mark.parametrize(
    ("kind", "data"), [(kind, data) for kind, severity, data, *_ in PLANTED if severity == "error"]
)
def test_what_is_contradicted_is_so_for_verify(kind: str, data: str) -> None:
    """But for what no single quad of it contradicts: circles, unions of labels, classes without instances."""
    if kind in ("labels", "shape") or "ex:E rdfs:subClassOf ex:C, ex:D" in data or "skos:related" in data:
        return
    with made(data) as world:
        claims = [said.quad[:3] for one in world.curation.contradictions(suggested=False) for said in one.quads]
        assert any(world.curation.verify(claim).contradicting for claim in claims)


@pytest.mark.parametrize(
    "data",
    [
        'ex:p a owl:FunctionalProperty . ex:a ex:p 1, "01"^^xsd:integer .',  # one value
        "ex:p a owl:FunctionalProperty . ex:a ex:p 1 . GRAPH ex:g { ex:a ex:p 1 }",  # one triple
        "ex:p rdfs:domain ex:C ; rdfs:range ex:C . ex:a ex:p ex:b .",  # nothing says what these are
        "ex:p rdfs:domain ex:C . ex:C rdfs:subClassOf ex:D . ex:a ex:p 1 ; a ex:D .",  # less exact
        "ex:p rdfs:range xsd:decimal . ex:a ex:p 1 .",  # an integer is a decimal
        'ex:p rdfs:range ex:C . ex:a ex:p "x" .',  # which may be a datatype, elsewhere
        "ex:C rdfs:subClassOf ex:C .",
        "ex:C rdfs:subClassOf [ owl:onProperty ex:p ; owl:minCardinality 1 ] . ex:a a ex:C .",  # only missing
        'ex:a ex:p "-0044-03-15"^^xsd:date, " 7 "^^xsd:integer, "1e3"^^xsd:double, "P1Y"^^xsd:duration .',
        "GRAPH <urn:worlds:shapes> { ex:p a owl:FunctionalProperty . ex:a ex:p 1, 2 }",
    ],
)
def test_what_is_no_contradiction(data: str) -> None:
    with made(data) as world:
        assert [str(one) for one in world.curation.contradictions() if one.kind != "shape"] == []


SCHEMA = """
ex:Person owl:disjointWith ex:Org . ex:Boss rdfs:subClassOf ex:Person .
ex:born a owl:FunctionalProperty ; rdfs:domain ex:Person ; rdfs:range xsd:date .
ex:mail a owl:InverseFunctionalProperty . ex:works rdfs:range ex:Org ; rdfs:domain ex:Person .
ex:leads a owl:AsymmetricProperty, owl:IrreflexiveProperty ; rdfs:subPropertyOf ex:knows .
ex:Boss rdfs:subClassOf [ owl:onProperty ex:leads ; owl:maxCardinality 3 ] .
"""


@given(st.integers(0, 10**9))
def test_random_clean_data_have_none(seed: int) -> None:
    draw = random.Random(seed)
    lines = [SCHEMA]
    size = draw.randint(1, 30)
    for number in range(size):
        kind = draw.choice(["Person", "Boss"])
        lines.append(f'ex:p{number} a ex:{kind} ; ex:mail "{number}@ex" ; ex:works ex:o{draw.randint(0, 3)} .')
        if draw.random() < 0.8:
            lines.append(f'ex:p{number} ex:born "19{draw.randint(10, 99)}-0{draw.randint(1, 9)}-11"^^xsd:date .')
        for other in draw.sample(range(number), min(number, draw.randint(0, 3))):
            lines.append(f"ex:p{number} ex:leads ex:p{other} .")
    lines += [f"ex:o{number} a ex:Org ; ex:partOf ex:o{number + 1} ." for number in range(4)]
    with made("\n".join(lines)) as world:
        assert world.curation.contradictions(suggested=False).counts == {}


def people(size: int = 40) -> list[str]:
    return [
        f'ex:p{n} a ex:Person ; ex:age {20 + n % 50} ; ex:code "AB-{100 + n}" ; ex:born "{1930 + n}-01-02"^^xsd:date ;'
        f' ex:died "{1990 + n}-05-06"^^xsd:date ; ex:home ex:c{n % 4} . ex:c{n % 4} a ex:City .'
        for n in range(size)
    ]


@pytest.mark.parametrize(
    ("kind", "data", "subject"),
    [
        ("nearly functional", 'ex:p3 ex:born "1933-01-03"^^xsd:date .', "p3"),
        ("outlier", "ex:x a ex:Person ; ex:age 999 .", "x"),
        ("outlier", 'ex:x ex:born "0193-01-02"^^xsd:date .', "x"),
        ("odd kind", 'ex:x ex:age "old" .', "x"),
        ("odd type", "ex:x ex:home ex:p2 .", "p2"),
        ("odd form", 'ex:x ex:code "seven" .', "x"),
        ("impossible dates", 'ex:x ex:born "1970-01-01"^^xsd:date ; ex:died "1960"^^xsd:gYear .', "x"),
    ],
)
def test_what_the_data_suggest(kind: str, data: str, subject: str) -> None:
    with made("\n".join(people())) as world:
        assert world.curation.contradictions().counts == {}
        world.load((PREFIXES + data).encode(), format="trig", author="bob", message="typed in")
        found = [one for one in world.curation.contradictions() if one.kind == kind]
        assert [str(one.subjects[0]) for one in found] == [f"http://ex/{subject}"]
        assert 0 < found[0].score <= 1
        assert "bob" in {said.added.author for said in found[0].quads if said.added}
        assert world.curation.contradictions(suggested=False).counts == {}


def test_a_year_is_no_later_than_a_day_in_it() -> None:
    with made('ex:a ex:born "1970-05-05"^^xsd:date ; ex:died "1970"^^xsd:gYear .') as world:
        assert world.curation.contradictions().counts == {}


def test_findings_are_limited_and_counted() -> None:
    lines = ["ex:p a owl:FunctionalProperty .", *(f"ex:a{number} ex:p 1, 2 ." for number in range(12))]
    with made(" ".join(lines)) as world:
        found = world.curation.contradictions(limit=5)
        assert (len(found), found.counts) == (5, {"functional": 12})
        assert len(world.curation.contradictions(limit=None)) == 12
        told: dict[str, Any] = found[0].to_dict()
        assert told["quads"][0]["author"] == "ann"
        assert found[:2].counts == {"functional": 2}
        assert "has 2 values of" in str(found)


def test_shapes_that_cannot_be_checked_are_said() -> None:
    data = "ex:a ex:p 1 . GRAPH <urn:worlds:shapes> { ex:S sh:targetNode ex:a ; sh:unheardOf 1 . ex:S a sh:NodeShape }"
    with made(data) as world:
        (found,) = world.curation.contradictions()
        assert "cannot be checked" in found.message


def test_findings_of_a_kind_an_author_and_an_entity() -> None:
    """Each filter gives what is left of all findings, counted and limited after it."""
    data = """
        ex:p a owl:FunctionalProperty . ex:C owl:disjointWith ex:D . ex:x a ex:C, ex:D .
        GRAPH <urn:worlds:shapes> { ex:S sh:targetNode ex:x ; sh:property [ sh:path ex:q ; sh:minCount 1 ] }
    """
    with made(data) as world:
        world.bind("ex", "http://ex/")
        world.add([(f"ex:a{number}", "ex:p", number) for number in range(4)], author="bob")
        world.add([(f"ex:a{number}", "ex:p", 9) for number in range(3)], author="eve")
        everything = world.curation.contradictions(limit=None)
        assert everything.counts == {"functional": 3, "disjoint classes": 1, "shape": 1}

        def told(found: Any) -> list[str]:
            return [one.message for one in found]

        for kind in everything.counts:
            assert told(world.curation.contradictions(kinds=kind)) == told(
                one for one in everything if one.kind == kind
            )
        assert world.curation.contradictions(kinds=["shape", "cycle"]).counts == {"shape": 1}
        assert world.curation.contradictions(author="eve").counts == {"functional": 3}
        assert world.curation.contradictions(author="ann").counts == {"disjoint classes": 1}
        assert world.curation.contradictions(author="nobody").counts == {}
        assert world.curation.contradictions(author="eve", limit=1).counts == {"functional": 3}
        assert len(world.curation.contradictions(author="eve", limit=1)) == 1
        for entity in ("ex:x", "ex:a1", "ex:unknown"):
            about = [one for one in everything if any(str(part) == f"http://ex/{entity[3:]}" for part in one.subjects)]
            assert told(world.curation.contradictions(entity=entity)) == told(about)
        with pytest.raises(ArgumentError, match="no kind 'functionl' of contradictions; the kinds are functional, ov"):
            world.curation.contradictions(kinds=["functionl"])


def test_the_kinds_are_those_that_are_documented() -> None:
    assert {kind for kind, *_ in PLANTED} <= set(CONTRADICTIONS)
    rows = re.findall(r"(?m)^\| ([a-z][a-z, -]+) \| .* \|$", (DOCS / "findings.md").read_text("utf-8"))
    assert {kind for row in rows for kind in row.split(", ")} == {"kind", *CONTRADICTIONS}


def local(term: object) -> str:
    return str(term).rpartition("/")[2].rpartition("#")[2]


def test_one_wrong_type_is_one_cause() -> None:
    predicates = "".join(f"ex:p{n} rdfs:domain ex:Firm . ex:q{n} rdfs:range ex:Firm . " for n in range(6))
    uses = "".join(f"ex:acme ex:p{n} {n} . ex:x{n} ex:q{n} ex:acme . " for n in range(6))
    classes = "ex:Firm a owl:Class ; owl:disjointWith ex:Person . ex:Person a owl:Class . "
    with made(classes + predicates + uses + "ex:acme a ex:Firm .") as world:
        world.remove([("ex:acme", "rdf:type", "ex:Firm")])
        number = world.add([("ex:acme", "rdf:type", "ex:Person")], author="bob").revision
        found = world.curation.contradictions()
        assert found.counts == {"domain": 6, "range": 6}
        (cause,) = found.causes
        assert cause.count == 12
        assert cause.counts == {"domain": 6, "range": 6}
        assert [tuple(map(local, quad[:3])) for quad in cause.remove] == [("acme", "type", "Person")]
        assert f"revision {number} by bob" in cause.message
        assert len(cause.findings) == 5
        assert found.to_dict()["causes"][0]["count"] == 12
        assert world.curation.contradictions(after=number).counts == {}
        assert world.curation.contradictions(after=(number or 0) - 1).counts == found.counts


def test_findings_of_a_graph() -> None:
    data = "ex:f a owl:FunctionalProperty . ex:a ex:f 1, 2 . ex:c ex:f 1 ."
    data += "GRAPH ex:g { ex:b ex:f 1, 2 } GRAPH ex:h { ex:c ex:f 2 }"
    with made(data) as world:
        names = {
            str(graphs): {local(one.subjects[0]) for one in world.curation.contradictions(graphs=graphs)}
            for graphs in ("default", "ex:g", ["ex:g", "ex:h"], "ex:nothing")
        }
        assert names == {"default": {"a", "c"}, "ex:g": {"b"}, "['ex:g', 'ex:h']": {"b", "c"}, "ex:nothing": set()}


def test_a_domain_that_is_too_narrow_is_one_cause_with_its_way_out() -> None:
    data = "ex:p rdfs:domain ex:Firm . ex:Firm a owl:Class . ex:Shop a owl:Class . "
    data += "".join(f"ex:a{n} a ex:Shop ; ex:p {n} . " for n in range(30)) + "ex:b a ex:Firm ; ex:p 1 ."
    with made(data) as world:
        found = world.curation.contradictions(suggested=False)
        assert found.counts == {"domain": 30}
        (cause,) = found.causes
        assert [tuple(map(local, quad[:3])) for quad in cause.add] == [("Shop", "subClassOf", "Firm")]
        world.add([quad[:3] for quad in cause.add])
        assert not world.curation.contradictions(suggested=False)


def test_what_is_told_once_is_not_told_again() -> None:
    both = (
        "ex:p rdfs:domain ex:A ; rdfs:range ex:A ; a owl:ObjectProperty . ex:A a owl:Class ; owl:disjointWith ex:B . "
    )
    with made(both + "ex:B a owl:Class . ex:x a ex:A, ex:B ; ex:p ex:x .") as world:
        assert world.curation.contradictions(suggested=False).counts == {
            "disjoint classes": 1
        }  # it is an instance of A
    with made(both + 'ex:y a ex:A ; ex:p "text" .') as world:
        assert world.curation.contradictions(suggested=False).counts == {"datatype": 1}
    allowed = "ex:p rdfs:domain [ owl:unionOf ( ex:A ex:C ) ] . ex:A a owl:Class . ex:C a owl:Class . "
    rows = "".join(f"ex:s{n} a ex:A ; ex:p {n} . " for n in range(60))
    with made(allowed + rows + "ex:odd a ex:C ; ex:p 1 .") as world:
        assert "odd type" not in world.curation.contradictions().counts
    with made(rows + "ex:odd a ex:C ; ex:p 1 .") as world:
        assert world.curation.contradictions().counts["odd type"] == 1
