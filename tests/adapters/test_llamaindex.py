"""The LlamaIndex adapter. llama-index-core ships no standard tests: its own store in memory is what we compare with."""

from __future__ import annotations

import asyncio
import datetime
import inspect
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llama_index.core", reason="llama-index-core, of the extra llamaindex, is not installed")

from llama_index.core import PropertyGraphIndex
from llama_index.core.base.llms.types import CompletionResponse, LLMMetadata
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.graph_stores import SimplePropertyGraphStore
from llama_index.core.graph_stores.types import ChunkNode, EntityNode, LabelledNode, PropertyGraphStore, Relation
from llama_index.core.indices.property_graph import ImplicitPathExtractor, TextToCypherRetriever, VectorContextRetriever
from llama_index.core.llms import CustomLLM
from llama_index.core.schema import MetadataMode, NodeRelationship, QueryBundle, TextNode
from llama_index.core.vector_stores.types import MetadataFilter, MetadataFilters, VectorStoreQuery

import worlds
from tests.support.embedder import HashingEmbedder
from worlds.adapters.llamaindex import LlamaIndexEmbedder, WorldsEmbedding, WorldsPropertyGraphStore, WorldsRetriever

ROOT = Path(__file__).resolve().parents[2]
SPACE = ROOT / "examples" / "space.ttl"


@pytest.fixture(scope="module")
def space() -> Iterator[worlds.World]:
    with worlds.open(embedder=HashingEmbedder()) as world:
        world.load(SPACE)
        yield world


# --- the retriever ----------------------------------------------------------------------------------------------------


def test_scores_by_meaning_alone_are_cosines(space: worlds.World) -> None:
    nodes = WorldsRetriever(space, limit=3, mode="vector").retrieve("aerogel comet")
    hits = space.search("aerogel comet", limit=3, mode="vector", explain=True)
    assert [node.score for node in nodes] == [hit.explain["vector"].value for hit in hits if hit.explain]
    assert all("explain" not in node.metadata for node in nodes)
    probes = worlds.Ranking(boost="2 ?subject a s:Probe")
    staged = WorldsRetriever(space, limit=3, mode="vector", ranking=probes).retrieve("aerogel comet")
    boosted = space.search("aerogel comet", limit=3, mode="vector", ranking=probes)
    assert [node.score for node in staged] == [hit.score for hit in boosted]


def test_notes_are_passed_on(space: worlds.World) -> None:
    with worlds.open(":memory:", embedder=None) as world:
        world.add([("urn:a", "rdfs:label", '"a text"')])
        retriever = WorldsRetriever(world)
        (node,) = retriever.retrieve("text")
        assert node.metadata["notes"] == list(world.search("text").notes) == list(retriever.notes)
        assert "notes" not in node.node.get_content(metadata_mode=MetadataMode.LLM)
        assert retriever.retrieve("nothing") == []
        assert retriever.notes == world.search("nothing").notes
    assert "notes" not in WorldsRetriever(space).retrieve("aerogel")[0].metadata


def test_the_context_is_one_node_for_a_language_model(space: worlds.World) -> None:
    question = "Which body did Stardust visit?"
    (node,) = WorldsRetriever(space, content="context").retrieve(question)
    told = space.context(question)
    assert node.node.get_content(metadata_mode=MetadataMode.LLM) == told.text
    assert node.metadata["facts"] == [fact.to_dict() for fact in told.facts]
    assert WorldsRetriever(space, content="context", types="s:Nothing").retrieve("?") == []
    (short,) = WorldsRetriever(space, content="context", budget=100).retrieve(question)
    assert short.metadata["tokens"] <= 100 < node.metadata["tokens"]


def test_a_node_cites_its_quads(space: worlds.World) -> None:
    options: dict[str, Any] = {"languages": "en", "predicates": "s:description", "explain": True}
    first, second = WorldsRetriever(space, limit=2, **options).retrieve("aerogel")
    hit = space.search("aerogel", limit=2, **options)[0]
    assert first.text == hit.text
    assert first.score == hit.score == first.metadata["score"]
    assert first.metadata["label"] == "Stardust"
    assert first.metadata["quads"][0][0] == "<https://worlds.example/space/Stardust>"
    assert set(first.metadata["explain"]) == {"vector", "text"}
    assert first.node.relationships[NodeRelationship.SOURCE].node_id == str(hit.subject)  # type: ignore[union-attr]
    assert first.node_id != second.node_id
    prompt = first.node.get_content(metadata_mode=MetadataMode.LLM)
    assert "Stardust" in prompt
    assert "quads" not in prompt


