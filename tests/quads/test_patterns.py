"""`World.quads`, `count`, `graphs` and `to_rdflib`: what matches a pattern, and what of it rdflib can hold."""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyoxigraph as ox
import pytest
import rdflib
from hypothesis import given
from hypothesis import strategies as st
from rdflib import XSD, BNode, Literal, URIRef
from rdflib.compare import isomorphic
from rdflib.term import Node

import worlds
from tests.support import tables
from worlds.core.quads import patterns
from worlds.errors import ArgumentError
from worlds.sql import statements

A, B, P, Q, G, H = (URIRef(f"urn:{name}") for name in "abpqgh")
NODE = BNode("node")
ONE, LONG_ONE = (Literal(form, datatype=XSD.integer, normalize=False) for form in ("1", "01"))
TEXTS = [Literal("1"), Literal("1", lang="en"), Literal("nul \0 in it")]

Quad = tuple[Any, Any, Any, Any]


@pytest.fixture
def world() -> Iterator[worlds.World]:
    with worlds.open(embedder=None) as world:
        yield world


def key(quad: Quad) -> list[str]:
    return [repr(term) for term in quad]


def brute(quads: set[Quad], pattern: Quad) -> list[Quad]:
    *terms, graph = pattern
    found = [
        quad
        for quad in quads
        if all(wanted in (None, term) for wanted, term in zip(terms, quad, strict=False))
        and (graph is None or quad[3] == (None if graph == "default" else graph))
    ]
    return sorted(found, key=key)


# --- what matches -----------------------------------------------------------------------------------------------------

subjects = st.sampled_from([A, B, NODE])
predicates = st.sampled_from([P, Q])
objects = st.sampled_from([A, NODE, ONE, LONG_ONE, *TEXTS])
some_quads = st.sets(st.tuples(subjects, predicates, objects, st.sampled_from([None, G, H, NODE])), max_size=40)


@contextmanager
def constants(**values: int) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in values.items():
            patch.setattr(patterns, name, value)
        yield


@given(some_quads, st.sampled_from([0, 3, 1000]), st.booleans())
def test_every_pattern_gives_what_a_search_through_all_quads_gives(
    quads: set[Quad], small_graph: int, created: bool
) -> None:
    blocks = constants(_SMALL_GRAPH=small_graph, _FIRST_BLOCK=1, _BLOCK=2, _REMEMBERED=4)
    with blocks, worlds.open(embedder=None, vector_index=False) as world:
        world.add(quads)
        if created:
            world.update("CREATE SILENT GRAPH <urn:empty>; CREATE SILENT GRAPH <urn:g>")
        for pattern in itertools.product(
            [None, A, NODE, URIRef("urn:unknown")],
            [None, P],
            [None, A, LONG_ONE, *TEXTS[:2]],
            [None, "default", G, NODE],
        ):
            found = sorted(world.quads(*pattern), key=key)
            expected = brute(quads, pattern)
            assert [key(quad) for quad in found] == [key(quad) for quad in expected], pattern
            assert world.count(*pattern) == len(expected), pattern
            assert world.count(*pattern, triples=True) == len({quad[:3] for quad in expected}), pattern


def test_terms_are_given_as_everywhere(world: worlds.World) -> None:
    world.bind("ex", "urn:ex:")
    world.add([("ex:a", "rdf:value", LONG_ONE, "ex:g"), ("ex:a", "rdf:value", True), ("_:b", "rdf:value", 2)])
    value = rdflib.RDF.value
    (quad,) = world.quads("ex:a", "rdf:value", '"01"^^xsd:integer', "ex:g")
    assert quad == (URIRef("urn:ex:a"), value, LONG_ONE, URIRef("urn:ex:g"))
    assert str(quad[2]) == "01"
    assert [*world.quads(URIRef("urn:ex:a"), graph=ox.DefaultGraph())] == [
        (URIRef("urn:ex:a"), value, Literal(True), None)
    ]
    assert [*world.quads(subject=ox.BlankNode("b"))] == [*world.quads(BNode("b"), object=2)] == [*world.quads("_:b")]
    assert [*world.quads(object=Literal("ex:a"))] == []
    assert [*world.quads(Literal("a literal is no subject"))] == []


