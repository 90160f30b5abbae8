"""Whether a claim holds: every rule, values, what is never concluded, trails that are replayed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyoxigraph as ox
import pytest
import rdflib
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import Literal
from rdflib.namespace import XSD

import worlds
from worlds import World

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
    found = world.verify(("ex:a", "ex:p", "ex:b"))
    assert found.outcome == "supported", str(found)
    assert rule in [one.rule for one in found.supporting]
    every_quad_is_there(world, found)
    # Without any one of the quads that it rests on, it is not supported so.
    strongest = found.supporting[0]
    assert strongest.score == pytest.approx(1 / len(strongest.quads))
    if len(found.supporting) == 1:
        for quad in strongest.quads:
            world.remove([quad[:4] if quad.graph is not None else quad[:3]])
            assert world.verify(("ex:a", "ex:p", "ex:b")).outcome == "unknown"
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
    found = world.verify(("ex:a", "rdf:type", "ex:C"))
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
    found = world.verify(("ex:a", "ex:p", "ex:b"))
    assert found.outcome == "contradicted", str(found)
    assert rule in [one.rule for one in found.contradicting]
    every_quad_is_there(world, found)
    # Without any one of the quads that it rests on, it is not: absence contradicts nothing.
    for quad in found.contradicting[0].quads:
        world.remove([quad[:4] if quad.graph is not None else quad[:3]])
        assert len(world.verify(("ex:a", "ex:p", "ex:b")).contradicting) < len(found.contradicting)
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
    found = world.verify(given)
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
    assert world.verify(("ex:a", "ex:p", given)).outcome == outcome


def test_ill_typed_and_mistyped_values(world: World) -> None:
    load(world, "ex:p rdfs:range xsd:decimal .")
    assert world.verify(("ex:a", "ex:p", 3)).outcome == "unknown"
    assert world.verify(("ex:a", "ex:p", Literal("x"))).outcome == "contradicted"
    bad = ox.Literal("2020-02-30", datatype=ox.NamedNode(str(XSD.date)))
    found = world.verify(("ex:a", "ex:q", bad))
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
    found = world.verify(("ex:a", "ex:p", "ex:b"))
    assert found.outcome == outcome, str(found)
    assert world.verify(("ex:other", "ex:p", "ex:b")).outcome == "unknown"


def test_a_verification_has_all_that_was_looked_at(world: World) -> None:
    load(world, "ex:p a owl:FunctionalProperty . ex:a ex:p 1 ; ex:q ex:m . ex:m ex:q ex:b .")
    world.add([("ex:a", "ex:p", 2, "ex:other")], author="ann")
    found = world.verify(("ex:a", "ex:p", 3))
    assert found.outcome == "contradicted"
    assert {quad.revision for one in found.contradicting for quad in one.quads} == {1, 2}
    assert [odd.kind for odd in found.odd] == ["disagreement"]
    assert {str(quad.graph) for quad in found.odd[0].quads} == {"None", EX + "other"}
    far = world.verify(("ex:a", "ex:r", "ex:b"))
    assert (far.outcome, far.paths) == ("unknown", ())  # no triple is said with ex:r, which the world does not know
    joined = world.verify(("ex:a", "ex:p", "ex:b"))
    assert joined.outcome == "contradicted"
    world.add([("ex:z", "ex:r", "ex:z")])
    paths = world.verify(("ex:a", "ex:r", "ex:b")).paths
    assert [[str(quad.object) for quad in path] for path in paths] == [[EX + "m", EX + "b"]]
    told = joined.to_dict()
    assert told["outcome"] == "contradicted"
    assert joined.to_dicts()[0]["verdict"] == "contradicts"
    assert set(joined.cited).isdisjoint(joined.visited)


def test_odd_values_are_named(world: World) -> None:
    lines = "\n".join(f"ex:s{number} ex:height {150 + number} ." for number in range(40))
    load(world, f'{lines} ex:a ex:height 20000 , 171 . ex:b ex:height "tall"^^xsd:integer .')
    found = world.verify(("ex:a", "ex:height", 171))
    assert found.outcome == "supported"
    assert sorted(odd.kind for odd in found.odd) == ["outlier", "several values"]
    assert [odd.kind for odd in world.verify(("ex:b", "ex:height", 171)).odd] == ["ill-typed literal"]


def test_what_was_retracted_is_told_and_contradicts_nothing(world: World) -> None:
    world.add([("ex:a", "ex:p", "ex:b")])
    world.remove([("ex:a", "ex:p", "ex:b")])
    found = world.verify(("ex:a", "ex:p", "ex:b"))
    assert found.outcome == "unknown"
    assert [odd.kind for odd in found.odd] == ["retracted"]
    assert world.verify(("ex:a", "ex:p", "ex:b"), at=1).outcome == "supported"


def test_a_trail_is_replayed_after_later_writes(world: World) -> None:
    load(world, CONTRADICTED["range"][0] + 'ex:b rdfs:label "B" . ex:a ex:p ex:c , ex:d . _:x ex:p "a\\u0000b" .')
    claim = ("ex:a", "ex:p", "ex:b")
    before = world.verify(claim)
    document = before.rdf()
    world.remove([("ex:b", "rdf:type", "ex:E"), ("ex:a", "ex:p", "ex:d")])
    world.add([claim])
    world.update("DELETE WHERE { ?s <http://www.w3.org/2000/01/rdf-schema#subClassOf> ?o }")
    assert world.verify(claim).outcome == "supported"
    assert world.verify(claim, at=before.revision) == before
    assert world.verify(before) == before
    assert world.verify(document.encode()) == before
    assert world.verify(document.encode()).rdf() == document
    assert world.verify(before, at=world.history(1)[0].revision).outcome == "supported"
    # The document is RDF that a world can hold, and what it tells of is not said by that.
    world.load(document.encode(), format="turtle", graph="ex:trails")
    assert world.verify(("ex:a", "ex:p", "ex:d")).outcome == "unknown"
    prov = "SELECT ?e { GRAPH ?g { ?e a <urn:worlds:trail:Verification> ; <urn:worlds:trail:outcome> 'contradicted' } }"
    rows = world.query(prov)
    assert isinstance(rows, worlds.Solutions)
    assert len(list(rows)) == 1
    with pytest.raises(ValueError, match="no trail"):
        world.verify(b"<urn:a> <urn:b> <urn:c> .")


def test_claims_in_words(world: World) -> None:
    load(world, 'ex:a rdfs:label "Curiosity" ; ex:operatedBy ex:n . ex:n rdfs:label "NASA" . ex:m rdfs:label "Mars" .')
    alone = world.verify("Curiosity is operated by NASA")
    assert alone.outcome == "unknown"
    assert alone.passages
    assert alone.undecided

    asked: list[str] = []

    def extract(words: str) -> list[tuple[str, str, str]]:
        asked.append(words)
        return [("Curiosity", "operated by", "NASA")]

    found = world.verify("Curiosity is operated by NASA", extract=extract)
    assert asked == ["Curiosity is operated by NASA"]
    assert found.outcome == "supported"
    assert found.triples == ((rdflib.URIRef(EX + "a"), rdflib.URIRef(EX + "operatedBy"), rdflib.URIRef(EX + "n")),)
    assert len(found.readings) == 3
    assert world.verify(found.rdf().encode()) == found
    camel = world.verify("x", extract=lambda _: [("ex:a", "operatedBy", "ex:n")])
    assert not [one for one in camel.unread if "operatedBy" in one]
    nobody = world.verify("x", extract=lambda _: [("Nobody at all", "operated by", "NASA")])
    assert (nobody.outcome, len(nobody.unread)) == ("unknown", 1)
    two = world.verify("x", extract=lambda _: [("ex:a", "ex:operatedBy", "ex:n"), ("ex:a", "ex:operatedBy", "ex:m")])
    assert (two.outcome, two.outcomes) == ("unknown", ("supported", "unknown"))
    assert world.verify("x", extract=lambda _: []).outcome == "unknown"


def test_what_is_no_claim_is_refused(world: World) -> None:
    with pytest.raises(TypeError):
        world.verify(3)
    with pytest.raises(ValueError, match="subject"):
        world.verify(("ex:a", "ex:p"))
    with pytest.raises(ValueError, match="prefix"):
        world.verify(("ex:a", "nope:p", "ex:b"))
    with pytest.raises(ValueError, match="triple"):
        world.verify((Literal("a"), "ex:p", "ex:b"))
    with pytest.raises(TypeError):
        world.verify("words", extract=lambda _: ["a triple"])
    with pytest.raises(ValueError, match="revision"):
        world.verify(("ex:a", "ex:p", "ex:b"), at=99)


def test_the_redirects_of_merges_are_followed(world: World) -> None:
    load(world, 'ex:p a owl:FunctionalProperty . ex:a ex:p ex:b . ex:old ex:q ex:c . ex:a rdfs:label "A" .')
    before = world.verify(("ex:old", "ex:p", "ex:b"))
    world.merge("ex:a", "ex:old")
    found = world.verify(("ex:old", "ex:p", "ex:b"))
    assert (found.outcome, found.supporting[0].score) == ("supported", 0.5)
    assert found.supporting[0].quads[1].subject == rdflib.URIRef(EX + "old")
    assert world.verify(("ex:old", "ex:p", "ex:c")).outcome == "contradicted"
    assert world.verify(("ex:old", "owl:sameAs", "ex:a")).outcome == "supported"
    assert before.outcome == "unknown"
    assert world.verify(before) == before


def test_a_transaction_sees_its_own_writes(world: World) -> None:
    with world.transaction():
        world.add([("ex:a", "ex:p", "ex:b")])
        assert world.verify(("ex:a", "ex:p", "ex:b")).outcome == "supported"


names = st.sampled_from([f"ex:{letter}" for letter in "abcd"])
triples = st.tuples(names, st.sampled_from(["ex:p", "ex:q", "rdf:type"]), names)


@settings(max_examples=40)
@given(st.lists(triples, max_size=15), triples)
def test_absence_contradicts_nothing(data: list[tuple[str, str, str]], claim: tuple[str, str, str]) -> None:
    with worlds.open(embedder=None) as world:
        world.bind("ex", EX)
        world.add(data)
        assert world.verify(claim).outcome == ("supported" if claim in data else "unknown")


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


@settings(max_examples=40)
@given(st.lists(triples, max_size=8), st.sets(st.sampled_from(DECLARED)), triples)
def test_support_is_that_of_an_oracle(
    data: list[tuple[str, str, str]], declared: set[tuple[str, str, str]], claim: tuple[str, str, str]
) -> None:
    with worlds.open(embedder=None) as world:
        world.bind("ex", EX)
        world.bind("owl", "http://www.w3.org/2002/07/owl#")
        world.add([*data, *declared])
        follows = claim in closure({*data, *declared})
        assert world.verify(claim).outcome == ("supported" if follows else "unknown")


@settings(max_examples=40)
@given(st.lists(st.tuples(st.booleans(), triples), min_size=1, max_size=12), triples, st.data())
def test_every_revision_is_verified_as_it_was(
    writes: list[tuple[bool, tuple[str, str, str]]], claim: tuple[str, str, str], data: st.DataObject
) -> None:
    with worlds.open(embedder=None) as world:
        world.bind("ex", EX)
        world.bind("owl", "http://www.w3.org/2002/07/owl#")
        world.add([("ex:p", "rdf:type", "owl:FunctionalProperty"), ("ex:q", "rdfs:subPropertyOf", "ex:p")])
        seen = [world.verify(claim)]
        for adds, triple in writes:
            (world.add if adds else world.remove)([triple])
            seen.append(world.verify(claim))
        for found in seen:
            assert world.verify(claim, at=found.revision) == found


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
        found = world.verify("the supplier of Bolt is Zorblax", extract=lambda _: [("Bolt", "supplier", "Zorblax")])
        assert (found.outcome, found.contradicting) == ("unknown", ())
        assert found.unread == ("'Zorblax' is the name of no entity",)
        text = world.verify("it is heavy", extract=lambda _: [("Bolt", "weight", "heavy")])
        assert "'heavy' is read as a text" in text.readings


def test_a_shape_that_is_broken_names_the_path_and_the_value() -> None:
    with worlds.open(embedder=None) as world:
        world.load(NAMES, format="turtle")
        world.shapes.load(
            b"@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix ex: <http://example.org/> ."
            b"[] a sh:NodeShape ; sh:targetNode ex:bolt ; sh:property [ sh:path ex:weight ; sh:maxCount 1 ] .",
            format="turtle",
        )
        found = world.verify(("ex:bolt", "ex:weight", 15)) if "ex" in world.prefixes else None
        assert found is not None
        (against,) = [one for one in found.contradicting if one.rule == "shape"]
        assert against.message.endswith("weight> has the value 14 already, and a shape allows 1 in all")


# --- beside the claim -----------------------------------------------------------------------------


def test_what_the_world_says_of_subject_and_predicate_is_told() -> None:
    with worlds.open(embedder=None) as w:
        w.bind("ex", "http://ex/")
        w.add([("ex:widget", "ex:weight", 14)])
        found = w.verify(("ex:widget", "ex:weight", 15))
        assert found.outcome == "unknown"
        assert "of this subject and predicate the world says 14" in found.undecided
        w.add([("ex:widget", "ex:weight", number) for number in (20, 21, 22)])
        (told, *_) = w.verify(("ex:widget", "ex:weight", 15)).undecided
        assert told.endswith(", …")
        assert not any("world says" in told for told in w.verify(("ex:widget", "ex:height", 15)).undecided)


@pytest.mark.parametrize(
    "data",
    [
        '_:r rdf:reifies <<( ex:w ex:color "red" )>> ; ex:source "catalogue" .',
        '_:r a rdf:Statement ; rdf:subject ex:w ; rdf:predicate ex:color ; rdf:object "red" ; ex:source "catalogue" .',
    ],
)
def test_a_quoted_triple_is_found_with_its_annotations(data: str) -> None:
    prefixes = "@prefix ex: <http://ex/> . @prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> ."
    with worlds.open(embedder=None) as w:
        w.bind("ex", "http://ex/")
        w.load(f"{prefixes} ex:w ex:size 1 . {data}".encode(), format="ttl")
        found = w.verify(("ex:w", "ex:color", '"red"'))
        assert found.outcome == "unknown", "a quotation states nothing"
        (odd,) = found.odd
        assert odd.kind == "quoted"
        assert odd.message.endswith('<http://ex/source> "catalogue"')
        assert any(str(quad.predicate) == "http://ex/source" for quad in odd.quads)
        assert w.verify(found.rdf().encode()) == found
        assert w.verify(("ex:w", "ex:color", '"blue"')).odd == ()


def test_a_second_value_where_all_have_one_is_odd() -> None:
    with worlds.open(embedder=None) as w:
        w.bind("ex", "http://ex/")
        w.add([(f"ex:s{number}", "ex:price", number) for number in range(500)])
        (odd,) = w.verify(("ex:s1", "ex:price", 77)).odd
        assert odd.kind == "several values"
        assert odd.message == "it would be a second value beside 1, and 499 of 499 other subjects have one value"
        assert w.verify(("ex:s1", "ex:price", 1)).odd == ()
