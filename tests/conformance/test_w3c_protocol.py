"""The W3C tests of the SPARQL Protocol, the Graph Store Protocol and the Service Description, against a real server.

Each test has a world of its own; see docs/conformance.md.
"""

from __future__ import annotations

import http.client
import json
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from email.message import Message
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pyoxigraph as ox
import pytest

pytest.importorskip("starlette", reason="the server is an extra")

import worlds
from tests.support.serving import Served, served
from tests.support.w3c import BASE, MF, RDF, RDFS, UT, NotHereError, canonical, files, read

try:
    files()
except NotHereError as missing:
    pytest.skip(str(missing), allow_module_level=True)

HT = "http://www.w3.org/2011/http#"
CNT = "http://www.w3.org/2011/content#"
SD = "http://www.w3.org/ns/sparql-service-description#"
RESULTS = {
    "application/sparql-results+json",
    "application/sparql-results+xml",
    "text/csv",
    "text/tab-separated-values",
}
STATUS = {
    "OK": {200},
    "Created": {201},
    "NoContent": {204},
    "NotFound": {404},
    **{f"StatusCode{digit}xx": set(range(digit * 100, digit * 100 + 100)) for digit in (2, 3, 4)},
}

_NO_STOP = "a document of an earlier request lacks its last full stop, so it is no Turtle"
FAILURES = {
    "put__default_graph": "it expects that the default graph is made; here it is always there, so the answer is 204",
    "delete__existing_graph": "no test before it has made the graph that it deletes",
    "post__existing_graph": "its document lacks the last full stop, so it is no Turtle",
    "get_of_post__existing_graph": "it expects a name that another request has replaced",
    "post__multipart_formdata": "its documents lack their last full stops, so they are no Turtle",
    "get_of_post__multipart_formdata": _NO_STOP,
}
"""Tests of the folder http-rdf-update, which the W3C has deprecated in favour of graph-store-protocol."""


# --- the manifests ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Exchange:
    """One request, and what is expected of its answer; an empty set of statuses expects nothing."""

    method: str
    path: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    statuses: frozenset[int] = frozenset()
    boolean: bool | None = None
    format: str | None = None
    content_type: str | None = None
    document: str | None = None
    location: str | None = None


@dataclass(frozen=True)
class ProtocolTest:
    iri: str
    folder: str
    exchanges: tuple[Exchange, ...]
    graphs: tuple[tuple[str, str], ...] = field(default=())  # graph name, file

    @property
    def name(self) -> str:
        return self.iri.rpartition("#")[2]


