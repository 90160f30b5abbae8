"""What is wrong gets a clear error, and changes nothing."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import logging
import os
import random
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyoxigraph as ox
import pytest
import rdflib
import zstandard

import worlds
from tests.embedder import HashingEmbedder
from tests.oracle import problems
from worlds import (
    Change,
    ChunkSize,
    ConflictError,
    EmbedderError,
    FilterError,
    IntegrityError,
    OpenError,
    ParseError,
    QueryError,
    ReadOnlyError,
    SchemaError,
    TextPolicy,
    World,
    WorldsError,
)
from worlds.graph.terms import WELL_KNOWN_PREFIXES
from worlds.sql.connection import Connection

ROOT = Path(__file__).resolve().parents[1]
EX = "http://example.org/"
P = EX + "p"
LINE = b'<http://example.org/new> <http://example.org/p> "a new text" .\n'
BIRDS = b"""
@prefix ex: <http://example.org/> .
ex:kite a ex:Bird ; ex:p "red kite"@en , "Rotmilan"@de .
ex:g { ex:heron a ex:Bird ; ex:p "grey heron"@en . }
"""
A_QUAD = (EX + "new", P, '"a new text"')


class Thing:
    """Nothing that any method takes; its repr is the same in every process, as the names of tests must be."""

    def __repr__(self) -> str:
        return "<a thing>"


def state(world: World) -> tuple[object, ...]:
    """All that a write could change."""
    target = io.BytesIO()
    world.export(target)
    return (
        sorted(target.getvalue().splitlines()),
        *(
            world._connection.rows(f"SELECT * FROM {table} ORDER BY 1")
            for table in ("revisions", "removed_quads", "prefixes", "meta", "chunks", "chunks_fts_docsize")
        ),
    )


def files_of(path: Path) -> set[str]:
    """The world's own files, and any that were left behind beside it."""
    return {item.name for item in path.parent.iterdir()} - {"sources", "logs"}


