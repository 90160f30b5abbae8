"""Functions that pyoxigraph lacks."""

from __future__ import annotations

import math
import random
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


CASES: list[tuple[str, object]] = [
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
    ("fn:round(-2.5)", -2),
    ("fn:substring('12345', 1.5, 2.6)", "234"),
    ("fn:substring('12345', 2.5)", "345"),
    ("fn:abs(-7)", 7),
    ("math:sqrt(16)", 4.0),
    *((f"xsd:int({text})", None) for text in ("'7'@en", "'7'^^xsd:date", "'7'^^<urn:d>", "'\\u00a07'")),
    *((f"xsd:int({text})", None) for text in ("'2'^^xsd:boolean", "'1_0'^^xsd:decimal", "<urn:7>", "1 / 0e0")),
    ("xsd:int(' 7\\n')", 7),
    ("fn:abs('-abc'^^xsd:integer)", None),
    ("fn:ceiling(-1 / 0e0)", -math.inf),
    ("fn:contains(<urn:abc>, 'b')", None),
    ("fn:string-length(<urn:x>)", None),
    ("fn:upper-case(5)", None),
    ("fn:substring('12345', '2')", None),
    ("fn:substring('12345', -42, 1 / 0e0)", "12345"),
    ("fn:substring('12345', 0 / 0e0, 3)", ""),
    ("fn:substring-before('abc', '')", ""),
    ("fn:substring-after('abc', '')", "abc"),
    ("fn:normalize-space('\\n a \\t\u00a0  b ')", "a \u00a0 b"),
    ("math:sqrt('4')", None),
    ("math:sqrt(true)", None),
    *((f"STR(math:{call})", "NaN") for call in ("sqrt(-1)", "acos(2)", "log(-1)", "pow(-8, 0.5)", "sin(1 / 0e0)")),
    *((f"math:{call}", math.inf) for call in ("exp(1000)", "exp10(400)", "pow(0, -1)", "pow(-10, 400)")),
    *((f"math:{call}", -math.inf) for call in ("log(0)", "log10(0)", "pow(-0e0, -1)", "pow(-10, 401)")),
    ("math:pow(2, 10)", 1024.0),
    ("<http://www.w3.org/2005/xpath-functions/math#pi>() > 3.14", True),
]


@pytest.mark.parametrize(("expression", "value"), CASES)
def test_a_function_gives(expression: str, value: object) -> None:
    found: Any = evaluate(ox.Store(), Query(f"SELECT ({expression} AS ?x) {{}}", PREFIXES).started())
    assert found.to_dicts() == [{"x": value}]


def test_a_function_gives_the_same_in_a_child() -> None:
    asked = " ".join(f"({expression} AS ?x{number})" for number, (expression, _) in enumerate(CASES))
    found: Any = evaluate(ox.Store(), Query(f"SELECT {asked} {{}}", PREFIXES, timeout=60).started())
    assert found.to_dicts() == [{f"x{number}": value for number, (_, value) in enumerate(CASES)}]


def test_they_agree_with_the_functions_of_sparql() -> None:
    """Casts to xsd:long with casts to xsd:integer, and functions of texts with those of other names."""
    drawn = random.Random(11)
    texts = ["".join(drawn.choices("ab ß\u00a0\t", k=drawn.randint(0, 5))) for _ in range(60)]
    pairs = " ".join(f"('{one}' '{other[:2]}')" for one, other in zip(texts, reversed(texts), strict=True))
    numbers = ["".join(drawn.choices("01279+-._eNFI \u00a0", k=drawn.randint(1, 3))) for _ in range(400)]
    types = ("string", "boolean", "integer", "byte", "decimal", "float", "double", "date", "anyURI")
    terms = " ".join(f"'{text}'^^xsd:{drawn.choice(types)}" for text in numbers)
    same = {
        "fn:upper-case(?a)": "UCASE(?a)", "fn:string-length(?a)": "STRLEN(?a)",
        "fn:contains(?a, ?b)": "CONTAINS(?a, ?b)",
        "fn:starts-with(?a, ?b)": "STRSTARTS(?a, ?b)", "fn:ends-with(?a, ?b)": "STRENDS(?a, ?b)",
        "fn:substring-before(?a, ?b)": "STRBEFORE(?a, ?b)", "fn:substring-after(?a, ?b)": "STRAFTER(?a, ?b)",
        "fn:substring(?a, 2, 2)": "SUBSTR(?a, 2, 2)", "xsd:long(?n)": "xsd:integer(?n)",
    }  # fmt: skip
    for ours, theirs in same.items():
        values = f"?n {{ {terms} }}" if "?n" in ours else f"(?a ?b) {{ {pairs} }}"
        rows: Any = evaluate(
            ox.Store(), Query(f"SELECT ({ours} AS ?x) ({theirs} AS ?y) {{ VALUES {values} }}", PREFIXES)
        )
        assert [row for row in rows if str(row[0]) != str(row[1])] == [], ours
        assert any(row[0] is not None for row in rows)


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
