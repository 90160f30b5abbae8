"""The W3C tests of RDF 1.2 semantics, through a world with the rules "rdfs"; see docs/conformance.md."""

from __future__ import annotations

import pyoxigraph as ox
import pytest

from tests.support.w3c import NotHereError, W3CTest, files, manifest_tests, parameters, parser_format, read
from worlds import World
from worlds.graph.terms import Term

try:
    files()
except NotHereError as missing:
    pytest.skip(str(missing), allow_module_level=True)

TESTS = list(manifest_tests("rdf/rdf12/rdf-semantics/manifest.ttl"))
_SPACE = "https://w3c.github.io/rdf-tests/rdf/rdf12/rdf-semantics#"
_CAUSES = {
    "the JSON of two literals is compared as it is written": "json-object-unordered json-round-same json-infinity",
    "a literal within a triple term is not examined": "malformed-literal",
    "what holds of RDF's own vocabulary does not follow": "triple-terms-propositions reifies-range",
}
FAILURES = {_SPACE + name: cause for cause, names in _CAUSES.items() for name in names.split()}
"""IRI → cause, of the tests that fail."""


def test_every_test_is_run_or_said_to_fail() -> None:
    assert len(TESTS) == 29
    assert {test.iri for test in TESTS} >= FAILURES.keys()
    assert {test.kind for test in TESTS} == {"PositiveEntailmentTest", "NegativeEntailmentTest"}


def pattern_of(term: Term) -> str:
    """A term as a query has it."""
    if not isinstance(term, ox.Triple):
        return str(term)
    return f"<<( {term.subject} {term.predicate} {pattern_of(term.object)} )>>"


@pytest.mark.parametrize("test", parameters(TESTS, FAILURES))
def test_semantics(world: World, test: W3CTest) -> None:
    """A graph is entailed if its triples match, with blank nodes as variables."""
    world.load(read(test.action), format="turtle")
    world.rules.use("rdfs")
    if test.result is None:  # a contradiction
        assert world.curation.contradictions(kinds=["ill-typed literal"])
        return
    triples = ox.parse(read(test.result), parser_format(test.result))
    pattern = " . ".join(f"{one.subject} {one.predicate} {pattern_of(one.object)}" for one in triples)
    assert world.entailed.query(f"ASK {{ {pattern} }}") is (test.kind == "PositiveEntailmentTest")
