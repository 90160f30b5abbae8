"""LangChain: a retriever over a world, and a world as a vector store. docs/langchain.md shows both.

Needs the extra `langchain` (langchain-core).
"""

from __future__ import annotations

import inspect
import os
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Literal

import pyoxigraph as ox

import worlds
from worlds.adapters.metadata import (
    METADATA,
    from_iri,
    has_cosines,
    hit_id,
    hit_metadata,
    keep_out_of_text,
    key_of,
    pattern,
    predicate_of,
    ranked_subjects,
    to_iri,
    to_literal,
    to_text,
    to_value,
)
from worlds.aio import awaited, in_thread
from worlds.core.embedders.adapted import AdaptedEmbedder
from worlds.core.texts.policy import DOCUMENT, TEXT
from worlds.graph.terms import to_oxigraph

try:
    from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.vectorstores import VectorStore
    from pydantic import PrivateAttr
except ImportError as error:
    raise ImportError(
        "worlds.adapters.langchain needs langchain-core, which is not installed: pip install 'worlds-kg[langchain]'"
    ) from error

__all__ = ["LangChainEmbedder", "WorldsEmbeddings", "WorldsRetriever", "WorldsVectorStore"]

DOCUMENTS: Final = "urn:worlds:document:"
"""The start of the IRI of a document whose id is no absolute IRI itself."""

_TYPE = ox.NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
_CLASS = ox.NamedNode(DOCUMENT)
_TEXT = ox.NamedNode(TEXT)

Mode = Literal["hybrid", "vector", "text"]


# --- embedders --------------------------------------------------------------------------------------------------------


class LangChainEmbedder(AdaptedEmbedder):
    """LangChain's `Embeddings` as the embedder of a world: `worlds.open(path, embedder=LangChainEmbedder(…))`.

    `name` is what the world's file calls it, by default its class and its model. Two embedders of one name and
    dimension are taken for the same, so give models that differ different names. `dimension` None embeds a word once
    to see. `max_tokens` is what the model reads of a text; longer texts are cut.
    """

    def __init__(
        self, embeddings: Embeddings, *, name: str | None = None, dimension: int | None = None, max_tokens: int = 512
    ) -> None:
        self.embeddings = embeddings
        super().__init__(
            embeddings.embed_documents,
            embeddings.embed_query,
            name=name or _name(embeddings),
            dimension=dimension,
            max_tokens=max_tokens,
        )


def _name(embeddings: Embeddings) -> str:
    given = (getattr(embeddings, name, None) for name in ("model", "model_name", "model_id", "deployment"))
    model = next((value for value in given if isinstance(value, str)), None)
    return " ".join(filter(None, (type(embeddings).__name__, model)))