class Manifest:
    def __init__(self, path: str) -> None:
        self.folder = path.split("/")[-2]
        self._values: dict[tuple[Any, str], list[Any]] = {}
        for quad in ox.parse(files()[path], ox.RdfFormat.TURTLE, base_iri=BASE + path):
            self._values.setdefault((quad.subject, quad.predicate.value), []).append(quad.object)

    def values(self, subject: Any, predicate: str) -> list[Any]:
        return self._values.get((subject, predicate), [])

    def value(self, subject: Any, predicate: str) -> Any:
        return next(iter(self.values(subject, predicate)), None)

    def text(self, subject: Any, predicate: str) -> str | None:
        found = self.value(subject, predicate)
        return None if found is None else found.value

    def items(self, head: Any) -> Iterator[Any]:
        while head is not None and head.value != RDF + "nil":
            yield self.value(head, RDF + "first")
            head = self.value(head, RDF + "rest")

    def of_type(self, kind: str) -> list[Any]:
        """In the order of the file."""
        return [
            subject
            for (subject, predicate), kinds in self._values.items()
            if predicate == RDF + "type" and ox.NamedNode(MF + kind) in kinds
        ]

    def tests(self, kind: str) -> Iterator[ProtocolTest]:
        for entry in self.of_type(kind):
            action = self.value(entry, MF + "action")
            if action is None:
                continue
            exchanges = tuple(self._exchange(item) for item in self.items(self.value(action, HT + "requests")))
            graphs = tuple(
                (self.value(data, RDFS + "label").value, self.value(data, UT + "graph").value)
                for data in self.values(entry, UT + "graphData")
            )
            yield ProtocolTest(entry.value, self.folder, exchanges, graphs)

    def _exchange(self, request: Any) -> Exchange:
        response = self.value(request, HT + "resp")
        headers = tuple(self._headers(request))
        expected = dict(self._headers(response))
        statuses = [STATUS[status.value.rpartition("#")[2]] for status in self.values(response, MF + "expectedStatus")]
        boolean = self.text(response, MF + "expectedBoolean")
        return Exchange(
            self.text(request, HT + "methodName") or "",
            self.text(request, HT + "absolutePath") or "",
            headers,
            self._body(request),
            frozenset().union(*statuses),
            None if boolean is None else boolean == "true",
            self.text(response, MF + "expectedFormat"),
            expected.get("content-type"),
            self._body(response).decode() if self.value(response, HT + "body") is not None else None,
            self.text(response, MF + "expectedLocation"),
        )

    def _headers(self, message: Any) -> Iterator[tuple[str, str]]:
        for header in self.items(self.value(message, HT + "headers")):
            yield (self.text(header, HT + "fieldName") or "").lower(), self.text(header, HT + "fieldValue") or ""

    def _body(self, message: Any) -> bytes:
        body = self.value(message, HT + "body")
        if body is None:
            return b""
        text = self.text(body, CNT + "chars") or ""
        return text.encode(self.text(body, CNT + "characterEncoding") or "utf-8")


SPARQL11 = "sparql/sparql11/"
PROTOCOL = list(Manifest(f"{SPARQL11}protocol/manifest.ttl").tests("ProtocolTest"))
GRAPH_STORE = [
    test
    for kind in ("direct", "indirect")
    for test in Manifest(f"{SPARQL11}graph-store-protocol/manifest-{kind}.ttl").tests("GraphStoreProtocolTest")
]


def _deprecated() -> Iterator[tuple[str, Exchange]]:
    """The tests of http-rdf-update, whose requests and responses are told in comments; each follows the one before."""
    manifest = Manifest(f"{SPARQL11}http-rdf-update/manifest.ttl")
    for entry in manifest.of_type("GraphStoreProtocolTest"):
        comment = max((found.value for found in manifest.values(entry, RDFS + "comment")), key=len)
        request, response = (
            textwrap.dedent(part).strip("\n") for part in re.split(r"#### Re(?:quest|sponse)", comment)[1:]
        )
        (line, *fields), _, body = _message(request)
        method, path, _ = line.split(" ")
        (status, *answer), _, document = _message(response)
        headers = tuple((name.lower(), value.strip()) for name, _, value in (one.partition(":") for one in fields))
        expected = {name.lower(): value.strip() for name, _, value in (one.partition(":") for one in answer)}
        number = int(status.split()[0])
        yield (
            entry.value.rpartition("#")[2],
            Exchange(
                method,
                path,
                tuple(header for header in headers if header[0] != "host"),
                body.encode(),
                frozenset({200, 204} if number in (200, 204) and not document and method != "HEAD" else {number}),
                content_type=expected.get("content-type"),
                document=document or None,
                location="$NEWPATH$" if "location" in expected else None,
            ),
        )


def _message(text: str) -> tuple[list[str], str, str]:
    head, blank, body = text.partition("\n\n")
    return head.split("\n"), blank, body


DEPRECATED = list(_deprecated())


# --- running them -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("w3c") / "worlds"
    folder.mkdir()
    return folder


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Served]:
    with served(folder, "--allow-writes") as found:
        yield found


class Answer(NamedTuple):
    status: int
    headers: Message
    content: bytes


