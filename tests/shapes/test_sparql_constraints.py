"""SPARQL constraints and components: many nodes at once, at the guard, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import worlds
from tests.shapes.test_guard import Rows, changes, check_one
from tests.shapes.test_validate import CLASSES, NODES, PREFIXES, triples
from tests.shapes.test_validate import shapes as core
from worlds import World

OWN = "urn:worlds:shapes"
DECLARED = """<http://ex/> sh:declare [ sh:prefix "ex" ; sh:namespace "http://ex/" ] ,
  [ sh:prefix "rdfs" ; sh:namespace "http://www.w3.org/2000/01/rdf-schema#" ] .
"""
BODIES = [
    "$this ex:p ?value . FILTER(isIRI(?value))",
    "$this ex:p ?value . $this ex:q ?other . FILTER(?value = ?other)",
    "$this ex:p ?middle . ?middle ex:q ?value .",
    "$this ex:p ?middle . OPTIONAL { ?middle ex:q ?value } FILTER(!bound(?value))",
    "?value ex:p $this . FILTER NOT EXISTS { $this ex:q ?value }",
    "$this a ?value . { FILTER($this = ex:n1) } UNION { $this ex:p ?any . ?any ex:p $this }",
    "{ SELECT $this (COUNT(?o) AS ?n) { $this ex:p ?o } GROUP BY $this } FILTER(?n > 1)",
    "?value ex:p ?o . ?o ex:q ?o",
    "$this ex:p/ex:q ?value",
    "$this ex:p* ?value . FILTER(?value != $this)",
    "$this ?any ?value . FILTER(isLiteral(?value))",
    "$this a ?class . ?class rdfs:subClassOf ?value",
    "$this ex:p ?value . FILTER EXISTS { ?value a/rdfs:subClassOf* ex:A }",
    "$this ex:p ?x ; ex:q ?value . FILTER NOT EXISTS { ?value ex:r ?x }",
    "BIND($this AS ?value) FILTER NOT EXISTS { $this ex:p ?x . ?y ex:q ?x }",
    "?x ex:p ex:n1 . ?x ex:q ?value . $this ex:p ?value",
    "GRAPH ?graph { $this ex:p ?value }",
    "$this $PATH ?value . FILTER(isLiteral(?value))",
    "SELECT $this ?value { $this ex:p ?value } ORDER BY ?value LIMIT 1",
]
COMPONENTS = """
ex:Component a sh:ConstraintComponent ; sh:parameter [ sh:path ex:known ] ;
  sh:validator [ sh:ask "ASK { ?value ex:p $known }" ; sh:prefixes <http://ex/> ] .
ex:Other a sh:ConstraintComponent ; sh:parameter [ sh:path ex:least ], [ sh:path ex:most ; sh:optional true ] ;
  sh:nodeValidator [ sh:select "SELECT $this { $this ex:p ?x FILTER(?x < $least || (bound($most) && ?x > $most)) }" ;
    sh:prefixes <http://ex/> ] ;
  sh:validator [ sh:ask "ASK { FILTER(isIRI(?value)) }" ] .
"""
targets = st.one_of(
    st.sampled_from(NODES).map(lambda node: f"sh:targetNode {node}"),
    st.sampled_from(CLASSES).map(lambda name: f"sh:targetClass {name}"),
    st.sampled_from(["sh:targetSubjectsOf ex:p", "sh:targetObjectsOf ex:q"]),
)
asked = st.one_of(
    st.sampled_from(BODIES).map(
        lambda body: (
            f'sh:sparql [ sh:prefixes <http://ex/> ; sh:select "'
            f'{body if body.startswith("SELECT") else f"SELECT $this ?value {{ {body} }}"}" ] '
        )
    ),
    st.sampled_from(["ex:known ex:n1", "ex:known ex:n1, ex:n2", "ex:least 2", "ex:least 1 ; ex:most 5"]),
)
shapes = st.tuples(targets, st.sampled_from(["ex:p", "( ex:p ex:q )", "[ sh:inversePath ex:p ]"]), asked).map(
    lambda three: (
        f"[] a sh:NodeShape ; {three[0]} ; sh:property [ sh:path {three[1]} ; {three[2]} ] ."
        if "$PATH" in three[2] or "ex:q" in three[1]
        else f"[] a sh:NodeShape ; {three[0]} ; {three[2]} ."
    )
)


def check(change: tuple[Rows, list[str], Rows, Rows, Rows]) -> None:
    data, some, *delta = change
    check_one(data, [DECLARED, COMPONENTS, *some], *delta)


@given(changes(shapes))
def test_the_guard_finds_what_is_new(change: tuple[Rows, list[str], Rows, Rows, Rows]) -> None:
    check(change)


@pytest.mark.long
@pytest.mark.timeout(7200)
@settings(max_examples=10_000)
@given(changes(shapes | core))
def test_the_guard_finds_what_is_new_in_ten_thousand_changes(change: tuple[Rows, list[str], Rows, Rows, Rows]) -> None:
    check(change)


@given(st.lists(triples, max_size=14), shapes)
def test_many_nodes_at_once_are_as_one_by_one(data: Rows, shape: str) -> None:
    with worlds.open(embedder=None) as world:
        world.load((PREFIXES + "".join(f"{s} {p} {o} .\n" for s, p, o in data)).encode(), format="turtle")
        given = (PREFIXES + DECLARED + COMPONENTS + shape).encode()
        once = sorted(str(one.focus) + str(one.value) for one in world.shapes.validate(shapes=given))
        nodes = {node for s, _, o, _ in world.quads() for node in (s, o)} | {f"http://ex/n{n}" for n in range(5)}
        apart = [
            str(one.focus) + str(one.value)
            for node in nodes
            for one in world.shapes.validate(shapes=given, subjects=[node])
        ]
        # A result's focus may be a value that several nodes lead to: then it comes once for each of them.
        assert set(apart) == set(once)


@pytest.fixture
def events(world: World) -> World:
    world.bind("ex", "http://ex/")
    world.load(
        b"""@prefix ex: <http://ex/> . ex:a a ex:Event ; ex:start 5 ; ex:end 7 .
        ex:b a ex:Event ; ex:start 5 ; ex:end 3 . _:c a ex:Event ; ex:start 9 ; ex:end 1 .""",
        format="turtle",
    )
    world.shapes.load(
        (
            PREFIXES
            + DECLARED
            + """ex:EventShape a sh:NodeShape ; sh:targetClass ex:Event ; sh:sparql [ sh:prefixes <http://ex/> ;
            sh:message "it ends at {?value}, before {?start}" ; sh:select '''SELECT $this ?value ?start WHERE {
            $this ex:start ?start ; ex:end ?value . FILTER(?value < ?start) }''' ] ."""
        ).encode(),
        format="turtle",
    )
    return world


def test_a_query_says_what_it_found(events: World) -> None:
    found = {str(one.value): one for one in events.shapes.validate()}
    assert found.keys() == {"3", "1"}
    assert found["3"].message == "it ends at 3, before 5"
    assert found["3"].component.endswith("#SPARQLConstraintComponent")


def test_the_guard_asks_only_what_a_change_can_touch(events: World) -> None:
    events.shapes.guard = "reject"
    with pytest.raises(worlds.ValidationError, match="it ends at 4"):
        events.add([("ex:a", "ex:end", 4)])
    assert events.add([("ex:b", "ex:end", 8)]).added == 1
    assert events.remove([("ex:b", "ex:end", 3)]).removed == 1
    assert not [one for one in events.shapes.validate() if str(one.focus) == "http://ex/b"]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT $this { $this ?p ?o MINUS { $this ex:p ?o } }", "MINUS"),
        ("SELECT $this { VALUES ?x { 1 } }", "VALUES"),
        ("SELECT $this { SERVICE <http://ex/> { ?s ?p ?o } }", "SERVICE"),
        ("SELECT $this { { SELECT ?x { ?x ?p ?o } } }", "sub-SELECT"),
        ("SELECT $this { BIND(1 AS $this) }", "another value"),
        ("SELECT ?x { $this ?p ?x }", r"does not give \$this"),
        ("SELECT $this { $this $PATH ?x }", "PATH"),
        ("SELECT $this {", "does not parse"),
        ("ASK { $this ?p ?x }", "no SELECT"),
    ],
)
def test_queries_that_cannot_be_checked_are_refused(query: str, message: str, events: World) -> None:
    text = f"ex:S a sh:NodeShape ; sh:targetNode ex:a ; sh:sparql [ sh:select '{query}' ; sh:prefixes <http://ex/> ] ."
    with pytest.raises(worlds.ShapesError, match=message):
        events.shapes.validate(shapes=(PREFIXES + DECLARED + text).encode())
