"""Random quads through a world: loaded, exported and loaded again in every format, each term exactly as it was."""

from __future__ import annotations

import io
import re

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import worlds
from tests.support.w3c import canonical
from worlds import World
from worlds.graph.formats import FORMATS
from worlds.graph.terms import RDF, XSD, Term

EXAMPLES = 6  # datasets a format, at least
QUADS = 10  # in each, and a dozen at most

# What is hard to write: control characters, what a format escapes, the ends of Unicode's planes.
HARD = "\0\x01\x07\b\t\n\x0b\f\r\x1b\x1f\x7f\x80\x85\x9f\xa0\xad\u2028\u2029\ud7ff\ue000\ufdd0\ufeff\ufffd\ufffe\uffff"
HARD += "\U00010000\U0001fffe\U0010ffff\"'\\<>&{}|^`@#%;.,:_-~$!*()[]=?/+ "
TEXT = st.text(st.sampled_from(HARD) | st.characters(exclude_categories=["Cs"]), max_size=12)
XML_TEXT = TEXT.map(lambda text: re.sub("[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]", "x", text))

# Every kind of character that an IRI may have, and what looks like a prefixed name or a relative IRI.
HEADS = (
    "http://example.org/ http://example.org/a?q= https://é.example:8080/#f urn:x: tag:a@b.c,2024: x-a+b.c1:y mailto:x"
)
PIECES = [*"abzAZ019._~!$&'()*+,;=:@/-é中𠀀\u00a0\ud7ff\uf900\uffef", "%41", "%C3", "..", "//", "./", "a:b"]
IRI = st.builds(
    lambda head, tail: ox.NamedNode(head + "".join(tail)),
    st.sampled_from(HEADS.split(" ")),
    st.lists(st.sampled_from(PIECES), max_size=8),
)
PREDICATE = st.builds(
    lambda namespace, name: ox.NamedNode(namespace + name),
    st.sampled_from(["http://example.org/", "http://example.org/ns#", "urn:x:", RDF]),
    st.sampled_from(["p", "type", "first", "rest", "_1", "Bag", "li", "value", "é", "中文", "p-1", "p.q", "x_y"]),
)
BLANK = st.text("abzAZ019_.-é中·", max_size=4).map(lambda label: ox.BlankNode(f"b{label}z"))
LANGUAGE = st.sampled_from(["en", "EN-gb", "zh-Hant-TW", "x-klingon", "de-1996", "sl-rozaj-biske"])
DATATYPE = st.sampled_from(
    [XSD + name for name in ("integer", "int", "decimal", "double", "boolean", "dateTime", "gYear", "token", "anyURI")]
    + [RDF + name for name in ("XMLLiteral", "JSON", "HTML")]
    + ["http://example.org/a?b&c#", "urn:x:'"]
).map(ox.NamedNode)
LEXICAL = st.sampled_from(
    [
        *("0", "-0", "01", "+1", "1.", ".5", "1.50", "1e0", "1.0E+02", "INF", "NaN", "true", "1", "TRUE", " 1 ", ""),
        *("2024-01-01T00:00:00.000Z", "2024-01-01T24:00:00", "2024-02-30", "-0001", "<a b='&amp;'/>", '{"b": [1.0]}'),
    ]
)


def _literals(text: st.SearchStrategy[str]) -> st.SearchStrategy[ox.Literal]:
    direction = st.sampled_from([ox.BaseDirection.LTR, ox.BaseDirection.RTL])
    return st.one_of(
        text.map(ox.Literal),
        st.builds(lambda value, tag: ox.Literal(value, language=tag), text, LANGUAGE),
        st.builds(lambda value, tag, to: ox.Literal(value, language=tag, direction=to), text, LANGUAGE, direction),
        st.builds(lambda value, datatype: ox.Literal(value, datatype=datatype), LEXICAL | text, DATATYPE),
    )


def datasets(format: str) -> st.SearchStrategy[list[ox.Quad]]:
    """Lists of at least QUADS distinct quads that the format can hold."""
    node: st.SearchStrategy[ox.NamedNode | ox.BlankNode] = IRI | BLANK
    value: st.SearchStrategy[Term] = node | _literals(XML_TEXT if format == "rdfxml" else TEXT)
    predicate = PREDICATE
    if format == "rdfxml":  # rdf:li and rdf:Bag are syntax there
        predicate = predicate.filter(lambda term: term.value not in (RDF + "li", RDF + "Bag"))
    if format != "jsonld":
        inner = st.builds(ox.Triple, node, predicate, value)
        value |= inner | st.builds(ox.Triple, node, predicate, inner)
    graph: st.SearchStrategy[ox.NamedNode | ox.BlankNode | ox.DefaultGraph] = st.just(ox.DefaultGraph())
    if FORMATS[format].graphs:
        graph |= node
    quad = st.builds(ox.Quad, node, predicate, value, graph)
    return st.lists(quad, min_size=QUADS, max_size=QUADS + 2, unique=True)


def exported(world: World, format: str) -> bytes:
    out = io.BytesIO()
    world.export(out, format=format)
    return out.getvalue()


@pytest.mark.parametrize("format", [format for format in FORMATS if format != "n3"])
def test_quads_go_through_a_world(format: str, long: bool) -> None:
    trips = 0

    @settings(max_examples=1000 if long else EXAMPLES)
    @given(quads=datasets(format))
    def run(quads: list[ox.Quad]) -> None:
        nonlocal trips
        expected = canonical(quads)
        document = ox.serialize(quads, format=ox.RdfFormat.N_QUADS)
        with worlds.open(embedder=None) as world:
            assert world.load(document, format="nq").added == len(quads)
            assert canonical(ox.parse(exported(world, "nq"), ox.RdfFormat.N_QUADS)) == expected
            document = exported(world, format)
            with worlds.open(embedder=None) as other:
                assert other.load(document, format=format).added == len(quads)
                assert canonical(ox.parse(exported(other, "nq"), ox.RdfFormat.N_QUADS)) == expected
            trips += len(quads)

    run()
    assert trips >= EXAMPLES * QUADS
