"""The query that may have been meant, where one finds nothing or cannot be asked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlds
from tests.support.command_line import run
from worlds.errors import QueryError

EX = "https://example.org/"
DATA = """PREFIX ex: <https://example.org/> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
ex:ann a ex:Person ; ex:name "Ann Lee"@en ; ex:worksFor ex:acme . ex:acme rdfs:label "Acme" ; a ex:Company .
ex:bob a ex:Person ; ex:name "Bob"@en ; ex:worksFor ex:acme ."""


@pytest.fixture(scope="module")
def world() -> Iterator[Any]:
    with worlds.open(embedder=None) as world:
        world.bind("ex", EX)
        world.load(DATA.encode(), format="turtle")
        yield world


@pytest.mark.parametrize(
    ("query", "meant", "found"),
    [
        ('SELECT * { ?s ex:name "Bob" }', 'SELECT * { ?s ex:name "Bob"@en }', 1),
        ("SELECT * { ?s ex:worksForr ?o }", "SELECT * { ?s ex:worksFor ?o }", 2),
        ("SELECT * { ?s a ex:Persons ; ex:worksForr ?o }", "SELECT * { ?s a ex:Person ; ex:worksFor ?o }", 2),
        ('SELECT * { ?s ex:worksFor "Acme" }', "SELECT * { ?s ex:worksFor ex:acme }", 2),
        ("SELECT * { ex:acme  ex:worksFor ?s }", "SELECT * { ?s ex:worksFor ex:acme }", 2),
        ('SELECT * { ?s ex:name ?o FILTER(?o = "bob") }', 'SELECT * { ?s ex:name ?o FILTER(?o = "Bob"@en) }', 1),
        ("CONSTRUCT WHERE { ?s ex:worksForr ?o }", "CONSTRUCT WHERE { ?s ex:worksFor ?o }", 2),
        (
            'SELECT * { ?s a ex:Persons ; ex:name "Bob" ; ex:worksFor "Acme" }',
            'SELECT * { ?s a ex:Person ; ex:name "Bob"@en ; ex:worksFor ex:acme }',
            1,
        ),
    ],
)
def test_what_finds_nothing_leads_to_what_was_meant(world: Any, query: str, meant: str, found: int) -> None:
    answer = world.query(query, repair=True)
    assert not isinstance(answer, bool)
    assert len(answer) == 0, "the answer stays the answer"
    assert answer.repair is not None
    assert (answer.repair.query, len(answer.repair.found), answer.repair.union) == (meant, found, False)
    assert str(answer.repair).endswith(f": this query finds {found}: {meant}")
    assert len(world.query(answer.repair.query)) == found


def test_without_the_option_and_with_a_result_there_is_none(world: Any) -> None:
    for query, repair in (("SELECT * { ?s ex:worksForr ?o }", False), ("SELECT * { ?s ex:worksFor ?o }", True)):
        answer = world.query(query, repair=repair)
        assert answer.repair is None
    assert world.query("SELECT * { ?s ex:unlike_anything_here ?o }", repair=True).repair is None
    assert world.query("ASK { ?s ex:worksForr ?o }", repair=True) is False


@pytest.mark.parametrize(
    ("query", "meant"),
    [
        ("SELECT * { ?s exx:worksFor ?o }", "SELECT * { ?s ex:worksFor ?o }"),
        ("SELECT * { ?s ex:worksFor ?o ", "SELECT * { ?s ex:worksFor ?o  }"),
    ],
)
def test_what_cannot_be_asked_does_too(world: Any, query: str, meant: str) -> None:
    with pytest.raises(QueryError) as caught:
        world.query(query, repair=True)
    assert caught.value.repair.query == meant
    with pytest.raises(QueryError) as caught:
        world.query(query)
    assert caught.value.repair is None
    with pytest.raises(QueryError) as caught:
        world.query("SELCT * { ?s ?p ?o }", repair=True)
    assert caught.value.repair is None


def test_data_in_other_graphs_are_found_by_all_of_them() -> None:
    with worlds.open(embedder=None) as world:
        world.bind("ex", EX)
        world.load(DATA.encode(), format="turtle", graph="urn:g")
        found: Any = world.query("SELECT * { ?s ex:worksFor ?o }", repair=True)
        repair = found.repair
        assert repair is not None
        assert (repair.union, len(repair.found)) == (True, 2)


def test_a_scope_is_not_left(world: Any) -> None:
    with worlds.open(embedder=None) as other:
        other.bind("ex", EX)
        other.load(DATA.encode(), format="turtle", graph="urn:g")
        other.add([("ex:cid", "rdf:type", "ex:Cat")])
        inside: Any = other.only(graphs=["default"])
        assert inside.query("SELECT * { ?s ex:worksFor ?o }", repair=True).repair is None
        assert inside.query('SELECT * { ?s ex:name "Bob" }', union=True, repair=True).repair is None


def test_the_command_shows_it(tmp_path: Path) -> None:
    path = tmp_path / "kb.db"
    with worlds.open(path, embedder=None) as world:
        world.bind("ex", EX)
        world.load(DATA.encode(), format="turtle")
    told = run("sparql", path, 'SELECT * { ?s ex:name "Bob" }', "--repair")
    assert 'this query finds 1: SELECT * { ?s ex:name "Bob"@en }' in " ".join(told.stderr.split())
    told = run("sparql", path, "SELECT * { ?s exx:name ?o }", "--repair")
    assert told.exit_code == 5
    assert "this query finds 2" in " ".join(told.stderr.split())


TOKENS = """SELECT * { } ?s ?o a ex:Person ex:Persons ex:worksFor ex:worksForr "Bob" "Acme" . ; , FILTER( ) = "Ann"""


@given(st.lists(st.sampled_from(TOKENS.split()), max_size=14))
def test_any_text_is_repaired_or_left(tokens: list[str]) -> None:
    with worlds.open(embedder=None) as opened:
        world: Any = opened
        world.bind("ex", EX)
        world.load(DATA.encode(), format="turtle")
        try:
            answer: Any = world.query("SELECT * { " + " ".join(tokens), repair=True)
            repair = None if isinstance(answer, bool) else answer.repair
        except QueryError as error:
            repair = error.repair
        if repair is not None:
            assert len(world.query(repair.query, union=repair.union or None)) == len(repair.found) > 0
