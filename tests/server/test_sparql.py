"""The SPARQL Protocol over HTTP, and what it needs of World.query and World.update."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the server is an extra")

import httpx
import pyoxigraph as ox

import worlds
from tests.support.serving import Served, served
from worlds import QueryError, World
from worlds.doors.server.http.negotiation import GRAPHS, RESULTS, choose
from worlds.doors.server.problem_documents import NotAcceptable

EX = "http://example.org/"
NUMBERS = 300
ENDLESS = "SELECT (COUNT(*) AS ?n) { ?a ?p ?b . ?c ?q ?d . ?e ?r ?f . ?g ?s ?h }"
QUERY = "application/sparql-query"
UPDATE = "application/sparql-update"
FORM = "application/x-www-form-urlencoded"

needs_proc = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs Linux's /proc")


def fill(world: World) -> None:
    world.add([(f"{EX}s{number}", f"{EX}number", number) for number in range(NUMBERS)])
    world.add([(f"{EX}a", f"{EX}in", f'"{name}"', f"{EX}{name}") for name in ("g1", "g2", "g3")])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    path = tmp_path_factory.mktemp("sparql") / "kb.db"
    with worlds.open(path, embedder=None) as world:
        fill(world)
    with served(path, "--allow-writes", "--readers", "2", "--timeout", "20", "--max-results", "100000") as found:
        yield found


@pytest.fixture
def client(server: Served) -> Iterator[httpx.Client]:
    with server.client() as found:
        yield found


def select(client: httpx.Client, text: str, accept: str | None = None, **parameters: Any) -> httpx.Response:
    headers = {} if accept is None else {"Accept": accept}
    return client.get("/sparql", params={"query": text, **parameters}, headers=headers)


def rows(response: httpx.Response) -> list[dict[str, str]]:
    assert response.status_code == 200, response.text
    found = response.json()["results"]["bindings"]
    return [{name: term["value"] for name, term in row.items()} for row in found]


# --- negotiation ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("accept", "type_"),
    [
        (None, "application/sparql-results+json"),
        ("", "application/sparql-results+json"),
        ("*/*", "application/sparql-results+json"),
        ("text/*", "text/csv"),
        ("text/csv;q=0.5, text/tab-separated-values", "text/tab-separated-values"),
        ("application/json", "application/json"),
        ("application/xml;q=0.9, text/html, */*;q=0.8", "application/xml"),
        ("*/*, application/sparql-results+json;q=0", "application/sparql-results+xml"),
        ("application/sparql-results+xml;charset=utf-8;q=.3", "application/sparql-results+xml"),
        ("APPLICATION/SPARQL-RESULTS+XML", "application/sparql-results+xml"),
        (
            "text/csv;q=0.1, application/*;q=.2, application/sparql-results+json;q=0",
            "application/sparql-results+xml",
        ),
        ("nonsense, ;;, text/csv", "text/csv"),
        ("text/html, *; q=.2", "application/sparql-results+json"),
    ],
)
def test_the_type_that_a_client_likes_best_is_chosen(accept: str | None, type_: str) -> None:
    assert choose(accept, RESULTS)[0] == type_


@pytest.mark.parametrize("accept", ["image/png", "text/csv;q=0", "text/csv;q=high", "*/*;q=0", "text"])
def test_what_no_client_wants_is_not_sent(accept: str) -> None:
    with pytest.raises(NotAcceptable, match="text/tab-separated-values"):
        choose(accept, RESULTS)


def test_a_list_of_types_without_end_is_read_to_a_limit() -> None:
    assert choose(", ".join(["image/png"] * 99 + ["text/csv"]), RESULTS)[1] == "csv"
    with pytest.raises(NotAcceptable):
        choose(", ".join(["image/png"] * 100_000 + ["text/csv"]), RESULTS)


# --- queries ----------------------------------------------------------------------------------------------------------

SOME = f"SELECT ?s ?n ?none {{ ?s <{EX}number> ?n OPTIONAL {{ ?s <{EX}none> ?none }} }} ORDER BY ?n"


def test_a_query_comes_by_get_by_a_form_and_as_a_body(client: httpx.Client) -> None:
    asked = [
        select(client, SOME),
        client.post("/sparql", data={"query": SOME}),
        client.post("/sparql", content=SOME, headers={"Content-Type": f"{QUERY}; charset=UTF-8"}),
        client.post("/sparql", content="\ufeff" + SOME, headers={"Content-Type": QUERY}),
    ]
    for response in asked:
        assert [int(row["n"]) for row in rows(response)] == list(range(NUMBERS))
        assert response.headers["vary"].lower() == "accept"


@pytest.mark.parametrize("media_type", [media_type for media_type, _ in RESULTS])
@pytest.mark.parametrize("limit", [0, 1, NUMBERS])
def test_solutions_in_every_format(client: httpx.Client, media_type: str, limit: int) -> None:
    response = select(client, f"{SOME} LIMIT {limit}", media_type)
    assert response.headers["content-type"].partition(";")[0] == media_type
    assert ("charset=utf-8" in response.headers["content-type"]) == media_type.startswith("text/")
    if media_type == "text/csv":
        head, *lines = csv.reader(io.StringIO(response.text))
        assert head == ["s", "n", "none"]
        assert lines == [[f"{EX}s{number}", str(number), ""] for number in range(limit)]
        return
    format = ox.QueryResultsFormat.from_media_type(media_type)
    assert format is not None
    found = ox.parse_query_results(response.content, format)
    assert isinstance(found, ox.QuerySolutions)
    assert [(row["s"].value, int(row["n"].value), row["none"]) for row in found] == [
        (f"{EX}s{number}", number, None) for number in range(limit)
    ]


def test_a_long_answer_is_sent_in_pieces_that_fit_together(client: httpx.Client) -> None:
    pairs = f"SELECT ?a ?b {{ ?x <{EX}number> ?a . ?y <{EX}number> ?b }} LIMIT 9001"
    for media_type, name in RESULTS[:4]:
        response = select(client, pairs, media_type)
        assert "content-length" not in response.headers
        assert response.headers["transfer-encoding"] == "chunked"
        if name == "json":
            assert len(rows(response)) == 9001
        elif name == "csv":
            assert len(list(csv.reader(io.StringIO(response.text)))) == 9002
        else:
            format = ox.QueryResultsFormat.from_media_type(media_type)
            assert format is not None
            found = ox.parse_query_results(response.content, format)
            assert isinstance(found, ox.QuerySolutions)
            assert sum(1 for _ in found) == 9001


@pytest.mark.parametrize(("media_type", "name"), RESULTS)
def test_the_answer_to_an_ask(client: httpx.Client, media_type: str, name: str) -> None:
    for text, expected in (("ASK {}", True), ("ASK { <urn:a> <urn:b> <urn:c> }", False)):
        response = select(client, text, media_type)
        assert response.headers["content-type"].partition(";")[0] == media_type
        if name in ("csv", "tsv"):
            assert response.text == str(expected).lower()
        else:
            format = ox.QueryResultsFormat.from_media_type(media_type)
            assert format is not None
            assert bool(ox.parse_query_results(response.content, format)) is expected


@pytest.mark.parametrize("media_type", [media_type for media_type, _ in GRAPHS])
def test_a_graph_in_every_format(client: httpx.Client, media_type: str) -> None:
    response = select(client, f"CONSTRUCT {{ ?s <{EX}n> ?n }} WHERE {{ ?s <{EX}number> ?n }} LIMIT 5", media_type)
    assert response.headers["content-type"].partition(";")[0] == media_type
    format = ox.RdfFormat.from_media_type(media_type)
    assert format is not None
    assert len(list(ox.parse(response.content, format))) == 5
    assert select(client, "DESCRIBE <urn:nothing>", media_type).status_code == 200


def test_a_type_that_cannot_be_given_is_refused(client: httpx.Client) -> None:
    assert select(client, "ASK {}", "image/png").status_code == 406
    assert select(client, "ASK {}", "text/turtle").status_code == 406
    assert select(client, "CONSTRUCT WHERE { ?s ?p ?o }", "text/csv").status_code == 406
    odd = 'SELECT ("\\u0001" AS ?x) {}'
    assert select(client, odd, "application/sparql-results+xml").status_code == 406
    assert select(client, odd).status_code == 200
    no_name = "CONSTRUCT { <urn:a> <http://example.org/1> 1 } WHERE {}"
    assert select(client, no_name, "application/rdf+xml").status_code == 406


def test_relative_iris_are_those_of_the_endpoint(client: httpx.Client, server: Served) -> None:
    text = "SELECT (<x> AS ?x) (<> AS ?here) (<http://a/b> AS ?c) {}"
    assert rows(select(client, text)) == [{"x": f"{server.url}/x", "here": f"{server.url}/sparql", "c": "http://a/b"}]
    based = "BASE <http://example.org/d/> SELECT (<x> AS ?x) {}"
    assert rows(select(client, based)) == [{"x": "http://example.org/d/x"}]


@pytest.mark.parametrize("text", ["SELECT * { ?s <p ?o }", "SELECT (<a> AS ?x)\n{ ?s ?p }", "SELECT (<a> AS x) {}"])
def test_an_error_has_its_place_in_the_text_that_was_sent(client: httpx.Client, text: str) -> None:
    with worlds.open(embedder=None) as world, pytest.raises(QueryError) as expected:
        world.query(text.replace("<a>", "<a:>").replace("(<a:> AS", "(<a:>AS"))
    response = select(client, text)
    assert response.status_code == 400
    problem = response.json()
    assert response.headers["content-type"] == "application/problem+json"
    assert (problem["line"], problem["column"]) == (expected.value.line, expected.value.column)
    assert problem["detail"].count("line ") == 1


@pytest.mark.parametrize(
    ("method", "path", "headers", "content", "status"),
    [
        ("GET", "/sparql?query=ASK{}&query=ASK{}", {}, b"", 400),
        ("GET", "/sparql?update=CLEAR%20ALL", {}, b"", 400),
        ("GET", "/sparql?query=%FF", {}, b"", 400),
        ("GET", "/sparql?query=ASK{}&default-graph-uri=relative", {}, b"", 400),
        ("GET", "/sparql?query=ASK{}&using-graph-uri=urn:a", {}, b"", 400),
        ("POST", "/sparql", {}, b"", 415),
        ("POST", "/sparql", {"Content-Type": "text/plain"}, b"ASK {}", 415),
        ("POST", "/sparql", {"Content-Type": f"{QUERY}; charset=utf-16"}, b"ASK {}", 415),
        ("POST", "/sparql", {"Content-Type": QUERY}, b"ASK {} # \xff", 400),
        ("POST", "/sparql?query=ASK{}", {"Content-Type": QUERY}, b"ASK {}", 400),
        ("POST", "/sparql?query=ASK{}", {"Content-Type": FORM}, b"", 400),
        ("POST", "/sparql", {"Content-Type": FORM}, b"", 400),
        ("POST", "/sparql", {"Content-Type": FORM}, b"query=ASK{}&update=CLEAR+ALL", 400),
        ("POST", "/sparql", {"Content-Type": FORM}, b"query=ASK%7B%FF", 400),
        ("POST", "/sparql", {"Content-Type": FORM}, b"a=b&" * 20_000, 400),
        ("POST", "/sparql?default-graph-uri=urn:a", {"Content-Type": UPDATE}, b"CLEAR SILENT GRAPH <urn:a>", 400),
        ("POST", "/sparql", {"Content-Type": UPDATE}, b"CLEAR SOME", 400),
        ("POST", "/sparql", {"Content-Type": UPDATE}, b"LOAD <http://127.0.0.1:1/x.ttl>", 400),
        ("POST", "/sparql", {"Content-Type": UPDATE}, b"LOAD <file:///etc/passwd>", 400),
        ("POST", "/sparql", {"Content-Type": QUERY}, b"SELECT * { SERVICE <http://127.0.0.1:1/> { ?s ?p ?o } }", 400),
        ("POST", "/sparql", {"Content-Type": QUERY}, b"SELECT * FROM <file:///etc/passwd> { ?s ?p ?o }", 200),
        ("PUT", "/sparql", {"Content-Type": QUERY}, b"ASK {}", 405),
    ],
)
def test_what_the_protocol_does_not_allow(
    client: httpx.Client, method: str, path: str, headers: dict[str, str], content: bytes, status: int
) -> None:
    response = client.request(method, path, headers=headers, content=content)
    assert response.status_code == status, response.text
    if status == 200:
        assert rows(response) == []
    else:
        assert response.json()["status"] == status


def test_an_answer_has_no_more_rows_than_it_may(client: httpx.Client) -> None:
    response = select(client, "SELECT * { ?a ?p ?b . ?c ?q ?d . ?e ?r ?f }")
    assert response.status_code == 400
    assert "100,000" in response.json()["detail"]


# --- datasets ---------------------------------------------------------------------------------------------------------


def graphs_seen(client: httpx.Client, text: str, **parameters: Any) -> set[str]:
    return {row["o"] for row in rows(select(client, text, **parameters))}


def test_the_dataset_of_a_query(client: httpx.Client) -> None:
    plain = f"SELECT ?o {{ ?s <{EX}in> ?o }}"
    named = f"SELECT ?o {{ GRAPH ?g {{ ?s <{EX}in> ?o }} }}"
    one, two = f"{EX}g1", f"{EX}g2"
    assert graphs_seen(client, plain) == set()
    assert graphs_seen(client, named) == {"g1", "g2", "g3"}
    assert graphs_seen(client, plain, **{"default-graph-uri": [one, two]}) == {"g1", "g2"}
    assert graphs_seen(client, named, **{"default-graph-uri": one}) == set()
    assert graphs_seen(client, named, **{"named-graph-uri": two}) == {"g2"}
    assert graphs_seen(client, plain, **{"named-graph-uri": two}) == set()
    stated = plain.replace("{", f"FROM <{EX}g3> {{", 1)
    assert graphs_seen(client, stated) == {"g3"}
    assert graphs_seen(client, stated, **{"default-graph-uri": one}) == {"g1"}
    form = client.post("/sparql", params={"default-graph-uri": one}, data={"query": plain, "default-graph-uri": two})
    assert {row["o"] for row in rows(form)} == {"g1", "g2"}


def test_query_takes_a_dataset(world: World) -> None:
    fill(world)
    text = f"SELECT ?o {{ ?s <{EX}in> ?o }}"
    found = world.query(text, default_graphs=[ox.NamedNode(f"{EX}g1")])
    assert isinstance(found, worlds.records.Solutions)
    assert found.to_dicts() == [{"o": "g1"}]
    assert len(world.query(text, default_graphs=["default", f"{EX}g1", f"{EX}g2"])) == 2  # type: ignore[arg-type]
    assert world.query("ASK { GRAPH ?g { ?s ?p ?o } }", named_graphs=[f"{EX}g2"]) is True
    assert world.query("ASK { ?s ?p ?o }", named_graphs=[f"{EX}g2"]) is False
    assert world.query("ASK { GRAPH ?g { ?s ?p ?o } }", default_graphs=[f"{EX}g2"], named_graphs=[]) is False
    with pytest.raises(ValueError, match="union"):
        world.query(text, default_graphs=[], union=True)
    with pytest.raises(ValueError, match="not a named graph"):
        world.query(text, named_graphs=["default"])
    with pytest.raises(TypeError, match="named_graphs must be a list"):
        world.query(text, named_graphs=f"{EX}g1")


def test_update_takes_a_dataset(world: World) -> None:
    fill(world)
    mark = f"INSERT {{ ?s <{EX}mark> ?o }} WHERE {{ ?s <{EX}in> ?o }}"
    assert world.update(mark).added == 0
    assert world.update(mark, using_graphs=[f"{EX}g1", f"{EX}g2"]).added == 2
    assert world.update(mark, using_named_graphs=[f"{EX}g3"]).added == 0
    everywhere = "DELETE WHERE { GRAPH ?g { ?s ?p ?o } }"
    assert world.update(everywhere, using_named_graphs=[f"{EX}g3"]).removed == 1
    assert world.update(f"CLEAR GRAPH <{EX}g1>", using_graphs=[f"{EX}g2"]).removed == 1
    for text in (f"WITH <{EX}g2> {mark}", mark.replace("WHERE", f"USING NAMED <{EX}g2> WHERE")):
        before = len(world)
        with pytest.raises(QueryError, match="neither USING nor WITH") as error:
            world.update(f"INSERT DATA {{ <urn:a> <urn:b> 1 }} ;\n{text}", using_graphs=[f"{EX}g2"])
        assert error.value.line == 2
        assert len(world) == before


# --- updates ----------------------------------------------------------------------------------------------------------


def test_an_update_is_seen_by_every_read_that_follows(client: httpx.Client, server: Served) -> None:
    with server.client() as other:
        for number in range(20):
            text = f"DELETE WHERE {{ <{EX}x> ?p ?o }} ; INSERT DATA {{ <{EX}x> <{EX}value> {number} }}"
            if number % 2:
                response = client.post("/sparql", data={"update": text})
            else:
                response = client.post("/sparql", content=text, headers={"Content-Type": UPDATE})
            assert response.status_code == 204
            for reader in (other, client):
                assert rows(select(reader, f"SELECT ?v {{ <{EX}x> <{EX}value> ?v }}")) == [{"v": str(number)}]
    client.post("/sparql", data={"update": f"DELETE WHERE {{ <{EX}x> ?p ?o }}"})


def test_the_dataset_of_an_update(client: httpx.Client) -> None:
    mark = f"INSERT {{ GRAPH <{EX}marks> {{ ?s <{EX}mark> ?o }} }} WHERE {{ ?s <{EX}in> ?o }}"
    parameters = {"using-graph-uri": [f"{EX}g1", f"{EX}g3"]}
    response = client.post("/sparql", params=parameters, content=mark, headers={"Content-Type": UPDATE})
    assert response.status_code == 204
    found = select(client, f"SELECT ?o {{ ?s <{EX}mark> ?o }}", **{"default-graph-uri": f"{EX}marks"})
    assert {row["o"] for row in rows(found)} == {"g1", "g3"}
    clear = {"update": f"DROP GRAPH <{EX}marks>", "using-named-graph-uri": f"{EX}g1"}
    assert client.post("/sparql", data=clear).status_code == 204
    refused = client.post("/sparql", data={"update": f"WITH <{EX}g1> {mark}", "using-graph-uri": f"{EX}g1"})
    assert refused.status_code == 400


# --- long queries -----------------------------------------------------------------------------------------------------


def workers(server: Served) -> set[int]:
    """The processes of the pool, with the one that they are forked of."""

    def children(pid: int) -> set[int]:
        tasks = Path(f"/proc/{pid}/task").iterdir()
        found = {int(child) for task in tasks for child in (task / "children").read_text().split()}
        return found.union(*map(children, found))

    return children(server.process.pid)


def busy(pids: set[int]) -> set[int]:
    """Those that compute."""

    def used(pid: int) -> int:
        try:
            return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11])
        except FileNotFoundError:
            return 0

    before = {pid: used(pid) for pid in pids}
    time.sleep(0.3)
    return {pid for pid in pids if used(pid) > before[pid] + 3}


def until(holds: Callable[[], bool], seconds: float = 15) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.slow
def test_long_queries_stall_no_others_and_end_at_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "kb.db"
    with worlds.open(path, embedder=None) as world:
        fill(world)
    with served(path, "--readers", "1", "--timeout", "3") as server, server.client() as client:
        assert select(client, "ASK {}").status_code == 200
        with ThreadPoolExecutor(2) as pool:
            long = [pool.submit(httpx.get, f"{server.url}/sparql", params={"query": ENDLESS}, timeout=30)] * 2
            time.sleep(0.5)
            began = time.monotonic()
            assert rows(select(client, "SELECT (1 AS ?x) {}")) == [{"x": "1"}]
            assert time.monotonic() - began < 2.5
            for future in long:
                response = future.result()
                assert response.status_code == 503
                assert "time limit" in response.json()["detail"]


@needs_proc
@pytest.mark.slow
def test_the_worker_of_a_client_that_went_away_is_stopped(client: httpx.Client, server: Served) -> None:
    assert select(client, "ASK {}").status_code == 200
    for method in ("GET", "POST"):
        with server.client() as impatient, pytest.raises(httpx.ReadTimeout):
            impatient.request(
                method,
                "/sparql",
                params={"query": ENDLESS} if method == "GET" else {},
                data={"query": ENDLESS} if method == "POST" else None,
                timeout=0.7,
            )
        until(lambda: not busy(workers(server)), 10)
        assert select(client, "ASK {}").status_code == 200


def test_a_client_may_leave_in_the_middle_of_an_answer(client: httpx.Client, server: Served) -> None:
    pairs = f"SELECT * {{ ?x <{EX}number> ?a . ?y <{EX}number> ?b }}"  # some 20 MB of JSON
    for _ in range(3):
        with server.client() as leaving, leaving.stream("GET", "/sparql", params={"query": pairs}) as response:
            assert response.status_code == 200
            assert next(response.iter_bytes(1000))
    began = time.monotonic()
    assert select(client, "ASK {}").status_code == 200
    assert time.monotonic() - began < 10
    if Path("/proc/self/task").exists():
        until(lambda: not busy(workers(server)), 10)


@needs_proc
def test_the_server_goes_on_when_its_workers_are_killed(client: httpx.Client, server: Served) -> None:
    text = f"INSERT DATA {{ <{EX}killed> <{EX}value> 1 }}"
    assert client.post("/sparql", data={"update": text}).status_code == 204
    assert len(workers(server)) > 1
    for pid in workers(server):
        os.kill(pid, signal.SIGKILL)
    assert rows(select(client, f"SELECT ?v {{ <{EX}killed> <{EX}value> ?v }}")) == [{"v": "1"}]
    text = f"DELETE WHERE {{ <{EX}killed> ?p ?o }}"
    assert client.post("/sparql", data={"update": text}).status_code == 204
    assert rows(select(client, f"SELECT ?v {{ <{EX}killed> <{EX}value> ?v }}")) == []


# --- service description ----------------------------------------------------------------------------------------------


def test_the_service_description_comes_in_every_format(client: httpx.Client, server: Served) -> None:
    found = set()
    for media_type, _ in GRAPHS:
        response = client.get("/sparql", headers={"Accept": media_type})
        assert response.headers["content-type"].partition(";")[0] == media_type
        format = ox.RdfFormat.from_media_type(media_type)
        assert format is not None
        dataset = ox.Dataset(ox.parse(response.content, format))
        dataset.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
        found.add(tuple(sorted(map(str, dataset))))
    assert len(found) == 1
    assert f"<{server.url}/sparql>" in str(found)
    assert f"<{EX}g2>" in str(found)
    assert client.get("/sparql", headers={"Accept": "text/csv"}).status_code == 406
    assert client.head("/sparql").status_code == 200


def test_a_form_is_of_bounded_size_and_a_direct_body_is_not(client: httpx.Client) -> None:
    query = "ASK {} #" + "x" * (1 << 20)
    refused = client.post("/sparql", data={"query": query})
    assert refused.status_code == 413
    assert "application/sparql-query" in refused.json()["detail"]
    direct = client.post("/sparql", content=query, headers={"Content-Type": "application/sparql-query"})
    assert direct.json()["boolean"] is True


def test_a_misspelt_parameter_is_no_question_for_the_service_description(client: httpx.Client) -> None:
    refused = client.get("/sparql", params={"qeury": "ASK {}"})
    assert refused.status_code == 400
    assert "did you mean 'query'" in refused.json()["detail"]


# --- all graphs together ----------------------------------------------------------------------------------------------


def test_a_query_sees_the_union_of_all_graphs_where_it_asks_for_it(client: httpx.Client) -> None:
    text = f"ASK {{ ?s <{EX}in> ?o }}"

    def asked(**parameters: Any) -> bool:
        return bool(select(client, text, **parameters).json()["boolean"])

    assert not asked()
    assert not asked(union="false")
    assert asked(union="true")
    assert asked(**{"default-graph-uri": "urn:x-arq:UnionGraph"})
    form = client.post("/sparql", data={"query": text, "union": "true"})
    direct = client.post("/sparql?union=true", content=text, headers={"Content-Type": QUERY})
    assert form.json()["boolean"] is direct.json()["boolean"] is True
    for wrong in ({"union": "maybe"}, {"union": "true", "default-graph-uri": f"{EX}g1"}):
        assert select(client, text, **wrong).status_code == 400


def test_the_setting_of_the_server_is_what_queries_see_that_do_not_say(tmp_path: Path) -> None:
    with worlds.open(tmp_path / "kb.db", embedder=None) as world:
        fill(world)
    with served(tmp_path / "kb.db", "--readers", "1", "--default-graph", "union") as server, server.client() as client:
        text = f"ASK {{ ?s <{EX}in> ?o }}"
        assert select(client, text).json()["boolean"] is True
        assert select(client, text, union="false").json()["boolean"] is False
        assert select(client, text, **{"default-graph-uri": f"{EX}none"}).json()["boolean"] is False


# --- the network ------------------------------------------------------------------------------------------------------


def test_service_reaches_the_hosts_that_the_server_names(tmp_path: Path, server: Served) -> None:
    worlds.open(tmp_path / "kb.db", embedder=None).close()
    text = f"SELECT ?n {{ SERVICE <{server.url}/sparql> {{ <{EX}s7> <{EX}number> ?n }} }}"
    with (
        served(tmp_path / "kb.db", "--readers", "1", "--allow-network", "127.0.0.1") as other,
        other.client() as client,
    ):
        found = select(client, text)
        assert [row["n"]["value"] for row in found.json()["results"]["bindings"]] == ["7"], found.text
        assert select(client, text.replace("127.0.0.1", "localhost")).json()["kind"] == "network"


@pytest.mark.parametrize(
    ("source", "told"),
    [("http://example.org/x.ttl", "--allow-network (server.allow_network)"), ("file:///etc/passwd", "is not allowed")],
)
def test_load_is_refused_in_the_words_of_the_server(client: httpx.Client, source: str, told: str) -> None:
    """The library's own advice, an argument, is none that a client could follow."""
    refused = client.post("/sparql", data={"update": f"LOAD <{source}>"})
    assert refused.status_code == 400
    assert told in refused.json()["detail"]
    assert "allow_network=" not in refused.text
    assert "allow_files" not in refused.text


def test_an_empty_answer_says_why_in_a_header(client: httpx.Client) -> None:
    text = f"SELECT * {{ ?s <{EX}in> ?o }}"
    (note,) = json.loads(select(client, text).headers["worlds-notes"])
    assert "named graphs" in note
    assert "worlds-notes" not in select(client, text, union="true").headers
