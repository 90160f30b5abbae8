"""What search and the other reading tools answer."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import rdflib

import worlds
from tests.support import seams
from tests.support.embedder import HashingEmbedder
from tests.support.mcp_clients import Agent, Connect, ask, inside, text_of
from worlds.core.search.options import gathered
from worlds.doors.mcp.rendering import tokens


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine, what explains an empty answer may take longer than an agent would wait."""
    seams.wait_for_hints(monkeypatch, 60.0)


# --- search -----------------------------------------------------------------------------------------------------------


def test_search_cites(reading: Connect) -> None:
    async def scenario(agent: Agent) -> None:
        found = await agent.data("search", query="aerogel", languages="en", limit=1)
        (one,) = found["citations"]
        assert (one["n"], one["subject"], one["label"], one["types"]) == (
            1,
            "ex:Stardust",
            "Stardust",
            ["s:SampleReturn"],
        )
        assert one["text"].startswith("Blocks of **aerogel**,")
        assert one["quad"].startswith('ex:Stardust s:description "Blocks of aerogel')
        assert one["quad"].endswith('…"@en')
        text = await agent.text("search", query="aerogel", languages="en", limit=1)
        assert text.startswith('[1] ex:Stardust "Stardust" (s:SampleReturn) score ')
        assert one["quad"] in text

    ask(reading, scenario)


FILTERS: list[dict[str, Any]] = [
    {"types": "s:Lander"},
    {"types": ["s:Lander", "s:Rover"]},
    {"types": "s:Mission", "subclasses": True},
    {"predicates": ["s:description"]},
    {"subjects": ["ex:Curiosity", "<https://worlds.example/space/Mars>"]},
    {"graphs": "default"},
    {"languages": ["de", "en"]},
    {"where": "?subject s:launched ?d . FILTER(?d > '2000-01-01'^^xsd:date)"},
    {"exclude": {"types": ["s:Lander"], "languages": "de"}},
    {"group_by": "subject", "per_subject": 2},
    {"mode": "text"},
    {"mode": "hybrid"},
    {"boost": {"where": "?subject a s:Rover", "factor": 3}},
    {"boost": [{"predicate": "s:massKg", "weight": 0.1}]},
    {"decay": {"predicate": "s:launched", "half_life": 3650}},
    {"diversity": 0.5},
]


@pytest.mark.parametrize("options", FILTERS, ids=lambda options: "-".join(options))
def test_search_finds_what_the_verb_finds(space: worlds.World, reading: Connect, options: dict[str, Any]) -> None:
    async def scenario(agent: Agent) -> None:
        found = await agent.data("search", query="water on Mars", limit=5, **options)
        hits = space.search("water on Mars", limit=5, **gathered(options))
        assert len(hits) >= 2
        assert [one["score"] for one in found["citations"]] == [round(hit.score, 4) for hit in hits]
        assert [one["text"] for one in found["citations"]] == [hit.snippet for hit in hits]
        assert found["cut"] == 0
        assert found["cursor"] == (hits.cursor and f"5.{hits.cursor}")
        assert all(one["similarity"] is None for one in found["citations"]), "there are no vectors"

    ask(reading, scenario)


def test_search_by_meaning() -> None:
    with worlds.open(embedder=HashingEmbedder()) as world:
        world.load("examples/space.ttl")

        async def scenario(agent: Agent) -> None:
            found = await agent.data("search", query="water on Mars", mode="vector", min_similarity=0.3, limit=3)
            hits = world.search("water on Mars", mode="vector", ranking=worlds.Ranking(min_similarity=0.3), limit=3)
            assert [one["text"] for one in found["citations"]] == [hit.snippet for hit in hits]
            assert found["notes"] == []
            told = world.search(
                "water on Mars", mode="vector", ranking=worlds.Ranking(min_similarity=0.3), limit=3, explain=True
            )
            cosines = [round((hit.explain or {})["vector"].value, 4) for hit in told]
            assert [one["similarity"] for one in found["citations"]] == cosines
            near = await agent.data("similar", iri="ex:Curiosity", types="s:Rover", limit=2)
            assert [one["types"] for one in near["citations"]] == [["s:Rover"], ["s:Rover"]]

        ask(inside(world), scenario)


