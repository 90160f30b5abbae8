"""What is odd, but valid, just works."""

from __future__ import annotations

import copy
import gzip
import io
import os
import pickle
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyoxigraph as ox
import pytest
import rdflib

import worlds
from tests.support.embedder import HashingEmbedder
from tests.support.oracle import problems
from worlds import Change, ConflictError, OpenError, Solutions, World
from worlds.graph.terms import XSD

EX = "http://example.org/"
P = EX + "p"

Objects = list[ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple]


def typed(value: object, name: str) -> ox.Literal:
    return ox.Literal(str(value), datatype=ox.NamedNode(XSD + name))


def names(folder: Path) -> list[str]:
    return sorted(item.name for item in folder.iterdir())


def texts(world: World, query: str, **options: Any) -> list[str]:
    return [hit.text for hit in world.search(query, mode="text", **options)]


def select(world: World, query: str) -> Solutions:
    found = world.query(query)
    assert isinstance(found, Solutions)
    return found


def exported(world: World, format: str = "nq") -> bytes:
    target = io.BytesIO()
    world.export(target, format=format)
    return target.getvalue()


def quads_of(document: bytes, format: ox.RdfFormat = ox.RdfFormat.N_QUADS) -> set[ox.Quad]:
    return set(ox.parse(document, format=format))


def filled(objects: Objects, **options: Any) -> World:
    """A world with a subject for each object, some added and some loaded."""
    world = worlds.open(embedder=HashingEmbedder())
    quads = [ox.Quad(ox.NamedNode(f"{EX}{n}"), ox.NamedNode(P), value) for n, value in enumerate(objects)]
    world.add(quads[::2], **options)
    world.load(ox.serialize(quads[1::2], format=ox.RdfFormat.N_TRIPLES), format="nt", **options)
    return world


def check_kept(objects: Objects, formats: tuple[str, ...] = ("nq", "nt", "turtle", "trig", "jsonld")) -> None:
    """Every object comes out as it went in, by export, by SPARQL, and by another world that loads the export."""
    with filled(objects) as world:
        held = quads_of(exported(world))
        assert {quad.object for quad in held} == set(objects)
        assert len(world) == len(set(objects))
        assert problems(world) == []
        for format in formats:
            with worlds.open(embedder=None) as other:
                other.load(exported(world, format), format=format)
                assert quads_of(exported(other)) == held, format
                assert problems(other) == []
        for number, value in enumerate(objects):
            assert world.query("ASK { ?s ?p ?o }", bindings={"s": f"{EX}{number}", "o": value}) is True
        for quad in held:
            assert world.remove([quad]).removed == 1
        assert len(world) == 0
        assert world.stats().chunks == 0
        assert problems(world) == []


# --- texts ------------------------------------------------------------------------------------------------------------


def test_literals_of_blanks_and_controls() -> None:
    odd = ["", " ", "\t", "\n", "\r", "\r\n", "a\rb", "a\nb", "a\r\nb", "\u00a0", "\u2028", "\ufeff", "\u200b", "\x85"]
    odd += [
        "\x1f",
        "a\x1fb",
        "\x02kite\x03",
        "\0",
        "a\0b",
        "\0\0\0",
        "\uffff",
        "\U0010ffff",
        '"',
        "\\",
        "\\u0000",
        "'''",
    ]
    check_kept([ox.Literal(text) for text in odd])
    check_kept([ox.Literal(text, language="en") for text in odd])


def test_blank_literals_are_no_texts(world: World) -> None:
    world.add([(EX, P, ox.Literal(text)) for text in ("", " ", "\n\t\r\n", "\u00a0\u2003", "\u2028")])
    assert len(world) == 5
    assert world.stats().chunks == 0


