"""A scope in its world's own database: statements that read its graphs alone, and answers that need no copy."""

from __future__ import annotations

import contextlib
import random
import re
import threading
import time
from typing import Any

import pytest

import worlds
from tests.support import scoping
from tests.support.embedder import HashingEmbedder
from worlds import World
from worlds.core.views.seen import UnseenError, seen
from worlds.sql import SQL_FOLDER, Statement, statements
from worlds.sql.connection import Connection
from worlds.world import connection_of

MINE, THEIRS = "ex:mine", "ex:theirs"
WORDS = ("amber", "basalt", "cedar", "delta", "ember", "fjord", "garnet", "harbour")
ON_QUADS = {
    f"{file.stem} {name}": statement
    for file in sorted(SQL_FOLDER.glob("*.sql"))
    if file.name not in ("schema.sql", "vectors.sql", "search.sql")
    for name, statement in statements(file.name).items()
    if re.search(r"\b(FROM|JOIN)\s+quads\b", statement.sql)
}
UNMASKED = re.compile(
    r"\b(?:FROM|JOIN)\s+(?:removed_)?quads\b(?!\s+INDEXED BY \w+ WHERE graph IN| WHERE graph IN)"
).search


def rewritten(statement: Statement) -> str | None:
    """The statement as a scope of three graphs runs it; None where it does not."""
    try:
        return seen(statement.sql, "(3, 5, 7)")
    except UnseenError:
        return None


def scans(connection: Connection, sql: str, statement: Statement) -> list[str]:
    """The steps of a plan that read all of an index or a table of quads, or a subquery that was not flattened."""
    rows = connection.rows(f"EXPLAIN QUERY PLAN {sql}", [None] * len(statement.parameters))
    return [row[3] for row in rows if re.match(r"SCAN (quads|\w+ USING .*INDEX quads_)|MATERIALIZE quads", row[3])]


@pytest.mark.parametrize("driver", ["libsql", "sqlite"])
def test_a_statement_reads_a_scope_by_the_plan_that_it_has(driver: Any) -> None:
    read = 0
    with worlds.open(":memory:", embedder=HashingEmbedder(8), driver=driver) as world:
        world.add([("urn:a", "urn:b", '"a text, so that there are vectors"')])
        connection = connection_of(world)
        for name, statement in ON_QUADS.items():
            if (sql := rewritten(statement)) is None:
                continue
            read += 1
            assert not UNMASKED(sql), name
            assert not re.search(r",\s*(?:removed_)?quads\b(?!\.)", re.sub("--[^\n]*", "", statement.sql)), name
            assert len(scans(connection, sql, statement)) <= len(scans(connection, statement.sql, statement)), name
    assert read > 0.6 * len(ON_QUADS)


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM quads",
        "SELECT * FROM revisions",
        "SELECT * FROM merged_quads",
        "SELECT count(*) FROM terms",
        "SELECT 1 FROM chunks_fts WHERE chunks_fts MATCH 'secret'",
        "SELECT (SELECT count(*) FROM chunks) FROM chunks_fts WHERE chunks_fts MATCH 'secret'",
        "SELECT bm25(chunks_fts) FROM chunks_fts CROSS JOIN chunks ON chunks.id = chunks_fts.rowid",
    ],
)
def test_what_no_mask_shows_is_not_run(sql: str) -> None:
    with pytest.raises(UnseenError):
        seen(sql, "(1)")


def shared(seed: int) -> tuple[World, World]:
    """A world of two graphs that have texts in common, and one that holds the quads of the first alone."""
    chosen = random.Random(seed)
    world, oracle = scoping.opened(), scoping.opened()
    texts = [" ".join(chosen.choices(WORDS, k=chosen.randint(1, 6))) for _ in range(40)]
    for _ in range(6):
        quads = [
            (f"ex:e{chosen.randint(0, 30)}", chosen.choice(("rdfs:label", "rdfs:comment")), f'"{chosen.choice(texts)}"')
            for _ in range(12)
        ]
        for graph in chosen.sample((MINE, THEIRS), 2):
            some = chosen.sample(quads, 8)
            world.add([(*quad, graph) for quad in some])
            if graph == MINE:
                oracle.add([(*quad, graph) for quad in some])
        gone = [quad for quad in quads if chosen.random() < 0.2]
        world.remove([(*quad, MINE) for quad in gone])
        oracle.remove([(*quad, MINE) for quad in gone])
    return world, oracle


