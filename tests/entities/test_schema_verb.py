from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from rdflib import RDF, RDFS, XSD, Literal, URIRef

import worlds
from tests.support.command_line import ok
from tests.support.embedder import HashingEmbedder

EX = "http://example.org/"
DATA = f"""
@prefix ex: <{EX}> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
ex:Film rdfs:label "Film"@en, "Spielfilm"@de .
ex:metropolis a ex:Film ; rdfs:label "Metropolis"@de ; ex:year 1927 ; ex:director ex:lang ; ex:seen [ ex:year 1990 ] .
ex:m a ex:Film, ex:Work ; rdfs:label "M" ; ex:year "1931"^^xsd:gYear ; ex:director ex:lang .
ex:lang a ex:Person ; rdfs:label "Fritz Lang"@en .
ex:g1 {{ ex:m ex:note "a thriller"@en . ex:m a ex:Film . }}
ex:g2 {{ ex:lang ex:note "a director"@en ; ex:born 1890 . }}
"""


@pytest.fixture
def films() -> Iterator[worlds.World]:
    with worlds.open(embedder=None) as world:
        world.load(DATA.encode(), format="trig")
        yield world


def iri(name: str) -> URIRef:
    return URIRef(EX + name)


def predicate(schema: worlds.records.Schema, name: URIRef) -> Any:
    return next(one for one in schema.predicates if one.iri == name)


# --- against what the quads say ---------------------------------------------------------------------------------------


def expected(world: worlds.World, graphs: set[Any] | None = None) -> dict[str, Any]:
    quads = [quad for quad in world.quads() if graphs is None or quad[3] in graphs]
    predicates = Counter(p for _, p, _, _ in quads)
    return {
        "quads": len(quads),
        "classes": Counter(o for o, _ in {(o, s) for s, p, o, _ in quads if p == RDF.type}),
        "predicates": predicates,
        "subjects": Counter(p for p, _ in {(p, s) for s, p, _, _ in quads}),
        "graphs": Counter(g for _, _, _, g in quads),
    }


def found(schema: worlds.records.Schema) -> dict[str, Any]:
    return {
        "quads": schema.quads,
        "classes": Counter({one.iri: one.instances for one in schema.classes}),
        "predicates": Counter({one.iri: one.quads for one in schema.predicates}),
        "subjects": Counter({one.iri: one.subjects for one in schema.predicates}),
        "graphs": Counter({one.name: one.quads for one in schema.graphs}),
    }


def test_the_counts_are_those_of_the_quads(films: worlds.World) -> None:
    assert found(films.schema()) == expected(films)


def test_the_counts_are_those_of_the_example(world: worlds.World) -> None:
    world.load("examples/space.ttl", embed=False)
    schema = world.schema(limit=500)
    assert found(schema) == expected(world)
    assert schema.class_count == len(schema.classes)
    assert schema.predicate_count == len(schema.predicates)
    assert (schema.revision, schema.graph_count) == (1, 0)


@pytest.mark.parametrize(
    ("graphs", "names"),
    [("ex:g1", {iri("g1")}), (["ex:g1", "ex:g2"], {iri("g1"), iri("g2")}), ("default", {None}), ("ex:none", set())],
    ids=["one", "two", "default", "unknown"],
)
def test_graphs_narrow_everything(films: worlds.World, graphs: Any, names: set[Any]) -> None:
    assert found(films.schema(graphs=graphs)) == expected(films, names)


def test_languages_of_graphs(films: worlds.World) -> None:
    assert films.schema().languages == {"en": 4, "de": 2, "": 1}
    assert films.schema(graphs="ex:g2").languages == {"en": 1}
    assert films.schema(graphs="ex:none").languages == {}


