"""OpenAIEmbedder and FallbackEmbedder against an HTTP server that speaks the protocol, and misbehaves on command."""

from __future__ import annotations

import email.utils
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

import worlds
from tests.support.embedder import HashingEmbedder
from worlds import EmbedderError, FallbackEmbedder, OpenAIEmbedder
from worlds.core.embedders import Embedder, checked_documents, checked_query, failure_kind, fingerprint

Answer = tuple[int, dict[str, str], bytes]
Misbehaviour = Callable[["Handler"], Answer | None]


class Endpoint:
    """An embeddings endpoint: HashingEmbedder's vectors. Each of `commands` spoils one request, the first first."""

    def __init__(self) -> None:
        self.model = HashingEmbedder(16)
        self.commands: list[Misbehaviour] = []
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.released = threading.Event()
        self.url = ""


class Handler(BaseHTTPRequestHandler):
    endpoint: Endpoint

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.endpoint.requests.append({"path": self.path, **asked})
        self.endpoint.headers.append(dict(self.headers))
        self.asked = asked
        answer = self.endpoint.commands.pop(0)(self) if self.endpoint.commands else self.good()
        if answer is None:
            self.close_connection = True
            return
        status, headers, body = answer
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(body))} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def good(self, change: Callable[[list[dict[str, Any]]], object] | None = None) -> Answer:
        vectors = self.endpoint.model.embed_documents(self.asked["input"])
        data = [{"index": number, "embedding": row.tolist()} for number, row in enumerate(vectors)]
        if change:
            change(data)
        return 200, {}, json.dumps({"data": data}).encode()

    def log_message(self, format: str, *args: object) -> None:
        pass


def refuses(status: int, message: str = "told to", **headers: str) -> Misbehaviour:
    body = json.dumps({"error": {"message": message}}).encode()
    return lambda _: (status, {name.replace("_", "-"): value for name, value in headers.items()}, body)


def says(body: bytes) -> Misbehaviour:
    return lambda _: (200, {}, body)


def changed(change: Callable[[list[dict[str, Any]]], object]) -> Misbehaviour:
    return lambda handler: handler.good(change)


def silent(handler: Handler) -> None:
    handler.endpoint.released.wait(10)


def dropped(handler: Handler) -> None:
    handler.connection.shutdown(socket.SHUT_RDWR)


def cut(handler: Handler) -> Answer:
    _, _, body = handler.good()
    return 200, {"Content-Length": str(len(body) + 9), "Connection": "close"}, body


