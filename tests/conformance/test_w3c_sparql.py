"""The W3C tests of SPARQL 1.0, 1.1 and 1.2, each through a world of its own; see docs/conformance.md."""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from urllib.parse import urljoin

import pyoxigraph as ox
import pytest

from tests.support import tables
from tests.support.w3c import (
    Dataset,
    NotHereError,
    Row,
    Table,
    Tally,
    W3CTest,
    by_value,
    canonical,
    exactly,
    extension,
    files,
    manifest_tests,
    parameters,
    parser_format,
    read,
    read_result_graph,
    read_table,
    same_rows,
)
from worlds import QueryError, World, WorldsError
from worlds.graph.query.results import Solutions, Triples
from worlds.graph.query.tokens import tokenize
from worlds.graph.terms import to_oxigraph

try:
    files()
except NotHereError as missing:
    pytest.skip(str(missing), allow_module_level=True)

MANIFESTS = [
    "sparql/sparql10/manifest.ttl",
    "sparql/sparql11/manifest-all.ttl",
    "sparql/sparql12/manifest.ttl",
]

NOT_RUN = {
    "sparql/sparql11/entailment": "test_w3c_entailment.py runs them with rules",
    "sparql/sparql11/service": "its endpoints are out on the network",
    "sparql/sparql11/service-description": "of a server",
    "sparql/sparql11/protocol": "of a server",
    "sparql/sparql11/graph-store-protocol": "of a server",
}

TESTS = [test for manifest in MANIFESTS for test in manifest_tests(manifest) if test.folder not in NOT_RUN]

_10 = "http://www.w3.org/2001/sw/DataAccess/tests/data-r2/"
_11 = "http://www.w3.org/2009/sparql/docs/tests/data-sparql11/"
_12 = "https://w3c.github.io/rdf-tests/sparql/sparql12/"


def _iris(folder: str, names: str, cause: str) -> dict[str, str]:
    return {f"{folder}/manifest#{name}": cause for name in names.split()}


_SAME = "to the index, 1 and 01 are one term, and so are 1 and 1.0 of one datatype"

FAILURES = {
    **_iris(_10 + "open-world", "open-eq-01", _SAME),
    **_iris(_10 + "open-world", "date-2", "pyoxigraph compares dates with a time zone with dates without"),
    **_iris(_10 + "expr-builtin", "dawg-str-1 dawg-str-2 sameTerm-simple sameTerm-eq sameTerm-not-eq", _SAME),
    **_iris(_10 + "expr-equals", "eq-graph-1 eq-graph-2", _SAME),
    **_iris(_10 + "distinct", "distinct-1 distinct-9", _SAME),
    **_iris(_10 + "syntax-sparql3", "syn-bad-26", "pyoxigraph takes <?a&&?b> for operators where it is an IRI"),
    **_iris(_12 + "grouping", "group01", _SAME),
    **_iris(
        _12 + "expression", "not-not", "the truth of ill-typed booleans and of texts with a language is SPARQL 1.1's"
    ),
}
"""IRI → cause, of the tests that fail."""

_SEVERAL = "where the data has several forms of a value, a result has the canonical one"
_COMPUTED = "a computed number is written without exponent and trailing zeros"

BY_VALUE = {
    **_iris(_10 + "open-world", "open-eq-03 open-eq-04 date-3", _SEVERAL),
    **_iris(_10 + "expr-builtin", "dawg-datatype-1", _SEVERAL),
    **_iris(_10 + "expr-equals", "eq-2-1 eq-2-2", _SEVERAL),
    **_iris(_10 + "distinct", "no-distinct-1 no-distinct-9", _SEVERAL),
    **_iris(_11 + "cast", "cast-bool cast-int cast-string", _SEVERAL),
    **_iris(_11 + "cast", "cast-float cast-double cast-decimal", _COMPUTED),
    **_iris(_11 + "aggregates", "agg-sum-02 agg-avg-02 agg-err-02", _COMPUTED),
    **_iris(_11 + "aggregates", "agg-min-01 agg-min-02 agg-max-01 agg-max-02", _COMPUTED),
    **_iris(_11 + "aggregates", "agg-max-distinct agg-min-distinct", _COMPUTED),
    **_iris(_11 + "functions", "plus-1-corrected coalesce01", _COMPUTED),
    **_iris(_11 + "csv-tsv-res", "tsv03", "the data has 1.0E6, and so has our answer, the expected result 1.0e6"),
}
"""IRI → cause, of the tests that pass only if literals are compared by value, not by lexical form."""


