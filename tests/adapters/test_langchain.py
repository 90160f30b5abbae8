"""The LangChain adapter: LangChain's own standard tests, and what they do not ask."""

from __future__ import annotations

import asyncio
import datetime
import inspect
import math
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("langchain_core", reason="langchain-core, of the extra langchain, is not installed")
pytest.importorskip("langchain_tests", reason="langchain-tests, of the extra dev, is not installed")

from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_core.indexing import InMemoryRecordManager, index
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore
from langchain_tests.integration_tests import RetrieversIntegrationTests, VectorStoreIntegrationTests

import worlds
from tests.support.embedder import HashingEmbedder
from worlds.adapters.langchain import LangChainEmbedder, WorldsEmbeddings, WorldsRetriever, WorldsVectorStore

ROOT = Path(__file__).resolve().parents[2]
SPACE = ROOT / "examples" / "space.ttl"


# --- LangChain's standard tests ---------------------------------------------------------------------------------------


class TestStandardVectorStore(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self) -> Iterator[VectorStore]:
        with WorldsVectorStore(":memory:", self.get_embeddings()) as store:
            yield store


class TestStandardVectorStoreInAGraph(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self, tmp_path: Path) -> Iterator[VectorStore]:
        with WorldsVectorStore(
            tmp_path / "world.db", self.get_embeddings(), graph="urn:notes", mode="hybrid", author="ann"
        ) as store:
            yield store


@pytest.fixture(scope="module")
def space() -> Iterator[worlds.World]:
    with worlds.open(embedder=HashingEmbedder()) as world:
        world.load(SPACE)
        yield world


class TestStandardRetriever(RetrieversIntegrationTests):
    @pytest.fixture(autouse=True)
    def _world(self, space: worlds.World) -> None:
        self.world = space

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return WorldsRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"world": self.world}

    @property
    def retriever_query_example(self) -> str:
        return "signs of ancient life"


# --- the retriever ----------------------------------------------------------------------------------------------------


def test_the_retriever_takes_every_option_of_a_search_and_no_other() -> None:
    found = {name: each.default for name, each in inspect.signature(worlds.World.search).parameters.items()}
    options: dict[str, Any] = {name: default for name, default in found.items() if name not in ("self", "text")}
    given = {"k": options.pop("limit"), **options}
    retriever = WorldsRetriever(world=None, **given)
    assert {name: getattr(retriever, name) for name in given} == given
    with pytest.raises(ValueError, match="a search has no option 'limits'"):
        WorldsRetriever(world=None, limits=3)


def test_a_context_is_one_document(space: worlds.World) -> None:
    (document,) = WorldsRetriever(world=space, content="context").invoke("What did Stardust bring back?")
    assert "Stardust" in document.page_content
    assert document.metadata["facts"][0]["quads"]
    (short,) = WorldsRetriever(world=space, content="context", budget=100).invoke("What did Stardust bring back?")
    assert short.metadata["tokens"] <= 100 < document.metadata["tokens"]
    with pytest.raises(ValueError, match="'text', 'snippet' or 'context'"):
        WorldsRetriever(world=space).invoke("a", content="whole")


def test_notes_are_in_the_metadata(space: worlds.World) -> None:
    with worlds.open(":memory:", embedder=None) as world:
        world.add([("urn:a", "rdfs:label", '"a text"')])
        (document,) = WorldsRetriever(world=world).invoke("text")
        assert document.metadata["notes"] == list(world.search("text").notes)
        retriever = WorldsRetriever(world=world)
        assert retriever.invoke("nothing") == []
        assert retriever.notes == world.search("nothing").notes
    assert "notes" not in WorldsRetriever(world=space).invoke("aerogel")[0].metadata