def test_a_literal_with_u0000(world: World) -> None:
    text = "before\0after words"
    world.add([(EX + "1", P, ox.Literal(text))])
    world.load(b'<http://example.org/2> <http://example.org/p> "alpha\\u0000beta gamma"@en , "\\u0000" .', format="ttl")
    for query in ("before", "after", "words", '"before after"'):
        (hit,) = world.search(query, mode="text")
        assert (hit.text, hit.start, hit.end, hit.literal) == (text, 0, len(text), rdflib.Literal(text))
        assert "**" in hit.snippet
        assert hit.quads == [(rdflib.URIRef(EX + "1"), rdflib.URIRef(P), rdflib.Literal(text), None)]
    assert texts(world, "beta") == ["alpha\0beta gamma"]
    assert world.query(r'ASK { ?s ?p "alpha\u0000beta gamma"@en }') is True
    assert select(world, f"SELECT ?o {{ <{EX}1> ?p ?o }}")[0].o == rdflib.Literal(text)
    with pytest.raises(ValueError, match=r"XML can't hold U\+0000"):
        exported(world, "rdfxml")
    assert world.remove([(EX + "1", P, ox.Literal(text))]).removed == 1
    assert texts(world, "after") == []


def test_marks_of_the_snippet_in_a_text_itself(world: World) -> None:
    world.add([(EX, P, ox.Literal("\x02red\x03 kite \x1f **bold** \x03\x02 end"))])
    (hit,) = world.search("kite", mode="text")
    assert hit.text == "\x02red\x03 kite \x1f **bold** \x03\x02 end"
    assert hit.snippet.count("kite") == hit.snippet.count("red") == 1
    assert "**kite**" in hit.snippet


def test_ten_megabytes_in_one_literal(path: Path) -> None:
    text = "".join(f"Sentence number {n} has words of its own. " for n in range(230_000)) + "The end is zzyzx."
    assert len(text) > 10_000_000
    document = ox.serialize(
        [ox.Quad(ox.NamedNode(EX), ox.NamedNode(P), ox.Literal(text))], format=ox.RdfFormat.N_TRIPLES
    )
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        began = time.monotonic()
        change = world.load(document, format="nt", embed=False)
        assert time.monotonic() - began < 30
        assert 10_000 < change.chunks < 50_000
        (hit,) = world.search("zzyzx", mode="text")
        assert text[hit.start : hit.end] == hit.text
        assert hit.end == len(text)
        assert hit.snippet.endswith("The end is **zzyzx**.")
        assert world.search('"number 229999"', mode="text")[0].text.count("number 229999") == 1
        assert str(hit.literal) == text
        assert len(select(world, "SELECT ?o { ?s ?p ?o }")[0].o) == len(text)
        assert len(exported(world)) > 10_000_000
        assert problems(world) == []
        assert world.remove([(EX, P, ox.Literal(text))]).removed == 1
        assert world.stats().chunks == 0


@pytest.mark.parametrize(
    "text",
    [
        "x" * 300_000,
        "a" + " " * 300_000 + "end",
        "中文分词测试" * 50_000 + "end",
        "😀" * 100_000 + " end",
        "a\n" * 100_000 + "end",
        "." * 300_000 + "end",
        "e" + "\u0301" * 100_000 + " end",
        "\u200d" * 100_000 + " end",
        "0123456789" * 30_000 + " end",
        "\0" * 100_000 + "end",
        "a\u0000b " * 50_000 + "end",
    ],
    ids=lambda text: ascii(text[:6]),
)
def test_long_texts_without_sentences(world: World, text: str) -> None:
    began = time.monotonic()
    change = world.add([(EX, P, ox.Literal(text))], embed=False)
    assert time.monotonic() - began < 10
    assert change.chunks < len(text) / 50
    for hit in world.search("end", mode="text"):
        assert hit.text == text[hit.start : hit.end]
    if not text.startswith("x"):
        assert len(world.search("end", mode="text")) == 1
    assert problems(world) == []


