"""World.update: an update is one write, in every index."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

import worlds
from tests.support.embedder import HashingEmbedder
from worlds import ConflictError, QueryError, QueryTimeout, World
from worlds.records import Change

EX = "http://example.org/"


@pytest.fixture
def world() -> Any:
    with worlds.open(embedder=HashingEmbedder()) as world:
        world.bind("ex", EX)
        yield world


def values(world: World, query: str) -> list[tuple[Any, ...]]:
    found = world.query(query)
    assert isinstance(found, worlds.records.Solutions)
    return [tuple(None if term is None else str(term) for term in row) for row in found]


def test_it_reaches_quads_texts_and_vectors_in_one_revision(world: World) -> None:
    change = world.update('INSERT DATA { ex:a ex:note "the red kite"@en , "a river" . GRAPH ex:g { ex:a ex:n 1 } }')
    assert change == Change(revision=1, added=3, removed=0, chunks=2, embedded=2)
    assert [hit.text for hit in world.search("kite", limit=1)] == ["the red kite"]
    change = world.update(
        "DELETE { ?s ex:note ?o } INSERT { ?s ex:label ?o } WHERE { ?s ex:note ?o FILTER(LANG(?o) = '') }"
    )
    assert (change.revision, change.added, change.removed, change.chunks) == (2, 1, 1, 0)
    change = world.update("DELETE WHERE { ?s ex:note ?o }")
    assert (change.added, change.removed) == (0, 1)
    assert [hit.text for hit in world.search("kite")] == ["a river"]
    assert world.check().ok
    assert [entry.revision for entry in world.history()] == [3, 2, 1]


def test_author_and_message_stand_in_the_history(world: World) -> None:
    world.update("INSERT DATA { ex:a ex:n 1 }", author="ann", message="a first try")
    (entry,) = world.history()
    assert (entry.author, entry.message, entry.added) == ("ann", "a first try", 1)


def test_what_changes_nothing_is_no_revision(world: World) -> None:
    assert world.update("DELETE DATA { ex:a ex:n 1 }") == Change(None, 0, 0)
    assert world.update('INSERT DATA { ex:a ex:n "kite" } ; DELETE DATA { ex:a ex:n "kite" }') == Change(None, 0, 0)
    assert world.history() == []
    assert len(world.search("kite")) == 0


def test_all_operations_or_none(world: World) -> None:
    world.update("CREATE GRAPH ex:g")
    with pytest.raises(QueryError, match="example.org/g"):
        world.update('INSERT DATA { ex:a ex:n "kite" } ; CREATE GRAPH ex:g')
    assert len(world) == 0
    assert len(world.search("kite")) == 0
    assert values(world, "SELECT * { ?s ?p ?o }") == []


def test_an_error_has_its_place_in_the_whole_request(world: World) -> None:
    with pytest.raises(QueryError) as caught:
        world.update("INSERT DATA { ex:a ex:n 1 } ;\nDELETE WHERE {\n  ?s ex:p no }")
    assert (caught.value.line, caught.value.column) in {(3, 11), (3, 13), (3, 14)}


@pytest.mark.parametrize(
    ("request_", "told"),
    [
        ("INSERT", "line 1, column 7: unexpected end of the update"),
        ("WITH <urn:g>", "line 1, column 13: unexpected end of the update"),
        ("INSERT DATA { ex:a ex:n 1 } ;\nDELETE ; CLEAR ALL", "line 2, column 7: unexpected end of the update"),
        ("INSERT { ?s ?p ?o }", "line 1, column 20: after INSERT { … } comes WHERE { … }"),
        (
            "CLEAR ALL; INSERT DATA { ?s ?p ?o } ; CLEAR ALL",
            "line 1, column 32: INSERT DATA has no variables: write INSERT { … } WHERE { … }",
        ),
        (
            "DELETE DATA { ex:a ex:p ?x }",
            "line 1, column 25: DELETE DATA has no variables and no blank nodes: write DELETE { … } WHERE { … }",
        ),
        (
            "DELETE DATA { _:a ex:p 1 }",
            "line 1, column 15: DELETE DATA has no variables and no blank nodes: write DELETE { … } WHERE { … }",
        ),
        (
            "INSERT { ?s ?p ?o } WHERE { ?s ?p ?o BIND(1 AS ?o) } ; CLEAR ALL",
            "line 1, column 53: the update is complete, but breaks a rule of SPARQL, or has a word too many before its "
            "last bracket",
        ),
        (
            "INSERT DATA { <x> ex:p 1 }",
            "line 1, column 15: <x> is relative: write the whole IRI, or BASE <http://…/> before the query",
        ),
    ],
)
def test_what_is_wrong_with_an_update(world: World, request_: str, told: str) -> None:
    with pytest.raises(QueryError) as caught:
        world.update(request_)
    assert str(caught.value) == told


def test_empty_graphs_exist_until_they_are_dropped(world: World) -> None:
    assert world.update("CREATE GRAPH ex:g").added == 1
    assert values(world, "SELECT ?g { GRAPH ?g { } }") == [(EX + "g",)]
    world.update("INSERT DATA { GRAPH ex:g { ex:a ex:n 1 } GRAPH ex:h { ex:a ex:n 1 } }")
    world.update("CLEAR ALL")
    assert values(world, "SELECT ?g { GRAPH ?g { } }") == [(EX + "g",)]
    assert len(world) == 0
    assert world.check().ok
    world.undo(world.history()[0].revision)
    assert len(world) == 2
    world.update("DROP GRAPH ex:g")
    assert values(world, "SELECT ?g { GRAPH ?g { } }") == [(EX + "h",)]
    with pytest.raises(QueryError):
        world.update("DROP GRAPH ex:g")
    assert world.update("DROP SILENT GRAPH ex:g").revision is None


def test_an_empty_graph_outlives_the_process(tmp_path: Path) -> None:
    with worlds.open(tmp_path / "kb.db", embedder=None) as world:
        world.update(f"CREATE GRAPH <{EX}g>")
    with worlds.open(tmp_path / "kb.db", embedder=None) as world:
        assert values(world, "SELECT ?g { GRAPH ?g { } }") == [(EX + "g",)]
        assert world.stats().quads == 0


def test_it_sees_and_joins_an_open_transaction(world: World) -> None:
    with world.transaction(message="both"):
        world.add([("ex:a", "ex:n", 1)])
        change = world.update("INSERT { ?s ex:twice ?m } WHERE { ?s ex:n ?n BIND(?n * 2 AS ?m) }")
        assert change.added == 1
        assert values(world, "SELECT ?m { ex:a ex:twice ?m }") == [("2",)]
    assert [(entry.added, entry.message) for entry in world.history()] == [(2, "both")]


def test_bindings_are_terms_not_text(world: World) -> None:
    injection = 'x" } ; DROP ALL ; INSERT DATA { ex:b ex:n "y'
    world.update("INSERT { ex:a ex:note ?text } WHERE { }", bindings={"text": worlds_literal(injection)})
    assert values(world, "SELECT ?o { ex:a ex:note ?o }") == [(injection,)]
    assert world.update("DELETE WHERE { ?s ex:note ?o }", bindings={"s": "ex:nobody"}).removed == 0
    assert world.update("DELETE WHERE { ?s ex:note ?o }", bindings={"s": "ex:a"}).removed == 1


def worlds_literal(text: str) -> Any:
    import rdflib

    return rdflib.Literal(text)


def test_search_works_in_its_pattern(world: World) -> None:
    world.update('INSERT DATA { ex:a ex:note "the red kite" . ex:b ex:note "a river" }')
    world.update(
        'INSERT { ?s ex:found true } WHERE { SERVICE w:search { ?hit w:query "kite" ; w:mode "text" ; w:subject ?s } }'
    )
    assert values(world, "SELECT ?s { ?s ex:found true }") == [(EX + "a",)]


def test_lexical_forms_are_kept(world: World) -> None:
    world.update('INSERT DATA { ex:a ex:n 007 ; ex:m 1.50 , "5"^^xsd:int }')
    world.update("DELETE { ?s ex:m ?o } INSERT { ?s ex:k ?o } WHERE { ?s ex:m ?o }")
    found = sorted(quad[2].n3() for quad in world.quads())
    xsd = "http://www.w3.org/2001/XMLSchema#"
    assert found == [f'"007"^^<{xsd}integer>', f'"1.50"^^<{xsd}decimal>', f'"5"^^<{xsd}int>']
    assert world.update("INSERT DATA { ex:a ex:n 7 }").revision is None  # to SPARQL, it is there
    assert world.update("DELETE DATA { ex:a ex:n 7 }").removed == 1


def test_load_reaches_nothing_unless_allowed(world: World, tmp_path: Path) -> None:
    file = tmp_path / "more.ttl"
    file.write_text(f'<{EX}a> <{EX}note> "red kite" .')
    with pytest.raises(QueryError, match="not allowed"):
        world.update(f"LOAD <{file.as_uri()}>")
    assert world.update(f"LOAD SILENT <{file.as_uri()}>").revision is None
    assert world.update(f"LOAD <{file.as_uri()}> INTO GRAPH ex:g", allow_files=True).added == 1
    assert values(world, "SELECT ?g { GRAPH ?g { ?s ?p ?o } }") == [(EX + "g",)]
    with pytest.raises(worlds.WorldsError, match="not allowed"):
        world.update("LOAD <http://127.0.0.1:9/x.ttl>")


def test_load_from_an_allowed_host(world: World) -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/turtle")
            self.end_headers()
            self.wfile.write(f'<{EX}a> <{EX}note> "from afar" .'.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        iri = f"http://127.0.0.1:{server.server_port}/x.ttl"
        assert world.update(f"LOAD <{iri}>", allow_network=["127.0.0.1"]).added == 1
    finally:
        server.shutdown()
        server.server_close()


def test_a_time_limit_stops_its_pattern_and_changes_nothing(world: World) -> None:
    world.load("\n".join(f"<{EX}{n}> <{EX}n> {n} ." for n in range(300)).encode(), format="turtle")
    with pytest.raises(QueryTimeout):
        world.update(
            "DELETE { ?a ex:n ?x } WHERE { ?a ex:n ?x . ?b ex:n ?y . ?c ex:n ?z FILTER(?x + ?y + ?z > 10000) }",
            timeout=0.3,
        )
    assert len(world) == 300


def test_undo_takes_an_update_back(world: World) -> None:
    world.update('INSERT DATA { ex:a ex:note "red kite" }')
    world.update('DELETE { ?s ex:note ?o } INSERT { ?s ex:note "blue heron" } WHERE { ?s ex:note ?o }')
    world.undo(2)
    assert [hit.text for hit in world.search("kite heron")] == ["red kite"]
    with pytest.raises(ConflictError):
        world.undo(2)


def test_a_read_only_world_refuses(tmp_path: Path) -> None:
    worlds.open(tmp_path / "kb.db", embedder=None).close()
    with worlds.open(tmp_path / "kb.db", embedder=None, read_only=True) as world, pytest.raises(worlds.ReadOnlyError):
        world.update(f"INSERT DATA {{ <{EX}a> <{EX}n> 1 }}")


@pytest.mark.parametrize("text", ["", "SELECT * { ?s ?p ?o }", "INSERT DATA { ?s ?p 1 }", "garbage", "\0", "{" * 300])
def test_what_is_no_update_is_a_query_error_or_nothing(world: World, text: str) -> None:
    if not text:
        assert world.update(text).revision is None
        return
    with pytest.raises(QueryError):
        world.update(text)


def test_a_blank_node_by_a_label_is_refused_and_one_without_is_made_for_each_solution(world: World) -> None:
    before = len(world)
    with pytest.raises(worlds.QueryError, match="write BNODE"):
        world.update('INSERT { ?b ex:v 1 } WHERE { BIND(BNODE("x") AS ?b) }')
    assert len(world) == before
    assert world.update("INSERT { ?b ex:v 1 } WHERE { VALUES ?x { 1 2 } BIND(BNODE() AS ?b) }").added == 2
