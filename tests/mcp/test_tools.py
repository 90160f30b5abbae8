"""What the tools of the MCP server answer; test_transports.py has the transports."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError
from mcp.types import TextContent, TextResourceContents

import worlds
from tests.support import seams
from tests.support.embedder import HashingEmbedder
from tests.support.mcp_clients import Agent, Connect, ask, inside
from worlds.mcp.rendering import tokens
from worlds.mcp.server import WorldServer
from worlds.mcp.toolbox import Service
from worlds.search.options import OPTIONS

READING = {
    "schema": ["limit", "matching", "graphs", "token_budget"],
    "describe": ["iri", "limit", "token_budget"],
    "history": ["limit", "revision", "token_budget"],
    "search": [
        "query", "limit", "mode", "types", "subclasses", "predicates", "subjects", "graphs", "languages", "where",
        "exclude", "fusion", "k", "weights", "min_similarity", "rerank", "boost", "decay", "diversity", "group_by",
        "per_subject", "full_text", "cursor", "token_budget",
    ],
    "resolve": ["names", "context", "types", "graphs", "limit"],
    "similar": ["iri", "limit", "types", "graphs", "where", "mode", "cursor", "token_budget"],
    "sparql": ["query", "limit", "union", "format", "timeout", "token_budget"],
}  # fmt: skip
WRITING = {"update": ["update", "message"], "add": ["quads", "message"], "undo": ["revision", "force", "message"]}


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine, what explains an empty answer may take longer than an agent would wait."""
    seams.wait_for_hints(monkeypatch, 60.0)


@pytest.fixture(scope="module")
def space() -> Iterator[worlds.World]:
    """The example, which no test changes."""
    with worlds.open(embedder=None) as world:
        world.load("examples/space.ttl")
        yield world


@pytest.fixture(scope="module")
def reading(space: worlds.World) -> Connect:
    """Connects to a server of the example."""
    return inside(space)


# --- what there is ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("writes", [False, True])
def test_the_tools_are_these(space: worlds.World, writes: bool) -> None:
    async def scenario(agent: Agent) -> None:
        tools = (await agent.client.list_tools()).tools
        found = {tool.name: list(tool.input_schema["properties"]) for tool in tools}
        assert found == {**READING, **(WRITING if writes else {})}
        for tool in tools:
            assert tool.title
            assert tool.description
            assert tool.output_schema is not None
            hints = tool.annotations
            assert hints is not None
            assert hints.open_world_hint is False
            reads = tool.name in READING
            assert hints.read_only_hint is reads
            assert hints.idempotent_hint is (reads or tool.name == "add")
            assert hints.destructive_hint is (tool.name in ("update", "undo"))
            described = [bool(one.get("description")) for one in tool.input_schema["properties"].values()]
            assert all(described), "an agent is told of each argument"

    ask(inside(space, allow_writes=writes), scenario)


def test_arguments_of_a_search_are_its_options(space: worlds.World) -> None:
    async def scenario(agent: Agent) -> None:
        (tool,) = [one for one in (await agent.client.list_tools()).tools if one.name == "search"]
        for name, told in tool.input_schema["properties"].items():
            if name != "rerank" and (option := OPTIONS.get(name)):
                assert told.get("default") in (option.default, None), name
                assert told.get("enum", [*option.choices]) == [*option.choices], name
                assert told["description"].startswith(option.help)

    ask(inside(space), scenario)


def test_resources_and_prompts(reading: Connect) -> None:
    async def scenario(agent: Agent) -> None:
        client = agent.client
        uris = [resource.uri for resource in (await client.list_resources()).resources]
        assert uris == ["world://schema", "world://prefixes", "world://guide"]
        (template,) = (await client.list_resource_templates()).resource_templates
        assert template.uri_template == "world://entity/{iri}"
        assert "s:Lander Lander (17" in await read(client, "world://schema")
        assert "@prefix ex: <https://worlds.example/space/> ." in await read(client, "world://prefixes")
        guide = await read(client, "world://guide")
        assert "SERVICE w:search" in guide
        assert "w:minSimilarity" in guide
        for name in ("ex:Curiosity", "https%3A%2F%2Fworlds.example%2Fspace%2FCuriosity"):
            assert (await read(client, f"world://entity/{name}")).startswith("ex:Curiosity Mars Science Laboratory")
        with pytest.raises(MCPError, match="says nothing of ex:Curiosty.*Did you mean ex:Curiosity"):
            await read(client, "world://entity/ex:Curiosty")
        names = [prompt.name for prompt in (await client.list_prompts()).prompts]
        assert names == ["answer_with_citations", "write_query"]
        for name in names:
            (message,) = (await client.get_prompt(name, {"question": "Who landed on Mars?"})).messages
            assert isinstance(message.content, TextContent)
            assert "Question: Who landed on Mars?" in message.content.text

    ask(reading, scenario)