def test_a_query_without_its_words_is_told() -> None:
    with worlds.open(embedder=HashingEmbedder()) as world:
        world.load("examples/space.ttl")

        async def scenario(agent: Agent) -> None:
            found = await agent.data("search", query="qqqq zzzz", limit=3)
            best = max(one["similarity"] for one in found["citations"])
            assert found["notes"] == [
                "None of these texts has a word of the query: they are only the nearest by meaning, and may have "
                f"nothing to do with it. The highest cosine is {best:.2f}; `min_similarity` sets the least."
            ]
            assert found["notes"][0] in await agent.text("search", query="qqqq zzzz", limit=3)
            for options in ({"query": "water zzzz"}, {"query": "qqqq zzzz", "mode": "vector"}):
                assert (await agent.data("search", limit=3, **options))["notes"] == []

        ask(inside(world), scenario)


@pytest.mark.parametrize(("tool", "asked"), [("search", {"query": "water"}), ("similar", {"iri": "ex:Curiosity"})])
def test_numbers_go_on_from_page_to_page(reading: Connect, tool: str, asked: dict[str, Any]) -> None:
    async def scenario(agent: Agent) -> None:
        numbers: list[int] = []
        cursor = None
        for limit in (2, 3, 1):
            found = await agent.data(tool, **asked, limit=limit, cursor=cursor)
            numbers += [one["n"] for one in found["citations"]]
            cursor = found["cursor"]
        assert numbers == [1, 2, 3, 4, 5, 6]
        assert "[7] " in await agent.text(tool, **asked, limit=1, cursor=cursor)
        assert cursor is not None
        for wrong in (cursor.partition(".")[2], "2.", "2.nonsense", f"-{cursor}", f"two{cursor[1:]}"):
            assert "cursor is not the cursor of a search" in await agent.error(tool, **asked, limit=1, cursor=wrong)

    ask(reading, scenario)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"types": ["s:Rover", "s:Landr"]}, "s:Landr is no class with instances of this world. Did you mean s:Lander?"),
        ({"predicates": ["s:description", "s:descripton"]}, "s:descripton is no predicate of this world. Did you mean "
         "s:description?"),
        ({"where": "?subject a ?t OPTIONAL { ?subject s:massKgg ?m }"},
         "s:massKgg does not occur in this world: did you mean s:massKg?"),
        ({"exclude": {"types": "s:Landr"}}, "exclude: s:Landr is no class with instances of this world. Did you mean "
         "s:Lander?"),
        ({"boost": {"predicate": "s:massKgg", "weight": 1}}, "boost: s:massKgg is no predicate of this world. Did you "
         "mean s:massKg?"),
        ({"boost": [{"where": "?subject a s:Rovr", "factor": 2}]},
         "boost: s:Rovr does not occur in this world: did you mean s:Rover?"),
        ({"decay": {"predicate": "s:launchd", "half_life": 9}},
         "decay: s:launchd is no predicate of this world. Did you mean s:launched or s:launchSite?"),
        ({"decay": {"predicate": "s:launched", "half_life": 9, "evergreen_types": ["s:Landr"]}},
         "decay: s:Landr is no class with instances of this world. Did you mean s:Lander?"),
    ],
)  # fmt: skip
def test_a_name_that_is_unknown_is_told_beside_results(reading: Connect, options: dict[str, Any], told: str) -> None:
    async def scenario(agent: Agent) -> None:
        found = await agent.data("search", query="water", **options)
        assert found["citations"]
        assert found["notes"][:-1] == [told], "the last note says that the search was by keywords only"

    ask(reading, scenario)


def test_names_that_are_known_since_are_not_told(world: worlds.World) -> None:
    world.bind("ex", "http://e/")
    world.add([("ex:a", "rdfs:label", '"water"'), ("ex:a", "rdf:type", "ex:Lake")])

    async def scenario(agent: Agent) -> None:
        asked = {"query": "water", "types": ["ex:Lake", "ex:Lak"]}
        assert len((await agent.data("search", **asked))["notes"]) == 1
        world.add([("ex:a", "rdf:type", "ex:Lak")])
        assert (await agent.data("search", **asked))["notes"] == []

    ask(inside(world), scenario)


