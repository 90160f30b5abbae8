from __future__ import annotations

import base64
import contextlib
import json
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlsplit

import httpx
import pytest

import worlds
from tests.support.serving import Served, served
from worlds.doors.server.configuration import ServerSettings
from worlds.doors.server.http.access import check_settings
from worlds.doors.server.http.metrics import Metrics
from worlds.doors.server.http.request_limits import RequestLimits
from worlds.doors.server.keys import KeyStore, Principal, keys_of
from worlds.doors.server.problem_documents import TooMany
from worlds.errors import WorldsError

SLOW = "SELECT (COUNT(*) AS ?n) { ?a ?p ?b . ?c ?q ?d . ?e ?r ?f . ?g ?s ?h . ?i ?t ?j }"
QUAD = "<http://example.org/a> <http://example.org/p> <http://example.org/b> ."


def make_world(path: Path, quads: int = 1) -> Path:
    lines = [f'<http://example.org/{number}> <http://example.org/p> "text {number}" .' for number in range(quads)]
    with worlds.open(path, embedder=None) as world:
        world.load("\n".join(lines).encode(), format="nt")
    return path


def problem(response: httpx.Response, status: int) -> str:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    return str(response.json()["detail"])


# --- who may ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("locked") / "worlds"
    target.mkdir()
    make_world(target / "one.db")
    make_world(target / "two.db")
    return target


@pytest.fixture(scope="module")
def locked(folder: Path) -> Iterator[Served]:
    """A server that wants a key for everything."""
    with served(folder, "--readers", "1", "--no-public-reads", "--allow-writes") as found:
        yield found


@pytest.fixture(scope="module")
def store(folder: Path) -> KeyStore:
    return keys_of(folder)


@pytest.mark.parametrize(
    ("level", "world", "allowed"),
    [
        ("read", "one", {"read one"}),
        ("write", "one", {"read one", "write one"}),
        ("admin", "one", {"read one", "write one", "delete one"}),
        ("read", "*", {"read one", "read two", "metrics"}),
        ("write", "*", {"read one", "read two", "metrics", "write one", "write two"}),
    ],
)
def test_a_key_does_what_its_scopes_say(
    locked: Served, store: KeyStore, folder: Path, level: str, world: str, allowed: set[str]
) -> None:
    _, text = store.add(f"{level} {world}", {world: level})
    with locked.client(text) as client:
        done = {
            "read one": client.get("/worlds/one/stats"),
            "read two": client.get("/worlds/two/stats"),
            "metrics": client.get("/metrics"),
            "write one": client.post("/worlds/one/quads", json={"add": QUAD}),
            "write two": client.post("/worlds/two/quads", json={"add": QUAD}),
            "delete two": client.delete("/worlds/two"),
            "delete one": client.delete("/worlds/one"),
        }
        listed = {item["name"] for item in client.get("/worlds").json()["worlds"]}
    assert {name for name, response in done.items() if response.is_success} == allowed
    for name, response in done.items():
        if name not in allowed:
            assert f"the key '{level} {world}' lacks the level" in problem(response, 403)
    assert listed == ({"two"} if world == "*" else set()) | ({"one"} if "delete one" not in allowed else set())
    if "delete one" in allowed:
        make_world(folder / "one.db")


def test_without_a_key_nothing_is_told(locked: Served) -> None:
    with locked.client() as client:
        there, missing = client.get("/worlds/two/stats"), client.get("/worlds/nowhere/stats")
        for response in (there, missing, client.get("/worlds"), client.get("/metrics")):
            problem(response, 401)
            assert response.headers["www-authenticate"].startswith("Bearer")
        assert problem(there, 401).replace("two", "") == problem(missing, 401).replace("nowhere", "")
        page, no_page = client.get("/worlds/two"), client.get("/worlds/nowhere")
        assert page.status_code == no_page.status_code == 200
        assert page.text.replace("two", "") == no_page.text.replace("nowhere", "")
        assert client.get("/health").status_code == 200


