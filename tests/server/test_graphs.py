"""The Graph Store Protocol over HTTP."""

from __future__ import annotations

import bz2
import datetime
import gzip
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="the server is an extra")

import httpx
import pyoxigraph as ox

import worlds
from tests.support.serving import EMBEDDER, Served, served
from tests.support.w3c import same_quads
from worlds.doors.server.http.negotiation import GRAPHS

TURTLE = {"Content-Type": "text/turtle"}
DOCUMENT = """
@prefix ex: <http://example.org/> .
ex:a ex:p 1, "zwei"@de, [ ex:q <#here> ] ; ex:r <b> .
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("graphs") / "kb.db"
    worlds.open(path, embedder=None).close()
    return path


@pytest.fixture(scope="module")
def server(file: Path) -> Iterator[Served]:
    with served(file, "--allow-writes", embedder=EMBEDDER) as found:
        yield found


@pytest.fixture
def client(server: Served) -> Iterator[httpx.Client]:
    with server.client() as found:
        assert found.post("/sparql", data={"update": "DROP ALL"}).status_code == 204
        yield found


def quads(response: httpx.Response) -> list[ox.Quad]:
    assert response.status_code == 200, response.text
    format = ox.RdfFormat.from_media_type(response.headers["content-type"].partition(";")[0])
    assert format is not None
    return list(ox.parse(response.content, format))


def expected(base: str, document: str = DOCUMENT) -> list[ox.Quad]:
    return list(ox.parse(document, ox.RdfFormat.TURTLE, base_iri=base))


@pytest.fixture(params=["indirect", "direct", "default", "of a world"])
def address(request: pytest.FixtureRequest) -> str:
    return {
        "indirect": "/graphs?graph=http%3A%2F%2Fexample.org%2Fdocs%2Fone",
        "direct": "/graphs/docs/one%20%C3%A9.ttl",
        "default": "/graphs?default",
        "of a world": "/worlds/kb/graphs/docs/one",
    }[request.param]


def iri(server: Served, address: str) -> str:
    """The graph's, or for the default graph that of the store."""
    if "?default" in address:
        return server.url + "/graphs"
    return "http://example.org/docs/one" if "?" in address else server.url + address


def test_a_graph_is_put_read_replaced_extended_and_deleted(client: httpx.Client, server: Served, address: str) -> None:
    base = iri(server, address)
    named = "?default" not in address
    assert client.get(address).status_code == (404 if named else 200)
    assert client.head(address).status_code == (404 if named else 200)
    assert client.put(address, content=DOCUMENT, headers=TURTLE).status_code == (201 if named else 204)
    assert same_quads(expected(base), quads(client.get(address)))
    more = "<c> <d> <e> ."
    assert client.post(address, content=more, headers=TURTLE).status_code == 204
    assert same_quads([*expected(base), *expected(base, more)], quads(client.get(address)))
    assert client.put(address, content=more, headers=TURTLE).status_code == 204
    assert same_quads(expected(base, more), quads(client.get(address)))
    if named:
        ask = f"ASK {{ GRAPH <{base}> {{ <{base.rpartition('/')[0]}/c> ?p ?o }} }}"
        assert client.get("/sparql", params={"query": ask}).json()["boolean"] is True
    head = client.head(address, headers={"Accept": "application/n-triples"})
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-type"] == "application/n-triples"
    assert client.delete(address).status_code == 204
    assert client.get(address).status_code == (404 if named else 200)
    assert client.delete(address).status_code == (404 if named else 204)
    assert client.post(address, content=more, headers=TURTLE).status_code == (201 if named else 204)


@pytest.mark.parametrize(("media_type", "name"), GRAPHS)
def test_graphs_are_sent_and_read_in_every_format(client: httpx.Client, media_type: str, name: str) -> None:
    graph = f"/graphs?graph=urn:graph:{name}"
    format = ox.RdfFormat.from_media_type(media_type)
    assert format is not None
    body = ox.serialize(expected("urn:base:"), format=format)
    assert client.put(graph, content=body, headers={"Content-Type": f"{media_type}; charset=UTF-8"}).status_code == 201
    response = client.get(graph, headers={"Accept": media_type})
    assert response.headers["content-type"].partition(";")[0] == media_type
    assert int(response.headers["content-length"]) == len(response.content)
    assert same_quads(expected("urn:base:"), quads(response))