def test_full_text_gives_the_passage(space: worlds.World, reading: Connect) -> None:
    async def scenario(agent: Agent) -> None:
        found = await agent.data("search", query="aerogel", limit=1, full_text=True)
        assert found["citations"][0]["text"] == space.search("aerogel", limit=1)[0].text

    ask(reading, scenario)


@pytest.mark.parametrize("budget", [600, 1000, 3000])
def test_pages_within_a_budget_lose_and_repeat_nothing(space: worlds.World, reading: Connect, budget: int) -> None:
    whole = [hit.snippet for hit in space.search("water", limit=100)]
    assert 20 < len(whole) < 100

    async def scenario(agent: Agent) -> None:
        given: list[str] = []
        cursor: str | None = None
        for _ in range(len(whole)):
            answer = await agent.call("search", query="water", limit=30, token_budget=budget, cursor=cursor)
            found = answer.structured_content
            assert found is not None
            assert found["citations"]
            given += [one["text"] for one in found["citations"]]
            if len(found["citations"]) > 1:
                assert tokens(json.dumps(found["citations"], ensure_ascii=False)) <= budget * 1.1
            cursor = found["cursor"]
            if cursor is None:
                assert found["cut"] == 0
                break
        assert given == whole

    ask(reading, scenario)


def test_what_the_budget_cuts_is_told(space: worlds.World) -> None:
    async def scenario(agent: Agent) -> None:
        answer = await agent.text("search", query="water", limit=20, token_budget=300)
        shown = len(re.findall(r"^\[\d+\]", answer, re.MULTILINE))
        assert f"{20 - shown} more results were found, but left out" in answer
        assert 'cursor="' in answer
        default = await agent.text("search", query="water", limit=100)
        assert tokens(default) < 600
        assert "left out" in default
        for tool, arguments in (
            ("schema", {}),
            ("describe", {"iri": "ex:NASA", "limit": 100}),
            ("history", {"revision": 1, "limit": 200}),
            ("sparql", {"query": "SELECT * { ?s ?p ?o } LIMIT 1000", "limit": 1000}),
            ("sparql", {"query": "CONSTRUCT WHERE { ?s ?p ?o } LIMIT 1000", "limit": 1000}),
            ("resolve", {"names": ["Mars", "Apollo", "Luna", "Venera", "Moon"] * 10, "limit": 20}),
        ):
            answer = await agent.text(tool, **arguments)
            assert tokens(answer) < 600, tool
            assert re.search("not shown|left out|Cut: raise", answer), tool

    ask(inside(space, token_budget=500), scenario)


# --- the other tools --------------------------------------------------------------------------------------------------


def test_findings() -> None:
    async def scenario(agent: Agent) -> None:
        found = await agent.data("contradictions")
        assert found["counts"] == {"functional": 1}
        assert (found["findings"][0]["subjects"], found["findings"][0]["authors"]) == (["ex:a"], ["bob"])
        pairs = await agent.data("duplicates", score=0)
        assert {"ex:a", "ex:b"} == set(pairs["findings"][0]["subjects"])
        told = await agent.data("report")
        assert told["quads"] == 5
        assert {one["level"] for one in told["checks"]} <= {"error", "warning", "info"}

    with worlds.open(embedder=None) as world:
        world.bind("ex", "http://ex/")
        quads = [("ex:p", "rdf:type", "owl:FunctionalProperty"), ("ex:a", "ex:p", 1), ("ex:a", "ex:p", 2)]
        labels = [(name, "rdfs:label", rdflib.Literal("Ada Lovelace")) for name in ("ex:a", "ex:b")]
        world.add([*quads, *labels], author="bob")
        ask(inside(world), scenario)