@pytest.fixture(scope="module")
def birds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A world on a file that no test here may change."""
    path = tmp_path_factory.mktemp("birds") / "world.db"
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        world.load(BIRDS, format="trig")
        yield world
        assert problems(world) == []
    assert files_of(path) == {"world.db"}


@pytest.fixture
def kept(birds: World) -> Iterator[Any]:
    """The same, looked at before and after; of no type, so that wrong ones can be given to it."""
    before = state(birds)
    files = files_of(Path(birds.path))
    yield birds
    assert state(birds) == before
    assert files_of(Path(birds.path)) == files
    assert len(birds.search("kite", mode="text")) == 1
    assert birds.query("ASK { ?s ex:p 'Rotmilan'@de }") is True
    assert birds.query("ASK { ?s ?p 'a new text' }") is False


# --- sources ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (
            "cut.ttl",
            b'<http://a/b> <http://a/c> "whole" .\n<http://a/b> <http://a/c> "cut',
            r"line 2, column \d+: Unex",
        ),
        ("cut.nt", LINE + b"<http://example.org/new> <http://exam", r"cut\.nt, line 2, column \d+: Unexpected end"),
        ("cut.trig", b"<http://a/g> { <http://a/b> <http://a/c> 1 .", r"line 1, column \d+"),
        ("cut.rdf", b'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Desc', r"line 1, column"),
        ("cut.jsonld", b'{"@id": "http://a/b", "http://a/c": ', r"line 1, column \d+: Unexpected end"),
        ("cut.nt.gz", gzip.compress(LINE * 1000)[:-20], r"cut\.nt\.gz: .*breaks off"),
        ("cut.nt.bz2", bz2.compress(LINE * 1000)[:-20], r"breaks off"),
        ("cut.nt.zst", zstandard.compress(LINE * 1000)[:-5], r"breaks off"),
        ("damaged.nt.gz", b"\x1f\x8b" + b"z" * 100, r"the compressed data is damaged"),
        ("latin1.nt", LINE + b'<http://a/b> <http://a/c> "caf\xe9" .', r"line 2, column \d+: Invalid UTF-8"),
        ("latin1.ttl", b'<http://a/b> <http://a/c> "caf\xe9" .', r"Invalid UTF-8"),
        ("space.ttl", b'<http://a/b c> <http://a/c> "x" .', r"line 1, column 1: Invalid IRI code point ' '"),
        ("space.nt", LINE + b'<http://a/b> <http://a/b c> "x" .', r"line 2, column \d+: Invalid IRI"),
        ("relative.nt", b'<b> <http://a/c> "x" .', r"line 1, column 1: .*the IRI is relative"),
        ("literal.nt", LINE + b'"text" <http://a/c> "x" .', r"line 2, column 1: The subject"),
        ("prose.txt", b"This is no RDF at all.", r"prose\.txt, line 1, column 1"),
    ],
)
def test_a_file_that_does_not_parse(kept: Any, tmp_path: Path, name: str, content: bytes, said: str) -> None:
    file = tmp_path / name
    file.write_bytes(content)
    for mode in ("merge", "replace"):
        with pytest.raises(ParseError, match=said) as caught:
            kept.load(file, mode=mode)
        assert str(file) in str(caught.value)
        assert caught.value.source == str(file)


def test_of_several_files_all_are_loaded_or_none(kept: Any, tmp_path: Path) -> None:
    (tmp_path / "a.nt").write_bytes(LINE)
    (tmp_path / "b.nt").write_bytes(LINE * 2 + b"<")
    with pytest.raises(ParseError, match=r"b\.nt, line 3"):
        kept.load(tmp_path)
    with pytest.raises(OpenError, match=r"nowhere\.nt does not exist"):
        kept.load([tmp_path / "a.nt", tmp_path / "nowhere.nt"])


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("nowhere.ttl", "nowhere.ttl does not exist"),
        (Path("nowhere.ttl"), "nowhere.ttl does not exist"),
        ("*.nowhere", "no RDF file matches"),
        ("<http://a/b> <http://a/c> 1 .", "does not exist; a text is given as bytes"),
        ("", "'' is not a path"),
        (" ", "' ' does not exist"),
        ("\0", r"'\\x00'"),
        ("x" * 5000, "is not a path"),
        ("http://example.org/a.ttl", "allow_network=True"),
    ],
)
def test_a_source_that_is_not_there(kept: Any, source: object, said: str) -> None:
    with pytest.raises(OpenError, match=said):
        kept.load(source)


def test_a_folder_without_rdf(kept: Any, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing")
    with pytest.raises(OpenError, match=r"holds no RDF file \(known: \.ttl"):
        kept.load(tmp_path)


@pytest.mark.parametrize("source", [None, 3, 1.5, {}, set(), Thing(), True, [None], (b"" for _ in ())])
def test_what_is_no_source(kept: Any, source: object) -> None:
    with pytest.raises(TypeError, match="is not an input: give a path, a URL, bytes"):
        kept.load(source)


@pytest.mark.parametrize(
    ("options", "kind", "said"),
    [
        ({"format": "foo"}, ValueError, "'foo' is not a format: use one of turtle"),
        ({"format": 3}, TypeError, "a format is named by a str, not 3"),
        ({"graph": "http://a/b c"}, ValueError, "'http://a/b c' is not an IRI"),
        ({"graph": "nowhere:x"}, ValueError, "the prefix 'nowhere:' is not known.*<nowhere:x>"),
        ({"graph": '"text"'}, ValueError, "a graph is named by an IRI"),
        ({"graph": ""}, ValueError, "'' is neither an IRI nor a name"),
        ({"graph": 3}, TypeError, r"3 \(int\) is not an RDF term"),
        ({"graph": []}, TypeError, "is not an RDF term"),
        ({"mode": "upsert"}, ValueError, "mode is 'merge' or 'replace', not 'upsert'"),
        ({"mode": None}, ValueError, "not None"),
        ({"base": "x"}, ValueError, "the base 'x' is not an absolute IRI"),
        ({"base": "http://a/b c"}, ValueError, "Invalid IRI"),
        ({"base": 3}, TypeError, "a base is a str, not 3"),
        ({"author": 3}, TypeError, "author is a str, not 3"),
        ({"author": "a\0b"}, ValueError, "U\\+0000"),
        ({"message": b"why"}, TypeError, "message is a str, not b'why'"),
        ({"message": "\ud800"}, ValueError, "surrogate"),
        ({"progress": 3}, TypeError, "not callable"),
    ],
    ids=str,
)
def test_wrong_options_of_load(kept: Any, options: dict[str, Any], kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=said):
        kept.load(LINE, **{"format": "nt", **options})


class Stream:
    """Gives one good line, and then does what it is told."""

    def __init__(self, then: Callable[[], object]) -> None:
        self._then: list[Callable[[], object]] = [lambda: LINE, then]

    def read(self, _: int = -1) -> object:
        return self._then.pop(0)()


def fail(kind: type[Exception] = ZeroDivisionError) -> Any:
    raise kind("told to fail")


def test_a_stream_that_fails(kept: Any) -> None:
    with pytest.raises(ZeroDivisionError):
        kept.load(Stream(fail), format="nt")
    with pytest.raises(ParseError, match="the input cannot be read to its end: told to fail"):
        kept.load(Stream(lambda: fail(OSError)), format="nt")
    with pytest.raises(TypeError):
        kept.load(Stream(lambda: 3), format="nt")
    file = io.BytesIO(LINE)
    file.close()
    with pytest.raises(ValueError, match="closed file"):
        kept.load(file, format="nt")


def test_a_progress_that_fails(kept: Any) -> None:
    def report(step: str, done: int, total: int | None) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kept.load(LINE, format="nt", progress=report)


def test_xml_entities_that_stand_for_a_terabyte_are_refused(kept: Any) -> None:
    nested = b'<!ENTITY a0 "aaaaaaaaaa">' + b"".join(
        b'<!ENTITY a%d "%s">' % (depth, b"&a%d;" % (depth - 1) * 10) for depth in range(1, 13)
    )
    body = (
        b'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:ex="http://example.org/">'
        b'<rdf:Description rdf:about="http://example.org/new"><ex:p>%s</ex:p></rdf:Description></rdf:RDF>'
    )
    for padding in (0, *range(8185, 8195), 100_000):  # wherever the parser's buffer may end
        document = b"<!--%s--><!DOCTYPE x [%s]>%s" % (b"x" * padding, nested, body % b"&a12;")
        with pytest.raises(ParseError, match="the XML entity 'a2' stands for more than 1,000 bytes"):
            kept.load(document, format="rdfxml")
    with pytest.raises(ParseError, match="too great length"):
        kept.load(b"<!DOCTYPE x [<!ENTITY a " + b"x" * 200_000, format="rdfxml")
    with worlds.open(embedder=None) as world:
        flat = b'<!DOCTYPE x [<!ENTITY ex "http://example.org/"> <!ENTITY note "&ex;note">]>'
        assert world.load(flat + body % b"see &note; &amp; &#65;", format="rdfxml").added == 1
        assert world.search("note")[0].text == "see http://example.org/note & A"


def test_triple_terms_nested_too_deep(kept: Any) -> None:
    def nested(depth: int) -> bytes:
        inner = b"<<( <http://a/b> <http://a/c> " * depth + b'"x"' + b" )>>" * depth
        return b"<http://a/b> <http://a/c> %s ." % inner

    for depth in (101, 3000):
        with pytest.raises(ParseError, match="triple terms are nested deeper than 100"):
            kept.load(nested(depth), format="nt")
    with worlds.open(embedder=None) as world:
        assert world.load(nested(100), format="nt").added == 1


# --- quads ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["add", "remove"])
@pytest.mark.parametrize(
    ("quad", "kind", "said"),
    [
        (("http://a/b c", P, '"x"'), ValueError, "'http://a/b c' is not an IRI"),
        ((EX, P, "nowhere:x"), ValueError, "'nowhere:x': the prefix 'nowhere:' is not known"),
        ((EX, P, "a text"), ValueError, r"'a text' is neither .*rdflib\.Literal\('a text'\)"),
        ((EX, P, '"\ud800"'), ValueError, "lone surrogate"),
        ((EX, P, rdflib.Literal("\ud800")), ValueError, "lone surrogate"),
        ((EX, P, rdflib.Variable("x")), TypeError, "is not an RDF term"),
        ((EX, P, None), TypeError, r"None \(NoneType\) is not an RDF term"),
        ((EX, P, b"x"), TypeError, r"b'x' \(bytes\) is not an RDF term"),
        ((None, P, '"x"'), TypeError, "None"),
        ((3, P, '"x"'), TypeError, "3"),
        (('"text"', P, '"x"'), ValueError, "a subject is an IRI or a blank node, a predicate an IRI"),
        ((EX, '"text"', '"x"'), ValueError, "a subject is"),
        ((EX, "_:b", '"x"'), ValueError, "a subject is"),
        ((ox.Triple(ox.NamedNode(EX), ox.NamedNode(P), ox.NamedNode(EX)), P, '"x"'), ValueError, "a subject is"),
        ((EX, P, '"x"', '"graph"'), ValueError, "a graph is named by an IRI"),
        ((EX, P, '"x"', 3), TypeError, "3"),
        ((EX, P), TypeError, "a quad is a tuple of three or four terms"),
        ((EX, P, '"x"', None, None), TypeError, "a quad is a tuple"),
        ((), TypeError, "a quad is a tuple"),
        (b"abc", TypeError, "a quad is a tuple"),
        (3, TypeError, "a quad is a tuple"),
        (None, TypeError, "a quad is a tuple"),
        ({EX, P, '"x"'}, TypeError, "a quad is a tuple"),
        (iter((EX, P, '"x"')), TypeError, "a quad is a tuple"),
    ],
)
def test_wrong_quads(kept: Any, verb: str, quad: object, kind: type[Exception], said: str) -> None:
    good = A_QUAD if verb == "add" else (EX + "kite", P, '"red kite"@en')
    with pytest.raises(kind, match=said):
        getattr(kept, verb)([good, quad])


@pytest.mark.parametrize("quads", [None, 3, "abc", b"abc", A_QUAD, ox.NamedNode(EX)])
def test_what_are_no_quads(kept: Any, quads: object) -> None:
    for verb in (kept.add, kept.remove):
        with pytest.raises(TypeError):
            verb(quads)
    with pytest.raises(TypeError, match="one quad alone is given as a list of one"):
        kept.add(A_QUAD)


def test_an_iterable_that_fails_halfway(kept: Any) -> None:
    def quads() -> Iterator[Any]:
        yield A_QUAD
        fail()

    for verb in (kept.add, kept.remove):
        with pytest.raises(ZeroDivisionError):
            verb(quads())


def test_what_rdflib_holds_but_rdf_does_not_allow(kept: Any) -> None:
    graph = rdflib.Graph()
    graph.add((rdflib.Literal("no subject"), rdflib.URIRef(P), rdflib.Literal("x")))
    for verb in (kept.load, kept.add):
        with pytest.raises(ParseError, match="rdflib holds what is not RDF"):
            verb(graph)


# --- prefixes, policy, embed ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prefix", [None, 3, b"x", "a b", ":", "a:", "<", "1a", "\ud800", "a\0", "a\n"])
def test_what_is_no_prefix(kept: Any, prefix: object) -> None:
    with pytest.raises(ValueError, match="is not a prefix"):
        kept.bind(prefix, EX)


@pytest.mark.parametrize("iri", [None, 3, b"http://a/", "", "a", "http://a/b c", "http://\ud800/"])
def test_what_no_prefix_stands_for(kept: Any, iri: object) -> None:
    with pytest.raises(ValueError, match="the prefix 'a' stands for an absolute IRI, not"):
        kept.bind("a", iri)


def test_prefixes_of_a_graph_that_sparql_does_not_allow_are_left_out() -> None:
    graph = rdflib.Graph()
    graph.add((rdflib.URIRef(EX), rdflib.URIRef(P), rdflib.Literal("kite")))
    graph.bind("relative", "no-iri#")
    graph.bind("good", rdflib.Namespace(EX))
    context = b'{"@context": {"a b": "http://a/"}, "@id": "http://a/1", "a b:x": 1}'
    with worlds.open(embedder=None) as world:
        world.load(graph)
        world.load(context, format="jsonld")
        world.bind("mine", rdflib.Namespace("http://mine/"))
        own = world.prefixes.items() - WELL_KNOWN_PREFIXES.items()
        assert {("good", EX), ("mine", "http://mine/")} <= own
        assert not {"relative", "a b"} & world.prefixes.keys()
        assert world.query("ASK { good: good:p ?x }") is True


@pytest.mark.parametrize("policy", [None, 3, "x", {}])
def test_what_is_no_policy(kept: Any, policy: object) -> None:
    with pytest.raises(TypeError, match="a policy is a TextPolicy, not"):
        kept.policy = policy


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"include": "http://a/"}, TypeError),
        ({"include": 3}, TypeError),
        ({"exclude": None}, TypeError),
        ({"exclude": ["a b"]}, ValueError),
        ({"datatypes": ["http://\ud800"]}, ValueError),
        ({"include": [P], "exclude": [P]}, ValueError),
        ({"size": 3}, TypeError),
        ({"sizes": None}, TypeError),
        ({"sizes": {P: 3}}, TypeError),
        ({"sizes": {"a b": ChunkSize()}}, ValueError),
    ],
    ids=str,
)
def test_wrong_policies(fields: dict[str, Any], kind: type[Exception]) -> None:
    with pytest.raises(kind):
        TextPolicy(**fields)


@pytest.mark.parametrize("size", [(0,), ("x",), (1500.0,), (100, -1), (100, 100), (100, "x"), (True,)], ids=str)
def test_wrong_chunk_sizes(size: tuple[Any, ...]) -> None:
    with pytest.raises((TypeError, ValueError)):
        ChunkSize(*size)


# --- search -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [None, 3, 1.5, b"kite", ["kite"], {}, Thing(), True])
def test_what_is_no_text_to_search(kept: Any, text: object) -> None:
    for verb in (kept.search, kept.search_sql):
        with pytest.raises(TypeError, match="a search takes a str, not"):
            verb(text)
    with pytest.raises(TypeError, match="a query is a str, not"):
        kept.query(text)


@pytest.mark.parametrize(
    ("option", "values"),
    [
        ("limit", [0, -1, 10**9, 2**70, "5", True, 1.5, None, float("nan"), [5]]),
        ("candidates", [0, -1, 10**9, "5", True, 2.5, [5]]),
        ("k", [-1, "60", None, True, float("nan"), float("inf"), -float("inf"), [60]]),
        (
            "weights",
            [
                {"vector": -1},
                {"text": float("nan")},
                {"text": float("inf")},
                {"text": "1"},
                {"text": None},
                {"text": True},
                {"words": 1},
                {3: 1},
                "text",
                [1, 1],
                1,
            ],
        ),
        ("mode", ["both", "", None, 3, ["text"]]),
        ("plan", ["fast", None, 3]),
        ("syntax", ["sql", None, 3]),
        ("vector", ["kite", ["a"] * 32, {}, [0] * 32, [float("nan")] * 32, [float("inf")] * 32]),
    ],
)
def test_wrong_values_of_search(kept: Any, option: str, values: list[object]) -> None:
    for verb in (kept.search, kept.search_sql):
        for value in values:
            with pytest.raises(ValueError, match=option) as caught:
                verb("kite", **{option: value})
            if option != "vector":
                assert repr(value) in str(caught.value)


def test_unknown_options_of_search(kept: Any) -> None:
    for verb in (kept.search, kept.search_sql):
        with pytest.raises(TypeError, match="radius"):
            verb("kite", radius=3)


def test_a_vector_of_another_dimension(kept: Any) -> None:
    for mode in ("hybrid", "vector"):
        for vector in ([1.0, 2.0], np.ones(33), np.ones((1, 32)), 3):
            with pytest.raises(EmbedderError, match="the world's vectors have 32 dimensions; this one has shape"):
                kept.search("kite", vector=vector, mode=mode)


@pytest.mark.parametrize("name", ["subjects", "predicates", "types", "graphs"])
@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("http://a/b c", "'http://a/b c' is not an IRI"),
        ("nowhere:x", "the prefix 'nowhere:' is not known"),
        ("name", "'name' is neither an IRI nor a name"),
        ("", "''"),
        ("a\0b", "x00"),
        ("\ud800", "ud800"),
        ('"text"', "takes IRIs, not '\"text\"'"),
        (3, "3"),
        (True, "True"),
        (b"x", "b'x'"),
        ({}, "{}"),
        ([EX, None], "None"),
    ],
)
def test_wrong_filters(kept: Any, name: str, value: object, said: str) -> None:
    for filters in ({name: value}, {"exclude": {name: value}}):
        with pytest.raises(FilterError, match=f"{name}.*{said}"):
            kept.search("kite", **filters)


@pytest.mark.parametrize("tag", [3, b"en", "e n", "*", "en-", "-", "é", [None], ["en", 3]])
def test_what_is_no_language(kept: Any, tag: object) -> None:
    with pytest.raises(FilterError, match="languages takes language tags such as 'en'"):
        kept.search("kite", languages=tag)


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        (3, "not 3"),
        ([], r"not \[\]"),
        ("", "not ''"),
        (" \n", "over \\?subject"),
        ("?s ?p ?o", r"\?subject, which is not in '\?s \?p \?o'"),
        ("?subjects ?p ?o", "which is not in"),
        ("?subject ?p", "it ends too early, or closes a group"),
        ("?subject ?p ?o }", "it ends too early, or closes a group"),
        ("{ ?subject ?p ?o", "it ends too early"),
        ("?subject ex:p ?o .\n  ?subject nowhere:p ?x", "line 2, column 21?: the prefix 'nowhere:' is not declared"),
        ("?subject ex:p 'kite", "line 1, column"),
        ("?subject ?p ?o . SERVICE <http://localhost/> { }", "line 1, column 18: SERVICE is not allowed"),
        ("?subject ?p ?o } ; DROP ALL ; INSERT { ?subject ?p 1", "line 1"),
        ("?subject ?p ?o FILTER(" + "(" * 300, "nested deeper"),
    ],
)
def test_wrong_patterns(kept: Any, pattern: object, said: str) -> None:
    for filters in ({"where": pattern}, {"exclude": {"where": pattern}}):
        with pytest.raises(FilterError, match=said) as caught:
            kept.search("kite", **filters)
        assert "where takes a SPARQL group pattern over ?subject" in str(caught.value)


@pytest.mark.parametrize("value", ["x", [], 3, {"type": EX}, {"limit": 3}, {3: EX}, {"where": 3, 4: 5}])
def test_what_cannot_be_excluded(kept: Any, value: object) -> None:
    with pytest.raises(FilterError, match="exclude|where"):
        kept.search("kite", exclude=value)


@pytest.mark.parametrize(
    "expression",
    ['"open', "AND", "kite OR", "nocolumn: kite", "NEAR(", "", '"', "'", "(" * 5000, "a\0b", "\ud800", "rank : x"],
    ids=lambda expression: ascii(expression[:10]),
)
def test_wrong_full_text_expressions(kept: Any, expression: str) -> None:
    with pytest.raises(QueryError, match="the FTS5 expression") as caught:
        kept.search(expression, syntax="fts5")
    assert len(str(caught.value)) < 1000


# --- queries ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("", "line 1, column 1"),
        ("SELECT", "line 1, column 7: unexpected end of the query"),
        ("SELECT * {\n ?s ?p ?o", "line 2, column 10: unexpected end"),
        ("SELECT * {\n ?s nowhere:p ?o }", r"line 2, column \d+: the prefix 'nowhere:' is not declared"),
        ("INSERT DATA { <a:a> <a:a> 1 }", "line 1"),
        ("DESCRIBE <a b>", "line 1"),
        ("SELECT * { SERVICE <http://localhost/> { ?s ?p ?o } }", "SERVICE is not allowed"),
        ("SELECT * { " + "{" * 2000 + "}" * 2000 + " }", "nested deeper than 256"),
        ("ASK {} # \ud800", "."),
        ("A\0SK {}", "line 1"),
    ],
    ids=lambda text: ascii(text[:20]),
)
def test_wrong_queries(kept: Any, query: str, said: str) -> None:
    with pytest.raises(QueryError, match=said):
        kept.query(query)


@pytest.mark.parametrize(
    ("bindings", "kind"),
    [
        (3, TypeError),
        ("s", TypeError),
        ([("s", EX)], TypeError),
        ({3: EX}, TypeError),
        ({"s": None}, TypeError),
        ({"s": Thing()}, TypeError),
        ({"s": "kite"}, ValueError),
        ({"s": "nowhere:x"}, ValueError),
        ({"s": "http://a/b c"}, ValueError),
        ({"s": "\ud800"}, ValueError),
        ({"s p": EX}, QueryError),
        ({"": EX}, QueryError),
    ],
    ids=str,
)
def test_wrong_bindings(kept: Any, bindings: object, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        kept.query("SELECT * { ?s ?p ?o }", bindings=bindings)


# --- export and backup ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [None, 3, b"out.nq", Thing(), ["out.nq"]])
def test_what_is_no_path(kept: Any, target: object) -> None:
    for verb in (kept.export, kept.backup, worlds.open):
        with pytest.raises(TypeError, match=r"a path is a str or an os\.PathLike of one, not"):
            verb(target)


@pytest.mark.parametrize(
    "target", ["", "a\0b.nq", "/nowhere/at/all.nq", "y" * 300 + ".nq", "\ud800.nq", "/"], ids=ascii
)
def test_where_nothing_can_be_written(kept: Any, target: str) -> None:
    for verb in (kept.export, kept.backup):
        with pytest.raises(OpenError):
            verb(target)


def test_wrong_exports(kept: Any, tmp_path: Path) -> None:
    for options, said in (
        ({"format": "foo"}, "'foo' is not a format"),
        ({"format": "turtle"}, "cannot hold the named graphs of this world: export one with graph="),
        ({"graph": "http://a/b c"}, "is not an IRI"),
        ({"graph": "nowhere:x"}, "the prefix 'nowhere:' is not known"),
        ({"graph": '"text"'}, "named by an IRI"),
    ):
        with pytest.raises(ValueError, match=said):
            kept.export(tmp_path / "out.nq", **options)
    with pytest.raises(ValueError, match=r"cannot be told from '\.foo'; name one: turtle"):
        kept.export(tmp_path / "out.foo")
    with pytest.raises(ValueError, match="is the world itself"):
        kept.export(kept.path, format="nq")
    with pytest.raises(ValueError, match="is the world itself"):
        kept.export(f"{kept.path}-wal", format="nq")
    with pytest.raises(OpenError, match="exists already; a backup is always a new file"):
        kept.backup(kept.path)
    with pytest.raises(TypeError):
        kept.export(io.StringIO())
    assert list(tmp_path.iterdir()) == []


# --- what is not a world ----------------------------------------------------------------------------------------------


def database(path: Path, *statements: str) -> Path:
    """A database that another program made."""
    connection = Connection(str(path))
    for statement in statements:
        connection.run(statement)
    connection.close()
    return path


def refused(path: Path, kind: type[WorldsError], said: str, **options: Any) -> None:
    """Opening the file is an error, whichever way, and leaves it and its folder as they were."""
    before = path.read_bytes() if path.is_file() else None
    files = files_of(path)
    for read_only in (True, False):
        with pytest.raises(kind, match=said) as caught:
            worlds.open(path, **{"embedder": None, "read_only": read_only, **options})
        assert path.name in str(caught.value)
    assert files_of(path) == files
    assert before is None or path.read_bytes() == before


@pytest.mark.parametrize(
    "content",
    [b"hello world\n" * 10, b"\n", b"\0", b"SQLite format 3\0", b"SQLite format 3\0" + bytes(4080), b"\xff" * 20_000],
    ids=lambda content: repr(content[:16]),
)
def test_a_file_that_is_no_database(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    refused(path, OpenError, "not a world: the file is not a database")


def test_an_empty_file_becomes_a_world_where_one_may_be_made(path: Path) -> None:
    path.touch()
    refused(path, OpenError, "is empty: not a world", create=False)
    with pytest.raises(OpenError, match="is empty: not a world"):
        worlds.open(path, read_only=True, embedder=None)
    assert path.read_bytes() == b""
    with worlds.open(path, embedder=None) as world:
        assert world.add([A_QUAD]).revision == 1


@pytest.mark.parametrize(
    "statements",
    [
        ["CREATE TABLE notes (text)"],
        ["CREATE VIEW answers AS SELECT 42"],
        ["CREATE TABLE meta (a)", "INSERT INTO meta VALUES (1)"],
        ["CREATE TABLE meta (name, value)"],
        ["CREATE TABLE meta (name, value)", "INSERT INTO meta VALUES ('schema_version', 1)"],
        ["CREATE TABLE meta (name, value)", "INSERT INTO meta VALUES ('schema_version', 'x'), ('format', 'worlds')"],
        ["CREATE TABLE meta (name, value)", "INSERT INTO meta VALUES ('schema_version', 0), ('format', 'worlds')"],
        ["CREATE TABLE meta (name, value)", "INSERT INTO meta VALUES ('schema_version', -1), ('format', 'worlds')"],
    ],
    ids=str,
)
@pytest.mark.parametrize("journal", ["DELETE", "WAL"])
def test_a_database_that_is_no_world(path: Path, statements: list[str], journal: str) -> None:
    refused(
        database(path, f"PRAGMA journal_mode = {journal}", *statements), OpenError, "is a database, but not a world"
    )


def test_a_world_without_its_tables(path: Path) -> None:
    database(
        path,
        "PRAGMA journal_mode = WAL",
        "CREATE TABLE meta (name, value)",
        "INSERT INTO meta VALUES ('schema_version', 1), ('format', 'worlds')",
    )
    with worlds.open(path, embedder=None) as world, pytest.raises(IntegrityError, match="no such table: quads"):
        len(world)


def made(path: Path, count: int = 200, **options: Any) -> Path:
    """A world of some size, closed."""
    with worlds.open(path, **{"embedder": HashingEmbedder(), **options}) as world:
        world.load(
            b"".join(
                b'<http://example.org/%d> <http://example.org/p> "the red kite number %d flies over the hills"@en .\n'
                % (number, number)
                for number in range(count)
            ),
            format="nt",
        )
    return path


def test_a_world_of_a_newer_schema(path: Path) -> None:
    made(path, 2)
    database(path, "UPDATE meta SET value = 99 WHERE name = 'schema_version'")
    refused(path, SchemaError, r"has schema 99, this library knows \d+: upgrade with `pip install -U worlds-kg`")


def test_wrong_paths(tmp_path: Path) -> None:
    for name, said in (
        ("http://example.org/world", "is not the path of a file"),
        ("", "'' is not the path of a file"),
        ("a\0b", "is not the path of a file"),
        ("\udcff.db", "is not Unicode"),
        ("x" * 300, "cannot be opened: File name too long"),
        (str(tmp_path), r"is a folder; a world is one file, such as .*world\.db"),
        (str(tmp_path / "nowhere" / "world.db"), "the folder .*nowhere does not exist"),
        ("/dev/null", "is not a regular file"),
    ):
        with pytest.raises(OpenError, match=said):
            worlds.open(name, embedder=None)
    for options in ({"read_only": True}, {"create": False}):
        with pytest.raises(OpenError, match=r"world\.db does not exist; `worlds load .*world\.db FILE` makes a world"):
            worlds.open(tmp_path / "world.db", embedder=None, **options)  # type: ignore[arg-type]  # booleans both
    assert list(tmp_path.iterdir()) == []


def test_links_and_pipes_that_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "loop.db").symlink_to("loop.db")
    (tmp_path / "dangling.db").symlink_to("nowhere/world.db")
    os.mkfifo(tmp_path / "pipe.db")
    for name in ("loop.db", "dangling.db", "pipe.db"):
        with pytest.raises(OpenError, match=name):
            worlds.open(tmp_path / name, embedder=None)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"timeout": "x"}, "timeout is a number of seconds from 0 on, not 'x'"),
        ({"timeout": -1}, "timeout"),
        ({"timeout": None}, "timeout"),
        ({"timeout": float("nan")}, "timeout"),
        ({"durability": "high"}, "durability is one of normal, full, not 'high'"),
        ({"vector_index": "no"}, "vector_index is True, False or 'auto', not 'no'"),
        ({"vector_index": 1}, "vector_index"),
        ({"encryption_key": ""}, "encryption_key"),
        ({"encryption_key": b"key"}, "encryption_key"),
    ],
    ids=str,
)
def test_wrong_options_of_open(path: Path, options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        worlds.open(path, **{"embedder": None, **options})
    assert not path.exists()


def test_a_very_long_timeout(path: Path) -> None:
    for timeout in (10**12, float("inf")):
        with worlds.open(path, embedder=None, timeout=timeout) as world:
            world.add([A_QUAD])


# --- damage -----------------------------------------------------------------------------------------------------------


def use(world: World) -> None:
    """Read and write all kinds of things; errors of damage are fine, others are not."""

    def hits() -> None:
        for hit in world.search("kite 17", where="?subject ?p ?o"):
            assert hit.quads
            assert hit.snippet

    uses: list[Callable[[], object]] = [
        lambda: len(world),
        hits,
        lambda: list(world.query("SELECT * { ?s ?p ?o }")),  # type: ignore[arg-type]  # solutions
        lambda: world.export(io.BytesIO()),
        world.stats,
        lambda: world.add([A_QUAD]),
        lambda: world.remove([(EX + "5", P, '"the red kite number 5 flies over the hills"@en')]),
        lambda: world.embed(rebuild=True),
        world.compact,
    ]
    for one in uses:
        with contextlib.suppress(IntegrityError, OpenError):
            one()


def test_a_truncated_world(path: Path) -> None:
    whole = made(path).read_bytes()
    for size in (100, 4096, 5000, len(whole) // 2, len(whole) - 4096):
        path.write_bytes(whole[:size])
        refused(path, IntegrityError, "the file is damaged: restore a backup")
    path.write_bytes(whole[:-1])
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        assert not world.check().ok
        use(world)


def test_a_corrupted_world(path: Path, tmp_path: Path) -> None:
    whole = made(path).read_bytes()
    chance = random.Random(1)
    for number in range(24):
        content = bytearray(whole)
        if number % 2:  # a page; else bits, which may lie where nothing is
            page = chance.randrange(1, len(whole) // 4096) * 4096
            content[page : page + 4096] = chance.randbytes(4096) if number % 4 == 1 else bytes(4096)
        else:
            for _ in range(50):
                content[chance.randrange(4096, len(whole))] ^= 1 << chance.randrange(8)
        broken = tmp_path / f"{number}.db"
        broken.write_bytes(content)
        with contextlib.suppress(IntegrityError, OpenError), worlds.open(broken, embedder=HashingEmbedder()) as world:
            assert not (number % 2 and world.check().ok)
            use(world)


def test_text_that_is_not_utf8(path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    made(path, 3)
    database(path, "UPDATE terms SET value = CAST(x'fffefd' AS TEXT) WHERE kind = 3")
    with worlds.open(path, embedder=None) as world:
        with pytest.raises(IntegrityError, match="no UTF-8"):
            world.export(io.BytesIO())
        assert not world.check().ok
        assert len(world) == 3
    capfd.readouterr()  # the driver's panic


# --- embedders --------------------------------------------------------------------------------------------------------


def test_another_embedder_than_the_worlds(path: Path) -> None:
    made(path, 3)
    before = path.read_bytes()
    for other in (HashingEmbedder(16), HashingEmbedder(name="other")):
        for read_only in (True, False):
            with pytest.raises(EmbedderError, match=f"embedded with hashing .*not with {other.name}.*embed --rebuild"):
                worlds.open(path, embedder=other, read_only=read_only)
    assert path.read_bytes() == before
    for embedder in ("auto", None):
        with worlds.open(path, embedder=embedder) as world:
            assert len(world.search("kite", mode="text")) == 3
            results = world.search("kite")
            assert len(results) == 3
            assert results.notes
            with pytest.raises(EmbedderError):
                world.search("kite", mode="vector")
            with pytest.raises(EmbedderError):
                world.embed()


@pytest.mark.parametrize("embedder", [3, Thing(), HashingEmbedder, "no such model", "", b"x"], ids=str)
def test_what_is_no_embedder(path: Path, embedder: Any) -> None:
    with pytest.raises(EmbedderError):
        worlds.open(path, embedder=embedder)
    assert not path.exists()


def test_a_write_is_kept_when_embedding_fails_after_it(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    embedder = HashingEmbedder(fail_after=2)
    with worlds.open(path, embedder=embedder) as world:
        assert world.add([(EX + "1", P, '"red kite"')]) == Change(1, 1, 0, 1, 1)
        with caplog.at_level(logging.WARNING, "worlds"):
            change = world.load(LINE + b'<http://a/b> <http://a/c> "blue kite" .', format="nt")
        assert (change.revision, change.added, change.chunks, change.embedded) == (2, 2, 2, 0)
        (note,) = change.notes
        assert "embedder 'hashing' failed: RuntimeError: told to fail" in note
        assert "found by words only" in note
        assert note in caplog.text
        assert world.stats().pending == 2
        assert [hit.text for hit in world.search("blue", mode="text")] == ["blue kite"]
        caplog.clear()
        embedder.fail_after = 0
        with world.transaction():
            world.add([(EX + "2", P, '"green kite"')])
        assert "told to fail" in caplog.text
        assert world.stats().last_revision == 3
        assert problems(world) == []
        embedder.fail_after = None
        assert world.embed() == 3
        assert world.stats().pending == 0
        assert world.add([(EX + "3", P, '"grey kite"')]).notes == ()


def test_an_embedder_that_never_worked_leaves_no_trace(path: Path) -> None:
    with worlds.open(path, embedder=HashingEmbedder(fail_after=0)) as world:
        assert world.load(LINE, format="nt").notes
        assert world.stats().embedder is None
    with worlds.open(path, embedder=HashingEmbedder(16, name="another")) as world:
        assert world.embed() == 1
        assert world.stats().embedder == "another"


class Misshapen(HashingEmbedder):
    """Says one dimension and gives another."""

    def embed_documents(self, texts: list[str]) -> Any:
        return super().embed_documents(texts)[:, :5]


def test_an_embedder_that_answers_in_another_shape(path: Path) -> None:
    with worlds.open(path, embedder=Misshapen()) as world:
        change = world.load(LINE, format="nt")
        assert change.added == 1
        assert "an array of shape (1, 5), not (1, 32)" in change.notes[0]
        with pytest.raises(EmbedderError, match="shape"):
            world.embed()
        assert problems(world) == []


def test_a_world_of_another_embedder_takes_writes_and_says_what_is_pending(path: Path) -> None:
    made(path, 3)
    with worlds.open(path, embedder=None) as world:
        world.embedder = HashingEmbedder(16)
        change = world.add([A_QUAD])
        assert change.added == 1
        assert "worlds embed --rebuild" in change.notes[0]
        assert world.stats().pending == 1


# --- encryption -------------------------------------------------------------------------------------------------------


def test_keys(path: Path, tmp_path: Path) -> None:
    made(path, 3, encryption_key="secret")
    assert b"red kite" not in path.read_bytes()
    assert not path.read_bytes().startswith(b"SQLite")
    for key in (None, "wrong", "secret "):
        refused(path, OpenError, "not a world: the file is not a database, or the key is wrong", encryption_key=key)
    for read_only in (True, False):
        with worlds.open(path, encryption_key="secret", embedder=None, read_only=read_only) as world:
            assert len(world.search("kite")) == 3
            assert problems(world) == []
    plain = made(tmp_path / "plain.db", 3)
    refused(plain, OpenError, "or the key is wrong", encryption_key="secret")


# --- read-only --------------------------------------------------------------------------------------------------------


def writes(world: World) -> list[Callable[[], object]]:
    """Every verb that writes."""

    def policy() -> None:
        world.policy = TextPolicy(exclude=frozenset([P]))

    def transaction() -> None:
        with world.transaction():
            pass

    return [
        lambda: world.add([A_QUAD]),
        lambda: world.add([]),
        lambda: world.remove([(EX + "1", P, '"the red kite number 1 flies over the hills"@en')]),
        lambda: world.load(LINE, format="nt"),
        lambda: world.load(b"", format="nt", mode="replace"),
        lambda: world.embed(rebuild=True),
        lambda: world.bind("mine", EX),
        world.compact,
        policy,
        transaction,
    ]


def reads(world: World) -> None:
    """Every verb that reads."""
    hits = world.search("kite number 1", where="?subject ?p ?o", subjects=EX + "1")
    assert hits[0].quads[0][0] == rdflib.URIRef(EX + "1")
    assert "**kite**" in hits[0].snippet
    assert hits.explain.mode == "hybrid"
    assert world.query("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }")[0].n.toPython() == 3  # type: ignore[index]  # solutions
    assert world.export(io.BytesIO()) == len(world) == world.stats().quads == 3
    assert world.prefixes == WELL_KNOWN_PREFIXES
    assert world.policy == TextPolicy()
    assert world.search_sql("kite")[0].startswith("WITH")
    assert problems(world) == []


def test_a_world_opened_read_only(path: Path, tmp_path: Path) -> None:
    made(path, 3)
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        world.add([(EX + "pending", P, '"pending"')], embed=False)
        world.remove([(EX + "pending", P, '"pending"')])
    before = path.read_bytes()
    with worlds.open(path, embedder=HashingEmbedder(), read_only=True) as world:
        for write in writes(world):
            with pytest.raises(ReadOnlyError, match=r"world\.db was opened read-only"):
                write()
            reads(world)
        world.backup(tmp_path / "backup.db")
    assert path.read_bytes() == before
    assert files_of(path) == {"world.db", "backup.db"}
    with worlds.open(tmp_path / "backup.db", embedder=HashingEmbedder()) as world:
        reads(world)


def test_a_read_only_world_sees_what_others_write(path: Path) -> None:
    made(path, 3)
    with worlds.open(path, embedder=None, read_only=True) as reader, worlds.open(path, embedder=None) as writer:
        assert reader.query("ASK { ex: ?p ?o }".replace("ex:", f"<{EX}new>")) is False
        writer.add([A_QUAD])
        assert len(reader) == 4
        assert len(reader.search("new text")) == 1
        assert reader.query(f"ASK {{ <{EX}new> ?p ?o }}") is True


def test_pending_texts_of_a_read_only_world_are_not_embedded(path: Path) -> None:
    with worlds.open(path, embedder=None) as world:
        world.load(LINE, format="nt")
    embedder = HashingEmbedder()
    with worlds.open(path, embedder=embedder, read_only=True) as world:
        with pytest.raises(ReadOnlyError):
            world.embed()
        assert embedder.documents == 0
        assert len(world.search("text")) == 1


@pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")
def test_a_file_that_permissions_keep_from_us(path: Path) -> None:
    made(path, 3)
    path.chmod(0o444)
    if os.access(path, os.W_OK):
        pytest.skip("this user (root) may write to every file")
    with worlds.open(path, embedder=HashingEmbedder(), read_only=True) as world:
        reads(world)
    with worlds.open(path, embedder=None) as world, pytest.raises(ReadOnlyError):
        world.add([A_QUAD])
    path.chmod(0)
    with pytest.raises(OpenError, match=r"world\.db"):
        worlds.open(path, embedder=None)
    path.chmod(0o644)
    path.parent.chmod(0o555)
    try:
        with pytest.raises(ReadOnlyError, match="lies in a read-only folder"):
            worlds.open(path, embedder=None)
        with worlds.open(path, embedder=HashingEmbedder(), read_only=True) as world:
            reads(world)
    finally:
        path.parent.chmod(0o755)


class Mount:
    """A file system of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "world.db"

    def set(self, options: str) -> None:
        """Mount it, or mount it anew."""
        remount = "remount," if self.folder.is_mount() else ""
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", remount + options, "worlds-test", str(self.folder)],
            check=True,
            capture_output=True,
            timeout=10,
        )


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Mount]:
    """A small file system that can be made read-only, or full, for root too."""
    folder = tmp_path / "mount"
    folder.mkdir()
    mount = Mount(folder)
    try:
        mount.set("size=16m")
    except (OSError, subprocess.SubprocessError) as error:
        pytest.skip(f"mounting is not permitted here: {error}")
    yield mount
    subprocess.run(["umount", "-l", str(folder)], check=True, timeout=10)