def test_all_quads_of_a_dataset_go_to_the_graph(client: httpx.Client) -> None:
    body = "<urn:g> { <urn:a> <urn:b> 1 } <urn:a> <urn:b> 2 ."
    response = client.put("/graphs?graph=urn:target", content=body, headers={"Content-Type": "application/trig"})
    assert response.status_code == 201
    assert len(quads(client.get("/graphs?graph=urn:target"))) == 2
    assert client.get("/graphs?graph=urn:g").status_code == 404


def test_an_empty_graph_is_a_graph(client: httpx.Client) -> None:
    graph = "/graphs?graph=urn:empty"
    assert client.put(graph, content="", headers=TURTLE).status_code == 201
    assert quads(client.get(graph)) == []
    assert client.put(graph, content="", headers=TURTLE).status_code == 204
    assert client.delete(graph).status_code == 204
    assert client.get(graph).status_code == 404


def test_the_store_makes_a_name_for_a_graph(client: httpx.Client, server: Served) -> None:
    made = [client.post("/graphs", content=DOCUMENT, headers=TURTLE) for _ in range(2)]
    assert [response.status_code for response in made] == [201, 201]
    places = {response.headers["location"] for response in made}
    assert len(places) == 2
    for place in places:
        assert place.startswith(server.url + "/graphs/")
        assert same_quads(expected(place), quads(client.get(place)))
        assert same_quads(expected(place), quads(client.get("/graphs", params={"graph": place})))


def test_a_form_with_files_is_one_write(client: httpx.Client, file: Path) -> None:
    graph = "/graphs?graph=urn:form"
    parts = {
        "one": ("one.ttl", "<urn:a> <urn:b> 1 .\n", "text/turtle"),
        "two": ("two.nt", "<urn:a> <urn:b> <urn:c> .\n", "application/n-triples"),
    }
    assert client.post(graph, files=parts).status_code == 201
    assert len(quads(client.get(graph))) == 2
    broken = {**parts, "two": ("two.nt", "<urn:x> <urn:b> .", "application/n-triples")}
    assert client.post("/graphs?graph=urn:other", files=broken).status_code == 400
    assert client.get("/graphs?graph=urn:other").status_code == 404
    assert client.post(graph, files={"one": ("one.png", "x", "image/png")}).status_code == 415
    assert client.put(graph, files=parts).status_code == 415
    with worlds.open(file, embedder=None, read_only=True) as world:
        assert world.history(1)[0].message == "POST <urn:form>"


@pytest.mark.parametrize(
    ("method", "path", "headers", "content", "status"),
    [
        ("GET", "/graphs", {}, b"", 400),
        ("PUT", "/graphs", TURTLE, b"", 400),
        ("DELETE", "/graphs", {}, b"", 400),
        ("GET", "/graphs?graph=relative", {}, b"", 400),
        ("GET", "/graphs?graph=", {}, b"", 400),
        ("GET", "/graphs?graph=urn:a&default", {}, b"", 400),
        ("GET", "/graphs?graph=urn:a&graph=urn:b", {}, b"", 400),
        ("GET", "/graphs?graph=urn:a%3E%20%7B%7D", {}, b"", 400),
        ("GET", "/graphs?graph=urn:%FF", {}, b"", 400),
        ("GET", "/graphs/x?default", {}, b"", 400),
        ("GET", "/graphs?default", {"Accept": "image/png"}, b"", 406),
        ("GET", "/graphs?default", {"If-None-Match": "r1"}, b"", 400),
        ("PUT", "/graphs?graph=urn:a", {}, b"<urn:a> <urn:b> 1 .", 415),
        ("PUT", "/graphs?graph=urn:a", {"Content-Type": "text/html"}, b"<p>", 415),
        ("PUT", "/graphs?graph=urn:a", {"Content-Type": "text/turtle; charset=latin-1"}, b"", 415),
        ("PUT", "/graphs?graph=urn:a", TURTLE, b"<urn:a> <urn:b> .", 400),
        ("PUT", "/graphs?graph=urn:a", TURTLE, b"\xff", 400),
        ("PUT", "/graphs?graph=urn:a", TURTLE, gzip.compress(b"<urn:a> <urn:b> 1 .", mtime=0), 415),
        ("PUT", "/graphs?graph=urn:a", TURTLE, bz2.compress(b"<urn:a> <urn:b> 1 ."), 415),
        ("PUT", "/graphs?graph=urn:a", {"Content-Type": "application/ld+json"}, b'{"@context": "http://x/"}', 400),
        ("PATCH", "/graphs?graph=urn:a", TURTLE, b"", 405),
    ],
)
def test_what_the_protocol_does_not_allow(
    client: httpx.Client, method: str, path: str, headers: dict[str, str], content: bytes, status: int
) -> None:
    response = client.request(method, path, headers=headers, content=content)
    assert response.status_code == status, response.text
    assert response.json()["status"] == status
    assert client.get("/graphs?graph=urn:a").status_code == 404


