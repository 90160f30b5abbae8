from __future__ import annotations

import bz2
import gzip
import io
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.parsers import expat

import pyoxigraph as ox
import pytest
import rdflib
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from worlds.errors import ParseError
from worlds.graph.formats import (
    EXTENSIONS,
    escape_xml,
    find_format,
    rdflib_quads,
    serialize,
)
from worlds.graph.parsing import parsing
from worlds.graph.rdf_sources import sources
from worlds.graph.terms import RDF, XSD, Term

S, P, G = (ox.NamedNode(f"http://example.org/{name}") for name in "spg")
WRITTEN = ["turtle", "nt", "nq", "trig", "rdfxml", "jsonld"]
GRAPHS = ["nq", "trig", "jsonld"]
PREFIXES = {"ex": "http://example.org/", "": "http://example.org/p#", "rdf": RDF, "xsd": XSD}


def parse(source: object, **options: Any) -> list[ox.Quad]:
    found = []
    for item in sources(source, **options):
        with parsing(item) as quads:
            found += list(quads)
    return found


def write(quads: list[ox.Quad], format: str, prefixes: dict[str, str] | None = None) -> bytes:
    out = io.BytesIO()
    serialize(quads, out, format, prefixes)
    return out.getvalue()


def typed(lexical: str, datatype: str) -> ox.Literal:
    return ox.Literal(lexical, datatype=ox.NamedNode(datatype))


# --- parsing

DOCUMENTS = {
    "turtle": b'@prefix ex: <http://example.org/> .\nex:s ex:p "c"@en .',
    "nt": b'<http://example.org/s> <http://example.org/p> "c"@en .',
    "nq": b'<http://example.org/s> <http://example.org/p> "c"@en .',
    "trig": b'PREFIX ex: <http://example.org/> { ex:s ex:p "c"@EN }',
    "n3": b'@prefix ex: <http://example.org/> .\nex:s ex:p "c"@en .',
    "rdfxml": b"""<rdf:RDF xmlns:ex="http://example.org/"
            xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
        <rdf:Description rdf:about="http://example.org/s"><ex:p xml:lang="en">c</ex:p></rdf:Description>
        </rdf:RDF>""",
    "jsonld": b"""{"@context": {"ex": "http://example.org/"}, "@id": "ex:s",
        "ex:p": {"@value": "c", "@language": "en"}}""",
}


@pytest.mark.parametrize("ending", ["", ".gz", ".bz2", ".zst"])
@pytest.mark.parametrize("extension", EXTENSIONS)
def test_every_format_under_every_compression(tmp_path: Path, extension: str, ending: str) -> None:
    compress: Any = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".zst": zstandard.compress}[ending]
    path = tmp_path / f"x.{extension}{ending}"
    path.write_bytes(compress(DOCUMENTS[EXTENSIONS[extension]]))
    assert parse(path) == [ox.Quad(S, P, ox.Literal("c", language="en"))]


@pytest.mark.parametrize("format", DOCUMENTS)
def test_a_mark_at_the_start_does_no_harm(format: str) -> None:
    assert len(parse(b"\xef\xbb\xbf" + DOCUMENTS[format], format=format)) == 1


@pytest.mark.parametrize("format", ["turtle", "trig", "n3", "jsonld"])
def test_the_prefixes_of_a_document_are_known_after_it(format: str) -> None:
    (source,) = sources(DOCUMENTS[format], format=format)
    with parsing(source) as quads:
        assert len(list(quads)) == 1
        assert quads.prefixes == {"ex": "http://example.org/"}


def test_relative_iris_are_resolved_against_the_file(tmp_path: Path) -> None:
    (tmp_path / "a b.ttl").write_bytes(b"<#x> <p> <../y> .")
    (quad,) = parse(tmp_path / "a b.ttl")
    assert quad.subject == ox.NamedNode(f"{tmp_path.as_uri()}/a%20b.ttl#x")
    assert quad.object == ox.NamedNode(f"{tmp_path.parent.as_uri()}/y")
    (quad,) = parse(tmp_path / "a b.ttl", base="http://example.org/dir/doc")
    assert quad.predicate == ox.NamedNode("http://example.org/dir/p")


def test_blank_nodes_and_lexical_forms_are_kept() -> None:
    (quad,) = parse(b'_:b1 <urn:p> "01"^^<http://www.w3.org/2001/XMLSchema#integer> .')
    assert quad == ox.Quad(ox.BlankNode("b1"), ox.NamedNode("urn:p"), typed("01", XSD + "integer"))