def told(world: World, text: str, **options: Any) -> dict[str, tuple[float, list[str]]]:
    """All texts that a search finds, with their scores and the quads that they cite."""
    hits = world.search(text, limit=200, **options)
    return {hit.text: (round(hit.score, 6), sorted(map(str, hit.quads))) for hit in hits}


@pytest.mark.parametrize("seed", range(2))
def test_texts_that_other_graphs_have_too_count_once_for_the_scope(seed: int) -> None:
    world, oracle = shared(seed)
    scope = world.only(graphs=MINE)
    for text in ("amber", "basalt cedar", '"delta ember"', "fjord -garnet", "harb*", "amber amber fjord"):
        for options in ({"mode": "text"}, {"mode": "vector"}, {}, {"types": "ex:None"}):
            assert told(scope, text, **options) == told(oracle, text, **options), (text, options)


def test_a_search_of_a_scope_makes_no_copy_and_shows_its_mask() -> None:
    world, _ = shared(7)
    scope = world.only(graphs=[MINE])
    ran = scope.search_sql("amber", mode="text")
    assert any("WHERE graph IN (" in one.sql for one in ran)
    assert not any(UNMASKED(one.sql) for one in ran)


def test_a_passage_has_one_number_however_it_is_found() -> None:
    world, _ = shared(8)
    scope = world.only(graphs=[MINE])
    by_mask = {hit.text: hit.chunk for hit in scope.search("amber basalt", limit=50)}
    by_slice = {hit.text: hit.chunk for hit in scope.search("amber OR basalt", syntax="fts5", mode="text", limit=50)}
    assert by_slice
    assert by_slice.items() <= by_mask.items()
    for text, chunk in by_mask.items():
        assert scope.sources.chunk(chunk).text == text


def test_pages_lead_on_whatever_answers_them() -> None:
    world, _ = shared(9)
    scope = world.only(graphs=[MINE])
    whole = [hit.text for hit in scope.search("amber basalt", limit=30)]
    found: list[str] = []
    cursor = None
    for page in range(4):
        if page == 2:  # from here on the slice answers, which alone has the vectors of texts that the world has not
            world.add([("ex:new", "rdfs:label", '"not embedded, and elsewhere"', THEIRS)], embed=False)
        hits = scope.search("amber basalt", limit=5, cursor=cursor)
        found += [hit.text for hit in hits]
        cursor = hits.cursor
    assert found == whole[: len(found)]
    assert len(found) == min(20, len(whole))


@pytest.mark.parametrize("graphs", [3, 40])
def test_a_scope_of_many_graphs(graphs: int) -> None:
    world, oracle = scoping.opened(), scoping.opened()
    names = [f"ex:g{number}" for number in range(2 * graphs)]
    for place, name in enumerate(names):
        quads = [(f"ex:e{place % 7}", "rdfs:label", f'"{WORDS[place % 8]} {place}"', name)]
        world.add(quads)
        if place % 2:
            oracle.add(quads)
    scope = world.only(graphs=names[1::2])
    for text in ("amber", "basalt 3", "delta ember"):
        assert told(scope, text) == told(oracle, text)
    assert len(scope) == scope.count() == len(oracle)
    assert scope.graphs() == oracle.graphs()


