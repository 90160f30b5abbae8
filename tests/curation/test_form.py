"""World.entities.form: fields by shapes and by habits, against a slow count over all triples."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rdflib import RDF, Literal, URIRef

import worlds
from worlds import World
from worlds.errors import ArgumentError
from worlds.records import Form

EX = "http://ex/"
SHAPES = b"""
@prefix : <http://ex/> . @prefix sh: <http://www.w3.org/ns/shacl#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:PersonShape a sh:NodeShape ; sh:targetClass :Person ; sh:property
  [ sh:path rdfs:label ; sh:order 1 ; sh:minCount 1 ; sh:uniqueLang true ; sh:languageIn ( "en" "de" ) ;
    sh:name "Name"@en , "Nom"@fr ; sh:description "As on the passport." ] ,
  [ sh:path :born ; sh:order 2 ; sh:maxCount 1 ; sh:datatype xsd:date ; sh:minInclusive "1800-01-01"^^xsd:date ] ,
  [ sh:path :worksFor ; sh:order 3 ; sh:class :Firm ] ,
  [ sh:path :mood ; sh:order 4 ; sh:in ( "glad" "sad" ) ; sh:defaultValue "glad" ] ,
  [ sh:path :code ; sh:order 5 ; sh:pattern "^[A-Z]+$" ; sh:datatype xsd:string ] ,
  [ sh:path :page ; sh:order 6 ; sh:nodeKind sh:IRI ] ,
  [ sh:path [ sh:inversePath :owns ] ; sh:maxCount 3 ] .