def test_every_option_of_a_search_is_taken(space: worlds.World) -> None:
    names = set(inspect.signature(worlds.World.search).parameters) - {"self", "text"}
    values = {name: each.default for name, each in inspect.signature(worlds.World.search).parameters.items()}
    found = WorldsRetriever(space, **{name: values[name] for name in names}).retrieve("rings")
    assert [node.text for node in found] == [hit.text for hit in space.search("rings")]
    with pytest.raises(TypeError, match="colour"):
        WorldsRetriever(space, colour="red")
    with pytest.raises(ValueError, match="content"):
        WorldsRetriever(space, content="html")  # type: ignore[arg-type]  # that is what is tested
    snippet = WorldsRetriever(space, content="snippet", mode="text", limit=1).retrieve("aerogel")[0]
    assert "**aerogel**" in snippet.text


def test_a_query_may_bring_its_embedding(space: worlds.World) -> None:
    vector = HashingEmbedder().embed_query("rings of ice").tolist()
    found = WorldsRetriever(space, limit=3, mode="vector").retrieve(QueryBundle("anything", embedding=vector))
    assert [node.text for node in found] == [hit.text for hit in space.search("rings of ice", mode="vector", limit=3)]


def test_the_retriever_answers_asynchronously(space: worlds.World) -> None:
    retriever = WorldsRetriever(space, limit=3)
    assert [node.node_id for node in asyncio.run(retriever.aretrieve("rings"))] == [
        node.node_id for node in retriever.retrieve("rings")
    ]


def test_a_grouped_text_of_several_subjects_is_not_lost(world: worlds.World) -> None:
    world.add([("urn:a", "rdfs:comment", '"the same"'), ("urn:b", "rdfs:comment", '"the same"')])
    found = WorldsRetriever(world, group_by="subject").retrieve("same")
    assert {node.metadata["subject"] for node in found} == {"urn:a", "urn:b"}


# --- the property graph, beside LlamaIndex's own ----------------------------------------------------------------------

NODES: list[LabelledNode] = [
    EntityNode(name="Ann", label="PERSON", properties={"age": 41, "tags": ["x", "y"], "since": 2.5, "ok": True}),
    EntityNode(name="Bob Smith", label="PERSON", properties={"age": 41}),
    EntityNode(name='ACME: the "Company"', label="COMPANY"),
    EntityNode(name="https://example.org/berlin", label="https://example.org/City", properties={"big": True}),
    EntityNode(name="中文 100%"),
    ChunkNode(text="Ann works for ACME.", id_="chunk-1", properties={"page": 3, "note": None}),
]
RELATIONS = [
    Relation(label="WORKS_AT", source_id="Ann", target_id="ACME: the  Company ", properties={"from": 2020}),
    Relation(label="WORKS_AT", source_id="Bob Smith", target_id="ACME: the  Company "),
    Relation(label="knows", source_id="Ann", target_id="Bob Smith"),
    Relation(label="in the city of", source_id="ACME: the  Company ", target_id="https://example.org/berlin"),
    Relation(label="MENTIONS", source_id="chunk-1", target_id="Ann"),
    Relation(label="knows", source_id="Bob Smith", target_id="Somebody new"),
]


@pytest.fixture
def store(world: worlds.World) -> WorldsPropertyGraphStore:
    return WorldsPropertyGraphStore(world)


def test_the_store_is_awaited_in_a_thread_and_cancelled(store: WorldsPropertyGraphStore) -> None:
    endless = "SELECT (COUNT(*) AS ?n) { ?a ?p ?b . ?c ?q ?d . ?e ?r ?f . ?g ?s ?h }"

    async def ask() -> list[int]:
        await store.aupsert_nodes(NODES)
        await store.aupsert_relations(RELATIONS)
        assert await store.aget() == store.get()
        assert await store.aget_triplets(ids=["Ann"]) == store.get_triplets(ids=["Ann"])
        store.world.add([(f"urn:{n}", "urn:p", n) for n in range(3000)])
        gaps = []
        query = asyncio.ensure_future(store.astructured_query(endless))
        for _ in range(50):
            began = time.monotonic()
            await asyncio.sleep(0.01)
            gaps.append(round(1000 * (time.monotonic() - began)))
        query.cancel()
        began = time.monotonic()
        with pytest.raises(asyncio.CancelledError):
            await query
        assert time.monotonic() - began < 3
        return gaps

    assert sorted(asyncio.run(ask()))[25] < 100
    assert store.get(ids=["Ann"])[0].id == "Ann"