def test_a_form_tells_an_agent_what_an_entity_takes() -> None:
    async def scenario(agent: Agent) -> None:
        found = await agent.data("form", iri="ex:a")
        assert [(one["predicate"], one["takes"], one["declared"]) for one in found["fields"]] == [
            ("ex:p", "1 to 1", True), ("ex:q", "any", False),
        ]  # fmt: skip
        assert found["fields"][0]["problems"] == ["more than one value"]
        assert found["fields"][0]["values"] == ["1", "2"]
        assert found["fields"][0]["choices"] == ["1", "2", "3"]
        cut = await agent.data("form", iri="ex:m", token_budget=100)
        assert len(cut["fields"]) < 30
        assert cut["notes"]
        nothing = await agent.data("form", types=["ex:Nothing"])
        assert nothing["notes"] == [
            "No fields are known: there is neither a shape nor another entity of these classes."
        ]
        assert "a form needs an entity, or the types of a new entity" in await agent.error("form")

    with worlds.open(embedder=None) as world:
        world.bind("ex", "http://ex/")
        world.add([("ex:a", "rdf:type", "ex:T"), ("ex:a", "ex:p", 1), ("ex:a", "ex:p", 2), ("ex:a", "ex:q", '"x"')])
        world.add([("ex:m", f"ex:r{n}", n) for n in range(30)])
        world.shapes.load(
            b"@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix ex: <http://ex/> . [] a sh:NodeShape ; "
            b"sh:targetClass ex:T ; sh:property [ sh:path ex:p ; sh:minCount 1 ; sh:maxCount 1 ; sh:in (1 2 3) ] .",
            format="turtle",
        )
        ask(inside(world), scenario)


def test_validate() -> None:
    async def scenario(agent: Agent) -> None:
        found = await agent.data("validate")
        assert (found["conforms"], found["count"]) == (False, 1)
        assert (found["results"][0]["focus"], found["results"][0]["message"]) == ("ex:a", "more than one value")
        assert (await agent.data("validate", subjects=["ex:b"]))["notes"] == ["The data conform."]

    with worlds.open(embedder=None) as world:
        world.bind("ex", "http://ex/")
        world.add([("ex:a", "ex:p", 1), ("ex:a", "ex:p", 2), ("ex:b", "ex:p", 1)])
        world.shapes.load(
            b"""@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix ex: <http://ex/> .
            ex:S sh:targetSubjectsOf ex:p ; sh:property [ sh:path ex:p ; sh:maxCount 1 ] .""",
            format="turtle",
        )
        ask(inside(world), scenario)


def test_schema(space: worlds.World, reading: Connect) -> None:
    async def scenario(agent: Agent) -> None:
        found = await agent.data("schema", limit=500, token_budget=40_000)
        schema = space.schema(limit=500)
        assert found["quads"] == schema.quads
        assert len(found["classes"]) == found["class_count"] == schema.class_count
        assert len(found["predicates"]) == found["predicate_count"] == schema.predicate_count
        assert found["languages"]["en"] == schema.languages["en"]
        launched = next(one for one in found["predicates"] if one["iri"] == "s:launched")
        assert launched["objects"] == ["xsd:date"]
        assert found["prefixes"]["s"] == "https://worlds.example/space/schema#"
        few = await agent.data("schema", matching="launch")
        assert {one["iri"] for one in few["predicates"]} == {"s:launched", "s:launchSite", "s:launchVehicle"}
        assert few["notes"] == []
        none = await agent.data("schema", matching="lnader")
        assert none["notes"] == ["Nothing has 'lnader' in its name; near it: s:Lander, s:landed."]
        away = await agent.data("schema", graphs="ex:nope")
        assert (away["quads"], away["notes"]) == (0, ["ex:nope is no graph of this world."])

    ask(reading, scenario)


def test_a_filter_is_answered_with_what_it_takes(world: worlds.World) -> None:
    world.bind("ex", "http://example.org/")
    world.add([("ex:a", "rdf:type", "ex:Suppliers"), ("ex:b", "ex:supplier", "ex:a")])

    async def scenario(agent: Agent) -> None:
        assert "Did you mean ex:Suppliers?" in await agent.error("search", query="x", types="Supplier")
        assert "Did you mean ex:supplier?" in await agent.error("search", query="x", predicates="Suppliers")
        told = await agent.text("sparql", query="PREFIX mine: <http://e.org/x/> SELECT * { BIND(mine:a AS ?x) }")
        assert told == "?x\nmine:a"

    ask(inside(world), scenario)