def test_a_document_that_is_wrong_leaves_the_graph_as_it_was(client: httpx.Client) -> None:
    graph = "/graphs?graph=urn:kept"
    client.put(graph, content="<urn:a> <urn:b> 1 .", headers=TURTLE)
    response = client.put(graph, content="<urn:a> <urn:b> 2 .\n<urn:a> <urn:b>", headers=TURTLE)
    assert response.status_code == 400
    assert response.json()["line"] == 2
    assert [quad.object.value for quad in quads(client.get(graph))] == ["1"]  # type: ignore[union-attr]


def test_what_a_format_cannot_hold_is_not_acceptable(client: httpx.Client) -> None:
    graph = "/graphs?graph=urn:odd"
    assert client.put(graph, content="<urn:a> <http://example.org/1> 1 .", headers=TURTLE).status_code == 201
    assert client.get(graph, headers={"Accept": "application/rdf+xml"}).status_code == 406
    assert client.get(graph).status_code == 200


def test_a_long_document_goes_both_ways(client: httpx.Client, file: Path, tmp_path: Path) -> None:
    lines = "".join(f"<urn:s{number}> <urn:p> <urn:o{number}{'x' * 200}> .\n" for number in range(9000))
    assert len(lines) > 2 << 20
    nt = {"Content-Type": "application/n-triples"}
    assert client.put("/graphs?graph=urn:long", content=lines, headers=nt).status_code == 201
    response = client.get("/graphs?graph=urn:long", headers={"Accept": "application/n-triples"})
    assert sorted(response.text.splitlines()) == sorted(lines.splitlines())
    broken = client.put("/graphs?graph=urn:long", content=lines + "<urn:s> .", headers=nt)
    assert broken.status_code == 400
    assert "worlds-" not in broken.text  # where it lay
    assert client.head("/graphs?graph=urn:long").status_code == 200


# --- entity tags ------------------------------------------------------------------------------------------------------


def test_an_entity_tag_changes_with_the_graph_and_differs_by_format(client: httpx.Client) -> None:
    graph = "/graphs?graph=urn:tagged"
    client.put(graph, content="<urn:a> <urn:b> 1 .", headers=TURTLE)
    tags = {}
    for media_type, _ in GRAPHS:
        tags[media_type] = client.get(graph, headers={"Accept": media_type}).headers["etag"]
        assert client.head(graph, headers={"Accept": media_type}).headers["etag"] == tags[media_type]
        assert not tags[media_type].startswith("W/")
    assert len(set(tags.values())) == len(GRAPHS)
    again = client.get(graph, headers={"If-None-Match": f'"other", W/{tags["text/turtle"]}'})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == tags["text/turtle"]
    assert client.get(graph, headers={"If-None-Match": tags["text/n3"]}).status_code == 200
    assert client.get(graph, headers={"If-None-Match": "*"}).status_code == 304
    assert client.get(graph, headers={"If-Match": "*"}).status_code == 200
    assert client.get(graph, headers={"If-Match": tags["text/turtle"]}).status_code == 200
    assert client.get(graph, headers={"If-Match": f"W/{tags['text/turtle']}"}).status_code == 412
    client.post(graph, content="<urn:a> <urn:b> 2 .", headers=TURTLE)
    changed = client.get(graph, headers={"If-None-Match": tags["text/turtle"]})
    assert changed.status_code == 200
    assert changed.headers["etag"] != tags["text/turtle"]
    assert client.get(graph, headers={"If-Match": tags["text/turtle"]}).status_code == 412


def test_what_is_due_changes_a_graph_when_it_is_carried_out(client: httpx.Client) -> None:
    graph = "/graphs?graph=urn:timed"
    end = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=2)
    reifies = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies> <<( <urn:a> <urn:b> <urn:c> )>>"
    until = f'<https://schema.org/validThrough> "{end.isoformat()}"^^<http://www.w3.org/2001/XMLSchema#dateTime>'
    client.put(graph, content=f"<urn:a> <urn:b> <urn:c> . <urn:r> {reifies} ; {until} .", headers=TURTLE)
    before = client.get(graph)
    assert len(quads(before)) == 3
    told = [client.get("/entities/urn:a", params={"as_of": year}).text for year in ("2000", "2999")]
    assert ["urn:c" in one for one in told] == [True, False]
    time.sleep(max(0.0, (end - datetime.datetime.now(datetime.UTC)).total_seconds()) + 0.05)
    assert client.get(graph, headers={"If-None-Match": before.headers["etag"]}).status_code == 304
    assert [one["object"] for one in client.get("/facts/due").json()["facts"]] == ["<urn:c>"]
    assert client.post("/facts/carry-out", json={"message": "the night"}).json()["removed"] == 1
    assert client.get("/facts/due").json() == {"facts": []}
    after = client.get(graph, headers={"If-None-Match": before.headers["etag"]})
    assert len(quads(after)) == 2
    asked = {"query": "ASK { GRAPH <urn:timed> { <urn:a> <urn:b> ?o } }"}
    assert client.get("/sparql", params=asked).json()["boolean"] is False