def test_every_test_is_run_or_said_not_to_be() -> None:
    assert {test.iri for test in TESTS} >= FAILURES.keys() | BY_VALUE.keys()
    assert len({test.iri for test in TESTS}) == len(TESTS)
    kinds = {test.kind.removesuffix("11") for test in TESTS}
    assert kinds == {
        *("QueryEvaluationTest", "CSVResultFormatTest", "UpdateEvaluationTest", "PositiveSyntaxTest"),
        *("NegativeSyntaxTest", "PositiveUpdateSyntaxTest", "NegativeUpdateSyntaxTest"),
    }


def of_kind(*kinds: str) -> list[Any]:
    return parameters([test for test in TESTS if test.kind.removesuffix("11") in kinds], FAILURES)


def text_of(test: W3CTest) -> str:
    """The query or the request, with the base that its place gives it."""
    return f"BASE <{test.action}>\n{read(test.action).decode()}"


# --- queries


@pytest.mark.parametrize("test", of_kind("QueryEvaluationTest", "CSVResultFormatTest"))
def test_query(world: World, tally: Tally, test: W3CTest) -> None:
    with tally.counting(test):
        text = text_of(test)
        test.before.load(world)
        Dataset(named=tuple((file, file) for file in read_from(test, text))).load(world)
        found = world.query(text)
        if isinstance(found, Triples):
            check_triples(test, found)
        elif isinstance(found, Solutions):
            check_solutions(test, text, found)
        else:
            assert found is expected_result(test)


def expected_result(test: W3CTest) -> Table | bool:
    assert test.result is not None
    if extension(test.result) in ("ttl", "rdf"):
        return read_result_graph(ox.parse(read(test.result), parser_format(test.result), base_iri=test.result))
    return read_table(read(test.result), extension(test.result))


def read_from(test: W3CTest, query: str) -> Iterator[str]:
    """The files that a query names after FROM."""
    words = tokenize(query)
    for before, token in itertools.pairwise(words):
        if token.kind == "iri" and (before.is_word("FROM") or before.is_word("NAMED")):
            yield urljoin(test.action, token.text[1:-1])


def check_solutions(test: W3CTest, query: str, found: Solutions) -> None:
    """Compare what is written in the format of the expected result, and what the terms themselves say."""
    expected = expected_result(test)
    assert isinstance(expected, Table)
    format = {"srx": "xml", "srj": "json", "csv": "csv", "tsv": "tsv"}.get(extension(test.result or ""), "json")
    table = read_table(found.serialize(format), format)
    assert isinstance(table, Table)
    assert table.variables == found.variables == in_query_order(query, expected.variables)
    if extension(test.result or "") in ("csv", "tsv"):
        assert table.variables == expected.variables  # where order is all that a column has
    places = [expected.variables.index(name) for name in table.variables]
    rows: list[Row] = [tuple(row[place] for place in places) for row in expected.rows]
    ordered = expected.indexed or is_ordered(query)
    if test.lax:
        assert len(set(rows)) <= len(table.rows) <= len(rows)
        rows, table = list(dict.fromkeys(rows)), Table(table.variables, list(dict.fromkeys(table.rows)))
    agree = same_rows(rows, table.rows, ordered=ordered, form=exactly)
    if test.iri in BY_VALUE:
        assert not agree, "it passes by lexical form now: take it out of BY_VALUE"
        agree = same_rows(rows, table.rows, ordered=ordered, form=by_value)
    assert agree, f"expected {shown(rows)}\ngot {shown(table.rows)}"
    if format != "csv" and not test.lax:  # which does not tell types
        terms = [tuple(None if value is None else to_oxigraph(value) for value in row) for row in found]
        assert same_rows(table.rows, terms, ordered=True, form=exactly)


def in_query_order(query: str, names: list[str]) -> list[str]:
    """The names as the SELECT clause has them; for `SELECT *`, as they first appear."""
    words = tokenize(query)
    select = next(place for place, token in enumerate(words) if token.is_word("SELECT"))
    star = next(token for token in words[select + 1 :] if not token.is_word("DISTINCT", "REDUCED")).text == "*"
    depth, clause = 0, []
    for place, token in enumerate(words[select:], select):
        if not star and (token.text == "{" or token.is_word("WHERE", "FROM")):
            break
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        if token.kind == "variable" and (star or depth == 0 or words[place - 1].is_word("AS")):
            clause.append(token.text[1:])
    return [name for name in dict.fromkeys(clause) if name in names]