def test_a_folder_that_is_read_only(mount: Mount, tmp_path: Path) -> None:
    made(mount.path, 3)
    mount.set("ro")
    with pytest.raises(ReadOnlyError, match=r"lies in a read-only folder, .*; open it with read_only=True"):
        worlds.open(mount.path, embedder=None)
    with pytest.raises(OpenError, match=r"new\.db cannot be made: the folder .* is read-only"):
        worlds.open(mount.folder / "new.db", embedder=None)
    link = tmp_path / "link.db"
    link.symlink_to(mount.path)
    with pytest.raises(ReadOnlyError, match=r"link\.db lies in a read-only folder"):
        worlds.open(link, embedder=None)
    for path in (mount.path, link):
        with worlds.open(path, embedder=HashingEmbedder(), read_only=True) as world:
            reads(world)
            for write in writes(world):
                with pytest.raises(ReadOnlyError):
                    write()
            for verb in (world.export, world.backup):
                with pytest.raises(OpenError, match="Read-only file system"):
                    verb(mount.folder / "out.nq")
            world.backup(tmp_path / f"backup-{path.name}")
    assert files_of(mount.path) == {"world.db"}


def test_a_log_in_a_read_only_folder_is_not_passed_over(mount: Mount) -> None:
    made(mount.path, 3)
    copied = mount.folder / "copied.db"
    with worlds.open(mount.path, embedder=None) as world:
        world.add([A_QUAD])
        shutil.copy(mount.path, copied)
        shutil.copy(f"{mount.path}-wal", f"{copied}-wal")
    mount.set("ro")
    with pytest.raises(OpenError, match=r"has a log, .*-wal, that cannot be read in a read-only folder: copy both"):
        worlds.open(copied, embedder=None, read_only=True)
    mount.set("rw")
    with worlds.open(copied, embedder=None, read_only=True) as world:
        assert len(world) == 4


