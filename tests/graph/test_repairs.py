"""Where pyoxigraph departs from the specification, and a query is repaired before it is asked."""

from __future__ import annotations

import time
from typing import Any

import pyoxigraph as ox
import pytest

from worlds import QueryError
from worlds.graph.query import repairs
from worlds.graph.query.evaluation import Selected, run
from worlds.graph.query.graphs import Operators
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
    found = run(store, Query("PREFIX : <urn:> " + query))
    assert isinstance(found, Selected)
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
    assert repairs.repaired(whole) is whole
    assert Operators(store, lambda *_: None, None, []).plain(whole) is whole


@pytest.mark.parametrize(
    "query",
    [
        'SELECT (COUNT(DISTINCT ?b) AS ?c) { VALUES ?x { 1 2 } BIND(BNODE("x") AS ?b) }',
        'SELECT * { SELECT (BNODE("x") AS ?b) {} }',
        'SELECT (COUNT(DISTINCT BNODE("x")) AS ?c) { VALUES ?x { 1 2 } }',
        'CONSTRUCT { ?b :v ?x } { VALUES ?x { 1 2 } BIND(BNODE("x") AS ?b) }',
    ],
)
def test_a_blank_node_for_each_solution_is_refused_elsewhere(store: ox.Store, query: str) -> None:
    with pytest.raises(QueryError, match="BNODE with an argument is allowed in the SELECT clause only"):
        ask(store, query)


@pytest.mark.parametrize("value", ["<urn:a>", "<urn:c>", "<urn:nowhere>", "1"])
@pytest.mark.parametrize(
    "pattern",
    [
        "{ BIND(?s AS ?o) }",
        "{ ?o :p ?z MINUS { ?s :p 1 } }",
        "{ { SELECT (COUNT(*) AS ?o) { ?s :p ?x } } }",
        "{ SELECT ?o { ?s :p ?o } ORDER BY ?s LIMIT 1 }",
        "{ GRAPH ?g { ?o :p ?x MINUS { ?s :p ?x } } }",
        "{ GRAPH ?g { { SELECT ?o { ?s ?p ?o } } FILTER(BOUND(?s) && ?s != ?g) } }",
        "{ ?s :p* ?o }",
        "{ { ?s :p ?o } UNION { ?o :p ?s } OPTIONAL { ?o :q ?s } FILTER NOT EXISTS { ?s :n ?o } }",
    ],
)
def test_a_binding_is_as_if_written_whatever_the_query_gives(store: ox.Store, pattern: str, value: str) -> None:
    def bound(form: str) -> Any:
        term = ox.Literal(1) if value == "1" else ox.NamedNode(value[1:-1])
        return run(store, Query(f"PREFIX : <urn:> {form} {pattern}", bindings={"s": term}))

    written = pattern.replace("BOUND(?s)", "true").replace("BY ?s", f"BY ({value})").replace("?s", value)
    rows = ask(store, f"SELECT ?o {written}")
    for form in ("SELECT ?o", "SELECT ?s ?o", "SELECT *"):
        assert sorted([row["o"].value] for row in bound(form)) == rows
    assert bound("ASK") == bool(rows)
    assert {(one.object.value,) for one in bound("CONSTRUCT { :x :y ?o }")} == {*map(tuple, rows)}


@pytest.mark.parametrize(
    ("query", "value", "told"),
    [
        ("ASK { BIND(?s AS ?o) }", ox.BlankNode("x"), "line 1, column 12: ?s is bound to a blank node"),
        ("SELECT * { ?o ?p ?z MINUS { ?s ?p 1 } }", ox.BlankNode("x"), "no BIND, MINUS or sub-SELECT"),
        ("SELECT ?s { { SELECT ?o { ?s ?p ?o } } }", ox.BlankNode("x"), "no BIND, MINUS or sub-SELECT"),
        ("SELECT ?o { ?s ?p ?o }", ox.BlankNode("x"), "the SELECT must give it too"),
        (
            "SELECT ?o { ?o ?p ?s }",
            ox.Triple(ox.NamedNode("urn:a"), ox.NamedNode("urn:a"), ox.BlankNode()),
            "must give",
        ),
        ("ASK { GRAPH ?s {} }", ox.Literal("a"), "a term is in a place that does not allow it"),
        ("ASK { ?s ?p !! }", ox.Literal("a"), "line 1, column 15: "),
        ("SELECT ?s { VALUES ?s { 1 } }", ox.Literal(1), "cannot give it another value"),
    ],
)
def test_a_binding_that_the_query_cannot_take_is_an_error(query: str, value: Any, told: str) -> None:
    with pytest.raises(QueryError) as refused:
        run(ox.Store(), Query(query, bindings={"s": value}))
    assert told in str(refused.value)


@pytest.mark.parametrize("outer", ["?s ?o", "*"])
@pytest.mark.parametrize("inner", ["?s ?o", "DISTINCT ?o ?s", "?s"])
def test_a_sub_select_may_give_what_is_bound(store: ox.Store, outer: str, inner: str) -> None:
    query = Query(f"PREFIX : <urn:> SELECT {outer} {{ ?s :p ?o {{ SELECT {inner} {{ ?s :p ?o }} }} }}")
    found: Any = run(store, query.replaced(bindings={"s": ox.NamedNode("urn:a")}))
    assert set(query.ordered([variable.value for variable in found.variables])) == {"s", "o"}
    expected = {value for (value,) in ask(store, "SELECT ?o { :a :p ?o }")}
    assert {(row["s"].value, row["o"].value) for row in found} == {("urn:a", value) for value in expected}


def test_what_does_not_parse_with_its_bindings_keeps_the_time_limit() -> None:
    query = Query("SELECT ?x { ?x ?p (" + "1 " * 1000 + ") }", bindings={"p": ox.Literal(1)}, timeout=1)
    began = time.monotonic()
    with pytest.raises(QueryError):
        run(ox.Store(), query.started())
    assert time.monotonic() - began < 15


def test_a_blank_node_is_bound_where_patterns_match_it(store: ox.Store) -> None:
    ((*_, node, _),) = store.quads_for_pattern(None, ox.NamedNode("urn:q"), None)
    found: Any = run(store, Query("SELECT * { ?s ?p ?x OPTIONAL { ?x ?q ?y } }", bindings={"x": node}))
    assert [row["x"] for row in found] == [node]
