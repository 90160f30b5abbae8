"""The Reconciliation API: the specification's examples, OpenRefine's requests, evidence, keys in addresses."""

from __future__ import annotations

import json
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jsonschema
import pytest

pytest.importorskip("starlette", reason="the server is an extra")

import httpx
import referencing

import worlds
from tests.support.serving import Served, served
from worlds.doors.server.keys import keys_of

EX = "http://example.org/"
HASH = "http://example.org/h#"
DATA = """
@prefix ex: <http://example.org/> .
@prefix h: <http://example.org/h#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
ex:City rdfs:label "City" ; rdfs:subClassOf ex:Place .
ex:Place rdfs:label "Place" .
ex:Person rdfs:label "Person" .
ex:country rdfs:label "country" .
ex:paris a ex:City ; rdfs:label "Paris"@en ; ex:country ex:france ; ex:founded "1900-01-31"^^xsd:date ;
  ex:people 2102650 ; ex:uid "27eb892afbb2" ; ex:area 105.4 ;
  rdfs:comment "The capital of France." ; skos:altLabel "Ville Lumiere", "Lutetia" .
ex:paris-texas a ex:City ; rdfs:label "Paris"@en ; ex:country ex:usa ; ex:people 24171 ; ex:uid "ab09da9dd37e" .
ex:paris-hero a ex:Person ; rdfs:label "Paris"@en ; ex:uid "x" .
ex:france a ex:Country ; rdfs:label "France" . ex:usa a ex:Country ; rdfs:label "United States of America" .
ex:berlin a ex:City ; rdfs:label "Berlin" ; ex:country ex:germany ; ex:note "<b>&" .
ex:germany a ex:Country ; rdfs:label "Germany" .
h:storm a ex:Place ; rdfs:label "Cumulonimbus storm" .
"""
LABEL, THEIRS = "<http://www.w3.org/2000/01/rdf-schema#label>", "<http://example.org/theirs>"
SECRET = f'<http://example.org/secret> {LABEL} "Hidden Valley" {THEIRS} .'


def specification(folder: Path) -> dict[str, Any]:
    """The schemas and the examples of the specification, by their paths."""
    file = folder / "reconciliation-0.2.tgz"
    if not file.exists():
        pytest.skip("the specification of the Reconciliation API is not here")
    with tarfile.open(file) as packed:
        return {
            name.partition("/0.2/")[2]: json.loads(packed.extractfile(name).read())  # type: ignore[union-attr]
            for name in packed.getnames()
            if name.endswith(".json") and "openapi" not in name
        }


def validator(parts: dict[str, Any], name: str) -> jsonschema.protocols.Validator:
    told = {f"https://reconciliation-api.github.io/specs/0.2/{path}": part for path, part in parts.items()}
    scheme = {"definitions": {"securityDefinitions": {"additionalProperties": {"required": ["type"]}}}}
    every = {**told, "http://swagger.io/v2/schema.json": scheme}
    draft = referencing.jsonschema.DRAFT7
    registry = referencing.Registry().with_resources((uri, draft.create_resource(one)) for uri, one in every.items())
    return jsonschema.Draft7Validator(parts[f"schemas/{name}.json"], registry=registry)


@pytest.fixture(scope="module")
def parts(shared_data: Path) -> dict[str, Any]:
    return specification(shared_data)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("reconcile") / "kb.db"
    with worlds.open(path, embedder=None) as world:
        world.load(DATA.encode(), format="ttl")
        world.load(SECRET.encode(), format="nq")
    return path


@pytest.fixture(scope="module")
def server(path: Path) -> Iterator[Served]:
    with served(path, "--readers", "1") as found:
        yield found


@pytest.fixture
def client(server: Served) -> Iterator[httpx.Client]:
    with server.client() as found:
        yield found


def ask(client: httpx.Client, query: Any, at: str = "/reconcile") -> list[dict[str, Any]]:
    answer = client.post(
        at, data={"queries": json.dumps({"q0": {"query": query} if isinstance(query, str) else query})}
    )
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["q0"]["result"]
    return found


def extended(client: httpx.Client, ids: list[str], *properties: Any) -> dict[str, Any]:
    wanted = [one if isinstance(one, dict) else {"id": one} for one in properties]
    answer = client.post("/reconcile", data={"extend": json.dumps({"ids": ids, "properties": wanted})})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


