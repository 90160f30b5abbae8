"""What `to_dict` of a record gives, and that its schema says so."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Annotated, Any, Literal, NamedTuple

import jsonschema
import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rdflib import BNode, URIRef
from rdflib import Literal as Text

import worlds
from worlds.graph.records import As, Count, Iri, Node, Plain, Quad, Record, Score, Spare, schemas, told

EX = "http://example.org/"


class Point(NamedTuple):
    """A place."""

    at: Count
    term: Node | None


@dataclass(frozen=True, slots=True)
class Inner(Record):
    """A part.

    More of it.
    """

    name: str
    score: Score = 0.0


@dataclass(frozen=True)
class Special(Inner):
    more: int = 1


@dataclass(frozen=True)
class Outer(Record):
    """All kinds of fields."""

    _also = ("size", "places")
    _untold = ("secret",)

    iri: Iri
    plain: Plain
    quads: tuple[Quad, ...]
    parts: Sequence[Inner]
    counts: Mapping[Node, Count]
    time: datetime | None
    kind: Literal["a", "b"]
    pair: tuple[str, int]
    secret: str = "s"
    spare: Annotated[tuple[Inner, ...], Spare] = ()
    upper: Annotated[str, As(str.upper, {"description": "Loud."})] = "x"
    _hidden: list[int] = field(default_factory=list)

    @property
    def size(self) -> Count:
        return len(self.parts)

    @cached_property
    def places(self) -> tuple[Annotated[Point, As(told, Point)], ...]:
        return (Point(1, None), Point(2, Text("x")))


def valid(document: Any, kind: type) -> None:
    """The document is JSON and agrees with the schema of a class, and has nothing of which that does not tell."""
    found = schemas([kind])
    strict = {name: {**one, "additionalProperties": False} for name, one in found.items()}
    whole = {"$ref": f"#/components/schemas/{kind.__name__}", "components": {"schemas": strict}}
    jsonschema.Draft202012Validator.check_schema(whole)
    jsonschema.validate(json.loads(json.dumps(document)), whole)


def outer(**more: Any) -> Outer:
    given: dict[str, Any] = {
        "iri": URIRef(EX + "a"),
        "plain": Text("5"),
        "quads": ((URIRef(EX + "a"), URIRef(EX + "p"), Text(5), None),),
        "parts": [Inner("i", 0.123456)],
        "counts": {URIRef(EX + "a"): 1},
        "time": None,
        "kind": "a",
        "pair": ("x", 1),
    }
    return Outer(**{**given, **more})


def test_each_field_as_its_annotation_says() -> None:
    assert outer().to_dict() == {
        "iri": EX + "a",
        "plain": "5",
        "quads": [[f"<{EX}a>", f"<{EX}p>", '"5"^^<http://www.w3.org/2001/XMLSchema#integer>', None]],
        "parts": [{"name": "i", "score": 0.1235}],
        "counts": {f"<{EX}a>": 1},
        "time": None,
        "kind": "a",
        "pair": ["x", 1],
        "upper": "X",
        "size": 1,
        "places": [{"at": 1, "term": None}, {"at": 2, "term": '"x"'}],
    }
    valid(outer().to_dict(), Outer)


def test_a_blank_node_is_no_iri() -> None:
    assert outer(iri=BNode("b")).to_dict()["iri"] == "_:b"
    assert outer(iri=EX + "text").to_dict()["iri"] == EX + "text"


def test_a_spare_field_is_told_where_it_holds_something() -> None:
    assert outer(spare=(Inner("i"),)).to_dict()["spare"] == [{"name": "i", "score": 0.0}]
    assert "spare" not in schemas([Outer])["Outer"]["required"]


def test_a_part_is_told_by_its_own_class() -> None:
    assert outer(parts=[Special("s")]).to_dict()["parts"] == [{"name": "s", "score": 0.0, "more": 1}]


def test_schemas_name_all_records_in_a_class_and_say_what_they_are() -> None:
    found = schemas([Outer])
    assert found.keys() == {"Outer", "Inner", "Point"}
    assert found["Inner"]["description"] == "A part."
    assert found["Outer"]["properties"]["upper"] == {"type": "string", "description": "Loud."}
    assert found["Outer"]["properties"]["kind"] == {"type": "string", "enum": ["a", "b"]}


@given(
    name=st.text(),
    score=st.floats(-1, 1),
    counts=st.dictionaries(st.sampled_from([URIRef(EX + "a"), Text("x", lang="en"), BNode("b")]), st.integers(0, 9)),
    time=st.none() | st.datetimes(timezones=st.just(UTC)),
    pair=st.tuples(st.text(st.characters(codec="utf-8")), st.integers(-(2**40), 2**40)),
)
def test_what_is_told_agrees_with_the_schema(name: str, score: float, **more: Any) -> None:
    told = outer(parts=[Inner(name, score)], **more).to_dict()
    valid(told, Outer)
    assert told["parts"] == [{"name": name, "score": round(score, 4)}]
    assert told["counts"] == {str(term.n3()): count for term, count in more["counts"].items()}
    assert told["time"] == (None if more["time"] is None else more["time"].isoformat())


# --- the answers of a world -------------------------------------------------------------------------------------------

DATA = """
    @prefix ex: <http://example.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
    @prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix sh: <http://www.w3.org/ns/shacl#> .
    ex:a a ex:C ; rdfs:label "Neil Armstrong"@en ; ex:age 5 ; ex:says "He walked on the Moon" ; ex:knows ex:b, _:n .
    ex:b a ex:C ; rdfs:label "Apollo 11" ; ex:age 5, 6 ; ex:knows ex:c . ex:c a ex:D ; rdfs:label "Moon" .
    ex:d a ex:D ; rdfs:label "Moon" ; ex:near "Apollo 11" . _:n rdfs:label "Blank thing" ; a ex:D .
    ex:age a owl:FunctionalProperty . ex:x a ex:C, ex:D ; rdfs:label "Odd" . ex:C owl:disjointWith ex:D .
