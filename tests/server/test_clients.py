"""Real SPARQL clients against a real server: SPARQLWrapper, and rdflib's stores."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the server is an extra")
pytest.importorskip("SPARQLWrapper", reason="SPARQLWrapper is not installed")

import rdflib
import SPARQLWrapper
from rdflib.namespace import FOAF, RDF
from rdflib.plugins.stores.sparqlstore import SPARQLStore, SPARQLUpdateStore
from SPARQLWrapper.SPARQLExceptions import QueryBadFormed

import worlds
from benchmarks import server as benchmark
from tests.support.serving import served

EX = rdflib.Namespace("https://example.org/")
PEOPLE = EX.people

pytestmark = pytest.mark.filterwarnings("ignore:.*:DeprecationWarning")  # of the clients


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("clients") / "kb.db"
    worlds.open(path, embedder=None).close()
    return path


@pytest.fixture(scope="module")
def address(file: Path) -> Iterator[str]:
    with served(file, "--allow-writes") as server:
        yield f"{server.url}/sparql"


@pytest.fixture
def endpoint(address: str) -> str:
    run(address, "DROP ALL")
    run(
        address,
        """
        PREFIX ex: <https://example.org/>
        INSERT DATA {
            ex:ann a foaf:Person ; foaf:name "Ann", "Änn"@de ; foaf:age 42 ; foaf:knows ex:bob, [ foaf:name "?" ] .
            GRAPH ex:people { ex:bob a foaf:Person ; foaf:name "Bob" }
        }""",
    )
    return address


def wrapper(endpoint: str, text: str, **options: str) -> Any:
    client = SPARQLWrapper.SPARQLWrapper(endpoint)
    client.setQuery(text)
    for name, value in options.items():
        getattr(client, f"set{name.title()}")(value)
    return client


def run(endpoint: str, text: str) -> None:
    wrapper(endpoint, text, method="POST").query().response.close()


NAMES = "SELECT ?name { ?s foaf:name ?name FILTER(isIRI(?s)) } ORDER BY ?name"


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("request_method", ["urlencoded", "postdirectly"])
def test_sparqlwrapper_reads_solutions(endpoint: str, method: str, request_method: str) -> None:
    client = wrapper(endpoint, NAMES, method=method)
    if method == "POST":
        client.setRequestMethod(request_method)
    client.setReturnFormat(SPARQLWrapper.JSON)
    found = client.queryAndConvert()
    assert [(row["name"]["value"], row["name"].get("xml:lang")) for row in found["results"]["bindings"]] == [
        ("Ann", None),
        ("Änn", "de"),
    ]


def test_sparqlwrapper_reads_every_format_of_solutions(endpoint: str) -> None:
    for name in (SPARQLWrapper.JSON, SPARQLWrapper.XML, SPARQLWrapper.CSV, SPARQLWrapper.TSV):
        client = wrapper(endpoint, NAMES)
        client.setReturnFormat(name)
        found = client.queryAndConvert()
        shown = found.toxml() if hasattr(found, "toxml") else found.decode() if isinstance(found, bytes) else str(found)
        assert "Ann" in shown
        assert "Änn" in shown


@pytest.mark.parametrize("name", ["turtle", "n3", "rdf+xml", "xml", "json-ld"])
def test_sparqlwrapper_reads_graphs(endpoint: str, name: str) -> None:
    client = wrapper(endpoint, "CONSTRUCT WHERE { ?s foaf:name ?name }")
    client.setReturnFormat(name)
    found = client.queryAndConvert()
    graph = found if isinstance(found, rdflib.Graph) else rdflib.Graph().parse(data=found, format="turtle")
    assert set(graph.objects(EX.ann, FOAF.name)) == {rdflib.Literal("Ann"), rdflib.Literal("Änn", lang="de")}


def test_sparqlwrapper_asks_of_the_graphs_that_it_names(endpoint: str) -> None:
    client = wrapper(endpoint, "ASK { ?s foaf:name 'Bob' }")
    client.setReturnFormat(SPARQLWrapper.JSON)
    assert client.queryAndConvert()["boolean"] is False
    client.addDefaultGraph(str(PEOPLE))
    assert client.queryAndConvert()["boolean"] is True
    client = wrapper(endpoint, "ASK { GRAPH ?g { ?s foaf:name 'Bob' } }")
    client.setReturnFormat(SPARQLWrapper.JSON)
    client.addNamedGraph(str(EX.nowhere))
    assert client.queryAndConvert()["boolean"] is False


def test_sparqlwrapper_is_told_what_is_wrong(endpoint: str) -> None:
    with pytest.raises(QueryBadFormed, match="line 1, column 10: .*write FROM"):
        wrapper(endpoint, "SELECT * FORM {}").query()


@pytest.mark.parametrize("method", ["GET", "POST", "POST_FORM"])
def test_rdflib_reads_through_a_graph(endpoint: str, method: Any) -> None:
    store = SPARQLStore(endpoint, method=method, returnFormat="json")
    graph = rdflib.Graph(store)
    assert (EX.ann, RDF.type, FOAF.Person) in graph
    assert set(graph.objects(EX.ann, FOAF.name)) == {rdflib.Literal("Ann"), rdflib.Literal("Änn", lang="de")}
    assert graph.value(EX.ann, FOAF.age).toPython() == 42  # type: ignore[union-attr]
    assert [str(row.name) for row in graph.query(NAMES)] == ["Ann", "Änn"]  # type: ignore[union-attr]
    assert bool(graph.query("ASK { ?s foaf:name 'Ann' }"))
    store = SPARQLStore(endpoint, method=method)  # asks for XML, of results and of graphs
    assert len(rdflib.Graph(store, identifier=PEOPLE)) == 2
    construct = "CONSTRUCT { ?s foaf:nick ?n } WHERE { ?s foaf:name ?n FILTER(isIRI(?s)) }"
    constructed = rdflib.Graph(store).query(construct).graph
    assert constructed is not None
    assert set(constructed.objects(EX.ann, FOAF.nick)) == {rdflib.Literal("Ann"), rdflib.Literal("Änn", lang="de")}


@pytest.mark.parametrize("direct", [True, False])
def test_rdflib_writes_through_a_graph(endpoint: str, direct: bool) -> None:
    store = SPARQLUpdateStore(endpoint, endpoint, postAsEncoded=not direct)
    graph = rdflib.Graph(store, identifier=PEOPLE)
    graph.add((EX.cy, FOAF.name, rdflib.Literal('C\n"y" é')))
    assert graph.value(EX.cy, FOAF.name) == rdflib.Literal('C\n"y" é')
    graph.remove((EX.bob, None, None))
    assert set(graph.subjects()) == {EX.cy}
    graph.update("DELETE { ?s ?p ?o } INSERT { ?s foaf:nick ?o } WHERE { ?s ?p ?o }")
    assert set(graph.predicates(EX.cy)) == {FOAF.nick}
    dataset = rdflib.Dataset(store)
    assert PEOPLE in {context.identifier for context in dataset.contexts()}


def test_rdflib_loads_a_graph_from_its_address(endpoint: str) -> None:
    graph = rdflib.Graph().parse(endpoint.replace("/sparql", "/graphs?graph=") + str(PEOPLE))
    assert set(graph.objects(EX.bob, FOAF.name)) == {rdflib.Literal("Bob")}


@pytest.mark.slow
def test_many_clients_at_once_meet_no_error_and_read_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "busy.db"
    texts = benchmark.build(path, 300)
    server = benchmark.Server(path)
    try:
        found = benchmark.load(server, texts, clients=6, seconds=3, pause=0.02, first=1)
    finally:
        server.stop()
    assert found.errors == []
    assert found.lost == 0
    assert found.following > 1
    assert set(found.kinds) >= {"search", "lookup", "join", "count", "search in SPARQL", "write", "read after it"}
    with worlds.open(path, embedder=benchmark.Synthetic()) as world:
        assert world.check().ok
        assert world.stats().pending == 0


def test_what_clients_wrote_is_a_sound_world(endpoint: str, file: Path) -> None:
    with worlds.open(file, embedder=None, read_only=True) as world:
        assert len(world) == 9
        assert world.check().ok