# --- the specification ------------------------------------------------------------------------------------------------


def test_every_valid_example_is_answered_and_the_answers_are_valid(client: httpx.Client, parts: dict[str, Any]) -> None:
    asked = 0
    for form, kind, answer in (
        ("queries", "reconciliation-query-batch", "reconciliation-result-batch"),
        ("extend", "data-extension-query", "data-extension-response"),
    ):
        for name, document in parts.items():
            if name.startswith(f"examples/{kind}/valid/"):
                for told in (
                    client.post("/reconcile", data={form: json.dumps(document)}),
                    client.get("/worlds/kb/reconcile", params={form: json.dumps(document)}),
                ):
                    assert told.status_code == 200, (name, told.text)
                    validator(parts, answer).validate(told.json())
                    assert told.json().keys() == (document.keys() if form == "queries" else {"meta", "rows"})
                    asked += 1
    assert asked == 12


def test_every_invalid_example_is_refused(client: httpx.Client, parts: dict[str, Any]) -> None:
    refused = 0
    for name, document in parts.items():
        if name.startswith("examples/reconciliation-query-batch/invalid/"):
            told = client.post("/reconcile", data={"queries": json.dumps(document)})
            assert told.status_code == 400, name
            assert told.json()["detail"]
            refused += 1
    assert refused == 3


def test_each_answer_validates_by_its_schema(client: httpx.Client, parts: dict[str, Any]) -> None:
    def valid(name: str, address: str, **parameters: str) -> Any:
        told = client.get(address, params=parameters)
        assert told.status_code == 200, told.text
        validator(parts, name).validate(told.json())
        return told.json()

    manifest = valid("manifest", "/reconcile")
    assert "0.2" in manifest["versions"]
    for kind, plural in (("entity", "entities"), ("type", "types"), ("property", "properties")):
        service = manifest["suggest"][kind]
        assert valid(f"suggest-{plural}-response", service["service_url"] + service["service_path"], prefix="c")[
            "result"
        ]
    propose = manifest["extend"]["propose_properties"]
    address = propose["service_url"] + propose["service_path"]
    assert valid("data-extension-property-proposal", address, type=f"{EX}City", limit="3")["properties"]
    for name, document in parts.items():  # the schemas are those of the specification
        kind, _, validity = name.removeprefix("examples/").partition("/")
        if name.startswith("examples/") and f"schemas/{kind}.json" in parts:
            assert validator(parts, kind).is_valid(document) == validity.startswith("valid"), name


@pytest.mark.parametrize(
    "query",
    [
        [],
        "Paris",
        {"query": 1},
        {"query": "Paris", "limit": "5"},
        {"query": "Paris", "limit": 0},
        {"query": "Paris", "type": 1},
        {"query": "Paris", "type": [1]},
        {"query": "Paris", "type_strict": "maybe"},
        {"query": "Paris", "properties": {}},
        {"query": "Paris", "properties": [{"v": "x"}]},
        {"query": "Paris", "properties": [{"pid": "x"}]},
        {"query": "Paris", "properties": [{"pid": "x", "v": {"name": "no id"}}]},
        {"query": "Paris", "properties": [{"pid": "x", "v": [["nested"]]}]},
        {"query": "Paris", "more": 1},
    ],
)
def test_queries_that_the_schema_refuses_are_refused(client: httpx.Client, query: Any, parts: dict[str, Any]) -> None:
    told = client.post("/reconcile", data={"queries": json.dumps({"q0": query})})
    assert told.status_code == 400, told.text
    if query not in ([], "Paris") and query != {"query": "Paris", "limit": 0}:  # a schema cannot say positive
        assert not validator(parts, "reconciliation-query-batch").is_valid({"q0": query})


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ({"queries": "{"}, 400),
        ({"queries": "[]"}, 400),
        ({"extend": '{"ids": ["a"]}'}, 400),
        ({"extend": '{"ids": [1], "properties": []}'}, 400),
        ({"extend": '{"ids": [], "properties": [{}]}'}, 400),
        ({"extend": '{"ids": [], "properties": [{"id": "a", "settings": 1}]}'}, 400),
        ({"extend": '{"ids": [], "properties": [{"id": "a", "settings": {"limit": "many"}}]}'}, 400),
        ({"queries": "{}", "extend": "{}"}, 400),
        ({"else": "{}"}, 400),
        ({"queries": json.dumps({str(number): {"query": "a"} for number in range(51)})}, 413),
    ],
)
def test_forms_that_are_no_request_are_refused(client: httpx.Client, sent: dict[str, str], status: int) -> None:
    assert client.post("/reconcile", data=sent).status_code == status