def test_keys_that_are_none_are_refused_also_where_none_is_needed(locked: Served, store: KeyStore) -> None:
    key, text = store.add("brief", {"*": "read"})
    with locked.client(text) as client:
        assert client.get("/worlds/two/stats").status_code == 200
        store.revoke(key.id)
        assert "revoked" in problem(client.get("/worlds/two/stats"), 401)
    for header in ("Bearer", f"bearer {text[:-1]}", f"Basic {text}", text, "Bearer wk_é", f"Bearer {text} {text}"):
        with locked.client() as client:
            problem(client.get("/worlds/two/stats", headers={b"Authorization": header.encode("latin-1")}), 401)


def basic(text: str) -> str:
    return "Basic " + base64.b64encode(text.encode()).decode()


def test_a_key_may_be_the_password_of_basic_authentication(locked: Served, store: KeyStore) -> None:
    _, text = store.add("by password", {"two": "write"})
    url = "/worlds/two/stats"
    with locked.client() as client:
        for sent in (f"ann:{text}", f":{text}"):
            assert client.get(url, headers={"Authorization": basic(sent)}).status_code == 200
        for sent in (text, f"{text}:", f"ann:{text}x", f"a:b:{text}", "\0"):
            problem(client.get(url, headers={"Authorization": basic(sent)}), 401)
        for header in ("Basic", "Basic !", "Basic /w==", f"Basic {text}"):
            problem(client.get(url, headers={"Authorization": header}), 401)


def test_what_a_browser_remembers_is_not_taken_from_pages_of_others(locked: Served, store: KeyStore) -> None:
    _, text = store.add("remembered", {"*": "write"})
    with locked.client() as client:
        for headers, status in (({}, 200), ({"Origin": "https://evil.example"}, 403), ({"Origin": locked.url}, 200)):
            sent = {"Authorization": basic(f"ann:{text}"), **headers}
            assert client.post("/worlds/two/quads", json={"add": QUAD}, headers=sent).status_code == status


def test_the_log_names_the_key_and_never_holds_it(locked: Served, store: KeyStore) -> None:
    _, text = store.add("known to the log", {"*": "read"})
    with locked.client(text) as client:
        client.get(f"/worlds/two/search?q={text}", headers={"X-Request-ID": "look-here"})
    line = locked.logged("look-here")
    assert "known to the log" in line
    assert "/worlds/two/search 200" in line
    assert text.rpartition("_")[2] not in locked.log.read_text()


# --- anonymous writes, hosts and origins ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that takes writes without a key; with narrow limits."""
    path = make_world(tmp_path_factory.mktemp("open") / "kb.db", 300)
    options = ["--readers", "1", "--most-workers", "2", "--allow-writes", "--max-body", "50000", "--timeout", "2"]
    options += ["--max-queries", "3", "--host-name", "kb.example.org", "--cors", "https://app.example.org"]
    with served(path, *options, "--log", "json", "--max-results", "50") as found:
        yield found


@pytest.fixture
def client(opened: Served) -> Iterator[httpx.Client]:
    with opened.client() as found:
        yield found


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        ({"Sec-Fetch-Site": "none"}, 200),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "https://app.example.org"}, 403),  # it may read, and write with a key
        ({"Origin": "http://127.0.0.1:1"}, 403),
    ],
    ids=str,
)
def test_writes_from_other_origins_need_a_key(client: httpx.Client, headers: dict[str, str], status: int) -> None:
    response = client.post("/quads", json={"add": QUAD}, headers=headers)
    assert response.status_code == status, response.text
    update = client.post("/sparql", data={"update": "INSERT DATA { <a:a> <a:a> <a:a> }"}, headers=headers)
    assert update.is_success == (status == 200)


def test_the_pages_own_origin_may_write(client: httpx.Client, opened: Served) -> None:
    assert client.post("/quads", json={"add": QUAD}, headers={"Origin": opened.url}).status_code == 200