@pytest.fixture
def both(store: WorldsPropertyGraphStore) -> tuple[PropertyGraphStore, PropertyGraphStore]:
    stores = SimplePropertyGraphStore(), store
    for each in stores:
        each.upsert_nodes(NODES)
        each.upsert_relations(RELATIONS)
    return stores


def told(found: Any) -> Any:
    """Nodes or triplets, comparable and in one order."""
    if isinstance(found, (list, tuple)):
        parts = [told(each) for each in found]
        return parts if isinstance(found, tuple) else sorted(parts, key=str)
    shown = found.model_dump(exclude={"embedding"})
    return (
        found.id,
        shown.get("name"),
        shown.get("label"),
        shown.get("properties"),
        shown.get("text"),
        shown.get("source_id"),
    )


GETS: list[dict[str, Any]] = [
    {},
    {"ids": ["Ann"]},
    {"ids": ["Ann", "Bob Smith", "nobody", "chunk-1"]},
    {"ids": ["ACME: the  Company ", "https://example.org/berlin", "中文 100%", "Somebody new"]},
    {"properties": {"age": 41}},
    {"properties": {"age": 41, "page": 3}},
    {"properties": {"age": 41}, "ids": ["Ann", "chunk-1"]},
    {"properties": {"age": "41"}},
    {"properties": {"tags": ["x", "y"]}},
    {"properties": {"ok": True}},
    {"ids": ["nobody"]},
]
TRIPLETS: list[dict[str, Any]] = [
    {},
    {"entity_names": ["Ann"]},
    {"entity_names": ["nobody"]},
    {"entity_names": ["Ann", "https://example.org/berlin"]},
    {"ids": ["Bob Smith"]},
    {"relation_names": ["WORKS_AT"]},
    {"relation_names": ["in the city of", "MENTIONS"]},
    {"entity_names": ["Ann"], "relation_names": ["WORKS_AT", "knows"]},
    {"entity_names": ["Ann"], "ids": ["Bob Smith"]},
    {"properties": {"age": 41}},
    {"properties": {"from": 2020}},
    {"properties": {"page": 3}, "entity_names": ["Ann"]},
]


@pytest.mark.parametrize("wanted", GETS, ids=str)
def test_get(both: tuple[PropertyGraphStore, PropertyGraphStore], wanted: dict[str, Any]) -> None:
    expected, found = (each.get(**wanted) for each in both)
    assert told(found) == told(expected)
    assert {type(node) for node in found} == {type(node) for node in expected}


@pytest.mark.parametrize("wanted", TRIPLETS, ids=str)
def test_get_triplets(both: tuple[PropertyGraphStore, PropertyGraphStore], wanted: dict[str, Any]) -> None:
    expected, found = (each.get_triplets(**wanted) for each in both)
    assert told(found) == told(expected)


def test_upserting_again_replaces(both: tuple[PropertyGraphStore, PropertyGraphStore]) -> None:
    again = EntityNode(name="Ann", label="CEO", properties={"age": 42})
    for each in both:
        each.upsert_nodes([again])
        each.upsert_nodes([again])
    assert told(both[1].get(ids=["Ann"])) == told(both[0].get(ids=["Ann"])) == told([again])


def test_llama_nodes_come_back(store: WorldsPropertyGraphStore) -> None:
    nodes = [TextNode(id_=f"n{n}", text=f"text {n}", metadata={"page": n, "file": "a.md"}) for n in range(3)]
    store.upsert_llama_nodes(list(nodes))
    found = store.get_llama_nodes(["n1", "n2", "n9"])
    assert [(node.node_id, node.get_content(), node.metadata) for node in found] == [
        (node.node_id, node.text, node.metadata) for node in nodes[1:]
    ]
    store.delete_llama_nodes(["n1"])
    assert [node.id for node in store.get(ids=["n1", "n2"])] == ["n2"]


# --- what the comparison does not have --------------------------------------------------------------------------------