# --- a full disk ------------------------------------------------------------------------------------------------------


def test_a_full_disk(mount: Mount) -> None:
    many = b"".join(
        b'<http://example.org/%d> <http://example.org/q> "text number %d that takes some room on the disk" .\n' % (i, i)
        for i in range(10_000)
    )
    with worlds.open(made(mount.path, 3), embedder=HashingEmbedder()) as world:
        mount.set(f"size={world.stats().bytes + 1_500_000}")
        before = state(world)

        def load() -> Change:
            return world.load(many, format="nt", embed=False)

        def load_in_transaction() -> None:
            with world.transaction():
                world.add([A_QUAD])
                with contextlib.suppress(IntegrityError):
                    load()

        for write in (load, load_in_transaction):
            with pytest.raises(IntegrityError, match="the disk is full, and nothing was changed: make room"):
                write()
            assert state(world) == before
            reads(world)
        assert world.add([A_QUAD]).revision == 2
        assert world.remove([A_QUAD]).revision == 3
        mount.set("size=64m")
        assert load().added == 10_000
        assert len(world.search("text number 9999", mode="text")) == 10
        assert problems(world) == []
    assert files_of(mount.path) == {"world.db"}


def test_a_disk_that_is_full_before_the_world_is_made(mount: Mount) -> None:
    mount.set("size=40k")
    for _ in range(2):
        with pytest.raises(IntegrityError, match="the disk is full"):
            worlds.open(mount.path, embedder=None)
    mount.set("size=16m")
    made(mount.path, 3)


