"""SPARQL rules of shapes: compared with pySHACL, which runs the same rules to a fixpoint."""

from __future__ import annotations

import pyshacl
import pytest
import rdflib
from hypothesis import given, settings
from hypothesis import strategies as st

import worlds
from worlds.errors import ArgumentError, QueryError

EX = "https://example.org/"
HEAD = """
PREFIX ex: <https://example.org/> PREFIX sh: <http://www.w3.org/ns/shacl#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
ex: sh:declare [ sh:prefix "e" ; sh:namespace "https://example.org/"^^xsd:anyURI ] .
"""
SHAPES = (
    HEAD
    + """
ex:Person a rdfs:Class, sh:NodeShape ; sh:rule ex:Married .
ex:Married a sh:SPARQLRule ; sh:prefixes ex: ;
    sh:construct "CONSTRUCT { ?other e:marriedTo $this } WHERE { $this e:marriedTo ?other }" .
ex:Parents a sh:NodeShape ; sh:targetSubjectsOf ex:parent ; sh:rule [ a sh:SPARQLRule ; sh:prefixes ex: ;
    sh:construct "CONSTRUCT { $this e:ancestor ?up } WHERE { $this e:parent ?up }" ], [
    a sh:SPARQLRule ; sh:deactivated true ; sh:prefixes ex: ;
    sh:construct "CONSTRUCT { $this e:ancestor ?up } WHERE { $this e:parent/e:none ?up }" ] .
ex:Children a sh:NodeShape ; sh:targetObjectsOf ex:parent ; sh:targetClass ex:Elder ; sh:rule [
    a sh:SPARQLRule ; sh:prefixes ex: ;
    sh:construct "CONSTRUCT { $this a e:Person } WHERE { ?child e:parent $this }" ] .
"""
)
TRIPLES = st.lists(
    st.tuples(
        st.sampled_from("abcd"),
        st.sampled_from(["marriedTo", "parent"]),
        st.sampled_from("abcd"),
    )
    | st.tuples(st.sampled_from("abcd"), st.just("type"), st.sampled_from(["Person", "Elder"])),
    max_size=8,
)


def iri(name: str) -> rdflib.URIRef:
    return rdflib.RDF.type if name == "type" else rdflib.URIRef(EX + name)


@settings(max_examples=settings.default.max_examples // 3)  # type: ignore[union-attr]  # there is a default
@given(TRIPLES)
def test_what_follows_is_what_pyshacl_infers(triples: list[tuple[str, str, str]]) -> None:
    data = rdflib.Graph()
    for triple in triples:
        data.add((iri(triple[0]), iri(triple[1]), iri(triple[2])))
    with worlds.open(embedder=None) as world:
        world.add(list(data))
        known = world.rules.load(SHAPES.encode(), format="turtle")
        assert set(known.own) == {"Married", "Parents", "Children", "Children-2"}
        found = {quad[:3] for quad in world.entailed.quads()}
    shapes = rdflib.Graph().parse(data=SHAPES, format="turtle")
    size = -1
    while size < (size := len(data)):  # it goes through the shapes once
        pyshacl.validate(data, shacl_graph=shapes, advanced=True, inplace=True, inference="none")
    assert found == set(data)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        (
            'ex:R a sh:SPARQLRule ; sh:condition ex:P ; sh:construct "CONSTRUCT {$this a <urn:b>} WHERE {}"',
            "sh:condition",
        ),
        ("ex:R a sh:TripleRule ; sh:subject sh:this ; sh:predicate ex:p ; sh:object ex:o", "not an sh:SPARQLRule"),
        ('ex:R a sh:SPARQLRule ; sh:construct "CONSTRUCT WHERE { $this ?p ?o }"', "template and one pattern"),
        ('ex:R a sh:SPARQLRule ; sh:construct "CONSTRUCT {$this a [] } WHERE { $this ?p ?o }"', "blank node"),
        ('ex:R a sh:SPARQLRule ; sh:construct "} } {{"', "template and one pattern|no SPARQL query"),
        ('ex:R a sh:SPARQLRule ; sh:construct "DELETE {$this a <urn:b>} WHERE { $this ?p ?o }"', "no SPARQL query"),
    ],
)
def test_what_is_no_rule_of_these_is_refused(shape: str, message: str) -> None:
    text = f"{HEAD} ex:S a sh:NodeShape ; sh:targetClass ex:C ; sh:rule ex:R . {shape} ."
    with worlds.open(embedder=None) as world:
        with pytest.raises(QueryError, match=message):
            world.rules.load(text.encode(), format="turtle")
        assert not world.rules.list().own


def test_shapes_without_a_rule_or_a_target_are_refused() -> None:
    rule = 'sh:rule [ a sh:SPARQLRule ; sh:construct "CONSTRUCT { $this a <urn:b> } WHERE { $this ?p ?o }" ]'
    with worlds.open(embedder=None) as world:
        with pytest.raises(ArgumentError, match="no rule"):
            world.rules.load(HEAD.encode(), format="turtle")
        for target in ("", "sh:targetNode ex:a ; "):
            with pytest.raises(QueryError, match="sh:targetClass"):
                world.rules.load(f"{HEAD} ex:S a sh:NodeShape ; {target} {rule} .".encode(), format="turtle")