def test_a_document_of_the_retriever_cites_its_quads(space: worlds.World) -> None:
    retriever = WorldsRetriever(world=space, k=2, languages="en", predicates="s:description", explain=True)
    first, second = retriever.invoke("aerogel")
    hit = space.search("aerogel", limit=2, languages="en", predicates="s:description")[0]
    assert first.page_content == hit.text
    assert first.metadata["subject"] == "https://worlds.example/space/Stardust"
    assert first.metadata["label"] == "Stardust"
    assert first.metadata["predicate"] == "https://worlds.example/space/schema#description"
    assert first.metadata["language"] == "en"
    assert first.metadata["graph"] is None
    assert first.metadata["quads"][0][0] == "<https://worlds.example/space/Stardust>"
    assert set(first.metadata["explain"]) == {"vector", "text"}
    assert first.metadata["score"] > second.metadata["score"]
    assert first.id != second.id


def test_arguments_of_invoke_come_before_fields(space: worlds.World) -> None:
    retriever = WorldsRetriever(world=space, types="s:Rover")
    rovers = retriever.invoke("moon", k=3)
    comets = retriever.invoke("moon", k=3, types="s:Comet", content="snippet")
    assert all("https://worlds.example/space/schema#Rover" in found.metadata["types"] for found in rovers)
    assert all("https://worlds.example/space/schema#Comet" in found.metadata["types"] for found in comets)
    assert "explain" not in rovers[0].metadata
    with pytest.raises(ValueError, match="content"):
        retriever.invoke("moon", content="html")
    with pytest.raises(TypeError, match="colour"):
        retriever.invoke("moon", colour="red")
    with pytest.raises(worlds.FilterError):
        retriever.invoke("moon", types='"text"')


def test_the_retriever_answers_asynchronously(space: worlds.World) -> None:
    retriever = WorldsRetriever(world=space, k=2)
    assert asyncio.run(retriever.ainvoke("rings", k=3)) == retriever.invoke("rings", k=3)


# --- the vector store -------------------------------------------------------------------------------------------------

METADATA: dict[str, Any] = {
    "text": "a text",
    "empty": "",
    "whole": 7,
    "large": 10**30,
    "real": 0.1,
    "same": 1.0,
    "infinite": -math.inf,
    "true": True,
    "nothing": None,
    "list": ["a", 1, None, {"deep": [True]}],
    "mapping": {"b": 1, "a": 2.5},
    "day": datetime.date(2026, 1, 31),
    "time": datetime.datetime(2026, 1, 31, 12, 30, tzinfo=datetime.UTC),
    "a key/with: signs": "x",
    "https://example.org/title": "a key that is an IRI",
    "中文": "文字",
}


@pytest.fixture
def store(world: worlds.World) -> WorldsVectorStore:
    return WorldsVectorStore(world)


def test_the_store_is_awaited_in_a_thread(world: worlds.World) -> None:
    threads: set[int] = set()

    class Watched(WorldsVectorStore):
        def similarity_search(self, query: str, k: int = 4, **options: Any) -> list[Document]:  # type: ignore[override]  # narrower
            threads.add(threading.get_ident())
            return super().similarity_search(query, k, **options)

    async def ask() -> None:
        store = Watched(world)
        ids = await store.aadd_texts(["red kite", "blue boat"])
        found = await store.asimilarity_search("kite", k=1)
        assert [one.page_content for one in found] == ["red kite"]
        assert await store.aget_by_ids(ids) == store.get_by_ids(ids)
        assert threading.get_ident() not in threads != set()

    asyncio.run(ask())


def typed(metadata: dict[str, Any]) -> dict[str, tuple[type, Any]]:
    return {key: (type(value), value) for key, value in metadata.items()}


def test_metadata_come_back_with_their_types(store: WorldsVectorStore) -> None:
    store.add_documents([Document(id="a", page_content="text", metadata=METADATA)])
    (found,) = store.similarity_search("text")
    assert typed(found.metadata) == typed(METADATA)
    assert typed(store.get_by_ids(["a"])[0].metadata) == typed(METADATA)


def test_nan_comes_back(store: WorldsVectorStore) -> None:
    store.add_texts(["text"], [{"nan": math.nan}], ids=["a"])
    assert math.isnan(store.get_by_ids(["a"])[0].metadata["nan"])