def test_a_disk_that_is_full_when_texts_are_embedded(mount: Mount) -> None:
    embedder = HashingEmbedder(1024)
    with worlds.open(mount.path, embedder=embedder, vector_index=False) as world:
        many = b"".join(b'<http://a/%d> <http://a/c> "text %d" .\n' % (i, i) for i in range(1000))
        world.load(many, format="nt", embed=False)
        mount.set(f"size={world.stats().bytes + 1_200_000}")
        with pytest.raises(IntegrityError, match="the disk is full"):
            world.embed()
        pending = world.stats().pending
        assert 0 < pending <= 1000
        assert len(world) == 1000
        assert problems(world) == []
        mount.set("size=64m")
        world.embed()
        assert world.stats().pending == 0
        assert embedder.documents <= 1256  # no more than one batch was embedded twice


# --- closed worlds, locked worlds, forked worlds ----------------------------------------------------------------------


def test_a_closed_world(path: Path, tmp_path: Path) -> None:
    world = worlds.open(made(path, 3), embedder=HashingEmbedder())
    hits = world.search("kite number 1", limit=2)
    solutions = world.query("SELECT ?s { ?s ?p ?o }")
    triples = world.query("CONSTRUCT WHERE { ?s ?p ?o }")
    assert hits[0].quads
    world.close()
    world.close()
    uses: list[Callable[[], object]] = [
        *writes(world),
        lambda: len(world),
        lambda: world.search("kite"),
        lambda: world.search("kite", mode="text"),
        lambda: world.search_sql("kite"),
        lambda: world.query("ASK {}"),
        lambda: world.export(io.BytesIO()),
        lambda: world.export(tmp_path / "out.nq"),
        lambda: world.backup(tmp_path / "backup.db"),
        lambda: world.prefixes,
        lambda: world.policy,
        world.embed,
        world.stats,
        world.check,
        lambda: hits[1].quads,
        lambda: hits[1].snippet,
    ]
    for one in uses:
        with pytest.raises(OpenError, match=r"the world .*world\.db is closed"):
            one()
    assert repr(world) == f"<World {path}>"
    assert hits[0].text == "the red kite number 1 flies over the hills"
    assert len(hits[0].quads) == 1
    assert len(solutions) == len(triples) == 3  # type: ignore[arg-type]  # not a bool
    assert files_of(path) == {"world.db"}