@pytest.mark.parametrize("method", ["PUT", "POST", "DELETE"])
def test_a_write_may_depend_on_what_was_read(client: httpx.Client, method: str) -> None:
    graph = "/graphs?graph=urn:guarded"
    body = "<urn:a> <urn:b> 9 ."

    def write(**conditions: str) -> int:
        headers = {**TURTLE, **{name.replace("_", "-"): value for name, value in conditions.items()}}
        return client.request(method, graph, content=body, headers=headers).status_code

    absent = 404 if method == "DELETE" else 412
    assert write(If_Match="*") == absent
    client.put(graph, content="<urn:a> <urn:b> 1 .", headers=TURTLE)
    first = client.get(graph, headers={"Accept": "application/ld+json"}).headers["etag"]
    assert write(If_None_Match="*") == 412
    assert write(If_None_Match=first) == 412
    assert write(If_Match=f"W/{first}") == 412
    client.put(graph, content="<urn:a> <urn:b> 2 .", headers=TURTLE)
    assert write(If_Match=first) == 412
    assert [quad.object.value for quad in quads(client.get(graph))] == ["2"]  # type: ignore[union-attr]
    second = client.get(graph).headers["etag"]
    assert write(If_Match=f"{first}, {second}", If_None_Match='"other"') == 204
    assert write(If_Match=second) == absent
    if method != "DELETE":
        client.delete(graph)
        assert write(If_None_Match="*") == 201


def test_texts_of_a_graph_are_found(client: httpx.Client) -> None:
    body = '<urn:a> <http://www.w3.org/2000/01/rdf-schema#label> "a lighthouse on a cliff" .'
    assert client.put("/graphs?graph=urn:texts", content=body, headers=TURTLE).status_code == 201
    found = client.get("/search", params={"q": "lighthouse", "mode": "vector"}).json()
    assert [hit["text"] for hit in found["hits"]] == ["a lighthouse on a cliff"]


# --- compressed bodies ------------------------------------------------------------------------------------------------

GZIP = {**TURTLE, "Content-Encoding": "gzip"}


def test_a_body_may_be_compressed(client: httpx.Client) -> None:
    lines = "".join(f"<urn:s{number}> <urn:p> {number} .\n" for number in range(100_000))
    assert client.put("/graphs?graph=urn:g", headers=GZIP, content=gzip.compress(lines.encode())).status_code == 201
    assert client.get("/stats").json()["quads"] == 100_000


def test_a_compressed_body_is_limited_by_what_it_becomes(tmp_path: Path) -> None:
    worlds.open(tmp_path / "kb.db", embedder=None).close()
    with served(tmp_path / "kb.db", "--readers", "1", "--allow-writes", "--max-body", "1000000") as server:
        bomb = gzip.compress(b"\n" * 250_000_000, 1)
        assert len(bomb) > 1_000_000
        with server.client() as client:
            small = gzip.compress(b"\n" * 1_000_001)
            for body, status in (
                (bomb, 413),
                (bomb[:900_000], 413),
                (small, 413),
                (gzip.compress(b"\n" * 1_000_000), 204),
                (small[:500], 413 if len(small) < 500 else 400),
                (gzip.compress(b"<urn:a> <urn:b> 1 .")[:-5], 400),
                (gzip.compress(b"<urn:a> <urn:b> 1 .") + b"x", 400),
                (b"<urn:a> <urn:b> 1 .", 400),
                (b"", 400),
            ):
                response = client.put("/graphs?default", headers=GZIP, content=body)
                assert response.status_code == status, (len(body), response.text)
            for encoding in ("br", "deflate", "gzip, gzip"):
                response = client.put("/graphs?default", headers={**TURTLE, "Content-Encoding": encoding}, content=b"x")
                assert response.status_code == 415
