"""Whether a claim holds: every rule, values, what is never concluded, as of every revision."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyoxigraph as ox
import pytest
import rdflib
from hypothesis import given
from hypothesis import strategies as st
from rdflib import Literal
from rdflib.namespace import XSD

import worlds
from worlds import World
from worlds.extras.curation.claims.triples import as_of, compare
from worlds.extras.entities.names import spelt
from worlds.graph.terms import to_oxigraph

EX = "http://example.org/"
PREFIXES = f"""
@prefix ex: <{EX}> . @prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> . @prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
"""


@pytest.fixture
def world() -> Iterator[World]:
    with worlds.open(embedder=None) as opened:
        for prefix, iri in {"ex": EX, "owl": "http://www.w3.org/2002/07/owl#"}.items():
            opened.bind(prefix, iri)
        yield opened


def load(world: World, turtle: str, **options: Any) -> None:
    world.load((PREFIXES + turtle).encode(), format="turtle", **options)


SUPPORTED = {
    "asserted": ("ex:a ex:p ex:b .", "asserted"),
    "in a named graph": ("", "asserted"),
    "sub-property": ("ex:q rdfs:subPropertyOf ex:r . ex:r rdfs:subPropertyOf ex:p . ex:a ex:q ex:b .", "implied"),
    "equivalent property": ("ex:p owl:equivalentProperty ex:q . ex:a ex:q ex:b .", "implied"),
    "inverse": ("ex:p owl:inverseOf ex:q . ex:b ex:q ex:a .", "implied"),
    "inverse, said the other way": ("ex:q owl:inverseOf ex:p . ex:b ex:q ex:a .", "implied"),
    "inverse of a sub-property": (
        "ex:q rdfs:subPropertyOf ex:p . ex:r owl:inverseOf ex:q . ex:b ex:r ex:a .",
        "implied",
    ),
    "symmetric": ("ex:p a owl:SymmetricProperty . ex:b ex:p ex:a .", "implied"),
    "symmetric above": ("ex:p a owl:SymmetricProperty . ex:q rdfs:subPropertyOf ex:p . ex:b ex:q ex:a .", "implied"),
    "transitive": ("ex:p a owl:TransitiveProperty . ex:a ex:p ex:m . ex:m ex:p ex:b .", "transitive"),
    "transitive below": (
        "ex:q rdfs:subPropertyOf ex:p ; a owl:TransitiveProperty . ex:a ex:q ex:m . ex:m ex:q ex:b .",
        "transitive",
    ),
    "transitive over inverses": (
        "ex:p a owl:TransitiveProperty ; owl:inverseOf ex:q . ex:m ex:q ex:a . ex:m ex:p ex:b .",
        "transitive",
    ),
}


@pytest.mark.parametrize("name", SUPPORTED)
def test_what_supports_a_claim(world: World, name: str) -> None:
    turtle, rule = SUPPORTED[name]
    if turtle:
        load(world, turtle)
    else:
        load(world, "ex:a ex:p ex:b .", graph="ex:g")
    found = world.curation.verify(("ex:a", "ex:p", "ex:b"))
    assert found.outcome == "supported", str(found)
    assert rule in [one.rule for one in found.supporting]
    every_quad_is_there(world, found)
    # Without any one of the quads that it rests on, it is not supported so.
    strongest = found.supporting[0]
    assert strongest.score == pytest.approx(1 / len(strongest.quads))
    if len(found.supporting) == 1:
        for quad in strongest.quads:
            world.remove([quad[:4] if quad.graph is not None else quad[:3]])
            assert world.curation.verify(("ex:a", "ex:p", "ex:b")).outcome == "unknown"
            world.undo(world.history(1)[0].revision)


@pytest.mark.parametrize(
    "turtle",
    [
        "ex:a a ex:C .",
        "ex:a a ex:B . ex:B rdfs:subClassOf ex:D . ex:D owl:equivalentClass ex:C .",
        "ex:a ex:p ex:b . ex:p rdfs:domain ex:C .",
        "ex:b ex:q ex:a . ex:q rdfs:subPropertyOf ex:p . ex:p rdfs:range ex:C .",
        "ex:a ex:q ex:b . ex:q owl:inverseOf ex:p . ex:p rdfs:range ex:C .",
        "ex:a a ex:B . ex:C owl:unionOf ( ex:E ex:B ) .",
        "ex:a a ex:B . ex:B owl:intersectionOf ( ex:E ex:C ) .",
    ],
)
def test_what_makes_an_instance(world: World, turtle: str) -> None:
    load(world, turtle)
    found = world.curation.verify(("ex:a", "rdf:type", "ex:C"))
    assert found.outcome == "supported", str(found)
    every_quad_is_there(world, found)


CONTRADICTED = {
    "functional": ("ex:p a owl:FunctionalProperty . ex:a ex:p ex:c .", "functional"),
    "functional above": (
        "ex:q a owl:FunctionalProperty . ex:p rdfs:subPropertyOf ex:q . ex:a ex:q ex:c .",
        "functional",
    ),
    "functional, by a sub-property": (
        "ex:p a owl:FunctionalProperty . ex:q rdfs:subPropertyOf ex:p . ex:a ex:q ex:c .",
        "functional",
    ),
    "inverse of an inverse functional one": (
        "ex:q a owl:InverseFunctionalProperty ; owl:inverseOf ex:p . ex:c ex:q ex:a .",
        "functional",
    ),
    "inverse functional": ("ex:p a owl:InverseFunctionalProperty . ex:c ex:p ex:b .", "inverse functional"),
    "inverse of a functional one": (
        "ex:q a owl:FunctionalProperty ; owl:inverseOf ex:p . ex:b ex:q ex:c .",
        "inverse functional",
    ),
    "asymmetric": ("ex:p a owl:AsymmetricProperty . ex:b ex:p ex:a .", "asymmetric"),
    "disjoint properties": ("ex:p owl:propertyDisjointWith ex:q . ex:a ex:q ex:b .", "disjoint properties"),
    "all disjoint properties": (
        "[] a owl:AllDisjointProperties ; owl:members ( ex:x ex:q ex:p ) . ex:a ex:q ex:b .",
        "disjoint properties",
    ),
    "domain": ("ex:p rdfs:domain ex:C . ex:C owl:disjointWith ex:D . ex:a a ex:D .", "domain"),
    "range": ("ex:p rdfs:range ex:C . ex:E rdfs:subClassOf ex:D . ex:D owl:disjointWith ex:C . ex:b a ex:E .", "range"),
    "range that is a datatype": ("ex:p rdfs:range xsd:integer . ex:b a ex:B .", "range"),
    "datatype property": ("ex:p a owl:DatatypeProperty .", "range"),
    "all values from": (
        "ex:a a [ a owl:Restriction ; owl:onProperty ex:p ; owl:allValuesFrom ex:C ] . "
        "[] a owl:AllDisjointClasses ; owl:members ( ex:C ex:D ) . ex:b a ex:D .",
        "range",
    ),
    "cardinality": (
        "ex:a a ex:C ; ex:p ex:c . ex:C rdfs:subClassOf [ owl:onProperty ex:p ; owl:maxCardinality 1 ] .",
        "cardinality",
    ),
    "cardinality of two": (
        "ex:a a ex:C ; ex:p ex:c , ex:d . ex:C rdfs:subClassOf [ owl:onProperty ex:p ; owl:cardinality 2 ] .",
        "cardinality",
    ),
    "negative assertion": (
        "[] a owl:NegativePropertyAssertion ; owl:sourceIndividual ex:a ; owl:assertionProperty ex:p ; "
        "owl:targetIndividual ex:b .",
        "negative assertion",
    ),
}


@pytest.mark.parametrize("name", CONTRADICTED)
def test_what_contradicts_a_claim(world: World, name: str) -> None:
    turtle, rule = CONTRADICTED[name]
    load(world, turtle)
    found = world.curation.verify(("ex:a", "ex:p", "ex:b"))
    assert found.outcome == "contradicted", str(found)
    assert rule in [one.rule for one in found.contradicting]
    every_quad_is_there(world, found)
    # Without any one of the quads that it rests on, it is not: absence contradicts nothing.
    for quad in found.contradicting[0].quads:
        world.remove([quad[:4] if quad.graph is not None else quad[:3]])
        assert len(world.curation.verify(("ex:a", "ex:p", "ex:b")).contradicting) < len(found.contradicting)
        world.undo(world.history(1)[0].revision)


@pytest.mark.parametrize(
    ("turtle", "claim", "outcome"),
    [
        ("ex:p a owl:IrreflexiveProperty .", ("ex:a", "ex:p", "ex:a"), "contradicted"),
        ("ex:p a owl:AsymmetricProperty .", ("ex:new", "ex:p", "ex:new"), "contradicted"),
        ("ex:C owl:disjointWith ex:D . ex:a a ex:D .", ("ex:a", "rdf:type", "ex:C"), "contradicted"),
        ("ex:C owl:complementOf ex:D . ex:a a ex:D .", ("ex:a", "rdf:type", "ex:C"), "contradicted"),
        ("ex:U owl:disjointUnionOf ( ex:C ex:D ) . ex:a a ex:D .", ("ex:a", "rdf:type", "ex:C"), "contradicted"),
        ("ex:a a ex:D .", ("ex:a", "rdf:type", "ex:C"), "unknown"),
        ("ex:a owl:differentFrom ex:b .", ("ex:b", "owl:sameAs", "ex:a"), "contradicted"),
        ("[] a owl:AllDifferent ; owl:distinctMembers ( ex:a ex:b ) .", ("ex:b", "owl:sameAs", "ex:a"), "contradicted"),
        ("ex:a owl:sameAs ex:c . ex:b owl:sameAs ex:c .", ("ex:a", "owl:sameAs", "ex:b"), "supported"),
        ("ex:a owl:sameAs ex:c . ex:b owl:sameAs ex:c .", ("ex:a", "owl:differentFrom", "ex:b"), "contradicted"),
        ("ex:a a ex:C . ex:b a ex:D . ex:C owl:disjointWith ex:D .", ("ex:a", "owl:sameAs", "ex:b"), "contradicted"),
        # Two names are one thing where they are said to be.
        (
            "ex:p a owl:FunctionalProperty . ex:a ex:p ex:c . ex:c owl:sameAs ex:b .",
            ("ex:a", "ex:p", "ex:b"),
            "unknown",
        ),
        ("ex:p a owl:FunctionalProperty . ex:a ex:p [] .", ("ex:a", "ex:p", "ex:b"), "unknown"),
        (
            "ex:a a skos:Concept .",
            ("ex:a", "rdf:type", "http://www.w3.org/2004/02/skos/core#ConceptScheme"),
            "contradicted",
        ),
        ("ex:a skos:broader ex:b .", ("ex:b", "http://www.w3.org/2004/02/skos/core#narrower", "ex:a"), "supported"),
        # What is said and contradicted is not decided.
        ("ex:p a owl:FunctionalProperty . ex:a ex:p ex:b , ex:c .", ("ex:a", "ex:p", "ex:b"), "unknown"),
        ("ex:p rdfs:range ex:C .", ("ex:a", "ex:p", "a text"), "contradicted"),
        ("ex:p a owl:ObjectProperty .", ("ex:a", "ex:p", "a text"), "contradicted"),
    ],
)
def test_other_outcomes(world: World, turtle: str, claim: tuple[str, str, str], outcome: str) -> None:
    load(world, turtle)
    given = (*claim[:2], Literal(claim[2])) if " " in claim[2] else claim
    found = world.curation.verify(given)
    assert found.outcome == outcome, str(found)
    every_quad_is_there(world, found)


@pytest.mark.parametrize(
    ("known", "claimed", "outcome"),
    [
        ('"01"^^xsd:integer', Literal("1", datatype=XSD.integer), "supported"),
        ('"1"^^xsd:int', Literal("1.0", datatype=XSD.decimal), "supported"),
        ('"1e0"^^xsd:double', Literal("1", datatype=XSD.integer), "supported"),
        ('"1"^^xsd:integer', Literal("2", datatype=XSD.integer), "contradicted"),
        ('"1e999999999"^^xsd:double', Literal("2", datatype=XSD.integer), "contradicted"),
        ('"true"^^xsd:boolean', Literal("1", datatype=XSD.boolean), "supported"),
        ('"1969-07-20"^^xsd:date', Literal("1969-07-21", datatype=XSD.date), "contradicted"),
        ('"1969"^^xsd:gYear', Literal("1969-07-21", datatype=XSD.date), "unknown"),
        ('"1969"^^xsd:gYear', Literal("1970-07-21", datatype=XSD.date), "contradicted"),
        (
            '"1969-07-20T02:00:00+02:00"^^xsd:dateTime',
            Literal("1969-07-20T00:00:00Z", datatype=XSD.dateTime),
            "supported",
        ),
        ('"1969-07-20T02:00:00"^^xsd:dateTime', Literal("1969-07-20T00:00:00Z", datatype=XSD.dateTime), "unknown"),
        ('"1969"^^xsd:gYear', Literal("1969"), "unknown"),
        ('"1969"', Literal("1970"), "contradicted"),
        ('"one"@en', Literal("one", lang="de"), "contradicted"),
        ('"one"@en', Literal("two", lang="en"), "contradicted"),
        ('"x"^^ex:unknown', Literal("y", datatype=rdflib.URIRef(EX + "unknown")), "unknown"),
        ('"01x"^^xsd:integer', Literal("1", datatype=XSD.integer), "unknown"),
        ("ex:b", Literal("b"), "contradicted"),
    ],
)
def test_values_are_compared_as_values(world: World, known: str, claimed: Literal, outcome: str) -> None:
    load(world, f"ex:p a owl:FunctionalProperty . ex:a ex:p {known} .")
    given = (
        ox.Literal(str(claimed), language=claimed.language)
        if claimed.language
        else ox.Literal(str(claimed), datatype=ox.NamedNode(str(claimed.datatype or XSD.string)))
    )
    assert world.curation.verify(("ex:a", "ex:p", given)).outcome == outcome


def test_ill_typed_and_mistyped_values(world: World) -> None:
    load(world, "ex:p rdfs:range xsd:decimal .")
    assert world.curation.verify(("ex:a", "ex:p", 3)).outcome == "unknown"
    assert world.curation.verify(("ex:a", "ex:p", Literal("x"))).outcome == "contradicted"
    bad = ox.Literal("2020-02-30", datatype=ox.NamedNode(str(XSD.date)))
    found = world.curation.verify(("ex:a", "ex:q", bad))
    assert (found.outcome, found.contradicting[0].rule) == ("contradicted", "ill-typed literal")


@pytest.mark.parametrize(
    ("shape", "outcome"),
    [
        ("sh:maxCount 1", "contradicted"),
        ("sh:maxCount 2", "unknown"),
        ("sh:in ( ex:c ex:d )", "contradicted"),
        ("sh:in ( ex:b ex:d )", "unknown"),
        ("sh:datatype xsd:string", "contradicted"),
        ("sh:nodeKind sh:Literal", "contradicted"),
        ("sh:nodeKind sh:BlankNodeOrIRI", "unknown"),
        ("sh:maxCount 1 ; sh:severity sh:Warning", "unknown"),
        ("sh:maxCount 1 ; sh:deactivated true", "unknown"),
        ("sh:minCount 5", "unknown"),
    ],
)
def test_the_worlds_shapes_are_rules(world: World, shape: str, outcome: str) -> None:
    load(world, "ex:a a ex:D ; ex:p ex:c . ex:D rdfs:subClassOf ex:C .")
    shapes = f"ex:S a sh:NodeShape ; sh:targetClass ex:C ; sh:property [ sh:path ex:p ; {shape} ] ."
    load(world, shapes, graph="urn:worlds:shapes")
    found = world.curation.verify(("ex:a", "ex:p", "ex:b"))
    assert found.outcome == outcome, str(found)
    assert world.curation.verify(("ex:other", "ex:p", "ex:b")).outcome == "unknown"


def test_a_verification_has_all_that_was_looked_at(world: World) -> None:
    load(world, "ex:p a owl:FunctionalProperty . ex:a ex:p 1 ; ex:q ex:m . ex:m ex:q ex:b .")
    world.add([("ex:a", "ex:p", 2, "ex:other")], author="ann")
    found = world.curation.verify(("ex:a", "ex:p", 3))
    assert found.outcome == "contradicted"
    assert {quad.revision for one in found.contradicting for quad in one.quads} == {1, 2}
    assert {str(quad.graph) for one in found.contradicting for quad in one.quads} == {"None", EX + "other"}
    far = world.curation.verify(("ex:a", "ex:r", "ex:b"))
    assert (far.outcome, far.paths) == ("unknown", ())  # no triple is said with ex:r, which the world does not know
    joined = world.curation.verify(("ex:a", "ex:p", "ex:b"))
    assert joined.outcome == "contradicted"
    world.add([("ex:z", "ex:r", "ex:z")])
    paths = world.curation.verify(("ex:a", "ex:r", "ex:b")).paths
    assert [[str(quad.object) for quad in path] for path in paths] == [[EX + "m", EX + "b"]]
    told = joined.to_dict()
    assert told["outcome"] == "contradicted"
    assert joined.to_dicts()[0]["verdict"] == "contradicts"
    assert set(joined.cited).isdisjoint(joined.visited)


def test_what_was_retracted_is_told_and_contradicts_nothing(world: World) -> None:
    world.add([("ex:a", "ex:p", "ex:b")])
    world.remove([("ex:a", "ex:p", "ex:b")])
    found = world.curation.verify(("ex:a", "ex:p", "ex:b"))
    assert found.outcome == "unknown"
    assert "it was added in revision 1 and removed in revision 2" in found.undecided
    assert world.curation.verify(("ex:a", "ex:p", "ex:b"), at=1).outcome == "supported"


def test_a_claim_is_verified_as_it_was_after_later_writes(world: World) -> None:
    load(world, CONTRADICTED["range"][0] + 'ex:b rdfs:label "B" . ex:a ex:p ex:c , ex:d . _:x ex:p "a\\u0000b" .')
    claim = ("ex:a", "ex:p", "ex:b")
    before = world.curation.verify(claim)
    world.remove([("ex:b", "rdf:type", "ex:E"), ("ex:a", "ex:p", "ex:d")])
    world.add([claim])
    world.update("DELETE WHERE { ?s <http://www.w3.org/2000/01/rdf-schema#subClassOf> ?o }")
    assert world.curation.verify(claim).outcome == "supported"
    assert world.curation.verify(claim, at=before.revision) == before
    assert world.curation.verify(before.triples[0], at=before.revision).outcome == before.outcome


def test_claims_in_words(world: World) -> None:
    load(world, 'ex:a rdfs:label "Curiosity" ; ex:operatedBy ex:n . ex:n rdfs:label "NASA" . ex:m rdfs:label "Mars" .')
    alone = world.curation.verify("Curiosity is operated by NASA")
    assert alone.outcome == "unknown"
    assert alone.passages
    assert alone.undecided

    asked: list[str] = []

    def extract(words: str) -> list[tuple[str, str, str]]:
        asked.append(words)
        return [("Curiosity", "operated by", "NASA")]

    found = world.curation.verify("Curiosity is operated by NASA", extract=extract)
    assert asked == ["Curiosity is operated by NASA"]
    assert found.outcome == "supported"
    assert found.triples == ((rdflib.URIRef(EX + "a"), rdflib.URIRef(EX + "operatedBy"), rdflib.URIRef(EX + "n")),)
    assert len(found.readings) == 3
    camel = world.curation.verify("x", extract=lambda _: [("ex:a", "operatedBy", "ex:n")])
    assert not [one for one in camel.unread if "operatedBy" in one]
    nobody = world.curation.verify("x", extract=lambda _: [("Nobody at all", "operated by", "NASA")])
    assert (nobody.outcome, len(nobody.unread)) == ("unknown", 1)
    two = world.curation.verify(
        "x", extract=lambda _: [("ex:a", "ex:operatedBy", "ex:n"), ("ex:a", "ex:operatedBy", "ex:m")]
    )
    assert (two.outcome, two.outcomes) == ("unknown", ("supported", "unknown"))
    assert world.curation.verify("x", extract=lambda _: []).outcome == "unknown"


ANYTHING = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.sampled_from(["ex:a", "ex:p", "ex:b"])
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(), inner, max_size=2)),
    max_leaves=12,
)
ODD: list[object] = [
    *([("a", "ex:p", [2020])], [("ex:a", "ex:p", {"a": 1})], [(None, None, None)], [("a", "b")], ["a triple"]),
    *(None, "a triple", 5, [b"a triple"]),
]


@pytest.mark.parametrize("answer", ODD, ids=repr)
def test_what_a_model_gives_that_is_no_triple_is_unread(world: World, answer: Any) -> None:
    load(world, 'ex:a rdfs:label "a" ; ex:p ex:b .')
    found = world.curation.verify("words", extract=lambda _: answer)
    assert (found.outcome, len(found.unread)) == ("unknown", 1)
    if isinstance(answer, list):
        more = world.curation.verify("words", extract=lambda _: [*answer, ("ex:a", "ex:p", "ex:b")])
        assert (more.outcome, more.outcomes, more.unread) == ("unknown", ("supported",), found.unread)


@given(answer=ANYTHING | st.lists(st.tuples(ANYTHING, ANYTHING, ANYTHING), max_size=2))
def test_a_model_may_answer_with_any_json(answer: Any) -> None:
    with worlds.open(embedder=None) as world:
        load(world, "ex:a ex:p ex:b .")
        found = world.curation.verify("words", extract=lambda _: answer)
        assert found.outcome != "supported" or answer


def test_what_is_no_claim_is_refused(world: World) -> None:
    with pytest.raises(TypeError):
        world.curation.verify(3)
    with pytest.raises(ValueError, match="subject"):
        world.curation.verify(("ex:a", "ex:p"))
    with pytest.raises(ValueError, match="prefix"):
        world.curation.verify(("ex:a", "nope:p", "ex:b"))
    with pytest.raises(ValueError, match="triple"):
        world.curation.verify((Literal("a"), "ex:p", "ex:b"))
    with pytest.raises(ValueError, match="revision"):
        world.curation.verify(("ex:a", "ex:p", "ex:b"), at=99)


def test_the_redirects_of_merges_are_followed(world: World) -> None:
    load(world, 'ex:p a owl:FunctionalProperty . ex:a ex:p ex:b . ex:old ex:q ex:c . ex:a rdfs:label "A" .')
    before = world.curation.verify(("ex:old", "ex:p", "ex:b"))
    world.curation.merge("ex:a", "ex:old")
    found = world.curation.verify(("ex:old", "ex:p", "ex:b"))
    assert (found.outcome, found.supporting[0].score) == ("supported", 0.5)
    assert found.supporting[0].quads[1].subject == rdflib.URIRef(EX + "old")
    assert world.curation.verify(("ex:old", "ex:p", "ex:c")).outcome == "contradicted"
    assert world.curation.verify(("ex:old", "owl:sameAs", "ex:a")).outcome == "supported"
    assert before.outcome == "unknown"
    assert world.curation.verify(("ex:old", "ex:p", "ex:b"), at=before.revision) == before


def test_a_transaction_sees_its_own_writes(world: World) -> None:
    with world.transaction():
        world.add([("ex:a", "ex:p", "ex:b")])
        assert world.curation.verify(("ex:a", "ex:p", "ex:b")).outcome == "supported"


names = st.sampled_from([f"ex:{letter}" for letter in "abcd"])
triples = st.tuples(names, st.sampled_from(["ex:p", "ex:q", "rdf:type"]), names)


@given(st.lists(triples, max_size=15), triples)
def test_absence_contradicts_nothing(data: list[tuple[str, str, str]], claim: tuple[str, str, str]) -> None:
    with worlds.open(embedder=None) as world:
        world.bind("ex", EX)
        world.add(data)
        assert world.curation.verify(claim).outcome == ("supported" if claim in data else "unknown")


DECLARED = (
    ("ex:p", "rdf:type", "owl:TransitiveProperty"),
    ("ex:p", "rdf:type", "owl:SymmetricProperty"),
    ("ex:p", "owl:inverseOf", "ex:q"),
    ("ex:q", "rdfs:subPropertyOf", "ex:p"),
    ("ex:q", "rdfs:domain", "ex:b"),
    ("ex:b", "rdfs:subClassOf", "ex:c"),
)


def closure(data: set[tuple[str, str, str]]) -> set[tuple[str, str, str]]:
    """All that follows, by rules that are applied until nothing is new."""
    found = set(data)
    while True:
        new: set[tuple[str, str, str]] = set()
        for s, p, o in found:
            for a, rule, b in found:
                if rule == "rdfs:subPropertyOf" and a == p:
                    new.add((s, b, o))
                if rule == "owl:inverseOf" and p in (a, b):
                    new.add((o, b if p == a else a, s))
                if rule == "rdf:type" and a == p and b == "owl:SymmetricProperty":
                    new.add((o, p, s))
                if rule == "rdfs:domain" and a == p:
                    new.add((s, "rdf:type", b))
                if rule == "rdfs:subClassOf" and p == "rdf:type" and o == a:
                    new.add((s, p, b))
            if (p, "rdf:type", "owl:TransitiveProperty") in found:
                new |= {(s, p, c) for a, b, c in found if a == o and b == p}
        if new <= found:
            return found
        found |= new


@given(st.lists(triples, max_size=8), st.sets(st.sampled_from(DECLARED)), triples)
def test_support_is_that_of_an_oracle(
    data: list[tuple[str, str, str]], declared: set[tuple[str, str, str]], claim: tuple[str, str, str]
) -> None:
    with worlds.open(embedder=None) as world:
        world.bind("ex", EX)
        world.bind("owl", "http://www.w3.org/2002/07/owl#")
        world.add([*data, *declared])
        follows = claim in closure({*data, *declared})
        assert world.curation.verify(claim).outcome == ("supported" if follows else "unknown")


@given(st.lists(st.tuples(st.booleans(), triples), min_size=1, max_size=12), triples, st.data())
def test_every_revision_is_verified_as_it_was(
    writes: list[tuple[bool, tuple[str, str, str]]], claim: tuple[str, str, str], data: st.DataObject
) -> None:
    with worlds.open(embedder=None) as world:
        world.bind("ex", EX)
        world.bind("owl", "http://www.w3.org/2002/07/owl#")
        world.add([("ex:p", "rdf:type", "owl:FunctionalProperty"), ("ex:q", "rdfs:subPropertyOf", "ex:p")])
        seen = [world.curation.verify(claim)]
        for adds, triple in writes:
            (world.add if adds else world.remove)([triple])
            seen.append(world.curation.verify(claim))
        for found in seen:
            assert world.curation.verify(claim, at=found.revision) == found


def every_quad_is_there(world: World, found: Any) -> None:
    quads = set(world.quads())
    for quad in (*found.cited, *found.visited):
        assert quad[:4] in quads
        assert 1 <= quad.revision <= found.revision


NAMES = b"""
@prefix ex: <http://example.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
ex:supplier rdfs:label "supplier" ; rdfs:range ex:Company . ex:weight rdfs:label "weight" .
ex:acme a ex:Company ; rdfs:label "Acme Tools" . ex:bolt rdfs:label "Bolt" ; ex:supplier ex:acme ; ex:weight 14 .
"""


def test_a_name_of_nothing_contradicts_nothing() -> None:
    with worlds.open(embedder=None) as world:
        world.load(NAMES, format="turtle")
        found = world.curation.verify(
            "the supplier of Bolt is Zorblax", extract=lambda _: [("Bolt", "supplier", "Zorblax")]
        )
        assert (found.outcome, found.contradicting) == ("unknown", ())
        assert found.unread == ("'Zorblax' is the name of no entity",)
        text = world.curation.verify("it is heavy", extract=lambda _: [("Bolt", "weight", "heavy")])
        assert (text.outcome, text.contradicting) == ("unknown", ())
        assert text.unread == ("'heavy' is no integer, as <http://example.org/weight> has them",)


PEOPLE = """
ex:amount rdfs:label "amount" ; rdfs:range xsd:decimal . ex:email rdfs:label "email" ; rdfs:range xsd:string .
ex:boss rdfs:label "boss" . ex:motto rdfs:label "motto" . ex:count rdfs:label "count" .
ex:ann rdfs:label "Ánn Able" ; skos:altLabel "A. Able" ; ex:boss ex:bob ; ex:email "ann@x.org" ; ex:amount 1162.32 ;
  ex:motto "Onwards"@en, "Weiter"@de ; ex:count "20" .
