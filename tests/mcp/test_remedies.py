"""Errors and empty answers that help an agent on; hostile and concurrent calls."""

from __future__ import annotations

import json
import os
import random
import re
import sys
from functools import partial
from typing import Any

import anyio
import pytest
from mcp import Client

import worlds
from tests.support import seams
from tests.support.mcp_clients import Agent, Connect, ask, inside, text_of
from tests.support.processes import end_within, family
from worlds.doors.mcp.server import WorldServer
from worlds.doors.mcp.toolbox import Service


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine, what explains an empty answer may take longer than an agent would wait."""
    seams.wait_for_hints(monkeypatch, 60.0)


# --- errors that help -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("sparql", {"query": "SELECT *\nWHERE { ?s foo:bar ?o }"},
         "line 2, column 19: the prefix 'foo:' is not declared, and the world does not know it: write "
         "PREFIX foo: <…> before the query\n"
         "   2 | WHERE { ?s foo:bar ?o }\n"
         "                         ^\n"
         "Did you mean foaf: <http://xmlns.com/foaf/0.1/>?\n"
         "Prefixes that this world uses: "),
        ("sparql", {"query": "SELECT * {\n  ?s ?p\n}"}, "   3 | }\n"),
        ("sparql", {"query": "SELECT * { ?s ?p 'open }"}, "   1 | SELECT * { ?s ?p 'open }"),
        ("sparql", {"query": "SELECT * { SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }"}, "Only `SERVICE w:search"),
        ("sparql", {"query": "SELECT * { SERVICE w:search { ?h w:qury 'x' } }"}, "w:qury"),
        ("sparql", {"query": "SELECT * { ?s ?p ?o . ?a ?b ?c }"}, "Add a LIMIT"),
        ("search", {"query": "x", "types": "Lander"}, "Did you mean s:Lander"),
        ("search", {"query": "x", "types": "sp:Lander"}, "s: <https://worlds.example/space/schema#>"),
        ("search", {"query": "x", "where": "?subject sp:x ?y"}, "s: <https://worlds.example/space/schema#>"),
        ("search", {"query": "x", "where": "?s ?p ?o"}, "a SPARQL group pattern over ?subject"),
        ("search", {"query": "x", "cursor": "nonsense"}, "Leave `cursor` out"),
        ("search", {"query": "x", "mode": "vector"}, 'Search by words instead: mode="text".'),
        ("search", {"query": "x", "boost": {"factor": 2}}, "boost"),
        ("search", {"query": "x", "decay": {"half": 2}}, "decay"),
        ("similar", {"iri": "Curiosity"}, "Did you mean"),
        ("describe", {"iri": "sp:Mars"}, "Prefixes that this world uses"),
        ("describe", {"iri": "Mars"}, "call `schema` to see them, or `resolve`"),
        ("resolve", {"names": []}, "names must be 1 to 50 at a time, not 0"),
        ("resolve", {"names": ["a", "b" * 1001]}, "a name has up to 1,000 characters, not 1,001"),
        ("resolve", {"names": "a", "context": "b " * 50_001}, "a context has up to 100,000 characters, not 100,002"),
        ("history", {"revision": 99}, "Call `history`"),
        ("search", {"query": "x", "type": "s:Lander"}, "has no argument 'type'. Did you mean 'types'? It takes: query"),
        ("search", {}, "`search` cannot take these arguments. query: Field required."),
        ("search", {"query": "x", "limit": 0}, "limit: Input should be greater than or equal to 1."),
        ("search", {"query": "x", "mode": "fast"}, "mode: Input should be 'hybrid', 'vector' or 'text'"),
        ("search", {"query": 5}, "query: Input should be a valid string."),
        ("search", {"query": "x", "exclude": {"type": "s:Lander"}},
         "exclude: there is no 'type' in it. It takes: subjects, predicates, types, graphs, sources, languages, "
         "where."),
        ("search", {"query": "x", "boost": 2}, 'Multiply scores: {"where", "factor"}, '),
        ("search", {"query": "x", "decay": "s:launched"}, "decay: Input should be a valid dictionary. It takes: "),
        ("sparql", {"query": "ASK {}", "timeout": 1000}, "timeout: Input should be less than or equal to 120."),
        ("serch", {"query": "x"}, "there is no tool 'serch'. Did you mean search?"),
    ],
)  # fmt: skip
def test_an_error_says_what_to_do(reading: Connect, tool: str, arguments: dict[str, Any], told: str) -> None:
    async def scenario(agent: Agent) -> None:
        assert told in await agent.error(tool, **arguments)

    ask(reading, scenario)


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("sparql", {"query": "SELECT * { ?s s:launchd ?o }"},
         ["s:launchd does not occur in this world: did you mean s:launched or s:launchSite?",
          "Line 1: { ?s s:launchd ?o . } matches nothing."]),
        ("sparql", {"query": "PREFIX x: <https://worlds.example/space/schema#>\nSELECT * {\n ?s a x:Landr }"},
         ["s:Landr does not occur in this world: did you mean s:Lander or s:landed?",
          "Line 3: { ?s a x:Landr . } matches nothing."]),
        ("sparql", {"query": "SELECT * { ?s a s:Rover . ?s s:born ?d }"},
         ["Each pattern alone matches, but they do not join, or a FILTER leaves nothing: { ?s a s:Rover . } 11; "
          "{ ?s s:born ?d . } 57"]),
        ("sparql", {"query": "SELECT (COUNT(*) AS ?n) { ?x a s:Rovr }"},
         ["s:Rovr does not occur in this world: did you mean s:Rover?",
          "Line 1: { ?x a s:Rovr . } matches nothing."]),
        ("sparql", {"query": "SELECT (AVG(?m) AS ?n) (MAX(?m) AS ?o) { ?x a s:Rover ; s:massKgg ?m }"},
         ["s:massKgg does not occur in this world: did you mean s:massKg?",
          "Line 1: { ?x s:massKgg ?m . } matches nothing."]),
        ("sparql", {"query": "SELECT * { ?x a s:Rover OPTIONAL { ?x s:massKgg ?m } }"},
         ["s:massKgg does not occur in this world: did you mean s:massKg?"]),
        ("sparql", {"query": "SELECT ?x (COUNT(?m) AS ?n) { ?x a s:Rover OPTIONAL { ?x s:massKgg ?m } } GROUP BY ?x"},
         ["s:massKgg does not occur in this world: did you mean s:massKg?"]),
        ("sparql", {"query": 'SELECT * { ?x rdfs:label "Mars" }'},
         ['Line 1: { ?x rdfs:label "Mars" . } matches nothing.',
          '"Mars" is written "Mars"@de or "Mars"@en there.']),
        ("sparql", {"query": "PREFIX x: <https://worlds.example/space/schema#>\nSELECT * {?x x:launched '1997-10-15'}"},
         ["Line 2: { ?x x:launched '1997-10-15' . } matches nothing.",
          "'1997-10-15' is written \"1997-10-15\"^^xsd:date there."]),
        ("sparql", {"query": "SELECT * { ?x s:massKg 899.0 }"},
         ["Line 1: { ?x s:massKg 899.0 . } matches nothing.", "899.0 is written 899 there."]),
        ("sparql", {"query": 'SELECT * { ?x s:born ?d FILTER(?d = "1930-08-05") }'},
         ["The FILTER leaves nothing of { ?x s:born ?d . } 57.",
          '"1930-08-05" is written "1930-08-05"^^xsd:date in the data.']),
        ("sparql", {"query": 'SELECT (COUNT(*) AS ?n) { ?x a s:Rover ; s:born ?d FILTER(?d > 5) }'},
         ["Each pattern alone matches, but they do not join, or a FILTER leaves nothing: { ?x a s:Rover . } 11; "
          "{ ?x s:born ?d . } 57",
          "The values of ?d are dates, no numbers: YEAR(?d) is the year of one."]),
        ("sparql", {"query": "SELECT * { ?x <http://e/\\u0041> ?y }"},
         ["Line 1: { ?x <http://e/\\u0041> ?y . } matches nothing."]),
        ("sparql", {"query": "SELECT * { GRAPH ?g { ?x a s:Rover } }"},
         ["All 4,546 quads are in the default graph, which GRAPH does not read: leave GRAPH out."]),
        ("sparql", {"query": "SELECT * { ?x a s:Mission }"},
         ["Line 1: { ?x a s:Mission . } matches nothing.",
          "s:Mission has no instances of its own, but its subclasses have (s:Orbiter, s:CrewedMission, s:Lander, …): "
          "`search` takes subclasses=true, SPARQL is ?x a/rdfs:subClassOf* s:Mission."]),
        ("search", {"query": "water", "types": "s:Mission"},
         ["s:Mission has no instances of its own, but its subclasses have (s:Orbiter, s:CrewedMission, s:Lander, …): "
          "`search` takes subclasses=true, SPARQL is ?x a/rdfs:subClassOf* s:Mission."]),
        ("search", {"query": "qqqq", "types": "s:Mission", "subclasses": True},
         ["Nothing matches these words: use others, fewer, or prefix*; `schema` shows the classes and predicates."]),
        ("sparql", {"query": "ASK { ?s a s:Landr }"},
         ["s:Landr does not occur in this world: did you mean s:Lander or s:landed?"]),
        ("search", {"query": "water", "types": ["s:Landr"]},
         ["s:Landr is no class with instances of this world. Did you mean s:Lander?"]),
        ("search", {"query": "water", "predicates": "s:descripton"},
         ["s:descripton is no predicate of this world. Did you mean s:description?"]),
        ("search", {"query": "water", "subjects": "ex:Nobody"}, ["ex:Nobody is no entity of this world."]),
        ("search", {"query": "water", "graphs": "ex:g"}, ["ex:g is no graph of this world."]),
        ("search", {"query": "water", "where": "?subject s:launchd ?x"},
         ["s:launchd does not occur in this world: did you mean s:launched or s:launchSite?"]),
        ("search", {"query": "water", "languages": "xx"},
         ["No text passes the filters: leave one out.",
          "The languages of this world's texts: ar, de, en, fr, hi, it, ja, kk, pl, ru, zh."]),
        ("search", {"query": "qqqq"},
         ["Nothing matches these words: use others, fewer, or prefix*; `schema` shows the classes and predicates."]),
        ("similar", {"iri": "ex:Nobody"}, ["ex:Nobody is not an entity of this world."]),
    ],
)  # fmt: skip
def test_an_empty_answer_says_why(reading: Connect, tool: str, arguments: dict[str, Any], told: list[str]) -> None:
    async def scenario(agent: Agent) -> None:
        assert (await agent.data(tool, **arguments))["notes"][: len(told)] == told
        text = await agent.text(tool, **arguments)
        assert all(line in text for line in told)

    ask(reading, scenario)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT (0 AS ?n) {}",
        "SELECT * {}",
        "SELECT (COUNT(*) AS ?n) { ex:Mars a ?t }",
        "SELECT (SUM(0) AS ?n) { ?x a s:Rover ; rdfs:label ?l FILTER(?l != 'x') }",
        "SELECT ?n { ?x a s:Rover ; rdfs:label ?l FILTER(?l != 'x') BIND(0 AS ?n) } LIMIT 1",
        "SELECT ?x { ?x a s:Rover FILTER(?x != ex:Mars) } ORDER BY ?x LIMIT 10 OFFSET 20",
    ],
)
def test_what_is_no_mistake_is_not_explained(reading: Connect, query: str) -> None:
    async def scenario(agent: Agent) -> None:
        assert (await agent.data("sparql", query=query))["notes"] == []

    ask(reading, scenario)


def test_an_empty_answer_tells_of_named_graphs(world: worlds.World) -> None:
    world.add([("http://e/a", "rdfs:label", '"A"', "http://e/g")], embed=False)

    async def scenario(agent: Agent) -> None:
        notes = (await agent.data("sparql", query="SELECT * { ?s rdfs:label ?o }"))["notes"]
        assert notes[0] == ("The only quad is in a named graph, none in the default graph, which alone a query reads: "
                            "give union=true (--union), or write GRAPH ?g { … }.")  # fmt: skip
        found = await agent.data("sparql", query="SELECT * { ?s rdfs:label ?o }", union=True)
        assert found["rows"] == [["<http://e/a>", '"A"']]

    ask(inside(world), scenario)


def test_names_are_known_again_after_a_write(world: worlds.World) -> None:
    async def scenario(agent: Agent) -> None:
        query = "SELECT * { ?s <http://e/colour> ?o }"
        assert "<http://e/colour> does not occur in this world." in await agent.text("sparql", query=query)
        world.add([("http://e/a", "http://e/color", 1)])
        assert "did you mean <http://e/color>?" in await agent.text("sparql", query=query)

    ask(inside(world), scenario)


def test_a_mistake_of_the_server_is_no_traceback(space: worlds.World, caplog: pytest.LogCaptureFixture) -> None:
    server = WorldServer(Service(space))

    def broken() -> str:
        raise ZeroDivisionError("secret")

    server.add_tool(broken)

    async def scenario(agent: Agent) -> None:
        told = await agent.error("broken")
        assert told == "`broken` failed by a fault of the server, not of the call; see the server's log"
        assert "true" in await agent.text("sparql", query="ASK {}")

    ask(lambda: Client(server), scenario)
    assert "ZeroDivisionError: secret" in caplog.text


HOSTILE = [
    "",
    "\0",
    "SELECT",
    "SELECT * WHERE { ?s ?p '\u202e' }" + "{" * 5000,
    "(" * 100_000,
    "SELECT * { ?s ?p ?o FILTER(" + "!" * 5000 + "true) }",
    "SELECT * { ?s " + "/".join(["rdf:type"] * 20_000) + " ?o }",
    "DESCRIBE <nope nope>",
    "SELECT * FROM <file:///etc/passwd> { ?s ?p ?o }",
    "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }",
    "SELECT (GROUP_CONCAT(?x) AS ?all) { ?a ?b ?x . ?d ?e ?f . ?g ?h ?i }",
    'SELECT * { ?s ?p ?o FILTER(REGEX("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!", "^(a+)+$")) }',
]


# --- hostile and concurrent calls -------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", HOSTILE, ids=[str(number) for number in range(len(HOSTILE))])
def test_hostile_queries(reading: Connect, query: str) -> None:
    async def scenario(agent: Agent) -> None:
        with anyio.fail_after(20):
            answer = await agent.call("sparql", query=query, timeout=1)
            told = json.dumps(answer.model_dump(mode="json"))
            assert "Traceback" not in told
            assert "root:" not in told
            assert "a fault of the server" not in told
            await agent.call("search", query=query[:5000])
            await agent.call("search", query="x", where=query[:5000] + "?subject")
            await agent.call("resolve", names=query[:5000])
            assert "true" in await agent.text("sparql", query="ASK {}")

    ask(reading, scenario)


def test_a_query_is_stopped_at_its_time_limit(reading: Connect) -> None:
    async def scenario(agent: Agent) -> None:
        told = await agent.error("sparql", query="SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f }", timeout=0.3)
        assert told.startswith("the query was stopped at its time limit\nNarrow it: add a LIMIT")

    ask(reading, scenario)


def test_errors_speak_of_tools_alone() -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("search", {"query": "x", "types": "Nothing"}),
        ("describe", {"iri": "Metropolis"}),
        ("sparql", {"query": "SELECT * { foo:x ?p ?o }"}),
        ("update", {"update": "SELECT * {}"}),
        ("sparql", {"query": "DROP ALL"}),
        ("add", {"quads": [["a", "b", "c d"]]}),
        ("add", {"quads": [["rdf:x", "rdfs:label", "some text"]]}),
        ("propose", {"why": "x", "merge": ["Foo", "Bar"]}),
        ("amend", {"id": 9, "why": "x"}),
        ("history", {"since": "yesterday"}),
        ("verify", {"subject": "foo:x", "predicate": "foo:y", "object": "foo:z"}),
    ]

    async def scenario(agent: Agent) -> None:
        for tool, arguments in calls:
            told = text_of(await agent.call(tool, **arguments))
            assert not re.search(r"`worlds |World\.|rdflib", told), told

    with worlds.open(embedder=None) as world:
        world.add([("urn:a", "rdfs:label", '"Metropolis"')])
        ask(inside(world, allow_writes=True), scenario)


def test_a_cancelled_query_does_not_hold_up_others(reading: Connect) -> None:
    async def scenario(agent: Agent) -> None:
        with anyio.move_on_after(0.7) as scope:
            await agent.call("sparql", query="SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }", timeout=60)
        assert scope.cancelled_caught
        with anyio.fail_after(10):
            assert "true" in await agent.text("sparql", query="ASK {}")
            assert "[1]" in await agent.text("search", query="water", limit=1)

    ask(reading, scenario)


@pytest.mark.parametrize("option", ["where", "boost"])
def test_a_cancelled_search_does_not_hold_up_others(reading: Connect, option: str) -> None:
    pattern = "?subject ?p ?o . ?a ?b ?c . ?d ?e ?f . ?g ?h ?i FILTER(CONCAT(STR(?a), STR(?d), STR(?g)) = 'zzz')"
    arguments: dict[str, Any] = {option: pattern if option == "where" else {"where": pattern, "factor": 2}}

    async def scenario(agent: Agent) -> None:
        with anyio.move_on_after(1.5) as scope:
            await agent.call("search", query="water", **arguments)
        assert scope.cancelled_caught
        with anyio.fail_after(10):
            assert "true" in await agent.text("sparql", query="ASK {}")
            assert "[1]" in await agent.text("search", query="water", limit=1, where="?subject a ?type")

    ask(reading, scenario)


ENDLESS = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }"


def test_calls_do_not_wait_for_a_query(reading: Connect) -> None:
    async def scenario(agent: Agent) -> None:
        async with anyio.create_task_group() as group:
            for _ in range(2):
                group.start_soon(partial(agent.call, "sparql", query=ENDLESS, timeout=60))
            await anyio.sleep(0.5)
            with anyio.fail_after(10):
                for _ in range(5):
                    assert "[1]" in await agent.text("search", query="water", limit=1)
                    assert "true" in await agent.text("sparql", query="ASK {}")
                    assert "Curiosity" in await agent.text("describe", iri="ex:Curiosity")
            group.cancel_scope.cancel()

    ask(reading, scenario)


def test_calls_do_not_wait_for_the_pattern_of_a_search(reading: Connect) -> None:
    pattern = "?subject ?p ?o . ?a ?b ?c . ?d ?e ?f . ?g ?h ?i FILTER(CONCAT(STR(?a), STR(?d), STR(?g)) = 'zzz')"

    async def scenario(agent: Agent) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(partial(agent.call, "search", query="water", where=pattern))
            group.start_soon(partial(agent.call, "search", query="water", boost={"where": pattern, "factor": 2}))
            await anyio.sleep(1)
            with anyio.fail_after(10):
                for _ in range(5):
                    assert "[1]" in await agent.text("search", query="water", limit=1, where="?subject a ?type")
                    assert "true" in await agent.text("sparql", query="ASK {}")
            group.cancel_scope.cancel()

    ask(reading, scenario)


@pytest.mark.skipif(sys.platform != "linux", reason="processes are listed by /proc")
def test_a_query_that_is_cancelled_at_any_moment_is_over(reading: Connect, long: bool) -> None:
    moments = random.Random(9)
    before = set(family(os.getpid()))

    async def scenario(agent: Agent) -> None:
        for _ in range(1000 if long else 15):
            with anyio.move_on_after(moments.uniform(0, 0.12)):
                await agent.call("sparql", query=ENDLESS, timeout=60)
        assert "true" in await agent.text("sparql", query="ASK {}")
        assert end_within(5, set(family(os.getpid())) - before), "a query that was cancelled goes on"

    ask(reading, scenario, seconds=400)


def test_texts_that_are_no_unicode_are_answered(reading: Connect) -> None:
    async def scenario(agent: Agent) -> None:
        for tool, arguments in (
            ("search", {"query": "a \ud800 b"}),
            ("sparql", {"query": "SELECT ('\udfff' AS ?x) {}"}),
            ("describe", {"iri": "ex:\ud800"}),
            ("resolve", {"names": ["\ud800"]}),
        ):
            with anyio.fail_after(10):
                await agent.call(tool, **arguments)

    ask(reading, scenario)


def test_calls_at_once(reading: Connect) -> None:
    async def scenario(agent: Agent) -> None:
        answers: list[str] = []

        async def one(number: int) -> None:
            launched = await agent.text("sparql", query=f"SELECT ({number} AS ?n) {{ }}")
            assert launched == f"?n\n{number}"
            answers.append(await agent.text("search", query="water", limit=3))
            answers.append(await agent.text("search", query="water", limit=3, where="?subject a ?t"))

        async with anyio.create_task_group() as group:
            for number in range(20):
                group.start_soon(one, number)
        assert len(answers) == 40
        assert len(set(answers)) <= 2

    ask(reading, scenario)