async def read(client: Client, uri: str) -> str:
    (content,) = (await client.read_resource(uri)).contents
    assert isinstance(content, TextResourceContents)
    return content.text


def test_every_query_in_the_guide_runs(reading: Connect) -> None:
    async def scenario(agent: Agent) -> None:
        guide = await read(agent.client, "world://guide")
        (query,) = re.findall(r"^    SELECT.*?^    } ORDER BY[^\n]*", guide, re.MULTILINE | re.DOTALL)
        assert (await agent.data("sparql", query=query))["form"] == "select"

    ask(reading, scenario)


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
        assert text.startswith("[1] ex:Stardust Stardust (s:SampleReturn) score ")
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
        hits = space.search("water on Mars", limit=5, **options)
        assert len(hits) >= 3
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
            hits = world.search("water on Mars", mode="vector", min_similarity=0.3, limit=3)
            assert [one["text"] for one in found["citations"]] == [hit.snippet for hit in hits]
            assert found["notes"] == []
            told = world.search("water on Mars", mode="vector", min_similarity=0.3, limit=3, explain=True)
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
            assert "cursor is not one that a search gave" in await agent.error(tool, **asked, limit=1, cursor=wrong)

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
        assert found["notes"][:-1] == [told], "the last one says that only words were searched"

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


@pytest.mark.parametrize("budget", [100, 300, 1000])
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
            assert re.search("not shown|left out", answer), tool

    ask(inside(space, token_budget=500), scenario)


# --- the other tools --------------------------------------------------------------------------------------------------


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
        none = await agent.data("resolve", names="Mars", types="s:TerestrialPlanet")
        assert "Did you mean s:TerrestrialPlanet" in none["notes"][0]

    ask(reading, scenario)


def test_describe(reading: Connect) -> None:
    async def scenario(agent: Agent) -> None:
        found = await agent.data("describe", iri="ex:Curiosity")
        assert (found["iri"], found["label"]) == ("ex:Curiosity", "Mars Science Laboratory")
        assert found["types"] == ["s:Rover Rover"]
        by_predicate = {one["predicate"]: one["values"] for one in found["properties"]}
        assert by_predicate["s:landingSite"] == ["ex:GaleCrater Gale crater"]
        assert by_predicate["s:massKg"] == ["899"]
        assert [one["predicate"] for one in found["incoming"]] == ["s:successorOf"]
        told = await agent.error("describe", iri="ex:Curiosty")
        assert told == "the world says nothing of ex:Curiosty. Did you mean ex:Curiosity (Mars Science Laboratory)?"

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


# --- writes -----------------------------------------------------------------------------------------------------------


def test_writes(world: worlds.World) -> None:
    world.bind("ex", "http://e/")

    async def scenario(agent: Agent) -> None:
        quads = [
            ["ex:a", "rdfs:label", '"A"@en'],
            ["ex:a", "ex:size", 3],
            ["ex:a", "ex:weight", 1.5],
            ["ex:a", "ex:good", True, "ex:g"],
        ]
        done = await agent.data("add", quads=quads, message="new")
        assert (done["revision"], done["added"], done["removed"]) == (1, 4, 0)
        again = await agent.data("add", quads=quads)
        assert (again["revision"], again["added"]) == (None, 0)
        (row,) = (await agent.data("sparql", query="SELECT * { ex:a ex:size ?s ; ex:weight ?w }"))["rows"]
        assert row == ["3", '"1.5"^^xsd:double']
        assert "[1] ex:a A" in await agent.text("search", query="A", mode="text", languages="en")
        done = await agent.data("update", update="DELETE { ?s ex:sise ?o } WHERE { ?s ex:sise ?o }")
        told = ["ex:sise does not occur in this world: did you mean ex:size?"]
        assert (done["revision"], done["notes"]) == (None, told)
        done = await agent.data("update", update="DELETE { ?s ex:size ?o } WHERE { ?s ex:size ?o }", message="gone")
        assert (done["revision"], done["removed"]) == (2, 1)
        assert "revision" in await agent.error("undo", revision=True)  # which is 1 to Python
        done = await agent.data("undo", revision=2)
        assert (done["revision"], done["added"]) == (3, 1)
        entries = [(one.author, one.message) for one in world.history()]
        assert entries == [("mcp", "undo of revision 2"), ("mcp", "gone"), ("mcp", "new")]

    ask(inside(world, allow_writes=True), scenario)