ex:price rdfs:label "1162.32 EUR" . ex:bob rdfs:label "Bob  Brown" ; ex:email "Bob Brown" ; ex:boss "nobody" .
"""


@pytest.mark.parametrize(
    ("claim", "outcome"),
    [
        (("ann  ABLE", "boss", "bob brown"), "supported"),
        (("A. Able", "boss", "Bob Brown"), "supported"),
        (("Ann Ables", "boss", "Bob Brown"), "unknown"),
        (("Ann", "boss", "Bob Brown"), "unknown"),
        (("Ann Able", "boss", "Bob Browne"), "unknown"),
        (("Dr. Ann Able", "boss", "Bob Brown"), "unknown"),
        (("Bob Brown", "boss", "nobody"), "supported"),
        (("Bob Brown", "email", "Bob Brown"), "supported"),
        (("Ann Able", "email", "ann@x.org"), "supported"),
        (("Ann Able", "amount", 1162.32), "supported"),
        (("Ann Able", "amount", "1162.32"), "supported"),
        (("Ann Able", "amount", '"1162.320"'), "supported"),
        (("Ann Able", "amount", "1.16232e3"), "unknown"),
        (("Ann Able", "amount", "1,162.32"), "unknown"),
        (("Ann Able", "amount", "1.162,32"), "unknown"),
        (("Ann Able", "motto", "Weiter"), "supported"),
        (("Ann Able", "count", 20.0), "supported"),
        (("Ann Able", "count", "21"), "unknown"),
    ],
)
def test_words_are_read_as_the_predicate_has_them(claim: tuple[str, str, Any], outcome: str) -> None:
    with worlds.open(embedder=None) as world:
        load(world, PEOPLE)
        found = world.curation.verify(claim)
        assert found.outcome == outcome, found
        assert not found.contradicting
        assert found.unread or found.triples


@pytest.mark.parametrize(
    ("value", "claimed", "outcome"),
    [
        ('"1990-05-01"^^xsd:date', 1990, "unknown"),  # a year may be that of the day
        ('"1990-05-01"^^xsd:date', "1990", "unknown"),
        ('"1990-05-01"^^xsd:date', "1 May 1990", "supported"),
        ('"1990-05-01"^^xsd:date', "2 May 1990", "contradicted"),
        ('"1990-05-01"^^xsd:date', "http://www.w3.org/2001/XMLSchema#date", "contradicted"),
        ('"1990-05-01"^^xsd:date', '"1990-05-01"^^<http://www.w3.org/2001/XMLSchema#dateTime>', "contradicted"),
        ('"1990-05-01"^^xsd:date', Literal("1990-05-01", datatype=XSD.integer, normalize=False), "contradicted"),
        ('"1990-05-01"^^xsd:date', Literal("1990-05-01", datatype=XSD.string), "contradicted"),
        ('"1990-05-01"', '"1990-05-01"^^<http://www.w3.org/2001/XMLSchema#date>', "contradicted"),
        ("true", 1, "unknown"),
        ("true", "1", "unknown"),
        ("true", True, "supported"),
        ("true", "Yes", "supported"),
        ("true", "no", "contradicted"),
        ("5", 5.0, "supported"),
        ("5", 5.5, "contradicted"),
        ("5", True, "unknown"),
        ("1200", "1,200", "unknown"),
        ("1.2", "1,200", "unknown"),
    ],
)
def test_values_are_read_as_the_one_that_is_there(value: str, claimed: Any, outcome: str) -> None:
    with worlds.open(embedder=None) as world:
        load(world, f"ex:a ex:p {value} . ex:p a owl:FunctionalProperty .")
        ((_, _, held, _),) = world.quads(f"{EX}a", f"{EX}p", None)
        load(world, f"ex:p rdfs:range <{held.datatype or XSD.string}> .")
        assert world.curation.verify((f"{EX}a", f"{EX}p", claimed)).outcome == outcome


@pytest.mark.parametrize("range_", ["rdfs:Literal", "rdf:langString", "rdf:PlainLiteral", "xsd:anySimpleType"])
@pytest.mark.parametrize("value", ["tea", 5, True, '"tea"@en'])
def test_ranges_of_many_datatypes_are_read_as_they_are_told(range_: str, value: Any) -> None:
    with worlds.open(embedder=None) as world:
        load(world, f"ex:a rdfs:label 'Anne' . ex:p rdfs:label 'likes' ; rdfs:range {range_} .")
        (fact,) = world.facts.tell([("Anne", "likes", value)]).facts
        assert fact.became == ("written" if world.count(f"{EX}a", f"{EX}p") else "proposed")
        assert world.curation.verify((f"{EX}a", f"{EX}p", value)).outcome == (
            "supported" if fact.became == "written" else "unknown"
        )


def test_a_near_name_is_asked_after() -> None:
    with worlds.open(embedder=None) as world:
        load(world, PEOPLE)
        (told,) = world.curation.verify(("Ann Ables", "boss", "Bob Brown")).unread
        assert told.startswith("'Ann Ables' is the name of no entity: did you mean Ánn Able <http://example.org/ann>")
        (told,) = world.curation.verify(("Ann Able", "amount", "1.162,32")).unread
        assert told == "'1.162,32' is no decimal, as <http://example.org/amount> has them"


def test_a_name_is_a_label_before_it_is_an_identifier() -> None:
    with worlds.open(embedder=None) as world:
        for at, name in enumerate(["1", "G", "11", "11", "11"]):  # as many numbers, each once: they identify
            world.add([(f"{EX}c{at}", "rdfs:label", f'"{name}"'), (f"{EX}c{at}", f"{EX}mayor", f'"{at}"')])
        assert world.curation.verify(("1", "mayor", "0")).outcome == "supported"
        assert world.curation.verify(("4", "label", "11")).outcome == "supported"


SIBLINGS = st.lists(
    st.text("Rome ,oGé-1'", min_size=1, max_size=7).filter(lambda name: any(map(str.isalnum, name))),
    min_size=2,
    max_size=7,
)


@given(SIBLINGS, st.data())
def test_no_claim_is_supported_by_a_name_that_is_another(names: list[str], data: st.DataObject) -> None:
    with worlds.open(embedder=None) as world:
        label = ox.NamedNode("http://www.w3.org/2000/01/rdf-schema#label")
        said = ox.NamedNode(EX + "mayor")
        for at, name in enumerate(names):
            node = ox.NamedNode(f"{EX}c{at}")
            world.add([ox.Quad(node, label, ox.Literal(name)), ox.Quad(node, said, ox.Literal(str(at)))])
        asked, at = data.draw(st.sampled_from([*names, "Rome", "Rom"])), data.draw(st.integers(0, len(names) - 1))
        bearers = {number for number, name in enumerate(names) if spelt(name) == spelt(asked)}
        found = world.curation.verify((asked, "mayor", str(at)))
        assert (found.outcome == "supported") == (bearers == {at}), found


@given(
    st.one_of(st.integers(-(10**30), 10**30), st.floats(), st.decimals(allow_nan=False, allow_infinity=False)),
    st.sampled_from(["integer", "decimal", "double", "int", "string", "gYear"]),
)
def test_a_number_of_another_datatype_has_the_same_value(number: Any, name: str) -> None:
    term = to_oxigraph(Literal(number))
    assert isinstance(term, ox.Literal)
    made = as_of(term, [(str(XSD[name]), None)])
    if made is not None and name not in ("string", "gYear"):
        assert compare(term, made) == "same"
    elif made is None and name == "decimal":
        assert not isinstance(number, int)
    written = as_of(ox.Literal(term.value), [(str(XSD[name]), None)])
    assert name in ("string", "gYear") or type(number) is not int or (written is None) == (made is None)
    assert written is None or name in ("string", "gYear") or compare(term, written) == "same"


def test_a_decimal_in_words_is_an_integer_of_that_value() -> None:
    for text, form in {"1.0": "1", "-2.50": None, "1e0": None, "one": None, "01": "01"}.items():
        made = as_of(ox.Literal(text), [(str(XSD.integer), None)])
        assert (None if made is None else made.value) == form


def test_a_shape_that_is_broken_names_the_path_and_the_value() -> None:
    with worlds.open(embedder=None) as world:
        world.load(NAMES, format="turtle")
        world.shapes.load(
            b"@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix ex: <http://example.org/> ."
            b"[] a sh:NodeShape ; sh:targetNode ex:bolt ; sh:property [ sh:path ex:weight ; sh:maxCount 1 ] .",
            format="turtle",
        )
        found = world.curation.verify(("ex:bolt", "ex:weight", 15)) if "ex" in world.prefixes else None
        assert found is not None
        (against,) = [one for one in found.contradicting if one.rule == "shape"]
        assert against.message.endswith("weight> has the value 14 already, and a shape allows 1 in all")


# --- beside the claim -----------------------------------------------------------------------------


def test_what_the_world_says_of_subject_and_predicate_is_told() -> None:
    with worlds.open(embedder=None) as w:
        w.bind("ex", "http://ex/")
        w.add([("ex:widget", "ex:weight", 14)])
        found = w.curation.verify(("ex:widget", "ex:weight", 15))
        assert found.outcome == "unknown"
        assert "the world has other values of this subject and predicate: 14" in found.undecided
        w.add([("ex:widget", "ex:weight", number) for number in (20, 21, 22)])
        (told, *_) = w.curation.verify(("ex:widget", "ex:weight", 15)).undecided
        assert told.endswith(", …")
        assert not any("other values" in told for told in w.curation.verify(("ex:widget", "ex:height", 15)).undecided)


@pytest.mark.parametrize(
    "data",
    [
        '_:r rdf:reifies <<( ex:w ex:color "red" )>> ; ex:source "catalogue" .',
        '_:r a rdf:Statement ; rdf:subject ex:w ; rdf:predicate ex:color ; rdf:object "red" ; ex:source "catalogue" .',
    ],
)
def test_a_quoted_triple_is_not_a_claim_that_is_said(data: str) -> None:
    prefixes = "@prefix ex: <http://ex/> . @prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> ."
    with worlds.open(embedder=None) as w:
        w.bind("ex", "http://ex/")
        w.load(f"{prefixes} ex:w ex:size 1 . {data}".encode(), format="ttl")
        found = w.curation.verify(("ex:w", "ex:color", '"red"'))
        assert found.outcome == "unknown", "a quotation states nothing"
        assert found.supporting == found.contradicting == ()