def test_metadata_that_are_no_json_are_refused(store: WorldsVectorStore) -> None:
    with pytest.raises(TypeError, match="'key'"):
        store.add_texts(["text"], [{"key": object()}], ids=["a"])
    with pytest.raises(ValueError, match="'key'"):
        store.add_texts(["text"], [{"key": "\ud800"}], ids=["a"])
    with pytest.raises(ValueError, match="document 'a'"):
        store.add_texts(["\ud800"], ids=["a"])
    with pytest.raises(TypeError, match="a metadata key must be a str, not 1"):
        store.add_texts(["text"], [{1: "value"}], ids=["a"])  # type: ignore[dict-item]
    with pytest.raises(ValueError, match="a metadata key is not a text"):
        store.add_texts(["text"], [{"\ud800": "value"}], ids=["a"])
    with pytest.raises(TypeError, match="an id must be a str, not 7"):
        store.add_texts(["text"], ids=[7])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="an id is not a text"):
        store.add_texts(["text"], ids=["\ud800"])
    assert store.get_by_ids(["a"]) == []
    assert store.world.history() == []


@pytest.mark.parametrize(
    "name",
    [
        "1",
        "",
        "a b",
        "ä/ö#?",
        "%41",
        "https://example.org/x",
        "http://not an iri",
        "urn:worlds:document:1",
        "_:b",
        "ex:a",
    ],
)
def test_any_id_is_kept(store: WorldsVectorStore, name: str) -> None:
    given = name or None
    (id_,) = store.add_documents([Document(id=given, page_content="text")])
    assert id_ == name or not name
    assert [found.id for found in store.get_by_ids([id_, "other"])] == [id_]
    assert [found.id for found in store.similarity_search("text")] == [id_]


def test_ids_that_look_alike_are_different(store: WorldsVectorStore) -> None:
    ids = ["1", "urn:worlds:document:1", "A", "%41"]
    store.add_texts([f"text {each}" for each in ids], ids=ids)
    assert [found.page_content for found in store.get_by_ids(ids)] == [f"text {each}" for each in ids]


def test_a_document_that_is_an_iri_is_part_of_the_graph(store: WorldsVectorStore) -> None:
    store.world.bind("ex", "https://example.org/")
    store.world.add([("ex:report", "ex:about", "ex:rings")])
    store.add_texts(["The rings were seen edge-on."], ids=["https://example.org/report"])
    assert store.world.search("rings", where="?subject ex:about ex:rings")[0].subject.endswith("report")
    found = store.similarity_search("rings", where="?subject ex:about ex:rings")
    assert [document.id for document in found] == ["https://example.org/report"]
    assert store.similarity_search("rings", where="?subject ex:about ex:moons") == []
    store.delete(["https://example.org/report"])
    assert len(store.world) == 1, "what else is said of it stays"


def test_a_long_document_is_found_once_and_whole(store: WorldsVectorStore) -> None:
    text = " ".join(f"Sentence {number} is about comets." for number in range(300))
    store.add_texts([text, "A text about comets.", "A text about moons."], ids=["long", "short", "other"])
    assert store.world.stats().chunks > 5
    found = store.similarity_search("comets", k=3)
    assert sorted(str(document.id) for document in found) == ["long", "other", "short"]
    assert next(document.page_content for document in found if document.id == "long") == text


def test_documents_of_the_same_text_are_all_found(store: WorldsVectorStore) -> None:
    store.add_texts(["same"] * 5 + ["other"], [{"n": n} for n in range(6)], ids=list("abcdef"))
    assert {document.id for document in store.similarity_search("same", k=5)} == set("abcde")
    assert len(store.similarity_search("same", k=6)) == 6
    assert store.similarity_search("same", k=6, filter={"n": {"$gt": 3}})[0].id == "e"