def test_bytes_are_counted_while_parsing(tmp_path: Path) -> None:
    path = tmp_path / "x.nt.gz"
    path.write_bytes(gzip.compress(os.urandom(0) + b"<urn:a> <urn:b> <urn:c> .\n" * 1000))
    counts: list[int] = []
    (source,) = sources(path)
    with parsing(source, on_bytes=counts.append) as quads:
        assert sum(1 for _ in quads) == 1000
    assert sum(counts) == source.size


# --- what does not parse

RDF_XML = '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:ex="http://example.org/">\n'


@pytest.mark.parametrize(
    ("name", "content", "line", "column", "message"),
    [
        (
            "x.ttl",
            "@prefix ex: <urn:> .\nex:a ex:b ex:c .\nex:a ex:b !",
            3,
            11,
            "! is not a valid RDF object",
        ),
        ("x.ttl", "<urn:é> <urn:é>\n  'é' é .", 2, 7, ""),
        ("x.ttl", "<urn:a> <urn:b> <urn:c>\n", 2, 1, "end"),
        ("x.ttl", "\n ex:a ex:b ex:c .", 2, 2, "ex: has not been declared"),
        ("x.ttl", '<urn:a> <urn:b> """\n\n \\q""" .', 3, 2, "escape"),
        ("x.ttl", "<urn:a> <urn:b>\n<http://example.org/a b> .", 2, 1, "Invalid IRI code point ' '"),
        ("x.ttl", '<urn:a> <urn:b> "\\uD800" .', 1, 18, "not a valid unicode character"),
        ("x.trig", "{ <urn:a> <urn:b> <urn:c> .\n", 2, 1, ""),
        ("x.nt", "<urn:a> <urn:b> <urn:c> .\n<urn:a> <urn:b> c .\n", 2, 17, "object"),
        ("x.nq", "<urn:a> <urn:b> <urn:c> 'd' .\n", 1, 25, ""),
        ("x.n3", "<urn:a> <urn:b> <urn:c> .\n<urn:a> <urn:b> ! .", 2, 19, ""),
        ("x.n3", "{ <urn:a> <urn:b> <urn:c> } => { } .", None, None, "formulas"),
        ("x.jsonld", '{\n "@id": "urn:a",\n "urn:b": [1,,]\n}', 3, 14, "comma"),
        ("x.jsonld", '{"@id": "urn:a",', 1, 17, ""),
        ("x.jsonld", '{"@context": "https://schema.org/", "name": "x"}', None, None, "not fetched"),
        ("x.jsonld", '{"@context": [{"@import": "https://schema.org/"}]}', None, None, "not fetched"),
        ("x.jsonld", '{"@context": 5}', None, None, ""),
        ("x.rdf", RDF_XML + "<ex:A rdf:about='http://é/a b'/>\n</rdf:RDF>", 2, 32, "Invalid IRI code point"),
        ("x.rdf", RDF_XML + "<ex:A>\n<ex:p>é</ex:q></ex:A></rdf:RDF>", 3, 14, "ex:q"),
        ("x.rdf", RDF_XML + "<ex:A>\nétext<ex:p/></ex:A></rdf:RDF>", 3, 6, ""),
        ("x.rdf", RDF_XML + "<ex:A>\n  <no:p/></ex:A></rdf:RDF>", 3, 9, "no:"),
        ("x.rdf", RDF_XML + "<ex:A", 2, 1, "unclosed token"),
        ("x.rdf", RDF_XML + "<ex:A rdf:about='urn:a'/>\n", 3, 1, "no element found"),
        ("x.rdf", RDF_XML + "<ex:A rdf:about='urn:a'/>\n</rdf:RDF>\n<rdf:RDF xmlns:rdf='urn:x'/>", 4, 1, "junk after"),
        ("x.rdf", RDF_XML + "<ex:A>\n" * 300, 302, 1, "no element found"),
        ("x.rdf", "", 1, 1, "no element found"),
    ],
)
def test_an_error_has_its_place(
    tmp_path: Path, name: str, content: str, line: int | None, column: int | None, message: str
) -> None:
    for file, data in ((name, content.encode()), (f"{name}.gz", gzip.compress(content.encode()))):
        path = tmp_path / file
        path.write_bytes(data)
        with pytest.raises(ParseError) as caught:
            parse(path)
        assert (caught.value.source, caught.value.line, caught.value.column) == (str(path), line, column)
        assert message in str(caught.value)
        assert "Parser error" not in str(caught.value)


