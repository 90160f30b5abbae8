from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import pyoxigraph as ox
import pytest
import rdflib
from hypothesis import given
from hypothesis import strategies as st

from worlds.graph.terms import (
    RDF,
    WELL_KNOWN_PREFIXES,
    XSD,
    Term,
    format_term,
    is_prefix,
    shorten,
    to_object,
    to_oxigraph,
    to_python,
    to_rdflib,
)

EX = {
    "ex": "http://example.org/",
    "": "http://example.org/empty#",
    "http": "http://http.example/",
    "xsd": XSD,
}


def typed(lexical: str, datatype: str) -> ox.Literal:
    return ox.Literal(lexical, datatype=ox.NamedNode(datatype if ":" in datatype else XSD + datatype))


TEXT = st.text(st.characters(exclude_categories=["Cs"]))
IRIS = st.from_regex(r"[abYZ019\-._~/?=:()é中]{0,9}(%41)?(#[abYZ019\-._~/:é中]{0,5})?", fullmatch=True).map(
    lambda text: ox.NamedNode("http://example.org/" + text)
)
BLANKS = st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,8}", fullmatch=True).map(ox.BlankNode)
DATATYPES = st.sampled_from(
    [XSD + name for name in ("integer", "token", "date", "boolean", "hexBinary", "byte", "duration", "gYear")]
    + [RDF + "XMLLiteral", "http://example.org/type"]
)
LITERALS = (
    st.builds(ox.Literal, TEXT)
    | st.builds(lambda text, tag: ox.Literal(text, language=tag), TEXT, st.sampled_from(["en", "zh-hant-tw"]))
    | st.builds(typed, TEXT | st.from_regex(r"-?[0-9.]{1,9}", fullmatch=True), DATATYPES)
)