@pytest.mark.parametrize(
    ("pattern", "error"),
    [({"subject": "no prefix:here"}, ValueError), ({"object": []}, TypeError), ({"graph": '"text"'}, ValueError)],
    ids=["name", "list", "graph"],
)
def test_what_is_no_term_is_told_at_once(world: worlds.World, pattern: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        world.quads(**pattern)


def test_a_triple_term_is_pyoxigraphs(world: worlds.World) -> None:
    triple = ox.Triple(
        ox.NamedNode("urn:a"), ox.NamedNode("urn:p"), ox.Literal("01", datatype=ox.NamedNode(XSD.integer))
    )
    world.add([(A, P, triple)])
    assert [quad[2] for quad in world.quads(object=triple)] == [triple]


def test_the_graphs_that_exist_are_named_in_order(world: worlds.World) -> None:
    assert world.graphs() == []
    world.add([(A, P, B), (A, P, B, H), (A, P, B, NODE), (A, P, B, G)])
    world.update("CREATE GRAPH <urn:empty>")
    assert world.graphs() == [NODE, URIRef("urn:empty"), G, H]
    assert (world.count(graph="urn:empty"), world.count(graph="urn:unknown"), world.count()) == (0, 0, 4)
    world.update("DROP GRAPH <urn:empty>; CLEAR GRAPH <urn:h>")
    assert world.graphs() == [NODE, G]


# --- a snapshot -------------------------------------------------------------------------------------------------------


def test_writes_change_nothing_of_what_is_being_read(world: worlds.World) -> None:
    quads = {(URIRef(f"urn:{n}"), P, Literal(str(n)), None) for n in range(300)}
    world.add(quads)
    reading = world.quads(predicate=P)
    seen = {next(reading)}
    world.remove(quads)
    world.add([(A, P, B)])
    assert seen | set(reading) == quads


def test_what_was_read_in_a_transaction_outlives_its_end(world: worlds.World) -> None:
    with pytest.raises(KeyError), world.transaction():
        world.add([(A, P, Literal("undone"))])
        reading = world.quads()
        raise KeyError
    world.add([(B, Q, Literal("the same ids"))])
    assert [*reading] == [(A, P, Literal("undone"), None)]


def test_quads_are_read_after_another_process_wrote(path: Any) -> None:
    with worlds.open(path, embedder=None) as one, worlds.open(path, embedder=None) as other:
        one.add([(A, P, B)])
        assert [*other.quads(A)] == [(A, P, B, None)]
        other.remove([(A, P, B)])
        assert [*one.quads(A)] == []


# --- its cost ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statement", "plan"),
    [
        ("quads_of_subject", "USING COVERING INDEX quads_spog (subject=?)"),
        ("quads_of_subject_predicate", "USING COVERING INDEX quads_spog (subject=? AND predicate=?)"),
        ("quads_of_subject_object", "USING COVERING INDEX quads_spog (subject=?)"),
        ("quads_of_subject_predicate_object", "quads_spog (subject=? AND predicate=? AND object=?)"),
        ("quads_of_predicate", "USING COVERING INDEX quads_posg (predicate=?)"),
        ("quads_of_predicate_object", "USING COVERING INDEX quads_posg (predicate=? AND object=?)"),
        ("quads_of_object", "USING INDEX quads_o (object=?)"),
        ("quads_of_named_graph", "USING INDEX quads_g (graph=?)"),
        ("count_up_to", "USING COVERING INDEX quads_g (graph=?)"),
        ("count_named_graph", "USING COVERING INDEX quads_g (graph=?)"),
    ],
)
def test_a_pattern_is_read_by_its_index(world: worlds.World, statement: str, plan: str) -> None:
    sql = statements("queries.sql")[statement]
    rows = tables.rows(world, f"EXPLAIN QUERY PLAN {sql.sql}", [1] * len(sql.parameters))
    steps = [row[3] for row in rows]
    assert any(f"SEARCH quads {plan}" in step or plan in step for step in steps), steps
    assert not any(step.startswith("SCAN quads") for step in steps)


@pytest.mark.slow
def test_a_lookup_takes_a_fraction_of_a_millisecond(world: worlds.World) -> None:
    world.add([(URIRef(f"urn:{n // 5}"), URIRef(f"urn:p{n % 5}"), n) for n in range(20_000)], embed=False)
    taken = []
    for start in range(0, 500, 100):
        started = time.process_time()
        for n in range(start, start + 100):
            assert len([*world.quads(URIRef(f"urn:{n}"))]) == 5
        taken.append(time.process_time() - started)
    assert min(taken) < 0.3, "measured: 0.07 s"  # the least: collecting a full suite's garbage may take a second


# --- rdflib's datasets ------------------------------------------------------------------------------------------------


def as_set(dataset: rdflib.Dataset) -> set[tuple[str, ...]]:
    """Its quads, each term as N-Triples writes it, so that lexical forms count."""
    default = dataset.default_graph.identifier
    return {tuple("" if term in (None, default) else term.n3() for term in quad) for quad in dataset.quads()}