def test_a_relative_iri_without_a_base_names_the_remedy() -> None:
    for format in ("turtle", "nt", "rdfxml"):
        document = DOCUMENTS[format].replace(b"http://example.org/s", b"s").replace(b"ex:s", b"<s>")
        with pytest.raises(ParseError, match=r"<bytes>.*relative; give a base"):
            parse(document, format=format)


def test_rdf_xml_that_breaks_far_into_the_file_has_its_place_too(tmp_path: Path) -> None:
    lines = [f'<ex:A rdf:about="http://example.org/é{i}"/>' for i in range(20_000)]
    for newline in ("\n", ""):
        good = RDF_XML + newline.join(lines) + "\n"
        path = tmp_path / "x.rdf"
        path.write_text(good + "  <ex:A></ex:B>\n</rdf:RDF>", encoding="utf-8")
        with pytest.raises(ParseError) as caught:
            parse(path)
        assert (caught.value.line, caught.value.column) == (good.count("\n") + 1, 15)


def test_a_stream_that_was_read_once_has_no_place_in_rdf_xml() -> None:
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb") as out:
        out.write(RDF_XML.encode() + b"<ex:A></ex:B>")
    with os.fdopen(reading, "rb") as file, pytest.raises(ParseError) as caught:
        parse(file)
    assert (caught.value.line, caught.value.column) == (None, None)


@pytest.mark.parametrize(
    ("format", "content", "line", "column"),
    [
        ("turtle", b'<urn:a> <urn:b>\n "\xff\xfe" .', 2, 3),
        ("trig", b'<urn:a> <urn:b>\n "\xc3" .', 2, 3),
        ("nt", b'<urn:a> <urn:b> "x" .\n<urn:a> <urn:b> "\xff" .\n', 2, 18),
        ("nq", b'<urn:a> <urn:b> "x" .\n<urn:a> <urn:b> "\xff" .\n', 2, 18),
        ("jsonld", b'{"urn:b":\n"\xff"}', 2, 2),
        ("rdfxml", RDF_XML.encode() + b"<ex:A>\n<ex:p>\xff</ex:p></ex:A></rdf:RDF>", 3, None),
        ("turtle", "<urn:a> <urn:b> 1 .".encode("utf-16"), 1, 1),
    ],
)
def test_what_is_not_utf8_has_its_place(format: str, content: bytes, line: int, column: int | None) -> None:
    with pytest.raises(ParseError, match=r"(?i)utf-8") as caught:
        parse(content, format=format)
    assert caught.value.line == line
    if column is not None:
        assert caught.value.column == column


def test_a_text_file_in_another_encoding_is_a_parse_error(tmp_path: Path) -> None:
    path = tmp_path / "x.ttl"
    path.write_bytes("<urn:a> <urn:b> 'é' .".encode("latin-1"))
    with path.open(encoding="utf-8") as file, pytest.raises(ParseError, match=r"x\.ttl.*can't decode"):
        parse(file)


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, zstandard.compress])
def test_a_compressed_file_that_breaks_off_is_named(tmp_path: Path, compress: Any) -> None:
    path = tmp_path / "x.nt.compressed"
    path.write_bytes(compress(b"".join(b"<urn:%d> <urn:b> <urn:c> .\n" % i for i in range(50_000)))[:-10])
    with pytest.raises(ParseError, match=r"x\.nt\.compressed: .*breaks off"):
        parse(path, format="nt")


def test_the_caller_s_own_errors_pass() -> None:
    (source,) = sources(DOCUMENTS["nt"])
    with pytest.raises(OSError, match="disk full"), parsing(source):
        raise OSError("disk full")


# --- rdflib


def test_an_rdflib_graph_is_the_default_graph() -> None:
    for graph in (rdflib.Graph(), rdflib.Graph(identifier="http://example.org/g")):
        graph.parse(data=DOCUMENTS["turtle"], format="turtle")
        assert list(rdflib_quads(graph)) == [ox.Quad(S, P, ox.Literal("c", language="en"))]