class Endpoint:
    """The endpoints of a world that is made for one test."""

    def __init__(self, server: Served, name: str) -> None:
        self.host = urlsplit(server.url).netloc
        self.base = f"/worlds/{name}"
        self.url = server.url + self.base
        self._connection = http.client.HTTPConnection(self.host, timeout=60)

    def send(self, method: str, path: str, body: bytes = b"", headers: tuple[tuple[str, str], ...] = ()) -> Answer:
        self._connection.putrequest(method, path)
        for name, value in headers:
            self._connection.putheader(name, value)
        if body:
            self._connection.putheader("content-length", str(len(body)))
        self._connection.endheaders(body)
        response = self._connection.getresponse()
        return Answer(response.status, response.headers, response.read())

    def close(self) -> None:
        self._connection.close()


@pytest.fixture
def endpoint(server: Served, folder: Path, request: pytest.FixtureRequest) -> Iterator[Endpoint]:
    name = re.sub(r"[^A-Za-z0-9]+", "-", request.node.name)[-60:].strip("-")
    worlds.open(folder / f"{name}.db", embedder=None).close()
    found = Endpoint(server, name)
    yield found
    found.close()


def exchange(endpoint: Endpoint, given: Exchange, values: dict[str, str]) -> None:
    """Send a request, in which `values` take the place of their names, and compare the answer with the expected one."""

    def filled(text: str) -> str:
        for name, value in values.items():
            text = text.replace(name, value)
        return text

    path = filled(given.path).removeprefix(f"http://{endpoint.host}")
    body = filled(given.body.decode()).encode() if values else given.body
    response = endpoint.send(given.method, path, body, given.headers)
    content = response.content
    if given.location and (location := response.headers["location"]):
        values[given.location] = location
    assert response.status in given.statuses, content
    media_type = (response.headers["content-type"] or "").partition(";")[0]
    if given.boolean is not None:
        assert json.loads(content)["boolean"] is given.boolean
    if given.format == "boolean":
        assert media_type in ("application/sparql-results+json", "application/sparql-results+xml")
    elif given.format == "tabular":
        assert media_type in RESULTS
    elif given.format == "RDF":
        assert list(parsed(content, media_type)) or b"DESCRIBE" in given.body  # it describes nothing that is there
    if given.content_type is not None:
        assert response.headers["content-type"].lower() == given.content_type
    if given.location:
        assert response.headers["location"]
    if given.document is not None:
        expected = parsed(filled(given.document).encode(), (given.content_type or "").partition(";")[0])
        assert canonical(parsed(content, media_type)) == canonical(expected)


def parsed(content: bytes, media_type: str) -> list[ox.Quad]:
    format = ox.RdfFormat.from_media_type(media_type)
    assert format is not None, media_type
    return list(ox.parse(content, format=format))


@pytest.mark.parametrize("test", [pytest.param(test, id=test.name) for test in PROTOCOL])
def test_protocol(test: ProtocolTest, endpoint: Endpoint) -> None:
    for graph, file in test.graphs:
        path = f"{endpoint.base}/graphs?graph={graph}"
        assert endpoint.send("PUT", path, read(file), (("content-type", "application/n-triples"),)).status == 201
    for one in test.exchanges:
        assert one.path.startswith("/sparql/")
        exchange(endpoint, _at(one, endpoint.base + "/sparql" + one.path.removeprefix("/sparql/")), {})


@pytest.mark.parametrize("test", [pytest.param(test, id=test.name) for test in GRAPH_STORE])
def test_graph_store(test: ProtocolTest, endpoint: Endpoint) -> None:
    values: dict[str, str] = {}
    for one in test.exchanges:
        assert one.path.startswith("/gsp")
        exchange(endpoint, _at(one, endpoint.base + "/graphs" + one.path.removeprefix("/gsp")), values)


def _at(given: Exchange, path: str) -> Exchange:
    return Exchange(**{**vars(given), "path": path})