def test_delete_takes_what_is_named_and_no_more(store: WorldsPropertyGraphStore) -> None:
    store.upsert_nodes(NODES)
    store.upsert_relations(RELATIONS)
    store.delete(relation_names=["WORKS_AT"])
    assert store.get_triplets(relation_names=["WORKS_AT"]) == []
    assert len(store.get()) == len(NODES) + 1
    assert store.get_triplets(properties={"from": 2020}) == [], "the relation's properties went with it"
    store.delete(entity_names=["Ann"])
    assert store.get(ids=["Ann"]) == []
    assert store.get_triplets(ids=["Ann"]) == []
    store.delete(properties={"page": 3})
    store.delete(ids=["Bob Smith", "Somebody new", "nobody"])
    left = {node.id for node in store.get()}
    assert left == {"ACME: the  Company ", "https://example.org/berlin", "中文 100%"}
    store.delete(ids=sorted(left))
    assert len(store.world) == 0


def test_rel_map_goes_as_far_as_it_is_told(store: WorldsPropertyGraphStore) -> None:
    chain = [Relation(label="next", source_id=str(n), target_id=str(n + 1)) for n in range(6)]
    store.upsert_relations([*chain, Relation(label="SOURCE", source_id="0", target_id="c")])
    start = store.get(ids=["0"])

    def ends(**options: Any) -> list[tuple[str, str]]:
        return [(subject.id, value.id) for subject, _, value in store.get_rel_map(start, **options)]

    assert ends(depth=1) == [("0", "c"), ("0", "1")]
    assert ends(ignore_rels=["SOURCE"]) == [("0", "1"), ("1", "2")]
    assert ends(depth=9, ignore_rels=["SOURCE"]) == [(str(n), str(n + 1)) for n in range(6)]
    assert ends(depth=9, limit=3, ignore_rels=["SOURCE"]) == [("0", "1"), ("1", "2"), ("2", "3")]
    assert store.get_rel_map([]) == []


def test_any_rdf_is_a_property_graph(space: worlds.World) -> None:
    store = WorldsPropertyGraphStore(space)
    (saturn,) = store.get(ids=["ex:Saturn"])
    assert saturn.label == "s:GasGiant"
    assert "Saturn" in saturn.properties["rdfs:label"]
    assert store.get(ids=["https://worlds.example/space/Saturn"])[0].id == "ex:Saturn"
    missions = store.get_triplets(entity_names=["ex:Saturn"], relation_names=["s:target"])
    assert ("ex:CassiniHuygens", "s:target", "ex:Saturn") in {
        (a.id, relation.label, b.id) for a, relation, b in missions
    }
    schema = store.get_schema_str()
    assert "PREFIX s: <https://worlds.example/space/schema#>" in schema
    assert "predicate s:launched: from " in schema
    assert any("s:Rover" in line for line in schema.splitlines() if line.startswith("class "))
    assert store.get_schema()["quads"] == len(space)


def test_an_upsert_leaves_what_others_said(world: worlds.World) -> None:
    world.load(SPACE)
    store = WorldsPropertyGraphStore(world, author="ann")
    before = set(world.quads())
    (saturn,) = store.get(ids=["ex:Saturn"])
    store.upsert_nodes([EntityNode(name="ex:Saturn", label="s:GasGiant", properties=saturn.properties)])
    assert set(world.quads()) == before, "writing what was read changes nothing"
    store.upsert_nodes(
        [EntityNode(name="ex:Saturn", label="s:GasGiant", properties={"rdfs:seeAlso": "a book", "n": 1})]
    )
    new = {(str(predicate), str(value)) for _, predicate, value, _ in set(world.quads()) - before}
    assert new == {("http://www.w3.org/2000/01/rdf-schema#seeAlso", "a book"), ("urn:worlds:metadata:n", "1")}
    assert before < set(world.quads())
    assert world.history()[0].author == "ann"


def test_structured_queries_are_sparql(space: worlds.World) -> None:
    store = WorldsPropertyGraphStore(space)
    rows = store.structured_query("SELECT ?day { ?mission s:launched ?day }", {"mission": "ex:CassiniHuygens"})
    assert rows == [{"day": datetime.date(1997, 10, 15)}]
    assert store.structured_query("ASK { ex:Saturn a s:GasGiant }") is True
    assert store.structured_query("```sparql\nASK { ex:Saturn a s:GasGiant }\n```") is True, "as models write it"
    assert store.structured_query("SELECT ?x { ?x a s:GasGiants }") == []
    assert "did you mean s:GasGiant" in store.notes[0]
    triples = store.structured_query("CONSTRUCT { ex:Saturn a ?t } WHERE { ex:Saturn a ?t }")
    assert triples[0][0] == "<https://worlds.example/space/Saturn>"
    with pytest.raises(worlds.QueryError):
        store.structured_query("MATCH (n) RETURN n")
    with pytest.raises(worlds.QueryError):
        store.structured_query("DELETE WHERE { ?s ?p ?o }")
    with pytest.raises(worlds.QueryTimeout):
        WorldsPropertyGraphStore(space, timeout=0.2).structured_query(
            "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }"
        )