def test_an_rdflib_dataset_keeps_its_graphs() -> None:
    for dataset in (rdflib.Dataset(), rdflib.Dataset(default_union=True)):
        subject, predicate = rdflib.URIRef(S.value), rdflib.URIRef(P.value)
        literal = rdflib.Literal("01", datatype=rdflib.XSD.integer, normalize=False)
        dataset.default_graph.add((subject, predicate, literal))
        dataset.default_graph.add((subject, predicate, rdflib.URIRef("urn:x-rdflib:default")))
        dataset.graph(rdflib.URIRef(G.value)).add((subject, predicate, literal))
        dataset.graph(rdflib.BNode("b")).add((subject, predicate, literal))
        assert set(rdflib_quads(dataset)) == {
            ox.Quad(S, P, typed("01", XSD + "integer")),
            ox.Quad(S, P, ox.NamedNode("urn:x-rdflib:default")),
            ox.Quad(S, P, typed("01", XSD + "integer"), G),
            ox.Quad(S, P, typed("01", XSD + "integer"), ox.BlankNode("b")),
        }


def test_a_conjunctive_graph_has_a_default_graph_of_its_own() -> None:
    with pytest.warns(DeprecationWarning, match="ConjunctiveGraph is deprecated"):
        graph = rdflib.ConjunctiveGraph()
    graph.add((rdflib.URIRef(S.value), rdflib.URIRef(P.value), rdflib.Literal("a")))
    graph.get_context(G.value).add((rdflib.URIRef(S.value), rdflib.URIRef(P.value), rdflib.Literal("b")))
    assert set(rdflib_quads(graph)) == {ox.Quad(S, P, ox.Literal("a")), ox.Quad(S, P, ox.Literal("b"), G)}


def test_labels_that_only_rdflib_allows_stay_distinct() -> None:
    graph = rdflib.Graph()
    for label in ("a b", "a:b", "good"):
        graph.add((rdflib.BNode(label), rdflib.URIRef(P.value), rdflib.BNode(label)))
    quads = list(rdflib_quads(graph))
    assert len({quad.subject for quad in quads}) == 3
    assert all(quad.subject == quad.object for quad in quads)
    assert ox.BlankNode("good") in {quad.subject for quad in quads}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of rdflib's own N3 parser
def test_what_rdflib_holds_but_rdf_does_not_is_a_parse_error() -> None:
    graph = rdflib.Graph()
    graph.add((rdflib.Literal("a"), rdflib.URIRef(P.value), rdflib.Literal("b")))
    with pytest.raises(ParseError, match="not RDF"):
        list(rdflib_quads(graph))
    graph = rdflib.Graph()
    graph.parse(data="{ <urn:a> <urn:b> <urn:c> } <urn:p> <urn:d> .", format="n3")
    with pytest.raises(ParseError, match="not RDF"):
        list(rdflib_quads(graph))


# --- writing

# What XML 1.0 allows; the other formats take any character but a surrogate.
XML_TEXT = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff")
    | st.sampled_from("\t\n\r\x7f\x85<>&\"'\\ ")
)
TEXT = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("\0\x01\r\n\t\"\\'{}\ufeff\uffff"))
IRIS = st.from_regex(
    r"(http://example\.org/|urn:x:|tag:)[a-zA-Z0-9._~/?=&:()é中-]{0,9}(%41)?(#[a-zé/:-]{0,3})?",
    fullmatch=True,
).map(ox.NamedNode)
PREDICATES = IRIS | st.sampled_from(
    [ox.NamedNode(RDF + name) for name in ("type", "first", "rest", "_1", "value", "subject", "unknown")]
    + [ox.NamedNode("http://example.org/" + name) for name in ("p#x", "", "1", "-", "p/1a")]
)
NAMED = IRIS | st.sampled_from([ox.NamedNode(RDF + name) for name in ("nil", "List", "Bag", "li", "Description")])
BLANKS = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.é-]{0,4}[a-z]", fullmatch=True).map(ox.BlankNode)
LANGUAGES = st.sampled_from(["en", "zh-hant-tw", "x-klingon"])
DATATYPES = st.sampled_from(
    [XSD + name for name in ("integer", "decimal", "double", "boolean", "token", "date", "float", "anyURI")]
    + [RDF + name for name in ("XMLLiteral", "JSON", "HTML")]
    + ["http://example.org/a?b&c", "https://www.w3.org/ns/i18n#ar_rtl"]
)
LEXICAL = st.sampled_from(["01", "1", "+1", "1.", ".5", "1.50", "1e0", "1.0E2", "true", "1", "<a>b</a>", '{"b":1}'])


