"""GRAPH, held against the algebra of the specification over random nested patterns, graphs and datasets."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.algebra import Dataset, Pattern, counted, names, solutions, written
from worlds import QueryError, QueryTimeout
from worlds.graph.query.evaluation import run
from worlds.graph.query.query import Query

NODES = [ox.NamedNode(f"urn:{name}") for name in "abc"]
GRAPHS = [ox.NamedNode(f"urn:g{number}") for number in range(3)]
ABSENT = ox.NamedNode("urn:nope")
PREDICATES = [ox.NamedNode("urn:p"), ox.NamedNode("urn:q")]
ONE, TWO = ox.Literal(1), ox.Literal(2)
UNKNOWN = ox.NamedNode("urn:zz")
BLANK = ox.BlankNode("b")
VARIABLES = ["x", "y", "g"]

triples = st.tuples(
    st.sampled_from([*NODES, GRAPHS[0], BLANK]),
    st.sampled_from(PREDICATES),
    st.sampled_from([*NODES, GRAPHS[1], BLANK, ONE, TWO]),
)
graphs = st.frozensets(triples, max_size=4)
datasets = st.builds(
    Dataset, graphs, st.dictionaries(st.sampled_from([*GRAPHS, ox.BlankNode("h")]), graphs, max_size=3)
)
variables = st.sampled_from(VARIABLES)
constants = st.sampled_from([*NODES, GRAPHS[0], ONE])
subjects = variables | st.sampled_from([*NODES, GRAPHS[0], UNKNOWN])
objects = variables | constants
names_of_graphs = variables | st.sampled_from([*GRAPHS, ABSENT])


@st.composite
def patterns(draw: Any, depth: int = 4, *, test: bool = True) -> Pattern:
    leaves = ["triples", "triples", "path", "values", "empty"]
    kind = draw(
        st.sampled_from(
            leaves
            if depth <= 0
            else [
                *leaves,
                "graph",
                "graph",
                "graph",
                "join",
                "union",
                "optional",
                "minus",
                "filter",
                "bind",
                "select",
                "count",
            ]
        )
    )
    if kind == "triples":
        pattern = st.tuples(subjects, st.sampled_from(PREDICATES) | st.just("y"), objects)
        return ("triples", tuple(draw(st.lists(pattern, min_size=1, max_size=2))))
    if kind == "empty":
        return ("triples", ())
    if kind == "path":
        return ("path", draw(subjects), PREDICATES[0], draw(objects), draw(st.booleans()))
    given = variables if test else st.sampled_from(["v", "w"])  # what EXISTS means by a variable given twice is open
    if kind == "values":
        return ("values", draw(given), tuple(draw(st.lists(constants | st.none(), max_size=2))))
    inside = draw(patterns(depth - 1, test=test))
    if kind == "graph":
        return ("graph", draw(names_of_graphs), inside)
    if kind == "filter":
        return ("filter", inside, draw(conditions(depth - 1, test=test)))
    if kind == "bind":
        free = [name for name in ((*VARIABLES, "z") if test else ("v", "w")) if name not in names(inside)]
        return ("bind", inside, free[0], draw(constants)) if free else inside
    if kind == "select":
        listed = sorted(names(inside))
        chosen = tuple(name for name in listed if draw(st.booleans())) or tuple(listed)
        return ("select", inside, chosen, draw(st.booleans())) if chosen else inside
    if kind == "count":
        return ("count", inside, draw(given))
    other = draw(patterns(depth - 1, test=test))
    if kind == "optional":
        return ("optional", inside, other, draw(st.none() | conditions(depth - 1, test=False)))
    return (kind, inside, other)


@st.composite
def conditions(draw: Any, depth: int, *, test: bool = True) -> Pattern:
    kind = draw(st.sampled_from(["bound", "=", "=", *(["exists"] * 3 if test else [])]))
    found: Pattern
    if kind == "exists":
        found = ("exists", draw(patterns(depth - 1, test=False)))
    elif kind == "bound":
        found = ("bound", draw(variables))
    else:
        found = ("=", draw(variables), draw(objects))
    return ("not", found) if draw(st.booleans()) else found


def stored(data: Dataset) -> ox.Store:
    store = ox.Store()
    store.extend(ox.Quad(*triple, ox.DefaultGraph()) for triple in data.default)
    for name, graph in data.named.items():
        store.add_graph(name)
        store.extend(ox.Quad(*triple, name) for triple in graph)
    return store


def asked(data: Dataset, query: Query) -> Counter[frozenset[tuple[str, Any]]]:
    found: Any = run(stored(data), query)
    columns = [variable.value for variable in found.variables]
    return counted(dict(zip(columns, one, strict=True)) for one in found)


def has(pattern: Any, kind: str) -> bool:
    return isinstance(pattern, tuple) and (
        (bool(pattern) and pattern[0] == kind) or any(has(part, kind) for part in pattern)
    )


@pytest.mark.parametrize("named", [None, GRAPHS[:2]])
@given(data=datasets, pattern=patterns(3))
def test_graph_is_an_operator(named: Any, data: Dataset, pattern: Pattern) -> None:
    pattern = pattern if has(pattern, "graph") else ("graph", "g", pattern)
    seen = data if named is None else Dataset(data.default, {one: data.named.get(one, frozenset()) for one in named})
    query = Query(f"SELECT * {{ {written(pattern)} }}", named_graphs=named)
    assert asked(data, query) == counted(solutions(seen, pattern)), query.text


P, Q = PREDICATES
A, B, C = NODES
G, H = GRAPHS[:2]
DATA = Dataset(
    frozenset({(A, P, G), (A, P, ONE), (BLANK, P, H), (B, P, ABSENT)}),
    {G: frozenset({(A, P, ONE), (BLANK, P, B)}), H: frozenset({(BLANK, Q, TWO), (B, P, G)})},
)
VALUE = ("triples", (("s", P, "v"),))
ROW = ("values", "r", (ONE,))


@pytest.mark.parametrize(
    "inside",
    [
        ("graph", "v", ROW),
        ("graph", "g", ("filter", ROW, ("=", "v", G))),
        ("graph", "g", ("filter", ROW, ("=", "v", "g"))),
        ("graph", "v", ("filter", ROW, ("exists", ("triples", (("s", P, "o"),))))),
        ("graph", "g", ("minus", ("triples", (("s", "p", "o"),)), ("triples", (("s", P, "v"),)))),
        ("graph", "g", ("select", ("filter", ROW, ("=", "v", ONE)), ("r",), False)),
        ("graph", "g", ("select", ("filter", VALUE, ("=", "v", ONE)), ("v",), False)),
        ("graph", "g", ("optional", ROW, ("triples", (("s", P, B),)), ("=", "v", G))),
        ("filter", ROW, ("not", ("exists", ("graph", "v", ("filter", ROW, ("bound", "s")))))),
        ("graph", "g", ("path", "s", P, "v", True)),
        ("union", ("graph", "g", ("count", VALUE, "n")), ("graph", "v", ("triples", (("s", P, "o"),)))),
    ],
    ids=lambda pattern: written(pattern),
)
def test_what_exists_tests_knows_the_values_around_it(inside: Pattern) -> None:
    for pattern in (("filter", VALUE, ("exists", inside)), ("filter", VALUE, ("not", ("exists", inside)))):
        query = Query(f"SELECT * {{ {written(pattern)} }}")
        assert asked(DATA, query) == counted(solutions(DATA, pattern)), query.text


@pytest.mark.parametrize("ends", [("x", "x"), ("x", "y"), ("y", "x"), ("x", NODES[0])])
@pytest.mark.parametrize("data", [Dataset(frozenset(), {}), Dataset(frozenset({(B, P, C)}), {})])
def test_a_path_of_length_zero_is_tested_from_a_node_that_the_graph_has_not(data: Dataset, ends: Any) -> None:
    test = ("exists", ("union", ("path", ends[0], P, ends[1], True), ("triples", ((UNKNOWN, P, B),))))
    pattern = ("filter", ("path", "x", P, NODES[0], True), test)
    assert asked(data, Query(f"SELECT * {{ {written(pattern)} }}")) == counted(solutions(data, pattern))


@pytest.mark.parametrize("right", [("triples", ()), ("values", "y", (ONE,))])
@pytest.mark.parametrize("left", [("path", "x", P, "x", True), ("values", "z", (ONE, TWO))])
def test_minus_in_exists_shares_nothing_of_what_stands_around(left: Pattern, right: Pattern) -> None:
    pattern = ("filter", ("values", "x", (A, B)), ("exists", ("minus", left, right)))
    assert asked(DATA, Query(f"SELECT * {{ {written(pattern)} }}")) == counted(solutions(DATA, pattern))


def test_lateral_is_refused_where_its_values_would_be_lost() -> None:
    text = "SELECT * { ?s <urn:p> ?v LATERAL { GRAPH ?g { VALUES ?r { 1 } FILTER(?v = 1) } } }"
    with pytest.raises(QueryError, match="line 1, column 26: LATERAL cannot give values to a GRAPH"):
        asked(DATA, Query(text))
    apart = "SELECT * { VALUES ?v { 1 2 } LATERAL { GRAPH ?g { VALUES ?r { 1 } } } }"
    assert asked(DATA, Query(apart)).total() == 4


def test_there_may_be_any_number_of_graphs() -> None:
    graphs = {ox.NamedNode(f"urn:n{number}"): frozenset({(A, P, ox.Literal(number))}) for number in range(1000)}
    data = Dataset(frozenset(), graphs)
    for pattern in (
        ("values", "x", (ONE,)),
        ("path", UNKNOWN, P, "x", True),
        ("minus", ("triples", (("s", "p", "o"),)), ("triples", ((A, P, ONE),))),
    ):
        found = asked(data, Query(f"SELECT * {{ GRAPH ?g {{ {written(pattern)} }} }}"))
        assert found.total() == len(graphs)
        assert {term for one in found for name, term in one if name == "g"} == set(graphs)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ?g ?x { GRAPH ?g { VALUES ?x { '}' } # GRAPH <urn:nope> {\n } }",
        "PREFIX : <urn:> SELECT ?g ?x FROM NAMED :g0 FROM NAMED <urn:g1> { GRAPH ?g { BIND('GRAPH ?g {' AS ?x) } }",
        "BASE <urn:x> SELECT ?g ?x { GRAPH ?g { { SELECT ?x { ?x ?p ?o } LIMIT 1 } } }",
        "SELECT ?g (COUNT(*) AS ?n) { GRAPH ?g { OPTIONAL { ?s <urn:q> ?o } } } GROUP BY ?g",
        "CONSTRUCT { ?g <urn:has> ?n } { GRAPH ?g { SELECT (COUNT(*) AS ?n) { ?s ?p ?o } } }",
    ],
)
def test_what_is_no_pattern_does_not_mislead(text: str) -> None:
    found = asked(DATA, Query(text)) if text.find("CONSTRUCT") else run(stored(DATA), Query(text))
    assert len(found) == 2  # type: ignore[arg-type]  # no ASK


def test_a_value_that_is_bound_from_outside_is_bound_inside() -> None:
    pattern = "SELECT ?g ?x ?r { GRAPH ?g { ?x <urn:p> ?y VALUES ?r { 1 } FILTER NOT EXISTS { ?x <urn:q> ?y } } }"
    found = asked(DATA, Query(pattern, bindings={"x": BLANK, "g": G}))
    assert found == counted([{"g": G, "x": BLANK, "r": ONE}])


def test_a_time_limit_stops_it() -> None:
    values = " ".join(map(str, range(300)))
    heavy = f"VALUES ?a {{ {values} }} VALUES ?b {{ {values} }} VALUES ?c {{ {values} }} FILTER(?a + ?b + ?c < 0)"
    with pytest.raises(QueryTimeout):
        asked(DATA, Query(f"SELECT ?g {{ GRAPH ?g {{ {heavy} }} }}", timeout=0.1).started())


def test_a_path_of_length_zero_may_begin_at_a_literal() -> None:
    """SPARQL 1.1, 18.4: a term leads to itself, whatever it is."""
    for ends in ("?y <urn:p>? 1", "?y <urn:p>? ?x", "1 <urn:p>* ?y"):
        query = Query(f"SELECT * {{ VALUES ?y {{ 1 }} FILTER EXISTS {{ {ends} }} }}")
        assert sum(asked(Dataset(frozenset(), {}), query).values()) == 1, ends