class WorldsEmbeddings(Embeddings):
    """An embedder of a world as LangChain's `Embeddings`. Vectors are of unit length."""

    def __init__(self, embedder: worlds.Embedder) -> None:
        self.embedder = embedder

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One vector a text, in the order given."""
        return [[float(value) for value in row] for row in self.embedder.embed_documents(list(texts))]

    def embed_query(self, text: str) -> list[float]:
        """The vector of a question."""
        return [float(value) for value in self.embedder.embed_query(text)]


# --- the retriever ----------------------------------------------------------------------------------------------------


class WorldsRetriever(BaseRetriever, extra="allow"):
    """Finds passages in a world by `World.search`, all of whose options it takes, as arguments of `invoke` do as well.

    `k` is how many passages there are at most, the `limit` of `World.search`. A document's content is the passage, or
    with `content="snippet"` the part of it that matches; with `content="context"` there is one document, what
    `World.context` tells of the question in `budget` tokens, for a language model, and of the other options `types`
    alone counts. `world` is an open World or Group, which stays the caller's to close, or the path or address of a
    world to open for reading, which `close` closes. A document's id identifies the passage; its metadata are those of
    `Hit.to_dict`: subject, label, types, predicate, graph, language, score, start, end, `quads` (what to cite) and, if
    asked for, `explain` and `steps`. What the engine notes of a question is in the metadata of its documents, and in
    `notes`, where there may be none. Errors as of `World.search`; ValueError for an option that it has not.
    """

    world: Any
    k: int | None = None
    content: Literal["text", "snippet", "context"] = "text"
    budget: int = 2000
    _notes = PrivateAttr(default=())
    _owned = PrivateAttr(default=False)

    def __init__(self, **given: Any) -> None:
        if unknown := given.keys() - WorldsRetriever.model_fields.keys() - _OPTIONS:
            raise ValueError(f"a search has no option {min(unknown)!r}")
        super().__init__(**given)

    def model_post_init(self, context: Any, /) -> None:
        """Open the world of a path or an address."""
        self._owned = isinstance(self.world, str | os.PathLike)
        if self._owned:
            self.world = worlds.open(self.world, read_only=True, create=False)

    def close(self) -> None:
        """Close the world, if it was opened here."""
        if self._owned:
            self.world.close()

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes on the last question and its answer, as `SearchResults.notes`."""
        return tuple(self._notes)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun | None = None, **options: Any
    ) -> list[Document]:
        asked = {"k": self.k, **(self.model_extra or {}), **options}
        content, budget = asked.pop("content", self.content), asked.pop("budget", self.budget)
        if content == "context":
            found = self.world.context(query, types=asked.get("types"), budget=budget)
            self._notes = found.notes
            told = found.to_dict()
            return [Document(page_content=told.pop("text"), metadata=told)] if found.facts else []
        if content not in ("text", "snippet"):
            raise ValueError(f"content must be 'text', 'snippet' or 'context', not {content!r}")
        hits = self.world.search(query, **_search_options(asked))
        self._notes = hits.notes
        return [
            Document(id=hit_id(hit), page_content=getattr(hit, content), metadata=hit_metadata(hit, hits.notes))
            for hit in hits
        ]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun | None = None, **options: Any
    ) -> list[Document]:
        return await in_thread(self.world, lambda: self._get_relevant_documents(query, **options))


_OPTIONS = inspect.signature(worlds.World.search).parameters.keys() - {"self", "text", "limit"}