def test_the_same_text_a_hundred_thousand_times(world: World) -> None:
    count = 100_000
    lines = [b'<http://example.org/%d> <http://example.org/p> "the same text" .\n' % n for n in range(count)]
    change = world.load(b"".join(lines), format="nt")
    assert (change.added, change.chunks, change.embedded) == (count, 1, 1)
    (hit,) = world.search("same")
    assert len(hit.quads) == count
    assert hit.quads[0][0] == rdflib.URIRef(EX + "0")
    (hit,) = world.search("same", subjects=f"{EX}{count - 1}")
    assert [quad[0] for quad in hit.quads] == [rdflib.URIRef(f"{EX}{count - 1}")]
    assert world.load(lines[-1], format="nt", mode="replace").removed == count - 1
    (hit,) = world.search("same")
    assert len(hit.quads) == 1
    assert world.remove([(f"{EX}{count - 1}", P, '"the same text"')]).removed == 1
    assert len(world.search("same")) == 0
    assert problems(world) == []


# --- queries ----------------------------------------------------------------------------------------------------------

SAYINGS = {
    "en": "The red kite flies: it is what it is",
    "zh": "中文分词测试很有用",
    "ja": "東京タワーは高いです",
    "ar": "مرحبا بالعالم الجميل",
    "th": "ภาษาไทยเป็นภาษาที่สวยงาม",
    "ko": "한국어를 공부합니다",
    "he": "שלום עולם",
    "hi": "नमस्ते दुनिया",
    "ru": "Привет, мир",
    "el": "Καλημέρα κόσμε",
    "mixed": "Tokyo 東京 café naïve Straße ＷＩＤＥ",
    "emoji": "😀 party 🎉",
}


@pytest.fixture(scope="module")
def sayings() -> Iterator[World]:
    with worlds.open(embedder=HashingEmbedder()) as world:
        world.add([(EX + name, P, ox.Literal(text)) for name, text in SAYINGS.items()])
        yield world


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("中文", "zh"),
        ("分词", "zh"),
        ("测试很", "zh"),
        ("用", "zh"),
        ("東京", "ja mixed"),
        ("タワー", "ja"),
        ("مرحبا", "ar"),
        ("الجميل", "ar"),
        ("ภาษา", "th"),
        ("สวยงาม", "th"),
        ("한국", "ko"),
        ("공부", "ko"),
        ("שלום", "he"),
        ("नमस्ते", "hi"),
        ("привет", "ru"),
        ("МИР", "ru"),
        ("ΚΑΛΗΜΈΡΑ", "el"),
        ("cafe NAIVE", "mixed"),
        ("party", "emoji"),
        ("\u202ekite\u202c", "en"),
        ("\ufeffkite\u200b", "en"),
        ("KITE\n\tflies", "en"),
        ("what", "en"),  # a stop-word, but nothing else
        ("it is", "en"),
        ("kite \udfff", "en"),
        ("-kite", "en"),
        ("kite -red", ""),
        ("text:kite", "en"),
        ("kite AND (", "en"),
        ("\ud800", ""),
        ("\0", ""),
        ("!?.,;:-'\"", ""),
        ("😀", ""),
        ("", ""),
        (" \n\t", ""),
        ('"', ""),
        ("*", ""),
        ("\x01\x02\x1f", ""),
    ],
    ids=ascii,
)
def test_queries_of_all_scripts(sayings: World, query: str, found: str) -> None:
    hits = sayings.search(query, mode="text")
    assert {str(hit.subject).removeprefix(EX) for hit in hits} == set(found.split())
    for hit in hits:
        assert "**" in hit.snippet
    everything = sayings.search(query, limit=100)  # the embedder's list has all
    assert len(everything) == (len(SAYINGS) if query.strip() else 0)
    assert everything.notes == (() if query.strip() else ("the query is blank",))


@pytest.mark.parametrize(
    "query",
    [
        "kite " * 200_000,
        "kite" * 250_000,
        '"' * 1_000_000,
        "-" * 1_000_000,
        "(" * 1_000_000,
        "中" * 1_000_000,
        "*" * 10**6,
    ],
    ids=lambda query: query[:4],
)
def test_queries_of_a_million_characters(sayings: World, query: str) -> None:
    began = time.monotonic()
    hits = sayings.search(query)
    assert time.monotonic() - began < 5
    assert len(hits) == 10
    if query.startswith("kite "):
        assert hits[0].subject == rdflib.URIRef(EX + "en")