"""
SHAPES = """
    @prefix ex: <http://example.org/> . @prefix sh: <http://www.w3.org/ns/shacl#> .
    ex:S a sh:NodeShape ; sh:targetClass ex:C ; sh:property [ sh:path ex:age ; sh:maxCount 1 ] .
"""
ANSWERS: dict[str, Any] = {
    "add": lambda w: w.add([("ex:a", "ex:knows", "ex:c", "ex:g")]),
    "merge": lambda w: w.curation.merge("ex:c", "ex:d"),
    "propose": lambda w: w.proposals.add(add=[("ex:a", "ex:p", 7)], why="because", confidence=0.5),
    "amend": lambda w: w.proposals.amend(
        w.proposals.add(add=[("ex:a", "ex:p", 8)]).id, add=[("ex:a", "ex:p", 9)], why="better"
    ),
    "split": lambda w: w.curation.split(w.curation.merge("ex:c", "ex:d").revision),
    "explain": lambda w: w.search("apollo moon", explain=True).explain,
    "hit": lambda w: w.search("apollo moon", explain=True)[0],
    "context": lambda w: w.context("Does Apollo 11 know the Moon?"),
    "describe": lambda w: w.describe("ex:a"),
    "neighbourhood": lambda w: w.entities.neighbourhood("ex:a"),
    "paths": lambda w: w.entities.paths("ex:a", "ex:c")[0],
    "resolve": lambda w: w.resolve("Moon"),
    "schema": lambda w: w.schema(),
    "stats": lambda w: w.stats(),
    "check": lambda w: w.check(),
    "mentions": lambda w: w.entities.mentions("Neil Armstrong saw the Moon"),
    "suggest_links": lambda w: w.curation.links()[0],
    "contradictions": lambda w: w.curation.contradictions()[0],
    "findings": lambda w: w.curation.contradictions(),
    "duplicates": lambda w: w.curation.duplicates(score=0.0)[0],
    "report": lambda w: w.curation.report(),
    "verify": lambda w: w.curation.verify(("ex:b", "ex:age", 7)),
    "verify words": lambda w: w.curation.verify("Apollo 11 knows Moon"),
    "history": lambda w: w.history(),
    "provenance": lambda w: w.revisions.provenance("ex:a")[0],
    "validate": lambda w: w.shapes.validate(shapes=SHAPES.encode()),
    "query": lambda w: w.explain("SELECT * { ?s ?p ?o }"),
}


@pytest.mark.parametrize("verb", ANSWERS)
def test_answers_agree_with_their_schemas(verb: str) -> None:
    with worlds.open(embedder=None) as w:
        w.bind("ex", EX)
        w.load(DATA.encode(), format="ttl", author="ada", message="first")
        found = ANSWERS[verb](w)
        document = found.to_dict()
        assert document
        valid(document, type(found))


def test_a_quad_of_a_finding_is_in_n_triples() -> None:
    with worlds.open(embedder=None) as w:
        w.bind("ex", EX)
        w.load(DATA.encode(), format="ttl", author="ada")
        quad = w.curation.contradictions().to_dict()["findings"][0]["quads"][0]
        assert quad["author"] == "ada"
        assert list(ox.parse(f"{' '.join(quad['quad'][:3])} .".encode(), format=ox.RdfFormat.N_TRIPLES))