def test_resolve(reading: Connect) -> None:
    async def scenario(agent: Agent) -> None:
        found = await agent.data("resolve", names=["Curiosity", "Qzzx Vwwk"], limit=2)
        first, second = found["names"]
        assert (first["name"], first["outcome"]) == ("Curiosity", "match")
        assert first["candidates"][0]["iri"] == "ex:Curiosity"
        assert first["candidates"][0]["kind"] == "alias"
        assert second["outcome"] == "no match"
        one = await agent.data("resolve", names="Mars", types="s:TerrestrialPlanet")
        assert one["names"][0]["candidates"][0]["iri"] == "ex:Mars"
        other = await agent.data("resolve", names="Mars", exclude=["ex:Mars"])
        assert all(candidate["iri"] != "ex:Mars" for candidate in other["names"][0]["candidates"])
        none = await agent.data("resolve", names="Mars", types="s:TerestrialPlanet")
        assert "Did you mean s:TerrestrialPlanet" in none["notes"][0]

    ask(reading, scenario)


def test_describe(reading: Connect) -> None:
    async def scenario(agent: Agent) -> None:
        found = await agent.data("describe", iri="ex:Curiosity")
        assert (found["iri"], found["label"]) == ("ex:Curiosity", "Mars Science Laboratory")
        assert found["types"] == ['s:Rover "Rover"']
        by_predicate = {one["predicate"]: one["values"] for one in found["properties"]}
        assert by_predicate["s:landingSite"] == ['ex:GaleCrater "Gale crater"']
        assert by_predicate["s:massKg"] == ["899"]
        assert [one["predicate"] for one in found["incoming"]] == ["s:successorOf"]
        told = await agent.error("describe", iri="ex:Curiosty")
        assert told == "the world has no quads about ex:Curiosty. Did you mean ex:Curiosity (Mars Science Laboratory)?"

    ask(reading, scenario)


def test_sparql(reading: Connect) -> None:
    query = 'SELECT ?r ?m { ?r a s:Rover ; rdfs:label ?l . FILTER(?l = "Perseverance"@en) OPTIONAL { ?r s:born ?m } }'

    async def scenario(agent: Agent) -> None:
        assert await agent.text("sparql", query=query) == "?r\t?m\nex:Perseverance\t"
        found = await agent.data("sparql", query=query)
        assert (found["variables"], found["rows"], found["total"]) == (["r", "m"], [["ex:Perseverance", None]], 1)
        told = json.loads(await agent.text("sparql", query=query, format="json"))
        assert told == [{"r": "ex:Perseverance", "m": None}]
        assert await agent.text("sparql", query="ASK { ex:Mars a ?t }") == "true"
        assert (await agent.data("sparql", query="ASK { ex:Mars a ?t }"))["truth"] is True
        triples = await agent.data("sparql", query="CONSTRUCT { ?r s:mass ?m } WHERE { ex:Curiosity s:massKg ?m . "
                                   "BIND(ex:Curiosity AS ?r) }")  # fmt: skip
        assert (triples["form"], triples["rows"]) == ("construct", [["ex:Curiosity", "s:mass", "899"]])
        cut = await agent.text("sparql", query="SELECT * { ?s s:launched ?o }", limit=2)
        assert cut.endswith("139 of 141 rows are not shown: `limit` is reached. Select less, aggregate, or page: ORDER "
                            "BY … LIMIT 2 OFFSET 2.")  # fmt: skip
        assert "is an update" in await agent.error("sparql", query="# a\nPREFIX a: <b:> DELETE WHERE { ?s ?p ?o }")

    ask(reading, scenario)


def test_the_first_query_tells_how_far_the_index_is(world: worlds.World) -> None:
    world.load("examples/space.ttl", embed=False)

    async def scenario(agent: Agent) -> None:
        told: list[tuple[float, float | None, str | None]] = []

        async def note(progress: float, total: float | None, message: str | None) -> None:
            told.append((progress, total, message))

        for _ in range(2):
            answer = await agent.client.call_tool("sparql", {"query": "ASK {}"}, progress_callback=note)
            assert not answer.is_error
        assert len(told) == 1, "the index is made once"
        assert told[0][1:] == (4546, "index")

    ask(inside(world), scenario)


def test_sparql_with_a_search_inside(space: worlds.World, reading: Connect) -> None:
    async def scenario(agent: Agent) -> None:
        query = """
            SELECT ?m ?rank {
              SERVICE w:search { ?hit w:query "soil from another world" ; w:subject ?m ; w:predicate s:description ;
                                      w:language "en" ; w:rank ?rank ; w:limit 2 }
              ?m s:launched ?launched . FILTER(?launched >= "1999-01-01"^^xsd:date)
            } ORDER BY ?rank"""
        found = await agent.data("sparql", query=query)
        assert found["rows"] == [["ex:Change6", "1"], ["ex:Pragyan", "2"]]

    ask(reading, scenario)