def test_the_commonest_come_first_and_the_rest_is_counted(films: worlds.World) -> None:
    schema = films.schema(limit=1)
    assert [one.iri for one in schema.classes] == [iri("Film")]
    assert schema.class_count == 3
    assert [(one.iri, one.quads) for one in schema.predicates] == [(RDFS.label, 5)]
    assert schema.predicate_count == 7
    assert [one.name for one in schema.graphs] == [None, iri("g1")]
    assert (schema.graph_count, schema.quads) == (2, len(films))


def test_an_instance_that_two_graphs_name_counts_once(films: worlds.World) -> None:
    (film, *_) = films.schema().classes
    assert (film.iri, film.label, film.instances) == (iri("Film"), "Film", 2)
    assert sorted(value.term for value in film.examples) == [iri("m"), iri("metropolis")]


# --- predicates -------------------------------------------------------------------------------------------------------


def test_the_kinds_of_objects(films: worlds.World) -> None:
    schema = films.schema()
    year = predicate(schema, iri("year"))
    assert {(kind.kind, kind.datatype, kind.language) for kind in year.kinds} == {
        ("literal", XSD.integer, None),
        ("literal", XSD.gYear, None),
    }
    label = predicate(schema, RDFS.label)
    assert {(kind.datatype, kind.language) for kind in label.kinds} == {(None, "en"), (None, "de"), (XSD.string, None)}
    assert [kind.kind for kind in predicate(schema, iri("seen")).kinds] == ["blank node"]
    director = predicate(schema, iri("director"))
    assert [kind.kind for kind in director.kinds] == ["IRI"]
    assert director.subject_classes == (iri("Film"), iri("Work"))
    assert director.object_classes == (iri("Person"),)
    assert [(value.term, value.label) for value in director.examples] == [(iri("lang"), "Fritz Lang")]
    assert director.label == "director"


def test_no_class_of_a_predicate_is_missed(world: worlds.World, tmp_path: Path) -> None:
    things = [(iri(f"t{number}"), RDF.type, iri("Hardware")) for number in range(4000)]
    things += [(iri(f"s{number}"), RDF.type, iri(f"Service{number}")) for number in range(12)]
    prices = [(subject, iri("price"), Literal(9)) for subject, _, _ in things]
    parts = [
        (iri("t1"), iri("part"), iri("t2")),
        (iri("t1"), iri("part"), iri("nowhere")),
        (iri("t3"), iri("part"), iri("t9")),
    ]
    loose = [(iri("loose"), iri("price"), Literal(1)), (iri("t1"), RDFS.label, Literal("A"))]
    world.add([*things, *prices, *parts, *loose], embed=False)
    schema = world.schema()
    price, part = predicate(schema, iri("price")), predicate(schema, iri("part"))
    assert price.subject_classes[0] == iri("Hardware")
    assert (len(price.subject_classes), price.subject_class_count, price.object_class_count) == (10, 13, 0)
    assert (part.object_classes, part.untold) == ((iri("Hardware"),), 1)
    assert (schema.untyped, schema.unlabelled, schema.sampled) == (1, 4012, False)
    world.file.backup(tmp_path / "copy.db")
    assert " 13 " in ok("schema", tmp_path / "copy.db")


def test_names_that_match_or_are_near(tmp_path: Path) -> None:
    with worlds.open(embedder=Costly()) as world:
        things = [(iri(f"t{n}"), RDF.type, iri("Service")) for n in range(3)]
        world.add([*things, (iri("t1"), iri("price"), Literal(1)), (iri("t1"), iri("weight"), Literal("2"))])
        found = world.schema(matching="cost")
        assert [one.iri for one in found.predicates] == [iri("price")]
        assert (found.classes, found.class_count, found.predicate_count) == ((), 0, 1)
        assert [one.iri for one in world.schema(matching="SERV").classes] == [iri("Service")]
        world.embedder = None
        assert world.schema(matching="cost").predicates == ()
        assert [one.iri for one in world.schema(matching="price").predicates] == [iri("price")]
        assert world.schema().nearest("servce", "predicates") == []


class Costly(HashingEmbedder):
    """An embedder to which a cost is a price."""

    def embed_documents(self, texts: list[str]) -> NDArray[np.float32]:
        return super().embed_documents([text.replace("cost", "price") for text in texts])