def literals(text: st.SearchStrategy[str]) -> st.SearchStrategy[ox.Literal]:
    return (
        st.builds(ox.Literal, text)
        | st.builds(lambda value, tag: ox.Literal(value, language=tag), text, LANGUAGES)
        | st.builds(
            lambda value, tag, to: ox.Literal(value, language=tag, direction=ox.BaseDirection(to)),
            *(text, LANGUAGES, st.sampled_from(["ltr", "rtl"])),
        )
        | st.builds(typed, text | LEXICAL, DATATYPES)
    )


def quad_lists(text: st.SearchStrategy[str], *, triples: bool = True) -> st.SearchStrategy[list[ox.Quad]]:
    nodes = NAMED | BLANKS
    objects: st.SearchStrategy[Term] = nodes | literals(text)
    if triples:
        objects |= st.recursive(
            st.builds(ox.Triple, nodes, PREDICATES, objects),
            lambda inner: st.builds(ox.Triple, nodes, PREDICATES, inner),
            max_leaves=2,
        )
    return st.lists(st.builds(ox.Quad, nodes, PREDICATES, objects), max_size=6, unique=True)


def same(before: list[ox.Quad], after: list[ox.Quad]) -> bool:
    """Equal, where blank nodes may have other labels."""
    left, right = ox.Dataset(before), ox.Dataset(after)
    if left == right:
        return True
    left.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    right.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return left == right


@pytest.mark.parametrize("format", ["turtle", "nt", "nq", "trig"])
@given(quads=quad_lists(TEXT), grouped=st.booleans())
def test_quads_survive_a_format(format: str, quads: list[ox.Quad], grouped: bool) -> None:
    if grouped:
        quads = sorted(quads, key=lambda quad: str(quad.subject))
    assert same(quads, parse(write(quads, format, PREFIXES), format=format))


@pytest.mark.parametrize("format", GRAPHS)
@given(data=st.data())
def test_named_graphs_survive_a_format(format: str, data: st.DataObject) -> None:
    quads = data.draw(quad_lists(TEXT, triples=format != "jsonld"))
    graphs = st.lists(NAMED | BLANKS | st.just(ox.DefaultGraph()), min_size=len(quads), max_size=len(quads))
    quads = [
        ox.Quad(quad.subject, quad.predicate, quad.object, graph)
        for quad, graph in zip(quads, data.draw(graphs), strict=True)
    ]
    document = write(quads, format, PREFIXES)
    if format == "jsonld":
        json.loads(document)
    assert same(quads, parse(document, format=format))


@given(quads=quad_lists(XML_TEXT), grouped=st.booleans())
def test_quads_survive_rdf_xml(quads: list[ox.Quad], grouped: bool) -> None:
    quads = [quad for quad in quads if all(map(has_xml_name, predicates(quad)))]
    if grouped:
        quads = sorted(quads, key=lambda quad: str(quad.subject))
    document = write(quads, "rdfxml", PREFIXES)
    assert same(quads, parse(document, format="rdfxml"))
    expat.ParserCreate(namespace_separator=" ").Parse(document, True)


def predicates(triple: ox.Quad | ox.Triple) -> Iterator[str]:
    yield triple.predicate.value
    if isinstance(triple.object, ox.Triple):
        yield from predicates(triple.object)


def has_xml_name(iri: str) -> bool:
    return re.search(r"[A-Za-z_é中][A-Za-z0-9_.é中-]*$", iri) is not None


@given(values=st.lists(st.builds(ox.Literal, XML_TEXT), unique=True), predicate=PREDICATES)
def test_rdflib_reads_our_rdf_xml(values: list[ox.Literal], predicate: ox.NamedNode) -> None:
    if has_xml_name(predicate.value):
        document = write([ox.Quad(S, predicate, value) for value in values], "rdfxml", PREFIXES)
        graph = rdflib.Graph().parse(data=document, format="xml")
        assert {(str(p), str(o)) for _, p, o in graph} == {(predicate.value, value.value) for value in values}


@pytest.mark.parametrize("format", ["turtle", "nt", "rdfxml"])
def test_a_named_graph_is_refused_by_a_triple_format(format: str) -> None:
    with pytest.raises(ValueError, match=r"(not support|no) named graphs"):
        write([ox.Quad(S, P, S), ox.Quad(S, P, P, G)], format)