def test_a_key_may_write_from_anywhere_and_its_name_is_the_author(opened: Served) -> None:
    _, text = keys_of(opened.log.parent / "kb.db").add("ann", {"kb": "write"})
    with opened.client(text) as client:
        done = client.post("/quads", json={"add": '<a:b> <a:b> "c" .'}, headers={"Origin": "https://evil.example"})
        assert done.status_code == 200
        assert client.get(f"/history/{done.json()['revision']}").json()["author"] == "ann"
        problem(client.put("/worlds/more"), 403)


def test_anonymous_writes_are_no_administration(client: httpx.Client) -> None:
    problem(client.delete("/worlds/kb"), 401)


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("LOCALHOST:1234", 200),
        ("kb.localhost", 200),
        ("127.0.0.1", 200),
        ("192.168.1.7:80", 200),
        ("[::1]:8080", 200),
        ("kb.example.org", 200),
        ("KB.example.org.:443", 200),
        ("evil.example", 421),
        ("localhost.evil.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("evil.example:localhost", 400),
        ("user@localhost", 400),
        ("local host", 421),
        ("localhost/evil", 400),
        ("", 400),
    ],
)
def test_the_host_header_must_name_this_server(client: httpx.Client, host: str, status: int) -> None:
    response = client.get("/prefixes", headers={"Host": host})
    assert response.status_code == status, response.text


def test_cors_is_for_the_origins_that_are_set(client: httpx.Client) -> None:
    allowed = client.get("/prefixes", headers={"Origin": "https://app.example.org"})
    assert allowed.headers["access-control-allow-origin"] == "https://app.example.org"
    refused = client.get("/prefixes", headers={"Origin": "https://evil.example"})
    assert "access-control-allow-origin" not in refused.headers
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type"}
    preflight = client.options("/quads", headers={"Origin": "https://app.example.org", **asked})
    assert preflight.status_code == 200
    assert "authorization" in preflight.headers["access-control-allow-headers"].lower()
    assert client.options("/quads", headers={"Origin": "https://evil.example", **asked}).status_code == 400
    wrong = client.get("/nothing", headers={"Origin": "https://app.example.org"})  # the page can read why
    assert wrong.headers["access-control-allow-origin"] == "https://app.example.org"


# --- how much, how long, how many -------------------------------------------------------------------------------------


def test_bodies_have_a_limit_also_in_chunks(client: httpx.Client) -> None:
    large = json.dumps({"q": "a" * 60_000}).encode()

    def chunks() -> Iterator[bytes]:
        for start in range(0, len(large), 1000):
            yield large[start : start + 1000]

    for content in (large, chunks()):
        response = client.post("/search", content=content, headers={"Content-Type": "application/json"})
        assert "50,000 bytes" in problem(response, 413)
    for length in ("99999999999999999999", "51000"):
        assert b" 413 " in raw(
            client, f"POST /search HTTP/1.1\r\nHost: x.localhost\r\nContent-Length: {length}\r\n\r\n"
        )
    assert client.get("/prefixes").status_code == 200


def test_a_body_that_does_not_come_is_not_waited_for(client: httpx.Client) -> None:
    began = time.monotonic()
    head = "POST /search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n"
    answer = raw(client, head + '{"q"')
    assert b" 408 " in answer.partition(b"\r\n")[0]
    assert time.monotonic() - began < 10


def test_a_head_that_does_not_come_is_not_waited_for(client: httpx.Client) -> None:
    for sent in ("", "GET /stats HTTP/1.1\r\nHost: loc"):
        began = time.monotonic()
        assert raw(client, sent) == b""
        assert time.monotonic() - began < 10


def raw(client: httpx.Client, text: str) -> bytes:
    """What the server answers to these bytes, until it closes the connection."""
    place = urlsplit(str(client.base_url))
    assert place.hostname is not None
    with socket.create_connection((place.hostname, place.port), timeout=20) as connection:
        connection.sendall(text.encode("latin-1"))
        pieces = []
        while piece := connection.recv(65_536):
            pieces.append(piece)
    return b"".join(pieces)