:Cook rdfs:subClassOf :Person .
[] a sh:NodeShape ; sh:targetClass :Person ; sh:property [ sh:path :born ; sh:minCount 1 ] .
[] a sh:NodeShape ; sh:targetNode :ann ; sh:property [ sh:path :crown ; sh:maxCount 1 ] .
"""
DATA = b"""
@prefix : <http://ex/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:Cook rdfs:subClassOf :Person ; rdfs:label "Cook"@en , "Koch"@de .
:f a :Firm ; rdfs:label "Firm" .
:ann a :Cook ; rdfs:label "Ann"@en , "Anna"@en ; :born "1700-01-01"^^xsd:date ; :code "abc" ; :worksFor :bob .
:bob a :Firm ; rdfs:label "Bob & Co"@en .
"""


def fields(form: Form) -> dict[str, Any]:
    return {str(one.predicate).rsplit("/", 1)[-1].rsplit("#", 1)[-1]: one for one in form.fields}


@pytest.fixture
def world() -> Any:
    with worlds.open(embedder=None) as made:
        made.bind("", EX)
        made.load(DATA, format="turtle")
        made.shapes.load(SHAPES, format="turtle")
        yield made


def test_shapes_make_fields(world: World) -> None:
    form = world.entities.form(":ann", language="en")
    found = fields(form)
    assert list(found)[:6] == ["label", "born", "worksFor", "mood", "code", "page"]
    assert {name: one.widget for name, one in found.items()} == {
        "label": "text", "born": "date", "worksFor": "entity", "mood": "choice", "code": "text", "page": "iri",
        "crown": "text",
    }  # fmt: skip
    assert {name: (one.least, one.most) for name, one in found.items()} == {
        "label": (1, None), "born": (1, 1), "worksFor": (0, None), "mood": (0, None), "code": (0, None),
        "page": (0, None), "crown": (0, 1),
    }  # fmt: skip
    assert found["label"].label == "Name"
    assert found["label"].help == "As on the passport."
    assert found["label"].languages == ("en", "de")
    assert found["label"].one_each
    assert fields(world.entities.form(":ann", language="fr"))["label"].label == "Nom"
    assert [(str(one.term), one.label) for one in found["worksFor"].classes] == [(EX + "Firm", None)]
    assert [str(one.term) for one in found["mood"].choices] == ["glad", "sad"]
    assert found["mood"].closed
    assert str(found["mood"].default) == "glad"
    assert found["code"].pattern == "^[A-Z]+$"
    assert str(found["born"].minimum) == "1800-01-01"
    assert all(one.declared for one in found.values())
    assert [str(value.term) for value in found["label"].values] == ["Ann", "Anna"]
    assert (str(form.iri), form.label, form.revision) == (EX + "ann", "Ann", world.history(1)[0].revision)


def test_violations_stand_at_their_fields(world: World) -> None:
    found = fields(world.entities.form(":ann"))
    assert {name for name, one in found.items() if one.problems} == {"label", "born", "code"}
    world.edit(
        remove=[(":ann", "rdfs:label", '"Anna"@en'), (":ann", ":code", '"abc"')],
        add=[(":ann", ":code", '"ABC"'), (":ann", ":crown", '"a"'), (":ann", ":crown", '"b"')],
    )
    found = fields(world.entities.form(":ann"))
    assert {name for name, one in found.items() if one.problems} == {"born", "crown"}
    world.add([(f":thing{n}", ":owns", ":ann") for n in range(4)])
    assert len(world.entities.form(":ann").problems) == 1  # of the inverse path, which is no field


def test_a_new_entity_has_the_form_of_its_types(world: World) -> None:
    form = world.entities.form(types=":Cook", language="de")
    assert (form.iri, form.label, [(str(one.term), one.label) for one in form.types]) == (
        None, None, [(EX + "Cook", "Koch")],
    )  # fmt: skip
    found = fields(form)
    assert found["born"].least == 1
    assert "crown" not in found
    assert all(one.values == () and one.problems == () for one in form.fields)
    assert fields(world.entities.form(types=":Nothing")) == {}
    # A known entity that gets a class has the fields of it, too.
    assert {"born", "mood"} <= fields(world.entities.form(":f", types=":Person")).keys()


def test_what_is_no_form(world: World) -> None:
    with pytest.raises(ArgumentError):
        world.entities.form()
    assert world.entities.form(":unknown").fields == ()
    for wrong in ('"a text"', "_:b"):
        with pytest.raises(ValueError, match="types"):
            world.entities.form(types=wrong)
    with pytest.raises(ValueError, match="prefix"):
        world.entities.form("nope:x")


def test_the_kinds_of_values_make_the_widgets() -> None:
    values = {
        "number": ["1", "2.5", "1e3"],
        "boolean": ["true"],
        "date": ['"2020-01-01"^^xsd:date'],
        "moment": ['"2020-01-01T00:00:00Z"^^xsd:dateTime'],
        "year": ['"2020"^^xsd:gYear'],
        "text": ['"short"', '"short"@en'],
        "long text": [f'"{"long " * 30}"'],
        "entity": [":other"],
        "iri": ["<http://elsewhere/x>"],
        "literal": ['"P1D"^^xsd:duration', '"x"^^:own'],
    }
    for widget, texts in values.items():
        for text in texts:
            with worlds.open(embedder=None) as world:
                world.bind("", EX)
                lines = [f":t{n} a :T ; :p {text} ." for n in range(3)] + [":other a :O ."]
                head = "@prefix : <http://ex/> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> . "
                world.load((head + "\n".join(lines)).encode(), format="turtle")
                assert (fields(world.entities.form(":t0"))["p"].widget, text) == (widget, text)
                assert (fields(world.entities.form(types=":T"))["p"].widget, text) == (widget, text)


def test_the_graph_of_the_form_is_that_of_most() -> None:
    with worlds.open(embedder=None) as world:
        world.bind("", EX)
        world.add([(f":t{n}", RDF.type, ":T", ":mine") for n in range(3)])
        world.add([(":t0", ":p", n, ":theirs") for n in range(4)])
        assert str(world.entities.form(types=":T").graph) == EX + "theirs"
        assert str(world.entities.form(":t1", types=":T").graph) == EX + "theirs"
        assert str(world.entities.form(":t0").graph) == EX + "theirs"
        # In a scope, nothing of another graph is told.
        scoped = world.only(graphs=":mine")
        assert scoped.entities.form(":t0").fields == ()
        assert str(scoped.entities.form(types=":T").graph) == EX + "mine"


def test_a_giant_among_them_does_not_make_a_form_slow() -> None:
    with worlds.open(embedder=None) as world:
        world.bind("", EX)
        world.add([(":giant", ":part", n) for n in range(25_000)])
        world.add([(f":t{n}", ":name", f'"n{n}"') for n in range(20)])
        world.add([(name, RDF.type, ":T") for name in (":giant", *(f":t{n}" for n in range(20)))])
        found = fields(world.entities.form(types=":T"))
        assert found.keys() <= {"part", "name"}
        giant = fields(world.entities.form(":giant"))["part"]
        assert (giant.count, len(giant.values)) == (25_000, 200)


THINGS = [f"{EX}t{n}" for n in range(6)]
OBJECTS = [*(URIRef(thing) for thing in THINGS[:3]), Literal("a"), Literal("b", lang="en"), Literal(1), Literal(2)]
TRIPLES = st.lists(
    st.tuples(st.sampled_from(THINGS), st.sampled_from([f"{EX}p{n}" for n in range(3)]), st.sampled_from(OBJECTS)),
    max_size=40,
)


@given(TRIPLES, st.lists(st.sampled_from(THINGS), min_size=1, unique=True), st.booleans())
def test_habits_are_what_a_count_over_all_triples_gives(
    triples: list[tuple[str, str, Any]], typed: list[str], twice: bool
) -> None:
    with worlds.open(embedder=None) as world:
        quads = [(s, p, o, EX + "g" if twice else None) for s, p, o in triples]
        world.add([(s, p, o) for s, p, o in triples] + [quad for quad in quads if quad[3]])
        world.add([(thing, RDF.type, EX + "T") for thing in typed])
        form = world.entities.form(types=EX + "T")
    held: dict[str, dict[str, set[Any]]] = defaultdict(lambda: defaultdict(set))
    for s, p, o in triples:
        if s in typed:
            held[p][s].add(o)
    wanted = {p: by for p, by in held.items() if len(by) >= 0.15 * len(typed)}
    found = {str(one.predicate): one for one in form.fields}
    assert found.keys() == wanted.keys()
    for predicate, by in wanted.items():
        one = found[predicate]
        values = set().union(*by.values())
        literals = [value for value in values if isinstance(value, Literal)]
        assert one.share == pytest.approx(len(by) / len(typed))
        single = len(by) >= 5 and all(len(each) == 1 for each in by.values())
        assert one.most == (1 if single else None)
        assert set(one.languages) <= {value.language for value in literals if value.language}
        assert (one.datatype is not None) == (2 * len(literals) >= len(values) - len(literals))
        assert not one.declared
        assert one.values == ()