LOCKER = """
import sys, worlds
with worlds.open(sys.argv[1], embedder=None) as world, world.transaction():
    world.add([("http://a/b", "http://a/c", '"by another process"')])
    print("locked", flush=True)
    sys.stdin.read()
"""


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Another process is in a transaction."""
    command = [sys.executable, "-W", "error", "-c", LOCKER, str(path)]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "locked\n"
        yield


def test_a_world_that_another_process_holds(path: Path) -> None:
    made(path, 3)
    with locked(path):
        for timeout in (0, 0.2):
            with worlds.open(path, embedder=HashingEmbedder(), timeout=timeout) as world:
                before = state(world)
                for write in writes(world):
                    began = time.monotonic()
                    with pytest.raises(ConflictError, match="another process holds the world's write lock"):
                        write()
                    assert time.monotonic() - began < timeout + 1
                    assert state(world) == before
                reads(world)
        with pytest.raises(ConflictError):
            worlds.open(path, embedder=None, timeout=0.1, vector_index=False)
    with worlds.open(path, embedder=None) as world:
        assert len(world) == 4
        assert world.add([A_QUAD]).revision == 3


def test_a_world_that_another_thread_holds(path: Path) -> None:
    begun, end = threading.Event(), threading.Event()

    def hold() -> None:
        with one.transaction():
            begun.set()
            end.wait(30)

    with worlds.open(path, embedder=None) as one, worlds.open(path, embedder=None, timeout=0.2) as other:
        thread = threading.Thread(target=hold)
        thread.start()
        begun.wait(30)
        try:
            with pytest.raises(ConflictError, match="another thread has been writing to this world for 0.2 seconds"):
                other.add([A_QUAD])
            assert len(other) == 0
        finally:
            end.set()
            thread.join()
        with (
            one.transaction(),
            pytest.raises(ConflictError, match="already writing to the same file through another World"),
        ):
            other.add([A_QUAD])
        assert other.add([A_QUAD]).revision == 1


FORK = """
import os, sys, worlds
world = worlds.open(sys.argv[1], embedder=None)
child = os.fork()
if child == 0:
    for use in (lambda: len(world), lambda: world.search("kite"), lambda: world.add([])):
        try:
            use()
        except worlds.OpenError as error:
            assert "was opened by another process: open it again in this one" in str(error)
        else:
            os._exit(1)
    world.close()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