def test_a_query_is_stopped_at_the_time_limit(client: httpx.Client) -> None:
    began = time.monotonic()
    detail = problem(client.get("/sparql", params={"query": SLOW}), 503)
    assert "time limit of 2 seconds" in detail
    assert time.monotonic() - began < 10
    assert client.get("/prefixes").status_code == 200


def test_results_have_a_limit(client: httpx.Client) -> None:
    assert "50" in problem(client.get("/search", params={"q": "text", "limit": 51}), 400)
    assert len(client.get("/search", params={"q": "text", "limit": 50}).json()["hits"]) == 50
    problem(client.get("/sparql", params={"query": "SELECT * { ?s ?p ?o }"}), 400)


def test_more_queries_than_allowed_are_turned_away_at_once(opened: Served) -> None:
    answers: list[int] = []

    def ask() -> None:
        with opened.client() as client:
            answers.append(client.get("/sparql", params={"query": SLOW}).status_code)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    time.sleep(0.7)
    with opened.client() as client:
        began = time.monotonic()
        turned_away = client.get("/prefixes")
        taken = time.monotonic() - began
        assert client.get("/health/live").status_code == 200
    for thread in threads:
        thread.join()
    assert "takes no more" in problem(turned_away, 503)
    assert int(turned_away.headers["retry-after"]) >= 1
    assert taken < 1
    assert answers == [503, 503, 503]
    with opened.client() as client:
        assert client.get("/prefixes").status_code == 200
        assert "worlds_busy_total 1.0" in client.get("/metrics").text


def test_a_query_whose_client_goes_away_is_stopped(opened: Served) -> None:
    with opened.client() as client:
        with pytest.raises(httpx.ReadTimeout):
            client.get("/sparql", params={"query": SLOW}, timeout=0.3, headers={"X-Request-ID": "impatient"})
        assert json.loads(opened.logged("impatient"))["status"] == 499


def test_the_log_is_json_where_that_is_set(opened: Served, client: httpx.Client) -> None:
    client.get("/prefixes?secret=word%0A{", headers={"X-Request-ID": "json-log"})
    line = json.loads(opened.logged("json-log"))
    assert {"time", "level", "request", "method", "path", "status", "ms", "key", "client"} <= line.keys()
    assert (line["method"], line["path"], line["status"], line["key"]) == ("GET", "/prefixes", 400, None)


# --- the rate ---------------------------------------------------------------------------------------------------------


def test_a_client_that_asks_too_often_has_to_wait(tmp_path: Path) -> None:
    path = make_world(tmp_path / "kb.db")
    _, text = keys_of(path).add("ann", {"*": "read"})
    with served(path, "--readers", "1", "--rate", "5") as server, server.client() as client:
        statuses = [client.get("/prefixes").status_code for _ in range(6)]
        assert statuses == [200] * 5 + [429]
        response = client.get("/prefixes")
        assert "more than 5 requests a minute" in problem(response, 429)
        assert 1 <= int(response.headers["retry-after"]) <= 13
        assert client.get("/health").status_code == client.get("/page/app.js").status_code == 200
        with server.client(text) as other:  # a key is a client of its own
            assert other.get("/prefixes").status_code == 200
            assert "worlds_rate_limited_total 2.0" in other.get("/metrics").text


def test_tokens_come_back_with_time() -> None:
    limits = RequestLimits(ServerSettings(rate=600), Metrics())  # ten a second
    for _ in range(600):
        limits.count("a")
    with pytest.raises(TooMany):
        limits.count("a")
    limits.count("b")
    time.sleep(0.15)
    limits.count("a")
    with pytest.raises(TooMany):
        limits.count("a")


# --- what is refused before it starts ---------------------------------------------------------------------------------