def test_triple_terms_are_a_kind(world: worlds.World) -> None:
    world.load(b"<http://e/s> <http://e/p> <<( <http://e/a> <http://e/b> <http://e/c> )>> .", format="nt")
    (one,) = world.schema().predicates
    assert [kind.kind for kind in one.kinds] == ["triple term"]


def test_of_many_quads_a_sample_tells_the_kinds(world: worlds.World) -> None:
    mixed = [
        (iri(f"s{number}"), iri("p"), Literal(number) if number % 2 else Literal(f"text {number}", lang="en"))
        for number in range(3000)
    ]
    few = [(iri(f"s{number}"), iri("p"), iri(f"o{number}")) for number in range(300)]
    world.add([*mixed, *few], embed=False)
    (one,) = world.schema().predicates
    assert (one.quads, one.subjects) == (3300, 3000)
    assert {(kind.kind, kind.language) for kind in one.kinds} == {("literal", None), ("literal", "en"), ("IRI", None)}
    assert len(one.examples) == 3


# --- the rest ---------------------------------------------------------------------------------------------------------


def test_prefixes_are_those_that_are_used(films: worlds.World) -> None:
    films.bind("other", "http://other.example/")
    assert films.schema().prefixes == {
        "rdf": str(RDF),
        "rdfs": str(RDFS),
        "xsd": str(XSD),
        "ex": EX,
    }


def test_an_empty_world_and_an_empty_graph(world: worlds.World) -> None:
    schema = world.schema()
    assert found(schema) == {name: 0 if name == "quads" else Counter() for name in found(schema)} | {
        "graphs": Counter({None: 0})
    }
    assert (schema.class_count, schema.predicate_count, schema.graph_count) == (0, 0, 0)
    world.update("CREATE GRAPH <http://e/g>")
    schema = world.schema()
    assert [(one.name, one.quads) for one in schema.graphs] == [(None, 0), (URIRef("http://e/g"), 0)]
    assert (schema.quads, schema.predicates) == (0, ())


def test_it_sees_an_open_transaction(world: worlds.World) -> None:
    with pytest.raises(RuntimeError), world.transaction():
        world.add([(iri("a"), RDF.type, iri("Thing"))])
        assert [one.iri for one in world.schema().classes] == [iri("Thing")]
        raise RuntimeError
    assert world.schema().classes == ()


def test_to_dict_is_json(films: worlds.World) -> None:
    told = films.schema().to_dict()
    assert json.loads(json.dumps(told)) == told
    assert told["classes"][0]["examples"][0].keys() == {"term", "label"}
    assert told["graphs"][0] == {"name": None, "quads": expected(films, {None})["quads"]}


@pytest.mark.parametrize("limit", [0, -1, True, 1.5, "3"])
def test_a_wrong_limit(films: worlds.World, limit: Any) -> None:
    with pytest.raises(ValueError, match="limit must be a whole number from 1 on"):
        films.schema(limit=limit)


def test_a_graph_that_is_no_name(films: worlds.World) -> None:
    with pytest.raises(ValueError, match="'nope' is neither an IRI"):
        films.schema(graphs="nope")


def test_the_command(films: worlds.World, path: Path) -> None:
    films.file.backup(path)
    shown = run("schema", str(path))
    assert shown[0].split() == ["revision", "1"]
    assert "classes (3)" in shown
    assert any(line.startswith("ex:Film") and "2" in line.split() for line in shown)
    assert "graphs (3)" in shown
    assert json.loads("\n".join(run("schema", str(path), "--json"))) == films.schema().to_dict()
    few = run("schema", str(path), "--graph", "ex:g2", "-n", "1")
    assert "predicates (1)" in few
    assert "predicate count  2" in few


def run(*arguments: str) -> list[str]:
    done = subprocess.run([sys.executable, "-m", "worlds", *arguments], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()
