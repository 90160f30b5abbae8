"""The W3C tests of SPARQL 1.1 on entailment, through a world with the rules "owl-rl"; see docs/conformance.md."""

from __future__ import annotations

import pytest

from tests.conformance.test_w3c_sparql import check_solutions, expected_result, text_of
from tests.support.w3c import NotHereError, W3CTest, files, manifest_tests, parameters
from worlds import World
from worlds.graph.query.results import Solutions

try:
    files()
except NotHereError as missing:
    pytest.skip(str(missing), allow_module_level=True)

TESTS = list(manifest_tests("sparql/sparql11/entailment/manifest.ttl"))
_SPACE = "http://www.w3.org/2009/sparql/docs/tests/data-sparql11/entailment/manifest#"
_CAUSES = {
    "what holds of everything does not follow: each predicate is an rdf:Property": "rdf01",
    "what holds of everything does not follow: each class is below itself, and each domain is owl:Thing": (
        "parent9 parent10 rdfs05 rdfs11 sparqldl-02 sparqldl-03 paper-sparqldl-Q1 paper-sparqldl-Q1-rdfs "
        "paper-sparqldl-Q4 sparqldl-12"
    ),
    "the query describes a class that the data do not have": (
        "paper-sparqldl-Q2 paper-sparqldl-Q3 parent4 parent5 parent6 parent7 parent8 simple1 simple2 simple3 simple4 "
        "simple5 simple6 simple7 simple8"
    ),
    "OWL 2 RL has no rule for the range of an inverse property": "sparqldl-11",
    "what is the same is merged, and not concluded": "sparqldl-10 sparqldl-13",
    "rules of RIF are not read": "rif01 rif03 rif04 rif06",
}
FAILURES = {_SPACE + name: cause for cause, names in _CAUSES.items() for name in names.split()}
"""IRI → cause, of the tests that fail."""


def test_every_test_is_run_or_said_to_fail() -> None:
    assert len(TESTS) == 70
    assert {test.iri for test in TESTS} >= FAILURES.keys()
    assert {test.kind for test in TESTS} == {"QueryEvaluationTest"}


@pytest.mark.parametrize("test", parameters(TESTS, FAILURES))
def test_entailment(world: World, test: W3CTest) -> None:
    text = text_of(test)
    test.before.load(world)
    world.rules.use("owl-rl")
    found = world.entailed.query(text)
    if isinstance(found, Solutions):
        check_solutions(test, text, found)
    else:
        assert found is expected_result(test)
