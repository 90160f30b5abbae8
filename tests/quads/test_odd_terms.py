"""Terms that are allowed, but odd."""

from __future__ import annotations

from typing import Any

import pyoxigraph as ox
import rdflib

import worlds
from tests.support.odd_input import EX, P, check_kept, exported, filled, quads_of, select
from tests.support.oracle import problems
from worlds import World
from worlds.graph.terms import XSD


def typed(value: object, name: str) -> ox.Literal:
    return ox.Literal(str(value), datatype=ox.NamedNode(XSD + name))


def test_numbers_beyond_what_sql_can_count() -> None:
    numbers = [2**31, -(2**31) - 1, 2**53 + 1, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 2**64, 10**400, 0]
    check_kept([typed(number, "integer") for number in numbers])
    forms = ["007", "-0", "+5", "1.50", "1e0", "INF", "NaN", "yes", "", " 1 "]
    check_kept([typed(form, name) for form in forms for name in ("integer", "decimal", "double", "boolean", "date")])
    with worlds.open(embedder=None) as world:
        world.add([(EX, P, number) for number in (*numbers, float("inf"), float("nan"), -0.0, True)])
        found = {row.o.toPython() for row in select(world, "SELECT ?o { ?s ?p ?o FILTER (isNumeric(?o)) }")}
        assert {number for number in numbers if abs(number) < 2**63} <= found
        assert len(world) == len(numbers) + 4


def test_languages_of_odd_case(world: World) -> None:
    tags = ["EN", "en-GB", "zh-Hant-TW", "x-private", "i-klingon", "de-DE-1996", "sr-Latn"]
    world.add([(f"{EX}{tag}", P, ox.Literal("kite", language=tag)) for tag in tags])
    world.load(b'<http://a/b> <http://a/c> "kite"@En-gB , "kite"@ZH-hant-tw .', format="turtle")
    (hit,) = (hit for hit in world.search("kite") if hit.text == "kite")
    assert {object.language for _, _, object, _ in hit.quads} == {tag.lower() for tag in tags}
    for sought, expected in (("en", 1), ("EN-gb", 1), ("zh-HANT", 1), ("zh", 1), ("ZH-tw", 0), ("x", 1), ("I", 1)):
        assert len(world.search("kite", languages=sought)) == expected, sought
    assert len(world.search("kite", languages="")) == 0
    assert len(world.search("kite", exclude={"languages": ["En", "DE"]})) == 1
    assert world.query("ASK { <http://a/b> ?p 'kite'@EN-GB }") is True
    assert world.remove([("http://a/b", "http://a/c", '"kite"@EN-GB')]).removed == 1


def test_right_to_left_with_its_direction(world: World) -> None:
    document = '<http://a/b> <http://a/c> "שלום kite"@he--rtl , "שלום kite"@he , "kite"@en--ltr .'
    world.load(document.encode(), format="turtle")
    hits = world.search("שלום")
    assert [len(hit.quads) for hit in hits] == [2, 1]
    directed = hits[0]
    assert directed.literal == ox.Literal("שלום kite", language="he", direction=ox.BaseDirection.RTL)
    assert directed.to_dict()["language"] == "he"
    assert directed.to_dict()["quads"][0] == ["<http://a/b>", "<http://a/c>", '"שלום kite"@he--rtl', None]
    assert len(world.search("שלום", languages="he")) == 1
    assert select(world, 'SELECT ?o { ?s ?p ?o FILTER (LANGDIR(?o) = "rtl") }')[0].o == directed.literal
    with worlds.open(embedder=None) as other:
        other.load(exported(world), format="nq")
        assert quads_of(exported(other)) == quads_of(exported(world))


def test_long_and_foreign_iris(world: World) -> None:
    odd = [
        EX + "x" * 100_000,
        EX + "é中😀/a%20b?q=1&r='2'#frag(3)",
        "urn:x",
        "mailto:ann@example.org",
        "HTTP://EXAMPLE.org/%7Ea/../b",
        EX + "e\u0301",
        EX + "\u00e9",
    ]
    world.add([(iri, P, ox.Literal(f"text {n}")) for n, iri in enumerate(odd)])
    world.add([(odd[0], odd[0], odd[0], odd[0])])
    for number, iri in enumerate(odd):
        (hit,) = world.search(f'"text {number}"', mode="text", subjects=iri)
        assert hit.subject == rdflib.URIRef(iri)
        assert world.query("ASK { ?s ?p ?o }", bindings={"s": iri}) is True
        assert world.query(f"ASK {{ <{iri}> ?p 'text {number}' }}") is True
    assert world.stats().iris == len(odd) + 1
    with worlds.open(embedder=None) as other:
        other.load(exported(world, "trig"), format="trig")
        assert quads_of(exported(other)) == quads_of(exported(world))
    assert problems(world) == []


def test_triple_terms_inside_one_another() -> None:
    def nested(depth: int) -> ox.Triple:
        value: Any = ox.Literal("kite at the bottom", language="en", direction=ox.BaseDirection.LTR)
        for level in range(depth):
            value = ox.Triple(ox.NamedNode(f"{EX}t{level % 3}"), ox.NamedNode(P), value)
        assert isinstance(value, ox.Triple)
        return value

    check_kept([nested(depth) for depth in (1, 2, 3, 30)], formats=("nq", "nt", "turtle", "trig"))
    with filled([nested(5)]) as world:
        assert world.stats().triple_terms == 5
        assert world.stats().chunks == 0  # what is quoted is not said


def test_two_thousand_named_graphs(world: World) -> None:
    count = 2000

    def document(word: bytes) -> bytes:
        line = b'<http://example.org/%d> <http://example.org/p> "%s %d" <http://example.org/g%d> .\n'
        return b"".join(line % (n, word, n % 7, n) for n in range(count))

    assert world.load(document(b"kite"), format="nq").chunks == 7
    assert world.stats().graphs == count
    graphs = [f"{EX}g{n}" for n in range(count)]
    (hit,) = world.search("kite", graphs=graphs[5])
    assert hit.graph == rdflib.URIRef(graphs[5])
    assert len(world.search("kite", graphs=graphs)) == 7
    assert len(world.search("kite", graphs=graphs[::2], where="?subject ?p ?o")) == 7
    assert len(world.search("kite", exclude={"graphs": graphs[:-1]})) == 1
    found = select(world, "SELECT (COUNT(DISTINCT ?g) AS ?n) { GRAPH ?g { ?s ?p ?o } }")
    assert found[0].n.toPython() == count
    change = world.load(document(b"heron"), format="nq", mode="replace")
    assert (change.added, change.removed) == (count, count)
    assert world.query("ASK { GRAPH ?g { ?s ?p ?o } FILTER CONTAINS(?o, 'kite') }") is False
    assert quads_of(exported(world, "trig"), ox.RdfFormat.TRIG) == quads_of(document(b"heron"))
    assert problems(world) == []