def test_other_bodies_are_refused(client: httpx.Client) -> None:
    assert client.post("/reconcile", json={"queries": {}}).status_code == 415


# --- matching ---------------------------------------------------------------------------------------------------------


def test_a_name_that_one_entity_has_is_a_match(client: httpx.Client) -> None:
    (found, *_) = ask(client, "berlin")
    assert (found["id"], found["name"], found["match"]) == (f"{EX}berlin", "Berlin", True)
    assert found["score"] > 75
    assert found["type"] == [{"id": f"{EX}City", "name": "City"}]
    assert {"id": "exact", "value": True} in found["features"]


def test_namesakes_are_no_match_until_a_type_or_a_property_tells_them_apart(client: httpx.Client) -> None:
    assert [one["match"] for one in ask(client, "Paris")] == [False] * 3
    (by_type, *_) = ask(client, {"query": "Paris", "type": f"{EX}Person"})
    assert (by_type["id"], by_type["match"]) == (f"{EX}paris-hero", True)
    by_class = ask(client, {"query": "Paris", "type": [f"{EX}Place"], "type_strict": "any"})
    assert {one["id"] for one in by_class} == {f"{EX}paris", f"{EX}paris-texas"}  # of its subclass
    assert {one["match"] for one in by_class} == {False}
    for value in ({"id": f"{EX}usa", "name": "US"}, f"{EX}usa", "united states of america", ["ex:usa"]):
        first, second, *_ = ask(client, {"query": "Paris", "properties": [{"pid": f"{EX}country", "v": value}]})
        assert (first["id"], first["match"], second["match"]) == (f"{EX}paris-texas", True, False), value
        features = {one["id"]: one["value"] for one in first["features"]}
        assert features[f"{EX}country"] == 1.0
    values: list[tuple[str, Any]] = [
        ("ex:people", 2102650),
        ("ex:people", "2102650.0"),
        ("ex:founded", "1900"),
        ("ex:area", 105.4),
    ]
    for pid, value in values:
        found = ask(client, {"query": "Paris", "type": "ex:City", "properties": [{"pid": pid, "v": value}]})
        assert (found[0]["id"], found[0]["match"]) == (f"{EX}paris", True), pid


def test_a_property_that_another_value_contradicts_takes_a_match_away(client: httpx.Client) -> None:
    asked = {"query": "Berlin", "properties": [{"pid": "ex:country", "v": {"id": f"{EX}usa"}}]}
    (found, *_) = ask(client, asked)
    assert (found["id"], found["match"]) == (f"{EX}berlin", False)
    unknown = {"query": "Berlin", "properties": [{"pid": "no property", "v": True}, {"pid": "ex:uid", "v": "y"}]}
    assert ask(client, unknown)[0]["match"] is True  # it says nothing of it


def test_what_has_another_type_is_shown_and_is_no_match(client: httpx.Client) -> None:
    for type_ in (f"{EX}Person", "DifferentiatedPerson"):
        (found, *_) = ask(client, {"query": "Berlin", "type": type_, "type_strict": "should"})
        assert (found["id"], found["match"]) == (f"{EX}berlin", False)
        assert {"id": "type", "value": False} in found["features"]
    assert ask(client, {"query": "Berlin", "type": "ex:Person", "type_strict": "any"}) == []
    assert ask(client, {"query": "Berlin", "type": ["ex:City", "ex:Person"], "type_strict": "all"}) == []


def test_entities_are_found_by_properties_alone(client: httpx.Client) -> None:
    (found,) = ask(client, {"properties": [{"pid": "ex:uid", "v": "27eb892afbb2"}]})
    assert (found["id"], found["match"]) == (f"{EX}paris", True)
    by_entity = ask(client, {"properties": [{"pid": "ex:country", "v": {"id": f"{EX}france"}}]})
    assert [one["id"] for one in by_entity] == [f"{EX}paris"]
    assert ask(client, {"properties": [{"pid": "ex:uid", "v": "nobody's"}]}) == []
    assert ask(client, "") == []