def test_triple_terms_are_refused_by_json_ld() -> None:
    with pytest.raises(ValueError, match="no triple terms"):
        write([ox.Quad(S, P, ox.Triple(S, P, S))], "jsonld")


@pytest.mark.parametrize("character", ["\0", "\x01", "\x0b", "\x1f", "\ufffe", "\uffff"])
def test_characters_that_xml_forbids_are_refused(character: str) -> None:
    with pytest.raises(ValueError, match=rf"U\+{ord(character):04X}"):
        write([ox.Quad(S, P, ox.Literal(f"a{character}b"))], "rdfxml")
    with pytest.raises(ValueError, match="XML can't hold"):
        escape_xml(character)


@pytest.mark.parametrize(
    "predicate",
    [
        *("http://example.org/1", "http://example.org/", "urn:x:1-2", "http://example.org/(", RDF + "li"),
        *(RDF + "Description", RDF + "about", "http://www.w3.org/2000/xmlns/foo"),
    ],
)
def test_predicates_that_rdf_xml_cannot_write_are_refused(predicate: str) -> None:
    quad = ox.Quad(S, ox.NamedNode(predicate), S)
    with pytest.raises(ValueError, match="can't write the predicate"):
        write([quad], "rdfxml", {"ex": "http://example.org/", "urn": "urn:x:"})
    assert parse(write([quad], "turtle")) == [quad]


def test_rdf_xml_keeps_what_an_xml_parser_would_change() -> None:
    quad = ox.Quad(S, P, ox.Literal("a\r\nb\rc\td  \n"))
    document = write([quad], "rdfxml")
    assert parse(document, format="rdfxml") == [quad]
    (text,) = rdflib.Graph().parse(data=document, format="xml").objects()
    assert str(text) == "a\r\nb\rc\td  \n"


@pytest.mark.parametrize("format", ["turtle", "trig", "rdfxml"])
def test_a_prefix_that_a_format_cannot_express_is_left_out(format: str) -> None:
    prefixes = {
        **dict.fromkeys(("a b", "_", "1", "a.", "xml", "XMLa", "ok"), "http://example.org/"),
        **{"relative": "x/", "space": "http://example.org/a b", "its": "http://example.org/its#"},
        **{"x": "http://www.w3.org/XML/1998/namespace", "rdf": "http://example.org/rdf#", "": "urn:"},
    }
    quads = [
        ox.Quad(S, P, S),
        ox.Quad(
            S,
            ox.NamedNode("http://example.org/its#a"),
            ox.Literal("x", language="ar", direction=ox.BaseDirection.RTL),
        ),
        ox.Quad(S, ox.NamedNode("http://example.org/rdf#a"), ox.BlankNode("b")),
        ox.Quad(S, ox.NamedNode("http://www.w3.org/XML/1998/namespacelang"), ox.BlankNode("b")),
        ox.Quad(S, ox.NamedNode(RDF + "type"), ox.NamedNode("urn:x")),
    ]
    document = write(quads, format, prefixes)
    assert parse(document, format=format) == quads
    assert re.search(rb"(ok|XMLa):p\b", document)
    if format == "rdfxml":
        expat.ParserCreate(namespace_separator=" ").Parse(document, True)


def test_blank_nodes_stay_distinct_in_rdf_xml() -> None:
    labels = ["1", "_x31", "x31", "a.b", "é"]
    quads = [ox.Quad(ox.BlankNode(label), P, ox.Literal(label)) for label in labels]
    assert len({quad.subject for quad in parse(write(quads, "rdfxml"), format="rdfxml")}) == len(labels)


@pytest.mark.parametrize("format", WRITTEN)
def test_an_empty_document_is_one(format: str) -> None:
    assert parse(write([], format), format=format) == []


def test_quads_are_streamed() -> None:
    out = io.BytesIO()

    def quads() -> Iterator[ox.Quad]:
        for i in range(20_000):
            if i == 19_999:
                assert out.tell() > 100_000
            yield ox.Quad(S, P, ox.Literal(str(i)))

    for format in ("nt", "rdfxml"):
        serialize(quads(), out, format)


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(ValueError, match="'pdf' is not a format"):
        find_format("pdf")
    with pytest.raises(ValueError, match="not a format"):
        write([], "csv")
