"""Searches and queries that cannot be asked: one clear error, and a world as it was."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import worlds
from tests.support.misuse import EX, Thing
from worlds import (
    EmbedderError,
    FilterError,
    QueryError,
)
from worlds.core.search.options import gathered
from worlds.errors import ArgumentError
from worlds.verbs.table import VERBS

# --- search -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [None, 3, 1.5, b"kite", ["kite"], {}, Thing(), True])
def test_what_is_no_text_to_search(kept: Any, text: object) -> None:
    for verb in (kept.search, kept.search_sql):
        with pytest.raises(TypeError, match="a search takes a str, not"):
            verb(text)
    with pytest.raises(TypeError, match="a query must be a str, not"):
        kept.query(text)


@pytest.mark.parametrize(
    ("option", "values"),
    [
        ("limit", [0, -1, 10**9, 2**70, "5", True, 1.5, float("nan"), [5]]),
        ("candidates", [0, -1, 10**9, "5", True, 2.5, [5]]),
        ("k", [-1, "60", True, float("nan"), float("inf"), -float("inf"), [60]]),
        (
            "weights",
            [
                {"vector": -1},
                {"text": float("nan")},
                {"text": float("inf")},
                {"text": "1"},
                {"text": None},
                {"text": True},
                {"words": 1},
                {3: 1},
                "text",
                [1, 1],
                1,
            ],
        ),
        ("mode", ["both", "", None, 3, ["text"]]),
        ("plan", ["fast", 3]),
        ("syntax", ["sql", None, 3]),
        ("vector", ["kite", ["a"] * 32, {}, [0] * 32, [float("nan")] * 32, [float("inf")] * 32]),
    ],
)
def test_wrong_values_of_search(kept: Any, option: str, values: list[object]) -> None:
    for verb in (kept.search, kept.search_sql):
        for value in values:
            with pytest.raises(ValueError, match=option) as caught:
                verb("kite", **gathered({option: value}))
            if option != "vector":
                assert repr(value) in str(caught.value)


@pytest.mark.parametrize(
    ("verb", "given", "said"),
    [
        ("proposals.add_all", {"findings": "x"}, "findings must be a list, not 'x'"),
        ("proposals.accept_all", {"ids": 5}, "ids must be a list or a mapping, not 5"),
        ("query", {"query": "ASK {}", "default_graphs": EX}, f"default_graphs must be a list, not '{EX}'"),
        ("query", {"query": "ASK {}", "union": "yes"}, "union must be True or False, not 'yes'"),
        ("query", {"query": "ASK {}", "allow_network": 5}, "True or False or a text or a list of texts, not 5"),
        ("query", {"query": "ASK {}", "allow_network": [5]}, r"or a list of texts, not \[5\]"),
        ("schema", {"matching": ["x"]}, r"matching must be a str, not \['x'\]"),
        ("history", {"message": []}, r"message must be a str, not \[\]"),
        ("curation.duplicates", {"between": 1.5}, "between must be a list, not 1.5"),
        ("curation.links", {"score": "x"}, "score must be a number, not 'x'"),
        ("curation.contradictions", {"after": True}, "after must be a whole number, not True"),
    ],
)
def test_wrong_arguments_of_verbs(kept: Any, verb: str, given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError if "number" in said else TypeError, match=f"^{said}|{said}$"):
        VERBS[verb].of(kept)(**given)


def test_booleans_of_numpy_are_booleans_and_no_numbers(kept: Any) -> None:
    assert kept.query("ASK {}", union=np.bool_(True), allow_network=np.bool_(False))
    with pytest.raises(TypeError, match="after must be a whole number, not True"):
        kept.curation.contradictions(after=np.bool_(True))


def test_an_argument_of_no_form_is_named_by_every_verb(kept: Any) -> None:
    named = 0
    for verb in VERBS.values():
        for name, annotation in verb.of(kept).__annotations__.items():
            if annotation.startswith(("Iterable", "Sequence[object]")) or annotation in ("bool", "bool | None"):
                named += 1
                for thing in (Thing(), 1.5):
                    with pytest.raises(TypeError, match=f"^{name} must be .*, not {thing!r}$"):
                        verb.of(kept)(**{name: thing})
    assert named > 60


def test_unknown_options_of_search(kept: Any) -> None:
    for verb in (kept.search, kept.search_sql):
        with pytest.raises(TypeError, match="radius"):
            verb("kite", radius=3)
    with pytest.raises(TypeError, match="radius"):
        worlds.Ranking(radius=3)  # type: ignore[call-arg]  # that is what is tested
    for verb in (kept.search_sql, lambda text, **options: kept.entities.similar("urn:a", **options)):
        with pytest.raises(TypeError, match=r"k is a field of the ranking: ranking=worlds.Ranking\(k=…\)"):
            verb("kite", k=3)
    with pytest.raises(TypeError, match="ranking must be a worlds.Ranking, not {'k': 3}"):
        kept.search("kite", ranking={"k": 3})


def test_a_vector_of_another_dimension(kept: Any) -> None:
    for mode in ("hybrid", "vector"):
        for vector in ([1.0, 2.0], np.ones(33), np.ones((1, 32)), 3):
            with pytest.raises(EmbedderError, match="the world's vectors have 32 dimensions; this one has shape"):
                kept.search("kite", vector=vector, mode=mode)


@pytest.mark.parametrize("name", ["subjects", "predicates", "types", "graphs"])
@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("http://a/b c", "'http://a/b c' is not an IRI"),
        ("nowhere:x", "the prefix 'nowhere:' is not known"),
        ("name", "'name' is neither an IRI nor a name"),
        ("", "''"),
        ("a\0b", "x00"),
        ("\ud800", "ud800"),
        ('"text"', "takes IRIs, not '\"text\"'"),
        (3, "3"),
        (True, "True"),
        (b"x", "b'x'"),
        ({}, "{}"),
        ([EX, None], "None"),
    ],
)
def test_wrong_filters(kept: Any, name: str, value: object, said: str) -> None:
    for filters in ({name: value}, {"exclude": {name: value}}):
        with pytest.raises(FilterError, match=f"{name}.*{said}"):
            kept.search("kite", **filters)


@pytest.mark.parametrize("tag", [3, b"en", "e n", "*", "en-", "-", "é", [None], ["en", 3]])
def test_what_is_no_language(kept: Any, tag: object) -> None:
    with pytest.raises(FilterError, match="languages takes language tags such as 'en'"):
        kept.search("kite", languages=tag)


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        (3, "not 3"),
        ([], r"not \[\]"),
        ("", "not ''"),
        (" \n", "over \\?subject"),
        ("?s ?p ?o", r"\?subject, which is not in '\?s \?p \?o'"),
        ("?subjects ?p ?o", "which is not in"),
        ("?subject ?p", "it ends too early, or closes a group"),
        ("?subject ?p ?o }", "it ends too early, or closes a group"),
        ("{ ?subject ?p ?o", "it ends too early"),
        ("?subject ex:p ?o .\n  ?subject nowhere:p ?x", "line 2, column 21?: the prefix 'nowhere:' is not declared"),
        ("?subject ex:p 'kite", "line 1, column"),
        ("?subject ?p ?o . SERVICE <http://localhost/> { }", "line 1, column 18: SERVICE is not allowed"),
        ("?subject ?p ?o } ; DROP ALL ; INSERT { ?subject ?p 1", "line 1"),
        ("?subject ?p ?o FILTER(" + "(" * 300, "nested deeper"),
    ],
)
def test_wrong_patterns(kept: Any, pattern: object, said: str) -> None:
    for filters in ({"where": pattern}, {"exclude": {"where": pattern}}):
        with pytest.raises(FilterError, match=said) as caught:
            kept.search("kite", **filters)
        assert "where takes a SPARQL group pattern over ?subject" in str(caught.value)


@pytest.mark.parametrize("value", ["x", [], 3, {"type": EX}, {"limit": 3}, {3: EX}, {"where": 3, 4: 5}])
def test_what_cannot_be_excluded(kept: Any, value: object) -> None:
    with pytest.raises(FilterError, match="exclude|where"):
        kept.search("kite", exclude=value)


@pytest.mark.parametrize(
    "expression",
    ['"open', "AND", "kite OR", "nocolumn: kite", "NEAR(", "", '"', "'", "(" * 5000, "a\0b", "\ud800", "rank : x"],
    ids=lambda expression: ascii(expression[:10]),
)
def test_wrong_full_text_expressions(kept: Any, expression: str) -> None:
    with pytest.raises(QueryError, match="the FTS5 expression") as caught:
        kept.search(expression, syntax="fts5")
    assert len(str(caught.value)) < 1000


# --- queries ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("", "line 1, column 1"),
        ("SELECT", "line 1, column 7: unexpected end of the query"),
        ("SELECT * {\n ?s ?p ?o", "line 1, column 10: the { is not closed"),
        ("SELECT * {\n ?s nowhere:p ?o }", r"line 2, column \d+: the prefix 'nowhere:' is not declared"),
        ("SELECT * {?s zz:p ?o}", "line 1, column 14: the prefix 'zz:' is not declared"),
        ("PREFIX a: <urn:a> SELECT * {?s a:p ?o . ?o zz:p ?s}", "line 1, column 44: the prefix 'zz:' is not declared"),
        ("PREFIX zz: <urn:a> SELECT * {?s zz:p ?o . ?o", "line 1, column 29: the { is not closed"),
        ("INSERT DATA { <a:a> <a:a> 1 }", "line 1, column 1: INSERT begins an update, not a query"),
        ("PREFIX a: <a:> # b\nBASE <b:> clear ALL", "line 2, column 11: CLEAR begins an update"),
        ("{ ?s ?p ?o }", "line 1, column 1: a query begins with SELECT, ASK, CONSTRUCT or DESCRIBE, not with '{'"),
        ("PREFIX a <a:> SELECT * {}", "line 1, column 10: unexpected"),
        ("SELECT * { ?s ?p ?o } LIMIT x", r"line 1, column 29: unexpected 'x'$"),
        ("SELECT ?s { ?s ?p ?o } ORDER ?s", "expected BY$"),
        ("DESCRIBE <a b>", "line 1"),
        ("SELECT * { SERVICE <http://localhost/> { ?s ?p ?o } }", "SERVICE is not allowed"),
        ("SELECT * { " + "{" * 2000 + "}" * 2000 + " }", "nested deeper than 256"),
        ("ASK {} # \ud800", "."),
        ("A\0SK {}", "line 1"),
    ],
    ids=lambda text: ascii(text[:20]),
)
def test_wrong_queries(kept: Any, query: str, said: str) -> None:
    with pytest.raises(QueryError, match=said):
        kept.query(query)


@pytest.mark.parametrize("name", ["nope", "?nope", "", "s s", "S"])
def test_a_binding_of_a_variable_that_the_text_has_not(kept: Any, name: str) -> None:
    past = kept.at(kept.history()[0].revision)
    for verb in (kept.query, kept.explain, past.query, worlds.group({"a": kept}).query):
        for query in ("SELECT ?s { ?s ?p ?o }", "SELECT * { ?s ?p ?o } # ?nope", 'ASK { ?s ?p "?nope" }'):
            with pytest.raises(ArgumentError, match=r"the query has no variable \?"):
                verb(query, bindings={"s": EX, name: 5})
    for write in (kept.update, partial(kept.update, dry_run=True)):
        with pytest.raises(ArgumentError, match=r"no variable \?.*; its variables: \?o, \?p, \?s$"):
            write("DELETE WHERE { ?s ?p ?o }", bindings={name: 5})


@pytest.mark.parametrize(
    ("bindings", "kind"),
    [
        (3, TypeError),
        ("s", TypeError),
        ([("s", EX)], TypeError),
        ({3: EX}, TypeError),
        ({"s": None}, TypeError),
        ({"s": Thing()}, TypeError),
        ({"s": "kite"}, ValueError),
        ({"s": "nowhere:x"}, ValueError),
        ({"s": "http://a/b c"}, ValueError),
        ({"s": "\ud800"}, ValueError),
    ],
    ids=str,
)
def test_wrong_bindings(kept: Any, bindings: object, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        kept.query("SELECT * { ?s ?p ?o }", bindings=bindings)