def test_queries_that_are_strings_of_another_kind(sayings: World) -> None:
    for query in (rdflib.Literal("kite"), np.str_("kite")):
        for syntax in ("words", "fts5"):
            assert len(sayings.search(query, mode="text", syntax=syntax)) == 1
    assert len(sayings.query(rdflib.Literal("SELECT * { ?s ?p ?o }"))) == len(SAYINGS)  # type: ignore[arg-type]  # solutions


def test_numbers_that_are_numpys(sayings: World) -> None:
    hits = sayings.search(
        "kite",
        limit=np.int64(3),  # type: ignore[arg-type]  # as an array gives it
        candidates=np.int32(50),  # type: ignore[arg-type]
        k=np.float32(20),  # type: ignore[arg-type]
        weights={"text": np.float64(2), "vector": 0},
        vector=np.ones(32, dtype=np.float64),
    )
    assert len(hits) == 3


def test_more_hits_wanted_than_there_are(sayings: World) -> None:
    hits = sayings.search("kite", limit=10_000)
    assert len(hits) == len(SAYINGS)
    with pytest.raises(IndexError):
        hits[len(SAYINGS)]
    assert [hit.text for hit in hits[5:10_000]] == [hit.text for hit in list(hits)[5:]]
    assert len(sayings.search("kite", limit=10_000, mode="text")) == 1


def test_filters_that_let_nothing_through(sayings: World) -> None:
    nothing: list[dict[str, Any]] = [
        {"subjects": []},
        {"types": ()},
        {"graphs": EX + "nowhere"},
        {"languages": set()},
        {"predicates": "urn:nowhere"},
        {"subjects": "_:nobody"},
        {"where": "?subject <urn:nowhere> ?o"},
        {"where": "BIND (1 AS ?subject)"},
        {"where": "?subject ?p ?o FILTER (1/0 > 2)"},
        {"where": "VALUES ?subject {}"},
    ]
    for filters in nothing:
        for mode in ("hybrid", "vector", "text"):
            assert len(sayings.search("kite", mode=mode, **filters)) == 0


def test_patterns_that_are_odd(sayings: World) -> None:
    for pattern in (
        "?subject ?p ?o # and a comment",
        "\n\n$subject ?p ?o\n",
        "{ SELECT ?subject { ?subject ?p ?o } }",
        "SELECT ?subject { ?subject ?p ?o }",
        "?subject ?p ?o FILTER (STR(?o) != '}')",
        "OPTIONAL { ?subject ?p ?o }",
    ):
        assert len(sayings.search("kite", mode="text", where=pattern)) == 1


# --- terms ------------------------------------------------------------------------------------------------------------


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
    found = {hit.literal.language for hit in world.search("kite")}
    assert found == {tag.lower() for tag in tags}
    for sought, expected in (("en", 2), ("EN-gb", 1), ("zh-HANT", 1), ("zh", 1), ("ZH-tw", 0), ("x", 1), ("I", 1)):
        assert len(world.search("kite", languages=sought)) == expected, sought
    assert len(world.search("kite", languages="")) == 0
    assert len(world.search("kite", exclude={"languages": ["En", "DE"]})) == len(tags) - 3
    assert world.query("ASK { <http://a/b> ?p 'kite'@EN-GB }") is True
    assert world.remove([("http://a/b", "http://a/c", '"kite"@EN-GB')]).removed == 1


