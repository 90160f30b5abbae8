"""Where pyoxigraph departs from the specification, and a query is repaired before it is asked."""

from __future__ import annotations

from typing import Any

import pyoxigraph as ox
import pytest

from worlds import QueryError
from worlds.graph.query import repairs
from worlds.graph.query.query import Query

DATA = """
PREFIX : <urn:> :a :p 1 . :a :q _:x . GRAPH :g1 { :a :p 1 . :a :n :g1 } GRAPH :g2 { :b :p 2 . :c :p 3 }
"""


@pytest.fixture
def store() -> ox.Store:
    store = ox.Store()
    store.load(DATA.encode(), ox.RdfFormat.TRIG)
    return store


def ask(store: ox.Store, query: str) -> list[Any]:
    checked = repairs.checked(Query("PREFIX : <urn:> " + query))
    store.query(checked.text)
    found = store.query(repairs.repaired(checked, store).text)
    assert isinstance(found, ox.QuerySolutions)
    rows = [[None if value is None else value.value for value in row] for row in found]
    return sorted(rows, key=str)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT ?g ?n { GRAPH ?g { SELECT (COUNT(*) AS ?n) { ?s :p ?o } } }", [["urn:g1", "1"], ["urn:g2", "2"]]),
        ("SELECT ?g ?s { GRAPH ?g { SELECT ?s { ?s :n ?o } } }", [["urn:g1", "urn:a"]]),
        ("SELECT ?g ?x { GRAPH ?g { VALUES ?x { 1 } } }", [["urn:g1", "1"], ["urn:g2", "1"]]),
        ("SELECT ?g ?x { GRAPH ?g { VALUES (?g ?x) { (:g1 1) } } }", [["urn:g1", "1"]]),
        (
            "SELECT ?g ?s { GRAPH ?g { ?s :p ?o MINUS { ?t :n ?u } } }",
            [["urn:g1", "urn:a"], ["urn:g2", "urn:b"], ["urn:g2", "urn:c"]],
        ),
        ("SELECT ?g { GRAPH ?g { :a :n ?g } }", [["urn:g1"]]),
        ("SELECT ?g { GRAPH ?g { FILTER(BOUND(?g)) } }", []),
        ("SELECT ?g { GRAPH ?g { _:s :p 2 VALUES ?v { 1 } MINUS { _:t :no ?v } } }", [["urn:g2"]]),
        ("SELECT ?g ?x FROM NAMED :g2 { GRAPH ?g { VALUES ?x { 1 } } }", [["urn:g2", "1"]]),
        ("SELECT ?g ?x FROM :g2 { GRAPH ?g { VALUES ?x { 1 } } }", []),
        (
            "SELECT ?g ?h { GRAPH ?g { VALUES ?x { 1 } GRAPH ?h { VALUES ?y { 1 } } } }",
            [[g, h] for g in ("urn:g1", "urn:g2") for h in ("urn:g1", "urn:g2")],
        ),
        ("SELECT ?x { :nowhere :p* ?x }", [["urn:nowhere"]]),
        ("SELECT ?x { ?x (:p|:q)? :nowhere }", [["urn:nowhere"]]),
        ("SELECT ?x { :a :p ?y . :nowhere :p* ?x . :a :p ?z }", [["urn:nowhere"]]),
        ("SELECT ?x { :a :p* ?x }", [["1"], ["urn:a"]]),
        ("SELECT ?x { :nowhere :p+ ?x }", []),
        (
            'SELECT (GROUP_CONCAT(?t; SEPARATOR="-") AS ?n) (LANG(?n) AS ?l) { VALUES ?t { "a"@en "b"@en } }',
            [["a-b", ""]],
        ),
        ("SELECT (COUNT(*) AS ?n) (?n + 1 AS ?m) (?m * 2 AS ?k) { VALUES ?x { 1 2 3 } }", [["3", "4", "8"]]),
        ("SELECT ?y { { SELECT (COUNT(*) AS ?n) (?n + 1 AS ?y) { } } }", [["2"]]),
        ("SELECT (TRUE AS ?t) (False AS ?f) (\"TRUE\" AS ?s) {}", [["true", "false", "TRUE"]]),
    ],
)  # fmt: skip
def test_a_repaired_query_is_answered_as_the_specification_has_it(
    store: ox.Store, query: str, expected: list[Any]
) -> None:
    assert ask(store, query) == sorted(expected, key=str)


def test_without_graphs_there_is_nothing_in_them() -> None:
    assert ask(ox.Store(), "SELECT ?g ?x { GRAPH ?g { VALUES ?x { 1 } } }") == []


def test_a_blank_node_is_made_for_each_solution(store: ox.Store) -> None:
    query = 'SELECT (BNODE("a b") AS ?b) (BNODE("a b") AS ?c) (BNODE(?t) AS ?d) { VALUES ?t { "x" "y" } }'
    (b, c, d), (e, f, g) = ask(store, query)
    assert b == c
    assert e == f
    assert len({b, d, e, g}) == 4


@pytest.mark.parametrize(
    "query",
    [
        "SELECT (COUNT(COUNT(*)) AS ?n) {}",
        "SELECT (SUM(1 + (MAX(?x))) AS ?n) {}",
        "SELECT * { BIND(<<( <<( :a :p :b )>> :p :o )>> AS ?x) }",
        "SELECT * { BIND(<<( 'text' :p :o )>> AS ?x) }",
        "SELECT * { FILTER(<<( 1 :p :o )>> = ?x) }",
    ],
)
def test_what_only_pyoxigraph_takes_is_refused(query: str) -> None:
    with pytest.raises(QueryError) as caught:
        repairs.checked(Query(query))
    assert caught.value.line == 1
    assert caught.value.column is not None


@pytest.mark.parametrize(
    "query",
    [
        "SELECT (COUNT(*) AS ?n) (MAX(?x) AS ?m) { ?s ?p ?x }",
        "SELECT (COUNT(*) AS ?n) { FILTER(EXISTS { SELECT (COUNT(*) AS ?k) { ?s ?p ?o } }) }",
        "SELECT * { ?s ?p <<( <<( :a :p :b )>> :p :o )>> }",
        "SELECT * { GRAPH ?g { ?s ?p ?o . VALUES ?s { :a } } }",
        "SELECT ?x { ?x :p* ?y . ?a ?b ?c }",
        "SELECT (?a * ?b AS ?c) { ?s :p ?a ; :q ?b }",
    ],
)
def test_all_else_stays_as_it_is(store: ox.Store, query: str) -> None:
    whole = Query("PREFIX : <urn:> " + query)
    assert repairs.checked(whole) is whole
    assert repairs.repaired(whole, store) is whole