def test_history(world: worlds.World) -> None:
    world.add([("http://e/a", "rdfs:label", '"one"@en')], author="ann", message="first")
    world.update('DELETE { ?s ?p "one"@en } INSERT { ?s ?p "two"@en } WHERE { ?s ?p "one"@en }', author="ben")

    async def scenario(agent: Agent) -> None:
        found = await agent.data("history")
        assert [(one["revision"], one["author"]) for one in found["revisions"]] == [(2, "ben"), (1, "ann")]
        assert (await agent.text("history", limit=1)).startswith("2  ")
        change = await agent.data("history", revision=2)
        assert change["added"] == ['<http://e/a> rdfs:label "two"@en']
        assert change["removed"] == ['<http://e/a> rdfs:label "one"@en']
        assert [one["revision"] for one in change["revisions"]] == [2]
        told = await agent.error("history", revision=3)
        assert told == "there is no revision 3: the last one is 2\nCall `history` to see which revisions there are."

    ask(inside(world), scenario)


@pytest.mark.parametrize("name", ["types", "predicates", "subjects", "graphs", "languages"])
def test_a_filter_without_values_lets_nothing_pass(reading: Connect, name: str) -> None:
    async def scenario(agent: Agent) -> None:
        assert "No results." in await agent.text("search", query="water", **{name: []})

    ask(reading, scenario)


def test_a_description_says_where_each_value_is_from() -> None:
    with worlds.open(embedder=None) as world:
        world.bind("ex", "http://e/")
        world.add([("ex:a", "ex:p", "ex:b"), ("ex:a", "rdfs:label", '"thing"@en'), ("ex:a", "rdfs:label", '"Ding"@de')])
        world.add([("ex:a", "ex:p", "ex:c", "ex:g"), ("ex:a", "ex:p", "ex:b", "ex:g")])

        async def scenario(agent: Agent) -> None:
            text = await agent.text("describe", iri="ex:a", language="de")
            assert 'ex:a "Ding"' in text
            assert "ex:p: ex:b [r1, r2 ex:g] ; ex:c [r2 ex:g]" in text
            assert 'rdfs:label: "Ding"@de ; "thing"@en [r1]' in text or '"thing"@en ; "Ding"@de [r1]' in text
            told = await agent.data("describe", iri="ex:a")
            (found,) = [one for one in told["properties"] if one["predicate"] == "ex:p"]
            assert found["sources"] == ["r1, r2 ex:g", "r2 ex:g"]

        ask(inside(world), scenario)


def test_a_proof_names_rules_premises_and_authors() -> None:
    with worlds.open(embedder=None) as world:
        world.bind("ex", "http://e/")
        world.add([("ex:A", "rdfs:subClassOf", "ex:B"), ("ex:a", "rdf:type", "ex:A")], author="ann")
        world.rules.use("rdfs")

        async def scenario(agent: Agent) -> None:
            asked = {"subject": "ex:a", "predicate": "rdf:type", "object": "ex:B", "why": True}
            told = await agent.data("provenance", **asked)
            assert told["proof"][0] == "1. ex:a rdf:type ex:B  by rdfs9 from 2, 3"
            assert all(line.endswith("written in revision 1 by ann") for line in told["proof"][1:])
            assert "neither written nor" in await agent.error("provenance", **{**asked, "object": "ex:C"})
            assert "give its subject" in await agent.error("provenance", subject="ex:a", why=True)

        ask(inside(world), scenario)