assert world.add([("http://a/b", "http://a/c", '"x"')]).revision == 2
assert world.check().ok
world.close()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_world_does_not_survive_a_fork(path: Path) -> None:
    made(path, 3)
    subprocess.run([sys.executable, "-W", "error", "-c", FORK, str(path)], cwd=ROOT, check=True, timeout=60)
    assert files_of(path) == {"world.db"}


# --- transactions -----------------------------------------------------------------------------------------------------


def test_a_transaction_that_raises(kept: Any) -> None:
    for error in (ZeroDivisionError, KeyboardInterrupt, SystemExit, GeneratorExit):
        with pytest.raises(error), kept.transaction(author="ann"):
            kept.add([A_QUAD])
            assert len(kept.search("new text", mode="text")) == 1
            with kept.transaction():
                kept.load(LINE.replace(b"new", b"newer"), format="nt")
            raise error


def test_a_wrong_call_inside_a_transaction_undoes_itself_alone(path: Path) -> None:
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        with world.transaction():
            world.add([(EX + "1", P, '"red kite"')])
            with pytest.raises(ParseError):
                world.load(LINE + b"<", format="nt")
            with pytest.raises(ZeroDivisionError), world.transaction():
                world.add([(EX + "2", P, '"blue kite"')])
                fail()
            with pytest.raises(ValueError, match="neither an IRI"):
                world.add([A_QUAD, ("no iri", P, '"x"')])
            for verb in (world.embed, world.compact, lambda: world.backup(path.with_name("backup.db"))):
                with pytest.raises(WorldsError, match="cannot run inside a transaction"):
                    verb()  # type: ignore[operator]  # all are functions
            assert len(world) == 1
        assert world.stats().last_revision == 1
        assert [hit.text for hit in world.search("kite text")] == ["red kite"]
        assert problems(world) == []
    assert files_of(path) == {"world.db"}