# --- in


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("http://example.org/a", ox.NamedNode("http://example.org/a")),
        ("<http://example.org/a>", ox.NamedNode("http://example.org/a")),
        ("<urn:x\\u00e9>", ox.NamedNode("urn:xé")),
        ("urn:uuid:1", ox.NamedNode("urn:uuid:1")),
        ("mailto:ann@example.org", ox.NamedNode("mailto:ann@example.org")),
        ("ex:thing", ox.NamedNode("http://example.org/thing")),
        ("ex:", ox.NamedNode("http://example.org/")),
        (":thing", ox.NamedNode("http://example.org/empty#thing")),
        ("<ex:thing>", ox.NamedNode("ex:thing")),
        ("<other:thing>", ox.NamedNode("other:thing")),
        ("http:thing", ox.NamedNode("http://http.example/thing")),
        ("_:b1", ox.BlankNode("b1")),
        ('""', ox.Literal("")),
        ('"a \\"b\\" \\t \\u00e9\\U0001F600"', ox.Literal('a "b" \t é😀')),
        ('"two\nlines"', ox.Literal("two\nlines")),
        ('"text"@EN-gb', ox.Literal("text", language="en-gb")),
        ('"text"@ar--rtl', ox.Literal("text", language="ar", direction=ox.BaseDirection.RTL)),
        ('"01"^^<http://www.w3.org/2001/XMLSchema#integer>', typed("01", "integer")),
        ('"01"^^xsd:integer', typed("01", "integer")),
        ('"\\u0000"', ox.Literal("\0")),
    ],
)
def test_a_string_is_a_term(text: str, term: Term) -> None:
    assert to_oxigraph(text, prefixes=EX) == term


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "hello world",
        "hello: world",
        "_:",
        "_:a b",
        "_:a:b",
        '"open',
        '"a" "b"',
        '"a"@',
        '"a"@en_GB',
        '"a"@toolongforatag',
        '"a"^^',
        '"a"^^"b"',
        '"a"^^<b c:d>',
        '"\\x"',
        '"\\ud800"',
        '"\\U00110000"',
        "\ud800",
        '"\ud800"',
        "other:thing",
        "<>",
        "<relative>",
        *(f"http://example.org/{bad}" for bad in (" ", "\t", "\0", "\x7f", "<", ">", '"', "{", "}", "|", "^")),
        *("http://example.org/`", "http://example.org/\\", "http://example.org/\ud800", "ex:a b", "ex:%zz"),
        f'"x"^^<{RDF}langString>',
        f'"x"^^<{RDF}dirLangString>',
    ],
)
def test_a_string_that_is_no_term_is_named_in_the_error(text: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        to_oxigraph(text, prefixes=EX)
    assert "'" in str(caught.value)


def test_the_error_for_a_bare_text_names_the_remedy() -> None:
    with pytest.raises(ValueError, match=r"'Paris' is neither.*rdflib\.Literal\('Paris'\)"):
        to_object("Paris")


def test_the_error_for_a_bare_name_says_nothing_of_texts_where_only_an_iri_may_stand() -> None:
    with pytest.raises(ValueError, match=r"'Paris' is neither.*`worlds resolve` finds") as caught:
        to_oxigraph("Paris")
    assert "Literal" not in str(caught.value)


@pytest.mark.parametrize("value", [None, 1, 1.5, object(), rdflib.Variable("x"), rdflib.Graph(), ["ex:a"]])
def test_other_objects_are_not_terms(value: object) -> None:
    with pytest.raises(TypeError, match="not an RDF term"):
        to_oxigraph(value)


@pytest.mark.parametrize(
    "bad",
    [
        rdflib.BNode("a b"),
        rdflib.BNode("a:b"),
        rdflib.Literal("\ud800"),
        rdflib.Literal("x", datatype=rdflib.RDF.langString),
        ox.Literal("x", datatype=ox.NamedNode(RDF + "langString")),
        ox.BlankNode("a:b"),
    ],
)
def test_terms_that_no_format_can_hold_are_refused(bad: object) -> None:
    with pytest.raises(ValueError, match=r"."):
        to_oxigraph(bad)


def test_an_invalid_iri_of_rdflib_is_refused(caplog: pytest.LogCaptureFixture) -> None:
    iri = rdflib.URIRef("http://example.org/a b")
    with pytest.raises(ValueError, match=r"'http://example.org/a b' is not an IRI"):
        to_oxigraph(iri)
    with pytest.raises(ValueError, match="'relative' is not an IRI"):
        to_oxigraph(rdflib.URIRef("relative"))


def test_subclasses_of_str_are_strings() -> None:
    assert to_oxigraph(rdflib.Namespace("http://example.org/")) == ox.NamedNode("http://example.org/")
    assert to_oxigraph(np.str_("http://example.org/")) == ox.NamedNode("http://example.org/")
    assert to_oxigraph(rdflib.RDF.type) == ox.NamedNode(RDF + "type")


@pytest.mark.parametrize(
    ("value", "lexical", "datatype"),
    [
        (True, "true", "boolean"),
        (False, "false", "boolean"),
        (42, "42", "integer"),
        (-(10**30), "-1" + "0" * 30, "integer"),
        (1.5, "1.5", "double"),
        (1e30, "1e+30", "double"),
        (float("inf"), "INF", "double"),
        (float("-inf"), "-INF", "double"),
        (float("nan"), "NaN", "double"),
        (np.float64(0.1), "0.1", "double"),
        (Decimal("1.50"), "1.50", "decimal"),
        (Decimal("1E+3"), "1000", "decimal"),
        (date(2024, 2, 29), "2024-02-29", "date"),
        (datetime(2024, 2, 29, 12, 30), "2024-02-29T12:30:00", "dateTime"),
        (datetime(2024, 2, 29, 12, 30, 0, 5, UTC), "2024-02-29T12:30:00.000005+00:00", "dateTime"),
        (
            datetime(1900, 1, 1, tzinfo=timezone(timedelta(minutes=9, seconds=21))),
            "1899-12-31T23:50:39+00:00",
            "dateTime",
        ),
    ],
)
def test_python_values_become_typed_literals(value: object, lexical: str, datatype: str) -> None:
    literal = to_object(value)
    assert literal == typed(lexical, datatype)
    assert type(to_python(literal)) is not str


def test_values_without_a_literal_are_refused() -> None:
    with pytest.raises(ValueError, match="give a float"):
        to_object(Decimal("NaN"))
    with pytest.raises(TypeError):
        to_object(None)


# --- out


@given(IRIS | BLANKS | LITERALS)
def test_a_term_survives_rdflib(term: Term) -> None:
    outside = to_rdflib(term)
    assert str(outside) == term.value  # type: ignore[union-attr]
    assert to_oxigraph(outside) == term
    assert to_object(outside) == term


@given(IRIS | BLANKS | LITERALS)
def test_a_term_survives_as_a_string(term: Term) -> None:
    assert to_oxigraph(str(term)) == term
    if (formatted := format_term(term))[0] in '<_"':  # else a bare number, which is Turtle only
        assert to_oxigraph(formatted) == term


@pytest.mark.parametrize(
    ("lexical", "datatype"),
    [
        *(("01", "integer"), ("abc", "integer"), ("300", "byte"), ("1.50", "decimal"), ("NaN", "double")),
        *(("1", "boolean"), ("yes", "boolean"), ("2024-02-29", "date"), ("2024-02-30", "date")),
        *(
            ("2024-02-29T01:02:03Z", "dateTime"),
            ("P1Y", "duration"),
            ("0aFF", "hexBinary"),
            ("0", "hexBinary"),
        ),
        *(
            ("2024", "gYear"),
            ("x", "anyURI"),
            ("x", "http://example.org/own"),
            ("<a>b</a>", RDF + "XMLLiteral"),
        ),
    ],
)
def test_a_literal_is_what_rdflib_itself_makes(lexical: str, datatype: str) -> None:
    logging.disable()  # rdflib logs a traceback for each ill-typed literal
    try:
        theirs = rdflib.Literal(lexical, datatype=typed("", datatype).datatype.value, normalize=False)
    finally:
        logging.disable(logging.NOTSET)
    ours = to_rdflib(typed(lexical, datatype))
    assert (ours, ours.datatype, ours.language) == (theirs, theirs.datatype, theirs.language)
    assert ours.ill_typed == theirs.ill_typed
    assert ours.n3() == theirs.n3()
    assert hash(ours) == hash(theirs)
    assert type(ours.value) is type(theirs.value)
    if datatype != RDF + "XMLLiteral":
        assert ours.value == theirs.value or ours.value != ours.value


def test_plain_literals_are_what_rdflib_itself_makes() -> None:
    assert to_rdflib(ox.Literal("x")) == rdflib.Literal("x")
    assert to_rdflib(ox.Literal("x")).value == "x"
    assert to_rdflib(ox.Literal("x", language="en")) == rdflib.Literal("x", lang="en")
    assert to_rdflib(ox.NamedNode("urn:x")) == rdflib.URIRef("urn:x")
    assert to_rdflib(ox.BlankNode("x")) == rdflib.BNode("x")


def test_a_token_keeps_its_spaces() -> None:
    assert str(to_rdflib(typed(" a\t b ", "token"))) == " a\t b "


def test_what_rdflib_lacks_stays_as_it_is() -> None:
    direction = ox.Literal("x", language="ar", direction=ox.BaseDirection.RTL)
    triple = ox.Triple(ox.NamedNode("urn:a"), ox.NamedNode("urn:b"), direction)
    assert to_rdflib(direction) is direction
    assert to_rdflib(triple) is triple
    assert to_oxigraph(triple) is triple


def test_ill_typed_literals_are_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    for datatype in (
        "integer",
        "boolean",
        "date",
        "dateTime",
        "duration",
        "hexBinary",
        "time",
    ):
        literal = to_rdflib(typed("?", datatype))
        assert literal.ill_typed
        assert to_python(typed("?", datatype)) == "?"
    assert not caplog.records


@pytest.mark.parametrize(
    ("term", "value"),
    [
        (None, None),
        (ox.NamedNode("urn:a"), "urn:a"),
        (ox.BlankNode("b"), "_:b"),
        (ox.Literal("x"), "x"),
        (ox.Literal("1", language="en"), "1"),
        (typed("007", "integer"), 7),
        (typed("+7", "unsignedByte"), 7),
        (typed("256", "unsignedByte"), "256"),
        (typed("0", "negativeInteger"), "0"),
        (typed("٣", "integer"), "٣"),
        (typed(" 1", "integer"), " 1"),
        (typed("9" * 5000, "integer"), "9" * 5000),
        (typed("1.50", "decimal"), Decimal("1.50")),
        (typed("1e3", "decimal"), "1e3"),
        (typed("1e3", "double"), 1000.0),
        (typed("-INF", "float"), float("-inf")),
        (typed("infinity", "double"), "infinity"),
        (typed("1_0", "double"), "1_0"),
        (typed("1", "boolean"), True),
        (typed("TRUE", "boolean"), "TRUE"),
        (typed("2024-02-29", "date"), date(2024, 2, 29)),
        (typed("2024-02-29+01:00", "date"), date(2024, 2, 29)),
        (typed("2023-02-29", "date"), "2023-02-29"),
        (typed("20240229", "date"), "20240229"),
        (typed("-0044-03-15", "date"), "-0044-03-15"),
        (typed("2024-02-29T12:00:00", "dateTime"), datetime(2024, 2, 29, 12)),
        (typed("2024-02-29T12:00:00.1234567Z", "dateTime"), datetime(2024, 2, 29, 12, 0, 0, 123456, UTC)),
        (typed("2024-02-29", "dateTime"), "2024-02-29"),
        (typed("2024-02-29T12:00:00", "dateTimeStamp"), "2024-02-29T12:00:00"),
        (typed("2024", "gYear"), "2024"),
        (typed("12:00:00", "time"), "12:00:00"),
        (typed("x", "http://example.org/own"), "x"),
        (
            ox.Triple(ox.NamedNode("urn:a"), ox.NamedNode("urn:b"), typed("1", "integer")),
            "<<( <urn:a> <urn:b> 1 )>>",
        ),
    ],
)
def test_a_term_as_a_python_value(term: Term | None, value: object) -> None:
    found = to_python(term)
    assert found == value
    assert type(found) is type(value)


# --- for people


@pytest.mark.parametrize(
    ("local", "short"),
    [
        *(
            ("thing", "ex:thing"),
            ("", "ex:"),
            ("10.1000", "ex:10.1000"),
            ("a:b", "ex:a:b"),
            ("中文", "ex:中文"),
        ),
        *(("%41b", "ex:%41b"), ("-a", None), ("a.", None), ("a/b", None), ("a(b)", None), ("a~b", None)),
    ],
)
def test_a_short_name_is_one_that_turtle_reads(local: str, short: str | None) -> None:
    iri = "http://example.org/" + local
    found = shorten(iri, {"ex": "http://example.org/"})
    assert found == (short or f"<{iri}>")
    document = f"@prefix ex: <http://example.org/> . {found} <urn:p> 1 ."
    assert next(ox.parse(document.encode(), ox.RdfFormat.TURTLE)).subject == ox.NamedNode(iri)


def test_the_longest_namespace_wins() -> None:
    prefixes = {"a": "http://example.org/", "b": "http://example.org/b#", "c": "http://example.org/b"}
    assert shorten("http://example.org/b#x", prefixes) == "b:x"
    assert shorten("http://example.org/b#(", prefixes) == "<http://example.org/b#(>"


@given(LITERALS | IRIS)
def test_a_formatted_term_is_turtle(term: Term) -> None:
    head = "".join(f"@prefix {name}: <{iri}> .\n" for name, iri in WELL_KNOWN_PREFIXES.items())
    document = f"{head}<urn:s> <urn:p> {format_term(term, WELL_KNOWN_PREFIXES)} ."
    assert next(ox.parse(document.encode(), ox.RdfFormat.TURTLE)).object == term


def test_numbers_are_bare_where_turtle_reads_the_same_literal() -> None:
    assert format_term(typed("042", "integer")) == "042"
    assert format_term(typed("1.", "decimal"), EX) == '"1."^^xsd:decimal'
    assert format_term(typed("1", "boolean"), EX) == '"1"^^xsd:boolean'
    assert format_term(ox.Literal("x", language="ar", direction=ox.BaseDirection.RTL)) == '"x"@ar--rtl'


def test_well_known_prefixes_are_prefixes_of_iris() -> None:
    for prefix, iri in WELL_KNOWN_PREFIXES.items():
        assert is_prefix(prefix)
        assert iri[-1] in "#/"
        assert ox.NamedNode(iri)
    assert not any(map(is_prefix, ("a b", "_", "1", "a.", "a:", "a\n")))


def test_rdflib_is_imported_only_when_it_is_needed() -> None:
    code = (
        "import sys, worlds.graph.terms, worlds.graph.rdf_sources, worlds.graph.formats, worlds.graph.query.results;"
        "print([name for name in ('rdflib', 'zstandard', 'urllib.request', 'pandas') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("convert", [to_rdflib, to_python, to_oxigraph])
def test_a_conversion_takes_a_few_microseconds(convert: Callable[[Any], object]) -> None:
    import timeit

    for term in (ox.NamedNode("http://example.org/a"), ox.Literal("text"), typed("2024-02-29", "date")):
        best = min(timeit.repeat(lambda term=term: convert(term), number=1000, repeat=5)) / 1000  # type: ignore[misc]
        assert best < 10e-6


def test_a_triple_term_is_written_as_in_turtle() -> None:
    """RDF 1.2 Turtle, section 2.11."""
    prefixes = {"ex": "http://e/"}
    term = ox.Triple(ox.NamedNode("http://e/a"), ox.NamedNode("http://e/p"), ox.Literal("x", language="en"))
    assert to_oxigraph('<<( ex:a ex:p "x"@en )>>', prefixes=prefixes) == term
    assert to_oxigraph('<<( <http://e/a> <http://e/p> "x"@en )>>') == term
    nested = to_oxigraph("<<( ex:a ex:p <<( ex:a ex:p ex:b )>> )>>", prefixes=prefixes)
    assert isinstance(nested, ox.Triple)
    assert isinstance(nested.object, ox.Triple)
    for depth in (101, 300_000):  # which would end the process
        with pytest.raises(ValueError, match="nested deeper than 100"):
            to_oxigraph("<<( ex:a ex:p " * depth + "ex:b" + " )>>" * depth, prefixes=prefixes)
    two = "<<( ex:a ex:p ex:b )>> . <x> <y> <<( ex:a ex:p ex:b )>>"
    two = "<<( ex:a ex:p ex:b )>> . <x> <y> <<( ex:a ex:p ex:b )>>"
    for wrong in ("<<( ex:a ex:p )>>", "<<( nope:a ex:p ex:b )>>", '<<( "x" ex:p ex:b )>>', two):
        with pytest.raises(ValueError, match="is not a triple term"):
            to_oxigraph(wrong, prefixes=prefixes)