def test_vector_queries(store: WorldsPropertyGraphStore) -> None:
    store.upsert_nodes(
        [
            EntityNode(name="red kite", label="BIRD", properties={"legs": 2, "seen": 2020}),
            EntityNode(name="red fox", label="MAMMAL", properties={"legs": 4, "seen": 2021}),
            ChunkNode(text="A red kite was seen.", id_="c", properties={"legs": 2}),
        ]
    )
    embedder = HashingEmbedder()
    question = embedder.embed_query("red kite").tolist()
    nodes, scores = store.vector_query(VectorStoreQuery(query_embedding=question, similarity_top_k=2))
    assert [node.id for node in nodes] == ["red kite", "c"]
    expected = [float(np.dot(question, embedder.embed_query(text))) for text in ("red kite", "A red kite was seen.")]
    assert scores == pytest.approx(expected, abs=1e-5)
    nodes, _ = store.vector_query(VectorStoreQuery(query_str="red kite", similarity_top_k=9))
    assert len(nodes) == 3

    def ids(*filters: Any, condition: Any = "and") -> set[str]:
        chosen = MetadataFilters(filters=list(filters), condition=condition)
        query = VectorStoreQuery(query_embedding=question, similarity_top_k=9, filters=chosen)
        return {node.id for node in store.vector_query(query)[0]}

    def by(key: str, value: Any, operator: Any = "==") -> MetadataFilter:
        return MetadataFilter(key=key, value=value, operator=operator)

    assert ids(by("legs", 2)) == {"red kite", "c"}
    assert ids(by("legs", 2), by("seen", 2020, ">=")) == {"red kite"}
    assert ids(by("legs", 4), by("seen", 2020), condition="or") == {"red kite", "red fox"}
    assert ids(by("legs", 4), by("seen", 2020), condition="not") == {"c"}
    assert ids(by("seen", None, "is_empty")) == {"c"}
    assert ids(by("seen", [2020, 2021], "nin")) == {"c"}
    assert ids(MetadataFilters(filters=[by("legs", 2)]), by("seen", 1, "!=")) == {"red kite", "c"}
    with pytest.raises(ValueError, match="contains"):
        ids(by("legs", 2, "contains"))
    query = VectorStoreQuery(query_embedding=question, similarity_top_k=9, node_ids=["red fox"])
    assert [node.id for node in store.vector_query(query)[0]] == ["red fox"]
    with pytest.raises(worlds.EmbedderError):
        store.vector_query(VectorStoreQuery(query_embedding=[1.0, 2.0]))


def test_graphs_keep_stores_apart(world: worlds.World) -> None:
    one, two = WorldsPropertyGraphStore(world, graph="urn:one"), WorldsPropertyGraphStore(world, graph="urn:two")
    one.upsert_nodes([EntityNode(name="Ann", properties={"n": 1})])
    two.upsert_nodes([EntityNode(name="Ann", properties={"n": 2})])
    assert one.get()[0].properties == {"n": 1}
    assert [node.properties for node in two.vector_query(VectorStoreQuery(query_str="Ann"))[0]] == [{"n": 2}]
    one.delete(ids=["Ann"])
    assert one.get() == []
    assert len(two.get()) == 1


def test_each_call_that_writes_is_one_revision() -> None:
    # Without the native index, which can lose some of a handful of vectors when one is removed and added again.
    with worlds.open(embedder=HashingEmbedder(), vector_index=False) as world:
        store = WorldsPropertyGraphStore(world)
        store.upsert_nodes(NODES)
        store.upsert_relations(RELATIONS)
        store.upsert_nodes(NODES)
        store.delete(ids=["Ann"])
        assert [entry.revision for entry in world.history()] == [3, 2, 1]
        world.undo(3)
        assert told(store.get(ids=["Ann"])) == told([NODES[0]])
        assert world.check().ok


class Canned(CustomLLM):
    answer: str

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata()

    def complete(self, prompt: str, formatted: bool = False, **options: Any) -> CompletionResponse:
        assert "s:launched" in prompt
        return CompletionResponse(text=self.answer)

    def stream_complete(self, prompt: str, formatted: bool = False, **options: Any) -> Any:
        raise AssertionError("nothing is streamed")


