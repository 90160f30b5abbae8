"""Turtle with blank nodes in brackets: what comes back is what was written, and hostile blank nodes cost nothing."""

from __future__ import annotations

import time
from itertools import pairwise

import pyoxigraph as ox
from hypothesis import given
from hypothesis import strategies as st

import worlds
from worlds.graph.query.results import Triples
from worlds.graph.turtle import nested

XSD = "http://www.w3.org/2001/XMLSchema#"
iris = st.sampled_from([ox.NamedNode(f"http://example.org/{name}") for name in ("a", "b", "p", "q")])
nodes = st.sampled_from([ox.BlankNode(f"b{number}") for number in range(4)])
literals = st.builds(
    lambda text, kind: ox.Literal(text, datatype=ox.NamedNode(XSD + kind)),
    st.sampled_from(["1", "01", "1.5", "1e0", "true", "x", 'q"\n', ""]),
    st.sampled_from(["integer", "double", "decimal", "boolean", "string"]),
)
triples = st.lists(st.builds(ox.Triple, iris | nodes, iris, iris | nodes | literals), max_size=12, unique=True)


def canonical(found: list[ox.Triple]) -> ox.Dataset:
    data = ox.Dataset(ox.Quad(*triple) for triple in found)
    data.canonicalize(ox.CanonicalizationAlgorithm.RDFC_1_0)
    return data


@given(triples)
def test_what_comes_back_is_what_was_written(given_triples: list[ox.Triple]) -> None:
    text = nested(given_triples, {"ex": "http://example.org/"})
    if text is not None:
        read = [quad.triple for quad in ox.parse(text, format=ox.RdfFormat.TURTLE)]
        assert canonical(read) == canonical(given_triples)
        assert any(isinstance(term, ox.BlankNode) for one in given_triples for term in (one.subject, one.object))


def test_shapes_are_written_with_their_blank_nodes_inside() -> None:
    with worlds.open(embedder=None) as world:
        world.bind("ex", "http://example.org/")
        shapes = """
        @prefix sh: <http://www.w3.org/ns/shacl#> . @prefix ex: <http://example.org/> .
        ex:S a sh:NodeShape ; sh:targetClass ex:C ; sh:property [ sh:path ex:p ; sh:maxCount 1 ; sh:in ( 1 2 ) ] .
        """
        world.shapes.load(shapes.encode(), format="turtle")
        text = world.shapes.serialize()
        assert "_:" not in text
        assert "sh:property [" in text
        assert "sh:in ( 1 2 )" in text
        assert "<http" not in text.split("\n\n", 1)[1]


def test_hostile_blank_nodes_take_no_time() -> None:
    rdf = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
    first, rest, edge = ox.NamedNode(rdf + "first"), ox.NamedNode(rdf + "rest"), ox.NamedNode("http://example.org/p")
    nodes = [ox.BlankNode(f"n{number}") for number in range(999)]
    clique = [ox.Triple(a, edge, b) for a in nodes[:30] for b in nodes[:30] if a != b]
    chain = [ox.Triple(a, edge, b) for a, b in pairwise(nodes)]
    no_list = [
        one for a, b in pairwise(nodes[:490]) for one in (ox.Triple(a, first, ox.Literal("x")), ox.Triple(a, rest, b))
    ]
    circle = [ox.Triple(nodes[0], first, ox.Literal("x")), ox.Triple(nodes[0], rest, nodes[0])]
    for hostile in (clique, chain, no_list, circle):
        began = time.process_time()
        text = Triples(hostile).serialize("turtle")
        assert time.process_time() - began < 10
        assert len(list(ox.parse(text, format=ox.RdfFormat.TURTLE))) == len(hostile)