def drips(handler: Handler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "100")
    handler.end_headers()
    for _ in range(100):
        handler.wfile.write(b" ")
        if handler.endpoint.released.wait(0.05):
            return


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    endpoint = Endpoint()
    handler = type("OneEndpoint", (Handler,), {"endpoint": endpoint})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.handle_error = lambda *_: None  # type: ignore[method-assign]  # a client that has gone
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        endpoint.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        yield endpoint
        endpoint.released.set()
        server.shutdown()
        thread.join()


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that were waited before tries, without waiting."""
    waited: list[float] = []
    monkeypatch.setattr(time, "sleep", waited.append)
    return waited


def embedder_of(endpoint: Endpoint, **options: Any) -> OpenAIEmbedder:
    return OpenAIEmbedder(endpoint.url, "hashing", **({"dimension": 16, "timeout": 5} | options))


TEXTS = [f"text number {number}" for number in range(7)]


def test_texts_go_in_batches_and_come_back_in_order(endpoint: Endpoint) -> None:
    embedder = embedder_of(endpoint, batch_size=3, api_key="sk-secret")
    assert isinstance(embedder, Embedder)
    endpoint.commands = [changed(lambda data: data.reverse())]  # the index counts, not the order
    rows, usable = checked_documents(embedder, TEXTS)
    assert usable.all()
    assert np.allclose(rows, endpoint.model.embed_documents(TEXTS), atol=1e-6)
    assert [request["input"] for request in endpoint.requests] == [TEXTS[:3], TEXTS[3:6], TEXTS[6:]]
    assert {(r["path"], r["model"], "dimensions" in r) for r in endpoint.requests} == {
        ("/v1/embeddings", "hashing", False)
    }
    assert endpoint.headers[0]["Authorization"] == "Bearer sk-secret"
    assert "sk-secret" not in repr(embedder)


def test_options_of_the_request(endpoint: Endpoint) -> None:
    embedder = embedder_of(endpoint, shorten=True, query_prefix="query: ", document_prefix="passage: ")
    embedder.embed_documents(["a"])
    embedder.embed_query("b")
    assert [(r["input"], r["dimensions"]) for r in endpoint.requests] == [(["passage: a"], 16), (["query: b"], 16)]
    assert "Authorization" not in endpoint.headers[0]


def test_the_dimension_is_asked_for_once_if_nobody_said_it(endpoint: Endpoint) -> None:
    embedder = embedder_of(endpoint, dimension=None)
    assert endpoint.requests == []
    assert embedder.dimension == embedder.dimension == 16
    assert len(endpoint.requests) == 1
    assert fingerprint(embedder) == fingerprint(embedder_of(endpoint))


@pytest.mark.parametrize(
    ("command", "kind", "message"),
    [
        (refuses(401, "wrong key sk-secret"), "auth", "401 Unauthorized: wrong key …; check api_key"),
        (refuses(403), "auth", "check api_key"),
        (refuses(404), "protocol", "404 Not Found: told to; check url and model"),
        (refuses(400, "too long"), "input", "400 Bad Request: too long"),
        (refuses(413), "input", "413"),
        (refuses(302, Location="http://elsewhere/"), "protocol", "redirects to http://elsewhere/; give that address"),
        (says(b"<html>"), "protocol", "not answer with JSON: b'<html>'"),
        (says(b"[]"), "protocol", "did not answer with embeddings"),
        (says(b'{"error": "no such model"}'), "protocol", "did not answer with embeddings: no such model"),
        (changed(lambda data: data.pop()), "protocol", "gave 1 vectors for 2 texts"),
        (changed(lambda data: data.append(data[0])), "protocol", "gave 3 vectors for 2 texts"),
        (changed(lambda data: data[0].update(index=1)), "protocol", "gave 2 vectors for 2 texts"),
        (changed(lambda data: data[0]["embedding"].pop()), "protocol", "did not answer with embeddings"),
        (changed(lambda data: [e["embedding"].pop() for e in data]), "protocol", "15 dimensions, not 16"),
        (changed(lambda data: data[1].update(embedding=[float("nan")] * 16)), "protocol", "not finite"),
        (changed(lambda data: data[1].update(embedding=[1e300] * 16)), "protocol", "not finite"),
        (changed(lambda data: data[0].update(embedding=None)), "protocol", "did not answer with embeddings"),
        (changed(lambda data: [e.update(embedding=1.5) for e in data]), "protocol", r"vectors of shape \(\)"),
    ],
    ids=[
        "401", "403", "404", "400", "413", "302", "html", "list", "error", "few", "many", "twice", "ragged",
        "dimension", "nan", "huge", "null", "number",
    ],
)  # fmt: skip
def test_what_another_try_would_not_mend_fails_at_once(
    endpoint: Endpoint, waits: list[float], command: Misbehaviour, kind: str, message: str
) -> None:
    endpoint.commands = [command]
    with pytest.raises(EmbedderError, match=f"the embedding endpoint {endpoint.url} .*{message}") as caught:
        embedder_of(endpoint, api_key="sk-secret").embed_documents(["a", "b"])
    assert caught.value.kind == failure_kind(caught.value) == kind
    assert "sk-secret" not in str(caught.value)
    assert (len(endpoint.requests), waits) == (1, [])


@pytest.mark.parametrize(
    ("command", "kind", "wait"),
    [
        (refuses(429, Retry_After="7"), "rate limit", 7),
        (refuses(429, Retry_After="soon"), "rate limit", 0.5),
        (refuses(429, Retry_After="nan"), "rate limit", 0.5),
        (refuses(429), "rate limit", 0.5),
        (refuses(500), "server", 0.5),
        (refuses(503, Retry_After="2"), "server", 2),
        (refuses(504), "timeout", 0.5),
        (dropped, "network", 0.5),
        (cut, "network", 0.5),
    ],
    ids=["429 after", "429 words", "429 nan", "429", "500", "503", "504", "dropped", "cut"],
)
def test_what_may_pass_is_tried_again(
    endpoint: Endpoint, waits: list[float], command: Misbehaviour, kind: str, wait: float
) -> None:
    endpoint.commands = [command]
    assert embedder_of(endpoint).embed_documents(["a", "b"]).shape == (2, 16)
    assert waits == [wait]

    endpoint.commands = [command] * 2
    with pytest.raises(EmbedderError) as caught:
        embedder_of(endpoint, retries=1).embed_documents(["a", "b"])
    assert caught.value.kind == kind


def test_waits_double_and_have_an_end(endpoint: Endpoint, waits: list[float]) -> None:
    endpoint.commands = [refuses(500)] * 9
    with pytest.raises(EmbedderError, match="500 Internal Server Error"):
        embedder_of(endpoint).embed_documents(["a"])
    assert waits == [0.5, 1, 2]
    assert len(endpoint.requests) == 4


def test_a_date_to_wait_for_is_understood_and_one_too_far_fails_at_once(endpoint: Endpoint, waits: list[float]) -> None:
    endpoint.commands = [refuses(429, Retry_After=email.utils.formatdate(time.time() + 30, usegmt=True))]
    embedder_of(endpoint).embed_documents(["a"])
    assert waits == [pytest.approx(30, abs=2)]
    endpoint.commands = [refuses(429, Retry_After="3600")]
    with pytest.raises(EmbedderError, match="it asks to wait 3600 s") as caught:
        embedder_of(endpoint).embed_documents(["a"])
    assert caught.value.kind == "rate limit"
    assert len(waits) == 1


@pytest.mark.parametrize("command", [silent, drips])
def test_a_slow_answer_is_a_timeout(endpoint: Endpoint, command: Misbehaviour) -> None:
    endpoint.commands = [command]
    begun = time.monotonic()
    with pytest.raises(EmbedderError, match=r"did not answer within 0\.2 s") as caught:
        embedder_of(endpoint, timeout=0.2, retries=0).embed_documents(["a"])
    assert caught.value.kind == "timeout"
    assert time.monotonic() - begun < 2


def test_all_tries_of_a_query_share_its_timeout(endpoint: Endpoint) -> None:
    endpoint.commands = [refuses(500)] * 9
    begun = time.monotonic()
    with pytest.raises(EmbedderError, match="500"):
        embedder_of(endpoint, timeout=0.4).embed_query("a")
    assert time.monotonic() - begun < 0.4
    assert len(endpoint.requests) == 1


def test_nobody_there_is_a_network_failure(waits: list[float]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with pytest.raises(EmbedderError, match="cannot be reached") as caught:
        OpenAIEmbedder(f"http://127.0.0.1:{port}/v1", "m", dimension=3, retries=1).embed_documents(["a"])
    assert (caught.value.kind, waits) == ("network", [0.5])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"url": "localhost:80"}, "url must be an http"),
        ({"url": "http://me:secret@host/"}, "as api_key"),
        ({"api_key": "a\nb"}, "api_key holds"),
        ({"dimension": 0}, "dimension must be at least 1"),
        ({"batch_size": 0}, "batch_size must be at least 1"),
        ({"retries": -1}, "retries must be at least 0"),
        ({"timeout": 0}, "timeout is 0"),
        ({"shorten": True}, "shorten needs"),
    ],
    ids=["url", "password", "key", "dimension", "batch", "retries", "timeout", "shorten"],
)
def test_options_without_sense_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        OpenAIEmbedder(**({"url": "http://localhost/v1", "model": "m"} | options))


def test_a_world_is_embedded_and_searched_by_an_endpoint(endpoint: Endpoint, waits: list[float]) -> None:
    with worlds.open(embedder=embedder_of(endpoint)) as world:
        world.add([("urn:a", "urn:p", '"red kite"'), ("urn:b", "urn:p", '"solar cell"')])
        assert world.search("red kite", mode="vector")[0].text == "red kite"
        endpoint.commands = [refuses(500)] * 9
        change = world.add([("urn:c", "urn:p", '"blue whale"')])
        assert change.added == 1
        assert "are not embedded yet" in change.notes[0]
        assert world.stats().pending == 1
        endpoint.commands = []
        assert world.embed() == 1


# A chain of embedders


def test_a_chain_moves_on_remembers_and_is_reset(endpoint: Endpoint, waits: list[float]) -> None:
    first, second = embedder_of(endpoint, retries=0), HashingEmbedder(16)
    second.fingerprint = first.fingerprint  # type: ignore[attr-defined]
    chain = FallbackEmbedder([first, second])
    assert isinstance(chain, Embedder)
    assert (chain.name, chain.dimension, chain.fingerprint) == ("hashing", 16, first.fingerprint)
    assert chain.max_tokens == 256
    assert chain.count_tokens("one two three") >= 5
    assert endpoint.requests == []

    checked_query(chain, "a")
    assert (len(endpoint.requests), second.queries) == (1, 0)
    endpoint.commands = [refuses(429)]
    rows, _ = checked_documents(chain, TEXTS)
    assert np.allclose(rows, endpoint.model.embed_documents(TEXTS), atol=1e-6)
    assert {member: error.kind for member, error in chain.failures.items()} == {"1. hashing": "rate limit"}
    checked_query(chain, "a")
    assert (len(endpoint.requests), second.queries) == (2, 1)

    chain.reset()
    assert chain.failures == {}
    checked_query(chain, "a")
    assert (len(endpoint.requests), second.queries) == (3, 1)


def test_texts_that_one_does_not_take_are_no_reason_to_give_it_up(endpoint: Endpoint) -> None:
    first, second = embedder_of(endpoint), HashingEmbedder(16)
    second.fingerprint = first.fingerprint  # type: ignore[attr-defined]
    chain = FallbackEmbedder([first, second])
    endpoint.commands = [refuses(400)]
    assert chain.embed_documents(["a"]).shape == (1, 16)
    assert (chain.failures, second.documents) == ({}, 1)
    chain.embed_documents(["a"])
    assert second.documents == 1


def test_when_all_fail_the_error_says_why_each_did() -> None:
    members = [HashingEmbedder(fail_after=0), HashingEmbedder(fail_after=0)]
    chain = FallbackEmbedder(members)
    pattern = r"none of 2 embedders answers; reset\(\) .*: 1\. \(other\) .*told to fail.*; 2\. \(other\) .*told to fail"
    for _ in range(2):
        with pytest.raises(EmbedderError, match=pattern):
            chain.embed_documents(["a"])
    for member in members:
        member.fail_after = None
    chain.reset()
    assert chain.embed_documents(["a"]).shape == (1, 32)


def test_members_must_fit_one_another(endpoint: Endpoint) -> None:
    with pytest.raises(ValueError, match="at least one"):
        FallbackEmbedder([])
    with pytest.raises(ValueError, match=r"vectors of one model; hashing has 8 .*hashing has 16"):
        FallbackEmbedder([HashingEmbedder(16), HashingEmbedder(8)])
    with pytest.raises(ValueError, match="vectors of one model"):
        FallbackEmbedder([HashingEmbedder(16), embedder_of(endpoint)])
    same = HashingEmbedder(16)
    FallbackEmbedder([same, embedder_of(endpoint, fingerprint=fingerprint(same))])


def test_a_member_that_cannot_be_reached_is_compared_when_it_is_first_asked(endpoint: Endpoint) -> None:
    endpoint.commands = [refuses(401)]
    away = embedder_of(endpoint, dimension=None, fingerprint=fingerprint(HashingEmbedder(8)))
    chain = FallbackEmbedder([away, HashingEmbedder(8)])
    with pytest.raises(ValueError, match="vectors of one model; hashing has 16"):
        chain.embed_query("a")


def test_a_world_goes_on_with_the_next_of_a_chain(endpoint: Endpoint) -> None:
    first, second = embedder_of(endpoint), HashingEmbedder(16)
    second.fingerprint = first.fingerprint  # type: ignore[attr-defined]
    endpoint.commands = [refuses(401)]
    with worlds.open(embedder=FallbackEmbedder([first, second])) as world:
        assert world.add([("urn:a", "urn:p", '"red kite"')]).notes == ()
        assert world.search("red kite", mode="vector")[0].text == "red kite"
        assert world.stats().pending == 0