def test_languages_are_those_of_the_scope() -> None:
    world, oracle = scoping.opened(), scoping.opened()
    mine = [("ex:a", "rdfs:label", '"die Häuser am Hafen"@de', MINE), ("ex:b", "rdfs:label", '"the houses"@en', MINE)]
    world.add([("ex:c", "rdfs:label", '"les maisons du port"@fr', THEIRS), *mine])
    oracle.add(mine)
    scope = world.only(graphs=MINE)
    for text in ("Haus", "maison", "house", "Häuser am Hafen"):
        found, expected = scope.search(text, mode="text"), oracle.search(text, mode="text")
        assert [hit.text for hit in found] == [hit.text for hit in expected], text
        assert found.explain.languages == expected.explain.languages
    assert scope.schema().languages == oracle.schema().languages


def test_entities_of_other_graphs_are_none_of_a_scope() -> None:
    world = scoping.opened()
    world.add([("ex:a", "rdfs:label", '"amber"', MINE), ("ex:secret", "ex:near", "ex:secret2", THEIRS)])
    scope = world.only(graphs=MINE)
    for name in ("ex:secret", "ex:nobody"):
        assert scope.entities.similar(name).notes == (f"{name} is not an entity of this world.",)
        assert not scope.entities.neighbourhood(name).entities


def test_words_of_other_graphs_make_no_name_a_common_word() -> None:
    world = scoping.opened()
    world.add([("ex:a", "rdfs:label", '"amber"', MINE)])
    world.add([(f"ex:t{number}", "rdfs:comment", f'"amber {number}"', THEIRS) for number in range(100)])
    assert not world.entities.mentions("some amber")
    assert [str(one.iri) for one in world.only(graphs=MINE).entities.mentions("some amber")] == [scoping.EX + "a"]


def test_prefixes_of_what_was_rolled_back_are_none_of_a_scope() -> None:
    world = scoping.opened()
    world.add([("ex:a", "rdfs:label", '"amber"', MINE)])
    world.bind("new", "http://new.example/")
    scope = world.only(graphs=MINE)
    with contextlib.suppress(KeyError), world.transaction():
        world.add([("http://new.example/a", "rdfs:label", '"basalt"', MINE)])
        assert scope.query("ASK { GRAPH ?g { new:a ?p ?o } }")
        raise KeyError
    with pytest.raises(worlds.QueryError):
        scope.query("ASK { GRAPH ?g { new:a ?p ?o } }")


def test_prefixed_names_are_read_beside_a_transaction() -> None:
    world = scoping.opened()
    world.add([("ex:a", "rdfs:label", '"amber"')])
    reader = threading.Thread(target=lambda: world.describe("ex:a"), daemon=True)
    with world.transaction():
        world.add([("ex:b", "rdfs:label", '"basalt"')])
        reader.start()
        reader.join(0.2)  # it waits for the end of the transaction, which must not wait for it
        world.add([("ex:c", "rdfs:label", '"cedar"')])
    reader.join(10)
    assert not reader.is_alive()


def test_readers_of_a_scope_beside_a_transaction_of_the_world() -> None:
    world, _ = shared(10)
    scope = world.only(graphs=MINE)
    scope.history()  # of its slice
    reader = threading.Thread(target=lambda: [scope.history() for _ in range(3)], daemon=True)
    with world.transaction():
        world.add([("ex:b", "rdfs:label", '"basalt"', MINE)])
        reader.start()
        reader.join(0.2)  # it waits for the end of the transaction, which must not wait for it
        scope.history()
    reader.join(10)
    assert not reader.is_alive()


def test_the_time_limit_of_patterns_holds_for_a_scope_and_is_spent_once() -> None:
    world = scoping.opened()
    world.add([(f"ex:e{n}", "rdfs:label", f'"amber {n}"', MINE) for n in range(400)])
    scope = world.only(graphs=MINE)
    scope.file.pattern_timeout = 2
    endless = "?subject ?p ?o . ?a ?b ?c . ?d ?e ?f . ?g ?h ?i FILTER(?c = ?f && ?f = ?i && ?o != ?c && ?a != ?d)"
    began = time.monotonic()
    with pytest.raises(worlds.QueryTimeout):
        scope.search("amber", where=endless)
    assert time.monotonic() - began < 10
    assert scope.search("amber", where="?subject rdfs:label ?name", limit=3)
