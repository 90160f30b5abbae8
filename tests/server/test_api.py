from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

import worlds
from tests.support.embedder import HashingEmbedder
from tests.support.serving import EMBEDDER, Served, served
from worlds.core.search.options import OPTIONS
from worlds.doors.server.api.openapi import document
from worlds.doors.server.api.operations import operations
from worlds.doors.server.api.parameters import options_of
from worlds.doors.server.api.schemas import SCHEMAS
from worlds.doors.server.app import routes
from worlds.doors.server.keys import keys_of

EX = "http://example.org/"
DATA = """
@prefix ex: <http://example.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
ex:solar a ex:Report ; rdfs:label "Solar cells"@en ; rdfs:comment "Perovskite solar cells degrade in moist air."@en .
ex:wind a ex:Report ; rdfs:label "Windräder"@de ; rdfs:comment "Wind turbines and solar cells share a grid." .
ex:kite a ex:Bird ; rdfs:label "Red kite" ; rdfs:comment "The red kite is a bird of prey." ; ex:about ex:solar .
ex:notes { ex:kite rdfs:comment "Seen above a solar farm." . }
"""


def make_world(path: Path) -> Path:
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        world.load(DATA.encode(), format="trig", author="maker", message="the first")
    return path


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with one world, which answers reads to everybody."""
    path = make_world(tmp_path_factory.mktemp("single") / "kb.db")
    with served(path, "--readers", "1", embedder=EMBEDDER) as found:
        yield found


@pytest.fixture(scope="module")
def key(server: Served, tmp_path_factory: pytest.TempPathFactory) -> str:
    target = next(server.log.parent.glob("*.db"))
    return keys_of(target).add("ann", {"*": "write"})[1]


@pytest.fixture
def client(server: Served) -> Iterator[httpx.Client]:
    with server.client() as found:
        yield found


@pytest.fixture
def writer(server: Served, key: str) -> Iterator[httpx.Client]:
    with server.client(key) as found:
        yield found


def problem(response: httpx.Response, status: int) -> str:
    """What a problem document says."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    told = response.json()
    assert told["status"] == status
    assert told["request"] == response.headers["x-request-id"]
    return str(told["detail"])


# --- search -----------------------------------------------------------------------------------------------------------


def test_a_search_answers_as_the_library_does(client: httpx.Client, server: Served) -> None:
    found = client.get("/search", params={"q": "solar cells"}).json()
    with worlds.open(server.log.parent / "kb.db", embedder=HashingEmbedder(), read_only=True) as world:
        expected = world.search("solar cells").to_dict()
    for told in (found, expected):
        told["explain"] = {name: told["explain"][name] for name in ("query", "mode", "plan", "fusion", "candidates")}
    assert found == expected


def test_the_context_of_a_question(client: httpx.Client, server: Served) -> None:
    told = client.get("/context", params={"q": "solar cells", "budget": 200}).json()
    assert told["text"]
    assert told["tokens"] <= 200
    assert told["facts"][0]["number"] == 1
    problem(client.get("/context", params={"q": "a", "hops": 3}), 400)


def test_get_and_post_take_the_same_options(client: httpx.Client) -> None:
    options: dict[str, Any] = {
        "q": "solar",
        "types": ["ex:Report", "ex:Bird"],
        "limit": 2,
        "mode": "text",
        "subclasses": True,
        "exclude": {"languages": "de"},
        "weights": {"text": 2},
        "boost": [{"predicate": "ex:about", "weight": 0.5}],
        "k": 3.5,
        "group_by": "subject",
        "explain": True,
    }
    by_post = client.post("/search", json=options).json()
    as_text = {name: json.dumps(value) if isinstance(value, dict) else value for name, value in options.items()}
    as_text |= {"boost": json.dumps(options["boost"]), "subclasses": "true", "explain": "true"}
    by_get = client.get("/search", params=as_text).json()
    assert [hit["subject"] for hit in by_get["hits"]] == [hit["subject"] for hit in by_post["hits"]]
    assert len(by_get["hits"]) == 2
    assert by_get["hits"][0]["explain"] == by_post["hits"][0]["explain"] != {}
    assert "SELECT" in by_get["explain"]["sql"]


def test_filters_narrow_what_is_found(client: httpx.Client) -> None:
    def subjects(**options: object) -> set[str]:
        hits = client.get("/search", params={"q": "solar", **options}).json()["hits"]  # type: ignore[dict-item]
        return {hit["subject"].removeprefix(EX) for hit in hits}

    assert subjects(types="ex:Bird") == {"kite"}
    assert subjects(graphs="ex:notes") == {"kite"}
    assert subjects(languages="en") == {"solar"}
    assert subjects(where="?subject ex:about ex:solar") == {"kite"}
    assert subjects(predicates=["rdfs:label", "rdfs:comment"], subjects="ex:wind") == {"wind"}
    vector = json.dumps(HashingEmbedder().embed_query("red kite").tolist())
    assert subjects(vector=vector, mode="vector", limit=1) == {"kite"}


def test_a_cursor_gives_the_hits_that_follow(client: httpx.Client) -> None:
    first = client.get("/search", params={"q": "solar cells", "limit": 2}).json()
    second = client.get("/search", params={"q": "solar cells", "limit": 2, "cursor": first["cursor"]}).json()
    both = client.get("/search", params={"q": "solar cells", "limit": 4}).json()
    assert [hit["text"] for hit in (*first["hits"], *second["hits"])] == [hit["text"] for hit in both["hits"]]