LONG = "about a rover that found water and clay in a crater on Mars, " * 40
CALLS: dict[str, dict[str, Any]] = {
    "schema": {"limit": 1000},
    "describe": {"iri": "ex:hub", "limit": 1000},
    "form": {"iri": "ex:hub"},
    "history": {"limit": 200},
    "provenance": {"predicate": "ex:near"},
    "validate": {},
    "search": {"query": "rover", "limit": 100, "full_text": True, "facets": True, "sql": True},
    "context": {"question": "What is near the Hub?"},
    "brief": {"question": "Which things are near the Hub?"},
    "similar": {"iri": "ex:n1", "limit": 100, "mode": "text"},
    "resolve": {"names": ["Rover 1", "Hub"] * 20, "limit": 20},
    "mentions": {"text": "Hub and Rover 12 and " * 200},
    "verify": {"subject": "ex:hub", "predicate": "ex:near", "object": "ex:none"},
    "contradictions": {"limit": 100},
    "duplicates": {"score": 0, "limit": 100},
    "report": {},
    "sparql": {"query": "SELECT * { ?s ?p ?o }", "limit": 1000},
    "propose": {"why": "x" * 900, "add": [["ex:a", "ex:b", f'"{number} {LONG}"'] for number in range(50)]},
    "propose_all": {"of": "duplicates", "limit": 100},
    "proposals": {"limit": 100},
    "amend": {"id": 1, "why": "x", "add": [["ex:a", "ex:b", '"c"']]},
    "update": {"update": "INSERT DATA { ex:a ex:b 1 }"},
    "add": {"quads": [["ex:hub", "ex:near", f"ex:m{number}"] for number in range(200)]},
    "tell": {"facts": [["Hub", "near", f"nobody {number}"] for number in range(100)], "dry_run": True},
    "undo": {"revision": 2},
    "sync": {},
    "read_graph": {},
    "search_nodes": {"query": "rover"},
    "open_nodes": {"names": [f"n{number}" for number in range(100)]},
    "create_entities": {"entities": [{"name": f"m{n}", "entityType": "t", "observations": [LONG]} for n in range(50)]},
    "create_relations": {"relations": [{"from": "n1", "to": f"n{n}", "relationType": "r"} for n in range(100)]},
    "add_observations": {"observations": [{"entityName": f"n{n}", "contents": [f"again {LONG}"]} for n in range(50)]},
    "delete_observations": {"deletions": [{"entityName": "n1", "observations": [LONG]}]},
    "delete_relations": {"relations": [{"from": "n1", "to": "n2", "relationType": "r"}]},
    "delete_entities": {"entityNames": ["n1"]},
}


@pytest.mark.parametrize("profile", ["all", "memory"])
def test_no_answer_is_larger_than_its_budget(profile: str) -> None:
    async def scenario(agent: Agent) -> None:
        tools = {tool.name: tool for tool in (await agent.client.list_tools()).tools}
        assert set(tools) <= set(CALLS)
        if profile == "memory":
            many = [{"name": f"n{n}", "entityType": "thing", "observations": [f"{n} {LONG}"]} for n in range(100)]
            await agent.call("create_entities", entities=many)
        for name in (one for one in CALLS if one in tools):
            budgets = (100, 400) if "token_budget" in tools[name].input_schema["properties"] else (None,)
            for most in budgets:
                told = await agent.call(name, **CALLS[name], **({} if most is None else {"token_budget": most}))
                text = text_of(told)
                size = tokens(text) + tokens(json.dumps(told.structured_content, ensure_ascii=False))
                assert told.is_error or size <= (most or 300), (name, most, size)
                declared = (tools[name].output_schema or {})["properties"].keys()
                given = (told.structured_content or {}).keys()
                assert told.is_error or given - {"notes"} == declared - {"notes"}, name
                if size > 0.9 * (most or 300) and not told.is_error:
                    assert re.search("not shown|left out|Cut: raise|cursor", text), name

    with worlds.open(embedder=None) as world:
        world.bind("ex", "http://ex/")
        lines = [
            f'ex:n{n} a ex:C{n % 30} ; rdfs:label "Rover {n % 60}" ; ex:p{n % 40} "{n} {LONG}" .' for n in range(120)
        ]
        lines += [f"ex:hub ex:near ex:n{n} ; ex:q{n} {n} . ex:n{n} ex:at ex:hub ." for n in range(120)]
        head = "PREFIX ex: <http://ex/> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> ex:hub rdfs:label 'Hub' ."
        world.load(f"{head} {' '.join(lines)}".encode(), format="turtle")
        for number in range(60):
            world.add([("ex:hub", "ex:near", f"ex:z{number}")], message=f"{number} {LONG}"[:900])
        ask(inside(world, allow_writes=True, tools=profile, token_budget=300), scenario, 120)