def test_an_identifier_finds_its_entity(client: httpx.Client) -> None:
    for identifier in (f"{EX}paris-texas", "ex:paris-texas"):
        (found,) = ask(client, identifier)
        assert (found["id"], found["score"], found["match"]) == (f"{EX}paris-texas", 100.0, True)


def test_the_limit_of_a_query_is_kept(client: httpx.Client) -> None:
    assert len(ask(client, {"query": "Paris", "limit": 2})) == 2
    assert len(ask(client, {"query": "Paris", "limit": 1, "properties": [{"pid": "ex:uid", "v": "x"}]})) == 1


# --- the other services -----------------------------------------------------------------------------------------------


def suggested(client: httpx.Client, kind: str, **parameters: str) -> list[dict[str, Any]]:
    told = client.get(f"/reconcile/suggest/{kind}", params=parameters)
    assert told.status_code == 200, told.text
    found: list[dict[str, Any]] = told.json()["result"]
    return found


def test_suggestions_are_by_beginnings_names_and_identifiers(client: httpx.Client) -> None:
    assert [one["id"] for one in suggested(client, "entity", prefix="Cumulo")] == ["h:storm"]
    assert [one["id"] for one in suggested(client, "entity", prefix=f"{EX}berlin")] == [f"{EX}berlin"]
    paris = suggested(client, "entity", prefix="paris")
    assert len(paris) == 3
    assert suggested(client, "entity", prefix="paris", cursor="2") == paris[2:]
    assert next(one for one in paris if one["id"] == f"{EX}paris") == {
        "id": f"{EX}paris",
        "name": "Paris",
        "description": "The capital of France.",
        "notable": [{"id": f"{EX}City", "name": "City"}],
    }
    assert suggested(client, "type", prefix="ci")[0] == {"id": f"{EX}City", "name": "City"}
    assert suggested(client, "property", prefix="coun")[0] == {"id": f"{EX}country", "name": "country"}
    assert suggested(client, "entity", prefix=' "*') == []
    assert client.get("/reconcile/suggest/entity", params={"prefix": "a", "cursor": "x"}).status_code == 400
    assert client.get("/reconcile/suggest/else", params={"prefix": "a"}).status_code == 404


def test_properties_are_proposed_for_a_type(client: httpx.Client) -> None:
    told = client.get("/reconcile/properties", params={"type": f"{EX}Country", "limit": "5"}).json()
    assert {one["id"] for one in told["properties"]} == {"rdf:type", "rdfs:label"}
    assert (told["type"], told["limit"]) == (f"{EX}Country", 5)
    every = client.get("/reconcile/properties", params={"type": ""}).json()["properties"]
    assert f"{EX}people" in {one["id"] for one in every}


def test_a_preview_shows_an_entity_in_a_frame_of_any_page(client: httpx.Client) -> None:
    told = client.get("/reconcile/preview", params={"id": f"{EX}berlin"})
    assert told.headers["content-type"] == "text/html; charset=utf-8"
    assert "frame-ancestors *" in told.headers["content-security-policy"]
    assert "default-src 'none'" in told.headers["content-security-policy"]
    assert "<h1>Berlin</h1>" in told.text
    assert "&lt;b&gt;&amp;" in told.text  # what is data is no markup
    assert client.get("/reconcile/preview", params={"id": "ex:nobody"}).status_code == 404


def test_values_are_extended_by_their_kinds(client: httpx.Client) -> None:
    told = extended(
        client, [f"{EX}paris", "no entity"], "ex:country", "ex:people", "ex:founded", "ex:area", "rdfs:label", "none"
    )
    assert told["rows"][f"{EX}paris"] == {
        "ex:country": [{"id": f"{EX}france", "name": "France"}],
        "ex:people": [{"int": 2102650}],
        "ex:founded": [{"date": "1900-01-31T00:00:00Z"}],
        "ex:area": [{"float": 105.4}],
        "rdfs:label": [{"str": "Paris"}],
        "none": [],
    }
    assert set(map(str, told["rows"]["no entity"].values())) == {"[]"}
    assert told["meta"][0] == {"id": "ex:country", "name": "country"}
    assert [one["id"] for one in told["meta"]] == [
        "ex:country",
        "ex:people",
        "ex:founded",
        "ex:area",
        "rdfs:label",
        "none",
    ]