def test_a_given_author_is_named(world: worlds.World) -> None:
    async def scenario(agent: Agent) -> None:
        await agent.call("add", quads=[["http://e/a", "rdfs:label", '"A"']])
        assert world.history()[0].author == "ann"

    ask(inside(world, allow_writes=True, author="ann"), scenario)


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("add", {"quads": []}, "quads are 1 to 5,000 at a time, not 0"),
        ("add", {"quads": [["ex:a", "rdfs:label"]]}, "quad 1 has 2 terms, not 3 or 4"),
        ("add", {"quads": [["rdfs:a", "rdfs:label", "bare words"]]}, "'bare words' is neither an IRI nor"),
        ("add", {"quads": [["rdfs:a", "nope:label", 1]]}, "Prefixes that this world uses: "),
        ("add", {"quads": [['"text"', "rdfs:label", 1]]}, "a subject is an IRI or a blank node"),
        ("update", {"update": "INSERT DATA { rdfs:a rdfs:b }"}, "1 | INSERT DATA { rdfs:a rdfs:b }"),
        ("update", {"update": "LOAD <http://127.0.0.1:9/>"}, "not allowed"),
        ("update", {"update": "LOAD <file:///etc/passwd>"}, "reading files is not allowed"),
        ("undo", {"revision": 7}, "there is no revision 7"),
        ("undo", {"revision": 1}, "Call `history` to see what was written meanwhile"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_wrong_writes_change_nothing(world: worlds.World, tool: str, arguments: dict[str, Any], told: str) -> None:
    world.add([("http://e/a", "rdfs:label", '"A"')])
    world.remove([("http://e/a", "rdfs:label", '"A"')])
    before = list(world.quads())

    async def scenario(agent: Agent) -> None:
        assert told in await agent.error(tool, **arguments)
        assert list(world.quads()) == before
        assert world.history()[0].revision == 2

    ask(inside(world, allow_writes=True), scenario)


def test_writes_are_refused_by_default(world: worlds.World) -> None:
    async def scenario(agent: Agent) -> None:
        for tool, arguments in (("update", {"update": "CLEAR ALL"}), ("add", {"quads": []}), ("undo", {"revision": 1})):
            assert "started without --allow-writes" in await agent.error(tool, **arguments)

    ask(inside(world), scenario)


# --- errors that help -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("sparql", {"query": "SELECT *\nWHERE { ?s foo:bar ?o }"},
         "line 2, column 19: the prefix 'foo:' is not declared, and the world does not know it\n"
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
        ("resolve", {"names": []}, "names are 1 to 50 at a time, not 0"),
        ("resolve", {"names": ["a", "b" * 1001]}, "a name has up to 1,000 characters, not 1,001"),
        ("resolve", {"names": "a", "context": "b " * 50_001}, "a context has up to 100,000 characters, not 100,002"),
        ("history", {"revision": 99}, "Call `history`"),
        ("search", {"query": "x", "type": "s:Lander"}, "has no argument 'type'. Did you mean 'types'? It takes: query"),
        ("search", {}, "`search` cannot take these arguments. query: Field required."),
        ("search", {"query": "x", "limit": 0}, "limit: Input should be greater than or equal to 1."),
        ("search", {"query": "x", "mode": "fast"}, "mode is one of hybrid, vector, text, not 'fast'"),
        ("search", {"query": 5}, "query: Input should be a valid string."),
        ("search", {"query": "x", "exclude": {"type": "s:Lander"}},
         "exclude: there is no 'type' in it. It takes: subjects, predicates, types, graphs, languages, where."),
        ("search", {"query": "x", "boost": 2}, 'What multiplies scores: {"where", "factor"}, '),
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
         ['The FILTER leaves nothing of { ?x s:born ?d . } 57: literals compare with their language or datatype, "a" '
          'is not "a"@en.']),
        ("sparql", {"query": 'SELECT (COUNT(*) AS ?n) { ?x a s:Rover ; s:born ?d FILTER(?d > 5) }'},
         ["Each pattern alone matches, but they do not join, or a FILTER leaves nothing: { ?x a s:Rover . } 11; "
          "{ ?x s:born ?d . } 57",
          'In a FILTER, literals compare with their language or datatype, "a" is not "a"@en.']),
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
          "The languages of this world's texts: en, de, ru, zh, ja, hi, ar, fr, it, kk, pl."]),
        ("search", {"query": "qqqq"},
         ["Nothing matches these words: use others, fewer, or prefix*; `schema` shows the classes and predicates."]),
        ("similar", {"iri": "ex:Nobody"}, ["ex:Nobody is no entity of this world."]),
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
        assert notes[0] == ("1 quads are in named graphs, 0 in the default graph, which alone a query reads: give "
                            "union=true, or write GRAPH ?g { … }.")  # fmt: skip
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
        assert told == "a mistake in the server, not in the call, stopped `broken`; its log tells more"
        assert "true" in await agent.text("sparql", query="ASK {}")

    ask(lambda: Client(server), scenario)
    assert "ZeroDivisionError: secret" in caplog.text