def test_facets_count_what_the_hits_have(client: httpx.Client) -> None:
    facets = client.get("/search", params={"q": "solar", "facets": "true", "limit": 100, "mode": "text"}).json()[
        "facets"
    ]
    assert facets["types"] == [
        {"value": EX + "Report", "label": "ex:Report", "count": 3},
        {"value": EX + "Bird", "label": "ex:Bird", "count": 1},
    ]
    assert facets["graphs"] == [
        {"value": "default", "label": "default graph", "count": 3},
        {"value": EX + "notes", "label": "ex:notes", "count": 1},
    ]
    assert {item["value"]: item["count"] for item in facets["languages"]} == {"en": 2, "": 2}
    assert sum(item["count"] for item in facets["predicates"]) == 4
    for name in ("types", "graphs", "languages"):  # each value is what the filter takes
        for item in facets[name]:
            asked = {"q": "solar", "mode": "text", name: item["value"], "limit": 100}
            assert len(client.get("/search", params=asked).json()["hits"]) == item["count"]


def test_facets_of_the_library(world: worlds.World) -> None:
    world.load(DATA.encode(), format="trig")
    found = world.search("solar", mode="text", limit=100)
    assert sum(count for _, count in found.facets.predicates) == len(found)
    assert dict(found.facets.types) == Counter(str(kind) for hit in found for kind in hit.types)
    assert [count for _, count in found.facets.types] == sorted(dict(found.facets.types).values(), reverse=True)
    assert world.search("solar", mode="text", limit=1).facets == found.facets
    assert world.search("nothing like it", mode="text").facets.to_dict() == {
        "types": [],
        "predicates": [],
        "graphs": [],
        "languages": [],
        "sources": [],
    }


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"q": "a", "limt": "3"}, "did you mean 'limit'"),
        ({"q": "a", "xyzzy": "3"}, "there is no parameter 'xyzzy'"),
        ({"limit": "3"}, "'q' is missing"),
        ({"q": "a", "limit": "0"}, "whole number from 1 to 10,000"),
        ({"q": "a", "limit": "1e3"}, "whole number"),
        ({"q": "a", "limit": "9" * 5000}, "whole number"),
        ({"q": "a", "limit": ["1", "2"]}, "given 2 times"),
        ({"q": "a", "mode": "magic"}, "one of hybrid, vector, text"),
        ({"q": "a", "k": "nan"}, "a number"),
        ({"q": "a", "explain": "perhaps"}, "true or false"),
        ({"q": "a", "exclude": "[1]"}, "a JSON object"),
        ({"q": "a", "exclude": '{"types": {"a": 1}}'}, "types"),
        ({"q": "a", "exclude": "[" * 3000}, "a JSON object"),
        ({"q": "a", "vector": "[1, null]"}, "a list of numbers"),
        ({"q": "a", "vector": "[1, 2]"}, "32 dimensions"),
        ({"q": "a", "rerank": "/etc/passwd"}, "true or false"),
        ({"q": "a", "types": "no name"}, "types"),
        ({"q": "a", "where": "SERVICE <http://127.0.0.1/> { ?subject ?p ?o }"}, "network"),
        ({"q": "a", "cursor": "abc"}, "cursor"),
        ({"q": "a", "boost": "much"}, "boost"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_wrong_parameters_are_named(client: httpx.Client, asked: dict[str, Any], said: str) -> None:
    assert said in problem(client.get("/search", params=asked), 400)


@pytest.mark.parametrize(
    ("path", "asked", "kind"),
    [
        ("/search", {"q": "a", "cursor": "abc"}, "cursor"),
        ("/search", {"q": "a", "types": "nope:a"}, "filter"),
        ("/sparql", {"query": "SELECT * { ?s nope:a ?b }"}, "prefix"),
    ],
)
def test_a_problem_tells_programs_its_kind(client: httpx.Client, path: str, asked: dict[str, Any], kind: str) -> None:
    assert client.get(path, params=asked).json()["kind"] == kind


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"{", "not JSON"),
        (b"[]", "a JSON object"),
        (b'{"q": "\xff"}', "not UTF-8"),
        (b'{"q": NaN}', "NaN"),
        (b'{"q": "a", "limit": true}', "whole number"),
        (b'{"q": "a", "limit": 1e400}', "whole number"),
        (b'{"q": ["a"]}', "a text"),
        (b'{"q": "a", "types": [1]}', "a list of texts"),
        (b'{"q": "a", "boost": 7}', "description"),
        (b'{"q": "a", "k": ' + b"1" * 5000 + b"}", "not JSON that this server can read"),
        (b"[" * 200_000, "nested too deeply"),
        (b"{}", "'q' is missing"),
        (b'{"q": "a", "cursor": "' + b"x" * 70_000 + b'"}', "longer than 65,536"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_wrong_bodies_are_told(client: httpx.Client, body: bytes, said: str) -> None:
    response = client.post("/search", content=body, headers={"Content-Type": "application/json"})
    assert said in problem(response, 400)


def test_a_body_of_another_type_is_refused(client: httpx.Client) -> None:
    assert "application/json" in problem(client.post("/search", data={"q": "a"}), 415)
    packed = client.post("/search", content=b"x", headers={"Content-Encoding": "br"})
    assert "compressed" in problem(packed, 415)


def test_lone_surrogates_do_no_harm(client: httpx.Client) -> None:
    response = client.post("/search", content=b'{"q": "solar \\ud800"}', headers={"Content-Type": "application/json"})
    assert response.status_code == 200
    assert response.json()["hits"]
    response = client.post("/resolve", content=b'{"names": ["\\ud800"]}', headers={"Content-Type": "application/json"})
    assert response.status_code == 200
    assert response.json()[0]["name"] == "?"


# --- entities -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ex:solar", quote(EX + "solar", safe=""), EX + "solar", quote(f"<{EX}solar>")])
def test_an_entity_by_any_of_its_names(client: httpx.Client, name: str) -> None:
    found = client.get(f"/entities/{name}").json()
    assert found["iri"] == EX + "solar"
    assert found["label"] == "Solar cells"
    assert found["incoming"][0]["values"][0]["term"] == f"<{EX}kite>"


def test_entities_that_there_are_not(client: httpx.Client) -> None:
    assert "has no quads" in problem(client.get("/entities/ex:nobody"), 404)
    assert "prefix" in problem(client.get("/entities/nowhere:x"), 400)
    problem(client.get("/entities/%00"), 400)
    problem(client.get("/entities/ex:solar", params={"limit": "-1"}), 400)


def test_an_entity_that_is_not_known_is_like_none(client: httpx.Client) -> None:
    assert "ex:nobody" in problem(client.get("/similar", params={"iri": "ex:nobody"}), 404)


def test_types_have_one_name(client: httpx.Client) -> None:
    assert "types" in problem(client.get("/resolve", params={"name": "red kite", "type": "ex:Bird"}), 400)


def test_similar_and_resolve(client: httpx.Client) -> None:
    similar = client.get("/similar", params={"iri": "ex:solar", "limit": 1, "types": "ex:Report"}).json()
    assert similar["hits"][0]["subject"] == EX + "wind"
    one = client.get("/resolve", params={"name": "red kite", "types": "ex:Bird"}).json()
    assert (one["outcome"], one["candidates"][0]["iri"]) == ("match", EX + "kite")
    assert client.get("/resolve", params={"name": "red kite", "types": "ex:Report"}).json()["outcome"] != "match"
    many = client.post("/resolve", json={"names": ["Red kite", {"name": "Solar cells", "context": "moist air"}]})
    assert [found["candidates"][0]["iri"] for found in many.json()] == [EX + "kite", EX + "solar"]
    strange: tuple[Any, ...] = ("Red kite", [1], [{"nam": "x"}], [{"name": "x", "context": 1}], {})
    for names in strange:
        assert "names" in problem(client.post("/resolve", json={"names": names}), 400)
    problem(client.post("/resolve", json={"names": ["x"] * 1001}), 400)


def test_mentions_links_and_claims(client: httpx.Client) -> None:
    told = client.post("/mentions", json={"text": "Solar cells and a red kite", "types": "ex:Bird"}).json()
    assert [(one["start"], one["end"], one["iri"]) for one in told["mentions"]] == [(18, 26, EX + "kite")]
    (link,) = client.get("/links", params={"types": "ex:Report"}).json()["findings"]
    assert (link["subject"], link["object"]) == (EX + "wind", EX + "solar")
    found = client.post("/verify", json={"claim": ["ex:kite", "ex:about", "ex:solar"]}).json()
    assert found["outcome"] == "supported"
    assert client.post("/verify", json={"claim": ["ex:kite", "ex:about", 7], "at": 1}).json()["outcome"] == "unknown"
    assert client.post("/verify", json={"claim": "red kite"}).json()["passages"]
    strange: tuple[Any, ...] = ({}, [], ["ex:a"], ["ex:a", None, "ex:b"], [["ex:a"], "ex:p", "ex:b"])
    for claim in strange:
        assert "claim" in problem(client.post("/verify", json={"claim": claim}), 400)
    problem(client.post("/verify", json={"claim": ["no:a", "ex:p", "ex:b"]}), 400)
    problem(client.post("/verify", json={"claim": "x", "at": 99}), 400)


# --- what the world holds ---------------------------------------------------------------------------------------------


def test_stats_schema_and_prefixes(client: httpx.Client) -> None:
    stats = client.get("/stats").json()
    assert stats["quads"] >= 11
    assert "path" not in stats
    schema = client.get("/schema", params={"limit": 1}).json()
    assert schema["classes"][0]["iri"] == EX + "Report"
    assert schema["class_count"] == 2
    assert client.get("/prefixes").json()["ex"] == EX


def test_validate(client: httpx.Client, writer: httpx.Client) -> None:
    assert "no shapes" in problem(client.get("/validate"), 400)
    sh = "http://www.w3.org/ns/shacl#"
    shapes = [
        f"<{EX}S> <{sh}targetClass> <{EX}Report> <urn:worlds:shapes> .",
        f"<{EX}S> <{sh}property> _:p <urn:worlds:shapes> .",
        f"_:p <{sh}path> <{EX}missing> <urn:worlds:shapes> .",
        f'_:p <{sh}minCount> "1"^^<http://www.w3.org/2001/XMLSchema#integer> <urn:worlds:shapes> .',
    ]
    added = writer.post("/quads", json={"add": shapes}).json()["revision"]
    found = client.get("/validate").json()
    assert not found["conforms"]
    assert {one["path"] for one in found["results"]} == {f"<{EX}missing>"}
    one = found["results"][0]["focus"]
    assert {row["focus"] for row in client.get("/validate", params={"subjects": one}).json()["results"]} == {one}
    assert writer.post(f"/history/{added}/undo").is_success


def test_findings(client: httpx.Client, writer: httpx.Client) -> None:
    owl, birth = "http://www.w3.org/2002/07/owl#", f"<{EX}birth>"
    type_ = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
    label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    quads = [f"{birth} {type_} <{owl}FunctionalProperty> ."]
    for name in ("ada", "ada2"):
        quads += [f'<{EX}{name}> {label} "Ada Lovelace" .', f"<{EX}{name}> {type_} <{EX}Person> ."]
        quads += [f'<{EX}{name}> {birth} "1815-12-10" .', f'<{EX}{name}> <{EX}code> "x-17-{"0" * 3}" .']
    quads += [f'<{EX}ada> {birth} "1816-12-10" .']
    added = writer.post("/quads", json={"add": quads}).json()["revision"]
    found = client.get("/contradictions", params={"suggested": False}).json()
    assert [one["subjects"] for one in found["findings"]] == [[EX + "ada"]]
    pairs = client.get("/duplicates", params={"score": 0}).json()
    assert {EX + "ada", EX + "ada2"} in [set(one["subjects"]) for one in pairs["findings"]]
    assert "evidence" in pairs["findings"][0]
    assert "between" in problem(client.get("/duplicates", params={"between": "default"}), 400)
    assert client.get("/duplicates", params={"between": ["default", EX + "none"]}).json()["findings"] == []
    report = client.get("/report").json()
    assert {one["level"] for one in report["checks"]} <= {"error", "warning", "info"}
    assert report["quads"] > 0
    assert writer.post(f"/history/{added}/undo").is_success


def test_both_addresses_of_the_only_world(client: httpx.Client) -> None:
    assert client.get("/worlds/kb/prefixes").json() == client.get("/prefixes").json()
    listed = client.get("/worlds").json()["worlds"]
    assert [world["name"] for world in listed] == ["kb"]
    assert client.get(listed[0]["address"] + "/prefixes").status_code == 200
    assert "no world 'other'" in problem(client.get("/worlds/other/prefixes"), 404)


# --- history and writes -----------------------------------------------------------------------------------------------


def test_a_write_is_the_keys_and_can_be_undone(writer: httpx.Client) -> None:
    quad = f'<{EX}owl> <{EX}says> "hoo" .'
    done = writer.post("/quads", json={"add": quad, "message": "an owl"}).json()
    assert (done["added"], done["removed"]) == (1, 0)
    number = done["revision"]
    told = writer.get(f"/history/{number}").json()
    assert (told["author"], told["message"], told["added"]) == ("ann", "an owl", 1)
    assert told["quads_added"] == [[f"<{EX}owl>", f"<{EX}says>", '"hoo"', None]]
    assert writer.get("/history", params={"limit": 1}).json()["revisions"][0]["revision"] == number
    assert writer.get("/history", params={"entity": "ex:owl"}).json()["revisions"][0]["revision"] == number
    assert [hit["text"] for hit in writer.get("/search", params={"q": "hoo", "mode": "text"}).json()["hits"]] == ["hoo"]

    undone = writer.post(f"/history/{number}/undo").json()
    assert undone["removed"] == 1
    assert "changed 1 quad of it back" in problem(writer.post(f"/history/{number}/undo"), 409)
    forced = writer.post(f"/history/{number}/undo", json={"force": True}).json()
    assert forced["revision"] is None
    told = writer.get(f"/history/{undone['revision']}").json()
    assert (told["author"], told["quads_removed"]) == ("ann", [[f"<{EX}owl>", f"<{EX}says>", '"hoo"', None]])


def test_entities_are_merged_and_split(writer: httpx.Client) -> None:
    done = writer.post("/merge", json={"kept": "ex:kite", "others": ["ex:wind"]}).json()
    assert done["added"] > 0
    assert writer.get("/entities/ex:wind").json()["iri"] == EX + "kite"
    split = writer.post(f"/history/{done['revision']}/split").json()
    assert (split["added"], split["removed"], split["unassigned"]) == (done["removed"], done["added"], [])
    assert writer.get("/entities/ex:wind").json()["iri"] == EX + "wind"
    assert "taken back" in problem(writer.post(f"/history/{done['revision']}/split"), 409)
    assert "no quad names" in problem(writer.post("/merge", json={"kept": "ex:kite", "others": "ex:none"}), 400)


def test_changes_are_proposed_by_one_key_and_decided_by_another(
    server: Served, writer: httpx.Client, tmp_path: Path
) -> None:
    store = keys_of(next(server.log.parent.glob("*.db")))
    bot, reader = (store.add(scope + " only", {"*": scope})[1] for scope in ("propose", "read"))
    body = {"add": f'<{EX}owl> <{EX}is> "awake" .', "why": "seen", "confidence": 0.5}
    with server.client(reader) as client:
        problem(client.post("/proposals", json=body), 403)
    with server.client(bot) as client:
        problem(client.post("/quads", json={"add": body["add"]}), 403)
        made = client.post("/proposals", json=body)
        assert made.status_code == 201
        number = made.json()["id"]
        assert made.json()["author"] == "propose only"
        assert [one["id"] for one in client.get("/proposals", params={"entity": EX + "owl"}).json()["proposals"]] == [
            number
        ]
        remarked = client.post(f"/proposals/{number}/remarks", json={"why": "again"}).json()
        assert remarked["discussion"][0]["text"] == "again"
        other = {"update": f'INSERT DATA {{ <{EX}owl> <{EX}is> "awake", "here" }}', "confidence": 0.75}
        amended = client.post(f"/proposals/{number}/amend", json=other).json()
        assert (len(amended["added"]), amended["confidence"]) == (2, 0.75)
        amended = client.post(f"/proposals/{number}/amend", json={"add": [body["add"]]}).json()
        assert amended["added"] == [f'<{EX}owl> <{EX}is> "awake"']
        problem(client.post(f"/proposals/{number}/amend", json={"add": "no quad"}), 400)
        problem(client.post(f"/proposals/{number}/accept"), 403)
    assert writer.get("/search", params={"q": "awake", "mode": "text"}).json()["hits"] == []
    done = writer.post(f"/proposals/{number}/accept", json={"why": "so it is"}).json()
    told = writer.get(f"/history/{done['revision']}").json()
    assert (told["author"], told["message"]) == ("propose only", f"seen (proposal {number}, accepted by ann)")
    assert "already by ann" in problem(writer.post(f"/proposals/{number}/reject", json={"why": "no"}), 409)
    assert writer.get(f"/proposals/{number}").json()["status"] == "accepted"
    problem(writer.get("/proposals/999"), 404)
    for path in ("/proposals/999/accept", "/proposals/999/remarks", "/history/999/split"):
        given = {"why": "x"} if path.endswith("remarks") else None
        assert "there is no" in problem(writer.post(path, json=given), 404)
    load = {"update": "LOAD <http://127.0.0.1:1/>"}
    assert "network is not allowed" in problem(writer.post("/proposals", json=load), 503)
    numbers = " ".join(map(str, range(101)))
    many = f"VALUES ?a {{ {numbers} }} VALUES ?b {{ {numbers} }} BIND(?a * 1000 + ?b AS ?n)"
    endless = {"update": f"INSERT {{ <urn:x> <urn:near> ?n }} WHERE {{ {many} }}"}
    for path in ("/proposals", "/rehearsal"):
        assert "more than 10,000 quads" in problem(writer.post(path, json=endless), 400)
    problem(writer.get("/proposals", params={"status": "waiting"}), 400)


def test_a_stranger_swaps_no_change_and_a_reviewer_accepts_what_was_read(server: Served, writer: httpx.Client) -> None:
    store = keys_of(next(server.log.parent.glob("*.db")))
    keys = {name: store.add(name, {"*": "propose"})[1] for name in ("honest", "mallory")}
    with server.client(keys["honest"]) as honest, server.client(keys["mallory"]) as mallory:
        made = honest.post("/proposals", json={"add": f'<{EX}owl> <{EX}is> "calm" .', "why": "seen"}).json()
        path = f"/proposals/{made['id']}"
        for body in ({"update": f'INSERT DATA {{ <{EX}x> <{EX}is> "mine" }}'}, {"confidence": 1, "why": "surely"}):
            assert "only its author" in problem(mallory.post(f"{path}/amend", json=body), 403)
        assert "only its author" in problem(mallory.post(f"{path}/remarks", json={"confidence": 1}), 403)
        assert mallory.post(f"{path}/remarks", json={"why": "no"}).status_code == 200
        tag = writer.get(path).headers["etag"]
        assert tag == '"1"'
        amended = honest.post(f"{path}/amend", json={"add": f'<{EX}owl> <{EX}is> "wild" .'})
        assert (amended.headers["etag"], amended.json()["content_author"]) == ('"2"', "honest")
    assert "at version 2 now" in problem(writer.post(f"{path}/accept", headers={"If-Match": tag}), 409)
    assert "at version 2 now" in problem(writer.post(f"{path}/accept", json={"version": 1}), 409)
    assert "names a version" in problem(writer.post(f"{path}/accept", headers={"If-Match": "2"}), 409)
    changed = writer.post(f"{path}/amend", json={"add": f'<{EX}owl> <{EX}is> "shy" .', "why": "closer"}).json()
    assert [one["author"] for one in changed["discussion"]] == ["mallory", "honest", "ann"]
    assert '"calm"' in changed["discussion"][1]["replaced"]
    done = writer.post(f"{path}/accept", headers={"If-Match": '"3"'}).json()
    assert writer.get(f"/history/{done['revision']}").json()["author"] == "ann"


def test_findings_are_proposed(writer: httpx.Client, client: httpx.Client) -> None:
    said = ('<http://www.w3.org/2000/01/rdf-schema#label> "Grace Hopper"', f'<{EX}mail> "grace@navy"')
    quads = [f"<{EX}hopper{number}> {rest} ." for number in (1, 2) for rest in said]
    done = writer.post("/quads", json={"add": quads}).json()
    problem(client.post("/duplicates"), 401)
    made = writer.post("/duplicates", json={"score": 0.5})
    assert made.status_code == 201
    (proposal,) = made.json()["proposals"]
    assert proposal["merged"] == [f"<{EX}hopper1>", f"<{EX}hopper2>"]
    assert writer.post("/duplicates").json()["proposals"] == []
    assert writer.post("/links", json={"limit": 1, "score": 1.0}).status_code == 201
    assert writer.post("/contradictions", json={"suggested": False}).json()["proposals"] == []
    writer.post(f"/proposals/{proposal['id']}/reject", json={"why": "a test"})
    assert writer.post(f"/history/{done['revision']}/undo").status_code == 200


def test_the_history_is_that_of_the_engine_however_long_it_is(tmp_path: Path) -> None:
    path = tmp_path / "kb.db"
    with worlds.open(path, embedder=None) as world:
        world.bind("ex", EX)
        world.add([(f"<{EX}owl>", f"<{EX}is>", '"old"')], author="ann", message="the first owl")
        world.add([(f"<{EX}owl>", f"<{EX}size>", '"3"')], author="bob")
        for number in range(210):
            world.add([(f"<{EX}other{number}>", f"<{EX}is>", '"1"', f"<{EX}g>")], author="bob")
        expected = [entry.revision for entry in world.history(entity="ex:owl")]
        assert expected == [2, 1]
        assert [entry.revision for entry in world.history(2, before=5)] == [4, 3]
        assert [entry.revision for entry in world.history(entity="ex:owl", before=2)] == [1]
        with pytest.raises(ValueError, match="before is the number"):
            world.history(before=-1)
        day = world.history(1)[0].time.date()
    with served(path) as server, server.client() as client:

        def asked(**filters: Any) -> list[int]:
            return [one["revision"] for one in client.get("/history", params=filters).json()["revisions"]]

        assert asked(entity="ex:owl") == asked(entity=f"{EX}owl") == expected
        assert asked(entity="ex:owl", author="bob") == [2]
        assert asked(predicate="ex:is", author="ann") == asked(message="FIRST") == [1]
        assert asked(graph="ex:g", limit=2) == [212, 211]
        assert asked(graph="ex:g", limit=2, before=211) == [210, 209]
        assert asked(until="2001-01-01") == asked(since=f"{day + timedelta(days=2)}T00:00:00Z") == []
        assert len(asked(since="2001-01-01", limit=1000)) == 212
        assert "since must be a time" in problem(client.get("/history", params={"since": "yesterday"}), 400)


def test_removing_and_adding_is_one_revision(writer: httpx.Client) -> None:
    lines = [f"<{EX}n{number}> <{EX}p> <{EX}g> ." for number in range(3)]
    first = writer.post("/quads", json={"add": lines[:2]}).json()
    both = writer.post("/quads", json={"remove": lines[0], "add": [lines[2], lines[1]]}).json()
    assert (both["revision"], both["added"], both["removed"]) == (first["revision"] + 1, 1, 1)
    same = writer.post("/quads", json={"remove": lines[1], "add": lines[1]}).json()
    assert (same["revision"], same["added"], same["removed"]) == (None, 0, 0)
    assert len(writer.get("/history", params={"before": both["revision"]}).json()["revisions"]) == first["revision"]


def test_what_cannot_be_written(writer: httpx.Client, client: httpx.Client) -> None:
    before = client.get("/stats").json()["last_revision"]
    response = writer.post("/quads", json={"add": [f"<{EX}a> <{EX}p> <{EX}b> .", "<a>"]})
    assert "N-Quads" in problem(response, 400)
    assert response.json()["line"] == 1
    problem(writer.post("/quads", json={}), 400)
    problem(writer.post("/quads", json={"add": 1}), 400)
    problem(writer.post("/quads", json={"add": "", "message": "a\0b"}), 400)
    problem(writer.post("/history/999999/undo"), 404)
    problem(client.get("/history/999999"), 404)
    problem(client.get("/history/0"), 404)
    assert "key with the level write" in problem(client.post("/quads", json={"add": ""}), 401)
    assert client.get("/stats").json()["last_revision"] == before


def test_the_diff_of_a_revision_is_bounded(client: httpx.Client) -> None:
    told = client.get("/history/1", params={"limit": 2}).json()
    assert len(told["quads_added"]) == 2
    assert told["truncated"] is True
    assert told["added"] == 11


def test_a_revision_of_which_nothing_is_left_is_undone(writer: httpx.Client) -> None:
    def undone(revision: int) -> bool:
        return bool(writer.get(f"/history/{revision}").json()["undone"])

    made = writer.post("/quads", json={"add": f'<{EX}u> <{EX}p> "u" .\n<{EX}u> <{EX}p> "v" .'}).json()["revision"]
    assert not undone(made)
    part = writer.post("/quads", json={"remove": f'<{EX}u> <{EX}p> "u" .'}).json()["revision"]
    assert not undone(made)
    assert not undone(part)
    writer.post("/quads", json={"remove": f'<{EX}u> <{EX}p> "v" .'})
    assert undone(made)
    writer.post(f"/history/{part}/undo")
    assert undone(part)
    assert not undone(made)


def test_texts_that_are_written_get_their_vectors(writer: httpx.Client) -> None:
    writer.post("/quads", json={"add": f'<{EX}newt> <{EX}says> "a newt swims slowly" .'})
    deadline = time.monotonic() + 30
    while writer.get("/stats").json()["pending"]:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    found = writer.get("/search", params={"q": "newt swims", "mode": "vector", "limit": 1}).json()
    assert found["hits"][0]["text"] == "a newt swims slowly"


# --- the server -------------------------------------------------------------------------------------------------------


def test_health_metrics_and_the_request_id(client: httpx.Client) -> None:
    assert client.get("/health").json() == client.get("/health/live").json() == {"status": "ok"}
    client.get("/worlds/kb/entities/ex:solar")
    text = client.get("/metrics").text
    assert re.search(
        r'worlds_http_requests_total\{method="GET",route="/worlds/\{world\}/entities/\{iri:path\}",status="200"\} 1.0',
        text,
    )
    assert re.search(r'worlds_workers\{kind="readers"\} [12]\.0', text), "one is kept for those with a key"
    assert "worlds_worlds 1.0" in text
    assert client.get("/stats", headers={"X-Request-ID": "mine-1"}).headers["x-request-id"] == "mine-1"
    for strange in ("a b", "x" * 65, "<b>", ""):
        assert client.get("/stats", headers={"X-Request-ID": strange}).headers["x-request-id"] != strange


def test_what_is_not_there(client: httpx.Client) -> None:
    problem(client.get("/nothing/at/all"), 404)
    response = client.patch("/search")
    problem(response, 405)
    assert response.headers["allow"] == "GET, HEAD, POST"
    assert client.head("/stats").status_code == 200


def test_every_answer_has_the_headers_of_safety(client: httpx.Client) -> None:
    for path in ("/stats", "/nothing", "/", "/page/app.js", "/openapi.json"):
        headers = client.get(path).headers
        assert headers["x-content-type-options"] == "nosniff", path
        assert "default-src 'none'" in headers["content-security-policy"], path
        assert headers["referrer-policy"] == "no-referrer", path
        assert "server" not in headers, path


# --- the OpenAPI document -------------------------------------------------------------------------------------------


def _plain(path: str) -> str:
    return path.replace(":path}", "}")


def test_every_route_is_documented_and_every_documented_one_is_there() -> None:
    for single in (None, "kb"):
        told = document(single)
        documented = {
            (path, method.upper()) for path, item in told["paths"].items() for method in item if method != "servers"
        }
        there = {
            (_plain(route.path), method)
            for route in routes(single=single is not None)
            for method in (route.methods or set()) - {"OPTIONS"}
        }
        # GET brings HEAD along, and a single world's routes are at its address, too.
        there -= {(path, "HEAD") for path, method in there if method == "HEAD" and (path, "HEAD") not in documented}
        if single:
            there = {(path.replace("/worlds/{world}/", "/"), method) for path, method in there}
            there = {(path.replace("{world}", single) if method == "GET" else path, method) for path, method in there}
        assert documented == there


def test_the_parameters_of_a_search_are_those_of_the_library() -> None:
    expected = [*OPTIONS]
    assert [option.name for option in options_of("search", "text")] == expected
    told = document("kb")["paths"]["/search"]
    assert [parameter["name"] for parameter in told["get"]["parameters"]] == [
        "q",
        *expected,
        "as_of",
        "entailed",
        "facets",
        "world",
    ]
    properties = told["post"]["requestBody"]["content"]["application/json"]["schema"]["properties"]
    assert list(properties) == ["q", *expected, "as_of", "entailed", "facets", "world"]


def test_the_documents_references_and_names_are_sound(client: httpx.Client) -> None:
    told = client.get("/openapi.json").json()
    text = json.dumps(told)
    for kind, name in re.findall(r'"#/components/(\w+)/(\w+)"', text):
        assert name in told["components"][kind]
    assert set(re.findall(r'"#/components/schemas/(\w+)"', text)) == set(SCHEMAS)
    names = [operation.name for operation in operations()]
    assert len(names) == len(set(names))


# --- a folder -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    base = tmp_path_factory.mktemp("several")
    target = base / "worlds"
    target.mkdir()
    make_world(target / "kb.db")
    (target / "notes.txt").write_text("no world")
    (target / "strange name.db").write_bytes(b"")
    outside = make_world(base / "outside.db")
    (target / "link.db").symlink_to(outside)
    (target / "inner").mkdir()
    (target / "inner.db").mkdir()
    with served(target, "--readers", "1") as found:
        yield found


@pytest.fixture(scope="module")
def admin(folder: Served) -> Iterator[httpx.Client]:
    _, text = keys_of(folder.log.parent / "worlds").add("root", {"*": "admin"})
    with folder.client(text) as found:
        yield found


def test_the_policy_is_shown_and_changed(admin: httpx.Client, folder: Served) -> None:
    address = "/worlds/kb/policy"
    assert admin.get(address).json()["profiles"] is False
    changed = admin.post(address, json={"changes": {"profiles": [f"{EX}Paper"], "default_graph": "union"}}).json()
    assert (changed["profiles"], changed["default_graph"]) == ([f"{EX}Paper"], "union")
    assert admin.get(address).json() == changed
    problem(admin.post(address, json={"changes": {"nothing": 1}}), 400)
    problem(admin.post(address, json={"changes": {"default_graph": "all"}}), 400)
    with folder.client() as anybody:
        problem(anybody.post(address, json={"changes": {"profiles": True}}), 401)
    admin.post(address, json={"changes": {"profiles": False, "default_graph": "strict"}}).raise_for_status()


def test_worlds_of_a_folder_are_made_and_deleted(admin: httpx.Client, folder: Served) -> None:
    files = folder.log.parent / "worlds"
    assert [world["name"] for world in admin.get("/worlds").json()["worlds"]] == ["kb"]
    made = admin.put("/worlds/new")
    assert made.status_code == 201
    assert made.headers["location"] == made.json()["address"] == f"{folder.url}/worlds/new"
    assert "already" in problem(admin.put("/worlds/new"), 409)
    assert admin.post("/worlds/new/quads", json={"add": f'<{EX}a> <{EX}p> "words" .'}).json()["added"] == 1
    assert admin.get("/worlds/new/search", params={"q": "words"}).json()["hits"][0]["text"] == "words"
    assert {world["name"] for world in admin.get("/worlds").json()["worlds"]} == {"kb", "new"}
    assert admin.delete("/worlds/new").status_code == 204
    problem(admin.get("/worlds/new/stats"), 404)
    problem(admin.delete("/worlds/new"), 404)
    assert not list(files.glob("new*"))
    assert admin.put("/worlds/new").status_code == 201
    assert admin.get("/worlds/new/stats").json()["quads"] == 0
    assert admin.delete("/worlds/new").status_code == 204


def test_worlds_of_a_folder_are_searched_as_one(admin: httpx.Client, folder: Served) -> None:
    assert admin.put("/worlds/second").status_code == 201
    for world, text in (("second", "a capybara by the lake"), ("kb", "a capybara in the reeds")):
        change = {"add": f'<{EX}capybara> <{EX}seen> "{text}" .'}
        assert admin.post(f"/worlds/{world}/quads", json=change).json()["added"] == 1
    given = {"q": "capybara", "world": "second", "mode": "text", "facets": "true"}
    found = admin.get("/worlds/kb/search", params=given).json()
    assert {(hit["world"], hit["text"]) for hit in found["hits"]} == {
        ("second", "a capybara by the lake"),
        ("kb", "a capybara in the reeds"),
    }
    assert found["facets"]["predicates"]
    same = admin.post("/worlds/kb/search", json={"q": "capybara", "world": ["kb", "second"], "mode": "text"}).json()
    assert [hit["world"] for hit in same["hits"]] == [hit["world"] for hit in found["hits"]]
    problem(admin.get("/worlds/kb/search", params={**given, "world": "link"}), 404)
    # At the server's own address, where the worlds are named alone.
    both = {**given, "world": ["kb", "second"]}
    again = admin.get("/search", params=both).json()
    assert [(hit["world"], hit["score"]) for hit in again["hits"]] == [
        (hit["world"], hit["score"]) for hit in found["hits"]
    ]
    assert admin.post("/search", params={"world": ["kb", "second"]}, json={"q": "capybara"}).json()["hits"]
    pattern = f"?subject <{EX}seen> ?t FILTER contains(?t, 'lake')"
    boosted = {**both, "boost": json.dumps({"where": pattern, "factor": 9})}
    assert [hit["world"] for hit in admin.get("/search", params=boosted).json()["hits"]] == ["second", "kb"]
    (alone,) = admin.get("/search", params={"q": "capybara", "mode": "text", "world": "second"}).json()["hits"]
    assert alone["text"] == "a capybara by the lake"
    _asked_as_one(admin)
    with folder.client(keys_of(folder.log.parent / "worlds").add("one", {"kb": "read"})[1]) as reader:
        assert reader.get("/worlds/kb/search", params={"q": "capybara", "mode": "text"}).is_success
        problem(reader.get("/worlds/kb/search", params=given), 403)
        for path, asked in (("/search", {"q": "capybara"}), ("/sparql", {"query": "ASK {}"})):
            problem(reader.get(path, params={"world": ["kb", "second"], **asked}), 403)
            problem(reader.get(path, params={"world": "second", **asked}), 403)
    assert admin.delete("/worlds/second").status_code == 204
    assert admin.post("/worlds/kb/quads", json={"remove": f'<{EX}capybara> <{EX}seen> "a capybara in the reeds" .'})


def _asked_as_one(admin: httpx.Client) -> None:
    """SPARQL over two worlds of a folder."""
    where = f"{{ ?s <{EX}seen> ?t }}"
    query, both = f"SELECT ?t {where} ORDER BY ?t", {"world": ["kb", "second"]}
    texts = ["a capybara by the lake", "a capybara in the reeds"]
    for address, beside in (("/sparql", both), ("/worlds/kb/sparql", {"world": "second"})):
        found = admin.get(address, params={**beside, "query": query}, headers={"Accept": "text/csv"})
        assert found.text.split("\r\n") == ["t", *texts, ""]
        posted = admin.post(address, params=beside, data={"query": query}, headers={"Accept": "text/csv"})
        assert posted.text == found.text
    one = f"SELECT ?t {{ SERVICE <worlds:second> {where} }}"
    (row,) = admin.get("/sparql", params={**both, "query": one}).json()["results"]["bindings"]
    assert row["t"]["value"] == texts[0]
    assert admin.get("/sparql", params={**both, "query": f"ASK {where}"}).json()["boolean"] is True
    assert admin.get("/sparql", params={"world": "second", "query": query}).json()["results"]["bindings"] == [row]
    problem(admin.get("/sparql", params={**both, "query": "SELECT * {"}), 400)
    problem(admin.get("/sparql", params={**both, "query": "ASK { SERVICE <worlds:kb2> { ?s ?p ?o } }"}), 400)
    problem(admin.get("/sparql", params={"world": ["kb", "none"], "query": "ASK {}"}), 404)
    problem(admin.get("/sparql", params={"query": "ASK {}"}), 404)
    assert "one world" in problem(admin.post("/sparql", params=both, data={"update": "CLEAR ALL"}), 400)
    chosen = {**both, "query": query, "default-graph-uri": f"{EX}g"}
    assert "FROM" in problem(admin.get("/sparql", params=chosen), 400)


@pytest.mark.parametrize(
    "name",
    [
        "link",
        "outside",
        "inner",
        "notes",
        "..",
        "%2e%2e",
        "..%2foutside",
        "strange%20name",
        "kb.db",
        ".kb",
        "a%00b",
        "%2fetc%2fpasswd",
    ],
)
def test_nothing_but_the_worlds_of_the_folder_is_served(admin: httpx.Client, folder: Served, name: str) -> None:
    response = admin.get(f"{folder.url}/worlds/{name}/stats")
    assert response.status_code == 404
    assert str(folder.log.parent) not in response.text


@pytest.mark.parametrize("name", ["..", ".hidden", "a b", "x" * 65, "a..b", "kb", "link", "ü", "-wal", "inner"])
def test_names_that_cannot_be_made(admin: httpx.Client, folder: Served, name: str) -> None:
    before = sorted(path.name for path in (folder.log.parent / "worlds").iterdir())
    assert admin.put(f"{folder.url}/worlds/{quote(name, safe='')}").status_code in (403, 404, 405, 409)
    assert sorted(path.name for path in (folder.log.parent / "worlds").iterdir()) == before


def test_a_folder_has_no_world_at_its_root(admin: httpx.Client, folder: Served) -> None:
    problem(admin.get("/search", params={"q": "solar"}), 404)
    assert admin.get("/health").json() == {"status": "ok"}
    with folder.client() as anonymous:
        problem(anonymous.put("/worlds/new"), 401)
        problem(anonymous.delete("/worlds/kb"), 401)
        assert anonymous.get("/worlds/kb/stats").json()["quads"] == 11


def test_a_slash_after_a_worlds_name_leads_to_its_page(client: httpx.Client) -> None:
    response = client.get("/worlds/kb/")
    assert (response.status_code, response.headers["location"]) == (308, "/worlds/kb")
    assert client.get("/worlds/kb", headers={"accept": "text/html"}).status_code == 200
    assert client.get("/worlds/kb/x/").status_code == client.get("/search/").status_code == 404


def test_every_tag_of_the_document_is_declared() -> None:
    told = document("kb")
    used = {tag for path in told["paths"].values() for one in path.values() if "tags" in one for tag in one["tags"]}
    assert used == {tag["name"] for tag in told["tags"]}


def test_lists_have_a_default_limit_and_provenance_needs_a_term(writer: httpx.Client) -> None:
    for number in range(60):
        assert writer.post("/quads", json={"add": f"<urn:many> <urn:n> <urn:{number}> ."}).is_success
    assert len(writer.get("/history").json()["revisions"]) == 50
    assert len(writer.get("/history", params={"limit": 55}).json()["revisions"]) == 55
    assert "give one of subject, predicate" in problem(writer.get("/provenance"), 400)
    found = writer.get("/provenance", params={"subject": "urn:many", "object": "urn:7"}).json()["quads"]
    assert [one["quad"][:3] for one in found] == [["<urn:many>", "<urn:n>", "<urn:7>"]]
