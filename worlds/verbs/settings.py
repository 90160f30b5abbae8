"""Prefixes, policy, the default graph, the embedder: what a world is set to."""

from __future__ import annotations

import os
from functools import partial

from worlds.embedders import Embedder
from worlds.errors import WorldsError
from worlds.graph.search.vocabulary import NAMESPACE
from worlds.permissions import consent, home_of
from worlds.quads.dataset import DefaultGraphSetting, default_graph, set_default_graph
from worlds.quads.namespaces import OWN_PREFIX
from worlds.revisions.writer import Progress
from worlds.search.options import kept
from worlds.texts.policy import TextPolicy
from worlds.verbs.calling import setting, verb
from worlds.verbs.parts import Parts


class Settings(Parts):
    """Prefixes, policy, the default graph, the embedder: what a world is set to."""

    @property
    def prefixes(self) -> dict[str, str]:
        """Prefix → IRI: the well-known ones, and over them those that loaded files declared or `bind` set."""
        return self._namespaces.prefixes

    @verb
    def bind(self, prefix: str, iri: str) -> None:
        """Set a prefix, for queries, filters and exports; it is stored in the file.

        ValueError for a prefix that SPARQL does not allow, for `w`, the search's own there, and for an IRI that is not
        absolute.
        """
        if prefix == "w" and iri != NAMESPACE:
            raise ValueError(OWN_PREFIX.format(f"<{iri}>"))
        self._namespaces.bind(prefix, iri)

    @property
    def default_graph(self) -> DefaultGraphSetting:
        """What queries see that name no graph: with "strict" the default graph alone, with "union" all graphs together.

        A new world has "strict"; the setting is stored in the file. The `union` of `query`, `explain` and `update`
        comes before it.
        """
        return default_graph(self._connection)

    @default_graph.setter
    @setting
    def default_graph(self, setting: DefaultGraphSetting) -> None:
        set_default_graph(self._connection, setting)

    @property
    def policy(self) -> TextPolicy:
        """Which literals are text. Setting it cuts the literals that it concerns anew, in one transaction."""
        return self._chunks.policy

    @policy.setter
    @setting
    def policy(self, policy: TextPolicy) -> None:
        if not isinstance(policy, TextPolicy):
            raise TypeError(f"a policy is a TextPolicy, not {policy!r}")
        policy = policy.with_(search=kept(policy.search))
        model, before = (one.search.get("rerank") for one in (policy, self.policy))
        with self._connection.transaction():
            self._embeddings.retired.retire(self._chunks.adopt(policy).orphans)
        if isinstance(model, str) and model != before:  # else the file's, which somebody else may have named
            consent(home_of(self._connection), {"rerank": model})

    @property
    def embedder(self) -> Embedder | None:
        """What embeds new texts and questions; None for a world that has only words."""
        return self._embedder.embedder

    @embedder.setter
    @setting
    def embedder(self, embedder: Embedder | None) -> None:
        self._embedder.embedder = embedder

    @verb
    def embed(
        self,
        *,
        rebuild: bool = False,
        embedder: str | os.PathLike[str] | Embedder | None = None,
        progress: Progress | None = None,
    ) -> int:
        """Give every pending chunk its vector; gives the number of texts that the embedder read.

        Each batch is kept as soon as it is done, so an interrupted call goes on where it stopped. `rebuild=True` makes
        all vectors anew, by the world's embedder or by `embedder`, which then becomes the world's. The old vectors
        answer until the new ones take their place, all at once; texts that are new since, or that the embedder does
        not read whole, are embedded after that. EmbedderError without an embedder, or with one that does not fit, or
        that fails; ConflictError if another process embeds the world anew by yet another one.
        """
        if self._writer.writing:
            raise WorldsError("embed() cannot run inside a transaction: new texts are embedded when it ends")
        return self._embedder.embed(rebuild=rebuild, embedder=embedder, progress=progress)

    @verb
    def build_vector_index(self, *, progress: Progress | None = None) -> int:
        """Build the native vector index anew, and keep it from now on; gives the number of vectors in it.

        It is for `plan="index"` and for other programs that ask this file by `vector_top_k`: the other plans of a
        search need none. Each vector costs a millisecond or two, then and whenever one is added, and some 5 KB. The
        world is read meanwhile, and writes wait until the index is whole; an interruption leaves the world as it was.
        """
        if self._writer.writing:
            raise WorldsError("the vector index cannot be built inside a transaction")
        return self._embeddings.index.build(None if progress is None else partial(progress, "vector index"))

    @verb
    def drop_vector_index(self) -> None:
        """Drop the native vector index, and keep none from now on. Searches find the same without it."""
        self._embeddings.index.want(False)