@pytest.fixture(scope="module")
def replayed(server: Served, folder: Path) -> dict[str, AssertionError | None]:
    """What each test found: they are one long exchange, so they all run one after the other."""
    worlds.open(folder / "deprecated.db", embedder=None).close()
    endpoint = Endpoint(server, "deprecated")
    store = "worlds/deprecated/graphs"
    values = {"$HOST$": endpoint.host, "/$GRAPHSTORE$": f"/{store}", "$GRAPHSTORE$": f"/{store}"}
    found: dict[str, AssertionError | None] = {}
    for name, one in DEPRECATED:
        found[name] = None
        try:
            exchange(endpoint, one, values)
        except AssertionError as error:
            found[name] = error
    endpoint.close()
    return found


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name,
            marks=[pytest.mark.xfail(strict=True, reason=FAILURES[name], raises=AssertionError)]
            if name in FAILURES
            else [],
        )
        for name, _ in DEPRECATED
    ],
)
def test_graph_store_deprecated(name: str, replayed: dict[str, AssertionError | None]) -> None:
    error = replayed[name]
    if error is not None:
        raise error


def test_the_failures_are_of_tests_that_there_are() -> None:
    assert FAILURES.keys() <= {name for name, _ in DEPRECATED}
    assert (len(PROTOCOL), len(GRAPH_STORE), len(DEPRECATED)) == (34, 14, 18)


# --- service description ----------------------------------------------------------------------------------------------

_SCHEMA = {  # property → the class of its subject, and of its value
    "endpoint": ("Service", None),
    "supportedLanguage": ("Service", "Language"),
    "resultFormat": ("Service", None),
    "inputFormat": ("Service", None),
    "feature": ("Service", "Feature"),
    "propertyFeature": ("Service", "Feature"),
    "extensionFunction": ("Service", "Function"),
    "defaultDataset": ("Service", "Dataset"),
    "defaultGraph": ("Dataset", "Graph"),
    "namedGraph": ("Dataset", "NamedGraph"),
    "name": ("NamedGraph", None),
}
_INSTANCES = {
    "Language": {"SPARQL10Query", "SPARQL11Query", "SPARQL11Update"},
    "Feature": {"DereferencesURIs", "UnionDefaultGraph", "RequiresDataset", "EmptyGraphs", "BasicFederatedQuery"},
}
"""What the vocabulary itself says the class of."""


def described(endpoint: Endpoint) -> list[ox.Quad]:
    response = endpoint.send("GET", f"{endpoint.base}/sparql")
    assert response.status == 200
    return parsed(response.content, (response.headers["content-type"] or "").partition(";")[0])


def test_service_description_returns_rdf(endpoint: Endpoint) -> None:
    assert described(endpoint)


def test_service_description_has_endpoint_triple(endpoint: Endpoint) -> None:
    (triple,) = [quad for quad in described(endpoint) if quad.predicate.value == SD + "endpoint"]
    assert triple.object == ox.NamedNode(f"{endpoint.url}/sparql")


def test_service_description_conforms_to_schema(endpoint: Endpoint) -> None:
    named = f"{endpoint.base}/graphs?graph=http://example.org/g"
    assert endpoint.send("PUT", named, b"<a> <b> <c> .", (("content-type", "text/turtle"),)).status == 201
    quads = described(endpoint)
    kinds = {(quad.subject, quad.object) for quad in quads if quad.predicate.value == RDF + "type"}
    used = set()
    for quad in quads:
        if not quad.predicate.value.startswith(SD):
            assert quad.predicate.value == RDF + "type"
            continue
        name = quad.predicate.value.removeprefix(SD)
        used.add(name)
        of_subject, of_value = _SCHEMA[name]
        assert (quad.subject, ox.NamedNode(SD + of_subject)) in kinds
        assert isinstance(quad.object, ox.NamedNode if of_value in (None, "Language") else (ox.NamedNode, ox.BlankNode))
        if of_value is not None:
            known = quad.object.value.removeprefix(SD) in _INSTANCES.get(of_value, ())
            assert known or (quad.object, ox.NamedNode(SD + of_value)) in kinds
    assert used == _SCHEMA.keys()
    assert ox.NamedNode("http://example.org/g") in {
        quad.object for quad in quads if quad.predicate.value == SD + "name"
    }