def test_right_to_left_with_its_direction(world: World) -> None:
    document = '<http://a/b> <http://a/c> "שלום kite"@he--rtl , "שלום kite"@he , "kite"@en--ltr .'
    world.load(document.encode(), format="turtle")
    hits = world.search("שלום")
    assert len(hits) == 3
    directed = next(hit for hit in hits if getattr(hit.literal, "direction", None) == ox.BaseDirection.RTL)
    assert directed.literal == ox.Literal("שלום kite", language="he", direction=ox.BaseDirection.RTL)
    assert directed.to_dict()["language"] == "he"
    assert directed.to_dict()["quads"] == [["<http://a/b>", "<http://a/c>", '"שלום kite"@he--rtl', None]]
    assert len(world.search("שלום", languages="he")) == 2
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


# --- names of files ---------------------------------------------------------------------------------------------------

NAMES = [
    "a b",
    "it's",
    'a"b',
    "100%",
    "a%20b",
    "a?b",
    "a#b",
    "a;b",
    "a&b=c",
    "[a]",
    "a*",
    "-a",
    ".a",
    "~a",
    "file:a",
    "file::memory:",
    "libsql:a",
    ":memory:a",
    "a?mode=memory",
    "中文 😀",
    "e\u0301",
    "a\nb",
]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows forbids such names")
@pytest.mark.parametrize("name", NAMES)
def test_odd_names_of_worlds(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = f"{name}.db"
    for path in (file, Path(file), tmp_path / file):
        with worlds.open(path, embedder=HashingEmbedder()) as world:
            world.add([(f"{EX}{len(world)}", P, f'"kite {len(world)}"')])
            assert world.path == str(path)
    with worlds.open(file, embedder=HashingEmbedder(), read_only=True) as world:
        assert len(world.search("kite")) == len(world) == 3
        assert world.stats().bytes == (tmp_path / file).stat().st_size
    with worlds.open(file, embedder=None) as world:
        world.backup(f"{name}.backup")
        assert world.export(f"{name}.nq") == 3
    with worlds.open(f"{name}.backup", embedder=None) as world:
        assert len(world) == 3
    assert names(tmp_path) == sorted([file, f"{name}.backup", f"{name}.nq"])


@pytest.mark.skipif(sys.platform == "win32", reason="Windows forbids such names")
@pytest.mark.parametrize("name", NAMES)
def test_odd_names_of_sources(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    document = b'<#me> <http://example.org/p> "kite" , <> .'
    (tmp_path / f"{name}.ttl").write_bytes(document)
    (tmp_path / f"{name}.TTL.Gz").write_bytes(gzip.compress(document))
    with worlds.open(embedder=None) as world:
        assert world.load(f"{name}.ttl").added == 2
        assert world.load(Path(f"{name}.ttl")).added == 0
        subject = select(world, "SELECT ?s { ?s ?p 'kite' }")[0].s
        assert str(subject) == (tmp_path / f"{name}.ttl").as_uri() + "#me"
        assert world.load(f"{name}.TTL.Gz").added == 2
        assert world.load([f"{name}.ttl", f"{name}.TTL.Gz"]).added == 0


@pytest.mark.skipif(sys.platform != "linux", reason="other systems forbid such names")
def test_a_source_whose_name_is_not_unicode(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"\xff.ttl")
    path.write_bytes(b'<#me> <http://example.org/p> "kite" .')
    with worlds.open(embedder=None) as world:
        assert world.load(str(path)).added == 1
        assert world.load(tmp_path).added == 0
        assert "%FF.ttl#me" in str(world.search("kite")[0].subject)


def test_a_relative_path_after_the_folder_was_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with worlds.open("sub/world.db", embedder=HashingEmbedder()) as world:
        world.add([(EX, P, '"red kite"')])
        monkeypatch.chdir(tmp_path / "elsewhere")
        world.add([(EX, P, '"blue kite"')])
        assert len(world.search("kite")) == 2
        assert world.stats().bytes > 4096
        with pytest.raises(ValueError, match="is the world itself"):
            world.export("../sub/world.db", format="nq")
        world.compact()
        world.backup("backup.db")
        with worlds.open("../sub/world.db", embedder=None, timeout=0.1) as other:
            assert len(other) == 2
            with world.transaction(), pytest.raises(ConflictError, match="through another World"):
                other.add([(EX, P, '"x"')])
        assert problems(world) == []
    assert names(tmp_path / "sub") == ["world.db"]
    assert names(tmp_path / "elsewhere") == ["backup.db"]


def test_links_to_worlds(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link.db").symlink_to("real/world.db")
    (tmp_path / "folder").symlink_to("real")
    with worlds.open(tmp_path / "link.db", embedder=HashingEmbedder()) as one:  # the link's target is made
        one.add([(EX, P, '"red kite"')])
        with worlds.open(tmp_path / "folder" / "world.db", embedder=HashingEmbedder(), timeout=0.1) as other:
            assert len(other.search("kite")) == 1
            other.add([(EX, P, '"blue kite"')])
            with one.transaction(), pytest.raises(ConflictError):
                other.add([(EX, P, '"x"')])
            assert len(one.search("kite")) == 2
            assert one.stats().bytes == other.stats().bytes > 4096
        one.add([(EX, P, '"green kite"')])
    assert (tmp_path / "link.db").is_symlink()
    assert names(tmp_path / "real") == ["world.db"]
    with worlds.open(tmp_path / "link.db", embedder=None, read_only=True) as world:
        assert len(world) == 3


# --- several worlds, results ------------------------------------------------------------------------------------------


def test_two_worlds_at_once(tmp_path: Path) -> None:
    embedder = HashingEmbedder()
    with (
        worlds.open(tmp_path / "a.db", embedder=embedder) as a,
        worlds.open(tmp_path / "b.db", embedder=embedder) as b,
        worlds.open(embedder=embedder) as c,
        worlds.open(embedder=embedder) as d,
    ):
        with pytest.raises(ZeroDivisionError), a.transaction():
            a.add([(EX + "a", P, '"kite in a"')])
            with b.transaction(), c.transaction():
                b.add([(EX + "b", P, '"kite in b"')])
                c.load(exported(b), format="nq")
            d.load(exported(c), format="nq")
            raise ZeroDivisionError
        for world, found in ((a, []), (b, ["kite in b"]), (c, ["kite in b"]), (d, ["kite in b"])):
            assert texts(world, "kite") == found
            assert problems(world) == []


def test_writes_by_turns_through_two_worlds_of_one_file(path: Path) -> None:
    one = worlds.open(path, embedder=HashingEmbedder())
    other = worlds.open(path, embedder=HashingEmbedder())
    for number in range(20):
        writer, reader = (one, other) if number % 2 else (other, one)
        assert writer.add([(f"{EX}{number}", P, f'"kite number{number}"')]).revision == number + 1
        assert len(reader.search("kite", limit=100)) == number + 1
        assert texts(reader, f"number{number}") == [f"kite number{number}"]
        assert reader.query(f"ASK {{ <{EX}{number}> ?p ?o }}") is True
    one.close()
    assert other.add([(EX, P, '"kite still open"')]).revision == 21
    other.close()
    assert [item.name for item in path.parent.iterdir()] == [path.name]


def test_an_iterable_that_uses_the_world(world: World) -> None:
    world.add([(EX + "1", P, '"red kite"')])

    def quads() -> Iterator[tuple[str, str, str]]:
        for hit in world.search("kite"):
            yield (str(hit.subject), EX + "q", f'"{hit.text} again"')
        world.add([(EX + "2", P, '"blue kite"')])
        for row in select(world, "SELECT ?o { ?s ?p ?o FILTER CONTAINS(?o, 'blue') }"):
            yield (EX + "3", EX + "q", f'"{row.o} too"')

    assert world.add(quads()) == Change(3, 2, 0, 2, 2)
    assert set(texts(world, "kite")) == {"red kite", "red kite again", "blue kite", "blue kite too"}


def test_sources_of_all_kinds_in_one_list(world: World, path: Path) -> None:
    path.with_name("a.ttl").write_bytes(b'<http://a/1> <http://a/p> "kite in a file" .')
    graph = rdflib.Graph().parse(data='<http://a/2> <http://a/p> "kite in a graph" .', format="turtle")
    change = world.load(
        [
            path.with_name("a.ttl"),
            graph,
            b'<http://a/3> <http://a/p> "kite in bytes" .',
            io.BytesIO(b'<http://a/4> <http://a/p> "kite in a stream" .'),
            io.StringIO('<http://a/5> <http://a/p> "kite in a téxt" .'),
            bytearray(b'<http://a/6> <http://a/p> "kite in a bytearray" .'),
            b"",
            [],
            (b"# nothing\n",),
        ]
    )
    assert (change.revision, change.added) == (1, 6)
    assert len(world.search("kite")) == 6
    assert world.load([]).revision is None
    assert world.load(io.BytesIO()).revision is None


def copies(value: Any) -> list[Any]:
    return [pickle.loads(pickle.dumps(value)), copy.copy(value), copy.deepcopy(value)]


def test_results_can_be_copied_and_pickled(path: Path) -> None:
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        world.load(
            b'<http://a/1> <http://a/p> "red kite"@he--rtl , "blue kite"@en , 1 .',
            format="turtle",
        )
        results = world.search("kite", explain=True)
        solutions: Any = world.query("SELECT * { ?s ?p ?o OPTIONAL { ?s <http://a/none> ?none } }")
        triples: Any = world.query("CONSTRUCT WHERE { ?s ?p ?o }")
        copied = [copies(value) for value in (results, results[0], solutions, solutions[0], triples)]
        change = world.add([(EX, P, '"x"')])
        stats = world.stats()
        assert copies(change) == [change] * 3
        assert copies(stats) == [stats] * 3
        assert copies(world.policy) == [world.policy] * 3
        for shallow in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(
                TypeError, match="cannot be copied or sent to another process: open it there by its path"
            ):
                shallow(world)
    for found in copied[0]:
        assert list(found) == list(results)
        assert found.explain.plan == results.explain.plan
        assert found.notes == ()
    for hit in (copied[1][0], copied[1][1], copied[1][2]):
        assert hit == results[0]
        assert hit.quads[0][0] == rdflib.URIRef("http://a/1")
        assert "**kite**" in hit.snippet
        assert hit.to_dict()["explain"]["text"]["rank"] >= 1
    for found in copied[2]:
        assert found.to_dicts() == solutions.to_dicts()
        assert found.serialize("xml") == solutions.serialize("xml")
    for row in copied[3]:
        assert row == solutions[0]
        assert row.none is None
    for found in copied[4]:
        assert set(found) == set(triples)


def test_results_stay_as_they_were_read(world: World) -> None:
    world.add([(EX + "1", P, '"red kite"'), (EX + "2", P, '"red kite"')])
    (hit,) = world.search("kite")
    solutions: Any = world.query("SELECT * { ?s ?p ?o }")
    triples: Any = world.query("CONSTRUCT WHERE { ?s ?p ?o }")
    world.remove([(EX + "1", P, '"red kite"'), (EX + "2", P, '"red kite"')])
    world.add([(EX + "3", P, '"another"')])
    assert len(solutions) == len(triples) == len(hit.quads) == 2
    assert hit.text == "red kite"


def test_a_world_closed_by_one_thread_while_another_reads(path: Path) -> None:
    world = worlds.open(path, embedder=HashingEmbedder())
    world.add([(f"{EX}{n}", P, f'"kite {n}"') for n in range(200)])
    ended: list[BaseException | None] = []

    def read() -> None:
        uses: list[Callable[[], object]] = [
            lambda: world.search("kite"),
            lambda: world.query("SELECT * { ?s ?p ?o }"),
            lambda: len(world),
        ]
        try:
            while True:
                for use in uses:
                    use()
        except BaseException as error:
            ended.append(error)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    time.sleep(0.1)
    world.close()
    for thread in threads:
        thread.join(20)
    assert len(ended) == 4
    for error in ended:
        assert isinstance(error, OpenError)