@pytest.mark.parametrize("remark", [{"author": 3}, {"message": []}, {"author": "a\0"}, {"message": "\ud800"}], ids=str)
def test_wrong_remarks_are_refused_when_the_transaction_begins(kept: Any, remark: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError)), kept.transaction(**remark):
        pytest.fail("the block was entered")


def test_a_transaction_that_a_generator_holds(path: Path) -> None:
    def held(world: World) -> Iterator[None]:
        with world.transaction():
            world.add([A_QUAD])
            yield

    with worlds.open(path, embedder=None) as world:
        generator = held(world)
        next(generator)
        world.add([(EX + "2", P, '"within"')])
        assert len(world) == 2
        del generator  # which ends it by an exception
        assert len(world) == 0
        assert world.stats().last_revision == 0
        assert world.add([A_QUAD]).revision == 1
        assert problems(world) == []


def test_transactions_that_end_in_the_wrong_order(path: Path) -> None:
    with worlds.open(path, embedder=None) as world:
        outer, inner = world.transaction(), world.transaction()
        outer.__enter__()
        world.add([A_QUAD])
        inner.__enter__()
        world.add([(EX + "2", P, '"inner"')])
        with pytest.raises(ZeroDivisionError), contextlib.ExitStack() as stack:
            stack.push(outer)
            fail()
        with pytest.raises(WorldsError, match="the transaction around this one is over already"):
            inner.__exit__(None, None, None)
        assert len(world) == 0
        assert world.add([A_QUAD]).revision == 1
        assert problems(world) == []


def test_a_world_closed_inside_a_transaction(path: Path) -> None:
    def close_in_transaction(world: World) -> None:
        with world.transaction():
            world.add([A_QUAD])
            world.close()

    def close_in_iterable(world: World) -> None:
        def quads() -> Iterator[Sequence[object]]:
            yield A_QUAD
            world.close()

        world.add(quads())

    def close_in_stream(world: World) -> None:
        def close() -> bytes:
            world.close()
            return b""

        world.load(Stream(close), format="nt")

    for misuse in (close_in_transaction, close_in_iterable, close_in_stream):
        world = worlds.open(path, embedder=HashingEmbedder())
        with pytest.raises(OpenError, match="is closed"):
            misuse(world)
        with worlds.open(path, embedder=None) as world:
            assert len(world) == 0
            assert world.stats().last_revision == 0
            assert problems(world) == []
        assert files_of(path) == {"world.db"}
