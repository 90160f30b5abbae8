"""Functions that pyoxigraph lacks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

from worlds.errors import QueryError
from worlds.graph.query.evaluation import evaluate
from worlds.graph.query.functions import FUNCTIONS
from worlds.graph.query.query import Query
from worlds.graph.terms import XSD

PREFIXES = {
    "xsd": XSD,
    "fn": "http://www.w3.org/2005/xpath-functions#",
    "math": "http://www.w3.org/2005/xpath-functions/math#",
}


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("xsd:int('42')", 42),
        ("xsd:int(42.9) + 1", 43),
        ("xsd:long(true)", 1),
        ("xsd:unsignedByte('255')", 255),
        ("xsd:unsignedByte('256')", None),
        ("xsd:nonNegativeInteger('-1')", None),
        ("xsd:negativeInteger(-1)", -1),
        ("xsd:short('many')", None),
        ("STR(xsd:anyURI('http://e/'))", "http://e/"),
        ("fn:upper-case('abc'@en)", "ABC"),
        ("LANG(fn:lower-case('ABC'@en))", "en"),
        ("fn:substring('motor car', 6)", " car"),
        ("fn:substring('metadata', 4, 3)", "ada"),
        ("fn:substring-after('a/b', '/')", "b"),
        ("fn:contains('abc', 'b') && fn:starts-with('abc', 'a')", True),
        ("fn:ceiling(1.2)", 2),
        ("fn:round(2.5)", 3),
        ("fn:abs(-7)", 7),
        ("math:sqrt(16)", 4.0),
        ("math:sqrt(-1)", None),
        ("math:pow(2, 10)", 1024.0),
        ("<http://www.w3.org/2005/xpath-functions/math#pi>() > 3.14", True),
    ],
)
@pytest.mark.parametrize("timeout", [None, 60])
def test_a_function_gives(expression: str, value: object, timeout: float | None) -> None:
    query = Query(f"SELECT ({expression} AS ?x) {{}}", PREFIXES, timeout=timeout)
    found: Any = evaluate(ox.Store(), query.started())
    assert found.to_dicts() == [{"x": value}]


def test_every_function_is_documented() -> None:
    text = (Path(__file__).parents[2] / "docs" / "sparql.md").read_text(encoding="utf-8")
    table = text[text.index("### Functions") : text.index("### Likeness")]
    assert [iri.value for iri in FUNCTIONS if f"`{iri.value.rpartition('#')[2]}`" not in table] == []


@pytest.mark.parametrize("timeout", [None, 60])
def test_an_unknown_function_is_named_with_its_place(timeout: float | None) -> None:
    query = Query("SELECT * {\n  VALUES ?x { 1 } FILTER(fn:nope(?x)) }", PREFIXES, timeout=timeout)
    with pytest.raises(
        QueryError, match="the function <http://www.w3.org/2005/xpath-functions#nope> is not supported"
    ) as told:
        evaluate(ox.Store(), query.started())
    assert (told.value.line, told.value.column) == (2, 26)


GEO = {
    "geof": "http://www.opengis.net/def/function/geosparql/",
    "geo": "http://www.opengis.net/ont/geosparql#",
    "uom": "http://www.opengis.net/def/uom/OGC/1.0/",
}
POINT, FAR = '"POINT(1 1)"^^geo:wktLiteral', '"POINT(1 2)"^^geo:wktLiteral'
SQUARE = '"POLYGON((0 0, 2 0, 2 2, 0 2, 0 0))"^^geo:wktLiteral'


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        (f"geof:sfWithin({POINT}, {SQUARE})", "true"),
        (f"geof:sfContains({SQUARE}, {POINT})", "true"),
        (f"geof:sfDisjoint({POINT}, {SQUARE})", "false"),
        (f"geof:sfIntersects({POINT}, {SQUARE})", "true"),
        (f"geof:sfEquals({POINT}, {FAR})", "false"),
        (f"geof:sfTouches({POINT}, {SQUARE})", "false"),
        (f"geof:sfCrosses({POINT}, {SQUARE})", "false"),
        (f"geof:sfOverlaps({SQUARE}, {SQUARE})", "false"),
        (f"geof:dimension({SQUARE})", "2"),
        (f"ROUND(geof:distance({POINT}, {FAR}, uom:metre) / 1000)", "111"),  # a degree of latitude
        (f'CONTAINS(STR(geof:asGeoJSON({SQUARE})), "Polygon")', "true"),
        (f'CONTAINS(STR(geof:centroid({SQUARE})), "POINT")', "true"),
        (f'CONTAINS(STR(geof:envelope({SQUARE})), "POLYGON")', "true"),
        (f'CONTAINS(STR(geof:convexHull({SQUARE})), "POLYGON")', "true"),
        (f'CONTAINS(STR(geof:getSRID({SQUARE})), "CRS84")', "true"),
    ],
)
def test_functions_of_geosparql_that_pyoxigraph_brings(expression: str, value: str) -> None:
    """OGC GeoSPARQL 1.1, section 9."""
    found: Any = evaluate(ox.Store(), Query(f"SELECT ({expression} AS ?x) {{}}", GEO))
    (row,) = found
    assert str(row[0]).removesuffix(".0") == value
    documented = (Path(__file__).parents[2] / "docs" / "sparql.md").read_text(encoding="utf-8")
    assert f"`{expression.partition('geof:')[2].partition('(')[0]}`" in documented
