"""Operators and functions against the tables of XPath Functions and Operators 3.1 and SPARQL 1.1, section 17."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

import worlds
from worlds.graph.query.evaluation import run
from worlds.graph.query.expressions import plain, rewritten
from worlds.graph.query.query import Query
from worlds.graph.query.regular_expressions import translated

PREFIXES = {"xsd": "http://www.w3.org/2001/XMLSchema#", "": "http://example.org/"}
TABLE = [line.split("\t") for line in (Path(__file__).parent / "expressions.tsv").read_text().splitlines()[1:]]
NAMES = ("abcd", "dcba", "xyzw", "due_", "bdca", "mnop", "issued", "wxyz", "day_", "qrst")


def expected() -> list[Any]:
    """The results of the table as the store has them, None for errors."""
    rows = " ".join(f"({place} {result})" for place, (*_, result) in enumerate(TABLE) if result != "error")
    found = ox.Store().query(f"SELECT ?i ?r {{ VALUES (?i ?r) {{ {rows} }} }}", prefixes=PREFIXES)
    values = {int(row[0].value): row[1] for row in found}  # type: ignore[union-attr]  # a SELECT
    return [values.get(place) for place in range(len(TABLE))]


@pytest.mark.parametrize("names", [*NAMES[:2], *(pytest.param(name, marks=pytest.mark.long) for name in NAMES[2:])])
def test_the_tables_hold_whatever_the_variables_are_called(names: str) -> None:
    by_expression: dict[str, list[str]] = defaultdict(list)
    for place, (expression, operands, _) in enumerate(TABLE):
        by_expression[expression].append(f"({place} {operands.replace(' | ', ' ')})")
    groups = []
    for expression, rows in by_expression.items():
        used = sorted(set(re.findall(r"\$[1-4]", expression)))
        variables = {sign: f"?{names[int(sign[1]) - 1]}{number}" for number, sign in enumerate(used)}
        text = re.sub(r"\$[1-4]", lambda match: variables[match[0]], expression)  # noqa: B023  # used at once
        groups.append(f"{{ VALUES (?i {' '.join(variables.values())}) {{ {' '.join(rows)} }} BIND({text} AS ?r) }}")
    query = f"SELECT ?i ?r {{ {' UNION '.join(groups)} }}"
    found = {int(row[0].value): row[1] for row in run(ox.Store(), Query(query, PREFIXES))}  # type: ignore[union-attr]
    wrong = [
        (*row, found[place])
        for place, (row, want) in enumerate(zip(TABLE, expected(), strict=True))
        if found[place] != want
    ]
    assert not wrong


def asked(data: str, query: str, **options: Any) -> list[tuple[str | None, ...]]:
    """The solutions of a query over Turtle, as `to_oxigraph` takes terms, in their order."""
    world = worlds.open(embedder=None)
    world.load(f"@prefix : <urn:x:> . @prefix xsd: <{PREFIXES['xsd']}> . {data}".encode(), format="turtle")
    found: Any = world.query(f"PREFIX : <urn:x:> PREFIX xsd: <{PREFIXES['xsd']}> {query}", **options)
    return [tuple(None if term is None else str(term) for term in row) for row in found]


@pytest.mark.parametrize(
    ("query", "result"),
    [
        ("SELECT ?s { ?s :due ?d FILTER(?d + 'P3D'^^xsd:duration < '2025-01-01T00:00:00Z'^^xsd:dateTime) }", ["a"]),
        ("SELECT ?s { ?s :p ?n FILTER EXISTS { ?s :due ?day FILTER('P1D'^^xsd:duration + ?day > ?day) } }", ["a"]),
        ("SELECT ?s { ?s :l ?l FILTER(?l) } ORDER BY ?s", ["a"]),
        ("SELECT ?s { { SELECT ?s { ?s :l ?l FILTER(!?l) } } }", ["b"]),
        ("SELECT ?s { ?s :l ?l } GROUP BY ?s HAVING(SAMPLE(?l))", ["a"]),
        ("SELECT ?s { ?s :big ?n } ORDER BY ?n", ["c", "a", "d", "b"]),
        ("SELECT ?s { ?s :big ?n } ORDER BY DESC(?n) ?s", ["b", "d", "a", "c"]),
        ("SELECT (SUM(?n) AS ?t) { ?s :big ?n }", ["27670116110564327416"]),
        ("SELECT (SUM(DISTINCT ?n) AS ?t) { { ?s :big ?n } UNION { ?s :big ?n } }", ["27670116110564327416"]),
        ("SELECT (AVG(?n) AS ?t) { ?s :big ?n }", ["6917529027641081854"]),
        ("SELECT (MAX(?n) AS ?t) { ?s :big ?n }", ["9223372036854775810"]),
        ("SELECT (MIN(?n) AS ?t) { ?s :big ?n FILTER(?n > 9223372036854775807) }", ["9223372036854775808"]),
        ("SELECT (SUM(?n) AS ?t) { ?s :most ?n }", ["18446744073709551614"]),
        ("SELECT ?s { ?s :most ?n } GROUP BY ?s HAVING(SUM(?n) + 1 > 9223372036854775807) ORDER BY ?s", ["a", "b"]),
        ("SELECT ?r { ?s :most ?n BIND(?n + 1 AS ?r) } ORDER BY ?r LIMIT 1", ["9223372036854775808"]),
        ("SELECT ?s { ?s :most ?n FILTER(?n * 2 > 5) } ORDER BY ?s", ["a", "b"]),
        ("SELECT (SUM(?l) AS ?t) { ?s :l ?l }", [None]),
        ("SELECT (COUNT(1/?x) AS ?t) { VALUES ?x { 0 1 2 } }", ["2"]),
        ("SELECT (COUNT(xsd:integer(?x)) + 1 AS ?t) { VALUES ?x { 0 '1' 'a' } }", ["3"]),
        ("SELECT (COUNT(IF(?x > 1, 1, 1/0)) AS ?t) { VALUES ?x { 0 1 2 } }", ["1"]),
        ("SELECT (COUNT(DISTINCT 1/?x) AS ?t) { VALUES ?x { 0 0 1 1 2 } }", ["2"]),
        ("SELECT (COUNT(DISTINCT 1/?x) + COUNT(-?x) AS ?t) { VALUES ?x {} }", ["0"]),
        ("SELECT ?x { VALUES ?x { 1 1 0 0 } } GROUP BY ?x HAVING(COUNT(1/?x) > 1)", ["1"]),
        ("SELECT (STRDT('a', ?d) AS ?t) { VALUES ?d { 'urn:d' 'x' } }", [None, None]),
        ("SELECT (STRDT('a', IF(?d = 1, xsd:token, 'x y')) AS ?t) { VALUES ?d { 1 2 } }", ["a", None]),
        ("SELECT (GROUP_CONCAT(?n; SEPARATOR='+') AS ?t) { SELECT ?n { ?s :p ?n } ORDER BY ?n }", ["1+2"]),
        ("SELECT (GROUP_CONCAT(DISTINCT ?o) AS ?t) { VALUES ?o { 1 1 } }", ["1"]),
        ("SELECT (REPLACE('abc', ?p, ?r) AS ?t) { VALUES (?p ?r) { ('(b)' '$1\\\\$') } }", ["ab$c"]),
        ("SELECT (IF('x + !y'@en, 1, 2) AS ?t) { } # ?a + 'b", ["1"]),
    ],
)  # fmt: skip
def test_repaired_expressions_stand_anywhere(query: str, result: list[str | None]) -> None:
    data = """:a :due "2024-01-31T00:00:00Z"^^xsd:dateTime ; :p 1 ; :l "x"@en ; :big 9223372036854775808 .
        :b :p 2 ; :l ""@en ; :big 9223372036854775810 . :c :big -11 . :d :big 9223372036854775809 .
        :a :most 9223372036854775807 . :b :most 9223372036854775807 ."""
    assert [row[0] and row[0].removeprefix("urn:x:") for row in asked(data, query)] == result
    assert [row[0] and row[0].removeprefix("urn:x:") for row in asked(data, query, timeout=60)] == result


@pytest.mark.parametrize(("text", "told"), [("(a)\\\\1", "refers back to a group"), ("\\\\w{1,100}", "is too large")])
def test_a_pattern_that_is_not_answered_is_refused(text: str, told: str) -> None:
    for call in ("REGEX('aa', {})", "REPLACE('aa', {}, 'b')", "REGEX('aa', {}, 'i')"):
        for pattern in (f"'{text}'", "?p"):
            with pytest.raises(worlds.QueryError, match=told):
                asked("", f"SELECT ({call.format(pattern)} AS ?r) {{ VALUES ?p {{ '{text}' }} }}")


@pytest.mark.parametrize("given", ["[^a\\p{Lu}]", "[\\p{L}-[a]]", "[a-z-[\\p{Lu}]]", "[a-z-[b\\p{Lu}]]"])
def test_a_class_with_categories_under_the_flag_i_is_right_or_refused(given: str) -> None:
    assert translated(given).groups == 0
    with pytest.raises(worlds.QueryError, match="neither negated nor subtracted"):
        translated(given, "i")


def test_an_update_with_a_pattern_that_is_too_large_changes_nothing() -> None:
    world = worlds.open(embedder=None)
    world.update("INSERT DATA { <urn:a> <urn:p> 'abc' }")
    with pytest.raises(worlds.QueryError, match="too large"):
        world.update("DELETE { ?s ?p ?o } WHERE { ?s ?p ?o FILTER(REGEX(?o, '^\\\\w{1,100}$')) }")
    assert len(world) == 1


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * { ?s :p/:q* ?o ; a/:r+ ?t . FILTER(?a > -1 && LANG(?b) = 'x') FILTER(!BOUND(?c)) } ORDER BY ?o # - a",
        "SELECT (COUNT(*) AS ?n) { ?s ?p '+ !x'@en-GB, <urn:a+b>, 'P1D'^^:d, 5 FILTER(?a<?b) OPTIONAL { ?a :b-c ?d } }",
        "SELECT DISTINCT * { ?s ?p ?o FILTER(?o IN (1, 2) || STRSTARTS(STR(?s), 'http://a/')) }",
    ],
)
def test_what_needs_no_repair_is_not_read(query: str) -> None:
    assert plain(query)
    assert rewritten(Query(query), wide=False) is None


@pytest.mark.parametrize(
    "query",
    [
        "SELECT ?n { ?s :t ?t BIND(STRDT(STR(?t), xsd:dateTime) AS ?n) }",
        "SELECT ?n { VALUES (?x ?n) { (1 '2020-08-28T12:23:18.010+00:00'^^xsd:dateTime) } FILTER(?x + 1 = 2) }",
        "SELECT ('2020-08-28T12:23:18.010+00:00'^^xsd:dateTime AS ?n) { }",
        "SELECT * { { SELECT ?n { BIND('2020-08-28T12:23:18.010+00:00'^^xsd:dateTime AS ?n) } } }",
    ],
)
def test_a_literal_that_is_only_passed_on_stays_as_it_is(query: str) -> None:
    given = "2020-08-28T12:23:18.010+00:00"
    for options in ({}, {"timeout": 60}):
        assert asked(f':s :t "{given}" .', query, **options) == [(given,)]


def test_an_update_writes_what_it_passes_on_as_it_is() -> None:
    world = worlds.open(embedder=None)
    world.load(b'<urn:a> <urn:p> "+01" . <urn:b> <urn:p> "1.50" .', format="turtle")
    world.update(
        "DELETE { ?s ?p ?o } INSERT { ?s ?p ?n ; ?q ?m } WHERE { ?s ?p ?o BIND(STRDT(?o, xsd:decimal) AS ?n)"
        " VALUES (?m ?q) { ('007'^^xsd:integer <urn:q>) } }"
    )
    assert sorted(str(value) for *_, value, _ in world.quads()) == ["+01", "007", "007", "1.50"]
    more: Any = world.query("SELECT (?o + 1 AS ?x) { <urn:b> <urn:p> ?o }")
    assert [str(row.x) for row in more] == ["2.5"]


def test_the_least_integer_is_inserted_found_and_rounded() -> None:
    world = worlds.open(embedder=None)
    assert world.update("INSERT { <urn:a> <urn:n> ?n } WHERE { BIND(-9223372036854775808 AS ?n) }").added == 1
    for test in ("ABS(?n) > 5", "CEIL(?n) < 0", "?n = -9223372036854775808", "?n IN (-9223372036854775808)"):
        assert world.query(f"ASK {{ ?s ?p ?n FILTER({test}) }}"), test


def test_a_group_knows_the_wide_numbers_of_its_worlds() -> None:
    worlds_ = {name: worlds.open(embedder=None) for name in "ab"}
    for name, world in worlds_.items():
        world.add([(f"urn:{name}", "urn:p", f'"9223372036854775808{name == "b":d}"^^<{PREFIXES["xsd"]}integer>')])
    found: Any = worlds.group(worlds_).query("SELECT ?s { ?s <urn:p> ?n } ORDER BY DESC(?n)")
    assert [str(row.s) for row in found] == ["urn:b", "urn:a"]


def test_a_text_that_ends_within_group_by_is_told() -> None:
    with pytest.raises(worlds.QueryError):
        rewritten(Query("SELECT (?a + 1 AS ?x) {} GROUP BY (?a"), wide=False)
