"""LlamaIndex: a retriever over a world, and a world as a property graph store. docs/llamaindex.md shows both.

Needs the extra `llamaindex` (llama-index-core).
"""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import Sequence
from typing import Any, Literal

import worlds
from worlds.adapters.metadata import has_cosines, hit_id, hit_metadata, score_of
from worlds.aio import in_thread
from worlds.core.embedders.adapted import AdaptedEmbedder

try:
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.bridge.pydantic import PrivateAttr
    from llama_index.core.callbacks import CallbackManager
    from llama_index.core.schema import NodeRelationship, NodeWithScore, QueryBundle, RelatedNodeInfo, TextNode
except ImportError as error:
    raise ImportError(
        "worlds.adapters.llamaindex needs llama-index-core, which is not installed: pip install 'worlds-kg[llamaindex]'"
    ) from error

from worlds.adapters.llamaindex_graph import WorldsPropertyGraphStore

__all__ = ["LlamaIndexEmbedder", "WorldsEmbedding", "WorldsPropertyGraphStore", "WorldsRetriever"]

_KEPT_FROM_PROMPTS = [
    "score", "chunk", "start", "end", "quads", "explain", "steps", "types", "graph", "language", "notes",
]  # fmt: skip


# --- embedders --------------------------------------------------------------------------------------------------------


class LlamaIndexEmbedder(AdaptedEmbedder):
    """LlamaIndex's embedding model as the embedder of a world: `worlds.open(path, embedder=LlamaIndexEmbedder(…))`.

    `name` is what the world's file calls it, by default its class and its model. Two embedders of one name and
    dimension are taken for the same, so give models that differ different names. `dimension` None embeds a word once
    to see. `max_tokens` is what the model reads of a text; longer texts are cut.
    """

    def __init__(
        self, model: BaseEmbedding, *, name: str | None = None, dimension: int | None = None, max_tokens: int = 512
    ) -> None:
        self.model = model
        super().__init__(
            model.get_text_embedding_batch,
            model.get_query_embedding,
            name=name or f"{type(model).__name__} {model.model_name}",
            dimension=dimension,
            max_tokens=max_tokens,
        )


class WorldsEmbedding(BaseEmbedding):
    """An embedder of a world as LlamaIndex's embedding model. Vectors are of unit length."""

    _embedder: worlds.Embedder = PrivateAttr()

    def __init__(self, embedder: worlds.Embedder, **options: Any) -> None:
        super().__init__(model_name=embedder.name, **options)
        self._embedder = embedder

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return [[float(value) for value in row] for row in self._embedder.embed_documents(texts)]

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_query_embedding(self, query: str) -> list[float]:
        return [float(value) for value in self._embedder.embed_query(query)]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return await asyncio.to_thread(self._get_query_embedding, query)


# --- the retriever ----------------------------------------------------------------------------------------------------


class WorldsRetriever(BaseRetriever):
    """A retriever of passages in a world; `options` are the options of `World.search`.

    `world` is an open World or Group, which stays the caller's to close, or the path or address of a world to open for
    reading, which `close` closes.

    A node's text is the passage, or with `content="snippet"` the part of it that matches; with `content="context"`
    there is one node, what `World.context` tells of the question in `budget` tokens, and of the options `types` alone
    counts. A
    node's metadata are those of `Hit.to_dict`: subject, label, types, predicate, graph, language, score, start, end,
    `quads` (what to cite) and, if asked for, `explain` and `steps`. Only subject, label and predicate go into prompts.
    The node's source is the subject. A node's score is that of `World.search`, but with mode "vector", and no stage
    that has scores of its own, the cosine similarity: where a cut-off wants an absolute value, use that, or
    `Ranking(min_similarity=…)`. A query that brings its own embedding is searched by that. What the engine notes of a
    question is in the metadata of its nodes, and in `notes`, where there may be none. Errors as of `World.search`;
    TypeError for an option that it does not have.
    """

    def __init__(
        self,
        world: worlds.World | worlds.Group | str | os.PathLike[str],
        *,
        limit: int | None = None,
        content: Literal["text", "snippet", "context"] = "text",
        budget: int = 2000,
        callback_manager: CallbackManager | None = None,
        verbose: bool = False,
        **options: Any,
    ) -> None:
        known = inspect.signature(worlds.World.search).parameters.keys() - {"self", "text"}
        if unknown := options.keys() - known:
            raise TypeError(f"a search has no option {min(unknown)!r}")
        if content not in ("text", "snippet", "context"):
            raise ValueError(f"content must be 'text', 'snippet' or 'context', not {content!r}")
        self._owned = isinstance(world, str | os.PathLike)
        self.world: Any = (
            worlds.open(world, read_only=True, create=False) if isinstance(world, str | os.PathLike) else world
        )
        self.options = {"limit": limit, **options}
        self.content = content
        self.budget = budget
        self.notes: tuple[str, ...] = ()  # what there is to say of the last question, as SearchResults.notes
        super().__init__(callback_manager=callback_manager, verbose=verbose)

    def close(self) -> None:
        """Close the world, if it was opened here."""
        if self._owned:
            self.world.close()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        if self.content == "context":
            return self._context(query_bundle.query_str)
        options = dict(self.options)
        if query_bundle.embedding is not None:
            options.setdefault("vector", query_bundle.embedding)
        by_cosine = has_cosines(options)
        explain = bool(options.pop("explain", False))
        found = self.world.search(query_bundle.query_str, **options, explain=explain or by_cosine)
        self.notes = found.notes
        return [self._node(hit, score_of(hit, by_cosine=by_cosine), found.notes, explain=explain) for hit in found]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await in_thread(self.world, lambda: self._retrieve(query_bundle))

    def _context(self, question: str) -> list[NodeWithScore]:
        found = self.world.context(question, types=self.options.get("types"), budget=self.budget)
        self.notes = found.notes
        told = found.to_dict()
        node = TextNode(
            text=told.pop("text"),
            metadata=told,
            excluded_llm_metadata_keys=list(told),
            excluded_embed_metadata_keys=list(told),
        )
        return [NodeWithScore(node=node)] if found.facts else []

    def _node(self, hit: worlds.records.Hit, score: float, notes: Sequence[str], *, explain: bool) -> NodeWithScore:
        metadata = hit_metadata(hit, notes)
        if not explain:
            metadata = {name: value for name, value in metadata.items() if name not in ("explain", "steps")}
        node = TextNode(
            id_=hit_id(hit),
            text=getattr(hit, self.content),
            metadata=metadata,
            excluded_llm_metadata_keys=_KEPT_FROM_PROMPTS,
            excluded_embed_metadata_keys=_KEPT_FROM_PROMPTS,
            relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=str(hit.subject))},
        )
        return NodeWithScore(node=node, score=score)