def test_scores_are_cosines(store: WorldsVectorStore) -> None:
    store.add_texts(["red kite", "grey heron"], ids=["kite", "heron"])
    embedder = HashingEmbedder()
    question = embedder.embed_query("kite")
    expected = {
        text: float(question @ row)
        for text, row in zip(["kite", "heron"], embedder.embed_documents(["red kite", "grey heron"]), strict=True)
    }
    found = store.similarity_search_with_score("kite")
    assert {document.id: pytest.approx(score, abs=1e-5) for document, score in found} == expected
    relevant = store.similarity_search_with_relevance_scores("kite", score_threshold=expected["kite"] - 0.01)
    assert [document.id for document, _ in relevant] == ["kite"]
    by_vector = store.similarity_search_by_vector([float(x) for x in question * 3], k=1)
    assert [document.id for document in by_vector] == ["kite"]


@pytest.mark.parametrize("mode", ["vector", "text", "hybrid"])
def test_relevance_is_from_0_to_1(world: worlds.World, mode: Any) -> None:
    store = WorldsVectorStore(world, mode=mode)
    store.add_texts(["red kite", "grey heron", "kite"], ids=["red", "heron", "kite"])
    found = store.similarity_search_with_relevance_scores("kite")
    assert found[0][0].id == "kite"
    assert all(0 <= score <= 1 for _, score in found)


def test_diversity(store: WorldsVectorStore) -> None:
    texts = ["red kite bird", "red kite birds", "the red kite bird", "grey heron"]
    store.add_texts(texts, ids=list("abcd"))
    near = [document.id for document in store.similarity_search("red kite bird", k=2)]
    apart = [document.id for document in store.max_marginal_relevance_search("red kite bird", k=2, lambda_mult=0.1)]
    assert near == ["a", "c"] or near == ["a", "b"]
    assert apart == ["a", "d"]
    question = HashingEmbedder().embed_query("red kite bird").tolist()
    by_vector = store.max_marginal_relevance_search_by_vector(question, k=2, lambda_mult=0.1)
    assert [document.id for document in by_vector] == apart


def test_copies_of_one_text_come_after_what_differs(store: WorldsVectorStore) -> None:
    texts = ["The cat sat on the mat."] * 3 + ["A dog is in the garden.", "A cat and a mouse."]
    store.add_texts(texts, ids=["copy1", "copy2", "copy3", "dog", "mouse"])
    found = [one.id for one in store.max_marginal_relevance_search("a cat on the mat", k=3, fetch_k=5)]
    assert found[0] is not None
    assert found[0].startswith("copy")
    assert set(found[1:]) == {"dog", "mouse"}
    every = [one.id for one in store.max_marginal_relevance_search("a cat on the mat", k=5, fetch_k=5)]
    assert sorted(map(str, every)) == ["copy1", "copy2", "copy3", "dog", "mouse"]


def test_a_field_that_the_retriever_does_not_have() -> None:
    with worlds.open(embedder=None) as world, pytest.raises(ValueError, match="limit"):
        WorldsRetriever(world=world, limit=2)


FILTERS: list[tuple[dict[str, Any], str]] = [
    ({}, "abcd"),
    ({"year": 2020}, "ab"),
    ({"year": 2020.0}, "ab"),
    ({"year": {"$eq": 2020}, "kind": "note"}, "a"),
    ({"year": {"$ne": 2020}}, "cd"),
    ({"year": {"$gt": 2019, "$lte": 2020}}, "ab"),
    ({"year": {"$gte": 2021}}, "c"),
    ({"year": {"$lt": 2021}}, "ab"),
    ({"kind": {"$in": ["note", "film"]}}, "ac"),
    ({"kind": {"$contains": "ot"}}, "a"),
    ({"kind": {"$nin": ["note"]}}, "bcd"),
    ({"kind": {"$gt": "m"}}, "ab"),
    ({"draft": True}, "b"),
    ({"draft": {"$ne": True}}, "acd"),
    ({"draft": {"$exists": True}}, "ab"),
    ({"draft": {"$exists": False}}, "cd"),
    ({"tags": ["x", "y"]}, "a"),
    ({"map": {"deep": 1}}, "a"),
    ({"day": {"$lt": datetime.date(2026, 1, 1)}}, "a"),
    ({"none": None}, "d"),
    ({"$or": [{"kind": "note"}, {"year": 2021}]}, "ac"),
    ({"$and": [{"kind": "page"}, {"year": 2020}]}, "b"),
    ({"$not": {"kind": "note"}}, "bcd"),
    ({"$not": {"$or": [{"kind": "note"}, {"year": {"$gt": 2020}}]}}, "bd"),
    ({"odd \"key'": "it's \"\\ so"}, "d"),
    ({"year": "2020"}, ""),
    ({"missing": 1}, ""),
]  # fmt: skip