def test_settings_that_are_not_safe_are_refused(tmp_path: Path) -> None:
    keys = KeyStore(tmp_path / "keys.json")
    check_settings(ServerSettings(allow_writes=True), keys)
    with pytest.raises(WorldsError, match="worlds keys add"):
        check_settings(ServerSettings(host="0.0.0.0"), keys)
    key, _ = keys.add("ann", {"*": "read"})
    check_settings(ServerSettings(host="0.0.0.0"), keys)
    with pytest.raises(WorldsError, match="allow-writes"):
        check_settings(ServerSettings(host="0.0.0.0", allow_writes=True), keys)
    keys.revoke(key.id)
    with pytest.raises(WorldsError, match="no valid one"):
        check_settings(ServerSettings(host="kb.example.org"), keys)


def test_scopes_include_the_lesser_ones() -> None:
    principal = Principal("ann", "id", {"kb": "write", "*": "read"})
    assert principal.may("read", None)
    assert principal.may("read", "other")
    assert principal.may("write", "kb")
    assert not principal.may("write", None)
    assert not principal.may("admin", "kb")
    assert not Principal(None).may("read", None)


def test_clients_that_do_not_read_hold_no_processes(tmp_path: Path) -> None:
    file = make_world(tmp_path / "kb.db", 400)
    product = quote("SELECT * { ?a ?p ?b . ?c ?q ?d }")
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(
            served(file, "--readers", "2", "--most-workers", "2", "--timeout", "120", "--max-queries", "3")
        )
        place = urlsplit(server.url)
        for _ in range(3):
            slow = stack.enter_context(socket.create_connection((place.hostname or "", place.port or 80)))
            slow.sendall(f"GET /sparql?query={product} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            time.sleep(0.2)
        client = stack.enter_context(server.client())
        began = time.monotonic()
        while client.get("/sparql", params={"query": "ASK {}"}).status_code != 200:
            assert time.monotonic() - began < 60
            time.sleep(0.1)
        assert time.monotonic() - began < 60


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts what a process may write to")
def test_a_query_that_takes_too_much_memory_is_stopped(tmp_path: Path) -> None:
    file = make_world(tmp_path / "kb.db", 300)
    product = "SELECT * { ?a ?p ?b . ?c ?q ?d . ?e ?r ?f } ORDER BY ?f ?d ?b"
    with served(file, "--readers", "1", "--max-memory", str(150 << 20)) as server, server.client() as client:
        assert "server.max_memory" in problem(client.get("/sparql", params={"query": product}), 503)
        assert client.get("/search", params={"q": "text"}).json()["hits"]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts what a process may write to")
def test_a_proposal_that_takes_too_much_memory_is_stopped(tmp_path: Path) -> None:
    file = make_world(tmp_path / "kb.db", 300)
    _, key = keys_of(file).add("bot", {"*": "propose"})
    product = "SELECT * { ?a ?p ?b . ?c ?q ?d . ?e ?r ?f } ORDER BY ?f ?d ?b"
    update = f"INSERT {{ ?a <urn:near> ?f }} WHERE {{ {{ {product} }} }}"
    with served(file, "--readers", "1", "--max-memory", str(150 << 20)) as server, server.client(key) as client:
        for path in ("/proposals", "/rehearsal"):
            assert "server.max_memory" in problem(client.post(path, json={"update": update}), 503)
        made = client.post("/proposals", json={"update": "INSERT DATA { <urn:a> <urn:b> <urn:c> }"})
        assert (made.status_code, made.json()["id"]) == (201, 1)


def test_a_broken_file_of_keys_does_not_tell_where_it_lies(tmp_path: Path) -> None:
    file = make_world(tmp_path / "kb.db")
    _, text = keys_of(file).add("ann", {"*": "read"})
    with served(file, "--readers", "1") as server, server.client(text) as client:
        assert client.get("/stats").status_code == 200
        keys_of(file).path.write_text("{")
        response = client.get("/stats")
        assert problem(response, 503) == "the keys cannot be read"
        assert str(keys_of(file).path) in server.logged("is not a file of API keys")