def test_the_limit_of_a_property_is_kept(client: httpx.Client) -> None:
    for limit, count in ((1, 1), ("1", 1), (0, 2), ("", 2), ("5", 2)):
        asked = {"id": "skos:altLabel", "settings": {"limit": limit, "content": "id"}}
        assert len(extended(client, [f"{EX}paris"], asked)["rows"][f"{EX}paris"]["skos:altLabel"]) == count


# --- OpenRefine -------------------------------------------------------------------------------------------------------


def replaced(template: str, identifier: str) -> str:
    """An address as OpenRefine makes it: encodeURI leaves a fragment as it is, and a browser drops it."""
    address = quote(template.replace("{{id}}", identifier), safe=";,/?:@&=+$-_.!~*'()#")
    return address.partition("#")[0]


def test_openrefine_is_answered_as_its_source_asks(client: httpx.Client) -> None:
    page = {"Origin": "http://127.0.0.1:3333", "Accept": "application/json, text/javascript, */*; q=0.01"}
    manifest = client.get("/worlds/kb/reconcile", headers=page).json()  # ReconciliationManager.registerStandardService
    java = {"User-Agent": "OpenRefine 3.9 [1]", "Accept-Encoding": "gzip, deflate"}  # HttpClient.postNameValue

    def post(name: str, text: str) -> Any:
        told = client.post("/worlds/kb/reconcile", data={name: text}, headers=java)
        assert told.status_code == 200, told.text
        return told.json()

    sample = {
        f"q{at}": {"query": name, "limit": 3} for at, name in enumerate(("Paris", "Berlin", "Cumulonimbus storm"))
    }
    guessed = post("queries", json.dumps(sample))  # GuessTypesOfColumnCommand
    kinds = [kind["id"] for one in guessed.values() for result in one["result"] for kind in result["type"]]
    assert {f"{EX}City", f"{EX}Place"} < set(kinds)
    query = (  # StandardReconConfig: createJob and batchRecon
        '{"query":"Paris","type":"http://example.org/City","type_strict":"should","properties":'
        '[{"pid":"http://example.org/country","v":{"id":"http://example.org/usa","name":"USA"}},'
        '{"pid":"http://example.org/people","v":24171}]}'
    )
    matched = post("queries", f'{{"q0":{query},"q1":{{"query":"Berlin"}}}}')
    assert [matched[key]["result"][0]["id"] for key in ("q0", "q1")] == [f"{EX}paris-texas", f"{EX}berlin"]
    assert all(matched[key]["result"][0]["match"] for key in ("q0", "q1"))
    (storm,) = post("queries", '{"q0":{"query":"cumulonimbus storm"}}')["q0"]["result"]
    shown = client.get(replaced(manifest["preview"]["url"], storm["id"]))  # DataTableCellUI.previewCandidateTopic
    assert "Cumulonimbus storm" in shown.text
    assert replaced(manifest["view"]["url"], f"{EX}berlin") == str(client.base_url).rstrip("/") + "/worlds/kb"
    typed = manifest["suggest"]["type"]  # suggest-4_3a.js, with CORS
    found = client.get(typed["service_url"] + typed["service_path"], params={"prefix": "cit"}, headers=page).json()
    assert found["result"][0]["id"] == f"{EX}City"
    propose = manifest["extend"]["propose_properties"]  # ExtendReconciledDataPreviewDialog.getAllProperties
    proposed = client.get(f"{propose['service_url']}{propose['service_path']}?type={EX}City", headers=page).json()
    assert f"{EX}country" in {one["id"] for one in proposed["properties"]}
    asked = f'{{"ids":["{EX}paris","{storm["id"]}"],"properties":[{{"id":"{EX}country"}},{{"id":"rdfs:label"}}]}}'
    told = post("extend", asked)  # ReconciledDataExtensionJob
    assert [one["id"] for one in told["meta"]] == [f"{EX}country", "rdfs:label"]
    assert told["rows"][f"{EX}paris"][f"{EX}country"] == [{"id": f"{EX}france", "name": "France"}]
    assert told["rows"][storm["id"]]["rdfs:label"] == [{"str": "Cumulonimbus storm"}]


