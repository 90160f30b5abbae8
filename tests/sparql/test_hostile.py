"""Queries and updates that are made to keep a reader busy, or to end it."""

from __future__ import annotations

import contextlib
import time
from typing import Any

import pytest

import worlds
from tests.sparql.test_fuzz import HEAD, QUERIES
from worlds import QueryError, QueryTimeout, World
from worlds.graph.query.tokens import by_text, tokenize

CHAIN = " ".join(f"?v{number} <urn:p> ?v{number + 1} ." for number in range(1000, -1, -1))


@pytest.fixture
def world() -> World:
    return worlds.open(embedder=None)


def seconds(began: float) -> float:
    return time.process_time() - began


def test_an_update_may_declare_any_number_of_prefixes(world: World) -> None:
    prologue = "".join(f"PREFIX p{number}: <urn:{number}:>\n" for number in range(20_000))
    assert world.update(prologue + "INSERT DATA { p0:a p7:b p19999:c }").added == 1
    assert [str(term) for term in next(world.quads())[:3]] == ["urn:0:a", "urn:7:b", "urn:19999:c"]


def test_prefixes_of_many_operations_take_no_longer_the_more_there_are(world: World) -> None:
    def took(count: int) -> float:
        began = time.process_time()
        world.update(";".join(f"PREFIX p{number}: <urn:{number}:> CLEAR GRAPH <urn:x>" for number in range(count)))
        return seconds(began)

    world.update("CREATE GRAPH <urn:x>")
    took(100)
    assert took(2000) < 40 * took(250)


@pytest.mark.parametrize(
    "update",
    [
        "DELETE {} WHERE { " + "(" * 16_000 + "]" * 16_000,
        "DELETE WHERE { " + "[" * 250 + ")" * 60_000,
        "INSERT {} WHERE " + "{|" * 60_000,
    ],
)
def test_brackets_that_nothing_opens_or_closes_are_refused_at_once(world: World, update: str) -> None:
    began = time.process_time()
    with pytest.raises(QueryError):
        world.update(update)
    assert seconds(began) < 5


def test_expressions_that_double_are_refused(world: World) -> None:
    doubled = " ".join(f"(?a{number} + ?a{number} AS ?a{number + 1})" for number in range(40))
    with pytest.raises(QueryError, match="too long with what it uses of other expressions"):
        world.query(f"SELECT (COUNT(?x) AS ?a0) {doubled} {{ ?x ?y ?z }}")


def test_a_chain_of_signs_is_refused_at_once(world: World) -> None:
    began = time.process_time()
    with pytest.raises(QueryError):
        world.query("SELECT * { FILTER(" + "- " * 5000 + "1) }")
    assert seconds(began) < 2


@pytest.mark.parametrize(
    "query",
    ["ASK { ?s " + "^" * 20_000 + "<urn:p> ?o }", "ASK { " + "EXISTS " * 9000, "ASK { " + "GRAPH " * 9000 + "?"],
)
def test_words_and_marks_over_and_over_are_refused_at_once(world: World, query: str) -> None:
    began = time.process_time()
    with pytest.raises(QueryError):
        world.query(query)
    assert seconds(began) < 2


@pytest.mark.parametrize("format", ["json", "xml", "csv", "tsv"])
def test_a_term_nested_as_deep_as_may_be_is_written(world: World, format: str) -> None:
    term = "TRIPLE(<urn:s>, <urn:p>, " * 250 + "1" + ")" * 250
    found = world.query(f"SELECT ({term} AS ?term) {{}}")
    assert found.serialize(format).count("urn:s") == 250  # type: ignore[union-attr]  # a SELECT


def test_many_graph_patterns_are_read_together(world: World) -> None:
    world.update("INSERT DATA { GRAPH <urn:g> { <urn:a> <urn:b> 1 } }")
    patterns = " ".join(f"GRAPH ?g{number} {{ VALUES ?x{number} {{ 1 }} }}" for number in range(300))
    began = time.process_time()
    assert len(world.query(f"SELECT * {{ {patterns} }}")) == 1  # type: ignore[arg-type]  # a SELECT
    assert seconds(began) < 5


def test_the_limit_counts_while_a_query_with_a_search_is_read(world: World) -> None:
    began = time.monotonic()
    with pytest.raises(QueryTimeout):
        world.query(f"SELECT * {{ SERVICE w:search {{ ?h w:query 'a' ; w:subject ?v0 }} {CHAIN} }}", timeout=1)
    assert time.monotonic() - began < 20


def test_the_limit_counts_while_an_update_is_read(world: World) -> None:
    began = time.monotonic()
    with pytest.raises(QueryTimeout):
        world.update(f"DELETE {{ ?v0 <urn:p> 1 }} WHERE {{ {CHAIN} }}", timeout=1)
    assert time.monotonic() - began < 20


@pytest.mark.parametrize("rest", ["", " # UnionGraph"])
def test_a_query_that_is_cut_anywhere_is_answered_or_refused(world: World, rest: str) -> None:
    for query in QUERIES:
        for token in tokenize(HEAD + query):
            with contextlib.suppress(QueryError):
                world.query((HEAD + query)[: token.end] + rest)


@pytest.mark.parametrize("text", ["SELECT (1) {}", "ASK { FILTER NOT (1) }", "ASK " + "{" * 5000, "SELECT * { VALUES"])
def test_what_is_no_query_of_the_union_graph_is_refused_at_every_door(world: World, text: str) -> None:
    doors: list[Any] = [world.query, world.explain, world.only(graphs=["urn:g"]).query]
    for door in (*doors, lambda text: world.query(text, repair=True)):
        with pytest.raises(QueryError):
            door(f"{text} # UnionGraph")


def test_an_escape_that_there_is_not_is_refused_in_an_expression_that_is_rewritten(world: World) -> None:
    with pytest.raises(QueryError):
        world.query(r"SELECT * { ?s ?p ?o FILTER(1 + 'a\ b' = 2) }")


def test_long_texts_are_not_kept() -> None:
    read: list[str] = []
    measured = by_text(2)(lambda text: read.append(text) or len(text))  # type: ignore[func-returns-value]
    short, long = ["a", "b"], ["c" * 10_001]
    assert [measured(text) for text in [*short, *long] * 2] == [1, 1, 10_001] * 2
    assert read == [*short, *long, *long]
    assert [measured(text) for text in "dedeab"] == [1] * 6
    assert read[4:] == ["d", "e", "a", "b"], "no more than two are kept"