# --- hostile and concurrent calls -------------------------------------------------------------------------------------

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


@pytest.mark.parametrize("query", HOSTILE, ids=[str(number) for number in range(len(HOSTILE))])
def test_hostile_queries(reading: Connect, query: str) -> None:
    async def scenario(agent: Agent) -> None:
        with anyio.fail_after(20):
            answer = await agent.call("sparql", query=query, timeout=1)
            told = json.dumps(answer.model_dump(mode="json"))
            assert "Traceback" not in told
            assert "root:" not in told
            assert "a mistake in the server" not in told
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


# --- an agent ---------------------------------------------------------------------------------------------------------


async def answer_a_question(agent: Agent) -> None:
    """Which rovers on Mars landed since 2000, and what does the world tell of water there?"""
    schema = await agent.data("schema", matching="land")
    landed = next(one["iri"] for one in schema["predicates"] if one["iri"] == "s:landed")
    resolved = await agent.data("resolve", names="Mars", context="the red planet")
    mars = resolved["names"][0]["candidates"][0]["iri"]
    query = f"SELECT ?r ?d {{ ?r a s:Rover ; s:target {mars} ; {landed} ?d FILTER(?d > '2000-01-01'^^xsd:date) }}"
    rows = (await agent.data("sparql", query=query + " ORDER BY ?d"))["rows"]
    assert [row[0] for row in rows] == ["ex:Spirit", "ex:Opportunity", "ex:Curiosity", "ex:Perseverance", "ex:Zhurong"]
    found = await agent.data(
        "search", query="water", languages="en", where=f"?subject a s:Rover ; s:target {mars} ; {landed} ?d", limit=3
    )
    cited = {one["subject"]: one["quad"] for one in found["citations"]}
    assert cited.keys() <= {row[0] for row in rows} | {"ex:Sojourner"}
    assert "ex:Curiosity" in cited
    about = await agent.data("describe", iri="ex:Curiosity")
    quoted = cited["ex:Curiosity"].partition('"')[2].partition("…")[0]
    assert any(quoted in value for one in about["properties"] for value in one["values"])


def test_an_agent_answers_a_question(reading: Connect) -> None:
    ask(reading, answer_a_question)


# --- the document -----------------------------------------------------------------------------------------------------

DOCUMENT = Path("docs/mcp.md")


def test_the_document_names_every_tool_and_argument() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    for tool, arguments in {**READING, **WRITING}.items():
        section = text.partition(f"### `{tool}`\n")[2].partition("\n### ")[0]
        missing = [argument for argument in arguments if f"`{argument}`" not in section]
        assert section, tool
        assert not missing, tool


def test_the_answers_in_the_document_are_given(reading: Connect) -> None:
    calls = re.findall(r"^```json\n(\{\"tool\".*?)\n```\n+```text\n(.*?)\n```", DOCUMENT.read_text(encoding="utf-8"),
                       re.MULTILINE | re.DOTALL)  # fmt: skip
    assert len(calls) >= 8

    async def scenario(agent: Agent) -> None:
        for call, shown in calls:
            asked = json.loads(call)
            answer = await agent.call(asked["tool"], **asked["arguments"])
            (content,) = answer.content
            assert isinstance(content, TextContent)
            pattern = ".*?".join(map(re.escape, shown.split("[…]")))
            assert re.fullmatch(pattern, content.text, re.DOTALL), f"{call}\n{content.text}"

    ask(reading, scenario)