@pytest.fixture(scope="module")
def filtered() -> Iterator[WorldsVectorStore]:
    with worlds.open(embedder=HashingEmbedder()) as world:
        store = WorldsVectorStore(world)
        metadatas: list[dict[str, Any]] = [
            {"year": 2020, "kind": "note", "draft": False, "tags": ["x", "y"], "map": {"deep": 1},
             "day": datetime.date(2025, 5, 1)},
            {"year": 2020, "kind": "page", "draft": True, "tags": ["y", "x"], "day": datetime.date(2026, 5, 1)},
            {"year": 2021, "kind": "film"},
            {"none": None, "odd \"key'": "it's \"\\ so"},
        ]  # fmt: skip
        store.add_texts([f"text {letter}" for letter in "abcd"], metadatas, ids=list("abcd"))
        yield store


@pytest.mark.parametrize(("conditions", "expected"), FILTERS, ids=lambda value: str(value))
def test_a_filter(filtered: WorldsVectorStore, conditions: dict[str, Any], expected: str) -> None:
    found = filtered.similarity_search("text", k=10, filter=conditions)
    assert "".join(sorted(str(document.id) for document in found)) == expected


@pytest.mark.parametrize(
    "conditions", [{"year": {"$near": 1}}, {"$nor": []}, {"year": {"$in": "text"}}, {"$or": {}}, {"$or": []}, ["year"]]
)
def test_a_wrong_filter_is_an_error(filtered: WorldsVectorStore, conditions: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        filtered.similarity_search("text", filter=conditions)


def test_graphs_keep_stores_apart(world: worlds.World) -> None:
    one, two = WorldsVectorStore(world, graph="urn:one"), WorldsVectorStore(world, graph="urn:two")
    one.add_texts(["a text of one"], ids=["1"])
    two.add_texts(["a text of two"], ids=["1"])
    assert [found.page_content for found in one.similarity_search("text")] == ["a text of one"]
    assert [found.page_content for found in two.get_by_ids(["1"])] == ["a text of two"]
    one.delete()
    assert one.similarity_search("text") == []
    assert len(two.similarity_search("text")) == 1


def test_every_write_is_one_signed_revision(world: worlds.World) -> None:
    store = WorldsVectorStore(world, author="ann")
    store.add_texts(["one", "two"], ids=["1", "2"])
    store.add_texts(["one", "TWO"], ids=["1", "2"])
    store.delete(["1", "3"])
    assert [(entry.author, entry.added, entry.removed) for entry in world.history()] == [
        ("ann", 0, 2),
        ("ann", 1, 1),
        ("ann", 4, 0),
    ]
    world.undo(3)
    assert len(store.get_by_ids(["1", "2"])) == 2


def test_metadata_are_not_embedded(world: worlds.World) -> None:
    store = WorldsVectorStore(world)
    store.add_texts(["the text"], [{"source": "a long name of a source"}], ids=["1"])
    assert world.stats().chunks == 1
    assert world.check().ok


def test_a_document_of_the_world_is_found(world: worlds.World) -> None:
    world.sources.add_document("https://example.org/notes", "# Rings\n\nThe rings were seen edge-on.")
    (found,) = WorldsVectorStore(world).similarity_search("rings")
    assert found.id == "https://example.org/notes"


def test_a_mismatch_of_lists_is_an_error(store: WorldsVectorStore) -> None:
    with pytest.raises(ValueError, match="2 texts and 1 ids"):
        store.add_texts(["a", "b"], ids=["1"])
    with pytest.raises(ValueError, match="1 texts and 2 metadatas"):
        store.add_texts(["a"], [{}, {}])
    assert store.add_texts([]) == []
    store.add_texts(["first", "second"], ids=["1", "1"])
    assert [found.page_content for found in store.get_by_ids(["1"])] == ["second"]


def test_langchain_indexes_into_it(store: WorldsVectorStore) -> None:
    manager = InMemoryRecordManager("notes")
    manager.create_schema()
    documents = [Document(page_content=f"text {n}", metadata={"source": f"s{n}"}) for n in range(3)]

    def run(documents: list[Document]) -> tuple[int, int, int]:
        did = index(documents, manager, store, cleanup="full", source_id_key="source", key_encoder="sha256")
        return did["num_added"], did["num_skipped"], did["num_deleted"]

    assert run(documents) == (3, 0, 0)
    assert run(documents) == (0, 3, 0)
    assert run(documents[:2]) == (0, 2, 1)
    assert {found.page_content for found in store.similarity_search("text", k=9)} == {"text 0", "text 1"}


def test_from_texts_and_as_retriever(tmp_path: Path) -> None:
    embeddings = DeterministicFakeEmbedding(size=8)
    documents = [Document(page_content="foo", id="1"), Document(page_content="bar", id="2")]
    with WorldsVectorStore.from_documents(documents, embeddings, world=tmp_path / "w.db") as store:
        assert [found.id for found in store.as_retriever(search_kwargs={"k": 1}).invoke("bar")] == ["2"]
        kept = store.as_retriever(search_type="similarity_score_threshold", search_kwargs={"score_threshold": 0.99})
        assert [found.id for found in kept.invoke("foo")] == ["1"]
        assert len(store.as_retriever(search_type="mmr", search_kwargs={"k": 2}).invoke("foo")) == 2
    with WorldsVectorStore(tmp_path / "w.db", embeddings) as store:
        assert [found.id for found in store.similarity_search("bar", k=1)] == ["2"]


# --- embedders --------------------------------------------------------------------------------------------------------


def test_an_open_world_has_its_own_embedder(world: worlds.World) -> None:
    with pytest.raises(ValueError, match="LangChainEmbedder"):
        WorldsVectorStore(world, DeterministicFakeEmbedding(size=8))
    embeddings = WorldsVectorStore(world).embeddings
    assert isinstance(embeddings, WorldsEmbeddings)
    assert embeddings.embed_query("kite") == embeddings.embed_documents(["kite"])[0]
    assert np.allclose(embeddings.embed_query("kite"), HashingEmbedder().embed_query("kite"))
    assert asyncio.run(embeddings.aembed_query("kite")) == embeddings.embed_query("kite")
    with worlds.open(embedder=None) as other:
        assert WorldsVectorStore(other).embeddings is None


class Named(Embeddings):
    model = "m-1"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        if text == "dimension":
            raise ConnectionError("away")
        return [3.0, 4.0]


def test_a_model_of_langchain_embeds_a_world() -> None:
    embedder = LangChainEmbedder(Named(), dimension=2)
    assert (embedder.name, embedder.dimension, embedder.max_tokens) == ("Named m-1", 2, 512)
    with worlds.open(embedder=embedder) as world:
        world.add([("urn:a", "rdfs:label", '"a text"')])
        hit = world.search("else", mode="vector", explain=True)[0]
        assert hit.explain
        assert hit.explain["vector"].value == pytest.approx(1)
    with pytest.raises(worlds.EmbedderError, match="Named m-1.*away"):
        worlds.open(embedder=LangChainEmbedder(Named()))


def test_without_langchain_the_extra_is_named() -> None:
    code = "import sys; sys.modules['langchain_core'] = None\ntry:\n    import worlds.adapters.langchain\n"
    code += "except ImportError as error:\n    print(error)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, encoding="utf-8", check=True)
    assert "pip install 'worlds-kg[langchain]'" in done.stdout