def test_a_language_model_may_write_the_query(space: worlds.World) -> None:
    model = Canned(answer="SELECT ?name { ex:CassiniHuygens rdfs:label ?name FILTER(LANG(?name) = 'en') }")
    retriever = TextToCypherRetriever(WorldsPropertyGraphStore(space), llm=model)
    assert "Cassini" in retriever.retrieve("What is Cassini called?")[0].text


def test_llamaindex_builds_and_asks_a_property_graph_index() -> None:
    with worlds.open(embedder=HashingEmbedder()) as world:
        store = WorldsPropertyGraphStore(world)
        embedding = WorldsEmbedding(HashingEmbedder())
        nodes = [TextNode(id_="a", text="The red kite nests in tall trees."), TextNode(id_="b", text="Foxes dig dens.")]
        nodes[0].relationships[NodeRelationship.NEXT] = nodes[1].as_related_node_info()
        nodes[1].relationships[NodeRelationship.PREVIOUS] = nodes[0].as_related_node_info()
        index = PropertyGraphIndex(
            nodes,
            property_graph_store=store,
            kg_extractors=[ImplicitPathExtractor()],
            embed_model=embedding,
            llm=Canned(answer=""),
        )
        assert {node.id for node in store.get()} == {"a", "b"}
        retriever = VectorContextRetriever(store, embed_model=embedding, similarity_top_k=1, include_text=True)
        found = index.as_retriever(sub_retrievers=[retriever]).retrieve("red kite trees")
        assert {node.text for node in found} == {"a -> NEXT -> b", "b -> PREVIOUS -> a"}


# --- embedders, and importing -----------------------------------------------------------------------------------------


def test_embedders_are_adapted_both_ways() -> None:
    adapted = LlamaIndexEmbedder(MockEmbedding(embed_dim=3))
    assert (adapted.dimension, adapted.name) == (3, "MockEmbedding unknown")
    with worlds.open(embedder=adapted) as world:
        world.add([("urn:a", "rdfs:label", '"a text"')])
        assert len(world.search("else", mode="vector")) == 1
    back = WorldsEmbedding(HashingEmbedder())
    assert back.model_name == "hashing"
    assert back.get_query_embedding("kite") == back.get_text_embedding_batch(["kite"])[0]
    assert asyncio.run(back.aget_query_embedding("kite")) == back.get_query_embedding("kite")

    class Away(MockEmbedding):
        def _get_query_embedding(self, query: str) -> list[float]:
            raise ConnectionError("away")

    with pytest.raises(worlds.EmbedderError, match="away"):
        worlds.open(embedder=LlamaIndexEmbedder(Away(embed_dim=3)))


def python(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, encoding="utf-8", check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_and_searching_reach_for_no_network() -> None:
    code = """
import socket
def refuse(*arguments, **options):
    raise SystemExit(f"reached for the network: {arguments}")
socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = socket.create_connection = refuse
import worlds
from worlds.adapters.llamaindex import WorldsPropertyGraphStore, WorldsRetriever
with worlds.open(embedder=None) as world:
    world.add([("urn:a", "rdfs:label", '"a text"')])
    print(WorldsRetriever(world).retrieve("text")[0].text, len(WorldsPropertyGraphStore(world).get()))
"""
    assert python(code) == "a text 1\n"


def test_without_llamaindex_the_extra_is_named() -> None:
    code = "import sys; sys.modules['llama_index.core'] = None\ntry:\n    import worlds.adapters.llamaindex\n"
    code += "except ImportError as error:\n    print(error)"
    assert "pip install 'worlds-kg[llamaindex]'" in python(code)


def test_a_node_is_found_by_its_label() -> None:
    """As LLMSynonymRetriever asks: by names that a model gives, capitalised, not by ids."""
    with worlds.open(embedder=None) as world:
        world.bind("ex", "http://example.org/")
        world.add(
            [
                ("ex:lang", "rdfs:label", '"Fritz Lang"'),
                ("ex:lang", "skos:altLabel", '"Friedrich Lang"'),
                ("ex:metropolis", "rdfs:label", '"Metropolis"'),
                ("ex:metropolis", "ex:director", "ex:lang"),
            ]
        )
        store = WorldsPropertyGraphStore(world)
        for name in ("ex:lang", "Fritz Lang", "fritz lang", "Friedrich Lang"):
            assert [node.id for node in store.get(ids=[name])] == ["ex:lang"], name
        assert store.get(ids=["Nobody", "Lang of Metropolis"]) == []
        assert len(store.get(ids=["Fritz Lang", "Metropolis", "ex:lang"])) == 2
