"""Each filter of a search, with known answers."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
import rdflib

import worlds
from tests.support.drivers import native
from tests.support.embedder import HashingEmbedder
from tests.support.search_worlds import EX, add_texts, iri, texts
from worlds import FilterError, World, WorldsError
from worlds.core.search.options import gathered


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"subjects": "ex:kite"}, 4),
        ({"subjects": rdflib.URIRef(EX + "kite"), "predicates": "ex:label"}, 3),
        ({"subjects": f"<{EX}kite>"}, 4),
        ({"predicates": ["ex:label", iri("note")]}, 6),
        ({"predicates": ("ex:label",)}, 4),
        ({"predicates": {"ex:label"}}, 4),
        ({"types": "ex:Bird"}, 4),
        ({"graphs": "default"}, 4),
        ({"graphs": ox.DefaultGraph()}, 4),
        ({"graphs": "ex:g"}, 2),
        ({"graphs": ["ex:g", "default"]}, 6),
        ({"types": "ex:Bird", "graphs": "ex:g"}, 0),  # the type stands in the default graph
        ({"types": "ex:Bird", "graphs": ["ex:g", "default"]}, 4),
        ({"languages": "en"}, 3),
        ({"languages": "EN-gb"}, 1),
        ({"languages": ""}, 2),
        ({"languages": ["", "de"]}, 3),
        ({"languages": "e"}, 0),
        ({"where": "?subject ex:year ?y FILTER(?y > 2000)"}, 4),
        ({"where": "?subject ex:year 2020", "graphs": "ex:g"}, 0),
        ({"exclude": {"types": "ex:Bird"}}, 2),
        ({"exclude": {"predicates": "ex:note", "languages": "de"}}, 3),
        ({"exclude": {"where": "?subject ex:year ?y"}}, 1),
        ({"exclude": {"graphs": "default"}}, 2),
        ({"exclude": {}}, 6),
        ({"subjects": []}, 0),
        ({"graphs": []}, 0),
        ({"exclude": {"subjects": []}}, 6),
        ({"subjects": "ex:unknown"}, 0),
        ({"predicates": "http://nowhere.example/p"}, 0),
        ({"types": "ex:Unknown", "subclasses": True}, 0),
        ({"graphs": "ex:unknown"}, 0),
        ({"languages": "xx"}, 0),
        ({"where": "?subject a ex:Unknown"}, 0),
        ({"where": "?subject ex:year ?y", "graphs": "ex:unknown"}, 0),
        ({"exclude": {"subjects": "ex:unknown"}}, 6),
    ],
    ids=str,
)
def test_filters(birds: World, filters: dict[str, Any], expected: int) -> None:
    for mode in ("vector", "hybrid"):
        assert len(birds.search("kite milan", mode=mode, **filters)) == expected
    assert len(birds.search("kite milan", mode="text", **filters)) == expected
    assert birds.search("kite", explain=True, **filters).explain.eligible in (expected, None)


def test_a_blank_node_is_a_subject_to_filter_by(birds: World) -> None:
    (hit,) = birds.search("nobody", mode="text")
    assert len(birds.search("kite", subjects=hit.subject)) == 1
    assert len(birds.search("kite", exclude={"subjects": hit.subject})) == 5


@pytest.mark.parametrize(
    "filters",
    [
        {"subjects": "no iri"},
        {"subjects": "nowhere:x y"},
        {"subjects": 5},
        {"subjects": ox.Literal("kite")},
        {"subjects": ox.DefaultGraph()},
        {"subjects": [None]},
        {"predicates": ox.BlankNode("b")},
        {"types": '"text"'},
        {"graphs": "graph"},
        {"languages": 5},
        {"languages": "e n"},
        {"languages": ["en", None]},
        {"where": ""},
        {"where": "  "},
        {"where": 5},
        {"where": "?subject ex:year"},
        {"where": "?subject unknown:year 5"},
        {"where": "?subject ex:year ?y } LIMIT 1 #"},
        {"where": "SERVICE <http://localhost/> { ?subject ?p ?o }"},
        {"exclude": "ex:kite"},
        {"exclude": {"subject": "ex:kite"}},
        {"exclude": {"exclude": {}}},
        {"exclude": {"types": "no iri"}},
        {"exclude": {"where": "?subject"}},
    ],
    ids=str,
)
def test_what_cannot_be_a_filter_is_an_error(birds: World, filters: dict[str, Any]) -> None:
    with pytest.raises(FilterError):
        birds.search("kite", **filters)


def test_wrong_options_are_errors(birds: World) -> None:
    wrong: list[dict[str, Any]] = [
        {"limit": 0},
        {"limit": -1},
        {"limit": 2.5},
        {"limit": 10**9},
        {"candidates": 0},
        {"mode": "both"},
        {"plan": "fast"},
        {"syntax": "sql"},
        {"k": -1},
        {"k": float("nan")},
        {"weights": {"words": 1}},
        {"weights": {"text": -1}},
        {"weights": {"text": float("inf")}},
        {"fusion": "sum"},
        {"normalise": "z"},
        {"min_similarity": 1.5},
        {"min_similarity": float("nan")},
        {"rerank": 5},
        {"rerank": Decimal("sNaN")},
        {"rerank": ""},
        {"rerank_top": 0},
        {"rerank_timeout": -1},
        {"boost": "much"},
        {"boost": {"factor": 2}},
        {"boost": {"predicate": '"text"', "weight": 1}},
        {"boost": {"where": "?subject ?p ?o", "factor": -1}},
        {"decay": "ex:date"},
        {"decay": {"predicate": "ex:year"}},
        {"decay": {"predicate": "ex:year", "half_life": 0}},
        {"decay": {"predicate": "ex:year", "half_life": 1, "now": "soon"}},
        {"decay": {"predicate": "ex:year", "half_life": 1, "evergreen_types": "no iri"}},
        {"diversity": -0.1},
        {"group_by": "predicate"},
        {"per_subject": 0, "group_by": "subject"},
        {"per_subject": 2},
        {"cursor": "no cursor"},
        {"cursor": 5},
    ]
    for options in wrong:
        with pytest.raises(ValueError, match=next(iter(options))):
            birds.search("kite", **gathered(options))
    with pytest.raises(TypeError):
        birds.search(5)  # type: ignore[arg-type]  # that is what is tested


@native
def test_the_native_index_must_be_there(path: Path) -> None:
    with worlds.open(path, embedder=HashingEmbedder(), vector_index=False) as world:
        add_texts(world, "red kite")
        with pytest.raises(WorldsError, match="build_vector_index"):
            world.search("kite", ranking=worlds.Ranking(plan="index"))
    with worlds.open(path, embedder=HashingEmbedder(), vector_index=True) as world:
        assert texts(world.search("kite", ranking=worlds.Ranking(plan="index"))) == ["red kite"]


def test_a_class_hierarchy_with_a_cycle(world: World) -> None:
    world.bind("ex", EX)
    world.load(
        b"""
        @prefix ex: <http://example.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
        ex:A rdfs:subClassOf ex:B . ex:B rdfs:subClassOf ex:C . ex:C rdfs:subClassOf ex:A , ex:Top .
        ex:a a ex:A ; ex:label "kite a" . ex:c a ex:C ; ex:label "kite c" . ex:t a ex:Top ; ex:label "kite top" .
        """,
        format="ttl",
    )
    assert set(texts(world.search("kite", types="ex:A"))) == {"kite a"}
    assert set(texts(world.search("kite", types="ex:A", subclasses=True))) == {"kite a", "kite c"}
    assert len(world.search("kite", types="ex:Top", subclasses=True)) == 3
    world.load(
        b"""
        @prefix ex: <http://example.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
        GRAPH ex:g { ex:x a ex:A ; ex:label "kite x" . ex:y a ex:X ; ex:label "kite y" . ex:X rdfs:subClassOf ex:A }
        """,
        format="trig",
    )
    assert set(texts(world.search("kite", types="ex:C", subclasses=True, graphs="ex:g"))) == set()
    assert set(texts(world.search("kite", types="ex:A", subclasses=True, graphs="ex:g"))) == {"kite x", "kite y"}
    assert len(world.search("kite", types="ex:A", subclasses=True, graphs="default")) == 2
    assert len(world.search("kite", types="ex:C", subclasses=True)) == 4
    assert len(world.search("kite", exclude={"types": "ex:A"}, subclasses=True)) == 1
