"""Sources and quads that cannot be taken: one clear error, and a world as it was."""

from __future__ import annotations

import bz2
import gzip
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
import rdflib
import zstandard

import worlds
from tests.support.misuse import A_QUAD, EX, LINE, P, Stream, Thing, fail
from worlds import OpenError, ParseError
from worlds.graph.terms import WELL_KNOWN_PREFIXES
from worlds.records import ChunkSize, TextPolicy

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
        ("cut.nt.gz", gzip.compress(LINE * 1000, mtime=0)[:-20], r"cut\.nt\.gz: .*breaks off"),
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
        ({"format": 3}, TypeError, "format must be a str, not 3"),
        ({"graph": "http://a/b c"}, ValueError, "'http://a/b c' is not an IRI"),
        ({"graph": "nowhere:x"}, ValueError, "the prefix 'nowhere:' is not known.*<nowhere:x>"),
        ({"graph": '"text"'}, ValueError, "a graph must be named by an IRI"),
        ({"graph": ""}, ValueError, "'' is neither an IRI nor a name"),
        ({"graph": 3}, TypeError, r"3 \(int\) is not an RDF term"),
        ({"graph": []}, TypeError, "is not an RDF term"),
        ({"mode": "upsert"}, ValueError, "mode must be 'merge' or 'replace', not 'upsert'"),
        ({"mode": None}, ValueError, "not None"),
        ({"base": "x"}, ValueError, "the base 'x' is not an absolute IRI"),
        ({"base": "http://a/b c"}, ValueError, "Invalid IRI"),
        ({"base": 3}, TypeError, "base must be a str, not 3"),
        ({"author": 3}, TypeError, "author must be a str, not 3"),
        ({"author": "a\0b"}, ValueError, "U\\+0000"),
        ({"message": b"why"}, TypeError, "message must be a str, not b'why'"),
        ({"message": "\ud800"}, ValueError, "surrogate"),
        ({"progress": 3}, TypeError, "not callable"),
    ],
    ids=str,
)
def test_wrong_options_of_load(kept: Any, options: dict[str, Any], kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=said):
        kept.load(LINE, **{"format": "nt", **options})


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
        (('"text"', P, '"x"'), ValueError, "a subject must be an IRI or a blank node, a predicate an IRI"),
        ((EX, '"text"', '"x"'), ValueError, "a subject must be"),
        ((EX, "_:b", '"x"'), ValueError, "a subject must be"),
        ((ox.Triple(ox.NamedNode(EX), ox.NamedNode(P), ox.NamedNode(EX)), P, '"x"'), ValueError, "a subject must be"),
        ((EX, P, '"x"', '"graph"'), ValueError, "a graph must be named by an IRI"),
        ((EX, P, '"x"', 3), TypeError, "3"),
        ((EX, P), TypeError, "a quad must be a tuple of three or four terms"),
        ((EX, P, '"x"', None, None), TypeError, "a quad must be a tuple"),
        ((), TypeError, "a quad must be a tuple"),
        (b"abc", TypeError, "a quad must be a tuple"),
        (3, TypeError, "a quad must be a tuple"),
        (None, TypeError, "a quad must be a tuple"),
        ({EX, P, '"x"'}, TypeError, "a quad must be a tuple"),
        (iter((EX, P, '"x"')), TypeError, "a quad must be a tuple"),
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
    with pytest.raises(TypeError, match="give a single quad in a list"):
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
        with pytest.raises(ParseError, match="the rdflib graph holds a triple that is not RDF"):
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
    with pytest.raises(TypeError, match="a policy must be a TextPolicy, not"):
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