def _search_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of World.search, by its names."""
    return {"limit" if name == "k" else name: value for name, value in given.items()}


# --- the vector store -------------------------------------------------------------------------------------------------


@awaited("world")
class WorldsVectorStore(VectorStore):
    """A world, or one graph of it, as a store of documents.

    `world` is an open World, which stays the caller's to close, or the path of one to open or make, or the address of
    one on a server. `embedding` is the model of a world that is opened here; an open world has its own embedder, and
    None takes the default. `graph` is the named graph that the documents lie in, None the default graph. `mode` is how
    searches go unless told otherwise: by vectors alone, as elsewhere in LangChain, by words, or by both ("hybrid").
    `author` signs revisions.

    A document is the IRI that its id names, of the class schema:TextDigitalDocument, its content under schema:text,
    its metadata under `urn:worlds:metadata:…` (see `worlds.adapters.metadata`): what `sources.add_document` wrote is
    found too.
    Each call that writes is one revision. Texts whose embedding fails are kept, stay pending until `world.embed()`,
    and are reported in the log "worlds".
    """

    def __init__(
        self,
        world: worlds.World | str | os.PathLike[str],
        embedding: Embeddings | None = None,
        *,
        graph: str | None = None,
        mode: Mode = "vector",
        author: str | None = None,
    ) -> None:
        self._owned = not isinstance(world, worlds.World)
        if isinstance(world, worlds.World):
            if embedding is not None:
                raise ValueError("an open world has its embedder: open it with embedder=LangChainEmbedder(embedding)")
            self.world = world
        else:
            self.world = worlds.open(world, embedder="auto" if embedding is None else LangChainEmbedder(embedding))
        self.mode: Mode = mode
        self._embedding = embedding
        self._graph = graph
        self._author = author

    def close(self) -> None:
        """Close the world, if it was opened here."""
        if self._owned:
            self.world.close()

    def __enter__(self) -> WorldsVectorStore:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def embeddings(self) -> Embeddings | None:
        """The model that embeds documents and questions."""
        if self._embedding is None and self.world.embedder is not None:
            self._embedding = WorldsEmbeddings(self.world.embedder)
        return self._embedding

    # -- writes ---------------------------------------------------------------------------------------------------

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Write texts as one revision, and return their ids, given or new.

        What this store wrote of an id before is replaced; what else the world says of it stays. ValueError where the
        lists differ in length, TypeError for metadata that are neither JSON values nor dates.
        """
        listed = list(texts)
        for name, others in (("metadatas", metadatas), ("ids", ids)):
            if others and len(others) != len(listed):
                raise ValueError(f"there are {len(listed)} texts and {len(others)} {name}")
        names = [id_ or str(uuid.uuid4()) for id_ in ids or [""] * len(listed)]
        of_id: dict[str, list[tuple[Any, ...]]] = {}  # of an id that is given twice, the last counts
        for id_, text, metadata in zip(names, listed, metadatas or [{}] * len(listed), strict=True):
            of_id[id_] = self._quads(id_, text, metadata or {})
        quads = [quad for of_one in of_id.values() for quad in of_one]
        known = {id_ for id_ in ids or [] if id_}
        with self.world.transaction(author=self._author, message=f"{len(of_id)} documents"):
            keep_out_of_text(self.world, {quad[1].value for quad in quads if quad[1].value.startswith(METADATA)})
            self._replace([to_iri(DOCUMENTS, id_) for id_ in of_id if id_ in known], quads)
        return names

    def delete(self, ids: list[str] | None = None, **kwargs: Any) -> bool:
        """Delete documents, with None all of them; an id that is not there is no error.

        What else the world says of their IRIs stays.
        """
        if ids is None:
            given = self.world.quads(predicate=_TYPE, object=_CLASS, graph=self._in_graph)
            subjects = [subject for subject, *_ in given]
        else:
            subjects = [to_iri(DOCUMENTS, id_) for id_ in ids]
        with self.world.transaction(author=self._author, message="documents deleted"):
            self._replace(subjects, [])
        return True

    def _replace(self, subjects: Sequence[Any], quads: list[tuple[Any, ...]]) -> None:
        """Replace the documents of these subjects by `quads`; quads in both are left alone."""
        old = {_plain(quad) for subject in subjects for quad in self._of(subject)}
        new = {_plain(quad) for quad in quads}
        self.world.remove(list(old - new))
        self.world.add(list(new - old))

    def _of(self, subject: Any) -> Iterator[tuple[Any, Any, Any, Any]]:
        """The quads that make a subject a document."""
        for quad in self.world.quads(subject, graph=self._in_graph):
            predicate = str(quad[1])
            typed = predicate == _TYPE.value and str(quad[2]) == DOCUMENT
            if typed or predicate == TEXT or predicate.startswith(METADATA):
                yield quad

    def _quads(self, id_: str, text: str, metadata: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        subject = to_iri(DOCUMENTS, id_)
        graph = None if self._graph is None else ox.NamedNode(self._graph)
        return [
            (subject, _TYPE, _CLASS, graph),
            (subject, _TEXT, to_text(f"the document {id_!r}", text), graph),
            *((subject, predicate_of(key), to_literal(key, value), graph) for key, value in metadata.items()),
        ]

    @property
    def _in_graph(self) -> str:
        return self._graph or "default"

    # -- reads ----------------------------------------------------------------------------------------------------

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """The documents with these ids, in their order, without missing ones."""
        found = (self._document(to_iri(DOCUMENTS, id_)) for id_ in ids)
        return [document for document in found if document is not None]

    def _document(self, subject: Any) -> Document | None:
        texts: list[str] = []
        metadata: dict[str, Any] = {}
        for _, predicate, value, _ in sorted(self._of(subject), key=str):
            if str(predicate) == TEXT:
                texts.append(str(value))
            elif str(predicate) != _TYPE.value:
                metadata[key_of(str(predicate))] = to_value(value)
        iri = subject.value if isinstance(subject, ox.NamedNode) else str(subject)
        return Document(id=from_iri(DOCUMENTS, iri), page_content=min(texts), metadata=metadata) if texts else None

    def similarity_search(
        self, query: str, k: int = 4, filter: Mapping[str, Any] | None = None, **kwargs: Any
    ) -> list[Document]:
        """The `k` documents that answer best, each once, whole, best first.

        `filter` maps metadata keys to values or operators: see `worlds.adapters.metadata.pattern`. More arguments are
        options of `World.search` (`mode`, `where`, `types`, `ranking`, …). Errors as it has them.
        """
        return [document for document, _ in self.similarity_search_with_score(query, k, filter, **kwargs)]

    def similarity_search_with_score(
        self, query: str, k: int = 4, filter: Mapping[str, Any] | None = None, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """As `similarity_search`, with scores: higher is better.

        In mode "vector" the score is the cosine similarity of the document's best passage, else that of
        `World.search`.
        """
        documents: dict[Any, tuple[Document, float]] = {}
        for subject, score in self._ranked(query, k, filter, kwargs):
            document = None if subject in documents else self._document(subject)
            if document is not None:
                documents[subject] = (document, score)
                if len(documents) == k:
                    break
        return list(documents.values())

    def similarity_search_by_vector(
        self, embedding: list[float], k: int = 4, filter: Mapping[str, Any] | None = None, **kwargs: Any
    ) -> list[Document]:
        """As `similarity_search`, by a vector, which has the world's dimension; its length does not matter."""
        return self.similarity_search("", k, filter, **{**kwargs, "vector": embedding, "mode": "vector"})

    def max_marginal_relevance_search(
        self,
        query: str,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        filter: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """As `similarity_search`, for documents that differ from each other, out of the `fetch_k` best passages.

        `lambda_mult` 1 is relevance alone, 0 is difference alone.
        """
        ranking = kwargs.pop("ranking", None) or worlds.Ranking()
        ranking = replace(ranking, candidates=max(fetch_k, k), diversity=lambda_mult)
        return self.similarity_search(query, k, filter, ranking=ranking, **kwargs)

    def max_marginal_relevance_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        filter: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """As `max_marginal_relevance_search`, by a vector."""
        chosen = {**kwargs, "vector": embedding, "mode": "vector"}
        return self.max_marginal_relevance_search("", k, fetch_k, lambda_mult, filter, **chosen)

    def _ranked(
        self, query: str, k: int, filter: Mapping[str, Any] | None, given: Mapping[str, Any]
    ) -> Iterator[tuple[Any, float]]:
        """The subjects of the passages found and their scores, best first, as many as are asked for."""
        options: dict[str, Any] = {"mode": self.mode, "types": DOCUMENT, "predicates": TEXT, "graphs": self._in_graph}
        options |= _search_options({"k": k, **given})
        if filter:
            where = pattern(filter, f"?subject {_TEXT} [] .")
            options["where"] = f"{{ {options['where']} }} {where}" if options.get("where") else where
        return ranked_subjects(self.world, query, options)

    def _similarity_search_with_relevance_scores(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Scores in [0, 1]: a cosine, 0 where it is negative; of other modes, the share of the highest score."""
        found = self.similarity_search_with_score(query, k, **kwargs)
        cosines = has_cosines({"mode": self.mode, **kwargs})
        most = 1.0 if cosines else max((score for _, score in found), default=1.0)
        return [(document, min(max(score / (most or 1.0), 0.0), 1.0)) for document, score in found]

    # -- constructors ---------------------------------------------------------------------------------------------

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings | None = None,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        world: worlds.World | str | os.PathLike[str] = ":memory:",
        **kwargs: Any,
    ) -> WorldsVectorStore:
        """A store with these texts, in a new world in memory unless `world` is given; options as for the class."""
        store = cls(world, embedding, **kwargs)
        store.add_texts(texts, metadatas, ids=ids)
        return store


def _plain(quad: tuple[Any, ...]) -> tuple[Any, ...]:
    """A quad in pyoxigraph's terms, to compare and to write."""
    return tuple(None if term is None else to_oxigraph(term) for term in quad)
