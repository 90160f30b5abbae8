"""The W3C tests of the RDF formats, 1.1 and 1.2, each loaded into a world of its own; see docs/conformance.md."""

from __future__ import annotations

import io
import re
from typing import Any

import pyoxigraph as ox
import pytest

from tests.support.w3c import (
    NotHereError,
    Tally,
    W3CTest,
    canonical,
    extension,
    files,
    manifest_tests,
    parameters,
    parser_format,
    read,
)
from worlds import ParseError, World

try:
    files()
except NotHereError as missing:
    pytest.skip(str(missing), allow_module_level=True)

# Those of 1.2 include those of 1.1. rdf-semantics is left out: there is no inference.
FORMATS = ["rdf-n-triples", "rdf-n-quads", "rdf-turtle", "rdf-trig", "rdf-xml"]
TESTS = [test for name in FORMATS for test in manifest_tests(f"rdf/rdf12/{name}/manifest.ttl")]

_XML_LITERAL = "pyoxigraph writes every namespace in scope into an XML literal, not only those that are used"
FAILURES = {
    "https://w3c.github.io/rdf-tests/rdf/rdf11/rdf-xml/manifest.ttl#xml-canon-test001": _XML_LITERAL,
    "https://w3c.github.io/rdf-tests/rdf/rdf11/rdf-xml/manifest.ttl#xml-canon-test002": _XML_LITERAL,
    "https://w3c.github.io/rdf-tests/rdf/rdf12/rdf-xml/eval#rdf12-xml-an-13": _XML_LITERAL,
    "https://w3c.github.io/rdf-tests/rdf/rdf12/rdf-xml/eval#rdf12-xml-an-14": _XML_LITERAL,
}
"""IRI → cause, of the tests that fail."""


def of_kind(ending: str) -> list[Any]:
    return parameters([test for test in TESTS if test.kind.endswith(ending)], FAILURES)


def load(world: World, test: W3CTest) -> None:
    world.load(read(test.action), format=extension(test.action), base=test.action)


def exported(world: World, format: str) -> bytes:
    out = io.BytesIO()
    world.export(out, format=format)
    return out.getvalue()


def test_every_test_is_of_a_known_kind() -> None:
    endings = ("Eval", "PositiveSyntax", "NegativeSyntax", "PositiveC14N")
    assert {test.kind for test in TESTS if not test.kind.endswith(endings)} == set()
    assert len({test.iri for test in TESTS}) == len(TESTS)
    assert {test.iri for test in TESTS} >= FAILURES.keys()


@pytest.mark.parametrize("test", of_kind("Eval"))
def test_document(world: World, tally: Tally, test: W3CTest) -> None:
    with tally.counting(test):
        load(world, test)
        assert test.result is not None
        expected = ox.parse(read(test.result), parser_format(test.result), base_iri=test.result)
        assert canonical(ox.parse(exported(world, "nq"), ox.RdfFormat.N_QUADS)) == canonical(expected)


@pytest.mark.parametrize("test", of_kind("PositiveSyntax"))
def test_good_document(world: World, tally: Tally, test: W3CTest) -> None:
    with tally.counting(test):
        load(world, test)


@pytest.mark.parametrize("test", of_kind("NegativeSyntax"))
def test_bad_document(empty: World, tally: Tally, test: W3CTest) -> None:
    with tally.counting(test):
        with pytest.raises(ParseError):
            load(empty, test)
        assert len(empty) == 0


@pytest.mark.parametrize("test", of_kind("PositiveC14N"))
def test_canonical_form(world: World, tally: Tally, test: W3CTest) -> None:
    """What is exported as N-Triples or N-Quads is in their canonical form."""
    with tally.counting(test):
        load(world, test)
        assert test.result is not None
        found, expected = exported(world, extension(test.action)), read(test.result)
        labels = re.compile(rb"_:\w+(?=[ .])")  # which no canonical form is made of
        left, right = (sorted(labels.sub(b"_:b", document).splitlines()) for document in (found, expected))
        assert left == right