def test_a_copy_in_rdflib_has_quads_graphs_and_prefixes_as_they_are(world: worlds.World) -> None:
    world.bind("geo", "urn:mine:")
    world.add([(A, P, LONG_ONE), (A, P, ONE, G), (NODE, P, NODE, H), (NODE, Q, TEXTS[1], NODE)])
    world.update("CREATE GRAPH <urn:empty>")
    copy = world.to_rdflib()
    assert as_set(copy) == {
        ("<urn:a>", "<urn:p>", '"01"^^<http://www.w3.org/2001/XMLSchema#integer>', ""),
        ("<urn:a>", "<urn:p>", '"1"^^<http://www.w3.org/2001/XMLSchema#integer>', "<urn:g>"),
        ("_:node", "<urn:p>", "_:node", "<urn:h>"),
        ("_:node", "<urn:q>", '"1"@en', "_:node"),
    }
    names = {str(graph.identifier) for graph in copy.graphs()}
    assert names == {"urn:x-rdflib:default", "urn:g", "urn:h", "node", "urn:empty"}
    assert world.prefixes.items() <= {prefix: str(iri) for prefix, iri in copy.namespaces()}.items()
    assert len(copy.graph(G)) == 1


def test_a_copy_of_an_empty_world_is_empty(world: worlds.World) -> None:
    assert len(world.to_rdflib()) == 0


@given(some_quads)
def test_there_and_back_changes_nothing(quads: set[Quad]) -> None:
    with worlds.open(embedder=None, vector_index=False) as one, worlds.open(embedder=None, vector_index=False) as other:
        one.add(quads)
        other.add(one.to_rdflib())
        assert sorted(map(key, other.quads())) == sorted(map(key, one.quads())) == sorted(map(key, quads))


@pytest.mark.parametrize(
    "term",
    [
        ox.Triple(ox.NamedNode("urn:a"), ox.NamedNode("urn:p"), ox.NamedNode("urn:o")),
        ox.Literal("سلام", language="ar", direction=ox.BaseDirection.RTL),
    ],
    ids=["triple term", "direction"],
)
def test_what_rdflib_cannot_hold_is_said(world: worlds.World, term: Any, caplog: pytest.LogCaptureFixture) -> None:
    world.add([(A, P, term)])
    with pytest.raises(ValueError, match="rdflib has no term for"):
        world.to_rdflib(triple_terms="error")
    with pytest.raises(ArgumentError, match="triple_terms must be skip, reify or error, not 'drop'"):
        world.to_rdflib(triple_terms="drop")  # type: ignore[arg-type]
    world.add([(A, P, B)])
    with caplog.at_level(logging.WARNING, "worlds"):
        assert {quad[2] for quad in world.to_rdflib()} == {B}
    assert "1 triples with triple terms or base directions are left out" in caplog.text
    reified = world.to_rdflib(triple_terms="reify")
    assert all(isinstance(part, Node) for quad in reified for part in quad[:3])
    assert len(reified) == (6 if isinstance(term, ox.Triple) else 2)


REIFIED = b"""
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> . @prefix e: <urn:> .
e:a e:p e:b ~ e:r {| e:said e:ann |} .
e:two rdf:reifies <<( e:a e:p e:b )>>, <<( e:a e:q <<( e:a e:p "x"@ar--rtl )>> )>> .
"""
STATED = """
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> . @prefix e: <urn:> .
e:a e:p e:b . e:r a rdf:Statement ; rdf:subject e:a ; rdf:predicate e:p ; rdf:object e:b ; e:said e:ann .
e:two %s
_:direct a rdf:Statement ; rdf:subject e:a ; rdf:predicate e:p ; rdf:object "x"^^<https://www.w3.org/ns/i18n#ar_rtl> .
"""
OUTER = "rdf:subject e:a ; rdf:predicate e:q ; rdf:object _:direct ."
PLAIN = "rdf:subject e:a ; rdf:predicate e:p ; rdf:object e:b ."


def test_a_reifier_is_a_statement_of_rdf_1_1(world: worlds.World) -> None:
    """The first triple of a reifier is the statement, a further one is a node of its own."""
    world.load(REIFIED, format="turtle")
    copy = world.to_rdflib(triple_terms="reify").default_graph
    ways = [
        f"a rdf:Statement ; {first} e:two rdf:reifies _:more . _:more a rdf:Statement ; {second}"
        for first, second in ((PLAIN, OUTER), (OUTER, PLAIN))
    ]
    wanted = [rdflib.Graph().parse(data=STATED % way, format="turtle") for way in ways]
    assert any(isomorphic(copy, one) for one in wanted)
    found = world.query("CONSTRUCT WHERE { ?s ?p ?o }")
    assert isinstance(found, worlds.records.Triples)
    assert any(isomorphic(found.to_rdflib(triple_terms="reify"), one) for one in wanted)