# --- who may ask ------------------------------------------------------------------------------------------------------


def test_a_key_in_the_address_reads_within_its_scope_and_stands_in_no_log(path: Path) -> None:
    store = keys_of(path)
    reader = store.add("refine", {"kb": "read"})[1]
    theirs = store.add("theirs", {"kb": "read"}, graphs=["http://example.org/theirs"])[1]
    writer = store.add("writer", {"kb": "write"})[1]
    with served(path, "--readers", "1", "--no-public-reads") as server, server.client() as client:
        assert client.get("/reconcile").status_code == 401
        assert client.get("/reconcile/wk_0_wrong").status_code == 401
        assert client.get(f"/reconcile/{writer}").status_code == 403
        assert client.get("/reconcile", headers={"Authorization": f"Bearer {writer}"}).status_code == 200
        at = f"/worlds/kb/reconcile/{reader}"
        manifest = client.get(at).json()
        places = [*manifest["suggest"].values(), manifest["extend"]["propose_properties"]]
        assert {one["service_url"] for one in places} == {server.url + at}
        for one in places:
            assert client.get(one["service_url"] + one["service_path"], params={"prefix": "p"}).status_code == 200
        shown = client.get(manifest["preview"]["url"].replace("{{id}}", "ex:paris"))
        assert shown.status_code == 200
        assert ask(client, "Hidden Valley", at)[0]["match"]
        assert ask(client, "Berlin", at)[0]["match"]
        assert ask(client, "Hidden Valley", f"/reconcile/{theirs}")[0]["match"]
        assert ask(client, "Berlin", f"/reconcile/{theirs}") == []
        assert client.get(f"/search/{reader}", params={"q": "x"}).status_code == 404  # no other door takes it
        told = client.get(f"/reconcile/{reader}/nothing", headers={"X-Request-ID": "last-one"})
        assert told.status_code == 404
        assert reader not in told.text
        assert " refine " in server.logged("last-one")
        log = server.log.read_text()
    assert "/worlds/kb/reconcile/suggest/entity" in log
    assert not re.search(r"reconcile/wk_", log)


def test_requests_with_a_key_in_the_address_are_counted_by_the_key(path: Path) -> None:
    key = keys_of(path).add("often", {"kb": "read"})[1]
    with served(path, "--readers", "1", "--rate", "3") as server, server.client() as client:
        statuses = [client.get(f"/reconcile/{key}").status_code for _ in range(4)]
        assert statuses == [200, 200, 200, 429]
        assert client.get("/reconcile").status_code == 200  # another client's share


def test_pages_read_the_answers_where_they_may(server: Served, path: Path) -> None:
    local, foreign = {"Origin": "http://127.0.0.1:3333"}, {"Origin": "https://evil.example"}
    key = keys_of(path).add("page", {"kb": "read"})[1]
    allow = "access-control-allow-origin"
    with server.client() as client:
        for address in (
            "/reconcile",
            "/reconcile?queries={",
            "/reconcile/suggest/type?prefix=c",
            "/worlds/no/reconcile",
        ):
            assert client.get(address, headers=local).headers[allow] == local["Origin"]
            assert allow not in client.get(address, headers=foreign).headers
            assert allow not in client.get(address, headers={"Origin": "http://127.0.0.1.evil.example"}).headers
        assert client.get(f"/reconcile/{key}", headers=foreign).headers[allow] == "*"
        assert allow not in client.get("/stats", headers=local).headers
        before = client.options("/reconcile", headers={**local, "Access-Control-Request-Method": "POST"})
        assert (before.status_code, before.headers[allow]) == (204, local["Origin"])
        assert "POST" in before.headers["access-control-allow-methods"]
    with served(path, "--readers", "1", "--public-reads") as public, public.client() as client:
        assert client.get("/reconcile", headers=foreign).headers[allow] == "*"
    with served(path, "--readers", "1", "--cors", foreign["Origin"]) as named, named.client() as client:
        assert client.get("/reconcile", headers=foreign).headers[allow] == foreign["Origin"]
