"""What must not reach a parser: documents whose nesting would end the process, or keep it busy for hours."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlds
from worlds.graph.bounds import Json, TripleTerms, Xml
from worlds.graph.formats import serialize

Make = Callable[[int], str]

SUBJECT = ox.NamedNode("urn:x:s")
XML = '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:x="urn:x:">{}</rdf:RDF>'


def row(template: str) -> Make:
    """A context of which every term takes the next one."""

    def make(count: int) -> str:
        terms = [template.format(number, number + 1) for number in range(count)]
        return '{"@context": {' + ", ".join([*terms, f'"a{count}": "urn:x"']) + '}, "a0": "1"}'

    return make


def around(before: str, opening: str, inner: str, closing: str, after: str = "") -> Make:
    return lambda depth: before + opening * depth + inner + closing * depth + after


# The format, a document of a depth that is fine, and of one that ends the process (or takes half a minute).
DEEP: dict[str, tuple[str, int, int, Make]] = {
    "triple terms": ("turtle", 90, 30_000, around("<urn:s> <urn:p> ", "<<( <urn:s> <urn:p> ", "1", " )>>", " .")),
    "comments between": (
        "turtle",
        90,
        30_000,
        around("<urn:s> <urn:p> ", '<<( <urn:s> <urn:p> # "\n', "1", " )>>", "."),
    ),
    "closed in comments": (
        "trig",
        90,
        30_000,
        around("<urn:s> <urn:p> ", "<<( <urn:s> <urn:p> # )>>\r", "1", " )>>", "."),
    ),
    "escaped quotes": (
        "turtle",
        90,
        30_000,
        around("@prefix e: <urn:e>. e:s e:p ", r"<<( e:a\' e:b#\"" + "\n", "1", " )>>", "."),
    ),
    "after a comment in a text": (
        "turtle",
        90,
        30_000,
        around('<urn:s> <urn:p> "<<( # " . <urn:s> <urn:p> ', "<<( <urn:s> <urn:p> ", "1", " )>>", " ."),
    ),
    "N-Quads": ("nq", 90, 30_000, around("<urn:s> <urn:p> ", "<<( _:b <urn:p#> ", "<urn:o>", " )>>", " .")),
    "XML elements": (
        "rdfxml",
        400,
        50_000,
        lambda depth: XML.format("<rdf:Description><x:p>" * depth + "</x:p></rdf:Description>" * depth),
    ),
    "XML attributes": (
        "rdfxml",
        900,
        80_000,
        lambda count: XML.format(
            "<rdf:Description %s/>" % " ".join(f'x:a{number}="1"' for number in range(count))  # noqa: UP031
        ),
    ),
    "JSON nodes": ("jsonld", 190, 20_000, around('{"@id": "urn:s", "urn:p": ', '{"urn:p": ', "1", "}", "}")),
    "JSON lists": ("jsonld", 90, 20_000, around('{"@id": "urn:s", "urn:p": ', '{"@list": [', "1", "]}", "}")),
    "JSON contexts": (
        "jsonld",
        90,
        3_000,
        around('{"@context": ', '{"a": {"@id": "urn:a", "@context": ', "{}", "}}", ', "a": 1, "urn:p": "1"}'),
    ),
    "JSON values": (
        "jsonld",
        90,
        20_000,
        around('{"urn:p": {"@type": "@json", "@value": ', '{"}": ', '"1"', "}", "}}"),
    ),
    "terms that are prefixes": ("jsonld", 9, 20_000, row('"a{}": "a{}:x"')),
    "terms of terms": ("jsonld", 9, 20_000, row('"a{}": {{"@id": "a{}:x"}}')),
    "types of terms": ("jsonld", 9, 20_000, row('"a{}": {{"@id": "urn:p", "@type": "a{}:x"}}')),
}


@pytest.mark.parametrize("name", DEEP)
def test_what_is_nested_too_deep_is_refused_at_once(name: str) -> None:
    format, fine, deep, make = DEEP[name]
    with worlds.open(embedder=None) as world:
        begin = time.process_time()
        with pytest.raises(worlds.ParseError, match=r"nested deeper than|in a row|more than 1,000 attributes"):
            world.load(make(deep).encode(), format=format, base="urn:base")
        with pytest.raises(worlds.ParseError):  # one that breaks off
            world.load(make(deep)[: -deep // 2].encode(), format=format, base="urn:base")
        assert time.process_time() - begin < 5
        assert (len(world), world.history()) == (0, [])
        assert world.load(make(fine).encode(), format=format, base="urn:base").added


def test_entities_that_are_never_closed_are_read_once() -> None:
    head = b'<?xml version="1.0"?><!DOCTYPE r ['
    for document in (b"<!ENTITY" * 20_000, b"<!ENTITY " * 20_000, b"<!ENTITY a " * 20_000, b"<!ENTITY%" * 20_000):
        begin = time.process_time()
        with worlds.open(embedder=None) as world, pytest.raises(worlds.ParseError):
            world.load(head + document, format="rdfxml")
        assert time.process_time() - begin < 2


def test_a_patch_hides_no_nesting() -> None:
    deep = "A <urn:s> <urn:p> " + "<<( <urn:s> <urn:p> " * 30_000 + "1" + " )>>" * 30_000 + " .\n"
    with worlds.open(embedder=None) as world, pytest.raises(worlds.ParseError, match="nested deeper"):
        world.revisions.apply(f'TX .\nA <urn:s> <urn:p> "<<( # " .\n{deep}TC .\n'.encode())


def test_a_stray_quotation_mark_hides_no_nesting() -> None:
    document = b'{" "@context": ' + b'{"a":' * 50_000
    with worlds.open(embedder=None) as world, pytest.raises(worlds.ParseError, match="nested too deep"):
        world.load(document, format="jsonld")


def test_brackets_in_texts_do_not_count() -> None:
    text = "[({<<( ' # <<(\\ \\\\ {" * 2000
    with worlds.open(embedder=None) as world:
        for format in ("nt", "turtle", "trig", "n3", "jsonld", "rdfxml"):
            out = io.BytesIO()
            serialize([ox.Quad(SUBJECT, SUBJECT, ox.Literal(text))], out, format)
            assert world.load(out.getvalue(), format=format).added == (format == "nt")


values = st.recursive(
    st.none() | st.integers() | st.text(alphabet="{}[]\"\\u0x'é", max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(alphabet='{[\\"a', max_size=4), inner, max_size=4)
    ),
    max_leaves=30,
)


def depth(value: object) -> int:
    if isinstance(value, dict):
        return 1 + max(map(depth, value.values()), default=0)
    return 1 + max(map(depth, value), default=0) if isinstance(value, list) else 0


@given(values, st.integers(190, 205), st.integers(1, 40), st.booleans())
def test_the_depth_of_json_is_counted_however_it_is_cut(value: object, around: int, size: int, plain: bool) -> None:
    text = ("[" * around + json.dumps(value, ensure_ascii=plain) + "]" * around).encode()
    guard = Json()
    pieces = [text[begin : begin + size] for begin in range(0, len(text), size)]
    if around + depth(value) > 200:
        with pytest.raises(worlds.ParseError):
            for piece in pieces:
                guard.check(piece)
    else:
        for piece in [*pieces, b""]:
            guard.check(piece)


@pytest.mark.parametrize("size", [7, 100, 1 << 16])
def test_a_context_is_found_however_it_is_written(size: int) -> None:
    terms = ", ".join(f'"a{number}": "a{number + 1}:x"' for number in range(2000))
    key = "".join(rf"\u{ord(letter):04X}" for letter in "@context")
    for name in ('"@context":', f'"{key}"{" " * 3000}:\n', '"@c\\u006fntext" :'):
        guard = Json()
        text = f'[{{"a": "@context", "b": ["@context"]}}, {{"@context": {{"a": "b"}}, {name} [{{{terms}}}]}}]'.encode()
        with pytest.raises(worlds.ParseError, match="in a row"):
            for begin in range(0, len(text), size):
                guard.check(text[begin : begin + size])


def test_a_wide_context_is_fine() -> None:
    terms = {f"term{number}": {"@id": f"ex:term{number}", "@type": "xsd:date"} for number in range(5000)}
    context = {"ex": "urn:ex:", "xsd": "http://www.w3.org/2001/XMLSchema#", "@vocab": "ex:", "ex:a": "ex:a", **terms}
    document = json.dumps({"@context": context, "term1": "2024-01-01"}).encode()
    with worlds.open(embedder=None) as world:
        assert world.load(document, format="jsonld").added == 1
        with pytest.raises(worlds.ParseError, match="a context has more than"):
            world.load(document[:20] + b" " * 5_000_000 + document[20:], format="jsonld")


@pytest.mark.parametrize("size", [1, 3, 4096])
def test_marks_are_found_wherever_a_piece_ends(size: int) -> None:
    for text, guard in (('<<( <urn:a#> <urn:b> # "\n' * 1100, TripleTerms()), ("<a>" * 1100, Xml())):
        data = text.encode()
        with pytest.raises(worlds.ParseError, match="nested"):
            for begin in range(0, len(data), size):
                guard.check(data[begin : begin + size])