def is_ordered(query: str) -> bool:
    """Whether an ORDER BY follows the outermost group."""
    words = tokenize(query)
    last = max(place for place, token in enumerate(words) if token.text == "}")
    return any(token.is_word("ORDER") for token in words[last:])


def shown(rows: list[Row]) -> list[list[str]]:
    return [[str(term) for term in row] for row in rows]


def check_triples(test: W3CTest, found: Triples) -> None:
    assert test.result is not None
    expected = list(ox.parse(read(test.result), parser_format(test.result), base_iri=test.result))
    written = list(ox.parse(found.serialize("nt"), ox.RdfFormat.N_TRIPLES))
    assert canonical(written) == canonical(expected)


# --- updates


@pytest.mark.parametrize("test", of_kind("UpdateEvaluationTest"))
def test_update(world: World, tally: Tally, test: W3CTest) -> None:
    with tally.counting(test):
        test.before.load(world)
        assert world.query("ASK {}") is True  # the index is there, and has to follow
        before, rows_before = content(world), rows(world)
        change = world.update(text_of(test))
        after, rows_after = content(world), rows(world)
        assert canonical(after) == canonical(test.after.quads())

        assert (change.added, change.removed) == (len(after - before), len(before - after))
        if change.revision is None:
            assert rows_before == rows_after
        else:
            assert rows(world, "quads WHERE revision = ?", change.revision) == rows_after - rows_before
            assert rows(world, "removed_quads WHERE removed = ?", change.revision) == rows_before - rows_after
        assert world.check().ok
        assert indexed(answered(world)) == indexed(after)


def content(world: World) -> set[ox.Quad]:
    out = io.BytesIO()
    world.export(out)
    return set(ox.parse(out.getvalue(), ox.RdfFormat.N_QUADS))


def answered(world: World) -> list[ox.Quad]:
    """All quads, as a query gives them."""
    found = world.query("SELECT ?s ?p ?o ?g { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }")
    assert isinstance(found, Solutions)
    terms: list[list[Any]] = [[value if value is None else to_oxigraph(value) for value in row] for row in found]
    return [ox.Quad(s, p, o, ox.DefaultGraph() if g is None else g) for s, p, o, g in terms]


def indexed(quads: Iterable[ox.Quad]) -> set[ox.Quad]:
    """The quads as a store of pyoxigraph has them."""
    store = ox.Store()
    store.extend(quads)
    return set(store)


def rows(world: World, table: str = "quads", *parameters: int) -> set[tuple[int, ...]]:
    return set(tables.rows(world, f"SELECT subject, predicate, object, graph FROM {table}", parameters))


# --- syntax


@pytest.mark.parametrize("test", of_kind("PositiveSyntaxTest"))
def test_good_query(empty: World, tally: Tally, test: W3CTest) -> None:
    with tally.counting(test):
        accepts(empty.query, text_of(test))


@pytest.mark.parametrize("test", of_kind("PositiveUpdateSyntaxTest"))
def test_good_update(world: World, tally: Tally, test: W3CTest) -> None:
    with tally.counting(test):
        accepts(world.update, text_of(test))


def accepts(ask: Callable[[str], object], text: str) -> None:
    """It parses; whether it can be done is another matter: the network is off, the graph not there."""
    try:
        ask(text)
    except WorldsError as error:
        elsewhere = r"not allowed|not supported|the graph .* (does not exist|exists already)"
        if isinstance(error, QueryError) and not re.search(elsewhere, str(error)):
            raise


@pytest.mark.parametrize("test", of_kind("NegativeSyntaxTest"))
def test_bad_query(empty: World, tally: Tally, test: W3CTest) -> None:
    with tally.counting(test), pytest.raises(QueryError):
        empty.query(text_of(test))


@pytest.mark.parametrize("test", of_kind("NegativeUpdateSyntaxTest"))
def test_bad_update(empty: World, tally: Tally, test: W3CTest) -> None:
    with tally.counting(test), pytest.raises(QueryError):
        empty.update(text_of(test))
    assert len(empty) == 0
